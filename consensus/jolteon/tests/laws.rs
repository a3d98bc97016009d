//! What every engine must keep.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use prefinal_crypto_core::bls::min_sig::{PublicKey, SecretKey};
use prefinal_crypto_core::verified::Verified;
use prefinal_engine_suite::{MessageOf, Sample, Statement};
use prefinal_jolteon::{BlockId, Fingerprint, Job, Jolteon, Message, Round, Verdict};
use prefinal_protocol::{Party, Slot, Value, View};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Members of one committee check the same votes: once is enough.
#[derive(Default)]
struct OrderVotes {
    verdicts: Mutex<BTreeMap<Fingerprint, Verdict>>,
}

impl Sample for OrderVotes {
    type Engine = Jolteon;

    fn public_key(&self, member: Party) -> Verified<PublicKey> {
        // Proofs of possession are dear, and always the same.
        static KEYS: OnceLock<Vec<Verified<PublicKey>>> = OnceLock::new();
        let key = |member| {
            let secret = secret(member);
            let proof = secret.prove_possession();
            secret.public_key().verify_possession(&proof).unwrap()
        };
        KEYS.get_or_init(|| (0..6).map(key).collect())[member.index()]
    }

    fn secret_key(&self, member: Party) -> SecretKey {
        secret(member.get())
    }

    fn statement(&self, message: &MessageOf<Self>) -> Option<Statement> {
        match message {
            Message::Proposal(proposal) => {
                let block = &proposal.block;
                // Its name in its committee is another one; for telling proposals apart any will do.
                let value = Value::new(block.id(&[0; 32]).to_bytes());
                Some(Statement::Proposes { view: view(block.round()), value })
            }
            Message::Vote(vote) => {
                Some(Statement::Votes { view: view(vote.round), value: Some(value(vote.block)) })
            }
            Message::OrderVote(vote) => {
                let (view, value) = (view(vote.qc.round), value(vote.qc.block));
                Some(Statement::Prefinalizes { view, value })
            }
            Message::Timeout(timeout) => Some(Statement::GivesUp { view: view(timeout.round) }),
            _ => None,
        }
    }

    fn run(&self, job: &Job) -> Verdict {
        let mut verdicts = self.verdicts.lock().unwrap();
        verdicts.entry(job.fingerprint()).or_insert_with(|| job.run()).clone()
    }
}

fn secret(member: u32) -> SecretKey {
    SecretKey::random(&mut ChaCha20Rng::seed_from_u64(u64::from(member)))
}

const fn view(round: Round) -> View {
    View::new(Slot::new(round.get()), 0)
}

const fn value(block: BlockId) -> Value {
    Value::new(block.to_bytes())
}

prefinal_engine_suite::laws!(OrderVotes::default());
