//! A chain of seven processes with a toy engine, and Prefinal's randomness in it.
//!
//! `cargo run --release -p prefinal-example-chain`
//!
//! Key generation, values, a party that cheats and is accused, one that is killed and comes back, and a second
//! committee that takes over the key. Every value is verified with the 96 bytes of the group key.
//!
//! `party.rs` is what a chain writes to embed Prefinal. The engine is the simplest one that there is: this
//! process is a leader whom everybody trusts, and the network as well. It proposes a block, the parties vote, and
//! a block with more than two thirds of the stake is final.
mod party;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::BufReader;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use prefinal::crypto::bls::{Domain, min_sig};
use prefinal::crypto::drand::RoundNumber;
use prefinal::{Block, Failure, Party, Slot, Value};

use self::wire::{FromParty, Keys, ToParty};

/// The stakes of both committees: the fourth party leaves, the seventh joins.
const STAKES: [[u128; 7]; 2] = [[17, 18, 16, 16, 16, 17, 0], [17, 18, 16, 0, 16, 17, 16]];
/// The slot whose block names the second committee.
const SECOND_COMMITTEE: NonZeroU64 = NonZeroU64::new(20).unwrap();
const PACE: Duration = Duration::from_millis(60);
/// The party that is killed once the cheat is accused, and back three values later.
const KILLED: usize = 2;
/// The party that sends false partials.
const CHEAT: usize = 0;
/// Values to see under the second committee.
const ENOUGH: u64 = 5;

struct Seat {
    child: Child,
    pipe: ChildStdin,
    /// Whether it has said what it needs; before, it gets nothing else.
    is_ready: bool,
}

struct Leader {
    folder: PathBuf,
    sender: Sender<(usize, FromParty)>,
    inbox: Receiver<(usize, FromParty)>,
    seats: Vec<Seat>,
    keys: BTreeMap<usize, Keys>,
    mempool: Vec<Vec<u8>>,
    /// The block of slot `i + 1` at `i`; all but perhaps the last are final.
    blocks: Vec<Block>,
    finals: usize,
    votes: BTreeSet<usize>,
    committees: BTreeMap<Slot, Vec<u128>>,
    key: Option<(Slot, min_sig::PublicKey)>,
    values: BTreeSet<Slot>,
    accusers: BTreeSet<usize>,
}

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    if let Some(number) = arguments.next() {
        let (number, folder) = (number.parse()?, arguments.next().ok_or("no folder")?);
        return party::run(Party::new(number), Path::new(&folder), number as usize == CHEAT);
    }
    let folder = tempfile::tempdir()?;
    Leader::new(folder.path())?.lead()
}

impl Leader {
    fn new(folder: &Path) -> Result<Self, Failure> {
        let (sender, inbox) = channel();
        let mut leader = Self {
            folder: folder.to_owned(),
            sender,
            inbox,
            seats: Vec::new(),
            keys: BTreeMap::new(),
            mempool: Vec::new(),
            blocks: Vec::new(),
            finals: 0,
            votes: BTreeSet::new(),
            committees: BTreeMap::from([(Slot::new(1), STAKES[0].to_vec())]),
            key: None,
            values: BTreeSet::new(),
            accusers: BTreeSet::new(),
        };
        for party in 0..STAKES[0].len() {
            let seat = leader.start(party)?;
            leader.seats.push(seat);
        }
        println!("{} parties draw their keys", leader.seats.len());
        Ok(leader)
    }

    fn start(&self, party: usize) -> Result<Seat, Failure> {
        let folder = self.folder.join(party.to_string());
        std::fs::create_dir_all(&folder)?;
        let mut child = Command::new(env::current_exe()?)
            .arg(party.to_string())
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (pipe, output) = (child.stdin.take(), child.stdout.take());
        let (pipe, output) = pipe.zip(output).ok_or("no pipes")?;
        let sender = self.sender.clone();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Ok(frame) = wire::read(&mut output) {
                let _ = sender.send((party, frame));
            }
        });
        Ok(Seat { child, pipe, is_ready: false })
    }

    fn lead(mut self) -> Result<(), Failure> {
        let (mut killed_at, mut next) = (None, Instant::now());
        loop {
            if let Ok((from, frame)) =
                self.inbox.recv_timeout(next.saturating_duration_since(Instant::now()))
            {
                self.receive(from, frame)?;
            }
            let (values, last) = (self.values.len(), self.values.last().copied());
            let second = self.committees.keys().nth(1);
            if values >= 6 && !self.accusers.is_empty() && killed_at.is_none() {
                self.seats[KILLED].child.kill()?;
                self.seats[KILLED].child.wait()?;
                self.seats[KILLED].is_ready = false;
                killed_at = Some(values);
                println!("party {KILLED} is killed");
            }
            if killed_at.is_some_and(|at| at < usize::MAX && values >= at + 3) {
                self.seats[KILLED] = self.start(KILLED)?;
                killed_at = Some(usize::MAX);
                println!("party {KILLED} starts again");
            }
            if last.zip(second).is_some_and(|(last, first)| last.get() >= first.get() + ENOUGH)
                && killed_at == Some(usize::MAX)
            {
                println!("{values} values verified, under two committees and one key");
                self.seats.iter_mut().try_for_each(|seat| seat.child.kill())?;
                return Ok(());
            }
            if Instant::now() >= next && self.keys.len() == self.seats.len() {
                next = Instant::now() + PACE;
                if self.finals == self.blocks.len() {
                    self.propose();
                }
            }
        }
    }

    fn receive(&mut self, from: usize, frame: FromParty) -> Result<(), Failure> {
        let party = Party::new(u32::try_from(from)?);
        match frame {
            FromParty::Keys(keys) => {
                let is_known = self.keys.insert(from, *keys).is_some();
                if self.keys.len() == self.seats.len() {
                    let genesis = ToParty::Genesis(self.keys.values().cloned().collect());
                    let new = if is_known { from..from + 1 } else { 0..self.seats.len() };
                    new.for_each(|to| self.send(to, &genesis));
                }
            }
            FromParty::Ready(last) => {
                self.seats[from].is_ready = true;
                let last = last.map_or(0, Slot::get);
                for (slot, block) in (1..).zip(self.blocks.clone()).filter(|(slot, _)| *slot > last)
                {
                    let is_final = slot <= self.finals as u64;
                    let frame = if is_final { ToParty::Final } else { ToParty::Proposal };
                    self.send(from, &frame(Slot::new(slot), block));
                }
            }
            FromParty::Vote(slot, partial) => {
                partial.into_iter().for_each(|message| self.pass(party, None, message));
                if slot.get() == self.blocks.len() as u64 && self.votes.insert(from) {
                    self.count(slot);
                }
            }
            FromParty::Send(to, message) => self.pass(party, to, message),
            FromParty::Submit(transaction) => self.mempool.push(transaction),
            FromParty::Committee(first, stakes) => {
                if self.committees.insert(first, stakes).is_none() {
                    println!("the second committee begins at {first}");
                }
            }
            FromParty::Key(first, bytes) => {
                if self.key.is_none() {
                    let key = min_sig::PublicKey::from_bytes(&bytes)?;
                    println!("the key has {} bytes, values from {first} on", bytes.len());
                    self.key = Some((first, key));
                }
            }
            FromParty::Value(slot, path, bytes) => self.verify(slot, &path, &bytes)?,
            FromParty::Say(line) => {
                if line.contains("accuses") && self.accusers.insert(from) {
                    println!("{party} {line}");
                }
            }
        }
        Ok(())
    }

    /// Anyone can do this who has the key: a value is a round of drand's scheme.
    fn verify(&mut self, slot: Slot, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        let (first, key) = self.key.as_ref().ok_or("a value before the key")?;
        let round = RoundNumber::new(slot.get() + 1 - first.get()).ok_or("no round")?;
        let signature = min_sig::Signature::from_bytes(bytes)?;
        signature.verify(key, Domain::BASIC, &round.message())?;
        if self.values.insert(slot) {
            println!("{slot}: round {} verified, by the {path} path", round.get());
        }
        Ok(())
    }

    fn propose(&mut self) {
        let slot = Slot::new(self.blocks.len() as u64 + 1);
        let transactions = self.mempool.drain(..).map(Into::into).collect();
        let mut value = [0; 32];
        value[..8].copy_from_slice(&slot.get().to_be_bytes());
        let block = Block { value: Value::new(value), transactions };
        self.blocks.push(block.clone());
        self.votes.clear();
        self.send_all(&ToParty::Proposal(slot, block));
    }

    fn count(&mut self, slot: Slot) {
        let Some((_, stakes)) = self.committees.range(..=slot).next_back() else { return };
        let voted: u128 = self.votes.iter().map(|party| stakes[*party]).sum();
        if voted * 3 > stakes.iter().sum::<u128>() * 2 && self.finals < self.blocks.len() {
            self.finals = self.blocks.len();
            let block = self.blocks[self.finals - 1].clone();
            self.send_all(&ToParty::Final(slot, block));
        }
    }

    fn pass(&mut self, from: Party, to: Option<Party>, message: prefinal::Message<prefinal::Bls>) {
        let frame = ToParty::Message(from, message);
        match to {
            Some(to) => self.send(to.index(), &frame),
            None => (0..self.seats.len())
                .filter(|to| *to != from.index())
                .for_each(|to| self.send_if_ready(to, &frame)),
        }
    }

    fn send_all(&mut self, frame: &ToParty) {
        (0..self.seats.len()).for_each(|to| self.send_if_ready(to, frame));
    }

    fn send_if_ready(&mut self, to: usize, frame: &ToParty) {
        if self.seats[to].is_ready {
            self.send(to, frame);
        }
    }

    /// A party that is gone hears nothing.
    fn send(&mut self, to: usize, frame: &ToParty) {
        let _ = wire::write(&mut self.seats[to].pipe, frame);
    }
}
