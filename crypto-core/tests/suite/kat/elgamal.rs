//! Encryption to a committee.
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use prefinal_crypto_core::access::{Access, Party};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::{G2, Scalar};
use prefinal_crypto_core::elgamal::{
    Ciphertext, DecryptionCommittee, DecryptionKey, DecryptionShare, Label, QuorumError,
    ShareError, ValidCiphertext,
};
use prefinal_crypto_core::generators;
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use serde::Deserialize;

use super::{Replay, array, bytes, load, point};

#[derive(Deserialize)]
struct Vector {
    chain: String,
    epoch: u64,
    slot: u64,
    #[serde(rename = "second generator")]
    second_generator: String,
    consecutive: Dealt,
    #[serde(rename = "roots-of-unity")]
    roots_of_unity: Dealt,
}

#[derive(Deserialize)]
struct Dealt {
    weights: Vec<u32>,
    t: NonZeroU32,
    draws: String,
    key: String,
    #[serde(rename = "key hat")]
    key_hat: String,
    public: Vec<String>,
    shares: Vec<String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    label: String,
    plaintext: String,
    draws: String,
    #[serde(flatten)]
    ciphertext: Parts,
    shares: BTreeMap<u32, Vec<String>>,
    refused: Vec<Refused>,
    #[serde(rename = "refused shares")]
    refused_shares: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Parts {
    u: String,
    #[serde(rename = "u bar")]
    u_bar: String,
    challenge: String,
    response: String,
    body: String,
}

#[derive(Deserialize)]
struct Refused {
    why: String,
    label: String,
    #[serde(flatten)]
    ciphertext: Parts,
    reason: String,
}

impl Parts {
    fn bytes(&self) -> Vec<u8> {
        let head = [&self.u, &self.u_bar, &self.challenge, &self.response].map(|part| bytes(part));
        [head.concat(), borsh::to_vec(&bytes(&self.body)).unwrap()].concat()
    }
}

fn label(text: &str) -> Label {
    Label::new(&bytes(text)).unwrap()
}

fn share(texts: &[String]) -> DecryptionShare {
    let count = u32::try_from(texts.len()).unwrap().to_le_bytes().to_vec();
    let points = texts.iter().map(|text| bytes(text));
    borsh::from_slice(&[count].into_iter().chain(points).collect::<Vec<_>>().concat()).unwrap()
}

fn encoded(scalars: &[Scalar]) -> Vec<String> {
    scalars.iter().map(|scalar| hex::encode(scalar.to_bytes())).collect()
}

/// Deals with the model's coefficients.
fn deal(
    dealt: &Dealt,
    placement: Placement,
) -> (DecryptionCommittee, BTreeMap<Party, DecryptionKey>) {
    let mut rng = Replay::new(&dealt.draws);
    let secret = Secret::new(Scalar::random(&mut rng));
    let polynomial = Polynomial::random(dealt.t, &secret, &mut rng);
    rng.finish();
    let access = Access::new(&dealt.weights).unwrap();
    let commitment = Commitment::<G2>::commit(&polynomial);
    let y = point(&dealt.key);
    let committee = DecryptionCommittee::new(y, &commitment, access.clone(), placement).unwrap();
    assert_eq!(hex::encode(committee.key().y_hat().to_bytes()), dealt.key_hat);
    let public: Vec<_> =
        committee.share_keys().iter().map(|key| hex::encode(key.to_bytes())).collect();
    assert_eq!(public, dealt.public);
    let shares = polynomial.shares(&Points::of(&access, placement));
    assert_eq!(encoded(shares.expose()), dealt.shares);
    let holders = access.parties().filter(|party| access.weight(*party) > 0);
    let key = |party| {
        let own = Secret::new(shares.expose()[access.range(party)].to_vec());
        (party, DecryptionKey::new(&committee, party, own).unwrap())
    };
    let keys = holders.map(key).collect();
    (committee, keys)
}

fn encrypted(committee: &DecryptionCommittee, case: &Case) -> ValidCiphertext {
    let mut rng = Replay::new(&case.draws);
    let label = label(&case.label);
    let made = committee.key().encrypt(&label, &bytes(&case.plaintext), &mut rng).unwrap();
    rng.finish();
    assert_eq!(borsh::to_vec(&made).unwrap(), case.ciphertext.bytes());
    made.validate(committee.key(), &label).unwrap()
}

fn check(dealt: &Dealt, placement: Placement) {
    let (committee, keys) = deal(dealt, placement);
    for case in &dealt.cases {
        let ciphertext = encrypted(&committee, case);
        let mut shares = BTreeMap::new();
        for (party, key) in &keys {
            let made = key.decrypt_share(&ciphertext).unwrap();
            assert_eq!(made, share(&case.shares[&party.get()]));
            assert_eq!(committee.verify(*party, &ciphertext, &made), Ok(()));
            shares.insert(*party, made);
        }
        let few: BTreeMap<_, _> = shares.clone().into_iter().skip(2).collect();
        for shares in [shares.clone(), few] {
            let verified = committee.verify_all(&ciphertext, shares.clone()).unwrap();
            assert_eq!(*verified.combine().unwrap().expose(), bytes(&case.plaintext));
            let optimistic = committee.optimistic(&ciphertext, shares).unwrap();
            assert_eq!(*optimistic.combine().unwrap().expose(), bytes(&case.plaintext));
        }
        for refused in &case.refused {
            assert_eq!(refused.reason, "mismatch");
            let attempt: Ciphertext = borsh::from_slice(&refused.ciphertext.bytes()).unwrap();
            let verdict = attempt.validate(committee.key(), &label(&refused.label));
            assert!(verdict.is_err(), "{}", refused.why);
        }
        refused_shares(&committee, (&ciphertext, case), &shares);
    }
}

fn refused_shares(
    committee: &DecryptionCommittee,
    (ciphertext, case): (&ValidCiphertext, &Case),
    shares: &BTreeMap<Party, DecryptionShare>,
) {
    let texts = |party: u32| case.shares[&party].clone();
    let swapped: Vec<String> = texts(0).into_iter().rev().collect();
    for (why, party, wrong) in [
        ("swapped", 0, swapped),
        ("short", 3, texts(3)[..2].to_vec()),
        ("of another party", 2, texts(4)),
    ] {
        let (party, wrong) = (Party::new(party), share(&wrong));
        let reason = match committee.verify(party, ciphertext, &wrong).unwrap_err() {
            ShareError::Mismatch { .. } => "mismatch",
            ShareError::Count { .. } => "share count",
            other => unreachable!("{other}"),
        };
        assert_eq!(reason, case.refused_shares[why], "{why}");
        let mut all = shares.clone();
        all.insert(party, wrong);
        let error = committee.verify_all(ciphertext, all).unwrap_err();
        assert_eq!(error, QuorumError::Faulty { culprits: BTreeSet::from([party]) });
    }
}

#[test]
fn encryption_to_a_committee() {
    let vector: Vector = load(include_str!("../../vectors/model/elgamal.json"));
    assert_eq!(hex::encode(generators::g_bar().to_bytes()), vector.second_generator);
    let epoch = EpochId::new(vector.epoch);
    let context = Context { chain: ChainId::new(array(&vector.chain)), epoch };
    let slot = Label::slot(&context, Slot::new(vector.slot));
    assert_eq!(slot, label(&vector.consecutive.cases[0].label));
    check(&vector.consecutive, Placement::Consecutive);
    check(&vector.roots_of_unity, Placement::RootsOfUnity);
}
