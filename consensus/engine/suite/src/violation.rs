//! The violations of laws, each with the slot and the parties.

use prefinal_protocol::{Party, Slot, Value, View};
use thiserror::Error;

use crate::sample::Statement;

/// A law that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// Two parties finalized different values in a slot, or one skipped it.
    #[error("{slot:?}: {first:?} finalized {first_value:?}, {second:?} {second_value:?}")]
    Disagreement {
        /// The slot that was finalized in two ways.
        slot: Slot,
        /// The party that finalized it first.
        first: Party,
        /// The value that the first finalized; `None` if it skipped the slot.
        first_value: Option<Value>,
        /// The party that contradicts. It is the same party if that changed its mind.
        second: Party,
        /// The value that the second finalized; `None` if it skipped the slot.
        second_value: Option<Value>,
    },
    /// Two parties finalized one value with different transactions.
    #[error("{slot:?}: {first:?} and {second:?} finalized one value with different transactions")]
    Contents {
        /// The slot that the value is of.
        slot: Slot,
        /// The party that finalized the value first.
        first: Party,
        /// The party that finalized it with other transactions.
        second: Party,
    },
    /// A party finalized slots out of order. A new life may repeat what an earlier one reported.
    #[error("{party:?} finalized {got:?} where {expected:?} was next")]
    Order {
        /// The party that left slots out or went back.
        party: Party,
        /// The slot that it finalized.
        got: Slot,
        /// The slot that was due.
        expected: Slot,
    },
    /// A transaction was ordered twice.
    #[error("{party:?} found one transaction in {first:?} and in {second:?}")]
    Repeated {
        /// The party that has the transaction twice.
        party: Party,
        /// The slot in which it was ordered first.
        first: Slot,
        /// The slot in which it was ordered again.
        second: Slot,
    },
    /// Another value became final than the one that a quorum had prefinalized.
    #[error(
        "{slot:?}: {prefinalized:?} was prefinalized by {by:?}, and {party:?} finalized {finalized:?}"
    )]
    Leaked {
        /// The slot that both values are of.
        slot: Slot,
        /// The value that a quorum prefinalized, with the stake of all faulty parties counted for it.
        prefinalized: Value,
        /// The honest parties that prefinalized it.
        by: Vec<Party>,
        /// The first party that finalized something else.
        party: Party,
        /// The value that it finalized; `None` if it skipped the slot.
        finalized: Option<Value>,
    },
    /// A value was final before a quorum had prefinalized it, where everything arrives and nobody is faulty.
    #[error("{slot:?}: {party:?} finalized when {held} had prefinalized, a quorum is {quorum}")]
    Early {
        /// The slot that was final too early.
        slot: Slot,
        /// The first party that finalized it.
        party: Party,
        /// The stake that had prefinalized the value.
        held: u128,
        /// The least stake that makes it final.
        quorum: u128,
    },
    /// A vote left that was not announced.
    #[error("{party:?} cast a vote in {view:?} that it had not announced")]
    Unannounced {
        /// The party whose vote left.
        party: Party,
        /// The view that the vote was cast in.
        view: View,
    },
    /// A vote that has left was announced again, in the same life or a later one.
    #[error("{party:?} is about to cast the vote in {view:?} that it has cast")]
    Forgotten {
        /// The party that announces its vote again.
        party: Party,
        /// The view in which the vote has left already.
        view: View,
    },
    /// A timeout or nil vote left that was not announced.
    #[error("{party:?} gave {view:?} up and had not announced it")]
    Unabandoned {
        /// The party whose timeout or nil vote left.
        party: Party,
        /// The view that it gave up.
        view: View,
    },
    /// A party prefinalized in a view that it had given up, or in an earlier one.
    #[error("{party:?} prefinalized in {view:?} after it gave {abandoned:?} up")]
    Abandoned {
        /// The party that prefinalized.
        party: Party,
        /// The view in which it prefinalized, no later than `abandoned`.
        view: View,
        /// The latest view that it gave up.
        abandoned: View,
    },
    /// A party prefinalized two values of one slot in the fast attempt.
    #[error("{party:?} prefinalized {first:?} and {second:?} in one fast attempt at {slot:?}")]
    TwoValues {
        /// The party that prefinalized both values.
        party: Party,
        /// The slot that both values are of.
        slot: Slot,
        /// The value that it prefinalized first.
        first: Value,
        /// The value that it prefinalized later.
        second: Value,
    },
    /// A party made two contradicting statements.
    #[error("{party:?} said {first:?} and {second:?}")]
    Equivocated {
        /// The party that said both.
        party: Party,
        /// The first statement.
        first: Statement,
        /// The second statement.
        second: Statement,
    },
    /// Two starts from the same records reported two different pasts.
    #[error("{party:?} started twice from {records} records and told two pasts")]
    TwoPasts {
        /// The party whose engine was started twice.
        party: Party,
        /// Number of records.
        records: usize,
    },
    /// After a crash, a party did not report the partial that its vote had carried.
    #[error("{party:?} does not tell that its vote in {slot:?} carried a partial")]
    Untold {
        /// The party that crashed and started again.
        party: Party,
        /// The slot of the partial that it did not report.
        slot: Slot,
    },
    /// A party reported a partial that its vote could not have carried.
    #[error("{party:?} tells of a partial for {slot:?} that it never had")]
    Invented {
        /// The party that started from its records.
        party: Party,
        /// The slot of the partial that it reported.
        slot: Slot,
    },
    /// The engine gave back other bytes than the ones offered.
    #[error("{party:?} gave other bytes back than the partial for {slot:?}")]
    Altered {
        /// The party whose engine gave the bytes back.
        party: Party,
        /// The slot of the partial that was offered.
        slot: Slot,
    },
    /// A vote carried bytes that its sender never put in.
    #[error("{party:?} got a partial of {from:?} that it never gave")]
    Foreign {
        /// The party that got the partial.
        party: Party,
        /// The party that is named as the sender.
        from: Party,
    },
    /// Bytes that a vote carried did not arrive at one of the other parties.
    #[error("{party:?} never got what the vote of {from:?} carried for {slot:?}")]
    Lost {
        /// The party that did not get them.
        party: Party,
        /// The party whose vote carried them.
        from: Party,
        /// The slot of the partial that the vote carried.
        slot: Slot,
    },
    /// An honest party was accused.
    #[error("{party:?} accuses {accused:?}: {fault}")]
    Slander {
        /// The honest party that accuses.
        party: Party,
        /// The honest party that is accused.
        accused: Party,
        /// What it is accused of, in the engine's words.
        fault: String,
    },
    /// One value was named for two slots.
    #[error("{party:?} names one value for {first:?} and {second:?}")]
    Mixed {
        /// The party that prefinalized or finalized the value in two slots.
        party: Party,
        /// The slot that it named the value for first.
        first: Slot,
        /// The slot that it named the value for later.
        second: Slot,
    },
    /// An engine refused what an honest party's driver asked for.
    #[error("{party:?} refuses: {why}")]
    Refused {
        /// The party whose engine refuses.
        party: Party,
        /// The reason, in the words of the engine or of the suite.
        why: String,
    },
    /// A view was given up though everything arrives in time.
    #[error("{party:?} gave {view:?} up for no reason")]
    Impatient {
        /// The party that did not wait.
        party: Party,
        /// The view that it gave up.
        view: View,
    },
    /// The chain stopped too early.
    #[error("{party:?} did not get further than {reached:?}, {expected:?} was due")]
    Stalled {
        /// The party that is furthest behind.
        party: Party,
        /// The last slot that it finalized, if any.
        reached: Option<Slot>,
        /// The slot that it should have reached.
        expected: Slot,
    },
    /// A transaction that was submitted was never ordered.
    #[error("{party:?} never found transaction {transaction:02x?}")]
    Unordered {
        /// The party that lacks the transaction.
        party: Party,
        /// The transaction, as it was submitted.
        transaction: Vec<u8>,
    },
    /// Members with less stake than the declared quorum finalized a block.
    #[error("{parties:?} hold {held} and finalize, the declared quorum is {quorum}")]
    Outvoted {
        /// The members that took part.
        parties: Vec<Party>,
        /// The stake that they hold together.
        held: u128,
        /// The least stake that makes a value final, as the engine declares it.
        quorum: u128,
    },
    /// The honest parties may hold less than the declared quorum.
    #[error("a quorum is {quorum} of {total}, of which {faulty} may be faulty")]
    Unreachable {
        /// The least stake that makes a value final, as the engine declares it.
        quorum: u128,
        /// The stake of all members.
        total: u128,
        /// The stake that may be faulty, as the engine declares it.
        faulty: u128,
    },
    /// A party acted on a message from a sender that is not a member, or from itself.
    #[error("{party:?} believes what {from:?} sends")]
    Believed {
        /// The party that acts on what it received.
        party: Party,
        /// The sender that should not count: no member, or the party itself.
        from: Party,
    },
}
