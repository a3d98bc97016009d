//! The parties' sockets: one listener each, one TCP connection on the loopback for each pair.
//!
//! A frame is what one step of a party sends to one peer, encoded once for all recipients. It waits for
//! half of the round trip between the two regions, as the simulator's model has it, and is decoded where it
//! arrives, the same bytes once for all parties (`frames`). Nothing else connects the parties but what they
//! would all compute alike (`once`).
//!
//! `link` is one connection, `handshake` proves who is at its other end, and `sim` knows the distances.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use borsh::BorshDeserialize;
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Recipient;
use prefinal_sim::{Placement, Seat};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::Instant as Clock;

use super::frames::Frames;
use super::handshake;
use super::link::{Due, Incoming, Link, Source, frame};
use prefinal_validator::setup::{Identity, Setup};

/// Frames that wait for a peer, or for this party. A party that is this far behind asks for what it lacks.
const QUEUE: usize = 4096;
/// Strangers that may say hello at a time.
const GREETINGS: usize = 64;

/// A party's end of all its links.
pub(super) struct Outbox {
    me: Party,
    /// By party; the own one is never used.
    peers: Vec<Peer>,
}

struct Peer {
    queue: Sender<Due>,
    delay: Duration,
}

/// A party's sockets before anybody dials.
pub(super) struct Seats<T> {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    frames: Arc<Frames<T>>,
    /// `None`: everybody sits in one room.
    placement: Option<Placement>,
}

impl<T: BorshDeserialize + Clone + Send + Sync + 'static> Seats<T> {
    /// One listener for each party, so that nobody is dialled in vain.
    pub(super) async fn bind(parties: usize, placement: Option<Placement>) -> io::Result<Self> {
        let mut listeners = Vec::with_capacity(parties);
        for _ in 0..parties {
            listeners.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?);
        }
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?;
        // Popped from the last party to the first.
        listeners.reverse();
        Ok(Self { listeners, addresses, frames: Arc::default(), placement })
    }

    /// Starts the links of the next party, from the first to the last.
    pub(super) fn connect(
        &mut self,
        setup: &Arc<Setup>,
        identity: &Arc<Identity>,
    ) -> (Outbox, Receiver<Incoming<T>>) {
        let me = identity.me;
        let (inbox, incoming) = channel(QUEUE);
        let mut doors = Vec::new();
        let mut peers = Vec::new();
        for (peer, address) in (0..).map(Party::new).zip(&self.addresses) {
            let (queue, waiting) = channel(QUEUE);
            peers.push(Peer { queue, delay: self.delay(me, peer) });
            // One connection at a time may wait for a link that still serves an older one.
            let (door, streams) = channel(1);
            doors.push(door);
            if peer == me {
                continue;
            }
            let source = if me < peer { Source::Dial(*address) } else { Source::Accept(streams) };
            let (setup, identity) = (Arc::clone(setup), Arc::clone(identity));
            let (inbox, frames) = (inbox.clone(), Arc::clone(&self.frames));
            let link = Link { setup, identity, peer, source, queue: waiting, inbox, frames };
            tokio::spawn(link.run());
        }
        if let Some(listener) = self.listeners.pop() {
            tokio::spawn(listen(listener, Arc::clone(setup), Arc::clone(identity), doors));
        }
        (Outbox { me, peers }, incoming)
    }

    /// Where a party listens.
    #[cfg(test)]
    pub(super) fn address(&self, party: Party) -> Option<SocketAddr> {
        self.addresses.get(party.index()).copied()
    }

    /// Leaves the next party out.
    #[cfg(test)]
    pub(super) fn skip(&mut self) {
        drop(self.listeners.pop());
    }

    fn delay(&self, from: Party, to: Party) -> Duration {
        let seat = |party: Party| Seat::new(party.get());
        let trip = self.placement.as_ref().and_then(|at| at.round_trip(seat(from), seat(to)));
        trip.map_or(Duration::ZERO, |trip| trip.p50 / 2)
    }
}

/// Hands connections that have said hello to their links. Who cannot prove to be of the committee is
/// turned away; nobody of it is to blame.
async fn listen(
    listener: TcpListener,
    setup: Arc<Setup>,
    identity: Arc<Identity>,
    doors: Vec<Sender<TcpStream>>,
) {
    let doors = Arc::new(doors);
    let greetings = Arc::new(Semaphore::new(GREETINGS));
    while let Ok(permit) = Arc::clone(&greetings).acquire_owned().await {
        if doors.iter().all(Sender::is_closed) {
            return;
        }
        // Out of descriptors, perhaps: others may end.
        let Ok((mut stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (setup, identity) = (Arc::clone(&setup), Arc::clone(&identity));
        let doors = Arc::clone(&doors);
        tokio::spawn(async move {
            if stream.set_nodelay(true).is_ok()
                && let Ok(peer) = handshake::accept(&mut stream, &setup, &identity).await
                && let Some(door) = doors.get(peer.index())
            {
                // Closed if the party has stopped, full if the peer dials faster than it is served.
                drop(door.try_send(stream));
            }
            drop(permit);
        });
    }
}

impl Outbox {
    /// Sends what one step had to send: one frame for everybody, and one for each party that gets more.
    pub(super) fn deliver<T: borsh::BorshSerialize>(&self, letters: &[(Recipient<Party>, T)]) {
        if letters.is_empty() {
            return;
        }
        let broadcast = encode(letters.iter().filter(|(to, _)| *to == Recipient::All));
        let now = Clock::now();
        for (to, peer) in (0..).map(Party::new).zip(&self.peers).filter(|(to, _)| *to != self.me) {
            let own = Recipient::One(to);
            let bytes = if letters.iter().any(|(to, _)| *to == own) {
                encode(letters.iter().filter(|(to, _)| *to == own || *to == Recipient::All))
            } else {
                broadcast.clone()
            };
            if let Some(bytes) = bytes {
                // Full: the peer does not read. Closed: it has stopped, at the end of the run.
                drop(peer.queue.try_send(Due { at: now + peer.delay, bytes }));
            }
        }
    }
}

fn encode<'a, T: borsh::BorshSerialize + 'a>(
    letters: impl Iterator<Item = &'a (Recipient<Party>, T)>,
) -> Option<Arc<[u8]>> {
    let messages: Vec<&T> = letters.map(|(_, message)| message).collect();
    if messages.is_empty() {
        return None;
    }
    // Writing into memory does not fail.
    frame(&borsh::to_vec(&messages).ok()?)
}
