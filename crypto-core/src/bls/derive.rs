//! Keys from a seed, and keys from keys: a tree in which each path names one key.
//!
//! | step   | equation                                                                          |
//! |--------|-----------------------------------------------------------------------------------|
//! | master | `sk = KeyGen(seed)`                                                               |
//! | child  | `skᵢ = KeyGen(SHA-256(SHA-256(a₁) ‖ … ‖ SHA-256(a₂₅₅) ‖ SHA-256(b₁) ‖ … ))`, with  |
//! |        | `a = HKDF(i, sk)`, `b = HKDF(i, ¬sk)`, 255 blocks of 32 bytes each                |
//!
//! After [EIP-2333](https://eips.ethereum.org/EIPS/eip-2333), paths after
//! [EIP-2334](https://eips.ethereum.org/EIPS/eip-2334). `KeyGen` is that of the BLS draft: 48 bytes of
//! HKDF-SHA-256 modulo `r` under the hashed salt, so other than in drafts before the fourth. The
//! children of a key follow from it and not the reverse; whoever has a key has all below it, so keys
//! for different purposes are siblings.
//!
//! No step branches on a secret or indexes by one, except to draw again if a key is zero, which
//! happens with probability 2⁻²⁵⁵. Elsewhere: seeds from words (BIP-39, left to wallets).
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use hkdf::{Hkdf, HkdfExtract};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use super::keys::SecretKey;
use crate::curve::Scalar;
use crate::secret::Secret;

const SALT: &[u8] = b"BLS-SIG-KEYGEN-SALT-";
const BLOCK: usize = 32;
/// As many blocks as HKDF gives.
const BLOCKS: usize = 255;
/// Bytes that are taken modulo `r`, for a bias below 2⁻¹²⁸.
const WIDE: u8 = 48;

/// Why a seed is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("seed has {got} bytes, expected at least {}", SecretKey::MIN_SEED)]
pub struct SeedError {
    /// Bytes that were given.
    pub got: usize,
}

/// Why a text is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyPathError {
    /// Paths start at the master key.
    #[error("path does not start with `m`")]
    Root,
    /// Between two slashes is something else than a number. Hardened indices (`0'`) do not exist
    /// here: every child is hardened.
    #[error("index {at} of the path is not a number from 0 to {}", u32::MAX)]
    Index {
        /// Which one, from zero.
        at: usize,
    },
}

/// Where a key is in the tree, like `m/12381/3600/0/0`.
///
/// ```
/// use crypto_core::bls::KeyPath;
/// let path: KeyPath = "m/12381/3600/0/0".parse()?;
/// assert_eq!(path.indices(), [12381, 3600, 0, 0]);
/// # Ok::<(), crypto_core::bls::KeyPathError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyPath(Vec<u32>);

impl KeyPath {
    /// The path through these children of the master key.
    #[must_use]
    pub const fn new(indices: Vec<u32>) -> Self {
        Self(indices)
    }

    /// Which child at each level, from the master key.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.0
    }
}

impl FromStr for KeyPath {
    type Err = KeyPathError;

    fn from_str(text: &str) -> Result<Self, KeyPathError> {
        let mut parts = text.split('/');
        if parts.next() != Some("m") {
            return Err(KeyPathError::Root);
        }
        let index = |(at, part): (usize, &str)| {
            // `u32::from_str` takes a sign and leading zeros; one path has one text here.
            let canonical = part == "0" || part.starts_with(|first| matches!(first, '1'..='9'));
            part.parse().ok().filter(|_| canonical).ok_or(KeyPathError::Index { at })
        };
        parts.enumerate().map(index).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("m")?;
        self.0.iter().try_for_each(|index| write!(f, "/{index}"))
    }
}

impl SecretKey {
    /// Fewest bytes of a seed.
    pub const MIN_SEED: usize = 32;

    /// `derive_master_SK`: the root of a seed's keys. A seed must have 256 bits of entropy at least,
    /// which nobody can check; that it has the bytes is checked.
    ///
    /// # Errors
    /// If the seed is shorter than [`SecretKey::MIN_SEED`].
    pub fn derive_master<S: AsRef<[u8]> + Zeroize>(seed: &Secret<S>) -> Result<Self, SeedError> {
        let seed = seed.expose().as_ref();
        if seed.len() < Self::MIN_SEED {
            return Err(SeedError { got: seed.len() });
        }
        Ok(key_gen(seed))
    }

    /// `derive_child_SK`. Costs some 1500 hashes.
    #[must_use]
    pub fn derive_child(&self, index: u32) -> Self {
        let own = Zeroizing::new(*self.to_secret_bytes().expose());
        let flipped = Zeroizing::new(own.map(|byte| !byte));
        let mut compressed = Sha256::new();
        for half in [own, flipped] {
            let mut lamport = Zeroizing::new(vec![0; BLOCK * BLOCKS]);
            hkdf(&index.to_be_bytes(), &[half.as_slice()], &[], &mut lamport);
            for block in lamport.chunks_exact(BLOCK) {
                let mut digest = Sha256::digest(block);
                compressed.update(digest);
                digest.zeroize();
            }
        }
        let mut digest = compressed.finalize();
        let child = key_gen(&digest);
        digest.zeroize();
        child
    }

    /// The key below this one that the path names; this one is the path's `m`.
    #[must_use]
    pub fn derive_path(&self, path: &KeyPath) -> Self {
        let own = Self::from_nonzero(Secret::new(*self.scalar()));
        path.indices().iter().fold(own, |key, index| key.derive_child(*index))
    }
}

/// `hkdf_mod_r` of the EIP, `KeyGen` of the draft without key information.
fn key_gen(material: &[u8]) -> SecretKey {
    let mut salt = Sha256::digest(SALT);
    loop {
        let mut wide = Zeroizing::new([0; 64]);
        let (_, low) = wide.split_at_mut(64 - usize::from(WIDE));
        hkdf(&salt, &[material, &[0]], &[0, WIDE], low);
        if let Ok(key) = SecretKey::from_scalar(Secret::new(Scalar::from_wide(&wide))) {
            return key;
        }
        salt = Sha256::digest(salt);
    }
}

fn hkdf(salt: &[u8], material: &[&[u8]], info: &[u8], out: &mut [u8]) {
    let mut extract = HkdfExtract::<Sha256>::new(Some(salt));
    material.iter().for_each(|part| extract.input_ikm(part));
    let (mut pseudorandom, expand): (_, Hkdf<Sha256>) = extract.finalize();
    pseudorandom.zeroize();
    expand.expand(info, out).unwrap_or_else(|_| unreachable!("at most 255 blocks are asked for"));
}
