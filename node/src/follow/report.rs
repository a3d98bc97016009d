//! How a node that follows gets on: a bar in a terminal, lines once a second elsewhere.
use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use prefinal_sync::PeerScore;
use tokio::time::Instant;

use super::client::PeerUrl;

/// Transactions a second are those of this span.
const SPAN: Duration = Duration::from_secs(5);

/// How far the node is, for one line of progress.
pub(super) struct Standing<'a> {
    pub(super) height: u64,
    /// The height of the lowest state that it has: blocks are there above it.
    pub(super) lowest: u64,
    /// The highest block that a peer says it has.
    pub(super) tip: Option<u64>,
    /// Whether all peers that are ahead lack the next block.
    pub(super) is_cut_off: bool,
    pub(super) mode: &'static str,
    pub(super) peers: Vec<(&'a PeerUrl, &'a PeerScore)>,
}

/// Shows progress: a bar in a terminal, lines in a pipe.
pub(super) struct Report {
    bar: Option<ProgressBar>,
    start: Instant,
    /// Transactions that are durable, of this life.
    transactions: usize,
    /// How many there were, at each line of the span.
    past: VecDeque<(Instant, usize)>,
}

impl Report {
    pub(super) fn new() -> Self {
        let is_terminal = io::stdout().is_terminal() && io::stderr().is_terminal();
        let bar = is_terminal.then(|| {
            let style = ProgressStyle::with_template("{bar:20} {wide_msg}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(1).with_style(style.progress_chars("=> "))
        });
        let start = Instant::now();
        Self { bar, start, transactions: 0, past: VecDeque::from([(start, 0)]) }
    }

    /// So many transactions more are durable.
    pub(super) const fn count(&mut self, transactions: usize) {
        self.transactions = self.transactions.saturating_add(transactions);
    }

    /// What this life has done.
    pub(super) fn total(&self) -> String {
        format!("{} transactions in {:.1?}", self.transactions, self.start.elapsed())
    }

    pub(super) fn show(&mut self, standing: &Standing<'_>) {
        let line = self.line(Instant::now(), standing);
        match &self.bar {
            Some(bar) => {
                bar.set_length(standing.tip.unwrap_or(standing.height).max(1));
                bar.set_position(standing.height);
                bar.set_message(line);
            }
            None => say!("{line}"),
        }
    }

    /// Something that is not gone with the next second.
    pub(super) fn note(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say!("{what}")),
            None => say!("{what}"),
        }
    }

    pub(super) fn finish(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }

    fn line(&mut self, now: Instant, standing: &Standing<'_>) -> String {
        let Standing { height, lowest, tip, is_cut_off, mode, peers } = standing;
        self.past.push_back((now, self.transactions));
        while self.past.len() > 2
            && self.past.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= SPAN)
        {
            self.past.pop_front();
        }
        let rate = self.past.front().map_or(0, |(at, before)| {
            let span = usize::try_from(now.duration_since(*at).as_millis()).unwrap_or(usize::MAX);
            let transactions = self.transactions.saturating_sub(*before).saturating_mul(1000);
            transactions.saturating_add(span / 2).checked_div(span).unwrap_or(0)
        });
        let behind = match tip {
            Some(tip) if tip <= height => "at the tip".to_owned(),
            Some(_) if *is_cut_off => {
                let next = height.saturating_add(1);
                format!("no peer has block {next} (take --mode snapshot, or other peers)")
            }
            Some(tip) => format!("{} behind", tip.saturating_sub(*height)),
            None => "no peer has said where the tip is".to_owned(),
        };
        let peers: Vec<String> = peers.iter().map(|(url, score)| peer(url, score)).collect();
        let peers = if peers.is_empty() { "no peers".to_owned() } else { peers.join(", ") };
        let kept = match lowest {
            0 => String::new(),
            lowest => format!(", blocks from {}", lowest.saturating_add(1)),
        };
        format!("height {height}{kept}, {behind}, {rate} txs/s, {mode}; {peers}")
    }
}

fn peer(url: &PeerUrl, score: &PeerScore) -> String {
    let failures = match score.failures {
        0 => String::new(),
        failures => format!(", {failures} failures"),
    };
    match &score.summary {
        None => format!("{url} silent{failures}"),
        Some(_) => format!("{url} {} ms{failures}", score.latency.as_millis()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_fast_and_how_far() {
        let url: PeerUrl = "http://127.0.0.1:1".parse().unwrap();
        let latency = Duration::from_millis(12);
        let score = PeerScore { summary: None, latency, failures: 2, outstanding: 0 };
        let start = Instant::now();
        let past = VecDeque::from([(start, 0)]);
        let mut report = Report { bar: None, start, transactions: 0, past };
        let mut line = |seconds, transactions, height: u64, tip| {
            report.count(transactions);
            let peers = vec![(&url, &score)];
            let is_cut_off = height == 0;
            let lowest = height.saturating_sub(340);
            let standing = Standing { height, lowest, tip, is_cut_off, mode: "deltas", peers };
            report.line(start + Duration::from_secs(seconds), &standing)
        };
        assert_eq!(
            line(2, 4000, 300, Some(340)),
            "height 300, 40 behind, 2000 txs/s, deltas; http://127.0.0.1:1 silent, 2 failures"
        );
        assert!(line(4, 2000, 340, Some(340)).starts_with("height 340, at the tip, 1500 txs/s"));
        assert!(
            line(5, 0, 0, Some(9))
                .starts_with("height 0, no peer has block 1 (take --mode snapshot")
        );
        // What was long ago does not count.
        line(20, 0, 340, None);
        let said = line(21, 0, 341, None);
        assert!(said.contains(", 0 txs/s"), "{said}");
        assert!(said.starts_with("height 341, blocks from 2, "), "{said}");
    }
}
