//! From a decision to the next height: the block becomes durable, the host takes it, the next committee is
//! asked for. One step after the other, beside the task that answers Malachite's other questions.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use malachitebft_app_channel::Reply;
use malachitebft_app_channel::app::engine::consensus::{ConsensusMsg, ConsensusRef};
use malachitebft_app_channel::app::engine::host::Next;
use malachitebft_core_types::{
    CommitCertificate, HeightParams, LinearTimeouts, VoteExtensionPolicy, VoteExtensions,
};
use prefinal_malachite::{Block, ConfigError, Decision, Height, SecretKey, Tendermint};
use prefinal_protocol::Party;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::committees::Committees;
use crate::error::Exit;
use crate::host::Host;
use crate::store::Store;

type Params = HeightParams<Tendermint>;

/// What Malachite asks for at the end of a height.
pub(crate) enum Step {
    /// Malachite listens and wants to begin.
    Begin { reply: Reply<(Height, Params)> },
    /// A height is decided.
    Decided {
        certificate: CommitCertificate<Tendermint>,
        extensions: VoteExtensions<Tendermint>,
        reply: Reply<()>,
    },
    /// Malachite is done with a height.
    Finalized { height: Height, reply: Reply<Next<Tendermint>> },
}

/// Takes the steps.
pub(crate) struct Finisher<H> {
    pub(crate) host: Arc<H>,
    pub(crate) me: Party,
    pub(crate) key: SecretKey,
    pub(crate) store: Store,
    pub(crate) committees: Committees,
    pub(crate) consensus: ConsensusRef<Tendermint>,
    pub(crate) timeouts: LinearTimeouts,
    pub(crate) pace: Duration,
    /// The last height that was fetched from others.
    pub(crate) fetched: Arc<AtomicU64>,
    pub(crate) begun: Instant,
}

impl<H: Host> Finisher<H> {
    /// Takes steps until there are no more, or one fails.
    pub(crate) async fn run(
        mut self,
        mut steps: mpsc::UnboundedReceiver<Step>,
    ) -> Result<(), Exit> {
        while let Some(step) = steps.recv().await {
            // Nobody waits for an answer when the engine is being stopped.
            match step {
                Step::Begin { reply } => {
                    let height = self.store.next()?;
                    let params = self.params(height).await?;
                    let _ = reply.send((height, params));
                }
                Step::Decided { certificate, extensions, reply } => {
                    let block = self.block(&certificate).await?;
                    let decision =
                        Decision { block, certificate, extensions: extensions.extensions };
                    let decision = self.keep(decision).await?;
                    let _ = reply.send(());
                    self.host.finalized(&decision.block).await;
                }
                Step::Finalized { height, reply } => {
                    if self.fetched.load(Ordering::Relaxed) != height.get() {
                        tokio::time::sleep_until(self.begun + self.pace).await;
                    }
                    let next = height.next();
                    let params = self.params(next).await?;
                    let _ = reply.send(Next::Start(next, params));
                }
            }
        }
        Ok(())
    }

    /// The committee of a height, noted for its signatures.
    async fn params(&mut self, height: Height) -> Result<Params, Exit> {
        let validators = self.host.validators(height).await;
        match validators.check_member(self.me, &self.key) {
            // A party without a place follows.
            Ok(()) | Err(ConfigError::NotAMember { .. }) => {}
            Err(cause) => return Err(Exit::Committee { height, cause }),
        }
        let params = Params::new(validators.validators().clone(), self.timeouts, None)
            .with_vote_extension_policy(VoteExtensionPolicy::Required);
        self.committees.note(height, validators);
        self.begun = Instant::now();
        Ok(params)
    }

    /// The block that Malachite has decided. It names the block only, but its state holds it until the next
    /// height begins.
    async fn block(&self, certificate: &CommitCertificate<Tendermint>) -> Result<Block, Exit> {
        let (reply, state) = oneshot::channel();
        self.consensus.cast(ConsensusMsg::DumpState(reply.into())).map_err(|_| Exit::Ended)?;
        let state = state.await.map_err(|_| Exit::Ended)?;
        let decision = state.and_then(|state| state.consensus.decision);
        let block = decision.map(|decision| decision.value);
        block
            .filter(|block| block.id() == certificate.value_id)
            .ok_or(Exit::NoBlock { height: certificate.height })
    }

    /// Makes a decision durable.
    async fn keep(&self, decision: Decision) -> Result<Arc<Decision>, Exit> {
        let (store, decision) = (self.store.clone(), Arc::new(decision));
        let kept = Arc::clone(&decision);
        match tokio::task::spawn_blocking(move || store.append(&kept)).await {
            Ok(result) => result?,
            Err(error) => return Err(Exit::Store(error.to_string())),
        }
        Ok(decision)
    }
}
