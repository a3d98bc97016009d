//! One epoch among others.
use std::collections::VecDeque;

use prefinal_protocol::Slot;

use crate::beacon::Beacon;
use crate::config::Config;
use crate::config_error::ConfigError;
use crate::schemes::Scheme;
use crate::{event, wire};

/// An epoch, from when its keys are known until nobody asks any more.
#[derive(Debug)]
pub(super) struct Term<S: Scheme> {
    pub(super) beacon: Beacon<S>,
    pub(super) first: Slot,
    /// The first slot after this epoch, once it is known.
    pub(super) end: Option<Slot>,
    pub(super) retired: bool,
    /// Outputs that wait until all slots of earlier epochs are revealed.
    pub(super) held: VecDeque<event::Output<S>>,
}

impl<S: Scheme> Term<S> {
    pub(super) fn new(config: Config<S>, records: &[wire::Record]) -> Result<Self, ConfigError> {
        let first = config.first;
        Ok(Self::of(Beacon::new(config, records)?, first))
    }

    pub(super) const fn of(beacon: Beacon<S>, first: Slot) -> Self {
        Self { beacon, first, end: None, retired: false, held: VecDeque::new() }
    }

    pub(super) fn has(&self, slot: Slot) -> bool {
        slot >= self.first && self.end.is_none_or(|end| slot < end)
    }

    pub(super) fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.beacon.head() >= end)
    }
}
