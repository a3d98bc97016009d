//! A generator that comes back in the same state: a restored image, a stored seed, nothing but zeros.

use std::collections::BTreeSet;

use prefinal_crypto_core::context::ChainId;
use prefinal_crypto_core::curve::{Affine, G1Affine, Group, Scalar};
use prefinal_crypto_core::secret::Secret;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::config::{Config, Session};
use crate::deal::deal;
use crate::dealing::Dealing;
use crate::field;
use crate::fixture::{Committee, FAST, SLOW, WEIGHTS, party, session, shape};
use crate::opening::{Opening, Statement};
use crate::proof::Contribution;
use crate::purpose::Purpose;

/// Every point and every scalar in a dealing.
type Values = BTreeSet<Vec<u8>>;

fn again() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(0x5eed)
}

fn points<G: Group>(points: &[Affine<G>]) -> Values {
    points.iter().map(|point| point.to_bytes().as_ref().to_vec()).collect()
}

fn scalars(scalars: &[Scalar]) -> Values {
    scalars.iter().map(|scalar| scalar.to_bytes().to_vec()).collect()
}

fn of_contribution(one: &Contribution) -> Values {
    &points(&[one.commitment, one.nonce]) | &scalars(&[one.response])
}

fn of_group(dealing: &Dealing) -> Values {
    let Dealing { contribution, signature, opening, body } = dealing;
    let mut values = of_contribution(contribution);
    values.insert(signature.to_bytes().to_vec());
    values.extend(points(&[opening.nonce, body.public_key]));
    values.extend(scalars(&[opening.response]));
    for (_, sharing) in body.sharings() {
        values.extend(points(&sharing.commitments));
        values.extend(points(&sharing.ephemerals));
        values.extend(points(&sharing.ciphertexts));
    }
    values
}

pub(crate) fn of_field(dealing: &field::Dealing) -> Values {
    let field::Dealing { contribution, signature, body, proof, .. } = dealing;
    let mut values = of_contribution(contribution);
    values.insert(signature.to_bytes().to_vec());
    values.extend(points(&[body.public_key, proof.nonces.commitment]));
    values.extend(points(&body.commitments));
    let (masks, nonces, responses) = (&proof.masks, &proof.nonces, &proof.responses);
    let lists = [&body.ephemerals, &body.ciphertexts, &masks.ephemerals, &masks.ciphertexts];
    let lists = lists.into_iter().chain([&nonces.holders, &nonces.levels]);
    lists.for_each(|list| values.extend(points(list)));
    values.extend(points(&[nonces.masks, nonces.chunks, nonces.shares]));
    values.extend(scalars(&[responses.masks, responses.shares]));
    values.extend(scalars(&responses.holders));
    values.extend(scalars(&responses.levels));
    values.extend(proof.sums.iter().map(|sum| sum.to_be_bytes().to_vec()));
    values
}

/// The standard session, and each that differs from it in one thing.
fn sessions() -> Vec<Session> {
    let standard = session();
    let mut others = [standard; 4];
    others[0].attempt = 1;
    others[1].context.epoch = standard.context.epoch.next();
    others[2].context.chain = ChainId::new([8; 32]);
    others[3].purpose = Purpose::Decryption;
    [vec![standard], others.to_vec()].concat()
}

/// What all dealers of a kind make in all sessions, each from the same state of the generator.
fn from_one_state(values: impl Fn(&Config, u32, &Committee) -> Values) -> Vec<Values> {
    let committees = sessions().into_iter().map(|session| {
        let committee = Committee::with(session, shape(&WEIGHTS, SLOW, Some(FAST)), 1);
        [0, 3].map(|dealer| values(&committee.config, dealer, &committee))
    });
    committees.flatten().collect()
}

fn assert_nothing_in_common(dealings: &[Values]) {
    for (at, one) in dealings.iter().enumerate() {
        for other in &dealings[at + 1..] {
            assert!(one.len() > 60 && one.is_disjoint(other));
        }
    }
}

#[test]
fn no_two_sessions_have_a_value_in_common() {
    assert_nothing_in_common(&from_one_state(|config, dealer, committee| {
        let signer = committee.signer(dealer);
        of_group(&deal(config, party(dealer), signer, &mut again()).unwrap())
    }));
}

#[test]
fn nor_do_dealings_of_field_elements() {
    assert_nothing_in_common(&from_one_state(|config, dealer, committee| {
        let signer = committee.signer(dealer);
        of_field(&field::deal(config, party(dealer), signer, &mut again()).unwrap())
    }));
}

#[test]
fn fresh_randomness_counts() {
    let committee = Committee::new();
    let deal = |state| {
        let mut rng = ChaCha20Rng::seed_from_u64(state);
        of_group(&deal(&committee.config, party(0), committee.signer(0), &mut rng).unwrap())
    };
    assert_nothing_in_common(&[deal(1), deal(2)]);
    assert_eq!(deal(1), deal(1));
}

/// With one nonce `κ` for two statements, `(z − z')/(c − c')` is the secret.
#[test]
fn one_secret_is_proven_twice_with_two_nonces() {
    let committee = Committee::new();
    let secret = Secret::new(Scalar::from_u64(0x5ec7e7));
    let [one, other] = [[1; 32], [2; 32]]
        .map(|body| Contribution::prove(&committee.config, party(0), body, &secret, &mut again()));
    assert_ne!(one.nonce, other.nonce);
    let dealers = [0, 3].map(|dealer| {
        Contribution::prove(&committee.config, party(dealer), [1; 32], &secret, &mut again()).nonce
    });
    assert_ne!(dealers[0], dealers[1]);

    let dealing = deal(&committee.config, party(0), committee.signer(0), &mut again()).unwrap();
    let shares = vec![Scalar::ONE; 2 * committee.config.shares()];
    let opened = [G1Affine::generator(), dealing.contribution.commitment].map(|commitment| {
        let (config, body) = (&*committee.config, &dealing.body);
        let statement = Statement { config, dealer: party(0), commitment: &commitment, body };
        Opening::prove(&statement, shares.iter(), &mut again()).nonce
    });
    assert_ne!(opened[0], opened[1]);
}
