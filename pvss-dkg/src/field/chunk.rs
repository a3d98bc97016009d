//! A scalar as sixteen numbers of sixteen bits, and back.
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::secret::Secret;

/// Chunks of a scalar.
pub(crate) const CHUNKS: usize = 16;
/// Bits of a chunk.
pub(crate) const BITS: u32 = 16;

/// `s_0, …, s_15` with `s = ∑ₗ 2^(16l)·s_l`, in constant time.
pub(crate) fn split(scalar: &Scalar) -> Secret<[u64; CHUNKS]> {
    let bytes = Secret::new(scalar.to_bytes());
    let mut chunks = [0; CHUNKS];
    for (chunk, pair) in chunks.iter_mut().rev().zip(bytes.expose().chunks_exact(2)) {
        *chunk = pair.iter().fold(0, |high, byte| high << 8 | u64::from(*byte));
    }
    Secret::new(chunks)
}

/// `2^(16l)` for every chunk.
pub(crate) fn powers() -> [Scalar; CHUNKS] {
    let base = Scalar::from_u64(1 << BITS);
    let mut next = Scalar::ONE;
    [(); CHUNKS].map(|()| {
        let power = next;
        next *= base;
        power
    })
}

/// `∑ₗ 2^(16l)·s_l`
pub(crate) fn join<'a>(chunks: impl IntoIterator<Item = &'a Scalar>) -> Scalar {
    powers().iter().zip(chunks).map(|(power, chunk)| *power * *chunk).sum()
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn what_is_split_joins() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for scalar in [Scalar::ZERO, Scalar::ONE, -Scalar::ONE, Scalar::random(&mut rng)] {
            let chunks = split(&scalar).expose().map(Scalar::from_u64);
            assert_eq!(join(&chunks), scalar);
        }
        assert_eq!(split(&Scalar::from_u64(0x1_0002)).expose()[..3], [2, 1, 0]);
        assert!(split(&-Scalar::ONE).expose().iter().all(|chunk| *chunk < 1 << BITS));
    }
}
