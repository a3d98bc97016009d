//! A gate: a command that anybody could type, printed before it runs.
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::{Failed, minutes};

/// One command, run from the project's root or a folder below it.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    folder: &'static str,
}

impl Gate {
    /// A program with arguments that contain no spaces of their own.
    pub(crate) fn new(program: &str, line: &str) -> Self {
        Self {
            program: program.to_owned(),
            arguments: line.split(' ').map(str::to_owned).collect(),
            environment: Vec::new(),
            folder: ".",
        }
    }

    /// `cargo` with these arguments.
    pub(crate) fn cargo(line: &str) -> Self {
        Self::new("cargo", line)
    }

    /// With a variable in its environment.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// In a folder below the root.
    pub(crate) fn inside(mut self, folder: &'static str) -> Self {
        self.folder = folder;
        self
    }

    /// Prints the command, runs it with its output going where ours goes, prints the time it took.
    pub(crate) fn run(&self) -> Result<(), Failed> {
        println!("\n> {self}");
        let started = Instant::now();
        self.status()?;
        println!("  passed in {}", minutes(started.elapsed()));
        Ok(())
    }

    /// Runs the command.
    pub(crate) fn status(&self) -> Result<(), Failed> {
        match self.command().status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failed(format!("{self} ({status})"))),
            Err(error) => Err(Failed(format!("{self} ({error})"))),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.path());
        command.args(&self.arguments).current_dir(root().join(self.folder));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // A gate may ask for another toolchain than the one that runs this task.
        if self.arguments.first().is_some_and(|first| first.starts_with('+')) {
            command.env_remove("RUSTUP_TOOLCHAIN");
        }
        command
    }

    fn path(&self) -> PathBuf {
        let program = Path::new(&self.program);
        // A program of the project's own is named from the root.
        if self.program.contains('/') { root().join(program) } else { program.to_owned() }
    }
}

/// As a shell would take it.
impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.folder != "." {
            write!(f, "cd {} && ", self.folder)?;
        }
        for (name, value) in &self.environment {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", quoted(argument)))
    }
}

fn quoted(word: &str) -> String {
    if word.contains([' ', '*', '$']) { format!("'{word}'") } else { word.to_owned() }
}

/// The project's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}
