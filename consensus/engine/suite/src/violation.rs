//! What breaks a law, with the slot and the parties.

use protocol::{Party, Slot, Value, View};
use thiserror::Error;

use crate::sample::Statement;

/// A law that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// A slot is final with one value, or skipped, for all parties.
    #[error("{slot:?}: {first:?} finalized {first_value:?}, {second:?} {second_value:?}")]
    Disagreement {
        /// The slot that was finalized in two ways.
        slot: Slot,
        /// Who finalized it first.
        first: Party,
        /// The value that the first finalized; `None` if it skipped the slot.
        first_value: Option<Value>,
        /// Who contradicts; the same party, if it changed its mind.
        second: Party,
        /// The value that the second finalized; `None` if it skipped the slot.
        second_value: Option<Value>,
    },
    /// One value has one content.
    #[error("{slot:?}: {first:?} and {second:?} finalized one value with different transactions")]
    Contents {
        /// The slot that the value is of.
        slot: Slot,
        /// The party that finalized the value first.
        first: Party,
        /// The party that finalized it with other transactions.
        second: Party,
    },
    /// Every slot, ascending; a new life may repeat what an earlier one said.
    #[error("{party:?} finalized {got:?} where {expected:?} was next")]
    Order {
        /// The party that left slots out or went back.
        party: Party,
        /// The slot that it finalized.
        got: Slot,
        /// The slot that was due.
        expected: Slot,
    },
    /// A transaction is ordered once.
    #[error("{party:?} found one transaction in {first:?} and in {second:?}")]
    Repeated {
        /// The party that has the transaction twice.
        party: Party,
        /// Where it was first.
        first: Slot,
        /// Where it was again.
        second: Slot,
    },
    /// What a quorum has prefinalized is what becomes final.
    #[error(
        "{slot:?}: {prefinalized:?} was prefinalized by {by:?}, and {party:?} finalized {finalized:?}"
    )]
    Leaked {
        /// The slot that both values are of.
        slot: Slot,
        /// The value that a quorum prefinalized, all that is faulty counted with it.
        prefinalized: Value,
        /// Who did, of the honest.
        by: Vec<Party>,
        /// The first party that finalized something else.
        party: Party,
        /// What it finalized; `None` if it skipped the slot.
        finalized: Option<Value>,
    },
    /// Where everything arrives and nobody is faulty, a value is final only after a quorum prefinalized it.
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
    /// A vote is announced before it leaves.
    #[error("{party:?} cast a vote in {view:?} that it had not announced")]
    Unannounced {
        /// The party whose vote left.
        party: Party,
        /// The view that the vote was cast in.
        view: View,
    },
    /// A vote that has left is not announced again, in whichever life.
    #[error("{party:?} is about to cast the vote in {view:?} that it has cast")]
    Forgotten {
        /// The party that announces its vote again.
        party: Party,
        /// The view in which the vote has left already.
        view: View,
    },
    /// A party says that it gives a view up before its timeout or nil vote leaves.
    #[error("{party:?} gave {view:?} up and had not announced it")]
    Unabandoned {
        /// The party whose timeout or nil vote left.
        party: Party,
        /// What it gave up.
        view: View,
    },
    /// Nothing is prefinalized in a view that was given up, or an earlier one.
    #[error("{party:?} prefinalized in {view:?} after it gave {abandoned:?} up")]
    Abandoned {
        /// The party that prefinalized.
        party: Party,
        /// The view in which it prefinalized, no later than `abandoned`.
        view: View,
        /// The latest view that it gave up.
        abandoned: View,
    },
    /// In the fast attempt one value of a slot is prefinalized.
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
    /// Nothing that binds a party is said in two ways.
    #[error("{party:?} said {first:?} and {second:?}")]
    Equivocated {
        /// The party that said both.
        party: Party,
        /// What it said first.
        first: Statement,
        /// What it said then.
        second: Statement,
    },
    /// The same records tell the same past.
    #[error("{party:?} started twice from {records} records and told two pasts")]
    TwoPasts {
        /// The party whose engine was started twice.
        party: Party,
        /// How many records there were.
        records: usize,
    },
    /// What a vote carried is told after a crash.
    #[error("{party:?} does not tell that its vote in {slot:?} carried a partial")]
    Untold {
        /// The party that crashed and started again.
        party: Party,
        /// The slot of the partial that it does not tell of.
        slot: Slot,
    },
    /// What no vote was to carry is not told.
    #[error("{party:?} tells of a partial for {slot:?} that it never had")]
    Invented {
        /// The party that started from its records.
        party: Party,
        /// The slot of the partial that it tells of.
        slot: Slot,
    },
    /// What is given back is what was offered.
    #[error("{party:?} gave other bytes back than the partial for {slot:?}")]
    Altered {
        /// The party whose engine gave the bytes back.
        party: Party,
        /// The slot of the partial that was offered.
        slot: Slot,
    },
    /// What comes out is what went in.
    #[error("{party:?} got a partial of {from:?} that it never gave")]
    Foreign {
        /// The party that got the partial.
        party: Party,
        /// Whose it is said to be.
        from: Party,
    },
    /// What a vote took comes out at all others.
    #[error("{party:?} never got what the vote of {from:?} carried for {slot:?}")]
    Lost {
        /// Who did not get it.
        party: Party,
        /// Whose vote it was.
        from: Party,
        /// The slot of the partial that the vote carried.
        slot: Slot,
    },
    /// Nobody says that an honest party did wrong.
    #[error("{party:?} accuses {accused:?}: {fault}")]
    Slander {
        /// The honest party that accuses.
        party: Party,
        /// The honest party that is accused.
        accused: Party,
        /// What it is accused of, in the engine's words.
        fault: String,
    },
    /// A value belongs to one slot.
    #[error("{party:?} names one value for {first:?} and {second:?}")]
    Mixed {
        /// The party that prefinalized or finalized the value in two slots.
        party: Party,
        /// The slot that it named the value for first.
        first: Slot,
        /// The slot that it named the value for later.
        second: Slot,
    },
    /// An engine does what an honest party's driver asks.
    #[error("{party:?} refuses: {why}")]
    Refused {
        /// The party whose engine refuses.
        party: Party,
        /// The reason, in the words of the engine or of the suite.
        why: String,
    },
    /// A view is given up where everything arrives in time.
    #[error("{party:?} gave {view:?} up for no reason")]
    Impatient {
        /// The party that did not wait.
        party: Party,
        /// The view that it gave up.
        view: View,
    },
    /// The chain goes on.
    #[error("{party:?} did not get further than {reached:?}, {expected:?} was due")]
    Stalled {
        /// The party that is furthest behind.
        party: Party,
        /// The last slot that it finalized, if any.
        reached: Option<Slot>,
        /// The slot that it should have reached.
        expected: Slot,
    },
    /// A transaction that was submitted is ordered.
    #[error("{party:?} never found transaction {transaction:02x?}")]
    Unordered {
        /// The party that lacks the transaction.
        party: Party,
        /// The transaction, as it was submitted.
        transaction: Vec<u8>,
    },
    /// Members that hold less than the declared quorum finalize nothing.
    #[error("{parties:?} hold {held} and finalize, the declared quorum is {quorum}")]
    Outvoted {
        /// The members that were there.
        parties: Vec<Party>,
        /// The stake that they hold together.
        held: u128,
        /// The least stake that makes a value final, as the engine declares it.
        quorum: u128,
    },
    /// The honest hold a quorum whatever is faulty.
    #[error("a quorum is {quorum} of {total}, of which {faulty} may be faulty")]
    Unreachable {
        /// The least stake that makes a value final, as the engine declares it.
        quorum: u128,
        /// The stake of all members.
        total: u128,
        /// What is declared that may be faulty.
        faulty: u128,
    },
    /// A message counts for nothing if its sender is no member, or the party itself.
    #[error("{party:?} believes what {from:?} sends")]
    Believed {
        /// The party that acts on what it received.
        party: Party,
        /// The sender that should not count: no member, or the party itself.
        from: Party,
    },
}
