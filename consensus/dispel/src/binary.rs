//! One binary consensus: is a proposer's batch in the stage?
//!
//! Rounds count from 1. The bit of a round is `round mod 2`: a one is decided in odd rounds, a zero in even ones.
//! ```text
//! estimate(b)     broadcast; again for the other bit when a weak quorum sends it
//! justified(b)    when a strong quorum sends estimate(b): some honest party proposed b
//! auxiliary(V)    broadcast once in a round: V = {w} if the round's coordinator says w and w is justified,
//!                 otherwise all that is justified when the round's time is over
//! V' = union of a strong quorum of auxiliary sets that are justified here
//!   V' = {b}, b the round's bit: decided
//!   V' = {b}, b another bit:     the next estimate is b
//!   V' = {0, 1}:                 the next estimate is the round's bit
//! ```
//! The first round has no time to wait for, so if all honest parties propose one, it decides with the second
//! message. A party that proposed zero and sees zeros justified does not wait in the second round either: this is
//! how a batch that nobody has is left out. From the third round on the time grows with the round, and the
//! coordinator is another one each time, so that some round after the network is calm has an honest coordinator
//! whom all hear.
//!
//! A party that has decided goes on when it hears somebody in a later round, and for two rounds. It need not before: who
//! has not decided leaves every round in the end, because all honest parties vote in it, and says so. To the others it
//! looks like a party whose messages take longer, so nothing else changes; and if all decide in their first round,
//! nothing of a second one is sent.
//!
//! Agreement and validity hold however late messages are (the *safe* variant of the binary consensus of
//! [DBFT](https://arxiv.org/abs/1702.03068); the variant was [model-checked](https://arxiv.org/abs/1909.07453) by
//! its authors). That it ends needs a network which is calm in the end.
use core::time::Duration;
use prefinal_protocol::{Instant, Party};

use crate::quorum::Replicas;
use crate::votes::{BitVotes, Cells, Kind};

/// Rounds ahead of the own one from which votes are kept. Who is further behind asks again.
const AHEAD: u32 = 4;

/// Rounds in which a party takes part after the one that it decided in: by then every honest party has decided.
const AFTER: u32 = 2;

/// A set of bits, never empty in a vote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    pub(crate) zero: bool,
    pub(crate) one: bool,
}

impl Bits {
    pub(crate) const fn only(bit: bool) -> Self {
        Self { zero: !bit, one: bit }
    }

    const fn contains(self, bit: bool) -> bool {
        if bit { self.one } else { self.zero }
    }

    const fn insert(&mut self, bit: bool) {
        if bit {
            self.one = true;
        } else {
            self.zero = true;
        }
    }

    const fn is_empty(self) -> bool {
        !self.zero && !self.one
    }

    const fn is_within(self, other: Self) -> bool {
        (!self.zero || other.zero) && (!self.one || other.one)
    }
}

/// What a party says in a binary consensus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitVote {
    /// The bit was proposed, by this party (`own`) or by somebody honest.
    Estimate { round: u32, bit: bool, own: bool },
    /// The round's coordinator has this bit justified.
    Coordinate { round: u32, bit: bool },
    /// These bits are justified here.
    Auxiliary { round: u32, bits: Bits },
}

impl BitVote {
    /// What is counted of it; a coordinator is only heard.
    const fn counted(self) -> Option<(Kind, Bits)> {
        match self {
            Self::Estimate { round, bit, own } => {
                Some((Kind::Estimate { round, own }, Bits::only(bit)))
            }
            Self::Auxiliary { round, bits } => Some((Kind::Auxiliary { round }, bits)),
            Self::Coordinate { .. } => None,
        }
    }

    const fn round(self) -> u32 {
        let (Self::Estimate { round, .. }
        | Self::Coordinate { round, .. }
        | Self::Auxiliary { round, .. }) = self;
        round
    }
}

/// A party said two things of which it may say one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contradicted;

/// What a party knows of a round beside the votes.
#[derive(Clone, Debug, Default)]
struct Round {
    said: Bits,
    justified: Bits,
    coordinated: Option<bool>,
    sent: Option<Bits>,
    /// When the coordinator has had its time.
    until: Option<Instant>,
}

/// The party's part in one binary consensus.
#[derive(Debug)]
pub(crate) struct Binary {
    me: Party,
    proposer: Party,
    /// The current round; 0 before anything was proposed here.
    round: u32,
    estimate: bool,
    /// From round 1 on.
    rounds: Vec<Round>,
    decided: Option<bool>,
    /// The last round in which this party takes part.
    last: u32,
    timeout: Duration,
}

impl Binary {
    pub(crate) const fn new(me: Party, proposer: Party, timeout: Duration) -> Self {
        let rounds = Vec::new();
        let (round, last) = (0, u32::MAX);
        Self { me, proposer, round, estimate: false, rounds, decided: None, last, timeout }
    }

    pub(crate) const fn decided(&self) -> Option<bool> {
        self.decided
    }

    /// Proposes a bit. Returns whether it is the first.
    pub(crate) fn propose(&mut self, bit: bool) -> bool {
        let is_first = self.round == 0;
        if is_first {
            (self.round, self.estimate) = (1, bit);
        }
        is_first
    }

    /// Whether votes of this round are kept.
    pub(crate) fn knows(&self, round: u32) -> bool {
        round.saturating_sub(AHEAD) <= self.round.max(1)
    }

    /// Rounds of which the votes are kept whatever this party's own is.
    pub(crate) const fn is_early(round: u32) -> bool {
        round.saturating_sub(AHEAD) <= 1
    }

    fn round(&self, number: u32) -> Option<&Round> {
        self.rounds.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    fn round_mut(&mut self, number: u32) -> Option<&mut Round> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        if self.rounds.len() <= at {
            self.rounds.resize(at.saturating_add(1), Round::default());
        }
        self.rounds.get_mut(at)
    }

    /// Takes a vote, also one that this party cast in an earlier life.
    ///
    /// # Errors
    /// If the sender has said something else before, of which it may say one.
    pub(crate) fn receive(
        &mut self,
        votes: &mut BitVotes,
        committee: &Replicas,
        from: Party,
        vote: BitVote,
    ) -> Result<(), Contradicted> {
        let (number, mine) = (vote.round(), from == self.me);
        if number == 0 || !(self.knows(number) || mine) {
            return Ok(());
        }
        if let Some((kind, bits)) = vote.counted() {
            votes.receive(committee, from, kind, Cells::of(self.proposer, bits))?;
        }
        match vote {
            BitVote::Coordinate { bit, .. } => {
                if committee.coordinator(self.proposer, number) == from
                    && let Some(round) = self.round_mut(number)
                    && *round.coordinated.get_or_insert(bit) != bit
                {
                    return Err(Contradicted);
                }
            }
            BitVote::Estimate { .. } | BitVote::Auxiliary { .. } if !mine => {}
            BitVote::Estimate { bit, .. } => {
                if let Some(round) = self.round_mut(number) {
                    round.said.insert(bit);
                }
            }
            BitVote::Auxiliary { bits, .. } => {
                if let Some(round) = self.round_mut(number) {
                    round.sent = Some(bits);
                }
            }
        }
        Ok(())
    }

    /// What this party says by now, in the order in which it must leave. Takes its own votes at once.
    pub(crate) fn advance(
        &mut self,
        votes: &mut BitVotes,
        committee: &Replicas,
        now: Instant,
    ) -> Vec<BitVote> {
        let mut said = Vec::new();
        loop {
            let before = said.len();
            self.step(votes, committee, now, &mut said);
            for vote in said.iter().skip(before) {
                // What this party says once it has looked up before.
                let _own = self.receive(votes, committee, self.me, *vote);
            }
            if said.len() == before && !self.leave_round(votes, committee) {
                return said;
            }
        }
    }

    fn step(
        &mut self,
        votes: &BitVotes,
        committee: &Replicas,
        now: Instant,
        said: &mut Vec<BitVote>,
    ) {
        if self.round == 0 && committee.is_weak(votes.estimated(self.proposer, 1, true)) {
            // Somebody honest has the batch, so it will be here too.
            self.propose(true);
        }
        let (me, current, estimate, last) = (self.me, self.round, self.estimate, self.last);
        let timeout = self.timeout.saturating_mul(current.saturating_sub(1));
        if current > 0 && current <= last && !votes.proposes(committee, me, self.proposer, current)
        {
            said.push(BitVote::Estimate { round: current, bit: estimate, own: true });
            return;
        }
        for number in votes.rounds() {
            self.justify(votes, committee, number, said);
        }
        if current == 0 || current > last {
            return;
        }
        let is_coordinator = committee.coordinator(self.proposer, current) == me;
        let Some(round) = self.round_mut(current) else { return };
        if round.sent.is_some() || round.justified.is_empty() {
            return;
        }
        let until = *round.until.get_or_insert(now + timeout);
        if is_coordinator && round.coordinated.is_none() {
            let bit = round.justified.one;
            said.push(BitVote::Coordinate { round: current, bit });
        }
        let chosen = round.coordinated.filter(|bit| round.justified.contains(*bit));
        let agrees = current <= 2 && round.justified == Bits::only(estimate);
        let agrees = agrees && estimate == is_odd(current);
        if current == 1 || agrees || now >= until {
            let bits = chosen.filter(|_| current > 1).map_or(round.justified, Bits::only);
            said.push(BitVote::Auxiliary { round: current, bits });
        } else if let Some(bit) = chosen {
            said.push(BitVote::Auxiliary { round: current, bits: Bits::only(bit) });
        }
    }

    /// What the estimates of a round allow: a bit is justified, or this party says it too.
    fn justify(
        &mut self,
        votes: &BitVotes,
        committee: &Replicas,
        number: u32,
        said: &mut Vec<BitVote>,
    ) {
        for bit in [false, true] {
            let support = votes.estimated(self.proposer, number, bit);
            if !committee.is_weak(support) {
                continue;
            }
            let last = self.last;
            let Some(round) = self.round_mut(number) else { return };
            if committee.is_strong(support) {
                round.justified.insert(bit);
            }
            // Somebody honest proposed it, so this party may say so too, in whatever round it is itself.
            if !round.said.contains(bit) && number <= last {
                said.push(BitVote::Estimate { round: number, bit, own: false });
            }
        }
    }

    /// Ends the current round if a quorum allows it. Looks for a decision in every round that is known.
    fn leave_round(&mut self, votes: &BitVotes, committee: &Replicas) -> bool {
        let proposer = self.proposer;
        let support = |number, bits| votes.support(proposer, number, bits);
        if self.decided.is_none() {
            let decides = votes
                .rounds()
                .find(|number| committee.is_strong(support(*number, Bits::only(is_odd(*number)))));
            if let Some(number) = decides {
                self.decided = Some(is_odd(number));
                self.last = number.saturating_add(AFTER);
            }
        }
        let (current, bit) = (self.round, is_odd(self.round));
        let Some(round) = self.round(current).filter(|round| round.sent.is_some()) else {
            return false;
        };
        // Whether somebody has left this round, and so may not have decided. Who has not leaves every round in the end
        // and says so; until then a party that has decided would speak to nobody.
        let is_needed = || votes.is_proposed_after(proposer, current);
        if current > self.last || self.decided.is_some() && !is_needed() {
            return false;
        }
        let justified = |bits: Bits| {
            bits.is_within(round.justified) && committee.is_strong(support(current, bits))
        };
        let single = [bit, !bit].into_iter().find(|bit| justified(Bits::only(*bit)));
        self.estimate = match single {
            Some(bit) => bit,
            None if justified(Bits { zero: true, one: true }) => bit,
            None => return false,
        };
        self.round = current.saturating_add(1);
        true
    }

    /// When the round goes on by itself.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let round = self.round(self.round).filter(|_| self.round <= self.last)?;
        round.until.filter(|_| round.sent.is_none())
    }

    /// The bit for which this party has sent what decides it in the first round that can, if a strong quorum had
    /// that estimate of its own. No two honest parties find different bits here.
    pub(crate) fn prefinalized(&self, votes: &BitVotes, committee: &Replicas) -> Option<bool> {
        let proposed = |bit| committee.is_strong(votes.proposed(self.proposer, 1, bit));
        let sent = |round, bit| self.round(round)?.sent.filter(|sent| *sent == Bits::only(bit));
        if proposed(true) {
            return sent(1, true).map(|_| true);
        }
        sent(2, false).filter(|_| proposed(false)).map(|_| false)
    }
}

const fn is_odd(round: u32) -> bool {
    round % 2 == 1
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use prefinal_weighted_rounding::Stake;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A party with what it has heard.
    struct Voter {
        binary: Binary,
        votes: BitVotes,
    }

    impl Voter {
        fn receive(
            &mut self,
            committee: &Replicas,
            from: Party,
            vote: BitVote,
        ) -> Result<(), Contradicted> {
            self.binary.receive(&mut self.votes, committee, from, vote)
        }

        fn advance(&mut self, committee: &Replicas, now: Instant) -> Vec<BitVote> {
            self.binary.advance(&mut self.votes, committee, now)
        }

        fn propose(&mut self, bit: bool) {
            self.binary.propose(bit);
        }

        fn decided(&self) -> Option<bool> {
            self.binary.decided()
        }

        fn prefinalized(&self, committee: &Replicas) -> Option<bool> {
            self.binary.prefinalized(&self.votes, committee)
        }
    }

    struct Parties {
        committee: Replicas,
        parties: Vec<Voter>,
        queue: VecDeque<(usize, Party, BitVote)>,
        now: Instant,
    }

    impl Parties {
        fn new(count: u32) -> Self {
            let stakes = vec![Stake::new(1); usize::try_from(count).unwrap()];
            let voter = |me| Voter {
                binary: Binary::new(Party::new(me), Party::new(0), SECOND),
                votes: BitVotes::default(),
            };
            Self {
                committee: Replicas::new(&stakes).unwrap(),
                parties: (0..count).map(voter).collect(),
                queue: VecDeque::new(),
                now: Instant::START,
            }
        }

        fn advance(&mut self, at: usize) {
            let said = self.parties[at].advance(&self.committee, self.now);
            let from = Party::new(u32::try_from(at).unwrap());
            for vote in said {
                for to in (0..self.parties.len()).filter(|to| *to != at) {
                    self.queue.push_back((to, from, vote));
                }
            }
        }

        /// Delivers everything, in an order that `seed` draws, and lets time pass until all have decided.
        fn run(&mut self, mut seed: u64, silent: &[usize]) -> Vec<Option<bool>> {
            for _ in 0..40 {
                while !self.queue.is_empty() {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let at = usize::try_from(seed >> 33).unwrap() % self.queue.len();
                    let (to, from, vote) = self.queue.remove(at).unwrap();
                    if silent.contains(&to) {
                        continue;
                    }
                    self.parties[to].receive(&self.committee, from, vote).unwrap();
                    self.advance(to);
                }
                self.now = self.now + SECOND;
                (0..self.parties.len())
                    .filter(|at| !silent.contains(at))
                    .collect::<Vec<_>>()
                    .into_iter()
                    .for_each(|at| self.advance(at));
            }
            self.parties.iter().map(Voter::decided).collect()
        }
    }

    impl Parties {
        /// All that prefinalized did so for one bit, and if they are so many it is the one that is decided.
        fn check_told(&self, decided: bool, many: usize) {
            let told = self.parties.iter().filter_map(|one| one.prefinalized(&self.committee));
            let told: Vec<bool> = told.collect();
            assert!(told.iter().all(|bit| Some(bit) == told.first()), "{told:?}");
            assert!(told.len() < many || told.first() == Some(&decided), "{told:?}");
        }
    }

    #[test]
    fn who_has_decided_goes_on_only_for_those_who_have_not() {
        let mut all = Parties::new(4);
        for at in 0..4 {
            all.parties[at].propose(true);
        }
        (0..4).for_each(|at| all.advance(at));
        assert_eq!(all.run(1, &[]), [Some(true); 4]);
        assert!(all.parties.iter().all(|one| one.binary.round == 1), "nobody needs more");
        // The last party says that it has left the round: it may have seen a zero besides.
        let later = BitVote::Estimate { round: 2, bit: true, own: true };
        all.parties[0].receive(&all.committee, Party::new(3), later).unwrap();
        let said = all.parties[0].advance(&all.committee, all.now);
        assert!(said.contains(&later), "{said:?}");
        assert!(said.iter().all(|vote| vote.round() == 2), "{said:?}");
    }

    #[test]
    fn what_all_propose_is_decided_without_waiting() {
        for bit in [false, true] {
            let mut parties = Parties::new(4);
            for at in 0..4 {
                parties.parties[at].propose(bit);
                parties.advance(at);
            }
            while let Some((to, from, vote)) = parties.queue.pop_front() {
                parties.parties[to].receive(&parties.committee, from, vote).unwrap();
                parties.advance(to);
            }
            assert!(parties.parties.iter().all(|one| one.decided() == Some(bit)), "{bit}");
            let last: Vec<_> =
                parties.parties.iter().map(|one| one.prefinalized(&parties.committee)).collect();
            assert_eq!(last, vec![Some(bit); 4]);
        }
    }

    #[test]
    fn however_messages_come_all_decide_the_same_bit() {
        let mut both = [0; 2];
        for seed in 0..400 {
            let mut parties = Parties::new(4);
            for at in 0..4 {
                parties.parties[at].propose(seed >> at & 1 == 1);
                parties.advance(at);
            }
            let decided = parties.run(seed, &[]);
            let bit = decided[0].unwrap();
            assert!(decided.iter().all(|one| *one == Some(bit)), "{seed}: {decided:?}");
            parties.check_told(bit, 3);
            both[usize::from(bit)] += 1;
        }
        assert!(both.iter().all(|count| *count > 40), "{both:?}");
    }

    #[test]
    fn one_of_four_may_be_silent() {
        for seed in 0..100 {
            let mut parties = Parties::new(4);
            for at in 0..3 {
                parties.parties[at].propose(seed >> at & 1 == 1);
                parties.advance(at);
            }
            let decided = parties.run(seed, &[3]);
            assert!(decided[0].is_some(), "{seed}");
            assert!(decided.iter().take(3).all(|one| *one == decided[0]), "{seed}: {decided:?}");
        }
    }

    #[test]
    fn a_bit_that_nobody_proposed_is_not_decided() {
        let mut parties = Parties::new(4);
        for at in 0..3 {
            parties.parties[at].propose(true);
            parties.advance(at);
        }
        // The fourth party lies to everybody.
        for to in 0..3 {
            for (round, bits) in [(1, false), (2, false)] {
                let bits = Bits::only(bits);
                parties.queue.push_back((to, Party::new(3), BitVote::Auxiliary { round, bits }));
                let vote = BitVote::Estimate { round, bit: false, own: true };
                parties.queue.push_back((to, Party::new(3), vote));
            }
        }
        let decided = parties.run(7, &[3]);
        assert_eq!(decided[..3], [Some(true); 3]);
    }

    /// The schedule that leaks if partials left with the auxiliary votes alone: 0 has sent `{1}` in round 1, and 1 and
    /// 2 have sent `{0}` in round 2, each the last vote for another bit. Party 3 lies.
    #[test]
    fn last_votes_for_both_bits_release_for_one_at_most() {
        let mut parties = Parties::new(4);
        for (at, bit) in [(0, true), (1, false), (2, false)] {
            parties.parties[at].propose(bit);
            parties.advance(at);
        }
        let estimate = |round, bit, own| BitVote::Estimate { round, bit, own };
        let set = |round, bit| BitVote::Auxiliary { round, bits: Bits::only(bit) };
        let zero = estimate(1, false, true);
        for (to, from, vote) in [
            (1, 2, zero),
            (1, 3, zero),
            (2, 1, zero),
            (2, 3, zero),
            (1, 0, estimate(1, true, true)),
            (1, 3, estimate(1, true, false)),
            (0, 3, estimate(1, true, true)),
            (0, 1, estimate(1, true, false)),
            (1, 2, set(1, false)),
            (1, 3, set(1, false)),
            (2, 1, set(1, false)),
            (2, 3, set(1, false)),
            (1, 2, estimate(2, false, true)),
            (1, 3, estimate(2, false, true)),
            (2, 1, estimate(2, false, true)),
            (2, 3, estimate(2, false, true)),
        ] {
            parties.parties[to].receive(&parties.committee, Party::new(from), vote).unwrap();
            parties.advance(to);
        }
        let sent = |at: usize, round| parties.parties[at].binary.round(round).unwrap().sent;
        assert_eq!(sent(0, 1), Some(Bits::only(true)));
        assert_eq!([sent(1, 2), sent(2, 2)], [Some(Bits::only(false)); 2]);
        let told = |at: usize| parties.parties[at].prefinalized(&parties.committee);
        assert_eq!([told(0), told(1), told(2)], [None, Some(false), Some(false)]);
    }

    /// Says something else to everybody, in every round, at any time.
    #[test]
    fn a_liar_splits_nobody_and_delays_nobody_for_ever() {
        let mut both = [0; 2];
        for seed in 0..300_u64 {
            let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut draw = || {
                dice ^= dice << 13;
                dice ^= dice >> 7;
                dice ^= dice << 17;
                dice
            };
            let mut parties = Parties::new(4);
            for at in 0..3 {
                parties.parties[at].propose(seed >> at & 1 == 1);
                parties.advance(at);
            }
            for round in 1..8 {
                for to in 0..3 {
                    let bits = Bits { zero: draw() % 3 > 0, one: draw() % 3 > 0 };
                    let set = BitVote::Auxiliary { round, bits };
                    let estimate = BitVote::Estimate { round, bit: draw() % 2 == 0, own: true };
                    let coordinate = BitVote::Coordinate { round, bit: draw() % 2 == 0 };
                    for vote in [set, estimate, coordinate] {
                        parties.queue.push_back((to, Party::new(3), vote));
                    }
                }
            }
            let decided = parties.run(seed, &[3]);
            let bit = decided[0].unwrap();
            assert_eq!(decided[..3], [Some(bit); 3], "{seed}");
            parties.check_told(bit, 2);
            both[usize::from(bit)] += 1;
        }
        assert!(both.iter().all(|count| *count > 30), "{both:?}");
    }

    #[test]
    fn rounds_far_ahead_take_no_memory() {
        let mut parties = Parties::new(4);
        let one = &mut parties.parties[0];
        for round in [0, 6, 7, u32::MAX] {
            let vote = BitVote::Estimate { round, bit: true, own: true };
            one.receive(&parties.committee, Party::new(1), vote).unwrap();
        }
        assert!(one.binary.rounds.is_empty());
        assert_eq!(one.votes.rounds().count(), 0);
        let vote = BitVote::Estimate { round: 5, bit: true, own: true };
        one.receive(&parties.committee, Party::new(1), vote).unwrap();
        assert_eq!(one.votes.rounds().count(), 1);
    }

    #[test]
    fn only_the_coordinator_coordinates() {
        let mut parties = Parties::new(4);
        let one = &mut parties.parties[0];
        let vote = |bit| BitVote::Coordinate { round: 1, bit };
        for other in [0, 2, 3] {
            one.receive(&parties.committee, Party::new(other), vote(true)).unwrap();
        }
        assert!(one.binary.rounds.is_empty());
        one.receive(&parties.committee, Party::new(1), vote(true)).unwrap();
        assert_eq!(one.binary.round(1).unwrap().coordinated, Some(true));
        assert_eq!(one.receive(&parties.committee, Party::new(1), vote(false)), Err(Contradicted));
    }

    #[test]
    fn two_own_estimates_or_sets_of_a_party_contradict() {
        let mut parties = Parties::new(4);
        let from = Party::new(2);
        let own = |bit| BitVote::Estimate { round: 1, bit, own: true };
        let one = &mut parties.parties[0];
        one.receive(&parties.committee, from, own(true)).unwrap();
        let echo = BitVote::Estimate { round: 1, bit: false, own: false };
        one.receive(&parties.committee, from, echo).unwrap();
        assert_eq!(one.receive(&parties.committee, from, own(false)), Err(Contradicted));
        let set = |bit| BitVote::Auxiliary { round: 1, bits: Bits::only(bit) };
        one.receive(&parties.committee, from, set(true)).unwrap();
        assert_eq!(one.receive(&parties.committee, from, set(false)), Err(Contradicted));
    }
}
