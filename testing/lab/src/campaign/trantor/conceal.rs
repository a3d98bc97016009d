//! Leaders that keep their block from so many that no honest party sees a quorum prepare it, while the faulty
//! parties have the proof that a quorum did.
//!
//! ```text
//! leader ──block──► some honest parties     they and the faulty ones are a quorum; without these they are none
//! some   ──prepare──► all                   the faulty ones keep theirs for themselves, or for one confidant
//! time runs out, all ask for a later view   the leader too, as if it had seen nothing prepared
//! later view: skip the height               to one honest party: "it is decided", with the proof that it is prepared
//! ```
//! A party that takes the proof of the one for a proof of the other decides for the block, and the others skip the
//! height. With a confidant, one honest party alone commits to the block.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use ::prefinal_trantor::{
    Body, Decision, Message, MultiSignature, Proposal, Replicas, Stage, Trantor, ViewChange, Vote,
    VoteCertificate,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, aggregate};
use prefinal_crypto_core::certificate::Signers;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Slot, Value, View};
use prefinal_sim::rule::{Letter, Rule, Scene};
use prefinal_sim::{Chance, Dice, Seat};

use super::super::corrupt::{Conspiracy, Envelope};
use super::super::tally::{Certificate, Flaw, Kind, Tally};
use super::certificates::CHANGE;

/// A block that is kept from some.
struct Secret {
    value: Value,
    body: Body,
    /// The honest parties that see it.
    shown: BTreeSet<Party>,
    /// The honest party that is told that it is decided.
    fooled: Option<Party>,
}

/// The rule of one seat.
pub(super) struct Concealer {
    me: Party,
    /// Whether one of those that see a block gets this party's vote, too.
    confides: bool,
    conspiracy: Rc<Conspiracy<Trantor>>,
    tally: Rc<RefCell<Tally>>,
    /// Its own heights; `None` where everybody sees the block.
    secrets: BTreeMap<(EpochId, Slot), Option<Secret>>,
}

impl Concealer {
    pub(super) fn new(
        me: Party,
        confides: bool,
        conspiracy: Rc<Conspiracy<Trantor>>,
        tally: Rc<RefCell<Tally>>,
    ) -> Self {
        Self { me, confides, conspiracy, tally, secrets: BTreeMap::new() }
    }

    fn count(&self, kind: Kind) {
        self.tally.borrow_mut().add(kind, 1);
    }

    /// As few honest parties as are a quorum together with the faulty ones, if they are none alone.
    fn audience(&self, dice: &mut Dice, committee: &Replicas) -> Option<BTreeSet<Party>> {
        let all = (0..).map(Party::new).take(committee.size());
        let (faulty, mut honest): (Vec<Party>, Vec<Party>) =
            all.partition(|party| self.conspiracy.faulty.contains_key(party));
        dice.shuffle(&mut honest);
        let (mut shown, mut alone) = (BTreeSet::new(), 0);
        let faulty: u128 = faulty.iter().map(|party| committee.stake(*party)).sum();
        for party in honest {
            if committee.is_strong(faulty + alone) {
                break;
            }
            alone += committee.stake(party);
            shown.insert(party);
        }
        Some(shown).filter(|_| !committee.is_strong(alone))
    }

    fn plot(&self, dice: &mut Dice, epoch: EpochId, proposal: &Proposal) -> Option<Secret> {
        let committee = self.conspiracy.committees.all.get(&epoch)?;
        if !dice.happens(Chance::percent(60)) {
            return None;
        }
        let shown = self.audience(dice, committee)?;
        let body = proposal.body.clone();
        let value = body.value(committee.context(), proposal.slot);
        let honest = (0..).map(Party::new).take(committee.size());
        let mut honest: Vec<Party> =
            honest.filter(|one| !self.conspiracy.faulty.contains_key(one)).collect();
        dice.shuffle(&mut honest);
        let fooled = honest.first().copied();
        Some(Secret { value, body, shown, fooled })
    }

    fn secret(&self, epoch: EpochId, slot: Slot) -> Option<&Secret> {
        self.secrets.get(&(epoch, slot))?.as_ref()
    }

    /// The proof that a quorum has prepared the block, as soon as those that saw it have voted.
    fn proof(&self, epoch: EpochId, secret: &Secret, view: View) -> Option<VoteCertificate> {
        let committee = self.conspiracy.committees.all.get(&epoch)?;
        let overheard = self.conspiracy.overheard.borrow();
        let mut votes = overheard.prepares(epoch, view, secret.value)?.clone();
        let message = committee.statement(view, secret.value);
        for (party, identity) in &self.conspiracy.faulty {
            votes.insert(*party, identity.signer.sign(Stage::Prepare.domain(), &message));
        }
        let stake = votes.keys().map(|party| committee.stake(*party)).sum();
        let signers = Signers::new(committee.size(), votes.keys().copied()).ok()?;
        let signatures: Vec<Signature> = votes.into_values().collect();
        let signature = aggregate(&signatures).ok()?;
        let votes = MultiSignature { signers, signature };
        let proof = VoteCertificate { view, value: secret.value, votes };
        committee.is_strong(stake).then_some(proof)
    }

    /// "It is decided", for the one that is fooled; once.
    fn fool(&mut self, epoch: EpochId, slot: Slot) -> Option<(Party, Message)> {
        let secret = self.secret(epoch, slot)?;
        let fooled = secret.fooled?;
        let certificate = self.proof(epoch, secret, View::new(slot, 0))?;
        let decision = Decision { certificate, body: Some(secret.body.clone()) };
        self.secrets.get_mut(&(epoch, slot))?.as_mut()?.fooled = None;
        self.count(Kind::False(Certificate::Committed, Flaw::Statement));
        Some((fooled, Message::Response(vec![decision])))
    }

    /// A request for a view that names nothing as prepared.
    fn forgetful(&self, epoch: EpochId, change: &ViewChange) -> Option<Message> {
        let committee = self.conspiracy.committees.all.get(&epoch)?;
        let signer = &self.conspiracy.faulty.get(&self.me)?.signer;
        let signature = signer.sign(CHANGE, &committee.change_statement(change.view, None));
        let change = ViewChange { view: change.view, prepared: None, signature };
        Some(Message::ViewChange(Box::new(change)))
    }

    /// Whether a vote for a secret block may reach this party.
    fn may_hear(&self, to: Party, epoch: EpochId, vote: &Vote) -> bool {
        let secret = self.secret(epoch, vote.view.slot).filter(|_| vote.view.attempt == 0);
        let Some(secret) = secret.filter(|secret| secret.value == vote.value) else { return true };
        self.confides && secret.shown.first() == Some(&to)
    }

    /// What leaves for a party in place of this message; `None` if nothing does.
    fn instead(
        &mut self,
        dice: &mut Dice,
        to: Party,
        epoch: EpochId,
        message: &Message,
    ) -> Option<Message> {
        let is_shown = match message {
            Message::Proposal(proposal) => {
                let slot = proposal.slot;
                if !self.secrets.contains_key(&(epoch, slot)) {
                    let secret = self.plot(dice, epoch, proposal);
                    self.secrets.insert((epoch, slot), secret);
                }
                let secret = self.secret(epoch, slot);
                let shown = secret.is_none_or(|secret| secret.shown.contains(&to));
                if !shown {
                    self.count(Kind::Concealed);
                }
                shown
            }
            Message::Prepare(vote) => self.may_hear(to, epoch, vote),
            Message::Commit(commit) => {
                let view = commit.vote.view;
                view.attempt > 0 || self.secret(epoch, view.slot).is_none()
            }
            Message::ViewChange(change) if self.secret(epoch, change.view.slot).is_some() => {
                self.count(Kind::Hidden);
                return self.forgetful(epoch, change);
            }
            Message::NewView(new) => self.secret(epoch, new.change.view.slot).is_none(),
            _ => true,
        };
        is_shown.then(|| message.clone())
    }
}

impl<M: Envelope<Message>> Rule<M> for Concealer {
    fn outgoing(&mut self, scene: &mut Scene<'_>, letter: Letter<M>, leaves: &mut Vec<Letter<M>>) {
        let Some((epoch, message)) = letter.message.engine() else { return leaves.push(letter) };
        let to = self.conspiracy.seating.party(letter.to);
        let message = message.clone();
        if let Some(told) = self.instead(scene.dice, to, epoch, &message) {
            leaves.push(Letter { message: M::of_engine(epoch, told), ..letter });
        }
        // The later view has begun, and the height is not decided yet.
        let Message::Prepare(vote) = message else { return };
        if vote.view.attempt == 0 {
            return;
        }
        let Some((fooled, told)) = self.fool(epoch, vote.view.slot) else { return };
        let seats: Vec<Seat> = self.conspiracy.seating.seats_of(fooled).collect();
        leaves.extend(seats.into_iter().map(|to| {
            let message = M::of_engine(epoch, told.clone());
            Letter { to, message, delay: Duration::ZERO }
        }));
    }
}
