//! The weighted VUF: from the shares to the randomness, on both paths.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::G2;
use prefinal_crypto_core::wvuf::{
    AdmitError, BlindedKey, EvaluationKey, Input, KeyShares, Partial, PartialError, VufCommittee,
    audit, blind, combine,
};
use serde::Deserialize;

use super::{Replay, array, bytes, load, points};

#[derive(Deserialize)]
struct Vector {
    weights: Vec<u32>,
    chain: String,
    epoch: u64,
    slow: Path,
    fast: Path,
}

#[derive(Deserialize)]
struct Path {
    t: u32,
    id: String,
    public: Vec<String>,
    shares: BTreeMap<u32, Vec<String>>,
    blinding: String,
    keys: BTreeMap<u32, Key>,
    inputs: Vec<Evaluated>,
    refused: BTreeMap<String, String>,
    false_keys_of_3: BTreeMap<String, FalseKey>,
}

#[derive(Deserialize)]
struct FalseKey {
    key: String,
    reason: String,
}

#[derive(Deserialize)]
struct Key {
    evaluation: String,
    pi: String,
    nonce: String,
    response: String,
    rho: Vec<String>,
}

#[derive(Deserialize)]
struct Evaluated {
    slot: String,
    value: Option<String>,
    point: String,
    partials: BTreeMap<u32, String>,
    output: String,
    randomness: String,
}

fn vector() -> Vector {
    load(include_str!("../../vectors/model/wvuf.json"))
}

fn context(vector: &Vector) -> Context {
    Context { chain: ChainId::new(array(&vector.chain)), epoch: EpochId::new(vector.epoch) }
}

fn input(vector: &Vector, case: &Evaluated) -> Input {
    let value = case.value.as_deref().map(array);
    Input::new(&context(vector), Slot::new(case.slot.parse().unwrap()), value)
}

fn committee(vector: &Vector, path: &Path) -> VufCommittee {
    let access = Access::new(&vector.weights).unwrap();
    let threshold = Threshold::new(path.t, access.total()).unwrap();
    VufCommittee::new(access, threshold, points::<G2>(&path.public)).unwrap()
}

fn partial(text: &str) -> Partial {
    borsh::from_slice(&bytes(text)).unwrap()
}

/// Blinds again with the model's factors and compares every byte.
fn blinded(path: &Path, committee: &VufCommittee) -> BTreeMap<Party, (EvaluationKey, BlindedKey)> {
    let mut rng = Replay::new(&path.blinding);
    let mut keys = BTreeMap::new();
    for (party, shares) in &path.shares {
        let (key, public) = {
            let shares = KeyShares::new(points(shares));
            blind(committee, Party::new(*party), &shares, &mut rng)
        };
        let expected = &path.keys[party];
        assert_eq!(hex::encode(key.to_secret_bytes().expose()), expected.evaluation);
        assert_eq!(hex::encode(public.pi().to_bytes()), expected.pi);
        let proof = borsh::to_vec(&public).unwrap()[48..128].to_vec();
        assert_eq!(hex::encode(proof), [&*expected.nonce, &*expected.response].concat());
        let rho: Vec<_> = public.rho().iter().map(|rho| hex::encode(rho.to_bytes())).collect();
        assert_eq!(rho, expected.rho);
        keys.insert(Party::new(*party), (key, public));
    }
    rng.finish();
    keys
}

#[test]
fn from_shares_to_randomness() {
    let vector = vector();
    for path in [&vector.slow, &vector.fast] {
        let mut committee = committee(&vector, path);
        assert_eq!(hex::encode(committee.id()), path.id);
        let keys = blinded(path, &committee);
        let public: BTreeMap<_, _> = keys.iter().map(|(p, (_, key))| (*p, key.clone())).collect();
        for admitted in committee.admit_all(public.clone()).admitted {
            committee.insert(admitted).unwrap();
        }
        let audit =
            audit::keys(&vector.weights, path.t, &points::<G2>(&path.public), &public).unwrap();
        for case in &path.inputs {
            let input = input(&vector, case);
            assert_eq!(hex::encode(input.point().to_bytes()), case.point);
            let partials: BTreeMap<_, _> =
                keys.iter().map(|(party, (key, _))| (*party, key.evaluate(&input))).collect();
            for (party, partial) in &partials {
                let expected = &case.partials[&party.get()];
                assert_eq!(hex::encode(borsh::to_vec(partial).unwrap()), *expected);
            }
            let slow = audit.evaluate(&context(&vector), input.slot(), input.value(), &partials);
            let quorum = committee.verify_all(&input, partials).unwrap();
            let output = combine(&quorum);
            assert_eq!(audit.open(&quorum.proof()), Ok(output));
            assert_eq!(hex::encode(output.to_bytes()), case.output);
            assert_eq!(hex::encode(output.randomness()), case.randomness);
            assert_eq!(slow, Ok(output));
        }
    }
}

#[test]
fn both_paths_give_one_output_from_different_partials() {
    let Vector { slow, fast, .. } = vector();
    for (slow, fast) in slow.inputs.iter().zip(&fast.inputs) {
        assert_eq!(slow.output, fast.output);
        assert!(slow.partials.iter().all(|(party, partial)| fast.partials[party] != *partial));
    }
}

fn admit_reason(error: AdmitError) -> &'static str {
    match error {
        AdmitError::ShareCount { .. } => "share count",
        AdmitError::Possession => "possession",
        AdmitError::Mismatch => "mismatch",
        AdmitError::NotMember { .. } | AdmitError::NoShares { .. } => "party",
        _ => "unknown",
    }
}

#[test]
fn what_the_model_refuses_is_refused() {
    let vector = vector();
    let path = &vector.slow;
    let mut committee = committee(&vector, path);
    let keys = blinded(path, &committee);
    let party = Party::new(3);
    let refused = |why: &str| Some(path.refused[why].as_str());
    for (why, case) in &path.false_keys_of_3 {
        let verdict = borsh::from_slice::<BlindedKey>(&bytes(&case.key))
            .map_err(|_| "identity")
            .and_then(|key| committee.admit(party, key).map_err(admit_reason));
        assert_eq!(verdict.err(), Some(case.reason.as_str()), "{why}");
    }
    assert_eq!(path.false_keys_of_3.len(), 8);
    let admitted = committee.admit(party, keys[&party].1.clone()).unwrap();
    committee.insert(admitted).unwrap();
    let last = path.inputs.last().unwrap();
    let verify = |input: &Input, partial_of: u32| {
        let verdict = committee.verify(party, input, &partial(&last.partials[&partial_of]));
        verdict.map_err(|error| match error {
            PartialError::Mismatch { .. } => "mismatch",
            PartialError::NotAdmitted { .. } => "party",
            _ => "unknown",
        })
    };
    let elsewhere = Input::new(&context(&vector), Slot::new(8), None);
    assert_eq!(verify(&elsewhere, 3).err(), refused("partial of another input"));
    assert_eq!(verify(&input(&vector, last), 0).err(), refused("partial of another party"));
    assert_eq!(verify(&input(&vector, last), 3), Ok(()));
}
