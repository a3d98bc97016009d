//! Dealings in company: the same verdicts as alone, and errors of two that would cancel.

use prefinal_crypto_core::curve::{G1Affine, G1Projective, G2Affine, Scalar};
use prefinal_crypto_core::secret::Secret;
use rand_core::Rng;

use super::{dealt, resigned};
use crate::field::chunking::Bounds;
use crate::field::deal::Witness;
use crate::field::equations::{spoiled, weights};
use crate::field::layout::Layout;
use crate::field::{Dealing, DealingError, verify, verify_all};
use crate::fixture::{Committee, SLOW, as_dealer, party};
use crate::proof::ProofError;
use crate::shape::SharePath;

const FAULTS: usize = 9;

/// A dealing that only one check refuses; those with opposite signs would cancel.
fn faulty(committee: &mut Committee, dealer: u32, fault: usize, sign: Scalar) -> Dealing {
    let config = committee.config.clone();
    let layout = Layout::new(&config);
    let mut witness = Witness::random(&config, &layout, &mut committee.rng);
    if fault == 0 {
        // Share 0 of the slow path is another than the polynomial says.
        let mut values = witness.values.expose().clone();
        values[0] += Scalar::ONE;
        witness.values = Secret::new(values);
        let mut chunks = witness.chunks.expose().clone();
        chunks[0] += 1;
        witness.chunks = Secret::new(chunks);
    }
    let body = witness.encrypt(&layout);
    let author = as_dealer(&config, dealer, &committee.signers[party(dealer).index()]);
    let mut dealing = witness.publish(&author, body, None, &mut committee.rng).unwrap();
    let responses = &mut dealing.proof.responses;
    let mut secret = Secret::new(*witness.constant.expose());
    match fault {
        1 => responses.holders[1] += sign,
        2 => responses.levels[2] += sign,
        3 => responses.masks += sign,
        4 => responses.shares += sign,
        5 => secret = Secret::new(*secret.expose() + sign),
        6 => dealing.body.ciphertexts[2] = G1Affine::identity(),
        7 => dealing.proof.sums[3] = u64::MAX,
        _ => {}
    }
    let mut dealing = resigned(committee, &dealing, &secret);
    match fault {
        8 => {
            dealing.contribution.response += sign;
            let signer = committee.signer(dealer);
            dealing.signature = dealing.contribution.sign(&config, signer);
        }
        9 => dealing.contribution.nonce = G1Projective::generator().into(),
        _ => {}
    }
    dealing
}

fn expected(committee: &Committee, fault: usize) -> DealingError {
    match fault {
        0 => DealingError::Degree { path: SharePath::Slow, threshold: SLOW },
        1 | 3 => DealingError::Chunking,
        2 | 4 => DealingError::Sharing,
        5 => DealingError::Commitment,
        6 => DealingError::Identity { what: "ciphertext" },
        7 => {
            let most = Bounds::new(Layout::new(&committee.config).items).sum - 1;
            DealingError::Range { sum: 3, got: u64::MAX, most }
        }
        8 => ProofError::Knowledge.into(),
        _ => ProofError::Signature.into(),
    }
}

#[test]
fn any_company_gets_the_verdicts_it_gets_one_by_one() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let mut pool: Vec<Dealing> =
        (0..=FAULTS).map(|fault| faulty(&mut committee, 5, fault, Scalar::ONE)).collect();
    for dealer in 0..3 {
        pool.push(dealt(&mut committee, dealer));
    }
    let alone: Vec<_> = pool.iter().map(|one| verify(&config, one.clone()).map(|_| ())).collect();
    for (fault, verdict) in alone.iter().enumerate() {
        let expected = if fault <= FAULTS { Err(expected(&committee, fault)) } else { Ok(()) };
        assert_eq!(*verdict, expected, "{fault}");
    }
    let everybody = (0..pool.len()).collect();
    let mut companies: Vec<Vec<usize>> = vec![Vec::new(), vec![1], vec![12], everybody];
    for _ in 0..6 {
        let length = committee.rng.next_u32() % 6;
        let one = |_| usize::try_from(committee.rng.next_u32()).unwrap() % pool.len();
        companies.push((0..length).map(one).collect());
    }
    for company in companies {
        let dealings = company.iter().map(|one| pool[*one].clone()).collect();
        let verdicts = verify_all(&config, dealings).into_iter();
        let verdicts: Vec<_> = verdicts.map(|verdict| verdict.map(|_| ())).collect();
        let expected: Vec<_> = company.iter().map(|one| alone[*one].clone()).collect();
        assert_eq!(verdicts, expected, "{company:?}");
    }
}

#[test]
fn errors_of_two_dealers_are_both_named() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let honest = dealt(&mut committee, 2);
    for fault in [1, 2, 4, 5, 8] {
        let one = faulty(&mut committee, 0, fault, Scalar::ONE);
        let two = faulty(&mut committee, 3, fault, -Scalar::ONE);
        let verdicts = verify_all(&config, vec![one, honest.clone(), two]).into_iter();
        let errors: Vec<_> = verdicts.map(|verdict| verdict.map(|_| ())).collect();
        let expected = expected(&committee, fault);
        assert_eq!(errors, [Err(expected.clone()), Ok(()), Err(expected)], "{fault}");
    }
}

/// Sums of two dealings that are opposite, as two dealers find them who try many dealings each.
#[test]
fn opposite_sums_do_not_cancel() {
    let mut committee = Committee::new();
    let dealings = [dealt(&mut committee, 2), dealt(&mut committee, 3)];
    let error = G1Affine::generator();
    let (left, right) = ([error, -error], [G2Affine::identity(); 2]);
    let rho = weights(&committee.config, &[&dealings[0], &dealings[1]]);
    assert_eq!(spoiled(&left, &right, &rho), [0, 1].into());
    assert_eq!(spoiled(&left, &right, &[1, 1]), [].into(), "without weights they do");
    let swapped = weights(&committee.config, &[&dealings[1], &dealings[0]]);
    assert!(rho != swapped && rho[0] != rho[1]);
}
