//! Partials that are wrong, and whom they are wrong for.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{MinSig, Variant};
use prefinal_crypto_core::curve::{Affine, Projective, Scalar};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_crypto_core::threshold::{MisuseError, Partial, PartialError, QuorumError};

use super::fixture::{Dealt, HOLDERS, T, forged, message, parties, party, subsets, weight};

super::placed_suite!(
    every_set_of_culprits_is_named_exactly,
    errors_that_cancel_between_parties_are_caught,
    errors_that_cancel_within_a_party_are_caught,
    errors_that_cancel_in_the_result_pass_the_optimist_and_are_harmless,
    a_partial_is_its_partys_in_its_order,
    partials_of_another_committee_are_refused,
    a_party_that_holds_nothing_or_is_nobody_does_not_count,
    a_partial_has_one_point_for_each_share,
);

fn every_set_of_culprits_is_named_exactly<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 41);
    for liars in subsets().filter(|set| !set.is_empty()) {
        let all = dealt.wrong(&liars, &message());
        let faulty = QuorumError::Faulty { culprits: parties(&liars) };
        let verdict = dealt.committee.verify_all(&message(), all.clone());
        assert_eq!(verdict.unwrap_err(), faulty, "{liars:?}");
        assert_eq!(dealt.committee.check_all(&message(), &all), Err(faulty.clone()));
    }
}

#[test]
fn the_optimist_names_culprits_when_the_result_is_wrong() {
    let dealt = Dealt::<MinSig>::new(Placement::RootsOfUnity, 42);
    let signature = dealt.key.sign(super::fixture::DOMAIN, b"message");
    let (mut wrong, mut unused) = (0, 0);
    for liars in subsets().filter(|set| !set.is_empty()) {
        let quorum = dealt.committee.optimistic(&message(), dealt.wrong(&liars, &message()));
        match quorum.unwrap().combine() {
            Err(error) => {
                assert_eq!(error, QuorumError::Faulty { culprits: parties(&liars) });
                wrong += 1;
            }
            // None of the liars' shares were needed.
            Ok(valid) => {
                assert_eq!(valid, signature, "{liars:?}");
                unused += 1;
            }
        }
    }
    assert!(wrong > 20 && unused > 0, "{wrong} {unused}");
}

/// Adds `Σ`-preserving errors to single points.
fn moved<V: Variant>(
    partials: &mut BTreeMap<Party, Partial<V>>,
    (at, place): (u32, usize),
    by: Scalar,
) {
    let mut points = partials[&party(at)].points().to_vec();
    let error = Projective::generator() * by;
    points[place] = (error + points[place]).to_affine();
    partials.insert(party(at), forged(&points));
}

fn plain_sum<V: Variant>(partials: &BTreeMap<Party, Partial<V>>) -> Projective<V::SignatureGroup> {
    partials.values().flat_map(|partial| partial.points().to_vec()).sum()
}

fn errors_that_cancel_between_parties_are_caught<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 43);
    let honest = dealt.partials(&HOLDERS, &message());
    let mut all = honest.clone();
    moved(&mut all, (0, 1), Scalar::ONE);
    moved(&mut all, (4, 0), -Scalar::ONE);
    assert!(plain_sum(&all) == plain_sum(&honest), "the attack is real");
    let culprits = parties(&[0, 4]);
    let verdict = dealt.committee.verify_all(&message(), all);
    assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits });
}

fn errors_that_cancel_within_a_party_are_caught<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 44);
    let honest = dealt.partials(&HOLDERS, &message());
    let mut all = honest.clone();
    moved(&mut all, (0, 0), Scalar::ONE);
    moved(&mut all, (0, 2), -Scalar::ONE);
    assert!(plain_sum(&all) == plain_sum(&honest), "the attack is real");
    let verdict = all[&party(0)].verify(&dealt.committee, party(0), &message());
    assert_eq!(verdict, Err(PartialError::Mismatch { party: party(0) }));
    let culprits = parties(&[0]);
    let verdict = dealt.committee.verify_all(&message(), all);
    assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits });
}

/// Errors can be made to cancel in the interpolation, for its coefficients are known beforehand. Then
/// the result is right, which is all that the optimist promises.
fn errors_that_cancel_in_the_result_pass_the_optimist_and_are_harmless<V: Variant>(
    placement: Placement,
) {
    let dealt = Dealt::<V>::new(placement, 45);
    let committee = &dealt.committee;
    // Exactly t shares, so all of them are used: parties 4 and 5.
    let set = [4, 5];
    assert_eq!(weight(&set), T);
    let indices: Vec<_> = parties(&set)
        .into_iter()
        .flat_map(|party| committee.access().indices(party).collect::<Vec<_>>())
        .collect();
    let lambda = committee.points().lagrange_at_zero(&indices).unwrap().to_scalars();
    let mut all = dealt.partials(&set, &message());
    moved(&mut all, (4, 0), lambda[0].invert().unwrap());
    moved(&mut all, (5, 1), -lambda[6].invert().unwrap());
    let quorum = committee.optimistic(&message(), all.clone()).unwrap();
    assert_eq!(quorum.combine(), Ok(dealt.key.sign(super::fixture::DOMAIN, b"message")));
    let verdict = committee.verify_all(&message(), all.clone());
    let culprits = parties(&set);
    assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits });
    // One share off, and it is not.
    moved(&mut all, (4, 1), Scalar::ONE);
    let verdict = committee.optimistic(&message(), all).unwrap().combine();
    assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits: parties(&set) });
}

fn a_partial_is_its_partys_in_its_order<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 46);
    let all = dealt.partials(&HOLDERS, &message());
    let own = all[&party(0)].points();
    let verify = |points: &[Affine<V::SignatureGroup>]| {
        forged::<V>(points).verify(&dealt.committee, party(0), &message())
    };
    assert_eq!(verify(own), Ok(()));
    let mismatch = Err(PartialError::Mismatch { party: party(0) });
    assert_eq!(verify(all[&party(3)].points()), mismatch);
    assert_eq!(verify(&[own[1], own[0], own[2]]), mismatch);
    assert_eq!(verify(&[own[0], own[0], own[0]]), mismatch);
    let mut swapped = all.clone();
    swapped.insert(party(0), all[&party(3)].clone());
    swapped.insert(party(3), all[&party(0)].clone());
    let verdict = dealt.committee.verify_all(&message(), swapped);
    assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits: parties(&[0, 3]) });
}

fn partials_of_another_committee_are_refused<V: Variant>(placement: Placement) {
    let (ours, theirs) = (Dealt::<V>::new(placement, 47), Dealt::<V>::new(placement, 48));
    let mut all = ours.partials(&HOLDERS, &message());
    all.insert(party(3), theirs.partials(&[3], &message())[&party(3)].clone());
    let verdict = ours.committee.verify_all(&message(), all.clone());
    assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits: parties(&[3]) });
    let all = theirs.partials(&HOLDERS, &message());
    let quorum = ours.committee.optimistic(&message(), all).unwrap();
    let culprits = parties(&HOLDERS);
    assert_eq!(quorum.combine().unwrap_err(), QuorumError::Faulty { culprits });
}

fn a_party_that_holds_nothing_or_is_nobody_does_not_count<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 49);
    let committee = &dealt.committee;
    for stranger in [1, 6, u32::MAX] {
        let mut all = dealt.partials(&HOLDERS, &message());
        all.insert(party(stranger), all[&party(2)].clone());
        let error = QuorumError::Misuse(MisuseError::NoShares { party: party(stranger) });
        assert_eq!(committee.verify_all(&message(), all.clone()).unwrap_err(), error);
        assert_eq!(committee.optimistic(&message(), all.clone()).unwrap_err(), error);
        assert_eq!(committee.check_all(&message(), &all).unwrap_err(), error);
        let verdict = all[&party(2)].verify(committee, party(stranger), &message());
        let party = party(stranger);
        let expected = match stranger {
            1 => PartialError::NoShares { party },
            _ => PartialError::NotMember { party },
        };
        assert_eq!(verdict, Err(expected));
    }
}

fn a_partial_has_one_point_for_each_share<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 50);
    let committee = &dealt.committee;
    let honest = dealt.partials(&HOLDERS, &message());
    let own = honest[&party(4)].points();
    for wrong in [&own[..4], &[own, &own[..1]].concat()] {
        let partial = forged::<V>(wrong);
        let (got, need) = (wrong.len(), 5);
        let count = PartialError::ShareCount { party: party(4), got, need };
        assert_eq!(partial.check_shape(committee, party(4)), Err(count));
        assert_eq!(partial.verify(committee, party(4), &message()), Err(count));
        let mut all = dealt.wrong(&[2], &message());
        all.insert(party(4), partial);
        // The shape of one and the content of another.
        let faulty = QuorumError::Faulty { culprits: parties(&[2, 4]) };
        assert_eq!(committee.verify_all(&message(), all.clone()).unwrap_err(), faulty);
        // Nothing but shapes is looked at here.
        let faulty = QuorumError::Faulty { culprits: parties(&[4]) };
        assert_eq!(committee.optimistic(&message(), all).unwrap_err(), faulty);
    }
}

#[test]
fn encodings_are_exact_and_bounded() {
    let dealt = Dealt::<MinSig>::new(Placement::Consecutive, 51);
    let partial = &dealt.partials(&[0], &message())[&party(0)];
    let bytes = borsh::to_vec(partial).unwrap();
    assert_eq!(bytes.len(), 4 + 3 * 48);
    let read = |bytes: &[u8]| borsh::from_slice::<Partial<MinSig>>(bytes);
    assert_eq!(&read(&bytes).unwrap(), partial);
    assert!(read(&bytes[..bytes.len() - 1]).is_err());
    assert!(read(&[bytes.as_slice(), &[0]].concat()).is_err());
    for len in [0, u32::MAX] {
        let mut wrong = bytes.clone();
        wrong[..4].copy_from_slice(&len.to_le_bytes());
        let error = read(&wrong).unwrap_err();
        assert!(error.to_string().starts_with("partial of"), "{error}");
    }
    let mut points = partial.points().to_vec();
    points[1] = Affine::identity();
    let error = read(&borsh::to_vec(&points).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "point is the identity");
}
