//! Replicas: epochs, checkpoints and their certificates, configurations.

use std::collections::BTreeMap;
use std::sync::Arc;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::polynomial::{Placement, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{KeyShares, Setup, SigningCommittee};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::bench::FOUR;
use super::service::{Net, again, order_faults, put, seat, seats, settings, start};
use super::{context, members};
use crate::app::{Application, ConfigurationError};
use crate::client::{Client, ClientHeader};
use crate::config::Replicas;
use crate::key_values::Command;
use crate::replica::certifier::{Certifier, CertifierError, StakeCertifier, ThresholdCertifier};
use crate::replica::checkpoint::{CertifiedStatement, Statement};
use crate::replica::message::{CheckpointVote, ReplicaFault, ReplicaMessage, WrongState};
use crate::replica::{
    MAX_OFFSET, ReplicaEffect, ReplicaInput, ReplicaRecord, Settings, StartError,
};

fn four() -> Net {
    let mut net = Net::new(4);
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net
}

fn committee() -> Replicas {
    Replicas::new(&context(0), members(&FOUR)).unwrap()
}

fn statements(net: &Net, party: u32) -> Vec<Statement> {
    let stable = |(by, effect): &(u32, ReplicaEffect)| match effect {
        ReplicaEffect::Stable(statement) if *by == party => Some(*statement),
        _ => None,
    };
    net.effects.iter().filter_map(stable).collect()
}

pub(super) fn configure(net: &mut Net, number: u64, stakes: &[u128]) {
    let header = ClientHeader { client: Client::new([2; 32]), number };
    let transaction = Command::Configure(seats(stakes)).transaction(header);
    net.input(1, ReplicaInput::Submit(transaction));
}

#[test]
fn all_replicas_certify_the_same_state_at_each_epoch_and_carry_out_a_number_once() {
    let mut net = four();
    // The same number at two parties.
    for party in [0, 2] {
        net.input(party, ReplicaInput::Submit(put(0, "a", &[u8::try_from(party).unwrap()])));
    }
    net.input(1, ReplicaInput::Submit(put(1, "b", b"2")));
    net.run_to_epoch(4);
    let first: Vec<Statement> = statements(&net, 0).into_iter().take(3).collect();
    assert_eq!(first.iter().map(|one| one.epoch).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(first.iter().map(|one| one.slot.get()).collect::<Vec<_>>(), [17, 33, 49]);
    assert_ne!(first[0].root, first[1].root);
    for party in 1..4 {
        assert_eq!(statements(&net, party)[..3], first);
        let node = &net.nodes[&party];
        assert_eq!((node.app().applied(), node.app().get("b")), (2, Some(&b"2"[..])));
        let CertifiedStatement { statement, certificate } = node.stable().unwrap();
        let message = statement.to_bytes(&context(0));
        let certifier = StakeCertifier::new(again(0));
        assert_eq!(certifier.verify(&committee(), &message, certificate), Ok(()));
        let other = Statement { root: [0; 32], ..*statement }.to_bytes(&context(0));
        let refused = certifier.verify(&committee(), &other, certificate);
        assert_eq!(refused, Err(CertifierError::Certificate));
        let elsewhere = statement.to_bytes(&context(1));
        assert!(certifier.verify(&committee(), &elsewhere, certificate).is_err());
    }
    assert_eq!((net.faults(), order_faults(&net)), (vec![], vec![]));
}

#[test]
fn an_epoch_does_not_begin_before_its_checkpoint_is_certified_and_lost_votes_are_sent_again() {
    let mut net = four();
    // Nobody hears of the first votes of anybody.
    let mut lost = 12;
    net.tamper = Box::new(move |_, _, message| match message {
        ReplicaMessage::Vote(_) if lost > 0 => {
            lost -= 1;
            None
        }
        message => Some(message),
    });
    net.run("the end of the epoch", |net| net.nodes.values().all(|node| node.own.is_some()));
    assert_eq!(net.epochs(), [0; 4]);
    net.run_to_epoch(2);
}

#[test]
fn a_wrong_state_is_evidence_and_a_bad_vote_is_named() {
    let mut net = four();
    net.tamper = Box::new(|from, _, message| match (from, message) {
        (1, ReplicaMessage::Vote(vote)) => {
            let statement = Statement { root: [9; 32], ..vote.statement };
            let message = statement.to_bytes(&context(0));
            let vote = StakeCertifier::new(again(1)).vote(&committee(), &message).unwrap();
            Some(ReplicaMessage::Vote(Box::new(CheckpointVote { statement, vote })))
        }
        (_, message) => Some(message),
    });
    net.run_to_epoch(2);
    let faults = net.faults();
    let evidence = faults.iter().find_map(|(_, party, fault)| match fault {
        ReplicaFault::WrongState(evidence) if *party == 1 => Some((**evidence).clone()),
        _ => None,
    });
    let evidence = evidence.unwrap();
    let certifier = StakeCertifier::new(again(0));
    let verify = |evidence: &WrongState, party| {
        evidence.verify(&certifier, &committee(), &context(0), Party::new(party))
    };
    assert_eq!(verify(&evidence, 1), Ok(()));
    assert!(verify(&evidence, 2).is_err(), "another party did not sign it");
    let mut tame = evidence.clone();
    tame.vote.statement = tame.certified.statement;
    tame.vote.vote =
        certifier.vote(&committee(), &tame.vote.statement.to_bytes(&context(0))).unwrap();
    assert_eq!(verify(&tame, 0), Err(CertifierError::Certificate), "the right state");
    let mut other_epoch = evidence.clone();
    other_epoch.vote.statement.epoch += 1;
    let message = other_epoch.vote.statement.to_bytes(&context(0));
    other_epoch.vote.vote = certifier.vote(&committee(), &message).unwrap();
    assert_eq!(verify(&other_epoch, 0), Err(CertifierError::Certificate));
    let mut unproven = evidence;
    unproven.certified.statement.slot = unproven.certified.statement.slot.next();
    assert!(verify(&unproven, 1).is_err());

    // A vote that is not signed spoils the sum, and is left out.
    let mut net = four();
    net.tamper = Box::new(|from, _, message| match (from, message) {
        (1, ReplicaMessage::Vote(vote)) => {
            let bytes = vote.statement.to_bytes(&context(0));
            let forged = StakeCertifier::new(again(2)).vote(&committee(), &bytes).unwrap();
            Some(ReplicaMessage::Vote(Box::new(CheckpointVote { vote: forged, ..*vote })))
        }
        (2, ReplicaMessage::Vote(vote)) => {
            let mut cut = *vote;
            cut.vote.pop();
            Some(ReplicaMessage::Vote(Box::new(cut)))
        }
        (_, message) => Some(message),
    });
    net.run("a bad vote is named", |net| net.faults().len() > 1);
    assert!(net.faults().iter().all(|(_, party, fault)| {
        [1, 2].contains(party) && matches!(fault, ReplicaFault::BadVote { .. })
    }));
    // Each has the votes of the other two, and the liars their own.
    net.run_to_epoch(2);
}

#[test]
fn a_vote_has_a_largest_size() {
    let mut net = four();
    net.run_to_epoch(1);
    let statement = net.nodes[&0].stable().unwrap().statement;
    let most = crate::replica::checkpoint::MAX_VOTE;
    let vote = CheckpointVote { statement, vote: vec![0; most + 1] };
    let message = ReplicaMessage::Vote(Box::new(vote));
    net.input(0, ReplicaInput::Received { from: Party::new(3), message });
    let (what, got) = ("vote", most + 1);
    assert_eq!(net.faults(), [(0, 3, ReplicaFault::TooLong { what, got, most })]);
}

#[test]
fn a_replica_that_restarts_computes_its_epoch_again_also_from_the_records_that_are_retained() {
    let mut net = four();
    net.input(1, ReplicaInput::Submit(put(0, "a", b"1")));
    net.run_to_epoch(2);
    net.input(1, ReplicaInput::Submit(put(1, "b", b"2")));
    net.run("it is carried out", |net| net.nodes[&1].app().applied() == 2);
    for party in [1, 3] {
        net.down(party);
        let records = net.records.remove(&party).unwrap();
        let all = records.len();
        let retained = ReplicaRecord::retain(records);
        assert!(retained.len() < all, "{} of {all}", retained.len());
        assert!(matches!(retained[0], ReplicaRecord::Checkpoint(..) | ReplicaRecord::Order(_)));
        net.records.insert(party, retained);
        net.up(party, settings(&FOUR));
    }
    net.run_to_epoch(4);
    assert_eq!(net.nodes[&1].app(), net.nodes[&0].app());
    assert_eq!(net.nodes[&1].app().applied(), 2);
    assert_eq!((net.restored(1), net.faults()), (0, vec![]));
}

#[test]
fn a_configuration_takes_effect_its_offset_later_and_one_that_cannot_be_is_refused() {
    let mut net = four();
    configure(&mut net, 0, &[1, 1, 1, 2]);
    let total = |net: &Net| net.nodes[&0].ordering().committee().total().get();
    net.run("a height is carried out", |net| net.nodes[&0].app().applied() == 1);
    assert_eq!(net.nodes[&0].ordering().schedule().epoch(), 0);
    // Announced when epoch 1 begins, so in force with epoch 3.
    for (epoch, stake) in [(1, 4), (2, 4), (3, 5)] {
        net.run("epoch", |net| net.nodes[&0].ordering().schedule().epoch() == epoch);
        assert_eq!(total(&net), stake, "epoch {epoch}");
    }
    net.run_to_epoch(4);
    configure(&mut net, 1, &[1, 1, 1]);
    net.run_to_epoch(6);
    let refused = net.effects.iter().find_map(|(_, effect)| match effect {
        ReplicaEffect::ConfigurationRefused(error) => Some(*error),
        _ => None,
    });
    assert_eq!(refused, Some(ConfigurationError::TooFewSeats { got: 3, need: 4 }));
    net.run_to_epoch(8);
    assert_eq!((total(&net), net.faults(), order_faults(&net)), (5, vec![], vec![]));
    let roots: BTreeMap<u64, Statement> =
        statements(&net, 0).into_iter().map(|one| (one.epoch, one)).collect();
    assert_eq!(roots.get(&7), statements(&net, 3).iter().find(|one| one.epoch == 7));
}

#[test]
fn parties_leave_and_join() {
    let mut net = Net::new(5);
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net.input(2, ReplicaInput::Submit(put(0, "a", &[7; 100_000])));
    configure(&mut net, 0, &[0, 1, 1, 1, 1]);
    net.run_to_epoch(4);
    // The new one knows the committee that it is in, and nothing else.
    net.join(4, settings(&[0, 1, 1, 1, 1]));
    net.run("it has the state", |net| net.restored(4) > 0);
    net.down(3);
    net.run_to_epoch(net.epochs()[0] + 3);
    assert_eq!(net.nodes[&4].app(), net.nodes[&1].app(), "three of four, with the new one");
    assert!(!net.nodes[&1].ordering().schedule().leaders().contains(&Party::new(0)));
    assert_eq!((net.faults(), order_faults(&net)), (vec![], vec![]));
}

#[test]
fn configurations_are_checked_before_they_take_effect() {
    let four = seats(&FOUR);
    let mut other = seats(&[1; 5]);
    assert_eq!(other.follows(&four), Ok(()));
    other.seats[2] = seat(7, 1);
    let party = Party::new(2);
    assert_eq!(other.follows(&four), Err(ConfigurationError::OtherKey { party }));
    let mut unproven = seats(&FOUR);
    unproven.seats[1].proof = seat(2, 1).proof;
    let certifier = || Arc::new(StakeCertifier::new(again(0)));
    let begin = |settings| start(0, settings, certifier(), Vec::new()).map(|_| ());
    let refused = begin(Settings { configuration: unproven, ..settings(&FOUR) }).unwrap_err();
    let StartError::Configuration(error) = refused else { panic!("{refused:?}") };
    assert!(matches!(error, ConfigurationError::Possession { party, .. } if party.get() == 1));
    for got in [0, MAX_OFFSET + 1, u64::MAX] {
        let settings = Settings { config_offset: got, ..settings(&FOUR) };
        assert_eq!(begin(settings), Err(StartError::Offset { got }));
    }
    assert_eq!(begin(Settings { config_offset: MAX_OFFSET, ..settings(&FOUR) }), Ok(()));
    assert!(begin(settings(&[0; 4])).is_err(), "no stake");
}

/// Shares of one key, dealt by one who is trusted: 3 of 4 sign.
pub(super) fn shared_key() -> impl Fn(u32) -> Arc<dyn Certifier> {
    let sharing = sharing(0);
    move |party| sharing(party, true)
}

/// One of many sharings of the same key: the certifiers of parties with their shares and without.
pub(super) fn sharing(number: u64) -> impl Fn(u32, bool) -> Arc<dyn Certifier> {
    let secret = Secret::new(Scalar::random(&mut ChaCha20Rng::seed_from_u64(9)));
    let mut rng = ChaCha20Rng::seed_from_u64(number);
    let access = Access::new(&[1; 4]).unwrap();
    let threshold = Threshold::new(3, 4).unwrap();
    let polynomial = Polynomial::random(threshold.t(), &secret, &mut rng);
    let purpose = ThresholdCertifier::PURPOSE;
    let setup = Setup { access, threshold, placement: Placement::Consecutive, purpose };
    move |party, holds| {
        let commitment = Commitment::commit(&polynomial);
        let committee =
            SigningCommittee::<MinSig>::from_commitment(setup.clone(), &commitment).unwrap();
        let party = Party::new(party);
        let shares = polynomial.shares(committee.points());
        let own = shares.expose()[committee.access().range(party)].to_vec();
        let signer = KeyShares::new(party, Secret::new(own)).check(&committee).unwrap();
        Arc::new(ThresholdCertifier::new(committee, Some(signer).filter(|_| holds)))
    }
}

#[test]
fn with_a_shared_key_the_certificate_is_the_same_everywhere_and_verifies_under_the_key() {
    let key = shared_key();
    let judge = key(0);
    let mut net = Net::with_certifiers(4, key);
    (0..4).for_each(|party| net.up(party, settings(&FOUR)));
    net.tamper = Box::new(|from, _, message| match (from, message) {
        (1, ReplicaMessage::Vote(vote)) => {
            let mut cut = *vote;
            cut.vote.pop();
            Some(ReplicaMessage::Vote(Box::new(cut)))
        }
        (_, message) => Some(message),
    });
    net.run_to_epoch(2);
    let mut certificates: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    for records in net.records.values() {
        for record in records {
            if let ReplicaRecord::Checkpoint(CertifiedStatement { statement, certificate }, _) =
                record
            {
                certificates.entry(statement.epoch).or_default().push(certificate.clone());
                let message = statement.to_bytes(&context(0));
                assert_eq!(judge.verify(&committee(), &message, certificate), Ok(()));
                let other = Statement { epoch: 9, ..*statement }.to_bytes(&context(0));
                assert!(judge.verify(&committee(), &other, certificate).is_err());
            }
        }
    }
    let first = &certificates[&1];
    assert_eq!((first.len(), first[0].len()), (4, 48));
    assert!(first.iter().all(|one| *one == first[0]));
    assert!(!judge.suffices(&committee(), &[Party::new(0), Party::new(1)].into()));
    let votes = BTreeMap::new();
    assert_eq!(judge.combine(&committee(), b"x", &votes), Err(CertifierError::BelowQuorum));
    let faults = net.faults();
    assert!(!faults.is_empty() && faults.iter().all(|(_, party, _)| *party == 1), "{faults:?}");
}

#[test]
fn a_snapshot_of_the_example_is_read_as_it_was_written_or_refused() {
    let mut one = crate::key_values::KeyValues::default();
    let put = put(0, "a", b"1").bytes().clone();
    let junk: Arc<[u8]> = Arc::from(&b"junk"[..]);
    one.apply(prefinal_protocol::Slot::new(1), &[put, junk]);
    assert_eq!(one.applied(), 1);
    let mut other = crate::key_values::KeyValues::default();
    let mut bytes = one.snapshot();
    assert_eq!(other.restore(&bytes), Ok(()));
    assert_eq!(other, one);
    bytes.push(0);
    assert!(other.restore(&bytes).is_err());
    assert_eq!(other, one, "as before");
}
