//! What follows from verified answers, executed blocks and durable writes.
use prefinal_light::EpochEnding;
use prefinal_protocol::EpochId;
use prefinal_state::{SnapshotBlock, StateExecutor};

use super::{Follower, NO_ROOT};
use crate::check::{CheckVerdict, Checked, CheckedBlock, Question, Unchecked};
use crate::event::{Effect, Output};
use crate::fault::{Fault, StopReason};
use crate::fetch::{Checking, Purpose, Wanted};
use crate::names::BlockNames;
use crate::peers::PeerId;
use crate::persist::{StoreCall, StoreDone, StoreVerdict, Stored};
use crate::process::{ExecuteVerdict, ProcessFailure};
use crate::replay::{Chunk, Head, ReplayStages};
use crate::restore::{Part, Restore};
use crate::trust::{Attestation, Trust};
use crate::wire::{Ask, BlockItem};

/// The next epoch, with what leads to it.
#[derive(Debug)]
pub(super) struct Turn<T> {
    ending: EpochEnding,
    pub(super) trust: T,
}

impl<X, T, N> Follower<X, T, N>
where
    X: StateExecutor,
    T: Trust,
    N: BlockNames,
{
    pub(super) fn checked(&mut self, verdict: CheckVerdict<X, T>) {
        let CheckVerdict { question, result } = verdict;
        let checking = self.requests.checked(question.id);
        match (result, checking) {
            (Err(fault), checking) => {
                self.ban(question.peer, Some(question.ask), fault);
                if let Some(Checking { purpose, attempt, .. }) = checking {
                    self.give_back(&question, purpose, attempt);
                }
            }
            // It was asked for something that was given up.
            (Ok(_), None) => {}
            (Ok(_), Some(one)) if self.peers.is_banned(question.peer) => {
                self.give_back(&question, one.purpose, one.attempt);
            }
            (Ok(found), Some(one)) if one.purpose == Purpose::Turn => {
                self.turned(&question, &one, found);
            }
            (Ok(found), Some(one)) => self.found(&question, &one, found),
        }
    }

    fn found(&mut self, question: &Question, one: &Checking, found: Checked<X, T>) {
        match (found, question.ask) {
            (Checked::Blocks { checked, later }, Ask::Blocks(ask))
                if !checked.is_empty() || !later.is_empty() =>
            {
                let got = u64::try_from(checked.len().saturating_add(later.len())).unwrap_or(0);
                let count = u64::from(ask.count).saturating_sub(got);
                self.stages.ask_again(Chunk { first: ask.first.after(got), count, attempt: 0 });
                self.blocks(question.peer, checked, later, one.attempt);
            }
            (Checked::Anchor(anchor), _) => self.adopt(anchor),
            (Checked::LaterAnchor(anchor), _) => self.ask_ending_to(question.peer, anchor),
            (Checked::Range(range), Ask::Range(ask)) => {
                if let Some(restore) = &mut self.restore {
                    restore.insert(ask.keys, range);
                }
            }
            (Checked::Ending(ending, trust), Ask::Ending(epoch)) => {
                self.ending(question, one.purpose, epoch, (*ending, *trust));
            }
            // Also an answer without blocks.
            _ => {
                self.peers.lacks(question.peer);
                self.peers.failed(question.peer, self.now);
                self.give_back(question, one.purpose, one.attempt);
            }
        }
    }

    fn blocks(
        &mut self,
        peer: PeerId,
        checked: Vec<CheckedBlock<X, T::Certificate>>,
        later: Vec<BlockItem<T::Certificate>>,
        attempt: u32,
    ) {
        let blocks = usize::try_from(self.config.limits.answer_blocks).unwrap_or(usize::MAX);
        if self.stages.is_starving() {
            self.requests.grow();
        } else if self.stages.waiting() >= self.requests.window().saturating_mul(blocks) {
            self.requests.shrink();
        }
        for block in checked {
            self.stages.insert(block);
        }
        self.stages.postpone(peer, later, attempt);
    }

    /// What was asked for is asked of another peer.
    pub(super) fn give_back(&mut self, question: &Question, purpose: Purpose, attempt: u32) {
        let attempt = attempt.saturating_add(1);
        if purpose == Purpose::Turn {
            self.turn = None;
        }
        match question.ask {
            Ask::Blocks(ask) => {
                let count = ask.count.into();
                self.stages.ask_again(Chunk { first: ask.first, count, attempt });
            }
            Ask::Range(ask) => {
                if let Some(restore) = &mut self.restore {
                    restore.ask_again(Part { keys: ask.keys, attempt });
                }
            }
            Ask::Anchor(_) => self.seek = None,
            Ask::Ending(_) if purpose == Purpose::Seek => self.seek = None,
            // It said that there is a later epoch, and does not show it.
            Ask::Ending(_) => self.stages.drop_later(question.peer),
            Ask::Summary => {}
        }
    }

    /// A state may be fetched: from now on no blocks are asked for.
    fn adopt(&mut self, anchor: SnapshotBlock<Attestation<T::Certificate>>) {
        let Some(seek) = self.seek.take() else { return };
        if anchor.header.height <= self.stages.head.height {
            return;
        }
        for ending in seek.endings {
            self.outputs.push_back(Output::Keep(ending));
        }
        self.trust = seek.trust;
        self.turn = None;
        self.stages.give_up();
        for purpose in [Purpose::Replay, Purpose::Turn, Purpose::Restore] {
            for one in self.requests.forget(purpose) {
                self.peers.released(one.question.peer);
            }
        }
        self.adopting = Some(anchor);
    }

    fn ask_ending_to(&mut self, peer: PeerId, anchor: SnapshotBlock<Attestation<T::Certificate>>) {
        let Some(seek) = &self.seek else { return };
        let Some(epoch) = seek.trust.epoch() else { return };
        self.sought = Some(anchor);
        let ask = Ask::Ending(epoch);
        self.send(&Wanted { ask, purpose: Purpose::Seek, attempt: 0, root: NO_ROOT }, peer);
    }

    fn ending(
        &mut self,
        question: &Question,
        purpose: Purpose,
        epoch: EpochId,
        (ending, trust): (EpochEnding, T),
    ) {
        match (purpose, &mut self.seek, self.sought.take()) {
            (Purpose::Seek, Some(seek), Some(anchor)) => {
                seek.trust = trust;
                seek.endings.push(ending);
                let ask = Ask::Anchor(seek.height);
                self.recheck(
                    &Question { ask, ..*question },
                    purpose,
                    Unchecked::Anchor(Box::new(anchor)),
                );
            }
            (Purpose::Replay, _, sought) => {
                self.sought = sought;
                if self.trust.epoch() != Some(epoch) {
                    return;
                }
                // An epoch of which there is a block has begun.
                if trust.epoch() <= self.stored {
                    self.trust = trust;
                    self.outputs.push_back(Output::Keep(ending));
                } else {
                    self.begin_turn(question, Turn { ending, trust });
                }
            }
            _ => {}
        }
    }

    /// An ending shows that there is a next epoch, not that it has begun: committees are announced before. So the
    /// block that is said to be of it is verified first.
    fn begin_turn(&mut self, question: &Question, turn: Turn<T>) {
        let Some(later) = self.stages.take_needed(question.peer) else { return };
        self.turn = Some(turn);
        let asked = later.question(self.requests.number(), self.config.limits.answer_bytes);
        if let Some(asked) = asked {
            self.recheck(&asked, Purpose::Turn, Unchecked::Blocks(later.items));
        }
    }

    fn turned(&mut self, question: &Question, one: &Checking, found: Checked<X, T>) {
        let Some(Turn { ending, trust }) = self.turn.take() else { return };
        match found {
            Checked::Blocks { checked, later } if !checked.is_empty() => {
                self.trust = trust;
                self.outputs.push_back(Output::Keep(ending));
                self.blocks(question.peer, checked, later, one.attempt);
            }
            // An epoch without blocks, which there is not.
            Checked::Blocks { later, .. } => {
                let here = trust.epoch().unwrap_or(EpochId::new(0));
                let got = later.first().map_or(here, |item| item.attestation.epoch);
                self.ban(question.peer, Some(question.ask), Fault::Epoch { here, got });
                self.give_back(question, one.purpose, one.attempt);
            }
            _ => {}
        }
    }

    /// What waited for an ending is verified now.
    pub(super) fn recheck_later(&mut self) {
        let Some(epoch) = self.trust.epoch() else { return };
        for later in self.stages.take_later(epoch) {
            let question = later.question(self.requests.number(), self.config.limits.answer_bytes);
            let Some(question) = question else { continue };
            self.recheck(&question, Purpose::Replay, Unchecked::Blocks(later.items));
        }
    }

    fn recheck(
        &mut self,
        question: &Question,
        purpose: Purpose,
        answer: Unchecked<T::Certificate>,
    ) {
        let bytes = match &answer {
            Unchecked::Blocks(items) => crate::replay::length(items),
            Unchecked::Encoded { .. } | Unchecked::Anchor(_) => 0,
        };
        self.requests.check(question.id, Checking { purpose, attempt: 0, is_ending: false, bytes });
        self.check(*question, purpose, answer);
    }

    pub(super) fn executed(&mut self, verdict: ExecuteVerdict<X, T::Certificate>) {
        self.stages.executing = None;
        let ExecuteVerdict { peer, header, certified, result } = verdict;
        match result {
            Ok(done) => self.stages.executed(done),
            Err(ProcessFailure::Delta) => {
                self.ban_for_block(peer, header.height, Fault::Delta);
                self.stages.ask_again(Chunk { first: header.height, count: 1, attempt: 1 });
            }
            Err(ProcessFailure::Diverged(computed)) => {
                self.stop(StopReason::Diverged { header, certified, computed });
            }
            Err(ProcessFailure::Failed(why)) => self.stop(StopReason::Failed(why)),
        }
    }

    pub(super) fn stored(&mut self, verdict: StoreVerdict) {
        let StoreDone { stored, kept } = match verdict.result {
            Ok(done) => done,
            Err(why) => return self.stop(StopReason::Failed(why)),
        };
        self.kept = kept;
        self.has_pruned = matches!(stored, Stored::Pruned);
        match stored {
            Stored::Block { committed, transactions } => {
                self.stages.storing = None;
                self.committed = committed;
                self.act(Effect::Committed { committed, transactions });
            }
            Stored::Pruned => self.stages.storing = None,
            Stored::Begun(missing) => {
                if let Some(restore) = self.restore.take() {
                    self.restore = Some(Restore::new(restore.anchor, &missing));
                }
                self.finish_restore();
            }
            Stored::Range => {
                if let Some(restore) = &mut self.restore {
                    restore.storing = None;
                }
                self.finish_restore();
            }
            Stored::Restored(committed, view) => {
                self.restore = None;
                self.committed = committed;
                let head = Head { height: committed.height, id: committed.block };
                self.stages = ReplayStages::new(head, view);
                self.act(Effect::Committed { committed, transactions: 0 });
            }
        }
    }

    /// When all ranges are durable, the state is the last committed one.
    pub(super) fn finish_restore(&mut self) {
        let asked = self.requests.serves(Purpose::Restore);
        let Some(restore) = self.restore.as_mut().filter(|restore| restore.is_stored()) else {
            return;
        };
        if !asked && self.adopting.is_none() {
            restore.storing = Some(0);
            self.store(StoreCall::Finish);
        }
    }
}
