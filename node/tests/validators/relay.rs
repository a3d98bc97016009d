//! Distance between processes on one machine: a relay through which each pair's traffic passes, late, with loss,
//! or not at all.
//!
//! The kernel here has no delays to offer, so bytes wait in this process. A datagram that is lost is gone, and
//! QUIC sends it again. Bytes of TCP cannot be lost by a relay; they come as late as if TCP had sent them again.
//! A pair that is cut carries nothing: datagrams are dropped, connections stand still and new ones are closed.
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

/// What a datagram may have on the loopback.
const DATAGRAM: usize = 65_536;
/// How late a lost segment of TCP comes: its least time-out.
const AGAIN: Duration = Duration::from_millis(200);
/// Chunks on their way in one direction.
const ON_THE_WAY: usize = 4096;

/// The weather between two processes, which a test changes while they run.
pub(crate) struct Weather {
    delay: Duration,
    /// Lost of a thousand packets.
    loss: AtomicU32,
    cut: AtomicBool,
    drawn: AtomicU64,
    /// What has passed: datagrams without their headers, which are the links'.
    pub(crate) datagrams: AtomicU64,
    /// Bytes of connections, which are the engine's.
    pub(crate) streams: AtomicU64,
}

impl Weather {
    pub(crate) fn new(delay: Duration, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            delay,
            loss: AtomicU32::new(0),
            cut: AtomicBool::new(false),
            drawn: AtomicU64::new(seed),
            datagrams: AtomicU64::new(0),
            streams: AtomicU64::new(0),
        })
    }

    pub(crate) fn set_loss(&self, of_a_thousand: u32) {
        self.loss.store(of_a_thousand, Ordering::Relaxed);
    }

    pub(crate) fn set_cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::Relaxed);
    }

    fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    fn loses(&self) -> bool {
        let loss = self.loss.load(Ordering::Relaxed);
        if loss == 0 {
            return false;
        }
        // SplitMix64, one step for each packet.
        let mut drawn = self.drawn.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (drawn ^ (drawn >> 31)) % 1000 < u64::from(loss)
    }
}

/// Relays TCP to a target, and says where it listens.
pub(crate) async fn tcp(target: SocketAddr, weather: Arc<Weather>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let weather = Arc::clone(&weather);
            tokio::spawn(async move {
                if weather.is_cut() {
                    return;
                }
                let Ok(far) = TcpStream::connect(target).await else { return };
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                let (near_read, near_write) = near.into_split();
                let (far_read, far_write) = far.into_split();
                tokio::select! {
                    () = carry(near_read, far_write, &weather) => {}
                    () = carry(far_read, near_write, &weather) => {}
                }
            });
        }
    });
    Ok(address)
}

/// One direction of a connection, until it ends.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, weather: &Weather) {
    let (sender, mut chunks) = mpsc::channel::<(Instant, Vec<u8>)>(ON_THE_WAY);
    let read = async {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let late = if weather.loses() { AGAIN } else { Duration::ZERO };
            let chunk = (Instant::now() + weather.delay + late, buffer[..length].to_vec());
            weather.streams.fetch_add(length as u64, Ordering::Relaxed);
            if sender.send(chunk).await.is_err() {
                return;
            }
        }
        drop(sender);
        std::future::pending::<()>().await;
    };
    let write = async {
        while let Some((at, chunk)) = chunks.recv().await {
            sleep_until(at).await;
            while weather.is_cut() {
                sleep(Duration::from_millis(20)).await;
            }
            if to.write_all(&chunk).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = read => {}
        () = write => {}
    }
}

/// Relays datagrams to a target, and says where it listens. Each sender gets its own socket towards the
/// target, so that answers find back.
pub(crate) async fn udp(target: SocketAddr, weather: Arc<Weather>) -> io::Result<SocketAddr> {
    let near = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?);
    let address = near.local_addr()?;
    tokio::spawn(async move {
        let mut senders: BTreeMap<SocketAddr, mpsc::UnboundedSender<(Instant, Vec<u8>)>> =
            BTreeMap::new();
        let mut buffer = vec![0; DATAGRAM];
        loop {
            // A port that nobody listens at is told by an error of the next call.
            let Ok((length, from)) = near.recv_from(&mut buffer).await else { continue };
            if weather.is_cut() || weather.loses() {
                continue;
            }
            weather.datagrams.fetch_add(length as u64, Ordering::Relaxed);
            let datagram = (Instant::now() + weather.delay, buffer[..length].to_vec());
            let is_open = senders.get(&from).is_some_and(|sender| !sender.is_closed());
            if !is_open {
                let Ok(far) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await else { continue };
                let _ = far.connect(target).await;
                senders.insert(
                    from,
                    answer(Arc::new(far), Arc::clone(&near), from, Arc::clone(&weather)),
                );
            }
            if let Some(sender) = senders.get(&from) {
                let _ = sender.send(datagram);
            }
        }
    });
    Ok(address)
}

/// Both directions behind one sender's socket.
fn answer(
    far: Arc<UdpSocket>,
    near: Arc<UdpSocket>,
    sender: SocketAddr,
    weather: Arc<Weather>,
) -> mpsc::UnboundedSender<(Instant, Vec<u8>)> {
    let (out, mut outgoing) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let (back, mut incoming) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let to_target = Arc::clone(&far);
    tokio::spawn(async move {
        while let Some((at, datagram)) = outgoing.recv().await {
            sleep_until(at).await;
            let _ = to_target.send(&datagram).await;
        }
    });
    tokio::spawn(async move {
        while let Some((at, datagram)) = incoming.recv().await {
            sleep_until(at).await;
            let _ = near.send_to(&datagram, sender).await;
        }
    });
    tokio::spawn(async move {
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let Ok(length) = far.recv(&mut buffer).await else {
                // Nobody listens there now.
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            if weather.is_cut() || weather.loses() {
                continue;
            }
            weather.datagrams.fetch_add(length as u64, Ordering::Relaxed);
            let _ = back.send((Instant::now() + weather.delay, buffer[..length].to_vec()));
        }
    });
    out
}
