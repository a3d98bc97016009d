//! The host when it hears of slots whose blocks it is given later, as where the order is repeated from another journal.
use prefinal_protocol::Slot;
use prefinal_validator::application::Input;

use crate::execution::Seat;
use crate::sum::{READS, add};

#[test]
fn values_and_certificates_before_their_blocks_are_not_lost() {
    let mut seat = Seat::new();
    seat.order(2, &[]);
    seat.begin();
    let sum = (3..=5).fold(0, |sum, slot| {
        let sum = add(add(sum, 1), 3);
        seat.give(Input::Value { slot: Slot::new(slot), value: [3; 32] });
        seat.certify(slot, sum);
        sum
    });
    assert_eq!(seat.took(), [], "there is nothing to execute yet");
    for slot in 3..=5 {
        seat.order(slot, &[1, READS + 1]);
        assert_eq!(seat.committed(), slot - 2);
    }
    // They are on record like any others: the next process comes to the same.
    let mut next = seat.restart();
    next.begin();
    assert_eq!(next.committed(), 3);
    next.order(6, &[1]);
    next.certify(6, add(sum, 1));
    assert_eq!(next.committed(), 4);
}

#[test]
fn only_so_many_slots_ahead_are_kept_and_the_next_ones_first() {
    let mut seat = Seat::new();
    seat.order(2, &[]);
    seat.begin();
    // More than there is room for, the farthest first.
    for slot in (3..=5000).rev() {
        seat.give(Input::Value { slot: Slot::new(slot), value: [3; 32] });
    }
    let reader = READS + 1;
    seat.order(3, &[1, reader]);
    seat.certify(3, add(add(0, 1), 3));
    assert_eq!(seat.committed(), 1);
    // The farthest slot had no room. It waits until it is told again.
    seat.order(5000, &[1, reader]);
    let sum = add(add(add(add(0, 1), 3), 1), 3);
    seat.certify(5000, sum);
    assert_eq!(seat.committed(), 1);
    seat.give(Input::Value { slot: Slot::new(5000), value: [3; 32] });
    assert_eq!(seat.committed(), 2);
}
