//! What a checkpoint's state consists of, and how it is read again.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::context::Context;
use thiserror::Error;

use crate::app::{Configuration, ConfigurationError, RestoreError, SeatedCommittee};
use crate::order::OrderedState;
use crate::replica::checkpoint::{State, Statement, hash_configurations};
use crate::schedule::Schedule;

/// The state at the beginning of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Contents {
    pub(crate) schedule: Schedule,
    pub(crate) configurations: BTreeMap<u64, Configuration>,
    pub(crate) ordered: OrderedState,
    pub(crate) application: Vec<u8>,
}

/// Why a state is not taken, although a quorum has certified it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestoreFailure {
    /// The bytes are no state, or not of the epoch in the statement.
    #[error("state of epoch {epoch} does not have the contents that its statement says")]
    Contents {
        /// The epoch that the state is of.
        epoch: u64,
    },
    /// This party has no place in the epoch yet, so it could not even start from this state.
    #[error("this party has no place in epoch {epoch}")]
    NotSeated {
        /// The epoch that the state is of.
        epoch: u64,
    },
    /// The others announce configurations further ahead than this replica, or less far. It would have none for some
    /// epoch, or another one.
    #[error("config_offset is {own} here and {others} with the others")]
    Offset {
        /// This replica's.
        own: u64,
        /// Of those that certified the state.
        others: u64,
    },
    /// A configuration in it is refused.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The application refuses its part.
    #[error(transparent)]
    Application(#[from] RestoreError),
}

impl RestoreFailure {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Contents { .. } => "invalid-snapshot",
            Self::NotSeated { .. } => "not-a-member",
            Self::Offset { .. } => "invalid-value",
            Self::Configuration(error) => error.code(),
            Self::Application(error) => error.code(),
        }
    }
}

impl Contents {
    /// The state, and the statement about it.
    pub(crate) fn seal(&self) -> (State, Statement) {
        // Writing into memory cannot fail.
        let state = State::new(borsh::to_vec(self).unwrap_or_default());
        let statement = Statement {
            epoch: self.schedule.epoch(),
            slot: self.schedule.first(),
            root: state.root(),
            bytes: u64::try_from(state.bytes().len()).unwrap_or(u64::MAX),
            configurations: hash_configurations(&self.configurations),
        };
        (state, statement)
    }

    /// Reads a state that a statement is about.
    pub(crate) fn open(state: &State, statement: &Statement) -> Result<Self, RestoreFailure> {
        let failure = RestoreFailure::Contents { epoch: statement.epoch };
        let contents: Self = borsh::from_slice(state.bytes()).map_err(|_| failure.clone())?;
        let schedule = &contents.schedule;
        let right = (schedule.epoch(), schedule.first()) == (statement.epoch, statement.slot);
        check_named(&contents.configurations, statement).map_err(|_| failure.clone())?;
        if right { Ok(contents) } else { Err(failure) }
    }

    /// The committees of its epochs, as many as `config_offset` says. Those that are known need no check of their
    /// keys.
    pub(crate) fn seat(
        &self,
        context: &Context,
        known: &BTreeMap<u64, SeatedCommittee>,
        config_offset: u64,
    ) -> Result<BTreeMap<u64, SeatedCommittee>, RestoreFailure> {
        let others = u64::try_from(self.configurations.len()).unwrap_or(u64::MAX);
        if others != config_offset {
            return Err(RestoreFailure::Offset { own: config_offset, others });
        }
        Ok(seat(&self.configurations, context, known)?)
    }
}

/// The configurations are not those of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotNamed;

/// Checks that a statement names these configurations: by their hash, at least one, of its epoch and the next ones
/// in a row.
pub(crate) fn check_named(
    configurations: &BTreeMap<u64, Configuration>,
    statement: &Statement,
) -> Result<(), NotNamed> {
    let in_a_row = (statement.epoch..=u64::MAX).take(configurations.len());
    let right = !configurations.is_empty()
        && configurations.keys().copied().eq(in_a_row)
        && hash_configurations(configurations) == statement.configurations;
    if right { Ok(()) } else { Err(NotNamed) }
}

/// The committees of these configurations. Those that are known need no check of their keys.
pub(crate) fn seat(
    configurations: &BTreeMap<u64, Configuration>,
    context: &Context,
    known: &BTreeMap<u64, SeatedCommittee>,
) -> Result<BTreeMap<u64, SeatedCommittee>, ConfigurationError> {
    let mut all: BTreeMap<u64, SeatedCommittee> = BTreeMap::new();
    for (&epoch, configuration) in configurations {
        let before = all.values().next_back();
        let mut candidates = before.into_iter().chain(known.values().rev());
        let same = candidates.find(|one| one.configuration == *configuration).cloned();
        let seated = match same {
            Some(seated) => seated,
            None => SeatedCommittee::new(context, configuration.clone())?,
        };
        all.insert(epoch, seated);
    }
    Ok(all)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::config::Replicas;
    use crate::order::Ordered;
    use crate::tests::{context, members};

    fn contents(epochs: &[u64]) -> Contents {
        let committee = Replicas::new(&context(0), members(&[1; 4])).unwrap();
        let empty = Configuration { seats: Vec::new() };
        Contents {
            schedule: Schedule::new(&committee)
                .next(&std::collections::BTreeSet::new(), &committee),
            configurations: epochs.iter().map(|epoch| (*epoch, empty.clone())).collect(),
            ordered: Ordered::default().to_checkpoint(),
            application: vec![1, 2, 3],
        }
    }

    #[test]
    fn a_state_is_read_as_it_was_written_and_only_under_its_statement() {
        let good = contents(&[1, 2]);
        let (state, statement) = good.seal();
        assert_eq!(Contents::open(&state, &statement), Ok(good));
        let failure = |epoch| Err(RestoreFailure::Contents { epoch });
        let epoch = Statement { epoch: 2, ..statement };
        assert_eq!(Contents::open(&state, &epoch), failure(2));
        let slot = Statement { slot: statement.slot.next(), ..statement };
        assert_eq!(Contents::open(&state, &slot), failure(1));
        let configurations = Statement { configurations: [7; 32], ..statement };
        assert_eq!(Contents::open(&state, &configurations), failure(1));
        // Without the committee of the epoch itself, or with a gap, nobody would know the members.
        for epochs in [&[][..], &[2], &[1, 3]] {
            let (state, statement) = contents(epochs).seal();
            assert_eq!(Contents::open(&state, &statement), failure(1), "{epochs:?}");
        }
        let longer = State::new([state.bytes(), &[0]].concat());
        assert_eq!(Contents::open(&longer, &statement), failure(1));
    }
}
