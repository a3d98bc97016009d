//! One replica under an open load: its engine, what clients send it, and what becomes of blocks.
//!
//! Bundles come at a steady rate, whatever becomes of those before. As many may be on their way as the window holds;
//! more are discarded, so that under too high a load a transaction waits for its order and not for ever. A block is
//! worked off on the workers, one after the other, and then it is delivered.
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_engine::{Effect as EngineEffect, Input as EngineInput};
use prefinal_protocol::{Instant, Machine, Output, Recipient, Slot};

use super::carrier::{Carrier, Phase};

/// What a replica is told.
pub(super) enum Input<E: Carrier> {
    Start,
    Received {
        from: Party,
        message: E::Message,
    },
    Checked(E::Verdict),
    /// A part of the block that is being worked off is done.
    Worked,
    /// The network is idle.
    Idle,
    Tick,
}

/// What a replica wants done.
pub(super) enum Effect<E: Carrier> {
    Send {
        to: Recipient<Party>,
        message: E::Message,
    },
    Check(E::Job),
    /// Work off one worker's share of a block with so many bundles.
    Work(usize),
    /// A client's bundle was taken.
    Submitted,
    /// A block with so many bundles was reported.
    Ordered(usize),
    /// A block is delivered. Own bundles in it were submitted then.
    Delivered(Vec<Instant>),
    /// How long a slot took from one phase to the next.
    Phases(Vec<Duration>),
    Accused(Party),
}

/// What clients send to a replica.
#[derive(Clone, Copy)]
pub(super) struct Source {
    /// When the first bundle comes.
    pub(super) first: Instant,
    /// Time from one bundle to the next.
    pub(super) interval: Duration,
    /// Bundles that may be on their way.
    pub(super) window: usize,
    /// Those of them that may wait to be proposed.
    pub(super) waiting: usize,
}

/// What the replica has for blocks.
#[derive(Clone, Copy)]
pub(super) struct Means {
    /// Stages that the memory holds, if the engine asks.
    pub(super) stages: u64,
    /// Workers that blocks are worked off on; none if there is no work.
    pub(super) workers: usize,
}

/// A block that is reported and not delivered.
struct Reported {
    bundles: usize,
    /// When own bundles in it were submitted.
    since: Vec<Instant>,
}

/// An engine with its clients.
pub(super) struct Fed<E: Carrier> {
    engine: E,
    me: Party,
    source: Source,
    means: Means,
    next_at: Instant,
    number: u64,
    came: u64,
    /// Own bundles on their way, and when each was submitted.
    open: BTreeMap<u64, Instant>,
    /// Own bundles that were submitted and not proposed.
    waiting: usize,
    pub(super) discarded: u64,
    /// Whether the engine has refused the last bundle.
    is_busy: bool,
    blocks: VecDeque<Reported>,
    /// Parts of the first block that are being worked off.
    working: usize,
    phases: BTreeMap<Slot, Vec<Instant>>,
    now: Instant,
    effects: VecDeque<Effect<E>>,
}

impl<E: Carrier> Fed<E> {
    pub(super) fn new(engine: E, me: Party, source: Source, means: Means) -> Self {
        Self {
            engine,
            me,
            source,
            means,
            next_at: source.first,
            number: 0,
            came: 0,
            open: BTreeMap::new(),
            waiting: 0,
            discarded: 0,
            is_busy: false,
            blocks: VecDeque::new(),
            working: 0,
            phases: BTreeMap::new(),
            now: Instant::START,
            effects: VecDeque::new(),
        }
    }

    /// Bundles that came, with those that were discarded.
    pub(super) const fn came(&self) -> u64 {
        self.came
    }

    fn bundle(&self, number: u64) -> Vec<u8> {
        let mut bytes = self.me.get().to_be_bytes().to_vec();
        bytes.extend(number.to_be_bytes());
        bytes
    }

    /// The number of an own bundle.
    fn number(&self, bundle: &[u8]) -> Option<u64> {
        let (me, number) = bundle.split_first_chunk()?;
        let number = number.try_into().ok().map(u64::from_be_bytes);
        number.filter(|_| u32::from_be_bytes(*me) == self.me.get())
    }

    fn tell(&mut self, input: EngineInput<E>) {
        self.engine.handle(self.now, input);
        self.drain();
    }

    /// Submits what clients have sent by now.
    fn feed(&mut self) {
        while self.next_at <= self.now {
            let at = self.next_at;
            self.came = self.came.saturating_add(1);
            self.next_at = at + self.source.interval;
            let Source { window, waiting, .. } = self.source;
            if self.open.len() >= window || self.waiting >= waiting {
                self.discarded = self.discarded.saturating_add(1);
                continue;
            }
            self.open.insert(self.number, at);
            self.waiting = self.waiting.saturating_add(1);
            self.effects.push_back(Effect::Submitted);
            let (number, bundle) = (self.number, self.bundle(self.number));
            self.number = self.number.saturating_add(1);
            self.tell(EngineInput::Submit(bundle));
            if std::mem::take(&mut self.is_busy) {
                self.open.remove(&number);
                self.waiting = self.waiting.saturating_sub(1);
                self.discarded = self.discarded.saturating_add(1);
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.engine.poll() {
            // No crash is played that a replica comes back from, so nothing is read again.
            let Output::Do(effect) = output else { continue };
            let effect = match effect {
                EngineEffect::Send { to, message } => {
                    self.note(&message);
                    Effect::Send { to, message }
                }
                EngineEffect::Run(job) => Effect::Check(job),
                EngineEffect::Finalized { slot, block } => {
                    self.report(slot, block);
                    continue;
                }
                EngineEffect::Accused { party, .. } => Effect::Accused(party),
                // What it proposed and was not ordered waits again, and others find no room.
                EngineEffect::Refused(_) => {
                    self.is_busy = true;
                    continue;
                }
                _ => continue,
            };
            self.effects.push_back(effect);
        }
    }

    /// Notes when this replica comes to a phase of a slot.
    fn note(&mut self, message: &E::Message) {
        let Some((slot, phase)) = E::phase(message) else { return };
        let times = self.phases.entry(slot).or_default();
        let expected = match phase {
            Phase::Proposed => 0,
            Phase::Delivered => 1,
            Phase::Voted => 2,
        };
        // Messages are said again.
        if times.len() != expected {
            return;
        }
        times.push(self.now);
        if phase == Phase::Proposed {
            self.waiting = self.waiting.saturating_sub(E::bundles(message).unwrap_or(0));
        }
    }

    fn report(&mut self, slot: Slot, block: Option<prefinal_engine::Block>) {
        let transactions = block.map(|block| block.transactions).unwrap_or_default();
        let own = transactions.iter().filter_map(|one| self.number(one));
        let own: Vec<u64> = own.collect();
        let since = own.iter().filter_map(|number| self.open.remove(number)).collect();
        let bundles = transactions.len();
        if let Some(mut times) = self.phases.remove(&slot)
            && bundles > 0
            && times.len() == 3
        {
            times.push(self.now);
            let each = times.windows(2).filter_map(|pair| match pair {
                [from, to] => Some(to.since(*from)),
                _ => None,
            });
            self.effects.push_back(Effect::Phases(each.collect()));
        }
        self.phases = self.phases.split_off(&slot);
        self.effects.push_back(Effect::Ordered(bundles));
        self.blocks.push_back(Reported { bundles, since });
        self.work();
    }

    /// Works off the first block, if none is being worked off, and delivers what is done.
    fn work(&mut self) {
        while self.working == 0
            && let Some(first) = self.blocks.front()
        {
            let bundles = first.bundles;
            if self.means.workers == 0 || bundles == 0 {
                self.deliver();
                continue;
            }
            self.working = self.means.workers;
            let shares = std::iter::repeat_with(|| Effect::Work(bundles));
            self.effects.extend(shares.take(self.means.workers));
        }
        if self.means.workers > 0 {
            let held = u64::try_from(self.blocks.len()).unwrap_or(u64::MAX);
            self.engine.room(self.now, self.means.stages.saturating_sub(held));
        }
    }

    fn deliver(&mut self) {
        let Some(first) = self.blocks.pop_front() else { return };
        self.effects.push_back(Effect::Delivered(first.since));
    }
}

impl<E: Carrier> Machine for Fed<E> {
    type Input = Input<E>;
    type Record = ();
    type Effect = Effect<E>;

    fn handle(&mut self, now: Instant, input: Input<E>) {
        self.now = now;
        match input {
            Input::Start => {
                self.engine.room(now, self.means.stages);
                self.tell(EngineInput::Start);
            }
            Input::Received { from, message } => {
                self.tell(EngineInput::Received { from, message });
            }
            Input::Checked(verdict) => self.tell(EngineInput::Checked(verdict)),
            Input::Worked => {
                self.working = self.working.saturating_sub(1);
                if self.working == 0 {
                    self.deliver();
                    self.work();
                }
            }
            Input::Idle if self.waiting > 0 => self.engine.idle(now),
            Input::Idle => {}
            Input::Tick => self.tell(EngineInput::Tick),
        }
        self.feed();
        self.drain();
    }

    fn poll(&mut self) -> Option<Output<(), Effect<E>>> {
        self.effects.pop_front().map(Output::Do)
    }

    fn wake_at(&self) -> Option<Instant> {
        [self.engine.wake_at(), Some(self.next_at)].into_iter().flatten().min()
    }
}
