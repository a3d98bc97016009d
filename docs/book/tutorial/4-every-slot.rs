//! Step 4: a chain. Every slot has a value, on the fast or the slow path.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use std::{env, fs, path, process, thread};

use prefinal::beacon::Reveal;
use prefinal::crypto::bls::{Domain, min_sig};
use prefinal::crypto::entropy;
use prefinal::driver::Driver;
use prefinal::{
    Algorithm, Block, Bls, ChainId, Effect, Event, Failure, Host, Identity, Message, Participant,
    Party, Plan, Quorum, Ratio, Recipient, Setup, Slot, Stake, Value, View,
};

/// The stake of each party, as consensus counts it.
const STAKES: [u128; 5] = [30_000, 30_000, 20_000, 10_000, 10_000];
/// The votes of this party are missing in every fourth slot.
const LATE: Party = Party::new(1);
/// A slot takes this long.
const PACE: Duration = Duration::from_millis(50);

/// A toy engine, and the network: it proposes, counts votes and passes messages on.
struct Chain {
    parties: BTreeMap<Party, Driver<Participant<Bls>>>,
    sender: Sender<(Party, Effect<Bls>)>,
    effects: Receiver<(Party, Effect<Bls>)>,
    mempool: Vec<Arc<[u8]>>,
    last: Slot,
    key: Option<min_sig::PublicKey>,
    values: usize,
}

/// Keys, and twelve values.
pub fn main() -> Result<(), Failure> {
    // Stakes become weights, and a threshold for each of two paths.
    let stakes = STAKES.map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS)?;

    // Each party draws a seed, once, and publishes a registration. From these follows the set-up.
    let mut identities = Vec::new();
    for party in plan.shape.access().parties() {
        identities.push(Identity::from_seed(party, entropy::system_seed()?));
    }
    let registrations: Vec<_> = identities.iter().map(Identity::registration).collect();
    let chain = ChainId::new(*b"the tutorial's chain: 32 letters");
    let setup = Setup::new(chain, &plan, &registrations)?;

    let folder = env::temp_dir().join(format!("prefinal-4-{}", process::id()));
    fs::create_dir_all(&folder)?;
    let (sender, effects) = channel();
    let (parties, mempool, last) = (BTreeMap::new(), Vec::new(), Slot::new(0));
    let mut chain = Chain { parties, sender, effects, mempool, last, key: None, values: 0 };
    for identity in identities {
        chain.start(&folder, setup.clone(), identity)?;
    }
    while chain.values < 12 {
        chain.extend()?;
    }
    Ok(fs::remove_dir_all(&folder)?)
}

impl Chain {
    /// Starts a party for the first time. A thread passes on what the party wants done.
    fn start(&mut self, at: &path::Path, setup: Setup, identity: Identity) -> Result<(), Failure> {
        let (me, sender) = (identity.me, self.sender.clone());
        let host = Host::new(Quorum::BYZANTINE, Some(0));
        let (driver, effects) = prefinal::create(at.join(me.to_string()), setup, identity, host)?;
        self.parties.insert(me, driver);
        thread::spawn(move || {
            while let Ok(effect) = effects.recv_blocking() {
                let _ = sender.send((me, effect));
            }
        });
        Ok(())
    }

    /// One slot: a proposal, votes, the final block, and what follows from them.
    fn extend(&mut self) -> Result<(), Failure> {
        let slot = self.last.next();
        let [.., name] = slot.get().to_be_bytes();
        let transactions = self.mempool.drain(..).collect();
        let block = Block { value: Value::new([name; 32]), transactions };
        let mut voted = 0;
        for ((party, driver), stake) in self.parties.iter().zip(STAKES) {
            if *party == LATE && slot.get().is_multiple_of(4) {
                continue;
            }
            // Before the vote leaves. The partial goes with it.
            let partial = driver.on_prefinalize(slot, View::new(slot, 0), block.value)?;
            partial.iter().for_each(|message| self.send(*party, Recipient::All, message));
            voted += stake;
        }
        if voted * 3 <= STAKES.iter().sum::<u128>() * 2 {
            return Err("too few votes".into());
        }
        for driver in self.parties.values() {
            driver.on_finalize(slot, Some(block.clone()))?;
        }
        self.last = slot;
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

    /// Every party's value is verified with the group key. Those of party 0 are printed.
    fn verify(&mut self, from: Party, value: &Reveal<Bls>) -> Result<(), Failure> {
        let (key, round) = self.key.zip(value.round).ok_or("a value without a key")?;
        value.output.verify(&key, Domain::BASIC, &round.message())?;
        if from == Party::new(0) {
            println!("{}: round {}, {} path", value.slot, round.get(), value.path);
            self.values += 1;
        }
        Ok(())
    }
}
