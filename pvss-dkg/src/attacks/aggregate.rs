//! Dealers who work together or last, and an aggregator who lies.

use std::sync::Arc;

use prefinal_crypto_core::curve::{Affine, G1Affine, G1Projective, G2Affine, Group, Scalar};
use prefinal_crypto_core::secret::Secret;
use prefinal_weighted_rounding::Stake;

use crate::accepted::Accepted;
use crate::aggregate::{Aggregate, AggregateError, DecryptError};
use crate::config::{Config, Session};
use crate::deal::{Openings, SharingOpenings};
use crate::dealing::{Body, Dealing, Sharing};
use crate::dkg::{Dkg, DkgError, Progress};
use crate::fixture::{Committee, SLOW, WEIGHTS, as_dealer, party, session, shape};
use crate::key::DecryptionKey;
use crate::proof::{Contribution, ProofError};
use crate::verify::{SharingError, check_sharing, verify};

fn add_lists<G: Group>(left: &[Affine<G>], right: &[Affine<G>]) -> Vec<Affine<G>> {
    left.iter().zip(right).map(|(a, b)| (*a + *b).into()).collect()
}

fn negated<G: Group>(list: &[Affine<G>]) -> Vec<Affine<G>> {
    list.iter().map(|point| -*point).collect()
}

fn each(body: &Body, map: impl Fn(&Sharing) -> Sharing, public_key: G2Affine) -> Body {
    Body { public_key, slow: map(&body.slow), fast: body.fast.as_ref().map(map) }
}

pub(super) fn add(left: &Body, right: &Body) -> Body {
    let sum = |a: &Sharing, b: &Sharing| Sharing {
        commitments: add_lists(&a.commitments, &b.commitments),
        ephemerals: add_lists(&a.ephemerals, &b.ephemerals),
        ciphertexts: add_lists(&a.ciphertexts, &b.ciphertexts),
    };
    let fast = left.fast.as_ref().zip(right.fast.as_ref()).map(|(a, b)| sum(a, b));
    let public_key = (left.public_key + right.public_key).into();
    Body { public_key, slow: sum(&left.slow, &right.slow), fast }
}

fn negative(body: &Body) -> Body {
    let negate = |sharing: &Sharing| Sharing {
        commitments: negated(&sharing.commitments),
        ephemerals: negated(&sharing.ephemerals),
        ciphertexts: negated(&sharing.ciphertexts),
    };
    each(body, negate, -body.public_key)
}

type Dealt = Arc<Accepted<Dealing>>;

fn three(committee: &mut Committee) -> Vec<Dealt> {
    [0, 2, 3].map(|dealer| committee.deal_verified(dealer)).into()
}

#[test]
fn a_last_dealer_cannot_choose_the_key() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let others = [committee.deal_verified(0), committee.deal_verified(2)];
    let own = Openings::random(&config, &mut committee.rng);
    // Minus the sum of the others plus its own: the key would be its own.
    let sum = add(&others[0].body, &others[1].body);
    let body = add(&negative(&sum), &own.commit(&config));
    let known: G1Affine = (G1Affine::generator() * own.constant.expose()).into();
    let commitment: G1Affine = (G1Projective::from(known)
        - others[0].contribution.commitment
        - others[1].contribution.commitment)
        .into();
    // As a sharing nothing is wrong with it,
    assert_eq!(check_sharing(&config, &commitment, &body, &[0; 32]), Ok(()));
    // but what it knows is the logarithm of another commitment.
    let (secret, rng) = (&own.constant, &mut committee.rng);
    let proven = Contribution::prove(&config, party(3), body.digest(), secret, rng);
    let contribution = Contribution { commitment, ..proven };
    let signature = contribution.sign(&config, committee.signer(3));
    let dealing = Dealing { contribution, signature, opening: super::dealing::unproven(), body };
    assert_eq!(verify(&config, dealing).unwrap_err(), ProofError::Knowledge.into());
}

impl Openings {
    /// Of minus the secret; the randomness is not needed for a proof.
    fn negative(&self) -> Self {
        let path = |path: &SharingOpenings| SharingOpenings {
            values: Secret::new(path.values.expose().iter().map(|value| -*value).collect()),
            randomness: Secret::new(Vec::new()),
        };
        let constant = Secret::new(-*self.constant.expose());
        Self { constant, slow: path(&self.slow), fast: self.fast.as_ref().map(path) }
    }
}

/// Two dealings of dealers who know each other's secrets, which sum to zero.
fn cancelling(committee: &mut Committee) -> [Dealt; 2] {
    let config = committee.config.clone();
    let openings = Openings::random(&config, &mut committee.rng);
    let minus = openings.negative();
    let body = openings.commit(&config);
    let opposite = negative(&body);
    [(0, body, &openings), (5, opposite, &minus)].map(|(dealer, body, openings)| {
        let signer = &committee.signers[party(dealer).index()];
        let rng = &mut committee.rng;
        let dealing = as_dealer(&config, dealer, signer).publish(body, openings, rng);
        Arc::new(verify(&config, dealing).unwrap())
    })
}

#[test]
fn dealers_who_cancel_each_other_do_not_stop_the_rest() {
    let mut committee = Committee::new();
    let [first, second] = cancelling(&mut committee);
    let summed = Aggregate::sum(&committee.config, &[first.clone(), second.clone()]);
    assert_eq!(summed.unwrap_err(), AggregateError::Cancelled);
    let mut dkg = Dkg::new(committee.config.clone());
    dkg.add(first).unwrap();
    assert_eq!(dkg.add(second), Err(DkgError::Cancels { dealer: party(5) }));
    dkg.add(committee.deal_verified(2)).unwrap();
    assert_eq!(dkg.add(committee.deal_verified(3)), Ok(Progress::Qualified));
    assert!(dkg.aggregate().is_ok());
}

#[test]
fn cancelling_an_own_share_does_not_stop_the_epoch() {
    // A last dealer may see to it that the sum of its own ephemeral keys is the identity. That
    // publishes its own share and must not make the aggregate invalid.
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let others = [committee.deal_verified(0), committee.deal_verified(2)];
    let openings = Openings::random(&config, &mut committee.rng);
    let mut body = openings.commit(&config);
    let mine = config.span(party(3)).start;
    let sum = add(&others[0].body, &others[1].body);
    let key = &committee.keys[party(3).index()];
    let value = openings.slow.values.expose()[mine];
    let ephemeral = -sum.slow.ephemerals[mine];
    // `h^f(k)·ek^r = h^f(k)·R^dk`, and `open` subtracts that power.
    let locked = G1Projective::from(prefinal_crypto_core::generators::h() * value)
        - key.open(&G1Affine::identity(), &ephemeral);
    body.slow.ephemerals[mine] = ephemeral;
    body.slow.ciphertexts[mine] = locked.into();
    let signer = &committee.signers[party(3).index()];
    let dealing = as_dealer(&config, 3, signer).publish(body, &openings, &mut committee.rng);
    let last = Arc::new(verify(&config, dealing).unwrap());
    let [first, second] = others;
    let aggregate = Aggregate::sum(&config, &[first, second, last]).unwrap();
    let bytes = aggregate.to_bytes();
    let read = Aggregate::from_bytes(&config, &bytes).unwrap();
    assert!(read.verify(&config).is_ok());
}

#[test]
fn a_dealer_counts_once_and_in_time() {
    let mut committee = Committee::new();
    let mut dkg = Dkg::new(committee.config.clone());
    let stake = |got| Progress::Collecting { got: Stake::new(got), need: Stake::new(44) };
    assert_eq!(dkg.progress(), stake(0));
    assert_eq!(dkg.add(committee.deal_verified(0)), Ok(stake(30)));
    let again = committee.deal_verified(0);
    assert_eq!(dkg.add(again), Err(DkgError::Duplicate { dealer: party(0) }));
    assert_eq!(dkg.add(committee.deal_verified(2)), Ok(stake(40)));
    let early = AggregateError::BelowQualification { got: Stake::new(40), need: Stake::new(44) };
    assert_eq!(dkg.aggregate().unwrap_err(), early);
    assert_eq!(dkg.add(committee.deal_verified(3)), Ok(Progress::Qualified));
    let late = committee.deal_verified(5);
    assert_eq!(dkg.add(late), Err(DkgError::Complete { dealer: party(5) }));
    let dealers: Vec<_> = dkg.dealings().iter().map(|dealing| dealing.dealer()).collect();
    assert_eq!(dealers, [0, 2, 3].map(party));
    let aggregate = dkg.aggregate().unwrap();
    assert_eq!(aggregate.dealers().collect::<Vec<_>>(), [0, 2, 3].map(party));
}

#[test]
fn stake_that_equals_the_bound_does_not_qualify() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let (shape, members) = (config.shape().clone(), config.members().to_vec());
    let bound = Stake::new(40);
    committee.config = Config::new(session(), shape, members, bound).unwrap().into();
    let alone = committee.deal_verified(5);
    let below = AggregateError::BelowQualification { got: bound, need: bound };
    let config = committee.config.clone();
    assert_eq!(Aggregate::sum(&config, std::slice::from_ref(&alone)).unwrap_err(), below);
    assert!(Aggregate::sum(&config, &[alone, committee.deal_verified(1)]).is_ok());
}

#[test]
fn dealings_of_another_session_do_not_count() {
    let mut committee = Committee::new();
    let mut other =
        Committee::with(Session { attempt: 1, ..session() }, committee.config.shape().clone(), 1);
    let foreign = other.deal_verified(0);
    let mut dkg = Dkg::new(committee.config.clone());
    assert_eq!(dkg.add(foreign.clone()), Err(DkgError::Foreign { dealer: party(0) }));
    let mixed = [committee.deal_verified(2), committee.deal_verified(5), foreign];
    let refused = Aggregate::sum(&committee.config, &mixed).unwrap_err();
    assert_eq!(refused, AggregateError::Foreign { dealer: party(0) });
}

#[test]
fn a_dealing_is_not_added_twice() {
    let mut committee = Committee::new();
    let mut dealings = three(&mut committee);
    dealings.push(dealings[0].clone());
    let refused = Aggregate::sum(&committee.config, &dealings).unwrap_err();
    assert_eq!(refused, AggregateError::Duplicate { dealer: party(0) });
}

#[test]
fn the_order_of_dealings_does_not_matter_to_their_sum() {
    let mut committee = Committee::new();
    let mut dealings = three(&mut committee);
    let sum = Aggregate::sum(&committee.config, &dealings).unwrap();
    dealings.rotate_left(1);
    assert_eq!(Aggregate::sum(&committee.config, &dealings).unwrap(), sum);
}

/// An aggregate that a liar has changed.
fn lie(change: impl FnOnce(&Committee, &mut Aggregate)) -> Result<(), AggregateError> {
    let mut committee = Committee::new();
    let dealings = three(&mut committee);
    let mut aggregate = Aggregate::sum(&committee.config, &dealings).unwrap().into_inner();
    change(&committee, &mut aggregate);
    aggregate.verify(&committee.config).map(|_| ())
}

#[test]
fn an_aggregator_cannot_lie_about_the_dealers() {
    assert_eq!(lie(|_, _| ()), Ok(()));
    let shift = |point: &mut G1Affine| *point = (*point + G1Affine::generator()).into();
    let signature = Err(AggregateError::Proof(ProofError::Signature));
    let commitment = lie(|_, aggregate| shift(&mut aggregate.contributions[0].commitment));
    assert_eq!(commitment, signature);
    let nonce = lie(|_, aggregate| shift(&mut aggregate.contributions[2].nonce));
    assert_eq!(nonce, signature);
    let response = lie(|_, aggregate| aggregate.contributions[1].response += Scalar::ONE);
    assert_eq!(response, signature);
    let body = lie(|_, aggregate| aggregate.contributions[1].body[31] ^= 1);
    assert_eq!(body, signature);
    let renamed = lie(|_, aggregate| aggregate.contributions[2].dealer = party(5));
    assert_eq!(renamed, signature);
    let removed = lie(|_, aggregate| {
        // Enough stake without dealer 2, whose part is taken out of the sums as well.
        let part = three(&mut Committee::new()).remove(1);
        aggregate.contributions.remove(1);
        aggregate.body = add(&aggregate.body, &negative(&part.body));
    });
    assert_eq!(removed, signature);
    let listed_twice = lie(|_, aggregate| {
        let first = aggregate.contributions[0].clone();
        aggregate.contributions.insert(0, first);
    });
    assert_eq!(listed_twice, Err(AggregateError::Duplicate { dealer: party(0) }));
    let too_few = lie(|_, aggregate| aggregate.contributions.truncate(2));
    let need = Stake::new(44);
    assert_eq!(too_few, Err(AggregateError::BelowQualification { got: Stake::new(40), need }));
}

#[test]
fn a_contribution_without_knowledge_spoils_the_batch() {
    // Dealers 0 and 3 sign whatever they like: opposite errors in their responses, whose plain sum
    // is right.
    let verdict = lie(|committee, aggregate| {
        aggregate.contributions[0].response += Scalar::ONE;
        aggregate.contributions[2].response += -Scalar::ONE;
        let signatures: Vec<_> = aggregate
            .contributions
            .iter()
            .map(|one| one.sign(&committee.config, committee.signer(one.dealer.get())))
            .collect();
        aggregate.signature = prefinal_crypto_core::bls::min_sig::aggregate(&signatures).unwrap();
    });
    assert_eq!(verdict, Err(AggregateError::Proof(ProofError::Knowledge)));
}

#[test]
fn an_aggregator_cannot_lie_about_the_sums() {
    let shift = |point: &mut G1Affine| *point = (*point + G1Affine::generator()).into();
    let sharing = |error| Err(AggregateError::Sharing(error));
    let public_key = lie(|_, aggregate| {
        aggregate.body.public_key = (aggregate.body.public_key + G2Affine::generator()).into();
    });
    assert_eq!(public_key, sharing(SharingError::Commitment));
    let ciphertext = lie(|_, aggregate| shift(&mut aggregate.body.slow.ciphertexts[10]));
    assert_eq!(ciphertext, sharing(SharingError::Ciphertext { party: party(6) }));
    let ephemeral = lie(|_, aggregate| shift(&mut aggregate.body.slow.ephemerals[3]));
    assert_eq!(ephemeral, sharing(SharingError::Ciphertext { party: party(2) }));
    let dropped = lie(|_, aggregate| aggregate.body.fast = None);
    assert!(matches!(dropped, Err(AggregateError::Sharing(SharingError::Size { .. }))));
    let identity = lie(|_, aggregate| aggregate.body.public_key = G2Affine::identity());
    assert_eq!(identity, Err(AggregateError::Cancelled));
}

#[test]
fn only_its_digest_says_that_an_aggregate_is_the_sum() {
    // The slow sharing in the place of the fast one: right secret, right degree, right ciphertexts.
    // Who blinded these shares for the fast path would give slow shares away with its votes.
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let honest = Aggregate::sum(&config, &three(&mut committee)).unwrap();
    let mut forged = honest.clone().into_inner();
    forged.body.fast = Some(forged.body.slow.clone());
    let forged = forged.verify(&config).unwrap();
    assert_ne!(forged.digest(), honest.digest());
    let read = Aggregate::from_bytes(&config, &honest.to_bytes()).unwrap();
    assert_eq!(read.verify(&config).unwrap().digest(), honest.digest());
}

#[test]
fn shares_open_to_their_owner_only() {
    let mut committee = Committee::new();
    let dealings = three(&mut committee);
    let aggregate = Aggregate::sum(&committee.config, &dealings).unwrap();
    let config = &committee.config;
    let opened = aggregate.decrypt(config, party(5), committee.keys[5].copy()).unwrap();
    assert_eq!((opened.slow.len(), opened.fast.unwrap().len()), (4, 4));
    let nothing = aggregate.decrypt(config, party(1), committee.keys[1].copy()).unwrap();
    assert!(nothing.slow.is_empty() && nothing.fast.unwrap().is_empty());
    let wrong = aggregate.decrypt(config, party(5), committee.keys[0].copy()).unwrap_err();
    assert_eq!(wrong.error, DecryptError::Key { party: party(5) });
    // A key that opened nothing is not lost.
    assert!(aggregate.decrypt(config, party(0), wrong.key).is_ok());
    let stranger = DecryptionKey::random(&mut committee.rng);
    let unknown = aggregate.decrypt(&committee.config, party(9), stranger).unwrap_err();
    assert_eq!(unknown.error, DecryptError::Key { party: party(9) });
    let other = Committee::with(session(), shape(&WEIGHTS, SLOW, None), 1);
    let foreign = aggregate.decrypt(&other.config, party(5), other.keys[5].copy()).unwrap_err();
    assert_eq!(foreign.error, DecryptError::Foreign);
}
