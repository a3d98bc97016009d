//! The fields and curves: those of arkworks, and in browsers those over the field with narrow digits
//! (`narrow`).
#[cfg(not(target_family = "wasm"))]
pub(super) use ark_bls12_381::{Bls12_381, Config, Fq, Fq2, Fq12, g1, g2};

#[cfg(target_family = "wasm")]
pub(super) use super::narrow::curves::{Bls12_381, Config, Fq, Fq2, Fq12, g1, g2};
