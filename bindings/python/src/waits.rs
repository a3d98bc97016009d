//! How long parties waited, column by column, in milliseconds.
use std::time::Duration;

use prefinal_lab::waits::Waits;
use pyo3::prelude::*;

/// Waits, a row for each `push`; nothing where there are none.
#[derive(Default, IntoPyObject)]
pub(crate) struct WaitColumns {
    mean_ms: Vec<Option<f64>>,
    p50_ms: Vec<Option<f64>>,
    p90_ms: Vec<Option<f64>>,
    p99_ms: Vec<Option<f64>>,
    longest_ms: Vec<Option<f64>>,
}

impl WaitColumns {
    pub(crate) fn push(&mut self, waits: &Waits) {
        self.mean_ms.push(ms(waits.mean()));
        self.p50_ms.push(ms(waits.percentile(50)));
        self.p90_ms.push(ms(waits.percentile(90)));
        self.p99_ms.push(ms(waits.percentile(99)));
        self.longest_ms.push(ms(waits.mean_of_longest()));
    }
}

fn ms(span: Option<Duration>) -> Option<f64> {
    span.map(|span| span.as_secs_f64() * 1e3)
}
