//! Collects votes until they are certificates.
//!
//! A vote costs nothing on arrival: it is stored unchecked, one per party and view. When votes for one
//! value hold a quorum of stake, they are summed and checked together. If the sum fails, the culprits'
//! votes are struck out, the others are known to be valid, and the next quorum may form. A party that
//! has spoiled a sum is a suspect: its votes count only after each was checked alone.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_protocol::{Slot, Value, View};

use crate::config::Replicas;

/// Votes by view and party.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    views: BTreeMap<View, Tally>,
}

#[derive(Debug, Default)]
struct Tally {
    ballots: BTreeMap<Party, Ballot>,
    /// The stake of the counting ballots, by value. It is kept up to date, so that a vote needs no walk
    /// over all.
    stake: BTreeMap<Value, u128>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// A sum is being checked.
    Checking,
    /// The certificate is there.
    Closed,
}

#[derive(Debug)]
struct Ballot {
    value: Value,
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
    pub(crate) const fn counts(self) -> bool {
        matches!(self, Self::Stored | Self::Verified)
    }
}

/// A vote as it comes in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cast {
    pub(crate) party: Party,
    pub(crate) stake: u128,
    pub(crate) value: Value,
    pub(crate) signature: Signature,
    pub(crate) standing: Standing,
}

/// What was done with a vote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is counted as far as its standing allows.
    Stored,
    /// The party has voted before, or the certificate is there already.
    Ignored,
    /// The party has voted for something else before, and this is the first such vote.
    Contradicts(Value, Signature),
}

impl Collector {
    pub(crate) fn add(&mut self, view: View, cast: Cast) -> Added {
        let Cast { party, stake, value, signature, standing } = cast;
        let tally = self.views.entry(view).or_default();
        if let Some(earlier) = tally.ballots.get_mut(&party) {
            if earlier.value == value || earlier.contradicted {
                return Added::Ignored;
            }
            earlier.contradicted = true;
            return Added::Contradicts(earlier.value, earlier.signature);
        }
        let ballot = Ballot { value, signature, stake, standing, contradicted: false };
        tally.ballots.insert(party, ballot);
        if standing.counts() {
            tally.weigh(value, stake);
        }
        if tally.state == State::Closed { Added::Ignored } else { Added::Stored }
    }

    /// The votes for a value, if they hold a quorum and no sum is being checked. From now on they count
    /// as being checked.
    pub(crate) fn quorum(
        &mut self,
        view: View,
        value: Value,
        committee: &Replicas,
    ) -> Option<BTreeMap<Party, Signature>> {
        let tally = self.views.get_mut(&view).filter(|tally| tally.state == State::Open)?;
        if !committee.is_strong(tally.stake.get(&value).copied().unwrap_or(0)) {
            return None;
        }
        tally.state = State::Checking;
        let counts = |(_, ballot): &(_, &Ballot)| ballot.standing.counts() && ballot.value == value;
        let votes = tally.ballots.iter().filter(counts);
        Some(votes.map(|(party, ballot)| (*party, ballot.signature)).collect())
    }

    /// The values that there are votes for, from this height on.
    pub(crate) fn values_from(&self, slot: Slot) -> Vec<(View, Value)> {
        let views = self.views.range(View::new(slot, 0)..);
        views.flat_map(|(view, tally)| tally.stake.keys().map(|value| (*view, *value))).collect()
    }

    /// Notes that the certificate is there: the sum was valid, or the certificate came from another party.
    pub(crate) fn close(&mut self, view: View) {
        if let Some(tally) = self.views.get_mut(&view) {
            tally.state = State::Closed;
        }
    }

    /// Notes that the sum of the votes of `parties` was invalid because of `culprits`.
    pub(crate) fn strike(
        &mut self,
        view: View,
        parties: impl Iterator<Item = Party>,
        culprits: &BTreeSet<Party>,
    ) {
        for party in parties {
            self.settle(view, party, !culprits.contains(&party));
        }
        let Some(tally) = self.views.get_mut(&view) else { return };
        // A failing sum without culprits would fail again.
        if tally.state == State::Checking && !culprits.is_empty() {
            tally.state = State::Open;
        }
    }

    /// Notes that one vote was checked alone. Returns its value.
    pub(crate) fn settle(&mut self, view: View, party: Party, good: bool) -> Option<Value> {
        let tally = self.views.get_mut(&view)?;
        let ballot = tally.ballots.get_mut(&party)?;
        let (value, stake, counted) = (ballot.value, ballot.stake, ballot.standing.counts());
        ballot.standing = if good { Standing::Verified } else { Standing::Rejected };
        match (counted, good) {
            (false, true) => tally.weigh(value, stake),
            (true, false) => tally.unweigh(value, stake),
            _ => {}
        }
        Some(value)
    }

    /// The latest vote of a party about a height in a view before this one.
    pub(crate) fn latest_before(
        &self,
        view: View,
        party: Party,
    ) -> Option<(View, Value, Signature)> {
        let first = View::new(view.slot, 0);
        let mut views = self.views.range(first..view).rev();
        views.find_map(|(view, tally)| {
            let ballot = tally.ballots.get(&party)?;
            Some((*view, ballot.value, ballot.signature))
        })
    }

    /// Forgets a height that is decided.
    pub(crate) fn forget(&mut self, slot: Slot) {
        self.views.retain(|view, _| view.slot != slot);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.views.values().map(|tally| tally.ballots.len()).sum()
    }
}

impl Tally {
    fn weigh(&mut self, value: Value, stake: u128) {
        let sum = self.stake.entry(value).or_default();
        *sum = sum.saturating_add(stake);
    }

    fn unweigh(&mut self, value: Value, stake: u128) {
        if let Some(sum) = self.stake.get_mut(&value) {
            *sum = sum.saturating_sub(stake);
        }
    }
}
