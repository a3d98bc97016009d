//! The state of a party, with what shows each of its blocks to others.
//!
//! The pipeline knows certificates alone. Beside each goes what nodes that follow the chain verify
//! ([`Attestation`]): the epoch, what stands for the transactions, the block's place under its roots, and the slot's
//! value as the beacon signed it, if the block reads it.
use std::borrow::{Borrow, BorrowMut};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_execution::{Block, BlockId, Committed, Execution, Header, Height, Recovered, Store};
use prefinal_light::EpochRow;
use prefinal_protocol::{EpochId, Slot};
use prefinal_state::{
    Genesis, ProvenPlace, StateError, StateExecutor, StateStore, SystemTransaction,
};
use prefinal_sync::Attestation;
use prefinal_validator::adopt::{StoredBlocks, StoredTransactions};
use prefinal_validator::execution::StateCertificate;

/// What is stored with a block.
pub type Attested = Attestation<Certificate<MinSig>>;

/// States whose blocks can be shown to others.
pub type AttestedStates<X> = StateStore<X, Attested>;

/// Values that are kept for blocks that are not committed yet.
const VALUES: usize = 4096;

/// The last slots' values, as the beacon signed them.
#[derive(Debug, Default)]
pub struct SlotValues(Mutex<BTreeMap<Slot, Signature>>);

impl SlotValues {
    /// Keeps a value. All parties have the same.
    pub fn insert(&self, slot: Slot, signature: Signature) {
        let mut values = lock(&self.0);
        values.insert(slot, signature);
        while values.len() > VALUES {
            values.pop_first();
        }
    }

    fn get(&self, slot: Slot) -> Option<Signature> {
        lock(&self.0).get(&slot).copied()
    }
}

/// The store of a party's pipeline.
pub struct AttestedStore<X> {
    states: AttestedStates<X>,
    values: Arc<SlotValues>,
    /// Blocks that are not committed and read their slots' values.
    readers: BTreeSet<BlockId>,
}

impl<X: StateExecutor> AttestedStore<X> {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// If the file is not to be had, or is another chain's.
    pub fn open(
        file: &Path,
        genesis: &Genesis,
        values: Arc<SlotValues>,
    ) -> Result<Self, StateError> {
        Ok(Self { states: states(file, genesis)?, values, readers: BTreeSet::new() })
    }

    /// The states, with what shows their blocks to others.
    #[must_use]
    pub const fn states(&self) -> &AttestedStates<X> {
        &self.states
    }

    fn attest(
        &self,
        block: &Header,
        certificate: &StateCertificate,
        place: Option<ProvenPlace>,
    ) -> Attested {
        let StateCertificate { epoch, certificate } = certificate.clone();
        let content = place.as_ref().map_or([0; 32], |place| *place.content.as_bytes());
        let place = place.map(|place| place.proof);
        let reads = self.readers.contains(&block.id);
        let randomness = reads.then(|| self.values.get(block.slot)).flatten();
        Attestation { epoch, certificate, content, place, randomness }
    }

    fn note(&mut self, block: &Block<X::Transaction>) {
        if block.has_tail() {
            self.readers.insert(block.header.id);
        }
    }
}

/// What carries the transactions of a block that are not executed, for the executors of [`prefinal_state`].
pub(super) fn carry(transactions: &[Arc<[u8]>]) -> Vec<u8> {
    // Writing into memory cannot fail.
    let list = borsh::to_vec(transactions).unwrap_or_default();
    SystemTransaction::Carried(list.into()).to_bytes()
}

/// Opens the states in a file, or creates it.
///
/// # Errors
/// If the file is not to be had, or is another chain's.
pub fn states<X: StateExecutor>(
    file: &Path,
    genesis: &Genesis,
) -> Result<AttestedStates<X>, StateError> {
    match file.exists() {
        true => AttestedStates::open(file, genesis),
        false => AttestedStates::create(file, genesis),
    }
}

impl<X> Borrow<AttestedStates<X>> for AttestedStore<X> {
    fn borrow(&self) -> &AttestedStates<X> {
        &self.states
    }
}

impl<X> BorrowMut<AttestedStates<X>> for AttestedStore<X> {
    fn borrow_mut(&mut self) -> &mut AttestedStates<X> {
        &mut self.states
    }
}

impl<X: StateExecutor> StoredBlocks for AttestedStore<X> {
    fn header(&self, height: Height) -> Option<Header> {
        Some(self.states.block(height).ok()?.header)
    }

    fn epoch(&self, height: Height) -> Option<EpochId> {
        Some(self.states.certificate(height).ok()??.epoch)
    }

    fn first_slot(&self, epoch: EpochId) -> Option<Slot> {
        let row = self.states.view().ok()?.get(&EpochRow::key_of(epoch)).ok()??;
        EpochRow::from_row(epoch, &row).map(|row| row.first)
    }

    fn transactions(&self, height: Height) -> Option<StoredTransactions> {
        let mut stored = StoredTransactions::default();
        for encoded in self.states.export(height).ok()?.transactions {
            match SystemTransaction::from_bytes(&encoded) {
                None => stored.executed.push(encoded),
                Some(SystemTransaction::Carried(all)) => {
                    stored.carried.extend(borsh::from_slice::<Vec<Vec<u8>>>(&all).ok()?);
                }
                Some(SystemTransaction::Row { .. }) => {}
            }
        }
        Some(stored)
    }
}

impl<X: StateExecutor> Store for AttestedStore<X> {
    type Executor = X;
    type Certificate = StateCertificate;
    type Error = StateError;

    fn write_optimistic(
        &mut self,
        block: &Block<X::Transaction>,
        execution: &Execution<X>,
    ) -> Result<(), StateError> {
        self.note(block);
        self.states.write_optimistic(block, execution)
    }

    fn certify(
        &mut self,
        block: &Header,
        certificate: &StateCertificate,
    ) -> Result<(), StateError> {
        // Without a place it is committed already, and nothing is written.
        let attested = self.attest(block, certificate, self.states.place(&block.id));
        self.states.certify(block, &attested)?;
        self.readers.remove(&block.id);
        Ok(())
    }

    fn write_certified(
        &mut self,
        block: &Block<X::Transaction>,
        execution: &Execution<X>,
        certificate: &StateCertificate,
    ) -> Result<(), StateError> {
        self.note(block);
        let attested = self.attest(&block.header, certificate, execution.delta.place());
        self.states.write_certified(block, execution, &attested)?;
        self.readers.remove(&block.header.id);
        Ok(())
    }

    fn revert(&mut self, block: &Header) -> Result<(), StateError> {
        self.states.revert(block)?;
        self.readers.remove(&block.id);
        Ok(())
    }

    fn committed(&self) -> Result<Committed, StateError> {
        self.states.committed()
    }

    fn recover(&mut self) -> Result<Recovered<X>, StateError> {
        let recovered = self.states.recover()?;
        recovered.optimistic.iter().for_each(|one| self.note(&one.block));
        Ok(recovered)
    }
}

/// What a panic has left is read again; nothing here is half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
