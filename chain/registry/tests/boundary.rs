//! A party that is behind when the others leave an epoch's engine.
//!
//! Three of four equal parties finish slot `b − 1`. The fourth was cut off before, and hears them again from
//! then on. If the others fall quiet, their engines' answers are not enough: Jolteon shows a party the last
//! certificate, but not the votes that made its block final, and Malachite asks only parties that it has
//! heard to be ahead. The peers' answers about final slots ([`Vouchers`]) are enough.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Recipient, Slot};
use prefinal_weighted_rounding::{Ratio, Stake};

use prefinal_engine::{Block, Effect, Input, Pace, Work};
use prefinal_validator::setup::{Algorithm, Plan, found};
use prefinal_validator::term::Term;
use prefinal_validator::vouch::{Committee, Vouchers};

use prefinal_registry::{Jolteon, Malachite, NamedEngine};

const LAGGARD: Party = Party::new(3);
/// The first slot of the next epoch.
const BOUNDARY: Slot = Slot::new(11);
/// Twenty times the time after which a round is given up.
const LONG: Duration = Duration::from_secs(40);

/// What the others do once all slots before the boundary are final to them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parks {
    Never,
    /// They ignore what their engines say of later slots.
    Ended,
    /// And do not vote any more.
    Quiet,
}

struct Island<E: NamedEngine> {
    terms: BTreeMap<Party, Term<E>>,
    waiting: VecDeque<(Party, Input<E>)>,
    now: Instant,
    last: BTreeMap<Party, Slot>,
    /// What the others know to be final.
    blocks: BTreeMap<(Party, Slot), Option<Block>>,
    parks: Parks,
    /// Behind which slot the laggard hears nothing.
    cut: Slot,
}

impl<E: NamedEngine> Island<E> {
    fn new(cut: u64, parks: Parks) -> Self {
        let plan = Plan::new(vec![Stake::new(1); 4], Algorithm::Slow, Ratio::ONE).unwrap();
        let (mut setup, identities) = found(&plan, 1).unwrap();
        setup.pace = Pace { pause: Duration::from_millis(50), ..Pace::NONE };
        let term = |identity: &prefinal_validator::setup::Identity| {
            let (engine, _) = E::begin(&setup, identity, Vec::new()).unwrap();
            (identity.me, Term::new(engine, Slot::new(1)))
        };
        let terms: BTreeMap<_, _> = identities.iter().map(term).collect();
        let waiting = terms.keys().map(|party| (*party, Input::Start)).collect();
        let last = terms.keys().map(|party| (*party, Slot::new(0))).collect();
        Self {
            terms,
            waiting,
            now: Instant::START,
            last,
            blocks: BTreeMap::new(),
            parks,
            cut: Slot::new(cut),
        }
    }

    fn others_are_over(&self) -> bool {
        let mut others = self.last.iter().filter(|(party, _)| **party != LAGGARD);
        others.all(|(_, last)| last.next() >= BOUNDARY)
    }

    fn hears(&self, to: Party) -> bool {
        let far = self.last.values().max().is_some_and(|last| *last >= self.cut);
        to != LAGGARD || !far || self.others_are_over()
    }

    /// The last slot that the laggard knows to be final, a long time later.
    fn laggard(mut self) -> u64 {
        self.run();
        self.last[&LAGGARD].get()
    }

    fn run(&mut self) {
        let mut end = None;
        while end.is_none_or(|end| self.now <= end) {
            while let Some((party, input)) = self.waiting.pop_front() {
                self.handle(party, input);
            }
            if self.others_are_over() && end.is_none() {
                end = Some(self.now + LONG);
            }
            if self.last[&LAGGARD].next() >= BOUNDARY {
                break;
            }
            let next = self.terms.values().filter_map(Term::wake_at).min();
            let Some(next) = next else { break };
            self.now = next.max(self.now + Duration::from_millis(1));
            let due = self
                .terms
                .iter()
                .filter(|(_, term)| term.wake_at().is_some_and(|at| at <= self.now));
            self.waiting.extend(due.map(|(party, _)| (*party, Input::Tick)));
        }
    }

    fn post(&mut self, from: Party, to: Party, message: E::Message) {
        // A laggard that is cut off is not heard either.
        if self.hears(to) && self.hears(from) {
            self.waiting.push_back((to, Input::Received { from, message }));
        }
    }

    fn handle(&mut self, me: Party, input: Input<E>) {
        let peers: Vec<Party> = self.terms.keys().copied().filter(|to| *to != me).collect();
        let now = self.now;
        self.terms.get_mut(&me).unwrap().handle(now, input);
        while let Some(output) = self.terms.get_mut(&me).unwrap().poll() {
            match output.effect() {
                Some(Effect::Send { to: Recipient::One(to), message }) => {
                    self.post(me, to, message)
                }
                Some(Effect::Send { to: Recipient::All, message }) => {
                    peers.iter().for_each(|to| self.post(me, *to, message.clone()));
                }
                Some(Effect::Run(job)) => self.waiting.push_back((me, Input::Checked(job.run()))),
                Some(Effect::Finalized { slot, block }) => {
                    self.last.insert(me, slot);
                    self.blocks.insert((me, slot), block);
                    if self.parks != Parks::Never && slot.next() == BOUNDARY {
                        let term = self.terms.get_mut(&me).unwrap();
                        term.end(BOUNDARY);
                        if self.parks == Parks::Quiet {
                            term.quieten();
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

fn reaches<E: NamedEngine>(parks: Parks) -> Vec<u64> {
    (1..=10).map(|cut| Island::<E>::new(cut, parks).laggard()).collect()
}

/// Whether it gets to the boundary from what it has, by what its peers say.
fn is_told<E: NamedEngine>(cut: u64) -> bool {
    let mut island = Island::<E>::new(cut, Parks::Quiet);
    island.run();
    let committee = Committee::new(vec![Stake::new(1); 4], E::QUORUM);
    let mut peers = Vouchers::new(committee, island.last[&LAGGARD].next());
    while peers.next() < BOUNDARY {
        let slot = peers.next();
        let said = |party: u32| {
            let party = Party::new(party);
            peers.take(party, slot, island.blocks.get(&(party, slot))?.clone())
        };
        if (0..3).find_map(said).is_none() {
            return false;
        }
    }
    true
}

#[test]
fn engines_that_run_on_take_it_along() {
    let all = [reaches::<Jolteon>(Parks::Never), reaches::<Malachite>(Parks::Never)].concat();
    assert!(all.iter().all(|last| *last >= 10), "{all:?}");
}

/// Nobody who voted for the last slot may leave before enough others know it.
#[test]
fn engines_that_have_ended_take_it_along() {
    let all = [reaches::<Jolteon>(Parks::Ended), reaches::<Malachite>(Parks::Ended)].concat();
    assert!(all.iter().all(|last| *last >= 10), "{all:?}");
}

#[test]
fn what_quiet_engines_answer_is_not_enough() {
    // All slots but the last, or none.
    assert_eq!(reaches::<Jolteon>(Parks::Quiet), [9, 9, 9, 9, 9, 9, 9, 9, 9, 10]);
    assert_eq!(reaches::<Malachite>(Parks::Quiet), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn what_peers_say_is_enough() {
    assert!((1..=10).all(is_told::<Jolteon>));
    assert!((1..=10).all(is_told::<Malachite>));
}
