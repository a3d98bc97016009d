//! Whole flows, in one party's processor time.
//!
//! | row          | what happens                                                           | limit |
//! |--------------|------------------------------------------------------------------------|-------|
//! | keygen::group | a dealing of one's own, 87 dealings judged and added up, shares opened, all blinded keys admitted: until the weighted VUF can begin | the same sums and pairings, fixed by the inputs |
//! | keygen::field | the same with field elements, until threshold BLS can begin            | the same |
//! | slot::slow   | own partial, those of all others, the output                            | one partial, all points read, the sums and pairings of one value |
//! | slot::both   | fast partials before finality, slow partials after the output           | the same, with the points of both paths |
//!
//! 129 validators of a stake table under its standard profile, 162 shares of which 96 rebuild on the slow
//! path and 124 on the fast one; and 1000 parties with one share each, 667 of which rebuild.
#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::sync::Arc;

use prefinal_beacon::{Bls, Path, Paths, Slot, Wvuf};
use prefinal_bench::fixture::{Dealers, weights};
use prefinal_bench::keygen::Rehearsal;
use prefinal_bench::limit;
use prefinal_bench::slots::{DealtScheme, PathFixture, RunningBeacon, slot_limit};
use prefinal_bench::suite::Suite;
use prefinal_pvss_dkg::protocol::Collect;
use prefinal_pvss_dkg::{Dealing, Dkg, field};

const TOTAL: u32 = 162;
const SLOW: u32 = 96;
const FAST: u32 = 124;
/// More than two thirds of them make a key.
const DEALERS: u32 = 87;

fn main() {
    let mut suite = Suite::new("flows", "flows");
    let validators = weights(TOTAL);
    slot::<Bls>(&mut suite, "bls n=129 W=162", (&validators, SLOW));
    slot::<Wvuf>(&mut suite, "wvuf n=129 W=162", (&validators, SLOW));
    both_paths::<Bls>(&mut suite, "bls n=129 W=162");
    both_paths::<Wvuf>(&mut suite, "wvuf n=129 W=162");
    if !suite.is_quick() {
        slot::<Bls>(&mut suite, "bls n=1000 W=1000", (&[1; 1000], 667));
        slot::<Wvuf>(&mut suite, "wvuf n=1000 W=1000", (&[1; 1000], 667));
    }
    keygen(&mut suite);
    suite.finish();
}

type Limit = Vec<(f64, String)>;

fn row(suite: &mut Suite, ours: &str, limit: &Limit) {
    let limit: Vec<_> = limit.iter().map(|(times, id)| (*times, id.as_str())).collect();
    suite.row(ours, &limit, None);
}

fn slot<S: DealtScheme>(suite: &mut Suite, label: &str, (weights, t): (&[u32], u32)) {
    let id = format!("slot::slow/{label}");
    if !suite.is_asked(&id) {
        return;
    }
    let (slow, sharing) = PathFixture::<S>::deal(Path::Slow, weights, t);
    let running = RunningBeacon::new(Paths::Slow(sharing), weights);
    let ours = suite.measure_each(
        &id,
        || {
            let slot = running.borrow_mut().next(&slow);
            slow.all(slot)
        },
        |envelopes| {
            let mut running = running.borrow_mut();
            running.finalize();
            running.take(envelopes);
        },
    );
    let limit = slot_limit(suite, &slow);
    row(suite, &ours, &limit);
}

/// Algorithm 3. The value comes from the fast path.
fn both_paths<S: DealtScheme>(suite: &mut Suite, label: &str) {
    let id = format!("slot::both/{label}");
    if !suite.is_asked(&id) {
        return;
    }
    let weights = weights(TOTAL);
    let (slow, for_slow) = PathFixture::<S>::deal(Path::Slow, &weights, SLOW);
    let (fast, for_fast) = PathFixture::<S>::deal(Path::Fast, &weights, FAST);
    let paths = Paths::FastAndSlow { slow: for_slow, fast: for_fast, fast_from: Slot::new(0) };
    let running = RunningBeacon::new(paths, &weights);
    let ours = suite.measure_each(
        &id,
        || {
            let slot = running.borrow_mut().next(&slow);
            (fast.all(slot), slow.all(slot))
        },
        |(early, late)| {
            let mut running = running.borrow_mut();
            running.prefinalize();
            for envelope in early {
                running.receive(envelope);
            }
            running.finalize();
            running.take(late);
        },
    );
    let mut limit = slot_limit(suite, &fast);
    limit.push(S::signing(suite, slow.access.weight(prefinal_bench::slots::ME)));
    for party in slow.others.keys() {
        limit.push(S::decoding(suite, slow.access.weight(*party)));
    }
    row(suite, &ours, &limit);
}

fn keygen(suite: &mut Suite) {
    let label = "n=129 W=162 paths=2 dealers=87";
    let id = format!("keygen::group/{label}");
    if suite.is_asked(&id) {
        let rehearsal = rehearse::<Dealing>();
        let blinded = rehearsal.blinded();
        let ours = suite.measure_long(&id, || rehearsal.committees(&blinded));
        let mut limit = dealings(suite, &rehearsal.dealers);
        // Each path's committee admits all blinded keys.
        let (holders, shares) = (rehearsal.dealers.holders, usize::try_from(TOTAL).unwrap());
        limit.push((2.0, limit::product(suite, holders + 1)));
        limit.push((2.0, limit::msm_g1(suite, shares, 128)));
        limit.push((2.0, limit::msm_g2(suite, shares, 128)));
        row(suite, &ours, &limit);
    }
    let id = format!("keygen::field/{label}");
    if suite.is_asked(&id) && !suite.is_quick() {
        let rehearsal = rehearse::<field::Dealing>();
        let ours = suite.measure_long(&id, || rehearsal.key());
        let limit = field_dealings(suite, &rehearsal.dealers);
        row(suite, &ours, &limit);
    }
}

fn rehearse<D: prefinal_pvss_dkg::AnyDealing + Clone>() -> Rehearsal<Dkg<D>>
where
    Dkg<D>: Collect<DealerInput = ()>,
{
    let dealers = Dealers::new(&weights(TOTAL), SLOW, FAST);
    let blank = Dkg::<D>::new(Arc::new(dealers.config.clone()));
    Rehearsal::new(blank, dealers, DEALERS)
}

/// A dealing, 87 checks, the shares opened. Sums are those of sixteen dealings: larger ones cost no less
/// than a few percent less for each.
fn dealings(suite: &mut Suite, dealers: &Dealers) -> Limit {
    let (shares, held, count) =
        (dealers.shares as f64, dealers.heaviest.1 as f64, f64::from(DEALERS));
    let sixteen = count / 16.0;
    let (g1, g2) = (limit::multiply_g1(suite), limit::multiply_g2(suite));
    vec![
        (3.0 * shares + held, g1),
        (shares, g2),
        (2.0 * shares * count, limit::decode_g1(suite)),
        (shares * count, limit::decode_g2(suite)),
        (1.0, limit::product(suite, dealers.holders + 3)),
        (sixteen, limit::msm_g1(suite, 32 * dealers.shares, 128)),
        (sixteen, limit::msm_g2(suite, 16 * dealers.shares, 255)),
        (1.0, limit::product(suite, dealers.signers.len().min(87) + 1)),
    ]
}

/// As [`dealings`], with sixteen chunks for each share.
fn field_dealings(suite: &mut Suite, dealers: &Dealers) -> Limit {
    let (shares, held, count) = (dealers.shares, dealers.heaviest.1, f64::from(DEALERS));
    let points = 16 * (shares + held);
    let (g1, g2) = (limit::multiply_g1(suite), limit::multiply_g2(suite));
    vec![
        ((points + 16 * held) as f64, g1),
        ((shares + held) as f64, g2),
        (points as f64 * count, limit::decode_g1(suite)),
        (shares as f64 * count, limit::decode_g2(suite)),
        (count, limit::msm_g1(suite, points, 255)),
        (count, limit::msm_g2(suite, shares, 255)),
        (1.5, limit::product(suite, 2)),
    ]
}
