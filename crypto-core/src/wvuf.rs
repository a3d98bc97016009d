//! Weighted verifiable unpredictable function on BLS12-381.
//!
//! Weight is paid for once per epoch, when a party blinds its shares; after that everyone, large or
//! small, sends one 𝔾₂ point per slot. `f` shares the secret `h^f(0)`; `Sᵢ` are the indices party
//! `i` holds; `τ`, `γ` are 128-bit coefficients from a transcript over everything in the equation.
//!
//! | step       | equation                                                       | by whom                |
//! |------------|----------------------------------------------------------------|------------------------|
//! | blind      | `πᵢ = h^rᵢ`, `ρⱼ = aⱼ^rᵢ` with `aⱼ = h^f(j)`, `j ∈ Sᵢ`          | party `i`, each epoch  |
//! | prove      | `Tᵢ = h^κ`, `zᵢ = κ + cᵢ·rᵢ` with `cᵢ` of all that is public     | party `i`, each epoch  |
//! | admit      | `h^zᵢ = Tᵢ·πᵢ^cᵢ`, `e(πᵢ, Aⱼ) = e(ρⱼ, ĝ)` with `Aⱼ = ĝ^f(j) ≠ 1`, `πᵢ ≠ 1` | anyone, each epoch |
//! | admit_all  | `∏ᵢ e(πᵢ, ∏ⱼ Aⱼ^γⱼ) = e(∏ⱼ ρⱼ^γⱼ, ĝ)`                           | anyone, each epoch     |
//! | evaluate   | `σᵢ = H(m)^(1/rᵢ)`                                             | party `i`, each slot   |
//! | verify     | `e(πᵢ, σᵢ) = e(h, H(m))`                                       | anyone                 |
//! | verify_all | `∏ᵢ e(πᵢ^τᵢ, σᵢ) = e(h^∑τᵢ, H(m))`                             | anyone                 |
//! | combine    | `∏ᵢ e(∏ⱼ ρⱼ^λⱼ, σᵢ) = e(h^f(0), H(m))`                         | anyone                 |
//!
//! What stands on the left of `σᵢ` is the same in every slot, so it can be kept ([`Combination`]).
//!
//! After Das, Pinkas, Tomescu and Xiang ([eprint 2024/198](https://eprint.iacr.org/2024/198)). Ours:
//! `H` is tagged by chain and epoch, and a key is admitted for one party of one [`VufCommittee`], so a
//! key that is right for one party cannot be entered for another. And a key carries a proof that its
//! maker knows `rᵢ`: the equation alone holds for `(π^k, ρ^k)` too, which anybody makes of a published
//! key, and which, entered first, would lock its owner out.
//!
//! **Trap: two paths, two blindings.** `σᵢ` depends on `rᵢ` and the input, not on the shares. If one
//! `rᵢ` blinded the slow and the fast shares, a party's fast partial *would be* its slow partial, and
//! whoever sees fast partials at prefinalization would need only the lower weight of the slow path.
//! So [`blind`] draws a fresh `rᵢ` and nothing else makes an [`EvaluationKey`]: call it once for each
//! path, store key and blinded shares, and read them back after a restart. Who falls into the trap all
//! the same is seen by all, for its `πᵢ` are equal ([`AdmittedKey::check_other_path`]).
//!
//! The output has no short public proof: who was not there checks it from the partials, see
//! [`audit`]. Elsewhere: dealing the `aⱼ` (`pvss_dkg`), how many indices a stake earns
//! (`weighted_rounding`), when a partial may leave (`beacon`).
mod admission;
mod blind;
mod combination;
mod committee;
mod input;
mod possession;
mod quorum;

pub mod audit;

pub use blind::{BlindedKey, EvaluationKey, KeyShares, blind};
pub use combination::{Ahead, Combination, CombinationError, combine};
pub use committee::{
    Admission, AdmitError, AdmittedKey, CommitteeError, InsertError, SharedBlinding, VufCommittee,
};
pub use input::{Input, Partial};
pub(crate) use possession::Possession;
pub use quorum::{NotAdmitted, Output, PartialError, Quorum, QuorumError};
