//! The stake tables of `data/stakes`, part of the package. `prefinal.stakes` reads them.
use pyo3::prelude::*;

macro_rules! tables {
    ($($name:literal)*) => {
        const TABLES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../data/stakes/", $name, ".csv")))),*];
    };
}

tables! {
    "aptos_mainnet_112" "aptos_mainnet_129" "aptos_mainnet_152" "cosmos_hub_block1_2019"
    "cosmos_hub_leap2022" "ethereum_entities_2023" "solana_epoch_780" "solana_epoch_860"
    "solana_gossip_analysis" "sui_epoch_100" "sui_epoch_1000" "sui_epoch_1100" "sui_epoch_1200"
    "sui_epoch_200" "sui_epoch_400" "sui_epoch_800" "sui_epoch_974" "sui_real_all"
    "swiper_1_to_7" "swiper_algorand" "swiper_aptos" "swiper_artificial_150" "swiper_filecoin"
    "swiper_primes_23" "swiper_tezos"
}

/// The names of all tables.
#[pyfunction]
pub(crate) fn table_names() -> Vec<&'static str> {
    TABLES.iter().map(|(name, _)| *name).collect()
}

/// The text of a table; `None` if there is none of this name.
#[pyfunction]
pub(crate) fn table_text(name: &str) -> Option<&'static str> {
    TABLES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
