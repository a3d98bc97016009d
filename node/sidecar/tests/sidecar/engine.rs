//! An engine around the sidecars of all parties, as small as one can be, and the check of what it gets.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prefinal_crypto_core::bls::Domain;
use prefinal_crypto_core::bls::min_sig::{PublicKey, Signature};
use prefinal_crypto_core::drand::RoundNumber;
use prefinal_sidecar::proto::prefinalize_response::Outcome;
use prefinal_sidecar::proto::values_response;
use prefinal_sidecar::proto::{
    AbandonRequest, Block, FinalizeRequest, OrderRequest, Path, PrefinalizeRequest, ReceiveRequest,
    ValuesRequest,
};

use crate::committee::{Client, Committee, PARTIES};

/// The value of every block.
pub(crate) const VALUE: [u8; 32] = [7; 32];

/// The slots in which the committee makes its keys.
const KEYS: u64 = 6;

/// Where a party crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Abandon,
    Prefinalize,
    Receive,
    Finalize,
}

/// A crash behind the answer to a call, in a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crash {
    pub(crate) slot: u64,
    pub(crate) call: Call,
}

/// The party that crashes.
pub(crate) const CRASHES: u32 = 2;

pub(crate) struct Engine {
    pub(crate) committee: Committee,
    pub(crate) clients: Vec<Client>,
    mempool: Arc<Mutex<BTreeSet<Vec<u8>>>>,
    pub(crate) crashes: Vec<Crash>,
}

pub(crate) fn vote(slot: u64, attempt: u32) -> PrefinalizeRequest {
    PrefinalizeRequest { slot, attempt, view_slot: None, value: VALUE.to_vec() }
}

pub(crate) fn finalize(slot: u64) -> FinalizeRequest {
    let block = Some(Block { value: VALUE.to_vec(), transactions: Vec::new() });
    FinalizeRequest { slot, block }
}

impl Engine {
    pub(crate) async fn new() -> Self {
        Self::around(Committee::new()).await
    }

    pub(crate) async fn around(committee: Committee) -> Self {
        let mempool = Arc::default();
        let mut engine = Self { committee, clients: Vec::new(), mempool, crashes: Vec::new() };
        for party in 0..PARTIES {
            let client = engine.join(party).await;
            engine.clients.push(client);
        }
        engine
    }

    /// Connects to a party, and listens to what it wants to be ordered.
    async fn join(&self, party: u32) -> Client {
        let mut client = self.committee.client(party).await;
        let mut orders = client.order(OrderRequest {}).await.unwrap().into_inner();
        let mempool = Arc::clone(&self.mempool);
        tokio::spawn(async move {
            while let Ok(Some(order)) = orders.message().await {
                mempool.lock().unwrap().insert(order.transaction);
            }
        });
        client
    }

    /// Waits until each party has dealt, and orders slots until the committee has its keys: the first slot
    /// with a value.
    pub(crate) async fn make_keys(&mut self) -> u64 {
        while self.mempool.lock().unwrap().len() < self.clients.len() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.run(1..=KEYS).await;
        let from = ValuesRequest { from_slot: Some(0), limit: 1 };
        self.run([KEYS + 1, KEYS + 2]).await;
        // Nothing goes on any more when everybody has both values.
        for at in 0..self.clients.len() {
            self.values(at, KEYS + 2).await;
        }
        let mut values = self.clients[0].values(from).await.unwrap().into_inner();
        values.message().await.unwrap().unwrap().slot
    }

    pub(crate) async fn run(&mut self, slots: impl IntoIterator<Item = u64>) {
        for slot in slots {
            self.order(slot, 0).await;
        }
    }

    /// Crashes the party behind this call, if it is due. `true` if the call has to be made again.
    async fn crashed(&mut self, party: u32, slot: u64, call: Call) -> bool {
        let due = self.crashes.iter().position(|due| due.slot == slot && due.call == call);
        let Some(due) = due.filter(|_| party == CRASHES) else { return false };
        self.crashes.remove(due);
        self.committee.crash(party).await;
        let client = self.join(party).await;
        self.clients[usize::try_from(party).unwrap()] = client;
        true
    }

    /// Makes a slot final in this attempt, as if all votes had arrived everywhere; what each vote carried.
    pub(crate) async fn order(&mut self, slot: u64, attempt: u32) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for party in 0..PARTIES {
            let at = usize::try_from(party).unwrap();
            for attempt in 0..attempt {
                let request = AbandonRequest { slot, attempt };
                self.clients[at].abandon(request).await.unwrap();
                if self.crashed(party, slot, Call::Abandon).await {
                    let early = self.clients[at].prefinalize(vote(slot, 0)).await.unwrap();
                    let Some(Outcome::Withheld(why)) = early.into_inner().outcome else {
                        panic!("the view was given up before the crash")
                    };
                    assert_eq!(why.code, "view-given-up", "{}", why.reason);
                    self.clients[at].abandon(request).await.unwrap();
                }
            }
            let outcome = self.prefinalize(at, vote(slot, attempt)).await;
            if self.crashed(party, slot, Call::Prefinalize).await {
                match (self.prefinalize(at, vote(slot, attempt)).await, &outcome) {
                    // The text may say more than before.
                    (Outcome::Withheld(now), Outcome::Withheld(then)) => {
                        assert_eq!(now.code, then.code);
                    }
                    (now, then) => assert_eq!(now, *then),
                }
            }
            if let Outcome::Partial(partial) = &outcome {
                self.carry(party, slot, partial).await;
            }
            outcomes.push(outcome);
        }
        let transactions = std::mem::take(&mut *self.mempool.lock().unwrap());
        let block =
            Block { value: VALUE.to_vec(), transactions: transactions.into_iter().collect() };
        let request = FinalizeRequest { slot, block: Some(block) };
        for party in 0..PARTIES {
            let at = usize::try_from(party).unwrap();
            self.clients[at].finalize(request.clone()).await.unwrap();
            if self.crashed(party, slot, Call::Finalize).await {
                let status = self.clients[at].status(prefinal_sidecar::proto::StatusRequest {});
                let next = status.await.unwrap().into_inner().next_final;
                // Between the keys and the first value nothing is recorded, for nothing follows from it; the
                // engine may go on all the same.
                if slot > KEYS {
                    assert_eq!(next, slot + 1);
                    self.clients[at].finalize(request.clone()).await.unwrap();
                }
            }
        }
        outcomes
    }

    async fn prefinalize(&mut self, at: usize, vote: PrefinalizeRequest) -> Outcome {
        self.clients[at].prefinalize(vote).await.unwrap().into_inner().outcome.unwrap()
    }

    /// Gives what a vote carries to all other parties.
    async fn carry(&mut self, from: u32, slot: u64, partial: &[u8]) {
        for party in (0..PARTIES).filter(|party| *party != from) {
            let at = usize::try_from(party).unwrap();
            let request = ReceiveRequest { from, partial: partial.to_vec() };
            let answer = self.clients[at].receive(request.clone()).await.unwrap().into_inner();
            assert_eq!(answer.dropped, None);
            if self.crashed(party, slot, Call::Receive).await {
                let answer = self.clients[at].receive(request).await.unwrap().into_inner();
                assert_eq!(answer.dropped, None);
            }
        }
    }

    /// A party's values up to a slot.
    pub(crate) async fn values(&mut self, at: usize, last: u64) -> Values {
        let from = ValuesRequest { from_slot: Some(0), limit: 0 };
        let mut stream = self.clients[at].values(from).await.unwrap().into_inner();
        let mut values = Values::new();
        while let Some(value) = stream.message().await.unwrap() {
            let slot = value.slot;
            if let Some(values_response::Outcome::Revealed(it)) = value.outcome {
                let key = it.key.clone().unwrap().public_key;
                let shown = Shown {
                    round: it.round.unwrap(),
                    path: it.path(),
                    signature: it.signature,
                    randomness: it.randomness,
                    key,
                };
                assert!(values.insert(slot, shown).is_none(), "slot {slot} comes twice");
            }
            if slot >= last {
                break;
            }
        }
        values
    }
}

/// What a party's stream says of a slot.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) round: u64,
    pub(crate) signature: Vec<u8>,
    pub(crate) randomness: Vec<u8>,
    pub(crate) key: Vec<u8>,
    pub(crate) path: Path,
}

pub(crate) type Values = BTreeMap<u64, Shown>;

/// Every party has the same values, one for each slot, and the committee's one key verifies them as drand's
/// rounds.
pub(crate) fn verify(parties: &[Values], first: u64, last: u64) {
    let key = &parties[0][&first].key;
    let public = PublicKey::from_bytes(key).unwrap();
    for values in parties {
        assert!(values.keys().copied().eq(first..=last), "{:?}", values.keys());
        for (slot, shown) in values {
            assert_eq!((shown.round, &shown.key), (slot - first + 1, key));
            assert_eq!(shown.signature, parties[0][slot].signature, "slot {slot}");
            assert_eq!(shown.randomness, parties[0][slot].randomness, "slot {slot}");
            let signature = Signature::from_bytes(&shown.signature).unwrap();
            let message = RoundNumber::new(shown.round).unwrap().message();
            assert_eq!(signature.verify(&public, Domain::BASIC, &message), Ok(()), "slot {slot}");
        }
    }
}
