//! Threshold BLS: from shares to a signature of the group key.
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::{Domain, MinPk, MinSig, PublicKey, Variant};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{Affine, Group, Scalar};
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{
    KeyShares, Message, Partial, PartialError, Purpose, QuorumError, Setup, Signer,
    SigningCommittee,
};
use serde::Deserialize;

use super::{Replay, bytes, load, points, scalar};

#[derive(Deserialize)]
struct Vector {
    weights: Vec<u32>,
    t: u32,
    domain: String,
    round: u64,
    draws: String,
    shares: Vec<String>,
    commitment: Vec<String>,
    public: Vec<String>,
    key: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    kind: String,
    message: String,
    partials: BTreeMap<u32, Vec<String>>,
    signature: String,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Refused {
    why: String,
    party: u32,
    partial: Vec<String>,
    reason: String,
}

fn encoded<G: Group>(points: &[Affine<G>]) -> Vec<String> {
    points.iter().map(|point| hex::encode(point.to_bytes())).collect()
}

fn partial<V: Variant>(texts: &[String]) -> Partial<V> {
    borsh::from_slice(&borsh::to_vec(&points::<V::SignatureGroup>(texts)).unwrap()).unwrap()
}

/// Purpose of the committee and what it signs.
fn what<V: Variant>(vector: &Vector, case: &Case) -> (Purpose, Message<V>) {
    if case.kind == "round" {
        let round = RoundNumber::new(vector.round).unwrap();
        assert_eq!(hex::encode(round.message()), case.message);
        (Purpose::Rounds, Message::round(round))
    } else {
        assert_eq!(vector.domain, "threshold model");
        let domain = Domain::new("threshold model");
        (Purpose::Messages(domain), Message::new(domain, &bytes(&case.message)))
    }
}

/// Deals with the model's coefficients.
fn deal<V: Variant>(
    vector: &Vector,
    placement: Placement,
    purpose: Purpose,
) -> (SigningCommittee<V>, Vec<Signer<V>>) {
    let mut rng = Replay::new(&vector.draws);
    let secret = Secret::new(Scalar::random(&mut rng));
    let polynomial = Polynomial::random(NonZeroU32::new(vector.t).unwrap(), &secret, &mut rng);
    rng.finish();
    let commitment = Commitment::<V::KeyGroup>::commit(&polynomial);
    assert_eq!(encoded(commitment.points()), vector.commitment);
    let access = Access::new(&vector.weights).unwrap();
    let threshold = Threshold::new(vector.t, access.total()).unwrap();
    let shares = polynomial.shares(&Points::of(&access, placement));
    let expected: Vec<Scalar> = vector.shares.iter().map(|text| scalar(text)).collect();
    assert!(*shares.expose() == expected);
    let setup = Setup { access: access.clone(), threshold, placement, purpose };
    let committee = SigningCommittee::<V>::from_commitment(setup.clone(), &commitment).unwrap();
    assert_eq!(encoded(committee.share_keys()), vector.public);
    let key = PublicKey::<V>::from_bytes(&bytes(&vector.key)).unwrap();
    let same = SigningCommittee::from_share_keys(setup, &key, points(&vector.public)).unwrap();
    assert_eq!(same.id(), committee.id());
    let holders = access.parties().filter(|party| access.weight(*party) > 0);
    let signer = |party| {
        let own = Secret::new(shares.expose()[access.range(party)].to_vec());
        KeyShares::new(party, own).check(&committee).unwrap()
    };
    let signers = holders.map(signer).collect();
    (committee, signers)
}

fn check<V: Variant>(placement: Placement, vector: &Vector) {
    for case in &vector.cases {
        let (purpose, message) = what::<V>(vector, case);
        let (committee, signers) = deal::<V>(vector, placement, purpose);
        let partials: BTreeMap<Party, Partial<V>> = signers
            .iter()
            .map(|signer| (signer.party(), signer.partial(&message).unwrap()))
            .collect();
        for (party, partial) in &partials {
            assert_eq!(encoded(partial.points()), case.partials[&party.get()]);
            assert_eq!(partial.verify(&committee, *party, &message), Ok(()));
        }
        let verified = committee.verify_all(&message, partials.clone()).unwrap();
        assert_eq!(hex::encode(verified.combine().to_bytes()), case.signature);
        let last: BTreeMap<_, _> = partials.clone().into_iter().skip(1).collect();
        let optimistic = committee.optimistic(&message, last).unwrap();
        assert_eq!(hex::encode(optimistic.combine().unwrap().to_bytes()), case.signature);
        let first: BTreeMap<_, _> = partials.clone().into_iter().take(2).collect();
        let error = committee.optimistic(&message, first).unwrap_err();
        assert!(matches!(error, QuorumError::BelowThreshold { got: 3, .. }), "{error}");
        for refused in &case.refused {
            let party = Party::new(refused.party);
            let wrong = partial::<V>(&refused.partial);
            let reason = match wrong.verify(&committee, party, &message).unwrap_err() {
                PartialError::Mismatch { .. } => "mismatch",
                PartialError::ShareCount { .. } => "share count",
                other => unreachable!("{other}"),
            };
            assert_eq!(reason, refused.reason, "{}", refused.why);
            let mut all = partials.clone();
            all.insert(party, wrong);
            let error = committee.verify_all(&message, all).unwrap_err();
            assert_eq!(error, QuorumError::Faulty { culprits: BTreeSet::from([party]) });
        }
    }
}

#[test]
fn from_shares_to_a_signature() {
    type Placed = BTreeMap<String, Vector>;
    let vectors: BTreeMap<String, Placed> =
        load(include_str!("../../vectors/model/threshold.json"));
    for (placement, name) in
        [(Placement::Consecutive, "consecutive"), (Placement::RootsOfUnity, "roots-of-unity")]
    {
        check::<MinSig>(placement, &vectors["min-sig"][name]);
        check::<MinPk>(placement, &vectors["min-pk"][name]);
    }
}
