//! What every engine must keep.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use prefinal_crypto_core::bls::min_sig::{PublicKey, SecretKey};
use prefinal_crypto_core::verified::Verified;
use prefinal_engine_suite::{MessageOf, Sample, Statement};
use prefinal_protocol::{Party, View};
use prefinal_trantor::{Fingerprint, Job, Message, Trantor, Verdict};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Members of one committee check the same votes: once is enough.
#[derive(Default)]
struct Ordering {
    verdicts: Mutex<BTreeMap<Fingerprint, Verdict>>,
}

impl Sample for Ordering {
    type Engine = Trantor;

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
        Some(match message {
            // Its name in its committee is another one; for telling proposals apart any will do.
            Message::Proposal(proposal) => Statement::Proposes {
                view: View::new(proposal.slot, 0),
                value: proposal.body.value(&[0; 32], proposal.slot),
            },
            Message::Prepare(vote) => Statement::Votes { view: vote.view, value: Some(vote.value) },
            Message::Commit(commit) => {
                Statement::Prefinalizes { view: commit.vote.view, value: commit.vote.value }
            }
            Message::ViewChange(change) => {
                let attempt = change.view.attempt - 1;
                Statement::GivesUp { view: View::new(change.view.slot, attempt) }
            }
            Message::NewView(new) => {
                Statement::Proposes { view: new.change.view, value: new.value() }
            }
            _ => return None,
        })
    }

    fn run(&self, job: &Job) -> Verdict {
        let mut verdicts = self.verdicts.lock().unwrap();
        verdicts.entry(job.fingerprint()).or_insert_with(|| job.run()).clone()
    }
}

fn secret(member: u32) -> SecretKey {
    SecretKey::random(&mut ChaCha20Rng::seed_from_u64(u64::from(member)))
}

prefinal_engine_suite::laws!(Ordering::default());
