//! Jolteon with order votes: a round is a slot and its only view.
//!
//! | step       | rule                                                                               |
//! |------------|------------------------------------------------------------------------------------|
//! | vote       | `r > last voted`; the parent has a QC of `q`; `r = q + 1`, or `q ≥` the highest QC round in a TC of `r − 1` |
//! | timeout    | `r ≥ last voted`; carries the round of the highest QC known                          |
//! | order vote | the block has a QC; `r >` the highest round timed out                                |
//! | commit     | a quorum of order votes, or QCs in two consecutive rounds; with all ancestors         |
//!
//! A QC is a quorum of votes for one block, a TC a quorum of timeouts of one round. A block is its
//! round, the round of its parent and which of two twins it is, for a faulty leader may propose two.
//! One round has at most one block with a QC, so a parent is named by its round.
//!
//! What an integration might tell the beacon, all of which is told:
//!
//! | when                                                          | of which slots           |
//! |---------------------------------------------------------------|--------------------------|
//! | order vote                                                    | the block's; implied: its ancestors' |
//! | a vote for a child, whose proposal carries the parent's QC      | implied: its ancestors'  |
//! | the QC arrives after a timeout, so that no order vote is cast   | the block's; implied: its ancestors' |
//!
//! Left out: parties know no more than what they acted on, for knowing a higher QC only makes their
//! timeouts more careful. A party may time out of a round as soon as anybody could be in it.
use std::fmt;

use stateright::{Model, Property};

use crate::chain::{self, TWINS, block, mark, parent};
use crate::desk::{Call, Desk, HONEST, Terms, honest_quorum, name};
use crate::properties::{self, Decision, Engine};

/// Room for rounds: genesis, those of the bound, and a synchronous one.
const ROUNDS: usize = 6;

/// A fault in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Order votes are cast whatever was timed out.
    OrderAfterTimeout,
    /// Timeouts carry no QC.
    TimeoutsHideCertificates,
    /// A vote after a timeout may be for any parent.
    AnyParent,
    /// Two votes are a quorum.
    SmallQuorum,
    /// A party that voted in a round never times out of it.
    NoTimeoutAfterVote,
}

/// The engine and its bound.
#[derive(Clone, Copy, Debug)]
pub struct Jolteon {
    /// The contract that parties obey.
    pub terms: Terms,
    /// How many rounds before stabilisation.
    pub rounds: u8,
    /// The last of them that anybody gives up. A timeout of the last round forbids things and allows
    /// nothing but the round after it, so a bound of one round less loses no violation of safety.
    pub timeouts: u8,
    /// How many blocks a leader may propose on one parent: 1 or 2.
    pub twins: u8,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// What an honest party has said, by round. 0 if nothing, else the block or the QC round and one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    votes: [u8; ROUNDS],
    timeouts: [u8; ROUNDS],
    orders: [u8; ROUNDS],
    /// Round of the highest QC that this party acted on.
    high: u8,
    desk: Desk,
}

/// What the honest parties have said.
pub type State = chain::State<Replica>;

/// What an honest party does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Party, round, parent, twin.
    Vote(usize, u8, u8, u8),
    /// Party, round.
    Timeout(usize, u8),
    /// Party, round: the QC arrives and the order vote is cast.
    Order(usize, u8),
    /// Party, round: the QC arrives after a timeout.
    Late(usize, u8),
    /// A party goes down and comes up.
    Restart(usize),
}

impl Replica {
    fn last_voted(&self) -> u8 {
        last(&self.votes).max(last(&self.timeouts))
    }
}

/// The last round in which something was said.
fn last(said: &[u8; ROUNDS]) -> u8 {
    (0..).zip(said).filter(|(_, said)| **said > 0).map(|(round, _)| round).last().unwrap_or(0)
}

impl Jolteon {
    /// The engine as it should be.
    #[must_use]
    pub const fn new(terms: Terms, rounds: u8) -> Self {
        Self { terms, rounds, timeouts: rounds, twins: TWINS, bug: None }
    }

    fn honest_quorum(&self) -> usize {
        honest_quorum(self.bug == Some(Bug::SmallQuorum))
    }

    /// The block of a round that has a QC.
    fn certified(&self, state: &State, round: u8) -> Option<u8> {
        let at = usize::from(round);
        let voted = |vote: &u8| *vote > 0 && voters(state, at, *vote) >= self.honest_quorum();
        state.0.iter().map(|party| party.votes[at]).find(voted).map(|vote| vote - 1)
    }

    /// The lowest that the highest QC round in a TC of this round can be.
    fn lowest(&self, state: &State, round: u8) -> Option<u8> {
        let mut carried: Vec<u8> = state
            .0
            .iter()
            .filter_map(|party| party.timeouts[usize::from(round)].checked_sub(1))
            .collect();
        carried.sort_unstable();
        carried.get(self.honest_quorum() - 1).copied()
    }

    fn may_follow(&self, state: &State, round: u8, parent: u8) -> bool {
        let has_qc = parent == 0 || self.certified(state, parent).is_some();
        let after_timeouts = || {
            let lowest = round.checked_sub(1).and_then(|before| self.lowest(state, before));
            lowest.is_some_and(|lowest| lowest <= parent || self.bug == Some(Bug::AnyParent))
        };
        has_qc && (round == parent + 1 || after_timeouts())
    }

    fn entered(&self, state: &State, round: u8) -> bool {
        let before = round.saturating_sub(1);
        before == 0
            || self.certified(state, before).is_some()
            || self.lowest(state, before).is_some()
    }

    fn allows(&self, state: &State, action: Action) -> bool {
        match action {
            Action::Vote(party, round, parent, twin) => {
                // Twins are alike: the first that anybody votes for is the first.
                let first = block(parent, 0) + 1;
                round > state.0[party].last_voted()
                    && self.may_follow(state, round, parent)
                    && twin < self.twins
                    && (twin == 0 || voters(state, usize::from(round), first) > 0)
            }
            Action::Timeout(party, round) => {
                let party = &state.0[party];
                let voted = self.bug == Some(Bug::NoTimeoutAfterVote)
                    && party.votes[usize::from(round)] > 0;
                round >= party.last_voted()
                    && !voted
                    && party.timeouts[usize::from(round)] == 0
                    && self.entered(state, round)
            }
            Action::Order(party, round) => {
                let party = &state.0[party];
                let in_time =
                    round > last(&party.timeouts) || self.bug == Some(Bug::OrderAfterTimeout);
                in_time
                    && party.orders[usize::from(round)] == 0
                    && self.certified(state, round).is_some()
            }
            Action::Late(party, round) => {
                let party = &state.0[party];
                round <= last(&party.timeouts)
                    && party.orders[usize::from(round)] == 0
                    && self.certified(state, round).is_some()
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
            Action::Vote(_, round, parent, twin) => {
                party.votes[usize::from(round)] = block(parent, twin) + 1;
                party.high = party.high.max(parent);
            }
            Action::Timeout(_, round) => {
                let hidden = self.bug == Some(Bug::TimeoutsHideCertificates);
                let carried = if hidden { 0 } else { party.high };
                party.timeouts[usize::from(round)] = carried + 1;
            }
            Action::Order(_, round) => {
                let block = self.certified(state, round).map_or(0, |block| block + 1);
                party.orders[usize::from(round)] = block;
                party.high = party.high.max(round);
            }
            Action::Late(_, round) => party.high = party.high.max(round),
            Action::Restart(_) => {}
        }
        next
    }

    /// The block of a round that has a QC, and its ancestors.
    fn chain(&self, state: &State, tip: u8) -> impl Iterator<Item = chain::Certified> {
        chain::chain(tip, |view| self.certified(state, view))
    }

    /// Rounds whose blocks are committed by the quorum of order votes, or by two QCs, and in which view.
    fn commits(&self, state: &State) -> impl Iterator<Item = (u8, u8)> {
        let rounds = (1_u8..).take(ROUNDS - 1);
        let certified = rounds.filter_map(|round| Some((round, self.certified(state, round)?)));
        certified.flat_map(move |(round, block)| {
            let ordered = orders(state, round, block) >= self.honest_quorum();
            let by_votes = ordered.then_some((round, round));
            let by_chain = (parent(block) + 1 == round && round > 1).then_some((round - 1, round));
            by_votes.into_iter().chain(by_chain)
        })
    }
}

fn voters(state: &State, round: usize, vote: u8) -> usize {
    state.0.iter().filter(|party| party.votes[round] == vote).count()
}

fn orders(state: &State, round: u8, block: u8) -> usize {
    state.0.iter().filter(|party| party.orders[usize::from(round)] == block + 1).count()
}

impl Model for Jolteon {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for party in 0..HONEST {
            for round in 1..=self.rounds {
                let parents = (0..round).flat_map(|parent| [(parent, 0), (parent, 1)]);
                let votes = parents.map(|(parent, twin)| Action::Vote(party, round, parent, twin));
                let timeout = (round <= self.timeouts).then_some(Action::Timeout(party, round));
                let order = Action::Order(party, round);
                let cases = votes.chain(timeout).chain([order]);
                actions.extend(cases.filter(|action| self.allows(state, *action)));
                // Worth a step only if something leaves.
                let late = Action::Late(party, round);
                if self.allows(state, late) && {
                    let slots = (1..=self.rounds).map(|slot| state.0[party].desk.out(slot));
                    let next = self.act(state, late).0[party].desk;
                    slots.ne((1..=self.rounds).map(|slot| next.out(slot)))
                } {
                    actions.push(late);
                }
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

impl Engine for Jolteon {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn desks<'a>(&self, state: &'a State) -> [&'a Desk; HONEST] {
        state.0.each_ref().map(|party| &party.desk)
    }

    fn told(&self, state: &State, action: &Action) -> (usize, Vec<Call>) {
        match *action {
            Action::Vote(party, round, parent, _) => {
                (party, chain::implied(self.chain(state, parent), round))
            }
            Action::Timeout(party, round) => (party, vec![Call::Abandoned((round, 0))]),
            Action::Order(party, round) | Action::Late(party, round) => {
                (party, chain::implied(self.chain(state, round), round))
            }
            Action::Restart(party) => (party, vec![Call::Restarted]),
        }
    }

    fn decisions(&self, state: &State) -> Vec<Decision> {
        let commits = self.commits(state);
        commits.flat_map(|(tip, view)| chain::decided(self.chain(state, tip), view)).collect()
    }

    fn prefinalized(&self, state: &State, slot: u8, value: u8) -> usize {
        orders(state, slot, value)
    }

    fn stabilised(&self, state: &State) -> Option<State> {
        let rounds = state
            .0
            .iter()
            .map(|party| party.last_voted().max(last(&party.orders)).max(party.high).max(1));
        let round = rounds.max()?;
        let high = state.0.iter().map(|party| party.high).max()?;
        let mut next = *state;
        // Certificates that anybody acted on reach everybody.
        next.0.iter_mut().for_each(|party| party.high = high);
        let give_up = (0..HONEST).map(|party| Action::Timeout(party, round));
        let give_up = give_up.filter(|_| high < round);
        let votes = (0..HONEST).map(|party| Action::Vote(party, round + 1, high, 0));
        let orders = (0..HONEST).map(|party| Action::Order(party, round + 1));
        give_up.chain(votes).chain(orders).try_fold(next, |state, action| {
            let repeated = matches!(action, Action::Timeout(party, round)
                if state.0[party].timeouts[usize::from(round)] > 0);
            (repeated || self.allows(&state, action)).then(|| self.act(&state, action))
        })
    }

    fn last_slot(&self, state: &State) -> u8 {
        state.0.iter().map(|party| last(&party.votes)).max().unwrap_or(0)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Vote(party, round, parent, twin) => {
                let mark = mark(twin);
                write!(f, "{} votes {round}{mark} on {parent}", name(party))
            }
            Self::Timeout(party, round) => write!(f, "{} times out {round}", name(party)),
            Self::Order(party, round) => write!(f, "{} orders {round}", name(party)),
            Self::Late(party, round) => write!(f, "{} gets QC {round} too late", name(party)),
            Self::Restart(party) => write!(f, "{} restarts", name(party)),
        }
    }
}
