//! A party that is far away fetches a state while epochs go on, and one that has no vote asks for certificates.

use std::cell::RefCell;
use std::rc::Rc;

use prefinal_crypto_core::access::Party;

use super::bench::{FOUR, ms};
use super::replicas::sharing;
use super::service::{Net, order_faults, put, settings};
use crate::replica::checkpoint::PIECE;
use crate::replica::message::ReplicaMessage;
use crate::replica::{ReplicaInput, Settings};

type Post = Rc<RefCell<Vec<(u32, u32, ReplicaMessage)>>>;

/// Three of four that keep no earlier checkpoint than the last one; whatever goes to party 3 and comes from there is on
/// a long way.
fn far_away() -> (Net, Post) {
    let mut net = Net::new(4);
    (0..3).for_each(|party| net.up(party, hasty()));
    for number in 0..6 {
        let value = vec![u8::try_from(number).unwrap(); PIECE];
        net.input(1, ReplicaInput::Submit(put(number, &format!("key {number}"), &value)));
    }
    net.run("all is carried out", |net| net.nodes.values().all(|node| node.app().applied() == 6));
    net.run_to_epoch(net.epochs()[0] + 2);
    let post = Post::default();
    let sent = Rc::clone(&post);
    net.tamper = Box::new(move |from, to, message| {
        if from != 3 && to != 3 {
            return Some(message);
        }
        // The ordering's messages would only be late.
        if !matches!(&message, ReplicaMessage::Order { .. } | ReplicaMessage::Vote(_)) {
            sent.borrow_mut().push((from, to, message));
        }
        None
    });
    (net, post)
}

fn hasty() -> Settings {
    Settings { retained_epochs: 0, ..settings(&FOUR) }
}

/// The three go through an epoch, and then all that was on its way arrives.
fn an_epoch_passes(net: &mut Net, post: &Post) {
    let next = net.epochs()[0] + 1;
    net.run("an epoch", |net| {
        (0..3).all(|party| net.nodes[&party].ordering().schedule().epoch() >= next)
    });
    let arrived = std::mem::take(&mut *post.borrow_mut());
    for (from, to, message) in arrived {
        net.input(to, ReplicaInput::Received { from: Party::new(from), message });
    }
}

#[test]
fn a_state_is_fetched_although_each_message_takes_longer_than_states_are_retained() {
    let (mut net, post) = far_away();
    net.join(3, hasty());
    let mut epochs = 0;
    while net.restored(3) == 0 {
        an_epoch_passes(&mut net, &post);
        epochs += 1;
        // Statement, four pieces, and three more: so many ways there and back.
        assert!(epochs < 9, "{:?}", net.nodes[&3].transfer);
    }
    assert_eq!(net.nodes[&3].app().applied(), 6);
    // The state was kept for it.
    let kept = |net: &Net, party| net.nodes[&party].stable.epochs();
    let leased = (0..3).map(|party| kept(&net, party)).find(|kept| kept.len() > 1);
    assert!(
        leased.as_ref().is_some_and(|kept| kept.len() == 2 && kept[0] + 3 < kept[1]),
        "{leased:?}"
    );
    // That is over when its time is over.
    net.pass(ms(500) * 6);
    an_epoch_passes(&mut net, &post);
    assert!((0..3).all(|party| kept(&net, party).len() == 1));
    // One that is not asked for pieces keeps a state as well, if it hears in time who fetches it.
    let request = ReplicaMessage::PieceRequest { epoch: kept(&net, 1)[0], first: 0, count: 0 };
    net.input(1, ReplicaInput::Received { from: Party::new(3), message: request });
    an_epoch_passes(&mut net, &post);
    assert_eq!([0, 1, 2].map(|party| kept(&net, party).len()), [1, 2, 1]);
    assert!(post.borrow().iter().all(|(.., sent)| !matches!(sent, ReplicaMessage::Piece(_))));
    assert_eq!((net.faults(), order_faults(&net)), (vec![], vec![]));
}

/// Party 3 carries all out and has no share of the key. The votes for the last state are lost on their way to it, and so are
/// the others' heights behind it.
#[test]
fn a_replica_without_a_vote_asks_for_a_certificate_that_it_has_not_seen() {
    let key = sharing(0);
    let mut net = Net::with_certifiers(4, move |party| key(party, party != 3));
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net.run_to_epoch(1);
    let last = net.epochs().into_iter().max().unwrap() + 1;
    net.tamper = Box::new(move |_, to, message| match message {
        ReplicaMessage::Vote(_) if to == 3 => None,
        message => Some(message),
    });
    net.run("it has the certificate", |net| net.epochs()[3] >= last);
    assert_eq!((net.restored(3), net.faults()), (0, vec![]));
}
