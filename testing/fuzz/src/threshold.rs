//! Threshold BLS, from bytes to signature, verified and optimistic, in both variants: exactly those
//! whose partial is wrong are named, and a quorum gives the one signature there is.
use std::collections::BTreeMap;
use std::sync::LazyLock;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::{Domain, MinPk, MinSig, Signature, Variant};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{
    KeyShares, Message, MisuseError, Partial, Purpose, QuorumError, Setup, Signer, SigningCommittee,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::partials::{Encodings, Forgery, wrong};

const WEIGHTS: [u32; 4] = [3, 1, 2, 2];
const THRESHOLD: u32 = 5;
const DOMAIN: Domain = Domain::new("fuzz");

struct World<V: Variant> {
    committee: SigningCommittee<V>,
    message: Message<V>,
    honest: Encodings,
    signature: Signature<V>,
}

static MIN_SIG: LazyLock<World<MinSig>> = LazyLock::new(|| world(Placement::Consecutive));
static MIN_PK: LazyLock<World<MinPk>> = LazyLock::new(|| world(Placement::RootsOfUnity));

fn world<V: Variant>(placement: Placement) -> World<V> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let access = Access::new(&WEIGHTS).unwrap();
    let threshold = Threshold::new(THRESHOLD, access.total()).unwrap();
    let secret = Secret::new(Scalar::random(&mut rng));
    let polynomial = Polynomial::random(threshold.t(), &secret, &mut rng);
    let shares = polynomial.shares(&Points::of(&access, placement));
    let purpose = Purpose::Messages(DOMAIN);
    let setup = Setup { access: access.clone(), threshold, placement, purpose };
    let committee =
        SigningCommittee::<V>::from_commitment(setup, &Commitment::commit(&polynomial)).unwrap();
    let signers: Vec<Signer<V>> = access
        .parties()
        .map(|party| {
            let own = shares.expose()[access.range(party)].to_vec();
            KeyShares::new(party, Secret::new(own)).check(&committee).unwrap()
        })
        .collect();
    let sign = |message: &Message<V>| -> BTreeMap<Party, Partial<V>> {
        signers.iter().map(|one| (one.party(), one.partial(message).unwrap())).collect()
    };
    let encode = |partials: BTreeMap<Party, Partial<V>>| {
        let encode = |(party, partial)| (party, borsh::to_vec(&partial).unwrap());
        partials.into_iter().map(encode).collect()
    };
    let (message, other) = (Message::new(DOMAIN, b"message"), Message::new(DOMAIN, b"other"));
    let signature = committee.verify_all(&message, sign(&message)).unwrap().combine();
    signature.verify(&committee.group_key(), DOMAIN, b"message").unwrap();
    let honest =
        Encodings { right: encode(sign(&message)), elsewhere: encode(sign(&other)), header: 4 };
    World { committee, message, honest, signature }
}

pub(crate) fn run(input: (bool, bool, Vec<(u8, Forgery)>)) {
    let (min_pk, optimistic, sent) = input;
    if min_pk {
        check(&MIN_PK, optimistic, &sent);
    } else {
        check(&MIN_SIG, optimistic, &sent);
    }
}

fn check<V: Variant>(world: &World<V>, optimistic: bool, sent: &[(u8, Forgery)]) {
    let World { committee, message, honest, signature } = world;
    let partials: BTreeMap<Party, Partial<V>> = honest.received::<V::SignatureGroup, _>(sent);
    let strangers = partials.keys().any(|party| !honest.right.contains_key(party));
    let weight: u32 = partials.keys().map(|party| committee.access().weight(*party)).sum();
    let wrong = wrong(honest, &partials);
    let result = if optimistic {
        committee.optimistic(message, partials).and_then(|quorum| quorum.combine())
    } else {
        let quorum = committee.verify_all(message, partials);
        assert!(quorum.is_err() || wrong.is_empty());
        quorum.map(|quorum| quorum.combine())
    };
    match result {
        Ok(combined) => {
            assert!(!strangers && weight >= THRESHOLD);
            assert!(combined == *signature);
        }
        Err(QuorumError::Misuse(MisuseError::NoShares { .. })) => assert!(strangers),
        Err(QuorumError::BelowThreshold { got, .. }) => {
            assert!(got == weight && weight < THRESHOLD);
        }
        // Shapes come before equations: an optimistic quorum may name some only.
        Err(QuorumError::Faulty { culprits }) => {
            assert!(!culprits.is_empty() && culprits.is_subset(&wrong));
            assert!(optimistic || culprits == wrong);
        }
        Err(other) => panic!("{other}"),
    }
}
