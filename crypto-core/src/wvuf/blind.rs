//! The evaluating party's side: blind the shares once per epoch, then evaluate each slot. All of it
//! runs in constant time.
use alloc::vec::Vec;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::CryptoRng;

use super::committee::VufCommittee;
use super::input::{Input, Partial};
use super::possession::{Possession, statement};
use crate::access::{Access, Party};
use crate::curve::{DecodeError, G1Affine, G1Projective, Scalar};
use crate::generators;
use crate::secret::Secret;

/// The secret shares `aⱼ = h^f(j)` of one party on one path, in the order of its indices.
#[derive(Debug)]
pub struct KeyShares(Secret<Vec<G1Affine>>);

impl KeyShares {
    /// Wraps the shares that were decrypted from the aggregated dealings. The list may be empty,
    /// because a small stake may earn no share.
    #[must_use]
    pub fn new(shares: Vec<G1Affine>) -> Self {
        Self(Secret::new(shares))
    }

    /// Number of shares, which is the party's weight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.expose().len()
    }

    /// Whether the party has no shares.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.expose().is_empty()
    }

    /// The secret shares themselves.
    #[must_use]
    pub fn expose(&self) -> &[G1Affine] {
        self.0.expose()
    }
}

/// The secret `1/rᵢ` that evaluates slots. A party has a separate one for each path; see the trap
/// described in [`wvuf`](super).
///
/// ```compile_fail,E0308
/// use prefinal_crypto_core::wvuf::EvaluationKey;
/// fn twice(key: &EvaluationKey) -> [EvaluationKey; 2] {
///     [key.clone(), key.clone()]
/// }
/// ```
///
/// [`VufCommittee`] shows what its results are for.
/// ```
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
/// use prefinal_crypto_core::wvuf::{EvaluationKey, Input, KeyShares, VufCommittee, blind};
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
/// # let party = Party::new(0);
/// # let (key, blinded) = blind(&committee, party, &KeyShares::new(key_shares[&party].clone()), &mut rng);
/// # committee.insert(committee.admit(party, blinded)?)?;
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(3) };
///
/// let key = EvaluationKey::from_secret_bytes(&key.to_secret_bytes())?; // stored for the epoch
/// let input = Input::new(&context, Slot::new(9), None);
/// let partial = key.evaluate(&input);
/// assert!(committee.verify(party, &input, &partial).is_ok());
/// let next = Input::new(&context, Slot::new(10), None);
/// assert!(committee.verify(party, &next, &partial).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EvaluationKey(Secret<Scalar>);

impl EvaluationKey {
    /// The party's partial on an input: `σᵢ = H(m)^(1/rᵢ)`. The same input always gives the same
    /// partial, also after a restart.
    #[must_use]
    pub fn evaluate(&self, input: &Input) -> Partial {
        Partial::new((input.point() * self.0.expose()).to_affine())
    }

    /// The key for storage, 32 bytes big-endian. Store it together with the [`BlindedKey`] that was
    /// made with it. If a party blinded its shares again after a restart, nobody could verify its
    /// partials.
    #[must_use]
    pub fn to_secret_bytes(&self) -> Secret<[u8; 32]> {
        Secret::new(self.0.expose().to_bytes())
    }

    /// Reads what [`EvaluationKey::to_secret_bytes`] wrote.
    ///
    /// # Errors
    /// If the bytes are not a canonical scalar, or zero.
    pub fn from_secret_bytes(bytes: &Secret<[u8; 32]>) -> Result<Self, DecodeError> {
        let key = Secret::new(Scalar::from_bytes(bytes.expose())?);
        if *key.expose() == Scalar::ZERO { Err(DecodeError::Zero) } else { Ok(Self(key)) }
    }
}

/// A party's public key for one path: `πᵢ = h^rᵢ` and `ρⱼ = aⱼ^rᵢ`, with a proof that its maker knows
/// `rᵢ`. A party publishes one for each path in each epoch. It can be used only after
/// [`VufCommittee::admit`] has checked it.
///
/// `πᵢ ≠ 1` holds by construction: [`blind`] draws `rᵢ ≠ 0`, and the identity does not decode. With
/// `πᵢ = 1` and all `ρⱼ = 1` the equation would hold for any shares.
///
/// See the example at [`blind`].
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub struct BlindedKey {
    pi: G1Affine,
    possession: Possession,
    rho: Vec<G1Affine>,
}

impl BlindedKey {
    /// Bytes of an encoding without the `ρⱼ`: `πᵢ`, the proof and a count.
    pub const OVERHEAD: usize = 48 + 48 + Scalar::BYTES + 4;

    /// A key from decoded parts. The caller has checked that neither `pi` nor the proof's nonce is
    /// the identity.
    pub(crate) fn from_parts(pi: G1Affine, possession: Possession, rho: Vec<G1Affine>) -> Self {
        Self { pi, possession, rho }
    }

    /// The proof that its maker knows `rᵢ`.
    pub(crate) fn possession(&self) -> &Possession {
        &self.possession
    }

    /// The point `πᵢ = h^rᵢ`.
    #[must_use]
    pub fn pi(&self) -> G1Affine {
        self.pi
    }

    /// The blinded shares `ρⱼ`, in the order of the indices.
    #[must_use]
    pub fn rho(&self) -> &[G1Affine] {
        &self.rho
    }
}

impl BorshDeserialize for BlindedKey {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let pi = G1Affine::deserialize_reader(reader)?;
        if pi.is_identity() {
            return Err(DecodeError::Identity.into());
        }
        let possession = Possession::deserialize_reader(reader)?;
        let len = u32::deserialize_reader(reader)?;
        if len > Access::MAX {
            return Err(Error::new(ErrorKind::InvalidData, "more shares than any party may hold"));
        }
        let rho =
            (0..len).map(|_| G1Affine::deserialize_reader(reader)).collect::<Result<_, _>>()?;
        Ok(Self { pi, possession, rho })
    }
}

/// Blinds the shares of a party on one path with a fresh factor, and proves for this committee that
/// the party knows the factor. Call it once for each path, with that path's committee. If the shares
/// are not those of the party in this committee, the resulting key will not be admitted.
///
/// ```
/// # use prefinal_crypto_core::access::{Access, Party, Threshold};
/// use prefinal_crypto_core::wvuf::{KeyShares, VufCommittee, blind};
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
/// # let shares = &key_shares[&Party::new(0)];
///
/// let committee = VufCommittee::new(access, threshold, public)?;
/// let (key, blinded) = blind(&committee, Party::new(0), &KeyShares::new(shares.clone()), &mut rng);
/// assert!(committee.admit(Party::new(0), blinded.clone()).is_ok());
/// // Nobody can publish it as their own.
/// assert!(committee.admit(Party::new(1), blinded).is_err());
/// # drop(key);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn blind(
    committee: &VufCommittee,
    party: Party,
    shares: &KeyShares,
    rng: &mut impl CryptoRng,
) -> (EvaluationKey, BlindedKey) {
    let factor = Secret::new(Scalar::random_nonzero(rng));
    // The default is never used, because the factor is not zero.
    let inverse = Secret::new(factor.expose().invert().unwrap_or_default());
    let pi = (generators::h() * factor.expose()).to_affine();
    let rho: Vec<_> = shares.expose().iter().map(|share| share * factor.expose()).collect();
    let rho = G1Projective::batch_to_affine(&rho);
    let statement = statement(&committee.id(), party, &pi, &rho);
    let possession = Possession::prove(statement, &factor, rng);
    (EvaluationKey(inverse), BlindedKey { pi, possession, rho })
}
