//! Several schemes side by side, over one stream of events.
//!
//! ```
//! use prefinal_beacon::stack::{Channel, Effect, OneOf, Stack};
//! use prefinal_beacon::{Bls, Decryption, MultiSig, epochs};
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
//! A channel is one scheme with its own keys, in [`Epochs`](crate::epochs::Epochs). The chain chooses its
//! channels as a list of schemes ([`Channels`]). Each channel may be left out, and each can be switched off
//! alone. Every event of the engine goes to all channels, and each answer names its channel. Channels share
//! nothing else: a channel that lacks its output delays no other, and each obeys the release contract by
//! itself.
//!
//! All messages that the channels send because of one event leave in one [`Envelope`], after the records of
//! all channels. So a prefinalize costs one write to disk and one message, however many channels there are.
//!
//! | bytes of an envelope | content                                                |
//! |----------------------|--------------------------------------------------------|
//! | epoch                | 8, little-endian                                       |
//! | count                | 4, little-endian, from 1 to [`Envelope::MOST`]         |
//! | each message         | channel (1) ‖ [`Message`](crate::Message)              |
//!
//! **One secret, one purpose.** Each channel has one scheme, and each scheme has its own domain tags. A
//! `Stack` refuses two channels with a common public key, of the group or of a share, at the start and at
//! every handover. The keys of the engine are not known here. The program that makes the keys must see to it
//! that the engine's votes use other keys.
//!
//! See also: the beacon of one channel (`beacon`), and epochs ([`crate::epochs`]).
mod channels;
mod envelope;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Instant, Machine, Recipient, Slot};

use self::envelope::enveloped;
use crate::epochs::{self, HandoverError};

pub use self::channels::{AnyEpochs, Channel, ChannelOutput, Channels, EpochItem, Event, OneOf};
pub use self::envelope::Envelope;

/// The most channels of a list. A channel's number is one byte.
const MOST_CHANNELS: usize = 255;

/// A record that must be found again after a crash: channel (1 byte) ‖ [`epochs::Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Record {
    /// The channel that the record belongs to.
    pub channel: Channel,
    /// The channel's own record.
    pub record: epochs::Record,
}

/// Something that happens to the beacons.
#[derive(Clone, Debug)]
pub enum Input<L: Channels> {
    /// An event for every channel: from the engine, or that time has passed.
    All(Event),
    /// An envelope of a peer. `from` is the peer's number in the envelope's epoch.
    Received {
        /// The peer that sent it.
        from: Party,
        /// The messages that the peer sent together.
        envelope: Envelope<L>,
    },
    /// A job has ended, with this verdict.
    Checked(Verdict<L>),
    /// An input for one channel alone: a late key, a slot's content, a switch.
    Of(L::Input),
}

/// Something that the beacons want done, in this order.
pub type Output<L> = prefinal_protocol::Output<Record, Effect<L>>;

/// Something that the beacons want done, other than storing a record.
#[derive(Clone, Debug)]
pub enum Effect<L: Channels> {
    /// Send this envelope to peers, over links that authenticate this party.
    Send {
        /// The recipient, by its number in the envelope's epoch, or all.
        to: Recipient<Party>,
        /// The messages of all channels that leave together.
        envelope: Envelope<L>,
    },
    /// Run this job anywhere, and give its verdict back as [`Input::Checked`].
    Check(Job<L>),
    /// Everything else: reveals, faults, refusals.
    Of(L::Effect),
}

/// A job of one of the channels.
#[derive(Clone, Debug)]
pub struct Job<L: Channels>(L::Job);

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<L: Channels>(L::Verdict);

/// Why a stack is not made or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StackError {
    /// Two channels have a common key: one secret would serve two purposes.
    #[error("{first} and {second} have a public key in common")]
    SharedKey {
        /// The channel that comes first in the list.
        first: Channel,
        /// The later channel with the same key.
        second: Channel,
    },
    /// The channel to hand over is not in use.
    #[error("{0} is not in use")]
    Unused(Channel),
    /// A program with more channels wrote this record. The promises of those channels would be forgotten.
    #[error("a record is of {channel}, and there are {count}")]
    UnknownChannel {
        /// The channel of the record.
        channel: Channel,
        /// How many channels the list has.
        count: usize,
    },
    /// The list has too many channels: a channel's number is one byte.
    #[error("{count} channels, at most {MOST_CHANNELS} can be told apart")]
    TooMany {
        /// How many channels the list has.
        count: usize,
    },
    /// The epochs of the channel refuse the handover.
    #[error(transparent)]
    Handover(#[from] HandoverError),
}

impl StackError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SharedKey { .. } => "shared-key",
            Self::Unused(_) => "unused-channel",
            Self::UnknownChannel { .. } => "unknown-channel",
            Self::TooMany { .. } => "count-too-large",
            Self::Handover(error) => error.code(),
        }
    }
}

/// Beacons of different schemes under one stream of events.
///
/// ```
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::bls::MinSig;
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_crypto_core::curve::Scalar;
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::threshold::{KeyShares, Purpose, Setup, SigningCommittee};
/// # use prefinal_beacon::*;
/// # use prefinal_weighted_rounding::Stake;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let me = Party::new(0);
/// # let (access, threshold) = (Access::new(&[1])?, Threshold::new(1, 1)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let (placement, purpose) = (Placement::Consecutive, Purpose::Rounds);
/// # let setup = Setup { access, threshold, placement, purpose };
/// # let committee = SigningCommittee::<MinSig>::from_commitment(setup, &Commitment::commit(&f))?;
/// # let sharing = || Sharing {
/// #     committee: committee.clone(),
/// #     secret: Some(KeyShares::new(me, f.shares(committee.points())).check(&committee).unwrap()),
/// # };
/// # let config = |epoch, first| Config::<Bls> {
/// #     context: Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(epoch) },
/// #     me,
/// #     paths: Paths::Tight(sharing()),
/// #     binding: Binding::Slot,
/// #     fast_attempt: Some(0),
/// #     finality: Finality::exact(&[Stake::new(1)], Quorum::BYZANTINE).unwrap(),
/// #     first: Slot::new(first),
/// #     life: Life::First,
/// #     limits: Limits::default(),
/// # };
/// use prefinal_beacon::epochs::Epochs;
/// use prefinal_beacon::stack::{Channel, Event, Input, Stack};
/// use prefinal_beacon::{Bls, MultiSig, Slot};
/// use prefinal_protocol::{Instant, Machine};
///
/// type Ours = (Bls, (MultiSig, ()));
/// let randomness = Epochs::new([config(1, 5)], &[])?;
/// let mut stack = Stack::<Ours>::new((Some(randomness), (None, ())))?; // no certificates yet
/// assert_eq!(stack.first(Channel::new(0)), Some(Slot::new(5)));
/// assert_eq!(stack.first(Channel::new(1)), None);
///
/// let event = Event::Finalized { slot: Slot::new(5), value: None };
/// stack.handle(Instant::START, Input::All(event)); // to all channels
/// assert_eq!(stack.last_final(), Some(Slot::new(5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// Makes a stack from the channels, each made from [its records](records_of).
    ///
    /// # Errors
    /// If two channels have a common key, or if there are too many channels.
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

    /// Hands a channel over to its next committee, as
    /// [`Epochs::hand_over`](crate::epochs::Epochs::hand_over).
    ///
    /// # Errors
    /// If the channel is not in use, if its next committee does not follow, or if that committee has a key of
    /// another channel.
    pub fn hand_over(&mut self, next: L::Config) -> Result<(), StackError> {
        self.hand_over_again(next, &[])
    }

    /// As [`Self::hand_over`], for a party that reaches the boundary again because it restarted. `records`
    /// are all its records, of any channel and epoch.
    ///
    /// # Errors
    /// As [`Self::hand_over`].
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

    /// Tells all channels that their next committees are without this party, as
    /// [`Epochs::leave`](crate::epochs::Epochs::leave).
    ///
    /// # Errors
    /// The error of the first channel that cannot end there. The channels before it have ended.
    pub fn leave(&mut self, first: Slot) -> Result<(), StackError> {
        L::leave(&mut self.channels, first)?;
        self.collect();
        Ok(())
    }

    /// The channels, for reading.
    #[must_use]
    pub const fn channels(&self) -> &L::Epochs {
        &self.channels
    }

    /// The fewest records that restore everything that must not be forgotten.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record> {
        let each = (0..).map(Channel::new).zip(L::each(&self.channels));
        let of = |(channel, epochs): (Channel, Option<&dyn AnyEpochs>)| {
            let records = epochs.map(AnyEpochs::snapshot).unwrap_or_default().into_iter();
            records.map(move |record| Record { channel, record })
        };
        each.flat_map(of).collect()
    }

    /// The first slot that some channel in use has not finished.
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

    /// The first slot of the oldest epoch that a channel keeps; `None` if the channel is not in use.
    #[must_use]
    pub fn first(&self, channel: Channel) -> Option<Slot> {
        let each = L::each(&self.channels);
        each.get(usize::from(channel.place())).copied().flatten().map(AnyEpochs::first)
    }

    /// The newest epoch of any channel.
    #[must_use]
    pub fn newest(&self) -> EpochId {
        let each = L::each(&self.channels).into_iter().flatten();
        each.map(AnyEpochs::newest).max().unwrap_or(EpochId::new(0))
    }

    /// The length in bytes of the longest envelope of each party, in each epoch that is kept here.
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

    /// Collects the outputs of the channels, and puts messages to the same parties into one envelope.
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
    /// Does the work, mostly pairings, on the calling thread. Give the verdict back to the stack.
    #[must_use]
    pub fn run(&self) -> Verdict<L> {
        Verdict(L::run(&self.0))
    }

    /// The job as its channel knows it.
    #[must_use]
    pub const fn of_channel(&self) -> &L::Job {
        &self.0
    }
}

impl<L: Channels> Verdict<L> {
    /// The verdict of a job, from the result of [`Job::of_channel`].
    #[must_use]
    pub const fn new(of_channel: L::Verdict) -> Self {
        Self(of_channel)
    }
}

/// Picks the records of one channel, for [`Epochs::new`](crate::epochs::Epochs::new).
///
/// # Errors
/// If a record belongs to a channel that the list does not have.
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

/// Checks that no public key is in two channels, including the keys of a channel's next committee.
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
