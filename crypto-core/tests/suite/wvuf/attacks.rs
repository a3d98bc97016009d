//! The fast path.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::{Access, Party, ShareIndex, Threshold};
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
use prefinal_crypto_core::wvuf::audit::{self, AuditError};
use prefinal_crypto_core::wvuf::{
    AdmitError, AdmittedKey, BlindedKey, Combination, CombinationError, CommitteeError,
    EvaluationKey, Input, InsertError, KeyShares, NotAdmitted, Partial, PartialError, Quorum,
    QuorumError, SharedBlinding, VufCommittee, blind, combine,
};

use rand_chacha::ChaCha20Rng;

use super::fixture::{
    self, Dealt, FAST, SLOW, WEIGHTS, committee, context, input, partials, party, rng,
};

fn point(partial: &Partial) -> G2Affine {
    borsh::from_slice(&borsh::to_vec(partial).unwrap()).unwrap()
}

fn partial(point: G2Affine) -> Partial {
    borsh::from_slice(&borsh::to_vec(&point).unwrap()).unwrap()
}

/// `(π, ρ)` with the proof of another key.
fn encoded(pi: G1Affine, proof_of: &BlindedKey, rho: &[G1Affine]) -> Vec<u8> {
    let proof: [u8; 80] = borsh::to_vec(proof_of).unwrap()[48..128].try_into().unwrap();
    borsh::to_vec(&(pi, proof, rho)).unwrap()
}

fn rebuilt(pi: G1Affine, proof_of: &BlindedKey, rho: &[G1Affine]) -> BlindedKey {
    borsh::from_slice(&encoded(pi, proof_of, rho)).unwrap()
}

/// A key over any shares, with a proof that holds.
fn proved(dealt: &Dealt, at: u32, shares: &[G1Affine], rng: &mut ChaCha20Rng) -> BlindedKey {
    blind(&dealt.committee, party(at), &KeyShares::new(shares.to_vec()), rng).1
}

/// Every set of parties that holds a share.
fn subsets() -> impl Iterator<Item = Vec<u32>> {
    let parties = u32::try_from(WEIGHTS.len()).unwrap();
    (0..1_u32 << parties)
        .map(move |set| (0..parties).filter(|i| set >> i & 1 == 1).collect::<Vec<_>>())
        .filter(|set| set.iter().all(|&i| WEIGHTS[party(i).index()] > 0))
}

fn weight(set: &[u32]) -> u32 {
    set.iter().map(|&i| WEIGHTS[party(i).index()]).sum()
}

#[test]
fn every_qualified_set_of_either_path_gives_one_output() {
    let mut rng = rng(1);
    let secret = Scalar::random(&mut rng);
    let slow = Dealt::new(&secret, SLOW, &mut rng);
    let fast = Dealt::new(&secret, FAST, &mut rng);
    let mut outputs = BTreeSet::new();
    let (mut qualified, mut refused) = (0, 0);
    for dealt in [&slow, &fast] {
        let t = dealt.committee.threshold().t();
        for set in subsets() {
            match dealt.committee.verify_all(&input(), partials(dealt, &set)) {
                Ok(quorum) => {
                    assert!(weight(&set) >= t.get(), "{set:?}");
                    outputs.insert(combine(&quorum).to_bytes());
                    qualified += 1;
                }
                Err(error) => {
                    assert!(weight(&set) < t.get(), "{set:?}: {error}");
                    let got = weight(&set);
                    assert_eq!(error, QuorumError::BelowThreshold { got, need: t });
                    refused += 1;
                }
            }
        }
    }
    assert_eq!(outputs.len(), 1);
    assert!(qualified > 20 && refused > 20, "{qualified} {refused}");
    // The output is what the secret itself gives.
    let direct = fixture::evaluate_in_the_clear(&secret, &input());
    assert_eq!(outputs, BTreeSet::from([direct.to_bytes()]));
}

fn quorum<'d>(dealt: &'d Dealt, set: &[u32]) -> Quorum<'d> {
    dealt.committee.verify_all(&input(), partials(dealt, set)).unwrap()
}

#[test]
fn a_combination_serves_quorums_that_have_its_parties_and_no_others() {
    let mut rng = rng(2);
    let secret = Scalar::random(&mut rng);
    let slow = Dealt::new(&secret, SLOW, &mut rng);
    let fast = Dealt::new(&secret, FAST, &mut rng);
    let everyone = quorum(&slow, &[0, 2, 3, 4, 5]);
    let expected = combine(&everyone);
    let mut made = 0;
    for set in subsets() {
        let parties = set.iter().copied().map(party);
        let Some(combination) = Combination::new(&slow.committee, parties.clone()) else {
            assert!(weight(&set) < SLOW, "{set:?}");
            continue;
        };
        made += 1;
        assert!(combination.parties().all(|one| set.contains(&one.get())), "{set:?}");
        assert_eq!(combination.combine(&everyone), Ok(expected), "{set:?}");
        assert_eq!(combination.combine(&quorum(&slow, &set)), Ok(expected), "{set:?}");
    }
    assert!(made > 10, "{made}");
    let heaviest = Combination::new(&slow.committee, [party(4), party(3)]).unwrap();
    let missing = Err(CombinationError::Missing { party: party(4) });
    assert_eq!(heaviest.combine(&quorum(&slow, &[0, 2, 3])), missing);
    // The same parties on the other path have other keys.
    let other = Err(CombinationError::OtherCommittee);
    assert_eq!(heaviest.combine(&quorum(&fast, &[0, 2, 3, 4, 5])), other);
    // Without an admitted key nobody counts.
    let bare = committee(&slow.public, SLOW);
    assert_eq!(Combination::new(&bare, [party(4), party(3)]), None);
}

#[test]
fn outputs_differ_by_slot_value_epoch_and_chain() {
    let mut rng = rng(2);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let other_epoch = Context { epoch: EpochId::new(4), ..context() };
    let other_chain = Context { chain: ChainId::new([9; 32]), ..context() };
    let inputs = [
        input(),
        Input::new(&context(), Slot::new(8), None),
        Input::new(&context(), Slot::new(7), Some([0; 32])),
        Input::new(&context(), Slot::new(7), Some([1; 32])),
        Input::new(&other_epoch, Slot::new(7), None),
        Input::new(&other_chain, Slot::new(7), None),
    ];
    let mut outputs = BTreeSet::new();
    for (at, input) in inputs.iter().enumerate() {
        let all: BTreeMap<_, _> =
            dealt.keys.iter().map(|(party, key)| (*party, key.evaluate(input))).collect();
        // A partial for one input is refused for every other.
        for (other, wrong) in inputs.iter().enumerate() {
            let verdict = dealt.committee.verify(party(0), wrong, &all[&party(0)]);
            assert_eq!(verdict.is_ok(), at == other, "partial of {at} for {other}");
        }
        let quorum = dealt.committee.verify_all(input, all).unwrap();
        assert_eq!(quorum.input(), input);
        outputs.insert(combine(&quorum).randomness());
    }
    assert_eq!(outputs.len(), inputs.len());
}

#[test]
fn a_partial_of_one_path_is_refused_on_the_other() {
    let mut rng = rng(3);
    let secret = Scalar::random(&mut rng);
    let slow = Dealt::new(&secret, SLOW, &mut rng);
    let fast = Dealt::new(&secret, FAST, &mut rng);
    let all = partials(&fast, &[0, 2, 3, 4]);
    let mismatch = Err(PartialError::Mismatch { party: party(0) });
    assert_eq!(slow.committee.verify(party(0), &input(), &all[&party(0)]), mismatch);
    let culprits = all.keys().copied().collect();
    let verdict = slow.committee.verify_all(&input(), all);
    assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits });
}

/// Why each path has its own blinding: with one factor for both, what is released at
/// prefinalization for the high threshold opens the low one as well.
#[test]
fn one_blinding_for_both_paths_would_make_the_partials_equal() {
    let mut rng = rng(4);
    let secret = Scalar::random(&mut rng);
    let slow = Dealt::new(&secret, SLOW, &mut rng);
    let fast = Dealt::new(&secret, FAST, &mut rng);
    let shares = |dealt: &Dealt| KeyShares::new(dealt.shares[&party(0)].clone());
    // The trap: the same randomness twice.
    let both = |of: &Dealt, rng: &mut ChaCha20Rng| {
        let (key, blinded) = blind(&of.committee, party(0), &shares(of), rng);
        (key, of.committee.admit(party(0), blinded).unwrap())
    };
    let (slow_key, slow_admitted) = both(&slow, &mut fixture::rng(5));
    let (fast_key, fast_admitted) = both(&fast, &mut fixture::rng(5));
    assert_eq!(slow_key.evaluate(&input()), fast_key.evaluate(&input()));
    // Either key is right for its path; both together show it, to everybody.
    let shared = Err(SharedBlinding { party: party(0) });
    assert_eq!(slow_admitted.check_other_path(&fast_admitted), shared);
    let audit = |dealt: &Dealt, t, key: &AdmittedKey| {
        let keys = BTreeMap::from([(party(0), key.key().clone())]);
        audit::keys(&WEIGHTS, t, &dealt.public, &keys).unwrap()
    };
    let audits = |slow_key, fast_key| {
        audit(&slow, SLOW, slow_key).check_other_path(&audit(&fast, FAST, fast_key))
    };
    let shared = Err(AuditError::SharedBlinding { party: party(0) });
    assert_eq!(audits(&slow_admitted, &fast_admitted), shared);
    // As it must be: one generator that moves on.
    let (slow_key, slow_admitted) = both(&slow, &mut rng);
    let (fast_key, fast_admitted) = both(&fast, &mut rng);
    assert_ne!(slow_key.evaluate(&input()), fast_key.evaluate(&input()));
    assert_eq!(slow_admitted.check_other_path(&fast_admitted), Ok(()));
    assert_eq!(audits(&slow_admitted, &fast_admitted), Ok(()));
}

#[test]
fn a_stored_key_gives_the_same_partials_after_a_restart() {
    let mut rng = rng(6);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let key = &dealt.keys[&party(2)];
    let restored = EvaluationKey::from_secret_bytes(&key.to_secret_bytes()).unwrap();
    let again = restored.evaluate(&input());
    assert_eq!(again, key.evaluate(&input()));
    assert_eq!(dealt.committee.verify(party(2), &input(), &again), Ok(()));
    for bytes in [[0; 32], [0xff; 32]] {
        let bytes = prefinal_crypto_core::secret::Secret::new(bytes);
        assert!(EvaluationKey::from_secret_bytes(&bytes).is_err());
    }
    assert!(!format!("{key:?}").contains("Scalar"));
    assert!(!format!("{:?}", KeyShares::new(vec![])).contains("Affine"));
}

#[test]
fn the_identity_blinds_nothing() {
    // π = 1 with ρ = 1 satisfies the pairing equation, so only this check catches it.
    let mut rng = rng(7);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let own = &dealt.blinded[&party(0)];
    let bytes = encoded(G1Affine::identity(), own, &[G1Affine::identity(); 3]);
    assert!(borsh::from_slice::<BlindedKey>(&bytes).is_err());
    let mut bytes = borsh::to_vec(own).unwrap();
    bytes[48..96].copy_from_slice(&G1Affine::identity().to_bytes());
    assert!(borsh::from_slice::<BlindedKey>(&bytes).is_err());
    // A factor of zero cannot come from `blind`, and an identity partial does not decode.
    let identity = borsh::to_vec(&G2Affine::identity()).unwrap();
    assert!(borsh::from_slice::<Partial>(&identity).is_err());
}

#[test]
fn a_key_is_admitted_only_for_its_party_shares_and_order() {
    let mut rng = rng(8);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let admit = |at, key| dealt.committee.admit(party(at), key).map(|_| ());
    // Parties 0 and 3 have the same weight.
    let (own, other) = (&dealt.blinded[&party(0)], &dealt.blinded[&party(3)]);
    assert_eq!(admit(0, own.clone()), Ok(()));
    assert_eq!(admit(0, other.clone()), Err(AdmitError::Possession));
    for mixed in [rebuilt(other.pi(), own, own.rho()), rebuilt(own.pi(), own, other.rho())] {
        assert_eq!(admit(0, mixed), Err(AdmitError::Possession));
    }
    // With proofs that hold, the shares must be right all the same.
    let (a, others) = (&dealt.shares[&party(0)], &dealt.shares[&party(3)]);
    let admit_shares =
        |shares: &[G1Affine]| admit(0, proved(&dealt, 0, shares, &mut fixture::rng(81)));
    assert_eq!(admit_shares(a), Ok(()));
    assert_eq!(admit_shares(others), Err(AdmitError::Mismatch));
    assert_eq!(admit_shares(&[a[1], a[0], a[2]]), Err(AdmitError::Mismatch));
    // Errors that cancel in the plain sum of the shares.
    let shift = |share: G1Affine, by: G1Affine| (share + by).to_affine();
    let g = G1Affine::generator();
    let cancelling = [shift(a[0], g), shift(a[1], -g), a[2]];
    assert_eq!(admit_shares(&cancelling), Err(AdmitError::Mismatch));
    for rho in [&own.rho()[..2], &[own.rho(), &[g]].concat(), &[]] {
        let need = 3;
        let verdict = admit(0, rebuilt(own.pi(), own, rho));
        assert_eq!(verdict, Err(AdmitError::ShareCount { got: rho.len(), need }));
    }
}

#[test]
fn a_party_that_holds_nothing_or_is_nobody_is_not_admitted() {
    let mut rng = rng(9);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let empty = proved(&dealt, 1, &[], &mut rng);
    let verdict = dealt.committee.admit(party(1), empty.clone());
    assert_eq!(verdict, Err(AdmitError::NoShares { party: party(1) }));
    let verdict = dealt.committee.admit(party(99), empty);
    assert_eq!(verdict, Err(AdmitError::NotMember { party: party(99) }));
    assert_eq!(dealt.committee.weight_of(party(1)), 0);
    assert_eq!(dealt.committee.weight_of(party(99)), 0);
}

#[test]
fn bad_keys_are_named_and_do_not_keep_good_ones_out() {
    let mut rng = rng(10);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let mut keys = dealt.blinded.clone();
    let g = G1Affine::generator();
    // Two parties whose errors cancel in the plain product over parties.
    for (at, by) in [(0, g), (3, -g)] {
        let mut shares = dealt.shares[&party(at)].clone();
        shares[0] = (shares[0] + by).to_affine();
        // One seed, so that their factors are one.
        keys.insert(party(at), proved(&dealt, at, &shares, &mut fixture::rng(82)));
    }
    keys.insert(party(99), dealt.blinded[&party(2)].clone());
    let admission = dealt.committee.admit_all(keys);
    let refused = BTreeMap::from([
        (party(0), AdmitError::Mismatch),
        (party(3), AdmitError::Mismatch),
        (party(99), AdmitError::NotMember { party: party(99) }),
    ]);
    assert_eq!(admission.refused, refused);
    let admitted: Vec<Party> = admission.admitted.iter().map(|key| key.party()).collect();
    assert_eq!(admitted, [party(2), party(4), party(5)]);
}

#[test]
fn a_key_enters_one_committee_once() {
    let mut rng = rng(11);
    let secret = Scalar::random(&mut rng);
    let slow = Dealt::new(&secret, SLOW, &mut rng);
    let fast = Dealt::new(&secret, FAST, &mut rng);
    let admitted = slow.committee.admit(party(0), slow.blinded[&party(0)].clone()).unwrap();
    let mut committee = fast.committee.clone();
    let verdict = committee.insert(admitted.clone());
    assert_eq!(verdict, Err(InsertError::OtherCommittee { party: party(0) }));
    let mut committee = slow.committee.clone();
    let verdict = committee.insert(admitted);
    assert_eq!(verdict, Err(InsertError::Duplicate { party: party(0) }));
}

#[test]
fn partials_whose_errors_cancel_are_both_culprits() {
    let mut rng = rng(12);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    // With factors r₀ and r₃ known, errors can be made to cancel: e(π₀, δ^(1/r₀)) · e(π₃, δ^(−1/r₃)) = 1.
    let inverse =
        |at| Scalar::from_bytes(dealt.keys[&party(at)].to_secret_bytes().expose()).unwrap();
    let mut all = partials(&dealt, &[0, 2, 3, 4, 5]);
    for (at, delta) in [(0, Scalar::ONE), (3, -Scalar::ONE)] {
        let error = G2Affine::generator() * (delta * inverse(at));
        let moved = (error + point(&all[&party(at)])).to_affine();
        all.insert(party(at), partial(moved));
    }
    let plain: Vec<_> = all
        .iter()
        .map(|(at, partial)| (dealt.committee.keys()[at].pi(), point(partial)))
        .chain((0..5).map(|_| (-prefinal_crypto_core::generators::h(), input().point())))
        .collect();
    assert_eq!(
        prefinal_crypto_core::curve::hazmat::check_pairing_product(plain),
        Ok(()),
        "the attack is real"
    );
    let culprits = BTreeSet::from([party(0), party(3)]);
    let verdict = dealt.committee.verify_all(&input(), all);
    assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits });
}

#[test]
fn every_set_of_culprits_is_named_exactly() {
    let mut rng = rng(13);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let everyone = [0, 2, 3, 4, 5];
    let wrong = Input::new(&context(), Slot::new(8), None);
    for set in subsets().filter(|set| !set.is_empty()) {
        let mut all = partials(&dealt, &everyone);
        for &at in &set {
            all.insert(party(at), dealt.keys[&party(at)].evaluate(&wrong));
        }
        let culprits = set.iter().copied().map(party).collect();
        let verdict = dealt.committee.verify_all(&input(), all);
        assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits }, "{set:?}");
    }
}

#[test]
fn another_partys_partial_is_a_fault_of_who_sent_it() {
    let mut rng = rng(14);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let mut all = partials(&dealt, &[0, 2, 3, 4, 5]);
    all.insert(party(0), all[&party(3)]);
    let culprits = BTreeSet::from([party(0)]);
    let verdict = dealt.committee.verify_all(&input(), all);
    assert_eq!(verdict.unwrap_err(), QuorumError::Faulty { culprits });
}

#[test]
fn partials_without_a_key_do_not_count() {
    let mut rng = rng(15);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    for stranger in [1, 99] {
        let mut all = partials(&dealt, &[0, 2, 3, 4, 5]);
        all.insert(party(stranger), all[&party(0)]);
        let verdict = dealt.committee.verify_all(&input(), all.clone());
        let party = party(stranger);
        assert_eq!(verdict.unwrap_err(), QuorumError::Misuse(NotAdmitted { party }));
        let verdict = dealt.committee.verify(party, &input(), &all[&party]);
        assert_eq!(verdict, Err(PartialError::NotAdmitted { party }));
    }
    // A member whose key has not been admitted counts for nothing either.
    let empty = fixture::committee(&dealt.public, SLOW);
    let verdict = empty.verify_all(&input(), partials(&dealt, &[0]));
    assert_eq!(verdict.unwrap_err(), QuorumError::Misuse(NotAdmitted { party: party(0) }));
    assert_eq!((empty.weight_of(party(0)), empty.admitted_weight()), (0, 0));
    assert_eq!(dealt.committee.admitted_weight(), WEIGHTS.iter().sum::<u32>());
}

#[test]
fn fewest_takes_the_heaviest_that_suffice() {
    let mut rng = rng(16);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let fewest = |set: &[u32]| dealt.committee.fewest(set.iter().copied().map(party));
    let parties = |set: &[u32]| Some(set.iter().copied().map(party).collect::<BTreeSet<_>>());
    assert_eq!(fewest(&[0, 2, 3, 4, 5]), parties(&[0, 4]));
    assert_eq!(fewest(&[0, 0, 0, 1, 99]), None);
    assert_eq!(fewest(&[1, 2, 3, 5]), None);
    assert_eq!(fewest(&[]), None);
    for set in subsets() {
        match fewest(&set) {
            Some(chosen) => {
                let quorum: Vec<u32> = chosen.iter().map(|party| party.get()).collect();
                assert!(weight(&quorum) >= SLOW && quorum.iter().all(|i| set.contains(i)));
            }
            None => assert!(weight(&set) < SLOW, "{set:?}"),
        }
    }
}

#[test]
fn a_committee_needs_parts_that_fit() {
    let mut rng = rng(17);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let access = || Access::new(&WEIGHTS).unwrap();
    let need = access().total();
    let threshold = Threshold::new(SLOW, need).unwrap();
    let short = dealt.public[1..].to_vec();
    let got = short.len();
    let verdict = VufCommittee::new(access(), threshold, short).map(|_| ());
    assert_eq!(verdict, Err(CommitteeError::PublicShares { got, need }));
    let other = Threshold::new(SLOW, need + 1).unwrap();
    let verdict = VufCommittee::new(access(), other, dealt.public.clone()).map(|_| ());
    assert_eq!(verdict, Err(CommitteeError::Threshold { got: need + 1, need }));
}

/// What everybody knows is no share: with `Aⱼ = 1` for all shares of a party, anybody could blind them,
/// prove the factor, and be the party.
#[test]
fn a_share_or_a_secret_that_everybody_knows_makes_no_committee() {
    let mut rng = rng(21);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let (access, need) = (Access::new(&WEIGHTS).unwrap(), WEIGHTS.iter().sum());
    let new = |t, public: &[G2Affine]| {
        let threshold = Threshold::new(t, need).unwrap();
        VufCommittee::new(access.clone(), threshold, public.to_vec()).map(|_| ())
    };
    // All shares of party 2, which are one.
    let mut public = dealt.public.clone();
    public[3] = G2Affine::identity();
    let index = ShareIndex::new(4).unwrap();
    assert_eq!(new(SLOW, &public), Err(CommitteeError::IdentityShare { index }));
    let keys = BTreeMap::new();
    let verdict = audit::keys(&WEIGHTS, SLOW, &public, &keys).map(|_| ());
    assert_eq!(verdict, Err(AuditError::IdentityShare { index: 4 }));
    // f(X) = X, so that f(0) = 0: every output would be 1.
    let points = access.points();
    let public: Vec<_> = points
        .iter()
        .map(|x| (prefinal_crypto_core::generators::g_hat() * x).to_affine())
        .collect();
    assert_eq!(new(2, &public), Err(CommitteeError::GroupIdentity));
    let verdict = audit::keys(&WEIGHTS, 2, &public, &keys).map(|_| ());
    assert_eq!(verdict, Err(AuditError::GroupIdentity));
    assert_eq!(new(1, &public), Ok(()));
}

/// `(π^c, ρ^c)` of a published key satisfies the equation of admission. Entered first, it would keep the
/// party out whose shares these are, for nobody could evaluate for it.
#[test]
fn nobody_publishes_a_copy_of_a_key_and_locks_its_owner_out() {
    let mut rng = rng(22);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let mut committee = committee(&dealt.public, SLOW);
    for (at, own) in &dealt.blinded {
        let c = Scalar::random(&mut rng);
        let copy: Vec<_> = own.rho().iter().map(|rho| (*rho * c).to_affine()).collect();
        let pi = (own.pi() * c).to_affine();
        let shares = &dealt.public[committee.access().range(*at)];
        for (rho, public) in copy.iter().zip(shares) {
            let terms = [(pi, *public), (-*rho, prefinal_crypto_core::generators::g_hat())];
            assert_eq!(
                prefinal_crypto_core::curve::hazmat::check_pairing_product(terms),
                Ok(()),
                "it is real"
            );
        }
        // With the owner's proof, with one for another key, and with one for the known factor c.
        let factor_c = blind(&committee, *at, &KeyShares::new(copy.clone()), &mut rng).1;
        for proof in [own, &dealt.blinded[&party(4)], &factor_c] {
            let copy = rebuilt(pi, proof, &copy);
            assert_eq!(committee.admit(*at, copy).err(), Some(AdmitError::Possession));
        }
        let copy = BTreeMap::from([(*at, rebuilt(pi, own, &copy))]);
        for admitted in committee.admit_all(copy).admitted {
            committee.insert(admitted).unwrap();
        }
        let admitted = committee.admit(*at, own.clone()).unwrap();
        assert_eq!(committee.insert(admitted), Ok(()), "{at} is locked out");
    }
    // Nor is a key of one committee replayed into another, for whomever.
    let secret = Scalar::random(&mut rng);
    let other = Dealt::new(&secret, SLOW, &mut rng);
    let own = dealt.blinded[&party(0)].clone();
    assert_eq!(other.committee.admit(party(0), own.clone()), Err(AdmitError::Possession));
    assert_eq!(dealt.committee.admit(party(3), own), Err(AdmitError::Possession));
}

/// A proof that fails keeps no other out, and is named among others.
#[test]
fn proofs_that_fail_are_named_even_if_their_errors_cancel() {
    let mut rng = rng(23);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let mut keys = dealt.blinded.clone();
    for (at, by) in [(0, Scalar::ONE), (3, -Scalar::ONE)] {
        let mut bytes = borsh::to_vec(&keys[&party(at)]).unwrap();
        let response = Scalar::from_bytes(bytes[96..128].try_into().unwrap()).unwrap() + by;
        bytes[96..128].copy_from_slice(&response.to_bytes());
        keys.insert(party(at), borsh::from_slice(&bytes).unwrap());
    }
    let admission = dealt.committee.admit_all(keys);
    let refused = [0, 3].map(|at| (party(at), AdmitError::Possession));
    assert_eq!(admission.refused, BTreeMap::from(refused));
    let admitted: Vec<Party> = admission.admitted.iter().map(|key| key.party()).collect();
    assert_eq!(admitted, [party(2), party(4), party(5)]);
}

/// Keys are admitted for a committee by its digest: whatever it is made of must be in it.
#[test]
fn everything_is_in_the_digest() {
    let mut rng = rng(20);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let id = |weights: &[u32], t, public: &[G2Affine]| {
        let access = Access::new(weights).unwrap();
        let threshold = Threshold::new(t, access.total()).unwrap();
        VufCommittee::new(access, threshold, public.to_vec()).unwrap().id()
    };
    let own = id(&WEIGHTS, SLOW, &dealt.public);
    assert_eq!(own, dealt.committee.id());
    assert_ne!(id(&WEIGHTS, SLOW + 1, &dealt.public), own);
    let mut others = WEIGHTS;
    others.reverse();
    assert_ne!(id(&others, SLOW, &dealt.public), own);
    let mut moved = dealt.public.clone();
    moved.swap(0, 1);
    assert_ne!(id(&WEIGHTS, SLOW, &moved), own);
}

#[test]
fn encodings_are_exact_and_bounded() {
    let mut rng = rng(18);
    let dealt = Dealt::new(&Scalar::random(&mut rng), SLOW, &mut rng);
    let key = &dealt.blinded[&party(0)];
    let bytes = borsh::to_vec(key).unwrap();
    assert_eq!(bytes.len(), BlindedKey::OVERHEAD + 3 * 48);
    assert_eq!(&borsh::from_slice::<BlindedKey>(&bytes).unwrap(), key);
    assert!(borsh::from_slice::<BlindedKey>(&bytes[..bytes.len() - 1]).is_err());
    assert!(borsh::from_slice::<BlindedKey>(&[bytes.as_slice(), &[0]].concat()).is_err());
    let mut huge = bytes;
    huge[128..132].copy_from_slice(&u32::MAX.to_le_bytes());
    // Refused by its length, before any point is read.
    let error = borsh::from_slice::<BlindedKey>(&huge).unwrap_err();
    assert_eq!(error.to_string(), "more shares than any party may hold");
    let partial = dealt.keys[&party(0)].evaluate(&input());
    assert_eq!(borsh::to_vec(&partial).unwrap().len(), 96);
}
