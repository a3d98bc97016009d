//! A dealer who controls every secret and every bit of its dealing, and signs it.

use std::num::NonZeroU32;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::curve::{G1Affine, G1Projective, G2Affine, Scalar};
use prefinal_crypto_core::polynomial::{Domain, Polynomial};
use prefinal_crypto_core::secret::Secret;
use rand_chacha::ChaCha20Rng;

use crate::config::{Config, Session};
use crate::deal::Openings;
use crate::dealing::{Body, Dealing, Sharing};
use crate::fixture::{Committee, FAST, SLOW, WEIGHTS, as_dealer, party, session, shape};
use crate::opening::Opening;
use crate::proof::{Contribution, ProofError};
use crate::shape::SharePath;
use crate::verify::{DealingError, SharingError, verify};

const DEALER: u32 = 3;

/// Deals with changed secrets and a changed body, proves and signs, and says what verification says.
fn verdict(
    committee: &mut Committee,
    secrets: impl FnOnce(&Config, &mut Openings, &mut ChaCha20Rng),
    change: impl FnOnce(&Config, &Openings, &mut Body),
) -> Result<(), DealingError> {
    let config = committee.config.clone();
    let mut openings = Openings::random(&config, &mut committee.rng);
    secrets(&config, &mut openings, &mut committee.rng);
    let mut body = openings.commit(&config);
    change(&config, &openings, &mut body);
    let signer = &committee.signers[party(DEALER).index()];
    let rng = &mut committee.rng;
    let dealing = as_dealer(&config, DEALER, signer).publish(body, &openings, rng);
    verify(&config, dealing).map(|_| ())
}

fn with_secrets(
    secrets: impl FnOnce(&Config, &mut Openings, &mut ChaCha20Rng),
) -> Result<(), DealingError> {
    verdict(&mut Committee::new(), secrets, |_, _, _| ())
}

fn with_body(change: impl FnOnce(&mut Body)) -> Result<(), DealingError> {
    verdict(&mut Committee::new(), |_, _, _| (), |_, _, body| change(body))
}

/// All shares of a random polynomial with `t` coefficients.
fn values(t: u32, constant: Scalar, rng: &mut ChaCha20Rng) -> Secret<Vec<Scalar>> {
    let t = NonZeroU32::new(t).unwrap();
    let polynomial = Polynomial::random(t, &Secret::new(constant), rng);
    polynomial.evaluate_over(&Domain::new(WEIGHTS.iter().sum()))
}

fn edited(list: &Secret<Vec<Scalar>>, edit: impl FnOnce(&mut Vec<Scalar>)) -> Secret<Vec<Scalar>> {
    let mut list = list.expose().clone();
    edit(&mut list);
    Secret::new(list)
}

fn degree(path: SharePath, threshold: u32) -> Result<(), DealingError> {
    Err(SharingError::Degree { path, threshold }.into())
}

fn ciphertext(recipient: u32) -> Result<(), DealingError> {
    Err(SharingError::Ciphertext { party: party(recipient) }.into())
}

fn fast(body: &mut Body) -> &mut Sharing {
    body.fast.as_mut().unwrap()
}

#[test]
fn an_honest_dealing_passes() {
    assert_eq!(with_body(|_| ()), Ok(()));
    for (slow, fast) in [(1, Some(1)), (11, Some(11)), (6, None)] {
        let mut committee = Committee::with(session(), shape(&WEIGHTS, slow, fast), 1);
        assert!(verdict(&mut committee, |_, _, _| (), |_, _, _| ()).is_ok(), "{slow} {fast:?}");
    }
}

#[test]
fn a_degree_too_high() {
    let slow = with_secrets(|_, openings, rng| {
        openings.slow.values = values(SLOW + 1, *openings.constant.expose(), rng);
    });
    assert_eq!(slow, degree(SharePath::Slow, SLOW));
    let fast = with_secrets(|_, openings, rng| {
        let constant = *openings.constant.expose();
        openings.fast.as_mut().unwrap().values = values(FAST + 1, constant, rng);
    });
    assert_eq!(fast, degree(SharePath::Fast, FAST));
}

#[test]
fn a_threshold_of_all_shares_still_ties_the_secret() {
    let mut committee = Committee::with(session(), shape(&WEIGHTS, 11, None), 1);
    let other_secret = |_: &Config, openings: &mut Openings, rng: &mut ChaCha20Rng| {
        openings.slow.values = values(11, Scalar::random(rng), rng);
    };
    assert_eq!(verdict(&mut committee, other_secret, |_, _, _| ()), degree(SharePath::Slow, 11));
}

#[test]
fn two_secrets() {
    let verdict = with_secrets(|_, openings, rng| {
        openings.fast.as_mut().unwrap().values = values(FAST, Scalar::random(rng), rng);
    });
    assert_eq!(verdict, degree(SharePath::Fast, FAST));
}

#[test]
fn two_secrets_equally_far_from_the_commitment() {
    // Were the degree sums to have a constant term in `z`, these two errors would cancel.
    let verdict = with_secrets(|_, openings, rng| {
        let (constant, shift) = (*openings.constant.expose(), Scalar::random(rng));
        openings.slow.values = values(SLOW, constant + shift, rng);
        openings.fast.as_mut().unwrap().values = values(FAST, constant - shift, rng);
    });
    assert_eq!(verdict, degree(SharePath::Slow, SLOW));
}

#[test]
fn opposite_errors_in_both_degrees() {
    // Were both paths tested at one `z`, these two errors would cancel.
    let mut committee = Committee::with(session(), shape(&WEIGHTS, 6, Some(6)), 1);
    let opposite = |_: &Config, openings: &mut Openings, rng: &mut ChaCha20Rng| {
        let error = values(7, Scalar::ZERO, rng);
        let shift = |list: &mut Vec<Scalar>, sign: Scalar| {
            list.iter_mut().zip(error.expose()).for_each(|(value, e)| *value += sign * *e);
        };
        openings.slow.values = edited(&openings.slow.values, |list| shift(list, Scalar::ONE));
        let fast = openings.fast.as_mut().unwrap();
        fast.values = edited(&fast.values, |list| shift(list, -Scalar::ONE));
    };
    assert_eq!(verdict(&mut committee, opposite, |_, _, _| ()), degree(SharePath::Slow, 6));
}

#[test]
fn commitments_to_two_secrets() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let mut openings = Openings::random(&config, &mut committee.rng);
    let body = openings.commit(&config);
    openings.constant = Secret::new(Scalar::random(&mut committee.rng));
    let signer = &committee.signers[party(DEALER).index()];
    let dealing = as_dealer(&config, DEALER, signer).publish(body, &openings, &mut committee.rng);
    assert_eq!(verify(&config, dealing).unwrap_err(), SharingError::Commitment.into());
}

#[test]
fn ciphertexts_swapped() {
    // Share 0 is party 0's, share 9 party 5's: the first culprit is named.
    assert_eq!(with_body(|body| body.slow.ciphertexts.swap(0, 9)), ciphertext(0));
    assert_eq!(with_body(|body| fast(body).ciphertexts.swap(3, 9)), ciphertext(2));
    // Both of party 3.
    assert_eq!(with_body(|body| body.slow.ciphertexts.swap(4, 5)), ciphertext(3));
    // Between the paths.
    let crossed = with_body(|body| {
        let fast = body.fast.as_mut().unwrap();
        std::mem::swap(&mut body.slow.ciphertexts[10], &mut fast.ciphertexts[10]);
    });
    assert_eq!(crossed, ciphertext(6));
}

#[test]
fn recipients_permuted() {
    let moved = with_body(|body| {
        body.slow.ciphertexts.swap(2, 3);
        body.slow.ephemerals.swap(2, 3);
    });
    assert_eq!(moved, ciphertext(0));
    // Encrypted to a committee in another order.
    let mut committee = Committee::new();
    let mut members = committee.config.members().to_vec();
    let (first, second) = (members[2].encryption.clone(), members[6].encryption.clone());
    (members[2].encryption, members[6].encryption) = (second, first);
    let config = committee.config.clone();
    let shape = config.shape().clone();
    let other = Config::new(*config.session(), shape, members, config.qualify()).unwrap();
    let permuted =
        |_: &Config, openings: &Openings, body: &mut Body| *body = openings.commit(&other);
    assert_eq!(verdict(&mut committee, |_, _, _| (), permuted), ciphertext(2));
}

#[test]
fn commitments_to_other_shares() {
    // A second polynomial of the right degree through the same secret.
    let verdict = verdict(
        &mut Committee::new(),
        |_, _, _| (),
        |config, openings, body| {
            let mut rng = Committee::new().rng;
            let mut other = Openings::random(config, &mut rng);
            other.slow.values = values(SLOW, *openings.constant.expose(), &mut rng);
            body.slow.commitments = other.commit(config).slow.commitments;
        },
    );
    assert_eq!(verdict, ciphertext(0));
}

#[test]
fn an_ephemeral_key_of_another_ciphertext() {
    assert_eq!(with_body(|body| body.slow.ephemerals.swap(5, 6)), ciphertext(3));
    assert_eq!(with_body(|body| fast(body).ephemerals.swap(0, 1)), ciphertext(0));
}

#[test]
fn opposite_errors_in_two_ciphertexts() {
    let shift = |point: &mut G1Affine, by: G1Projective| *point = (*point + by.into()).into();
    let error = G1Projective::generator();
    let one_party = with_body(|body| {
        shift(&mut body.slow.ciphertexts[1], error);
        shift(&mut body.slow.ciphertexts[2], -error);
    });
    assert_eq!(one_party, ciphertext(0));
    let two_paths = with_body(|body| {
        shift(&mut body.slow.ciphertexts[3], error);
        shift(&mut fast(body).ciphertexts[3], -error);
    });
    assert_eq!(two_paths, ciphertext(2));
    let two_parties = with_body(|body| {
        shift(&mut body.slow.ciphertexts[3], error);
        shift(&mut body.slow.ciphertexts[10], -error);
    });
    assert_eq!(two_parties, ciphertext(2));
}

#[test]
fn identities() {
    let identity = |what| Err(DealingError::Identity { what });
    let nothing = with_secrets(|_, openings, rng| {
        openings.constant = Secret::new(Scalar::ZERO);
        openings.slow.values = values(SLOW, Scalar::ZERO, rng);
        openings.fast.as_mut().unwrap().values = values(FAST, Scalar::ZERO, rng);
    });
    assert_eq!(nothing, identity("commitment"));
    assert_eq!(with_body(|body| body.public_key = G2Affine::identity()), identity("public key"));
    let in_the_clear = with_secrets(|_, openings, _| {
        openings.slow.randomness = edited(&openings.slow.randomness, |r| r[4] = Scalar::ZERO);
    });
    assert_eq!(in_the_clear, identity("ephemeral key"));
    let fast_in_the_clear = with_secrets(|_, openings, _| {
        let fast = openings.fast.as_mut().unwrap();
        fast.randomness = edited(&fast.randomness, |r| r.fill(Scalar::ZERO));
    });
    assert_eq!(fast_in_the_clear, identity("ephemeral key"));
    // `s·(1 − X)` has degree 1 and a root at the first point, 1.
    let known_share = with_secrets(|_, openings, _| {
        let constant = *openings.constant.expose();
        let domain = Domain::new(WEIGHTS.iter().sum());
        let line = domain.points().iter().map(|x| constant * (Scalar::ONE - *x)).collect();
        openings.slow.values = Secret::new(line);
    });
    assert_eq!(known_share, identity("share commitment"));
    let no_lock = with_body(|body| fast(body).ciphertexts[0] = G1Affine::identity());
    assert_eq!(no_lock, identity("ciphertext"));
}

#[test]
fn sizes() {
    let size = |what, path, got, expected| {
        Err(DealingError::Sharing(SharingError::Size { what, path, got, expected }))
    };
    let short = with_body(|body| body.slow.commitments.truncate(10));
    assert_eq!(short, size("commitments", SharePath::Slow, 10, 11));
    let long = with_body(|body| fast(body).ephemerals.push(G1Affine::generator()));
    assert_eq!(long, size("ephemeral keys", SharePath::Fast, 12, 11));
    let none = with_body(|body| body.slow.ciphertexts.clear());
    assert_eq!(none, size("ciphertexts", SharePath::Slow, 0, 11));
    let missing = with_body(|body| body.fast = None);
    assert_eq!(missing, size("commitments", SharePath::Fast, 0, 11));
    let mut slow_only = Committee::with(session(), shape(&WEIGHTS, SLOW, None), 1);
    let extra =
        verdict(&mut slow_only, |_, _, _| (), |_, _, body| body.fast = Some(body.slow.clone()));
    assert_eq!(extra, size("commitments", SharePath::Fast, 11, 0));
}

/// In dealings that are refused before it is looked at.
pub(super) fn unproven() -> Opening {
    Opening { nonce: G2Affine::identity(), response: Scalar::ZERO }
}

/// Signs `contribution` as it is and puts it on the body of `dealing`.
fn resigned(committee: &Committee, dealing: &Dealing, contribution: Contribution) -> Dealing {
    let signer = committee.signer(contribution.dealer.get());
    let signature = contribution.sign(&committee.config, signer);
    Dealing { contribution, signature, ..dealing.clone() }
}

/// Configurations that differ from the standard one in one thing.
fn other_configs() -> Vec<Committee> {
    let Session { context: Context { chain, epoch }, purpose, .. } = session();
    let run =
        |chain, epoch, attempt| Session { context: Context { chain, epoch }, attempt, purpose };
    let shape = |weights, slow, fast| shape(weights, slow, Some(fast));
    let standard = || shape(&WEIGHTS, SLOW, FAST);
    vec![
        Committee::with(run(ChainId::new([8; 32]), epoch, 0), standard(), 1),
        Committee::with(run(chain, EpochId::new(4), 0), standard(), 1),
        Committee::with(run(chain, epoch, 1), standard(), 1),
        Committee::with(session(), shape(&WEIGHTS, SLOW, FAST + 1), 1),
        Committee::with(session(), shape(&[3, 0, 1, 2, 1, 3, 1], SLOW, FAST), 1),
    ]
}

#[test]
fn a_proof_of_another_session_or_committee() {
    let mut committee = Committee::new();
    for mut other in other_configs() {
        assert_ne!(other.config.digest(), committee.config.digest());
        let config = other.config.clone();
        let openings = Openings::random(&committee.config, &mut other.rng);
        let body = openings.commit(&committee.config);
        let (secret, rng) = (&openings.constant, &mut other.rng);
        let contribution = Contribution::prove(&config, party(DEALER), body.digest(), secret, rng);
        let signature = contribution.sign(&config, other.signer(DEALER));
        let foreign = Dealing { contribution, signature, opening: unproven(), body };
        let replayed = verify(&committee.config, foreign.clone());
        assert_eq!(replayed.unwrap_err(), ProofError::Signature.into());
        // Signed for this session, but the proof is the old one.
        let dealing = resigned(&committee, &foreign, foreign.contribution.clone());
        let refused = verify(&committee.config, dealing);
        assert_eq!(refused.unwrap_err(), ProofError::Knowledge.into());
    }
    assert!(verify(&committee.config.clone(), committee.deal(DEALER)).is_ok());
}

#[test]
fn a_proof_copied_with_its_commitment() {
    let mut committee = Committee::new();
    let original = committee.deal(DEALER);
    let copy = Contribution { dealer: party(5), ..original.contribution.clone() };
    let stolen = resigned(&committee, &original, copy);
    let refused = verify(&committee.config, stolen);
    assert_eq!(refused.unwrap_err(), ProofError::Knowledge.into());
    // On another dealing of the same dealer, with the same secret or not.
    let mut second = committee.deal(DEALER);
    let body = second.contribution.body;
    second = resigned(&committee, &second, Contribution { body, ..original.contribution });
    let refused = verify(&committee.config, second);
    assert_eq!(refused.unwrap_err(), ProofError::Knowledge.into());
}

#[test]
fn a_dealing_in_the_name_of_another() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let mut dealing = committee.deal(DEALER);
    let thief = committee.signer(5);
    dealing.signature = dealing.contribution.sign(&config, thief);
    assert_eq!(verify(&config, dealing).unwrap_err(), ProofError::Signature.into());
    let mut nobody = committee.deal(DEALER);
    nobody.contribution.dealer = Party::new(7);
    let unknown = ProofError::Dealer { dealer: 7, members: 7 };
    assert_eq!(verify(&config, nobody).unwrap_err(), unknown.into());
}

#[test]
fn a_sharing_of_zero_added_under_the_dealers_name() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let honest = committee.deal(DEALER);
    let mut zero = Openings::random(&config, &mut committee.rng);
    zero.constant = Secret::new(Scalar::ZERO);
    zero.slow.values = values(SLOW, Scalar::ZERO, &mut committee.rng);
    zero.fast.as_mut().unwrap().values = values(FAST, Scalar::ZERO, &mut committee.rng);
    let zero = zero.commit(&config);
    let mauled = super::aggregate::add(&honest.body, &zero);
    let mut bytes = honest.to_bytes();
    bytes.truncate(1 + 4 + 48 + 48 + 32 + 48 + 128);
    mauled.write(&mut bytes);
    // The sharing itself is as good as the dealer's own.
    let origin = [0; 32];
    let commitment = honest.contribution.commitment;
    assert_eq!(crate::verify::check_sharing(&config, &commitment, &mauled, &origin), Ok(()));
    let dealing = Dealing::from_bytes(&config, &bytes).unwrap();
    assert_eq!(verify(&config, dealing).unwrap_err(), ProofError::Signature.into());
}
