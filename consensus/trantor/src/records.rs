//! What must survive a crash.
//!
//! | record    | durable before                          | without it a restarted party might          |
//! |-----------|-----------------------------------------|---------------------------------------------|
//! | batch     | its acknowledgement, and a prepare vote that needs it | lack a batch that it vouched for |
//! | body      | the prepare vote for it                 | lack a block that it vouched for             |
//! | prepare   | the prepare vote, and a primary's proposal | accept or propose a second value in a view |
//! | commit    | the commit vote and its partial         | hide a prepared value, or forget a partial   |
//! | change    | the view change                         | commit in a view that it gave up             |
//! | decided   | everything that follows from it         | vote again, or give up a later height early  |
//! | epoch     | votes at heights whose leaders it names | disagree about the leaders                   |
//! | adopted   | the first start behind these heights, with what was shown of them | wait for heights that nobody has any more |
//!
//! [`Record::Finalized`] is only a note: after a crash a slot may be reported again, and is not left out.
//! [`Record::History`] is one, too. Notes keep their order, so no history is found that is of a later height
//! than the last one that is known as reported.
use std::collections::{BTreeMap, BTreeSet};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Slot, Value, View};

use crate::adopt::Run;
use crate::batch::{Batch, BatchId};
use crate::block::Body;
use crate::certificate::VoteCertificate;
use crate::note::HeightContents;
use crate::order::{BATCHES_KEPT, OrderHistory, Ordered};
use crate::schedule::Schedule;

/// Number of heights before the last reported one whose blocks are kept: for peers that lag, and to
/// recognise transactions that were ordered before.
pub(crate) const KEPT: u64 = 256;

/// A record. It must be durable before the outputs that follow it are carried out.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Record {
    /// An epoch begins with these leaders.
    Epoch(Schedule),
    /// A batch that this party spreads, acknowledges, or has fetched.
    Batch(Batch),
    /// A block that this party vouches for, or that was decided.
    Body {
        /// The height that the block is for.
        slot: Slot,
        /// The block as a list of batches.
        body: Body,
    },
    /// This party prepares the value in this view; if it is the primary, it proposes it.
    Prepare {
        /// The view in which the party votes.
        view: View,
        /// The value that the party votes for.
        value: Value,
    },
    /// This party commits the prepared value in the certificate's view.
    Commit {
        /// The certificate that the value is prepared.
        prepared: Box<VoteCertificate>,
        /// What the vote carries for the beacon.
        partial: Option<Vec<u8>>,
    },
    /// This party asks for a view and votes in no earlier one of this height.
    Change {
        /// The view that it asks for.
        view: View,
        /// The highest prepared certificate, as the view change has it.
        prepared: Option<Box<VoteCertificate>>,
    },
    /// The height is decided by this certificate of commits.
    Decided(Box<VoteCertificate>),
    /// The height was reported final.
    Finalized(Slot),
    /// What was ordered up to this height.
    History(Slot, OrderHistory),
    /// What stands at a height that others have decided while this party was away, as far as later ones depend on it.
    Shown(HeightContents),
    /// These heights have blocks, as others have shown, and what stands in the last of them is on record. The heights
    /// between and before them that are not decided here were skipped.
    Adopted(Vec<Run>),
}

impl Record {
    /// Whether it is about this height or a later one.
    pub(crate) fn reaches(&self, first: Slot) -> bool {
        let last = match self {
            Self::Batch(batch) => batch.until(),
            Self::Prepare { view, .. } | Self::Change { view, .. } => view.slot,
            Self::Commit { prepared, .. } => prepared.view.slot,
            Self::Decided(certificate) => certificate.view.slot,
            Self::Body { slot, .. } => *slot,
            // A checkpoint says more than these do.
            Self::Epoch(_) | Self::Finalized(_) | Self::History(..) => return false,
            Self::Shown(_) | Self::Adopted(_) => return false,
        };
        last >= first
    }
}

/// What this party has promised about a height that is not decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Promises {
    /// The last view that it prepared a value in, and the value.
    pub(crate) prepare: Option<(u32, Value)>,
    /// The last view that it committed in, with what the vote carries.
    pub(crate) commit: Option<(u32, Value, Option<Vec<u8>>)>,
    /// The last view that it asked for, with the certificate that it showed.
    pub(crate) change: Option<(u32, Option<VoteCertificate>)>,
    /// The highest prepared certificate that it knows.
    pub(crate) prepared: Option<VoteCertificate>,
}

impl Promises {
    /// The latest view that these promises are about.
    pub(crate) fn attempt(&self) -> u32 {
        let prepare = self.prepare.map(|(attempt, _)| attempt);
        let commit = self.commit.as_ref().map(|(attempt, ..)| *attempt);
        let change = self.change.as_ref().map(|(attempt, _)| *attempt);
        prepare.max(commit).max(change).unwrap_or(0)
    }
}

/// The state that follows from a log of records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    pub(crate) schedule: Option<Schedule>,
    pub(crate) batches: BTreeMap<BatchId, Batch>,
    pub(crate) bodies: BTreeMap<Slot, Vec<Body>>,
    pub(crate) promises: BTreeMap<Slot, Promises>,
    pub(crate) decided: BTreeMap<Slot, VoteCertificate>,
    /// The last height that was reported.
    pub(crate) finalized: Option<Slot>,
    /// The latest view that was given up.
    pub(crate) abandoned: Option<View>,
    /// What was ordered, and the height that this is of.
    pub(crate) history: Option<(Slot, OrderHistory)>,
    /// What was ordered before, if it comes from a checkpoint.
    pub(crate) ordered: Option<Ordered>,
    /// What others have shown of heights, and may not have shown in full.
    pending: BTreeMap<Slot, HeightContents>,
    /// What they have shown of the last heights.
    pub(crate) shown: BTreeMap<Slot, HeightContents>,
    /// The runs of heights that they have shown, the last one of each by its first.
    pub(crate) runs: BTreeMap<Slot, Slot>,
    /// The first height that is kept for peers, if a replica says so.
    pub(crate) retained: Option<Slot>,
    /// First-view commits that carried a partial, of the heights that are kept.
    pub(crate) released: Vec<(Slot, Value)>,
}

impl Records {
    /// Takes the next record of the log.
    pub(crate) fn apply(&mut self, record: Record) {
        match record {
            Record::Epoch(schedule) => {
                // All of them come before it, so its leaders follow from them.
                self.runs.clear();
                self.schedule = Some(schedule);
            }
            Record::Batch(batch) => {
                self.batches.insert(batch.id(), batch);
            }
            Record::Body { slot, body } => {
                let bodies = self.bodies.entry(slot).or_default();
                if !bodies.contains(&body) {
                    bodies.push(body);
                }
            }
            Record::Prepare { view, value } => {
                self.promise(view).prepare = Some((view.attempt, value));
            }
            Record::Commit { prepared, partial } => {
                let (view, value) = (prepared.view, prepared.value);
                if partial.is_some() {
                    self.released.push((view.slot, value));
                }
                let promises = self.promise(view);
                promises.commit = Some((view.attempt, value, partial));
                promises.prepared = Some(*prepared);
            }
            Record::Change { view, prepared } => {
                let given_up = View::new(view.slot, view.attempt.saturating_sub(1));
                self.abandoned = self.abandoned.max(Some(given_up));
                let prepared = prepared.map(|prepared| *prepared);
                let promises = self.promise(view);
                promises.change = Some((view.attempt, prepared.clone()));
                promises.prepared = prepared.or(promises.prepared.take());
            }
            Record::Decided(certificate) => {
                let slot = certificate.view.slot;
                self.promises.remove(&slot);
                self.decided.insert(slot, *certificate);
            }
            Record::Finalized(slot) => {
                self.finalized = self.finalized.max(Some(slot));
                let kept = kept_from(slot, self.schedule.as_ref());
                if self.bodies.keys().next() < Some(&kept) {
                    self.bodies = self.bodies.split_off(&kept);
                    self.forget_batches(slot);
                }
                self.decided = self.decided.split_off(&kept);
                // These are final, and nothing is released for another value of theirs.
                self.released.retain(|(slot, _)| *slot >= kept);
                self.forget_shown();
            }
            Record::History(slot, history) => self.history = Some((slot, history)),
            Record::Shown(contents) => {
                self.pending.insert(contents.slot(), contents);
            }
            Record::Adopted(runs) => self.adopt(runs),
        }
    }

    /// Takes what was shown: these heights have blocks.
    fn adopt(&mut self, runs: Vec<Run>) {
        self.shown.append(&mut self.pending);
        for Run { first, last } in runs {
            let known = self.runs.entry(first).or_insert(last);
            *known = last.max(*known);
            self.finalized = self.finalized.max(Some(last));
        }
        self.forget_shown();
    }

    /// Forgets what was shown of heights that later ones do not depend on.
    fn forget_shown(&mut self) {
        let reported = self.finalized;
        self.shown.retain(|slot, _| Some(slot.after(BATCHES_KEPT)) > reported);
    }

    /// Begins with an epoch in place of what earlier records say about its place: forgets the heights before.
    pub(crate) fn begin_at(&mut self, schedule: Schedule, ordered: Ordered) {
        let first = schedule.first();
        self.promises = self.promises.split_off(&first);
        self.decided = self.decided.split_off(&first);
        self.bodies = self.bodies.split_off(&first);
        self.batches.retain(|_, batch| batch.until() >= first);
        self.released.retain(|(slot, _)| *slot >= first);
        self.finalized = first.get().checked_sub(1).map(Slot::new);
        (self.schedule, self.ordered, self.retained) = (Some(schedule), Some(ordered), Some(first));
    }

    /// Forgets batches that no later block may hold, unless a kept one does.
    fn forget_batches(&mut self, reported: Slot) {
        let bodies = self.bodies.values().flatten();
        let kept: BTreeSet<BatchId> =
            bodies.flat_map(Body::batches).map(|batch| batch.id).collect();
        self.batches.retain(|id, batch| batch.until() > reported || kept.contains(id));
    }

    fn promise(&mut self, view: View) -> &mut Promises {
        self.promises.entry(view.slot).or_default()
    }
}

/// The first height that is kept when this one has been reported: the epoch's decisions are needed for
/// the leaders of the next one.
pub(crate) fn kept_from(reported: Slot, schedule: Option<&Schedule>) -> Slot {
    let kept = Slot::new(reported.get().saturating_sub(KEPT));
    schedule.map_or(Slot::new(0), |schedule| kept.min(schedule.first()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::certificate::{CHANGE, MultiSignature};
    use crate::config::Replicas;
    use crate::tests::{context, members, secret};

    const FOUR: [u128; 4] = [1; 4];

    #[test]
    fn the_log_forgets_what_is_long_final_but_not_the_epoch() {
        let body = |slot| Record::Body { slot: Slot::new(slot), body: Body::default() };
        let mut records = Records::default();
        (1..=KEPT + 20).for_each(|slot| records.apply(body(slot)));
        records.apply(Record::Finalized(Slot::new(KEPT + 10)));
        assert_eq!(records.bodies.len(), 276, "the first epoch is not over");
        records.apply(Record::Epoch(Schedule::starting_at(9, Slot::new(KEPT + 11))));
        records.apply(Record::Finalized(Slot::new(KEPT + 10)));
        assert_eq!(records.bodies.keys().next(), Some(&Slot::new(10)));
    }

    #[test]
    fn what_was_released_at_heights_that_are_long_final_is_forgotten() {
        let committee = Replicas::new(&context(0), members(&FOUR)).unwrap();
        let votes = MultiSignature {
            signers: committee.signers([]),
            signature: secret(0).sign(CHANGE, b""),
        };
        let commit = |slot| {
            let view = View::new(Slot::new(slot), 0);
            let prepared =
                VoteCertificate { view, value: Value::new([1; 32]), votes: votes.clone() };
            Record::Commit { prepared: Box::new(prepared), partial: Some(vec![1]) }
        };
        let mut records = Records::default();
        records.apply(Record::Epoch(Schedule::starting_at(9, Slot::new(KEPT + 11))));
        for slot in 1..=KEPT + 20 {
            records.apply(commit(slot));
        }
        records.apply(Record::Finalized(Slot::new(KEPT + 10)));
        let first = |records: &Records| records.released.first().map(|(slot, _)| slot.get());
        assert_eq!((records.released.len(), first(&records)), (267, Some(10)));
        // A checkpoint stands for all before it.
        records.begin_at(Schedule::starting_at(10, Slot::new(KEPT + 15)), Ordered::default());
        assert_eq!((records.released.len(), first(&records)), (6, Some(KEPT + 15)));
    }
}
