//! What nodes that follow the chain are given: answers of [`prefinal_sync`], and how the chain begins.
use std::borrow::Borrow;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::bls::min_sig::PublicKey;
use prefinal_execution::{Height, Store};
use prefinal_light::{BeaconVerifier, Binding};
use prefinal_protocol::{EpochId, Slot};
use prefinal_state::proof::StateRow;
use prefinal_state::{Genesis, SnapshotBlock};
use prefinal_sync::wire::{Ask, Request};
use prefinal_sync::{ServeError, Server, ServerLimits, Source, StoreSource};

use super::endings::Endings;
use super::executor::NamedExecutor;
use super::store::{Attested, AttestedStates, lock};
use crate::http::sync::{Librarian, SyncError};

/// Snapshots are offered of heights that are multiples of this. Nodes that forget keep three of them at least
/// ([`prefinal_sync::Keep::FLOOR`]).
const SNAPSHOT_EVERY: u64 = 10;

/// Bytes of encoded answers that are kept for the next one who asks.
const CACHE_BYTES: usize = 16 << 20;

/// How a chain begins, as a node tells it to one that follows. The first block shows the genesis: its parent has the
/// name of the genesis, which is a hash of the rows.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Beginning {
    /// What executes the blocks, by its name.
    pub executor: String,
    /// The rows of the genesis, in the order of their keys.
    pub rows: Vec<StateRow>,
    /// The first block, with what shows it.
    pub first: SnapshotBlock<Attested>,
    /// What signs the slots' values.
    pub beacon: BeaconKey,
}

/// The key of a beacon, and where its rounds begin. No certificate is of it; a false one leads to no false state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BeaconKey {
    /// The key under which the whole committee signs values.
    pub key: PublicKey,
    /// The slot of round 1.
    pub first: Slot,
}

impl BeaconKey {
    /// What verifies its values.
    #[must_use]
    pub const fn verifier(self) -> BeaconVerifier {
        BeaconVerifier { key: self.key, binding: Binding::Rounds { first: self.first } }
    }
}

/// Answers from a store, which may be that of a party or of a node that follows.
pub struct Library<X, S> {
    store: Arc<Mutex<S>>,
    server: Mutex<Server>,
    endings: Endings,
    hops: AtomicU8,
    beginning: OnceLock<Vec<u8>>,
    genesis: Option<(Genesis, OnceLock<BeaconKey>)>,
    kind: std::marker::PhantomData<fn() -> X>,
}

impl<X: NamedExecutor, S: Borrow<AttestedStates<X>>> Library<X, S> {
    /// The library of a party, whose chain begins with this genesis.
    pub fn of_party(store: Arc<Mutex<S>>, genesis: Genesis, endings: Endings) -> Self {
        Self::new(store, endings, OnceLock::new(), Some((genesis, OnceLock::new())))
    }

    /// The library of a party that only its peers ask, who know how the chain begins.
    pub fn among_parties(store: Arc<Mutex<S>>, endings: Endings) -> Self {
        Self::new(store, endings, OnceLock::new(), None)
    }

    /// The library of a node that follows. It was told how the chain begins, and has verified it.
    pub fn of_follower(store: Arc<Mutex<S>>, beginning: &Beginning, endings: Endings) -> Self {
        // Writing to memory does not fail.
        let told = OnceLock::from(borsh::to_vec(beginning).unwrap_or_default());
        let library = Self::new(store, endings, told, None);
        library.set_hops(1);
        library
    }

    fn new(
        store: Arc<Mutex<S>>,
        endings: Endings,
        beginning: OnceLock<Vec<u8>>,
        genesis: Option<(Genesis, OnceLock<BeaconKey>)>,
    ) -> Self {
        let limits = ServerLimits { cache_bytes: CACHE_BYTES, ..ServerLimits::default() };
        Self {
            store,
            server: Mutex::new(Server::new(limits)),
            endings,
            hops: AtomicU8::new(0),
            beginning,
            genesis,
            kind: std::marker::PhantomData,
        }
    }

    /// The committee has a key that signs the values, from this slot on.
    pub fn set_beacon(&self, key: BeaconKey) {
        if let Some((_, beacon)) = &self.genesis {
            // All parties have the same.
            let _known = beacon.set(key);
        }
    }

    /// The committee's key, once it is known.
    pub fn beacon(&self) -> Option<BeaconKey> {
        self.genesis.as_ref()?.1.get().copied()
    }

    /// How far the node is from the validators.
    pub fn set_hops(&self, hops: u8) {
        self.hops.store(hops, Ordering::Relaxed);
    }

    /// Whether blocks of a later epoch are here, and not what ends this one: after a restart the parties find that
    /// again.
    fn lacks_ending(&self, epoch: EpochId) -> bool {
        let last = self.with_source(|source| {
            let height = source.store.committed().ok()?.height;
            source.store.certificate(height).ok()?.map(|last| last.epoch)
        });
        let is_known = self.endings.read(|endings| endings.contains_key(&epoch));
        last > Some(epoch) && !is_known
    }

    fn with_source<T>(&self, read: impl FnOnce(StoreSource<'_, AttestedStates<X>>) -> T) -> T {
        let store = lock(&self.store);
        let hops = self.hops.load(Ordering::Relaxed);
        let states: &AttestedStates<X> = (*store).borrow();
        let snapshot_every = SNAPSHOT_EVERY;
        self.endings
            .read(|endings| read(StoreSource { store: states, endings, snapshot_every, hops }))
    }
}

impl<X, S> Librarian for Library<X, S>
where
    X: NamedExecutor,
    S: Borrow<AttestedStates<X>> + Send + 'static,
{
    fn answer(&self, request: &[u8]) -> Result<Vec<u8>, SyncError> {
        if let Ok(Request { ask: Ask::Ending(epoch), .. }) = Request::from_wire(request)
            && self.lacks_ending(epoch)
        {
            return Err(SyncError::NotYet(epoch));
        }
        let mut server = lock(&self.server);
        self.with_source(|source| server.answer(&source, request)).map_err(|error| match error {
            ServeError::Wire(error) => SyncError::Malformed(error.to_string()),
            _ => SyncError::Unreadable,
        })
    }

    fn beginning(&self) -> Result<Option<Vec<u8>>, SyncError> {
        if let Some(told) = self.beginning.get() {
            return Ok(Some(told.clone()));
        }
        let Some((genesis, beacon)) = &self.genesis else { return Ok(None) };
        let Some(beacon) = beacon.get().copied() else { return Ok(None) };
        let first = self.with_source(|source| source.anchor(Height::GENESIS.next()));
        let Some(first) = first.map_err(|_| SyncError::Unreadable)? else { return Ok(None) };
        let row =
            |(key, row): (&_, &prefinal_state::Row)| StateRow { key: *key, value: row.to_vec() };
        let rows = genesis.rows.iter().map(row).collect();
        let executor = X::NAME.to_owned();
        let bytes = borsh::to_vec(&Beginning { executor, rows, first, beacon });
        let bytes = bytes.map_err(|_| SyncError::Unreadable)?;
        Ok(Some(self.beginning.get_or_init(|| bytes).clone()))
    }
}
