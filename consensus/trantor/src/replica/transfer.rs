//! State transfer: a replica that fell behind fetches a certified state in pieces, from one peer at a time.
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
//! that it has another state: it does not keep this one any more (`lease` says how long it does), or never had it. Its state is taken once in
//! its turn, if no piece of the present one is here; or if no other peer has given the next piece either, and
//! then all peers are listened to. Thus a faulty peer can neither spoil what honest ones have sent, nor hold
//! this replica with a state that it alone has and does not give.
//!
//! **Several pieces are on the way**, for one in each round trip is slow around the world. Their number, the
//! *window*, grows by one with each piece and is halved when a peer loses its turn. So a link that is slow is not
//! filled with the same pieces by one peer after the other. Pieces that overtake others wait in memory, at most
//! [`MAX_WINDOW`] of them.
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Machine, Recipient};

use crate::app::Application;
use crate::engine::Input as OrderInput;
use crate::order::Ordered;
use crate::replica::checkpoint::{CertifiedStatement, Piece, State, Statement};
use crate::replica::contents::{Contents, RestoreFailure};
use crate::replica::history::{Change, Signatories};
use crate::replica::job::CertifyWork;
use crate::replica::lease::StoredCheckpoint;
use crate::replica::message::{MAX_RUN, ReplicaFault, ReplicaMessage};
use crate::replica::{Replica, ReplicaEffect};

/// A peer may take this part of the patience for a piece on average.
pub(super) const SLOWNESS: u32 = 4;

/// Pieces that are on the way at first, and at most.
const FIRST_WINDOW: u32 = 4;
pub(crate) const MAX_WINDOW: u32 = 2 * MAX_RUN;

/// A state that is being fetched.
#[derive(Debug)]
pub(crate) struct Transfer {
    certified: CertifiedStatement,
    pieces: u32,
    /// The pieces that are here, in a row.
    bytes: Vec<u8>,
    /// The first piece that is not here.
    next: u32,
    /// Pieces behind it that are.
    overtaking: BTreeMap<u32, Vec<u8>>,
    /// The peer was asked for the pieces before this one.
    requested: u32,
    /// How many pieces may be on the way.
    window: u32,
    turn: Turn,
    /// The peers that were asked for pieces.
    asked: BTreeSet<Party>,
    /// How many peers in a row were asked for the next piece and did not give it.
    misses: usize,
}

/// A peer's turn to give pieces.
#[derive(Clone, Copy, Debug)]
struct Turn {
    peer: Party,
    /// When the next peer is asked.
    deadline: Instant,
    /// Whether the peer has put this state in another one's place.
    replaced: bool,
}

impl Transfer {
    const fn begin(certified: CertifiedStatement, pieces: u32, turn: Turn) -> Self {
        Self {
            certified,
            pieces,
            bytes: Vec::new(),
            next: 0,
            overtaking: BTreeMap::new(),
            requested: 0,
            window: FIRST_WINDOW,
            turn,
            asked: BTreeSet::new(),
            misses: 0,
        }
    }

    pub(crate) const fn epoch(&self) -> u64 {
        self.certified.statement.epoch
    }

    #[cfg(test)]
    pub(crate) const fn received(&self) -> u32 {
        self.next
    }

    #[cfg(test)]
    pub(crate) const fn peer(&self) -> Party {
        self.turn.peer
    }

    pub(super) const fn deadline(&self) -> Instant {
        self.turn.deadline
    }

    /// Whether a peer may say what it has: the one that is asked, or any if none of so many gives the piece.
    fn listens_to(&self, peer: Party, others: usize) -> bool {
        self.turn.peer == peer || self.misses >= others
    }

    /// Whether another state of this peer is taken, with so many peers beside this party: nothing would be
    /// lost, or the others do not give the next piece.
    const fn is_given_up(&self, others: usize) -> bool {
        (self.next == 0 && !self.turn.replaced) || self.misses.saturating_add(1) >= others
    }

    /// Whether a piece is of use, and near enough to wait for those before it.
    fn wants(&self, piece: &Piece) -> bool {
        let near = self.next..self.next.saturating_add(MAX_WINDOW);
        piece.epoch == self.epoch()
            && near.contains(&piece.index)
            && !self.overtaking.contains_key(&piece.index)
    }

    /// Takes a piece. The peer's time for the next ones grows by a quarter of the patience with each that comes in its
    /// place, so one that always answers at the last moment loses its turn.
    fn take(&mut self, piece: Piece, now: Instant, patience: Duration) {
        self.overtaking.insert(piece.index, piece.bytes);
        while let Some(bytes) = self.overtaking.remove(&self.next) {
            self.bytes.extend(bytes);
            self.next = self.next.saturating_add(1);
            self.window = self.window.saturating_add(1).min(MAX_WINDOW);
            self.misses = 0;
            self.turn.deadline = (self.turn.deadline + patience / SLOWNESS).min(now + patience);
        }
    }

    /// The pieces to ask for now. None while more than half of the window is on the way, so that requests are few.
    fn next_run(&mut self) -> Option<Run> {
        if self.requested.saturating_sub(self.next) > self.window / 2 {
            return None;
        }
        let mut first = self.requested.max(self.next);
        while self.overtaking.contains_key(&first) {
            first = first.saturating_add(1);
        }
        let window = self.next.saturating_add(self.window);
        let here = self.overtaking.range(first..).next().map(|(place, _)| *place);
        let end = here.unwrap_or(u32::MAX).min(window).min(self.pieces);
        let count = end.saturating_sub(first).min(MAX_RUN);
        if count == 0 {
            return None;
        }
        self.requested = first.saturating_add(count);
        Some(Run { first, count })
    }

    /// The peer that is asked from now on.
    fn turn_to(&mut self, peer: Party, deadline: Instant) {
        self.turn = Turn { peer, deadline, replaced: false };
        (self.requested, self.window) = (self.next, (self.window / 2).max(1));
    }
}

/// Pieces in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    count: u32,
}

impl<A: Application> Replica<A> {
    /// Tells a peer of a checkpoint to fetch.
    pub(super) fn offer_checkpoint(&mut self, to: Party, fits: impl Fn(&Statement) -> bool) {
        if !self.engine.fetch.may_serve(to, self.now) {
            return;
        }
        let stable = self.stable.offer(self.now, fits);
        if let Some(certified) = stable.map(|stable| Box::new(stable.certified.clone())) {
            self.send(Recipient::One(to), ReplicaMessage::Stable(certified));
        }
    }

    /// Tells a peer of the checkpoint of an epoch, whose state it may have; or of one to fetch.
    pub(super) fn tell_checkpoint(&mut self, to: Party, epoch: u64) {
        let Some(stable) = self.stable.of_epoch(epoch) else {
            self.offer_checkpoint(to, |statement| statement.epoch > epoch);
            return;
        };
        let certified = Box::new(stable.certified.clone());
        if self.engine.fetch.may_serve(to, self.now) {
            self.send(Recipient::One(to), ReplicaMessage::Stable(certified));
        }
    }

    /// Answers a peer that misses pieces; with a checkpoint to fetch if this one is not kept.
    pub(super) fn serve_pieces(&mut self, to: Party, epoch: u64, first: u32, count: u32) {
        if self.stable.of_epoch(epoch).is_none() {
            if count > 0 {
                self.tell_checkpoint(to, epoch);
            }
            return;
        }
        // Pieces that will not be sent are not copied.
        if !self.engine.fetch.may_serve(to, self.now) {
            return;
        }
        self.stable.lease(self.now, epoch);
        let Some(stable) = self.stable.of_epoch(epoch) else { return };
        let places = (first..=u32::MAX).zip(0..count.min(MAX_RUN));
        let pieces = places.map_while(|(index, _)| stable.state.piece(epoch, index));
        let pieces: Vec<Piece> = pieces.collect();
        for piece in pieces {
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
                if transfer.turn.peer != from {
                    transfer.turn_to(from, deadline);
                    self.ask_pieces();
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
        if self.transfer.as_ref().is_some_and(|transfer| transfer.turn.peer == from) {
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
        let turn = Turn { peer: from, deadline: self.now + self.patience, replaced };
        self.transfer = Some(Transfer::begin(certified, pieces, turn));
        // For those that will ask this party: once the state is here, it cannot check these changes any more.
        self.ask_changes(from, None);
        self.ask_pieces();
        // The others keep it as well, for one of them may be asked for the rest.
        let keep = ReplicaMessage::PieceRequest { epoch: statement.epoch, first: 0, count: 0 };
        self.send(Recipient::All, keep);
    }

    /// The number of peers with stake.
    fn others(&self) -> usize {
        self.latest().stakeholders().len().saturating_sub(1)
    }

    fn ask_pieces(&mut self) {
        while let Some(transfer) = &mut self.transfer
            && let Some(Run { first, count }) = transfer.next_run()
        {
            transfer.asked.insert(transfer.turn.peer);
            let (to, epoch) = (transfer.turn.peer, transfer.epoch());
            self.send(Recipient::One(to), ReplicaMessage::PieceRequest { epoch, first, count });
        }
    }

    /// Asks the next peer if one has not answered in time.
    pub(super) fn watch_transfer(&mut self) {
        if self.transfer.as_ref().is_some_and(|transfer| transfer.turn.deadline <= self.now) {
            self.ask_next_peer();
        }
    }

    /// Asks the next peer with stake in the latest committee that is known. Others need not be there.
    fn ask_next_peer(&mut self) {
        let committee = self.latest();
        let (me, deadline) = (self.me, self.now + self.patience);
        let Some(transfer) = &mut self.transfer else { return };
        let after = |party| committee.successor(party).unwrap_or(party);
        let next = after(transfer.turn.peer);
        transfer.turn_to(if next == me { after(next) } else { next }, deadline);
        transfer.misses = transfer.misses.saturating_add(1);
        self.ask_pieces();
    }

    /// A piece arrived. It may come late, when another peer is asked already. Those of peers that were not asked are
    /// dropped.
    pub(super) fn receive_piece(&mut self, from: Party, piece: Piece) {
        let Some(transfer) = &mut self.transfer else { return };
        let epoch = transfer.epoch();
        if !transfer.asked.contains(&from) || !transfer.wants(&piece) {
            return;
        }
        if let Err(error) = piece.verify(&transfer.certified.statement) {
            transfer.asked.remove(&from);
            let is_turn = transfer.turn.peer == from;
            self.accuse(from, ReplicaFault::BadPiece { epoch, error });
            if is_turn {
                self.ask_next_peer();
            }
            return;
        }
        transfer.take(piece, self.now, self.patience);
        if transfer.next < transfer.pieces {
            self.ask_pieces();
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
        self.keep_stable(StoredCheckpoint::new(certified, state));
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(400);

    fn transfer(pieces: u32) -> Transfer {
        let bytes = u64::from(pieces) << 16;
        let slot = prefinal_protocol::Slot::new(9);
        let statement = Statement { epoch: 1, slot, root: [0; 32], bytes, configurations: [0; 32] };
        let deadline = Instant::START + PATIENCE;
        Transfer::begin(
            CertifiedStatement { statement, certificate: Vec::new() },
            pieces,
            Turn { peer: Party::new(0), deadline, replaced: false },
        )
    }

    fn take(transfer: &mut Transfer, index: u32) {
        let bytes = vec![u8::try_from(index % 251).unwrap()];
        let piece = Piece { epoch: 1, index, bytes, proof: Vec::new() };
        assert!(transfer.wants(&piece), "{index} from {}", transfer.next);
        transfer.take(piece, Instant::START, PATIENCE);
    }

    fn runs(transfer: &mut Transfer) -> Vec<(u32, u32)> {
        core::iter::from_fn(|| transfer.next_run()).map(|run| (run.first, run.count)).collect()
    }

    #[test]
    fn each_piece_is_asked_for_once_and_a_hundred_take_few_round_trips() {
        let mut transfer = transfer(100);
        let mut asked = 0;
        let mut ask = |transfer: &mut Transfer| {
            for (first, count) in runs(transfer) {
                assert_eq!((first, count <= MAX_RUN), (asked, true));
                asked += count;
            }
            assert!(asked - transfer.next <= MAX_WINDOW);
            asked
        };
        let (mut here, mut trips) = (ask(&mut transfer), 0);
        while transfer.next < 100 {
            // What is on the way arrives; what is asked for then takes another round trip.
            let arrives = transfer.next..here;
            for index in arrives {
                take(&mut transfer, index);
                here = ask(&mut transfer);
            }
            trips += 1;
        }
        assert_eq!((here, transfer.bytes.len()), (100, 100));
        assert!((4..=8).contains(&trips), "{trips}");
        assert!((0_u8..100).eq(transfer.bytes.iter().copied()));
    }

    #[test]
    fn a_piece_that_is_lost_is_asked_for_alone_and_no_more_wait_for_it_than_a_window_has() {
        let mut transfer = transfer(100);
        assert_eq!(runs(&mut transfer), [(0, 4)]);
        (1..4).for_each(|index| take(&mut transfer, index));
        assert_eq!((transfer.next, runs(&mut transfer)), (0, vec![]));
        let piece = |index| Piece { epoch: 1, index, bytes: vec![0], proof: Vec::new() };
        for index in [1, MAX_WINDOW, 99] {
            assert!(!transfer.wants(&piece(index)), "{index}");
        }
        transfer.turn_to(Party::new(1), Instant::START);
        assert_eq!((transfer.window, runs(&mut transfer)), (2, vec![(0, 1)]));
        take(&mut transfer, 0);
        assert_eq!((transfer.next, runs(&mut transfer)), (4, vec![(4, 6)]));
        // Peers that are slow are not asked for many.
        for party in 2..5 {
            transfer.turn_to(Party::new(party), Instant::START);
        }
        assert_eq!((transfer.window, runs(&mut transfer)), (1, vec![(4, 1)]));
    }

    #[test]
    fn time_grows_with_pieces_in_their_place_alone() {
        let mut transfer = transfer(9);
        let _asked = runs(&mut transfer);
        transfer.turn.deadline = Instant::START;
        take(&mut transfer, 2);
        assert_eq!(transfer.turn.deadline, Instant::START);
        take(&mut transfer, 0);
        assert_eq!(transfer.turn.deadline, Instant::START + PATIENCE / SLOWNESS);
    }
}
