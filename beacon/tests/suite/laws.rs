//! The laws hold of every scheme here, and each can fail: of a function by bookkeeping, broken in one place
//! at a time, the law that is for it finds it.
use prefinal_beacon::laws::{DealtCommittee, Law, Sample, check};
use prefinal_beacon::{
    Batch, Binding, Bls, Content, Decryption, MultiSig, Path, Slot, StateRoot, StateSig,
    StateStatement, Value, Wvuf,
};
use prefinal_crypto_core::access::{Access, Party};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::certificate::Electorate;
use prefinal_crypto_core::context::Context;
use prefinal_crypto_core::elgamal::Label;
use prefinal_crypto_core::wire::Object;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::decryption::Holders;
use crate::fixture::*;
use crate::toy::{Dealer, Toy};

/// What a trusted dealer hands out, with keys for outputs of one kind.
struct Instances<S: Instance> {
    binding: Binding,
    late: fn(&S::Dealt) -> Late<S>,
}

/// A committee as it is at the start, and what makes its parties count.
type Late<S> =
    Option<(<S as prefinal_beacon::Function>::Committee, Vec<prefinal_beacon::LateKey<S>>)>;

impl<S: Instance> Sample for Instances<S> {
    type Scheme = S;

    fn deal(&self, number: u8, path: Path) -> DealtCommittee<S> {
        // The last one holds nothing.
        let world = World::<S>::new(1201 + u64::from(number), &[2, 1, 3, 1, 0], [4, 6, 5]);
        let dealt = &world.paths[&path];
        let secret = |party| Some((party, S::secret(dealt, party, self.binding)?));
        let holders = Access::new(&world.weights).unwrap();
        let holders = holders.parties().filter(|party| holders.weight(*party) > 0);
        let secrets = holders.filter_map(secret).collect();
        let (committee, late_keys) =
            (self.late)(dealt).unwrap_or_else(|| (S::committee(dealt, self.binding), Vec::new()));
        DealtCommittee { committee, secrets, late_keys }
    }
}

fn holds<S: Instance>(binding: Binding, late: fn(&S::Dealt) -> Late<S>) {
    assert_eq!(check(&Instances::<S> { binding, late }), Ok(()));
}

#[test]
fn threshold_bls_keeps_the_laws() {
    holds::<Bls>(Binding::Slot, |_| None);
    holds::<Bls>(Binding::Value, |_| None);
}

#[test]
fn the_weighted_vuf_keeps_the_laws() {
    holds::<Wvuf>(Binding::Slot, |dealt| {
        Some((dealt.empty.clone(), dealt.admitted.values().cloned().collect()))
    });
}

#[test]
fn multi_signatures_keep_the_laws() {
    holds::<MultiSig>(Binding::Value, |_| None);
}

struct Slots;

impl Sample for Slots {
    type Scheme = Decryption;

    fn deal(&self, number: u8, path: Path) -> DealtCommittee<Decryption> {
        let holders = Holders::new(1211 + u64::from(number), &[2, 1, 1, 1], [3, 5, 4]);
        let secrets = [A, B, C, D].map(|party| (party, holders.secret(path, party))).into();
        DealtCommittee { committee: holders.committee(path), secrets, late_keys: Vec::new() }
    }

    /// As many ciphertexts as a slot may have.
    fn content(
        &self,
        committee: &prefinal_beacon::BatchCommittee,
        context: &Context,
        slot: Slot,
        number: u8,
    ) -> Option<Content<Decryption>> {
        let mut rng = ChaCha20Rng::seed_from_u64(u64::from(number));
        let (key, label) = (committee.holders().key(), Label::slot(context, slot));
        let mut one = || key.encrypt(&label, &[number], &mut rng).unwrap().to_wire();
        let ciphertexts: Vec<_> = (0..committee.bounds().ciphertexts).map(|_| one()).collect();
        Some(Batch::new(committee, context, slot, [number; 32], &ciphertexts))
    }
}

#[test]
fn slot_decryption_keeps_the_laws() {
    assert_eq!(check(&Slots), Ok(()));
}

struct States;

impl Sample for States {
    type Scheme = StateSig;

    /// The keys of multi-signatures.
    fn deal(&self, number: u8, path: Path) -> DealtCommittee<StateSig> {
        let dealt = Instances::<MultiSig> { binding: Binding::Value, late: |_| None };
        let DealtCommittee { committee, secrets, .. } = dealt.deal(number, path);
        DealtCommittee { committee, secrets, late_keys: Vec::new() }
    }

    fn content(
        &self,
        electorate: &Electorate<MinSig>,
        context: &Context,
        slot: Slot,
        number: u8,
    ) -> Option<Content<StateSig>> {
        let (value, root) = (Value::new([number; 32]), [number + 1; 32]);
        let statement = StateStatement { context: *context, slot, value, root };
        Some(StateRoot::new(electorate, statement))
    }
}

#[test]
fn certificates_of_states_keep_the_laws() {
    assert_eq!(check(&States), Ok(()));
}

/// The laws that a toy broken in one place does not keep.
fn broken<const FAULT: u8, const CONTENTS: bool>() -> Vec<Law> {
    let dealer = Dealer::<FAULT, CONTENTS>;
    Law::ALL.into_iter().filter(|law| law.check(&dealer).is_err()).collect()
}

#[test]
fn a_function_by_bookkeeping_keeps_the_laws() {
    assert_eq!(check(&Dealer::<{ Toy::SOUND }, false>), Ok(()));
    assert_eq!(check(&Dealer::<{ Toy::SOUND }, true>), Ok(()));
}

/// Each fault is found by the law that is for it; some are found by others too.
#[test]
fn every_law_can_fail() {
    macro_rules! fails {
        ($($law:ident $fault:ident $contents:literal;)*) => {
            [$((Law::$law, broken::<{ Toy::$fault }, $contents>())),*]
        };
    }
    let found = fails![
        Sample NOBODY_COUNTS false;
        Bindings NO_ROUNDS false;
        Inputs ANY_CHAIN false;
        Evaluation MOODY false;
        Quorums BY_QUORUM false;
        Threshold ONE_TOO_FEW false;
        Culprits FIRST_CULPRIT false;
        Combining UNVERIFIED false;
        Shapes ANY_SHAPE false;
        Encodings SHORT_ANNOUNCEMENT false;
        Showing NEVER_SHOWN false;
        Forgeries SHOWN_BY_FEW false;
        Secrets ANY_SECRET false;
        Paths ONE_FOR_BOTH false;
        Keys NO_KEYS false;
        LateKeys KEYS_TWICE false;
        Contents ANY_CONTENT true;
        Foresight BLIND_TRUST false;
    ];
    for (law, broken) in &found {
        println!("{law:?}: {broken:?}");
        assert!(broken.contains(law), "{law:?} holds, and {broken:?} do not");
    }
    let tried: Vec<_> = found.iter().map(|(law, _)| *law).collect();
    assert_eq!(tried, Law::ALL);
}

/// What is not found is told: the party, and what it could do.
#[test]
fn a_violation_says_what_was_found() {
    let found = Law::Secrets.check(&Dealer::<{ Toy::ANY_SECRET }, false>).unwrap_err();
    let party = Party::new(1);
    assert_eq!(
        found.to_string(),
        format!("Secrets: {party} may use the secret of {}", Party::new(0))
    );
}
