//! The newest rounds as they are served: encoded, in a ring of places that is there from the start.
//!
//! Round `r` has place `r mod PLACES`, so a round takes the place of the one that is `PLACES` older, and a round
//! that never came leaves its place empty. A place has 49 bytes, the signature and whether it is there: the
//! 100 000 places of a devnet are 4.9 MB when it starts and when it has run for a year.

/// A signature in 𝔾₁, as drand's clients read it.
pub(super) type Encoded = [u8; 48];

/// Rounds that are kept.
pub(super) const PLACES: usize = 100_000;

/// The newest rounds that are served, each as its encoded signature.
pub(super) struct Rounds {
    places: Box<[Option<Encoded>]>,
    /// Zero before the first.
    newest: u64,
}

impl Rounds {
    /// Without any yet, and with room for the newest so many.
    pub(super) fn new(places: usize) -> Self {
        Self { places: vec![None; places].into_boxed_slice(), newest: 0 }
    }

    /// The round of this number, if it is there.
    pub(super) fn get(&self, round: u64) -> Option<&Encoded> {
        let place = self.is_kept(round).then(|| self.place(round))??;
        self.places.get(place)?.as_ref()
    }

    /// Keeps a round, unless it is there or too old.
    pub(super) fn insert(&mut self, round: u64, signature: Encoded) {
        // Places between the newest and this one are those of rounds that go now.
        let skipped = round.saturating_sub(self.newest).min(self.len());
        for ahead in 0..skipped {
            self.set(round.saturating_sub(ahead), None);
        }
        self.newest = self.newest.max(round);
        if self.is_kept(round) && self.get(round).is_none() {
            self.set(round, Some(signature));
        }
    }

    fn set(&mut self, round: u64, to: Option<Encoded>) {
        let place = self.place(round).and_then(|place| self.places.get_mut(place));
        place.into_iter().for_each(|place| *place = to);
    }

    fn is_kept(&self, round: u64) -> bool {
        round <= self.newest && self.newest.saturating_sub(round) < self.len()
    }

    fn place(&self, round: u64) -> Option<usize> {
        usize::try_from(round.checked_rem(self.len())?).ok()
    }

    /// How many there is room for.
    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.places.len()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn encoded(round: u64) -> Encoded {
        let mut bytes = [0; 48];
        bytes[..8].copy_from_slice(&round.to_be_bytes());
        bytes
    }

    /// What is kept of these, in the order in which they come.
    fn kept(rounds: &[u64]) -> Vec<u64> {
        let mut ring = Rounds::new(8);
        rounds.iter().for_each(|round| ring.insert(*round, encoded(*round)));
        let there = |round: &u64| {
            let found = ring.get(*round);
            assert!(found.is_none_or(|found| *found == encoded(*round)), "{round}");
            found.is_some()
        };
        let most = rounds.iter().max().map_or(0, |most| most.saturating_add(20));
        (most.saturating_sub(60)..=most).filter(there).collect()
    }

    #[test]
    fn the_newest_are_kept_with_their_gaps() {
        assert!(kept(&[]).is_empty());
        assert_eq!(kept(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(kept(&(1..=30).collect::<Vec<_>>()), (23..=30).collect::<Vec<_>>());
        // Out of turn, too old, and one that is missing for ever.
        assert_eq!(kept(&[5, 4, 7, 13, 6, 5, 12]), [6, 7, 12, 13]);
        assert_eq!(kept(&[1, 2, 3, 100, 101]), [100, 101]);
        assert_eq!(kept(&[3, u64::MAX]), [u64::MAX]);
        assert_eq!(kept(&[1, 9, 1]), [9]);
    }

    #[test]
    fn the_first_of_a_round_counts() {
        let mut ring = Rounds::new(8);
        ring.insert(3, encoded(3));
        ring.insert(3, encoded(4));
        assert_eq!(ring.get(3), Some(&encoded(3)));
    }

    #[test]
    fn it_keeps_what_a_map_would() {
        let (mut ring, mut map) = (Rounds::new(8), BTreeMap::new());
        let mut state = 7_u64;
        for step in 0..2_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let round = 1 + step / 3 + (state >> 60);
            ring.insert(round, encoded(step));
            let newest = map.last_key_value().map_or(0, |(newest, _)| round.max(*newest));
            if newest < round + 8 {
                map.entry(round).or_insert(encoded(step));
            }
            map.retain(|kept, _| newest.max(round) < kept + 8);
            let around = round.saturating_sub(20)..round + 20;
            around.for_each(|one| assert_eq!(ring.get(one), map.get(&one), "{one}"));
        }
    }
}
