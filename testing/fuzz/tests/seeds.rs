//! Inputs that once found a bug, and those from which fuzzing starts, find none.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use prefinal_fuzz::TARGETS;

#[test]
fn no_seed_finds_a_bug() {
    for target in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target.name);
        let seeds: Vec<_> = fs::read_dir(folder).unwrap().collect();
        assert!(!seeds.is_empty(), "{}", target.name);
        for seed in seeds {
            (target.run)(&fs::read(seed.unwrap().path()).unwrap());
        }
    }
}
