//! Outputs that were missed: asked of one peer at a time, believed for their proof only.
use std::collections::BTreeMap;

use prefinal_beacon::{
    Beacon, Effect, Fault, Function, Input, Limits, Message, Mode, Output, Path, Record,
};
use prefinal_beacon::{Switch, Work, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Machine, Recipient};

use crate::fixture::*;
use crate::network::{DELAY, Network};

suite! {
    outputs_are_asked_of_one_peer_after_another
    what_was_not_asked_for_is_not_looked_at
    outputs_are_shown_within_bounds
    an_output_is_shown_to_a_peer_once_and_a_few_again
    what_is_here_is_not_asked_for_again
    what_is_no_longer_kept_is_looked_up
    a_slot_that_is_off_is_neither_asked_for_nor_shown
    a_party_that_was_down_for_thousands_of_slots_catches_up
    ; with values:
    an_output_is_believed_for_its_proof
    a_false_output_is_refused_and_its_sender_not_asked_again
    a_party_that_hears_no_partials_has_all_outputs
}

impl<S: Instance> World<S> {
    /// An output with what it is shown by.
    fn shown(
        &self,
        path: Path,
        at: u64,
        value: Option<prefinal_beacon::Value>,
    ) -> S::OutputMessage {
        let holders = self.parties().into_iter().filter(|party| self.weights[party.index()] > 0);
        let partials: BTreeMap<Party, S::Partial> =
            holders.map(|party| (party, self.partial(party, path, slot(at), value))).collect();
        let committee = S::committee(&self.paths[&path], binding(value));
        let input = input::<S>(slot(at), value);
        let combined = S::combine(&committee, &input, &partials).unwrap();
        S::show(&combined.output, &combined.proof)
    }
}

fn shown<S: Instance>(path: Path, at: u64, shown: S::OutputMessage) -> Message<S> {
    Message::Output { slot: slot(at), path, shown }
}

/// Who is asked for which outputs.
fn asked<S: Instance>(outputs: &[Output<S>]) -> Vec<(Party, u64, u32)> {
    let asked = outputs.iter().filter_map(|output| match output {
        Output::Do(Effect::Send {
            to: Recipient::One(party),
            message: Message::Show { first, count },
        }) => Some((*party, first.get(), *count)),
        _ => None,
    });
    asked.collect()
}

fn show<S: Instance>(from: Party, first: u64, count: u32) -> Input<S> {
    received(from, Message::Show { first: slot(first), count })
}

/// A party whose first slots are final and lack their outputs; it has asked B for them.
fn lacking<S: Instance>(world: &World<S>, profile: &Profile, slots: u64) -> Beacon<S> {
    let mut beacon = world.beacon(A, profile);
    for at in 1..=slots {
        step(&mut beacon, ms(0), finalized(at, Some(V)));
    }
    let count = u32::try_from(slots).unwrap();
    assert_eq!(asked(&step(&mut beacon, ms(500), Input::Tick)), [(B, 1, count)]);
    beacon
}

fn outputs_are_asked_of_one_peer_after_another<S: Instance>() {
    let world = World::<S>::demanding(951);
    let mut beacon = world.beacon(B, &SLOW);
    for at in 1..=20 {
        step(&mut beacon, ms(0), finalized(at, Some(V)));
    }
    assert!(asked(&step(&mut beacon, ms(499), Input::Tick)).is_empty());
    // From the next party on, as many as are asked for at a time.
    for (time, peer) in [(500, C), (1000, D), (1500, A), (2000, C)] {
        assert_eq!(asked(&step(&mut beacon, ms(time), Input::Tick)), [(peer, 1, 8)]);
        assert!(asked(&step(&mut beacon, ms(time + 1), Input::Tick)).is_empty());
    }
    // What came in order is not asked for again, and the rest at once.
    let mut next = Vec::new();
    for at in 1..=8 {
        let message = shown(Path::Slow, at, world.shown(Path::Slow, at, None));
        next.extend(asked(&step(&mut beacon, ms(2001), received(C, message))));
    }
    assert_eq!(beacon.head(), slot(9));
    assert_eq!(next, [(D, 9, 8)]);
}

fn an_output_is_believed_for_its_proof<S: Instance>() {
    let world = World::<S>::demanding(952);
    for (profile, paths, value) in [
        (SLOW, vec![Path::Slow], None),
        (TIGHT, vec![Path::Tight], None),
        (TIGHT_VALUE, vec![Path::Tight], Some(V)),
        (BOTH, vec![Path::Slow, Path::Fast], None),
        (BOTH_VALUE, vec![Path::Fast, Path::Slow], Some(V)),
    ] {
        for path in paths.into_iter().filter(|_| runs::<S>(&profile)) {
            let mut beacon = lacking(&world, &profile, 1);
            let message = shown(path, 1, world.shown(path, 1, value));
            let outputs = step(&mut beacon, ms(501), received(B, message));
            assert!(
                matches!(jobs(&outputs)[..], [ref job] if matches!(job.work(), Work::Open(B, _)))
            );
            let reveal = &reveals(&outputs)[0];
            assert_eq!((reveal.path, reveal.value, reveal.bound), (path, Some(V), value));
            assert_eq!(reveal.output, world.output(slot(1), value));
            S::audit(&world.paths[&path], reveal);
            assert_eq!(beacon.wake_at(), None);
        }
    }
}

fn a_false_output_is_refused_and_its_sender_not_asked_again<S: Instance>() {
    let world = World::<S>::demanding(953);
    let other = World::<S>::demanding(954);
    // Of another slot, of another key, and of another value.
    for (profile, path, value, (dealer, at, of)) in [
        (SLOW, Path::Slow, None, (&world, 99, None)),
        (SLOW, Path::Slow, None, (&other, 1, None)),
        (BOTH_VALUE, Path::Fast, Some(V), (&world, 1, Some(W))),
        (TIGHT_VALUE, Path::Tight, Some(V), (&world, 1, Some(W))),
        (TIGHT_VALUE, Path::Tight, Some(V), (&other, 1, Some(V))),
    ] {
        if !runs::<S>(&profile) {
            continue;
        }
        let wrong = dealer.shown(path, at, of);
        let mut beacon = lacking(&world, &profile, 3);
        let outputs = step(&mut beacon, ms(501), received(B, shown(path, 1, wrong.clone())));
        let fault = Fault::FalseOutput { slot: slot(1), path, shown: Box::new(wrong.clone()) };
        assert_eq!(accused(&outputs), [(B, fault)]);
        assert_eq!(jobs(&outputs).len(), 1);
        assert!(reveals(&outputs).is_empty());
        // The next is asked at once, and nothing of the liar is looked at any more.
        assert_eq!(asked(&outputs), [(C, 1, 3)]);
        for at in 1..=3 {
            let right = world.shown(path, at, value);
            assert!(step(&mut beacon, ms(502), received(B, shown(path, at, right))).is_empty());
        }
        for (time, peer) in [(1001, D), (1501, C), (2001, D)] {
            assert_eq!(asked(&step(&mut beacon, ms(time), Input::Tick)), [(peer, 1, 3)]);
        }
        let right = shown(path, 1, world.shown(path, 1, value));
        let outputs = step(&mut beacon, ms(2002), received(C, right));
        assert_eq!(reveals(&outputs)[0].output, world.output(slot(1), value));
        // A peer that sends false outputs for all slots is caught once; each costs one check.
        let mut found = Vec::new();
        let mut checks = 0;
        for at in 2..=3 {
            let outputs =
                raw_step(&mut beacon, ms(2003), received(D, shown(path, at, wrong.clone())));
            let again =
                raw_step(&mut beacon, ms(2003), received(D, shown(path, at, wrong.clone())));
            assert!(jobs(&again).is_empty(), "one check at a time");
            for job in jobs(&outputs) {
                checks += 1;
                let finding = job.run();
                found.extend(accused(&raw_step(&mut beacon, ms(2003), Input::Checked(finding))));
            }
        }
        assert_eq!((checks, found.len()), (1, 1));
    }
}

fn what_was_not_asked_for_is_not_looked_at<S: Instance>() {
    let world = World::<S>::demanding(955);
    let right = |at| shown(Path::Slow, at, world.shown(Path::Slow, at, None));
    // Not final, so no word of it; and final, but nobody was asked yet.
    let mut beacon = world.beacon(A, &SLOW);
    assert!(step(&mut beacon, ms(0), received(B, right(1))).is_empty());
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    assert!(step(&mut beacon, ms(0), received(B, right(1))).is_empty());
    // Of another peer, of another slot.
    let mut beacon = lacking(&world, &SLOW, 2);
    assert!(step(&mut beacon, ms(501), received(C, right(1))).is_empty());
    step(&mut beacon, ms(501), finalized(3, Some(V)));
    assert!(step(&mut beacon, ms(501), received(B, right(3))).is_empty());
    // Under a path that there is not.
    let unused = shown(Path::Fast, 1, world.shown(Path::Slow, 1, None));
    let outputs = step(&mut beacon, ms(501), received(B, unused.clone()));
    let fault = Fault::UnusedPath { path: Path::Fast, slot: slot(1) };
    assert_eq!(accused(&outputs), [(B, fault)]);
    assert!(step(&mut beacon, ms(501), received(B, unused)).is_empty());
    // What has its output needs no other.
    assert_eq!(reveals(&step(&mut beacon, ms(502), received(B, right(1)))).len(), 1);
    assert!(step(&mut beacon, ms(502), received(B, right(1))).is_empty());
    // Out of order it waits its turn.
    let mut beacon = lacking(&world, &SLOW, 2);
    let outputs = step(&mut beacon, ms(501), received(B, right(2)));
    assert_eq!((jobs(&outputs).len(), reveals(&outputs).len()), (1, 0));
    assert!(step(&mut beacon, ms(501), received(B, right(2))).is_empty());
    assert_eq!(reveals(&step(&mut beacon, ms(501), received(B, right(1)))).len(), 2);
}

/// A party with the outputs of the first slots.
fn informed<S: Instance>(
    world: &World<S>,
    profile: &Profile,
    slots: u64,
) -> (Beacon<S>, Vec<Record>) {
    let mut beacon = world.beacon(A, profile);
    let mut log = Vec::new();
    for at in 1..=slots {
        log.extend(records(&step(&mut beacon, ms(0), finalized(at, Some(V)))));
        let message = world.message(B, Path::Slow, slot(at), None);
        log.extend(records(&step(&mut beacon, ms(0), received(B, message))));
    }
    assert_eq!(beacon.head(), slot(slots + 1));
    (beacon, log)
}

fn slots_shown<S: Instance>(world: &World<S>, outputs: &[Output<S>]) -> Vec<u64> {
    let shown = sent(outputs).into_iter().map(|message| match message {
        Message::Output { slot, path, shown } => {
            let committee = S::committee(&world.paths[&path], prefinal_beacon::Binding::Slot);
            let opened = <S as Function>::check_shown(&committee, &input::<S>(slot, None), &shown);
            assert_eq!(opened.unwrap().output, world.output(slot, None));
            slot.get()
        }
        other => panic!("{other:?}"),
    });
    shown.collect()
}

fn outputs_are_shown_within_bounds<S: Instance>() {
    let world = World::<S>::four(956);
    let limits = Limits { outputs: 3, history: 9, ..SLOW.limits };
    let (mut beacon, _) = informed(&world, &Profile { limits, ..SLOW }, 6);
    let mut answer = |from, time, first, count| {
        slots_shown(&world, &step(&mut beacon, ms(time), show(from, first, count)))
    };
    assert_eq!(answer(B, 1, 1, u32::MAX), [1, 2, 3]);
    assert!(answer(B, 2, 4, 3).is_empty(), "rate limited, whichever slots");
    assert_eq!(answer(C, 2, 5, 9), [5, 6], "there are no more");
    assert!(answer(C, 3, 7, 9).is_empty());
    assert!(answer(C, 3, u64::MAX, u32::MAX).is_empty());
    let half = u64::try_from((RETRY / 2).as_millis()).unwrap();
    assert_eq!(answer(B, 1 + half, 4, 3), [4, 5, 6]);
}

/// Time buys a peer nothing but what it has not been shown yet.
fn an_output_is_shown_to_a_peer_once_and_a_few_again<S: Instance>() {
    let world = World::<S>::four(962);
    let limits = Limits { outputs: 3, history: 9, ..SLOW.limits };
    let (mut beacon, _) = informed(&world, &Profile { limits, ..SLOW }, 6);
    let mut now = 0;
    let mut answer = |beacon: &mut Beacon<S>, from, first, count| {
        now += 1000;
        slots_shown(&world, &step(beacon, ms(now), show(from, first, count))).len()
    };
    assert_eq!(answer(&mut beacon, B, 1, 3), 3);
    assert_eq!([0; 3].map(|_| answer(&mut beacon, B, 2, 2)), [2, 1, 0]);
    assert_eq!(answer(&mut beacon, B, 4, 3), 3, "of what is new as much as ever");
    assert_eq!(answer(&mut beacon, C, 1, 3), 3, "and others what is theirs");
    assert_eq!([0; 9].map(|_| answer(&mut beacon, B, 1, 3)), [0; 9]);
    // Each slot that is final earns one, though it has no output here: that may need what is shown.
    step(&mut beacon, ms(99_000), finalized(7, Some(V)));
    assert_eq!([0; 2].map(|_| answer(&mut beacon, B, 1, 3)), [1, 0]);
    // Of the archive as well.
    let (mut beacon, log) = informed(&world, &Profile { limits, ..SLOW }, 6);
    drop(log);
    let looked_up = |outputs: &[Output<S>]| {
        outputs.iter().filter(|output| matches!(output, Output::Do(Effect::Lookup { .. }))).count()
    };
    let revealed = [Record::Revealed { slot: slot(6) }];
    let mut archive = world.restart(A, &Profile { limits, ..SLOW }, &revealed);
    for (time, found) in [(1000, 1), (2000, 1), (3000, 0), (9000, 0)] {
        let outputs = step(&mut archive, ms(time), show(B, 1, 3));
        assert_eq!(looked_up(&outputs), found);
    }
    assert!(beacon.footprint().within(&beacon.most()));
    step(&mut beacon, ms(0), Input::Tick);
}

fn what_is_here_is_not_asked_for_again<S: Instance>() {
    let world = World::<S>::demanding(963);
    let mut beacon = lacking(&world, &SLOW, 4);
    for at in [2, 4] {
        let right = shown(Path::Slow, at, world.shown(Path::Slow, at, None));
        step(&mut beacon, ms(501), received(B, right));
    }
    assert_eq!(asked(&step(&mut beacon, ms(1000), Input::Tick)), [(C, 1, 1)]);
    let right = shown(Path::Slow, 1, world.shown(Path::Slow, 1, None));
    let outputs = step(&mut beacon, ms(1001), received(C, right));
    assert_eq!((reveals(&outputs).len(), asked(&outputs)), (2, vec![(D, 3, 1)]));
}

fn what_is_no_longer_kept_is_looked_up<S: Instance>() {
    let world = World::<S>::four(957);
    let (mut beacon, log) = informed(&world, &SLOW, 6);
    let looked_up = |outputs: &[Output<S>]| -> Vec<(Party, Vec<u64>)> {
        let found = outputs.iter().filter_map(|output| match output {
            Output::Do(Effect::Lookup { to, slots }) => {
                Some((*to, slots.iter().map(|at| at.get()).collect()))
            }
            _ => None,
        });
        found.collect()
    };
    // Four are kept.
    let outputs = step(&mut beacon, ms(1), show(C, 1, 5));
    assert_eq!(slots_shown(&world, &outputs), [3, 4, 5]);
    assert_eq!(looked_up(&outputs), [(C, vec![1, 2])]);
    assert!(looked_up(&step(&mut beacon, ms(2), show(C, 1, 5))).is_empty(), "rate limited too");
    // After a restart nothing is.
    let mut second = world.restart(A, &SLOW, &log);
    let outputs = step(&mut second, ms(3), show(D, 2, 9));
    assert!(sent(&outputs).is_empty());
    assert_eq!(looked_up(&outputs), [(D, vec![2, 3, 4, 5, 6])]);
}

fn a_slot_that_is_off_is_neither_asked_for_nor_shown<S: Instance>() {
    let world = World::<S>::demanding(958);
    let mut beacon = world.beacon(A, &SLOW);
    let off = Switch { from: slot(1), mode: Mode::Off };
    step(&mut beacon, ms(0), Input::Switch(off));
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    step(&mut beacon, ms(0), finalized(2, Some(V)));
    assert!(step(&mut beacon, ms(900), Input::Tick).is_empty());
    let outputs = step(&mut beacon, ms(900), show(B, 1, 2));
    assert!(sent(&outputs).is_empty());
}

/// Partials are lost on their way to D for good; it has every output nevertheless, skipped slots
/// included.
fn a_party_that_hears_no_partials_has_all_outputs<S: Instance>() {
    for profile in profiles::<S>(&[SLOW, TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE]) {
        let world = World::<S>::demanding(959);
        let mut network = Network::new(&world, &profile, &[]);
        network.passes =
            Box::new(|_, to, message| to != D || !matches!(message, Message::Partial { .. }));
        let parties = world.parties();
        let value = |at: u64| (at != 3).then_some(V);
        for at in 1..=6 {
            network.all(at * DELAY, &parties, &prefinalized(at, 0, V));
            network.all((at + 1) * DELAY, &parties, &finalized(at, value(at)));
        }
        network.run_until(20_000);
        let skipped = usize::from(profile.binding == BOTH_VALUE.binding);
        for party in parties {
            let reveals = &network.reveals[&party];
            assert_eq!(reveals.len(), 6 - skipped, "{party} under {profile:?}");
            for (_, reveal) in reveals {
                assert_eq!(reveal.output, world.output(reveal.slot, reveal.bound));
            }
        }
        assert!(network.accusations.is_empty());
    }
}

/// One holder of everything answers from its archive; the other comes back and holds nothing itself.
fn a_party_that_was_down_for_thousands_of_slots_catches_up<S: Instance>() {
    let world = World::<S>::new(960, &[1, 0], [1, 1, 1]);
    let slots = S::MANY;
    let limits = Limits::default();
    let profile = Profile { limits, ..SLOW };
    let revealed = [Record::Revealed { slot: slot(slots) }];
    let mut peer = world.restart(A, &profile, &revealed);
    let mut beacon = world.beacon(B, &profile);
    for at in 1..=slots {
        let value = (at % 7 != 0).then_some(V);
        assert!(records(&raw_step(&mut beacon, ms(0), finalized(at, value))).len() == 1);
    }
    let partial_of_one = world.partials_of_one();
    let mut now = 0;
    let mut shown_to = 0;
    let mut next = slot(1);
    while next <= slot(slots) {
        now = now.max(u64::try_from(beacon.wake_at().unwrap().since_start().as_millis()).unwrap());
        let mut asked = step(&mut beacon, ms(now), Input::Tick);
        while let Some(show) = sent(&asked).into_iter().find(|m| matches!(m, Message::Show { .. }))
        {
            asked.clear();
            now += 500;
            let found = step(&mut peer, ms(now), received(B, show));
            let found = found.iter().find_map(|output| match output {
                Output::Do(Effect::Lookup { to: B, slots }) => Some(slots.clone()),
                _ => None,
            });
            let archived = found.unwrap();
            assert!(archived.len() <= limits.outputs);
            for at in archived {
                shown_to += 1;
                let partial = partial_of_one(at);
                let message =
                    Message::Output { slot: at, path: Path::Slow, shown: S::alone(A, partial) };
                let outputs = step(&mut beacon, ms(now), received(A, message));
                for reveal in reveals(&outputs) {
                    assert_eq!(reveal.slot, next);
                    next = next.next();
                }
                asked.extend(outputs);
            }
            assert!(beacon.footprint().within(&beacon.most()));
        }
    }
    assert_eq!(shown_to, slots, "each once");
    assert_eq!((beacon.waiting_slots(), beacon.answerable_slots()), (0, limits.history));
}

/// A party that has admitted none of the others' keys, and lacks slot 1; what it asks for is in the second.
fn without_keys() -> (World<Wvuf>, Beacon<Wvuf>, Vec<Output<Wvuf>>) {
    let world = World::<Wvuf>::new(961, &[1, 1, 1, 0], [2, 3, 3]);
    let dealt = &world.paths[&Path::Slow];
    let mut config = world.config(A, &SLOW);
    let sharing = world.sharing(Path::Slow, A, prefinal_beacon::Binding::Slot);
    config.paths = prefinal_beacon::Paths::Slow(prefinal_beacon::Sharing {
        committee: dealt.empty.clone(),
        ..sharing
    });
    let mut beacon = Beacon::new(config, &[]).unwrap();
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let outputs = step(&mut beacon, ms(500), Input::Tick);
    (world, beacon, outputs)
}

/// Slot 1 with the partials of these.
fn proof(world: &World<Wvuf>, parties: &[Party]) -> BTreeMap<Party, <Wvuf as Function>::Partial> {
    let partial = |party: &Party| (*party, world.partial(*party, Path::Slow, slot(1), None));
    parties.iter().map(partial).collect()
}

/// Each peer is asked once without delay; what a key is missing for, no number of answers brings.
#[test]
fn proofs_that_rest_on_unknown_keys_are_asked_for_at_a_pace() {
    let (world, mut beacon, outputs) = without_keys();
    assert_eq!(asked(&outputs), [(B, 1, 1)]);
    let answer = |from| received(from, shown::<Wvuf>(Path::Slow, 1, proof(&world, &[B, C])));
    for (from, next) in [(B, C), (C, D), (D, B)] {
        assert_eq!(asked(&step(&mut beacon, ms(501), answer(from))), [(next, 1, 1)]);
    }
    let pause = Limits::default().retry;
    let mut now = ms(501);
    for (from, next) in [(B, C), (C, D), (D, B), (B, C)] {
        let outputs = step(&mut beacon, now, answer(from));
        assert_eq!((jobs(&outputs).len(), asked(&outputs).len()), (1, 0), "{from}");
        now = now + pause;
        assert_eq!(asked(&step(&mut beacon, now, Input::Tick)), [(next, 1, 1)]);
    }
}

/// With late keys a proof may rest on what this party has not admitted: nobody is to blame, and with
/// the key it is right.
#[test]
fn a_proof_that_rests_on_unknown_keys_accuses_nobody() {
    let (world, mut beacon, _) = without_keys();
    let dealt = &world.paths[&Path::Slow];
    let proof = |parties: &[Party]| proof(&world, parties);
    let of = |from, partials| received(from, shown::<Wvuf>(Path::Slow, 1, partials));
    let outputs = step(&mut beacon, ms(501), of(B, proof(&[B, C])));
    assert_eq!((jobs(&outputs).len(), accused(&outputs).len()), (1, 0));
    // It was asked once and is looked at once; the next is asked.
    assert_eq!(asked(&outputs), [(C, 1, 1)]);
    for _ in 0..100 {
        assert!(step(&mut beacon, ms(501), of(B, proof(&[B, C]))).is_empty());
    }
    for party in [B, C] {
        let key = dealt.admitted[&party].clone();
        step(&mut beacon, ms(501), Input::Admitted { path: Path::Slow, key });
    }
    // Too few, and one that can have no key.
    let mut stranger = proof(&[B, C]);
    stranger.insert(D, Wvuf::wrong_partial(3));
    for wrong in [proof(&[B]), stranger] {
        let committee = Wvuf::committee(dealt, prefinal_beacon::Binding::Slot);
        let opened =
            <Wvuf as Function>::check_shown(&committee, &input::<Wvuf>(slot(1), None), &wrong);
        assert_eq!(opened, Err(prefinal_beacon::OutputError::False));
    }
    let outputs = step(&mut beacon, ms(502), of(C, proof(&[B, C])));
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(1), None));
}
