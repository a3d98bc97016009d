//! What must tell two transcripts apart. That they are what the model computes: `kat`.
use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::curve::{G1Affine, Scalar};

fn fresh() -> Transcript {
    Transcript::new(b"test domain")
}

#[test]
fn every_difference_changes_the_challenge() {
    let challenge = |build: &dyn Fn(&mut Transcript)| {
        let mut transcript = fresh();
        build(&mut transcript);
        transcript.bytes(b"c")
    };
    let all = [
        challenge(&|_| {}),
        challenge(&|t| t.append(b"", b"")),
        challenge(&|t| t.append(b"ab", b"c")),
        challenge(&|t| t.append(b"a", b"bc")),
        challenge(&|t| t.append(b"a", b"b\0\0\0\0\0\0\0\x01c")),
        challenge(&|t| {
            t.append(b"a", b"");
            t.append(b"a", b"");
        }),
        challenge(&|t| t.append_u64(b"a", 1)),
        challenge(&|t| t.append_u64(b"a", 1 << 56)),
        challenge(&|t| t.append_point(b"a", &G1Affine::generator())),
        challenge(&|t| t.append_points(b"a", &[G1Affine::generator(); 2])),
        challenge(&|t| {
            t.append_point(b"a", &G1Affine::generator());
            t.append_point(b"a", &G1Affine::generator());
        }),
        challenge(&|t| t.append_scalar(b"a", &Scalar::ONE)),
        Transcript::new(b"other domain").bytes(b"c"),
        fresh().bytes(b"d"),
    ];
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all.iter().enumerate() {
            assert_eq!(i == j, a == b, "transcripts {i} and {j}");
        }
    }
}

#[test]
fn a_challenge_depends_on_the_ones_before() {
    let mut twice = fresh();
    let first = twice.scalar(b"c");
    assert_ne!(twice.scalar(b"c"), first);
    assert_eq!(fresh().scalar(b"c"), first);
}

#[test]
fn coefficients_do_not_depend_on_their_number() {
    let many = fresh().coefficients_128(b"c", 9);
    assert_eq!(fresh().coefficients_128(b"c", 4), many[..4]);
    assert!(fresh().coefficients_128(b"c", 0).is_empty());
}

#[test]
fn borsh_items_are_their_bytes() {
    let mut one = fresh();
    one.append_borsh(b"label", &G1Affine::generator()).unwrap();
    let mut other = fresh();
    other.append_point(b"label", &G1Affine::generator());
    assert_eq!(one.bytes(b"c"), other.bytes(b"c"));
}
