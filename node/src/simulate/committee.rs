//! The committee in the simulator: real machines, real cryptography, computed once.
//!
//! One host for the latency experiments, the campaign and the tests. Whether a vote or a partial is
//! valid, and what a slot's value is, does not depend on who asks; the first who asks computes it:
//!
//! | work                        | looked up under                                             |
//! |-----------------------------|-------------------------------------------------------------|
//! | votes, and sums of votes    | each vote alone; a sum of valid votes is valid              |
//! | other claims of the engine  | the engine's fingerprint of the work                        |
//! | partials into a value       | each partial alone; any quorum of valid ones gives one value |
//! | keys and dealings           | see [`Ground`]                                              |
//!
//! A seat is a party, unless the party is a Byzantine one with more seats than one (twins): these have
//! one key and hear the same messages.
//!
//! Elsewhere: what is charged ([`Prices`]), what is noted ([`Seen`]), when things happen (`sim`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crypto_core::access::Party;
use protocol::{Instant, Recipient};
use sim::{Host, Seat, Step};

pub use super::ground::Ground;
use super::prices::Bill;
pub use super::prices::Prices;
pub use super::seen::Seen;
use crate::failure::Failure;
use crate::keygen;
use crate::scheme::Keyed;
use crate::setup::{Identity, Setup};
use crate::simulate::lives::Lives;
use crate::validator::{Effect, Event, HaltError, Input, Job, Message, Record, Validator, Verdict};

/// What a Byzantine seat makes of its own key generation.
pub type Tamper<S> = Box<dyn Fn(&keygen::Job<S>, keygen::Verdict<S>) -> keygen::Verdict<S>>;

/// What an erring driver sends beside a message: so that checkers can be shown to bite.
pub type Slip<S> = Box<dyn FnMut(Seat, &Message<S>) -> Option<Message<S>>>;

/// Told of each message that arrives: when, where, from whom.
pub type Watch<S> = Box<dyn FnMut(Instant, Seat, Seat, &Message<S>)>;

/// Votes, certificates and partials that were seen and checked.
pub struct Knowledge<S: Keyed> {
    votes: jolteon::Known,
    claims: BTreeMap<jolteon::Fingerprint, jolteon::Verdict>,
    partials: ::beacon::Known<S>,
}

// Derived, it would ask for defaults of what is in it.
impl<S: Keyed> Default for Knowledge<S> {
    fn default() -> Self {
        let (votes, partials) = (jolteon::Known::default(), ::beacon::Known::default());
        Self { votes, claims: BTreeMap::new(), partials }
    }
}

impl<S: Keyed> Knowledge<S> {
    /// What is as true in the next run of the same committee: values of slots do not depend on blocks.
    #[must_use]
    pub fn for_next_run(self) -> Self {
        Self { partials: self.partials, ..Self::default() }
    }
}

/// The host: what the machines' outputs do.
pub struct Committee<S: Keyed> {
    ground: Arc<Ground<S>>,
    setup: Arc<Setup>,
    /// What names of blocks depend on.
    context: [u8; 32],
    parties: Vec<Party>,
    prices: Prices,
    /// `None`: every seat checks everything itself.
    knowledge: Option<Knowledge<S>>,
    /// Byzantine seats of the key generation.
    pub tampers: BTreeMap<Seat, Tamper<S>>,
    /// What goes wrong in drivers.
    pub slip: Option<Slip<S>>,
    /// Who measures links.
    pub watch: Option<Watch<S>>,
    lives: Lives,
    /// The first party that cannot go on, and why.
    halted: Option<(Party, HaltError)>,
}

impl<S: Keyed> Committee<S> {
    /// A host whose seats are the parties, in their order. `setup` is the ground's, or differs from it
    /// in what no key depends on.
    ///
    /// # Errors
    /// If the engine refuses the committee.
    pub fn new(
        ground: Arc<Ground<S>>,
        setup: Setup,
        prices: Prices,
    ) -> Result<Self, jolteon::ConfigError> {
        let parties = ground.identities().iter().map(|identity| identity.me).collect();
        let engine = jolteon::Committee::new(&setup.context, setup.members.clone())?;
        Ok(Self {
            ground,
            setup: Arc::new(setup),
            context: *engine.context(),
            parties,
            prices,
            knowledge: Some(Knowledge::default()),
            tampers: BTreeMap::new(),
            slip: None,
            watch: None,
            lives: Lives::default(),
            halted: None,
        })
    }

    /// Starts from what is known of an earlier run, or lets every seat check everything itself.
    #[must_use]
    pub fn knowing(mut self, knowledge: Option<Knowledge<S>>) -> Self {
        self.knowledge = knowledge;
        self
    }

    /// One more seat for each of these parties, behind the seats that there are.
    #[must_use]
    pub fn with_twins(mut self, of: impl IntoIterator<Item = Party>) -> Self {
        self.parties.extend(of);
        self
    }

    /// How many seats there are.
    #[must_use]
    pub fn seats(&self) -> u32 {
        u32::try_from(self.parties.len()).unwrap_or(u32::MAX)
    }

    /// Whose seat it is.
    #[must_use]
    pub fn party(&self, seat: Seat) -> Party {
        self.parties.get(seat.index()).copied().unwrap_or_else(|| Party::new(seat.get()))
    }

    /// The seats of a party.
    pub fn seats_of(&self, party: Party) -> impl Iterator<Item = Seat> {
        (0..)
            .map(Seat::new)
            .zip(&self.parties)
            .filter(move |(_, one)| **one == party)
            .map(|(at, _)| at)
    }

    /// Keys and set-up.
    #[must_use]
    pub const fn ground(&self) -> &Arc<Ground<S>> {
        &self.ground
    }

    /// The set-up of this run.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Whether all parties go on.
    ///
    /// # Errors
    /// The first that cannot.
    pub fn check_halted(&self) -> Result<(), Failure> {
        self.halted.as_ref().map_or(Ok(()), |(party, why)| Err(Failure::halted(*party, why)))
    }

    /// What was checked, for another run.
    #[must_use]
    pub fn into_knowledge(self) -> Option<Knowledge<S>> {
        self.knowledge
    }

    fn identity(&self, seat: Seat) -> Arc<Identity> {
        let found = self.ground.identities().get(self.party(seat).index());
        found.map_or_else(|| unreachable!("every seat has a party"), Arc::clone)
    }

    fn bill(&self) -> Bill<'_> {
        Bill { prices: self.prices, scheme: S::NAME, shape: self.setup.keygen.shape() }
    }

    fn run_engine(&mut self, job: &jolteon::Job) -> jolteon::Verdict {
        let Some(Knowledge { votes, claims, .. }) = &mut self.knowledge else { return job.run() };
        if matches!(job.work(), jolteon::Work::Votes { .. }) {
            return job.run_knowing(votes);
        }
        claims.entry(job.fingerprint()).or_insert_with(|| job.run_knowing(votes)).clone()
    }

    fn run_keygen(&self, seat: Seat, job: &keygen::Job<S>) -> keygen::Verdict<S> {
        let verdict = self.ground.run(&self.setup, &self.identity(seat), job);
        match self.tampers.get(&seat) {
            Some(tamper) => tamper(job, verdict),
            None => verdict,
        }
    }

    fn post(&mut self, to: Recipient<Party>, message: Message<S>, step: &mut Step<'_, Self>) {
        let from = self.party(step.seat());
        if let Some(Knowledge { votes, partials, .. }) = &mut self.knowledge {
            match &message {
                Message::Engine(message) => votes.see(from, message),
                Message::Beacon(message) => partials.see(from, message),
            }
        }
        Seen::sent(&message, &self.context).into_iter().for_each(|seen| step.note(seen));
        let message = Arc::new(message);
        match to {
            Recipient::All => step.send(Recipient::All, message),
            Recipient::One(party) => {
                for seat in self.seats_of(party) {
                    step.send(Recipient::One(seat), Arc::clone(&message));
                }
            }
        }
    }
}

impl<S: Keyed> Host for Committee<S> {
    type Machine = Validator<S>;
    type Message = Arc<Message<S>>;
    type Job = Job<S>;
    type Verdict = Verdict<S>;
    type Event = Seen<S>;

    fn boot(&mut self, seat: Seat, records: &[Record]) -> Validator<S> {
        let life = self.lives.begin(seat);
        let validator =
            Validator::new(Arc::clone(&self.setup), self.identity(seat), life, records.to_vec());
        validator.unwrap_or_else(|error| unreachable!("the set-up was checked: {error}"))
    }

    fn first_input(&mut self, _: Seat) -> Option<Input<S>> {
        Some(Input::Start)
    }

    fn arrives(&mut self, now: Instant, at: Seat, from: Seat, message: &Arc<Message<S>>) {
        if let Some(watch) = &mut self.watch {
            watch(now, at, from, message);
        }
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Arc<Message<S>>) -> Input<S> {
        Input::Received { from: self.party(from), message: Message::clone(message) }
    }

    fn checked(&mut self, _: Seat, verdict: Verdict<S>) -> Input<S> {
        Input::Checked(verdict)
    }

    fn tick(&mut self, _: Seat) -> Input<S> {
        Input::Tick
    }

    fn input_cost(&mut self, _: Seat, input: &Input<S>) -> Duration {
        self.bill().input(input)
    }

    fn writes(&mut self, record: &Record, step: &mut Step<'_, Self>) {
        Seen::written(record).into_iter().for_each(|seen| step.note(seen));
    }

    fn carry_out(&mut self, effect: Effect<S>, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send { to, message } => {
                step.spend(self.bill().message(self.party(step.seat()), &message));
                let slip = self.slip.as_mut().and_then(|slip| slip(step.seat(), &message));
                self.post(to, message, step);
                if let Some(slip) = slip {
                    self.post(Recipient::All, slip, step);
                }
            }
            Effect::Run(job) => step.run(job),
            Effect::Tell(event) => {
                if let Event::Halted(why) = &event {
                    self.halted.get_or_insert((self.party(step.seat()), why.clone()));
                }
                Seen::told(event).into_iter().for_each(|seen| step.note(seen));
            }
        }
    }

    fn run(&mut self, seat: Seat, job: Job<S>) -> (Verdict<S>, Duration) {
        match job {
            Job::Engine(job) => (Verdict::Engine(self.run_engine(&job)), self.bill().engine(&job)),
            Job::Keygen(job) => {
                let cost = self.bill().keygen(self.party(seat), &job);
                (Verdict::Keygen(self.run_keygen(seat, &job)), cost)
            }
            Job::Beacon(job) => {
                let verdict = match &mut self.knowledge {
                    Some(knowledge) => job.run_knowing(&mut knowledge.partials),
                    None => job.run(),
                };
                (Verdict::Beacon(verdict), self.bill().beacon(&job))
            }
        }
    }
}
