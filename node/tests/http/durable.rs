//! A devnet that keeps journals and is served: killed and started again it is the same chain, and its old
//! rounds are there.
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::client::json;
use crate::devnet::Devnet;
use crate::stream::Follower;

fn arguments<'a>(engine: &'a str, journal: &'a Path) -> [&'a str; 4] {
    ["--engine", engine, "--journal", journal.to_str().unwrap()]
}

/// The chain, and the next three rounds behind this slot as they are served. Says the last one's slot too.
fn watch(devnet: &Devnet, after: Option<u64>) -> (Value, u64, Vec<(u64, Value)>) {
    let mut slot = after.unwrap_or(0);
    let after = after.map(|slot| slot.to_string());
    let mut follower = Follower::new(devnet.address, after.as_deref());
    let (kind, info) = follower.next().unwrap();
    assert_eq!(kind, "info");
    let next = |_| {
        let value = follower.value();
        slot = value["slot"].as_u64().unwrap();
        let round = value["round"].as_u64().unwrap();
        (round, json(devnet.address, &format!("/public/{round}")))
    };
    let rounds = (0..3).map(next).collect();
    (info, slot, rounds)
}

fn goes_on(engine: &str) {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journals");
    let mut heard = None;
    let lives = [(); 3].map(|()| {
        // Killed when it goes out of scope.
        let devnet = Devnet::start(&arguments(engine, &journal));
        let (info, slot, mut rounds) = watch(&devnet, heard);
        heard = Some(slot);
        // All that was served before is served again.
        let last = rounds.last().unwrap().0;
        let first = rounds[0].0;
        rounds.extend((1..first).rev().map_while(|round| {
            let reply = crate::client::get(devnet.address, &format!("/public/{round}"));
            (reply.status == 200).then(|| (round, serde_json::from_str(&reply.body).unwrap()))
        }));
        rounds.sort_by_key(|(round, _)| *round);
        (info, last, rounds)
    });
    for pair in lives.windows(2) {
        let [(info, last, rounds), (again, later, all)] = pair else { unreachable!() };
        assert_eq!(again, info, "another chain");
        assert!(later > last, "no new rounds");
        for round in rounds {
            assert!(all.contains(round), "round {} is lost", round.0);
        }
        // Nothing is left out between the lives.
        let numbers: Vec<u64> = all.iter().map(|(round, _)| *round).collect();
        let first = rounds[0].0;
        assert_eq!(numbers, (first..first + u64::try_from(all.len()).unwrap()).collect::<Vec<_>>());
    }
}

#[test]
fn a_served_jolteon_chain_goes_on_with_its_old_rounds() {
    goes_on("jolteon");
}

#[test]
fn a_served_malachite_chain_goes_on_with_its_old_rounds() {
    goes_on("malachite");
}

#[test]
fn a_chain_goes_on_as_it_began_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journals");
    drop(watch(&Devnet::start(&arguments("jolteon", &journal)), None));
    let stakes = folder.path().join("stakes.csv");
    std::fs::write(&stakes, "stake\n310\n240\n150\n110\n90\n60\n40\n").unwrap();
    let refused = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
        command.args(["devnet", "--parties", "4", "--regions", "none", "--seed", "7", "--stakes"]);
        command.arg(&stakes).args(arguments("jolteon", &journal)).args(more);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let http = ["--http", "127.0.0.1:0", "--no-page"];
    // Its name says how often a round is due, and that there are rounds at all.
    let said = refused(&[&http[..], &["--period", "2"]].concat());
    assert!(said.contains("served each 1 s") && said.contains("served each 2 s"), "{said}");
    assert!(refused(&[]).contains("served each 1 s"));
    // Without its values it would begin at another time, and be another chain.
    std::fs::remove_file(journal.join("values.journal")).unwrap();
    let said = refused(&http);
    assert!(said.contains("values.journal: missing"), "{said}");
}
