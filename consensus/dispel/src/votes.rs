//! Who said what of which proposers. A message speaks of all proposers at once, so it is counted by words of 64 of them.
//!
//! ```text
//!             proposers 0‥63   64‥127  …
//! party 0        word           word        a row: what the party said, one bit for each proposer
//! party 1        word           word
//! …
//! stakes      u128 u128 …                   a column: the stake that said it of the proposer
//! ```
use std::collections::BTreeMap;

use prefinal_protocol::Party;

use crate::batch::BatchId;
use crate::binary::{Bits, Contradicted};
use crate::quorum::{Replicas, Supporters};

/// Proposers of a word.
pub(crate) const WORD: usize = 64;

/// The places of the ones in a word.
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = usize::try_from(word.trailing_zeros()).ok().filter(|at| *at < WORD)?;
        word &= word.wrapping_sub(1);
        Some(at)
    })
}

/// The word that has a proposer's bit, and the bit in it.
pub(crate) fn place(proposer: Party) -> (usize, u64) {
    (proposer.index() / WORD, 1 << (proposer.index() % WORD))
}

/// The members whose bits are set, in their order.
pub(crate) fn members(words: &[u64]) -> impl Iterator<Item = Party> {
    let bits = (0..).step_by(WORD).zip(words);
    let places =
        bits.flat_map(|(first, word)| ones(*word).map(move |at| usize::saturating_add(first, at)));
    places.filter_map(|at| u32::try_from(at).ok()).map(Party::new)
}

/// Parties that say one thing of proposers, with their stake. Takes no memory before somebody says it.
#[derive(Debug, Default)]
struct Ballots {
    /// The words of each party, of as many proposers as there are.
    rows: Vec<u64>,
    stakes: Vec<u128>,
}

impl Ballots {
    /// Of the proposers of this word those of which the party says it.
    fn said(&self, committee: &Replicas, from: Party, word: usize) -> u64 {
        self.rows.get(at(committee, from, word)).copied().unwrap_or(0)
    }

    fn insert(&mut self, committee: &Replicas, from: Party, word: usize, mask: u64) {
        if self.rows.is_empty() && mask != 0 {
            self.rows.resize(committee.size().saturating_mul(committee.words()), 0);
            self.stakes.resize(committee.size(), 0);
        }
        let Some(said) = self.rows.get_mut(at(committee, from, word)) else { return };
        let (new, stake) = (mask & !*said, committee.stake(from));
        *said |= mask;
        let Some(stakes) = self.stakes.get_mut(word.saturating_mul(WORD)..) else { return };
        for at in ones(new) {
            if let Some(sum) = stakes.get_mut(at) {
                *sum = sum.saturating_add(stake);
            }
        }
    }

    fn stake(&self, proposer: Party) -> u128 {
        self.stakes.get(proposer.index()).copied().unwrap_or(0)
    }

    fn contains(&self, committee: &Replicas, from: Party, proposer: Party) -> bool {
        let (word, mask) = place(proposer);
        self.said(committee, from, word) & mask != 0
    }

    /// Who says it of a proposer, also those without stake.
    fn parties(&self, committee: &Replicas, proposer: Party) -> impl Iterator<Item = Party> {
        committee.members().filter(move |from| self.contains(committee, *from, proposer))
    }
}

fn at(committee: &Replicas, from: Party, word: usize) -> usize {
    from.index().saturating_mul(committee.words()).saturating_add(word)
}

/// Who says zero, and who says one.
#[derive(Debug, Default)]
struct OfEach {
    zero: Ballots,
    one: Ballots,
}

impl OfEach {
    const fn of(&self, bit: bool) -> &Ballots {
        if bit { &self.one } else { &self.zero }
    }
}

/// The votes of a round.
#[derive(Debug, Default)]
struct RoundVotes {
    estimates: OfEach,
    /// Parties whose own estimate it is.
    own: OfEach,
    /// Of which proposers anybody, also without stake, has an estimate of its own.
    proposed: Vec<u64>,
    /// Parties that have sent this bit alone.
    only: OfEach,
    both: Ballots,
}

/// What is said of bits, and in which round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Estimate { round: u32, own: bool },
    Auxiliary { round: u32 },
}

/// Bits of the proposers of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) word: usize,
    pub(crate) zeros: u64,
    pub(crate) ones: u64,
}

impl Cells {
    /// The bits of one proposer.
    pub(crate) fn of(proposer: Party, bits: Bits) -> Self {
        let (word, mask) = place(proposer);
        let of = |is: bool| if is { mask } else { 0 };
        Self { word, zeros: of(bits.zero), ones: of(bits.one) }
    }

    /// The bits of those proposers alone whose places the mask has.
    pub(crate) const fn among(self, mask: u64) -> Self {
        Self { zeros: self.zeros & mask, ones: self.ones & mask, ..self }
    }

    /// The proposers that have a bit.
    pub(crate) const fn all(self) -> u64 {
        self.zeros | self.ones
    }
}

/// The votes of all parties in all binary consensus of a stage.
#[derive(Debug, Default)]
pub(crate) struct BitVotes {
    rounds: BTreeMap<u32, RoundVotes>,
}

impl BitVotes {
    /// Takes votes on the proposers of a word. Those that contradict are left out, the others are taken.
    ///
    /// # Errors
    /// If the sender has said something else before of one of them, of which it may say one.
    pub(crate) fn receive(
        &mut self,
        committee: &Replicas,
        from: Party,
        kind: Kind,
        cells: Cells,
    ) -> Result<(), Contradicted> {
        if cells.all() == 0 {
            return Ok(());
        }
        let (Kind::Estimate { round, .. } | Kind::Auxiliary { round }) = kind;
        let votes = self.rounds.entry(round).or_default();
        let is_taken = match kind {
            Kind::Estimate { own, .. } => {
                let zeros = Cells { ones: 0, ..cells };
                let ones = Cells { zeros: 0, ..cells };
                let zeros = votes.estimate(committee, from, own, zeros);
                // Who says both as its own has said zero first.
                votes.estimate(committee, from, own, ones) && zeros
            }
            Kind::Auxiliary { .. } => votes.auxiliary(committee, from, cells),
        };
        is_taken.then_some(()).ok_or(Contradicted)
    }

    /// Rounds in which something was said, in ascending order.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = u32> {
        self.rounds.keys().copied()
    }

    /// The stake that estimates this bit.
    pub(crate) fn estimated(&self, proposer: Party, round: u32, bit: bool) -> u128 {
        self.rounds.get(&round).map_or(0, |votes| votes.estimates.of(bit).stake(proposer))
    }

    /// The stake whose own estimate is this bit.
    pub(crate) fn proposed(&self, proposer: Party, round: u32, bit: bool) -> u128 {
        self.rounds.get(&round).map_or(0, |votes| votes.own.of(bit).stake(proposer))
    }

    /// Whether a party has an estimate of its own in this round.
    pub(crate) fn proposes(
        &self,
        committee: &Replicas,
        from: Party,
        proposer: Party,
        round: u32,
    ) -> bool {
        let own = self.rounds.get(&round).map(|votes| &votes.own);
        own.is_some_and(|own| {
            [&own.zero, &own.one].iter().any(|by| by.contains(committee, from, proposer))
        })
    }

    /// Whether anybody, also without stake, has an estimate of its own in a later round.
    pub(crate) fn is_proposed_after(&self, proposer: Party, round: u32) -> bool {
        let (word, mask) = place(proposer);
        let mut later = self.rounds.range(round.saturating_add(1)..);
        later.any(|(_, votes)| votes.proposed.get(word).is_some_and(|word| word & mask != 0))
    }

    /// The stake whose auxiliary sets have no bit but these.
    pub(crate) fn support(&self, proposer: Party, round: u32, bits: Bits) -> u128 {
        let Some(votes) = self.rounds.get(&round) else { return 0 };
        let of = |is_in: bool, by: &Ballots| if is_in { by.stake(proposer) } else { 0 };
        let only = of(bits.zero, &votes.only.zero).saturating_add(of(bits.one, &votes.only.one));
        only.saturating_add(of(bits.zero && bits.one, &votes.both))
    }
}

impl RoundVotes {
    /// Takes estimates of one bit. Returns whether none contradicts.
    fn estimate(&mut self, committee: &Replicas, from: Party, own: bool, cells: Cells) -> bool {
        let Cells { word, zeros, .. } = cells;
        let said = cells.all();
        let (estimates, mine, other) = if zeros != 0 {
            (&mut self.estimates.zero, &mut self.own.zero, &self.own.one)
        } else {
            (&mut self.estimates.one, &mut self.own.one, &self.own.zero)
        };
        let contradicts = if own { said & other.said(committee, from, word) } else { 0 };
        let taken = said & !contradicts;
        estimates.insert(committee, from, word, taken);
        if own {
            mine.insert(committee, from, word, taken);
            self.proposed.resize(committee.words(), 0);
            if let Some(word) = self.proposed.get_mut(word) {
                *word |= taken;
            }
        }
        contradicts == 0
    }

    /// Takes auxiliary sets. Returns whether none contradicts.
    fn auxiliary(&mut self, committee: &Replicas, from: Party, cells: Cells) -> bool {
        let Cells { word, zeros, ones } = cells;
        let sets = [
            (&mut self.only.zero, zeros & !ones),
            (&mut self.only.one, ones & !zeros),
            (&mut self.both, zeros & ones),
        ];
        let before = sets.each_ref().map(|(by, _)| by.said(committee, from, word));
        let all = before.iter().fold(0, |all, one| all | one);
        let mut contradicts = 0;
        for ((by, said), same) in sets.into_iter().zip(before) {
            let other = said & all & !same;
            contradicts |= other;
            by.insert(committee, from, word, said & !other);
        }
        contradicts == 0
    }
}

/// Who named which batch of which proposer. Each party names one of each.
#[derive(Debug)]
pub(crate) struct Named {
    /// Of each proposer the batch that was named first, and who named it.
    first: Vec<Option<BatchId>>,
    by: Ballots,
    /// Other batches: there are some only if the proposer or a party is faulty.
    others: BTreeMap<Party, Vec<(BatchId, Supporters)>>,
}

impl Named {
    pub(crate) fn new(committee: &Replicas) -> Self {
        let first = vec![None; committee.size()];
        Self { first, by: Ballots::default(), others: BTreeMap::new() }
    }

    fn others(&self, proposer: Party) -> &[(BatchId, Supporters)] {
        // Hardly ever any.
        self.others.get(&proposer).map_or(&[], |others| &others[..])
    }

    /// Whether a party has named a batch of this proposer.
    pub(crate) fn names(&self, committee: &Replicas, from: Party, proposer: Party) -> bool {
        self.by.contains(committee, from, proposer)
            || self.others(proposer).iter().any(|(_, by)| by.contains(from))
    }

    /// Takes what a party names.
    ///
    /// # Errors
    /// If it has named another batch before.
    pub(crate) fn insert(
        &mut self,
        committee: &Replicas,
        from: Party,
        proposer: Party,
        batch: BatchId,
    ) -> Result<(), Contradicted> {
        let Some(first) = self.first.get_mut(proposer.index()) else { return Ok(()) };
        let is_first = *first.get_or_insert(batch) == batch;
        let named_another = self.others(proposer).iter();
        let mut named_another = named_another.filter(|(named, _)| *named != batch);
        if named_another.any(|(_, by)| by.contains(from))
            || !is_first && self.by.contains(committee, from, proposer)
        {
            return Err(Contradicted);
        }
        if is_first {
            let (word, mask) = place(proposer);
            self.by.insert(committee, from, word, mask);
            return Ok(());
        }
        let others = self.others.entry(proposer).or_default();
        if let Some((_, by)) = others.iter_mut().find(|(named, _)| *named == batch) {
            by.insert(committee, from);
            return Ok(());
        }
        let mut by = Supporters::default();
        by.insert(committee, from);
        others.push((batch, by));
        Ok(())
    }

    /// A batch of this proposer that parties with enough stake have named.
    pub(crate) fn with(
        &self,
        proposer: Party,
        is_enough: impl Fn(u128) -> bool,
    ) -> Option<BatchId> {
        let first = self.first.get(proposer.index()).copied().flatten();
        let others = self.others(proposer).iter();
        first.filter(|_| is_enough(self.by.stake(proposer))).or_else(|| {
            others.filter(|(_, by)| is_enough(by.stake())).map(|(batch, _)| *batch).next()
        })
    }

    /// Parties that have named this batch.
    pub(crate) fn parties(
        &self,
        committee: &Replicas,
        proposer: Party,
        batch: BatchId,
    ) -> Vec<Party> {
        if self.first.get(proposer.index()) == Some(&Some(batch)) {
            return self.by.parties(committee, proposer).collect();
        }
        let named = self.others(proposer).iter().find(|(named, _)| *named == batch);
        named.into_iter().flat_map(|(_, by)| by.iter()).collect()
    }
}
