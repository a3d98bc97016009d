//! What Byzantine parties, crashes and links can do.

use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_sim::{Disk, Partition, PartitionEffect, Seat, Simulation, Window};

use super::chain::{ChainEvent, Insider, World, ms, simulate};
use super::kinds::{Case, Kind, LARGE, SMALL, rng};
use super::{SEEDS, finish, network, one_key};
use crate::protocol::envelope::{seal, split};
use crate::protocol::{
    Abort, Evidence, Input, Job, Keygen, Misdeed, Place, Record, RecordError, Role, Verdict,
};

/// Its machine does not deal; the tests say what it sends.
fn world_without<C: Case>(seed: u64, dealers: &[u32]) -> World<C> {
    let mut world = C::world(seed);
    for dealer in dealers {
        let role = &mut world.seats[usize::try_from(*dealer).unwrap()].role;
        *role = Role { dealer: None, ..*role };
    }
    world
}

fn say<C: Case>(simulation: &mut Simulation<World<C>>, seat: u32, time: u64, message: Vec<u8>) {
    simulation.input(Seat::new(seat), ms(time), ChainEvent::Say(message)).unwrap();
}

/// Every envelope that an honest party could make.
pub(super) fn envelopes<C: Case>(
    blank: &C,
    seat: u32,
    insider: &Insider<C>,
    seed: u64,
) -> Vec<Vec<u8>> {
    let job = Job::Deal { blank: Arc::new(blank.clone()), places: blank.owed(Party::new(seat)) };
    match insider.run(&job, &mut rng(seed)) {
        Verdict::Dealt(dealt) => dealt.unwrap(),
        _ => unreachable!("dealing deals"),
    }
}

/// One envelope of the large dealer for each misdeed but contradicting itself.
pub(super) fn bad_envelopes<C: Case>(world: &World<C>) -> Vec<(&'static str, Vec<u8>)> {
    let (blank, seats) = (&world.blank, &world.seats);
    let large = &seats[usize::try_from(LARGE).unwrap()];
    let place = blank.owed(Party::new(LARGE))[0];
    let good = envelopes(blank, LARGE, large, 11);
    let dealing = split(&good[0]).unwrap().1.to_vec();
    let sealed =
        |place: Place, payload: &[u8]| seal(blank.session(), place, payload, &large.signer);
    let of_another = envelopes(blank, 0, &seats[0], 12);
    let other = blank.next_attempt();
    let foreign = envelopes(&other, LARGE, large, 13);
    let number = place.share.map_or(1, |_| 0);
    let nowhere = Place { share: prefinal_crypto_core::access::ShareIndex::new(number), ..place };
    vec![
        ("Length", sealed(place, &[])),
        ("Length", sealed(place, &dealing[1..])),
        ("Length", sealed(place, &[dealing.as_slice(), &[0]].concat())),
        ("Length", sealed(place, &[0; 1 << 20])),
        ("Place", sealed(nowhere, &dealing)),
        ("Undecodable", sealed(place, &vec![0xff; dealing.len()])),
        ("Misplaced", sealed(place, split(&of_another[0]).unwrap().1)),
        ("Foreign", sealed(place, split(&foreign[0]).unwrap().1)),
        ("Group Field", sealed(place, &blank.false_dealing(place, large))),
    ]
}

pub(super) fn name(misdeed: &Misdeed) -> &'static str {
    match misdeed {
        Misdeed::Contradiction => "Contradiction",
        Misdeed::Length { .. } => "Length",
        Misdeed::Place { .. } => "Place",
        Misdeed::Undecodable(_) => "Undecodable",
        Misdeed::Misplaced { .. } => "Misplaced",
        Misdeed::Foreign => "Foreign",
        Misdeed::Group(_) => "Group",
        Misdeed::Field(_) => "Field",
        Misdeed::LargeChunk(_) => "LargeChunk",
    }
}

pub(super) fn one_misdeed_each<C: Case>(_: Kind<C>) {
    for (expected, bad) in bad_envelopes(&C::world(1)) {
        let world = world_without::<C>(1, &[LARGE]);
        let good = envelopes(&world.blank, LARGE, &C::world(1).seats[2], 11);
        let mut simulation = simulate(world, network());
        say(&mut simulation, LARGE, 0, bad);
        // Once accused it is heard no more, for everybody from the same message on.
        say(&mut simulation, LARGE, 1, good[0].clone());
        let end = one_key(&mut simulation, &[LARGE]);
        assert_eq!(end.faults.len(), 1, "{expected}: {:?}", end.faults);
        assert!(expected.contains(name(&end.faults[0].misdeed)), "{expected}: {:?}", end.faults);
        assert!(!counted(&simulation, 0).contains(&Party::new(LARGE)), "{expected}");
    }
}

/// Whom it accused a party remembers through a crash: everybody else does not hear the dealer either.
pub(super) fn accused_for_good<C: Case>(_: Kind<C>) {
    let (_, bad) = bad_envelopes(&C::world(1)).remove(0);
    let world = world_without::<C>(1, &[LARGE]);
    let good = envelopes(&world.blank, LARGE, &C::world(1).seats[2], 11);
    let mut simulation = simulate(world, network());
    say(&mut simulation, LARGE, 0, bad);
    good.into_iter().for_each(|one| say(&mut simulation, LARGE, 0, one));
    // Its own dealing, and the accusation.
    simulation.crash_after_records(Seat::new(0), 2).unwrap();
    simulation.restart(Seat::new(0), ms(3000), Disk::Kept).unwrap();
    assert_eq!(one_key(&mut simulation, &[LARGE]).faults.len(), 1);
    assert!(matches!(simulation.records(Seat::new(0))[1], Record::Accused { .. }));
    assert!(!counted(&simulation, 0).contains(&Party::new(LARGE)));
}

/// Whose dealings a seat has written down.
fn counted<C: Case>(simulation: &Simulation<World<C>>, seat: u32) -> BTreeSet<Party> {
    let records = simulation.records(Seat::new(seat)).iter();
    let counted = records.filter_map(|record| match record {
        Record::Counted { envelope, .. } => Some(split(envelope).unwrap().0.place.dealer),
        _ => None,
    });
    counted.collect()
}

pub(super) fn equivocation<C: Case>(_: Kind<C>) {
    for seed in SEEDS {
        let world = world_without::<C>(seed, &[LARGE]);
        let insider = &C::world(seed).seats[2];
        let [one, two] = [21, 22].map(|seed| envelopes(&world.blank, LARGE, insider, seed));
        let mut simulation = simulate(world, network());
        // Both are on their way before anybody else's.
        say(&mut simulation, LARGE, 0, one[0].clone());
        say(&mut simulation, LARGE, 0, two[0].clone());
        let end = one_key(&mut simulation, &[LARGE]);
        let misdeeds: Vec<_> = end.faults.into_iter().map(|fault| fault.misdeed).collect();
        assert_eq!(misdeeds, [Misdeed::Contradiction], "seed {seed}");
        assert!(counted(&simulation, 0).contains(&Party::new(LARGE)), "the first one counts");
    }
}

/// A Byzantine party repeats what honest parties sent, wraps it up again, takes it from another session,
/// and signs in their names.
pub(super) fn copies_and_forgeries<C: Case>(_: Kind<C>) {
    let mut world = world_without::<C>(1, &[SMALL[0], 3]);
    world.end = Some(ms(5000));
    let victim = &C::world(1).seats[3];
    let said = envelopes(&world.blank, 3, victim, 31);
    let other = envelopes(&world.blank.next_attempt(), 3, victim, 32);
    let mut flipped = said[0].clone();
    // In the signature, then in the dealing: both are somebody's forgery.
    flipped[50] ^= 1;
    let mut changed = said[0].clone();
    *changed.last_mut().unwrap() ^= 1;
    let eve = &C::world(1).seats[1].signer;
    let (statement, payload) = split(&said[0]).unwrap();
    let forged = seal(world.blank.session(), statement.place, payload, eve);
    let mut simulation = simulate(world, network());
    for message in [&forged, &flipped, &changed, &other[0], &said[0], &said[0], &said[0]] {
        say(&mut simulation, SMALL[0], 0, message.clone());
    }
    let end = one_key(&mut simulation, &[SMALL[0]]);
    assert!(end.faults.is_empty(), "{:?}", end.faults);
    for why in ["not signed by party 3", "envelope of another session", "counts already"] {
        assert!(end.ignored.iter().any(|one| one.contains(why)), "{why}: {:?}", end.ignored);
    }
    assert!(counted(&simulation, 0).contains(&Party::new(3)));
}

pub(super) fn silence<C: Case>(_: Kind<C>) {
    for silent in [&[LARGE][..], &SMALL] {
        let mut simulation = simulate(world_without::<C>(1, silent), network());
        let end = one_key(&mut simulation, &[]);
        assert!(end.faults.is_empty());
    }
}

/// Thousands of messages in honest names, short ones, and signed nonsense of the Byzantine party
/// between honest dealings. Seats judge at different speeds, and still judge alike.
pub(super) fn flood<C: Case>(_: Kind<C>) {
    let mut world = world_without::<C>(3, &[LARGE]);
    let insider = &C::world(3).seats[2];
    let place = world.blank.owed(Party::new(LARGE))[0];
    let dealing_bytes = world.blank.dealing_bytes();
    let nonsense = seal(world.blank.session(), place, &vec![1; dealing_bytes], &insider.signer);
    let honest = Place { dealer: Party::new(0), ..world.blank.owed(Party::new(0))[0] };
    let mut forged = seal(world.blank.session(), honest, &vec![1; dealing_bytes], &insider.signer);
    world.end = Some(ms(60_000));
    let mut simulation = simulate(world, network());
    for count in 0..200_u8 {
        *forged.last_mut().unwrap() = count;
        for message in [&forged, &nonsense, &vec![1; 40], &vec![count]] {
            say(&mut simulation, LARGE, 0, message.clone());
        }
    }
    let end = one_key(&mut simulation, &[LARGE]);
    assert_eq!(end.faults.len(), 1);
}

pub(super) fn crashes<C: Case>(_: Kind<C>) {
    let mut steady = simulate(C::world(1), network());
    one_key(&mut steady, &[]);
    let records = steady.records(Seat::new(0)).len();
    assert!(records >= 3, "{records} records");
    for after in 1..=u64::try_from(records).unwrap() {
        let mut simulation = simulate(C::world(1), network());
        simulation.crash_after_records(Seat::new(0), after).unwrap();
        // Twice: the second time in the middle of reading what the first one left.
        for time in [3000, 3020, 3050] {
            simulation.restart(Seat::new(0), ms(time), Disk::Kept).unwrap();
        }
        let end = one_key(&mut simulation, &[]);
        assert!(end.faults.is_empty(), "after {after}: dealt twice");
        // One dealing each: what was dealt before the crash is what was sent after it.
        let dealt = simulation.records(Seat::new(0)).iter();
        assert_eq!(dealt.filter(|record| matches!(record, Record::Dealt { .. })).count(), 1);
    }
}

pub(super) fn crashes_in_time<C: Case>(_: Kind<C>) {
    for time in (0..200).step_by(67) {
        let mut simulation = simulate(C::world(2), network());
        for seat in [0, 3] {
            simulation.crash(Seat::new(seat), ms(time)).unwrap();
            simulation.restart(Seat::new(seat), ms(time + 30), Disk::Kept).unwrap();
        }
        let end = one_key(&mut simulation, &[]);
        assert!(end.faults.is_empty(), "at {time}: {:?}", end.faults);
    }
}

/// Of whatever kind a record of the attempt before is, this one does not go on with it.
pub(super) fn other_records<C: Case>(_: Kind<C>) {
    let world = C::world(1);
    let (before, role) = (world.blank.next_attempt(), world.seats[0].role);
    let envelopes = envelopes(&before, 0, &world.seats[0], 1);
    let said = split(&envelopes[0]).unwrap().0;
    let counted = Record::Counted { position: 1, envelope: envelopes[0].clone() };
    let evidence = Evidence::statement(said).to_bytes();
    let accused = Record::Accused { position: 1, evidence };
    for record in [Record::Dealt { envelopes }, counted, accused] {
        assert!(Keygen::new(before.clone(), role, vec![record.clone()]).is_ok());
        let refused = Keygen::new(world.blank.clone(), role, vec![record]).err();
        assert_eq!(refused, Some(RecordError::Session));
    }
}

pub(super) fn partition<C: Case>(_: Kind<C>) {
    let groups = vec![[0, 3].map(Seat::new).into()];
    let window = Window::new(ms(10), ms(4000));
    let partition = Partition { window, groups, blocked: PartitionEffect::Held };
    let mut simulation = simulate(C::world(4), network().with_partition(partition));
    assert!(one_key(&mut simulation, &[]).faults.is_empty());
}

pub(super) fn late<C: Case>(_: Kind<C>) {
    let mut simulation = simulate(C::world(5), network());
    simulation.crash(Seat::new(3), ms(0)).unwrap();
    simulation.restart(Seat::new(3), ms(5000), Disk::Lost).unwrap();
    assert!(one_key(&mut simulation, &[]).faults.is_empty());
}

/// No order, no dealing: the finalized key and a peer's offer.
pub(super) fn absent<C: Case>(_: Kind<C>) {
    let mut simulation = simulate(C::world(6), network());
    one_key(&mut simulation, &[]);
    let keygen = simulation.machine(Seat::new(0)).unwrap().keygen.as_ref().unwrap();
    let (key, offer) = (Arc::clone(keygen.key().unwrap()), keygen.recovery().unwrap());
    let digest = key.digest();
    // Another run, another key: a party that offers that is refused.
    let mut other = simulate(C::world(77), network());
    one_key(&mut other, &[]);
    let keygen = other.machine(Seat::new(0)).unwrap().keygen.as_ref().unwrap();
    let other = keygen.recovery().unwrap();
    assert_ne!(keygen.key().unwrap().digest(), digest);

    let mut world = C::world(8);
    // Everybody else is gone.
    world.seats.iter_mut().for_each(|seat| seat.role.dealer = None);
    let mut simulation = simulate(world, network());
    let short = offer[..offer.len() - 1].to_vec();
    let mut flipped = offer.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for (time, offer) in (0..).zip([other, short, flipped, Vec::new(), offer]) {
        let input = Input::Recover { key: Arc::clone(&key), offer: offer.into() };
        simulation.input(Seat::new(3), ms(1000 + 200 * time), ChainEvent::Machine(input)).unwrap();
    }
    // It is written down, so the peer is asked once.
    simulation.restart(Seat::new(3), ms(4000), Disk::Kept).unwrap();
    let end = finish(&mut simulation, &[]);
    assert_eq!(end.keys.get(&3), Some(&digest), "{:?}", end.ignored);
    let refused = end.ignored.iter().filter(|why| why.contains("offer refused")).count();
    assert_eq!((refused, end.keys.len()), (4, 1), "{:?}", end.ignored);
    assert_eq!(simulation.records(Seat::new(3)).len(), 1);
}

/// More than a third of stake does not deal, or deals falsely.
pub(super) fn aborts<C: Case>(_: Kind<C>) {
    // Seats 1 and 3 are left: 25 of stake, one share.
    let gone = [0, LARGE, 4];
    let mut world = world_without::<C>(1, &gone);
    world.end = Some(ms(2000));
    let mut simulation = simulate(world, network());
    let end = finish(&mut simulation, &[]);
    let seats = simulation.host().seats.len();
    assert_eq!((end.keys.len(), end.aborts.len()), (0, seats));
    let first = &end.aborts[&0];
    assert!(matches!(first, Abort::Ended(_)) && end.aborts.values().all(|abort| abort == first));

    let world = world_without::<C>(1, &gone);
    let insiders = C::world(1).seats;
    let session = world.blank.session();
    let nonsense = gone.map(|seat| {
        let place = world.blank.owed(Party::new(seat))[0];
        (seat, seal(session, place, b"", &insiders[usize::try_from(seat).unwrap()].signer))
    });
    let mut simulation = simulate(world, network());
    for (seat, message) in nonsense {
        say(&mut simulation, seat, 0, message);
    }
    let end = finish(&mut simulation, &gone);
    assert_eq!((end.keys.len(), end.aborts.len()), (0, seats));
    assert!(end.faults.len() >= 2, "{:?}", end.faults);
    let first = &end.aborts[&0];
    assert!(
        matches!(first, Abort::Exhausted(_)) && end.aborts.values().all(|abort| abort == first)
    );
}
