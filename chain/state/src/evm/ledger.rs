//! Accounts, storage and code of the EVM as rows of the state.
use std::collections::BTreeMap;
use std::sync::Arc;

use revm::Database;
use revm::database_interface::DBErrorMarker;
use revm::primitives::{Address, B256, KECCAK_EMPTY, StorageKey, StorageValue, U256, keccak256};
use revm::state::{AccountInfo, Bytecode, EvmState};

use crate::error::StateError;
use crate::node::Row;
use crate::proof::StateKey;
use crate::tree::Changes;
use crate::view::Pending;

/// Kinds of rows, see [`StateKey::new`].
const ACCOUNT: u8 = 2;
const STORAGE: u8 = 3;
const CODE: u8 = 4;
const BURNT: u8 = 5;

/// What the state knows of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvmAccount {
    /// The nonce of its next transaction.
    pub nonce: u64,
    /// The money of the account, in the smallest unit.
    pub balance: U256,
    /// Keccak-256 of its code.
    pub code_hash: B256,
}

/// Where the account of an address is in the state.
#[must_use]
pub fn account_key(address: &Address) -> StateKey {
    StateKey::new(ACCOUNT, address.as_slice())
}

/// Where a slot of an address's storage is in the state.
#[must_use]
pub fn storage_key(address: &Address, slot: &U256) -> StateKey {
    StateKey::new(STORAGE, &[address.as_slice(), &slot.to_be_bytes::<32>()].concat())
}

/// Where code is in the state.
#[must_use]
pub fn code_key(hash: &B256) -> StateKey {
    StateKey::new(CODE, hash.as_slice())
}

/// Where the sum of all gas that was paid is in the state: 32 bytes, big-endian.
#[must_use]
pub fn evm_burnt_key() -> StateKey {
    StateKey::new(BURNT, &[])
}

/// The rows of a genesis in which addresses have these balances.
#[must_use]
pub fn genesis_rows(balances: &BTreeMap<Address, U256>) -> BTreeMap<StateKey, Row> {
    let rows = balances.iter().map(|(address, balance)| {
        let account = EvmAccount { nonce: 0, balance: *balance, code_hash: KECCAK_EMPTY };
        (account_key(address), account.to_row())
    });
    rows.collect()
}

/// The rows of a genesis in which an address has this code, and no money.
#[must_use]
pub fn contract_rows(address: &Address, code: &[u8]) -> BTreeMap<StateKey, Row> {
    let code_hash = keccak256(code);
    let account = EvmAccount { nonce: 1, balance: U256::ZERO, code_hash };
    [(account_key(address), account.to_row()), (code_key(&code_hash), code.into())].into()
}

impl EvmAccount {
    /// Its row in the state.
    #[must_use]
    pub fn to_row(&self) -> Row {
        let mut row = self.nonce.to_be_bytes().to_vec();
        row.extend(self.balance.to_be_bytes::<32>());
        row.extend(self.code_hash.0);
        row.into()
    }

    /// The account that a row shows, or `None` if there is no row.
    ///
    /// # Errors
    /// If the row is no account's.
    pub fn from_row(row: Option<&[u8]>) -> Result<Option<Self>, StateError> {
        let Some(row) = row else { return Ok(None) };
        let parse = || {
            let (nonce, rest) = row.split_first_chunk::<8>()?;
            let (balance, rest) = rest.split_first_chunk::<32>()?;
            Some(Self {
                nonce: u64::from_be_bytes(*nonce),
                balance: U256::from_be_bytes(*balance),
                code_hash: B256::new(rest.try_into().ok()?),
            })
        };
        parse().map(Some).ok_or_else(|| StateError::damaged("an account that cannot be read"))
    }
}

/// How reading for the EVM fails.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct LedgerError(#[from] pub(super) StateError);

impl DBErrorMarker for LedgerError {}

/// Rows that were read or changed while a part of a block is executed.
#[derive(Debug)]
pub(super) struct Ledger<'a> {
    pending: &'a Pending,
    /// As they were before the part.
    before: BTreeMap<StateKey, Option<Row>>,
    changes: Changes,
    burnt: U256,
}

impl<'a> Ledger<'a> {
    pub(super) const fn new(pending: &'a Pending, before: BTreeMap<StateKey, Option<Row>>) -> Self {
        Self { pending, before, changes: Changes::new(), burnt: U256::ZERO }
    }

    fn row(&mut self, key: StateKey) -> Result<Option<Row>, StateError> {
        if let Some(row) = self.changes.get(&key).or_else(|| self.before.get(&key)) {
            return Ok(row.clone());
        }
        let row = self.pending.get(&key)?;
        self.before.insert(key, row.clone());
        Ok(row)
    }

    pub(super) fn account(&mut self, address: &Address) -> Result<Option<EvmAccount>, StateError> {
        EvmAccount::from_row(self.row(account_key(address))?.as_deref())
    }

    pub(super) fn set_account(&mut self, address: &Address, account: &EvmAccount) {
        self.changes.insert(account_key(address), Some(account.to_row()));
    }

    pub(super) fn burn(&mut self, paid: U256) {
        self.burnt = self.burnt.saturating_add(paid);
    }

    /// Takes over what a transaction changed.
    pub(super) fn commit(&mut self, state: &EvmState) {
        for (address, account) in state.iter().filter(|(_, account)| account.is_touched()) {
            // Accounts that are gone were created by the same transaction: they have no storage here.
            if account.is_selfdestructed() || account.info.is_empty() {
                self.changes.insert(account_key(address), None);
                continue;
            }
            let info = &account.info;
            let row =
                EvmAccount { nonce: info.nonce, balance: info.balance, code_hash: info.code_hash };
            self.set_account(address, &row);
            if let Some(code) = info.code.as_ref().filter(|_| account.is_created()) {
                self.changes
                    .insert(code_key(&info.code_hash), Some(code.original_byte_slice().into()));
            }
            for (slot, value) in account.changed_storage_slots() {
                let value = value.present_value();
                let row: Option<Row> =
                    (!value.is_zero()).then(|| Arc::from(value.to_be_bytes::<32>()));
                self.changes.insert(storage_key(address, slot), row);
            }
        }
    }

    /// The rows that have other values than before the part.
    pub(super) fn into_changes(mut self) -> Result<Changes, StateError> {
        if !self.burnt.is_zero() {
            let row = self.row(evm_burnt_key())?;
            let before = row.map(|row| (*row).try_into().map(U256::from_be_bytes::<32>));
            let before = before.transpose();
            let before = before.map_err(|_| StateError::damaged("a sum that cannot be read"))?;
            let burnt = before.unwrap_or(U256::ZERO).saturating_add(self.burnt);
            self.changes.insert(evm_burnt_key(), Some(Arc::from(burnt.to_be_bytes::<32>())));
        }
        let Self { changes, before, .. } = self;
        Ok(changes.into_iter().filter(|(key, row)| before.get(key) != Some(row)).collect())
    }
}

impl Database for Ledger<'_> {
    type Error = LedgerError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, LedgerError> {
        Ok(self.account(&address)?.map(|account| AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            code: None,
            ..AccountInfo::default()
        }))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, LedgerError> {
        if hash == KECCAK_EMPTY {
            return Ok(Bytecode::default());
        }
        let code = self.row(code_key(&hash))?;
        let code = code.ok_or_else(|| StateError::damaged("code that is missing"))?;
        Ok(Bytecode::new_raw(revm::primitives::Bytes::copy_from_slice(&code)))
    }

    fn storage(&mut self, address: Address, slot: StorageKey) -> Result<StorageValue, LedgerError> {
        let Some(row) = self.row(storage_key(&address, &slot))? else { return Ok(U256::ZERO) };
        let bytes = (*row).try_into();
        let bytes = bytes.map_err(|_| StateError::damaged("storage that cannot be read"))?;
        Ok(U256::from_be_bytes::<32>(bytes))
    }

    /// No block's hash is readable: it would be a second source of what looks random, chosen by proposers.
    fn block_hash(&mut self, _: u64) -> Result<B256, LedgerError> {
        Ok(B256::ZERO)
    }
}
