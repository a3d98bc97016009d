//! A dealer that everybody trusts, for tests only.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::hazmat::{Gt, pairing};
use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
use prefinal_crypto_core::generators::{g_hat, h};
use prefinal_crypto_core::wvuf::{
    BlindedKey, EvaluationKey, Input, KeyShares, Partial, VufCommittee, blind,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Party 1 holds nothing, parties 0 and 3 hold the same.
pub(crate) const WEIGHTS: [u32; 6] = [3, 0, 1, 3, 5, 2];

/// Threshold of the fast path.
pub(crate) const FAST: u32 = 9;
/// Threshold of the slow path.
pub(crate) const SLOW: u32 = 7;

pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

pub(crate) fn context() -> Context {
    Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(3) }
}

pub(crate) fn party(position: u32) -> Party {
    Party::new(position)
}

pub(crate) fn committee(public: &[G2Affine], t: u32) -> VufCommittee {
    let access = Access::new(&WEIGHTS).unwrap();
    let threshold = Threshold::new(t, access.total()).unwrap();
    VufCommittee::new(access, threshold, public.to_vec()).unwrap()
}

/// Slot 7, without a value.
pub(crate) fn input() -> Input {
    Input::new(&context(), Slot::new(7), None)
}

pub(crate) fn partials(dealt: &Dealt, parties: &[u32]) -> BTreeMap<Party, Partial> {
    let evaluate = |&i: &u32| (party(i), dealt.keys[&party(i)].evaluate(&input()));
    parties.iter().map(evaluate).collect()
}

/// `e(h^f(0), H(m))`
pub(crate) fn evaluate_in_the_clear(secret: &Scalar, input: &Input) -> Gt {
    pairing(&(h() * secret).to_affine(), &input.point())
}

/// One sharing, with all its secrets.
pub(crate) struct Dealt {
    pub(crate) committee: VufCommittee,
    pub(crate) public: Vec<G2Affine>,
    pub(crate) shares: BTreeMap<Party, Vec<G1Affine>>,
    pub(crate) keys: BTreeMap<Party, EvaluationKey>,
    pub(crate) blinded: BTreeMap<Party, BlindedKey>,
}

impl Dealt {
    pub(crate) fn new(secret: &Scalar, t: u32, rng: &mut ChaCha20Rng) -> Self {
        let access = Access::new(&WEIGHTS).unwrap();
        let mut coefficients = vec![*secret];
        coefficients.extend((1..t).map(|_| Scalar::random(rng)));
        let root = root_of_unity(16);
        let evaluate = |at: u64| {
            let x = root.vartime_pow(at);
            coefficients.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + *c)
        };
        let values: Vec<Scalar> = (0..u64::from(access.total())).map(evaluate).collect();
        let public: Vec<_> = values.iter().map(|v| (g_hat() * *v).to_affine()).collect();
        let mut committee = committee(&public, t);
        let (mut shares, mut keys, mut blinded) =
            <(BTreeMap<_, _>, BTreeMap<_, _>, BTreeMap<_, _>)>::default();
        for party in access.parties().filter(|party| access.weight(*party) > 0) {
            let own: Vec<_> =
                values[access.range(party)].iter().map(|v| (h() * *v).to_affine()).collect();
            let (key, public) = blind(&committee, party, &KeyShares::new(own.clone()), rng);
            shares.insert(party, own);
            keys.insert(party, key);
            blinded.insert(party, public);
        }
        let admission = committee.admit_all(blinded.clone());
        assert!(admission.refused.is_empty(), "{:?}", admission.refused);
        for key in admission.admitted {
            committee.insert(key).unwrap();
        }
        Self { committee, public, shares, keys, blinded }
    }
}

/// `7^((r − 1)/order)`, for `−1/order` is the integer `(r − 1)/order`.
fn root_of_unity(order: u64) -> Scalar {
    let exponent = -Scalar::from_u64(order).invert().unwrap();
    let mut power = Scalar::ONE;
    for byte in exponent.to_bytes() {
        for bit in (0..8).rev() {
            power *= power;
            if byte >> bit & 1 == 1 {
                power *= Scalar::from_u64(7);
            }
        }
    }
    power
}
