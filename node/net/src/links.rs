//! The links of a process to all members.
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use prefinal_protocol::{Party, Recipient};
use quinn::Endpoint;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use crate::directory::{Directory, DirectoryError, Peer};
use crate::error::{LinkError, SendError};
use crate::hello::Hello;
use crate::key::LinkKey;
use crate::link::{Counters, Incoming, Link, Stream};
use crate::listener::{self, BindError, Dialler, Doors};
use crate::options::{Options, StreamId};
use crate::status::{State, Status};

/// Connections that a peer may have dialled while its link still serves an older one.
const WAITING: usize = 1;

/// Why a process has no links.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The socket cannot be bound.
    #[error("no socket at {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        error: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// The members do not do.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// More streams than a number of one byte tells apart.
    #[error("{0} streams, at most 255 fit")]
    TooManyStreams(usize),
}

impl StartError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Bind { .. } => "cannot-listen",
            Self::Tls(_) => "tls-unusable",
            Self::Directory(error) => error.code(),
            Self::TooManyStreams(_) => "count-too-large",
        }
    }
}

/// A process's links. Clones share them; with the last clone they end.
#[derive(Clone)]
pub struct Links(Arc<Shared>);

struct Shared {
    options: Options,
    hello: Arc<Hello>,
    endpoint: Endpoint,
    dialler: Dialler,
    directory: Directory,
    doors: Doors,
    inbox: mpsc::UnboundedSender<Incoming>,
    seats: Mutex<BTreeMap<Party, Seat>>,
}

/// The near end of one link.
struct Seat {
    peer: watch::Sender<Option<Peer>>,
    rejected: mpsc::Sender<LinkError>,
    streams: Arc<[Stream]>,
    counters: Arc<Counters>,
    status: watch::Receiver<Status>,
    task: AbortHandle,
}

/// What arrives on all links, in the order in which it does.
pub type Inbox = mpsc::UnboundedReceiver<Incoming>;

impl Links {
    /// Binds the socket, listens and dials. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// If the socket cannot be bound, if two members have one key, or if there are too many streams.
    pub fn start(
        key: LinkKey,
        options: Options,
        members: BTreeMap<Party, Peer>,
    ) -> Result<(Self, Inbox), StartError> {
        if u8::try_from(options.streams.len()).is_err() {
            return Err(StartError::TooManyStreams(options.streams.len()));
        }
        let (directory, doors) = (Directory::default(), Doors::default());
        directory.replace(members.clone())?;
        let bound = listener::bind(&options, Arc::new(key), &directory, Arc::clone(&doors));
        let (endpoint, dialler) = bound.map_err(|error| match error {
            BindError::Io(error) => StartError::Bind { address: options.listen, error },
            BindError::Tls(error) => StartError::Tls(error.to_string()),
        })?;
        let (inbox, incoming) = mpsc::unbounded_channel();
        let links = Self(Arc::new(Shared {
            hello: Arc::new(Hello::of(&options)),
            options,
            endpoint,
            dialler,
            directory,
            doors,
            inbox,
            seats: Mutex::default(),
        }));
        links.0.seat(&members);
        Ok((links, incoming))
    }

    /// Where this process listens; useful if the port was 0.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.0.endpoint.local_addr()
    }

    /// Replaces the members. Links to those that are no more end, with a word why; those that are new are
    /// dialled. A new address counts from the next connection on.
    ///
    /// # Errors
    /// If two members have one key; then nothing changes.
    pub fn set_members(&self, members: BTreeMap<Party, Peer>) -> Result<(), DirectoryError> {
        self.0.directory.replace(members.clone())?;
        self.0.seat(&members);
        Ok(())
    }

    /// The members and where they are dialled.
    #[must_use]
    pub fn members(&self) -> BTreeMap<Party, Peer> {
        let seats = self.0.seats();
        let peers = seats.keys().filter_map(|party| Some((*party, self.0.directory.peer(*party)?)));
        peers.collect()
    }

    /// Sends a frame of the lowest rank, zero, to one member or to all others.
    ///
    /// # Errors
    /// Those of [`send_ranked`](Self::send_ranked).
    pub fn send(
        &self,
        to: Recipient<Party>,
        stream: StreamId,
        frame: &Bytes,
    ) -> Result<(), SendError> {
        self.send_ranked(to, stream, 0, frame)
    }

    /// Sends a frame to one member, or to all others. It waits in their queues until their links are up, before frames
    /// of a higher rank and behind earlier ones of the same. Copies nothing.
    ///
    /// # Errors
    /// If there is no such link or stream, if the frame is too long, or if too much waits already. Of
    /// several recipients the first error is returned, and the others get the frame.
    pub fn send_ranked(
        &self,
        to: Recipient<Party>,
        stream: StreamId,
        rank: u64,
        frame: &Bytes,
    ) -> Result<(), SendError> {
        let seats = self.0.seats();
        match to {
            Recipient::One(to) => {
                let seat = seats.get(&to).ok_or(SendError::NoLink(to))?;
                seat.send(stream, rank, frame)
            }
            Recipient::All => {
                let sent = seats.values().map(|seat| seat.send(stream, rank, frame));
                sent.fold(Ok(()), Result::and)
            }
        }
    }

    /// Closes the connection to a peer that sent what no honest peer sends, with the reason; the peer has to wait
    /// before the next. Nothing happens if there is no connection.
    pub fn reject(&self, peer: Party, why: &LinkError) {
        if let Some(seat) = self.0.seats().get(&peer) {
            // Full: it is being closed already.
            let _ = seat.rejected.try_send(why.clone());
        }
    }

    /// Bytes that this process has sent in UDP datagrams, over all links.
    #[must_use]
    pub fn datagrams(&self) -> u64 {
        self.0.seats().values().map(|seat| seat.counters.datagrams()).sum()
    }

    /// The state of each link.
    #[must_use]
    pub fn status(&self) -> BTreeMap<Party, Status> {
        self.0.seats().iter().map(|(party, seat)| (*party, seat.status())).collect()
    }

    /// Says goodbye to all peers, and waits until they have heard it or are given up.
    pub async fn close(&self) {
        self.0.stop();
        self.0.endpoint.wait_idle().await;
    }
}

impl Shared {
    fn seats(&self) -> MutexGuard<'_, BTreeMap<Party, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the links those to these members.
    fn seat(&self, members: &BTreeMap<Party, Peer>) {
        let mut seats = self.seats();
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        for (party, seat) in seats.iter() {
            let peer = members.get(party).copied();
            seat.peer.send_if_modified(|now| std::mem::replace(now, peer) != peer);
        }
        seats.retain(|party, _| members.contains_key(party));
        doors.retain(|party, _| members.contains_key(party));
        for (party, peer) in members {
            if *party != self.options.me && !seats.contains_key(party) {
                let (door, connections) = mpsc::channel(WAITING);
                doors.insert(*party, door);
                seats.insert(*party, self.start(*party, *peer, connections));
            }
        }
    }

    fn start(&self, party: Party, peer: Peer, door: mpsc::Receiver<quinn::Connection>) -> Seat {
        let numbered = (0..=u8::MAX).map(StreamId::new).zip(&self.options.streams);
        let streams: Arc<[_]> =
            numbered.map(|(id, options)| Stream::new(party, id, options)).collect();
        let counters = Arc::<Counters>::default();
        let (peer, watched) = watch::channel(Some(peer));
        let (rejected, rejections) = mpsc::channel(1);
        let (told, status) = watch::channel(Status::of(State::New));
        let link = Link {
            me: self.options.me,
            party,
            hello: Arc::clone(&self.hello),
            dialler: self.dialler.clone(),
            peer: watched,
            door,
            rejections,
            streams: Arc::clone(&streams),
            inbox: self.inbox.clone(),
            counters: Arc::clone(&counters),
            status: told,
        };
        let task = tokio::spawn(link.run()).abort_handle();
        Seat { peer, rejected, streams, counters, status, task }
    }

    fn stop(&self) {
        let why = LinkError::Stopped;
        self.seats().values().for_each(|seat| seat.task.abort());
        self.endpoint.close(why.close_code().into(), why.to_string().as_bytes());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Seat {
    fn send(&self, stream: StreamId, rank: u64, frame: &Bytes) -> Result<(), SendError> {
        let stream = self.streams.get(stream.index()).ok_or(SendError::NoStream(stream))?;
        let (got, limit) = (frame.len(), stream.options().max_frame.get());
        if u32::try_from(got).is_ok_and(|got| got <= limit) {
            let pushed = stream.queue.push(rank, frame.clone());
            if pushed.is_err() {
                self.counters.refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            pushed
        } else {
            Err(SendError::TooLong { got, limit })
        }
    }

    fn status(&self) -> Status {
        let count = |counter: &std::sync::atomic::AtomicU64| {
            counter.load(std::sync::atomic::Ordering::Relaxed)
        };
        Status {
            state: self.status.borrow().state.clone(),
            sent: count(&self.counters.sent),
            datagrams: self.counters.datagrams(),
            received: count(&self.counters.received),
            waiting: self.streams.iter().map(|stream| stream.queue.len()).sum(),
            refused: count(&self.counters.refused),
        }
    }
}
