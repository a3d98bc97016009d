//! `prefinal simulate --hours`: a committee whose parties restart and move, with the fast path from the middle on, as
//! a table, a line for each minute, and plots.
//!
//! The paper measures an average over twelve hours of Aptos mainnet, before and after the fast path was deployed.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant as Clock};

use clap::Args;
use prefinal_crypto_core::access::Party;
use prefinal_lab::Failure;
use prefinal_lab::dealt::deployment::{Deployment, MINUTE, Minute, Phase, Report, Schedule};
use prefinal_lab::waits::Waits;
use prefinal_protocol::Instant;
use prefinal_registry::{Bls, Jolteon, Wvuf, scheme};
use prefinal_validator::setup::Plan;

use super::global::gap;
use super::thresholds::records;
use super::{Options, PAPER_FAST_MS, PAPER_SLOW_MS, costs, microseconds, write_costs};
use crate::changes::Changes;
use crate::output::Sink;
use crate::waits;
use prefinal_chart::{Axis, Legend, Line, Lines, Scale};

/// What a long run is asked for.
#[derive(Args, Debug)]
pub(super) struct DeploymentOptions {
    /// Run one committee for so many virtual hours instead: parties restart and move to other regions, once in each
    /// half too many are down for the fast path, which begins in the middle. With --ideal's cryptography
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=240), conflicts_with_all = [
        "campaign", "thresholds", "ideal", "epochs", "load", "execute", "sync", "slots", "engine",
    ])]
    hours: Option<u32>,
    /// Seconds from one slot to the next
    #[arg(long, value_name = "SECONDS", requires = "hours", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=60))]
    every: u64,
    /// How many times a party restarts: it is down for 20 seconds to 10 minutes, at most for an eighth of the run and
    /// for 192 slots, since others keep the values of 256
    #[arg(long, value_name = "COUNT", requires = "hours", default_value_t = 130)]
    restarts: u32,
    /// How many times a party moves to another region
    #[arg(long, value_name = "COUNT", requires = "hours", default_value_t = 40)]
    moves: u32,
}

impl DeploymentOptions {
    /// The run that is asked for, if one is.
    pub(super) fn schedule(&self) -> Option<Schedule> {
        Some(Schedule {
            length: Duration::from_secs(3600) * self.hours?,
            period: Duration::from_secs(self.every),
            restarts: self.restarts,
            moves: self.moves,
        })
    }
}

/// What is shown, and of which stakes.
struct Shown<'a> {
    report: &'a Report,
    plan: &'a Plan,
    seed: u64,
    /// Of each minute the times from global finalization to global reconstruction, of the slots that are final in it.
    gaps: Vec<Waits>,
}

/// From global finalization to global reconstruction, minute by minute.
fn gaps(report: &Report) -> Vec<Waits> {
    let mut spans = vec![Vec::new(); report.minutes.len()];
    for times in &report.global {
        let minute = times.finalized.since_start().as_secs() / MINUTE.as_secs();
        let minute = usize::try_from(minute).ok().and_then(|minute| spans.get_mut(minute));
        minute.into_iter().for_each(|spans| spans.push(gap(times)));
    }
    spans.into_iter().map(|spans| spans.into_iter().collect()).collect()
}

pub(super) fn run(options: &Options, schedule: &Schedule) -> Result<(), Failure> {
    let started = Clock::now();
    let (plan, _, placement) = options.gather(&Changes::default())?;
    let costs = costs(options)?;
    let world = options.world(placement.clone(), costs);
    let seed = options.committee.seed;
    let placement = placement.as_ref();
    let run = Deployment { plan: &plan, keys: seed, world: &world, schedule, placement };
    let watch = &mut |_| ControlFlow::Continue(());
    let report = match options.scheme.unwrap_or_default() {
        scheme::Name::Bls => run.run::<Bls, Jolteon>(watch)?,
        scheme::Name::Wvuf => run.run::<Wvuf, Jolteon>(watch)?,
    };
    let shown = Shown { report: &report, plan: &plan, seed, gaps: gaps(&report) };
    shown.print();
    let mut files = shown.write(options)?.to_vec();
    let json = options.out.join("costs.json");
    write_costs(&json, &costs)?;
    files.push(json);
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    say!("written: {}", files.join(", "));
    say!("{:.1} s, {} events", started.elapsed().as_secs_f64(), report.events);
    Ok(())
}

/// Hours, minutes and seconds since the start.
fn clock(at: Instant) -> String {
    let seconds = at.since_start().as_secs();
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A part of a whole in percent, with one decimal.
fn percent(part: u128, whole: u128) -> String {
    let tenths = part.saturating_mul(1000) / whole.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn share(by_fast_path: usize, values: usize) -> String {
    let count = |count: usize| u128::try_from(count).unwrap_or(u128::MAX);
    percent(count(by_fast_path), count(values))
}

impl Shown<'_> {
    fn print(&self) {
        let Report { phases: [slow, both], outages, .. } = self.report;
        let [slow_out, both_out] = outages;
        say!(
            "{}",
            waits::table(&[
                ("slow path only", &slow.waits),
                ("  in its outage", &slow_out.waits),
                ("both paths", &both.waits),
                ("  in its outage", &both_out.waits),
            ])
        );
        say!(
            "longest: the longest wait of any party for a slot (Definition 12), a mean over slots"
        );
        say!("the paper's mean on mainnet: {PAPER_SLOW_MS} ms slow, {PAPER_FAST_MS} ms fast");
        let of = |phase: &Phase| share(phase.by_fast_path, phase.waits.count());
        say!(
            "by the fast path: {} % of values in the second half, {} % in its outage",
            of(both),
            of(both_out)
        );
        let (slot, at) = (self.report.fast_from.get(), clock(self.report.switched));
        say!("the fast path began with slot {slot}, final at {at}");
        let caught_up: usize = self.report.minutes.iter().map(|minute| minute.caught_up).sum();
        say!(
            "{} times a party was down, {} times one moved; {caught_up} values were learnt later from others",
            self.report.pauses.len(),
            self.report.moves.len()
        );
        say!(
            "no value could be computed before its slot was final, in {} slots",
            self.report.global.len()
        );
    }

    fn stake(&self, party: Party) -> u128 {
        self.plan.stakes.get(party.index()).map_or(0, |stake| stake.get())
    }

    /// The stake that is down in a minute, in percent.
    fn down(&self, minute: u32) -> String {
        let down = self.report.down(minute).into_iter().map(|party| self.stake(party));
        percent(down.sum(), self.plan.stakes.iter().map(|stake| stake.get()).sum())
    }

    fn gaps(&self, minute: u32) -> Option<&Waits> {
        self.gaps.get(usize::try_from(minute).ok()?)
    }

    fn minutes(&self) -> impl Iterator<Item = (u32, &Minute)> {
        (0..).zip(&self.report.minutes)
    }

    fn write(&self, options: &Options) -> Result<[PathBuf; 4], Failure> {
        let files = ["hours.csv", "incidents.csv", "hours.svg", "hours-paths.svg"];
        let files = files.map(|name| options.out.join(name));
        let [minutes, incidents, waits, paths] = &files;
        let header = [
            "minute",
            "seed",
            "paths",
            "slots",
            "values",
            "mean_us",
            "p50_us",
            "p99_us",
            "mean_of_longest_us",
            "fast_percent",
            "caught_up",
            "down",
            "down_stake_percent",
            "moved",
            "final_to_computable_mean_us",
            "final_to_computable_p99_us",
        ];
        let rows = self.minutes().map(|(minute, what)| self.row(minute, what));
        records(minutes, std::iter::once(header.map(str::to_owned).to_vec()).chain(rows))?;
        let header = ["what", "party", "from_s", "until_s", "from_region", "to_region"];
        let header = header.map(str::to_owned).to_vec();
        records(incidents, std::iter::once(header).chain(self.incidents()))?;
        self.draw_waits().and_then(|picture| Sink::open(waits)?.write(picture.as_bytes()))?;
        self.draw_paths().and_then(|picture| Sink::open(paths)?.write(picture.as_bytes()))?;
        Ok(files)
    }

    fn row(&self, minute: u32, what: &Minute) -> Vec<String> {
        let Minute { slots, waits, by_fast_path, caught_up } = what;
        let gaps = self.gaps(minute);
        let down = self.report.down(minute).iter().map(|party| party.get().to_string()).collect();
        let moved = self.report.moved(minute).map(|one| one.party.get().to_string()).collect();
        let list = |parties: Vec<String>| parties.join(" ");
        vec![
            minute.to_string(),
            self.seed.to_string(),
            self.report.paths(minute).to_owned(),
            slots.to_string(),
            waits.count().to_string(),
            microseconds(waits.mean()),
            microseconds(waits.percentile(50)),
            microseconds(waits.percentile(99)),
            microseconds(waits.mean_of_longest()),
            share(*by_fast_path, waits.count()),
            caught_up.to_string(),
            list(down),
            self.down(minute),
            list(moved),
            microseconds(gaps.and_then(Waits::mean)),
            microseconds(gaps.and_then(|gaps| gaps.percentile(99))),
        ]
    }

    fn incidents(&self) -> impl Iterator<Item = Vec<String>> {
        let seconds = |at: Instant| format!("{:.3}", at.since_start().as_secs_f64());
        let pauses = self.report.pauses.iter().map(move |pause| {
            let (from, until) = (seconds(pause.from), seconds(pause.until));
            let party = pause.party.get().to_string();
            ["down".to_owned(), party, from, until, String::new(), String::new()].to_vec()
        });
        let moves = self.report.moves.iter().map(move |one| {
            let (party, at) = (one.party.get().to_string(), seconds(one.at));
            let (from, to) = (one.from.clone(), one.to.clone());
            ["moves".to_owned(), party, at.clone(), at, from, to].to_vec()
        });
        pauses.chain(moves)
    }

    fn line(&self, name: &str, of: impl Fn(u32, &Minute) -> Option<f64>) -> Line {
        let points = self
            .minutes()
            .filter_map(|(minute, what)| Some((f64::from(minute) / 60.0, of(minute, what)?)));
        Line { name: name.to_owned(), points: points.collect() }
    }

    /// Where the fast path begins, from the bottom to the top.
    fn switch(&self, top: f64) -> Line {
        let at = self.report.switched.since_start().as_secs_f64() / 3600.0;
        Line { name: "the fast path begins".to_owned(), points: vec![(at, 0.0), (at, top)] }
    }

    fn picture(&self, what: &str, up: Axis<'_>, lines: Vec<Line>) -> Result<String, Failure> {
        let (parties, seed) = (self.plan.parties(), self.seed);
        let hours = f64::from(u32::try_from(self.report.minutes.len()).unwrap_or(u32::MAX)) / 60.0;
        let title = format!("{what}: {parties} parties, seed {seed}");
        let across = Axis { label: "virtual hours", range: 0.0..hours, scale: Scale::Linear };
        let legend = Legend::Beside;
        let picture = Lines { title: &title, across, up, legend, dots: false, lines };
        picture.svg().map_err(Failure::bad_input)
    }

    fn draw_waits(&self) -> Result<String, Failure> {
        let ms = |wait: Option<Duration>| Some(wait?.as_secs_f64() * 1e3);
        let lines = [
            self.line("slot's longest, mean", |_, what| ms(what.waits.mean_of_longest())),
            self.line("99th percentile", |_, what| ms(what.waits.percentile(99))),
            self.line("mean", |_, what| ms(what.waits.mean())),
            self.line("median", |_, what| ms(what.waits.percentile(50))),
            self.line("final to computable, mean", |minute, _| ms(self.gaps(minute)?.mean())),
        ];
        let points = lines.iter().flat_map(|line| &line.points);
        let top = points.map(|(_, up)| *up).fold(1.0, f64::max) * 1.05;
        let up = Axis { label: "wait after finality, ms", range: 0.0..top, scale: Scale::Linear };
        let lines = lines.into_iter().chain([self.switch(top)]).collect();
        self.picture("Waits of each minute", up, lines)
    }

    fn draw_paths(&self) -> Result<String, Failure> {
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let lines = [
            self.line("values by the fast path", |_, what| {
                let values = Some(what.waits.count()).filter(|values| *values > 0)?;
                Some(100.0 * count(what.by_fast_path) / count(values))
            }),
            self.line("stake that is down", |minute, _| self.down(minute).parse().ok()),
            self.switch(100.0),
        ];
        let up = Axis { label: "%", range: 0.0..100.0, scale: Scale::Linear };
        self.picture("Paths of each minute", up, lines.into())
    }
}
