//! Where and when it was measured.
//!
//! Written as a file beside the figures when measuring begins: a report that is made later, or on another
//! machine, must not put another machine's name on them.
//!
//! ```text
//! processor: AMD EPYC 9R14
//! cores: 2
//! compiler: rustc 1.95.0 (59807616e 2026-04-14)
//! commit: 794472d
//! date: 2026-11-22
//! samples: all
//! ```
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// What absolute figures depend on: name and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine(Vec<(String, String)>);

/// The file's name in the folder of the figures.
pub const FILE: &str = "machine.txt";

/// What measuring writes is no change of what is measured.
const TREE: [&str; 6] = ["status", "--porcelain", "--", ".", ":!benches/results", ":!README.md"];

/// Whether sums, pairings and decoding run in lanes here: figures without are other figures.
fn lanes() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx512ifma") {
        return "yes";
    }
    "no"
}

impl Machine {
    /// This one, now; `samples` says how thoroughly it is measured.
    #[must_use]
    pub fn here(samples: &str) -> Self {
        let cores = std::thread::available_parallelism().ok().map(|cores| cores.to_string());
        let changed = output("git", &TREE).is_some_and(|text| !text.is_empty());
        let commit = output("git", &["rev-parse", "--short", "HEAD"]);
        let commit = commit.map(|name| if changed { format!("{name} and changes") } else { name });
        let facts = [
            ("processor", processor()),
            ("cores", cores),
            ("eight at a time (AVX-512 IFMA)", Some(lanes().to_owned())),
            ("compiler", output("rustc", &["--version"])),
            ("commit", commit),
            ("date", output("date", &["-u", "+%Y-%m-%d"])),
            ("samples", Some(samples.to_owned())),
        ];
        let known = |(name, value): (&str, Option<String>)| {
            (name.to_owned(), value.unwrap_or_else(|| "unknown".to_owned()))
        };
        Self(facts.into_iter().map(known).collect())
    }

    /// What the file of a folder says.
    ///
    /// # Errors
    /// If there is none that can be read.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(folder.join(FILE))?;
        let fact = |line: &str| {
            line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        Ok(Self(text.lines().filter_map(fact).collect()))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let lines = self.0.iter().map(|(name, value)| format!("{name}: {value}\n"));
        fs::write(folder.join(FILE), lines.collect::<String>())
    }

    /// What is known of the machine: names and values.
    #[must_use]
    pub fn facts(&self) -> &[(String, String)] {
        &self.0
    }

    /// One value, `unknown` if it was not written.
    #[must_use]
    pub fn fact(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("unknown", |(_, value)| value)
    }
}

/// Of Linux, or of macOS.
fn processor() -> Option<String> {
    let Ok(text) = fs::read_to_string("/proc/cpuinfo") else {
        return output("sysctl", &["-n", "machdep.cpu.brand_string"]);
    };
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
