//! Weighted VUF, from bytes to output: exactly those whose partial is wrong are named, and a quorum
//! gives the one output there is.
use std::collections::BTreeMap;
use std::sync::LazyLock;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::{G1Affine, G2, G2Affine, Scalar};
use prefinal_crypto_core::generators::{g_hat, h};
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::wvuf::{
    Input, KeyShares, Output, Partial, QuorumError, VufCommittee, blind, combine,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::partials::{Encodings, Forgery, wrong};

const WEIGHTS: [u32; 4] = [3, 1, 2, 2];
const THRESHOLD: u32 = 5;

struct World {
    committee: VufCommittee,
    input: Input,
    honest: Encodings,
    output: Output,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let access = Access::new(&WEIGHTS).unwrap();
    let threshold = Threshold::new(THRESHOLD, access.total()).unwrap();
    let secret = Secret::new(Scalar::random(&mut rng));
    let polynomial = Polynomial::random(threshold.t(), &secret, &mut rng);
    let shares = polynomial.shares(&Points::of(&access, Placement::RootsOfUnity));
    let public: Vec<G2Affine> =
        shares.expose().iter().map(|share| (g_hat() * *share).to_affine()).collect();
    let mut committee = VufCommittee::new(access.clone(), threshold, public).unwrap();
    let mut keys = BTreeMap::new();
    for party in access.parties() {
        let own = &shares.expose()[access.range(party)];
        let own: Vec<G1Affine> = own.iter().map(|share| (h() * *share).to_affine()).collect();
        let (key, blinded) = blind(&committee, party, &KeyShares::new(own), &mut rng);
        let admitted = committee.admit(party, blinded).unwrap();
        committee.insert(admitted).unwrap();
        keys.insert(party, key);
    }
    let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(2) };
    let input = Input::new(&context, Slot::new(3), None);
    let evaluate = |input: &Input| -> BTreeMap<Party, Partial> {
        keys.iter().map(|(party, key)| (*party, key.evaluate(input))).collect()
    };
    let encode = |partials: BTreeMap<Party, Partial>| {
        let encode = |(party, partial)| (party, borsh::to_vec(&partial).unwrap());
        partials.into_iter().map(encode).collect()
    };
    let output = combine(&committee.verify_all(&input, evaluate(&input)).unwrap());
    let honest = Encodings {
        right: encode(evaluate(&input)),
        elsewhere: encode(evaluate(&Input::new(&context, Slot::new(4), None))),
        header: 0,
    };
    World { committee, input, honest, output }
});

pub(crate) fn run(sent: Vec<(u8, Forgery)>) {
    let World { committee, input, honest, output } = &*WORLD;
    let partials: BTreeMap<Party, Partial> = honest.received::<G2, _>(&sent);
    let strangers = partials.keys().any(|party| !honest.right.contains_key(party));
    let weight: u32 = partials.keys().map(|party| committee.weight_of(*party)).sum();
    let wrong = wrong(honest, &partials);
    match committee.verify_all(input, partials) {
        Ok(quorum) => {
            assert!(!strangers && wrong.is_empty() && weight >= THRESHOLD);
            assert_eq!(combine(&quorum), *output);
        }
        Err(QuorumError::Misuse(_)) => assert!(strangers),
        Err(QuorumError::BelowThreshold { got, .. }) => {
            assert!(got == weight && weight < THRESHOLD);
        }
        Err(QuorumError::Faulty { culprits }) => assert_eq!(culprits, wrong),
        Err(other) => panic!("{other}"),
    }
}
