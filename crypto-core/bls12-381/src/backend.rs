//! The backend, the library that computes: [`blst`] if its feature is on, otherwise [`ark`].
//!
//! Both have the same names: `Fr` and the functions `fr_…` for the scalars, `Fp12` and the functions
//! `fp12_…`, `miller_loop` and `final_exponentiation` for the pairing, and two types `G1` and `G2`
//! that implement [`Group`](crate::group::Group). Only this file and the tests that compare the two
//! (`agreement`) name them.
#[cfg(any(test, not(feature = "blst")))]
pub(crate) mod ark;
#[cfg(feature = "blst")]
pub(crate) mod blst;

#[cfg(not(feature = "blst"))]
use self::ark as chosen;
#[cfg(feature = "blst")]
use self::blst as chosen;

pub(crate) use self::chosen::{
    Fp12, Fr, final_exponentiation, fp12_conjugate, fp12_cyclotomic_square, fp12_equal,
    fp12_from_words, fp12_mul, fp12_one, fp12_to_bytes, fp12_wipe, fr_add, fr_butterfly,
    fr_from_bytes, fr_from_limbs, fr_from_u64, fr_from_wide, fr_invert, fr_limbs, fr_mul, fr_neg,
    fr_sub, fr_to_bytes, fr_wipe, g1_from_limbs, g2_from_limbs, miller_loop,
};
pub use self::chosen::{G1, G2};
