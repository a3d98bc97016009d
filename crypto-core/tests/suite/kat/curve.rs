//! Encodings, hashes, pairings, transcripts.
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::hazmat::{
    check_pairing_product, hash_to_g1, hash_to_g2, pairing_product,
};
use prefinal_crypto_core::curve::{Affine, G1, G1Affine, G2, G2Affine, Group, Scalar, Tag};
use prefinal_crypto_core::generators;
use serde::Deserialize;

use super::{array, bytes, load, point, reason, scalar};

#[derive(Deserialize)]
struct Scalars {
    canonical: Vec<String>,
    refused: Vec<Refused>,
    wide: Vec<Wide>,
}

#[derive(Deserialize)]
struct Refused {
    bytes: String,
    reason: String,
}

#[derive(Deserialize)]
struct Wide {
    bytes: String,
    scalar: String,
}

#[test]
fn scalars_have_one_encoding() {
    let vector: Scalars = load(include_str!("../../vectors/model/scalars.json"));
    for text in &vector.canonical {
        assert_eq!(hex::encode(scalar(text).to_bytes()), *text);
    }
    for case in &vector.refused {
        let error = Scalar::from_bytes(&bytes(&case.bytes)).unwrap_err();
        assert_eq!(reason(error), case.reason, "{}", case.bytes);
    }
    for case in &vector.wide {
        let reduced = Scalar::from_wide(&array(&case.bytes));
        assert_eq!(hex::encode(reduced.to_bytes()), case.scalar, "{}", case.bytes);
    }
}

#[derive(Deserialize)]
struct Points {
    encodings: Vec<Encoding>,
    multiples: Vec<Multiple>,
}

#[derive(Deserialize)]
struct Encoding {
    group: String,
    bytes: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Multiple {
    group: String,
    scalar: String,
    point: String,
}

/// What became of the bytes: the same bytes, or why not.
fn decoded<G: Group>(text: &str) -> Result<String, &'static str> {
    Affine::<G>::from_bytes(&bytes(text)).map(|point| hex::encode(point.to_bytes())).map_err(reason)
}

#[test]
fn points_have_one_encoding() {
    let vector: Points = load(include_str!("../../vectors/model/points.json"));
    for case in &vector.encodings {
        let got = match case.group.as_str() {
            "G1" => decoded::<G1>(&case.bytes),
            _ => decoded::<G2>(&case.bytes),
        };
        let expected = case.reason.as_deref().map_or(Ok(case.bytes.clone()), Err);
        assert_eq!(got, expected, "{} {}", case.group, case.bytes);
    }
}

fn multiple<G: Group>(text: &str) -> String {
    hex::encode((Affine::<G>::generator() * scalar(text)).to_affine().to_bytes())
}

#[test]
fn multiples_of_the_generators() {
    let vector: Points = load(include_str!("../../vectors/model/points.json"));
    for case in &vector.multiples {
        let got = match case.group.as_str() {
            "G1" => multiple::<G1>(&case.scalar),
            _ => multiple::<G2>(&case.scalar),
        };
        assert_eq!(got, case.point, "{} {}", case.group, case.scalar);
    }
}

#[derive(Deserialize)]
struct Hashes {
    cases: Vec<Hash>,
    h: String,
    g_hat: String,
}

#[derive(Deserialize)]
struct Hash {
    group: String,
    message: String,
    tag: String,
    point: String,
}

#[test]
fn hashes_to_the_curve() {
    let vector: Hashes = load(include_str!("../../vectors/model/hashes.json"));
    for case in &vector.cases {
        let (message, tag) = (bytes(&case.message), Tag::new(case.tag.as_bytes()));
        let got = match case.group.as_str() {
            "G1" => hex::encode(hash_to_g1(&message, tag).to_bytes()),
            _ => hex::encode(hash_to_g2(&message, tag).to_bytes()),
        };
        assert_eq!(got, case.point, "{} {} {}", case.group, case.message, case.tag);
    }
    assert_eq!(hex::encode(generators::h().to_bytes()), vector.h);
    assert_eq!(hex::encode(generators::g_hat().to_bytes()), vector.g_hat);
}

#[derive(Deserialize)]
struct Pairing {
    terms: Vec<(String, String)>,
    product: String,
}

#[test]
fn products_of_pairings() {
    let vector: Vec<Pairing> = load(include_str!("../../vectors/model/pairings.json"));
    let one = hex::encode(pairing_product(&[]).to_bytes());
    let mut ones = 0;
    for case in &vector {
        let terms: Vec<(G1Affine, G2Affine)> =
            case.terms.iter().map(|(p, q)| (point(p), point(q))).collect();
        assert_eq!(hex::encode(pairing_product(&terms).to_bytes()), case.product);
        let is_one = case.product == one;
        assert_eq!(check_pairing_product(terms).is_ok(), is_one);
        ones += usize::from(is_one);
    }
    assert!(ones > 1 && ones < vector.len(), "{ones}");
}

#[derive(Deserialize)]
struct Challenges {
    bytes: String,
    scalar: String,
    coefficients: Vec<String>,
    chained: [String; 2],
    typed: String,
}

fn example() -> Transcript {
    let mut transcript = Transcript::new(b"test domain");
    transcript.append(b"first", b"");
    transcript.append(b"second", b"some data");
    transcript
}

#[test]
fn challenges() {
    let vector: Challenges = load(include_str!("../../vectors/model/transcript.json"));
    assert_eq!(hex::encode(example().bytes(b"a challenge")), vector.bytes);
    assert_eq!(hex::encode(example().scalar(b"a challenge").to_bytes()), vector.scalar);
    let coefficients = example().coefficients_128(b"a challenge", 5);
    let coefficients: Vec<_> =
        coefficients.iter().map(|one| hex::encode(one.to_be_bytes())).collect();
    assert_eq!(coefficients, vector.coefficients);
    let mut chained = example();
    let both = [chained.bytes(b"c"), chained.bytes(b"c")].map(hex::encode);
    assert_eq!(both, vector.chained);
    let mut typed = Transcript::new(b"typed");
    typed.append_u64(b"number", 7);
    typed.append_point(b"point", &G1Affine::generator());
    typed.append_points(b"points", &[G2Affine::generator(), G2Affine::identity()]);
    typed.append_scalar(b"scalar", &-Scalar::ONE);
    assert_eq!(hex::encode(typed.bytes(b"c")), vector.typed);
}
