//! What a validator costs for each slot, and how long values take after finality, over regions of AWS: figures for
//! people, beside those of the simulator in the same regions.
//!
//! ```text
//! cargo build --release -p prefinal-node --features validator
//! PREFINAL_COMMAND=target/release/prefinal cargo test -p prefinal-node --features validator --test validators -- \
//!     --ignored --exact --nocapture figures::costs_and_waits_over_the_world
//! ```
//! `PREFINAL_SLOTS` is how many slots are measured on each path, `PREFINAL_VALIDATORS` how many validators there are,
//! separated by commas. Without `PREFINAL_COMMAND` the program is the one of the tests, most of whose libraries are
//! not optimised. Homes are in `TMPDIR`: on a file system in memory nobody waits for a disk, as in the simulator.
use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::faults::{REGIONS, apart};
use crate::net::{Net, run, run_at};
use crate::relay::Weather;

/// Ticks of the processor's clock in a second, as `/proc` counts them on Linux.
const TICKS: f64 = 100.0;

/// What has been counted so far, of all validators together.
#[derive(Clone, Copy)]
struct Counts {
    /// The next slot of the first validator.
    head: u64,
    at: Instant,
    /// Seconds of processors.
    processor: f64,
    /// Bytes of datagrams and of connections that have passed the relay.
    links: f64,
    engine: f64,
    /// Seconds that were waited, and values that came, by the fast path and the slow.
    fast: [f64; 2],
    slow: [f64; 2],
}

fn count(net: &Net, validators: usize, pairs: &[(usize, usize, Arc<Weather>)]) -> Counts {
    let passed = |bytes: &dyn Fn(&Weather) -> u64| {
        pairs.iter().map(|(.., weather)| bytes(weather)).sum::<u64>() as f64
    };
    let path = |path: &str| {
        ["sum", "count"].map(|what| {
            let name = format!("prefinal_wait_seconds_{what}{{path=\"{path}\"}}");
            (0..validators).map(|one| net.metric(one, &name)).sum()
        })
    };
    Counts {
        head: net.head(0),
        at: Instant::now(),
        processor: (0..validators).map(|one| processor(net.id(one))).sum(),
        links: passed(&|weather| weather.datagrams.load(Ordering::Relaxed)),
        engine: passed(&|weather| weather.streams.load(Ordering::Relaxed)),
        fast: path("fast"),
        slow: path("slow"),
    }
}

/// Seconds of processors that a process has used, in user mode and in the kernel.
fn processor(id: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / TICKS
}

/// One line: what so many validators cost between two counts, each and for each slot.
fn line(validators: usize, paths: &str, before: Counts, after: Counts) -> String {
    let slots = (after.head - before.head) as f64;
    let each = slots * validators as f64;
    let wait = |before: [f64; 2], after: [f64; 2]| {
        let values = after[1] - before[1];
        let mean = 1e3 * (after[0] - before[0]) / values;
        if values == 0.0 { "-".to_owned() } else { format!("{mean:.1} ms of {values}") }
    };
    format!(
        "{validators} validators, {paths}: {slots} slots of {:.2} s; each and for each slot {:.1} KB over links, \
         {:.1} KB over the engine, {:.1} ms of a processor; wait after finality: fast path {}, slow path {}",
        after.at.duration_since(before.at).as_secs_f64() / slots,
        (after.links - before.links) / each / 1e3,
        (after.engine - before.engine) / each / 1e3,
        1e3 * (after.processor - before.processor) / each,
        wait(before.fast, after.fast),
        wait(before.slow, after.slow),
    )
}

fn measure(validators: usize, slots: u64) {
    let runtime = Runtime::new().unwrap();
    let mut net = Net::make(validators, &["--pace", "2s", "--round-timeout", "8s"]);
    let pairs = apart(&runtime, &net, &REGIONS[..validators]);
    let all: Vec<_> = (0..validators).collect();
    all.iter().for_each(|validator| net.start(*validator));
    net.advance(&all, 5);
    let before = count(&net, validators, &pairs);
    net.advance(&all, slots);
    println!("{}", line(validators, "both paths", before, count(&net, validators, &pairs)));
    let from = (net.head(0) + 10).to_string();
    for one in &all {
        run_at(&net.home(*one), &["switch", "slow-only", "--slot", &from]);
    }
    net.advance(&all, 13);
    let before = count(&net, validators, &pairs);
    net.advance(&all, slots);
    println!("{}", line(validators, "slow path", before, count(&net, validators, &pairs)));
    net.agree(&all);

    // The same committee in virtual time.
    let mut stakes = "stake\n".to_owned();
    (0..validators).for_each(|_| stakes.write_str("100\n").unwrap());
    let (file, out) = (net.file("stakes.csv"), net.file("out"));
    fs::write(&file, stakes).unwrap();
    let regions = REGIONS[..validators].join(",");
    let (slots, line) = (slots.to_string(), ["simulate", "--engine", "malachite", "--jitter", "0"]);
    let more = ["--stakes", &file, "--regions", &regions, "--slots", &slots, "--out", &out];
    let simulated = run(&[&line[..], &["--cores", "2"], &more].concat());
    assert!(simulated.status.success(), "{}", String::from_utf8_lossy(&simulated.stderr));
    println!("{}", String::from_utf8_lossy(&simulated.stdout));
}

#[test]
#[ignore = "prints figures for minutes"]
fn costs_and_waits_over_the_world() {
    let given =
        |name, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let slots = given("PREFINAL_SLOTS", "40").parse().unwrap();
    for validators in given("PREFINAL_VALIDATORS", "4,7,16").split(',') {
        measure(validators.parse().unwrap(), slots);
    }
}

/// How long states wait for their certificates, where blocks are executed from their proposals on.
#[test]
#[ignore = "prints figures for a minute"]
fn waits_of_states_over_the_world() {
    let runtime = Runtime::new().unwrap();
    let line = ["--pace", "1s", "--round-timeout", "4s", "--execute", "transfers"];
    let mut net = Net::make(4, &line);
    apart(&runtime, &net, &REGIONS[..4]);
    (0..4).for_each(|validator| net.start(validator));
    net.advance(&[0, 1, 2, 3], 30);
    for path in ["state", "fast"] {
        let [sum, count] = ["sum", "count"].map(|what| {
            let name = format!("prefinal_wait_seconds_{what}{{path=\"{path}\"}}");
            (0..4).map(|one| net.metric(one, &name)).sum::<f64>()
        });
        println!("{path}: mean {:.1} ms of {count}", 1e3 * sum / count);
    }
}
