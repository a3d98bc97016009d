//! Votes: prepare and commit, in any view.
//!
//! | vote    | when                                                                                |
//! |---------|-------------------------------------------------------------------------------------|
//! | prepare | the view's primary proposed the value; once in a view, and in no earlier view later   |
//! | commit  | the value is prepared in the view; once in a view, and in no view that was given up |
//!
//! No height is committed that is 64 or more after the first one that is not reported here.
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_engine::collector::{Added, Collector, ReceivedVote, Standing};
use prefinal_protocol::{Instant, Recipient, Value, View};

use crate::certificate::{Stage, VoteCertificate};
use crate::engine::{Effect, Pending, Trantor};
use crate::fault::{Contradiction, Said, Signed};
use crate::job::Work;
use crate::message::{Commit, Message, Vote};
use crate::records::Record;
use crate::schedule::MOST_COMMITTED;

/// Votes up to this many attempts ahead of this party's are kept.
pub(crate) const ATTEMPTS_AHEAD: u32 = 2;

impl Trantor {
    /// Prepares the value, if this party is in the view and has not voted in it or a later one.
    pub(crate) fn prepare(&mut self, view: View, value: Value) {
        let may = self.open.get(&view.slot).is_some_and(|open| {
            let last = open.prepare.map(|(attempt, _)| attempt);
            open.attempt == view.attempt && last < Some(view.attempt)
        });
        if may && self.abandoned < Some(view) {
            self.promise(view, value);
            self.send_prepare(view, value);
        }
    }

    /// Promises to prepare, or propose, nothing else in this view.
    pub(crate) fn promise(&mut self, view: View, value: Value) {
        if let Some(open) = self.open.get_mut(&view.slot) {
            open.prepare = Some((view.attempt, value));
        }
        self.keep(Record::Prepare { view, value });
    }

    pub(crate) fn send_prepare(&mut self, view: View, value: Value) {
        let signature = self.sign(Stage::Prepare, view, value);
        let vote = Vote { view, value, signature };
        self.send(Recipient::All, Message::Prepare(vote));
        self.count(Stage::Prepare, self.me, vote);
    }

    /// Takes a verified certificate that a value is prepared, and commits it if nothing forbids that.
    pub(crate) fn observe_prepared(&mut self, now: Instant, prepared: &VoteCertificate) {
        let view = prepared.view;
        self.prepares.close(view);
        self.open_early(view.slot);
        let timeout = self.timing.timeout;
        let Some(open) = self.open.get_mut(&view.slot) else { return };
        open.learn(prepared);
        if view.attempt > open.attempt {
            // A quorum is in that view, so its primary has shown why.
            open.enter(view.attempt, Some(now + crate::open::patience(timeout, view.attempt)));
        }
        let last = open.commit.map(|(attempt, _)| attempt);
        let may = view.attempt == open.attempt && last < Some(view.attempt);
        // After a crash the beacon assumes that this party has spoken of nothing further ahead.
        let near = view.slot < self.unreported.after(MOST_COMMITTED);
        // The release contract rests on the last condition.
        if !may || !near || self.abandoned >= Some(view) {
            return;
        }
        open.commit = Some((view.attempt, prepared.value));
        let signature = self.sign(Stage::Commit, view, prepared.value);
        self.announce(prepared.clone(), signature);
        self.count(Stage::Commit, self.me, Vote { view, value: prepared.value, signature });
    }

    /// Commits what was prepared too far ahead, as soon as reports come near.
    pub(crate) fn commit_prepared(&mut self, now: Instant) {
        let near = self.open.range(..self.unreported.after(MOST_COMMITTED));
        let prepared = near.filter_map(|(_, open)| {
            let prepared = open.prepared.as_ref()?;
            open.commit
                .is_none_or(|(attempt, _)| attempt < prepared.view.attempt)
                .then_some(prepared)
        });
        let prepared: Vec<VoteCertificate> = prepared.cloned().collect();
        prepared.iter().for_each(|prepared| self.observe_prepared(now, prepared));
    }

    pub(crate) fn receive_prepare(&mut self, now: Instant, from: Party, vote: Vote) {
        if self.is_in_reach(now, from, vote.view) {
            let attempt = self.open.get(&vote.view.slot).map_or(0, |open| open.attempt);
            if vote.view.attempt >= attempt {
                self.count(Stage::Prepare, from, vote);
            }
        }
    }

    pub(crate) fn receive_commit(&mut self, now: Instant, from: Party, commit: Commit) {
        let Commit { vote, partial } = commit;
        if vote.view.slot >= self.reach() {
            self.hear_of(now, from, vote.view.slot);
            return;
        }
        let kept = crate::records::kept_from(self.unreported, None);
        if vote.view.attempt == 0
            && vote.view.slot >= kept
            && self.heard.entry(vote.view.slot).or_default().insert(from)
            && let Some(partial) = partial
        {
            self.effect(Effect::Carried { from, partial });
        }
        if self.is_in_reach(now, from, vote.view) {
            self.count(Stage::Commit, from, vote);
            self.compare_with_ask(from, &vote);
        }
    }

    /// Whether votes of this view are of use. A peer that votes far ahead knows decisions.
    fn is_in_reach(&mut self, now: Instant, from: Party, view: View) -> bool {
        self.hear_of(now, from, view.slot);
        if view.slot >= self.reach() {
            return false;
        }
        let attempt = self.open.get(&view.slot).map_or(0, |open| open.attempt);
        let undecided = view.slot >= self.next && !self.decided.contains_key(&view.slot);
        undecided && view.attempt <= attempt.saturating_add(ATTEMPTS_AHEAD)
    }

    const fn collector(&mut self, stage: Stage) -> &mut Collector<View, Value, Signature> {
        match stage {
            Stage::Commit => &mut self.commits,
            Stage::Prepare | Stage::Propose => &mut self.prepares,
        }
    }

    pub(crate) fn standing(&self, party: Party) -> Standing {
        if party == self.me {
            Standing::Verified
        } else if self.suspects.contains(&party) {
            Standing::Suspected
        } else {
            Standing::Stored
        }
    }

    /// Puts a vote into its collector and checks whether it completes a quorum.
    pub(crate) fn count(&mut self, stage: Stage, party: Party, vote: Vote) {
        let Vote { view, value, signature } = vote;
        let (standing, stake) = (self.standing(party), self.committee.stake(party));
        let vote = ReceivedVote { party, stake, choice: value, signature, standing };
        match self.collector(stage).add(view, vote) {
            Added::Ignored => {}
            Added::Stored if standing == Standing::Suspected => {
                let work = Work::Votes { stage, view, value, votes: [(party, signature)].into() };
                self.check(work, Pending::Suspect { stage, view, party });
            }
            Added::Stored => self.sum_votes(stage, view, value),
            Added::Contradicts(first, signed) => {
                let said = |value| Said::Vote { stage, view, value };
                let first = Signed { said: said(first), signature: signed };
                let second = Signed { said: said(value), signature };
                self.charge(party, Contradiction { first, second });
            }
        }
    }

    /// Sends the votes for a value to be summed, if they hold a quorum. Prepares of an epoch whose leaders are
    /// not known wait: this party could not commit on their certificate.
    pub(crate) fn sum_votes(&mut self, stage: Stage, view: View, value: Value) {
        if stage != Stage::Commit && view.slot >= self.schedule.horizon() {
            return;
        }
        let committee = std::sync::Arc::clone(&self.committee);
        let is_quorum = |stake| committee.is_strong(stake);
        if let Some(votes) = self.collector(stage).quorum(view, is_quorum, |one| one == value) {
            let parties = votes.keys().copied().collect();
            let votes =
                votes.into_iter().map(|(party, (_, signature))| (party, signature)).collect();
            let work = Work::Votes { stage, view, value, votes };
            self.check(work, Pending::Votes { stage, view, value, parties });
        }
    }

    /// Sums the prepares that came before the leaders of their heights were known.
    pub(crate) fn sum_early(&mut self) {
        for (view, value) in self.prepares.choices_from(View::new(self.schedule.first(), 0)) {
            self.sum_votes(Stage::Prepare, view, value);
        }
    }

    /// Notes that votes of these parties did not sum up because of the culprits.
    pub(crate) fn strike(
        &mut self,
        stage: Stage,
        view: View,
        parties: Vec<Party>,
        culprits: &std::collections::BTreeSet<Party>,
    ) {
        self.collector(stage).strike(view, parties.into_iter(), culprits);
    }

    /// Notes that the vote of a suspect was checked. Returns its value if it is good.
    pub(crate) fn settle(
        &mut self,
        stage: Stage,
        view: View,
        party: Party,
        good: bool,
    ) -> Option<Value> {
        self.collector(stage).settle(view, party, good).filter(|_| good)
    }

    /// A commit and a view change that hides it are evidence.
    fn compare_with_ask(&mut self, party: Party, vote: &Vote) {
        let Some(ask) = self.asks.get(&party) else { return };
        let hidden = ask.view.slot == vote.view.slot
            && ask.view > vote.view
            && ask.claim < Some(vote.view.attempt);
        if hidden {
            let change = Said::Change { view: ask.view, prepared: ask.claim };
            let second = Signed { said: change, signature: ask.signature };
            self.charge(party, Contradiction { first: commit_of(vote), second });
        }
    }

    /// The same, when the view change comes second.
    pub(crate) fn compare_with_commit(&mut self, party: Party, second: Signed) {
        let Said::Change { view, prepared } = second.said else { return };
        let Some((voted, value, signature)) =
            self.commits.latest(View::new(view.slot, 0)..view, party)
        else {
            return;
        };
        if prepared < Some(voted.attempt) {
            let vote = Vote { view: voted, value, signature };
            self.charge(party, Contradiction { first: commit_of(&vote), second });
        }
    }
}

const fn commit_of(vote: &Vote) -> Signed {
    let said = Said::Vote { stage: Stage::Commit, view: vote.view, value: vote.value };
    Signed { said, signature: vote.signature }
}
