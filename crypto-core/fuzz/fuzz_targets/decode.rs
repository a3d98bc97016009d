//! Whatever bytes come: a typed error, or an object that encodes back to the same bytes, and the same
//! verdict from all three decoders (wire, Borsh, JSON).
//!
//! `cargo +nightly fuzz run decode` in `crypto-core/`.
#![no_main]

use borsh::{BorshDeserialize, BorshSerialize};
use crypto_core::access::{Access, Threshold};
use crypto_core::bls::{KeyPath, MinPk, MinSig, min_pk, min_sig};
use crypto_core::certificate::{Certificate, Signers};
use crypto_core::commitment::Commitment;
use crypto_core::curve::{G1, G1Affine, G2, G2Affine, Scalar};
use crypto_core::elgamal::{Ciphertext, DecryptionShare, EncryptionKey};
use crypto_core::wire::{Kind, Object};
use crypto_core::wvuf::audit::Proof;
use crypto_core::wvuf::{BlindedKey, Partial};
use crypto_core::{threshold, timelock};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|data: &[u8]| {
    match data {
        // An object starts with its version and kind.
        [1, kind, ..] => match Kind::from_byte(*kind) {
            Some(kind) => object(kind, data),
            None => every_object(data),
        },
        [other, rest @ ..] => plain(*other, rest),
        [] => every_object(data),
    }
});

fn object(kind: Kind, data: &[u8]) {
    match kind {
        Kind::MinSigPublicKey => wire::<min_sig::PublicKey>(data),
        Kind::MinSigSignature => wire::<min_sig::Signature>(data),
        Kind::MinSigPossession => wire::<min_sig::ProofOfPossession>(data),
        Kind::MinPkPublicKey => wire::<min_pk::PublicKey>(data),
        Kind::MinPkSignature => wire::<min_pk::Signature>(data),
        Kind::MinPkPossession => wire::<min_pk::ProofOfPossession>(data),
        Kind::CommitmentG1 => wire::<Commitment<G1>>(data),
        Kind::CommitmentG2 => wire::<Commitment<G2>>(data),
        Kind::MinSigPartial => wire::<threshold::Partial<MinSig>>(data),
        Kind::MinPkPartial => wire::<threshold::Partial<MinPk>>(data),
        Kind::BlindedKey => wire::<BlindedKey>(data),
        Kind::WvufPartial => wire::<Partial>(data),
        Kind::WvufProof => wire::<Proof>(data),
        Kind::ElgamalCiphertext => wire::<Ciphertext>(data),
        Kind::ElgamalShare => wire::<DecryptionShare>(data),
        Kind::ElgamalKey => wire::<EncryptionKey>(data),
        Kind::MinSigCertificate => wire::<Certificate<MinSig>>(data),
        Kind::MinPkCertificate => wire::<Certificate<MinPk>>(data),
        Kind::TimelockMinSig => wire::<timelock::Ciphertext<MinSig, 16>>(data),
        Kind::TimelockMinPk => wire::<timelock::Ciphertext<MinPk, 32>>(data),
        other => panic!("{other} has no line here"),
    }
}

/// No decoder takes what names another kind, or none.
fn every_object(data: &[u8]) {
    assert!(min_sig::PublicKey::from_wire(data).is_err());
    assert!(BlindedKey::from_wire(data).is_err());
    assert!(Ciphertext::from_wire(data).is_err());
}

fn plain(decoder: u8, bytes: &[u8]) {
    match decoder % 7 {
        0 => canonical::<Scalar>(bytes),
        1 => canonical::<G1Affine>(bytes),
        2 => canonical::<G2Affine>(bytes),
        3 => canonical::<Access>(bytes),
        4 => canonical::<Threshold>(bytes),
        5 => canonical::<Signers>(bytes),
        _ => {
            if let Ok(path) = String::from_utf8_lossy(bytes).parse::<KeyPath>() {
                assert_eq!(path.to_string().as_bytes(), bytes);
            }
        }
    }
}

fn wire<T: Object + BorshDeserialize + BorshSerialize + Serialize + DeserializeOwned>(data: &[u8]) {
    let read = T::from_wire(data);
    assert_eq!(read.is_ok(), borsh::from_slice::<T>(&data[2..]).is_ok());
    if let Ok(object) = read {
        assert_eq!(object.to_wire(), data);
        let text = serde_json::to_string(&object).unwrap();
        assert_eq!(serde_json::from_str::<T>(&text).unwrap().to_wire(), data);
    }
}

/// One value, one encoding.
fn canonical<T: BorshDeserialize + BorshSerialize>(bytes: &[u8]) {
    if let Ok(value) = borsh::from_slice::<T>(bytes) {
        assert_eq!(borsh::to_vec(&value).unwrap(), bytes);
    }
}
