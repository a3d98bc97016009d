//! ferveo-nucypher: verifiable sharing of a group element, as its key generation deals.
//!
//! | | ferveo | ours |
//! |---|---|---|
//! | curve | arkworks | blst |
//! | commitment | to coefficients, in 𝔾₁ | to values, in 𝔾₂; tested to be of low degree |
//! | encrypted shares | `ekᵢ^f(i)` in 𝔾₂ | ElGamal in 𝔾₁ |
//! | dealer | knows the secret: `h^s` | signs, and proves that it knows the secret |
//! | check | two pairings for each party | one product for all |
//!
//! What is compared is the same service to the caller: a dealing among `n` parties with one share
//! each, checked by anyone. Dealings are of different schemes, so their bytes cannot be equal; that
//! each accepts its own, and ferveo refuses one that was changed, is checked first.
use std::hint::black_box;

use ark_bls12_381::Bls12_381 as E;
use ark_std::test_rng;
use ferveo_nucypher::{DkgParams, PubliclyVerifiableDkg, PubliclyVerifiableSS, Validator};
use ferveo_nucypher_common::Keypair;
use prefinal_peers::{Contest, Times, sharing};

fn main() {
    let mut contest = Contest::new("ferveo", "ferveo-nucypher", include_str!("../Cargo.lock"));
    for &(t, n) in contest.committees() {
        share(&mut contest, t, n);
    }
    contest.finish();
}

fn share(contest: &mut Contest, t: u32, n: u32) {
    let rng = &mut test_rng();
    let validators: Vec<Validator<E>> = (0..n)
        .map(|index| {
            let key = Keypair::<E>::new(rng).public_key();
            Validator::new(format!("0x{index:040}"), key, index).unwrap()
        })
        .collect();
    let parameters = DkgParams::new(0, t, n).unwrap();
    let dkg = PubliclyVerifiableDkg::new(&validators, &parameters, &validators[0]).unwrap();
    let dealing = dkg.generate_transcript(rng).unwrap();
    let valid =
        |it: &PubliclyVerifiableSS<E>| it.verify_optimistic() && it.verify_full(&dkg).unwrap();
    assert!(valid(&dealing), "ferveo refuses its own");
    let mut changed = dealing.clone();
    changed.shares.swap(0, 1);
    assert!(!valid(&changed), "ferveo takes what was changed");

    let bytes = bincode::serialize(&dealing).unwrap();
    let decode = || bincode::deserialize::<PubliclyVerifiableSS<E>>(black_box(&bytes)).unwrap();
    assert_eq!(decode(), dealing);
    let ours = sharing::ours(contest, t, n);
    let case = format!("t={t} of {n}");
    for (operation, ours, theirs) in [
        ("pvss::deal", ours.deal, contest.time(|| dkg.generate_transcript(rng).unwrap())),
        ("pvss::decode", ours.decode, contest.time(decode)),
        ("pvss::verify", ours.verify, contest.time(|| valid(black_box(&dealing)))),
    ] {
        contest.row((operation, &case), Times { ours, theirs, limit: None });
    }
    contest.bytes(("pvss::dealing", &case), ours.bytes, bytes.len());
}
