//! Anyone's side: is a dealing, or a sum of them, what it should be?
//!
//! Sizes first, then identities, signature and proof of knowledge of the secret, and in the end that of
//! every share (`opening`). In between, for `W` shares on each path,
//! share `k` on path `p` held by party `i(k)`, one product of `n + 3` pairings says all of
//!
//! | what                            | equation                                   | weight             |
//! |---------------------------------|--------------------------------------------|--------------------|
//! | the two commitments agree       | `e(F, ĝ) = e(g, V̂₀)`                       | `δ`                |
//! | each ciphertext opens to `V̂ₖ`   | `e(Cₖ, ĝ) = e(h, V̂ₖ) · e(Rₖ, êk_i(k))`     | `γₖ`, one per `k, p` |
//! | degree `< t_p`, with point 0    | `∑ₖ vₖ(z_p)·V̂ₖ = 0`, see `low_degree`      | `z_p`, one per `p` |
//!
//! `e(−δF − ∑γₖCₖ, ĝ) · e(δg, V̂₀) · e(h, ∑(γₖ + vₖ)V̂ₖ) · ∏ᵢ e(∑_(i(k)=i) γₖRₖ, êkᵢ) = 1`
//!
//! Both paths are in the one product and share `V̂₀`, so that they have the same secret is not checked
//! but structural. Parties of weight zero cost nothing.
//!
//! After Das, Pinkas, Tomescu and Xiang ([eprint 2024/198](https://eprint.iacr.org/2024/198)). Ours:
//!
//! - **Fewer vectors: `Vₖ = g^f` and `R̂ₖ = ĝ^r` are gone**, 192 bytes a share in place of 336. `V`
//!   served the degree test, which `V̂` passes as well. `R̂` served `e(ek, R̂ₖ)`; each recipient
//!   publishes `êk = ĝ^dk` once (`key`) and `e(Rₖ, êk)` is the same value. A dealing shows
//!   less than the paper's, a key one point more. To break one ciphertext, given `g^r`, `g^dk` and one
//!   of `ĝ^r`, `ĝ^dk`, is one problem with `r` and `dk` exchanged. A simulator for one honest dealing
//!   of `s` carries over: it knows neither `s` nor `log h`, so it gives honest recipients
//!   `ekᵢ = g^(y·s+z)`, `êkᵢ = ĝ^(y·s+z)` with `y`, `z` random, and where `f(k) = α·s + β` it sets
//!   `Rₖ = h^(−α/y)·g^u`, for which `Cₖ = h^(β−α·z/y)·ekᵢ^u`: all computable, distributed as in a
//!   dealing, from the paper's instance `g^s`, `ĝ^s`, `h`.
//! - **128-bit `δ`, `γ`** from a transcript over all of it. The errors are fixed before; any one that
//!   is not zero leaves at most one value of its weight for which the product is one: 2⁻¹²⁸ for each
//!   attempt of a cheater, the level of the curve.
//! - **Paths merged, weights independent**: no weight is used twice, and the degree sums have no
//!   constant term in `z_p`, so errors of two paths cannot cancel, not even if a dealer makes them
//!   opposite. With one `z` for both they could.
//! - **Who failed** is only asked when the product fails: then each equation is checked alone.
//! - **Identities** are refused in a dealing: `F` and `V̂₀` add nothing, `Rₖ` publishes a share, and
//!   honest ones are never there. In a sum only `V̂₀` is: a last dealer can cancel `V̂ₖ`, `Rₖ`, `Cₖ` of
//!   *its own* shares, which it may also publish, and refusing those would let it stop the epoch.
use std::ops::Range;

use crypto_core::access::Party;
use crypto_core::challenge::Transcript;
use crypto_core::curve::{
    G1Affine, G1Projective, G2Affine, G2Projective, Projective, Scalar, check_pairing_product,
    vartime_msm, vartime_msm_128,
};
use crypto_core::generators::{g_hat, h};
use thiserror::Error;

use crate::config::{Config, Path};
use crate::dealing::{Body, Dealing, Sharing};
use crate::low_degree::DualWord;
use crate::opening::Statement;
use crate::proof::{ProofError, widen};
use crate::verified::Verified;

/// Why a dealing is refused. The fault is its signer's, unless the signature is what fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DealingError {
    /// Who dealt this?
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// It dealt what it does not know: a multiple of another's shares, say.
    #[error("proof of knowledge of the shares fails")]
    Opening,
    /// Where an honest dealer never has one.
    #[error("identity as {what}")]
    Identity {
        /// Which value.
        what: &'static str,
    },
    /// What was dealt?
    #[error(transparent)]
    Sharing(#[from] SharingError),
}

/// Which equation fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SharingError {
    /// Made for another committee.
    #[error("{what} on the {path} path: {got}, expected {expected}")]
    Size {
        /// Which list.
        what: &'static str,
        /// On which path.
        path: Path,
        /// Its length.
        got: usize,
        /// The number of shares.
        expected: usize,
    },
    /// `F` and `V̂₀` hide two secrets.
    #[error("commitments to the secret in the two groups differ")]
    Commitment,
    /// More shares than the threshold would be needed, or they disagree.
    #[error(
        "{path} shares do not lie on a polynomial of degree below {threshold} through the secret"
    )]
    Degree {
        /// On which path.
        path: Path,
        /// The threshold.
        threshold: u32,
    },
    /// The party would decrypt something else than the share committed to.
    #[error("ciphertexts for {party} do not open to its commitments")]
    Ciphertext {
        /// The recipient.
        party: Party,
    },
    /// The product fails and no equation alone does: chance of 2⁻¹²⁸.
    #[error("pairing product is not one")]
    Product,
}

/// Checks a dealing, whoever sent it.
///
/// # Errors
/// Says which check fails first.
pub fn verify(config: &Config, dealing: Dealing) -> Result<Verified<Dealing>, DealingError> {
    check_sizes(config, &dealing.body)?;
    check_identities(&dealing)?;
    dealing.contribution.verify(config, &dealing.signature)?;
    let digest = dealing.contribution.digest(config);
    let Dealing { contribution, opening, body, .. } = &dealing;
    check_sharing(config, &contribution.commitment, body, &digest)?;
    let dealer = contribution.dealer;
    let statement = Statement { config, dealer, commitment: &contribution.commitment, body };
    if !opening.holds(&statement) {
        return Err(DealingError::Opening);
    }
    Ok(Verified::new(dealing, *config.digest()))
}

/// Lists that are as long as the committee's shares, for exactly the paths it has.
pub(crate) fn check_sizes(config: &Config, body: &Body) -> Result<(), SharingError> {
    for path in [Path::Slow, Path::Fast] {
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

/// The equations of the head, for a dealing or for a sum. `origin` is a hash of everything else that
/// the caller has read.
pub(crate) fn check_sharing(
    config: &Config,
    commitment: &G1Affine,
    body: &Body,
    origin: &[u8; 32],
) -> Result<(), SharingError> {
    let equations = Equations::new(config, commitment, body, origin);
    if check_pairing_product(equations.product()).is_ok() {
        return Ok(());
    }
    equations.check_each()
}

struct Equations<'a> {
    config: &'a Config,
    commitment: &'a G1Affine,
    body: &'a Body,
    delta: u128,
    paths: Vec<PathEquations<'a>>,
}

struct PathEquations<'a> {
    path: Path,
    threshold: u32,
    sharing: &'a Sharing,
    gammas: Vec<u128>,
    word: DualWord,
}

type Pair = (G1Affine, G2Affine);

impl<'a> Equations<'a> {
    fn new(
        config: &'a Config,
        commitment: &'a G1Affine,
        body: &'a Body,
        origin: &[u8; 32],
    ) -> Self {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-SHARING");
        transcript.append(b"config", config.digest());
        transcript.append(b"origin", origin);
        transcript.append_point(b"commitment", commitment);
        transcript.append(b"body", &body.digest());
        let delta = transcript.coefficients_128(b"delta", 1).into_iter().sum();
        let paths = body.sharings().filter_map(|(path, sharing)| {
            let threshold = config.shape().threshold(path)?;
            let gammas = transcript.coefficients_128(b"gamma", sharing.commitments.len());
            let z = transcript.scalar(b"z");
            let word = config.low_degree().dual_word(threshold, &z);
            Some(PathEquations { path, threshold: threshold.t().get(), sharing, gammas, word })
        });
        let paths = paths.collect();
        Self { config, commitment, body, delta, paths }
    }

    /// Everything at once.
    fn product(&self) -> Vec<Pair> {
        let delta = widen(self.delta);
        let mut left = vec![-self.left(), G1Affine::generator() * delta];
        let mut right = vec![g_hat(), self.body.public_key];
        for (_, key, span) in self.config.holders() {
            left.push(self.ephemerals(&span));
            right.push(*key.g2());
        }
        let mut pairs: Vec<Pair> =
            Projective::batch_to_affine(&left).into_iter().zip(right).collect();
        pairs.push((h(), self.commitments().into()));
        pairs
    }

    /// `δF + ∑γₖCₖ`, both paths.
    fn left(&self) -> G1Projective {
        let mut points = vec![*self.commitment];
        let mut weights = vec![self.delta];
        for path in &self.paths {
            points.extend_from_slice(&path.sharing.ciphertexts);
            weights.extend_from_slice(&path.gammas);
        }
        vartime_msm_128(&points, &weights)
    }

    /// `∑γₖRₖ` over one party's shares, both paths.
    fn ephemerals(&self, span: &Range<usize>) -> G1Projective {
        self.of_party(span, |sharing| &sharing.ephemerals)
    }

    fn of_party(
        &self,
        span: &Range<usize>,
        list: impl Fn(&Sharing) -> &Vec<G1Affine>,
    ) -> G1Projective {
        let mut points = Vec::new();
        let mut weights = Vec::new();
        for path in &self.paths {
            points.extend_from_slice(list(path.sharing).get(span.clone()).unwrap_or_default());
            weights.extend_from_slice(path.gammas.get(span.clone()).unwrap_or_default());
        }
        vartime_msm_128(&points, &weights)
    }

    /// `∑(γₖ + vₖ)V̂ₖ + ∑v₀V̂₀`, both paths.
    fn commitments(&self) -> G2Projective {
        let at_zero = self.paths.iter().map(|path| path.word.at_zero).sum();
        let mut points = vec![self.body.public_key];
        let mut weights: Vec<Scalar> = vec![at_zero];
        for path in &self.paths {
            points.extend_from_slice(&path.sharing.commitments);
            let terms = path.gammas.iter().zip(&path.word.at_shares);
            weights.extend(terms.map(|(gamma, v)| widen(*gamma) + *v));
        }
        vartime_msm(&points, &weights)
    }

    /// The same, one by one, to say what fails.
    fn check_each(&self) -> Result<(), SharingError> {
        let agree = [(*self.commitment, g_hat()), (-G1Affine::generator(), self.body.public_key)];
        check_pairing_product(agree).map_err(|_| SharingError::Commitment)?;
        for path in &self.paths {
            path.check_degree(&self.body.public_key)?;
        }
        for (party, key, span) in self.config.holders() {
            let commitments = self.paths.iter().map(|path| path.committed(&span));
            let opens = [
                (-self.of_party(&span, |sharing| &sharing.ciphertexts), g_hat()),
                (h().into(), commitments.sum::<G2Projective>().into()),
                (self.ephemerals(&span), *key.g2()),
            ];
            check_pairing_product(opens.map(|(p, q)| (p.into(), q)))
                .map_err(|_| SharingError::Ciphertext { party })?;
        }
        Err(SharingError::Product)
    }
}

impl PathEquations<'_> {
    fn check_degree(&self, public_key: &G2Affine) -> Result<(), SharingError> {
        let shares = vartime_msm(&self.sharing.commitments, &self.word.at_shares);
        if (shares + *public_key * self.word.at_zero).is_identity() {
            return Ok(());
        }
        Err(SharingError::Degree { path: self.path, threshold: self.threshold })
    }

    /// `∑γₖV̂ₖ` over one party's shares.
    fn committed(&self, span: &Range<usize>) -> G2Projective {
        let points = self.sharing.commitments.get(span.clone()).unwrap_or_default();
        let weights = self.gammas.get(span.clone()).unwrap_or_default();
        vartime_msm_128(points, weights)
    }
}
