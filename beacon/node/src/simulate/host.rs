//! The committee as the simulator runs it: real machines, real cryptography, computed once.
//!
//! Parties of one committee compute the same things over and over: whether a vote is valid, whether
//! a partial is, what a slot's value is. Here the first who asks computes it and everybody is charged
//! for it in virtual time. What is looked up is what the work depends on, never who asks:
//!
//! | work                        | looked up under                                             |
//! |-----------------------------|-------------------------------------------------------------|
//! | what a message claims       | the engine's fingerprint of the work                        |
//! | a sum of votes              | each vote alone; a sum of valid votes is valid              |
//! | a dealing, blinded keys     | the transaction                                             |
//! | partials into a value       | each partial alone; any quorum of valid ones gives one value |
//!
//! Elsewhere: what is charged (`costs`), when things happen (`sim`).

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ::beacon::{Path, Slot};
use crypto_core::access::Party;
use machine::Instant;
use pvss_dkg::AggregateError;
use pvss_dkg::field::HandoverError;
use pvss_dkg::protocol::{self, Collect, Judged, Place};
use sha2::{Digest, Sha256};
use sim::{Host, Network, Note, Seat, Simulation, Step};

use super::costs::{Costs, Work};
use super::memo::Memo;
use crate::failure::Failure;
use crate::keygen;
use crate::scheme::{AdmittedKeys, Fixed, Keyed, Sum};
use crate::setup::{Algorithm, Identity, Setup};
use crate::validator::{Event, Input, Job, Message, Output, Recipient, Record, Validator, Verdict};
use crate::waits::Waits;

/// Virtual time after which a run has failed.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Where an experiment takes place.
pub(super) struct World {
    pub(super) network: Network,
    pub(super) costs: Costs,
    pub(super) cores: NonZeroU32,
    pub(super) seed: u64,
}

/// One committee, to be run more than once.
pub(super) struct Experiment<S: Keyed> {
    setup: Setup,
    identities: Vec<Arc<Identity>>,
    world: World,
    slots: u64,
    memos: Memos<S>,
}

/// What both runs share.
struct Memos<S: Keyed> {
    dealt: Memo<Party, Dealt>,
    judged: Memo<[u8; 32], Judged<<S::Collect as Collect>::Dealing>>,
    summed: Memo<BTreeSet<Place>, Result<Arc<Sum<S>>, AggregateError>>,
    fixed: Memo<[u8; 32], Result<Arc<Fixed<S>>, String>>,
    admitted: Memo<([u8; 32], [u8; 32]), Admitted<S>>,
}

type Dealt = Result<Vec<Vec<u8>>, HandoverError>;
type Admitted<S> = Result<Arc<AdmittedKeys<S>>, String>;

/// What a run showed.
pub(super) struct Outcome {
    pub(super) rows: Vec<Row>,
    pub(super) waits: Waits,
    pub(super) by_fast_path: usize,
    /// Virtual time from the start to the first value.
    pub(super) first_value: Duration,
    /// Mean virtual time from one final slot to the next.
    pub(super) slot_time: Duration,
    values: BTreeMap<Slot, [u8; 32]>,
}

/// One party's wait for one slot.
pub(super) struct Row {
    pub(super) slot: Slot,
    pub(super) party: Party,
    pub(super) path: Path,
    pub(super) wait: Duration,
}

/// What is noted of a run; proofs are dropped, 129 parties would fill the memory with them.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    Finalized(Slot),
    Revealed { slot: Slot, path: Path, randomness: [u8; 32] },
    Wrong(String),
}

struct Committee<'a, S: Keyed> {
    experiment: &'a Experiment<S>,
    setup: Arc<Setup>,
    votes: jolteon::Known,
    claims: BTreeMap<jolteon::Fingerprint, jolteon::Verdict>,
    partials: ::beacon::Known<S>,
}

impl<S: Keyed> Experiment<S> {
    pub(super) fn new(
        setup: Setup,
        identities: Vec<Arc<Identity>>,
        world: World,
        slots: u64,
    ) -> Self {
        let memos = Memos {
            dealt: Memo::default(),
            judged: Memo::default(),
            summed: Memo::default(),
            fixed: Memo::default(),
            admitted: Memo::default(),
        };
        Self { setup, identities, world, slots, memos }
    }

    /// Makes all dealings, on as many threads as there are cores: the runs would come to each at the
    /// same time, and one would wait for the other.
    pub(super) fn deal(&self) {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        std::thread::scope(|scope| {
            for first in 0..threads {
                scope.spawn(move || {
                    for identity in self.identities.iter().skip(first).step_by(threads) {
                        drop(self.dealt(&self.setup, identity));
                    }
                });
            }
        });
    }

    fn dealt(&self, setup: &Setup, identity: &Identity) -> Dealt {
        self.memos.dealt.get(identity.me, || keygen::deal::<S>(setup, identity))
    }

    /// One run: with the slow path alone, or with both.
    pub(super) fn run(&self, choice: Algorithm) -> Result<Outcome, Failure> {
        let mut setup = self.setup.clone();
        setup.fast_after = if choice == Algorithm::Slow { u64::MAX } else { 0 };
        let host = Committee {
            experiment: self,
            setup: Arc::new(setup),
            votes: jolteon::Known::default(),
            claims: BTreeMap::new(),
            partials: ::beacon::Known::default(),
        };
        let seats = u32::try_from(self.identities.len()).unwrap_or(u32::MAX);
        let mut world = sim::Setup::new(seats, self.world.seed, self.world.network.clone());
        world.cores = self.world.cores;
        let mut simulation = Simulation::new(host, world).map_err(Failure::bad_input)?;
        let wanted = self.slots.saturating_mul(u64::from(seats));
        let mut seen = 0_u64;
        let stop = simulation.run_watching(Instant::at(PATIENCE), |note| {
            seen += u64::from(matches!(note.event, Seen::Revealed { .. }));
            if seen >= wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if seen < wanted {
            let what = format!("{seen} of {wanted} values after {stop:?}");
            return Err(Failure::Disagreement(what));
        }
        self.outcome(simulation.notes())
    }

    /// Whether both runs, which have one key, gave every slot the same value.
    pub(super) fn compare(&self, one: &Outcome, other: &Outcome) -> Result<(), Failure> {
        for (slot, value) in &one.values {
            if other.values.get(slot).is_some_and(|other| other != value) {
                return Err(Failure::Disagreement(format!("{slot} differs between the paths")));
            }
        }
        Ok(())
    }

    fn outcome(&self, notes: &[Note<Seen>]) -> Result<Outcome, Failure> {
        let mut finalized = BTreeMap::new();
        let mut outcome = Outcome {
            rows: Vec::new(),
            waits: Waits::default(),
            by_fast_path: 0,
            first_value: Duration::ZERO,
            slot_time: Duration::ZERO,
            values: BTreeMap::new(),
        };
        for note in notes {
            let party = Party::new(note.seat.get());
            match &note.event {
                Seen::Finalized(slot) => drop(finalized.insert((*slot, party), note.at)),
                Seen::Revealed { slot, path, randomness } => {
                    let first = outcome.values.entry(*slot).or_insert(*randomness);
                    if first != randomness {
                        let what = format!("{slot}: {party} reveals another value");
                        return Err(Failure::Disagreement(what));
                    }
                    if outcome.rows.is_empty() {
                        outcome.first_value = note.at.since_start();
                    }
                    outcome.by_fast_path += usize::from(*path == Path::Fast);
                    let at = finalized.get(&(*slot, party)).copied().unwrap_or(note.at);
                    let row = Row { slot: *slot, party, path: *path, wait: note.at.since(at) };
                    outcome.rows.push(row);
                }
                Seen::Wrong(what) => {
                    return Err(Failure::Disagreement(format!("{party}: {what}")));
                }
            }
        }
        outcome.waits = outcome.rows.iter().map(|row| row.wait).collect();
        outcome.slot_time = self.slot_time(&finalized, &outcome.values);
        Ok(outcome)
    }

    /// As the first party saw it.
    fn slot_time(
        &self,
        finalized: &BTreeMap<(Slot, Party), Instant>,
        values: &BTreeMap<Slot, [u8; 32]>,
    ) -> Duration {
        let at = |slot: &Slot| finalized.get(&(*slot, Party::new(0))).copied();
        let ends = values.keys().next().and_then(at).zip(values.keys().next_back().and_then(at));
        let gaps = u32::try_from(values.len()).unwrap_or(u32::MAX).saturating_sub(1).max(1);
        ends.map_or(Duration::ZERO, |(first, last)| last.since(first) / gaps)
    }
}

impl<S: Keyed> Committee<'_, S> {
    fn identity(&self, seat: Seat) -> Arc<Identity> {
        let identities = &self.experiment.identities;
        // The simulation has as many seats as there are identities, at least one.
        let index = seat.index().min(identities.len().saturating_sub(1));
        identities.get(index).map_or_else(|| unreachable!("a committee has members"), Arc::clone)
    }

    fn cores(&self) -> u64 {
        self.experiment.world.cores.get().into()
    }

    /// Holders and shares of one path.
    fn shape(&self) -> (u64, u64) {
        let access = self.setup.keygen.shape().access();
        let holders = access.weights().iter().filter(|weight| **weight > 0).count();
        (u64::try_from(holders).unwrap_or(0), access.total().into())
    }

    /// Work for so many parties and shares in this committee.
    fn work(&self, parties: u64, shares: u64) -> Work {
        let shape = self.setup.keygen.shape();
        let heaviest = shape.access().weights().into_iter().max().unwrap_or(0);
        Work {
            scheme: S::NAME,
            parties,
            shares,
            paths: 1 + u64::from(shape.threshold(pvss_dkg::Path::Fast).is_some()),
            heaviest: heaviest.into(),
            cores: self.cores(),
        }
    }

    /// Work of one party for its shares.
    fn own_work(&self, party: Party) -> Work {
        self.work(1, self.setup.keygen.shape().access().weight(party).into())
    }

    fn run_engine(&mut self, job: &jolteon::Job) -> (jolteon::Verdict, Duration) {
        let costs = &self.experiment.world.costs;
        let jolteon::Work::Claims(claims) = job.work() else {
            return (job.run_knowing(&mut self.votes), costs.check_signature());
        };
        let checks = u32::try_from(claims.len()).unwrap_or(u32::MAX);
        let votes = &mut self.votes;
        let verdict =
            self.claims.entry(job.fingerprint()).or_insert_with(|| job.run_knowing(votes));
        (verdict.clone(), costs.check_signature() * checks)
    }

    fn run_keygen(&self, seat: Seat, job: &keygen::Job<S>) -> (keygen::Verdict<S>, Duration) {
        let identity = self.identity(seat);
        let (costs, memos) = (&self.experiment.world.costs, &self.experiment.memos);
        let (holders, shares) = self.shape();
        let own: u64 = self.setup.keygen.shape().access().weight(identity.me).into();
        match job {
            keygen::Job::Dealings(job) => {
                let (verdict, cost) = self.run_dealings(&identity, job);
                (keygen::Verdict::Dealings(verdict), cost)
            }
            keygen::Job::Fix { key, .. } => {
                let fixed =
                    memos.fixed.get(*key.name(), || match job.run(&self.setup, &identity) {
                        keygen::Verdict::Fixed(fixed) => fixed,
                        _ => Err("a job gave the verdict of another".to_owned()),
                    });
                (keygen::Verdict::Fixed(fixed), Duration::ZERO)
            }
            keygen::Job::Open { key } => {
                let dealings = u64::try_from(S::dealers(&key.sum).len()).unwrap_or(u64::MAX);
                (job.run(&self.setup, &identity), costs.open(dealings, self.work(1, own)))
            }
            keygen::Job::Admit { transactions, key } => {
                let admitted = transactions
                    .iter()
                    .map(|transaction| self.admit(&identity, transaction, key))
                    .collect();
                let many = u64::try_from(transactions.len()).unwrap_or(u64::MAX);
                // On average a key has its share of the shares.
                let shares = (shares * many).div_ceil(holders.max(1));
                let cost = costs.admit(self.work(many, shares));
                (keygen::Verdict::Admitted(admitted), cost)
            }
        }
    }

    fn run_dealings(
        &self,
        identity: &Identity,
        job: &protocol::Job<S::Collect>,
    ) -> (protocol::Verdict<S::Collect>, Duration) {
        let (costs, memos) = (&self.experiment.world.costs, &self.experiment.memos);
        let (holders, shares) = self.shape();
        let work = self.work(holders, shares);
        match job {
            protocol::Job::Deal { .. } => {
                let dealt = self.experiment.dealt(&self.setup, identity);
                (protocol::Verdict::Dealt(dealt), costs.deal(work))
            }
            protocol::Job::Judge { blank, claims } => {
                let judged = claims.iter().map(|claim| {
                    memos.judged.get(Sha256::digest(claim.id()).into(), || claim.judge(&**blank))
                });
                let many = u32::try_from(claims.len()).unwrap_or(u32::MAX);
                (protocol::Verdict::Judged(judged.collect()), costs.judge(work) * many)
            }
            protocol::Job::Sum { counted } => {
                let places = counted.places();
                let many = u64::try_from(places.len()).unwrap_or(u64::MAX);
                let summed = memos.summed.get(places, || counted.sum().map(Arc::new));
                (protocol::Verdict::Summed(summed), costs.sum(many, work))
            }
            // The scheme opens shares, and nobody is absent.
            job @ (protocol::Job::Open { .. } | protocol::Job::Recover { .. }) => {
                (keygen::run_dealings::<S>(job, &self.setup, identity), Duration::ZERO)
            }
        }
    }

    fn admit(
        &self,
        identity: &Identity,
        transaction: &Arc<[u8]>,
        key: &Arc<Fixed<S>>,
    ) -> Admitted<S> {
        let name = (*key.key.name(), Sha256::digest(transaction).into());
        self.experiment.memos.admitted.get(name, || {
            let job = keygen::Job::<S>::Admit {
                transactions: vec![Arc::clone(transaction)],
                key: Arc::clone(key),
            };
            match job.run(&self.setup, identity) {
                keygen::Verdict::Admitted(mut one) => one.pop(),
                _ => None,
            }
            .unwrap_or_else(|| Err("an admission job gave another verdict".to_owned()))
        })
    }

    fn run_beacon(&mut self, job: &::beacon::Job<S>) -> (::beacon::Verdict<S>, Duration) {
        let access = self.setup.keygen.shape().access();
        let parties: Vec<Party> = match job.work() {
            ::beacon::Work::Combine(partials) => partials.keys().copied().collect(),
            ::beacon::Work::Verify(party, _) | ::beacon::Work::Open(party, _) => vec![*party],
        };
        let shares: u64 = parties.iter().map(|party| u64::from(access.weight(*party))).sum();
        let many = u64::try_from(parties.len()).unwrap_or(u64::MAX);
        let cost = self.experiment.world.costs.combine(self.work(many, shares));
        (job.run_knowing(&mut self.partials), cost)
    }
}

impl<S: Keyed> Host for Committee<'_, S> {
    type Machine = Validator<S>;
    type Message = Arc<Message<S>>;
    type Job = Job<S>;
    type Verdict = Verdict<S>;
    type Record = Record;
    type Event = Seen;

    fn boot(&mut self, seat: Seat, records: &[Record]) -> Validator<S> {
        let validator =
            Validator::new(Arc::clone(&self.setup), self.identity(seat), records.to_vec());
        validator.unwrap_or_else(|error| unreachable!("the set-up was checked: {error}"))
    }

    fn first_input(&mut self, _seat: Seat) -> Option<Input<S>> {
        Some(Input::Start)
    }

    fn received(&mut self, _at: Seat, from: Seat, message: &Arc<Message<S>>) -> Input<S> {
        Input::Received { from: Party::new(from.get()), message: Message::clone(message) }
    }

    fn checked(&mut self, _at: Seat, verdict: Verdict<S>) -> Input<S> {
        Input::Checked(verdict)
    }

    fn tick(&mut self, _at: Seat) -> Input<S> {
        Input::Tick
    }

    /// Decoding: a signature of 𝔾₁ with most engine messages, a partial.
    fn input_cost(&mut self, _seat: Seat, input: &Input<S>) -> Duration {
        let costs = &self.experiment.world.costs;
        match input {
            Input::Received { message: Message::Engine(_), .. } => {
                Duration::from_nanos(costs.g1_decode)
            }
            Input::Received { from, message: Message::Beacon(_) } => {
                costs.decode(self.own_work(*from))
            }
            _ => Duration::ZERO,
        }
    }

    fn carry_out(&mut self, output: Output<S>, step: &mut Step<'_, Self>) {
        let costs = self.experiment.world.costs;
        match output {
            Output::Persist(record) => step.persist(record),
            Output::Send { to, message } => {
                step.spend(match &message {
                    Message::Engine(message) if message.is_signed() => costs.sign(),
                    Message::Beacon(::beacon::Message::Partial { .. }) => {
                        costs.evaluate(self.own_work(Party::new(step.seat().get())))
                    }
                    _ => Duration::ZERO,
                });
                let from = Party::new(step.seat().get());
                match &message {
                    Message::Engine(message) => self.votes.see(from, message),
                    Message::Beacon(message) => self.partials.see(from, message),
                }
                let to = match to {
                    Recipient::All => sim::Recipient::All,
                    Recipient::One(party) => sim::Recipient::One(Seat::new(party.get())),
                };
                step.send(to, Arc::new(message));
            }
            Output::Run(job) => step.run(job),
            Output::Note(event) => {
                if let Some(seen) = Seen::from_event(event) {
                    step.note(seen);
                }
            }
        }
    }

    fn run(&mut self, seat: Seat, job: Job<S>) -> (Verdict<S>, Duration) {
        match job {
            Job::Engine(job) => {
                let (verdict, cost) = self.run_engine(&job);
                (Verdict::Engine(verdict), cost)
            }
            Job::Keygen(job) => {
                let (verdict, cost) = self.run_keygen(seat, &job);
                (Verdict::Keygen(verdict), cost)
            }
            Job::Beacon(job) => {
                let (verdict, cost) = self.run_beacon(&job);
                (Verdict::Beacon(verdict), cost)
            }
        }
    }
}

impl Seen {
    fn from_event<S: Keyed>(event: Event<S>) -> Option<Self> {
        Some(match event {
            Event::Finalized { slot, .. } => Self::Finalized(slot),
            Event::Revealed(reveal) => Self::Revealed {
                slot: reveal.slot,
                path: reveal.path,
                randomness: reveal.randomness(),
            },
            // With inputs that have no value no slot is without an output.
            Event::Skipped(slot) => Self::Wrong(format!("{slot} has no value")),
            Event::Accused { party, fault } => Self::Wrong(format!("accuses {party}: {fault}")),
            Event::Refused(why) => Self::Wrong(why),
            Event::Dealing { .. } | Event::Ready { .. } | Event::Admitted(_) => return None,
        })
    }
}
