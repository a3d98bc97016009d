//! Random draws that stay safe with a bad generator.
//!
//! A random value that blinds or encrypts a secret must never be drawn twice. A generator that was
//! restored with a machine's image, or that continues from a stored seed, or that returns zeros,
//! gives the same values again. So the draws here depend on more than the generator:
//!
//! ```text
//! seed = SHA-256(domain, all that is public and secret about the draw, 32 fresh bytes)
//! rng  = ChaCha20(seed)
//! ```
//!
//! | the generator                | the values drawn                                                     |
//! |------------------------------|----------------------------------------------------------------------|
//! | is good                      | cannot be guessed and do not repeat                                  |
//! | repeats itself               | differ as soon as anything that was appended differs                 |
//! | is known to somebody else    | are as hard to guess as the secrets that were appended               |
//!
//! So append everything that may differ: session, attempt, dealer, message. Deterministic signatures
//! ([RFC 6979](https://www.rfc-editor.org/rfc/rfc6979)) do the same without fresh bytes. With fresh
//! bytes ([XEdDSA](https://signal.org/docs/specifications/xeddsa/)), a fault in the middle of a
//! computation does not reveal two answers for one nonce. The code is constant time in the secrets,
//! and all intermediate values are wiped.
use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::Zeroize;

use crate::challenge::Transcript;
use crate::curve::Scalar;
use crate::curve::hazmat::is_periodic;
use crate::entropy::ImplausibleRandomness;
use crate::secret::Secret;

/// Collects the data that a draw depends on.
///
/// ```
/// use prefinal_crypto_core::curve::Scalar;
/// use prefinal_crypto_core::hedge::Hedge;
/// use prefinal_crypto_core::secret::Secret;
/// use rand_chacha::ChaCha20Rng;
/// use rand_core::SeedableRng;
///
/// // One state of the generator, two messages: two nonces.
/// let key = Secret::new([7; 32]);
/// let nonce = |message| {
///     let hedge = Hedge::new(b"example nonce").secret(b"key", &key).public(b"message", message);
///     Scalar::random(&mut hedge.rng(&mut ChaCha20Rng::seed_from_u64(1)))
/// };
/// assert_ne!(nonce(b"pay Alice"), nonce(b"pay Bob"));
/// ```
///
/// ```
/// use prefinal_crypto_core::curve::Scalar;
/// use prefinal_crypto_core::hedge::Hedge;
/// use prefinal_crypto_core::secret::Secret;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let state = rng.clone();
/// let key = Secret::new(Scalar::random(&mut rng));
/// let nonce = |message: &[u8]| {
///     let mut broken = state.clone(); // gives the same bytes each time
///     let hedge = Hedge::new(b"EXAMPLE-NONCE").scalar(b"key", &key).public(b"message", message);
///     Scalar::random(&mut hedge.rng(&mut broken))
/// };
/// assert!(nonce(b"yes") != nonce(b"no"));
/// ```
#[derive(Debug)]
pub struct Hedge(Transcript);

/// The generator that [`Hedge::rng`] returns. It is wiped on drop and never printed.
pub type HedgedRng = ChaCha20Rng;

impl Hedge {
    /// Starts a draw for one purpose. `domain` names scheme, version and purpose.
    #[must_use]
    pub fn new(domain: &[u8]) -> Self {
        let mut transcript = Transcript::new(b"PREFINAL-V1-HEDGE");
        transcript.append(b"domain", domain);
        Self(transcript)
    }

    /// Appends public data under a label.
    #[must_use]
    pub fn public(mut self, label: &[u8], data: &[u8]) -> Self {
        self.0.append(label, data);
        self
    }

    /// Appends a secret under a label. Its length is public.
    #[must_use]
    pub fn secret<T: Zeroize + AsRef<[u8]>>(mut self, label: &[u8], secret: &Secret<T>) -> Self {
        self.0.append(label, secret.expose().as_ref());
        self
    }

    /// Appends a secret scalar under a label.
    #[must_use]
    pub fn scalar(self, label: &[u8], secret: &Secret<Scalar>) -> Self {
        self.secret(label, &Secret::new(secret.expose().to_bytes()))
    }

    /// Appends secret scalars, each as a separate item under the same label.
    #[must_use]
    pub fn scalars<'a>(self, label: &[u8], secrets: impl Iterator<Item = &'a Scalar>) -> Self {
        secrets.fold(self, |hedge, scalar| hedge.secret(label, &Secret::new(scalar.to_bytes())))
    }

    /// The generator to draw from, with 32 bytes of `fresh` in its seed. If none of the appended data
    /// is hard to guess, call [`plausible_rng`](Self::plausible_rng) instead.
    #[must_use]
    pub fn rng(self, fresh: &mut impl CryptoRng) -> HedgedRng {
        self.seeded(&draw(fresh))
    }

    /// Like [`rng`](Self::rng), but refuses bytes that only a broken generator gives.
    ///
    /// # Errors
    /// If the two halves of the 32 fresh bytes are equal.
    pub fn plausible_rng(
        self,
        fresh: &mut impl CryptoRng,
    ) -> Result<HedgedRng, ImplausibleRandomness> {
        let bytes = draw(fresh);
        if is_periodic(bytes.expose()) {
            return Err(ImplausibleRandomness::Periodic);
        }
        Ok(self.seeded(&bytes))
    }

    fn seeded(self, fresh: &Secret<[u8; 32]>) -> HedgedRng {
        let Self(mut transcript) = self.secret(b"fresh", fresh);
        let seed = Secret::new(transcript.bytes(b"seed"));
        ChaCha20Rng::from_seed(*seed.expose())
    }
}

fn draw(fresh: &mut impl CryptoRng) -> Secret<[u8; 32]> {
    let mut bytes = [0; 32];
    fresh.fill_bytes(&mut bytes);
    let drawn = Secret::new(bytes);
    bytes.zeroize();
    drawn
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use rand_core::Rng;

    use super::*;

    /// Sixty-four bytes of what comes out, for one state of the generator.
    fn drawn(hedge: Hedge, state: u64) -> [u8; 64] {
        let mut fresh = rand_chacha::ChaCha20Rng::seed_from_u64(state);
        let mut bytes = [0; 64];
        hedge.rng(&mut fresh).fill_bytes(&mut bytes);
        bytes
    }

    #[test]
    fn whatever_differs_makes_a_difference() {
        let secret = |byte: u8| Secret::new([byte; 32]);
        let (one, two) = (Scalar::from_u64(1), Scalar::from_u64(2));
        let new = || Hedge::new(b"a");
        let draws = [
            drawn(new(), 1),
            drawn(new(), 2),
            drawn(Hedge::new(b"b"), 1),
            drawn(new().public(b"x", b"1"), 1),
            drawn(new().public(b"x", b"2"), 1),
            drawn(new().public(b"y", b"1"), 1),
            drawn(new().public(b"x", b"1").public(b"x", b""), 1),
            drawn(new().secret(b"s", &secret(1)), 1),
            drawn(new().secret(b"s", &secret(2)), 1),
            drawn(new().scalar(b"s", &Secret::new(one)), 1),
            drawn(new().scalars(b"s", [one, two].iter()), 1),
            drawn(new().scalars(b"s", [two, one].iter()), 1),
        ];
        let distinct: alloc::collections::BTreeSet<Vec<u8>> =
            draws.iter().flat_map(|draw| draw.chunks(32)).map(<[u8]>::to_vec).collect();
        assert_eq!(distinct.len(), 2 * draws.len());
        assert_eq!(drawn(new(), 1), drawn(new(), 1));
    }

    #[test]
    fn a_generator_of_zeros_still_gives_what_nobody_guesses_without_the_secret() {
        struct Zeros;
        impl rand_core::TryRng for Zeros {
            type Error = core::convert::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(0)
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(0)
            }
            fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
                bytes.fill(0);
                Ok(())
            }
        }
        impl rand_core::TryCryptoRng for Zeros {}
        let draw = |secret: u8| {
            let hedge = Hedge::new(b"a").secret(b"s", &Secret::new([secret; 32]));
            Scalar::random(&mut hedge.rng(&mut Zeros))
        };
        assert_ne!(draw(1), draw(2));
        assert_ne!(draw(1), Scalar::ZERO);
        let refused = Hedge::new(b"a").plausible_rng(&mut Zeros);
        assert_eq!(refused.err(), Some(ImplausibleRandomness::Periodic));
    }

    #[test]
    fn plausible_or_not_makes_no_difference_to_what_is_drawn() {
        let mut fresh = rand_chacha::ChaCha20Rng::seed_from_u64(1);
        let mut bytes = [0; 64];
        Hedge::new(b"a").plausible_rng(&mut fresh).unwrap().fill_bytes(&mut bytes);
        assert_eq!(bytes, drawn(Hedge::new(b"a"), 1));
    }

    #[test]
    fn nothing_of_it_is_printed() {
        let hedge = Hedge::new(b"a").secret(b"s", &Secret::new([0xab; 32]));
        let text = alloc::format!("{hedge:?}");
        assert!(!text.contains("171") && !text.contains("ab, ab"), "{text}");
        let rng = hedge.rng(&mut rand_chacha::ChaCha20Rng::seed_from_u64(1));
        assert_eq!(alloc::format!("{rng:?}"), "ChaCha20Rng { ... }");
    }
}
