//! One engine that goes on behind a block that others have shown, far ahead of what it has.
use super::bench::{Bench, FOUR, finalized, order_votes, prefinalized, votes};
use super::{at, round};
use crate::block::Block;
use crate::message::{Message, Response};

/// It votes in round 1, gives up round 2, and comes back when round 40 is final.
fn back() -> (Bench, Vec<(Block, crate::QuorumCertificate)>) {
    let mut bench = Bench::new(&FOUR);
    let (genesis, chain) = (bench.forger.genesis(), bench.chain(50));
    let (first, qc) = &chain[0];
    let outputs = bench.receive(1, bench.forger.proposal(first, &genesis, None));
    assert_eq!(votes(&outputs), [(1, bench.forger.id(first))]);
    bench.status(qc);
    bench.time_out();
    let (back, outputs) = bench.adopt(&FOUR, &chain[39].0);
    assert_eq!((votes(&outputs), order_votes(&outputs), finalized(&outputs)), Default::default());
    assert_eq!(back.engine.finalized(), round(40));
    assert_eq!(back.engine.safety(), bench.engine.safety(), "no promise is taken back");
    (back, chain)
}

#[test]
fn behind_an_adopted_block_every_promise_is_kept() {
    let (mut bench, chain) = back();
    // Another block in the round that it voted in, as well justified as the first.
    let genesis = bench.forger.genesis();
    let other = bench.forger.block(1, &genesis, &[b"other"]);
    let outputs = bench.receive(1, bench.forger.proposal(&other, &genesis, None));
    assert_eq!(votes(&outputs), []);
    // A certificate of the round that it gave up: the order vote would make the block final.
    let outputs = bench.status(&chain[1].1);
    assert_eq!((order_votes(&outputs), prefinalized(&outputs)), Default::default());
    // In later rounds it votes like everybody.
    let outputs = bench.status(&chain[48].1);
    assert_eq!(order_votes(&outputs), [49]);
    let (block, qc) = (&chain[49].0, &chain[48].1);
    if bench.forger.leader(50) != 0 {
        let outputs = bench.receive(block.author().get(), bench.forger.proposal(block, qc, None));
        assert_eq!(votes(&outputs), [(50, bench.forger.id(block))]);
    }
}

#[test]
fn only_blocks_behind_the_adopted_one_are_fetched_and_reported() {
    let (mut bench, chain) = back();
    bench.status(&chain[48].1);
    bench.now = at(10_000);
    let asked = bench.input(crate::Input::Tick);
    let above = asked.iter().find_map(|output| match output {
        crate::Output::Do(crate::Effect::Send { message: Message::Request(request), .. }) => {
            Some((request.block, request.above))
        }
        _ => None,
    });
    assert_eq!(above, Some((bench.forger.id(&chain[48].0), round(40))));
    let blocks = chain[40..49].iter().rev().map(|(block, _)| block.clone()).collect();
    let outputs = bench.receive(2, Message::Response(Response { blocks }));
    // The last one has no child yet.
    assert_eq!(finalized(&outputs), (41..49).map(|round| (round, true)).collect::<Vec<_>>());
}
