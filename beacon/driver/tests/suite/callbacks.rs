//! What each callback does.
use prefinal_beacon::{Effect, Input, Path, Record, Refusal, Wvuf};
use prefinal_driver::{MessageError, Options};

use crate::fixture::*;
use crate::tools::*;

suite! {
    the_partial_for_the_envelope_is_returned_behind_its_record
    a_view_that_is_given_up_releases_nothing
    a_slot_is_revealed_when_its_partials_are_there
    a_stranger_is_refused_at_the_door
}

fn the_partial_for_the_envelope_is_returned_behind_its_record<S: Instance>() {
    let world = World::<S>::four(801);
    let journal = Paper::default();
    let (driver, effects) = start(&world, &journal, here, Options::default());
    let partial = driver.on_prefinalize(slot(1), view(1, 0), V).unwrap().unwrap();
    assert_eq!(partial, world.message(A, Path::Fast, slot(1), None));
    assert_eq!(journal.records(), [Record::Released { slot: slot(1), value: V }]);
    // It rides with the vote and nowhere else.
    assert!(unread(&effects).is_empty());
    // Asked again, the same again, without a second record.
    assert_eq!(driver.on_prefinalize(slot(1), view(1, 0), V).unwrap(), Some(partial));
    assert_eq!(journal.records().len(), 1);
    driver.on_finalize(slot(1), Some(V)).unwrap();
    let late = world.message(A, Path::Slow, slot(1), None);
    assert_eq!(to_send(&unread(&effects)), [late]);
}

fn a_view_that_is_given_up_releases_nothing<S: Instance>() {
    let world = World::<S>::four(802);
    let journal = Paper::default();
    let (driver, effects) = start(&world, &journal, here, Options::default());
    driver.on_view_abandoned(view(3, 0)).unwrap();
    assert_eq!(journal.records(), [Record::Abandoned { view: view(3, 0) }]);
    for number in [2, 3] {
        assert_eq!(driver.on_prefinalize(slot(number), view(number, 0), V).unwrap(), None);
    }
    let refused = unread(&effects);
    assert_eq!(refused.len(), 2);
    let withheld = |event: &Effect<S>| matches!(event, Effect::Refused(Refusal::Withheld(_)));
    assert!(refused.iter().all(withheld), "{refused:?}");
    assert!(driver.on_prefinalize(slot(4), view(4, 0), V).unwrap().is_some());
}

fn a_slot_is_revealed_when_its_partials_are_there<S: Instance>() {
    let world = World::<S>::four(803);
    let journal = Paper::default();
    let (driver, effects) = start(&world, &journal, here, Options::default());
    for number in 1..=3 {
        driver.on_finalize(slot(number), Some(V)).unwrap();
        driver.on_message(B, slow(&world, number)).unwrap();
    }
    let reveals = revealed(&unread(&effects));
    assert_eq!(reveals.iter().map(|one| one.slot).collect::<Vec<_>>(), [1, 2, 3].map(slot));
    assert!(reveals.iter().all(|one| one.output == world.output(one.slot, None)));
    let figures = driver.figures().unwrap();
    assert_eq!((figures.head, figures.jobs, figures.waiting, figures.dropped), (slot(4), 0, 0, 0));
}

fn a_stranger_is_refused_at_the_door<S: Instance>() {
    let world = World::<S>::four(804);
    let (driver, effects) = start(&world, &Paper::default(), here, Options::default());
    let stranger = prefinal_crypto_core::access::Party::new(4);
    let refused = driver.on_message(stranger, slow(&world, 1)).unwrap_err();
    assert!(matches!(refused, MessageError::NotMember { from, members: 4 } if from == stranger));
    assert!(unread(&effects).is_empty());
}

#[test]
fn a_key_that_came_before_is_refused_with_a_reason() {
    let world = World::<Wvuf>::four(805);
    let (driver, effects) = start(&world, &Paper::default(), here, Options::default());
    let key = world.paths[&Path::Slow].admitted[&B].clone();
    driver.tell(Input::Admitted { path: Path::Slow, key }).unwrap();
    assert!(matches!(unread(&effects)[..], [Effect::Refused(Refusal::Key(_))]));
}
