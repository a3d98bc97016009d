//! Which thread computes what. One test in a separate binary, since it counts the threads of the process.
//!
//! Runs without and with the feature `parallel`, on both backends, and with
//! `--features arkworks,ark-ec/parallel`, as somebody else's features might have it.
#![expect(clippy::indexing_slicing, reason = "helpers of tests fail as tests do")]
use prefinal_bls12_381::hazmat::{
    hash_to_g1, hash_to_g2, pairing_product, vartime_msm, vartime_msm_128,
};
use prefinal_bls12_381::{DecodeError, G1Affine, G2Affine, PointError, Projective, Scalar, Tag};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// Threads of this process; none counted where there is no such folder.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Everything that may run in parts, as bytes.
fn results() -> Vec<u8> {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let scalars: Vec<Scalar> = (0..150).map(|_| Scalar::random(&mut rng)).collect();
    let small: Vec<u128> = (0..150).map(|_| u128::from(rng.next_u64())).collect();
    let p: Vec<_> = scalars.iter().map(|s| G1Affine::generator() * s).collect();
    let q: Vec<_> = scalars.iter().map(|s| G2Affine::generator() * s).collect();
    let (p, q) = (Projective::batch_to_affine(&p), Projective::batch_to_affine(&q));
    let mut out = Vec::new();
    // Lengths around those where one part becomes two.
    for count in [0, 1, 31, 63, 64, 65, 150] {
        out.extend(vartime_msm(&p[..count], &scalars).to_affine().to_bytes());
        out.extend(vartime_msm_128(&q, &small[..count]).to_affine().to_bytes());
    }
    for count in [0, 1, 7, 8, 9, 15, 16, 17, 24, 25, 33, 100] {
        let terms: Vec<_> = p.iter().copied().zip(q.iter().copied()).take(count).collect();
        out.extend(pairing_product(&terms).to_bytes());
    }
    out.extend(hash_to_g1(b"message", Tag::new(b"tag")).to_bytes());
    out.extend(hash_to_g2(b"message", Tag::new(b"tag")).to_bytes());
    let mut encodings: Vec<u8> = p.iter().flat_map(G1Affine::to_bytes).collect();
    assert_eq!(G1Affine::many_from_bytes(&encodings), Ok(p));
    assert_eq!(G1Affine::many_from_bytes(&[]), Ok(vec![]));
    // Of two bad points the first is named, whichever thread comes first to the second.
    (encodings[48 * 140], encodings[48 * 70]) = (0, 0);
    let first = PointError { index: 70, error: DecodeError::NotCanonical };
    assert_eq!(G1Affine::many_from_bytes(&encodings), Err(first));
    let short = DecodeError::Length { expected: 96, got: 95 };
    let short = PointError { index: 1, error: short };
    assert_eq!(
        G2Affine::many_from_bytes(&[q[0].to_bytes(), q[1].to_bytes()].concat()[..191]),
        Err(short)
    );
    out
}

#[test]
fn work_stays_on_the_callers_threads_and_gives_the_same_bytes() {
    let before = threads();
    #[cfg(not(feature = "parallel"))]
    {
        let first = results();
        assert_eq!(threads(), before, "a pool was started");
        assert_eq!(results(), first);
    }
    #[cfg(feature = "parallel")]
    {
        let pool = |size| rayon::ThreadPoolBuilder::new().num_threads(size).build().unwrap();
        let (one, two, five) = (pool(1), pool(2), pool(5));
        let expected = one.install(results);
        assert_eq!(two.install(results), expected);
        assert_eq!(five.install(results), expected);
        // From two threads of a pool at once.
        let (left, right) = two.install(|| rayon::join(results, results));
        assert!(left == expected && right == expected);
        if before > 0 {
            assert_eq!(threads(), before + 1 + 2 + 5, "threads beyond the caller's were started");
        }
        // Fails if the global pool is there already: nothing has asked for it.
        rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
        assert_eq!(results(), expected);
    }
}
