//! Committees by direct secret sharing: a dealer that everybody trusts, for tests only. It remembers
//! all secrets, so a test can be the adversary and count what has leaked.
//!
//! See also: what each scheme makes of the shares (`instances`).
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prefinal_beacon::{
    Beacon, Effect, Finality, Finding, Input, Job, Life, Output, PartialsError, Quorum,
};
use prefinal_beacon::{
    Binding, Config, Limits, Message, Path, Paths, Record, Scheme, Sharing, Slot, Value,
};
use prefinal_beacon::{Verdict, View, Work};
use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::curve::Scalar;
use prefinal_protocol::{Instant, Machine};
use prefinal_weighted_rounding::{Ratio, Stake};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

pub(crate) use crate::instances::Instance;

pub(crate) const RETRY: Duration = Duration::from_millis(500);
pub(crate) const V: Value = Value::new([0x11; 32]);
pub(crate) const W: Value = Value::new([0x22; 32]);

pub(crate) const A: Party = Party::new(0);
pub(crate) const B: Party = Party::new(1);
pub(crate) const C: Party = Party::new(2);
pub(crate) const D: Party = Party::new(3);

pub(crate) fn ms(ms: u64) -> Instant {
    Instant::at(Duration::from_millis(ms))
}

pub(crate) fn slot(number: u64) -> Slot {
    Slot::new(number)
}

pub(crate) fn view(number: u64, attempt: u32) -> View {
    View::new(slot(number), attempt)
}

/// Which of the three algorithms runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Slow,
    Tight,
    FastAndSlow,
}

/// What differs between tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    pub(crate) algorithm: Algorithm,
    pub(crate) binding: Binding,
    pub(crate) fast_attempt: Option<u32>,
    pub(crate) fast_from: Slot,
    pub(crate) limits: Limits,
}

pub(crate) const SLOW: Profile = profile(Algorithm::Slow, Binding::Slot);
pub(crate) const TIGHT: Profile = profile(Algorithm::Tight, Binding::Slot);
pub(crate) const TIGHT_VALUE: Profile = profile(Algorithm::Tight, Binding::Value);
pub(crate) const BOTH: Profile = profile(Algorithm::FastAndSlow, Binding::Slot);
pub(crate) const BOTH_VALUE: Profile = profile(Algorithm::FastAndSlow, Binding::Value);

pub(crate) const SLOW_VALUE: Profile = profile(Algorithm::Slow, Binding::Value);

/// Those of the profiles that the scheme has.
pub(crate) fn profiles<S: Instance>(all: &[Profile]) -> Vec<Profile> {
    all.iter().copied().filter(runs::<S>).collect()
}

pub(crate) fn runs<S: Instance>(profile: &Profile) -> bool {
    let valued = profile.binding == Binding::Value;
    !S::VALUES_ONLY || valued && profile.algorithm != Algorithm::FastAndSlow
}

const fn profile(algorithm: Algorithm, binding: Binding) -> Profile {
    let limits =
        Limits { window: 4, backlog: 16, history: 4, answers: 16, outputs: 8, retry: RETRY };
    Profile { algorithm, binding, fast_attempt: Some(0), fast_from: Slot::new(0), limits }
}

/// One secret, shared for every path.
pub(crate) struct World<S: Instance> {
    pub(crate) paths: BTreeMap<Path, S::Dealt>,
    pub(crate) weights: Vec<u32>,
    pub(crate) finality: Finality,
}

impl<S: Instance> World<S> {
    /// Thresholds of the slow, fast and tight paths. The tight one is what the engine takes for final.
    pub(crate) fn new(seed: u64, weights: &[u32], thresholds: [u32; 3]) -> Self {
        println!("seed {seed}");
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = Scalar::random(&mut rng);
        let paths = [Path::Slow, Path::Fast, Path::Tight]
            .into_iter()
            .zip(thresholds)
            .map(|(path, t)| (path, deal::<S>(weights, t, &secret, &mut rng)))
            .collect();
        let stakes: Vec<u128> = weights.iter().copied().map(u128::from).collect();
        let finality = finality(&stakes, thresholds[2].into());
        Self { paths, weights: weights.to_vec(), finality }
    }

    /// Four equal parties, one of them faulty: `t_fin` = 3.
    pub(crate) fn four(seed: u64) -> Self {
        Self::new(seed, &[1, 1, 1, 1], [2, 4, 3])
    }

    /// The same, with a slow path that needs every honest party.
    pub(crate) fn demanding(seed: u64) -> Self {
        Self::new(seed, &[1, 1, 1, 1], [3, 4, 3])
    }

    pub(crate) fn parties(&self) -> Vec<Party> {
        (0..u32::try_from(self.weights.len()).unwrap()).map(Party::new).collect()
    }

    pub(crate) fn config(&self, me: Party, profile: &Profile) -> Config<S> {
        let scheme = |path| self.sharing(path, me, profile.binding);
        let paths = match profile.algorithm {
            Algorithm::Slow => Paths::Slow(scheme(Path::Slow)),
            Algorithm::Tight => Paths::Tight(scheme(Path::Tight)),
            Algorithm::FastAndSlow => Paths::FastAndSlow {
                slow: scheme(Path::Slow),
                fast: scheme(Path::Fast),
                fast_from: profile.fast_from,
            },
        };
        Config {
            context: CONTEXT,
            me,
            paths,
            binding: profile.binding,
            fast_attempt: profile.fast_attempt,
            finality: self.finality.clone(),
            first: slot(1),
            life: Life::First,
            limits: profile.limits,
        }
    }

    pub(crate) fn beacon(&self, me: Party, profile: &Profile) -> Beacon<S> {
        Beacon::new(self.config(me, profile), &[]).unwrap()
    }

    /// A second life, which nobody has told where the others are.
    pub(crate) fn restart(&self, me: Party, profile: &Profile, records: &[Record]) -> Beacon<S> {
        self.relive(me, profile, (LIFE, records))
    }

    pub(crate) fn relive(
        &self,
        me: Party,
        profile: &Profile,
        (life, records): (Life, &[Record]),
    ) -> Beacon<S> {
        Beacon::new(Config { life, ..self.config(me, profile) }, records).unwrap()
    }

    /// What the party would send if nothing held it back.
    pub(crate) fn partial(
        &self,
        party: Party,
        path: Path,
        at: Slot,
        value: Option<Value>,
    ) -> S::Partial {
        let secret = S::secret(&self.paths[&path], party, binding(value)).unwrap();
        S::evaluate(&secret, &input::<S>(at, value)).unwrap()
    }

    /// The slow partial of the only holder, from a secret that is made once.
    pub(crate) fn partials_of_one(&self) -> impl Fn(Slot) -> S::Partial + use<S> {
        let secret = S::secret(&self.paths[&Path::Slow], A, Binding::Slot).unwrap();
        move |at| S::evaluate(&secret, &input::<S>(at, None)).unwrap()
    }

    /// What one path's configuration is for a party.
    pub(crate) fn sharing(&self, path: Path, party: Party, binding: Binding) -> Sharing<S> {
        let dealt = &self.paths[&path];
        let committee = S::committee(dealt, binding);
        Sharing { committee, secret: S::secret(dealt, party, binding) }
    }

    pub(crate) fn message(
        &self,
        party: Party,
        path: Path,
        at: Slot,
        value: Option<Value>,
    ) -> Message<S> {
        Message::Partial { path, slot: at, value, partial: self.partial(party, path, at, value) }
    }

    /// The output, from everybody's partials.
    pub(crate) fn output(&self, at: Slot, value: Option<Value>) -> S::Output {
        let path = Path::Slow;
        let holders = self.parties().into_iter().filter(|party| self.weights[party.index()] > 0);
        let partials = holders.map(|party| (party, self.partial(party, path, at, value))).collect();
        self.combine(path, at, value, partials).unwrap()
    }

    pub(crate) fn combine(
        &self,
        path: Path,
        at: Slot,
        value: Option<Value>,
        partials: BTreeMap<Party, S::Partial>,
    ) -> Result<S::Output, PartialsError> {
        let committee = S::committee(&self.paths[&path], binding(value));
        Ok(S::combine(&committee, &input::<S>(at, value), &partials)?.output)
    }
}

/// The life of a journal with so many records.
pub(crate) const fn life_of(records: usize) -> Life {
    if records == 0 { Life::First } else { LIFE }
}

/// A life that is not the first.
pub(crate) const LIFE: Life = Life::later([1; 16]);

pub(crate) const CONTEXT: Context =
    Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };

/// An engine for which this stake makes a value final, and all the rest may be faulty.
pub(crate) fn finality(stakes: &[u128], quorum: u128) -> Finality {
    let total: u128 = stakes.iter().sum();
    let share = |stake| Ratio::new(stake, total).unwrap();
    let quorum = Quorum::new(share(quorum - 1), share(total - quorum + 1));
    let stakes: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
    Finality::exact(&stakes, quorum).unwrap()
}

/// Shares the secret with a polynomial that is only for it.
fn deal<S: Instance>(weights: &[u32], t: u32, secret: &Scalar, rng: &mut ChaCha20Rng) -> S::Dealt {
    let access = Access::new(weights).unwrap();
    let mut coefficients = vec![*secret];
    coefficients.extend((1..t).map(|_| Scalar::random(rng)));
    let value = |x: &Scalar| coefficients.iter().rev().fold(Scalar::ZERO, |sum, c| sum * *x + *c);
    let shares: Vec<Scalar> = access.points().iter().map(value).collect();
    let threshold = Threshold::new(t, access.total()).unwrap();
    S::deal(&access, threshold, (secret, &shares), rng)
}

/// Outputs depend on a value if there is one.
pub(crate) fn binding(value: Option<Value>) -> Binding {
    if value.is_some() { Binding::Value } else { Binding::Slot }
}

pub(crate) fn input<S: Scheme>(at: Slot, value: Option<Value>) -> S::Input {
    S::input(&CONTEXT, binding(value), at, value).unwrap()
}

/// One input, and all that follows from it; jobs are handed back at once.
pub(crate) fn step<S: Scheme>(
    beacon: &mut Beacon<S>,
    now: Instant,
    input: Input<S>,
) -> Vec<Output<S>> {
    beacon.handle(now, input);
    drain(beacon, now)
}

/// All waiting outputs but a later life's questions; jobs are run and handed back.
pub(crate) fn drain<S: Scheme>(beacon: &mut Beacon<S>, now: Instant) -> Vec<Output<S>> {
    let mut outputs = Vec::new();
    while let Some(output) = beacon.poll() {
        match &output {
            Output::Do(Effect::Check(job)) => beacon.handle(now, Input::Checked(job.run())),
            Output::Do(Effect::Send { message: Message::AskHead { .. }, .. }) => continue,
            _ => {}
        }
        outputs.push(output);
    }
    outputs
}

/// One input, and what waits after it; jobs stay with the test.
pub(crate) fn raw_step<S: Scheme>(
    beacon: &mut Beacon<S>,
    now: Instant,
    input: Input<S>,
) -> Vec<Output<S>> {
    beacon.handle(now, input);
    std::iter::from_fn(|| beacon.poll()).collect()
}

pub(crate) fn prefinalized<S: Scheme>(number: u64, attempt: u32, value: Value) -> Input<S> {
    Input::Prefinalized { slot: slot(number), view: view(number, attempt), value }
}

pub(crate) fn finalized<S: Scheme>(number: u64, value: Option<Value>) -> Input<S> {
    Input::Finalized { slot: slot(number), value }
}

pub(crate) fn abandoned<S: Scheme>(number: u64, attempt: u32) -> Input<S> {
    Input::Abandoned { view: view(number, attempt) }
}

pub(crate) fn received<S: Scheme>(from: Party, message: Message<S>) -> Input<S> {
    Input::Received { from, message }
}

/// Messages that were sent, to any party.
pub(crate) fn sent<S: Scheme>(outputs: &[Output<S>]) -> Vec<Message<S>> {
    let sent = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Send { message, .. }) => Some(message.clone()),
        _ => None,
    });
    sent.collect()
}

pub(crate) fn records<S: Scheme>(outputs: &[Output<S>]) -> Vec<Record> {
    let records = outputs.iter().filter_map(|output| match output {
        Output::Keep(record) | Output::Note(record) => Some(*record),
        _ => None,
    });
    records.collect()
}

/// Work that an output waits for; what is computed ahead is left out.
pub(crate) fn jobs<S: Scheme>(outputs: &[Output<S>]) -> Vec<prefinal_beacon::Job<S>> {
    use prefinal_beacon::Work::{Foresee, Prepare};
    let ahead = |job: &prefinal_beacon::Job<S>| matches!(job.work(), Foresee(_) | Prepare(_));
    all_jobs(outputs).into_iter().filter(|job| !ahead(job)).collect()
}

/// Whose partials a job has still to work on.
pub(crate) fn left<S: Scheme>(job: &prefinal_beacon::Job<S>) -> BTreeSet<Party> {
    &job.work().parties() - job.prepared()
}

pub(crate) fn all_jobs<S: Scheme>(outputs: &[Output<S>]) -> Vec<prefinal_beacon::Job<S>> {
    let jobs = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Check(job)) => Some(job.clone()),
        _ => None,
    });
    jobs.collect()
}

pub(crate) fn reveals<S: Scheme>(outputs: &[Output<S>]) -> Vec<prefinal_beacon::Reveal<S>> {
    let reveals = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Reveal(reveal)) => Some((**reveal).clone()),
        _ => None,
    });
    reveals.collect()
}

pub(crate) fn accused<S: Scheme>(outputs: &[Output<S>]) -> Vec<(Party, prefinal_beacon::Fault<S>)> {
    let accused = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Accuse { party, fault }) => Some((*party, fault.clone())),
        _ => None,
    });
    accused.collect()
}

/// As a driver that keeps what it has checked: by what a job says in public, and no batch.
pub(crate) fn one_by_one<S: Instance>(job: &Job<S>) -> Verdict<S> {
    let (Work::Combine(partials), Some(committee)) = (job.work(), job.committee()) else {
        panic!("{job:?}");
    };
    let mut culprits = BTreeSet::new();
    for (party, partial) in partials {
        let one = BTreeMap::from([(*party, partial.clone())]);
        if S::verify(committee, job.input(), &one).is_err() {
            culprits.insert(*party);
        }
    }
    job.verdict(Finding::Combined(if culprits.is_empty() {
        S::combine(committee, job.input(), partials).map(Box::new)
    } else {
        Err(PartialsError::Faulty { culprits })
    }))
}
