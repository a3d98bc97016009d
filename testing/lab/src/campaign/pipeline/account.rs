//! What must hold of an execution with the pipeline, checked from its notes.
//!
//! | checked      | how                                                                                  |
//! |--------------|---------------------------------------------------------------------------------------|
//! | certificates | once signatures of a quorum on a state are out, its block's slot is final; it is ordered with no other block |
//! | times        | a slot's value can be computed when the paper says ([`crate::global`])                  |
//! | agreement    | one certified state for each block; one committed block and state for each height       |
//! | votes        | only with the order vote, in its view, or behind the order; the same again after a crash |
//! | commits      | in the order of heights, of what is ordered and certified at this party                 |
//! | durability   | what was committed before a crash is committed behind it, and what is left hangs together |
//! | divergence   | a party with another state stops with both, keeps the evidence and commits nothing of it |
//! | accusations  | nobody honest is accused                                                              |
use std::collections::{BTreeMap, BTreeSet};

use ::prefinal_beacon::{Slot, StateStatement, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_execution::{
    BlockId, Committed, Divergence, Header, Height, Record, Roots, Stop, Vote,
};
use prefinal_sim::{Note, Seat};

use super::super::hand::Hand;
use super::super::ideal::Ideal;
use super::event::{Kept, Observation};
use super::ledger::{GENESIS, Proof};
use crate::check::{Summary, Violation, check_accusations};
use crate::finality::Finality;
use crate::global::{Exceptions, Sign};
use crate::legible::Act;

/// What an execution is judged by.
pub(super) struct Account<'a> {
    pub(super) stakes: Vec<u128>,
    /// The keys of the slots' values.
    pub(super) hand: &'a Hand<Ideal>,
    pub(super) faulty: &'a BTreeSet<Party>,
    /// The parties that crashed on the way, and may be late.
    pub(super) crashed: BTreeSet<Party>,
    /// Faulty parties that execute something else, and are honest otherwise.
    pub(super) divergent: &'a BTreeSet<Party>,
    /// Whose seat each seat is.
    pub(super) parties: &'a dyn Fn(Seat) -> Party,
    pub(super) notes: &'a [Note<Observation>],
    /// What is on a seat's disk.
    pub(super) kept: &'a dyn Fn(Seat) -> Vec<Kept>,
}

/// What was seen of one party.
#[derive(Default)]
struct Member {
    /// What the party was told of the order since it started last.
    ordered: BTreeMap<Height, Header>,
    prefinalized: BTreeMap<BlockId, BTreeSet<View>>,
    last: Height0,
    /// What the party signed, certified and committed, also before it crashed.
    votes: BTreeMap<BlockId, Roots>,
    certified: BTreeSet<(BlockId, [u8; 32])>,
    committed: BTreeMap<Height, (BlockId, Roots)>,
}

/// A height that is 0 in the beginning.
struct Height0(Height);

impl Default for Height0 {
    fn default() -> Self {
        Self(Height::GENESIS)
    }
}

impl Account<'_> {
    /// Goes through the notes once, and says the first thing that does not hold.
    pub(super) fn check(&self) -> Result<Summary, Violation> {
        check_accusations(self.of(false), self.faulty, |seen| match seen {
            Observation::Accused(party, fault) => Some((*party, fault)),
            _ => None,
        })?;
        let finals = self.finals();
        self.check_certificates(&finals)?;
        self.check_times()?;
        let mut chain = BTreeMap::new();
        let mut states = BTreeMap::new();
        for seat in self.seats() {
            if !self.faulty.contains(&(self.parties)(seat)) {
                self.check_party(seat, &mut chain, &mut states)?;
            }
        }
        for seat in self.seats() {
            if self.divergent.contains(&(self.parties)(seat)) {
                self.check_divergent(seat, &chain)?;
            }
        }
        let paths = self.of(false).filter_map(|note| match note.event {
            Observation::Valued(path) => Some(path),
            _ => None,
        });
        Ok(Summary::of(chain.len(), paths))
    }

    /// Notes of honest parties, or of all.
    fn of(&self, all: bool) -> impl Iterator<Item = &Note<Observation>> {
        self.notes
            .iter()
            .filter(move |note| all || !self.faulty.contains(&(self.parties)(note.seat)))
    }

    fn seats(&self) -> BTreeSet<Seat> {
        self.notes.iter().map(|note| note.seat).collect()
    }

    /// What each slot is final with. The campaign's stage has compared what parties say.
    fn finals(&self) -> BTreeMap<Slot, Option<Value>> {
        let finals = self.of(false).filter_map(|note| match note.event {
            Observation::Finalized(slot, value) => Some((slot, value)),
            _ => None,
        });
        finals.collect()
    }

    fn check_times(&self) -> Result<(), Violation> {
        let (faulty, crashed) = (self.faulty.clone(), self.crashed.clone());
        let exceptions = Exceptions { faulty, crashed, ..Exceptions::default() };
        let mut clock = self.hand.clock(self.stakes.clone(), exceptions);
        for note in self.notes {
            let sign = match &note.event {
                Observation::Act(Act::Ballot(ballot)) => Sign::Ballot(ballot),
                Observation::Released(path, slot) => Sign::Released(*path, *slot),
                Observation::Finalized(slot, _) => Sign::Finalized(*slot),
                _ => continue,
            };
            clock.take((self.parties)(note.seat), sign, note.left);
        }
        clock.close(None).map(drop).map_err(Violation::from)
    }

    /// Nothing is taken from a beacon: a certificate exists as soon as enough signatures have left.
    fn check_certificates(&self, finals: &BTreeMap<Slot, Option<Value>>) -> Result<(), Violation> {
        let mut finality = Finality::new(self.stakes.clone(), self.faulty.clone());
        let mut signed: BTreeMap<StateStatement, BTreeSet<Party>> = BTreeMap::new();
        let total: u128 = self.stakes.iter().sum();
        let stake = |party: &Party| self.stakes.get(party.index()).copied().unwrap_or(0);
        let lent: u128 = self.faulty.iter().map(stake).sum();
        for note in self.notes {
            let party = (self.parties)(note.seat);
            match &note.event {
                Observation::Act(Act::Ballot(ballot)) => finality.take(party, ballot),
                Observation::Signed(statement) if !self.faulty.contains(&party) => {
                    let signers = signed.entry(*statement).or_default();
                    signers.insert(party);
                    let got = lent + signers.iter().map(stake).sum::<u128>();
                    if 3 * got <= 2 * total {
                        continue;
                    }
                    let StateStatement { slot, value, .. } = *statement;
                    let other = finals.get(&slot).filter(|last| **last != Some(value));
                    if !finality.permits(slot, None) || other.is_some() {
                        let at = note.at.since_start();
                        return Err(Violation::Secrecy(format!(
                            "at {at:?}, when {party} signs the state of {value} in {slot}: stake of \
                             {got} of {total} has signed, and the slot is not final with it"
                        )));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// One honest party, against the chain and the states so far.
    fn check_party(
        &self,
        seat: Seat,
        chain: &mut BTreeMap<Height, (BlockId, Roots)>,
        states: &mut BTreeMap<BlockId, [u8; 32]>,
    ) -> Result<(), Violation> {
        let mut member = Member::default();
        for note in self.notes.iter().filter(|note| note.seat == seat) {
            let checked = match &note.event {
                Observation::Started(committed, optimistic) => {
                    let committed = *committed;
                    let checked = member.starts(committed, optimistic);
                    member = Member {
                        ordered: BTreeMap::new(),
                        prefinalized: BTreeMap::new(),
                        last: Height0(committed.height),
                        ..member
                    };
                    checked
                }
                Observation::Ordered(header) => member.orders(*header),
                Observation::Prefinalized(block, view) => {
                    member.prefinalized.entry(*block).or_default().insert(*view);
                    Ok(())
                }
                Observation::Voted(vote) => member.votes(vote).and_then(|()| {
                    let digest = vote.claim.roots.digest();
                    one(states, vote.claim.block, digest, "votes for another state than others")
                }),
                Observation::Certified(statement) => {
                    let block = BlockId::new(statement.value.to_bytes());
                    member.certified.insert((block, statement.root));
                    one(states, block, statement.root, "has another certified state than others")
                }
                Observation::Committed(_, committed) => member.commits(*committed).and_then(|()| {
                    let what = (committed.block, committed.roots);
                    one(chain, committed.height, what, "has another block or state than others")
                }),
                Observation::NotStarted(why) => Err(format!("does not start: {why}")),
                Observation::Stopped(stop) => Err(format!("stops: {stop}")),
                Observation::Broken(what) => Err(what.clone()),
                _ => Ok(()),
            };
            let at = note.at.since_start();
            checked.map_err(|what| Violation::Agreement(format!("{seat} at {at:?}: {what}")))?;
        }
        Ok(())
    }

    /// A party with another executor: it commits nothing of its own, and has both roots as evidence.
    fn check_divergent(
        &self,
        seat: Seat,
        chain: &BTreeMap<Height, (BlockId, Roots)>,
    ) -> Result<(), Violation> {
        let failed = |what: String| Err(Violation::Agreement(format!("{seat}, divergent: {what}")));
        let (mut wrong, mut stopped) = (None, false);
        let mut votes = BTreeMap::new();
        for note in self.notes.iter().filter(|note| note.seat == seat) {
            match &note.event {
                Observation::Committed(_, committed) => {
                    let own = (committed.block, committed.roots);
                    if chain.get(&committed.height).is_some_and(|others| *others != own) {
                        return failed(format!("commits its own state at {}", committed.height));
                    }
                }
                Observation::Voted(Vote { claim, .. }) => {
                    if *votes.entry(claim.block).or_insert(claim.roots) != claim.roots {
                        return failed(format!("votes for two states of {}", claim.block));
                    }
                    let others = chain.get(&claim.height);
                    if others.is_some_and(|(block, roots)| {
                        *block == claim.block && *roots != claim.roots
                    }) {
                        wrong.get_or_insert(claim.height);
                    }
                }
                Observation::Stopped(stop) => {
                    stopped = true;
                    if let Stop::Diverged(evidence) = &**stop {
                        self.check_evidence(seat, evidence, chain)?;
                    }
                }
                Observation::NotStarted("state-diverged" | "other-result") => stopped = true,
                Observation::NotStarted(why) => return failed(format!("does not start: {why}")),
                Observation::Broken(what) => return failed(what.clone()),
                _ => {}
            }
        }
        match wrong.filter(|_| !stopped) {
            Some(height) => failed(format!("goes on, although it differs at {height}")),
            None => Ok(()),
        }
    }

    fn check_evidence(
        &self,
        seat: Seat,
        evidence: &Divergence<Proof>,
        chain: &BTreeMap<Height, (BlockId, Roots)>,
    ) -> Result<(), Violation> {
        let failed = |what: &str| Err(Violation::Agreement(format!("{seat}, divergent: {what}")));
        let height = evidence.certified.height;
        let others = chain.get(&height);
        if others.is_some_and(|(_, roots)| roots.digest() != evidence.certified.digest) {
            return failed("its evidence is not what is certified");
        }
        if evidence.computed.is_none_or(|roots| roots.digest() == evidence.certified.digest) {
            return failed("its evidence has no root of its own, or the same one");
        }
        let same =
            |kept: &Kept| matches!(kept, Kept::Pipeline(Record::Diverged(own)) if own == evidence);
        if !(self.kept)(seat).iter().any(same) {
            return failed("its evidence is not on the disk");
        }
        Ok(())
    }
}

/// Enters what somebody has of something, if it is what others have.
fn one<K: Ord, V: PartialEq>(
    all: &mut BTreeMap<K, V>,
    of: K,
    what: V,
    otherwise: &str,
) -> Result<(), String> {
    if let Some(before) = all.get(&of) {
        return if *before == what { Ok(()) } else { Err(otherwise.to_owned()) };
    }
    all.insert(of, what);
    Ok(())
}

impl Member {
    fn starts(
        &mut self,
        committed: Committed,
        optimistic: &[(Header, Roots)],
    ) -> Result<(), String> {
        let last = self.committed.last_key_value();
        if last.is_some_and(|(height, _)| *height > committed.height) {
            return Err(format!("has committed more than {} before it crashed", committed.height));
        }
        let known = self.committed.get(&committed.height);
        if known.is_some_and(|known| *known != (committed.block, committed.roots)) {
            return Err(format!("finds another state at {}", committed.height));
        }
        // What was certified is turned in one transaction, so at most one commit was not heard of.
        let unheard = last.map_or(0, |(height, _)| height.get()).saturating_add(1);
        if committed.height.get() > unheard {
            return Err(format!("finds {} committed, and has heard of less", committed.height));
        }
        let digest = committed.roots.digest();
        let certified =
            committed.block == GENESIS || self.certified.contains(&(committed.block, digest));
        if !certified {
            return Err(format!("finds {} committed, which was not certified", committed.height));
        }
        // From now on it was heard of, also if the next crash comes before anything else is.
        self.committed.insert(committed.height, (committed.block, committed.roots));
        let differs = optimistic
            .iter()
            .find(|(header, roots)| self.votes.get(&header.id).is_some_and(|voted| voted != roots));
        differs.map_or(Ok(()), |(header, _)| {
            Err(format!("finds another result of {} than it has voted for", header.id))
        })
    }

    fn orders(&mut self, header: Header) -> Result<(), String> {
        self.ordered.insert(header.height, header);
        Ok(())
    }

    fn votes(&mut self, vote: &Vote) -> Result<(), String> {
        let Vote { claim, view, .. } = vote;
        let ordered =
            self.ordered.get(&claim.height).is_some_and(|header| header.id == claim.block);
        let early = view.is_some_and(|view| {
            self.prefinalized.get(&claim.block).is_some_and(|views| views.contains(&view))
        });
        if view.is_some() != early || (view.is_none() && !ordered) {
            return Err(format!("votes for the state of {} too early", claim.block));
        }
        let before = *self.votes.entry(claim.block).or_insert(claim.roots);
        if before != claim.roots {
            return Err(format!("votes for two states of {}", claim.block));
        }
        Ok(())
    }

    fn commits(&mut self, committed: Committed) -> Result<(), String> {
        let Committed { height, block, roots } = committed;
        if height != self.last.0.next() {
            return Err(format!("commits {height} behind {}", self.last.0));
        }
        self.last = Height0(height);
        let header = self.ordered.get(&height);
        if header.is_none_or(|header| header.id != block) {
            return Err(format!("commits {block} at {height}, which is not ordered"));
        }
        if !self.certified.contains(&(block, roots.digest())) {
            return Err(format!("commits another state of {block} than is certified"));
        }
        self.committed.insert(height, (block, roots));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each crash may come between a commit and its note, so two crashes may hide two commits.
    #[test]
    fn one_commit_for_each_crash_was_not_heard_of() {
        let committed = |height: u8| {
            let roots = Roots { state: [height; 32], receipts: [0; 32] };
            let block = if height == 0 { GENESIS } else { BlockId::new([height; 32]) };
            Committed { height: Height::new(u64::from(height)), block, roots }
        };
        let mut member = Member::default();
        for height in 1..4 {
            let Committed { block, roots, .. } = committed(height);
            member.certified.insert((block, roots.digest()));
        }
        assert_eq!(member.starts(committed(0), &[]), Ok(()));
        assert_eq!(member.starts(committed(1), &[]), Ok(()));
        assert_eq!(member.starts(committed(2), &[]), Ok(()));
        assert!(member.starts(committed(1), &[]).is_err(), "what was found is lost");
        let mut member = Member { certified: member.certified, ..Member::default() };
        assert!(member.starts(committed(2), &[]).is_err(), "two at one crash");
    }
}
