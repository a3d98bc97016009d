//! Links between honest parties, and what strangers and liars make of them.

use prefinal_protocol::Recipient;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::Bls;
use ::prefinal_jolteon::Jolteon;
use prefinal_crypto_core::access::Party;
use prefinal_weighted_rounding::{Ratio, Stake};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::handshake;
use super::link::{Incoming, LinkError, MAX_FRAME};
use super::network::{Outbox, Seats};
use super::soak;
use prefinal_lab::Failure;
use prefinal_validator::setup::{self, Algorithm, Identity, Plan, Setup};

type Text = Vec<u8>;
type End = (Outbox, Receiver<Incoming<Text>>);

const SOON: Duration = Duration::from_secs(20);

fn committee(seed: u64) -> (Arc<Setup>, Vec<Arc<Identity>>) {
    let stakes = vec![Stake::new(1); 4];
    let plan = Plan::new(stakes, Algorithm::Tight, Ratio::new(9, 10).unwrap()).unwrap();
    let (setup, identities) = setup::found(&plan, seed).unwrap();
    (Arc::new(setup), identities.into_iter().map(Arc::new).collect())
}

async fn ends(seats: &mut Seats<Text>, seed: u64) -> Vec<End> {
    let (setup, identities) = committee(seed);
    identities.iter().map(|identity| seats.connect(&setup, identity)).collect()
}

fn say(from: &Outbox, words: &[u8]) {
    from.deliver(&[(Recipient::All, words.to_vec())]);
}

/// The next thing that a party's links hand over.
async fn next(inbox: &mut Receiver<Incoming<Text>>) -> Incoming<Text> {
    timeout(SOON, inbox.recv()).await.expect("in time").expect("open")
}

async fn heard(inbox: &mut Receiver<Incoming<Text>>) -> (Party, Vec<Text>) {
    match next(inbox).await {
        Incoming::Frame { from, messages } => (from, messages),
        Incoming::Dropped { peer, reason } => panic!("{peer} dropped: {reason}"),
    }
}

#[tokio::test]
async fn frames_arrive_in_order_from_whom_they_are() {
    let mut seats = Seats::bind(4, None).await.unwrap();
    let mut ends = ends(&mut seats, 1).await;
    for (party, (outbox, _)) in (0_u8..).zip(&ends) {
        (0..20).for_each(|number| say(outbox, &[party, number]));
    }
    ends[1].0.deliver(&[
        (Recipient::One(Party::new(3)), b"to you".to_vec()),
        (Recipient::All, b"to all".to_vec()),
    ]);
    for (me, (_, inbox)) in (0_u32..).zip(&mut ends) {
        let mut from: Vec<Vec<Vec<Text>>> = vec![Vec::new(); 4];
        for _ in 0..61 - u32::from(me == 1) {
            let (who, messages) = heard(inbox).await;
            from[who.index()].push(messages);
        }
        for who in (0..4).filter(|who| *who != me) {
            let frames = &from[usize::try_from(who).unwrap()];
            let numbers: Vec<u8> = frames.iter().take(20).map(|frame| frame[0][1]).collect();
            assert_eq!(numbers, (0..20).collect::<Vec<_>>());
            assert!(frames.iter().take(20).all(|frame| u32::from(frame[0][0]) == who));
        }
        if me != 1 {
            let last = from[1].last().unwrap();
            let both = [b"to you".to_vec(), b"to all".to_vec()];
            assert_eq!(last[..], both[usize::from(me != 3)..]);
        }
    }
}

/// Both ends of one connection.
async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let dialled = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (dialled, listener.accept().await.unwrap().0)
}

#[tokio::test]
async fn a_hello_proves_who_dials_and_who_is_dialled() {
    let (setup, identities) = committee(1);
    let (foreign, strangers) = committee(2);
    let meet = async |dialler: &Identity, theirs: &Setup, meant: u32, acceptor: &Identity| {
        let (mut here, mut there) = connection().await;
        let dials = async {
            let dialled = handshake::dial(&mut here, theirs, dialler, Party::new(meant)).await;
            drop(here);
            dialled
        };
        let accepts = async {
            let accepted = handshake::accept(&mut there, &setup, acceptor).await;
            drop(there);
            accepted
        };
        tokio::join!(dials, accepts)
    };
    let (dialled, accepted) = meet(&identities[0], &setup, 2, &identities[2]).await;
    dialled.unwrap();
    assert_eq!(accepted.unwrap(), Party::new(0));
    // Somebody who knows all that is public, and no key.
    let (_, accepted) = meet(&strangers[0], &setup, 2, &identities[2]).await;
    assert!(matches!(accepted, Err(LinkError::Signature { claimed }) if claimed == Party::new(0)));
    // An acceptor that is not the party that was dialled.
    let (dialled, _) = meet(&identities[0], &setup, 2, &strangers[2]).await;
    assert!(matches!(dialled, Err(LinkError::Signature { claimed }) if claimed == Party::new(2)));
    // The same keys for another chain.
    let (dialled, _) = meet(&identities[0], &foreign, 2, &identities[2]).await;
    assert!(matches!(dialled, Err(LinkError::Signature { .. })));
    // Meant for another, or dialled by whom this party dials itself.
    let (_, accepted) = meet(&identities[0], &setup, 1, &identities[2]).await;
    assert!(matches!(accepted, Err(LinkError::NotForMe { .. })));
    let (_, accepted) = meet(&identities[3], &setup, 2, &identities[2]).await;
    assert!(matches!(accepted, Err(LinkError::Signature { claimed }) if claimed == Party::new(3)));
}

#[tokio::test]
async fn a_hello_cannot_be_said_again() {
    let (setup, identities) = committee(1);
    // Everything that party 0 says to party 2, overheard.
    let (mut here, mut there) = connection().await;
    let (mut wire, mut ear) = connection().await;
    let relay = async {
        let mut words = Vec::new();
        let mut hello = [0; 48];
        there.read_exact(&mut hello).await.unwrap();
        wire.write_all(&hello).await.unwrap();
        let mut reply = [0; 80];
        wire.read_exact(&mut reply).await.unwrap();
        there.write_all(&reply).await.unwrap();
        let mut proof = [0; 48];
        there.read_exact(&mut proof).await.unwrap();
        wire.write_all(&proof).await.unwrap();
        words.extend(hello);
        words.extend(proof);
        words
    };
    let (dialled, accepted, words) = tokio::join!(
        handshake::dial(&mut here, &setup, &identities[0], Party::new(2)),
        handshake::accept(&mut ear, &setup, &identities[2]),
        relay
    );
    dialled.unwrap();
    accepted.unwrap();
    let (mut again, mut door) = connection().await;
    again.write_all(&words).await.unwrap();
    let accepted = handshake::accept(&mut door, &setup, &identities[2]).await;
    assert!(matches!(accepted, Err(LinkError::Signature { .. })));
    let (mut other, mut door) = connection().await;
    other.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything\r\n").await.unwrap();
    assert!(matches!(
        handshake::accept(&mut door, &setup, &identities[2]).await,
        Err(LinkError::Magic)
    ));
}

/// Party 0 as a liar that knows its key, and party 3 as it should be; why the link is dropped.
async fn against_a_liar(frame: &[u8]) -> String {
    let (setup, identities) = committee(1);
    let mut seats = Seats::bind(4, None).await.unwrap();
    let address = seats.address(Party::new(3)).unwrap();
    seats.skip();
    let mut ends: Vec<End> =
        identities[1..].iter().map(|identity| seats.connect(&setup, identity)).collect();
    let (_outbox, mut inbox) = ends.pop().unwrap();
    let dial = async || {
        let mut stream = TcpStream::connect(address).await.unwrap();
        handshake::dial(&mut stream, &setup, &identities[0], Party::new(3)).await.unwrap();
        stream
    };
    let mut stream = dial().await;
    stream.write_all(frame).await.unwrap();
    let reason = match next(&mut inbox).await {
        Incoming::Dropped { peer, reason } => {
            assert_eq!(peer, Party::new(0));
            reason.to_string()
        }
        Incoming::Frame { from, .. } => panic!("a frame of {from}"),
    };
    let mut rest = Vec::new();
    let closed = timeout(SOON, stream.read_to_end(&mut rest)).await.expect("closed");
    assert!(closed.is_err() || rest.is_empty());
    // The same party may come back as it should be.
    let mut stream = dial().await;
    let bytes = borsh::to_vec(&[b"back".to_vec()].as_slice()).unwrap();
    stream.write_u32(u32::try_from(bytes.len()).unwrap()).await.unwrap();
    stream.write_all(&bytes).await.unwrap();
    assert_eq!(heard(&mut inbox).await, (Party::new(0), vec![b"back".to_vec()]));
    reason
}

#[tokio::test]
async fn a_frame_that_is_too_long_drops_the_link_before_it_is_read() {
    let announced = u32::try_from(MAX_FRAME + 1).unwrap().to_be_bytes();
    let reason = against_a_liar(&announced).await;
    assert!(reason.contains("at most"), "{reason}");
}

#[tokio::test]
async fn garbage_drops_the_link() {
    let reason = against_a_liar(&[0, 0, 0, 3, 255, 255, 255]).await;
    assert!(reason.contains("undecodable"), "{reason}");
}

#[tokio::test]
async fn who_does_not_read_gets_less_and_holds_nobody_up() {
    const FRAMES: u32 = 12_000;
    let mut seats = Seats::bind(4, None).await.unwrap();
    let mut ends = ends(&mut seats, 1).await;
    let word = vec![7; 8 << 10];
    for number in 0..FRAMES {
        let words = [number.to_be_bytes().as_slice(), &word].concat();
        ends[0].0.deliver(&[(Recipient::One(Party::new(1)), words)]);
        if number % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    // Party 2 is served all the same.
    ends[0].0.deliver(&[(Recipient::One(Party::new(2)), b"hello".to_vec())]);
    assert_eq!(heard(&mut ends[2].1).await.1, [b"hello".to_vec()]);
    let mut numbers = Vec::new();
    while let Ok(Some(Incoming::Frame { messages, .. })) =
        timeout(Duration::from_millis(500), ends[1].1.recv()).await
    {
        numbers.push(u32::from_be_bytes(messages[0][..4].try_into().unwrap()));
    }
    assert!(!numbers.is_empty() && numbers.is_sorted());
    assert!(numbers.len() < usize::try_from(FRAMES).unwrap(), "a queue without bound");
}

#[tokio::test]
async fn a_run_whose_beacons_are_refused_ends_with_the_reason() {
    let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
    let shape = prefinal_fixture::of_no_stakes(&plan.shape);
    let plan = plan.with_shape(shape);
    let run = soak::run::<Bls, Jolteon>(&plan, |_| ControlFlow::Continue(()));
    let ended = timeout(3 * SOON, run).await.expect("in time");
    let Err(Failure::BadInput(why)) = ended else { panic!("{ended:?}") };
    assert!(why.contains("stops: the beacon refuses its configuration"), "{why}");
}
