//! The building blocks of schemes. Used wrongly, they break a scheme.
//!
//! These functions do not know their purpose: a tag, a coefficient or a pairing in the wrong place
//! gives no error.
//!
//! | purpose              | items                                                               |
//! |----------------------|---------------------------------------------------------------------|
//! | sums of products     | [`vartime_msm`] and its like, [`vartime_sums`] of [`Factor`]s       |
//! | sums of points       | [`vartime_add_pairs`], [`vartime_add_cells`]                        |
//! | products with secrets | [`FixedBase`], [`multiply_each`]                                   |
//! | pairings             | [`pairing`], [`pairing_product`], [`check_pairing_product`], [`MillerLoop`], [`Gt`] |
//! | hashing under any tag | [`hash_to_g1`], [`hash_to_g2`], [`expand_message_xmd`], [`encode_to_g1`], [`encode_to_g2`] |
//! | raw scalars          | [`batch_invert`], [`challenge`], [`ROOT_OF_UNITY`], [`butterfly`]   |
//! | unchecked points     | [`g1_from_limbs`], [`g2_from_limbs`]; with the features `interop-…` also those of other libraries, as `g1_from_blst_unchecked` |
//! | secrets              | [`reveal`], [`is_periodic`]                                         |
//! | how it is computed   | [`in_parts`], [`lanes`]                                             |
pub use crate::batch::{vartime_add_cells, vartime_add_pairs};
pub use crate::expand::expand_message_xmd;
pub use crate::factor::{Factor, challenge};
pub use crate::fixed_base::FixedBase;
pub use crate::hash::{encode_to_g1, encode_to_g2, hash_to_g1, hash_to_g2};
#[cfg(feature = "interop-ark")]
pub use crate::interop::ark::{g1_from_ark_unchecked, g2_from_ark_unchecked};
#[cfg(feature = "interop-blst")]
pub use crate::interop::blst::{g1_from_blst_unchecked, g2_from_blst_unchecked};
#[cfg(feature = "interop-blstrs")]
pub use crate::interop::blstrs::{g1_from_blstrs_unchecked, g2_from_blstrs_unchecked};
pub use crate::many::in_parts;
pub use crate::msm::{vartime_msm, vartime_msm_128, vartime_msm_bytes, vartime_msm_challenges};
pub use crate::pairing::{Gt, MillerLoop, check_pairing_product, pairing, pairing_product};
pub use crate::points::{g1_from_limbs, g2_from_limbs};
pub use crate::products::multiply_each;
pub use crate::reveal::{is_periodic, reveal};
pub use crate::scalar::{ROOT_OF_UNITY, TWO_ADICITY, batch_invert, butterfly};
pub use crate::sums::vartime_sums;

pub mod lanes {
    //! Computation of eight values at a time, on processors that can: query whether it is used, or
    //! disable it.
    pub use crate::lanes::switch::{available, disable};
}
