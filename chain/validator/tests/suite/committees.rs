//! The host of the pipeline while the committee changes: who certifies which slot, and which block announces it.
use std::sync::{Arc, LazyLock};

use prefinal_crypto_core::context::EpochId;
use prefinal_engine::Block;
use prefinal_protocol::Slot;
use prefinal_validator::application::{Input, Judged};
use prefinal_validator::setup::Setup;
use prefinal_validator::transaction::dealing;
use prefinal_weighted_rounding::Stake;

use crate::execution::{FIRST, ONE, SETUP, Said, Seat, WORLD, block, name, signs_in};
use crate::sum::{READS, add};

const NEXT: EpochId = EpochId::new(1);

/// Another committee of the same parties.
static LATER: LazyLock<Arc<Setup>> = LazyLock::new(|| {
    let plan = SETUP.plan([3, 1, 1, 1].map(Stake::new).to_vec()).unwrap();
    let keys: Vec<_> = WORLD.1.iter().map(|one| one.register(NEXT)).collect();
    Arc::new(SETUP.next(&plan, &keys).unwrap())
});

/// The first slot of the later committee, if the block of this slot makes its keys suffice.
fn behind(slot: u64) -> u64 {
    slot + SETUP.lead
}

/// A block of one addend, with a dealing for the later committee.
fn dealt(slot: u64, addend: u8) -> Block {
    let mut block = block(slot, &[addend]);
    block.transactions.push(dealing(NEXT, &[0; 4]).into());
    block
}

/// What such a block carries, as the tests' executor counts it.
const DEALING: u8 = 13;

fn judge(seat: &mut Seat, undecided: u64, limit: u64) {
    let (undecided, limit) = (Slot::new(undecided), Slot::new(limit));
    seat.give(Input::Judged(Judged { undecided, limit }));
}

fn follow(seat: &mut Seat, first: u64) {
    seat.give(Input::Follows { setup: Arc::clone(&LATER), first: Slot::new(first) });
}

fn order(seat: &mut Seat, block: Block, slot: u64) {
    seat.give(Input::Ordered { slot: Slot::new(slot), block });
}

/// All slots before the first are final, and a committee may follow from this block on.
fn begun() -> Seat {
    let mut seat = Seat::new_unjudged();
    seat.order(2, &[]);
    judge(&mut seat, 4, behind(4));
    seat.begin();
    seat
}

fn executed(said: &[Said]) -> usize {
    said.iter().filter(|one| matches!(one, Said::Executed(_))).count()
}

#[test]
fn a_block_with_a_dealing_waits_until_it_is_judged_and_those_behind_it_wait_too() {
    let mut seat = begun();
    seat.propose(3, &[5]);
    let (slot, parent) = (Slot::new(4), Some(name(3)));
    seat.give(Input::Proposed { slot, parent, block: dealt(4, 1) });
    seat.propose(5, &[1]);
    for slot in 3..=5 {
        seat.prefinalize(slot);
    }
    assert_eq!(seat.took(), [Said::Executed(ONE), signs_in(&SETUP, 3, 5)], "only the first");
    seat.order(3, &[5]);
    order(&mut seat, dealt(4, 1), 4);
    seat.order(5, &[1]);
    assert_eq!(seat.took(), [Said::Ordered(vec![5])]);
    // Nothing was decided.
    judge(&mut seat, 5, behind(5));
    let said = seat.took();
    assert_eq!(executed(&said), 2);
    assert!(said.contains(&Said::Ordered(vec![1, DEALING])), "{said:?}");
    let sum = add(add(5, 1), DEALING);
    assert!(said.contains(&signs_in(&SETUP, 4, sum)), "{said:?}");
    assert!(said.contains(&signs_in(&SETUP, 5, add(sum, 1))), "{said:?}");
}

#[test]
fn the_block_that_decides_announces_the_committee_and_no_other_one_does() {
    let mut seat = begun();
    seat.order(3, &[5]);
    order(&mut seat, dealt(4, 1), 4);
    seat.order(6, &[1]);
    seat.took();
    follow(&mut seat, behind(4));
    let announced = [1, u8::try_from(behind(4)).unwrap()];
    let [one, two] = announced;
    let said = seat.took();
    assert!(said.contains(&Said::Ordered(vec![1, DEALING, one, two])), "{said:?}");
    assert!(said.contains(&Said::Ordered(vec![1])), "{said:?}");
    let sum = [1, DEALING, one, two].into_iter().fold(5, add);
    assert!(said.contains(&signs_in(&SETUP, 4, sum)), "{said:?}");
    assert!(said.contains(&signs_in(&SETUP, 6, add(sum, 1))), "{said:?}");
}

#[test]
fn the_value_of_a_slot_may_come_before_its_block_is_judged() {
    let mut seat = begun();
    seat.order(3, &[5]);
    order(&mut seat, dealt(4, READS), 4);
    seat.give(Input::Value { slot: Slot::new(4), value: [3; 32] });
    seat.took();
    judge(&mut seat, 5, behind(5));
    let said = seat.took();
    assert!(said.contains(&signs_in(&SETUP, 4, add(add(5, 3), DEALING))), "{said:?}");
}

#[test]
fn the_first_block_announces_what_was_decided_before_it() {
    for decided in [2, 3] {
        let mut seat = Seat::new_unjudged();
        seat.order(2, &[]);
        judge(&mut seat, decided, behind(decided));
        seat.begin();
        seat.propose(3, &[5]);
        seat.order(3, &[5]);
        seat.propose(4, &[1]);
        assert_eq!(seat.took(), [], "it has no dealing, and waits all the same");
        follow(&mut seat, behind(decided));
        let said = seat.took();
        let announced = vec![5, 1, u8::try_from(behind(decided)).unwrap()];
        assert!(said.contains(&Said::Ordered(announced)), "{said:?}");
    }
}

fn signs(said: &[Said], epoch: u64) -> usize {
    let of = |one: &&Said| matches!(one, Said::Signs(of, _) if of.get() == epoch);
    said.iter().filter(of).count()
}

#[test]
fn each_slot_is_signed_in_the_channel_of_its_committee_once_that_has_begun() {
    let first = behind(4);
    // The channel of the next epoch has not begun, and whose slot it is was not judged. Either may come first.
    let come = |seat: &mut Seat, begins: bool| match begins {
        true => seat.give(Input::Began { epoch: NEXT, first: Slot::new(first) }),
        false => judge(seat, first + 2, behind(first + 2)),
    };
    for begins in [false, true] {
        let mut seat = begun();
        seat.order(3, &[5]);
        order(&mut seat, dealt(4, 1), 4);
        follow(&mut seat, first);
        seat.took();
        seat.order(first - 1, &[1]);
        seat.order(first, &[1]);
        let said = seat.took();
        assert_eq!((executed(&said), signs(&said, 0), signs(&said, 1)), (2, 1, 0));
        come(&mut seat, begins);
        assert_eq!(signs(&seat.took(), 1), 0);
        come(&mut seat, !begins);
        assert_eq!(signs(&seat.took(), 1), 1);
        seat.order(first + 1, &[1]);
        let said = seat.took();
        assert_eq!((signs(&said, 1), signs(&said, 0)), (1, 0));
    }
}

#[test]
fn a_restarted_party_signs_nothing_before_it_knows_again_whose_slots_they_are() {
    let mut seat = begun();
    seat.order(3, &[5]);
    order(&mut seat, dealt(4, 1), 4);
    let first = behind(4);
    follow(&mut seat, first);
    seat.give(Input::Began { epoch: NEXT, first: Slot::new(first) });
    judge(&mut seat, first + 2, behind(first + 2));
    seat.order(first, &[1]);
    let before = seat.took();
    let mut seat = seat.restart_unjudged();
    seat.begin();
    assert_eq!(seat.took(), [], "what block 3 announces is not known again");
    judge(&mut seat, 4, behind(4));
    let said = seat.took();
    assert_eq!(said, [Said::Ordered(vec![5]), Said::Executed(ONE), signs_in(&SETUP, 3, 5)]);
    follow(&mut seat, first);
    seat.give(Input::Began { epoch: NEXT, first: Slot::new(first) });
    judge(&mut seat, first + 2, behind(first + 2));
    let after = seat.took();
    let signed = |said: &[Said]| -> Vec<String> {
        let signs =
            said.iter().filter(|one| matches!(one, Said::Signs(epoch, _) if *epoch == NEXT));
        signs.map(|one| format!("{one:?}")).collect()
    };
    assert_eq!(signed(&before), signed(&after));
    assert_eq!(signed(&after).len(), 1);
    assert_eq!(FIRST, Slot::new(3));
}
