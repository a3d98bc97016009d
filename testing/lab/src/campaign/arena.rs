//! Any engine with any function, and keys that were dealt before: most executions of a campaign.
//!
//! | engine     | what makes something final, and is noted                          | signatures            |
//! |------------|-------------------------------------------------------------------|-----------------------|
//! | Jolteon    | its promises when they are on the disk; votes and proposals        | real, each checked once |
//! | Malachite  | precommits when they are on the disk                               | real                  |
//! | Trantor    | commits when they are on the disk                                  | real, checked if not seen to leave their party; or each sum once |
//! | permissive | votes when they are on the disk                                    | none                  |
//!
//! The verdict rests on these notes alone (`account`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::prefinal_beacon::{Path, Reveal, Scheme, Slot, Value};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Instant, Machine};
use prefinal_sim::{Dice, Host, Note, Seat, Step};

use super::execution::{Finding, MemoryUse, Place, Playable, WORK, Watcher};
use super::forge::Forge;
use super::hand::Hand;
use super::member::{self, Effect, Input, Member, Output, PastLife, Post, Record, Terms};
use super::permissive::{self, FIRST, Permissive, World};
use super::vice::Mail;
use crate::finality::Ballot;
use crate::known::CheckedPartials;
use crate::legible::{Act, ReadableEngine, heard, heard_of_beacon, partial_in};
use crate::lives::Lives;
use crate::local::Heard;
use crate::seating::Seating;
use prefinal_engine::{Engine, PastVotes};

/// What is noted of a run.
#[derive(Clone, Debug)]
pub(super) enum Observation<S: Scheme> {
    Act(Act),
    /// The transactions of a slot that is final, in their order.
    Ordered(Slot, Vec<Arc<[u8]>>),
    Finalized(Slot, Option<Value>),
    Revealed(Box<Reveal<S>>),
    /// No value is due.
    Skipped(Slot),
    Accused(Party, String),
    /// A partial has left, for anybody.
    Released(Path, Slot, Option<Value>),
    /// An output has left.
    OutputSent(Slot),
    /// A party has begun to work, for the first time or after a crash.
    Started,
    /// A peer has shown this party a contradiction about a slot.
    Exposed(Party, Slot),
    /// A vote or a partial has arrived.
    Heard(Heard),
}

impl ReadableEngine for Permissive {
    type Memo = ();

    fn written(_: Party, record: &permissive::Record, _: &[u8; 32]) -> Option<Act> {
        Some(match record {
            permissive::Record::Cast(cast) => Act::Ballot(Ballot::Cast(cast.clone())),
            permissive::Record::GaveUp(view) => Act::GaveUp(*view),
        })
    }

    fn sent((): &(), _: &[u8; 32]) -> Option<Act> {
        None
    }

    fn run((): &mut (), job: &Self::Job) -> Self::Verdict {
        match *job {}
    }
}

/// Starts a party's engine behind its records.
pub(super) type Start<E> =
    Box<dyn Fn(Party, Vec<<E as Engine>::Record>) -> Result<(E, PastVotes), String>>;

/// Told of each message of the engine that arrives: at which party, and from which.
pub(super) type Ear<E> = Box<dyn FnMut(Party, Party, &<E as Engine>::Message)>;

/// The host.
pub(super) struct Arena<E: ReadableEngine, S: Forge> {
    pub(super) terms: Terms,
    pub(super) hand: Arc<Hand<S>>,
    pub(super) start: Start<E>,
    pub(super) seating: Seating,
    pub(super) faulty: Vec<Party>,
    /// What names of blocks depend on.
    pub(super) blocks: [u8; 32],
    pub(super) world: Option<Arc<Mutex<World>>>,
    pub(super) memo: E::Memo,
    pub(super) known: CheckedPartials<S>,
    /// Why a party has not booted.
    pub(super) broken: Option<String>,
    pub(super) lives: Lives,
    pub(super) ear: Ear<E>,
}

/// A member, unless it did not boot.
pub(super) struct Seated<E: Engine, S: Scheme>(Option<Member<E, S>>);

impl<E: ReadableEngine, S: Scheme> Machine for Seated<E, S> {
    type Input = Input<E, S>;
    type Record = Record<E::Record>;
    type Effect = Effect<E, S>;

    fn handle(&mut self, now: Instant, input: Input<E, S>) {
        if let Some(member) = &mut self.0 {
            member.handle(now, input);
        }
    }

    fn poll(&mut self) -> Option<Output<E, S>> {
        self.0.as_mut()?.poll()
    }

    fn wake_at(&self) -> Option<Instant> {
        self.0.as_ref()?.wake_at()
    }
}

impl<E: ReadableEngine, S: Forge> Arena<E, S> {
    fn member(
        &mut self,
        seat: Seat,
        records: &[Record<E::Record>],
    ) -> Result<Member<E, S>, String> {
        let (party, life) = (self.seating.party(seat), self.lives.begin(seat));
        let (votes, records) = Record::split(records);
        let started = (self.start)(party, votes)?;
        let carries = !self.faulty.contains(&party);
        let own = (party, &*self.hand);
        let past = PastLife { life, records };
        let member = Member::new(&self.terms, own, started, past, carries);
        member.map_err(|error| format!("{party}: {error}"))
    }

    fn note_sent(&mut self, from: Party, post: &Post<E, S>, step: &mut Step<'_, Self>) {
        match post {
            Post::Engine(message) => {
                E::see(&mut self.memo, from, message);
                let act = E::sent(message, &self.blocks);
                act.into_iter().for_each(|act| step.note(Observation::Act(act)));
                // Also when it is sent again, by a party that does not know whether it was.
                if let Some(message) = partial_in::<S, E>(message) {
                    self.note_beacon(from, &message, step);
                }
            }
            Post::Beacon(message) => self.note_beacon(from, message, step),
        }
    }

    fn note_beacon(
        &mut self,
        from: Party,
        message: &::prefinal_beacon::Message<S>,
        step: &mut Step<'_, Self>,
    ) {
        self.known.see(from, message);
        match message {
            ::prefinal_beacon::Message::Partial { path, slot, value, .. } => {
                step.note(Observation::Released(*path, *slot, *value));
            }
            ::prefinal_beacon::Message::Output { slot, .. } => {
                step.note(Observation::OutputSent(*slot))
            }
            _ => {}
        }
    }
}

impl<E: ReadableEngine, S: Forge> Host for Arena<E, S> {
    type Machine = Seated<E, S>;
    type Message = Arc<Post<E, S>>;
    type Job = Job<E, S>;
    type Verdict = Verdict<E, S>;
    type Event = Observation<S>;

    fn boot(&mut self, seat: Seat, records: &[Record<E::Record>]) -> Self::Machine {
        match self.member(seat, records) {
            Ok(member) => Seated(Some(member)),
            Err(why) => {
                self.broken.get_or_insert(why);
                Seated(None)
            }
        }
    }

    fn first_input(&mut self, _: Seat) -> Option<Input<E, S>> {
        Some(Input::Start)
    }

    fn arrives(
        &mut self,
        _: Instant,
        at: Seat,
        from: Seat,
        post: &Self::Message,
    ) -> Option<Observation<S>> {
        let (at, from) = (self.seating.party(at), self.seating.party(from));
        let heard = match &**post {
            Post::Engine(message) => {
                (self.ear)(at, from, message);
                heard::<S, E>(from, message)
            }
            Post::Beacon(message) => heard_of_beacon(from, message),
        };
        heard.map(Observation::Heard)
    }

    fn received(&mut self, _: Seat, from: Seat, post: &Self::Message) -> Input<E, S> {
        Input::Received(self.seating.party(from), Arc::clone(post))
    }

    fn checked(&mut self, _: Seat, verdict: Self::Verdict) -> Input<E, S> {
        match verdict {
            Verdict::Engine(verdict) => Input::Engine(verdict),
            Verdict::Beacon(verdict) => Input::Beacon(verdict),
        }
    }

    fn tick(&mut self, _: Seat) -> Input<E, S> {
        Input::Tick
    }

    fn writes(&mut self, record: &Record<E::Record>, step: &mut Step<'_, Self>) {
        if let Record::Engine(record) = record {
            let me = self.seating.party(step.seat());
            let act = E::written(me, record, &self.blocks);
            act.into_iter().for_each(|act| step.note(Observation::Act(act)));
        }
    }

    fn carry_out(&mut self, effect: Effect<E, S>, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send(to, post) => {
                let from = self.seating.party(step.seat());
                self.note_sent(from, &post, step);
                self.seating.post(to, post, step);
            }
            Effect::RunEngine(job) => step.run(Job::Engine(job)),
            Effect::RunBeacon(job) => step.run(Job::Beacon(job)),
            Effect::Ordered(slot, transactions) => {
                step.note(Observation::Ordered(slot, transactions));
            }
            Effect::Finalized(slot, value) => step.note(Observation::Finalized(slot, value)),
            Effect::Revealed(reveal) => step.note(Observation::Revealed(reveal)),
            Effect::Skipped(slot) => step.note(Observation::Skipped(slot)),
            Effect::Accused(party, fault) => step.note(Observation::Accused(party, fault)),
            Effect::Started => step.note(Observation::Started),
            Effect::Exposed(party, slot) => step.note(Observation::Exposed(party, slot)),
        }
    }

    fn run(&mut self, _: Seat, job: Self::Job) -> (Self::Verdict, Duration) {
        let verdict = match job {
            Job::Engine(job) => Verdict::Engine(E::run(&mut self.memo, &job)),
            Job::Beacon(job) => Verdict::Beacon(self.known.run(&job)),
        };
        (verdict, WORK)
    }
}

/// Work for a lane.
pub(super) enum Job<E: Engine, S: Scheme> {
    Engine(E::Job),
    Beacon(::prefinal_beacon::Job<S>),
}

/// What came of it.
pub(super) enum Verdict<E: Engine, S: Scheme> {
    Engine(E::Verdict),
    Beacon(::prefinal_beacon::Verdict<S>),
}

impl<E: ReadableEngine, S: Forge> Mail<S> for Arc<Post<E, S>> {
    fn beacon(&self) -> Option<&::prefinal_beacon::Message<S>> {
        match &**self {
            Post::Beacon(message) => Some(message),
            Post::Engine(_) => None,
        }
    }

    fn epoch(&self) -> EpochId {
        prefinal_validator::setup::FIRST
    }

    fn from_beacon(_: EpochId, message: ::prefinal_beacon::Message<S>) -> Option<Self> {
        Some(Self::new(Post::Beacon(message)))
    }

    fn junk(_: EpochId, dice: &mut Dice) -> Option<Self> {
        E::junk(dice).map(|message| Self::new(Post::Engine(message)))
    }
}

impl<E: ReadableEngine, S: Forge> Playable for Arena<E, S> {
    type Scheme = S;

    fn seating(&self) -> &Seating {
        &self.seating
    }

    fn kept(machine: &Seated<E, S>) -> Option<MemoryUse> {
        machine.0.as_ref().map(|member| MemoryUse::by(member.beacon()))
    }

    fn place(event: &Observation<S>) -> Option<Place> {
        Some(match event {
            Observation::Finalized(slot, value) => Place::Finalized(*slot, *value),
            Observation::Revealed(reveal) => Place::Revealed(reveal.slot),
            Observation::Skipped(slot) => Place::Revealed(*slot),
            _ => return None,
        })
    }

    fn finding(event: &Observation<S>) -> Option<Finding<'_>> {
        match event {
            Observation::Accused(party, fault) => Some(Finding::Accused(*party, fault)),
            Observation::Act(Act::GaveUp(_)) => Some(Finding::GaveUp),
            _ => None,
        }
    }

    fn whisper(_: Party, bytes: Vec<u8>) -> Input<E, S> {
        member::Input::Submit(bytes)
    }

    fn watcher(&self) -> Watcher<Self> {
        let (world, seating) = (self.world.clone(), self.seating.clone());
        Box::new(move |note: &Note<Observation<S>>| {
            let Some(world) = &world else { return };
            let party = seating.party(note.seat);
            let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
            match &note.event {
                Observation::Act(Act::Ballot(Ballot::Cast(cast))) => world.cast(party, cast),
                Observation::Act(Act::GaveUp(view)) => world.gave_up(party, *view),
                _ => {}
            }
        })
    }

    fn heal(&mut self) {
        if let Some(world) = &self.world {
            world.lock().unwrap_or_else(PoisonError::into_inner).heal();
        }
    }

    fn first(&self) -> Option<Slot> {
        Some(FIRST)
    }

    fn broken(&self) -> Option<String> {
        self.broken.as_ref().map(|why| format!("does not boot: {why}"))
    }
}
