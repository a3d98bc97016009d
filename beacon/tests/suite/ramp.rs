//! Theorem 6.1: with a ramp, global reconstruction comes behind global finalization in some execution. Its proof, by
//! running the executions that it pairs.
//!
//! The theorem is about all algorithms. Played are those that release on prefinalize. They differ in the weight `T` that
//! opens the value, and with a ramp there is no good one. `q` is the stake that makes a value final (`t_fin`), and `N` a set of less stake:
//!
//! | if                           | executions                                | what happens                       |
//! |------------------------------|-------------------------------------------|------------------------------------|
//! | some `N` has weight `T`      | `E`: `N` and `p` prefinalize at 0, and are a quorum | final and reconstructed at 0 |
//! |                              | `E′`: the same, but `p` does so a moment later | reconstructed at 0, final later: contradicts Lemma 1 |
//! | no such `N` has              | some quorum has less than `T`, and prefinalizes at 0 | final at 0, reconstructed later: the theorem |
//!
//! In the proof's case 1, `p` reveals its share when it prefinalizes; in case 2 it does not. Every early threshold is
//! played in both: `p` as it is, and `p` just restarted, for a beacon that cannot know what it said before holds its
//! early partials back although it has shares and is honest. A party to which the rounding gave no share is in case 2
//! too. All others see the same in `E` and `E′` until `p` has spoken, so no algorithm that takes
//! this `T` can tell one from the other. Our beacon refuses every `T` of the first row when it starts
//! (`OpensEarly`); to run them it is told that weight is stake. Global times are read from what is on the
//! wire, which the adversary receives at once (section 3.1): the value is reconstructed as soon as the
//! partials that have left combine.
use std::collections::{BTreeMap, BTreeSet};

use prefinal_beacon::{Beacon, ConfigError, Finality, Path, Quorum, ThresholdError};
use prefinal_crypto_core::access::Party;
use prefinal_weighted_rounding::{Objective, Profile as Pairs, Rounding, Stake, Weight};

use crate::fixture::*;
use crate::network::{DELAY, Network};

suite! {
    every_threshold_of_a_ramp_is_early_or_late
    a_party_without_shares_is_in_the_second_case
    a_ramp_is_on_time_if_all_are
    ; with values:
    tight_thresholds_are_on_time_in_every_order
}

/// Shorter than any message takes.
const MOMENT: u64 = 1;

type Set = BTreeSet<Party>;

/// The two cases of the proof: whether the party that makes a value final reveals its share when it prefinalizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Reveals,
    Withholds,
}

/// Stakes and the weights that stand for them.
struct Ramp {
    stakes: Vec<u128>,
    weights: Vec<u32>,
    finality: Finality,
}

/// When a value is known to be final by somebody who sees everything, and when it can be reconstructed.
#[derive(Debug, PartialEq, Eq)]
struct GlobalTimes {
    finalized: u64,
    reconstructed: u64,
}

impl Ramp {
    fn new(stakes: &[u128], weights: &[u32]) -> Self {
        let table: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
        let held: Vec<Weight> = weights.iter().copied().map(Weight::new).collect();
        let finality = Finality::rounded(&table, &held, Quorum::BYZANTINE).unwrap();
        Self { stakes: stakes.to_vec(), weights: weights.to_vec(), finality }
    }

    /// As our own solver rounds.
    fn solved(stakes: &[u128]) -> Self {
        let table: Vec<Stake> = stakes.iter().copied().map(Stake::new).collect();
        let rounding = Rounding::solve(&table, &Pairs::standard(), Objective::least_total());
        let weights: Vec<u32> =
            rounding.unwrap().weights().iter().map(|weight| weight.get()).collect();
        Self::new(stakes, &weights)
    }

    fn total(&self) -> u32 {
        self.weights.iter().sum()
    }

    fn weight(&self, set: &Set) -> u32 {
        set.iter().map(|party| self.weights[party.index()]).sum()
    }

    fn is_quorum(&self, set: &Set) -> bool {
        let stake: u128 = set.iter().map(|party| self.stakes[party.index()]).sum();
        stake >= self.finality.quorum().get()
    }

    fn sets(&self) -> Vec<Set> {
        let parties = (0..u32::try_from(self.weights.len()).unwrap()).map(Party::new);
        let both = |sets: Vec<Set>, party| {
            let with = sets.iter().map(|set| set.iter().copied().chain([party]).collect());
            let with: Vec<Set> = with.collect();
            sets.into_iter().chain(with).collect()
        };
        parties.fold(vec![Set::new()], both)
    }

    /// A set that is not final and opens `t`, with a party that would make it final.
    fn early(&self, t: u32, last: impl Fn(Party) -> bool) -> Option<(Set, Party)> {
        let sets = self.sets().into_iter().filter(|set| !self.is_quorum(set));
        let mut leaks = sets.filter(|set| self.weight(set) >= t).flat_map(|set| {
            let parties = (0..u32::try_from(self.weights.len()).unwrap()).map(Party::new);
            parties.map(move |party| (set.clone(), party))
        });
        leaks.find(|(set, party)| {
            let with = set.iter().copied().chain([*party]).collect();
            last(*party) && !set.contains(party) && self.is_quorum(&with)
        })
    }

    /// A quorum that does not open `t`.
    fn late(&self, t: u32) -> Option<Set> {
        self.sets().into_iter().find(|set| self.is_quorum(set) && self.weight(set) < t)
    }

    /// The algorithm with threshold `t`, with its premise or without.
    fn world<S: Instance>(&self, t: u32, is_told_the_stakes: bool) -> World<S> {
        let slow = self.total() / 2 + 1;
        let mut world = World::new(1401, &self.weights, [slow, t, t]);
        if is_told_the_stakes {
            world.finality = self.finality.clone();
        }
        world
    }

    /// Plays an execution: each party prefinalizes at its time, and finalizes when it has a quorum of votes. What
    /// each party had said and stored at time 0 is returned too.
    fn play<S: Instance>(
        &self,
        mut network: Network<'_, S>,
        votes: &BTreeMap<Party, u64>,
    ) -> (GlobalTimes, BTreeMap<Party, String>) {
        let (world, profile) = (network.world, network.profile);
        let bound = (profile.binding == TIGHT_VALUE.binding).then_some(V);
        let voted =
            |time| votes.iter().filter(move |(_, at)| **at <= time).map(|(party, _)| *party);
        let mut times: Vec<u64> = votes.values().copied().collect();
        times.sort_unstable();
        let mut finals = times.iter().filter(|time| self.is_quorum(&voted(**time).collect()));
        let finalized = *finals.next().expect("a quorum votes");
        for (party, at) in votes {
            network.at(*at, *party, prefinalized(1, 0, V));
        }
        // Votes take a delay, as partials do.
        network.all(finalized + DELAY, &world.parties(), &finalized_input::<S>());
        times.extend([finalized + DELAY, finalized + 2 * DELAY]);
        times.sort_unstable();
        let (mut reconstructed, mut views) = (None, BTreeMap::new());
        for time in times {
            network.run_until(time);
            let paths = [Path::Slow, Path::Fast, Path::Tight];
            if reconstructed.is_none()
                && paths.iter().any(|path| network.leak(&[], *path, slot(1), bound).is_ok())
            {
                reconstructed = Some(time);
            }
            if time == 0 {
                views = world
                    .parties()
                    .into_iter()
                    .map(|party| (party, view(&network, party)))
                    .collect();
            }
        }
        let reconstructed = reconstructed.expect("a value");
        (GlobalTimes { finalized, reconstructed }, views)
    }

    /// The paired executions of the proof. At 0 all parties but the last see the same in both.
    fn contradicts_lemma_1<S: Instance>(&self, t: u32, case: Case, (set, last): (&Set, Party)) {
        // The premise is checked: a beacon that knows the stakes does not start.
        let refused = Beacon::new(self.world::<S>(t, true).config(A, &BOTH), &[]).map(drop);
        let early = matches!(
            refused,
            Err(ConfigError::Threshold(ThresholdError::OpensEarly { path: Path::Fast, .. }))
        );
        assert!(early, "threshold {t}: {refused:?}");
        let world = self.world::<S>(t, false);
        let at = |time| set.iter().map(|party| (*party, 0)).chain([(last, time)]).collect();
        let network = || {
            let mut network = Network::new(&world, &BOTH, &[]);
            if case == Case::Withholds {
                network.restart(last);
            }
            network
        };
        let (one, mut views) = self.play(network(), &at(0));
        let (other, mut others) = self.play(network(), &at(MOMENT));
        assert_eq!(one, GlobalTimes { finalized: 0, reconstructed: 0 }, "threshold {t}");
        assert_eq!(other, GlobalTimes { finalized: MOMENT, reconstructed: 0 }, "threshold {t}");
        let (spoke, silent) = (views.remove(&last), others.remove(&last));
        let reveals = case == Case::Reveals && self.weights[last.index()] > 0;
        assert_eq!(spoke != silent, reveals, "threshold {t}, {case:?}");
        assert_eq!(views, others, "threshold {t}");
    }

    /// What the theorem says of every algorithm that keeps Lemma 1.
    fn is_late<S: Instance>(&self, t: u32, quorum: &Set) {
        let world = self.world::<S>(t, true);
        let votes = quorum.iter().map(|party| (*party, 0)).collect();
        let (times, _) = self.play(Network::new(&world, &BOTH, &[]), &votes);
        // Not before the slow partials, which leave a delay behind the votes.
        assert_eq!(times, GlobalTimes { finalized: 0, reconstructed: DELAY }, "threshold {t}");
    }
}

fn finalized_input<S: Instance>() -> prefinal_beacon::Input<S> {
    finalized(1, Some(V))
}

/// All that a party has said and stored.
fn view<S: Instance>(network: &Network<'_, S>, party: Party) -> String {
    let said: Vec<_> = network.sent.iter().filter(|(from, ..)| *from == party).collect();
    format!("{said:?} {:?}", network.logs.get(&party))
}

/// Tables with a gap, as most have one: which parties vote decides, not only how much stake.
fn every_threshold_of_a_ramp_is_early_or_late<S: Instance>() {
    let (mut early, mut late) = (0, 0);
    for stakes in [[43, 27, 19, 11], [97, 61, 33, 9]] {
        let ramp = Ramp::solved(&stakes);
        // No beacon runs with less, even if it takes weight for stake; what leaks here leaks there too.
        for t in ramp.total() / 2 + 1..=ramp.total() {
            let leak = ramp.early(t, |party| ramp.weights[party.index()] > 0);
            match (leak, ramp.late(t)) {
                (Some((set, last)), _) => {
                    for case in [Case::Reveals, Case::Withholds] {
                        ramp.contradicts_lemma_1::<S>(t, case, (&set, last));
                    }
                    early += 1;
                }
                (None, Some(quorum)) => {
                    ramp.is_late::<S>(t, &quorum);
                    late += 1;
                }
                (None, None) => panic!("threshold {t} of {:?} is tight", ramp.weights),
            }
        }
    }
    assert!(early > 0 && late > 0, "{early} early, {late} late");
}

/// Two of three shares stand for 66 of 100, and the last unit of stake has none.
fn a_party_without_shares_is_in_the_second_case<S: Instance>() {
    let ramp = Ramp::new(&[36, 33, 30, 1], &[1, 1, 1, 0]);
    let (set, last) = ramp.early(2, |party| ramp.weights[party.index()] == 0).unwrap();
    assert_eq!(last, D);
    ramp.contradicts_lemma_1::<S>(2, Case::Reveals, (&set, last));
    assert!(ramp.early(3, |_| true).is_none());
    ramp.is_late::<S>(3, &ramp.late(3).unwrap());
}

/// Theorem 6.3: the same thresholds, and everybody prefinalizes at once.
fn a_ramp_is_on_time_if_all_are<S: Instance>() {
    let ramp = Ramp::solved(&[43, 27, 19, 11]);
    for t in ramp.total() / 2 + 1..=ramp.total() {
        if ramp.early(t, |_| true).is_some() {
            continue;
        }
        let world = ramp.world::<S>(t, true);
        let votes = world.parties().into_iter().map(|party| (party, 0)).collect();
        let (times, _) = ramp.play(Network::new(&world, &BOTH, &[]), &votes);
        assert_eq!(times, GlobalTimes { finalized: 0, reconstructed: 0 }, "threshold {t}");
    }
}

/// Theorem 5.2: without a gap the two times are one, in whatever order parties vote.
fn tight_thresholds_are_on_time_in_every_order<S: Instance>() {
    let tight = Ramp::new(&[4, 3, 2, 1], &[4, 3, 2, 1]);
    let t = 7;
    assert!(tight.early(t, |_| true).is_none() && tight.late(t).is_none());
    for profile in profiles::<S>(&[TIGHT, TIGHT_VALUE]) {
        let world = tight.world::<S>(t, true);
        for order in 0..24 {
            let (mut left, mut code) = (vec![A, B, C, D], order);
            let votes = (0..4).map(|time| {
                let of = left.len();
                let party = left.remove(code % of);
                code /= of;
                (party, time)
            });
            let network = Network::new(&world, &profile, &[]);
            let (times, _) = tight.play(network, &votes.collect());
            assert_eq!(times.finalized, times.reconstructed, "{profile:?}, order {order}");
        }
    }
}
