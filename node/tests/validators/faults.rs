//! Distance, loss, partitions, and processes that are killed at random.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prefinal_sim::{Geography, Placement, Seat};
use tokio::runtime::Runtime;

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
fn apart(runtime: &Runtime, net: &Net, regions: &[&str]) -> Vec<(usize, usize, Arc<Weather>)> {
    let placement = Placement::listed(&Geography::aws().unwrap(), regions).unwrap();
    let seat = |one: usize| Seat::new(u32::try_from(one).unwrap());
    let mut pairs = Vec::new();
    for other in 0..regions.len() {
        for one in 0..other {
            let trip = placement.round_trip(seat(one), seat(other)).unwrap();
            let weather = Weather::new(trip.p50 / 2, seed() + pairs.len() as u64);
            runtime.block_on(net.distance(one, other, &weather));
            pairs.push((one, other, weather));
        }
    }
    pairs
}

const SEVEN: [&str; 7] = [
    "us-east-1",
    "eu-west-1",
    "ap-northeast-1",
    "sa-east-1",
    "eu-central-1",
    "us-west-2",
    "ap-southeast-1",
];

/// Cuts off each minority in turn: first one validator, then another with a third, and so on.
#[test]
fn seven_over_the_world_lose_packets_and_each_minority_is_cut_off_and_comes_back() {
    let runtime = Runtime::new().unwrap();
    let mut net = Net::make(7, &["--pace", "500ms", "--round-timeout", "2s"]);
    let pairs = apart(&runtime, &net, &SEVEN);
    (0..7).for_each(|validator| net.start(validator));
    let all: Vec<_> = (0..7).collect();
    net.advance(&all, 3);
    pairs.iter().for_each(|(.., weather)| weather.set_loss(20));
    net.advance(&all, 3);
    for minority in [vec![0], vec![1, 2], vec![3, 4], vec![5, 6]] {
        let away: BTreeSet<_> = minority.iter().copied().collect();
        let cut = |one: &usize, other: &usize| away.contains(one) != away.contains(other);
        for (one, other, weather) in &pairs {
            weather.set_cut(cut(one, other));
        }
        let rest: Vec<_> = all.iter().copied().filter(|one| !away.contains(one)).collect();
        net.advance(&rest, 3);
        pairs.iter().for_each(|(.., weather)| weather.set_cut(false));
        net.advance(&all, 2);
    }
    net.agree(&all);
}

/// Kills one of the validators every few seconds, as long as more than two thirds run, and starts it again.
fn killed_at_random(validators: usize, span: Duration) {
    let mut state = seed();
    let mut net = Net::make(validators, &["--pace", "250ms", "--round-timeout", "1s"]);
    let all: Vec<_> = (0..validators).collect();
    all.iter().for_each(|validator| net.start(*validator));
    net.advance(&all, 3);
    let (begun, mut kills) = (Instant::now(), 0);
    while begun.elapsed() < span {
        let victim = draw(&mut state, validators);
        std::thread::sleep(Duration::from_millis(
            500 + u64::try_from(draw(&mut state, 2500)).unwrap(),
        ));
        net.kill(victim);
        kills += 1;
        std::thread::sleep(Duration::from_millis(u64::try_from(draw(&mut state, 2000)).unwrap()));
        net.start(victim);
        let then = Instant::now();
        // It is back: it has a value that came after its start.
        net.advance(&all, 2);
        println!("{victim} is back after {:?}", then.elapsed());
    }
    let (_, rounds) = net.agree(&all);
    println!("{kills} kills, {rounds} rounds");
}

#[test]
fn four_that_are_killed_at_random_neither_lose_nor_contradict_a_value() {
    killed_at_random(4, Duration::from_secs(45));
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
