//! A party in a separate process, on a real file, killed at any moment.
//!
//! The child is this test program, started again with one test's name. It prints every partial that
//! leaves; the parent kills it, starts it again, and in the end compares all lines of all lives.
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use prefinal_beacon::{Effect, Input, Message};
use prefinal_journal::Redb;

use crate::fixture::*;
use crate::lives::Party;

suite! {
    a_killed_party_repeats_itself_and_says_nothing_else
}

const FILE: &str = "PREFINAL_TEST_JOURNAL";
const OWNER: &str = "party 0 of the killed";
const SLOTS: u64 = 4000;

/// Which value the engine votes for at a slot: another one in each life, for it forgets.
fn forgetful(life: u32) -> prefinal_beacon::Value {
    if life.is_multiple_of(2) { V } else { W }
}

/// The child: opens or begins the journal and goes on where it ended.
fn child<S: Instance>(path: &Path, life: u32) {
    let world = World::<S>::demanding(720);
    let party = Party { world: &world, profile: BOTH_VALUE, every: 16 };
    let journal = if path.exists() { Redb::open(path, OWNER) } else { Redb::create(path, OWNER) };
    let mut journaled = party.wake(journal.unwrap());
    let mut out = std::io::stdout().lock();
    let mut carry_out =
        |journaled: &mut prefinal_journal::Journaled<prefinal_beacon::Beacon<S>, Redb>| {
            while let Some(effect) = journaled.poll().unwrap() {
                match effect {
                    Effect::Send {
                        message: Message::Partial { path, slot, value, partial },
                        ..
                    } => {
                        let bytes = borsh::to_vec(&(value, partial)).unwrap();
                        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                        writeln!(out, "said {path} {} {hex}", slot.get()).unwrap();
                        out.flush().unwrap();
                    }
                    Effect::Check(job) => {
                        journaled.handle(ms(0), Input::Checked(job.run())).unwrap();
                    }
                    _ => {}
                }
            }
        };
    carry_out(&mut journaled);
    for number in journaled.machine().head().get()..SLOTS {
        journaled.handle(ms(0), prefinalized(number, 0, forgetful(life))).unwrap();
        carry_out(&mut journaled);
        journaled.handle(ms(0), finalized(number, Some(V))).unwrap();
        carry_out(&mut journaled);
        for peer in [B, C] {
            let message = world.message(peer, prefinal_beacon::Path::Slow, slot(number), Some(V));
            journaled.handle(ms(0), received(peer, message)).unwrap();
            carry_out(&mut journaled);
        }
    }
}

fn start<S: Instance>(name: &str, path: &Path, life: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(FILE, path)
        .env("PREFINAL_TEST_LIFE", life.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn said_lines(
    lines: &mut impl Iterator<Item = std::io::Result<String>>,
) -> impl Iterator<Item = String> {
    lines.map_while(Result::ok).filter(|line| line.starts_with("said "))
}

fn a_killed_party_repeats_itself_and_says_nothing_else<S: Instance>() {
    let name = std::thread::current().name().unwrap().to_owned();
    if let Some(path) = std::env::var_os(FILE) {
        let life = std::env::var("PREFINAL_TEST_LIFE").unwrap().parse().unwrap();
        return child::<S>(Path::new(&path), life);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut said: BTreeMap<(String, u64), BTreeSet<String>> = BTreeMap::new();
    let mut repeated = 0;
    for life in 0..6 {
        let mut process = start::<S>(&name, &path, life);
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let enough = 9 + usize::try_from(life).unwrap() * 4;
        let mut heard: Vec<_> = said_lines(&mut lines).take(enough).collect();
        // Some lives end between two lines, the others in the middle of whatever comes next.
        std::thread::sleep(Duration::from_micros(u64::from(life) * 700));
        process.kill().unwrap();
        process.wait().unwrap();
        heard.extend(said_lines(&mut lines));
        assert!(!heard.is_empty(), "life {life} said nothing");
        for line in heard {
            let mut words = line.split(' ').skip(1).map(str::to_owned);
            let (path, slot, bytes) =
                (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            let known = said.entry((path, slot.parse().unwrap())).or_default();
            repeated += usize::from(!known.insert(bytes));
        }
    }
    let second: Vec<_> = said.iter().filter(|(_, bytes)| bytes.len() > 1).collect();
    assert!(second.is_empty(), "second answers: {second:?}");
    assert!(said.len() > 20, "only {} partials", said.len());
    println!("{} partials, {repeated} of them repeated", said.len());
}
