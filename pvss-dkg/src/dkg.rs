//! Which dealings make the key.
//!
//! Every party deals; dealings travel through the engine, which puts them in one order for
//! everybody. A party verifies them in that order and adds the good ones here, the first of each
//! dealer, until their dealers hold more stake than the configuration asks for. That set is the key,
//! so all honest parties have the same one, and what comes later is not needed.
//!
//! If more stake is asked for than the adversary holds, one dealer in the set is honest, and its
//! secret is uniform and unknown. The adversary, dealing last, still biases the key by its own dealings
//! and by which honest ones the order takes in; it knows none of these keys, and its part can be taken
//! out again ([`guide`](crate::guide), "Why a biased key does no harm"). The sum of the commitments must
//! not be the identity, which only dealers who all know each other's secrets could arrange.
//!
//! Elsewhere: checking a dealing (`verify`), the sum (`aggregate`), the order (the engine).
use std::sync::Arc;

use crypto_core::access::Party;
use crypto_core::curve::{G1Affine, G1Projective};
use thiserror::Error;
use weighted_rounding::Stake;

use crate::accepted::Accepted;
use crate::aggregate::{Aggregate, AggregateError};
use crate::config::Config;
use crate::dealing::Dealing;
use crate::field;

/// What a dealer publishes: group elements ([`Dealing`]) or field elements ([`field::Dealing`]).
pub trait Dealt: sealed::Sealed {
    /// Whom the dealing names as its dealer.
    fn dealer(&self) -> Party;
    /// `F = g^f(0)`
    #[doc(hidden)]
    fn commitment(&self) -> &G1Affine;
    /// Not a share of another key dealt on, whose check is another.
    #[doc(hidden)]
    fn is_fresh(&self) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Dealing {}
    impl Sealed for crate::field::Dealing {}
}

impl Dealt for Dealing {
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

impl Dealt for field::Dealing {
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
#[derive(Clone, Debug)]
pub struct Dkg<D = Dealing> {
    config: Arc<Config>,
    dealings: Vec<Arc<Accepted<D>>>,
    stake: Stake,
    commitment: G1Projective,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More dealings are needed.
    Collecting {
        /// The stake of the dealers so far.
        got: Stake,
        /// What it must exceed.
        need: Stake,
    },
    /// [`Dkg::aggregate`] gives the key.
    Qualified,
}

/// Why a dealing does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DkgError {
    /// Checked under another configuration, or as a share of another key dealt on.
    #[error("dealing of {dealer} was made for another session or committee")]
    Foreign {
        /// Whose dealing.
        dealer: Party,
    },
    /// The first one of a dealer counts.
    #[error("{dealer} has dealt before")]
    Duplicate {
        /// Who.
        dealer: Party,
    },
    /// The key is fixed; normal for the dealings that are finalized last.
    #[error("dealing of {dealer} comes after the key was complete")]
    Complete {
        /// Who.
        dealer: Party,
    },
    /// Only dealers who know each other's secrets can do this.
    #[error("dealing of {dealer} cancels those before it")]
    Cancels {
        /// Who dealt last.
        dealer: Party,
    },
}

impl<D: Dealt> Dkg<D> {
    /// No dealing yet.
    #[must_use]
    pub const fn new(config: Arc<Config>) -> Self {
        let (stake, commitment) = (Stake::ZERO, G1Projective::identity());
        Self { config, dealings: Vec::new(), stake, commitment }
    }

    /// Takes the next dealing in the finalized order.
    ///
    /// # Errors
    /// If it does not count. That changes nothing: go on with the next one.
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

    /// Whether the dealings suffice.
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

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &Arc<Config> {
        &self.config
    }
}

impl Dkg<Dealing> {
    /// The sum, once qualified. It is not kept: many parties in one process may share one.
    ///
    /// # Errors
    /// [`AggregateError::BelowQualification`] if more dealings are needed.
    pub fn aggregate(&self) -> Result<Accepted<Aggregate>, AggregateError> {
        Aggregate::sum(&self.config, &self.dealings)
    }
}

impl Dkg<field::Dealing> {
    /// The key, once qualified. It is not kept.
    ///
    /// # Errors
    /// [`AggregateError::BelowQualification`] if more dealings are needed.
    pub fn key(&self) -> Result<field::Key, AggregateError> {
        field::Key::sum(&self.config, &self.dealings)
    }
}
