//! When a network has room for more.
use alloc::collections::VecDeque;
use core::time::Duration;

/// Samples that must all be idle.
const SAMPLES: usize = 3;
/// Percent of the interface's rate below which it is idle.
const IDLE_PERCENT: u64 = 5;

/// Watches a party's interface to the network: it is idle while it sends less than 5 % of what it can.
///
/// Drivers that run an engine with [`Engine::BEGINS_WHEN_IDLE`](crate::Engine::BEGINS_WHEN_IDLE) look at their
/// interface every 2 ms, and call [`Engine::idle`](crate::Engine::idle) if it has been idle for three samples. The
/// numbers are those of [DISPEL](https://arxiv.org/abs/1912.10367), section 4.1.
/// ```
/// use prefinal_engine::IdleMeter;
///
/// let mut meter = IdleMeter::new(125_000_000); // 1 Gbit/s
/// // 37 500 bytes are 5 % of what goes out in 6 ms.
/// let idle = [0, 90_000, 100_000, 120_000, 127_000].map(|sent| meter.sample(sent));
/// assert_eq!(idle, [false, false, false, false, true]);
/// ```
#[derive(Clone, Debug)]
pub struct IdleMeter {
    /// Bytes in all samples below which the interface is idle.
    most: u64,
    sent: VecDeque<u64>,
}

impl IdleMeter {
    /// Time between two samples.
    pub const SAMPLE: Duration = Duration::from_millis(2);

    /// For an interface that sends at most so many bytes a second.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Self {
        let micros = Self::SAMPLE.as_micros().saturating_mul(u128::try_from(SAMPLES).unwrap_or(1));
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        let carried = bytes_per_second.saturating_mul(micros) / 1_000_000;
        Self { most: carried.saturating_mul(IDLE_PERCENT) / 100, sent: VecDeque::new() }
    }

    /// Takes how many bytes the interface has sent until now, from the start. Returns whether it was idle in the last
    /// three samples.
    pub fn sample(&mut self, sent: u64) -> bool {
        self.sent.push_back(sent);
        if self.sent.len() <= SAMPLES {
            return false;
        }
        self.sent.pop_front().is_some_and(|first| sent.saturating_sub(first) < self.most)
    }
}
