//! Whatever is made of a dealing with field elements: only the honest bytes pass.
//!
//! `cargo +nightly fuzz run field` in `pvss-dkg/`.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use prefinal_pvss_dkg_fuzz::{Committee, received};
use pvss_dkg::field::{Dealing, deal, verify, verify_all};

static HONEST: LazyLock<(Committee, Vec<u8>)> = LazyLock::new(|| {
    let mut committee = Committee::new();
    let (config, signer) = (&committee.config, &committee.signers[0]);
    let dealing = deal(config, Committee::party(0), signer, &mut committee.rng).unwrap();
    let bytes = dealing.to_bytes();
    (committee, bytes)
});

fuzz_target!(|data: &[u8]| {
    let (committee, honest) = &*HONEST;
    let config = &committee.config;
    let bytes = received(honest, data);
    let Ok(dealing) = Dealing::from_bytes(config, &bytes) else {
        assert_ne!(bytes, *honest);
        return;
    };
    assert_eq!(dealing.to_bytes(), bytes, "one dealing, one encoding");
    let good = Dealing::from_bytes(config, honest).unwrap();
    let together = verify_all(config, vec![good, dealing.clone()]);
    let alone = verify(config, dealing).map(|_| ());
    assert_eq!(alone.is_ok(), bytes == *honest);
    let verdicts: Vec<_> = together.into_iter().map(|verdict| verdict.map(|_| ())).collect();
    assert_eq!(verdicts, [Ok(()), alone]);
});
