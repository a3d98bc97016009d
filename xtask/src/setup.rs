//! What a fresh machine lacks is installed here, and said so.

use std::process::{Command, Stdio};

use crate::Failed;

/// Toolchain components, by rustup.
pub(crate) fn components(names: &[&str]) -> Result<(), Failed> {
    ensure("component", names)
}

/// Compilation targets, by rustup.
pub(crate) fn targets(names: &[&str]) -> Result<(), Failed> {
    ensure("target", names)
}

fn ensure(kind: &str, names: &[&str]) -> Result<(), Failed> {
    let listed = Command::new("rustup")
        .args([kind, "list", "--installed"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failed(format!("rustup is needed to install {names:?}: {error}")))?;
    let installed = String::from_utf8_lossy(&listed.stdout);
    for name in names {
        // A component is listed with the host behind its name, a target alone.
        let is_there = |line: &str| line == *name || line.starts_with(&format!("{name}-"));
        if installed.lines().any(is_there) {
            continue;
        }
        println!("installing the {kind} {name}: rustup {kind} add {name}");
        let status = Command::new("rustup").args([kind, "add", name]).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(Failed(format!("rustup {kind} add {name}")));
        }
    }
    Ok(())
}
