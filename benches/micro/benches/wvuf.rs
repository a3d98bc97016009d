//! The weighted VUF among the 129 validators of a stake table.
//!
//! | row           | limit                                                                      |
//! |---------------|----------------------------------------------------------------------------|
//! | partial       | one hash to 𝔾₂, one multiplication                                         |
//! | verify        | product of two pairings                                                    |
//! | verify_all    | product of `k + 1` pairings, `k` multiplications by 128 bits               |
//! | combine       | product of `k` pairings, sums over `t` shares, one for each of `k` parties |
//! | combine_again | product of `k` pairings: the bases are kept                                |
//! | admit_all     | product of `n + 1` pairings, sums over `W` shares in both groups and over  |
//! |               | `2n` points of proofs                                                      |
//!
//! `k` parties hold `t` shares among those of a random set that suffices.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::collections::BTreeMap;
use std::hint::black_box;

use prefinal_bench::fixture::{WvufSharing, context, qualified, weights};
use prefinal_bench::limit;
use prefinal_bench::suite::Suite;
use prefinal_crypto_core::context::Slot;
use prefinal_crypto_core::wvuf::{Combination, Input, combine};

fn main() {
    let mut suite = Suite::new("micro", "wvuf");
    let sizes = [(224, 132), (414, 228)];
    for (total, t) in sizes.into_iter().take(if suite.is_quick() { 1 } else { 2 }) {
        committee(&mut suite, total, t);
    }
    suite.finish();
}

fn committee(suite: &mut Suite, total: u32, t: u32) {
    let dealt = WvufSharing::deal(&weights(total), t);
    let committee = &dealt.committee;
    let label = format!("n=129 W={total}");
    let (party, key) = dealt.keys.first_key_value().unwrap();

    let partial = || {
        let input = Input::new(&context(), black_box(Slot::new(7)), None);
        key.evaluate(&input)
    };
    let ours = suite.measure(&format!("wvuf::partial/{label}"), partial);
    let sign = limit::sign_g2(suite);
    suite.row(&ours, &[(1.0, &sign)], Some(1.05));

    let input = Input::new(&context(), Slot::new(7), None);
    let partial = key.evaluate(&input);
    let ours = suite.measure(&format!("wvuf::verify/{label}"), || {
        committee.verify(*party, &input, black_box(&partial)).unwrap();
    });
    let two = limit::product(suite, 2);
    suite.row(&ours, &[(1.0, &two)], Some(1.05));

    let set = qualified(committee.access(), committee.threshold());
    let partials: BTreeMap<_, _> =
        set.iter().map(|party| (*party, dealt.keys[party].evaluate(&input))).collect();
    let ours = suite.measure(&format!("wvuf::verify_all/{label}"), || {
        committee.verify_all(&input, black_box(partials.clone())).unwrap();
    });
    let pairs = limit::product(suite, partials.len() + 1);
    let scaled = limit::sums_g1(suite, &vec![1; partials.len()], 128);
    suite.row(&ours, &[(1.0, &pairs), (1.0, &scaled)], None);

    let quorum = committee.verify_all(&input, partials).unwrap();
    let ours = suite.measure(&format!("wvuf::combine/{label}"), || combine(black_box(&quorum)));
    let used = committee.fewest(set).unwrap();
    let mut missing = t;
    let held: Vec<usize> = used
        .iter()
        .map(|party| {
            let own = committee.access().weight(*party).min(missing);
            missing -= own;
            usize::try_from(own).unwrap()
        })
        .collect();
    let pairs = limit::product(suite, used.len());
    let sums = limit::sums_g1(suite, &held, 255);
    suite.row(&ours, &[(1.0, &pairs), (1.0, &sums)], Some(1.05));
    let kept = Combination::new(committee, used).unwrap();
    let ours = suite.measure(&format!("wvuf::combine_again/{label}"), || {
        kept.combine(black_box(&quorum)).unwrap()
    });
    suite.row(&ours, &[(1.0, &pairs)], Some(1.05));

    let ours = suite.measure(&format!("wvuf::admit_all/{label}"), || {
        committee.admit_all(black_box(dealt.blinded.clone()))
    });
    let shares = usize::try_from(total).unwrap();
    let pairs = limit::product(suite, dealt.keys.len() + 1);
    let (g1, g2) = (limit::msm_g1(suite, shares, 128), limit::msm_g2(suite, shares, 128));
    let proofs = limit::msm_g1(suite, 2 * dealt.keys.len(), 255);
    suite.row(&ours, &[(1.0, &pairs), (1.0, &g1), (1.0, &g2), (1.0, &proofs)], Some(1.05));
}
