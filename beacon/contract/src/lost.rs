//! What a life before this one may have said, of which the records say nothing.
//!
//! A party goes on from its records and cannot tell whether they are the latest: a backup that was put
//! back opens like any other journal. In the *lost life* behind it, this party may have released for
//! slots that its records do not name, and must not release for another value now. Its records cannot
//! say how far it was. Its peers can:
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
//! 1. A party releases early for no slot further ahead than the window of the first that is not final
//!    there ([`Withheld::Ahead`](super::Withheld::Ahead)). So the last one was at most `L + window`.
//! 2. `L − 1` was final there, so stake `q` had voted for it or for a slot after it. Of these, `f` may be
//!    faulty, and this party is one: at least `q − f` without its own stake are honest peers, who
//!    remember. The other peers hold at most `X − q + f`.
//! 3. Peers are asked in this life, with a number that no life had before, so what they answer was said
//!    after the lost life ended. Whichever peers hold more than `X − q + f`, one of them is of 2. Of all
//!    answers the *smallest* from peers that hold so much are taken: a liar who names a slot far ahead is
//!    not among them, and one who names a slot far behind takes no place of an honest witness.
//! 4. If `H` is the largest of those, `L ≤ H`. So whatever lies beyond `H + window` was never released.
//!
//! With `q = X − f`, as in engines that survive a third, `X − q + f` is `2f`. More than `f`, which sure
//! has an honest peer among it, would do if honest peers were never behind: one that was cut off while
//! the others finalized, together with the faulty, would name a head from before the lost life.
//!
//! A party that holds more than `f` alone asks all its peers, and more nobody can: what it finalized with
//! nobody but the faulty no honest peer has seen.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};
use protocol::{Party, Slot};

use crate::Finality;

/// Which slots a lost life may have released for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lost {
    /// There was none: the party's first life, with a journal that was made for it.
    #[default]
    Nothing,
    /// Any: too few peers have said where they are.
    Unknown,
    /// Those before this one.
    Before(Slot),
}

/// Which of its lives a party is in: whether its records are sure to be all that it ever said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The first. Its journal was *made* for this start, and its keys have said nothing before.
    First,
    /// A later one: its journal was *opened*. It may be an older copy, also where it seems to be whole.
    Later(LifeId),
}

/// Tells the answers to this life from those to earlier ones. Never the same twice for a party, so not
/// taken from its records: 16 bytes of the system's randomness, or a counter that no backup puts back.
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
    /// A later life of this number.
    #[must_use]
    pub const fn later(bytes: [u8; 16]) -> Self {
        Self::Later(LifeId::new(bytes))
    }

    /// What is lost at its start.
    #[must_use]
    pub const fn lost(self) -> Lost {
        match self {
            Self::First => Lost::Nothing,
            Self::Later(_) => Lost::Unknown,
        }
    }
}

impl Lost {
    /// Whether the slot may have been released in a lost life.
    #[must_use]
    pub fn has(self, slot: Slot) -> bool {
        match self {
            Self::Nothing => false,
            Self::Unknown => true,
            Self::Before(first) => slot < first,
        }
    }

    /// The first slot that was not; `None` while it is not known.
    #[must_use]
    pub const fn first_free(self) -> Option<Slot> {
        match self {
            Self::Before(first) => Some(first),
            Self::Nothing | Self::Unknown => None,
        }
    }
}

/// What is lost once peers have said where they are: `heads` has what each answered in this life, the
/// first slot above all that it has spoken of. `own` is the same of this party's records.
#[must_use]
pub fn recollect(
    finality: &Finality,
    me: Party,
    heads: &BTreeMap<Party, Slot>,
    own: Slot,
    window: u64,
) -> Lost {
    let need = finality.witnesses(me).get();
    let mut answers: Vec<(Slot, Party)> = heads.iter().map(|(peer, head)| (*head, *peer)).collect();
    answers.retain(|(_, peer)| *peer != me);
    // More answers bring it closer, never further away.
    answers.sort_unstable();
    let (mut stake, mut furthest) = (0_u128, own);
    for (head, peer) in answers {
        if stake >= need {
            break;
        }
        stake = stake.saturating_add(finality.stake(peer).get());
        furthest = furthest.max(head);
    }
    if stake < need { Lost::Unknown } else { Lost::Before(furthest.after(window).next()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use weighted_rounding::Stake;

    use super::*;
    use crate::Quorum;

    const ME: Party = Party::new(0);

    fn finality(stakes: &[u128]) -> Finality {
        let stakes: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
        Finality::exact(&stakes, Quorum::BYZANTINE).unwrap()
    }

    fn after(stakes: &[u128], heads: &[(u32, u64)]) -> Lost {
        let heads = heads.iter().map(|(peer, head)| (Party::new(*peer), Slot::new(*head)));
        recollect(&finality(stakes), ME, &heads.collect(), Slot::new(5), 10)
    }

    #[test]
    fn too_few_peers_say_nothing() {
        let seven = [1; 7];
        let mut heads: Vec<(u32, u64)> = Vec::new();
        for peer in 1..=4 {
            assert_eq!(after(&seven, &heads), Lost::Unknown);
            heads.push((peer, 100));
        }
        assert_eq!(after(&seven, &heads), Lost::Unknown, "2f of seven");
        heads.push((5, 100));
        assert_eq!(after(&seven, &heads), Lost::Before(Slot::new(111)));
    }

    /// The party's own word is of no use to it.
    #[test]
    fn its_own_answer_does_not_count() {
        let heads = [(0, 7), (1, 7), (2, 7), (3, 7), (4, 7)];
        assert_eq!(after(&[1; 7], &heads), Lost::Unknown);
    }

    #[test]
    fn a_liar_moves_nothing() {
        // f = 2: two far ahead, and one who is not asked twice.
        let ahead = [(1, u64::MAX), (2, 100), (3, 101), (4, 102), (5, 103), (6, 104)];
        assert_eq!(after(&[1; 7], &ahead), Lost::Before(Slot::new(115)));
        // Two far behind: an honest witness is among the others.
        let behind = [(1, 0), (2, 0), (3, 100), (4, 100), (5, 100), (6, 100)];
        assert_eq!(after(&[1; 7], &behind), Lost::Before(Slot::new(111)));
    }

    /// Four parties; the lost life saw slot 99 final by its own vote and those of 1 and 2. Party 3 was cut
    /// off at 20. Had more than f been enough, 3 and a liar would have been.
    #[test]
    fn one_who_was_cut_off_and_a_liar_are_no_witnesses() {
        assert_eq!(after(&[1; 4], &[(3, 20), (1, 0)]), Lost::Unknown);
        let all = [(3, 20), (1, 0), (2, 100)];
        assert_eq!(after(&[1; 4], &all), Lost::Before(Slot::new(111)));
    }

    #[test]
    fn its_own_records_count_if_they_are_further() {
        assert_eq!(after(&[1; 4], &[(1, 0), (2, 0), (3, 1)]), Lost::Before(Slot::new(16)));
    }

    #[test]
    fn who_holds_more_than_the_faulty_asks_all_others() {
        let heads = [(1, 50), (2, 60)];
        assert_eq!(after(&[40, 30, 20, 10], &heads), Lost::Unknown);
        let all = [(1, 50), (2, 60), (3, 70)];
        assert_eq!(after(&[40, 30, 20, 10], &all), Lost::Before(Slot::new(81)));
        // Alone there is nobody to ask.
        assert_eq!(after(&[1], &[]), Lost::Before(Slot::new(16)));
    }

    #[test]
    fn slots_end() {
        let last = [(1, u64::MAX), (2, u64::MAX), (3, u64::MAX)];
        assert_eq!(after(&[1; 4], &last), Lost::Before(Slot::new(u64::MAX)));
        assert!(Lost::Unknown.has(Slot::new(0)) && !Lost::Nothing.has(Slot::new(0)));
        assert!(Lost::Before(Slot::new(3)).has(Slot::new(2)));
        assert!(!Lost::Before(Slot::new(3)).has(Slot::new(3)));
    }
}
