//! One encoding of each object, and nothing else is read.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_light::wire::{MAX_BYTES, VERSION};
use prefinal_light::{
    EpochEnding, KeyProof, LightObject, LightWireError, MemberList, StakeProof, VufEpoch,
    VufHandover, VufKeys, VufProof, Waypoint,
};

use crate::vectors::Samples;

fn each(
    samples: &Samples,
    mut check: impl FnMut(&[u8], &dyn Fn(&[u8]) -> Result<Vec<u8>, LightWireError>),
) {
    fn again<T: LightObject>(bytes: &[u8]) -> Result<Vec<u8>, LightWireError> {
        T::from_wire(bytes).map(|read| read.to_wire())
    }
    check(&samples.waypoint.to_wire(), &again::<Waypoint>);
    check(&samples.members.to_wire(), &again::<MemberList>);
    check(&samples.ending.to_wire(), &again::<EpochEnding>);
    check(&samples.stake_proof.to_wire(), &again::<StakeProof>);
    check(&samples.key_proof.to_wire(), &again::<KeyProof>);
    check(&samples.vuf.epoch.to_wire(), &again::<VufEpoch>);
    check(&samples.vuf.keys.to_wire(), &again::<VufKeys>);
    check(&samples.vuf.handover.to_wire(), &again::<VufHandover>);
    check(&samples.vuf.proof.to_wire(), &again::<VufProof>);
}

#[test]
fn an_object_is_read_as_it_was_written() {
    each(&Samples::new(), |bytes, again| assert_eq!(again(bytes).unwrap(), bytes));
}

#[test]
fn what_is_cut_or_longer_is_refused() {
    each(&Samples::new(), |bytes, again| {
        for end in (0..bytes.len()).rev().take(40).chain([0, 1, 2, 3, 40]) {
            assert!(again(&bytes[..end]).is_err(), "{end} of {}", bytes.len());
        }
        let longer = [bytes, &[0]].concat();
        assert!(matches!(again(&longer), Err(LightWireError::Malformed { .. })));
        assert_eq!(again(&[]), Err(LightWireError::Truncated { got: 0 }));
    });
}

#[test]
fn version_and_kind_are_checked() {
    each(&Samples::new(), |bytes, again| {
        let mut other = bytes.to_vec();
        other[0] = VERSION + 1;
        assert_eq!(again(&other), Err(LightWireError::Version { got: VERSION + 1 }));
        let mut other = bytes.to_vec();
        other[1] += 1;
        let (expected, got) = (bytes[1], bytes[1] + 1);
        assert_eq!(again(&other), Err(LightWireError::Kind { expected, got }));
    });
}

#[test]
fn the_longest_object_is_bounded() {
    let bytes = vec![VERSION; MAX_BYTES + 1];
    let expected = LightWireError::TooLong { got: MAX_BYTES + 1, most: MAX_BYTES };
    assert_eq!(StakeProof::from_wire(&bytes), Err(expected));
}

/// An announced count is no reason to allocate.
#[test]
fn a_count_without_items_is_refused() {
    for count in [u32::MAX, 1 << 20] {
        let bytes = [&[VERSION, MemberList::KIND], &count.to_le_bytes()[..]].concat();
        assert!(matches!(MemberList::from_wire(&bytes), Err(LightWireError::Malformed { .. })));
    }
}

/// Places in descending order, or one twice, would be a second encoding.
#[test]
fn places_ascend() {
    let samples = Samples::new();
    let bytes = borsh::to_vec(&samples.ending.changes).unwrap();
    let count = u32::from_le_bytes(bytes[..4].try_into().unwrap());
    assert_eq!(count, 2);
    let read = |bytes: &[u8]| prefinal_light::MemberChanges::try_from_slice(bytes);
    read(&bytes).unwrap();
    let stake = 4 + 4 + 1 + 16;
    let (first, second) = (&bytes[4..stake], &bytes[stake..]);
    assert!(read(&[&bytes[..4], second, first].concat()).is_err());
    assert!(read(&[&bytes[..4], first, first].concat()).is_err());
    let mut out = Vec::new();
    samples.waypoint.serialize(&mut out).unwrap();
    assert_eq!(out.len(), 80);
}
