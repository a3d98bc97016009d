//! All tests that need no separate program, in one program, so that it is linked once.
#[macro_use]
mod variants;

mod access;
mod bls;
mod bls_standard;
mod certificate;
mod drand;
mod draw;
mod elgamal;
mod entropy;
mod external_bls;
mod kat;
mod points;
mod sharing;
#[cfg(feature = "serde")]
mod text;
mod threshold;
mod timelock;
mod transcript;
mod wire;
mod wvuf;
