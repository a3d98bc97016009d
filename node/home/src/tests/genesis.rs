//! Whatever is changed in a genesis is refused, or makes another chain.
use std::fs;

use serde_json::{Value, json};

use super::{home, net, room};
use crate::{Genesis, GenesisError};

fn sample() -> Value {
    let room = room();
    serde_json::from_slice(&fs::read(home(&net(&room), 0).genesis()).unwrap()).unwrap()
}

fn parsed(value: &Value) -> Result<Genesis, GenesisError> {
    Genesis::parse(&serde_json::to_vec(value).unwrap())
}

/// What a whole check says: the text, or the chain.
fn chain(value: &Value) -> Result<[u8; 32], GenesisError> {
    let setup = parsed(value)?.setup()?;
    Ok(*setup.context.chain.as_bytes())
}

#[test]
fn it_is_read_again_and_spaces_and_order_do_not_count() {
    let value = sample();
    let genesis = parsed(&value).unwrap();
    let again = Genesis::parse(genesis.to_text().unwrap().as_bytes()).unwrap();
    assert_eq!(genesis, again);
    // `Value` sorts the keys.
    let compact = Genesis::parse(serde_json::to_string(&value).unwrap().as_bytes()).unwrap();
    assert_eq!(compact.chain(), genesis.chain());
}

#[test]
fn every_other_value_is_another_chain() {
    let value = sample();
    let first = chain(&value).unwrap();
    let changes: [(&str, Value); 11] = [
        ("/name", json!("other")),
        ("/nonce", json!("07".repeat(32))),
        ("/time", json!("2030-01-01T00:00:00Z")),
        ("/fast", json!("7/8")),
        ("/round_timeout", json!("3s")),
        ("/block_time", json!("1500ms")),
        ("/members/1/name", json!("other")),
        ("/members/1/stake", json!("31")),
        ("/members/1/stake", json!(31)),
        ("/members/1/links", json!("127.0.0.1:1")),
        ("/members/1/engine", json!("example.org:1")),
    ];
    for (place, new) in changes {
        let mut changed = value.clone();
        *changed.pointer_mut(place).unwrap() = new;
        assert_ne!(chain(&changed).unwrap(), first, "{place}");
    }
    let mut swapped = value.clone();
    swapped["members"].as_array_mut().unwrap().swap(0, 1);
    assert_ne!(chain(&swapped).unwrap(), first);
    let mut slow = value;
    slow["algorithm"] = json!("slow");
    slow.as_object_mut().unwrap().remove("fast");
    assert_ne!(chain(&slow).unwrap(), first);
}

#[test]
fn two_runs_are_two_chains() {
    // Ports and keys differ as well, so the nonce is looked at alone.
    assert_ne!(sample()["nonce"], sample()["nonce"]);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let value = sample();
    let changes: [(&str, Value, &str); 26] = [
        ("/version", json!(2), "wrong-version"),
        ("/name", json!("Big Name"), "malformed"),
        ("/nonce", json!("07"), "malformed"),
        ("/time", json!("yesterday"), "malformed"),
        ("/time", json!("2030-01-01T00:00:00.5Z"), "invalid-value"),
        ("/engine", json!("paxos"), "malformed"),
        ("/algorithm", json!("medium"), "malformed"),
        ("/algorithm", json!("slow"), "invalid-value"),
        ("/fast", json!("1/0"), "malformed"),
        ("/fast", json!(0.8), "malformed"),
        ("/fast", json!("1/2"), ""),
        ("/round_timeout", json!("9ms"), "invalid-value"),
        ("/round_timeout", json!("11m"), "invalid-value"),
        ("/round_timeout", json!(2000), "malformed"),
        ("/block_time", json!("1us"), "invalid-value"),
        ("/block_time", json!("1h"), "invalid-value"),
        ("/members", json!([]), "invalid-value"),
        ("/members/1/name", json!("validator-0"), "duplicate-member"),
        ("/members/1/stake", json!("-1"), "malformed"),
        ("/members/1/stake", json!("+1"), "malformed"),
        ("/members/1/stake", json!(1.5), "malformed"),
        ("/members/1/stake", json!(u128::MAX.to_string()), "stake-total"),
        ("/members/1/stake", json!(format!("{}0", u128::MAX)), "malformed"),
        ("/members/1/links", json!("0.0.0.0:7000"), "malformed"),
        ("/members/1/links", json!("127.0.0.1"), "malformed"),
        ("/members/1/registration", json!("00"), "malformed"),
    ];
    for (place, new, code) in changes {
        let mut changed = value.clone();
        *changed.pointer_mut(place).unwrap() = new;
        let error = chain(&changed).unwrap_err();
        assert!(code.is_empty() || error.code() == code, "{place}: {error} ({})", error.code());
        if code == "malformed" {
            let place = place.trim_start_matches('/').replace("/1/", "[1].");
            assert!(error.to_string().contains(&format!("`{place}`")), "{place}: {error}");
        }
    }
}

#[test]
fn no_key_may_be_missing_unknown_or_there_twice() {
    let value = sample();
    for place in ["", "/members/2"] {
        let keys: Vec<_> = value.pointer(place).unwrap().as_object().unwrap().keys().collect();
        for key in keys {
            let mut changed = value.clone();
            changed.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(key);
            assert!(parsed(&changed).is_err(), "{key} is missing");
            let text = serde_json::to_string(value.pointer(place).unwrap()).unwrap();
            let twice =
                format!("{{\"{key}\":{},{}", value.pointer(place).unwrap()[key], &text[1..]);
            let whole = serde_json::to_string(&value).unwrap().replace(&text, &twice);
            let error = Genesis::parse(whole.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("duplicate field"), "{key}: {error}");
        }
        let mut changed = value.clone();
        changed.pointer_mut(place).unwrap()["extra"] = json!(1);
        let error = parsed(&changed).unwrap_err().to_string();
        assert!(error.contains("unknown field `extra`"), "{error}");
    }
    let text = format!("{value}{value}");
    assert!(Genesis::parse(text.as_bytes()).is_err());
}

#[test]
fn stakes_that_add_up_to_nothing_are_refused() {
    let mut value = sample();
    for member in value["members"].as_array_mut().unwrap() {
        member["stake"] = json!(0);
    }
    assert!(matches!(parsed(&value), Err(GenesisError::Total("0"))));
}

#[test]
fn addresses_are_of_one_member_each() {
    for key in ["links", "engine"] {
        let mut value = sample();
        value["members"][3][key] = value["members"][0][key].clone();
        let error = parsed(&value).unwrap_err();
        assert!(
            error.to_string().starts_with("members `validator-0` and `validator-3`"),
            "{error}"
        );
    }
}

#[test]
fn two_members_with_one_key_are_refused_by_name() {
    let mut value = sample();
    value["members"][3]["registration"] = value["members"][1]["registration"].clone();
    let error = chain(&value).unwrap_err();
    assert!(matches!(error, GenesisError::Registration { .. }), "{error:?}");
    assert!(error.to_string().contains("`validator-1` and `validator-3`"), "{error}");
}

#[test]
fn a_changed_digit_of_a_registration_is_refused_or_another_chain() {
    let value = sample();
    let first = chain(&value).unwrap();
    let text = value["members"][2]["registration"].as_str().unwrap().to_owned();
    // The whole of it, in steps that share no factor with the sizes of keys and proofs.
    for place in (0..text.len()).step_by(37).chain([text.len() - 1]) {
        let mut changed = text.clone().into_bytes();
        changed[place] = if changed[place] == b'0' { b'1' } else { b'0' };
        let mut value = value.clone();
        value["members"][2]["registration"] = json!(String::from_utf8(changed).unwrap());
        match chain(&value) {
            Err(error) => assert!(
                [
                    "malformed",
                    "possession-mismatch",
                    "signature-mismatch",
                    "key-halves",
                    "identity"
                ]
                .contains(&error.code())
                    || error.to_string().contains("validator-2"),
                "{place}: {error}"
            ),
            Ok(chain) => assert_ne!(chain, first, "{place}"),
        }
    }
    for end in [text.len() - 2, text.len() - 1] {
        let mut value = value.clone();
        value["members"][2]["registration"] = json!(text[..end]);
        assert!(parsed(&value).is_err());
    }
    let mut value = value;
    value["members"][2]["registration"] = json!(format!("{text}00"));
    assert!(parsed(&value).is_err());
    value["members"][2]["registration"] = json!("0".repeat(5000));
    assert!(parsed(&value).unwrap_err().to_string().contains("5000 letters"));
}

#[test]
fn too_many_members_are_refused_before_their_proofs_are_checked() {
    let mut value = sample();
    let one = value["members"][0].clone();
    let many: Vec<_> = (0..=Genesis::MAX_MEMBERS)
        .map(|number| {
            let mut member = one.clone();
            member["name"] = json!(format!("n{number}"));
            member
        })
        .collect();
    value["members"] = json!(many);
    let error = parsed(&value).unwrap_err();
    assert!(matches!(error, GenesisError::Range { key: "members", .. }), "{error}");
}

/// What is executed, and who has what at the beginning, belongs to the chain.
#[test]
fn accounts_belong_to_the_chain_and_are_there_once() {
    let plain = parsed(&sample()).unwrap();
    let with = |accounts: Value| {
        let mut value: Value = serde_json::from_str(&plain.to_text().unwrap()).unwrap();
        value["execution"] = json!({ "executor": "transfers", "accounts": accounts });
        parsed(&value)
    };
    let account = |byte: &str, balance: u64| json!({ "key": byte.repeat(32), "balance": balance });
    let lists = [
        json!([]),
        json!([account("01", 5)]),
        json!([account("01", 6)]),
        json!([account("02", 5)]),
        json!([account("01", 5), account("02", 5)]),
        json!([account("02", 5), account("01", 5)]),
    ];
    let mut chains = vec![plain.chain()];
    for list in lists {
        let genesis = with(list).unwrap();
        let again = Genesis::parse(genesis.to_text().unwrap().as_bytes()).unwrap();
        assert_eq!(again, genesis);
        assert!(!chains.contains(&genesis.chain()), "{:?}", genesis.execution);
        chains.push(genesis.chain());
    }
    let refused = [
        (json!([account("01", 1), account("01", 1)]), "each account once"),
        (json!([account("01", u64::MAX), account("02", 1)]), "less than 2^64"),
        (json!([{ "key": "01", "balance": 1 }]), "line"),
    ];
    for (list, words) in refused {
        let why = with(list).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
    }
}
