//! The policy of what is kept.
use prefinal_execution::Height;
use prefinal_sync::{Keep, Kept};

fn kept(lowest: u64, tip: u64, bytes: u64) -> Kept {
    Kept { lowest: Height::new(lowest), tip: Height::new(tip), bytes }
}

fn keep(blocks: Option<u64>, bytes: Option<u64>) -> Keep {
    Keep { blocks, bytes, ..Keep::default() }
}

#[test]
fn everything_is_kept_unless_there_is_a_limit() {
    assert_eq!(Keep::default().due(kept(0, u64::MAX, u64::MAX)), None);
}

#[test]
fn blocks_beyond_a_limit_are_forgotten_a_step_at_a_time() {
    let most = Some(u64::MAX);
    for (blocks, bytes) in [(Some(100), None), (Some(100), most)] {
        let keep = keep(blocks, bytes);
        assert_eq!(keep.due(kept(50, 150, 1_000_000)), None);
        assert_eq!(keep.due(kept(50, 151, 1_000_000)), Some(Height::new(58)));
        // However much there is: a smaller limit than the last time takes many steps.
        assert_eq!(keep.due(kept(0, 1_000_000, 1)), Some(Height::new(8)));
    }
    for (blocks, bytes) in [(None, Some(100_000)), (most, Some(100_000))] {
        let keep = keep(blocks, bytes);
        assert_eq!(keep.due(kept(50, 1_000_000, 100_000)), None);
        assert_eq!(keep.due(kept(50, 150, 100_001)), Some(Height::new(58)));
    }
}

#[test]
fn what_peers_need_stays_whatever_the_limits() {
    let keep = keep(Some(0), Some(0));
    for tip in 0..200 {
        for lowest in 0..=tip {
            let due = keep.due(kept(lowest, tip, 1));
            let left = due.map_or(tip - lowest, |due| tip - due.get());
            match due {
                Some(_) => assert!(left >= Keep::FLOOR, "{lowest} to {tip}"),
                None => assert!(left < Keep::FLOOR + Keep::STEP, "{lowest} to {tip}"),
            }
        }
    }
}
