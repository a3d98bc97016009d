//! What leaves a step: messages in envelopes, through rules, over links, to their delivery.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prefinal_protocol::Recipient;

use crate::drive::Event;
use crate::host::{Host, Seat};
use crate::network::Fate;
use crate::rule::{Chain, Letter, Scene};
use crate::simulation::Simulation;
use crate::time::{instant, nanos, since_start};
use crate::traffic::{Next, Parcel, Piece, Traffics};

/// Everything that one step sends to one seat. The recipients of a broadcast share it.
pub(crate) struct Envelope<M> {
    pub(crate) from: Seat,
    pub(crate) messages: Vec<M>,
    /// Length on the wire and place in the queue; zero where links have no limits.
    bytes: u64,
    rank: u64,
}

pub(crate) type Shared<H> = Arc<Envelope<<H as Host>::Message>>;

/// The deliveries of one broadcast, latest first. Only the next one is in the schedule: it would hold a million
/// of a thousand seats otherwise.
pub(crate) struct Broadcast<T> {
    pub(crate) envelope: T,
    stops: Vec<Stop>,
}

/// When a broadcast arrives, its place among the events of that time, and where it arrives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stop {
    at: u64,
    order: u64,
    to: Seat,
}

impl<M> Broadcast<Arc<Envelope<M>>> {
    /// Where it arrives next.
    pub(crate) fn next(&self) -> &Seat {
        self.stops.last().map_or(&self.envelope.from, |stop| &stop.to)
    }
}

impl<H: Host> Simulation<H> {
    /// Puts the messages of one step into envelopes.
    pub(crate) fn post(&mut self, from: Seat, mail: &mut Vec<(Recipient<Seat>, H::Message)>) {
        if mail.is_empty() {
            return;
        }
        let ruled =
            self.stations.get(from.index()).is_some_and(|station| !station.rules.is_empty());
        if ruled {
            return self.post_by_rules(from, mail);
        }
        let mut direct: BTreeMap<Seat, Vec<H::Message>> = mail
            .iter()
            .filter_map(|(to, _)| match to {
                Recipient::One(seat) => Some((*seat, Vec::new())),
                Recipient::All => None,
            })
            .collect();
        for (seat, messages) in &mut direct {
            let theirs = mail.iter().filter(|(to, _)| match to {
                Recipient::All => *seat != from,
                Recipient::One(one) => one == seat,
            });
            messages.extend(theirs.map(|(_, message)| message.clone()));
        }
        let messages: Vec<H::Message> = mail
            .drain(..)
            .filter(|(to, _)| matches!(to, Recipient::All))
            .map(|(_, message)| message)
            .collect();
        for envelope in self.envelopes(from, messages) {
            let mut stops = Vec::new();
            for to in self.seats() {
                if to != from && !direct.contains_key(&to) {
                    let arrives = self.route(to, Duration::ZERO, &envelope);
                    let order = arrives.map(|at| (at, self.schedule.take_order()));
                    stops.extend(order.map(|(at, order)| Stop { at, order, to }));
                }
            }
            stops.sort_unstable_by(|one, other| other.cmp(one));
            self.schedule_next(Box::new(Broadcast { envelope, stops }));
        }
        for (to, messages) in direct {
            for envelope in self.envelopes(from, messages) {
                self.send(to, Duration::ZERO, envelope);
            }
        }
    }

    fn post_by_rules(&mut self, from: Seat, mail: &mut Vec<(Recipient<Seat>, H::Message)>) {
        let mut letters = Vec::new();
        for (to, message) in mail.drain(..) {
            let mut letter = |to, message| {
                letters.push(Letter { to, message, delay: Duration::ZERO });
            };
            match to {
                Recipient::One(to) => letter(to, message),
                Recipient::All => {
                    self.seats()
                        .filter(|&to| to != from)
                        .for_each(|to| letter(to, message.clone()));
                }
            }
        }
        let leaves = self.with_rules(from, |chain, scene| chain.outgoing(scene, letters));
        self.post_letters(from, leaves);
    }

    pub(crate) fn wake_rules(&mut self, seat: Seat) {
        let Some(station) = self.stations.get_mut(seat.index()) else { return };
        if station.rules_armed.take_if(|armed| *armed == self.now).is_none() {
            return;
        }
        if station.spins(self.now) {
            self.spinning = Some(seat);
        }
        let leaves = self.with_rules(seat, |chain, scene| chain.wake(scene));
        self.post_letters(seat, leaves);
    }

    fn with_rules(
        &mut self,
        seat: Seat,
        act: impl FnOnce(&mut Chain<H::Message>, &mut Scene<'_>) -> Vec<Letter<H::Message>>,
    ) -> Vec<Letter<H::Message>> {
        let (seats, now) = (self.count(), instant(self.now));
        let Some(station) = self.stations.get_mut(seat.index()) else { return Vec::new() };
        let mut scene = Scene { seat, now, seats, dice: &mut self.dice };
        let leaves = act(&mut station.rules, &mut scene);
        self.arm_rules(seat);
        leaves
    }

    /// Letters that leave together for one seat share an envelope, in order.
    fn post_letters(&mut self, from: Seat, letters: Vec<Letter<H::Message>>) {
        let mut envelopes: BTreeMap<(Duration, Seat), Vec<H::Message>> = BTreeMap::new();
        for Letter { to, message, delay } in letters {
            envelopes.entry((delay, to)).or_default().push(message);
        }
        for ((delay, to), messages) in envelopes {
            for envelope in self.envelopes(from, messages) {
                self.send(to, delay, envelope);
            }
        }
    }

    pub(crate) fn arm_rules(&mut self, seat: Seat) {
        let Some(station) = self.stations.get_mut(seat.index()) else { return };
        let Some(at) = station.rules.wake_at() else { return };
        let at = since_start(at).max(self.now);
        if station.rules_armed.is_none_or(|armed| at < armed) {
            station.rules_armed = Some(at);
            self.schedule.push(at, Event::WakeRules { seat });
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.stations.len()).unwrap_or(u32::MAX)
    }

    fn seats(&self) -> impl Iterator<Item = Seat> + use<H> {
        (0..self.count()).map(Seat::new)
    }

    /// An envelope for each rank, in ascending order.
    fn envelopes(&mut self, from: Seat, messages: Vec<H::Message>) -> Vec<Shared<H>> {
        if self.traffic.is_none() {
            let one = Envelope { from, messages, bytes: 0, rank: 0 };
            return if one.messages.is_empty() { Vec::new() } else { vec![Arc::new(one)] };
        }
        let mut ranks: BTreeMap<u64, Envelope<H::Message>> = BTreeMap::new();
        for message in messages {
            let (bytes, rank) = (self.host.encoded_len(&message), self.host.rank(&message));
            let new = || Envelope { from, messages: Vec::new(), bytes: 0, rank };
            let envelope = ranks.entry(rank).or_insert_with(new);
            envelope.bytes = envelope.bytes.saturating_add(bytes);
            envelope.messages.push(message);
        }
        ranks.into_values().map(Arc::new).collect()
    }

    /// Hands an envelope to the network, `delay` from now.
    fn send(&mut self, to: Seat, delay: Duration, envelope: Shared<H>) {
        if let Some(at) = self.route(to, delay, &envelope) {
            self.schedule.push(at, Event::Deliver { to, envelope });
        }
    }

    /// When an envelope arrives that leaves `delay` from now. `None` if it never does, or if interfaces and
    /// connections have it and schedule its arrival.
    fn route(&mut self, to: Seat, delay: Duration, envelope: &Shared<H>) -> Option<u64> {
        if to.index() >= self.stations.len() {
            self.counters.misaddressed += 1;
            return None;
        }
        self.counters.sent += 1;
        let (from, bytes, rank) = (envelope.from, envelope.bytes, envelope.rank);
        let sent = self.now.saturating_add(nanos(delay));
        let (departure, delay) = match self.network.transit(from, to, sent, &mut self.dice) {
            Fate::Lost => {
                self.counters.lost += 1;
                return None;
            }
            Fate::Cut => {
                self.counters.cut += 1;
                return None;
            }
            Fate::Leaves { departure, delay, held } => {
                self.counters.held += u64::from(held);
                (departure, delay)
            }
        };
        if self.traffic.is_none() || from == to {
            return Some(self.network.arrival(from, to, departure.saturating_add(delay)));
        }
        let parcel = Parcel { from, to, bytes, rank, delay, load: Arc::clone(envelope) };
        if departure > self.now {
            self.schedule.push(departure, Event::Depart { parcel: Box::new(parcel) });
        } else {
            self.depart(parcel);
        }
        None
    }

    pub(crate) fn depart(&mut self, parcel: Parcel<Shared<H>>) {
        if let Some(traffic) = &mut self.traffic {
            traffic.send(self.now, parcel, &mut self.dice);
        }
        self.schedule_traffic();
    }

    pub(crate) fn serve(&mut self, seat: Seat) {
        if let Some(traffic) = &mut self.traffic {
            traffic.serve(self.now, seat, &mut self.dice);
        }
        self.schedule_traffic();
    }

    pub(crate) fn take(&mut self, piece: Piece<Shared<H>>) {
        if let Some(traffic) = &mut self.traffic {
            traffic.take(self.now, piece);
        }
        self.schedule_traffic();
    }

    fn schedule_traffic(&mut self) {
        while let Some((at, next)) = self.traffic.as_mut().and_then(Traffics::next) {
            let event = match next {
                Next::Serve(seat) => Event::Serve { seat },
                Next::Take(piece) => Event::Take { piece },
                Next::Deliver { to, load: envelope } => Event::Deliver { to, envelope },
            };
            self.schedule.push(at, event);
        }
    }

    pub(crate) fn deliver_next(&mut self, mut broadcast: Box<Broadcast<Shared<H>>>) {
        let Some(stop) = broadcast.stops.pop() else { return };
        let envelope = Arc::clone(&broadcast.envelope);
        self.schedule_next(broadcast);
        self.deliver(stop.to, &envelope);
    }

    fn schedule_next(&mut self, broadcast: Box<Broadcast<Shared<H>>>) {
        if let Some(&Stop { at, order, .. }) = broadcast.stops.last() {
            self.schedule.push_in_order(at, order, Event::DeliverNext { broadcast });
        }
    }
}
