//! Long calls: without the interpreter's lock, with Ctrl-C, and with progress.
//!
//! What cannot be split runs on a thread of its own while the caller's thread looks at signals; after
//! Ctrl-C the caller goes on at once and the thread ends when its work does, which is bounded. What can
//! be split runs in steps with a look after each.
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::lost;

/// How often the caller's thread looks at signals.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` to its end, or until a signal's handler raises.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, result) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name("prefinal".to_owned());
    thread.spawn(move || {
        // Nobody waits any more after an interrupt.
        let _ = done.send(work());
    })?;
    let result = std::sync::Mutex::new(result);
    loop {
        let look = py.detach(|| match result.lock() {
            Ok(result) => result.recv_timeout(LOOK),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match look {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(lost()),
        }
    }
}

/// Who wants to hear of progress: called with the number of steps since the last time, as `tqdm.update`
/// is.
pub(crate) struct Progress<'py>(Option<Bound<'py, PyAny>>);

impl<'py> Progress<'py> {
    pub(crate) const fn new(callback: Option<Bound<'py, PyAny>>) -> Self {
        Self(callback)
    }

    /// After `steps` more. What the callback raises ends the work, and so does a signal.
    pub(crate) fn advance(&self, py: Python<'py>, steps: usize) -> PyResult<()> {
        py.check_signals()?;
        match &self.0 {
            Some(callback) => callback.call1((steps,)).map(drop),
            None => Ok(()),
        }
    }
}
