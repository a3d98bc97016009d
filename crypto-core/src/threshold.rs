//! Threshold BLS: a committee signs with a key that nobody holds.
//!
//! `f` shares the key; `Sᵢ` are the indices party `i` holds, `g` generates the keys' group; `H` and the
//! groups are those of [`bls`](crate::bls), in either variant. `τ` are 128-bit coefficients from a
//! transcript over everything in the equation.
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
//! Ours: parties hold as many indices as they have weight. A committee has one [`Purpose`], and
//! neither signs nor verifies anything else, so the key of a beacon cannot be made to sign what a
//! caller chooses. Share keys are accepted only with a commitment, or after a test of their degree.
//! No identity as group key or in a partial, as in [`bls`](crate::bls). A share key may be the
//! identity, and then its owner has no partial: the last dealer of a key generation can cancel a share
//! of its own, and refusing the committee for that would let it stop the epoch.
//!
//! Two ways to a signature. [`SigningCommittee::optimistic`] counts weight only and verifies the
//! result, two pairings whatever the committee; if it fails, the culprits are named.
//! [`SigningCommittee::verify_all`] verifies the partials first: for parties that were caught before.
//!
//! Whose partials come first is much the same every time, so [`Ahead`] adds up those of an
//! expected set as they arrive; the result is verified as ever.
//!
//! Elsewhere: where shares come from ([`commitment`](crate::commitment), `pvss_dkg`), where they sit
//! ([`polynomial`](crate::polynomial)), how culprits are found (`bisect`), when a partial may leave
//! (`beacon`).
mod combination;
mod committee;
pub(crate) mod degree;
mod message;
mod partial;
mod quorum;
mod signer;

pub use self::combination::{Ahead, Combination};
pub use self::committee::{CommitteeError, Setup, SigningCommittee};
pub use self::message::{Message, Purpose, PurposeError};
pub use self::partial::{Partial, PartialError};
pub use self::quorum::{MisuseError, OptimisticQuorum, Quorum, QuorumError};
pub use self::signer::{KeyShareError, KeyShares, Signer};
pub(crate) use self::signer::{shares_from_bytes, shares_to_bytes};
