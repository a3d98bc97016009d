//! Encodings: pinned lengths, exact, canonical.
use prefinal_beacon::{LifeId, Message, Mode, Path, Record, Switch};

use crate::fixture::{A, Instance, V, World, slot, view};

suite! {
    messages_have_the_documented_bytes
    records_have_the_documented_bytes
    unknown_tags_and_the_identity_are_refused
    ; with values:
    every_truncation_and_every_extension_is_refused
}

fn messages_have_the_documented_bytes<S: Instance>() {
    let world = World::<S>::four(1);
    let bare = borsh::to_vec(&world.message(A, Path::Fast, slot(258), None)).unwrap();
    assert_eq!(bare.len(), 1 + 1 + 8 + 1 + S::PARTIAL_BYTES);
    assert_eq!(bare[..11], [0, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0]);
    let bound = borsh::to_vec(&world.message(A, Path::Tight, slot(1), Some(V))).unwrap();
    assert_eq!(bound.len(), 1 + 1 + 8 + 1 + 32 + S::PARTIAL_BYTES);
    assert_eq!(bound[..11], [0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bound[11..43], [0x11; 32]);
    let request = borsh::to_vec(&Message::<S>::Request { slot: slot(3) }).unwrap();
    assert_eq!(request, [1, 3, 0, 0, 0, 0, 0, 0, 0]);
    let show = borsh::to_vec(&Message::<S>::Show { first: slot(3), count: 258 }).unwrap();
    assert_eq!(show, [2, 3, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0]);
    let alone = S::alone(A, world.partial(A, Path::Slow, slot(1), None));
    let shown = Message::<S>::Output { slot: slot(3), path: Path::Tight, shown: alone };
    let shown = borsh::to_vec(&shown).unwrap();
    assert_eq!(shown.len(), 10 + S::SHOWN_BYTES);
    assert_eq!(shown[..10], [3, 3, 0, 0, 0, 0, 0, 0, 0, 2]);
    let life = LifeId::new([9; 16]);
    let ask = borsh::to_vec(&Message::<S>::AskHead { life }).unwrap();
    assert_eq!(ask, [vec![4], vec![9; 16]].concat());
    let head = borsh::to_vec(&Message::<S>::Head { life, next: slot(258) }).unwrap();
    assert_eq!(head, [vec![5], vec![9; 16], vec![2, 1, 0, 0, 0, 0, 0, 0]].concat());
}

fn records_have_the_documented_bytes<S: Instance>() {
    let released = borsh::to_vec(&Record::Released { slot: slot(2), value: V }).unwrap();
    assert_eq!(released, [vec![0, 2, 0, 0, 0, 0, 0, 0, 0], vec![0x11; 32]].concat());
    let skipped = borsh::to_vec(&Record::Finalized { slot: slot(2), value: None }).unwrap();
    assert_eq!(skipped, [1, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
    let abandoned = borsh::to_vec(&Record::Abandoned { view: view(2, 3) }).unwrap();
    assert_eq!(abandoned, [2, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0]);
    let revealed = borsh::to_vec(&Record::Revealed { slot: slot(2) }).unwrap();
    assert_eq!(revealed, [3, 2, 0, 0, 0, 0, 0, 0, 0]);
    let was_off = borsh::to_vec(&Record::WasOff { first: slot(2), last: slot(3) }).unwrap();
    assert_eq!(was_off, [[5].as_slice(), &2_u64.to_le_bytes(), &3_u64.to_le_bytes()].concat());
    let switched = Record::Switched(Switch { from: slot(2), mode: Mode::On });
    assert_eq!(borsh::to_vec(&switched).unwrap(), [4, 2, 0, 0, 0, 0, 0, 0, 0, 2]);
}

fn every_truncation_and_every_extension_is_refused<S: Instance>() {
    let world = World::<S>::four(2);
    for value in [None, Some(V)].into_iter().skip(usize::from(S::VALUES_ONLY)) {
        let bytes = borsh::to_vec(&world.message(A, Path::Tight, slot(1), value)).unwrap();
        assert!(borsh::from_slice::<Message<S>>(&bytes).is_ok());
        for len in 0..bytes.len() {
            assert!(borsh::from_slice::<Message<S>>(&bytes[..len]).is_err(), "{len} bytes");
        }
        let long = [bytes, vec![0]].concat();
        assert!(borsh::from_slice::<Message<S>>(&long).is_err());
    }
}

fn unknown_tags_and_the_identity_are_refused<S: Instance>() {
    let world = World::<S>::four(3);
    let good = borsh::to_vec(&world.message(A, Path::Slow, slot(1), None)).unwrap();
    for (position, byte) in [(0, 6), (1, 3), (10, 2)] {
        let mut bad = good.clone();
        bad[position] = byte;
        assert!(borsh::from_slice::<Message<S>>(&bad).is_err(), "byte {position}");
    }
    let (mut identity, point) = (good, S::identity());
    let start = identity.len() - point.len();
    identity[start..].copy_from_slice(&point);
    assert!(borsh::from_slice::<Message<S>>(&identity).is_err());
}
