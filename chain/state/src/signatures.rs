//! Ed25519 signatures of transactions, many at once.
//!
//! A batch of [`BATCH`] costs less than its signatures one by one. Its weights are derived from the batch's own
//! bytes, so verification draws no randomness: to make a false batch pass one would have to find bytes whose
//! hash fits, which is as hard as guessing 128 bits. Batches begin at fixed positions, whatever the number of
//! threads. In a batch that fails, halves are verified, down to the signatures that are false.
//!
//! The rules are those of ZIP 215, in which a signature is valid in a batch if and only if it is valid alone.
//! Otherwise parties could disagree on which transactions are valid.
use ed25519_consensus::{Signature, VerificationKeyBytes, batch};
use rand_core_for_ed25519::{CryptoRng, Error, RngCore};
#[cfg(feature = "parallel")]
use rayon::prelude::*;

use crate::proof::sha256;

/// Signatures that are verified together.
pub(crate) const BATCH: usize = 64;

/// A signature, and what it is said to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// The Ed25519 public key of the signer.
    pub(crate) key: [u8; 32],
    /// The hash that the signer has signed.
    pub(crate) digest: [u8; 32],
    pub(crate) signature: [u8; 64],
}

/// The signature is not the key's on this message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidSignature;

pub(crate) type Verdict = Result<(), InvalidSignature>;

/// Verifies all claims, in their order. With the feature `parallel` on the caller's rayon pool.
pub(crate) fn verify(claims: &[Claim]) -> Vec<Verdict> {
    #[cfg(feature = "parallel")]
    return claims.par_chunks(BATCH).flat_map_iter(verify_batch).collect();
    #[cfg(not(feature = "parallel"))]
    return claims.chunks(BATCH).flat_map(verify_batch).collect();
}

fn verify_batch(claims: &[Claim]) -> Vec<Verdict> {
    match (claims, verify_together(claims)) {
        (_, Ok(())) => vec![Ok(()); claims.len()],
        ([] | [_], Err(invalid)) => vec![Err(invalid); claims.len()],
        (_, Err(_)) => {
            let (left, right) = claims.split_at(claims.len() / 2);
            [verify_batch(left), verify_batch(right)].concat()
        }
    }
}

fn verify_together(claims: &[Claim]) -> Verdict {
    let mut verifier = batch::Verifier::new();
    for Claim { key, digest, signature } in claims {
        let (key, signature) = (VerificationKeyBytes::from(*key), Signature::from(*signature));
        verifier.queue((key, signature, digest.as_slice()));
    }
    verifier.verify(Weights::of(claims)).map_err(|_| InvalidSignature)
}

/// The weights of a batch: SHA-256 of its bytes and a counter.
struct Weights {
    seed: [u8; 32],
    drawn: u64,
}

impl Weights {
    fn of(claims: &[Claim]) -> Self {
        let each = claims.iter();
        let parts: Vec<&[u8]> = [b"prefinal/state/v1/batch".as_slice()]
            .into_iter()
            .chain(each.flat_map(|claim| [claim.key.as_slice(), &claim.digest, &claim.signature]))
            .collect();
        Self { seed: sha256(&parts), drawn: 0 }
    }

    fn draw(&mut self) -> [u8; 32] {
        self.drawn = self.drawn.wrapping_add(1);
        sha256(&[&self.seed, &self.drawn.to_be_bytes()])
    }
}

impl RngCore for Weights {
    fn next_u32(&mut self) -> u32 {
        let [a, b, c, d, ..] = self.draw();
        u32::from_be_bytes([a, b, c, d])
    }

    fn next_u64(&mut self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.draw();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(32) {
            for (byte, drawn) in part.iter_mut().zip(self.draw()) {
                *byte = drawn;
            }
        }
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl CryptoRng for Weights {}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use ed25519_consensus::SigningKey;

    use super::*;

    fn claims(count: u8) -> Vec<Claim> {
        let signed = (0..count).map(|number| {
            let key = SigningKey::from([number % 7; 32]);
            let digest = [number; 32];
            let signature = key.sign(&digest).to_bytes();
            Claim { key: key.verification_key().to_bytes(), digest, signature }
        });
        signed.collect()
    }

    #[test]
    fn every_false_signature_is_found_and_no_other() {
        let mut claims = claims(200);
        assert!(verify(&claims).iter().all(Result::is_ok));
        let wrong = [0, 63, 64, 130, 131, 199];
        for at in wrong {
            claims[at].digest[0] ^= 1;
        }
        let verdicts = verify(&claims);
        for (at, verdict) in verdicts.iter().enumerate() {
            assert_eq!(verdict.is_err(), wrong.contains(&at), "signature {at}");
        }
    }

    #[test]
    fn two_signatures_that_would_cancel_without_weights_are_false() {
        // s + 1 in one signature and s − 1 in another: the sum of the equations holds, each alone does not.
        let mut claims = claims(2);
        let add = |bytes: &mut [u8], up: bool| {
            let byte = &mut bytes[32];
            *byte = if up { byte.checked_add(1) } else { byte.checked_sub(1) }.unwrap();
        };
        add(&mut claims[0].signature, true);
        add(&mut claims[1].signature, false);
        assert_eq!(verify(&claims), [Err(InvalidSignature); 2]);
    }

    #[test]
    fn weights_depend_on_every_byte() {
        let claims = claims(3);
        let first = Weights::of(&claims).draw();
        for at in 0..3 {
            let mut other = claims.clone();
            other[at].signature[63] ^= 1;
            assert_ne!(Weights::of(&other).draw(), first);
            let mut other = claims.clone();
            other[at].digest[31] ^= 1;
            assert_ne!(Weights::of(&other).draw(), first);
            let mut other = claims.clone();
            other[at].key[31] ^= 1;
            assert_ne!(Weights::of(&other).draw(), first);
        }
    }
}
