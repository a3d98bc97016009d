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
use std::collections::BTreeMap;

use core::time::Duration;
use prefinal_protocol::{Instant, Party};

use crate::quorum::{Replicas, Supporters};

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

/// Who says zero, and who says one.
#[derive(Debug, Default)]
struct OfEach {
    zero: Supporters,
    one: Supporters,
}

impl OfEach {
    const fn of(&self, bit: bool) -> &Supporters {
        if bit { &self.one } else { &self.zero }
    }

    const fn of_mut(&mut self, bit: bool) -> &mut Supporters {
        if bit { &mut self.one } else { &mut self.zero }
    }

    fn contains(&self, party: Party) -> bool {
        self.zero.contains(party) || self.one.contains(party)
    }
}

/// Who sent which auxiliary set.
#[derive(Debug, Default)]
struct Auxiliaries {
    only: OfEach,
    both: Supporters,
}

impl Auxiliaries {
    fn of(&self, party: Party) -> Option<Bits> {
        if self.both.contains(party) {
            return Some(Bits { zero: true, one: true });
        }
        let only = [false, true].into_iter().find(|bit| self.only.of(*bit).contains(party));
        only.map(Bits::only)
    }

    fn insert(&mut self, committee: &Replicas, party: Party, bits: Bits) {
        match bits {
            Bits { zero: true, one: true } => self.both.insert(committee, party),
            Bits { zero: false, one: false } => {}
            Bits { one, .. } => self.only.of_mut(one).insert(committee, party),
        }
    }

    /// The stake that says no bit but these.
    fn support(&self, bits: Bits) -> u128 {
        let of = |is_in: bool, by: &Supporters| if is_in { by.stake() } else { 0 };
        let only = of(bits.zero, &self.only.zero).saturating_add(of(bits.one, &self.only.one));
        only.saturating_add(of(bits.zero && bits.one, &self.both))
    }
}

#[derive(Debug, Default)]
struct Round {
    estimates: OfEach,
    /// Parties whose own estimate it is.
    own: OfEach,
    said: Bits,
    justified: Bits,
    coordinated: Option<bool>,
    auxiliaries: Auxiliaries,
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
    /// Few, so each in its own place: a map keeps room for several.
    rounds: BTreeMap<u32, Box<Round>>,
    decided: Option<bool>,
    /// The last round in which this party takes part.
    last: u32,
    timeout: Duration,
}

impl Binary {
    pub(crate) const fn new(me: Party, proposer: Party, timeout: Duration) -> Self {
        let rounds = BTreeMap::new();
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

    /// Takes a vote, also one that this party cast in an earlier life.
    ///
    /// # Errors
    /// If the sender has said something else before, of which it may say one.
    pub(crate) fn receive(
        &mut self,
        committee: &Replicas,
        from: Party,
        vote: BitVote,
    ) -> Result<(), Contradicted> {
        let (number, mine) = (vote.round(), from == self.me);
        let known = number.saturating_sub(AHEAD) <= self.round.max(1) || mine;
        if number == 0 || !known {
            return Ok(());
        }
        let coordinator = committee.coordinator(self.proposer, number);
        let round = self.rounds.entry(number).or_default();
        match vote {
            BitVote::Estimate { bit, own, .. } => {
                if own && round.own.of(!bit).contains(from) {
                    return Err(Contradicted);
                }
                round.estimates.of_mut(bit).insert(committee, from);
                if own {
                    round.own.of_mut(bit).insert(committee, from);
                }
                if mine {
                    round.said.insert(bit);
                }
            }
            BitVote::Coordinate { bit, .. } if from == coordinator => {
                if *round.coordinated.get_or_insert(bit) != bit {
                    return Err(Contradicted);
                }
            }
            BitVote::Coordinate { .. } => {}
            BitVote::Auxiliary { bits, .. } => {
                if round.auxiliaries.of(from).is_some_and(|first| first != bits) {
                    return Err(Contradicted);
                }
                round.auxiliaries.insert(committee, from, bits);
                if mine {
                    round.sent = Some(bits);
                }
            }
        }
        Ok(())
    }

    /// What this party says by now, in the order in which it must leave. Takes its own votes at once.
    pub(crate) fn advance(&mut self, committee: &Replicas, now: Instant) -> Vec<BitVote> {
        let mut said = Vec::new();
        loop {
            let before = said.len();
            self.step(committee, now, &mut said);
            for vote in said.iter().skip(before) {
                // What this party says once it has looked up before.
                let _own = self.receive(committee, self.me, *vote);
            }
            if said.len() == before && !self.leave_round(committee) {
                return said;
            }
        }
    }

    fn step(&mut self, committee: &Replicas, now: Instant, said: &mut Vec<BitVote>) {
        let ones = self.rounds.get(&1).map_or(0, |first| first.estimates.one.stake());
        if self.round == 0 && committee.is_weak(ones) {
            // Somebody honest has the batch, so it will be here too.
            self.propose(true);
        }
        let (me, current, estimate, last) = (self.me, self.round, self.estimate, self.last);
        let timeout = self.timeout.saturating_mul(current.saturating_sub(1));
        if current > 0 && current <= last {
            let own = &self.rounds.entry(current).or_default().own;
            if !own.contains(me) {
                said.push(BitVote::Estimate { round: current, bit: estimate, own: true });
                return;
            }
        }
        for (&number, round) in &mut self.rounds {
            for bit in [false, true] {
                let support = round.estimates.of(bit).stake();
                if committee.is_strong(support) {
                    round.justified.insert(bit);
                }
                // Somebody honest proposed it, so this party may say so too, in whatever round it is itself.
                if committee.is_weak(support) && !round.said.contains(bit) && number <= last {
                    said.push(BitVote::Estimate { round: number, bit, own: false });
                }
            }
        }
        if current == 0 || current > last {
            return;
        }
        let round = self.rounds.entry(current).or_default();
        if round.sent.is_some() || round.justified.is_empty() {
            return;
        }
        let until = *round.until.get_or_insert(now + timeout);
        if committee.coordinator(self.proposer, current) == me && round.coordinated.is_none() {
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

    /// Ends the current round if a quorum allows it. Looks for a decision in every round that is known.
    fn leave_round(&mut self, committee: &Replicas) -> bool {
        if self.decided.is_none() {
            let decides = self.rounds.iter().find_map(|(number, round)| {
                let bit = is_odd(*number);
                let decides = committee.is_strong(round.auxiliaries.support(Bits::only(bit)));
                decides.then_some((*number, bit))
            });
            if let Some((number, bit)) = decides {
                self.decided = Some(bit);
                self.last = number.saturating_add(AFTER);
            }
        }
        let (current, bit) = (self.round, is_odd(self.round));
        let Some(round) = self.rounds.get(&current) else { return false };
        if round.sent.is_none() || current > self.last {
            return false;
        }
        if self.decided.is_some() && !self.is_needed(current) {
            return false;
        }
        let justified = |bits: Bits| {
            bits.is_within(round.justified) && committee.is_strong(round.auxiliaries.support(bits))
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

    /// Whether somebody has left this round, and so may not have decided. Who has not leaves every round in the end and
    /// says so; until then a party that has decided would speak to nobody.
    fn is_needed(&self, current: u32) -> bool {
        let mut later = self.rounds.range(current.saturating_add(1)..);
        later.any(|(_, round)| !round.own.zero.is_empty() || !round.own.one.is_empty())
    }

    /// When the round goes on by itself.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let round = self.rounds.get(&self.round).filter(|_| self.round <= self.last)?;
        round.until.filter(|_| round.sent.is_none())
    }

    /// The bit for which this party has sent what decides it in the first round that can, if a strong quorum had
    /// that estimate of its own. No two honest parties find different bits here.
    pub(crate) fn prefinalized(&self, committee: &Replicas) -> Option<bool> {
        let first = self.rounds.get(&1)?;
        if committee.is_strong(first.own.one.stake()) {
            return (first.sent == Some(Bits::only(true))).then_some(true);
        }
        let sent = self.rounds.get(&2).and_then(|second| second.sent);
        let is_zero =
            committee.is_strong(first.own.zero.stake()) && sent == Some(Bits::only(false));
        is_zero.then_some(false)
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

    struct Parties {
        committee: Replicas,
        parties: Vec<Binary>,
        queue: VecDeque<(usize, Party, BitVote)>,
        now: Instant,
    }

    impl Parties {
        fn new(count: u32) -> Self {
            let stakes = vec![Stake::new(1); usize::try_from(count).unwrap()];
            let binary = |me| Binary::new(Party::new(me), Party::new(0), SECOND);
            Self {
                committee: Replicas::new(&stakes).unwrap(),
                parties: (0..count).map(binary).collect(),
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
            self.parties.iter().map(Binary::decided).collect()
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
        assert!(all.parties.iter().all(|one| one.round == 1), "nobody needs more");
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
        let sent = |at: usize, round| parties.parties[at].rounds[&round].sent;
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
        assert!(one.rounds.is_empty());
        let vote = BitVote::Estimate { round: 5, bit: true, own: true };
        one.receive(&parties.committee, Party::new(1), vote).unwrap();
        assert_eq!(one.rounds.len(), 1);
    }

    #[test]
    fn only_the_coordinator_coordinates() {
        let mut parties = Parties::new(4);
        let one = &mut parties.parties[0];
        let vote = |bit| BitVote::Coordinate { round: 1, bit };
        for other in [0, 2, 3] {
            one.receive(&parties.committee, Party::new(other), vote(true)).unwrap();
        }
        assert_eq!(one.rounds[&1].coordinated, None);
        one.receive(&parties.committee, Party::new(1), vote(true)).unwrap();
        assert_eq!(one.rounds[&1].coordinated, Some(true));
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
