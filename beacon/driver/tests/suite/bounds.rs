//! What happens when queues are full, and that the engine never waits for it.
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use prefinal_beacon::{Beacon, Effect, Message, Path};
use prefinal_driver::{Driver, MessageError, Options, Pool, Receiver};

use crate::fixture::*;
use crate::tools::*;

suite! {
    a_flood_takes_the_floods_own_places_only
    a_slow_pool_keeps_messages_waiting_and_the_engine_not
    unread_events_keep_messages_waiting_and_the_engine_not
    a_flood_does_not_hold_the_engines_thread
    a_pool_on_the_spot_takes_turn_after_turn
    a_peer_has_so_many_bytes_and_the_longest_message_fits
}

fn flood<S: Instance>(number: u64) -> Message<S> {
    Message::Request { slot: slot(number) }
}

/// A job on the shelf is all that the bound allows, so messages wait from here on.
fn stalled<S: Instance>(
    world: &World<S>,
    options: Options,
) -> (
    prefinal_driver::Driver<Beacon<S>>,
    prefinal_driver::Receiver<prefinal_beacon::Effect<S>>,
    DeferredPool,
) {
    let shelf = DeferredPool::default();
    let (driver, effects) = start(world, &Paper::default(), shelf.pool(), options);
    driver.on_finalize(slot(1), Some(V)).unwrap();
    driver.on_message(B, slow(world, 1)).unwrap();
    assert_eq!(shelf.len(), 1);
    (driver, effects, shelf)
}

fn a_flood_takes_the_floods_own_places_only<S: Instance>() {
    let world = World::<S>::four(811);
    let options = Options { per_peer: 8, jobs: 1, ..Options::default() };
    let (driver, effects, shelf) = stalled(&world, options);
    for number in 0..8 {
        driver.on_message(D, flood(number)).unwrap();
    }
    for _ in 0..100 {
        let full = driver.on_message(D, flood(0)).unwrap_err();
        assert!(matches!(full, MessageError::Full { from: D, waiting: 8, limit: 8 }), "{full}");
    }
    driver.on_message(C, world.message(C, Path::Slow, slot(1), None)).unwrap();
    let figures = driver.figures().unwrap();
    assert_eq!((figures.waiting, figures.dropped, figures.jobs), (9, 100, 1));
    shelf.run();
    assert_eq!(revealed(&unread(&effects)).len(), 1);
    assert_eq!(driver.figures().unwrap().waiting, 0);
    driver.on_message(D, flood(0)).unwrap();
}

fn a_slow_pool_keeps_messages_waiting_and_the_engine_not<S: Instance>() {
    let world = World::<S>::four(812);
    let options = Options { per_peer: 64, jobs: 1, ..Options::default() };
    let (driver, effects, shelf) = stalled(&world, options);
    for number in 2..=20 {
        assert!(driver.on_prefinalize(slot(number), view(number, 0), V).unwrap().is_some());
        driver.on_finalize(slot(number), Some(V)).unwrap();
        driver.on_message(B, slow(&world, number)).unwrap();
    }
    // The slow partial of every slot, though not a single job is done.
    assert_eq!(to_send(&unread(&effects)).len(), 20);
    assert_eq!(driver.figures().unwrap().waiting, 19);
    shelf.run();
    assert_eq!(revealed(&unread(&effects)).len(), 20);
}

fn unread_events_keep_messages_waiting_and_the_engine_not<S: Instance>() {
    let world = World::<S>::four(813);
    let options = Options { effects: 3, ..Options::default() };
    let (driver, effects) = start(&world, &Paper::default(), here, options);
    for number in 1..=10 {
        driver.on_finalize(slot(number), Some(V)).unwrap();
        driver.on_message(B, slow(&world, number)).unwrap();
    }
    // Slot 1 and 2 were revealed when there was room; the engine's partials are all there.
    let before = unread(&effects);
    assert_eq!((to_send(&before).len(), revealed(&before).len()), (10, 1));
    // The reader caught up; the next call works off what waits.
    driver.tick().unwrap();
    let mut after = revealed(&before).len();
    while driver.figures().unwrap().unread > 0 {
        after += revealed(&unread(&effects)).len();
        driver.tick().unwrap();
    }
    assert_eq!((after, driver.figures().unwrap().waiting), (10, 0));
}

/// Messages of D come while the engine's thread waits for the disk; gives the driver when it is back.
fn flooded<S: Instance>(
    world: &World<S>,
    pool: impl Pool,
    options: Options,
    messages: u64,
) -> (Driver<Beacon<S>>, Receiver<Effect<S>>) {
    let (journal, grip) = Slow::new();
    let (driver, effects) = Driver::start(
        |records| Beacon::new(world.config(A, &BOTH), &records),
        journal,
        pool,
        options,
    )
    .unwrap();
    grip.armed.store(true, SeqCst);
    let engine = driver.clone();
    let engine = thread::spawn(move || engine.on_prefinalize(slot(1), view(1, 0), V));
    grip.entered.recv().unwrap();
    for number in 0..messages {
        driver.on_message(D, flood(number)).unwrap();
    }
    grip.go_on.send(()).unwrap();
    assert!(engine.join().unwrap().unwrap().is_some());
    (driver, effects)
}

fn a_flood_does_not_hold_the_engines_thread<S: Instance>() {
    let world = World::<S>::four(814);
    let shelf = DeferredPool::default();
    let options = Options { turn: 4, ..Options::default() };
    let (driver, _events) = flooded(&world, shelf.pool(), options, 40);
    // A turn was worked off, and another follows each call; one task goes on with the rest.
    assert_eq!((driver.figures().unwrap().waiting, shelf.len()), (36, 1));
    assert_eq!((driver.figures().unwrap().waiting, shelf.len()), (32, 1));
    driver.on_message(D, flood(0)).unwrap();
    assert_eq!((driver.figures().unwrap().waiting, shelf.len()), (25, 1));
    // A pool that drops the task takes nothing with it.
    drop(shelf.take());
    assert_eq!((driver.figures().unwrap().waiting, shelf.len()), (21, 1));
    shelf.run();
    assert_eq!((driver.figures().unwrap().waiting, shelf.len()), (0, 0));
}

/// However many turns there are, none is taken inside of another.
fn a_pool_on_the_spot_takes_turn_after_turn<S: Instance>() {
    let world = World::<S>::four(815);
    let messages = 20_000;
    let options = Options { turn: 1, per_peer: 20_000, ..Options::default() };
    let (driver, _events) = flooded(&world, here, options, messages);
    assert_eq!(driver.figures().unwrap().waiting, 0);
}

fn a_peer_has_so_many_bytes_and_the_longest_message_fits<S: Instance>() {
    let world = World::<S>::four(816);
    let options = Options { per_peer_bytes: 1, jobs: 1, ..Options::default() };
    let (driver, effects, shelf) = stalled(&world, options);
    let longest = world.beacon(A, &BOTH).longest_message(D);
    let request = 9;
    let fit = longest / request;
    for number in 0..u64::try_from(fit).unwrap() {
        driver.on_message(D, flood(number)).unwrap();
    }
    let full = driver.on_message(D, flood(0)).unwrap_err();
    let MessageError::TooLarge { from, got, waiting, limit } = full else { panic!("{full}") };
    assert_eq!((from, got, waiting, limit), (D, request, fit * request, longest));
    // Others have their own, for anything that an honest party sends.
    driver.on_message(C, world.message(C, Path::Slow, slot(1), None)).unwrap();
    let figures = driver.figures().unwrap();
    assert_eq!((figures.waiting, figures.dropped), (fit + 1, 1));
    assert!(figures.bytes > waiting);
    shelf.run();
    assert_eq!(revealed(&unread(&effects)).len(), 1);
    assert_eq!(driver.figures().unwrap().bytes, 0);
    driver.on_message(D, flood(0)).unwrap();
}
