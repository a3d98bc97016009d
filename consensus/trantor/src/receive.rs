//! What a received message does.
//!
//! There are three steps, cheapest first. *Shape*: sizes, primaries, views, hashes. *News*: the parts of
//! the message that others signed and that are not known to be valid. *Check*: only the news goes out as
//! a job, and messages with the same news wait for it instead of asking again. Single votes are not
//! checked at all, see `prefinal_engine::collector`.
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Recipient};

use crate::batch::AvailabilityCertificate;
use crate::certificate::Stage;
use crate::engine::{Pending, Trantor};
use crate::job::{Claim, Work};
use crate::message::{Decision, Message, NewView, Proposal, ShapeError, ViewChange};

/// Largest number of messages of one party that wait for jobs.
const MAX_HELD: usize = 16;
/// Messages with false certificates that are checked, and accused, of one party. No honest party passes on
/// what it has not checked, so after these nothing of that party is checked any more.
const MAX_FORGERIES: u32 = 8;

impl Trantor {
    pub(crate) fn receive(&mut self, now: Instant, from: Party, mut message: Message) {
        if from == self.me || self.committee.member(from).is_none() {
            self.accuse(from, ShapeError::Stranger { from });
            return;
        }
        if !self.keep_own_epoch(&mut message) {
            return;
        }
        if let Err(error) = message.check_shape(&self.committee, self.max_block_bytes) {
            self.accuse(from, error);
            return;
        }
        match message {
            Message::Prepare(vote) => self.receive_prepare(now, from, vote),
            Message::Commit(commit) => self.receive_commit(now, from, *commit),
            Message::Proposal(_)
            | Message::ViewChange(_)
            | Message::NewView(_)
            | Message::Response(_) => {
                self.admit(now, from, message);
            }
            Message::Certificates(mut all) => {
                // Checking the others would be work for nothing.
                all.retain(|one| self.store.has_place(from, &one.batch, self.next));
                if !all.is_empty() && self.fetch.may_serve(from, now) {
                    self.admit(now, from, Message::Certificates(all));
                }
            }
            Message::Progress(next) => {
                self.fetch.is_at(now, from, next, self.next);
                if next < self.next {
                    self.tell_progress(now, from);
                }
            }
            Message::Request(first) => self.serve(now, from, first),
            Message::BodyRequest(request) => self.serve_body(now, from, request),
            Message::BodyResponse(slot, body) => self.take_body(now, slot, body),
            Message::Batch(batch) => self.receive_batch(now, from, *batch),
            Message::Ack(label, signature) => self.count_ack(from, label, signature),
            Message::BatchRequest(id) => self.serve_batch(now, from, id),
            Message::BatchResponse(batch) => self.take_batch(now, *batch),
        }
    }

    /// Leaves out what answers say about other epochs, and returns whether anything is left. Under a replica
    /// another epoch may have another committee, and in this one its blocks have other names: an honest peer
    /// would look like a liar.
    fn keep_own_epoch(&self, message: &mut Message) -> bool {
        if self.retained.is_none() {
            return true;
        }
        let epoch = self.schedule.first()..self.schedule.end();
        match message {
            Message::Response(decisions) => {
                decisions.retain(|decision| epoch.contains(&decision.certificate.view.slot));
                !decisions.is_empty()
            }
            Message::BodyResponse(slot, _) => *slot >= epoch.start,
            _ => true,
        }
    }

    /// Tells a peer that is behind how far this party is.
    pub(crate) fn tell_progress(&mut self, now: Instant, to: Party) {
        if self.fetch.may_serve(to, now) {
            self.send(Recipient::One(to), Message::Progress(self.next));
        }
    }

    /// Accepts a message whose certificates are known, or first has its news checked.
    pub(crate) fn admit(&mut self, now: Instant, from: Party, message: Message) {
        let claims = match &message {
            Message::Proposal(proposal) => Some(self.news_in_proposal(from, proposal)),
            Message::Certificates(all) => Some(all.iter().cloned().map(Claim::Batch).collect()),
            Message::ViewChange(change) => self.news_in_change(now, from, change),
            Message::NewView(new) => self.news_in_new_view(now, from, new),
            Message::Response(decisions) => self.news_in_decisions(decisions),
            _ => None,
        };
        let Some(claims) = claims else { return };
        if claims.is_empty() {
            self.accept(now, from, message);
            return;
        }
        let forgeries = self.forgeries.get(&from).copied().unwrap_or_default();
        if self.held(from) >= MAX_HELD || forgeries >= MAX_FORGERIES {
            return;
        }
        let shared = self.jobs.values_mut().find_map(|pending| match pending {
            Pending::Claims { claims: known, held } if *known == claims => Some(held),
            _ => None,
        });
        match shared {
            Some(held) => held.push((from, message)),
            None => {
                let held = vec![(from, message)];
                self.check(Work::Claims(claims.clone()), Pending::Claims { claims, held });
            }
        }
    }

    fn held(&self, from: Party) -> usize {
        let held = self.jobs.values().filter_map(|pending| match pending {
            Pending::Claims { held, .. } => Some(held),
            _ => None,
        });
        held.flatten().filter(|(party, _)| *party == from).count()
    }

    /// The claims to check in a view change; `None` if it is of no use. The sender of one for a height
    /// that is decided here is behind, and is told so.
    fn news_in_change(
        &mut self,
        now: Instant,
        from: Party,
        change: &ViewChange,
    ) -> Option<Vec<Claim>> {
        let view = change.view;
        if view.slot < self.next || self.decided.contains_key(&view.slot) {
            self.tell_progress(now, from);
            return None;
        }
        // It has decided everything before.
        self.fetch.is_at(now, from, view.slot, self.next);
        if view.slot >= self.reach() || view.slot >= self.schedule.horizon() {
            return None;
        }
        let open = self.open.get(&view.slot);
        let known = |prepared: &_| open.is_some_and(|open| open.surpasses(prepared));
        let news = change.prepared.iter().filter(|prepared| !known(prepared));
        Some(news.map(|prepared| Claim::Votes(Stage::Prepare, prepared.clone())).collect())
    }

    fn news_in_new_view(&mut self, now: Instant, from: Party, new: &NewView) -> Option<Vec<Claim>> {
        let view = new.change.view;
        if view.slot < self.next || self.decided.contains_key(&view.slot) {
            return None;
        }
        if view.slot >= self.reach() || view.slot >= self.schedule.horizon() {
            self.fetch.is_at(now, from, view.slot, self.next);
            return None;
        }
        if !self.is_primary(from, view) {
            self.accuse(from, ShapeError::NotThePrimary { from, view });
            return None;
        }
        let open = self.open.get(&view.slot);
        let attempt = open.map_or(0, |open| open.attempt);
        let value = new.value();
        let seen = open.and_then(|open| open.proposals.get(&view.attempt));
        if view.attempt < attempt || seen.is_some_and(|seen| seen.accused || seen.value == value) {
            return None;
        }
        let known = |prepared: &_| open.is_some_and(|open| open.knows(prepared));
        let news = new.prepared.iter().filter(|prepared| !known(prepared));
        let news = news.map(|prepared| Claim::Votes(Stage::Prepare, prepared.clone()));
        Some(news.chain([Claim::Change(new.change.clone())]).collect())
    }

    /// The certificates of batches that are not here. A party that has stored a batch vouches for it
    /// itself, whatever the signatures are.
    fn news_in_proposal(&self, from: Party, proposal: &Proposal) -> Vec<Claim> {
        let slot = proposal.slot;
        let seen = self.open.get(&slot).is_some_and(|open| open.proposals.contains_key(&0));
        let decided = slot < self.next || self.decided.contains_key(&slot);
        if seen || decided || slot >= self.reach() || self.schedule.leader(slot) != Some(from) {
            // It gets no vote, whatever its batches are.
            return Vec::new();
        }
        let news = |certificate: &&AvailabilityCertificate| !self.store.has(&certificate.batch);
        let certificates = proposal.body.certificates().iter().filter(news);
        certificates.cloned().map(Claim::Batch).collect()
    }

    /// The decisions that are not known; `None` if they begin out of reach, for then nobody asked for them
    /// and they would only take memory.
    fn news_in_decisions(&self, decisions: &[Decision]) -> Option<Vec<Claim>> {
        let reach = self.reach();
        decisions.first().filter(|first| first.certificate.view.slot < reach)?;
        let fresh = |decision: &&Decision| {
            let slot = decision.certificate.view.slot;
            slot >= self.next && !self.decided.contains_key(&slot)
        };
        let news = decisions.iter().filter(fresh);
        let claim = |one: &Decision| Claim::Votes(Stage::Commit, one.certificate.clone());
        Some(news.map(claim).collect())
    }

    /// Accepts a message. All its certificates are valid.
    pub(crate) fn accept(&mut self, now: Instant, from: Party, message: Message) {
        match message {
            Message::Proposal(proposal) => self.receive_proposal(now, from, *proposal),
            Message::Certificates(all) => self.accept_certificates(from, all),
            Message::ViewChange(change) => self.accept_change(now, from, &change),
            Message::NewView(new) => self.accept_new_view(now, from, &new),
            Message::Response(decisions) => self.accept_decisions(now, from, decisions),
            _ => {}
        }
    }
}
