//! Connections: how many, how long a silent one stays, and what ends them.
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use prefinal_validator::extra::ExtraChannels;
use prefinal_validator::scheme::KeyedScheme;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::transport::Server;
use tonic::transport::server::Connected;

use crate::error::CallError;
use crate::listener::{Listener, Socket};
use crate::proto::sidecar_server::SidecarServer;
use crate::service::Sidecar;

/// How long a connection may be silent before it is asked whether it is still there, and how long the answer
/// may take.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// The pause after the system refused a connection, when it has no files left.
const PAUSE: Duration = Duration::from_millis(100);

/// How long connections may take to end when the sidecar stops.
const GRACE: Duration = Duration::from_secs(5);

/// Requests that work at once on one connection; more wait unread.
const CALLS_EACH: usize = 32;

/// Calls and streams that may be open on one connection.
const STREAMS_EACH: u32 = 128;

/// What a request has beside its transactions: tags and lengths, of as many transactions as are usual.
const ENVELOPE: usize = 1 << 16;

/// Why serving ended before it was told to.
#[derive(Debug, thiserror::Error)]
#[error("the gRPC server failed: {0}")]
pub struct ServeError(#[from] tonic::transport::Error);

impl ServeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "server-failed"
    }
}

impl<S: KeyedScheme, L: ExtraChannels> Sidecar<S, L> {
    /// Answers on the socket until `stop` is ready. Then streams end, calls in progress are finished, and
    /// what has not ended in five seconds is left. The driver goes on; it is the caller's.
    ///
    /// # Errors
    /// If the server fails.
    pub async fn serve(
        self,
        listener: Listener,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let options = &self.shared.options;
        let longest = options.max_block_bytes.saturating_mul(2).saturating_add(ENVELOPE);
        let places = Arc::new(Semaphore::new(options.connections.get()));
        let board = Arc::clone(&self.shared.board);
        let service = SidecarServer::new(self).max_decoding_message_size(longest);
        let (ended, is_ended) = tokio::sync::oneshot::channel();
        let signal = async move {
            stop.await;
            board.stop(CallError::ShutDown);
            let _ = ended.send(());
        };
        let server = Server::builder()
            .concurrency_limit_per_connection(CALLS_EACH)
            .max_concurrent_streams(STREAMS_EACH)
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE))
            .serve_with_incoming_shutdown(service, connections(&listener, places), signal);
        let late = async {
            // If the signal is dropped, the server has ended by itself.
            let _ = is_ended.await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            served = server => served.map_err(ServeError),
            () = late => Ok(()),
        }
    }
}

/// The connections, each as soon as there is a place for it.
fn connections(
    listener: &Listener,
    places: Arc<Semaphore>,
) -> impl Stream<Item = io::Result<Connection>> {
    unfold((&listener.socket, places), |(socket, places)| async move {
        let place = Arc::clone(&places).acquire_owned().await.ok()?;
        loop {
            match accept(socket).await {
                Ok(wire) => {
                    let connection = Connection { wire, _place: place };
                    return Some((Ok(connection), (socket, places)));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    })
}

async fn accept(socket: &Socket) -> io::Result<Box<dyn Wire>> {
    Ok(match socket {
        #[cfg(unix)]
        Socket::Unix(socket) => Box::new(socket.accept().await?.0),
        Socket::Tcp(socket) => {
            let (stream, _) = socket.accept().await?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
    })
}

/// Bytes in both directions.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<W: AsyncRead + AsyncWrite + Send + Unpin> Wire for W {}

/// A connection that gives its place back when it ends.
struct Connection {
    wire: Box<dyn Wire>,
    _place: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}
