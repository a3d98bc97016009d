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
//! key. The state has 100 000 accounts. Times are processor time of the process, which has one thread;
//! beside them are the bytes of what is sent. With `PREFINAL_PROOFS=FILE` the proofs are written too, for
//! `bindings/python/benches/light.py` and `bindings/wasm/bench-light.mjs`, which time the same.
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

use std::ffi::OsStr;
use std::time::Duration;

use prefinal_crypto_core::certificate::StateStatement;
use prefinal_light::{Claim, KeyProof, KeyVerifier, LightObject, StakeProof, StakeVerifier};
use prefinal_rows::{Clock, Meter, OURS, Options, Sheet};
use serde_json::json;

use crate::chain::{CHAIN, Chain, account, member, secret, with};

const MEMBERS: usize = 100;
const EPOCHS: usize = 1000;
const ACCOUNTS: u64 = 100_000;
/// Processor time for one row at most: a whole proof takes seconds.
const BUDGET: Duration = Duration::from_secs(20);

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

fn stake_rows(sheet: &mut Sheet, meter: &Meter, name: &str, followed: &Followed) {
    let Followed { start, proof, .. } = followed;
    let bytes = proof.to_wire();
    let ending = &proof.endings[0];
    let case = format!("{name}, {MEMBERS} members, {EPOCHS} epochs");
    let advance = meter.least_each(|| start.clone(), |mut client| client.advance(ending).unwrap());
    sheet
        .of("light::advance", &case)
        .time(OURS, advance)
        .bytes(OURS, ending.to_wire().len() as f64);
    let decode = meter.least(|| StakeProof::from_wire(&bytes).unwrap());
    sheet.of("light::decode", &case).time(OURS, decode).bytes(OURS, bytes.len() as f64);
    let verify =
        meter.least_each(|| start.clone(), |mut client| client.verify_proof(proof).unwrap());
    sheet.of("light::verify", &case).time(OURS, verify);
}

fn key_rows(sheet: &mut Sheet, meter: &Meter, followed: &Followed) {
    let bytes = followed.key_proof.to_wire();
    let verifier = KeyVerifier::new(CHAIN, secret(GROUP).public_key());
    let case = format!("epoch {EPOCHS}");
    let key = meter.least(|| verifier.verify_proof(&KeyProof::from_wire(&bytes).unwrap()).unwrap());
    sheet.of("light::key", &case).time(OURS, key).bytes(OURS, bytes.len() as f64);
    let block = verifier.verify_proof(&followed.key_proof).unwrap();
    let Claim::Row { value, proof, .. } = &followed.key_proof.claims[0] else { panic!() };
    let row = meter.least(|| block.verify_account(account(7), value.as_deref(), proof).unwrap());
    sheet.of("light::account", &format!("{ACCOUNTS} accounts")).time(OURS, row);
}

/// Everything that a client of another language begins with, and what it is shown, in hexadecimal digits.
fn write_proofs(path: &OsStr, still: &Followed, moving: &Followed) {
    let group_key = secret(GROUP).public_key().to_bytes();
    let stake = |followed: &Followed| {
        json!({
            "waypoint": hex::encode(followed.start.waypoint().to_wire()),
            "members": hex::encode(followed.start.members().to_wire()),
            "proof": hex::encode(followed.proof.to_wire()),
        })
    };
    let proofs = json!({
        "still": stake(still),
        "moving": stake(moving),
        "key": {
            "chain": hex::encode(CHAIN.as_bytes()),
            "key": hex::encode(group_key),
            "proof": hex::encode(still.key_proof.to_wire()),
        },
        "account": hex::encode(account(7).as_bytes()),
    });
    std::fs::write(path, proofs.to_string()).unwrap();
}

fn main() {
    let options = Options::from_command_line();
    let mut sheet = Sheet::new("light", "cargo bench -p prefinal-light --bench light");
    let meter = Meter::new(&options, Clock::Process).within(BUDGET, BUDGET);
    let still = follow(false);
    let (waypoint, members) = (still.start.waypoint(), still.start.members());
    let start = meter.least(|| StakeVerifier::new(&waypoint, &members).unwrap());
    sheet
        .of("light::start", &format!("{MEMBERS} members"))
        .time(OURS, start)
        .bytes(OURS, members.to_wire().len() as f64);
    stake_rows(&mut sheet, &meter, "still", &still);
    let moving = follow(true);
    if let Some(path) = std::env::var_os("PREFINAL_PROOFS") {
        write_proofs(&path, &still, &moving);
    }
    stake_rows(&mut sheet, &meter, "moving", &moving);
    key_rows(&mut sheet, &meter, &still);
    sheet.finish(&options).unwrap();
}
