//! Step 5: a party dies, and comes back with its journal.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use prefinal::beacon::Reveal;
use prefinal::crypto::bls::{Domain, min_sig};
use prefinal::crypto::entropy;
use prefinal::driver::Driver;
use prefinal::{
    Algorithm, Block, Bls, ChainId, Effect, Event, Failure, Host, Identity, Message, Participant,
    Party, Path, Plan, Quorum, Ratio, Recipient, Secret, Setup, Slot, Stake, Value, View,
};

/// The stake of each party, as consensus counts it.
const STAKES: [u128; 5] = [30_000, 30_000, 20_000, 10_000, 10_000];
/// The party that dies.
const KILLED: Party = Party::new(1);
/// A slot takes this long.
const PACE: Duration = Duration::from_millis(50);

/// A toy engine, and the network: it proposes, counts votes and passes messages on.
struct Chain {
    folder: PathBuf,
    setup: Setup,
    parties: BTreeMap<Party, Driver<Participant<Bls>>>,
    sender: Sender<(Party, Effect<Bls>)>,
    effects: Receiver<(Party, Effect<Bls>)>,
    mempool: Vec<Arc<[u8]>>,
    /// The block of slot `i + 1` at `i`.
    blocks: Vec<Block>,
    key: Option<min_sig::PublicKey>,
    /// The last value of each party: its slot and its path.
    values: BTreeMap<Party, (Slot, Path)>,
}

/// Values on the fast path, a crash, the slow path, a restart, and the fast path again.
pub fn main() -> Result<(), Failure> {
    // Stakes become weights, and a threshold for each of two paths.
    let stakes = STAKES.map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS)?;

    // Each party draws a seed, once, and publishes a registration. From these follows the set-up.
    let folder = env::temp_dir().join(format!("prefinal-5-{}", process::id()));
    fs::create_dir_all(&folder)?;
    let mut registrations = Vec::new();
    for party in plan.shape.access().parties() {
        let seed = entropy::system_seed()?;
        fs::write(folder.join(format!("{party}.seed")), seed.expose())?;
        registrations.push(Identity::from_seed(party, seed).registration());
    }
    let chain = ChainId::new(*b"the tutorial's chain: 32 letters");
    let setup = Setup::new(chain, &plan, &registrations)?;

    let mut chain = Chain::new(folder, setup);
    for party in plan.shape.access().parties() {
        chain.start(party, true)?;
    }
    while chain.path() != Some(Path::Fast) {
        chain.extend()?;
    }
    println!("{KILLED} is killed");
    chain.parties.remove(&KILLED);
    (0..10).try_for_each(|_| chain.extend())?;
    println!("{KILLED} starts again");
    chain.start(KILLED, false)?;
    while chain.path() == Some(Path::Slow) {
        chain.extend()?;
    }
    let last = Slot::new(u64::try_from(chain.blocks.len())?);
    while chain.values.values().any(|(slot, _)| *slot < last) {
        chain.carry_out(Instant::now() + PACE)?;
    }
    for (party, (slot, path)) in &chain.values {
        println!("{party}: last value in {slot}, {path} path");
    }
    Ok(fs::remove_dir_all(&chain.folder)?)
}

impl Chain {
    fn new(folder: PathBuf, setup: Setup) -> Self {
        let (sender, effects) = channel();
        let (parties, values, blocks) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (mempool, key) = (Vec::new(), None);
        Self { folder, setup, parties, sender, effects, mempool, blocks, key, values }
    }

    /// Starts a party. A thread passes on what the party wants done.
    fn start(&mut self, me: Party, is_first: bool) -> Result<(), Failure> {
        let seed = fs::read(self.folder.join(format!("{me}.seed")))?;
        let seed = Secret::new(seed.try_into().map_err(|_| "a seed has 32 bytes")?);
        let (identity, setup) = (Identity::from_seed(me, seed), self.setup.clone());
        let (journal, sender) = (self.folder.join(me.to_string()), self.sender.clone());
        let host = Host::new(Quorum::BYZANTINE, Some(0));
        let (driver, effects) = if is_first {
            prefinal::create(journal, setup, identity, host)?
        } else {
            prefinal::open(journal, setup, identity, host)?
        };
        thread::spawn(move || {
            while let Ok(effect) = effects.recv_blocking() {
                let _ = sender.send((me, effect));
            }
        });
        // The engine reports again what became final since then.
        let last = driver.figures()?.last_final.map_or(0, Slot::get);
        for (slot, block) in (1..).zip(&self.blocks).filter(|(slot, _)| *slot > last) {
            driver.on_finalize(Slot::new(slot), Some(block.clone()))?;
        }
        self.parties.insert(me, driver);
        Ok(())
    }

    fn path(&self) -> Option<Path> {
        self.values.get(&Party::new(0)).map(|(_, path)| *path)
    }

    /// One slot: a proposal, votes, the final block, and what follows from them.
    fn extend(&mut self) -> Result<(), Failure> {
        let slot = Slot::new(u64::try_from(self.blocks.len())? + 1);
        let [.., name] = slot.get().to_be_bytes();
        let transactions = self.mempool.drain(..).collect();
        let block = Block { value: Value::new([name; 32]), transactions };
        let mut voted = 0;
        for (party, driver) in &self.parties {
            // Before the vote leaves. The partial goes with it.
            let partial = driver.on_prefinalize(slot, View::new(slot, 0), block.value)?;
            partial.iter().for_each(|message| self.send(*party, Recipient::All, message));
            voted += STAKES.get(party.index()).ok_or("no stake")?;
        }
        if voted * 3 <= STAKES.iter().sum::<u128>() * 2 {
            return Err("too few votes".into());
        }
        for driver in self.parties.values() {
            driver.on_finalize(slot, Some(block.clone()))?;
        }
        self.blocks.push(block);
        self.carry_out(Instant::now() + PACE)
    }

    /// Does what the parties want done, until the next slot is due.
    fn carry_out(&mut self, due: Instant) -> Result<(), Failure> {
        let left = || due.saturating_duration_since(Instant::now());
        while let Ok((from, effect)) = self.effects.recv_timeout(left()) {
            match effect {
                Effect::Send { to, envelope } => self.send(from, to, &envelope),
                Effect::Submit { transaction, .. } => self.mempool.push(transaction.into()),
                Effect::Tell(Event::Ready { first_slot, committees, .. }) => {
                    let before = self.key.replace(committees.slow.group_key());
                    if before.is_none() {
                        println!("the key is made, values begin with {first_slot}");
                    }
                }
                Effect::Tell(Event::Revealed(value)) => self.verify(from, &value)?,
                Effect::Tell(Event::Halted(why)) => return Err(why.into()),
                _ => {}
            }
        }
        self.parties.values().try_for_each(|driver| Ok(driver.tick()?))
    }

    fn send(&self, from: Party, to: Recipient<Party>, message: &Message<Bls>) {
        for (party, driver) in self.parties.iter().filter(|(party, _)| **party != from) {
            if to == Recipient::All || to == Recipient::One(*party) {
                // A party without room for the message asks for it later.
                let _ = driver.on_message(from, message.clone());
            }
        }
    }

    /// Every party's value is verified with the group key. Party 0 says when its path changes.
    fn verify(&mut self, from: Party, value: &Reveal<Bls>) -> Result<(), Failure> {
        let (key, round) = self.key.zip(value.round).ok_or("a value without a key")?;
        value.output.verify(&key, Domain::BASIC, &round.message())?;
        let before = self.values.insert(from, (value.slot, value.path));
        if from == Party::new(0) && before.is_none_or(|(_, path)| path != value.path) {
            println!("{}: round {}, {} path", value.slot, round.get(), value.path);
        }
        Ok(())
    }
}
