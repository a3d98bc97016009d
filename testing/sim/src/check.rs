//! Checkers: properties of the notes of a run that must hold whatever the protocol is.
//!
//! Each checker takes notes (leave out those of Byzantine seats) and a function that gives the meaning
//! of a note for this property, `None` if there is none. The first violation is returned as an error
//! that names the seats and the times.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use thiserror::Error;

use crate::host::Seat;
use crate::simulation::Note;

/// Two seats hold different values for one key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "disagreement on {key:?}: {first} has {first_value:?} at {first_at:?}, \
     {second} has {second_value:?} at {second_at:?}"
)]
pub struct Disagreement<K: Debug, V: Debug> {
    /// The key that they disagree on.
    pub key: K,
    /// The seat that noted it first.
    pub first: Seat,
    /// When it noted it, since the start.
    pub first_at: Duration,
    /// The value of the first seat.
    pub first_value: V,
    /// The seat that contradicts. It is the same seat if that changed its mind.
    pub second: Seat,
    /// When it noted it, since the start.
    pub second_at: Duration,
    /// The value of the second seat.
    pub second_value: V,
}

/// Two seats put different items at one position of their sequences.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "orders diverge at position {position}: {first} has {first_item:?}, {second} has {second_item:?}"
)]
pub struct Divergence<T: Debug> {
    /// The position, counted from zero.
    pub position: usize,
    /// The first seat.
    pub first: Seat,
    /// The item of the first seat.
    pub first_item: T,
    /// The other seat.
    pub second: Seat,
    /// The item of the other seat.
    pub second_item: T,
}

/// A note was made that must not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{seat} at {at:?}: {event}")]
pub struct UnwantedNote {
    /// The seat.
    pub seat: Seat,
    /// When, since the start.
    pub at: Duration,
    /// The event, as it prints.
    pub event: String,
}

/// A note that must be made was not made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{seat} has nothing for {key:?}")]
pub struct MissingNote<K: Debug> {
    /// The seat.
    pub seat: Seat,
    /// The key that has no note.
    pub key: K,
}

/// Checks that all seats with a value for a key have the same value, and never change it. Returns the values.
///
/// # Errors
/// [`Disagreement`] with the first note that contradicts an earlier one.
pub fn agreement<'a, E: 'a, K: Ord + Debug, V: PartialEq + Debug>(
    notes: impl IntoIterator<Item = &'a Note<E>>,
    mut claim: impl FnMut(&'a E) -> Option<(K, V)>,
) -> Result<BTreeMap<K, V>, Disagreement<K, V>> {
    let mut values: BTreeMap<K, (&Note<E>, V)> = BTreeMap::new();
    for note in notes {
        let Some((key, value)) = claim(&note.event) else { continue };
        let contradicted = values.get(&key).is_some_and(|(_, known)| *known != value);
        if !contradicted {
            values.entry(key).or_insert((note, value));
        } else if let Some((key, (first, first_value))) = values.remove_entry(&key) {
            return Err(Disagreement {
                key,
                first: first.seat,
                first_at: first.at.since_start(),
                first_value,
                second: note.seat,
                second_at: note.at.since_start(),
                second_value: value,
            });
        }
    }
    Ok(values.into_iter().map(|(key, (_, value))| (key, value)).collect())
}

/// Checks that every seat's sequence of items is a prefix of the longest one, and returns that one. A
/// seat that replays items after a restart must be left out, or must note them once.
///
/// # Errors
/// [`Divergence`] with the first position that differs.
pub fn total_order<'a, E: 'a, T: PartialEq + Clone + Debug>(
    notes: impl IntoIterator<Item = &'a Note<E>>,
    mut item: impl FnMut(&'a E) -> Option<T>,
) -> Result<Vec<T>, Divergence<T>> {
    let mut longest: Vec<(Seat, T)> = Vec::new();
    let mut lengths: BTreeMap<Seat, usize> = BTreeMap::new();
    for note in notes {
        let Some(item) = item(&note.event) else { continue };
        let length = lengths.entry(note.seat).or_default();
        let position = *length;
        *length += 1;
        match longest.get(position) {
            None => longest.push((note.seat, item)),
            Some((_, known)) if *known == item => {}
            Some((first, known)) => {
                return Err(Divergence {
                    position,
                    first: *first,
                    first_item: known.clone(),
                    second: note.seat,
                    second_item: item,
                });
            }
        }
    }
    Ok(longest.into_iter().map(|(_, item)| item).collect())
}

/// Checks that no note is of this kind.
///
/// # Errors
/// [`UnwantedNote`] with the first note that is.
pub fn never<'a, E: Debug + 'a>(
    notes: impl IntoIterator<Item = &'a Note<E>>,
    mut unwanted: impl FnMut(&'a Note<E>) -> bool,
) -> Result<(), UnwantedNote> {
    match notes.into_iter().find(|note| unwanted(note)) {
        None => Ok(()),
        Some(Note { at, seat, event, .. }) => {
            let event = format!("{event:?}");
            Err(UnwantedNote { seat: *seat, at: at.since_start(), event })
        }
    }
}

/// Checks that each of these seats has a note for each of these keys.
///
/// # Errors
/// [`MissingNote`] with the first seat that lacks one, and the key.
pub fn everywhere<'a, E: 'a, K: Ord + Clone + Debug>(
    notes: impl IntoIterator<Item = &'a Note<E>>,
    seats: impl IntoIterator<Item = Seat>,
    keys: &[K],
    mut key: impl FnMut(&'a E) -> Option<K>,
) -> Result<(), MissingNote<K>> {
    let seen: BTreeSet<(Seat, K)> =
        notes.into_iter().filter_map(|note| key(&note.event).map(|key| (note.seat, key))).collect();
    for seat in seats {
        for key in keys {
            if !seen.contains(&(seat, key.clone())) {
                return Err(MissingNote { seat, key: key.clone() });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use prefinal_protocol::Instant;

    use super::*;

    type Decided = (u32, char);

    fn note(seat: u32, event: Decided) -> Note<Decided> {
        let at = Instant::at(Duration::from_millis(u64::from(event.0)));
        Note { at, left: at, seat: Seat::new(seat), event }
    }

    #[test]
    fn agreement_finds_two_seats_and_a_seat_against_itself() {
        let mut notes = vec![note(0, (1, 'a')), note(1, (1, 'a')), note(0, (2, 'b'))];
        let values = agreement(&notes, |event| Some(*event)).unwrap();
        assert_eq!(values, BTreeMap::from([(1, 'a'), (2, 'b')]));
        notes.push(note(1, (2, 'c')));
        let error = agreement(&notes, |event| Some(*event)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "disagreement on 2: seat 0 has 'b' at 2ms, seat 1 has 'c' at 2ms"
        );
        let fickle = [note(0, (1, 'a')), note(0, (1, 'b'))];
        assert!(agreement(&fickle, |event| Some(*event)).is_err());
        assert!(agreement(&fickle, |_| None::<(u32, char)>).is_ok());
    }

    #[test]
    fn total_order_allows_laggards_and_finds_swaps() {
        let mut notes = vec![note(0, (1, 'a')), note(0, (2, 'b')), note(1, (1, 'a'))];
        assert_eq!(total_order(&notes, |event| Some(event.1)), Ok(vec!['a', 'b']));
        notes.push(note(1, (3, 'c')));
        let error = total_order(&notes, |event| Some(event.1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "orders diverge at position 1: seat 0 has 'b', seat 1 has 'c'"
        );
    }

    #[test]
    fn never_and_everywhere_name_the_seat() {
        let notes = [note(0, (1, 'a')), note(1, (2, 'x'))];
        let error = never(&notes, |note| note.event.1 == 'x').unwrap_err();
        assert_eq!(error.to_string(), "seat 1 at 2ms: (2, 'x')");
        assert_eq!(never(&notes, |note| note.event.1 == 'y'), Ok(()));
        let seats = || [Seat::new(0), Seat::new(1)];
        assert_eq!(everywhere(&notes, [Seat::new(0)], &[1], |event| Some(event.0)), Ok(()));
        let error = everywhere(&notes, seats(), &[1], |event| Some(event.0)).unwrap_err();
        assert_eq!(error.to_string(), "seat 1 has nothing for 1");
    }
}
