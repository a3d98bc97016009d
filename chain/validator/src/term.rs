//! The engine of one epoch, in the chain's numbering of slots.
//!
//! Each epoch has its own engine, which counts its slots from 1 and knows nothing of other epochs. The
//! chain's numbering continues:
//!
//! ```text
//!  chain     1  2 … b−2  b−1 │ b  b+1 …
//!  engine e  1  2 … b−2  b−1 │ (parked)          base 0
//!  engine e+1                │ 1  2   …          base b−1
//! ```
//! Slot and view `s` of an engine are slot and view `base + s` of the chain.
//!
//! **Nothing about a slot from `b` on is ever said under epoch e.** The place of `b` follows from what
//! was ordered, and a party may still be judging that. Until it has, the boundary may lie at a *limit*,
//! and the participant holds back what is said about slots from there on ([`crate::participant`]). If
//! the engine gives up a view beyond the limit, the last view below the limit is reported, because the
//! engine gives that up too. The rest is reported when the limit has moved.
//!
//! **An engine that has ended** still runs. The last votes of its epoch may have reached this party
//! alone, and others need its engine to get them. Its events from the boundary on are ignored, and it
//! proposes nothing new. Once a quorum has left the epoch it is *quiet*: it answers parties that are
//! behind, but only its messages to one party leave, and it has no deadlines. This brings a party that
//! is behind as far as its engine asks, which may be short of the boundary. Peers tell it the rest
//! ([`crate::vouch`]).
use std::collections::VecDeque;

use prefinal_engine::{Effect, Engine, Input, Output};
use prefinal_protocol::{Instant, Recipient, Slot, View};

/// An engine with its place in the chain's numbering of slots.
pub struct Term<E: Engine> {
    engine: E,
    /// The slot of the chain before the engine's first slot.
    base: u64,
    /// From this slot on the next epoch may begin.
    limit: Option<Slot>,
    /// The first slot of the next epoch, once all slots before it are final here.
    end: Option<Slot>,
    /// Whether a quorum has left the epoch.
    quiet: bool,
    /// The latest view that was given up, and the part of it that was reported.
    abandoned: Option<View>,
    told: Option<View>,
    /// Effects that were held and may leave now.
    free: VecDeque<Effect<E>>,
}

impl<E: Engine> Term<E> {
    /// An engine whose first slot is the chain's slot `first`.
    #[must_use]
    pub const fn new(engine: E, first: Slot) -> Self {
        Self {
            engine,
            base: first.get().saturating_sub(1),
            limit: None,
            end: None,
            quiet: false,
            abandoned: None,
            told: None,
            free: VecDeque::new(),
        }
    }

    /// The chain's slot for a slot of the engine.
    #[must_use]
    pub const fn slot(&self, own: Slot) -> Slot {
        own.after(self.base)
    }

    /// The chain's view for a view of the engine.
    #[must_use]
    pub const fn view(&self, own: View) -> View {
        View::new(self.slot(own.slot), own.attempt)
    }

    /// Whether this engine only answers single parties.
    #[must_use]
    pub const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Passes an input to the engine. An engine that has ended gets no transactions, and a quiet one no
    /// deadlines.
    pub fn handle(&mut self, now: Instant, input: Input<E>) {
        let idle = match input {
            Input::Submit(_) => self.end.is_some(),
            Input::Tick => self.quiet,
            _ => false,
        };
        if !idle {
            self.engine.handle(now, input);
        }
    }

    /// See [`Engine::idle`]. An engine that has ended begins nothing.
    pub fn idle(&mut self, now: Instant) {
        if self.end.is_none() {
            self.engine.idle(now);
        }
    }

    /// See [`Engine::memory`]. An engine that has ended begins nothing.
    pub fn memory(&mut self, now: Instant, bytes: u64) {
        if self.end.is_none() {
            self.engine.memory(now, bytes);
        }
    }

    /// See [`Engine::carry`]. A quiet engine's votes do not leave, so it carries nothing.
    ///
    /// # Errors
    /// The bytes, if they must be sent separately.
    pub fn carry(&mut self, partial: Vec<u8>) -> Result<(), Vec<u8>> {
        if self.quiet { Err(partial) } else { self.engine.carry(partial) }
    }

    /// The time at which the engine wants to be handled again.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        if self.quiet { None } else { self.engine.wake_at() }
    }

    /// Sets the slot from which the next epoch may begin; `None` if there is no next epoch.
    pub fn set_limit(&mut self, limit: Option<Slot>) {
        self.limit = limit;
        self.tell_abandoned();
    }

    /// Ends the epoch: the next one begins with this slot, and all slots before it are final here.
    pub fn end(&mut self, first: Slot) {
        self.end = Some(first);
        self.limit = None;
        self.free.clear();
    }

    /// Makes the engine quiet: a quorum has left the epoch.
    pub const fn quieten(&mut self) {
        self.quiet = true;
    }

    /// The next output, in the chain's slots and views.
    pub fn poll(&mut self) -> Option<Output<E>> {
        loop {
            if let Some(effect) = self.free.pop_front() {
                return Some(Output::Do(effect));
            }
            let effect = match self.engine.poll()? {
                Output::Do(effect) => effect,
                record => return Some(record),
            };
            if let Some(effect) = self.place(effect) {
                return Some(Output::Do(effect));
            }
        }
    }

    /// The effect in the chain's numbering, if it may be reported now.
    fn place(&mut self, effect: Effect<E>) -> Option<Effect<E>> {
        match effect {
            Effect::Send { to: Recipient::All, .. } if self.quiet => None,
            Effect::Proposed { slot, parent, block } => {
                let slot = self.slot(slot);
                let may = self.end.is_none_or(|end| slot < end);
                may.then_some(Effect::Proposed { slot, parent, block })
            }
            Effect::Prefinalized { slot, view, value } => {
                let (slot, view) = (self.slot(slot), self.view(view));
                let may = self.end.is_none_or(|end| slot < end && view.slot < end);
                may.then_some(Effect::Prefinalized { slot, view, value })
            }
            Effect::Finalized { slot, block } => {
                let slot = self.slot(slot);
                let may = self.end.is_none_or(|end| slot < end);
                may.then_some(Effect::Finalized { slot, block })
            }
            Effect::Abandoned { view } => {
                self.abandoned = self.abandoned.max(Some(self.view(view)));
                self.tell_abandoned();
                None
            }
            effect => Some(effect),
        }
    }

    /// Reports that views were given up, as far as they lie below the limit and were not reported before.
    fn tell_abandoned(&mut self) {
        let Some(abandoned) = self.abandoned else { return };
        let last = self
            .end
            .or(self.limit)
            .map(|end| View::new(Slot::new(end.get().saturating_sub(1)), u32::MAX));
        let view = last.map_or(abandoned, |last| abandoned.min(last));
        if self.told < Some(view) {
            self.told = Some(view);
            self.free.push_back(Effect::Abandoned { view });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::convert::Infallible;

    use prefinal_engine::{Block, Quorum};
    use prefinal_protocol::{Party, Value};

    use super::*;

    /// Says what it is told to say.
    #[derive(Default)]
    struct Script {
        says: VecDeque<Output<Self>>,
        heard: Vec<&'static str>,
    }

    impl Engine for Script {
        type Message = u8;
        type Record = u8;
        type Job = Infallible;
        type Verdict = Infallible;

        const FAST_ATTEMPT: Option<u32> = Some(0);
        const QUORUM: Quorum = Quorum::BYZANTINE;

        fn handle(&mut self, _: Instant, input: Input<Self>) {
            self.heard.push(match input {
                Input::Start => "start",
                Input::Received { .. } => "received",
                Input::Submit(_) => "submit",
                Input::Checked(_) => "checked",
                Input::Tick => "tick",
            });
        }

        fn poll(&mut self) -> Option<Output<Self>> {
            self.says.pop_front()
        }

        fn wake_at(&self) -> Option<Instant> {
            Some(Instant::START)
        }

        fn idle(&mut self, _: Instant) {
            self.heard.push("idle");
        }

        fn memory(&mut self, _: Instant, bytes: u64) {
            self.heard.push(if bytes == 0 { "no memory" } else { "memory" });
        }
    }

    const VALUE: Value = Value::new([7; 32]);

    fn finalized(slot: u64) -> Effect<Script> {
        let block = Some(Block { value: VALUE, transactions: Vec::new() });
        Effect::Finalized { slot: Slot::new(slot), block }
    }

    fn prefinalized(slot: u64) -> Effect<Script> {
        let slot = Slot::new(slot);
        Effect::Prefinalized { slot, view: View::new(slot, 0), value: VALUE }
    }

    fn abandoned(slot: u64, attempt: u32) -> Effect<Script> {
        Effect::Abandoned { view: View::new(Slot::new(slot), attempt) }
    }

    fn send(to: Recipient<Party>) -> Effect<Script> {
        Effect::Send { to, message: 1 }
    }

    /// What is heard of the engine, in short.
    fn heard(term: &mut Term<Script>, says: Vec<Effect<Script>>) -> Vec<String> {
        term.engine.says.extend(says.into_iter().map(Output::Do));
        let word = |output| match output {
            Output::Keep(_) | Output::Note(_) => "record".to_owned(),
            Output::Do(Effect::Finalized { slot, .. }) => format!("final {}", slot.get()),
            Output::Do(Effect::Prefinalized { slot, view, .. }) => {
                format!("pre {} in {}", slot.get(), view.slot.get())
            }
            Output::Do(Effect::Abandoned { view }) => match view.attempt {
                u32::MAX => format!("gave up all of {}", view.slot.get()),
                attempt => format!("gave up {}.{attempt}", view.slot.get()),
            },
            Output::Do(Effect::Send { to: Recipient::All, .. }) => "to all".to_owned(),
            Output::Do(Effect::Send { to: Recipient::One(_), .. }) => "to one".to_owned(),
            Output::Do(_) => "else".to_owned(),
        };
        std::iter::from_fn(|| term.poll()).map(word).collect()
    }

    fn term(first: u64) -> Term<Script> {
        Term::new(Script::default(), Slot::new(first))
    }

    #[test]
    fn an_engine_of_a_later_epoch_counts_on() {
        let says = || vec![prefinalized(1), finalized(1), abandoned(2, 3), finalized(2)];
        let first = ["pre 1 in 1", "final 1", "gave up 2.3", "final 2"];
        assert_eq!(heard(&mut term(1), says()), first);
        let later = ["pre 40 in 40", "final 40", "gave up 41.3", "final 41"];
        assert_eq!(heard(&mut term(40), says()), later);
    }

    #[test]
    fn a_view_beyond_the_limit_gives_up_all_below_at_once_and_the_rest_later() {
        let mut term = term(1);
        term.set_limit(Some(Slot::new(5)));
        assert_eq!(heard(&mut term, vec![abandoned(3, 0)]), ["gave up 3.0"]);
        let all = vec![abandoned(7, 1), abandoned(6, 0)];
        assert_eq!(heard(&mut term, all), ["gave up all of 4"]);
        // Before anything is said of the slots that are free now.
        term.set_limit(None);
        assert_eq!(heard(&mut term, vec![prefinalized(7)]), ["gave up 7.1", "pre 7 in 7"]);
    }

    #[test]
    fn an_engine_that_has_ended_goes_on_until_a_quorum_has_left() {
        let mut term = term(1);
        let one = Recipient::One(Party::new(2));
        term.set_limit(Some(Slot::new(3)));
        term.end(Slot::new(3));
        let says = || {
            let sends = vec![send(Recipient::All), send(one)];
            let events = vec![prefinalized(3), finalized(4), abandoned(5, 0), abandoned(6, 0)];
            sends.into_iter().chain(events).collect()
        };
        assert_eq!(heard(&mut term, says()), ["to all", "to one", "gave up all of 2"]);
        assert!(term.wake_at().is_some());
        term.quieten();
        assert_eq!(heard(&mut term, says()), ["to one"]);
        assert_eq!((term.is_quiet(), term.wake_at()), (true, None));
        assert_eq!(term.carry(vec![1]), Err(vec![1]));
        term.engine.says.push_back(Output::Keep(9));
        assert_eq!(heard(&mut term, vec![]), ["record"]);
        for input in [
            Input::Tick,
            Input::Submit(vec![1]),
            Input::Received { from: Party::new(2), message: 1 },
        ] {
            term.handle(Instant::START, input);
        }
        term.idle(Instant::START);
        term.memory(Instant::START, 0);
        assert_eq!(term.engine.heard, ["received"]);
    }

    #[test]
    fn an_engine_is_told_what_the_network_and_the_memory_have_room_for() {
        let mut term = term(1);
        term.idle(Instant::START);
        term.memory(Instant::START, 0);
        term.memory(Instant::START, 1);
        assert_eq!(term.engine.heard, ["idle", "no memory", "memory"]);
    }
}
