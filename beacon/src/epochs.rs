//! Committee after committee, without a gap and without a slot that has two outputs.
//!
//! ```text
//!                 hand over: first slot b of the next committee
//!  slots … b−2  b−1 │ b  b+1 …
//!  epoch e ─────────┤····· answers only        retired once b−1 is revealed
//!  epoch e+1  keys ─┼──────────────────►       collects at once, reveals from b−1 on
//! ```
//! A slot belongs to one epoch: below the boundary to the old one, from there on to the new one. Its
//! partials, records and jobs carry the epoch, so a partial of the one never counts in the other; parties
//! are numbered anew in each, so whoever drives this has a name for every (epoch, party).
//!
//! | event of the engine   | goes to                                                          |
//! |-----------------------|------------------------------------------------------------------|
//! | prefinalize, finalize | the epoch of the slot                                            |
//! | abandoned             | all: giving up on a later view holds back earlier slots too (rule 4) |
//! | switch                | the epoch of its slot, and all after it                          |
//! | was off               | each epoch that has some of the slots                            |
//!
//! What holds back later slots is handed over as well: the next epoch starts with the latest view that was
//! given up and with all switches, durable under its own name.
//!
//! Both epochs are live until the last old slot is revealed. What the new one has by then waits, together
//! with the records that it was handed out, so outputs come in one order: as many as the engine is ahead.
//! Then the old secrets are wiped; partials that finished slots may still be asked for are kept ready, for
//! as many slots as [`Limits::history`](crate::Limits) says, until the next handover.
//!
//! A handover stops an adversary that moves from party to party only if nothing of the old epoch is left
//! to take: here the old secrets go, and who dealt its shares on wipes those too, with the decryption key
//! that they came with (`pvss_dkg::guide`, "Changing the committee").
//!
//! The slots go on counting. With a key that was handed over (`pvss_dkg::field::Handover`) so do the
//! rounds of threshold BLS, from the same slot on ([`Binding::Rounds`](crate::Binding::Rounds)): one chain
//! for drand's clients, whoever the committee is. A committee of rounds
//! with another group key is refused; a fresh key starts another chain, and another value of this type.
//!
//! The boundary has to be known before anything is said about a slot above it; later it is refused, since
//! the slot would have two committees. What peers say of an epoch that this party was not told of yet is
//! dropped, and asked for again once its slots are final: told a window ahead, nobody waits. Ours: the
//! papers fix one committee.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::Party;
use crypto_core::context::{ChainId, EpochId};
use protocol::{Instant, Machine, Slot, Value, View};

use crate::beacon::Beacon;
use crate::config::Config;
use crate::config_error::ConfigError;
use crate::event;
use crate::job::Verdict;
use crate::schemes::{Content, Function, LateKey, OtherGroupKey, Scheme};
use crate::switch::Switch;
use crate::wire;
use contract::Path;

/// What happens to the epochs.
#[derive(Clone, Debug)]
pub enum Input<S: Function> {
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
    /// A message of a peer, which is this party in the epoch that the message names.
    Received {
        /// The peer.
        from: Party,
        /// What it sent.
        message: Message<S>,
    },
    /// A job of an epoch ended.
    Checked {
        /// Whose.
        epoch: EpochId,
        /// What came of it.
        verdict: Verdict<S>,
    },
    /// A party counts from now on.
    Admitted {
        /// In which epoch.
        epoch: EpochId,
        /// For which path.
        path: Path,
        /// The key.
        key: LateKey<S>,
    },
    /// What is in the value of a slot of an epoch.
    Content {
        /// The slot's.
        epoch: EpochId,
        /// What.
        content: Content<S>,
    },
    /// As [`event::Input::Switch`](crate::Input::Switch), in every epoch.
    Switch(Switch),
    /// As [`event::Input::WasOff`](crate::Input::WasOff), in the epochs that have the slots.
    WasOff {
        /// The first of them.
        first: Slot,
        /// The last.
        last: Slot,
    },
    /// [`wake_at`](protocol::Machine::wake_at) passed.
    Tick,
}

/// What the epochs want done, in this order.
pub type Output<S> = protocol::Output<Record, Effect<S>>;

/// What the epochs want done, their records aside.
#[derive(Clone, Debug)]
pub enum Effect<S: Function> {
    /// What the beacon of an epoch wants done; parties are those of the epoch.
    Of {
        /// Which.
        epoch: EpochId,
        /// What.
        effect: event::Effect<S>,
    },
    /// The last slot of the epoch is revealed, and its secrets are gone. Its records are of no more use
    /// than to answer who asks late.
    Retired {
        /// Which.
        epoch: EpochId,
    },
    /// No committee of this party's has the slot: it joined later, or left before.
    Elsewhere {
        /// The slot.
        slot: Slot,
    },
}

/// What beacons of one epoch send each other: epoch (8 bytes) ‖ [`Message`](crate::Message).
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Message<S: Function> {
    /// Whose slot it is about.
    pub epoch: EpochId,
    /// What is said.
    #[borsh(bound(serialize = "", deserialize = ""))]
    pub message: wire::Message<S>,
}

/// What must be found again after a crash: epoch (8 bytes) ‖ [`Record`](crate::Record).
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Record {
    /// Of whose beacon.
    pub epoch: EpochId,
    /// The record.
    pub record: wire::Record,
}

/// Why a committee does not follow another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandoverError {
    /// There is nothing to follow.
    #[error("no epoch to begin with")]
    NoEpoch,
    /// The configuration contradicts itself.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Another chain has slots of its own.
    #[error("next epoch is of {got}, expected {expected}")]
    Chain {
        /// The next one's.
        got: ChainId,
        /// Ours.
        expected: ChainId,
    },
    /// Epochs count up.
    #[error("{got} cannot follow {last}")]
    Epoch {
        /// The next one.
        got: EpochId,
        /// The last one.
        last: EpochId,
    },
    /// The slots before are spoken about already, or of an earlier epoch.
    #[error("next epoch starts with {first}, it must not start before {earliest}")]
    TooLate {
        /// Where it is to start.
        first: Slot,
        /// Where it could.
        earliest: Slot,
    },
    /// The boundary stands.
    #[error("epoch ends with {end} already, not with {first}")]
    Ended {
        /// The first slot of others, as it stands.
        end: Slot,
        /// What was said now.
        first: Slot,
    },
    /// Counted from another slot, a slot would have the output of one that is revealed already.
    #[error("next epoch counts rounds from {got}, expected {expected}")]
    Numbering {
        /// From which slot the next one counts.
        got: Slot,
        /// From which its predecessor does.
        expected: Slot,
    },
    /// Rounds of one chain have one key; a fresh one starts another chain.
    #[error("rounds of the next epoch have another group key")]
    GroupKey,
}

/// Beacons of one scheme, one for each committee, under one stream of slots.
#[derive(Debug)]
pub struct Epochs<S: Scheme> {
    /// The last is the newest; one that is retired, one whose slots are not all revealed, the next.
    terms: BTreeMap<EpochId, Term<S>>,
    outputs: VecDeque<Output<S>>,
}

#[derive(Debug)]
struct Term<S: Scheme> {
    beacon: Beacon<S>,
    first: Slot,
    /// The first slot that is not its own any more.
    end: Option<Slot>,
    retired: bool,
    /// Outputs for which the time has not come.
    held: VecDeque<event::Output<S>>,
}

impl<S: Scheme> Term<S> {
    fn new(config: Config<S>, records: &[wire::Record]) -> Result<Self, ConfigError> {
        let first = config.first;
        Ok(Self::of(Beacon::new(config, records)?, first))
    }

    const fn of(beacon: Beacon<S>, first: Slot) -> Self {
        Self { beacon, first, end: None, retired: false, held: VecDeque::new() }
    }

    fn has(&self, slot: Slot) -> bool {
        slot >= self.first && self.end.is_none_or(|end| slot < end)
    }

    fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.beacon.head() >= end)
    }
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
                self.tell_owner(now, slot, event::Input::Finalized { slot, value });
            }
            Input::Abandoned { view } => self.abandoned(now, view),
            Input::Received { from, message: Message { epoch, message } } => {
                // Of an epoch that is over, or that this party has not been told of.
                let about = |term: &Term<S>| message.slot().is_none_or(|slot| term.has(slot));
                let own = self.terms.get(&epoch).is_some_and(about);
                if own {
                    self.tell(now, epoch, event::Input::Received { from, message });
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
    /// Epochs that go on after `records`, oldest first; none at the very start. One configuration for
    /// each epoch that is not over, in order, where `first` of each but the first is a boundary. An epoch
    /// that is over may be among them, to answer who asks late.
    ///
    /// # Errors
    /// [`HandoverError`] says which configuration does not follow.
    pub fn new(
        configs: impl IntoIterator<Item = Config<S>>,
        records: &[Record],
    ) -> Result<Self, HandoverError> {
        let mut epochs = Self { terms: BTreeMap::new(), outputs: VecDeque::new() };
        for config in configs {
            let (epoch, first) = (config.context.epoch, config.first);
            epochs.check(&config)?;
            // What ended before an epoch began says nothing of it, as when it was said.
            let over = |record: &wire::Record| matches!(record, wire::Record::WasOff { last, .. } if *last < first);
            let own = |it: &&Record| {
                it.epoch == epoch || it.epoch < epoch && lasts(&it.record) && !over(&it.record)
            };
            let own: Vec<wire::Record> = records.iter().filter(own).map(|it| it.record).collect();
            let term = Term::new(config, &own)?;
            epochs.append(epoch, term, first)?;
        }
        if epochs.terms.is_empty() {
            return Err(HandoverError::NoEpoch);
        }
        for epoch in epochs.ids() {
            epochs.drain(epoch);
        }
        epochs.settle();
        Ok(epochs)
    }

    /// The next committee, with this party in it; its slots start with `config.first`. It goes on in this
    /// life, whatever `config.life` says. Comes before
    /// anything is said about them, and after nothing has been.
    ///
    /// # Errors
    /// [`HandoverError`]; nothing has changed then.
    pub fn hand_over(&mut self, config: Config<S>) -> Result<(), HandoverError> {
        self.hand_over_again(config, &[])
    }

    /// As [`Self::hand_over`], for a party that comes to the boundary again because it restarted: `records`
    /// are what it has on record of any epoch.
    ///
    /// # Errors
    /// [`HandoverError`]; nothing has changed then.
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

    /// The next committee is without this party: from this slot on there is nothing to do. Who comes back
    /// after an absence starts anew.
    ///
    /// # Errors
    /// If the slot is spoken about already, or another boundary was given.
    pub fn leave(&mut self, first: Slot) -> Result<(), HandoverError> {
        self.check_boundary(first)?;
        if let Some(mut last) = self.terms.last_entry() {
            last.get_mut().end = Some(first);
        }
        self.settle();
        Ok(())
    }

    /// The next slot to be revealed.
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

    /// The beacon of an epoch, as long as it is here.
    #[must_use]
    pub fn beacon(&self, epoch: EpochId) -> Option<&Beacon<S>> {
        self.terms.get(&epoch).map(|term| &term.beacon)
    }

    /// The first slot of the oldest epoch that is here.
    #[must_use]
    pub fn first(&self) -> Slot {
        self.terms.values().next().map_or(Slot::new(0), |term| term.first)
    }

    /// The epoch of the last committee that was handed over to.
    #[must_use]
    pub fn newest(&self) -> EpochId {
        self.terms.last_key_value().map_or(EpochId::new(0), |(epoch, _)| *epoch)
    }

    /// How many bytes a message of each party has at most, in each epoch that is here.
    #[must_use]
    pub fn longest_messages(&self) -> BTreeMap<(EpochId, Party), usize> {
        let of = |(epoch, term): (&EpochId, &Term<S>)| {
            let epoch = *epoch;
            let longest = term.beacon.longest_messages().into_iter();
            // The epoch is in front of each.
            longest.map(move |(party, bytes)| ((epoch, party), bytes.saturating_add(8)))
        };
        self.terms.iter().flat_map(of).collect()
    }

    /// The fewest records that restore what must not be forgotten.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record> {
        let of = |(epoch, term): (&EpochId, &Term<S>)| {
            let epoch = *epoch;
            term.beacon.snapshot().into_iter().map(move |record| Record { epoch, record })
        };
        self.terms.iter().flat_map(of).collect()
    }

    /// Encodings of the public keys of all epochs that are here.
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
        // An epoch without slots would be no committee's.
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

    /// The epoch of its first slot decides whether it comes too late; those after it are switched from
    /// their own first slot on.
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

    /// A beacon without early releases need not remember this, but its successor may.
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

    /// Hands on what the epoch's beacon wants done; its reveals wait for all slots before.
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

    /// Retires what is finished, and lets the next go on.
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
                self.effect(Effect::Retired { epoch });
                // Who was retired before has answered long enough.
                self.terms.retain(|other, _| *other >= epoch);
            }
        }
    }
}

/// What a record says of later slots too.
fn lasts(record: &wire::Record) -> bool {
    match record {
        wire::Record::Abandoned { .. }
        | wire::Record::Switched(_)
        | wire::Record::WasOff { .. } => true,
        wire::Record::Released { .. }
        | wire::Record::Finalized { .. }
        | wire::Record::Revealed { .. } => false,
    }
}

/// What has a place in the order of slots. The record of a reveal is not durable before the reveal is out.
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

/// What one epoch's beacon wants done, as the epochs' own.
fn of<S: Function>(epoch: EpochId, output: event::Output<S>) -> Output<S> {
    output.map(|record| Record { epoch, record }, |effect| Effect::Of { epoch, effect })
}
