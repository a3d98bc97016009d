//! One link: the task that keeps a connection to one peer up and carries frames both ways.
//!
//! Of two parties the one with the smaller number dials, so there is one connection for each pair. Each stream
//! is one-way and begins with its number; a frame is its length, 4 bytes, and as many bytes. Memory grows with
//! what has arrived, not with what was announced.
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use prefinal_protocol::Party;
use quinn::{Connection, RecvStream, SendStream};
use tokio::io::AsyncReadExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::directory::Peer;
use crate::error::LinkError;
use crate::hello::Hello;
use crate::listener::Dialler;
use crate::options::{StreamId, StreamOptions};
use crate::queue::{OVERHEAD, Queue};
use crate::status::{State, Status};

/// Pauses before a peer is dialled again: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// A connection that has lasted so long was a good one: after it the pauses begin again.
const GOOD: Duration = Duration::from_secs(10);
/// How long a peer that broke the rules has to wait.
const PENALTY: Duration = Duration::from_secs(10);
/// How long the greetings may take.
const GREETING: Duration = Duration::from_secs(5);

/// What the links hand to their reader.
#[derive(Debug)]
#[non_exhaustive]
pub enum Incoming {
    /// A frame that a peer has sent.
    Frame(Frame),
    /// The link to a peer is up.
    Up {
        /// The peer.
        peer: Party,
        /// Its program and release, as it says.
        agent: String,
    },
    /// A connection to a peer has ended, perhaps at its greeting. The link is tried again, unless the peer
    /// is no member any more.
    Down {
        /// The peer.
        peer: Party,
        /// Why the link is down.
        why: LinkError,
    },
}

/// A frame from an authenticated peer. As long as it is not dropped it counts against the peer's
/// [`inbox`](StreamOptions::inbox).
#[derive(Debug)]
pub struct Frame {
    /// The peer that sent it.
    pub from: Party,
    /// The stream that it came on.
    pub stream: StreamId,
    /// Its content.
    pub content: Bytes,
    _room: OwnedSemaphorePermit,
}

/// What is counted of a link.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) refused: AtomicU64,
    datagrams: Mutex<Datagrams>,
}

/// Bytes that a link's connections have sent in datagrams.
#[derive(Default)]
struct Datagrams {
    /// By connections that have ended.
    ended: u64,
    /// The connection that is up, which counts itself.
    connection: Option<Connection>,
}

impl Counters {
    /// Bytes that all connections of the link have sent in datagrams.
    pub(crate) fn datagrams(&self) -> u64 {
        let datagrams = self.datagrams.lock().unwrap_or_else(PoisonError::into_inner);
        datagrams.ended.saturating_add(datagrams.present())
    }

    /// From now on this is the link's connection; `None` if it has none.
    fn replace(&self, connection: Option<&Connection>) {
        let mut datagrams = self.datagrams.lock().unwrap_or_else(PoisonError::into_inner);
        datagrams.ended = datagrams.ended.saturating_add(datagrams.present());
        datagrams.connection = connection.cloned();
    }
}

impl Datagrams {
    fn present(&self) -> u64 {
        self.connection.as_ref().map_or(0, |connection| connection.stats().udp_tx.bytes)
    }
}

/// One end of a link.
pub(crate) struct Link {
    pub(crate) me: Party,
    pub(crate) party: Party,
    pub(crate) hello: Arc<Hello>,
    pub(crate) dialler: Dialler,
    /// The peer as the directory has it; `None` once it is no member.
    pub(crate) peer: watch::Receiver<Option<Peer>>,
    /// Connections that the peer has dialled.
    pub(crate) door: mpsc::Receiver<Connection>,
    /// Why the reader wants no more of this connection.
    pub(crate) rejections: mpsc::Receiver<LinkError>,
    pub(crate) streams: Arc<[Stream]>,
    pub(crate) inbox: mpsc::UnboundedSender<Incoming>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) status: watch::Sender<Status>,
}

/// The two directions of a stream with one peer.
pub(crate) struct Stream {
    id: StreamId,
    options: StreamOptions,
    pub(crate) queue: Queue,
    room: Arc<Semaphore>,
    rate: DefaultDirectRateLimiter,
}

impl Stream {
    pub(crate) fn new(to: Party, id: StreamId, options: &StreamOptions) -> Self {
        let longest = longest(options);
        let room = options.inbox.max(to_usize(longest.get())).min(Semaphore::MAX_PERMITS);
        let quota = Quota::per_second(options.rate).allow_burst(longest.max(options.rate));
        Self {
            id,
            options: options.clone(),
            queue: Queue::new(to, options.queue),
            room: Arc::new(Semaphore::new(room)),
            rate: RateLimiter::direct(quota),
        }
    }

    pub(crate) const fn options(&self) -> &StreamOptions {
        &self.options
    }
}

/// What the longest frame of a stream costs.
fn longest(options: &StreamOptions) -> NonZeroU32 {
    options.max_frame.saturating_add(to_u32(OVERHEAD))
}

impl Link {
    /// Keeps the link up until the peer is no member any more.
    pub(crate) async fn run(mut self) {
        let (mut newer, mut pause) = (None, PAUSES.0);
        loop {
            let next = match newer.take() {
                Some(connection) => Ok(connection),
                None => self.connect().await,
            };
            let began = Instant::now();
            let why = match next {
                Ok(connection) => {
                    self.counters.replace(Some(&connection));
                    let (why, next) = self.serve(&connection).await;
                    why.close(&connection);
                    self.counters.replace(None);
                    let _ = self.inbox.send(Incoming::Down { peer: self.party, why: why.clone() });
                    newer = next;
                    why
                }
                Err(why) => why,
            };
            if self.is_over() {
                return;
            }
            tracing::debug!(peer = %self.party, %why, "link down");
            self.status.send_replace(Status::of(State::Down { why: why.clone() }));
            if why.is_hostile() {
                sleep(PENALTY).await;
            } else if newer.is_none() && self.dials() {
                if began.elapsed() > GOOD {
                    pause = PAUSES.0;
                }
                self.rest(pause).await;
                pause = PAUSES.1.min(pause * 2);
            }
        }
    }

    fn dials(&self) -> bool {
        self.me < self.party
    }

    fn is_over(&self) -> bool {
        self.peer.borrow().is_none() || self.inbox.is_closed()
    }

    /// A pause that ends when the peer has a new address or key.
    async fn rest(&mut self, pause: Duration) {
        let _ = timeout(pause, self.peer.changed()).await;
    }

    /// The next connection: dialled if that is this end's part, else the peer's.
    async fn connect(&mut self) -> Result<Connection, LinkError> {
        loop {
            let peer = *self.peer.borrow_and_update();
            let peer = peer.ok_or(LinkError::NotMember)?;
            match peer.address.filter(|_| self.dials()) {
                Some(address) => return self.dialler.dial(peer.key, address).await,
                None => tokio::select! {
                    connection = self.door.recv() => {
                        return connection.ok_or(LinkError::NotMember);
                    }
                    changed = self.peer.changed() => changed.map_err(|_| LinkError::NotMember)?,
                },
            }
        }
    }

    /// Serves one connection to its end; with a newer one, if that is why it ended.
    async fn serve(&mut self, connection: &Connection) -> (LinkError, Option<Connection>) {
        let greeting = timeout(GREETING, self.hello.exchange(connection)).await;
        let agent = match greeting.unwrap_or(Err(LinkError::Silent)) {
            Ok(hello) => hello.agent,
            Err(why) => return (why, None),
        };
        tracing::debug!(peer = %self.party, agent, "link up");
        self.status.send_replace(Status::of(State::Up {
            address: connection.remote_address(),
            agent: agent.clone(),
        }));
        let _ = self.inbox.send(Incoming::Up { peer: self.party, agent });
        self.pump(connection).await
    }

    async fn pump(&mut self, connection: &Connection) -> (LinkError, Option<Connection>) {
        // Those of an earlier connection.
        while self.rejections.try_recv().is_ok() {}
        let mut tasks = JoinSet::new();
        let shared = Shared {
            party: self.party,
            streams: Arc::clone(&self.streams),
            inbox: self.inbox.clone(),
            counters: Arc::clone(&self.counters),
        };
        for number in 0..self.streams.len() {
            tasks.spawn(shared.clone().write(connection.clone(), number));
        }
        tasks.spawn(shared.read(connection.clone()));
        loop {
            tokio::select! {
                Some(ended) = tasks.join_next() => {
                    let why = ended.unwrap_or_else(|error| LinkError::Lost(error.to_string()));
                    return (why, None);
                }
                Some(why) = self.rejections.recv() => return (why, None),
                newer = self.door.recv() => match newer {
                    Some(newer) => return (LinkError::Replaced, Some(newer)),
                    None => return (LinkError::NotMember, None),
                },
                changed = self.peer.changed() => {
                    let key = changed.ok().and_then(|()| *self.peer.borrow_and_update());
                    if key.map(|peer| peer.key) != crate::listener::key_of(connection) {
                        return (LinkError::NotMember, None);
                    }
                }
            }
        }
    }
}

/// What the tasks of one connection share.
#[derive(Clone)]
struct Shared {
    party: Party,
    streams: Arc<[Stream]>,
    inbox: mpsc::UnboundedSender<Incoming>,
    counters: Arc<Counters>,
}

impl Shared {
    /// Sends what waits in one stream's queue, until the connection ends.
    async fn write(self, connection: Connection, number: usize) -> LinkError {
        let Some(stream) = self.streams.get(number) else { return LinkError::Stopped };
        let written = async {
            let mut sender = connection.open_uni().await?;
            // The stream has just begun, so it is not closed.
            let _ = sender.set_priority(stream.options.priority);
            sender.write_all(&[stream.id.get()]).await?;
            loop {
                let frame = stream.queue.pop().await;
                self.send(&mut sender, frame).await?;
            }
        };
        let ended: Result<std::convert::Infallible, LinkError> = written.await;
        match ended {
            Err(why) => why,
            Ok(never) => match never {},
        }
    }

    async fn send(&self, sender: &mut SendStream, frame: Bytes) -> Result<(), LinkError> {
        let length = to_u32(frame.len());
        sender.write_all(&length.to_be_bytes()).await?;
        sender.write_chunk(frame).await?;
        self.counters.sent.fetch_add(u64::from(length) + 4, Ordering::Relaxed);
        Ok(())
    }

    /// Reads every stream that the peer opens, until one of them breaks the rules.
    async fn read(self, connection: Connection) -> LinkError {
        let mut readers = JoinSet::new();
        let mut open = vec![false; self.streams.len()];
        loop {
            tokio::select! {
                stream = connection.accept_uni() => {
                    let begun = match stream {
                        Ok(stream) => begin(stream).await,
                        Err(why) => Err(why.into()),
                    };
                    let (number, stream) = match begun {
                        Ok(begun) => begun,
                        Err(why) => return why,
                    };
                    match open.get_mut(usize::from(number)) {
                        None => return LinkError::UnknownStream(number),
                        Some(true) => return LinkError::BrokenStream(number),
                        Some(open) => *open = true,
                    }
                    readers.spawn(self.clone().receive(stream, number.into()));
                }
                Some(ended) = readers.join_next() => {
                    return ended.unwrap_or_else(|error| LinkError::Lost(error.to_string()));
                }
            }
        }
    }

    async fn receive(self, mut receiver: RecvStream, number: usize) -> LinkError {
        let Some(stream) = self.streams.get(number) else { return LinkError::Stopped };
        loop {
            match self.frame(stream, &mut receiver).await {
                Ok(frame) => {
                    if self.inbox.send(Incoming::Frame(frame)).is_err() {
                        return LinkError::Stopped;
                    }
                }
                Err(why) => return why,
            }
        }
    }

    async fn frame(&self, stream: &Stream, from: &mut RecvStream) -> Result<Frame, LinkError> {
        let (id, limit) = (stream.id, stream.options.max_frame.get());
        let mut length = [0; 4];
        exactly(from, &mut length, id).await?;
        let got = u32::from_be_bytes(length);
        if got > limit {
            return Err(LinkError::TooLong { stream: id, got, limit });
        }
        let cost = NonZeroU32::MIN.saturating_add(got).saturating_add(to_u32(OVERHEAD) - 1);
        // Neither fails: a frame costs no more than the longest, and nobody closes the semaphore.
        let _ = stream.rate.until_n_ready(cost).await;
        let room = Arc::clone(&stream.room).acquire_many_owned(cost.get()).await;
        let room = room.map_err(|_| LinkError::Stopped)?;
        let mut content = Vec::new();
        let read = from.take(got.into()).read_to_end(&mut content).await;
        read.map_err(|error| match error.downcast::<quinn::ReadError>() {
            Ok(error) => error.into(),
            Err(error) => LinkError::Lost(error.to_string()),
        })?;
        if content.len() < to_usize(got) {
            return Err(LinkError::BrokenStream(id.get()));
        }
        self.counters.received.fetch_add(u64::from(got) + 4, Ordering::Relaxed);
        Ok(Frame { from: self.party, stream: id, content: content.into(), _room: room })
    }
}

/// The number that a stream begins with. The peer sends it with the first bytes.
async fn begin(mut stream: RecvStream) -> Result<(u8, RecvStream), LinkError> {
    let mut number = [0];
    let read = timeout(GREETING, stream.read_exact(&mut number)).await;
    match read.map_err(|_| LinkError::Silent)? {
        Ok(()) => Ok((u8::from_be_bytes(number), stream)),
        Err(quinn::ReadExactError::ReadError(error)) => Err(error.into()),
        Err(quinn::ReadExactError::FinishedEarly(_)) => Err(LinkError::Hello),
    }
}

async fn exactly(from: &mut RecvStream, bytes: &mut [u8], id: StreamId) -> Result<(), LinkError> {
    from.read_exact(bytes).await.map_err(|error| match error {
        quinn::ReadExactError::ReadError(error) => error.into(),
        quinn::ReadExactError::FinishedEarly(_) => LinkError::BrokenStream(id.get()),
    })
}

fn to_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn to_usize(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
