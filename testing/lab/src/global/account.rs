//! What is counted of one slot: the stake that has prefinalized it, and the shares that have left.

use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::Party;
use prefinal_engine::Quorum;
use prefinal_protocol::Instant;
use prefinal_pvss_dkg::SharePath;
use prefinal_validator::setup::{Algorithm, Setup};
use prefinal_weighted_rounding::Stake;

use crate::local::LocalAccount;

/// The shares of a committee, and how many of them reconstruct.
pub(crate) struct Shares {
    pub(crate) weights: Vec<u128>,
    /// So many reconstruct on the path that releases on finality; with tight thresholds on the only one.
    pub(crate) late: u128,
    /// So many reconstruct on the fast path.
    pub(crate) early: Option<u128>,
    pub(crate) is_tight: bool,
}

impl Shares {
    pub(super) fn of(setup: &Setup) -> Self {
        let shape = setup.keygen.shape();
        let fast = shape.threshold(SharePath::Fast);
        Self {
            weights: shape.access().weights().into_iter().map(u128::from).collect(),
            late: shape.slow().t().get().into(),
            early: fast.map(|fast| fast.t().get().into()),
            is_tight: setup.choice == Algorithm::Tight,
        }
    }
}

/// What counts in an epoch: stakes, shares, and what is needed of them.
pub(super) struct Committee {
    pub(super) stakes: Vec<u128>,
    pub(super) shares: Shares,
    /// The stake that makes a slot final.
    pub(super) quorum: u128,
}

impl Committee {
    pub(super) fn new(stakes: Vec<u128>, shares: Shares) -> Self {
        let quorum = Quorum::BYZANTINE.of(Stake::new(stakes.iter().sum())).get();
        Self { stakes, shares, quorum }
    }

    pub(super) fn stake(&self, party: Party) -> u128 {
        self.stakes.get(party.index()).copied().unwrap_or(0)
    }

    pub(super) fn weight(&self, party: Party) -> u128 {
        self.shares.weights.get(party.index()).copied().unwrap_or(0)
    }
}

/// When a sum reaches what is needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    pub(super) got: u128,
    pub(super) need: u128,
    pub(super) at: Option<Instant>,
}

impl Crossing {
    pub(super) fn new(got: u128, need: u128) -> Self {
        Self { got, need, at: (got >= need).then_some(Instant::START) }
    }

    pub(super) fn add(&mut self, amount: u128, now: Instant) {
        self.got = self.got.saturating_add(amount);
        if self.at.is_none() && self.got >= self.need {
            self.at = Some(now);
        }
    }
}

/// What there is of one sharing's partials.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    /// From those that have sent theirs.
    pub(super) sent: Crossing,
    /// From those that may have.
    pub(super) may: Crossing,
    /// From those that must have.
    pub(super) must: Crossing,
    pub(super) senders: BTreeSet<Party>,
}

impl Sharing {
    pub(super) fn new(got: u128, need: u128) -> Self {
        let crossing = Crossing::new(got, need);
        Self { sent: crossing, may: crossing, must: crossing, senders: BTreeSet::new() }
    }
}

/// What is known so far of one slot.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) finalized: Option<Instant>,
    /// When a quorum of stake has prefinalized it directly.
    pub(super) direct: Crossing,
    pub(super) prefinalized: BTreeSet<Party>,
    /// The first and the last instant at which one did.
    pub(super) span: Option<(Instant, Instant)>,
    pub(super) informed: BTreeSet<Party>,
    /// On DISPEL, the proposers on which each party has cast its last vote.
    pub(super) proposers: BTreeMap<Party, BTreeSet<usize>>,
    pub(super) late: Sharing,
    pub(super) early: Option<Sharing>,
    /// Whether a party that prefinalized it was not bound to release a partial.
    pub(super) is_unbound: bool,
    pub(super) local: LocalAccount,
}

impl Account {
    pub(super) fn new(committee: &Committee, faulty: &BTreeSet<Party>) -> Self {
        let sum = |of: &dyn Fn(Party) -> u128| faulty.iter().map(|party| of(*party)).sum();
        let (stake, shares) = (sum(&|one| committee.stake(one)), sum(&|one| committee.weight(one)));
        Self {
            finalized: None,
            direct: Crossing::new(stake, committee.quorum),
            prefinalized: BTreeSet::new(),
            span: None,
            informed: BTreeSet::new(),
            proposers: BTreeMap::new(),
            late: Sharing::new(shares, committee.shares.late),
            early: committee.shares.early.map(|need| Sharing::new(shares, need)),
            is_unbound: false,
            local: LocalAccount::default(),
        }
    }

    /// Calls for a crossing of either sharing: the earlier one.
    pub(super) fn earlier(&self, of: impl Fn(&Sharing) -> Crossing) -> Option<Instant> {
        let early = self.early.as_ref().and_then(|early| of(early).at);
        early.into_iter().chain(of(&self.late).at).min()
    }
}
