//! Whatever is made of an aggregate: only the honest bytes pass.
use std::sync::{Arc, LazyLock};

use prefinal_pvss_dkg::{Aggregate, deal, verify};

use crate::dealings::{Committee, received};

static HONEST: LazyLock<(Committee, Vec<u8>)> = LazyLock::new(|| {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let dealings = [0, 1].map(|dealer| {
        let signer = &committee.signers[Committee::party(dealer).index()];
        let dealing = deal(&config, Committee::party(dealer), signer, &mut committee.rng).unwrap();
        Arc::new(verify(&config, dealing).unwrap())
    });
    let bytes = Aggregate::sum(&config, &dealings).unwrap().to_bytes();
    (committee, bytes)
});

pub(crate) fn run(data: &[u8]) {
    let (committee, honest) = &*HONEST;
    let bytes = received(honest, data);
    let Ok(aggregate) = Aggregate::from_bytes(&committee.config, &bytes) else {
        assert_ne!(bytes, *honest);
        return;
    };
    assert_eq!(aggregate.to_bytes(), bytes, "one aggregate, one encoding");
    assert_eq!(aggregate.verify(&committee.config).is_ok(), bytes == *honest);
}
