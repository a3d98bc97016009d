//! The history of the committee: certified changes, by which a replica that slept through many of them learns
//! which committee signs now.
//!
//! ```text
//! epoch        6          7          8          9
//! committee    A          A          B          B
//! checkpoint        A,A ◄ A    A,B ◄ A    B,B ◄ B         config_offset 2:  configurations ◄ signed by
//! change                             ▲
//! ```
//! The checkpoint at the beginning of epoch `e` is signed by the committee of `e − 1` and names those of `e` and
//! the next ones. It is a **change** if the committee of `e` is another one than that of `e − 1`. So each
//! committee signs the change to its successor, in its last epoch, and the changes are a chain: one that knows
//! any committee of the chain can check all changes after it, each with the committee of the one before. (If
//! those were kept that *announce* another configuration, a committee in force for less than `config_offset`
//! epochs would sign none of them, and nobody could begin with it.)
//!
//! | step   | what                                                                | when                       |
//! |--------|---------------------------------------------------------------------|----------------------------|
//! | ask    | for the changes behind the last one that is known here               | a checkpoint's certificate does not verify and its signers are not known for sure; or a state is fetched |
//! | answer | so many changes that follow the last one with that committee          | within the limits of what a peer is served |
//! | check  | hash, epochs, certificate, [`Configuration::follows`], keys            | in a job, only if it was asked for |
//! | use    | as the committees ahead; the checkpoint is then checked once more     | until they are seated      |
//!
//! What is learned here is believed less than what this replica computed: with it no peer is accused. Members
//! of a committee of long ago, whose stake is elsewhere now, can sign a chain of their own. A replica that knows
//! no later committee takes it for the true one, as nothing distinguishes them but
//! [`ThresholdCertifier`](crate::ThresholdCertifier)'s shared key.
//!
//! **Cost.** A change is kept for good, on disk and in memory: 160 bytes for each seat of each of its
//! `config_offset` configurations, and a certificate, for 100 seats and an offset of 2 about 32 KB. To check one
//! costs a pairing equation, and one more for each seat of a configuration that is not known yet.
//!
//! A replica that takes a state while nobody answers has a gap in its history. Those that ask it get fewer
//! changes, and ask others.
use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use prefinal_protocol::{Instant, Machine, Recipient};
use thiserror::Error;

use crate::app::{Application, Configuration, ConfigurationError, SeatedCommittee};
use crate::config::{Replicas, committee_context};
use crate::engine::Input as OrderInput;
use crate::replica::Replica;
use crate::replica::certifier::{Certifier, CertifierError};
use crate::replica::checkpoint::CertifiedStatement;
use crate::replica::contents::{check_named, seat};
use crate::replica::job::CertifyWork;
use crate::replica::message::{CommitteeTag, ReplicaMessage, head_of};
use crate::replica::records::ReplicaRecord;

/// Most changes of the committee in an answer.
pub const MAX_CHANGES: usize = 16;

/// Bytes of a list's length.
const LENGTH: usize = 4;

/// A certified statement with the configurations that it names. It proves the committees of these epochs to a
/// party that knows the committee which signed it.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Change {
    /// The statement about the first epoch of the new committee, signed by the one before.
    pub certified: CertifiedStatement,
    /// The configurations of that epoch and the next ones, as the statement's hash names them.
    pub configurations: BTreeMap<u64, Configuration>,
}

/// Why a change proves nothing here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ChangeError {
    #[error("the configurations are not those of the statement")]
    Configurations,
    #[error("the committee that should have signed it is not known")]
    Signers,
    #[error("another configuration is known for epoch {epoch}")]
    Contradiction { epoch: u64 },
    #[error(transparent)]
    Certificate(#[from] CertifierError),
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
}

/// A change that passed its checks, with the committees that it proves.
#[derive(Clone, Debug)]
pub(crate) struct ProvenChange {
    change: Change,
    seated: BTreeMap<u64, SeatedCommittee>,
}

impl Change {
    pub(crate) const fn epoch(&self) -> u64 {
        self.certified.statement.epoch
    }

    /// A certified checkpoint as a change, if it has another committee than the one that signed it.
    pub(super) fn of_checkpoint(
        signers: &Replicas,
        certified: &CertifiedStatement,
        seated: &BTreeMap<u64, SeatedCommittee>,
    ) -> Option<Self> {
        let epoch = certified.statement.epoch;
        let next = &seated.get(&epoch)?.committee;
        if next.context() == signers.context() {
            return None;
        }
        let later = seated.range(epoch..);
        let configurations = later.map(|(at, one)| (*at, one.configuration.clone())).collect();
        Some(Self { certified: certified.clone(), configurations })
    }

    /// The beginning of the context of the committee that takes over.
    fn tag(&self, context: &Context) -> Option<CommitteeTag> {
        let configuration = self.configurations.get(&self.epoch())?;
        let seats = configuration.seats.iter().map(|seat| (&seat.key, seat.stake));
        Some(head_of(&committee_context(context, seats)))
    }

    /// Checks the change against committees that are known from certain epochs on.
    fn verify(
        &self,
        known: &BTreeMap<u64, SeatedCommittee>,
        certifier: &dyn Certifier,
        context: &Context,
    ) -> Result<BTreeMap<u64, SeatedCommittee>, ChangeError> {
        // Without a pairing, so this comes first.
        check_named(&self.configurations, &self.certified.statement)
            .map_err(|_| ChangeError::Configurations)?;
        let epoch = self.epoch();
        let signers = known.range(..epoch).next_back().ok_or(ChangeError::Signers)?.1;
        let other = |(at, chosen): &(&u64, &Configuration)| {
            known.get(*at).is_some_and(|one| one.configuration != **chosen)
        };
        if let Some((&epoch, _)) = self.configurations.iter().find(other) {
            return Err(ChangeError::Contradiction { epoch });
        }
        let CertifiedStatement { statement, certificate } = &self.certified;
        certifier.verify(&signers.committee, &statement.to_bytes(context), certificate)?;
        // Keys are dear to check, so that comes behind the certificate.
        let mut before = &signers.configuration;
        for configuration in self.configurations.values() {
            configuration.follows(before)?;
            before = configuration;
        }
        Ok(seat(&self.configurations, context, known)?)
    }
}

/// Changes that a peer has sent, and the committees that they are checked with.
#[derive(Clone, Debug)]
pub(crate) struct ClaimedHistory {
    known: BTreeMap<u64, SeatedCommittee>,
    changes: Vec<Change>,
}

impl ClaimedHistory {
    /// The changes that the known committees prove, in order; each may be proven by the one before. The others are
    /// left out, for a newcomer knows a committee in the middle of the chain.
    pub(crate) fn verify(&self, certifier: &dyn Certifier, context: &Context) -> Vec<ProvenChange> {
        let mut known = self.known.clone();
        let mut proven = Vec::new();
        for change in &self.changes {
            let Ok(seated) = change.verify(&known, certifier, context) else { continue };
            known.extend(seated.clone());
            proven.push(ProvenChange { change: change.clone(), seated });
        }
        proven
    }
}

/// A change that is kept for peers.
#[derive(Clone, Debug)]
struct StoredChange {
    change: Change,
    tag: CommitteeTag,
    /// Bytes in a message.
    bytes: usize,
}

/// A question for changes.
#[derive(Clone, Debug)]
struct Question {
    /// When the peer is asked again at the earliest.
    until: Instant,
    /// Whether an answer is waited for.
    open: bool,
    /// The checkpoint of that peer that did not verify.
    refused: Option<CertifiedStatement>,
}

/// A party that joins and has no state yet: it takes part in nothing, and asks one member after the other for a
/// checkpoint.
#[derive(Debug, Default)]
pub(super) struct Newcomer {
    turn: usize,
    /// When the next member is asked; `None` before the start.
    at: Option<Instant>,
}

/// What is known of committees beside those that are seated.
#[derive(Debug, Default)]
pub(crate) struct History {
    changes: BTreeMap<u64, StoredChange>,
    /// Committees that were learned, by the epoch that they begin with. They are later than the seated ones.
    ahead: BTreeMap<u64, SeatedCommittee>,
    questions: BTreeMap<Party, Question>,
    /// Present until the first state is taken.
    pub(super) newcomer: Option<Newcomer>,
}

impl History {
    pub(super) fn new(newcomer: Option<Newcomer>) -> Self {
        Self { newcomer, ..Self::default() }
    }

    #[cfg(test)]
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.changes.values().map(|one| one.change.clone()).collect()
    }

    #[cfg(test)]
    pub(crate) fn ahead(&self) -> Vec<u64> {
        self.ahead.keys().copied().collect()
    }

    /// The last committee that was learned.
    pub(super) fn latest(&self) -> Option<&Arc<Replicas>> {
        self.ahead.values().next_back().map(|one| &one.committee)
    }

    /// When the next member is asked for a checkpoint.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.newcomer.as_ref().and_then(|newcomer| newcomer.at)
    }

    /// Takes a change without a check; returns whether it is new.
    fn insert(&mut self, change: &Change, context: &Context) -> bool {
        let epoch = change.epoch();
        let Some(tag) = change.tag(context).filter(|_| !self.changes.contains_key(&epoch)) else {
            return false;
        };
        let bytes = borsh::object_length(change).unwrap_or(usize::MAX);
        self.changes.insert(epoch, StoredChange { change: change.clone(), tag, bytes });
        true
    }

    /// The changes behind the last one with this committee, as many as fit into these bytes; one always does,
    /// or a large committee could not be learned at all. With the bytes of their list.
    fn after(&self, tag: CommitteeTag, most: usize) -> (Vec<&Change>, usize) {
        let last = self.changes.iter().rev().find(|(_, one)| one.tag == tag);
        let first = last.map_or(Bound::Unbounded, |(epoch, _)| Bound::Excluded(*epoch));
        let (mut answer, mut sum) = (Vec::new(), 0_usize);
        for (_, one) in self.changes.range((first, Bound::Unbounded)).take(MAX_CHANGES) {
            let with = sum.saturating_add(one.bytes);
            if with > most && !answer.is_empty() {
                break;
            }
            sum = with;
            answer.push(&one.change);
        }
        (answer, sum.saturating_add(LENGTH))
    }
}

/// The committee that signs a checkpoint, as far as it is known.
#[derive(Clone, Debug)]
pub(super) struct Signatories {
    pub(super) committee: Arc<Replicas>,
    /// Whether this replica has computed it, or a certified state names it: then a certificate that it did not
    /// sign is forged.
    pub(super) known: bool,
}

impl<A: Application> Replica<A> {
    /// Goes on in an epoch with the changes of earlier lives. They were checked before they became records.
    pub(super) fn begin_again(&mut self, epoch: u64, changes: BTreeMap<u64, Change>) {
        // A newcomer is in no epoch.
        if self.history.newcomer.is_none() {
            self.configure(epoch);
        }
        for change in changes.into_values() {
            self.history.insert(&change, &self.context);
            let later = |epoch: &u64| self.history.newcomer.is_some() || !self.is_seated(*epoch);
            if change.configurations.keys().any(later)
                && let Ok(seated) = seat(&change.configurations, &self.context, &self.committees())
            {
                self.history.ahead.extend(seated);
            }
        }
        self.forget_seated();
    }

    /// Whether a committee of this epoch, or of a later one, is seated.
    fn is_seated(&self, epoch: u64) -> bool {
        self.seated.keys().next_back().is_some_and(|last| epoch <= *last)
    }

    /// Forgets what is not ahead any more. A newcomer does not know what epochs its configuration is of.
    pub(super) fn forget_seated(&mut self) {
        if self.history.newcomer.is_none() {
            let last = self.seated.keys().next_back().copied();
            self.history.ahead.retain(|epoch, _| Some(*epoch) > last);
        }
    }

    /// The committees that are known, by the epochs from which on they are.
    pub(super) fn committees(&self) -> BTreeMap<u64, SeatedCommittee> {
        let mut known = match &self.history.newcomer {
            // It is of any epoch: the changes before it do not verify, and those behind it do.
            Some(_) => self.seated.values().take(1).map(|one| (0, one.clone())).collect(),
            None => self.seated.clone(),
        };
        known.extend(self.history.ahead.iter().map(|(epoch, one)| (*epoch, one.clone())));
        known
    }

    /// The committee that signs the checkpoint of an epoch, or the last one before it that is known here.
    pub(super) fn signers(&self, epoch: u64) -> Option<Signatories> {
        let signing = epoch.checked_sub(1)?;
        let sure = self.seated.get(&signing).filter(|_| self.history.newcomer.is_none());
        let learned = || self.history.ahead.range(..=signing).next_back().map(|(_, one)| one);
        let last = || self.seated.values().next_back();
        let seated = sure.or_else(learned).or_else(last)?;
        Some(Signatories { committee: Arc::clone(&seated.committee), known: sure.is_some() })
    }

    /// Keeps a change, durably and for peers; returns whether it is new.
    pub(super) fn keep_change(&mut self, change: Change) -> bool {
        let new = self.history.insert(&change, &self.context);
        if new {
            let record = ReplicaRecord::Change(change);
            self.outputs.push_back(prefinal_protocol::Output::Keep(record));
        }
        new
    }

    /// Asks a peer for the changes behind the last one that is known here, once within the patience. The
    /// checkpoint that did not verify is checked again when something was learned.
    pub(super) fn ask_changes(&mut self, peer: Party, refused: Option<CertifiedStatement>) {
        let asked = self.history.questions.get_mut(&peer).filter(|one| self.now < one.until);
        if let Some(question) = asked {
            question.refused = refused.or(question.refused.take());
            return;
        }
        let question = Question { until: self.now + self.patience, open: true, refused };
        self.history.questions.insert(peer, question);
        // Not the latest committee that is known but the latest change, or there would be a gap behind it.
        let last = self.history.changes.last_key_value();
        let last = last.filter(|(epoch, _)| **epoch > self.epoch()).map(|(_, one)| one.tag);
        let committee = last.unwrap_or_else(|| self.tag());
        self.send(Recipient::One(peer), ReplicaMessage::ChangesRequest { committee });
    }

    /// Answers a peer that wants to learn the committees behind this one.
    pub(super) fn serve_changes(&mut self, to: Party, committee: CommitteeTag) {
        let most = self.engine.max_block_bytes;
        let (changes, bytes) = self.history.after(committee, most);
        // One that is larger than a block goes out alone.
        let most = most.max(bytes);
        // What will not be sent is not copied.
        if !changes.is_empty() && self.engine.fetch.may_send(to, self.now, bytes, most) {
            let changes = changes.into_iter().cloned().collect();
            self.send(Recipient::One(to), ReplicaMessage::Changes(changes));
        }
    }

    /// Changes arrived. They are checked if this peer was asked for them and any is new.
    pub(super) fn receive_changes(&mut self, from: Party, mut changes: Vec<Change>) {
        let question = self.history.questions.get_mut(&from).filter(|question| question.open);
        let Some(question) = question else { return };
        question.open = false;
        let epoch = self.epoch();
        let fresh =
            |one: &Change| one.epoch() > epoch && !self.history.changes.contains_key(&one.epoch());
        changes.retain(fresh);
        if changes.is_empty() {
            return;
        }
        let claimed = Arc::new(ClaimedHistory { known: self.committees(), changes });
        self.certify(self.latest(), CertifyWork::History { from, claimed });
    }

    /// Uses what a peer's changes prove, and asks for more until nothing new comes.
    pub(super) fn learn(&mut self, from: Party, proven: Vec<ProvenChange>) {
        let mut learned = BTreeSet::new();
        for ProvenChange { change, seated } in proven {
            let epoch = change.epoch();
            if self.keep_change(change) {
                self.history.ahead.extend(seated);
                learned.insert(epoch);
            }
        }
        self.forget_seated();
        if learned.is_empty() {
            return;
        }
        self.muted.remove(&from);
        let question = self.history.questions.remove(&from);
        self.ask_changes(from, None);
        if let Some(refused) = question.and_then(|question| question.refused) {
            self.receive_stable(from, refused);
        }
    }

    /// Begins to order; a newcomer begins to ask for a checkpoint.
    pub(super) fn start(&mut self) {
        match &mut self.history.newcomer {
            Some(newcomer) => newcomer.at = Some(self.now),
            None => Machine::handle(&mut self.engine, self.now, OrderInput::Start),
        }
    }

    /// As a newcomer, asks the next member for a checkpoint unless a state is being fetched. Members with stake
    /// have every other turn, for they are there; those without may be the only ones that are left.
    pub(super) fn seek(&mut self) {
        let (now, again, latest) = (self.now, self.now + self.patience, self.latest());
        let Some(newcomer) = &mut self.history.newcomer else { return };
        if newcomer.at.is_none_or(|at| now < at) {
            return;
        }
        newcomer.at = Some(again);
        let turn = newcomer.turn;
        newcomer.turn = turn.wrapping_add(1);
        let stakeholders = latest.stakeholders();
        let in_turn = |size: usize| (turn / 2).checked_rem(size);
        let to = if turn.is_multiple_of(2) {
            in_turn(stakeholders.len()).and_then(|at| stakeholders.get(at)).copied()
        } else {
            let at = in_turn(latest.size()).and_then(|at| u32::try_from(at).ok());
            at.map(Party::new)
        };
        if let Some(to) = to.filter(|to| *to != self.me && self.transfer.is_none()) {
            self.send(Recipient::One(to), ReplicaMessage::CheckpointRequest { epoch: 0 });
        }
    }
}
