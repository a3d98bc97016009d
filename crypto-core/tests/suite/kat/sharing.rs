//! Shares, commitments, coefficients.
use std::collections::BTreeMap;
use std::num::NonZeroU32;

use prefinal_crypto_core::access::ShareIndex;
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{Affine, G1, G2, Group, Scalar};
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use serde::Deserialize;

use super::{Replay, load, points, scalar};

#[derive(Deserialize)]
struct Vector {
    consecutive: Sharing,
    #[serde(rename = "roots-of-unity")]
    roots_of_unity: Sharing,
    #[serde(rename = "many points")]
    many: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Sharing {
    count: u32,
    t: NonZeroU32,
    draws: String,
    secret: String,
    points: Vec<String>,
    values: Vec<String>,
    commitments: BTreeMap<String, InExponent>,
    elsewhere: u64,
    #[serde(rename = "value elsewhere")]
    value_elsewhere: String,
    subsets: Vec<Subset>,
}

#[derive(Deserialize)]
struct InExponent {
    commitment: Vec<String>,
    shares: Vec<String>,
}

#[derive(Deserialize)]
struct Subset {
    indices: Vec<u32>,
    #[serde(rename = "at zero")]
    at_zero: Vec<String>,
    elsewhere: Vec<String>,
}

fn vector() -> Vector {
    load(include_str!("../../vectors/model/sharing.json"))
}

fn each() -> [(Placement, Sharing); 2] {
    let Vector { consecutive, roots_of_unity, .. } = vector();
    [(Placement::Consecutive, consecutive), (Placement::RootsOfUnity, roots_of_unity)]
}

fn encoded(scalars: &[Scalar]) -> Vec<String> {
    scalars.iter().map(|scalar| hex::encode(scalar.to_bytes())).collect()
}

fn points_of(points: &Points) -> Vec<String> {
    let all: Vec<Scalar> = points.indices().filter_map(|index| points.point(index)).collect();
    encoded(&all)
}

/// The model's polynomial: secret first, then the coefficients in order.
fn polynomial(case: &Sharing) -> Polynomial {
    let mut rng = Replay::new(&case.draws);
    let secret = Secret::new(Scalar::random(&mut rng));
    assert_eq!(*secret.expose(), scalar(&case.secret));
    let polynomial = Polynomial::random(case.t, &secret, &mut rng);
    rng.finish();
    polynomial
}

#[test]
fn shares_and_where_they_sit() {
    for (placement, case) in each() {
        let points = Points::new(placement, case.count).unwrap();
        assert_eq!(points_of(&points), case.points);
        let polynomial = polynomial(&case);
        assert_eq!(encoded(polynomial.shares(&points).expose()), case.values);
        let elsewhere = polynomial.evaluate(&Scalar::from_u64(case.elsewhere));
        assert_eq!(hex::encode(elsewhere.expose().to_bytes()), case.value_elsewhere);
    }
    let many = vector().many;
    for (placement, name) in
        [(Placement::Consecutive, "consecutive"), (Placement::RootsOfUnity, "roots-of-unity")]
    {
        assert_eq!(points_of(&Points::new(placement, 9).unwrap()), many[name]);
    }
}

fn committed<G: Group>(placement: Placement, case: &Sharing, expected: &InExponent) {
    let polynomial = polynomial(case);
    let commitment = Commitment::<G>::commit(&polynomial);
    let encoded = |points: &[Affine<G>]| -> Vec<String> {
        points.iter().map(|point| hex::encode(point.to_bytes())).collect()
    };
    assert_eq!(encoded(commitment.points()), expected.commitment);
    assert_eq!(Commitment::from_points(points(&expected.commitment)), Ok(commitment.clone()));
    let points = Points::new(placement, case.count).unwrap();
    assert_eq!(encoded(&commitment.evaluate_all(&points)), expected.shares);
    for (index, value) in points.indices().zip(&case.values) {
        let share = Secret::new(scalar(value));
        assert_eq!(commitment.verify_share(&points, index, &share), Ok(()));
        let wrong = Secret::new(scalar(value) + Scalar::ONE);
        assert!(commitment.verify_share(&points, index, &wrong).is_err());
    }
}

#[test]
fn commitments() {
    for (placement, case) in each() {
        committed::<G1>(placement, &case, &case.commitments["G1"]);
        committed::<G2>(placement, &case, &case.commitments["G2"]);
    }
}

#[test]
fn coefficients() {
    for (placement, case) in each() {
        let points = Points::new(placement, case.count).unwrap();
        for subset in &case.subsets {
            let indices: Vec<ShareIndex> =
                subset.indices.iter().filter_map(|index| ShareIndex::new(*index)).collect();
            let at_zero = points.lagrange_at_zero(&indices).unwrap();
            assert_eq!(encoded(&at_zero.to_scalars()), subset.at_zero, "{placement}");
            let x = Scalar::from_u64(case.elsewhere);
            let elsewhere = points.lagrange_at(&x, &indices).unwrap();
            assert_eq!(encoded(&elsewhere.to_scalars()), subset.elsewhere, "{placement}");
        }
    }
}
