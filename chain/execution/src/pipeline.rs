//! The machine: what happens to a block, and what follows from it.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prefinal_protocol::{Instant, Machine, Slot, View};

use crate::block::{Block, BlockId, Height};
use crate::config::{Config, Past, Record, Role, StartError, StateClaim};
use crate::event::{Certified, Delivery, Divergence, Effect, Input, Output, Refusal, Stop, Unkept};
use crate::executor::{Execution, Executor, Randomness, Roots};
use crate::job::{ExecuteVerdict, Found, StoreVerdict, StoredState};
use crate::store::{Committed, OptimisticBlock, StateCertificate};
use crate::tree::{Entry, Executed, Leftovers, Place, Progress, Storage, Tree};

/// The pipeline of one node. See the [front page](crate).
pub struct Pipeline<X: Executor, C: StateCertificate> {
    pub(crate) config: Config,
    /// The last committed block, and the state that it leaves.
    pub(crate) tip: Committed,
    pub(crate) tip_view: X::View,
    pub(crate) tree: Tree<X>,
    /// Ordered blocks that are not committed.
    pub(crate) ordered: BTreeMap<Height, BlockId>,
    /// Certified roots of blocks that are not committed.
    pub(crate) certified: BTreeMap<Height, Certified<C>>,
    /// Values of slots whose blocks are not committed.
    pub(crate) values: BTreeMap<Slot, Randomness>,
    pub(crate) leftovers: Leftovers,
    /// What this party has voted for, of blocks that are not committed. It is on record.
    pub(crate) votes: BTreeMap<Place, Roots>,
    pub(crate) stopped: bool,
    outputs: VecDeque<Output<X, C>>,
}

impl<X: Executor, C: StateCertificate> Machine for Pipeline<X, C> {
    type Input = Input<X, C>;
    type Record = Record<C>;
    type Effect = Effect<X, C>;

    fn handle(&mut self, _: Instant, input: Input<X, C>) {
        if self.stopped {
            return;
        }
        match input {
            Input::Proposed(block) => self.proposed(block),
            Input::Prefinalized { height, block, view } => {
                self.prefinalized(Place { height, block }, view);
            }
            Input::Ordered(block) => self.ordered(block),
            Input::Value { slot, value } => self.value(slot, value),
            Input::Certified(certified) => self.certified(certified),
            Input::Delivered(delivery) => self.delivered(*delivery),
            Input::Executed(verdict) => self.executed(verdict),
            Input::Stored(verdict) => self.stored(verdict),
        }
        self.advance();
    }

    fn poll(&mut self) -> Option<Output<X, C>> {
        self.outputs.pop_front()
    }

    /// Nothing here waits for time.
    fn wake_at(&self) -> Option<Instant> {
        None
    }
}

impl<X: Executor, C: StateCertificate> Pipeline<X, C> {
    /// Starts where the store and the records end. Blocks that the store holds and nobody can order any
    /// more are reverted first.
    ///
    /// # Errors
    /// If this node stopped because of a divergence, if store and records contradict each other, or if a
    /// limit is zero.
    pub fn new(config: Config, past: Past<X, C>) -> Result<Self, StartError> {
        check_limits(&config)?;
        let Past { recovered, records } = past;
        let tip = recovered.committed;
        let mut pipeline = Self {
            config,
            tip,
            tip_view: recovered.view,
            tree: Tree::new(),
            ordered: BTreeMap::new(),
            certified: BTreeMap::new(),
            values: BTreeMap::new(),
            leftovers: Leftovers::default(),
            votes: BTreeMap::new(),
            stopped: false,
            outputs: VecDeque::new(),
        };
        for record in records {
            match record {
                Record::Voted(StateClaim { height, block, roots }) if height > tip.height => {
                    pipeline.votes.insert(Place { height, block }, roots);
                }
                Record::Voted(_) => {}
                Record::Diverged(evidence) => {
                    return Err(StartError::Diverged { height: evidence.certified.height });
                }
            }
        }
        pipeline.take_over(recovered.optimistic)?;
        pipeline.advance();
        Ok(pipeline)
    }

    /// The last committed block.
    #[must_use]
    pub const fn committed(&self) -> Committed {
        self.tip
    }

    /// The highest ordered block: the height and name that the next ordered block builds on.
    #[must_use]
    pub fn last_ordered(&self) -> (Height, BlockId) {
        let last = self.ordered.last_key_value();
        last.map_or((self.tip.height, self.tip.block), |(height, block)| (*height, *block))
    }

    /// The fewest records that restore what must not be forgotten.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record<C>> {
        let claim = |(place, roots): (&Place, &Roots)| StateClaim {
            height: place.height,
            block: place.block,
            roots: *roots,
        };
        self.votes.iter().map(claim).map(Record::Voted).collect()
    }

    /// Continues with the optimistic blocks that hang on the committed one, and reverts the others.
    fn take_over(&mut self, mut optimistic: Vec<OptimisticBlock<X>>) -> Result<(), StartError> {
        optimistic.sort_by_key(|one| Place::of(&one.block.header));
        for OptimisticBlock { block, roots, view } in optimistic {
            let header = block.header;
            let place = Place::of(&header);
            let hangs = Place::of_parent(&header).is_some_and(|parent| {
                parent == self.tip_place() || self.tree.get(parent).is_some()
            });
            if !hangs {
                self.leftovers.take(header, Storage::Optimistic);
                continue;
            }
            if self.votes.get(&place).is_some_and(|voted| *voted != roots) {
                return Err(StartError::OtherVote { height: header.height, block: header.id });
            }
            let entry = self.tree.insert(Entry::new(block));
            entry.progress = Progress::Executed(Executed { roots, view, delta: None });
            entry.storage = Storage::Optimistic;
        }
        Ok(())
    }

    fn proposed(&mut self, block: Block<X::Transaction>) {
        if !self.config.switches.opt_execute || self.tree.get(Place::of(&block.header)).is_some() {
            return;
        }
        let id = block.header.id;
        match self.admit(&block) {
            Ok(evicted) => {
                let evicted = self.tree.with_descendants(evicted);
                for place in &evicted {
                    let why = Unkept::Evicted;
                    self.effect(Effect::Refused(Refusal::Proposal { block: place.block, why }));
                }
                self.drop_blocks(evicted);
                if self.config.role == Role::Validator {
                    self.effect(Effect::Forward(block.clone()));
                }
                self.tree.insert(Entry::new(block));
            }
            Err(why) => self.effect(Effect::Refused(Refusal::Proposal { block: id, why })),
        }
    }

    /// Checks a proposal and says what has to make room for it.
    fn admit(&self, block: &Block<X::Transaction>) -> Result<BTreeSet<Place>, Unkept> {
        let header = block.header;
        let (ordered, last) = self.last_ordered();
        let got = header.height;
        let next = ordered.next();
        if got <= ordered || (got == next && header.parent != last) {
            return Err(Unkept::Orphan { ordered });
        }
        if header.parent == last && got != next {
            return Err(Unkept::Height { parent: ordered, got });
        }
        let window = self.tip.height.after(self.config.limits.window);
        if got > window {
            return Err(Unkept::TooFar { got, last: window });
        }
        self.tree.check_height(&header)?;
        self.tree.make_room(block, &self.config.limits)
    }

    fn prefinalized(&mut self, place: Place, view: View) {
        if let Some(entry) = self.tree.get_mut(place) {
            // The first vote stands: in a later view the contract would refuse what it allows in this one.
            entry.view.get_or_insert(view);
        }
    }

    fn ordered(&mut self, block: Block<X::Transaction>) {
        let header = block.header;
        let (got, id) = (header.height, header.id);
        if got <= self.tip.height {
            return;
        }
        let (height, last) = self.last_ordered();
        if let Some(first) = self.ordered.get(&got).copied() {
            if first != id {
                let refusal = Refusal::SecondOrder { height: got, first, second: id };
                self.effect(Effect::Refused(refusal));
            }
            return;
        }
        if got != height.next() || header.parent != last {
            let refusal = Refusal::Gap { block: id, got, expected: height.next() };
            return self.effect(Effect::Refused(refusal));
        }
        let window = self.tip.height.after(self.config.limits.window);
        if got > window {
            let refusal = Refusal::Beyond { block: id, got, last: window };
            return self.effect(Effect::Refused(refusal));
        }
        let place = Place::of(&header);
        self.ordered.insert(got, id);
        self.tree.insert(Entry::new(block)).ordered = true;
        let orphans = self.tree.orphans(place);
        let orphans = self.tree.with_descendants(orphans);
        self.drop_blocks(orphans);
        self.compare(got);
    }

    fn value(&mut self, slot: Slot, value: Randomness) {
        let last = self.last_ordered();
        let last = self.tree.get(Place { height: last.0, block: last.1 });
        let most = usize::try_from(self.config.limits.window).unwrap_or(usize::MAX);
        let of_block = self.ordered.iter().any(|(height, block)| {
            let entry = self.tree.get(Place { height: *height, block: *block });
            entry.is_some_and(|entry| entry.block.header.slot == slot)
        });
        // A slot behind the last ordered block that has no block is empty, or committed.
        if !of_block && last.is_some_and(|entry| slot < entry.block.header.slot) {
            return;
        }
        if !of_block && self.values.len() >= most {
            return self.effect(Effect::Refused(Refusal::Value { slot, most }));
        }
        self.values.entry(slot).or_insert(value);
    }

    fn certified(&mut self, certified: Certified<C>) {
        let (height, block) = (certified.height, certified.block);
        if height <= self.tip.height {
            return;
        }
        let window = self.tip.height.after(self.config.limits.window);
        if height > window {
            let refusal = Refusal::Beyond { block, got: height, last: window };
            return self.effect(Effect::Refused(refusal));
        }
        match self.certified.get(&height) {
            Some(first) if (first.block, first.digest) != (block, certified.digest) => {
                // Two quorums have signed different states. This node follows neither.
                self.diverge(certified.clone(), first.block);
            }
            Some(_) => {}
            None => {
                self.certified.insert(height, certified);
                self.compare(height);
            }
        }
    }

    fn delivered(&mut self, delivery: Delivery<X, C>) {
        let Delivery { block, value, certified } = delivery;
        let slot = block.header.slot;
        self.ordered(block);
        if let Some(value) = value {
            self.value(slot, value);
        }
        self.certified(certified);
    }

    fn executed(&mut self, verdict: ExecuteVerdict<X>) {
        let ExecuteVerdict { header, found } = verdict;
        let place = Place::of(&header);
        let Some(entry) = self.tree.get_mut(place) else { return };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                let (block, why) = (header.id, error.to_string());
                return self.stop(Stop::Executor { block, why });
            }
        };
        match (&entry.progress, found) {
            (Progress::Head, Found::Draft(draft)) => entry.progress = Progress::Draft(draft),
            (Progress::Head | Progress::Tail, Found::Sealed(execution)) => {
                let Execution { roots, view, delta } = *execution;
                entry.progress = Progress::Executed(Executed { roots, view, delta: Some(delta) });
                let before = self.votes.get(&place).copied().filter(|voted| *voted != roots);
                if let Some(before) = before {
                    let Place { height, block } = place;
                    let before = StateClaim { height, block, roots: before };
                    return self.stop(Stop::OtherResult { before, now: roots });
                }
                self.compare(header.height);
            }
            // Of a proposal that made room and came back: it was executed twice.
            _ => {}
        }
    }

    fn stored(&mut self, verdict: StoreVerdict) {
        let StoreVerdict { header, state, result } = verdict;
        if let Err(why) = result {
            return self.stop(Stop::Store { block: header.id, why });
        }
        match state {
            StoredState::Absent => self.leftovers.reverted(header.id),
            StoredState::Committed => self.commit(Place::of(&header)),
            StoredState::Optimistic if self.leftovers.contains(header.id) => {
                self.leftovers.written(header.id);
            }
            StoredState::Optimistic => {
                if let Some(entry) = self.tree.get_mut(Place::of(&header)) {
                    entry.storage = Storage::Optimistic;
                    if let Progress::Executed(executed) = &mut entry.progress {
                        executed.delta = None;
                    }
                }
            }
        }
    }

    /// The block is durable and certified.
    fn commit(&mut self, place: Place) {
        let Some(certified) = self.certified.remove(&place.height) else { return };
        let Some(Entry { block, progress: Progress::Executed(executed), .. }) =
            self.tree.remove(place)
        else {
            return;
        };
        let slot = block.header.slot;
        self.ordered.remove(&place.height);
        self.tip = Committed { height: place.height, block: place.block, roots: executed.roots };
        self.tip_view = executed.view;
        let value = self.values.get(&slot).copied().filter(|_| block.has_tail());
        self.values.retain(|other, _| *other > slot);
        self.votes.retain(|other, _| other.height > place.height);
        if self.config.role == Role::Validator {
            self.effect(Effect::Deliver(Box::new(Delivery { block, value, certified })));
        }
        self.effect(Effect::Committed(self.tip));
    }

    /// Compares what is certified at a height with what is here, as far as both are known.
    fn compare(&mut self, height: Height) {
        let Some(certified) = self.certified.get(&height) else { return };
        let ordered = self.ordered.get(&height).copied();
        let other_block = ordered.filter(|ordered| *ordered != certified.block);
        let computed = self.computed(Place { height, block: certified.block });
        let same = computed.is_none_or(|roots| roots.digest() == certified.digest);
        if other_block.is_some() || !same {
            let block = other_block.unwrap_or(certified.block);
            self.diverge(certified.clone(), block);
        }
    }

    /// The roots of a block, if it is executed.
    fn computed(&self, place: Place) -> Option<Roots> {
        self.tree.get(place).and_then(Entry::executed).map(|executed| executed.roots)
    }

    fn diverge(&mut self, certified: Certified<C>, block: BlockId) {
        let computed = self.computed(Place { height: certified.height, block });
        let evidence = Divergence { certified, block, computed };
        self.keep(Record::Diverged(evidence.clone()));
        self.stop(Stop::Diverged(Box::new(evidence)));
    }

    /// The last effect: nothing follows.
    fn stop(&mut self, why: Stop<C>) {
        self.stopped = true;
        self.outputs.push_back(Output::Do(Effect::Stopped(why)));
    }

    /// Takes blocks out of the tree that will not be ordered, and has the store forget them.
    fn drop_blocks(&mut self, places: BTreeSet<Place>) {
        for place in places {
            if let Some(entry) = self.tree.remove(place) {
                self.leftovers.take(entry.block.header, entry.storage);
            }
        }
    }

    pub(crate) const fn tip_place(&self) -> Place {
        Place { height: self.tip.height, block: self.tip.block }
    }

    pub(crate) fn effect(&mut self, effect: Effect<X, C>) {
        if !self.stopped {
            self.outputs.push_back(Output::Do(effect));
        }
    }

    pub(crate) fn keep(&mut self, record: Record<C>) {
        if !self.stopped {
            self.outputs.push_back(Output::Keep(record));
        }
    }
}

fn check_limits(config: &Config) -> Result<(), StartError> {
    let limits = config.limits;
    let zero = [
        ("forks", limits.forks == 0),
        ("proposals", limits.proposals == 0),
        ("bytes", limits.bytes == 0),
        ("window", limits.window == 0),
    ];
    match zero.into_iter().find(|(_, zero)| *zero) {
        Some((what, _)) => Err(StartError::Limit { what }),
        None => Ok(()),
    }
}
