//! What hostile peers make of honest answers before they leave.
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use prefinal_execution::Height;
use prefinal_protocol::EpochId;
use prefinal_sim::rule::{Letter, Rule, Scene};
use prefinal_sim::{Chance, Dice, Seat};
use prefinal_sync::wire::{
    ANSWER_HEAD, Answer, Compression, HeightRange, Payload, RequestId, Summary,
};

use super::super::chain::SampleChain;
use super::super::node::Bytes;
use super::fabricate::fabricate;
use crate::campaign::{Kind, Tally};

/// What a hostile peer does with answers and summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sync) enum Vice {
    /// Alters one thing of an answer.
    Fabricate,
    /// Cuts the message, or leaves out the last blocks, which it may.
    Truncate,
    /// Blocks and rows in another order.
    Reorder,
    /// Sends an earlier answer, or the same under other numbers.
    Replay,
    /// Says that it has less than it has.
    Stale,
    /// Says that it has what it does not have, each time something else.
    Boast,
    /// A message that is too long, or says that it is.
    Oversize,
    /// A byte a second.
    Drip,
    /// Leaves the request without an answer.
    Withhold,
    /// Says that it does not have it.
    Deny,
    /// Bytes that mean nothing.
    Babble,
}

pub(in crate::sync) const VICES: [Vice; 11] = [
    Vice::Fabricate,
    Vice::Truncate,
    Vice::Reorder,
    Vice::Replay,
    Vice::Stale,
    Vice::Boast,
    Vice::Oversize,
    Vice::Drip,
    Vice::Withhold,
    Vice::Deny,
    Vice::Babble,
];

/// What hostile peers have done so far.
#[derive(Debug, Default)]
pub(in crate::sync) struct Told {
    pub(in crate::sync) tally: Tally,
    /// Who has said anything that no honest peer says, so that it may be banned.
    pub(in crate::sync) liars: BTreeSet<Seat>,
}

/// A hostile peer's hand on what leaves it.
pub(in crate::sync) struct Liar {
    pub(in crate::sync) vices: Vec<Vice>,
    /// How often it does any of it.
    pub(in crate::sync) often: Chance,
    /// The longest message that the follower takes.
    pub(in crate::sync) longest: usize,
    pub(in crate::sync) chain: Arc<SampleChain>,
    pub(in crate::sync) told: Rc<RefCell<Told>>,
    /// Answers of before, to be sent again to other requests.
    pub(in crate::sync) memory: Vec<Bytes>,
}

/// The kind of a message that is an answer.
const ANSWER: u8 = 3;

/// Answers that a liar remembers.
const MEMORY: usize = 6;

/// What leaves in place of a message, and whether an honest peer would say it.
struct Said {
    kind: Kind,
    messages: Vec<Vec<u8>>,
    is_false: bool,
    delay: Duration,
}

impl Said {
    fn falsely(kind: Kind, message: Vec<u8>) -> Self {
        Self { kind, messages: vec![message], is_false: true, delay: Duration::ZERO }
    }

    fn fairly(kind: Kind, message: Option<Vec<u8>>) -> Self {
        let messages = message.into_iter().collect();
        Self { kind, messages, is_false: false, delay: Duration::ZERO }
    }
}

/// The number of the request that is answered.
fn number(bytes: &[u8]) -> Option<RequestId> {
    let number = bytes.get(2..)?.first_chunk::<8>()?;
    Some(RequestId::new(u64::from_le_bytes(*number)))
}

/// The same answer under another number.
fn renumber(bytes: &[u8], id: RequestId) -> Vec<u8> {
    let number = id.get().to_le_bytes();
    let head = bytes.iter().take(2).copied();
    head.chain(number).chain(bytes.iter().skip(10).copied()).collect()
}

impl Liar {
    fn instead(&mut self, bytes: &Bytes, dice: &mut Dice) -> Option<Said> {
        let count = u64::try_from(self.vices.len()).unwrap_or(0);
        let vice = *self.vices.get(usize::try_from(dice.below(count)).ok()?)?;
        if bytes.get(1) != Some(&ANSWER) {
            return summary(vice, bytes, dice);
        }
        let id = number(bytes)?;
        match vice {
            Vice::Fabricate | Vice::Reorder => {
                let mut payload = Payload::decode(bytes.get(ANSWER_HEAD..)?).ok()?;
                let kind = match vice {
                    Vice::Fabricate => {
                        fabricate(&mut payload, &self.chain, dice);
                        Kind::Fabricated
                    }
                    _ => {
                        reorder(&mut payload, dice);
                        Kind::Reordered
                    }
                };
                let packs = dice.below(2) == 0;
                let compression = if packs { Compression::Lz4 } else { Compression::None };
                let plain = Answer::of(&payload, Compression::None).to_wire(id);
                let is_same = plain[..] == bytes[..];
                (!is_same)
                    .then(|| Said::falsely(kind, Answer::of(&payload, compression).to_wire(id)))
            }
            Vice::Truncate if dice.below(2) == 0 => shorten(bytes, dice),
            Vice::Truncate => {
                let length = u64::try_from(bytes.len()).unwrap_or(0);
                let left = usize::try_from(dice.below(length)).unwrap_or(0);
                Some(Said::falsely(Kind::Cut, bytes.iter().take(left).copied().collect()))
            }
            Vice::Replay => self.replay(bytes, id, dice),
            Vice::Oversize => Some(self.oversize(bytes, dice)),
            Vice::Drip => {
                let seconds = u64::try_from(bytes.len()).unwrap_or(0);
                let delay = Duration::from_secs(seconds);
                Some(Said { delay, ..Said::fairly(Kind::Drip, Some(bytes.to_vec())) })
            }
            Vice::Withhold => Some(Said::fairly(Kind::AnswerWithheld, None)),
            Vice::Deny => {
                let absent = Payload::<super::super::chain::SampleCertificate>::Absent;
                let absent = Answer::of(&absent, Compression::None).to_wire(id);
                Some(Said::fairly(Kind::Denied, Some(absent)))
            }
            Vice::Babble => Some(babble(bytes, dice)),
            Vice::Stale | Vice::Boast => None,
        }
    }

    fn replay(&self, bytes: &[u8], id: RequestId, dice: &mut Dice) -> Option<Said> {
        let count = u64::try_from(self.memory.len()).unwrap_or(0);
        let messages = match dice.below(3) {
            0 => vec![bytes.to_vec(), bytes.to_vec()],
            1 => {
                // Perhaps another request has one of these numbers.
                let near = (0..4).map(|step| RequestId::new(id.get().saturating_add(step)));
                near.map(|id| renumber(bytes, id)).collect()
            }
            _ => {
                let old = self.memory.get(usize::try_from(dice.below(count)).ok()?)?;
                vec![renumber(old, id)]
            }
        };
        let (kind, is_false) = (Kind::Replay, true);
        Some(Said { kind, messages, is_false, delay: Duration::ZERO })
    }

    fn oversize(&self, bytes: &[u8], dice: &mut Dice) -> Said {
        let mut message = bytes.to_vec();
        match dice.below(3) {
            0 => message.resize(self.longest.saturating_add(1), 0),
            // The length before compression, of which memory would be taken.
            1 => {
                let length = u32::MAX.to_le_bytes();
                let place = message.iter_mut().skip(11);
                place.zip(length).for_each(|(byte, new)| *byte = new);
                message.iter_mut().skip(10).take(1).for_each(|byte| *byte = 1);
            }
            // The number of items.
            _ => {
                let place = message.iter_mut().skip(ANSWER_HEAD.saturating_add(1));
                place.zip([255; 4]).for_each(|(byte, new)| *byte = new);
            }
        }
        Said::falsely(Kind::Oversized, message)
    }
}

fn reorder(payload: &mut Payload<super::super::chain::SampleCertificate>, dice: &mut Dice) {
    match payload {
        Payload::Blocks(items) if dice.below(2) == 0 => items.reverse(),
        Payload::Blocks(items) if items.len() > 1 => items.rotate_left(1),
        Payload::Range(range) => range.rows.reverse(),
        _ => {}
    }
}

/// Fewer blocks than were asked for: an honest peer does that, too.
fn shorten(bytes: &[u8], dice: &mut Dice) -> Option<Said> {
    let id = number(bytes)?;
    let payload = bytes.get(ANSWER_HEAD..)?;
    let payload = Payload::<super::super::chain::SampleCertificate>::decode(payload).ok()?;
    let Payload::Blocks(mut items) = payload else { return None };
    let count = u64::try_from(items.len()).unwrap_or(0);
    items.truncate(usize::try_from(dice.below(count)).unwrap_or(0));
    let message = Answer::of(&Payload::Blocks(items), Compression::Lz4).to_wire(id);
    Some(Said::fairly(Kind::Cut, Some(message)))
}

fn babble(bytes: &[u8], dice: &mut Dice) -> Said {
    let mut message = bytes.to_vec();
    if dice.below(2) == 0 {
        message = dice.bytes().to_vec();
    } else {
        for _ in 0..dice.between(1, 4) {
            let length = u64::try_from(message.len()).unwrap_or(0);
            let place = usize::try_from(dice.below(length)).unwrap_or(0);
            let mask = u8::try_from(dice.between(1, 255)).unwrap_or(1);
            message.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= mask);
        }
    }
    Said::falsely(Kind::Junk, message)
}

/// What is said of what there is. Nobody can be convicted of it, unless it is no summary.
fn summary(vice: Vice, bytes: &[u8], dice: &mut Dice) -> Option<Said> {
    let mut summary = Summary::from_wire(bytes).ok()?;
    match vice {
        Vice::Withhold => return Some(Said::fairly(Kind::AnswerWithheld, None)),
        Vice::Babble => return Some(babble(bytes, dice)),
        Vice::Stale => {
            let less = |heights: HeightRange, dice: &mut Dice| {
                let last = Height::new(dice.below(heights.last.get().saturating_add(1)));
                (last >= heights.first).then_some(HeightRange { last, ..heights })
            };
            summary.blocks = summary.blocks.and_then(|heights| less(heights, dice));
            summary.deltas = summary.blocks;
            summary.snapshots.truncate(usize::try_from(dice.below(2)).unwrap_or(0));
        }
        Vice::Boast => {
            let most = 1 << dice.between(3, 60);
            let far = Height::new(dice.between(1, most));
            let first = Height::new(dice.below(3));
            summary.blocks = Some(HeightRange { first, last: far });
            summary.deltas = summary.blocks;
            summary.snapshots = vec![far];
            summary.epoch = EpochId::new(dice.below(1000));
            summary.hops = 0;
        }
        _ => return None,
    }
    Some(Said::fairly(Kind::FalseSummary, Some(summary.to_wire())))
}

impl Rule<Bytes> for Liar {
    fn outgoing(
        &mut self,
        scene: &mut Scene<'_>,
        letter: Letter<Bytes>,
        leaves: &mut Vec<Letter<Bytes>>,
    ) {
        let does = scene.dice.happens(self.often);
        let said = does.then(|| self.instead(&letter.message, scene.dice)).flatten();
        if letter.message.get(1) == Some(&ANSWER) {
            self.memory.push(Arc::clone(&letter.message));
            if self.memory.len() > MEMORY {
                self.memory.remove(0);
            }
        }
        let Some(Said { kind, messages, is_false, delay }) = said else {
            return leaves.push(letter);
        };
        let mut told = self.told.borrow_mut();
        told.tally.add(kind, 1);
        if is_false {
            told.liars.insert(scene.seat);
        }
        let delay = letter.delay.saturating_add(delay);
        leaves.extend(messages.into_iter().map(|message| Letter {
            to: letter.to,
            message: message.into(),
            delay,
        }));
    }
}
