//! What an earlier life of this party may have said without a record.
//!
//! A party continues from its records and cannot tell whether they are the latest ones: a restored backup
//! opens like any other journal. In the *lost life* after the backup, this party may have released for slots
//! that its records do not name. It must not release for another value now. Its records cannot say how far
//! the lost life was. Its peers can:
//!
//! ```text
//!   slots ──────┬───────────────┬──────────────┬───────────────────────►
//!           records end     L − 1 final    L + window
//!                           in the lost    the last that it
//!                           life           can have released for
//!                               │
//!                               └► voted for by a quorum q, so every set of peers that holds more than
//!                                  X − q + f has an honest one that says "I am at L, or further"
//! ```
//! 1. A party releases early only within the window after the first slot that is not final at that party
//!    ([`Withheld::Ahead`](super::Withheld::Ahead)). So the last release was at most for `L + window`.
//! 2. `L − 1` was final at the party, so stake `q` had voted for it or for a later slot. Of this stake, `f`
//!    may be faulty, and this party is part of it. So at least `q − f`, minus this party's own stake, belongs
//!    to honest peers, who remember. The other peers hold at most `X − q + f`.
//! 3. Peers are asked in this life, with a number that no life had before. So their answers were given after
//!    the lost life ended. Any set of peers with more than `X − q + f` has one of the honest peers of 2. Of
//!    all answers, the *smallest* are taken, from peers that together hold this much. A liar that names a
//!    slot far ahead is not among them. A liar that names a slot far behind does not take the place of an
//!    honest witness.
//! 4. Let `H` be the largest of these answers. Then `L ≤ H`, so nothing beyond `H + window` was released.
//!
//! With `q = X − f`, as in engines that survive a third, `X − q + f` is `2f`. A set with more than `f` is
//! certain to have an honest peer. That would be enough if honest peers were never behind. But an honest peer
//! that was cut off while the others finalized could, together with the faulty ones, name a head from before
//! the lost life.
//!
//! A party that itself holds more than `f` asks all its peers, and nobody can ask more. If it finalized
//! something with the help of faulty parties only, no honest peer has seen that.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Party, Slot};

use crate::Finality;

/// The slots that a lost life may have released for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LostSlots {
    /// No slots: this is the party's first life, with a journal that was created for it.
    #[default]
    Nothing,
    /// Any slot: too few peers have said where they are.
    Unknown,
    /// All slots before this one.
    Before(Slot),
}

/// Whether the party's records are certain to be everything that it ever said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The first life. The journal was *created* for this start, and the keys have said nothing before.
    First,
    /// A later life: the journal was *opened*. It may be an older copy, even if it seems to be complete.
    Later(LifeId),
}

/// Tells answers to this life from answers to earlier ones. It must never be the same twice for a party, so
/// it must not come from its records. Use 16 bytes of the system's randomness, or a counter that no backup
/// resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct LifeId([u8; 16]);

impl LifeId {
    /// The life with this number.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl Life {
    /// A later life with this number.
    #[must_use]
    pub const fn later(bytes: [u8; 16]) -> Self {
        Self::Later(LifeId::new(bytes))
    }

    /// What may be lost at the start of this life.
    #[must_use]
    pub const fn lost(self) -> LostSlots {
        match self {
            Self::First => LostSlots::Nothing,
            Self::Later(_) => LostSlots::Unknown,
        }
    }
}

impl LostSlots {
    /// Whether a lost life may have released for the slot.
    #[must_use]
    pub fn has(self, slot: Slot) -> bool {
        match self {
            Self::Nothing => false,
            Self::Unknown => true,
            Self::Before(first) => slot < first,
        }
    }

    /// The first slot that no lost life has released for; `None` if it is not known, or if nothing is lost.
    #[must_use]
    pub const fn first_free(self) -> Option<Slot> {
        match self {
            Self::Before(first) => Some(first),
            Self::Nothing | Self::Unknown => None,
        }
    }
}

/// What may be lost once peers have said where they are. `heads` has the answer of each peer in this life:
/// the first slot after all slots that the peer has spoken of. `own` is the same slot, from this party's
/// records.
#[must_use]
pub fn recollect(
    finality: &Finality,
    me: Party,
    heads: &BTreeMap<Party, Slot>,
    own: Slot,
    window: u64,
) -> LostSlots {
    let need = finality.witnesses(me).get();
    let mut answers: Vec<(Slot, Party)> = heads.iter().map(|(peer, head)| (*head, *peer)).collect();
    answers.retain(|(_, peer)| *peer != me);
    // More answers can only bring the slot closer, never move it further away.
    answers.sort_unstable();
    let (mut stake, mut furthest) = (0_u128, own);
    for (head, peer) in answers {
        if stake >= need {
            break;
        }
        stake = stake.saturating_add(finality.stake(peer).get());
        furthest = furthest.max(head);
    }
    if stake < need { LostSlots::Unknown } else { LostSlots::Before(furthest.after(window).next()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use prefinal_weighted_rounding::Stake;

    use super::*;
    use crate::Quorum;

    const ME: Party = Party::new(0);

    fn finality(stakes: &[u128]) -> Finality {
        let stakes: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
        Finality::exact(&stakes, Quorum::BYZANTINE).unwrap()
    }

    fn after(stakes: &[u128], heads: &[(u32, u64)]) -> LostSlots {
        let heads = heads.iter().map(|(peer, head)| (Party::new(*peer), Slot::new(*head)));
        recollect(&finality(stakes), ME, &heads.collect(), Slot::new(5), 10)
    }

    #[test]
    fn too_few_peers_say_nothing() {
        let seven = [1; 7];
        let mut heads: Vec<(u32, u64)> = Vec::new();
        for peer in 1..=4 {
            assert_eq!(after(&seven, &heads), LostSlots::Unknown);
            heads.push((peer, 100));
        }
        assert_eq!(after(&seven, &heads), LostSlots::Unknown, "2f of seven");
        heads.push((5, 100));
        assert_eq!(after(&seven, &heads), LostSlots::Before(Slot::new(111)));
    }

    /// The party's own word is of no use to it.
    #[test]
    fn its_own_answer_does_not_count() {
        let heads = [(0, 7), (1, 7), (2, 7), (3, 7), (4, 7)];
        assert_eq!(after(&[1; 7], &heads), LostSlots::Unknown);
    }

    #[test]
    fn a_liar_moves_nothing() {
        // f = 2: two far ahead, and one who is not asked twice.
        let ahead = [(1, u64::MAX), (2, 100), (3, 101), (4, 102), (5, 103), (6, 104)];
        assert_eq!(after(&[1; 7], &ahead), LostSlots::Before(Slot::new(115)));
        // Two far behind: an honest witness is among the others.
        let behind = [(1, 0), (2, 0), (3, 100), (4, 100), (5, 100), (6, 100)];
        assert_eq!(after(&[1; 7], &behind), LostSlots::Before(Slot::new(111)));
    }

    /// Four parties; the lost life saw slot 99 final by its own vote and those of 1 and 2. Party 3 was cut
    /// off at 20. Had more than f been enough, 3 and a liar would have been.
    #[test]
    fn one_who_was_cut_off_and_a_liar_are_no_witnesses() {
        assert_eq!(after(&[1; 4], &[(3, 20), (1, 0)]), LostSlots::Unknown);
        let all = [(3, 20), (1, 0), (2, 100)];
        assert_eq!(after(&[1; 4], &all), LostSlots::Before(Slot::new(111)));
    }

    #[test]
    fn its_own_records_count_if_they_are_further() {
        assert_eq!(after(&[1; 4], &[(1, 0), (2, 0), (3, 1)]), LostSlots::Before(Slot::new(16)));
    }

    #[test]
    fn a_party_that_holds_more_than_the_faulty_asks_all_others() {
        let heads = [(1, 50), (2, 60)];
        assert_eq!(after(&[40, 30, 20, 10], &heads), LostSlots::Unknown);
        let all = [(1, 50), (2, 60), (3, 70)];
        assert_eq!(after(&[40, 30, 20, 10], &all), LostSlots::Before(Slot::new(81)));
        // Alone there is nobody to ask.
        assert_eq!(after(&[1], &[]), LostSlots::Before(Slot::new(16)));
    }

    #[test]
    fn slots_end() {
        let last = [(1, u64::MAX), (2, u64::MAX), (3, u64::MAX)];
        assert_eq!(after(&[1; 4], &last), LostSlots::Before(Slot::new(u64::MAX)));
        assert!(LostSlots::Unknown.has(Slot::new(0)) && !LostSlots::Nothing.has(Slot::new(0)));
        assert!(LostSlots::Before(Slot::new(3)).has(Slot::new(2)));
        assert!(!LostSlots::Before(Slot::new(3)).has(Slot::new(3)));
    }
}
