//! A chain as small as it can be: one seat puts messages into an order and sends it to everybody, who
//! misses a part asks for it again. Parties are real machines with real cryptography.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_protocol::{Instant, Machine, Recipient};
use prefinal_crypto_core::bls::min_sig;
use prefinal_sim::{Host, Network, Seat, Setup, Simulation, Step};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::key::DecryptionKey;
use crate::protocol::{
    Abort, Claim, ClaimVerdict, Collect, Effect, Evidence, Fault, Input, Job, Keygen, Keys,
    Position, Ready, Record, Refusal, Role, Verdict, judge,
};

pub(super) const fn ms(time: u64) -> Instant {
    Instant::at(Duration::from_millis(time))
}

/// What everybody is, and what each one alone knows; the sequencer has the seat behind them.
pub(super) struct World<C: Collect> {
    pub(super) blank: C,
    pub(super) seats: Vec<Insider<C>>,
    /// When the order ends.
    pub(super) end: Option<Instant>,
    pub(super) seed: u64,
    /// What one party has judged, others need not.
    pub(super) judged: BTreeMap<Vec<u8>, ClaimVerdict<C::Dealing>>,
}

pub(super) struct Insider<C: Collect> {
    pub(super) role: Role,
    pub(super) signer: min_sig::SecretKey,
    pub(super) decryption: DecryptionKey,
    pub(super) held: C::DealerInput,
}

impl<C: Collect> Insider<C> {
    /// A job with the keys as they are on the disk, where shares are never stored in these tests.
    pub(super) fn run(&self, job: &Job<C>, rng: &mut ChaCha20Rng) -> Verdict<C> {
        let decryption = &mut Some(self.decryption.copy());
        job.run(&mut Keys { signer: &self.signer, decryption, held: &self.held }, rng)
    }
}

#[derive(Clone)]
pub(super) enum Message {
    Submit(Arc<[u8]>),
    /// None is the end.
    Ordered(u64, Option<Arc<[u8]>>),
    Fetch(u64),
}

pub(super) enum ChainEvent<C: Collect> {
    Start,
    From(Seat, Message),
    Machine(Input<C>),
    /// A Byzantine seat has this ordered.
    Say(Vec<u8>),
    Tick,
}

pub(super) enum Event<C: Collect> {
    Accused(Fault, Arc<Evidence>),
    Ignored(Refusal),
    Ready(Box<Ready<C>>),
    Aborted(Abort),
}

pub(super) enum Act<C: Collect> {
    Machine(Effect<C>),
    Send(Recipient<Seat>, Message),
}

/// Both kinds of machines.
pub(super) struct Node<C: Collect> {
    pub(super) keygen: Option<Keygen<C>>,
    /// The sequencer's.
    pub(super) log: Vec<Option<Arc<[u8]>>>,
    end: Option<Instant>,
    /// The party's next position, and what came too early.
    next: u64,
    early: BTreeMap<u64, Option<Arc<[u8]>>>,
    acts: VecDeque<::prefinal_protocol::Output<Record, Act<C>>>,
}

impl<C: Collect> Node<C> {
    fn sequence(&mut self, from: Seat, message: Message) {
        match message {
            Message::Submit(message) if !self.log.contains(&None) => {
                self.append(Some(message));
            }
            Message::Fetch(first) => {
                let missed = self.log.iter().enumerate().skip(usize::try_from(first).unwrap());
                for (position, message) in missed {
                    let message = Message::Ordered(position.try_into().unwrap(), message.clone());
                    self.acts.push_back(::prefinal_protocol::Output::Do(Act::Send(
                        Recipient::One(from),
                        message,
                    )));
                }
            }
            _ => {}
        }
    }

    fn append(&mut self, message: Option<Arc<[u8]>>) {
        let position = self.log.len().try_into().unwrap();
        self.log.push(message.clone());
        let message = Message::Ordered(position, message);
        self.acts.push_back(::prefinal_protocol::Output::Do(Act::Send(Recipient::All, message)));
    }

    fn follow(&mut self, from: Seat, position: u64, message: Option<Arc<[u8]>>) {
        if position > self.next && self.early.is_empty() {
            self.acts.push_back(::prefinal_protocol::Output::Do(Act::Send(
                Recipient::One(from),
                Message::Fetch(self.next),
            )));
        }
        self.early.insert(position, message);
        while let Some(message) = self.early.remove(&self.next) {
            let position = Position::new(self.next);
            self.next += 1;
            let input =
                message.map_or(Input::Ended, |message| Input::Ordered { position, message });
            self.keygen.as_mut().unwrap().handle(Instant::START, input);
        }
        self.early.retain(|position, _| *position > self.next);
    }
}

impl<C: Collect> Machine for Node<C> {
    type Input = ChainEvent<C>;
    type Record = Record;
    type Effect = Act<C>;

    fn handle(&mut self, now: Instant, input: ChainEvent<C>) {
        match (input, &mut self.keygen) {
            (ChainEvent::Start, Some(keygen)) => {
                keygen.handle(now, Input::Start);
                // The sequencer is the last seat; everybody else ignores this.
                self.acts.push_back(::prefinal_protocol::Output::Do(Act::Send(
                    Recipient::All,
                    Message::Fetch(self.next),
                )));
            }
            (ChainEvent::From(from, Message::Ordered(position, message)), Some(_)) => {
                self.follow(from, position, message);
            }
            (ChainEvent::Say(message), _) => {
                self.acts.push_back(::prefinal_protocol::Output::Do(Act::Machine(Effect::Submit(
                    message.into(),
                ))));
            }
            (ChainEvent::Machine(input), Some(keygen)) => keygen.handle(now, input),
            (ChainEvent::From(from, message), None) => self.sequence(from, message),
            (ChainEvent::Tick, None) if self.end.take().is_some() => self.append(None),
            _ => {}
        }
        if let Some(keygen) = &mut self.keygen {
            while let Some(output) = keygen.poll() {
                self.acts.push_back(output.map(|record| record, Act::Machine));
            }
        }
    }

    fn poll(&mut self) -> Option<::prefinal_protocol::Output<Record, Act<C>>> {
        self.acts.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        self.end
    }
}

impl<C: Collect + 'static> Host for World<C> {
    type Machine = Node<C>;
    type Message = Message;
    type Job = Job<C>;
    type Verdict = Verdict<C>;
    type Event = Event<C>;

    fn boot(&mut self, seat: Seat, records: &[Record]) -> Node<C> {
        let party = self.seats.get(seat.index());
        // Over the wire, as from a disk.
        let bytes = borsh::to_vec(records).unwrap();
        let records: Vec<Record> = borsh::from_slice(&bytes).unwrap();
        let keygen = party.map(|party| {
            Keygen::new(self.blank.clone(), party.role, records).expect("own records")
        });
        let last = keygen.as_ref().and_then(|keygen| keygen.last());
        Node {
            end: self.end.filter(|_| keygen.is_none()),
            keygen,
            log: Vec::new(),
            next: last.map_or(0, |last| last.get() + 1),
            early: BTreeMap::new(),
            acts: VecDeque::new(),
        }
    }

    fn first_input(&mut self, _: Seat) -> Option<ChainEvent<C>> {
        Some(ChainEvent::Start)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Message) -> ChainEvent<C> {
        ChainEvent::From(from, message.clone())
    }

    fn checked(&mut self, _: Seat, verdict: Verdict<C>) -> ChainEvent<C> {
        ChainEvent::Machine(Input::Checked(verdict))
    }

    fn tick(&mut self, _: Seat) -> ChainEvent<C> {
        ChainEvent::Tick
    }

    fn carry_out(&mut self, act: Act<C>, step: &mut Step<'_, Self>) {
        let sequencer = Seat::new(self.seats.len().try_into().unwrap());
        match act {
            Act::Send(Recipient::All, fetch @ Message::Fetch(_)) => {
                step.send(Recipient::One(sequencer), fetch);
            }
            Act::Send(to, message) => step.send(to, message),
            Act::Machine(Effect::Submit(message)) => {
                step.send(Recipient::One(sequencer), Message::Submit(message));
            }
            Act::Machine(Effect::Run(job)) => step.run(job),
            Act::Machine(Effect::Counted { .. }) => {}
            Act::Machine(Effect::Accuse { fault, evidence }) => {
                step.note(Event::Accused(fault, evidence));
            }
            Act::Machine(Effect::Ignored(why)) => step.note(Event::Ignored(why)),
            Act::Machine(Effect::Ready(ready)) => step.note(Event::Ready(ready)),
            Act::Machine(Effect::Aborted(abort)) => step.note(Event::Aborted(abort)),
        }
    }

    fn run(&mut self, seat: Seat, job: Job<C>) -> (Verdict<C>, Duration) {
        // A party that deals again after a crash deals differently: only its records prevent that.
        self.seed += 1;
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        // Slow and fast parties take the same steps at other times.
        let cost = Duration::from_millis(1 + 7 * u64::from(seat.get()));
        let verdict = match &job {
            Job::Judge { blank, claims } => Verdict::Judged(self.judge(blank, claims)),
            job => self.seats[seat.index()].run(job, &mut rng),
        };
        (verdict, cost)
    }
}

impl<C: Collect> World<C> {
    pub(super) const fn new(blank: C, seats: Vec<Insider<C>>, seed: u64) -> Self {
        Self { blank, seats, end: None, seed, judged: BTreeMap::new() }
    }

    fn judge(&mut self, blank: &C, claims: &[Claim]) -> Vec<ClaimVerdict<C::Dealing>> {
        let name = |claim: &Claim| {
            let kind = [claim.payload().is_some(), claim.known].map(u8::from);
            [claim.id(), kind.to_vec()].concat()
        };
        let new = claims.iter().filter(|claim| !self.judged.contains_key(&name(claim)));
        let new: Vec<Claim> = new.cloned().collect();
        for (claim, verdict) in new.iter().zip(judge(blank, &new)) {
            self.judged.insert(name(claim), verdict);
        }
        claims.iter().map(|claim| self.judged[&name(claim)].clone()).collect()
    }
}

/// Parties and sequencer with delays that scatter.
pub(super) fn simulate<C: Collect + 'static>(
    world: World<C>,
    network: Network,
) -> Simulation<World<C>> {
    let seats = u32::try_from(world.seats.len()).unwrap() + 1;
    let seed = world.seed;
    let mut setup = Setup::new(seats, seed, network);
    setup.most_events = 200_000;
    Simulation::new(world, setup).unwrap()
}
