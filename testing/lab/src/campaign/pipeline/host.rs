//! The parties of an execution with their disks.
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::{Beacon, Binding, Finality, Life, Limits, Paths, Sharing, Slot, StateSig};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::{Elector, Electorate};
use prefinal_crypto_core::context::EpochId;
use prefinal_engine::{Engine, PastVotes};
use prefinal_execution::{Input, Past, Pipeline};
use prefinal_jolteon::Jolteon;
use prefinal_protocol::Instant;
use prefinal_registry::NamedEngine;
use prefinal_sim::{Dice, Host, InputOf, Seat, Step};
use prefinal_validator::setup::{self, Identity, Setup};

use super::super::board::{KEYS, Layout};
use super::super::execution::{Finding, MemoryUse, Place, Playable, ROUND, WORK};
use super::super::hand::Hand;
use super::super::ideal::Ideal;
use super::super::permissive::FIRST;
use super::super::table::REST;
use super::super::vice::Mail;
use super::Scenario;
use super::event::{Happens, Job, Kept, Observation, Post, Wants};
use super::ledger::{Ledger, Origin, StoreDisk};
use super::party::{Machines, Means, PartyNode};
use crate::failure::Failure;
use crate::known::CheckedPartials;
use crate::legible::{Act, ReadableEngine};
use crate::lives::Lives;
use crate::seating::Seating;

/// A committee with its keys, and what every disk holds in the beginning.
pub(in super::super) struct Guild {
    pub(super) setup: Setup,
    pub(super) identities: Vec<Identity>,
    pub(super) hand: Hand<Ideal>,
    pub(super) electorate: Arc<Electorate<MinSig>>,
    origin: Origin,
}

impl Guild {
    pub(in super::super) fn new(layout: &Layout) -> Result<Self, Failure> {
        let (setup, identities) = setup::found(&layout.plan, KEYS).map_err(Failure::bad_input)?;
        let pace = prefinal_engine::Pace { pause: REST, ..prefinal_engine::Pace::NONE };
        let setup = Setup { timeout: ROUND, pace, ..setup };
        let electors = setup.certifiers.iter().zip(&setup.members);
        let electors =
            electors.map(|(one, member)| Elector { key: one.key, stake: member.stake.get() });
        let electorate = Electorate::more_than_two_thirds(electors.collect());
        Ok(Self {
            hand: <Ideal>::hand(&layout.plan, layout.algorithm),
            electorate: Arc::new(electorate.map_err(Failure::bad_input)?),
            origin: Origin::new()?,
            setup,
            identities,
        })
    }

    pub(super) fn stakes(&self) -> Vec<u128> {
        self.setup.members.iter().map(|member| member.stake.get()).collect()
    }
}

/// Makes the parties of a run, and starts them again after crashes.
pub(super) struct PipelineHost {
    guild: Arc<Guild>,
    scenario: Rc<Scenario>,
    pub(super) seating: Seating,
    seed: u64,
    /// What names of blocks depend on.
    blocks: [u8; 32],
    stores: BTreeMap<Seat, StoreDisk>,
    lives: Lives,
    births: BTreeMap<Seat, u32>,
    memo: <Jolteon as ReadableEngine>::Memo,
    random: CheckedPartials<Ideal>,
    /// By the root that is signed: partials name none.
    states: BTreeMap<[u8; 32], CheckedPartials<StateSig>>,
    dice: Dice,
    /// Why a party has not started.
    broken: Option<String>,
}

impl PipelineHost {
    pub(super) fn new(
        guild: &Arc<Guild>,
        scenario: &Rc<Scenario>,
        seating: Seating,
        seed: u64,
    ) -> Result<Self, Failure> {
        let Setup { context, members, .. } = &guild.setup;
        let committee = prefinal_jolteon::Replicas::new(context, members.clone());
        let blocks = *committee.map_err(Failure::bad_input)?.context();
        let mut memo = Default::default();
        Jolteon::trust_seen(&mut memo);
        Ok(Self {
            guild: Arc::clone(guild),
            scenario: Rc::clone(scenario),
            seating,
            seed,
            blocks,
            stores: BTreeMap::new(),
            lives: Lives::default(),
            births: BTreeMap::new(),
            memo,
            random: CheckedPartials::default(),
            states: BTreeMap::new(),
            dice: Dice::new(seed ^ 0x70_72_69_63_65),
            broken: None,
        })
    }

    fn dice(&self, seat: Seat, what: u64) -> Dice {
        Dice::new(
            self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ what << 32 ^ u64::from(seat.get()),
        )
    }

    fn ledger(&self, seat: Seat) -> Ledger {
        let wrong = self.scenario.divergence(self.seating.party(seat));
        let births = self.births.get(&seat).copied().unwrap_or(0);
        Ledger::new(wrong.filter(|one| births >= one.life).map(|one| one.from))
    }

    fn start(&mut self, seat: Seat, kept: &[Kept]) -> Result<PartyNode, String> {
        let (party, life) = (self.seating.party(seat), self.lives.begin(seat));
        let births = self.births.entry(seat).or_default();
        *births += 1;
        let number = u64::from(*births);
        let guild = Arc::clone(&self.guild);
        let identity = guild.identities.get(party.index()).ok_or("it is nobody")?;
        let engine = kept.iter().filter_map(|one| match one {
            Kept::Engine(record) => Some(record.clone()),
            _ => None,
        });
        let (engine, past) = Jolteon::begin(&guild.setup, identity, engine.collect())
            .map_err(|error| error.to_string())?;
        let failures = self.scenario.failures(seat);
        let dice = self.dice(seat, 0);
        let fresh = || StoreDisk::new(&guild.origin, failures, dice);
        let recovered = self.stores.entry(seat).or_insert_with(fresh).boot(&guild.origin)?;
        let optimistic = recovered.optimistic.iter().map(|one| (one.block.header, one.roots));
        let found = (recovered.committed, optimistic.collect());
        let records = kept.iter().filter_map(|one| match one {
            Kept::Pipeline(record) => Some(record.clone()),
            _ => None,
        });
        let past_pipeline = Past { recovered, records: records.collect() };
        let config = self.scenario.config(seat);
        let pipeline = Pipeline::new(config, past_pipeline).map_err(|error| error.code());
        let (random, state) = self.beacons(party, life, &past, kept)?;
        let eager = self.scenario.is_eager(party).then(|| identity.certifier());
        let means = Means {
            context: guild.setup.context,
            electorate: Arc::clone(&guild.electorate),
            late: self.scenario.late,
            dice: self.dice(seat, number),
            eager,
            window: config.limits.window,
            mistake: self.scenario.mistake,
        };
        let machines = Machines { engine, random, state, pipeline, found };
        Ok(PartyNode::new(means, machines, kept))
    }

    fn beacons(
        &self,
        me: Party,
        life: Life,
        past: &PastVotes,
        kept: &[Kept],
    ) -> Result<(Beacon<Ideal>, Beacon<StateSig>), String> {
        let Guild { setup, identities, hand, electorate, .. } = &*self.guild;
        let finality = setup.finality(Jolteon::QUORUM).map_err(|error| error.to_string())?;
        let config = ::prefinal_beacon::Config::<Ideal> {
            context: setup.context,
            me,
            paths: (hand.paths)(me).ok_or("it has no paths")?,
            binding: Binding::Slot,
            fast_attempt: Jolteon::FAST_ATTEMPT,
            finality,
            first: FIRST,
            life,
            limits: Limits::default(),
        };
        let of = |pick: fn(&Kept) -> Option<::prefinal_beacon::Record>| {
            let gave_up = past.abandoned.map(|view| ::prefinal_beacon::Record::Abandoned { view });
            kept.iter().filter_map(pick).chain(gave_up).collect::<Vec<_>>()
        };
        let records = of(|one| if let Kept::Random(record) = one { Some(*record) } else { None });
        let random = Beacon::new(config, &records).map_err(|error| error.to_string())?;
        let secret = identities.get(me.index()).map(Identity::certifier);
        let stakes: Vec<_> = setup.members.iter().map(|member| member.stake).collect();
        let finality = Finality::exact(&stakes, Jolteon::QUORUM);
        let config = ::prefinal_beacon::Config::<StateSig> {
            context: setup.context,
            me,
            paths: Paths::Tight(Sharing { committee: Electorate::clone(electorate), secret }),
            binding: Binding::Value,
            fast_attempt: Jolteon::FAST_ATTEMPT,
            finality: finality.map_err(|error| error.to_string())?,
            first: FIRST,
            life,
            limits: Limits::default(),
        };
        let records = of(|one| if let Kept::State(record) = one { Some(*record) } else { None });
        let state = Beacon::new(config, &records).map_err(|error| error.to_string())?;
        Ok((random, state))
    }

    fn see(&mut self, from: Party, post: &Post, step: &mut Step<'_, Self>) {
        match post {
            Post::Engine(message) => {
                Jolteon::see(&mut self.memo, from, message);
                let act = Jolteon::sent(message, &self.blocks);
                act.into_iter().for_each(|act| step.note(Observation::Act(act)));
            }
            Post::Random(message) => {
                self.random.see(from, message);
                if let ::prefinal_beacon::Message::Partial { path, slot, .. } = message {
                    step.note(Observation::Released(*path, *slot));
                }
            }
            Post::State(_) => {}
        }
    }

    fn price(&mut self, most: Duration) -> Duration {
        self.dice.duration(Duration::ZERO, most)
    }
}

/// A party, unless it did not start.
pub(super) struct Seated(Option<PartyNode>);

impl prefinal_protocol::Machine for Seated {
    type Input = Happens;
    type Record = Kept;
    type Effect = Wants;

    fn handle(&mut self, now: Instant, input: Happens) {
        if let Some(node) = &mut self.0 {
            node.handle(now, input);
        }
    }

    fn poll(&mut self) -> Option<prefinal_protocol::Output<Kept, Wants>> {
        self.0.as_mut()?.poll()
    }

    fn wake_at(&self) -> Option<Instant> {
        self.0.as_ref()?.wake_at()
    }
}

impl Host for PipelineHost {
    type Machine = Seated;
    type Message = Arc<Post>;
    type Job = Box<Job>;
    type Verdict = Happens;
    type Event = Observation;

    fn boot(&mut self, seat: Seat, kept: &[Kept]) -> Seated {
        match self.start(seat, kept) {
            Ok(node) => Seated(Some(node)),
            Err(why) => {
                self.broken.get_or_insert(format!("{seat}: {why}"));
                Seated(None)
            }
        }
    }

    fn first_input(&mut self, _: Seat) -> Option<Happens> {
        Some(Happens::Start)
    }

    fn received(&mut self, _: Seat, from: Seat, post: &Arc<Post>) -> Happens {
        Happens::Received(self.seating.party(from), Arc::clone(post))
    }

    fn checked(&mut self, _: Seat, verdict: Happens) -> Happens {
        verdict
    }

    fn tick(&mut self, _: Seat) -> Happens {
        Happens::Tick
    }

    fn writes(&mut self, record: &Kept, step: &mut Step<'_, Self>) {
        if let Kept::Engine(record) = record {
            let me = self.seating.party(step.seat());
            let act = Jolteon::written(me, record, &self.blocks);
            act.into_iter().for_each(|act| step.note(Observation::Act(act)));
        }
    }

    fn carry_out(&mut self, wants: Wants, step: &mut Step<'_, Self>) {
        match wants {
            Wants::Send(to, post) => {
                self.see(self.seating.party(step.seat()), &post, step);
                self.seating.clone().post(to, post, step);
            }
            Wants::Run(job) => step.run(job),
            Wants::Note(observation) => step.note(observation),
        }
    }

    fn run(&mut self, seat: Seat, job: Box<Job>) -> (Happens, Duration) {
        let pipeline = |input| Happens::Pipeline(Box::new(input));
        match *job {
            Job::Engine(job) => (Happens::Engine(Jolteon::run(&mut self.memo, &job)), WORK),
            Job::Random(job) => (Happens::Random(self.random.run(&job)), WORK),
            Job::State(job) => {
                let known = self.states.entry(job.input().root).or_default();
                known.compare(&job, |party, statement| {
                    let identity = self.guild.identities.get(party.index())?;
                    let domain = StateSig::DOMAIN;
                    Some(identity.certifier().sign(domain, &statement.to_bytes()))
                });
                (Happens::State(known.run(&job)), WORK)
            }
            Job::Execute(job) => {
                let verdict = job.run(&self.ledger(seat));
                (pipeline(Input::Executed(verdict)), self.price(self.scenario.execute))
            }
            Job::Store(job) => {
                let verdict = self.stores.get_mut(&seat).and_then(|store| store.run(&job));
                let done = verdict.map_or(Happens::Tick, |one| pipeline(Input::Stored(one)));
                (done, self.price(self.scenario.write))
            }
        }
    }
}

impl Mail<Ideal> for Arc<Post> {
    fn beacon(&self) -> Option<&::prefinal_beacon::Message<Ideal>> {
        match &**self {
            Post::Random(message) => Some(message),
            Post::Engine(_) | Post::State(_) => None,
        }
    }

    fn epoch(&self) -> EpochId {
        setup::FIRST
    }

    fn from_beacon(_: EpochId, message: ::prefinal_beacon::Message<Ideal>) -> Option<Self> {
        Some(Self::new(Post::Random(message)))
    }

    fn junk(_: EpochId, dice: &mut Dice) -> Option<Self> {
        Jolteon::junk(dice).map(|message| Self::new(Post::Engine(message)))
    }
}

impl Playable for PipelineHost {
    type Scheme = Ideal;

    fn seating(&self) -> &Seating {
        &self.seating
    }

    fn kept(machine: &Seated) -> Option<MemoryUse> {
        machine.0.as_ref().map(|node| MemoryUse::by(node.values()))
    }

    fn place(event: &Observation) -> Option<Place> {
        Some(match event {
            Observation::Finalized(slot, value) => Place::Finalized(*slot, *value),
            Observation::Committed(slot, _) => Place::Revealed(*slot),
            _ => return None,
        })
    }

    fn finding(event: &Observation) -> Option<Finding<'_>> {
        match event {
            Observation::Accused(party, fault) => Some(Finding::Accused(*party, fault)),
            Observation::Act(Act::GaveUp(_)) => Some(Finding::GaveUp),
            _ => None,
        }
    }

    fn whisper(_: Party, bytes: Vec<u8>) -> InputOf<Self> {
        Happens::Submit(bytes)
    }

    fn first(&self) -> Option<Slot> {
        Some(FIRST)
    }

    fn has_failed(machine: &Seated) -> bool {
        machine.0.as_ref().is_some_and(PartyNode::has_failed)
    }

    fn broken(&self) -> Option<String> {
        self.broken.as_ref().map(|why| format!("does not start: {why}"))
    }
}
