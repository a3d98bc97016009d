//! Links between processes' worth of parties on the loopback.
mod hostile;
mod lives;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use prefinal_protocol::{ChainId, Party, Recipient};
use tokio::time::timeout;

use crate::{
    DirectoryError, Inbox, Incoming, LinkError, LinkKey, LinkKeyError, Links, Options, Peer,
    PeerKey, SendError, StartError, State, StreamId, StreamOptions,
};

/// Longer than anything here takes; a test that waits for it fails.
const LONG: Duration = Duration::from_secs(60);
const LONGEST: usize = 1 << 16;
const MAX_FRAME: NonZeroU32 = NonZeroU32::new(1 << 16).unwrap();
const FIRST: StreamId = StreamId::new(0);
const SECOND: StreamId = StreamId::new(1);

fn seed(party: u8) -> [u8; 32] {
    [party + 1; 32]
}

fn public(party: u8) -> PeerKey {
    PeerKey::new(ed25519_consensus::SigningKey::from(seed(party)).verification_key().to_bytes())
}

fn key(party: u8) -> LinkKey {
    LinkKey::new(&seed(party), public(party)).unwrap()
}

fn party(number: u8) -> Party {
    Party::new(number.into())
}

fn options(me: u8) -> Options {
    const RATE: NonZeroU32 = NonZeroU32::new(1 << 30).unwrap();
    let stream = |name, priority| {
        StreamOptions::new(name, MAX_FRAME, RATE, priority).with_room(1 << 20, 1 << 18)
    };
    Options {
        me: party(me),
        chain: ChainId::new([7; 32]),
        version: 1,
        agent: format!("test {me}"),
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        window: NonZeroU32::new(1 << 20).unwrap(),
        streams: vec![stream("first", 0), stream("second", 1)],
    }
}

fn member(number: u8, address: Option<SocketAddr>) -> (Party, Peer) {
    (party(number), Peer { key: public(number), address })
}

/// A party at work.
struct Node {
    links: Links,
    inbox: Inbox,
}

impl Node {
    fn start(me: u8, members: impl IntoIterator<Item = (Party, Peer)>) -> Self {
        Self::with(options(me), key(me), members)
    }

    fn with(
        options: Options,
        key: LinkKey,
        members: impl IntoIterator<Item = (Party, Peer)>,
    ) -> Self {
        let (links, inbox) = Links::start(key, options, members.into_iter().collect()).unwrap();
        Self { links, inbox }
    }

    /// A party that is back where it was. The socket of its former life closes in the background.
    async fn again(me: u8, listen: SocketAddr, members: BTreeMap<Party, Peer>) -> Self {
        loop {
            match Links::start(key(me), Options { listen, ..options(me) }, members.clone()) {
                Ok((links, inbox)) => return Self { links, inbox },
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        Some(self.links.address().unwrap())
    }

    async fn next(&mut self) -> Incoming {
        timeout(LONG, self.inbox.recv()).await.unwrap().unwrap()
    }

    /// The next frame; what happens to links before it is passed over.
    async fn frame(&mut self) -> (Party, StreamId, Bytes) {
        loop {
            if let Incoming::Frame(frame) = self.next().await {
                return (frame.from, frame.stream, frame.content);
            }
        }
    }

    async fn down(&mut self) -> LinkError {
        loop {
            if let Incoming::Down { why, .. } = self.next().await {
                return why;
            }
        }
    }

    async fn up(&mut self) -> String {
        loop {
            if let Incoming::Up { agent, .. } = self.next().await {
                return agent;
            }
        }
    }

    fn state(&self, of: u8) -> State {
        self.links.status()[&party(of)].state.clone()
    }

    fn tell(&self, to: u8, stream: StreamId, content: &[u8]) {
        let content = Bytes::copy_from_slice(content);
        self.links.send(Recipient::One(party(to)), stream, &content).unwrap();
    }
}

/// Parties 0 and 1, of which 0 dials.
fn pair() -> (Node, Node) {
    let one = Node::start(1, [member(0, None)]);
    (Node::start(0, [member(1, one.address())]), one)
}

#[tokio::test]
async fn frames_go_both_ways_in_the_order_of_their_stream() {
    let (mut zero, mut one) = pair();
    let longest = vec![9; LONGEST];
    for content in [b"".as_slice(), b"a", &longest, b"z"] {
        zero.tell(1, FIRST, content);
        one.tell(0, SECOND, content);
    }
    for content in [b"".as_slice(), b"a", &longest, b"z"] {
        assert_eq!(one.frame().await, (party(0), FIRST, Bytes::copy_from_slice(content)));
        assert_eq!(zero.frame().await, (party(1), SECOND, Bytes::copy_from_slice(content)));
    }
    let State::Up { agent, address } = zero.state(1) else { panic!("{:?}", zero.state(1)) };
    assert_eq!((agent.as_str(), Some(address)), ("test 1", one.address()));
    let status = &one.links.status()[&party(0)];
    assert_eq!((status.received, status.sent), (4 * 4 + 2 + 65536, 4 * 4 + 2 + 65536));
    assert!(status.datagrams > status.sent, "QUIC adds something: {status:?}");
}

/// What is lost is sent again, so it counts twice.
#[tokio::test]
async fn a_burst_on_the_loopback_is_not_lost() {
    const FRAMES: usize = 15;
    let (zero, mut one) = pair();
    for _ in 0..8 {
        for _ in 0..FRAMES {
            zero.tell(1, FIRST, &vec![7; LONGEST]);
        }
        for _ in 0..FRAMES {
            one.frame().await;
        }
    }
    let status = &zero.links.status()[&party(1)];
    assert!(status.datagrams < status.sent + status.sent / 16, "{status:?}");
}

#[tokio::test]
async fn a_broadcast_reaches_all_members() {
    let (mut others, mut members) = (Vec::new(), vec![member(0, None)]);
    for me in [1, 2, 3] {
        let node = Node::start(me, [member(0, None)]);
        members.push(member(me, node.address()));
        others.push(node);
    }
    let zero = Node::start(0, members);
    zero.links.send(Recipient::All, SECOND, &"hear".into()).unwrap();
    for node in &mut others {
        assert_eq!(node.frame().await, (party(0), SECOND, "hear".into()));
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    let zero = Node::start(0, [member(1, None)]);
    let send = |to, stream, length| {
        zero.links.send(Recipient::One(party(to)), stream, &vec![0; length].into())
    };
    assert_eq!(send(0, FIRST, 1), Err(SendError::NoLink(party(0))));
    assert_eq!(send(2, FIRST, 1), Err(SendError::NoLink(party(2))));
    let third = StreamId::new(2);
    assert_eq!(send(1, third, 1), Err(SendError::NoStream(third)));
    let (got, limit) = (65537, MAX_FRAME.get());
    assert_eq!(send(1, FIRST, got), Err(SendError::TooLong { got, limit }));
    // The peer is away: its queue fills, and one peer's full queue is no other's.
    let taken = (0..).take_while(|_| send(1, FIRST, 1 << 16).is_ok()).count();
    assert_eq!(taken, 15);
    assert!(matches!(send(1, FIRST, 1 << 16), Err(SendError::Full { limit: 0x10_0000, .. })));
    let status = &zero.links.status()[&party(1)];
    assert_eq!((status.refused, status.waiting), (2, 15 * (65536 + 64)));
    // Empty frames cost something as well.
    let empty = (0..).take_while(|_| send(1, SECOND, 0).is_ok()).count();
    assert_eq!(empty, (1 << 20) / 64);
}

#[tokio::test]
async fn a_process_says_why_it_does_not_start() {
    let (one, mut other) = (member(1, None), member(2, None));
    other.1.key = one.1.key;
    let twice = Links::start(key(0), options(0), BTreeMap::from([one, other])).err().unwrap();
    let same = DirectoryError::SameKey { first: party(1), second: party(2) };
    assert!(matches!(twice, StartError::Directory(error) if error == same));
    let taken = Node::start(0, []);
    let listen = taken.address().unwrap();
    let in_use = Links::start(key(1), Options { listen, ..options(1) }, BTreeMap::new());
    assert!(in_use.err().unwrap().to_string().contains(&listen.to_string()));
    let streams = vec![options(0).streams[0].clone(); 256];
    let many = Links::start(key(1), Options { streams, ..options(1) }, BTreeMap::new());
    assert!(matches!(many.err().unwrap(), StartError::TooManyStreams(256)));
}

#[test]
fn keys_are_checked_and_secrets_do_not_show() {
    let [one, two] = [1, 2].map(public);
    assert_eq!(LinkKey::new(&seed(1), two).err(), Some(LinkKeyError));
    assert_eq!(one.to_string().parse(), Ok(one));
    assert_eq!(PeerKey::from_spki(&one.spki()), Some(one));
    for wrong in ["", "0x00", &one.to_string()[1..], &format!("{one}00")] {
        assert!(wrong.parse::<PeerKey>().is_err(), "{wrong}");
    }
    let shown = format!("{:?}", key(1));
    assert!(shown.contains(&one.to_string()) && !shown.contains("0202"), "{shown}");
}
