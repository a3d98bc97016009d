//! Pools that lose things.
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use prefinal_driver::{Options, Task};

use crate::fixture::*;
use crate::tools::*;

suite! {
    a_pool_that_loses_every_other_job_delays_only
    a_job_that_hangs_is_handed_out_again
    a_chain_of_jobs_on_the_calling_thread_does_not_nest
}

const QUICK: Options = Options {
    per_peer: 256,
    per_peer_bytes: 1 << 18,
    turn: 32,
    jobs: 64,
    effects: 4096,
    patience: Duration::from_secs(60),
    pause: Duration::from_millis(1),
    shorten: std::num::NonZeroUsize::MIN,
    read: None,
    read_beside: None,
};

/// Drops a task, panics in it, panics before it takes it; runs every second one.
fn a_pool_that_loses_every_other_job_delays_only<S: Instance>() {
    let world = World::<S>::four(821);
    let count = Arc::new(AtomicU32::new(0));
    let pool = move |task: Task| match count.fetch_add(1, SeqCst) % 6 {
        0 => drop(task),
        2 => {
            let panics = move || {
                let _task = task;
                std::panic::resume_unwind(Box::new("in the task"));
            };
            drop(std::thread::spawn(panics));
        }
        4 => std::panic::resume_unwind(Box::new("in the pool")),
        _ => task(),
    };
    let (driver, effects) = start(&world, &Paper::default(), pool, QUICK);
    for number in 1..=6 {
        driver.on_finalize(slot(number), Some(V)).unwrap();
        driver.on_message(B, slow(&world, number)).unwrap();
    }
    until("six slots", || {
        driver.tick().unwrap();
        driver.figures().unwrap().head == slot(7)
    });
    assert_eq!(revealed(&unread(&effects)).len(), 6);
    assert!(driver.figures().unwrap().repeated >= 3);
}

fn a_job_that_hangs_is_handed_out_again<S: Instance>() {
    let world = World::<S>::four(822);
    let shelf = DeferredPool::default();
    let options = Options { patience: Duration::from_millis(20), ..QUICK };
    let (driver, effects) = start(&world, &Paper::default(), shelf.pool(), options);
    driver.on_finalize(slot(1), Some(V)).unwrap();
    driver.on_message(B, slow(&world, 1)).unwrap();
    let hangs = shelf.take().unwrap();
    driver.tick().unwrap();
    assert_eq!(shelf.len(), 0, "patience has not ended");
    assert!(driver.next_tick().unwrap().unwrap() <= Duration::from_millis(20));
    until("the second job", || {
        driver.tick().unwrap();
        shelf.len() > 0
    });
    shelf.run();
    assert_eq!(revealed(&unread(&effects)).len(), 1);
    // The first comes back after all, and says nothing new.
    hangs();
    assert!(unread(&effects).is_empty());
    assert_eq!(driver.figures().unwrap().jobs, 0);
}

/// Each verdict makes room for the next message, whose job gives the next verdict.
fn a_chain_of_jobs_on_the_calling_thread_does_not_nest<S: Instance>() {
    let world = World::<S>::four(823);
    let deepest = Arc::new(AtomicU32::new(0));
    let (depth, most) = (Arc::new(AtomicU32::new(0)), Arc::clone(&deepest));
    let pool = move |task: Task| {
        most.fetch_max(depth.fetch_add(1, SeqCst) + 1, SeqCst);
        task();
        depth.fetch_sub(1, SeqCst);
    };
    let options = Options { jobs: 1, effects: usize::MAX, ..QUICK };
    let (driver, effects) = start(&world, &Paper::default(), pool, options);
    for number in 1..=20 {
        driver.on_finalize(slot(number), Some(V)).unwrap();
    }
    for number in 1..=20 {
        driver.on_message(B, slow(&world, number)).unwrap();
    }
    assert_eq!(revealed(&unread(&effects)).len(), 20);
    assert_eq!(deepest.load(SeqCst), 1);
}
