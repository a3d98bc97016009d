//! One collector for both kinds of field elements does what the two collectors do, byte for byte.

use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_sim::{Seat, Stop};

use super::chain::{Insider, World, ms, simulate};
use super::kinds::{Case, FieldKind, HandoverKind, rng};
use super::{SEEDS, network};
use crate::field::HandoverError;
use crate::protocol::envelope::{seal, split};
use crate::protocol::{Collect, EpochKey, Evidence, Field, FieldDealings};

/// The same world with the collector for both kinds.
fn either<C: Case + Into<FieldDealings>>(
    world: World<C>,
    held: impl Fn(C::DealerInput) -> <FieldDealings as Collect>::DealerInput,
) -> World<FieldDealings> {
    let seat = |Insider { role, signer, decryption, held: own }: Insider<C>| Insider {
        role,
        signer,
        decryption,
        held: held(own),
    };
    let seats = world.seats.into_iter().map(seat).collect();
    World::new(world.blank.into(), seats, world.seed)
}

/// All that a run leaves behind: what was ordered, each party's key, and what it would offer.
#[derive(PartialEq, Eq)]
struct Traces {
    ordered: Vec<Option<Arc<[u8]>>>,
    keys: Vec<(Vec<u8>, Vec<u8>)>,
}

fn run<C: Collect<Element = Field>>(world: World<C>) -> Traces {
    let seats = u32::try_from(world.seats.len()).unwrap();
    let mut simulation = simulate(world, network());
    assert_eq!(simulation.run(ms(600_000)), Stop::Idle);
    let node = |seat| simulation.machine(Seat::new(seat)).unwrap();
    let key = |seat| {
        let keygen = node(seat).keygen.as_ref().unwrap();
        let key: &EpochKey<Field> = keygen.key().unwrap();
        (key.to_bytes(), keygen.recovery().unwrap())
    };
    Traces { ordered: node(seats).log.clone(), keys: (0..seats).map(key).collect() }
}

fn same<C: Case<Element = Field> + Into<FieldDealings>>(
    held: impl Fn(C::DealerInput) -> <FieldDealings as Collect>::DealerInput + Copy,
) {
    for seed in SEEDS {
        let (one, both) = (C::world(seed), either(C::world(seed), held));
        assert_eq!(one.blank.session(), both.blank.session());
        assert_eq!(one.blank.dealing_bytes(), both.blank.dealing_bytes());
        assert!(run(one) == run(both), "seed {seed}");
    }
}

#[test]
fn a_fresh_key_through_either_is_the_fresh_key() {
    same::<FieldKind>(|()| None);
}

#[test]
fn a_handover_through_either_is_the_handover() {
    same::<HandoverKind>(|shares| Some(Arc::new(shares)));
}

#[test]
fn what_one_collector_finds_wrong_the_other_does() {
    wrong::<FieldKind>(|()| None);
    wrong::<HandoverKind>(|shares| Some(Arc::new(shares)));
}

fn wrong<C: Case<Element = Field> + Into<FieldDealings>>(
    held: impl Fn(C::DealerInput) -> <FieldDealings as Collect>::DealerInput,
) {
    let (one, both) = (C::world(1), either(C::world(1), held));
    let place = one.blank.owed(Party::new(2))[0];
    assert_eq!(both.blank.owed(place.dealer)[0], place);
    let bytes = one.blank.false_dealing(place, &one.seats[2]);
    let found = one.blank.check(vec![one.blank.decode(place, &bytes).unwrap()]);
    let also = both.blank.check(vec![both.blank.decode(place, &bytes).unwrap()]);
    assert_eq!(found[0].as_ref().err(), also[0].as_ref().err());
    assert!(also[0].is_err());
    // What shows it to others shows it under both.
    let envelope = seal(both.blank.session(), place, &bytes, &both.seats[2].signer);
    let (statement, payload) = split(&envelope).unwrap();
    let evidence = Evidence::payload(statement, payload.to_vec());
    assert_eq!(evidence.verify(&one.blank), evidence.verify(&both.blank));
    assert!(evidence.verify(&both.blank).is_ok());
}

#[test]
fn a_dealer_without_its_shares_hands_nothing_over() {
    let world = HandoverKind::world(1);
    let blank = FieldDealings::from(world.blank);
    let dealer = Party::new(2);
    let place = blank.owed(dealer)[0];
    let refused = blank.deal(place, &world.seats[2].signer, &None, &mut rng(1));
    assert_eq!(refused, Err(HandoverError::NoShares { dealer }));
}
