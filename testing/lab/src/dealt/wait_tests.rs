//! Theorems 5.3 and 6.4 on every engine, on links as long as those around the world, and that the check finds a party
//! which breaks them.

use std::num::NonZeroU32;
use std::time::Duration;

use ::prefinal_beacon::Bls;
use prefinal_dispel::Dispel;
use prefinal_jolteon::Jolteon;
use prefinal_malachite::Malachite;
use prefinal_sim::rule::{self, Letter};
use prefinal_sim::{Chance, Jitter, Loss, Window};
use prefinal_trantor::Trantor;
use prefinal_weighted_rounding::{Ratio, Stake};

use super::*;
use crate::campaign::board::KEYS;
use crate::local::{WaitCounts, WaitReason};

const SLOTS: u64 = 40;

/// Around the world, where nothing but the way takes time.
fn world() -> World {
    let placement = crate::place(&["all".to_owned()], 7, 3).unwrap().unwrap();
    let network = Network::placed(placement, Jitter::Percent(5));
    World { prices: Prices::FREE, network, cores: NonZeroU32::MIN, seed: 9, slots: SLOTS }
}

fn stage<E: Subject>(
    choice: Algorithm,
    world: &World,
) -> Simulation<DealtHost<E, Ideal<true>, Bls>> {
    let stakes = [40_u64, 30, 20, 10, 10, 5, 1].map(|stake| Stake::new(stake.into())).to_vec();
    let plan = Plan::new(stakes, choice, Ratio::FIVE_SIXTHS).unwrap();
    Committee::ideal(&plan, KEYS).unwrap().stage::<E>(choice, world).unwrap()
}

fn waits<E: Subject>(choice: Algorithm, world: &World) -> WaitCounts {
    let outcome = play(stage::<E>(choice, world), world).unwrap();
    let waits: WaitCounts = outcome.global.iter().map(|slot| slot.waits).sum();
    let zero = outcome.rows.iter().filter(|row| row.wait.is_zero()).count();
    assert!(zero >= usize::try_from(waits.of(WaitReason::AtOnce)).unwrap(), "{waits:?}");
    waits
}

/// Parties wait for these reasons and no other, and most do not wait.
fn are<E: Subject>(world: &World, reasons: &[WaitReason]) {
    let waits = waits::<E>(Algorithm::Tight, world);
    assert!(u64::from(waits.total()) >= 7 * (SLOTS - 1), "{waits:?}");
    assert!(waits.of(WaitReason::AtOnce) > waits.total() / 2, "{waits:?}");
    for reason in WaitReason::ALL {
        let may = reason == WaitReason::AtOnce || reasons.contains(&reason);
        assert_eq!(waits.of(reason) > 0, may, "{reason}: {waits:?}");
    }
}

/// Where delays vary by half, proposals overtake votes.
#[test]
fn parties_of_jolteon_wait_only_if_they_know_by_a_descendant() {
    are::<Jolteon>(&world(), &[]);
    let placement = crate::place(&["all".to_owned()], 7, 3).unwrap().unwrap();
    let network = Network::placed(placement, Jitter::Percent(50));
    are::<Jolteon>(&World { network, ..world() }, &[WaitReason::OtherVotes]);
}

#[test]
fn parties_of_malachite_never_wait() {
    are::<Malachite>(&world(), &[]);
}

#[test]
fn parties_of_trantor_never_wait() {
    are::<Trantor>(&world(), &[]);
}

#[test]
fn parties_of_dispel_wait_only_where_proposers_are_decided_one_by_one() {
    are::<Dispel>(&world(), &[WaitReason::ByProposer]);
}

/// Theorem 6.4, and on unequal links what its premise is for.
fn a_ramp_waits_for_shares<E: Subject>() {
    let network = Network::constant(Duration::from_millis(50));
    let optimistic = waits::<E>(Algorithm::Fast, &World { network, ..world() });
    assert_eq!(optimistic.of(WaitReason::AtOnce), optimistic.total(), "{optimistic:?}");
    assert!(u64::from(optimistic.total()) >= 7 * (SLOTS - 1), "{optimistic:?}");
    let unequal = waits::<E>(Algorithm::Fast, &world());
    assert!(unequal.of(WaitReason::Ramp) > 0, "{unequal:?}");
}

#[test]
fn a_ramp_waits_for_shares_on_jolteon() {
    a_ramp_waits_for_shares::<Jolteon>();
}

#[test]
fn a_ramp_waits_for_shares_on_malachite() {
    a_ramp_waits_for_shares::<Malachite>();
}

#[test]
fn a_ramp_waits_for_shares_on_trantor() {
    a_ramp_waits_for_shares::<Trantor>();
}

type Mail<E> = Arc<Parcel<E, Ideal<true>>>;

/// The largest party's messages to another one.
const LARGEST: Seat = Seat::new(0);
const VICTIM: Seat = Seat::new(1);

fn verdict<E: Subject>(
    choice: Algorithm,
    world: &World,
    rule: impl rule::Rule<Mail<E>> + 'static,
) -> String {
    let mut simulation = stage::<E>(choice, world);
    simulation.rule(LARGEST, rule).unwrap();
    match play(simulation, world) {
        Ok(outcome) => {
            format!("{:?}", outcome.global.iter().map(|one| one.waits).sum::<WaitCounts>())
        }
        Err(failure) => failure.to_string(),
    }
}

fn is_partial_for_the_victim<E: Subject>(letter: &Letter<Mail<E>>) -> bool {
    let is_partial = matches!(&*letter.message.post, Post::Beacon(Message::Partial { .. }));
    letter.to == VICTIM && is_partial
}

/// It has left in time for all others, so that the adversary has it and the global times are as they must be.
#[test]
fn a_partial_that_is_held_back_from_one_party_is_found() {
    let held = || {
        rule::delay_when(Duration::from_millis(1), |_, letter| {
            is_partial_for_the_victim::<Jolteon>(letter)
        })
    };
    let found = verdict::<Jolteon>(Algorithm::Tight, &world(), held());
    assert!(found.contains("Theorem 5.3 says that party 1 does not wait"), "{found}");
    assert!(found.contains("votes had arrived without their partials, of party 0"), "{found}");
    // With a ramp on equal links too.
    let network = Network::constant(Duration::from_millis(50));
    let equal = World { network, ..world() };
    let found = verdict::<Jolteon>(Algorithm::Fast, &equal, held());
    assert!(found.contains("Theorem 6.4 says that party 1 does not wait"), "{found}");
}

#[test]
fn a_partial_that_is_left_out_of_a_vote_is_found() {
    let without = rule::equivocate(|_, to, mail: &Mail<Trantor>| {
        let Post::Engine(prefinal_trantor::Message::Commit(commit)) = &*mail.post else {
            return None;
        };
        let commit = prefinal_trantor::Commit { partial: None, ..(**commit).clone() };
        let post = Arc::new(Post::Engine(prefinal_trantor::Message::Commit(Box::new(commit))));
        (to == VICTIM).then(|| Arc::new(Parcel { post, from: mail.from }))
    });
    let found = verdict::<Trantor>(Algorithm::Tight, &world(), without);
    assert!(found.contains("Theorem 5.3 says that party 1 does not wait"), "{found}");
}

/// Links that lose messages may lose a partial alone, so the same is no fault of a party there.
#[test]
fn of_a_run_whose_links_lose_messages_nothing_is_asked() {
    let window = Window::new(Instant::at(PATIENCE), Instant::at(Duration::MAX));
    let never = Loss { window, chance: Chance::percent(1) };
    let World { network, .. } = world();
    let lossy = World { network: network.with_loss(never), ..world() };
    let held = rule::delay_when(Duration::from_millis(1), |_, letter| {
        is_partial_for_the_victim::<Jolteon>(letter)
    });
    let found = verdict::<Jolteon>(Algorithm::Tight, &lossy, held);
    assert_eq!(found, format!("{:?}", WaitCounts::default()));
}
