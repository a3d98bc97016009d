//! Collects votes until they are certificates.
//!
//! A vote costs nothing on arrival: it is stored unchecked, one per party and round. When votes that
//! agree hold a quorum of stake, they are summed and checked together. If the sum fails, the culprits'
//! votes are struck out, the others are known to be valid, and the next quorum may form. A party that
//! has spoiled a sum is a suspect: its votes count only after each was checked alone.
//!
//! The same collector counts votes (choice: block), order votes (block) and timeouts (round of the
//! sender's highest QC; there all choices count together).
//!
//! See also `job` (the check) and `verdict` (the accusation).
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;

use crate::block::Round;
use crate::config::Replicas;

/// Votes by round and party.
#[derive(Debug)]
pub(crate) struct Collector<C> {
    rounds: BTreeMap<Round, Tally<C>>,
}

#[derive(Debug)]
struct Tally<C> {
    ballots: BTreeMap<Party, Ballot<C>>,
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
struct Ballot<C> {
    choice: C,
    signature: Signature,
    stake: u128,
    standing: Standing,
    contradicted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
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
    const fn counts(self) -> bool {
        matches!(self, Self::Stored | Self::Verified)
    }
}

/// A vote as it comes in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cast<C> {
    pub(crate) party: Party,
    pub(crate) stake: u128,
    pub(crate) choice: C,
    pub(crate) signature: Signature,
    pub(crate) standing: Standing,
}

/// What was done with a vote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added<C> {
    /// It is counted as far as its standing allows.
    Stored,
    /// The party has voted before, or the certificate is there already.
    Ignored,
    /// The party has voted for something else before, and this is the first such vote.
    Contradicts(C, Signature),
}

/// Votes that agree and hold a quorum.
pub(crate) type Votes<C> = BTreeMap<Party, (C, Signature)>;

impl<C: Copy + Ord> Collector<C> {
    pub(crate) const fn new() -> Self {
        Self { rounds: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, round: Round, cast: Cast<C>) -> Added<C> {
        let Cast { party, stake, choice, signature, standing } = cast;
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
    pub(crate) fn quorum(
        &mut self,
        round: Round,
        committee: &Replicas,
        agree: impl Fn(C) -> bool,
    ) -> Option<Votes<C>> {
        let tally = self.rounds.get_mut(&round).filter(|tally| tally.state == State::Open)?;
        let agreeing = tally.stake.iter().filter(|(choice, _)| agree(**choice));
        let stake = agreeing.fold(0_u128, |sum, (_, stake)| sum.saturating_add(*stake));
        if !committee.is_quorum(stake) {
            return None;
        }
        tally.state = State::Checking;
        Some(tally.countable(agree))
    }

    /// Whether a certificate of this round is being computed from the votes.
    pub(crate) fn is_checking(&self, round: Round) -> bool {
        self.rounds.get(&round).is_some_and(|tally| tally.state == State::Checking)
    }

    /// Notes that the certificate is there: the sum was valid, or the certificate came from another party.
    pub(crate) fn close(&mut self, round: Round) {
        if let Some(tally) = self.rounds.get_mut(&round) {
            tally.state = State::Closed;
        }
    }

    /// Notes that the sum of the votes of `parties` was invalid because of `culprits`.
    pub(crate) fn strike(
        &mut self,
        round: Round,
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
    pub(crate) fn settle(&mut self, round: Round, party: Party, good: bool) -> Option<C> {
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

    /// Forgets rounds outside the window.
    pub(crate) fn keep(&mut self, window: &RangeInclusive<Round>) {
        self.rounds.retain(|round, _| window.contains(round));
    }
}

impl<C: Copy + Ord> Tally<C> {
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

    fn countable(&self, agree: impl Fn(C) -> bool) -> Votes<C> {
        self.ballots
            .iter()
            .filter(|(_, ballot)| ballot.standing.counts())
            .filter(|(_, ballot)| agree(ballot.choice))
            .map(|(party, ballot)| (*party, (ballot.choice, ballot.signature)))
            .collect()
    }
}
