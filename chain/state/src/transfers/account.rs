//! Accounts, and their rows in the state.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::error::StateError;
use crate::node::Row;
use crate::proof::StateKey;

/// Kinds of rows, see [`StateKey::new`].
const ACCOUNT: u8 = 0;
const BURNT: u8 = 1;

/// An account, named by the Ed25519 public key that signs for it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct AccountId([u8; 32]);

/// Money, in the smallest unit.
///
/// ```compile_fail,E0308
/// let amount: prefinal_state::transfers::Amount = 7_u64;
/// ```
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    BorshSerialize,
    BorshDeserialize,
)]
pub struct Amount(u64);

/// How many transactions of an account are executed.
///
/// ```compile_fail,E0308
/// let nonce: prefinal_state::transfers::Nonce = 7_u64;
/// ```
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    BorshSerialize,
    BorshDeserialize,
)]
pub struct Nonce(u64);

/// What the state knows of an account. An account without a row has nothing, and nonce 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The money of the account.
    pub balance: Amount,
    /// The nonce of its next transaction.
    pub nonce: Nonce,
}

/// The genesis has more money than one account could hold, so credits could overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the balances of the genesis together exceed {}", u64::MAX)]
pub struct SupplyError;

impl SupplyError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "invalid-value"
    }
}

impl AccountId {
    /// The account of this public key. A key that is not a point has an account that nobody can sign for.
    #[must_use]
    pub const fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The public key that signs for the account.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Where the account is in the state.
    #[must_use]
    pub fn key(&self) -> StateKey {
        StateKey::new(ACCOUNT, &self.0)
    }
}

impl Amount {
    /// So many of the smallest unit.
    #[must_use]
    pub const fn new(units: u64) -> Self {
        Self(units)
    }

    /// The number of smallest units.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    pub(super) fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }
}

impl Nonce {
    /// The nonce of the transaction behind so many others.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of transactions before.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    pub(super) fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}

impl Account {
    /// Its row in the state.
    #[must_use]
    pub fn to_row(&self) -> Row {
        [self.balance.0.to_be_bytes(), self.nonce.0.to_be_bytes()].concat().into()
    }

    /// The account that a row shows; no row is an empty account.
    ///
    /// # Errors
    /// If the row is no account's.
    pub fn from_row(row: Option<&[u8]>) -> Result<Self, StateError> {
        let Some(row) = row else { return Ok(Self::default()) };
        let parts = row.split_first_chunk::<8>();
        let parts = parts.and_then(|(balance, nonce)| Some((balance, nonce.try_into().ok()?)));
        let (balance, nonce) =
            parts.ok_or_else(|| StateError::damaged("an account that cannot be read"))?;
        let (balance, nonce) = (u64::from_be_bytes(*balance), u64::from_be_bytes(nonce));
        Ok(Self { balance: Amount(balance), nonce: Nonce(nonce) })
    }
}

/// Where the state has the sum of all fees that were burnt: 8 bytes, big-endian.
#[must_use]
pub fn burnt_key() -> StateKey {
    StateKey::new(BURNT, &[])
}

pub(super) fn burnt_from_row(row: Option<&[u8]>) -> Result<Amount, StateError> {
    let Some(row) = row else { return Ok(Amount(0)) };
    let bytes = row.try_into().map_err(|_| StateError::damaged("a sum that cannot be read"))?;
    Ok(Amount(u64::from_be_bytes(bytes)))
}

pub(super) fn burnt_to_row(burnt: Amount) -> Row {
    burnt.0.to_be_bytes().as_slice().into()
}

/// The rows of a genesis in which accounts have these balances.
///
/// # Errors
/// If the sum of all exceeds what one account could hold.
pub fn genesis_rows(
    balances: &BTreeMap<AccountId, Amount>,
) -> Result<BTreeMap<StateKey, Row>, SupplyError> {
    let total = balances.values().try_fold(Amount(0), |sum, balance| sum.plus(*balance));
    total.ok_or(SupplyError)?;
    let rows = balances
        .iter()
        .map(|(id, balance)| (id.key(), Account { balance: *balance, nonce: Nonce(0) }.to_row()));
    Ok(rows.collect())
}
