//! Dealings in company: the same verdicts as alone, and errors of two that would cancel.

use prefinal_crypto_core::curve::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use prefinal_crypto_core::generators::g_hat;
use prefinal_crypto_core::polynomial::Polynomial;
use prefinal_crypto_core::secret::Secret;
use rand_core::Rng;

use crate::deal::Openings;
use crate::dealing::{Body, Dealing};
use crate::fixture::{Committee, SLOW, WEIGHTS, as_dealer, party};
use crate::proof::ProofError;
use crate::verify::{DealingError, SharingError, verify, verify_all};

type Change = dyn Fn(&mut Openings, &mut Body);

/// Dealt with changed secrets and body, everything remade honestly.
fn changed(committee: &mut Committee, dealer: u32, change: &Change) -> Dealing {
    let config = committee.config.clone();
    let mut openings = Openings::random(&config, &mut committee.rng);
    let mut body = openings.commit(&config);
    change(&mut openings, &mut body);
    let signer = &committee.signers[party(dealer).index()];
    as_dealer(&config, dealer, signer).publish(body, &openings, &mut committee.rng)
}

/// Signs again what was changed after it was dealt.
fn resigned(committee: &Committee, mut dealing: Dealing) -> Dealing {
    let signer = committee.signer(dealing.dealer().get());
    dealing.signature = dealing.contribution.sign(&committee.config, signer);
    dealing
}

/// Changes the answer of the opening and proves and signs around it.
fn misanswered(committee: &mut Committee, dealer: u32, by: Scalar) -> Dealing {
    let config = committee.config.clone();
    let openings = Openings::random(&config, &mut committee.rng);
    let body = openings.commit(&config);
    let signer = &committee.signers[party(dealer).index()];
    let mut dealing =
        as_dealer(&config, dealer, signer).publish(body, &openings, &mut committee.rng);
    dealing.opening.response += by;
    let seal = dealing.opening.seal(&dealing.body);
    let (secret, rng) = (&openings.constant, &mut committee.rng);
    dealing.contribution =
        crate::proof::Contribution::prove(&config, party(dealer), seal, secret, rng);
    resigned(committee, dealing)
}

fn shifted(point: G1Affine, by: Scalar) -> G1Affine {
    (G1Projective::generator() * by + point).into()
}

fn shifted_hat(point: G2Affine, by: Scalar) -> G2Affine {
    G2Projective::from(g_hat() * by + point).into()
}

/// Values of a polynomial of degree `SLOW`, one too many, with root 0.
fn too_high(sign: Scalar) -> Vec<Scalar> {
    let mut rng = Committee::new().rng;
    let t = std::num::NonZeroU32::new(SLOW + 1).unwrap();
    let polynomial = Polynomial::random(t, &Secret::new(Scalar::ZERO), &mut rng);
    let domain = prefinal_crypto_core::polynomial::Domain::new(WEIGHTS.iter().sum());
    polynomial.evaluate_over(&domain).expose().iter().map(|value| sign * *value).collect()
}

/// A dealing that only one check refuses; those with opposite signs would cancel.
fn faulty(committee: &mut Committee, dealer: u32, fault: usize, sign: Scalar) -> Dealing {
    match fault {
        0 => changed(committee, dealer, &move |_, body| {
            body.slow.ciphertexts[10] = shifted(body.slow.ciphertexts[10], sign);
        }),
        1 => {
            let config = committee.config.clone();
            let mut openings = Openings::random(&config, &mut committee.rng);
            let values = openings.slow.values.expose().iter().zip(too_high(sign));
            openings.slow.values = Secret::new(values.map(|(a, b)| *a + b).collect());
            let body = openings.commit(&config);
            let signer = &committee.signers[party(dealer).index()];
            as_dealer(&config, dealer, signer).publish(body, &openings, &mut committee.rng)
        }
        2 => changed(committee, dealer, &move |openings, _| {
            openings.constant = Secret::new(*openings.constant.expose() + sign);
        }),
        3 => {
            let mut dealing = committee.deal(dealer);
            dealing.contribution.response += sign;
            resigned(committee, dealing)
        }
        4 => misanswered(committee, dealer, sign),
        5 => changed(committee, dealer, &move |_, body| {
            body.slow.ephemerals[3] = shifted(body.slow.ephemerals[3], sign);
        }),
        6 => {
            let mut dealing = committee.deal(dealer);
            dealing.contribution.body[0] ^= 1;
            dealing
        }
        7 => changed(committee, dealer, &|_, body| body.slow.ciphertexts.truncate(3)),
        8 => changed(committee, dealer, &|_, body| body.public_key = G2Affine::identity()),
        _ => changed(committee, dealer, &move |_, body| {
            body.public_key = shifted_hat(body.public_key, sign);
        }),
    }
}

const FAULTS: usize = 10;

fn expected(fault: usize) -> DealingError {
    match fault {
        0 => SharingError::Ciphertext { party: party(6) }.into(),
        1 => SharingError::Degree { path: crate::shape::SharePath::Slow, threshold: SLOW }.into(),
        2 | 9 => SharingError::Commitment.into(),
        3 => ProofError::Knowledge.into(),
        4 => DealingError::Opening,
        5 => SharingError::Ciphertext { party: party(2) }.into(),
        6 => ProofError::Signature.into(),
        7 => SharingError::Size {
            what: "ciphertexts",
            path: crate::shape::SharePath::Slow,
            got: 3,
            expected: 11,
        }
        .into(),
        _ => DealingError::Identity { what: "public key" },
    }
}

#[test]
fn any_company_gets_the_verdicts_it_gets_one_by_one() {
    let mut committee = Committee::new();
    let honest: Vec<Dealing> = (0..4).map(|dealer| committee.deal(dealer)).collect();
    let pool: Vec<Dealing> = (0..FAULTS)
        .map(|fault| faulty(&mut committee, 5, fault, Scalar::ONE))
        .chain(honest)
        .collect();
    let config = committee.config.clone();
    let alone: Vec<_> = pool.iter().map(|one| verify(&config, one.clone()).map(|_| ())).collect();
    for (fault, verdict) in alone.iter().enumerate() {
        let expected = if fault < FAULTS { Err(expected(fault)) } else { Ok(()) };
        assert_eq!(*verdict, expected);
    }
    let everybody = (0..pool.len()).collect();
    let mut companies: Vec<Vec<usize>> = vec![Vec::new(), vec![3], vec![12], everybody];
    for _ in 0..12 {
        let length = committee.rng.next_u32() % 7;
        let one = |_| usize::try_from(committee.rng.next_u32()).unwrap() % pool.len();
        companies.push((0..length).map(one).collect());
    }
    for company in companies {
        let dealings: Vec<Dealing> = company.iter().map(|one| pool[*one].clone()).collect();
        let verdicts = verify_all(&config, dealings.clone());
        assert_eq!(verdicts.len(), company.len());
        for ((verdict, one), dealing) in verdicts.into_iter().zip(&company).zip(dealings) {
            match verdict {
                Ok(verified) => {
                    assert_eq!((Ok(()), dealing), (alone[*one].clone(), verified.into_inner()))
                }
                Err(error) => assert_eq!(Err(error), alone[*one], "{company:?}"),
            }
        }
    }
}

/// Each pair would pass if its two equations had one weight.
#[test]
fn errors_of_two_dealers_do_not_cancel() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let honest = committee.deal(2);
    for fault in [0, 1, 2, 3, 4, 9] {
        let one = faulty(&mut committee, 0, fault, Scalar::ONE);
        let two = faulty(&mut committee, 3, fault, -Scalar::ONE);
        let verdicts = verify_all(&config, vec![one, honest.clone(), two]);
        let errors: Vec<_> = verdicts.into_iter().map(|verdict| verdict.map(|_| ())).collect();
        assert_eq!(errors, [Err(expected(fault)), Ok(()), Err(expected(fault))], "{fault}");
    }
}
