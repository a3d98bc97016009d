//! The simulator's host for any engine: one seat for each member, and one more for a twin.
//!
//! Messages are encoded and decoded, as over any link. A partial is offered between the prefinalization
//! and the next output, as [`Engine::carry`] requires. Statements that bind a party are noted when they
//! leave.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use borsh::BorshDeserialize;
use prefinal_engine::{Config, Effect, Engine, Input, Launch, Member, Pace, PastVotes};
use prefinal_protocol::{ChainId, Context, EpochId, Instant, Machine, Output, Party, Recipient};
use prefinal_sim::{EffectOf, InputOf, RecordOf, Seat, Step};
use prefinal_weighted_rounding::Stake;

use crate::event::{Event, OfferOutcome, Partial};
use crate::sample::{JobOf, MessageOf, Sample, VerdictOf};

/// Number of messages that are remembered, for a faulty party that repeats other parties' messages.
const OVERHEARD: usize = 4096;

/// The members of a play and the settings of their engines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committee {
    /// The stake of each member.
    pub stakes: Vec<u128>,
    /// How long an engine waits in an attempt.
    pub timeout: Duration,
    /// Limit of the transactions in a block, in bytes.
    pub max_block_bytes: usize,
}

impl Committee {
    /// Members with these stakes. Links should take about ten milliseconds.
    #[must_use]
    pub fn new(stakes: &[u128]) -> Self {
        let timeout = Duration::from_millis(500);
        Self { stakes: stakes.to_vec(), timeout, max_block_bytes: 1000 }
    }

    /// Every member, in the order of `stakes`.
    pub fn parties(&self) -> impl Iterator<Item = Party> + use<> {
        (0..u32::try_from(self.stakes.len()).unwrap_or(u32::MAX)).map(Party::new)
    }

    /// The stake of all members.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.stakes.iter().sum()
    }

    /// The stake of a member; zero if there is no such member.
    #[must_use]
    pub fn stake(&self, party: Party) -> u128 {
        self.stakes.get(party.index()).copied().unwrap_or(0)
    }

    /// The configuration that a member's engine is started with.
    pub fn config<S: Sample>(
        &self,
        sample: &S,
        me: Party,
    ) -> Config<<S::Engine as Launch>::PublicKey> {
        let member = |(party, stake): (Party, &u128)| Member {
            key: sample.public_key(party),
            stake: Stake::new(*stake),
        };
        Config {
            context: Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(0) },
            me,
            members: self.parties().zip(&self.stakes).map(member).collect(),
            timeout: self.timeout,
            pace: Pace::NONE,
            max_block_bytes: self.max_block_bytes,
        }
    }
}

/// An engine in its seat. There is no engine while its party is away.
pub struct Actor<E: Engine> {
    me: Party,
    engine: Option<E>,
    /// Events that are reported before anything else.
    first: VecDeque<Event>,
}

/// What an actor wants done.
pub enum Act<E: Engine> {
    /// Send a message of the engine to one member or to all others.
    Send(Recipient<Party>, E::Message),
    /// Run a job of the engine and bring it the verdict.
    Run(E::Job),
    /// Note for the watch what the party did.
    Tell(Event),
}

impl<E: Engine> Actor<E> {
    /// `None` for what no law is about: who works on a proposal early loses at most the work.
    fn act(&mut self, effect: Effect<E>) -> Option<Act<E>> {
        Some(Act::Tell(match effect {
            Effect::Send { to, message } => return Some(Act::Send(to, message)),
            Effect::Run(job) => return Some(Act::Run(job)),
            Effect::Proposed { .. } => return None,
            Effect::Prefinalized { slot, view, value } => {
                let partial = Partial { party: self.me, slot, view, value };
                Event::Prefinalized { partial, carriage: self.offer(&partial) }
            }
            Effect::Carried { from, partial } => Event::Carried { from, bytes: partial },
            Effect::Finalized { slot, block } => Event::Finalized { slot, block },
            Effect::Abandoned { view } => Event::Abandoned { view },
            Effect::Accused { party, fault } => Event::Accused { party, fault },
            Effect::Refused(why) => Event::Refused(why),
        }))
    }

    fn offer(&mut self, partial: &Partial) -> OfferOutcome {
        let bytes = borsh::to_vec(partial).unwrap_or_default();
        match self.engine.as_mut().map(|engine| engine.carry(bytes.clone())) {
            Some(Ok(())) => OfferOutcome::Taken,
            Some(Err(back)) if back != bytes => OfferOutcome::Altered,
            _ => OfferOutcome::Returned,
        }
    }
}

impl<E: Engine> Machine for Actor<E> {
    type Input = Input<E>;
    type Record = E::Record;
    type Effect = Act<E>;

    fn handle(&mut self, now: Instant, input: Input<E>) {
        if let Some(engine) = &mut self.engine {
            engine.handle(now, input);
        }
    }

    fn poll(&mut self) -> Option<Output<E::Record, Act<E>>> {
        if let Some(event) = self.first.pop_front() {
            return Some(Output::Do(Act::Tell(event)));
        }
        loop {
            return Some(match self.engine.as_mut()?.poll()? {
                Output::Keep(record) => Output::Keep(record),
                Output::Note(record) => Output::Note(record),
                Output::Do(effect) => match self.act(effect) {
                    Some(act) => Output::Do(act),
                    None => continue,
                },
            });
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        self.engine.as_ref()?.wake_at()
    }
}

/// Recent messages, each with its sender.
pub(crate) type Overheard<M> = Rc<RefCell<VecDeque<(Party, M)>>>;

/// The seats of a play, the party in each, and the parties that are away.
pub struct Host<'s, S: Sample> {
    sample: &'s S,
    committee: Committee,
    /// The party in each seat.
    parties: Vec<Party>,
    away: BTreeSet<Party>,
    adopted: BTreeMap<Party, Adopted<RecordOf<Self>>>,
    overheard: Overheard<MessageOf<S>>,
}

/// Records with which a party goes on behind what others have shown, and how many of its own come before them: all that
/// are there at its next start.
struct Adopted<R> {
    behind: Option<usize>,
    records: Vec<R>,
}

impl<'s, S: Sample> Host<'s, S> {
    /// A seat for each member, then one for each twin.
    pub fn new(sample: &'s S, committee: Committee, twins: &[Party]) -> Self {
        let parties = committee.parties().chain(twins.iter().copied()).collect();
        let overheard = Overheard::<MessageOf<S>>::default();
        let (away, adopted) = (BTreeSet::new(), BTreeMap::new());
        Self { sample, committee, parties, away, adopted, overheard }
    }

    /// Number of seats.
    #[must_use]
    pub fn seats(&self) -> u32 {
        u32::try_from(self.parties.len()).unwrap_or(u32::MAX)
    }

    /// The seats of a party: one, or two if it has a twin.
    pub fn seats_of(&self, party: Party) -> impl Iterator<Item = Seat> + '_ {
        let seats = (0..self.seats()).map(Seat::new).zip(&self.parties);
        seats.filter(move |(_, sits)| **sits == party).map(|(seat, _)| seat)
    }

    /// The party in this seat; a twin's seat has the party that it is a twin of.
    #[must_use]
    pub fn party(&self, seat: Seat) -> Party {
        self.parties.get(seat.index()).copied().unwrap_or(Party::new(u32::MAX))
    }

    /// The members' stakes, and what their engines are set to.
    #[must_use]
    pub const fn committee(&self) -> &Committee {
        &self.committee
    }

    /// Sets whether a party is away. It takes effect at the party's next start.
    pub fn set_away(&mut self, party: Party, away: bool) {
        if away {
            self.away.insert(party);
        } else {
            self.away.remove(&party);
        }
    }

    /// The party goes on with these records behind its own, from its next start on.
    pub(crate) fn adopt(&mut self, party: Party, records: Vec<RecordOf<Self>>) {
        self.adopted.insert(party, Adopted { behind: None, records });
    }

    pub(crate) fn overheard(&self) -> Overheard<MessageOf<S>> {
        Rc::clone(&self.overheard)
    }

    fn start(&self, me: Party, records: &[RecordOf<Self>]) -> Option<(S::Engine, PastVotes)> {
        let config = self.committee.config(self.sample, me);
        S::Engine::start(config, self.sample.secret_key(me), records.to_vec()).ok()
    }
}

impl<S: Sample> prefinal_sim::Host for Host<'_, S> {
    type Machine = Actor<S::Engine>;
    type Message = MessageOf<S>;
    type Job = JobOf<S>;
    type Verdict = VerdictOf<S>;
    type Event = Event;

    fn boot(&mut self, seat: Seat, records: &[RecordOf<Self>]) -> Actor<S::Engine> {
        let me = self.party(seat);
        let mut first = VecDeque::new();
        if self.away.contains(&me) {
            return Actor { me, engine: None, first };
        }
        let mut records = records.to_vec();
        if let Some(adopted) = self.adopted.get_mut(&me) {
            let behind = *adopted.behind.get_or_insert(records.len());
            records.splice(behind..behind, adopted.records.iter().cloned());
        }
        let engine = match (self.start(me, &records), self.start(me, &records)) {
            (Some((_, again)), Some((engine, past))) => {
                first.push_back(Event::Started { records: records.len(), past, again });
                Some(engine)
            }
            _ => {
                first.push_back(Event::Refused("it does not start".to_owned()));
                None
            }
        };
        Actor { me, engine, first }
    }

    fn first_input(&mut self, _: Seat) -> Option<InputOf<Self>> {
        Some(Input::Start)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &MessageOf<S>) -> InputOf<Self> {
        Input::Received { from: self.party(from), message: message.clone() }
    }

    fn checked(&mut self, _: Seat, verdict: VerdictOf<S>) -> InputOf<Self> {
        Input::Checked(verdict)
    }

    fn tick(&mut self, _: Seat) -> InputOf<Self> {
        Input::Tick
    }

    fn carry_out(&mut self, act: EffectOf<Self>, step: &mut Step<'_, Self>) {
        match act {
            Act::Send(to, message) => {
                if let Some(statement) = self.sample.statement(&message) {
                    step.note(Event::Said(statement));
                }
                let message = match through_bytes(&message) {
                    Ok(message) => message,
                    Err(why) => return step.note(Event::Refused(format!("not readable: {why}"))),
                };
                let mut overheard = self.overheard.borrow_mut();
                overheard.push_back((self.party(step.seat()), message.clone()));
                if overheard.len() > OVERHEARD {
                    overheard.pop_front();
                }
                match to {
                    Recipient::All => step.send(Recipient::All, message),
                    Recipient::One(party) => {
                        let seats: Vec<Seat> = self.seats_of(party).collect();
                        for seat in seats {
                            step.send(Recipient::One(seat), message.clone());
                        }
                    }
                }
            }
            Act::Run(job) => step.run(job),
            Act::Tell(event) => step.note(event),
        }
    }

    fn run(&mut self, _: Seat, job: JobOf<S>) -> (VerdictOf<S>, Duration) {
        (self.sample.run(&job), Duration::ZERO)
    }
}

fn through_bytes<M: borsh::BorshSerialize + BorshDeserialize>(message: &M) -> std::io::Result<M> {
    borsh::from_slice(&borsh::to_vec(message)?)
}
