//! What is on its way through interfaces and connections whose limits `interface` describes.
//!
//! ```text
//!            connections, in turn        the link            pieces, in order of arrival
//! parcel ───▶ ▣▣▣ ─┐
//! parcel ───▶ ▣▣ ──┼─▶ out ───────▶ pace · delay ───────▶ in ─▶ last piece: deliver
//! parcel ───▶ ▣ ───┘
//! ```
//!
//! A parcel is what one step sends to one seat. It is cut into pieces when its turn comes, and nothing is
//! scheduled for a seat whose queues are empty: a small message on an idle interface costs no event more than
//! one without limits, if its receiver's interface is unlimited.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::dice::Dice;
use crate::host::Seat;
use crate::interface::{Limits, time};
use crate::network::Arrivals;

/// What a connection sends in its turn, in bytes.
const TURN: u64 = 65_536;

/// Bytes that passed a seat's interface so far. Messages to itself do not pass it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that have begun to leave.
    pub sent: u64,
    /// Bytes that have come.
    pub received: u64,
    /// Bytes that wait for their turn to leave.
    pub waiting: u64,
}

/// What one step sends to one seat.
pub(crate) struct Parcel<T> {
    pub(crate) from: Seat,
    pub(crate) to: Seat,
    pub(crate) bytes: u64,
    /// Its place in the connection's queue: the lowest leaves first.
    pub(crate) rank: u64,
    /// The delay of the link, in nanoseconds.
    pub(crate) delay: u64,
    pub(crate) load: T,
}

/// A part of a parcel, on its way to the receiver's interface.
pub(crate) struct Piece<T> {
    pub(crate) from: Seat,
    pub(crate) to: Seat,
    /// The number of its parcel.
    parcel: u64,
    bytes: u64,
    /// How much later it is complete because packets were lost.
    late: u64,
    /// The parcel's load, if this is the last piece.
    load: Option<T>,
}

/// What must be scheduled.
pub(crate) enum Next<T> {
    /// The seat's interface may send again.
    Serve(Seat),
    /// A piece reaches its receiver's interface.
    Take(Box<Piece<T>>),
    /// The parcel of this seat is complete.
    Deliver { to: Seat, load: T },
}

/// All interfaces of a simulation.
pub(crate) struct Traffics<T> {
    limits: Limits,
    lines: Vec<Line<T>>,
    /// Last arrival at the receiver's interface, and last delivery, on each link where order is kept.
    in_order: Option<(Arrivals, Arrivals)>,
    parcels: u64,
    /// Parcels with lost packets: when all of their pieces so far are there.
    late: BTreeMap<u64, u64>,
    next: VecDeque<(u64, Next<T>)>,
}

/// One seat's interface.
struct Line<T> {
    /// To each seat, from the first one on.
    connections: Vec<Connection<T>>,
    /// Connections that may send.
    turns: VecDeque<Seat>,
    /// Connections that have to wait for their rate.
    paced: BTreeSet<(u64, Seat)>,
    /// The connection whose piece was the last to leave, until it is put back.
    sending: Option<Seat>,
    busy_until: u64,
    armed: Option<u64>,
    incoming_until: u64,
    traffic: Traffic,
}

struct Connection<T> {
    /// In the order in which they leave: by rank, then as they came.
    parcels: VecDeque<Numbered<T>>,
    /// Bytes that it may still send in this turn.
    turn: u64,
    paced_until: u64,
}

/// A parcel with its number.
struct Numbered<T> {
    number: u64,
    parcel: Parcel<T>,
}

impl<T> Traffics<T> {
    /// The interfaces of so many seats.
    pub(crate) fn new(limits: Limits, seats: u32, in_order: bool) -> Self {
        Self {
            limits,
            lines: (0..seats).map(|_| Line::new()).collect(),
            in_order: in_order.then(Default::default),
            parcels: 0,
            late: BTreeMap::new(),
            next: VecDeque::new(),
        }
    }

    /// What was found to be scheduled, and when.
    pub(crate) fn next(&mut self) -> Option<(u64, Next<T>)> {
        self.next.pop_front()
    }

    pub(crate) fn of(&self, seat: Seat) -> Traffic {
        self.lines.get(seat.index()).map(|line| line.traffic).unwrap_or_default()
    }

    /// A parcel waits at its sender's interface from now on.
    pub(crate) fn send(&mut self, now: u64, parcel: Parcel<T>, dice: &mut Dice) {
        let from = parcel.from;
        let Some(line) = self.lines.get_mut(from.index()) else { return };
        line.enqueue(now, self.parcels, parcel);
        self.parcels += 1;
        self.serve(now, from, dice);
    }

    /// The interface sends what it can by now.
    pub(crate) fn serve(&mut self, now: u64, seat: Seat, dice: &mut Dice) {
        loop {
            let Some(line) = self.lines.get_mut(seat.index()) else { return };
            line.armed.take_if(|armed| *armed <= now);
            let Some(sent) = line.next_piece(now, &self.limits, seat) else { break };
            let Sent { piece, at, delay } = sent;
            let repair = self.limits.retransmission.as_ref();
            let late = repair.map_or(0, |loss| loss.draw(piece.bytes, delay, dice));
            self.travel(at.saturating_add(delay), Piece { late, ..piece });
        }
        if let Some(at) = self.lines.get_mut(seat.index()).and_then(|line| line.arm()) {
            self.next.push_back((at, Next::Serve(seat)));
        }
    }

    /// A piece is on its way and reaches the receiver at `at`, if no other one comes before it.
    fn travel(&mut self, at: u64, piece: Piece<T>) {
        let (from, to) = (piece.from, piece.to);
        let order = self.in_order.as_mut();
        let at = order.map_or(at, |(reached, _)| reached.after_the_last(from, to, at));
        if self.limits.interface(to).incoming.is_some() {
            self.next.push_back((at, Next::Take(Box::new(piece))));
        } else {
            self.complete(at, piece);
        }
    }

    /// A piece has reached its receiver's interface.
    pub(crate) fn take(&mut self, now: u64, piece: Piece<T>) {
        let rate = self.limits.interface(piece.to).incoming;
        let Some(line) = self.lines.get_mut(piece.to.index()) else { return };
        line.incoming_until = now.max(line.incoming_until).saturating_add(time(rate, piece.bytes));
        let through = line.incoming_until;
        self.complete(through, piece);
    }

    /// A piece is through its receiver's interface at `at`.
    fn complete(&mut self, at: u64, piece: Piece<T>) {
        let Piece { from, to, parcel, bytes, late, load } = piece;
        if let Some(line) = self.lines.get_mut(to.index()) {
            line.traffic.received = line.traffic.received.saturating_add(bytes);
        }
        let at = at.saturating_add(late);
        let Some(load) = load else {
            if late > 0 {
                let known = self.late.entry(parcel).or_insert(at);
                *known = at.max(*known);
            }
            return;
        };
        let at = self.late.remove(&parcel).map_or(at, |known| known.max(at));
        let order = self.in_order.as_mut();
        let at = order.map_or(at, |(_, delivered)| delivered.after_the_last(from, to, at));
        self.next.push_back((at, Next::Deliver { to, load }));
    }
}

/// A piece, when its connection has sent it, and the delay of its link.
struct Sent<T> {
    piece: Piece<T>,
    at: u64,
    delay: u64,
}

impl<T> Line<T> {
    const fn new() -> Self {
        Self {
            connections: Vec::new(),
            turns: VecDeque::new(),
            paced: BTreeSet::new(),
            sending: None,
            busy_until: 0,
            armed: None,
            incoming_until: 0,
            traffic: Traffic { sent: 0, received: 0, waiting: 0 },
        }
    }

    fn enqueue(&mut self, now: u64, number: u64, parcel: Parcel<T>) {
        let to = parcel.to;
        self.traffic.waiting = self.traffic.waiting.saturating_add(parcel.bytes);
        let new = || Connection { parcels: VecDeque::new(), turn: TURN, paced_until: 0 };
        if self.connections.len() <= to.index() {
            self.connections.resize_with(to.index().saturating_add(1), new);
        }
        let Some(connection) = self.connections.get_mut(to.index()) else { return };
        if connection.parcels.is_empty() && self.sending != Some(to) {
            if connection.paced_until > now {
                self.paced.insert((connection.paced_until, to));
            } else {
                self.turns.push_back(to);
            }
        }
        let before = |one: &Numbered<T>| one.parcel.rank <= parcel.rank;
        let place = connection.parcels.partition_point(before);
        connection.parcels.insert(place, Numbered { number, parcel });
    }

    /// Puts connections back whose time to send has come: first those that were paced, and behind everything
    /// that has come meanwhile the one that has just sent.
    fn line_up(&mut self, now: u64) {
        while let Some(&(at, to)) = self.paced.first().filter(|(at, _)| *at <= now) {
            self.paced.remove(&(at, to));
            self.turns.push_back(to);
        }
        let Some(to) = self.sending.take() else { return };
        let Some(connection) = self.connections.get_mut(to.index()) else { return };
        if connection.parcels.is_empty() {
            connection.turn = TURN;
        } else if connection.paced_until > now {
            connection.turn = TURN;
            self.paced.insert((connection.paced_until, to));
        } else if connection.turn == 0 {
            connection.turn = TURN;
            self.turns.push_back(to);
        } else {
            self.turns.push_front(to);
        }
    }

    /// The next piece that leaves at `now`, if one may.
    fn next_piece(&mut self, now: u64, limits: &Limits, from: Seat) -> Option<Sent<T>> {
        if self.busy_until > now {
            return None;
        }
        self.line_up(now);
        let to = self.turns.pop_front()?;
        let connection = self.connections.get_mut(to.index())?;
        let Numbered { number, parcel } = connection.parcels.front_mut()?;
        let number = *number;
        let (delay, bytes) = (parcel.delay, parcel.bytes.min(connection.turn));
        parcel.bytes -= bytes;
        connection.turn -= bytes;
        let is_last = parcel.bytes == 0;
        let sent = if is_last { connection.parcels.pop_front() } else { None };
        let load = sent.map(|sent| sent.parcel.load);
        self.traffic.sent = self.traffic.sent.saturating_add(bytes);
        self.traffic.waiting = self.traffic.waiting.saturating_sub(bytes);
        let paced = now.saturating_add(time(limits.connection(from, to), bytes));
        self.busy_until = now.saturating_add(time(limits.interface(from).outgoing, bytes));
        connection.paced_until = paced.max(self.busy_until);
        self.sending = Some(to);
        let piece = Piece { from, to, parcel: number, bytes, late: 0, load };
        Some(Sent { piece, at: connection.paced_until, delay })
    }

    /// When the interface must be served for what waits, unless that is scheduled.
    fn arm(&mut self) -> Option<u64> {
        let sending = self.sending.and_then(|to| self.connections.get(to.index()));
        let sending = sending.filter(|connection| !connection.parcels.is_empty());
        let turn = (!self.turns.is_empty()).then_some(0);
        let paced = self.paced.first().map(|(at, _)| *at);
        let due = [turn, sending.map(|connection| connection.paced_until), paced];
        let at = due.into_iter().flatten().min()?.max(self.busy_until);
        if self.armed.is_some_and(|armed| armed <= at) {
            return None;
        }
        self.armed = Some(at);
        self.armed
    }
}
