//! Global times: when a slot is final whether or not anybody knows it, and when anybody could compute its value.
//!
//! Definitions 4, 5 and 10 of *The Latency Price of Threshold Cryptosystem in Blockchains*, with `C` the faulty parties:
//!
//! | time   | in the paper                                                       | what is read here                      |
//! |--------|--------------------------------------------------------------------|----------------------------------------|
//! | `T_GF` | no execution that goes on from here ends with another value; that is, `t_fin − \|C\|` honest parties have called `PREFINALIZE` | the promise behind the vote is durable (`finality`) |
//! | `T_GR` | the adversary learns the value; that is, `t_rec − \|C\|` honest parties have revealed their shares to it | the partial has left, to whomever: "the adversary can receive messages from any party instantaneously" |
//!
//! So neither time waits for a message to arrive, and no party may know of either. A univalent state is a statement
//! about states of parties, so a durable promise counts even if the vote is still to be sent; a partial counts when
//! it is sent, for that is when it is revealed. `C` are the parties that are faulty in this run, not as many as
//! could be: where everybody is honest all votes and all shares must come from honest parties. A step of a machine is
//! one action of the paper's state machines, and happens when it ends ([`Note::left`](prefinal_sim::Note::left)).
//!
//! | claim       | says                                                    | premise                                       |
//! |-------------|---------------------------------------------------------|-----------------------------------------------|
//! | Lemma 1     | `T_GF ≤ T_GR`                                            | none                                          |
//! | Theorem 5.2 | `T_GR = T_GF`                                            | tight thresholds; direct votes made it final   |
//! | Theorem 6.3 | `T_GR = T_GF`                                            | all honest parties prefinalize at one instant; direct votes made it final |
//! | Algorithms 2 and 3 | `T_GR` is when those that have prefinalized hold `t'_rec` shares, or those that have finalized `t_rec` | all honest parties were bound to release; with Lemma 1 both theorems follow |
//!
//! A premise may fail, and [`Premise`] says which: a descendant, another view or votes that are not Definition 5's
//! made the slot final; a party had no keys yet, crashed, or could not know whether the slot is its epoch's. Then a
//! party need not have revealed when it prefinalized: `T_GR` is not before those that may have revealed hold enough, and
//! not after those that must have do. DISPEL decides proposer by proposer, so a stage can be final before a quorum
//! has prefinalized all of it, and a party's votes alone do not tell whether it has: there only the first bound is known.
//!
//! Where a committee may follow (`--epochs`), a party releases early only for slots before its
//! [`limit`](prefinal_validator::handovers::Handovers::limit). That moves on as it judges the handover's transactions, in
//! jobs that end at their own time at each party, and no message and no record shows how far it is. So nothing that is
//! noted says which slots a party was bound to release, and until the last committee has begun all slots are
//! [`Premise::Unbound`].

mod account;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use ::prefinal_beacon::{Path, Slot, Value};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_dispel::Step;
use prefinal_protocol::Instant;
use prefinal_sim::Note;
use prefinal_validator::setup::{FIRST, Setup};

pub(crate) use self::account::Shares;
use self::account::{Account, Committee};
use crate::finality::{Ballot, Finality};
use crate::legible::Act;
use crate::local::{Heard, Imperfections, LastVote, Scales, WaitCounts};
use crate::priced::Priced;
use crate::seen::Observation;

/// The attempt at a slot in which votes release partials: all engines declare this one.
const DECLARED: u32 = 0;

/// The global times of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotTimes {
    /// The slot, in the chain's numbering.
    pub slot: Slot,
    /// `T_GF`: from here on it can be final with one value only.
    pub finalized: Instant,
    /// `T_GR`: from here on its value can be computed.
    pub reconstructed: Instant,
    /// The path on which it can.
    pub path: Path,
    /// Whether a theorem makes the two equal, or what it lacks.
    pub premise: Premise,
    /// Whether parties waited for the value, and why.
    pub waits: WaitCounts,
}

/// Which theorem says that a slot's global times are equal, or why none does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Premise {
    /// Theorem 5.2: thresholds are tight.
    Tight,
    /// Theorem 6.3: all honest parties prefinalized at one instant.
    Synchronous,
    /// They did so at several instants, and thresholds are a ramp.
    Asynchronous,
    /// Partials of the slot leave on finality.
    SlowPath,
    /// Other votes than a quorum of direct ones made it final: for a descendant, or in another view.
    OtherVotes,
    /// DISPEL decides proposer by proposer: a party's votes do not tell when it prefinalizes all of a stage.
    ByProposer,
    /// A party that prefinalized it was not bound to release a partial: it had no keys, crashed, or did not know
    /// whether the slot is in its epoch.
    Unbound,
}

impl Premise {
    /// Whether a theorem holds.
    #[must_use]
    pub const fn is_met(self) -> bool {
        matches!(self, Self::Tight | Self::Synchronous)
    }
}

impl fmt::Display for Premise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tight => "tight",
            Self::Synchronous => "synchronous",
            Self::Asynchronous => "asynchronous",
            Self::SlowPath => "slow-path",
            Self::OtherVotes => "other-votes",
            Self::ByProposer => "by-proposer",
            Self::Unbound => "unbound",
        })
    }
}

/// A slot whose global times are not what the paper says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{slot} is final at {} and can be computed at {}: {claim}", time(*.finalized), time(*.reconstructed))]
pub struct TimesError {
    slot: Slot,
    finalized: Option<Instant>,
    reconstructed: Option<Instant>,
    claim: String,
}

fn time(at: Option<Instant>) -> String {
    at.map_or_else(|| "no time".to_owned(), |at| format!("{:?}", at.since_start()))
}

/// What is seen of one party.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sign<'a> {
    /// It has its keys, and values follow from this slot on.
    Ready(Slot),
    /// Something that counts towards finality, in the engine's own slots.
    Ballot(&'a Ballot),
    /// A partial has left.
    Released(Path, Slot),
    /// It knows that a slot is final.
    Finalized(Slot),
    /// It has the value of a slot.
    Valued(Slot),
    /// A message has arrived.
    Heard(&'a Heard),
}

/// Who is not as the paper's honest parties are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exceptions {
    /// May do anything, and counts as if it had done everything.
    pub(crate) faulty: BTreeSet<Party>,
    /// Crashed on the way: it does what it should, but maybe late.
    pub(crate) crashed: BTreeSet<Party>,
    pub(crate) imperfections: Imperfections,
}

impl Exceptions {
    /// Whether all parties are as the paper's honest ones, and all links carry what they are given.
    fn is_error_free(&self) -> bool {
        self.faulty.is_empty() && self.crashed.is_empty() && !self.imperfections.cuts
    }
}

/// Takes note of a run of whole validators, epoch after epoch.
pub(crate) struct GlobalClocks {
    epochs: BTreeMap<EpochId, GlobalClock>,
    exceptions: Exceptions,
}

impl GlobalClocks {
    pub(crate) const fn new(exceptions: Exceptions) -> Self {
        Self { epochs: BTreeMap::new(), exceptions }
    }

    /// Learns of epochs that have begun, or whose keys are being made.
    pub(crate) fn learn(&mut self, setups: &BTreeMap<EpochId, Arc<Setup>>) {
        for (epoch, setup) in setups {
            let exceptions = &self.exceptions;
            let clock = || GlobalClock::new(setup, exceptions.clone());
            self.epochs.entry(*epoch).or_insert_with(clock);
        }
    }

    pub(crate) fn take<S: Priced>(&mut self, party: Party, note: &Note<Observation<S>>) {
        self.take_at(party, &note.event, note.left);
    }

    /// Takes what was there before the run began.
    pub(crate) fn take_at<S: Priced>(&mut self, party: Party, event: &Observation<S>, at: Instant) {
        let (epoch, sign) = match event {
            Observation::Ready { epoch, first, .. } => (*epoch, Sign::Ready(*first)),
            Observation::Act(epoch, Act::Ballot(ballot)) => (*epoch, Sign::Ballot(ballot)),
            Observation::Released(epoch, path, slot) => (*epoch, Sign::Released(*path, *slot)),
            Observation::Finalized(slot, _) => (self.epoch_of(*slot), Sign::Finalized(*slot)),
            Observation::Revealed(reveal) => {
                (self.epoch_of(reveal.slot), Sign::Valued(reveal.slot))
            }
            Observation::Heard(epoch, heard) => (*epoch, Sign::Heard(heard)),
            Observation::Skipped(_) => return self.has_come_to(party, at),
            _ => return,
        };
        if let Some(clock) = self.epochs.get_mut(&epoch) {
            clock.take(party, sign, at);
        }
        if matches!(sign, Sign::Valued(_)) {
            self.has_come_to(party, at);
        }
    }

    /// Values come in order: those behind may have waited until now. So may the first values of an epoch, for the last
    /// ones before it.
    fn has_come_to(&mut self, party: Party, at: Instant) {
        for clock in self.epochs.values_mut() {
            clock.valued.insert(party, at);
        }
    }

    /// What has been seen so far was in an earlier life, whose slots are left out.
    pub(crate) fn begin(&mut self) {
        for clock in self.epochs.values_mut() {
            clock.before = clock.slots.keys().next_back().copied();
        }
    }

    fn epoch_of(&self, slot: Slot) -> EpochId {
        let begun = |clock: &GlobalClock| clock.first.is_some_and(|first| first <= slot);
        let newest = self.epochs.iter().rev().find(|(_, clock)| begun(clock));
        newest.map_or(FIRST, |(epoch, _)| *epoch)
    }

    /// The times of all slots that have both, in order, each checked.
    pub(crate) fn close(&self) -> Result<Vec<SlotTimes>, TimesError> {
        let mut times = Vec::new();
        let mut clocks = self.epochs.values().peekable();
        while let Some(clock) = clocks.next() {
            let end = clocks.peek().and_then(|next| next.first);
            times.append(&mut clock.close(end)?);
        }
        Ok(times)
    }
}

/// Takes note of one epoch.
pub(crate) struct GlobalClock {
    committee: Committee,
    exceptions: Exceptions,
    finality: Finality,
    /// The epoch's first slot with a value.
    first: Option<Slot>,
    /// The chain's slot before the engine's first.
    base: Option<u64>,
    /// How many slots with a value use the slow path alone.
    fast_after: u64,
    /// Whether no committee follows, so that every party knows which slots are in the epoch.
    is_last: bool,
    ready: Vec<bool>,
    /// What slots are final with, if partials are for a slot's value.
    bound: Option<BTreeMap<Slot, Value>>,
    slots: BTreeMap<Slot, Account>,
    /// When each party had its last value.
    valued: BTreeMap<Party, Instant>,
    /// Whether it is noted what parties receive.
    hears: bool,
    /// The last slot of which something was seen in an earlier life.
    before: Option<Slot>,
    now: Instant,
}

/// On which proposers of a stage of DISPEL these votes are the last.
fn last_on(steps: &[Step]) -> impl Iterator<Item = usize> {
    steps.iter().flat_map(|step| {
        let only = match step {
            Step::Auxiliary { round: 1, bits } => Some(bits.only(true)),
            Step::Auxiliary { round: 2, bits } => Some(bits.only(false)),
            _ => None,
        };
        only.into_iter().flatten().map(Party::index)
    })
}

impl GlobalClock {
    pub(crate) fn new(setup: &Setup, exceptions: Exceptions) -> Self {
        let stakes = setup.members.iter().map(|member| member.stake.get()).collect();
        Self {
            base: (setup.context.epoch == FIRST).then_some(0),
            fast_after: setup.fast_after,
            is_last: setup.succession.is_none(),
            ..Self::of(Committee::new(stakes, Shares::of(setup)), exceptions)
        }
    }

    /// A committee without another behind it, whose partials leave early from this slot on.
    pub(crate) fn alone(
        stakes: Vec<u128>,
        shares: Shares,
        fast_from: Slot,
        exceptions: Exceptions,
    ) -> Self {
        let fast_after = fast_from.get().saturating_sub(1);
        Self { fast_after, is_last: true, ..Self::of(Committee::new(stakes, shares), exceptions) }
    }

    /// The parties have their keys from the beginning.
    pub(crate) fn keyed(mut self) -> Self {
        self.ready.fill(true);
        (self.first, self.base) = (Some(Slot::new(1)), Some(0));
        self
    }

    fn of(committee: Committee, exceptions: Exceptions) -> Self {
        Self {
            finality: Finality::new(committee.stakes.clone(), exceptions.faulty.clone()),
            ready: vec![false; committee.stakes.len()],
            committee,
            exceptions,
            first: None,
            base: None,
            fast_after: 0,
            is_last: false,
            bound: None,
            slots: BTreeMap::new(),
            valued: BTreeMap::new(),
            hears: false,
            before: None,
            now: Instant::START,
        }
    }

    /// Nothing leaves before a slot is final.
    pub(crate) const fn stay_slow(&mut self) {
        self.fast_after = u64::MAX;
    }

    /// Partials are for a slot's value, and those count that are for the value which is final.
    pub(crate) fn bind(&mut self, finals: BTreeMap<Slot, Value>) {
        self.bound = Some(finals);
    }

    /// Whether a partial for this value counts.
    fn counts(&self, slot: Slot, value: Value) -> bool {
        self.bound.as_ref().is_none_or(|bound| bound.get(&slot) == Some(&value))
    }

    pub(crate) fn take(&mut self, party: Party, sign: Sign<'_>, at: Instant) {
        self.now = at;
        let is_faulty = self.exceptions.faulty.contains(&party);
        match sign {
            // Finality counts what faulty parties propose too.
            Sign::Ballot(ballot) => self.voted(party, ballot),
            _ if is_faulty => {}
            Sign::Ready(first) => {
                self.first.get_or_insert(first);
                self.base.get_or_insert(first.get().saturating_sub(1));
                if let Some(ready) = self.ready.get_mut(party.index()) {
                    *ready = true;
                }
            }
            Sign::Released(path, slot) => self.released(party, path, slot),
            Sign::Finalized(slot) => self.informed(party, slot),
            Sign::Valued(slot) => self.valued(party, slot),
            Sign::Heard(heard) => self.heard(party, heard),
        }
    }

    /// Whether it is asked of a slot why parties wait for it.
    fn is_judged(&self, slot: Slot) -> bool {
        let shares = &self.committee.shares;
        let leaves_early = shares.is_tight || shares.early.is_some();
        leaves_early && !self.is_slow(slot) && self.exceptions.is_error_free()
    }

    fn heard(&mut self, party: Party, heard: &Heard) {
        let Heard { from, vote, partial } = heard;
        let (from, now) = (*from, self.now);
        self.hears = true;
        let path = if self.committee.shares.is_tight { Path::Tight } else { Path::Fast };
        let partial = partial.filter(|partial| partial.path == path);
        if let Some(slot) = partial.map(|partial| partial.slot).filter(|one| self.is_judged(*one)) {
            self.account(slot).local.hears_partial(party, from, now);
        }
        let Some((vote, base)) = vote.as_ref().zip(self.base) else { return };
        match vote {
            LastVote::In(view) => {
                let slot = view.slot.after(base);
                if view.attempt == DECLARED && self.is_judged(slot) {
                    self.account(slot).local.hears_vote(party, from, now);
                }
            }
            LastVote::On(stage, steps) => {
                let slot = stage.after(base);
                if self.is_judged(slot) {
                    let all = self.proposers();
                    let local = &mut self.account(slot).local;
                    if local.hears_part(party, from, last_on(steps)) >= all {
                        local.hears_vote(party, from, now);
                    }
                }
            }
        }
    }

    fn valued(&mut self, party: Party, slot: Slot) {
        let previous = self.valued.insert(party, self.now);
        if !self.hears || !self.is_judged(slot) {
            return;
        }
        let Committee { stakes, shares, quorum } = &self.committee;
        let scales = Scales {
            stakes,
            weights: &shares.weights,
            quorum: *quorum,
            shares: shares.early.filter(|_| !shares.is_tight).unwrap_or(shares.late),
            is_tight: shares.is_tight,
            imperfections: self.exceptions.imperfections,
        };
        if let Some(account) = self.slots.get_mut(&slot) {
            account.local.valued(party, &scales, previous, self.now);
        }
    }

    /// How many parties propose on DISPEL.
    fn proposers(&self) -> usize {
        self.committee.stakes.iter().filter(|stake| **stake > 0).count()
    }

    fn voted(&mut self, party: Party, ballot: &Ballot) {
        let Some(base) = self.base else { return };
        let horizon = self.finality.horizon();
        self.finality.take(party, ballot);
        if !self.exceptions.faulty.contains(&party) {
            self.prefinalized(party, ballot, base);
        }
        let mut decided: Vec<Slot> =
            (horizon.saturating_add(1)..=self.finality.horizon()).map(Slot::new).collect();
        match ballot {
            Ballot::Cast(cast) => decided.extend(cast.decides().map(|(slot, _)| slot)),
            Ballot::Stage { stage, .. } => decided.push(*stage),
            _ => {}
        }
        decided.retain(|slot| self.finality.permits(*slot, None));
        for slot in decided {
            let now = self.now;
            self.account(slot.after(base)).finalized.get_or_insert(now);
        }
    }

    /// Takes note of a direct prefinalization, if the vote is one.
    fn prefinalized(&mut self, party: Party, ballot: &Ballot, base: u64) {
        let (slot, binds) = match ballot {
            Ballot::Promised(round) if *round > 0 => (Slot::new(*round), true),
            Ballot::Cast(cast)
                if cast.view.attempt == DECLARED
                    && cast.is_for_its_slot()
                    && self.counts(cast.view.slot, cast.value) =>
            {
                (cast.view.slot, true)
            }
            Ballot::Stage { stage, steps, .. } => {
                let slot = stage.after(base);
                if !self.has_cast_all(party, slot, steps) {
                    return;
                }
                (*stage, false)
            }
            _ => return,
        };
        let (slot, now) = (slot.after(base), self.now);
        let (stake, weight) = (self.committee.stake(party), self.committee.weight(party));
        let (binds, may) = (binds && self.is_bound(party) && self.is_last, !self.is_slow(slot));
        let is_tight = self.committee.shares.is_tight;
        let account = self.account(slot);
        if !account.prefinalized.insert(party) {
            return;
        }
        let (first, _) = account.span.unwrap_or((now, now));
        account.span = Some((first, now));
        account.direct.add(stake, now);
        account.is_unbound |= !binds;
        // Where the party knows that the slot is final, that was counted.
        let known = account.informed.contains(&party);
        account.local.voted(party, binds && !known, now);
        let sharing = if is_tight { Some(&mut account.late) } else { account.early.as_mut() };
        if let Some(sharing) = sharing.filter(|_| may && !known) {
            sharing.may.add(weight, now);
            if binds {
                sharing.must.add(weight, now);
            }
        }
    }

    /// Whether a party has cast its last vote on every proposer of a stage of DISPEL. It may lack others' votes to
    /// prefinalize the stage.
    fn has_cast_all(&mut self, party: Party, slot: Slot, steps: &[Step]) -> bool {
        let proposers = self.proposers();
        let account = self.account(slot);
        let cast = account.proposers.entry(party).or_default();
        cast.extend(last_on(steps));
        cast.len() >= proposers
    }

    fn informed(&mut self, party: Party, slot: Slot) {
        let (binds, now) = (self.is_bound(party), self.now);
        // On the only path it has released when it prefinalized, unless partials of the slot leave on finality.
        let (weight, is_slow) = (self.committee.weight(party), self.is_slow(slot));
        let once = self.committee.shares.is_tight && !is_slow;
        let is_judged = self.is_judged(slot);
        let account = self.account(slot);
        if is_judged {
            account.local.knows(party, binds, now);
        }
        let has_prefinalized = account.prefinalized.contains(&party);
        if !account.informed.insert(party) || (once && has_prefinalized) {
            return;
        }
        account.late.may.add(weight, now);
        if binds {
            account.late.must.add(weight, now);
        }
        // A certificate that it sees now may make it release on the fast path too.
        if let Some(early) = account.early.as_mut().filter(|_| !is_slow && !has_prefinalized) {
            early.may.add(weight, now);
        }
    }

    fn released(&mut self, party: Party, path: Path, slot: Slot) {
        let (weight, now) = (self.committee.weight(party), self.now);
        let account = self.account(slot);
        if path != Path::Slow {
            account.local.revealed(party, now);
        }
        let sharing =
            if path == Path::Fast { account.early.as_mut() } else { Some(&mut account.late) };
        if let Some(sharing) = sharing.filter(|sharing| !sharing.senders.contains(&party)) {
            sharing.senders.insert(party);
            sharing.sent.add(weight, now);
        }
    }

    fn account(&mut self, slot: Slot) -> &mut Account {
        let (committee, faulty) = (&self.committee, &self.exceptions.faulty);
        self.slots.entry(slot).or_insert_with(|| Account::new(committee, faulty))
    }

    /// Whether the party does at once what it should.
    fn is_bound(&self, party: Party) -> bool {
        let is_ready = self.ready.get(party.index()).copied().unwrap_or(false);
        is_ready && !self.exceptions.crashed.contains(&party)
    }

    /// Whether nothing of the slot may leave before it is final.
    fn is_slow(&self, slot: Slot) -> bool {
        self.first.is_some_and(|first| slot.get() < first.get().saturating_add(self.fast_after))
    }

    /// The times of the slots with a value before `end`.
    pub(crate) fn close(&self, end: Option<Slot>) -> Result<Vec<SlotTimes>, TimesError> {
        let Some(first) = self.first else { return Ok(Vec::new()) };
        let first = self.before.map_or(first, |before| first.max(before.next()));
        let own = self.slots.range(first..).take_while(|(slot, _)| end.is_none_or(|e| **slot < e));
        own.filter_map(|(slot, account)| self.judge(*slot, account).transpose()).collect()
    }

    fn judge(&self, slot: Slot, account: &Account) -> Result<Option<SlotTimes>, TimesError> {
        let finalized = account.finalized;
        let reconstructed = account.earlier(|sharing| sharing.sent);
        let (may, must) = (account.earlier(|one| one.may), account.earlier(|one| one.must));
        let fails = |claim| Err(TimesError { slot, finalized, reconstructed, claim });
        let Some(computable) = reconstructed else {
            // The run ends in the middle of an instant.
            return match must.filter(|must| *must < self.now) {
                Some(_) => fails(format!("enough parties had to reveal at {}", time(must))),
                None => Ok(None),
            };
        };
        let Some(fixed) = finalized.filter(|finalized| *finalized <= computable) else {
            return fails("Lemma 1 says not before".to_owned());
        };
        let premise = self.premise(slot, account);
        if premise.is_met() && fixed != computable {
            let theorem = if premise == Premise::Tight { "5.2" } else { "6.3" };
            return fails(format!("Theorem {theorem} says at one time ({premise})"));
        }
        if may.is_none_or(|may| computable < may) {
            return fails(format!("too few parties may have revealed before {}", time(may)));
        }
        if must.is_some_and(|must| computable > must) {
            return fails(format!("enough parties had to reveal at {}", time(must)));
        }
        let early = account.early.as_ref().and_then(|early| early.sent.at);
        let path = match early {
            Some(early) if early <= computable => Path::Fast,
            _ if self.committee.shares.is_tight => Path::Tight,
            _ => Path::Slow,
        };
        let waits = match account.local.close() {
            Ok(waits) => waits,
            Err(claim) => return fails(claim),
        };
        let (finalized, reconstructed) = (fixed, computable);
        Ok(Some(SlotTimes { slot, finalized, reconstructed, path, premise, waits }))
    }

    fn premise(&self, slot: Slot, account: &Account) -> Premise {
        let honest = |party: &Party| !self.exceptions.faulty.contains(party);
        let voters = (0..).map(Party::new).zip(&self.committee.stakes);
        let voters = voters.filter(|(party, stake)| honest(party) && **stake > 0).count();
        let at_once = account.span.is_some_and(|(first, last)| first == last);
        if self.is_slow(slot) {
            Premise::SlowPath
        } else if !account.proposers.is_empty() {
            Premise::ByProposer
        } else if account.direct.at != account.finalized {
            Premise::OtherVotes
        } else if account.is_unbound {
            Premise::Unbound
        } else if self.committee.shares.is_tight {
            Premise::Tight
        } else if account.early.is_none() {
            Premise::SlowPath
        } else if at_once && account.prefinalized.len() >= voters {
            Premise::Synchronous
        } else {
            Premise::Asynchronous
        }
    }
}
