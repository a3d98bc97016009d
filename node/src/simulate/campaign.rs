//! What a campaign says: violations as they happen, how far it is, what was done.

use std::sync::{Mutex, PoisonError};
use std::time::Instant as Clock;

use indicatif::{ProgressBar, ProgressStyle};

use prefinal_lab::Failure;
use prefinal_lab::campaign::{EngineName, ExecutionReport, Function, Order, Sums, Watch};

use crate::{output, table};

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
        print(&sums);
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

/// Says what was done, and what came of it.
fn print(sums: &Sums) {
    let rows = sums.tally.rows().map(|(kind, count)| {
        [kind.to_string(), count.executions.to_string(), count.times.to_string()]
    });
    say!("{}", table::table(&["what was done", "executions", "times"], rows));
    let rows = sums.played.iter().map(|((engine, function), count)| {
        [engine.to_string(), function.to_string(), count.to_string()]
    });
    say!("{}", table::table(&["engine", "function", "executions"], rows));
    let Sums { slots, most_kept, values: [slow, fast, tight], .. } = sums;
    let is_sync = |(engine, _): &(EngineName, Function)| *engine == EngineName::Sync;
    let reached = if sums.played.keys().all(is_sync) {
        format!(
            "{slots} blocks followed, at most {most_kept} bytes asked for and held by one follower"
        )
    } else {
        format!(
            "{slots} slots got their values, of single parties {slow} by the slow path, {fast} by \
             the fast, {tight} by tight thresholds; at most {most_kept} partials kept by one party"
        )
    };
    say!(
        "{} executions, {} faults, {:.0} s of virtual time; {reached}; fingerprint {:016x}; {} violations",
        sums.executions,
        sums.tally.total(),
        sums.took.as_secs_f64(),
        sums.fingerprint,
        sums.violations
    );
}
