//! Places for connections and for followers: how many there are, and how many of them one address may take.
//!
//! An address is an IPv4 address or a /64 of IPv6, which is what one customer of a provider has. If its
//! places are taken, or all of them, the connection that has been idle longest makes room: of the address
//! itself in the first case, of the address that holds most in the second. Idle is what waits for no answer
//! and follows nothing, so a client that holds places by silence or by sending slowly loses them to one that asks.
//! Only if nothing is idle is the newcomer refused.
//!
//! Addresses of the loopback are different: behind one of them are all clients of a reverse proxy, or
//! several programs of this machine. One may take half of the places, so that another still finds one, and
//! each connection has its own rate, so that none of those clients uses up what is meant for the others.
//! Telling them apart is the proxy's task.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use tokio::sync::oneshot;

/// What one client may take, and all of them together.
#[derive(Args, Clone, Copy, Debug)]
pub struct Limits {
    /// Requests a second that each address may make
    #[arg(long, value_name = "N", default_value = "50", requires = "http")]
    pub rate: NonZeroU32,
    /// Requests that each address may make at once, before its rate counts
    #[arg(long, value_name = "N", default_value = "200", requires = "http")]
    pub burst: NonZeroU32,
    /// HTTP connections at a time
    #[arg(long, value_name = "N", default_value = "256", requires = "http")]
    pub connections: NonZeroU32,
    /// HTTP connections of each address at a time
    #[arg(long, value_name = "N", default_value = "32", requires = "http")]
    pub connections_each: NonZeroU32,
    /// Streams of /events at a time
    #[arg(long, value_name = "N", default_value = "32", requires = "http")]
    pub followers: NonZeroU32,
    /// Streams of /events of each address at a time
    #[arg(long, value_name = "N", default_value = "4", requires = "http")]
    pub followers_each: NonZeroU32,
    /// Hold addresses of the loopback to the limits of all others
    #[arg(long, requires = "http")]
    pub strict_loopback: bool,
}

impl Default for Limits {
    fn default() -> Self {
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            rate: number(50),
            burst: number(200),
            connections: number(256),
            connections_each: number(32),
            followers: number(32),
            followers_each: number(4),
            strict_loopback: false,
        }
    }
}

impl Limits {
    fn is_shared(&self, address: IpAddr) -> bool {
        address.is_loopback() && !self.strict_loopback
    }

    /// What one address may take of this.
    fn share(&self, address: IpAddr, all: NonZeroU32, each: NonZeroU32) -> u32 {
        if self.is_shared(address) { all.get().div_ceil(2) } else { each.get().min(all.get()) }
    }
}

/// Whose requests are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sender {
    /// All connections of an address.
    Address(IpAddr),
    /// One connection, of an address that many share.
    Connection(u64),
}

/// All places.
pub(super) struct Doors {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Counts what happens, so that it is known what was longer ago.
    now: u64,
    places: BTreeMap<u64, Place>,
    followers: BTreeMap<IpAddr, u32>,
}

struct Place {
    address: IpAddr,
    /// Requests that wait for their answers, and streams.
    busy: u32,
    /// When it became idle, or came.
    since: u64,
    /// Dropped, it ends the connection.
    _open: oneshot::Sender<()>,
}

/// A connection's place, given back when this is dropped.
pub(super) struct Pass {
    doors: Arc<Doors>,
    id: u64,
    address: IpAddr,
}

/// While this is there, the connection is not idle.
pub(super) struct Busy(Arc<Pass>);

/// A follower's place, given back when this is dropped.
pub(super) struct Seat(Busy);

impl Doors {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// A place for a connection from this address, and what ends when the place is taken away; `None` if
    /// there is none.
    pub(super) fn enter(
        self: &Arc<Self>,
        address: IpAddr,
    ) -> Option<(Pass, oneshot::Receiver<()>)> {
        let (address, limits) = (network(address), &self.limits);
        let mut state = self.lock();
        let share = limits.share(address, limits.connections, limits.connections_each);
        if state.taken_by(address) >= share {
            state.make_room(|place| (place.address == address).then_some(0))?;
        } else if u32::try_from(state.places.len()).is_ok_and(|all| all >= limits.connections.get())
        {
            let most: BTreeMap<IpAddr, u32> =
                state.places.values().fold(BTreeMap::new(), |mut taken, place| {
                    *taken.entry(place.address).or_default() += 1;
                    taken
                });
            state.make_room(|place| most.get(&place.address).copied())?;
        }
        let id = state.tick();
        let (open, closed) = oneshot::channel();
        state.places.insert(id, Place { address, busy: 0, since: id, _open: open });
        Some((Pass { doors: Arc::clone(self), id, address }, closed))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.now = self.now.saturating_add(1);
        self.now
    }

    fn taken_by(&self, address: IpAddr) -> u32 {
        let own = self.places.values().filter(|place| place.address == address);
        u32::try_from(own.count()).unwrap_or(u32::MAX)
    }

    /// Ends an idle connection among those that this names: of the highest rank, the longest idle one.
    fn make_room(&mut self, rank: impl Fn(&Place) -> Option<u32>) -> Option<()> {
        let idle = self.places.iter().filter(|(_, place)| place.busy == 0);
        let ranked = idle.filter_map(|(id, place)| Some((rank(place)?, place.since, *id)));
        let (_, _, id) = ranked.max_by_key(|(rank, since, _)| (*rank, u64::MAX - since))?;
        self.places.remove(&id).map(drop)
    }
}

impl Pass {
    /// Whose requests come through here.
    pub(super) fn sender(&self) -> Sender {
        if self.doors.limits.is_shared(self.address) {
            Sender::Connection(self.id)
        } else {
            Sender::Address(self.address)
        }
    }

    /// Something begins that is not to be interrupted.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        if let Some(place) = self.doors.lock().places.get_mut(&self.id) {
            place.busy = place.busy.saturating_add(1);
        }
        Busy(Arc::clone(self))
    }

    /// A follower's place; `None` if all are taken, or those of the address.
    pub(super) fn seat(self: &Arc<Self>) -> Option<Seat> {
        let Limits { followers, followers_each, .. } = self.doors.limits;
        let share = self.doors.limits.share(self.address, followers, followers_each);
        let mut state = self.doors.lock();
        let all: u32 = state.followers.values().sum();
        let own = state.followers.get(&self.address).copied().unwrap_or(0);
        if all >= followers.get() || own >= share {
            return None;
        }
        state.followers.insert(self.address, own.saturating_add(1));
        drop(state);
        Some(Seat(self.busy()))
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.doors.lock().places.remove(&self.id);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = self.0.doors.lock();
        let now = state.tick();
        if let Some(place) = state.places.get_mut(&self.0.id) {
            place.busy = place.busy.saturating_sub(1);
            place.since = now;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Pass { doors, address, .. } = &*self.0.0;
        let mut state = doors.lock();
        let left = state.followers.get(address).map_or(0, |own| own.saturating_sub(1));
        if left == 0 {
            state.followers.remove(address);
        } else {
            state.followers.insert(*address, left);
        }
    }
}

/// What counts as one address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(connections: u32, each: u32) -> Limits {
        let number = |number| NonZeroU32::new(number).unwrap();
        Limits {
            connections: number(connections),
            connections_each: number(each),
            ..Limits::default()
        }
    }

    fn enter(doors: &Arc<Doors>, address: &str) -> Option<(Arc<Pass>, oneshot::Receiver<()>)> {
        let (pass, closed) = doors.enter(address.parse().unwrap())?;
        Some((Arc::new(pass), closed))
    }

    #[test]
    fn an_address_makes_room_for_itself() {
        let doors = Doors::new(limits(8, 2));
        let (first, mut first_closed) = enter(&doors, "192.0.2.1").unwrap();
        let (second, mut second_closed) = enter(&doors, "192.0.2.1").unwrap();
        let (_other, mut other_closed) = enter(&doors, "192.0.2.2").unwrap();
        // A client that has waited for an answer since is not the one that was idle longest.
        drop(first.busy());
        let (third, _third_closed) = enter(&doors, "192.0.2.1").unwrap();
        assert!(
            second_closed.try_recv().is_err_and(|why| why == oneshot::error::TryRecvError::Closed)
        );
        drop(second);
        let working = [first.busy(), third.busy()];
        assert!(enter(&doors, "192.0.2.1").is_none(), "nothing is idle");
        assert!(
            first_closed.try_recv().is_err_and(|why| why == oneshot::error::TryRecvError::Empty)
        );
        assert!(
            other_closed.try_recv().is_err_and(|why| why == oneshot::error::TryRecvError::Empty)
        );
        drop(working);
        assert!(enter(&doors, "192.0.2.1").is_some());
    }

    #[test]
    fn a_client_that_holds_most_makes_room_when_all_is_taken() {
        let doors = Doors::new(limits(4, 3));
        let many: Vec<_> = (0..3).map(|_| enter(&doors, "192.0.2.1").unwrap()).collect();
        let (_one, mut closed) = enter(&doors, "192.0.2.2").unwrap();
        let late: Vec<_> = (3..5).map(|last| enter(&doors, &format!("192.0.2.{last}"))).collect();
        assert!(late.iter().all(Option::is_some));
        assert!(closed.try_recv().is_err_and(|why| why == oneshot::error::TryRecvError::Empty));
        assert_eq!(doors.lock().taken_by("192.0.2.1".parse().unwrap()), 1);
        drop(many);
        assert_eq!(doors.lock().places.len(), 3);
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let doors = Doors::new(limits(8, 1));
        let (pass, _closed) = enter(&doors, "2001:db8::1").unwrap();
        let _busy = pass.busy();
        assert!(enter(&doors, "2001:db8::2:3:4:5").is_none());
        assert!(enter(&doors, "2001:db8:0:1::1").is_some());
        let (pass, _closed) = enter(&doors, "192.0.2.1").unwrap();
        let _busy = pass.busy();
        assert!(enter(&doors, "::ffff:192.0.2.1").is_none());
    }

    #[test]
    fn the_loopback_takes_half_and_each_connection_has_its_rate() {
        let doors = Doors::new(limits(8, 1));
        let all: Vec<_> = (0..4).map(|_| enter(&doors, "127.0.0.1").unwrap()).collect();
        let busy: Vec<_> = all.iter().map(|(pass, _)| pass.busy()).collect();
        assert!(enter(&doors, "127.0.0.1").is_none());
        assert!(enter(&doors, "127.0.0.2").is_some());
        let senders: Vec<_> = all.iter().map(|(pass, _)| pass.sender()).collect();
        assert_ne!(senders[0], senders[1]);
        drop(busy);
        let strict = Limits { strict_loopback: true, ..limits(8, 1) };
        let doors = Doors::new(strict);
        let (pass, _closed) = enter(&doors, "127.0.0.1").unwrap();
        assert_eq!(pass.sender(), Sender::Address("127.0.0.1".parse().unwrap()));
        let _busy = pass.busy();
        assert!(enter(&doors, "127.0.0.1").is_none());
    }

    #[test]
    fn an_address_has_a_share_of_the_seats() {
        let doors = Doors::new(limits(64, 32));
        let (one, _) = enter(&doors, "192.0.2.1").unwrap();
        let (other, _) = enter(&doors, "192.0.2.2").unwrap();
        let mut seats: Vec<_> = (0..4).map(|_| one.seat().unwrap()).collect();
        assert!(one.seat().is_none());
        assert!(other.seat().is_some());
        seats.pop();
        assert!(one.seat().is_some());
        drop(seats);
        assert!(doors.lock().followers.is_empty());
        assert_eq!(doors.lock().places.values().map(|place| place.busy).sum::<u32>(), 0);
    }
}
