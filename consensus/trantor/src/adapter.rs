//! Trantor as an engine of a chain: a height is a slot, a view of a height is an attempt at it.
//!
//! **A party that was away needs every height** ([`Engine::RECALLS`]). What is ordered next depends on three things:
//!
//! | what                                                            | why no store of executed blocks has it        |
//! |-----------------------------------------------------------------|-----------------------------------------------|
//! | which batches the last 1024 heights have ordered                | a batch is left out whole; blocks have no batches |
//! | in which of the last 256 heights each transaction stood last    | repetitions count, and are not executed       |
//! | which leaders have failed, epoch by epoch                       | it has: slots without a block                 |
//!
//! Peers have the last 256 heights with their batches, so they cannot tell it either. It would take that they keep the
//! lists of batches of 1024 heights (each block's value commits to its list, so nobody has to be trusted), and with the
//! batches themselves those of twice the heights in which a transaction is remembered: then a party begins that far
//! before the last block, fetches from there as after a short absence, and its host drops what it has. Under a
//! [`Replica`](crate::Replica) all three are in certified checkpoints.
use std::vec::Vec;

use ::prefinal_engine::{Block, Effect, Engine, Input, Launch, Output, PastVotes, Quorum, Work};
use prefinal_crypto_core::bls::min_sig::{PublicKey, SecretKey};
use prefinal_crypto_core::verified::Verified;
use prefinal_protocol::{Instant, Machine};

use crate::block::Transaction;
use crate::config::{Config, ConfigError};
use crate::engine as own;
use crate::engine::Trantor;
use crate::job::{Job, Verdict};
use crate::message::Message;
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
        let config = Config { timeout, pace, max_block_bytes, ..Config::new(context, me, members) };
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
                    let block = block
                        .map(|own::Block { value, transactions }| Block { value, transactions });
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
