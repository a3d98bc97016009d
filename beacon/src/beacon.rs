//! The beacon: Algorithms 1, 2 and 3 of `latency-price`, one machine.
//!
//! ```text
//!  prefinalized ─► prefinal_contract::early ─► persist ─► early partial ┐           ┌─► FIFO ─► reveal
//!  finalized ────► persist ─► late partial (prefinal_contract::late) ───┼─► send    │
//!  received ─────► shape ─► collector ─► weight suffices ─► check job ─► result
//! ```
//! A slot is open from the first event or message about it until it is revealed. It is final once the engine
//! says so. It has a result once a path completes. It is revealed when it has both and all slots before it
//! are revealed. If inputs have no value, a result may come before finality: reconstruction weight on the
//! fast path means that the value is final at some party. The result then waits inside the beacon.
//!
//! | state  | meaning                                                      |
//! |--------|--------------------------------------------------------------|
//! | `head` | the next slot to reveal; all slots below it are finished      |
//! | `local`| the slot after the last final one; the window starts here     |
//! | `schedule` | what leaves and counts at a slot (`switch`): asked before each release and count |
//!
//! Generic over the threshold function ([`Scheme`]); the machine only asks it for values. Differences from
//! the paper: missed messages are asked for again, a restart continues from records, and partials are
//! verified together and late. See also: the contract ([`contract`]) and counting (`collector`).
mod backlog;
mod content;
mod footprint;
mod foresight;
mod handover;
mod missed;
mod peers;
mod recall;
mod restore;
mod stall;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::replace;
use std::ops::RangeInclusive;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_protocol::{Instant, Machine, Recipient, Slot, Value, View};

use crate::collector::{Collector, Lane};
use crate::config::{Keys, Limits, Plan, Secrets};
use crate::event::{Effect, Input, Output, Refusal, Reveal};
use crate::history::{Answer, History, Resends, Shows};
use crate::job::{Finding, Job, Precomputed, Subject, Verdict, Work};
use crate::schemes::{Contents, LateKey, PartialsError, ProvenOutput, Scheme};
use crate::switch::{Mode, Schedule, Switch};
use crate::wire::{Message, Record};
use prefinal_contract::Binding;
use prefinal_contract::Finality;
use prefinal_contract::Path;
use prefinal_contract::{self, Claim, Release, Standing, Withheld, bound_value};

pub use self::footprint::Footprint;
pub use self::foresight::Foresights;

/// How many final slots without output are asked for at a time, oldest first.
const ASKED_AT_ONCE: usize = 16;

/// Follows an engine and reveals one output per slot.
///
/// The [front page](crate) reveals a value. A slot's second value is never released early:
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
/// use prefinal_beacon::{Beacon, Effect, Input, Slot, Value, View};
/// use prefinal_protocol::{Instant, Machine};
///
/// let mut beacon = Beacon::new(config(1, 1), &[])?;
/// let mut vote = |value| {
///     let slot = Slot::new(1);
///     beacon.handle(Instant::START, Input::Prefinalized { slot, view: View::new(slot, 0), value });
///     let outputs = std::iter::from_fn(|| beacon.poll());
///     outputs.filter_map(|output| output.effect()).collect::<Vec<_>>()
/// };
/// let is_partial = |effect: &Effect<Bls>| matches!(effect, Effect::Send { .. });
/// assert!(vote(Value::new([7; 32])).iter().any(is_partial));
/// assert!(!vote(Value::new([8; 32])).iter().any(is_partial));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Beacon<S: Scheme> {
    context: Context,
    me: Party,
    plan: Plan,
    schedule: Schedule,
    binding: Binding,
    fast_attempt: Option<u32>,
    limits: Limits,
    secrets: Secrets<S>,
    keys: Arc<Keys<S>>,
    finality: Finality,
    standing: Standing,
    recall: recall::Recall,
    open: BTreeMap<Slot, Open<S>>,
    first: Slot,
    head: Slot,
    local: Slot,
    history: History<S>,
    /// Slots that were final before this party came back.
    passed_over: Option<RangeInclusive<Slot>>,
    given: Resends,
    /// Which peers were answered about slots behind the backlog, where each answer costs an evaluation.
    behind: Resends,
    /// Which peers were shown outputs.
    shows: Shows,
    missed: missed::Missed,
    foresight: foresight::Guesses<S>,
    suspects: BTreeSet<Party>,
    /// Which party was accused of which kind of fault. Only faults that cost nothing to repeat.
    accused: BTreeSet<(Party, peers::Kind)>,
    /// Whether the host was told that this party has no shares to release early with.
    told_no_shares: bool,
    stall: Option<stall::Stall>,
    /// Slots below this one should have been reported: a later slot of the chain is final.
    later: Slot,
    outputs: VecDeque<Output<S>>,
}

/// A slot that is not revealed yet.
#[derive(Debug, Default)]
struct Open<S: Scheme> {
    /// The value and this party's late partial, once the slot is final.
    finality: Option<Answer<S>>,
    /// The early partial that left since the start, and the value that it was bound to.
    sent_early: Option<Early<S>>,
    /// Inputs that were made already, by the value that they are bound to.
    subjects: BTreeMap<Option<Value>, Arc<Subject<S>>>,
    collector: Collector<S>,
    result: Option<(Path, Box<ProvenOutput<S>>)>,
    ask_at: Instant,
    /// Whether partials were asked for already.
    asked: bool,
    /// Whether an output that a peer has shown is being checked.
    opening: bool,
}

#[derive(Debug)]
struct Early<S: Scheme> {
    value: Option<Value>,
    partial: S::Partial,
}

impl<S: Scheme> Open<S> {
    fn value(&self) -> Option<Option<Value>> {
        self.finality.as_ref().map(|answer| answer.value)
    }
}

impl<S: Scheme> Machine for Beacon<S> {
    type Input = Input<S>;
    type Record = Record;
    type Effect = Effect<S>;

    fn handle(&mut self, now: Instant, input: Input<S>) {
        match input {
            Input::Prefinalized { slot, view, value } => self.prefinalized(slot, view, value),
            Input::Finalized { slot, value } => self.finalized(now, slot, value),
            Input::Abandoned { view } => self.abandoned(view),
            Input::Received { from, message } => self.received(now, from, message),
            Input::Checked(verdict) => self.checked(verdict),
            Input::Admitted { path, key } => self.admitted(path, key),
            Input::WasOff { first, last } => self.was_off(first, last),
            Input::PassedOver { last } => self.pass_over(last),
            Input::Content(content) => self.content(content),
            Input::Switch(switch) => self.switch(switch),
            Input::Tick => {}
        }
        self.ask(now);
        self.watch(now);
    }

    fn poll(&mut self) -> Option<Output<S>> {
        self.outputs.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        let asks = self.lacking().map(|(_, open)| open.ask_at).chain(self.asks_at());
        asks.chain(self.stall_at()).min()
    }
}

impl<S: Scheme> Beacon<S> {
    /// The first slot that belongs to this beacon's committee.
    #[must_use]
    pub const fn first(&self) -> Slot {
        self.first
    }

    /// The next slot to be revealed.
    #[must_use]
    pub fn head(&self) -> Slot {
        self.head
    }

    /// The highest slot that the engine has reported as final; `None` before the first report.
    #[must_use]
    pub fn last_final(&self) -> Option<Slot> {
        let last = || self.local.get().checked_sub(1).map(Slot::new);
        (self.local > self.first).then(last).flatten()
    }

    /// The committees, with all keys known so far.
    #[must_use]
    pub fn keys(&self) -> &Arc<Keys<S>> {
        &self.keys
    }

    fn prefinalized(&mut self, slot: Slot, view: View, value: Value) {
        self.recall.speaks(slot);
        match self.release_early(slot, view, value) {
            // Nothing that the engine does changes it.
            Err(Withheld::NoShares { .. }) if replace(&mut self.told_no_shares, true) => {}
            Err(reason) => self.effect(Effect::Refused(Refusal::Withheld(reason))),
            Ok(()) => {}
        }
    }

    /// Algorithm 2, prefinalization; Algorithm 3, fast path.
    fn release_early(&mut self, slot: Slot, view: View, value: Value) -> Result<(), Withheld> {
        let path = self.plan.early().ok_or(Withheld::SlowOnly { slot })?;
        match self.schedule.mode(slot) {
            Mode::Off => return Err(Withheld::Off { slot }),
            Mode::Late => return Err(Withheld::SlowOnly { slot }),
            Mode::On => {}
        }
        if !self.secrets.contains_key(&path) {
            return Err(Withheld::NoShares { party: self.me });
        }
        let finality = self.open.get(&slot).and_then(Open::value);
        let claim = Claim { slot, view, value, finality, finished: slot < self.head };
        self.standing.within = Some(self.local.after(self.limits.window));
        let release = prefinal_contract::early(self.fast_attempt, &self.standing, &claim)?;
        if S::Contents::NEEDED && self.subject(slot, Some(value)).is_none() {
            return Err(Withheld::NoContent { slot, value });
        }
        if release == Release::First {
            // Rule 5: durable before it leaves.
            self.persist(Record::Released { slot, value });
            self.standing.released.insert(slot, value);
        }
        if let Some(bound) = bound_value(self.binding, Some(value)) {
            let partial = self.send_own(Lane { path, value: bound }, slot);
            let sent = partial.map(|partial| Early { value: bound, partial });
            self.open.entry(slot).or_default().sent_early = sent;
            self.advance(slot);
        }
        Ok(())
    }

    fn finalized(&mut self, now: Instant, slot: Slot, value: Option<Value>) {
        // No slot comes after it, so `head` could not say that it is finished.
        if slot.next() == slot {
            return self.effect(Effect::Refused(Refusal::LastSlot { slot }));
        }
        let (first, last) = (self.first, self.local.after(self.limits.window));
        if slot < first {
            return self.effect(Effect::Refused(Refusal::BeforeFirst { slot, first }));
        }
        if slot > last {
            self.hear_of_later(slot);
            let next = self.local;
            return self.effect(Effect::Refused(Refusal::Beyond { slot, next, last }));
        }
        let known = match self.open.get(&slot).and_then(Open::value) {
            None if slot < self.head => self.history.get_mut(slot).map(|answer| answer.value),
            known => known,
        };
        if let Some(first) = known.filter(|first| *first != value) {
            let refusal = Refusal::SecondFinal { slot, first, second: value };
            self.effect(Effect::Refused(refusal));
        }
        if known.is_some() || slot < self.head {
            return;
        }
        self.persist(Record::Finalized { slot, value });
        // Only this event earns, not the end of a slot: this party may wait for the peer that asks.
        self.shows.earn();
        self.enter_final(slot, value, now + self.limits.retry);
        self.release_late(slot);
        self.advance(slot);
        self.reveal();
    }

    fn enter_final(&mut self, slot: Slot, value: Option<Value>, ask_at: Instant) {
        let before = self.local;
        self.local = self.local.max(slot.next());
        let bound = bound_value(self.binding, value);
        let open = self.open.entry(slot).or_default();
        open.finality = Some(Answer::new(value, None));
        open.ask_at = ask_at;
        match bound {
            Some(bound) => {
                open.collector.keep_only(bound);
                open.subjects.retain(|value, _| *value == bound);
            }
            None => open.collector.clear(),
        }
        self.shed(before);
    }

    /// Releases the late partial: Algorithm 1; Algorithm 2, finalization; Algorithm 3, slow path.
    fn release_late(&mut self, slot: Slot) {
        let path = self.plan.late();
        if self.is_off(slot) {
            return;
        }
        let Some(open) = self.open.get(&slot) else { return };
        let Some(bound) = open.value().and_then(|value| bound_value(self.binding, value)) else {
            return;
        };
        let early = open.sent_early.as_ref().filter(|early| early.value == bound);
        let early = early.map(|early| early.partial.clone());
        let partial = if prefinal_contract::late(path, early.is_some()) {
            self.send_own(Lane { path, value: bound }, slot)
        } else {
            // It has left already. A peer that asks gets the same partial.
            early
        };
        if !self.keeps(slot) {
            return;
        }
        if let Some(answer) = self.open.get_mut(&slot).and_then(|open| open.finality.as_mut()) {
            answer.partial = partial;
        }
    }

    /// Evaluates this party's partial, enters it and broadcasts it, if the party has shares.
    fn send_own(&mut self, lane: Lane, slot: Slot) -> Option<S::Partial> {
        self.open.entry(slot).or_default();
        let partial = self.evaluate(lane, slot)?;
        self.enter_own(lane, slot, partial.clone());
        self.send(Recipient::All, partial_message(lane, slot, partial.clone()));
        Some(partial)
    }

    fn enter_own(&mut self, lane: Lane, slot: Slot, partial: S::Partial) {
        // Of what the engine prefinalizes or finalizes, which the contract has bounded.
        let kept = self.keeps(slot) || slot >= self.local;
        let open = self.open.get_mut(&slot).filter(|open| kept && open.result.is_none());
        if let (Some(open), Some(committee)) = (open, self.keys.committee(lane.path)) {
            open.collector.enter(lane, self.me, partial, committee);
        }
    }

    fn evaluate(&mut self, lane: Lane, slot: Slot) -> Option<S::Partial> {
        let subject = self.subject(slot, lane.value)?;
        S::evaluate(self.secrets.get(&lane.path)?, subject.input())
    }

    /// The input of a slot, by rule 1: the slot, maybe the value. Hashed to the curve once for a slot.
    fn subject(&mut self, slot: Slot, value: Option<Value>) -> Option<Arc<Subject<S>>> {
        let known = self.open.get(&slot).and_then(|open| open.subjects.get(&value));
        if let Some(subject) = known {
            return Some(Arc::clone(subject));
        }
        let subject = Arc::new(Subject::new(&self.context, self.binding, slot, value)?);
        if let Some(open) = self.open.get_mut(&slot) {
            open.subjects.insert(value, Arc::clone(&subject));
        }
        Some(subject)
    }

    fn abandoned(&mut self, view: View) {
        if self.standing.abandoned.is_some_and(|abandoned| abandoned >= view) {
            return;
        }
        self.standing.abandoned = Some(view);
        // If nothing is ever released early, there is nothing to remember. A slot that is off now may be on
        // again before it is final.
        if self.plan.early().is_some() {
            self.persist(Record::Abandoned { view });
        }
    }

    fn switch(&mut self, switch: Switch) {
        match self.schedule.switch(switch, self.local) {
            Ok(false) => {}
            Ok(true) => {
                self.persist(Record::Switched(switch));
                // Partials that were kept of a slot count again.
                self.advance_all();
            }
            Err(error) => self.effect(Effect::Refused(Refusal::Switch(error))),
        }
    }

    fn was_off(&mut self, first: Slot, last: Slot) {
        match self.schedule.close((first, last), self.head) {
            Ok(false) => {}
            Ok(true) => {
                self.persist(Record::WasOff { first, last });
                self.reveal();
            }
            Err(error) => self.effect(Effect::Refused(Refusal::Switch(error))),
        }
    }

    fn is_off(&self, slot: Slot) -> bool {
        self.schedule.mode(slot) == Mode::Off
    }

    fn admitted(&mut self, path: Path, key: LateKey<S>) {
        if let Err(error) = Arc::make_mut(&mut self.keys).insert(path, key) {
            self.effect(Effect::Refused(Refusal::Key(error)));
            return;
        }
        if let Some(committee) = self.keys.committee(path) {
            self.open.values_mut().for_each(|open| open.collector.recount(path, committee));
        }
        self.advance_all();
    }

    /// Starts the jobs that the slot's partials allow.
    fn advance(&mut self, slot: Slot) {
        let Some(open) = self.open.get(&slot).filter(|open| open.result.is_none()) else { return };
        let value = match (self.binding, open.value()) {
            // A result may precede finality.
            (Binding::Slot | Binding::Rounds { .. }, _) => None,
            (Binding::Value, Some(Some(value))) => Some(value),
            (Binding::Value, _) => return,
        };
        // Without its input a job could not run.
        if S::Contents::NEEDED && self.subject(slot, value).is_none() {
            return;
        }
        let keys = Arc::clone(&self.keys);
        for path in [Path::Fast, Path::Tight, Path::Slow] {
            let Some(committee) = keys.committee(path) else { continue };
            if !self.plan.counts(path, self.schedule.mode(slot)) {
                continue;
            }
            let lane = Lane { path, value };
            let Some(open) = self.open.get_mut(&slot) else { continue };
            let singles = open.collector.single_out(lane, &self.suspects, committee);
            let alone = |(party, partial)| (Work::Verify(party, partial), Precomputed::default());
            let mut jobs: Vec<_> = singles.into_iter().map(alone).collect();
            let expected = self.foresight.expected(path);
            if let Some(batch) = open.collector.start(lane, committee, expected) {
                self.foresight.learn(path, &batch.came, batch.foreseen);
                jobs.push((Work::Combine(batch.partials), batch.done));
            } else if let Some(portion) = open.collector.prepare(lane, committee, expected) {
                jobs.push((Work::Prepare(portion.partials), portion.done));
            }
            for (work, done) in jobs {
                // The first slot of a configuration has an input, and so have those after it.
                let Some(subject) = self.subject(slot, value) else { return };
                let job = Job::new(&keys, &subject, path, work).after(done);
                self.effect(Effect::Check(job));
            }
        }
    }

    fn advance_all(&mut self) {
        for slot in self.open.keys().copied().collect::<Vec<_>>() {
            self.advance(slot);
        }
    }

    fn checked(&mut self, verdict: Verdict<S>) {
        let Verdict { slot, path, value, finding, faulty } = verdict;
        let lane = Lane { path, value };
        let keys = Arc::clone(&self.keys);
        let Some(committee) = keys.committee(path) else { return };
        let finding = match finding {
            Finding::Opened { from, shown, result } => {
                return self.opened(slot, lane, (from, shown), result);
            }
            finding => match self.take_ahead(slot, lane, finding) {
                Some(finding) => finding,
                None => return,
            },
        };
        // A slot with a result, or a finished one, needs no second.
        let Some(open) = self.open.get_mut(&slot).filter(|open| open.result.is_none()) else {
            return;
        };
        match finding {
            Finding::Combined(result) => {
                if !open.collector.finish(lane) {
                    return;
                }
                match result {
                    Ok(combined) => {
                        open.result = Some((path, combined));
                        open.collector.clear();
                        let next = self.look_ahead(lane, slot);
                        self.reveal();
                        self.outputs.extend(next.map(|job| Output::Do(Effect::Check(job))));
                    }
                    Err(PartialsError::Faulty { .. }) => {
                        self.caught(slot, lane, faulty);
                        self.advance_all();
                    }
                    // Nothing was verified: the next arrival tries again.
                    Err(_) => {}
                }
            }
            Finding::Verified(party, Ok(())) => {
                open.collector.approve(lane, party, committee);
                self.advance(slot);
            }
            Finding::Verified(_, Err(_)) => {
                self.caught(slot, lane, faulty);
                self.advance(slot);
            }
            Finding::Opened { .. } | Finding::Foreseen(..) | Finding::Prepared(..) => {}
        }
    }

    /// Reveals outputs while the head of the FIFO has a result.
    fn reveal(&mut self) {
        while let Some((value, open)) =
            self.open.get_mut(&self.head).and_then(|open| Some((open.value()?, open)))
        {
            let slot = self.head;
            let output = match bound_value(self.binding, value) {
                _ if self.schedule.mode(slot) == Mode::Off => Output::Do(Effect::Off { slot }),
                // Rule 8.
                None => Output::Do(Effect::Skipped { slot }),
                Some(bound) => {
                    let Some((path, combined)) = open.result.take() else {
                        return;
                    };
                    let ProvenOutput { output, proof } = *combined;
                    if let Some(answer) = open.finality.as_mut() {
                        answer.shown = Some((path, Box::new(S::show(&output, &proof))));
                    }
                    let round = self.binding.round(slot);
                    let round = round.and_then(|round| RoundNumber::new(round.get()));
                    Output::Do(Effect::Reveal(Box::new(Reveal {
                        slot,
                        round,
                        value,
                        bound,
                        output,
                        path,
                        proof,
                    })))
                }
            };
            self.outputs.push_back(output);
            self.persist(Record::Revealed { slot });
            self.close(slot);
        }
    }

    /// Rule 9: only the answer of a finished slot is kept. A slot that was off has no answer, but it is known
    /// to be final and off as long as the answers of others are kept.
    fn close(&mut self, slot: Slot) {
        if let Some(answer) = self.open.remove(&slot).and_then(|open| open.finality) {
            self.history.push(slot, answer);
        }
        self.standing.released.remove(&slot);
        self.come_to(slot.next());
    }

    /// Drops the modes that no slot of the history needs, and none of those that were passed over.
    fn forget(&mut self) {
        let passed_over = self.passed_over.as_ref().map(|slots| *slots.start());
        let first = self.history.first().into_iter().chain(passed_over).fold(self.head, Slot::min);
        self.schedule.forget_before(first);
    }

    /// Final slots that lack their output, oldest first, at most as many as are asked for at a time.
    fn lacking(&self) -> impl Iterator<Item = (Slot, &Open<S>)> {
        let lacks = |open: &Open<S>| {
            let bound = open.value().and_then(|value| bound_value(self.binding, value));
            open.result.is_none() && bound.is_some()
        };
        let end = self.local.min(self.head.after(self.limits.backlog));
        let open = self.open.range(self.head..end.max(self.head)).map(|(slot, open)| (*slot, open));
        open.filter(move |(slot, open)| lacks(open) && !self.is_off(*slot)).take(ASKED_AT_ONCE)
    }

    fn persist(&mut self, record: Record) {
        let is_note = matches!(record, Record::Revealed { .. });
        self.outputs.push_back(if is_note { Output::Note(record) } else { Output::Keep(record) });
    }

    fn effect(&mut self, effect: Effect<S>) {
        self.outputs.push_back(Output::Do(effect));
    }

    fn send(&mut self, to: Recipient<Party>, message: Message<S>) {
        self.effect(Effect::Send { to, message });
    }
}

const fn partial_message<S: Scheme>(lane: Lane, slot: Slot, partial: S::Partial) -> Message<S> {
    Message::Partial { path: lane.path, slot, value: lane.value, partial }
}
