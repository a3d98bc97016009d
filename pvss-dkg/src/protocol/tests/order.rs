//! The order alone decides: however long a party takes to judge, and wherever it crashes, it ends as
//! every other party does that was given the same order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ::prefinal_protocol::{Instant, Machine};
use prefinal_crypto_core::access::Party;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::faults::{bad_envelopes, envelopes};
use super::kinds::{Case, Kind, LARGE};
use crate::protocol::envelope::{seal, split};
use crate::protocol::{
    Abort, Claim, ClaimVerdict, Effect, Input, Job, Keygen, Misdeed, Output, Place, Position,
    Record, Role, Verdict, judge,
};

/// What the engine gives: a message, or the end.
type Entry = Option<Arc<[u8]>>;
type Verdicts<C> =
    BTreeMap<(Vec<u8>, bool, bool), ClaimVerdict<<C as super::super::Collect>::Dealing>>;

/// What a party says at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Key([u8; 32]),
    Abort(Abort),
    /// More is needed, and nothing is left to judge.
    Waiting,
}

/// The outcome, which dealings count and where, and which party was accused of what before there was one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Story {
    outcome: Outcome,
    counted: Vec<(Place, Position)>,
    accused: Vec<(Party, Misdeed)>,
}

/// When jobs return and the process dies.
#[derive(Clone, Copy)]
enum Pace {
    /// Every job returns before the next message comes.
    AtOnce,
    /// No job returns before the whole order is there.
    AtLast,
    /// Now and then, with crashes in between.
    Random(u64),
}

/// A party that only looks on, with its disk.
struct Follower<C: Case> {
    blank: C,
    keygen: Keygen<C>,
    jobs: VecDeque<Job<C>>,
    disk: Vec<Record>,
    story: Story,
}

impl<C: Case> Follower<C> {
    fn new(blank: &C) -> Self {
        let mut follower = Self {
            blank: blank.clone(),
            keygen: Keygen::new(blank.clone(), Role::default(), Vec::new()).unwrap(),
            jobs: VecDeque::new(),
            disk: Vec::new(),
            story: Story { outcome: Outcome::Waiting, counted: Vec::new(), accused: Vec::new() },
        };
        follower.settle();
        follower
    }

    fn settle(&mut self) {
        while let Some(output) = self.keygen.poll() {
            let story = &mut self.story;
            match output {
                Output::Keep(record) | Output::Note(record) => self.disk.push(record),
                Output::Do(Effect::Run(job)) => self.jobs.push_back(job),
                // After a crash what counts is said again.
                Output::Do(Effect::Counted { place, position })
                    if !story.counted.contains(&(place, position)) =>
                {
                    story.counted.push((place, position));
                }
                Output::Do(Effect::Accuse { fault, .. }) => {
                    story.accused.push((fault.party, fault.misdeed))
                }
                Output::Do(Effect::Ready(ready)) => {
                    story.outcome = Outcome::Key(ready.key.digest())
                }
                Output::Do(Effect::Aborted(abort)) => story.outcome = Outcome::Abort(abort),
                Output::Do(Effect::Counted { .. })
                | Output::Do(Effect::Submit(_))
                | Output::Do(Effect::Ignored(_)) => {}
            }
        }
    }

    fn give(&mut self, number: usize, entry: &Entry) {
        let position = Position::new(u64::try_from(number).unwrap());
        let input =
            entry.clone().map_or(Input::Ended, |message| Input::Ordered { position, message });
        self.keygen.handle(Instant::START, input);
        self.settle();
    }

    /// One job returns. What was judged once is not computed again.
    fn step(&mut self, known: &mut Verdicts<C>) {
        let Some(job) = self.jobs.pop_front() else { return };
        let verdict = match &job {
            Job::Judge { blank, claims } => Verdict::Judged(cached(known, blank.as_ref(), claims)),
            Job::Sum { counted } => Verdict::Summed(counted.sum().map(Arc::new)),
            _ => panic!("who looks on only judges and sums"),
        };
        self.keygen.handle(Instant::START, Input::Checked(verdict));
        self.settle();
    }

    /// Dies, reads its disk; the caller gives it the order from the beginning.
    fn restart(&mut self) {
        self.jobs.clear();
        let bytes = borsh::to_vec(&self.disk).unwrap();
        let records = borsh::from_slice(&bytes).unwrap();
        self.keygen = Keygen::new(self.blank.clone(), Role::default(), records).unwrap();
        self.settle();
    }
}

fn cached<C: Case>(
    known: &mut Verdicts<C>,
    blank: &C,
    claims: &[Claim],
) -> Vec<ClaimVerdict<C::Dealing>> {
    let name = |claim: &Claim| (claim.id(), claim.payload().is_some(), claim.known);
    let one = |claim: &Claim| {
        let verdict = known
            .entry(name(claim))
            .or_insert_with(|| judge(blank, std::slice::from_ref(claim)).pop().unwrap());
        verdict.clone()
    };
    claims.iter().map(one).collect()
}

fn follow<C: Case>(blank: &C, order: &[Entry], pace: Pace, known: &mut Verdicts<C>) -> Story {
    let mut follower = Follower::new(blank);
    let mut chance = match pace {
        Pace::Random(seed) => Some(ChaCha20Rng::seed_from_u64(seed)),
        _ => None,
    };
    let mut next = 0;
    while let Some(entry) = order.get(next) {
        follower.give(next, entry);
        next += 1;
        let luck = chance.as_mut().map_or(0, Rng::next_u32) % 32;
        if luck == 31 && follower.story.outcome == Outcome::Waiting {
            follower.restart();
            next = 0;
        }
        let jobs = match pace {
            Pace::AtOnce => usize::MAX,
            Pace::AtLast => 0,
            Pace::Random(_) => usize::try_from(luck / 8).unwrap(),
        };
        for _ in 0..jobs {
            if follower.jobs.is_empty() {
                break;
            }
            follower.step(known);
        }
    }
    while !follower.jobs.is_empty() {
        follower.step(known);
    }
    assert!(follower.story.outcome != Outcome::Waiting || follower.keygen.is_waiting());
    follower.story
}

/// Good dealings of everybody, and all that peers may put between them.
fn pool<C: Case>() -> (C, Vec<Arc<[u8]>>) {
    let world = C::world(1);
    let (blank, seats) = (&world.blank, &world.seats);
    let mut pool: Vec<Vec<u8>> = Vec::new();
    for (number, seat) in (0..5).zip(seats) {
        // Twice: the second time it may contradict the first.
        pool.extend(envelopes(blank, number, seat, 11));
        if [0, LARGE].contains(&number) {
            pool.extend(envelopes(blank, number, seat, 12).into_iter().take(1));
        }
    }
    pool.extend(bad_envelopes(&world).into_iter().map(|(_, bad)| bad));
    let good = pool[0].clone();
    let (statement, payload) = split(&good).unwrap();
    pool.push(seal(blank.session(), statement.place, payload, &seats[1].signer));
    pool.push(envelopes(&blank.next_attempt(), 0, &seats[0], 13).remove(0));
    pool.push(vec![1; 40]);
    (world.blank, pool.into_iter().map(Arc::from).collect())
}

/// Fast and slow read `first`, the end, and a dealing behind it that would do.
pub(super) fn behind_the_end<C: Case>(_: Kind<C>) {
    let (blank, seats) = (C::world(1).blank, C::world(1).seats);
    let good = |seat: u32| {
        envelopes(&blank, seat, &seats[usize::try_from(seat).unwrap()], 11)
            .into_iter()
            .map(Arc::from)
    };
    let mut order: Vec<Entry> = good(0).map(Some).collect();
    order.push(None);
    order.extend(good(LARGE).chain(good(3)).map(Some));
    let mut known = BTreeMap::new();
    let fast = follow(&blank, &order, Pace::AtOnce, &mut known);
    let slow = follow(&blank, &order, Pace::AtLast, &mut known);
    assert!(matches!(fast.outcome, Outcome::Abort(Abort::Ended(_))), "{fast:?}");
    assert_eq!(slow, fast);
    // Without the end they would do.
    order.retain(Option::is_some);
    let key = follow(&blank, &order, Pace::AtLast, &mut known);
    assert!(matches!(key.outcome, Outcome::Key(_)), "{key:?}");
}

/// One order, many ways to live through it.
pub(super) fn interleavings<C: Case>(_: Kind<C>) {
    let (blank, pool) = pool::<C>();
    let mut known = BTreeMap::new();
    let mut ends = [0; 3];
    for seed in 0..60 {
        let mut chance = ChaCha20Rng::seed_from_u64(seed);
        let mut below = |bound: usize| usize::try_from(chance.next_u32()).unwrap() % bound;
        // Some orders are short, some have no end, some go on behind it.
        let length = 3 + below(20);
        let mut order: Vec<Entry> =
            (0..length).map(|_| Some(Arc::clone(&pool[below(pool.len())]))).collect();
        if seed % 4 > 0 {
            order.insert(below(length), None);
        }
        let story = follow(&blank, &order, Pace::AtOnce, &mut known);
        ends[match story.outcome {
            Outcome::Key(_) => 0,
            Outcome::Abort(_) => 1,
            Outcome::Waiting => 2,
        }] += 1;
        let paces = (0..6).map(|pace| Pace::Random(100 * seed + pace));
        for pace in paces.chain([Pace::AtLast]) {
            assert_eq!(follow(&blank, &order, pace, &mut known), story, "seed {seed}");
        }
    }
    assert!(ends.iter().all(|count| *count > 0), "{ends:?}");
}
