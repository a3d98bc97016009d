//! Tendermint: one height, many rounds.
//!
//! | step      | rule                                                                              |
//! |-----------|-----------------------------------------------------------------------------------|
//! | prevote v | not locked, or locked on v, or v comes with a polka of a round at or after the lock  |
//! | precommit v | a polka of this round, which locks v                                             |
//! | decide v  | a quorum of precommits of one round                                              |
//!
//! A polka is a quorum of prevotes for one value in one round. Rounds are attempts at slot 1. A party
//! prefinalizes with a precommit, and gives up the rounds before the one it votes in.
//!
//! After "The latest gossip on BFT consensus" (Buchman, Kwon, Milosevic), algorithm 1. Left out: valid
//! values, which only an honest proposer needs; after stabilisation a party proposes what it is locked
//! on, as it does at least, and one of three leaders in a row must succeed.
use std::fmt;
use std::hash::{Hash, Hasher};

use stateright::{Model, Property};

use crate::desk::{Call, Desk, HONEST, Terms, honest_quorum, name};
use crate::properties::{self, Decision, Engine};

/// Room for rounds: of the bound, and three synchronous ones.
const ROUNDS: usize = 8;

/// Two values.
const VALUES: [u8; 2] = [0, 1];

/// The only slot.
const SLOT: u8 = 1;

/// A fault in the engine, for a model that finds nothing must be asked what it would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Parties vote without regard to their locks.
    NoLock,
    /// Any earlier polka unlocks, also one from before the lock.
    OldPolkaUnlocks,
    /// Two votes are a quorum.
    SmallQuorum,
    /// An honest leader proposes what it is locked on without the polka that shows why.
    NoProofOfLock,
}

/// The engine and its bound.
#[derive(Clone, Copy, Debug)]
pub struct Tendermint {
    /// The contract that parties obey.
    pub terms: Terms,
    /// How many rounds before stabilisation.
    pub rounds: u8,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// What an honest party has said. A vote is 0 if there is none, else the value and one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Validator {
    prevotes: [u8; ROUNDS],
    precommits: [u8; ROUNDS],
    /// Two steps a round; steps before this are over.
    step: u8,
    desk: Desk,
}

/// What the honest parties have said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State([Validator; HONEST]);

/// What an honest party does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Party, round, value.
    Prevote(usize, u8, u8),
    /// Party, round, value.
    Precommit(usize, u8, u8),
    /// A party goes down and comes up.
    Restart(usize),
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut one = self.0;
        let mut two = one.map(Validator::exchanged);
        one.sort_unstable();
        two.sort_unstable();
        one.min(two).hash(hasher);
    }
}

impl Validator {
    fn exchanged(self) -> Self {
        let other = |vote: u8| [0, 2, 1][usize::from(vote)];
        Self {
            prevotes: self.prevotes.map(other),
            precommits: self.precommits.map(other),
            step: self.step,
            desk: self.desk.exchanged(),
        }
    }

    /// Round and value.
    fn lock(&self) -> Option<(u8, u8)> {
        let votes = (0..).zip(self.precommits);
        votes.filter(|(_, vote)| *vote > 0).map(|(round, vote)| (round, vote - 1)).last()
    }
}

impl Tendermint {
    /// The engine as it should be.
    #[must_use]
    pub const fn new(terms: Terms, rounds: u8) -> Self {
        Self { terms, rounds, bug: None }
    }

    fn quorum(&self, honest: usize) -> bool {
        honest >= honest_quorum(self.bug == Some(Bug::SmallQuorum))
    }

    fn polka(&self, state: &State, round: u8, value: u8) -> bool {
        let voted = |party: &&Validator| party.prevotes[usize::from(round)] == value + 1;
        self.quorum(state.0.iter().filter(voted).count())
    }

    /// Whether a party prevotes for this proposal, which comes with the polka of a round or with none.
    fn accepts(&self, party: &Validator, value: u8, proof: Option<u8>) -> bool {
        match (party.lock(), proof) {
            (None, _) => true,
            (Some((_, locked)), _) if locked == value => true,
            (_, _) if self.bug == Some(Bug::NoLock) => true,
            (_, Some(_)) if self.bug == Some(Bug::OldPolkaUnlocks) => true,
            (Some((round, _)), Some(proof)) => round <= proof,
            (Some(_), None) => false,
        }
    }

    fn allows(&self, state: &State, action: Action) -> bool {
        match action {
            Action::Prevote(party, round, value) => {
                let party = &state.0[party];
                let earlier = (0..round).filter(|proof| self.polka(state, *proof, value));
                let mut proofs = earlier.map(Some).chain([None]);
                party.step <= 2 * round && proofs.any(|proof| self.accepts(party, value, proof))
            }
            Action::Precommit(party, round, value) => {
                state.0[party].step <= 2 * round + 1 && self.polka(state, round, value)
            }
            Action::Restart(_) => true,
        }
    }

    fn act(&self, state: &State, action: Action) -> State {
        let mut next = *state;
        let (party, told) = self.told(state, &action);
        let party = &mut next.0[party];
        told.into_iter().for_each(|told| party.desk.told(&self.terms, told));
        match action {
            Action::Prevote(_, round, value) => {
                party.prevotes[usize::from(round)] = value + 1;
                party.step = 2 * round + 1;
            }
            Action::Precommit(_, round, value) => {
                party.precommits[usize::from(round)] = value + 1;
                party.step = 2 * round + 2;
            }
            Action::Restart(_) => {}
        }
        next
    }

    /// One synchronous round under an honest leader who proposes what it is locked on, else what it likes.
    fn round_of(&self, state: &State, round: u8, leader: usize, free: u8) -> Option<State> {
        let lock = state.0[leader].lock();
        let (proof, value) = lock.map_or((None, free), |(round, value)| (Some(round), value));
        let proof = proof.filter(|_| self.bug != Some(Bug::NoProofOfLock));
        if !state.0.iter().all(|party| self.accepts(party, value, proof)) {
            return None;
        }
        let prevotes = (0..HONEST).map(|party| Action::Prevote(party, round, value));
        let precommits = (0..HONEST).map(|party| Action::Precommit(party, round, value));
        prevotes.chain(precommits).try_fold(*state, |state, action| {
            self.allows(&state, action).then(|| self.act(&state, action))
        })
    }
}

impl Model for Tendermint {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for party in 0..HONEST {
            let first = state.0[party].step / 2;
            for round in first..self.rounds {
                let prevotes = VALUES.map(|value| Action::Prevote(party, round, value));
                let precommits = VALUES.map(|value| Action::Precommit(party, round, value));
                let votes = prevotes.into_iter().chain(precommits);
                actions.extend(votes.filter(|action| self.allows(state, *action)));
            }
            actions.push(Action::Restart(party));
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        Some(self.act(state, action)).filter(|next| next != state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Engine for Tendermint {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn desks<'a>(&self, state: &'a State) -> [&'a Desk; HONEST] {
        state.0.each_ref().map(|party| &party.desk)
    }

    fn told(&self, _state: &State, action: &Action) -> (usize, Vec<Call>) {
        // A party that votes in a round has given up those before.
        let left = |round: u8| round.checked_sub(1).map(|before| Call::Abandoned((SLOT, before)));
        match *action {
            Action::Prevote(party, round, _) => (party, left(round).into_iter().collect()),
            Action::Precommit(party, round, value) => {
                let vote = Call::Prefinalized { slot: SLOT, view: (SLOT, round), value };
                (party, left(round).into_iter().chain([vote]).collect())
            }
            Action::Restart(party) => (party, vec![Call::Restarted]),
        }
    }

    fn decisions(&self, state: &State) -> Vec<Decision> {
        let rounds = (0_u8..).take(ROUNDS);
        let cases = rounds.flat_map(|round| VALUES.map(|value| (round, value)));
        let last = cases.filter(|(round, value)| self.quorum(precommits(state, *round, *value)));
        last.map(|(round, value)| Decision { slot: SLOT, value: Some(value), view: (SLOT, round) })
            .collect()
    }

    fn prefinalized(&self, state: &State, _slot: u8, value: u8) -> usize {
        let rounds = (0_u8..).take(ROUNDS);
        rounds.map(|round| precommits(state, round, value)).max().unwrap_or(0)
    }

    fn stabilised(&self, state: &State) -> Option<State> {
        let round = state.0.iter().map(|party| party.step.div_ceil(2)).max()?;
        let ends = VALUES.map(|free| {
            let mut leaders = (round..).zip(0..HONEST);
            leaders.find_map(|(round, leader)| self.round_of(state, round, leader, free))
        });
        // Whatever a leader likes that is not locked.
        let [one, two] = ends;
        one.and(two)
    }

    fn last_slot(&self, _state: &State) -> u8 {
        SLOT
    }
}

fn precommits(state: &State, round: u8, value: u8) -> usize {
    let voted = |party: &&Validator| party.precommits[usize::from(round)] == value + 1;
    state.0.iter().filter(voted).count()
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Prevote(party, round, value) => {
                write!(f, "{} prevotes {} in round {round}", name(party), letter(value))
            }
            Self::Precommit(party, round, value) => {
                write!(f, "{} precommits {} in round {round}", name(party), letter(value))
            }
            Self::Restart(party) => write!(f, "{} restarts", name(party)),
        }
    }
}

fn letter(value: u8) -> char {
    if value == 0 { 'v' } else { 'w' }
}
