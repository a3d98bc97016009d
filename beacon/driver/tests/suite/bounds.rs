//! What happens when queues are full, and that the engine never waits for it.
use beacon::{Message, Path};
use driver::{MessageError, Options};

use crate::fixture::*;
use crate::tools::*;

suite! {
    a_flood_takes_the_floods_own_places_only
    a_slow_pool_keeps_messages_waiting_and_the_engine_not
    unread_events_keep_messages_waiting_and_the_engine_not
}

fn flood<S: Instance>(number: u64) -> Message<S> {
    Message::Request { slot: slot(number) }
}

/// A job on the shelf is all that the bound allows, so messages wait from here on.
fn stalled<S: Instance>(
    world: &World<S>,
    options: Options,
) -> (driver::Driver<S>, driver::Receiver<driver::Event<S>>, Shelf) {
    let shelf = Shelf::default();
    let (driver, events) = start(world, &Paper::default(), shelf.pool(), options);
    driver.on_finalize(slot(1), Some(V)).unwrap();
    driver.on_message(B, slow(world, 1)).unwrap();
    assert_eq!(shelf.len(), 1);
    (driver, events, shelf)
}

fn a_flood_takes_the_floods_own_places_only<S: Instance>() {
    let world = World::<S>::four(811);
    let options = Options { per_peer: 8, jobs: 1, ..Options::default() };
    let (driver, events, shelf) = stalled(&world, options);
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
    assert_eq!(revealed(&unread(&events)).len(), 1);
    assert_eq!(driver.figures().unwrap().waiting, 0);
    driver.on_message(D, flood(0)).unwrap();
}

fn a_slow_pool_keeps_messages_waiting_and_the_engine_not<S: Instance>() {
    let world = World::<S>::four(812);
    let options = Options { per_peer: 64, jobs: 1, ..Options::default() };
    let (driver, events, shelf) = stalled(&world, options);
    for number in 2..=20 {
        assert!(driver.on_prefinalize(slot(number), view(number, 0), V).unwrap().is_some());
        driver.on_finalize(slot(number), Some(V)).unwrap();
        driver.on_message(B, slow(&world, number)).unwrap();
    }
    // The slow partial of every slot, though not a single job is done.
    assert_eq!(to_send(&unread(&events)).len(), 20);
    assert_eq!(driver.figures().unwrap().waiting, 19);
    shelf.run();
    assert_eq!(revealed(&unread(&events)).len(), 20);
}

fn unread_events_keep_messages_waiting_and_the_engine_not<S: Instance>() {
    let world = World::<S>::four(813);
    let options = Options { events: 3, ..Options::default() };
    let (driver, events) = start(&world, &Paper::default(), here, options);
    for number in 1..=10 {
        driver.on_finalize(slot(number), Some(V)).unwrap();
        driver.on_message(B, slow(&world, number)).unwrap();
    }
    // Slot 1 and 2 were revealed when there was room; the engine's partials are all there.
    let before = unread(&events);
    assert_eq!((to_send(&before).len(), revealed(&before).len()), (10, 1));
    // The reader caught up; the next call works off what waits.
    driver.tick().unwrap();
    let mut after = revealed(&before).len();
    while driver.figures().unwrap().unread > 0 {
        after += revealed(&unread(&events)).len();
        driver.tick().unwrap();
    }
    assert_eq!((after, driver.figures().unwrap().waiting), (10, 0));
}
