//! Votes that were seen, and what stands for their sum.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, aggregate};
use prefinal_crypto_core::certificate::Signers;

/// Values that are remembered for each stage, and views that were given up; those in flight are far fewer.
pub(super) const REMEMBERED: usize = 512;

/// The signature of each voter.
pub(super) type Votes = BTreeMap<Party, Signature>;

/// What a certificate of votes that were seen has as their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sums {
    /// The signature of the first voter stands for it: nothing is added up, for committees of hundreds. Everybody
    /// must be honest about sums.
    #[default]
    FirstVote,
    /// The sum itself, so that every message has the bytes that it has with real checks, and a certificate that
    /// an adversary makes is judged as there.
    Added,
}

impl Sums {
    pub(super) fn of<'a>(
        self,
        mut votes: impl Iterator<Item = &'a Signature>,
    ) -> Option<Signature> {
        match self {
            Self::FirstVote => votes.next().copied(),
            Self::Added => aggregate(votes).ok(),
        }
    }

    /// The sum of these votes, if all of them were seen.
    pub(super) fn of_votes(self, known: Option<&Votes>, votes: &Votes) -> Option<Signature> {
        let known = known?;
        let all = votes.iter().all(|(party, vote)| known.get(party) == Some(vote));
        if all { self.of(votes.values()) } else { None }
    }

    /// The sum of the votes of these signers, if all of them were seen.
    pub(super) fn of_signers(self, known: Option<&Votes>, signers: &Signers) -> Option<Signature> {
        let known = known?;
        let votes: Option<Vec<&Signature>> =
            signers.iter().map(|party| known.get(&party)).collect();
        self.of(votes?.into_iter())
    }
}

/// What was seen under this key; the first key is forgotten if there are more than `most`.
pub(super) fn seen<K: Ord>(all: &mut BTreeMap<K, Votes>, key: K, most: usize) -> &mut Votes {
    if all.len() >= most && !all.contains_key(&key) {
        all.pop_first();
    }
    all.entry(key).or_default()
}
