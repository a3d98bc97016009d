//! How an engine is started.
use core::time::Duration;
use prefinal_engine::{Member, Pace};
use prefinal_protocol::{Context, Party};
use prefinal_weighted_rounding::Stake;

/// Configuration that an engine is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The chain and the epoch of its committee.
    pub context: Context,
    /// The member that this engine belongs to.
    pub me: Party,
    /// The members' stakes. The position in the list is the [`Party`].
    pub stakes: Vec<Stake>,
    /// How long the coordinator of a second round is waited for; that of a later one so much longer each. Also how
    /// long nothing may go on before peers are asked what was missed.
    pub timeout: Duration,
    /// When the next stage may begin.
    pub pace: Pace,
    /// How long this party says nothing new after it has voted: what it has to say meanwhile leaves in one message for
    /// each stage. In large committees a batch or a vote comes all the time, and without it each would be answered alone.
    pub gather: Duration,
    /// How long proposers are waited for whose batches come later than those of a strong quorum.
    pub patience: Duration,
    /// Limit of a batch, in bytes.
    pub max_batch_bytes: usize,
    /// Stages that may be open at a time: what the memory of every party holds. The same for all, because who falls
    /// behind takes votes of so many stages and no more.
    pub max_stages: u64,
    /// What says that the network has room for a stage.
    pub idleness: Idleness,
}

/// What says that the network has room for another stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idleness {
    /// This party's batch of the last stage is delivered, so it has left the interface. If transactions wait, the driver
    /// may say so as well.
    #[default]
    Delivered,
    /// The driver says so: [`Input::Idle`](crate::Input::Idle) begins a stage at once, or none if there is no room.
    Told,
}

impl Config {
    /// A configuration for this committee with a timeout of a second, a patience of a tenth of it, and eight stages of
    /// a megabyte each.
    #[must_use]
    pub fn new(context: Context, me: Party, stakes: Vec<Stake>) -> Self {
        Self {
            context,
            me,
            stakes,
            timeout: Duration::from_secs(1),
            pace: Pace::NONE,
            gather: Duration::ZERO,
            patience: Duration::from_millis(100),
            max_batch_bytes: 1 << 20,
            max_stages: 8,
            idleness: Idleness::Delivered,
        }
    }

    /// As [`Config::new`], from what every engine is started with. Links authenticate members, so keys are not needed.
    #[must_use]
    pub fn of<K>(config: ::prefinal_engine::Config<K>) -> Self {
        let ::prefinal_engine::Config { context, me, members, timeout, pace, max_block_bytes } =
            config;
        let stakes: Vec<Stake> = members.iter().map(|Member { stake, .. }| *stake).collect();
        // A block has a batch of each member.
        let max_batch_bytes = max_block_bytes.checked_div(stakes.len()).unwrap_or(0);
        let patience = timeout / 10;
        Self { timeout, pace, patience, max_batch_bytes, ..Self::new(context, me, stakes) }
    }

    /// The stages that so many bytes hold, if each has a full batch of every member. Stages that are open count as if
    /// nothing of them were here yet.
    pub(crate) fn stages_in(&self, bytes: u64) -> u64 {
        let stage = self.max_batch_bytes.saturating_mul(self.stakes.len()).max(1);
        bytes.checked_div(u64::try_from(stage).unwrap_or(u64::MAX)).unwrap_or(0)
    }
}
