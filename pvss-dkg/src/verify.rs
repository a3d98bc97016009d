//! Verification: anybody checks a dealing, or a sum of dealings.
//!
//! Sizes come first, then identities and signature, then one product of pairings for all the rest
//! (`equations`). Many dealings are checked as one: their signatures in one product, their equations in
//! another. If a product fails, one more product, or a few, find the culprits. Each culprit is then
//! checked alone, so that verdicts and errors are the same as one by one.
//!
//! Both paths are in the one product and share `V̂₀`. So their secrets are equal by structure, and this
//! needs no check. Parties of weight zero cost nothing.
//!
//! After Das, Pinkas, Tomescu and Xiang ([eprint 2024/198](https://eprint.iacr.org/2024/198)).
//! Differences from the paper:
//!
//! - **Fewer vectors: `Vₖ = g^f` and `R̂ₖ = ĝ^r` are gone**, 192 bytes a share instead of 336. `V` was
//!   used in the degree test, which works with `V̂` too. `R̂` was used in `e(ek, R̂ₖ)`; here each
//!   recipient publishes `êk = ĝ^dk` once (`key`), and `e(Rₖ, êk)` is the same value. A dealing shows
//!   less than the paper's, a key one point more. To break one ciphertext, given `g^r`, `g^dk` and one
//!   of `ĝ^r`, `ĝ^dk`, is the same problem with `r` and `dk` exchanged. A simulator for one honest
//!   dealing of `s` carries over. It knows neither `s` nor `log h`, so it gives honest recipients
//!   `ekᵢ = g^(y·s+z)`, `êkᵢ = ĝ^(y·s+z)` with `y`, `z` random. Where `f(k) = α·s + β` it sets
//!   `Rₖ = h^(−α/y)·g^u`, for which `Cₖ = h^(β−α·z/y)·ekᵢ^u`. All of this is computable, and
//!   distributed as in a dealing, from the paper's instance `g^s`, `ĝ^s`, `h`.
//! - **One product, independent weights**: no weight is used twice, neither for two paths nor for two
//!   dealings. So errors cannot cancel, even if dealers make them opposite. The proof that all
//!   logarithms are known is in the product too, because it is linear as well.
//! - **The culprit** is only looked for when the product fails: then each equation is checked alone.
//! - **Identities** are refused in a dealing: `F` and `V̂₀` would add nothing, `Rₖ` would publish a
//!   share, and honest values are never the identity. In a sum only `V̂₀` is refused: a last dealer can
//!   cancel `V̂ₖ`, `Rₖ`, `Cₖ` of *its own* shares, which it may also publish, and refusing those would
//!   let it stop the epoch.
use std::collections::BTreeSet;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bisect;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::curve::{G1Affine, G2Affine};
use thiserror::Error;

use crate::accepted::Accepted;
use crate::batch::{self, Checker};
use crate::config::Config;
use crate::dealing::{Body, Dealing};
use crate::equations::{Claim, Equations};
use crate::opening::Statement;
use crate::proof::{Contribution, ProofError};
use crate::shape::SharePath;

/// Why a dealing is refused. The fault is the signer's, unless it is the signature that fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DealingError {
    /// The dealer's signature or its proof of knowledge fails.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The dealer does not know what it dealt. It may be a multiple of another dealer's shares, for example.
    #[error("proof of knowledge of the shares fails")]
    Opening,
    /// A value is the identity. An honest dealer never has one there.
    #[error("identity as {what}")]
    Identity {
        /// Which value of the dealing is the identity.
        what: &'static str,
    },
    /// An equation of the sharing fails.
    #[error(transparent)]
    Sharing(#[from] SharingError),
}

impl DealingError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Proof(error) => error.code(),
            Self::Opening => "knowledge-proof",
            Self::Identity { .. } => "identity",
            Self::Sharing(error) => error.code(),
        }
    }
}

/// The equation that fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SharingError {
    /// A list has the wrong length: it was made for another committee.
    #[error("{what} on the {path} path: {got}, expected {expected}")]
    Size {
        /// Which list of the dealing it is.
        what: &'static str,
        /// The path that the list belongs to.
        path: SharePath,
        /// Length of the list in the dealing.
        got: usize,
        /// The number of shares.
        expected: usize,
    },
    /// `F` and `V̂₀` commit to two different secrets.
    #[error("commitments to the secret in the two groups differ")]
    Commitment,
    /// The shares disagree, or more of them than the threshold would be needed.
    #[error(
        "{path} shares do not lie on a polynomial of degree below {threshold} through the secret"
    )]
    Degree {
        /// The path whose shares disagree.
        path: SharePath,
        /// Number of shares that must suffice on this path.
        threshold: u32,
    },
    /// The party would decrypt something else than the share that is committed to.
    #[error("ciphertexts for {party} do not open to its commitments")]
    Ciphertext {
        /// The recipient whose ciphertexts are wrong.
        party: Party,
    },
    /// The product fails and no single equation does: chance of 2⁻¹²⁸.
    #[error("pairing product is not one")]
    Product,
}

impl SharingError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Size { .. } => "wrong-count",
            Self::Commitment => "commitment-mismatch",
            Self::Degree { .. } => "degree-too-high",
            Self::Ciphertext { .. } => "ciphertext-mismatch",
            Self::Product => "pairing-mismatch",
        }
    }
}

/// Checks a dealing. It does not matter who sent it.
///
/// See the example at [`deal`](crate::deal()).
///
/// # Errors
/// The first check that fails.
pub fn verify(config: &Config, dealing: Dealing) -> Result<Accepted<Dealing>, DealingError> {
    batch::check(config, dealing)
}

/// Checks many dealings together. It does not matter who sent them. The verdicts are in the order of
/// the dealings, and the same as [`verify`] would give. Each dealing costs one pairing and its part of
/// large sums instead of `n + 5` pairings. One false dealing costs about as much as all of them again.
///
/// ```
/// # use prefinal_crypto_core::{access::Party, bls::min_sig};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
/// # use prefinal_weighted_rounding::{Ratio, Stake};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [4, 3, 2, 1].map(Stake::new);
/// # let shape = Shape::tight(&stakes, Ratio::HALF)?;
/// # let (mut signers, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
/// # for stake in stakes {
/// #     let (signer, key) = (min_sig::SecretKey::random(&mut rng), DecryptionKey::random(&mut rng));
/// #     let public = signer.public_key();
/// #     let encryption = key.register(&signer, &mut rng).verify(&public)?;
/// #     let signer_key = public.verify_possession(&signer.prove_possession())?;
/// #     members.push(Member { stake, encryption, signer: signer_key });
/// #     signers.push(signer);
/// #     keys.push(key);
/// # }
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
/// # let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
/// # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
/// # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
/// use prefinal_pvss_dkg::{Dealing, deal, verify_all};
///
/// let first = deal(&config, Party::new(0), &signers[0], &mut rng)?;
/// let mut bytes = deal(&config, Party::new(1), &signers[1], &mut rng)?.to_bytes();
/// bytes[4] = 2; // in the name of another party
/// let verdicts = verify_all(&config, vec![first, Dealing::from_bytes(&config, &bytes)?]);
/// assert!(verdicts[0].is_ok() && verdicts[1].is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn verify_all(
    config: &Config,
    dealings: Vec<Dealing>,
) -> Vec<Result<Accepted<Dealing>, DealingError>> {
    batch::check_all(config, dealings)
}

impl Checker for Config {
    type Dealing = Dealing;
    type Error = DealingError;

    fn config(&self) -> &Config {
        self
    }

    fn check_shape(&self, dealing: &Dealing) -> Result<(), DealingError> {
        check_sizes(self, &dealing.body)?;
        check_identities(dealing)
    }

    fn signed<'a>(&self, dealing: &'a Dealing) -> (&'a Contribution, &'a min_sig::Signature) {
        (&dealing.contribution, &dealing.signature)
    }

    fn failing(&self, dealings: &[&Dealing]) -> BTreeSet<usize> {
        let claims: Vec<Claim<'_>> = dealings.iter().copied().map(Dealing::claim).collect();
        let equations = Equations::new(self, &claims, &[0; 32]);
        bisect::locate(claims.len(), |range, weight| equations.product(range, weight))
    }

    fn blame(&self, dealing: &Dealing) -> DealingError {
        self.blame_proofs(dealing).err().unwrap_or(SharingError::Product.into())
    }
}

impl Config {
    fn blame_proofs(&self, dealing: &Dealing) -> Result<(), DealingError> {
        let Dealing { contribution, opening, body, .. } = dealing;
        contribution.check_knowledge(self)?;
        Equations::new(self, &[dealing.claim()], &[0; 32]).check_each(0)?;
        let (dealer, commitment) = (contribution.dealer, &contribution.commitment);
        if opening.holds(&Statement { config: self, dealer, commitment, body }) {
            return Ok(());
        }
        Err(DealingError::Opening)
    }
}

impl Dealing {
    fn claim(&self) -> Claim<'_> {
        Claim { commitment: &self.contribution.commitment, body: &self.body, dealing: Some(self) }
    }
}

/// Checks that lists are as long as the committee's shares, for exactly its paths.
pub(crate) fn check_sizes(config: &Config, body: &Body) -> Result<(), SharingError> {
    for path in [SharePath::Slow, SharePath::Fast] {
        let shares = config.shape().threshold(path).map_or(0, |_| config.shares());
        let sharing = body.sharing(path);
        let lengths = [
            ("commitments", sharing.map_or(0, |it| it.commitments.len())),
            ("ephemeral keys", sharing.map_or(0, |it| it.ephemerals.len())),
            ("ciphertexts", sharing.map_or(0, |it| it.ciphertexts.len())),
        ];
        for (what, got) in lengths {
            if got != shares {
                return Err(SharingError::Size { what, path, got, expected: shares });
            }
        }
    }
    Ok(())
}

fn check_identities(dealing: &Dealing) -> Result<(), DealingError> {
    let refuse = |what, found: bool| {
        if found { Err(DealingError::Identity { what }) } else { Ok(()) }
    };
    let commitment = &dealing.contribution.commitment;
    refuse("commitment", commitment.is_identity())?;
    refuse("public key", dealing.body.public_key.is_identity())?;
    for (_, sharing) in dealing.body.sharings() {
        refuse("share commitment", sharing.commitments.iter().any(G2Affine::is_identity))?;
        refuse("ephemeral key", sharing.ephemerals.iter().any(G1Affine::is_identity))?;
        refuse("ciphertext", sharing.ciphertexts.iter().any(G1Affine::is_identity))?;
    }
    Ok(())
}

/// The equations of a sum, or of a sharing without its proofs. `origin` is a hash of everything else
/// that the caller has read.
pub(crate) fn check_sharing(
    config: &Config,
    commitment: &G1Affine,
    body: &Body,
    origin: &[u8; 32],
) -> Result<(), SharingError> {
    let claim = Claim { commitment, body, dealing: None };
    let equations = Equations::new(config, &[claim], origin);
    let failing = bisect::locate(1, |range, weight| equations.product(range, weight));
    if failing.is_empty() {
        return Ok(());
    }
    equations.check_each(0)?;
    Err(SharingError::Product)
}
