//! A crash after every single output of a run: what was durable decides what the next life says.
use prefinal_beacon::{
    Beacon, Effect, Input, Message, Output, Path, Record, Refusal, Reveal, Slot, Value, Withheld,
};
use prefinal_crypto_core::access::Party;

use crate::fixture::*;

suite! {
    a_log_that_repeats_itself_restores_the_same
    a_party_without_shares_restarts_too
    ; with values:
    a_crash_at_any_point_changes_nothing_that_was_said
    a_forgetful_engine_gets_no_second_value
}

/// Two slots of party `A`, the first by the fast path where there is one.
fn script<S: Instance>(world: &World<S>, profile: &Profile) -> Vec<Input<S>> {
    let bound = |value| (profile.binding == BOTH_VALUE.binding).then_some(value);
    let mut inputs = Vec::new();
    for at in 1..=2 {
        inputs.push(prefinalized(at, 0, V));
        if profile.algorithm == Algorithm::FastAndSlow && at == 1 {
            for peer in [B, C, D] {
                inputs.push(received(peer, world.message(peer, Path::Fast, slot(at), bound(V))));
            }
        }
        inputs.push(finalized(at, Some(V)));
        for peer in [B, C] {
            inputs.push(received(peer, world.message(peer, late(profile), slot(at), bound(V))));
        }
    }
    inputs.push(abandoned(3, 0));
    inputs
}

fn late(profile: &Profile) -> Path {
    if profile.algorithm == Algorithm::Tight { Path::Tight } else { Path::Slow }
}

/// What left one life before it ended.
struct Effects<S: Instance> {
    log: Vec<Record>,
    sent: Vec<Message<S>>,
    reveals: Vec<Reveal<S>>,
    count: usize,
}

impl<S: Instance> Effects<S> {
    fn after(log: &[Record]) -> Self {
        Self { log: log.to_vec(), sent: Vec::new(), reveals: Vec::new(), count: 0 }
    }

    /// Carries outputs out until the limit. `false` if it crashed.
    fn carry_out(&mut self, beacon: &mut Beacon<S>, limit: usize) -> bool {
        use prefinal_protocol::Machine;
        while let Some(output) = beacon.poll() {
            if self.count == limit {
                return false;
            }
            self.count += 1;
            match output {
                Output::Keep(record) | Output::Note(record) => self.log.push(record),
                Output::Do(Effect::Send { message, .. }) => {
                    self.check(&message);
                    self.sent.push(message);
                }
                Output::Do(Effect::Check(job)) => beacon.handle(ms(0), Input::Checked(job.run())),
                Output::Do(Effect::Reveal(reveal)) => self.reveals.push(*reveal),
                // A later life is silent about what is not on record.
                Output::Do(Effect::Refused(Refusal::Withheld(Withheld::Lost { .. }))) => {}
                other => panic!("{other:?}"),
            }
        }
        true
    }

    /// Its record is in the log before a partial is in the network.
    fn check(&self, message: &Message<S>) {
        let Message::Partial { path, slot, .. } = message else { return };
        let backed = |record: &Record| match record {
            Record::Released { slot: s, .. } => *path != Path::Slow && s == slot,
            Record::Finalized { slot: s, .. } => *path != Path::Fast && s == slot,
            _ => false,
        };
        assert!(self.log.iter().any(backed), "{path} partial of {slot} before its record");
    }
}

/// Runs the script until the limit. Gives the input that was not finished, if it crashed.
fn live<S: Instance>(
    beacon: &mut Beacon<S>,
    inputs: &[Input<S>],
    limit: usize,
) -> (Effects<S>, Option<usize>) {
    use prefinal_protocol::Machine;
    let mut effects = Effects::after(&[]);
    for (position, input) in inputs.iter().enumerate() {
        beacon.handle(ms(0), input.clone());
        if !effects.carry_out(beacon, limit) {
            return (effects, Some(position));
        }
    }
    (effects, None)
}

/// The second life, with peers that answer requests and resend nothing else.
fn resume<S: Instance>(
    world: &World<S>,
    profile: &Profile,
    log: &[Record],
    inputs: &[Input<S>],
) -> Effects<S> {
    use prefinal_protocol::Machine;
    let mut beacon = world.restart(A, profile, log);
    let mut effects = Effects::after(log);
    effects.carry_out(&mut beacon, usize::MAX);
    for input in inputs {
        beacon.handle(ms(1), input.clone());
        effects.carry_out(&mut beacon, usize::MAX);
    }
    for round in 0..3 {
        beacon.handle(ms(1000 * (round + 1)), Input::Tick);
        let before = effects.sent.len();
        effects.carry_out(&mut beacon, usize::MAX);
        let asked: Vec<Slot> = effects.sent[before..]
            .iter()
            .filter_map(|message| match message {
                Message::Request { slot } => Some(*slot),
                _ => None,
            })
            .collect();
        for at in asked {
            let bound = (profile.binding == BOTH_VALUE.binding).then_some(V);
            for peer in [B, C] {
                let message = world.message(peer, late(profile), at, bound);
                beacon.handle(ms(1000 * (round + 1)), received(peer, message));
                effects.carry_out(&mut beacon, usize::MAX);
            }
        }
    }
    effects
}

/// Early releases by slot and value, over all lives.
fn early_values<S: Instance>(
    profile: &Profile,
    lives: &[&Effects<S>],
) -> Vec<(Slot, Option<Value>)> {
    let path = if late(profile) == Path::Tight { Path::Tight } else { Path::Fast };
    let mut values: Vec<_> = lives
        .iter()
        .flat_map(|life| &life.sent)
        .filter_map(|message| match message {
            Message::Partial { path: p, slot, value, .. } if *p == path => Some((*slot, *value)),
            _ => None,
        })
        .collect();
    values.sort();
    values.dedup();
    values
}

fn a_crash_at_any_point_changes_nothing_that_was_said<S: Instance>() {
    let world = World::<S>::demanding(501);
    for profile in profiles::<S>(&[SLOW, TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE]) {
        let inputs: Vec<Input<S>> = script(&world, &profile)
            .into_iter()
            .filter(|input| profile.algorithm != Algorithm::Slow || !is_prefinalize(input))
            .collect();
        let (whole, crashed) = live(&mut world.beacon(A, &profile), &inputs, usize::MAX);
        assert_eq!((crashed, whole.reveals.len()), (None, 2));
        for limit in 0..=whole.count {
            let (first, crashed) = live(&mut world.beacon(A, &profile), &inputs, limit);
            let rest = &inputs[crashed.unwrap_or(inputs.len())..];
            // The engine says again what it was saying when the crash came.
            let second = resume(&world, &profile, &first.log, rest);
            check(&world, &profile, limit, &[&first, &second]);
        }
    }
}

fn is_prefinalize<S: Instance>(input: &Input<S>) -> bool {
    matches!(input, Input::Prefinalized { .. })
}

fn check<S: Instance>(world: &World<S>, profile: &Profile, limit: usize, lives: &[&Effects<S>; 2]) {
    let say = format!("{profile:?}, crash after {limit} outputs");
    let bound = (profile.binding == BOTH_VALUE.binding).then_some(V);
    for message in lives.iter().flat_map(|life| &life.sent) {
        if let Message::Partial { path, slot, value, .. } = message {
            assert_eq!(*value, bound, "{say}");
            assert_eq!(*message, world.message(A, *path, *slot, bound), "{say}");
        }
    }
    // Every slot is revealed; only the last reveal before the crash may come again.
    let slots =
        |life: &Effects<S>| life.reveals.iter().map(|reveal| reveal.slot).collect::<Vec<_>>();
    let (first, second) = (slots(lives[0]), slots(lives[1]));
    let expected: Vec<Slot> = (1..=2).map(slot).collect();
    assert_eq!(first, expected[..first.len()], "{say}");
    let joined: Vec<_> = first.iter().chain(&second).copied().collect();
    let mut once = joined.clone();
    once.dedup();
    assert_eq!(once, expected, "{say}");
    assert!(joined.len() <= once.len() + 1, "{say}");
    for reveal in lives.iter().flat_map(|life| &life.reveals) {
        assert_eq!(reveal.output, world.output(reveal.slot, bound), "{say}");
    }
}

/// The engine lost its own memory in the crash and now votes for another value.
fn a_forgetful_engine_gets_no_second_value<S: Instance>() {
    let world = World::<S>::demanding(502);
    for profile in profiles::<S>(&[TIGHT_VALUE, BOTH_VALUE]) {
        let inputs = [prefinalized(1, 0, V)];
        for limit in 0..=2 {
            let (first, _) = live(&mut world.beacon(A, &profile), &inputs, limit);
            let mut beacon = world.restart(A, &profile, &first.log);
            let mut second = Effects::after(&first.log);
            second.carry_out(&mut beacon, usize::MAX);
            let outputs = step(&mut beacon, ms(1), prefinalized(1, 0, W));
            second.sent.extend(sent(&outputs));
            let values = early_values(&profile, &[&first, &second]);
            // A promise that never left binds all the same, and an empty journal may have lost one.
            let expected = [&[][..], &[], &[(slot(1), Some(V))]];
            assert_eq!(values, expected[limit], "crash after {limit} outputs");
        }
    }
}

/// Records in any order of slots, twice, and of slots long finished.
fn a_log_that_repeats_itself_restores_the_same<S: Instance>() {
    let world = World::<S>::demanding(503);
    let (whole, _) = live(&mut world.beacon(A, &BOTH), &script(&world, &BOTH), usize::MAX);
    let doubled: Vec<Record> = whole.log.iter().chain(&whole.log).copied().collect();
    let once = world.restart(A, &BOTH, &whole.log);
    let twice = world.restart(A, &BOTH, &doubled);
    assert_eq!(once.snapshot(), twice.snapshot());
    // The first word stands.
    let mut contradicted = vec![Record::Released { slot: slot(3), value: V }];
    contradicted.push(Record::Released { slot: slot(3), value: W });
    let mut beacon = world.restart(A, &BOTH_VALUE, &contradicted);
    assert!(sent(&step(&mut beacon, ms(0), prefinalized(3, 0, W))).is_empty());
    let said = sent(&step(&mut beacon, ms(0), prefinalized(3, 0, V)));
    assert_eq!(said, [world.message(A, Path::Fast, slot(3), Some(V))]);
}

fn a_party_without_shares_restarts_too<S: Instance>() {
    let world = World::<S>::new(504, &[0, 1, 1, 1], [2, 3, 3]);
    let me = Party::new(0);
    let mut beacon = world.beacon(me, &BOTH);
    let outputs = step(&mut beacon, ms(0), finalized(1, Some(V)));
    assert!(sent(&outputs).is_empty());
    let mut second = world.restart(me, &BOTH, &records(&outputs));
    let mut shown = Vec::new();
    for peer in [B, C] {
        let message = world.message(peer, Path::Slow, slot(1), None);
        shown.extend(reveals(&step(&mut second, ms(0), received(peer, message))));
    }
    assert_eq!(shown.len(), 1);
}
