//! Parties, indices, thresholds: what is handed out, and what is refused.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
use core::fmt::Debug;
use core::num::NonZeroU32;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::{
    Access, AccessError, Party, ShareIndex, Threshold, ThresholdError,
};
use prefinal_crypto_core::context::{ChainId, CommitteeId, Context, EpochId, Session};
use prefinal_crypto_core::curve::Scalar;

fn numbers(access: &Access, party: u32) -> Vec<u32> {
    access.indices(Party::new(party)).map(ShareIndex::get).collect()
}

#[test]
fn indices_are_consecutive_and_start_at_one() {
    let access = Access::new(&[2, 0, 3, 1, 0]).unwrap();
    assert_eq!((access.len(), access.total()), (5, 6));
    assert_eq!(numbers(&access, 0), [1, 2]);
    assert!(numbers(&access, 1).is_empty());
    assert_eq!(numbers(&access, 2), [3, 4, 5]);
    assert_eq!(numbers(&access, 3), [6]);
    assert!(numbers(&access, 4).is_empty());
    assert_eq!(access.range(Party::new(2)), 2..5);
    assert_eq!(access.weights(), [2, 0, 3, 1, 0]);
    assert_eq!(access.parties().map(Party::get).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn every_share_has_one_owner() {
    let access = Access::new(&[0, 2, 0, 0, 3, 1, 0]).unwrap();
    for party in access.parties() {
        for index in access.indices(party) {
            assert_eq!(access.owner(index), Some(party), "{index}");
        }
    }
    assert_eq!(access.owner(ShareIndex::new(7).unwrap()), None);
    assert_eq!(access.owner(ShareIndex::new(u32::MAX).unwrap()), None);
}

#[test]
fn strangers_hold_nothing() {
    let access = Access::new(&[2, 1]).unwrap();
    for party in [2, 3, u32::MAX].map(Party::new) {
        assert!(!access.contains(party));
        assert_eq!((access.weight(party), access.range(party)), (0, 0..0));
        assert_eq!(access.indices(party).count(), 0);
    }
}

#[test]
fn evaluation_points_are_distinct_roots_of_unity() {
    for (total, size) in [(1, 1), (2, 2), (3, 4), (5, 8), (8, 8), (9, 16), (1000, 1024)] {
        let access = Access::new(&[total]).unwrap();
        let (points, domain) = (access.points(), access.domain());
        assert_eq!(domain.size(), size, "{total}");
        assert_eq!(points, domain.points()[..points.len()]);
        assert_eq!(u32::try_from(points.len()).unwrap(), total);
        for (place, point) in points.iter().enumerate() {
            assert_eq!(point.vartime_pow(u64::try_from(size).unwrap()), Scalar::ONE);
            let index = ShareIndex::new(u32::try_from(place).unwrap() + 1).unwrap();
            assert_eq!(domain.point(index), Some(*point));
        }
        let distinct: std::collections::BTreeSet<_> = points.iter().map(Scalar::to_bytes).collect();
        assert_eq!(distinct.len(), points.len());
    }
}

#[test]
fn weights_that_make_no_sense_are_refused() {
    assert_eq!(Access::new(&[]), Err(AccessError::NoShares { parties: 0 }));
    assert_eq!(Access::new(&[0, 0]).unwrap_err().to_string(), "all 2 weights are zero");
    let total = u64::from(u32::MAX) * 3;
    let error = AccessError::TooManyShares { total, max: Access::MAX };
    assert_eq!(Access::new(&[u32::MAX; 3]), Err(error));
    assert_eq!(error.to_string(), "weights sum to 12884901885, at most 1048576 is supported");
    assert!(Access::new(&[Access::MAX, 1]).is_err());
    assert_eq!(Access::new(&[Access::MAX, 0]).unwrap().total(), Access::MAX);
    let parties = usize::try_from(Access::MAX).unwrap() + 1;
    let error = AccessError::TooManyParties { parties, max: Access::MAX };
    assert_eq!(Access::new(&vec![0; parties]), Err(error));
}

#[test]
fn thresholds_are_between_one_and_all() {
    for (t, n) in [(0, 0), (0, 3), (4, 3), (1, 0), (u32::MAX, 1)] {
        assert_eq!(Threshold::new(t, n), Err(ThresholdError { t, n }));
        assert!(borsh::from_slice::<Threshold>(&borsh::to_vec(&(t, n)).unwrap()).is_err());
    }
    let error = ThresholdError { t: 4, n: 3 };
    assert_eq!(error.to_string(), "threshold is 4 of 3 shares, expected 1 to 3");
    let threshold = Threshold::new(3, 3).unwrap();
    assert_eq!((threshold.t(), threshold.n()), (NonZeroU32::new(3).unwrap(), threshold.t()));
    assert_eq!(threshold.to_string(), "3 of 3");
}

#[test]
fn share_index_zero_does_not_exist() {
    assert_eq!(ShareIndex::new(0), None);
    assert!(borsh::from_slice::<ShareIndex>(&[0; 4]).is_err());
    assert_eq!(ShareIndex::new(1).unwrap().position(), 0);
}

fn pinned<T: BorshSerialize + BorshDeserialize + PartialEq + Debug>(value: &T, bytes: &str) {
    assert_eq!(hex::encode(borsh::to_vec(value).unwrap()), bytes);
    assert_eq!(borsh::from_slice::<T>(&hex::decode(bytes).unwrap()).unwrap(), *value);
    let trailing = hex::decode(format!("{bytes}00")).unwrap();
    assert!(borsh::from_slice::<T>(&trailing).is_err());
}

#[test]
fn encodings_are_pinned() {
    let one = format!("{:064x}", 1);
    let chain = ChainId::new(core::array::from_fn(|place| u8::from(place == 31)));
    let context = Context { chain, epoch: EpochId::new(0x0102) };
    let committee = CommitteeId::of(b"committee");
    let committee_hex = hex::encode(committee.as_bytes());
    pinned(&Party::new(7), "07000000");
    pinned(&ShareIndex::new(258).unwrap(), "02010000");
    pinned(&Threshold::new(2, 3).unwrap(), "0200000003000000");
    pinned(&Access::new(&[1, 0]).unwrap(), "020000000100000000000000");
    pinned(&context, &format!("{one}0201000000000000"));
    pinned(&Session { context, committee }, &format!("{one}0201000000000000{committee_hex}"));
    assert_eq!(hex::encode(context.to_bytes()), format!("{one}0000000000000102"));
    assert_eq!(
        hex::encode(Session { context, committee }.to_bytes()),
        format!("{one}0000000000000102{committee_hex}")
    );
}

#[test]
fn an_announced_length_reserves_nothing() {
    assert!(borsh::from_slice::<Access>(&[0xff; 4]).is_err());
    assert!(borsh::from_slice::<Access>(&[0xff; 64]).is_err());
    assert!(borsh::from_slice::<Access>(&[0; 4]).is_err());
}

#[test]
fn words_for_logs() {
    assert_eq!(Party::new(7).to_string(), "party 7");
    assert_eq!(ShareIndex::new(7).unwrap().to_string(), "share 7");
    assert_eq!(EpochId::new(7).to_string(), "epoch 7");
    assert_eq!(ChainId::new([0xab; 32]).to_string(), "chain abababababababab");
    assert_eq!(EpochId::new(u64::MAX).next(), EpochId::new(u64::MAX));
}
