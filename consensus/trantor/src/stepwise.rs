//! Epochs one step at a time: an engine under a [`Replica`](crate::Replica) stops at an epoch's end until the
//! replica lets it go on, with the committee of the next epoch.
//!
//! All heights of the epoch are then decided and reported, so nothing is open. What peers that are ahead sent
//! about the next epoch waits: votes in the collectors, and heights that they decide. If the committee
//! changes, the replica keeps these messages instead, for votes of another committee count other stakes.
use std::sync::Arc;

use ::prefinal_engine::collector::Collector;
use prefinal_protocol::{Instant, Slot};

use crate::config::Replicas;
use crate::engine::Trantor;
use crate::fetch::Fetch;
use crate::message::{BodyRequest, Message};
use crate::order::Ordered;
use crate::schedule::Schedule;

impl Trantor {
    /// Whether all heights of the epoch are reported.
    pub(crate) fn is_epoch_over(&self) -> bool {
        self.unreported >= self.schedule.end()
    }

    /// The epoch after one that is over, with this committee.
    pub(crate) fn next_schedule(&self, committee: &Replicas) -> Schedule {
        self.schedule.next(&self.failed, committee)
    }

    /// The lowest height whose decision is kept for peers.
    pub(crate) fn oldest(&self) -> Slot {
        self.decided.keys().next().copied().unwrap_or(self.next).min(self.next)
    }

    /// The height that a peer asks about, if that is not here: it was long ago, or a restart has left it out.
    pub(crate) fn lacks(&self, message: &Message) -> Option<Slot> {
        let (slot, lacks) = match message {
            Message::Request(first) => (*first, *first < self.oldest()),
            Message::BodyRequest(BodyRequest { slot, value }) => {
                let here = self.bodies.get(slot).is_some_and(|bodies| bodies.contains_key(value));
                (*slot, !here)
            }
            // Any height may need it.
            Message::BatchRequest(id) => (Slot::new(u64::MAX), self.store.get(*id).is_none()),
            _ => return None,
        };
        lacks.then_some(slot)
    }

    /// Begins the next epoch. Decisions from `retained` on are kept for peers.
    pub(crate) fn enter(
        &mut self,
        now: Instant,
        committee: Arc<Replicas>,
        schedule: Schedule,
        retained: Slot,
    ) {
        if committee.context() != self.committee.context() {
            self.forget_votes();
            self.store.forget_certificates();
            self.committee = committee;
        }
        self.schedule = schedule;
        self.failed.clear();
        self.retained = Some(retained);
        let waiting = self.store.own(self.me);
        self.pass_on(waiting);
        self.sum_early();
        if self.started {
            self.advance(now);
            self.spread_uncertified(now);
        }
    }

    /// Goes to a later epoch from a checkpoint: everything before is given up. What this party has promised
    /// is about heights before; batches that it has acknowledged stay.
    pub(crate) fn jump(
        &mut self,
        now: Instant,
        committee: Arc<Replicas>,
        schedule: Schedule,
        ordered: Ordered,
    ) {
        let first = schedule.first();
        self.forget_votes();
        self.open.clear();
        self.turns.clear();
        self.promises = self.promises.split_off(&first);
        self.decided = self.decided.split_off(&first);
        self.bodies = self.bodies.split_off(&first);
        self.carried.clear();
        self.charged.clear();
        self.heard = self.heard.split_off(&first);
        self.fetch = Fetch::new(self.fetch.grace());
        // The jobs that checked acknowledgements are forgotten as well.
        self.store.spreading.clear();
        self.ordered = ordered;
        self.set_ordered();
        (self.next, self.unreported) = (first, first);
        self.enter(now, committee, schedule, first);
    }

    /// Forgets votes that were not decided on, and jobs about them.
    fn forget_votes(&mut self) {
        self.prepares = Collector::default();
        self.commits = Collector::default();
        self.asks.clear();
        self.early.clear();
        self.jobs.clear();
        self.leading = None;
    }
}
