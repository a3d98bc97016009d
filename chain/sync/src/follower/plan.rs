//! What to ask for next, and whom.
use prefinal_execution::Height;
use prefinal_state::StateExecutor;

use super::{Follower, NO_ROOT, summary_request};
use crate::config::{Replay, Strategy};
use crate::event::Effect;
use crate::fetch::{Purpose, Wanted};
use crate::names::BlockNames;
use crate::peers::PeerId;
use crate::replay::Chunk;
use crate::restore::{Restore, Seek};
use crate::trust::Trust;
use crate::wire::{Ask, BlockAsk, HeightRange, RangeAsk, Summary};

impl<X, T, N> Follower<X, T, N>
where
    X: StateExecutor,
    T: Trust,
    N: BlockNames,
{
    pub(super) fn plan(&mut self) {
        for peer in self.peers.due(self.now) {
            self.act(Effect::Send { peer, bytes: summary_request() });
        }
        self.recheck_later();
        self.ask_ending();
        if !self.may_ask() {
            return;
        }
        self.plan_seek();
        self.plan_ranges();
        if self.restore.is_none() && self.adopting.is_none() {
            self.plan_blocks();
        }
    }

    /// The naive protocol asks when all that it has asked for before is durable.
    fn may_ask(&self) -> bool {
        let is_stored = self.restore.as_ref().is_none_or(|restore| restore.bytes() == 0);
        self.config.strategy == Strategy::Pipelined
            || (self.requests.is_idle() && self.stages.is_idle() && is_stored)
    }

    /// Whether another answer may be asked for, beside those that are on their way.
    fn has_room(&self) -> bool {
        match self.config.strategy {
            Strategy::Pipelined => self.requests.has_room(self.held()),
            Strategy::Naive => self.requests.is_idle(),
        }
    }

    /// The lowest height of a state that is worth fetching.
    fn seek_floor(&self) -> Option<Height> {
        match (&self.restore, self.config.snapshot_beyond) {
            // Nobody has the state any more that is being fetched, or gives it.
            (Some(restore), _) if self.is_stalled(restore) => Some(self.committed.height.next()),
            (None, Some(beyond)) => Some(self.stages.head.height.after(beyond.max(1))),
            _ => None,
        }
    }

    fn is_stalled(&self, restore: &Restore<T::Certificate>) -> bool {
        let height = restore.anchor.header.height;
        let mut summaries = self.peers.summaries();
        let is_waiting = restore.next().is_some() && restore.bytes() == 0;
        let is_gone = !self.requests.serves(Purpose::Restore)
            && summaries.all(|summary| !summary.snapshots.contains(&height));
        // One peer that says so for ever must not hold the others up.
        is_waiting && restore.storing.is_none() && (is_gone || restore.is_in_vain())
    }

    fn plan_seek(&mut self) {
        if self.seek.is_some() || self.adopting.is_some() {
            return;
        }
        let Some(floor) = self.seek_floor() else { return };
        let best = |summary: &Summary| {
            summary.snapshots.iter().copied().filter(|height| *height >= floor).max()
        };
        let Some(peer) = self.peers.choose(self.now, |summary| best(summary).is_some()) else {
            return;
        };
        let mut scores = self.peers.scores();
        let summary =
            scores.find(|(one, _)| *one == peer).and_then(|(_, one)| one.summary.as_ref());
        let Some(height) = summary.and_then(best) else { return };
        drop(scores);
        let trust = self.trust.clone();
        self.seek = Some(Seek { height, trust, endings: Vec::new() });
        let ask = Ask::Anchor(height);
        self.send(&Wanted { ask, purpose: Purpose::Seek, attempt: 0, root: NO_ROOT }, peer);
    }

    fn plan_ranges(&mut self) {
        while self.has_room() {
            let Some(restore) = &self.restore else { return };
            let Some(part) = restore.next().filter(|_| self.adopting.is_none()) else { return };
            let (height, root) = (restore.anchor.header.height, restore.root());
            let has = |summary: &Summary| summary.snapshots.contains(&height);
            let Some(peer) = self.peers.choose(self.now, has) else { return };
            let bytes = self.config.limits.answer_bytes;
            let ask = Ask::Range(RangeAsk { height, keys: part.keys, bytes });
            if let Some(restore) = &mut self.restore {
                restore.asked();
            }
            let attempt = part.attempt;
            self.send(&Wanted { ask, purpose: Purpose::Restore, attempt, root }, peer);
        }
    }

    /// The lowest chunks first. The one that everything waits for needs no room, for what fills the room waits for it.
    fn plan_blocks(&mut self) {
        let limits = self.config.limits;
        loop {
            let chunks =
                self.stages.chunks(limits.answer_blocks.max(1).into(), limits.blocks_ahead);
            let needed = self.stages.needed();
            let may = |chunk: &Chunk| chunk.first == needed || self.has_room();
            let allowed: Vec<Chunk> = chunks.into_iter().filter(may).collect();
            if !allowed.iter().any(|chunk| self.ask_chunk(chunk)) {
                return;
            }
        }
    }

    /// Asks for as many blocks of the chunk as a peer has; whether there is such a peer.
    fn ask_chunk(&mut self, chunk: &Chunk) -> bool {
        if self.config.strategy == Strategy::Naive && !self.requests.is_idle() {
            return false;
        }
        let replay = self.config.replay;
        let has = |summary: &Summary| {
            served(summary, replay).is_some_and(|heights| heights.contains(chunk.first))
        };
        let Some(peer) = self.peers.choose(self.now, has) else { return false };
        let Some(count) = self.count(peer, chunk) else { return false };
        let ask = Ask::Blocks(BlockAsk {
            first: chunk.first,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            deltas: replay == Replay::Deltas,
            bytes: self.config.limits.answer_bytes,
        });
        self.stages.asked(chunk, count);
        let attempt = chunk.attempt;
        self.send(&Wanted { ask, purpose: Purpose::Replay, attempt, root: NO_ROOT }, peer);
        true
    }

    /// How many blocks of the chunk the peer has.
    fn count(&self, peer: PeerId, chunk: &Chunk) -> Option<u64> {
        let (_, score) = self.peers.scores().find(|(one, _)| *one == peer)?;
        let heights = served(score.summary.as_ref()?, self.config.replay)?;
        let there = heights.last.get().checked_sub(chunk.first.get())?.saturating_add(1);
        Some(there.min(chunk.count))
    }

    /// If the next block is of a later epoch, the peer that says so shows what leads there.
    fn ask_ending(&mut self) {
        let asked = self.turn.is_some() || self.requests.asks_ending(Purpose::Replay);
        let Some(peer) = self.stages.waits_for_ending().filter(|_| !asked) else { return };
        let Some(epoch) = self.trust.epoch() else { return };
        let ask = Ask::Ending(epoch);
        self.send(&Wanted { ask, purpose: Purpose::Replay, attempt: 0, root: NO_ROOT }, peer);
    }
}

/// The blocks that a peer has, with what is fetched beside them.
fn served(summary: &Summary, replay: Replay) -> Option<HeightRange> {
    let blocks = summary.blocks?;
    match replay {
        Replay::Execute => Some(blocks),
        Replay::Deltas => {
            let deltas = summary.deltas?;
            let (first, last) = (blocks.first.max(deltas.first), blocks.last.min(deltas.last));
            (first <= last).then_some(HeightRange { first, last })
        }
    }
}
