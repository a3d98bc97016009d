//! What is decoded in lanes is what is decoded one by one: the same points, and for the same reasons none.
use alloc::vec::Vec;

use ark_bls12_381::{Fq, Fq2};
use ark_ff::{AdditiveGroup, BigInt, BigInteger, Field, PrimeField};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::{LANES, Wide};
use crate::backend::{G1, G2, ark};
use crate::error::{DecodeError, PointError};
use crate::group::Group;
use crate::points::{Affine, Projective};
use crate::scalar::Scalar;

const COMPRESSED: u8 = 0x80;
const GREATER: u8 = 0x20;
/// Bytes of a number.
const BYTES: usize = 48;

/// The field of coordinates.
trait Coordinates: Field {
    /// What a cube is taken to for a root of it, if it is even the cube of a cube.
    const THIRD: &'static [u64];
    fn b() -> Self;
    /// Big-endian, the highest coefficient first.
    fn bytes(&self) -> Vec<u8>;
    /// Where signs, and the cases of the square root, turn.
    fn special() -> Vec<Self>;
}

/// Around zero and around `p/2`.
fn turns() -> impl Iterator<Item = Fq> {
    let half = Fq::from(2).inverse().unwrap();
    (1..70_i64).flat_map(move |number| [number.into(), half + Fq::from(number - 35)])
}

impl Coordinates for Fq {
    /// `(2p + 7)/27`
    const THIRD: &'static [u64] = &[
        0x7612_e38e_38e3_87e7,
        0x740c_bda1_169d_ed09,
        0x2d91_d6b6_9703_a074,
        0xbb97_0f13_5468_ac0e,
        0x93c9_28de_17f2_a481,
        0x01ed_1dc5_7f84_bbbf,
    ];

    fn b() -> Self {
        Self::from(4)
    }

    fn bytes(&self) -> Vec<u8> {
        self.into_bigint().to_bytes_be()
    }

    fn special() -> Vec<Self> {
        turns().collect()
    }
}

impl Coordinates for Fq2 {
    /// `(p² + 8)/27`
    const THIRD: &'static [u64] = &[
        0xdb81_8e38_e49b_e8d3,
        0x895e_2069_6331_7cfc,
        0xd169_eef1_e730_0bbd,
        0x4fa8_47c6_6a9b_ea57,
        0x56db_cc0f_b851_3ed3,
        0x39fa_626e_17ed_f076,
        0xff99_8773_ab04_7aa1,
        0xdd0f_a2d9_f75d_8c3c,
        0x3337_e96b_01f2_e8bb,
        0xd8fe_b008_7bcb_44fd,
        0xc070_1770_fc86_7ca9,
        0x0019_0b8a_d76f_8849,
    ];

    fn b() -> Self {
        Self::new(Fq::from(4), Fq::from(4))
    }

    fn bytes(&self) -> Vec<u8> {
        [self.c1.bytes(), self.c0.bytes()].concat()
    }

    /// In the field below, with a square in it or a square times −1; with a square that has but the other
    /// part; and others.
    fn special() -> Vec<Self> {
        let (zero, one) = (Fq::ZERO, Fq::from(1));
        let all = |a: Fq| [(a, zero), (zero, a), (a, a), (a, -a), (a, one), (one, a)];
        turns().flat_map(all).map(|(c0, c1)| Self::new(c0, c1)).collect()
    }
}

fn with_flags(mut bytes: Vec<u8>, flags: u8) -> Vec<u8> {
    bytes[0] |= flags;
    bytes
}

/// Both points with this `y` up to the sign, if they can be found.
fn with_y<F: Coordinates>(y: F) -> Option<[Vec<u8>; 2]> {
    let cube = y.square() - F::b();
    let x = cube.pow(F::THIRD);
    let is_root = x * x * x == cube;
    is_root.then(|| [COMPRESSED, COMPRESSED | GREATER].map(|flags| with_flags(x.bytes(), flags)))
}

fn inside<G: Group>(count: usize) -> Vec<Vec<u8>> {
    let point = |number| Affine::<G>::generator() * Scalar::from_u64(number);
    let points: Vec<_> = (0..).map(|number| point(number * number + 1)).take(count).collect();
    let points = Projective::batch_to_affine(&points).into_iter();
    points.map(|point| point.to_bytes().as_ref().to_vec()).collect()
}

/// What is read and what is refused, as much as somebody may think of.
fn encodings<G: Group, F: Coordinates>() -> Vec<Vec<u8>> {
    let size = G::EMPTY.as_ref().len();
    let specials: Vec<_> = F::special().into_iter().filter_map(with_y).flatten().collect();
    assert!(specials.len() > size / 3, "{}", specials.len());
    let mut all = specials;
    all.extend(inside::<G>(4));
    // Every combination of flags, above points, no points and infinity.
    for flags in (0..8).map(|flags| flags << 5) {
        let mut point = inside::<G>(1).remove(0);
        point[0] &= 0x1f;
        all.extend([with_flags(point, flags), with_flags(alloc::vec![0; size], flags)]);
        for x in 1..6 {
            let mut small = alloc::vec![0; size];
            small[size - 1] = x;
            all.push(with_flags(small, flags));
        }
    }
    // Numbers around p, among them second names of small ones, and as large as fits.
    for place in (0..size).step_by(BYTES) {
        for more in 0..12_u64 {
            let mut number = Fq::MODULUS;
            number.sub_with_borrow(&BigInt::from(6_u64));
            number.add_with_carry(&BigInt::from(more));
            for mut near in [alloc::vec![0; size], inside::<G>(1).remove(0)] {
                near[place..place + BYTES].copy_from_slice(&number.to_bytes_be());
                near[0] |= COMPRESSED;
                all.push(near);
            }
        }
        let mut greatest = alloc::vec![0; size];
        greatest[place..place + BYTES].fill(0xff);
        greatest[0] &= 0x1f | COMPRESSED;
        all.push(greatest);
    }
    // The identity, and with bytes that it must not have.
    for place in 0..size {
        let mut identity = Affine::<G>::identity().to_bytes();
        identity.as_mut()[place] ^= 1;
        all.push(identity.as_ref().to_vec());
    }
    all.push(alloc::vec![0xff; size]);
    all
}

fn lanes_agree<G: Group, F: Coordinates>() {
    let Some(wide) = Wide::detect() else { return };
    let decompress = |bytes: &[u8]| {
        let mut encoding = G::EMPTY;
        encoding.as_mut().copy_from_slice(bytes);
        G::decompress_unchecked(&encoding).map(Affine::<G>)
    };
    let one = |bytes: &[u8]| decompress(bytes).ok().filter(|point| !point.is_identity());
    let (mut all, size) = (encodings::<G, F>(), G::EMPTY.as_ref().len());
    // Of (0, ±2) in 𝔾₁, which is outside, blst says so at once.
    all.retain(|encoding| decompress(encoding) != Err(DecodeError::NotInSubgroup));
    let mut read = 0;
    for shift in 0..LANES {
        // Each in each lane, and each time beside others.
        let shifted: Vec<u8> =
            all.iter().cycle().skip(shift).take(all.len()).flatten().copied().collect();
        for bytes in shifted.chunks(LANES * size) {
            let points = wide.decompress::<G>(bytes);
            let expected: Vec<_> = bytes.chunks(size).map(one).collect();
            assert_eq!(points[..expected.len()], expected, "{bytes:?}");
            assert!(points[expected.len()..].iter().all(Option::is_none));
            read += expected.iter().flatten().count();
        }
    }
    assert!(read > LANES * size / 3, "{read}");
    // Nothing is read of what is too short, or beyond the eighth.
    let mut bytes = inside::<G>(LANES + 1).concat();
    assert!(wide.decompress::<G>(&bytes).iter().all(Option::is_some));
    bytes.truncate(LANES * size - 1);
    let [first @ .., last] = wide.decompress::<G>(&bytes);
    assert!(first.iter().all(Option::is_some) && last.is_none());
    assert_eq!(wide.decompress::<G>(&[]), [None; LANES]);
}

#[test]
fn lanes_read_what_the_backends_read() {
    lanes_agree::<G1, Fq>();
    lanes_agree::<G2, Fq2>();
    lanes_agree::<ark::G1, Fq>();
    lanes_agree::<ark::G2, Fq2>();
}

fn many_agree<G: Group, F: Coordinates>() {
    let (all, size) = (encodings::<G, F>(), G::EMPTY.as_ref().len());
    let inside = inside::<G>(40);
    let config = ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let changes = prop::collection::vec(any::<(Index, Index)>(), 0..4);
    let cut = prop_oneof![9 => Just(0), 1 => 0..size];
    let agree = |(count, changes, cut): (usize, Vec<(Index, Index)>, usize)| {
        let mut chosen = inside[..count].to_vec();
        for (place, encoding) in changes {
            *place.get_mut(&mut chosen) = encoding.get(&all).clone();
        }
        let mut bytes = chosen.concat();
        bytes.truncate(bytes.len() - cut);
        let one = |(index, bytes)| {
            Affine::<G>::from_bytes(bytes).map_err(|error| PointError { index, error })
        };
        let expected: Result<Vec<_>, _> = bytes.chunks(size).enumerate().map(one).collect();
        prop_assert_eq!(Affine::<G>::many_from_bytes(&bytes), expected);
        Ok(())
    };
    runner.run(&(1..=40_usize, changes, cut), agree).unwrap();
}

#[test]
fn many_are_read_as_one_by_one() {
    many_agree::<G1, Fq>();
    many_agree::<G2, Fq2>();
}
