//! DISPEL with one mistake, the same at every party. It shows that a campaign finds mistakes.
//!
//! The engine is the real one. The code around it spoils what goes in, what comes out, or what is on the disk.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;

use ::prefinal_dispel::{Record, StageTally};
use prefinal_engine::{Block, Effect, Input, Output};
use prefinal_protocol::{Value, View};
use prefinal_validator::setup::Setup;

use super::super::arena::Start;
use super::super::corrupt::Committees;
use super::*;
use crate::legible::{Act, ReadableEngine};

/// What the parties do wrong, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// None: what happens is the same as without the code around the engine.
    Nothing,
    /// Prefinalizes with its last votes, whatever others have proposed.
    IgnoresProposals,
    /// Prefinalizes a step early, with its proposals.
    ForgetsLastVote,
    /// Reports a stage as final with its last votes, without those of others.
    FinalizesAlone,
    /// One party's vote of this kind is taken for everybody's.
    CountsOneAsAll(VoteKind),
    /// What one party says was decided is believed.
    BelievesOne,
    /// Begins again without its votes.
    LosesVotes,
    /// Begins again without its batches of stages that are not reported.
    LosesBatches,
    /// What it writes is on the disk behind what it sends.
    WritesLate,
    /// Orders the batches of a stage from its own on.
    OrdersFromItself,
    /// Names a block by itself.
    NamesByItself,
    /// Reports a stage behind the next one.
    SwapsStages,
    /// Does not report the third stage.
    SkipsStage,
    /// Orders the first transaction of a block at its end again.
    OrdersTwice,
    /// Gives nobody the batches that they lack.
    AnswersNoRequest,
    /// Tells nobody what was missed.
    AnswersNoStatus,
    /// Accuses a party that asks it.
    AccusesWhoAsks,
}

/// The kinds of votes that a quorum is needed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VoteKind {
    Echo,
    Ready,
    Estimate,
    Auxiliary,
}

impl VoteKind {
    fn of(step: &Step) -> Option<Self> {
        Some(match step {
            Step::Echo(_) => Self::Echo,
            Step::Ready(_) => Self::Ready,
            Step::Estimate { .. } => Self::Estimate,
            Step::Auxiliary { .. } => Self::Auxiliary,
            Step::Coordinate { .. } => return None,
        })
    }
}

/// An engine with a mistake.
pub(super) struct Mistaken {
    inner: Dispel,
    me: Party,
    stakes: Vec<Stake>,
    mistake: Mistake,
    ready: VecDeque<Output<Self>>,
    held: VecDeque<Output<Self>>,
    /// In each stage, this party's votes as if all others had cast them too.
    own: BTreeMap<Slot, StageTally>,
    /// What these make final.
    values: BTreeMap<Slot, Value>,
    /// The first stage that is not reported.
    next: Slot,
}

/// The same effect in the types of the engine with a mistake.
fn translated(effect: Effect<Dispel>) -> Effect<Mistaken> {
    match effect {
        Effect::Send { to, message } => Effect::Send { to, message },
        Effect::Run(never) => match never {},
        Effect::Proposed { slot, parent, block } => Effect::Proposed { slot, parent, block },
        Effect::Prefinalized { slot, view, value } => Effect::Prefinalized { slot, view, value },
        Effect::Carried { from, partial } => Effect::Carried { from, partial },
        Effect::Finalized { slot, block } => Effect::Finalized { slot, block },
        Effect::Abandoned { view } => Effect::Abandoned { view },
        Effect::Accused { party, fault } => Effect::Accused { party, fault },
        Effect::Refused(why) => Effect::Refused(why),
    }
}

/// Proposed bits as if they were the last votes, and batches that are here as if all had them.
fn hurried(steps: &[Step]) -> Vec<Step> {
    let last = |step: &Step| match step {
        Step::Estimate { round: 1, own: true, bits } => {
            let none = Vec::new;
            let ones = BitMaps::new(none(), bits.ones().to_vec());
            let zeros = BitMaps::new(bits.zeros().to_vec(), none());
            vec![
                Step::Auxiliary { round: 1, bits: ones },
                Step::Auxiliary { round: 2, bits: zeros },
            ]
        }
        Step::Echo(list) => vec![Step::Ready(list.clone())],
        _ => Vec::new(),
    };
    steps.iter().flat_map(last).collect()
}

impl Mistaken {
    /// A way to start it; `start` starts the real one in a committee of these stakes.
    pub(super) fn start(mistake: Mistake, stakes: Vec<Stake>, start: Start<Dispel>) -> Start<Self> {
        Box::new(move |me, mut records| {
            let reported = records.iter().filter_map(|record| match record {
                Record::Finalized(stage) => Some(stage.next()),
                _ => None,
            });
            let next = reported.max().unwrap_or(Slot::new(1));
            records.retain(|record| match record {
                Record::Said { .. } => mistake != Mistake::LosesVotes,
                Record::Stored { stage, proposer, .. } if *stage >= next => {
                    mistake != Mistake::LosesBatches || *proposer != me
                }
                _ => true,
            });
            let (inner, past) = start(me, records)?;
            let engine = Self {
                inner,
                me,
                stakes: stakes.clone(),
                mistake,
                ready: VecDeque::new(),
                held: VecDeque::new(),
                own: BTreeMap::new(),
                values: BTreeMap::new(),
                next,
            };
            Ok((engine, past))
        })
    }

    fn say(&mut self, effect: Effect<Self>) {
        self.ready.push_back(Output::Do(effect));
    }

    fn others(&self) -> impl Iterator<Item = Party> + use<> {
        let me = self.me;
        (0..).map(Party::new).take(self.stakes.len()).filter(move |party| *party != me)
    }

    /// What leaves in place of this output.
    fn spoil(&mut self, output: Output<Self>) {
        let effect = match output {
            Output::Do(effect) => effect,
            Output::Keep(record) if self.mistake == Mistake::WritesLate => {
                return self.held.push_back(Output::Keep(record));
            }
            record => {
                if let Output::Keep(Record::Said { stage, steps }) = &record {
                    self.count(*stage, steps);
                }
                return self.ready.push_back(record);
            }
        };
        match effect {
            Effect::Finalized { slot, block: Some(block) } => self.report(slot, block),
            Effect::Prefinalized { .. }
                if matches!(self.mistake, Mistake::IgnoresProposals | Mistake::ForgetsLastVote) => {
            }
            // It would notice its own mistake.
            Effect::Accused { .. } if matches!(self.mistake, Mistake::CountsOneAsAll(_)) => {}
            effect => self.say(effect),
        }
    }

    /// Counts this party's votes as if they were all that there are.
    fn count(&mut self, stage: Slot, steps: &[Step]) {
        let others = self.others().collect();
        let Some(tally) = StageTally::new(&self.stakes, others) else { return };
        let tally = self.own.entry(stage).or_insert(tally);
        let is_early = self.mistake == Mistake::ForgetsLastVote;
        tally.take(self.me, &if is_early { hurried(steps) } else { steps.to_vec() });
        let Some(value) = tally.value(self.inner.context(), stage) else { return };
        if self.values.insert(stage, value).is_some() {
            return;
        }
        match self.mistake {
            Mistake::IgnoresProposals | Mistake::ForgetsLastVote => {
                let view = View::new(stage, 0);
                self.ready.push_front(Output::Do(Effect::Prefinalized {
                    slot: stage,
                    view,
                    value,
                }));
            }
            Mistake::FinalizesAlone => self.report_alone(),
            _ => {}
        }
    }

    /// Without transactions, for batches may be missing.
    fn report_alone(&mut self) {
        while let Some(value) = self.values.get(&self.next).copied() {
            let block = Block { value, transactions: Vec::new() };
            self.say(Effect::Finalized { slot: self.next, block: Some(block) });
            self.next = self.next.next();
        }
    }

    /// A stage is final.
    fn report(&mut self, slot: Slot, mut block: Block) {
        match self.mistake {
            Mistake::FinalizesAlone => {
                self.values.entry(slot).or_insert(block.value);
                return self.report_alone();
            }
            Mistake::OrdersFromItself => {
                let length = block.transactions.len().max(1);
                block.transactions.rotate_left(self.me.index() % length);
            }
            Mistake::NamesByItself => {
                let bytes = block.value.to_bytes();
                let me = u8::try_from(self.me.get()).unwrap_or(u8::MAX);
                block.value = Value::new(bytes.map(|byte| byte ^ me));
            }
            Mistake::SkipsStage if slot == Slot::new(3) => return,
            Mistake::OrdersTwice => {
                let first = block.transactions.first().cloned();
                block.transactions.extend(first);
            }
            _ => {}
        }
        let report = Output::Do(Effect::Finalized { slot, block: Some(block) });
        let waits = self.mistake == Mistake::SwapsStages && slot.get() % 2 == 1;
        if waits {
            return self.held.push_back(report);
        }
        self.ready.push_back(report);
        self.ready.append(&mut self.held);
    }

    /// Gives the real engine what this one takes a message for.
    fn misread(&mut self, now: Instant, from: Party, message: &Message) {
        let taken = match (self.mistake, message) {
            (Mistake::CountsOneAsAll(kind), Message::Votes { stage, steps }) => {
                let taken = steps.iter().filter(|step| VoteKind::of(step) == Some(kind));
                let steps: Vec<Step> = taken.cloned().collect();
                (!steps.is_empty()).then_some(Message::Votes { stage: *stage, steps })
            }
            (Mistake::BelievesOne, Message::Decided { .. }) => Some(message.clone()),
            _ => None,
        };
        for (from, message) in self.others().filter(|one| *one != from).zip(taken.iter().cycle()) {
            let message = message.clone();
            Engine::handle(&mut self.inner, now, Input::Received { from, message });
        }
    }
}

impl Engine for Mistaken {
    type Message = Message;
    type Record = Record;
    type Job = Infallible;
    type Verdict = Infallible;

    const FAST_ATTEMPT: Option<u32> = Dispel::FAST_ATTEMPT;
    const QUORUM: Quorum = Dispel::QUORUM;

    fn handle(&mut self, now: Instant, input: Input<Self>) {
        let input = match input {
            Input::Start => Input::Start,
            Input::Received { from, message } => {
                match (self.mistake, &message) {
                    (Mistake::AnswersNoRequest, Message::Request { .. })
                    | (Mistake::AnswersNoStatus, Message::Status { .. }) => return,
                    (Mistake::AccusesWhoAsks, Message::Request { .. }) => {
                        let fault = "asks".to_owned();
                        self.say(Effect::Accused { party: from, fault });
                    }
                    _ => self.misread(now, from, &message),
                }
                Input::Received { from, message }
            }
            Input::Submit(bytes) => Input::Submit(bytes),
            Input::Checked(never) => match never {},
            Input::Tick => Input::Tick,
        };
        Engine::handle(&mut self.inner, now, input);
    }

    fn poll(&mut self) -> Option<Output<Self>> {
        while self.ready.is_empty() {
            let Some(output) = Engine::poll(&mut self.inner) else {
                let waits = self.mistake == Mistake::SwapsStages;
                return if waits { None } else { self.held.pop_front() };
            };
            self.spoil(output.map(|record| record, translated));
        }
        self.ready.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        Engine::wake_at(&self.inner)
    }
}

impl ReadableEngine for Mistaken {
    type Memo = ();

    fn naming(setup: &Setup) -> Option<[u8; 32]> {
        Dispel::naming(setup)
    }

    fn written(me: Party, record: &Record, context: &[u8; 32]) -> Option<Act> {
        Dispel::written(me, record, context)
    }

    fn sent(message: &Message, context: &[u8; 32]) -> Option<Act> {
        Dispel::sent(message, context)
    }

    fn run((): &mut (), job: &Infallible) -> Infallible {
        match *job {}
    }
}

/// Faulty parties do what they do to the real engine.
impl Corruptible for Mistaken {
    type Committee = Names;
    type Overheard = ();
    type Vice = Vice;

    const LOADED: bool = Dispel::LOADED;
    const ORDERS_ONCE: bool = Dispel::ORDERS_ONCE;

    fn committee(context: &Context, members: Vec<Member<Verified<PublicKey>>>) -> Option<Names> {
        Dispel::committee(context, members)
    }

    fn rules<M: Envelope<Message>>(
        conspiracy: &Rc<Conspiracy<Self>>,
        me: Party,
        tally: &Rc<RefCell<Tally>>,
    ) -> Rules<M> {
        let Committees { first, all } = &conspiracy.committees;
        let same = Conspiracy::<Dispel> {
            seed: conspiracy.seed,
            faulty: conspiracy.faulty.clone(),
            seating: conspiracy.seating.clone(),
            committees: Committees { first: *first, all: all.clone() },
            overheard: RefCell::default(),
            given: conspiracy.given.clone(),
            heals: conspiracy.heals,
        };
        Dispel::rules(&Rc::new(same), me, tally)
    }
}
