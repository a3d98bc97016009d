//! The behaviour of Byzantine parties: rules between their honest machine and the network.
//!
//! | vice        | what it does                                                                      |
//! |-------------|-----------------------------------------------------------------------------------|
//! | `Mute`      | says nothing, from some time on                                                   |
//! | `Withhold`  | keeps its partials from some, or all of its messages                              |
//! | `TwoFaced`  | tells some the right partial and others a wrong one, or the same ones both         |
//! | `Wrong`     | sends partials of another slot or path, or points that are nobody's                |
//! | `Cancel`    | with its accomplices, adds to its points what the others subtract from theirs       |
//! | `Flood`     | partials, requests and transactions without end, for slots far ahead               |
//! | `Replay`    | sends again what it has sent long ago                                              |
//! | `Delay`     | keeps everybody waiting as long as a round allows                                  |
//! | `Twins`     | runs twice: two honest machines with one key, each for a part of the others         |
//! | `Forget`    | crashes and comes back without its disk                                            |
//!
//! Twins equivocate with proposals, votes, order votes and timeouts, all of them properly signed and
//! each consistent with what its half of the world saw. `Twins` and `Forget` are not rules: they are
//! set up in `execution`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::{Path, Scheme, Slot, Value};
use prefinal_dispel::Dispel;
use prefinal_jolteon::Jolteon;
use prefinal_malachite::Malachite;
use prefinal_protocol::Instant;
use prefinal_sim::rule::{Letter, Rule, Scene};
use prefinal_sim::{Chance, Dice, Seat};
use prefinal_trantor::Trantor;

use super::forge::Forge;
use super::tally::{Kind, Tally};
use crate::legible::ReadableEngine;
use prefinal_crypto_core::context::EpochId;
use prefinal_validator::Message;
use prefinal_validator::scheme::KeyedScheme;
use prefinal_validator::setup::FIRST;

/// Letters that a replaying party remembers.
const REMEMBERED: usize = 256;

/// How often a flood comes, and a replay.
const PERIOD: Duration = Duration::from_millis(300);

/// What a party does wrong.
#[derive(Clone, Debug)]
pub enum Vice {
    /// It sends nothing any more.
    Mute {
        /// The time from which on it is silent.
        from: Instant,
    },
    /// It keeps messages from some.
    Withhold {
        /// The seats that do not get them.
        from: BTreeSet<Seat>,
        /// Whether all messages are kept, and not partials alone.
        all: bool,
    },
    /// It sends wrong partials to some, and the right ones to others.
    TwoFaced {
        /// The seats that get wrong ones.
        to: BTreeSet<Seat>,
        /// Whether they get the right ones as well.
        both: bool,
    },
    /// It sends wrong partials to everybody.
    Wrong,
    /// It moves its points by what an accomplice moves back.
    Cancel {
        /// Whether it is the one that adds.
        adds: bool,
    },
    /// It sends partials and requests without end, for slots near and far.
    Flood {
        /// The time at which the flood ends.
        until: Instant,
    },
    /// It sends again what it has sent before.
    Replay {
        /// The time from which on nothing is repeated.
        until: Instant,
    },
    /// It delays every second message.
    Delay {
        /// The longest delay; the shortest is half of it.
        most: Duration,
    },
    /// It runs twice with one key.
    Twins {
        /// The seats that the first of the two talks to.
        side: BTreeSet<Seat>,
    },
    /// It crashes, and comes back without its disk.
    Forget {
        /// The time at which it crashes.
        at: Instant,
        /// How long it is down.
        back: Duration,
    },
}

impl Vice {
    /// How the report counts it.
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Mute { .. } => Kind::Mute,
            Self::Withhold { .. } => Kind::Withhold,
            Self::TwoFaced { .. } => Kind::TwoFaced,
            Self::Wrong => Kind::Wrong,
            Self::Cancel { .. } => Kind::Cancel,
            Self::Flood { .. } => Kind::Flood,
            Self::Replay { .. } => Kind::Replay,
            Self::Delay { .. } => Kind::Delay,
            Self::Twins { .. } => Kind::Twins,
            Self::Forget { .. } => Kind::Forget,
        }
    }
}

/// What parties send each other, as far as a vice looks into it.
pub(crate) trait Mail<S: Scheme>: Clone + 'static {
    /// What a beacon says to others.
    fn beacon(&self) -> Option<&::prefinal_beacon::Message<S>>;

    /// The epoch that it is of.
    fn epoch(&self) -> EpochId;

    /// A beacon's message; `None` if there are no beacons.
    fn from_beacon(epoch: EpochId, message: ::prefinal_beacon::Message<S>) -> Option<Self>;

    /// Something for the engine that says nothing; `None` if the engine listens to nobody.
    fn junk(epoch: EpochId, dice: &mut Dice) -> Option<Self>;
}

/// Messages of an engine that whole validators run in a campaign.
pub(crate) trait Junk: Clone + 'static {
    /// One that says nothing.
    fn junk(dice: &mut Dice) -> Option<Self>;
}

impl Junk for prefinal_jolteon::Message {
    fn junk(dice: &mut Dice) -> Option<Self> {
        Jolteon::junk(dice)
    }
}

impl Junk for prefinal_malachite::Message {
    fn junk(dice: &mut Dice) -> Option<Self> {
        Malachite::junk(dice)
    }
}

impl Junk for prefinal_dispel::Message {
    fn junk(dice: &mut Dice) -> Option<Self> {
        Dispel::junk(dice)
    }
}

impl Junk for prefinal_trantor::Message {
    fn junk(dice: &mut Dice) -> Option<Self> {
        Trantor::junk(dice)
    }
}

impl<S: KeyedScheme, T: Junk> Mail<S> for Arc<Message<S, T>> {
    fn beacon(&self) -> Option<&::prefinal_beacon::Message<S>> {
        match &**self {
            Message::Beacon(_, message) => Some(message),
            Message::Engine(..)
            | Message::Beside(_)
            | Message::Ask { .. }
            | Message::Final { .. } => None,
        }
    }

    fn epoch(&self) -> EpochId {
        match **self {
            Message::Beacon(epoch, _) | Message::Engine(epoch, _) => epoch,
            Message::Beside(_) | Message::Ask { .. } | Message::Final { .. } => FIRST,
        }
    }

    fn from_beacon(epoch: EpochId, message: ::prefinal_beacon::Message<S>) -> Option<Self> {
        Some(Self::new(Message::Beacon(epoch, message)))
    }

    fn junk(epoch: EpochId, dice: &mut Dice) -> Option<Self> {
        T::junk(dice).map(|message| Self::new(Message::Engine(epoch, message)))
    }
}

/// One vice of one seat.
pub(crate) struct Sinner<S: Forge, M> {
    vice: Vice,
    tally: Rc<RefCell<Tally>>,
    /// The last partial of each path, with its slot and what else is in its input.
    own: BTreeMap<Path, (Slot, Option<Value>, S::Partial)>,
    sent: VecDeque<M>,
    /// Of what left last.
    epoch: EpochId,
    due: Instant,
}

impl<S: Forge, M: Mail<S>> Sinner<S, M> {
    pub(crate) fn new(vice: Vice, tally: &Rc<RefCell<Tally>>) -> Self {
        let due = Instant::at(PERIOD);
        let (own, sent) = (BTreeMap::new(), VecDeque::new());
        Self { vice, tally: Rc::clone(tally), own, sent, epoch: FIRST, due }
    }

    fn count(&self, times: u64) {
        self.tally.borrow_mut().add(self.vice.kind(), times);
    }

    /// A partial that is not this party's of this slot and path.
    fn wrong(&self, scene: &mut Scene<'_>, path: Path, slot: Slot, own: &S::Partial) -> S::Partial {
        let other = if path == Path::Fast { Path::Slow } else { Path::Fast };
        let stale = self.own.get(&path).filter(|(last, ..)| *last != slot);
        let crossed = self.own.get(&other);
        let instead = match scene.dice.below(3) {
            0 => stale.map(|(.., partial)| partial.clone()),
            1 => crossed.map(|(.., partial)| partial.clone()),
            _ => None,
        };
        instead.unwrap_or_else(|| S::shifted(own, 1 + scene.dice.below(1000), true))
    }

    /// What leaves in place of a partial.
    fn partials(
        &self,
        scene: &mut Scene<'_>,
        to: Seat,
        (path, slot, own): (Path, Slot, &S::Partial),
    ) -> Vec<S::Partial> {
        match &self.vice {
            Vice::TwoFaced { to: fooled, both } if fooled.contains(&to) => {
                let wrong = self.wrong(scene, path, slot, own);
                if *both { vec![own.clone(), wrong] } else { vec![wrong] }
            }
            Vice::Wrong => vec![self.wrong(scene, path, slot, own)],
            // By the slot alone, so that the sum over the accomplices is what it should be.
            Vice::Cancel { adds } => vec![S::shifted(own, 1 + slot.get(), *adds)],
            _ => vec![own.clone()],
        }
    }

    fn flood(&self, scene: &mut Scene<'_>, leaves: &mut Vec<Letter<M>>) {
        let mut messages: Vec<M> = M::junk(self.epoch, scene.dice).into_iter().collect();
        for (path, (last, value, partial)) in &self.own {
            for _ in 0..8 {
                // Inside of the window, behind it, and past.
                let slot = match scene.dice.below(3) {
                    0 => last.after(scene.dice.below(64)),
                    1 => last.after(scene.dice.below(1 << 20)),
                    _ => Slot::new(scene.dice.below(last.get() + 1)),
                };
                let (path, partial) = (*path, partial.clone());
                let (value, request) = (*value, ::prefinal_beacon::Message::Request { slot });
                let message = ::prefinal_beacon::Message::Partial { path, slot, value, partial };
                let both = [message, request].map(|one| M::from_beacon(self.epoch, one));
                messages.extend(both.into_iter().flatten());
            }
        }
        for message in messages {
            for to in (0..scene.seats).map(Seat::new).filter(|to| *to != scene.seat) {
                self.count(1);
                let message = message.clone();
                leaves.push(Letter { to, message, delay: Duration::ZERO });
            }
        }
    }

    fn replay(&self, scene: &mut Scene<'_>, leaves: &mut Vec<Letter<M>>) {
        let most = u64::try_from(self.sent.len()).unwrap_or(0);
        for _ in 0..most.min(16) {
            let place = usize::try_from(scene.dice.below(most)).unwrap_or(0);
            let to = Seat::new(u32::try_from(scene.dice.below(scene.seats.into())).unwrap_or(0));
            if let Some(message) = self.sent.get(place).filter(|_| to != scene.seat) {
                self.count(1);
                leaves.push(Letter { to, message: message.clone(), delay: Duration::ZERO });
            }
        }
    }

    /// What is done about any letter; `None` if it does not leave.
    fn pass(&self, scene: &mut Scene<'_>, mut letter: Letter<M>) -> Option<Letter<M>> {
        let beacon = letter.message.beacon();
        let partial = matches!(beacon, Some(::prefinal_beacon::Message::Partial { .. }));
        let dropped = match &self.vice {
            Vice::Mute { from } => scene.now >= *from,
            Vice::Withhold { from, all } => from.contains(&letter.to) && (*all || partial),
            Vice::Twins { side } => !side.contains(&letter.to),
            _ => false,
        };
        if dropped {
            self.count(1);
            return None;
        }
        if let Vice::Delay { most } = &self.vice
            && scene.dice.happens(Chance::percent(50))
        {
            self.count(1);
            letter.delay += scene.dice.duration(*most / 2, *most);
        }
        Some(letter)
    }
}

impl<S: Forge, M: Mail<S>> Rule<M> for Sinner<S, M> {
    fn outgoing(&mut self, scene: &mut Scene<'_>, letter: Letter<M>, leaves: &mut Vec<Letter<M>>) {
        if self.sent.len() >= REMEMBERED {
            self.sent.pop_front();
        }
        if matches!(self.vice, Vice::Replay { .. }) {
            self.sent.push_back(letter.message.clone());
        }
        self.epoch = letter.message.epoch();
        let Some(letter) = self.pass(scene, letter) else { return };
        let Some(::prefinal_beacon::Message::Partial { path, slot, value, partial }) =
            letter.message.beacon()
        else {
            return leaves.push(letter);
        };
        let (path, slot, value) = (*path, *slot, *value);
        let told = self.partials(scene, letter.to, (path, slot, partial));
        if told.as_slice() != std::slice::from_ref(partial) {
            self.count(1);
        }
        self.own.insert(path, (slot, value, partial.clone()));
        for partial in told {
            let message = ::prefinal_beacon::Message::Partial { path, slot, value, partial };
            let message = M::from_beacon(self.epoch, message);
            leaves.extend(message.map(|message| Letter { message, ..letter.clone() }));
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        match self.vice {
            Vice::Flood { until } | Vice::Replay { until } => {
                Some(self.due).filter(|due| *due < until)
            }
            _ => None,
        }
    }

    fn wake(&mut self, scene: &mut Scene<'_>, leaves: &mut Vec<Letter<M>>) {
        self.due = self.due + PERIOD;
        match self.vice {
            Vice::Flood { .. } => self.flood(scene, leaves),
            Vice::Replay { .. } => self.replay(scene, leaves),
            _ => {}
        }
    }
}
