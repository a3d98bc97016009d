//! A devnet without an end keeps a bounded amount, however long it runs.
//!
//! A separate binary, for its allocator counts. What is compared is bytes that are allocated and not
//! freed, at moments that slots give and no clock; the least of many moments, for messages under way come
//! and go.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;

use peak_alloc::PeakAlloc;
use prefinal_jolteon::Jolteon;
use prefinal_node::devnet::soak;
use prefinal_registry::scheme::Bls;
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Moments of which the least counts.
const WINDOW: u64 = 200;

/// Bytes that are held around each of these slots, also told one by one.
fn held_at(slots: &[u64], mut tell: impl FnMut(u64, usize)) -> Vec<usize> {
    let plan = Plan::new(vec![Stake::new(1); 4], Algorithm::Tight, Ratio::ONE);
    let plan = plan.expect("four parties are a committee");
    let mut least = vec![usize::MAX; slots.len()];
    let last = slots.last().copied().unwrap_or(0);
    let watch = |slot: u64| {
        for (at, least) in slots.iter().zip(&mut least) {
            if (at.saturating_sub(WINDOW)..=*at).contains(&slot) {
                *least = HEAP.current_usage().min(*least);
            }
            if slot == *at {
                tell(slot, *least);
            }
        }
        if slot < last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let run = runtime.block_on(soak::run::<Bls, Jolteon>(&plan, watch));
    runtime.shutdown_background();
    run.expect("a run without faults");
    least
}

/// All tails are full by slot 1200, and served rounds have their memory from the start, so a slot adds nothing.
/// What differs is what is under way, some 50 kB; a map of decoded rounds would add 250 kB.
#[test]
fn what_a_devnet_keeps_does_not_grow_with_its_slots() {
    let [once, twice] = held_at(&[1400, 2200], |_, _| {})[..] else { unreachable!() };
    let grown = twice.saturating_sub(once);
    assert!(grown < 800 * 100, "{once} bytes after 1400 slots, {twice} after 2200");
}

/// For a figure: `cargo test --release -p prefinal-node --test memory -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn twenty_thousand_slots() {
    let slots: Vec<u64> = (1..=20).map(|thousand| thousand * 1000).collect();
    held_at(&slots, |slot, bytes| println!("{slot:>6} slots: {bytes:>9} bytes held"));
}
