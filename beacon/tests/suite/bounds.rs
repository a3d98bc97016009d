//! Floods: what a peer can make this party keep is bounded by a formula, however long it goes on.
use prefinal_beacon::{Effect, Footprint, Input, Limits, Message, Output, Path, Value, Work};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Machine;

use crate::fixture::*;

suite! {
    a_flood_by_one_peer_stays_within_its_bound
    a_flood_by_all_stays_within_the_sum_whatever_it_lasts
    an_engine_far_ahead_keeps_values_only
    a_backlog_is_worked_off_from_its_head
    a_verdict_that_comes_late_is_no_evidence_against_what_came_after_it
    requests_are_answered_for_a_few_slots_at_a_time
}

fn heavy<S: Instance>(seed: u64) -> World<S> {
    World::new(seed, &[2, 3, 1, 2], [6, 8, 7])
}

/// Everything a peer can think of for one slot: all paths, two right values and many others, requests.
fn burst<S: Instance>(
    world: &World<S>,
    from: Party,
    at: u64,
    profile: &Profile,
) -> Vec<Message<S>> {
    let values = [V, W, Value::new([9; 32])].map(Some);
    let bound = if profile.binding == BOTH_VALUE.binding { &values[..] } else { &[None] };
    let paths = [Path::Slow, Path::Fast, Path::Tight];
    let lanes = paths.iter().flat_map(|path| bound.iter().map(move |value| (*path, *value)));
    let mut messages: Vec<_> =
        lanes.map(|(path, value)| world.message(from, path, slot(at), value)).collect();
    let other = if bound[0].is_none() { Some(V) } else { None };
    messages.push(world.message(from, Path::Slow, slot(at), other));
    messages
        .extend([at, at.saturating_add(1), u64::MAX].map(|at| Message::Request { slot: slot(at) }));
    messages
}

fn check<S: Instance>(world: &World<S>, beacon: &prefinal_beacon::Beacon<S>, say: &str) {
    for party in world.parties() {
        let (kept, most) = (beacon.footprint_of(party), beacon.most_of(party));
        assert!(kept.within(&most), "{say}: {party} has {kept:?} of {most:?}");
    }
    assert!(beacon.footprint().within(&beacon.most()), "{say}");
}

fn a_flood_by_one_peer_stays_within_its_bound<S: Instance>() {
    let world = heavy::<S>(901);
    for profile in [SLOW, TIGHT, TIGHT_VALUE, BOTH, BOTH_VALUE] {
        let mut beacon = world.beacon(A, &profile);
        // The engine is ahead of what the flooded party can reveal.
        for at in 1..=3 {
            step(&mut beacon, ms(0), finalized(at, Some(V)));
        }
        let mut full = Vec::new();
        for time in 0..2 {
            for at in (1..30).chain([u64::MAX]) {
                for message in burst(&world, D, at, &profile) {
                    step(&mut beacon, ms(time), received(D, message));
                }
                check(&world, &beacon, &format!("{profile:?}, slot {at}"));
            }
            full.push(beacon.footprint_of(D));
        }
        assert_eq!(full[0], full[1], "the second flood finds no more room");
        let nobody = beacon.footprint_of(B);
        assert_eq!((nobody.partials, nobody.notes), (0, 0));
        // And leaves the room of others alone.
        let late = if profile.algorithm == Algorithm::Tight { Path::Tight } else { Path::Slow };
        let value = (profile.binding == BOTH_VALUE.binding).then_some(V);
        step(&mut beacon, ms(2), received(C, world.message(C, late, slot(2), value)));
        assert_eq!(beacon.footprint_of(C).partials, 1);
    }
}

/// The bound is met: two partials of every slot that is kept.
fn a_flood_by_all_stays_within_the_sum_whatever_it_lasts<S: Instance>() {
    let world = heavy::<S>(902);
    let limits = Limits { window: 2, backlog: 3, history: 2, answers: 2, ..TIGHT_VALUE.limits };
    let profile = Profile { limits, ..TIGHT_VALUE };
    let mut beacon = world.beacon(A, &profile);
    let mut largest = Footprint::default();
    for round in 1..=12 {
        for at in round..=round + 4 {
            for party in [B, C, D] {
                for value in [W, Value::new([9; 32])].map(Some) {
                    let message = world.message(party, Path::Tight, slot(at), value);
                    step(&mut beacon, ms(round), received(party, message));
                }
                let request = Message::Request { slot: slot(at) };
                step(&mut beacon, ms(round), received(party, request));
            }
        }
        check(&world, &beacon, &format!("round {round}"));
        let now = beacon.footprint();
        largest.partials = largest.partials.max(now.partials);
        // Nothing of the final value arrives, so the head stands still.
        step(&mut beacon, ms(round), finalized(round, Some(V)));
        assert_eq!(beacon.head(), slot(1));
    }
    let window = usize::try_from(limits.window + 1).unwrap();
    assert!(largest.partials >= 3 * 2 * window, "the flood reached {largest:?}");
    assert!(beacon.footprint().partials <= 3 * 2 * window + 6, "{:?}", beacon.footprint());
    assert_eq!(beacon.waiting_slots(), 12);
}

fn an_engine_far_ahead_keeps_values_only<S: Instance>() {
    let world = World::<S>::demanding(903);
    let mut beacon = world.beacon(A, &SLOW);
    let ahead = 200;
    for at in 1..=ahead {
        // Enough for a result, were the slot kept.
        for peer in [B, C] {
            if at != 1 {
                let partial = S::wrong_partial(at);
                let message =
                    Message::Partial { path: Path::Slow, slot: slot(at), value: None, partial };
                beacon.handle(ms(0), received(peer, message));
            }
        }
        beacon.handle(ms(0), finalized(at, Some(V)));
        let sent = std::iter::from_fn(|| beacon.poll())
            .filter(|output| matches!(output, Output::Do(Effect::Send { .. })))
            .count();
        assert_eq!(sent, 1, "rule 6 holds for slot {at}");
    }
    assert_eq!(beacon.waiting_slots(), usize::try_from(ahead).unwrap());
    let kept = usize::try_from(SLOW.limits.backlog).unwrap();
    assert!(beacon.pending_partials() <= 3 * kept, "{}", beacon.pending_partials());
    check(&world, &beacon, "far ahead");
}

/// Two of two: without its own partial in every slot the party would never go on.
fn a_backlog_is_worked_off_from_its_head<S: Instance>() {
    let world = World::<S>::new(904, &[1, 1], [2, 2, 2]);
    let limits = Limits { backlog: 2, ..SLOW.limits };
    for restart in [false, true] {
        let profile = Profile { limits, ..SLOW };
        let mut beacon = world.beacon(A, &profile);
        let mut log = Vec::new();
        for at in 1..=9 {
            log.extend(records(&step(&mut beacon, ms(0), finalized(at, Some(V)))));
        }
        if restart {
            beacon = world.restart(A, &profile, &log);
            drain(&mut beacon, ms(1));
        }
        let mut now = 1000;
        let mut outputs = Vec::new();
        while beacon.head() <= slot(9) {
            let asked = step(&mut beacon, ms(now), Input::Tick);
            let asked = sent(&asked).into_iter().filter_map(|message| match message {
                Message::Request { slot } => Some(slot),
                _ => None,
            });
            let asked: Vec<_> = asked.collect();
            assert!((1..=2).contains(&asked.len()), "asks for {asked:?}");
            for at in asked {
                let message = world.message(B, Path::Slow, at, None);
                outputs.extend(step(&mut beacon, ms(now), received(B, message)));
            }
            now += 1000;
        }
        assert_eq!(reveals(&outputs).len(), 9);
    }
}

fn requests_are_answered_for_a_few_slots_at_a_time<S: Instance>() {
    let world = World::<S>::demanding(905);
    let limits = Limits { answers: 3, ..SLOW.limits };
    let mut beacon = world.beacon(A, &Profile { limits, ..SLOW });
    for at in 1..=10 {
        step(&mut beacon, ms(0), finalized(at, Some(V)));
    }
    let mut answers = |from, now| {
        let asked = (1..=10).map(|at| {
            let request = Message::Request { slot: slot(at) };
            sent(&step(&mut beacon, ms(now), received(from, request))).len()
        });
        asked.sum::<usize>()
    };
    assert_eq!([answers(B, 10), answers(B, 11), answers(C, 11)], [3, 0, 3]);
    let half = u64::try_from((RETRY / 2).as_millis()).unwrap();
    assert_eq!([answers(B, 10 + half), answers(C, 10 + half)], [3, 0]);
}

/// The slot is dropped while a job of it runs, because it lies behind the backlog. When it is collected
/// again, a right partial stands where a false one was checked.
fn a_verdict_that_comes_late_is_no_evidence_against_what_came_after_it<S: Instance>() {
    let world = World::<S>::new(316, &[1, 1, 1], [2, 2, 2]);
    let limits = Limits { backlog: 2, ..SLOW.limits };
    for alone in [false, true] {
        let mut beacon = world.beacon(C, &Profile { limits, ..SLOW });
        let tell = |beacon: &mut prefinal_beacon::Beacon<S>, from, at, partial| {
            let message =
                Message::Partial { path: Path::Slow, slot: slot(at), value: None, partial };
            raw_step(beacon, ms(0), received(from, message))
        };
        let right = |from, at| world.partial(from, Path::Slow, slot(at), None);
        if alone {
            // Caught before, B is checked by itself.
            raw_step(&mut beacon, ms(0), finalized(1, Some(V)));
            let job = jobs(&tell(&mut beacon, B, 1, S::wrong_partial(7))).remove(0);
            let outputs = raw_step(&mut beacon, ms(0), Input::Checked(job.run()));
            assert_eq!(accused(&outputs).len(), 1);
        }
        let mut stale = jobs(&tell(&mut beacon, B, 3, S::wrong_partial(8)));
        stale.extend(jobs(&tell(&mut beacon, A, 3, right(A, 3))));
        assert_eq!(stale.len(), 1);
        assert_eq!(matches!(stale[0].work(), Work::Verify(..)), alone);
        for at in 1..=3 {
            raw_step(&mut beacon, ms(0), finalized(at, Some(V)));
        }
        for at in [1, 2] {
            for job in jobs(&tell(&mut beacon, A, at, right(A, at))) {
                raw_step(&mut beacon, ms(0), Input::Checked(job.run()));
            }
        }
        assert_eq!(beacon.head(), slot(3));
        let again = jobs(&tell(&mut beacon, B, 3, right(B, 3)));
        assert_eq!(again.len(), 1);
        let outputs = raw_step(&mut beacon, ms(0), Input::Checked(stale[0].run()));
        assert!(accused(&outputs).is_empty(), "{:?}", accused(&outputs));
        let mut last = jobs(&outputs);
        last.extend(jobs(&raw_step(&mut beacon, ms(0), Input::Checked(again[0].run()))));
        let outcomes = last
            .iter()
            .flat_map(|job| reveals(&raw_step(&mut beacon, ms(0), Input::Checked(job.run()))));
        let late: Vec<_> = outcomes.collect();
        assert!(late.len() <= 1);
        assert_eq!(beacon.head(), slot(4), "alone: {alone}");
    }
}
