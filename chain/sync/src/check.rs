//! Verifying answers: jobs without state, so as many at once as there are processors.
//!
//! | answer | what is verified | against |
//! |---|---|---|
//! | block | height; name; certificate; with a delta the results; if transactions read it and it comes, the slot's value | the request; parent, height, slot and transactions; the committee or key; the certified receipts; the beacon's key |
//! | anchor | height, name, certificate | as above |
//! | range | keys, rows | the request, the certified state |
//! | ending | all of it | the committee of the epoch before |
//!
//! A value that was not verified is not kept: a node that passes it on would be taken for a liar.
//!
//! A delta is bound to its block only by the state that it leads to, which takes the parent's state
//! (`process`). What is of a later epoch than the one that is known waits: it comes back as it is.
use prefinal_execution::{Block, Executor, Header, Randomness, Roots};
use prefinal_light::{BeaconVerifier, EpochEnding};
use prefinal_protocol::EpochId;
use prefinal_state::proof::{StateRoot, VerifiedRange};
use prefinal_state::{BlockDelta, SnapshotBlock, StoredTransaction, decoded_block};

use crate::config::Replay;
use crate::fault::Fault;
use crate::names::BlockNames;
use crate::peers::PeerId;
use crate::trust::{Attestation, Trust};
use crate::wire::{AnswerHead, Ask, BlockAsk, BlockItem, Payload, RangeAsk, RequestId};

/// What answers are verified with.
#[derive(Clone, Debug)]
pub(crate) struct Rules<T, N> {
    pub(crate) trust: T,
    pub(crate) names: N,
    pub(crate) beacon: Option<BeaconVerifier>,
    pub(crate) replay: Replay,
}

/// An answer that is to be verified.
#[derive(Clone, Debug)]
pub(crate) enum Unchecked<C> {
    /// The answer as the peer sent it.
    Encoded { head: AnswerHead, payload: Vec<u8> },
    /// Blocks of a later epoch, which is known by now.
    Blocks(Vec<BlockItem<C>>),
    /// The same with an anchor.
    Anchor(Box<SnapshotBlock<Attestation<C>>>),
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) id: RequestId,
    pub(crate) peer: PeerId,
    pub(crate) ask: Ask,
    /// Most bytes of the payload.
    pub(crate) bytes: u32,
    /// Of a range, the certified root.
    pub(crate) root: StateRoot,
}

/// Verifies an answer. Costs what decompressing costs, a hash of every byte, and pairings for each certificate.
#[derive(Clone, Debug)]
pub struct CheckJob<X, T: Trust, N> {
    pub(crate) question: Question,
    pub(crate) answer: Unchecked<T::Certificate>,
    pub(crate) rules: Rules<T, N>,
    pub(crate) executor: std::marker::PhantomData<fn() -> X>,
}

/// The result of a [`CheckJob`].
#[derive(Debug)]
pub struct CheckVerdict<X: Executor, T: Trust> {
    pub(crate) question: Question,
    pub(crate) result: Result<Checked<X, T>, Fault>,
}

/// A block whose name and certificate are verified.
#[derive(Clone, Debug)]
pub(crate) struct CheckedBlock<X: Executor, C> {
    pub(crate) peer: PeerId,
    pub(crate) block: Block<X::Transaction>,
    pub(crate) roots: Roots,
    pub(crate) attestation: Attestation<C>,
    pub(crate) work: Work,
    /// Its length on the wire.
    pub(crate) bytes: u64,
}

/// How the state behind the block is reached.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Execute(Option<Randomness>),
    Apply(BlockDelta),
}

/// What an answer shows.
#[derive(Debug)]
pub(crate) enum Checked<X: Executor, T: Trust> {
    Absent,
    /// Blocks, and those behind them that are of a later epoch.
    Blocks {
        checked: Vec<CheckedBlock<X, T::Certificate>>,
        later: Vec<BlockItem<T::Certificate>>,
    },
    Anchor(SnapshotBlock<Attestation<T::Certificate>>),
    LaterAnchor(SnapshotBlock<Attestation<T::Certificate>>),
    Range(VerifiedRange),
    Ending(Box<EpochEnding>, Box<T>),
}

impl<X, T, N> CheckJob<X, T, N>
where
    X: Executor,
    X::Transaction: StoredTransaction,
    T: Trust,
    N: BlockNames,
{
    /// Verifies on the calling thread. Give the verdict back to the follower.
    #[must_use]
    pub fn run(self) -> CheckVerdict<X, T> {
        let Self { question, answer, rules, .. } = self;
        let result = match answer {
            Unchecked::Blocks(items) => match question.ask {
                Ask::Blocks(ask) => rules.blocks(question.peer, &ask, items),
                _ => Err(Fault::Kind),
            },
            Unchecked::Anchor(anchor) => rules.anchor(*anchor),
            Unchecked::Encoded { head, payload } => decode(&question, &head, &payload)
                .and_then(|payload| rules.payload(&question, payload)),
        };
        CheckVerdict { question, result }
    }
}

fn decode<C: prefinal_execution::StateCertificate>(
    question: &Question,
    head: &AnswerHead,
    payload: &[u8],
) -> Result<Payload<C>, Fault> {
    Ok(Payload::decode(&head.decompress(payload, question.bytes)?)?)
}

impl<T: Trust, N: BlockNames> Rules<T, N> {
    fn payload<X>(
        &self,
        question: &Question,
        payload: Payload<T::Certificate>,
    ) -> Result<Checked<X, T>, Fault>
    where
        X: Executor,
        X::Transaction: StoredTransaction,
    {
        match (payload, question.ask) {
            (Payload::Absent, _) => Ok(Checked::Absent),
            (Payload::Blocks(items), Ask::Blocks(ask)) => self.blocks(question.peer, &ask, items),
            (Payload::Anchor(anchor), Ask::Anchor(height)) => {
                if anchor.header.height != height {
                    return Err(Fault::Order);
                }
                self.anchor(*anchor)
            }
            (Payload::Range(range), Ask::Range(RangeAsk { keys, .. })) => {
                if range.keys.first != keys.first || range.keys.last > keys.last {
                    return Err(Fault::Range);
                }
                Ok(Checked::Range(range.verify(question.root)?))
            }
            (Payload::Ending(ending), Ask::Ending(_)) => {
                let mut ahead = self.trust.clone();
                ahead.advance(&ending)?;
                Ok(Checked::Ending(ending, Box::new(ahead)))
            }
            _ => Err(Fault::Kind),
        }
    }

    fn blocks<X>(
        &self,
        peer: PeerId,
        ask: &BlockAsk,
        items: Vec<BlockItem<T::Certificate>>,
    ) -> Result<Checked<X, T>, Fault>
    where
        X: Executor,
        X::Transaction: StoredTransaction,
    {
        if items.len() > usize::try_from(ask.count).unwrap_or(usize::MAX) {
            return Err(Fault::Order);
        }
        let heights = (0..).map(|at| ask.first.after(at));
        if items.iter().zip(heights).any(|(item, height)| item.header.height != height) {
            return Err(Fault::Order);
        }
        let (mut checked, mut later) = (Vec::new(), Vec::new());
        for item in items {
            if !later.is_empty() || self.is_later(item.attestation.epoch)? {
                later.push(item);
            } else if let Some(block) = self.block(peer, item)? {
                checked.push(block);
            } else {
                break;
            }
        }
        Ok(Checked::Blocks { checked, later })
    }

    /// Whether something waits for an ending.
    fn is_later(&self, got: EpochId) -> Result<bool, Fault> {
        match self.trust.epoch() {
            Some(here) if got < here => Err(Fault::Epoch { here, got }),
            Some(here) => Ok(got > here),
            None => Ok(false),
        }
    }

    /// `None` if the block takes a value that the peer may not have: it may follow without a beacon.
    fn block<X>(
        &self,
        peer: PeerId,
        item: BlockItem<T::Certificate>,
    ) -> Result<Option<CheckedBlock<X, T::Certificate>>, Fault>
    where
        X: Executor,
        X::Transaction: StoredTransaction,
    {
        let bytes = u64::try_from(borsh::object_length(&item).unwrap_or(0)).unwrap_or(u64::MAX);
        let BlockItem { header, roots, mut attestation, transactions, delta } = item;
        if self.names.content(&transactions) != attestation.content {
            return Err(Fault::Name);
        }
        self.certified(&header, &roots, &attestation)?;
        let block = decoded_block(header, &transactions).ok_or(Fault::Transaction)?;
        let value = self.randomness(&block, &mut attestation)?;
        let is_needed = self.replay == Replay::Execute && block.has_tail() && self.beacon.is_some();
        if is_needed && value.is_none() {
            return Ok(None);
        }
        let work = match (self.replay, delta) {
            (Replay::Execute, None) => Work::Execute(value),
            (Replay::Deltas, Some(delta)) => {
                delta.check_results(&header, &roots).map_err(|_| Fault::Results)?;
                Work::Apply(delta)
            }
            _ => return Err(Fault::DeltaMissing),
        };
        Ok(Some(CheckedBlock { peer, block, roots, attestation, work, bytes }))
    }

    /// The name, the slot and the roots.
    fn certified(
        &self,
        header: &Header,
        roots: &Roots,
        attestation: &Attestation<T::Certificate>,
    ) -> Result<(), Fault> {
        let place = attestation.place.as_ref();
        self.names.verify(header, roots, &attestation.content, place)?;
        self.trust.verify(&attestation.certified(header, roots))?;
        Ok(())
    }

    /// The slot's value, if transactions of the block read it. It is kept with the block only if it was verified.
    fn randomness<Tx: StoredTransaction>(
        &self,
        block: &Block<Tx>,
        attestation: &mut Attestation<T::Certificate>,
    ) -> Result<Option<Randomness>, Fault> {
        let signature = attestation.randomness.take();
        if !block.has_tail() {
            return Ok(None);
        }
        // Without a beacon the follower stops at the block if it executes it; the peer has done nothing wrong.
        let (Some(beacon), Some(signature)) = (&self.beacon, signature) else { return Ok(None) };
        let value = beacon.verify(block.header.slot, &signature)?;
        attestation.randomness = Some(signature);
        Ok(Some(Randomness::new(*value.as_bytes())))
    }

    fn anchor<X: Executor>(
        &self,
        mut anchor: SnapshotBlock<Attestation<T::Certificate>>,
    ) -> Result<Checked<X, T>, Fault> {
        // Without its transactions nobody needs it.
        anchor.certificate.randomness = None;
        let epoch = anchor.certificate.epoch;
        match self.trust.epoch() {
            Some(here) if epoch > here => return Ok(Checked::LaterAnchor(anchor)),
            // It was asked for, but cannot be verified any more.
            Some(here) if epoch < here => return Ok(Checked::Absent),
            _ => {}
        }
        self.certified(&anchor.header, &anchor.roots, &anchor.certificate)?;
        Ok(Checked::Anchor(anchor))
    }
}
