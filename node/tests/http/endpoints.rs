//! drand's paths: what is there verifies, what is not is answered as drand answers.
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use prefinal_beacon::Slot;
use prefinal_crypto_core::drand::{ChainInfo, Round, RoundNumber, Schedule, Scheme};
use prefinal_node::http::genesis;
use serde_json::{Value, json};

use crate::client::{get, json, say};
use crate::{BEFORE, HOUR, Relay};

const SCHEME: &str = "bls-unchained-g1-rfc9380";

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

/// The chain as its info describes it.
fn chain(info: &Value) -> ChainInfo {
    let period = u32::try_from(info["period"].as_u64().unwrap()).unwrap();
    let schedule = Schedule {
        genesis_time: info["genesis_time"].as_u64().unwrap(),
        period: NonZeroU32::new(period).unwrap(),
    };
    let scheme: Scheme = info["schemeID"].as_str().unwrap().parse().unwrap();
    let seed = bytes(&info["groupHash"]).try_into().unwrap();
    let name = info["metadata"]["beaconID"].as_str().unwrap();
    ChainInfo::new(scheme, &bytes(&info["public_key"]), schedule, seed, name).unwrap()
}

#[test]
fn rounds_verify_under_what_the_chain_says_of_itself() {
    let relay = Relay::open();
    let info = json(relay.address, "/info");
    let chain = chain(&info);
    let hash = info["hash"].as_str().unwrap();
    assert_eq!(hex::encode(chain.hash()), hash);
    assert_eq!(json(relay.address, "/chains"), json!([hash]));
    assert_eq!(json(relay.address, &format!("/{hash}/info")), info);
    for number in 1..=5_u64 {
        let round = json(relay.address, &format!("/public/{number}"));
        let signature = bytes(&round["signature"]);
        let number = RoundNumber::new(number).unwrap();
        let value =
            chain.verify(&Round { number, signature, previous: None, randomness: None }).unwrap();
        assert_eq!(round["randomness"], hex::encode(value.as_bytes()));
        assert_eq!(round["round"], number.get());
        assert_eq!(
            json(relay.address, &format!("/{hash}/public/{number}", number = number.get())),
            round
        );
    }
    let newest = json(relay.address, "/public/5");
    for path in ["/public/latest", "/public/0", &format!("/{hash}/public/latest")] {
        assert_eq!(json(relay.address, path), newest);
    }
    assert_eq!(json(relay.address, "/health"), json!({ "current": 5, "expected": 5 }));
}

#[test]
fn the_second_version_says_the_same_in_its_words() {
    let relay = Relay::open();
    let (v1, hashes) = (json(relay.address, "/info"), json(relay.address, "/v2/chains"));
    assert_eq!(json(relay.address, "/v2/beacons"), json!(["default"]));
    let hash = hashes[0].as_str().unwrap();
    for chain in [
        format!("/v2/chains/{hash}"),
        format!("/v2/chains/{}", hash.to_uppercase()),
        "/v2/beacons/default".into(),
    ] {
        let info = json(relay.address, &format!("{chain}/info"));
        let names = [
            ("public_key", "public_key"),
            ("period", "period"),
            ("genesis_time", "genesis_time"),
            ("genesis_seed", "groupHash"),
            ("chain_hash", "hash"),
            ("scheme", "schemeID"),
        ];
        assert!(names.iter().all(|(new, old)| info[new] == v1[old]), "{info}");
        assert_eq!(info["beacon_id"], "default");
        let round = json(relay.address, &format!("{chain}/rounds/4"));
        let signature = hex::encode(relay.sign(4).to_bytes());
        assert_eq!(round, json!({ "round": 4, "signature": signature }));
        assert_eq!(json(relay.address, &format!("{chain}/rounds/latest"))["round"], 5);
        assert_eq!(json(relay.address, &format!("{chain}/rounds/0"))["round"], 5);
        assert_eq!(json(relay.address, &format!("{chain}/health"))["expected"], 5);
    }
}

#[test]
fn bad_questions_get_drands_answers() {
    let relay = Relay::new(5, HOUR, None);
    relay.key();
    [1, 3, 4, 5].into_iter().for_each(|round| relay.reveal(round));
    let hash = json(relay.address, "/chains")[0].as_str().unwrap().to_owned();
    let (other, short) = ("ab".repeat(32), &hash[1..]);
    let unknown = format!(
        "there is no BeaconHandler for beaconHash [{other}] in our beacons [{hash}]. Is the chain hash correct?. Please check it\n"
    );
    let odd = format!("unable to decode chain hash {short}: encoding/hex: odd length hex string\n");
    let no_hex = "unable to decode chain hash nobody: encoding/hex: invalid byte: U+006E 'n'\n";
    let huge = "18446744073709551616";
    let overflow = format!(
        "Failed to parse round parameter \"{huge}\": strconv.ParseUint: parsing \"{huge}\": value out of range\n"
    );
    for (path, status, body) in [
        ("/public/x".to_owned(), 400, ""),
        ("/public/-1".into(), 400, ""),
        ("/public/+3".into(), 400, ""),
        ("/public/3.0".into(), 400, ""),
        (format!("/public/{huge}"), 400, ""),
        (format!("/{other}/public/x"), 400, ""),
        (format!("/{other}/public/4"), 404, &unknown),
        (format!("/{other}/public/latest"), 404, &unknown),
        (format!("/{other}/health"), 404, &unknown),
        (format!("/{other}/info"), 404, "group not found\n"),
        (format!("/{short}/info"), 400, &odd),
        (format!("/{short}/public/4"), 400, &odd),
        ("/nobody/public/4".into(), 400, no_hex),
        ("/nobody/health".into(), 400, no_hex),
        // Not here, though it was due; and in the future.
        ("/public/2".into(), 404, ""),
        ("/public/7".into(), 404, ""),
        (format!("/public/{}", u64::MAX), 404, ""),
        (format!("/v2/chains/{other}/info"), 500, "Failed to get ChainInfo\n"),
        (format!("/v2/chains/{other}/rounds/4"), 500, "Failed to get beacon\n"),
        (format!("/v2/chains/{other}/health"), 500, "Failed to get latest beacon for health\n"),
        ("/v2/beacons/quicknet/rounds/4".into(), 500, "Failed to get beacon\n"),
        (format!("/v2/chains/{hash}/rounds/2"), 500, "Failed to get beacon\n"),
        (format!("/v2/chains/{hash}/rounds/7"), 425, "Requested future beacon\n"),
        (format!("/v2/chains/{hash}/rounds/{huge}"), 400, &overflow),
    ] {
        let reply = get(relay.address, &path);
        assert_eq!((reply.status, reply.body.as_str()), (status, body), "{path}");
        assert_eq!(reply.headers["access-control-allow-origin"], "*", "{path}");
    }
    for path in [
        "/nothing",
        "/v2",
        "/v2/chains/short/info",
        "/v2/beacons/default/rounds/x",
        "/../etc/passwd",
    ] {
        let reply = get(relay.address, path);
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.body.contains("GET /v2/chains/{chainhash}/rounds/{round}\n"), "{path}");
    }
    assert_eq!(get(relay.address, "/").status, 200);
    let post = "POST /info HTTP/1.1\r\nHost: relay\r\nConnection: close\r\n\r\n";
    assert_eq!(say(relay.address, post).status, 405);
}

#[test]
fn before_there_is_a_key_what_is_known_is_told_and_who_wants_more_may_come_again() {
    let relay = Relay::new(5, HOUR, None);
    // A value that would belong to no round is none.
    relay.board.reveal(Slot::new(BEFORE + 1), relay.sign(1));
    for path in ["/chains", "/v2/chains"] {
        assert_eq!(json(relay.address, path), json!([]));
    }
    assert_eq!(json(relay.address, "/v2/beacons"), json!(["default"]));
    let early = |path: &str| {
        let reply = get(relay.address, path);
        assert_eq!(reply.status, 503, "{path}: {reply:?}");
        assert_eq!(reply.headers["retry-after"], HOUR.to_string(), "{path}");
        reply
    };
    let known = |path: &str| -> Value { serde_json::from_str(&early(path).body).unwrap() };
    let any = "ab".repeat(32);
    for path in ["/info".to_owned(), format!("/{any}/info")] {
        let info = known(&path);
        assert_eq!((&info["period"], &info["schemeID"]), (&json!(HOUR), &json!(SCHEME)));
        assert_eq!(info["groupHash"], "07".repeat(32));
        assert_eq!(info["metadata"]["beaconID"], "default");
        assert_eq!(info.get("public_key"), None);
    }
    for path in ["/v2/beacons/default/info".to_owned(), format!("/v2/chains/{any}/info")] {
        let info = known(&path);
        assert_eq!((&info["period"], &info["scheme"]), (&json!(HOUR), &json!(SCHEME)));
        assert_eq!(
            (&info["genesis_seed"], &info["beacon_id"]),
            (&json!("07".repeat(32)), &json!("default"))
        );
    }
    for path in ["/health", "/v2/beacons/default/health"] {
        assert_eq!(known(path), json!({ "current": 0, "expected": 0 }));
    }
    for path in ["/public/latest", "/public/1", "/public/0", "/v2/beacons/default/rounds/latest"] {
        early(path);
    }
    // What is wrong is so with a key and without.
    assert_eq!(get(relay.address, "/public/x").status, 400);
    assert_eq!(get(relay.address, "/nobody/info").status, 400);
    assert_eq!(get(relay.address, "/v2/beacons/quicknet/info").status, 500);
    relay.key();
    assert_eq!(get(relay.address, "/info").status, 200);
    // A chain without a round: its node is not well, and the first one is due.
    for path in ["/public/latest", "/v2/beacons/default/rounds/latest"] {
        let reply = get(relay.address, path);
        assert_eq!((reply.status, reply.headers["retry-after"].as_str()), (503, "1"), "{path}");
    }
    assert_eq!(get(relay.address, "/health").status, 503);
}

/// Round r is due at genesis + (r − 1) · period: the slots before the first are not counted.
#[test]
fn the_genesis_is_when_the_first_round_is_due() {
    let relay = Relay::open();
    let chain = chain(&json(relay.address, "/info"));
    let now = genesis().0;
    let due = chain.schedule().time_of(RoundNumber::new(5).unwrap()).unwrap();
    assert!((now - 120..=now).contains(&due), "{due}, it is {now}");
    assert_eq!(get(relay.address, "/ping").body, ".");
}

#[test]
fn what_never_changes_may_be_kept_and_nothing_else() {
    let relay = Relay::open();
    let hash = json(relay.address, "/chains")[0].as_str().unwrap().to_owned();
    let caching = |path: &str| get(relay.address, path).headers["cache-control"].clone();
    assert_eq!(caching(&format!("/{hash}/info")), "public, max-age=604800, immutable");
    assert_eq!(caching(&format!("/{hash}/public/4")), "public, max-age=604800, immutable");
    for path in ["/info", "/public/4", "/chains", "/health"] {
        assert_eq!(caching(path), "no-cache", "{path}");
    }
    let seconds = |path: &str, before: &str| -> u32 {
        caching(path).strip_prefix(before).unwrap().parse().unwrap()
    };
    // Until the next round, until the future one.
    let latest = seconds("/public/latest", "public, must-revalidate, max-age=");
    assert!((HOUR - 60..=HOUR).contains(&latest), "{latest}");
    let future = seconds("/public/7", "public, must-revalidate, max-age=");
    assert!((2 * HOUR - 60..=2 * HOUR).contains(&future), "{future}");
    // At most a day, for nobody knows what is then.
    let far = seconds(&format!("/public/{}", u64::MAX), "public, must-revalidate, max-age=");
    assert_eq!(far, 86_400);
    for chain in [format!("/v2/chains/{hash}/info"), format!("/v2/chains/{hash}/rounds/4")] {
        assert_eq!(caching(&chain), "public, max-age=604800, immutable");
    }
    // The newest is not kept if the one that is due is late.
    let relay = Relay::new(5, HOUR, None);
    relay.key();
    relay.reveal(4);
    let late = get(relay.address, "/public/latest").headers["cache-control"].clone();
    assert_eq!(late, "public, must-revalidate, max-age=0");
}

#[test]
fn a_client_that_asks_for_the_next_round_waits_for_it() {
    let relay = Relay::open();
    let (address, asked) = (relay.address, Instant::now());
    let next = ["/public/6", "/v2/beacons/default/rounds/6", "/v2/beacons/default/rounds/next"];
    let waiting = next.map(|path| std::thread::spawn(move || json(address, path)));
    std::thread::sleep(Duration::from_millis(400));
    assert!(waiting.iter().all(|one| !one.is_finished()));
    relay.reveal(6);
    for one in waiting {
        assert_eq!(one.join().unwrap()["round"], 6);
    }
    assert!(asked.elapsed() < Duration::from_secs(60), "nobody waits for the clock");
}

#[test]
fn a_round_that_does_not_come_is_not_waited_for_for_ever() {
    let relay = Relay::new(5, 1, None);
    relay.key();
    (1..=5).for_each(|round| relay.reveal(round));
    let asked = Instant::now();
    let reply = get(relay.address, "/public/6");
    assert_eq!((reply.status, reply.body.as_str()), (404, ""));
    assert!(asked.elapsed() > Duration::from_secs(3), "{:?}", asked.elapsed());
}
