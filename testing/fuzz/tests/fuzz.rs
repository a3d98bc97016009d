//! One fuzz target under libFuzzer: `PREFINAL_TARGET` names it.
#![no_main]

use std::sync::LazyLock;

use prefinal_fuzz::{TARGETS, Target};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("PREFINAL_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("PREFINAL_TARGET is one of {}", names.join(", "));
        std::process::exit(2)
    })
});
