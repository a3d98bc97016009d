//! Malachite: a height is a slot, a round an attempt, and the partial travels in the precommit.
//!
//! It signs with a key of its own, on another curve, that each identity draws from its seed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::beacon::{Quorum, Slot, Value, View};
use malachite::{
    BlockId, Config, ConfigError, Height, LinearTimeouts, Log, Malachite, Member, Message, Record,
};
use protocol::{Instant, Machine};

use super::{Block, Effect, Engine, Input, Output, Past};
use crate::setup::{Identity, Setup};
use crate::validator::StartError;

impl Engine for Malachite {
    type Message = Message;
    type Record = Record;
    type Job = Infallible;
    type Verdict = Infallible;

    const FAST_ATTEMPT: Option<u32> = Some(0);
    const QUORUM: Quorum = Quorum::BYZANTINE;

    fn start(
        setup: &Setup,
        identity: &Identity,
        records: Vec<Record>,
    ) -> Result<(Self, Past), StartError> {
        let mut log = Log::default();
        let mut released = Vec::new();
        for record in records {
            log.apply(record);
            // Also of heights that are decided by now: an output may still be awaited.
            let last = log.released(identity.me).map(released_as);
            released.extend(last.filter(|last| !released.contains(last)));
        }
        // What was given up is found again when the log is replayed.
        let past = Past { abandoned: None, released };
        let members = setup.members.iter().zip(&setup.ed25519);
        let members = members.map(|(member, key)| Member { key: *key, stake: member.stake });
        let config = Config {
            context: setup.context,
            me: identity.me,
            members: members.collect(),
            timeouts: timeouts(setup.timeout),
            pace: setup.pace,
            max_block_bytes: setup.max_block_bytes,
            catch_up_after: setup.timeout / 2,
        };
        let engine = Self::new(config, identity.ed25519(), log)
            .map_err(|error: ConfigError| StartError::Engine(error.to_string()))?;
        Ok((engine, past))
    }

    fn handle(&mut self, now: Instant, input: Input<Self>) {
        let input = match input {
            Input::Start => malachite::Input::Start,
            Input::Received { from, message } => malachite::Input::Received { from, message },
            Input::Submit(bytes) => malachite::Input::Submit(bytes.into()),
            Input::Checked(verdict) => match verdict {},
            Input::Tick => malachite::Input::Tick,
        };
        Machine::handle(self, now, input);
    }

    fn poll(&mut self) -> Option<Output<Self>> {
        Some(Machine::poll(self)?.map(
            |record| record,
            |effect| match effect {
                malachite::Effect::Send { to, message } => Effect::Send { to, message },
                malachite::Effect::Prefinalized { height, round, block } => {
                    let (slot, value) = (slot(height), Value::new(block.to_bytes()));
                    Effect::Prefinalized { slot, view: View::new(slot, round), value }
                }
                malachite::Effect::Carried { from, partial } => Effect::Carried { from, partial },
                malachite::Effect::Finalized { block } => {
                    let transactions = block.transactions().iter().map(Arc::clone).collect();
                    let value = Value::new(block.id().to_bytes());
                    let slot = slot(block.height());
                    Effect::Finalized { slot, block: Some(Block { value, transactions }) }
                }
                malachite::Effect::Abandoned { height, round } => {
                    Effect::Abandoned { view: View::new(slot(height), round) }
                }
                malachite::Effect::Accuse { party, fault } => Effect::Accused { party, fault },
                malachite::Effect::Refused(why) => Effect::Refused(why),
                malachite::Effect::Halted(why) => {
                    Effect::Refused(format!("halted for good: {why}"))
                }
            },
        ))
    }

    fn wake_at(&self) -> Option<Instant> {
        Machine::wake_at(self)
    }

    fn carry(&mut self, partial: Vec<u8>) -> Result<(), Vec<u8>> {
        Self::carry(self, partial)
    }
}

const fn slot(height: Height) -> Slot {
    Slot::new(height.get())
}

const fn released_as((height, block): (Height, BlockId)) -> (Slot, Value) {
    (slot(height), Value::new(block.to_bytes()))
}

/// A proposal may take a round's time; votes are smaller and get half of it. Each failed round adds as
/// much as the first had for its votes.
fn timeouts(round: Duration) -> LinearTimeouts {
    let votes = round / 2;
    LinearTimeouts {
        propose: round,
        propose_delta: votes,
        prevote: votes,
        prevote_delta: votes,
        precommit: votes,
        precommit_delta: votes,
        rebroadcast: round * 2,
        max_timeout: round * 30,
    }
}
