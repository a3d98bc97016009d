//! Shutting down in the middle, journals that fail, readers that leave, and going on afterwards.
use std::num::NonZeroUsize;

use prefinal_beacon::{Beacon, Effect, Input, Mode, Path, Slot, Switch};
use prefinal_driver::{Driver, MessageError, Options, StartError, StopReason};
use prefinal_journal::Redb;

use crate::fixture::*;
use crate::tools::*;

suite! {
    a_shut_down_driver_goes_on_where_it_ended
    a_file_is_free_when_the_driver_is_shut_down
    a_failed_journal_lets_nothing_leave
    a_panic_in_the_journal_stops_everybody
    without_a_reader_nothing_is_promised
    what_was_not_read_is_revealed_again
    what_was_off_and_not_read_is_said_again
    the_last_handle_ends_the_stream
}

fn a_shut_down_driver_goes_on_where_it_ended<S: Instance>() {
    let world = World::<S>::four(831);
    let (journal, shelf) = (Paper::default(), DeferredPool::default());
    let (driver, effects) = start(&world, &journal, shelf.pool(), Options::default());
    let early = driver.on_prefinalize(slot(2), view(2, 0), V).unwrap().unwrap();
    driver.on_finalize(slot(1), Some(V)).unwrap();
    driver.on_message(B, slow(&world, 1)).unwrap();
    assert_eq!(shelf.len(), 1, "a job is on its way");
    let clone = driver.clone();
    driver.shut_down().unwrap();
    // What was said before is still read, then the stream ends.
    assert_eq!(to_send(&unread(&effects)), [world.message(A, Path::Slow, slot(1), None)]);
    assert!(effects.is_closed());
    shelf.run();
    assert!(unread(&effects).is_empty(), "an abandoned job says nothing");
    for refused in [
        clone.on_finalize(slot(2), Some(V)).unwrap_err(),
        clone.on_prefinalize(slot(2), view(2, 0), V).unwrap_err(),
        clone.on_view_abandoned(view(2, 0)).unwrap_err(),
        clone.tick().unwrap_err(),
        clone.figures().unwrap_err(),
    ] {
        assert!(matches!(refused, StopReason::ShutDown), "{refused}");
    }
    let late = clone.on_message(B, slow(&world, 1)).unwrap_err();
    assert!(matches!(late, MessageError::Stopped(StopReason::ShutDown)), "{late}");
    assert!(clone.shut_down().is_ok(), "twice is once");
    // The next life repeats what is final by itself, what is not with the vote, byte by byte.
    let (driver, effects) = start(&world, &journal.torn_off(), here, Options::default());
    assert_eq!(to_send(&unread(&effects)), [world.message(A, Path::Slow, slot(1), None)]);
    assert_eq!(driver.on_prefinalize(slot(2), view(2, 0), V).unwrap(), Some(early));
    driver.on_message(B, slow(&world, 1)).unwrap();
    assert_eq!(revealed(&unread(&effects)).len(), 1);
    // It promised `V`, so there is no `W`.
    assert_eq!(driver.on_prefinalize(slot(2), view(2, 0), W).unwrap(), None);
}

fn a_file_is_free_when_the_driver_is_shut_down<S: Instance>() {
    let world = World::<S>::four(832);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let shelf = DeferredPool::default();
    let start = |mut journal: Redb| {
        let config = config(&world, &mut journal);
        Driver::start(
            |records| Beacon::new(config, &records),
            journal,
            shelf.pool(),
            Options::default(),
        )
        .unwrap()
    };
    let (driver, _events) = start(Redb::create(&path, "A").unwrap());
    let early = driver.on_prefinalize(slot(1), view(1, 0), V).unwrap().unwrap();
    driver.on_finalize(slot(2), Some(V)).unwrap();
    driver.on_message(B, slow(&world, 2)).unwrap();
    assert!(Redb::open(&path, "A").is_err(), "it is in use");
    driver.shut_down().unwrap();
    // A handle and a job still live.
    assert!(shelf.len() > 0);
    let (driver, effects) = start(Redb::open(&path, "A").unwrap());
    assert_eq!(to_send(&unread(&effects)), [world.message(A, Path::Slow, slot(2), None)]);
    assert_eq!(driver.on_prefinalize(slot(1), view(1, 0), V).unwrap(), Some(early));
}

fn a_failed_journal_lets_nothing_leave<S: Instance>() {
    let world = World::<S>::four(833);
    let journal = Paper::default();
    let (driver, effects) = start(&world, &journal, here, Options::default());
    driver.on_finalize(slot(1), Some(V)).unwrap();
    *journal.fails.lock().unwrap() = Some(Fails::Error);
    let failed = driver.on_prefinalize(slot(2), view(2, 0), V).unwrap_err();
    assert!(failed.to_string().contains("no space left"), "{failed}");
    // Mended, it stays ended: nobody knows what was written.
    *journal.fails.lock().unwrap() = None;
    for refused in [
        driver.on_finalize(slot(2), Some(V)).unwrap_err(),
        driver.tick().unwrap_err(),
        driver.shut_down().unwrap_err(),
        driver.run_clock(std::time::Duration::ZERO),
    ] {
        assert_eq!(refused.to_string(), failed.to_string());
    }
    assert!(driver.on_message(B, slow(&world, 1)).is_err());
    assert_eq!(to_send(&unread(&effects)), [world.message(A, Path::Slow, slot(1), None)]);
    assert!(effects.is_closed());
}

fn a_panic_in_the_journal_stops_everybody<S: Instance>() {
    let world = World::<S>::four(834);
    let journal = Paper::default();
    let (driver, effects) = start(&world, &journal, here, Options::default());
    *journal.fails.lock().unwrap() = Some(Fails::Panic);
    let clone = driver.clone();
    let joined = std::thread::spawn(move || clone.on_finalize(slot(1), Some(V))).join();
    assert!(joined.is_err());
    assert!(matches!(driver.on_finalize(slot(1), Some(V)), Err(StopReason::Panicked)));
    assert!(matches!(driver.tick(), Err(StopReason::Panicked)));
    let message = driver.on_message(B, slow(&world, 1)).unwrap_err();
    assert!(matches!(message, MessageError::Stopped(StopReason::Panicked)), "{message}");
    assert!(effects.recv_blocking().is_err(), "the stream has ended, with nothing in it");
}

fn without_a_reader_nothing_is_promised<S: Instance>() {
    let world = World::<S>::four(835);
    let (driver, effects) = start(&world, &Paper::default(), here, Options::default());
    drop(effects);
    assert!(matches!(driver.on_finalize(slot(1), Some(V)), Err(StopReason::Unheard)));
    assert!(matches!(driver.tick(), Err(StopReason::Unheard)));
}

fn what_was_not_read_is_revealed_again<S: Instance>() {
    let world = World::<S>::four(836);
    let journal = Paper::default();
    let (driver, _events) = start(&world, &journal, here, Options::default());
    for number in 1..=5 {
        driver.on_finalize(slot(number), Some(V)).unwrap();
        driver.on_message(B, slow(&world, number)).unwrap();
    }
    driver.shut_down().unwrap();
    let reveal_again = |read: Option<Slot>| {
        let options = Options { read, ..Options::default() };
        let (driver, effects) = start(&world, &journal.torn_off(), here, options);
        for number in 1..=5 {
            driver.on_message(B, slow(&world, number)).unwrap();
        }
        revealed(&unread(&effects)).iter().map(|one| one.slot.get()).collect::<Vec<_>>()
    };
    assert_eq!(reveal_again(None), [0_u64; 0]);
    assert_eq!(reveal_again(Some(slot(5))), [0_u64; 0]);
    assert_eq!(reveal_again(Some(slot(3))), [4, 5]);
    assert_eq!(reveal_again(Some(slot(0))), [1, 2, 3, 4, 5]);
    // What the journal has forgotten cannot be revealed again, and a slot would be missing for ever.
    let journal = Paper::default();
    let short = Options { shorten: std::num::NonZeroUsize::MIN, ..Options::default() };
    let (driver, _events) = start(&world, &journal, here, short);
    for number in 1..=8 {
        driver.on_finalize(slot(number), Some(V)).unwrap();
        driver.on_message(B, slow(&world, number)).unwrap();
    }
    driver.shut_down().unwrap();
    let read = Some(slot(2));
    let config = config(&world, &mut journal.torn_off());
    let started = Driver::start(
        |records| Beacon::<S>::new(config, &records),
        journal.torn_off(),
        here,
        Options { read, ..short },
    );
    let Err(StartError::Forgotten { next, oldest }) = started.map(drop) else { panic!("started") };
    assert_eq!((next, oldest), (slot(3), Some(slot(5))));
}

/// Whether the journal is long or has been shortened, a reader hears of each slot.
fn what_was_off_and_not_read_is_said_again<S: Instance>() {
    let world = World::<S>::four(838);
    for shorten in [1, 1000].map(|every| NonZeroUsize::new(every).unwrap()) {
        let journal = Paper::default();
        let options = Options { shorten, ..Options::default() };
        let (driver, effects) = start(&world, &journal, here, options);
        driver.tell(Input::Switch(Switch { from: slot(3), mode: Mode::Off })).unwrap();
        driver.tell(Input::Switch(Switch { from: slot(4), mode: Mode::On })).unwrap();
        for number in 1..=5 {
            driver.on_finalize(slot(number), Some(V)).unwrap();
            // Told when it is final: slot 5 was off as well.
            if number == 5 {
                driver.tell(Input::WasOff { first: slot(5), last: slot(5) }).unwrap();
            }
            driver.on_message(B, slow(&world, number)).unwrap();
        }
        assert_eq!(
            outcomes(&unread(&effects)),
            [(1, true), (2, true), (3, false), (4, true), (5, false)]
        );
        driver.shut_down().unwrap();
        let options = Options { read: Some(slot(2)), ..options };
        let (driver, effects) = start(&world, &journal.torn_off(), here, options);
        for number in 3..=5 {
            driver.on_message(B, slow(&world, number)).unwrap();
        }
        assert_eq!(outcomes(&unread(&effects)), [(3, false), (4, true), (5, false)], "{shorten}");
    }
}

/// Slots as they were reported, those that were off with `false`.
fn outcomes<S: Instance>(effects: &[Effect<S>]) -> Vec<(u64, bool)> {
    let outcomes = effects.iter().filter_map(|event| match event {
        Effect::Reveal(reveal) => Some((reveal.slot.get(), true)),
        Effect::Off { slot } => Some((slot.get(), false)),
        _ => None,
    });
    outcomes.collect()
}

fn the_last_handle_ends_the_stream<S: Instance>() {
    let world = World::<S>::four(837);
    let shelf = DeferredPool::default();
    let (driver, effects) = start(&world, &Paper::default(), shelf.pool(), Options::default());
    driver.on_finalize(slot(1), Some(V)).unwrap();
    driver.on_message(B, slow(&world, 1)).unwrap();
    drop(driver);
    assert_eq!(unread(&effects).len(), 1);
    assert!(effects.recv_blocking().is_err());
    // A job that comes back to nobody is no problem.
    shelf.run();
}
