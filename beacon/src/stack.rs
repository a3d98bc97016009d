//! Several schemes side by side, over one stream of events.
//!
//! ```
//! use beacon::stack::{Channel, Effect, OneOf, Stack};
//! use beacon::{Bls, Decryption, MultiSig, epochs};
//!
//! // What the chain has; another channel is another place at the end.
//! type Ours = (Bls, (MultiSig, (Decryption, ())));
//! const RANDOMNESS: Channel = Channel::new(0);
//! const CERTIFICATES: Channel = Channel::new(1);
//!
//! fn print(stack: &Stack<Ours>, effect: Effect<Ours>) {
//!     let (randomness, (certificates, (decryption, ()))) = stack.channels();
//!     println!("{} {} {}", randomness.is_some(), certificates.is_some(), decryption.is_some());
//!     match effect {
//!         Effect::Of(OneOf::First(epochs::Effect::Of { effect, .. })) => {
//!             println!("{RANDOMNESS}: {effect:?}");
//!         }
//!         Effect::Of(OneOf::Rest(OneOf::First(epochs::Effect::Of { effect, .. }))) => {
//!             println!("{CERTIFICATES}: {effect:?}");
//!         }
//!         other => println!("{other:?}"),
//!     }
//! }
//! ```
//! A channel is a scheme with keys of its own, in [`Epochs`](crate::epochs::Epochs). Which ones there are is
//! the chain's choice: a list of schemes ([`Channels`]), where each may be left out and each can be switched
//! off alone. Every event of the engine goes to all of them; what they answer is tagged by channel. They
//! share nothing else: a channel that lacks its output delays no other, and each obeys the contract by
//! itself.
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
mod channels;
mod envelope;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::context::EpochId;
use protocol::{Instant, Machine, Recipient, Slot};

use self::envelope::enveloped;
use crate::epochs::{self, HandoverError};

pub use self::channels::{AnyEpochs, Channel, ChannelOutput, Channels, Event, OfEpoch, OneOf};
pub use self::envelope::Envelope;

/// The most channels of a list: a channel's number is a byte.
const MOST_CHANNELS: usize = 255;

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
pub enum Input<L: Channels> {
    /// For every channel: what the engine says, or that time has passed.
    All(Event),
    /// An envelope of a peer, which is this party in the envelope's epoch.
    Received {
        /// The peer.
        from: Party,
        /// What it sent.
        envelope: Envelope<L>,
    },
    /// A job ended.
    Checked(Verdict<L>),
    /// For one channel alone: a late key, a slot's content, a switch.
    Of(L::Input),
}

/// What the beacons want done, in this order.
pub type Output<L> = protocol::Output<Record, Effect<L>>;

/// What the beacons want done, their records aside.
#[derive(Clone, Debug)]
pub enum Effect<L: Channels> {
    /// Send this.
    Send {
        /// To whom, in the envelope's epoch.
        to: Recipient<Party>,
        /// What.
        envelope: Envelope<L>,
    },
    /// Run this anywhere and bring the verdict back.
    Check(Job<L>),
    /// Everything else: reveals, faults, refusals.
    Of(L::Effect),
}

/// A job of one of the channels.
#[derive(Clone, Debug)]
pub struct Job<L: Channels>(L::Job);

/// What came of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<L: Channels>(L::Verdict);

/// Why beacons do not stand side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StackError {
    /// One secret for two purposes.
    #[error("{first} and {second} have a public key in common")]
    SharedKey {
        /// A channel.
        first: Channel,
        /// Another.
        second: Channel,
    },
    /// There is no such channel to hand over.
    #[error("{0} is not in use")]
    Unused(Channel),
    /// Written by a program with more channels: what they promised would be forgotten.
    #[error("a record is of {channel}, and there are {count}")]
    UnknownChannel {
        /// Whose record it is.
        channel: Channel,
        /// How many channels the list has.
        count: usize,
    },
    /// A channel's number is a byte.
    #[error("{count} channels, at most {MOST_CHANNELS} can be told apart")]
    TooMany {
        /// How many channels the list has.
        count: usize,
    },
    /// The channel's own reason.
    #[error(transparent)]
    Handover(#[from] HandoverError),
}

/// Beacons of different schemes under one stream of events.
#[derive(Debug)]
pub struct Stack<L: Channels> {
    channels: L::Epochs,
    outputs: VecDeque<Output<L>>,
}

impl<L: Channels> Machine for Stack<L> {
    type Input = Input<L>;
    type Record = Record;
    type Effect = Effect<L>;

    fn handle(&mut self, now: Instant, input: Input<L>) {
        let channels = &mut self.channels;
        match input {
            Input::All(event) => L::tell(channels, now, event),
            Input::Received { from, envelope } => {
                let epoch = envelope.epoch();
                for message in envelope.into_messages() {
                    L::handle(channels, now, L::received(from, epoch, message));
                }
            }
            Input::Checked(Verdict(verdict)) => L::handle(channels, now, L::checked(verdict)),
            Input::Of(input) => L::handle(channels, now, input),
        }
        self.collect();
    }

    fn poll(&mut self) -> Option<Output<L>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        let each = L::each(&self.channels).into_iter().flatten();
        each.filter_map(AnyEpochs::wake_at).min()
    }
}

impl<L: Channels> Stack<L> {
    /// Beacons that go on as they are, each from [its records](records_of).
    ///
    /// # Errors
    /// If two of them have a key in common.
    pub fn new(channels: L::Epochs) -> Result<Self, StackError> {
        let count = L::COUNT;
        if count > MOST_CHANNELS {
            return Err(StackError::TooMany { count });
        }
        check_keys::<L>(&channels, None)?;
        let mut stack = Self { channels, outputs: VecDeque::new() };
        stack.collect();
        Ok(stack)
    }

    /// The next committee of a channel, as [`Epochs::hand_over`](crate::epochs::Epochs::hand_over).
    ///
    /// # Errors
    /// If the channel is not in use, its next committee does not follow, or has a key of another channel.
    pub fn hand_over(&mut self, next: L::Config) -> Result<(), StackError> {
        self.hand_over_again(next, &[])
    }

    /// As [`Self::hand_over`], for a party that comes to the boundary again because it restarted: `records`
    /// are what it has on record, of any channel and epoch.
    ///
    /// # Errors
    /// As there.
    pub fn hand_over_again(
        &mut self,
        next: L::Config,
        records: &[Record],
    ) -> Result<(), StackError> {
        check_keys::<L>(&self.channels, Some(&next))?;
        L::hand_over(&mut self.channels, Channel::new(0), next, records)?;
        self.collect();
        Ok(())
    }

    /// The next committees are without this party, as [`Epochs::leave`](crate::epochs::Epochs::leave).
    ///
    /// # Errors
    /// Of the first channel that cannot end there; those before it have.
    pub fn leave(&mut self, first: Slot) -> Result<(), StackError> {
        L::leave(&mut self.channels, first)?;
        self.collect();
        Ok(())
    }

    /// The channels.
    #[must_use]
    pub const fn channels(&self) -> &L::Epochs {
        &self.channels
    }

    /// The fewest records that restore what must not be forgotten.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record> {
        let each = (0..).map(Channel::new).zip(L::each(&self.channels));
        let of = |(channel, epochs): (Channel, Option<&dyn AnyEpochs>)| {
            let records = epochs.map(AnyEpochs::snapshot).unwrap_or_default().into_iter();
            records.map(move |record| Record { channel, record })
        };
        each.flat_map(of).collect()
    }

    /// The first slot of which a channel that is in use has not said its last.
    #[must_use]
    pub fn head(&self) -> Slot {
        let each = L::each(&self.channels).into_iter().flatten();
        each.map(AnyEpochs::head).min().unwrap_or(Slot::new(0))
    }

    /// The highest slot that the engine has reported as final; `None` before the first report.
    #[must_use]
    pub fn last_final(&self) -> Option<Slot> {
        L::each(&self.channels).into_iter().flatten().filter_map(AnyEpochs::last_final).max()
    }

    /// The first slot of the oldest epoch of a channel; `None` if the channel is not in use.
    #[must_use]
    pub fn first(&self, channel: Channel) -> Option<Slot> {
        let each = L::each(&self.channels);
        each.get(usize::from(channel.place())).copied().flatten().map(AnyEpochs::first)
    }

    /// The newest epoch of all channels.
    #[must_use]
    pub fn newest(&self) -> EpochId {
        let each = L::each(&self.channels).into_iter().flatten();
        each.map(AnyEpochs::newest).max().unwrap_or(EpochId::new(0))
    }

    /// How many bytes an envelope of each party has at most, in each epoch that is here.
    #[must_use]
    pub fn longest_messages(&self) -> BTreeMap<(EpochId, Party), usize> {
        let mut longest: BTreeMap<_, usize> = BTreeMap::new();
        for epochs in L::each(&self.channels).into_iter().flatten() {
            for (peer, bytes) in epochs.longest_messages() {
                let most = longest.entry(peer).or_default();
                *most = (*most).max(Envelope::<L>::bytes_of(bytes));
            }
        }
        longest
    }

    /// Takes what the channels want done, and puts into one envelope what goes to the same parties.
    fn collect(&mut self) {
        let outputs = std::iter::from_fn(|| L::poll(&mut self.channels, Channel::new(0)));
        let outputs = outputs.map(|output| output.map(|record| record, effect));
        let outputs = outputs.collect();
        self.outputs.extend(enveloped(outputs));
    }
}

fn effect<L: Channels>(output: ChannelOutput<L>) -> Effect<L> {
    match output {
        ChannelOutput::Send { to, epoch, message } => {
            Effect::Send { to, envelope: Envelope::one(epoch, message) }
        }
        ChannelOutput::Check(job) => Effect::Check(Job(job)),
        ChannelOutput::Of(effect) => Effect::Of(effect),
    }
}

impl<L: Channels> Job<L> {
    /// Does the work of the job's channel.
    #[must_use]
    pub fn run(&self) -> Verdict<L> {
        Verdict(L::run(&self.0))
    }

    /// The channel's own job.
    #[must_use]
    pub const fn of_channel(&self) -> &L::Job {
        &self.0
    }
}

impl<L: Channels> Verdict<L> {
    /// What came of [`Job::of_channel`].
    #[must_use]
    pub const fn new(of_channel: L::Verdict) -> Self {
        Self(of_channel)
    }
}

/// The records of one channel, for [`Epochs::new`](crate::epochs::Epochs::new).
///
/// # Errors
/// If a record is of a channel that the list does not have.
pub fn records_of<L: Channels>(
    records: &[Record],
    channel: Channel,
) -> Result<Vec<epochs::Record>, StackError> {
    let count = L::COUNT;
    let unknown = |record: &&Record| usize::from(record.channel.place()) >= count;
    if let Some(Record { channel, .. }) = records.iter().find(unknown) {
        return Err(StackError::UnknownChannel { channel: *channel, count });
    }
    let own = records.iter().filter(|record| record.channel == channel);
    Ok(own.map(|record| record.record).collect())
}

/// No public key in two channels, those of a channel's next committee included.
fn check_keys<L: Channels>(
    channels: &L::Epochs,
    next: Option<&L::Config>,
) -> Result<(), StackError> {
    let each = L::each(channels).into_iter();
    let keys = each.map(|epochs| epochs.map(AnyEpochs::public_keys).unwrap_or_default());
    let mut keys: BTreeMap<Channel, _> = (0..).map(Channel::new).zip(keys).collect();
    if let Some((channel, next)) = next.map(|next| L::public_keys(next, Channel::new(0))) {
        keys.entry(channel).or_default().extend(next);
    }
    for (first, ones) in &keys {
        for (second, others) in keys.range((Excluded(first), Unbounded)) {
            if !ones.is_disjoint(others) {
                return Err(StackError::SharedKey { first: *first, second: *second });
            }
        }
    }
    Ok(())
}
