//! Weighted VUF, from bytes to output: whatever a set of parties sends, exactly those whose partial
//! is wrong are named, and a quorum gives the one output there is.
//!
//! `cargo +nightly fuzz run wvuf` in `crypto-core/`.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use arbitrary::Arbitrary;
use crypto_core::access::{Access, Party, Threshold};
use crypto_core::context::{ChainId, Context, EpochId, Slot};
use crypto_core::curve::{G1Affine, G2Affine, Scalar};
use crypto_core::generators::{g_hat, h};
use crypto_core::polynomial::Polynomial;
use crypto_core::secret::Secret;
use crypto_core::wvuf::{
    Committee, EvaluationKey, Input, KeyShares, Output, Partial, QuorumError, blind, combine,
};
use libfuzzer_sys::fuzz_target;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const WEIGHTS: [u32; 5] = [3, 0, 1, 2, 2];
const THRESHOLD: u32 = 5;

/// What one party sends.
#[derive(Arbitrary, Debug)]
enum Sent {
    Honest,
    /// Right, but for the next slot.
    OtherSlot,
    /// Right, but for another party.
    Another(u8),
    /// Off by this multiple of the generator: two such errors may cancel.
    Off(i8),
    Bytes(Vec<u8>),
}

struct World {
    committee: Committee,
    input: Input,
    honest: BTreeMap<Party, Partial>,
    late: BTreeMap<Party, Partial>,
    output: Output,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let access = Access::new(&WEIGHTS).unwrap();
    let threshold = Threshold::new(THRESHOLD, access.total()).unwrap();
    let polynomial =
        Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
    let values = polynomial.evaluate_over(&access.domain());
    let values = &values.expose()[..WEIGHTS.iter().sum::<u32>() as usize];
    let public: Vec<G2Affine> = values.iter().map(|v| (g_hat() * *v).to_affine()).collect();
    let mut committee = Committee::new(access.clone(), threshold, public).unwrap();
    let mut keys: BTreeMap<Party, EvaluationKey> = BTreeMap::new();
    for party in access.parties().filter(|party| access.weight(*party) > 0) {
        let shares: Vec<G1Affine> =
            values[access.range(party)].iter().map(|v| (h() * *v).to_affine()).collect();
        let (key, public) = blind(&KeyShares::new(shares), &mut rng);
        let admitted = committee.admit(party, public).unwrap();
        committee.insert(admitted).unwrap();
        keys.insert(party, key);
    }
    let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(2) };
    let input = Input::new(&context, Slot::new(3), None);
    let later = Input::new(&context, Slot::new(4), None);
    let evaluate = |input| keys.iter().map(|(party, key)| (*party, key.evaluate(input))).collect();
    let (honest, late): (BTreeMap<Party, Partial>, _) = (evaluate(&input), evaluate(&later));
    let output = combine(&committee.verify_all(&input, honest.clone()).unwrap());
    World { committee, input, honest, late, output }
});

fuzz_target!(|sent: Vec<(u8, Sent)>| {
    let world = &*WORLD;
    let partials: BTreeMap<Party, Partial> = sent
        .iter()
        .take(WEIGHTS.len())
        .map(|(party, sent)| (Party::new((party % 7).into()), sent))
        .filter_map(|(party, sent)| Some((party, partial(world, party, sent)?)))
        .collect();
    let strangers = partials.keys().any(|party| !world.honest.contains_key(party));
    let weight: u32 = partials.keys().map(|party| world.committee.weight_of(*party)).sum();
    let wrong: BTreeSet<Party> = partials
        .iter()
        .filter(|(party, partial)| world.honest.get(party) != Some(partial))
        .map(|(party, _)| *party)
        .collect();
    match world.committee.verify_all(&world.input, partials) {
        Ok(quorum) => {
            assert!(!strangers && wrong.is_empty() && weight >= THRESHOLD);
            assert_eq!(combine(&quorum), world.output);
        }
        Err(QuorumError::NotAdmitted { .. }) => assert!(strangers),
        Err(QuorumError::BelowThreshold { got, .. }) => {
            assert!(got == weight && weight < THRESHOLD);
        }
        Err(QuorumError::Faulty { culprits }) => assert_eq!(culprits, wrong),
    }
});

fn partial(world: &World, party: Party, sent: &Sent) -> Option<Partial> {
    match sent {
        Sent::Honest => world.honest.get(&party).copied(),
        Sent::OtherSlot => world.late.get(&party).copied(),
        Sent::Another(other) => world.honest.get(&Party::new((*other).into())).copied(),
        Sent::Off(by) => {
            let honest = borsh::to_vec(world.honest.get(&party)?).unwrap();
            let error = G2Affine::generator() * Scalar::from_u64(by.unsigned_abs().into());
            let error = if *by < 0 { -error } else { error };
            let point = (error + G2Affine::from_bytes(&honest).unwrap()).to_affine();
            borsh::from_slice(&point.to_bytes()).ok()
        }
        Sent::Bytes(bytes) => borsh::from_slice(bytes).ok(),
    }
}
