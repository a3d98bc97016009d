//! Local times: whether a party has a slot's value as soon as it knows that the slot is final.
//!
//! Theorems 5.3 and 6.4 of *The Latency Price of Threshold Cryptosystem in Blockchains*: nobody waits. Both proofs take a
//! party that knows a slot to be final by the votes that carry partials, for then enough partials are there too. So for
//! each slot and party this is asked, of a run in which nobody is faulty, nobody crashes and no link is cut. (Who was cut off
//! for long may have no room for a partial that others have, or not know its sender's key.)
//!
//! > Whose votes for the slot, such that partials leave with them, had the party received when it knew that the slot is
//! > final? If they are a quorum and hold enough shares, then enough partials must have arrived by then, and the value is
//! > there at once.
//!
//! A vote arrives when its message does, and so does a partial: what a party received is noted at its door, not asked of
//! its engine or its beacon. Everything else is a [`WaitReason`], and each is read from these notes:
//!
//! | reason        | is given if                                                                              |
//! |---------------|------------------------------------------------------------------------------------------|
//! | `at-once`     | there is no wait                                                                          |
//! | `in-order`    | the value comes with that of a slot before, for which the party still waited               |
//! | `computing`   | enough partials had arrived, and work takes time in this run                              |
//! | `other-votes` | those whose votes had arrived are no quorum: it knew by a descendant, a certificate, another view |
//! | `by-proposer` | the same on DISPEL, or a partial left behind its party's vote on the last proposer: it had not prefinalized the stage yet |
//! | `ramp`        | they are a quorum, and hold fewer shares than the fast path takes                         |
//! | `unbound`     | one of them need not reveal: it had no keys, or could not know whether the slot is in its epoch |
//! | `link`        | a partial left with its vote or before, over links with limits; on DISPEL over any, for there a vote may leave in a later step |
//!
//! With tight thresholds a quorum holds enough, which is Theorem 5.3. With a ramp all votes arrive at one instant in an
//! optimistic execution, and all hold enough, which is Theorem 6.4. What fits no reason fails the run.
//!
//! The engine that does all that Definition 5 allows has no votes on the wire, so nothing is asked of it; nor of slots
//! whose partials leave on finality. Of DISPEL less is found than of others: where partials are missing there is always one
//! of its two reasons, so a partial that is kept from one party is not found, only one that arrived and is not used.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ::prefinal_beacon::{Path, Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_dispel::Step;
use prefinal_protocol::Instant;
use prefinal_sim::Network;

use crate::prices::Prices;

/// What a run has that the paper's model leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imperfections {
    /// Whether work takes time.
    pub work_takes_time: bool,
    /// Whether messages that leave together may arrive at several times.
    pub links_split: bool,
    /// Whether messages may be lost or held back: nothing is asked then.
    pub cuts: bool,
}

impl Imperfections {
    /// Those of a run at these prices, over these links.
    #[must_use]
    pub fn new(prices: Prices, network: &Network) -> Self {
        Self {
            work_takes_time: prices.take_time(),
            links_split: !network.keeps_together(),
            cuts: !network.is_whole(),
        }
    }

    /// Those of a campaign over these links.
    pub(crate) fn of_campaign(network: &Network) -> Self {
        Self { work_takes_time: true, ..Self::new(Prices::FREE, network) }
    }
}

/// A vote on its way that makes its slot final, once enough parties have cast it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LastVote {
    /// For a value in this view.
    In(View),
    /// DISPEL: on some proposers of a stage.
    On(Slot, Vec<Step>),
}

/// A partial on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeardPartial {
    /// The path that it is for.
    pub path: Path,
    /// The slot, in the chain's numbering.
    pub slot: Slot,
    /// The value that it is for, if it names one.
    pub value: Option<Value>,
}

/// What a message brings to a party, as far as local times depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The party that sent the message.
    pub from: Party,
    /// The vote in it, if it is one that can make a slot final.
    pub vote: Option<LastVote>,
    /// A partial, which a vote may carry.
    pub partial: Option<HeardPartial>,
}

impl Heard {
    /// `None` if the message brings neither.
    pub(crate) fn new(
        from: Party,
        vote: Option<LastVote>,
        partial: Option<HeardPartial>,
    ) -> Option<Self> {
        (vote.is_some() || partial.is_some()).then_some(Self { from, vote, partial })
    }
}

/// Why a party waited for a value that it knew to be due, or that it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitReason {
    /// It did not wait.
    AtOnce,
    /// Values come in order, and one before was missing.
    InOrder,
    /// Enough partials had arrived, and work takes time.
    Computing,
    /// It knew by other votes than those that carry partials.
    OtherVotes,
    /// DISPEL decides proposer by proposer.
    ByProposer,
    /// The voters hold fewer shares than the fast path takes.
    Ramp,
    /// A voter need not have revealed a partial.
    Unbound,
    /// A partial came later than the vote with which it left.
    Link,
}

impl WaitReason {
    /// Every reason, in the order in which tables show them.
    pub const ALL: [Self; 8] = [
        Self::AtOnce,
        Self::InOrder,
        Self::Computing,
        Self::OtherVotes,
        Self::ByProposer,
        Self::Ramp,
        Self::Unbound,
        Self::Link,
    ];
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtOnce => "at-once",
            Self::InOrder => "in-order",
            Self::Computing => "computing",
            Self::OtherVotes => "other-votes",
            Self::ByProposer => "by-proposer",
            Self::Ramp => "ramp",
            Self::Unbound => "unbound",
            Self::Link => "link",
        })
    }
}

/// How many parties waited for which reason. All are zero where nothing is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCounts([u32; WaitReason::ALL.len()]);

impl WaitCounts {
    /// The number of parties with this reason.
    #[must_use]
    pub fn of(&self, reason: WaitReason) -> u32 {
        let mut pairs = WaitReason::ALL.into_iter().zip(self.0);
        pairs.find(|(other, _)| *other == reason).map_or(0, |(_, count)| count)
    }

    /// All parties of which it was asked.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    fn add(&mut self, reason: WaitReason) {
        let place = WaitReason::ALL.into_iter().zip(&mut self.0);
        place.filter(|(other, _)| *other == reason).for_each(|(_, count)| *count += 1);
    }
}

impl std::iter::Sum for WaitCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |so_far, more| {
            let mut sums = so_far.0;
            sums.iter_mut().zip(more.0).for_each(|(sum, count)| *sum += count);
            Self(sums)
        })
    }
}

/// What a slot's votes and partials are counted by.
pub(crate) struct Scales<'a> {
    pub(crate) stakes: &'a [u128],
    pub(crate) weights: &'a [u128],
    /// The stake that makes a slot final.
    pub(crate) quorum: u128,
    /// The shares that reconstruct.
    pub(crate) shares: u128,
    pub(crate) is_tight: bool,
    pub(crate) imperfections: Imperfections,
}

impl Scales<'_> {
    fn stake(&self, parties: &BTreeSet<Party>) -> u128 {
        sum(self.stakes, parties)
    }

    fn weight(&self, parties: &BTreeSet<Party>) -> u128 {
        sum(self.weights, parties)
    }
}

fn sum(amounts: &[u128], parties: &BTreeSet<Party>) -> u128 {
    parties.iter().filter_map(|party| amounts.get(party.index())).sum()
}

/// What each party has said and received of one slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalAccount {
    /// When each voted directly, and whether a partial had to leave with it.
    voters: BTreeMap<Party, (Instant, bool)>,
    /// When the partial of each left first.
    revealed: BTreeMap<Party, Instant>,
    readers: BTreeMap<Party, Reader>,
    /// Of whom it was asked; what comes later changes nothing.
    done: BTreeSet<Party>,
    counts: WaitCounts,
    wrong: Option<String>,
}

/// What one party has received of a slot.
#[derive(Clone, Debug, Default)]
struct Reader {
    votes: BTreeMap<Party, Instant>,
    /// On DISPEL, the proposers on which each has voted.
    proposers: BTreeMap<Party, BTreeSet<usize>>,
    partials: BTreeMap<Party, Instant>,
    /// When it knew that the slot is final, and whether it had its keys.
    known: Option<(Instant, bool)>,
}

impl LocalAccount {
    pub(crate) fn voted(&mut self, party: Party, is_bound: bool, now: Instant) {
        self.voters.entry(party).or_insert((now, is_bound));
    }

    pub(crate) fn revealed(&mut self, party: Party, now: Instant) {
        self.revealed.entry(party).or_insert(now);
    }

    pub(crate) fn knows(&mut self, party: Party, is_ready: bool, now: Instant) {
        if let Some(reader) = self.reader(party) {
            reader.known.get_or_insert((now, is_ready));
        }
    }

    pub(crate) fn hears_vote(&mut self, at: Party, from: Party, now: Instant) {
        if let Some(reader) = self.reader(at) {
            reader.votes.entry(from).or_insert(now);
        }
    }

    /// A part of a vote on DISPEL. On how many proposers the sender has voted, as far as the party knows.
    pub(crate) fn hears_part(
        &mut self,
        at: Party,
        from: Party,
        proposers: impl IntoIterator<Item = usize>,
    ) -> usize {
        let Some(reader) = self.reader(at) else { return 0 };
        let so_far = reader.proposers.entry(from).or_default();
        so_far.extend(proposers);
        so_far.len()
    }

    pub(crate) fn hears_partial(&mut self, at: Party, from: Party, now: Instant) {
        if let Some(reader) = self.reader(at) {
            reader.partials.entry(from).or_insert(now);
        }
    }

    fn reader(&mut self, party: Party) -> Option<&mut Reader> {
        (!self.done.contains(&party)).then(|| self.readers.entry(party).or_default())
    }

    /// A party has the value now. It had that of a slot before at `previous`.
    pub(crate) fn valued(
        &mut self,
        party: Party,
        scales: &Scales<'_>,
        previous: Option<Instant>,
        now: Instant,
    ) {
        if !self.done.insert(party) {
            return;
        }
        let Some(reader) = self.readers.remove(&party) else { return };
        let Some((known, is_ready)) = reader.known else { return };
        let case = Case { party, reader: &reader, known, valued: now, previous, is_ready };
        match self.judge(&case, scales) {
            Ok(reason) => self.counts.add(reason),
            Err(why) => drop(self.wrong.get_or_insert(why)),
        }
    }

    fn judge(&self, case: &Case<'_>, scales: &Scales<'_>) -> Result<WaitReason, String> {
        let reader = case.reader;
        if case.valued <= case.known {
            return Ok(WaitReason::AtOnce);
        }
        let waits = |reason| {
            if case.previous == Some(case.valued) { WaitReason::InOrder } else { reason }
        };
        let by_then = |at: &Instant| *at <= case.known;
        let mut partials: BTreeSet<Party> =
            reader.partials.iter().filter(|(_, at)| by_then(at)).map(|(from, _)| *from).collect();
        partials
            .extend(self.revealed.get(&case.party).filter(|at| by_then(at)).map(|_| case.party));
        if scales.weight(&partials) >= scales.shares {
            return match waits(WaitReason::Computing) {
                WaitReason::Computing if !case.is_ready => Ok(WaitReason::Unbound),
                WaitReason::Computing if !scales.imperfections.work_takes_time => {
                    Err(case.fails(scales, "the partials of enough parties had arrived"))
                }
                reason => Ok(reason),
            };
        }
        let voters: BTreeSet<Party> = self
            .voters
            .iter()
            .filter_map(|(voter, (voted, _))| {
                let own = (*voter == case.party).then_some(voted);
                own.or(reader.votes.get(voter)).filter(|at| by_then(at)).map(|_| *voter)
            })
            .collect();
        self.excuse(&voters, &partials, case, scales).map(waits)
    }

    /// Why those who voted do not suffice.
    fn excuse(
        &self,
        voters: &BTreeSet<Party>,
        partials: &BTreeSet<Party>,
        case: &Case<'_>,
        scales: &Scales<'_>,
    ) -> Result<WaitReason, String> {
        // Of DISPEL's votes none says by itself that a partial must leave with it.
        let by_proposer = !case.reader.proposers.is_empty();
        let bound = |party: &Party| self.voters.get(party).is_some_and(|(_, bound)| *bound);
        let bound = voters.iter().copied().filter(|party| by_proposer || bound(party));
        let bound: BTreeSet<Party> = bound.collect();
        if scales.stake(voters) < scales.quorum {
            let other = if by_proposer { WaitReason::ByProposer } else { WaitReason::OtherVotes };
            return Ok(other);
        }
        if scales.weight(voters) < scales.shares {
            let few = || case.fails(scales, "a quorum voted, and holds too few shares");
            return if scales.is_tight { Err(few()) } else { Ok(WaitReason::Ramp) };
        }
        if scales.weight(&bound) < scales.shares || !case.is_ready {
            return Ok(WaitReason::Unbound);
        }
        // Who holds no shares reveals nothing.
        let holds = |party: &Party| scales.weights.get(party.index()).is_some_and(|held| *held > 0);
        let missing: BTreeSet<Party> = bound.difference(partials).copied().filter(holds).collect();
        let mut late = missing.iter().filter(|party| {
            let voted = self.voters.get(party).map(|(voted, _)| *voted);
            let revealed = self.revealed.get(party).copied();
            revealed.is_none_or(|revealed| voted.is_none_or(|voted| revealed > voted))
        });
        let late = late.next();
        if by_proposer {
            return Ok(late.map_or(WaitReason::Link, |_| WaitReason::ByProposer));
        }
        if let Some(party) = late {
            let what = format!("the vote of {party} had arrived, and its partial left later");
            return Err(case.fails(scales, &what));
        }
        if scales.imperfections.links_split {
            return Ok(WaitReason::Link);
        }
        let missing: Vec<String> = missing.iter().map(Party::to_string).collect();
        let what = format!("votes had arrived without their partials, of {}", missing.join(", "));
        Err(case.fails(scales, &what))
    }

    /// How many parties waited for which reason.
    ///
    /// # Errors
    /// The first party that waited for none.
    pub(crate) fn close(&self) -> Result<WaitCounts, String> {
        self.wrong.clone().map_or(Ok(self.counts), Err)
    }
}

/// One party's wait for a slot.
struct Case<'a> {
    party: Party,
    reader: &'a Reader,
    known: Instant,
    valued: Instant,
    previous: Option<Instant>,
    /// Whether the party had its keys.
    is_ready: bool,
}

impl Case<'_> {
    fn fails(&self, scales: &Scales<'_>, why: &str) -> String {
        let theorem = if scales.is_tight { "5.3" } else { "6.4" };
        let (known, valued) = (self.known.since_start(), self.valued.since_start());
        format!(
            "Theorem {theorem} says that {} does not wait from {known:?} to {valued:?}: {why}",
            self.party
        )
    }
}
