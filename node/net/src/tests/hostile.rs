//! What strangers and members who break the rules achieve.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quinn::{ClientConfig, Connection, Endpoint, VarInt};
use tokio::net::UdpSocket;

use super::*;
use crate::hello::Hello;
use crate::tls;

/// A QUIC client with the key of `me` that does as it likes.
struct Raw {
    endpoint: Endpoint,
    config: ClientConfig,
}

impl Raw {
    fn new(me: u8, of: u8) -> Self {
        let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let config = ClientConfig::new(Arc::new(tls::client(&key(me), public(of)).unwrap()));
        Self { endpoint, config }
    }

    fn connecting(&self, to: SocketAddr) -> quinn::Connecting {
        self.endpoint.connect_with(self.config.clone(), to, tls::NAME).unwrap()
    }

    async fn connect(&self, to: &Node) -> Connection {
        self.connecting(to.address().unwrap()).await.unwrap()
    }

    /// A connection on which everything is as it must be so far.
    async fn greeted(&self, to: &Node) -> Connection {
        let connection = self.connect(to).await;
        Hello::of(&options(0)).exchange(&connection).await.unwrap();
        connection
    }
}

async fn say(connection: &Connection, bytes: &[u8]) -> quinn::SendStream {
    let mut stream = connection.open_uni().await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// What the hostile end is told.
async fn farewell(connection: &Connection) -> (VarInt, String) {
    match timeout(LONG, connection.closed()).await.unwrap() {
        quinn::ConnectionError::ApplicationClosed(close) => {
            (close.error_code, String::from_utf8_lossy(&close.reason).into())
        }
        other => panic!("{other}"),
    }
}

/// Stays connected, and gets frames through.
async fn is_well(zero: &Node, one: &mut Node) {
    zero.tell(1, SECOND, b"well");
    assert_eq!(one.frame().await, (party(0), SECOND, "well".into()));
}

#[tokio::test]
async fn a_strangers_handshake_fails() {
    let one = Node::start(1, [member(0, None)]);
    let raw = Raw::new(5, 1);
    let connection = raw.connect(&one).await;
    // TLS 1.3 lets a client end first; that it is refused comes at once.
    let why = timeout(LONG, connection.closed()).await.unwrap();
    assert!(matches!(why, quinn::ConnectionError::ConnectionClosed(_)), "{why}");
    assert_eq!(one.state(0), State::New);
}

#[tokio::test]
async fn a_members_public_key_is_not_enough() {
    let one = Node::start(1, [member(0, None)]);
    // It shows party 0's key and signs with its own.
    let (mut shown, own) = (key(0), key(5));
    let [public] = shown.certified.cert.as_slice() else { panic!("one key") };
    let signer = Arc::clone(&own.certified.key);
    shown.certified = Arc::new(rustls::sign::CertifiedKey::new(vec![public.clone()], signer));
    let config = ClientConfig::new(Arc::new(tls::client(&shown, crate::tests::public(1)).unwrap()));
    let raw = Raw { config, ..Raw::new(5, 1) };
    let connection = raw.connect(&one).await;
    let why = timeout(LONG, connection.closed()).await.unwrap();
    assert!(matches!(why, quinn::ConnectionError::ConnectionClosed(_)), "{why}");
    assert_eq!(one.state(0), State::New);
}

#[tokio::test]
async fn a_peer_that_answers_with_another_key_is_not_talked_to() {
    // Party 5 sits at the address of party 1, and party 0 is a member to it.
    let five = Node::start(5, [member(0, None)]);
    let zero = Node::start(0, [member(1, five.address())]);
    zero.tell(1, FIRST, b"secret");
    let why = loop {
        if let State::Down { why } = zero.state(1) {
            break why;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    assert!(matches!(why, LinkError::Lost(_)), "{why}");
    assert!(!matches!(five.state(0), State::Up { .. }));
}

#[tokio::test]
async fn another_version_and_another_chain_are_told_so() {
    type Change = fn(&mut Options);
    let version: Change = |options| options.version = 2;
    let chain: Change = |options| options.chain = ChainId::new([8; 32]);
    for (change, code, text) in [(version, 1, "version 2"), (chain, 2, "is on chain")] {
        let one = Node::start(1, [member(0, None)]);
        let mut other = options(0);
        change(&mut other);
        let mut zero = Node::with(other, key(0), [member(1, one.address())]);
        let mut one = one;
        let (here, there) = (zero.down().await, one.down().await);
        for why in [&here, &there] {
            let is_told = match why {
                LinkError::Closed { code: told, .. } => *told == code,
                own => u64::from(own.close_code()) == code,
            };
            assert!(is_told && why.is_mismatch(), "{why}");
        }
        assert!([here, there].iter().any(|why| why.to_string().contains(text)));
        assert!(!matches!(one.state(0), State::Up { .. }));
    }
}

#[tokio::test]
async fn a_greeting_that_is_none_ends_the_connection() {
    for bytes in [b"".as_slice(), &[0; 33], &[0xff; 35], &[0; 1 << 16]] {
        let mut one = Node::start(1, [member(0, None)]);
        let raw = Raw::new(0, 1);
        let connection = raw.connect(&one).await;
        let _ = say(&connection, bytes).await.finish();
        assert_eq!(one.down().await, LinkError::Hello);
        assert_eq!(farewell(&connection).await.0, VarInt::from_u32(3));
    }
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_given_up() {
    let mut one = Node::start(1, [member(0, None)]);
    let raw = Raw::new(0, 1);
    let connection = raw.connect(&one).await;
    assert_eq!(one.down().await, LinkError::Silent);
    assert_eq!(farewell(&connection).await.0, VarInt::from_u32(7));
}

#[tokio::test]
async fn broken_rules_end_the_connection_with_a_reason() {
    let too_long = [&[0][..], &65537_u32.to_be_bytes()].concat();
    let cut_short = [&[0][..], &8_u32.to_be_bytes(), b"short"].concat();
    let (got, limit) = (65537, 65536);
    for (bytes, ends, expected) in [
        (too_long, false, LinkError::TooLong { stream: FIRST, got, limit }),
        (cut_short, true, LinkError::BrokenStream(0)),
        (vec![0], true, LinkError::BrokenStream(0)),
        (vec![2], false, LinkError::UnknownStream(2)),
        (vec![], true, LinkError::Hello),
    ] {
        let mut one = Node::start(1, [member(0, None)]);
        let raw = Raw::new(0, 1);
        let connection = raw.greeted(&one).await;
        let mut stream = say(&connection, &bytes).await;
        if ends {
            stream.finish().unwrap();
        }
        // Nothing of it arrives as a frame.
        assert!(matches!(one.next().await, Incoming::Up { .. }));
        let Incoming::Down { why, .. } = one.next().await else { panic!("{expected}") };
        assert_eq!(why, expected);
        let told = farewell(&connection).await;
        assert_eq!(told, (VarInt::from_u32(expected.close_code()), expected.to_string()));
    }
}

#[tokio::test]
async fn no_stream_begins_twice() {
    let mut one = Node::start(1, [member(0, None)]);
    let raw = Raw::new(0, 1);
    let connection = raw.greeted(&one).await;
    let _streams = [say(&connection, &[1]).await, say(&connection, &[1]).await];
    assert_eq!(one.down().await, LinkError::BrokenStream(1));
}

#[tokio::test]
async fn a_frame_that_never_comes_holds_up_nobody_else() {
    let mut one = Node::start(1, [member(0, None), member(2, None)]);
    let raw = Raw::new(2, 1);
    let connection = raw.connect(&one).await;
    Hello::of(&options(2)).exchange(&connection).await.unwrap();
    let _open = say(&connection, &[&[0][..], &65536_u32.to_be_bytes()].concat()).await;
    let zero = Node::start(0, [member(1, one.address())]);
    is_well(&zero, &mut one).await;
    // Not even its own other stream.
    let _other = say(&connection, &[&[1][..], &2_u32.to_be_bytes(), b"ok"].concat()).await;
    assert_eq!(one.frame().await, (party(2), SECOND, "ok".into()));
}

#[tokio::test]
async fn a_peer_that_is_not_read_has_to_wait_and_others_do_not() {
    let mut one = Node::start(1, [member(0, None), member(2, None)]);
    let two = Node::start(2, [member(1, one.address())]);
    // Party 1 dials party 2, which does not know where party 1 is.
    one.links.set_members(BTreeMap::from([member(0, None), member(2, two.address())])).unwrap();
    let content: Bytes = vec![7; 1 << 16].into();
    let mut held = Vec::new();
    let mut sent = 0;
    // Until everything on the way is full: its queue, the connection's window, the inbox here.
    while two.links.status()[&party(1)].refused < 100 {
        sent += u64::from(two.links.send(Recipient::All, FIRST, &content).is_ok());
        tokio::task::yield_now().await;
        while let Ok(incoming) = one.inbox.try_recv() {
            held.push(incoming);
        }
    }
    let frames = held.iter().filter(|incoming| matches!(incoming, Incoming::Frame(_))).count();
    assert!(frames <= (1 << 18) / (1 << 16), "{frames} frames of {sent} in the inbox");
    let zero = Node::start(0, [member(1, one.address())]);
    is_well(&zero, &mut one).await;
    // Once they are dropped, all that was taken arrives.
    drop(held);
    for _ in u64::try_from(frames).unwrap()..sent {
        assert_eq!(one.frame().await, (party(2), FIRST, content.clone()));
    }
}

#[tokio::test]
async fn a_peer_that_sends_too_fast_is_read_at_its_rate() {
    let mut slow = options(1);
    slow.streams[0].rate = NonZeroU32::MIN;
    let mut one = Node::with(slow, key(1), [member(0, None)]);
    let zero = Node::start(0, [member(1, one.address())]);
    // A longest frame may come at once. The next would be read in 18 hours.
    let longest = vec![1; LONGEST];
    zero.tell(1, FIRST, &longest);
    zero.tell(1, FIRST, &longest);
    assert_eq!(one.frame().await.2, longest);
    for _ in 0..20 {
        is_well(&zero, &mut one).await;
    }
}

/// Passes everything on to `to`, and of its answers only those that ask for an address to be confirmed; how
/// many there were.
async fn relay(to: SocketAddr) -> (SocketAddr, Arc<AtomicU64>) {
    const RETRY: u8 = 0xf0;
    let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    back.connect(to).await.unwrap();
    let (address, retries) = (front.local_addr().unwrap(), Arc::<AtomicU64>::default());
    let counter = Arc::clone(&retries);
    tokio::spawn(async move {
        let (mut there, mut here) = ([0; 2048], [0; 2048]);
        let mut client = None;
        loop {
            tokio::select! {
                Ok((length, from)) = front.recv_from(&mut there) => {
                    client = Some(from);
                    let _ = back.send(&there[..length]).await;
                }
                Ok(length) = back.recv(&mut here) => {
                    if let Some(client) = client.filter(|_| here[0] & 0xf0 == RETRY) {
                        counter.fetch_add(1, Ordering::Relaxed);
                        let _ = front.send_to(&here[..length], client).await;
                    }
                }
            }
        }
    });
    (address, retries)
}

#[tokio::test]
async fn ten_thousand_handshakes_that_never_end_hold_up_nobody() {
    let (zero, mut one) = pair();
    is_well(&zero, &mut one).await;
    let (relay, retries) = relay(one.address().unwrap()).await;
    let raw = Raw::new(5, 1);
    let mut open = std::collections::VecDeque::new();
    for number in 0..10_000 {
        open.push_back(raw.connecting(relay));
        if open.len() > 500 {
            open.pop_front();
        }
        if number % 100 == 0 {
            is_well(&zero, &mut one).await;
        }
    }
    // Each address had to be confirmed before anything was remembered of it.
    assert!(retries.load(Ordering::Relaxed) > 100);
    // And strangers' packets that are nothing at all.
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    for number in 0..10_000_u32 {
        let packet = [0xc0, 0, 0, 0, 1, 8].into_iter().chain(number.to_be_bytes());
        let packet: Vec<u8> = packet.chain([0; 1200]).collect();
        let _ = socket.send_to(&packet, one.address().unwrap()).await;
    }
    is_well(&zero, &mut one).await;
    // A member that comes back is let in.
    let listen = zero.address().unwrap();
    zero.links.close().await;
    drop(zero);
    let zero = Node::again(0, listen, BTreeMap::from([member(1, one.address())])).await;
    is_well(&zero, &mut one).await;
}
