//! The latency experiment of committees whose keys were dealt before the run, for more parties than can generate
//! keys in a simulation.
//!
//! What a run computes grows with the committee of `n` parties and `W` shares, `W` about in proportion to `n`:
//!
//! | work                                   | of all parties together, for each slot or once    | here                     |
//! |----------------------------------------|---------------------------------------------------|--------------------------|
//! | dealing, judging, opening shares        | `n·W` multiplications each, once                   | not there                |
//! | signatures on votes                    | `n`                                               | real                     |
//! | checks of votes that all receive        | `n²`, each checked once by the host (`known`)      | ideal: looked up          |
//! | sums of votes                           | `n²` additions                                    | ideal: none              |
//! | partials: evaluated, checked, combined  | `W`, `n·W`, `n·W`                                  | ideal: looked up          |
//! | messages: votes, order votes, partials  | `n²` deliveries, one copy of each                  | as they are              |
//!
//! The function is `campaign::ideal`, signatures of votes are ideal where the engine allows it
//! ([`ReadableEngine::idealize`]), and both cost and weigh what the real ones cost and weigh in virtual time. So waits
//! are those of the real ones, to the nanosecond: a test compares them.
//!
//! The experiment with its key generation is in [`crate::latency`]; hours with restarts are in [`deployment`], the
//! latency of transactions with a beacon and without one in [`transactions`].
pub mod deployment;
pub mod transactions;

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::{Binding, Function, Life, Limits, Message, Path, Random, Scheme, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Recipient};
use prefinal_sim::{Host, Network, Seat, Simulation, Step, Stop};

use crate::campaign::hand::Hand;
use crate::campaign::ideal::Ideal;
use crate::campaign::member::{Effect, Input, Member, PastLife, Post, Record, Terms};
use crate::committee::{Prices, Subject};
use crate::failure::Failure;
use crate::global::{Exceptions, GlobalClock, Sign};
use crate::known::CheckedPartials;
use crate::latency::{INSTANT, KEPT, Outcome, PATIENCE};
use crate::legible::{Act, ReadableEngine, heard, heard_of_beacon, partial_in};
use crate::lives::Lives;
use crate::local::{Heard, Imperfections};
use crate::priced::Priced;
use crate::prices::{Bill, heaviest};
use crate::seating::Seating;
use prefinal_engine::Engine;
use prefinal_validator::setup::{self, Algorithm, Identity, Plan, Setup};

/// Bytes around a message in a validator's message and in its frame: length, kind, epoch.
pub(crate) const AROUND: usize = 4 + 1 + 8;

/// The run that is simulated, beside the committee.
pub struct World {
    /// The price of work.
    pub prices: Prices,
    /// The links between the parties.
    pub network: Network,
    /// Cores of each party.
    pub cores: std::num::NonZeroU32,
    /// Seed of the simulation. Everything that varies on the links follows from it.
    pub seed: u64,
    /// Number of slots that get a value.
    pub slots: u64,
}

/// A committee with dealt keys that evaluates the function `F` at the prices of `S`.
struct Committee<F: Scheme, S> {
    setup: Arc<Setup>,
    identities: Arc<[Arc<Identity>]>,
    hands: [Arc<Hand<F>>; 2],
    /// Whether signatures on votes are ideal too.
    ideal: bool,
    priced: PhantomData<fn() -> S>,
}

/// Runs the slow path alone and both paths of a committee whose cryptography is ideal, and priced as that of `S`.
///
/// # Errors
/// If the plan's parts do not fit together, or if parties disagree or do not finish.
pub fn both<S: Priced, E: Subject>(
    plan: &Plan,
    keys: u64,
    world: &World,
) -> Result<(Outcome, Outcome), Failure> {
    let committee = &Committee::<_, S>::ideal(plan, keys)?;
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| committee.run::<E>(Algorithm::Slow, world));
        let fast = committee.run::<E>(Algorithm::Fast, world);
        let ended = |_| Failure::Disagreement("the slow run ended in a panic".to_owned());
        let slow = slow.join().map_err(ended)?;
        Ok((slow?, fast?))
    })
}

/// Runs a committee with the algorithm of its plan, in the same way.
///
/// # Errors
/// The same as [`both`].
pub fn one<S: Priced, E: Subject>(
    plan: &Plan,
    keys: u64,
    world: &World,
) -> Result<Outcome, Failure> {
    Committee::<_, S>::ideal(plan, keys)?.run::<E>(plan.choice, world)
}

impl<S: Priced> Committee<Ideal<true>, S> {
    fn ideal(plan: &Plan, keys: u64) -> Result<Self, Failure> {
        let (setup, identities) = setup::found(plan, keys).map_err(Failure::bad_input)?;
        let hand = |algorithm| Arc::new(Ideal::<true>::hand(plan, algorithm));
        Ok(Self {
            setup: Arc::new(setup),
            identities: identities.into_iter().map(Arc::new).collect(),
            hands: [Algorithm::Slow, plan.choice].map(hand),
            ideal: true,
            priced: PhantomData,
        })
    }
}

impl<F: Scheme + Random, S: Priced> Committee<F, S> {
    fn run<E: Subject>(&self, algorithm: Algorithm, world: &World) -> Result<Outcome, Failure> {
        play(self.stage::<E>(algorithm, world)?, world)
    }

    /// A simulation of the committee, before its first event.
    fn stage<E: Subject>(
        &self,
        algorithm: Algorithm,
        world: &World,
    ) -> Result<Simulation<DealtHost<E, F, S>>, Failure> {
        let (hand, mode) = self.usual(algorithm);
        let mode = Mode { listens: algorithm != Algorithm::Slow, ..mode };
        let host = self.host::<E>(hand, mode, world.prices)?;
        let mut around =
            prefinal_sim::Setup::new(host.seating.count(), world.seed, world.network.clone());
        around.cores = world.cores;
        Simulation::new(host, around).map_err(Failure::bad_input)
    }

    /// What parties hold with an algorithm, and how it is played from the first slot on.
    fn usual(&self, algorithm: Algorithm) -> (Arc<Hand<F>>, Mode) {
        let [slow, fast] = &self.hands;
        let (hand, fast_after) = match algorithm {
            Algorithm::Slow => (slow, u64::MAX),
            _ => (fast, 0),
        };
        (Arc::clone(hand), Mode::usual(fast_after))
    }

    fn host<E: Subject>(
        &self,
        hand: Arc<Hand<F>>,
        mode: Mode,
        prices: Prices,
    ) -> Result<DealtHost<E, F, S>, Failure> {
        let mut setup = Setup::clone(&self.setup);
        setup.fast_after = mode.fast_after;
        setup.pace.period = mode.period.unwrap_or(setup.pace.period);
        if E::OUTRUNS_JOBS {
            setup.pace.pause = setup.pace.pause.max(INSTANT);
        }
        let finality = setup.finality(E::QUORUM).map_err(Failure::bad_input)?;
        let naming = E::naming(&setup).ok_or_else(|| Failure::bad_input("no committee"))?;
        let terms = Terms {
            context: setup.context,
            binding: Binding::Slot,
            declared: E::FAST_ATTEMPT,
            finality,
            without: None,
            limits: Limits { window: mode.window, ..Limits::default() },
        };
        let mut memo = E::Memo::default();
        if self.ideal {
            // What is checked outside of jobs stays real.
            let _is_ideal = E::idealize(&mut memo);
        }
        let host = DealtHost {
            terms,
            hand,
            heaviest: heaviest(setup.keygen.shape()),
            setup: Arc::new(setup),
            identities: Arc::clone(&self.identities),
            seating: Seating::new(self.identities.iter().map(|identity| identity.me)),
            naming,
            prices,
            memo,
            known: CheckedPartials::default(),
            lives: Lives::default(),
            is_alone: mode.is_alone,
            listens: mode.listens,
            priced: PhantomData,
        };
        // What would fail at a boot fails here.
        let life = Life::First;
        host.member(Seat::new(0), life, &[]).map_err(Failure::bad_input)?;
        Ok(host)
    }
}

/// Runs a simulation until every party has its values.
fn play<E: Subject, F: Scheme + Random, S: Priced>(
    mut simulation: Simulation<DealtHost<E, F, S>>,
    world: &World,
) -> Result<Outcome, Failure> {
    let seats = simulation.host().seating.count();
    let imperfections = Imperfections::new(world.prices, &world.network);
    let exceptions = Exceptions { imperfections, ..Exceptions::default() };
    let mut clock = GlobalClock::new(&simulation.host().setup, exceptions).keyed();
    let mut outcome = Outcome::default();
    let wanted = world.slots.saturating_mul(u64::from(seats));
    let (mut got, mut stop) = (0_u64, Stop::Watcher);
    while got < wanted && stop == Stop::Watcher {
        let mut noted = 0_u64;
        stop = simulation.run_watching(Instant::at(PATIENCE), |note| {
            got += u64::from(matches!(note.event, Fact::Revealed { .. }));
            noted += 1;
            let enough = got >= wanted || noted >= KEPT;
            if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        for note in simulation.take_notes() {
            let party = Party::new(note.seat.get());
            if let Some(sign) = note.event.sign() {
                clock.take(party, sign, note.left);
            }
            match note.event {
                Fact::Act(_) | Fact::Released(..) | Fact::Ordered(..) | Fact::Heard(_) => {}
                Fact::Finalized(slot) => outcome.finalized(slot, party, note.at),
                Fact::Revealed { slot, path, randomness } => {
                    outcome.revealed(slot, party, (path, randomness), note.at)?;
                }
                Fact::Wrong(what) => {
                    return Err(Failure::Disagreement(format!("{party}: {what}")));
                }
            }
        }
    }
    if got < wanted {
        let what = format!("{got} of {wanted} values after {stop:?}");
        return Err(Failure::Disagreement(what));
    }
    outcome.global = clock.close(None)?;
    outcome.close();
    for member in (0..seats).filter_map(|seat| simulation.machine(Seat::new(seat))) {
        let one = member.beacon().foresights();
        outcome.foresights.guessed += one.guessed;
        outcome.foresights.right += one.right;
    }
    Ok(outcome)
}

/// How a run differs from the committee's plan.
#[derive(Clone, Copy)]
struct Mode {
    /// Number of slots that use the slow path only.
    fast_after: u64,
    /// Time from one slot to the next, if it is not the engine's own.
    period: Option<Duration>,
    /// Whether the engine runs alone, without a beacon.
    is_alone: bool,
    /// Whether it is noted what parties receive.
    listens: bool,
    /// Slots in which partials may leave early, and for which they may not after a restart.
    window: u64,
}

impl Mode {
    /// As fast as the engine is, with a beacon.
    fn usual(fast_after: u64) -> Self {
        let Limits { window, .. } = Limits::default();
        Self { fast_after, period: None, is_alone: false, listens: false, window }
    }
}

/// What is noted of a run.
#[derive(Clone, Debug)]
enum Fact {
    Act(Act),
    Released(Path, Slot),
    /// Transactions of a slot that is final, in a slot that has some.
    Ordered(Slot, Vec<Arc<[u8]>>),
    Finalized(Slot),
    Revealed {
        slot: Slot,
        path: Path,
        randomness: [u8; 32],
    },
    /// A vote or a partial has arrived.
    Heard(Heard),
    Wrong(String),
}

impl Fact {
    /// What the global times depend on.
    const fn sign(&self) -> Option<Sign<'_>> {
        match self {
            Self::Act(Act::Ballot(ballot)) => Some(Sign::Ballot(ballot)),
            Self::Released(path, slot) => Some(Sign::Released(*path, *slot)),
            Self::Finalized(slot) => Some(Sign::Finalized(*slot)),
            Self::Revealed { slot, .. } => Some(Sign::Valued(*slot)),
            Self::Heard(heard) => Some(Sign::Heard(heard)),
            Self::Act(Act::GaveUp(_)) | Self::Ordered(..) | Self::Wrong(_) => None,
        }
    }
}

/// The host: members without key generation, at measured prices.
struct DealtHost<E: ReadableEngine, F: Scheme, S> {
    terms: Terms,
    hand: Arc<Hand<F>>,
    setup: Arc<Setup>,
    identities: Arc<[Arc<Identity>]>,
    seating: Seating,
    /// What names of blocks depend on.
    naming: [u8; 32],
    prices: Prices,
    heaviest: u64,
    memo: E::Memo,
    known: CheckedPartials<F>,
    lives: Lives,
    is_alone: bool,
    listens: bool,
    priced: PhantomData<fn() -> S>,
}

impl<E: Subject, F: Scheme + Random, S: Priced> DealtHost<E, F, S> {
    fn bill(&self) -> Bill<'_> {
        Bill { prices: self.prices, shape: self.setup.keygen.shape(), heaviest: self.heaviest }
    }

    fn member(
        &self,
        seat: Seat,
        life: Life,
        disk: &[Record<E::Record>],
    ) -> Result<Member<E, F>, String> {
        let party = self.seating.party(seat);
        let identity = self.identities.get(party.index());
        let identity = identity.ok_or_else(|| format!("{party} is nobody"))?;
        let (votes, records) = Record::split(disk);
        let started = E::begin(&self.setup, identity, votes);
        let started = started.map_err(|error| error.to_string())?;
        let past = PastLife { life, records };
        let member = Member::new(&self.terms, (party, &*self.hand), started, past, true);
        let member = member.map_err(|error| format!("{party}: {error}"))?;
        Ok(if self.is_alone { member.alone() } else { member })
    }

    /// The length of a party's partial of the real function, and of this one.
    fn partial_len(&self, from: Party, partial: &F::Partial) -> (usize, usize) {
        let shares = self.setup.keygen.shape().access().weight(from);
        let real = usize::try_from(S::partial_bytes_of(shares.into())).unwrap_or(usize::MAX);
        (real, borsh::object_length(partial).unwrap_or_default())
    }
}

/// A message between members, with its length on the wire.
#[derive(Clone)]
struct Parcel<E: Engine, F: Scheme> {
    post: Arc<Post<E, F>>,
    from: Party,
}

impl<E: Subject, F: Scheme + Random, S: Priced> Host for DealtHost<E, F, S> {
    type Machine = Member<E, F>;
    type Message = Arc<Parcel<E, F>>;
    type Job = Job<E, F>;
    type Verdict = Verdict<E, F>;
    type Event = Fact;

    fn boot(&mut self, seat: Seat, disk: &[Record<E::Record>]) -> Member<E, F> {
        let life = self.lives.begin(seat);
        let member = self.member(seat, life, disk);
        member.unwrap_or_else(|error| unreachable!("the set-up was checked: {error}"))
    }

    fn first_input(&mut self, _: Seat) -> Option<Input<E, F>> {
        Some(Input::Start)
    }

    /// That of a validator's message, whatever the function.
    fn encoded_len(&mut self, parcel: &Self::Message) -> u64 {
        let from = parcel.from;
        let (length, (real, ours)) = match &*parcel.post {
            Post::Engine(message) => {
                let carried = partial_in::<F, E>(message);
                let partial = match &carried {
                    Some(Message::Partial { partial, .. }) => self.partial_len(from, partial),
                    _ => (0, 0),
                };
                (borsh::object_length(message), partial)
            }
            Post::Beacon(message) => {
                let partial = match message {
                    Message::Partial { partial, .. } => self.partial_len(from, partial),
                    _ => (0, 0),
                };
                (borsh::object_length(message), partial)
            }
        };
        let length = AROUND.saturating_add(length.unwrap_or_default()).saturating_sub(ours);
        u64::try_from(length.saturating_add(real)).unwrap_or(u64::MAX)
    }

    fn arrives(&mut self, _: Instant, _: Seat, _: Seat, parcel: &Self::Message) -> Option<Fact> {
        let from = parcel.from;
        let heard = match &*parcel.post {
            _ if !self.listens => None,
            Post::Engine(message) => heard::<F, E>(from, message),
            Post::Beacon(message) => heard_of_beacon(from, message),
        };
        heard.map(Fact::Heard)
    }

    fn received(&mut self, _: Seat, from: Seat, parcel: &Self::Message) -> Input<E, F> {
        Input::Received(self.seating.party(from), Arc::clone(&parcel.post))
    }

    fn checked(&mut self, _: Seat, verdict: Verdict<E, F>) -> Input<E, F> {
        match verdict {
            Verdict::Engine(verdict) => Input::Engine(verdict),
            Verdict::Beacon(verdict) => Input::Beacon(verdict),
        }
    }

    fn tick(&mut self, _: Seat) -> Input<E, F> {
        Input::Tick
    }

    fn input_cost(&mut self, _: Seat, input: &Input<E, F>) -> Duration {
        let Input::Received(from, post) = input else { return Duration::ZERO };
        match &**post {
            Post::Engine(message) => self.bill().engine_message_in::<S, E>(*from, message),
            Post::Beacon(_) => self.bill().partial_in::<S>(*from),
        }
    }

    fn writes(&mut self, record: &Record<E::Record>, step: &mut Step<'_, Self>) {
        let Record::Engine(record) = record else { return };
        let me = self.seating.party(step.seat());
        let act = E::written(me, record, &self.naming);
        act.into_iter().for_each(|act| step.note(Fact::Act(act)));
    }

    fn carry_out(&mut self, effect: Effect<E, F>, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send(to, post) => self.send(to, post, step),
            Effect::RunEngine(job) => step.run(Job::Engine(job)),
            Effect::RunBeacon(job) => step.run(Job::Beacon(job)),
            Effect::Ordered(slot, transactions) if !transactions.is_empty() => {
                step.note(Fact::Ordered(slot, transactions));
            }
            Effect::Ordered(..) | Effect::Started | Effect::Exposed(..) => {}
            Effect::Finalized(slot, _) => step.note(Fact::Finalized(slot)),
            Effect::Revealed(reveal) => {
                let (slot, path, randomness) = (reveal.slot, reveal.path, reveal.randomness());
                step.note(Fact::Revealed { slot, path, randomness });
            }
            Effect::Skipped(slot) => step.note(Fact::Wrong(format!("{slot} has no value"))),
            Effect::Accused(party, fault) => {
                step.note(Fact::Wrong(format!("accuses {party}: {fault}")));
            }
        }
    }

    fn run(&mut self, _: Seat, job: Job<E, F>) -> (Verdict<E, F>, Duration) {
        match job {
            Job::Engine(job) => {
                let cost = self.bill().engine::<E>(&job);
                (Verdict::Engine(E::run(&mut self.memo, &job)), cost)
            }
            Job::Beacon(job) => {
                let cost = self.bill().beacon::<S, F>(&job);
                (Verdict::Beacon(self.known.run(&job)), cost)
            }
        }
    }
}

impl<E: Subject, F: Scheme + Random, S: Priced> DealtHost<E, F, S> {
    fn send(&mut self, to: Recipient<Party>, post: Post<E, F>, step: &mut Step<'_, Self>) {
        let from = self.seating.party(step.seat());
        let cost = match &post {
            Post::Engine(message) => {
                E::see(&mut self.memo, from, message);
                let act = E::sent(message, &self.naming);
                act.into_iter().for_each(|act| step.note(Fact::Act(act)));
                if let Some(message) = partial_in::<F, E>(message) {
                    self.known.see(from, &message);
                    note_partial(&message, step);
                }
                self.bill().engine_message_out::<S, E>(from, message)
            }
            Post::Beacon(message) => {
                self.known.see(from, message);
                note_partial(message, step);
                match message {
                    Message::Partial { .. } => self.bill().partial_out::<S>(from),
                    _ => Duration::ZERO,
                }
            }
        };
        step.spend(cost);
        self.seating.post(to, Parcel { post: Arc::new(post), from }, step);
    }
}

fn note_partial<E: Subject, F: Scheme + Random, S: Priced>(
    message: &Message<F>,
    step: &mut Step<'_, DealtHost<E, F, S>>,
) {
    if let Message::Partial { path, slot, .. } = message {
        step.note(Fact::Released(*path, *slot));
    }
}

/// Work for a lane.
enum Job<E: Engine, F: Function> {
    Engine(E::Job),
    Beacon(::prefinal_beacon::Job<F>),
}

/// What came of it.
enum Verdict<E: Engine, F: Function> {
    Engine(E::Verdict),
    Beacon(::prefinal_beacon::Verdict<F>),
}

#[cfg(test)]
mod wait_tests;

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use ::prefinal_beacon::{Bls, Foresights, Wvuf};
    use prefinal_dispel::Dispel;
    use prefinal_jolteon::Jolteon;
    use prefinal_malachite::Malachite;
    use prefinal_sim::{Interface, Jitter};
    use prefinal_trantor::Trantor;
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::*;
    use crate::campaign::board::{Board, KEYS, Layout};
    use crate::costs::Costs;
    use crate::global::{Premise, SlotTimes};

    /// Nanoseconds, as measured once.
    const COSTS: &str = r#"{"ed25519_sign":23733,"ed25519_verify":76464,"g1_multiplication":125966,
        "g2_multiplication":243570,"g1_hash":83432,"g2_hash":256186,"g1_decode":77541,
        "g2_decode":93242,"miller_loop":719834,"miller_loop_of_many":591758,
        "final_exponentiation":603763,"g1_term":[137253,59359,54561],
        "g2_term":[184929,176861,187968],"g1_short":111004}"#;

    /// Around the world, over interfaces so slow that the length of every message shows.
    fn world() -> World {
        let cores = NonZeroU32::MIN;
        let costs: Costs = serde_json::from_str(COSTS).unwrap();
        let placement = crate::place(&["all".to_owned()], 7, 3).unwrap().unwrap();
        let interface = Interface::duplex("300kB/s".parse().unwrap());
        let network = Network::placed(placement, Jitter::Percent(5)).with_interfaces(interface);
        World { prices: Prices::Measured { costs, cores }, network, cores, seed: 9, slots: 12 }
    }

    /// A committee whose keys come from a key generation.
    fn generated<S: Priced>(board: &mut Board<S>) -> Committee<S, S> {
        let mut hand = |algorithm| {
            board.algorithm = algorithm;
            Arc::new(Hand::of_board(board).unwrap())
        };
        let hands = [hand(Algorithm::Slow), hand(Algorithm::Fast)];
        Committee {
            setup: Arc::new(board.ground.setup().clone()),
            identities: board.ground.identities().iter().cloned().collect(),
            hands,
            ideal: false,
            priced: PhantomData,
        }
    }

    type Seen = (Vec<(Slot, Party, Path, Duration)>, Duration, Foresights);

    fn seen(outcome: &Outcome) -> Seen {
        let rows = outcome.rows.iter();
        let rows = rows.map(|row| (row.slot, row.party, row.path, row.wait)).collect();
        (rows, outcome.slot_time, outcome.foresights)
    }

    fn ideal_waits_are_the_real_ones<S: Priced, E: Subject>() {
        let stakes = [40_u64, 30, 20, 10, 10, 5, 1].map(|stake| Stake::new(stake.into())).to_vec();
        let layout = Layout::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        let mut board = Board::<S>::new(&layout).unwrap();
        let mut real = generated(&mut board);
        let world = world();
        let (slow, fast) = both::<S, E>(&layout.plan, KEYS, &world).unwrap();
        assert!(slow.waits.mean() > fast.waits.mean() && fast.by_fast_path > 0);
        for ideal in [false, true] {
            real.ideal = ideal;
            let run = |algorithm| seen(&real.run::<E>(algorithm, &world).unwrap());
            assert_eq!(run(Algorithm::Slow), seen(&slow));
            assert_eq!(run(Algorithm::Fast), seen(&fast));
        }
        // They would show it if a partial had another length or price.
        let free = World { prices: Prices::FREE, ..world };
        assert_ne!(seen(&real.run::<E>(Algorithm::Fast, &free).unwrap()), seen(&fast));
    }

    fn are_equal(times: &[SlotTimes]) -> bool {
        times.iter().all(|slot| slot.finalized == slot.reconstructed)
    }

    fn times<E: Subject>(choice: Algorithm, algorithm: Algorithm, world: World) -> Vec<SlotTimes> {
        let stakes = [40_u64, 30, 20, 10, 10, 5, 1].map(|stake| Stake::new(stake.into())).to_vec();
        let plan = Plan::new(stakes, choice, Ratio::FIVE_SIXTHS).unwrap();
        let committee = Committee::<_, Bls>::ideal(&plan, KEYS).unwrap();
        committee.run::<E>(algorithm, &world).unwrap().global
    }

    fn equal_links() -> World {
        let network = Network::constant(Duration::from_millis(50));
        World { network, prices: Prices::FREE, ..world() }
    }

    fn are(times: &[SlotTimes], premise: Premise) {
        let wrong = times.iter().find(|slot| slot.premise != premise);
        assert_eq!(wrong, None, "{premise}");
        assert!(times.len() >= 12, "{times:?}");
    }

    /// Theorems 5.2 and 6.3, and where they say nothing.
    fn theorems_hold<E: Subject>() {
        for world in [world(), equal_links()] {
            let tight = times::<E>(Algorithm::Tight, Algorithm::Tight, world);
            are(&tight, Premise::Tight);
            assert!(are_equal(&tight), "{tight:?}");
        }
        let at_once = times::<E>(Algorithm::Fast, Algorithm::Fast, equal_links());
        are(&at_once, Premise::Synchronous);
        assert!(are_equal(&at_once), "{at_once:?}");
        let spread = times::<E>(Algorithm::Fast, Algorithm::Fast, world());
        are(&spread, Premise::Asynchronous);
        assert!(!are_equal(&spread), "{spread:?}");
        let slow = times::<E>(Algorithm::Fast, Algorithm::Slow, world());
        are(&slow, Premise::SlowPath);
        assert!(slow.iter().all(|slot| slot.finalized < slot.reconstructed), "{slow:?}");
    }

    #[test]
    fn theorems_hold_on_jolteon() {
        theorems_hold::<Jolteon>();
    }

    #[test]
    fn theorems_hold_on_malachite() {
        theorems_hold::<Malachite>();
    }

    #[test]
    fn theorems_hold_on_trantor() {
        theorems_hold::<Trantor>();
    }

    /// Neither theorem applies: votes of several parties on several proposers may make a stage final before a quorum
    /// has voted on all of them. Where all vote at once nothing lies between.
    #[test]
    fn a_stage_of_dispel_is_final_before_a_quorum_has_voted_on_all_of_it() {
        let tight = times::<Dispel>(Algorithm::Tight, Algorithm::Tight, world());
        are(&tight, Premise::ByProposer);
        assert!(!are_equal(&tight), "{tight:?}");
        for choice in [Algorithm::Tight, Algorithm::Fast] {
            let at_once = times::<Dispel>(choice, choice, equal_links());
            are(&at_once, Premise::ByProposer);
            assert!(are_equal(&at_once), "{at_once:?}");
        }
    }

    #[test]
    fn ideal_waits_are_the_real_ones_of_threshold_bls() {
        ideal_waits_are_the_real_ones::<Bls, Jolteon>();
    }

    #[test]
    fn ideal_waits_are_the_real_ones_of_the_weighted_vuf() {
        ideal_waits_are_the_real_ones::<Wvuf, Jolteon>();
    }

    #[test]
    fn ideal_waits_are_the_real_ones_on_trantor() {
        ideal_waits_are_the_real_ones::<Bls, Trantor>();
    }

    #[test]
    fn ideal_waits_are_the_real_ones_on_malachite() {
        ideal_waits_are_the_real_ones::<Bls, Malachite>();
    }
}
