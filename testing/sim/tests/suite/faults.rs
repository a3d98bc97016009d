//! Loss, partitions, crashes, Byzantine rules, and checkers that find what they must.
use std::collections::BTreeSet;
use std::time::Duration;

use prefinal_protocol::Recipient;
use prefinal_sim::rule::{self, Letter};
use prefinal_sim::{
    Chance, ClockJump, Disk, Host, Loss, Network, Partition, PartitionEffect, Seat, Setup,
    Simulation, Stop, Window, check,
};

use crate::bracha::{Broadcast, Input as Start, Message, Quorums};
use crate::script::{A, Act, B, C, Event, FOREVER, Input, Stage, ms, seen, setup};

const TO_ALL: Recipient<Seat> = Recipient::All;
const D: Seat = Seat::new(3);
const TEN_MS: Duration = Duration::from_millis(10);

fn stage(setup: Setup) -> Simulation<Stage> {
    let host = Stage { note_boots: true, ..Stage::default() };
    let made = Simulation::new(host, setup);
    made.expect("this set-up is legal")
}

fn give(simulation: &mut Simulation<Stage>, seat: Seat, at: u64, acts: &[Act]) {
    simulation.input(seat, ms(at), Input::Acts(acts.to_vec())).expect("the seat exists");
}

/// A broadcasts 7 at 1 ms.
fn broadcast(seats: u32, network: Network, quorums: Quorums) -> Simulation<Broadcast> {
    let host = Broadcast { sender: A, quorums };
    let made = Simulation::new(host, Setup::new(seats, 1, network));
    let mut simulation = made.expect("this set-up is legal");
    simulation.input(A, ms(1), Start::Broadcast(7)).expect("the seat exists");
    simulation
}

fn delivered(simulation: &Simulation<Broadcast>) -> Vec<(u128, u32, u32)> {
    let line = |note: &prefinal_sim::Note<u32>| {
        (note.at.since_start().as_millis(), note.seat.get(), note.event)
    };
    simulation.notes().iter().map(line).collect()
}

fn with_window(from: u64, until: u64, side: &[Seat], blocked: PartitionEffect) -> Partition {
    let groups = vec![side.iter().copied().collect::<BTreeSet<_>>()];
    Partition { window: Window::new(ms(from), ms(until)), groups, blocked }
}

#[test]
fn loss_takes_its_share_in_its_window() {
    let window = Window::new(ms(0), ms(1000));
    let network = Network::constant(TEN_MS).with_loss(Loss { window, chance: Chance::percent(10) });
    let mut simulation = stage(Setup::new(101, 5, network));
    for at in 0..2000 {
        give(&mut simulation, A, at, &[Act::Send(TO_ALL, 1)]);
    }
    simulation.run(FOREVER);
    let counters = simulation.counters();
    assert_eq!(counters.sent, 200_000);
    assert_eq!(counters.arrived + counters.lost, 200_000);
    // 100 000 draws at 10 %: five standard deviations are 475.
    assert!(counters.lost.abs_diff(10_000) < 475, "seed 5 lost {}", counters.lost);
}

#[test]
fn a_partition_blocks_and_heals() {
    let quorums = Quorums::of(4, 1);
    let whole = Network::constant(TEN_MS);
    let mut healthy = broadcast(4, whole.clone(), quorums);
    healthy.run(FOREVER);
    assert_eq!(delivered(&healthy), [0, 1, 2, 3].map(|seat| (31, seat, 7)));

    // Two against two: no quorum of echoes until it heals.
    let held = whole.clone().with_partition(with_window(5, 500, &[A, B], PartitionEffect::Held));
    let mut late = broadcast(4, held, quorums);
    late.run(ms(499));
    assert_eq!(delivered(&late), []);
    late.run(FOREVER);
    let notes = delivered(&late);
    assert_eq!(notes.len(), 4);
    assert!(notes.iter().all(|&(at, _, value)| at >= 510 && value == 7), "{notes:?}");
    assert!(late.counters().held > 0);

    let dropped = whole.with_partition(with_window(5, 500, &[A, B], PartitionEffect::Dropped));
    let mut never = broadcast(4, dropped, quorums);
    assert_eq!(never.run(FOREVER), Stop::Idle);
    assert_eq!(delivered(&never), []);
    assert!(never.counters().cut > 0);
}

#[test]
fn a_crash_keeps_the_prefix_of_a_step_and_loses_what_waited() {
    let mut simulation = stage(setup(2));
    let step = [
        Act::Spend(2),
        Act::Persist(1),
        Act::Send(TO_ALL, 1),
        Act::Spend(2),
        Act::Persist(2),
        Act::Send(TO_ALL, 2),
    ];
    give(&mut simulation, A, 10, &step);
    give(&mut simulation, A, 11, &[Act::Persist(9), Act::Job(5)]);
    simulation.crash(A, ms(13)).unwrap();
    give(&mut simulation, A, 14, &[Act::Note(9)]);
    simulation.restart(A, ms(20), Disk::Kept).unwrap();
    simulation.run(FOREVER);
    assert_eq!(simulation.records(A), [1]);
    let expected = [
        (0, 0, Event::Booted(vec![])),
        (0, 1, Event::Booted(vec![])),
        (20, 0, Event::Booted(vec![1])),
        (23, 1, Event::Got(A, 1)),
    ];
    assert_eq!(seen(&simulation), expected);
}

#[test]
fn running_jobs_and_deadlines_die_with_the_machine() {
    let mut simulation = stage(setup(1));
    give(&mut simulation, A, 0, &[Act::Job(50), Act::Job(50), Act::Wake(Some(60))]);
    simulation.restart(A, ms(10), Disk::Kept).unwrap();
    give(&mut simulation, A, 11, &[Act::Job(5)]);
    simulation.run(FOREVER);
    let boots = [0, 10].map(|at| (at, 0, Event::Booted(vec![])));
    assert_eq!(seen(&simulation)[..2], boots);
    assert_eq!(seen(&simulation)[2..], [(16, 0, Event::Done(5))]);
}

#[test]
fn a_clock_that_is_set_moves_the_deadline_and_nothing_else() {
    for (leap, woken) in [
        (None, 60),
        (Some(ClockJump::Ahead(Duration::from_millis(30))), 30),
        (Some(ClockJump::Back(Duration::from_millis(20))), 80),
    ] {
        let mut simulation = stage(setup(2));
        give(&mut simulation, A, 0, &[Act::Wake(Some(60)), Act::Job(7), Act::Send(TO_ALL, 1)]);
        if let Some(leap) = leap {
            simulation.leap(A, ms(5), leap).unwrap();
        }
        simulation.run(FOREVER);
        let expected = [(7, 0, Event::Done(7)), (10, 1, Event::Got(A, 1)), (woken, 0, Event::Woke)];
        assert_eq!(seen(&simulation)[2..], expected, "{leap:?}");
    }
    // Ahead of a deadline: it has passed.
    let mut simulation = stage(setup(1));
    give(&mut simulation, A, 0, &[Act::Wake(Some(60))]);
    simulation.leap(A, ms(5), ClockJump::Ahead(Duration::from_millis(100))).unwrap();
    simulation.run(FOREVER);
    assert_eq!(seen(&simulation)[1..], [(5, 0, Event::Woke)]);
}

#[test]
fn a_disk_of_an_earlier_life_is_found_at_the_first_boot() {
    let mut simulation = stage(setup(2));
    simulation.load(B, [4, 5]).unwrap();
    simulation.run(FOREVER);
    let boots = [(0, 0, Event::Booted(vec![])), (0, 1, Event::Booted(vec![4, 5]))];
    assert_eq!(seen(&simulation), boots);
}

#[test]
fn a_party_that_is_down_hears_nothing_and_a_lost_disk_is_empty() {
    let mut simulation = stage(setup(2));
    give(&mut simulation, B, 0, &[Act::Persist(5)]);
    for at in [0, 5, 15] {
        give(&mut simulation, A, at, &[Act::Send(TO_ALL, u32::try_from(at).unwrap())]);
    }
    simulation.crash(B, ms(12)).unwrap();
    simulation.restart(B, ms(20), Disk::Lost).unwrap();
    simulation.run(ms(18));
    assert!(simulation.machine(B).is_none() && simulation.machine(A).is_some());
    simulation.run(FOREVER);
    let heard: Vec<_> = seen(&simulation).into_iter().filter(|(_, seat, _)| *seat == 1).collect();
    let expected = [
        (0, 1, Event::Booted(vec![])),
        (10, 1, Event::Got(A, 0)),
        (20, 1, Event::Booted(vec![])),
        (25, 1, Event::Got(A, 15)),
    ];
    assert_eq!(heard, expected);
    assert_eq!((simulation.counters().down, simulation.records(B)), (1, &[][..]));
}

/// A machine that sends before it writes is caught: after the crash the network has heard what
/// the disk does not know.
#[test]
fn a_crash_between_record_and_send_tells_the_two_orders_apart() {
    let after = |acts: &[Act]| {
        let mut simulation = stage(setup(2));
        simulation.crash_after_records(A, 2).unwrap();
        give(&mut simulation, A, 0, &[Act::Persist(1)]);
        give(&mut simulation, A, 1, acts);
        simulation.run(FOREVER);
        assert!(simulation.machine(A).is_none());
        let heard = seen(&simulation).iter().any(|(.., event)| *event == Event::Got(A, 7));
        (simulation.records(A).to_vec(), heard)
    };
    let (send, write) = (Act::Send(TO_ALL, 7), Act::Persist(2));
    assert_eq!(after(&[write.clone(), send.clone(), Act::Persist(3)]), (vec![1, 2], false));
    assert_eq!(after(&[send.clone(), write.clone(), Act::Persist(3)]), (vec![1, 2], true));
    // Also when the crash falls into a step that takes time.
    let mut simulation = stage(setup(2));
    give(&mut simulation, A, 0, &[send, Act::Spend(5), write]);
    simulation.crash(A, ms(2)).unwrap();
    simulation.run(FOREVER);
    assert_eq!(simulation.records(A), []);
    assert!(seen(&simulation).contains(&(12, 1, Event::Got(A, 7))));
}

#[test]
fn a_crash_falls_behind_any_effect_of_a_step() {
    let acts = [Act::Persist(1), Act::Send(TO_ALL, 7), Act::Note(8), Act::Persist(2)];
    for effects in 1..=5 {
        let mut simulation = stage(setup(2));
        // It notes its start first.
        simulation.crash_after_effects(A, effects + 1).unwrap();
        give(&mut simulation, A, 0, &acts);
        simulation.run(FOREVER);
        assert_eq!(simulation.machine(A).is_none(), effects < 5);
        let seen: Vec<Event> = seen(&simulation).into_iter().map(|(.., event)| event).collect();
        assert_eq!(seen.contains(&Event::Got(A, 7)), effects >= 2, "{effects}");
        assert_eq!(seen.contains(&Event::Said(8)), effects >= 3, "{effects}");
        assert_eq!(simulation.records(A).len(), if effects < 4 { 1 } else { 2 });
    }
}

#[test]
fn a_broadcast_survives_a_restart_from_disk_but_not_one_without() {
    let run = |disk| {
        let network = Network::constant(TEN_MS);
        // One seat is mute, so all the others are needed.
        let mut simulation = broadcast(4, network, Quorums::of(4, 1));
        simulation.rule(D, rule::mute()).unwrap();
        // B writes its echo and crashes before it leaves.
        simulation.crash_after_records(B, 1).unwrap();
        simulation.restart(B, ms(40), disk).unwrap();
        simulation.run(FOREVER);
        delivered(&simulation).into_iter().filter(|&(_, seat, _)| seat != 3).count()
    };
    assert_eq!(run(Disk::Kept), 3);
    assert_eq!(run(Disk::Lost), 0);
}

/// Of five, A tells B and C the truth, and the other two one more.
fn two_faced() -> impl rule::Rule<Message> {
    rule::equivocate(|_, to, message| {
        let lie = |value: u32| if to.get() >= 3 { value + 1 } else { value };
        Some(match *message {
            Message::Init(value) => Message::Init(lie(value)),
            Message::Echo(value) => Message::Echo(lie(value)),
            Message::Ready(value) => Message::Ready(lie(value)),
        })
    })
}

fn agreed(
    simulation: &Simulation<Broadcast>,
) -> Result<Vec<u32>, check::Disagreement<(), <Broadcast as Host>::Event>> {
    let honest = simulation.notes().iter().filter(|note| note.seat != A);
    check::agreement(honest, |value| Some(((), *value)))
        .map(|agreed| agreed.into_values().collect())
}

#[test]
fn an_equivocating_sender_splits_small_quorums_and_not_right_ones() {
    let run = |quorums| {
        let mut simulation = broadcast(5, Network::constant(TEN_MS), quorums);
        simulation.rule(A, two_faced()).unwrap();
        simulation.run(FOREVER);
        simulation
    };
    // Three echoes for 7, three for 8, and four are needed.
    assert_eq!(agreed(&run(Quorums::of(5, 1))), Ok(vec![]));
    let split = run(Quorums { echo: 3, ..Quorums::of(5, 1) });
    let error = agreed(&split).unwrap_err();
    let values = BTreeSet::from([error.first_value, error.second_value]);
    assert_eq!(values, BTreeSet::from([7, 8]));
}

#[test]
fn rules_delay_repeat_and_inject_through_the_network() {
    let mut simulation = stage(setup(3));
    let to_b = |_: &mut rule::Scene<'_>, letter: &Letter<u32>| letter.to == B;
    simulation.rule(A, rule::delay_when(TEN_MS, to_b)).unwrap();
    simulation.rule(A, rule::repeat_when(1, Duration::from_millis(3), to_b)).unwrap();
    let own = Letter { to: C, message: 99, delay: Duration::ZERO };
    simulation.rule(A, rule::inject(ms(50), vec![own])).unwrap();
    give(&mut simulation, A, 0, &[Act::Send(TO_ALL, 1), Act::Send(TO_ALL, 2)]);
    simulation.run(FOREVER);
    let got = |at, seat, message| (at, seat, Event::Got(A, message));
    let expected = [
        got(10, 2, 1),
        got(10, 2, 2),
        got(20, 1, 1),
        got(20, 1, 2),
        got(23, 1, 1),
        got(23, 1, 2),
        got(60, 2, 99),
    ];
    assert_eq!(seen(&simulation)[3..], expected);
    // Both messages of a step still share an envelope.
    assert_eq!(simulation.counters().sent, 4);
}

/// Wants to be woken at one instant for ever.
struct Sleepless;

impl rule::Rule<u32> for Sleepless {
    fn outgoing(
        &mut self,
        _: &mut rule::Scene<'_>,
        letter: Letter<u32>,
        leaves: &mut Vec<Letter<u32>>,
    ) {
        leaves.push(letter);
    }

    fn wake_at(&self) -> Option<prefinal_protocol::Instant> {
        Some(ms(4))
    }
}

#[test]
fn a_rule_that_spins_is_stopped_and_named() {
    let mut simulation = stage(setup(2));
    simulation.rule(B, Sleepless).unwrap();
    assert_eq!(simulation.run(FOREVER), Stop::Spinning(B));
}
