//! Several schemes side by side, over one stream of events.
//!
//! ```text
//!                    ┌─► randomness    (threshold BLS or the weighted VUF) ─┐
//!  prefinalize,      ├─► certificates  (multi-signatures, exact stake)     ─┼─► one envelope
//!  finalize, abandon └─► decryption    (threshold ElGamal)                 ─┘
//! ```
//! A channel is a scheme with keys of its own, in [`Epochs`]; which ones there are is the chain's choice,
//! and each can be switched off alone. Every event of the engine goes to all of them; what they answer is
//! tagged by channel. They share nothing else: a channel that lacks its output delays no other, and each
//! obeys the contract by itself.
//!
//! What all channels say because of one event leaves in one [`Envelope`], after the records of all: one
//! write to disk and one message for a prefinalize, however many channels there are.
//!
//! | bytes of an envelope | what                                                   |
//! |----------------------|--------------------------------------------------------|
//! | epoch                | 8, little-endian                                       |
//! | count                | 4, little-endian, from 1 to [`Envelope::MOST`]         |
//! | each message         | channel (1) ‖ [`Message`](crate::Message)              |
//!
//! **One secret, one purpose.** Channels have one scheme each, and each scheme its own domains; a `Stack`
//! refuses two channels with a public key in common, of the group or of a share, at the start and at
//! every handover. Keys of the engine are not known here: that its votes are under others is up to who
//! makes the keys.
//!
//! Elsewhere: what becomes of one channel (`beacon`), epochs ([`crate::epochs`]).
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use borsh::io::{Error, ErrorKind, Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::context::EpochId;
use protocol::{Instant, Machine, Recipient, Slot, Value, View};

use crate::config::Config;
use crate::epochs::{self, Epochs, HandoverError};
use crate::event;
use crate::job;
use crate::schemes::{Decryption, MultiSig, Random, Scheme};
use crate::wire;

/// Which of the beacons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub enum Channel {
    /// 32 bytes for each slot that nobody could foresee.
    Randomness,
    /// State certificates.
    Certificates,
    /// The slot's ciphertexts, opened.
    Decryption,
}

/// Something of one of the channels.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum On<R, C, D> {
    /// Of [`Channel::Randomness`].
    Randomness(R),
    /// Of [`Channel::Certificates`].
    Certificates(C),
    /// Of [`Channel::Decryption`].
    Decryption(D),
}

/// A message of one channel.
pub type Message<R> = On<wire::Message<R>, wire::Message<MultiSig>, wire::Message<Decryption>>;
/// Something that only one channel knows.
pub type Own<R> = On<epochs::Input<R>, epochs::Input<MultiSig>, epochs::Input<Decryption>>;
/// What a channel wants done, beside records, messages and jobs.
pub type News<R> = On<epochs::Effect<R>, epochs::Effect<MultiSig>, epochs::Effect<Decryption>>;
/// What a channel starts, or goes on to, an epoch with.
pub type Next<R> = On<Config<R>, Config<MultiSig>, Config<Decryption>>;

/// Something of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfEpoch<T> {
    /// The epoch.
    pub epoch: EpochId,
    /// What.
    pub what: T,
}

/// A job of one channel.
pub type Job<R> =
    On<OfEpoch<job::Job<R>>, OfEpoch<job::Job<MultiSig>>, OfEpoch<job::Job<Decryption>>>;
/// What came of it.
pub type Verdict<R> = On<
    OfEpoch<job::Verdict<R>>,
    OfEpoch<job::Verdict<MultiSig>>,
    OfEpoch<job::Verdict<Decryption>>,
>;

/// What leaves together: messages about slots of one epoch.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub struct Envelope<R: Scheme> {
    epoch: EpochId,
    #[borsh(bound(serialize = ""))]
    messages: Vec<Message<R>>,
}

/// What must be found again after a crash: channel (1 byte) ‖ [`epochs::Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Record {
    /// Whose.
    pub channel: Channel,
    /// The record.
    pub record: epochs::Record,
}

/// What happens to the beacons.
#[derive(Clone, Debug)]
pub enum Input<R: Random> {
    /// As [`event::Input::Prefinalized`](crate::Input::Prefinalized).
    Prefinalized {
        /// Whose value.
        slot: Slot,
        /// Where the vote is cast.
        view: View,
        /// The value.
        value: Value,
    },
    /// As [`event::Input::Finalized`](crate::Input::Finalized).
    Finalized {
        /// The slot.
        slot: Slot,
        /// Its value.
        value: Option<Value>,
    },
    /// As [`event::Input::Abandoned`](crate::Input::Abandoned).
    Abandoned {
        /// The view.
        view: View,
    },
    /// An envelope of a peer, which is this party in the envelope's epoch.
    Received {
        /// The peer.
        from: Party,
        /// What it sent.
        envelope: Envelope<R>,
    },
    /// A job ended.
    Checked(Verdict<R>),
    /// For one channel alone: a late key, a slot's content, a switch.
    Of(Own<R>),
    /// [`wake_at`](protocol::Machine::wake_at) passed.
    Tick,
}

/// What the beacons want done, in this order.
pub type Output<R> = protocol::Output<Record, Effect<R>>;

/// What the beacons want done, their records aside.
#[derive(Clone, Debug)]
pub enum Effect<R: Random> {
    /// Send this.
    Send {
        /// To whom, in the envelope's epoch.
        to: Recipient<Party>,
        /// What.
        envelope: Envelope<R>,
    },
    /// Run this anywhere and bring the verdict back.
    Check(Job<R>),
    /// Everything else: reveals, faults, refusals.
    Of(News<R>),
}

/// Why beacons do not stand side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StackError {
    /// One secret for two purposes.
    #[error("{first:?} and {second:?} have a public key in common")]
    SharedKey {
        /// A channel.
        first: Channel,
        /// Another.
        second: Channel,
    },
    /// There is no such channel to hand over.
    #[error("{0:?} is not in use")]
    Unused(Channel),
    /// The channel's own reason.
    #[error(transparent)]
    Handover(#[from] HandoverError),
}

/// The channels that a chain has; `None` for those that it does without.
#[derive(Debug)]
pub struct Channels<R: Random> {
    /// Of [`Channel::Randomness`].
    pub randomness: Option<Epochs<R>>,
    /// Of [`Channel::Certificates`].
    pub certificates: Option<Epochs<MultiSig>>,
    /// Of [`Channel::Decryption`].
    pub decryption: Option<Epochs<Decryption>>,
}

/// Beacons of different schemes under one stream of events.
#[derive(Debug)]
pub struct Stack<R: Random> {
    channels: Channels<R>,
    outputs: VecDeque<Output<R>>,
}

/// Does the same to every channel that is there.
macro_rules! each {
    ($channels:expr, $channel:ident => $do:expr) => {{
        if let Some($channel) = &mut $channels.randomness {
            $do;
        }
        if let Some($channel) = &mut $channels.certificates {
            $do;
        }
        if let Some($channel) = &mut $channels.decryption {
            $do;
        }
    }};
}

impl<R: Random> Machine for Stack<R> {
    type Input = Input<R>;
    type Record = Record;
    type Effect = Effect<R>;

    fn handle(&mut self, now: Instant, input: Input<R>) {
        let channels = &mut self.channels;
        match input {
            Input::Prefinalized { slot, view, value } => each!(channels, channel => {
                channel.handle(now, epochs::Input::Prefinalized { slot, view, value });
            }),
            Input::Finalized { slot, value } => each!(channels, channel => {
                channel.handle(now, epochs::Input::Finalized { slot, value });
            }),
            Input::Abandoned { view } => each!(channels, channel => {
                channel.handle(now, epochs::Input::Abandoned { view });
            }),
            Input::Received { from, envelope: Envelope { epoch, messages } } => {
                for message in messages {
                    self.of(now, message.received(from, epoch));
                }
            }
            Input::Checked(verdict) => self.of(now, verdict.checked()),
            Input::Of(own) => self.of(now, own),
            Input::Tick => each!(channels, channel => channel.handle(now, epochs::Input::Tick)),
        }
        self.collect();
    }

    fn poll(&mut self) -> Option<Output<R>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        let Channels { randomness, certificates, decryption } = &self.channels;
        let wakes = [
            randomness.as_ref().and_then(Machine::wake_at),
            certificates.as_ref().and_then(Machine::wake_at),
            decryption.as_ref().and_then(Machine::wake_at),
        ];
        wakes.into_iter().flatten().min()
    }
}

impl<R: Random> Stack<R> {
    /// Beacons that go on as they are, each from [its records](records_of).
    ///
    /// # Errors
    /// If two of them have a key in common.
    pub fn new(channels: Channels<R>) -> Result<Self, StackError> {
        check_keys(&channels, None)?;
        let mut stack = Self { channels, outputs: VecDeque::new() };
        stack.collect();
        Ok(stack)
    }

    /// The next committee of a channel, as [`Epochs::hand_over`].
    ///
    /// # Errors
    /// If the channel is not in use, its next committee does not follow, or has a key of another channel.
    pub fn hand_over(&mut self, next: Next<R>) -> Result<(), StackError> {
        check_keys(&self.channels, Some(&next))?;
        match next {
            On::Randomness(config) => {
                let channel = self.channels.randomness.as_mut();
                channel.ok_or(StackError::Unused(Channel::Randomness))?.hand_over(config)?;
            }
            On::Certificates(config) => {
                let channel = self.channels.certificates.as_mut();
                channel.ok_or(StackError::Unused(Channel::Certificates))?.hand_over(config)?;
            }
            On::Decryption(config) => {
                let channel = self.channels.decryption.as_mut();
                channel.ok_or(StackError::Unused(Channel::Decryption))?.hand_over(config)?;
            }
        }
        self.collect();
        Ok(())
    }

    /// The next committees are without this party, as [`Epochs::leave`].
    ///
    /// # Errors
    /// Of the first channel that cannot end there; those before it have.
    pub fn leave(&mut self, first: Slot) -> Result<(), StackError> {
        let channels = &mut self.channels;
        each!(channels, channel => channel.leave(first)?);
        self.collect();
        Ok(())
    }

    /// The channels.
    #[must_use]
    pub const fn channels(&self) -> &Channels<R> {
        &self.channels
    }

    /// The fewest records that restore what must not be forgotten.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record> {
        let Channels { randomness, certificates, decryption } = &self.channels;
        let tagged = |channel, records: Option<Vec<epochs::Record>>| {
            records.into_iter().flatten().map(move |record| Record { channel, record })
        };
        tagged(Channel::Randomness, randomness.as_ref().map(Epochs::snapshot))
            .chain(tagged(Channel::Certificates, certificates.as_ref().map(Epochs::snapshot)))
            .chain(tagged(Channel::Decryption, decryption.as_ref().map(Epochs::snapshot)))
            .collect()
    }

    fn of(&mut self, now: Instant, own: Own<R>) {
        let Channels { randomness, certificates, decryption } = &mut self.channels;
        // Of a channel that is not in use here: its peers' choice, and nothing to keep.
        match own {
            On::Randomness(input) => {
                randomness.iter_mut().for_each(|it| it.handle(now, input.clone()))
            }
            On::Certificates(input) => {
                certificates.iter_mut().for_each(|it| it.handle(now, input.clone()));
            }
            On::Decryption(input) => {
                decryption.iter_mut().for_each(|it| it.handle(now, input.clone()))
            }
        }
    }

    /// Takes what the channels want done, and puts into one envelope what goes to the same parties.
    fn collect(&mut self) {
        let mut news = Vec::new();
        let Channels { randomness, certificates, decryption } = &mut self.channels;
        if let Some(channel) = randomness {
            take(
                channel,
                Channel::Randomness,
                &mut news,
                Tags { message: On::Randomness, job: On::Randomness, other: On::Randomness },
            );
        }
        if let Some(channel) = certificates {
            take(
                channel,
                Channel::Certificates,
                &mut news,
                Tags { message: On::Certificates, job: On::Certificates, other: On::Certificates },
            );
        }
        if let Some(channel) = decryption {
            take(
                channel,
                Channel::Decryption,
                &mut news,
                Tags { message: On::Decryption, job: On::Decryption, other: On::Decryption },
            );
        }
        self.outputs.extend(enveloped(news));
    }
}

/// How a channel's own becomes the stack's.
struct Tags<S: Scheme, R: Random> {
    message: fn(wire::Message<S>) -> Message<R>,
    job: fn(OfEpoch<job::Job<S>>) -> Job<R>,
    other: fn(epochs::Effect<S>) -> News<R>,
}

fn take<S: Scheme, R: Random>(
    channel: &mut Epochs<S>,
    name: Channel,
    news: &mut Vec<Output<R>>,
    tags: Tags<S, R>,
) {
    while let Some(output) = channel.poll() {
        let record = |record| Record { channel: name, record };
        news.push(output.map(record, |effect| match effect {
            epochs::Effect::Of { epoch, effect: event::Effect::Send { to, message } } => {
                let messages = vec![(tags.message)(message)];
                Effect::Send { to, envelope: Envelope { epoch, messages } }
            }
            epochs::Effect::Of { epoch, effect: event::Effect::Check(job) } => {
                Effect::Check((tags.job)(OfEpoch { epoch, what: job }))
            }
            other => Effect::Of((tags.other)(other)),
        }));
    }
}

/// Each message waits for the last one to the same parties: none is before a record that it was behind.
fn enveloped<R: Random>(news: Vec<Output<R>>) -> impl Iterator<Item = Output<R>> {
    let mut backwards: Vec<Output<R>> = Vec::with_capacity(news.len());
    let mut open = BTreeMap::new();
    for output in news.into_iter().rev() {
        if let Output::Do(Effect::Send { to, envelope: Envelope { epoch, messages } }) = &output {
            let last =
                open.get(&(*epoch, place(*to))).and_then(|at: &usize| backwards.get_mut(*at));
            if let Some(Output::Do(Effect::Send { envelope, .. })) = last
                && envelope.messages.len() < Envelope::<R>::MOST
            {
                envelope.messages.extend(messages.iter().cloned());
                continue;
            }
            open.insert((*epoch, place(*to)), backwards.len());
        }
        backwards.push(output);
    }
    backwards.into_iter().rev().map(|output| match output {
        Output::Do(Effect::Send { to, mut envelope }) => {
            envelope.messages.reverse();
            Output::Do(Effect::Send { to, envelope })
        }
        other => other,
    })
}

const fn place(to: Recipient<Party>) -> Option<Party> {
    match to {
        Recipient::All => None,
        Recipient::One(party) => Some(party),
    }
}

impl<R: Scheme> Envelope<R> {
    /// The most messages of one envelope.
    pub const MOST: usize = 16;

    /// Whose slots it is about, and by which numbers its sender and recipients go.
    #[must_use]
    pub const fn epoch(&self) -> EpochId {
        self.epoch
    }

    /// What is said; never nothing.
    #[must_use]
    pub fn messages(&self) -> &[Message<R>] {
        &self.messages
    }

    /// Puts messages about one epoch together; `None` if there are none, or too many.
    #[must_use]
    pub fn new(epoch: EpochId, messages: Vec<Message<R>>) -> Option<Self> {
        (1..=Self::MOST).contains(&messages.len()).then_some(Self { epoch, messages })
    }
}

impl<R: Scheme> BorshDeserialize for Envelope<R> {
    fn deserialize_reader<Source: Read>(reader: &mut Source) -> IoResult<Self> {
        let epoch = EpochId::deserialize_reader(reader)?;
        let count = u32::deserialize_reader(reader)?;
        if !(1..=Self::MOST).contains(&usize::try_from(count).unwrap_or(usize::MAX)) {
            return Err(Error::new(ErrorKind::InvalidData, "no envelope has so many messages"));
        }
        let messages = (0..count).map(|_| Message::deserialize_reader(reader));
        Ok(Self { epoch, messages: messages.collect::<IoResult<_>>()? })
    }
}

impl<R: Scheme> Message<R> {
    fn received(self, from: Party, epoch: EpochId) -> Own<R> {
        match self {
            Self::Randomness(message) => On::Randomness(received(from, epoch, message)),
            Self::Certificates(message) => On::Certificates(received(from, epoch, message)),
            Self::Decryption(message) => On::Decryption(received(from, epoch, message)),
        }
    }
}

const fn received<S: Scheme>(
    from: Party,
    epoch: EpochId,
    message: wire::Message<S>,
) -> epochs::Input<S> {
    epochs::Input::Received { from, message: epochs::Message { epoch, message } }
}

impl<R: Random> Job<R> {
    /// Does the work.
    #[must_use]
    pub fn run(&self) -> Verdict<R> {
        match self {
            Self::Randomness(job) => On::Randomness(run(job)),
            Self::Certificates(job) => On::Certificates(run(job)),
            Self::Decryption(job) => On::Decryption(run(job)),
        }
    }
}

fn run<S: Scheme>(job: &OfEpoch<job::Job<S>>) -> OfEpoch<job::Verdict<S>> {
    OfEpoch { epoch: job.epoch, what: job.what.run() }
}

impl<R: Random> Verdict<R> {
    fn checked(self) -> Own<R> {
        match self {
            Self::Randomness(verdict) => On::Randomness(checked(verdict)),
            Self::Certificates(verdict) => On::Certificates(checked(verdict)),
            Self::Decryption(verdict) => On::Decryption(checked(verdict)),
        }
    }
}

fn checked<S: Scheme>(OfEpoch { epoch, what }: OfEpoch<job::Verdict<S>>) -> epochs::Input<S> {
    epochs::Input::Checked { epoch, verdict: what }
}

/// The records of one channel, for [`Epochs::new`].
#[must_use]
pub fn records_of(records: &[Record], channel: Channel) -> Vec<epochs::Record> {
    let own = records.iter().filter(|record| record.channel == channel);
    own.map(|record| record.record).collect()
}

/// No public key in two channels, those of a channel's next committee included.
fn check_keys<R: Random>(channels: &Channels<R>, next: Option<&Next<R>>) -> Result<(), StackError> {
    let mut keys: BTreeMap<Channel, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let Channels { randomness, certificates, decryption } = channels;
    keys.insert(
        Channel::Randomness,
        randomness.as_ref().map(Epochs::public_keys).unwrap_or_default(),
    );
    keys.insert(
        Channel::Certificates,
        certificates.as_ref().map(Epochs::public_keys).unwrap_or_default(),
    );
    keys.insert(
        Channel::Decryption,
        decryption.as_ref().map(Epochs::public_keys).unwrap_or_default(),
    );
    let (channel, more) = match next {
        None => (Channel::Randomness, BTreeSet::new()),
        Some(On::Randomness(config)) => (Channel::Randomness, config.public_keys()),
        Some(On::Certificates(config)) => (Channel::Certificates, config.public_keys()),
        Some(On::Decryption(config)) => (Channel::Decryption, config.public_keys()),
    };
    keys.entry(channel).or_default().extend(more);
    for (&first, ones) in &keys {
        for (&second, others) in keys.range(first..).skip(1) {
            if !ones.is_disjoint(others) {
                return Err(StackError::SharedKey { first, second });
            }
        }
    }
    Ok(())
}
