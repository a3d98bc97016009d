//! Interfaces, connections and retransmission against closed forms.
//!
//! Lengths are in units of 1024 bytes. At the usual rate a unit takes 15 625 ns, and 64 of them, which a
//! connection may send in its turn, a millisecond.
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::time::Duration;

use prefinal_protocol::{Instant, Recipient};
use prefinal_sim::rule::delay_when;
use prefinal_sim::{
    Chance, Dice, Interface, Network, Partition, PartitionEffect, Rate, Retransmission, Seat,
    Setup, Simulation, Stop, Traffic, Window,
};

use crate::script::{A, Act, B, C, Event, FOREVER, Input, Stage, ms};

const UNIT: u64 = 1024;
/// Nanoseconds.
const MS: u64 = 1_000_000;
const SMALL: u64 = MS / 64;
/// The delay of every link.
const DELAY: u64 = 10 * MS;
const ALL: Recipient<Seat> = Recipient::All;

const fn to(seat: Seat) -> Recipient<Seat> {
    Recipient::One(seat)
}

/// A rate at which 64 units take so many milliseconds.
fn slowness(milliseconds: u64) -> Rate {
    Rate::bytes_per_second(NonZeroU64::new(65_536_000 / milliseconds).expect("not so slow"))
}

fn network() -> Network {
    Network::constant(Duration::from_nanos(DELAY))
}

fn out_of(seat: Seat, rate: Rate) -> Network {
    network().with_interface(seat, Interface { outgoing: Some(rate), incoming: None })
}

fn stage(seats: u32, network: Network) -> Simulation<Stage> {
    let host = Stage { unit: UNIT, ..Stage::default() };
    Simulation::new(host, Setup::new(seats, 1, network)).expect("this many seats are legal")
}

/// A seat sends these messages in separate steps, so none shares an envelope with another.
fn send(simulation: &mut Simulation<Stage>, seat: Seat, at: u64, acts: &[(Recipient<Seat>, u32)]) {
    for (to, units) in acts {
        let acts = vec![Act::Send(*to, *units)];
        simulation.input(seat, ms(at), Input::Acts(acts)).expect("the seat exists");
    }
}

/// When each seat got what, in nanoseconds.
fn got(simulation: &mut Simulation<Stage>) -> Vec<(u64, Seat, u32)> {
    assert_eq!(simulation.run(FOREVER), Stop::Idle);
    let note = |note: &prefinal_sim::Note<Event>| match note.event {
        Event::Got(_, units) => Some((nanos(note.at), note.seat, units)),
        _ => None,
    };
    simulation.notes().iter().filter_map(note).collect()
}

fn nanos(at: Instant) -> u64 {
    u64::try_from(at.since_start().as_nanos()).expect("a short test")
}

#[test]
fn a_broadcast_takes_its_bytes_times_its_recipients() {
    // Ten pieces to each of five: the connections take turns, so piece by piece all get the same.
    for incoming in [None, Some(slowness(1))] {
        let interface = Interface { outgoing: Some(slowness(1)), incoming };
        let mut simulation = stage(6, network().with_interfaces(interface));
        send(&mut simulation, A, 0, &[(ALL, 640)]);
        let last = if incoming.is_some() { MS } else { 0 };
        let expected: Vec<_> = (1..6)
            .map(|i| (45 * MS + u64::from(i) * MS + DELAY + last, Seat::new(i), 640))
            .collect();
        assert_eq!(got(&mut simulation), expected);
        let sent = Traffic { sent: 5 * 640 * UNIT, ..Traffic::default() };
        assert_eq!(simulation.traffic(A), sent);
        let received = Traffic { received: 640 * UNIT, ..Traffic::default() };
        assert_eq!(simulation.traffic(B), received);
    }
}

#[test]
fn small_messages_to_many_leave_one_after_the_other() {
    let mut simulation = stage(101, out_of(A, slowness(1)));
    send(&mut simulation, A, 0, &[(ALL, 1)]);
    let expected: Vec<_> =
        (1..101).map(|i| (u64::from(i) * SMALL + DELAY, Seat::new(i), 1)).collect();
    assert_eq!(got(&mut simulation), expected);
}

#[test]
fn two_flows_share_an_interface_equally_and_waste_nothing() {
    let mut simulation = stage(3, out_of(A, slowness(1)));
    send(&mut simulation, A, 0, &[(to(B), 640), (to(C), 256)]);
    // In turns: the shorter one has its fourth piece after eight, then the other one is alone.
    let expected = [(8 * MS + DELAY, C, 256), (14 * MS + DELAY, B, 640)];
    assert_eq!(got(&mut simulation), expected);
}

#[test]
fn a_connection_with_many_small_messages_gets_no_less_than_one_with_a_big_one() {
    let mut simulation = stage(3, out_of(A, slowness(1)));
    let small = vec![(to(B), 16); 40];
    send(&mut simulation, A, 0, &[&[(to(C), 640)][..], &small].concat());
    let all = got(&mut simulation);
    let last = all.iter().rfind(|(_, seat, _)| *seat == B);
    // The same ten pieces' worth of bytes, in the same twenty milliseconds.
    assert_eq!(last, Some(&(20 * MS + DELAY, B, 16)));
    assert!(all.contains(&(19 * MS + DELAY, C, 640)));
}

#[test]
fn two_senders_share_the_interface_of_their_receiver() {
    let incoming = Interface { outgoing: None, incoming: Some(slowness(1)) };
    let limited = network().with_interface(C, incoming).with_connections(slowness(1));
    let mut simulation = stage(3, limited);
    send(&mut simulation, A, 0, &[(to(C), 640)]);
    send(&mut simulation, B, 0, &[(to(C), 640)]);
    // Both send at the full rate, piece by piece; from the first arrival on C takes twenty pieces in turn.
    let first = MS + DELAY;
    let expected = [(first + 19 * MS, C, 640), (first + 20 * MS, C, 640)];
    assert_eq!(got(&mut simulation), expected);
}

#[test]
fn a_connection_bounds_its_flow_and_leaves_the_rest_to_others() {
    let limited = out_of(A, slowness(1)).with_connection(A, B, slowness(4));
    let mut simulation = stage(3, limited.clone());
    send(&mut simulation, A, 0, &[(to(B), 640)]);
    assert_eq!(got(&mut simulation), [(40 * MS + DELAY, B, 640)]);
    // C's pieces go between those to B, which every fourth millisecond have their turn.
    let mut simulation = stage(3, limited);
    send(&mut simulation, A, 0, &[(to(B), 640), (to(C), 640)]);
    let expected = [(14 * MS + DELAY, C, 640), (40 * MS + DELAY, B, 640)];
    assert_eq!(got(&mut simulation), expected);
    // Without an interface the connections do not know each other.
    let mut simulation = stage(3, network().with_connections(slowness(4)));
    send(&mut simulation, A, 0, &[(to(B), 640), (to(C), 640), (to(C), 64)]);
    let expected = [40, 40, 44].map(|at| at * MS + DELAY);
    assert_eq!(got(&mut simulation).iter().map(|got| got.0).collect::<Vec<_>>(), expected);
}

#[test]
fn a_small_message_waits_for_its_own_connection_and_one_piece_of_another() {
    let mut simulation = stage(3, out_of(A, slowness(1)));
    send(&mut simulation, A, 0, &[(to(B), 640), (to(B), 1), (to(C), 2)]);
    let expected = [
        (MS + 2 * SMALL + DELAY, C, 2),
        (10 * MS + 2 * SMALL + DELAY, B, 640),
        (10 * MS + 3 * SMALL + DELAY, B, 1),
    ];
    assert_eq!(got(&mut simulation), expected);
}

/// A message that goes first waits for the piece that is leaving, also if one step sends it with a larger one; those of
/// one rank keep their order.
#[test]
fn what_ranks_before_others_waits_for_the_piece_that_is_leaving() {
    let mut simulation = stage(3, out_of(A, slowness(1)));
    simulation.host_mut().ranked = true;
    send(&mut simulation, A, 0, &[(to(B), 640), (to(B), 256), (to(B), 64), (to(B), 64)]);
    let acts = vec![Act::Send(to(C), 128), Act::Send(to(C), 1)];
    simulation.input(A, ms(20), Input::Acts(acts)).expect("the seat exists");
    let expected = [
        (2 * MS + DELAY, B, 64),
        (3 * MS + DELAY, B, 64),
        (7 * MS + DELAY, B, 256),
        (16 * MS + DELAY, B, 640),
        (20 * MS + SMALL + DELAY, C, 1),
        (22 * MS + SMALL + DELAY, C, 128),
    ];
    assert_eq!(got(&mut simulation), expected);
}

#[test]
fn an_interface_that_was_idle_has_saved_nothing() {
    let mut simulation = stage(3, out_of(A, slowness(1)).with_connection(A, C, slowness(4)));
    for at in [0, 3, 4, 100] {
        send(&mut simulation, A, at, &[(to(B), 128)]);
    }
    // The connection's rate holds from one message to the next, also if another one was served meanwhile.
    for at in [200, 201] {
        send(&mut simulation, A, at, &[(to(C), 64)]);
    }
    send(&mut simulation, A, 300, &[(to(C), 64), (to(B), 64)]);
    send(&mut simulation, A, 303, &[(to(C), 64)]);
    let expected = [2, 5, 7, 102, 204, 208, 302, 304, 308].map(|at| at * MS + DELAY);
    assert_eq!(got(&mut simulation).iter().map(|got| got.0).collect::<Vec<_>>(), expected);
}

#[test]
fn a_connection_has_one_turn_whenever_its_messages_come() {
    // The second message to B comes when the first one's only piece is leaving.
    let mut simulation = stage(3, out_of(A, slowness(4)));
    send(&mut simulation, A, 0, &[(to(B), 64)]);
    send(&mut simulation, A, 1, &[(to(B), 256)]);
    send(&mut simulation, A, 2, &[(to(C), 256)]);
    let expected = [(4, B, 64), (32, C, 256), (36, B, 256)];
    assert_eq!(got(&mut simulation), expected.map(|(at, to, got)| (at * MS + DELAY, to, got)));
}

#[test]
fn traffic_tells_what_waits() {
    let mut simulation = stage(2, out_of(A, slowness(1)));
    send(&mut simulation, A, 0, &[(to(B), 640), (to(A), 640)]);
    assert_eq!(simulation.run(ms(3)), Stop::Deadline);
    let traffic = Traffic { sent: 4 * 64 * UNIT, received: 0, waiting: 6 * 64 * UNIT };
    assert_eq!(simulation.traffic(A), traffic);
    assert_eq!(simulation.traffic(Seat::new(7)), Traffic::default());
}

/// Messages of one packet, one each millisecond, and when they came.
fn lossy(network: Network) -> Vec<(u32, u64)> {
    let mut simulation = stage(2, network);
    for at in 0..300 {
        // The number tells them apart; all are at most a packet.
        simulation.host_mut().unit = 1;
        send(&mut simulation, A, at, &[(to(B), u32::try_from(at).expect("few") + 1)]);
    }
    let mut all: Vec<_> = got(&mut simulation).iter().map(|(at, _, sent)| (*sent, *at)).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_lost_packet_blocks_its_stream_and_nothing_else() {
    let loss = Retransmission { chance: Chance::percent(20), timeout: Duration::ZERO };
    let alone = lossy(network().with_retransmission(loss));
    let stream = lossy(network().with_retransmission(loss).in_order());
    let (mut latest, mut repaired, mut blocked) = (0, 0, 0);
    for ((sent, alone), (_, streamed)) in alone.iter().zip(&stream) {
        // Each loss costs a round trip.
        let late = alone - (u64::from(*sent) - 1) * MS - DELAY;
        assert_eq!(late % (2 * DELAY), 0);
        repaired += u32::from(late > 0);
        // The same packets are lost; whatever is behind one waits for it.
        latest = latest.max(*alone);
        assert_eq!(*streamed, latest);
        blocked += u32::from(late == 0 && streamed > alone);
    }
    assert!((40..80).contains(&repaired), "{repaired}");
    assert!(blocked > 100, "{blocked}");
}

#[test]
fn a_loss_in_the_middle_of_a_message_delays_all_of_it() {
    // One packet in a thousand: four or five of the message's, hardly one of its last piece's 46.
    let chance = Chance::per_million(1000);
    let loss = Retransmission { chance, timeout: Duration::from_millis(200) };
    let mut repaired = 0;
    for (seed, incoming) in (0..20).flat_map(|seed| [(seed, None), (seed, Some(slowness(1)))]) {
        let interface = Interface { outgoing: Some(slowness(1)), incoming };
        let limited = network().with_interfaces(interface).with_retransmission(loss);
        let host = Stage { unit: UNIT, ..Stage::default() };
        let mut simulation = Simulation::new(host, Setup::new(2, seed, limited)).unwrap();
        send(&mut simulation, A, 0, &[(to(B), 6400)]);
        let [(at, ..)] = got(&mut simulation)[..] else { panic!("one message") };
        let late = at - DELAY - if incoming.is_some() { MS } else { 0 };
        // Piece k of a hundred leaves after k milliseconds, and is late by timeouts of 200.
        assert!(late.is_multiple_of(MS) && late >= 100 * MS, "{late}");
        assert!((0..=100).contains(&(late / MS % 200)), "{late}");
        repaired += u32::from(late > 200 * MS);
        assert_eq!(simulation.traffic(B).received, 6400 * UNIT);
    }
    assert!(repaired > 30, "{repaired}");
}

#[test]
fn what_rules_and_partitions_hold_back_queues_when_it_leaves() {
    let parted = Partition {
        window: Window::new(ms(0), ms(50)),
        groups: vec![BTreeSet::from([C])],
        blocked: PartitionEffect::Held,
    };
    let mut simulation = stage(3, out_of(A, slowness(1)).with_partition(parted));
    simulation.rule(A, delay_when(Duration::from_millis(20), |_, letter| letter.to == B)).unwrap();
    send(&mut simulation, A, 0, &[(to(B), 64), (to(C), 64)]);
    send(&mut simulation, A, 49, &[(to(C), 128)]);
    let expected = [(21 * MS + DELAY, B, 64), (51 * MS + DELAY, C, 64), (53 * MS + DELAY, C, 128)];
    assert_eq!(got(&mut simulation), expected);
}

#[test]
fn what_a_crashed_seat_has_handed_over_still_leaves() {
    let mut simulation = stage(2, out_of(A, slowness(1)));
    send(&mut simulation, A, 0, &[(to(B), 640)]);
    simulation.crash(A, ms(2)).unwrap();
    assert_eq!(got(&mut simulation), [(10 * MS + DELAY, B, 640)]);
}

#[test]
fn limits_that_bind_nothing_change_nothing() {
    let run = |network: Network| {
        let mut simulation = stage(5, network);
        for at in 0..50 {
            let seat = Seat::new(u32::try_from(at % 5).unwrap());
            send(&mut simulation, seat, at, &[(ALL, 700), (to(C), 3)]);
        }
        (got(&mut simulation), simulation.fingerprint())
    };
    let uniform = Network::uniform(Duration::from_millis(1), Duration::from_millis(9));
    for network in [uniform.clone(), uniform.in_order()] {
        let (plain, fingerprint) = run(network.clone());
        assert_eq!(run(network.clone().with_interfaces(Interface::UNLIMITED)).1, fingerprint);
        // So fast that nothing takes a nanosecond more than the one that every piece is rounded up to.
        let fast = "10000000000GB/s".parse().unwrap();
        let (limited, _) = run(network.with_interface(B, Interface::duplex(fast)));
        let seats = |all: &[(u64, Seat, u32)]| {
            let mut by: BTreeMap<Seat, Vec<(u64, u32)>> = BTreeMap::new();
            all.iter()
                .for_each(|(at, seat, units)| by.entry(*seat).or_default().push((*at, *units)));
            by
        };
        for ((one, plain), (two, limited)) in seats(&plain).iter().zip(&seats(&limited)) {
            assert_eq!((one, plain.len()), (two, limited.len()));
            let close = |(one, two): (&(u64, u32), &(u64, u32))| one.0.abs_diff(two.0) <= 200;
            assert!(plain.iter().zip(limited).all(close), "{one}");
        }
    }
}

/// Random flows between seats with limits of all kinds.
#[test]
fn no_limit_is_exceeded_and_every_message_comes_once() {
    for seed in 0..20 {
        let mut dice = Dice::new(seed);
        let rate = |dice: &mut Dice| slowness(dice.between(1, 8));
        let (out, into) = (rate(&mut dice), rate(&mut dice));
        let connection = rate(&mut dice);
        let interface = Interface { outgoing: Some(out), incoming: Some(into) };
        let limited = network().with_interfaces(interface).with_connections(connection);
        let limited = if seed % 2 == 0 { limited.in_order() } else { limited };
        let mut simulation = stage(4, limited);
        let (mut bytes, mut flows) = (BTreeMap::new(), BTreeMap::new());
        for number in 0..40 {
            let from = Seat::new(u32::try_from(dice.below(4)).unwrap());
            let other = Seat::new((from.get() + 1 + u32::try_from(dice.below(3)).unwrap()) % 4);
            let units = u32::try_from(dice.between(1, 600)).unwrap();
            send(&mut simulation, from, number / 4, &[(to(other), units)]);
            *bytes.entry(from).or_insert(0) += u64::from(units) * UNIT;
            *flows.entry((from, other)).or_insert(0) += u64::from(units) * UNIT;
        }
        let all = got(&mut simulation);
        assert_eq!(all.len(), 40, "seed {seed}");
        let end = all.last().map_or(0, |(at, ..)| *at);
        let least =
            |rate: Rate, bytes: &u64| u64::try_from(rate.time(*bytes).as_nanos()).unwrap() + DELAY;
        let by_seats = bytes.values().map(|bytes| least(out, bytes)).max();
        let by_flows = flows.values().map(|bytes| least(connection, bytes)).max();
        let bound = by_seats.max(by_flows).unwrap();
        assert!(end >= bound, "seed {seed}: {end} {bound}");
        // Work is never left lying: not more than everything one after the other.
        let total: u64 = bytes.values().sum();
        let slowest = out.min(into).min(connection);
        assert!(end <= 3 * least(slowest, &total) + 20 * MS, "seed {seed}");
        let sum = |part: fn(Traffic) -> u64| -> u64 {
            (0..4).map(|seat| part(simulation.traffic(Seat::new(seat)))).sum()
        };
        assert_eq!(
            (sum(|of| of.sent), sum(|of| of.received), sum(|of| of.waiting)),
            (total, total, 0)
        );
    }
}
