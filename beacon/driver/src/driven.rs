//! What a driver can run: one beacon, or several beacons over all epochs.
//!
//! | machine                        | used for                                                           |
//! |--------------------------------|--------------------------------------------------------------------|
//! | [`Beacon`]                     | one scheme, one committee                                          |
//! | [`Stack`]                      | several schemes, committee after committee; the host makes the keys |
//! | `prefinal_validator::Participant` | as `Stack`, and it also generates the keys and hands them over      |
//!
//! A machine says how an event becomes one of its inputs, which of its effects are jobs for the pool, and
//! how many bytes of each peer may wait.
use std::collections::BTreeMap;

use ::prefinal_beacon::stack::{self, Channel, Channels, Stack};
use ::prefinal_beacon::{self, Beacon, Effect, Input, Message, Record, Scheme, Slot, Value, View};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Machine, Recipient};

/// A machine that takes events of an engine and messages of peers, and gives its heavy work to a pool.
pub trait DrivenMachine: Machine<Record: Records, Effect: Send> + Send + 'static {
    /// A message between peers, as the network carries it.
    type Message: BorshSerialize + Send;
    /// Work for the pool, as plain data.
    type Job: Send + Sync + 'static;
    /// The result of a job, which goes back into the machine.
    type Verdict: Send;
    /// What the engine finalizes in a slot: a hash, or a block with its transactions.
    type Block;

    /// Gives the fewest records that restore the machine; `None` if the machine has no such summary.
    const SUMMARY: Option<Summary<Self>>;

    /// The first input after the start; `None` if the machine needs none.
    fn start() -> Option<Self::Input> {
        None
    }

    /// Makes the input for a vote that is about to be cast, as [`Input::Prefinalized`].
    fn prefinalized(slot: Slot, view: View, value: Value) -> Self::Input;

    /// Makes the input for a slot that is final, as [`Input::Finalized`].
    fn finalized(slot: Slot, block: Option<Self::Block>) -> Self::Input;

    /// Makes the input for a view that is given up, as [`Input::Abandoned`].
    fn abandoned(view: View) -> Self::Input;

    /// Makes the input for a peer's message, as [`Input::Received`].
    fn received(from: Party, message: Self::Message) -> Self::Input;

    /// Makes the input for a job that has ended, as [`Input::Checked`].
    fn checked(verdict: Self::Verdict) -> Self::Input;

    /// Makes the input for a deadline that has passed, as [`Input::Tick`].
    fn tick() -> Self::Input;

    /// Takes the job out of an effect, if the effect is a job for the pool.
    ///
    /// # Errors
    /// Gives the effect back if it is something else. The reader of the stream then carries it out.
    fn job(&self, effect: Self::Effect) -> Result<Self::Job, Self::Effect>;

    /// Runs the job. It needs no access to the machine.
    fn run(job: &Self::Job) -> Self::Verdict;

    /// Takes the message out of an effect, if it goes to all parties and belongs into the vote for this slot.
    ///
    /// # Errors
    /// Gives the effect back if it is something else.
    fn early(effect: Self::Effect, slot: Slot) -> Result<Self::Message, Self::Effect>;

    /// Makes an effect that sends a message to all parties.
    fn to_all(message: Self::Message) -> Self::Effect;

    /// The epoch in which the sender has its number. Override it where numbers differ by epoch.
    fn epoch_of(_: &Self::Message) -> EpochId {
        EpochId::new(0)
    }

    /// The parties that may send, each with the length in bytes of its longest message.
    fn peers(&self) -> BTreeMap<(EpochId, Party), usize>;

    /// Number of parties that may send, if it can change within an epoch. When it changes, the peers change
    /// too.
    fn senders(&self) -> usize {
        0
    }

    /// The newest epoch that the machine knows. When it changes, the peers change too.
    fn newest(&self) -> EpochId {
        EpochId::new(0)
    }

    /// The first slot that is not finished. All slots below it are revealed, skipped or off.
    fn head(&self) -> Slot;

    /// The highest slot that the engine has reported as final; `None` before the first report.
    fn last_final(&self) -> Option<Slot>;

    /// The first slot that a channel has after this start; `None` if the journal keeps all its records.
    fn first(&self, channel: Channel) -> Option<Slot>;

    /// The reason why the machine can do nothing more; `None` while it works.
    fn halted(&self) -> Option<String> {
        None
    }

    /// The beacon's record inside one of the machine's records, with its channel; `None` if there is none.
    fn beacon_record(record: &mut Self::Record) -> Option<(Channel, &mut Record)>;
}

/// A function that gives the fewest records that restore a machine.
pub type Summary<M> = fn(&M) -> Vec<<M as Machine>::Record>;

/// Records that a journal can hold. Every type with these bounds implements it.
pub trait Records: BorshSerialize + BorshDeserialize + Send {}

impl<R: BorshSerialize + BorshDeserialize + Send> Records for R {}

impl<S: Scheme> DrivenMachine for Beacon<S> {
    type Message = Message<S>;
    type Job = prefinal_beacon::Job<S>;
    type Verdict = prefinal_beacon::Verdict<S>;
    type Block = Value;

    const SUMMARY: Option<Summary<Self>> = Some(Self::snapshot);

    fn prefinalized(slot: Slot, view: View, value: Value) -> Input<S> {
        Input::Prefinalized { slot, view, value }
    }

    fn finalized(slot: Slot, value: Option<Value>) -> Input<S> {
        Input::Finalized { slot, value }
    }

    fn abandoned(view: View) -> Input<S> {
        Input::Abandoned { view }
    }

    fn received(from: Party, message: Message<S>) -> Input<S> {
        Input::Received { from, message }
    }

    fn checked(verdict: prefinal_beacon::Verdict<S>) -> Input<S> {
        Input::Checked(verdict)
    }

    fn tick() -> Input<S> {
        Input::Tick
    }

    fn job(&self, effect: Effect<S>) -> Result<prefinal_beacon::Job<S>, Effect<S>> {
        match effect {
            Effect::Check(job) => Ok(job),
            other => Err(other),
        }
    }

    fn run(job: &prefinal_beacon::Job<S>) -> prefinal_beacon::Verdict<S> {
        job.run()
    }

    fn early(effect: Effect<S>, slot: Slot) -> Result<Message<S>, Effect<S>> {
        match effect {
            Effect::Send { to: Recipient::All, message } if message.is_early(slot) => Ok(message),
            other => Err(other),
        }
    }

    fn to_all(message: Message<S>) -> Effect<S> {
        Effect::Send { to: Recipient::All, message }
    }

    fn peers(&self) -> BTreeMap<(EpochId, Party), usize> {
        let longest = self.longest_messages().into_iter();
        longest.map(|(party, bytes)| ((EpochId::new(0), party), bytes)).collect()
    }

    fn head(&self) -> Slot {
        self.head()
    }

    fn last_final(&self) -> Option<Slot> {
        self.last_final()
    }

    fn first(&self, _: Channel) -> Option<Slot> {
        Some(self.first())
    }

    fn beacon_record(record: &mut Record) -> Option<(Channel, &mut Record)> {
        Some((Channel::new(0), record))
    }
}

impl<L: Channels> DrivenMachine for Stack<L>
where
    L::Epochs: Send,
    L::Effect: Send,
{
    type Message = stack::Envelope<L>;
    type Job = stack::Job<L>;
    type Verdict = stack::Verdict<L>;
    type Block = Value;

    const SUMMARY: Option<Summary<Self>> = Some(Self::snapshot);

    fn prefinalized(slot: Slot, view: View, value: Value) -> stack::Input<L> {
        stack::Input::All(stack::Event::Prefinalized { slot, view, value })
    }

    fn finalized(slot: Slot, value: Option<Value>) -> stack::Input<L> {
        stack::Input::All(stack::Event::Finalized { slot, value })
    }

    fn abandoned(view: View) -> stack::Input<L> {
        stack::Input::All(stack::Event::Abandoned { view })
    }

    fn received(from: Party, envelope: stack::Envelope<L>) -> stack::Input<L> {
        stack::Input::Received { from, envelope }
    }

    fn checked(verdict: stack::Verdict<L>) -> stack::Input<L> {
        stack::Input::Checked(verdict)
    }

    fn tick() -> stack::Input<L> {
        stack::Input::All(stack::Event::Tick)
    }

    fn job(&self, effect: stack::Effect<L>) -> Result<stack::Job<L>, stack::Effect<L>> {
        match effect {
            stack::Effect::Check(job) => Ok(job),
            other => Err(other),
        }
    }

    fn run(job: &stack::Job<L>) -> stack::Verdict<L> {
        job.run()
    }

    fn early(effect: stack::Effect<L>, slot: Slot) -> Result<stack::Envelope<L>, stack::Effect<L>> {
        match effect {
            stack::Effect::Send { to: Recipient::All, envelope } if envelope.is_early(slot) => {
                Ok(envelope)
            }
            other => Err(other),
        }
    }

    fn to_all(envelope: stack::Envelope<L>) -> stack::Effect<L> {
        stack::Effect::Send { to: Recipient::All, envelope }
    }

    fn epoch_of(envelope: &stack::Envelope<L>) -> EpochId {
        envelope.epoch()
    }

    fn peers(&self) -> BTreeMap<(EpochId, Party), usize> {
        self.longest_messages()
    }

    fn newest(&self) -> EpochId {
        self.newest()
    }

    fn head(&self) -> Slot {
        self.head()
    }

    fn last_final(&self) -> Option<Slot> {
        self.last_final()
    }

    fn first(&self, channel: Channel) -> Option<Slot> {
        self.first(channel)
    }

    fn beacon_record(record: &mut stack::Record) -> Option<(Channel, &mut Record)> {
        Some((record.channel, &mut record.record.record))
    }
}
