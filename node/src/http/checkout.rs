//! The page of a checkout: found by itself, and built where it is not yet.
//!
//! The page verifies with WebAssembly, which is compiled and so no part of the source. Where it is missing
//! it is made by the command that the package's README names, which says on the terminal what it does and
//! installs. A devnet goes on without a page if that fails: the values are there all the same.
//!
//! Where to look: the folder that we run in, and the workspace that cargo runs us from. Only there is it
//! built, for its code runs already; elsewhere the command is named. No path of the machine that built us is
//! in the program.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The page's package in a checkout.
const PACKAGE: &str = "bindings/wasm";
const PAGE: &str = "demo";
/// What is written by hand of the page, and what of it is made.
const WRITTEN: [&str; 1] = ["demo/index.html"];
const MADE: [&str; 3] =
    ["demo/prefinal/index.js", "demo/prefinal/verifier_bg.wasm", "demo/prefinal/light-vuf_bg.wasm"];
/// What makes it, in the checkout's root.
const COMMAND: [&str; 3] = ["cargo", "xtask", "page"];

/// The folder of the page, built if need be. Why there is none is said.
pub(super) fn page() -> Option<PathBuf> {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let workspace = package.as_deref().and_then(|package| package.ancestors().find(is_checkout));
    let here = env::current_dir().ok().filter(|here| is_checkout(&here.as_path()));
    let page = match (workspace, here) {
        (Some(root), _) => made(root).map_or_else(|| make(root), Ok),
        (None, Some(root)) => {
            made(&root).ok_or_else(|| format!("it is not built yet: {}", COMMAND.join(" ")))
        }
        (None, None) => {
            Err("this is no checkout of the project, and there is no --page FOLDER".to_owned())
        }
    };
    page.map_err(|why| say!("values are served without a page: {why}")).ok()
}

fn is_checkout(root: &&Path) -> bool {
    has(root, &WRITTEN)
}

/// The page, if it is built.
fn made(root: &Path) -> Option<PathBuf> {
    has(root, &MADE).then(|| root.join(PACKAGE).join(PAGE))
}

fn make(root: &Path) -> Result<PathBuf, String> {
    let [program, arguments @ ..] = COMMAND;
    let command = COMMAND.join(" ");
    say!("the page is not built yet, which takes minutes: {command}");
    let status = Command::new(program).args(arguments).current_dir(root).status();
    let status = status.map_err(|error| format!("{command}: {error}"))?;
    let page = status.success().then(|| made(root)).flatten();
    page.ok_or_else(|| format!("{command} ended with {status}"))
}

fn has(root: &Path, files: &[&str]) -> bool {
    files.iter().all(|file| root.join(PACKAGE).join(file).is_file())
}
