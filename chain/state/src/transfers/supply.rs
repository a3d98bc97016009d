//! All money: the genesis, and what was burnt.
use std::collections::BTreeMap;

use crate::account::{Account, AccountId, Amount, Nonce};
use crate::error::StateError;
use crate::node::Row;
use crate::proof::StateKey;

/// The kind of the row with what was burnt, see [`StateKey::new`].
const BURNT: u8 = 1;

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

/// Where the state has the sum of all fees that were burnt: 8 bytes, big-endian.
#[must_use]
pub fn burnt_key() -> StateKey {
    StateKey::new(BURNT, &[])
}

pub(super) fn burnt_from_row(row: Option<&[u8]>) -> Result<Amount, StateError> {
    let Some(row) = row else { return Ok(Amount::new(0)) };
    let bytes = row.try_into().map_err(|_| StateError::damaged("a sum that cannot be read"))?;
    Ok(Amount::new(u64::from_be_bytes(bytes)))
}

pub(super) fn burnt_to_row(burnt: Amount) -> Row {
    burnt.get().to_be_bytes().as_slice().into()
}

/// The rows of a genesis in which accounts have these balances.
///
/// # Errors
/// If the sum of all exceeds what one account could hold.
pub fn genesis_rows(
    balances: &BTreeMap<AccountId, Amount>,
) -> Result<BTreeMap<StateKey, Row>, SupplyError> {
    let total = balances.values().try_fold(Amount::new(0), |sum, balance| sum.plus(*balance));
    total.ok_or(SupplyError)?;
    let account = |balance: &Amount| Account { balance: *balance, nonce: Nonce::new(0) };
    Ok(balances.iter().map(|(id, balance)| (id.key(), account(balance).to_row())).collect())
}

impl Account {
    /// Its row in the state.
    #[must_use]
    pub fn to_row(&self) -> Row {
        self.to_bytes().as_slice().into()
    }
}
