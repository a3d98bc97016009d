//! Combining ahead: never another output, never a weaker check, and nobody is waited for.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prefinal_beacon::{
    Beacon, Binding, Effect, Finding, Foresight, Foresights, Input, Job, Message, Output,
};
use prefinal_beacon::{Path, Verdict, Work};
use prefinal_crypto_core::access::Party;
use prefinal_protocol::Machine;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::fixture::*;

suite! {
    what_is_computed_ahead_changes_neither_output_nor_culprits
    what_was_computed_for_something_else_is_not_used
    the_set_that_sufficed_is_expected_and_worked_on_as_it_comes
    nobody_who_is_expected_is_waited_for
    a_job_that_is_late_is_not_waited_for
    work_ahead_is_a_few_jobs_for_a_slot
    a_false_partial_among_those_computed_ahead_is_found
    false_partials_that_cancel_are_found_though_computed_ahead
    a_party_that_was_caught_is_not_expected
    portions_stay_small_though_partials_come_at_once
    work_ahead_is_bounded_whatever_comes_in_whatever_order
    what_is_computed_ahead_is_not_printed
    a_driver_that_computes_nothing_ahead_counts_the_same
}

const E: Party = Party::new(4);
const F: Party = Party::new(5);
const G: Party = Party::new(6);

type Partials<S> = BTreeMap<Party, <S as prefinal_beacon::Function>::Partial>;

/// Seven equal parties: four on the slow path.
fn seven<S: Instance>() -> World<S> {
    World::new(301, &[1; 7], [4, 7, 5])
}

fn partials<S: Instance>(world: &World<S>, parties: &[Party], at: u64) -> Partials<S> {
    let partial = |party: &Party| (*party, world.partial(*party, Path::Slow, slot(at), None));
    parties.iter().map(partial).collect()
}

fn prepared<S: Instance>(outputs: &[Output<S>]) -> Vec<Vec<Party>> {
    let jobs = all_jobs(outputs).into_iter().filter_map(|job| match job.work() {
        Work::Prepare(partials) => Some(partials.keys().copied().collect()),
        _ => None,
    });
    jobs.collect()
}

/// A party that expects A, B, C and D on the slow path, in slot 3 or later.
fn expecting<S: Instance>(world: &World<S>) -> Beacon<S> {
    let mut beacon = world.beacon(A, &SLOW);
    let outputs = slow(&mut beacon, world, 1, &[B, C, D]);
    assert_eq!(reveals(&outputs).len(), 1);
    let expected = BTreeSet::from([A, B, C, D]);
    let foresee = |job: &Job<S>| matches!(job.work(), Work::Foresee(set) if *set == expected);
    assert!(all_jobs(&outputs).iter().any(foresee));
    assert_eq!(beacon.foresights(), Foresights::default());
    let outputs = slow(&mut beacon, world, 2, &[B, C, D]);
    assert!(!all_jobs(&outputs).iter().any(foresee), "what is met is kept");
    assert_eq!(beacon.foresights(), Foresights { guessed: 1, right: 1 });
    beacon
}

/// The slot is final, and right partials of these arrive in this order.
fn slow<S: Instance>(
    beacon: &mut Beacon<S>,
    world: &World<S>,
    at: u64,
    peers: &[Party],
) -> Vec<Output<S>> {
    let mut outputs = step(beacon, ms(at), finalized(at, Some(V)));
    for peer in peers {
        let message = world.message(*peer, Path::Slow, slot(at), None);
        outputs.extend(step(beacon, ms(at), received(*peer, message)));
    }
    outputs
}

fn wrong<S: Instance>(at: u64, partial: S::Partial) -> Message<S> {
    Message::Partial { path: Path::Slow, slot: slot(at), value: None, partial }
}

/// Every way to split four partials into those that came before and the rest, with each of them right
/// and wrong.
fn what_is_computed_ahead_changes_neither_output_nor_culprits<S: Instance>() {
    let world = World::<S>::new(981, &[2, 1, 3, 1], [4, 7, 5]);
    let committee = S::committee(&world.paths[&Path::Slow], Binding::Slot);
    let (all, input) = ([A, B, C, D], input::<S>(slot(1), None));
    let good = partials(&world, &all, 1);
    let other = partials(&world, &all, 2);
    let mut failed = 0;
    for set in [vec![A, B, C], vec![A, C], vec![A, B, D], all.to_vec()] {
        let foreseen = S::Foresight::foresee(&committee, &set.iter().copied().collect()).unwrap();
        let foreseen = Arc::new(foreseen);
        for (early, liar) in
            (0..1_u32 << set.len()).flat_map(|early| (0..=set.len()).map(move |liar| (early, liar)))
        {
            let mut given: Partials<S> =
                set.iter().map(|party| (*party, good[party].clone())).collect();
            if let Some(party) = set.get(liar) {
                given.insert(*party, other[party].clone());
            }
            let mut ahead = S::Foresight::begin(&foreseen, &input);
            for (place, party) in
                set.iter().enumerate().filter(|(place, _)| early >> place & 1 == 1)
            {
                let one = BTreeMap::from([(*party, given[party].clone())]);
                S::Foresight::add(&mut ahead, &committee, &one);
                // Twice is once.
                S::Foresight::add(&mut ahead, &committee, &one);
                assert!(place < 4);
            }
            let direct = S::combine(&committee, &input, &given);
            assert!(direct.is_ok() || liar < set.len());
            failed += u32::from(direct.is_err());
            assert_eq!(
                S::Foresight::finish(&ahead, &committee, &input, &given),
                direct,
                "{set:?} {early} {liar}"
            );
        }
    }
    assert!(failed > 20, "only {failed}");
    assert!(S::Foresight::foresee(&committee, &BTreeSet::from([A, B])).is_none(), "too few");
}

fn what_was_computed_for_something_else_is_not_used<S: Instance>() {
    let world = World::<S>::new(982, &[1; 5], [3, 5, 4]);
    let [slow, tight] =
        [Path::Slow, Path::Tight].map(|path| S::committee(&world.paths[&path], Binding::Slot));
    let set = BTreeSet::from([A, B, C]);
    let foreseen = Arc::new(S::Foresight::foresee(&slow, &set).unwrap());
    let inputs = [1, 2].map(|at| input::<S>(slot(at), None));
    let mut ahead = S::Foresight::begin(&foreseen, &inputs[0]);
    S::Foresight::add(&mut ahead, &slow, &partials(&world, &[A, B], 1));
    // Another slot, other parties, more of them, fewer of them.
    for (at, parties) in
        [(2, vec![A, B, C]), (1, vec![B, C, D]), (1, vec![A, B, C, D]), (1, vec![A, B])]
    {
        let given = partials(&world, &parties, at);
        let input = &inputs[usize::try_from(at).unwrap() - 1];
        let direct = S::combine(&slow, input, &given).map(|combined| combined.output);
        let finished =
            S::Foresight::finish(&ahead, &slow, input, &given).map(|combined| combined.output);
        assert_eq!(finished, direct);
    }
    // A partial that was replaced by a wrong one after it was added, and by another wrong one.
    for (party, number) in [(A, 3), (C, 3)] {
        let mut given = partials(&world, &[A, B, C], 1);
        given.insert(party, S::wrong_partial(number));
        let direct = S::combine(&slow, &inputs[0], &given);
        assert_eq!(S::Foresight::finish(&ahead, &slow, &inputs[0], &given), direct);
        assert!(direct.is_err());
    }
    // Another path: other keys for the same parties.
    let partial = |party: &Party| (*party, world.partial(*party, Path::Tight, slot(1), None));
    let given = [A, B, C, D].iter().map(partial).collect();
    let direct = S::combine(&tight, &inputs[0], &given);
    assert_eq!(S::Foresight::finish(&ahead, &tight, &inputs[0], &given), direct);
    assert_eq!(direct.unwrap().output, world.output(slot(1), None));
}

fn the_set_that_sufficed_is_expected_and_worked_on_as_it_comes<S: Instance>() {
    let world = seven::<S>();
    let mut beacon = expecting(&world);
    let outputs = slow(&mut beacon, &world, 3, &[B, E, C]);
    // A quarter of the weight is one of them; E is not expected.
    assert_eq!(prepared(&outputs), [[A], [B]]);
    let combine = jobs(&outputs).remove(0);
    assert!(matches!(combine.work(), Work::Combine(set) if !set.contains_key(&D)));
    assert_eq!(left(&combine).len(), 4, "D did not come in time, so all is done from the start");
    assert_eq!(beacon.foresights(), Foresights { guessed: 2, right: 1 });
    // The guess is not turned by one slot.
    let outputs = slow(&mut beacon, &world, 4, &[D, B, C]);
    assert_eq!(prepared(&outputs), [[A], [D], [B]]);
    let combine = jobs(&outputs).remove(0);
    assert!(matches!(combine.work(), Work::Combine(set) if set.keys().eq(&[A, B, C, D])));
    assert_eq!(left(&combine), BTreeSet::from([C]));
    assert_eq!(beacon.foresights(), Foresights { guessed: 3, right: 2 });
    let reveal = &reveals(&outputs)[0];
    assert_eq!(reveal.output, world.output(slot(4), None));
    S::audit(&world.paths[&Path::Slow], reveal);
}

fn nobody_who_is_expected_is_waited_for<S: Instance>() {
    let world = seven::<S>();
    let mut beacon = expecting(&world);
    for at in 3..=10 {
        let outputs = slow(&mut beacon, &world, at, &[E, F, G]);
        assert_eq!(reveals(&outputs)[0].output, world.output(slot(at), None));
        assert!(accused(&outputs).is_empty());
    }
    // They are expected in the end.
    let Foresights { guessed, right } = beacon.foresights();
    assert_eq!(guessed, 9);
    assert!((2..9).contains(&right), "{right}");
    let outputs = slow(&mut beacon, &world, 11, &[G, F, E]);
    assert_eq!(left(&jobs(&outputs)[0]), BTreeSet::from([E]));
}

fn a_job_that_is_late_is_not_waited_for<S: Instance>() {
    let world = seven::<S>();
    let mut beacon = expecting(&world);
    let mut running = all_jobs(&raw_step(&mut beacon, ms(3), finalized(3, Some(V))));
    for peer in [B, C, D] {
        let message = world.message(peer, Path::Slow, slot(3), None);
        running.extend(all_jobs(&raw_step(&mut beacon, ms(3), received(peer, message))));
    }
    let [late, combine] = &running[..] else { panic!("{running:?}") };
    assert!(matches!(late.work(), Work::Prepare(set) if set.keys().eq(&[A])));
    assert_eq!(left(combine).len(), 4);
    let outputs = raw_step(&mut beacon, ms(3), Input::Checked(combine.run()));
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(3), None));
    assert!(raw_step(&mut beacon, ms(3), Input::Checked(late.run())).is_empty());
    assert_eq!(beacon.foresights(), Foresights { guessed: 2, right: 2 });
}

fn work_ahead_is_a_few_jobs_for_a_slot<S: Instance>() {
    let world = World::<S>::new(983, &[1; 24], [21, 24, 23]);
    let mut beacon = world.beacon(A, &SLOW);
    let peers: Vec<Party> = (1..21).map(Party::new).collect();
    for at in 1..=2 {
        let outputs = slow(&mut beacon, &world, at, &peers);
        assert_eq!(reveals(&outputs).len(), 1);
        let sizes: Vec<usize> = prepared(&outputs).iter().map(Vec::len).collect();
        assert_eq!(sizes, if at == 1 { vec![] } else { vec![6, 6, 6] });
        assert_eq!(left(&jobs(&outputs)[0]).len(), if at == 1 { 21 } else { 3 });
    }
}

fn a_false_partial_among_those_computed_ahead_is_found<S: Instance>() {
    let world = seven::<S>();
    let mut beacon = expecting(&world);
    let mut outputs = step(&mut beacon, ms(3), finalized(3, Some(V)));
    let lie = wrong(3, S::wrong_partial(5));
    outputs.extend(step(&mut beacon, ms(3), received(B, lie)));
    for peer in [C, D] {
        let message = world.message(peer, Path::Slow, slot(3), None);
        outputs.extend(step(&mut beacon, ms(3), received(peer, message)));
    }
    assert_eq!(prepared(&outputs), [[A], [B], [C]]);
    assert!(matches!(accused(&outputs)[..], [(B, prefinal_beacon::Fault::FalsePartial { .. })]));
    assert!(reveals(&outputs).is_empty());
    let message = world.message(E, Path::Slow, slot(3), None);
    let outputs = step(&mut beacon, ms(3), received(E, message));
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(3), None));
    assert!(accused(&outputs).is_empty());
}

/// In one batch without random coefficients these would pass; here one is computed ahead, both are, or
/// none.
fn false_partials_that_cancel_are_found_though_computed_ahead<S: Instance>() {
    let world = seven::<S>();
    let honest = partials(&world, &[A, B, C, D], 3);
    let pair = [(B, &honest[&B]), (C, &honest[&C])];
    let [one, other] = S::cancelling(&world.paths[&Path::Slow], pair);
    for order in [[B, C, D], [B, D, C], [D, B, C]] {
        let mut beacon = expecting(&world);
        let mut outputs = step(&mut beacon, ms(3), finalized(3, Some(V)));
        for peer in order {
            let partial = match peer {
                B => one.clone(),
                C => other.clone(),
                _ => honest[&peer].clone(),
            };
            outputs.extend(step(&mut beacon, ms(3), received(peer, wrong(3, partial))));
        }
        let culprits: BTreeSet<Party> = accused(&outputs).iter().map(|(party, _)| *party).collect();
        assert_eq!(culprits, BTreeSet::from([B, C]), "{order:?}");
        for peer in [E, F] {
            let message = world.message(peer, Path::Slow, slot(3), None);
            outputs.extend(step(&mut beacon, ms(3), received(peer, message)));
        }
        assert_eq!(reveals(&outputs)[0].output, world.output(slot(3), None));
    }
}

fn a_party_that_was_caught_is_not_expected<S: Instance>() {
    let world = seven::<S>();
    let mut beacon = expecting(&world);
    let mut outputs = step(&mut beacon, ms(3), finalized(3, Some(V)));
    outputs.extend(step(&mut beacon, ms(3), received(B, wrong(3, S::wrong_partial(5)))));
    for peer in [C, D, E] {
        let message = world.message(peer, Path::Slow, slot(3), None);
        outputs.extend(step(&mut beacon, ms(3), received(peer, message)));
    }
    let foresee = all_jobs(&outputs).into_iter().find_map(|job| match job.work() {
        Work::Foresee(set) => Some(set.clone()),
        _ => None,
    });
    assert_eq!(foresee, Some(BTreeSet::from([A, C, D, E])));
}

/// One that knows outputs from elsewhere has no use for what is computed ahead.
fn at_once<S: Instance>(job: &Job<S>) -> Verdict<S> {
    let finding = match job.work() {
        Work::Foresee(parties) => Finding::Foreseen(parties.clone(), None),
        Work::Prepare(partials) => {
            let parties = job.prepared().iter().chain(partials.keys()).copied().collect();
            Finding::Prepared(parties, None)
        }
        Work::Combine(_) | Work::Verify(..) | Work::Open(..) => return job.run(),
    };
    job.verdict(finding)
}

fn a_driver_that_computes_nothing_ahead_counts_the_same<S: Instance>() {
    let world = seven::<S>();
    let (mut plain, mut knowing) = (world.beacon(A, &SLOW), world.beacon(A, &SLOW));
    for at in 1..=6 {
        let peers = if at % 3 == 0 { [E, F, G] } else { [B, C, D] };
        let outputs = slow(&mut plain, &world, at, &peers);
        let mut inputs = vec![finalized(at, Some(V))];
        for peer in peers {
            let message = world.message(peer, Path::Slow, slot(at), None);
            inputs.push(received(peer, message));
        }
        let mut shown = Vec::new();
        let mut work = Vec::new();
        for input in inputs {
            knowing.handle(ms(at), input);
            while let Some(output) = knowing.poll() {
                match output {
                    Output::Do(Effect::Check(job)) => {
                        work.push(left(&job));
                        knowing.handle(ms(at), Input::Checked(at_once(&job)));
                    }
                    Output::Do(Effect::Reveal(reveal)) => shown.push(*reveal),
                    _ => {}
                }
            }
        }
        assert_eq!(shown, reveals(&outputs));
        assert_eq!(work, all_jobs(&outputs).iter().map(left).collect::<Vec<_>>());
        assert_eq!(knowing.foresights(), plain.foresights());
    }
}

/// While a job is out partials gather: a thread that it keeps busy is free again soon.
fn portions_stay_small_though_partials_come_at_once<S: Instance>() {
    let world = World::<S>::new(984, &[1; 24], [21, 24, 23]);
    let mut beacon = world.beacon(A, &SLOW);
    let peers: Vec<Party> = (1..21).map(Party::new).collect();
    slow(&mut beacon, &world, 1, &peers);
    let mut outputs = raw_step(&mut beacon, ms(2), finalized(2, Some(V)));
    for peer in &peers[..19] {
        let message = world.message(*peer, Path::Slow, slot(2), None);
        outputs.extend(raw_step(&mut beacon, ms(2), received(*peer, message)));
    }
    let mut sizes = Vec::new();
    while let Some(job) = all_jobs(&outputs).pop() {
        sizes.push(left(&job).len());
        outputs = raw_step(&mut beacon, ms(2), Input::Checked(job.run()));
        // A verdict that comes twice changes nothing.
        assert!(raw_step(&mut beacon, ms(2), Input::Checked(job.run())).is_empty());
    }
    assert_eq!(sizes, [6, 6, 6]);
    let message = world.message(peers[19], Path::Slow, slot(2), None);
    let outputs = step(&mut beacon, ms(2), received(peers[19], message));
    assert_eq!(left(&jobs(&outputs)[0]).len(), 3);
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(2), None));
}

/// Jobs that are out, and what was ordered ahead for each slot.
struct Desk<'w, S: Instance> {
    world: &'w World<S>,
    beacon: Beacon<S>,
    out: Vec<Job<S>>,
    prepared: BTreeMap<u64, Vec<Party>>,
    foreseen: BTreeMap<u64, usize>,
    shown: u64,
}

impl<S: Instance> Desk<'_, S> {
    fn take(&mut self, outputs: &[Output<S>]) {
        for job in all_jobs(outputs) {
            let at = job.slot().get();
            match job.work() {
                Work::Prepare(_) => self.prepared.entry(at).or_default().extend(left(&job)),
                Work::Foresee(_) => *self.foreseen.entry(at).or_default() += 1,
                _ => {}
            }
            self.out.push(job);
        }
        for reveal in reveals(outputs) {
            self.shown += 1;
            assert_eq!(reveal.output, self.world.output(slot(self.shown), None));
        }
        assert!(accused(outputs).iter().all(|(party, _)| *party == G));
    }

    /// Some job ends, and now and then its verdict comes twice.
    fn work(&mut self, rng: &mut ChaCha20Rng) {
        let at = below(rng, self.out.len());
        let job = self.out.swap_remove(at);
        for _ in 0..=u32::from(below(rng, 4) == 0) {
            let outputs = raw_step(&mut self.beacon, ms(1), Input::Checked(job.run()));
            self.take(&outputs);
        }
    }
}

fn below(rng: &mut ChaCha20Rng, count: usize) -> usize {
    usize::try_from(rng.next_u32()).unwrap() % count
}

/// Six parties come in random order and early, one of them lies at times; jobs end in random order.
fn work_ahead_is_bounded_whatever_comes_in_whatever_order<S: Instance>() {
    const SLOTS: u64 = 16;
    for seed in 0..6 {
        println!("seed {seed}");
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let world = seven::<S>();
        let mut desk = Desk {
            world: &world,
            beacon: world.beacon(A, &SLOW),
            out: Vec::new(),
            prepared: BTreeMap::new(),
            foreseen: BTreeMap::new(),
            shown: 0,
        };
        let mut coming: Vec<(u64, Party)> =
            (1..=SLOTS).flat_map(|at| [B, C, D, E, F, G].map(|party| (at, party))).collect();
        for at in 1..=SLOTS {
            let outputs = raw_step(&mut desk.beacon, ms(1), finalized(at, Some(V)));
            desk.take(&outputs);
            // Of this slot all, of the next two some.
            while coming.iter().any(|(of, _)| *of == at) {
                let near = coming.iter().take_while(|(of, _)| *of <= at + 2).count();
                let (of, party) = coming.remove(below(&mut rng, near));
                let lies = party == G && below(&mut rng, 3) == 0;
                let message = if lies {
                    wrong(of, S::wrong_partial(of + 2))
                } else {
                    world.message(party, Path::Slow, slot(of), None)
                };
                let outputs = raw_step(&mut desk.beacon, ms(1), received(party, message));
                desk.take(&outputs);
                while !desk.out.is_empty() && below(&mut rng, 3) > 0 {
                    desk.work(&mut rng);
                }
            }
        }
        while !desk.out.is_empty() {
            desk.work(&mut rng);
        }
        assert_eq!(desk.shown, SLOTS);
        assert!(desk.foreseen.values().all(|count| *count == 1));
        for (at, parties) in &desk.prepared {
            let distinct: BTreeSet<&Party> = parties.iter().collect();
            assert_eq!(distinct.len(), parties.len(), "slot {at}");
            // At most the expected set, of which the last is the heaviest that could be.
            assert!(parties.len() <= 4, "slot {at}: {parties:?}");
        }
        assert!(desk.prepared.len() > 4, "too little to see");
    }
}

/// Sums of partials that nobody has a quorum of are nobody's business.
fn what_is_computed_ahead_is_not_printed<S: Instance>() {
    let world = seven::<S>();
    let mut beacon = expecting(&world);
    let outputs = slow(&mut beacon, &world, 3, &[B, C, D]);
    let combine = jobs(&outputs).remove(0);
    assert!(left(&combine).len() < 4);
    let prepare = all_jobs(&outputs).into_iter().find(|job| matches!(job.work(), Work::Prepare(_)));
    let found = prepare.unwrap().run().finding;
    let prefinal_beacon::Finding::Prepared(_, Some(held)) = &found else { panic!("{found:?}") };
    assert_eq!(format!("{held:?}"), "Opaque(..)");
    assert!(format!("{combine:?}").contains("ahead: Some(Opaque(..))"));
}
