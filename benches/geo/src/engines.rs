//! Jolteon against Malachite: the same committee in the same places, nothing takes time but the links.
//!
//! The whole validator runs on either engine: key generation in blocks, the beacon, real signatures.
//! What parties would compute over and over is computed once (`prefinal_lab::committee`); what Malachite checks
//! each party checks for itself, which takes real time and no virtual one: at every height each verifies
//! three signatures of each other, one by one, so twice the parties take four times as long; and some
//! heights pass before there are keys.
use std::num::NonZeroU32;
use std::sync::Arc;

use prefinal_beacon::Wvuf;
use prefinal_jolteon::Jolteon;
use prefinal_lab::committee::{Ground, Prices};
use prefinal_lab::latency::Experiment;
use prefinal_lab::stakes::StakeTable;
use prefinal_malachite::Malachite;
use prefinal_rows::{OURS, Sheet};
use prefinal_sim::{GLOBAL, Geography, Jitter, Network, Placement};
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};

use crate::{Outcome, put_waits};

const SEED: u64 = 1;
/// In percent of half a round trip, as `prefinal simulate` has it.
const JITTER: u8 = 5;

/// Both engines on both paths.
pub(crate) fn compare(sheet: &mut Sheet, quick: bool) -> Outcome<()> {
    let (parties, slots) = if quick { (16, 10) } else { (32, 20) };
    let stakes = StakeTable::embedded()?.largest(parties).ok_or("too few holders")?;
    // In thousandths of a coin: Malachite counts to a third of 2⁶⁴.
    let stakes: Vec<Stake> =
        stakes.into_iter().map(|stake| Stake::new(stake.get() / 100_000)).collect();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS)?;
    let ground = Arc::new(Ground::<Wvuf>::new(&plan, SEED)?);
    ground.deal();
    sheet.command("cargo run --release -p prefinal-geo");
    let placement = Placement::dealt(&Geography::aws()?, u32::try_from(parties)?, &GLOBAL, SEED)?;
    let experiment = Experiment {
        ground,
        prices: Prices::FREE,
        network: Network::placed(placement, Jitter::Percent(JITTER)),
        cores: NonZeroU32::MIN,
        seed: SEED,
        slots,
    };
    for (path, algorithm) in [("slow", Algorithm::Slow), ("fast", Algorithm::Fast)] {
        let runs = std::thread::scope(|scope| {
            let one = scope.spawn(|| experiment.run::<Jolteon>(algorithm));
            let other = experiment.run::<Malachite>(algorithm);
            [("Jolteon", one.join()), ("Malachite", Ok(other))]
        });
        for (engine, run) in runs {
            let run = run.map_err(|_| "a run ended in a panic")?.map_err(|why| why.to_string())?;
            let case = format!("{engine}, {path} path, {parties} parties, {slots} slots");
            put_waits(sheet.of("geo::engines", &case), &run.waits)?;
            let slot = run.slot_time.as_secs_f64() * 1e3;
            sheet.of("geo::engines", &case).put(OURS, "slot", slot, "ms");
        }
    }
    Ok(())
}
