//! Field elements as blst lays them out: constants, limbs, coefficients.
use blst::{blst_p1_affine, blst_p2_affine};

#[inline]
pub(super) fn fp_limbs(x: &mut blst::blst_fp) -> impl Iterator<Item = &mut u64> {
    x.l.iter_mut()
}

#[inline]
pub(super) fn fp2_limbs(x: &mut blst::blst_fp2) -> impl Iterator<Item = &mut u64> {
    x.fp.iter_mut().flat_map(fp_limbs)
}

#[inline]
pub(super) fn fp_words(x: &blst::blst_fp, _at: usize) -> &[u64; 6] {
    &x.l
}

#[inline]
pub(super) fn set_fp_words(x: &mut blst::blst_fp, _at: usize, words: [u64; 6]) {
    x.l = words;
}

#[inline]
pub(super) fn fp2_words(x: &blst::blst_fp2, at: usize) -> &[u64; 6] {
    let [c0, c1] = &x.fp;
    if at == 0 { &c0.l } else { &c1.l }
}

#[inline]
pub(super) fn set_fp2_words(x: &mut blst::blst_fp2, at: usize, words: [u64; 6]) {
    let [c0, c1] = &mut x.fp;
    if at == 0 { c0.l = words } else { c1.l = words }
}

/// A known point of `𝔾₁` by its coordinates in Montgomery form.
pub(crate) const fn g1_from_limbs(x: [u64; 6], y: [u64; 6]) -> blst_p1_affine {
    blst_p1_affine { x: blst::blst_fp { l: x }, y: blst::blst_fp { l: y } }
}

/// A known point of `𝔾₂` by its coordinates in Montgomery form.
pub(crate) const fn g2_from_limbs(x: [[u64; 6]; 2], y: [[u64; 6]; 2]) -> blst_p2_affine {
    const fn fp2(limbs: [[u64; 6]; 2]) -> blst::blst_fp2 {
        let [l0, l1] = limbs;
        blst::blst_fp2 { fp: [blst::blst_fp { l: l0 }, blst::blst_fp { l: l1 }] }
    }
    blst_p2_affine { x: fp2(x), y: fp2(y) }
}

pub(super) const FP_ZERO: blst::blst_fp = blst::blst_fp { l: [0; 6] };
pub(super) const FP2_ZERO: blst::blst_fp2 = blst::blst_fp2 { fp: [FP_ZERO, FP_ZERO] };
/// One in Montgomery form: `2^384 mod p`.
pub(super) const FP_ONE: blst::blst_fp = blst::blst_fp {
    l: [
        0x7609_0000_0002_fffd,
        0xebf4_000b_c40c_0002,
        0x5f48_9857_53c7_58ba,
        0x77ce_5853_7052_5745,
        0x5c07_1a97_a256_ec6d,
        0x15f6_5ec3_fa80_e493,
    ],
};
pub(super) const FP2_ONE: blst::blst_fp2 = blst::blst_fp2 { fp: [FP_ONE, FP_ZERO] };
