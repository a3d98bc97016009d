//! The first stream of a connection says who speaks what, so that a peer that does not fit learns why.
//!
//! ```text
//! version (2 bytes) ‖ chain (32 bytes) ‖ agent (at most 64 bytes of UTF-8)
//! ```
use prefinal_protocol::ChainId;
use quinn::Connection;

use crate::error::LinkError;
use crate::options::{MAX_AGENT, Options};

const FIXED: usize = 2 + 32;

/// What each end says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) version: u16,
    pub(crate) chain: ChainId,
    pub(crate) agent: String,
}

impl Hello {
    pub(crate) fn of(options: &Options) -> Self {
        let mut agent = options.agent.clone();
        agent.truncate(agent.floor_char_boundary(MAX_AGENT));
        Self { version: options.version, chain: options.chain, agent }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let (version, chain) = (self.version.to_be_bytes(), self.chain.as_bytes());
        [&version[..], &chain[..], self.agent.as_bytes()].concat()
    }

    /// The hello in these bytes; `None` if they are none. Of another version only the number is read.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first_chunk()?;
        let (chain, agent) = rest.split_first_chunk()?;
        let agent = str::from_utf8(agent).ok()?;
        let is_printable = agent.chars().all(|char| !char.is_control());
        (is_printable && agent.len() <= MAX_AGENT).then(|| Self {
            version: u16::from_be_bytes(*version),
            chain: ChainId::new(*chain),
            agent: agent.to_owned(),
        })
    }

    /// Says this and hears what the peer says.
    pub(crate) async fn exchange(&self, connection: &Connection) -> Result<Self, LinkError> {
        let mut stream = connection.open_uni().await?;
        stream.write_all(&self.encode()).await?;
        // It is never finished twice.
        let _ = stream.finish();
        let mut stream = connection.accept_uni().await?;
        let bytes = stream.read_to_end(FIXED + MAX_AGENT).await.map_err(|error| match error {
            quinn::ReadToEndError::Read(error) => error.into(),
            quinn::ReadToEndError::TooLong => LinkError::Hello,
        })?;
        let theirs = Self::decode(&bytes).ok_or(LinkError::Hello)?;
        if theirs.version != self.version {
            return Err(LinkError::Version { ours: self.version, theirs: theirs.version });
        }
        if theirs.chain != self.chain {
            return Err(LinkError::Chain { ours: self.chain, theirs: theirs.chain });
        }
        Ok(theirs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_decoded_to_itself_and_nothing_else_is_one() {
        let chain = ChainId::new([7; 32]);
        let hello = Hello { version: 3, chain, agent: "prefinal 0.1.0".into() };
        let bytes = hello.encode();
        assert_eq!(Hello::decode(&bytes), Some(hello.clone()));
        (0..FIXED).for_each(|short| assert_eq!(Hello::decode(&bytes[..short]), None));
        // What is printed in an operator's terminal does not move its cursor.
        let mut hostile = hello.clone();
        hostile.agent = "\u{1b}[2J".into();
        assert_eq!(Hello::decode(&hostile.encode()), None);
        hostile.agent = "a".repeat(MAX_AGENT + 1);
        assert_eq!(Hello::decode(&hostile.encode()), None);
        assert_eq!(Hello::decode(&[&bytes[..], &[0xff]].concat()), None);
    }
}
