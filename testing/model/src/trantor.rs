//! Trantor: many heights at a time, each with the views of PBFT.
//!
//! | step     | rule                                                                                 |
//! |----------|--------------------------------------------------------------------------------------|
//! | prepare  | in view 0 a block; later, a quorum of changes to the view, and the value of a certificate at least as late as the latest that they name, or to skip if they name none; once in a view, in ascending views |
//! | commit   | a prepared certificate of the view; no later view was asked for                        |
//! | change   | to a later view of a height, if all heights before it are decided; names the last view that was committed in |
//! | decide   | a quorum of commits of one view                                                        |
//!
//! A prepared certificate is a quorum of prepares for one value in one view. A height is a slot, a view is
//! an attempt at it. Heights proceed at the same time; only changes come in the order of heights.
//!
//! What an integration might tell the beacon, all of which is told:
//!
//! | when                                                     | of which height |
//! |----------------------------------------------------------|-----------------|
//! | commit                                                   | the height      |
//! | the certificate arrives after a change, so that no commit is cast | the height |
//!
//! After [`PBFT`](https://pmg.csail.mit.edu/papers/osdi99.pdf). Left out: parties know no more certificates
//! than what they acted on, for naming a later one only makes a change more careful.
use std::fmt;

use stateright::{Model, Property};

use crate::chain;
use crate::desk::{Call, Desk, HONEST, T_FIN, Terms, honest_quorum, name};
use crate::properties::{self, Decision, Engine};

/// Room for heights.
const HEIGHTS: usize = 2;
/// Room for views: of the bound, and a synchronous one.
const VIEWS: usize = 6;
/// A height without a block. Blocks are 0, and 1 of a leader that proposes two.
const SKIP: u8 = 2;

/// A fault in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Commits are cast whatever was asked for.
    CommitAfterChange,
    /// Changes name no certificate.
    ChangesHideCertificates,
    /// A new view may propose the value of any certificate.
    OldCertificate,
    /// Two votes are a quorum.
    SmallQuorum,
    /// A party that committed never asks for another view.
    NoChangeAfterCommit,
}

/// The engine and its bound.
#[derive(Clone, Copy, Debug)]
pub struct Trantor {
    /// The contract.
    pub terms: Terms,
    /// How many heights: 1 or 2.
    pub heights: u8,
    /// How many views of the first before stabilisation.
    pub views: u8,
    /// How many views of the second.
    pub behind: u8,
    /// How many blocks a leader may propose at a height: 1 or 2.
    pub twins: u8,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// What an honest party has said of a height, by view. 0 if nothing, else the value and one; for changes
/// the view that was named and two, or one if none was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Height {
    prepares: [u8; VIEWS],
    commits: [u8; VIEWS],
    changes: [u8; VIEWS],
}

/// What an honest party has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    heights: [Height; HEIGHTS],
    /// Heights before this one are decided for this party.
    next: u8,
    desk: Desk,
}

/// What the honest parties have said.
pub type State = chain::State<Replica>;

/// What an honest party does: party, height, view, and the value if there is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The party prepares a value.
    Prepare(usize, u8, u8, u8),
    /// The party commits what is prepared.
    Commit(usize, u8, u8),
    /// The party asks for a view.
    Change(usize, u8, u8),
    /// The certificate arrives after a change to a later view.
    Late(usize, u8, u8),
    /// A party goes down and comes up.
    Restart(usize),
}

impl Replica {
    fn at(&self, height: u8) -> &Height {
        &self.heights[place(height)]
    }
}

impl Height {
    /// The last view that was asked for.
    fn asked(&self) -> u8 {
        last(&self.changes).unwrap_or(0)
    }

    /// The view that this party is in: the last that it prepared in or asked for.
    fn view(&self) -> u8 {
        last(&self.prepares).unwrap_or(0).max(self.asked())
    }
}

fn place(height: u8) -> usize {
    usize::from(height) - 1
}

/// The last view in which something was said.
fn last(said: &[u8; VIEWS]) -> Option<u8> {
    (0..).zip(said).filter(|(_, said)| **said > 0).map(|(view, _)| view).last()
}

impl Trantor {
    /// The engine as it should be.
    #[must_use]
    pub const fn new(terms: Terms, heights: u8, views: u8) -> Self {
        Self { terms, heights, views, behind: views, twins: 1, bug: None }
    }

    fn quorum(&self, honest: usize) -> bool {
        honest >= honest_quorum(self.bug == Some(Bug::SmallQuorum))
    }

    /// The value that is prepared in a view.
    fn prepared(&self, state: &State, height: u8, view: u8) -> Option<u8> {
        let at = usize::from(view);
        let said = |value: u8| {
            let voted = |party: &&Replica| party.at(height).prepares[at] == value + 1;
            self.quorum(state.0.iter().filter(voted).count())
        };
        (0..=SKIP).find(|value| said(*value))
    }

    /// The earliest that the latest view can be which a quorum of changes names: `Some(None)` if it need
    /// name none, `None` if there is no quorum. Two honest ones and the faulty party's are enough.
    fn named(&self, state: &State, height: u8, view: u8) -> Option<Option<u8>> {
        let changes = state.0.iter().map(|party| party.at(height).changes[usize::from(view)]);
        let mut changes: Vec<u8> = changes.filter(|change| *change > 0).collect();
        changes.sort_unstable();
        let needed = T_FIN - 1;
        changes.get(needed - 1).filter(|_| self.quorum(changes.len())).map(|it| it.checked_sub(2))
    }

    /// Whether the primary of a view may propose this value.
    fn may_propose(&self, state: &State, height: u8, view: u8, value: u8) -> bool {
        if view == 0 {
            return value < self.twins;
        }
        let Some(named) = self.named(state, height, view) else { return false };
        let any = self.bug == Some(Bug::OldCertificate);
        let first = named.filter(|_| !any).unwrap_or(0);
        (value == SKIP && named.is_none())
            || (first..view).any(|of| self.prepared(state, height, of) == Some(value))
    }

    fn is_decided(&self, state: &State, height: u8) -> bool {
        self.decision(state, height).next().is_some()
    }

    fn decision(&self, state: &State, height: u8) -> impl Iterator<Item = Decision> {
        let cases =
            (0_u8..).take(VIEWS).flat_map(|view| (0..=SKIP).map(move |value| (view, value)));
        let last =
            cases.filter(move |(view, value)| self.quorum(commits(state, height, *view, *value)));
        last.map(move |(view, value)| {
            let value = Some(value).filter(|value| *value != SKIP);
            Decision { slot: height, value, view: (height, view) }
        })
    }

    fn allows(&self, state: &State, action: Action) -> bool {
        match action {
            Action::Prepare(party, height, view, value) => {
                let said = state.0[party].at(height);
                let later = last(&said.prepares).is_none_or(|last| last < view);
                state.0[party].next <= height
                    && later
                    && said.asked() <= view
                    && self.may_propose(state, height, view, value)
            }
            Action::Commit(party, height, view) => {
                let said = state.0[party].at(height);
                let given_up = said.view() > view && self.bug != Some(Bug::CommitAfterChange);
                state.0[party].next <= height
                    && !given_up
                    && said.commits[usize::from(view)] == 0
                    && self.prepared(state, height, view).is_some()
            }
            Action::Change(party, height, view) => {
                let said = state.0[party].at(height);
                let stuck =
                    self.bug == Some(Bug::NoChangeAfterCommit) && last(&said.commits).is_some();
                let before = state.0[party].next.max(1)..height;
                state.0[party].next <= height
                    && view > said.view()
                    && !stuck
                    && before.into_iter().all(|before| self.is_decided(state, before))
            }
            Action::Late(party, height, view) => {
                let said = state.0[party].at(height);
                said.asked() > view && self.prepared(state, height, view).is_some()
            }
            Action::Restart(_) => true,
        }
    }

    fn act(&self, state: &State, action: Action) -> State {
        let mut next = *state;
        let (party, told) = self.told(state, &action);
        told.into_iter().for_each(|told| next.0[party].desk.told(&self.terms, told));
        match action {
            Action::Prepare(_, height, view, value) => {
                next.0[party].heights[place(height)].prepares[usize::from(view)] = value + 1;
            }
            Action::Commit(_, height, view) => {
                let value = self.prepared(state, height, view).map_or(0, |value| value + 1);
                next.0[party].heights[place(height)].commits[usize::from(view)] = value;
            }
            Action::Change(_, height, view) => {
                let said = &mut next.0[party].heights[place(height)];
                let names = last(&said.commits).filter(|_| !self.hides());
                said.changes[usize::from(view)] = names.map_or(1, |named| named + 2);
                next.0[party].next = height;
            }
            Action::Late(..) | Action::Restart(_) => {}
        }
        next
    }

    fn hides(&self) -> bool {
        self.bug == Some(Bug::ChangesHideCertificates)
    }

    /// All honest parties go through one synchronous view of a height under an honest primary.
    fn view_of(&self, state: State, height: u8) -> Option<State> {
        let view = state.0.iter().map(|party| party.at(height).view()).max()? + 1;
        let changed = (0..HONEST).try_fold(state, |state, party| {
            let action = Action::Change(party, height, view);
            self.allows(&state, action).then(|| self.act(&state, action))
        })?;
        // It proposes the latest that all of them name.
        let named = changed
            .0
            .iter()
            .filter_map(|party| party.at(height).changes[usize::from(view)].checked_sub(2));
        let named = named.max().map(|of| self.prepared(&changed, height, of));
        let value = named.map_or(Some(SKIP), |value| value)?;
        let prepares = (0..HONEST).map(|party| Action::Prepare(party, height, view, value));
        let commits = (0..HONEST).map(|party| Action::Commit(party, height, view));
        prepares.chain(commits).try_fold(changed, |state, action| {
            self.allows(&state, action).then(|| self.act(&state, action))
        })
    }
}

fn commits(state: &State, height: u8, view: u8, value: u8) -> usize {
    let voted = |party: &&Replica| party.at(height).commits[usize::from(view)] == value + 1;
    state.0.iter().filter(voted).count()
}

impl Model for Trantor {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for party in 0..HONEST {
            let views = |height| {
                let views = if height == 1 { self.views } else { self.behind };
                (0..views).map(move |view| (height, view))
            };
            for (height, view) in (1..=self.heights).flat_map(views) {
                let prepares = (0..=SKIP).map(|value| Action::Prepare(party, height, view, value));
                let others = [
                    Action::Commit(party, height, view),
                    Action::Change(party, height, view),
                    Action::Late(party, height, view),
                ];
                let all = prepares.chain(others);
                actions.extend(all.filter(|action| self.allows(state, *action)));
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

impl Engine for Trantor {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn desks<'a>(&self, state: &'a State) -> [&'a Desk; HONEST] {
        state.0.each_ref().map(|party| &party.desk)
    }

    fn told(&self, state: &State, action: &Action) -> (usize, Vec<Call>) {
        match *action {
            Action::Prepare(party, ..) => (party, Vec::new()),
            Action::Commit(party, slot, view) | Action::Late(party, slot, view) => {
                let value = self.prepared(state, slot, view);
                let vote =
                    value.map(|value| Call::Prefinalized { slot, view: (slot, view), value });
                (party, vote.into_iter().collect())
            }
            Action::Change(party, height, view) => {
                (party, vec![Call::Abandoned((height, view.saturating_sub(1)))])
            }
            Action::Restart(party) => (party, vec![Call::Restarted]),
        }
    }

    fn decisions(&self, state: &State) -> Vec<Decision> {
        (1..=self.heights).flat_map(|height| self.decision(state, height)).collect()
    }

    fn prefinalized(&self, state: &State, slot: u8, value: u8) -> usize {
        if place(slot) >= HEIGHTS {
            return 0;
        }
        let views = (0_u8..).take(VIEWS);
        views.map(|view| commits(state, slot, view, value)).max().unwrap_or(0)
    }

    fn stabilised(&self, state: &State) -> Option<State> {
        (1..=self.last_slot(state)).try_fold(*state, |state, height| {
            if self.is_decided(&state, height) { Some(state) } else { self.view_of(state, height) }
        })
    }

    fn last_slot(&self, state: &State) -> u8 {
        let spoken =
            |height: &u8| state.0.iter().any(|party| *party.at(*height) != Height::default());
        (1..=self.heights).rfind(spoken).unwrap_or(0)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Prepare(party, height, view, value) => {
                let what = ["v", "w", "to skip"].get(usize::from(value)).unwrap_or(&"?");
                write!(f, "{} prepares {what} in {height}.{view}", name(party))
            }
            Self::Commit(party, height, view) => {
                write!(f, "{} commits in {height}.{view}", name(party))
            }
            Self::Change(party, height, view) => {
                write!(f, "{} asks for {height}.{view}", name(party))
            }
            Self::Late(party, height, view) => {
                write!(f, "{} gets the certificate of {height}.{view} late", name(party))
            }
            Self::Restart(party) => write!(f, "{} restarts", name(party)),
        }
    }
}
