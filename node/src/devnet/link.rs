//! One link: frames to a peer and from it, over whatever connection there is.
//!
//! | what goes wrong              | then                                                            |
//! |------------------------------|-----------------------------------------------------------------|
//! | the connection breaks        | the dialler dials again, after a pause that doubles up to a second |
//! | the peer reads too slowly    | its queue fills, then frames to it are left out; machines ask again |
//! | this party reads too slowly  | its inbox fills, it stops reading, and TCP slows the peer down    |
//! | a frame too long, or garbage | the connection is dropped, with its reason, and not taken again for a while |
//!
//! A frame is its length, 4 bytes, and as many bytes; memory grows with what has arrived, not with what
//! was announced. It leaves when its delay is over: half of the round trip between the two regions.
//! (`tokio-util`'s codec takes as much memory as was announced, up to the limit, before the first byte is there,
//! and keeps it for the next frame: 80 MiB for each link of a peer that announces and is silent.)
//!
//! Before the first frame both ends have proved who they are ([`handshake`]).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use borsh::BorshDeserialize;
use prefinal_crypto_core::access::Party;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::Instant as Clock;

use super::frames::Frames;
use super::handshake;
use prefinal_validator::setup::{Identity, Setup};

/// What is read of a connection at a time until a frame's length is known. Every pair has two of these.
const READ: usize = 512;
/// No honest step sends more: a block and its certificates, or an answer to a party that lags.
pub(super) const MAX_FRAME: usize = 80 << 20;
/// Pauses before a connection is dialled again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// How long a peer that sent what no honest party sends has to wait.
const PENALTY: Duration = Duration::from_secs(1);

/// A frame that leaves when it is due.
pub(super) struct Due {
    pub(super) at: Clock,
    /// Length and content, shared by all who get it.
    pub(super) bytes: Arc<[u8]>,
}

/// Puts a frame's length before its content.
pub(super) fn frame(content: &[u8]) -> Option<Arc<[u8]>> {
    let length = u32::try_from(content.len()).ok()?;
    Some([&length.to_be_bytes(), content].concat().into())
}

/// What a link hands to its party.
pub(super) enum Incoming<T> {
    /// What the peer sent in one frame.
    Frame { from: Party, messages: Vec<T> },
    /// The peer sent what no honest party sends.
    Dropped { peer: Party, reason: LinkError },
}

/// Why a connection ended, or never became a link.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("frame of {got} bytes, at most {MAX_FRAME} are taken")]
    TooLong { got: usize },
    #[error("undecodable frame: {0}")]
    Undecodable(io::Error),
    #[error("no party of this chain dials like that")]
    Magic,
    #[error("meant for {meant}, this is {me}")]
    NotForMe { meant: Party, me: Party },
    #[error("says it is {claimed}, and does not prove it")]
    Signature { claimed: Party },
    #[error("said nothing for {0:?}")]
    Silent(Duration),
    #[error("replaced by a newer connection")]
    Replaced,
    #[error("this party has stopped")]
    Stopped,
}

impl LinkError {
    /// Whether an honest party could be the cause.
    const fn is_hostile(&self) -> bool {
        matches!(self, Self::TooLong { .. } | Self::Undecodable(_))
    }
}

/// Where a link's connections come from.
pub(super) enum Source {
    /// This party dials.
    Dial(SocketAddr),
    /// The peer does; the listener hands over what has said hello.
    Accept(Receiver<TcpStream>),
}

/// One end of a link.
pub(super) struct Link<T> {
    pub(super) setup: Arc<Setup>,
    pub(super) identity: Arc<Identity>,
    pub(super) peer: Party,
    pub(super) source: Source,
    pub(super) queue: Receiver<Due>,
    pub(super) inbox: Sender<Incoming<T>>,
    /// What was decoded for others.
    pub(super) frames: Arc<Frames<T>>,
}

impl<T: BorshDeserialize + Clone + Send + Sync + 'static> Link<T> {
    /// Keeps the link up until one of the two parties has stopped.
    pub(super) async fn run(mut self) {
        let mut next = None;
        loop {
            let connection = match next.take() {
                Some(connection) => connection,
                None => match self.connect().await {
                    Some(connection) => connection,
                    None => return,
                },
            };
            let (reason, newer) = self.pump(connection).await;
            next = newer;
            if matches!(reason, LinkError::Stopped) {
                return;
            }
            if reason.is_hostile() {
                let dropped = Incoming::Dropped { peer: self.peer, reason };
                if self.inbox.send(dropped).await.is_err() {
                    return;
                }
                tokio::time::sleep(PENALTY).await;
            }
        }
    }

    /// The next connection; `None` once there will be none.
    async fn connect(&mut self) -> Option<TcpStream> {
        let address = match &mut self.source {
            Source::Accept(streams) => return streams.recv().await,
            Source::Dial(address) => *address,
        };
        let (mut pause, longest) = PAUSES;
        loop {
            if self.inbox.is_closed() {
                return None;
            }
            if let Ok(stream) = self.dial(address).await {
                return Some(stream);
            }
            tokio::time::sleep(pause).await;
            pause = longest.min(pause * 2);
        }
    }

    async fn dial(&self, address: SocketAddr) -> Result<TcpStream, LinkError> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        handshake::dial(&mut stream, &self.setup, &self.identity, self.peer).await?;
        Ok(stream)
    }

    /// Carries frames both ways until the connection is of no use any more; with a newer one, if that
    /// is why.
    async fn pump(&mut self, stream: TcpStream) -> (LinkError, Option<TcpStream>) {
        let (reader, writer) = stream.into_split();
        let Self { peer, source, queue, inbox, frames, .. } = self;
        let newer = async {
            match source {
                Source::Accept(streams) => streams.recv().await,
                Source::Dial(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            reason = receive(reader, (*peer, frames), inbox) => (reason, None),
            reason = transmit(writer, queue) => (reason, None),
            newer = newer => match newer {
                Some(stream) => (LinkError::Replaced, Some(stream)),
                None => (LinkError::Stopped, None),
            },
        }
    }
}

async fn transmit(mut writer: impl AsyncWrite + Unpin, queue: &mut Receiver<Due>) -> LinkError {
    while let Some(Due { at, bytes }) = queue.recv().await {
        tokio::time::sleep_until(at).await;
        if let Err(error) = writer.write_all(&bytes).await {
            return error.into();
        }
    }
    LinkError::Stopped
}

async fn receive<T: BorshDeserialize + Clone>(
    reader: impl AsyncRead + Unpin,
    (from, frames): (Party, &Frames<T>),
    inbox: &Sender<Incoming<T>>,
) -> LinkError {
    let mut reader = BufReader::with_capacity(READ, reader);
    loop {
        let messages = match read_frame(&mut reader, frames).await {
            Ok(messages) => messages,
            Err(error) => return error,
        };
        if inbox.send(Incoming::Frame { from, messages }).await.is_err() {
            return LinkError::Stopped;
        }
    }
}

async fn read_frame<T: BorshDeserialize + Clone>(
    reader: &mut (impl AsyncRead + Unpin),
    frames: &Frames<T>,
) -> Result<Vec<T>, LinkError> {
    let announced = reader.read_u32().await?;
    let got = usize::try_from(announced).unwrap_or(usize::MAX);
    if got > MAX_FRAME {
        return Err(LinkError::TooLong { got });
    }
    let mut bytes = Vec::new();
    reader.take(announced.into()).read_to_end(&mut bytes).await?;
    if bytes.len() < got {
        return Err(LinkError::Io(io::ErrorKind::UnexpectedEof.into()));
    }
    frames.decode(&bytes).map_err(LinkError::Undecodable)
}
