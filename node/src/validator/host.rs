//! What the chain does with the engine's events: everything goes to the participant behind its driver.
//!
//! The driver's calls come back when their records are durable. So a vote never leaves before its release is
//! on disk, and the engine leaves no height behind that the participant does not know.
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use prefinal_beacon::{Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_driver::{Driver, StopReason};
use prefinal_malachite::{Block, BlockId, Height, MAX_EXTENSION, Misbehavior, Validators};
use prefinal_malachite_app::Host;
use prefinal_validator::execution::MARK;
use tokio::time::sleep;

use super::execution::Running;
use super::links::Message;
use super::state::{Validator, lock};
use crate::output::{Sink, folder};

/// How often is asked whether the committee of the next height is known.
const ASK: Duration = Duration::from_millis(2);

/// The participant, as the engine sees it.
pub(super) struct ChainHost {
    pub(super) validator: Arc<Validator>,
    /// When height 1 is due.
    pub(super) start: SystemTime,
    /// The time from height to height.
    pub(super) period: Duration,
    /// Where evidence against members is kept.
    pub(super) evidence: PathBuf,
    pub(super) tip: Mutex<Tip>,
}

/// Where blocks are proposed.
#[derive(Default)]
pub(super) struct Tip {
    /// The last decided block of this life.
    decided: Option<(Height, BlockId)>,
    /// Blocks behind it that were passed on, at most [`PROPOSALS`].
    proposed: Vec<BlockId>,
}

/// Blocks of one height that are executed before one is final: an honest proposer makes one.
const PROPOSALS: usize = 2;

fn slot(height: Height) -> Slot {
    Slot::new(height.get())
}

impl ChainHost {
    /// Waits until a height is due. One that is late begins at once.
    async fn due(&self, height: Height) {
        let heights = u32::try_from(height.get().saturating_sub(1)).unwrap_or(u32::MAX);
        let at = self.start.checked_add(self.period.saturating_mul(heights));
        let left = at.and_then(|at| at.duration_since(SystemTime::now()).ok());
        sleep(left.unwrap_or_default()).await;
    }

    /// Calls the driver where it may wait for the disk. If it has stopped, so does the process.
    async fn call<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Driver<Running>) -> Result<T, StopReason> + Send + 'static,
    ) -> Option<T> {
        let driver = self.validator.driver.clone();
        let called = tokio::task::spawn_blocking(move || act(&driver)).await;
        let done = called.map_err(|why| why.to_string());
        let done = done.and_then(|done| done.map_err(|why| why.to_string()));
        done.map_err(|why| self.validator.end(why)).ok()
    }
}

impl Host for ChainHost {
    fn last(&self) -> Option<Height> {
        let figures = self.validator.driver.figures().ok()?;
        figures.last_final.map(|slot| Height::new(slot.get()))
    }

    async fn validators(&self, height: Height) -> Validators {
        self.due(height).await;
        loop {
            if let Some(validators) = self.validator.validators(slot(height)) {
                self.validator.height.store(height.get(), Ordering::Relaxed);
                return validators;
            }
            sleep(ASK).await;
        }
    }

    fn proposed(&self, block: &Block) {
        let Some(execution) = &self.validator.execution else { return };
        let mut tip = lock(&self.tip);
        let Tip { decided, proposed } = &mut *tip;
        // Without its parent's name it is executed when it is final.
        let parent = decided.filter(|(last, _)| last.next() == block.height());
        let is_new = proposed.len() < PROPOSALS && !proposed.contains(&block.id());
        let Some((_, parent)) = parent.filter(|_| is_new) else { return };
        proposed.push(block.id());
        drop(tip);
        let (slot, parent) = (slot(block.height()), Value::new(parent.to_bytes()));
        let transactions = block.transactions().to_vec();
        let value = Value::new(block.id().to_bytes());
        execution.propose(slot, parent, prefinal_engine::Block { value, transactions });
    }

    async fn prefinalized(&self, height: Height, block: BlockId) -> Vec<u8> {
        let (slot, value) = (slot(height), Value::new(block.to_bytes()));
        let released =
            self.call(move |driver| driver.on_prefinalize(slot, View::new(slot, 0), value));
        let released = released.await;
        if let Some(execution) = &self.validator.execution {
            execution.prefinalize(slot, value);
        }
        let Some(Some(message)) = released else { return Vec::new() };
        self.validator.arrivals.note(self.validator.me, &message);
        match borsh::to_vec(&message) {
            Ok(bytes) if bytes.len() <= MAX_EXTENSION => bytes,
            // The vote has no room; the links have, once the vote has left.
            _ => {
                self.validator.send(prefinal_protocol::Recipient::All, message);
                Vec::new()
            }
        }
    }

    fn voted(&self, height: Height, _: BlockId) {
        self.validator.open_gate(slot(height));
    }

    async fn abandoned(&self, height: Height, round: u32) {
        self.validator.gate.give_up(slot(height));
        let view = View::new(slot(height), round);
        self.call(move |driver| driver.on_view_abandoned(view)).await;
    }

    fn extended(&self, _: Height, _: BlockId, from: Party, bytes: &[u8]) {
        if bytes.is_empty() || from == self.validator.me {
            return;
        }
        match borsh::from_slice::<Message>(bytes) {
            Ok(message) => self.validator.deliver(from, message),
            Err(error) => {
                self.validator.metrics.undecodable.inc();
                tracing::warn!(peer = from.get(), %error, "undecodable vote extension");
            }
        }
    }

    fn transactions(&self, _: Height, max_bytes: usize) -> Vec<Arc<[u8]>> {
        const OVERHEAD: usize = prefinal_malachite_app::TRANSACTION_OVERHEAD;
        let execution = self.validator.execution.as_ref();
        let is_behind = execution.is_some_and(|execution| execution.is_behind());
        let is_wanted = |transaction: &[u8]| !(is_behind && transaction.starts_with(&[MARK]));
        self.validator.mempool.next_block(max_bytes, OVERHEAD, is_wanted)
    }

    fn misbehaved(&self, evidence: &Misbehavior) {
        let party = evidence.party();
        let name = self.validator.name_of(party);
        self.validator.metrics.accused(name.clone());
        let kind = match evidence {
            Misbehavior::Votes(_) => "votes",
            Misbehavior::Proposals(_) => "proposals",
        };
        // One file says enough, and a member cannot fill the disk.
        let file = self.evidence.join(format!("party-{party}-{kind}"));
        tracing::warn!(party = party.get(), name, fault = %evidence, file = %file.display(), "accused");
        let (into, bytes) = (self.evidence.clone(), borsh::to_vec(evidence).unwrap_or_default());
        tokio::task::spawn_blocking(move || {
            if file.exists() {
                return;
            }
            let kept = folder(&into).and_then(|()| Sink::open(&file)?.write(&bytes));
            if let Err(why) = kept {
                tracing::error!(%why, "evidence is not kept");
            }
        });
    }

    async fn finalized(&self, block: &Block) {
        let (slot, value) = (slot(block.height()), Value::new(block.id().to_bytes()));
        let transactions = block.transactions().to_vec();
        let decided = Some((block.height(), block.id()));
        *lock(&self.tip) = Tip { decided, proposed: Vec::new() };
        self.validator.is_final(slot);
        self.validator.mempool.ordered(&transactions);
        let block = prefinal_engine::Block { value, transactions };
        self.call(move |driver| driver.on_finalize(slot, Some(block))).await;
    }
}
