//! The socket: dials peers, and lets members in.
//!
//! | what a stranger can do        | what it costs here                                               |
//! |-------------------------------|------------------------------------------------------------------|
//! | send packets from any address | one packet each, smaller than its own; nothing is remembered     |
//! | begin handshakes, never end   | at most [`HANDSHAKES`] at a time, for [`PATIENCE`] each          |
//! | begin many handshakes         | [`RATE`] a second for each address (of IPv6, each /64)           |
//! | end a handshake               | its key is none of the directory's: refused within the handshake |
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use prefinal_protocol::Party;
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, IdleTimeout, Incoming, MtuDiscoveryConfig,
    ServerConfig, TransportConfig, VarInt,
};
use rustls::pki_types::CertificateDer;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use crate::directory::Directory;
use crate::error::LinkError;
use crate::key::{LinkKey, PeerKey};
use crate::options::Options;
use crate::tls::{self, TlsError};

/// Handshakes at a time.
const HANDSHAKES: usize = 128;
/// Handshakes a second that one address may begin.
const RATE: NonZeroU32 = NonZeroU32::new(64).unwrap();
/// How long a handshake may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// After so many, addresses that have been silent are forgotten.
const FORGET: u32 = 1024;
/// A peer that is silent for so long is gone.
const IDLE: VarInt = VarInt::from_u32(6_000);
/// How often a link without frames shows that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// What the system may hold of packets that came or leave. A burst of all peers is longer than what systems
/// give by default, and what does not fit is lost and sent again.
const BUFFER: usize = 4 << 20;
/// The longest packet on the loopback, which takes longer ones than any network: a tenth of the work.
const LOOPBACK: u16 = 16 << 10;

/// Where the listener hands over the connections of each member.
pub(crate) type Doors = Arc<Mutex<BTreeMap<Party, mpsc::Sender<Connection>>>>;

/// Makes connections, each pinned to the key of one peer.
#[derive(Clone)]
pub(crate) struct Dialler {
    endpoint: Endpoint,
    key: Arc<LinkKey>,
    transport: Transport,
}

/// How connections carry bytes, by where the peer is.
#[derive(Clone)]
struct Transport {
    network: Arc<TransportConfig>,
    loopback: Arc<TransportConfig>,
}

/// Binds the socket, and lets members in at the doors from now on.
pub(crate) fn bind(
    options: &Options,
    key: Arc<LinkKey>,
    directory: &Directory,
    doors: Doors,
) -> Result<(Endpoint, Dialler), BindError> {
    let transport = Transport::new(options);
    let mut server = ServerConfig::with_crypto(Arc::new(tls::server(&key, directory)?));
    server.transport_config(Arc::clone(&transport.network));
    server.max_incoming(HANDSHAKES);
    let loopback = Arc::new(transport.on_loopback(&server));
    let mut config = EndpointConfig::default();
    // It is not less than what every peer may send.
    let _ = config.max_udp_payload_size(LOOPBACK);
    let runtime = Arc::new(quinn::TokioRuntime);
    let endpoint = Endpoint::new(config, Some(server), socket(options.listen)?, runtime)?;
    tokio::spawn(listen(endpoint.clone(), loopback, directory.clone(), doors));
    let dialler = Dialler { endpoint: endpoint.clone(), key, transport };
    Ok((endpoint, dialler))
}

fn socket(address: SocketAddr) -> std::io::Result<std::net::UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // The system may give less.
    let _ = (socket.set_recv_buffer_size(BUFFER), socket.set_send_buffer_size(BUFFER));
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Why the socket is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BindError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Transport {
    fn new(options: &Options) -> Self {
        let network = transport(options);
        let mut loopback = transport(options);
        let mut mtu = MtuDiscoveryConfig::default();
        mtu.upper_bound(LOOPBACK);
        // Offloaded, up to ten packets go to the system as one. Ten of this length are more than it takes, and it
        // is not told: they would be lost, again and again, until the link takes the path for a narrow one.
        loopback.mtu_discovery_config(Some(mtu)).enable_segmentation_offload(false);
        Self { network: Arc::new(network), loopback: Arc::new(loopback) }
    }

    fn to(&self, address: IpAddr) -> Arc<TransportConfig> {
        Arc::clone(if address.is_loopback() { &self.loopback } else { &self.network })
    }

    /// The same server for peers on the loopback.
    fn on_loopback(&self, server: &ServerConfig) -> ServerConfig {
        let mut server = server.clone();
        server.transport_config(Arc::clone(&self.loopback));
        server
    }
}

fn transport(options: &Options) -> TransportConfig {
    let mut transport = TransportConfig::default();
    // One more, for the greeting.
    let streams = u32::try_from(options.streams.len()).unwrap_or(u32::MAX).saturating_add(1);
    transport
        .max_concurrent_uni_streams(streams.into())
        .max_concurrent_bidi_streams(0_u8.into())
        .datagram_receive_buffer_size(None)
        .stream_receive_window(options.window.get().into())
        .receive_window(options.window.get().into())
        .send_window(options.window.get().into())
        .max_idle_timeout(Some(IdleTimeout::from(IDLE)))
        .keep_alive_interval(Some(KEEP_ALIVE));
    transport
}

impl Dialler {
    pub(crate) async fn dial(
        &self,
        peer: PeerKey,
        address: SocketAddr,
    ) -> Result<Connection, LinkError> {
        let lost = |error: &dyn std::fmt::Display| LinkError::Lost(error.to_string());
        let client = tls::client(&self.key, peer).map_err(|error| lost(&error))?;
        let mut config = ClientConfig::new(Arc::new(client));
        config.transport_config(self.transport.to(address.ip()));
        let connecting = self.endpoint.connect_with(config, address, tls::NAME);
        let connecting = connecting.map_err(|error| lost(&error))?;
        Ok(timeout(PATIENCE, connecting).await.map_err(|_| LinkError::Silent)??)
    }
}

async fn listen(
    endpoint: Endpoint,
    loopback: Arc<ServerConfig>,
    directory: Directory,
    doors: Doors,
) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
    let rates = RateLimiter::keyed(Quota::per_second(RATE));
    let mut begun = 0_u32;
    while let Some(incoming) = endpoint.accept().await {
        begun = begun.wrapping_add(1);
        if begun.is_multiple_of(FORGET) {
            rates.retain_recent();
            rates.shrink_to_fit();
        }
        let Some(incoming) = admit(incoming, &rates) else { continue };
        let Ok(turn) = Arc::clone(&handshakes).try_acquire_owned() else {
            incoming.refuse();
            continue;
        };
        let (directory, doors) = (directory.clone(), Arc::clone(&doors));
        let connecting = match incoming.remote_address().ip().is_loopback() {
            true => incoming.accept_with(Arc::clone(&loopback)),
            false => incoming.accept(),
        };
        tokio::spawn(async move {
            if let Ok(connecting) = connecting
                && let Ok(Ok(connection)) = timeout(PATIENCE, connecting).await
            {
                hand_over(connection, &directory, &doors);
            }
            drop(turn);
        });
    }
}

/// Lets an address begin a handshake that has shown that it is its own, and that does not do so all the time.
fn admit(incoming: Incoming, rates: &DefaultKeyedRateLimiter<IpAddr>) -> Option<Incoming> {
    if !incoming.remote_address_validated() {
        // Cannot fail for an address that is not validated.
        let _ = incoming.retry();
        return None;
    }
    if rates.check_key(&network(incoming.remote_address().ip())).is_err() {
        incoming.refuse();
        return None;
    }
    Some(incoming)
}

/// What one subscriber has: of IPv6 addresses a network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

fn hand_over(connection: Connection, directory: &Directory, doors: &Doors) {
    let party = key_of(&connection).and_then(|key| directory.party(key));
    let doors = doors.lock().unwrap_or_else(PoisonError::into_inner);
    let door = party.and_then(|party| doors.get(&party));
    let Some(door) = door else {
        LinkError::NotMember.close(&connection);
        return;
    };
    // Full if the peer dials faster than its link takes connections up, as during a penalty.
    if let Err(error) = door.try_send(connection) {
        LinkError::Replaced.close(&error.into_inner());
    }
}

/// The key that the peer has proved to have.
pub(crate) fn key_of(connection: &Connection) -> Option<PeerKey> {
    let shown = connection.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    shown.first().and_then(|key| PeerKey::from_spki(key))
}
