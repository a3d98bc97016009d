//! What Byzantine parties of a committee on Trantor do with its messages.
//!
//! | vice                | what it does                                                                   |
//! |---------------------|--------------------------------------------------------------------------------|
//! | `Equivocate`        | as a leader, shows some another block, and may vote for that one there            |
//! | `Conceal`           | as a leader, hides its block so that no honest party sees it prepared, see `conceal` |
//! | `FalseAvailability` | puts certificates of batches that nobody has into blocks, and passes them on      |
//! | `FalseVotes`        | claims that values are prepared or decided, or that a quorum asks for a view      |
//! | `BadSignatures`     | signs something else than what its votes and acknowledgements say                 |
//! | `Hoard`             | gives its batches to a weak quorum, accomplices first, and answers no request     |
//! | `FalseAnswers`      | answers requests with other batches, blocks and decisions                        |
//! | `Straggle`          | proposes as late as it may without being given up                                |
//!
//! A faulty party has one to three of them, in addition to those of the script. They come last, so what is
//! counted has left: a party that the script silences still says what it makes up itself.

mod certificates;
mod claims;
mod conceal;
mod overheard;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use ::prefinal_trantor::{
    Batch, BatchLabel, Body, Commit, Message, Proposal, Replicas, Stage, Transaction, Trantor,
    ViewChange, Vote,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Domain, PublicKey, Signature};
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_crypto_core::verified::Verified;
use prefinal_engine::Member;
use prefinal_protocol::{Instant, Slot, Value, View};
use prefinal_sim::rule::{Letter, Rule, Scene};
use prefinal_sim::{Chance, Dice, Seat};

use self::certificates::{CHANGE, Forger};
use self::conceal::Concealer;
use self::overheard::Overheard;
use super::corrupt::{Conspiracy, Corruptible, Envelope, Rules};
use super::execution::ROUND;
use super::tally::{Certificate, Flaw, Kind, Tally};

/// How often false claims are made that nothing gives occasion to.
const PERIOD: Duration = Duration::from_millis(300);

/// How long they go on after the network has healed.
const AFTER_HEALING: Duration = Duration::from_secs(2);

/// What can be wrong with a certificate.
const FLAWS: [Flaw; 3] = [Flaw::Signature, Flaw::Stake, Flaw::Statement];

/// The certificates that are about views.
const VIEWS: [Certificate; 3] =
    [Certificate::Prepared, Certificate::Change, Certificate::Committed];

/// One kind of tampering, with what is drawn for it: see the table above.
#[derive(Clone, Debug)]
pub(crate) enum Vice {
    Equivocate { fooled: BTreeSet<Seat>, both: bool, votes: bool },
    Conceal { confides: bool },
    FalseAvailability { flaws: Vec<Flaw> },
    FalseVotes { of: Vec<Certificate>, flaws: Vec<Flaw> },
    BadSignatures,
    Hoard { to: BTreeSet<Seat> },
    FalseAnswers,
    Straggle { late: Duration },
}

impl Corruptible for Trantor {
    type Committee = Replicas;
    type Overheard = Overheard;
    type Vice = Vice;

    const LOADED: bool = true;
    const ORDERS_ONCE: bool = true;

    fn committee(context: &Context, members: Vec<Member<Verified<PublicKey>>>) -> Option<Replicas> {
        Replicas::new(context, members).ok()
    }

    fn overhear(known: &mut Overheard, from: Party, (epoch, message): (EpochId, &Message)) {
        known.hear(from, epoch, message);
    }

    fn rules<M: Envelope<Message>>(
        conspiracy: &Rc<Conspiracy<Self>>,
        me: Party,
        tally: &Rc<RefCell<Tally>>,
    ) -> Rules<M> {
        let vices = conspiracy.given.clone().unwrap_or_else(|| vices(conspiracy, me));
        let rule = |vice| -> Box<dyn Rule<M>> {
            let (conspiracy, tally) = (Rc::clone(conspiracy), Rc::clone(tally));
            if let Vice::Conceal { confides } = vice {
                return Box::new(Concealer::new(me, confides, conspiracy, tally));
            }
            Box::new(Intriguer::new(vice, me, conspiracy, tally))
        };
        vices.into_iter().map(rule).collect()
    }
}

/// What a faulty party does, drawn from the seed.
fn vices(conspiracy: &Conspiracy<Trantor>, me: Party) -> Vec<Vice> {
    let mut dice = conspiracy.dice(me, 0x0074_7261_6e74_6f72);
    (0..dice.between(1, 3)).map(|_| draw(&mut dice, conspiracy, me)).collect()
}

fn draw(dice: &mut Dice, conspiracy: &Conspiracy<Trantor>, me: Party) -> Vice {
    match dice.below(8) {
        0 => {
            let seats = (0..conspiracy.seating.count()).map(Seat::new);
            let half = Chance::percent(50);
            let fooled = seats.filter(|_| dice.happens(half)).collect();
            Vice::Equivocate { fooled, both: dice.happens(half), votes: dice.happens(half) }
        }
        1 => Vice::FalseAvailability { flaws: FLAWS.to_vec() },
        2 => Vice::FalseVotes { of: VIEWS.to_vec(), flaws: FLAWS.to_vec() },
        3 => Vice::BadSignatures,
        4 => Vice::Hoard { to: signers(dice, conspiracy, me) },
        5 => Vice::FalseAnswers,
        6 => Vice::Conceal { confides: dice.happens(Chance::percent(50)) },
        _ => Vice::Straggle { late: dice.duration(ROUND / 4, ROUND * 3 / 4) },
    }
}

/// The seats of as few honest parties as certify a batch together with the accomplices.
fn signers(dice: &mut Dice, conspiracy: &Conspiracy<Trantor>, me: Party) -> BTreeSet<Seat> {
    let Some(committee) = conspiracy.committees.all.get(&conspiracy.committees.first) else {
        return BTreeSet::new();
    };
    conspiracy.with_few(me, committee.size(), dice, |chosen| {
        committee.is_weak(chosen.iter().map(|one| committee.stake(*one)).sum())
    })
}

/// Something that leaves, and how much later.
struct Told(Message, Duration);

/// One vice of one seat.
struct Intriguer {
    vice: Vice,
    me: Party,
    conspiracy: Rc<Conspiracy<Trantor>>,
    tally: Rc<RefCell<Tally>>,
    epoch: EpochId,
    /// The last height that this party has voted at, or proposed.
    last: Slot,
    /// The block that is shown in place of this party's own.
    other: BTreeMap<Slot, Option<Body>>,
    due: Instant,
}

impl Intriguer {
    fn new(
        vice: Vice,
        me: Party,
        conspiracy: Rc<Conspiracy<Trantor>>,
        tally: Rc<RefCell<Tally>>,
    ) -> Self {
        let (other, due) = (BTreeMap::new(), Instant::at(PERIOD));
        let epoch = conspiracy.committees.first;
        Self { vice, me, conspiracy, tally, epoch, last: Slot::new(1), other, due }
    }

    fn count(&self, kind: Kind) {
        self.tally.borrow_mut().add(kind, 1);
    }

    fn sign(&self, domain: Domain, message: &[u8]) -> Option<Signature> {
        Some(self.conspiracy.faulty.get(&self.me)?.signer.sign(domain, message))
    }

    fn vote(&self, stage: Stage, (view, value): (View, Value)) -> Option<Vote> {
        let committee = self.conspiracy.committees.all.get(&self.epoch)?;
        let signature = self.sign(stage.domain(), &committee.statement(view, value))?;
        Some(Vote { view, value, signature })
    }

    fn proposal(&self, slot: Slot, body: &Body) -> Option<Message> {
        let vote = self.vote(Stage::Propose, self.first_view(slot, body)?)?;
        let proposal = Proposal { slot, body: body.clone(), signature: vote.signature };
        Some(Message::Proposal(Box::new(proposal)))
    }

    fn first_view(&self, slot: Slot, body: &Body) -> Option<(View, Value)> {
        let committee = self.conspiracy.committees.all.get(&self.epoch)?;
        Some((View::new(slot, 0), body.value(committee.context(), slot)))
    }

    fn forge<T>(&self, make: impl FnOnce(&Forger<'_>) -> Option<T>) -> Option<T> {
        let committee = self.conspiracy.committees.all.get(&self.epoch)?;
        let overheard = &*self.conspiracy.overheard.borrow();
        let accomplices = &self.conspiracy.faulty;
        make(&Forger { epoch: self.epoch, committee, accomplices, overheard })
    }

    /// What is wrong with the next false certificate.
    fn flaw(&self, dice: &mut Dice) -> Option<Flaw> {
        let (Vice::FalseAvailability { flaws } | Vice::FalseVotes { flaws, .. }) = &self.vice
        else {
            return None;
        };
        let most = u64::try_from(flaws.len()).ok()?;
        flaws.get(usize::try_from(dice.below(most)).ok()?).copied()
    }

    /// Whether this party makes such certificates up.
    fn makes(&self, certificate: Certificate) -> Option<()> {
        let Vice::FalseVotes { of, .. } = &self.vice else { return None };
        of.contains(&certificate).then_some(())
    }

    fn note(&mut self, message: &Message) {
        let slot = match message {
            Message::Proposal(proposal) => proposal.slot,
            Message::Prepare(vote) => vote.view.slot,
            Message::Progress(next) => *next,
            _ => return,
        };
        self.last = self.last.max(slot);
    }

    /// What leaves in place of a message; `None` if it stays as it is.
    fn instead(&mut self, dice: &mut Dice, to: Seat, message: &Message) -> Option<Vec<Told>> {
        match &self.vice {
            Vice::Equivocate { fooled, both, votes } if fooled.contains(&to) => {
                let (both, votes) = (*both, *votes);
                self.equivocate(message, both, votes)
            }
            Vice::FalseAvailability { .. } => self.propose_nothing(dice, message),
            Vice::FalseVotes { .. } => self.claim_in(dice, message),
            Vice::BadSignatures if dice.happens(Chance::percent(40)) => {
                self.sign_wrongly(dice, message)
            }
            Vice::Hoard { to: signers } => self.hoard(message, signers.contains(&to)),
            Vice::FalseAnswers => self.answer(dice, message),
            Vice::Straggle { late } => match message {
                Message::Proposal(_) | Message::NewView(_) => {
                    self.count(Kind::LateProposal);
                    Some(vec![Told(message.clone(), *late)])
                }
                _ => None,
            },
            Vice::Equivocate { .. } | Vice::BadSignatures | Vice::Conceal { .. } => None,
        }
    }

    /// The block that is shown in place of this one: an empty one, or one with a batch that was ordered before.
    fn other_body(&self, slot: Slot, body: &Body) -> Option<Body> {
        if body.batches().next().is_some() {
            return Some(Body::default());
        }
        let overheard = self.conspiracy.overheard.borrow();
        Some(Body::new(vec![overheard.available(self.epoch, slot)?.clone()]))
    }

    fn equivocate(&mut self, message: &Message, both: bool, votes: bool) -> Option<Vec<Told>> {
        let slot = match message {
            Message::Proposal(proposal) => {
                let slot = proposal.slot;
                if !self.other.contains_key(&slot) {
                    let other = self.other_body(slot, &proposal.body);
                    self.other.insert(slot, other);
                }
                slot
            }
            Message::Prepare(vote) if votes && vote.view.attempt == 0 => vote.view.slot,
            Message::Commit(commit) if votes && commit.vote.view.attempt == 0 => {
                commit.vote.view.slot
            }
            _ => return None,
        };
        let body = self.other.get(&slot)?.as_ref()?;
        let named = self.first_view(slot, body)?;
        let other = match message {
            Message::Proposal(_) => self.proposal(slot, body)?,
            Message::Prepare(_) => Message::Prepare(self.vote(Stage::Prepare, named)?),
            Message::Commit(commit) => {
                let vote = self.vote(Stage::Commit, named)?;
                let partial = commit.partial.clone();
                Message::Commit(Box::new(Commit { vote, partial }))
            }
            _ => return None,
        };
        self.count(Kind::Equivocation);
        let own = both.then(|| Told(message.clone(), Duration::ZERO));
        Some([Told(other, Duration::ZERO)].into_iter().chain(own).collect())
    }

    /// Adds a batch that nobody has to a block.
    fn propose_nothing(&mut self, dice: &mut Dice, message: &Message) -> Option<Vec<Told>> {
        let Message::Proposal(proposal) = message else { return None };
        let slot = proposal.slot;
        if !self.other.contains_key(&slot) {
            let make = dice.happens(Chance::percent(30));
            let flaw = self.flaw(dice)?;
            let forged = self.forge(|forger| forger.availability(flaw, (self.me, slot), dice));
            let body = forged.filter(|_| make).map(|forged| {
                self.tally.borrow_mut().add(Kind::False(Certificate::Availability, flaw), 1);
                let all = proposal.body.certificates().iter().take(8).cloned();
                Body::new(all.chain([forged]).collect())
            });
            self.other.insert(slot, body);
        }
        let body = self.other.get(&slot)?.as_ref()?;
        Some(vec![Told(self.proposal(slot, body)?, Duration::ZERO)])
    }

    fn sign_wrongly(&self, dice: &mut Dice, message: &Message) -> Option<Vec<Told>> {
        let value = Value::new(dice.bytes());
        let message = match message {
            Message::Prepare(vote) => {
                let signature = self.vote(Stage::Prepare, (vote.view, value))?.signature;
                Message::Prepare(Vote { signature, ..*vote })
            }
            Message::Commit(commit) => {
                let signature = self.vote(Stage::Commit, (commit.vote.view, value))?.signature;
                let vote = Vote { signature, ..commit.vote };
                Message::Commit(Box::new(Commit { vote, partial: commit.partial.clone() }))
            }
            Message::ViewChange(change) => {
                let signature = self.sign(CHANGE, &value.to_bytes())?;
                Message::ViewChange(Box::new(ViewChange { signature, ..(**change).clone() }))
            }
            Message::Ack(label, _) => {
                Message::Ack(*label, self.sign(BatchLabel::domain(), &value.to_bytes())?)
            }
            _ => return None,
        };
        self.count(Kind::BadSignature);
        Some(vec![Told(message, Duration::ZERO)])
    }

    fn hoard(&self, message: &Message, signs: bool) -> Option<Vec<Told>> {
        match message {
            Message::Batch(_) if !signs => self.count(Kind::BatchWithheld),
            Message::BatchResponse(_) | Message::BodyResponse(..) | Message::Response(_) => {
                self.count(Kind::AnswerWithheld);
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    fn answer(&self, dice: &mut Dice, message: &Message) -> Option<Vec<Told>> {
        let other = match message {
            Message::BatchResponse(batch) => {
                let transactions = vec![Transaction::new(dice.bytes().to_vec())];
                let other = Batch::new(batch.author(), batch.until(), transactions);
                Message::BatchResponse(Box::new(other))
            }
            Message::BodyResponse(slot, body) => {
                Message::BodyResponse(*slot, self.other_body(*slot, body)?)
            }
            Message::Response(decisions) => {
                let mut decisions = decisions.clone();
                let first = decisions.first_mut()?;
                let slot = first.certificate.view.slot;
                first.body = Some(self.other_body(slot, first.body.as_ref()?)?);
                Message::Response(decisions)
            }
            _ => return None,
        };
        self.count(Kind::FalseAnswer);
        Some(vec![Told(other, Duration::ZERO)])
    }

    /// Something false that nothing gave occasion to, for everybody.
    fn make_up(&self, dice: &mut Dice) -> Option<Message> {
        let slot = Slot::new(self.last.get().saturating_add(dice.below(3)));
        if matches!(self.vice, Vice::FalseAvailability { .. }) {
            let flaw = self.flaw(dice)?;
            let forged = self.forge(|forger| forger.availability(flaw, (self.me, slot), dice))?;
            self.count(Kind::False(Certificate::Availability, flaw));
            return Some(Message::Certificates(vec![forged]));
        }
        if dice.happens(Chance::percent(50)) {
            return self.decision(dice, slot);
        }
        let attempt = u32::try_from(dice.between(1, 2)).ok()?;
        self.false_change(dice, View::new(slot, attempt))
    }
}

impl<M: Envelope<Message>> Rule<M> for Intriguer {
    fn outgoing(&mut self, scene: &mut Scene<'_>, letter: Letter<M>, leaves: &mut Vec<Letter<M>>) {
        let Some((epoch, message)) = letter.message.engine() else { return leaves.push(letter) };
        self.epoch = epoch;
        self.note(message);
        let Some(told) = self.instead(scene.dice, letter.to, message) else {
            return leaves.push(letter);
        };
        for Told(message, later) in told {
            let message = M::of_engine(epoch, message);
            leaves.push(Letter { to: letter.to, message, delay: letter.delay + later });
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let makes_up =
            matches!(self.vice, Vice::FalseAvailability { .. } | Vice::FalseVotes { .. });
        let until = self.conspiracy.heals + AFTER_HEALING;
        Some(self.due).filter(|due| makes_up && *due < until)
    }

    fn wake(&mut self, scene: &mut Scene<'_>, leaves: &mut Vec<Letter<M>>) {
        self.due = self.due + PERIOD;
        let Some(message) = self.make_up(scene.dice) else { return };
        for to in (0..scene.seats).map(Seat::new).filter(|to| *to != scene.seat) {
            let message = M::of_engine(self.epoch, message.clone());
            leaves.push(Letter { to, message, delay: Duration::ZERO });
        }
    }
}

#[cfg(test)]
mod tests;
