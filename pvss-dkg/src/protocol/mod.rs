//! The key generation as a protocol: dealings pass through the engine's total order and give one key
//! for everybody.
//!
//! ```text
//!            start ─► Deal ─► persist ─► submit ─► ( the engine's order ) ─► Judge ─► counted ┐
//!                                                                            └► accused       │ enough
//!   a peer's offer ─► Recover ────────────────────────► Open ◄── Sum ◄───────────────────────┘
//!                                                         └─► ready: EpochKey and own shares
//! ```
//! [`Keygen`] is a [`Machine`](::prefinal_protocol::Machine) for fresh secrets, of group elements
//! (`Keygen<Dkg<Dealing>>`) or of field elements (`Keygen<Dkg<field::Dealing>>`). `Keygen<Handover>`
//! hands a field element over to the next committee. [`FieldDealings`] is either of the last two.
//!
//! | the chain provides            | for                                                              |
//! |-------------------------------|------------------------------------------------------------------|
//! | one order of messages         | the first dealings that suffice are the same for everybody       |
//! | inclusion of honest messages  | honest dealers of enough stake make a key, whatever others do    |
//! | an end in that order, if any  | a named [`Abort`] if there is no key; the next attempt is a new session |
//! | the key, finalized            | a party that was absent takes the rest from any peer             |
//!
//! **One key.** Whether a message counts depends only on what was ordered before it. Messages are
//! judged in their order, each alone. A job that returns late changes when a party knows the key, not
//! which key it is. After a dealer is accused, its messages behind that place in the order do not count.
//!
//! **No honest party is accused.** A party signs one dealing for each place, makes it durable first,
//! and sends it again unchanged after a crash. A party that loses its disk must not deal again in the
//! session. A copy of a message is ignored. So is a message that the party signed for another session,
//! and a message that it did not sign. [`Evidence`] convinces everybody who knows the session.
//!
//! **A decryption key opens one key.** [`Job::Open`] uses the decryption key up, and the party keeps
//! the shares. A party that was absent keeps its decryption key until it has opened what a peer offers.
//!
//! **What a party stores** is its [`Record`]s: its own dealings, the dealings that count, and evidence.
//! From these and the order behind the last one, a restart ends with the same key and judges nothing twice.
//!
//! | module     | what it holds                                                       |
//! |------------|---------------------------------------------------------------------|
//! | `collect`  | [`Collect`]: what is dealt, and which dealings make the key          |
//! | `either`   | [`FieldDealings`]: a fresh key with field elements, or one handed over |
//! | `envelope` | the signed message around a dealing                                 |
//! | `fault`    | [`Misdeed`], [`Evidence`]: wrong messages, and how to prove them    |
//! | `job`      | [`Job`]: dealing, judging, adding up, opening                       |
//! | `record`   | [`Record`]: what must be durable                                    |
//! | `keygen`   | [`Keygen`]: the machine                                             |
//! | `epoch`    | [`EpochKey`]: the result that everybody knows                       |
//!
//! See also `verify` and `field` for the equations. The order comes from the engine, and the beacon
//! uses the key.
mod collect;
mod either;
mod envelope;
mod epoch;
mod fault;
mod job;
mod keygen;
mod keygen_error;
mod record;
#[cfg(test)]
mod tests;

pub use collect::{Collect, NotCounted, Place, RecoverError};
pub use either::FieldDealings;
pub use envelope::{envelope_bytes, seal};
pub use epoch::{Element, EpochKey, EpochKeyError, Field, Group};
pub use fault::{Evidence, EvidenceError, Fault, Misdeed};
pub use job::{
    Accusation, Claim, ClaimVerdict, Job, Keys, OpenedShares, RecoveredKey, Verdict, judge,
};
pub use keygen::{Effect, Input, Keygen, Output, Position, Ready, Role};
pub use keygen_error::{Abort, Refusal};
pub use record::{Record, RecordError};
