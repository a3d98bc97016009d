//! One engine and blocks for others, transactions, configuration, raw bytes.

use ::prefinal_engine::Pace;
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Machine, Recipient};
use sha2::{Digest, Sha256};

use super::bench::{Bench, FOUR, malformed, proposals, votes};
use super::{Forger, at, config, context, members, ms, secret};
use crate::block::{BlockId, Round, Transaction};
use crate::config::{Config, ConfigError};
use crate::engine::{Effect, Input, Jolteon, Output, SubmitError};
use crate::message::{Message, Request, Response, ShapeError, Status};
use crate::records::Records;

/// Length and head of the SHA-256 of each specimen's encoding.
const PINNED: [&str; 9] = [
    "193 56ebcd315b1ba5e0",
    "318 17aa3eeb366e9ae9",
    "89 130751615f2272dd",
    "143 7a6d15a7fe815ee1",
    "238 24bede4017c95259",
    "182 29078046204b2419",
    "14 a6b18d4eb6775ee1",
    "41 4a24184f116c7cf7",
    "195 403252c9f27f7671",
];

#[test]
fn only_blocks_that_are_wanted_are_taken() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(2);
    let unwanted = Message::Response(Response { blocks: vec![chain[1].0.clone()] });
    bench.receive(1, unwanted.clone());
    bench.status(&chain[1].1);
    let other = bench.forger.block(2, &chain[0].1, &[b"another"]);
    bench.receive(1, Message::Response(Response { blocks: vec![other, chain[0].0.clone()] }));
    assert!(bench.engine.tree.block(chain[1].1.block).is_none());
    bench.receive(1, unwanted);
    assert!(bench.engine.tree.block(chain[1].1.block).is_some());
}

#[test]
fn a_wanted_block_is_taken_from_a_late_proposal() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(1);
    bench.status(&chain[0].1);
    let genesis = bench.forger.genesis();
    let outputs = bench.receive(1, bench.forger.proposal(&chain[0].0, &genesis, None));
    assert_eq!(votes(&outputs), []);
    assert!(bench.engine.tree.block(chain[0].1.block).is_some());
    assert!(!bench.engine.fetch.is_wanted(chain[0].1.block));
}

#[test]
fn one_peer_cannot_fill_the_job_queue() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(1);
    let mut jobs = 0;
    for number in 0..100_u64 {
        let other = bench.forger.block(5, &chain[0].1, &[&number.to_be_bytes()]);
        let tc = bench.forger.tc(4, &[(1, 1), (2, 1), (3, 1)]);
        let message = bench.forger.proposal(&other, &chain[0].1, Some(&tc));
        bench.engine.handle(bench.now, Input::Received { from: Party::new(1), message });
        jobs += std::iter::from_fn(|| bench.engine.poll())
            .filter(|output| matches!(output, Output::Do(Effect::Check(_))))
            .count();
    }
    let held = format!("{:?}", bench.engine.jobs).matches("Proposal(Proposal").count();
    assert_eq!((jobs, held), (1, 16), "they all wait for one certificate");
}

#[test]
fn a_leader_takes_what_was_submitted_anywhere_and_repeats_nothing() {
    let mut bench = Bench::new(&FOUR);
    let chain = bench.chain(3);
    let mut parent = bench.forger.genesis();
    let carried = Transaction::new(1_u64.to_be_bytes().to_vec());
    let gossip = vec![carried.clone(), Transaction::new(b"theirs".to_vec())];
    bench.receive(2, Message::Transactions(gossip));
    let outputs = bench.input(Input::Submit(Transaction::new(b"mine".to_vec())));
    assert!(matches!(
        &outputs[..],
        [Output::Do(Effect::Send { to: Recipient::All, message: Message::Transactions(all) })] if all.len() == 1
    ));
    for (block, qc) in &chain {
        let author = block.author().get();
        bench.receive(author, bench.forger.proposal(block, &parent, None));
        parent = qc.clone();
    }
    let proposed = proposals(&bench.status(&parent));
    let payload: Vec<_> =
        proposed[0].block.payload().iter().map(|transaction| &transaction.bytes()[..]).collect();
    assert_eq!(payload, [&b"theirs"[..], b"mine"]);
}

#[test]
fn a_transaction_that_cannot_be_taken_is_refused_with_a_reason() {
    let mut bench = Bench::new(&FOUR);
    let large = Transaction::new(vec![0; 997]);
    let (what, got, most) = ("transaction bytes", 1001, 1000);
    let error = SubmitError::TooLarge(ShapeError::TooMuch { what, got, most });
    assert_eq!(bench.engine.may_submit(&large), Err(error));
    assert!(bench.input(Input::Submit(large.clone())).is_empty());
    let gossip = bench.receive(1, Message::Transactions(vec![large]));
    assert_eq!(malformed(&gossip), ShapeError::TooMuch { what, got, most });
    for i in 0..2 {
        bench.input(Input::Submit(Transaction::new(vec![i; 900])));
    }
    let more = Transaction::new(vec![3; 900]);
    assert_eq!(bench.engine.may_submit(&more), Err(SubmitError::Full { bytes: 904 }));
    let crowd = vec![Transaction::new(vec![]); 1025];
    let shape = malformed(&bench.receive(1, Message::Transactions(crowd)));
    assert_eq!(shape, ShapeError::TooMuch { what: "transactions", got: 1025, most: 1024 });
}

#[test]
fn a_leader_may_take_its_time() {
    let mut engine = {
        let config = Config { pace: Pace { pause: ms(100), ..Pace::NONE }, ..config(&FOUR, 1) };
        Jolteon::new(config, secret(1), Records::default()).unwrap()
    };
    engine.handle(at(0), Input::Start);
    assert!(engine.poll().is_none());
    assert_eq!(engine.wake_at(), Some(at(100)));
    engine.handle(at(100), Input::Tick);
    let outputs: Vec<_> = std::iter::from_fn(|| engine.poll()).collect();
    assert_eq!(proposals(&outputs).len(), 1);
}

#[test]
fn nothing_happens_before_the_start() {
    let mut engine = Jolteon::new(config(&FOUR, 0), secret(0), Records::default()).unwrap();
    let forger = Forger::new(&FOUR);
    let message = forger.vote(1, 1, BlockId::new([1; 32]));
    engine.handle(at(0), Input::Received { from: Party::new(1), message });
    engine.handle(at(9999), Input::Tick);
    assert!(engine.poll().is_none() && engine.wake_at().is_none());
}

#[test]
fn an_engine_is_not_started_from_nonsense() {
    let start = |config: Config, key: u32| {
        Jolteon::new(config, secret(key), Records::default()).unwrap_err()
    };
    let (me, good) = (Party::new(4), config(&FOUR, 0));
    let error = ConfigError::NotAMember { me, members: 4 };
    assert_eq!(start(Config { me, ..good.clone() }, 0), error);
    assert_eq!(start(good.clone(), 1), ConfigError::WrongKey { me: Party::new(0) });
    assert_eq!(start(Config { timeout: ms(0), ..good.clone() }, 0), ConfigError::Timeout);
    let error = ConfigError::BlockBytes { got: 0 };
    assert_eq!(start(Config { max_block_bytes: 0, ..good }, 0), error);
    let usual = Config::new(context(0), Party::new(0), members(&FOUR));
    assert!(Jolteon::new(usual, secret(0), Records::default()).is_ok());
}

/// One message of each kind.
fn specimens(forger: &Forger) -> Vec<Message> {
    let genesis = forger.genesis();
    let block = forger.block(1, &genesis, &[b"one", b"two"]);
    let id = forger.id(&block);
    let qc = forger.qc(1, id, &[1, 2, 3]);
    let tc = forger.tc(2, &[(0, 1), (1, 0), (3, 1)]);
    let third = forger.block(3, &qc, &[]);
    vec![
        forger.proposal(&block, &genesis, None),
        forger.proposal(&third, &qc, Some(&tc)),
        forger.vote(2, 1, id),
        forger.order_vote(3, &qc),
        forger.timeout(1, 3, &qc, Some(&tc)),
        Message::Status(Box::new(Status { qc, tc: Some(tc) })),
        Message::Transactions(vec![Transaction::new(b"three".to_vec())]),
        Message::Request(Request { block: id, above: Round::GENESIS }),
        Message::Response(Response { blocks: vec![third, block] }),
    ]
}

#[test]
fn the_encoding_of_every_message_is_pinned() {
    let specimens = specimens(&Forger::new(&FOUR));
    let digests: Vec<String> = specimens
        .iter()
        .map(|message| {
            let bytes = borsh::to_vec(message).unwrap();
            let hash = Sha256::digest(&bytes);
            let head = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>();
            format!("{} {head}", bytes.len())
        })
        .collect();
    assert_eq!(digests, PINNED);
}

#[test]
fn bytes_from_a_peer_are_decoded_exactly_or_refused_and_never_panic() {
    let mut bench = Bench::new(&FOUR);
    for message in specimens(&Forger::new(&FOUR)) {
        let bytes = borsh::to_vec(&message).unwrap();
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(borsh::from_slice::<Message>(&longer).is_err());
        for place in 0..bytes.len() {
            assert!(borsh::from_slice::<Message>(&bytes[..place]).is_err());
            for flip in [0x01, 0x80, 0xff] {
                let mut flipped = bytes.clone();
                flipped[place] ^= flip;
                if let Ok(decoded) = borsh::from_slice::<Message>(&flipped) {
                    assert_eq!(borsh::to_vec(&decoded).unwrap(), flipped, "canonical");
                    let from = Party::new(u32::try_from(place % 4).unwrap());
                    bench.engine.handle(at(0), Input::Received { from, message: decoded });
                    while bench.engine.poll().is_some() {}
                }
            }
        }
    }
    assert_eq!(bench.engine.finalized(), Round::GENESIS);
}
