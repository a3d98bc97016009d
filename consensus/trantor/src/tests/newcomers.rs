//! Replicas that sleep through changes of the committee and go on, and parties that join later.

use prefinal_crypto_core::access::Party;
use prefinal_protocol::Slot;

use super::bench::{FOUR, Forger, ms, value, view};
use super::histories::{
    LAST, NEXT, ahead, certified_in, change, checkpoint, committee, learned_from,
    no_configurations, offer, questions, tell,
};
use super::replicas::configure;
use super::service::{Net, order_faults, seats, settings};
use crate::certificate::Stage;
use crate::message::Message;
use crate::replica::message::{CheckpointVote, ReplicaMessage, tag_of};
use crate::replica::{ReplicaInput, Settings};

/// Stakes of all parties that are known to a replica's present committee.
fn stakes(net: &Net, party: u32) -> Vec<u128> {
    let committee = net.nodes[&party].ordering().committee();
    let parties = (0_u32..).map(Party::new).take(committee.size());
    parties.map(|party| committee.stake(party)).collect()
}

/// The replicas that are up go through these committees, each of which is in force for an epoch at least.
fn go_through(net: &mut Net, plans: &[&[u128]]) {
    for (number, plan) in (0..).zip(plans) {
        configure(net, number, plan);
        net.run("it is in force", |net| net.nodes.keys().all(|party| stakes(net, *party) == *plan));
    }
    net.run_to_epoch(net.epochs()[0] + 2);
}

fn offset(config_offset: u64, settings: Settings) -> Settings {
    Settings { config_offset, ..settings }
}

#[test]
fn a_replica_sleeps_through_changes_of_the_committee_and_goes_on() {
    for config_offset in [1, 2] {
        let mut net = Net::new(4);
        let start = || offset(config_offset, settings(&FOUR));
        (0..4).for_each(|party| net.up(party, start()));
        net.run_to_epoch(1);
        net.down(3);
        let plans: [&[u128]; 3] = [&NEXT, &LAST, &[2, 2, 2, 1]];
        go_through(&mut net, &plans);
        net.up(3, start());
        net.run("it has the state", |net| net.restored(3) > 0);
        net.run_to_epoch(net.epochs()[0] + 1);
        assert_eq!(stakes(&net, 3), plans[2]);
        // It is needed now.
        net.down(0);
        net.run_to_epoch(net.epochs()[0] + 2);
        assert_eq!(net.nodes[&3].app(), net.nodes[&1].app());
        assert_eq!((net.faults(), order_faults(&net)), (vec![], vec![]));
        // It can tell others.
        let history = net.nodes[&1].history.changes();
        assert_eq!((history.len(), net.nodes[&3].history.changes()), (3, history));
        assert_eq!(ahead(&net), [], "all are seated or long ago");
    }
}

#[test]
fn a_party_that_joins_with_the_second_of_four_configurations_goes_on() {
    for (config_offset, retained_epochs) in [(1, 99), (2, 1)] {
        let mut net = Net::new(5);
        let start = |stakes: &[u128]| Settings {
            retained_epochs,
            ..offset(config_offset, settings(stakes))
        };
        (0..4).for_each(|party| net.up(party, start(&FOUR)));
        let plans: [&[u128]; 3] = [&[1, 1, 1, 1, 0], &[2, 1, 1, 1, 0], &[1, 1, 1, 1, 1]];
        go_through(&mut net, &plans);
        net.join(4, start(plans[0]));
        net.run("it has the state", |net| net.restored(4) > 0);
        net.run_to_epoch(net.epochs()[0] + 1);
        // It is needed now: four of five.
        net.down(0);
        net.run_to_epoch(net.epochs()[0] + 2);
        assert_eq!((net.nodes[&4].app(), stakes(&net, 4)), (net.nodes[&1].app(), plans[2].into()));
        assert_eq!((net.faults(), order_faults(&net)), (vec![], vec![]));
        // And it does not join again.
        net.down(4);
        net.join(4, start(plans[0]));
        net.run_to_epoch(net.epochs()[0] + 1);
        assert_eq!(net.restored(4), 1);
    }
}

#[test]
fn a_newcomer_takes_part_in_nothing_and_asks_one_member_after_the_other() {
    let mut net = Net::new(4);
    net.join(3, settings(&[1, 1, 0, 1]));
    let forger = Forger::new(&[1, 1, 0, 1]);
    let own = tag_of(&committee(&[1, 1, 0, 1]));
    let mut asked = Vec::new();
    for _ in 0..8 {
        for from in 0..3 {
            let statement = no_configurations(1);
            let checkpoint = CheckpointVote { statement, vote: vec![1] };
            for committee in [own, [9; 8]] {
                let vote = forger.vote(Stage::Prepare, from, view(1, 0), value(1));
                let request = Message::Request(Slot::new(1));
                for message in [vote, request, Message::Progress(Slot::new(99))] {
                    let message = Box::new(message);
                    tell(&mut net, from, ReplicaMessage::Order { committee, message });
                }
                tell(&mut net, from, ReplicaMessage::ChangesRequest { committee });
            }
            tell(&mut net, from, ReplicaMessage::Vote(Box::new(checkpoint)));
            tell(&mut net, from, ReplicaMessage::PieceRequest { epoch: 1, first: 0, count: 1 });
        }
        asked.push(net.take_sent());
        net.pass(ms(500));
        net.input(3, ReplicaInput::Tick);
    }
    let seek = |to| vec![(to, ReplicaMessage::CheckpointRequest { epoch: 0 })];
    // Those with stake are 0, 1 and itself; the others take turns with them.
    let turns = [seek(0), seek(0), seek(1), seek(1), vec![], seek(2), seek(0), vec![]];
    assert_eq!(asked, turns);
    assert_eq!((net.faults(), order_faults(&net)), (vec![], vec![]));
}

#[test]
fn a_newcomer_accuses_nobody_of_what_another_committee_has_signed() {
    let mut net = Net::new(4);
    net.join(3, settings(&NEXT));
    for epoch in 1..4 {
        offer(&mut net, 1, &checkpoint(epoch, &FOUR));
        net.pass(ms(500));
    }
    assert_eq!(net.faults(), []);
    // Its own committee lies in the middle of the chain, whatever the number of the epoch is.
    offer(&mut net, 1, &checkpoint(12, &LAST));
    assert_eq!(questions(&mut net, 1).last(), Some(&tag_of(&committee(&NEXT))));
    let chain = vec![change(5, &FOUR, &NEXT), change(9, &NEXT, &LAST)];
    tell(&mut net, 1, ReplicaMessage::Changes(chain));
    assert_eq!(ahead(&net), [9, 10]);
    assert!(net.nodes[&3].transfer.is_some());
    // It is a newcomer after a crash as well, until it has the state.
    net.down(3);
    net.join(3, settings(&NEXT));
    assert_eq!(ahead(&net), [9, 10]);
    offer(&mut net, 1, &checkpoint(2, &FOUR));
    assert_eq!(net.faults(), []);
}

#[test]
fn a_committee_that_is_in_force_for_one_epoch_signs_the_change_to_the_next_one() {
    let one = certified_in([(5, seats(&NEXT)), (6, seats(&LAST))].into(), 5, &FOUR);
    let chain = vec![one, change(6, &NEXT, &LAST)];
    assert_eq!(learned_from(chain.clone()), [5, 6, 7]);
    let mut net = Net::new(4);
    net.join(3, settings(&NEXT));
    offer(&mut net, 1, &checkpoint(12, &LAST));
    tell(&mut net, 1, ReplicaMessage::Changes(chain));
    assert_eq!(ahead(&net), [6, 7]);
}
