//! Votes until they are certificates, for engines whose certificates are sums of signatures.
//!
//! A vote costs nothing on arrival: it is stored unchecked, one per party and round. When votes that
//! agree hold a quorum of stake, they are summed and checked together. If the sum fails, the culprits'
//! votes are struck out, the others are known to be valid, and the next quorum may form. A party that
//! has spoiled a sum is a suspect: its votes count only after each was checked alone.
//!
//! A round `R` is whatever votes are counted in, such as a view. The choice `C` is what a vote is for: a
//! block, or the round of the sender's highest certificate, where all choices may count together. `S` is a
//! signature; the collector checks none, the engine's jobs do.
//!
//! ```
//! use prefinal_engine::collector::{Added, Collector, ReceivedVote, Standing};
//! use prefinal_protocol::Party;
//!
//! let mut votes = Collector::default();
//! for party in [0, 1, 2].map(Party::new) {
//!     let (choice, signature) = ("a block", [7; 48]);
//!     let vote = ReceivedVote { party, stake: 1, choice, signature, standing: Standing::Stored };
//!     assert_eq!(votes.add(5, vote), Added::Stored); // in round 5
//! }
//! let quorum = votes.quorum(5, |stake| stake >= 3, |choice| choice == "a block");
//! assert_eq!(quorum.unwrap().len(), 3); // now the three signatures are summed and checked
//! ```
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::RangeBounds;

use prefinal_protocol::Party;

/// Votes by round and party.
#[derive(Debug)]
pub struct Collector<R, C, S> {
    rounds: BTreeMap<R, Tally<C, S>>,
}

impl<R, C, S> Default for Collector<R, C, S> {
    fn default() -> Self {
        Self { rounds: BTreeMap::new() }
    }
}

#[derive(Debug)]
struct Tally<C, S> {
    ballots: BTreeMap<Party, Ballot<C, S>>,
    /// The stake of the counting ballots, by choice. It is kept up to date, so that a vote needs no
    /// walk over all.
    stake: BTreeMap<C, u128>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// A sum is being checked.
    Checking,
    /// The certificate is there.
    Closed,
}

#[derive(Debug)]
struct Ballot<C, S> {
    choice: C,
    signature: S,
    stake: u128,
    standing: Standing,
    contradicted: bool,
}

/// How far the collector trusts a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not checked, and there is no reason to.
    Stored,
    /// From a suspect: counts after its check.
    Suspected,
    /// Known to be valid.
    Verified,
    /// Known to be invalid. It keeps its place, so that the party cannot vote again.
    Rejected,
}

impl Standing {
    /// Whether a vote of this standing adds to the stake of its choice.
    #[must_use]
    pub const fn counts(self) -> bool {
        matches!(self, Self::Stored | Self::Verified)
    }
}

/// A vote as it comes in.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedVote<C, S> {
    /// The party that signed the vote.
    pub party: Party,
    /// The stake of that party.
    pub stake: u128,
    /// What the vote is for.
    pub choice: C,
    /// The signature on the vote.
    pub signature: S,
    /// How far the vote is trusted before it is checked.
    pub standing: Standing,
}

/// What was done with a vote.
#[derive(Debug, PartialEq, Eq)]
pub enum Added<C, S> {
    /// It is counted as far as its standing allows.
    Stored,
    /// The party has voted before, or the certificate is there already.
    Ignored,
    /// The party has voted for something else before, and this is the first such vote.
    Contradicts(C, S),
}

/// Votes that agree and hold a quorum.
pub type Votes<C, S> = BTreeMap<Party, (C, S)>;

impl<R: Copy + Ord, C: Copy + Ord, S: Copy> Collector<R, C, S> {
    /// Stores a vote. The first vote of a party in a round is the one that counts.
    pub fn add(&mut self, round: R, vote: ReceivedVote<C, S>) -> Added<C, S> {
        let ReceivedVote { party, stake, choice, signature, standing } = vote;
        let tally = self.rounds.entry(round).or_insert_with(Tally::new);
        if let Some(earlier) = tally.ballots.get_mut(&party) {
            if earlier.choice == choice || earlier.contradicted {
                return Added::Ignored;
            }
            earlier.contradicted = true;
            return Added::Contradicts(earlier.choice, earlier.signature);
        }
        let ballot = Ballot { choice, signature, stake, standing, contradicted: false };
        tally.ballots.insert(party, ballot);
        if standing.counts() {
            tally.weigh(choice, stake);
        }
        if tally.state == State::Closed { Added::Ignored } else { Added::Stored }
    }

    /// The votes for choices that `agree`, if they hold a quorum and no sum is being checked. From now
    /// on they count as being checked.
    pub fn quorum(
        &mut self,
        round: R,
        is_quorum: impl Fn(u128) -> bool,
        agree: impl Fn(C) -> bool,
    ) -> Option<Votes<C, S>> {
        let tally = self.rounds.get_mut(&round).filter(|tally| tally.state == State::Open)?;
        let agreeing = tally.stake.iter().filter(|(choice, _)| agree(**choice));
        let stake = agreeing.fold(0_u128, |sum, (_, stake)| sum.saturating_add(*stake));
        if !is_quorum(stake) {
            return None;
        }
        tally.state = State::Checking;
        Some(tally.countable(agree))
    }

    /// Whether a certificate of this round is being computed from the votes.
    #[must_use]
    pub fn is_checking(&self, round: R) -> bool {
        self.rounds.get(&round).is_some_and(|tally| tally.state == State::Checking)
    }

    /// Notes that the certificate is there: the sum was valid, or the certificate came from another party.
    pub fn close(&mut self, round: R) {
        if let Some(tally) = self.rounds.get_mut(&round) {
            tally.state = State::Closed;
        }
    }

    /// Notes that the sum of the votes of `parties` was invalid because of `culprits`.
    pub fn strike(
        &mut self,
        round: R,
        parties: impl Iterator<Item = Party>,
        culprits: &BTreeSet<Party>,
    ) {
        for party in parties {
            self.settle(round, party, !culprits.contains(&party));
        }
        let Some(tally) = self.rounds.get_mut(&round) else { return };
        // A failing sum without culprits would fail again.
        if tally.state == State::Checking && !culprits.is_empty() {
            tally.state = State::Open;
        }
    }

    /// Notes that one vote was checked alone. Returns its choice.
    pub fn settle(&mut self, round: R, party: Party, good: bool) -> Option<C> {
        let tally = self.rounds.get_mut(&round)?;
        let ballot = tally.ballots.get_mut(&party)?;
        let (choice, stake, counted) = (ballot.choice, ballot.stake, ballot.standing.counts());
        ballot.standing = if good { Standing::Verified } else { Standing::Rejected };
        match (counted, good) {
            (false, true) => tally.weigh(choice, stake),
            (true, false) => tally.unweigh(choice, stake),
            _ => {}
        }
        Some(choice)
    }

    /// The rounds from this one on in which votes count, each with every choice that they are for.
    #[must_use]
    pub fn choices_from(&self, first: R) -> Vec<(R, C)> {
        let rounds = self.rounds.range(first..);
        rounds.flat_map(|(round, tally)| tally.stake.keys().map(|one| (*round, *one))).collect()
    }

    /// The latest vote of a party in these rounds, with its round.
    pub fn latest(&self, rounds: impl RangeBounds<R>, party: Party) -> Option<(R, C, S)> {
        self.rounds.range(rounds).rev().find_map(|(round, tally)| {
            let ballot = tally.ballots.get(&party)?;
            Some((*round, ballot.choice, ballot.signature))
        })
    }

    /// Forgets the rounds that need not be kept.
    pub fn retain(&mut self, keep: impl Fn(R) -> bool) {
        self.rounds.retain(|round, _| keep(*round));
    }

    /// Number of votes that are stored, for bounds on memory.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.rounds.values().map(|tally| tally.ballots.len()).sum()
    }
}

impl<C: Copy + Ord, S: Copy> Tally<C, S> {
    const fn new() -> Self {
        Self { ballots: BTreeMap::new(), stake: BTreeMap::new(), state: State::Open }
    }

    fn weigh(&mut self, choice: C, stake: u128) {
        let sum = self.stake.entry(choice).or_default();
        *sum = sum.saturating_add(stake);
    }

    fn unweigh(&mut self, choice: C, stake: u128) {
        if let Some(sum) = self.stake.get_mut(&choice) {
            *sum = sum.saturating_sub(stake);
        }
    }

    fn countable(&self, agree: impl Fn(C) -> bool) -> Votes<C, S> {
        self.ballots
            .iter()
            .filter(|(_, ballot)| ballot.standing.counts())
            .filter(|(_, ballot)| agree(ballot.choice))
            .map(|(party, ballot)| (*party, (ballot.choice, ballot.signature)))
            .collect()
    }
}
