//! One thread's time, the version that a lock file names, the sheet.
use std::time::Duration;

use prefinal_rows::{Clock, Implementation, LIMIT, Meter, OURS, Options, Sheet};

/// An operation that takes longer is run once: its first run is its only sample.
const ONCE: Duration = Duration::from_millis(1500);
/// Processor time that the samples of one measurement may take together.
const BUDGET: Duration = Duration::from_millis(800);
const QUICK_BUDGET: Duration = Duration::from_millis(100);
const SAMPLES: u32 = 20;

/// Threshold and size; if it must be quick, the first alone.
const COMMITTEES: [(u32, u32); 2] = [(67, 100), (667, 1000)];

/// What one operation took.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// How long this project took.
    pub ours: Duration,
    /// How long the peer's library took.
    pub theirs: Duration,
    /// blst, where there is something that nobody can do without.
    pub limit: Option<Duration>,
}

/// One program: its peer, and what it has measured.
#[derive(Debug)]
pub struct Contest {
    peer: (&'static str, String),
    options: Options,
    sheet: Sheet,
}

impl Contest {
    /// Options are from the command line. `folder` is the program's below `benches/peers/`, `peer` the
    /// crate's name, `lock` the text of the program's lock file.
    ///
    /// # Panics
    /// If the program has blst with threads: the limit would be shared among them, and look cheaper.
    #[must_use]
    pub fn new(folder: &str, peer: &'static str, lock: &str) -> Self {
        if cfg!(not(feature = "one-thread")) {
            panic!("{folder} does not turn the feature one-thread on");
        }
        let manifest = format!("benches/peers/{folder}/Cargo.toml");
        let command = format!("cargo run --release --locked --manifest-path {manifest}");
        let options = Options::from_command_line();
        let sheet = Sheet::new("peers", &command);
        Self { peer: (peer, version(lock, peer)), options, sheet }
    }

    /// Whether only what is small is asked for.
    #[must_use]
    pub const fn quick(&self) -> bool {
        self.options.quick
    }

    /// Threshold and size of the committees that are asked for: two thirds of all.
    #[must_use]
    pub fn committees(&self) -> &'static [(u32, u32)] {
        if self.quick() { &COMMITTEES[..1] } else { &COMMITTEES }
    }

    /// The fastest run on this thread.
    pub fn time<O>(&self, mut operation: impl FnMut() -> O) -> Duration {
        self.time_each(|| (), |()| operation())
    }

    /// As [`Contest::time`], on what `prepare` makes for each run, which is not measured.
    pub fn time_each<I, O>(
        &self,
        prepare: impl FnMut() -> I,
        operation: impl FnMut(I) -> O,
    ) -> Duration {
        let budget = if self.quick() { QUICK_BUDGET } else { BUDGET };
        let meter = Meter::new(&self.options, Clock::Thread).samples(SAMPLES).within(budget, ONCE);
        meter.least_each(prepare, operation)
    }

    /// Writes down what one operation of one case took.
    pub fn row(&mut self, (operation, case): (&str, &str), times: Times) {
        let peer = Implementation::peer(self.peer.0, &self.peer.1);
        let row = self.sheet.of(operation, case).time(OURS, times.ours).time(peer, times.theirs);
        if let Some(limit) = times.limit {
            row.time(LIMIT, limit);
        }
    }

    /// Writes down how long ours and theirs are on the wire.
    pub fn bytes(&mut self, (operation, case): (&str, &str), ours: usize, theirs: usize) {
        let peer = Implementation::peer(self.peer.0, &self.peer.1);
        let size = |bytes| f64::from(u32::try_from(bytes).unwrap());
        self.sheet.of(operation, case).bytes(OURS, size(ours)).bytes(peer, size(theirs));
    }

    /// Prints the table and writes the file.
    pub fn finish(self) {
        self.sheet.finish(&self.options).unwrap();
    }
}

/// Of this crate, as the lock file has it.
#[must_use]
pub fn version(lock: &str, name: &str) -> String {
    let entry = format!("name = \"{name}\"\nversion = \"");
    let (_, rest) = lock.split_once(&entry).expect("the lock file names the peer");
    rest.split('"').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"blsttc-extra\"\nversion = \"1.0.0\"\n\n\
                        [[package]]\nname = \"blsttc\"\nversion = \"8.0.2\"\n";

    #[test]
    fn a_version_is_that_of_the_very_crate() {
        assert_eq!(version(LOCK, "blsttc"), "8.0.2");
    }

    #[test]
    #[should_panic(expected = "the lock file names the peer")]
    fn a_crate_that_is_not_there_has_none() {
        let _ = version(LOCK, "blst");
    }
}
