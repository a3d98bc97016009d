//! Distance, loss, partitions, and processes that are killed at random.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prefinal_sim::{Geography, Placement, Seat};
use tokio::runtime::Runtime;

use crate::change;
use crate::net::Net;
use crate::relay::Weather;

/// The seed of every draw here; `PREFINAL_SEED` takes another.
fn seed() -> u64 {
    let given = std::env::var("PREFINAL_SEED").ok();
    let seed = given.map_or(21, |seed| seed.parse().unwrap());
    println!("PREFINAL_SEED={seed}");
    seed
}

/// One draw of SplitMix64 below a bound.
fn draw(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut drawn = *state;
    drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((drawn ^ (drawn >> 31)) % u64::try_from(below).unwrap()).unwrap()
}

/// The weather between every two of so many validators, who are in regions of AWS.
pub(crate) fn apart(
    runtime: &Runtime,
    net: &Net,
    regions: &[&str],
) -> Vec<(usize, usize, Arc<Weather>)> {
    let placement = Placement::listed(&Geography::aws().unwrap(), regions).unwrap();
    let seat = |one: usize| Seat::new(u32::try_from(one).unwrap());
    let (mut pairs, seed) = (Vec::new(), seed());
    for other in 0..regions.len() {
        for one in 0..other {
            let trip = placement.round_trip(seat(one), seat(other)).unwrap();
            let weather = Weather::new(trip.p50 / 2, seed + pairs.len() as u64);
            runtime.block_on(net.distance(one, other, &weather));
            pairs.push((one, other, weather));
        }
    }
    pairs
}

/// Where validators are, as many of these as there are.
pub(crate) const REGIONS: [&str; 16] = [
    "us-east-1",
    "eu-west-1",
    "ap-northeast-1",
    "sa-east-1",
    "eu-central-1",
    "us-west-2",
    "ap-southeast-1",
    "ca-central-1",
    "eu-north-1",
    "ap-south-1",
    "us-east-2",
    "eu-west-3",
    "ap-northeast-2",
    "us-west-1",
    "eu-south-1",
    "ap-southeast-2",
];

/// Cuts off each minority in turn: first one validator, then another with a third, and so on.
#[test]
fn seven_over_the_world_lose_packets_and_each_minority_is_cut_off_and_comes_back() {
    let runtime = Runtime::new().unwrap();
    let mut net = Net::make(7, &["--pace", "500ms", "--round-timeout", "2s"]);
    let pairs = apart(&runtime, &net, &REGIONS[..7]);
    (0..7).for_each(|validator| net.start(validator));
    let all: Vec<_> = (0..7).collect();
    net.advance(&all, 2);
    pairs.iter().for_each(|(.., weather)| weather.set_loss(20));
    net.advance(&all, 2);
    for minority in [vec![0], vec![1, 2], vec![3, 4], vec![5, 6]] {
        let away: BTreeSet<_> = minority.iter().copied().collect();
        let cut = |one: &usize, other: &usize| away.contains(one) != away.contains(other);
        for (one, other, weather) in &pairs {
            weather.set_cut(cut(one, other));
        }
        let rest: Vec<_> = all.iter().copied().filter(|one| !away.contains(one)).collect();
        net.advance(&rest, 2);
        pairs.iter().for_each(|(.., weather)| weather.set_cut(false));
        net.advance(&all, 1);
    }
    net.agree(&all);
}

/// A committee that makes its key and has values, so many at first.
fn over_the_world(validators: usize, slots: u64) -> (Runtime, Net, Vec<usize>) {
    let (runtime, begun) = (Runtime::new().unwrap(), Instant::now());
    let mut net = Net::make(validators, &["--pace", "1s", "--round-timeout", "4s"]);
    // The relay goes on as long as the runtime is there.
    apart(&runtime, &net, &REGIONS[..validators]);
    let all: Vec<_> = (0..validators).collect();
    all.iter().for_each(|validator| net.start(*validator));
    net.advance(&all, slots);
    println!("the key and {slots} values after {:?}", begun.elapsed());
    (runtime, net, all)
}

/// As many processes as two cores carry while they build something else.
#[test]
fn nine_over_the_world_make_a_key_and_have_values() {
    let (_runtime, net, all) = over_the_world(9, 2);
    net.agree(&all);
}

#[test]
#[ignore = "takes minutes"]
fn sixteen_over_the_world_go_on_while_one_is_killed_and_it_comes_back() {
    let (_runtime, mut net, all) = over_the_world(16, 10);
    let begun = Instant::now();
    net.kill(15);
    net.advance(&all[..15], 20);
    println!("20 values of fifteen after {:?}", begun.elapsed());
    net.start(15);
    net.advance(&all, 10);
    let (_, rounds) = net.agree(&all);
    println!("{rounds} rounds, all sixteen have them after {:?}", begun.elapsed());
}

/// Kills one of the validators every few seconds, as long as more than two thirds run, and starts it again. In the
/// middle of it one loses its disk for good, and comes back under new keys.
fn killed_at_random(validators: usize, span: Duration) {
    let mut state = seed();
    let mut net = Net::make(validators, &["--pace", "250ms", "--round-timeout", "1s"]);
    let mut members: Vec<_> = (0..validators).collect();
    members.iter().for_each(|validator| net.start(*validator));
    net.advance(&members, 3);
    let (begun, mut kills, mut lost) = (Instant::now(), 0, None);
    while begun.elapsed() < span || lost.is_none() {
        let victim = members[draw(&mut state, members.len())];
        sleep(&mut state, 500..3000);
        net.kill(victim);
        kills += 1;
        let then = Instant::now();
        if lost.is_none() && begun.elapsed() > span / 3 {
            lost = Some(victim);
            members.retain(|one| *one != victim);
            change::lose_disk(&net, victim, validators, members[0]);
            change::replace(&mut net, victim, validators, &members);
            members.push(validators);
        } else {
            sleep(&mut state, 0..2000);
            net.start(victim);
        }
        // It is back: it has a value that came after its start.
        net.advance(&members, 2);
        println!("{victim} is back after {:?}", then.elapsed());
    }
    let (_, rounds) = net.agree(&members);
    println!("{kills} kills, the disk of {lost:?} lost, {rounds} rounds");
}

/// A pause of so many milliseconds.
fn sleep(state: &mut u64, milliseconds: std::ops::Range<usize>) {
    let drawn = milliseconds.start + draw(state, milliseconds.len());
    std::thread::sleep(Duration::from_millis(u64::try_from(drawn).unwrap()));
}

#[test]
fn four_that_are_killed_at_random_and_lose_a_disk_neither_lose_nor_contradict_a_value() {
    killed_at_random(4, Duration::from_secs(30));
}

/// As long as one wants; ten minutes by default.
#[test]
#[ignore = "takes minutes"]
fn many_that_are_killed_at_random() {
    let number =
        |name, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
    let minutes = number("PREFINAL_MINUTES", 10);
    let validators = usize::try_from(number("PREFINAL_VALIDATORS", 4)).unwrap();
    killed_at_random(validators, Duration::from_secs(60 * minutes));
}
