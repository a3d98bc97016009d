//! The file explains every key, and refuses every other one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
use std::collections::BTreeSet;

use super::*;

fn minimal() -> Config {
    let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
    Config::new("validator-0".parse().unwrap(), at(7000), at(7001))
}

/// A value for every key.
fn full() -> Config {
    let mut config = minimal();
    config.http.listen = Some(([127, 0, 0, 1], 8080).into());
    config.sidecar.listen = Some("unix:/run/prefinal.sock".parse().unwrap());
    config.identity.passphrase_file = Some("pass \"phrase\\".into());
    let peers = [("a.b", "[::1]:9"), ("validator-3", "some.example:7000")];
    config.links.peers =
        peers.map(|(name, at)| (name.parse().unwrap(), at.parse().unwrap())).into();
    config.engine.peers.clone_from(&config.links.peers);
    config
}

#[test]
fn what_is_written_is_read_again() {
    for config in [minimal(), full()] {
        let text = config.to_text();
        assert_eq!(Config::parse(&text).unwrap(), config, "{text}");
        let long = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None);
    }
}

#[test]
fn every_key_is_explained_and_every_explained_key_exists() {
    let toml = toml::Table::try_from(full()).unwrap();
    let mut keys = BTreeSet::new();
    for (name, value) in &toml {
        match value {
            toml::Value::Table(section) => {
                keys.extend(section.keys().map(|key| (name.clone(), key.clone())));
            }
            _ => drop(keys.insert((String::new(), name.clone()))),
        }
    }
    let explained = KEYS.iter().map(|one| (one.section.to_owned(), one.key.to_owned()));
    assert_eq!(explained.collect::<BTreeSet<_>>(), keys);
    assert_eq!(KEYS.len(), keys.len(), "a key is explained twice");
}

/// What is commented out is right as soon as the `#` is removed.
#[test]
fn examples_are_good_values() {
    let text = minimal().to_text();
    let mut shown = 0;
    for one in KEYS.iter().filter(|one| !one.example.is_empty()) {
        let (line, comment) =
            (format!("{} = {}", one.key, one.example), format!("# {} = {}", one.key, one.example));
        if text.contains(&comment) {
            shown += 1;
            Config::parse(&text.replacen(&comment, &line, 1)).unwrap();
        }
        // The same in place of the default, and nothing else than the default is the example.
        let value = format!("\n{} = ", one.key);
        assert!(text.contains(&value) || text.contains(&comment), "{}", one.key);
    }
    assert_eq!(shown, 3);
}

#[test]
fn unknown_keys_are_refused_by_name() {
    let text = full().to_text();
    for section in ["links", "engine", "http", "sidecar", "log", "identity"] {
        let head = format!("[{section}]\n");
        let changed = text.replacen(&head, &format!("{head}lisen = 1\n"), 1);
        let error = Config::parse(&changed).unwrap_err();
        assert_eq!(error.key(), Some(format!("{section}.lisen").as_str()));
        assert!(error.to_string().contains("unknown field `lisen`"), "{error}");
        let line = changed.lines().position(|line| line == "lisen = 1").unwrap() + 1;
        assert_eq!(error.line(), line);
    }
    let error = Config::parse(&format!("monicker = \"a\"\n{text}")).unwrap_err();
    assert_eq!((error.line(), error.key()), (1, Some("monicker")));
    let error = Config::parse(&format!("{text}\n[metrics]\nlisten = \"\"\n")).unwrap_err();
    assert!(error.to_string().contains("unknown field `metrics`"), "{error}");
}

#[test]
fn values_out_of_range_are_refused_with_what_is_expected() {
    let all = [
        ("moniker", "\"Big\""),
        ("moniker", "\"\""),
        ("moniker", "\"a b\""),
        ("moniker", "3"),
        ("links.listen", "\"127.0.0.1\""),
        ("links.listen", "\"127.0.0.1:0\""),
        ("links.listen", "\"localhost:7000\""),
        ("links.window", "65535"),
        ("links.window", "67108865"),
        ("links.rate", "65535"),
        ("links.rate", "1073741825"),
        ("links.queue", "1048575"),
        ("links.queue", "1073741825"),
        ("links.inbox", "1048575"),
        ("links.inbox", "4294967296"),
        ("links.peers.a", "\"example\""),
        ("links.peers.a", "\"0.0.0.0:7000\""),
        ("links.peers.a", "\"example:+1\""),
        ("engine.listen", "\"[::1]\""),
        ("engine.peers.a", "\"a:b:1\""),
        ("http.listen", "\"\""),
        ("http.metrics", "1"),
        ("http.rate", "0"),
        ("http.rate", "1000001"),
        ("http.burst", "0"),
        ("http.burst", "-1"),
        ("http.connections", "0"),
        ("http.connections", "65537"),
        ("http.connections_each", "0"),
        ("http.followers", "0"),
        ("http.followers_each", "1.5"),
        ("http.strict_loopback", "\"yes\""),
        ("sidecar.listen", "\"0.0.0.0:9000\""),
        ("sidecar.listen", "\"unix:relative\""),
        ("sidecar.listen", "\"10.0.0.1:9000\""),
        ("log.filter", "\"verbose\""),
        ("log.filter", "\"prefinal=loud\""),
        ("log.filter", "\"\""),
        ("log.format", "\"xml\""),
        ("identity.passphrase_file", "7"),
    ];
    for (key, value) in all {
        let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
        let mut table = toml::Table::try_from(minimal()).unwrap();
        let value: toml::Value =
            format!("v = {value}").parse::<toml::Table>().unwrap()["v"].clone();
        let mut at = &mut table;
        for part in section.split('.').filter(|part| !part.is_empty()) {
            let next = at.entry(part).or_insert_with(|| toml::Table::new().into());
            at = next.as_table_mut().unwrap();
        }
        at.insert(name.to_owned(), value.clone());
        let error = Config::parse(&table.to_string()).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.key(), Some(key), "{text}");
        assert!(text.contains("expected"), "{value}: {text}");
    }
}

#[test]
fn what_is_required_is_asked_for() {
    for key in ["moniker", "listen"] {
        let text = minimal().to_text();
        let without: String = text
            .lines()
            .filter(|line| !line.starts_with(key))
            .map(|line| format!("{line}\n"))
            .collect();
        let error = Config::parse(&without).unwrap_err().to_string();
        assert!(error.contains(&format!("missing field `{key}`")), "{error}");
    }
}

#[test]
fn only_peers_may_change_while_it_runs() {
    let (old, mut new) = (full(), full());
    new.links.peers.clear();
    new.engine.peers.clear();
    assert!(old.differs_in_peers_only(&new));
    new.engine.listen.set_port(1);
    assert!(!old.differs_in_peers_only(&new));
}
