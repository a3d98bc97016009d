//! DISPEL: one stage, as the binary consensus on one proposer's batch; the value is the bit.
//!
//! | step      | rule                                                                                 |
//! |-----------|--------------------------------------------------------------------------------------|
//! | propose   | any bit, once                                                                          |
//! | vote      | in each round a set of bits that are justified                                          |
//! | move on   | with the union of a quorum of sets that are justified: the one bit in it, else the round's |
//! | decide    | a quorum of sets with nothing but the round's bit, which is one in odd rounds           |
//! | release   | a quorum proposed the bit, and the own set of its first round (1 for one, 2 for zero) is that bit alone |
//!
//! A bit is justified in a round if an honest party starts the round with it: with the faulty party's estimate that
//! is a weak quorum, all pass it on, and nobody has a reason not to. So estimates that are passed on are in no
//! state. Which sets a party votes for, of all that it may, is left to the coordinator and the time.
//!
//! What an integration might tell the beacon, under a [`Bug`], is when partials leave on less than that.
//!
//! After [DBFT](https://arxiv.org/abs/1702.03068), the safe variant. Left out: that parties stop some rounds after
//! they decided, for silence is the same; other proposers, whose bits do not depend on this one; the batch itself.
use std::fmt;

use stateright::{Model, Property};

use crate::chain;
use crate::desk::{Call, Desk, HONEST, Terms, honest_quorum, name};
use crate::properties::{self, Decision, Engine};

/// Room for rounds: of the bound, and synchronous ones.
const ROUNDS: usize = 6;

/// The name of the property that a bit is decided only if an honest party proposed it.
pub const VALIDITY: &str = "validity";

/// A fault in the engine, or in what it tells the beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Partials leave with the last vote, whatever was proposed.
    VoteAlone,
    /// Partials leave when a quorum proposed the bit, whatever was voted.
    ProposalsAlone,
    /// One honest party's proposal is enough. Every bit that is voted for has that: the same as [`Bug::VoteAlone`].
    WeakProposals,
    /// Partials leave with a vote of any round.
    AnyRound,
    /// Two votes are a quorum.
    SmallQuorum,
    /// A party that sees both bits goes on with either.
    EitherBit,
    /// A bit needs no honest party that has it.
    Unjustified,
}

/// The engine and its bound.
#[derive(Clone, Copy, Debug)]
pub struct Dispel {
    /// The contract that parties obey.
    pub terms: Terms,
    /// How many rounds before stabilisation.
    pub rounds: u8,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// What an honest party has said, by round. 0 if nothing, else the bit and one; sets have one bit for each
/// that is in them, the lower for zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    estimates: [u8; ROUNDS],
    votes: [u8; ROUNDS],
    desk: Desk,
}

/// What the honest parties have said.
pub type State = chain::State<Replica>;

/// What an honest party does; rounds count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The party proposes a bit.
    Propose(usize, u8),
    /// The party votes for a set of bits in a round.
    Vote(usize, u8, u8),
    /// The party goes on to a round with a bit.
    Move(usize, u8, u8),
    /// The party has what it takes to release for a bit.
    Release(usize, u8),
    /// A party goes down and comes up.
    Restart(usize),
}

fn place(round: u8) -> usize {
    usize::from(round) - 1
}

/// The bit that a round can decide.
const fn bit_of(round: u8) -> u8 {
    round % 2
}

const BOTH: u8 = 3;

const fn only(bit: u8) -> u8 {
    1 << bit
}

impl Dispel {
    /// The engine as it should be.
    #[must_use]
    pub const fn new(terms: Terms, rounds: u8) -> Self {
        Self { terms, rounds, bug: None }
    }

    fn quorum(&self, honest: usize) -> bool {
        honest >= honest_quorum(self.bug == Some(Bug::SmallQuorum))
    }

    /// The bits that are justified in a round.
    fn justified(&self, state: &State, round: u8) -> u8 {
        if self.bug == Some(Bug::Unjustified) {
            return BOTH;
        }
        let bits = state.0.iter().filter_map(|party| party.estimates[place(round)].checked_sub(1));
        bits.fold(0, |set, bit| set | only(bit))
    }

    /// How many honest parties have voted for this set and no other bit.
    fn voted(state: &State, round: u8, set: u8) -> usize {
        let within = |party: &&Replica| {
            let vote = party.votes[place(round)];
            vote != 0 && vote & !set == 0
        };
        state.0.iter().filter(within).count()
    }

    /// Whether a party that sees some of the votes of a round may go on with this bit.
    fn leads_to(&self, state: &State, round: u8, bit: u8) -> bool {
        let justified = self.justified(state, round);
        let sees = |set: u8| set & !justified == 0 && self.quorum(Self::voted(state, round, set));
        let either = self.bug == Some(Bug::EitherBit);
        sees(only(bit)) || sees(BOTH) && (bit == bit_of(round) || either)
    }

    /// Whether a party may release for this bit.
    fn releases(&self, state: &State, party: usize, bit: u8) -> bool {
        let proposed = state.0.iter().filter(|one| one.estimates[0] == bit + 1).count();
        let enough = match self.bug {
            Some(Bug::VoteAlone) => true,
            Some(Bug::WeakProposals) => proposed > 0,
            _ => proposed >= honest_quorum(false),
        };
        let first = if bit == 1 { 1 } else { 2 };
        let rounds = if self.bug == Some(Bug::AnyRound) { self.rounds } else { first };
        let mut rounds = (first..=rounds).step_by(2);
        let voted = rounds.any(|round| state.0[party].votes[place(round)] == only(bit));
        enough && (voted || self.bug == Some(Bug::ProposalsAlone))
    }

    fn decided(&self, state: &State) -> impl Iterator<Item = u8> {
        let rounds = (1..)
            .take(ROUNDS)
            .filter(|round| self.quorum(Self::voted(state, *round, only(bit_of(*round)))));
        rounds.map(bit_of)
    }

    fn allows(&self, state: &State, action: Action) -> bool {
        match action {
            Action::Propose(party, _) => state.0[party].estimates[0] == 0,
            Action::Vote(party, round, set) => {
                let one = &state.0[party];
                one.estimates[place(round)] > 0
                    && one.votes[place(round)] == 0
                    && set & !self.justified(state, round) == 0
            }
            Action::Move(party, round, bit) => {
                let one = &state.0[party];
                one.votes[place(round - 1)] > 0
                    && one.estimates[place(round)] == 0
                    && self.leads_to(state, round - 1, bit)
            }
            Action::Release(party, bit) => self.releases(state, party, bit),
            Action::Restart(_) => true,
        }
    }

    fn act(&self, state: &State, action: Action) -> State {
        let mut next = *state;
        let (party, told) = self.told(state, &action);
        told.into_iter().for_each(|told| next.0[party].desk.told(&self.terms, told));
        match action {
            Action::Propose(_, bit) => next.0[party].estimates[0] = bit + 1,
            Action::Vote(_, round, set) => next.0[party].votes[place(round)] = set,
            Action::Move(_, round, bit) => next.0[party].estimates[place(round)] = bit + 1,
            Action::Release(..) | Action::Restart(_) => {}
        }
        next
    }

    /// What a party does next if it hears all honest parties and no other, and coordinators are honest from the
    /// round on that nobody is in yet.
    fn next_of(&self, state: &State, party: usize, calm: u8) -> Option<Action> {
        let one = &state.0[party];
        let round = (1..).take(ROUNDS).find(|round| one.votes[place(*round)] == 0)?;
        let justified = self.justified(state, round);
        if one.estimates[place(round)] > 0 {
            let coordinated = if justified & only(1) > 0 { only(1) } else { justified };
            return Some(Action::Vote(
                party,
                round,
                if round < calm { justified } else { coordinated },
            ));
        }
        if round == 1 {
            return Some(Action::Propose(party, 0));
        }
        let votes = state.0.iter().map(|party| party.votes[place(round - 1)]);
        let union = votes.fold(0, |union, vote| union | vote);
        let bit = (0..2).find(|bit| union == only(*bit)).unwrap_or(bit_of(round - 1));
        Some(Action::Move(party, round, bit))
    }
}

fn validity(engine: &Dispel, state: &State) -> bool {
    let proposed = state.0.iter().filter_map(|party| party.estimates[0].checked_sub(1));
    let proposed = proposed.fold(0, |set, bit| set | only(bit));
    engine.decided(state).all(|bit| proposed & only(bit) > 0)
}

impl Model for Dispel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for party in 0..HONEST {
            let proposals = (0..2).map(|bit| Action::Propose(party, bit));
            let releases = (0..2).map(|bit| Action::Release(party, bit));
            let votes = (1..=self.rounds)
                .flat_map(|round| (1..=BOTH).map(move |set| Action::Vote(party, round, set)));
            let moves = (2..=self.rounds)
                .flat_map(|round| (0..2).map(move |bit| Action::Move(party, round, bit)));
            let all = proposals.chain(releases).chain(votes).chain(moves);
            actions.extend(all.filter(|action| self.allows(state, *action)));
            actions.push(Action::Restart(party));
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        Some(self.act(state, action)).filter(|next| next != state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = properties::all();
        all.push(Property::always(VALIDITY, validity));
        all
    }
}

impl Engine for Dispel {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn desks<'a>(&self, state: &'a State) -> [&'a Desk; HONEST] {
        state.0.each_ref().map(|party| &party.desk)
    }

    fn told(&self, _: &State, action: &Action) -> (usize, Vec<Call>) {
        match *action {
            Action::Propose(party, _) | Action::Vote(party, ..) | Action::Move(party, ..) => {
                (party, Vec::new())
            }
            Action::Release(party, value) => {
                (party, vec![Call::Prefinalized { slot: 1, view: (1, 0), value }])
            }
            Action::Restart(party) => (party, vec![Call::Restarted]),
        }
    }

    fn decisions(&self, state: &State) -> Vec<Decision> {
        let decided = self.decided(state);
        decided.map(|bit| Decision { slot: 1, value: Some(bit), view: (1, 0) }).collect()
    }

    fn prefinalized(&self, state: &State, _: u8, value: u8) -> usize {
        let rounds = (1..).take(ROUNDS).filter(|round| bit_of(*round) == value);
        rounds.map(|round| Self::voted(state, round, only(value))).max().unwrap_or(0)
    }

    fn stabilised(&self, state: &State) -> Option<State> {
        let begun = |round: &u8| state.0.iter().any(|party| party.estimates[place(*round)] > 0);
        let calm = (1..).take(ROUNDS).filter(begun).last().unwrap_or(0) + 1;
        let mut now = *state;
        while self.decided(&now).next().is_none() {
            let last = |party: &usize| now.0[*party].votes.iter().filter(|vote| **vote > 0).count();
            // Who is furthest behind goes first, so that it hears of everything that it waits for.
            let party = (0..HONEST).min_by_key(|party| {
                let ahead = now.0[*party].estimates.iter().filter(|one| **one > 0).count();
                (last(party), ahead)
            })?;
            let action = self.next_of(&now, party, calm)?;
            if !self.allows(&now, action) {
                return None;
            }
            now = self.act(&now, action);
        }
        Some(now)
    }

    fn last_slot(&self, _: &State) -> u8 {
        1
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Propose(party, bit) => write!(f, "{} proposes {bit}", name(party)),
            Self::Vote(party, round, set) => {
                let set = ["{}", "{0}", "{1}", "{0, 1}"].get(usize::from(set)).unwrap_or(&"?");
                write!(f, "{} votes {set} in {round}", name(party))
            }
            Self::Move(party, round, bit) => {
                write!(f, "{} goes on to {round} with {bit}", name(party))
            }
            Self::Release(party, bit) => write!(f, "{} releases for {bit}", name(party)),
            Self::Restart(party) => write!(f, "{} restarts", name(party)),
        }
    }
}
