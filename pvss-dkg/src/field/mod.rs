//! Dealings whose shares are field elements, for threshold signatures and decryption.
//!
//! What a party decrypts from a [`crate::Dealing`] is `h^f(k)`, which blinds and evaluates but signs
//! nothing. Here it decrypts `f(k)` itself, chunk by chunk, since only small numbers can be taken out
//! of an exponent. `k` counts the shares of all paths; `i` is the party that holds `k`, `j` the
//! *level* of `k`, its place among the shares of `i`; `l` counts the 16 chunks of 16 bits.
//!
//! | step    | equation                                                                    | by whom   |
//! |---------|-----------------------------------------------------------------------------|-----------|
//! | share   | `V̂₀ = g₂^f(0)`, `V̂ₖ = g₂^f(ω^k)`, `f(ω^k) = ∑ₗ 2^(16l)·s_kl`                | dealer    |
//! | encrypt | `R_jl = g^r_jl`, `C_kl = ekᵢ^r_jl · g^s_kl`                                  | dealer    |
//! | prove   | the chunks add up to what `V̂` commits to (`sharing`); each is small (`chunking`) | dealer |
//! | verify  | both proofs, the degree of `V̂`, `e(F, g₂) = e(g, V̂₀)`                        | anyone    |
//! | decrypt | `g^s_kl = C_kl − dk·R_jl`, then a table (`logarithm`)                      | recipient |
//!
//! After Groth, "Non-interactive distributed key generation and key resharing"
//! ([eprint 2021/339](https://eprint.iacr.org/2021/339)). Its encryption is forward secure, so that one key
//! serves many epochs; ours is not, so that each epoch takes a fresh key ([`Handover`]). Ours:
//!
//! - **Weights.** With one randomness for all, two shares of one party would be encrypted under one
//!   mask `ekᵢ^r`, and their difference would be public. Parties share the randomness of a level, the
//!   levels of a party share none, and both paths count: `p·max w` levels in place of one for each
//!   share.
//! - **Two paths, one secret**: both polynomials are in the one proof and have the one `V̂₀`.
//! - **Evaluations, not coefficients** are committed to, with the degree test of `low_degree`: what a
//!   share's public key is need not be computed by anybody.
//! - **One product of two pairings** verifies all equations, of one dealing or of many (`equations`).
//!
//! Recipients registered their keys with a proof of possession (`key`), which sharing randomness
//! among them needs. Elsewhere: dealings with group elements ([`crate::deal`]), whose dealings count
//! ([`crate::Dkg`]), what the shares are for ([`Key::signing`], [`Key::decryption`]).
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
pub use decrypt::{DecryptError, Opened, Shares};
pub use handover::{AddError, Handover, HandoverError, Holder, Predecessor, Remaining};
pub use key::Key;
pub use large::{LargeChunk, LargeChunkError, TooLarge};
pub use stored::StoredSharesError;
pub use verify::{DealingError, verify, verify_all};
