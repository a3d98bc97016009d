//! Weighted verifiable unpredictable function (VUF) on BLS12-381.
//!
//! A party's weight costs something only once per epoch, when the party blinds its shares. After that
//! every party, large or small, sends one 𝔾₂ point per slot. `h` generates 𝔾₁ and `ĝ` generates 𝔾₂. `f`
//! shares the secret `h^f(0)`; `Sᵢ` are the indices party `i` holds; `λⱼ` are the Lagrange coefficients at
//! 0 of the indices that are combined; `τ`, `γ` are 128-bit coefficients from a transcript over
//! everything in the equation.
//!
//! | step       | equation                                                       | by whom                |
//! |------------|----------------------------------------------------------------|------------------------|
//! | blind      | `πᵢ = h^rᵢ`, `ρⱼ = aⱼ^rᵢ` with `aⱼ = h^f(j)`, `j ∈ Sᵢ`          | party `i`, each epoch  |
//! | prove      | `Tᵢ = h^κ`, `zᵢ = κ + cᵢ·rᵢ` with `cᵢ` a hash of all public data | party `i`, each epoch  |
//! | admit      | `h^zᵢ = Tᵢ·πᵢ^cᵢ`, `e(πᵢ, Aⱼ) = e(ρⱼ, ĝ)` with `Aⱼ = ĝ^f(j) ≠ 1`, `πᵢ ≠ 1` | anyone, each epoch |
//! | admit_all  | `∏ᵢ e(πᵢ, ∏ⱼ Aⱼ^γⱼ) = e(∏ⱼ ρⱼ^γⱼ, ĝ)`                           | anyone, each epoch     |
//! | evaluate   | `σᵢ = H(m)^(1/rᵢ)`                                             | party `i`, each slot   |
//! | verify     | `e(πᵢ, σᵢ) = e(h, H(m))`                                       | anyone                 |
//! | verify_all | `∏ᵢ e(πᵢ^τᵢ, σᵢ) = e(h^∑τᵢ, H(m))`                             | anyone                 |
//! | combine    | `∏ᵢ e(∏ⱼ ρⱼ^λⱼ, σᵢ) = e(h^f(0), H(m))`                         | anyone                 |
//!
//! The factors paired with `σᵢ` in the last row are the same in every slot, so they can be kept
//! ([`Combination`]).
//!
//! After Das, Pinkas, Tomescu and Xiang ([eprint 2024/198](https://eprint.iacr.org/2024/198)).
//! Differences from the paper:
//! - The input of `H` contains chain and epoch. A key is admitted for one party of one
//!   [`VufCommittee`], so a key that is right for one party cannot be entered for another.
//! - A key carries a proof that its maker knows `rᵢ`. The pairing equation alone also holds for
//!   `(π^k, ρ^k)`, which anybody can compute from a published key. If this copy were entered first,
//!   it would lock the owner out.
//!
//! **Trap: two paths need two blinding factors.** `σᵢ` depends on `rᵢ` and the input, not on the
//! shares. If one `rᵢ` blinded both the slow and the fast shares, a party's fast partial *would be*
//! its slow partial. An observer of fast partials at prefinalization would then need only the lower
//! weight of the slow path. So [`blind`] draws a fresh `rᵢ`, and no other function makes a new
//! [`EvaluationKey`]. Call it once for each path, store the key and the blinded shares, and read them
//! back after a restart. If a party uses one factor on both paths all the same, everybody can see it,
//! because its two `πᵢ` are equal ([`AdmittedKey::check_other_path`]).
//!
//! The output has no short public proof. A verifier that did not take part checks it from the
//! partials, see [`audit`].
//!
//! See also the crates `prefinal_pvss_dkg` (dealing the `aⱼ`), `prefinal_weighted_rounding` (how many indices
//! a stake earns) and `beacon` (when a party may send a partial).
mod admission;
mod blind;
mod combination;
mod committee;
mod input;
mod possession;
mod quorum;

pub mod audit;

pub use blind::{BlindedKey, EvaluationKey, KeyShares, blind};
pub use combination::{Combination, CombinationError, RunningCombination, combine};
pub use committee::{
    Admission, AdmitError, AdmittedKey, CommitteeError, InsertError, SharedBlinding, VufCommittee,
};
pub use input::{Input, Partial};
pub(crate) use possession::Possession;
pub use quorum::{NotAdmitted, Output, PartialError, Quorum, QuorumError};
