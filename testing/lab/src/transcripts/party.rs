//! One party of a key generation: the engine, the transcripts that came, and how far it is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_engine::{Effect as EngineEffect, Input as EngineInput};
use prefinal_jolteon::Jolteon;
use prefinal_protocol::{Instant, Machine, Output, Recipient};
use prefinal_pvss_dkg::{Accepted, Dealing};

use super::{Agreement, TURN};

type Message = <Jolteon as prefinal_engine::Engine>::Message;
type EngineJob = <Jolteon as prefinal_engine::Engine>::Job;
type EngineVerdict = <Jolteon as prefinal_engine::Engine>::Verdict;

/// What parties send each other.
pub(super) enum Post {
    Engine(Message),
    Transcript(Arc<[u8]>),
}

/// What a party is told.
pub(super) enum Input {
    Start,
    Received(Party, Arc<Post>),
    Done(Done),
    Tick,
}

/// What takes time, and is done on a core beside the machine.
pub(super) enum Work {
    Engine(EngineJob),
    Deal,
    /// Decode and check a transcript.
    Judge(Arc<[u8]>),
    Sum(Vec<Arc<Accepted<Dealing>>>),
    /// Decode and check an aggregate.
    Check(Arc<[u8]>),
}

/// What came of the work.
pub(super) enum Done {
    Engine(EngineVerdict),
    Dealt(Arc<[u8]>),
    /// `None` if it is no transcript.
    Judged(Option<Arc<Accepted<Dealing>>>),
    Summed(Arc<[u8]>),
    /// Whether it is an aggregate of more than two thirds is in the type: `None` if not.
    Checked(Option<BTreeSet<Party>>),
}

/// What a party wants done.
pub(super) enum Effect {
    Send(Recipient<Party>, Post),
    Run(Work),
    /// Transactions of these lengths were ordered.
    Ordered(Vec<usize>),
    Reached(Stage),
    /// It has a key that these dealers made.
    Key(BTreeSet<Party>),
    Accused(Party),
}

/// How far a party is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Dealt,
    Arrived,
    Ordered,
    Summed,
    Key,
}

/// What every party of a run is told before.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) agreement: Agreement,
    pub(super) stakes: Arc<[u128]>,
}

impl Terms {
    /// Whether these parties hold more than this many thirds of the stake.
    fn exceeds(&self, parties: &BTreeSet<Party>, thirds: u128) -> bool {
        let stake = |party: &Party| self.stakes.get(party.index()).copied().unwrap_or(0);
        let got = parties.iter().map(stake).sum::<u128>();
        got.saturating_mul(3) > self.stakes.iter().sum::<u128>().saturating_mul(thirds)
    }

    /// Whether these dealers are enough.
    pub(super) fn suffice(&self, dealers: &BTreeSet<Party>) -> bool {
        let thirds = match self.agreement {
            Agreement::OneAggregate => 2,
            Agreement::EachDealing => 1,
        };
        self.exceeds(dealers, thirds)
    }
}

/// One party: its engine, the transcripts that it has, and how far it is.
pub(super) struct Maker {
    me: Party,
    engine: Jolteon,
    terms: Terms,
    now: Instant,
    /// Dealers whose transcript has come, or was ordered.
    came: BTreeSet<Party>,
    good: BTreeMap<Party, Arc<Accepted<Dealing>>>,
    is_summed: bool,
    has_key: bool,
    aggregate: Option<Arc<[u8]>>,
    /// When the own aggregate is to be submitted.
    submit_at: Option<Instant>,
    is_ordered: bool,
    effects: VecDeque<Effect>,
}

impl Maker {
    pub(super) fn new(me: Party, engine: Jolteon, terms: Terms) -> Self {
        Self {
            me,
            engine,
            terms,
            now: Instant::START,
            came: BTreeSet::new(),
            good: BTreeMap::new(),
            is_summed: false,
            has_key: false,
            aggregate: None,
            submit_at: None,
            is_ordered: false,
            effects: VecDeque::new(),
        }
    }

    fn tell(&mut self, input: EngineInput<Jolteon>) {
        prefinal_engine::Engine::handle(&mut self.engine, self.now, input);
        self.drain();
    }

    fn reach(&mut self, stage: Stage) {
        self.effects.push_back(Effect::Reached(stage));
    }

    fn drain(&mut self) {
        while let Some(output) = prefinal_engine::Engine::poll(&mut self.engine) {
            // No crash is played, so nothing is read again.
            let Output::Do(effect) = output else { continue };
            match effect {
                EngineEffect::Send { to, message } => {
                    self.effects.push_back(Effect::Send(to, Post::Engine(message)));
                }
                EngineEffect::Run(job) => self.effects.push_back(Effect::Run(Work::Engine(job))),
                EngineEffect::Finalized { block: Some(block), .. } => {
                    let lengths = block.transactions.iter().map(|one| one.len()).collect();
                    self.effects.push_back(Effect::Ordered(lengths));
                    block.transactions.into_iter().for_each(|one| self.ordered(one));
                }
                EngineEffect::Accused { party, .. } => {
                    self.effects.push_back(Effect::Accused(party));
                }
                _ => {}
            }
        }
    }

    /// Takes a transaction of a block that is final.
    fn ordered(&mut self, bytes: Arc<[u8]>) {
        match self.terms.agreement {
            // The first that is an aggregate counts; here all are.
            Agreement::OneAggregate if !self.is_ordered => {
                self.is_ordered = true;
                self.submit_at = None;
                self.reach(Stage::Ordered);
                self.effects.push_back(Effect::Run(Work::Check(bytes)));
            }
            Agreement::OneAggregate => {}
            Agreement::EachDealing => self.take(bytes, Stage::Ordered),
        }
    }

    /// A transcript has come, or was ordered: it is checked, unless there are enough.
    fn take(&mut self, bytes: Arc<[u8]>, enough: Stage) {
        let before = self.terms.suffice(&self.came);
        // Its dealer stands behind its version.
        let dealer = bytes.get(1..5).and_then(|dealer| dealer.try_into().ok());
        let Some(dealer) = dealer.map(u32::from_be_bytes).map(Party::new) else { return };
        if before || !self.came.insert(dealer) {
            return;
        }
        self.effects.push_back(Effect::Run(Work::Judge(bytes)));
        if self.terms.suffice(&self.came) {
            self.reach(enough);
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Engine(verdict) => self.tell(EngineInput::Checked(verdict)),
            Done::Dealt(bytes) => {
                self.reach(Stage::Dealt);
                match self.terms.agreement {
                    Agreement::EachDealing => self.tell(EngineInput::Submit(bytes.to_vec())),
                    Agreement::OneAggregate => {
                        let post = Post::Transcript(Arc::clone(&bytes));
                        self.effects.push_back(Effect::Send(Recipient::All, post));
                        self.take(bytes, Stage::Arrived);
                    }
                }
            }
            Done::Judged(Some(dealing)) => {
                self.good.insert(dealing.dealer(), dealing);
                let dealers: BTreeSet<Party> = self.good.keys().copied().collect();
                if !self.is_summed && self.terms.suffice(&dealers) {
                    self.is_summed = true;
                    let all = self.good.values().cloned().collect();
                    self.effects.push_back(Effect::Run(Work::Sum(all)));
                }
            }
            // Then another one counts.
            Done::Judged(None) => {}
            Done::Summed(bytes) => {
                self.reach(Stage::Summed);
                match self.terms.agreement {
                    Agreement::EachDealing => self.key(self.good.keys().copied().collect()),
                    Agreement::OneAggregate => {
                        self.aggregate = Some(bytes);
                        let turn = self.now + TURN * self.me.get();
                        self.submit_at = Some(turn).filter(|_| !self.is_ordered);
                    }
                }
            }
            Done::Checked(Some(dealers)) => self.key(dealers),
            // The next one counts.
            Done::Checked(None) => self.is_ordered = false,
        }
    }

    fn key(&mut self, dealers: BTreeSet<Party>) {
        if !std::mem::replace(&mut self.has_key, true) {
            self.reach(Stage::Key);
            self.effects.push_back(Effect::Key(dealers));
        }
    }
}

impl Machine for Maker {
    type Input = Input;
    type Record = ();
    type Effect = Effect;

    fn handle(&mut self, now: Instant, input: Input) {
        self.now = now;
        match input {
            Input::Start => {
                self.tell(EngineInput::Start);
                self.effects.push_back(Effect::Run(Work::Deal));
            }
            Input::Received(from, post) => match &*post {
                Post::Engine(message) => {
                    self.tell(EngineInput::Received { from, message: message.clone() });
                }
                Post::Transcript(bytes) => self.take(Arc::clone(bytes), Stage::Arrived),
            },
            Input::Done(done) => self.done(done),
            Input::Tick => self.tell(EngineInput::Tick),
        }
        if self.submit_at.is_some_and(|at| at <= now)
            && let Some(aggregate) = self.aggregate.take()
        {
            self.submit_at = None;
            self.tell(EngineInput::Submit(aggregate.to_vec()));
        }
    }

    fn poll(&mut self) -> Option<Output<(), Effect>> {
        self.effects.pop_front().map(Output::Do)
    }

    fn wake_at(&self) -> Option<Instant> {
        let engine = prefinal_engine::Engine::wake_at(&self.engine);
        [engine, self.submit_at].into_iter().flatten().min()
    }
}
