//! The commands: what they make, what they refuse, and that they replace nothing.
use std::collections::BTreeSet;
use std::fs;

use super::*;
use crate::{Home, Name};

#[test]
fn operators_make_a_chain_without_a_dealer() {
    let room = room();
    let at = |name: &str| room.path().join(name);
    let mut files = Vec::new();
    for (number, name) in ["alice", "bob", "carol", "dave"].into_iter().enumerate() {
        let links = format!("10.0.0.{number}:7000");
        let engine = format!("{name}.example:7001");
        new_keys(&at(name), &["--links", &links, "--engine", &engine]).unwrap();
        files.push(Folder::new(at(name)).registration().display().to_string());
    }
    let (out, table) = (at("genesis.json"), at("stakes.csv"));
    fs::write(&table, "# by name\nName,stake\nbob, 30\nalice,40\ncarol,20\n").unwrap();
    let files: Vec<_> = files.iter().map(String::as_str).collect();
    let fixed =
        ["--name", "net", "--out", out.to_str().unwrap(), "--stakes", table.to_str().unwrap()];
    let error = joined(&[&fixed[..], &files].concat()).unwrap_err().to_string();
    assert_eq!(error, "no stake of `dave`: add --stake dave=N");
    assert!(!out.exists());
    for (more, expected) in [
        (["--stake", "eve=1"], "stakes: no member is called `eve`"),
        (["--links", "eve=1.1.1.1:1"], "--links: no member is called `eve`"),
    ] {
        let words = [&fixed[..], &["--stake", "dave=10"], &more, &files].concat();
        assert_eq!(joined(&words).unwrap_err().to_string(), expected);
    }
    let words = [&fixed[..], &["--stake", "dave=10"], &files].concat();
    let text = joined(&words).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains("genesis.json")));
    assert_eq!(joined(&words).unwrap_err().code(), "exists");
    for name in ["alice", "dave"] {
        initialised(&at(name), &out).unwrap();
        let error = initialised(&at(name), &out).unwrap_err();
        assert_eq!(error.code(), "exists");
        assert!(Home::open(at(name)).unwrap().party().is_some());
    }
    let config = Folder::new(at("alice")).read_config().unwrap();
    assert_eq!(config.links.listen.to_string(), "0.0.0.0:7000");
    // Each member's fingerprint is in what the one who joins them sees.
    let keys = shown(&at("alice"), &[]).unwrap();
    let fingerprint = keys.lines().next().unwrap().split_whitespace().last().unwrap();
    assert!(text.contains(fingerprint), "{text}");
    assert!(keys.contains("\nparty         0\n"), "{keys}");
}

#[test]
fn keys_are_made_once() {
    let room = room();
    let path = room.path().join("alice");
    new_keys(&path, &[]).unwrap();
    let folder = Folder::new(&path);
    let before = [folder.identity(), folder.registration()].map(|file| fs::read(file).unwrap());
    let error = new_keys(&path, &[]).unwrap_err();
    assert_eq!(error.code(), "exists", "{error}");
    let after = [folder.identity(), folder.registration()].map(|file| fs::read(file).unwrap());
    assert_eq!(before, after);
    let again = room.path().join("again.json");
    shown(&path, &["--registration", again.to_str().unwrap()]).unwrap();
    assert_eq!(fs::read(again).unwrap(), before[1]);
    let left: Vec<_> = fs::read_dir(&path).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_counts_as_an_identity() {
    let room = room();
    let (path, target) = (room.path().join("alice"), room.path().join("target"));
    fs::create_dir(&path).unwrap();
    set_mode(&path, 0o700);
    std::os::unix::fs::symlink(&target, path.join("identity")).unwrap();
    assert_eq!(new_keys(&path, &[]).unwrap_err().code(), "exists");
    assert!(!target.exists());
    set_mode(&path, 0o777);
    fs::remove_file(path.join("identity")).unwrap();
    assert_eq!(new_keys(&path, &[]).unwrap_err().code(), "permissions");
    assert!(!path.join("identity").exists());
}

#[test]
fn an_interrupted_init_can_be_repeated_but_not_with_another_genesis() {
    let room = room();
    let net = net(&room);
    let folder = home(&net, 0);
    fs::remove_file(folder.config()).unwrap();
    initialised(folder.path(), &home(&net, 1).genesis()).unwrap();
    fs::remove_file(folder.config()).unwrap();
    let other = room.path().join("other");
    testnet_of(&["--out", other.to_str().unwrap()]).unwrap();
    let error = initialised(folder.path(), &home(&other, 0).genesis()).unwrap_err();
    assert_eq!(error.code(), "exists");
    assert!(!folder.config().exists());
}

#[test]
fn init_needs_keys() {
    let room = room();
    let net = net(&room);
    let error = initialised(&room.path().join("empty"), &home(&net, 0).genesis()).unwrap_err();
    assert!(error.to_string().contains("prefinal keys new"), "{error}");
}

#[test]
fn a_testnet_is_there_whole_or_not_at_all() {
    let room = room();
    let out = room.path().join("net");
    let path = out.to_str().unwrap();
    for words in [
        vec!["--validators", "3"],
        vec!["--validators", "5", "--stake", "1"],
        vec!["--validators", "2000"],
        vec!["--base-port", "65530"],
        vec!["--fast", "5/6", "--algorithm", "slow"],
        vec!["--fast", "1/2"],
        vec!["--pace", "1h"],
        vec!["--host", "203.0.113.1"],
        vec!["--host", "0.0.0.0"],
        vec!["--passphrase-file", "nothing"],
    ] {
        let error = testnet_of(&[&["--out", path], &words[..]].concat()).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 0, "{words:?}: {error}");
    }
    let text = net(&room);
    assert_eq!(text, out);
    assert_eq!(testnet_of(&["--out", path]).unwrap_err().code(), "exists");
    #[cfg(unix)]
    assert_eq!(mode(&out), 0o700);
}

#[test]
fn ports_of_a_testnet_are_distinct_or_counted() {
    let room = room();
    let net = net(&room);
    let mut seen = BTreeSet::new();
    for number in 0..5 {
        let config = home(&net, number).read_config().unwrap();
        let tcp = [config.engine.listen, config.http.listen.unwrap()];
        assert!(tcp.into_iter().all(|address| seen.insert(("tcp", address.port()))));
        assert!(seen.insert(("udp", config.links.listen.port())));
    }
    let counted = room.path().join("counted");
    let words =
        ["--out", counted.to_str().unwrap(), "--base-port", "9000", "--host", "203.0.113.1"];
    testnet_of(&[&words[..], &["--algorithm", "tight"]].concat()).unwrap();
    let config = home(&counted, 3).read_config().unwrap();
    assert_eq!(config.links.listen.to_string(), "203.0.113.1:9009");
    assert_eq!(config.http.listen.unwrap().to_string(), "203.0.113.1:9011");
}

#[test]
fn tables_are_refused_with_their_line() {
    let room = room();
    let table = room.path().join("stakes.csv");
    let out = room.path().join("net");
    let words = ["--out", out.to_str().unwrap(), "--stakes", table.to_str().unwrap()];
    for (text, expected) in [
        ("", "line 1: expected a header with a column `stake`"),
        ("stake\n", "line 1: no stakes in the table"),
        ("stake\n1\n-2\n", "line 3: expected a whole number, got `-2`"),
        ("name,stake\na,1\nb\n", "line 3: every row must have as many fields as the first"),
        ("name,stake\nA,1\n", "line 2: expected 1 to 32 of a-z"),
    ] {
        fs::write(&table, text).unwrap();
        let error = testnet_of(&words).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn names_are_names() {
    for (text, good) in [
        ("a", true),
        ("0", true),
        ("validator-0.example_x", true),
        ("", false),
        ("-a", false),
        (".", false),
        ("..", false),
        ("a/b", false),
        ("A", false),
        ("ä", false),
        ("a\n", false),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
    ] {
        assert_eq!(text.parse::<Name>().is_ok(), good, "{text:?}");
    }
}
