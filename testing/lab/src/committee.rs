//! The committee in the simulator: real machines, real cryptography, computed once.
//!
//! This host serves the latency experiments, the campaign and the tests. Whether a vote or a partial is
//! valid, and what a slot's value is, does not depend on the party that asks. The first that asks
//! computes it:
//!
//! | work                        | looked up under                                             |
//! |-----------------------------|-------------------------------------------------------------|
//! | work of the engine          | what [`ReadableEngine`] says                                       |
//! | partials into a value       | each partial alone; any quorum of valid ones gives one value |
//! | keys and dealings           | see [`Ground`]                                              |
//!
//! A seat is a party, except for a Byzantine party with several seats (twins): these have one key and
//! hear the same messages.
//!
//! [`Prices`] gives the price of work, and [`Observation`] is what is noted of parties.

use crate::priced::Priced;
use ::prefinal_beacon::stack::{self, EpochItem, OneOf};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Instant, Recipient};
use prefinal_sim::{Host, Seat, Step};

pub use super::ground::Ground;
pub use super::prices::Prices;
use super::prices::{Bill, heaviest};
pub use super::seen::Observation;
use crate::failure::Failure;
use crate::known::CheckedPartials;
use crate::legible::{ReadableEngine, heard, heard_of_beacon, partial_in};
use crate::lives::Lives;
use crate::machine::{JobOf, MessageOf, RecordOf, VerdictOf};
use crate::seating::Seating;
use prefinal_engine::Work;
use prefinal_jolteon::Jolteon;
use prefinal_registry::NamedEngine;
use prefinal_validator::keygen;
use prefinal_validator::participant;
use prefinal_validator::setup::{FIRST, Identity, Setup};
use prefinal_validator::{Effect, Input, Job, Message, Record, Validator, Verdict};
use prefinal_validator::{Event, HaltError, StartError};

/// Changes the result of a Byzantine seat's own key generation.
pub type Tamper<S> = Box<dyn Fn(&keygen::Job<S>, keygen::Verdict<S>) -> keygen::Verdict<S>>;

/// A message that a faulty driver sends in addition to another one. It shows that the checkers find it.
pub type Slip<S, E = Jolteon> = Box<dyn FnMut(Seat, &MessageOf<S, E>) -> Option<MessageOf<S, E>>>;

/// Called for each message that arrives: when, at which seat, from which seat.
pub type Watch<S, E = Jolteon> = Box<dyn FnMut(Instant, Seat, Seat, &MessageOf<S, E>)>;

/// An engine that experiments run on.
pub trait Subject: ReadableEngine + NamedEngine {}
impl<E: ReadableEngine + NamedEngine> Subject for E {}

/// Votes, certificates and partials that were seen and checked.
pub struct Knowledge<S: Priced, E: ReadableEngine = Jolteon> {
    engines: BTreeMap<EpochId, E::Memo>,
    partials: BTreeMap<EpochId, CheckedPartials<S>>,
}

// Derived, it would ask for defaults of what is in it.
impl<S: Priced, E: ReadableEngine> Default for Knowledge<S, E> {
    fn default() -> Self {
        Self { engines: BTreeMap::new(), partials: BTreeMap::new() }
    }
}

impl<S: Priced, E: ReadableEngine> Knowledge<S, E> {
    /// Keeps what is also true in the next run of the same committee: values of slots do not depend on
    /// blocks. Values under keys of later epochs differ, and are dropped.
    #[must_use]
    pub fn for_next_run(self) -> Self {
        let mut partials = self.partials;
        partials.retain(|epoch, _| *epoch == FIRST);
        Self { partials, ..Self::default() }
    }
}

/// What the host knows of an epoch.
struct Term {
    setup: Arc<Setup>,
    heaviest: u64,
    /// What names of blocks depend on.
    context: [u8; 32],
}

impl Term {
    fn new<E: Subject>(setup: Arc<Setup>) -> Result<Self, StartError> {
        let context = E::naming(&setup);
        let context = context.ok_or_else(|| StartError::Engine("no committee".to_owned()))?;
        let heaviest = heaviest(setup.keygen.shape());
        Ok(Self { context, heaviest, setup })
    }
}

/// The host: carries out the machines' outputs.
pub struct ValidatorHost<S: Priced, E: Subject = Jolteon> {
    ground: Arc<Ground<S>>,
    setup: Arc<Setup>,
    terms: BTreeMap<EpochId, Term>,
    seating: Seating,
    prices: Prices,
    /// `None`: every seat checks everything itself.
    knowledge: Option<Knowledge<S, E>>,
    /// Byzantine seats of the key generation.
    pub tampers: BTreeMap<Seat, Tamper<S>>,
    /// What goes wrong in drivers.
    pub slip: Option<Slip<S, E>>,
    /// Told of each message that arrives: for those who measure links.
    pub watch: Option<Watch<S, E>>,
    lives: Lives,
    /// The first party that cannot go on, and why.
    halted: Option<(Party, HaltError)>,
}

impl<S: Priced, E: Subject> ValidatorHost<S, E> {
    /// A host whose seats are the parties, in their order. `setup` is the ground's set-up, or differs
    /// from it only in fields that no key depends on.
    ///
    /// # Errors
    /// If the engine refuses the committee.
    pub fn new(ground: Arc<Ground<S>>, setup: Setup, prices: Prices) -> Result<Self, StartError> {
        let seating = Seating::new(ground.identities().iter().map(|identity| identity.me));
        for identity in ground.identities().iter().take(1) {
            drop(<E as NamedEngine>::begin(&setup, identity, Vec::new())?);
        }
        let setup = Arc::new(setup);
        Ok(Self {
            ground,
            terms: BTreeMap::from([(setup.context.epoch, Term::new::<E>(Arc::clone(&setup))?)]),
            setup,
            seating,
            prices,
            knowledge: Some(Knowledge::default()),
            tampers: BTreeMap::new(),
            slip: None,
            watch: None,
            lives: Lives::default(),
            halted: None,
        })
    }

    /// Starts with the knowledge of an earlier run, or with `None` lets every seat check everything itself.
    #[must_use]
    pub fn knowing(mut self, knowledge: Option<Knowledge<S, E>>) -> Self {
        self.knowledge = knowledge;
        self
    }

    /// Adds one more seat for each of these parties, behind the other seats.
    #[must_use]
    pub fn with_twins(mut self, of: impl IntoIterator<Item = Party>) -> Self {
        self.seating.extend(of);
        self
    }

    /// Number of seats.
    #[must_use]
    pub fn seats(&self) -> u32 {
        self.seating.count()
    }

    /// The party in a seat.
    #[must_use]
    pub fn party(&self, seat: Seat) -> Party {
        self.seating.party(seat)
    }

    /// Notes that a seat has lived before: it continues from a disk on which its beacon has written.
    pub(crate) fn has_lived(&mut self, seat: Seat) {
        let _begun = self.lives.begin(seat);
    }

    pub(crate) const fn seating(&self) -> &Seating {
        &self.seating
    }

    /// The committee's keys, and what was computed with them so far.
    #[must_use]
    pub const fn ground(&self) -> &Arc<Ground<S>> {
        &self.ground
    }

    /// The set-ups of the epochs that have begun in this run, or whose keys are being made.
    #[must_use]
    pub fn setups(&self) -> BTreeMap<EpochId, Arc<Setup>> {
        self.terms.iter().map(|(epoch, term)| (*epoch, Arc::clone(&term.setup))).collect()
    }

    /// Takes note of an epoch.
    fn learn(&mut self, setup: &Arc<Setup>) {
        if let Entry::Vacant(place) = self.terms.entry(setup.context.epoch)
            && let Ok(term) = Term::new::<E>(Arc::clone(setup))
        {
            place.insert(term);
        }
    }

    /// The set-up of this run.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The price of work.
    #[must_use]
    pub const fn prices(&self) -> Prices {
        self.prices
    }

    /// Checks that all parties can continue.
    ///
    /// # Errors
    /// The first party that cannot.
    pub fn check_halted(&self) -> Result<(), Failure> {
        self.halted.as_ref().map_or(Ok(()), |(party, why)| Err(Failure::halted(*party, why)))
    }

    /// The results of checks, for another run.
    #[must_use]
    pub fn into_knowledge(self) -> Option<Knowledge<S, E>> {
        self.knowledge
    }

    fn identity(&self, seat: Seat) -> Arc<Identity> {
        let found = self.ground.identities().get(self.party(seat).index());
        found.map_or_else(|| unreachable!("every seat has a party"), Arc::clone)
    }

    fn bill(&self, epoch: EpochId) -> Bill<'_> {
        let (setup, heaviest) = match self.terms.get(&epoch) {
            Some(term) => (&term.setup, term.heaviest),
            None => (&self.setup, heaviest(self.setup.keygen.shape())),
        };
        Bill { prices: self.prices, shape: setup.keygen.shape(), heaviest }
    }

    fn run_engine(&mut self, epoch: EpochId, job: &E::Job) -> E::Verdict {
        match &mut self.knowledge {
            Some(Knowledge { engines, .. }) => E::run(engines.entry(epoch).or_default(), job),
            None => job.run(),
        }
    }

    fn run_keygen(&self, seat: Seat, setup: &Setup, job: &keygen::Job<S>) -> keygen::Verdict<S> {
        let verdict = self.ground.run(setup, &self.identity(seat), job);
        match self.tampers.get(&seat) {
            Some(tamper) => tamper(job, verdict),
            None => verdict,
        }
    }

    fn post(&mut self, to: Recipient<Party>, message: MessageOf<S, E>, step: &mut Step<'_, Self>) {
        self.note_sent(&message, step);
        self.seating.post(to, message, step);
    }

    fn note_sent(&mut self, message: &MessageOf<S, E>, step: &mut Step<'_, Self>) {
        let from = self.party(step.seat());
        match message {
            Message::Beacon(epoch, message) => self.note_beacon(from, *epoch, message, step),
            Message::Beside(_) | Message::Ask { .. } | Message::Final { .. } => {}
            Message::Engine(epoch, message) => {
                if let Some(Knowledge { engines, .. }) = &mut self.knowledge {
                    E::see(engines.entry(*epoch).or_default(), from, message);
                }
                let context = self.terms.get(epoch).map(|term| term.context);
                let act = context.and_then(|context| E::sent(message, &context));
                act.into_iter().for_each(|act| step.note(Observation::Act(*epoch, act)));
                if let Some(message) = partial_in::<S, E>(message) {
                    self.note_beacon(from, *epoch, &message, step);
                }
            }
        }
    }

    fn note_beacon(
        &mut self,
        from: Party,
        epoch: EpochId,
        message: &::prefinal_beacon::Message<S>,
        step: &mut Step<'_, Self>,
    ) {
        if let Some(Knowledge { partials, .. }) = &mut self.knowledge {
            partials.entry(epoch).or_default().see(from, message);
        }
        Observation::said(epoch, message).into_iter().for_each(|seen| step.note(seen));
    }
}

/// The epoch that a message is of.
const fn epoch_of<S: Priced, E: Subject>(message: &MessageOf<S, E>) -> Option<EpochId> {
    match message {
        Message::Engine(epoch, _) | Message::Beacon(epoch, _) => Some(*epoch),
        Message::Beside(_) | Message::Ask { .. } | Message::Final { .. } => None,
    }
}

impl<S: Priced, E: Subject> Host for ValidatorHost<S, E> {
    type Machine = Validator<S, E>;
    type Message = Arc<MessageOf<S, E>>;
    type Job = JobOf<S, E>;
    type Verdict = VerdictOf<S, E>;
    type Event = Observation<S>;

    fn boot(&mut self, seat: Seat, records: &[RecordOf<E>]) -> Validator<S, E> {
        let life = self.lives.begin(seat);
        let validator = Validator::new(
            &self.setup,
            self.identity(seat),
            life,
            records.to_vec(),
            <E as NamedEngine>::begin,
        );
        validator.unwrap_or_else(|error| unreachable!("the set-up was checked: {error}"))
    }

    fn first_input(&mut self, _: Seat) -> Option<Input<S, E>> {
        Some(Input::Start)
    }

    fn arrives(
        &mut self,
        now: Instant,
        at: Seat,
        from: Seat,
        message: &Arc<MessageOf<S, E>>,
    ) -> Option<Observation<S>> {
        if let Some(watch) = &mut self.watch {
            watch(now, at, from, message);
        }
        // Where all partials leave on finality nobody asks.
        if self.setup.fast_after == u64::MAX {
            return None;
        }
        let from = self.party(from);
        let (epoch, heard) = match &**message {
            Message::Engine(epoch, message) => (*epoch, heard::<S, E>(from, message)),
            Message::Beacon(epoch, message) => (*epoch, heard_of_beacon(from, message)),
            Message::Beside(_) | Message::Ask { .. } | Message::Final { .. } => return None,
        };
        heard.map(|heard| Observation::Heard(epoch, heard))
    }

    /// As `prefinal-net` frames it: four bytes, and the encoding. Headers of packets are not counted.
    fn encoded_len(&mut self, message: &Arc<MessageOf<S, E>>) -> u64 {
        let encoded = borsh::object_length(&**message).unwrap_or_default();
        u64::try_from(encoded.saturating_add(4)).unwrap_or(u64::MAX)
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Arc<MessageOf<S, E>>) -> Input<S, E> {
        Input::Received { from: self.party(from), message: Message::clone(message) }
    }

    fn checked(&mut self, _: Seat, verdict: VerdictOf<S, E>) -> Input<S, E> {
        Input::Checked(verdict)
    }

    fn tick(&mut self, _: Seat) -> Input<S, E> {
        Input::Tick
    }

    fn input_cost(&mut self, _: Seat, input: &Input<S, E>) -> Duration {
        let Input::Received { message, .. } = input else { return Duration::ZERO };
        epoch_of::<S, E>(message)
            .map_or(Duration::ZERO, |epoch| self.bill(epoch).input::<S, E>(input))
    }

    fn writes(&mut self, record: &RecordOf<E>, step: &mut Step<'_, Self>) {
        if let Record::Engine(epoch, record) = record {
            let context = self.terms.get(epoch).map(|term| term.context);
            let me = self.party(step.seat());
            let act = context.and_then(|context| E::written(me, record, &context));
            act.into_iter().for_each(|act| step.note(Observation::Act(*epoch, act)));
        }
    }

    fn carry_out(&mut self, effect: Effect<S, E>, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send { to, message } => {
                if let Some(epoch) = epoch_of::<S, E>(&message) {
                    let party = self.party(step.seat());
                    step.spend(self.bill(epoch).message::<S, E>(party, &message));
                }
                let slip = self.slip.as_mut().and_then(|slip| slip(step.seat(), &message));
                self.post(to, message, step);
                if let Some(slip) = slip {
                    self.post(Recipient::All, slip, step);
                }
            }
            Effect::Run(job) => {
                if let Job::Participant(participant::Job::Keygen(setup, _)) = &job {
                    self.learn(setup);
                }
                step.run(job);
            }
            Effect::Tell(event) => {
                if let Event::Halted(why) = &event {
                    self.halted.get_or_insert((self.party(step.seat()), why.clone()));
                }
                Observation::told(event).into_iter().for_each(|seen| step.note(seen));
            }
            Effect::Application(never) => match never {},
        }
    }

    fn run(&mut self, seat: Seat, job: JobOf<S, E>) -> (VerdictOf<S, E>, Duration) {
        match job {
            Job::Engine(epoch, job) => (
                Verdict::Engine(epoch, self.run_engine(epoch, &job)),
                self.bill(epoch).engine::<E>(&job),
            ),
            Job::Participant(participant::Job::Keygen(setup, job)) => {
                let cost = self.bill(setup.context.epoch).keygen(self.party(seat), &job);
                let verdict = self.run_keygen(seat, &setup, &job);
                let verdict = participant::Verdict::Keygen(setup.context.epoch, verdict);
                (Verdict::Participant(verdict), cost)
            }
            Job::Participant(participant::Job::Beacon(job)) => match job.of_channel() {
                OneOf::First(EpochItem { epoch, what }) => {
                    let (epoch, cost) = (*epoch, self.bill(*epoch).beacon::<S, S>(what));
                    let what = match &mut self.knowledge {
                        Some(knowledge) => knowledge.partials.entry(epoch).or_default().run(what),
                        None => what.run(),
                    };
                    let verdict = stack::Verdict::new(OneOf::First(EpochItem { epoch, what }));
                    (Verdict::Participant(participant::Verdict::Beacon(verdict)), cost)
                }
                OneOf::Rest(never) => match *never {},
            },
            Job::Application(never) => match never {},
        }
    }
}
