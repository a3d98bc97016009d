//! The encoding of messages, and bytes that are none.

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Slot;
use sha2::{Digest, Sha256};

use super::bench::{Bench, FOUR, Forger, at, batch, body, malformed, value, view};
use super::certify;
use crate::certificate::Stage;
use crate::engine::Input;
use crate::message::{BodyRequest, Commit, Message, ShapeError};
use crate::replica::message::ReplicaMessage;
use crate::replica::{ReplicaInput, ReplicaRecord};
use prefinal_protocol::Machine;

fn specimens(forger: &Forger) -> Vec<Message> {
    let block = body(&[b"pay", b""]);
    let spread = batch(&[b"pay", b""]);
    let (label, certificate) = (spread.label(), certify(&spread, &[1, 2]));
    let prepared = forger.certificate(Stage::Prepare, &[1, 2, 3], view(2, 0), value(5));
    let change = forger.changes(view(2, 1), &[(1, None), (2, Some(0)), (3, None)]);
    let Message::Commit(commit) = forger.vote(Stage::Commit, 1, view(2, 0), value(5)) else {
        panic!("a commit")
    };
    let carries = Commit { partial: Some(vec![1, 2, 3]), ..*commit };
    vec![
        forger.proposal(1, 2, &block),
        forger.vote(Stage::Prepare, 1, view(2, 0), value(5)),
        Message::Commit(Box::new(carries)),
        forger.change(1, view(2, 1), Some(prepared.clone())),
        forger.new_view(2, change, Some(prepared)),
        Message::Progress(Slot::new(3)),
        Message::Request(Slot::new(3)),
        Message::Response(vec![forger.decision(1, Some(&block)), forger.decision(2, None)]),
        Message::BodyRequest(BodyRequest { slot: Slot::new(2), value: value(5) }),
        Message::BodyResponse(Slot::new(2), block),
        Message::Batch(Box::new(spread.clone())),
        Message::Ack(label, certificate.acks.signature),
        Message::BatchRequest(label.id),
        Message::BatchResponse(Box::new(spread)),
        Message::Certificates(vec![certificate]),
    ]
}

const PINNED: [&str; 15] = [
    "166 024d5d56e0bd6af6",
    "93 7b2bd87722e7ca39",
    "101 084fbc72f6dd3b65",
    "159 a54658f67f6cbb9e",
    "227 b81db573c7c00e5c",
    "9 7266cbd158d3beef",
    "9 2867596782eadc40",
    "310 cf1aaad8272991f0",
    "41 5fd3412124002a4d",
    "118 58ee1a04cbd3e1bd",
    "28 4bcb9f1b58cbc1ab",
    "97 7859d8544b8e25cc",
    "33 389f1212b39bb186",
    "28 9fd8abd6157153fd",
    "106 6799df41a3e04b02",
];

#[test]
fn the_encoding_of_every_message_is_pinned() {
    let digests: Vec<String> = specimens(&Forger::new(&FOUR))
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
    let mut bench = Bench::new();
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
    assert_eq!(bench.engine.next(), Slot::new(1));
}

#[test]
fn changes_of_the_committee_are_decoded_exactly_or_refused_and_never_panic() {
    let mut net = super::service::Net::new(4);
    net.up(3, super::service::settings(&FOUR));
    let change = super::histories::change(5, &FOUR, &[2, 1, 1, 1]);
    let record = borsh::to_vec(&ReplicaRecord::Change(change.clone())).unwrap();
    let specimens = [
        ReplicaMessage::ChangesRequest { committee: [7; 8] },
        ReplicaMessage::Changes(vec![change]),
    ];
    let encoded = specimens.map(|message| borsh::to_vec(&message).unwrap());
    let heads = [(encoded[0][0], encoded[0].len()), (encoded[1][0], encoded[1].len())];
    assert_eq!((heads, record[0]), ([(5, 9), (6, 1458)], 2));
    for (bytes, flips) in [(&encoded[0], 1), (&encoded[1], 7)] {
        assert!(borsh::from_slice::<ReplicaMessage>(&[&bytes[..], &[0]].concat()).is_err());
        for place in 0..bytes.len() {
            assert!(borsh::from_slice::<ReplicaMessage>(&bytes[..place]).is_err());
        }
        for place in (0..bytes.len()).step_by(flips) {
            let mut flipped = bytes.clone();
            flipped[place] ^= 0x81;
            if let Ok(message) = borsh::from_slice::<ReplicaMessage>(&flipped) {
                assert_eq!(borsh::to_vec(&message).unwrap(), flipped, "canonical");
                net.input(3, ReplicaInput::Received { from: Party::new(1), message });
            }
        }
    }
    for place in 0..record.len() {
        assert!(borsh::from_slice::<ReplicaRecord>(&record[..place]).is_err());
    }
    assert_eq!((net.faults(), net.nodes[&3].history.ahead()), (vec![], vec![]));
}

#[test]
fn questions_about_checkpoints_are_encoded_as_they_were() {
    let pieces = ReplicaMessage::PieceRequest { epoch: 1, first: 2, count: 3 };
    let pinned = [3, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
    assert_eq!(borsh::to_vec(&pieces).unwrap(), pinned);
    let checkpoint = ReplicaMessage::CheckpointRequest { epoch: 1 };
    assert_eq!(borsh::to_vec(&checkpoint).unwrap(), [7, 1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn strangers_and_height_zero_are_refused() {
    let mut bench = Bench::new();
    for stranger in [0, 4] {
        let vote = bench.forger.vote(Stage::Prepare, 1, view(2, 0), value(5));
        let from = Party::new(stranger);
        assert_eq!(malformed(&bench.receive(stranger, vote)), ShapeError::Stranger { from });
    }
    for stage in [Stage::Prepare, Stage::Commit] {
        let vote = bench.forger.vote(stage, 1, view(0, 0), value(5));
        assert_eq!(malformed(&bench.receive(1, vote)), ShapeError::NoHeight);
    }
    let proposal = bench.forger.proposal(1, 0, &body(&[]));
    assert_eq!(malformed(&bench.receive(1, proposal)), ShapeError::NoHeight);
    let change = bench.forger.change(1, view(0, 1), None);
    assert_eq!(malformed(&bench.receive(1, change)), ShapeError::NoHeight);
}

#[test]
fn a_partial_has_a_largest_size() {
    let mut bench = Bench::new();
    let Message::Commit(commit) = bench.forger.vote(Stage::Commit, 1, view(2, 0), value(5)) else {
        panic!("a commit")
    };
    let most = crate::message::MAX_PARTIAL;
    let carries = Commit { partial: Some(vec![0; most + 1]), ..*commit };
    let (what, got) = ("bytes of a partial", most + 1);
    let outputs = bench.receive(1, Message::Commit(Box::new(carries)));
    assert_eq!(malformed(&outputs), ShapeError::TooMuch { what, got, most });
}
