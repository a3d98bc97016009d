//! Measures what a journal costs per record, and what the driver adds to a slot.
//!
//! `cargo run --release -p prefinal-driver --example waits [folder]`
//!
//! The folder is for the file of the journal: its disk is measured. A slot consists of the fast and the slow
//! partial of this party, and of as many slow partials of peers as suffice, in a committee of 16 with
//! threshold BLS. Jobs run on the calling thread. The results are medians, with the fastest run beside
//! them.

mod dealer;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prefinal_beacon::{Beacon, Bls, Effect, Input, Message, Output, Reveal, Slot, Value, View};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_crypto_core::threshold;
use prefinal_driver::{Driver, Options, Receiver, Task};
use prefinal_journal::{Journal, Journaled, Memory, Redb};
use prefinal_protocol::Machine;

use self::dealer::Dealer;

type Failure = Box<dyn Error + Send + Sync>;

const PARTIES: u32 = 16;
const ME: Party = Party::new(0);
const VALUE: Value = Value::new([1; 32]);
const SLOTS: u64 = 300;
const SYNCS: usize = 400;

fn main() -> Result<(), Failure> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    println!("{:<44}{:>12}{:>12}", "", "median", "fastest");
    for records in [1, 8] {
        let name = |where_| format!("append {records} and sync, {where_}");
        row(&name("in memory"), journal(&mut Memory::new(), records)?);
        let file = folder.join(format!("prefinal-figures-{}", std::process::id()));
        let measured = journal(&mut Redb::create(&file, "figures")?, records);
        std::fs::remove_file(&file)?;
        row(&name("in a file"), measured?);
        row(&name("bare fsync of it"), bare(&file, records)?);
    }
    let peers = peers()?;
    row("slot, machine alone", alone(&peers)?);
    row("slot, journaled in memory", journaled(&peers)?);
    row("slot, driver, journal in memory", driven(&peers, |task: Task| task())?);
    Ok(())
}

fn row(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    let (median, fastest) = (at(times.len() / 2), at(0));
    println!("{name:<44}{:>9.2} us{:>9.2} us", micros(median), micros(fastest));
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Records with the size of a release.
fn journal(journal: &mut impl Journal, records: usize) -> Result<Vec<Duration>, Failure> {
    let record = [7; 41];
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let start = Instant::now();
        for _ in 0..records {
            journal.append(&record)?;
        }
        journal.sync()?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// The lowest cost of durability on this disk.
fn bare(path: &Path, records: usize) -> Result<Vec<Duration>, Failure> {
    use std::io::Write;
    let mut file = std::fs::File::create(path)?;
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let start = Instant::now();
        file.write_all(&[7; 41].repeat(records))?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    std::fs::remove_file(path)?;
    Ok(times)
}

/// The partials that peers send in each slot, as many as suffice.
type Peers = BTreeMap<u64, Vec<(Party, Message<Bls>)>>;

fn dealer() -> Result<Dealer, Failure> {
    Dealer::new(PARTIES, 11)
}

fn peers() -> Result<Peers, Failure> {
    let mut dealer = dealer()?;
    let mut sent = Peers::new();
    for peer in (1..=PARTIES / 3).map(Party::new) {
        let mut beacon = Beacon::new(dealer.config(peer)?, &[])?;
        for number in 1..=SLOTS {
            beacon.handle(prefinal_protocol::Instant::START, finalized(number));
            while let Some(output) = beacon.poll() {
                if let Output::Do(Effect::Send {
                    message: message @ Message::Partial { .. }, ..
                }) = output
                {
                    sent.entry(number).or_default().push((peer, message));
                }
            }
        }
    }
    Ok(sent)
}

const fn finalized(number: u64) -> Input<Bls> {
    Input::Finalized { slot: Slot::new(number), value: Some(VALUE) }
}

const fn prefinalized(number: u64) -> Input<Bls> {
    let slot = Slot::new(number);
    Input::Prefinalized { slot, view: View::new(slot, 0), value: VALUE }
}

fn inputs(peers: &Peers, number: u64) -> Vec<Input<Bls>> {
    let received = peers.get(&number).into_iter().flatten().cloned();
    let received = received.map(|(from, message)| Input::Received { from, message });
    [prefinalized(number), finalized(number)].into_iter().chain(received).collect()
}

fn alone(peers: &Peers) -> Result<Vec<Duration>, Failure> {
    let mut beacon = Beacon::new(dealer()?.config(ME)?, &[])?;
    let mut times = Vec::new();
    for number in 1..=SLOTS {
        let inputs = inputs(peers, number);
        let start = Instant::now();
        for input in inputs {
            beacon.handle(prefinal_protocol::Instant::START, input);
            while let Some(output) = beacon.poll() {
                if let Output::Do(Effect::Check(job)) = output {
                    beacon.handle(prefinal_protocol::Instant::START, Input::Checked(job.run()));
                }
            }
        }
        times.push(start.elapsed());
        expect(beacon.head(), number)?;
    }
    Ok(times)
}

fn journaled(peers: &Peers) -> Result<Vec<Duration>, Failure> {
    let config = dealer()?.config(ME)?;
    let beacon = Journaled::open(Memory::new(), |records| Beacon::new(config, &records))?;
    let mut beacon = beacon.shortened(1024, Beacon::snapshot);
    let mut times = Vec::new();
    for number in 1..=SLOTS {
        let inputs = inputs(peers, number);
        let start = Instant::now();
        for input in inputs {
            beacon.handle(prefinal_protocol::Instant::START, input)?;
            while let Some(effect) = beacon.poll()? {
                if let Effect::Check(job) = effect {
                    beacon.handle(prefinal_protocol::Instant::START, Input::Checked(job.run()))?;
                }
            }
        }
        times.push(start.elapsed());
        expect(beacon.machine().head(), number)?;
    }
    Ok(times)
}

fn driven(peers: &Peers, pool: impl prefinal_driver::Pool) -> Result<Vec<Duration>, Failure> {
    let mut dealer = dealer()?;
    let config = dealer.config(ME)?;
    let (driver, effects) = Driver::start(
        |records| Beacon::new(config, &records),
        Memory::new(),
        pool,
        Options::default(),
    )?;
    let mut times = Vec::new();
    for number in 1..=SLOTS {
        let received: Vec<_> = peers.get(&number).into_iter().flatten().cloned().collect();
        let slot = Slot::new(number);
        let start = Instant::now();
        driver.on_prefinalize(slot, View::new(slot, 0), VALUE)?;
        driver.on_finalize(slot, Some(VALUE))?;
        for (from, message) in received {
            driver.on_message(from, message)?;
        }
        let reveal = read(&effects)?;
        times.push(start.elapsed());
        let round = RoundNumber::new(number).ok_or("rounds count from one")?;
        dealer.public().verify_result(&threshold::Message::round(round), &reveal.output)?;
    }
    Ok(times)
}

fn read(effects: &Receiver<Effect<Bls>>) -> Result<Reveal<Bls>, Failure> {
    loop {
        if let Effect::Reveal(reveal) = effects.recv_blocking()? {
            return Ok(*reveal);
        }
    }
}

fn expect(head: Slot, number: u64) -> Result<(), Failure> {
    if head.get() > number { Ok(()) } else { Err(format!("slot {number} has no value").into()) }
}
