//! What faulty parties do with the messages of their engine: rules that know the engine and its keys.
//!
//! They are drawn apart from the script, so that an execution has the same script with every engine.
//! Faulty parties act together: they share their keys, and what each of them has heard.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;

use ::prefinal_beacon::Scheme;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::PublicKey;
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_crypto_core::verified::Verified;
use prefinal_engine::{Engine, Member};
use prefinal_jolteon::Jolteon;
use prefinal_malachite::Malachite;
use prefinal_protocol::Instant;
use prefinal_sim::rule::Rule;
use prefinal_sim::{Dice, Seat};
use prefinal_validator::Message;
use prefinal_validator::scheme::KeyedScheme;
use prefinal_validator::setup::{FIRST, Identity, Setup};

use super::draw::Draw;
use super::member::Post;
use super::permissive::Permissive;
use super::tally::Tally;
use crate::legible::ReadableEngine;
use crate::seating::Seating;

/// A message between parties that may hold one of the engine's.
pub(super) trait Envelope<T>: Clone + 'static {
    /// The engine's message, and the epoch that it is of.
    fn engine(&self) -> Option<(EpochId, &T)>;

    /// A message of the engine.
    fn of_engine(epoch: EpochId, message: T) -> Self;
}

impl<E: Engine, S: Scheme> Envelope<E::Message> for Arc<Post<E, S>> {
    fn engine(&self) -> Option<(EpochId, &E::Message)> {
        match &**self {
            Post::Engine(message) => Some((FIRST, message)),
            Post::Beacon(_) => None,
        }
    }

    fn of_engine(_: EpochId, message: E::Message) -> Self {
        Self::new(Post::Engine(message))
    }
}

impl<S: KeyedScheme, T: 'static> Envelope<T> for Arc<Message<S, T>> {
    fn engine(&self) -> Option<(EpochId, &T)> {
        match &**self {
            Message::Engine(epoch, message) => Some((*epoch, message)),
            Message::Beacon(..)
            | Message::Beside(_)
            | Message::Ask { .. }
            | Message::Final { .. } => None,
        }
    }

    fn of_engine(epoch: EpochId, message: T) -> Self {
        Self::new(Message::Engine(epoch, message))
    }
}

/// A committee: its context, and its members with the stake that they have there.
pub(super) type Members = (Context, Vec<Member<Verified<PublicKey>>>);

/// The committees of an execution, as the engine knows them.
pub(super) struct Committees<E: Corruptible> {
    pub(super) first: EpochId,
    pub(super) all: BTreeMap<EpochId, E::Committee>,
}

impl<E: Corruptible> Committees<E> {
    /// The committees of these members; the first epoch has the first one.
    pub(super) fn of(members: Vec<Members>) -> Self {
        let committees = members.into_iter().filter_map(|(context, members)| {
            Some((context.epoch, E::committee(&context, members)?))
        });
        Self { first: FIRST, all: committees.collect() }
    }
}

/// The faulty parties of an execution, and what they know together.
pub(super) struct Conspiracy<E: Corruptible> {
    pub(super) seed: u64,
    /// The faulty parties with their keys.
    pub(super) faulty: BTreeMap<Party, Arc<Identity>>,
    pub(super) seating: Seating,
    pub(super) committees: Committees<E>,
    pub(super) overheard: RefCell<E::Overheard>,
    /// What each of them does, if it is not drawn.
    pub(super) given: Option<Vec<E::Vice>>,
    pub(super) heals: Instant,
}

impl<E: Corruptible> Conspiracy<E> {
    /// The faulty parties of this script, in these committees. What they do is drawn from the seed, unless
    /// it is given.
    pub(super) fn new(
        (seed, draw): (u64, &Draw),
        identities: &[Arc<Identity>],
        seating: Seating,
        committees: Committees<E>,
        given: Option<Vec<E::Vice>>,
    ) -> Rc<Self> {
        let (faulty, heals) = (draw.faulty(), draw.heals);
        let own = identities.iter().filter(|one| faulty.contains(&one.me));
        Rc::new(Self {
            seed,
            faulty: own.map(|one| (one.me, Arc::clone(one))).collect(),
            seating,
            committees,
            overheard: RefCell::default(),
            given,
            heals,
        })
    }

    /// What a faulty party draws by; `engine` tells its draws from those that others make from the seed.
    pub(super) fn dice(&self, me: Party, engine: u64) -> Dice {
        Dice::new(self.seed ^ u64::from(me.get()).rotate_left(32) ^ engine)
    }

    /// The seats of this party's accomplices and of as few honest parties as are enough with all of them.
    pub(super) fn with_few(
        &self,
        me: Party,
        members: usize,
        dice: &mut Dice,
        are_enough: impl Fn(&[Party]) -> bool,
    ) -> BTreeSet<Seat> {
        let (mut chosen, mut others): (Vec<Party>, Vec<Party>) =
            (0..).map(Party::new).take(members).partition(|party| self.faulty.contains_key(party));
        dice.shuffle(&mut others);
        for party in others {
            if are_enough(&chosen) {
                break;
            }
            chosen.push(party);
        }
        let chosen = chosen.into_iter().filter(|party| *party != me);
        chosen.flat_map(|party| self.seating.seats_of(party)).collect()
    }

    /// Takes note of a message that a faulty party gets from an honest one.
    pub(super) fn hear(&self, at: Party, from: Party, (epoch, message): (EpochId, &E::Message)) {
        if self.faulty.contains_key(&at) && !self.faulty.contains_key(&from) {
            E::overhear(&mut self.overheard.borrow_mut(), from, (epoch, message));
        }
    }
}

/// The committee of a set-up.
pub(super) fn members(setup: &Setup) -> Members {
    (setup.context, setup.members.clone())
}

/// Rules of one seat.
pub(super) type Rules<M> = Vec<Box<dyn Rule<M>>>;

/// An engine whose own messages faulty parties may tamper with.
pub(super) trait Corruptible: ReadableEngine {
    /// What statements of a committee are checked with.
    type Committee;

    /// What faulty parties have heard.
    type Overheard: Default;

    /// Something that a faulty party does with the engine's messages.
    type Vice: Clone;

    /// Whether parties get transactions on the way, because the engine's vices are about them.
    const LOADED: bool = false;

    /// Whether the engine leaves out what a faulty party proposes again, so that no transaction is ordered twice.
    const ORDERS_ONCE: bool = false;

    /// A committee as the engine knows it.
    fn committee(_: &Context, _: Vec<Member<Verified<PublicKey>>>) -> Option<Self::Committee> {
        None
    }

    /// Takes note of an honest party's message.
    fn overhear(_: &mut Self::Overheard, _: Party, _: (EpochId, &Self::Message)) {}

    /// What a faulty party does with the engine's messages: as given, or drawn from the seed.
    fn rules<M: Envelope<Self::Message>>(
        _: &Rc<Conspiracy<Self>>,
        _: Party,
        _: &Rc<RefCell<Tally>>,
    ) -> Rules<M> {
        Rules::new()
    }

    /// A peer's message with this transaction, if the engine passes transactions on.
    fn passed_on(_: Vec<u8>) -> Option<Self::Message> {
        None
    }
}

impl Corruptible for Jolteon {
    type Committee = ();
    type Overheard = ();
    type Vice = Infallible;

    fn passed_on(bytes: Vec<u8>) -> Option<Self::Message> {
        let transactions = vec![prefinal_jolteon::Transaction::new(bytes)];
        Some(prefinal_jolteon::Message::Transactions(transactions))
    }
}

impl Corruptible for Malachite {
    type Committee = ();
    type Overheard = ();
    type Vice = Infallible;
}

impl Corruptible for Permissive {
    type Committee = ();
    type Overheard = ();
    type Vice = Infallible;
}
