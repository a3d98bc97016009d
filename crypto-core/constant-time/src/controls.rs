//! Operations that leak and must be caught.
use std::hint::black_box;

use prefinal_crypto_core::curve::hazmat::vartime_msm;
use prefinal_crypto_core::curve::{G1Affine, Scalar};

use crate::Case;
use crate::marks::set_up;
use crate::secrecy::SecretRng;

pub const ALL: &[Case] = &[
    ("control: a branch on a secret", branch),
    ("control: an address from a secret", address),
    ("control: square and multiply by a secret", square_and_multiply),
    ("control: vartime_pow with a secret exponent", vartime_pow),
    ("control: vartime_msm with secret scalars", vartime_sum),
    ("control: vartime_msm with secret points", vartime_sum_of_secrets),
];

fn branch(rng: &mut SecretRng) {
    if rng.word() >> 63 == 1 {
        black_box(1);
    }
}

fn address(rng: &mut SecretRng) {
    let table: [u8; 256] = std::array::from_fn(|i| u8::try_from(i).unwrap_or(0));
    let place = usize::from(rng.word().to_le_bytes()[0]);
    black_box(black_box(&table)[place]);
}

/// What a careless author of a scheme would write.
fn square_and_multiply(rng: &mut SecretRng) {
    let scalar = Scalar::random(rng).to_bytes();
    let mut sum = G1Affine::identity() + G1Affine::identity();
    for bit in scalar.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)) {
        sum = sum.double();
        if bit == 1 {
            sum += G1Affine::generator();
        }
    }
    black_box(sum);
}

fn vartime_pow(rng: &mut SecretRng) {
    black_box(Scalar::from_u64(7).vartime_pow(rng.word()));
}

fn vartime_sum(rng: &mut SecretRng) {
    let points = [G1Affine::generator(); 40];
    let scalars: Vec<Scalar> = points.iter().map(|_| Scalar::random(rng)).collect();
    black_box(vartime_msm(&points, &scalars));
}

fn vartime_sum_of_secrets(rng: &mut SecretRng) {
    let mut point = || G1Affine::from(G1Affine::generator() * Scalar::random(rng));
    let points = set_up(|| [(); 40].map(|()| point()));
    black_box(vartime_msm(&points, &[Scalar::from_u64(5); 40]));
}
