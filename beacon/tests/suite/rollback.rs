//! A journal put back from an older copy: what was released since is on no record, and must not be released
//! for another value. The network's watch remembers over all lives and stops at the first second value.
use prefinal_beacon::epochs::{self, Epochs};
use prefinal_beacon::{
    Beacon, Bls, Config, ConfigError, Effect, Input, LifeId, Limits, LostSlots, Message, Output,
};
use prefinal_beacon::{Path, Slot, Value, Withheld};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Machine, Recipient};

use crate::fixture::*;
use crate::network::Network;
use crate::reshared::{self, BOUNDARIES, Person};

suite! {
    a_first_life_asks_nobody
    a_later_life_asks_until_it_is_answered_and_believes_no_other_life
    a_party_that_is_not_past_its_own_lost_slots_adds_the_window
    ; with values:
    one_journal_put_back_releases_nothing_twice
    some_journals_put_back_among_liars_release_nothing_twice
    all_journals_put_back_go_on
    a_whole_journal_repeats_what_is_on_record_and_nothing_else
}

const LIFE_ID: LifeId = LifeId::new([1; 16]);

/// The fast path where the scheme has one, the tight one else.
fn profile<S: Instance>() -> Profile {
    if S::VALUES_ONLY { TIGHT_VALUE } else { BOTH_VALUE }
}

/// Everybody prefinalizes and finalizes the value in these slots, one after the other.
fn run<S: Instance>(
    network: &mut Network<'_, S>,
    parties: &[Party],
    slots: std::ops::RangeInclusive<u64>,
    value: Value,
) {
    for at in slots {
        let now = network.now() + 10;
        network.all(now, parties, &prefinalized(at, 0, value));
        network.all(now + 150, parties, &finalized(at, Some(value)));
        network.run_until(now + 400);
    }
}

/// Slots for which a party's early partials have left, of all messages from `start` on.
fn early<S: Instance>(network: &Network<'_, S>, party: Party, start: usize) -> Vec<u64> {
    let sent = network.sent[start..].iter().filter_map(|(from, to, message)| match message {
        Message::Partial { path: Path::Fast | Path::Tight, slot, .. }
            if *from == party && *to == Recipient::All =>
        {
            Some(slot.get())
        }
        _ => None,
    });
    sent.collect()
}

/// As [`early`], without what the tight path releases on finalize.
fn released<S: Instance>(network: &Network<'_, S>, party: Party, since: usize) -> Vec<u64> {
    let records = network.logs[&party].iter().skip(since);
    let released = records.filter_map(|record| match record {
        prefinal_beacon::Record::Released { slot, .. } => Some(slot.get()),
        _ => None,
    });
    released.collect()
}

fn withheld<S: Instance>(network: &Network<'_, S>, party: Party) -> usize {
    let lost = |refusal: &prefinal_beacon::Refusal| {
        matches!(refusal, prefinal_beacon::Refusal::Withheld(Withheld::Lost { .. }))
    };
    network.refusals.iter().filter(|(who, refusal)| *who == party && lost(refusal)).count()
}

fn all_revealed<S: Instance>(network: &Network<'_, S>, parties: &[Party], last: u64) {
    for party in parties {
        for at in 1..=last {
            assert!(network.reveal_of(*party, slot(at)).is_some(), "{party} lacks {at}");
        }
    }
}

fn one_journal_put_back_releases_nothing_twice<S: Instance>() {
    let world = World::<S>::demanding(1201);
    let everybody = [A, B, C, D];
    let mut network = Network::new(&world, &profile::<S>(), &[]);
    run(&mut network, &everybody, 1..=2, V);
    let copy = network.logs[&A].len();
    run(&mut network, &everybody, 3..=6, V);
    assert!(released(&network, A, copy).contains(&6));
    network.put_back(A, copy);
    let start = network.sent.len();
    // Its engine was put back too and votes for something else.
    for at in 3..=6 {
        let now = network.now() + 10;
        network.at(now, A, prefinalized(at, 0, W));
        network.at(now + 50, A, finalized(at, Some(V)));
    }
    network.run_until(network.now() + 5000);
    run(&mut network, &everybody, 7..=14, V);
    network.run_until(network.now() + 5000);
    // The others were at slot 7, the window is 4.
    assert_eq!(released(&network, A, copy), [12, 13, 14]);
    assert!(withheld(&network, A) >= 4);
    if !S::VALUES_ONLY {
        assert_eq!(early(&network, A, start), [12, 13, 14]);
    }
    all_revealed(&network, &everybody, 14);
}

/// Seven parties, two put back, and two liars: one far behind, one far ahead.
fn some_journals_put_back_among_liars_release_nothing_twice<S: Instance>() {
    let world = World::<S>::new(1202, &[1; 7], [4, 7, 5]);
    let parties = world.parties();
    let (honest, liars) = parties.split_at(5);
    let mut network = Network::new(&world, &profile::<S>(), liars);
    run(&mut network, honest, 1..=2, V);
    let copies = [A, B].map(|party| network.logs[&party].len());
    run(&mut network, honest, 3..=6, V);
    for (party, copy) in [A, B].into_iter().zip(copies) {
        assert!(released(&network, party, copy).contains(&6));
        network.put_back(party, copy);
    }
    let lives: Vec<LifeId> = (1..=2_u128).map(|life| LifeId::new(life.to_le_bytes())).collect();
    for (party, life) in [A, B].into_iter().zip(lives) {
        network.inject(liars[0], party, Message::Head { life, next: slot(0) });
        network.inject(liars[1], party, Message::Head { life, next: slot(u64::MAX) });
    }
    network.run_until(network.now() + 500);
    for at in 3..=6 {
        let now = network.now() + 10;
        network.all(now, &[A, B], &prefinalized(at, 0, W));
        network.all(now + 50, &[A, B], &finalized(at, Some(V)));
    }
    network.run_until(network.now() + 5000);
    run(&mut network, honest, 7..=14, V);
    network.run_until(network.now() + 5000);
    for (party, copy) in [A, B].into_iter().zip(copies) {
        assert_eq!(released(&network, party, copy), [12, 13, 14], "{party}");
    }
    all_revealed(&network, honest, 14);
}

/// Nobody remembers slots 3 to 6, and the engine finalizes something else there. They are not released
/// early a second time all the same, and all comes back.
fn all_journals_put_back_go_on<S: Instance>() {
    let world = World::<S>::demanding(1203);
    let everybody = [A, B, C, D];
    let mut network = Network::new(&world, &profile::<S>(), &[]);
    run(&mut network, &everybody, 1..=2, V);
    let copies = everybody.map(|party| network.logs[&party].len());
    run(&mut network, &everybody, 3..=6, V);
    for (party, copy) in everybody.into_iter().zip(copies) {
        assert!(released(&network, party, copy).contains(&6));
        network.put_back(party, copy);
    }
    network.run_until(network.now() + 1000);
    run(&mut network, &everybody, 3..=16, W);
    network.run_until(network.now() + 5000);
    for (party, copy) in everybody.into_iter().zip(copies) {
        // All say slot 3, and the window more, for they are in a later life themselves.
        assert_eq!(released(&network, party, copy), [12, 13, 14, 15, 16], "{party}");
    }
    all_revealed(&network, &everybody, 16);
}

fn a_whole_journal_repeats_what_is_on_record_and_nothing_else<S: Instance>() {
    let world = World::<S>::demanding(1204);
    let profile = profile::<S>();
    let mut first = world.beacon(A, &profile);
    let log = records(&step(&mut first, ms(0), prefinalized(1, 0, V)));
    let mut second = world.restart(A, &profile, &log);
    assert_eq!(second.lost(), LostSlots::Unknown);
    assert_eq!(sent(&step(&mut second, ms(1), prefinalized(1, 0, V))).len(), 1);
    assert!(sent(&step(&mut second, ms(1), prefinalized(2, 0, V))).is_empty());
    let finals = step(&mut second, ms(1), finalized(2, Some(V)));
    assert_eq!(sent(&finals).len(), 1, "what is final is released always");
}

fn a_first_life_asks_nobody<S: Instance>() {
    let world = World::<S>::four(1205);
    let mut beacon = world.beacon(A, &BOTH);
    let outputs = raw_step(&mut beacon, ms(0), prefinalized(1, 0, V));
    assert_eq!(beacon.lost(), LostSlots::Nothing);
    assert_eq!(sent(&outputs).len(), 1, "released at once");
    assert!(asked(&outputs).is_empty());
    let records = records(&outputs);
    let again = Beacon::new(world.config(A, &BOTH), &records).map(drop);
    assert_eq!(again, Err(ConfigError::FirstLife { records: 1 }));
}

fn asked<S: Instance>(outputs: &[Output<S>]) -> Vec<Party> {
    let asked = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Send {
            to: Recipient::One(party),
            message: Message::AskHead { life },
        }) => {
            assert_eq!(*life, LIFE_ID);
            Some(*party)
        }
        _ => None,
    });
    asked.collect()
}

fn head<S: Instance>(from: Party, life: LifeId, next: u64) -> Input<S> {
    received(from, Message::Head { life, next: slot(next) })
}

fn a_later_life_asks_until_it_is_answered_and_believes_no_other_life<S: Instance>() {
    let world = World::<S>::four(1206);
    let mut beacon = world.restart(A, &BOTH, &[]);
    assert_eq!(beacon.wake_at(), Some(ms(0)));
    assert_eq!(asked(&raw_step(&mut beacon, ms(0), Input::Tick)), [B, C, D]);
    assert!(asked(&raw_step(&mut beacon, ms(1), Input::Tick)).is_empty());
    // An answer to an earlier life, from before what it released.
    let stale = LifeId::new([2; 16]);
    for peer in [B, C, D] {
        step(&mut beacon, ms(1), head(peer, stale, 1));
    }
    assert_eq!(beacon.lost(), LostSlots::Unknown);
    step(&mut beacon, ms(1), head(B, LIFE_ID, 20));
    step(&mut beacon, ms(1), head(B, LIFE_ID, 30));
    step(&mut beacon, ms(1), head(Party::new(9), LIFE_ID, 30));
    let later = ms(500);
    assert_eq!(beacon.wake_at(), Some(later));
    assert_eq!(asked(&raw_step(&mut beacon, later, Input::Tick)), [C, D]);
    step(&mut beacon, later, head(C, LIFE_ID, 10));
    assert_eq!(beacon.lost(), LostSlots::Unknown, "2f is too little");
    step(&mut beacon, later, head(D, LIFE_ID, 10));
    assert_eq!(beacon.lost(), LostSlots::Before(slot(25)));
    assert!(asked(&raw_step(&mut beacon, ms(5000), Input::Tick)).is_empty());
    assert_eq!(beacon.wake_at(), None);
}

fn a_party_that_is_not_past_its_own_lost_slots_adds_the_window<S: Instance>() {
    let world = World::<S>::four(1207);
    let ask = || received(B, Message::AskHead { life: LIFE_ID });
    let next = |beacon: &mut Beacon<S>| match &sent(&step(beacon, ms(0), ask()))[..] {
        [Message::Head { life: LIFE_ID, next }] => next.get(),
        other => panic!("{other:?}"),
    };
    let mut first = world.beacon(A, &BOTH);
    assert_eq!(next(&mut first), 1);
    // Withheld, and said all the same: the vote leaves.
    step(&mut first, ms(0), prefinalized(2, 1, V));
    assert_eq!(next(&mut first), 3);
    step(&mut first, ms(0), abandoned(3, 0));
    assert_eq!(next(&mut first), 4);
    let mut later = world.restart(A, &BOTH, &[]);
    assert_eq!(next(&mut later), 1 + 4);
    for peer in [B, C, D] {
        step(&mut later, ms(0), head(peer, LIFE_ID, 2));
    }
    assert_eq!(later.lost(), LostSlots::Before(slot(7)));
    step(&mut later, ms(0), finalized(5, Some(V)));
    assert_eq!(next(&mut later), 6 + 4);
    step(&mut later, ms(0), finalized(6, Some(V)));
    assert_eq!(next(&mut later), 7);
}

/// Peers of an epoch say nothing of slots behind its end.
#[test]
fn a_lost_life_in_the_next_epoch_is_asked_for_there() {
    let who = Person(3);
    let config = |number: usize| {
        let config = reshared::config(number, who).unwrap();
        let limits = Limits { window: 1, ..config.limits };
        Config { life: LIFE, limits, ..config }
    };
    let told = |head: u64| {
        let mut epochs = Epochs::<Bls>::new([config(0)], &[]).unwrap();
        for peer in [0, 1, 2].map(Party::new) {
            let message = Message::Head { life: LIFE_ID, next: slot(head) };
            let message = epochs::Message { epoch: reshared::epoch(0), message };
            epochs.handle(ms(0), epochs::Input::Received { from: peer, message });
        }
        let known = epochs.beacon(reshared::epoch(0)).unwrap().lost();
        epochs.hand_over(config(1)).unwrap();
        (known, epochs.beacon(reshared::epoch(1)).unwrap().lost())
    };
    // They were well before the end: no life was behind it.
    assert_eq!(told(1), (LostSlots::Before(slot(3)), LostSlots::Before(slot(3))));
    // They are at the end, no matter which of them went on.
    let boundary = BOUNDARIES[0];
    assert_eq!(told(boundary), (LostSlots::Before(slot(boundary + 2)), LostSlots::Unknown));
}

#[test]
fn the_last_number_is_no_slot() {
    let world = World::<Bls>::new(1208, &[1], [1, 1, 1]);
    let config = |first: u64| Config { first: Slot::new(first), ..world.config(A, &SLOW) };
    let error = ConfigError::LastSlot { first: slot(u64::MAX) };
    assert_eq!(Beacon::new(config(u64::MAX), &[]).map(drop), Err(error));
    let mut beacon = Beacon::new(config(u64::MAX - 1), &[]).unwrap();
    let shown = |beacon: &mut Beacon<Bls>, at| {
        let outputs = step(beacon, ms(0), finalized(at, Some(V)));
        let refused = outputs.iter().any(|output| {
            let refusal = prefinal_beacon::Refusal::LastSlot { slot: slot(at) };
            matches!(output, Output::Do(Effect::Refused(error)) if *error == refusal)
        });
        (reveals(&outputs).len(), refused)
    };
    assert_eq!(shown(&mut beacon, u64::MAX - 1), (1, false));
    // Its own successor was revealed as often as it was final.
    assert_eq!(shown(&mut beacon, u64::MAX), (0, true));
    assert_eq!(shown(&mut beacon, u64::MAX), (0, true));
}
