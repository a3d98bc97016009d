//! Any engine with any function, and keys that were dealt before: most of a campaign.
//!
//! | engine     | what makes something final, and is noted                          | signatures            |
//! |------------|-------------------------------------------------------------------|-----------------------|
//! | Jolteon    | its promises when they are on the disk; votes and proposals        | real, each checked once |
//! | Malachite  | precommits when they are on the disk                               | real                  |
//! | permissive | votes when they are on the disk                                    | none                  |
//!
//! What was noted is all that the verdict rests on (`account`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::beacon::{Path, Reveal, Scheme, Slot, Value, View};
use crypto_core::access::Party;
use jolteon::Jolteon;
use malachite::{Malachite, NilOrVal, VoteType};
use protocol::{Instant, Machine, Recipient};
use sim::{Dice, Host, Note, Seat, Simulation, Step, UnknownSeat};

use super::execution::{Kept, Place, Playable, WORK, Watcher};
use super::forge::Forge;
use super::hand::Hand;
use super::member::{self, Effect, Input, Member, Output, Post, Record, Terms, Told};
use super::permissive::{self, FIRST, Permissive, World};
use super::tally::Tally;
use super::vice::{Mail, Sinner, Vice, junk_transactions};
use crate::engine::{Engine, Past};
use crate::simulate::finality::{Ballot, Cast};
use crate::simulate::lives::Lives;

/// What is noted of a run.
#[derive(Clone, Debug)]
pub(super) enum Seen<S: Scheme> {
    Ballot(Ballot),
    GaveUp(View),
    Finalized(Slot, Option<Value>),
    Revealed(Box<Reveal<S>>),
    /// No value is due.
    Skipped(Slot),
    Accused(Party, String),
    /// A partial has left, for anybody.
    Released(Path, Slot, Option<Value>),
    /// An output has left.
    Shown(Slot),
}

/// An engine whose votes can be read.
pub(super) trait Legible: Engine {
    /// What need not be computed twice in one execution.
    type Memo: Default;

    /// What is noted when it is on the party's disk.
    fn written<S: Scheme>(me: Party, record: &Self::Record) -> Option<Seen<S>>;

    /// What is noted when it leaves. `context` is what names of blocks depend on.
    fn sent(message: &Self::Message, context: &[u8; 32]) -> Option<Ballot>;

    /// What a vote carries.
    fn carried(_: &Self::Message) -> Option<&[u8]> {
        None
    }

    fn see(_: &mut Self::Memo, _: Party, _: &Self::Message) {}

    fn run(memo: &mut Self::Memo, job: &Self::Job) -> Self::Verdict;

    /// Something that says nothing.
    fn junk(_: &mut Dice) -> Option<Self::Message> {
        None
    }
}

/// Votes, and verdicts on anything else, which are the same whoever asks.
#[derive(Default)]
pub(super) struct Judged {
    votes: jolteon::Known,
    claims: BTreeMap<jolteon::Fingerprint, jolteon::Verdict>,
}

impl Legible for Jolteon {
    type Memo = Judged;

    fn written<S: Scheme>(_: Party, record: &jolteon::Record) -> Option<Seen<S>> {
        match record {
            jolteon::Record::Safety(promises) => {
                let round = promises.safety.last_ordered().get();
                Some(Seen::Ballot(Ballot::Promised(round)))
            }
            _ => None,
        }
    }

    fn sent(message: &jolteon::Message, context: &[u8; 32]) -> Option<Ballot> {
        Some(match message {
            jolteon::Message::Vote(vote) => {
                let block = Value::new(vote.block.to_bytes());
                Ballot::Voted { round: vote.round.get(), block }
            }
            jolteon::Message::Proposal(proposal) => {
                let parent = proposal.block.parent_round().get();
                let block = Value::new(proposal.block.id(context).to_bytes());
                Ballot::Proposed { parent, block }
            }
            _ => return None,
        })
    }

    fn see(memo: &mut Judged, from: Party, message: &jolteon::Message) {
        memo.votes.see(from, message);
    }

    fn run(Judged { votes, claims }: &mut Judged, job: &jolteon::Job) -> jolteon::Verdict {
        if matches!(job.work(), jolteon::Work::Votes { .. }) {
            return job.run_knowing(votes);
        }
        claims.entry(job.fingerprint()).or_insert_with(|| job.run_knowing(votes)).clone()
    }

    fn junk(dice: &mut Dice) -> Option<jolteon::Message> {
        Some(junk_transactions(dice))
    }
}

impl Legible for Malachite {
    type Memo = ();

    /// Its own precommit, which it counts from then on, whether it leaves or not.
    fn written<S: Scheme>(me: Party, record: &malachite::Record) -> Option<Seen<S>> {
        match record {
            malachite::Record::Entry { entry: malachite::Entry::Vote(vote), .. }
                if vote.message.voter == malachite::Address::new(me) =>
            {
                precommit(&vote.message).map(Seen::Ballot)
            }
            _ => None,
        }
    }

    fn sent(message: &malachite::Message, _: &[u8; 32]) -> Option<Ballot> {
        let malachite::Message::Vote(vote) = message else { return None };
        precommit(&vote.message)
    }

    fn carried(message: &malachite::Message) -> Option<&[u8]> {
        let malachite::Message::Vote(vote) = message else { return None };
        vote.message.extension.as_ref().map(|extension| extension.message.as_slice())
    }

    fn run((): &mut (), job: &Self::Job) -> Self::Verdict {
        match *job {}
    }
}

fn precommit(vote: &malachite::Vote) -> Option<Ballot> {
    let (VoteType::Precommit, NilOrVal::Val(block)) = (vote.kind, vote.value) else {
        return None;
    };
    let view = View::new(Slot::new(vote.height.get()), vote.round.as_u32()?);
    let value = Value::new(block.to_bytes());
    Some(Ballot::Cast(Cast { view, value, implied: Vec::new() }))
}

impl Legible for Permissive {
    type Memo = ();

    fn written<S: Scheme>(_: Party, record: &permissive::Record) -> Option<Seen<S>> {
        Some(match record {
            permissive::Record::Cast(cast) => Seen::Ballot(Ballot::Cast(cast.clone())),
            permissive::Record::GaveUp(view) => Seen::GaveUp(*view),
        })
    }

    fn sent((): &(), _: &[u8; 32]) -> Option<Ballot> {
        None
    }

    fn run((): &mut (), job: &Self::Job) -> Self::Verdict {
        match *job {}
    }
}

/// Starts a party's engine behind its records.
pub(super) type Start<E> =
    Box<dyn Fn(Party, Vec<<E as Engine>::Record>) -> Result<(E, Past), String>>;

/// The host.
pub(super) struct Arena<E: Legible, S: Forge> {
    pub(super) terms: Terms,
    pub(super) hand: Arc<Hand<S>>,
    pub(super) start: Start<E>,
    /// Whose seat each is.
    pub(super) parties: Vec<Party>,
    pub(super) faulty: Vec<Party>,
    /// What names of blocks depend on.
    pub(super) blocks: [u8; 32],
    pub(super) world: Option<Arc<Mutex<World>>>,
    pub(super) memo: E::Memo,
    pub(super) known: ::beacon::Known<S>,
    /// Why a party has not booted.
    pub(super) broken: Option<String>,
    pub(super) lives: Lives,
}

/// A member, unless it did not boot.
pub(super) struct Seated<E: Engine, S: Scheme>(Option<Member<E, S>>);

impl<E: Engine, S: Scheme> Machine for Seated<E, S> {
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

impl<E: Legible, S: Forge> Arena<E, S> {
    fn member(
        &mut self,
        seat: Seat,
        records: &[Record<E::Record>],
    ) -> Result<Member<E, S>, String> {
        let (party, life) = (self.party(seat), self.lives.begin(seat));
        let engine = records.iter().filter_map(|record| match record {
            Record::Engine(record) => Some(record.clone()),
            Record::Beacon(_) => None,
        });
        let started = (self.start)(party, engine.collect())?;
        let beacon = records.iter().filter_map(|record| match record {
            Record::Beacon(record) => Some(*record),
            Record::Engine(_) => None,
        });
        let carries = !self.faulty.contains(&party);
        let own = (party, &*self.hand);
        let past = Told { life, records: beacon.collect() };
        let member = Member::new(&self.terms, own, started, past, carries);
        member.map_err(|error| format!("{party}: {error}"))
    }

    fn note_sent(&mut self, from: Party, post: &Post<E, S>, step: &mut Step<'_, Self>) {
        match post {
            Post::Engine(message) => {
                E::see(&mut self.memo, from, message);
                let ballot = E::sent(message, &self.blocks);
                ballot.into_iter().for_each(|ballot| step.note(Seen::Ballot(ballot)));
                // Also when it is sent again, by a party that does not know whether it was.
                let carried = E::carried(message).filter(|carried| !carried.is_empty());
                let carried = carried.and_then(|carried| borsh::from_slice(carried).ok());
                if let Some(message) = carried {
                    self.note_beacon(from, &message, step);
                }
            }
            Post::Beacon(message) => self.note_beacon(from, message, step),
        }
    }

    fn note_beacon(
        &mut self,
        from: Party,
        message: &::beacon::Message<S>,
        step: &mut Step<'_, Self>,
    ) {
        self.known.see(from, message);
        match message {
            ::beacon::Message::Partial { path, slot, value, .. } => {
                step.note(Seen::Released(*path, *slot, *value));
            }
            ::beacon::Message::Shown { slot, .. } => step.note(Seen::Shown(*slot)),
            _ => {}
        }
    }
}

impl<E: Legible, S: Forge> Host for Arena<E, S> {
    type Machine = Seated<E, S>;
    type Message = Arc<Post<E, S>>;
    type Job = Job<E, S>;
    type Verdict = Verdict<E, S>;
    type Event = Seen<S>;

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

    fn received(&mut self, _: Seat, from: Seat, post: &Self::Message) -> Input<E, S> {
        Input::Received(self.party(from), Arc::clone(post))
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
            let me = self.party(step.seat());
            E::written(me, record).into_iter().for_each(|seen| step.note(seen));
        }
    }

    fn carry_out(&mut self, effect: Effect<E, S>, step: &mut Step<'_, Self>) {
        match effect {
            Effect::Send(to, post) => {
                let from = self.party(step.seat());
                self.note_sent(from, &post, step);
                let post = Arc::new(post);
                match to {
                    Recipient::All => step.send(Recipient::All, post),
                    Recipient::One(party) => {
                        let seats = (0..).map(Seat::new).zip(&self.parties);
                        for (seat, _) in seats.filter(|(_, one)| **one == party) {
                            step.send(Recipient::One(seat), Arc::clone(&post));
                        }
                    }
                }
            }
            Effect::RunEngine(job) => step.run(Job::Engine(job)),
            Effect::RunBeacon(job) => step.run(Job::Beacon(job)),
            Effect::Finalized(slot, value) => step.note(Seen::Finalized(slot, value)),
            Effect::Revealed(reveal) => step.note(Seen::Revealed(reveal)),
            Effect::Skipped(slot) => step.note(Seen::Skipped(slot)),
            Effect::Accused(party, fault) => step.note(Seen::Accused(party, fault)),
        }
    }

    fn run(&mut self, _: Seat, job: Self::Job) -> (Self::Verdict, Duration) {
        let verdict = match job {
            Job::Engine(job) => Verdict::Engine(E::run(&mut self.memo, &job)),
            Job::Beacon(job) => Verdict::Beacon(job.run_knowing(&mut self.known)),
        };
        (verdict, WORK)
    }
}

/// Work for a lane.
pub(super) enum Job<E: Engine, S: Scheme> {
    Engine(E::Job),
    Beacon(::beacon::Job<S>),
}

/// What came of it.
pub(super) enum Verdict<E: Engine, S: Scheme> {
    Engine(E::Verdict),
    Beacon(::beacon::Verdict<S>),
}

impl<E: Legible, S: Forge> Mail<S> for Arc<Post<E, S>> {
    fn beacon(&self) -> Option<&::beacon::Message<S>> {
        match &**self {
            Post::Beacon(message) => Some(message),
            Post::Engine(_) => None,
        }
    }

    fn from_beacon(message: ::beacon::Message<S>) -> Self {
        Self::new(Post::Beacon(message))
    }

    fn junk(dice: &mut Dice) -> Option<Self> {
        E::junk(dice).map(|message| Self::new(Post::Engine(message)))
    }
}

impl<E: Legible, S: Forge> Playable for Arena<E, S> {
    fn seats(&self) -> u32 {
        u32::try_from(self.parties.len()).unwrap_or(u32::MAX)
    }

    fn party(&self, seat: Seat) -> Party {
        self.parties.get(seat.index()).copied().unwrap_or_else(|| Party::new(seat.get()))
    }

    fn kept(machine: &Seated<E, S>) -> Option<Kept> {
        machine.0.as_ref().map(|member| Kept::by(member.beacon()))
    }

    fn place(event: &Seen<S>) -> Option<Place> {
        Some(match event {
            Seen::Finalized(slot, value) => Place::Finalized(*slot, *value),
            Seen::Revealed(reveal) => Place::Revealed(reveal.slot),
            Seen::Skipped(slot) => Place::Revealed(*slot),
            _ => return None,
        })
    }

    fn whisper(_: Party, bytes: Vec<u8>) -> Input<E, S> {
        member::Input::Submit(bytes)
    }

    fn corrupt(
        simulation: &mut Simulation<Self>,
        seat: Seat,
        vice: Vice,
        tally: &Rc<RefCell<Tally>>,
    ) -> Result<(), UnknownSeat> {
        simulation.rule(seat, Sinner::<S, Arc<Post<E, S>>>::new(vice, tally))
    }

    fn watcher(&self) -> Watcher<Self> {
        let (world, parties) = (self.world.clone(), self.parties.clone());
        Box::new(move |note: &Note<Seen<S>>| {
            let Some(world) = &world else { return };
            let Some(party) = parties.get(note.seat.index()) else { return };
            let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
            match &note.event {
                Seen::Ballot(Ballot::Cast(cast)) => world.cast(*party, cast),
                Seen::GaveUp(view) => world.gave_up(*party, *view),
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
