//! Accounts of transfers, and where the state has them.
use borsh::{BorshDeserialize, BorshSerialize};

use crate::proof::StateKey;

/// The kind of an account's row, see [`StateKey::new`].
const ACCOUNT: u8 = 0;

/// An account, named by the Ed25519 public key that signs for it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct AccountId([u8; 32]);

/// Money, in the smallest unit.
///
/// ```compile_fail,E0308
/// let amount: prefinal_state::account::Amount = 7_u64;
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
/// let nonce: prefinal_state::account::Nonce = 7_u64;
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

/// A row is not an account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got} bytes in a row, an account has 16")]
pub struct AccountError {
    /// The number of bytes in the row.
    pub got: usize,
}

impl AccountError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "wrong-length"
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

    #[cfg(feature = "store")]
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    #[cfg(feature = "store")]
    pub(crate) fn minus(self, other: Self) -> Option<Self> {
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

    #[cfg(feature = "store")]
    pub(crate) fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}

impl Account {
    /// The bytes of its row: balance (8) ‖ nonce (8), big-endian.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 16] {
        let numbers = (u128::from(self.balance.0) << 64) | u128::from(self.nonce.0);
        numbers.to_be_bytes()
    }

    /// The account that a row shows; no row is an empty account.
    ///
    /// # Errors
    /// If the row is no account's.
    pub fn from_row(row: Option<&[u8]>) -> Result<Self, AccountError> {
        let Some(row) = row else { return Ok(Self::default()) };
        let parts = row.split_first_chunk::<8>();
        let parts = parts.and_then(|(balance, nonce)| Some((balance, nonce.try_into().ok()?)));
        let (balance, nonce) = parts.ok_or(AccountError { got: row.len() })?;
        let (balance, nonce) = (u64::from_be_bytes(*balance), u64::from_be_bytes(nonce));
        Ok(Self { balance: Amount(balance), nonce: Nonce(nonce) })
    }
}
