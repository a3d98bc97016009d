//! A devnet with a weighted VUF, read by somebody who has pinned its first epoch and believes the server nothing.
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::certificate::{CertificateError, Signers};
use prefinal_light::{
    EndingError, LightObject, MemberList, TrustError, VufEpoch, VufFollower, VufHandover, VufKeys,
    VufKeysError, VufProof, VufValueError, VufVerifier,
};
use prefinal_protocol::Slot;
use serde_json::Value;

use crate::client::{ask, get, json};
use crate::devnet::Devnet;
use crate::stream::Follower;

const PATIENCE: Duration = Duration::from_secs(120);

fn object<T: LightObject>(json: &Value, name: &str) -> T {
    T::from_wire(&hex::decode(json[name].as_str().unwrap()).unwrap()).unwrap()
}

/// The answer, as soon as there is one that will do.
fn await_json(address: SocketAddr, path: &str, will_do: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let reply = get(address, path);
        if reply.status == 200 {
            let json: Value = serde_json::from_str(&reply.body).unwrap();
            if will_do(&json) {
                return json;
            }
        }
        assert!(began.elapsed() < PATIENCE, "{path}: {} {}", reply.status, reply.body);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// An epoch as it is served.
struct Served {
    pin: [u8; 32],
    epoch: VufEpoch,
    members: MemberList,
    keys: VufKeys,
    handover: Option<VufHandover>,
}

impl Served {
    /// With the keys of all parties that hold shares.
    fn read(address: SocketAddr, epoch: u64) -> Self {
        let json = await_json(address, &format!("/vuf/epochs/{epoch}"), |json| {
            let keys: VufKeys = object(json, "keys");
            let holders = keys.weights.iter().filter(|weight| **weight > 0).count();
            keys.slow.blinded.len() == holders && (epoch == 0 || !json["handover"].is_null())
        });
        let handover = json.get("handover").filter(|handover| !handover.is_null());
        assert_eq!(handover.is_some(), epoch > 0);
        let mut pin = [0; 32];
        hex::decode_to_slice(json["pin"].as_str().unwrap(), &mut pin).unwrap();
        let keys: VufKeys = object(&json, "keys");
        assert_eq!(json["weights"], serde_json::json!(keys.weights));
        let members: MemberList = object(&json, "members");
        let stakes = members.members.iter().map(|member| member.stake.to_string());
        assert_eq!(json["stakes"], serde_json::json!(stakes.collect::<Vec<_>>()));
        assert_eq!(json["slow"], keys.slow.threshold);
        assert_eq!(json["fast"].as_u64(), keys.fast.as_ref().map(|fast| fast.threshold.into()));
        Self {
            pin,
            epoch: object(&json, "vuf_epoch"),
            members,
            handover: handover.map(|_| object(&json, "handover")),
            keys,
        }
    }
}

/// A value of this slot or a later one.
fn value(address: SocketAddr, from: u64) -> (VufProof, Value) {
    let slot = |json: &Value| json["slot"].as_u64().unwrap();
    let newest = await_json(address, "/vuf/values/latest", |json| slot(json) >= from);
    (object(&newest, "proof"), newest)
}

fn check(verifier: &VufVerifier, (proof, said): &(VufProof, Value)) {
    let output = verifier.verify(proof).unwrap();
    assert_eq!(said["randomness"], hex::encode(output.randomness()));
    assert_eq!(said["slot"], proof.slot.get());
    assert_eq!(said["epoch"], proof.epoch.get());
    assert_eq!(said["parties"].as_array().unwrap().len(), proof.partials.len());
}

fn start(more: &[&str]) -> Devnet {
    Devnet::start(&[&["--scheme", "wvuf"], more].concat())
}

#[test]
fn a_pin_of_the_first_epoch_verifies_values_of_it_and_of_the_epochs_that_follow() {
    // At tight thresholds each party holds one share, and three of four make a value.
    let changes = ["--epochs", "3", "--join", "1", "--leave", "1", "--slots", "45"];
    let devnet = start(&[&changes[..], &["--path", "tight"]].concat());
    let address = devnet.address;
    let mut stream = Follower::new(address, None);
    let now = Served::read(address, 0);
    // In earnest the pin comes from somebody who is trusted.
    let mut follower = VufFollower::new(&now.pin, &now.epoch, &now.members).unwrap();
    let verifier = VufVerifier::new(&follower.epoch(), &now.keys).unwrap();
    let first = value(address, 0);
    check(&verifier, &first);

    let next = Served::read(address, 1);
    let handover = next.handover.clone().unwrap();
    attacks(&now, &next, &first.0);
    follower.advance(&handover).unwrap();
    assert_eq!((follower.epoch(), follower.epoch().id()), (next.epoch, next.pin));
    assert_ne!(next.epoch.key, now.epoch.key, "group elements cannot be dealt on");
    let verifier = VufVerifier::new(&follower.epoch(), &next.keys).unwrap();
    let later = value(address, next.epoch.waypoint.epoch.first.get());
    // The second epoch may be over by now.
    if later.0.epoch.get() == 1 {
        check(&verifier, &later);
    }
    let third = Served::read(address, 2);
    follower.advance(third.handover.as_ref().unwrap()).unwrap();
    let verifier = VufVerifier::new(&follower.epoch(), &third.keys).unwrap();
    check(&verifier, &value(address, third.epoch.waypoint.epoch.first.get()));

    // Each slot by its number; and the list leads to the epochs.
    let slot = first.0.slot.get();
    assert_eq!(json(address, &format!("/vuf/values/{slot}")), first.1);
    let listed = json(address, "/vuf/epochs");
    let (kind, info) = stream.next().unwrap();
    assert_eq!((kind.as_str(), &info), ("info", &listed[0]));
    let pins: Vec<&Value> = listed.as_array().unwrap().iter().map(|one| &one["pin"]).collect();
    assert_eq!(pins, [now.pin, next.pin, third.pin].map(hex::encode).each_ref());
    follow(&mut stream, &now, &next);
}

/// Values come one after the other, with what verifies them, over the end of an epoch.
fn follow(stream: &mut Follower, now: &Served, next: &Served) {
    let verifier = VufVerifier::new(&now.epoch, &now.keys).unwrap();
    let (first, end) = (now.epoch.waypoint.epoch.first, next.epoch.waypoint.epoch.first);
    for slot in first.get()..end.get() {
        let told = stream.value();
        let proof: VufProof = object(&told, "proof");
        let output = verifier.verify(&proof).unwrap();
        assert_eq!(told["value"], hex::encode(output.randomness()));
        let numbers = [&told["slot"], &told["epoch"]].map(|number| number.as_u64().unwrap());
        assert_eq!(numbers, [slot, 0]);
        assert_eq!(proof.slot.get(), slot);
        assert!(told["waits"].is_object());
    }
    assert_eq!(stream.value()["epoch"], 1);
}

/// What a server could put in the place of what it has.
fn attacks(now: &Served, next: &Served, proof: &VufProof) {
    // Its own key, with everything that belongs to it.
    let refused = VufFollower::new(&now.pin, &next.epoch, &next.members).map(drop);
    assert_eq!(refused, Err(TrustError::Pin));
    let follower = VufFollower::new(&now.pin, &now.epoch, &now.members).unwrap();
    let refused = |keys: &VufKeys| VufVerifier::new(&follower.epoch(), keys).map(drop).unwrap_err();
    // The keys of another epoch; those of the old one for the new one.
    assert_eq!(refused(&next.keys), VufKeysError::Digest);
    let mut ahead = follower.clone();
    ahead.advance(next.handover.as_ref().unwrap()).unwrap();
    let old = VufVerifier::new(&ahead.epoch(), &now.keys).map(drop);
    assert_eq!(old, Err(VufKeysError::Digest));
    // A handover to the key that the server likes.
    let forged = VufHandover { key: now.epoch.key, ..next.handover.clone().unwrap() };
    let refused_handover = follower.clone().advance(&forged);
    assert!(matches!(refused_handover, Err(EndingError::Handover(_))), "{refused_handover:?}");
    // Signed by one member, who holds less than a quorum.
    let mut few = next.handover.clone().unwrap();
    few.certificate.signers = Signers::new(now.members.members.len(), [Party::new(0)]).unwrap();
    let refused_handover = follower.clone().advance(&few);
    let is_few = |error: &EndingError| {
        matches!(error, EndingError::Handover(CertificateError::BelowQuorum { .. }))
    };
    assert!(refused_handover.as_ref().is_err_and(is_few), "{refused_handover:?}");
    // A party's blinded key under another's name, and two that change places.
    let (one, two) = (Party::new(0), Party::new(1));
    let mut forged = now.keys.clone();
    let key = forged.slow.blinded[&one].clone();
    forged.slow.blinded.insert(two, key);
    let refusal = refused(&forged);
    assert!(matches!(refusal, VufKeysError::Blinded { party, .. } if party == two), "{refusal}");
    // Partials of another slot, and those of other parties.
    let verifier = VufVerifier::new(&follower.epoch(), &now.keys).unwrap();
    let moved = VufProof { slot: Slot::new(proof.slot.get() + 1), ..proof.clone() };
    let refused = verifier.verify(&moved).unwrap_err();
    assert_eq!(refused.code(), "faulty");
    let mut swapped = proof.clone();
    let parties: Vec<Party> = swapped.partials.keys().copied().collect();
    let (first, second) = (swapped.partials[&parties[0]], swapped.partials[&parties[1]]);
    swapped.partials.extend([(parties[0], second), (parties[1], first)]);
    let refused = verifier.verify(&swapped).unwrap_err();
    assert!(matches!(refused, VufValueError::Partials(_)), "{refused}");
}

#[test]
fn what_is_not_there_is_refused_in_words() {
    let devnet = start(&[]);
    let address = devnet.address;
    // The committee makes its key, which takes more than a second.
    let early = get(address, "/vuf/values/latest");
    assert_eq!((early.status, early.headers["retry-after"].as_str()), (503, "1"));
    assert_eq!(get(address, "/vuf/epochs/latest").status, 503);
    assert_eq!(json(address, "/vuf/epochs"), serde_json::json!([]));
    let newest = value(address, 0);
    let served = Served::read(address, 0);
    let verifier = VufVerifier::new(&served.epoch, &served.keys).unwrap();
    check(&verifier, &newest);
    assert!(served.keys.fast.is_some());
    let slot = newest.0.slot.get();
    let path = format!("/vuf/values/{slot}");
    let reply = get(address, &path);
    assert_eq!(reply.headers["content-type"], "application/json");
    assert_eq!(reply.headers["access-control-allow-origin"], "*");
    assert_eq!(reply.headers["cache-control"], "no-cache");
    assert_eq!(ask(address, &path, &[("If-None-Match", &reply.headers["etag"])]).status, 304);
    assert_eq!(get(address, "/vuf/values/1").status, 404);
    assert_eq!(get(address, "/vuf/values/999999").status, 404);
    assert_eq!(get(address, "/vuf/epochs/1").status, 404);
    for path in
        ["/vuf/values/-1", "/vuf/values/+1", "/vuf/epochs/x", "/vuf/epochs/18446744073709551616"]
    {
        let reply = get(address, path);
        assert_eq!(reply.status, 400, "{path}");
        assert!(reply.body.ends_with(": expected a number, or latest\n"), "{}", reply.body);
    }
    // drand's paths are those of another scheme.
    let other = get(address, "/info");
    assert_eq!(other.status, 404);
    assert!(other.body.contains("GET /vuf/values/{slot}"), "{}", other.body);
    assert_eq!(get(address, "/").status, 200);
}

#[test]
fn a_devnet_with_the_vuf_keeps_no_values_for_later_runs_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journals");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prefinal"));
    command.args(["devnet", "--scheme", "wvuf", "--http", "localhost:0", "--no-page"]);
    command.args(["--parties", "4", "--journal"]).arg(&journal);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("keeps no values for later runs: leave out --journal"), "{said}");
    assert!(!output.status.success() && !journal.exists());
}
