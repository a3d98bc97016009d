//! The jobs of one slot of a beacon among the 129 validators of a stake table, in one party's processor
//! time.
//!
//! | row     | what happens                                               | limit                        |
//! |---------|------------------------------------------------------------|------------------------------|
//! | receive | a partial's bytes are decoded and taken in                 | its points decoded           |
//! | output  | the last partial that is needed comes in, until the output | sums and pairings of one value, though most is done ahead |
//! | combine | partials at once, none of them checked before              | the same                     |
//!
//! The table's standard profile: 162 shares, of which 96 rebuild on the slow path. Whole slots: `flows`.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::cell::RefCell;
use std::collections::BTreeMap;

use prefinal_beacon::{Binding, Bls, Path, Paths, Slot, Wvuf};
use prefinal_bench::fixture::{context, weights};
use prefinal_bench::slots::{DealtScheme, ME, PathFixture, RunningBeacon, combine_limit};
use prefinal_bench::suite::Suite;
use prefinal_crypto_core::access::Party;

const TOTAL: u32 = 162;
const SLOW: u32 = 96;

fn main() {
    let mut suite = Suite::new("micro", "beacon");
    scheme::<Bls>(&mut suite, "bls");
    scheme::<Wvuf>(&mut suite, "wvuf");
    suite.finish();
}

fn scheme<S: DealtScheme>(suite: &mut Suite, name: &str) {
    let label = format!("{name} n=129 W={TOTAL}");
    let (slow, sharing) = PathFixture::<S>::deal(Path::Slow, &weights(TOTAL), SLOW);
    let running = RunningBeacon::new(Paths::Slow(sharing), &weights(TOTAL));
    receive(suite, &label, (&slow, &running));
    output(suite, &label, (&slow, &running));
}

/// A slot that is final, and one partial more, not the last.
fn receive<S: DealtScheme>(
    suite: &mut Suite,
    label: &str,
    (side, running): (&PathFixture<S>, &RefCell<RunningBeacon<S>>),
) {
    let access = &side.access;
    let light = access.parties().find(|party| *party != ME && access.weight(*party) == 1).unwrap();
    let ours = suite.measure_each(
        &format!("prefinal_beacon::receive/{label}"),
        || {
            let mut running = running.borrow_mut();
            let slot = running.next(side);
            running.finalize();
            side.message(light, slot)
        },
        |envelope| running.borrow_mut().receive(envelope),
    );
    let (count, decode) = S::decoding(suite, 1);
    suite.row(&ours, &[(count, &decode)], None);
}

/// The last partial that is needed.
fn output<S: DealtScheme>(
    suite: &mut Suite,
    label: &str,
    (side, running): (&PathFixture<S>, &RefCell<RunningBeacon<S>>),
) {
    let needed = side.needed();
    let (last, before) = needed.split_last().unwrap();
    let ours = suite.measure_each(
        &format!("prefinal_beacon::output/{label}"),
        || {
            let mut running = running.borrow_mut();
            let slot = running.next(side);
            running.finalize();
            for party in before {
                assert!(!running.receive(side.message(*party, slot)));
            }
            side.message(*last, slot)
        },
        |last| assert!(running.borrow_mut().receive(last)),
    );
    let slot = Slot::new(1);
    let input = S::input(&context(), Binding::Slot, slot, None).unwrap();
    let mut partials: BTreeMap<Party, S::Partial> =
        needed.iter().map(|party| (*party, side.partial(*party, slot))).collect();
    let (_, secrets) = S::deal(&weights(TOTAL), side.t);
    partials.insert(ME, S::evaluate(&secrets[&ME], &input).unwrap());
    let alone = suite.measure(&format!("prefinal_beacon::combine/{label}"), || {
        S::combine(&side.committee, &input, &partials).unwrap()
    });
    let limit = combine_limit(suite, side);
    let limit: Vec<_> = limit.iter().map(|(times, id)| (*times, id.as_str())).collect();
    suite.row(&ours, &limit, None);
    suite.row(&alone, &limit, None);
}
