//! The keys and engines with which an execution in the arena is played.

use crate::priced::Priced;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::prefinal_beacon::contract::Rule;
use ::prefinal_beacon::{Binding, Limits};
use prefinal_crypto_core::access::Party;
use prefinal_engine::Pace;

use super::account::Account;
use super::arena::{Arena, Start};
use super::board::{Board, KEYS, Layout};
use super::corrupt::{Committees, Conspiracy, Corruptible, members};
use super::draw::Draw;
use super::execution::{Bounds, ExecutionReport, ROUND, Stage};
use super::forge::Forge;
use super::hand::Hand;
use super::ideal::Ideal;
use super::member::Terms;
use super::permissive::{Permissive, Style, World};
use super::{EngineName, Signatures};
use crate::committee::Subject;
use crate::failure::Failure;
use crate::known::CheckedPartials;
use crate::lives::Lives;
use crate::local::Imperfections;
use crate::seating::Seating;
use prefinal_engine::{Engine, PastVotes};
use prefinal_registry::NamedEngine;
use prefinal_validator::setup::{self, FIRST, Identity, Setup};

/// Between two proposals. No archive stands behind these beacons, so nobody may be away for more slots than they
/// answer for.
pub(super) const REST: Duration = Duration::from_millis(40);
/// Time for an engine whose rounds have grown long, and for a beacon that asks again and again.
const BOUNDS: Bounds = Bounds { patience: Duration::from_secs(120), events: 500_000 };

/// A committee whose keys were dealt.
pub(super) struct Table<S: Forge> {
    setup: Arc<Setup>,
    identities: Arc<[Arc<Identity>]>,
    hand: Arc<Hand<S>>,
    bounds: Bounds,
}

/// What an execution is drawn to be, beside its script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Game {
    pub(super) seed: u64,
    pub(super) engine: EngineName,
    pub(super) signatures: Signatures,
    /// What is left out of the contract.
    pub(super) without: Option<Rule>,
}

/// Who plays an execution.
pub(super) struct Cast<E: Corruptible> {
    pub(super) start: Start<E>,
    /// The adversary of the permissive engine.
    pub(super) world: Option<Arc<Mutex<World>>>,
    /// What faulty parties do with the engine's messages, if it is not drawn.
    pub(super) vices: Option<Vec<E::Vice>>,
    pub(super) signatures: Signatures,
}

impl Table<Ideal> {
    /// Tokens for everybody.
    pub(super) fn ideal(layout: &Layout) -> Result<Self, Failure> {
        let (setup, identities) = setup::found(&layout.plan, KEYS).map_err(Failure::bad_input)?;
        let hand = <Ideal>::hand(&layout.plan, layout.algorithm);
        Ok(Self::new(&setup, identities.into_iter().map(Arc::new), hand))
    }
}

impl<S: Forge + Priced> Table<S> {
    /// What a key generation gave.
    pub(super) fn of_board<E: Subject>(board: &Board<S, E>) -> Result<Self, Failure> {
        let identities = board.ground.identities().iter().cloned();
        Ok(Self::new(board.ground.setup(), identities, Hand::of_board(board)?))
    }
}

impl<S: Forge> Table<S> {
    fn new(setup: &Setup, identities: impl Iterator<Item = Arc<Identity>>, hand: Hand<S>) -> Self {
        let pace = Pace { pause: REST, ..Pace::NONE };
        let setup = Setup { timeout: ROUND, pace, ..setup.clone() };
        Self {
            setup: Arc::new(setup),
            identities: identities.collect(),
            hand: Arc::new(hand),
            bounds: BOUNDS,
        }
    }

    fn stakes(&self) -> Vec<u128> {
        self.setup.members.iter().map(|member| member.stake.get()).collect()
    }

    /// The same, for executions that are known to come to their end soon.
    #[cfg(test)]
    pub(super) fn impatient(self, patience: Duration) -> Self {
        Self { bounds: Bounds { patience, ..self.bounds }, ..self }
    }

    /// Starts an engine behind its records, as a validator does.
    fn start<E: NamedEngine>(&self) -> Start<E> {
        let (setup, identities) = (Arc::clone(&self.setup), Arc::clone(&self.identities));
        Box::new(move |party: Party, records| {
            let identity = identities.get(party.index());
            let identity = identity.ok_or_else(|| format!("{party} is nobody"))?;
            E::begin(&setup, identity, records).map_err(|error| error.to_string())
        })
    }

    /// Engines that are started as validators start them, and vices that are drawn.
    pub(super) fn cast<E: NamedEngine + Corruptible>(&self, signatures: Signatures) -> Cast<E> {
        Cast { start: self.start(), world: None, vices: None, signatures }
    }

    pub(super) fn terms<E: Engine>(
        &self,
        binding: Binding,
        declared: Option<u32>,
        without: Option<Rule>,
    ) -> Result<Terms, Failure> {
        let finality = self.setup.finality(E::QUORUM).map_err(Failure::bad_input)?;
        let (context, limits) = (self.setup.context, Limits::default());
        Ok(Terms { context, binding, declared, finality, without, limits })
    }

    /// Plays one execution. `values` says whether the keys are for inputs that have values.
    pub(super) fn play(
        &self,
        game: Game,
        draw: &Draw,
        values: bool,
    ) -> Result<ExecutionReport, Failure> {
        let Game { seed, engine, signatures, without } = game;
        match engine {
            EngineName::Listed(name) => prefinal_registry::engine_type!(name, E => {
                let terms = self.terms::<E>(Binding::Slot, E::FAST_ATTEMPT, without)?;
                self.play_on::<E>(seed, draw, terms, self.cast(signatures))
            }),
            EngineName::Replica | EngineName::Pipeline | EngineName::Sync => {
                Err(Failure::bad_input(format_args!("{engine}: it is played by itself")))
            }
            EngineName::Permissive => {
                let mut style = Style::draw(seed);
                if !values {
                    style.binding = Binding::Slot;
                }
                let world = World::new(style, seed, self.stakes(), &draw.faulty());
                let world = Arc::new(Mutex::new(world));
                let terms = self.terms::<Permissive>(style.binding, style.declared(), without)?;
                let told = Arc::clone(&world);
                let start: Start<Permissive> = Box::new(move |party, _| {
                    Ok((Permissive::new(party, &told), PastVotes::default()))
                });
                let cast = Cast { start, world: Some(world), vices: None, signatures };
                self.play_on::<Permissive>(seed, draw, terms, cast)
            }
        }
    }

    pub(super) fn play_on<E: Corruptible>(
        &self,
        seed: u64,
        draw: &Draw,
        terms: Terms,
        cast: Cast<E>,
    ) -> Result<ExecutionReport, Failure> {
        let blocks = E::naming(&self.setup).ok_or_else(|| Failure::bad_input("no committee"))?;
        let parties = (0..).map(Party::new).take(self.setup.members.len());
        let seating = Seating::new(parties.chain(draw.twins()));
        let conspiracy = Conspiracy::<E>::new(
            (seed, draw),
            &self.identities,
            seating.clone(),
            Committees::of(vec![members(&self.setup)]),
            cast.vices,
        );
        let told = Rc::clone(&conspiracy);
        let mut memo = E::Memo::default();
        if cast.signatures == Signatures::Seen {
            E::trust_seen(&mut memo);
        }
        let host = Arena::<E, S> {
            terms: terms.clone(),
            hand: Arc::clone(&self.hand),
            start: cast.start,
            seating,
            faulty: draw.faulty().into_iter().collect(),
            blocks,
            world: cast.world,
            memo,
            known: CheckedPartials::default(),
            broken: None,
            lives: Lives::default(),
            ear: Box::new(move |at, from, message| told.hear(at, from, (FIRST, message))),
        };
        let mut stage = Stage::new(seed, draw, host, self.bounds)?;
        stage.corrupt_engines(|party, tally| E::rules(&conspiracy, party, tally))?;
        if E::LOADED {
            stage.load().map_err(Failure::bad_input)?;
        }
        let lives = stage.run();
        let host = stage.simulation.host();
        let account = Account {
            terms: &terms,
            hand: &self.hand,
            stakes: self.stakes(),
            faulty: stage.faulty(),
            crashed: stage.simulation.crashed().map(|seat| host.seating.party(seat)).collect(),
            imperfections: Imperfections::of_campaign(stage.simulation.network()),
            orders_once: E::ORDERS_ONCE,
            parties: &|seat| host.seating.party(seat),
            notes: stage.simulation.notes(),
        };
        // What went wrong before may be why nothing goes on.
        let outcome = account.check().and_then(|summary| lives.map(|()| summary));
        Ok(stage.played(outcome))
    }
}

#[cfg(test)]
mod tests {
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::super::arena::Observation;
    use super::*;
    use crate::check::{Summary, Violation};
    use crate::finality::{Ballot, FinalityVote};
    use crate::legible::Act;
    use ::prefinal_beacon::{Path, Slot, Value, View};
    use prefinal_protocol::Instant;
    use prefinal_sim::{Note, Seat};
    use prefinal_validator::setup::Algorithm;

    const SLOT: Slot = Slot::new(1);
    const A: Value = Value::new([1; 32]);
    const B: Value = Value::new([2; 32]);

    /// What a party does at a time in milliseconds.
    fn note(party: u32, at: u64, event: Observation<Ideal>) -> Note<Observation<Ideal>> {
        let at = Instant::at(Duration::from_millis(at));
        Note { at, left: at, seat: Seat::new(party), event }
    }

    fn voted(value: Value) -> Observation<Ideal> {
        let cast = FinalityVote { view: View::new(SLOT, 0), value, implied: Vec::new() };
        Observation::Act(Act::Ballot(Ballot::Cast(cast)))
    }

    /// The global times in these notes of four equal parties with tight thresholds.
    fn times(
        binding: Binding,
        declared: Option<u32>,
        notes: &[Note<Observation<Ideal>>],
    ) -> Result<(), String> {
        let stakes = vec![Stake::new(1); 4];
        let layout = Layout::new(stakes, Algorithm::Tight, Ratio::FIVE_SIXTHS).unwrap();
        let table = Table::ideal(&layout).unwrap();
        let account = Account {
            terms: &table.terms::<Permissive>(binding, declared, None).unwrap(),
            hand: &table.hand,
            stakes: table.stakes(),
            faulty: &[].into(),
            crashed: [].into(),
            imperfections: Imperfections::default(),
            orders_once: false,
            parties: &|seat| Party::new(seat.get()),
            notes,
        };
        account.check_times().map_err(|violation| violation.to_string())
    }

    #[test]
    fn a_partial_that_leaves_behind_the_vote_is_late() {
        let released = || Observation::Released(Path::Tight, SLOT, None);
        let votes_and_partials = |later| {
            let pairs = (0..4).zip([10, 20, 30, 40]);
            let notes = pairs.flat_map(|(party, at)| {
                [note(party, at, voted(A)), note(party, at + later, released())]
            });
            notes.collect::<Vec<_>>()
        };
        assert_eq!(times(Binding::Slot, Some(0), &votes_and_partials(0)), Ok(()));
        let late = times(Binding::Slot, Some(0), &votes_and_partials(1)).unwrap_err();
        assert!(late.contains("Theorem 5.2"), "{late}");
        // An engine that cannot tell its view waits for finality, with all partials.
        assert_eq!(times(Binding::Slot, None, &votes_and_partials(0)[..5]), Ok(()));
        let told = (0..4).map(|party| note(party, 50, Observation::Finalized(SLOT, Some(A))));
        let told = told.chain((0..4).map(|party| note(party, 50, released())));
        let votes = (0..4).map(|party| note(party, 40, voted(A)));
        let slow: Vec<_> = votes.chain(told).collect();
        assert_eq!(times(Binding::Slot, None, &slow), Ok(()));
        assert!(times(Binding::Slot, Some(0), &slow).is_err());
    }

    #[test]
    fn partials_for_another_value_do_not_add_up_to_the_slots() {
        let released = |value| Observation::Released(Path::Tight, SLOT, Some(value));
        let votes = [(0, 10, A), (1, 20, B), (2, 30, B), (3, 40, B)];
        let mut notes: Vec<_> = (votes.into_iter())
            .flat_map(|(party, at, value)| {
                [note(party, at, voted(value)), note(party, at, released(value))]
            })
            .collect();
        notes.push(note(1, 50, Observation::Finalized(SLOT, Some(B))));
        // One that is skipped has no partials.
        let skipped = |(party, at)| note(party, at, Observation::Finalized(SLOT.next(), None));
        notes.extend((0..).zip([60, 70, 80, 90]).map(skipped));
        assert_eq!(times(Binding::Value, Some(0), &notes), Ok(()));
        assert!(times(Binding::Slot, Some(0), &notes).is_err());
    }

    #[test]
    fn an_execution_that_cannot_end_is_a_violation() {
        let stakes = vec![Stake::new(1); 4];
        let layout = Layout::new(stakes.clone(), Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        let mut table = Table::ideal(&layout).unwrap();
        let draw = Draw::new(1, &[super::super::draw::Stakes::from(&*stakes)]);
        let (engine, signatures) = (EngineName::Permissive, Signatures::Seen);
        let game = Game { seed: 1, engine, signatures, without: None };
        let play = |table: &Table<Ideal>| -> Result<Summary, Violation> {
            table.play(game, &draw, true).unwrap().outcome
        };
        assert!(play(&table).is_ok());
        for bounds in
            [Bounds { patience: Duration::ZERO, ..BOUNDS }, Bounds { events: 500, ..BOUNDS }]
        {
            table.bounds = bounds;
            let violation = play(&table).unwrap_err();
            assert!(matches!(violation, Violation::Liveness(_)), "{bounds:?}: {violation}");
        }
    }
}
