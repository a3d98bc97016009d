//! Fiat–Shamir transcripts: they take labels and public data and give challenges.
//!
//! A transcript is SHA-256 over a domain tag and then over every appended item as
//! `len(label) ‖ label ‖ len(data) ‖ data`, lengths as `u64` big-endian, so that different sequences
//! of items never give the same hash input. A challenge is a hash of all items so far and becomes an
//! item itself, so that later challenges depend on earlier ones.
//!
//! | challenge          | from                                                    | bias                 |
//! |--------------------|---------------------------------------------------------|----------------------|
//! | `scalar`           | 64 hash bytes modulo `r`                                | below 2⁻²⁵⁶          |
//! | `coefficients_128` | one seed, then two coefficients per hash of a counter   | none                 |
//!
//! Coefficients of 128 bits suffice for random linear combinations: a false equation passes with
//! probability 2⁻¹²⁸ over one coefficient. Compared with full scalars they halve the cost of the
//! sums.
use alloc::vec::Vec;

use borsh::{BorshSerialize, io};
use sha2::{Digest, Sha256};

use crate::curve::{Affine, Group, Scalar};

/// A hash of public data from which challenges are derived.
///
/// A transcript may be cloned: both copies give the same challenges.
///
/// ```
/// use prefinal_crypto_core::challenge::Transcript;
/// let challenge = |message: &[u8]| {
///     let mut transcript = Transcript::new(b"EXAMPLE-V1");
///     transcript.append(b"message", message);
///     transcript.append_u64(b"round", 7);
///     transcript.scalar(b"challenge")
/// };
/// assert!(challenge(b"yes") == challenge(b"yes"));
/// assert!(challenge(b"yes") != challenge(b"no"));
/// ```
#[derive(Clone, Debug)]
pub struct Transcript {
    hash: Sha256,
}

impl Transcript {
    /// Starts a transcript for one purpose. `domain` names scheme, version and purpose.
    #[must_use]
    pub fn new(domain: &[u8]) -> Self {
        let mut transcript = Self { hash: Sha256::new() };
        transcript.append(b"PREFINAL-V1-TRANSCRIPT", domain);
        transcript
    }

    /// Appends bytes under a label.
    pub fn append(&mut self, label: &[u8], data: &[u8]) {
        self.frame(label);
        self.frame(data);
    }

    /// Appends a number under a label, as 8 bytes big-endian.
    pub fn append_u64(&mut self, label: &[u8], value: u64) {
        self.append(label, &value.to_be_bytes());
    }

    /// Appends the compressed encoding of a point under a label.
    pub fn append_point<G: Group>(&mut self, label: &[u8], point: &Affine<G>) {
        self.append(label, point.to_bytes().as_ref());
    }

    /// Appends a list of points as one item, whose length fixes their number.
    pub fn append_points<G: Group>(&mut self, label: &[u8], points: &[Affine<G>]) {
        let mut bytes = Vec::with_capacity(points.len() * G::EMPTY.as_ref().len());
        for point in points {
            bytes.extend_from_slice(point.to_bytes().as_ref());
        }
        self.append(label, &bytes);
    }

    /// Appends a public scalar under a label, as 32 bytes big-endian.
    pub fn append_scalar(&mut self, label: &[u8], scalar: &Scalar) {
        self.append(label, &scalar.to_bytes());
    }

    /// Appends the Borsh encoding of a value under a label.
    ///
    /// # Errors
    /// If the value has no encoding: a collection with more than `u32::MAX` items.
    pub fn append_borsh(&mut self, label: &[u8], value: &impl BorshSerialize) -> io::Result<()> {
        self.append(label, &borsh::to_vec(value)?);
        Ok(())
    }

    /// A challenge of 32 bytes that depends on everything appended so far.
    #[must_use]
    pub fn bytes(&mut self, label: &[u8]) -> [u8; 32] {
        self.frame(b"challenge");
        self.frame(label);
        let digest: [u8; 32] = self.hash.clone().finalize().into();
        self.frame(&digest);
        digest
    }

    /// A challenge that is a uniform scalar.
    #[must_use]
    pub fn scalar(&mut self, label: &[u8]) -> Scalar {
        let seed = self.bytes(label);
        let mut wide = [0; 64];
        for (half, counter) in wide.chunks_exact_mut(32).zip(0_u64..) {
            half.copy_from_slice(&expand(&seed, counter));
        }
        Scalar::from_wide(&wide)
    }

    /// `count` uniform 128-bit coefficients for a random linear combination.
    #[must_use]
    pub fn coefficients_128(&mut self, label: &[u8], count: usize) -> Vec<u128> {
        let seed = self.bytes(label);
        let halves = (0_u64..).flat_map(|counter| {
            let (low, high) = split(&expand(&seed, counter));
            [low, high]
        });
        halves.take(count).collect()
    }

    fn frame(&mut self, bytes: &[u8]) {
        self.hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
        self.hash.update(bytes);
    }
}

fn expand(seed: &[u8; 32], counter: u64) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(seed);
    hash.update(counter.to_be_bytes());
    hash.finalize().into()
}

fn split(digest: &[u8; 32]) -> (u128, u128) {
    let number = |bytes: &[u8]| bytes.iter().fold(0, |n, byte| n << 8 | u128::from(*byte));
    let (low, high) = digest.split_at(16);
    (number(low), number(high))
}
