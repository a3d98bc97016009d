//! With lanes switched off nothing runs in them, and everything gives the same bytes. One test in a binary
//! for it alone, since the switch is the process's.
#![expect(clippy::indexing_slicing, reason = "helpers of tests fail as tests do")]
use prefinal_bls12_381::hazmat::{
    Factor, FixedBase, lanes, multiply_each, pairing_product, vartime_add_pairs, vartime_msm,
    vartime_sums,
};
use prefinal_bls12_381::{
    Affine, G1, G1Affine, G2, G2Affine, Group, PointError, Projective, Scalar,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const COUNT: usize = 700;

fn points<G: Group>(scalars: &[Scalar]) -> Vec<Affine<G>> {
    let base = FixedBase::new(&Affine::generator());
    let points: Vec<Projective<G>> = scalars.iter().map(|scalar| base.multiply(scalar)).collect();
    Projective::batch_to_affine(&points)
}

/// Everything in a group that lanes are for, as bytes.
fn group<G: Group>(scalars: &[Scalar], out: &mut Vec<u8>) -> Result<Vec<Affine<G>>, PointError> {
    let points = points::<G>(scalars);
    let mut shares = FixedBase::new(&points[0]).multiply_all(scalars);
    shares.extend(multiply_each(&points[..100], scalars));
    vartime_add_pairs(&mut shares, &points);
    shares.push(vartime_msm(&points, scalars).to_affine());
    let terms: Vec<_> = points.iter().copied().zip(scalars.iter().map(Factor::new)).collect();
    shares.extend(vartime_sums(&terms[..50], &[2, 30, 50]));
    let bytes: Vec<u8> = shares.iter().flat_map(|p| p.to_bytes().as_ref().to_vec()).collect();
    out.extend(&bytes);
    Affine::many_from_bytes(&bytes)
}

fn results() -> Result<Vec<u8>, PointError> {
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let scalars: Vec<Scalar> = (0..COUNT).map(|_| Scalar::random(&mut rng)).collect();
    let mut out = Vec::new();
    let (p, q) = (group::<G1>(&scalars, &mut out)?, group::<G2>(&scalars, &mut out)?);
    let terms: Vec<(G1Affine, G2Affine)> = p.into_iter().zip(q).take(20).collect();
    out.extend(pairing_product(&terms).to_bytes());
    Ok(out)
}

/// What runs in lanes asks for a proof that can be had only while they are available, so that is all there
/// is to see of it.
#[test]
fn without_lanes_nothing_runs_in_them_and_the_bytes_are_the_same() {
    let unwanted = std::env::var_os("PREFINAL_LANES").is_some_and(|value| value == "off");
    if unwanted && cfg!(feature = "std") {
        assert!(!lanes::available(), "the environment says off");
    }
    let before = results();
    assert!(before.is_ok());
    lanes::disable();
    assert!(!lanes::available());
    assert_eq!(results(), before);
    assert!(!lanes::available(), "nothing switches them on again");
}
