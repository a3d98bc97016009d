//! One line for each kind: reads an object and writes it again.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::bls::{MinPk, MinSig, min_pk, min_sig};
use prefinal_crypto_core::certificate::Certificate;
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{G1, G2};
use prefinal_crypto_core::elgamal::{Ciphertext, DecryptionShare, EncryptionKey};
use prefinal_crypto_core::wire::{Kind, Object, WireError};
use prefinal_crypto_core::wvuf::audit::Proof;
use prefinal_crypto_core::wvuf::{BlindedKey, Partial};
use prefinal_crypto_core::{threshold, timelock};
use serde::Deserialize;

pub(crate) struct Codec {
    pub(crate) kind: Kind,
    /// Reads and writes again.
    pub(crate) again: fn(&[u8]) -> Result<Vec<u8>, WireError>,
    /// Reads the body as Borsh does and writes it again.
    pub(crate) borsh: fn(&[u8]) -> Option<Vec<u8>>,
}

const fn codec<T: Object + BorshSerialize + BorshDeserialize>() -> Codec {
    Codec {
        kind: T::KIND,
        again: |bytes| T::from_wire(bytes).map(|object| object.to_wire()),
        borsh: |body| borsh::from_slice::<T>(body).and_then(|value| borsh::to_vec(&value)).ok(),
    }
}

pub(crate) const CODECS: &[Codec] = &[
    codec::<min_sig::PublicKey>(),
    codec::<min_sig::Signature>(),
    codec::<min_sig::ProofOfPossession>(),
    codec::<min_pk::PublicKey>(),
    codec::<min_pk::Signature>(),
    codec::<min_pk::ProofOfPossession>(),
    codec::<Commitment<G1>>(),
    codec::<Commitment<G2>>(),
    codec::<threshold::Partial<MinSig>>(),
    codec::<threshold::Partial<MinPk>>(),
    codec::<BlindedKey>(),
    codec::<Partial>(),
    codec::<Proof>(),
    codec::<Certificate<MinSig>>(),
    codec::<Certificate<MinPk>>(),
    codec::<timelock::Ciphertext<MinSig, 16>>(),
    codec::<Ciphertext>(),
    codec::<DecryptionShare>(),
    codec::<EncryptionKey>(),
    codec::<timelock::Ciphertext<MinPk, 16>>(),
];

#[derive(Deserialize)]
struct File {
    content: Content,
}

#[derive(Deserialize)]
pub(crate) struct Content {
    pub(crate) cases: Vec<Case>,
    pub(crate) refused: Vec<Refused>,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) kind: u8,
    pub(crate) what: String,
    #[serde(deserialize_with = "from_hex")]
    pub(crate) bytes: Vec<u8>,
}

#[derive(Deserialize)]
pub(crate) struct Refused {
    pub(crate) kind: u8,
    pub(crate) why: String,
    #[serde(deserialize_with = "from_hex")]
    pub(crate) bytes: Vec<u8>,
    pub(crate) reason: String,
}

fn from_hex<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    hex::decode(<String as Deserialize>::deserialize(from)?).map_err(serde::de::Error::custom)
}

pub(crate) fn vector() -> Content {
    let file: File = serde_json::from_str(include_str!("../../vectors/model/wire.json")).unwrap();
    file.content
}

pub(crate) fn codec_of(kind: u8) -> &'static Codec {
    CODECS.iter().find(|codec| codec.kind.byte() == kind).unwrap()
}
