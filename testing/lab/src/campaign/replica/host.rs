//! The parties of an execution: replicas of the example application, with their disks.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::{Slot, Value};
use ::prefinal_trantor::{
    Client, ClientHeader, Command, Config, Effect as OrderEffect, KeyValues, Message, Replica,
    ReplicaEffect, ReplicaInput, ReplicaJob, ReplicaMessage, ReplicaOutput, ReplicaRecord,
    ReplicaVerdict, Replicas, Service, Settings, StakeCertifier, Statement, Trantor,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_protocol::{Instant, Machine, Output};
use prefinal_registry::NamedEngine;
use prefinal_sim::{Dice, Host, InputOf, Seat, Simulation, Step};
use prefinal_validator::setup::Identity;
use sha2::{Digest, Sha256};

use super::super::Signatures;
use super::super::corrupt::{Conspiracy, Envelope};
use super::super::execution::{Finding, MemoryUse, Place, Playable, ROUND, WORK};
use super::super::ideal::Ideal;
use super::super::vice::Mail;
use super::Company;
use crate::check::Violation;
use crate::legible::ReadableEngine;
use crate::seating::Seating;

/// The beginning of a committee's context, as messages name it.
pub(super) type Tag = [u8; 8];

pub(super) fn tag_of(committee: &Replicas) -> Tag {
    committee.context().first_chunk().copied().unwrap_or_default()
}

/// What is noted of a run.
#[derive(Clone, Debug)]
pub(super) enum Observation {
    /// A height was carried out, with this block or without one.
    Applied(Slot, Option<Value>),
    /// A party votes for its own state.
    Voted(Statement),
    /// A certified checkpoint is on a party's disk, of its own state or of one from others.
    Kept(Statement),
    /// A party has taken a state from others.
    Restored,
    /// A party gives up a view.
    GaveUp,
    Accused(Party, String),
    /// Something was refused that every party should take.
    Refused(String),
}

/// A replica, unless it did not start.
pub(super) struct Seated {
    replica: Option<Replica<KeyValues>>,
    /// The last height that was carried out.
    at: Slot,
}

impl Machine for Seated {
    type Input = ReplicaInput;
    type Record = ReplicaRecord;
    type Effect = ReplicaEffect;

    fn handle(&mut self, now: Instant, input: ReplicaInput) {
        if let Some(replica) = &mut self.replica {
            replica.handle(now, input);
        }
    }

    fn poll(&mut self) -> Option<ReplicaOutput> {
        let output = self.replica.as_mut()?.poll()?;
        match &output {
            Output::Do(ReplicaEffect::Applied { slot, .. }) => self.at = *slot,
            Output::Do(ReplicaEffect::Restored(statement)) => self.at = before(statement.slot),
            _ => {}
        }
        Some(output)
    }

    fn wake_at(&self) -> Option<Instant> {
        self.replica.as_ref()?.wake_at()
    }
}

fn before(slot: Slot) -> Slot {
    Slot::new(slot.get().saturating_sub(1))
}

/// Makes the parties of a run, and starts them again after crashes.
pub(super) struct ReplicaHost {
    context: Context,
    identities: Vec<Arc<Identity>>,
    settings: Settings,
    founders: usize,
    seating: Seating,
    signatures: Signatures,
    /// What was found out about the signatures of each committee.
    verdicts: BTreeMap<Tag, <Trantor as ReadableEngine>::Memo>,
    conspiracy: Rc<Conspiracy<Trantor>>,
    /// Why a party has not started.
    broken: Option<String>,
}

impl ReplicaHost {
    pub(super) fn new(
        company: &Company,
        settings: &Settings,
        seating: Seating,
        signatures: Signatures,
        conspiracy: Rc<Conspiracy<Trantor>>,
    ) -> Self {
        Self {
            context: company.context,
            identities: company.identities.clone(),
            settings: settings.clone(),
            founders: company.founders(),
            seating,
            signatures,
            verdicts: BTreeMap::new(),
            conspiracy,
            broken: None,
        }
    }

    pub(super) fn party(&self, seat: Seat) -> Party {
        self.seating.party(seat)
    }

    pub(super) fn seats(&self) -> u32 {
        self.seating.count()
    }

    fn start(&self, me: Party, records: &[ReplicaRecord]) -> Result<Replica<KeyValues>, String> {
        let identity = self.identities.get(me.index()).ok_or("it is nobody")?;
        let key = || Trantor::key(identity).map_err(|error| error.to_string());
        let founder = me.index() < self.founders;
        let service = Service {
            app: KeyValues::default(),
            certifier: Arc::new(StakeCertifier::new(key()?)),
            settings: self.settings.clone(),
        };
        let config = Config { timeout: ROUND, ..Config::new(self.context, me, Vec::new()) };
        let records = ReplicaRecord::retain(records.to_vec());
        let start = if founder { Replica::new } else { Replica::join };
        start(config, key()?, service, records).map_err(|error| error.to_string())
    }

    fn memo(&mut self, tag: Tag) -> &mut <Trantor as ReadableEngine>::Memo {
        let signatures = self.signatures;
        self.verdicts.entry(tag).or_insert_with(|| {
            let mut memo = Default::default();
            if signatures == Signatures::Seen {
                Trantor::trust_seen(&mut memo);
            }
            memo
        })
    }

    fn note_sent(&mut self, message: &ReplicaMessage, step: &mut Step<'_, Self>) {
        match message {
            ReplicaMessage::Order { committee, message } => {
                let from = self.party(step.seat());
                Trantor::see(self.memo(*committee), from, message);
            }
            ReplicaMessage::Vote(vote) => step.note(Observation::Voted(vote.statement)),
            _ => {}
        }
    }
}

impl Host for ReplicaHost {
    type Machine = Seated;
    type Message = Arc<ReplicaMessage>;
    type Job = ReplicaJob;
    type Verdict = ReplicaVerdict;
    type Event = Observation;

    fn boot(&mut self, seat: Seat, records: &[ReplicaRecord]) -> Seated {
        let me = self.party(seat);
        match self.start(me, records) {
            Ok(replica) => {
                let at = replica.stable().map_or(Slot::new(0), |one| before(one.statement.slot));
                Seated { replica: Some(replica), at }
            }
            Err(why) => {
                self.broken.get_or_insert(format!("{me}: {why}"));
                Seated { replica: None, at: Slot::new(0) }
            }
        }
    }

    fn first_input(&mut self, _: Seat) -> Option<ReplicaInput> {
        Some(ReplicaInput::Start)
    }

    fn arrives(
        &mut self,
        _: Instant,
        at: Seat,
        from: Seat,
        message: &Self::Message,
    ) -> Option<Self::Event> {
        if let Some(told) = message.engine() {
            self.conspiracy.hear(self.seating.party(at), self.seating.party(from), told);
        }
        None
    }

    fn received(&mut self, _: Seat, from: Seat, message: &Self::Message) -> ReplicaInput {
        ReplicaInput::Received { from: self.party(from), message: (**message).clone() }
    }

    fn checked(&mut self, _: Seat, verdict: ReplicaVerdict) -> ReplicaInput {
        ReplicaInput::Checked(verdict)
    }

    fn tick(&mut self, _: Seat) -> ReplicaInput {
        ReplicaInput::Tick
    }

    /// A crash behind the record does not undo it.
    fn writes(&mut self, record: &ReplicaRecord, step: &mut Step<'_, Self>) {
        if let ReplicaRecord::Checkpoint(certified, _) = record {
            step.note(Observation::Kept(certified.statement));
        }
    }

    fn carry_out(&mut self, effect: ReplicaEffect, step: &mut Step<'_, Self>) {
        let event = match effect {
            ReplicaEffect::Send { to, message } => {
                self.note_sent(&message, step);
                return self.seating.post(to, message, step);
            }
            ReplicaEffect::Run(job) => return step.run(job),
            ReplicaEffect::Applied { slot, value } => Observation::Applied(slot, value),
            ReplicaEffect::Restored(_) => Observation::Restored,
            ReplicaEffect::NotRestored(::prefinal_trantor::RestoreFailure::NotSeated {
                ..
            }) => return,
            ReplicaEffect::NotRestored(why) => Observation::Refused(why.to_string()),
            ReplicaEffect::ConfigurationRefused(why) => Observation::Refused(why.to_string()),
            ReplicaEffect::Accuse { party, fault } => {
                Observation::Accused(party, fault.to_string())
            }
            ReplicaEffect::Order(OrderEffect::Accuse { party, fault }) => {
                Observation::Accused(party, fault.to_string())
            }
            ReplicaEffect::Order(OrderEffect::Abandoned { .. }) => Observation::GaveUp,
            ReplicaEffect::Stable(_) | ReplicaEffect::Order(_) => return,
        };
        step.note(event);
    }

    fn run(&mut self, _: Seat, job: ReplicaJob) -> (ReplicaVerdict, Duration) {
        let verdict = match &job {
            ReplicaJob::Order(order) => {
                let memo = self.memo(tag_of(order.committee()));
                ReplicaVerdict::Order(Trantor::run(memo, order))
            }
            ReplicaJob::Certify(_) => job.run(),
        };
        (verdict, WORK)
    }
}

/// A committee is told from others by its tag, as if that were the number of an epoch.
impl Envelope<Message> for Arc<ReplicaMessage> {
    fn engine(&self) -> Option<(EpochId, &Message)> {
        match &**self {
            ReplicaMessage::Order { committee, message } => {
                Some((EpochId::new(u64::from_be_bytes(*committee)), message))
            }
            _ => None,
        }
    }

    fn of_engine(epoch: EpochId, message: Message) -> Self {
        let (committee, message) = (epoch.get().to_be_bytes(), Box::new(message));
        Self::new(ReplicaMessage::Order { committee, message })
    }
}

/// Replicas alone have no beacon.
impl Mail<Ideal> for Arc<ReplicaMessage> {
    fn beacon(&self) -> Option<&::prefinal_beacon::Message<Ideal>> {
        None
    }

    fn epoch(&self) -> EpochId {
        self.engine().map_or(prefinal_validator::setup::FIRST, |(epoch, _)| epoch)
    }

    fn from_beacon(_: EpochId, _: ::prefinal_beacon::Message<Ideal>) -> Option<Self> {
        None
    }

    fn junk(epoch: EpochId, dice: &mut Dice) -> Option<Self> {
        Trantor::junk(dice).map(|message| Self::of_engine(epoch, message))
    }
}

impl Playable for ReplicaHost {
    type Scheme = Ideal;

    fn seating(&self) -> &Seating {
        &self.seating
    }

    fn kept(_: &Seated) -> Option<MemoryUse> {
        None
    }

    fn place(event: &Observation) -> Option<Place> {
        Some(match event {
            Observation::Applied(slot, value) => Place::CarriedOut(*slot, *value),
            Observation::Kept(statement) => Place::Revealed(before(statement.slot)),
            _ => return None,
        })
    }

    fn finding(event: &Observation) -> Option<Finding<'_>> {
        match event {
            Observation::Accused(party, fault) => Some(Finding::Accused(*party, fault)),
            Observation::GaveUp => Some(Finding::GaveUp),
            Observation::Restored => Some(Finding::Restored),
            _ => None,
        }
    }

    /// A key of its own.
    fn whisper(_: Party, bytes: Vec<u8>) -> InputOf<Self> {
        let header = ClientHeader { client: Client::new(Sha256::digest(&bytes).into()), number: 0 };
        let command = Command::Put { key: hex::encode(&bytes), value: bytes };
        ReplicaInput::Submit(command.transaction(header))
    }

    fn first(&self) -> Option<Slot> {
        Some(Slot::new(1))
    }

    fn compare(simulation: &Simulation<Self>, honest: &[Seat]) -> Result<(), Violation> {
        let mut states: BTreeMap<Slot, (Seat, &KeyValues)> = BTreeMap::new();
        for seat in honest {
            let Some(Seated { replica: Some(replica), at }) = simulation.machine(*seat) else {
                continue;
            };
            let (other, state) = states.entry(*at).or_insert((*seat, replica.app()));
            if *state != replica.app() {
                let what = format!("{seat} and {other} have other states after {at}");
                return Err(Violation::Agreement(what));
            }
        }
        Ok(())
    }

    fn broken(&self) -> Option<String> {
        self.broken.as_ref().map(|why| format!("does not start: {why}"))
    }
}
