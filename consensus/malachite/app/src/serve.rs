//! Answers to what Malachite asks.
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use malachitebft_app_channel::AppMsg;
use malachitebft_app_channel::Reply;
use malachitebft_app_channel::app::engine::host::SyncedValueOutcome;
use malachitebft_app_channel::app::types::sync::RawDecidedValue;
use malachitebft_core_consensus::{
    LocallyProposedValue, ProposedValue, Role, VoteExtensionError, VoteExtensionVerdicts,
};
use malachitebft_core_types::{Round, Validity};
use prefinal_malachite::{Address, Block, BlockId, Height, MAX_EXTENSION, Misbehavior, Tendermint};
use tokio::sync::{mpsc, oneshot, watch};

use crate::app::{State, Status};
use crate::codec::{decode_block, encode_block};
use crate::finish::Step;
use crate::host::Host;
use crate::options::TRANSACTION_OVERHEAD;
use crate::store::Store;

/// Most decisions in one answer to a party that lags.
const MOST_DECISIONS: usize = 16;

/// Answers Malachite's questions.
pub(crate) struct Server<H> {
    pub(crate) host: Arc<H>,
    pub(crate) me: Address,
    pub(crate) max_block_bytes: usize,
    pub(crate) store: Store,
    pub(crate) steps: mpsc::UnboundedSender<Step>,
    pub(crate) status: watch::Sender<Status>,
    pub(crate) fetched: Arc<AtomicU64>,
    pub(crate) ready: Option<oneshot::Sender<()>>,
}

impl<H: Host> Server<H> {
    /// Answers until Malachite is stopped.
    pub(crate) async fn run(
        mut self,
        mut inbox: mpsc::Receiver<AppMsg<Tendermint>>,
        mut voted: mpsc::UnboundedReceiver<(Height, BlockId)>,
        mut proposed: mpsc::Receiver<Block>,
    ) {
        loop {
            tokio::select! {
                biased;
                Some((height, block)) = voted.recv() => self.host.voted(height, block),
                Some(block) = proposed.recv() => self.host.proposed(&block),
                message = inbox.recv() => match message {
                    Some(message) => self.answer(message).await,
                    None => break,
                },
            }
        }
        // Votes that left while Malachite stopped.
        while let Ok((height, block)) = voted.try_recv() {
            self.host.voted(height, block);
        }
    }

    // Nobody waits for an answer when the engine is being stopped: failing to give one is no fault.
    async fn answer(&mut self, message: AppMsg<Tendermint>) {
        match message {
            AppMsg::ConsensusReady { reply } => {
                if let Some(ready) = self.ready.take() {
                    let _ = ready.send(());
                }
                let _ = self.steps.send(Step::Begin { reply });
            }
            AppMsg::StartedRound { height, round, role, reply_value, .. } => {
                self.started(height, round, role).await;
                // Proposals hold their blocks, and the write-ahead log holds the proposals.
                let _ = reply_value.send(Vec::new());
            }
            AppMsg::GetValue { height, round, reply, .. } => {
                let block = self.propose(height);
                let _ = reply.send(LocallyProposedValue::new(height, round, block));
            }
            AppMsg::ExtendVote { height, round, value_id, reply, .. } => {
                let _ = reply.send(Some(self.extension(height, round, value_id).await));
            }
            AppMsg::VerifyVoteExtensions { height, round, value_id, extensions, reply } => {
                let verdicts = extensions.into_iter().map(|(from, bytes)| {
                    (from, self.extended((height, round, value_id), from, &bytes))
                });
                let verdicts: VoteExtensionVerdicts<Tendermint> = verdicts.collect();
                let _ = reply.send(verdicts);
            }
            AppMsg::Decided { certificate, extensions, reply } => {
                let _ = self.steps.send(Step::Decided { certificate, extensions, reply });
            }
            AppMsg::Finalized { certificate, evidence, reply, .. } => {
                Misbehavior::all(&evidence).for_each(|one| self.host.misbehaved(&one));
                let height = certificate.height;
                let _ = self.steps.send(Step::Finalized { height, reply });
            }
            AppMsg::GetHistoryMinHeight { reply } => {
                let first = self.store.first().ok().flatten();
                let _ = reply.send(first.unwrap_or(Height::new(1)));
            }
            AppMsg::GetDecidedValues { range, reply } => self.decided(range, reply),
            AppMsg::ProcessSyncedValue { height, round, proposer, value_bytes, reply } => {
                let value = self.fetched((height, round), proposer, &value_bytes);
                let _ = reply.send(value);
            }
            AppMsg::ReceivedProposalPart { reply, .. } => {
                let _ = reply.send(None);
            }
            // The proposal itself is sent again, with its block.
            AppMsg::RestreamProposal { .. } => {}
        }
    }

    async fn started(&self, height: Height, round: Round, role: Role) {
        let number = round.as_u32().unwrap_or(0);
        if let Some(left) = number.checked_sub(1) {
            // A party in a later round casts no precommit in an earlier one.
            self.host.abandoned(height, left).await;
        }
        let state = match role {
            Role::Proposer => State::Proposing,
            Role::Validator => State::Voting,
            Role::None => State::Following,
        };
        self.status.send_replace(Status { height: Some(height), round: number, state });
    }

    fn propose(&self, height: Height) -> Block {
        let most = self.max_block_bytes;
        let mut room = most;
        let mut transactions = self.host.transactions(height, most);
        let fitting = transactions.iter().take_while(|one| {
            let rest = room.checked_sub(one.len().saturating_add(TRANSACTION_OVERHEAD));
            room = rest.unwrap_or(0);
            rest.is_some()
        });
        let fitting = fitting.count();
        transactions.truncate(fitting);
        Block::new(height, transactions)
    }

    async fn extension(&self, height: Height, round: Round, block: BlockId) -> Vec<u8> {
        if round != Round::ZERO {
            return Vec::new();
        }
        let bytes = self.host.prefinalized(height, block).await;
        if bytes.len() > MAX_EXTENSION {
            // No party would take the vote, not even this one.
            let got = bytes.len();
            tracing::error!(%height, got, "extension of a vote is too long and left out");
            return Vec::new();
        }
        bytes
    }

    /// Passes on extensions of round 0 only. In later rounds an honest party sends no partial.
    fn extended(
        &self,
        (height, round, block): (Height, Round, BlockId),
        from: Address,
        bytes: &[u8],
    ) -> Result<(), VoteExtensionError> {
        if bytes.len() > MAX_EXTENSION {
            return Err(VoteExtensionError::InvalidVoteExtension);
        }
        if round == Round::ZERO && from != self.me && !bytes.is_empty() {
            self.host.extended(height, block, from.party(), bytes);
        }
        Ok(())
    }

    fn decided(
        &self,
        range: RangeInclusive<Height>,
        reply: Reply<Vec<RawDecidedValue<Tendermint>>>,
    ) {
        let store = self.store.clone();
        tokio::task::spawn_blocking(move || {
            let decisions = store.range(range, MOST_DECISIONS).unwrap_or_else(|error| {
                tracing::error!(%error, "decided blocks cannot be read for a peer");
                Vec::new()
            });
            let values = decisions.into_iter().map(|decision| {
                RawDecidedValue::new(encode_block(&decision.block), decision.extended())
            });
            let _ = reply.send(values.collect());
        });
    }

    fn fetched(
        &self,
        (height, round): (Height, Round),
        proposer: Address,
        bytes: &Bytes,
    ) -> SyncedValueOutcome<Tendermint> {
        match decode_block(bytes, self.max_block_bytes) {
            Ok(value) if value.height() == height => {
                self.fetched.store(height.get(), Ordering::Relaxed);
                SyncedValueOutcome::Verdict(ProposedValue {
                    height,
                    round,
                    valid_round: Round::Nil,
                    proposer,
                    value,
                    validity: Validity::Valid,
                })
            }
            Ok(_) | Err(_) => SyncedValueOutcome::PeerFault,
        }
    }
}
