//! What Byzantine parties of a committee on DISPEL do with its messages. Nothing is signed, so a party may say
//! anything in its own name, and something else to everybody.
//!
//! | vice           | what it does                                                                       |
//! |----------------|------------------------------------------------------------------------------------|
//! | `TwoBatches`   | gives some another batch for its place in a stage, and may vote for that one there    |
//! | `WrongBits`    | tells some the other bit, or both, wherever it votes on bits                         |
//! | `Split`        | keeps its batch from some; votes one on it among those that have it, zero among others |
//! | `Hoard`        | gives its batch to a strong quorum with its accomplices, and answers no request       |
//! | `FalseAnswers` | answers requests with other batches, and tells other outcomes                        |
//! | `Rush`         | begins stages far ahead, whatever the network and the memory hold                    |
//! | `Babble`       | votes, requests and outcomes that nothing gives occasion to, others for everybody     |
//!
//! A faulty party has one to three of them, in addition to those of the script. They come last, so what is
//! counted has left.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use ::prefinal_dispel::{
    Batch, BatchId, BitMaps, Dispel, Message, StageOutcome, Step, Transaction, committee_hash,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::PublicKey;
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_crypto_core::verified::Verified;
use prefinal_engine::{Engine, Member, Quorum};
use prefinal_protocol::{Instant, Slot};
use prefinal_sim::rule::{Letter, Rule, Scene};
use prefinal_sim::{Chance, Dice, Seat};
use prefinal_weighted_rounding::Stake;

use super::corrupt::{Conspiracy, Corruptible, Envelope, Rules};
use super::tally::{Kind, Tally};

/// How often a party says what nothing gives occasion to.
const PERIOD: Duration = Duration::from_millis(150);

/// How long it goes on after the network has healed.
const AFTER_HEALING: Duration = Duration::from_secs(2);

/// How far ahead stages are begun: further than anybody takes.
const AHEAD: u64 = 20;

/// One kind of tampering, with what is drawn for it: see the table above.
#[derive(Clone, Debug)]
pub(crate) enum Vice {
    TwoBatches { fooled: BTreeSet<Seat>, both: bool, votes: bool },
    WrongBits { fooled: BTreeSet<Seat>, both: bool },
    Split { ones: BTreeSet<Seat> },
    Hoard { to: BTreeSet<Seat> },
    FalseAnswers,
    Rush,
    Babble,
}

/// A committee, as names of batches depend on it.
#[derive(Clone)]
pub(crate) struct Names {
    context: [u8; 32],
    stakes: Vec<Stake>,
}

impl Corruptible for Dispel {
    type Committee = Names;
    type Overheard = ();
    type Vice = Vice;

    const LOADED: bool = true;
    const ORDERS_ONCE: bool = true;

    fn committee(context: &Context, members: Vec<Member<Verified<PublicKey>>>) -> Option<Names> {
        let stakes: Vec<Stake> = members.iter().map(|member| member.stake).collect();
        Some(Names { context: committee_hash(context, &stakes), stakes })
    }

    fn rules<M: Envelope<Message>>(
        conspiracy: &Rc<Conspiracy<Self>>,
        me: Party,
        tally: &Rc<RefCell<Tally>>,
    ) -> Rules<M> {
        let vices = conspiracy.given.clone().unwrap_or_else(|| vices(conspiracy, me));
        let rule = |vice| -> Box<dyn Rule<M>> {
            Box::new(Intriguer {
                vice,
                me,
                conspiracy: Rc::clone(conspiracy),
                tally: Rc::clone(tally),
                epoch: conspiracy.committees.first,
                last: Slot::new(1),
                due: Instant::at(PERIOD),
            })
        };
        vices.into_iter().map(rule).collect()
    }
}

/// What a faulty party does, drawn from the seed.
fn vices(conspiracy: &Conspiracy<Dispel>, me: Party) -> Vec<Vice> {
    let mut dice = conspiracy.dice(me, 0x0064_6973_7065_6c00);
    (0..dice.between(1, 3)).map(|_| draw(&mut dice, conspiracy, me)).collect()
}

fn draw(dice: &mut Dice, conspiracy: &Conspiracy<Dispel>, me: Party) -> Vice {
    let half = Chance::percent(50);
    let seats = (0..conspiracy.seating.count()).map(Seat::new);
    let some = seats.filter(|_| dice.happens(half)).collect();
    let (one, other) = (dice.happens(half), dice.happens(half));
    match dice.below(8) {
        0 => Vice::TwoBatches { fooled: some, both: one, votes: other },
        1 => Vice::WrongBits { fooled: some, both: one },
        2 | 3 => Vice::Split { ones: some },
        4 => Vice::Hoard { to: holders(dice, conspiracy, me) },
        5 => Vice::FalseAnswers,
        6 => Vice::Rush,
        _ => Vice::Babble,
    }
}

/// The seats of as few honest parties as deliver a batch together with the accomplices.
fn holders(dice: &mut Dice, conspiracy: &Conspiracy<Dispel>, me: Party) -> BTreeSet<Seat> {
    let Some(names) = conspiracy.committees.all.get(&conspiracy.committees.first) else {
        return BTreeSet::new();
    };
    let stake = |party: &Party| names.stakes.get(party.index()).map_or(0, |stake| stake.get());
    let quorum: Quorum = Dispel::QUORUM;
    let total = names.stakes.iter().map(|stake| stake.get()).sum();
    let strong = quorum.of(Stake::new(total)).get();
    conspiracy.with_few(me, names.stakes.len(), dice, |chosen| {
        chosen.iter().map(stake).sum::<u128>() >= strong
    })
}

/// One vice of one seat.
struct Intriguer {
    vice: Vice,
    me: Party,
    conspiracy: Rc<Conspiracy<Dispel>>,
    tally: Rc<RefCell<Tally>>,
    epoch: EpochId,
    /// The last stage in which this party has said anything.
    last: Slot,
    due: Instant,
}

impl Intriguer {
    fn count(&self, kind: Kind) {
        self.tally.borrow_mut().add(kind, 1);
    }

    fn note(&mut self, message: &Message) {
        if let Message::Batch { stage, .. } | Message::Votes { stage, .. } = message {
            self.last = self.last.max(*stage);
        }
    }

    fn size(&self) -> u64 {
        let names = self.conspiracy.committees.all.get(&self.epoch);
        names.and_then(|names| u64::try_from(names.stakes.len()).ok()).unwrap_or(1)
    }

    /// The batch that is shown in place of this party's own.
    fn other(&self, stage: Slot) -> Batch {
        let bytes = [&b"other"[..], &self.me.get().to_be_bytes(), &stage.get().to_be_bytes()];
        Batch { transactions: vec![Transaction::new(bytes.concat())] }
    }

    fn name(&self, stage: Slot, batch: &Batch) -> Option<BatchId> {
        let names = self.conspiracy.committees.all.get(&self.epoch)?;
        Some(batch.id(&names.context, stage, self.me))
    }

    /// What leaves in place of a message; `None` if it stays as it is.
    fn instead(&self, dice: &mut Dice, to: Seat, message: &Message) -> Option<Vec<Message>> {
        match &self.vice {
            Vice::TwoBatches { fooled, both, votes } if fooled.contains(&to) => {
                self.equivocate(message, *both, *votes)
            }
            Vice::WrongBits { fooled, both } if fooled.contains(&to) => self.lie(message, |bits| {
                let (zeros, ones) = (bits.zeros(), bits.ones());
                if *both {
                    BitMaps::new(joined(zeros, ones), joined(zeros, ones))
                } else {
                    BitMaps::new(ones.to_vec(), zeros.to_vec())
                }
            }),
            Vice::Split { ones } => self.split(message, ones.contains(&to)),
            Vice::Hoard { to: holders } => self.hoard(message, holders.contains(&to)),
            Vice::FalseAnswers => self.answer(dice, message),
            Vice::TwoBatches { .. } | Vice::WrongBits { .. } | Vice::Rush | Vice::Babble => None,
        }
    }

    fn equivocate(&self, message: &Message, both: bool, votes: bool) -> Option<Vec<Message>> {
        let other = match message {
            Message::Batch { stage, .. } => {
                Message::Batch { stage: *stage, batch: self.other(*stage) }
            }
            Message::Answer { stage, proposer, .. } if *proposer == self.me => {
                let batch = self.other(*stage);
                Message::Answer { stage: *stage, proposer: self.me, batch }
            }
            Message::Votes { stage, steps } if votes => {
                let name = self.name(*stage, &self.other(*stage))?;
                let mut steps = steps.clone();
                let mut renamed = false;
                for step in &mut steps {
                    let (Step::Echo(list) | Step::Ready(list)) = step else { continue };
                    for (_, id) in list.iter_mut().filter(|(proposer, _)| *proposer == self.me) {
                        (*id, renamed) = (name, true);
                    }
                }
                renamed.then_some(Message::Votes { stage: *stage, steps })?
            }
            _ => return None,
        };
        self.count(Kind::Equivocation);
        let own = (both && matches!(message, Message::Batch { .. })).then(|| message.clone());
        Some([other].into_iter().chain(own).collect())
    }

    /// Changes all bits in a message.
    fn lie(&self, message: &Message, change: impl Fn(&BitMaps) -> BitMaps) -> Option<Vec<Message>> {
        let Message::Votes { stage, steps } = message else { return None };
        let mut steps = steps.clone();
        for step in &mut steps {
            let (Step::Estimate { bits, .. }
            | Step::Coordinate { bits, .. }
            | Step::Auxiliary { bits, .. }) = step
            else {
                continue;
            };
            *bits = change(bits);
        }
        let told = Message::Votes { stage: *stage, steps };
        if told == *message {
            return None;
        }
        self.count(Kind::WrongBit);
        Some(vec![told])
    }

    /// The own batch and all votes for it to some, and votes against it to the others.
    fn split(&self, message: &Message, one: bool) -> Option<Vec<Message>> {
        match message {
            Message::Batch { .. } if !one => {
                self.count(Kind::BatchWithheld);
                Some(Vec::new())
            }
            Message::Votes { stage, steps } => {
                let mut steps = steps.clone();
                for step in &mut steps {
                    if let (false, Step::Echo(list) | Step::Ready(list)) = (one, step) {
                        list.retain(|(proposer, _)| *proposer != self.me);
                    }
                }
                let votes = Message::Votes { stage: *stage, steps };
                let forced = self.lie(&votes, |bits| forced(bits, self.me, one));
                Some(forced.unwrap_or_else(|| vec![votes]))
            }
            _ => None,
        }
    }

    fn hoard(&self, message: &Message, holds: bool) -> Option<Vec<Message>> {
        match message {
            Message::Batch { .. } if !holds => self.count(Kind::BatchWithheld),
            Message::Answer { .. } => self.count(Kind::AnswerWithheld),
            _ => return None,
        }
        Some(Vec::new())
    }

    fn answer(&self, dice: &mut Dice, message: &Message) -> Option<Vec<Message>> {
        let other = match message {
            Message::Answer { stage, proposer, .. } => {
                let transactions = vec![Transaction::new(dice.bytes().to_vec())];
                let (stage, proposer) = (*stage, *proposer);
                Message::Answer { stage, proposer, batch: Batch { transactions } }
            }
            Message::Decided { stage, outcome } => {
                let mut outcome = outcome.clone();
                if dice.happens(Chance::percent(50)) {
                    outcome.pop()?;
                } else {
                    outcome.last_mut()?.1 = BatchId::new(dice.bytes());
                }
                Message::Decided { stage: *stage, outcome }
            }
            _ => return None,
        };
        self.count(Kind::FalseAnswer);
        Some(vec![other])
    }

    /// Something that nothing gave occasion to.
    fn make_up(&self, dice: &mut Dice) -> Message {
        if matches!(self.vice, Vice::Rush) {
            self.count(Kind::StageBegun);
            let stage = self.last.after(1 + dice.below(AHEAD));
            return Message::Batch { stage, batch: self.other(stage) };
        }
        self.count(Kind::MadeUp);
        let stage = Slot::new((self.last.get() + dice.below(AHEAD)).saturating_sub(AHEAD / 2));
        match dice.below(6) {
            0 => Message::Status { next: Slot::new(dice.below(self.last.get() + AHEAD)) },
            1 => Message::Request { stage, proposer: self.somebody(dice) },
            2 => Message::Decided { stage, outcome: self.outcome(dice) },
            _ => {
                let steps = (0..dice.between(1, 6)).map(|_| self.step(dice, stage)).collect();
                Message::Votes { stage, steps }
            }
        }
    }

    /// A member, or now and then a stranger.
    fn somebody(&self, dice: &mut Dice) -> Party {
        let strangers = u64::from(dice.happens(Chance::percent(2)));
        Party::new(u32::try_from(dice.below(self.size() + strangers)).unwrap_or(0))
    }

    fn outcome(&self, dice: &mut Dice) -> StageOutcome {
        let members = (0..self.size()).filter_map(|one| u32::try_from(one).ok()).map(Party::new);
        let some: Vec<Party> = members.filter(|_| dice.happens(Chance::percent(70))).collect();
        some.into_iter().map(|party| (party, BatchId::new(dice.bytes()))).collect()
    }

    fn step(&self, dice: &mut Dice, stage: Slot) -> Step {
        let round = u32::try_from(dice.between(1, 6)).unwrap_or(1);
        let length = usize::try_from(self.size().div_ceil(8)).unwrap_or(1);
        let last = u8::try_from((1_u16 << ((self.size() - 1) % 8 + 1)) - 1).unwrap_or(u8::MAX);
        let map = |dice: &mut Dice| {
            let bytes: [u8; 32] = dice.bytes();
            let mut map: Vec<u8> = bytes.into_iter().cycle().take(length).collect();
            if let Some(byte) = map.last_mut() {
                *byte &= last;
            }
            map
        };
        let (zeros, ones) = (map(dice), map(dice));
        let name = |dice: &mut Dice| {
            let other = self.name(stage, &self.other(stage));
            other
                .filter(|_| dice.happens(Chance::percent(50)))
                .unwrap_or(BatchId::new(dice.bytes()))
        };
        match dice.below(5) {
            0 => Step::Echo(vec![(self.somebody(dice), name(dice))]),
            1 => Step::Ready(vec![(self.somebody(dice), name(dice))]),
            2 => Step::Coordinate { round, bits: BitMaps::new(zeros, Vec::new()) },
            3 => Step::Auxiliary { round, bits: BitMaps::new(zeros, ones) },
            _ => {
                let own = dice.happens(Chance::percent(50));
                Step::Estimate { round, own, bits: BitMaps::new(zeros, ones) }
            }
        }
    }
}

/// What is in either map.
fn joined(one: &[u8], other: &[u8]) -> Vec<u8> {
    let byte = |map: &[u8], at: usize| map.get(at).copied().unwrap_or(0);
    (0..one.len().max(other.len())).map(|at| byte(one, at) | byte(other, at)).collect()
}

/// The same bits, but with this one of a proposer if anything is said of it.
fn forced(bits: &BitMaps, proposer: Party, one: bool) -> BitMaps {
    let (at, mask) = (proposer.index() / 8, 1_u8 << (proposer.index() % 8));
    let length = bits.zeros().len().max(bits.ones().len());
    let mut maps = [bits.zeros().to_vec(), bits.ones().to_vec()];
    maps.iter_mut().for_each(|map| map.resize(length, 0));
    if maps.iter().any(|map| map.get(at).is_some_and(|byte| byte & mask != 0)) {
        for (map, is) in maps.iter_mut().zip([!one, one]) {
            if let Some(byte) = map.get_mut(at) {
                *byte = if is { *byte | mask } else { *byte & !mask };
            }
        }
    }
    let [zeros, ones] = maps;
    BitMaps::new(zeros, ones)
}

impl<M: Envelope<Message>> Rule<M> for Intriguer {
    fn outgoing(&mut self, scene: &mut Scene<'_>, letter: Letter<M>, leaves: &mut Vec<Letter<M>>) {
        let Some((epoch, message)) = letter.message.engine() else { return leaves.push(letter) };
        self.epoch = epoch;
        self.note(message);
        let Some(told) = self.instead(scene.dice, letter.to, message) else {
            return leaves.push(letter);
        };
        let (to, delay) = (letter.to, letter.delay);
        let told = told.into_iter().map(|message| M::of_engine(epoch, message));
        leaves.extend(told.map(|message| Letter { to, message, delay }));
    }

    fn wake_at(&self) -> Option<Instant> {
        let until = self.conspiracy.heals + AFTER_HEALING;
        let makes_up = matches!(self.vice, Vice::Rush | Vice::Babble);
        Some(self.due).filter(|due| makes_up && *due < until)
    }

    fn wake(&mut self, scene: &mut Scene<'_>, leaves: &mut Vec<Letter<M>>) {
        self.due = self.due + PERIOD;
        for to in (0..scene.seats).map(Seat::new).filter(|to| *to != scene.seat) {
            let message = M::of_engine(self.epoch, self.make_up(scene.dice));
            leaves.push(Letter { to, message, delay: Duration::ZERO });
        }
    }
}

#[cfg(test)]
mod mistaken;
#[cfg(test)]
mod tests;
