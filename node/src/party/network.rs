//! A party's end of its links: what one step sends becomes frames, and frames become messages.
//!
//! | stream    | what travels on it                                              | sends first |
//! |-----------|-----------------------------------------------------------------|-------------|
//! | beacon    | partials beside votes, values that somebody missed              | yes         |
//! | consensus | proposals, votes, key generation in blocks, answers to laggards | no          |
//! | sync      | what a party asks that was away, and its answers, as `prefinal_sync` has them | last |
//!
//! A frame is what one step sends to one peer on one stream with one rank ([`Engine::rank`](prefinal_engine::Engine)),
//! encoded once for all recipients. What the links promise, and what strangers and liars get, says `prefinal_net`. A frame that no party of this version sends
//! ends the connection with its reason, and the peer has to wait.
//!
//! In a devnet a frame is handed to the links when half of the round trip between the two regions is over.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use borsh::{BorshDeserialize, BorshSerialize};
use bytes::Bytes;
use prefinal_crypto_core::access::Party;
use prefinal_net::{
    Frame, Inbox, LinkError, LinkKey, LinkKeyError, Links, Options, Peer, PeerKey, SendError,
    StartError, StreamId, StreamOptions,
};
use prefinal_protocol::Recipient;
use prefinal_validator::Message;
use prefinal_validator::extra::ExtraChannels;
use prefinal_validator::scheme::KeyedScheme;
use prefinal_validator::setup::{Identity, Setup};
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender};
use tokio::sync::mpsc::{channel, unbounded_channel};
use tokio::time::{Instant as Clock, sleep_until};

use super::desk::SyncLinks;
use super::frames::Frames;

/// The version of what is said on the streams. It changes with every encoding of a message.
const VERSION: u16 = 2;

/// The program, as peers see it.
const AGENT: &str = concat!("prefinal ", env!("CARGO_PKG_VERSION"));

/// Frames that are decoded and wait for the party.
const QUEUE: usize = 1024;

const CONSENSUS: StreamId = StreamId::new(0);
const BEACON: StreamId = StreamId::new(1);
const SYNC: StreamId = StreamId::new(2);

/// The streams by their numbers.
fn streams() -> Vec<StreamOptions> {
    /// No honest step sends more: a block and its certificates, or an answer to a party that lags.
    const CONSENSUS_FRAME: NonZeroU32 = NonZeroU32::new(80 << 20).unwrap();
    /// A few partials for every slot within the beacon's window.
    const BEACON_FRAME: NonZeroU32 = NonZeroU32::new(8 << 20).unwrap();
    /// The longest answer to a follower, and a little more.
    const SYNC_FRAME: NonZeroU32 = NonZeroU32::new(8 << 20).unwrap();
    // A longest frame a second.
    let stream = |name, longest, priority| StreamOptions::new(name, longest, longest, priority);
    vec![
        stream("consensus", CONSENSUS_FRAME, 0),
        stream("beacon", BEACON_FRAME, 1),
        stream("sync", SYNC_FRAME, -1),
    ]
}

/// A message that travels between parties, and the stream that it takes.
pub trait WireMessage: BorshSerialize + BorshDeserialize + Clone + Send + Sync + 'static {
    /// The stream that it takes.
    fn stream(&self) -> StreamId;
}

impl<S: KeyedScheme, M, L: ExtraChannels> WireMessage for Message<S, M, L>
where
    Self: BorshSerialize + BorshDeserialize + Clone + Send + Sync + 'static,
{
    fn stream(&self) -> StreamId {
        match self {
            Self::Beacon(..) | Self::Beside(_) => BEACON,
            Self::Engine(..) | Self::Ask { .. } | Self::Final { .. } => CONSENSUS,
        }
    }
}

/// What the links hand to their party.
pub enum Incoming<T> {
    /// What a peer sent in one frame. The frame counts against the peer's room until it is dropped.
    Frame {
        /// The frame, with its sender.
        frame: Frame,
        /// The messages in the frame.
        messages: Vec<T>,
    },
    /// What a peer asks that was away, or what it answers.
    Sync(Frame),
    /// The peer sent what no honest party sends.
    Dropped {
        /// The peer.
        peer: Party,
        /// The fault that the link was closed for.
        reason: LinkError,
    },
}

/// Why a party has no links.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The set-up has another key for this party.
    #[error(transparent)]
    Key(#[from] LinkKeyError),
    /// The links do not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The system does not say where the socket is.
    #[error("the socket has no address: {0}")]
    Address(#[from] io::Error),
}

impl NetworkError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Key(error) => error.code(),
            Self::Start(error) => error.code(),
            Self::Address(_) => "input-output",
        }
    }
}

/// A party's outgoing end of all its links.
#[derive(Clone)]
pub struct Outbox {
    me: Party,
    parties: usize,
    links: Links,
    /// What has to travel first.
    late: Option<Late>,
}

/// Frames on their way through the model of the world.
#[derive(Clone)]
struct Late {
    /// By party.
    delays: Vec<Duration>,
    frames: UnboundedSender<(Clock, Addressed)>,
}

/// A message that one step sends.
pub struct Letter<T> {
    /// One party, or all others.
    pub to: Recipient<Party>,
    /// Its place in the queues of its stream: lower ones leave first.
    pub rank: u64,
    /// The message itself, which shares a frame with others of its rank.
    pub message: T,
}

/// A frame and where it goes.
struct Addressed {
    to: Party,
    stream: StreamId,
    rank: u64,
    frame: Bytes,
}

/// Both ends of a party's links.
pub type Ends<T> = (Outbox, Receiver<Incoming<T>>);

/// Starts the links of this party, which listens at `listen`, to those whose addresses are known, and to those
/// who dial; `window` is that of [`Options`]. Must be called on a tokio runtime.
///
/// # Errors
/// If the key is not the party's, or the socket is not to be had.
pub fn connect<T: WireMessage>(
    setup: &Setup,
    identity: &Identity,
    (listen, window): (SocketAddr, NonZeroU32),
    addresses: &BTreeMap<Party, SocketAddr>,
    frames: &Arc<Frames<T>>,
) -> Result<Ends<T>, NetworkError> {
    let keys: BTreeMap<_, _> =
        (0..).map(Party::new).zip(setup.ed25519.iter().copied().map(PeerKey::new)).collect();
    let own = keys.get(&identity.me).ok_or(LinkKeyError)?;
    let key = LinkKey::new(identity.ed25519().expose(), *own)?;
    let options = Options {
        me: identity.me,
        chain: setup.context.chain,
        version: VERSION,
        agent: AGENT.to_owned(),
        listen,
        window,
        streams: streams(),
    };
    let member = |(party, key): (&Party, &PeerKey)| {
        (*party, Peer { key: *key, address: addresses.get(party).copied() })
    };
    let (links, arrived) = Links::start(key, options, keys.iter().map(member).collect())?;
    let (inbox, incoming) = channel(QUEUE);
    tokio::spawn(open(links.clone(), arrived, Arc::clone(frames), inbox));
    Ok((Outbox { me: identity.me, parties: keys.len(), links, late: None }, incoming))
}

/// The links of a committee on the loopback, in the order of these parties.
///
/// # Errors
/// If one of them has none.
pub fn connect_all<T: WireMessage>(
    setup: &Setup,
    identities: &[Identity],
    delay: impl Fn(Party, Party) -> Duration,
) -> Result<Vec<Ends<T>>, NetworkError> {
    let (frames, mut addresses, mut ends) = (Arc::default(), BTreeMap::new(), Vec::new());
    // Of two parties the one with the smaller number dials, so the other one has to be there first.
    for identity in identities.iter().rev() {
        let listen = ((Ipv4Addr::LOCALHOST, 0).into(), window(identities.len()));
        let (mut outbox, inbox) = connect(setup, identity, listen, &addresses, &frames)?;
        addresses.insert(identity.me, outbox.links.address()?);
        let parties = (0..).map(Party::new).take(outbox.parties);
        outbox.delay(parties.map(|to| delay(identity.me, to)).collect());
        ends.push((outbox, inbox));
    }
    ends.reverse();
    Ok(ends)
}

/// Bytes on their way between two parties of a process that has all pairs: a gibibyte altogether.
fn window(parties: usize) -> NonZeroU32 {
    const LEAST: usize = 64 << 10;
    let each = (1_usize << 30) / parties.saturating_mul(parties).max(1);
    let each = u32::try_from(each.clamp(LEAST, 4 << 20)).ok();
    each.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

/// Decodes what arrives, until the party has stopped.
async fn open<T: WireMessage>(
    links: Links,
    mut arrived: Inbox,
    frames: Arc<Frames<T>>,
    inbox: Sender<Incoming<T>>,
) {
    while let Some(incoming) = arrived.recv().await {
        let incoming = match incoming {
            prefinal_net::Incoming::Frame(frame) if frame.stream == SYNC => Incoming::Sync(frame),
            prefinal_net::Incoming::Frame(frame) => match frames.decode(&frame.content) {
                Ok(messages) => Incoming::Frame { frame, messages },
                Err(error) => {
                    let reason = LinkError::Rejected(format!("undecodable frame: {error}"));
                    links.reject(frame.from, &reason);
                    Incoming::Dropped { peer: frame.from, reason }
                }
            },
            prefinal_net::Incoming::Up { peer, agent } => {
                tracing::info!(peer = peer.get(), agent, "link up");
                continue;
            }
            prefinal_net::Incoming::Down { peer, why } => {
                tracing::info!(peer = peer.get(), %why, "link down");
                match why {
                    // The party heard of it with the frame.
                    LinkError::Rejected(_) => continue,
                    reason if reason.is_hostile() => Incoming::Dropped { peer, reason },
                    _ => continue,
                }
            }
            // What later releases of the links may say.
            _ => continue,
        };
        if inbox.send(incoming).await.is_err() {
            return;
        }
    }
}

impl SyncLinks for Outbox {
    fn peers(&self) -> Vec<Party> {
        let parties = (0..).map(Party::new).take(self.parties);
        parties.filter(|party| *party != self.me).collect()
    }

    fn send_sync(&self, to: Party, bytes: Vec<u8>) {
        self.post(Addressed { to, stream: SYNC, rank: 0, frame: bytes.into() });
    }
}

impl Outbox {
    /// Lets frames travel for so long, by party.
    fn delay(&mut self, delays: Vec<Duration>) {
        if delays.iter().any(|delay| !delay.is_zero()) {
            let (frames, waiting) = unbounded_channel();
            tokio::spawn(post(self.links.clone(), waiting));
            self.late = Some(Late { delays, frames });
        }
    }

    /// The links.
    pub const fn links(&self) -> &Links {
        &self.links
    }

    /// Sends what one step had to send: one frame for everybody on each stream and of each rank, and one for each who
    /// gets more than that.
    pub fn deliver<T: WireMessage>(&self, letters: &[Letter<T>]) {
        for stream in [BEACON, CONSENSUS] {
            let on_stream = letters.iter().filter(|letter| letter.message.stream() == stream);
            let mut ranks: BTreeMap<u64, Vec<_>> = BTreeMap::new();
            for letter in on_stream {
                ranks.entry(letter.rank).or_default().push(letter);
            }
            for (rank, letters) in ranks {
                self.deliver_together(stream, rank, &letters);
            }
        }
    }

    fn post(&self, addressed: Addressed) {
        match &self.late {
            None => addressed.send(&self.links),
            Some(late) => late.send(addressed),
        }
    }

    fn deliver_together<T: WireMessage>(
        &self,
        stream: StreamId,
        rank: u64,
        letters: &[&Letter<T>],
    ) {
        let frame = |is_for: &dyn Fn(&Recipient<Party>) -> bool| {
            let of = letters.iter().filter(|letter| is_for(&letter.to));
            encode(&of.map(|letter| &letter.message).collect::<Vec<_>>())
        };
        let broadcast = frame(&|to| *to == Recipient::All);
        let one_by_one = letters.iter().any(|letter| letter.to != Recipient::All);
        if let (false, None, Some(broadcast)) = (one_by_one, &self.late, &broadcast) {
            return refused(self.links.send_ranked(Recipient::All, stream, rank, broadcast));
        }
        for to in self.peers() {
            let own = Recipient::One(to);
            let frame = if letters.iter().any(|letter| letter.to == own) {
                frame(&|to| *to == own || *to == Recipient::All)
            } else {
                broadcast.clone()
            };
            let Some(frame) = frame else { continue };
            self.post(Addressed { to, stream, rank, frame });
        }
    }
}

impl Late {
    fn send(&self, addressed: Addressed) {
        let delay = self.delays.get(addressed.to.index()).copied().unwrap_or_default();
        // The post stops with the runtime only.
        drop(self.frames.send((Clock::now() + delay, addressed)));
    }
}

impl Addressed {
    fn send(&self, links: &Links) {
        let Self { to, stream, rank, frame } = self;
        refused(links.send_ranked(Recipient::One(*to), *stream, *rank, frame));
    }
}

/// Hands frames to the links when they are due. A delay is that of a pair, so frames of a pair keep their order.
async fn post(links: Links, mut frames: UnboundedReceiver<(Clock, Addressed)>) {
    let (mut on_their_way, mut number) = (BTreeMap::new(), 0_u64);
    loop {
        let next: Option<Clock> = on_their_way.first_key_value().map(|((at, _), _)| *at);
        let due = async {
            match next {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            frame = frames.recv() => {
                let Some((at, addressed)) = frame else { return };
                number = number.wrapping_add(1);
                on_their_way.insert((at, number), addressed);
            }
            () = due => {
                let later = on_their_way.split_off(&(Clock::now(), u64::MAX));
                for addressed in std::mem::replace(&mut on_their_way, later).into_values() {
                    addressed.send(&links);
                }
            }
        }
    }
}

/// A peer that is away or does not read misses frames, and asks again when it is back.
fn refused(sent: Result<(), SendError>) {
    match sent {
        Ok(()) => {}
        Err(why @ SendError::Full { .. }) => tracing::debug!(%why, "frame left out"),
        Err(why) => tracing::warn!(%why, "frame left out"),
    }
}

fn encode<T: BorshSerialize>(messages: &[&T]) -> Option<Bytes> {
    if messages.is_empty() {
        return None;
    }
    // Writing into memory does not fail.
    borsh::to_vec(messages).ok().map(Bytes::from)
}
