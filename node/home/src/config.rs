//! The configuration of one process: `config.toml`.
//!
//! What all validators agree on is in the genesis. Here is what each operator decides: where to listen, whom
//! to dial elsewhere than the genesis says, what clients may take, what is logged. A key that does not exist
//! is refused, so a typing error cannot silently leave a default in place.
mod document;
mod value;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::names::{Address, Name};
use crate::parse::{self, ParseError};

pub use self::document::{DocumentedKey, KEYS};
pub use self::value::{LogFilter, SidecarAddress};

/// The configuration of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The name under which this process appears in logs and to peers.
    pub moniker: Name,
    /// Links to other validators.
    pub links: LinksConfig,
    /// The consensus engine.
    pub engine: EngineConfig,
    /// Values, status and metrics over HTTP.
    #[serde(default)]
    pub http: HttpConfig,
    /// Callbacks for an engine in another process.
    #[serde(default)]
    pub sidecar: SidecarConfig,
    /// What is logged, and how.
    #[serde(default)]
    pub log: LogConfig,
    /// How the identity is opened.
    #[serde(default)]
    pub identity: IdentityConfig,
}

/// Links to other validators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinksConfig {
    /// Where this process listens, over UDP.
    #[serde(deserialize_with = "value::listen")]
    pub listen: SocketAddr,
    /// Bytes that may be on their way to or from one peer.
    #[serde(default = "value::window", deserialize_with = "value::within::<_, 65536, 67108864>")]
    pub window: u32,
    /// Bytes a second that one peer may send on average.
    #[serde(default = "value::rate", deserialize_with = "value::within::<_, 65536, 1073741824>")]
    pub rate: u32,
    /// Bytes that may wait to be sent to one peer.
    #[serde(
        default = "value::queue",
        deserialize_with = "value::within::<_, 1048576, 1073741824>"
    )]
    pub queue: u32,
    /// Bytes of one peer that may have arrived and not been handled.
    #[serde(
        default = "value::queue",
        deserialize_with = "value::within::<_, 1048576, 1073741824>"
    )]
    pub inbox: u32,
    /// Addresses that are used in place of those in the genesis.
    #[serde(default)]
    pub peers: BTreeMap<Name, Address>,
}

/// The consensus engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineConfig {
    /// Where the engine listens, over TCP.
    #[serde(deserialize_with = "value::listen")]
    pub listen: SocketAddr,
    /// Addresses that are used in place of those in the genesis.
    #[serde(default)]
    pub peers: BTreeMap<Name, Address>,
}

/// Values, status and metrics over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HttpConfig {
    /// Where to serve; nothing is served without it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "value::some_listen")]
    pub listen: Option<SocketAddr>,
    /// Whether metrics for Prometheus are served beside the values.
    pub metrics: bool,
    /// Requests a second that each address may make.
    #[serde(deserialize_with = "value::within::<_, 1, 1000000>")]
    pub rate: u32,
    /// Requests that each address may make at once, before its rate counts.
    #[serde(deserialize_with = "value::within::<_, 1, 1000000>")]
    pub burst: u32,
    /// Connections at a time.
    #[serde(deserialize_with = "value::within::<_, 1, 65536>")]
    pub connections: u32,
    /// Connections of each address at a time.
    #[serde(deserialize_with = "value::within::<_, 1, 65536>")]
    pub connections_each: u32,
    /// Streams of events at a time.
    #[serde(deserialize_with = "value::within::<_, 1, 65536>")]
    pub followers: u32,
    /// Streams of events of each address at a time.
    #[serde(deserialize_with = "value::within::<_, 1, 65536>")]
    pub followers_each: u32,
    /// Whether addresses of the loopback are held to the limits of all others.
    pub strict_loopback: bool,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            listen: None,
            metrics: true,
            rate: 50,
            burst: 200,
            connections: 256,
            connections_each: 32,
            followers: 32,
            followers_each: 4,
            strict_loopback: false,
        }
    }
}

/// Callbacks for an engine in another process. Off without an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SidecarConfig {
    /// Where the engine reaches this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<SidecarAddress>,
    /// How partials travel that leave with a vote.
    pub carry: SidecarCarry,
}

/// What is logged, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// Which events are logged.
    pub filter: LogFilter,
    /// How a line looks.
    pub format: LogFormat,
}

/// How partials travel that leave with a vote of an engine in another process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SidecarCarry {
    /// In the vote: the engine gets them from the sidecar, and hands in those of its peers.
    #[default]
    Vote,
    /// Over this validator's links, beside the vote.
    Links,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines of text, for people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// How the identity is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IdentityConfig {
    /// The file with the passphrase, in relation to the home. Without it an encrypted identity's passphrase
    /// is asked for on the terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passphrase_file: Option<PathBuf>,
}

impl Config {
    /// The longest file that is read, in bytes.
    pub const MAX_BYTES: usize = 1 << 20;

    /// A configuration that listens at these addresses and has defaults for all else.
    #[must_use]
    pub fn new(moniker: Name, links: SocketAddr, engine: SocketAddr) -> Self {
        let links = LinksConfig {
            listen: links,
            window: value::window(),
            rate: value::rate(),
            queue: value::queue(),
            inbox: value::queue(),
            peers: BTreeMap::new(),
        };
        Self {
            moniker,
            links,
            engine: EngineConfig { listen: engine, peers: BTreeMap::new() },
            http: HttpConfig::default(),
            sidecar: SidecarConfig::default(),
            log: LogConfig::default(),
            identity: IdentityConfig::default(),
        }
    }

    /// Reads a `config.toml`.
    ///
    /// # Errors
    /// With line and key: what is expected there, and what is there.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::toml(text)
    }

    /// The text of a `config.toml` in which every key is explained.
    #[must_use]
    pub fn to_text(&self) -> String {
        document::write(self)
    }

    /// Whether the other configuration differs in nothing but what may change while a process runs: the
    /// addresses of peers.
    #[must_use]
    pub fn differs_in_peers_only(&self, other: &Self) -> bool {
        let mut same = other.clone();
        same.links.peers.clone_from(&self.links.peers);
        same.engine.peers.clone_from(&self.engine.peers);
        same == *self
    }
}

#[cfg(test)]
mod tests;
