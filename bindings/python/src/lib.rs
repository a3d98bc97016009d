//! The Python package `prefinal`: Rust's side, the module `prefinal._core`.
//!
//! Thin: arguments are read and checked, Rust is called, results are handed over. What is more
//! pleasant to write in Python (results as dataclasses, plots, tables) is written there.
//!
//! | module        | what                                                                 |
//! |---------------|----------------------------------------------------------------------|
//! | `input`       | arguments: bytes-like, whole numbers, iterables of any kind          |
//! | `error`       | errors become exceptions, with their codes                           |
//! | `work`        | long calls: without the interpreter's lock, with Ctrl-C and progress |
//! | `random`      | the system's randomness, or a seed                                   |
//! | `rounding`    | stake to weight                                                      |
//! | `bls`         | keys and signatures in both variants                                 |
//! | `many`        | sums of signatures, and many signatures at once                      |
//! | `threshold`   | committees that sign                                                 |
//! | `wvuf`        | the weighted VUF                                                     |
//! | `certificate` | quorums of exact stake                                               |
//! | `dkg`         | key generation: what is agreed on; `dealing`, `registration`         |
//! | `keygen`      | one party's key generation, driven by hand; `evidence` against dealers |
//! | `decryption`  | encryption to a committee                                            |
//! | `timelock`    | encryption to a round                                                |
//! | `draw`        | random numbers for transactions, from a slot's value                 |
//! | `drand`       | rounds of beacons                                                    |
//! | `light`       | clients that trust a committee or a key                              |
//! | `shares`      | who holds how many shares                                            |
//! | `wire`        | classes of objects that are their bytes                              |
//! | `order`       | what a run in virtual time is asked for, with its faults             |
//! | `beacon`      | one party's beacon, driven by hand; `driven`, of any function        |
//! | `measurements` | hours on the map, key generation, transactions                      |
//! | `simulation`  | a seeded committee in virtual time                                   |
//! | `experiments` | thresholds against each other, campaigns under attack                |
//! | `tables`      | stake tables                                                         |
//!
//! Two rules. Nothing that Python passes panics: a wrong type is a `TypeError`, a wrong value a
//! `prefinal.PrefinalError`. No secret leaves but by a method that says so in its name.
//!
//! `prefinal-codes` defines the codes and their meaning. The tests are in `bindings/python/tests`.

mod beacon;
mod bls;
mod certificate;
mod dealing;
mod decryption;
mod dkg;
mod drand;
mod draw;
mod driven;
mod error;
mod evidence;
mod experiments;
mod input;
mod keygen;
mod light;
mod many;
mod measurements;
mod order;
mod random;
mod registration;
mod rounding;
mod shares;
mod simulation;
mod tables;
mod threshold;
mod timelock;
mod waits;
mod wire;
mod work;
mod wvuf;

use pyo3::prelude::*;

/// Rust's side of the package `prefinal`.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::beacon::Beacon;
    #[pymodule_export]
    use crate::bls::{Domain, Possession, ProvenKey, PublicKey, SecretKey, Signature};
    #[pymodule_export]
    use crate::certificate::{Certificate, Electorate};
    #[pymodule_export]
    use crate::dealing::{Dealing, DkgKey, OwnShares, VerifiedDealing};
    #[pymodule_export]
    use crate::decryption::{
        Ciphertext, DecryptionCommittee, DecryptionKey, DecryptionShare, EncryptionKey, slot_label,
    };
    #[pymodule_export]
    use crate::dkg::DkgConfig;
    #[pymodule_export]
    use crate::drand::ChainInfo;
    #[pymodule_export]
    use crate::draw::{Draw, Draws};
    #[pymodule_export]
    use crate::evidence::Evidence;
    #[pymodule_export]
    use crate::experiments::{campaign, compare, measure_costs};
    #[pymodule_export]
    use crate::keygen::Keygen;
    #[pymodule_export]
    use crate::light::{LightClient, LightKey, LightVuf, VerifiedBlock};
    #[pymodule_export]
    use crate::many::{aggregate, verify_aggregate, verify_batch, verify_multi};
    #[pymodule_export]
    use crate::measurements::{hours, key_generation, transactions};
    #[pymodule_export]
    use crate::registration::{Recipient, RecipientKey, Registration};
    #[pymodule_export]
    use crate::rounding::{solve, verify, whole_numbers};
    #[pymodule_export]
    use crate::simulation::simulate;
    #[pymodule_export]
    use crate::tables::{table_names, table_text};
    #[pymodule_export]
    use crate::threshold::{Committee, Partial, Signer};
    #[pymodule_export]
    use crate::timelock::{seal, unseal};
    #[pymodule_export]
    use crate::wvuf::{
        BlindedKey, EvaluationKey, VufCommittee, VufInput, VufOutput, VufPartial, VufShares,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("CODES", prefinal_codes::CODES.to_vec())
    }
}
