//! State transfer: a replica that fell behind fetches a certified state, one piece from one peer at a time.
//!
//! It learns of the checkpoint from a peer that does not keep the heights it asks for. The certificate is
//! checked before the first piece is asked for, and each piece when it comes. If the committee that should
//! have signed it is not known for sure, a certificate that does not verify may be no fault: then the peer is
//! asked how the committee changed, see `replica::history`. A peer that sends a wrong piece is accused and the
//! next one is asked; so it is if a peer sends nothing, or is slow. Pieces wait in memory, so after a crash
//! the replica is where it was before, and begins again.
//!
//! **While a state is fetched, others become known**, for the peers go on. If each took the place of the one
//! before, a large state would never be complete. So only the peer that is asked is listened to, when it says
//! that it has another state: it does not keep this one any more, or never had it. Its state is taken once in
//! its turn, if no piece of the present one is here; or if no other peer has given the next piece either, and
//! then all peers are listened to. Thus a faulty peer can neither spoil what honest ones have sent, nor hold
//! this replica with a state that it alone has and does not give.
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Machine, Recipient};

use crate::app::Application;
use crate::engine::Input as OrderInput;
use crate::order::Ordered;
use crate::replica::checkpoint::{CertifiedStatement, Piece, State};
use crate::replica::contents::{Contents, RestoreFailure};
use crate::replica::history::{Change, Signatories};
use crate::replica::job::CertifyWork;
use crate::replica::message::{ReplicaFault, ReplicaMessage};
use crate::replica::{Replica, ReplicaEffect, StoredCheckpoint};

/// A peer may take this part of the patience for a piece on average.
const SLOWNESS: u32 = 4;

/// A state that is being fetched.
#[derive(Debug)]
pub(crate) struct Transfer {
    certified: CertifiedStatement,
    pieces: u32,
    /// The pieces that are here, in a row.
    bytes: Vec<u8>,
    /// The piece that is asked for.
    next: u32,
    peer: Party,
    /// The peers that were asked for pieces.
    asked: BTreeSet<Party>,
    /// When the next peer is asked.
    deadline: Instant,
    /// How many peers in a row were asked for the next piece and did not give it.
    misses: usize,
    /// Whether the peer has put this state in another one's place.
    replaced: bool,
}

impl Transfer {
    pub(crate) const fn epoch(&self) -> u64 {
        self.certified.statement.epoch
    }

    #[cfg(test)]
    pub(crate) const fn received(&self) -> u32 {
        self.next
    }

    #[cfg(test)]
    pub(crate) const fn peer(&self) -> Party {
        self.peer
    }

    pub(super) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether a peer may say what it has: the one that is asked, or any if none of so many gives the piece.
    fn listens_to(&self, peer: Party, others: usize) -> bool {
        self.peer == peer || self.misses >= others
    }

    /// Whether another state of this peer is taken, with so many peers beside this party: nothing would be
    /// lost, or the others do not give the next piece.
    const fn is_given_up(&self, others: usize) -> bool {
        (self.next == 0 && !self.replaced) || self.misses.saturating_add(1) >= others
    }

    /// Takes the piece that was asked for. The peer's time for the next ones grows by a quarter of the
    /// patience with each, so one that always answers at the last moment loses its turn.
    fn take(&mut self, piece: &Piece, now: Instant, patience: Duration) {
        self.bytes.extend_from_slice(&piece.bytes);
        self.next = self.next.saturating_add(1);
        self.misses = 0;
        self.deadline = (self.deadline + patience / SLOWNESS).min(now + patience);
    }

    /// The peer that is asked from now on.
    fn turn_to(&mut self, peer: Party, deadline: Instant) {
        (self.peer, self.deadline, self.replaced) = (peer, deadline, false);
    }
}

impl<A: Application> Replica<A> {
    /// Tells a peer of the checkpoint of an epoch, whose state it may have; or of the latest one.
    pub(super) fn offer_checkpoint(&mut self, to: Party, epoch: u64) {
        let wanted = self.stable.iter().find(|one| one.certified.statement.epoch == epoch);
        let Some(stable) = wanted.or_else(|| self.stable.back()) else { return };
        let certified = Box::new(stable.certified.clone());
        if self.engine.fetch.may_serve(to, self.now) {
            self.send(Recipient::One(to), ReplicaMessage::Stable(certified));
        }
    }

    /// Answers a peer that misses a piece; with the latest checkpoint if this one is not kept.
    pub(super) fn serve_piece(&mut self, to: Party, epoch: u64, index: u32) {
        let of_epoch = |stable: &&StoredCheckpoint| stable.certified.statement.epoch == epoch;
        let Some(stable) = self.stable.iter().find(of_epoch) else {
            self.offer_checkpoint(to, epoch);
            return;
        };
        // A piece that will not be sent is not copied.
        if !self.engine.fetch.may_serve(to, self.now) {
            return;
        }
        if let Some(piece) = stable.state.piece(epoch, index) {
            self.send(Recipient::One(to), ReplicaMessage::Piece(Box::new(piece)));
        }
    }

    /// A peer tells of its checkpoint.
    pub(super) fn receive_stable(&mut self, from: Party, certified: CertifiedStatement) {
        let statement = certified.statement;
        let own = self.own.as_ref().is_some_and(|own| own.statement == statement);
        if statement.epoch <= self.epoch() || statement.pieces().is_none() {
            return;
        }
        let (others, deadline) = (self.others(), self.now + self.patience);
        match &mut self.transfer {
            Some(transfer) if !own && !transfer.listens_to(from, others) => return,
            Some(transfer) if !own && transfer.certified.statement == statement => {
                if transfer.peer != from {
                    transfer.turn_to(from, deadline);
                    self.ask_piece();
                }
                return;
            }
            _ => {}
        }
        if self.muted.get(&from).is_some_and(|until| self.now < *until) {
            return;
        }
        let Some(Signatories { committee, known }) = self.signers(statement.epoch) else { return };
        if self.checking.insert(from) {
            self.certify(committee, CertifyWork::Verify { from, certified, known });
        }
    }

    /// The certificate of a checkpoint is not valid. That is a fault if the committee was known that should
    /// have signed. If it was not, the peer is asked for the changes of the committee in between. In any case
    /// nothing of this peer is checked for a while.
    pub(super) fn refuse_stable(
        &mut self,
        from: Party,
        certified: CertifiedStatement,
        known: bool,
    ) {
        self.muted.insert(from, self.now + self.patience);
        if known {
            let epoch = certified.statement.epoch;
            self.accuse(from, ReplicaFault::ForgedCheckpoint { epoch });
        } else if certified.statement.epoch > self.epoch() {
            self.ask_changes(from, Some(certified));
        }
        if self.transfer.as_ref().is_some_and(|transfer| transfer.peer == from) {
            self.ask_next_peer();
        }
    }

    /// The certificate of a checkpoint is valid: it is of this party's own state, or one to fetch.
    pub(super) fn accept_stable(&mut self, from: Party, certified: CertifiedStatement) {
        let statement = certified.statement;
        if self.own.as_ref().is_some_and(|own| own.statement == statement) {
            self.stabilize(certified);
            return;
        }
        let Some(pieces) = statement.pieces().filter(|_| statement.epoch > self.epoch()) else {
            return;
        };
        let others = self.others();
        let replaced = match &self.transfer {
            None => false,
            Some(transfer) if !transfer.listens_to(from, others) => return,
            Some(transfer) if transfer.certified.statement == statement => return,
            Some(transfer) if transfer.is_given_up(others) => true,
            Some(_) => {
                self.ask_next_peer();
                return;
            }
        };
        let (peer, deadline, asked) = (from, self.now + self.patience, BTreeSet::new());
        let (bytes, next, misses) = (Vec::new(), 0, 0);
        let transfer =
            Transfer { certified, pieces, bytes, next, peer, asked, deadline, misses, replaced };
        self.transfer = Some(transfer);
        // For those that will ask this party: once the state is here, it cannot check these changes any more.
        self.ask_changes(from, None);
        self.ask_piece();
    }

    /// The number of peers with stake.
    fn others(&self) -> usize {
        self.latest().stakeholders().len().saturating_sub(1)
    }

    fn ask_piece(&mut self) {
        let Some(transfer) = &mut self.transfer else { return };
        transfer.asked.insert(transfer.peer);
        let (to, epoch, index) = (transfer.peer, transfer.epoch(), transfer.next);
        self.send(Recipient::One(to), ReplicaMessage::PieceRequest { epoch, index });
    }

    /// Asks the next peer if one has not answered in time.
    pub(super) fn watch_transfer(&mut self) {
        if self.transfer.as_ref().is_some_and(|transfer| transfer.deadline <= self.now) {
            self.ask_next_peer();
        }
    }

    /// Asks the next peer with stake in the latest committee that is known. Others need not be there.
    fn ask_next_peer(&mut self) {
        let committee = self.latest();
        let (me, deadline) = (self.me, self.now + self.patience);
        let Some(transfer) = &mut self.transfer else { return };
        let after = |party| committee.successor(party, 1).unwrap_or(party);
        let next = after(transfer.peer);
        transfer.turn_to(if next == me { after(next) } else { next }, deadline);
        transfer.misses = transfer.misses.saturating_add(1);
        self.ask_piece();
    }

    /// A piece arrived. It may come late, when another peer is asked already. One that this peer was not asked
    /// for is dropped.
    pub(super) fn receive_piece(&mut self, from: Party, piece: Piece) {
        let Some(transfer) = &mut self.transfer else { return };
        let epoch = transfer.epoch();
        if !transfer.asked.contains(&from) || (piece.epoch, piece.index) != (epoch, transfer.next) {
            return;
        }
        if let Err(error) = piece.verify(&transfer.certified.statement) {
            transfer.asked.remove(&from);
            let is_turn = transfer.peer == from;
            self.accuse(from, ReplicaFault::BadPiece { epoch, error });
            if is_turn {
                self.ask_next_peer();
            }
            return;
        }
        transfer.take(&piece, self.now, self.patience);
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
    fn restore(
        &mut self,
        certified: CertifiedStatement,
        state: State,
    ) -> Result<(), RestoreFailure> {
        let statement = certified.statement;
        let epoch = statement.epoch;
        let contents = Contents::open(&state, &statement)?;
        let seated =
            contents.seat(&self.context, &self.committees(), self.settings.config_offset)?;
        let failure = RestoreFailure::Contents { epoch };
        let committee = seated.get(&epoch).map(|one| Arc::clone(&one.committee)).ok_or(failure)?;
        if committee.member(self.me).is_none() {
            return Err(RestoreFailure::NotSeated { epoch });
        }
        self.app.restore(&contents.application)?;
        let signers = self.signers(epoch);
        let change = signers
            .and_then(|signers| Change::of_checkpoint(&signers.committee, &certified, &seated));
        let _new = change.is_some_and(|change| self.keep_change(change));
        self.keep_stable(StoredCheckpoint { certified, state });
        self.effect(ReplicaEffect::Restored(statement));
        self.own = None;
        self.seated = seated;
        self.firsts = [(epoch, statement.slot)].into();
        let joins = self.history.newcomer.take().is_some();
        self.begin(epoch);
        let ordered = Ordered::from_checkpoint(contents.ordered);
        self.engine.jump(self.now, committee, contents.schedule, ordered);
        if joins {
            Machine::handle(&mut self.engine, self.now, OrderInput::Start);
        }
        Ok(())
    }
}
