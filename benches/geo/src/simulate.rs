//! The command's experiments, on the same committees with fixed seeds.
use prefinal_lab::priced::Priced;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use prefinal_beacon::{Bls, Wvuf};
use prefinal_jolteon::Jolteon;
use prefinal_lab::Costs;
use prefinal_lab::committee::{Ground, Prices};
use prefinal_lab::latency::Experiment;
use prefinal_lab::stakes::StakeTable;
use prefinal_lab::thresholds::{self, Delays, Order};
use prefinal_rows::{OURS, Sheet};
use prefinal_sim::{Jitter, Network};
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::Ratio;

use crate::{Outcome, milliseconds, put_waits};

/// What the command takes if nothing is said.
const SEED: u64 = 1;
const JITTER: u8 = 5;
const CORES: u32 = 32;

/// Key generation takes most of a run, and by the square of the parties.
const QUICK: usize = 32;

const EUROPE: [&str; 8] = [
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
];

/// The paper's committee, or its largest holders.
fn plan(parties: Option<usize>) -> Outcome<Plan> {
    let table = StakeTable::embedded()?;
    let stakes = table.largest(parties.unwrap_or(table.holders())).ok_or("too few holders")?;
    Ok(Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS)?)
}

fn network(plan: &Plan, regions: &[&str]) -> Outcome<Network> {
    let regions: Vec<String> = regions.iter().copied().map(str::to_owned).collect();
    let placement =
        prefinal_lab::place(&regions, plan.parties(), SEED).map_err(|why| why.to_string())?;
    Ok(match placement {
        Some(placement) => Network::placed(placement, Jitter::Percent(JITTER)),
        None => Network::constant(Duration::ZERO),
    })
}

fn cores() -> NonZeroU32 {
    NonZeroU32::new(CORES).unwrap_or(NonZeroU32::MIN)
}

/// Slow path against fast path: the paper's committee in two places in the paper's scheme, and in drand's
/// scheme in one.
pub(crate) fn paths(sheet: &mut Sheet, quick: bool) -> Outcome<()> {
    let (slots, parties) = if quick { (10, Some(QUICK)) } else { (15, None) };
    let mut place = Place { plan: plan(parties)?, slots, quick, sheet };
    place.run::<Wvuf>("world, weighted VUF", ("wvuf", &["all"]))?;
    if !quick {
        place.run::<Bls>("world, threshold BLS", ("bls", &["all"]))?;
        place.run::<Wvuf>("Europe, weighted VUF", ("wvuf", &EUROPE))?;
    }
    Ok(())
}

struct Place<'a> {
    plan: Plan,
    slots: u64,
    quick: bool,
    sheet: &'a mut Sheet,
}

impl Place<'_> {
    fn run<S: Priced>(&mut self, name: &str, (scheme, regions): (&str, &[&str])) -> Outcome<()> {
        let slots = self.slots;
        let typed = format!(
            "cargo run --release -- simulate --scheme {scheme} --regions {} --slots {slots} --seed {SEED}{}",
            regions.join(","),
            if self.quick { " --parties 32" } else { "" }
        );
        println!("\n> {typed}");
        let experiment = Experiment::<S> {
            ground: Arc::new(Ground::new(&self.plan, SEED)?),
            prices: Prices::Measured {
                costs: Costs::measure().map_err(|why| why.to_string())?,
                cores: cores(),
            },
            network: network(&self.plan, regions)?,
            cores: cores(),
            seed: SEED,
            slots,
        };
        let (slow, fast) = experiment.both::<Jolteon>().map_err(|why| why.to_string())?;
        self.sheet.command(&typed);
        for (run, outcome) in [("slow", slow), ("fast", fast)] {
            let case = format!("{name}, {run} path");
            put_waits(self.sheet.of("geo::paths", &case), &outcome.waits)?;
        }
        Ok(())
    }
}

/// Tight thresholds against ramps, and what the stake that the fast path needs costs.
pub(crate) fn thresholds(sheet: &mut Sheet, quick: bool) -> Outcome<()> {
    let slots = if quick { 10 } else { 15 };
    let typed = format!(
        "cargo run --release -- simulate --thresholds --scheme wvuf --slots {slots} --seed {SEED}"
    );
    println!("\n> {typed}");
    let plan = plan(None)?;
    let delays = thresholds::delays::<Wvuf, Jolteon>(&plan, Ratio::FIVE_SIXTHS, SEED);
    sheet.command(&typed);
    for Delays { kind, synchronous, adversarial } in delays.map_err(|why| why.to_string())? {
        let row = sheet.of("geo::delays", kind).put(OURS, "synchronous", synchronous, "Δ");
        row.put(OURS, "adversarial", adversarial, "Δ");
    }
    let costs = Costs::measure().map_err(|why| why.to_string())?;
    let network = network(&plan, &["all"])?;
    let order = Order { network, cores: cores(), seed: SEED, slots, costs };
    let rows = thresholds::weights::<Wvuf, Jolteon>(&plan, order).map_err(|why| why.to_string())?;
    for line in rows {
        let case = match line.total() {
            None => line.profile.name.clone(),
            Some(weight) => format!("{}, weight {weight}", line.profile.name),
        };
        let mut row = sheet.of("geo::stake", &case);
        if let Some(percent) = line.profile.needs.map(percent) {
            row = row.put(OURS, "stake", percent, "%");
        }
        for (quantity, waits) in
            [("mean, combined behind", &line.behind), ("mean, combined ahead", &line.ahead)]
        {
            if let mean @ Some(_) = waits.mean() {
                row = row.put(OURS, quantity, milliseconds(mean)?, "ms");
            }
        }
        put_waits(row, &line.free)?;
    }
    Ok(())
}

/// In percent, with two digits; a share of the stake of a real table.
fn percent(needs: Ratio) -> f64 {
    let parts = needs.numerator().saturating_mul(10_000) / needs.denominator().max(1);
    f64::from(u32::try_from(parts).unwrap_or(10_000)) / 100.0
}
