//! What there is to serve: the chain, its rounds, and what is told about them.
//!
//! The devnet writes, requests read. A round is there as soon as one party has it; its waits are told
//! when all have. Memory is bounded: the oldest rounds go first.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use ::beacon::{Path, Slot, Value};
use crypto_core::bls::min_sig::{PublicKey, Signature};
use crypto_core::drand::{ChainInfo, Randomness, RoundNumber, Schedule, Scheme};
use serde::Serialize;
use serde_json::json;
use tokio::sync::{Semaphore, broadcast, watch};

use crate::waits::Waits;

/// Rounds that are kept.
const ROUNDS: usize = 100_000;
/// Values that are told again to who comes later, and that a follower may lag behind.
const TOLD: usize = 256;
/// Streams of values at a time.
const FOLLOWERS: usize = 32;
/// How long a round may be late before who waits for it is told that it is not there.
const LATE: Duration = Duration::from_secs(5);

/// The one chain's name among drand's beacons.
pub(super) const BEACON: &str = "default";

/// A chain's public face, written once.
pub(super) struct Chain {
    pub(super) hash: String,
    pub(super) v1: String,
    pub(super) v2: String,
}

/// A round as drand writes it. Version 2 leaves the randomness out, for it is the signature's hash.
#[derive(Serialize)]
pub(super) struct Round {
    round: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    randomness: Option<String>,
    signature: String,
}

/// What becomes of a request for a round.
pub(super) enum Answer {
    Is(Round),
    /// Not before so many seconds have passed.
    Early(u64),
    /// It is past, or due, and not there.
    Missing,
}

/// One thing that is told to whoever follows.
#[derive(Clone)]
pub(super) struct Told {
    /// Of this slot; of the chain itself if of none.
    pub(super) slot: Option<u64>,
    pub(super) data: Arc<str>,
}

/// How all parties came by a slot's value.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Which slot.
    pub slot: Slot,
    /// Its block; `None` if it was skipped.
    pub block: Option<Value>,
    /// How many came by it on each path.
    pub ways: BTreeMap<Path, Way>,
}

/// How some parties came by a slot's value.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// How many.
    pub parties: usize,
    /// How long each of them waited after finality, as far as that is known.
    pub waits: Vec<Duration>,
}

impl Shown {
    /// Of all parties, whatever the path.
    pub(crate) fn waits(&self) -> Waits {
        self.ways.values().flat_map(|way| &way.waits).copied().collect()
    }
}

/// What there is to serve.
pub struct Board {
    schedule: Schedule,
    seed: [u8; 32],
    state: RwLock<State>,
    /// The newest round; zero before the first.
    newest: watch::Sender<u64>,
    told: broadcast::Sender<Told>,
    pub(super) followers: Arc<Semaphore>,
}

#[derive(Default)]
struct State {
    chain: Option<Arc<Chain>>,
    rounds: BTreeMap<u64, Signature>,
    told: VecDeque<Told>,
}

/// The next whole second of Unix time, and how long it is till then.
#[must_use]
pub fn genesis() -> (u64, Duration) {
    let now = since_epoch();
    let next = now.as_secs().saturating_add(1);
    (next, Duration::from_secs(next).saturating_sub(now))
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

impl Board {
    /// Before there is a key. `seed` tells the chain from others with the same key and times.
    #[must_use]
    pub fn new(genesis_time: u64, period: NonZeroU32, seed: [u8; 32]) -> Self {
        Self {
            schedule: Schedule { genesis_time, period },
            seed,
            state: RwLock::default(),
            newest: watch::Sender::new(0),
            told: broadcast::Sender::new(TOLD),
            followers: Arc::new(Semaphore::new(FOLLOWERS)),
        }
    }

    /// The committee has its key, once for all.
    pub fn open(&self, key: &PublicKey) {
        let (scheme, key) = (Scheme::UnchainedG1Rfc9380, key.to_bytes());
        // A public key has a public key's encoding.
        let Ok(info) = ChainInfo::new(scheme, &key, self.schedule, self.seed, BEACON) else {
            return;
        };
        let mut state = self.write();
        if state.chain.is_none() {
            let chain = Arc::new(self.chain_of(&info));
            drop(self.told.send(Told { slot: None, data: chain.v1.as_str().into() }));
            state.chain = Some(chain);
        }
    }

    fn chain_of(&self, info: &ChainInfo) -> Chain {
        let Schedule { genesis_time, period } = self.schedule;
        let (key, hash) = (hex::encode(info.key().to_bytes()), hex::encode(info.hash()));
        let (seed, scheme) = (hex::encode(self.seed), info.scheme().id());
        let v1 = json!({
            "public_key": key, "period": period, "genesis_time": genesis_time, "hash": hash,
            "groupHash": seed, "schemeID": scheme, "metadata": { "beaconID": BEACON },
        });
        let v2 = json!({
            "public_key": key, "period": period, "genesis_time": genesis_time,
            "genesis_seed": seed, "chain_hash": hash, "scheme": scheme, "beacon_id": BEACON,
        });
        Chain { hash, v1: v1.to_string(), v2: v2.to_string() }
    }

    /// A party has a slot's value.
    pub fn reveal(&self, slot: Slot, signature: Signature) {
        let mut state = self.write();
        state.rounds.entry(slot.get()).or_insert(signature);
        while state.rounds.len() > ROUNDS {
            state.rounds.pop_first();
        }
        drop(state);
        self.newest.send_if_modified(|newest| {
            let is_newer = *newest < slot.get();
            *newest = slot.get().max(*newest);
            is_newer
        });
    }

    /// All parties have a slot's value.
    pub fn show(&self, shown: &Shown) {
        let slot = shown.slot.get();
        let mut state = self.write();
        let Some(signature) = state.rounds.get(&slot) else { return };
        let told = Told { slot: Some(slot), data: shown.to_json(signature).into() };
        state.told.push_back(told.clone());
        while state.told.len() > TOLD {
            state.told.pop_front();
        }
        // Nobody follows, perhaps.
        drop(self.told.send(told));
    }

    /// What was told after this slot, and what will be: nothing twice, nothing left out.
    pub(super) fn follow(&self, after: u64) -> (VecDeque<Told>, broadcast::Receiver<Told>) {
        let state = self.read();
        let chain = state.chain.iter();
        let chain = chain.map(|chain| Told { slot: None, data: chain.v1.as_str().into() });
        let past = state.told.iter().filter(|told| told.slot.is_some_and(|slot| slot > after));
        (chain.chain(past.cloned()).collect(), self.told.subscribe())
    }

    pub(super) fn chain(&self) -> Option<Arc<Chain>> {
        self.read().chain.clone()
    }

    /// The newest round and the one that is due.
    pub(super) fn progress(&self) -> (u64, u64) {
        let due = self.schedule.round_at(since_epoch().as_secs());
        (*self.newest.borrow(), due.map_or(0, RoundNumber::get))
    }

    /// Seconds until this round is due.
    pub(super) fn until(&self, round: u64) -> u64 {
        let due = RoundNumber::new(round).and_then(|round| self.schedule.time_of(round));
        due.unwrap_or(u64::MAX).saturating_sub(since_epoch().as_secs())
    }

    /// The newest round.
    pub(super) fn latest(&self) -> Answer {
        let newest = *self.newest.borrow();
        self.known(newest)
    }

    /// The round of this number; the next one is waited for.
    pub(super) async fn round(&self, number: u64) -> Answer {
        let (newest, due) = self.progress();
        if number > due.saturating_add(1) {
            return Answer::Early(self.until(number));
        }
        if number > newest {
            let patience = Duration::from_secs(self.until(number)).saturating_add(LATE);
            let mut news = self.newest.subscribe();
            drop(tokio::time::timeout(patience, news.wait_for(|newest| *newest >= number)).await);
        }
        self.known(number)
    }

    fn known(&self, number: u64) -> Answer {
        let signature = self.read().rounds.get(&number).map(Signature::to_bytes);
        signature.map_or(Answer::Missing, |signature| {
            let randomness = Some(hex::encode(Randomness::of(&signature).as_bytes()));
            Answer::Is(Round { round: number, randomness, signature: hex::encode(signature) })
        })
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Round {
    /// As version 2 has it.
    pub(super) fn bare(mut self) -> Self {
        self.randomness = None;
        self
    }
}

impl Shown {
    fn to_json(&self, signature: &Signature) -> String {
        let signature = signature.to_bytes();
        let most = self.ways.iter().max_by_key(|(path, way)| (way.parties, **path));
        let waits = self.ways.iter().map(|(path, Way { parties, waits })| {
            let [mean, longest] = mean_and_longest(&waits.iter().copied().collect());
            let told = json!({ "parties": parties, "mean_ms": mean, "longest_ms": longest });
            (path.to_string(), told)
        });
        let [mean, longest] = mean_and_longest(&self.waits());
        json!({
            "slot": self.slot.get(),
            "round": self.slot.get(),
            "path": most.map(|(path, _)| path.to_string()),
            "wait_ms": mean,
            "longest_ms": longest,
            "value": hex::encode(Randomness::of(&signature).as_bytes()),
            "signature": hex::encode(signature),
            "block": self.block.map(|block| hex::encode(block.to_bytes())),
            "waits": waits.collect::<serde_json::Map<_, _>>(),
        })
        .to_string()
    }
}

/// In milliseconds, exact to a microsecond.
fn mean_and_longest(waits: &Waits) -> [f64; 2] {
    [waits.mean(), waits.longest()]
        .map(|span| (span.unwrap_or_default().as_secs_f64() * 1e6).round() / 1e3)
}
