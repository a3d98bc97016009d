//! Computes one number over all answers. It must be the same on every platform and in every build.
//!
//! Rounds the shipped stake tables of up to some thousand parties, folds every weight, threshold,
//! exact stake, proven bound and counted step into one 64-bit digest (FNV-1a) and compares it with
//! [`PINNED`]. It panics if the digest differs; on `wasm32-unknown-unknown` that is a trap.
//!
//! `tests/platforms.rs` runs this in the test build and, on request, in Node.

use std::error::Error;

use prefinal_weighted_rounding::{Bound, Objective, Profile, Ratio, Rounding, Stake, Weight};

/// The digest that every platform and build must get.
const PINNED: u64 = 0x9316_5b0d_d55e_b1c6;

/// Name and text of a table.
macro_rules! tables {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../data/stakes/", $name, ".csv")))),+]
    };
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let digest = digest()?;
    assert_eq!(digest, PINNED, "got {digest:#018x}, pinned is {PINNED:#018x}");
    println!("{digest:#018x}");
    Ok(())
}

/// The digest of all answers.
fn digest() -> Result<u64, Box<dyn Error>> {
    let tables = tables![
        "aptos_mainnet_112",
        "aptos_mainnet_129",
        "aptos_mainnet_152",
        "cosmos_hub_block1_2019",
        "cosmos_hub_leap2022",
        "ethereum_entities_2023",
        "solana_epoch_860",
        "sui_epoch_100",
        "sui_epoch_1200",
        "sui_real_all",
        "swiper_1_to_7",
        "swiper_aptos",
        "swiper_artificial_150",
        "swiper_primes_23",
        "swiper_tezos",
    ];
    let open = Profile::slow_and_fast(Ratio::ONE)?;
    let standard = Profile::standard();
    let mut digest = Digest::new();
    for (name, text) in tables {
        let stakes = read(text)?;
        digest.eat(name.as_bytes());
        digest.rounding(&Rounding::solve(&stakes, &standard, Objective::least_total())?);
        let budget = Objective::least_reconstruction(Weight::new(1300));
        digest.rounding(&Rounding::solve(&stakes, &open, budget)?);
    }
    Ok(digest.0)
}

fn read(text: &str) -> Result<Vec<Stake>, std::num::ParseIntError> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| Ok(Stake::new(line.trim().parse()?))).collect()
}

struct Digest(u64);

impl Digest {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn eat(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn rounding(&mut self, rounding: &Rounding) {
        for weight in rounding.weights() {
            self.eat(&weight.get().to_le_bytes());
        }
        match rounding.bound() {
            Bound::Total(least) => self.eat(&least.get().to_le_bytes()),
            Bound::Sufficient(least) => self.eat(&least.get().to_le_bytes()),
        }
        self.eat(&rounding.effort().steps.to_le_bytes());
        self.eat(&rounding.effort().nodes.to_le_bytes());
        for guarantee in rounding.guarantees() {
            let legal = guarantee.legal_thresholds();
            for threshold in [guarantee.threshold(), *legal.start(), *legal.end()] {
                self.eat(&threshold.get().to_le_bytes());
            }
            for stake in [guarantee.least_leaking(), guarantee.least_sufficient()] {
                self.eat(&stake.get().to_le_bytes());
            }
        }
    }
}
