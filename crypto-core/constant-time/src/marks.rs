//! Which part of a case is traced: places in the program at which the tracer stops it.
use std::hint::black_box;

/// Where tracing begins, pauses, goes on, ends.
#[cfg(target_arch = "x86_64")]
pub struct Marks {
    pub begin: u64,
    pub pause: u64,
    pub resume: u64,
    pub end: u64,
}

#[cfg(target_arch = "x86_64")]
impl Marks {
    pub fn of_this_program() -> Self {
        let [begin, pause, resume, end] =
            [begin, pause, resume, end].map(|mark: fn()| mark as usize as u64);
        Self { begin, pause, resume, end }
    }
}

/// Runs the part of a case that is traced.
#[cfg(target_arch = "x86_64")]
pub fn traced(run: impl FnOnce()) {
    begin();
    run();
    end();
}

/// What only prepares a case and is public, or looked at in another case. It must leave memory
/// as it would for other secrets: what is allocated afterwards has addresses that are compared.
pub fn set_up<T>(run: impl FnOnce() -> T) -> T {
    pause();
    let value = run();
    resume();
    value
}

// Different bodies, lest they become one function.

#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn begin() {
    black_box(1);
}

#[inline(never)]
fn pause() {
    black_box(2);
}

#[inline(never)]
fn resume() {
    black_box(3);
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn end() {
    black_box(4);
}
