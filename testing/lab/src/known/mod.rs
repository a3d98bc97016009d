//! What was checked for one party need not be checked for the next.
//!
//! Parties of one committee collect the same votes and partials in other sets. A host that sees all
//! messages checks each of them once, and answers the jobs of everybody with the verdicts that they
//! would have come to alone.
//!
//! | module    | what is kept                                          |
//! |-----------|-------------------------------------------------------|
//! | `jolteon` | votes of the engine, and what follows for certificates |
//! | `beacon`  | partials, and the output that they gave               |
mod beacon;
mod jolteon;

pub(crate) use self::beacon::CheckedPartials;
pub(crate) use self::jolteon::CheckedVotes;
