//! What `verify` says of files in which something was changed.
use std::fs;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::{Folder, SEVEN, complaint, devnet, prefinal, refused, text, utf8};

/// What devnets with both paths wrote, once for all tests.
static CHRONICLE: LazyLock<Value> = LazyLock::new(|| written("wvuf"));
static ROUNDS: LazyLock<Value> = LazyLock::new(|| written("bls"));

fn written(scheme: &str) -> Value {
    let folder = Folder::new();
    let (file, _) = devnet(&folder, scheme, "fast");
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// Changes the weighted VUF's file and gives what `verify` says with this exit code.
fn verify_changed(change: impl FnOnce(&mut Value), code: i32) -> String {
    verify_changed_of(&CHRONICLE, change, code)
}

fn verify_changed_of(original: &Value, change: impl FnOnce(&mut Value), code: i32) -> String {
    let folder = Folder::new();
    let mut chronicle = original.clone();
    change(&mut chronicle);
    assert_ne!(chronicle, *original, "something is changed");
    let file = folder.file("changed.json", serde_json::to_vec(&chronicle).unwrap());
    let said = complaint(&["verify", utf8(&file)], code);
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(code == 1 || said.contains("changed.json"), "{said}");
    said
}

fn swap(map: &mut Value, one: &str, other: &str) {
    let first = map[one].clone();
    map[one] = std::mem::replace(&mut map[other], first);
}

/// Two who have a partial in this slot.
fn two_of(slot: &Value) -> [String; 2] {
    let partials = slot["partials"].as_object().unwrap();
    let mut parties = partials.keys().cloned();
    [parties.next().unwrap(), parties.next().unwrap()]
}

/// Somebody who has a partial in the last slot, and what it sent in another.
fn of_another_slot(chronicle: &Value) -> (String, Value) {
    let (last, others) = chronicle["slots"].as_array().unwrap().split_last().unwrap();
    let mut others = others.iter().filter_map(|slot| slot["partials"].as_object()).flatten();
    let (party, partial) = others.find(|(party, _)| last["partials"].get(party).is_some()).unwrap();
    (party.clone(), partial.clone())
}

fn flip(text: &mut Value) {
    let mut digits = text.as_str().unwrap().to_owned();
    let last = if digits.ends_with('0') { "1" } else { "0" };
    digits.replace_range(digits.len() - 1.., last);
    *text = Value::String(digits);
}

fn last(chronicle: &mut Value) -> &mut Value {
    chronicle["slots"].as_array_mut().unwrap().last_mut().unwrap()
}

#[test]
fn a_changed_file_does_not_verify() {
    let number = last(&mut CHRONICLE.clone())["slot"].as_u64().unwrap();
    let named = |said: String| assert!(said.contains(&format!("slot {number}")), "{said}");
    named(verify_changed(|file| flip(&mut last(file)["randomness"]), 1));
    named(verify_changed(
        |file| {
            let [one, other] = two_of(last(file));
            swap(&mut last(file)["partials"], &one, &other);
        },
        1,
    ));
    named(verify_changed(
        |file| {
            let (one, other) = of_another_slot(file);
            last(file)["partials"][one] = other;
        },
        1,
    ));
    // Too few partials.
    named(verify_changed(
        |file| {
            let [one, _] = two_of(last(file));
            let own = last(file)["partials"][&one].clone();
            last(file)["partials"] = json!({ one: own });
        },
        1,
    ));
    // Somebody who is not there.
    named(verify_changed(
        |file| {
            let [one, _] = two_of(last(file));
            let own = last(file)["partials"][&one].clone();
            last(file)["partials"]["99"] = own;
        },
        1,
    ));
    let other = number + 1000;
    let said = verify_changed(|file| last(file)["slot"] = json!(other), 1);
    assert!(said.contains(&format!("slot {other}")), "{said}");
    // Partials of one path under the keys of the other.
    named(verify_changed(
        |file| {
            let path = &mut last(file)["path"];
            *path = json!(if *path == json!("fast") { "slow" } else { "fast" });
        },
        1,
    ));
}

#[test]
fn a_changed_round_does_not_verify() {
    let rounds = ROUNDS["rounds"].as_array().unwrap().clone();
    let number = rounds[1]["round"].as_u64().unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let said = verify_changed_of(&ROUNDS, |file| change(&mut file["rounds"][1]), 1);
        assert!(said.contains(&format!("round {number}")), "{said}");
    };
    changed(&|round| flip(&mut round["randomness"]));
    changed(&|round| round["signature"] = rounds[0]["signature"].clone());
    // A round is what its signature says, whatever value is stated.
    changed(&|round| {
        round["signature"] = rounds[0]["signature"].clone();
        round["randomness"] = rounds[0]["randomness"].clone();
    });
    let other = number + 1000;
    let moved = |file: &mut Value| {
        file["rounds"].as_array_mut().unwrap().last_mut().unwrap()["round"] = json!(other);
    };
    let said = verify_changed_of(&ROUNDS, moved, 1);
    assert!(said.contains(&format!("round {other}")), "{said}");
    let zero = |file: &mut Value| file["rounds"][0]["round"] = json!(0);
    assert!(verify_changed_of(&ROUNDS, zero, 1).contains("count from one"));
    // Another committee's key.
    let key = "81".to_owned() + &"00".repeat(95);
    verify_changed_of(&ROUNDS, |file| file["public_key"] = json!(key), 2);
    let generator = "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8";
    verify_changed_of(&ROUNDS, |file| file["public_key"] = json!(generator), 1);
}

/// They would verify, for nothing in them is false; and a slot would count twice.
#[test]
fn files_of_nothing_and_slots_that_stand_twice_are_bad_input() {
    let list = |file: &mut Value, of: &str| file[of].as_array_mut().unwrap().clone();
    for (original, of) in [(&*CHRONICLE, "slots"), (&*ROUNDS, "rounds")] {
        let said = verify_changed_of(original, |file| file[of] = json!([]), 2);
        assert!(said.contains("no slots"), "{said}");
        let twice = |file: &mut Value| {
            let slots = list(file, of);
            file[of] = json!([&slots[..1], &slots].concat());
        };
        assert!(verify_changed_of(original, twice, 2).contains("each once"));
        let turned = |file: &mut Value| file[of] = list(file, of).into_iter().rev().collect();
        assert!(verify_changed_of(original, turned, 2).contains("in order"));
    }
    let nobody = |file: &mut Value| {
        file["evaluators"]["weights"] = json!([]);
        file["slots"] = json!([]);
    };
    assert!(verify_changed(nobody, 2).contains("no parties"));
}

#[test]
fn a_malformed_file_of_rounds_is_bad_input() {
    let changed = |change: fn(&mut Value)| verify_changed_of(&ROUNDS, change, 2);
    changed(|file| file["scheme"] = json!("bls"));
    changed(|file| file["scheme"] = json!("prefinal-wvuf"));
    changed(|file| drop(file.as_object_mut().unwrap().remove("scheme")));
    changed(|file| file["more"] = json!(1));
    changed(|file| file["rounds"][0]["more"] = json!(1));
    changed(|file| file["rounds"][0]["signature"] = json!("zz"));
    changed(|file| file["rounds"][0]["signature"] = json!("c0".to_owned() + &"00".repeat(47)));
    changed(|file| file["rounds"][0]["round"] = json!(-1));
}

#[test]
fn a_file_of_changed_keys_does_not_verify() {
    for path in ["slow", "fast"] {
        let said = verify_changed(
            |file| {
                let shares = &mut file["evaluators"][path]["public_shares"];
                let shares = shares.as_array_mut().unwrap();
                shares.swap(0, 1);
            },
            1,
        );
        assert!(said.contains(path), "{said}");
        verify_changed(|file| swap(&mut file["evaluators"][path]["blinded"], "0", "1"), 1);
    }
    verify_changed(|file| swap(&mut file["evaluators"], "slow", "fast"), 1);
    verify_changed(|file| file["evaluators"]["fast"] = Value::Null, 1);
    verify_changed(|file| file["evaluators"]["weights"][0] = json!(1), 1);
    verify_changed(|file| file["evaluators"]["weights"][0] = json!(u32::MAX), 1);
    verify_changed(|file| file["epoch"] = json!(7), 1);
    verify_changed(|file| flip(&mut file["chain"]), 1);
}

#[test]
fn a_changed_threshold_does_not_verify() {
    for path in ["slow", "fast"] {
        let raised = |file: &mut Value| file["evaluators"][path]["threshold"] = json!(10_000);
        let said = verify_changed(raised, 1);
        assert!(said.contains("10000"), "{said}");
    }
}

/// With a threshold of one, one partial would make a value. The parties proved that they know their factors
/// for another committee, and it is of another key.
#[test]
fn a_lowered_threshold_makes_another_key() {
    let folder = Folder::new();
    let honest = folder.file("honest.json", serde_json::to_vec(&*CHRONICLE).unwrap());
    let said = text(&prefinal(["verify", utf8(&honest)]).stdout);
    let expected = said.trim().rsplit(' ').next().unwrap();
    let mut forged = CHRONICLE.clone();
    for path in ["slow", "fast"] {
        forged["evaluators"][path]["threshold"] = json!(1);
    }
    let [one, _] = two_of(last(&mut forged));
    let own = last(&mut forged)["partials"][&one].clone();
    last(&mut forged)["partials"] = json!({ one: own });
    let file = folder.file("forged.json", serde_json::to_vec(&forged).unwrap());
    let said = complaint(&["verify", utf8(&file)], 1);
    assert!(said.contains("keys of the slow path"), "{said}");
    let said = complaint(&["verify", utf8(&file), "--key", expected], 1);
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_malformed_file_is_bad_input() {
    let changed = |change: fn(&mut Value)| verify_changed(change, 2);
    changed(|file| last(file)["partials"] = json!({ "0": "zz" }));
    changed(|file| last(file)["partials"] = json!({ "0": "00" }));
    changed(|file| last(file)["partials"] = json!({ "nobody": "00" }));
    changed(|file| last(file)["path"] = json!("sideways"));
    changed(|file| last(file)["slot"] = json!(-1));
    changed(|file| file["more"] = json!(1));
    changed(|file| file["scheme"] = json!("bls-unchained-g1-rfc9380"));
    changed(|file| drop(file.as_object_mut().unwrap().remove("chain")));
    changed(|file| file["chain"] = json!("00"));
    changed(|file| file["evaluators"]["weights"][0] = json!(-1));
    changed(|file| file["evaluators"]["weights"][0] = json!(1_u64 << 32));
    let folder = Folder::new();
    let whole = serde_json::to_vec(&*CHRONICLE).unwrap();
    let half = &whole[..whole.len() / 2];
    let longer = [&whole[..], b" {}"].concat();
    let cases: [(&str, &[u8]); 6] = [
        ("nothing.json", b""),
        ("half.json", half),
        ("longer.json", &longer),
        ("list.json", b"[]"),
        ("binary.json", b"\x00\xff\x7fELF"),
        ("table.json", SEVEN.as_bytes()),
    ];
    for (name, content) in cases {
        let file = folder.file(name, content);
        refused(&["verify", utf8(&file)], &[name, "line"]);
    }
}

#[test]
fn a_changed_point_is_either_no_point_or_does_not_verify() {
    for spoil in [
        |file: &mut Value| {
            let [one, _] = two_of(last(file));
            flip(&mut last(file)["partials"][one]);
        },
        |file: &mut Value| flip(&mut file["evaluators"]["slow"]["public_shares"][0]),
        |file: &mut Value| flip(&mut file["evaluators"]["fast"]["blinded"]["0"]),
    ] {
        let folder = Folder::new();
        let mut chronicle = CHRONICLE.clone();
        spoil(&mut chronicle);
        let file = folder.file("changed.json", serde_json::to_vec(&chronicle).unwrap());
        let output = prefinal(["verify", utf8(&file)]);
        let said = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{said}");
        assert!(!said.contains("panicked") && said.trim_end().lines().count() == 1, "{said}");
    }
}
