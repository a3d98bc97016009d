//! The thread pool of the caller, on which jobs run.
//!
//! Pairings run where the caller chooses. Any function that takes a closure and runs it is a pool:
//!
//! | pool              | as                                                               |
//! |-------------------|------------------------------------------------------------------|
//! | rayon             | `rayon::spawn`                                                   |
//! | tokio             | `move \|task\| drop(handle.spawn_blocking(task))`                 |
//! | threads           | `\|task\| drop(std::thread::spawn(task))`                        |
//! | the calling thread | `\|task: Task\| task()`                                          |
//!
//! The last one is for tests and tools: the callback that completes a slot then also computes the slot's
//! pairings before it returns.

/// A computation that does not wait for anything. It takes some milliseconds, or seconds if it makes keys.
pub type Task = Box<dyn FnOnce() + Send>;

/// A thread pool that the caller owns.
///
/// If a task is dropped or panics, the driver notices and hands its job out again after a pause. It also
/// does so if a task has not come back after [`Options::patience`](crate::Options::patience). Tasks may
/// run in any order, any number at the same time, and twice.
pub trait Pool: Send + Sync + 'static {
    /// Takes a task and runs it at some time. It should not block, because the engine may be waiting.
    fn spawn(&self, task: Task);
}

impl<F: Fn(Task) + Send + Sync + 'static> Pool for F {
    fn spawn(&self, task: Task) {
        self(task);
    }
}
