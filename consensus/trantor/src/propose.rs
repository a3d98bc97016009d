//! The window of open heights, and the first view of each: its leader proposes.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_protocol::{Instant, Recipient, Slot, Value, View};

use crate::batch::{BatchId, BatchLabel};
use crate::block::Body;
use crate::certificate::Stage;
use crate::config::OwnBatches;
use crate::engine::Trantor;
use crate::fault::{Contradiction, Fault, Said, Signed};
use crate::fetch::Item;
use crate::job::Work;
use crate::message::{MAX_BATCHES, Message, Proposal, ShapeError};
use crate::open::{Open, Proposed};
use crate::records::Record;
use crate::schedule::SEGMENT;

impl Trantor {
    /// The first height that is not open yet.
    fn window_end(&self) -> Slot {
        self.next.after(self.schedule.window()).min(self.schedule.horizon())
    }

    /// Votes for heights before this one are kept. What lies further ahead needs decisions to be of use.
    pub(crate) fn reach(&self) -> Slot {
        self.next.after(self.schedule.window().saturating_mul(2).max(32))
    }

    /// A peer proposes or votes at this height. If that is behind the window, the height's leader has
    /// decided more than this party, for it proposes within a window as well; and so may have the voter.
    ///
    /// Without this, a faulty leader that hides one height from this party alone would cost it its place:
    /// the others move on and wait for this party's proposal, while it waits for that height to time out.
    pub(crate) fn hear_of(&mut self, now: Instant, from: Party, slot: Slot) {
        if slot < self.window_end() {
            return;
        }
        let (end, behind) = (self.schedule.end(), self.schedule.window().saturating_sub(1));
        let within = Slot::new(slot.get().saturating_sub(behind));
        // Its leader is known to those that have decided this epoch.
        let least = if slot < self.schedule.horizon() { within } else { end };
        self.fetch.is_at(now, from, least, self.next);
    }

    /// Opens the heights that have come into the window. A leader may propose at each when it is due.
    pub(crate) fn open_window(&mut self, now: Instant) {
        let mut slot = self.next;
        while slot < self.window_end() {
            if slot > self.last_due.0 {
                let due = self.timing.pace.proposes_at(now.max(self.last_due.1), slot.get());
                self.last_due = (slot, due);
                self.open_at(slot, due);
            }
            slot = slot.next();
        }
    }

    /// The heights at which this party still has to propose, and when each is due.
    fn to_propose(&self) -> impl Iterator<Item = (Slot, Instant)> + '_ {
        let fresh = |open: &&Open| open.attempt == 0 && open.prepare.is_none();
        self.turns
            .iter()
            .filter_map(move |slot| self.open.get(slot).filter(fresh).map(|open| (*slot, open.due)))
    }

    pub(crate) fn proposes_at(&self) -> Option<Instant> {
        self.to_propose().map(|(_, due)| due).min()
    }

    /// Proposes at every height that is due.
    pub(crate) fn propose(&mut self, now: Instant) {
        let due: Vec<Slot> =
            self.to_propose().filter(|(_, due)| *due <= now).map(|(slot, _)| slot).collect();
        for slot in due {
            self.turns.remove(&slot);
            let body = self.next_body(now, slot);
            let view = View::new(slot, 0);
            let value = body.value(self.committee.context(), slot);
            self.carry_in(slot, &body);
            self.keep_body(slot, value, body.clone());
            self.promise(view, value);
            let signature = self.note_proposal(view, value);
            let proposal = Proposal { slot, body, signature };
            self.send(Recipient::All, Message::Proposal(Box::new(proposal)));
            self.send_prepare(view, value);
        }
    }

    /// The block of a height that this party leads: certificates that wait, and its own batches behind them.
    fn next_body(&mut self, now: Instant, slot: Slot) -> Body {
        let own_at_once = self.own_batches == OwnBatches::AtOnce;
        if own_at_once {
            self.spread_waiting(now);
        }
        let carried = self.carried.values().flatten().copied().collect();
        let body = Body::new(self.store.select(slot, self.max_block_bytes, &carried));
        if !own_at_once {
            return body;
        }
        let room = self.max_block_bytes.saturating_sub(body.bytes());
        let most = MAX_BATCHES.saturating_sub(body.certificates().len());
        let own = self.store.select_uncertified(slot, room, &carried, most);
        body.and_uncertified(own)
    }

    pub(crate) fn carry_in(&mut self, slot: Slot, body: &Body) {
        let ids: Vec<BatchId> = body.batches().map(|batch| batch.id).collect();
        self.carried.insert(slot, ids.into_iter().collect());
    }

    /// Signs this party's own proposal and notes it.
    pub(crate) fn note_proposal(&mut self, view: View, value: Value) -> Signature {
        let signature = self.sign(Stage::Propose, view, value);
        if let Some(open) = self.open.get_mut(&view.slot) {
            open.proposals.insert(view.attempt, Proposed { value, signature, accused: false });
        }
        signature
    }

    /// Takes a block in, durably.
    pub(crate) fn keep_body(&mut self, slot: Slot, value: Value, body: Body) {
        let bodies = self.bodies.entry(slot).or_default();
        if bodies.insert(value, body.clone()).is_none() {
            self.keep(Record::Body { slot, body });
        }
    }

    /// A proposal for a first view arrived.
    pub(crate) fn receive_proposal(&mut self, now: Instant, from: Party, proposal: Proposal) {
        let slot = proposal.slot;
        self.hear_of(now, from, slot);
        if slot >= self.reach() {
            return;
        }
        if slot >= self.schedule.horizon() {
            self.hold(from, proposal);
            return;
        }
        if slot < self.schedule.first() {
            return;
        }
        if self.schedule.leader(slot) != Some(from) {
            let view = View::new(slot, 0);
            self.accuse(from, ShapeError::NotThePrimary { from, view });
            return;
        }
        let value = proposal.body.value(self.committee.context(), slot);
        if self.decided.get(&slot).is_some_and(|decided| decided.value == value) {
            self.take_body(now, slot, proposal.body);
            return;
        }
        if let Some(foreign) = proposal.body.uncertified().iter().find(|it| it.author != from) {
            self.accuse(from, Fault::ForeignBatch { author: foreign.author });
            return;
        }
        let view = View::new(slot, 0);
        self.open_early(slot);
        if !self.propose_in(from, view, (value, proposal.signature)) {
            return;
        }
        let fresh =
            self.open.get(&slot).is_some_and(|open| open.attempt == 0 && open.prepare.is_none());
        let vouched = self.open.get(&slot).and_then(|open| open.prepared.as_ref());
        if fresh || vouched.is_some_and(|prepared| prepared.value == value) {
            self.keep_body(slot, value, proposal.body);
        }
        if let Some(open) = self.open.get_mut(&slot).filter(|_| fresh) {
            open.incomplete = Some(value);
        }
        self.prepare_complete(now);
    }

    /// Prepares what leaders proposed, where all batches are here or proven. Asks for those that are not.
    pub(crate) fn prepare_complete(&mut self, now: Instant) {
        let proposed = |(slot, open): (&Slot, &Open)| Some((*slot, open.incomplete?));
        let all: Vec<(Slot, Value)> = self.open.iter().filter_map(proposed).collect();
        for (slot, value) in all {
            let missing = self.missing_own(slot, value);
            if missing.is_empty() {
                if let Some(open) = self.open.get_mut(&slot) {
                    open.incomplete = None;
                }
                self.prepare(View::new(slot, 0), value);
            }
            let last = self.last_taken();
            let first = missing.into_iter().find(|label| label.until <= last);
            // Nothing is decided, so what is decided and missing goes before.
            if let Some(label) = first.filter(|_| self.fetch.has_room_to_spare()) {
                let author = self.committee.signers([label.author]);
                self.want(now, Item::Batch(label.id), author);
            }
        }
    }

    /// The batches without certificate of a block that are not here.
    fn missing_own(&self, slot: Slot, value: Value) -> Vec<BatchLabel> {
        let body = self.bodies.get(&slot).and_then(|bodies| bodies.get(&value));
        let own = body.map(Body::uncertified).unwrap_or_default();
        own.iter().filter(|label| !self.store.has(label)).copied().collect()
    }

    /// Asks no longer for batches of a block that was not decided.
    pub(crate) fn give_up_incomplete(&mut self, slot: Slot, decided: Value) {
        let incomplete = self.open.get(&slot).and_then(|open| open.incomplete);
        for value in incomplete.into_iter().filter(|value| *value != decided) {
            for label in self.missing_own(slot, value) {
                self.fetch.found(&Item::Batch(label.id));
            }
        }
    }

    /// A peer may be a little ahead: opens a height that will soon be in the window.
    pub(crate) fn open_early(&mut self, slot: Slot) {
        if slot >= self.next && slot < self.schedule.horizon().min(self.reach()) {
            // It gets its place in the pace when the window comes to it.
            let due = self.last_due.1 + self.timing.timeout;
            if !self.open.contains_key(&slot) {
                self.open_at(slot, due);
            }
        }
    }

    fn open_at(&mut self, slot: Slot, due: Instant) {
        if self.decided.contains_key(&slot) {
            return;
        }
        let timeout = self.timing.timeout;
        if let Some(open) = self.open.get_mut(&slot) {
            open.wait_from(due, timeout);
            return;
        }
        if self.schedule.leader(slot) == Some(self.me) {
            self.turns.insert(slot);
        }
        let promises = self.promises.remove(&slot).unwrap_or_default();
        self.open.insert(slot, Open::new(due, timeout, promises));
    }

    /// Notes what a primary proposes in a view. Returns whether it is the first proposal of this view; a
    /// second one for another value is evidence.
    pub(crate) fn propose_in(
        &mut self,
        from: Party,
        view: View,
        (value, signature): (Value, Signature),
    ) -> bool {
        let Some(open) = self.open.get_mut(&view.slot) else { return false };
        let Some(seen) = open.proposals.get_mut(&view.attempt) else {
            open.proposals.insert(view.attempt, Proposed { value, signature, accused: false });
            return true;
        };
        if seen.value != value && !seen.accused {
            seen.accused = true;
            let said = |value| Said::Vote { stage: Stage::Propose, view, value };
            let first = Signed { said: said(seen.value), signature: seen.signature };
            let second = Signed { said: said(value), signature };
            self.charge(from, Contradiction { first, second });
        }
        false
    }

    /// Has both statements of a contradiction checked, once for each party and height.
    pub(crate) fn charge(&mut self, party: Party, contradiction: Contradiction) {
        if !self.charged.insert((contradiction.second.said.view().slot, party)) {
            return;
        }
        let contradiction = Box::new(contradiction);
        let work = Work::Evidence { party, contradiction: contradiction.clone() };
        self.check(work, crate::engine::Pending::Evidence { party, contradiction });
    }

    /// Keeps a proposal for an epoch whose leaders are not known: a few of each party. They are small, for a
    /// block holds certificates and no transactions; and a leader whose block got lost here might be left out for it.
    fn hold(&mut self, from: Party, proposal: Proposal) {
        let held = self.early.entry(from).or_default();
        let room = u64::try_from(held.len()).unwrap_or(u64::MAX) < SEGMENT;
        if room && held.iter().all(|one| one.slot != proposal.slot) {
            held.push(proposal);
        }
    }
}
