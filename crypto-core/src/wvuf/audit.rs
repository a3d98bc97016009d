//! Checks an output from public data alone, with slow and simple code.
//!
//! This is an independent check for verifiers that did not take part, and for tests. Every equation
//! is checked alone, without batches or bisection. Only curve operations, hashes and transcripts are
//! shared with the normal code. Evaluation points, Lagrange coefficients and the message are
//! implemented a second time.
//!
//! | step       | equation                                          | how often              |
//! |------------|---------------------------------------------------|------------------------|
//! | [`keys`]   | `h^zᵢ = Tᵢ·πᵢ^cᵢ`                                  | each party, each epoch |
//! |            | `e(πᵢ, Aⱼ) = e(ρⱼ, ĝ)`, `Aⱼ ≠ 1`                   | each share, each epoch |
//! |            | `∏ⱼ Aⱼ^λⱼ ≠ 1`, `j` over all shares                | each epoch             |
//! | `evaluate` | `e(πᵢ, σᵢ) = e(h, H(m))`                          | each party, each slot  |
//! |            | `∏ᵢ e(∏ⱼ ρⱼ^λⱼ, σᵢ)`, `j` over *all* shares given  | each slot              |
//!
//! [`combine`](super::combine) interpolates over `t` shares. The audit interpolates over all shares
//! that are given, so it also detects public shares that are not on one polynomial of degree `t − 1`.
//! It does not check that the `Aⱼ` come from the finalized dealings; the crate `prefinal_pvss_dkg` does.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};

use super::blind::BlindedKey;
use super::committee::COMMITTEE_TAG;
use super::input::Partial;
use super::possession::TAG as POSSESSION_TAG;
use super::quorum::Output;
use crate::access::Party;
use crate::challenge::Transcript;
use crate::context::{Context, Slot};
use crate::curve::hazmat::{Gt, hash_to_g2, pairing};
use crate::curve::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar, Tag};
use crate::generators;

const INPUT_TAG: Tag<'_> = Tag::new(b"PREFINAL-V1-WVUF-INPUT_BLS12381G2_XMD:SHA-256_SSWU_RO_");

/// What is wrong with the keys of an epoch, or with an output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The number of public shares is not the total weight.
    #[error("{got} public shares for a weight of {need}")]
    PublicShares {
        /// Number of public shares.
        got: usize,
        /// Total weight of the committee.
        need: u64,
    },
    /// The threshold is zero, or greater than the number of shares.
    #[error("threshold {got} is not between 1 and the weight of {need}")]
    Threshold {
        /// The threshold that the proof claims.
        got: u32,
        /// Total weight of the committee.
        need: u64,
    },
    /// A public share is the identity, `Aⱼ = 1`, so everybody knows that share.
    #[error("public share {index} is the identity")]
    IdentityShare {
        /// The share index, counted from one.
        index: u32,
    },
    /// `∏ⱼ Aⱼ^λⱼ = 1`: the secret is zero, and every output is the same.
    #[error("public shares combine to the identity")]
    GroupIdentity,
    /// The party is not in the table of weights.
    #[error("{party} is not of this committee")]
    NotMember {
        /// The party that the error is about.
        party: Party,
    },
    /// The number of blinded shares is not the party's weight.
    #[error("{party} published {got} blinded shares, its weight is {need}")]
    ShareCount {
        /// The party that the error is about.
        party: Party,
        /// Number of blinded shares that it published.
        got: usize,
        /// The party's weight, which is the number that it must publish.
        need: u32,
    },
    /// A party of weight zero has nothing to blind.
    #[error("{party} holds no shares")]
    NoShares {
        /// The party that the error is about.
        party: Party,
    },
    /// The proof of knowledge fails, `h^zᵢ ≠ Tᵢ·πᵢ^cᵢ`. The maker of this key does not know its
    /// blinding factor.
    #[error("proof of knowledge of the blinding factor of {party} fails")]
    Possession {
        /// The party that the error is about.
        party: Party,
    },
    /// The party uses one blinding factor on both paths, so each of its fast partials is also its
    /// slow partial.
    #[error("{party} blinds its shares of both paths with one factor")]
    SharedBlinding {
        /// The party that the error is about.
        party: Party,
    },
    /// A blinded share does not match its public share: `e(πᵢ, Aⱼ) ≠ e(ρⱼ, ĝ)`.
    #[error("share {index} of {party} does not match its public share")]
    Share {
        /// The party that the error is about.
        party: Party,
        /// The share index, counted from one.
        index: u32,
    },
    /// A partial does not match its key and the input: `e(πᵢ, σᵢ) ≠ e(h, H(m))`.
    #[error("partial of {party} does not match its key and the input")]
    Partial {
        /// The party that the error is about.
        party: Party,
    },
    /// There is a partial of a party that has no key. Such a partial cannot count.
    #[error("{party} sent a partial but has no key")]
    UnknownPartial {
        /// The party that the error is about.
        party: Party,
    },
    /// The partials hold too few shares to determine the output.
    #[error("partials hold {got} shares, threshold is {need}")]
    BelowThreshold {
        /// Number of shares of all partials together.
        got: usize,
        /// Number of shares that an output needs.
        need: usize,
    },
    /// Keys and partials are right, but the claimed output is wrong.
    #[error("output is not what the partials combine to")]
    Output,
}

impl AuditError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::PublicShares { .. } | Self::ShareCount { .. } => "wrong-count",
            Self::Threshold { .. } => "threshold-range",
            Self::IdentityShare { .. } | Self::GroupIdentity => "identity",
            Self::Possession { .. } => "possession-mismatch",
            Self::SharedBlinding { .. } => "shared-blinding",
            Self::NotMember { .. } => "not-a-member",
            Self::NoShares { .. } => "holds-no-shares",
            Self::Share { .. } => "share-mismatch",
            Self::Partial { .. } => "partial-mismatch",
            Self::UnknownPartial { .. } => "not-admitted",
            Self::BelowThreshold { .. } => "below-threshold",
            Self::Output => "output-mismatch",
        }
    }
}

/// Proof of an output for a verifier that did not take part: the input and the partials from which
/// the output was combined. The output itself is not included; [`Audit::open`] computes it.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Proof {
    /// The chain and the epoch.
    pub context: Context,
    /// The slot that was evaluated.
    pub slot: Slot,
    /// The slot's value, if outputs depend on it.
    pub value: Option<[u8; 32]>,
    /// Partials that together have at least the threshold's weight.
    pub partials: BTreeMap<Party, Partial>,
}

/// A committee whose keys were all checked, share by share.
///
/// ```
/// # use std::collections::BTreeMap;
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
/// # use prefinal_crypto_core::wvuf::{Input, KeyShares, VufCommittee, blind, combine};
/// use prefinal_crypto_core::wvuf::audit;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
/// # use prefinal_crypto_core::generators::{g_hat, h};
/// # use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # let (access, threshold) = (Access::new(&[2, 1, 2])?, Threshold::new(3, 5)?);
/// # let f = Polynomial::random(threshold.t(), &Secret::new(Scalar::random(&mut rng)), &mut rng);
/// # let shares = f.shares(&Points::of(&access, Placement::RootsOfUnity));
/// # let public: Vec<G2Affine> =
/// #     shares.expose().iter().map(|share| (g_hat() * share).to_affine()).collect();
/// # let secret: Vec<G1Affine> = shares.expose().iter().map(|share| (h() * share).to_affine()).collect();
/// # let key_shares: std::collections::BTreeMap<_, _> =
/// #     access.parties().map(|party| (party, secret[access.range(party)].to_vec())).collect();
/// # let mut committee = VufCommittee::new(access, threshold, public)?;
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(3) };
/// # let input = Input::new(&context, Slot::new(9), None);
/// # let mut partials = BTreeMap::new();
/// # for (party, shares) in key_shares {
/// #     let (key, blinded) = blind(&committee, party, &KeyShares::new(shares), &mut rng);
/// #     committee.insert(committee.admit(party, blinded)?)?;
/// #     partials.insert(party, key.evaluate(&input));
/// # }
/// # let quorum = committee.verify_all(&input, partials)?;
/// # let (value, mut proof) = (combine(&quorum), quorum.proof());
///
/// // Weights, threshold and keys are public, and so is the proof that came with a value.
/// let audit = audit::keys(&[2, 1, 2], 3, committee.public(), committee.keys())?;
/// assert_eq!(audit.open(&proof)?, value);
/// proof.slot = Slot::new(10);
/// assert!(audit.open(&proof).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Audit {
    threshold: u32,
    /// `(πᵢ, (x, ρⱼ) for each share)`
    keys: BTreeMap<Party, (G1Affine, Vec<(Scalar, G1Affine)>)>,
}

/// Checks the keys of an epoch on one path. `weights` has one entry for each party; `public` are the
/// `Aⱼ` in the order of the share indices.
///
/// See the example at [`Audit`].
///
/// # Errors
/// [`AuditError`] says what does not fit: the public shares, or which share or proof of which party.
pub fn keys(
    weights: &[u32],
    threshold: u32,
    public: &[G2Affine],
    keys: &BTreeMap<Party, BlindedKey>,
) -> Result<Audit, AuditError> {
    let need: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    if u64::try_from(public.len()) != Ok(need) {
        return Err(AuditError::PublicShares { got: public.len(), need });
    }
    if threshold == 0 || u64::from(threshold) > need {
        return Err(AuditError::Threshold { got: threshold, need });
    }
    if let Some((index, _)) = (1..).zip(public).find(|(_, share)| share.is_identity()) {
        return Err(AuditError::IdentityShare { index });
    }
    let committee = committee(weights, threshold, public);
    let indexed = indices(weights, public);
    if group_key(&indexed).is_identity() {
        return Err(AuditError::GroupIdentity);
    }
    let mut audited = BTreeMap::new();
    for (&party, key) in keys {
        let shares = indexed.get(&party).ok_or(AuditError::NotMember { party })?;
        let (got, need) = (key.rho().len(), shares.len());
        if got != need {
            let need = u32::try_from(need).unwrap_or(u32::MAX);
            return Err(AuditError::ShareCount { party, got, need });
        }
        if shares.is_empty() {
            return Err(AuditError::NoShares { party });
        }
        if !possesses(&committee, party, key) {
            return Err(AuditError::Possession { party });
        }
        let mut checked = Vec::with_capacity(got);
        for ((index, point, public), rho) in shares.iter().zip(key.rho()) {
            if pairing(&key.pi(), public) != pairing(rho, &generators::g_hat()) {
                return Err(AuditError::Share { party, index: *index });
            }
            checked.push((*point, *rho));
        }
        audited.insert(party, (key.pi(), checked));
    }
    Ok(Audit { threshold, keys: audited })
}

impl Audit {
    /// Checks each partial on a slot and combines them into the output.
    ///
    /// # Errors
    /// Says whose partial is wrong, or how many shares are missing.
    pub fn evaluate(
        &self,
        context: &Context,
        slot: Slot,
        value: Option<[u8; 32]>,
        partials: &BTreeMap<Party, Partial>,
    ) -> Result<Output, AuditError> {
        let point = hash_to_g2(&message(context, slot, value), INPUT_TAG);
        let right = pairing(&generators::h(), &point);
        let mut points = Vec::new();
        for (&party, partial) in partials {
            let (pi, shares) = self.keys.get(&party).ok_or(AuditError::UnknownPartial { party })?;
            if pairing(pi, &partial.point()) != right {
                return Err(AuditError::Partial { party });
            }
            points.extend(shares.iter().map(|(point, _)| *point));
        }
        let need = usize::try_from(self.threshold).unwrap_or(usize::MAX);
        if points.len() < need {
            return Err(AuditError::BelowThreshold { got: points.len(), need });
        }
        let mut output = Gt::one();
        for (party, partial) in partials {
            let (_, shares) = self.keys.get(party).ok_or(AuditError::Output)?;
            let base: G1Projective =
                shares.iter().map(|(x, rho)| *rho * lagrange(*x, &points)).sum();
            output *= pairing(&base.to_affine(), &partial.point());
        }
        Ok(Output::new(output))
    }

    /// Checks that no party uses the same blinding factor on this path and on the other one.
    ///
    /// # Errors
    /// Names the first party that does.
    pub fn check_other_path(&self, other: &Self) -> Result<(), AuditError> {
        let same = |(party, (pi, _)): &(&Party, &(G1Affine, _))| {
            other.keys.get(*party).is_some_and(|(theirs, _)| theirs == pi)
        };
        match self.keys.iter().find(same) {
            Some((&party, _)) => Err(AuditError::SharedBlinding { party }),
            None => Ok(()),
        }
    }

    /// Computes the output that a proof shows.
    ///
    /// # Errors
    /// The errors of [`Audit::evaluate`].
    pub fn open(&self, proof: &Proof) -> Result<Output, AuditError> {
        self.evaluate(&proof.context, proof.slot, proof.value, &proof.partials)
    }

    /// Checks a claimed output.
    ///
    /// # Errors
    /// The errors of [`Audit::evaluate`], and [`AuditError::Output`] if the output is a different
    /// one.
    pub fn verify(
        &self,
        context: &Context,
        slot: Slot,
        value: Option<[u8; 32]>,
        (partials, claimed): (&BTreeMap<Party, Partial>, &Output),
    ) -> Result<(), AuditError> {
        let output = self.evaluate(context, slot, value, partials)?;
        if output == *claimed { Ok(()) } else { Err(AuditError::Output) }
    }
}

/// The committee's digest. Proofs of possession are bound to it.
fn committee(weights: &[u32], threshold: u32, public: &[G2Affine]) -> [u8; 32] {
    let mut transcript = Transcript::new(COMMITTEE_TAG);
    transcript.append_u64(b"threshold", threshold.into());
    weights.iter().for_each(|weight| transcript.append_u64(b"weight", (*weight).into()));
    transcript.append_points(b"public", public);
    transcript.bytes(b"id")
}

/// `h^z·π^(−c) = T`
fn possesses(committee: &[u8; 32], party: Party, key: &BlindedKey) -> bool {
    let proof = key.possession();
    let mut transcript = Transcript::new(POSSESSION_TAG);
    transcript.append(b"committee", committee);
    transcript.append_u64(b"party", party.get().into());
    transcript.append_points(b"pi", &[key.pi()]);
    transcript.append_points(b"rho", key.rho());
    transcript.append_points(b"nonce", &[proof.nonce]);
    let c = transcript.scalar(b"challenge");
    generators::h() * proof.response - key.pi() * c == G1Projective::from(proof.nonce)
}

/// Share index, evaluation point and public share.
type Indexed = (u32, Scalar, G2Affine);

/// Indices go to parties in order, from one; index `k` sits at `ω^(k−1)`.
fn indices(weights: &[u32], public: &[G2Affine]) -> BTreeMap<Party, Vec<Indexed>> {
    let root = root_of_unity(public.len());
    let mut shares = public.iter();
    let (mut index, mut point) = (0, Scalar::ONE);
    let mut indexed = BTreeMap::new();
    for (party, weight) in (0..).map(Party::new).zip(weights) {
        let mut own = Vec::new();
        for share in shares.by_ref().take(usize::try_from(*weight).unwrap_or(usize::MAX)) {
            index += 1;
            own.push((index, point, *share));
            point *= root;
        }
        indexed.insert(party, own);
    }
    indexed
}

/// `∏ⱼ Aⱼ^λⱼ = ĝ^f(0)`, over all shares.
fn group_key(indexed: &BTreeMap<Party, Vec<Indexed>>) -> G2Projective {
    let shares = || indexed.values().flatten();
    let points: Vec<Scalar> = shares().map(|(_, point, _)| *point).collect();
    shares().map(|(_, point, public)| *public * lagrange(*point, &points)).sum()
}

/// `7^((r − 1)/n)` for the least power of two `n ≥ total`; 7 generates the scalars' multiplicative
/// group.
fn root_of_unity(total: usize) -> Scalar {
    // (r − 1)/2³², big-endian.
    const ODD_PART: [u64; 4] = [
        0x0000_0000_73ed_a753,
        0x299d_7d48_3339_d808,
        0x09a1_d805_53bd_a402,
        0xfffe_5bfe_ffff_ffff,
    ];
    let mut root = Scalar::ONE;
    for limb in ODD_PART {
        for bit in (0..u64::BITS).rev() {
            root *= root;
            if limb >> bit & 1 == 1 {
                root *= Scalar::from_u64(7);
            }
        }
    }
    for _ in total.next_power_of_two().trailing_zeros()..32 {
        root *= root;
    }
    root
}

/// `λ(x) = ∏ y/(y − x)` over all other points `y`.
fn lagrange(x: Scalar, points: &[Scalar]) -> Scalar {
    let others = || points.iter().copied().filter(|y| *y != x);
    let above: Scalar = others().product();
    let below: Scalar = others().map(|y| y - x).product();
    above * below.invert().unwrap_or(Scalar::ZERO)
}

fn message(context: &Context, slot: Slot, value: Option<[u8; 32]>) -> Vec<u8> {
    let mut message = context.chain.as_bytes().to_vec();
    message.extend(context.epoch.get().to_be_bytes());
    message.extend(slot.get().to_be_bytes());
    match value {
        None => message.push(0),
        Some(value) => {
            message.push(1);
            message.extend(value);
        }
    }
    message
}
