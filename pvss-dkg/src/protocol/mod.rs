//! The key generation as a protocol: dealings through the engine's total order, one key for everybody.
//!
//! ```text
//!            start ─► Deal ─► persist ─► submit ─► ( the engine's order ) ─► Judge ─► counted ┐
//!                                                                            └► accused       │ enough
//!   a peer's offer ─► Recover ────────────────────────► Open ◄── Sum ◄───────────────────────┘
//!                                                         └─► ready: EpochKey and own shares
//! ```
//! [`Keygen`] is a [`Machine`](::protocol::Machine) for fresh secrets, of group elements
//! (`Keygen<Dkg<Dealing>>`) or of field elements (`Keygen<Dkg<field::Dealing>>`), and for the handover
//! of a field element to the next committee (`Keygen<Handover>`); [`FieldDealings`] is either of the last
//! two.
//!
//! | the chain provides            | for                                                              |
//! |-------------------------------|------------------------------------------------------------------|
//! | one order of messages         | the first dealings that suffice are the same for everybody       |
//! | that messages get in          | honest dealers of enough stake make a key, whatever others do    |
//! | an end in that order, perhaps | a named [`Abort`] where they do not; the next attempt is another session |
//! | the key, finalized            | whoever was absent takes the rest from any peer                  |
//!
//! **One key.** Whether a message counts depends on what was ordered before it and on nothing else:
//! messages are judged in their order, each alone, and what comes back from a job late changes when a
//! party knows, not what. A dealer that was accused is heard no more, from that place in the order on.
//!
//! **No honest party is accused.** A party signs one dealing for each place, makes it durable first and
//! sends it again unchanged after a crash; whoever loses the disk must not deal again in the session. A
//! copy of a message is ignored; so is what the party signed for another session, and what it did not
//! sign. [`Evidence`] convinces whoever knows the session.
//!
//! **A decryption key opens one key.** [`Job::Open`] uses it up; the shares are what a party keeps. One that
//! was absent keeps it until it has opened what a peer offers.
//!
//! **What a party stores** is its [`Record`]s: its own dealings, those that count, evidence. With them
//! and the order behind the last one a restart ends with the same key, and judges nothing twice.
//!
//! | module     | what it holds                                                       |
//! |------------|---------------------------------------------------------------------|
//! | `collect`  | [`Collect`]: what is dealt, and which dealings make the key          |
//! | `either`   | [`FieldDealings`]: a fresh key with field elements, or one handed over |
//! | `envelope` | the signed message around a dealing                                 |
//! | `fault`    | [`Misdeed`], [`Evidence`]                                           |
//! | `job`      | [`Job`]: dealing, judging, adding up, opening                       |
//! | `record`   | [`Record`]                                                          |
//! | `keygen`   | [`Keygen`]                                                          |
//! | `epoch`    | [`EpochKey`]                                                        |
//!
//! Elsewhere: the equations (`verify`, `field`), the order (the engine), what the key is for (the
//! beacon).
mod collect;
mod either;
mod envelope;
mod epoch;
mod fault;
mod job;
mod keygen;
mod record;
#[cfg(test)]
mod tests;

pub use collect::{Collect, NotCounted, Place, RecoverError};
pub use either::FieldDealings;
pub use envelope::envelope_bytes;
pub use epoch::{Element, EpochKey, EpochKeyError, Field, Group};
pub use fault::{Evidence, EvidenceError, Fault, Misdeed};
pub use job::{Accusation, Claim, Job, Judged, Keys, Opened, Recovered, Verdict, judge};
pub use keygen::{Abort, Effect, Ignored, Input, Keygen, Output, Position, Ready, Role};
pub use record::{Record, RecordError};
