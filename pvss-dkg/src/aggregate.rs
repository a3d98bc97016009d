//! The sum of the qualified dealings: the epoch's key and everybody's encrypted shares.
//!
//! | step      | equation                                                          | by whom  |
//! |-----------|-------------------------------------------------------------------|----------|
//! | aggregate | every `V̂`, `R`, `C` is the sum over the dealings                  | anyone   |
//! | verify    | each `Fᵢ` proven and signed; `e(∏ᵢ Fᵢ, ĝ) = e(g, V̂₀)`; the rest as for one dealing | anyone |
//! | decrypt   | `aₖ = Cₖ − dk·Rₖ = h^f(ω^(k−1))`                                    | a party  |
//!
//! An aggregate is about as large as one dealing plus 164 bytes per dealer, because it keeps every
//! dealer's commitment with its proof. So a party that has only the aggregate can check whose secrets
//! are in the key, and that its own shares belong to that key.
//!
//! An aggregate does not prove that its dealers are the first qualified set that the engine finalized.
//! It also does not prove that its shares are the sums of the dealers' shares: without knowing a
//! secret, one can add a sharing of zero, or put the slow sharing in the place of the fast one. So a
//! party that did not add the dealings up itself (see `dkg`) must accept an aggregate only if its
//! [digest](Accepted::<Aggregate>::digest) is the one that more than a third of the stake vouches for.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::vartime_add_pairs;
use prefinal_crypto_core::curve::{Affine, G1Projective, G2Affine, Group, Projective};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::wvuf::KeyShares;
use prefinal_weighted_rounding::Stake;
use thiserror::Error;

use crate::accepted::Accepted;
use crate::config::Config;
use crate::dealing::{Body, Dealing, Sharing};
use crate::key::{DecryptionKey, NotOpened};
use crate::proof::{self, Contribution, ProofError};
use crate::shape::SharePath;
use crate::verify::{SharingError, check_sharing, check_sizes};
use crate::wire::{DecodeError, Reader, VERSION};

/// The sum of dealings. As it comes from the wire, only its size is checked.
///
/// An absent party takes the sum from a peer and checks it:
/// ```
/// # use std::sync::Arc;
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
/// use prefinal_pvss_dkg::{Aggregate, deal, verify};
///
/// let mut dealings = Vec::new();
/// for party in [0, 2] {
///     let dealing = deal(&config, Party::new(party), &signers[party as usize], &mut rng)?;
///     dealings.push(Arc::new(verify(&config, dealing)?));
/// }
/// let bytes = Aggregate::sum(&config, &dealings)?.to_bytes();
/// let sum = Aggregate::from_bytes(&config, &bytes)?.verify(&config)?;
/// assert!(sum.dealers().eq([0, 2].map(Party::new)));
/// let shares = sum.decrypt(&config, Party::new(1), keys.remove(1))?;
/// assert_eq!(shares.slow.len(), 3);
/// // Another party's key opens nothing; `NotOpened` gives it back.
/// assert!(sum.decrypt(&config, Party::new(1), keys.remove(0)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// In ascending order of dealers, whatever the order in which they were added.
    pub(crate) contributions: Vec<Contribution>,
    /// The sum of the dealers' signatures.
    pub(crate) signature: min_sig::Signature,
    pub(crate) body: Body,
}

/// Why dealings do not make a key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// A dealing was checked under another configuration.
    #[error("dealing of {dealer} was made for another session or committee")]
    Foreign {
        /// The dealer of the dealing that does not belong here.
        dealer: Party,
    },
    /// A dealer occurs twice.
    #[error("{dealer} dealt twice")]
    Duplicate {
        /// The dealer that occurs twice.
        dealer: Party,
    },
    /// The dealers' stake is not enough: wait for more dealings.
    #[error("dealers hold a stake of {got}, more than {need} is needed")]
    BelowQualification {
        /// The stake of all dealers in the list.
        got: Stake,
        /// The stake that it must exceed.
        need: Stake,
    },
    /// More shares of the key before must be dealt on.
    #[error("{missing} more shares of the key before are needed")]
    Shares {
        /// Number of missing shares.
        missing: usize,
    },
    /// The shares that were dealt on are not a sharing of the key before.
    #[error("shares dealt on do not make the key before")]
    Predecessor,
    /// The secrets add up to zero. Only dealers that agreed on it can cause this.
    #[error("the secrets cancel, the key is the identity")]
    Cancelled,
    /// A dealer's contribution is not its own.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The sums are not what the dealers committed to.
    #[error(transparent)]
    Sharing(#[from] SharingError),
}

impl AggregateError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Foreign { .. } => "other-session",
            Self::Duplicate { .. } => "dealt-twice",
            Self::BelowQualification { .. } => "below-qualification",
            Self::Shares { .. } => "below-threshold",
            Self::Predecessor => "other-key",
            Self::Cancelled => "secrets-cancel",
            Self::Proof(error) => error.code(),
            Self::Sharing(error) => error.code(),
        }
    }
}

/// Why a party gets no shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecryptError {
    /// The dealings were verified under another configuration.
    #[error("made for another session or committee")]
    Foreign,
    /// The decryption key is not the one that the committee lists for that party.
    #[error("decryption key is not that of {party}")]
    Key {
        /// The party that was asked for.
        party: Party,
    },
}

impl DecryptError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Foreign => "other-session",
            Self::Key { .. } => "other-decryption-key",
        }
    }
}

/// A party's secret shares; the lists are empty if its weight is zero. Blind each path separately.
#[derive(Debug)]
pub struct Shares {
    /// Shares of the slow path.
    pub slow: KeyShares,
    /// Shares of the fast path, if there is one.
    pub fast: Option<KeyShares>,
}

impl Aggregate {
    /// Adds verified dealings up. Their order does not matter.
    ///
    /// # Errors
    /// If a dealing was verified under another configuration, a dealer occurs twice, the dealers' stake
    /// is not enough, or their secrets cancel.
    pub fn sum(
        config: &Config,
        dealings: &[Arc<Accepted<Dealing>>],
    ) -> Result<Accepted<Self>, AggregateError> {
        let mut sorted: Vec<&Accepted<Dealing>> = dealings.iter().map(AsRef::as_ref).collect();
        sorted.sort_by_key(|dealing| dealing.dealer());
        if let Some(foreign) = sorted.iter().find(|one| one.config_digest() != config.digest()) {
            return Err(AggregateError::Foreign { dealer: foreign.dealer() });
        }
        check_dealers(config, sorted.iter().map(|dealing| dealing.dealer()))?;
        let bodies: Vec<&Body> = sorted.iter().map(|dealing| &dealing.body).collect();
        let body = Body {
            public_key: bodies.iter().map(|body| body.public_key).sum::<Projective<_>>().into(),
            slow: Sharing::sum(bodies.iter().filter_map(|body| body.sharing(SharePath::Slow))),
            fast: config.shape().threshold(SharePath::Fast).map(|_| {
                Sharing::sum(bodies.iter().filter_map(|body| body.sharing(SharePath::Fast)))
            }),
        };
        if body.public_key.is_identity() {
            return Err(AggregateError::Cancelled);
        }
        let contributions = sorted.iter().map(|dealing| dealing.contribution.clone()).collect();
        let signature = min_sig::aggregate(sorted.iter().map(|dealing| &dealing.signature))
            .map_err(|_| AggregateError::Cancelled)?;
        Ok(Accepted::new(Self { contributions, signature, body }, *config.digest()))
    }

    /// Reads an aggregate made under `config`.
    ///
    /// # Errors
    /// If there are more dealers than members, if the length does not follow exactly from their number
    /// (checked before any point is read), or if an encoding is not canonical.
    pub fn from_bytes(config: &Config, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        reader.version()?;
        let dealers = reader.count(config.dealers().len())?;
        let (got, expected) = (bytes.len(), config.aggregate_bytes(dealers));
        if got != expected {
            return Err(DecodeError::Length { got, expected });
        }
        let mut contributions: Vec<Contribution> = Vec::with_capacity(dealers);
        for _ in 0..dealers {
            let next = Contribution::read(config, &mut reader)?;
            let (second, last) = (next.dealer, contributions.last());
            if let Some(first) = last.map(|last| last.dealer).filter(|first| *first >= second) {
                return Err(DecodeError::Order { first, second });
            }
            contributions.push(next);
        }
        let signature = reader.signature()?;
        let body = Body::read(config, &mut reader)?;
        reader.end()?;
        Ok(Self { contributions, signature, body })
    }

    /// The encoding: version, number of dealers, contributions, signature, sums.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        let dealers = u32::try_from(self.contributions.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&dealers.to_be_bytes());
        for contribution in &self.contributions {
            contribution.write(&mut bytes);
        }
        bytes.extend_from_slice(&self.signature.to_bytes());
        self.body.write(&mut bytes);
        bytes
    }

    /// Checks an aggregate. It does not matter who added it up.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(self, config: &Config) -> Result<Accepted<Self>, AggregateError> {
        check_sizes(config, &self.body)?;
        check_dealers(config, self.dealers())?;
        if self.body.public_key.is_identity() {
            return Err(AggregateError::Cancelled);
        }
        proof::verify_all(config, &self.contributions, &self.signature)?;
        let commitments = self.contributions.iter().map(|one| one.commitment);
        let commitment = commitments.sum::<G1Projective>().into();
        check_sharing(config, &commitment, &self.body, &self.origin(config))?;
        Ok(Accepted::new(self, *config.digest()))
    }

    /// The dealers whose secrets are in the key, ascending.
    pub fn dealers(&self) -> impl Iterator<Item = Party> {
        self.contributions.iter().map(|contribution| contribution.dealer)
    }

    fn origin(&self, config: &Config) -> [u8; 32] {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-AGGREGATE");
        for contribution in &self.contributions {
            transcript.append(b"contribution", &contribution.digest(config));
        }
        transcript.append(b"signature", &self.signature.to_bytes());
        transcript.bytes(b"origin")
    }
}

impl Accepted<Aggregate> {
    /// A digest of exactly this aggregate under this configuration. It is equal for all parties that
    /// added up the same dealings.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-AGGREGATE-DIGEST");
        transcript.append(b"config", self.config_digest());
        transcript.append(b"aggregate", &self.to_bytes());
        transcript.bytes(b"digest")
    }

    /// The public key, `ĝ^f(0)`.
    #[must_use]
    pub fn public_key(&self) -> &G2Affine {
        &self.body.public_key
    }

    /// The public keys `Aₖ = ĝ^f(ω^(k−1))` for all share indices in order. A blinded key is admitted
    /// against them.
    #[must_use]
    pub fn public_shares(&self, path: SharePath) -> Option<&[G2Affine]> {
        self.body.sharing(path).map(|sharing| sharing.commitments.as_slice())
    }

    /// Opens the party's own shares and wipes the key, which has nothing more to open.
    ///
    /// # Errors
    /// If the aggregate belongs to another configuration, or the key to another party. Then the error
    /// gives the key back.
    pub fn decrypt(
        &self,
        config: &Config,
        party: Party,
        key: DecryptionKey,
    ) -> Result<Shares, NotOpened<DecryptError>> {
        if let Err(error) = check_recipient(config, self.config_digest(), party, &key) {
            return Err(NotOpened { key, error });
        }
        let open = |sharing: &Sharing| {
            let span = config.span(party);
            let ciphertexts = sharing.ciphertexts.get(span.clone()).unwrap_or_default();
            let ephemerals = sharing.ephemerals.get(span).unwrap_or_default();
            let pairs = ciphertexts.iter().zip(ephemerals);
            let opened: Secret<Vec<G1Projective>> =
                Secret::new(pairs.map(|(c, r)| key.open(c, r)).collect());
            KeyShares::new(Projective::batch_to_affine(opened.expose()))
        };
        Ok(Shares { slow: open(&self.body.slow), fast: self.body.fast.as_ref().map(open) })
    }
}

/// Checks that `key` opens what was dealt to `party` under the configuration with that digest.
pub(crate) fn check_recipient(
    config: &Config,
    dealt_under: &[u8; 32],
    party: Party,
    key: &DecryptionKey,
) -> Result<(), DecryptError> {
    if dealt_under != config.digest() {
        return Err(DecryptError::Foreign);
    }
    let listed = config.member(party).map(|member| &member.encryption);
    if listed != Some(&key.encryption_key()) {
        return Err(DecryptError::Key { party });
    }
    Ok(())
}

/// Checks that the dealers are distinct (they ascend) and have enough stake.
pub(crate) fn check_dealers(
    config: &Config,
    dealers: impl Iterator<Item = Party>,
) -> Result<(), AggregateError> {
    let mut last = None;
    let mut got = Stake::ZERO;
    for dealer in dealers {
        if last.replace(dealer) >= Some(dealer) {
            return Err(AggregateError::Duplicate { dealer });
        }
        let stake = config.dealer(dealer).map_or(Stake::ZERO, |dealer| dealer.stake);
        // The total of all members does not overflow, so neither does this.
        got = got.checked_add(stake).unwrap_or(got);
    }
    let need = config.qualify();
    if got <= need { Err(AggregateError::BelowQualification { got, need }) } else { Ok(()) }
}

impl Sharing {
    fn sum<'a>(sharings: impl Iterator<Item = &'a Self>) -> Self {
        let sharings: Vec<&Self> = sharings.collect();
        let ephemerals = sharings.iter().map(|sharing| sharing.ephemerals.as_slice());
        let ciphertexts = sharings.iter().map(|sharing| sharing.ciphertexts.as_slice());
        Self {
            commitments: sum_lists(sharings.iter().map(|it| it.commitments.as_slice())),
            ephemerals: sum_lists(ephemerals),
            ciphertexts: sum_lists(ciphertexts),
        }
    }
}

/// Adds lists entry by entry, with one inversion for each list.
pub(crate) fn sum_lists<'a, G: Group>(
    mut lists: impl Iterator<Item = &'a [Affine<G>]>,
) -> Vec<Affine<G>> {
    let mut sums = lists.next().unwrap_or_default().to_vec();
    for list in lists {
        vartime_add_pairs(&mut sums, list);
    }
    sums
}
