//! Dealings whose shares are field elements, for threshold signatures and decryption.
//!
//! From a [`crate::Dealing`] a party decrypts `h^f(k)`, which can blind and evaluate but cannot sign.
//! Here it decrypts `f(k)` itself, chunk by chunk, because only small numbers can be taken out of an
//! exponent. `k` counts the shares of all paths, and `i` is the party that holds `k`. `j` is the
//! *level* of `k`: its place among the shares of `i`. `l` counts the 16 chunks of 16 bits.
//!
//! | step    | equation                                                                    | by whom   |
//! |---------|-----------------------------------------------------------------------------|-----------|
//! | share   | `V̂₀ = g₂^f(0)`, `V̂ₖ = g₂^f(ω^k)`, `f(ω^k) = ∑ₗ 2^(16l)·s_kl`                | dealer    |
//! | encrypt | `R_jl = g^r_jl`, `C_kl = ekᵢ^r_jl · g^s_kl`                                  | dealer    |
//! | prove   | the chunks add up to what `V̂` commits to (`sharing`); each is small (`chunking`) | dealer |
//! | verify  | both proofs, the degree of `V̂`, `e(F, g₂) = e(g, V̂₀)`                        | anyone    |
//! | decrypt | `g^s_kl = C_kl − dk·R_jl`, then a table (`logarithm`)                      | recipient |
//!
//! After Groth, "Non-interactive distributed key generation and key resharing" ([eprint
//! 2021/339](https://eprint.iacr.org/2021/339)). The paper's encryption is forward secure, so one key
//! serves many epochs. The encryption here is not, so each epoch needs a fresh key ([`Handover`]).
//! Other differences from the paper:
//!
//! - **Weights.** With one randomness for all shares, two shares of one party would be encrypted under
//!   the same mask `ekᵢ^r`, and their difference would be public. So all parties share the randomness
//!   of a level, but no two levels of a party have the same. Both paths count: there are `p·max w`
//!   levels, not one for each share.
//! - **Two paths, one secret**: both polynomials are in one proof and have the same `V̂₀`.
//! - **Evaluations, not coefficients** are committed to, with the degree test of `low_degree`. So
//!   nobody has to compute the public key of a share.
//! - **One product of two pairings** verifies all equations, of one dealing or of many (`equations`).
//!
//! Sharing randomness among recipients is safe only because they registered their keys with a proof of
//! possession (`key`).
//!
//! See also [`crate::deal`] (dealings with group elements), [`crate::Dkg`] (which dealings count),
//! [`Key::signing`] and [`Key::decryption`] (the use of the shares).
mod chunk;
mod chunking;
pub(crate) mod deal;
mod dealing;
mod decrypt;
mod equations;
mod handover;
mod key;
pub(crate) mod large;
pub(crate) mod layout;
mod logarithm;
mod proof;
mod purpose;
mod sharing;
mod stored;
mod verify;

#[cfg(test)]
pub(crate) mod attacks;

pub use deal::deal;
pub use dealing::Dealing;
pub use decrypt::{DecryptError, OpenedShares, Shares};
pub use handover::{AddError, Handover, HandoverError, Holder, Predecessor, RemainingShares};
pub use key::Key;
pub use large::{LargeChunk, LargeChunkError, TooLarge};
pub use stored::StoredSharesError;
pub use verify::{DealingError, verify, verify_all};
