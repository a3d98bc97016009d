//! What a committee signs is what its key signs.
use std::collections::BTreeSet;

use prefinal_crypto_core::bls::{Domain, MinPk, MinSig, Signature, Variant};
use prefinal_crypto_core::drand::{ChainInfo, Round, RoundNumber, Schedule, Scheme};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_crypto_core::threshold::{Message, PartialError, Purpose, PurposeError, QuorumError};
use sha2::{Digest, Sha256};

use super::fixture::{self, DOMAIN, Dealt, HOLDERS, T, message, party, subsets, weight};

super::placed_suite!(
    every_qualified_set_gives_the_signature_of_the_key,
    a_signature_is_for_one_message,
    a_round_is_one_that_drand_verifies,
    a_key_signs_nothing_but_its_purpose,
    stored_shares_sign_alike,
);

fn every_qualified_set_gives_the_signature_of_the_key<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 1);
    let committee = &dealt.committee;
    let direct: Signature<V> = dealt.key.sign(DOMAIN, b"message");
    let key = committee.group_key();
    assert_eq!(key, dealt.key.public_key());
    assert_eq!(direct.verify(&key, DOMAIN, b"message"), Ok(()));
    let (mut qualified, mut refused) = (0, 0);
    for set in subsets() {
        let partials = dealt.partials(&set, &message());
        let need = committee.threshold().t();
        if weight(&set) >= T {
            let verified = committee.verify_all(&message(), partials.clone()).unwrap();
            assert_eq!(verified.combine(), direct, "{set:?}");
            let optimistic = committee.optimistic(&message(), partials).unwrap();
            assert_eq!(optimistic.combine(), Ok(direct), "{set:?}");
            qualified += 1;
        } else {
            // With t − 1 shares too.
            let below = QuorumError::BelowThreshold { got: weight(&set), need };
            let verdict = committee.verify_all(&message(), partials.clone());
            assert_eq!(verdict.unwrap_err(), below, "{set:?}");
            let verdict = committee.optimistic(&message(), partials.clone());
            assert_eq!(verdict.unwrap_err(), below, "{set:?}");
            assert_eq!(committee.check_all(&message(), &partials), Ok(()));
            refused += 1;
        }
    }
    assert!(qualified > 10 && refused > 10, "{qualified} {refused}");
    assert_eq!(committee.verify_result(&message(), &direct), Ok(()));
}

fn a_signature_is_for_one_message<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 2);
    let committee = &dealt.committee;
    let other = Message::new(DOMAIN, b"other");
    let partials = dealt.partials(&HOLDERS, &message());
    for (at, partial) in &partials {
        assert_eq!(partial.verify(committee, *at, &message()), Ok(()));
        let party = *at;
        let verdict = partial.verify(committee, party, &other);
        assert_eq!(verdict, Err(PartialError::Mismatch { party }));
    }
    let signature = committee.verify_all(&message(), partials).unwrap().combine();
    assert!(committee.verify_result(&other, &signature).is_err());
    assert!(signature.verify(&committee.group_key(), DOMAIN, b"other").is_err());
    let elsewhere = Domain::new("elsewhere");
    assert!(signature.verify(&committee.group_key(), elsewhere, b"message").is_err());
}

fn a_round_is_one_that_drand_verifies<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::with(fixture::setup(placement, Purpose::Rounds), 3);
    let mut rounds = BTreeSet::new();
    for round in [1, 2, u64::MAX].map(|round| RoundNumber::new(round).unwrap()) {
        let message = Message::round(round);
        let partials = dealt.partials(&HOLDERS, &message);
        let quorum = dealt.committee.optimistic(&message, partials).unwrap();
        let signature = quorum.combine().unwrap();
        // As drand does: the hash of the number, under the tag of the ciphersuite.
        let digest = Sha256::digest(round.get().to_be_bytes());
        assert_eq!(signature.verify(&dealt.committee.group_key(), Domain::BASIC, &digest), Ok(()));
        assert_eq!(signature, dealt.key.sign(Domain::BASIC, &digest));
        rounds.insert(signature.to_bytes().as_ref().to_vec());
    }
    assert_eq!(rounds.len(), 3);
}

fn a_key_signs_nothing_but_its_purpose<V: Variant>(placement: Placement) {
    let beacon = Dealt::<V>::with(fixture::setup(placement, Purpose::Rounds), 4);
    // The message of round 1, disguised as what a caller may choose.
    let disguised = Message::<V>::new(Domain::BASIC, &Sha256::digest(1_u64.to_be_bytes()));
    let (expected, got) = (Purpose::Rounds, Purpose::Messages(Domain::BASIC));
    let wrong = PurposeError { expected, got };
    assert_eq!(disguised.purpose(), got);
    assert_eq!(beacon.signers[&party(0)].partial(&disguised), Err(wrong));

    let committee = &beacon.committee;
    let partials = beacon.partials(&HOLDERS, &Message::round(RoundNumber::FIRST));
    let verdict = partials[&party(0)].verify(committee, party(0), &disguised);
    assert_eq!(verdict, Err(PartialError::Purpose(wrong)));
    let verdict = committee.verify_all(&disguised, partials.clone());
    assert_eq!(verdict.unwrap_err(), QuorumError::from(wrong));
    let verdict = committee.check_all(&disguised, &partials);
    assert_eq!(verdict.unwrap_err(), QuorumError::from(wrong));
    let signature = committee
        .verify_all(&Message::round(RoundNumber::FIRST), partials.clone())
        .unwrap()
        .combine();
    assert_eq!(committee.verify_result(&Message::round(RoundNumber::FIRST), &signature), Ok(()));
    assert!(committee.verify_result(&disguised, &signature).is_err());
    let verdict = committee.optimistic(&disguised, partials);
    assert_eq!(verdict.unwrap_err(), QuorumError::from(wrong));

    // And a key for one domain does nothing under another.
    let dealt = Dealt::<V>::new(placement, 5);
    assert!(dealt.signers[&party(0)].partial(&Message::new(Domain::new("x"), b"m")).is_err());
    assert!(dealt.signers[&party(0)].partial(&Message::round(RoundNumber::FIRST)).is_err());
}

fn stored_shares_sign_alike<V: Variant>(placement: Placement) {
    use prefinal_crypto_core::secret::Secret;
    use prefinal_crypto_core::threshold::KeyShares;
    let dealt = Dealt::<V>::new(placement, 6);
    let range = dealt.committee.access().range(party(4));
    let shares = KeyShares::new(party(4), Secret::new(dealt.values[range].to_vec()));
    let bytes = shares.to_secret_bytes();
    assert_eq!(bytes.expose().len(), 5 * 32);
    let restored = KeyShares::from_secret_bytes(party(4), &bytes).unwrap();
    let signer = restored.check(&dealt.committee).unwrap();
    assert_eq!(signer.partial(&message()), dealt.signers[&party(4)].partial(&message()));
    assert_eq!((signer.party(), signer.committee()), (party(4), dealt.committee.id()));
    assert!(!format!("{signer:?}{shares:?}").contains("Scalar"));
    for bytes in [vec![0xff; 32], vec![0; 31], vec![0; 65]] {
        assert!(KeyShares::from_secret_bytes(party(4), &Secret::new(bytes)).is_err());
    }
}

#[test]
fn the_variants_sign_different_groups() {
    let small = Dealt::<MinSig>::new(Placement::Consecutive, 7);
    let large = Dealt::<MinPk>::new(Placement::Consecutive, 7);
    let bytes = |len: usize| len + 4;
    let partial = &small.partials(&[2], &message())[&party(2)];
    assert_eq!(borsh::to_vec(partial).unwrap().len(), bytes(48));
    let partial = &large.partials(&[2], &message())[&party(2)];
    assert_eq!(borsh::to_vec(partial).unwrap().len(), bytes(96));
}

#[test]
fn a_client_of_drand_takes_our_rounds() {
    fn check<V: Variant>(scheme: Scheme) {
        let setup = fixture::setup(Placement::RootsOfUnity, Purpose::Rounds);
        let dealt = Dealt::<V>::with(setup, 8);
        let schedule = Schedule { genesis_time: 1, period: 3.try_into().unwrap() };
        let key = dealt.committee.group_key().to_bytes();
        let info = ChainInfo::new(scheme, key.as_ref(), schedule, [0; 32], "ours").unwrap();
        let round = RoundNumber::new(7).unwrap();
        let partials = dealt.partials(&[0, 4], &Message::round(round));
        let quorum = dealt.committee.optimistic(&Message::round(round), partials).unwrap();
        let signature = quorum.combine().unwrap().to_bytes().as_ref().to_vec();
        let mut round = Round { number: round, signature, previous: None, randomness: None };
        assert!(info.verify(&round).is_ok(), "{scheme}");
        round.number = RoundNumber::FIRST;
        assert!(info.verify(&round).is_err(), "{scheme}");
    }
    check::<MinSig>(Scheme::UnchainedG1Rfc9380);
    check::<MinPk>(Scheme::PedersenUnchained);
}
