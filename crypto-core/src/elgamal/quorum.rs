//! Shares become a plaintext.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::num::NonZeroU32;
use core::ops::Range;

use super::ciphertext::{Unopenable, ValidCiphertext};
use super::committee::{Committee, OtherKey};
use super::share::DecryptionShare;
use crate::access::{Party, ShareIndex};
use crate::bisect;
use crate::challenge::Transcript;
use crate::curve::{G1Affine, G2Affine, check_pairing_product, vartime_msm_128};
use crate::secret::Secret;

const VERIFY_TAG: &[u8] = b"PREFINAL-V1-ELGAMAL-VERIFY";

/// Why one party's share does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// The committee has no such party.
    #[error("{party} is not of this committee")]
    NotMember {
        /// Who.
        party: Party,
    },
    /// One point for each index.
    #[error("{party} gave {got} points, it holds {need} shares")]
    Count {
        /// Who.
        party: Party,
        /// How many were given.
        got: usize,
        /// How many indices the party holds.
        need: usize,
    },
    /// `e(Dⱼ, g₂) ≠ e(U, Ŷⱼ)`
    #[error("decryption share of {party} does not match its keys and the ciphertext")]
    Mismatch {
        /// Who.
        party: Party,
    },
    /// The caller's mistake.
    #[error(transparent)]
    OtherKey(#[from] OtherKey),
}

/// Why shares did not become a [`Quorum`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumError {
    /// The caller's mistake.
    #[error(transparent)]
    OtherKey(#[from] OtherKey),
    /// Wait for more and try again. Nothing was verified.
    #[error("decryption shares hold {got} shares, threshold is {need}")]
    BelowThreshold {
        /// Shares of all parties of the committee.
        got: u32,
        /// Shares a decryption takes.
        need: NonZeroU32,
    },
    /// Known to us alone; convincing others takes the culprits' signed messages.
    #[error("decryption shares of {} parties are wrong", culprits.len())]
    Faulty {
        /// Every party whose share is wrong, and nobody else.
        culprits: BTreeSet<Party>,
    },
}

/// Why a quorum did not give a plaintext.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CombineError {
    /// Of an optimistic quorum: drop these and try again.
    #[error("decryption shares of {} parties are wrong", culprits.len())]
    Faulty {
        /// Every party whose share is wrong, and nobody else.
        culprits: BTreeSet<Party>,
    },
    /// All shares are right; no other quorum gives another result.
    #[error(transparent)]
    Unopenable(#[from] Unopenable),
}

/// Shares of distinct parties of one committee for one ciphertext, at least `t` in all.
///
/// ```compile_fail,E0451
/// use crypto_core::elgamal::{Committee, Quorum, ValidCiphertext};
/// fn unchecked<'c>(committee: &'c Committee, ciphertext: &'c ValidCiphertext) -> Quorum<'c> {
///     Quorum { committee, ciphertext, shares: Default::default(), verified: true }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Quorum<'c> {
    committee: &'c Committee,
    ciphertext: &'c ValidCiphertext,
    shares: BTreeMap<Party, DecryptionShare>,
    verified: bool,
}

impl Committee {
    /// Checks the share of one party: two pairings and, for each of its indices, half a multiplication
    /// in either group.
    ///
    /// # Errors
    /// If it is not the party's share for this ciphertext.
    pub fn verify(
        &self,
        party: Party,
        ciphertext: &ValidCiphertext,
        share: &DecryptionShare,
    ) -> Result<(), ShareError> {
        self.same_key(ciphertext)?;
        let keys = self.check_shape(party, share)?;
        let culprits = culprits(self, ciphertext, &[Term { party, points: share.points(), keys }]);
        if culprits.is_empty() { Ok(()) } else { Err(ShareError::Mismatch { party }) }
    }

    /// Checks all shares with one equation and, if that fails, names the culprits by halving.
    ///
    /// # Errors
    /// If the ciphertext is for another key, there is not enough weight, or a share is wrong.
    pub fn verify_all<'c>(
        &'c self,
        ciphertext: &'c ValidCiphertext,
        shares: BTreeMap<Party, DecryptionShare>,
    ) -> Result<Quorum<'c>, QuorumError> {
        let quorum = self.optimistic(ciphertext, shares)?;
        let culprits = quorum.culprits();
        if culprits.is_empty() {
            Ok(Quorum { verified: true, ..quorum })
        } else {
            Err(QuorumError::Faulty { culprits })
        }
    }

    /// Counts the shares and verifies nothing: [`Quorum::combine`] checks what they give, which costs
    /// two pairings instead of sums over all shares in both groups. For when nobody lies.
    ///
    /// # Errors
    /// If the ciphertext is for another key, or there is not enough weight.
    pub fn optimistic<'c>(
        &'c self,
        ciphertext: &'c ValidCiphertext,
        shares: BTreeMap<Party, DecryptionShare>,
    ) -> Result<Quorum<'c>, QuorumError> {
        self.same_key(ciphertext)?;
        let got = shares.keys().map(|party| self.access().weight(*party)).sum();
        let need = self.threshold().t();
        if got < need.get() {
            return Err(QuorumError::BelowThreshold { got, need });
        }
        let wrong =
            |(party, share): &(&Party, &DecryptionShare)| self.check_shape(**party, share).is_err();
        let culprits: BTreeSet<Party> =
            shares.iter().filter(wrong).map(|(party, _)| *party).collect();
        if !culprits.is_empty() {
            return Err(QuorumError::Faulty { culprits });
        }
        Ok(Quorum { committee: self, ciphertext, shares, verified: false })
    }

    fn same_key(&self, ciphertext: &ValidCiphertext) -> Result<(), OtherKey> {
        if ciphertext.key() == self.key() { Ok(()) } else { Err(OtherKey) }
    }

    /// The public keys of the party's shares.
    fn check_shape(
        &self,
        party: Party,
        share: &DecryptionShare,
    ) -> Result<&[G2Affine], ShareError> {
        if !self.access().contains(party) {
            return Err(ShareError::NotMember { party });
        }
        let keys = self.keys_of(party);
        let (got, need) = (share.weight(), keys.len());
        if got == need { Ok(keys) } else { Err(ShareError::Count { party, got, need }) }
    }
}

impl Quorum<'_> {
    /// What is being decrypted.
    #[must_use]
    pub const fn ciphertext(&self) -> &ValidCiphertext {
        self.ciphertext
    }

    /// The shares.
    #[must_use]
    pub const fn shares(&self) -> &BTreeMap<Party, DecryptionShare> {
        &self.shares
    }

    /// `D = ∏ Dⱼ^λⱼ` over `t` shares, and what it opens. Unless every share was verified before,
    /// `e(D, g₂) = e(U, Ŷ)` is checked.
    ///
    /// # Errors
    /// Names the culprits if that fails, or says that whoever encrypted broke the body.
    pub fn combine(&self) -> Result<Secret<Vec<u8>>, CombineError> {
        let power = self.interpolate();
        if !self.verified && self.check(&power).is_err() {
            return Err(CombineError::Faulty { culprits: self.culprits() });
        }
        Ok(self.ciphertext.open(&Secret::new(power))?)
    }

    fn check(&self, power: &G1Affine) -> Result<(), crate::curve::PairingMismatch> {
        let key = self.committee.key().y_hat();
        check_pairing_product([(*power, -G2Affine::generator()), (self.ciphertext.u(), key)])
    }

    /// Of all shares the `t` that lie closest together: coefficients of neighbours are shorter.
    fn interpolate(&self) -> G1Affine {
        let held: Vec<(ShareIndex, G1Affine)> = self
            .shares
            .iter()
            .flat_map(|(party, share)| {
                self.committee.access().indices(*party).zip(share.points().iter().copied())
            })
            .collect();
        let t = usize::try_from(self.committee.threshold().t().get()).unwrap_or(usize::MAX);
        let span = |window: &&[(ShareIndex, G1Affine)]| match window {
            [(first, _), .., (last, _)] => last.get() - first.get(),
            _ => 0,
        };
        let chosen = held.windows(t).min_by_key(span).unwrap_or_default();
        let (indices, points): (Vec<_>, Vec<_>) = chosen.iter().copied().unzip();
        let lambda = self.committee.points().lagrange_at_zero(&indices);
        // Indices are distinct and exist, for they come from the access structure.
        lambda
            .and_then(|lambda| lambda.combine(&points))
            .unwrap_or(G1Affine::identity().into())
            .into()
    }

    fn culprits(&self) -> BTreeSet<Party> {
        let keys = |party| self.committee.keys_of(party);
        let terms: Vec<Term<'_>> = self
            .shares
            .iter()
            .map(|(&party, share)| Term { party, points: share.points(), keys: keys(party) })
            .collect();
        culprits(self.committee, self.ciphertext, &terms)
    }
}

/// A share beside the keys that it is checked against; as many points as keys.
struct Term<'a> {
    party: Party,
    points: &'a [G1Affine],
    keys: &'a [G2Affine],
}

/// `e(∏ Dⱼ^τⱼ, g₂) = e(U, ∏ Ŷⱼ^τⱼ)`, over all indices of ever smaller sets of parties.
fn culprits(
    committee: &Committee,
    ciphertext: &ValidCiphertext,
    terms: &[Term<'_>],
) -> BTreeSet<Party> {
    let mut transcript = Transcript::new(VERIFY_TAG);
    transcript.append(b"committee", committee.id());
    transcript.append_point(b"u", &ciphertext.u());
    for term in terms {
        transcript.append_u64(b"party", term.party.get().into());
        transcript.append_points(b"share", term.points);
    }
    let (points, keys) = (flatten(terms, |term| term.points), flatten(terms, |term| term.keys));
    let coefficients = transcript.coefficients_128(b"coefficients", points.len());
    let starts: Vec<usize> = core::iter::once(0)
        .chain(terms.iter().scan(0, |end, term| {
            *end += term.points.len();
            Some(*end)
        }))
        .collect();
    let holds = |range: Range<usize>| {
        let (Some(&from), Some(&to)) = (starts.get(range.start), starts.get(range.end)) else {
            return false;
        };
        let (Some(points), Some(keys), Some(coefficients)) =
            (points.get(from..to), keys.get(from..to), coefficients.get(from..to))
        else {
            return false;
        };
        let left = vartime_msm_128(points, coefficients).to_affine();
        let right = vartime_msm_128(keys, coefficients).to_affine();
        let u = ciphertext.u();
        check_pairing_product([(left, -G2Affine::generator()), (u, right)]).is_ok()
    };
    let positions = bisect::culprits(terms.len(), holds);
    positions.into_iter().filter_map(|i| terms.get(i)).map(|term| term.party).collect()
}

fn flatten<'a, T: Copy + 'a>(terms: &[Term<'a>], part: impl Fn(&Term<'a>) -> &'a [T]) -> Vec<T> {
    terms.iter().flat_map(|term| part(term).iter().copied()).collect()
}
