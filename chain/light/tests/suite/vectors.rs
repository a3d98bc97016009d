//! Objects as bytes, for other languages and for later versions. `PREFINAL_WRITE=1` writes the file, and seeds of
//! the fuzz target.
use std::path::{Path, PathBuf};

use prefinal_crypto_core::bls::Domain;
use prefinal_crypto_core::certificate::StateStatement;
use prefinal_crypto_core::drand::{Randomness, RoundNumber};
use prefinal_light::{
    Claim, EpochEnding, KeyProof, KeyVerifier, LightObject, MemberList, StakeProof, StakeVerifier,
    Waypoint,
};
use serde_json::{Value, json};

use crate::chain::{CHAIN, Chain, account, member, pay, secret, with};
use crate::vuf::VufSamples;

/// An object of each kind.
pub(crate) struct Samples {
    pub(crate) waypoint: Waypoint,
    pub(crate) members: MemberList,
    pub(crate) ending: EpochEnding,
    pub(crate) stake_proof: StakeProof,
    pub(crate) key_proof: KeyProof,
    pub(crate) vuf: VufSamples,
}

impl Samples {
    pub(crate) fn new() -> Self {
        let mut chain = Chain::new(&[10, 20, 30, 40], 20);
        let (waypoint, members) = (chain.waypoint(), chain.members.clone());
        let mut next = members.clone();
        next.members[0].stake = 15;
        next.members.push(member(4, 25));
        let mut secrets = chain.secrets.clone();
        secrets.push(4);
        let ending = chain.ending(&next);
        chain.enter(next, secrets);
        chain.transfers(vec![pay(0, 0, 1, 100), pay(2, 0, 77, 8)]);
        let claims =
            vec![chain.claim_account(0), chain.claim_account(500), chain.claim_transaction(1)];
        let message = chain.unsigned().statement(CHAIN).to_bytes();
        let signature = group().sign(StateStatement::THRESHOLD.domain(), &message);
        let key_proof = KeyProof {
            chain: CHAIN,
            block: with(&chain.unsigned(), signature),
            claims: claims.clone(),
        };
        let endings = vec![ending.clone()];
        let stake_proof = StakeProof { chain: CHAIN, endings, block: chain.certified(), claims };
        Self { waypoint, members, ending, stake_proof, key_proof, vuf: VufSamples::new() }
    }
}

/// The key of threshold certificates.
fn group() -> prefinal_crypto_core::bls::min_sig::SecretKey {
    secret(1000)
}

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn claims(claims: &[Claim]) -> Value {
    let claim = |claim: &Claim| match claim {
        Claim::Row { key, value, .. } => json!({
            "key": hex::encode(key.as_bytes()),
            "value": value.as_ref().map(hex::encode),
        }),
        Claim::Transaction { result, proof } => json!({
            "transaction": hex::encode(result.transaction),
            "receipt": hex::encode(&result.receipt),
            "position": proof.index,
        }),
    };
    claims.iter().map(claim).collect()
}

fn text() -> String {
    let samples = Samples::new();
    let beacon = secret(2000);
    let round = RoundNumber::new(7).unwrap();
    let signature = beacon.sign(Domain::BASIC, &round.message()).to_bytes();
    let block = &samples.stake_proof.block;
    let value = json!({
        "waypoint": hex::encode(samples.waypoint.to_wire()),
        "members": hex::encode(samples.members.to_wire()),
        "ending": hex::encode(samples.ending.to_wire()),
        "stake_proof": hex::encode(samples.stake_proof.to_wire()),
        "key_proof": hex::encode(samples.key_proof.to_wire()),
        "chain": hex::encode(CHAIN.as_bytes()),
        "group_key": hex::encode(group().public_key().to_bytes()),
        "verified": {
            "epoch": block.epoch.get(),
            "slot": block.slot.get(),
            "value": hex::encode(block.value.to_bytes()),
            "state_root": hex::encode(block.roots.state),
            "receipts_root": hex::encode(block.roots.receipts),
            "claims": claims(&samples.stake_proof.claims),
        },
        "accounts": [
            { "account": hex::encode(account(0).as_bytes()), "balance": 898, "nonce": 1 },
            { "account": hex::encode(account(500).as_bytes()), "balance": 0, "nonce": 0 },
        ],
        "beacon": {
            "key": hex::encode(beacon.public_key().to_bytes()),
            "first": 3,
            "slot": 9,
            "signature": hex::encode(signature),
            "randomness": hex::encode(Randomness::of(&signature).as_bytes()),
        },
        "vuf": samples.vuf.to_json(),
    });
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

/// What is made, what is on the disk, and what a client makes of it.
#[test]
fn the_vectors_are_what_they_were() {
    let samples = Samples::new();
    let (vectors, text) = (file("tests/vectors/light.json"), text());
    if std::env::var_os("PREFINAL_WRITE").is_some() {
        std::fs::create_dir_all(vectors.parent().unwrap()).unwrap();
        std::fs::write(&vectors, &text).unwrap();
        write_seeds(&samples);
    }
    assert!(std::fs::read_to_string(&vectors).unwrap_or_default() == text, "PREFINAL_WRITE=1");
    let mut client = StakeVerifier::new(&samples.waypoint, &samples.members).unwrap();
    let verified = client.verify_proof(&samples.stake_proof).unwrap();
    let by_key = KeyVerifier::new(CHAIN, group().public_key());
    assert_eq!(by_key.verify_proof(&samples.key_proof).unwrap(), verified);
    for (at, number, balance) in [(0, 0, 898), (1, 500, 0)] {
        let Claim::Row { value, proof, .. } = &samples.stake_proof.claims[at] else { panic!() };
        let found = verified.verify_account(account(number), value.as_deref(), proof).unwrap();
        assert_eq!(found.balance.get(), balance);
    }
}

fn write_seeds(samples: &Samples) {
    let folder = file("../../testing/fuzz/seeds/light");
    std::fs::create_dir_all(&folder).unwrap();
    let objects = [
        ("waypoint", samples.waypoint.to_wire()),
        ("members", samples.members.to_wire()),
        ("ending", samples.ending.to_wire()),
        ("stake-proof", samples.stake_proof.to_wire()),
        ("key-proof", samples.key_proof.to_wire()),
        ("vuf-epoch", samples.vuf.epoch.to_wire()),
        ("vuf-keys", samples.vuf.keys.to_wire()),
        ("vuf-handover", samples.vuf.handover.to_wire()),
        ("vuf-proof", samples.vuf.proof.to_wire()),
    ];
    for (name, bytes) in objects {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}
