//! What follows from a decision: the order grows, blocks are reported, the next epoch begins.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::certificate::Signers;
use prefinal_protocol::{Instant, Recipient, Slot, Value};

use crate::batch::{Batch, BatchId};
use crate::block::{Body, skipped};
use crate::certificate::VoteCertificate;
use crate::config::Leaders;
use crate::engine::{Block, Effect, Trantor};
use crate::fetch::{Inquiry, Item};
use crate::message::{BodyRequest, Decision, MAX_DECISIONS, Message};
use crate::order::OrderedBlock;
use crate::records::{Record, kept_from};

impl Trantor {
    /// Does what is due at this time.
    pub(crate) fn tick(&mut self, now: Instant) {
        self.spread(now);
        self.propose(now);
        self.watch(now);
        if let Some(peer) = self.fetch.due(now) {
            self.send(Recipient::One(peer), Message::Request(self.next));
        }
        for inquiry in self.fetch.inquiries(now) {
            let Inquiry { to, item } = inquiry;
            let request = match item {
                Item::Body(slot, value) => Message::BodyRequest(BodyRequest { slot, value }),
                Item::Batch(id) => Message::BatchRequest(id),
            };
            self.send(Recipient::One(to), request);
        }
    }

    /// Takes a verified certificate of commits: the height is decided.
    pub(crate) fn decide(&mut self, now: Instant, certificate: VoteCertificate) {
        let slot = certificate.view.slot;
        if slot < self.next || self.decided.contains_key(&slot) {
            return;
        }
        self.keep(Record::Decided(Box::new(certificate.clone())));
        self.give_up_incomplete(slot, certificate.value);
        self.open.remove(&slot);
        self.turns.remove(&slot);
        self.promises.remove(&slot);
        self.carried.remove(&slot);
        self.prepares.retain(|view| view.slot != slot);
        self.commits.retain(|view| view.slot != slot);
        self.asks.retain(|_, ask| ask.view.slot != slot);
        self.charged.retain(|(of, _)| *of != slot);
        let value = certificate.value;
        if let Some(bodies) = self.bodies.get_mut(&slot) {
            bodies.retain(|name, _| *name == value);
        }
        self.decided.insert(slot, certificate);
        self.advance(now);
    }

    /// Moves on as far as decisions reach.
    pub(crate) fn advance(&mut self, now: Instant) {
        loop {
            // A height behind the epoch may be decided already. It waits, for its leader is not known yet.
            while self.next < self.schedule.end()
                && let Some(certificate) = self.decided.get(&self.next)
            {
                self.pass(certificate.value == skipped(self.next));
            }
            if self.next < self.schedule.end() || self.retained.is_some() {
                break;
            }
            self.begin_epoch();
        }
        self.open_window(now);
        self.report(now);
        self.fetch.reached(self.next);
        self.admit_early(now);
        self.review(now);
    }

    /// The next height is over, with a block or empty.
    pub(crate) fn pass(&mut self, is_empty: bool) {
        if is_empty && self.leaders == Leaders::BackOff {
            self.failed.extend(self.schedule.leader(self.next));
        }
        self.next = self.next.next();
    }

    /// All heights of the epoch are over: the leaders of the next one follow from that.
    pub(crate) fn turn_epoch(&mut self) {
        self.schedule = self.schedule.next(&self.failed, &self.committee);
        self.failed.clear();
    }

    fn begin_epoch(&mut self) {
        self.turn_epoch();
        self.keep(Record::Epoch(self.schedule.clone()));
        let waiting = self.store.own(self.me);
        self.pass_on(waiting);
        self.sum_early();
    }

    /// Handles proposals that came before their epoch.
    fn admit_early(&mut self, now: Instant) {
        let end = self.schedule.horizon();
        let known = |held: &Vec<crate::message::Proposal>| held.iter().any(|one| one.slot < end);
        if !self.early.values().any(known) {
            return;
        }
        for (from, held) in std::mem::take(&mut self.early) {
            for proposal in held {
                self.admit(now, from, Message::Proposal(Box::new(proposal)));
            }
        }
    }

    /// Reports every height of the epoch whose block is here with its batches, in order.
    pub(crate) fn report(&mut self, now: Instant) {
        let before = self.unreported;
        while self.unreported < self.next
            && let Some(certificate) = self.decided.get(&self.unreported)
        {
            let (slot, value) = (self.unreported, certificate.value);
            let block = if value == skipped(slot) {
                None
            } else {
                let body = self.bodies.get(&slot).and_then(|bodies| bodies.get(&value));
                let Some(body) = body else { break };
                let ids: Vec<BatchId> = body.batches().map(|batch| batch.id).collect();
                if !body.batches().all(|batch| self.store.has(batch)) {
                    break;
                }
                Some(self.take_order(slot, value, ids))
            };
            self.effect(Effect::Finalized { slot, block });
            self.note(Record::Finalized(slot));
            if let Some(history) = self.ordered.to_record(slot) {
                self.note(Record::History(slot, history));
            }
            self.unreported = slot.next();
        }
        if self.unreported > before {
            self.commit_prepared(now);
        }
        self.want_bodies(now);
        self.expire(now);
        self.forget();
    }

    /// The block of these batches, without what was ordered before.
    fn take_order(&mut self, slot: Slot, value: Value, ids: Vec<BatchId>) -> Block {
        let block = self.ordered.take_block(slot, ids.iter().copied(), &self.store);
        let OrderedBlock { transactions, contents } = block;
        let of_others = contents.batches().iter().filter_map(|id| self.store.get(*id));
        let of_others = of_others.filter(|batch| batch.author() != self.me);
        for transaction in of_others.flat_map(Batch::transactions) {
            self.mempool.forget(transaction);
        }
        // A batch that was ordered before may have been fetched only now.
        ids.into_iter().for_each(|id| self.store.ordered(id));
        Block { value, transactions, contents }
    }

    /// Asks for blocks and batches of decided heights that are missing: those that signed for them first,
    /// then all others.
    fn want_bodies(&mut self, now: Instant) {
        let missing: Vec<Slot> = self
            .decided
            .range(self.unreported..)
            .filter(|(slot, certificate)| self.misses(**slot, certificate))
            .map(|(slot, _)| *slot)
            .collect();
        for slot in missing {
            let Some(certificate) = self.decided.get(&slot) else { continue };
            let item = Item::Body(slot, certificate.value);
            self.want(now, item, certificate.votes.signers.clone());
        }
        let here = self.decided.range(self.unreported..).filter_map(|(slot, certificate)| {
            Some((self.bodies.get(slot)?.get(&certificate.value)?, &certificate.votes.signers))
        });
        let missing: Vec<(BatchId, Signers)> = here
            .flat_map(|(body, voters)| {
                let proven = body.certificates().iter().map(|one| (&one.batch, &one.acks.signers));
                proven.chain(body.uncertified().iter().map(move |batch| (batch, voters)))
            })
            .filter(|(batch, _)| !self.store.has(batch))
            .map(|(batch, signers)| (batch.id, signers.clone()))
            .collect();
        for (id, signers) in missing {
            self.want(now, Item::Batch(id), signers);
        }
    }

    pub(crate) fn want(&mut self, now: Instant, item: Item, signers: Signers) {
        if self.fetch.is_wanted(&item) || !self.fetch.has_room() {
            return;
        }
        let others = (0..u32::try_from(self.committee.size()).unwrap_or(u32::MAX)).map(Party::new);
        let mut providers: Vec<Party> = signers.iter().collect();
        providers.extend(others.filter(|party| !signers.contains(*party)));
        providers.retain(|party| *party != self.me);
        self.fetch.want(now, item, providers);
    }

    fn misses(&self, slot: Slot, certificate: &VoteCertificate) -> bool {
        let here =
            |bodies: &std::collections::BTreeMap<_, _>| bodies.contains_key(&certificate.value);
        certificate.value != skipped(slot) && !self.bodies.get(&slot).is_some_and(here)
    }

    fn forget(&mut self) {
        let last = Slot::new(self.unreported.get().saturating_sub(1));
        let kept = self.retained.unwrap_or_else(|| kept_from(last, Some(&self.schedule)));
        let oldest = self.decided.keys().next().copied();
        if oldest < Some(kept) {
            self.decided = self.decided.split_off(&kept);
            self.bodies = self.bodies.split_off(&kept);
            let bodies = self.bodies.values().flat_map(std::collections::BTreeMap::values);
            let referenced = bodies.flat_map(Body::batches).map(|batch| batch.id).collect();
            self.store.keep(self.unreported, &referenced);
        }
        self.heard = self.heard.split_off(&kept_from(last, None));
    }

    /// A decided block arrived.
    pub(crate) fn take_body(&mut self, now: Instant, slot: Slot, body: Body) {
        let value = body.value(self.committee.context(), slot);
        let Some(certificate) = self.decided.get(&slot) else { return };
        if certificate.value != value || !self.misses(slot, certificate) {
            return;
        }
        self.keep_body(slot, value, body);
        self.fetch.found(&Item::Body(slot, value));
        self.report(now);
    }

    /// Answers a peer that misses decisions. Their batches need not be here: they have signers to ask.
    pub(crate) fn serve(&mut self, now: Instant, from: Party, first: Slot) {
        if first >= self.next || !self.fetch.may_serve(from, now) {
            return;
        }
        let mut room = self.max_block_bytes;
        let mut decisions = Vec::new();
        let mut slot = first;
        while decisions.len() < MAX_DECISIONS && slot < self.next {
            let Some(decision) = self.decision(slot) else { break };
            let bytes = decision.body.as_ref().map_or(0, Body::bytes);
            let Some(left) = room.checked_sub(bytes) else { break };
            room = left;
            decisions.push(decision);
            slot = slot.next();
        }
        if !decisions.is_empty() {
            self.send(Recipient::One(from), Message::Response(decisions));
        }
    }

    fn decision(&self, slot: Slot) -> Option<Decision> {
        let certificate = self.decided.get(&slot)?.clone();
        let body =
            self.bodies.get(&slot).and_then(|bodies| bodies.get(&certificate.value)).cloned();
        if self.misses(slot, &certificate) { None } else { Some(Decision { certificate, body }) }
    }

    /// Answers a peer that misses a block.
    pub(crate) fn serve_body(&mut self, now: Instant, from: Party, request: BodyRequest) {
        let BodyRequest { slot, value } = request;
        let body = self.bodies.get(&slot).and_then(|bodies| bodies.get(&value)).cloned();
        let Some(body) = body else { return };
        if self.fetch.may_serve(from, now) {
            self.send(Recipient::One(from), Message::BodyResponse(slot, body));
        }
    }

    /// Takes decisions of a response; those that were not known are valid. Asks the same peer for more.
    pub(crate) fn accept_decisions(&mut self, now: Instant, from: Party, decisions: Vec<Decision>) {
        let before = self.next;
        for Decision { certificate, body } in decisions {
            let slot = certificate.view.slot;
            let value = certificate.value;
            if slot >= self.next && !self.decided.contains_key(&slot) {
                if let Some(body) = body {
                    self.keep_body(slot, value, body);
                }
                self.decide(now, certificate);
            } else if let Some(body) = body {
                self.take_body(now, slot, body);
            }
        }
        if self.next > before {
            self.send(Recipient::One(from), Message::Request(self.next));
        }
    }
}
