//! What it takes to come from the genesis to epoch 1000, by a committee's stake and by a key.
//!
//! | row        | what happens                                                                     |
//! |------------|----------------------------------------------------------------------------------|
//! | `start`    | a committee of 100 is trusted: a proof of possession each                        |
//! | `advance`  | one ending, decoded before                                                       |
//! | `decode`   | the whole proof from its bytes: a point of 𝔾₁ for each ending, new keys           |
//! | `verify`   | the whole proof, decoded before: endings, certificate, an account                |
//! | `key`      | a threshold certificate of epoch 1000 with an account: decoded and verified      |
//! | `account`  | an account's row under a block that is verified                                  |
//!
//! In `still` the committee stays as it is, in `moving` ten stakes change in each epoch and one member has another
//! key. The state has 100 000 accounts. All rows are processor time of the process, which has one thread. On
//! standard error: the bytes of each proof.
#![allow(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    reason = "a bench that cannot be set up must not give figures; the chain is that of the tests"
)]
#[path = "../tests/suite/chain.rs"]
mod chain;

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BatchSize, Criterion};
use prefinal_crypto_core::certificate::StateStatement;
use prefinal_light::{Claim, KeyProof, KeyVerifier, LightObject, StakeProof, StakeVerifier};
use prefinal_rows::Clock;

use crate::chain::{CHAIN, Chain, account, member, secret, with};

const MEMBERS: usize = 100;
const EPOCHS: usize = 1000;
const ACCOUNTS: u64 = 100_000;

fn stake(at: usize) -> u128 {
    1_000_000 + (at as u128 * 7919) % 1_000_000
}

/// A committee's stake, epoch after epoch, and whether it moves.
struct Followed {
    start: StakeVerifier,
    proof: StakeProof,
    key_proof: KeyProof,
}

fn follow(moving: bool) -> Followed {
    let stakes: Vec<u128> = (0..MEMBERS).map(stake).collect();
    let mut chain = Chain::new(&stakes, ACCOUNTS);
    let start = chain.client();
    let mut endings = Vec::with_capacity(EPOCHS);
    for epoch in 0..EPOCHS {
        let (mut next, mut secrets) = (chain.members.clone(), chain.secrets.clone());
        if moving {
            for step in 0..10 {
                next.members[(epoch * 10 + step) % MEMBERS].stake += 1 + epoch as u128;
            }
            let (at, fresh) = (epoch * 37 % MEMBERS, (MEMBERS + epoch) as u64);
            next.members[at] = member(fresh, next.members[at].stake);
            secrets[at] = fresh;
        }
        endings.push(chain.ending(&next));
        chain.enter(next, secrets);
    }
    chain.transfers(Vec::new());
    let claims = vec![chain.claim_account(7)];
    let message = chain.unsigned().statement(CHAIN).to_bytes();
    let signature = secret(GROUP).sign(StateStatement::THRESHOLD.domain(), &message);
    let block = with(&chain.unsigned(), signature);
    let key_proof = KeyProof { chain: CHAIN, block, claims: claims.clone() };
    let proof = StakeProof { chain: CHAIN, endings, block: chain.certified(), claims };
    Followed { start, proof, key_proof }
}

/// The key of threshold certificates.
const GROUP: u64 = 1 << 40;

fn stake_rows(criterion: &mut Bench, name: &str, followed: &Followed) {
    let Followed { start, proof, .. } = followed;
    let bytes = proof.to_wire();
    let each: usize = proof.endings.iter().map(|ending| ending.to_wire().len()).sum();
    let (whole, one) = (bytes.len(), each / EPOCHS);
    eprintln!("{name}: {whole} bytes from genesis to epoch {EPOCHS}, {one} for each ending");
    let mut group = criterion.benchmark_group(name);
    group.bench_function("advance", |bencher| {
        let first = &proof.endings[0];
        bencher.iter_batched_ref(
            || start.clone(),
            |client| client.advance(first).unwrap(),
            BatchSize::SmallInput,
        );
    });
    group.sample_size(10);
    group.bench_function("decode", |bencher| {
        bencher.iter(|| StakeProof::from_wire(&bytes).unwrap());
    });
    group.bench_function("verify", |bencher| {
        bencher.iter_batched_ref(
            || start.clone(),
            |client| client.verify_proof(proof).unwrap(),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn key_rows(criterion: &mut Bench, followed: &Followed) {
    let bytes = followed.key_proof.to_wire();
    eprintln!("key: {} bytes for epoch {EPOCHS}, and 96 of trust", bytes.len());
    let verifier = KeyVerifier::new(CHAIN, secret(GROUP).public_key());
    criterion.bench_function("key", |bencher| {
        bencher.iter(|| verifier.verify_proof(&KeyProof::from_wire(&bytes).unwrap()).unwrap());
    });
    let block = verifier.verify_proof(&followed.key_proof).unwrap();
    let Claim::Row { value, proof, .. } = &followed.key_proof.claims[0] else { panic!() };
    criterion.bench_function("account", |bencher| {
        bencher.iter(|| block.verify_account(account(7), value.as_deref(), black_box(proof)));
    });
}

/// A clock of the process's own computing time.
#[derive(Clone, Copy, Debug)]
struct ProcessorTime;

type Bench = Criterion<ProcessorTime>;

impl Measurement for ProcessorTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        Clock::Process.now()
    }

    fn end(&self, start: Duration) -> Duration {
        self.start() - start
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn main() {
    let mut criterion = Criterion::default().with_measurement(ProcessorTime).configure_from_args();
    let still = follow(false);
    let (waypoint, members) = (still.start.waypoint(), still.start.members());
    eprintln!("start: 80 bytes of trust, {} of members", members.to_wire().len());
    criterion.bench_function("start", |bencher| {
        bencher.iter(|| StakeVerifier::new(&waypoint, &members).unwrap());
    });
    stake_rows(&mut criterion, "still", &still);
    stake_rows(&mut criterion, "moving", &follow(true));
    key_rows(&mut criterion, &still);
    criterion.final_summary();
}
