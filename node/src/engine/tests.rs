//! What an engine declares as its quorum is what it counts.
//!
//! Members of exactly the declared stake, the others silent, finalize a block; members of one unit less
//! never do, however long they try. All subsets of uneven committees that hold one of the two are played.
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use ::jolteon::Jolteon;
use ::malachite::Malachite;
use crypto_core::access::Party;
use protocol::{Instant, Recipient};
use weighted_rounding::{Ratio, Stake};

use super::{Effect, Engine, Input, Listed, Work};
use crate::setup::{Algorithm, Identity, Plan, Setup, found};

/// At the boundary, exactly two thirds are too few; some hold next to nothing, one nearly everything.
const COMMITTEES: [&[u128]; 6] = [
    &[1, 1, 1, 1],
    &[3, 1, 1, 1],
    &[34, 33, 32, 1],
    &[5, 4, 3, 2, 1],
    &[50, 16, 17, 16, 1],
    &[1 << 60, 1 << 60, (1 << 60) - 1, 1],
];

/// Twenty times the time after which a round is given up.
const LONG: Duration = Duration::from_secs(40);

/// Members that can reach each other at once.
struct Island<E: Engine> {
    engines: BTreeMap<Party, E>,
    waiting: VecDeque<(Party, Input<E>)>,
    now: Instant,
    finalized: bool,
}

impl<E: Listed> Island<E> {
    fn new((setup, identities): &(Setup, Vec<Identity>), members: &[usize]) -> Self {
        let engine = |at: &usize| {
            let identity = &identities[*at];
            (identity.me, E::begin(setup, identity, Vec::new()).map(|(engine, _)| engine).unwrap())
        };
        let engines: BTreeMap<Party, E> = members.iter().map(engine).collect();
        let waiting = engines.keys().map(|party| (*party, Input::Start)).collect();
        Self { engines, waiting, now: Instant::START, finalized: false }
    }

    /// Whether anybody finalizes a block in a long time.
    fn finalizes(mut self) -> bool {
        let end = Instant::START + LONG;
        while !self.finalized && self.now <= end {
            while !self.finalized
                && let Some((party, input)) = self.waiting.pop_front()
            {
                self.handle(party, input);
            }
            let next = self.engines.values().filter_map(Engine::wake_at).min();
            // What is not done by its time is done a little later.
            let Some(next) = next else { break };
            self.now = next.max(self.now + Duration::from_millis(1));
            let due = self
                .engines
                .iter()
                .filter(|(_, engine)| engine.wake_at().is_some_and(|at| at <= self.now));
            self.waiting.extend(due.map(|(party, _)| (*party, Input::Tick)));
        }
        self.finalized
    }

    fn handle(&mut self, me: Party, input: Input<E>) {
        let peers: Vec<Party> = self.engines.keys().copied().filter(|to| *to != me).collect();
        let Some(engine) = self.engines.get_mut(&me) else { return };
        engine.handle(self.now, input);
        while let Some(output) = engine.poll() {
            match output.effect() {
                Some(Effect::Send { to: Recipient::One(to), message }) => {
                    self.waiting.push_back((to, Input::Received { from: me, message }));
                }
                Some(Effect::Send { to: Recipient::All, message }) => {
                    let to_all = peers.iter().map(|to| (*to, message.clone()));
                    self.waiting.extend(
                        to_all.map(|(to, message)| (to, Input::Received { from: me, message })),
                    );
                }
                Some(Effect::Run(job)) => self.waiting.push_back((me, Input::Checked(job.run()))),
                Some(Effect::Finalized { block: Some(_), .. }) => self.finalized = true,
                Some(Effect::Accused { party, fault }) => panic!("{me} accuses {party}: {fault}"),
                _ => {}
            }
        }
    }
}

/// Every subset that holds exactly so much.
fn holding(stakes: &[u128], need: u128) -> Vec<Vec<usize>> {
    let members = |mask: u32| (0..stakes.len()).filter(move |at| mask >> at & 1 == 1);
    let held = |mask: &u32| members(*mask).map(|at| stakes[at]).sum::<u128>() == need;
    (1..1_u32 << stakes.len()).filter(held).map(|mask| members(mask).collect()).collect()
}

fn counts_what_it_declares<E: Listed>() {
    for stakes in COMMITTEES {
        let table: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
        let total = Stake::new(stakes.iter().sum());
        let quorum = E::QUORUM.of(total).get();
        // What may be faulty is what the others can do without.
        assert_eq!(E::QUORUM.faulty(total).get(), total.get() - quorum, "{stakes:?}");
        let plan = Plan::new(table, Algorithm::Slow, Ratio::ONE).unwrap();
        let committee = found(&plan, 1).unwrap();
        for (need, enough) in [(quorum, true), (quorum - 1, false)] {
            let sets = holding(stakes, need);
            assert!(!sets.is_empty(), "nobody holds {need} of {stakes:?}");
            for members in sets {
                let finalizes = Island::<E>::new(&committee, &members).finalizes();
                assert_eq!(finalizes, enough, "{members:?} of {stakes:?} hold {need}");
            }
        }
    }
}

#[test]
fn jolteon_counts_the_quorum_that_it_declares() {
    counts_what_it_declares::<Jolteon>();
}

#[test]
fn malachite_counts_the_quorum_that_it_declares() {
    counts_what_it_declares::<Malachite>();
}
