//! An engine that does everything that Definition 5 of `latency-price` allows, and reports more than it does.
//!
//! Real engines promise more than the release contract requires. In Jolteon, for example, a party votes
//! once for a slot, so it hardly matters whether the beacon counts by view. This engine has no
//! protocol. One adversary decides from the seed which party does what next. It must obey two rules only:
//!
//! - a party votes once in a view, and in no view that it gave up or that comes before one;
//! - what a quorum has voted for in one view is final, and nothing that is voted contradicts it.
//!
//! | it does                                                             | what that is for     |
//! |---------------------------------------------------------------------|----------------------|
//! | several views for one slot, another value in each                     | rules 1 and 2        |
//! | votes for descendants, which finalize or skip what they imply         | rules 3 and 8        |
//! | learns of certificates of views that a party has given up             | rules 4 and 5        |
//! | votes for attempts that it cannot tell apart                          | rule 7               |
//! | learns of certificates of slots that are over                         | rule 9               |
//!
//! Events that are not the party's vote, but could be mistaken for it, are also reported to the beacon
//! as prefinalizations, as a faulty integration might do. Inputs are bound to the value where parties
//! may vote for different values in one view, as in engines with one voting round. Elsewhere a view has
//! one value, as a certificate before the vote ensures.
//!
//! Until the network heals, the adversary prefers to split votes rather than complete a quorum. From
//! then on it lets everybody vote for one thing after the other. Votes are counted in [`Finality`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::prefinal_beacon::{Binding, Quorum, Slot, Value, View};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Instant;
use prefinal_sim::{Chance, Dice};

use crate::finality::{Ballot, Finality, FinalityVote};
use prefinal_engine::{Block, Effect, Engine, Input, Output};

/// The first slot.
pub(crate) const FIRST: Slot = Slot::new(1);

/// How long a party does nothing, at least and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(120));

/// What kind of engine this is in one execution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Whether a view has one value, or parties vote for what they like.
    pub(super) binding: Binding,
    /// Whether it can tell the attempts at a slot apart.
    pub(super) views: bool,
    /// Whether votes decide about earlier slots.
    pub(super) chained: bool,
    /// How often a quorum may be completed before the network heals.
    eager: Chance,
}

impl Style {
    /// Drawn apart from everything else.
    pub(super) fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed.rotate_left(32) ^ 0x5EED);
        let mut happens = |percent| dice.happens(Chance::percent(percent));
        let binding = if happens(40) { Binding::Value } else { Binding::Slot };
        let (views, chained) = (!happens(15), happens(60));
        let percent = u32::try_from(dice.between(2, 40)).unwrap_or(2);
        Self { binding, views, chained, eager: Chance::percent(percent) }
    }

    /// The attempt that the engine declares for early releases.
    pub(super) const fn declared(&self) -> Option<u32> {
        if self.views { Some(0) } else { None }
    }

    /// A view as the engine tells it.
    const fn told(&self, view: View) -> View {
        if self.views { view } else { View::new(view.slot, 0) }
    }
}

/// What an engine remembers.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(super) enum Record {
    /// A vote of this party.
    Cast(FinalityVote),
    /// It gave up this view and all before it.
    GaveUp(View),
}

/// What a party does next.
enum Act {
    Vote(FinalityVote),
    GiveUp(View),
    /// No vote, but somebody might think so.
    Hint(Slot, View, Value),
    Finalize(Slot, Option<Value>),
}

/// The adversary: all engines of one execution.
#[derive(Debug)]
pub(super) struct World {
    style: Style,
    dice: Dice,
    faulty: BTreeSet<Party>,
    finality: Finality,
    voted: BTreeSet<(Party, View)>,
    given_up: BTreeMap<Party, View>,
    /// What a view is for, where it is for one thing.
    certified: BTreeMap<View, FinalityVote>,
    /// What a value implies: as a block names its parent, so that votes for it are for one thing.
    lineage: BTreeMap<Value, Vec<(Slot, Option<Value>)>>,
    values: u64,
    healed: bool,
    /// What everybody votes for once the network has healed.
    target: Option<FinalityVote>,
}

impl World {
    pub(super) fn new(
        style: Style,
        seed: u64,
        stakes: Vec<u128>,
        faulty: &BTreeSet<Party>,
    ) -> Self {
        Self {
            style,
            dice: Dice::new(seed ^ 0xDEF5),
            faulty: faulty.clone(),
            finality: Finality::new(stakes, faulty.clone()),
            voted: BTreeSet::new(),
            given_up: BTreeMap::new(),
            certified: BTreeMap::new(),
            lineage: BTreeMap::new(),
            values: 0,
            healed: false,
            target: None,
        }
    }

    /// A vote is on a party's disk.
    pub(super) fn cast(&mut self, party: Party, cast: &FinalityVote) {
        self.voted.insert((party, cast.view));
        self.finality.take(party, &Ballot::Cast(cast.clone()));
    }

    /// It is on a party's disk that it has given up this view.
    pub(super) fn gave_up(&mut self, party: Party, view: View) {
        let last = self.given_up.entry(party).or_insert(view);
        *last = view.max(*last);
    }

    /// From now on everything goes well.
    pub(super) const fn heal(&mut self) {
        self.healed = true;
    }

    fn happens(&mut self, percent: u32) -> bool {
        self.dice.happens(Chance::percent(percent))
    }

    fn pause(&mut self) -> Duration {
        self.dice.duration(PAUSE.0, PAUSE.1)
    }

    /// What a party does that has finalized everything before `next`.
    fn act(&mut self, me: Party, mut next: Slot) -> Vec<Act> {
        let mut acts = Vec::new();
        while let Some(value) = self.finality.decided(next) {
            if !self.healed && !self.happens(70) {
                break;
            }
            acts.push(Act::Finalize(next, value));
            next = next.after(1);
        }
        acts.extend(if self.healed {
            self.settle(me)
        } else {
            match self.dice.below(10) {
                0..=5 => self.stray(me, next),
                6 => self.give_up(me, next),
                7 | 8 => self.hint(me, next),
                _ => None,
            }
        });
        acts
    }

    /// Whether a party may still vote there.
    fn may_vote(&self, me: Party, view: View) -> bool {
        let given_up = self.given_up.get(&me).is_some_and(|last| *last >= view);
        !given_up && !self.voted.contains(&(me, view))
    }

    /// A vote somewhere.
    fn stray(&mut self, me: Party, next: Slot) -> Option<Act> {
        let attempts = [0, 0, 0, 1, 2];
        let place = usize::try_from(self.dice.below(5)).unwrap_or(0);
        let attempt = attempts.get(place).copied().unwrap_or(0);
        let view = View::new(next.after(self.dice.below(3)), attempt);
        if !self.may_vote(me, view) {
            return None;
        }
        let cast = self.proposal(view, next)?;
        let completes = self.finality.completes(me, &cast);
        let allowed = self.finality.allows(&cast);
        let goes = allowed && (!completes || self.dice.happens(self.style.eager));
        goes.then_some(Act::Vote(cast))
    }

    /// Something to vote for in a view.
    fn proposal(&mut self, view: View, next: Slot) -> Option<FinalityVote> {
        let known = self.certified.get(&view).cloned();
        if known.is_some() && (self.style.binding == Binding::Slot || self.happens(60)) {
            return known;
        }
        let value = match self.finality.decided(view.slot) {
            Some(decided) => decided?,
            None => self.value(view.slot, 50),
        };
        let from = if self.style.chained { next } else { view.slot };
        let cast = self.block(view, value, from);
        self.certified.entry(view).or_insert_with(|| cast.clone());
        Some(cast)
    }

    /// A vote for a value, which implies what it did the first time.
    fn block(&mut self, view: View, value: Value, from: Slot) -> FinalityVote {
        let known = self.lineage.get(&value).cloned();
        let implied = known.unwrap_or_else(|| self.implied(from, view.slot));
        self.lineage.entry(value).or_insert_with(|| implied.clone());
        FinalityVote { view, value, implied }
    }

    /// What a vote in `end` makes of the slots before it.
    fn implied(&mut self, from: Slot, end: Slot) -> Vec<(Slot, Option<Value>)> {
        let slots = (from.get()..end.get()).map(Slot::new);
        let choose = |slot| match self.finality.decided(slot) {
            Some(decided) => (slot, decided),
            None if self.happens(70) => (slot, Some(self.value(slot, 90))),
            None => (slot, None),
        };
        slots.map(choose).collect()
    }

    /// A value that somebody has voted for, in so many of a hundred cases; else a new one.
    fn value(&mut self, slot: Slot, known: u32) -> Value {
        let casts = self.finality.casts().filter(|(cast, _)| cast.view.slot == slot);
        let values: BTreeSet<Value> = casts.map(|(cast, _)| cast.value).collect();
        let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
        if count > 0 && self.happens(known) {
            let place = usize::try_from(self.dice.below(count)).unwrap_or(0);
            if let Some(value) = values.into_iter().nth(place) {
                return value;
            }
        }
        self.fresh(slot)
    }

    fn fresh(&mut self, slot: Slot) -> Value {
        self.values += 1;
        let mut bytes = [0; 32];
        let number = [slot.get().to_be_bytes(), self.values.to_be_bytes()].concat();
        bytes.iter_mut().zip(number).for_each(|(to, from)| *to = from);
        Value::new(bytes)
    }

    fn give_up(&mut self, me: Party, next: Slot) -> Option<Act> {
        let attempt = u32::try_from(self.dice.below(2)).unwrap_or(0);
        let view = View::new(next.after(self.dice.below(2)), attempt);
        let new = self.given_up.get(&me).is_none_or(|last| *last < view);
        new.then_some(Act::GiveUp(view))
    }

    /// A certificate of a view that this party will not vote in any more, or of a slot that is over.
    fn hint(&mut self, me: Party, next: Slot) -> Option<Act> {
        let first = next.get().saturating_sub(3).max(FIRST.get());
        let slot = Slot::new(first).after(self.dice.below(5));
        let view = View::new(slot, 0);
        let given_up = self.given_up.get(&me).is_some_and(|last| *last >= view);
        if !given_up && slot >= next {
            return None;
        }
        let certified = self.certified.get(&view).map(|cast| cast.value);
        let value = match (self.style.binding, certified) {
            (Binding::Slot, Some(value)) => value,
            _ => self.value(slot, 90),
        };
        Some(Act::Hint(slot, view, value))
    }

    /// A vote for what everybody votes for.
    fn settle(&mut self, me: Party) -> Option<Act> {
        let is_over = |cast: &FinalityVote| self.finality.decided(cast.view.slot).is_some();
        if self.target.as_ref().is_none_or(is_over) {
            self.target = Some(self.aim());
        }
        let cast = self.target.clone().filter(|cast| self.may_vote(me, cast.view))?;
        Some(Act::Vote(cast))
    }

    /// A view in which every honest party may vote, for the first slot that is not decided if there is
    /// one, else for a later one that implies it.
    fn aim(&mut self) -> FinalityVote {
        let mut low = FIRST;
        while self.finality.decided(low).is_some() {
            low = low.after(1);
        }
        let honest = self.given_up.iter().filter(|(party, _)| !self.faulty.contains(party));
        let given_up = honest.map(|(_, view)| *view).max();
        let slot = match given_up {
            Some(view) if view.slot > low => {
                view.slot.max(self.finality.last_decided().unwrap_or(low)).after(1)
            }
            _ => low,
        };
        let voted = self.voted.iter().map(|(_, view)| *view);
        let used = voted.chain(given_up).filter(|view| view.slot == slot).map(|view| view.attempt);
        let view = View::new(slot, used.max().map_or(0, |attempt| attempt.saturating_add(1)));
        // An older value may contradict what is final, or leave a slot open.
        let value = self.value(slot, 50);
        let mut cast = self.block(view, value, low);
        let decides = |cast: &FinalityVote| {
            self.finality.allows(cast)
                && (slot == low || cast.implied.first().is_some_and(|(first, _)| *first <= low))
        };
        if !decides(&cast) {
            let value = self.fresh(slot);
            cast = self.block(view, value, low);
        }
        self.certified.insert(view, cast.clone());
        cast
    }
}

/// One party's engine.
pub(super) struct Permissive {
    me: Party,
    world: Arc<Mutex<World>>,
    style: Style,
    next: Slot,
    wakes: Instant,
    said: VecDeque<Output<Self>>,
}

impl Permissive {
    /// An engine that has nothing to remember: the adversary knows what was on its disk.
    pub(super) fn new(me: Party, world: &Arc<Mutex<World>>) -> Self {
        let style = world.lock().unwrap_or_else(PoisonError::into_inner).style;
        let (world, said) = (Arc::clone(world), VecDeque::new());
        Self { me, world, style, next: FIRST, wakes: Instant::START, said }
    }

    fn carry_out(&mut self, act: Act) {
        let style = self.style;
        match act {
            Act::Vote(cast) => {
                let (view, value) = (style.told(cast.view), cast.value);
                let implied = cast.implied.clone();
                let slot = cast.view.slot;
                self.said.push_back(Output::Keep(Record::Cast(cast)));
                self.said.push_back(Output::Do(Effect::Prefinalized { slot, view, value }));
                for (slot, value) in implied {
                    let told =
                        value.map(|value| Output::Do(Effect::Prefinalized { slot, view, value }));
                    self.said.extend(told);
                }
            }
            Act::GiveUp(view) => {
                self.said.push_back(Output::Do(Effect::Abandoned { view: style.told(view) }));
                self.said.push_back(Output::Keep(Record::GaveUp(view)));
            }
            Act::Hint(slot, view, value) => {
                let view = style.told(view);
                self.said.push_back(Output::Do(Effect::Prefinalized { slot, view, value }));
            }
            Act::Finalize(slot, value) => {
                self.next = slot.after(1);
                let block = value.map(|value| Block { value, transactions: Vec::new() });
                self.said.push_back(Output::Do(Effect::Finalized { slot, block }));
            }
        }
    }
}

impl Engine for Permissive {
    type Message = ();
    type Record = Record;
    type Job = Infallible;
    type Verdict = Infallible;

    const FAST_ATTEMPT: Option<u32> = Some(0);
    const QUORUM: Quorum = Quorum::BYZANTINE;

    fn handle(&mut self, now: Instant, input: Input<Self>) {
        if !matches!(input, Input::Start | Input::Tick) || now < self.wakes {
            return;
        }
        let world = Arc::clone(&self.world);
        let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
        self.wakes = now + world.pause();
        for act in world.act(self.me, self.next) {
            self.carry_out(act);
        }
    }

    fn poll(&mut self) -> Option<Output<Self>> {
        self.said.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.wakes)
    }
}
