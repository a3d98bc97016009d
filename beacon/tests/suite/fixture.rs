//! Committees by direct secret sharing: a dealer that everybody trusts, for tests only. It remembers
//! all secrets, so a test can be the adversary and count what has leaked.
use std::collections::BTreeMap;
use std::time::Duration;

use beacon::{Beacon, Input, Output};
use beacon::{Binding, Config, Limits, Message, Path, Paths, Record, Scheme, Slot, Value, View};
use crypto_core::access::{Access, Party, Threshold};
use crypto_core::context::{ChainId, Context, EpochId};
use crypto_core::curve::{G2Projective, Scalar};
use crypto_core::generators::{g_hat, h};
use crypto_core::secret::Secret;
use crypto_core::wvuf::{
    self, AdmittedKey, Committee, EvaluationKey, KeyShares, Output as Evaluation, Partial,
    QuorumError, blind,
};
use machine::{Instant, Machine};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

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

const fn profile(algorithm: Algorithm, binding: Binding) -> Profile {
    let limits = Limits { window: 4, history: 4, retry: RETRY };
    Profile { algorithm, binding, fast_attempt: Some(0), fast_from: Slot::new(0), limits }
}

/// One sharing with its secrets.
pub(crate) struct Dealt {
    pub(crate) committee: Committee,
    pub(crate) empty: Committee,
    pub(crate) admitted: BTreeMap<Party, AdmittedKey>,
    keys: BTreeMap<Party, Secret<[u8; 32]>>,
}

impl Dealt {
    fn new(weights: &[u32], t: u32, secret: &Scalar, rng: &mut ChaCha20Rng) -> Self {
        let access = Access::new(weights).unwrap();
        let mut coefficients = vec![*secret];
        coefficients.extend((1..t).map(|_| Scalar::random(rng)));
        let points = access.points();
        let shares: Vec<(Party, Scalar)> = access
            .parties()
            .flat_map(|party| points[access.range(party)].iter().map(move |x| (party, *x)))
            .map(|(party, x)| {
                (party, coefficients.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + *c))
            })
            .collect();
        let public = shares.iter().map(|(_, share)| (g_hat() * share).to_affine()).collect();
        let threshold = Threshold::new(t, access.total()).unwrap();
        let empty = Committee::new(access.clone(), threshold, public).unwrap();
        let mut committee = empty.clone();
        let (mut admitted, mut keys) = (BTreeMap::new(), BTreeMap::new());
        for party in access.parties().filter(|party| access.weight(*party) > 0) {
            let own = shares.iter().filter(|(holder, _)| *holder == party);
            let own = own.map(|(_, share)| (h() * share).to_affine()).collect();
            let (key, blinded) = blind(&KeyShares::new(own), rng);
            let key_admitted = empty.admit(party, blinded).unwrap();
            committee.insert(key_admitted.clone()).unwrap();
            admitted.insert(party, key_admitted);
            keys.insert(party, key.to_secret_bytes());
        }
        Self { committee, empty, admitted, keys }
    }

    pub(crate) fn key(&self, party: Party) -> Option<EvaluationKey> {
        self.keys.get(&party).map(|bytes| EvaluationKey::from_secret_bytes(bytes).unwrap())
    }

    /// `rᵢ`, which only a test knows.
    pub(crate) fn blinding(&self, party: Party) -> Scalar {
        Scalar::from_bytes(self.keys[&party].expose()).unwrap().invert().unwrap()
    }

    fn scheme(&self, party: Party) -> Scheme {
        Scheme { committee: self.committee.clone(), evaluation: self.key(party) }
    }
}

/// One secret, shared for every path.
pub(crate) struct World {
    pub(crate) paths: BTreeMap<Path, Dealt>,
    pub(crate) weights: Vec<u32>,
}

impl World {
    /// Thresholds of the slow, fast and tight paths.
    pub(crate) fn new(seed: u64, weights: &[u32], thresholds: [u32; 3]) -> Self {
        println!("seed {seed}");
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = Scalar::random(&mut rng);
        let paths = [Path::Slow, Path::Fast, Path::Tight]
            .into_iter()
            .zip(thresholds)
            .map(|(path, t)| (path, Dealt::new(weights, t, &secret, &mut rng)))
            .collect();
        Self { paths, weights: weights.to_vec() }
    }

    /// Four equal parties, one of them faulty: `t_fin` = 3.
    pub(crate) fn four(seed: u64) -> Self {
        Self::new(seed, &[1, 1, 1, 1], [2, 4, 3])
    }

    /// The same, with a slow path that needs every honest party.
    pub(crate) fn demanding(seed: u64) -> Self {
        Self::new(seed, &[1, 1, 1, 1], [3, 4, 3])
    }

    pub(crate) fn context() -> Context {
        Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) }
    }

    pub(crate) fn parties(&self) -> Vec<Party> {
        (0..u32::try_from(self.weights.len()).unwrap()).map(Party::new).collect()
    }

    pub(crate) fn config(&self, me: Party, profile: &Profile) -> Config {
        let scheme = |path| self.paths[&path].scheme(me);
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
            context: Self::context(),
            me,
            paths,
            binding: profile.binding,
            fast_attempt: profile.fast_attempt,
            first: slot(1),
            limits: profile.limits,
        }
    }

    pub(crate) fn beacon(&self, me: Party, profile: &Profile) -> Beacon {
        Beacon::new(self.config(me, profile), &[]).unwrap()
    }

    pub(crate) fn restart(&self, me: Party, profile: &Profile, records: &[Record]) -> Beacon {
        Beacon::new(self.config(me, profile), records).unwrap()
    }

    /// What the party would send if nothing held it back.
    pub(crate) fn partial(
        &self,
        party: Party,
        path: Path,
        at: Slot,
        value: Option<Value>,
    ) -> Partial {
        self.paths[&path].key(party).unwrap().evaluate(&input(at, value))
    }

    pub(crate) fn message(
        &self,
        party: Party,
        path: Path,
        at: Slot,
        value: Option<Value>,
    ) -> Message {
        Message::Partial { path, slot: at, value, partial: self.partial(party, path, at, value) }
    }

    /// The output, from everybody's partials.
    pub(crate) fn output(&self, at: Slot, value: Option<Value>) -> Evaluation {
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
        partials: BTreeMap<Party, Partial>,
    ) -> Result<Evaluation, QuorumError> {
        let committee = &self.paths[&path].committee;
        Ok(wvuf::combine(&committee.verify_all(&input(at, value), partials)?))
    }
}

pub(crate) fn input(at: Slot, value: Option<Value>) -> wvuf::Input {
    wvuf::Input::new(&World::context(), at, value.map(Value::to_bytes))
}

/// A partial that decodes and is wrong.
pub(crate) fn wrong_partial(number: u64) -> Partial {
    let point = G2Projective::generator() * Scalar::from_u64(number);
    borsh::from_slice(&point.to_affine().to_bytes()).unwrap()
}

/// `σ · ĝ^scalar`, for faults that cancel.
pub(crate) fn shifted(partial: &Partial, by: &Scalar) -> Partial {
    let point: crypto_core::curve::G2Affine =
        borsh::from_slice(&borsh::to_vec(partial).unwrap()).unwrap();
    let point = G2Projective::from(point) + (G2Projective::generator() * by);
    borsh::from_slice(&point.to_affine().to_bytes()).unwrap()
}

/// `∏ e(πᵢ, σᵢ)` without random coefficients: what a naive batch would compare.
pub(crate) fn plain_product(dealt: &Dealt, partials: &BTreeMap<Party, Partial>) -> [u8; 576] {
    let terms: Vec<_> = partials
        .iter()
        .map(|(party, partial)| {
            let sigma = borsh::from_slice(&borsh::to_vec(partial).unwrap()).unwrap();
            (dealt.committee.keys()[party].pi(), sigma)
        })
        .collect();
    crypto_core::curve::pairing_product(&terms).to_bytes()
}

/// `h^r`, to see that a fixture's blinding is the admitted one.
pub(crate) fn pi(blinding: &Scalar) -> [u8; 48] {
    (h() * blinding).to_affine().to_bytes()
}

/// One input, and all that follows from it; jobs are handed back at once.
pub(crate) fn step(beacon: &mut Beacon, now: Instant, input: Input) -> Vec<Output> {
    beacon.handle(now, input);
    drain(beacon, now)
}

/// All waiting outputs; jobs are run and handed back.
pub(crate) fn drain(beacon: &mut Beacon, now: Instant) -> Vec<Output> {
    let mut outputs = Vec::new();
    while let Some(output) = beacon.poll() {
        if let Output::Check(job) = &output {
            beacon.handle(now, Input::Checked(job.run()));
        }
        outputs.push(output);
    }
    outputs
}

/// One input, and what waits after it; jobs stay with the test.
pub(crate) fn raw_step(beacon: &mut Beacon, now: Instant, input: Input) -> Vec<Output> {
    beacon.handle(now, input);
    std::iter::from_fn(|| beacon.poll()).collect()
}

pub(crate) fn prefinalized(number: u64, attempt: u32, value: Value) -> Input {
    Input::Prefinalized { slot: slot(number), view: view(number, attempt), value }
}

pub(crate) fn finalized(number: u64, value: Option<Value>) -> Input {
    Input::Finalized { slot: slot(number), value }
}

pub(crate) fn abandoned(number: u64, attempt: u32) -> Input {
    Input::Abandoned { view: view(number, attempt) }
}

pub(crate) fn received(from: Party, message: Message) -> Input {
    Input::Received { from, message }
}

/// Messages that were sent, whoever they are for.
pub(crate) fn sent(outputs: &[Output]) -> Vec<Message> {
    let sent = outputs.iter().filter_map(|output| match output {
        Output::Send { message, .. } => Some(message.clone()),
        _ => None,
    });
    sent.collect()
}

pub(crate) fn records(outputs: &[Output]) -> Vec<Record> {
    let records = outputs.iter().filter_map(|output| match output {
        Output::Persist(record) => Some(*record),
        _ => None,
    });
    records.collect()
}

pub(crate) fn jobs(outputs: &[Output]) -> Vec<beacon::Job> {
    let jobs = outputs.iter().filter_map(|output| match output {
        Output::Check(job) => Some(job.clone()),
        _ => None,
    });
    jobs.collect()
}

pub(crate) fn reveals(outputs: &[Output]) -> Vec<beacon::Reveal> {
    let reveals = outputs.iter().filter_map(|output| match output {
        Output::Reveal(reveal) => Some((**reveal).clone()),
        _ => None,
    });
    reveals.collect()
}

pub(crate) fn accused(outputs: &[Output]) -> Vec<(Party, beacon::Fault)> {
    let accused = outputs.iter().filter_map(|output| match output {
        Output::Accuse { party, fault } => Some((*party, fault.clone())),
        _ => None,
    });
    accused.collect()
}
