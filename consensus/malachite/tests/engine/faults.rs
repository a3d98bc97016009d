//! Parties that lie.

use prefinal_malachite::{
    Address, Block, Decision, Height, Input, MAX_EXTENSION, Message, NilOrVal, Round, VoteType,
};
use prefinal_protocol::Party;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::net::{Net, Observation, partial};

const STAKES: [u128; 4] = [1, 1, 1, 1];
const ALL: [u32; 4] = [0, 1, 2, 3];
const LIAR: Party = Party::new(3);

fn carried_by(net: &Net, by: u32, from: u32) -> Vec<Vec<u8>> {
    let carried = net.of(by).iter().filter_map(|(_, seen)| match seen {
        Observation::Carried(who, bytes) if *who == from => Some(bytes.clone()),
        _ => None,
    });
    carried.collect()
}

#[test]
fn an_extension_that_is_empty_or_garbled_costs_the_partial_and_not_the_vote() {
    let mut net = Net::all(&STAKES);
    net.partial = Box::new(|party, height, block| match (party == LIAR, height % 2) {
        (true, 0) => None,
        (true, _) => Some(b"no partial".to_vec()),
        _ => Some(partial(party, height, block)),
    });
    // Without the liar's votes there is no quorum.
    net.rule = Box::new(|from, _, message| (from.get() != 0).then_some(message));
    net.run_until(&[1, 2, 3], 6);
    assert!(carried_by(&net, 1, 3).iter().all(|bytes| bytes == b"no partial"));
    assert!(!carried_by(&net, 1, 3).is_empty() && carried_by(&net, 1, 2).len() >= 5);
}

#[test]
fn an_extension_that_its_voter_did_not_sign_takes_the_vote_with_it() {
    let mut net = Net::all(&STAKES);
    net.rule = Box::new(|from, _, mut message| {
        if let (true, Message::Vote(vote)) = (from == LIAR, &mut message)
            && let Some(extension) = &mut vote.message.extension
        {
            extension.message.push(0);
        }
        Some(message)
    });
    net.run_until(&[0, 1, 2], 5);
    assert!(carried_by(&net, 0, 3).is_empty());
    net.blocks();
}

#[test]
fn a_partial_that_is_too_long_stays_back() {
    let mut net = Net::new(&STAKES);
    net.partial = Box::new(|_, _, _| None);
    ALL.into_iter().for_each(|party| net.boot(party));
    while !net.of(0).iter().any(|(_, seen)| matches!(seen, Observation::Prefinalized(..))) {
        net.step();
    }
    let engine = net.table.machine_mut(Party::new(0)).unwrap();
    let long = vec![0; MAX_EXTENSION + 1];
    assert_eq!(engine.carry(long.clone()), Err(long));
    // The vote has gone; nothing is asked for any more.
    assert_eq!(engine.carry(vec![1]), Err(vec![1]));
}

#[test]
fn votes_in_anothers_name_are_refused() {
    let mut net = Net::all(&STAKES);
    net.rule = Box::new(|from, to, message| match message {
        Message::Vote(mut vote) if from == LIAR => {
            vote.message.voter = Address::new(Party::new((to.get() + 1) % 3));
            Some(Message::Vote(vote))
        }
        message => Some(message),
    });
    net.run_until(&[0, 1, 2], 4);
    let accused = |by: u32| {
        net.of(by).iter().any(
            |(_, seen)| matches!(seen, Observation::Accused(3, why) if why.contains("signed by")),
        )
    };
    assert!(accused(0) && accused(1) && accused(2));
    let honest =
        net.of(0).iter().any(|(_, seen)| matches!(seen, Observation::Accused(who, _) if *who != 3));
    assert!(!honest);
}

#[test]
fn two_votes_of_one_round_are_evidence() {
    let mut net = Net::all(&STAKES);
    // A second engine with the same key proposes and votes for another block.
    let mut other = Net::all(&STAKES);
    other.submit(3, b"another block");
    let mut stolen = Vec::new();
    while stolen.is_empty() {
        other.step();
        for (_, seen) in other.of(3) {
            if let Observation::Sent(Message::Proposal(proposal)) = seen {
                stolen.push(Message::Proposal(proposal.clone()));
            }
        }
    }
    while !net.of(0).iter().any(|(_, seen)| matches!(seen, Observation::Finalized(2, ..))) {
        net.step();
    }
    // Height 3, round 0 is the liar's turn.
    for message in stolen {
        net.post(LIAR, Party::new(0), message);
    }
    net.run_until(&ALL, 5);
    let evidence = |seen: &Observation| matches!(seen, Observation::Accused(3, why) if why.contains("two different proposals"));
    assert!(net.of(0).iter().any(|(_, seen)| evidence(seen)));
    net.blocks();
}

#[test]
fn a_false_decision_is_refused_and_names_who_sent_it() {
    let mut net = Net::new(&STAKES);
    [0, 1, 3].into_iter().for_each(|party| net.boot(party));
    net.run_until(&[0, 1, 3], 6);
    net.rule = Box::new(|from, _, mut message| {
        if let (true, Message::Decided(decision)) = (from != Party::new(1), &mut message) {
            let Decision { block, certificate, .. } = &mut **decision;
            *block = Block::new(block.height(), vec![b"forged".as_slice().into()]);
            certificate.value_id = block.id();
        }
        Some(message)
    });
    net.boot(2);
    net.run_until(&ALL, 8);
    net.blocks();
    assert!(
        net.of(2)
            .iter()
            .any(|(_, seen)| matches!(seen, Observation::Accused(_, why) if why.contains("none")))
    );
}

/// Whatever a peer sends: no panic, and the others go on.
#[test]
fn no_message_is_a_panic() {
    for seed in 0..40 {
        let mut dice = ChaCha20Rng::seed_from_u64(seed);
        let mut net = Net::all(&STAKES);
        net.rule = Box::new(move |from, _, message| {
            if from != LIAR {
                return Some(message);
            }
            Some(match dice.next_u32() % 3 {
                0 => mutate_bytes(&mut dice, &message)?,
                1 => mutate_fields(&mut dice, message),
                _ => message,
            })
        });
        net.run_until(&[0, 1, 2], 4);
        net.blocks();
    }
}

fn mutate_bytes(dice: &mut ChaCha20Rng, message: &Message) -> Option<Message> {
    let mut bytes = borsh::to_vec(message).unwrap();
    for _ in 0..=dice.next_u32() % 3 {
        let at = usize::try_from(dice.next_u32()).unwrap() % bytes.len();
        bytes[at] ^= 1 << (dice.next_u32() % 8);
    }
    borsh::from_slice(&bytes).ok()
}

fn mutate_fields(dice: &mut ChaCha20Rng, message: Message) -> Message {
    let rounds = [Round::Nil, Round::ZERO, Round::new(1), Round::new(11), Round::new(u32::MAX)];
    let round = rounds[usize::try_from(dice.next_u32()).unwrap() % rounds.len()];
    let height =
        Height::new([0, 1, 2, 3, 5, u64::MAX][usize::try_from(dice.next_u32()).unwrap() % 6]);
    match message {
        Message::Vote(mut vote) => {
            match dice.next_u32() % 5 {
                0 => vote.message.round = round,
                1 => vote.message.height = height,
                2 => vote.message.value = NilOrVal::Nil,
                3 => vote.message.kind = VoteType::Prevote,
                _ => vote.message.extension = None,
            }
            // Signed as it is: what it says is checked, not only who says it.
            vote.signature = crate::net::resign_vote(&STAKES, LIAR, &vote.message);
            Message::Vote(vote)
        }
        Message::Proposal(mut proposal) => {
            match dice.next_u32() % 4 {
                0 => proposal.message.round = round,
                1 => proposal.message.pol_round = round,
                2 => proposal.message.height = height,
                _ => proposal.message.block = Block::new(height, vec![vec![0; 2000].into()]),
            }
            proposal.signature = crate::net::resign_proposal(&STAKES, LIAR, &proposal.message);
            Message::Proposal(proposal)
        }
        Message::Round(mut certificate) => {
            certificate.round = round;
            let first = certificate.round_signatures.first().cloned();
            certificate.round_signatures.extend(first);
            Message::Round(certificate)
        }
        Message::Polka(mut certificate) => {
            certificate.round = round;
            Message::Polka(certificate)
        }
        other => other,
    }
}

#[test]
fn strangers_and_echoes_are_ignored() {
    let mut net = Net::all(&STAKES);
    for from in [0, 4, u32::MAX] {
        let message = Message::Request { height: Height::new(1) };
        net.handle(0, Input::Received { from: Party::new(from), message });
    }
    let answered = |seen: &Observation| matches!(seen, Observation::Sent(Message::Decided(_)));
    assert!(!net.of(0).iter().any(|(_, seen)| answered(seen)));
}

#[test]
fn a_height_is_answered_for_once_in_a_while() {
    let mut net = Net::all(&STAKES);
    net.run_until(&ALL, 3);
    let answers = |net: &Net| {
        let answer = |seen: &Observation| matches!(seen, Observation::Sent(Message::Decided(_)));
        net.of(0).iter().filter(|(_, seen)| answer(seen)).count()
    };
    let ask = |net: &mut Net, height: u64| {
        let message = Message::Request { height: Height::new(height) };
        net.handle(0, Input::Received { from: LIAR, message });
    };
    let before = answers(&net);
    for _ in 0..1000 {
        ask(&mut net, 2);
        ask(&mut net, 1);
    }
    assert_eq!(answers(&net), before + 1);
    // Who catches up goes from height to height.
    ask(&mut net, 3);
    assert_eq!(answers(&net), before + 2);
    // An answer may be lost.
    net.pass(std::time::Duration::from_secs(1));
    ask(&mut net, 2);
    assert_eq!(answers(&net), before + 3);
}

/// A vote with more than a partial takes nobody's time: it is refused before its signature is looked at,
/// early, in time and late; a decision as well.
#[test]
fn an_extension_that_is_too_long_is_refused_unread() {
    let mut net = Net::all(&STAKES);
    net.run_until(&ALL, 3);
    let mut sent = net.of(3).iter().filter_map(|(_, seen)| match seen {
        Observation::Sent(Message::Vote(vote)) if vote.message.extension.is_some() => {
            Some(vote.clone())
        }
        _ => None,
    });
    let mut vote = sent.next_back().unwrap();
    for (height, bytes) in [(2, 0), (4, 0), (6, 0), (2, 1), (4, 1), (6, 1)] {
        vote.message.height = Height::new(height);
        let extension = vote.message.extension.as_mut().unwrap();
        extension.message = vec![0; MAX_EXTENSION + bytes];
        let before = net.of(0).len();
        let message = Message::Vote(vote.clone());
        net.handle(0, Input::Received { from: LIAR, message });
        let accused = net.of(0)[before..].iter().any(
            |(_, seen)| matches!(seen, Observation::Accused(3, why) if why.contains("bytes, at most")),
        );
        assert_eq!(accused, bytes > 0, "height {height}, {bytes} too many");
    }
}
