//! The vote for a state is a channel of the beacon's stack: its release contract decides when it leaves.
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use prefinal_beacon::stack::{self, Event, OneOf};
use prefinal_beacon::{Life, StateStatement};
use prefinal_execution::{BlockId, Height, Record, Roots, StateClaim, Switches, Vote};
use prefinal_protocol::{Instant, Machine, Output, Party, Slot, Value, View};
use prefinal_sim::{Disk as SimDisk, Network, Seat, Setup, Simulation};

use crate::committee::{CONTEXT, Committee, Happens, Kept, Seen, channel, inputs_of, keys};
use crate::ledger::{Disk, pay};

const DELAY: Duration = Duration::from_millis(20);

fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

fn town(switches: Switches, execute: Duration, faulty: &[u32]) -> Simulation<Committee> {
    let disks = (0..4).map(|_| Disk::new()).collect();
    let faulty = faulty.to_vec();
    let host = Committee { switches, execute, write: ms(4), disks, faulty, lives: [0; 4] };
    let setup =
        Setup { cores: NonZeroU32::new(8).unwrap(), ..Setup::new(4, 1, Network::constant(DELAY)) };
    let mut simulation = Simulation::new(host, setup).unwrap();
    for number in 0..8 {
        let at = Instant::at(ms(40 * u64::from(number)));
        let entry = pay(number, u64::from(number) + 1);
        let seat = Seat::new(u32::from(number) % 4);
        simulation.input(seat, at, Happens::Submit(entry)).unwrap();
    }
    simulation
}

/// When something happened for the first time, at a seat that does not lead the first round.
fn first(simulation: &Simulation<Committee>, is: impl Fn(&Seen) -> bool) -> Option<Instant> {
    let here = simulation.notes().iter().filter(|note| note.seat == Seat::new(3));
    here.into_iter().find(|note| is(&note.event)).map(|note| note.at)
}

fn committed(simulation: &Simulation<Committee>, seat: u32) -> Vec<(BlockId, Roots)> {
    let own = simulation.notes().iter().filter(|note| note.seat == Seat::new(seat));
    own.filter_map(|note| match &note.event {
        Seen::Committed(block, roots) => Some((*block, *roots)),
        _ => None,
    })
    .collect()
}

/// Everybody commits the same chain, and an outsider who has the electorate verifies every certificate.
fn audit(simulation: &Simulation<Committee>, seats: &[u32]) {
    let longest = seats.iter().map(|seat| committed(simulation, *seat)).max_by_key(Vec::len);
    let longest = longest.unwrap();
    for seat in seats {
        let own = committed(simulation, *seat);
        assert!(own.len() >= 4 && longest.starts_with(&own), "seat {seat}");
        let disk = simulation.host().disks.get(Seat::new(*seat).index()).unwrap();
        for (header, roots, certificate) in &disk.content().chain {
            let value = Value::new(header.id.to_bytes());
            let (slot, root) = (header.slot, roots.digest());
            let statement = StateStatement { context: CONTEXT, slot, value, root };
            assert_eq!(statement.verify(&keys().electorate, certificate), Ok(()));
            let other = StateStatement { root: [1; 32], ..statement };
            assert!(other.verify(&keys().electorate, certificate).is_err());
        }
    }
}

/// The vote for the first block's state leaves with its order vote, between order vote and order, or behind
/// both, as executing takes less or more time. Never before.
#[test]
fn the_vote_for_a_state_leaves_when_the_contract_and_the_executor_allow_it() {
    for (execute, switches) in [
        (5, Switches::ON),
        (30, Switches::ON),
        (90, Switches::ON),
        (5, Switches { piggyback: false, ..Switches::ON }),
        (5, Switches::OFF),
    ] {
        let mut simulation = town(switches, ms(execute), &[]);
        simulation.run(Instant::at(Duration::from_secs(2)));
        audit(&simulation, &[0, 1, 2, 3]);
        let order_vote = first(&simulation, |event| matches!(event, Seen::OrderVote(_))).unwrap();
        let ordered = first(&simulation, |event| matches!(event, Seen::Ordered(_))).unwrap();
        let vote = first(&simulation, |event| *event == Seen::StateVote).unwrap();
        let proposed = ordered - Instant::START - 2 * DELAY;
        let executed = Instant::at(proposed + ms(execute));
        let expected = match (switches.opt_execute, switches.piggyback) {
            (true, true) => executed.max(order_vote),
            (true, false) => executed.max(ordered),
            _ => ordered + ms(execute),
        };
        assert_eq!(vote, expected, "execute {execute} ms, {switches:?}");
        assert_eq!(ordered - order_vote, DELAY);
        let certified = first(&simulation, |event| matches!(event, Seen::Certified(..)));
        assert_eq!(
            certified.unwrap(),
            (vote + DELAY).max(ordered),
            "a round later, or with the order"
        );
    }
}

#[test]
fn a_party_with_another_executor_stops_and_the_others_go_on() {
    let mut simulation = town(Switches::ON, ms(5), &[3]);
    simulation.run(Instant::at(Duration::from_secs(3)));
    audit(&simulation, &[0, 1, 2]);
    // The first blocks are empty, so they leave the same state.
    let (own, others) = (committed(&simulation, 3), committed(&simulation, 0));
    assert!(own.len() < others.len() && others.starts_with(&own));
    let stops: Vec<_> = simulation
        .notes()
        .iter()
        .filter(|note| matches!(note.event, Seen::Stopped(_)))
        .map(|note| note.seat)
        .collect();
    assert_eq!(stops, [Seat::new(3)], "once, and nobody else");
    let kept = simulation.records(Seat::new(3)).iter().any(|record| {
        matches!(record, Kept::Pipeline(Record::Diverged(evidence))
            if evidence.computed.is_some_and(|roots| roots.digest() != evidence.certified.digest))
    });
    assert!(kept, "with the evidence on its disk");
}

/// A party dies again and again. It never votes for two states of a slot, and it ends with the others' chain.
#[test]
fn after_a_crash_the_same_vote_leaves() {
    let mut simulation = town(Switches::ON, ms(15), &[]);
    // The first time between its vote for a state and the order of the block.
    for at in [50, 131, 190, 260] {
        simulation.crash(Seat::new(2), Instant::at(ms(at))).unwrap();
        simulation.restart(Seat::new(2), Instant::at(ms(at + 1)), SimDisk::Kept).unwrap();
    }
    simulation.run(Instant::at(Duration::from_secs(4)));
    audit(&simulation, &[0, 1, 3]);
    let mut votes: BTreeMap<BlockId, Roots> = BTreeMap::new();
    let mut repeated = 0;
    for note in simulation.notes().iter().filter(|note| note.seat == Seat::new(2)) {
        let Seen::Vote(Vote { claim, .. }) = &note.event else { continue };
        if let Some(before) = votes.insert(claim.block, claim.roots) {
            assert_eq!(before, claim.roots);
            repeated += 1;
        }
    }
    assert!(repeated > 0, "some vote came again");
}

/// Straight at the channel: the root comes after the party has given up the view, so nothing leaves until
/// the slot is final.
#[test]
fn a_root_that_comes_after_the_timeout_does_not_release_the_vote() {
    let slot = Slot::new(1);
    let block = BlockId::new([5; 32]);
    let value = Value::new(block.to_bytes());
    let view = View::new(slot, 0);
    let roots = Roots { state: [1; 32], receipts: [2; 32] };
    let claim = StateClaim { height: Height::new(1), block, roots };
    let vote = Vote { slot, claim, view: Some(view) };
    for gives_up in [false, true] {
        let mut channel = channel(Party::new(0), Life::First, &[]);
        let mut step = |input| {
            channel.handle(Instant::START, input);
            let sent = std::iter::from_fn(|| channel.poll())
                .filter(|output| matches!(output, Output::Do(stack::Effect::Send { .. })));
            sent.count()
        };
        let early = Event::Prefinalized { slot, view, value };
        assert_eq!(step(stack::Input::All(early)), 0, "there is no root to sign");
        if gives_up {
            step(stack::Input::All(Event::Abandoned { view }));
        }
        let sent: usize = inputs_of(&vote)
            .into_iter()
            .map(|input| step(stack::Input::Of(OneOf::First(input))))
            .sum();
        assert_eq!(sent, usize::from(!gives_up));
        let last = step(stack::Input::All(Event::Finalized { slot, value: Some(value) }));
        assert_eq!(last, usize::from(gives_up), "rule 6");
    }
}
