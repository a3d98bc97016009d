//! Committees are made of what fits, and shares are checked before they sign.
use prefinal_crypto_core::access::{Access, ShareIndex, Threshold};
use prefinal_crypto_core::bls::{Domain, PublicKey, SecretKey, Variant};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::{Affine, Group, Projective, Scalar};
use prefinal_crypto_core::polynomial::{Placement, Points};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{
    CommitteeError, KeyShareError, KeyShares, Partial, Purpose, Setup, Signer, SigningCommittee,
};

use super::fixture::{self, DOMAIN, Dealt, T, party, rng};

super::placed_suite!(
    share_keys_and_commitment_make_one_committee,
    share_keys_of_a_higher_degree_are_refused,
    a_committee_needs_parts_that_fit,
    the_identity_is_no_key,
    a_share_of_zero_keeps_nobody_else_from_signing,
    everything_is_in_the_digest,
    shares_are_checked_before_they_sign,
);

fn setup(placement: Placement) -> Setup {
    fixture::setup(placement, Purpose::Messages(DOMAIN))
}

fn keys<G: Group>(values: &[Scalar]) -> Vec<Affine<G>> {
    values.iter().map(|value| (Projective::generator() * *value).to_affine()).collect()
}

fn share_keys_and_commitment_make_one_committee<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 21);
    let again = SigningCommittee::from_share_keys(
        setup(placement),
        &dealt.committee.group_key(),
        keys(&dealt.values),
    );
    let again = again.unwrap();
    assert_eq!(again.id(), dealt.committee.id());
    assert_eq!(again.share_keys(), dealt.committee.share_keys());
}

fn share_keys_of_a_higher_degree_are_refused<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 22);
    let group = dealt.committee.group_key();
    let refused = Err(CommitteeError::Degree { t: T });
    let verdict = |group: &PublicKey<V>, shares: &[Affine<V::KeyGroup>]| {
        SigningCommittee::from_share_keys(setup(placement), group, shares.to_vec()).map(|_| ())
    };
    let shares = keys::<V::KeyGroup>(&dealt.values);
    assert_eq!(verdict(&group, &shares), Ok(()));
    for at in 0..shares.len() {
        let mut moved = shares.clone();
        moved[at] = (moved[at] + Affine::generator()).to_affine();
        assert_eq!(verdict(&group, &moved), refused, "share {at}");
    }
    // Errors that cancel in the plain sum.
    let mut moved = shares.clone();
    moved[0] = (moved[0] + Affine::generator()).to_affine();
    moved[1] = (moved[1] - Affine::generator()).to_affine();
    assert_eq!(verdict(&group, &moved), refused);
    // A polynomial with one coefficient too many, and the right group key.
    let points = Points::new(placement, 14).unwrap();
    let top = |at: ShareIndex| points.point(at).unwrap().vartime_pow(u64::from(T));
    let high: Vec<Scalar> =
        dealt.values.iter().zip(points.indices()).map(|(value, at)| *value + top(at)).collect();
    assert_eq!(verdict(&group, &keys(&high)), refused);
    // Right shares under the key of somebody else.
    let other = SecretKey::random(&mut rng(23)).public_key();
    assert_eq!(verdict(&other, &shares), refused);
}

fn a_committee_needs_parts_that_fit<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 24);
    let group = dealt.committee.group_key();
    let shares = keys::<V::KeyGroup>(&dealt.values);
    let need = 14;
    for got in [0, 13, 15] {
        let some: Vec<_> = shares.iter().copied().cycle().take(got).collect();
        let verdict = SigningCommittee::from_share_keys(setup(placement), &group, some).map(|_| ());
        assert_eq!(verdict, Err(CommitteeError::ShareKeys { got, need }));
    }
    for got in [13, 15] {
        let threshold = Threshold::new(T, got).unwrap();
        let setup = Setup { threshold, ..setup(placement) };
        let verdict = SigningCommittee::from_share_keys(setup, &group, shares.clone()).map(|_| ());
        assert_eq!(verdict, Err(CommitteeError::Threshold { got, need }));
    }
    for got in [T - 1, T + 1] {
        let coefficients = shares[..usize::try_from(got).unwrap()].to_vec();
        let commitment = Commitment::from_points(coefficients).unwrap();
        let verdict =
            SigningCommittee::<V>::from_commitment(setup(placement), &commitment).map(|_| ());
        assert_eq!(verdict, Err(CommitteeError::Commitment { got, need: T }));
    }
}

fn the_identity_is_no_key<V: Variant>(placement: Placement) {
    let refused = Err(CommitteeError::GroupIdentity);
    // Of the right degree: zero everywhere.
    let zero = vec![Affine::identity(); usize::try_from(T).unwrap()];
    let zero = Commitment::from_points(zero).unwrap();
    let verdict = SigningCommittee::<V>::from_commitment(setup(placement), &zero).map(|_| ());
    assert_eq!(verdict, refused);
}

/// Share 3 of party 0 is zero: its own doing, and it stops nobody but itself.
fn a_share_of_zero_keeps_nobody_else_from_signing<V: Variant>(placement: Placement) {
    let access = Access::new(&fixture::WEIGHTS).unwrap();
    let points = Points::of(&access, placement);
    let root = points.point(ShareIndex::new(3).unwrap()).unwrap();
    let value = |x: Scalar| x - root;
    let values: Vec<Scalar> =
        points.indices().map(|index| value(points.point(index).unwrap())).collect();
    assert_eq!(values[2], Scalar::ZERO);
    let group = (Affine::<V::KeyGroup>::generator() * value(Scalar::ZERO)).to_affine();
    let group = PublicKey::from_bytes(group.to_bytes().as_ref()).unwrap();
    let committee =
        SigningCommittee::<V>::from_share_keys(setup(placement), &group, keys(&values)).unwrap();
    let partial = |at: u32| {
        let own = Secret::new(values[access.range(party(at))].to_vec());
        let signer = KeyShares::new(party(at), own).check(&committee).unwrap();
        (party(at), signer.partial(&fixture::message()).unwrap())
    };
    let signature = committee
        .verify_all(&fixture::message(), [4, 5].map(partial).into_iter().collect())
        .unwrap()
        .combine();
    assert_eq!(signature.verify(&group, fixture::DOMAIN, b"message"), Ok(()));
    // Its own partial does not even decode.
    let own = borsh::to_vec(&partial(0).1).unwrap();
    let error = borsh::from_slice::<Partial<V>>(&own).unwrap_err();
    assert_eq!(error.to_string(), "point is the identity");
}

fn everything_is_in_the_digest<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 26);
    let group = dealt.committee.group_key();
    let with = |setup, group: &PublicKey<V>, values: &[Scalar]| {
        SigningCommittee::from_share_keys(setup, group, keys(values)).unwrap().id()
    };
    let id = |setup| with(setup, &group, &dealt.values);
    let own = id(setup(placement));
    let other = fixture::setup(placement, Purpose::Rounds);
    assert_ne!(id(other), own);
    let access = Access::new(&[3, 1, 0, 3, 5, 2]).unwrap();
    assert_ne!(id(Setup { access, ..setup(placement) }), own);
    // The degree is below this threshold too.
    let threshold = Threshold::new(T + 1, 14).unwrap();
    assert_ne!(id(Setup { threshold, ..setup(placement) }), own);
    assert_ne!(Dealt::<V>::new(placement, 27).committee.id(), own);
    // Another domain; and another purpose with the same domain.
    let purpose = |purpose| id(fixture::setup(placement, purpose));
    assert_ne!(purpose(Purpose::Messages(Domain::new("another"))), own);
    assert_ne!(purpose(Purpose::Messages(Domain::BASIC)), purpose(Purpose::Rounds));
    // The same secret shared again: f + X.
    let points = Points::new(placement, 14).unwrap();
    let again = points.indices().zip(&dealt.values);
    let again: Vec<Scalar> = again.map(|(at, y)| *y + points.point(at).unwrap()).collect();
    assert_ne!(with(setup(placement), &group, &again), own);
    // Keys that are right wherever they sit.
    let one = SecretKey::from_secret_bytes(&Secret::new(Scalar::ONE.to_bytes())).unwrap();
    let constant = |placement| with(setup(placement), &one.public_key(), &[Scalar::ONE; 14]);
    assert_ne!(constant(Placement::Consecutive), constant(Placement::RootsOfUnity));
}

fn shares_are_checked_before_they_sign<V: Variant>(placement: Placement) {
    let dealt = Dealt::<V>::new(placement, 28);
    let committee = &dealt.committee;
    let check = |at: u32, shares: &[Scalar]| -> Result<Signer<V>, KeyShareError> {
        KeyShares::new(party(at), Secret::new(shares.to_vec())).check(committee)
    };
    let of = |at: u32| &dealt.values[committee.access().range(party(at))];
    assert_eq!(check(0, of(0)).unwrap().share_keys(), &committee.share_keys()[..3]);
    let mismatch = KeyShareError::Mismatch { party: party(0) };
    assert_eq!(check(0, of(3)).unwrap_err(), mismatch);
    let swapped = [of(0)[1], of(0)[0], of(0)[2]];
    assert_eq!(check(0, &swapped).unwrap_err(), mismatch);
    assert_eq!(check(0, &[Scalar::ZERO; 3]).unwrap_err(), mismatch);
    for got in [0, 2, 4] {
        let some: Vec<_> = dealt.values.iter().copied().take(got).collect();
        let count = KeyShareError::Count { party: party(0), got, need: 3 };
        assert_eq!(check(0, &some).unwrap_err(), count);
    }
    assert_eq!(check(1, &[]).unwrap_err(), KeyShareError::NoShares { party: party(1) });
    assert_eq!(check(6, &[]).unwrap_err(), KeyShareError::NotMember { party: party(6) });
    let last = KeyShareError::NotMember { party: party(u32::MAX) };
    assert_eq!(check(u32::MAX, of(0)).unwrap_err(), last);
}
