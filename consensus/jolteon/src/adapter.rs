//! Jolteon as an `Engine`: a round is a slot, and the slot's only view.

use std::sync::Arc;
use std::vec::Vec;

use ::prefinal_engine::{
    Block, Effect, Engine, FinalBlock, Input, Launch, Output, PastVotes, Quorum, Work,
};
use prefinal_crypto_core::bls::min_sig::{PublicKey, SecretKey};
use prefinal_crypto_core::verified::Verified;
use prefinal_protocol::{Instant, Machine, Slot, Value, View};

use crate::block::{BlockId, Round, Transaction};
use crate::config::{Config, ConfigError};
use crate::engine as own;
use crate::engine::Jolteon;
use crate::job::{Job, Verdict};
use crate::message::Message;
use crate::records::{Record, Records};

impl Launch for Jolteon {
    type PublicKey = Verified<PublicKey>;
    type SecretKey = SecretKey;
    type StartError = ConfigError;

    fn start(
        config: ::prefinal_engine::Config<Self::PublicKey>,
        key: SecretKey,
        records: Vec<Record>,
    ) -> Result<(Self, PastVotes), ConfigError> {
        let mut promised = Records::default();
        let mut past = PastVotes::default();
        for record in records {
            if let Record::Safety(promises) = &record {
                // Before there are keys, there is no beacon that could record the views that were given up.
                past.abandoned = past.abandoned.max(Some(view(promises.safety.highest_timeout())));
            }
            promised.apply(record);
        }
        let ::prefinal_engine::Config { context, me, members, timeout, pace, max_block_bytes } =
            config;
        let config = Config { timeout, pace, max_block_bytes, ..Config::new(context, me, members) };
        Ok((Self::new(config, key, promised)?, past))
    }
}

impl Engine for Jolteon {
    type Message = Message;
    type Record = Record;
    type Job = Job;
    type Verdict = Verdict;

    const FAST_ATTEMPT: Option<u32> = Some(0);
    const QUORUM: Quorum = Quorum::BYZANTINE;
    const TELLS_PROPOSALS: bool = true;
    const RECALLS: u64 = 1;

    fn handle(&mut self, now: Instant, input: Input<Self>) {
        let input = match input {
            Input::Start => own::Input::Start,
            Input::Received { from, message } => own::Input::Received { from, message },
            Input::Submit(bytes) => own::Input::Submit(Transaction::new(bytes)),
            Input::Checked(verdict) => own::Input::Checked(verdict),
            Input::Tick => own::Input::Tick,
        };
        Machine::handle(self, now, input);
    }

    /// Its rules look at certified blocks behind the last final one, and at what it has promised.
    fn adopted(blocks: impl Iterator<Item = FinalBlock>) -> Vec<Record> {
        let record = |FinalBlock { slot, block }| {
            let block = BlockId::new(block.value.to_bytes());
            Record::Finalized { round: Round::new(slot.get()), block }
        };
        blocks.last().map(record).into_iter().collect()
    }

    fn poll(&mut self) -> Option<Output<Self>> {
        Some(Machine::poll(self)?.map(
            |record| record,
            |effect| match effect {
                own::Effect::Send { to, message } => Effect::Send { to, message },
                own::Effect::Check(job) => Effect::Run(job),
                own::Effect::Proposed { block } => {
                    let parent = Value::new(block.parent().to_bytes());
                    let parent = Some(parent).filter(|_| block.parent_round() != Round::GENESIS);
                    let slot = view(block.round()).slot;
                    Effect::Proposed { slot, parent, block: self.named(&block) }
                }
                own::Effect::Prefinalized { round, block } => {
                    let (view, value) = (view(round), Value::new(block.to_bytes()));
                    Effect::Prefinalized { slot: view.slot, view, value }
                }
                own::Effect::Finalized { round, block } => {
                    let block = block.map(|block| self.named(&block));
                    Effect::Finalized { slot: view(round).slot, block }
                }
                own::Effect::Abandoned { round } => Effect::Abandoned { view: view(round) },
                own::Effect::Accuse { party, fault } => {
                    Effect::Accused { party, fault: fault.to_string() }
                }
            },
        ))
    }

    fn wake_at(&self) -> Option<Instant> {
        Machine::wake_at(self)
    }
}

impl Jolteon {
    /// The block as other crates know it.
    fn named(&self, block: &crate::block::Block) -> Block {
        let value = Value::new(block.id(self.committee().context()).to_bytes());
        let transactions = block.payload().iter().map(|one| Arc::clone(one.bytes()));
        Block { value, transactions: transactions.collect() }
    }
}

impl Work for Job {
    type Verdict = Verdict;

    fn run(&self) -> Verdict {
        Self::run(self)
    }
}

const fn view(round: Round) -> View {
    View::new(Slot::new(round.get()), 0)
}
