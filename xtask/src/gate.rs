//! A gate: a command that anybody could type, printed before it runs.
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Instant;

use crate::{Failed, minutes};

/// One command, run from the project's root or a folder below it.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    folder: &'static str,
    beside: Option<Box<Gate>>,
}

impl Gate {
    /// A program with arguments, none of which contains a space.
    pub(crate) fn new(program: &str, line: &str) -> Self {
        Self {
            program: program.to_owned(),
            arguments: line.split(' ').map(str::to_owned).collect(),
            environment: Vec::new(),
            folder: ".",
            beside: None,
        }
    }

    /// `cargo` with these arguments.
    pub(crate) fn cargo(line: &str) -> Self {
        Self::new("cargo", line)
    }

    /// With one more argument, whatever is in it.
    pub(crate) fn and(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// With more arguments.
    pub(crate) fn all(self, arguments: &[&str]) -> Self {
        arguments.iter().fold(self, |gate, argument| gate.and(argument))
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

    /// At the same time as another: each keeps one core busy.
    pub(crate) fn beside(mut self, other: Self) -> Self {
        self.beside = Some(Box::new(other));
        self
    }

    /// Prints the command, runs it with its output going where ours goes, prints the time it took. Gives how
    /// many passed.
    pub(crate) fn run(&self) -> Result<usize, Failed> {
        let started = Instant::now();
        let Some(other) = &self.beside else {
            println!("\n> {self}");
            self.status()?;
            println!("  passed in {}", minutes(started.elapsed()));
            return Ok(1);
        };
        println!("\n> {self} &\n> {other}");
        let count = other.while_running("beside", || self.status().map(|()| 1))?;
        println!("  both passed in {}", minutes(started.elapsed()));
        Ok(count)
    }

    /// Runs the command at the same time as something else. What it writes goes to a file of this name meanwhile,
    /// and is printed afterwards, unless only the other failed: what that one said then stands last. Gives how many
    /// passed of the others, and one for this.
    pub(crate) fn while_running(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<usize, Failed>,
    ) -> Result<usize, Failed> {
        // Each lane is a process and has gates beside each other.
        let log = root().join(format!("target/{name}-{}.log", std::process::id()));
        let mut running = self.start(&log)?;
        let passed = work();
        let own = self.judge(running.wait());
        if own.is_err() || passed.is_ok() {
            print!("{}", fs::read_to_string(&log).unwrap_or_default());
        }
        let _ = fs::remove_file(&log);
        own.and(passed).map(|count| count + 1)
    }

    /// Runs the command.
    pub(crate) fn status(&self) -> Result<(), Failed> {
        self.judge(self.command().status())
    }

    fn start(&self, log: &Path) -> Result<Child, Failed> {
        let files = File::create(log).and_then(|file| Ok((file.try_clone()?, file)));
        let child =
            files.and_then(|(out, errors)| self.command().stdout(out).stderr(errors).spawn());
        child.map_err(|error| Failed(format!("{self} ({error})")))
    }

    fn judge(&self, status: std::io::Result<ExitStatus>) -> Result<(), Failed> {
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failed(format!("{self} ({status})"))),
            Err(error) => Err(Failed(format!("{self} ({error})"))),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.path());
        command.args(&self.arguments).current_dir(root().join(self.folder));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Cargo tells this task of its package. Build scripts that ask for theirs would take it for a change, and
        // what a user has built would be built again.
        let names = std::env::vars_os().map(|(name, _)| name);
        let of_package = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        };
        for name in names.filter(of_package) {
            command.env_remove(name);
        }
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
    if word.contains([' ', '*', '$', '"']) { format!("'{word}'") } else { word.to_owned() }
}

/// The project's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}
