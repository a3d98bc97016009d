//! Values of the configuration that have a range or a form.
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::parse::shortened;

pub(super) const fn window() -> u32 {
    4 << 20
}

pub(super) const fn rate() -> u32 {
    8 << 20
}

pub(super) const fn queue() -> u32 {
    16 << 20
}

/// A number between two others.
pub(super) fn within<'de, D: Deserializer<'de>, const LEAST: u32, const MOST: u32>(
    deserializer: D,
) -> Result<u32, D::Error> {
    let got = i64::deserialize(deserializer)?;
    let number = u32::try_from(got).ok().filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| de::Error::custom(format!("expected {LEAST} to {MOST}, got {got}")))
}

/// An address of this machine, with a port.
pub(super) fn listen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    let address = text.parse::<SocketAddr>().ok().filter(|address| address.port() != 0);
    address.ok_or_else(|| {
        de::Error::custom(format!(
            "expected IP:port of this machine, such as 0.0.0.0:7000, got `{text}`"
        ))
    })
}

pub(super) fn some_listen<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    listen(deserializer).map(Some)
}

/// Where an engine in another process reaches this one. Its calls are not authenticated, so they come
/// from this machine only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SidecarAddress {
    /// A Unix socket.
    Unix(PathBuf),
    /// A port on the loopback.
    Loopback(SocketAddr),
}

impl FromStr for SidecarAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| path.starts_with('/')) {
            return Ok(Self::Unix(path.into()));
        }
        let address = text.parse::<SocketAddr>().ok();
        match address.filter(|address| address.ip().is_loopback() && address.port() != 0) {
            Some(address) => Ok(Self::Loopback(address)),
            None => Err(format!(
                "expected unix:/path or an address of the loopback, such as 127.0.0.1:9000, got `{}`",
                shortened(text)
            )),
        }
    }
}

impl fmt::Display for SidecarAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Loopback(address) => address.fmt(f),
        }
    }
}

impl TryFrom<String> for SidecarAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SidecarAddress> for String {
    fn from(address: SidecarAddress) -> Self {
        address.to_string()
    }
}

/// What is logged: a level, or several parts of the program with a level for each, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LogFilter(String);

impl LogFilter {
    /// The filter as `tracing` reads it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        // The engine tells of every vote.
        Self("info,arc_malachitebft=warn,libp2p=warn".to_owned())
    }
}

impl TryFrom<String> for LogFilter {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let level = |text: &str| ["off", "error", "warn", "info", "debug", "trace"].contains(&text);
        let target = |text: &str| {
            let good = |letter: char| letter.is_ascii_alphanumeric() || "_:-".contains(letter);
            !text.is_empty() && text.chars().all(good)
        };
        let directive = |text: &str| match text.split_once('=') {
            Some((part, rest)) => target(part) && level(rest),
            None => level(text),
        };
        if text.len() <= 1024 && text.split(',').map(str::trim).all(directive) {
            Ok(Self(text))
        } else {
            Err(format!(
                "expected off, error, warn, info, debug or trace, or such as info,prefinal_net=debug, got `{}`",
                shortened(&text)
            ))
        }
    }
}

impl From<LogFilter> for String {
    fn from(filter: LogFilter) -> Self {
        filter.0
    }
}
