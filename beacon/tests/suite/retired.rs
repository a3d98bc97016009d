//! What an epoch still answers when its last slot is revealed.
use prefinal_beacon::epochs::{Effect, Input, Message, Output, Record};
use prefinal_beacon::{self as beacon, Path};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_protocol::{Machine, Recipient};

use crate::epochs::Net;
use crate::fixture::{ms, slot};
use crate::reshared::{BOUNDARIES, Person, epoch, party, terms};

/// A party that asks late is answered from what was kept, as far as the history goes, with no secret left.
#[test]
fn a_retired_epoch_answers_with_what_it_has_ready() {
    let who = Person(1);
    let mut net = Net::new();
    net.hand_over(1);
    for at in 1..=3 {
        net.finalize(at);
        net.deliver();
    }
    // After a restart nothing is in memory, so it is made ready when the epoch retires.
    let keep = net.logs[&who].len();
    net.restart(who, keep);
    let epochs = net.people.get_mut(&who).unwrap();
    assert!(!epochs.beacon(epoch(0)).unwrap().holds_secrets());
    for at in 1..=3 {
        let from = party(0, Person(0)).unwrap();
        let message =
            Message { epoch: epoch(0), message: beacon::Message::Request { slot: slot(at) } };
        epochs.handle(ms(0), Input::Received { from, message });
        let Some(Output::Do(Effect::Of { effect: beacon::Effect::Send { to, message }, .. })) =
            epochs.poll()
        else {
            panic!("slot {at} is not answered");
        };
        assert_eq!(to, Recipient::One(from));
        let me: Party = party(0, who).unwrap();
        let signer = terms()[0].signer(me).unwrap().slow;
        let round = prefinal_crypto_core::threshold::Message::round(RoundNumber::new(at).unwrap());
        let partial = signer.partial(&round).unwrap();
        let (path, slot) = (Path::Slow, slot(at));
        let right = beacon::Message::Partial { path, slot, value: None, partial };
        assert_eq!(message, right);
    }
}

/// Peers may lack nobody else's partials of slots that a party has passed over, and all their later values wait.
#[test]
fn an_epoch_that_was_passed_over_is_answered_for_until_one_was_lived_through() {
    let who = Person(1);
    let mut net = Net::new();
    net.hand_over(1);
    let (first, last) = (slot(1), slot(BOUNDARIES[0] - 1));
    let record = beacon::Record::PassedOver { first, last };
    net.logs.insert(who, vec![Record { epoch: epoch(0), record }]);
    net.restart(who, 1);
    let epochs = net.people.get_mut(&who).unwrap();
    assert!(epochs.beacon(epoch(0)).unwrap().holds_secrets());
    assert_eq!(epochs.head(), last.next());
    let from = party(0, Person(0)).unwrap();
    let message = Message { epoch: epoch(0), message: beacon::Message::Request { slot: first } };
    epochs.handle(ms(0), Input::Received { from, message });
    assert!(matches!(
        epochs.poll(),
        Some(Output::Do(Effect::Of { effect: beacon::Effect::Send { .. }, .. }))
    ));
    net.hand_over(2);
    for at in 1..=BOUNDARIES[1] {
        net.finalize(at);
        net.deliver();
    }
    net.wait();
    let epochs = &net.people[&who];
    assert!(epochs.beacon(epoch(0)).is_none());
    assert!(!epochs.beacon(epoch(1)).unwrap().holds_secrets());
}

/// What a host has from elsewhere may reach over the end of an epoch.
#[test]
fn the_next_epoch_goes_on_behind_slots_that_are_passed_over() {
    let who = Person(1);
    let mut net = Net::new();
    net.lost = |message| message.message.slot() < Some(slot(BOUNDARIES[0] + 1));
    net.hand_over(1);
    for at in 1..=BOUNDARIES[0] + 1 {
        net.finalize(at);
        net.deliver();
    }
    let epochs = net.people.get_mut(&who).unwrap();
    assert_eq!(epochs.head(), slot(1));
    epochs.handle(ms(0), Input::PassedOver { last: slot(BOUNDARIES[0]) });
    assert_eq!(epochs.head(), slot(BOUNDARIES[0] + 2));
    let outputs: Vec<_> = std::iter::from_fn(|| epochs.poll()).collect();
    let over = |of, first, last| {
        let record = beacon::Record::PassedOver { first: slot(first), last: slot(last) };
        let record = Record { epoch: epoch(of), record };
        outputs.iter().any(|output| matches!(output, Output::Keep(kept) if *kept == record))
    };
    assert!(over(0, 1, BOUNDARIES[0] - 1) && over(1, BOUNDARIES[0], BOUNDARIES[0]));
    let shown = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Of { effect: beacon::Effect::Reveal(reveal), .. }) => Some(reveal.slot),
        _ => None,
    });
    assert_eq!(shown.collect::<Vec<_>>(), [slot(BOUNDARIES[0] + 1)]);
}

/// Two epochs later nothing of an epoch is here, and the host may have its outputs.
#[test]
fn of_epochs_that_are_forgotten_the_host_is_asked() {
    let who = Person(1);
    let mut net = Net::new();
    for at in 1..=BOUNDARIES[1] {
        for (number, boundary) in (1..).zip(BOUNDARIES) {
            if at == boundary {
                net.hand_over(number);
            }
        }
        net.finalize(at);
        net.deliver();
    }
    net.wait();
    let from = party(0, Person(0)).unwrap();
    let epochs = net.people.get_mut(&who).unwrap();
    assert!(epochs.beacon(epoch(0)).is_none());
    let mut ask = |of: usize, first, count| {
        let message = beacon::Message::Show { first: slot(first), count };
        epochs.handle(
            ms(0),
            Input::Received { from, message: Message { epoch: epoch(of), message } },
        );
        let looked_up = std::iter::from_fn(|| epochs.poll()).find_map(|output| match output {
            Output::Do(Effect::Of { epoch, effect: beacon::Effect::Lookup { to, slots } }) => {
                Some((epoch, to, slots))
            }
            _ => None,
        });
        looked_up.map(|(epoch, to, slots)| {
            assert_eq!(to, from);
            (epoch, slots.into_iter().map(beacon::Slot::get).collect::<Vec<_>>())
        })
    };
    let last = BOUNDARIES[0] - 1;
    assert_eq!(ask(0, 1, 2), Some((epoch(0), vec![1, 2])));
    assert_eq!(ask(0, 1, 2), None, "not again at once");
    // Nothing of an epoch that is here.
    assert_eq!(ask(0, last, 9), Some((epoch(0), vec![last])));
    assert_eq!(ask(0, BOUNDARIES[0], 9), None);
    assert_eq!(ask(7, 1, 9), None, "an epoch that is to come");
}
