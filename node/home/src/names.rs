//! Names and addresses of validators, as they stand in the genesis and in the configuration.
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::parse::shortened;

/// A validator's or a chain's name: 1 to 32 small letters, digits, `.`, `_` and `-`, a letter or digit first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// The text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to 32 of a-z 0-9 . _ - with a letter or digit first, got `{got}`")]
pub struct NameError {
    got: String,
}

impl NameError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "malformed-name"
    }
}

/// Where others reach a validator: a host, by its name or IP address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    host: Host,
    port: NonZeroU16,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Host {
    Ip(IpAddr),
    Dns(String),
}

/// The text is no address that can be dialled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected host:port that others can dial, such as validator.example:7000, got `{got}`")]
pub struct AddressError {
    got: String,
}

impl AddressError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "malformed-address"
    }
}

impl Name {
    /// The most characters that a name can have.
    pub const MAX: usize = 32;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let starts = text.bytes().next().is_some_and(good);
        let rest = text.bytes().all(|byte| good(byte) || b"._-".contains(&byte));
        if starts && rest && text.len() <= Self::MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError { got: shortened(text) })
        }
    }
}

impl Address {
    /// The address of a host and a port.
    ///
    /// # Errors
    /// If the host is no name and no IP address, or nobody can dial it (`0.0.0.0`, port 0).
    pub fn new(host: &str, port: u16) -> Result<Self, AddressError> {
        let refused = || AddressError { got: shortened(&format!("{host}:{port}")) };
        let port = NonZeroU16::new(port).ok_or_else(refused)?;
        let host = match host.parse::<IpAddr>() {
            Ok(ip) if ip.is_unspecified() || ip.is_multicast() => return Err(refused()),
            Ok(ip) => Host::Ip(ip),
            Err(_) if is_dns(host) => Host::Dns(host.to_ascii_lowercase()),
            Err(_) => return Err(refused()),
        };
        Ok(Self { host, port })
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port.get()
    }

    /// The IP address; `None` for a name, which has to be resolved.
    #[must_use]
    pub const fn ip(&self) -> Option<IpAddr> {
        match self.host {
            Host::Ip(ip) => Some(ip),
            Host::Dns(_) => None,
        }
    }

    /// The host as text: a name, or an IP address without brackets.
    #[must_use]
    pub fn host(&self) -> String {
        match &self.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Dns(name) => name.clone(),
        }
    }
}

/// A host name as RFC 1123 has it. A last label of digits would be a mistyped IP address.
fn is_dns(host: &str) -> bool {
    let label = |label: &str| {
        let inner = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (1..=63).contains(&label.len()) && inner && !label.starts_with('-') && !label.ends_with('-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    host.len() <= 253
        && host.split('.').all(label)
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let refused = || AddressError { got: shortened(text) };
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Self::new(&address.ip().to_string(), address.port()).map_err(|_| refused());
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(refused)?;
        // Without brackets nobody knows where an IPv6 address ends. The parser would take a sign.
        if host.contains(':') || !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refused());
        }
        Self::new(host, port.parse().map_err(|_| refused())?).map_err(|_| refused())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(ip) => SocketAddr::new(*ip, self.port.get()).fmt(f),
            Host::Dns(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl TryFrom<String> for Address {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}
