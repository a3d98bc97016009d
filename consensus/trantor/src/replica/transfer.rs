//! State transfer: a replica that fell behind fetches a certified state, one piece from one peer at a time.
//!
//! It learns of the checkpoint from a peer that does not keep the heights it asks for. The certificate is
//! checked before the first piece is asked for, and each piece when it comes. A peer that sends a wrong piece
//! is accused and the next one is asked; so it is if a peer sends nothing. Pieces wait in memory, so after a
//! crash the replica is where it was before, and begins again.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Recipient};

use crate::app::Application;
use crate::config::Replicas;
use crate::order::Ordered;
use crate::replica::checkpoint::{Certified, Piece, State, Statement};
use crate::replica::contents::{Contents, RestoreFailure};
use crate::replica::job::CertifyWork;
use crate::replica::message::{ReplicaFault, ReplicaMessage};
use crate::replica::{Replica, ReplicaEffect, ReplicaRecord, Stable};

/// A state that is being fetched.
#[derive(Debug)]
pub(crate) struct Transfer {
    certified: Certified,
    pieces: u32,
    /// The pieces that are here, in a row.
    bytes: Vec<u8>,
    /// The piece that is asked for.
    next: u32,
    peer: Party,
    deadline: Instant,
}

impl Transfer {
    pub(crate) const fn epoch(&self) -> u64 {
        self.certified.statement.epoch
    }

    #[cfg(test)]
    pub(crate) const fn received(&self) -> u32 {
        self.next
    }

    pub(super) const fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl<A: Application> Replica<A> {
    /// Tells a peer of the latest checkpoint.
    pub(super) fn offer_checkpoint(&mut self, to: Party) {
        let Some(stable) = self.stable.back() else { return };
        let certified = Box::new(stable.certified.clone());
        if self.engine.fetch.may_serve(to, self.now) {
            self.send(Recipient::One(to), ReplicaMessage::Stable(certified));
        }
    }

    /// Answers a peer that misses a piece; with a later checkpoint if this one is not kept any more.
    pub(super) fn serve_piece(&mut self, to: Party, epoch: u64, index: u32) {
        let of_epoch = |stable: &&Stable| stable.certified.statement.epoch == epoch;
        let Some(stable) = self.stable.iter().find(of_epoch) else {
            self.offer_checkpoint(to);
            return;
        };
        let Some(piece) = stable.state.piece(epoch, index) else { return };
        if self.engine.fetch.may_serve(to, self.now) {
            self.send(Recipient::One(to), ReplicaMessage::Piece(Box::new(piece)));
        }
    }

    /// The committee that signs the checkpoint of an epoch, or the last one that is known here, and whether
    /// it is that one.
    fn signers(&self, epoch: u64) -> Option<(Arc<Replicas>, bool)> {
        let signing = epoch.checked_sub(1)?;
        let known = self.seated.get(&signing);
        let seated = known.or_else(|| self.seated.values().next_back())?;
        Some((Arc::clone(&seated.committee), known.is_some()))
    }

    /// A peer tells of its checkpoint.
    pub(super) fn receive_stable(&mut self, from: Party, certified: Certified) {
        let epoch = certified.statement.epoch;
        let fetching = self.transfer.as_ref().is_some_and(|transfer| transfer.epoch() >= epoch);
        if epoch <= self.epoch() || fetching || certified.statement.pieces().is_none() {
            return;
        }
        let Some((committee, _)) = self.signers(epoch) else { return };
        if self.checking.insert(from) {
            self.certify(committee, CertifyWork::Verify { from, certified });
        }
    }

    /// The certificate of a checkpoint is not valid. That is a fault if the committee is known that should
    /// have signed.
    pub(super) fn refuse_stable(&mut self, from: Party, statement: &Statement) {
        let epoch = statement.epoch;
        if self.signers(epoch).is_some_and(|(_, known)| known) {
            self.accuse(from, ReplicaFault::ForgedCheckpoint { epoch });
        }
    }

    /// The certificate of a checkpoint is valid: it is of this party's own state, or one to fetch.
    pub(super) fn accept_stable(&mut self, from: Party, certified: Certified) {
        let statement = certified.statement;
        if self.own.as_ref().is_some_and(|own| own.statement == statement) {
            self.stabilize(certified);
            return;
        }
        let fetching = self.transfer.as_ref().map(Transfer::epoch);
        let Some(pieces) = statement.pieces() else { return };
        if statement.epoch <= self.epoch().max(fetching.unwrap_or(0)) {
            return;
        }
        let deadline = self.now + self.patience;
        let (bytes, next, peer) = (Vec::new(), 0, from);
        self.transfer = Some(Transfer { certified, pieces, bytes, next, peer, deadline });
        self.ask_piece();
    }

    fn ask_piece(&mut self) {
        let deadline = self.now + self.patience;
        let Some(transfer) = &mut self.transfer else { return };
        transfer.deadline = deadline;
        let (to, epoch, index) = (transfer.peer, transfer.epoch(), transfer.next);
        self.send(Recipient::One(to), ReplicaMessage::PieceRequest { epoch, index });
    }

    /// Asks the next peer if one has not answered in time.
    pub(super) fn watch_transfer(&mut self) {
        if self.transfer.as_ref().is_some_and(|transfer| transfer.deadline <= self.now) {
            self.ask_next_peer();
        }
    }

    fn ask_next_peer(&mut self) {
        let size = u32::try_from(self.engine.committee().size()).unwrap_or(u32::MAX);
        let me = self.me;
        let Some(transfer) = &mut self.transfer else { return };
        let after = |party: Party| {
            Party::new(party.get().saturating_add(1).checked_rem(size).unwrap_or_default())
        };
        transfer.peer = after(transfer.peer);
        if transfer.peer == me {
            transfer.peer = after(transfer.peer);
        }
        self.ask_piece();
    }

    /// A piece arrived. One that was not asked for, or not of this peer, is dropped.
    pub(super) fn receive_piece(&mut self, from: Party, piece: Piece) {
        let Some(transfer) = &mut self.transfer else { return };
        let epoch = transfer.epoch();
        if (from, piece.epoch, piece.index) != (transfer.peer, epoch, transfer.next) {
            return;
        }
        if let Err(error) = piece.verify(&transfer.certified.statement) {
            self.accuse(from, ReplicaFault::BadPiece { epoch, error });
            self.ask_next_peer();
            return;
        }
        transfer.bytes.extend_from_slice(&piece.bytes);
        transfer.next = transfer.next.saturating_add(1);
        if transfer.next < transfer.pieces {
            self.ask_piece();
        } else if let Some(transfer) = self.transfer.take() {
            let Transfer { certified, bytes, .. } = transfer;
            if let Err(failure) = self.restore(certified, State::new(bytes)) {
                self.effect(ReplicaEffect::NotRestored(failure));
            }
        }
    }

    /// Takes a state that is here and right. Nothing has changed if it is refused.
    fn restore(&mut self, certified: Certified, state: State) -> Result<(), RestoreFailure> {
        let statement = certified.statement;
        let epoch = statement.epoch;
        let contents = Contents::open(&state, &statement)?;
        let seated = contents.seat(&self.context, &self.seated)?;
        let failure = RestoreFailure::Contents { epoch };
        let committee = seated.get(&epoch).map(|one| Arc::clone(&one.committee)).ok_or(failure)?;
        self.app.restore(&contents.application)?;
        let record = ReplicaRecord::Checkpoint(certified.clone(), state.bytes().to_vec());
        self.outputs.push_back(prefinal_protocol::Output::Keep(record));
        self.keep_stable(Stable { certified, state });
        self.effect(ReplicaEffect::Restored(statement));
        self.own = None;
        self.seated = seated;
        self.firsts = [(epoch, statement.slot)].into();
        self.begin(epoch);
        let ordered = Ordered::from_checkpoint(contents.ordered);
        self.engine.jump(self.now, committee, contents.schedule, ordered);
        Ok(())
    }
}
