//! What a fresh machine lacks is installed here, and said so.
//!
//! Toolchains, components and targets by rustup, cargo's own subcommands by `cargo install`, programs
//! by apt where there is apt and we are root; elsewhere the message says what to install.
use std::fs::DirEntry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::process::{Command, Stdio};

use crate::Failed;
use crate::gate::{Gate, root};

/// A program that is not ours, and the Debian package that has it.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

/// Toolchain components, by rustup.
pub(crate) fn components(names: &[&str]) -> Result<(), Failed> {
    names.iter().try_for_each(|name| rustup("component", name))
}

/// Compilation targets, by rustup.
pub(crate) fn targets(names: &[&str]) -> Result<(), Failed> {
    names.iter().try_for_each(|name| rustup("target", name))
}

/// A toolchain beside the default one, without documentation.
pub(crate) fn toolchain(name: &str) -> Result<(), Failed> {
    if is_listed("toolchain", name)? {
        return Ok(());
    }
    let line = format!("toolchain install {name} --profile minimal");
    install(name, &Gate::new("rustup", &line))
}

/// A subcommand of cargo.
pub(crate) fn subcommand(name: &str) -> Result<(), Failed> {
    if answers("cargo", &[name, "--version"]) {
        return Ok(());
    }
    compile(name, &format!("cargo-{name}"))
}

/// The program that builds the book, without its web server and its search.
pub(crate) fn mdbook() -> Result<(), Failed> {
    if answers("mdbook", &["--version"]) {
        return Ok(());
    }
    compile("mdbook", "mdbook --no-default-features")
}

/// A program from the registry. Optimising these tools takes longer than they run, and they share what they
/// depend on.
fn compile(name: &str, what: &str) -> Result<(), Failed> {
    let line = format!("install {what} --locked --debug --target-dir target/tools");
    install(name, &Gate::new("cargo", &line).with("CARGO_PROFILE_DEV_DEBUG", "0"))
}

/// Programs of the system.
pub(crate) fn programs(wanted: &[Program]) -> Result<(), Failed> {
    for program in wanted {
        if answers(program.name, &["--version"]) {
            continue;
        }
        let line = format!("install --yes {}", program.package);
        let apt = Gate::new("apt-get", &line);
        install(program.name, &apt)
            .map_err(|_| Failed(format!("{} is needed; on Debian: sudo {apt}", program.name)))?;
    }
    Ok(())
}

/// Go, which has a word for its version where others have an option. Debian's, if it is older than what a
/// module asks for, gets that one by itself.
pub(crate) fn go() -> Result<(), Failed> {
    if answers("go", &["version"]) {
        return Ok(());
    }
    let apt = Gate::new("apt-get", "install --yes golang-go");
    install("go", &apt).map_err(|_| Failed(format!("go is needed; on Debian: sudo {apt}")))
}

/// Python packages in a separate environment, below the root.
pub(crate) fn venv(path: &str, requirements: &str) -> Result<(), Failed> {
    let python = format!("{path}/bin/python3");
    if !root().join(&python).exists() {
        if !answers("python3", &["-m", "ensurepip", "--version"]) {
            let apt = Gate::new("apt-get", "install --yes python3-venv");
            install("venv", &apt)
                .map_err(|_| Failed(format!("venv is needed; on Debian: sudo {apt}")))?;
        }
        install(path, &Gate::new("python3", &format!("-m venv {path}")))?;
    }
    let line = format!("-m pip install --quiet --disable-pip-version-check -r {requirements}");
    Gate::new(&python, &line).run().map(drop)
}

/// The names of what is in a folder below the root, in order.
pub(crate) fn names(path: &str) -> Result<Vec<String>, Failed> {
    let failed = |error| Failed(format!("{path}: {error}"));
    let entries = std::fs::read_dir(root().join(path)).map_err(failed)?;
    let name =
        |entry: std::io::Result<DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = entries.map(name).collect::<Result<_, _>>().map_err(failed)?;
    names.sort();
    Ok(names)
}

/// A hash of the files in a folder below the root, to tell them from others. Nobody attacks it.
pub(crate) fn digest(path: &str) -> Result<u64, Failed> {
    let mut hasher = DefaultHasher::new();
    for name in names(path)? {
        let file = root().join(path).join(&name);
        let bytes = std::fs::read(&file);
        let bytes = bytes.map_err(|error| Failed(format!("{}: {error}", file.display())))?;
        (name, bytes).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// A folder below the root that git ignores.
pub(crate) fn folder(path: &str) -> Result<(), Failed> {
    std::fs::create_dir_all(root().join(path)).map_err(|error| Failed(format!("{path}: {error}")))
}

/// Nothing at this place below the root.
pub(crate) fn no_folder(path: &str) -> Result<(), Failed> {
    match std::fs::remove_dir_all(root().join(path)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failed(format!("{path}: {error}")))
        }
        _ => Ok(()),
    }
}

/// Whether the program runs; its output is of no interest.
pub(crate) fn answers(program: &str, arguments: &[&str]) -> bool {
    let quiet = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    quiet.is_ok_and(|status| status.success())
}

fn rustup(kind: &str, name: &str) -> Result<(), Failed> {
    if is_listed(kind, name)? {
        return Ok(());
    }
    install(name, &Gate::new("rustup", &format!("{kind} add {name}")))
}

fn is_listed(kind: &str, name: &str) -> Result<bool, Failed> {
    let arguments: &[&str] = match kind {
        "toolchain" => &["list"],
        _ => &["list", "--installed"],
    };
    let listed = Command::new("rustup")
        .arg(kind)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failed(format!("rustup is needed to install {name}: {error}")))?;
    // A component or toolchain is listed with the host behind its name, a target alone.
    let is_it = |line: &str| line == name || line.starts_with(&format!("{name}-"));
    Ok(String::from_utf8_lossy(&listed.stdout).lines().any(is_it))
}

/// One at a time, for neither apt nor rustup waits for another of its kind.
fn install(name: &str, how: &Gate) -> Result<(), Failed> {
    folder("target")?;
    let lock = std::fs::File::create(root().join("target/installing"));
    let _held = lock
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| Failed(error.to_string()))?;
    println!("\n{name} is missing: {how}");
    how.status()
}
