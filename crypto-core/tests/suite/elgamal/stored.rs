//! A decryption key on a disk: read again as it was written, and as nothing else.
use prefinal_crypto_core::curve::{DecodeError, Scalar};
use prefinal_crypto_core::elgamal::{DecryptionKey, KeySharesError, StoredKeyError};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_crypto_core::secret::Secret;

use super::fixture::{Dealt, PLACEMENTS, access, party, rng};

fn read(dealt: &Dealt, at: u32, bytes: &[u8]) -> Result<DecryptionKey, StoredKeyError> {
    DecryptionKey::from_secret_bytes(&dealt.committee, party(at), &Secret::new(bytes.to_vec()))
}

fn refused(dealt: &Dealt, at: u32, bytes: &[u8]) -> StoredKeyError {
    read(dealt, at, bytes).map(drop).unwrap_err()
}

#[test]
fn a_key_that_was_stored_decrypts_as_before() {
    let mut rng = rng(21);
    for placement in PLACEMENTS {
        let dealt = Dealt::new(placement, &mut rng);
        let ciphertext = dealt.valid(&mut rng);
        for (who, key) in &dealt.keys {
            let bytes = key.to_secret_bytes();
            assert_eq!(bytes.expose().len(), 32 * dealt.secrets[who].len());
            assert_eq!(format!("{bytes:?}"), "Secret(..)");
            let again = read(&dealt, who.get(), bytes.expose()).unwrap();
            assert_eq!((again.party(), again.committee()), (*who, dealt.committee.id()));
            assert_eq!(again.to_secret_bytes().expose(), bytes.expose());
            assert_eq!(again.decrypt_share(&ciphertext), key.decrypt_share(&ciphertext));
        }
    }
}

#[test]
fn bytes_that_are_not_a_stored_key_are_refused() {
    let mut rng = rng(22);
    let dealt = Dealt::new(Placement::RootsOfUnity, &mut rng);
    let bytes = dealt.keys[&party(0)].to_secret_bytes().expose().clone();
    let expected = bytes.len();
    let length = |got| StoredKeyError::Decode(DecodeError::Length { expected, got });
    for got in 0..expected {
        assert_eq!(refused(&dealt, 0, &bytes[..got]), length(got));
    }
    for more in [1, 31, 32, 33, expected] {
        let long = [bytes.as_slice(), &vec![0; more]].concat();
        assert_eq!(refused(&dealt, 0, &long), length(expected + more));
        let long = [&bytes[..more.min(expected)], &bytes].concat();
        assert_eq!(refused(&dealt, 0, &long), length(expected + more.min(expected)));
    }
    // The group's order is one more than the largest scalar, and encodes nothing.
    let mut order = (-Scalar::ONE).to_bytes();
    order[31] += 1;
    for share in 0..3 {
        for wrong in [order, [0xff; 32]] {
            let mut changed = bytes.clone();
            changed[32 * share..][..32].copy_from_slice(&wrong);
            assert_eq!(refused(&dealt, 0, &changed), DecodeError::NotCanonical.into());
        }
    }
    for at in 0..expected {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let index = access().indices(party(0)).nth(at / 32).unwrap();
        let expected = [
            StoredKeyError::Shares(KeySharesError::Mismatch { index }),
            StoredKeyError::Decode(DecodeError::NotCanonical),
        ];
        let verdict = refused(&dealt, 0, &changed);
        assert!(expected.contains(&verdict), "byte {at}: {verdict}");
    }
}

#[test]
fn a_stored_key_is_of_one_party_and_committee() {
    let mut rng = rng(23);
    let [dealt, other] = [(); 2].map(|()| Dealt::new(Placement::Consecutive, &mut rng));
    let bytes = dealt.keys[&party(0)].to_secret_bytes();
    let mismatch = |at| {
        let index = access().indices(party(at)).next().unwrap();
        StoredKeyError::Shares(KeySharesError::Mismatch { index })
    };
    // As many shares, of another committee or another party.
    assert_eq!(refused(&other, 0, bytes.expose()), mismatch(0));
    assert_eq!(refused(&dealt, 3, bytes.expose()), mismatch(3));
    let length = DecodeError::Length { expected: 32, got: 96 };
    assert_eq!(refused(&dealt, 2, bytes.expose()), length.into());
    for own in [bytes.expose().as_slice(), &[]] {
        let none = KeySharesError::NoShares { party: party(1) };
        assert_eq!(refused(&dealt, 1, own), none.into());
        let stranger = KeySharesError::NotMember { party: party(99) };
        assert_eq!(refused(&dealt, 99, own), stranger.into());
    }
}
