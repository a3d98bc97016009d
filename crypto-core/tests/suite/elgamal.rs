//! Labelled threshold ElGamal: what opens, and what must not.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod fixture;
mod stored;

use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::{Access, Threshold, ThresholdError};
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
use prefinal_crypto_core::elgamal::{
    Ciphertext, CombineError, CommitteeError, DecryptionCommittee, DecryptionKey, DecryptionShare,
    EncryptError, EncryptionKey, InvalidCiphertext, KeyError, KeySharesError, Label, LabelError,
    OtherKey, PlaintextError, QuorumError, ShareError, Unopenable,
};
use prefinal_crypto_core::generators::g_bar;
use prefinal_crypto_core::polynomial::{Placement, Polynomial};
use prefinal_crypto_core::secret::Secret;

use fixture::{
    Dealt, PLACEMENTS, PLAINTEXT, Parts, T, WEIGHTS, access, label, party, points, rng, share,
};

const EVERYONE: [u32; 5] = [0, 2, 3, 4, 5];

fn subsets() -> impl Iterator<Item = Vec<u32>> {
    let sets = 0..1_u32 << EVERYONE.len();
    sets.map(|set| {
        EVERYONE
            .into_iter()
            .zip(0..)
            .filter(|(_, i)| set >> i & 1 == 1)
            .unzip::<_, _, _, Vec<u32>>()
            .0
    })
}

fn weight(set: &[u32]) -> u32 {
    set.iter().map(|&i| WEIGHTS[party(i).index()]).sum()
}

fn refused(parts: &Parts, dealt: &Dealt) {
    let verdict = parts.join().validate(dealt.key(), &label(7));
    assert_eq!(verdict.unwrap_err(), InvalidCiphertext);
}

#[test]
fn every_set_that_reaches_the_threshold_decrypts_and_no_other_does() {
    let mut rng = rng(1);
    for placement in PLACEMENTS {
        let dealt = Dealt::new(placement, &mut rng);
        let ciphertext = dealt.valid(&mut rng);
        let (mut opened, mut below) = (0, 0);
        for set in subsets() {
            let shares = dealt.shares(&ciphertext, &set);
            let results = [
                dealt.committee.verify_all(&ciphertext, shares.clone()),
                dealt.committee.optimistic(&ciphertext, shares),
            ];
            for quorum in results {
                if weight(&set) >= T {
                    assert_eq!(quorum.unwrap().combine().unwrap().expose(), PLAINTEXT, "{set:?}");
                    opened += 1;
                } else {
                    let need = dealt.committee.threshold().t();
                    let error = QuorumError::BelowThreshold { got: weight(&set), need };
                    assert_eq!(quorum.unwrap_err(), error, "{set:?}");
                    below += 1;
                }
            }
        }
        assert!(opened > 20 && below > 20, "{opened} {below}");
    }
}

/// With one share too few, the coefficients of those at hand give another point.
#[test]
fn one_share_too_few_gives_nothing() {
    let mut rng = rng(2);
    let dealt = Dealt::new(Placement::Consecutive, &mut rng);
    let all: Vec<Scalar> = dealt.secrets.values().flatten().copied().collect();
    let at = |count: u64| (1..=count).map(Scalar::from_u64).collect::<Vec<_>>();
    let interpolate = |count: u64| -> Scalar {
        let lambda = prefinal_crypto_core::polynomial::lagrange_at_zero(&at(count)).unwrap();
        lambda.iter().zip(&all).map(|(l, s)| *l * *s).sum()
    };
    let y = |x: Scalar| (G1Affine::generator() * x).to_affine();
    assert_eq!(y(interpolate(T.into())), dealt.key().y());
    assert_ne!(y(interpolate((T - 1).into())), dealt.key().y());
}

#[test]
fn plaintexts_of_any_length_up_to_the_bound() {
    let mut rng = rng(3);
    let dealt = Dealt::new(Placement::RootsOfUnity, &mut rng);
    for length in [0, 1, 1000, Ciphertext::MAX_PLAINTEXT] {
        let plaintext = vec![7; length];
        let ciphertext = dealt.key().encrypt(&label(7), &plaintext, &mut rng).unwrap();
        let bytes = borsh::to_vec(&ciphertext).unwrap();
        assert_eq!(bytes.len(), length + Ciphertext::OVERHEAD);
        assert_eq!(borsh::from_slice::<Ciphertext>(&bytes).unwrap(), ciphertext);
        let valid = ciphertext.validate(dealt.key(), &label(7)).unwrap();
        let quorum = dealt.committee.optimistic(&valid, dealt.shares(&valid, &EVERYONE)).unwrap();
        assert_eq!(quorum.combine().unwrap().expose(), &plaintext);
    }
    let max = Ciphertext::MAX_PLAINTEXT;
    let verdict = dealt.key().encrypt(&label(7), &vec![7; max + 1], &mut rng);
    let long = EncryptError::Plaintext(PlaintextError { got: max + 1, max });
    assert_eq!(verdict.unwrap_err(), long);
}

#[test]
fn a_ciphertext_is_valid_under_its_label_and_key_alone() {
    let mut rng = rng(4);
    let (dealt, other) = (
        Dealt::new(Placement::Consecutive, &mut rng),
        Dealt::new(Placement::Consecutive, &mut rng),
    );
    let ciphertext = dealt.encrypt(&mut rng);
    let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(4) };
    let labels = [
        label(6),
        label(8),
        Label::slot(&context, Slot::new(7)),
        Label::new(b"").unwrap(),
        Label::new(&[label(7).as_bytes(), &[0]].concat()).unwrap(),
    ];
    for wrong in labels {
        let verdict = ciphertext.clone().validate(dealt.key(), &wrong);
        assert_eq!(verdict.unwrap_err(), InvalidCiphertext, "{wrong:?}");
    }
    let verdict = ciphertext.clone().validate(other.key(), &label(7));
    assert_eq!(verdict.unwrap_err(), InvalidCiphertext);
    assert!(ciphertext.validate(dealt.key(), &label(7)).is_ok());
}

#[test]
fn parts_of_two_ciphertexts_do_not_mix() {
    let mut rng = rng(5);
    let dealt = Dealt::new(Placement::Consecutive, &mut rng);
    let parts = || Parts::of(&dealt.encrypt(&mut fixture::rng(6)));
    let other = Parts::of(&dealt.encrypt(&mut rng));
    refused(&Parts { u: other.u, ..parts() }, &dealt);
    refused(&Parts { u_bar: other.u_bar, ..parts() }, &dealt);
    refused(&Parts { u: other.u, u_bar: other.u_bar, ..parts() }, &dealt);
    refused(&Parts { u: parts().u_bar, u_bar: parts().u, ..parts() }, &dealt);
    refused(&Parts { proof: other.proof, ..parts() }, &dealt);
    refused(&Parts { body: other.body.clone(), ..parts() }, &dealt);
    refused(&Parts { body: Vec::from([0; 16]), ..parts() }, &dealt);
    for bit in [0, 7, 8 * (16 + PLAINTEXT.len()) - 1] {
        let mut flipped = parts();
        flipped.body[bit / 8] ^= 1 << (bit % 8);
        refused(&flipped, &dealt);
    }
    let mut response = parts();
    response.proof[63] ^= 1;
    refused(&response, &dealt);
    let mut challenge = parts();
    challenge.proof[31] ^= 1;
    refused(&challenge, &dealt);
}

/// An encryption by hand, step by step as the module's head has it, but with a body of the caller's
/// and with two exponents.
fn by_hand(key: &EncryptionKey, label: &Label, body: &[u8], [r, r_bar]: [Scalar; 2]) -> Ciphertext {
    let s = Scalar::from_u64(0x5eed);
    let power = |base: G1Affine, exponent: Scalar| (base * exponent).to_affine();
    let (u, u_bar) = (power(G1Affine::generator(), r), power(g_bar(), r_bar));
    let mut transcript = Transcript::new(b"PREFINAL-V1-ELGAMAL-PROOF");
    transcript.append_point(b"key", &key.y());
    transcript.append(b"label", label.as_bytes());
    transcript.append_point(b"u", &u);
    transcript.append_point(b"u-bar", &u_bar);
    transcript.append(b"body", body);
    transcript.append_point(b"a", &power(G1Affine::generator(), s));
    transcript.append_point(b"b", &power(g_bar(), s));
    let c = transcript.scalar(b"challenge");
    let proof = [c.to_bytes(), (s + c * r).to_bytes()].concat();
    let (u, u_bar) = (u.to_bytes(), u_bar.to_bytes());
    Parts { u, u_bar, proof: proof.try_into().unwrap(), body: body.to_vec() }.join()
}

#[test]
fn the_second_power_must_have_the_same_exponent() {
    let mut rng = rng(7);
    let dealt = Dealt::new(Placement::Consecutive, &mut rng);
    let [r, r_bar] = [Scalar::from_u64(11), Scalar::from_u64(12)];
    let honest = by_hand(dealt.key(), &label(7), &[0; 16], [r, r]);
    assert!(honest.validate(dealt.key(), &label(7)).is_ok());
    let twisted = by_hand(dealt.key(), &label(7), &[0; 16], [r, r_bar]);
    assert_eq!(twisted.validate(dealt.key(), &label(7)).unwrap_err(), InvalidCiphertext);
}

#[test]
fn a_body_that_its_maker_broke_fails_alike_for_everyone() {
    let mut rng = rng(8);
    let dealt = Dealt::new(Placement::RootsOfUnity, &mut rng);
    let exponent = Scalar::from_u64(11);
    let broken = by_hand(dealt.key(), &label(7), b"not a body of this key", [exponent; 2]);
    let valid = broken.validate(dealt.key(), &label(7)).unwrap();
    for set in subsets().filter(|set| weight(set) >= T) {
        let shares = dealt.shares(&valid, &set);
        let failure = Err(CombineError::Unopenable(Unopenable));
        let verified = dealt.committee.verify_all(&valid, shares.clone()).unwrap();
        assert_eq!(verified.combine().map(|_| ()), failure);
        let optimistic = dealt.committee.optimistic(&valid, shares).unwrap();
        assert_eq!(optimistic.combine().map(|_| ()), failure);
    }
}

#[test]
fn wrong_shares_whose_errors_cancel_are_both_named() {
    let mut rng = rng(9);
    for placement in PLACEMENTS {
        let dealt = Dealt::new(placement, &mut rng);
        let ciphertext = dealt.valid(&mut rng);
        let mut shares = dealt.shares(&ciphertext, &EVERYONE);
        let g = G1Affine::generator();
        for (at, error) in [(0, g), (3, -g)] {
            let mut moved = points(&shares[&party(at)]);
            moved[1] = (moved[1] + error).to_affine();
            shares.insert(party(at), share(&moved));
        }
        let culprits = BTreeSet::from([party(0), party(3)]);
        let verdict = dealt.committee.verify_all(&ciphertext, shares.clone());
        assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits: culprits.clone() });
        // Some choice of shares without the wrong ones would open; what is said must be the truth.
        let verdict = dealt.committee.optimistic(&ciphertext, shares.clone()).unwrap().combine();
        match verdict {
            Ok(plaintext) => assert_eq!(plaintext.expose(), PLAINTEXT),
            Err(error) => assert_eq!(error, CombineError::Faulty { culprits }),
        }
        shares.retain(|at, _| ![0, 3].contains(&at.get()));
        let quorum = dealt.committee.verify_all(&ciphertext, shares).unwrap();
        assert_eq!(quorum.combine().unwrap().expose(), PLAINTEXT);
    }
}

/// Within one party as well: a plain sum over its points would hold.
#[test]
fn errors_that_cancel_within_one_share_are_found() {
    let mut rng = rng(10);
    let dealt = Dealt::new(Placement::Consecutive, &mut rng);
    let ciphertext = dealt.valid(&mut rng);
    let own = dealt.keys[&party(4)].decrypt_share(&ciphertext).unwrap();
    assert_eq!(dealt.committee.verify(party(4), &ciphertext, &own), Ok(()));
    let g = G1Affine::generator();
    let mut moved = points(&own);
    moved[0] = (moved[0] + g).to_affine();
    moved[1] = (moved[1] + -g).to_affine();
    let mut swapped = points(&own);
    swapped.swap(0, 1);
    for wrong in [moved, swapped] {
        let verdict = dealt.committee.verify(party(4), &ciphertext, &share(&wrong));
        assert_eq!(verdict, Err(ShareError::Mismatch { party: party(4) }));
    }
}

#[test]
fn every_set_of_culprits_is_named_exactly() {
    let mut rng = rng(11);
    let dealt = Dealt::new(Placement::RootsOfUnity, &mut rng);
    let (ciphertext, other) = (dealt.valid(&mut rng), dealt.valid(&mut rng));
    for set in subsets().filter(|set| !set.is_empty()) {
        let mut shares = dealt.shares(&ciphertext, &EVERYONE);
        shares.extend(dealt.shares(&other, &set));
        let culprits: BTreeSet<_> = set.iter().copied().map(party).collect();
        let verdict = dealt.committee.verify_all(&ciphertext, shares.clone());
        assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits: culprits.clone() });
        match dealt.committee.optimistic(&ciphertext, shares).unwrap().combine() {
            Ok(plaintext) => assert_eq!(plaintext.expose(), PLAINTEXT, "{set:?}"),
            Err(error) => assert_eq!(error, CombineError::Faulty { culprits }),
        }
    }
}

#[test]
fn shares_of_strangers_of_others_and_of_the_wrong_size_are_refused() {
    let mut rng = rng(12);
    let dealt = Dealt::new(Placement::Consecutive, &mut rng);
    let ciphertext = dealt.valid(&mut rng);
    let own = dealt.keys[&party(0)].decrypt_share(&ciphertext).unwrap();
    let verify = |at, share: &DecryptionShare| {
        dealt.committee.verify(party(at), &ciphertext, share).unwrap_err()
    };
    assert_eq!(verify(99, &own), ShareError::NotMember { party: party(99) });
    assert_eq!(verify(1, &own), ShareError::Count { party: party(1), got: 3, need: 0 });
    assert_eq!(verify(4, &own), ShareError::Count { party: party(4), got: 3, need: 5 });
    assert_eq!(verify(3, &own), ShareError::Mismatch { party: party(3) });
    for stranger in [1, 99] {
        let mut shares = dealt.shares(&ciphertext, &EVERYONE);
        shares.insert(party(stranger), own.clone());
        let culprits = BTreeSet::from([party(stranger)]);
        let verdict = dealt.committee.optimistic(&ciphertext, shares);
        assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits });
    }
}

#[test]
fn another_committee_neither_gives_nor_takes_shares() {
    let mut rng = rng(13);
    let dealt = Dealt::new(Placement::Consecutive, &mut rng);
    let other = Dealt::new(Placement::Consecutive, &mut rng);
    let ciphertext = dealt.valid(&mut rng);
    let verdict = other.keys[&party(0)].decrypt_share(&ciphertext);
    assert_eq!(verdict.unwrap_err(), OtherKey);
    let shares = dealt.shares(&ciphertext, &EVERYONE);
    let verdict = other.committee.verify_all(&ciphertext, shares.clone());
    assert_eq!(verdict.unwrap_err(), QuorumError::Misuse(OtherKey));
    let verdict = other.committee.optimistic(&ciphertext, shares.clone());
    assert_eq!(verdict.unwrap_err(), QuorumError::Misuse(OtherKey));
    let verdict = other.committee.verify(party(0), &ciphertext, &shares[&party(0)]);
    assert_eq!(verdict.unwrap_err(), ShareError::OtherKey(OtherKey));
    assert_ne!(dealt.committee.id(), other.committee.id());
}

#[test]
fn shares_of_a_key_are_checked_when_it_is_made() {
    let mut rng = rng(14);
    let dealt = Dealt::new(Placement::Consecutive, &mut rng);
    let make = |at, shares: &[Scalar]| {
        let shares = Secret::new(shares.to_vec());
        DecryptionKey::new(&dealt.committee, party(at), shares).map(|_| ()).unwrap_err()
    };
    let own = &dealt.secrets[&party(0)];
    assert_eq!(make(99, own), KeySharesError::NotMember { party: party(99) });
    assert_eq!(make(1, own), KeySharesError::NoShares { party: party(1) });
    assert_eq!(make(0, &own[..2]), KeySharesError::Count { got: 2, need: 3 });
    let index = access().indices(party(0)).nth(1).unwrap();
    let wrong = [own[0], own[1] + Scalar::ONE, own[2] - Scalar::ONE];
    assert_eq!(make(0, &wrong), KeySharesError::Mismatch { index });
    let swapped = [own[0], own[2], own[1]];
    assert_eq!(make(0, &swapped), KeySharesError::Mismatch { index });
    assert!(!format!("{:?}", dealt.keys[&party(0)]).contains("Scalar"));
}

#[test]
fn keys_have_two_halves_of_one_secret() {
    let (x, z) = (Scalar::from_u64(5), Scalar::from_u64(6));
    let y = |x: Scalar| (G1Affine::generator() * x).to_affine();
    let y_hat = |x: Scalar| (G2Affine::generator() * x).to_affine();
    let key = EncryptionKey::new(y(x), y_hat(x)).unwrap();
    assert_eq!(EncryptionKey::new(y(x), y_hat(z)), Err(KeyError::Halves));
    assert_eq!(EncryptionKey::new(y(x), y_hat(-x)), Err(KeyError::Halves));
    assert_eq!(EncryptionKey::new(y(x), y_hat(Scalar::ZERO)), Err(KeyError::Halves));
    let identities = EncryptionKey::new(y(Scalar::ZERO), y_hat(Scalar::ZERO));
    assert_eq!(identities, Err(KeyError::Identity));
    let decode =
        |y, y_hat| borsh::from_slice::<EncryptionKey>(&borsh::to_vec(&(y, y_hat)).unwrap());
    assert_eq!(decode(y(x), y_hat(x)).unwrap(), key);
    assert!(decode(y(x), y_hat(z)).is_err());
    assert!(decode(y(Scalar::ZERO), y_hat(Scalar::ZERO)).is_err());
}

#[test]
fn a_committee_fits_its_polynomial() {
    let mut rng = rng(15);
    let secret = Secret::new(Scalar::from_u64(5));
    let f = Polynomial::random(Threshold::new(3, 3).unwrap().t(), &secret, &mut rng);
    let commitment = Commitment::commit(&f);
    let y = (G1Affine::generator() * secret.expose()).to_affine();
    let make = |y, weights: &[u32]| {
        let access = Access::new(weights).unwrap();
        DecryptionCommittee::new(y, &commitment, access, Placement::Consecutive).map(|_| ())
    };
    assert_eq!(make(y, &[1, 2]), Ok(()));
    let error = CommitteeError::Threshold(ThresholdError { t: 3, n: 2 });
    assert_eq!(make(y, &[1, 1]), Err(error));
    let other = G1Affine::generator();
    assert_eq!(make(other, &[1, 2]), Err(CommitteeError::Key(KeyError::Halves)));
}

/// With keys that are not of one polynomial, two quorums would decrypt to different points.
#[test]
fn share_keys_must_lie_on_one_polynomial_with_the_key() {
    let mut rng = rng(17);
    for placement in PLACEMENTS {
        let dealt = Dealt::new(placement, &mut rng);
        let (key, keys) = (*dealt.key(), dealt.committee.share_keys().to_vec());
        let n = access().total();
        let make = |keys: &[G2Affine], t, n| {
            let setup = (placement, Threshold::new(t, n).unwrap());
            DecryptionCommittee::from_share_keys(key, keys.to_vec(), access(), setup)
        };
        let again = make(&keys, T, n).unwrap();
        assert_eq!(again.id(), dealt.committee.id());
        let ciphertext = dealt.valid(&mut rng);
        let quorum = again.verify_all(&ciphertext, dealt.shares(&ciphertext, &EVERYONE)).unwrap();
        assert_eq!(quorum.combine().unwrap().expose(), PLAINTEXT);
        // Of too low a threshold; with one key, or the key itself, of another polynomial.
        assert_eq!(make(&keys, T - 1, n).unwrap_err(), CommitteeError::Degree { t: T - 1 });
        let mut moved = keys.clone();
        moved[5] = (moved[5] + G2Affine::generator()).to_affine();
        assert_eq!(make(&moved, T, n).unwrap_err(), CommitteeError::Degree { t: T });
        let other = Dealt::new(placement, &mut rng);
        let error = make(other.committee.share_keys(), T, n).unwrap_err();
        assert_eq!(error, CommitteeError::Degree { t: T });
        let (got, need) = (keys.len() - 1, n);
        let error = make(&keys[1..], T, n).unwrap_err();
        assert_eq!(error, CommitteeError::ShareKeys { got, need });
        let error = make(&keys, T, n + 1).unwrap_err();
        assert_eq!(error, CommitteeError::Shares { got: n + 1, need });
    }
}

/// The coefficients that shares are checked with rest on the digest.
#[test]
fn everything_is_in_the_digest() {
    let mut rng = rng(18);
    let key = |x: Scalar| {
        let (y, y_hat) = (G1Affine::generator() * x, G2Affine::generator() * x);
        EncryptionKey::new(y.to_affine(), y_hat.to_affine()).unwrap()
    };
    let id = |x: Scalar, values: &[Scalar], access: Access, (placement, t)| {
        let keys = values.iter().map(|value| (G2Affine::generator() * value).to_affine());
        let setup = (placement, Threshold::new(t, access.total()).unwrap());
        *DecryptionCommittee::from_share_keys(key(x), keys.collect(), access, setup).unwrap().id()
    };
    let (x, placement) = (Scalar::random(&mut rng), Placement::Consecutive);
    // Of a constant polynomial, so the keys fit wherever they sit and whatever the threshold.
    let constant = [x; 14];
    let own = id(x, &constant, access(), (placement, T));
    assert_ne!(id(x, &constant, access(), (placement, T + 1)), own);
    assert_ne!(id(x, &constant, access(), (Placement::RootsOfUnity, T)), own);
    let others = Access::new(&[3, 1, 0, 3, 5, 2]).unwrap();
    assert_ne!(id(x, &constant, others, (placement, T)), own);
    // The same secret shared again, and another secret.
    let again: Vec<Scalar> = (1..=14).map(|at| x + Scalar::from_u64(at)).collect();
    assert_ne!(id(x, &again, access(), (placement, T)), own);
    assert_ne!(id(x + x, &[x + x; 14], access(), (placement, T)), own);
}

#[test]
fn encodings_are_exact_and_bounded() {
    let mut rng = rng(16);
    let dealt = Dealt::new(Placement::Consecutive, &mut rng);
    let ciphertext = dealt.encrypt(&mut rng);
    let decode = |bytes: &[u8]| borsh::from_slice::<Ciphertext>(bytes);
    let bytes = Parts::of(&ciphertext).bytes();
    assert_eq!(decode(&bytes).unwrap(), ciphertext);
    assert!(decode(&bytes[..bytes.len() - 1]).is_err());
    assert!(decode(&[bytes.as_slice(), &[0]].concat()).is_err());
    let identity = G1Affine::identity().to_bytes();
    assert!(decode(&Parts { u: identity, ..Parts::of(&ciphertext) }.bytes()).is_err());
    assert!(decode(&Parts { u_bar: identity, ..Parts::of(&ciphertext) }.bytes()).is_err());
    assert!(decode(&Parts { proof: [0xff; 64], ..Parts::of(&ciphertext) }.bytes()).is_err());
    let fits = u32::try_from(Ciphertext::MAX_PLAINTEXT + 16).unwrap();
    let said = |length: u32| {
        let mut wrong = bytes.clone();
        wrong[160..164].copy_from_slice(&length.to_le_bytes());
        decode(&wrong).unwrap_err().to_string()
    };
    for length in [u32::MAX, fits + 1, 15, 0] {
        assert_eq!(said(length), "no plaintext has a body of this length", "{length}");
    }
    assert_ne!(said(fits), said(fits + 1));
    let decode = |bytes: &[u8]| borsh::from_slice::<DecryptionShare>(bytes);
    let valid = ciphertext.validate(dealt.key(), &label(7)).unwrap();
    let own = dealt.keys[&party(0)].decrypt_share(&valid).unwrap();
    let bytes = borsh::to_vec(&own).unwrap();
    assert_eq!((bytes.len(), own.weight()), (4 + 3 * 48, 3));
    assert_eq!(decode(&bytes).unwrap(), own);
    assert!(decode(&bytes[..bytes.len() - 1]).is_err());
    assert!(decode(&[bytes.as_slice(), &[0]].concat()).is_err());
    assert!(decode(&[0; 4]).is_err());
    assert!(decode(&[1_u32.to_le_bytes().as_slice(), &identity].concat()).is_err());
    let huge = [u32::MAX.to_le_bytes().as_slice(), &bytes[4..]].concat();
    assert_eq!(decode(&huge).unwrap_err().to_string(), "no party holds so many shares");
}

#[test]
fn labels_are_bounded_and_slots_are_told_apart() {
    let max = Label::MAX;
    assert_eq!(Label::new(&vec![7; max]).unwrap().as_bytes().len(), max);
    assert_eq!(Label::new(&vec![7; max + 1]), Err(LabelError { got: max + 1, max }));
    let mut seen = BTreeMap::new();
    for (chain, epoch, slot) in [(1, 3, 7), (2, 3, 7), (1, 4, 7), (1, 3, 8), (1, 7, 3)] {
        let context = Context { chain: ChainId::new([chain; 32]), epoch: EpochId::new(epoch) };
        let label = Label::slot(&context, Slot::new(slot));
        assert_eq!(label.as_bytes().len(), 48);
        assert_eq!(seen.insert(label, (chain, epoch, slot)), None);
    }
}
