//! What the streams show, shared by the process that fills it and the readers.
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::committees::Committees;
use crate::error::CallError;
use crate::orders::Orders;
use crate::values::Values;

/// All that there is to read. Nothing in it grows with the number or the pace of readers.
pub(crate) struct Board {
    shown: Mutex<Shown>,
    /// Wakes the readers.
    changed: watch::Sender<()>,
}

/// The content of a [`Board`].
pub(crate) struct Shown {
    pub(crate) values: Values,
    pub(crate) orders: Orders,
    pub(crate) committees: Committees,
    /// Why nothing more comes.
    pub(crate) stopped: Option<CallError>,
}

impl Board {
    pub(crate) fn new(values: Values, orders: Orders, committees: Committees) -> Self {
        let shown = Shown { values, orders, committees, stopped: None };
        Self { shown: Mutex::new(shown), changed: watch::Sender::new(()) }
    }

    /// Every change leaves the content whole, so a panic of another thread does no harm.
    pub(crate) fn read(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the content and wakes the readers.
    pub(crate) fn change<T>(&self, act: impl FnOnce(&mut Shown) -> T) -> T {
        let done = act(&mut self.read());
        self.changed.send_replace(());
        done
    }

    /// A receiver that is told of every change from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Ends all streams, behind what they have not sent yet. The first reason stands.
    pub(crate) fn stop(&self, why: CallError) {
        self.change(|shown| shown.stopped.get_or_insert(why).clone());
    }

    pub(crate) fn stopped(&self) -> Option<CallError> {
        self.read().stopped.clone()
    }
}
