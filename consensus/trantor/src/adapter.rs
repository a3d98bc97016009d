//! Trantor as an engine of a chain: a height is a slot, a view of a height is an attempt at it.
//!
//! Behind the transactions of each block stands a [note](crate::note) of the engine, so that a chain's store of blocks has
//! all that the order depends on: **a party that was away goes on behind the blocks of its store** (`adopt`). It has no
//! batches of the heights that it passes over, and no decisions: peers that lag get these from others, or go the same
//! way. Under a [`Replica`](crate::Replica) the past is in certified checkpoints, and blocks have no notes.
use std::vec::Vec;

use ::prefinal_engine::{
    Block, Effect, Engine, FinalBlock, Input, Launch, Output, PastVotes, Quorum, Work,
};
use prefinal_crypto_core::bls::min_sig::{PublicKey, SecretKey};
use prefinal_crypto_core::verified::Verified;
use prefinal_protocol::{Instant, Machine};

use crate::adopt;
use crate::block::Transaction;
use crate::config::{Config, ConfigError, Identification};
use crate::engine as own;
use crate::engine::Trantor;
use crate::job::{Job, Verdict};
use crate::message::Message;
use crate::note::MAX_NOTE;
use crate::records::{Record, Records};

impl Launch for Trantor {
    type PublicKey = Verified<PublicKey>;
    type SecretKey = SecretKey;
    type StartError = ConfigError;

    fn start(
        config: ::prefinal_engine::Config<Self::PublicKey>,
        key: SecretKey,
        records: Vec<Record>,
    ) -> Result<(Self, PastVotes), ConfigError> {
        let mut kept = Records::default();
        records.into_iter().for_each(|record| kept.apply(record));
        let past = PastVotes { abandoned: kept.abandoned, released: kept.released.clone() };
        let ::prefinal_engine::Config { context, me, members, timeout, pace, max_block_bytes } =
            config;
        let identification = Identification::Hashes;
        let config = Config::new(context, me, members);
        let config = Config { timeout, pace, max_block_bytes, identification, ..config };
        Ok((Self::restore(config, key, kept)?, past))
    }
}

impl Engine for Trantor {
    type Message = Message;
    type Record = Record;
    type Job = Job;
    type Verdict = Verdict;

    const FAST_ATTEMPT: Option<u32> = Some(0);
    const QUORUM: Quorum = Quorum::BYZANTINE;
    const RECALLS: u64 = u64::MAX;
    const ADDED_BYTES: usize = MAX_NOTE;

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

    fn poll(&mut self) -> Option<Output<Self>> {
        Some(Machine::poll(self)?.map(
            |record| record,
            |effect| match effect {
                own::Effect::Send { to, message } => Effect::Send { to, message },
                own::Effect::Check(job) => Effect::Run(job),
                own::Effect::Prefinalized { view, value } => {
                    Effect::Prefinalized { slot: view.slot, view, value }
                }
                own::Effect::Carried { from, partial } => Effect::Carried { from, partial },
                own::Effect::Finalized { slot, block } => {
                    let block = block.map(|own::Block { value, mut transactions, contents }| {
                        transactions.extend(contents.to_note());
                        Block { value, transactions }
                    });
                    Effect::Finalized { slot, block }
                }
                own::Effect::Abandoned { view } => Effect::Abandoned { view },
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

    fn adopted(blocks: impl Iterator<Item = FinalBlock>) -> Vec<Record> {
        adopt::adopted(blocks)
    }

    fn carry(&mut self, partial: Vec<u8>) -> Result<(), Vec<u8>> {
        Self::carry(self, partial)
    }
}

impl Work for Job {
    type Verdict = Verdict;

    fn run(&self) -> Verdict {
        Self::run(self)
    }
}
