//! Committee after committee, without a gap and without a slot that has two outputs.
//!
//! ```text
//!                 hand over: first slot b of the next committee
//!  slots … b−2  b−1 │ b  b+1 …
//!  epoch e ─────────┤····· answers only        retired once b−1 is revealed
//!  epoch e+1  keys ─┼──────────────────►       collects at once, reveals after b−1
//! ```
//! A slot belongs to one epoch: a slot below the boundary belongs to the old epoch, any other to the new one.
//! Its partials, records and jobs name the epoch, so a partial of one epoch never counts in the other. Each
//! epoch numbers its parties separately. So the driver must know who each (epoch, party) is.
//!
//! | event of the engine   | goes to                                                          |
//! |-----------------------|------------------------------------------------------------------|
//! | prefinalize, finalize | the epoch of the slot                                            |
//! | abandoned             | all epochs: giving up a later view holds back earlier slots too (rule 4) |
//! | switch                | the epoch of its slot, and all later epochs                      |
//! | was off               | each epoch that has some of the slots                            |
//!
//! State that restricts later slots is handed over too: the next epoch starts with the latest view that was
//! given up and with all switches. It makes them durable as its own records.
//!
//! Both epochs are live until the last old slot is revealed. Until then the new epoch's reveals wait,
//! together with the notes that record them, so that outputs come in one order. As many wait as the engine is
//! ahead. Then the old secrets are wiped. Partials that peers may still ask for stay ready until the next
//! handover, for as many finished slots as [`Limits::history`](crate::Limits) says. Of epochs before that one nothing is
//! here, and the host may have outputs in its archive for a peer that asks ([`Effect::Lookup`](crate::Effect)). A party
//! that was away and passed over slots of an epoch ([`Record::PassedOver`](crate::Record)) keeps that epoch's secrets, for
//! peers may lack nobody else's partial of any of them. It wipes them when the first epoch has ended all of whose slots
//! it has had itself.
//!
//! An adversary may move from party to party over time. A handover stops it only if nothing of the old epoch
//! is left to steal. Here the old secrets are wiped. A party that dealt its shares to the next committee
//! wipes those too, together with the decryption key that they came with (`prefinal_pvss_dkg::guide`,
//! "Changing the committee").
//!
//! Slot numbers continue over epochs. If the key was handed over (`prefinal_pvss_dkg::field::Handover`), the
//! rounds of threshold BLS continue too, counted from the same slot
//! ([`Binding::Rounds`](crate::Binding::Rounds)). So clients of drand see one chain, whatever the committee
//! is. A committee of rounds with another group key is refused. A fresh key starts another chain, which needs
//! a separate `Epochs`.
//!
//! The boundary `b` must be known before this party releases for slot `b` or a later one, or reports one of
//! them as final. A later boundary is refused,
//! because the slot would have two committees. Messages of peers about an epoch that this party was not
//! told of yet are dropped, and asked for again once its slots are final. If the epoch is announced a
//! window ahead, nobody has to wait.
//!
//! Difference from the papers: they fix one committee.
mod term;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, EpochId};
use prefinal_protocol::{Instant, Machine, Slot, Value, View};

use self::term::Term;
use crate::beacon::Beacon;
use crate::config::Config;
use crate::config_error::ConfigError;
use crate::event;
use crate::history::Shows;
use crate::job::Verdict;
use crate::schemes::{Content, Function, LateKey, OtherGroupKey, Scheme};
use crate::switch::Switch;
use crate::wire;
use prefinal_contract::Path;

/// Something that happens to the epochs.
#[derive(Clone, Debug)]
pub enum Input<S: Function> {
    /// This party is about to vote, as in [`event::Input::Prefinalized`](crate::Input::Prefinalized).
    Prefinalized {
        /// The slot that the value is for.
        slot: Slot,
        /// The view in which the vote is cast.
        view: View,
        /// The value that the vote is for.
        value: Value,
    },
    /// The engine knows that the slot is final, as in [`event::Input::Finalized`](crate::Input::Finalized).
    Finalized {
        /// The slot that is final.
        slot: Slot,
        /// Its value; `None` if the slot was skipped.
        value: Option<Value>,
    },
    /// This party gives up a view, as in [`event::Input::Abandoned`](crate::Input::Abandoned).
    Abandoned {
        /// The view that is given up.
        view: View,
    },
    /// A message of a peer. `from` is the peer's number in the epoch that the message names.
    Received {
        /// The peer that sent it.
        from: Party,
        /// What the peer sent, decoded.
        message: Message<S>,
    },
    /// A job of an epoch has ended.
    Checked {
        /// The epoch of the job.
        epoch: EpochId,
        /// The result of the job.
        verdict: Verdict<S>,
    },
    /// A party counts from now on: its key came after the start.
    Admitted {
        /// The epoch whose committee has the party.
        epoch: EpochId,
        /// The path that the key is for.
        path: Path,
        /// The key of the party for this path, admitted by the scheme.
        key: LateKey<S>,
    },
    /// The content of a slot's value, as [`event::Input::Content`](crate::Input::Content).
    Content {
        /// The epoch of the slot.
        epoch: EpochId,
        /// The content of the value, for example its ciphertexts.
        content: Content<S>,
    },
    /// As [`event::Input::Switch`](crate::Input::Switch), for every epoch that has slots from there on.
    Switch(Switch),
    /// As [`event::Input::WasOff`](crate::Input::WasOff), in the epochs that have the slots.
    WasOff {
        /// The first slot that was off.
        first: Slot,
        /// The last slot that was off.
        last: Slot,
    },
    /// As [`event::Input::PassedOver`](crate::Input::PassedOver), in every epoch that has slots up to there.
    PassedOver {
        /// The last of them.
        last: Slot,
    },
    /// The time that [`wake_at`](prefinal_protocol::Machine::wake_at) named has passed.
    Tick,
}

/// Something that the epochs want done, in this order.
pub type Output<S> = prefinal_protocol::Output<Record, Effect<S>>;

/// Something that the epochs want done, other than storing a record.
#[derive(Clone, Debug)]
pub enum Effect<S: Function> {
    /// An effect of one epoch's beacon. Parties in it have their numbers in this epoch.
    Of {
        /// The epoch whose beacon wants it done.
        epoch: EpochId,
        /// The effect of its beacon.
        effect: event::Effect<S>,
    },
    /// The last slot of the epoch is revealed, and its secrets are wiped, unless slots of it were passed over. Its
    /// records are now useful only to answer peers that ask late.
    Retired {
        /// The epoch that is finished.
        epoch: EpochId,
    },
    /// No epoch of this party has the slot: the party joined later, or left before.
    Elsewhere {
        /// The slot that was named.
        slot: Slot,
    },
}

/// A message between beacons of one epoch: epoch (8 bytes) ‖ [`Message`](crate::Message).
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Message<S: Function> {
    /// The epoch of the slot that the message is about.
    pub epoch: EpochId,
    /// The message of the epoch's beacon.
    #[borsh(bound(serialize = "", deserialize = ""))]
    pub message: wire::Message<S>,
}

/// A record that must be found again after a crash: epoch (8 bytes) ‖ [`Record`](crate::Record).
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Record {
    /// The epoch whose beacon wrote it.
    pub epoch: EpochId,
    /// The beacon's own record.
    pub record: wire::Record,
}

/// Why a committee cannot follow another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandoverError {
    /// There is no epoch that it could follow, or no configuration to start with.
    #[error("no epoch to begin with")]
    NoEpoch,
    /// The configuration is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The next epoch is of another chain.
    #[error("next epoch is of {got}, expected {expected}")]
    Chain {
        /// The chain of the next epoch.
        got: ChainId,
        /// The chain of the epochs here.
        expected: ChainId,
    },
    /// The number of the next epoch is not higher than the last one.
    #[error("{got} cannot follow {last}")]
    Epoch {
        /// The number of the next epoch.
        got: EpochId,
        /// The number of the last epoch.
        last: EpochId,
    },
    /// This party has already spoken about slots from there on, or they belong to an earlier epoch.
    #[error("next epoch starts with {first}, it must not start before {earliest}")]
    TooLate {
        /// The slot with which the next epoch should start.
        first: Slot,
        /// The earliest slot with which it can start.
        earliest: Slot,
    },
    /// The last epoch has another boundary already, and it stands.
    #[error("epoch ends with {end} already, not with {first}")]
    Ended {
        /// The boundary that stands: the first slot after the epoch.
        end: Slot,
        /// The boundary that was given now.
        first: Slot,
    },
    /// The rounds are counted from another slot. Then a slot would have an output that is revealed already.
    #[error("next epoch counts rounds from {got}, expected {expected}")]
    Numbering {
        /// The slot that is round 1 in the next epoch.
        got: Slot,
        /// The slot that is round 1 in its predecessor.
        expected: Slot,
    },
    /// The rounds of one chain have one group key. A fresh key starts another chain.
    #[error("rounds of the next epoch have another group key")]
    GroupKey,
}

impl HandoverError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoEpoch => "no-epoch",
            Self::Config(error) => error.code(),
            Self::Chain { .. } => "other-session",
            Self::Epoch { .. } => "epoch-order",
            Self::TooLate { .. } => "epoch-too-early",
            Self::Ended { .. } => "epoch-ended",
            Self::Numbering { .. } => "other-numbering",
            Self::GroupKey => "other-key",
        }
    }
}

/// Beacons of one scheme, one for each committee, under one stream of slots.
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
/// use prefinal_beacon::Slot;
/// use prefinal_beacon::epochs::{Effect, Epochs, Input};
/// use prefinal_protocol::{Instant, Machine};
///
/// let mut epochs = Epochs::new([config(1, 1)], &[])?;
/// epochs.hand_over(config(2, 2))?; // the next committee begins with slot 2
/// assert_eq!(epochs.newest(), EpochId::new(2));
/// let mut revealed = Vec::new();
/// for slot in [1, 2].map(Slot::new) {
///     epochs.handle(Instant::START, Input::Finalized { slot, value: None });
///     while let Some(output) = epochs.poll() {
///         match output.effect() {
///             Some(Effect::Of { epoch, effect: prefinal_beacon::Effect::Check(job) }) => {
///                 let verdict = job.run();
///                 epochs.handle(Instant::START, Input::Checked { epoch, verdict });
///             }
///             Some(Effect::Of { epoch, effect: prefinal_beacon::Effect::Reveal(reveal) }) => {
///                 revealed.push((epoch.get(), reveal.slot));
///             }
///             _ => {}
///         }
///     }
/// }
/// assert_eq!(revealed, [(1, Slot::new(1)), (2, Slot::new(2))]);
/// assert!(epochs.hand_over(config(2, 9)).is_err()); // the same epoch again
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Epochs<S: Scheme> {
    /// In order: one epoch that is retired, one whose slots are not all revealed, and the next. The last is
    /// the newest.
    terms: BTreeMap<EpochId, Term<S>>,
    /// Which peers were shown outputs of epochs that are not here any more.
    past: Shows,
    outputs: VecDeque<Output<S>>,
}

impl<S: Scheme> Machine for Epochs<S> {
    type Input = Input<S>;
    type Record = Record;
    type Effect = Effect<S>;

    fn handle(&mut self, now: Instant, input: Input<S>) {
        match input {
            Input::Prefinalized { slot, view, value } => {
                self.tell_owner(now, slot, event::Input::Prefinalized { slot, view, value });
            }
            Input::Finalized { slot, value } => {
                self.past.earn();
                self.tell_owner(now, slot, event::Input::Finalized { slot, value });
                self.ended_before(now, slot);
            }
            Input::Abandoned { view } => self.abandoned(now, view),
            Input::Received { from, message: Message { epoch, message } } => {
                // Other messages are of an epoch that is over, or that this party has not been told of.
                let about = |term: &Term<S>| message.slot().is_none_or(|slot| term.has(slot));
                let own = self.terms.get(&epoch).is_some_and(about);
                let is_past = self.terms.keys().next().is_some_and(|oldest| epoch < *oldest);
                match message {
                    message if own => {
                        self.tell(now, epoch, event::Input::Received { from, message });
                    }
                    wire::Message::Show { first, count } if is_past => {
                        self.show_past(now, from, (epoch, first, count));
                    }
                    _ => {}
                }
            }
            Input::Checked { epoch, verdict } => {
                self.tell(now, epoch, event::Input::Checked(verdict));
            }
            Input::Admitted { epoch, path, key } => {
                self.tell(now, epoch, event::Input::Admitted { path, key });
            }
            Input::Content { epoch, content } => {
                self.tell(now, epoch, event::Input::Content(content));
            }
            Input::Switch(switch) => self.switch(now, switch),
            Input::WasOff { first, last } => self.was_off(now, first, last),
            Input::PassedOver { last } => {
                self.tell_all(now, &event::Input::PassedOver { last });
            }
            Input::Tick => self.tell_all(now, &event::Input::Tick),
        }
        self.settle();
    }

    fn poll(&mut self) -> Option<Output<S>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        self.terms.values().filter_map(|term| term.beacon.wake_at()).min()
    }
}

impl<S: Scheme> Epochs<S> {
    /// Makes epochs that continue after `records`, oldest first. There are no records at the very start.
    /// `configs` has one configuration for each epoch that is not over, in order. `first` of each but the
    /// first is a boundary. An epoch that is over may be among them, to answer peers that ask late.
    ///
    /// # Errors
    /// [`HandoverError`], for the first configuration that does not follow.
    pub fn new(
        configs: impl IntoIterator<Item = Config<S>>,
        records: &[Record],
    ) -> Result<Self, HandoverError> {
        let mut configs = configs.into_iter().peekable();
        let first = configs.peek().ok_or(HandoverError::NoEpoch)?;
        let (terms, past) = (BTreeMap::new(), Shows::new(&first.limits));
        let mut epochs = Self { terms, past, outputs: VecDeque::new() };
        for config in configs {
            let (epoch, first) = (config.context.epoch, config.first);
            epochs.check(&config)?;
            // Slots that ended before the epoch's first slot say nothing about the epoch.
            let over = |record: &wire::Record| matches!(record, wire::Record::WasOff { last, .. } if *last < first);
            let own = |it: &&Record| {
                it.epoch == epoch || it.epoch < epoch && lasts(&it.record) && !over(&it.record)
            };
            let own: Vec<wire::Record> = records.iter().filter(own).map(|it| it.record).collect();
            let term = Term::new(config, &own)?;
            epochs.append(epoch, term, first)?;
        }
        for epoch in epochs.ids() {
            epochs.drain(epoch);
        }
        epochs.settle();
        Ok(epochs)
    }

    /// Adds the next committee, which has this party in it. Its slots start with `config.first`. The next
    /// epoch continues in this life, whatever `config.life` says. Call it before anything is said about
    /// these slots.
    ///
    /// # Errors
    /// [`HandoverError`]. Then nothing has changed.
    pub fn hand_over(&mut self, config: Config<S>) -> Result<(), HandoverError> {
        self.hand_over_again(config, &[])
    }

    /// As [`Self::hand_over`], for a party that reaches the boundary again because it restarted. `records`
    /// are all its records, of any epoch.
    ///
    /// # Errors
    /// [`HandoverError`]. Then nothing has changed.
    pub fn hand_over_again(
        &mut self,
        config: Config<S>,
        records: &[Record],
    ) -> Result<(), HandoverError> {
        self.check(&config)?;
        let (epoch, first) = (config.context.epoch, config.first);
        let newest = self.newest_term().ok_or(HandoverError::NoEpoch)?;
        let inherited: Vec<wire::Record> =
            newest.beacon.snapshot().into_iter().filter(lasts).collect();
        let own = records.iter().filter(|it| it.epoch == epoch).map(|it| it.record);
        let known: Vec<wire::Record> = inherited.iter().copied().chain(own).collect();
        let term = Term::of(newest.beacon.succeeded(config, &known)?, first);
        self.append(epoch, term, first)?;
        for record in inherited {
            self.emit(epoch, event::Output::Keep(record));
        }
        self.drain(epoch);
        self.settle();
        Ok(())
    }

    /// The next committee is without this party: from slot `first` on there is nothing to do. A party that
    /// comes back after an absence starts with new `Epochs`.
    ///
    /// # Errors
    /// If the slot is spoken about already, or if another boundary was given.
    pub fn leave(&mut self, first: Slot) -> Result<(), HandoverError> {
        self.check_boundary(first)?;
        if let Some(mut last) = self.terms.last_entry() {
            last.get_mut().end = Some(first);
        }
        self.settle();
        Ok(())
    }

    /// The next slot to be revealed, over all epochs.
    #[must_use]
    pub fn head(&self) -> Slot {
        let current = self.terms.values().find(|term| !term.is_finished());
        current.or_else(|| self.newest_term()).map_or(Slot::new(0), |term| term.beacon.head())
    }

    /// The highest slot that the engine has reported as final, in the epochs that are here.
    #[must_use]
    pub fn last_final(&self) -> Option<Slot> {
        self.terms.values().filter_map(|term| term.beacon.last_final()).max()
    }

    /// The beacon of an epoch; `None` if the epoch is not kept here.
    #[must_use]
    pub fn beacon(&self, epoch: EpochId) -> Option<&Beacon<S>> {
        self.terms.get(&epoch).map(|term| &term.beacon)
    }

    /// The first slot of the oldest epoch that is kept here.
    #[must_use]
    pub fn first(&self) -> Slot {
        self.terms.values().next().map_or(Slot::new(0), |term| term.first)
    }

    /// The epoch of the newest committee that was handed over to.
    #[must_use]
    pub fn newest(&self) -> EpochId {
        self.terms.last_key_value().map_or(EpochId::new(0), |(epoch, _)| *epoch)
    }

    /// The length in bytes of the longest message of each party, in each epoch that is kept here.
    #[must_use]
    pub fn longest_messages(&self) -> BTreeMap<(EpochId, Party), usize> {
        let of = |(epoch, term): (&EpochId, &Term<S>)| {
            let epoch = *epoch;
            let longest = term.beacon.longest_messages().into_iter();
            // The epoch is written before each message.
            longest.map(move |(party, bytes)| ((epoch, party), bytes.saturating_add(8)))
        };
        self.terms.iter().flat_map(of).collect()
    }

    /// The fewest records that restore everything that must not be forgotten.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record> {
        let of = |(epoch, term): (&EpochId, &Term<S>)| {
            let epoch = *epoch;
            term.beacon.snapshot().into_iter().map(move |record| Record { epoch, record })
        };
        self.terms.iter().flat_map(of).collect()
    }

    /// Encodings of the public keys of all epochs that are kept here.
    pub(crate) fn public_keys(&self) -> BTreeSet<Vec<u8>> {
        self.terms.values().flat_map(|term| term.beacon.keys().public_keys()).collect()
    }

    fn ids(&self) -> Vec<EpochId> {
        self.terms.keys().copied().collect()
    }

    fn newest_term(&self) -> Option<&Term<S>> {
        self.terms.values().next_back()
    }

    fn check(&self, config: &Config<S>) -> Result<(), HandoverError> {
        let Some((&last, newest)) = self.terms.last_key_value() else { return Ok(()) };
        let (got, expected) = (config.context.chain, newest.beacon.context().chain);
        if got != expected {
            return Err(HandoverError::Chain { got, expected });
        }
        let got = config.context.epoch;
        if got <= last {
            return Err(HandoverError::Epoch { got, last });
        }
        self.check_boundary(config.first)
    }

    fn check_boundary(&self, first: Slot) -> Result<(), HandoverError> {
        let newest = self.newest_term().ok_or(HandoverError::NoEpoch)?;
        if let Some(end) = newest.end.filter(|end| *end != first) {
            return Err(HandoverError::Ended { end, first });
        }
        // An epoch must have at least one slot.
        let earliest = newest.beacon.unspoken().max(newest.first.next());
        if first < earliest {
            return Err(HandoverError::TooLate { first, earliest });
        }
        Ok(())
    }

    fn append(&mut self, epoch: EpochId, term: Term<S>, first: Slot) -> Result<(), HandoverError> {
        if let Some(mut last) = self.terms.last_entry() {
            let before = last.get_mut();
            if let (Some(old), Some(new)) =
                (before.beacon.late_committee(), term.beacon.late_committee())
            {
                S::check_handover(old, new).map_err(|OtherGroupKey| HandoverError::GroupKey)?;
            }
            let origins = (term.beacon.binding().origin(), before.beacon.binding().origin());
            if let (Some(got), Some(expected)) = origins
                && got != expected
            {
                return Err(HandoverError::Numbering { got, expected });
            }
            before.end = Some(first);
        }
        self.terms.insert(epoch, term);
        Ok(())
    }

    fn tell_owner(&mut self, now: Instant, slot: Slot, input: event::Input<S>) {
        let owner = self.terms.iter().find(|(_, term)| term.has(slot)).map(|(epoch, _)| *epoch);
        match owner {
            Some(epoch) => self.tell(now, epoch, input),
            None => self.effect(Effect::Elsewhere { slot }),
        }
    }

    /// A slot behind the end of an epoch is final. The epoch's own last slots may be missing.
    fn ended_before(&mut self, now: Instant, slot: Slot) {
        for epoch in self.ids() {
            let term = self.terms.get_mut(&epoch);
            let ended = term.and_then(|term| Some((term.end.filter(|end| *end <= slot)?, term)));
            if let Some((end, term)) = ended {
                term.beacon.hear_of_later(end);
                term.beacon.watch(now);
                self.drain(epoch);
            }
        }
    }

    fn tell(&mut self, now: Instant, epoch: EpochId, input: event::Input<S>) {
        if let Some(term) = self.terms.get_mut(&epoch) {
            term.beacon.handle(now, input);
        }
        self.drain(epoch);
    }

    fn tell_all(&mut self, now: Instant, input: &event::Input<S>) {
        for epoch in self.ids() {
            self.tell(now, epoch, input.clone());
        }
    }

    /// The epoch of the switch's first slot decides whether the switch comes too late. Later epochs are
    /// switched from their own first slot on.
    fn switch(&mut self, now: Instant, switch: Switch) {
        let Switch { from, mode } = switch;
        let ahead = self
            .terms
            .iter()
            .filter(|(_, term)| !term.retired && term.end.is_none_or(|end| from < end));
        let mut ahead = ahead.map(|(epoch, term)| (*epoch, term.first.max(from)));
        let Some((epoch, _)) = ahead.next() else {
            self.effect(Effect::Elsewhere { slot: from });
            return;
        };
        let later: Vec<_> = ahead.collect();
        let in_time = self.terms.get(&epoch).is_some_and(|term| from >= term.beacon.local());
        self.tell(now, epoch, event::Input::Switch(switch));
        for (epoch, from) in later.into_iter().filter(|_| in_time) {
            self.tell(now, epoch, event::Input::Switch(Switch { from, mode }));
        }
    }

    fn was_off(&mut self, now: Instant, first: Slot, last: Slot) {
        let owners = self.terms.iter().filter_map(|(epoch, term)| {
            let before = term.end.and_then(|end| end.get().checked_sub(1)).map(Slot::new);
            let own = (first.max(term.first), before.map_or(last, |before| last.min(before)));
            (own.0 <= own.1).then_some((*epoch, own))
        });
        let owners: Vec<_> = owners.collect();
        if owners.is_empty() {
            self.effect(Effect::Elsewhere { slot: first });
        }
        for (epoch, (first, last)) in owners {
            self.tell(now, epoch, event::Input::WasOff { first, last });
        }
    }

    /// Has the host show outputs of an epoch that is not here any more.
    fn show_past(&mut self, now: Instant, to: Party, (epoch, first, count): (EpochId, Slot, u32)) {
        let Some(oldest) = self.terms.values().next() else { return };
        let slots = self.past.asked(first, count).take_while(|slot| *slot < oldest.first);
        let slots: Vec<_> = slots.take_while(|slot| self.past.give(to, *slot, now)).collect();
        if !slots.is_empty() {
            self.effect(Effect::Of { epoch, effect: event::Effect::Lookup { to, slots } });
        }
    }

    /// A beacon without early releases need not record this view, but its successor may need it.
    fn abandoned(&mut self, now: Instant, view: View) {
        let news = self.newest_term().is_some_and(|term| term.beacon.gave_up() < Some(view));
        let said = self.outputs.len();
        self.tell_all(now, &event::Input::Abandoned { view });
        let durable =
            self.outputs.iter().skip(said).any(|output| matches!(output, Output::Keep(_)));
        if let Some(&newest) = self.terms.keys().next_back().filter(|_| news && !durable) {
            self.emit(newest, event::Output::Keep(wire::Record::Abandoned { view }));
        }
    }

    fn effect(&mut self, effect: Effect<S>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn emit(&mut self, epoch: EpochId, output: event::Output<S>) {
        self.outputs.push_back(of(epoch, output));
    }

    /// Passes on the outputs of the epoch's beacon. Its reveals wait for all slots of earlier epochs.
    fn drain(&mut self, epoch: EpochId) {
        let early = self.terms.range(..epoch).any(|(_, before)| !before.is_finished());
        let Some(term) = self.terms.get_mut(&epoch) else { return };
        while let Some(output) = term.beacon.poll() {
            if early && is_ordered(&output) {
                term.held.push_back(output);
            } else {
                self.outputs.push_back(of(epoch, output));
            }
        }
    }

    /// Retires the epochs that are finished, and passes on what the next one holds.
    fn settle(&mut self) {
        for epoch in self.ids() {
            let Some(term) = self.terms.get_mut(&epoch) else { continue };
            let held = std::mem::take(&mut term.held);
            self.outputs.extend(held.into_iter().map(|output| of(epoch, output)));
            if !term.is_finished() {
                return;
            }
            if !term.retired {
                term.retired = true;
                term.beacon.retire();
                let answers_on = term.beacon.holds_secrets();
                self.effect(Effect::Retired { epoch });
                // Epochs that were retired before have answered long enough, unless this party was away since.
                if !answers_on {
                    self.terms.retain(|other, _| *other >= epoch);
                }
            }
        }
    }
}

/// Whether a record also restricts slots of later epochs.
fn lasts(record: &wire::Record) -> bool {
    match record {
        wire::Record::Abandoned { .. }
        | wire::Record::Switched(_)
        | wire::Record::WasOff { .. } => true,
        wire::Record::Released { .. }
        | wire::Record::Finalized { .. }
        | wire::Record::Revealed { .. }
        | wire::Record::PassedOver { .. } => false,
    }
}

/// Whether an output has a place in the order of slots. The record of a reveal must not be durable before
/// the reveal is out.
fn is_ordered<S: Function>(output: &event::Output<S>) -> bool {
    use event::Effect::{Accuse, Check, Lookup, Off, Refused, Reveal, Send, Skipped, Stalled};
    match output {
        event::Output::Note(wire::Record::Revealed { .. }) => true,
        event::Output::Keep(_) | event::Output::Note(_) => false,
        event::Output::Do(effect) => match effect {
            Reveal(_) | Skipped { .. } | Off { .. } => true,
            Send { .. } | Check(_) | Lookup { .. } | Accuse { .. } => false,
            Stalled { .. } | Refused(_) => false,
        },
    }
}

/// Turns an output of one epoch's beacon into an output of the epochs.
fn of<S: Function>(epoch: EpochId, output: event::Output<S>) -> Output<S> {
    output.map(|record| Record { epoch, record }, |effect| Effect::Of { epoch, effect })
}
