//! Malachite as an `Engine`: a height is a slot, a round an attempt, and the
//! partial travels in the precommit.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_engine::{
    Block, Effect, Engine, FinalBlock, Input, Launch, Output, PastVotes, Quorum,
};
use malachitebft_core_types::LinearTimeouts;
use prefinal_protocol::{Instant, Machine, Slot, Value, View};

use crate::config::{Config, ConfigError};
use crate::context::{BlockId, Height};
use crate::engine as own;
use crate::engine::Malachite;
use crate::message::Message;
use crate::record::{Log, Record};
use crate::sign::{PublicKey, SecretKey};

impl Launch for Malachite {
    type PublicKey = PublicKey;
    type SecretKey = SecretKey;
    type StartError = ConfigError;

    fn start(
        config: ::prefinal_engine::Config<PublicKey>,
        key: SecretKey,
        records: Vec<Record>,
    ) -> Result<(Self, PastVotes), ConfigError> {
        let ::prefinal_engine::Config { context, me, members, timeout, pace, max_block_bytes } =
            config;
        let mut log = Log::default();
        let mut released = Vec::new();
        for record in records {
            log.apply(record);
            // Also for heights that are decided already: an output may still be awaited.
            let last = log.released(me).map(released_as);
            released.extend(last.filter(|last| !released.contains(last)));
        }
        // The replay of the log finds again what was given up.
        let past = PastVotes { abandoned: None, released };
        let config = Config {
            context,
            me,
            members,
            timeouts: timeouts(timeout),
            pace,
            max_block_bytes,
            catch_up_after: timeout / 2,
        };
        Ok((Self::new(config, key, log)?, past))
    }
}

impl Engine for Malachite {
    type Message = Message;
    type Record = Record;
    type Job = Infallible;
    type Verdict = Infallible;

    const FAST_ATTEMPT: Option<u32> = Some(0);
    const QUORUM: Quorum = Quorum::BYZANTINE;
    const RECALLS: u64 = 1;

    fn handle(&mut self, now: Instant, input: Input<Self>) {
        let input = match input {
            Input::Start => own::Input::Start,
            Input::Received { from, message } => own::Input::Received { from, message },
            Input::Submit(bytes) => own::Input::Submit(bytes.into()),
            Input::Checked(verdict) => match verdict {},
            Input::Tick => own::Input::Tick,
        };
        Machine::handle(self, now, input);
    }

    /// A height knows nothing of the heights before it.
    fn adopted(blocks: impl Iterator<Item = FinalBlock>) -> Vec<Record> {
        let record = |last: FinalBlock| Record::Adopted(Height::new(last.slot.get()));
        blocks.last().map(record).into_iter().collect()
    }

    fn poll(&mut self) -> Option<Output<Self>> {
        Some(Machine::poll(self)?.map(
            |record| record,
            |effect| match effect {
                own::Effect::Send { to, message } => Effect::Send { to, message },
                own::Effect::Prefinalized { height, round, block } => {
                    let (slot, value) = (slot(height), Value::new(block.to_bytes()));
                    Effect::Prefinalized { slot, view: View::new(slot, round), value }
                }
                own::Effect::Carried { from, partial } => Effect::Carried { from, partial },
                own::Effect::Finalized { block } => {
                    let transactions = block.transactions().iter().map(Arc::clone).collect();
                    let value = Value::new(block.id().to_bytes());
                    let slot = slot(block.height());
                    Effect::Finalized { slot, block: Some(Block { value, transactions }) }
                }
                own::Effect::Abandoned { height, round } => {
                    Effect::Abandoned { view: View::new(slot(height), round) }
                }
                own::Effect::Accuse { party, fault } => Effect::Accused { party, fault },
                own::Effect::Refused(why) => Effect::Refused(why),
                own::Effect::Halted(why) => Effect::Refused(format!("halted for good: {why}")),
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

/// The timeouts of a round. A proposal may take a round's time; votes are smaller and get half of it.
/// Each failed round adds the time that the votes of the first round had.
#[must_use]
pub fn timeouts(round: Duration) -> LinearTimeouts {
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
