//! What faulty parties say of states.
//!
//! | lie           | what it does                                                                  |
//! |---------------|-------------------------------------------------------------------------------|
//! | `Pieces`      | answers requests with other bytes, fewer bytes, another way to the root         |
//! | `Silence`     | answers no request for a piece                                                 |
//! | `State`       | votes for another state, properly signed                                        |
//! | `TwoStates`   | the same, and to some others for the right one                                   |
//! | `BadVote`     | signs something else than what its vote says                                   |
//! | `Checkpoints` | tells everybody of checkpoints that it has signed alone, or that have another's certificate |

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_trantor::{
    CertifiedStatement, Certifier, CheckpointVote, MultiSignature, Piece, ReplicaMessage, Replicas,
    StakeCertifier, Statement, Trantor,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, aggregate};
use prefinal_crypto_core::certificate::Signers;
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_protocol::Instant;
use prefinal_registry::NamedEngine;
use prefinal_sim::rule::{Letter, Rule, Scene};
use prefinal_sim::{Chance, Dice, Seat};

use super::super::corrupt::{Conspiracy, Envelope};
use super::super::tally::{Kind, Tally};

/// How often made-up checkpoints are told.
const PERIOD: Duration = Duration::from_millis(300);

/// How long that goes on after the network has healed.
const AFTER_HEALING: Duration = Duration::from_secs(2);

/// What a faulty party lies about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lie {
    Pieces,
    Silence,
    State,
    TwoStates,
    BadVote,
    Checkpoints,
}

impl Lie {
    pub(super) const ALL: [Self; 6] = [
        Self::Pieces,
        Self::Silence,
        Self::State,
        Self::TwoStates,
        Self::BadVote,
        Self::Checkpoints,
    ];
}

/// What a faulty party says of states, drawn from the seed.
pub(super) fn draw(seed: u64, me: Party) -> Vec<Lie> {
    let mut dice = Dice::new(seed ^ u64::from(me.get()).rotate_left(24) ^ 0x6c69_6573);
    Lie::ALL.into_iter().filter(|_| dice.happens(Chance::percent(30))).collect()
}

/// One lie of one seat.
pub(super) struct Liar {
    lie: Lie,
    me: Party,
    context: Context,
    conspiracy: Rc<Conspiracy<Trantor>>,
    tally: Rc<RefCell<Tally>>,
    /// The committee that the party is in.
    committee: EpochId,
    /// The last checkpoint that it has voted for, or told others of.
    last: Option<Statement>,
    certificate: Option<Vec<u8>>,
    due: Instant,
}

impl Liar {
    pub(super) fn new(
        lie: Lie,
        me: Party,
        context: Context,
        conspiracy: &Rc<Conspiracy<Trantor>>,
        tally: &Rc<RefCell<Tally>>,
    ) -> Self {
        Self {
            lie,
            me,
            context,
            conspiracy: Rc::clone(conspiracy),
            tally: Rc::clone(tally),
            committee: conspiracy.committees.first,
            last: None,
            certificate: None,
            due: Instant::at(PERIOD),
        }
    }

    fn count(&self, kind: Kind) {
        self.tally.borrow_mut().add(kind, 1);
    }

    fn replicas(&self) -> Option<&Replicas> {
        self.conspiracy.committees.all.get(&self.committee)
    }

    /// A party's vote, as its certifier writes it.
    fn sign(&self, party: Party, statement: &Statement) -> Option<Vec<u8>> {
        let identity = self.conspiracy.faulty.get(&party)?;
        let certifier = StakeCertifier::new(Trantor::key(identity).ok()?);
        certifier.vote(self.replicas()?, &statement.to_bytes(&self.context))
    }

    fn vote(&self, dice: &mut Dice, vote: &CheckpointVote) -> Option<ReplicaMessage> {
        let other = Statement { root: dice.bytes(), ..vote.statement };
        let statement = if self.lie == Lie::BadVote { vote.statement } else { other };
        let kind = if self.lie == Lie::BadVote { Kind::BadSignature } else { Kind::FalseState };
        let vote = self.sign(self.me, &other)?;
        self.count(kind);
        Some(ReplicaMessage::Vote(Box::new(CheckpointVote { statement, vote })))
    }

    fn piece(&self, dice: &mut Dice, piece: &Piece) -> ReplicaMessage {
        let mut piece = piece.clone();
        match dice.below(4) {
            0 => drop(piece.bytes.pop()),
            1 => piece.proof.push(dice.bytes()),
            2 if !piece.proof.is_empty() => drop(piece.proof.pop()),
            _ => {
                if let Some(byte) = piece.bytes.last_mut() {
                    *byte ^= 1;
                }
            }
        }
        self.count(Kind::FalsePiece);
        ReplicaMessage::Piece(Box::new(piece))
    }

    /// A checkpoint of a later epoch that the accomplices have signed, or that has an earlier one's certificate.
    fn checkpoint(&self, dice: &mut Dice) -> Option<ReplicaMessage> {
        let last = self.last?;
        let epoch = last.epoch.saturating_add(dice.below(3));
        let statement = Statement { epoch, root: dice.bytes(), ..last };
        let certificate = match &self.certificate {
            Some(certificate) if dice.happens(Chance::percent(50)) => certificate.clone(),
            _ => self.conspire(&statement)?,
        };
        self.count(Kind::FalseCheckpoint);
        Some(ReplicaMessage::Stable(Box::new(CertifiedStatement { statement, certificate })))
    }

    fn conspire(&self, statement: &Statement) -> Option<Vec<u8>> {
        let accomplices = || self.conspiracy.faulty.keys().copied();
        let votes = accomplices().filter_map(|party| self.sign(party, statement));
        let votes: Vec<Signature> =
            votes.filter_map(|vote| borsh::from_slice(&vote).ok()).collect();
        let committee = self.replicas()?;
        let members = accomplices().filter(|party| committee.member(*party).is_some());
        let signers = Signers::new(committee.size(), members).ok()?;
        borsh::to_vec(&MultiSignature { signers, signature: aggregate(&votes).ok()? }).ok()
    }

    /// What leaves in place of a message; `None` if nothing does.
    fn instead(
        &self,
        dice: &mut Dice,
        to: Seat,
        message: &Arc<ReplicaMessage>,
    ) -> Option<Arc<ReplicaMessage>> {
        let told = match (self.lie, &**message) {
            (Lie::Silence, ReplicaMessage::Piece(_)) => {
                self.count(Kind::AnswerWithheld);
                return None;
            }
            (Lie::Pieces, ReplicaMessage::Piece(piece)) => Some(self.piece(dice, piece)),
            (Lie::State | Lie::BadVote, ReplicaMessage::Vote(vote)) => self.vote(dice, vote),
            (Lie::TwoStates, ReplicaMessage::Vote(vote)) if to.get().is_multiple_of(2) => {
                self.vote(dice, vote)
            }
            (Lie::Checkpoints, ReplicaMessage::Stable(_)) => self.checkpoint(dice),
            _ => None,
        };
        Some(told.map_or_else(|| Arc::clone(message), Arc::new))
    }
}

impl Rule<Arc<ReplicaMessage>> for Liar {
    fn outgoing(
        &mut self,
        scene: &mut Scene<'_>,
        letter: Letter<Arc<ReplicaMessage>>,
        leaves: &mut Vec<Letter<Arc<ReplicaMessage>>>,
    ) {
        if let Some((committee, _)) = letter.message.engine() {
            self.committee = committee;
        }
        match &*letter.message {
            ReplicaMessage::Vote(vote) => self.last = Some(vote.statement),
            ReplicaMessage::Stable(certified) => {
                self.certificate = Some(certified.certificate.clone());
            }
            _ => {}
        }
        if let Some(message) = self.instead(scene.dice, letter.to, &letter.message) {
            leaves.push(Letter { message, ..letter });
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let until = self.conspiracy.heals + AFTER_HEALING;
        Some(self.due).filter(|due| self.lie == Lie::Checkpoints && *due < until)
    }

    fn wake(&mut self, scene: &mut Scene<'_>, leaves: &mut Vec<Letter<Arc<ReplicaMessage>>>) {
        self.due = self.due + PERIOD;
        let Some(message) = self.checkpoint(scene.dice).map(Arc::new) else { return };
        for to in (0..scene.seats).map(Seat::new).filter(|to| *to != scene.seat) {
            let message = Arc::clone(&message);
            leaves.push(Letter { to, message, delay: Duration::ZERO });
        }
    }
}
