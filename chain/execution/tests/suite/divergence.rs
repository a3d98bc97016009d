//! A node whose state is not the certified one stops, with both roots.
use prefinal_execution::{
    Config, Delivery, Effect, Input, Role, Roots, StartError, Stop, Switches,
};

use crate::bench::{Bench, all_switches, certificate, certified, prefinalized, validator};
use crate::ledger::{GENESIS, Ledger, block, computed, id, pay};

/// Whether the certificate comes first or the execution, the node stops, commits nothing, and does not
/// start again.
#[test]
fn another_certified_root_stops_the_node_with_both_roots() {
    for switches in all_switches() {
        for certificate_first in [false, true] {
            let paid = block(1, GENESIS, 1, vec![pay(1, 5)]);
            let right = computed(&[(&paid, None)]);
            let mut bench =
                Bench::with(validator(switches), Ledger { fault: 1, ..Ledger::default() });
            bench.hold(Input::Proposed(paid.clone()));
            bench.hold(Input::Ordered(paid.clone()));
            if !certificate_first {
                while bench.work() {}
            }
            bench.give(certified(&paid, right));
            while bench.work() {}
            let Some(Stop::Diverged(evidence)) = bench.stop() else { panic!("{switches:?}") };
            let computed = evidence.computed.unwrap();
            assert_eq!(evidence.certified.digest, right.digest());
            assert_ne!(computed, right);
            assert_eq!((evidence.block, &evidence.certified.certificate), (id(1), &vec![0, 1, 2]));
            assert!(bench.committed().is_empty());
            assert!(bench.disk.content().chain.is_empty());

            // Nothing moves it any more.
            let said = bench.said.len();
            bench.give(Input::Ordered(block(2, id(1), 2, vec![])));
            bench.give(certified(&paid, computed));
            assert_eq!(bench.said.len(), said);
            let height = paid.header.height;
            assert_eq!(bench.would_start(), Err(StartError::Diverged { height }));
        }
    }
}

#[test]
fn a_certificate_on_another_block_than_the_ordered_one_stops_the_node() {
    let [one, other] = [1, 2].map(|name| block(name, GENESIS, 1, vec![pay(name, 5)]));
    for certificate_first in [false, true] {
        let mut bench = Bench::new(validator(Switches::ON));
        let mut inputs =
            [Input::Ordered(one.clone()), certified(&other, computed(&[(&other, None)]))];
        if certificate_first {
            inputs.reverse();
        }
        for input in inputs {
            assert!(bench.stop().is_none());
            bench.give(input);
        }
        let Some(Stop::Diverged(evidence)) = bench.stop() else { panic!("it goes on") };
        // If the certificate is first, the node stops before it executes.
        let own = (!certificate_first).then(|| computed(&[(&one, None)]));
        assert_eq!((evidence.block, evidence.computed), (id(1), own));
        assert_eq!(evidence.certified.block, id(2));
    }
}

#[test]
fn two_certificates_of_one_height_stop_the_node() {
    let paid = block(1, GENESIS, 1, vec![pay(1, 5)]);
    let mut bench = Bench::new(validator(Switches::ON));
    let roots = computed(&[(&paid, None)]);
    bench.give(certified(&paid, roots));
    bench.give(certified(&paid, roots));
    assert!(bench.stop().is_none(), "the same one may come twice, of other signers");
    bench.give(certified(&paid, Roots { state: [1; 32], receipts: [2; 32] }));
    assert!(matches!(bench.stop(), Some(Stop::Diverged(_))));
}

#[test]
fn a_full_node_stops_as_well() {
    let config = Config { role: Role::FullNode, ..validator(Switches::ON) };
    let paid = block(1, GENESIS, 1, vec![pay(1, 5)]);
    let right = computed(&[(&paid, None)]);
    let delivery = || {
        let certified = certificate(paid.header.height, id(1), right);
        Input::Delivered(Box::new(Delivery { block: paid.clone(), value: None, certified }))
    };
    let mut bench = Bench::with(config, Ledger { fault: 1, ..Ledger::default() });
    bench.give(delivery());
    assert!(matches!(bench.stop(), Some(Stop::Diverged(_))));
    let mut bench = Bench::new(config);
    bench.give(delivery());
    assert_eq!(bench.committed().len(), 1);
    assert!(bench.votes().is_empty(), "full nodes do not vote");
    assert!(!bench.said.iter().any(|said| matches!(said, Effect::Deliver(_))));
}

/// An executor that gives another result after a restart: the vote of before stands, so the node stops.
#[test]
fn executing_again_with_another_result_stops_the_node() {
    let paid = block(1, GENESIS, 1, vec![pay(1, 5)]);
    let mut bench = Bench::new(validator(Switches { opt_commit: false, ..Switches::ON }));
    bench.give(Input::Proposed(paid.clone()));
    bench.give(prefinalized(&paid));
    assert_eq!(bench.votes().len(), 1);
    bench.ledger.fault = 1;
    let mut bench = bench.restart();
    bench.give(Input::Ordered(paid));
    assert!(bench.votes().is_empty());
    assert!(matches!(bench.stop(), Some(Stop::OtherResult { .. })));
}
