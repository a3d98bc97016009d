//! Whatever bytes come: a typed error, or an object that encodes back to the same bytes, and the same
//! verdict from all three decoders (wire, Borsh, JSON).
use std::num::NonZeroU32;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::{KeyPath, MinPk, MinSig, SecretKey, min_pk, min_sig};
use prefinal_crypto_core::certificate::{Certificate, Signers};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{Affine, G1, G1Affine, G2, Group, PointError, Scalar};
use prefinal_crypto_core::drand::{ChainInfo, GroupKey, Round, RoundNumber, Schedule, Scheme};
use prefinal_crypto_core::elgamal::{Ciphertext, DecryptionShare, EncryptionKey};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::wire::{Kind, Object};
use prefinal_crypto_core::wvuf::audit::Proof;
use prefinal_crypto_core::wvuf::{BlindedKey, EvaluationKey, Partial};
use prefinal_crypto_core::{generators, threshold, timelock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::canonical;

pub(crate) fn run(data: &[u8]) {
    match data {
        // An object starts with its version and kind.
        [1, kind, ..] => match Kind::from_byte(*kind) {
            Some(kind) => object(kind, data),
            None => every_object(data),
        },
        [other, rest @ ..] => plain(*other, rest),
        [] => every_object(data),
    }
}

/// Every kind with its type.
macro_rules! objects {
    ($($kind:ident: $type:ty;)*) => {
        fn object(kind: Kind, data: &[u8]) {
            match kind {
                $(Kind::$kind => wire::<$type>(data),)*
                other => panic!("{other} has no line here"),
            }
        }

        /// No decoder takes what names another kind, or none.
        fn every_object(data: &[u8]) {
            $(assert!(<$type>::from_wire(data).is_err());)*
        }
    };
}

objects! {
    MinSigPublicKey: min_sig::PublicKey;
    MinSigSignature: min_sig::Signature;
    MinSigPossession: min_sig::ProofOfPossession;
    MinPkPublicKey: min_pk::PublicKey;
    MinPkSignature: min_pk::Signature;
    MinPkPossession: min_pk::ProofOfPossession;
    CommitmentG1: Commitment<G1>;
    CommitmentG2: Commitment<G2>;
    MinSigPartial: threshold::Partial<MinSig>;
    MinPkPartial: threshold::Partial<MinPk>;
    BlindedKey: BlindedKey;
    WvufPartial: Partial;
    WvufProof: Proof;
    ElgamalCiphertext: Ciphertext;
    ElgamalShare: DecryptionShare;
    ElgamalKey: EncryptionKey;
    MinSigCertificate: Certificate<MinSig>;
    MinPkCertificate: Certificate<MinPk>;
    TimelockMinSig: timelock::Ciphertext<MinSig, 16>;
    TimelockMinPk: timelock::Ciphertext<MinPk, 32>;
}

/// What has no wire format by itself.
fn plain(decoder: u8, bytes: &[u8]) {
    match decoder % 12 {
        0 => canonical::<Scalar>(bytes),
        1 => points::<G1>(bytes),
        2 => points::<G2>(bytes),
        3 => canonical::<Access>(bytes),
        4 => canonical::<Threshold>(bytes),
        5 => canonical::<Signers>(bytes),
        6 => canonical::<Placement>(bytes),
        7 => canonical::<Vec<G1Affine>>(bytes),
        8 => text(&String::from_utf8_lossy(bytes)),
        9 => secrets(bytes),
        10 => drand_key(bytes),
        _ => drand_round(bytes),
    }
}

fn text(text: &str) {
    if let Ok(path) = text.parse::<KeyPath>() {
        assert_eq!(path.to_string(), text);
    }
    if let Ok(scheme) = text.parse::<Scheme>() {
        assert_eq!(scheme.to_string(), text);
    }
}

fn secrets(bytes: &[u8]) {
    let stored = Secret::new(bytes.to_vec());
    if let Ok(shares) = threshold::KeyShares::from_secret_bytes(Party::new(0), &stored) {
        assert_eq!(*shares.to_secret_bytes().expose(), bytes);
    }
    let Ok(bytes) = <[u8; 32]>::try_from(bytes) else { return };
    let stored = Secret::new(bytes);
    if let Ok(key) = SecretKey::from_secret_bytes(&stored) {
        assert_eq!(*key.to_secret_bytes().expose(), bytes);
    }
    if let Ok(key) = EvaluationKey::from_secret_bytes(&stored) {
        assert_eq!(*key.to_secret_bytes().expose(), bytes);
    }
}

fn drand_key(bytes: &[u8]) {
    let Some((scheme, bytes)) = bytes.split_first() else { return };
    let scheme = Scheme::ALL[usize::from(*scheme) % Scheme::ALL.len()];
    if let Ok(key) = GroupKey::from_bytes(scheme, bytes) {
        assert_eq!(key.to_bytes(), bytes);
    }
}

/// Nobody knows the key, so no signature is a round's.
fn drand_round(bytes: &[u8]) {
    let Some(([scheme, previous], signature)) = bytes.split_first_chunk() else { return };
    let scheme = Scheme::ALL[usize::from(*scheme) % Scheme::ALL.len()];
    let key = match scheme {
        Scheme::PedersenChained | Scheme::PedersenUnchained => generators::h().to_bytes().to_vec(),
        _ => generators::g_hat().to_bytes().to_vec(),
    };
    let schedule = Schedule { genesis_time: 1, period: NonZeroU32::MIN };
    let chain = ChainInfo::new(scheme, &key, schedule, [0; 32], "fuzz").expect("a key");
    let previous = previous % 2 == 1;
    let previous = previous.then(|| signature.to_vec());
    let round = Round {
        number: RoundNumber::FIRST,
        signature: signature.to_vec(),
        previous,
        randomness: None,
    };
    assert!(chain.verify(&round).is_err());
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

/// One, and many that follow each other, which are what they are one by one.
fn points<G: Group>(bytes: &[u8]) {
    canonical::<Affine<G>>(bytes);
    let size = G::EMPTY.as_ref().len();
    let one = |(index, bytes)| {
        Affine::<G>::from_bytes(bytes).map_err(|error| PointError { index, error })
    };
    let expected: Result<Vec<_>, _> = bytes.chunks(size).enumerate().map(one).collect();
    assert_eq!(Affine::many_from_bytes(bytes), expected);
}
