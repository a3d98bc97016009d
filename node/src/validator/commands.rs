//! `prefinal status`, `peers`, `export` and `switch`: what an operator asks of a running validator.
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use prefinal_beacon::{Binding, Slot};
use prefinal_crypto_core::bls::min_sig::{PublicKey, Signature};
use prefinal_home::commands::{genesis, init, keys, testnet};
use prefinal_home::{Folder, HomeError};
use prefinal_registry::chronicle::{Chronicle, Rounds};

use super::home;
use super::operator::{
    Client, MAX_VALUES, PeerReport, StatusReport, SwitchMode, SwitchRequest, ValuesReport,
};
use crate::output::{Sink, named};
use crate::table::table;
use prefinal_lab::Failure;

/// Whose state is shown.
#[derive(Args, Debug)]
pub struct StatusOptions {
    /// The validator's home folder
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// One JSON object, for programs
    #[arg(long)]
    json: bool,
}

/// Whose peers are shown, or what is changed.
#[derive(Args, Debug)]
pub struct PeersOptions {
    /// The validator's home folder
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// Take the addresses of a validator that joins from its registration.json
    #[arg(long, value_name = "FILE")]
    add: Option<PathBuf>,
    /// Let the running validator read the addresses in its configuration again
    #[arg(long)]
    reload: bool,
    /// One JSON list, for programs
    #[arg(long)]
    json: bool,
}

/// Which values are written where.
#[derive(Args, Debug)]
pub struct ExportOptions {
    /// The home folder of a running validator
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// Where the values go; `prefinal verify` checks this file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The first slot
    #[arg(long, value_name = "SLOT", default_value = "0")]
    from: u64,
    /// How many values at most [default: all that are kept]
    #[arg(long, value_name = "N")]
    most: Option<usize>,
}

/// From when on which partials leave.
#[derive(Args, Debug)]
pub struct SwitchOptions {
    /// The home folder of a running validator
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// From this slot on; name one that no validator has reached, and the same for all
    #[arg(long, value_name = "SLOT")]
    slot: u64,
    /// What leaves from there on
    #[arg(value_enum)]
    mode: SwitchMode,
}

/// Runs one of the commands of validators.
///
/// # Errors
/// What the command says.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Keys(command) => show(keys::run(&command)),
        Command::Genesis(options) => show(genesis::run(&options)),
        Command::Init(options) => {
            let text = init::run(&options).map_err(Failure::bad_input)?;
            home::make_journal(&Folder::new(&options.home))?;
            show(Ok(text))
        }
        Command::Testnet(options) => {
            let text = testnet::run(&options).map_err(Failure::bad_input)?;
            for entry in
                std::fs::read_dir(&options.out).map_err(|error| named(&options.out, error))?
            {
                let path = entry.map_err(|error| named(&options.out, error))?.path();
                if path.is_dir() {
                    home::make_journal(&Folder::new(path))?;
                }
            }
            show(Ok(text))
        }
        Command::Run(options) => super::run(&options),
        Command::Status(options) => status(&options),
        Command::Peers(options) => peers(&options),
        Command::Export(options) => export(&options),
        Command::Switch(options) => switch(&options),
        Command::Committee(command) => super::committee::run(&command),
    }
}

/// What a validator's operator can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make and show a validator's keys
    #[command(subcommand)]
    Keys(keys::Command),
    /// Join the registrations of validators into the genesis of a new chain
    Genesis(genesis::Options),
    /// Put a genesis and a configuration into a home that has keys
    Init(init::Options),
    /// Make the homes of a whole committee on this machine
    Testnet(testnet::Options),
    /// Run one validator as a process, on Malachite's engine
    Run(super::Options),
    /// Show the state of a running validator
    Status(StatusOptions),
    /// Show a running validator's links, or change where its peers are dialled
    Peers(PeersOptions),
    /// Write a running validator's values to a file that `verify` checks
    Export(ExportOptions),
    /// The kill switch: from a slot on no partial leaves, or the slow path alone, or all again
    Switch(SwitchOptions),
    /// Change the committee while the chain runs: let validators join and leave
    #[command(subcommand)]
    Committee(super::committee::Command),
}

fn show(text: Result<String, HomeError>) -> Result<(), Failure> {
    let text = text.map_err(Failure::bad_input)?;
    say!("{}", text.trim_end());
    Ok(())
}

fn socket(home: &Path) -> PathBuf {
    home.join(super::SOCKET)
}

/// Shows the state of a validator.
///
/// # Errors
/// If none runs on this home.
pub fn status(options: &StatusOptions) -> Result<(), Failure> {
    let socket = socket(&options.home);
    let report: StatusReport = Client::new(&socket).get("/status")?;
    if options.json {
        say!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
        return Ok(());
    }
    let (chain, id) = &report.chain;
    let (name, party) = &report.validator;
    let party =
        party.map_or_else(|| "not in the committee".to_owned(), |party| format!("party {party}"));
    say!("validator   {name}, {party}, prefinal {}", report.version);
    say!("chain       {chain}, {}", id.get(..16).unwrap_or(id));
    say!("epoch       {}", report.epoch);
    say!("height      {}", report.height);
    say!(
        "final       {}",
        report.last_final.map_or_else(|| "none yet".to_owned(), |slot| slot.to_string())
    );
    match &report.key {
        None => say!("key         none yet: the committee is making it"),
        Some((key, first)) => {
            say!("next value  {}", report.head);
            say!("key         {}", key.get(..48).unwrap_or(key));
            say!("            {}", key.get(48..96).unwrap_or_default());
            say!("            {}", key.get(96..144).unwrap_or_default());
            say!("            {}", key.get(144..).unwrap_or_default());
            say!("round 1     slot {first}");
        }
    }
    let revealed: Vec<_> =
        report.revealed.iter().map(|(path, count)| format!("{count} {path}")).collect();
    say!(
        "revealed    {}",
        if revealed.is_empty() { "nothing yet".to_owned() } else { revealed.join(", ") }
    );
    if let Some(height) = report.states {
        say!("states      up to height {height}");
    }
    say!("links       {} of {} up", report.links.0, report.links.1);
    if let Some(why) = &report.stopped {
        say!("stopped     {why}");
    }
    Ok(())
}

/// Shows the links of a validator, or changes where peers are dialled.
///
/// # Errors
/// If none runs on this home, or the registration cannot be read or kept.
pub fn peers(options: &PeersOptions) -> Result<(), Failure> {
    let socket = socket(&options.home);
    let client = Client::new(&socket);
    if let Some(file) = &options.add {
        let candidate = super::members::read(file)?;
        let folder = Folder::new(&options.home).path().join("peers");
        crate::output::folder(&folder)?;
        let kept = folder.join(format!("{}.json", candidate.name));
        Sink::open(&kept)?.write(candidate.to_text().as_bytes())?;
        say!("kept: {}", kept.display());
    }
    if options.reload || options.add.is_some() {
        return client.send("POST", "/reload", Vec::new());
    }
    let peers: Vec<PeerReport> = client.get("/peers")?;
    if options.json {
        say!("{}", serde_json::to_string_pretty(&peers).unwrap_or_default());
        return Ok(());
    }
    let rows = peers.into_iter().map(|peer| {
        let (name, party) = peer.peer;
        [
            format!("{name} ({party})"),
            peer.address.unwrap_or_else(|| "unknown".to_owned()),
            peer.state,
            peer.bytes.0.to_string(),
            peer.bytes.1.to_string(),
            peer.waiting.0.to_string(),
        ]
    });
    say!("{}", table(&["peer", "address", "link", "sent", "received", "waiting"], rows));
    Ok(())
}

/// Writes values to a file.
///
/// # Errors
/// If no validator runs on this home, it has no key yet, or the file cannot be written.
pub fn export(options: &ExportOptions) -> Result<(), Failure> {
    let out = Sink::open(&options.out)?;
    let socket = socket(&options.home);
    let client = Client::new(&socket);
    let (mut from, mut left) = (options.from, options.most.unwrap_or(usize::MAX));
    let mut rounds = None;
    while left > 0 {
        let most = left.min(MAX_VALUES);
        let report: ValuesReport = client.get(&format!("/values?from={from}&most={most}"))?;
        let Some((last, _)) = report.values.last() else { break };
        from = last.saturating_add(1);
        left = left.saturating_sub(report.values.len());
        append(&mut rounds, &report)?;
    }
    let Some(rounds) = rounds else {
        return Err(Failure::bad_input("the validator has no values from there on"));
    };
    let chronicle = Chronicle::Bls(rounds);
    let (slots, key) = (chronicle.slots(), chronicle.key());
    out.write(&chronicle.to_json().map_err(Failure::bad_input)?)?;
    say!("{slots} values of key {key}");
    Ok(())
}

fn append(rounds: &mut Option<Rounds>, report: &ValuesReport) -> Result<(), Failure> {
    let (key, first) = &report.key;
    let first = Slot::new(*first);
    let malformed =
        |what: &str| Failure::bad_input(format_args!("the validator answers a malformed {what}"));
    let key: PublicKey = key.parse().map_err(|_| malformed("key"))?;
    for (slot, signature) in &report.values {
        let signature: Signature = signature.parse().map_err(|_| malformed("value"))?;
        let round = Binding::Rounds { first }.round(Slot::new(*slot));
        let round = round.ok_or_else(|| malformed("slot"))?;
        rounds.get_or_insert_with(|| Rounds::empty(key)).push(round.get(), signature);
    }
    Ok(())
}

/// Changes what leaves from a slot on.
///
/// # Errors
/// If no validator runs on this home, or it has stopped.
pub fn switch(options: &SwitchOptions) -> Result<(), Failure> {
    let request = SwitchRequest { slot: options.slot, mode: options.mode };
    let body = serde_json::to_vec(&request).map_err(Failure::bad_input)?;
    let socket = socket(&options.home);
    Client::new(&socket).send("POST", "/switch", body)
}
