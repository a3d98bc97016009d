//! Links between honest parties, and what liars make of them. Strangers are the business of `prefinal_net`.

use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_net::{LinkError, StreamId};
use prefinal_protocol::Recipient;
use prefinal_validator::setup::{self, Algorithm, Identity, Plan, Setup};
use prefinal_weighted_rounding::{Ratio, Stake};
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::network::{Ends, Incoming, Letter, Outbox, WireMessage, connect_all};

/// Capital words take the beacon's stream.
type Text = Vec<u8>;

impl WireMessage for Text {
    fn stream(&self) -> StreamId {
        StreamId::new(u8::from(self.first().is_some_and(u8::is_ascii_uppercase)))
    }
}

const SOON: Duration = Duration::from_secs(20);

fn committee(seed: u64) -> (Arc<Setup>, Vec<Identity>) {
    let stakes = vec![Stake::new(1); 4];
    let plan = Plan::new(stakes, Algorithm::Tight, Ratio::new(9, 10).unwrap()).unwrap();
    let (setup, identities) = setup::found(&plan, seed).unwrap();
    (Arc::new(setup), identities)
}

fn ends(delay: impl Fn(Party, Party) -> Duration) -> Vec<Ends<Text>> {
    let (setup, identities) = committee(1);
    connect_all(&setup, &identities, delay).unwrap()
}

fn letter(to: Recipient<Party>, words: &[u8]) -> Letter<Text> {
    Letter { to, rank: 0, message: words.to_vec() }
}

fn say(from: &Outbox, words: &[u8]) {
    from.deliver(&[letter(Recipient::All, words)]);
}

async fn heard(inbox: &mut Receiver<Incoming<Text>>) -> (Party, Vec<Text>) {
    match timeout(SOON, inbox.recv()).await.expect("in time").expect("open") {
        Incoming::Frame { frame, messages } => (frame.from, messages),
        Incoming::Sync(frame) => panic!("{} asks", frame.from),
        Incoming::Dropped { peer, reason } => panic!("{peer} dropped: {reason}"),
    }
}

/// Every party hears the frames of every other one in their order.
async fn in_order(mut ends: Vec<Ends<Text>>) {
    for (party, (outbox, _)) in (0_u8..).zip(&ends) {
        (0..20).for_each(|number| say(outbox, &[party, number]));
    }
    ends[1].0.deliver(&[
        letter(Recipient::One(Party::new(3)), b"to you"),
        letter(Recipient::All, b"to all"),
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

#[tokio::test]
async fn frames_arrive_in_order_from_whom_they_are() {
    in_order(ends(|_, _| Duration::ZERO)).await;
}

#[tokio::test]
async fn frames_that_travel_arrive_in_order_and_not_before_their_time() {
    let far = |from: Party, to: Party| Duration::from_millis((from.get() + to.get()).into());
    in_order(ends(far)).await;
    let mut ends = ends(|_, _| Duration::from_millis(80));
    let started = tokio::time::Instant::now();
    say(&ends[0].0, b"hello");
    assert_eq!(heard(&mut ends[1].1).await, (Party::new(0), vec![b"hello".to_vec()]));
    assert!(started.elapsed() >= Duration::from_millis(80));
}

#[tokio::test]
async fn each_kind_of_message_takes_its_stream() {
    let mut ends = ends(|_, _| Duration::ZERO);
    let letters = [b"block".to_vec(), b"PARTIAL".to_vec(), b"vote".to_vec()];
    ends[0].0.deliver(&letters.map(|word| letter(Recipient::All, &word)));
    let mut frames = Vec::new();
    for _ in 0..2 {
        match timeout(SOON, ends[1].1.recv()).await.unwrap().unwrap() {
            Incoming::Frame { frame, messages } => frames.push((frame.stream.get(), messages)),
            Incoming::Sync(frame) => panic!("{} asks", frame.from),
            Incoming::Dropped { peer, reason } => panic!("{peer} dropped: {reason}"),
        }
    }
    frames.sort();
    let consensus = vec![b"block".to_vec(), b"vote".to_vec()];
    assert_eq!(frames, [(0, consensus), (1, vec![b"PARTIAL".to_vec()])]);
}

#[tokio::test]
async fn a_peer_that_sends_garbage_is_named_once_a_connection_and_cut_off() {
    let mut ends = ends(|_, _| Duration::ZERO);
    say(&ends[0].0, b"sound");
    assert_eq!(heard(&mut ends[3].1).await.0, Party::new(0));
    let links = ends[0].0.links().clone();
    for _ in 0..3 {
        let garbage = vec![255; 3].into();
        links.send(Recipient::One(Party::new(3)), StreamId::new(0), &garbage).unwrap();
    }
    let reason = match timeout(SOON, ends[3].1.recv()).await.unwrap().unwrap() {
        Incoming::Dropped { peer, reason } if peer == Party::new(0) => reason,
        Incoming::Dropped { peer, reason } => panic!("{peer} dropped: {reason}"),
        Incoming::Frame { frame, .. } | Incoming::Sync(frame) => {
            panic!("a frame of {}", frame.from)
        }
    };
    assert!(matches!(&reason, LinkError::Rejected(why) if why.contains("undecodable")));
    let told = async {
        loop {
            let status = links.status().remove(&Party::new(3)).unwrap();
            if let prefinal_net::State::Down { why: LinkError::Closed { reason, .. } } =
                status.state
            {
                return reason;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let told = timeout(SOON, told).await.unwrap();
    assert!(told.contains("undecodable"), "{told}");
    // Others are served meanwhile.
    say(&ends[1].0, b"hello");
    while heard_or_dropped(&mut ends[3].1).await != Some(Party::new(1)) {}
}

async fn heard_or_dropped(inbox: &mut Receiver<Incoming<Text>>) -> Option<Party> {
    match timeout(SOON, inbox.recv()).await.unwrap().unwrap() {
        Incoming::Frame { frame, .. } => Some(frame.from),
        Incoming::Sync(_) | Incoming::Dropped { .. } => None,
    }
}

#[tokio::test]
async fn each_rank_has_a_frame_and_the_lowest_leaves_first() {
    let mut ends = ends(|_, _| Duration::ZERO);
    let ranked = |rank, words| Letter { rank, ..letter(Recipient::All, words) };
    ends[0].0.deliver(&[ranked(2, b"c"), ranked(1, b"a"), ranked(2, b"d"), ranked(1, b"b")]);
    for expected in [[b"a", b"b"], [b"c", b"d"]] {
        assert_eq!(heard(&mut ends[1].1).await.1, expected);
    }
}

#[tokio::test]
async fn a_peer_that_does_not_read_gets_less_and_holds_nobody_up() {
    // More than what fits into the queue here, the room there, and what is on its way.
    const FRAMES: u32 = 500;
    let mut ends = ends(|_, _| Duration::ZERO);
    let word = vec![7; 1 << 20];
    for number in 0..FRAMES {
        let words = [number.to_be_bytes().as_slice(), &word].concat();
        ends[0].0.deliver(&[letter(Recipient::One(Party::new(1)), &words)]);
        tokio::task::yield_now().await;
    }
    // Party 2 is served all the same.
    ends[0].0.deliver(&[letter(Recipient::One(Party::new(2)), b"hello")]);
    assert_eq!(heard(&mut ends[2].1).await.1, [b"hello".to_vec()]);
    let refused = ends[0].0.links().status()[&Party::new(1)].refused;
    assert!(refused > 0, "a queue without bound");
    let mut numbers = Vec::new();
    for _ in 0..u64::from(FRAMES) - refused {
        let (_, messages) = heard(&mut ends[1].1).await;
        numbers.push(u32::from_be_bytes(messages[0][..4].try_into().unwrap()));
    }
    assert!(numbers.is_sorted());
}

#[tokio::test]
async fn a_key_of_somebody_else_has_no_links() {
    let (setup, _) = committee(1);
    let (_, strangers) = committee(2);
    assert!(connect_all::<Text>(&setup, &strangers, |_, _| Duration::ZERO).is_err());
}
