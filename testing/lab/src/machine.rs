//! The validator's messages, records and jobs, by scheme and engine.
use prefinal_engine::Engine;
use prefinal_jolteon::Jolteon;

/// A message between the validators of a simulated chain.
pub type MessageOf<S, E = Jolteon> = prefinal_validator::Message<S, <E as Engine>::Message>;
/// Record that must be durable before anything that follows it leaves.
pub type RecordOf<E = Jolteon> = prefinal_validator::Record<<E as Engine>::Record>;
/// Job of a validator's engine, key generation or beacon, for a pool of threads.
pub type JobOf<S, E = Jolteon> = prefinal_validator::Job<S, <E as Engine>::Job>;
/// Verdict of such a job.
pub type VerdictOf<S, E = Jolteon> = prefinal_validator::Verdict<S, <E as Engine>::Verdict>;
