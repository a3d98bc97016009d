//! The laws as plays. Each play puts engines into a situation and expects them to go on. The watch
//! checks every law in every play; a play is named after the law that it provokes.

use std::collections::BTreeSet;
use std::time::Duration;

use prefinal_engine::{Effect, Engine, Input, Launch};
use prefinal_protocol::{Instant, Party, Slot};
use prefinal_sim::{Chance, Loss, Network, Partition, PartitionEffect, Window};
use prefinal_weighted_rounding::Stake;
use thiserror::Error;

use crate::noise::Noise;
use crate::play::{Play, Script};
use crate::sample::Sample;
use crate::violation::Violation;

const EQUAL: [u128; 4] = [1; 4];
/// Stakes with a sum of 100: more than two thirds are 67.
const UNEVEN: [u128; 5] = [40, 25, 15, 12, 8];
/// Members of which the first two hold no stake.
const IDLERS: [u128; 6] = [0, 0, 3, 3, 2, 2];
/// One member holds more than all others.
const HEAVY: [u128; 5] = [70, 10, 10, 5, 5];
/// Committees at the boundary, where exactly two thirds are not enough. Some members hold next to
/// nothing, one nearly everything.
const COMMITTEES: [&[u128]; 7] = [
    &[1, 1, 1, 1],
    &[3, 1, 1, 1],
    &[34, 33, 32, 1],
    &[5, 4, 3, 2, 1],
    &[50, 16, 17, 16, 1],
    &[1 << 60, 1 << 60, (1 << 60) - 1, 1],
    &[0, 3, 3, 2, 2],
];

const MINUTE: Duration = Duration::from_secs(60);

/// More slots than any engine gives to a party that lags: Jolteon's remember most, 1024 blocks.
const FORGOTTEN: u64 = 1_100;
const SETTLED: Duration = Duration::from_millis(200);
/// Number of effects after which a crash is tried, one play for each.
const CRASHES: u64 = 60;

/// A law that an engine broke, and the play in which it broke it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{play}: {violation}")]
pub struct Failure {
    /// The play and its parameters.
    pub play: String,
    /// The promise that was broken, with the slot and the parties.
    pub violation: Box<Violation>,
}

/// The result of a law for an engine.
pub type Verdict = Result<(), Failure>;

fn at(play: impl FnOnce() -> String) -> impl FnOnce(Violation) -> Failure {
    |violation| Failure { play: play(), violation: Box::new(violation) }
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Submits one transaction for each party, and another a little later.
fn submit_everywhere<S: Sample>(play: &mut Play<'_, S>) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for party in play.parties() {
        for (number, after) in [(0, Duration::ZERO), (1, ms(45))] {
            let transaction =
                borsh::to_vec(&("transaction", party.get(), number)).unwrap_or_default();
            play.submit(party, after, transaction.clone());
            all.push(transaction);
        }
    }
    all
}

/// All parties agree on every slot in its order. A quorum prefinalizes a value before it is final.
/// Every transaction is ordered once. What votes carry arrives everywhere. No view is given up.
///
/// # Errors
/// The law that is broken.
pub fn where_all_is_well<S: Sample>(sample: &S) -> Verdict {
    for stakes in [&EQUAL[..], &UNEVEN] {
        let script = Script { calm: true, ..Script::new(stakes) };
        go_well(sample, script, Slot::new(6)).map_err(at(|| format!("calm, {stakes:?}")))?;
    }
    Ok(())
}

/// Messages overtake each other by several slots, and no message is counted for another slot.
///
/// # Errors
/// The law that is broken.
pub fn slots_that_are_open_at_once_do_not_mix<S: Sample>(sample: &S) -> Verdict {
    for seed in 0..4 {
        let network = Network::uniform(ms(1), ms(90));
        let script = Script { calm: true, network, seed, ..Script::new(&EQUAL) };
        go_well(sample, script, Slot::new(8)).map_err(at(|| format!("overtaking, seed {seed}")))?;
    }
    Ok(())
}

fn go_well<S: Sample>(sample: &S, script: Script, last: Slot) -> Result<(), Violation> {
    let mut play = Play::new(sample, script);
    let all = play.parties();
    let transactions = submit_everywhere(&mut play);
    play.reach(&all, last, MINUTE)?;
    play.run(MINUTE, |watch| watch.all_have(&all, &transactions))?;
    play.watch().ordered(&all, &transactions)?;
    play.run(SETTLED, |_| false)?;
    play.watch().delivered(&all, last)
}

/// A party is away at the start. Its turns cost time and are given up. When it comes, it catches up.
///
/// # Errors
/// The law that is broken.
pub fn a_party_that_starts_late_catches_up<S: Sample>(sample: &S) -> Verdict {
    for late in [Party::new(1), Party::new(3)] {
        let away = BTreeSet::from([late]);
        let mut play = Play::new(sample, Script { away, ..Script::new(&EQUAL) });
        let others: Vec<Party> =
            play.parties().into_iter().filter(|party| *party != late).collect();
        let mut go = || {
            play.reach(&others, Slot::new(9), MINUTE)?;
            play.restart(late)?;
            let ahead = play.watch().reached(Party::new(0)).unwrap_or(Slot::new(0));
            let all = play.parties();
            play.reach(&all, ahead.after(6), MINUTE)
        };
        go().map_err(at(|| format!("{late} starts late")))?;
    }
    Ok(())
}

/// A party crashes after each of its first effects, restarts, soon crashes and restarts again. It
/// repeats what it said and contradicts nothing.
///
/// # Errors
/// The law that is broken.
pub fn a_crash_anywhere_breaks_no_promise<S: Sample>(sample: &S) -> Verdict {
    for effects in 1..=CRASHES {
        let party = Party::new(u32::try_from(effects % 4).unwrap_or(0));
        let network = Network::uniform(ms(5), ms(15));
        let script = Script { network, seed: effects, ..Script::new(&EQUAL) };
        let mut play = Play::new(sample, script);
        let mut go = || {
            crash_and_return(&mut play, party, effects)?;
            crash_and_return(&mut play, party, effects * 7 % 23 + 1)?;
            let ahead = play.watch().reached(party).unwrap_or(Slot::new(0));
            let all = play.parties();
            play.reach(&all, ahead.after(2), MINUTE)
        };
        go().map_err(at(|| format!("{party} crashes behind its effect {effects}")))?;
    }
    Ok(())
}

fn crash_and_return<S: Sample>(
    play: &mut Play<'_, S>,
    party: Party,
    effects: u64,
) -> Result<(), Violation> {
    play.crash_after(party, effects);
    for _ in 0..400 {
        play.run(ms(5), |_| false)?;
        if play.is_down(party) {
            break;
        }
    }
    play.run(ms(20), |_| false)?;
    play.restart(party)
}

/// A party crashes after one of its first effects and is away. When it comes back, it goes on behind a slot that others
/// have shown, then crashes once more. It takes part in what follows and contradicts nothing that it said before.
/// Engines that go on behind none are asked nothing.
///
/// # Errors
/// The law that is broken.
pub fn a_party_goes_on_behind_what_others_have_shown<S: Sample>(sample: &S) -> Verdict {
    let party = Party::new(2);
    for effects in (1..=CRASHES).step_by(4).filter(|_| S::Engine::RECALLS > 0) {
        let network = Network::uniform(ms(5), ms(15));
        let script = Script { network, seed: effects, ..Script::new(&EQUAL) };
        let mut play = Play::new(sample, script);
        submit_everywhere(&mut play);
        let all = play.parties();
        let others: Vec<Party> = all.iter().copied().filter(|one| *one != party).collect();
        let mut go = || {
            play.crash_after(party, effects);
            play.run(ms(100), |_| false)?;
            play.crash(party)?;
            let ahead = play.watch().reached(Party::new(0)).unwrap_or(Slot::new(0));
            // Its own last slots may be among those that are shown, or far behind them.
            let last = ahead.after(1 + effects % 3 * 8);
            play.reach(&others, last.after(3), MINUTE)?;
            play.adopt(party, last);
            play.restart(party)?;
            crash_and_return(&mut play, party, effects * 7 % 23 + 1)?;
            let ahead = play.watch().reached(Party::new(0)).unwrap_or(Slot::new(0));
            play.reach(&all, ahead.after(4), MINUTE)
        };
        go().map_err(at(|| format!("{party} is away behind its effect {effects}")))?;
    }
    Ok(())
}

/// A party is away until the others have forgotten where it was, and goes on behind a slot that they have shown. Engines
/// that go on behind none are asked nothing.
///
/// # Errors
/// The law that is broken.
pub fn a_party_goes_on_that_others_would_not_fetch_any_more<S: Sample>(sample: &S) -> Verdict {
    if S::Engine::RECALLS == 0 {
        return Ok(());
    }
    let (party, network) = (Party::new(2), Network::uniform(ms(5), ms(15)));
    let mut play = Play::new(sample, Script { network, seed: 1, ..Script::new(&EQUAL) });
    submit_everywhere(&mut play);
    let all = play.parties();
    let others: Vec<Party> = all.iter().copied().filter(|one| *one != party).collect();
    let mut go = || {
        play.run(ms(500), |_| false)?;
        play.crash(party)?;
        let ahead = play.watch().reached(Party::new(0)).unwrap_or(Slot::new(0));
        let last = ahead.after(FORGOTTEN);
        play.reach(&others, last.after(3), 30 * MINUTE)?;
        play.adopt(party, last);
        play.restart(party)?;
        let ahead = play.watch().reached(Party::new(0)).unwrap_or(Slot::new(0));
        play.reach(&all, ahead.after(4), MINUTE)
    };
    go().map_err(at(|| format!("{party} is away for {FORGOTTEN} slots")))
}

/// All parties crash at once and restart from what they made durable.
///
/// # Errors
/// The law that is broken.
pub fn all_may_crash_at_once<S: Sample>(sample: &S) -> Verdict {
    for seed in 0..4 {
        let network = Network::uniform(ms(5), ms(15));
        let mut play = Play::new(sample, Script { network, seed, ..Script::new(&EQUAL) });
        let all = play.parties();
        let mut go = || {
            play.run(ms(100 + 3 * seed), |_| false)?;
            all.iter().try_for_each(|party| play.crash(*party))?;
            play.run(ms(20), |_| false)?;
            all.iter().try_for_each(|party| play.restart(*party))?;
            let ahead = all.iter().filter_map(|party| play.watch().reached(*party)).max();
            play.reach(&all, ahead.unwrap_or(Slot::new(0)).after(3), MINUTE)
        };
        go().map_err(at(|| format!("all crash, seed {seed}")))?;
    }
    Ok(())
}

/// Links lose many messages, then part the committee, then heal. From then on the chain continues.
///
/// # Errors
/// The law that is broken.
pub fn it_goes_on_when_links_heal<S: Sample>(sample: &S) -> Verdict {
    for seed in 0..3 {
        let instant = |millis| Instant::at(ms(millis));
        let loss =
            Loss { window: Window::new(instant(0), instant(1500)), chance: Chance::percent(15) };
        let half = [0, 1].map(prefinal_sim::Seat::new);
        let partition = Partition {
            window: Window::new(instant(1500), instant(3500)),
            groups: vec![BTreeSet::from(half)],
            blocked: if seed % 2 == 0 { PartitionEffect::Dropped } else { PartitionEffect::Held },
        };
        let network = Network::uniform(ms(10), ms(30)).with_loss(loss).with_partition(partition);
        let mut play = Play::new(sample, Script { network, seed, ..Script::new(&EQUAL) });
        let all = play.parties();
        let mut go = || {
            play.run(ms(3500), |_| false)?;
            let ahead = all.iter().filter_map(|party| play.watch().reached(*party)).max();
            play.reach(&all, ahead.unwrap_or(Slot::new(0)).after(5), MINUTE)
        };
        go().map_err(at(|| format!("lossy, then parted, seed {seed}")))?;
    }
    Ok(())
}

/// A faulty party runs two engines with one key and different transactions. Both talk to all parties,
/// or each to one half.
///
/// # Errors
/// The law that is broken.
pub fn a_party_with_two_faces_splits_nobody<S: Sample>(sample: &S) -> Verdict {
    for seed in 0..4 {
        let twin = Party::new(u32::try_from(seed % 4).unwrap_or(0));
        let network = Network::uniform(ms(5), ms(15));
        let (faulty, twins) = (BTreeSet::from([twin]), vec![twin]);
        let script = Script { network, seed, faulty, twins, ..Script::new(&EQUAL) };
        let mut play = Play::new(sample, script);
        if seed % 2 == 0 {
            play.part_twins(twin);
        }
        let honest: Vec<Party> =
            play.parties().into_iter().filter(|party| *party != twin).collect();
        let _own = submit_everywhere(&mut play);
        play.submit_to_twin(twin, b"what the other face wants".to_vec());
        play.reach(&honest, Slot::new(7), MINUTE)
            .map_err(at(|| format!("{twin} has two faces, seed {seed}")))?;
    }
    Ok(())
}

/// A faulty party sends changed bytes, repeats other parties' messages, and sends to the wrong parties.
/// Nothing panics, and the other parties go on.
///
/// # Errors
/// The law that is broken.
pub fn noise_changes_nothing<S: Sample>(sample: &S) -> Verdict {
    for seed in 0..8 {
        let liar = Party::new(u32::try_from(seed % 4).unwrap_or(0));
        let faulty = BTreeSet::from([liar]);
        let mut play = Play::new(sample, Script { seed, faulty, ..Script::new(&EQUAL) });
        make_noise(&mut play, liar);
        let honest: Vec<Party> =
            play.parties().into_iter().filter(|party| *party != liar).collect();
        play.reach(&honest, Slot::new(5), MINUTE)
            .map_err(at(|| format!("{liar} makes noise, seed {seed}")))?;
    }
    Ok(())
}

fn make_noise<S: Sample>(play: &mut Play<'_, S>, liar: Party) {
    let overheard = play.overheard();
    for seat in play.seats(liar) {
        play.corrupt(seat, Noise::new(std::rc::Rc::clone(&overheard)));
    }
}

/// A message from a party that is no member, or from the party itself, causes no event.
///
/// # Errors
/// The law that is broken.
pub fn strangers_are_not_believed<S: Sample>(sample: &S) -> Verdict {
    let mut play = Play::new(sample, Script::new(&EQUAL));
    let all = play.parties();
    let label = || "strangers speak".to_owned();
    play.reach(&all, Slot::new(3), MINUTE).map_err(at(label))?;
    let committee = Script::new(&EQUAL).committee;
    for from in [Party::new(0), Party::new(4), Party::new(u32::MAX)] {
        let party = Party::new(0);
        let config = committee.config(sample, party);
        let started = S::Engine::start(config, sample.secret_key(party), Vec::new());
        let Ok((mut engine, _)) = started else { continue };
        engine.handle(Instant::START, Input::Start);
        while engine.poll().is_some() {}
        for (author, message) in play.overheard().borrow().iter() {
            if *author == party {
                continue;
            }
            let message = message.clone();
            engine.handle(Instant::START, Input::Received { from, message });
            while let Some(output) = engine.poll() {
                let violation = match output.effect() {
                    Some(Effect::Run(job)) => {
                        engine.handle(Instant::START, Input::Checked(sample.run(&job)));
                        continue;
                    }
                    Some(
                        Effect::Proposed { .. }
                        | Effect::Prefinalized { .. }
                        | Effect::Finalized { .. }
                        | Effect::Carried { .. }
                        | Effect::Abandoned { .. },
                    ) => Violation::Believed { party, from },
                    _ => continue,
                };
                return Err(at(label)(violation));
            }
        }
    }
    Ok(())
}

/// Members with exactly the declared quorum finalize a block while the others are away. Members with
/// one unit less never do, however long they try. All such sets of uneven committees are played.
///
/// # Errors
/// The law that is broken.
pub fn the_declared_quorum_is_counted<S: Sample>(sample: &S) -> Verdict {
    for stakes in COMMITTEES {
        let total: u128 = stakes.iter().sum();
        let declared = S::Engine::QUORUM;
        let quorum = declared.of(Stake::new(total)).get();
        let faulty = declared.faulty(Stake::new(total)).get();
        if faulty > total - quorum {
            let violation = Violation::Unreachable { quorum, total, faulty };
            return Err(at(|| format!("{stakes:?}"))(violation));
        }
        for held in [quorum, quorum - 1] {
            for parties in holding(stakes, held) {
                is_quorum(sample, stakes, &parties, held >= quorum)
                    .map_err(at(|| format!("{parties:?} of {stakes:?}")))?;
            }
        }
    }
    Ok(())
}

fn is_quorum<S: Sample>(
    sample: &S,
    stakes: &[u128],
    parties: &[Party],
    enough: bool,
) -> Result<(), Violation> {
    let script = Script::new(stakes);
    let away = script.committee.parties().filter(|party| !parties.contains(party)).collect();
    let mut play = Play::new(sample, Script { away, ..script });
    let finalizes = play.run(ms(40_000), |watch| watch.blocks() > 0)?;
    match (finalizes, enough, parties.first()) {
        (false, true, Some(party)) => {
            Err(Violation::Stalled { party: *party, reached: None, expected: Slot::new(1) })
        }
        (true, false, _) => {
            let held = parties.iter().map(|party| stake(stakes, *party)).sum();
            let total = Stake::new(stakes.iter().sum());
            let quorum = S::Engine::QUORUM.of(total).get();
            Err(Violation::Outvoted { parties: parties.to_vec(), held, quorum })
        }
        _ => Ok(()),
    }
}

fn stake(stakes: &[u128], party: Party) -> u128 {
    stakes.get(party.index()).copied().unwrap_or(0)
}

/// Every set of members that holds exactly this stake.
fn holding(stakes: &[u128], need: u128) -> Vec<Vec<Party>> {
    let members = |mask: u32| {
        let all =
            (0..u32::try_from(stakes.len()).unwrap_or(0)).filter(move |at| mask >> at & 1 == 1);
        all.map(Party::new).collect::<Vec<_>>()
    };
    let held =
        |set: &Vec<Party>| set.iter().map(|party| stake(stakes, *party)).sum::<u128>() == need;
    (1..1_u32 << stakes.len()).map(members).filter(held).collect()
}

/// Members without stake change nothing, whether they are away, present or lying. If one member holds
/// much stake, few members are enough.
///
/// # Errors
/// The law that is broken.
pub fn stake_decides_and_heads_do_not<S: Sample>(sample: &S) -> Verdict {
    let idlers = [0, 1].map(Party::new);
    let [first, second] = idlers;
    let away = BTreeSet::from(idlers);
    let mut play = Play::new(sample, Script { away: away.clone(), ..Script::new(&IDLERS) });
    let holders: Vec<Party> = (2..6).map(Party::new).collect();
    let mut go = || {
        play.reach(&holders, Slot::new(7), MINUTE)?;
        play.restart(first)?;
        let ahead = play.watch().reached(Party::new(2)).unwrap_or(Slot::new(0));
        play.reach(&[first], ahead, MINUTE)
    };
    go().map_err(at(|| "who holds nothing is away".to_owned()))?;
    let script = Script { faulty: away, twins: vec![second], ..Script::new(&IDLERS) };
    let mut play = Play::new(sample, script);
    make_noise(&mut play, first);
    play.submit_to_twin(second, b"what the other face wants".to_vec());
    play.reach(&holders, Slot::new(7), MINUTE)
        .map_err(at(|| "who holds nothing lies".to_owned()))?;
    let few = [0, 3].map(Party::new);
    let away = [1, 2, 4].map(Party::new).into_iter().collect();
    let mut play = Play::new(sample, Script { away, ..Script::new(&HEAVY) });
    play.reach(&few, Slot::new(4), MINUTE).map_err(at(|| "one holds nearly all".to_owned()))
}
