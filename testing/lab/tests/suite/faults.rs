//! Whole committees under faults: crashes, lost disks, silence, lies, floods, loss, partitions.
//!
//! `committee` says what must hold of every run, `attacks` attacks the key generation, and `bites` shows
//! that the checkers find what is broken.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_protocol::Instant;
use prefinal_beacon::{Path, Slot, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_lab::legible::Act;
use prefinal_lab::machine::RecordOf;
use prefinal_pvss_dkg::protocol;
use prefinal_sim::rule::{self, Letter};
use prefinal_sim::{Chance, Dice, Disk, Loss, Network, Partition, PartitionEffect, Seat, Window};
use prefinal_validator::Record;
use prefinal_validator::participant::Record as Kept;
use prefinal_validator::setup::{Algorithm, FIRST};

use crate::bites::{
    a_partial_that_leaves_after_a_timeout_is_found,
    shares_that_suffice_without_anybody_else_are_found, what_is_changed_in_a_run_is_found,
};
use crate::committee::{Lab, Message, MessageOf, Observation, Run, Scene, partial_of, seats};

pub(crate) const SEEDS: [u64; 1] = [1];
const SECOND: Duration = Duration::from_secs(1);

/// Two of seven with 330 of 1000: as much as may be faulty.
pub(crate) const SOME: [u32; 2] = [1, 4];

pub(crate) fn seat(number: u32) -> Seat {
    Seat::new(number)
}

pub(crate) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

// No faults.

fn without_faults_everybody_reveals_the_same_and_the_fast_path_is_used<S: Lab>() {
    for seed in SEEDS {
        let mut scene = Scene::new("no faults", seed);
        scene.alone = seed == SEEDS[0];
        let mut run = scene.stage::<S>();
        run.finish();
        assert_eq!(run.accusations(), BTreeSet::new(), "{}", run.label);
        assert_eq!(run.refusals(), BTreeSet::new(), "{}", run.label);
        let fast = run.reveals().filter(|(.., reveal)| reveal.path == Path::Fast).count();
        assert!(2 * fast > run.reveals().count(), "{}: {fast} fast values", run.label);
    }
}

fn the_slow_path_costs_one_delay_and_the_others_none<S: Lab>() {
    const DELAY: Duration = Duration::from_millis(40);
    let expected = [
        (Algorithm::Slow, Path::Slow, DELAY),
        (Algorithm::Fast, Path::Fast, Duration::ZERO),
        (Algorithm::Tight, Path::Tight, Duration::ZERO),
    ];
    for (algorithm, path, wait) in expected {
        let mut scene = Scene::new(format!("{algorithm:?} with equal delays"), 1);
        scene.algorithm = algorithm;
        scene.network = Network::constant(DELAY);
        scene.compute = Duration::ZERO;
        let mut run = scene.stage::<S>();
        run.finish();
        assert!(run.reveals().all(|(.., reveal)| reveal.path == path), "{}", run.label);
        assert!(run.waits().iter().all(|one| *one == wait), "{}: {:?}", run.label, run.waits());
    }
}

// Crashes.

/// A run without faults, for its times.
fn rehearsal<S: Lab>(seed: u64) -> Run<S> {
    let mut run = Scene::new("rehearsal", seed).stage::<S>();
    run.finish();
    run
}

fn a_party_that_crashes_and_comes_back_with_its_disk_ends_with_the_same_values<S: Lab>() {
    for seed in SEEDS {
        let crashing = seat(u32::try_from(seed).unwrap());
        let run = rehearsal::<S>(seed);
        let (ready, first) = (run.ready_at(crashing), run.first_value_at(crashing));
        let times = [ready / 4, ready / 2, ready * 9 / 10, ready, first, first + ms(150)];
        for (at, down) in times.into_iter().zip([SECOND * 4, ms(1)].into_iter().cycle()) {
            let name = format!("{crashing} is down for {down:?} at {at:?}");
            let mut run = Scene::new(name, seed).stage::<S>();
            run.simulation.crash(crashing, Instant::at(at)).unwrap();
            run.simulation.restart(crashing, Instant::at(at + down), Disk::Kept).unwrap();
            run.finish();
        }
    }
}

fn tight_thresholds_survive_a_crash_and_a_silent_third<S: Lab>() {
    for seed in SEEDS {
        let mut scene = Scene::new("tight, two silent, one crashes", seed).faulty(SOME);
        scene.algorithm = Algorithm::Tight;
        let mut run = scene.stage::<S>();
        for silent in SOME {
            run.simulation.rule(seat(silent), rule::mute()).unwrap();
        }
        // Every party that is left is needed, so all wait for the one that is down.
        run.simulation.crash_after_records(seat(0), 40 * seed).unwrap();
        run.run_until_down(seat(0));
        run.restart(seat(0), SECOND * 3, Disk::Kept);
        run.finish();
    }
}

/// The worst moments: what was promised is on the disk, and nobody has heard of it.
fn a_crash_between_writing_and_sending_changes_nothing<S: Lab>() {
    let mut moments = 0;
    for seed in SEEDS {
        let crashing = seat(0);
        let run = rehearsal::<S>(seed);
        let records = run.simulation.records(crashing);
        let kind = |record: &RecordOf| match record {
            Record::Engine(_, prefinal_jolteon::Record::Safety(_)) => 0,
            Record::Engine(_, prefinal_jolteon::Record::Block(_)) => 1,
            Record::Engine(_, prefinal_jolteon::Record::Finalized { .. }) => 2,
            Record::Application(_) => unreachable!("there is no application"),
            Record::Participant(record) => match record {
                Kept::Ordered { .. } | Kept::Abandoned(_) => 3,
                Kept::Beacon(_, _, prefinal_beacon::Record::Released { .. }) => 4,
                Kept::Beacon(_, _, prefinal_beacon::Record::Finalized { .. }) => 5,
                Kept::Beacon(_, _, prefinal_beacon::Record::Revealed { .. }) => 6,
                Kept::Beacon(
                    _,
                    _,
                    prefinal_beacon::Record::Abandoned { .. }
                    | prefinal_beacon::Record::Switched(_)
                    | prefinal_beacon::Record::WasOff { .. }
                    | prefinal_beacon::Record::PassedOver { .. },
                ) => 7,
                Kept::Keygen(_, protocol::Record::Dealt { .. }) => 8,
                Kept::Keygen(..) => 9,
            },
        };
        // Of each kind one in the middle.
        let mut places: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
        for (count, record) in (1..).zip(records) {
            places.entry(kind(record)).or_default().push(count);
        }
        for (kind, places) in places {
            moments += 1;
            let count = places[places.len() / 2];
            let mut run =
                Scene::new(format!("crash at record {count}, kind {kind}"), seed).stage::<S>();
            run.simulation.crash_after_records(crashing, count).unwrap();
            run.run_until_down(crashing);
            run.restart(crashing, ms(100), Disk::Kept);
            run.finish();
        }
    }
    assert!(moments >= 9 * SEEDS.len(), "only {moments} kinds of records were written");
}

fn a_party_that_crashes_again_and_again_comes_through<S: Lab>() {
    for seed in SEEDS {
        let crashing = seat(2);
        let mut run = Scene::new("crashes again and again", seed).stage::<S>();
        for records in [3, 9, 17, 6, 30] {
            run.simulation.crash_after_records(crashing, records).unwrap();
            run.run_until_down(crashing);
            run.restart(crashing, ms(200), Disk::Kept);
            run.run_for(ms(201));
        }
        run.finish();
    }
}

fn all_may_crash_at_once<S: Lab>() {
    for seed in SEEDS {
        let run = rehearsal::<S>(seed);
        let times = [run.ready_at(seat(0)) / 2, run.first_value_at(seat(0)) + ms(70)];
        for at in times {
            let mut run = Scene::new(format!("all crash at {at:?}"), seed).stage::<S>();
            for (wait, seat) in (1..).zip(seats()) {
                run.simulation.crash(seat, Instant::at(at)).unwrap();
                let back = Instant::at(at + ms(100) * wait);
                run.simulation.restart(seat, back, Disk::Kept).unwrap();
            }
            run.finish();
        }
    }
}

fn a_lost_disk_harms_nobody_else<S: Lab>() {
    for seed in SEEDS {
        let run = rehearsal::<S>(seed);
        let losing = seat(1);
        for at in [run.ready_at(losing) / 2, run.first_value_at(losing) + ms(50)] {
            // Who forgets its promises may break them, so it counts as faulty.
            let scene = Scene::new(format!("{losing} loses its disk at {at:?}"), seed);
            let mut run = scene.faulty([losing.get()]).stage::<S>();
            run.simulation.crash(losing, Instant::at(at)).unwrap();
            run.simulation.restart(losing, Instant::at(at + SECOND), Disk::Lost).unwrap();
            run.finish();
            // It learns from the others, and then it is right again.
            run.run_until_revealed(&[losing]);
            // The run is shorter than the window: nothing that it may have released before leaves early.
            let released = run.simulation.notes().iter().filter(|note| {
                note.seat == losing && matches!(note.event, Observation::Released(_, Path::Fast, _))
            });
            let again = released.filter(|note| note.at > Instant::at(at + SECOND)).count();
            assert_eq!(again, 0, "{}", run.label);
            run.faulty.clear();
            let values: BTreeSet<_> =
                run.reveals().map(|(_, _, reveal)| (reveal.slot, reveal.randomness())).collect();
            let slots: BTreeSet<_> = values.iter().map(|(slot, _)| slot).collect();
            assert_eq!(values.len(), slots.len(), "{}", run.label);
        }
    }
}

/// A fast partial is on the disk but has not left; the restarted party gives the round up while it
/// still reads its keys from the log. Then the partial must not leave any more. (With
/// threshold BLS there is nothing to wait for behind the log.)
#[test]
fn what_was_given_up_after_a_restart_is_not_released_by_the_beacon_that_comes_later() {
    for seed in SEEDS {
        let crashing = seat(0);
        let scene = || {
            let mut scene = Scene::new("rehearsal of a slow restart", seed);
            // The log takes longer to judge than a round may take.
            scene.compute = ms(60);
            scene
        };
        let mut run = scene().stage::<Wvuf>();
        run.finish();
        let (at, slot) = run.find(crashing, |seen| match seen {
            Observation::Released(_, Path::Fast, slot) => Some(*slot),
            _ => None,
        });
        let released = |record: &RecordOf| matches!(record, Record::Participant(Kept::Beacon(_, _, prefinal_beacon::Record::Released { slot: one, .. })) if *one == slot);
        let records = run.simulation.records(crashing);
        let count = (1..).zip(records).find(|(_, record)| released(record)).unwrap().0;
        let mut scene = scene();
        scene.name = format!("{slot} is given up while the keys are read");
        scene.network = scene.network.with_partition(Partition {
            window: Window::new(at, at + SECOND * 15),
            groups: vec![BTreeSet::from([crashing])],
            blocked: PartitionEffect::Dropped,
        });
        let mut run = scene.stage::<Wvuf>();
        run.simulation.crash_after_records(crashing, count).unwrap();
        run.run_until_down(crashing);
        run.restart(crashing, ms(500), Disk::Kept);
        run.finish();
        let gave_up = |seen: &Observation<Wvuf>| {
            matches!(seen, Observation::Act(_, Act::GaveUp(_))).then_some(())
        };
        let (gave_up, ()) = run.find(crashing, gave_up);
        let readies = run.notes().filter(|note| {
            note.seat == crashing && matches!(note.event, Observation::Ready { .. }) && note.at > at
        });
        let ready = readies.map(|note| note.at).next().unwrap();
        assert!(gave_up < ready, "{}: given up at {gave_up:?}, ready at {ready:?}", run.label);
    }
}

// Silence and lies.

fn a_third_may_be_silent_from_the_start<S: Lab>() {
    for seed in SEEDS {
        let mut run = Scene::new("two are silent", seed).faulty(SOME).stage::<S>();
        for silent in SOME {
            run.simulation.rule(seat(silent), rule::mute()).unwrap();
        }
        run.finish();
        assert!(run.reveals().all(|(.., reveal)| reveal.path == Path::Slow), "{}", run.label);
    }
}

fn fast_partials_that_are_withheld_from_some_cost_them_a_delay_and_no_value<S: Lab>() {
    for seed in SEEDS {
        let victims = [seat(0), seat(3)];
        let mut run = Scene::new("fast partials are withheld", seed).faulty(SOME).stage::<S>();
        for one in SOME {
            let withheld = rule::drop_when(move |_, letter: &Letter<Arc<MessageOf<S>>>| {
                let fast = matches!(partial_of(&letter.message), Some((Path::Fast, _)));
                fast && victims.contains(&letter.to)
            });
            run.simulation.rule(seat(one), withheld).unwrap();
        }
        run.finish();
        for (at, _, reveal) in run.reveals() {
            let slow = reveal.path == Path::Slow;
            assert!(slow || !victims.contains(&at), "{}: {at} has a fast value", run.label);
        }
    }
}

fn partial<S: Lab>(path: Path, slot: Slot, partial: S::Partial) -> Arc<MessageOf<S>> {
    Arc::new(Message::Beacon(
        FIRST,
        prefinal_beacon::Message::Partial { path, slot, value: None, partial },
    ))
}

/// What leaves instead of a party's own partial.
fn lying<S: Lab>(
    mut lie: impl FnMut(Path, Slot, S::Partial) -> Vec<Arc<MessageOf<S>>> + 'static,
) -> impl rule::Rule<Arc<MessageOf<S>>> {
    rule::from_fn(move |_, letter: Letter<Arc<MessageOf<S>>>, leaves| match &*letter.message {
        Message::Beacon(_, prefinal_beacon::Message::Partial { path, slot, partial, .. }) => {
            let lies = lie(*path, *slot, partial.clone());
            leaves.extend(lies.into_iter().map(|message| Letter { message, ..letter.clone() }));
        }
        _ => leaves.push(letter),
    })
}

/// A partial of the same shape that is nobody's evaluation of anything.
fn junk_for<S: Lab>(own: &S::Partial) -> S::Partial {
    S::junk(S::points(own))
}

fn false_partials_are_found_out_and_only_their_sender_is_accused<S: Lab>() {
    for seed in SEEDS {
        let mut run = Scene::new("one lies", seed).faulty(SOME).stage::<S>();
        // A point of nothing, the partial of another slot, of the other path.
        let [random, stale] = SOME;
        let junk = lying::<S>(|path, slot, own| vec![partial(path, slot, junk_for::<S>(&own))]);
        run.simulation.rule(seat(random), junk).unwrap();
        let mut first: BTreeMap<Path, S::Partial> = BTreeMap::new();
        let replayed = lying::<S>(move |path, slot, own| {
            let old = first.entry(path).or_insert_with(|| own.clone()).clone();
            let other = if path == Path::Fast { Path::Slow } else { Path::Fast };
            vec![partial(path, slot, old), partial(other, slot, own)]
        });
        run.simulation.rule(seat(stale), replayed).unwrap();
        run.finish();
        let accused: BTreeSet<Party> = run.accusations().into_iter().map(|(one, _)| one).collect();
        let liars: BTreeSet<Party> = SOME.into_iter().map(Party::new).collect();
        assert_eq!(accused, liars, "{}: {:?}", run.label, run.accusations());
    }
}

fn one_false_partial_beside_the_right_one_is_an_equivocation<S: Lab>() {
    for seed in SEEDS {
        let liar = 4;
        let mut scene = Scene::new("one says two things", seed).faulty([liar]);
        // Both arrive before the slot has its value.
        scene.network = Network::constant(ms(40));
        let mut run = scene.stage::<S>();
        let twice = lying::<S>(|path, slot, own| {
            let junk = junk_for::<S>(&own);
            vec![partial(path, slot, own), partial(path, slot, junk)]
        });
        run.simulation.rule(seat(liar), twice).unwrap();
        run.finish();
        let accusations = run.accusations();
        assert!(accusations.iter().all(|(one, _)| *one == Party::new(liar)), "{}", run.label);
        assert!(
            accusations.iter().any(|(_, fault)| fault.starts_with("second partial of")),
            "{}: {accusations:?}",
            run.label
        );
    }
}

fn messages_may_come_many_times_and_late<S: Lab>() {
    for seed in SEEDS {
        let mut run = Scene::new("everything is repeated", seed).stage::<S>();
        for at in seats() {
            let repeated = rule::repeat_when(2, ms(900), |_, _: &Letter<Arc<MessageOf<S>>>| true);
            run.simulation.rule(at, repeated).unwrap();
        }
        run.finish();
        assert_eq!(run.accusations(), BTreeSet::new(), "{}", run.label);
    }
}

/// Junk in every place where a party may put something, before and after there are keys. Some of it
/// is as long as a dealing, so that it takes a look inside to refuse it.
fn flood<S: Lab>(to: Seat, burst: u64) -> Vec<Letter<Arc<MessageOf<S>>>> {
    let letter = |message| Letter { to, message: Arc::new(message), delay: Duration::ZERO };
    let dealing = S::ground(Algorithm::Fast).setup().keygen.dealing_bytes();
    let transactions: Vec<prefinal_jolteon::Transaction> = (0..60_u8)
        .map(|one| {
            let mut junk = vec![one % 3; if one % 2 == 0 { 1 + dealing } else { 600 }];
            junk[9] = one;
            junk[10] = u8::try_from(burst).unwrap();
            prefinal_jolteon::Transaction::new(junk)
        })
        .collect();
    let mut letters =
        vec![letter(Message::Engine(FIRST, prefinal_jolteon::Message::Transactions(transactions)))];
    for one in 0..200 {
        let slot = Slot::new(burst + one);
        let message = prefinal_beacon::Message::Request { slot };
        letters.push(letter(Message::Beacon(FIRST, message)));
        for path in [Path::Slow, Path::Fast, Path::Tight] {
            let partial = S::junk(1);
            let message = prefinal_beacon::Message::Partial { path, slot, value: None, partial };
            letters.push(letter(Message::Beacon(FIRST, message)));
        }
    }
    letters
}

fn a_flood_keeps_nobody_from_revealing<S: Lab>() {
    for seed in SEEDS {
        let flooding = 4;
        let mut run = Scene::new("one floods", seed).faulty([flooding]).stage::<S>();
        for burst in 0..12 {
            let at = Instant::at(ms(1) + ms(200) * u32::try_from(burst).unwrap());
            let honest = seats().filter(|at| at.get() != flooding);
            let letters = honest.flat_map(|to| flood::<S>(to, burst)).collect();
            run.simulation.rule(seat(flooding), rule::inject(at, letters)).unwrap();
        }
        run.finish();
        let refusals = run.refusals();
        assert!(!refusals.is_empty(), "{}: junk was ordered and did not count", run.label);
    }
}

// Links.

fn a_tenth_of_the_messages_may_be_lost<S: Lab>() {
    for seed in SEEDS {
        let mut scene = Scene::new("a tenth is lost", seed);
        let loss = Loss { window: Window::ALWAYS, chance: Chance::percent(10) };
        scene.network = scene.network.with_loss(loss);
        let mut run = scene.stage::<S>();
        run.finish();
        assert_eq!(run.accusations(), BTreeSet::new(), "{}", run.label);
        assert!(run.simulation.counters().lost > 0, "{}", run.label);
    }
}

fn a_partition_stops_what_it_must_and_heals<S: Lab>() {
    for seed in SEEDS {
        let run = rehearsal::<S>(seed);
        let mut times = [run.ready_at(seat(0)) / 2, run.first_value_at(seat(0))];
        times.rotate_left(usize::try_from(seed % 2).unwrap());
        // Without a quorum on either side, and with one.
        let groups = [vec![0, 1], vec![2, 6]].map(|group| group.into_iter().map(Seat::new));
        for (number, group) in groups.into_iter().enumerate() {
            let group: BTreeSet<Seat> = group.collect();
            for (blocked, at) in
                [PartitionEffect::Dropped, PartitionEffect::Held].into_iter().zip(times)
            {
                let mut scene = Scene::new(format!("group {number} {blocked:?} at {at:?}"), seed);
                let from = Instant::at(at);
                scene.network = scene.network.with_partition(Partition {
                    window: Window::new(from, from + SECOND * 9),
                    groups: vec![group.clone()],
                    blocked,
                });
                let mut run = scene.stage::<S>();
                run.finish();
                assert_eq!(run.accusations(), BTreeSet::new(), "{}", run.label);
            }
        }
    }
}

// Everything at once.

/// Loss, a partition, a liar, and crashes, all drawn from the seed.
fn chaos<S: Lab>(seed: u64) {
    let mut dice = Dice::new(seed);
    let liar = seat(4);
    let mut scene = Scene::new("everything at once", seed).faulty([liar.get()]);
    let loss = Loss { window: Window::ALWAYS, chance: Chance::percent(3) };
    let from = Instant::at(dice.duration(ms(0), SECOND * 6));
    let cut_off = seat(u32::try_from(dice.below(4)).unwrap());
    scene.network = scene.network.with_loss(loss).with_partition(Partition {
        window: Window::new(from, from + SECOND * 3),
        groups: vec![BTreeSet::from([cut_off])],
        blocked: PartitionEffect::Dropped,
    });
    let mut run = scene.stage::<S>();
    run.simulation
        .rule(
            liar,
            lying::<S>(|path, slot, own| {
                let junk = junk_for::<S>(&own);
                let second = if slot.get().is_multiple_of(2) { own } else { junk.clone() };
                vec![partial(path, slot, junk), partial(path, slot, second)]
            }),
        )
        .unwrap();
    for _ in 0..4 {
        let crashing = seat(u32::try_from(dice.below(4)).unwrap());
        let at = Instant::at(dice.duration(ms(0), SECOND * 9));
        let back = at + dice.duration(ms(0), SECOND * 2);
        run.simulation.crash(crashing, at).unwrap();
        run.simulation.restart(crashing, back, Disk::Kept).unwrap();
    }
    for crashing in [seat(5), seat(6)] {
        run.simulation.crash_after_records(crashing, 1 + dice.below(80)).unwrap();
    }
    // A party that has crashed at a record comes back, whenever that was.
    for _ in 0..800 {
        run.run_for(ms(20));
        for one in [seat(5), seat(6)] {
            if run.simulation.machine(one).is_none() {
                run.restart(one, ms(10), Disk::Kept);
            }
        }
    }
    run.finish();
}

fn everything_at_once_changes_nothing<S: Lab>() {
    (100..103).for_each(chaos::<S>);
}

/// Every test above, in each scheme.
macro_rules! in_each_scheme {
    ($($test:ident)*) => {
        mod bls {
            $(#[test] fn $test() { super::$test::<prefinal_beacon::Bls>(); })*
        }
        mod wvuf {
            $(#[test] fn $test() { super::$test::<prefinal_beacon::Wvuf>(); })*
        }
    };
}

in_each_scheme! {
    without_faults_everybody_reveals_the_same_and_the_fast_path_is_used
    the_slow_path_costs_one_delay_and_the_others_none
    a_party_that_crashes_and_comes_back_with_its_disk_ends_with_the_same_values
    tight_thresholds_survive_a_crash_and_a_silent_third
    a_crash_between_writing_and_sending_changes_nothing
    a_party_that_crashes_again_and_again_comes_through
    all_may_crash_at_once
    a_lost_disk_harms_nobody_else
    a_third_may_be_silent_from_the_start
    fast_partials_that_are_withheld_from_some_cost_them_a_delay_and_no_value
    false_partials_are_found_out_and_only_their_sender_is_accused
    one_false_partial_beside_the_right_one_is_an_equivocation
    messages_may_come_many_times_and_late
    a_flood_keeps_nobody_from_revealing
    a_tenth_of_the_messages_may_be_lost
    a_partition_stops_what_it_must_and_heals
    everything_at_once_changes_nothing
    a_partial_that_leaves_after_a_timeout_is_found
    what_is_changed_in_a_run_is_found
    shares_that_suffice_without_anybody_else_are_found
}
