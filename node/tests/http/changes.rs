//! A committee that executes its blocks and is replaced several times: a client that trusts the first one verifies the
//! states of all.
use std::path::Path;
use std::time::{Duration, Instant};

use prefinal_light::{LightObject, StakeProof};
use serde_json::Value;

use crate::client::get;
use crate::devnet::Devnet;
use crate::execution::Wallet;
use crate::follow::Follow;

const PATIENCE: Duration = Duration::from_secs(120);

/// A committee is named every six slots, so that the second one's keys suffice while the first one has none of its
/// own slots yet.
fn start(journal: &Path) -> Devnet {
    let changes = ["--epochs", "10", "--slots", "60"];
    let execute = ["--execute", "transfers", "--load", "10", "--journal"];
    Devnet::start(&[&changes[..], &execute, &[journal.to_str().unwrap()]].concat())
}

/// An account's answer with a proof that leads over so many changes of the committee.
fn account(wallet: &Wallet, changes: usize) -> (Value, StakeProof) {
    let name = hex::encode(wallet.id(15).as_bytes());
    let began = Instant::now();
    loop {
        let reply = get(wallet.address, &format!("/accounts/{name}"));
        if reply.status == 200 {
            let said: Value = serde_json::from_str(&reply.body).unwrap();
            let proof = hex::decode(said["proof"].as_str().unwrap()).unwrap();
            let proof = StakeProof::from_wire(&proof).unwrap();
            if proof.endings.len() >= changes {
                return (said, proof);
            }
        }
        assert!(began.elapsed() < PATIENCE, "{reply:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn who_trusts_the_first_committee_verifies_states_of_later_ones() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journals");
    let devnet = start(&journal);
    let wallet = Wallet::of(&devnet);
    let (said, proof) = account(&wallet, 2);
    let mut client = wallet.client.clone();
    client.verify_proof(&proof).unwrap();
    wallet.row(&said, wallet.id(15).key()).unwrap();
    let mut last = said["height"].to_string();
    let url = format!("http://{}", devnet.address);
    let home = |name: &str| folder.path().join(name);
    for mode in ["execute", "deltas", "snapshot"] {
        let more = ["--mode", mode, "--to", &last];
        Follow::start(&url, &home(mode), &more).arrives(devnet.address);
    }

    // In another life the endings are made again, and a node that had them goes on.
    drop(devnet);
    let devnet = start(&journal);
    let wallet = Wallet::of(&devnet);
    let (said, proof) = account(&wallet, 3);
    client.verify_proof(&proof).unwrap();
    wallet.row(&said, wallet.id(15).key()).unwrap();
    last = said["height"].to_string();
    let url = format!("http://{}", devnet.address);
    for (mode, name) in [("execute", "execute"), ("deltas", "new")] {
        let more = ["--mode", mode, "--to", &last];
        Follow::start(&url, &home(name), &more).arrives(devnet.address);
    }
}
