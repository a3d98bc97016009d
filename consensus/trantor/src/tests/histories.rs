//! What a replica learns of the committees that it slept through, from peers of which some lie.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, aggregate};
use prefinal_protocol::Slot;

use super::bench::{FOUR, ms};
use super::service::{Net, again, seat, seats, settings};
use super::{context, members};
use crate::app::{Application, Configuration};
use crate::certificate::MultiSignature;
use crate::config::Replicas;
use crate::key_values::KeyValues;
use crate::order::Ordered;
use crate::replica::certifier::{Certifier, CertifierError, StakeCertifier, Votes};
use crate::replica::checkpoint::{
    CertifiedStatement, MAX_CERTIFICATE, Statement, hash_configurations,
};
use crate::replica::contents::Contents;
use crate::replica::history::{Change, MAX_CHANGES};
use crate::replica::message::{ReplicaFault, ReplicaMessage, tag_of};
use crate::replica::{ReplicaInput, ReplicaRecord};
use crate::schedule::Schedule;

/// Committees that follow each other. A stake that changes makes another committee.
pub(super) const NEXT: [u128; 4] = [2, 1, 1, 1];
pub(super) const LAST: [u128; 4] = [2, 2, 1, 1];
const QUORUM: [u32; 3] = [0, 1, 2];

pub(super) fn committee(stakes: &[u128]) -> Replicas {
    Replicas::new(&context(0), members(stakes)).unwrap()
}

/// The statement signed by these parties in a committee, whether or not they are a quorum.
fn signed(statement: Statement, stakes: &[u128], by: &[u32], chain: u8) -> CertifiedStatement {
    let committee = Replicas::new(&context(chain), members(stakes)).unwrap();
    let bytes = statement.to_bytes(&context(chain));
    let vote = |party: &u32| {
        let vote = StakeCertifier::new(again(*party)).vote(&committee, &bytes).unwrap();
        borsh::from_slice::<Signature>(&vote).unwrap()
    };
    let votes: Vec<Signature> = by.iter().map(vote).collect();
    let signers = committee.signers(by.iter().copied().map(Party::new));
    let sum = MultiSignature { signers, signature: aggregate(&votes).unwrap() };
    CertifiedStatement { statement, certificate: borsh::to_vec(&sum).unwrap() }
}

fn statement(epoch: u64, configurations: &BTreeMap<u64, Configuration>) -> Statement {
    let configurations = hash_configurations(configurations);
    let slot = Slot::new(epoch.wrapping_mul(16) | 1);
    Statement { epoch, slot, root: [1; 32], bytes: 100, configurations }
}

pub(super) fn certified_in(
    configurations: BTreeMap<u64, Configuration>,
    epoch: u64,
    stakes: &[u128],
) -> Change {
    let certified = signed(statement(epoch, &configurations), stakes, &QUORUM, 0);
    Change { certified, configurations }
}

pub(super) fn no_configurations(epoch: u64) -> Statement {
    statement(epoch, &BTreeMap::new())
}

/// The change of an epoch from a committee to another one, which is in force for two epochs at least.
pub(super) fn change(epoch: u64, from: &[u128], to: &[u128]) -> Change {
    let next = seats(to);
    certified_in([(epoch, next.clone()), (epoch + 1, next)].into(), epoch, from)
}

pub(super) fn checkpoint(epoch: u64, signers: &[u128]) -> CertifiedStatement {
    signed(no_configurations(epoch), signers, &QUORUM, 0)
}

pub(super) fn tell(net: &mut Net, from: u32, message: ReplicaMessage) {
    net.input(3, ReplicaInput::Received { from: Party::new(from), message });
}

pub(super) fn offer(net: &mut Net, from: u32, certified: &CertifiedStatement) {
    tell(net, from, ReplicaMessage::Stable(Box::new(certified.clone())));
}

/// The committees that a party is asked about, of all that is on its way to it.
pub(super) fn questions(net: &mut Net, to: u32) -> Vec<[u8; 8]> {
    let sent = net.take_sent_to(to).into_iter();
    let question = |message| match message {
        ReplicaMessage::ChangesRequest { committee } => Some(committee),
        _ => None,
    };
    sent.filter_map(question).collect()
}

pub(super) fn ahead(net: &Net) -> Vec<u64> {
    net.nodes[&3].history.ahead()
}

/// The fourth replica alone. It knows the first committee for the epochs 0 to 2.
fn alone() -> Net {
    let mut net = Net::new(4);
    net.up(3, settings(&FOUR));
    let _first = net.take_sent_to(0);
    net
}

/// The fourth replica, which has asked party 1 how the committee changed.
pub(super) fn asking() -> Net {
    let mut net = alone();
    offer(&mut net, 1, &checkpoint(12, &LAST));
    assert_eq!(questions(&mut net, 1), [tag_of(&committee(&FOUR))]);
    net
}

/// What is learned if party 1 answers with these changes.
pub(super) fn learned_from(changes: Vec<Change>) -> Vec<u64> {
    let mut net = asking();
    tell(&mut net, 1, ReplicaMessage::Changes(changes));
    let learned = ahead(&net);
    assert_eq!(net.faults(), []);
    let of_change = |record: &&ReplicaRecord| matches!(record, ReplicaRecord::Change(_));
    let kept = net.records.get(&3).map_or(0, |all| all.iter().filter(of_change).count());
    assert_eq!(learned.is_empty(), kept == 0, "what is used is durable");
    learned
}

#[test]
fn a_replica_that_is_behind_asks_for_the_changes_and_checks_the_checkpoint_again() {
    let mut net = asking();
    let chain = [change(5, &FOUR, &NEXT), change(9, &NEXT, &LAST)];
    tell(&mut net, 1, ReplicaMessage::Changes(chain.to_vec()));
    assert_eq!(ahead(&net), [5, 6, 9, 10]);
    let transfer = net.nodes[&3].transfer.as_ref().unwrap();
    assert_eq!((transfer.epoch(), transfer.peer().get()), (12, 1));
    assert_eq!(questions(&mut net, 1), [tag_of(&committee(&LAST))], "until nothing new comes");
    let kept = net.records[&3].iter().filter(|one| matches!(one, ReplicaRecord::Change(_)));
    assert_eq!(kept.cloned().collect::<Vec<_>>(), chain.map(ReplicaRecord::Change));
    assert_eq!(net.faults(), []);
}

#[test]
fn an_answer_in_parts_is_asked_for_until_it_is_complete() {
    let mut net = asking();
    tell(&mut net, 1, ReplicaMessage::Changes(vec![change(5, &FOUR, &NEXT)]));
    assert!(net.nodes[&3].transfer.is_none());
    assert_eq!(questions(&mut net, 1), [tag_of(&committee(&NEXT))]);
    tell(&mut net, 1, ReplicaMessage::Changes(vec![change(9, &NEXT, &LAST)]));
    assert!(net.nodes[&3].transfer.is_some());
}

#[test]
fn while_a_state_is_fetched_its_peer_tells_the_changes_that_are_passed_over() {
    let mut net = alone();
    offer(&mut net, 1, &checkpoint(4, &FOUR));
    assert!(net.nodes[&3].transfer.is_some());
    assert_eq!(questions(&mut net, 1), [tag_of(&committee(&FOUR))]);
    tell(&mut net, 1, ReplicaMessage::Changes(vec![change(5, &FOUR, &NEXT)]));
    assert_eq!(questions(&mut net, 1), [tag_of(&committee(&NEXT))], "until nothing new comes");
}

#[test]
fn a_checkpoint_that_is_taken_may_be_a_change_itself() {
    let (mut net, committee) = (alone(), committee(&FOUR));
    let contents = Contents {
        schedule: Schedule::new(&committee).next(&BTreeSet::new(), &committee),
        configurations: [(1, seats(&NEXT)), (2, seats(&NEXT))].into(),
        ordered: Ordered::default().to_checkpoint(),
        application: KeyValues::default().snapshot(),
    };
    let (state, statement) = contents.seal();
    let certified = signed(statement, &FOUR, &QUORUM, 0);
    offer(&mut net, 1, &certified);
    tell(&mut net, 1, ReplicaMessage::Piece(Box::new(state.piece(1, 0).unwrap())));
    let configurations = contents.configurations;
    assert_eq!(net.restored(3), 1);
    assert_eq!(net.nodes[&3].history.changes(), [Change { certified, configurations }]);
}

#[test]
fn a_change_is_believed_on_the_certificate_of_a_quorum_of_the_committee_before() {
    let good = || change(5, &FOUR, &NEXT);
    assert_eq!(learned_from(vec![good()]), [5, 6]);
    let mut forged = good();
    forged.certified.certificate = checkpoint(5, &FOUR).certificate;
    assert_eq!(learned_from(vec![forged]), []);
    let mut minority = good();
    minority.certified = signed(minority.certified.statement, &FOUR, &[0, 1], 0);
    assert_eq!(learned_from(vec![minority]), []);
    let mut other_chain = good();
    other_chain.certified = signed(other_chain.certified.statement, &FOUR, &QUORUM, 1);
    assert_eq!(learned_from(vec![other_chain]), []);
    // The first committee signs no more when a later one is known; one that nobody knows never does.
    assert_eq!(learned_from(vec![good(), change(9, &FOUR, &LAST)]), [5, 6]);
    assert_eq!(learned_from(vec![change(9, &NEXT, &LAST)]), []);
    // What does not verify is left out, and no more: a newcomer's committee lies in the middle.
    let chain = vec![change(4, &LAST, &FOUR), good(), change(9, &NEXT, &LAST)];
    assert_eq!(learned_from(chain), [5, 6, 9, 10]);
}

#[test]
fn a_change_has_the_configurations_that_its_statement_names_in_a_row_from_its_epoch_on() {
    let mut other = change(5, &FOUR, &NEXT);
    other.configurations.insert(6, seats(&LAST));
    assert_eq!(learned_from(vec![other]), []);
    let next = || seats(&NEXT);
    for configurations in [
        BTreeMap::new(),
        [(4, next()), (5, next())].into(),
        [(6, next())].into(),
        [(5, next()), (7, next())].into(),
    ] {
        assert_eq!(learned_from(vec![certified_in(configurations, 5, &FOUR)]), []);
    }
    let end = certified_in([(u64::MAX, next())].into(), u64::MAX, &FOUR);
    assert_eq!(learned_from(vec![end]), [u64::MAX]);
    assert_eq!(learned_from(vec![certified_in([(0, next())].into(), 0, &FOUR)]), []);
}

#[test]
fn configurations_follow_one_another_and_their_keys_are_proven() {
    let of = |first: Configuration, second: Configuration| {
        certified_in([(5, first), (6, second)].into(), 5, &FOUR)
    };
    let other_key =
        || Configuration { seats: vec![seat(7, 2), seat(1, 1), seat(2, 1), seat(3, 1)] };
    assert_eq!(learned_from(vec![of(seats(&NEXT), seats(&LAST))]), [5, 6]);
    assert_eq!(learned_from(vec![of(seats(&[2, 1, 1]), seats(&NEXT))]), []);
    assert_eq!(learned_from(vec![of(seats(&NEXT), seats(&[1, 1, 1]))]), []);
    assert_eq!(learned_from(vec![of(other_key(), other_key())]), []);
    assert_eq!(learned_from(vec![of(seats(&NEXT), other_key())]), []);
    let mut unproven = seats(&[1, 1, 1, 1, 1]);
    unproven.seats[4].proof = seat(5, 1).proof;
    assert_eq!(learned_from(vec![of(unproven.clone(), unproven)]), []);
}

#[test]
fn a_change_that_contradicts_what_is_known_moves_nothing() {
    // The first committee is known for the epochs 0 to 2.
    assert_eq!(learned_from(vec![change(2, &FOUR, &NEXT)]), []);
    let later = certified_in([(2, seats(&FOUR)), (3, seats(&NEXT))].into(), 2, &FOUR);
    assert_eq!(learned_from(vec![later]), [3]);
}

/// Counts the certificates that are checked.
#[derive(Debug)]
struct CountingCertifier(StakeCertifier, Arc<AtomicUsize>);

impl Certifier for CountingCertifier {
    fn vote(&self, committee: &Replicas, statement: &[u8]) -> Option<Vec<u8>> {
        self.0.vote(committee, statement)
    }

    fn suffices(&self, committee: &Replicas, parties: &BTreeSet<Party>) -> bool {
        self.0.suffices(committee, parties)
    }

    fn check_vote(
        &self,
        committee: &Replicas,
        statement: &[u8],
        party: Party,
        vote: &[u8],
    ) -> Result<(), CertifierError> {
        self.0.check_vote(committee, statement, party, vote)
    }

    fn combine(
        &self,
        committee: &Replicas,
        statement: &[u8],
        votes: &Votes,
    ) -> Result<Vec<u8>, CertifierError> {
        self.0.combine(committee, statement, votes)
    }

    fn verify(
        &self,
        committee: &Replicas,
        statement: &[u8],
        certificate: &[u8],
    ) -> Result<(), CertifierError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.verify(committee, statement, certificate)
    }
}

#[test]
fn what_does_not_match_its_hash_costs_no_pairing() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let mut net = Net::with_certifiers(4, move |party| {
        Arc::new(CountingCertifier(StakeCertifier::new(again(party)), Arc::clone(&counter)))
    });
    net.up(3, settings(&FOUR));
    offer(&mut net, 1, &checkpoint(12, &LAST));
    assert_eq!(count.load(Ordering::Relaxed), 1);
    let mut lie = change(5, &FOUR, &NEXT);
    lie.configurations.insert(6, seats(&LAST));
    let lies = (0..15).map(|at| {
        let mut lie = lie.clone();
        lie.certified.statement.epoch += at;
        lie
    });
    // Nor does one without a configuration.
    let lies = lies.chain([certified_in(BTreeMap::new(), 5, &FOUR)]);
    tell(&mut net, 1, ReplicaMessage::Changes(lies.collect()));
    assert_eq!((count.load(Ordering::Relaxed), ahead(&net)), (1, vec![]));
}

#[test]
fn an_answer_has_a_largest_size() {
    let mut net = asking();
    let good = change(5, &FOUR, &NEXT);
    let (got, most) = (MAX_CHANGES + 1, MAX_CHANGES);
    tell(&mut net, 1, ReplicaMessage::Changes(vec![good.clone(); got]));
    assert_eq!(net.faults(), [(3, 1, ReplicaFault::TooMany { got, most })]);
    let mut long = good.clone();
    long.certified.certificate = vec![0; MAX_CERTIFICATE + 1];
    tell(&mut net, 1, ReplicaMessage::Changes(vec![good, long]));
    assert!(matches!(net.faults()[1], (3, 1, ReplicaFault::TooLong { .. })));
    assert_eq!(ahead(&net), []);
}

#[test]
fn changes_that_were_not_asked_for_are_no_work() {
    let mut net = asking();
    net.jobs = Some(Vec::new());
    let good = || ReplicaMessage::Changes(vec![change(5, &FOUR, &NEXT)]);
    tell(&mut net, 2, good());
    assert_eq!(net.jobs.as_ref().map(Vec::len), Some(0), "2 was not asked");
    tell(&mut net, 1, good());
    tell(&mut net, 1, good());
    assert_eq!(net.jobs.take().map(|jobs| jobs.len()), Some(1), "1 was asked once");
}

#[test]
fn an_old_change_is_no_news() {
    let mut net = asking();
    let old = change(5, &FOUR, &NEXT);
    tell(&mut net, 1, ReplicaMessage::Changes(vec![old.clone()]));
    assert_eq!(questions(&mut net, 1).len(), 1);
    net.jobs = Some(Vec::new());
    // An open question, and an answer of what is known: nothing is checked, and nobody is asked again.
    let before = change(0, &LAST, &FOUR);
    tell(&mut net, 1, ReplicaMessage::Changes(vec![old, before]));
    assert_eq!(net.jobs.take().map(|jobs| jobs.len()), Some(0));
    assert_eq!((questions(&mut net, 1), ahead(&net)), (vec![], vec![5, 6]));
}

#[test]
fn a_peer_is_asked_once_within_the_patience_and_another_one_if_it_does_not_answer() {
    let mut net = asking();
    let far = checkpoint(12, &LAST);
    (0..9).for_each(|_| offer(&mut net, 1, &far));
    assert_eq!(questions(&mut net, 1), Vec::<[u8; 8]>::new());
    offer(&mut net, 2, &far);
    assert_eq!(questions(&mut net, 2).len(), 1, "1 says nothing");
    net.pass(ms(500));
    offer(&mut net, 1, &far);
    assert_eq!(questions(&mut net, 1).len(), 1);
    // An answer may be slow.
    net.pass(ms(5000));
    let chain = vec![change(5, &FOUR, &NEXT), change(9, &NEXT, &LAST)];
    tell(&mut net, 2, ReplicaMessage::Changes(chain));
    assert_eq!(net.nodes[&3].transfer.as_ref().unwrap().peer().get(), 2);
    // Junk in an answer earns no further question within the patience.
    let mut net = asking();
    tell(&mut net, 1, ReplicaMessage::Changes(vec![change(5, &NEXT, &LAST)]));
    offer(&mut net, 1, &far);
    assert_eq!(questions(&mut net, 1), Vec::<[u8; 8]>::new());
}

#[test]
fn with_what_was_learned_nobody_is_accused() {
    let mut net = asking();
    tell(&mut net, 1, ReplicaMessage::Changes(vec![change(5, &FOUR, &NEXT)]));
    for epoch in [6, 7, 9] {
        net.pass(ms(500));
        offer(&mut net, 0, &checkpoint(epoch, &LAST));
    }
    assert_eq!(net.faults(), []);
    // Of a committee that this party has computed it knows who signs.
    net.pass(ms(500));
    offer(&mut net, 0, &checkpoint(2, &LAST));
    assert_eq!(net.faults(), [(3, 0, ReplicaFault::ForgedCheckpoint { epoch: 2 })]);
}

#[test]
fn what_was_learned_survives_a_crash() {
    let mut net = asking();
    let chain = vec![change(5, &FOUR, &NEXT), change(9, &NEXT, &LAST)];
    tell(&mut net, 1, ReplicaMessage::Changes(chain.clone()));
    net.down(3);
    let mut records = net.records[&3].clone();
    records.push(ReplicaRecord::Checkpoint(checkpoint(12, &LAST), Vec::new()));
    let retained = ReplicaRecord::retain(records).into_iter().filter_map(|one| match one {
        ReplicaRecord::Change(change) => Some(change),
        _ => None,
    });
    assert_eq!(retained.collect::<Vec<_>>(), chain, "a checkpoint does not replace them");
    net.up(3, settings(&FOUR));
    assert_eq!((ahead(&net), net.nodes[&3].history.changes()), (vec![5, 6, 9, 10], chain));
    offer(&mut net, 1, &checkpoint(12, &LAST));
    assert_eq!(net.nodes[&3].transfer.as_ref().unwrap().epoch(), 12);
}

#[test]
fn those_that_join_later_are_heard_when_they_are_learned() {
    let mut net = asking();
    // Its quorum is three of four.
    let five = [1, 1, 1, 1, 0];
    tell(&mut net, 1, ReplicaMessage::Changes(vec![change(5, &FOUR, &five)]));
    offer(&mut net, 4, &checkpoint(9, &five));
    assert_eq!(net.nodes[&3].transfer.as_ref().unwrap().peer().get(), 4);
}
