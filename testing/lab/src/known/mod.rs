//! Results of checks that are shared by the parties of a committee.
//!
//! The parties of one committee collect the same votes and partials in different sets. A host that sees
//! all messages checks each of them once, and answers everybody's jobs with the verdicts that they
//! would have found alone.
//!
//! | module    | what it holds                                         |
//! |-----------|-------------------------------------------------------|
//! | `jolteon` | votes of the engine, and what follows for certificates |
//! | `ideal`   | the same questions, answered without a curve           |
//! | `trantor` | these for Trantor                                      |
//! | `sums`    | what stands for the sum of votes that were seen         |
//! | `beacon`  | partials, and the output that they gave               |
mod beacon;
mod ideal;
mod jolteon;
mod sums;
mod trantor;

pub(crate) use self::beacon::CheckedPartials;
pub(crate) use self::ideal::IdealVotes;
pub(crate) use self::jolteon::CheckedVotes;
pub(crate) use self::sums::Sums;
pub(crate) use self::trantor::IdealCertificates;
