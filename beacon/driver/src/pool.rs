//! Whose threads compute.
//!
//! Pairings run where the caller says. Any function that takes a closure somewhere is a pool:
//!
//! | pool              | as                                                               |
//! |-------------------|------------------------------------------------------------------|
//! | rayon             | `rayon::spawn`                                                   |
//! | tokio             | `move \|task\| drop(handle.spawn_blocking(task))`                 |
//! | threads           | `\|task\| drop(std::thread::spawn(task))`                        |
//! | the calling thread | `\|task: Task\| task()`                                          |
//!
//! The last one is for tests and tools: the callback that completes a slot then takes as long as its
//! pairings.

/// Something to compute, without waiting: some milliseconds, or seconds where keys are made.
pub type Task = Box<dyn FnOnce() + Send>;

/// Threads of the caller.
///
/// A task that is dropped, or that panics, is noticed and handed out again after a pause; so is one
/// that has not come back after [`Options::patience`](crate::Options::patience). Tasks may run in any
/// order, any number at a time, and twice.
pub trait Pool: Send + Sync + 'static {
    /// Takes a task and runs it some time. Should not block: the engine may be waiting.
    fn spawn(&self, task: Task);
}

impl<F: Fn(Task) + Send + Sync + 'static> Pool for F {
    fn spawn(&self, task: Task) {
        self(task);
    }
}
