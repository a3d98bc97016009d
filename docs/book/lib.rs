//! The chapters of the book, so that each Rust snippet in them is a documentation test.
//!
//! `mdbook build docs/book` writes the book to `target/book`. The programs of the tutorial are examples of
//! this package, and `tests/tutorial.rs` runs them.
#![forbid(unsafe_code)]

/// A module for each chapter that has snippets.
macro_rules! chapters {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(#[cfg(doctest)] #[doc = include_str!($file)] pub mod $name {})*
    };
}

chapters! {
    readme: "../../README.md",
    what: "src/what.md",
    contract: "src/contract.md",
    operate: "src/operate.md",
    light: "src/light.md",
    randomness: "src/randomness.md",
    weights: "src/weights.md",
    bls: "src/schemes/bls.md",
    vuf: "src/schemes/vuf.md",
    certificates: "src/schemes/certificates.md",
    decryption: "src/schemes/decryption.md",
    own: "src/engines/own.md",
}
