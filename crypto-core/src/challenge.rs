//! Fiat–Shamir: labels and public data in, challenges out.
//!
//! A transcript is SHA-256 over a domain tag and then over every appended item as
//! `len(label) ‖ label ‖ len(data) ‖ data`, lengths as `u64` big-endian, so that no two sequences of
//! items hash alike. A challenge is a hash of all items so far and becomes an item itself, so that
//! later challenges depend on earlier ones.
//!
//! | challenge          | from                                                    | bias                 |
//! |--------------------|---------------------------------------------------------|----------------------|
//! | `scalar`           | 64 hash bytes modulo `r`                                | below 2⁻²⁵⁶          |
//! | `coefficients_128` | one seed, then two coefficients per hash of a counter   | none                 |
//!
//! Coefficients of 128 bits suffice for random linear combinations: a false equation survives with
//! probability 2⁻¹²⁸ over one coefficient, and they halve the cost of the sums.
use alloc::vec::Vec;

use borsh::{BorshSerialize, io};
use sha2::{Digest, Sha256};

use crate::curve::{Affine, Group, Scalar};

/// Public data under way to a challenge.
///
/// Cloning is sound: both copies give the same challenges.
#[derive(Clone, Debug)]
pub struct Transcript {
    hash: Sha256,
}

impl Transcript {
    /// A transcript for one purpose; `domain` names scheme, version and purpose.
    #[must_use]
    pub fn new(domain: &[u8]) -> Self {
        let mut transcript = Self { hash: Sha256::new() };
        transcript.append(b"PREFINAL-V1-TRANSCRIPT", domain);
        transcript
    }

    /// Adds bytes.
    pub fn append(&mut self, label: &[u8], data: &[u8]) {
        self.frame(label);
        self.frame(data);
    }

    /// Adds a number.
    pub fn append_u64(&mut self, label: &[u8], value: u64) {
        self.append(label, &value.to_be_bytes());
    }

    /// Adds a point.
    pub fn append_point<G: Group>(&mut self, label: &[u8], point: &Affine<G>) {
        self.append(label, point.to_bytes().as_ref());
    }

    /// Adds points, with their number.
    pub fn append_points<G: Group>(&mut self, label: &[u8], points: &[Affine<G>]) {
        let mut bytes = Vec::with_capacity(points.len() * G::EMPTY.as_ref().len());
        for point in points {
            bytes.extend_from_slice(point.to_bytes().as_ref());
        }
        self.append(label, &bytes);
    }

    /// Adds a public scalar.
    pub fn append_scalar(&mut self, label: &[u8], scalar: &Scalar) {
        self.append(label, &scalar.to_bytes());
    }

    /// Adds anything with an encoding.
    ///
    /// # Errors
    /// If the value has no encoding: a collection with more than `u32::MAX` items.
    pub fn append_borsh(&mut self, label: &[u8], value: &impl BorshSerialize) -> io::Result<()> {
        self.append(label, &borsh::to_vec(value)?);
        Ok(())
    }

    /// 32 bytes that depend on everything appended so far.
    #[must_use]
    pub fn bytes(&mut self, label: &[u8]) -> [u8; 32] {
        self.frame(b"challenge");
        self.frame(label);
        let digest: [u8; 32] = self.hash.clone().finalize().into();
        self.frame(&digest);
        digest
    }

    /// A uniform scalar.
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
