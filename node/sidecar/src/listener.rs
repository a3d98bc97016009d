//! The socket of a sidecar: nobody else's, and one process's at a time.
//!
//! A Unix socket leaves a file behind when its process dies. A file beside it (`engine.sock.lock`) is locked
//! as long as the process lives, so two processes that start together cannot both take the socket over. The
//! socket belongs to this user only before it can be connected to.
use std::fs::TryLockError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::net::TcpListener;

use crate::endpoint::{Endpoint, EndpointError};

/// Why a sidecar does not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is one that must not be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Another process answers on this socket.
    #[error("{0} is in use by another process")]
    InUse(Endpoint),
    /// There is a file that is not a socket, and it stays as it is.
    #[error("{} exists and is not a socket", .0.display())]
    NotSocket(PathBuf),
    /// This system has no Unix sockets.
    #[error("no Unix sockets on this system: use a port of the loopback")]
    Unsupported,
    /// The socket cannot be made.
    #[error("{endpoint}: {error}")]
    System {
        /// Where it should be.
        endpoint: Endpoint,
        /// What the system says.
        #[source]
        error: io::Error,
    },
}

impl ListenError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Endpoint(error) => error.code(),
            Self::InUse(_) => "address-in-use",
            Self::NotSocket(_) => "not-a-socket",
            Self::Unsupported => "unsupported",
            Self::System { .. } => "input-output",
        }
    }
}

/// A socket that takes connections. Its file is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    pub(crate) socket: Socket,
    endpoint: Endpoint,
    #[cfg(unix)]
    _file: Option<unix::SocketFile>,
}

#[derive(Debug)]
pub(crate) enum Socket {
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Opens the socket. Clients can connect from now on, and are answered when the sidecar serves. Call it
    /// inside of a tokio runtime.
    ///
    /// # Errors
    /// If the address is not local, or in use, or the system refuses it.
    pub fn bind(endpoint: &Endpoint) -> Result<Self, ListenError> {
        endpoint.check()?;
        match endpoint {
            Endpoint::Tcp(address) => Self::tcp(*address),
            #[cfg(unix)]
            Endpoint::Unix(path) => {
                let (socket, file) = unix::bind(path, endpoint)?;
                let socket = Socket::Unix(socket);
                Ok(Self { socket, endpoint: endpoint.clone(), _file: Some(file) })
            }
            #[cfg(not(unix))]
            Endpoint::Unix(_) => Err(ListenError::Unsupported),
        }
    }

    fn tcp(address: SocketAddr) -> Result<Self, ListenError> {
        let endpoint = Endpoint::Tcp(address);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse(endpoint.clone()),
            _ => ListenError::System { endpoint: endpoint.clone(), error },
        };
        // Of the standard library's, the address may be taken again at once after a restart.
        let socket = std::net::TcpListener::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let socket = TcpListener::from_std(socket).map_err(failed)?;
        let endpoint = Endpoint::Tcp(socket.local_addr().map_err(failed)?);
        Ok(Self {
            socket: Socket::Tcp(socket),
            endpoint,
            #[cfg(unix)]
            _file: None,
        })
    }

    /// The address, with the port that the system has chosen if none was asked for.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, File, OpenOptions, Permissions};
    use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    use socket2::{Domain, SockAddr, Type};
    use tokio::net::UnixListener;

    use super::{Endpoint, ListenError, PathBuf, TryLockError, io};

    /// How many connections may wait to be accepted.
    const BACKLOG: i32 = 64;

    /// A socket's file, removed when it is dropped, unless another socket has taken its place.
    #[derive(Debug)]
    pub(super) struct SocketFile {
        path: PathBuf,
        /// Device and number of the file.
        identity: (u64, u64),
        /// Locked as long as it is open. The file stays: a lock on a removed file would keep nobody out.
        _lock: File,
    }

    impl Drop for SocketFile {
        fn drop(&mut self) {
            let ours = fs::symlink_metadata(&self.path)
                .is_ok_and(|found| (found.dev(), found.ino()) == self.identity);
            if ours && let Err(error) = fs::remove_file(&self.path) {
                tracing::warn!(path = %self.path.display(), %error, "the socket's file stays");
            }
        }
    }

    pub(super) fn bind(
        path: &Path,
        endpoint: &Endpoint,
    ) -> Result<(UnixListener, SocketFile), ListenError> {
        let failed = |error| ListenError::System { endpoint: endpoint.clone(), error };
        let lock = lock(path, endpoint)?;
        clear(path, endpoint)?;
        let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None).map_err(failed)?;
        let address = SockAddr::unix(path).map_err(failed)?;
        socket.bind(&address).map_err(failed)?;
        // Nobody can connect before `listen`, so nobody can before only this user may.
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        let found = fs::symlink_metadata(path).map_err(failed)?;
        let identity = (found.dev(), found.ino());
        let file = SocketFile { path: path.to_owned(), identity, _lock: lock };
        socket.listen(BACKLOG).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok((UnixListener::from_std(socket.into()).map_err(failed)?, file))
    }

    fn lock(path: &Path, endpoint: &Endpoint) -> Result<File, ListenError> {
        let failed = |error| ListenError::System { endpoint: endpoint.clone(), error };
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(name).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(ListenError::InUse(endpoint.clone())),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Removes the file of a socket whose process is gone. A socket that answers belongs to another program.
    fn clear(path: &Path, endpoint: &Endpoint) -> Result<(), ListenError> {
        let failed = |error| ListenError::System { endpoint: endpoint.clone(), error };
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        if !found.file_type().is_socket() {
            return Err(ListenError::NotSocket(path.to_owned()));
        }
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(failed)
            }
            // It answers, or its queue is full, or it is not ours to ask.
            _ => Err(ListenError::InUse(endpoint.clone())),
        }
    }
}
