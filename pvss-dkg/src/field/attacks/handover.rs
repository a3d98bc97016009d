//! One key, two committees.

use std::sync::Arc;

use prefinal_crypto_core::access::ShareIndex;
use prefinal_crypto_core::curve::{G2Affine, Scalar};
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::sharing::Sharing;
use prefinal_crypto_core::threshold::{Message, Purpose};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::dealt;
use crate::aggregate::AggregateError;
use crate::attacks::repeated::of_field;
use crate::config::Config;
use crate::deal::DealError;
use crate::dkg::{Dkg, DkgError};
use crate::field::deal::{Witness, publish};
use crate::field::layout::Layout;
use crate::field::{
    AddError, Dealing, DealingError, Handover, HandoverError, Key, Predecessor, RemainingShares,
    Shares, verify,
};
use crate::fixture::{Committee, as_dealer, party, session, shape};
use crate::shape::SharePath;

/// A committee with its key, and each party's shares of it.
struct Epoch {
    committee: Committee,
    key: Key,
    shares: Vec<Shares>,
}

fn epoch() -> Epoch {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let dealings = [0, 5].map(|dealer| {
        let dealing = dealt(&mut committee, dealer);
        Arc::new(verify(&config, dealing).unwrap())
    });
    let key = Key::sum(&config, &dealings).unwrap();
    let keys = (0..7).map(party).zip(&committee.keys);
    let shares =
        keys.map(|(to, secret)| key.decrypt(&config, to, secret.copy()).unwrap().shares).collect();
    Epoch { committee, key, shares }
}

/// Other weights, another order of the members, other thresholds; dealers as before.
fn next(before: &Epoch) -> (Committee, Handover) {
    let shape = shape(&[0, 2, 2, 0, 1, 1, 3], 4, Some(7));
    let mut session = session();
    session.context.epoch = session.context.epoch.next();
    let mut after = Committee::with(session, shape.clone(), 2);
    let members = after.config.members().to_vec();
    let dealers = before.committee.config.dealers().to_vec();
    let qualify = before.committee.config.qualify();
    let config = Config::handover(session, shape, members, dealers, qualify).unwrap();
    after.config = Arc::new(config);
    let predecessor = Predecessor::new(&before.committee.config, &before.key);
    let handover = Handover::new(after.config.clone(), predecessor).unwrap();
    (after, handover)
}

/// Share `k` of the epoch before, with the party that holds it.
fn held(before: &Epoch, k: u32) -> (u32, ShareIndex, Secret<Scalar>) {
    let index = ShareIndex::new(k).unwrap();
    let access = before.committee.config.shape().access();
    let holder = access.owner(index).unwrap();
    let place = index.position() - access.range(holder).start;
    let share = before.shares[holder.index()].slow.expose()[place];
    (holder.get(), index, Secret::new(share))
}

fn handed(before: &mut Epoch, handover: &Handover, k: u32) -> Dealing {
    let (holder, index, _) = held(before, k);
    let holder = party(holder);
    let (signer, rng) = (&before.committee.signers[holder.index()], &mut before.committee.rng);
    let shares = &before.shares[holder.index()];
    handover.holder(holder, signer, shares).unwrap().deal(index, rng).unwrap()
}

#[test]
fn the_next_committee_holds_the_same_key() {
    let mut before = epoch();
    let (after, mut handover) = next(&before);
    for (place, k) in [11, 2, 7, 1, 9, 4].into_iter().enumerate() {
        assert_eq!(handover.remaining(), RemainingShares(6 - place));
        assert!(matches!(handover.key(), Err(AggregateError::Shares { .. })));
        let dealing = handed(&mut before, &handover, k);
        let bytes = dealing.to_bytes();
        assert_eq!(Dealing::from_bytes(&after.config, &bytes), Ok(dealing.clone()));
        let dealing = Arc::new(handover.verify(dealing).unwrap());
        handover.add(dealing.clone()).unwrap();
        let again = handover.add(dealing).unwrap_err();
        assert!(matches!(again, AddError::Duplicate { .. } | AddError::Complete { .. }), "{again}");
    }
    let late = handed(&mut before, &handover, 3);
    let late = Arc::new(handover.verify(late).unwrap());
    assert_eq!(handover.add(late).unwrap_err(), AddError::Complete { share: 3 });
    let key = handover.key().unwrap();
    assert_eq!(key.public_key(), before.key.public_key());
    let access = after.config.shape().access().clone();
    for (path, threshold) in [(SharePath::Slow, 4), (SharePath::Fast, 7)] {
        let mut values = Vec::new();
        for to in access.parties() {
            let shares =
                key.decrypt(&after.config, to, after.keys[to.index()].copy()).unwrap().shares;
            let own =
                if path == SharePath::Slow { &shares.slow } else { shares.fast.as_ref().unwrap() };
            values.extend_from_slice(own.expose());
        }
        let indices: Vec<ShareIndex> =
            (3..3 + threshold).map(|k| ShareIndex::new(k).unwrap()).collect();
        let lambda = access.domain().lagrange_at_zero(&indices);
        let terms = lambda.iter().zip(&indices);
        let secret: Scalar = terms.map(|(l, k)| *l * values[k.position()]).sum();
        assert_eq!(G2Affine::from(G2Affine::generator() * secret), *before.key.public_key());
    }
    // Shares before and after do not mix: they are of different polynomials.
    assert_ne!(
        key.public_shares(SharePath::Slow).unwrap()[0],
        before.key.public_shares(SharePath::Slow).unwrap()[0]
    );
}

#[test]
fn only_the_holder_deals_a_share_on_and_nothing_else() {
    let mut before = epoch();
    let (after, handover) = next(&before);
    let (holder, index, share) = held(&before, 7);
    let signers = &before.committee.signers;
    let rng = &mut before.committee.rng;
    let mut refused = |dealer: u32, slow: Vec<Scalar>| {
        let (shares, dealer) = (Shares { slow: Secret::new(slow), fast: None }, party(dealer));
        let holder = handover.holder(dealer, &signers[dealer.index()], &shares).unwrap();
        holder.deal(index, rng).unwrap_err()
    };
    let own = || before.shares[party(holder).index()].slow.expose().clone();
    let wrong = own().iter().map(|share| *share + Scalar::ONE).collect();
    assert_eq!(refused(holder, wrong), HandoverError::Share { share: 7 });
    assert_eq!(refused(holder, Vec::new()), HandoverError::Share { share: 7 });
    let stranger = HandoverError::Holder { dealer: party(2), share: 7 };
    assert_eq!(refused(2, own()), stranger);
    let other = DealError::Signer { dealer: party(holder) };
    let shares = &before.shares[party(holder).index()];
    let refused = handover.holder(party(holder), &signers[2], shares).unwrap_err();
    assert_eq!(refused, HandoverError::Deal(other));

    // The share's value, dealt by another party, or as another share, or as a fresh secret.
    let config = &after.config;
    let layout = Layout::new(config);
    let shape = config.shape();
    let (slow, fast) = (shape.slow(), shape.threshold(SharePath::Fast));
    let sharing = Sharing::new(Secret::new(*share.expose()), slow, fast, rng);
    let witness = Witness::new(config, &layout, &sharing, rng);
    let digest = handover.before().digest;
    let mut published = |dealer: u32, share: Option<(ShareIndex, &[u8; 32])>| {
        let author = as_dealer(config, dealer, &signers[party(dealer).index()]);
        publish(&author, &witness, share, rng).unwrap()
    };
    let other = ShareIndex::new(8).unwrap();
    assert!(handover.verify(published(holder, Some((index, &digest)))).is_ok());
    let refused = handover.verify(published(2, Some((index, &digest)))).unwrap_err();
    assert_eq!(refused, DealingError::Holder { dealer: party(2), share: 7 });
    let refused = handover.verify(published(holder, Some((other, &digest)))).unwrap_err();
    assert_eq!(refused, DealingError::Share { share: 8 });
    let refused = handover.verify(published(holder, None)).unwrap_err();
    assert_eq!(refused, DealingError::Source);
    // A share dealt on is no contribution to a fresh key, and the proof names the key before.
    let refused = verify(config, published(holder, Some((index, &digest)))).unwrap_err();
    assert_eq!(refused, DealingError::Source);
    let refused = handover.verify(published(holder, Some((index, &[9; 32])))).unwrap_err();
    assert_eq!(refused, DealingError::Chunking);
    // Relabelled afterwards: signature and proof still speak of share 7.
    let mut relabelled = published(holder, Some((index, &digest)));
    relabelled.share = Some(other);
    let bytes = relabelled.to_bytes();
    let relabelled = Dealing::from_bytes(config, &bytes).unwrap();
    assert!(handover.verify(relabelled).is_err());
}

/// A dealing counts where it was checked and nowhere else, even under one configuration.
#[test]
fn a_verdict_of_one_handover_is_none_of_another() {
    let mut before = epoch();
    let (after, handover) = next(&before);
    let dealing = handed(&mut before, &handover, 7);
    let dealing = Arc::new(handover.verify(dealing).unwrap());

    // Another key of the same committee is handed over to the same one.
    let config = before.committee.config.clone();
    let dealings = [3, 5].map(|dealer| {
        let dealing = dealt(&mut before.committee, dealer);
        Arc::new(verify(&config, dealing).unwrap())
    });
    let second = Key::sum(&config, &dealings).unwrap();
    let predecessor = Predecessor::new(&config, &second);
    let mut other = Handover::new(after.config.clone(), predecessor).unwrap();
    let dealer = dealing.dealer();
    assert_eq!(other.add(dealing.clone()).unwrap_err(), AddError::Foreign { dealer });

    // Or a fresh one is made for it.
    let mut dkg = Dkg::new(after.config.clone());
    assert_eq!(dkg.add(dealing.clone()).unwrap_err(), DkgError::Foreign { dealer });
    let refused = Key::sum(&after.config, &[dealing]).unwrap_err();
    assert_eq!(refused, AggregateError::Foreign { dealer });
}

#[test]
fn a_generator_that_repeats_itself_deals_a_share_on_differently() {
    let before = epoch();
    let (after, handover) = next(&before);
    // The same once more, in the next attempt.
    let config = &after.config;
    let session = crate::config::Session { attempt: 1, ..*config.session() };
    let (members, dealers) = (config.members().to_vec(), config.dealers().to_vec());
    let config =
        Config::handover(session, config.shape().clone(), members, dealers, config.qualify());
    let predecessor = Predecessor::new(&before.committee.config, &before.key);
    let again = Handover::new(Arc::new(config.unwrap()), predecessor).unwrap();
    let deal = |handover: &Handover, k| {
        let (holder, index, _) = held(&before, k);
        let holder = party(holder);
        let signer = &before.committee.signers[holder.index()];
        let holder = handover.holder(holder, signer, &before.shares[holder.index()]).unwrap();
        holder.deal(index, &mut ChaCha20Rng::seed_from_u64(0x5eed)).unwrap()
    };
    let (first, second, third) = (deal(&handover, 7), deal(&again, 7), deal(&handover, 8));
    // What is dealt on is the same: `F` and `V̂₀`.
    let common: Vec<_> = of_field(&first).intersection(&of_field(&second)).cloned().collect();
    let mut same = vec![
        first.contribution.commitment.to_bytes().to_vec(),
        first.body.public_key.to_bytes().to_vec(),
    ];
    same.sort();
    assert_eq!(common, same);
    assert!(of_field(&first).is_disjoint(&of_field(&third)));
}

/// A party goes on signing while it deals on, and deals once more if the handover has to begin again.
#[test]
fn the_shares_that_sign_are_dealt_on() {
    let mut before = epoch();
    let (_, mut handover) = next(&before);
    let config = before.committee.config.clone();
    let committees = before.key.signing(&config, Purpose::Rounds).unwrap();
    let message = Message::round(RoundNumber::new(1).unwrap());
    let sign = |before: &Epoch| {
        let holders = config.shape().access().parties().zip(&before.shares);
        let holders = holders.filter(|(_, shares)| !shares.slow.expose().is_empty());
        let partial = |(party, shares): (_, &Shares)| {
            let signer = shares.signing(party, &committees).unwrap();
            (party, signer.slow.partial(&message).unwrap())
        };
        committees.slow.verify_all(&message, holders.map(partial).collect()).unwrap().combine()
    };
    let signature = sign(&before);
    let mut dealt = Vec::new();
    for party in [5, 1, 2, 3].map(party) {
        let (signer, rng) = (&before.committee.signers[party.index()], &mut before.committee.rng);
        let holder = handover.holder(party, signer, &before.shares[party.index()]).unwrap();
        let dealings = holder.deal_all(rng).unwrap();
        let shares: Vec<_> = dealings.iter().map(|dealing| dealing.share.unwrap()).collect();
        assert_eq!(shares, holder.indices().collect::<Vec<_>>());
        dealt.extend(dealings);
    }
    for dealing in dealt.into_iter().take(handover.remaining().0) {
        handover.add(Arc::new(handover.verify(dealing).unwrap())).unwrap();
    }
    assert_eq!(handover.key().unwrap().public_key(), before.key.public_key());
    assert_eq!(sign(&before), signature);
}
