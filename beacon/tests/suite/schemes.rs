//! What one of the schemes promises beside the others, and what it alone can get wrong.
use std::num::{NonZeroU32, NonZeroU64};

use prefinal_beacon::{
    Beacon, Binding, Bls, Config, ConfigError, Fault, Message, Path, Paths, Sharing,
};
use prefinal_beacon::{Effect, Function, Output, Record, Scheme, ShapeError, Work, Wvuf};
use prefinal_crypto_core::access::{Access, Threshold};
use prefinal_crypto_core::curve::{G1Projective, Scalar};
use prefinal_crypto_core::drand::{self, ChainInfo, Round, RoundNumber, Schedule};
use prefinal_protocol::Machine;

use crate::fixture::*;
use crate::instances::DealtBls;

type BlsPartial = <Bls as Function>::Partial;

fn partial(points: &[G1Projective]) -> BlsPartial {
    let points: Vec<_> = points.iter().map(G1Projective::to_affine).collect();
    borsh::from_slice(&borsh::to_vec(&points).unwrap()).unwrap()
}

fn refused(world: &World<Bls>, change: impl FnOnce(&mut Config<Bls>)) -> ConfigError {
    let mut config = world.config(A, &BOTH);
    change(&mut config);
    Beacon::new(config, &[]).map(|_| ()).unwrap_err()
}

/// What a chain reveals any client of drand verifies as a round, and takes for the same randomness.
#[test]
fn an_output_of_a_slot_is_a_round_of_drand() {
    let world = World::<Bls>::four(701);
    let mut beacon = world.beacon(A, &SLOW);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let message = world.message(B, Path::Slow, slot(1), None);
    let reveal = reveals(&step(&mut beacon, ms(0), received(B, message))).remove(0);
    let committee = Bls::committee(&world.paths[&Path::Slow], Binding::Slot);
    let key = committee.group_key().to_bytes();
    let schedule = Schedule { genesis_time: 0, period: NonZeroU32::MIN };
    let scheme = drand::Scheme::UnchainedG1Rfc9380;
    let chain = ChainInfo::new(scheme, &key, schedule, [0; 32], "default").unwrap();
    let round = |number| Round {
        number: RoundNumber::new(number).unwrap(),
        signature: reveal.output.to_bytes().to_vec(),
        previous: None,
        randomness: None,
    };
    assert_eq!(chain.verify(&round(1)).unwrap().as_bytes(), &reveal.randomness());
    assert!(chain.verify(&round(2)).is_err());
    assert_eq!(reveal.round, RoundNumber::new(1));
}

/// What drand's clients ask for first is there, whatever the slot that has the first output.
#[test]
fn the_slot_that_is_round_1_is_the_integrators_choice() {
    let world = World::<Bls>::four(711);
    let binding = Binding::Rounds { first: slot(9) };
    let config = |first| {
        let config = world.config(A, &SLOW);
        Config { binding, first: slot(first), ..config }
    };
    let mut beacon = Beacon::new(config(9), &[]).unwrap();
    step(&mut beacon, ms(0), finalized(9, Some(V)));
    // A partial of round 9 is none of slot 9.
    step(&mut beacon, ms(0), received(B, world.message(B, Path::Slow, slot(9), None)));
    let partial = world.partial(C, Path::Slow, slot(1), None);
    let message = Message::Partial { path: Path::Slow, slot: slot(9), value: None, partial };
    let reveal = reveals(&step(&mut beacon, ms(0), received(C, message))).remove(0);
    assert_eq!((reveal.slot, reveal.round), (slot(9), Some(RoundNumber::FIRST)));
    assert_eq!(reveal.output, world.output(slot(1), None));
    let error = Beacon::new(config(8), &[]).map(drop).unwrap_err();
    assert_eq!(error, ConfigError::NoInput { first: slot(8) });
    for (at, round) in [(0, None), (8, None), (9, Some(1)), (u64::MAX, Some(u64::MAX - 8))] {
        assert_eq!(binding.round(slot(at)).map(NonZeroU64::get), round);
    }
    let from_zero = Binding::Rounds { first: slot(0) };
    assert_eq!(from_zero.round(slot(0)), Some(NonZeroU64::MIN));
    assert_eq!(from_zero.round(slot(u64::MAX)), None, "more than 64 bits count");
    assert_eq!(Binding::Value.round(slot(9)), None);
    // Another function has no rounds.
    let world = World::<Wvuf>::four(712);
    let other = Config { binding, first: slot(9), ..world.config(A, &SLOW) };
    assert_eq!(Beacon::new(other, &[]).map(drop).unwrap_err(), ConfigError::NoRounds);
}

/// It has no output of rounds 2 to 12, and the next one is round 13 for it as for all.
#[test]
fn who_passed_over_slots_counts_rounds_as_all_do() {
    let world = World::<Bls>::four(714);
    let config = world.config(A, &SLOW);
    let config = Config { binding: Binding::Rounds { first: slot(9) }, first: slot(9), ..config };
    let (first, last) = (slot(10), slot(20));
    let records = [Record::Revealed { slot: slot(9) }, Record::PassedOver { first, last }];
    let mut beacon = Beacon::new(Config { life: LIFE, ..config }, &records).unwrap();
    step(&mut beacon, ms(0), finalized(21, Some(V)));
    let partial = world.partial(B, Path::Slow, slot(13), None);
    let message = Message::Partial { path: Path::Slow, slot: slot(21), value: None, partial };
    let reveal = reveals(&step(&mut beacon, ms(0), received(B, message))).remove(0);
    assert_eq!((reveal.slot, reveal.round), (slot(21), RoundNumber::new(13)));
    assert_eq!(reveal.output, world.output(slot(13), None));
}

/// A pool keeps verdicts by what they depend on, and a round is part of it.
#[test]
fn one_slot_counted_in_two_ways_is_two_jobs() {
    let world = World::<Bls>::four(713);
    let job = |binding| {
        let config = Config { binding, ..world.config(A, &SLOW) };
        let mut beacon = Beacon::new(config, &[]).unwrap();
        beacon.handle(ms(0), finalized(1, Some(V)));
        beacon.handle(ms(0), received(B, world.message(B, Path::Slow, slot(1), None)));
        let mut outputs = std::iter::from_fn(|| beacon.poll());
        let job = outputs.find_map(|output| match output {
            Output::Do(Effect::Check(job)) if matches!(job.work(), Work::Combine(_)) => Some(job),
            _ => None,
        });
        job.unwrap().fingerprint()
    };
    let from_one = job(Binding::Rounds { first: slot(1) });
    assert_ne!(from_one, job(Binding::Rounds { first: slot(0) }));
    // The slot is the round.
    assert_eq!(from_one, job(Binding::Slot));
}

/// Verified late: the result is checked, so errors that cancel in it have changed nothing.
#[test]
fn errors_that_cancel_in_the_result_harm_nobody() {
    let world = World::<Bls>::demanding(702);
    let committee = Bls::committee(&world.paths[&Path::Slow], Binding::Slot);
    let indices: Vec<_> =
        [A, B, C].into_iter().flat_map(|party| committee.access().indices(party)).collect();
    let lambda = committee.points().lagrange_at_zero(&indices).unwrap().to_scalars();
    let mut beacon = world.beacon(A, &SLOW);
    step(&mut beacon, ms(0), finalized(1, Some(V)));
    let mut outputs = Vec::new();
    let error = G1Projective::generator();
    for (peer, lambda, error) in [(B, lambda[1], error), (C, lambda[2], -error)] {
        let right = world.partial(peer, Path::Slow, slot(1), None);
        let wrong = error * lambda.invert().unwrap() + right.points()[0];
        let (path, value, partial) = (Path::Slow, None, partial(&[wrong]));
        assert_ne!(partial, right);
        let message = Message::Partial { path, slot: slot(1), value, partial };
        outputs.extend(step(&mut beacon, ms(0), received(peer, message)));
    }
    assert_eq!(reveals(&outputs)[0].output, world.output(slot(1), None));
    assert!(accused(&outputs).is_empty());
}

/// Without this check a peer has as much of our memory as it likes.
#[test]
fn a_partial_has_as_many_points_as_its_party_has_shares() {
    let world = World::<Bls>::new(703, &[2, 1, 1, 1], [2, 5, 4]);
    for (party, need, got) in [(B, 1, 2), (C, 1, 1000)] {
        let mut beacon = world.beacon(A, &BOTH);
        let partial = partial(&vec![G1Projective::generator(); got]);
        let message = Message::Partial { path: Path::Slow, slot: slot(1), value: None, partial };
        let outputs = step(&mut beacon, ms(0), received(party, message.clone()));
        let (path, error) = (Path::Slow, ShapeError::Points { got, need });
        assert_eq!(accused(&outputs), [(party, Fault::Shape { path, error })]);
        assert!(step(&mut beacon, ms(0), received(party, message)).is_empty(), "accused once");
        assert_eq!(beacon.pending_partials(), 0);
    }
    // Fewer than its weight is no better.
    let mut beacon = world.beacon(B, &BOTH);
    let partial = partial(&[G1Projective::generator()]);
    let message = Message::Partial { path: Path::Fast, slot: slot(1), value: None, partial };
    let outputs = step(&mut beacon, ms(0), received(A, message));
    let (path, error) = (Path::Fast, ShapeError::Points { got: 1, need: 2 });
    assert_eq!(accused(&outputs), [(A, Fault::Shape { path, error })]);
}

/// A key of rounds signs no certificates and the other way round.
#[test]
fn a_key_is_for_outputs_of_one_kind() {
    let world = World::<Bls>::four(704);
    for (kept, asked) in [(Binding::Slot, Binding::Value), (Binding::Value, Binding::Slot)] {
        let error = refused(&world, |config| {
            config.paths = Paths::Slow(world.sharing(Path::Slow, A, kept));
            config.binding = asked;
        });
        let (got, expected) = (Bls::purpose(kept), Bls::purpose(asked));
        assert_eq!(error, ConfigError::Purpose { path: Path::Slow, got, expected });
    }
}

#[test]
fn rounds_count_from_one() {
    let world = World::<Bls>::four(705);
    let error = refused(&world, |config| config.first = slot(0));
    assert_eq!(error, ConfigError::NoInput { first: slot(0) });
    let mut config = world.config(A, &BOTH_VALUE);
    config.first = slot(0);
    let mut beacon = Beacon::new(config, &[]).unwrap();
    assert_eq!(sent(&step(&mut beacon, ms(0), finalized(0, Some(V)))).len(), 1);
}

#[test]
fn two_paths_have_one_group_key() {
    let (world, other) = (World::<Bls>::four(706), World::<Bls>::four(707));
    let error = refused(&world, |config| {
        let slow = world.sharing(Path::Slow, A, Binding::Slot);
        let fast = other.sharing(Path::Fast, A, Binding::Slot);
        config.paths = Paths::FastAndSlow { slow, fast, fast_from: slot(0) };
    });
    assert_eq!(error, ConfigError::GroupKeys);
}

/// A fast sharing of the same secret that agrees with the slow one in a single share. It passes every
/// other check, and its holder's fast partial counts on the slow path.
#[test]
fn nobody_takes_one_share_on_both_paths_and_nobody_can_stop_others_by_it() {
    for (holder, taken) in [(A, 0), (D, 3)] {
        let world = World::<Bls>::four(708);
        let slow = &world.paths[&Path::Slow];
        let access = Access::new(&world.weights).unwrap();
        let points = access.points();
        // f + c·x·(x − xₖ) is f at zero and at xₖ.
        let moved = |(x, share): (&Scalar, &Scalar)| {
            *share + Scalar::from_u64(7) * *x * (*x - points[taken])
        };
        let shares: Vec<Scalar> = points.iter().zip(&slow.shares).map(moved).collect();
        let threshold = Threshold::new(4, 4).unwrap();
        let fast = DealtBls::new(&access, threshold, (&slow.secret, &shares));
        let secret = |dealt, party| Bls::secret(dealt, party, Binding::Slot);
        let input = input::<Bls>(slot(1), None);
        let evaluate = |dealt| Bls::evaluate(&secret(dealt, holder).unwrap(), &input);
        assert_eq!(evaluate(&fast), evaluate(slow), "what the check is for");
        let committee = Bls::committee(&fast, Binding::Slot);
        let fast = Sharing { committee, secret: secret(&fast, A) };
        let slow = world.sharing(Path::Slow, A, Binding::Slot);
        let paths = Paths::FastAndSlow { slow, fast, fast_from: slot(0) };
        let config = Config { paths, ..world.config(A, &BOTH) };
        let error = Beacon::new(config, &[]).map(|_| ()).err();
        let expected = (holder == A).then_some(ConfigError::SharedShare { party: A });
        assert_eq!(error, expected);
    }
}
