//! The callbacks: the functions that an engine calls.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_channel::Receiver;
use prefinal_beacon::stack::Channel;
use prefinal_beacon::{Record, Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_journal::{Journal, JournalError, Journaled, OpenError};

use crate::driven::DrivenMachine;
use crate::error::{MessageError, StopReason};
use crate::options::{Figures, Options};
use crate::pool::Pool;
use crate::shared::Shared;

/// Why [`Driver::start`] made no driver.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError<E> {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The machine refuses its configuration or its records.
    #[error(transparent)]
    Machine(E),
    /// The reader is too far behind: the journal no longer holds slots that it has not read.
    #[error("{next} is to be revealed again, the journal goes back to {oldest:?} only")]
    Forgotten {
        /// The slot after the last that was read.
        next: Slot,
        /// The oldest final slot in the journal.
        oldest: Option<Slot>,
    },
}

impl<E> StartError<E> {
    /// The error's code: stable, for programs; the text is for people and may change. A machine's own error has
    /// its own code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Journal(error) => error.code(),
            Self::Machine(_) => "machine-refused",
            Self::Forgotten { .. } => "slots-forgotten",
        }
    }
}

/// A machine that threads and tasks can call: a [`Beacon`](prefinal_beacon::Beacon), a
/// [`Stack`](prefinal_beacon::stack::Stack), or a machine that also generates keys. Clones are handles of the
/// same machine. When the last handle is dropped, the machine is dropped and the stream of its effects ends.
pub struct Driver<M: DrivenMachine> {
    shared: Arc<Shared<M>>,
}

impl<M: DrivenMachine> Clone for Driver<M> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<M: DrivenMachine> fmt::Debug for Driver<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

impl<M: DrivenMachine> Driver<M> {
    /// Starts a machine that continues where its journal ends. `build` makes the machine from the records
    /// in the journal.
    ///
    /// The receiver gives the effects of the machine, by `recv().await`, by `recv_blocking()`, or as a
    /// `Stream`. They come in the order in which they are to be carried out, and each one only when the
    /// records before it are durable. The effects that a restart repeats are in the stream already. Jobs
    /// are not in the stream: they run on the pool.
    ///
    /// # Errors
    /// If the journal cannot be read, if the machine refuses to start, or if the journal no longer holds
    /// all slots after [`Options::read`].
    pub fn start<E>(
        build: impl FnOnce(Vec<M::Record>) -> Result<M, E>,
        journal: impl Journal + Send + 'static,
        pool: impl Pool,
        options: Options,
    ) -> Result<(Self, Receiver<M::Effect>), StartError<E>> {
        Self::start_behind(|_| Vec::new(), build, journal, pool, options)
    }

    /// As [`Self::start`], with records behind those in the journal: `more` says which. They are durable before the
    /// machine is made.
    ///
    /// # Errors
    /// As [`Self::start`], and if the journal cannot be written.
    pub fn start_behind<E>(
        more: impl FnOnce(&[M::Record]) -> Vec<M::Record>,
        build: impl FnOnce(Vec<M::Record>) -> Result<M, E>,
        journal: impl Journal + Send + 'static,
        pool: impl Pool,
        options: Options,
    ) -> Result<(Self, Receiver<M::Effect>), StartError<E>> {
        let journal: Box<dyn Journal + Send> = Box::new(journal);
        let machine = Journaled::open_behind(journal, more, |mut records| {
            let claims = Claims::forget::<M>(&mut records, &options);
            let machine = build(records).map_err(StartError::Machine)?;
            claims.check(&machine)?;
            Ok(machine)
        });
        let mut machine = machine.map_err(|error: OpenError<StartError<E>>| {
            error.into_machine().unwrap_or_else(StartError::Journal)
        })?;
        if let Some(summary) = M::SUMMARY {
            machine = machine.shortened(options.shorten.get(), summary);
        }
        let (sender, effects) = async_channel::unbounded();
        let shared = Arc::new(Shared::new(machine, Box::new(pool), sender, options));
        match shared.urgent(|running| shared.begin(running)) {
            Err(StopReason::Journal(error)) => Err(StartError::Journal(error)),
            // No handle exists yet, so no caller can have asked the driver to stop.
            _ => Ok((Self { shared }, effects)),
        }
    }

    /// Call it when this party is about to vote for the value, and enough such votes in this view make the
    /// value final. Gives the message to put into the vote's envelope; the message's record is durable.
    /// `None` if nothing may leave early; the reason is among the effects, once if this party has no shares.
    ///
    /// Call it before the vote is sent. If the journal is in the engine's own log, call it after the vote
    /// is entered there, so that one write makes both durable.
    ///
    /// # Errors
    /// [`StopReason`]. The vote then goes out without a message.
    pub fn on_prefinalize(
        &self,
        slot: Slot,
        view: View,
        value: Value,
    ) -> Result<Option<M::Message>, StopReason> {
        self.shared.urgent(|running| {
            let mut early = None;
            let input = M::prefinalized(slot, view, value);
            self.shared.step(running, input, |effect| match M::early(effect, slot) {
                // A second message exists if one envelope has no room for all channels. It goes by itself.
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

    /// Call it when the engine knows that the slot is final. `block` is `None` if the slot was skipped.
    ///
    /// # Errors
    /// [`StopReason`]. Report the slot again after the restart.
    pub fn on_finalize(&self, slot: Slot, block: Option<M::Block>) -> Result<(), StopReason> {
        self.tell(M::finalized(slot, block))
    }

    /// Call it when this party is about to sign a timeout or nullify for this view.
    ///
    /// # Errors
    /// [`StopReason`]. Then nothing may be signed: after a restart this party might release a partial that
    /// the signature forbids.
    pub fn on_view_abandoned(&self, view: View) -> Result<(), StopReason> {
        self.tell(M::abandoned(view))
    }

    /// Gives the machine any other input: a late key, a switch, a slot's content.
    ///
    /// # Errors
    /// [`StopReason`]. If the machine refuses the input, the refusal comes back as an effect.
    pub fn tell(&self, input: M::Input) -> Result<(), StopReason> {
        self.shared.urgent(|running| self.shared.step(running, input, Some))
    }

    /// Calls a method of the machine that answers at once, for example
    /// [`Stack::hand_over`](prefinal_beacon::stack::Stack::hand_over). When this returns, the records that
    /// follow from the call are durable. `act` must not poll the machine.
    ///
    /// # Errors
    /// [`StopReason`]. Whether the call took effect is known only after the restart.
    pub fn change<T>(&self, act: impl FnOnce(&mut M) -> T) -> Result<T, StopReason> {
        self.shared.urgent(|running| self.shared.change(running, act))
    }

    /// Takes a peer's message from a link that authenticates the peer. Never waits. `from` is the peer's
    /// number in the epoch that the message names; the peer may have another number in the newest epoch.
    ///
    /// # Errors
    /// If the sender is not in the committee, if the message is dropped, or if the driver has stopped.
    /// A dropped message is no reason to close the link, and even less to stop the engine: see
    /// [`MessageError`].
    pub fn on_message(&self, from: Party, message: M::Message) -> Result<(), MessageError> {
        if let Some(why) = self.shared.stopped() {
            return Err(why.into());
        }
        let taken = self.shared.inbox.message(from, message);
        self.shared.work();
        taken
    }

    /// If it is time, asks again for missing messages and hands lost jobs to the pool again. If it is not
    /// time, the call costs nothing. Call it at a steady pace, for example ten times in
    /// [`Limits::retry`](prefinal_beacon::Limits::retry), or when [`next_tick`](Self::next_tick) says so.
    ///
    /// # Errors
    /// [`StopReason`], if the driver has stopped.
    pub fn tick(&self) -> Result<(), StopReason> {
        self.shared.urgent(|running| self.shared.tick(running))
    }

    /// The time from now until the next [`tick`](Self::tick) is due, if nothing else happens before.
    /// `None` if no tick is due. Every callback may bring the time closer.
    ///
    /// # Errors
    /// [`StopReason`], if the driver has stopped.
    pub fn next_tick(&self) -> Result<Option<Duration>, StopReason> {
        self.shared.urgent(|running| Ok(self.shared.next_tick(running)))
    }

    /// Calls [`tick`](Self::tick) at this pace on the calling thread, until the driver stops. Gives the
    /// reason why it stopped.
    pub fn run_clock(&self, pace: Duration) -> StopReason {
        loop {
            thread::sleep(pace);
            if let Err(why) = self.tick() {
                return why;
            }
        }
    }

    /// Figures about the running driver, for monitoring.
    ///
    /// # Errors
    /// [`StopReason`], if the driver has stopped.
    pub fn figures(&self) -> Result<Figures, StopReason> {
        self.shared.urgent(|running| Ok(self.shared.figures(running)))
    }

    /// Stops the driver. The journal is synced and closed, and jobs on the pool are abandoned. The stream
    /// ends after the effects that it already holds. Every later call is refused. A restart computes the
    /// abandoned jobs again.
    ///
    /// # Errors
    /// If the journal fails, or the driver had stopped for another reason before.
    pub fn shut_down(&self) -> Result<(), StopReason> {
        self.shared.shut_down()
    }
}

/// What the journal says of each channel that is read durably: its final slots, and how far it had revealed.
#[derive(Default)]
struct Claims {
    read: BTreeMap<Channel, Slot>,
    finals: BTreeMap<Channel, BTreeSet<Slot>>,
    heads: BTreeMap<Channel, Slot>,
}

impl Claims {
    /// Changes the records so that they say: nothing was revealed after the last slot that was read.
    fn forget<M: DrivenMachine>(records: &mut [M::Record], options: &Options) -> Self {
        let read_of = |channel| match channel == Channel::new(0) {
            true => options.read,
            false => options.read_beside.or(options.read),
        };
        let mut claims = Self::default();
        for record in records {
            let Some((channel, record)) = M::beacon_record(record) else { continue };
            let Some(read) = read_of(channel) else { continue };
            claims.read.insert(channel, read);
            match record {
                Record::Finalized { slot, .. } => {
                    claims.finals.entry(channel).or_default().insert(*slot);
                }
                Record::Revealed { slot } => {
                    let last = claims.heads.entry(channel).or_insert(*slot);
                    *last = (*last).max(*slot);
                    *slot = (*slot).min(read);
                }
                // What was passed over because another reader had it is wanted again if that one has lost it.
                Record::PassedOver { first, last } if channel != Channel::new(0) => {
                    *record = match *first > read {
                        true => Record::Revealed { slot: read },
                        false => Record::PassedOver { first: *first, last: (*last).min(read) },
                    };
                }
                _ => {}
            }
        }
        claims
    }

    /// Checks that every slot to be revealed again is in the journal. A missing one would block all after it.
    fn check<M: DrivenMachine, E>(&self, machine: &M) -> Result<(), StartError<E>> {
        for (channel, last) in &self.heads {
            let Some(first) = machine.first(*channel) else { continue };
            let Some(read) = self.read.get(channel) else { continue };
            let next = read.next().max(first);
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
