//! Prime fields from bytes, and inverses in constant time.
use ark_ff::{BigInteger, PrimeField};

/// `a^(p − 2)`: the inverse, or zero for zero. The exponent is public, so the sequence of
/// operations is always the same.
pub(super) fn invert<F: PrimeField>(a: &F) -> F {
    let mut exponent = F::MODULUS;
    exponent.sub_with_borrow(&F::BigInt::from(2_u64));
    a.pow(exponent)
}

/// Reads a big-endian number that has at most as many bytes as `B`.
pub(super) fn big_endian<B: BigInteger>(bytes: &[u8]) -> B {
    let mut number = B::default();
    for (limb, part) in number.as_mut().iter_mut().zip(bytes.rchunks(8)) {
        *limb = part.iter().fold(0, |limb, byte| limb << 8 | u64::from(*byte));
    }
    number
}

/// A big-endian number of any length modulo `p`. Pieces that are surely below `p` are joined by
/// Horner's rule, where arkworks' own reduction would go byte by byte.
pub(super) fn reduce<F: PrimeField>(bytes: &[u8]) -> F {
    let piece = usize::try_from((F::MODULUS_BIT_SIZE - 1) / 8).unwrap_or(usize::MAX);
    let shift = (0..piece).fold(F::ONE, |power, _| power * F::from(256_u64));
    let value = |part: &[u8]| F::from_bigint(big_endian(part)).unwrap_or(F::ZERO);
    bytes.rchunks(piece).rev().fold(F::ZERO, |sum, part| sum * shift + value(part))
}
