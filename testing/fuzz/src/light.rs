//! What a light client is sent: a typed error, or an object with this one encoding. Nothing is believed that the
//! committee, or the key, of the seeds has not certified.
use std::sync::LazyLock;

use prefinal_crypto_core::bls::min_sig::PublicKey;
use prefinal_light::{
    EpochEnding, KeyProof, KeyVerifier, LightObject, MemberList, StakeProof, StakeVerifier,
    VerifiedBlock, VufEpoch, VufFollower, VufHandover, VufKeys, VufProof, VufVerifier, Waypoint,
};

/// The clients of `chain/light/tests/suite/vectors.rs`, and all that is certified to them.
struct Clients {
    stake: StakeVerifier,
    key: KeyVerifier,
    certified: [VerifiedBlock; 2],
    vuf: VufFollower,
    /// What the committee of `vuf` has signed.
    next: VufEpoch,
    values: VufVerifier,
    /// The value of the one slot that was evaluated.
    proof: VufProof,
}

static CLIENTS: LazyLock<Clients> = LazyLock::new(|| {
    let waypoint = Waypoint::from_wire(include_bytes!("../seeds/light/waypoint")).expect("seed");
    let members = MemberList::from_wire(include_bytes!("../seeds/light/members")).expect("seed");
    let proof = StakeProof::from_wire(include_bytes!("../seeds/light/stake-proof")).expect("seed");
    let vectors = include_str!("../../../chain/light/tests/vectors/light.json");
    let vectors: serde_json::Value = serde_json::from_str(vectors).expect("JSON");
    let key = hex::decode(vectors["group_key"].as_str().expect("text")).expect("hex");
    let key = PublicKey::from_bytes(&key).expect("a key");
    let epoch = VufEpoch::from_wire(include_bytes!("../seeds/light/vuf-epoch")).expect("seed");
    let keys = VufKeys::from_wire(include_bytes!("../seeds/light/vuf-keys")).expect("seed");
    let proof_of_value =
        VufProof::from_wire(include_bytes!("../seeds/light/vuf-proof")).expect("seed");
    let handover = include_bytes!("../seeds/light/vuf-handover");
    let handover = VufHandover::from_wire(handover).expect("seed");
    let of_vuf = hex::decode(vectors["vuf"]["members"].as_str().expect("text")).expect("hex");
    let of_vuf = MemberList::from_wire(&of_vuf).expect("members");
    let vuf = VufFollower::new(&epoch.id(), &epoch, &of_vuf).expect("a committee");
    let mut next = vuf.clone();
    next.advance(&handover).expect("signed");
    let values = VufVerifier::new(&epoch, &keys).expect("the keys of the epoch");
    let stake = StakeVerifier::new(&waypoint, &members).expect("a committee");
    let announcing = stake.verify(&proof.endings[0].block).expect("certified");
    let last = stake.clone().verify_proof(&proof).expect("certified");
    let key = KeyVerifier::new(waypoint.chain, key);
    let (certified, next, proof) = ([announcing, last], next.epoch(), proof_of_value);
    Clients { stake, key, certified, vuf, next, values, proof }
});

pub(crate) fn run(data: &[u8]) {
    match data {
        [1, Waypoint::KIND, ..] => drop(read::<Waypoint>(data)),
        [1, MemberList::KIND, ..] => drop(read::<MemberList>(data)),
        [1, EpochEnding::KIND, ..] => {
            let Some(ending) = read::<EpochEnding>(data) else { return };
            let mut client = CLIENTS.stake.clone();
            if client.advance(&ending).is_ok() {
                let proof = include_bytes!("../seeds/light/stake-proof");
                let proof = StakeProof::from_wire(proof).expect("seed");
                client.verify(&proof.block).expect("the announced committee, and no other");
            }
        }
        [1, StakeProof::KIND, ..] => {
            let Some(proof) = read::<StakeProof>(data) else { return };
            if let Ok(block) = CLIENTS.stake.clone().verify_proof(&proof) {
                assert!(CLIENTS.certified.contains(&block));
            }
        }
        [1, KeyProof::KIND, ..] => {
            let Some(proof) = read::<KeyProof>(data) else { return };
            if let Ok(block) = CLIENTS.key.verify_proof(&proof) {
                assert_eq!(block, CLIENTS.certified[1]);
            }
        }
        [1, VufEpoch::KIND, ..] => drop(read::<VufEpoch>(data)),
        [1, VufKeys::KIND, ..] => {
            let Some(keys) = read::<VufKeys>(data) else { return };
            let epoch = CLIENTS.vuf.epoch();
            if VufVerifier::new(&epoch, &keys).is_ok() {
                assert_eq!(keys.digest(), epoch.key);
            }
        }
        [1, VufHandover::KIND, ..] => {
            let Some(handover) = read::<VufHandover>(data) else { return };
            let mut client = CLIENTS.vuf.clone();
            if client.advance(&handover).is_ok() {
                assert_eq!(client.epoch(), CLIENTS.next);
            }
        }
        [1, VufProof::KIND, ..] => {
            let Some(proof) = read::<VufProof>(data) else { return };
            if CLIENTS.values.verify(&proof).is_ok() {
                assert_eq!(proof.slot, CLIENTS.proof.slot);
            }
        }
        _ => {
            assert!(Waypoint::from_wire(data).is_err());
            assert!(StakeProof::from_wire(data).is_err());
        }
    }
}

fn read<T: LightObject>(data: &[u8]) -> Option<T> {
    let read = T::from_wire(data).ok()?;
    assert_eq!(read.to_wire(), data);
    Some(read)
}
