//! Trantor's whole replica under attack: the example application, checkpoints, state transfer, and committees that
//! the application changes on the way.
//!
//! ```text
//! founders ─► a newcomer gets the stake of the last founder ─► that one comes back
//! ```
//! The newcomer has a place without stake from the beginning, for one without a place takes part in nothing; it knows
//! this configuration and not from when on it is in force.
//!
//! The script is that of every execution (`draw`), with crashes and the vices of Trantor's messages. In addition an
//! honest party may sleep for so long that it needs the state of others, and faulty parties lie about states (`lies`).
//!
//! | must hold    | how it is checked                                                                 |
//! |--------------|-----------------------------------------------------------------------------------|
//! | agreement    | one block for each height; equal states at equal heights, every tenth of a second    |
//! | checkpoints  | honest parties vote for one state in each epoch, and no other one is certified       |
//! | total order  | heights are carried out in one order, and none is left out but by a state transfer   |
//! | accusations  | nobody honest is accused                                                            |
//! | liveness     | everybody, also sleepers, newcomers and those that left, gets beyond what was last before the network healed |
//!
//! It is played on demand: no mixed campaign draws it, for it has no function to compute.

mod account;
mod host;
mod lies;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_trantor::{
    Client, ClientHeader, Command, Configuration, ReplicaInput, Replicas, Seat as Place, Settings,
    Trantor,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_protocol::Instant;
use prefinal_sim::rule::Rule;
use prefinal_sim::{Chance, Dice, Disk, Seat};
use prefinal_validator::setup::{self, Algorithm, Identity, Setup};
use prefinal_weighted_rounding::{Ratio, Stake};

use self::account::Account;
use self::host::{ReplicaHost, tag_of};
use self::lies::{Liar, Lie};
use super::Signatures;
use super::board::{KEYS, Layout};
use super::corrupt::{Committees, Conspiracy, Corruptible};
use super::draw::{Draw, Stakes};
use super::execution::{Bounds, ExecutionReport, Stage};
use super::tally::Kind;
use crate::failure::Failure;
use crate::seating::Seating;

const BOUNDS: Bounds = Bounds { patience: Duration::from_secs(300), events: 3_000_000 };

/// The longest value that is put into the store: more than a piece of a state.
const LONGEST: u64 = 90_000;

/// How many values are longer than those of all parties.
const LONG_VALUES: u64 = 4;

/// How much longer the network is bad than in other executions: some epochs.
const LONGER: Duration = Duration::from_secs(3);

/// Parties that are founders, and one that joins them.
pub(super) struct Company {
    context: Context,
    identities: Vec<Arc<Identity>>,
    /// One after the other; the first is that of the founders.
    configurations: Vec<Configuration>,
}

impl Company {
    /// The parties of a board, and a newcomer.
    pub(super) fn new(layout: &Layout) -> Result<Self, Failure> {
        let founders = &layout.plan.stakes;
        let all = founders.iter().copied().chain([Stake::ZERO]).collect();
        let plan = Layout::new(all, Algorithm::Slow, Ratio::FIVE_SIXTHS)?.plan;
        let (Setup { context, .. }, identities) =
            setup::found(&plan, KEYS).map_err(Failure::bad_input)?;
        let places = |stakes: &[Stake]| Configuration {
            seats: identities.iter().zip(stakes).map(|(one, stake)| place(one, *stake)).collect(),
        };
        let configurations = plans(founders).iter().map(|stakes| places(stakes)).collect();
        let identities = identities.into_iter().map(Arc::new).collect();
        Ok(Self { context, identities, configurations })
    }

    /// What consensus counts on a board, in whatever epoch.
    pub(super) fn stakes(layout: &Layout) -> Stakes {
        let plans = plans(&layout.plan.stakes);
        let parties = plans.iter().map(Vec::len).max().unwrap_or(0);
        let of_party = |place: usize| plans.iter().filter_map(|plan| plan.get(place)).max();
        let most = (0..parties).map(|place| of_party(place).copied().unwrap_or(Stake::ZERO));
        let total = plans.iter().map(|plan| plan.iter().map(|one| one.get()).sum()).min();
        Stakes { most: most.collect(), total: total.unwrap_or(0) }
    }

    fn founders(&self) -> usize {
        self.identities.len().saturating_sub(1)
    }

    fn committees(&self) -> Committees<Trantor> {
        let of = |configuration: &Configuration| {
            let members = configuration.seats.iter().zip(&self.identities).filter_map(member);
            let committee = Replicas::new(&self.context, members.collect()).ok()?;
            Some((EpochId::new(u64::from_be_bytes(tag_of(&committee))), committee))
        };
        let all: Vec<_> = self.configurations.iter().filter_map(of).collect();
        let first = all.first().map_or(setup::FIRST, |(first, _)| *first);
        Committees { first, all: all.into_iter().collect() }
    }
}

fn place(identity: &Identity, stake: Stake) -> Place {
    let (key, proof) = (identity.signer.public_key(), identity.signer.prove_possession());
    Place { key, proof, stake: stake.get() }
}

fn member((place, _): (&Place, &Arc<Identity>)) -> Option<::prefinal_trantor::Member> {
    let key = place.key.verify_possession(&place.proof).ok()?;
    Some(::prefinal_trantor::Member { key, stake: Stake::new(place.stake) })
}

/// The stakes of all places, one configuration after the other.
fn plans(founders: &[Stake]) -> Vec<Vec<Stake>> {
    let last = founders.last().copied().unwrap_or(Stake::ZERO);
    let stay = founders.iter().copied().take(founders.len().saturating_sub(1));
    let with = |places: [Stake; 2]| stay.clone().chain(places).collect();
    vec![with([last, Stake::ZERO]), with([Stake::ZERO, last]), with([last; 2])]
}

/// What is drawn for an execution in addition to its script.
struct Scenario {
    settings: Settings,
    /// When which configuration is asked for.
    changes: Vec<(Instant, Configuration)>,
    /// Who sleeps, from when on, until the network heals.
    sleeper: Option<(Seat, Instant)>,
    /// When who is given how long a value.
    values: Vec<(Seat, Instant, usize)>,
    /// What faulty parties lie about, if it is not drawn; then they do nothing else.
    lies: Option<Vec<Lie>>,
}

impl Scenario {
    fn new(seed: u64, draw: &Draw, company: &Company) -> Self {
        let mut dice = Dice::new(seed ^ 0x7265_706c_6963_6173);
        let before = draw.heals.since_start();
        let configuration = company.configurations.first().cloned();
        let settings = Settings {
            configuration: configuration.unwrap_or(Configuration { seats: Vec::new() }),
            config_offset: dice.between(1, 2),
            retained_epochs: dice.below(2),
        };
        let most = u64::try_from(company.configurations.len()).unwrap_or(1);
        let several = usize::try_from(dice.between(1, most)).unwrap_or(1);
        let later = company.configurations.iter().take(several).skip(1);
        let mut changes: Vec<Instant> =
            later.clone().map(|_| Instant::at(dice.duration(Duration::ZERO, before))).collect();
        changes.sort_unstable();
        let changes = changes.into_iter().zip(later.cloned()).collect();
        let seats = u64::try_from(company.identities.len()).unwrap_or(1);
        let mut seat = || Seat::new(u32::try_from(dice.below(seats)).unwrap_or(0));
        let (one, who): (Seat, Vec<Seat>) = (seat(), (0..LONG_VALUES).map(|_| seat()).collect());
        let is_faulty = draw.faulty().contains(&Party::new(one.get()));
        let sleeps = dice.happens(Chance::percent(60)) && !is_faulty;
        let from = Instant::at(dice.duration(Duration::ZERO, before / 3));
        let values = who.into_iter().map(|seat| {
            let at = Instant::at(dice.duration(Duration::ZERO, before));
            (seat, at, usize::try_from(dice.below(LONGEST)).unwrap_or(0))
        });
        let values = values.collect();
        Self { settings, changes, sleeper: sleeps.then_some((one, from)), values, lies: None }
    }
}

/// Plays the execution of a seed, with all that is drawn for it.
pub(super) fn play(
    seed: u64,
    signatures: Signatures,
    draw: &Draw,
    company: &Company,
) -> Result<ExecutionReport, Failure> {
    let draw = &Draw { heals: draw.heals + LONGER, ..draw.clone() };
    let scenario = Scenario::new(seed, draw, company);
    play_as(seed, signatures, draw, company, &scenario)
}

fn play_as(
    seed: u64,
    signatures: Signatures,
    draw: &Draw,
    company: &Company,
    scenario: &Scenario,
) -> Result<ExecutionReport, Failure> {
    let parties = (0..).map(Party::new).take(company.identities.len());
    let seating = Seating::new(parties.chain(draw.twins()));
    let conspiracy = Conspiracy::<Trantor>::new(
        (seed, draw),
        &company.identities,
        seating.clone(),
        company.committees(),
        // No vices of the ordering if it is said what is lied about.
        scenario.lies.as_ref().map(|_| Vec::new()),
    );
    let told = Rc::clone(&conspiracy);
    let host = ReplicaHost::new(company, &scenario.settings, seating, signatures, told);
    let mut stage = Stage::new(seed, draw, host, BOUNDS)?;
    stage.corrupt_engines(|party, tally| {
        let mut rules = Trantor::rules(&conspiracy, party, tally);
        let drawn = || lies::draw(seed, party);
        let lies = scenario.lies.clone().unwrap_or_else(drawn).into_iter();
        rules.extend(lies.map(|lie| {
            let liar = Liar::new(lie, party, company.context, &conspiracy, tally);
            let rule: Box<dyn Rule<_>> = Box::new(liar);
            rule
        }));
        rules
    })?;
    stage.load().map_err(Failure::bad_input)?;
    disturb(&mut stage, scenario).map_err(Failure::bad_input)?;
    let outcome = stage.run().and_then(|()| {
        let host = stage.simulation.host();
        let account = Account {
            faulty: stage.faulty(),
            parties: &|seat| host.party(seat),
            notes: stage.simulation.notes(),
        };
        account.check()
    });
    Ok(stage.played(outcome))
}

/// Sleep, changes of the committee, and long values.
fn disturb(
    stage: &mut Stage<'_, ReplicaHost>,
    scenario: &Scenario,
) -> Result<(), prefinal_sim::UnknownSeat> {
    let wakes = stage.heals();
    if let Some((seat, from)) = scenario.sleeper {
        stage.count(Kind::Sleep, 1);
        stage.simulation.crash(seat, from)?;
        stage.put_down(seat, wakes);
        stage.simulation.restart(seat, wakes, Disk::Kept)?;
    }
    let seats = stage.simulation.host().seats();
    let changer = Client::new([0xc0; 32]);
    for (number, (at, configuration)) in (0..).zip(&scenario.changes) {
        stage.count(Kind::Change, 1);
        let header = ClientHeader { client: changer, number };
        let command = Command::Configure(configuration.clone()).transaction(header);
        // Anybody may be down.
        for seat in (0..seats).map(Seat::new) {
            stage.simulation.input(seat, *at, ReplicaInput::Submit(command.clone()))?;
        }
    }
    for (number, (seat, at, bytes)) in (0..).zip(&scenario.values) {
        let header = ClientHeader { client: Client::new([0x10; 32]), number };
        let command = Command::Put { key: format!("long {number}"), value: vec![7; *bytes] };
        stage.simulation.input(*seat, *at, ReplicaInput::Submit(command.transaction(header)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
