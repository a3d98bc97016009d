//! Our curve beside blst's own interface, for the primitives that everything else is made of.
#![expect(clippy::indexing_slicing, reason = "a bench that cannot be set up must not give figures")]
use std::hint::black_box;

use prefinal_bench::limit;
use prefinal_bench::suite::Suite;
use prefinal_crypto_core::curve::hazmat::{
    MillerLoop, hash_to_g1, hash_to_g2, vartime_add_pairs, vartime_msm, vartime_msm_128,
};
use prefinal_crypto_core::curve::{
    Affine, G1, G1Affine, G2, G2Affine, Group, Projective, Scalar, Tag,
};
use rand_core::Rng;

/// Our face on blst costs nothing that can be measured.
const TARGET: Option<f64> = Some(1.03);
const TAG: Tag<'_> = Tag::new(b"PREFINAL-BENCH_XMD:SHA-256_SSWU_RO_");

fn main() {
    let mut suite = Suite::new("micro", "primitives");
    points(&mut suite);
    pairings(&mut suite);
    sums(&mut suite);
    scalars(&mut suite);
    suite.finish();
}

/// blst has these in C alone, which only `prefinal_crypto_core` calls, so there is no limit beside them.
fn scalars(suite: &mut Suite) {
    let mut rng = prefinal_bench::fixture::rng();
    let (a, b) = (Scalar::random(&mut rng), Scalar::random(&mut rng));
    let ours = suite.measure("scalar::multiply", || black_box(a) * black_box(b));
    suite.row(&ours, &[], None);
    let ours = suite.measure("scalar::invert", || black_box(a).invert());
    suite.row(&ours, &[], None);
}

fn points(suite: &mut Suite) {
    let scalar = Scalar::random(&mut prefinal_bench::fixture::rng());
    let (p, q) = (G1Affine::generator(), G2Affine::generator());
    let ours = suite.measure("curve::multiply/G1", || (black_box(p) * scalar).to_affine());
    let multiply_g1 = limit::multiply_g1(suite);
    suite.row(&ours, &[(1.0, &multiply_g1)], TARGET);
    let ours = suite.measure("curve::multiply/G2", || (black_box(q) * scalar).to_affine());
    let multiply_g2 = limit::multiply_g2(suite);
    suite.row(&ours, &[(1.0, &multiply_g2)], TARGET);

    let ours = suite.measure("curve::hash/G1", || hash_to_g1(black_box(b"message"), TAG));
    let sign = limit::sign_g1(suite);
    suite.row(&ours, &[(1.0, &sign), (-1.0, &multiply_g1)], TARGET);
    let ours = suite.measure("curve::hash/G2", || hash_to_g2(black_box(b"message"), TAG));
    let sign = limit::sign_g2(suite);
    suite.row(&ours, &[(1.0, &sign), (-1.0, &multiply_g2)], TARGET);

    let (p, q) = (p.to_bytes(), q.to_bytes());
    let ours = suite.measure("curve::decode/G1", || G1Affine::from_bytes(black_box(&p)).is_ok());
    let decode = limit::decode_g1(suite);
    suite.row(&ours, &[(1.0, &decode)], TARGET);
    let ours = suite.measure("curve::decode/G2", || G2Affine::from_bytes(black_box(&q)).is_ok());
    let decode = limit::decode_g2(suite);
    suite.row(&ours, &[(1.0, &decode)], TARGET);
}

fn pairings(suite: &mut Suite) {
    let (ps, qs) = (random::<G1>(100), random::<G2>(100));
    for pairs in [1, 2, 100] {
        let ours = suite.measure(&format!("curve::miller_loop/{pairs}"), || {
            MillerLoop::from_terms(ps.iter().copied().zip(qs.iter().copied()).take(pairs))
        });
        let miller_loop = limit::miller_loop(suite, pairs);
        suite.row(&ours, &[(1.0, &miller_loop)], TARGET);
    }
    let loops = MillerLoop::from_terms([(ps[0], qs[0])]);
    let ours =
        suite.measure("curve::final_exponentiation", || black_box(&loops).final_exponentiation());
    let final_exponentiation = limit::final_exponentiation(suite);
    suite.row(&ours, &[(1.0, &final_exponentiation)], TARGET);
}

fn sums(suite: &mut Suite) {
    let most = if suite.is_quick() { 667 } else { 10_000 };
    let (ps, qs) = (random::<G1>(most), random::<G2>(most));
    let mut rng = prefinal_bench::fixture::rng();
    let wide: Vec<Scalar> = (0..most).map(|_| Scalar::random(&mut rng)).collect();
    let half: Vec<u128> =
        (0..most).map(|_| u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())).collect();
    for n in [67, 100, 667, 1000, 10_000].into_iter().filter(|n| *n <= most) {
        let ours = suite
            .measure(&format!("curve::vartime_msm/G1 n={n}"), || vartime_msm(&ps[..n], &wide[..n]));
        let sum = limit::msm_g1(suite, n, 255);
        suite.row(&ours, &[(1.0, &sum)], TARGET);
        let ours = suite
            .measure(&format!("curve::vartime_msm/G2 n={n}"), || vartime_msm(&qs[..n], &wide[..n]));
        let sum = limit::msm_g2(suite, n, 255);
        suite.row(&ours, &[(1.0, &sum)], TARGET);
        let ours = suite.measure(&format!("curve::vartime_msm_128/G1 n={n}"), || {
            vartime_msm_128(&ps[..n], &half[..n])
        });
        let sum = limit::msm_g1(suite, n, 128);
        suite.row(&ours, &[(1.0, &sum)], TARGET);
        let ours = suite.measure(&format!("curve::vartime_msm_128/G2 n={n}"), || {
            vartime_msm_128(&qs[..n], &half[..n])
        });
        let sum = limit::msm_g2(suite, n, 128);
        suite.row(&ours, &[(1.0, &sum)], TARGET);
    }
    additions(suite, (&ps[..667], &qs[..667]));
}

/// Pairs of points, with shared inversions.
fn additions(suite: &mut Suite, (ps, qs): (&[G1Affine], &[G2Affine])) {
    let n = ps.len() / 2;
    let ours = suite.measure(&format!("curve::add_pairs/G1 n={n}"), || {
        let mut sums = ps[..n].to_vec();
        vartime_add_pairs(&mut sums, &ps[n..2 * n]);
        sums
    });
    let add = limit::add_g1(suite, n + 1);
    suite.row(&ours, &[(1.0, &add)], None);
    let ours = suite.measure(&format!("curve::add_pairs/G2 n={n}"), || {
        let mut sums = qs[..n].to_vec();
        vartime_add_pairs(&mut sums, &qs[n..2 * n]);
        sums
    });
    let add = limit::add_g2(suite, n + 1);
    suite.row(&ours, &[(1.0, &add)], None);
}

fn random<G: Group>(count: usize) -> Vec<Affine<G>> {
    let mut rng = prefinal_bench::fixture::rng();
    let g = Affine::<G>::generator();
    let points: Vec<_> = (0..count).map(|_| g * Scalar::random(&mut rng)).collect();
    Projective::batch_to_affine(&points)
}
