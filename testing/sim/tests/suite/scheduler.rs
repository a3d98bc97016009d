//! Time, lanes, envelopes, ticks and stops.
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::time::Duration;

use prefinal_protocol::Recipient;
use prefinal_sim::{GLOBAL, Geography, Jitter, Network, Placement, Seat, Setup, Simulation, Stop};

use crate::bracha::{Broadcast, Input as Start, Quorums};
use crate::script::{A, Act, B, C, Event, FOREVER, Input, Stage, ms, seen, setup};

const TO_ALL: Recipient<Seat> = Recipient::All;
const TO_B: Recipient<Seat> = Recipient::One(B);

fn stage(seats: u32, cores: u32) -> Simulation<Stage> {
    let cores = NonZeroU32::new(cores).unwrap_or(NonZeroU32::MIN);
    let made = Simulation::new(Stage::default(), Setup { cores, ..setup(seats) });
    made.expect("this many seats are legal")
}

fn give(simulation: &mut Simulation<Stage>, seat: Seat, at: u64, acts: &[Act]) {
    simulation.input(seat, ms(at), Input::Acts(acts.to_vec())).expect("the seat exists");
}

/// Fingerprint and notes of one reliable broadcast around the world.
fn around_the_world(seed: u64) -> (u64, Vec<prefinal_sim::Note<u32>>) {
    let aws = Geography::aws().unwrap();
    let placement = Placement::dealt(&aws, 31, &GLOBAL, 9).unwrap();
    let network = Network::placed(placement, Jitter::Tail);
    let host = Broadcast { sender: A, quorums: Quorums::of(31, 10) };
    let mut simulation = Simulation::new(host, Setup::new(31, seed, network)).unwrap();
    simulation.input(A, ms(1), Start::Broadcast(7)).unwrap();
    assert_eq!(simulation.run(FOREVER), Stop::Idle, "seed {seed}");
    (simulation.fingerprint(), simulation.take_notes())
}

#[test]
fn a_seed_fixes_the_run_and_another_changes_it() {
    let (fingerprint, notes) = around_the_world(1);
    assert_eq!(notes.len(), 31);
    assert_eq!(around_the_world(1), (fingerprint, notes.clone()));
    let (other_fingerprint, other_notes) = around_the_world(2);
    // What older versions played under these seeds.
    assert_eq!((fingerprint, other_fingerprint), (0x0602_1d0b_1f7b_cde5, 0xb100_0b43_72fb_ab27));
    assert_ne!(fingerprint, other_fingerprint);
    assert_ne!(notes, other_notes);
}

#[test]
fn a_run_in_slices_is_the_same_run() {
    let run = |slices: &[u64]| {
        let mut simulation = stage(3, 1);
        for at in 0..20 {
            give(&mut simulation, A, at, &[Act::Spend(1), Act::Send(TO_ALL, 1)]);
        }
        for &slice in slices {
            assert_eq!(simulation.run(ms(slice)), Stop::Deadline);
            assert_eq!(simulation.now(), ms(slice));
        }
        assert_eq!(simulation.run(FOREVER), Stop::Idle);
        (simulation.fingerprint(), seen(&simulation))
    };
    assert_eq!(run(&[]), run(&[3, 4, 17]));
}

#[test]
fn one_instant_keeps_the_order_of_scheduling() {
    let mut simulation = stage(3, 1);
    for (seat, said) in [(C, 1), (A, 2), (B, 3), (A, 4)] {
        give(&mut simulation, seat, 5, &[Act::Note(said)]);
    }
    simulation.run(FOREVER);
    let said: Vec<_> = seen(&simulation).into_iter().map(|(.., event)| event).collect();
    assert_eq!(said, [1, 2, 3, 4].map(Event::Said));
}

#[test]
fn lane_zero_handles_one_input_at_a_time() {
    let mut simulation = stage(1, 4);
    let acts = [Act::Persist(1), Act::Note(1), Act::Spend(5), Act::Note(2)];
    give(&mut simulation, A, 0, &acts);
    give(&mut simulation, A, 1, &[Act::Spend(2), Act::Note(3)]);
    give(&mut simulation, A, 2, &[Act::Note(4)]);
    simulation.run(FOREVER);
    let expected = [(0, 1), (5, 2), (7, 3), (7, 4)].map(|(at, said)| (at, 0, Event::Said(said)));
    assert_eq!(seen(&simulation), expected);
    assert_eq!(simulation.busy(A), Duration::from_millis(7));
}

#[test]
fn jobs_fill_the_lanes_and_come_back_as_inputs() {
    let ends = |cores| {
        let mut simulation = stage(1, cores);
        give(&mut simulation, A, 0, &[Act::Job(10), Act::Job(20), Act::Job(5)]);
        give(&mut simulation, A, 1, &[Act::Spend(1), Act::Note(0)]);
        simulation.run(FOREVER);
        assert_eq!(simulation.busy(A), Duration::from_millis(36));
        seen(&simulation).into_iter().map(|(at, _, event)| (at, event)).collect::<Vec<_>>()
    };
    let (ten, twenty, five) = (Event::Done(10), Event::Done(20), Event::Done(5));
    let said = || Event::Said(0);
    // One lane: jobs and inputs queue behind each other, inputs first.
    let one = [(11, said()), (11, ten.clone()), (31, twenty.clone()), (36, five.clone())];
    assert_eq!(ends(1), one);
    // Two lanes: the second job is on lane 0, so whatever comes meanwhile waits for its end.
    let two = [said(), ten.clone(), five.clone(), twenty.clone()].map(|event| (21, event));
    assert_eq!(ends(2), two);
    // Four lanes: nothing waits.
    assert_eq!(ends(4), [(2, said()), (5, five), (10, ten), (20, twenty)]);
}

#[test]
fn messages_cost_their_receiver_and_queue_there() {
    let host = Stage { input_cost: Duration::from_millis(3), ..Stage::default() };
    let mut simulation = Simulation::new(host, setup(3)).unwrap();
    give(&mut simulation, A, 0, &[Act::Send(TO_B, 1), Act::Send(TO_B, 2)]);
    give(&mut simulation, C, 1, &[Act::Send(TO_B, 3)]);
    simulation.run(FOREVER);
    let expected =
        [(13, A, 1), (16, A, 2), (19, C, 3)].map(|(at, from, got)| (at, 1, Event::Got(from, got)));
    assert_eq!(seen(&simulation), expected);
}

#[test]
fn messages_of_one_link_are_decoded_in_order_and_those_of_several_on_several_lanes() {
    let arrivals = |cores| {
        let decoding_cost = Duration::from_millis(1);
        let host = Stage { decoding_cost, ..Stage::default() };
        let mut simulation = Simulation::new(host, Setup { cores, ..setup(3) }).unwrap();
        // Of the first link a long one before a short one; of the second link one of medium length.
        give(&mut simulation, A, 0, &[Act::Send(TO_B, 9)]);
        give(&mut simulation, A, 1, &[Act::Send(TO_B, 1)]);
        give(&mut simulation, C, 1, &[Act::Send(TO_B, 4)]);
        simulation.run(FOREVER);
        assert_eq!(simulation.busy(B), Duration::from_millis(14));
        let notes = seen(&simulation).into_iter();
        notes.map(|(at, _, event)| (at, event)).collect::<Vec<_>>()
    };
    let got = |at, from, number| (at, Event::Got(from, number));
    let [one, two] = [1, 2].map(|cores| std::num::NonZeroU32::new(cores).unwrap());
    assert_eq!(arrivals(one), [got(19, A, 9), got(23, C, 4), got(24, A, 1)]);
    assert_eq!(arrivals(two), [got(15, C, 4), got(19, A, 9), got(20, A, 1)]);
}

#[test]
fn one_step_is_one_envelope_per_recipient_in_order() {
    let mut simulation = stage(3, 1);
    let to_c = Recipient::One(C);
    let acts = [Act::Send(TO_ALL, 1), Act::Send(TO_B, 2), Act::Spend(4), Act::Send(TO_ALL, 3)];
    give(&mut simulation, A, 0, &[&acts[..], &[Act::Send(to_c, 4), Act::Send(TO_B, 5)]].concat());
    simulation.run(FOREVER);
    let at = |seat: Seat| -> Vec<Event> {
        let notes = simulation.notes().iter().filter(|note| note.seat == seat);
        notes.inspect(|note| assert_eq!(note.at, ms(14))).map(|note| note.event.clone()).collect()
    };
    assert_eq!(at(A), []);
    assert_eq!(at(B), [1, 2, 3, 5].map(|got| Event::Got(A, got)));
    assert_eq!(at(C), [1, 3, 4].map(|got| Event::Got(A, got)));
    let counters = simulation.counters();
    assert_eq!((counters.sent, counters.arrived, counters.delivered), (2, 2, 7));
}

#[test]
fn a_seat_can_write_to_itself_and_to_nobody() {
    let mut simulation = stage(1, 1);
    let to_itself = Act::Send(Recipient::One(A), 1);
    let to_nobody = Act::Send(Recipient::One(Seat::new(9)), 2);
    give(&mut simulation, A, 3, &[to_itself, to_nobody, Act::Send(TO_ALL, 3)]);
    simulation.run(FOREVER);
    assert_eq!(seen(&simulation), [(3, 0, Event::Got(A, 1))]);
    assert_eq!(simulation.counters().misaddressed, 1);
}

#[test]
fn a_machine_is_woken_when_it_last_asked_for() {
    let mut simulation = stage(2, 1);
    give(&mut simulation, A, 0, &[Act::Wake(Some(50))]);
    give(&mut simulation, A, 10, &[Act::Wake(Some(20))]);
    give(&mut simulation, A, 15, &[Act::Wake(Some(30))]);
    give(&mut simulation, B, 0, &[Act::Wake(Some(5))]);
    give(&mut simulation, B, 4, &[Act::Wake(None)]);
    // Overdue and busy: one tick, when lane 0 is free.
    give(&mut simulation, A, 60, &[Act::Wake(Some(61)), Act::Spend(8)]);
    give(&mut simulation, A, 62, &[Act::Note(1)]);
    simulation.run(FOREVER);
    let expected = [(30, Event::Woke), (68, Event::Woke), (68, Event::Said(1))];
    assert_eq!(seen(&simulation), expected.map(|(at, event)| (at, 0, event)));
}

#[test]
fn a_machine_that_spins_is_stopped_and_named() {
    let host = Stage { stubborn: true, ..Stage::default() };
    let mut simulation = Simulation::new(host, setup(2)).unwrap();
    give(&mut simulation, B, 7, &[Act::Wake(Some(8))]);
    assert_eq!(simulation.run(FOREVER), Stop::Spinning(B));
    assert_eq!(simulation.now(), ms(8));
}

#[test]
fn a_run_stops_for_the_watcher_and_for_too_many_events() {
    let mut simulation = stage(1, 1);
    for at in 0..10 {
        give(&mut simulation, A, at, &[Act::Note(u32::try_from(at).unwrap())]);
    }
    let stop = simulation.run_watching(FOREVER, |note| match note.event {
        Event::Said(4) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!((stop, simulation.now(), simulation.notes().len()), (Stop::Watcher, ms(4), 5));
    assert_eq!(simulation.run(FOREVER), Stop::Idle);
    let few = Setup { most_events: 3, ..setup(5) };
    let mut simulation = Simulation::new(Stage::default(), few).unwrap();
    assert_eq!(simulation.run(FOREVER), Stop::Events);
    assert_eq!(simulation.counters().events, 3);
}

#[test]
fn a_set_up_that_cannot_work_is_refused() {
    let text =
        |setup| Simulation::new(Stage::default(), setup).err().map(|error| error.to_string());
    assert_eq!(text(setup(0)).unwrap(), "0 seats, expected 1 to 65536");
    assert_eq!(text(setup(u32::MAX)).unwrap(), "4294967295 seats, expected 1 to 65536");
    let aws = Geography::aws().unwrap();
    let placement = Placement::dealt(&aws, 3, &GLOBAL, 0).unwrap();
    let placed = |seats| Setup::new(seats, 0, Network::placed(placement.clone(), Jitter::None));
    assert_eq!(text(placed(4)).unwrap(), "4 seats, but the network has places for 3");
    assert_eq!(text(placed(3)), None);
    let mut simulation = stage(2, 1);
    let error = simulation.crash(C, ms(0)).unwrap_err();
    assert_eq!(error.to_string(), "no seat 2 among 2");
    assert!(simulation.restart(C, ms(0), prefinal_sim::Disk::Kept).is_err());
    assert!(simulation.crash_after_records(C, 1).is_err());
    assert!(simulation.rule(C, prefinal_sim::rule::mute()).is_err());
    assert!(simulation.input(C, ms(0), Input::Tick).is_err());
}
