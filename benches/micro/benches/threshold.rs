//! Threshold BLS with signatures in 𝔾₁: 67 of 100 at consecutive points, 667 of 1000 at roots of
//! unity. Share keys are those at consecutive points.
//!
//! | row                       | limit                                                     | reach |
//! |---------------------------|-----------------------------------------------------------|-------|
//! | partial                   | one hash to 𝔾₁, one multiplication                         | 1.05  |
//! | verify, verify_result     | product of two pairings                                   | 1.05  |
//! | check_all                 | the same, sums over `n` shares by 128 bits in both groups  | 1.08  |
//! | culprit                   | the same: of `check_all`, not of naming anybody            | 3     |
//! | combine, scattered        | sum over `t` shares by 255 bits                           | 1.08, 1.12 |
//! | combine, contiguous       | sum over `t` shares by 68 bits                            | 1.22  |
//! | share_keys                | `n·t` additions in 𝔾₂ with shared inversions               | 1.5   |
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::hint::black_box;

use prefinal_bench::fixture::{BlsSharing, DOMAIN, PURPOSE, qualified};
use prefinal_bench::limit;
use prefinal_bench::suite::Suite;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::polynomial::{Placement, Points};
use prefinal_crypto_core::threshold::Message;

fn main() {
    let mut suite = Suite::new("micro", "threshold");
    let hundred = BlsSharing::deal(&[1; 100], 67, (Placement::Consecutive, PURPOSE));
    let thousand = BlsSharing::deal(&[1; 1000], 667, (Placement::RootsOfUnity, PURPOSE));
    single(&mut suite, &hundred);
    for dealt in [&hundred, &thousand] {
        batch(&mut suite, dealt);
    }
    share_keys(&mut suite, &hundred);
    if !suite.is_quick() {
        share_keys(&mut suite, &thousand);
    }
    combine(&mut suite, &hundred, "scattered", (255, 1.08));
    combine(&mut suite, &hundred, "contiguous", (68, 1.22));
    combine(&mut suite, &thousand, "scattered", (255, 1.12));
    suite.finish();
}

fn message() -> Message<prefinal_crypto_core::bls::MinSig> {
    Message::new(DOMAIN, b"message")
}

fn label(dealt: &BlsSharing) -> String {
    let threshold = dealt.committee.threshold();
    format!("n={} t={}", threshold.n(), threshold.t())
}

fn single(suite: &mut Suite, dealt: &BlsSharing) {
    let label = label(dealt);
    let (party, signer) = dealt.signers.first_key_value().unwrap();
    let ours = suite.measure(&format!("threshold::partial/{label}"), || {
        signer.partial(&Message::new(DOMAIN, black_box(b"message"))).unwrap()
    });
    let sign = limit::sign_g1(suite);
    suite.row(&ours, &[(1.0, &sign)], Some(1.05));

    let (committee, message) = (&dealt.committee, message());
    let partial = signer.partial(&message).unwrap();
    let ours = suite.measure(&format!("threshold::verify/{label}"), || {
        black_box(&partial).verify(committee, *party, &message).unwrap();
    });
    let two = limit::product(suite, 2);
    suite.row(&ours, &[(1.0, &two)], Some(1.05));

    let set = qualified(committee.access(), committee.threshold());
    let quorum = committee.verify_all(&message, dealt.partials(set, &message)).unwrap();
    let signature = quorum.combine();
    let ours = suite.measure(&format!("threshold::verify_result/{label}"), || {
        committee.verify_result(&message, black_box(&signature)).unwrap();
    });
    suite.row(&ours, &[(1.0, &two)], Some(1.05));
}

fn batch(suite: &mut Suite, dealt: &BlsSharing) {
    let (committee, message, label) = (&dealt.committee, message(), label(dealt));
    let mut partials = dealt.partials(committee.access().parties(), &message);
    let check_all = suite.measure(&format!("threshold::check_all/{label}"), || {
        committee.check_all(&message, black_box(&partials)).unwrap();
    });
    let (two, n) = (limit::product(suite, 2), partials.len());
    let (g1, g2) = (limit::msm_g1(suite, n, 128), limit::msm_g2(suite, n, 128));
    let limit = [(1.0, two.as_str()), (1.0, &g1), (1.0, &g2)];
    suite.row(&check_all, &limit, Some(1.08));

    let liar = Party::new(committee.threshold().n().get() * 2 / 3);
    let other = Message::new(DOMAIN, b"other");
    partials.insert(liar, dealt.signers[&liar].partial(&other).unwrap());
    let ours = suite.measure(&format!("threshold::culprit/{label}"), || {
        committee.check_all(&message, black_box(&partials)).unwrap_err()
    });
    suite.row(&ours, &limit, Some(3.0));
}

fn share_keys(suite: &mut Suite, dealt: &BlsSharing) {
    let points = Points::new(Placement::Consecutive, dealt.committee.points().count()).unwrap();
    let ours = suite.measure(&format!("threshold::share_keys/{}", label(dealt)), || {
        black_box(&dealt.commitment).evaluate_all(&points)
    });
    let additions = f64::from(points.count()) * f64::from(dealt.committee.threshold().t().get());
    let add = limit::add_g2(suite, 1000);
    suite.row(&ours, &[(additions / 1000.0, &add)], Some(1.5));
}

fn combine(suite: &mut Suite, dealt: &BlsSharing, indices: &str, (bits, target): (usize, f64)) {
    let (committee, message) = (&dealt.committee, message());
    let t = usize::try_from(committee.threshold().t().get()).unwrap();
    let set = match indices {
        "contiguous" => committee.access().parties().take(t).collect(),
        _ => qualified(committee.access(), committee.threshold()),
    };
    let quorum = committee.verify_all(&message, dealt.partials(set, &message)).unwrap();
    let ours = suite.measure(&format!("threshold::combine/{} {indices}", label(dealt)), || {
        black_box(&quorum).combine()
    });
    let sum = limit::msm_g1(suite, t, bits);
    suite.row(&ours, &[(1.0, &sum)], Some(target));
}
