//! One play: a committee in the simulator, under a watch.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use prefinal_engine::{Engine, Input};
use prefinal_protocol::{Instant, Party, Slot};
use prefinal_sim::rule::{self, Rule};
use prefinal_sim::{Disk, Network, Seat, Setup, Simulation, Stop};
use prefinal_weighted_rounding::Stake;

use crate::event::Event;
use crate::host::{Committee, Host, Overheard};
use crate::sample::{MessageOf, Sample};
use crate::violation::Violation;
use crate::watch::{Terms, Watch};

/// The set-up of a play.
#[derive(Clone, Debug)]
pub struct Script {
    /// The members' stakes, and the settings of their engines.
    pub committee: Committee,
    /// The links between the seats: delays, losses, partitions.
    pub network: Network,
    /// Seed of all randomness.
    pub seed: u64,
    /// Members that may lie. The watch ignores them and counts their stake for every value.
    pub faulty: BTreeSet<Party>,
    /// Those faulty members that run two engines with one key.
    pub twins: Vec<Party>,
    /// Members that are away when the play begins.
    pub away: BTreeSet<Party>,
    /// Whether everything arrives in time and nobody crashes.
    pub calm: bool,
}

impl Script {
    /// A play with honest members and links of ten milliseconds.
    #[must_use]
    pub fn new(stakes: &[u128]) -> Self {
        Self {
            committee: Committee::new(stakes),
            network: Network::constant(Duration::from_millis(10)),
            seed: 0,
            faulty: BTreeSet::new(),
            twins: Vec::new(),
            away: BTreeSet::new(),
            calm: false,
        }
    }
}

/// A committee that runs under a watch.
pub struct Play<'s, S: Sample> {
    simulation: Simulation<Host<'s, S>>,
    watch: Watch,
}

impl<'s, S: Sample> Play<'s, S> {
    /// Puts every member into its seat.
    ///
    /// # Panics
    /// If there are no members.
    #[must_use]
    #[allow(clippy::expect_used, reason = "a play without members is a slip in a law")]
    pub fn new(sample: &'s S, script: Script) -> Self {
        let Script { committee, network, seed, faulty, twins, away, calm } = script;
        let quorum = S::Engine::QUORUM.of(Stake::new(committee.total())).get();
        let fast = S::Engine::FAST_ATTEMPT;
        let one_vote = S::FINAL_BY_ONE_VOTE;
        let terms = Terms { committee: committee.clone(), quorum, fast, faulty, calm, one_vote };
        let mut host = Host::new(sample, committee, &twins);
        away.iter().for_each(|party| host.set_away(*party, true));
        let setup = Setup::new(host.seats(), seed, network);
        let simulation = Simulation::new(host, setup).expect("a committee has members");
        Self { simulation, watch: Watch::new(terms) }
    }

    /// What the watch has seen of the play so far.
    #[must_use]
    pub const fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The current virtual time of the play.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.simulation.now()
    }

    /// Every member, also those that are faulty or away.
    #[must_use]
    pub fn parties(&self) -> Vec<Party> {
        self.simulation.host().committee().parties().collect()
    }

    pub(crate) fn overheard(&self) -> Overheard<MessageOf<S>> {
        self.simulation.host().overheard()
    }

    /// Gives a party a transaction after this time, or at once if that time is past.
    pub fn submit(&mut self, party: Party, after: Duration, transaction: Vec<u8>) {
        let at = Instant::at(after);
        for seat in self.seats(party).into_iter().take(1) {
            self.expect(|simulation| {
                simulation.input(seat, at, Input::Submit(transaction.clone()))
            });
        }
    }

    /// Gives a transaction to the twin of a faulty party only.
    pub fn submit_to_twin(&mut self, party: Party, transaction: Vec<u8>) {
        let at = self.now();
        for seat in self.seats(party).into_iter().skip(1) {
            self.expect(|simulation| {
                simulation.input(seat, at, Input::Submit(transaction.clone()))
            });
        }
    }

    /// Lets the party crash after this number of further effects.
    pub fn crash_after(&mut self, party: Party, effects: u64) {
        for seat in self.seats(party) {
            self.expect(|simulation| simulation.crash_after_effects(seat, effects));
        }
    }

    /// Lets the party crash now.
    ///
    /// # Errors
    /// The law that an event at this time breaks.
    pub fn crash(&mut self, party: Party) -> Result<(), Violation> {
        let now = self.now();
        for seat in self.seats(party) {
            self.expect(|simulation| simulation.crash(seat, now));
        }
        self.run(Duration::ZERO, |_| false).map(drop)
    }

    /// Starts the party from what it made durable before.
    ///
    /// # Errors
    /// The law that an event at this time breaks.
    pub fn restart(&mut self, party: Party) -> Result<(), Violation> {
        let now = self.now();
        self.simulation.host_mut().set_away(party, false);
        for seat in self.seats(party) {
            self.expect(|simulation| simulation.restart(seat, now, Disk::Kept));
        }
        self.run(Duration::ZERO, |_| false).map(drop)
    }

    /// Shows a party that has crashed what others have decided up to this slot. It goes on behind it at its next start.
    pub fn adopt(&mut self, party: Party, last: Slot) {
        let forgotten = Slot::new(last.get().saturating_sub(S::Engine::RECALLS));
        let blocks = self.watch.adopted(party, forgotten.next()..=last);
        self.simulation.host_mut().adopt(party, S::Engine::adopted(blocks.into_iter()));
    }

    /// Whether the party has crashed.
    #[must_use]
    pub fn is_down(&self, party: Party) -> bool {
        self.seats(party).iter().any(|seat| self.simulation.machine(*seat).is_none())
    }

    /// Applies a rule that rewrites what leaves a seat of a faulty party.
    pub fn corrupt(&mut self, seat: Seat, rule: impl Rule<MessageOf<S>> + 'static) {
        self.expect(|simulation| simulation.rule(seat, rule));
    }

    /// Lets each twin talk to one half of the others, and not to its twin.
    pub fn part_twins(&mut self, twin: Party) {
        let seats = self.seats(twin);
        for (half, seat) in (0..).zip(seats.clone()) {
            let own = seats.clone();
            let deaf = move |to: Seat| own.contains(&to) || to.get() % 2 != half;
            self.corrupt(seat, rule::drop_when(move |_, letter| deaf(letter.to)));
        }
    }

    /// The seats of a party.
    #[must_use]
    pub fn seats(&self, party: Party) -> Vec<Seat> {
        self.simulation.host().seats_of(party).collect()
    }

    /// Runs for this time, or until the goal is reached. Returns whether it was reached.
    ///
    /// # Errors
    /// The first law that is broken.
    pub fn run(
        &mut self,
        span: Duration,
        mut goal: impl FnMut(&Watch) -> bool,
    ) -> Result<bool, Violation> {
        let end = self.now() + span;
        let parties: Vec<Party> = {
            let host = self.simulation.host();
            (0..host.seats()).map(|seat| host.party(Seat::new(seat))).collect()
        };
        let who = |seat: Seat| parties.get(seat.index()).copied().unwrap_or(Party::new(u32::MAX));
        let (watch, mut seen, mut reached) = (&mut self.watch, 0_usize, false);
        let mut broken = None;
        let stop = self.simulation.run_watching(end, |note| {
            seen += 1;
            broken = watch.see(who(note.seat), &note.event).err();
            reached = matches!(note.event, Event::Finalized { .. }) && goal(watch);
            if broken.is_some() || reached {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        // If the first notes of a step were enough, the other notes of that step have happened too.
        let notes = self.simulation.take_notes();
        if let Some(violation) = broken {
            return Err(violation);
        }
        for note in notes.iter().skip(seen) {
            watch.see(who(note.seat), &note.event)?;
        }
        if let Stop::Spinning(seat) = stop {
            let why = "asks again and again to be woken at once".to_owned();
            return Err(Violation::Refused { party: who(seat), why });
        }
        Ok(reached || goal(watch))
    }

    /// Runs until these parties have finalized this slot.
    ///
    /// # Errors
    /// The first law that is broken, or [`Violation::Stalled`].
    pub fn reach(
        &mut self,
        parties: &[Party],
        slot: Slot,
        within: Duration,
    ) -> Result<(), Violation> {
        if self.run(within, |watch| watch.all_reach(parties, slot))? {
            return Ok(());
        }
        let last = |party: &&Party| self.watch.reached(**party);
        match parties.iter().min_by_key(last) {
            Some(party) => {
                let (party, reached, expected) = (*party, self.watch.reached(*party), slot);
                Err(Violation::Stalled { party, reached, expected })
            }
            None => Ok(()),
        }
    }

    #[allow(clippy::expect_used, reason = "seats come from the host")]
    fn expect<E: std::fmt::Debug>(
        &mut self,
        act: impl FnOnce(&mut Simulation<Host<'s, S>>) -> Result<(), E>,
    ) {
        act(&mut self.simulation).expect("a seat that there is");
    }
}
