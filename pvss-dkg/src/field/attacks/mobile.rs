//! An adversary that moves: in each epoch it has less than the threshold, in two epochs together more.

use std::collections::BTreeMap;
use std::sync::Arc;

use prefinal_crypto_core::access::ShareIndex;
use prefinal_crypto_core::curve::{G2Affine, Scalar};

use super::dealt;
use crate::config::{Config, Member};
use crate::field::{Handover, HandoverError, Key, Predecessor, Shares, verify};
use crate::fixture::{Committee, SLOW, WEIGHTS, party, session, shape};
use crate::key::DecryptionKey;
use crate::protocol::EpochKey;

/// Weight 4 in the first epoch and 4 in the second, where 6 is the secret.
const FIRST: [u32; 2] = [0, 2];
const SECOND: [u32; 1] = [5];

/// Public for ever: what was dealt, and to whom.
struct Epoch {
    config: Arc<Config>,
    key: Key,
}

/// What a party has on it, and a break-in finds.
struct Node {
    key: Option<DecryptionKey>,
    shares: Shares,
}

/// What the adversary has by now.
#[derive(Default)]
struct Loot {
    keys: Vec<DecryptionKey>,
    /// By epoch.
    shares: [BTreeMap<ShareIndex, Scalar>; 2],
}

/// What parties do with a decryption key.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    /// Used for one key and wiped.
    Once,
    /// Kept, and registered again for the next epoch.
    ForEver,
}

fn open(epoch: &Epoch, keys: &[DecryptionKey], habit: Habit) -> Vec<Node> {
    let nodes = (0..7).map(party).zip(keys).map(|(me, key)| {
        let kept = (habit == Habit::ForEver).then(|| key.copy());
        let opened = epoch.key.decrypt(&epoch.config, me, key.copy()).unwrap();
        Node { key: kept, shares: opened.shares }
    });
    nodes.collect()
}

fn first(committee: &mut Committee) -> Epoch {
    let config = committee.config.clone();
    let dealings = [0, 5].map(|dealer| {
        let dealing = dealt(committee, dealer);
        Arc::new(verify(&config, dealing).unwrap())
    });
    Epoch { key: Key::sum(&config, &dealings).unwrap(), config }
}

/// The next epoch for the same parties, weights and thresholds.
fn next_config(before: &Config, members: Vec<Member>) -> Arc<Config> {
    let mut session = session();
    session.context.epoch = session.context.epoch.next();
    let (shape, dealers) = (before.shape().clone(), before.dealers().to_vec());
    Arc::new(Config::handover(session, shape, members, dealers, before.qualify()).unwrap())
}

fn refresh(
    before: &Epoch,
    nodes: &[Node],
    mut handover: Handover,
    dealers: &mut Committee,
) -> Epoch {
    let access = before.config.shape().access();
    let mut dealt = Vec::new();
    for dealer in access.parties() {
        let (signer, shares) = (&dealers.signers[dealer.index()], &nodes[dealer.index()].shares);
        let holder = handover.holder(dealer, signer, shares).unwrap();
        dealt.extend(holder.deal_all(&mut dealers.rng).unwrap());
    }
    for dealing in dealt.into_iter().take(handover.remaining().0) {
        handover.add(Arc::new(handover.verify(dealing).unwrap())).unwrap();
    }
    Epoch { key: handover.key().unwrap(), config: handover.config }
}

impl Loot {
    fn break_in(&mut self, number: usize, nodes: &[Node], victims: &[u32], epoch: &Epoch) {
        for victim in victims.iter().copied().map(party) {
            let node = &nodes[victim.index()];
            self.keys.extend(node.key.as_ref().map(DecryptionKey::copy));
            self.take(number, &node.shares, epoch, victim);
        }
    }

    fn take(
        &mut self,
        number: usize,
        shares: &Shares,
        epoch: &Epoch,
        of: prefinal_crypto_core::access::Party,
    ) {
        let indices = epoch.config.shape().access().indices(of);
        self.shares[number].extend(indices.zip(shares.slow.expose().iter().copied()));
    }

    /// Tries every key on everything that was ever dealt.
    fn open_all(&mut self, epochs: [&Epoch; 2]) {
        for (number, epoch) in epochs.into_iter().enumerate() {
            for of in epoch.config.shape().access().parties() {
                let tries = self.keys.iter().map(DecryptionKey::copy);
                let tries: Vec<_> = tries
                    .filter_map(|key| epoch.key.decrypt(&epoch.config, of, key).ok())
                    .collect();
                tries.iter().for_each(|opened| self.take(number, &opened.shares, epoch, of));
            }
        }
    }

    /// The secret, from as many shares of one epoch as it takes.
    fn secret(&self, epoch: &Epoch) -> Option<Scalar> {
        let enough = usize::try_from(SLOW).unwrap();
        let shares = self.shares.iter().find(|shares| shares.len() >= enough)?;
        let (indices, values): (Vec<ShareIndex>, Vec<Scalar>) = shares.iter().take(enough).unzip();
        let lambda = epoch.config.shape().access().domain().lagrange_at_zero(&indices);
        Some(lambda.iter().zip(values).map(|(l, value)| *l * value).sum())
    }
}

/// Both epochs with a break-in in each; what the adversary has in the end.
fn attack(habit: Habit) -> (Loot, Option<Scalar>, G2Affine) {
    let mut committee = Committee::new();
    let before = first(&mut committee);
    let nodes = open(&before, &committee.keys, habit);
    let mut loot = Loot::default();
    loot.break_in(0, &nodes, &FIRST, &before);

    let mut fresh_session = session();
    fresh_session.context.epoch = fresh_session.context.epoch.next();
    let fresh = Committee::with(fresh_session, shape(&WEIGHTS, SLOW, Some(9)), 2);
    let predecessor = Predecessor::new(&before.config, &before.key);
    let config = next_config(&before.config, fresh.config.members().to_vec());
    let mut handover = Handover::new(config, predecessor.clone()).unwrap();
    if habit == Habit::ForEver {
        let same = next_config(&before.config, before.config.members().to_vec());
        let refused = Handover::new(Arc::clone(&same), predecessor).unwrap_err();
        assert_eq!(refused, HandoverError::EncryptionKey { party: party(0) });
        // As it was before anybody refused it.
        handover.config = same;
    }
    let after = refresh(&before, &nodes, handover, &mut committee);
    let keys = if habit == Habit::ForEver { &committee.keys } else { &fresh.keys };
    // Everybody wipes its old shares.
    let nodes = open(&after, keys, habit);
    loot.break_in(1, &nodes, &SECOND, &after);
    loot.open_all([&before, &after]);
    let secret = loot.secret(&before);
    assert_eq!(before.key.public_key(), after.key.public_key());
    (loot, secret, *before.key.public_key())
}

/// That old shares are wiped does not help: keys that stay open them again.
#[test]
fn with_keys_that_stay_two_epochs_give_the_secret_away() {
    let (_, secret, public) = attack(Habit::ForEver);
    assert_eq!(G2Affine::from(G2Affine::generator() * secret.unwrap()), public);
}

#[test]
fn with_keys_that_are_used_up_an_adversary_that_moves_has_nothing() {
    let (loot, secret, _) = attack(Habit::Once);
    assert_eq!(secret, None);
    // What it took in each epoch, and no share more.
    assert_eq!(loot.shares.map(|shares| shares.len()), [4, 4]);
}

#[test]
fn a_handover_refuses_each_key_of_the_committee_before() {
    let mut committee = Committee::new();
    let before = first(&mut committee);
    let stored = EpochKey::of_key(&before.config, &before.key).to_bytes();
    let stored = EpochKey::from_bytes(&stored).unwrap().predecessor();
    let predecessor = Predecessor::new(&before.config, &before.key);
    assert_eq!(stored.digest, predecessor.digest);
    let fresh = Committee::with(session(), shape(&WEIGHTS, SLOW, Some(9)), 2);
    for (member, old) in [(0, 0), (6, 2), (2, 5), (5, 4)] {
        let mut members = fresh.config.members().to_vec();
        // Under another signing key: the party that opens it is another, the dealings are the same.
        members[member].encryption = before.config.members()[old].encryption.clone();
        let config = next_config(&before.config, members);
        let party = party(u32::try_from(member).unwrap());
        for before in [&predecessor, &stored] {
            let refused = Handover::new(Arc::clone(&config), before.clone()).unwrap_err();
            assert_eq!(refused, HandoverError::EncryptionKey { party });
        }
    }
}

/// Nothing is encrypted to a party that leaves, so its old key may stand in its place.
#[test]
fn a_party_that_gets_no_shares_needs_no_fresh_key() {
    let mut committee = Committee::new();
    let before = first(&mut committee);
    let predecessor = Predecessor::new(&before.config, &before.key);
    let fresh = Committee::with(session(), shape(&WEIGHTS, SLOW, Some(9)), 2);
    let mut members = fresh.config.members().to_vec();
    for ((member, old), weight) in members.iter_mut().zip(before.config.members()).zip(WEIGHTS) {
        if weight == 0 {
            member.encryption = old.encryption.clone();
        }
    }
    assert!(Handover::new(next_config(&before.config, members), predecessor).is_ok());
}
