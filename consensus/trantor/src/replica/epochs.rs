//! From one epoch to the next: snapshot, votes, certificate, configuration.
use std::collections::BTreeSet;
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Machine, Recipient, Slot};

use crate::app::{Application, SeatedCommittee};
use crate::config::Replicas;
use crate::engine::Input as OrderInput;
use crate::replica::certifier::{Certifier, CertifierError, Votes};
use crate::replica::checkpoint::{CertifiedStatement, Statement};
use crate::replica::contents::Contents;
use crate::replica::history::Change;
use crate::replica::job::{CertifyJob, CertifyVerdict, CertifyWork, ReplicaJob};
use crate::replica::lease::StoredCheckpoint;
use crate::replica::message::{CheckpointVote, ReplicaFault, ReplicaMessage, WrongState};
use crate::replica::{OpenCheckpoint, Replica, ReplicaEffect, ReplicaRecord};

impl<A: Application> Replica<A> {
    pub(super) fn epoch(&self) -> u64 {
        self.engine.schedule().epoch()
    }

    /// Takes the snapshot of an epoch that is over, and votes for it. Returns whether it was time.
    pub(super) fn close_epoch(&mut self) -> bool {
        let epoch = self.epoch().saturating_add(1);
        let seated = self.seated.get(&epoch).filter(|_| self.own.is_none());
        let Some(seated) = seated.filter(|_| self.engine.is_epoch_over()) else { return false };
        let schedule = self.engine.next_schedule(&seated.committee);
        let later = self.seated.range(epoch..);
        let contents = Contents {
            schedule: schedule.clone(),
            configurations: later.map(|(at, one)| (*at, one.configuration.clone())).collect(),
            ordered: self.engine.ordered.to_checkpoint(),
            application: self.app.snapshot(),
        };
        let (state, statement) = contents.seal();
        let vote = self.cast(statement);
        let (again, refused, corrected) =
            (self.now + self.patience, BTreeSet::new(), BTreeSet::new());
        if let Some(vote) = &vote {
            self.votes.insert(self.me, vote.clone());
            self.send(Recipient::All, ReplicaMessage::Vote(Box::new(vote.clone())));
        }
        let (combining, outdated) = (false, false);
        let own = OpenCheckpoint {
            statement,
            state,
            schedule,
            vote,
            again,
            combining,
            outdated,
            refused,
            corrected,
        };
        self.own = Some(own);
        self.combine();
        true
    }

    /// This party's vote for its state; `None` if it has none.
    fn cast(&self, statement: Statement) -> Option<CheckpointVote> {
        let message = statement.to_bytes(&self.context);
        let vote = self.certifier.vote(self.engine.committee(), &message)?;
        Some(CheckpointVote { statement, vote })
    }

    /// Sends the vote again as long as it is not certified, for messages get lost. Those that know the certificate answer
    /// with it; a replica without a vote asks for it.
    pub(super) fn repeat_vote(&mut self) {
        let (now, patience) = (self.now, self.patience);
        let Some(own) = self.own.as_mut().filter(|own| own.again <= now) else { return };
        own.again = now + patience;
        let epoch = own.statement.epoch;
        let message = match own.vote.clone() {
            Some(vote) => ReplicaMessage::Vote(Box::new(vote)),
            None => ReplicaMessage::CheckpointRequest { epoch },
        };
        self.send(Recipient::All, message);
    }

    /// Takes a key that was handed over, and votes with it if a state waits for votes.
    pub(super) fn take_certifier(&mut self, certifier: Arc<dyn Certifier>) {
        self.certifier = certifier;
        let Some(statement) = self.own.as_ref().map(|own| own.statement) else { return };
        let vote = self.cast(statement);
        if let Some(own) = &mut self.own {
            own.vote.clone_from(&vote);
            own.again = self.now;
            // These were checked with the key of before, and each new key makes a new vote of everybody.
            own.refused.clear();
            own.corrected.clear();
            own.outdated = own.combining;
        }
        match vote {
            Some(vote) => drop(self.votes.insert(self.me, vote)),
            None => drop(self.votes.remove(&self.me)),
        }
        self.combine();
    }

    /// A peer votes for its state. One that is behind gets the checkpoint.
    pub(super) fn receive_vote(&mut self, from: Party, vote: CheckpointVote) {
        let epoch = vote.statement.epoch;
        if epoch <= self.epoch() {
            self.tell_checkpoint(from, epoch);
            return;
        }
        let before = self.votes.get(&from);
        if before.is_some_and(|before| before.statement.epoch >= epoch)
            && !self.corrects(from, &vote)
        {
            return;
        }
        self.votes.insert(from, vote);
        self.combine();
    }

    /// Whether this is another vote for the same state, with a key that was handed over since the first one.
    /// One is let pass for each key that this party gets, for each may spoil a sum.
    fn corrects(&mut self, from: Party, vote: &CheckpointVote) -> bool {
        let before = self.votes.get(&from);
        let Some(own) = self.own.as_mut().filter(|own| own.statement == vote.statement) else {
            return false;
        };
        let other =
            before.is_some_and(|one| one.statement == vote.statement && one.vote != vote.vote);
        let may = other && own.corrected.insert(from);
        if may {
            own.refused.remove(&from);
        }
        may
    }

    /// Has the votes for this party's state combined, if they are a quorum.
    fn combine(&mut self) {
        let committee = self.engine.committee();
        let Some(own) = self.own.as_ref().filter(|own| !own.combining) else { return };
        let statement = own.statement;
        let counts = |(party, vote): &(&Party, &CheckpointVote)| {
            vote.statement == statement
                && !own.refused.contains(*party)
                && committee.stake(**party) > 0
        };
        let votes = self.votes.iter().filter(counts);
        let votes: Votes = votes.map(|(party, vote)| (*party, vote.vote.clone())).collect();
        let parties = votes.keys().copied().collect();
        if !self.certifier.suffices(committee, &parties) {
            return;
        }
        if let Some(own) = &mut self.own {
            own.combining = true;
        }
        let committee = Arc::clone(&self.engine.committee);
        self.certify(committee, CertifyWork::Combine { statement, votes });
    }

    pub(super) fn certify(&mut self, committee: Arc<Replicas>, work: CertifyWork) {
        let (certifier, context) = (Arc::clone(&self.certifier), self.context);
        let job = CertifyJob { certifier, committee, context, work };
        self.effect(ReplicaEffect::Run(ReplicaJob::Certify(job)));
    }

    /// Work about checkpoints has ended.
    pub(super) fn certified(&mut self, verdict: CertifyVerdict) {
        let CertifyVerdict { work, result, proven } = verdict;
        match (work, result) {
            (CertifyWork::Combine { statement, .. }, result) => {
                let open = self.own.as_ref().is_some_and(|own| own.statement == statement);
                match result {
                    _ if !open => {}
                    Ok(certificate) => {
                        self.stabilize(CertifiedStatement { statement, certificate })
                    }
                    Err(error) => self.refuse_votes(&error),
                }
            }
            (CertifyWork::Verify { from, certified, known }, result) => {
                self.checking.remove(&from);
                match result {
                    Ok(_) => self.accept_stable(from, certified),
                    Err(_) => self.refuse_stable(from, certified, known),
                }
            }
            (CertifyWork::History { from, .. }, _) => self.learn(from, proven),
            (CertifyWork::Evidence { party, evidence }, Ok(_)) => {
                self.accuse(party, ReplicaFault::WrongState(evidence));
            }
            // Whether the vote is valid cannot be told, and it is about a state that nobody goes on with.
            (CertifyWork::Evidence { .. }, Err(CertifierError::OtherSharing { .. })) => {}
            // The vote is not valid either: that convinces nobody else.
            (CertifyWork::Evidence { party, evidence }, Err(_)) => {
                let epoch = evidence.vote.statement.epoch;
                self.accuse(party, ReplicaFault::BadVote { epoch });
            }
        }
    }

    fn refuse_votes(&mut self, error: &CertifierError) {
        let Some(own) = &mut self.own else { return };
        let epoch = own.statement.epoch;
        own.combining = false;
        if std::mem::take(&mut own.outdated) {
            self.combine();
            return;
        }
        match error {
            CertifierError::Faulty { culprits } => {
                own.refused.extend(culprits);
                for party in culprits {
                    self.accuse(*party, ReplicaFault::BadVote { epoch });
                }
            }
            CertifierError::OtherSharing { parties } => own.refused.extend(parties),
            // It would repeat itself; the next vote leads to another attempt.
            CertifierError::BelowQuorum | CertifierError::Certificate => return,
        }
        self.combine();
    }

    /// This party's state is certified: the next epoch begins.
    pub(super) fn stabilize(&mut self, certified: CertifiedStatement) {
        let Some(own) = self.own.take() else { return };
        let statement = certified.statement;
        self.charge_others(&certified);
        let certificate = certified.certificate.clone();
        let change = Change::of_checkpoint(&self.engine.committee, &certified, &self.seated);
        let _new = change.is_some_and(|change| self.keep_change(change));
        self.keep_stable(StoredCheckpoint::new(certified, own.state));
        self.app.checkpoint(&statement, &certificate);
        self.effect(ReplicaEffect::Stable(statement));
        let epoch = statement.epoch;
        self.firsts.insert(epoch, statement.slot);
        let retained = self.retention_index(epoch);
        let committee = self.seated.get(&epoch).map(|one| Arc::clone(&one.committee));
        let Some(committee) = committee else { return };
        let early = std::mem::take(&mut self.early);
        self.begin(epoch);
        self.engine.enter(self.now, committee, own.schedule, retained);
        for (from, held) in early {
            for message in held {
                let input = OrderInput::Received { from, message };
                Machine::handle(&mut self.engine, self.now, input);
            }
        }
    }

    /// Votes for another state than the certified one are evidence.
    fn charge_others(&mut self, certified: &CertifiedStatement) {
        let right = certified.statement;
        let wrong = self
            .votes
            .iter()
            .filter(|(_, vote)| vote.statement.epoch == right.epoch && vote.statement != right);
        let wrong: Vec<(Party, CheckpointVote)> =
            wrong.map(|(party, vote)| (*party, vote.clone())).collect();
        let committee = Arc::clone(&self.engine.committee);
        for (party, vote) in wrong {
            let evidence = Box::new(WrongState { vote, certified: certified.clone() });
            self.certify(Arc::clone(&committee), CertifyWork::Evidence { party, evidence });
        }
    }

    /// Keeps a checkpoint, durably and for peers.
    pub(super) fn keep_stable(&mut self, stable: StoredCheckpoint) {
        let StoredCheckpoint { certified, state, .. } = &stable;
        let record = ReplicaRecord::Checkpoint(certified.clone(), state.bytes().to_vec());
        self.outputs.push_back(prefinal_protocol::Output::Keep(record));
        self.stable.insert(self.now, stable);
    }

    /// The first height that is kept while this epoch runs.
    fn retention_index(&mut self, epoch: u64) -> Slot {
        let oldest = epoch.saturating_sub(self.settings.retained_epochs);
        self.firsts = self.firsts.split_off(&oldest);
        self.firsts.values().next().copied().unwrap_or(Slot::new(1))
    }

    /// What changes with the number of the epoch alone.
    pub(super) fn begin(&mut self, epoch: u64) {
        self.seated = self.seated.split_off(&epoch);
        self.votes.retain(|_, vote| vote.statement.epoch > epoch);
        self.early.clear();
        self.transfer = self.transfer.take().filter(|transfer| transfer.epoch() > epoch);
        self.configure(epoch);
    }

    /// Asks the application for the configuration of a later epoch.
    pub(super) fn configure(&mut self, epoch: u64) {
        let at = epoch.saturating_add(self.settings.config_offset);
        let Some(before) = self.seated.values().next_back().cloned() else { return };
        let chosen = self.app.new_epoch(epoch);
        let fresh = chosen.filter(|chosen| *chosen != before.configuration);
        let seated = fresh.map(|chosen| {
            chosen.follows(&before.configuration)?;
            SeatedCommittee::new(&self.context, chosen)
        });
        let seated = seated.transpose().unwrap_or_else(|error| {
            self.effect(ReplicaEffect::ConfigurationRefused(error));
            None
        });
        self.seated.insert(at, seated.unwrap_or(before));
        self.forget_seated();
    }
}
