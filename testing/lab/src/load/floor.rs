//! The least latency that distances allow, in closed form: no queues, no work, and batches that do not wait.
//!
//! ```text
//! certified(i)  = weakⱼ(2·d(i,j))                              the batch goes out, acknowledgements come back
//! decided(l, i) = strongₖ(strongⱼ(d(l,j) + d(j,k)) + d(k,i))   proposal of `l`, prepare, commit; `i` has it
//! in_order(i)   = maxₗ decided(l, i)                           blocks of all leaders, proposed at one time
//! ```
//! A transaction's own block is decided after `decided(i, i)`, and that cannot be avoided. It is delivered behind the
//! blocks before it, of all leaders: `in_order` says what that costs if all propose at one time, and it is less as far
//! as distant leaders propose earlier.
//!
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
    /// If it also waits for the blocks that all other leaders propose at that time.
    pub in_order: Duration,
}

impl Floor {
    /// The floor of so many replicas of equal stake.
    #[must_use]
    pub fn of(placement: &Placement, replicas: u32) -> Self {
        let distances = Distances { placement, replicas };
        let each =
            |latency: &dyn Fn(Seat) -> Duration| median(distances.seats().map(latency).collect());
        let prepared: Vec<Vec<Duration>> =
            distances.seats().map(|leader| distances.prepared(leader)).collect();
        let decided = |leader: Seat, at| {
            prepared.get(leader.index()).map_or(Duration::ZERO, |by| distances.decided(by, at))
        };
        Self {
            certified: each(&|at| distances.certified(at) + decided(at, at)),
            at_once: each(&|at| decided(at, at)),
            in_order: each(&|at| {
                distances.seats().map(|leader| decided(leader, at)).max().unwrap_or_default()
            }),
        }
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

    const fn strong(&self) -> u32 {
        self.replicas * 2 / 3 + 1
    }

    /// When each replica has seen the leader's block prepared.
    fn prepared(&self, leader: Seat) -> Vec<Duration> {
        let prepared = |at: Seat| {
            let votes = self.seats().map(|by| self.between(leader, by) + self.between(by, at));
            nth(votes.collect(), self.strong())
        };
        self.seats().map(prepared).collect()
    }

    /// When a replica has seen a block decided that each has seen prepared at these times.
    fn decided(&self, prepared: &[Duration], at: Seat) -> Duration {
        let commits = self.seats().zip(prepared).map(|(by, when)| *when + self.between(by, at));
        nth(commits.collect(), self.strong())
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
        let three = Floor { certified: ms(5), at_once: ms(3), in_order: ms(3) };
        assert_eq!(floor(&["a"; 4]), three);
        let none = Floor { certified: ms(0), at_once: ms(0), in_order: ms(0) };
        assert_eq!(floor(&["a"]), none);
    }

    /// Three of four are a strong quorum, two a weak one. Of those in `a` the first three need nobody in `b`: 3 ms,
    /// and 2 ms for acknowledgements. The one in `b` needs two of the others: its proposal is there after 10 ms,
    /// the others prepare within 1 ms more, and their commits take 10 ms back; an acknowledgement takes 20 ms. The
    /// others have its block after 10 ms, and 2 ms for both votes among them: so long they wait for its place in
    /// the order.
    #[test]
    fn distant_replicas_count_as_far_as_quorums_need_them() {
        let floor = floor(&["a", "a", "a", "b"]);
        assert_eq!(floor, Floor { certified: ms(5), at_once: ms(3), in_order: ms(12) });
        let table = Geography::parse(TABLE).unwrap();
        let placement = Placement::listed(&table, &["a", "a", "a", "b"]).unwrap();
        let distances = Distances { placement: &placement, replicas: 4 };
        let far = Seat::new(3);
        let decided = distances.decided(&distances.prepared(far), far);
        assert_eq!((distances.certified(far), decided), (ms(20), ms(21)));
    }

    #[test]
    fn who_waits_less_counts_more() {
        assert_eq!(median(vec![ms(30), ms(10), ms(30)]), ms(10));
        assert_eq!(median(vec![ms(30), ms(10), ms(30), ms(30), ms(30)]), ms(30));
        assert_eq!(median(Vec::new()), ms(0));
    }
}
