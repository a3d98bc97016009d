//! Engines under an open load, and what their messages stand for.
//!
//! A bundle is one transaction to the engine and many to the experiment: a committee that orders millions a second
//! could not be played otherwise. Engines do not read transactions, so only lengths and prices differ.
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_dispel::Dispel;
use prefinal_engine::Pace;
use prefinal_jolteon::{Jolteon, Member};
use prefinal_protocol::{Instant, Machine, Slot};
use prefinal_weighted_rounding::Stake;

use super::super::{context, secret};
use crate::costs::Costs;
use crate::failure::Failure;
use crate::legible::ReadableEngine;

/// Bytes of a bundle in an engine's encoding: author and number behind a length.
pub(super) const BUNDLE: usize = 4 + 4 + 8;

/// How engines are set up.
#[derive(Clone, Debug)]
pub(super) struct Seating {
    pub(super) replicas: u32,
    pub(super) seed: u64,
    /// With their keys, if the engine has any.
    pub(super) members: Vec<Member>,
    /// Most bundles of what one replica proposes at a time.
    pub(super) bundles: usize,
    pub(super) max_stages: u64,
    pub(super) gather: Duration,
    pub(super) timeout: Duration,
}

/// What a replica does in a slot, in the order of its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its batch (a leader's block) leaves.
    Proposed,
    /// The first batch of anybody is delivered, and it proposes a bit; a leader's block is voted for.
    Delivered,
    /// It casts the first auxiliary vote on a proposer; a block's order vote.
    Voted,
}

/// An engine that can be under load.
pub(super) trait Carrier: ReadableEngine {
    /// The members with their keys, if the engine has any.
    fn members(_replicas: u32, _seed: u64) -> Result<Vec<Member>, Failure> {
        Ok(Vec::new())
    }

    fn seat(seating: &Seating, me: Party) -> Result<Self, Failure>;

    /// The memory has room for so many stages.
    fn room(&mut self, _now: Instant, _stages: u64) {}

    /// The bundles in a message; `None` if it takes no room on the links of the replicas.
    fn bundles(message: &Self::Message) -> Option<usize>;

    /// The message's place in the queue of its connection.
    fn place(message: &Self::Message) -> u64 {
        Self::rank(message)
    }

    /// What taking this message in occupies the machine itself.
    fn counting(costs: &Costs, message: &Self::Message) -> Duration;

    fn phase(message: &Self::Message) -> Option<(Slot, Phase)>;
}

impl Carrier for Dispel {
    fn seat(seating: &Seating, me: Party) -> Result<Self, Failure> {
        let stakes = (0..seating.replicas).map(|_| Stake::new(1)).collect();
        let config = prefinal_dispel::Config {
            timeout: seating.timeout,
            gather: seating.gather,
            patience: seating.timeout / 10,
            max_batch_bytes: seating.bundles.saturating_mul(BUNDLE).saturating_add(4),
            max_stages: seating.max_stages,
            idleness: prefinal_dispel::Idleness::Told,
            ..prefinal_dispel::Config::new(context(), me, stakes)
        };
        Self::new(config, Vec::new()).map_err(Failure::bad_input)
    }

    fn room(&mut self, now: Instant, stages: u64) {
        Machine::handle(self, now, prefinal_dispel::Input::Room(stages));
    }

    fn bundles(message: &prefinal_dispel::Message) -> Option<usize> {
        use prefinal_dispel::Message::{Answer, Batch};
        let (Batch { batch, .. } | Answer { batch, .. }) = message else { return Some(0) };
        Some(batch.transactions.len())
    }

    fn counting(costs: &Costs, message: &prefinal_dispel::Message) -> Duration {
        let votes = match message {
            prefinal_dispel::Message::Votes { steps, .. } => {
                steps.iter().map(prefinal_dispel::Step::count).sum()
            }
            _ => 0,
        };
        costs.dispel_message(votes)
    }

    fn phase(message: &prefinal_dispel::Message) -> Option<(Slot, Phase)> {
        use prefinal_dispel::Step::{Auxiliary, Estimate};
        match message {
            prefinal_dispel::Message::Batch { stage, .. } => Some((*stage, Phase::Proposed)),
            prefinal_dispel::Message::Votes { stage, steps } => {
                let has = |is: fn(&prefinal_dispel::Step) -> bool| steps.iter().any(is);
                if has(|step| matches!(step, Auxiliary { round: 1, .. })) {
                    Some((*stage, Phase::Voted))
                } else if has(|step| matches!(step, Estimate { round: 1, own: true, .. })) {
                    Some((*stage, Phase::Delivered))
                } else {
                    None
                }
            }
            _ => None,
        }
    }
}

impl Carrier for Jolteon {
    fn members(replicas: u32, seed: u64) -> Result<Vec<Member>, Failure> {
        super::super::members(replicas, seed)
    }

    fn seat(seating: &Seating, me: Party) -> Result<Self, Failure> {
        let members = seating.members.clone();
        let config = prefinal_jolteon::Config {
            timeout: seating.timeout,
            pace: Pace::NONE,
            fetch_after: seating.timeout,
            max_block_bytes: seating.bundles.saturating_mul(BUNDLE),
            ..prefinal_jolteon::Config::new(context(), me, members)
        };
        let key: SecretKey = secret(seating.seed, me.get().into());
        Self::new(config, key, Default::default()).map_err(Failure::bad_input)
    }

    /// Clients send their transactions to all replicas, as those of HotStuff do, over links that are not counted here.
    fn bundles(message: &prefinal_jolteon::Message) -> Option<usize> {
        match message {
            prefinal_jolteon::Message::Transactions(_) => None,
            prefinal_jolteon::Message::Proposal(proposal) => Some(proposal.block.payload().len()),
            prefinal_jolteon::Message::Response(response) => {
                Some(response.blocks.iter().map(|block| block.payload().len()).sum())
            }
            _ => Some(0),
        }
    }

    /// What carries no payload leaves before blocks.
    fn place(message: &prefinal_jolteon::Message) -> u64 {
        u64::from(Self::bundles(message).is_some_and(|bundles| bundles > 0))
    }

    fn counting(_: &Costs, _: &prefinal_jolteon::Message) -> Duration {
        Duration::ZERO
    }

    fn phase(message: &prefinal_jolteon::Message) -> Option<(Slot, Phase)> {
        let (phase, round) = match message {
            prefinal_jolteon::Message::Proposal(proposal) => {
                (Phase::Proposed, proposal.block.round())
            }
            prefinal_jolteon::Message::Vote(vote) => (Phase::Delivered, vote.round),
            prefinal_jolteon::Message::OrderVote(vote) => (Phase::Voted, vote.qc.round),
            _ => return None,
        };
        Some((Slot::new(round.get()), phase))
    }
}
