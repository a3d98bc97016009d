//! Jolteon with order votes: a round is a slot and its only view.

use std::sync::Arc;

use ::beacon::{Quorum, Slot, Value, View};
use crypto_core::bls::min_sig;
use jolteon::{ConfigError, Job, Jolteon, Message, Record, Records, Round, Transaction, Verdict};
use protocol::{Instant, Machine};

use super::{Block, Effect, Engine, Input, Output, Past, Work};
use crate::setup::{Identity, Setup};
use crate::validator::StartError;

impl Engine for Jolteon {
    type Message = Message;
    type Record = Record;
    type Job = Job;
    type Verdict = Verdict;

    const FAST_ATTEMPT: Option<u32> = Some(0);
    const QUORUM: Quorum = Quorum::BYZANTINE;

    fn start(
        setup: &Setup,
        identity: &Identity,
        records: Vec<Record>,
    ) -> Result<(Self, Past), StartError> {
        let mut promised = Records::default();
        let mut past = Past::default();
        for record in records {
            if let Record::Safety(promises) = &record {
                // Without keys there was no beacon to write down what was given up.
                past.abandoned = past.abandoned.max(Some(view(promises.safety.highest_timeout())));
            }
            promised.apply(record);
        }
        let me = identity.me;
        let mut config = jolteon::Config::new(setup.context, me, setup.members.clone());
        config.timeout = setup.timeout;
        config.pace = setup.pace;
        config.max_block_bytes = setup.max_block_bytes;
        let refused = |error: ConfigError| StartError::Engine(error.to_string());
        let signer = identity.signer.to_secret_bytes();
        let signer = min_sig::SecretKey::from_secret_bytes(&signer)
            .map_err(|_| refused(ConfigError::WrongKey { me }))?;
        Ok((Self::new(config, signer, promised).map_err(refused)?, past))
    }

    fn handle(&mut self, now: Instant, input: Input<Self>) {
        let input = match input {
            Input::Start => jolteon::Input::Start,
            Input::Received { from, message } => jolteon::Input::Received { from, message },
            Input::Submit(bytes) => jolteon::Input::Submit(Transaction::new(bytes)),
            Input::Checked(verdict) => jolteon::Input::Checked(verdict),
            Input::Tick => jolteon::Input::Tick,
        };
        Machine::handle(self, now, input);
    }

    fn poll(&mut self) -> Option<Output<Self>> {
        Some(Machine::poll(self)?.map(
            |record| record,
            |effect| match effect {
                jolteon::Effect::Send { to, message } => Effect::Send { to, message },
                jolteon::Effect::Check(job) => Effect::Run(job),
                jolteon::Effect::Prefinalized { round, block } => {
                    let (view, value) = (view(round), Value::new(block.to_bytes()));
                    Effect::Prefinalized { slot: view.slot, view, value }
                }
                jolteon::Effect::Finalized { round, block } => {
                    let context = self.committee().context();
                    let block = block.map(|block| Block {
                        value: Value::new(block.id(context).to_bytes()),
                        transactions: block
                            .payload()
                            .iter()
                            .map(|one| Arc::clone(one.bytes()))
                            .collect(),
                    });
                    Effect::Finalized { slot: view(round).slot, block }
                }
                jolteon::Effect::Abandoned { round } => Effect::Abandoned { view: view(round) },
                jolteon::Effect::Accuse { party, fault } => {
                    Effect::Accused { party, fault: fault.to_string() }
                }
            },
        ))
    }

    fn wake_at(&self) -> Option<Instant> {
        Machine::wake_at(self)
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
