//! A last dealer who puts other dealers' shares into its own dealing without knowing them.

use std::sync::Arc;

use prefinal_crypto_core::curve::{Affine, G2Projective, Group, Projective, Scalar};
use prefinal_crypto_core::generators::g_hat;
use prefinal_crypto_core::polynomial::Domain;

use super::aggregate::add;
use crate::config::Config;
use crate::deal::Openings;
use crate::dealing::{Body, Dealing, Sharing};
use crate::fixture::{Committee, WEIGHTS, as_dealer, party};
use crate::verify::{DealingError, check_sharing, verify};

/// Four of eleven shares, where the fast path takes nine.
const HEAVY: u32 = 5;

/// The values at all shares of the polynomial that is 1 at `HEAVY`'s first share and zero at all
/// shares of others and at 0. Of degree 8, so the degree test of the fast path lets it pass.
fn bump(config: &Config) -> Vec<Scalar> {
    let domain = Domain::new(WEIGHTS.iter().sum());
    let span = config.span(party(HEAVY));
    let points = &domain.points()[..config.shares()];
    let others = points.iter().enumerate().filter(|(k, _)| !span.contains(k));
    let roots: Vec<Scalar> = others.map(|(_, x)| *x).collect();
    let raw = |x: Scalar| roots.iter().fold(x, |product, root| product * (x - *root));
    let scale = raw(points[span.start]).invert().unwrap();
    points.iter().map(|x| raw(*x) * scale).collect()
}

/// Adds `bump[k]·(slow[first] − fast[first])` to every entry `k`.
fn entangle<G: Group>(own: &mut [Affine<G>], bump: &[Scalar], slow: Affine<G>, fast: Affine<G>) {
    let difference: Projective<G> = slow - fast;
    for (point, weight) in own.iter_mut().zip(bump) {
        *point = (difference * *weight + *point).into();
    }
}

/// What the last dealer adds to its own body, given the sum of all others.
fn entangled(config: &Config, own: &Body, others: &Body) -> Body {
    let (bump, first) = (bump(config), config.span(party(HEAVY)).start);
    let mut body = own.clone();
    let (slow, fast) = (&others.slow, others.fast.as_ref().unwrap());
    let target: &mut Sharing = body.fast.as_mut().unwrap();
    let lists = |it: &Sharing| (it.commitments[first], it.ephemerals[first], it.ciphertexts[first]);
    let ((v, r, c), (v_fast, r_fast, c_fast)) = (lists(slow), lists(fast));
    entangle(&mut target.commitments, &bump, v, v_fast);
    entangle(&mut target.ephemerals, &bump, r, r_fast);
    entangle(&mut target.ciphertexts, &bump, c, c_fast);
    body
}

#[test]
fn a_slow_share_is_not_carried_over_to_the_fast_path() {
    let mut committee = Committee::new();
    let config = Arc::clone(&committee.config);
    let others = [committee.deal_verified(0), committee.deal_verified(2)];
    let others = add(&others[0].body, &others[1].body);
    let own = Openings::random(&config, &mut committee.rng);
    let body = entangled(&config, &own.commit(&config), &others);

    // In the sum, the heavy party's first share would be the same on both paths, up to what the
    // last dealer knows: with a fast partial the slow one would be out.
    let sum = add(&others, &body);
    let first = config.span(party(HEAVY)).start;
    let known = |openings: &crate::deal::SharingOpenings| openings.values.expose()[first];
    let without = |commitments: &[Affine<_>], own: Scalar| -> G2Projective {
        g_hat() * -own + commitments[first]
    };
    assert_eq!(
        without(&sum.slow.commitments, known(&own.slow)),
        without(&sum.fast.unwrap().commitments, known(own.fast.as_ref().unwrap())),
    );

    // As a sharing nothing is wrong with it, and the secret is known to the dealer,
    let signer = committee.signers[party(3).index()].to_secret_bytes();
    let signer = prefinal_crypto_core::bls::min_sig::SecretKey::from_secret_bytes(&signer).unwrap();
    let dealing = as_dealer(&config, 3, &signer).publish(body, &own, &mut committee.rng);
    let Dealing { contribution, signature, body, .. } = &dealing;
    assert_eq!(check_sharing(&config, &contribution.commitment, body, &[0; 32]), Ok(()));
    assert_eq!(contribution.check_signature(&config, signature), Ok(()));
    assert_eq!(contribution.check_knowledge(&config), Ok(()));
    // but its shares are not.
    assert_eq!(verify(&config, dealing).unwrap_err(), DealingError::Opening);
}

#[test]
fn the_proof_of_another_dealing_does_not_pass() {
    let mut committee = Committee::new();
    let opening = committee.deal(3).opening;
    let transplanted = Dealing { opening, ..committee.deal(3) };
    let refused = verify(&committee.config, transplanted);
    assert_eq!(refused.unwrap_err(), DealingError::Opening);
}
