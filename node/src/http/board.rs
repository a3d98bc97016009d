//! What there is to serve: the chain, its rounds, and what is told about them.
//!
//! The devnet writes, requests read. A round is there as soon as one party has it; its waits are told
//! when all have. Memory is taken when it starts (`rounds`): the oldest rounds go first.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use ::prefinal_beacon::{Binding, Path, Slot, Value};
use prefinal_crypto_core::bls::min_sig::{PublicKey, Signature};
use prefinal_crypto_core::drand::{ChainInfo, Randomness, RoundNumber, Schedule, Scheme};
use serde::Serialize;
use serde_json::{Value as Json, json};
use tokio::sync::watch;

use super::events::Feed;
use super::rounds::{PLACES, Rounds};
use prefinal_lab::waits::Waits;

/// How long a round may be late before a client that waits for it is told that it is not there.
const LATE: Duration = Duration::from_secs(5);

/// The one chain's name among drand's beacons.
pub(super) const BEACON: &str = "default";

/// A chain's public face, written once.
pub(super) struct Chain {
    pub(super) hash: String,
    pub(super) v1: String,
    pub(super) v2: String,
    /// When rounds are due.
    schedule: Schedule,
    /// How slots are counted as rounds.
    binding: Binding,
}

/// What is known of a chain before there is a key.
pub(super) struct Prospect {
    pub(super) v1: String,
    pub(super) v2: String,
    /// Seconds after which it is worth while to ask again.
    pub(super) wait: u32,
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
    /// There is no round at all yet.
    None,
    /// It is past, or due, and not there.
    Missing,
}

/// How all parties came by a slot's value.
#[derive(Clone, Debug)]
pub struct SlotReport {
    /// The slot of the report.
    pub slot: Slot,
    /// Its block; `None` if it was skipped.
    pub block: Option<Value>,
    /// The parties that had its value, by path.
    pub ways: BTreeMap<Path, PathWaits>,
}

/// How many parties had a slot's value on one path, and how long they waited for it.
#[derive(Clone, Debug, Default)]
pub struct PathWaits {
    /// Number of parties that had the value on this path.
    pub parties: usize,
    /// How long each of them waited after finality, as far as that is known.
    pub waits: Vec<Duration>,
}

impl SlotReport {
    /// Of all parties, whatever the path.
    pub(crate) fn waits(&self) -> Waits {
        self.ways.values().flat_map(|way| &way.waits).copied().collect()
    }
}

/// What there is to serve.
pub struct Board {
    /// When slot 1 is due, in seconds of Unix time.
    start: u64,
    period: NonZeroU32,
    seed: [u8; 32],
    state: RwLock<State>,
    /// The newest round; zero before the first.
    newest: watch::Sender<u64>,
    pub(super) feed: Arc<Feed>,
    /// Who shares the key, written once.
    pub(super) committee: OnceLock<String>,
}

struct State {
    chain: Option<Arc<Chain>>,
    rounds: Rounds,
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
    /// Before there is a key. Slot 1 is due at `start`, each further one a `period` later, in seconds of
    /// Unix time. `seed` tells the chain from others with the same key and times.
    #[must_use]
    pub fn new(start: u64, period: NonZeroU32, seed: [u8; 32]) -> Self {
        Self {
            start,
            period,
            seed,
            state: RwLock::new(State { chain: None, rounds: Rounds::new(PLACES) }),
            newest: watch::Sender::new(0),
            feed: Arc::new(Feed::new()),
            committee: OnceLock::new(),
        }
    }

    /// Says who shares the key, once for all.
    pub fn describe(&self, config: &prefinal_pvss_dkg::Config) {
        self.committee.get_or_init(|| super::committee::written(config));
    }

    /// The hash of the chain, once it has its key.
    #[must_use]
    pub fn chain_hash(&self) -> Option<String> {
        self.read().chain.as_ref().map(|chain| chain.hash.clone())
    }

    /// The committee has its key, once for all, and this slot is round 1: the chain's genesis is when
    /// it is due.
    pub fn open(&self, key: &PublicKey, first: Slot) {
        let (scheme, key) = (Scheme::UnchainedG1Rfc9380, key.to_bytes());
        let before = first.get().saturating_sub(1).saturating_mul(self.period.get().into());
        let genesis_time = self.start.saturating_add(before);
        let schedule = Schedule { genesis_time, period: self.period };
        // A public key has a public key's encoding.
        let Ok(info) = ChainInfo::new(scheme, &key, schedule, self.seed, BEACON) else {
            return;
        };
        let mut state = self.write();
        if state.chain.is_none() {
            let chain = Arc::new(self.chain_of(&info, Binding::Rounds { first }));
            self.feed.introduce(chain.v1.clone());
            state.chain = Some(chain);
        }
    }

    /// What the chain will be, as far as it is decided before the committee has its key.
    pub(super) fn prospect(&self) -> Prospect {
        let (seed, scheme) = (hex::encode(self.seed), Scheme::UnchainedG1Rfc9380.id());
        let status = "the committee makes its key";
        let v1 = json!({
            "status": status, "period": self.period, "groupHash": seed, "schemeID": scheme,
            "metadata": { "beaconID": BEACON },
        });
        let v2 = json!({
            "status": status, "period": self.period, "genesis_seed": seed, "scheme": scheme,
            "beacon_id": BEACON,
        });
        Prospect { v1: v1.to_string(), v2: v2.to_string(), wait: self.period.get() }
    }

    fn chain_of(&self, info: &ChainInfo, binding: Binding) -> Chain {
        let schedule = info.schedule();
        let Schedule { genesis_time, period } = schedule;
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
        Chain { hash, v1: v1.to_string(), v2: v2.to_string(), schedule, binding }
    }

    /// A party has a slot's value. Before there is a key there is none, nor before round 1.
    pub fn reveal(&self, slot: Slot, signature: Signature) {
        let mut state = self.write();
        let Some(round) = state.round_of(slot) else { return };
        // All parties have the same.
        if state.rounds.get(round).is_some() {
            return;
        }
        state.rounds.insert(round, signature.to_bytes());
        drop(state);
        self.newest.send_if_modified(|newest| {
            let is_newer = *newest < round;
            *newest = round.max(*newest);
            is_newer
        });
    }

    /// A slot's value, if it is kept: the signature, encoded.
    #[must_use]
    pub fn value(&self, slot: Slot) -> Option<[u8; 48]> {
        let state = self.read();
        state.rounds.get(state.round_of(slot)?).copied()
    }

    /// At most so many values that are kept, from a slot on.
    #[must_use]
    pub fn values(&self, from: Slot, most: usize) -> Vec<(Slot, [u8; 48])> {
        let state = self.read();
        let Some(Binding::Rounds { first }) = state.chain.as_ref().map(|chain| chain.binding)
        else {
            return Vec::new();
        };
        let newest = self.newest();
        let begin = state
            .round_of(from.max(first))
            .unwrap_or(1)
            .max(newest.saturating_sub(state.rounds.len()));
        let kept = (begin..=newest).filter_map(|round| {
            let slot = first.after(round.checked_sub(1)?);
            Some((slot, *state.rounds.get(round)?))
        });
        kept.take(most).collect()
    }

    /// All parties have a slot's value.
    pub fn show(&self, shown: &SlotReport) {
        let state = self.read();
        let Some(round) = state.round_of(shown.slot) else { return };
        let Some(signature) = state.rounds.get(round) else { return };
        let value = Randomness::of(signature);
        let more = json!({ "round": round, "signature": hex::encode(signature) });
        self.feed.tell(shown.slot.get(), shown.to_json(value.as_bytes(), more));
    }

    pub(super) fn chain(&self) -> Option<Arc<Chain>> {
        self.read().chain.clone()
    }

    /// The newest round; zero before the first.
    pub(super) fn newest(&self) -> u64 {
        *self.newest.borrow()
    }

    /// The newest round, if there is one.
    pub(super) fn latest(&self) -> Answer {
        match self.newest() {
            0 => Answer::None,
            newest => self.known(newest),
        }
    }

    /// The round of this number; the next one is waited for.
    pub(super) async fn round(&self, chain: &Chain, number: u64) -> Answer {
        if number > chain.due().saturating_add(1) {
            return Answer::Early(chain.until(number));
        }
        if number > self.newest() {
            let patience = Duration::from_secs(chain.until(number)).saturating_add(LATE);
            let mut news = self.newest.subscribe();
            drop(tokio::time::timeout(patience, news.wait_for(|newest| *newest >= number)).await);
        }
        self.known(number)
    }

    fn known(&self, number: u64) -> Answer {
        let signature = self.read().rounds.get(number).copied();
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

impl State {
    /// The round as which a slot is counted; `None` before there is a key, or before round 1.
    fn round_of(&self, slot: Slot) -> Option<u64> {
        self.chain.as_ref()?.binding.round(slot).map(NonZeroU64::get)
    }
}

impl Chain {
    /// The round that is due; zero before the first.
    pub(super) fn due(&self) -> u64 {
        self.schedule.round_at(since_epoch().as_secs()).map_or(0, RoundNumber::get)
    }

    /// Seconds until this round is due.
    pub(super) fn until(&self, round: u64) -> u64 {
        self.time_of(round).unwrap_or(u64::MAX).saturating_sub(since_epoch().as_secs())
    }

    /// When this round is due, in seconds of Unix time; round 0 is the genesis.
    pub(super) fn time_of(&self, round: u64) -> Option<u64> {
        self.schedule.time_of(RoundNumber::new(round).unwrap_or(RoundNumber::FIRST))
    }
}

impl Round {
    pub(super) const fn number(&self) -> u64 {
        self.round
    }

    /// As version 2 has it.
    pub(super) fn bare(mut self) -> Self {
        self.randomness = None;
        self
    }
}

impl SlotReport {
    /// With the slot's value, and the fields that show it.
    pub(super) fn to_json(&self, value: &[u8; 32], shown_by: Json) -> String {
        let most = self.ways.iter().max_by_key(|(path, way)| (way.parties, **path));
        let waits = self.ways.iter().map(|(path, PathWaits { parties, waits })| {
            let [mean, longest] = mean_and_longest(&waits.iter().copied().collect());
            let told = json!({ "parties": parties, "mean_ms": mean, "longest_ms": longest });
            (path.to_string(), told)
        });
        let [mean, longest] = mean_and_longest(&self.waits());
        let json = json!({
            "slot": self.slot.get(),
            "path": most.map(|(path, _)| path.to_string()),
            "wait_ms": mean,
            "longest_ms": longest,
            "value": hex::encode(value),
            "block": self.block.map(|block| hex::encode(block.to_bytes())),
            "waits": waits.collect::<serde_json::Map<_, _>>(),
        });
        joined(json, shown_by).to_string()
    }
}

/// The fields of both.
pub(super) fn joined(mut json: Json, more: Json) -> Json {
    if let (Json::Object(json), Json::Object(more)) = (&mut json, more) {
        json.extend(more);
    }
    json
}

/// In milliseconds, exact to a microsecond.
fn mean_and_longest(waits: &Waits) -> [f64; 2] {
    [waits.mean(), waits.longest()]
        .map(|span| (span.unwrap_or_default().as_secs_f64() * 1e6).round() / 1e3)
}
