//! What a campaign says: violations as they happen, how far it is, what was done.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant as Clock};

use indicatif::{ProgressBar, ProgressStyle};

use prefinal_lab::Failure;
use prefinal_lab::campaign::{EngineName, ExecutionReport, Function, Order, Tally, Watch};

use crate::{output, table};

/// A campaign's executions so far.
#[derive(Default)]
struct Sums {
    executions: u64,
    violations: u64,
    played: BTreeMap<(EngineName, Function), u64>,
    slots: usize,
    /// By the slow path, the fast path, tight thresholds.
    values: [usize; 3],
    tally: Tally,
    most_kept: usize,
    took: Duration,
    fingerprint: u64,
}

/// Plays a campaign and says what came of it; `command` asks for it, but for what an execution is played
/// with and its seed.
///
/// # Errors
/// Committees that cannot be made; [`Failure::Disagreement`] if anything did not hold.
pub(super) fn run(order: &Order, command: String) -> Result<(), Failure> {
    let started = Clock::now();
    let report = Report::new(order.executions, command);
    let failed = order.run(&report);
    let ended = report.end();
    say!("{:.1} s", started.elapsed().as_secs_f64());
    failed.and(ended)
}

/// Takes executions in whatever order they end.
struct Report {
    command: String,
    sums: Mutex<Sums>,
    /// Observation by nobody unless stderr is a terminal.
    bar: ProgressBar,
}

impl Report {
    /// Nothing of so many executions yet.
    fn new(executions: u64, command: String) -> Self {
        let bar = ProgressBar::new(executions);
        let style = "{elapsed_precise} {wide_bar} {human_pos} of {human_len}, {per_sec}, {msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.set_message("0 violations");
        Self { command, sums: Mutex::default(), bar }
    }

    /// Says what was done.
    ///
    /// # Errors
    /// [`Failure::Disagreement`] if anything did not hold.
    fn end(self) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        let sums = self.sums.into_inner().unwrap_or_else(PoisonError::into_inner);
        sums.print();
        if sums.violations > 0 {
            let what = format!("{} of {} executions", sums.violations, sums.executions);
            return Err(Failure::Disagreement(format!("violations in {what}")));
        }
        Ok(())
    }
}

impl Watch for Report {
    /// Adds an execution, and says at once what did not hold in it and how to see it again.
    fn played(&self, kind: (EngineName, Function), seed: u64, played: &ExecutionReport) {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.add(kind, played);
        if let Err(violation) = &played.outcome {
            let ((engine, function), command) = (kind, &self.command);
            let replay = format!("{command} --engine {engine} --function {function} --only {seed}");
            self.bar.suspend(|| say!("{violation}\n  replay: {replay}"));
            self.bar.set_message(format!("{} violations", sums.violations));
        }
        self.bar.inc(1);
    }

    fn is_over(&self) -> bool {
        output::is_closed()
    }
}

impl Sums {
    fn add(&mut self, kind: (EngineName, Function), played: &ExecutionReport) {
        self.executions += 1;
        *self.played.entry(kind).or_default() += 1;
        self.tally.merge(&played.tally);
        self.most_kept = self.most_kept.max(played.most_kept);
        self.took += played.took;
        // The same in whatever order they end.
        let mixed =
            (played.fingerprint ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.fingerprint = self.fingerprint.wrapping_add(mixed ^ mixed >> 32);
        match &played.outcome {
            Ok(summary) => {
                self.slots += summary.slots;
                let values = [summary.slow, summary.fast, summary.tight];
                self.values.iter_mut().zip(values).for_each(|(sum, more)| *sum += more);
            }
            Err(_) => self.violations += 1,
        }
    }

    fn print(&self) {
        let rows = self.tally.rows().map(|(kind, count)| {
            [kind.to_string(), count.executions.to_string(), count.times.to_string()]
        });
        say!("{}", table::table(&["what was done", "executions", "times"], rows));
        let rows = self.played.iter().map(|((engine, function), count)| {
            [engine.to_string(), function.to_string(), count.to_string()]
        });
        say!("{}", table::table(&["engine", "function", "executions"], rows));
        let is_sync = |(engine, _): &(EngineName, Function)| *engine == EngineName::Sync;
        if self.played.keys().all(is_sync) {
            say!(
                "{} executions, {} faults, {:.0} s of virtual time; {} blocks followed, at most {} bytes \
                 asked for and held by one follower; fingerprint {:016x}; {} violations",
                self.executions,
                self.tally.total(),
                self.took.as_secs_f64(),
                self.slots,
                self.most_kept,
                self.fingerprint,
                self.violations
            );
            return;
        }
        let [slow, fast, tight] = self.values;
        say!(
            "{} executions, {} faults, {:.0} s of virtual time; {} slots got their values, of single \
             parties {slow} by the slow path, {fast} by the fast, {tight} by tight thresholds; at most {} \
             partials kept by one party; fingerprint {:016x}; {} violations",
            self.executions,
            self.tally.total(),
            self.took.as_secs_f64(),
            self.slots,
            self.most_kept,
            self.fingerprint,
            self.violations
        );
    }
}
