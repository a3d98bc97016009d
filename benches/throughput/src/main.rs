//! Transactions per second of Trantor's replicas in real time, over sockets.
//!
//! ```text
//! cargo run --release -p prefinal-throughput                 # two and a half minutes
//! cargo run --release -p prefinal-throughput -- --quick      # two loads, 20 seconds
//! ```
//! Four replicas run as tasks of this process. Each has its own BLS key, a store of keys and values, a journal,
//! a socket, and clients beside it. Links are QUIC with mutual TLS on 127.0.0.1 (`prefinal_net`).
//! ```text
//! client ─submit─► replica ─batch, votes─► socket ─► replica …
//!    ▲                │
//!    └───delivered────┘          then the next one: one transaction of a client is on the way
//! ```
//! | figure              | what it is                                                                  |
//! |---------------------|-----------------------------------------------------------------------------|
//! | delivered           | transactions that all replicas have carried out, per second                  |
//! | p50, p95            | time from submission to delivery, both at the client's replica                |
//! | frames              | bytes of frames on all links for each transaction, with the frames' lengths    |
//! | sent                | bytes of UDP datagrams for each transaction: frames, with all that QUIC adds   |
//! | sent / least        | the same over three copies of the payload, which the other replicas must get  |
//! | processor           | processor time of the whole process for each transaction                     |
//! | of it checks        | signatures that are checked, as jobs; at least these must be computed          |
//! | of it decoding      | frames that become messages, with the check that points lie in their group     |
//! | of it replicas      | what the replicas do themselves, with their journals and clients               |
//!
//! The rest of the processor's time is encryption, the system's sockets, and the runtime. Bytes are those that were
//! sent over all links in both directions, without the headers of UDP and IP.
//!
//! After each load the clients stop and what is on the way is delivered. Then all replicas must have delivered
//! the same transactions in the same order, and have the same state; otherwise there is no figure.
mod clients;
mod committee;
mod ledger;
mod measure;
mod network;
mod replica;
mod run;

use std::process::ExitCode;
use std::time::Duration;

use prefinal_rows::{CaseRows, LIMIT, OURS, Options, Sheet};

use crate::measure::Point;
use crate::replica::Records;
use crate::run::Load;

/// How anything here can fail.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const COMMAND: &str = "cargo run --release -p prefinal-throughput";

/// Clients beside each replica.
const CLIENTS: [u32; 5] = [1, 16, 128, 512, 2048];
const FEW_CLIENTS: [u32; 2] = [16, 512];

fn main() -> ExitCode {
    prefinal_rows::exit_code(run(&Options::from_command_line()))
}

fn run(options: &Options) -> Outcome<()> {
    let (clients, seconds) =
        if options.quick { (&FEW_CLIENTS[..], (1, 3)) } else { (&CLIENTS[..], (3, 10)) };
    let mut sheet = Sheet::new("throughput", COMMAND);
    println!("{}", committee::parameters());
    println!("{} s to warm up, {} s counted", seconds.0, seconds.1);
    for records in [Records::Memory, Records::File] {
        for &clients in clients {
            let load = Load {
                clients,
                records,
                warm_up: Duration::from_secs(seconds.0),
                counted: Duration::from_secs(seconds.1),
            };
            let point = load.run()?;
            println!("{point}");
            let case = format!("{} clients, {records}", clients * committee::SIZE);
            put(sheet.of("throughput::trantor", &case), &point)?;
        }
    }
    Ok(sheet.finish(options)?)
}

/// The rows of one load.
fn put(row: CaseRows<'_>, point: &Point) -> Outcome<()> {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let wait = |percent| point.wait(percent).map(ms).ok_or("no transaction was delivered");
    let (sent, least) = (point.datagrams_each(), committee::least_sent());
    let costs = point.costs_each();
    let cores = u32::try_from(run::cores())?;
    let (ours, limit) = (OURS.threads(cores), LIMIT.threads(cores));
    let row = row
        .put(ours, "delivered", point.per_second(), "/s")
        .put(ours, "p50", wait(50)?, "ms")
        .put(ours, "p95", wait(95)?, "ms")
        .put(ours, "frames", point.frames_each(), "bytes")
        .put(ours, "sent", sent, "bytes")
        .put(limit, "sent", least, "bytes")
        .put(ours, "sent / least", sent / least, "×")
        .put(ours, "processor", ms(costs.process), "ms")
        .put(limit, "processor", ms(costs.checks), "ms");
    row.put(ours, "of it checks", ms(costs.checks), "ms")
        .put(ours, "of it decoding", ms(costs.decoding), "ms")
        .put(ours, "of it replicas", ms(costs.replicas), "ms");
    Ok(())
}
