//! The channels of a stack as a list of schemes, with operations on all of them or on one.
//!
//! A list is a type: `(Bls, (MultiSig, (Decryption, ())))`. Something that belongs to one channel is a
//! [`OneOf`], with one [`Rest`](OneOf::Rest) for each channel before it. So a channel's number is its place
//! in the list, all dispatch is static, and a new channel is added at the end.
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::{self, Debug};

use borsh::io::{Error, ErrorKind, Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Instant, Machine, Recipient, Slot, Value, View};

use super::{Record, StackError};
use crate::config::Config;
use crate::epochs::{self, Epochs};
use crate::event;
use crate::job;
use crate::schemes::Scheme;
use crate::wire;

/// A channel's place in its list, counted from 0. It is in every message and every record, so a list may
/// only grow at its end.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Channel(u8);

impl Channel {
    /// The channel at this place.
    #[must_use]
    pub const fn new(place: u8) -> Self {
        Self(place)
    }

    /// The byte that messages and records carry for this channel.
    #[must_use]
    pub const fn place(self) -> u8 {
        self.0
    }

    /// The place after this one. A stack refuses lists with more places than numbers.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel {}", self.0)
    }
}

/// Something that belongs to one channel of a list: the first, or a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneOf<First, Rest> {
    /// It belongs to the first channel.
    First(First),
    /// It belongs to a later channel.
    Rest(Rest),
}

/// A job or a verdict with the epoch that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochItem<T> {
    /// The epoch whose beacon wants the job done.
    pub epoch: EpochId,
    /// The job, or its result.
    pub what: T,
}

/// An event of the engine, or of the clock, that every channel is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// This party is about to vote: see [`Input::Prefinalized`](crate::Input::Prefinalized).
    Prefinalized {
        /// The slot that becomes final if enough parties cast this vote.
        slot: Slot,
        /// The view in which the vote is cast.
        view: View,
        /// The value that the slot is then final with.
        value: Value,
    },
    /// A slot is final: see [`Input::Finalized`](crate::Input::Finalized).
    Finalized {
        /// The slot that the engine knows to be final.
        slot: Slot,
        /// What it was finalized with; `None` if it was skipped.
        value: Option<Value>,
    },
    /// This party is about to give up a view: see [`Input::Abandoned`](crate::Input::Abandoned).
    Abandoned {
        /// The view that its timeout or nullify is for.
        view: View,
    },
    /// The time that [`wake_at`](prefinal_protocol::Machine::wake_at) named has passed.
    Tick,
}

/// Something that a channel wants done, other than storing a record.
#[derive(Clone, Debug)]
pub enum ChannelOutput<L: Channels> {
    /// A message for other parties.
    Send {
        /// The recipients, by their numbers in the epoch.
        to: Recipient<Party>,
        /// The epoch of the slot that the message is about.
        epoch: EpochId,
        /// The message of one channel, not in an envelope yet.
        message: L::Message,
    },
    /// A job to run outside of the machine.
    Check(L::Job),
    /// An effect that is neither message nor job: a reveal, a fault, a refusal.
    Of(L::Effect),
}

/// The operations on epochs that do not depend on the scheme.
pub trait AnyEpochs {
    /// When they want to be told that time has passed.
    fn wake_at(&self) -> Option<Instant>;

    /// The first slot that has no output yet: [`Epochs::head`].
    fn head(&self) -> Slot;

    /// The highest slot reported as final: [`Epochs::last_final`].
    fn last_final(&self) -> Option<Slot>;

    /// The first slot of the oldest epoch: [`Epochs::first`].
    fn first(&self) -> Slot;

    /// The epoch of the last committee: [`Epochs::newest`].
    fn newest(&self) -> EpochId;

    /// The records that restore the epochs: [`Epochs::snapshot`].
    fn snapshot(&self) -> Vec<epochs::Record>;

    /// Encodings of the public keys of all epochs that are kept here.
    fn public_keys(&self) -> BTreeSet<Vec<u8>>;

    /// The length in bytes of each party's longest message: [`Epochs::longest_messages`].
    fn longest_messages(&self) -> BTreeMap<(EpochId, Party), usize>;
}

impl<S: Scheme> AnyEpochs for Epochs<S> {
    fn wake_at(&self) -> Option<Instant> {
        Machine::wake_at(self)
    }

    fn head(&self) -> Slot {
        self.head()
    }

    fn last_final(&self) -> Option<Slot> {
        self.last_final()
    }

    fn first(&self) -> Slot {
        self.first()
    }

    fn newest(&self) -> EpochId {
        self.newest()
    }

    fn snapshot(&self) -> Vec<epochs::Record> {
        self.snapshot()
    }

    fn public_keys(&self) -> BTreeSet<Vec<u8>> {
        self.public_keys()
    }

    fn longest_messages(&self) -> BTreeMap<(EpochId, Party), usize> {
        self.longest_messages()
    }
}

/// A list of schemes, each with a channel. It is implemented for `()`, and for `(S, L)` with a scheme `S` and
/// a list `L`. No other type needs to implement it.
pub trait Channels: Copy + Debug + Default + Eq + Send + Sync + 'static {
    /// The epochs of all channels; `None` for each channel that this chain does not use.
    type Epochs: Debug;
    /// A message of one channel.
    type Message: Clone + Debug + Eq + Send + Sync;
    /// An input for one channel alone.
    type Input: Clone + Debug;
    /// An effect of one channel that is no record, message or job.
    type Effect: Clone + Debug;
    /// The configuration of one channel for its next epoch.
    type Config: Debug;
    /// A job of one channel.
    type Job: Clone + Debug + Send + Sync;
    /// The result of a job.
    type Verdict: Clone + Debug + Eq + Send + Sync;

    /// How many channels there are.
    const COUNT: usize;

    /// Tells every channel about an event.
    fn tell(epochs: &mut Self::Epochs, now: Instant, event: Event);

    /// Gives an input to one channel. A channel that is not in use ignores it.
    fn handle(epochs: &mut Self::Epochs, now: Instant, input: Self::Input);

    /// The next output of the first channel that has one. `channel` is the number of the list's first
    /// channel.
    fn poll(
        epochs: &mut Self::Epochs,
        channel: Channel,
    ) -> Option<prefinal_protocol::Output<Record, ChannelOutput<Self>>>;

    /// The channels one by one, for reading; `None` for each that is not in use.
    fn each(epochs: &Self::Epochs) -> Vec<Option<&dyn AnyEpochs>>;

    /// Hands one channel over to its next committee. `records` are from before a restart, of all channels.
    ///
    /// # Errors
    /// If the channel is not in use, or if the committee does not follow.
    fn hand_over(
        epochs: &mut Self::Epochs,
        channel: Channel,
        next: Self::Config,
        records: &[Record],
    ) -> Result<(), StackError>;

    /// Tells all channels that their next committees are without this party.
    ///
    /// # Errors
    /// The error of the first channel that cannot end there.
    fn leave(epochs: &mut Self::Epochs, first: Slot) -> Result<(), StackError>;

    /// The public keys of a channel's next committee, with the channel's number.
    fn public_keys(next: &Self::Config, channel: Channel) -> (Channel, BTreeSet<Vec<u8>>);

    /// Makes the input for a received message.
    fn received(from: Party, epoch: EpochId, message: Self::Message) -> Self::Input;

    /// Makes the input for a verdict.
    fn checked(verdict: Self::Verdict) -> Self::Input;

    /// Runs a job. It needs no channel's state.
    fn run(job: &Self::Job) -> Self::Verdict;

    /// Whether a message leaves with the vote for this slot: [`Message::is_early`](crate::Message::is_early).
    fn is_early(message: &Self::Message, slot: Slot) -> bool;

    /// Writes channel (1 byte) ‖ message.
    ///
    /// # Errors
    /// The errors of the writer.
    fn write<W: Write>(message: &Self::Message, channel: Channel, writer: &mut W) -> IoResult<()>;

    /// Reads a message of the channel at this place of the list.
    ///
    /// # Errors
    /// If there is no such channel, or if the bytes are no message of it.
    fn read<R: Read>(place: u8, reader: &mut R) -> IoResult<Self::Message>;
}

impl Channels for () {
    type Epochs = ();
    type Message = Infallible;
    type Input = Infallible;
    type Effect = Infallible;
    type Config = Infallible;
    type Job = Infallible;
    type Verdict = Infallible;

    const COUNT: usize = 0;

    fn tell((): &mut (), _: Instant, _: Event) {}

    fn handle((): &mut (), _: Instant, input: Infallible) {
        match input {}
    }

    fn poll(
        (): &mut (),
        _: Channel,
    ) -> Option<prefinal_protocol::Output<Record, ChannelOutput<()>>> {
        None
    }

    fn each((): &()) -> Vec<Option<&dyn AnyEpochs>> {
        Vec::new()
    }

    fn hand_over(
        (): &mut (),
        _: Channel,
        next: Infallible,
        _: &[Record],
    ) -> Result<(), StackError> {
        match next {}
    }

    fn leave((): &mut (), _: Slot) -> Result<(), StackError> {
        Ok(())
    }

    fn public_keys(next: &Infallible, _: Channel) -> (Channel, BTreeSet<Vec<u8>>) {
        match *next {}
    }

    fn received(_: Party, _: EpochId, message: Infallible) -> Infallible {
        match message {}
    }

    fn checked(verdict: Infallible) -> Infallible {
        match verdict {}
    }

    fn run(job: &Infallible) -> Infallible {
        match *job {}
    }

    fn is_early(message: &Infallible, _: Slot) -> bool {
        match *message {}
    }

    fn write<W: Write>(message: &Infallible, _: Channel, _: &mut W) -> IoResult<()> {
        match *message {}
    }

    fn read<R: Read>(_: u8, _: &mut R) -> IoResult<Infallible> {
        Err(Error::new(ErrorKind::InvalidData, "no such channel"))
    }
}

impl<S: Scheme, L: Channels> Channels for (S, L) {
    type Epochs = (Option<Epochs<S>>, L::Epochs);
    type Message = OneOf<wire::Message<S>, L::Message>;
    type Input = OneOf<epochs::Input<S>, L::Input>;
    type Effect = OneOf<epochs::Effect<S>, L::Effect>;
    type Config = OneOf<Config<S>, L::Config>;
    type Job = OneOf<EpochItem<job::Job<S>>, L::Job>;
    type Verdict = OneOf<EpochItem<job::Verdict<S>>, L::Verdict>;

    const COUNT: usize = 1 + L::COUNT;

    fn tell((first, rest): &mut Self::Epochs, now: Instant, event: Event) {
        if let Some(first) = first {
            first.handle(now, heard(event));
        }
        L::tell(rest, now, event);
    }

    fn handle((first, rest): &mut Self::Epochs, now: Instant, input: Self::Input) {
        match (input, first) {
            (OneOf::First(input), Some(first)) => first.handle(now, input),
            // Peers may use this channel; this party does not, and keeps nothing.
            (OneOf::First(_), None) => {}
            (OneOf::Rest(input), _) => L::handle(rest, now, input),
        }
    }

    fn poll(
        (first, rest): &mut Self::Epochs,
        channel: Channel,
    ) -> Option<prefinal_protocol::Output<Record, ChannelOutput<Self>>> {
        match first.as_mut().and_then(Machine::poll) {
            Some(output) => Some(output.map(|record| Record { channel, record }, said)),
            None => L::poll(rest, channel.next())
                .map(|output| output.map(|record| record, ChannelOutput::behind)),
        }
    }

    fn each((first, rest): &Self::Epochs) -> Vec<Option<&dyn AnyEpochs>> {
        let mut each = vec![first.as_ref().map(|first| -> &dyn AnyEpochs { first })];
        each.extend(L::each(rest));
        each
    }

    fn hand_over(
        (first, rest): &mut Self::Epochs,
        channel: Channel,
        next: Self::Config,
        records: &[Record],
    ) -> Result<(), StackError> {
        match next {
            OneOf::First(config) => {
                let own = records.iter().filter(|record| record.channel == channel);
                let own: Vec<_> = own.map(|record| record.record).collect();
                let first = first.as_mut().ok_or(StackError::Unused(channel))?;
                Ok(first.hand_over_again(config, &own)?)
            }
            OneOf::Rest(config) => L::hand_over(rest, channel.next(), config, records),
        }
    }

    fn leave((first, rest): &mut Self::Epochs, slot: Slot) -> Result<(), StackError> {
        if let Some(first) = first {
            first.leave(slot)?;
        }
        L::leave(rest, slot)
    }

    fn public_keys(next: &Self::Config, channel: Channel) -> (Channel, BTreeSet<Vec<u8>>) {
        match next {
            OneOf::First(config) => (channel, config.public_keys()),
            OneOf::Rest(config) => L::public_keys(config, channel.next()),
        }
    }

    fn received(from: Party, epoch: EpochId, message: Self::Message) -> Self::Input {
        match message {
            OneOf::First(message) => {
                let message = epochs::Message { epoch, message };
                OneOf::First(epochs::Input::Received { from, message })
            }
            OneOf::Rest(message) => OneOf::Rest(L::received(from, epoch, message)),
        }
    }

    fn checked(verdict: Self::Verdict) -> Self::Input {
        match verdict {
            OneOf::First(EpochItem { epoch, what }) => {
                OneOf::First(epochs::Input::Checked { epoch, verdict: what })
            }
            OneOf::Rest(verdict) => OneOf::Rest(L::checked(verdict)),
        }
    }

    fn run(job: &Self::Job) -> Self::Verdict {
        match job {
            OneOf::First(EpochItem { epoch, what }) => {
                OneOf::First(EpochItem { epoch: *epoch, what: what.run() })
            }
            OneOf::Rest(job) => OneOf::Rest(L::run(job)),
        }
    }

    fn is_early(message: &Self::Message, slot: Slot) -> bool {
        match message {
            OneOf::First(message) => message.is_early(slot),
            OneOf::Rest(message) => L::is_early(message, slot),
        }
    }

    fn write<W: Write>(message: &Self::Message, channel: Channel, writer: &mut W) -> IoResult<()> {
        match message {
            OneOf::First(message) => {
                channel.serialize(writer)?;
                message.serialize(writer)
            }
            OneOf::Rest(message) => L::write(message, channel.next(), writer),
        }
    }

    fn read<R: Read>(place: u8, reader: &mut R) -> IoResult<Self::Message> {
        match place.checked_sub(1) {
            None => Ok(OneOf::First(wire::Message::deserialize_reader(reader)?)),
            Some(place) => Ok(OneOf::Rest(L::read(place, reader)?)),
        }
    }
}

const fn heard<S: Scheme>(event: Event) -> epochs::Input<S> {
    match event {
        Event::Prefinalized { slot, view, value } => {
            epochs::Input::Prefinalized { slot, view, value }
        }
        Event::Finalized { slot, value } => epochs::Input::Finalized { slot, value },
        Event::Abandoned { view } => epochs::Input::Abandoned { view },
        Event::Tick => epochs::Input::Tick,
    }
}

fn said<S: Scheme, L: Channels>(effect: epochs::Effect<S>) -> ChannelOutput<(S, L)> {
    match effect {
        epochs::Effect::Of { epoch, effect: event::Effect::Send { to, message } } => {
            ChannelOutput::Send { to, epoch, message: OneOf::First(message) }
        }
        epochs::Effect::Of { epoch, effect: event::Effect::Check(what) } => {
            ChannelOutput::Check(OneOf::First(EpochItem { epoch, what }))
        }
        other => ChannelOutput::Of(OneOf::First(other)),
    }
}

impl<L: Channels> ChannelOutput<L> {
    /// The same output in a list with one more channel in front.
    fn behind<S: Scheme>(self) -> ChannelOutput<(S, L)> {
        match self {
            Self::Send { to, epoch, message } => {
                ChannelOutput::Send { to, epoch, message: OneOf::Rest(message) }
            }
            Self::Check(job) => ChannelOutput::Check(OneOf::Rest(job)),
            Self::Of(effect) => ChannelOutput::Of(OneOf::Rest(effect)),
        }
    }
}
