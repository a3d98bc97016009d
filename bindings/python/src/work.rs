//! Long calls: without the interpreter's lock, with Ctrl-C, and with progress.
//!
//! What cannot be split runs on another thread while the caller's thread looks at signals; after
//! Ctrl-C the caller goes on at once and the thread ends when its work does, which is bounded. What can
//! be split runs in steps with a look after each.
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::lost;

/// How often the caller's thread looks at signals.
const LOOK: Duration = Duration::from_millis(50);

/// Things that a thread may be ahead of the caller.
const AHEAD: usize = 4;

/// Runs `work` to its end, or until a signal's handler raises.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    // Nobody waits any more after an interrupt.
    Thread::start(move |tell| drop(tell.send(work())))?.wait(py)
}

/// Work on another thread, which tells the caller's of it.
pub(crate) struct Thread<T>(Receiver<T>);

impl<T: Send + 'static> Thread<T> {
    pub(crate) fn start(work: impl FnOnce(SyncSender<T>) + Send + 'static) -> PyResult<Self> {
        let (tell, told) = mpsc::sync_channel(AHEAD);
        let thread = std::thread::Builder::new().name("prefinal".to_owned());
        thread.spawn(move || work(tell))?;
        Ok(Self(told))
    }

    /// The next thing that is told, unless a signal's handler raises before.
    pub(crate) fn wait(&mut self, py: Python<'_>) -> PyResult<T> {
        loop {
            let told = &mut self.0;
            match py.detach(move || told.recv_timeout(LOOK)) {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            }
        }
    }
}

/// What a thread with steps tells.
enum Step<T> {
    Done(usize),
    Ended(T),
}

/// Runs `work`, which says when steps are done, and which is asked to end when the caller goes.
pub(crate) fn stepwise<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(usize) -> ControlFlow<()>) -> T + Send + 'static,
) -> PyResult<T> {
    let progress = Progress::new(progress);
    let mut thread = Thread::start(move |tell| {
        let ended = work(&mut |steps| match tell.send(Step::Done(steps)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        // Nobody waits any more after an interrupt.
        drop(tell.send(Step::Ended(ended)));
    })?;
    loop {
        match thread.wait(py)? {
            Step::Done(steps) => progress.advance(py, steps)?,
            Step::Ended(value) => return Ok(value),
        }
    }
}

/// The callback for progress: called with the number of steps since the last time, as `tqdm.update`
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
