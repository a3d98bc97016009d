//! What a validator's messages, records and jobs are, by scheme and engine.
use engine::Engine;
use jolteon::Jolteon;

/// What validators send each other.
pub type MessageOf<S, E = Jolteon> = validator::Message<S, <E as Engine>::Message>;
/// What is durable before what follows it leaves.
pub type RecordOf<E = Jolteon> = validator::Record<<E as Engine>::Record>;
/// Work of a validator's engine, key generation or beacon, for a pool.
pub type JobOf<S, E = Jolteon> = validator::Job<S, <E as Engine>::Job>;
/// What came of it.
pub type VerdictOf<S, E = Jolteon> = validator::Verdict<S, <E as Engine>::Verdict>;
