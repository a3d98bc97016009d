//! The callbacks.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_channel::Receiver;
use beacon::stack::Channel;
use beacon::{Record, Slot, Value, View};
use crypto_core::access::Party;
use journal::{Journal, JournalError, Journaled, OpenError};

use crate::driven::Driven;
use crate::error::{MessageError, Stopped};
use crate::options::{Figures, Options};
use crate::pool::Pool;
use crate::shared::Shared;

/// Why a driver does not start.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StartError<E> {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine refuses its configuration or its records.
    #[error(transparent)]
    Machine(E),
    /// The reader is so far behind that the journal has forgotten what it lacks.
    #[error("{next} is to be revealed again, the journal goes back to {oldest:?} only")]
    Forgotten {
        /// The slot after the last that was read.
        next: Slot,
        /// The oldest final slot in the journal.
        oldest: Option<Slot>,
    },
}

/// A machine that is called from threads and tasks: a [`Beacon`](beacon::Beacon), a
/// [`Stack`](beacon::stack::Stack), or one with key generation. Clones are handles of one machine; when the
/// last is gone, so is the machine, and the stream of its effects ends.
pub struct Driver<M: Driven> {
    shared: Arc<Shared<M>>,
}

impl<M: Driven> Clone for Driver<M> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<M: Driven> fmt::Debug for Driver<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

impl<M: Driven> Driver<M> {
    /// Starts a machine that goes on where its journal ends: `build` makes it of the records there. Its
    /// effects are read by `recv().await`, by `recv_blocking()`, or as a `Stream`, in the order in which
    /// they are to be carried out, and each when the records before it are durable; what the last life had
    /// to say once more is among them already. Jobs are not: they run on the pool.
    ///
    /// # Errors
    /// If the journal cannot be read, the machine refuses to start, or [`Options::read`] lies before what
    /// the journal knows.
    pub fn start<E>(
        build: impl FnOnce(Vec<M::Record>) -> Result<M, E>,
        journal: impl Journal + Send + 'static,
        pool: impl Pool,
        options: Options,
    ) -> Result<(Self, Receiver<M::Effect>), StartError<E>> {
        let journal: Box<dyn Journal + Send> = Box::new(journal);
        let machine = Journaled::open(journal, |mut records| {
            let claims = options.read.map(|read| forget_reveals::<M>(&mut records, read));
            let machine = build(records).map_err(StartError::Machine)?;
            claims.map_or(Ok(()), |claims| claims.check(&machine))?;
            Ok(machine)
        });
        let mut machine = machine.map_err(|error| match error {
            OpenError::Journal(error) => StartError::Journal(error),
            OpenError::Machine(error) => error,
        })?;
        if let Some(summary) = M::SUMMARY {
            machine = machine.shortened(options.shorten.get(), summary);
        }
        let (sender, effects) = async_channel::unbounded();
        let shared = Arc::new(Shared::new(machine, Box::new(pool), sender, options));
        match shared.urgent(|running| shared.begin(running)) {
            Err(Stopped::Journal(error)) => Err(StartError::Journal(error)),
            // Nobody could have asked it to stop yet.
            _ => Ok((Self { shared }, effects)),
        }
    }

    /// This party is about to vote for the value, and enough such votes in this view make it final.
    /// Gives the message that belongs into the vote's envelope; its record is durable. `None` if
    /// nothing may leave early, and why is among the effects.
    ///
    /// Call it before the vote is sent; with a journal in the engine's own log, after the vote is
    /// entered there, so that one write makes both durable.
    ///
    /// # Errors
    /// [`Stopped`], and then the vote must do without.
    pub fn on_prefinalize(
        &self,
        slot: Slot,
        view: View,
        value: Value,
    ) -> Result<Option<M::Message>, Stopped> {
        self.shared.urgent(|running| {
            let mut early = None;
            let input = M::prefinalized(slot, view, value);
            self.shared.step(running, input, |effect| match M::early(effect, slot) {
                // A second one, of more channels than an envelope has room for, goes by itself.
                Ok(message) if early.is_none() => {
                    early = Some(message);
                    None
                }
                Ok(message) => Some(M::to_all(message)),
                Err(other) => Some(other),
            })?;
            Ok(early)
        })
    }

    /// The engine knows that the slot is final; `None` if it was skipped.
    ///
    /// # Errors
    /// [`Stopped`]: tell it again in the next life.
    pub fn on_finalize(&self, slot: Slot, block: Option<M::Block>) -> Result<(), Stopped> {
        self.tell(M::finalized(slot, block))
    }

    /// This party is about to sign a timeout or nullify for this view.
    ///
    /// # Errors
    /// [`Stopped`], and then nothing may be signed: after a restart the partial might leave that the
    /// signature rules out.
    pub fn on_view_abandoned(&self, view: View) -> Result<(), Stopped> {
        self.tell(M::abandoned(view))
    }

    /// Everything else that the machine takes: a late key, a switch, a slot's content.
    ///
    /// # Errors
    /// [`Stopped`]. What the machine refuses comes back as an effect.
    pub fn tell(&self, input: M::Input) -> Result<(), Stopped> {
        self.shared.urgent(|running| self.shared.step(running, input, Some))
    }

    /// A call on the machine that it answers at once, as [`Stack::hand_over`](beacon::stack::Stack::hand_over).
    /// What follows from it is durable when this returns; the machine is not to be polled in it.
    ///
    /// # Errors
    /// [`Stopped`]: whether it was called, the next life shows.
    pub fn change<T>(&self, act: impl FnOnce(&mut M) -> T) -> Result<T, Stopped> {
        self.shared.urgent(|running| self.shared.change(running, act))
    }

    /// A peer's message, over a link that authenticates the peer. Never waits. `from` is the peer's number
    /// in the epoch that the message names, which may be another than in the newest.
    ///
    /// # Errors
    /// If the sender is not of the committee, or the message is dropped, or nothing is taken any more.
    /// That it is dropped is no reason to end a link, much less the engine: see [`MessageError`].
    pub fn on_message(&self, from: Party, message: M::Message) -> Result<(), MessageError> {
        if let Some(why) = self.shared.stopped() {
            return Err(why.into());
        }
        let taken = self.shared.inbox.message(from, message);
        self.shared.work();
        taken
    }

    /// Asks again for what is missing and hands out again what the pool lost, if it is time. Costs
    /// nothing if it is not: call it at a steady pace, say ten times in
    /// [`Limits::retry`](beacon::Limits::retry), or when [`next_tick`](Self::next_tick) says so.
    ///
    /// # Errors
    /// [`Stopped`]
    pub fn tick(&self) -> Result<(), Stopped> {
        self.shared.urgent(|running| self.shared.tick(running))
    }

    /// How long from now until something is to be done if nothing happens before; every callback may
    /// bring it closer.
    ///
    /// # Errors
    /// [`Stopped`]
    pub fn next_tick(&self) -> Result<Option<Duration>, Stopped> {
        self.shared.urgent(|running| Ok(self.shared.next_tick(running)))
    }

    /// Ticks at this pace on the calling thread, until the driver stops. Gives the reason.
    pub fn run_clock(&self, pace: Duration) -> Stopped {
        loop {
            thread::sleep(pace);
            if let Err(why) = self.tick() {
                return why;
            }
        }
    }

    /// How it is doing.
    ///
    /// # Errors
    /// [`Stopped`]
    pub fn figures(&self) -> Result<Figures, Stopped> {
        self.shared.urgent(|running| Ok(self.shared.figures(running)))
    }

    /// Ends it: the journal is synced and closed, jobs on the pool are abandoned, the stream ends
    /// after the effects that it holds. Every later call is refused. A restart computes again what was
    /// abandoned.
    ///
    /// # Errors
    /// If the journal fails, or the driver had stopped for another reason before.
    pub fn shut_down(&self) -> Result<(), Stopped> {
        self.shared.shut_down()
    }
}

/// What each channel has on record, and had revealed beyond what was read.
struct Claims {
    read: Slot,
    finals: BTreeMap<Channel, BTreeSet<Slot>>,
    heads: BTreeMap<Channel, Slot>,
}

/// Makes the records say that nothing was revealed after the last slot that was read.
fn forget_reveals<M: Driven>(records: &mut [M::Record], read: Slot) -> Claims {
    let mut claims = Claims { read, finals: BTreeMap::new(), heads: BTreeMap::new() };
    for record in records {
        match M::beacon_record(record) {
            Some((channel, Record::Finalized { slot, .. })) => {
                claims.finals.entry(channel).or_default().insert(*slot);
            }
            Some((channel, Record::Revealed { slot })) => {
                let last = claims.heads.entry(channel).or_insert(*slot);
                *last = (*last).max(*slot);
                *slot = (*slot).min(read);
            }
            _ => {}
        }
    }
    claims
}

impl Claims {
    /// A slot that is missing would hold up all after it.
    fn check<M: Driven, E>(&self, machine: &M) -> Result<(), StartError<E>> {
        for (channel, last) in &self.heads {
            let Some(first) = machine.first(*channel) else { continue };
            let next = self.read.next().max(first);
            let finals = self.finals.get(channel);
            let known = finals.map_or(0, |finals| finals.range(next..=(*last).max(next)).count());
            let wanted = last.next().get().saturating_sub(next.get());
            if u64::try_from(known).is_ok_and(|known| known < wanted) {
                let oldest = finals.and_then(|finals| finals.first().copied());
                return Err(StartError::Forgotten { next, oldest });
            }
        }
        Ok(())
    }
}
