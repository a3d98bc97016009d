//! One answer on every platform: the digest of all tables, here and in WebAssembly.

use std::path::Path;
use std::process::Command;

#[path = "../examples/digest.rs"]
mod digest;

/// Holds for debug and release builds, with and without the feature `parallel`.
#[test]
fn this_build_gives_the_pinned_answers() {
    digest::main().unwrap();
}

/// A build of pointers half as wide, run by Node.
#[test]
#[ignore = "needs Node and the target wasm32-unknown-unknown: cargo test -- --ignored wasm32"]
fn wasm32_gives_the_pinned_answers() {
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasm32");
    run(Command::new(env!("CARGO"))
        .current_dir(here)
        .args(["build", "--release", "--example", "digest"])
        .args(["--target", "wasm32-unknown-unknown", "--target-dir"])
        .arg(&target));
    let module = target.join("wasm32-unknown-unknown/release/examples/digest.wasm");
    run(Command::new("node").arg(here.join("tests/platforms/run.mjs")).arg(module));
}
