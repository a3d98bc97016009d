//! The pairings of a replica: those of the ordering, and those about checkpoints.
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;

use crate::config::Replicas;
use crate::job::{Job, Verdict};
use crate::replica::certifier::{Certifier, CertifierError, Votes};
use crate::replica::checkpoint::{CertifiedStatement, Statement};
use crate::replica::history::{ClaimedHistory, ProvenChange};
use crate::replica::message::WrongState;

/// Work of a replica, for a driver to run anywhere.
#[derive(Clone, Debug)]
pub enum ReplicaJob {
    /// Signatures that the ordering wants checked.
    Order(Job),
    /// Votes and certificates of checkpoints.
    Certify(CertifyJob),
}

/// Work about checkpoints, with what it needs.
#[derive(Clone, Debug)]
pub struct CertifyJob {
    pub(crate) certifier: Arc<dyn Certifier>,
    pub(crate) committee: Arc<Replicas>,
    pub(crate) context: Context,
    pub(crate) work: CertifyWork,
}

/// What is done about checkpoints.
#[derive(Clone, Debug)]
pub(crate) enum CertifyWork {
    Combine {
        statement: Statement,
        votes: Votes,
    },
    /// `known` says whether the committee is the one that should have signed for sure.
    Verify {
        from: Party,
        certified: CertifiedStatement,
        known: bool,
    },
    Evidence {
        party: Party,
        evidence: Box<WrongState>,
    },
    /// Changes of the committee that a peer was asked for. The job's committee does not matter.
    History {
        from: Party,
        claimed: Arc<ClaimedHistory>,
    },
}

/// The result of work about checkpoints. It must be the one that [`ReplicaJob::run`] gives.
#[derive(Clone, Debug)]
pub struct CertifyVerdict {
    pub(crate) work: CertifyWork,
    pub(crate) result: Result<Vec<u8>, CertifierError>,
    /// The changes that are proven, if the work is about the history.
    pub(crate) proven: Vec<ProvenChange>,
}

/// The result of a job.
#[derive(Clone, Debug)]
pub enum ReplicaVerdict {
    /// What the ordering asked for.
    Order(Verdict),
    /// What was asked about a checkpoint.
    Certify(CertifyVerdict),
}

impl ReplicaJob {
    /// Computes the job and gives its result, for the replica that asked for it.
    #[must_use]
    pub fn run(&self) -> ReplicaVerdict {
        match self {
            Self::Order(job) => ReplicaVerdict::Order(job.run()),
            Self::Certify(job) => ReplicaVerdict::Certify(job.run()),
        }
    }
}

impl CertifyJob {
    fn run(&self) -> CertifyVerdict {
        let (certifier, committee) = (&*self.certifier, &*self.committee);
        let mut proven = Vec::new();
        let result = match &self.work {
            CertifyWork::Combine { statement, votes } => {
                certifier.combine(committee, &statement.to_bytes(&self.context), votes)
            }
            CertifyWork::Verify {
                certified: CertifiedStatement { statement, certificate },
                ..
            } => {
                let message = statement.to_bytes(&self.context);
                certifier.verify(committee, &message, certificate).map(|()| Vec::new())
            }
            CertifyWork::Evidence { party, evidence } => {
                let verified = evidence.verify(certifier, committee, &self.context, *party);
                verified.map(|()| Vec::new())
            }
            CertifyWork::History { claimed, .. } => {
                proven = claimed.verify(certifier, &self.context);
                Ok(Vec::new())
            }
        };
        CertifyVerdict { work: self.work.clone(), result, proven }
    }
}
