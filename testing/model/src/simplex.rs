//! Simplex: a view is a slot.
//!
//! | step     | rule                                                                            |
//! |----------|---------------------------------------------------------------------------------|
//! | notarize | once a view; the parent is notarized, every view between is nullified              |
//! | nullify  | unless this party has cast its finalize vote for the view                          |
//! | finalize | the block is notarized, and this party has not nullified its view                  |
//! | decide   | a quorum of finalize votes, with all ancestors                                    |
//!
//! A view starts with the notarization or the nullification of the one before. A block is its view, its
//! parent's view and which of two twins it is. One view has at most one notarized block.
//!
//! After "Simplex consensus" (Chan, Pass). A party here may nullify before it notarizes, and finalize a
//! view that it left; both only allow more. What an integration might tell the beacon, all of which is
//! told: finalize votes, the ancestors that they and notarize votes imply, and notarizations that
//! arrive after a nullify.
use std::fmt;

use stateright::{Model, Property};

use crate::chain::{self, TWINS, block, mark, parent};
use crate::desk::{Call, Desk, HONEST, Terms, honest_quorum, name};
use crate::properties::{self, Decision, Engine};

/// Room for views: genesis, those of the bound, and a synchronous one.
const VIEWS: usize = 7;

/// A fault in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A finalize vote is cast whatever was nullified.
    FinalizeAfterNullify,
    /// Views between a block and its parent need not be nullified.
    GapsInTheChain,
    /// Two votes are a quorum.
    SmallQuorum,
    /// A party that notarized in a view never nullifies it.
    NoNullifyAfterNotarize,
}

/// The engine and its bound.
#[derive(Clone, Copy, Debug)]
pub struct Simplex {
    /// The contract that parties obey.
    pub terms: Terms,
    /// How many views before stabilisation.
    pub views: u8,
    /// How many blocks a leader may propose on one parent: 1 or 2.
    pub twins: u8,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// What an honest party has said, by view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// 0 if nothing, else the block and one.
    notarized: [u8; VIEWS],
    nullified: [bool; VIEWS],
    finalized: [bool; VIEWS],
    desk: Desk,
}

/// What the honest parties have said.
pub type State = chain::State<Node>;

/// What an honest party does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Party, view, parent, twin.
    Notarize(usize, u8, u8, u8),
    /// Party, view.
    Nullify(usize, u8),
    /// Party, view: the notarization arrives and the finalize vote is cast.
    Finalize(usize, u8),
    /// Party, view: the notarization arrives after a nullify.
    Late(usize, u8),
    /// A party goes down and comes up.
    Restart(usize),
}

impl Node {
    /// The first view that this party has not left.
    fn view(&self) -> u8 {
        let views = (0_u8..).zip(self.notarized).zip(self.nullified).zip(self.finalized);
        let views = views.map(|(((view, notarized), nullified), finalized)| {
            if finalized { view + 1 } else { view * u8::from(nullified || notarized > 0) }
        });
        views.max().unwrap_or(0).max(1)
    }
}

impl Simplex {
    /// The engine as it should be.
    #[must_use]
    pub const fn new(terms: Terms, views: u8) -> Self {
        Self { terms, views, twins: TWINS, bug: None }
    }

    fn quorum(&self, honest: usize) -> bool {
        honest >= honest_quorum(self.bug == Some(Bug::SmallQuorum))
    }

    fn notarized(&self, state: &State, view: u8) -> Option<u8> {
        let at = usize::from(view);
        let voted = |vote: &u8| *vote > 0 && self.quorum(voters(state, at, *vote));
        state.0.iter().map(|party| party.notarized[at]).find(voted).map(|vote| vote - 1)
    }

    fn nullified(&self, state: &State, view: u8) -> bool {
        self.quorum(state.0.iter().filter(|party| party.nullified[usize::from(view)]).count())
    }

    fn entered(&self, state: &State, view: u8) -> bool {
        let before = view.saturating_sub(1);
        before == 0 || self.notarized(state, before).is_some() || self.nullified(state, before)
    }

    fn may_follow(&self, state: &State, view: u8, parent: u8) -> bool {
        let mut between = parent + 1..view;
        (parent == 0 || self.notarized(state, parent).is_some())
            && (self.bug == Some(Bug::GapsInTheChain)
                || between.all(|view| self.nullified(state, view)))
    }

    fn allows(&self, state: &State, action: Action) -> bool {
        match action {
            Action::Notarize(party, view, parent, twin) => {
                let party = &state.0[party];
                // Twins are alike: the first that anybody votes for is the first.
                let first = block(parent, 0) + 1;
                view >= party.view()
                    && party.notarized[usize::from(view)] == 0
                    && self.entered(state, view)
                    && self.may_follow(state, view, parent)
                    && twin < self.twins
                    && (twin == 0 || voters(state, usize::from(view), first) > 0)
            }
            Action::Nullify(party, view) => {
                let party = &state.0[party];
                let voted = self.bug == Some(Bug::NoNullifyAfterNotarize)
                    && party.notarized[usize::from(view)] > 0;
                view >= party.view()
                    && !voted
                    && !party.nullified[usize::from(view)]
                    && self.entered(state, view)
            }
            Action::Finalize(party, view) => {
                let party = &state.0[party];
                let in_time = !party.nullified[usize::from(view)]
                    || self.bug == Some(Bug::FinalizeAfterNullify);
                in_time
                    && !party.finalized[usize::from(view)]
                    && self.notarized(state, view).is_some()
            }
            Action::Late(party, view) => {
                let party = &state.0[party];
                party.nullified[usize::from(view)]
                    && !party.finalized[usize::from(view)]
                    && self.notarized(state, view).is_some()
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
            Action::Notarize(_, view, parent, twin) => {
                party.notarized[usize::from(view)] = block(parent, twin) + 1;
            }
            Action::Nullify(_, view) => party.nullified[usize::from(view)] = true,
            Action::Finalize(_, view) => party.finalized[usize::from(view)] = true,
            Action::Late(..) | Action::Restart(_) => {}
        }
        next
    }

    /// The notarized block of a view, and its ancestors.
    fn chain(&self, state: &State, tip: u8) -> impl Iterator<Item = chain::Certified> {
        chain::chain(tip, |view| self.notarized(state, view))
    }

    /// Whether honest parties have the notarization of a view they left, for where both certificates can
    /// exist it is up to the adversary which one they were shown.
    fn knows_notarization(&self, state: &State, view: u8, shown: bool) -> bool {
        let used = state.0.iter().any(|party| {
            let child = |vote: &u8| *vote > 0 && parent(*vote - 1) == view;
            party.finalized[usize::from(view)] || party.notarized.iter().any(child)
        });
        let exists = self.notarized(state, view).is_some();
        exists && (used || !self.nullified(state, view) || shown)
    }

    /// One synchronous view under an honest leader, after a view that anybody was in.
    fn continued(&self, state: &State, shown: bool) -> Option<State> {
        let top = state.0.iter().map(Node::view).max()?;
        let known = |view: &u8| self.knows_notarization(state, *view, shown);
        // The last view that anybody was in has ended for nobody yet, or with what they all get now.
        let tip = (1..top).rev().find(known).unwrap_or(0);
        let nullify = (0..HONEST).map(|party| Action::Nullify(party, top));
        let notarize = (0..HONEST).map(|party| Action::Notarize(party, top + 1, tip, 0));
        let finalize = (0..HONEST).map(|party| Action::Finalize(party, top + 1));
        nullify.chain(notarize).chain(finalize).try_fold(*state, |state, action| {
            let repeated = matches!(action, Action::Nullify(party, view)
                if state.0[party].nullified[usize::from(view)]);
            (repeated || self.allows(&state, action)).then(|| self.act(&state, action))
        })
    }
}

fn voters(state: &State, view: usize, vote: u8) -> usize {
    state.0.iter().filter(|party| party.notarized[view] == vote).count()
}

fn finalized(state: &State, view: u8) -> usize {
    state.0.iter().filter(|party| party.finalized[usize::from(view)]).count()
}

impl Model for Simplex {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for party in 0..HONEST {
            for view in 1..=self.views {
                let parents = (0..view).flat_map(|parent| [(parent, 0), (parent, 1)]);
                let votes =
                    parents.map(|(parent, twin)| Action::Notarize(party, view, parent, twin));
                let others = [
                    Action::Nullify(party, view),
                    Action::Finalize(party, view),
                    Action::Late(party, view),
                ];
                let cases = votes.chain(others);
                actions.extend(cases.filter(|action| self.allows(state, *action)));
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

impl Engine for Simplex {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn desks<'a>(&self, state: &'a State) -> [&'a Desk; HONEST] {
        state.0.each_ref().map(|party| &party.desk)
    }

    fn told(&self, state: &State, action: &Action) -> (usize, Vec<Call>) {
        match *action {
            Action::Notarize(party, view, parent, _) => {
                (party, chain::implied(self.chain(state, parent), view))
            }
            Action::Nullify(party, view) => (party, vec![Call::Abandoned((view, 0))]),
            Action::Finalize(party, view) | Action::Late(party, view) => {
                (party, chain::implied(self.chain(state, view), view))
            }
            Action::Restart(party) => (party, vec![Call::Restarted]),
        }
    }

    fn decisions(&self, state: &State) -> Vec<Decision> {
        let views = (1_u8..).take(VIEWS - 1).filter(|view| self.quorum(finalized(state, *view)));
        views.flat_map(|view| chain::decided(self.chain(state, view), view)).collect()
    }

    fn prefinalized(&self, state: &State, slot: u8, value: u8) -> usize {
        if self.notarized(state, slot) == Some(value) { finalized(state, slot) } else { 0 }
    }

    fn stabilised(&self, state: &State) -> Option<State> {
        // Whichever certificates were shown.
        self.continued(state, true)?;
        self.continued(state, false)
    }

    fn last_slot(&self, state: &State) -> u8 {
        let voted = |party: &Node| {
            let views = (0_u8..).zip(party.notarized).filter(|(_, vote)| *vote > 0);
            views.map(|(view, _)| view).last().unwrap_or(0)
        };
        state.0.iter().map(voted).max().unwrap_or(0)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Notarize(party, view, parent, twin) => {
                let mark = mark(twin);
                write!(f, "{} notarizes {view}{mark} on {parent}", name(party))
            }
            Self::Nullify(party, view) => write!(f, "{} nullifies {view}", name(party)),
            Self::Finalize(party, view) => write!(f, "{} finalizes {view}", name(party)),
            Self::Late(party, view) => write!(f, "{} sees {view} notarized too late", name(party)),
            Self::Restart(party) => write!(f, "{} restarts", name(party)),
        }
    }
}
