//! The least latency that distances allow, in closed form: no queues, no work, and batches that do not wait.
//!
//! ```text
//! certified(i) = weakⱼ(2·d(i,j))                       the batch goes out, acknowledgements come back
//! ordered(i)   = strongₖ(strongⱼ(d(i,j) + d(j,k)) + d(k,i))   proposal, prepare, commit; `i` leads
//! ```
//! `d` is half a median round trip, and nothing for a replica to itself; `weak` and `strong` take the least time by
//! which so many replicas have answered. Clients of a closed loop submit the more often the less they wait, so the
//! median is over transactions: a replica counts with one over its latency.
use std::time::Duration;

use prefinal_sim::{Placement, Seat};

/// The least median latency of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// If a batch is certified before it is proposed.
    pub certified: Duration,
    /// If its author proposes it when it leaves.
    pub at_once: Duration,
}

impl Floor {
    /// The floor of so many replicas of equal stake.
    #[must_use]
    pub fn of(placement: &Placement, replicas: u32) -> Self {
        let distances = Distances { placement, replicas };
        let ordered: Vec<Duration> = distances.seats().map(|at| distances.ordered(at)).collect();
        let certified = distances.seats().zip(&ordered);
        let certified = certified.map(|(at, ordered)| distances.certified(at) + *ordered).collect();
        Self { certified: median(certified), at_once: median(ordered) }
    }
}

struct Distances<'a> {
    placement: &'a Placement,
    replicas: u32,
}

impl Distances<'_> {
    fn seats(&self) -> impl Iterator<Item = Seat> + use<> {
        (0..self.replicas).map(Seat::new)
    }

    fn between(&self, one: Seat, other: Seat) -> Duration {
        if one == other {
            return Duration::ZERO;
        }
        self.placement.round_trip(one, other).unwrap_or_default().p50 / 2
    }

    fn certified(&self, author: Seat) -> Duration {
        let acks = self.seats().map(|at| self.between(author, at) * 2);
        nth(acks.collect(), self.replicas / 3 + 1)
    }

    fn ordered(&self, leader: Seat) -> Duration {
        let strong = self.replicas * 2 / 3 + 1;
        let prepared = |at: Seat| {
            let votes = self.seats().map(|by| self.between(leader, by) + self.between(by, at));
            nth(votes.collect(), strong)
        };
        let commits = self.seats().map(|by| prepared(by) + self.between(by, leader));
        nth(commits.collect(), strong)
    }
}

/// The time by which so many are there.
fn nth(mut times: Vec<Duration>, count: u32) -> Duration {
    times.sort_unstable();
    let place = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(1);
    times.get(place).copied().unwrap_or_default()
}

/// The median of latencies, each of which counts with one over itself.
fn median(mut latencies: Vec<Duration>) -> Duration {
    latencies.sort_unstable();
    let rate = |latency: &Duration| 1_000_000_000_000 / latency.as_micros().max(1);
    let all: u128 = latencies.iter().map(rate).sum();
    let mut sum = 0;
    let middle = latencies.iter().find(|latency| {
        sum += rate(latency);
        2 * sum >= all
    });
    middle.copied().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use prefinal_sim::Geography;

    use super::*;

    const TABLE: &str = "from,to,p50_ms,p90_ms\na,a,2,2\na,b,20,20\nb,b,2,2\n";

    fn floor(regions: &[&str]) -> Floor {
        let table = Geography::parse(TABLE).unwrap();
        let placement = Placement::listed(&table, regions).unwrap();
        Floor::of(&placement, u32::try_from(regions.len()).unwrap())
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn in_one_place_it_is_a_round_trip_and_three_delays() {
        assert_eq!(floor(&["a"; 4]), Floor { certified: ms(5), at_once: ms(3) });
        assert_eq!(floor(&["a"]), Floor { certified: ms(0), at_once: ms(0) });
    }

    /// Three of four are a strong quorum, two a weak one. Of those in `a` the first three need nobody in `b`: 3 ms,
    /// and 2 ms for acknowledgements. The one in `b` needs two of the others: its proposal is there after 10 ms,
    /// the others prepare within 1 ms more, and their commits take 10 ms back; an acknowledgement takes 20 ms.
    #[test]
    fn distant_replicas_count_as_far_as_quorums_need_them() {
        assert_eq!(floor(&["a", "a", "a", "b"]), Floor { certified: ms(5), at_once: ms(3) });
        let table = Geography::parse(TABLE).unwrap();
        let placement = Placement::listed(&table, &["a", "a", "a", "b"]).unwrap();
        let distances = Distances { placement: &placement, replicas: 4 };
        let far = Seat::new(3);
        assert_eq!((distances.certified(far), distances.ordered(far)), (ms(20), ms(21)));
    }

    #[test]
    fn who_waits_less_counts_more() {
        assert_eq!(median(vec![ms(30), ms(10), ms(30)]), ms(10));
        assert_eq!(median(vec![ms(30), ms(10), ms(30), ms(30), ms(30)]), ms(30));
        assert_eq!(median(Vec::new()), ms(0));
    }
}
