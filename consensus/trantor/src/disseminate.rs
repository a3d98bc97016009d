//! Spreading batches: send, store, acknowledge, certify; and what waits for a block.
//!
//! ```text
//! author   batch ──► all        as soon as one is due, whatever is being ordered
//! all      ack ──► author       when it is durable here
//! author   certificate          of a weak quorum of acks, into the buffer
//! leader   block                of all certificates that fit, and of its own batches, when it proposes
//! ```
//! The buffer is bounded: an author with [`BUFFER`](crate::store::BUFFER) batches on the way takes no more
//! from its mempool, which then tells its submitters that it is busy. A party that does not lead passes its
//! certificates on to a leader, another one in each epoch.
use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_protocol::{Instant, Recipient, Slot};

use crate::batch::{Acks, AvailabilityCertificate, Batch, BatchId, BatchLabel, LIFETIME};
use crate::block::Transaction;
use crate::certificate::MultiSignature;
use crate::engine::{Effect, Pending, Trantor};
use crate::fault::Fault;
use crate::job::Work;
use crate::mempool::SubmitError;
use crate::message::{MAX_BATCHES, Message};
use crate::order::BATCHES_KEPT;
use crate::records::Record;
use crate::store::Spreading;

/// How much of batches a peer is sent within the patience of requests, in blocks of the largest size.
const SERVED_BLOCKS: usize = 4;

impl Trantor {
    pub(crate) fn submit(&mut self, now: Instant, transaction: Transaction) {
        let taken = match self.ordered.is_fresh(&transaction) {
            Ok(true) => self.mempool.submit(now, self.me, transaction),
            Ok(false) => return,
            Err(error) => Err(error.into()),
        };
        match taken {
            Ok(()) | Err(SubmitError::Known) => {}
            Err(refusal) => self.effect(Effect::Refused(refusal)),
        }
    }

    pub(crate) fn spreads_at(&self) -> Option<Instant> {
        let due = self.mempool.due().filter(|_| self.store.may_spread(self.me));
        let again = self.store.spreading.values().map(|spreading| spreading.again).min();
        [due, again].into_iter().flatten().min()
    }

    /// Spreads the batches that are due, and again those that were not acknowledged in time.
    pub(crate) fn spread(&mut self, now: Instant) {
        while self.store.may_spread(self.me) {
            let Some(transactions) = self.mempool.batch(now) else { break };
            self.make_batch(now, transactions);
        }
        let timeout = self.timing.timeout;
        let mut again = Vec::new();
        for (id, spreading) in &mut self.store.spreading {
            if spreading.again <= now {
                spreading.again = now + timeout;
                again.push(*id);
            }
        }
        for id in again {
            if let Some(batch) = self.store.get(id).cloned() {
                self.send(Recipient::All, Message::Batch(Box::new(batch)));
            }
        }
    }

    /// Spreads what waits, due or not.
    pub(crate) fn spread_waiting(&mut self, now: Instant) {
        if self.store.may_spread(self.me)
            && let Some(transactions) = self.mempool.batch_at_once()
        {
            self.make_batch(now, transactions);
        }
    }

    /// The last height that a batch may end at which is stored for its author.
    pub(crate) fn last_taken(&self) -> Slot {
        self.next.after(LIFETIME.saturating_mul(2))
    }

    fn make_batch(&mut self, now: Instant, transactions: Vec<Transaction>) {
        let batch = Batch::new(self.me, self.next.after(LIFETIME), transactions);
        if self.store.insert(batch.clone()) {
            self.keep(Record::Batch(batch.clone()));
        }
        self.spread_batch(now, batch);
    }

    /// Gives up batches that were not ordered in their time. Those of this party are spread once more, unless it was away
    /// for so long that they may have been ordered at heights of which it does not know any more.
    pub(crate) fn expire(&mut self, now: Instant) {
        let known = self.unreported.get().saturating_sub(BATCHES_KEPT);
        for batch in self.store.expire(self.unreported, self.me) {
            let made = batch.until().get().saturating_sub(LIFETIME);
            if made < known {
                continue;
            }
            let fresh =
                batch.transactions().iter().filter(|one| self.ordered.is_fresh(one) == Ok(true));
            let fresh: Vec<Transaction> = fresh.cloned().collect();
            if !fresh.is_empty() {
                self.make_batch(now, fresh);
            }
        }
    }

    /// Sends a batch of this party that is durable here, and counts its own acknowledgement.
    pub(crate) fn spread_batch(&mut self, now: Instant, batch: Batch) {
        let label = batch.label();
        let own = self.sign_ack(&label);
        let again = now + self.timing.timeout;
        let rejected = BTreeSet::new();
        let spreading = Spreading { acks: Acks::new(), rejected, checking: false, again };
        self.store.spreading.insert(label.id, spreading);
        self.send(Recipient::All, Message::Batch(Box::new(batch)));
        self.count_ack(self.me, label, own);
    }

    fn sign_ack(&self, label: &BatchLabel) -> Signature {
        self.secret.sign(BatchLabel::domain(), &label.statement(&self.committee))
    }

    /// A peer spreads a batch: stores it within the peer's allowance, then acknowledges it. What is here
    /// already is acknowledged again, for the first one may be lost, within the limit of requests.
    pub(crate) fn receive_batch(&mut self, now: Instant, from: Party, batch: Batch) {
        let author = batch.author();
        if author != from {
            self.accuse(from, Fault::ForeignBatch { author });
            return;
        }
        let label = batch.label();
        if self.fetch.is_wanted(&crate::fetch::Item::Batch(label.id)) {
            self.take_batch(now, batch.clone());
        }
        if label.until < self.next || label.until > self.last_taken() {
            return;
        }
        if self.store.has(&label) {
            if !self.fetch.may_serve(from, now) {
                return;
            }
        } else {
            let ends_soon = label.until < self.next.after(LIFETIME / 2);
            let room = self.store.has_room(author, batch.bytes());
            if ends_soon || !room || !self.store.insert(batch.clone()) {
                return;
            }
            self.keep(Record::Batch(batch));
            self.prepare_complete(now);
        }
        let signature = self.sign_ack(&label);
        self.send(Recipient::One(from), Message::Ack(label, signature));
    }

    /// Counts an acknowledgement of a batch of this party, and has the sum checked when it suffices.
    pub(crate) fn count_ack(&mut self, from: Party, label: BatchLabel, signature: Signature) {
        let known = self.store.get(label.id).is_some_and(|batch| batch.label() == label);
        let Some(spreading) = self.store.spreading.get_mut(&label.id).filter(|_| known) else {
            return;
        };
        if !spreading.rejected.contains(&from) {
            spreading.acks.entry(from).or_insert(signature);
            self.sum_acks(label);
        }
    }

    fn sum_acks(&mut self, batch: BatchLabel) {
        let committee = Arc::clone(&self.committee);
        let Some(spreading) = self.store.spreading.get_mut(&batch.id) else { return };
        let stake = spreading.acks.keys().map(|party| committee.stake(*party));
        if spreading.checking || !committee.is_weak(stake.fold(0, u128::saturating_add)) {
            return;
        }
        spreading.checking = true;
        let acks = spreading.acks.clone();
        let parties = acks.keys().copied().collect();
        self.check(Work::Acks { batch, acks }, Pending::Acks { batch, parties });
    }

    /// The acknowledgements of a batch were added up.
    pub(crate) fn summed_acks(
        &mut self,
        batch: BatchLabel,
        parties: Vec<Party>,
        sum: Result<Signature, BTreeSet<Party>>,
    ) {
        match sum {
            Ok(signature) => {
                self.store.spreading.remove(&batch.id);
                let signers = self.committee.signers(parties);
                let acks = MultiSignature { signers, signature };
                let certificate = AvailabilityCertificate { batch, acks };
                self.store.buffer(self.me, certificate.clone(), self.next);
                self.pass_on(vec![certificate]);
            }
            Err(culprits) => {
                if let Some(spreading) = self.store.spreading.get_mut(&batch.id) {
                    spreading.checking = false;
                    spreading.acks.retain(|party, _| !culprits.contains(party));
                    spreading.rejected.extend(&culprits);
                }
                for party in &culprits {
                    self.accuse(*party, Fault::BadAck { batch: batch.id });
                }
                // A failing sum without culprits would fail again.
                if !culprits.is_empty() {
                    self.sum_acks(batch);
                }
            }
        }
    }

    /// Takes certificates that are valid from a peer that does not lead.
    pub(crate) fn accept_certificates(&mut self, from: Party, all: Vec<AvailabilityCertificate>) {
        for certificate in all {
            self.store.buffer(from, certificate, self.next);
        }
    }

    /// A party that does not lead passes certificates on to a leader, another one in each epoch.
    pub(crate) fn pass_on(&mut self, mut certificates: Vec<AvailabilityCertificate>) {
        let leaders = self.schedule.leaders();
        if leaders.contains(&self.me) || certificates.is_empty() {
            return;
        }
        let turn = self.schedule.epoch().saturating_add(u64::from(self.me.get()));
        let turn = turn.checked_rem(u64::try_from(leaders.len()).unwrap_or(u64::MAX));
        let leader = turn.and_then(|turn| leaders.get(usize::try_from(turn).ok()?)).copied();
        certificates.truncate(MAX_BATCHES);
        if let Some(leader) = leader {
            self.send(Recipient::One(leader), Message::Certificates(certificates));
        }
    }

    /// Answers a peer that misses a batch.
    pub(crate) fn serve_batch(&mut self, now: Instant, from: Party, id: BatchId) {
        let Some(batch) = self.store.get(id).cloned() else { return };
        let most = self.max_block_bytes.saturating_mul(SERVED_BLOCKS);
        if self.fetch.may_send(from, now, batch.bytes(), most) {
            self.send(Recipient::One(from), Message::BatchResponse(Box::new(batch)));
        }
    }

    /// A batch of a decided block arrived.
    pub(crate) fn take_batch(&mut self, now: Instant, batch: Batch) {
        let id = batch.id();
        if !self.fetch.is_wanted(&crate::fetch::Item::Batch(id)) {
            return;
        }
        if self.store.insert(batch.clone()) {
            self.keep(Record::Batch(batch));
        }
        self.fetch.found(&crate::fetch::Item::Batch(id));
        self.report(now);
        self.prepare_complete(now);
    }

    /// Spreads this party's batches that have lost their acknowledgements, in a crash or with their committee.
    pub(crate) fn spread_uncertified(&mut self, now: Instant) {
        let certified: BTreeSet<_> =
            self.store.own(self.me).iter().map(|certificate| certificate.batch.id).collect();
        for id in self.store.waiting_of(self.me) {
            if certified.contains(&id) || self.store.spreading.contains_key(&id) {
                continue;
            }
            if let Some(batch) = self.store.get(id).cloned() {
                self.spread_batch(now, batch);
            }
        }
    }
}
