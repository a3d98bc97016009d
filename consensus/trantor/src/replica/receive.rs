//! What a received message does: which peers are listened to, and what waits for the next epoch.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Machine;

use crate::app::Application;
use crate::config::Replicas;
use crate::engine::Input as OrderInput;
use crate::message::Message as OrderMessage;
use crate::replica::Replica;
use crate::replica::message::{CommitteeTag, ReplicaMessage, crosses_committees, tag_of};

/// Messages of a peer that are kept for the next epoch.
const MAX_EARLY: usize = 64;

impl<A: Application> Replica<A> {
    /// The latest committee that is known. It has the places of all before.
    pub(super) fn latest(&self) -> Arc<Replicas> {
        let seated = || self.seated.values().next_back().map(|one| &one.committee);
        let latest = self.history.latest().or_else(seated);
        Arc::clone(latest.unwrap_or(&self.engine.committee))
    }

    pub(super) fn receive(&mut self, from: Party, message: ReplicaMessage) {
        if from == self.me || self.latest().member(from).is_none() {
            return;
        }
        if let Err(fault) = message.check_size() {
            self.accuse(from, fault);
            return;
        }
        // What is said about epochs means nothing to a newcomer: it does not know their committees.
        let of_use = matches!(
            message,
            ReplicaMessage::Stable(_) | ReplicaMessage::Piece(_) | ReplicaMessage::Changes(_)
        );
        if self.history.newcomer.is_some() && !of_use {
            return;
        }
        let is_member = self.engine.committee().member(from).is_some();
        match message {
            ReplicaMessage::Order { committee, message } if is_member => {
                self.receive_order(from, committee, *message);
            }
            ReplicaMessage::Order { committee, message } => {
                self.hear_of_later(from, committee, &message);
            }
            ReplicaMessage::Vote(_)
            | ReplicaMessage::PieceRequest { .. }
            | ReplicaMessage::ChangesRequest { .. }
            | ReplicaMessage::CheckpointRequest { .. }
                if !is_member => {}
            ReplicaMessage::Vote(vote) => self.receive_vote(from, *vote),
            ReplicaMessage::Stable(certified) => self.receive_stable(from, *certified),
            ReplicaMessage::PieceRequest { epoch, first, count } => {
                self.serve_pieces(from, epoch, first, count);
            }
            ReplicaMessage::Piece(piece) => self.receive_piece(from, *piece),
            ReplicaMessage::ChangesRequest { committee } => self.serve_changes(from, committee),
            ReplicaMessage::Changes(changes) => self.receive_changes(from, changes),
            ReplicaMessage::CheckpointRequest { epoch } if epoch <= self.epoch() => {
                self.tell_checkpoint(from, epoch);
            }
            ReplicaMessage::CheckpointRequest { .. } => {}
        }
    }

    /// A message of the ordering. One of another committee is passed on if it helps the one that is
    /// behind, and kept for later if the committee is the next one; for any other, its sender is told how far
    /// this party is. A peer that asks for what is not kept gets the latest checkpoint.
    fn receive_order(&mut self, from: Party, committee: CommitteeTag, message: OrderMessage) {
        if let Some(wanted) = self.engine.lacks(&message) {
            self.offer_checkpoint(from, |statement| statement.slot > wanted);
        } else if committee == self.tag() || crosses_committees(&message) {
            Machine::handle(&mut self.engine, self.now, OrderInput::Received { from, message });
        } else if !self.hold(from, committee, &message) {
            self.engine.tell_progress(self.now, from);
        }
    }

    /// A party that joins later is ahead: it has the state if those that leave are gone.
    fn hear_of_later(&mut self, from: Party, committee: CommitteeTag, message: &OrderMessage) {
        if let OrderMessage::Progress(next) = message {
            let mine = self.engine.next();
            self.engine.fetch.is_at(self.now, from, *next, mine);
        } else {
            self.hold(from, committee, message);
        }
    }

    /// Keeps a proposal or a vote of the next epoch's committee until that epoch begins. Without this, those
    /// that begin it a little later than the first leaders would skip their heights.
    fn hold(&mut self, from: Party, committee: CommitteeTag, message: &OrderMessage) -> bool {
        let next = self.epoch().saturating_add(1);
        let next = self.seated.get(&next).map(|one| &one.committee);
        let Some(next) = next.filter(|next| tag_of(next) == committee) else {
            return false;
        };
        let held = self.early.entry(from).or_default();
        let fits = message.is_signed() && !message.carries_partial() && held.len() < MAX_EARLY;
        if fits && message.check_shape(next, self.engine.max_block_bytes).is_ok() {
            held.push(message.clone());
        }
        true
    }
}
