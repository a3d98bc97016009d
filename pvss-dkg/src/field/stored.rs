//! A party's shares as they are stored, from the moment its decryption key is used up until the shares
//! are handed over.
//!
//! | part   | what                                         | bytes    |
//! |--------|----------------------------------------------|----------|
//! | slow   | `f(ω^(k−1))`, in the order of the indices    | `32 · w` |
//! | fast   | the same of the fast path, if there is one   | `32 · w` |
//!
//! The bytes do not say whose shares they are. Reading compares each share with its public key in the
//! epoch's key. So shares of another party, path or epoch are refused, and so are bytes that a disk has
//! damaged.
//!
//! Shares that were read serve the purpose of their key and can be dealt on to the next committee, as
//! if the party had never stopped. They open no dealing: the decryption key stays used up. But an
//! adversary that moves from epoch to epoch looks for such a copy on a disk
//! ([`Handover`](super::Handover)). So it must be deleted when the next handover has its key.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::{G2Affine, G2Projective, Scalar};
use prefinal_crypto_core::secret::Secret;
use thiserror::Error;

use super::decrypt::Shares;
use crate::protocol::{EpochKey, Field};
use crate::shape::SharePath;
use crate::wire::{DecodeError, Reader};

/// Why stored bytes are not a party's shares.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoredSharesError {
    /// The committee has no such party.
    #[error("{party} is not of this committee")]
    NotMember {
        /// The party asked for.
        party: Party,
    },
    /// The bytes are not as many scalars as the party holds shares, or a scalar is not canonical.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The shares are of another party or epoch, or were damaged.
    #[error("share {share} on the {path} path is not the one of this key")]
    Mismatch {
        /// The path of the share.
        path: SharePath,
        /// Its place on the path, from zero.
        share: usize,
    },
}

impl StoredSharesError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotMember { .. } => "not-a-member",
            Self::Decode(error) => error.code(),
            Self::Mismatch { .. } => "share-mismatch",
        }
    }
}

impl Shares {
    /// The shares for storage, 32 bytes each, big-endian, the slow path first. Store them before the
    /// decryption key is wiped, and wipe them everywhere when the next handover has its key.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Secret<Vec<u8>> {
        let paths = [Some(&self.slow), self.fast.as_ref()];
        let shares = || paths.into_iter().flatten().flat_map(|path| path.expose());
        let mut bytes = Vec::with_capacity(shares().count() * Scalar::BYTES);
        shares().for_each(|share| bytes.extend_from_slice(&share.to_bytes()));
        Secret::new(bytes)
    }

    /// Reads what [`Shares::to_secret_bytes`] wrote: the party's shares of this key. Costs a
    /// multiplication in `𝔾₂` for each share.
    ///
    /// # Errors
    /// If the bytes are not exactly the canonical encoding of the party's shares of this key.
    pub fn from_secret_bytes(
        key: &EpochKey<Field>,
        party: Party,
        bytes: &Secret<Vec<u8>>,
    ) -> Result<Self, StoredSharesError> {
        let shape = key.shape();
        if !shape.access().contains(party) {
            return Err(StoredSharesError::NotMember { party });
        }
        let (got, count) = (bytes.expose().len(), shape.access().range(party).len());
        let expected = count * shape.paths() * Scalar::BYTES;
        if got != expected {
            return Err(DecodeError::Length { got, expected }.into());
        }
        let mut reader = Reader::new(bytes.expose());
        let slow = read_path(key, (party, SharePath::Slow), &mut reader)?;
        let fast = key
            .public_shares(SharePath::Fast)
            .map(|_| read_path(key, (party, SharePath::Fast), &mut reader));
        Ok(Self { slow, fast: fast.transpose()? })
    }
}

/// Reads the shares of one path and compares each with its public key.
fn read_path(
    key: &EpochKey<Field>,
    (party, path): (Party, SharePath),
    reader: &mut Reader<'_>,
) -> Result<Secret<Vec<Scalar>>, StoredSharesError> {
    let places = key.shape().access().range(party);
    let public = key.public_shares(path).and_then(|all| all.get(places.clone()));
    let public: &[G2Affine] = public.unwrap_or_default();
    let shares = reader.secret_scalars(public.len())?;
    for ((place, public), share) in places.zip(public).zip(shares.expose()) {
        if G2Projective::generator() * share != G2Projective::from(public) {
            return Err(StoredSharesError::Mismatch { path, share: place });
        }
    }
    Ok(shares)
}
