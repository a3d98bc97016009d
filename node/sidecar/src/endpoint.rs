//! Where the engine finds the sidecar: a Unix socket, or a port of the loopback.
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// The address of a sidecar, as `unix:/run/prefinal/engine.sock` or `127.0.0.1:9200`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Endpoint {
    /// The path of a Unix socket. Only the user that runs the sidecar can connect.
    Unix(PathBuf),
    /// A port of the loopback. Every user of the machine can connect.
    Tcp(SocketAddr),
}

/// Why a text is no address of a sidecar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It is neither a path nor an address.
    #[error("{0:?} is neither unix:/PATH nor an address like 127.0.0.1:9200")]
    Malformed(String),
    /// Other machines could connect. There is no encryption and no authentication.
    #[error("{0} is not on the loopback: other machines could make this party release partials")]
    NotLoopback(SocketAddr),
}

impl EndpointError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed-address",
            Self::NotLoopback(_) => "not-loopback",
        }
    }
}

impl Endpoint {
    /// # Errors
    /// If other machines could connect.
    pub(crate) fn check(&self) -> Result<(), EndpointError> {
        match self {
            Self::Tcp(address) if !address.ip().is_loopback() => {
                Err(EndpointError::NotLoopback(*address))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let malformed = || EndpointError::Malformed(text.to_owned());
        let endpoint = match text.strip_prefix("unix:") {
            Some(path) if path.starts_with('/') => Self::Unix(path.into()),
            Some(_) => return Err(malformed()),
            None => Self::Tcp(text.parse().map_err(|_| malformed())?),
        };
        endpoint.check()?;
        Ok(endpoint)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_shown() {
        for text in ["unix:/run/prefinal/engine.sock", "127.0.0.1:9200", "[::1]:9200"] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!(endpoint.to_string(), text);
        }
    }

    #[test]
    fn addresses_that_others_can_reach_are_refused() {
        for text in ["0.0.0.0:9200", "[::]:9200", "192.168.1.2:9200", "[::ffff:10.0.0.1]:1"] {
            let refused = text.parse::<Endpoint>().unwrap_err();
            assert!(matches!(refused, EndpointError::NotLoopback(_)), "{refused}");
        }
        for text in ["", "unix:", "unix:relative", "localhost:9200", "127.0.0.1", "/a/path"] {
            let refused = text.parse::<Endpoint>().unwrap_err();
            assert!(matches!(refused, EndpointError::Malformed(_)), "{text}: {refused}");
        }
    }
}
