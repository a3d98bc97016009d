//! Checks decryption shares and combines them into the plaintext.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use borsh::io::{Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};

use super::ciphertext::{Unopenable, ValidCiphertext, not_identity};
use super::committee::{DecryptionCommittee, OtherKey};
use super::key::EncryptionKey;
use super::share::DecryptionShare;
use crate::access::{Party, ShareIndex};
use crate::bls::MinSig;
use crate::challenge::Transcript;
use crate::curve::hazmat::check_pairing_product;
use crate::curve::{G1Affine, G2Affine, PairingMismatch};
use crate::equations::{Equations, PartyShares};
use crate::secret::Secret;

const VERIFY_TAG: &[u8] = b"PREFINAL-V1-ELGAMAL-VERIFY";

/// Why one party's decryption share does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// The committee has no such party.
    #[error("{party} is not of this committee")]
    NotMember {
        /// The party that the error is about.
        party: Party,
    },
    /// There must be exactly one point for each index of the party.
    #[error("{party} gave {got} points, it holds {need} shares")]
    Count {
        /// The party that the error is about.
        party: Party,
        /// Number of points that were given.
        got: usize,
        /// Number of indices that the party holds.
        need: usize,
    },
    /// A point does not match its key and the ciphertext: `e(Dⱼ, g₂) ≠ e(U, Ŷⱼ)`.
    #[error("decryption share of {party} does not match its keys and the ciphertext")]
    Mismatch {
        /// The party that the error is about.
        party: Party,
    },
    /// The ciphertext is for another key. This is a mistake of the caller.
    #[error(transparent)]
    OtherKey(#[from] OtherKey),
}

impl ShareError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotMember { .. } => "not-a-member",
            Self::Count { .. } => "wrong-count",
            Self::Mismatch { .. } => "partial-mismatch",
            Self::OtherKey(error) => error.code(),
        }
    }
}

/// Why shares did not become a [`Quorum`].
pub type QuorumError = crate::quorum::QuorumError<OtherKey>;

/// Why a quorum did not give a plaintext.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CombineError {
    /// Decryption shares of an optimistic quorum are wrong. Drop these parties' shares and try again.
    #[error("decryption shares of {} parties are wrong", culprits.len())]
    Faulty {
        /// Every party whose share is wrong, and nobody else.
        culprits: BTreeSet<Party>,
    },
    /// All decryption shares are right, but the body does not open. No other quorum would give a
    /// different result.
    #[error(transparent)]
    Unopenable(#[from] Unopenable),
}

impl CombineError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Faulty { .. } => "faulty",
            Self::Unopenable(error) => error.code(),
        }
    }
}

/// Decryption shares of distinct parties of one committee for one ciphertext, with at least `t` share
/// indices in all.
///
/// ```compile_fail,E0451
/// use prefinal_crypto_core::elgamal::{DecryptionCommittee, Quorum, ValidCiphertext};
/// fn unchecked<'c>(
///     committee: &'c DecryptionCommittee,
///     ciphertext: &'c ValidCiphertext,
/// ) -> Quorum<'c> {
///     Quorum { committee, ciphertext, shares: Default::default(), verified: true }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Quorum<'c> {
    committee: &'c DecryptionCommittee,
    ciphertext: &'c ValidCiphertext,
    shares: BTreeMap<Party, DecryptionShare>,
    verified: bool,
}

/// The opening `D = U^x` of a ciphertext. It opens this ciphertext and no other, so a party without
/// decryption shares can check the plaintext with it. 48 bytes, never the identity when decoded.
///
/// A party that opened a ciphertext sends the opening, and others need neither shares nor keys of shares:
/// ```
/// # use std::collections::BTreeMap;
/// # use prefinal_crypto_core::access::{Access, Party};
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::curve::{G1Affine, Scalar};
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// # use prefinal_crypto_core::elgamal::{DecryptionCommittee, DecryptionKey, Label};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let x = Secret::new(Scalar::random(&mut rng));
/// # let f = Polynomial::random(1.try_into()?, &x, &mut rng);
/// # let (y, commitment) = ((G1Affine::generator() * x.expose()).to_affine(), Commitment::commit(&f));
/// # let access = Access::new(&[1, 1])?;
/// # let committee = DecryptionCommittee::new(y, &commitment, access, Placement::Consecutive)?;
/// # let party = Party::new(0);
/// # let own = Secret::new(vec![f.shares(committee.points()).expose()[0]]);
/// # let key = DecryptionKey::new(&committee, party, own)?;
/// # let label = Label::new(b"example")?;
/// # let valid = committee.key().encrypt(&label, b"sell", &mut rng)?.validate(committee.key(), &label)?;
/// # let another = committee.key().encrypt(&label, b"buy", &mut rng)?.validate(committee.key(), &label)?;
/// # let shares = BTreeMap::from([(party, key.decrypt_share(&valid)?)]);
/// let opening = committee.verify_all(&valid, shares)?.open()?.opening;
/// assert_eq!(opening.open(&valid)?.plaintext?.expose(), b"sell");
/// assert!(opening.open(&another).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize)]
pub struct Opening(G1Affine);

/// The plaintext of a ciphertext, and the opening that proves it.
#[derive(Debug)]
pub struct OpenedCiphertext {
    /// The opening `D`, which lets anybody else decrypt and check the same plaintext.
    pub opening: Opening,
    /// The plaintext, or an error if the sender made a body that does not open.
    pub plaintext: Result<Secret<Vec<u8>>, Unopenable>,
}

/// The point is not `U^x`, so its sender did not get it from a decryption of this ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("opening does not match the ciphertext and its key")]
pub struct WrongOpening;

impl WrongOpening {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "wrong-opening"
    }
}

impl Opening {
    /// Opens the ciphertext if `e(D, g₂) = e(U, Ŷ)`. Costs two pairings and needs no data of the
    /// committee.
    ///
    /// # Errors
    /// If this is not the opening of this ciphertext.
    pub fn open(self, ciphertext: &ValidCiphertext) -> Result<OpenedCiphertext, WrongOpening> {
        self.check(ciphertext.key(), ciphertext).map_err(|_| WrongOpening)?;
        Ok(self.apply(ciphertext))
    }

    fn check(
        &self,
        key: &EncryptionKey,
        ciphertext: &ValidCiphertext,
    ) -> Result<(), PairingMismatch> {
        check_pairing_product([(self.0, -G2Affine::generator()), (ciphertext.u(), key.y_hat())])
    }

    fn apply(self, ciphertext: &ValidCiphertext) -> OpenedCiphertext {
        OpenedCiphertext { opening: self, plaintext: ciphertext.open(&Secret::new(self.0)) }
    }
}

impl BorshDeserialize for Opening {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        Ok(Self(not_identity(reader)?))
    }
}

impl DecryptionCommittee {
    /// Checks the decryption share of one party. Costs two pairings, and for each of its indices half
    /// a multiplication in each group.
    ///
    /// # Errors
    /// If it is not the party's decryption share for this ciphertext.
    pub fn verify(
        &self,
        party: Party,
        ciphertext: &ValidCiphertext,
        share: &DecryptionShare,
    ) -> Result<(), ShareError> {
        self.same_key(ciphertext)?;
        self.check_shape(party, share)?;
        if equations(self, ciphertext, [(party, share)]).hold() {
            Ok(())
        } else {
            Err(ShareError::Mismatch { party })
        }
    }

    /// Checks all decryption shares with one equation and, if that fails, finds the culprits by
    /// halving.
    ///
    /// # Errors
    /// If the ciphertext is for another key, the weight is too low, or a decryption share is wrong.
    pub fn verify_all<'c>(
        &'c self,
        ciphertext: &'c ValidCiphertext,
        shares: BTreeMap<Party, DecryptionShare>,
    ) -> Result<Quorum<'c>, QuorumError> {
        let quorum = self.optimistic(ciphertext, shares)?;
        self.check_all(ciphertext, &quorum.shares)?;
        Ok(Quorum { verified: true, ..quorum })
    }

    /// The same check as [`verify_all`](DecryptionCommittee::verify_all), but without a minimum
    /// weight.
    ///
    /// # Errors
    /// The errors of `verify_all`, except for too little weight.
    pub fn check_all(
        &self,
        ciphertext: &ValidCiphertext,
        shares: &BTreeMap<Party, DecryptionShare>,
    ) -> Result<(), QuorumError> {
        self.same_key(ciphertext)?;
        let mut culprits = self.misshapen(shares);
        let rest = shares.iter().map(|(party, share)| (*party, share));
        let rest = rest.filter(|(party, _)| !culprits.contains(party));
        let found = equations(self, ciphertext, rest).culprits();
        culprits.extend(found);
        if culprits.is_empty() { Ok(()) } else { Err(QuorumError::Faulty { culprits }) }
    }

    /// Checks only the weight and the shape of the decryption shares. [`Quorum::combine`] checks the
    /// result, which costs two pairings instead of sums over all shares in both groups. Use this when
    /// all parties are expected to be honest.
    ///
    /// # Errors
    /// If the ciphertext is for another key, the weight is too low, or a decryption share does not
    /// have one point for each index of its party.
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
        let culprits = self.misshapen(&shares);
        if !culprits.is_empty() {
            return Err(QuorumError::Faulty { culprits });
        }
        Ok(Quorum { committee: self, ciphertext, shares, verified: false })
    }

    fn same_key(&self, ciphertext: &ValidCiphertext) -> Result<(), OtherKey> {
        if ciphertext.key() == self.key() { Ok(()) } else { Err(OtherKey) }
    }

    fn misshapen(&self, shares: &BTreeMap<Party, DecryptionShare>) -> BTreeSet<Party> {
        let wrong =
            |(party, share): &(&Party, &DecryptionShare)| self.check_shape(**party, share).is_err();
        shares.iter().filter(wrong).map(|(party, _)| *party).collect()
    }

    /// Checks that there are as many points as the party has keys.
    fn check_shape(&self, party: Party, share: &DecryptionShare) -> Result<(), ShareError> {
        if !self.access().contains(party) {
            return Err(ShareError::NotMember { party });
        }
        let (got, need) = (share.weight(), self.keys_of(party).len());
        if got == need { Ok(()) } else { Err(ShareError::Count { party, got, need }) }
    }
}

impl Quorum<'_> {
    /// The ciphertext that is decrypted.
    #[must_use]
    pub const fn ciphertext(&self) -> &ValidCiphertext {
        self.ciphertext
    }

    /// The decryption shares, by party.
    #[must_use]
    pub const fn shares(&self) -> &BTreeMap<Party, DecryptionShare> {
        &self.shares
    }

    /// Combines `t` shares into `D = ∏ Dⱼ^λⱼ` and decrypts with it. Unless every share was verified
    /// before, it also checks `e(D, g₂) = e(U, Ŷ)`.
    ///
    /// # Errors
    /// Names the culprits if that check fails, or says that the sender made a body that does not
    /// open.
    pub fn combine(&self) -> Result<Secret<Vec<u8>>, CombineError> {
        Ok(self.open()?.plaintext?)
    }

    /// Like [`Quorum::combine`], but also returns `D`, for parties that have no decryption shares.
    ///
    /// # Errors
    /// Names the culprits if the shares do not give `D`.
    pub fn open(&self) -> Result<OpenedCiphertext, CombineError> {
        let opening = Opening(self.interpolate());
        let key = self.committee.key();
        if !self.verified && opening.check(key, self.ciphertext).is_err() {
            return Err(CombineError::Faulty { culprits: self.culprits() });
        }
        Ok(opening.apply(self.ciphertext))
    }

    /// `∏ Dⱼ^λⱼ` over the `t` lowest indices, whose coefficients are the shortest. This is not
    /// constant time, because decryption shares are public once they are sent.
    fn interpolate(&self) -> G1Affine {
        let t = usize::try_from(self.committee.threshold().t().get()).unwrap_or(usize::MAX);
        let access = self.committee.access();
        // Parties are in order, and so are the indices they hold.
        let (indices, points): (Vec<ShareIndex>, Vec<G1Affine>) = self
            .shares
            .iter()
            .flat_map(|(party, share)| access.indices(*party).zip(share.points().iter().copied()))
            .take(t)
            .unzip();
        // The indices are distinct and of this committee, so neither step fails.
        let lambda = self.committee.points().lagrange_at_zero(&indices);
        let power = lambda.and_then(|lambda| lambda.combine(&points));
        power.map_or(G1Affine::identity(), |power| power.to_affine())
    }

    fn culprits(&self) -> BTreeSet<Party> {
        let shares = self.shares.iter().map(|(party, share)| (*party, share));
        equations(self.committee, self.ciphertext, shares).culprits()
    }
}

/// The batch of equations for these shares. Each party must have given as many points as it has keys.
/// The equations are those of a threshold signature on `U`: shares in `𝔾₁`, keys in `𝔾₂`.
fn equations<'s>(
    committee: &'s DecryptionCommittee,
    ciphertext: &ValidCiphertext,
    shares: impl IntoIterator<Item = (Party, &'s DecryptionShare)>,
) -> Equations<MinSig> {
    let mut transcript = Transcript::new(VERIFY_TAG);
    transcript.append(b"committee", committee.id());
    transcript.append_point(b"u", &ciphertext.u());
    let given = shares.into_iter().map(|(party, share)| PartyShares {
        party,
        shares: share.points(),
        keys: committee.keys_of(party),
    });
    Equations::new(transcript, ciphertext.u(), given)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::access::Access;
    use crate::commitment::Commitment;
    use crate::elgamal::Label;
    use crate::polynomial::Placement;

    #[test]
    fn coefficients_are_of_this_committee_and_ciphertext() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let committee = |weights: &[u32]| {
            let commitment = Commitment::from_points(alloc::vec![G2Affine::generator()]).unwrap();
            let access = Access::new(weights).unwrap();
            DecryptionCommittee::new(
                G1Affine::generator(),
                &commitment,
                access,
                Placement::Consecutive,
            )
            .unwrap()
        };
        let (key, label) = (*committee(&[2, 1]).key(), Label::new(b"label").unwrap());
        let mut valid =
            || key.encrypt(&label, b"m", &mut rng).unwrap().validate(&key, &label).unwrap();
        let (ciphertext, other) = (valid(), valid());
        let share = DecryptionShare::new(alloc::vec![G1Affine::generator(); 2]);
        let mixed = |weights: &[u32], ciphertext: &ValidCiphertext| {
            let given = [(Party::new(0), &share)];
            equations(&committee(weights), ciphertext, given).coefficients().to_vec()
        };
        let own = mixed(&[2, 1], &ciphertext);
        assert_ne!(mixed(&[2, 2], &ciphertext), own);
        assert_ne!(mixed(&[2, 1], &other), own);
    }
}
