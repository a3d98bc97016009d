//! Which dealings make the key.
//!
//! Every party deals. Dealings travel through the engine, which puts them in one order for everybody. A
//! party verifies them in that order and adds the valid ones here. The first dealing of each dealer
//! counts, until the dealers together hold more stake than the configuration asks for. This set makes
//! the key, so all honest parties have the same key. Later dealings are not needed.
//!
//! If the dealers must hold more stake than the adversary has, one dealer in the set is honest, and its
//! secret is uniform and unknown. The adversary can deal last. So it can bias the key by its own
//! dealings and by which honest dealings the order takes in. It does not know the secret of any of
//! these keys, and its own part can be taken out again ([`guide`](crate::guide), "Why a biased key does
//! no harm"). The sum of the commitments must not be the identity. Only dealers that all know each
//! other's secrets could arrange that.
//!
//! See also `verify` (the check of a dealing) and `aggregate` (the sum). The order comes from the engine.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::{G1Affine, G1Projective};
use prefinal_weighted_rounding::Stake;
use thiserror::Error;

use crate::accepted::Accepted;
use crate::aggregate::{Aggregate, AggregateError};
use crate::config::Config;
use crate::dealing::Dealing;
use crate::field;

/// A dealing: of group elements ([`Dealing`]) or of field elements ([`field::Dealing`]).
pub trait AnyDealing: sealed::Sealed {
    /// The party that the dealing names as its dealer.
    fn dealer(&self) -> Party;
    /// `F = g^f(0)`
    #[doc(hidden)]
    fn commitment(&self) -> &G1Affine;
    /// Whether the secret is fresh. If not, the dealing shares a share of an older key, and has another
    /// check.
    #[doc(hidden)]
    fn is_fresh(&self) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Dealing {}
    impl Sealed for crate::field::Dealing {}
}

impl AnyDealing for Dealing {
    fn dealer(&self) -> Party {
        self.contribution.dealer
    }

    fn commitment(&self) -> &G1Affine {
        &self.contribution.commitment
    }

    fn is_fresh(&self) -> bool {
        true
    }
}

impl AnyDealing for field::Dealing {
    fn dealer(&self) -> Party {
        self.contribution.dealer
    }

    fn commitment(&self) -> &G1Affine {
        &self.contribution.commitment
    }

    fn is_fresh(&self) -> bool {
        self.share.is_none()
    }
}

/// Collects verified dealings in the order that the engine finalized.
///
/// The [front page](crate) has an example with field elements. With group elements:
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
/// use prefinal_pvss_dkg::{Dkg, DkgError, Progress, deal, verify};
///
/// let mut dkg = Dkg::new(config.clone());
/// let first = Arc::new(verify(&config, deal(&config, Party::new(0), &signers[0], &mut rng)?)?);
/// assert_eq!(dkg.add(first.clone())?, Progress::Qualified); // more than a third of the stake
/// assert!(dkg.add(first).is_err()); // each dealer counts once
/// let sum = dkg.aggregate()?;
/// let shares = sum.decrypt(&config, Party::new(0), keys.remove(0))?;
/// assert_eq!(shares.slow.len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dkg<D = Dealing> {
    config: Arc<Config>,
    dealings: Vec<Arc<Accepted<D>>>,
    stake: Stake,
    commitment: G1Projective,
}

/// How far the collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More dealings are needed.
    Collecting {
        /// The stake of the dealers that count so far.
        got: Stake,
        /// The stake that the dealers must exceed.
        need: Stake,
    },
    /// Enough dealings: `aggregate` or `key` of [`Dkg`] gives the key.
    Qualified,
}

/// Why a dealing does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DkgError {
    /// It was checked under another configuration, or it deals on a share of another key (a handover).
    #[error("dealing of {dealer} was made for another session or committee")]
    Foreign {
        /// The dealer of the dealing that does not belong here.
        dealer: Party,
    },
    /// This dealer has a dealing that counts. Only the first one counts.
    #[error("{dealer} has dealt before")]
    Duplicate {
        /// The dealer whose first dealing counts already.
        dealer: Party,
    },
    /// The key is already fixed. This is normal for the dealings that are finalized last.
    #[error("dealing of {dealer} comes after the key was complete")]
    Complete {
        /// The dealer that came too late.
        dealer: Party,
    },
    /// The commitments would add up to the identity. Only dealers that know each other's secrets can do this.
    #[error("dealing of {dealer} cancels those before it")]
    Cancels {
        /// The dealer of the last dealing.
        dealer: Party,
    },
}

impl DkgError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Foreign { .. } => "other-session",
            Self::Duplicate { .. } => "dealt-twice",
            Self::Complete { .. } => "key-complete",
            Self::Cancels { .. } => "secrets-cancel",
        }
    }
}

impl<D: AnyDealing> Dkg<D> {
    /// A collector without dealings.
    #[must_use]
    pub const fn new(config: Arc<Config>) -> Self {
        let (stake, commitment) = (Stake::ZERO, G1Projective::identity());
        Self { config, dealings: Vec::new(), stake, commitment }
    }

    /// Takes the next dealing in the finalized order.
    ///
    /// # Errors
    /// If the dealing does not count. The collector is unchanged then: go on with the next dealing.
    pub fn add(&mut self, dealing: Arc<Accepted<D>>) -> Result<Progress, DkgError> {
        let dealer = dealing.dealer();
        if dealing.config_digest() != self.config.digest() || !dealing.is_fresh() {
            return Err(DkgError::Foreign { dealer });
        }
        if self.progress() == Progress::Qualified {
            return Err(DkgError::Complete { dealer });
        }
        if self.dealings.iter().any(|earlier| earlier.dealer() == dealer) {
            return Err(DkgError::Duplicate { dealer });
        }
        let commitment = self.commitment + *dealing.commitment();
        if commitment.is_identity() {
            return Err(DkgError::Cancels { dealer });
        }
        let stake = self.config.dealer(dealer).map_or(Stake::ZERO, |dealer| dealer.stake);
        // The total of all members does not overflow, so neither does this.
        self.stake = self.stake.checked_add(stake).unwrap_or(self.stake);
        self.commitment = commitment;
        self.dealings.push(dealing);
        Ok(self.progress())
    }

    /// Whether the dealings suffice, and what is missing.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let (got, need) = (self.stake, self.config.qualify());
        if got > need { Progress::Qualified } else { Progress::Collecting { got, need } }
    }

    /// The dealings that count so far, in the finalized order.
    #[must_use]
    pub fn dealings(&self) -> &[Arc<Accepted<D>>] {
        &self.dealings
    }

    /// The configuration that all dealings are for.
    #[must_use]
    pub const fn config(&self) -> &Arc<Config> {
        &self.config
    }
}

impl Dkg<Dealing> {
    /// The sum of the dealings, once they qualify. It is computed at each call and not stored, so that
    /// many parties in one process may share one.
    ///
    /// # Errors
    /// [`AggregateError::BelowQualification`] if more dealings are needed.
    pub fn aggregate(&self) -> Result<Accepted<Aggregate>, AggregateError> {
        Aggregate::sum(&self.config, &self.dealings)
    }
}

impl Dkg<field::Dealing> {
    /// The key, once the dealings qualify. It is computed at each call and not stored.
    ///
    /// # Errors
    /// [`AggregateError::BelowQualification`] if more dealings are needed.
    pub fn key(&self) -> Result<field::Key, AggregateError> {
        field::Key::sum(&self.config, &self.dealings)
    }
}
