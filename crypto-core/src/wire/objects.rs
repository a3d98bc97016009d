//! The bodies of the objects, in the order of the table in [`wire`](super).
use alloc::collections::BTreeMap;

use super::sealed::Body;
use super::{Kind, Object, Reader, WireError};
use crate::access::{Access, Party};
use crate::bls::{MinPk, MinSig, Signature, Variant, min_pk, min_sig};
use crate::certificate::{Certificate, Signers};
use crate::commitment::Commitment;
use crate::context::{ChainId, Context, EpochId, Slot};
use crate::curve::{DecodeError, G1, G2, Group};
use crate::elgamal::{Ciphertext, DecryptionShare, EncryptionKey, KeyError};
use crate::wvuf::audit::Proof;
use crate::wvuf::{BlindedKey, Partial, Possession};
use crate::{threshold, timelock};

/// Encoded length of a party and its partial in bytes.
const PROOF_ITEM: usize = 4 + 96;

macro_rules! fixed {
    ($type:ty $(where [$($generics:tt)*])?, $kind:ident, $bytes:expr) => {
        impl $(<$($generics)*>)? Body for $type {
            fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
                let at = reader.at();
                let bytes = reader.take($bytes)?;
                Self::from_bytes(bytes).map_err(|error| WireError::Decode { at, error })
            }
        }

        impl $(<$($generics)*>)? Object for $type {
            const KIND: Kind = Kind::$kind;
        }
    };
}

fixed!(min_sig::PublicKey, MinSigPublicKey, 96);
fixed!(min_sig::Signature, MinSigSignature, 48);
fixed!(min_sig::ProofOfPossession, MinSigPossession, 48);
fixed!(min_pk::PublicKey, MinPkPublicKey, 48);
fixed!(min_pk::Signature, MinPkSignature, 96);
fixed!(min_pk::ProofOfPossession, MinPkPossession, 96);
fixed!(timelock::Ciphertext<MinSig, N> where [const N: usize], TimelockMinSig, 96 + 2 * N);
fixed!(timelock::Ciphertext<MinPk, N> where [const N: usize], TimelockMinPk, 48 + 2 * N);

impl Object for Commitment<G1> {
    const KIND: Kind = Kind::CommitmentG1;
}

impl Object for Commitment<G2> {
    const KIND: Kind = Kind::CommitmentG2;
}

impl<G: Group> Body for Commitment<G> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let at = reader.at();
        let points = reader.points()?;
        let expected = "a count from one";
        Self::from_points(points).map_err(|_| WireError::Value { at, got: 0, expected })
    }
}

impl Object for threshold::Partial<MinSig> {
    const KIND: Kind = Kind::MinSigPartial;
}

impl Object for threshold::Partial<MinPk> {
    const KIND: Kind = Kind::MinPkPartial;
}

impl<V: Variant> Body for threshold::Partial<V> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.nonzero_points().map(Self::new)
    }
}

impl Object for BlindedKey {
    const KIND: Kind = Kind::BlindedKey;
}

impl Body for BlindedKey {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let pi = reader.nonzero_point()?;
        let possession = Possession { nonce: reader.nonzero_point()?, response: reader.scalar()? };
        Ok(Self::from_parts(pi, possession, reader.points()?))
    }
}

impl Object for Partial {
    const KIND: Kind = Kind::WvufPartial;
}

impl Body for Partial {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.nonzero_point().map(Self::new)
    }
}

impl Object for Proof {
    const KIND: Kind = Kind::WvufProof;
}

impl Body for Proof {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let chain = ChainId::new(reader.array()?);
        let epoch = EpochId::new(reader.u64()?);
        let slot = Slot::new(reader.u64()?);
        let at = reader.at();
        let value = match reader.u8()? {
            0 => None,
            1 => Some(reader.array()?),
            got => return Err(WireError::Value { at, got: got.into(), expected: "0 or 1" }),
        };
        let count = reader.count(PROOF_ITEM, Access::MAX)?;
        let mut partials = BTreeMap::new();
        for _ in 0..count {
            let at = reader.at();
            let party = Party::new(reader.u32()?);
            if partials.last_key_value().is_some_and(|(last, _)| *last >= party) {
                let expected = "a party after the one before it";
                return Err(WireError::Value { at, got: party.get().into(), expected });
            }
            partials.insert(party, Partial::decode(reader)?);
        }
        Ok(Self { context: Context { chain, epoch }, slot, value, partials })
    }
}

impl Object for Certificate<MinSig> {
    const KIND: Kind = Kind::MinSigCertificate;
}

impl Object for Certificate<MinPk> {
    const KIND: Kind = Kind::MinPkCertificate;
}

impl<V: Variant> Body for Certificate<V> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let signers = Signers::from_bitmap(reader.bytes(Signers::MAX_BYTES)?.to_vec());
        let at = reader.at();
        let signature = Signature::from_point(reader.point()?);
        let signature = signature.map_err(|error| WireError::Decode { at, error })?;
        Ok(Self { signers, signature })
    }
}

impl Object for Ciphertext {
    const KIND: Kind = Kind::ElgamalCiphertext;
}

impl Body for Ciphertext {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let u = reader.nonzero_point()?;
        let u_bar = reader.nonzero_point()?;
        let challenge = reader.scalar()?;
        let response = reader.scalar()?;
        let at = reader.at();
        let body = reader.bytes(Self::MAX_BODY)?;
        Self::from_parts([u, u_bar], [challenge, response], body).ok_or(WireError::Value {
            at,
            got: u64::try_from(body.len()).unwrap_or(u64::MAX),
            expected: "16 bytes or more",
        })
    }
}

impl Object for DecryptionShare {
    const KIND: Kind = Kind::ElgamalShare;
}

impl Body for DecryptionShare {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        reader.nonzero_points().map(Self::new)
    }
}

impl Object for EncryptionKey {
    const KIND: Kind = Kind::ElgamalKey;
}

impl Body for EncryptionKey {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let at = reader.at();
        let (y, y_hat) = (reader.nonzero_point()?, reader.point()?);
        Self::new(y, y_hat).map_err(|error| match error {
            KeyError::Identity => WireError::Decode { at, error: DecodeError::Identity },
            KeyError::Halves => WireError::Halves { at },
        })
    }
}
