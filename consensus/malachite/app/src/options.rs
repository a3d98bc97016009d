//! What an engine is started with, and the configuration of Malachite that follows from it.
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use malachitebft_app_channel::app::config::{
    ChannelNames, ConsensusConfig, DiscoveryConfig, P2pConfig, ProtocolNames, ValuePayload,
    ValueSyncConfig,
};
use malachitebft_app_channel::app::net::Multiaddr;
use prefinal_malachite::{MAX_EXTENSION, SecretKey};
use prefinal_protocol::{ChainId, Party};
use sha2::{Digest, Sha256};

/// What a transaction takes in a block beside its own bytes.
pub const TRANSACTION_OVERHEAD: usize = 4;

/// What a message takes beside a block or an extension.
const FRAME: usize = 1 << 12;
/// What signatures and extensions may add to a block that is sent to a party that lags.
const CERTIFICATE: usize = 1 << 25;

/// What an engine is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The chain. Peers of another chain are disconnected, and their messages mean nothing here.
    pub chain: ChainId,
    /// This party's number in the committees, also in those where it has no stake. A party whose number is
    /// not in the committee follows without voting.
    pub me: Party,
    /// This party's key. The key on the network is derived from it.
    pub key: SecretKey,
    /// Folder of the write-ahead log and the decided blocks. It is made if it does not exist.
    pub home: PathBuf,
    /// Address to listen on. Port 0 stands for any free port.
    pub listen: SocketAddr,
    /// Parties to stay connected to.
    pub peers: Vec<SocketAddr>,
    /// Limits on connections.
    pub limits: ConnectionLimits,
    /// Limit of a block, in bytes. It is the same for all parties of a chain.
    pub max_block_bytes: usize,
    /// How long a round may take. [`prefinal_malachite::timeouts`] says what follows from it.
    pub timeout: Duration,
    /// Shortest time from the start of one height to the next. It is not kept while blocks that others have
    /// decided are fetched.
    pub pace: Duration,
    /// How often peers are told this party's height, so that those that lag can ask.
    pub status_interval: Duration,
}

/// Limits on connections. There is no limit on all of them together, so that a committee of any size can
/// connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections that one address may open to this party.
    pub inbound_per_address: usize,
    /// Connections to one peer.
    pub per_peer: usize,
    /// How long an address that closed a connection must wait before the next. Addresses of [`Options::peers`]
    /// need not wait.
    pub reconnect_after: Duration,
    /// Whether only [`Options::peers`] may stay connected. A peer that connects first is known as one of them
    /// when this party has connected to its address too.
    pub peers_only: bool,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            inbound_per_address: 16,
            per_peer: 3,
            reconnect_after: Duration::from_secs(10),
            peers_only: false,
        }
    }
}

impl Options {
    /// Options with a second for a round, blocks of a mebibyte, and no pause between heights.
    #[must_use]
    pub fn new(chain: ChainId, me: Party, key: SecretKey, home: PathBuf) -> Self {
        Self {
            chain,
            me,
            key,
            home,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            peers: Vec::new(),
            limits: ConnectionLimits::default(),
            max_block_bytes: 1 << 20,
            timeout: Duration::from_secs(1),
            pace: Duration::ZERO,
            status_interval: Duration::from_secs(2),
        }
    }

    /// The longest message that is a vote or a proposal.
    pub(crate) fn max_frame(&self) -> usize {
        self.max_block_bytes.max(MAX_EXTENSION).saturating_add(FRAME)
    }

    /// The longest answer to a party that lags.
    pub(crate) fn max_response(&self) -> usize {
        self.max_block_bytes.saturating_add(CERTIFICATE)
    }

    pub(crate) fn consensus(&self, listen: SocketAddr) -> ConsensusConfig {
        let discovery = DiscoveryConfig {
            enabled: false,
            max_connections_per_ip: self.limits.inbound_per_address,
            max_connections_per_peer: self.limits.per_peer,
            ip_throttle_duration: self.limits.reconnect_after,
            ..DiscoveryConfig::default()
        };
        ConsensusConfig {
            enabled: true,
            value_payload: ValuePayload::ProposalOnly,
            // What is kept of heights that have not begun is not verified.
            queue_capacity: 4,
            queue_per_height_capacity: 2000,
            p2p: P2pConfig {
                listen_addr: multiaddr(listen),
                persistent_peers: self.peers.iter().copied().map(multiaddr).collect(),
                persistent_peers_only: self.limits.peers_only,
                discovery,
                pubsub_max_size: size(self.max_frame().saturating_add(FRAME)),
                rpc_max_size: size(self.max_response().saturating_add(FRAME)),
                protocol_names: self.protocols(),
                channel_names: self.channels(),
                ..P2pConfig::default()
            },
        }
    }

    pub(crate) fn sync(&self) -> ValueSyncConfig {
        ValueSyncConfig {
            status_update_interval: self.status_interval,
            max_response_size: size(self.max_response()),
            parallel_requests: 4,
            batch_size: 8,
            ..ValueSyncConfig::default()
        }
    }

    fn protocols(&self) -> ProtocolNames {
        let name = |purpose| self.name(purpose);
        ProtocolNames {
            consensus: name("consensus"),
            discovery_kad: name("kad"),
            discovery_regres: name("discovery"),
            sync: name("sync"),
            validator_proof: name("proof"),
        }
    }

    fn channels(&self) -> ChannelNames {
        let name = |purpose| self.name(purpose);
        ChannelNames {
            consensus: name("votes"),
            proposal_parts: name("parts"),
            sync: name("status"),
            liveness: name("liveness"),
        }
    }

    /// The name of a protocol or topic on this chain. Topics may have 64 bytes, so the chain is hashed.
    fn name(&self, purpose: &str) -> String {
        use std::fmt::Write as _;
        let mut name = "/prefinal/".to_owned();
        for byte in Sha256::digest(self.chain.as_bytes()).iter().take(12) {
            // Writing into a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        name + "/" + purpose + "/1"
    }
}

pub(crate) fn multiaddr(address: SocketAddr) -> Multiaddr {
    let family = if address.is_ipv4() { "ip4" } else { "ip6" };
    let text = format!("/{family}/{}/tcp/{}", address.ip(), address.port());
    // Each address has this form. An empty one would be refused when it is used.
    text.parse().unwrap_or_else(|_| Multiaddr::empty())
}

fn size(bytes: usize) -> ByteSize {
    ByteSize::b(u64::try_from(bytes).unwrap_or(u64::MAX))
}
