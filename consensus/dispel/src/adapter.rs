//! DISPEL as an engine of a chain: a stage is a slot with a single attempt.
use core::convert::Infallible;

use ::prefinal_engine::{Effect, Engine, FinalBlock, Input, Launch, Output, PastVotes, Quorum};
use prefinal_protocol::{Instant, Machine};

use crate::batch::Transaction;
use crate::config::Config;
use crate::engine::{self as own, Dispel, RETAINED};
use crate::message::Message;
use crate::quorum::ConfigError;
use crate::records::Record;

/// Nothing is signed: links authenticate the members.
impl Launch for Dispel {
    type PublicKey = ();
    type SecretKey = ();
    type StartError = ConfigError;

    fn start(
        config: ::prefinal_engine::Config<()>,
        (): (),
        records: Vec<Record>,
    ) -> Result<(Self, PastVotes), ConfigError> {
        Ok((Self::new(Config::of(config), records)?, PastVotes::default()))
    }
}

impl Engine for Dispel {
    type Message = Message;
    type Record = Record;
    type Job = Infallible;
    type Verdict = Infallible;

    const FAST_ATTEMPT: Option<u32> = Some(0);
    const QUORUM: Quorum = Quorum::BYZANTINE;
    const BEGINS_WHEN_IDLE: bool = true;
    const RECALLS: u64 = RETAINED;

    fn handle(&mut self, now: Instant, input: Input<Self>) {
        let input = match input {
            Input::Start => own::Input::Start,
            Input::Received { from, message } => own::Input::Received { from, message },
            Input::Submit(bytes) => own::Input::Submit(Transaction::new(bytes)),
            Input::Checked(never) => match never {},
            Input::Tick => own::Input::Tick,
        };
        Machine::handle(self, now, input);
    }

    /// Stages know nothing of each other but what was ordered in the last of them, and is left out of the next.
    fn adopted(blocks: impl Iterator<Item = FinalBlock>) -> Vec<Record> {
        let mut last = None;
        let ordered = blocks.map(|FinalBlock { slot: stage, block }| {
            last = last.max(Some(stage));
            let ids = block.transactions.into_iter().map(|bytes| Transaction::new(bytes).id());
            Record::Ordered { stage, transactions: ids.collect() }
        });
        let mut records: Vec<_> = ordered.collect();
        records.extend(last.map(Record::Adopted));
        records
    }

    fn poll(&mut self) -> Option<Output<Self>> {
        Some(Machine::poll(self)?.map(
            |record| record,
            |effect| match effect {
                own::Effect::Send { to, message } => Effect::Send { to, message },
                own::Effect::Prefinalized { view, value } => {
                    Effect::Prefinalized { slot: view.slot, view, value }
                }
                own::Effect::Finalized { slot, block } => {
                    Effect::Finalized { slot, block: Some(block) }
                }
                own::Effect::Accuse { party, fault } => {
                    Effect::Accused { party, fault: fault.to_string() }
                }
                own::Effect::Refused(refusal) => Effect::Refused(refusal.to_string()),
            },
        ))
    }

    fn wake_at(&self) -> Option<Instant> {
        Machine::wake_at(self)
    }

    fn idle(&mut self, now: Instant) {
        Machine::handle(self, now, own::Input::Idle);
    }

    fn memory(&mut self, now: Instant, bytes: u64) {
        let stages = self.config.stages_in(bytes);
        Machine::handle(self, now, own::Input::Room(stages));
    }

    /// Votes of a stage before batches of it, and both before those of later stages.
    fn rank(message: &Message) -> u64 {
        let (stage, after) = match message {
            Message::Status { .. } => return 0,
            Message::Votes { stage, .. }
            | Message::Decided { stage, .. }
            | Message::Request { stage, .. } => (stage, 0),
            Message::Batch { stage, .. } | Message::Answer { stage, .. } => (stage, 1),
        };
        stage.get().saturating_mul(2).saturating_add(after)
    }
}
