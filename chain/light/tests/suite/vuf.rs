//! A weighted VUF from outside: what a pin leads to, and what a server could put in the place of it.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{MinSig, SignatureError};
use prefinal_crypto_core::certificate::Signers;
use prefinal_crypto_core::certificate::{Certificate, CertificateError, Elector, Electorate};
use prefinal_crypto_core::wvuf::{AdmitError, Input, PartialError, QuorumError};
use prefinal_fixture::WvufSharing;
use prefinal_light::{
    EndingError, EpochRow, LightObject, MemberList, TrustError, VufEpoch, VufFollower, VufHandover,
    VufKeys, VufKeysError, VufPath, VufProof, VufValueError, VufVerifier, Waypoint,
};
use prefinal_protocol::{ChainId, Context, EpochId, Slot};
use serde_json::{Value, json};

use crate::chain::{CHAIN, member, secret};

/// One epoch, with all its secrets.
pub(crate) struct Term {
    number: u64,
    first: u64,
    members: MemberList,
    slow: WvufSharing,
    fast: WvufSharing,
}

impl Term {
    fn new(number: u64, weights: &[u32], (slow, fast): (u32, u32)) -> Self {
        let members = (0..weights.len() as u64).map(|one| member(one, 10)).collect();
        let (slow, fast) = (WvufSharing::deal(weights, slow), WvufSharing::deal(weights, fast));
        Self { number, first: 9 + 100 * number, members: MemberList { members }, slow, fast }
    }

    fn keys(&self) -> VufKeys {
        VufKeys::new(&self.slow.committee, Some(&self.fast.committee))
    }

    fn epoch(&self) -> VufEpoch {
        let (epoch, first) = (EpochId::new(self.number), Slot::new(self.first));
        let row = EpochRow::new(epoch, first, &self.members);
        VufEpoch { waypoint: Waypoint { chain: CHAIN, epoch: row }, key: self.keys().digest() }
    }

    fn verifier(&self) -> VufVerifier {
        VufVerifier::new(&self.epoch(), &self.keys()).unwrap()
    }

    fn follower(&self) -> VufFollower {
        VufFollower::new(&self.epoch().id(), &self.epoch(), &self.members).unwrap()
    }

    fn proof(&self, slot: u64, path: VufPath, parties: &[u32]) -> VufProof {
        let (epoch, slot) = (EpochId::new(self.number), Slot::new(slot));
        let input = Input::new(&Context { chain: CHAIN, epoch }, slot, None);
        let keys = match path {
            VufPath::Slow => &self.slow.keys,
            VufPath::Fast => &self.fast.keys,
        };
        let parties = parties.iter().map(|party| Party::new(*party));
        let partials = parties.map(|party| (party, keys[&party].evaluate(&input))).collect();
        VufProof { epoch, slot, path, partials }
    }

    /// What these members of this epoch sign of that one.
    fn handover(&self, next: &Self, signers: &[u32]) -> VufHandover {
        self.handover_of(&next.epoch(), next, signers)
    }

    fn handover_of(&self, signed: &VufEpoch, next: &Self, signers: &[u32]) -> VufHandover {
        let message = signed.to_bytes();
        let votes = signers.iter().map(|number| {
            (Party::new(*number), secret(u64::from(*number)).sign(VufEpoch::DOMAIN, &message))
        });
        let votes: BTreeMap<_, _> = votes.collect();
        let electors = self.members.members.iter().map(|member| {
            let key = member.key.verify_possession(&member.possession).unwrap();
            Elector { key, stake: member.stake }
        });
        let one = Electorate::<MinSig>::with_quorum(electors.collect(), 1).unwrap();
        let certificate = Certificate::assemble(&one, VufEpoch::DOMAIN, &message, &votes);
        VufHandover {
            first: Slot::new(next.first),
            changes: self.members.changes_to(&next.members).unwrap(),
            key: next.keys().digest(),
            certificate: certificate.unwrap().into_inner(),
        }
    }
}

/// Two epochs of a chain: one more party joins, and the key is another one.
fn terms() -> (Term, Term) {
    (Term::new(0, &[2, 1, 1, 1], (3, 4)), Term::new(1, &[1, 2, 1, 1, 1], (3, 5)))
}

/// An object of each kind.
pub(crate) struct VufSamples {
    pub(crate) epoch: VufEpoch,
    pub(crate) keys: VufKeys,
    pub(crate) handover: VufHandover,
    pub(crate) proof: VufProof,
    members: MemberList,
    next: VufKeys,
    next_proof: VufProof,
    forgeries: Vec<Forgery>,
}

/// What a server could put in the place of the truth, with the call of a reader in the first epoch that refuses it.
enum Forgery {
    Advance(&'static str, VufHandover),
    Admit(&'static str, VufKeys),
    Verify(&'static str, VufProof),
}

impl Forgery {
    fn all(now: &Term, next: &Term) -> Vec<Self> {
        let good = now.handover(next, &[0, 1, 3]);
        let mut padded = now.handover(next, &[0, 1]);
        padded.certificate.signers = Signers::new(4, [0, 1, 3].map(Party::new)).unwrap();
        let mut foreign = next.epoch();
        foreign.waypoint.chain = ChainId::new([8; 32]);
        let foreign = now.handover_of(&foreign, next, &[0, 1, 3]);
        let mut lighter = now.keys();
        lighter.slow.threshold = 1;
        let mut other_path = now.keys();
        let fast = other_path.fast.as_ref().unwrap().blinded[&Party::new(2)].clone();
        other_path.slow.blinded.insert(Party::new(2), fast);
        let mut keys = now.keys();
        swap(&mut keys.slow.blinded, 2, 3);
        let mut partials = now.proof(12, VufPath::Slow, &[0, 2, 3]);
        swap(&mut partials.partials, 2, 3);
        let moved = VufProof { slot: Slot::new(13), ..now.proof(12, VufPath::Slow, &[0, 1]) };
        let later = next.proof(110, VufPath::Slow, &[0, 1]);
        let renamed = VufProof { epoch: EpochId::new(0), ..later.clone() };
        let relabelled =
            VufProof { path: VufPath::Fast, ..now.proof(12, VufPath::Slow, &[0, 1, 2]) };
        vec![
            Self::Advance("signed by half of the stake", now.handover(next, &[0, 1])),
            Self::Advance("said to be signed by one more", padded),
            Self::Advance(
                "to the key that there is",
                VufHandover { key: now.keys().digest(), ..good.clone() },
            ),
            Self::Advance("from another slot on", VufHandover { first: Slot::new(50), ..good }),
            Self::Advance("of another chain", foreign),
            Self::Admit("keys of the next epoch", next.keys()),
            Self::Admit("a threshold of one", lighter),
            Self::Admit("a key of the other path", other_path),
            Self::Admit("keys of two parties, swapped", keys),
            Self::Verify("a value of another slot", moved),
            Self::Verify("a value of the next epoch", later),
            Self::Verify("the same, said to be of this one", renamed),
            Self::Verify("a value of the other path", relabelled),
            Self::Verify("partials of two parties, swapped", partials),
            Self::Verify("too few partials", now.proof(12, VufPath::Slow, &[2, 3])),
            Self::Verify("a value from before the epoch", now.proof(8, VufPath::Slow, &[0, 1])),
        ]
    }

    fn to_json(&self, samples: &VufSamples) -> Value {
        let follower = VufFollower::new(&samples.epoch.id(), &samples.epoch, &samples.members);
        let (mut follower, epoch) = (follower.unwrap(), samples.epoch);
        let (call, what, data, code) = match self {
            Self::Advance(what, handover) => {
                let refused = follower.advance(handover).unwrap_err();
                ("advance", what, handover.to_wire(), refused.code())
            }
            Self::Admit(what, keys) => {
                let refused = VufVerifier::new(&epoch, keys).map(drop).unwrap_err();
                ("admit", what, keys.to_wire(), refused.code())
            }
            Self::Verify(what, proof) => {
                let verifier = VufVerifier::new(&epoch, &samples.keys).unwrap();
                let refused = verifier.verify(proof).unwrap_err();
                ("verify", what, proof.to_wire(), refused.code())
            }
        };
        json!({ "call": call, "what": what, "data": hex::encode(data), "code": code })
    }
}

/// What two parties have published changes places.
fn swap<T: Clone>(map: &mut BTreeMap<Party, T>, one: u32, other: u32) {
    let [one, other] = [one, other].map(Party::new);
    let (first, second) = (map[&one].clone(), map[&other].clone());
    map.extend([(one, second), (other, first)]);
}

impl VufSamples {
    pub(crate) fn new() -> Self {
        let (now, next) = terms();
        Self {
            epoch: now.epoch(),
            keys: now.keys(),
            handover: now.handover(&next, &[0, 1, 3]),
            proof: now.proof(12, VufPath::Fast, &[0, 1, 2]),
            members: now.members.clone(),
            next: next.keys(),
            next_proof: next.proof(110, VufPath::Slow, &[1, 4]),
            forgeries: Forgery::all(&now, &next),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut follower = VufFollower::new(&self.epoch.id(), &self.epoch, &self.members).unwrap();
        let value = |epoch: &VufEpoch, keys, proof| {
            let output = VufVerifier::new(epoch, keys).unwrap().verify(proof).unwrap();
            hex::encode(output.randomness())
        };
        let first = value(&self.epoch, &self.keys, &self.proof);
        // As long as a party is late, whose partial is in the proof.
        let mut early = self.keys.clone();
        early.fast.as_mut().unwrap().blinded.remove(&Party::new(1)).unwrap();
        let missing = VufVerifier::new(&self.epoch, &early).unwrap().verify(&self.proof);
        assert_eq!(missing.unwrap_err().code(), "not-admitted");
        follower.advance(&self.handover).unwrap();
        let second = value(&follower.epoch(), &self.next, &self.next_proof);
        json!({
            "pin": hex::encode(self.epoch.id()),
            "epoch": hex::encode(self.epoch.to_wire()),
            "members": hex::encode(self.members.to_wire()),
            "early_keys": hex::encode(early.to_wire()),
            "keys": hex::encode(self.keys.to_wire()),
            "proof": hex::encode(self.proof.to_wire()),
            "slot": self.proof.slot.get(),
            "randomness": first,
            "handover": hex::encode(self.handover.to_wire()),
            "next": {
                "pin": hex::encode(follower.epoch().id()),
                "keys": hex::encode(self.next.to_wire()),
                "proof": hex::encode(self.next_proof.to_wire()),
                "slot": self.next_proof.slot.get(),
                "randomness": second,
            },
            "refused": self.forgeries.iter().map(|one| one.to_json(self)).collect::<Vec<_>>(),
        })
    }
}

#[test]
fn a_pin_leads_to_the_values_of_its_epoch_and_of_the_next() {
    let (now, next) = terms();
    let verifier = now.verifier();
    let fast = verifier.verify(&now.proof(12, VufPath::Fast, &[0, 1, 2])).unwrap();
    let slow = verifier.verify(&now.proof(12, VufPath::Slow, &[1, 2, 3])).unwrap();
    assert_eq!(fast, slow, "both paths share one secret");
    let mut follower = now.follower();
    assert_eq!((follower.epoch(), follower.members()), (now.epoch(), now.members.clone()));
    follower.advance(&now.handover(&next, &[0, 1, 3])).unwrap();
    assert_eq!((follower.epoch(), follower.members()), (next.epoch(), next.members.clone()));
    let verifier = VufVerifier::new(&follower.epoch(), &next.keys()).unwrap();
    verifier.verify(&next.proof(110, VufPath::Slow, &[1, 4])).unwrap();
}

#[test]
fn an_epoch_that_is_not_pinned_is_refused() {
    let (now, next) = terms();
    let refused = VufFollower::new(&now.epoch().id(), &next.epoch(), &next.members);
    assert_eq!(refused.unwrap_err(), TrustError::Pin);
    let refused = VufFollower::new(&now.epoch().id(), &now.epoch(), &next.members);
    assert_eq!(refused.unwrap_err(), TrustError::Members);
    // Each field is in what is pinned.
    let pinned = now.epoch();
    let mut others = [pinned; 5];
    others[0].waypoint.chain = ChainId::new([8; 32]);
    others[1].waypoint.epoch.epoch = EpochId::new(7);
    others[2].waypoint.epoch.first = Slot::new(10);
    others[3].waypoint.epoch.members[0] ^= 1;
    others[4].key[31] ^= 1;
    assert!(others.iter().all(|other| other.id() != pinned.id()));
}

#[test]
fn keys_of_another_epoch_are_refused() {
    let (now, next) = terms();
    let refused = |keys: &VufKeys| VufVerifier::new(&now.epoch(), keys).map(drop).unwrap_err();
    assert_eq!(refused(&next.keys()), VufKeysError::Digest);
    let mut forged = now.keys();
    forged.slow.threshold = 1;
    assert_eq!(refused(&forged), VufKeysError::Digest);
    let mut forged = now.keys();
    forged.weights.swap(0, 1);
    assert_eq!(refused(&forged), VufKeysError::Digest);
    let mut forged = now.keys();
    forged.slow.public_shares.swap(0, 1);
    assert_eq!(refused(&forged), VufKeysError::Digest);
    let mut forged = now.keys();
    forged.fast = None;
    assert_eq!(refused(&forged), VufKeysError::Digest);
}

#[test]
fn a_blinded_key_is_one_partys_for_one_path_and_one_key() {
    let (now, next) = terms();
    let one = Party::new(2);
    let refused = |keys: &VufKeys| VufVerifier::new(&now.epoch(), keys).map(drop).unwrap_err();
    let possession = |party| VufKeysError::Blinded { party, error: AdmitError::Possession };
    // Two parties of the same weight change places.
    let mut forged = now.keys();
    swap(&mut forged.slow.blinded, 2, 3);
    assert_eq!(refused(&forged), possession(one));
    // Of the other path.
    let mut forged = now.keys();
    let other = forged.fast.as_ref().unwrap().blinded[&one].clone();
    forged.slow.blinded.insert(one, other);
    assert_eq!(refused(&forged), possession(one));
    // Of the next epoch.
    let mut forged = now.keys();
    forged.slow.blinded.insert(one, next.keys().slow.blinded[&one].clone());
    assert_eq!(refused(&forged), possession(one));
    // Of nobody.
    let mut forged = now.keys();
    forged.slow.blinded.insert(Party::new(9), next.keys().slow.blinded[&one].clone());
    let error = AdmitError::NotMember { party: Party::new(9) };
    assert_eq!(refused(&forged), VufKeysError::Blinded { party: Party::new(9), error });
}

#[test]
fn values_of_other_slots_and_parties_are_refused() {
    let (now, next) = terms();
    let verifier = now.verifier();
    let good = now.proof(12, VufPath::Slow, &[0, 1]);
    let faulty = |parties: &[u32]| {
        let culprits = parties.iter().map(|party| Party::new(*party)).collect();
        Err(VufValueError::Partials(QuorumError::Faulty { culprits }))
    };
    verifier.verify(&good).unwrap();
    let other_slot = VufProof { slot: Slot::new(13), ..good.clone() };
    assert_eq!(verifier.verify(&other_slot), faulty(&[0, 1]));
    let other_path = VufProof { path: VufPath::Fast, ..now.proof(12, VufPath::Slow, &[0, 1, 2]) };
    assert_eq!(verifier.verify(&other_path), faulty(&[0, 1, 2]));
    let mut swapped = now.proof(12, VufPath::Slow, &[0, 2, 3]);
    swap(&mut swapped.partials, 2, 3);
    assert_eq!(verifier.verify(&swapped), faulty(&[2, 3]));
    let light = verifier.verify(&now.proof(12, VufPath::Slow, &[2, 3])).unwrap_err();
    assert!(matches!(light, VufValueError::Partials(QuorumError::BelowThreshold { got: 2, .. })));
    let early = verifier.verify(&now.proof(8, VufPath::Slow, &[0, 1])).unwrap_err();
    let (first, got) = (Slot::new(9), Slot::new(8));
    assert_eq!(early, VufValueError::BeforeEpoch { first, got });
    let (here, got) = (EpochId::new(0), EpochId::new(1));
    let later = verifier.verify(&next.proof(110, VufPath::Slow, &[1, 4]));
    assert_eq!(later.unwrap_err(), VufValueError::Epoch { here, got });
    let relabelled = VufProof { epoch: here, ..next.proof(110, VufPath::Slow, &[0, 1]) };
    assert_eq!(verifier.verify(&relabelled), faulty(&[0, 1]));
}

#[test]
fn a_party_whose_key_is_missing_counts_for_nothing() {
    let (now, _) = terms();
    let mut keys = now.keys();
    keys.slow.blinded.remove(&Party::new(1));
    let verifier = VufVerifier::new(&now.epoch(), &keys).unwrap();
    let refused = verifier.verify(&now.proof(12, VufPath::Slow, &[0, 1])).unwrap_err();
    assert_eq!(refused.code(), "not-admitted");
    assert!(PartialError::NotAdmitted { party: Party::new(1) }.code() == refused.code());
    verifier.verify(&now.proof(12, VufPath::Slow, &[0, 2])).unwrap();
    keys.fast = None;
    let waypoint = now.epoch().waypoint;
    let slow_only = VufEpoch { waypoint, key: keys.digest() };
    let verifier = VufVerifier::new(&slow_only, &keys).unwrap();
    let refused = verifier.verify(&now.proof(12, VufPath::Fast, &[0, 1, 2]));
    assert_eq!(refused, Err(VufValueError::NoFastPath));
}

#[test]
fn one_factor_on_both_paths_is_refused() {
    let (now, _) = terms();
    let mut keys = now.keys();
    // With equal thresholds and shares both paths are one committee, and a key of the one is one of the other.
    keys.fast = Some(keys.slow.clone());
    let epoch = VufEpoch { waypoint: now.epoch().waypoint, key: keys.digest() };
    let refused = VufVerifier::new(&epoch, &keys).map(drop).unwrap_err();
    assert_eq!(refused.code(), "shared-blinding");
}

#[test]
fn only_a_quorum_of_the_epoch_before_hands_over() {
    let (now, next) = terms();
    let refused = |handover: &VufHandover| now.follower().advance(handover).unwrap_err();
    let mismatch = EndingError::Handover(CertificateError::Signature(SignatureError::Mismatch));
    let few = refused(&now.handover(&next, &[0, 1]));
    let expected = CertificateError::BelowQuorum { got: 20, need: 27 };
    assert_eq!(few, EndingError::Handover(expected));
    // Two signatures, said to be of three.
    let mut padded = now.handover(&next, &[0, 1]);
    padded.certificate.signers = Signers::new(4, [0, 1, 3].map(Party::new)).unwrap();
    assert_eq!(refused(&padded), mismatch);
    // The server puts its key, committee or first slot in the place of what was signed.
    let good = now.handover(&next, &[0, 1, 3]);
    let mut forged = good.clone();
    forged.key = now.keys().digest();
    assert_eq!(refused(&forged), mismatch);
    let mut forged = good.clone();
    forged.changes = now.members.changes_to(&now.members).unwrap();
    assert_eq!(refused(&forged), mismatch);
    let mut forged = good.clone();
    forged.first = Slot::new(50);
    assert_eq!(refused(&forged), mismatch);
    // Of another chain, or of a later epoch.
    let mut foreign = next.epoch();
    foreign.waypoint.chain = ChainId::new([8; 32]);
    assert_eq!(refused(&now.handover_of(&foreign, &next, &[0, 1, 3])), mismatch);
    let mut later = next.epoch();
    later.waypoint.epoch.epoch = EpochId::new(2);
    assert_eq!(refused(&now.handover_of(&later, &next, &[0, 1, 3])), mismatch);
    // A handover works once.
    let mut follower = now.follower();
    follower.advance(&good).unwrap();
    let again = follower.advance(&good).unwrap_err();
    let first = Slot::new(next.first);
    assert_eq!(again, EndingError::First { first, slot: first });
}
