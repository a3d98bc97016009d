//! Keys from a seed, and keys from keys: a tree in which each path names one key.
//!
//! | step   | equation                                                                          |
//! |--------|-----------------------------------------------------------------------------------|
//! | master | `sk = KeyGen(seed)`                                                               |
//! | child  | `skᵢ = KeyGen(SHA-256(SHA-256(a₁) ‖ … ‖ SHA-256(a₂₅₅) ‖ SHA-256(b₁) ‖ … ))`, with  |
//! |        | `a = HKDF(i, sk)`, `b = HKDF(i, ¬sk)`, 255 blocks of 32 bytes each                |
//!
//! After [EIP-2333](https://eips.ethereum.org/EIPS/eip-2333), paths after
//! [EIP-2334](https://eips.ethereum.org/EIPS/eip-2334). `KeyGen` is the function of the BLS draft: 48
//! bytes of HKDF-SHA-256 modulo `r` under the hashed salt. Drafts before the fourth define it
//! differently. The children of a key can be computed from it, but not the key from its children.
//! Anyone who has a key has all keys below it, so keys for different purposes should be siblings.
//!
//! No step branches on a secret or uses one as an index, except to draw again if a key is zero, which
//! happens with probability 2⁻²⁵⁵. Seeds from words (BIP-39) are left to wallets.
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
/// The greatest number of blocks that HKDF can give.
const BLOCKS: usize = 255;
/// Number of bytes that are reduced modulo `r`, so that the bias is below 2⁻¹²⁸.
const WIDE: u8 = 48;

/// A seed is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("seed has {got} bytes, expected at least {}", SecretKey::MIN_SEED)]
pub struct SeedError {
    /// Length of the given seed in bytes.
    pub got: usize,
}

impl SeedError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "seed-length"
    }
}

/// Why a text is not a [`KeyPath`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyPathError {
    /// The path does not start at the master key `m`.
    #[error("path does not start with `m`")]
    Root,
    /// A part of the path is not a number. Hardened indices (`0'`) do not exist here: every child is
    /// hardened.
    #[error("index {at} of the path is not a number from 0 to {}", u32::MAX)]
    Index {
        /// Position of the faulty index, counted from zero.
        at: usize,
    },
}

impl KeyPathError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Root | Self::Index { .. } => "key-path",
        }
    }
}

/// The position of a key in the tree, like `m/12381/3600/0/0`.
///
/// ```
/// use prefinal_crypto_core::bls::KeyPath;
/// let path: KeyPath = "m/12381/3600/0/0".parse()?;
/// assert_eq!(path.indices(), [12381, 3600, 0, 0]);
/// # Ok::<(), prefinal_crypto_core::bls::KeyPathError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyPath(Vec<u32>);

impl KeyPath {
    /// The path through these children of the master key.
    #[must_use]
    pub const fn new(indices: Vec<u32>) -> Self {
        Self(indices)
    }

    /// The index of the child at each level, starting below the master key.
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
            // `u32::from_str` accepts a sign and leading zeros. Here each path has exactly one text.
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
    /// Smallest length of a seed in bytes.
    pub const MIN_SEED: usize = 32;

    /// `derive_master_SK` of EIP-2333: the master key of a seed. A seed must have at least 256 bits
    /// of entropy. Only its length can be checked, not its entropy.
    ///
    /// ```
    /// use prefinal_crypto_core::bls::{MinPk, SecretKey};
    /// use prefinal_crypto_core::secret::Secret;
    /// let master = SecretKey::derive_master(&Secret::new([7; 32]))?; // a seed from a good generator
    /// let key = master.derive_path(&"m/12381/3600/0/0".parse()?);
    /// assert_ne!(key.public_key::<MinPk>(), master.public_key());
    /// assert!(SecretKey::derive_master(&Secret::new([7; 16])).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// `derive_child_SK` of EIP-2333: the child of this key at `index`. Costs some 1500 hashes.
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

    /// The key that the path names, where this key stands for the path's `m`.
    #[must_use]
    pub fn derive_path(&self, path: &KeyPath) -> Self {
        let own = Self::from_nonzero(Secret::new(*self.expose()));
        path.indices().iter().fold(own, |key, index| key.derive_child(*index))
    }
}

/// `hkdf_mod_r` of the EIP, which is `KeyGen` of the draft with empty key information.
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
