//! Threshold BLS: a committee signs with a key that no single party holds.
//!
//! `f` shares the key; `Sᵢ` are the indices party `i` holds, `g` generates the keys' group; `H` and the
//! groups are those of [`bls`](crate::bls), in either variant. `λⱼ` are the Lagrange coefficients at 0 of
//! the indices that are combined. `τ` are 128-bit coefficients from a transcript over everything in the
//! equation.
//!
//! | step       | equation                                                     | by whom                |
//! |------------|--------------------------------------------------------------|------------------------|
//! | setup      | `pk = g^f(0)`, `pkⱼ = g^f(j)`, on one polynomial below degree `t` | anyone, once      |
//! | partial    | `σⱼ = H(m)^f(j)`, `j ∈ Sᵢ`                                    | party `i`              |
//! | verify     | `e(∏ⱼ σⱼ^τⱼ, g) = e(H(m), ∏ⱼ pkⱼ^τⱼ)`                         | anyone                 |
//! | verify_all | the same over all `j` of all parties                         | anyone                 |
//! | combine    | `σ = ∏ⱼ σⱼ^λⱼ` over `t` indices                                | anyone                 |
//! | result     | `e(σ, g) = e(H(m), pk)`                                      | anyone                 |
//!
//! After Boldyreva, "Threshold signatures, multisignatures and blind signatures based on the
//! gap-Diffie-Hellman-group signature scheme" ([eprint 2002/118](https://eprint.iacr.org/2002/118)).
//! The result is an ordinary BLS signature of the group key, the same from every set of parties;
//! under [`Purpose::Rounds`] it is a round that every drand client verifies.
//!
//! Differences from the paper:
//! - A party holds as many indices as it has weight.
//! - A committee has one [`Purpose`] and neither signs nor verifies anything else. So nobody can make
//!   the key of a beacon sign a message of their choice.
//! - Share keys are accepted only with a commitment, or after a test of their degree.
//! - The identity is refused as group key and in a partial, as in [`bls`](crate::bls). A share key
//!   may be the identity; then its owner cannot make a valid partial. The last dealer of a key
//!   generation can cancel one of its own shares. If the committee were refused for that, this dealer
//!   could stop the epoch.
//!
//! There are two ways to a signature. [`SigningCommittee::optimistic`] checks only weight and shape
//! of the partials and then verifies the result, with two pairings whatever the size of the
//! committee. If that check fails, the culprits are named. [`SigningCommittee::verify_all`] verifies
//! the partials first; use it for parties that sent wrong partials before.
//!
//! The same parties are usually first in every slot. So [`RunningCombination`] adds up the partials
//! of an expected set of parties as they arrive. The result is verified in any case.
//!
//! See also: [`commitment`](crate::commitment) and the crate `prefinal_pvss_dkg` for where shares come from,
//! [`polynomial`](crate::polynomial) for the evaluation points, [`bisect`](crate::bisect) for how
//! culprits are found, and the crate `prefinal_beacon` for when a party may send its partial.
mod combination;
mod committee;
pub(crate) mod degree;
mod message;
mod partial;
mod quorum;
mod signer;

pub use self::combination::{Combination, RunningCombination};
pub use self::committee::{CommitteeError, Setup, SigningCommittee};
pub use self::message::{Message, Purpose, PurposeError};
pub use self::partial::{Partial, PartialError};
pub use self::quorum::{MisuseError, OptimisticQuorum, Quorum, QuorumError};
pub use self::signer::{KeyShareError, KeyShares, Signer};
pub(crate) use self::signer::{shares_from_bytes, shares_to_bytes};
