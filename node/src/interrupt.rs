//! How a run that has no end is ended: Ctrl-C, or SIGTERM as service managers send it.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from its making on, so that a signal between two questions is not lost.
#[cfg(unix)]
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(unix)]
impl Interrupts {
    /// Begins to listen; from now on the signals do not end the process by themselves.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Comes back with the next signal, or with one that came since the last question.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Listens from its making on, so that a signal between two questions is not lost.
#[cfg(windows)]
pub(crate) struct Interrupts(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Interrupts {
    /// Begins to listen; from now on Ctrl-C does not end the process by itself.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn listen() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    /// Comes back with the next Ctrl-C, or with one that came since the last question.
    pub(crate) async fn next(&mut self) {
        let _ended: Option<()> = self.0.recv().await;
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    /// Between two questions nobody waits, and a listener that is made with each question would not know.
    #[tokio::test]
    async fn a_signal_that_comes_while_nobody_waits_is_not_lost() {
        let mut interrupts = Interrupts::listen().unwrap();
        for signal in [Signal::INT, Signal::TERM] {
            kill_process(getpid(), signal).unwrap();
            // Time enough for a listener that looks now and then.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let heard = tokio::time::timeout(Duration::from_secs(30), interrupts.next()).await;
            assert!(heard.is_ok(), "{signal:?}");
        }
    }
}
