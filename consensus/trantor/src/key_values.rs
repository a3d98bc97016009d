//! An example application: a replicated store of keys and values.
//!
//! A transaction is a [`Command`] in Borsh, behind the header of its client. One that is not is left out, at
//! every party alike.
use std::collections::BTreeMap;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::Slot;

use crate::app::{Application, Configuration, RestoreError};
use crate::block::Transaction;
use crate::client::ClientHeader;

/// A change of the store.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Command {
    /// Give a key a value.
    Put {
        /// The key that gets the value.
        key: String,
        /// The value, which replaces an earlier one.
        value: Vec<u8>,
    },
    /// Forget a key and its value.
    Delete {
        /// The key that is forgotten.
        key: String,
    },
    /// Change the committee, as soon as the configuration's time comes.
    Configure(Configuration),
}

impl Command {
    /// The transaction of a client that carries this command.
    #[must_use]
    pub fn transaction(&self, header: ClientHeader) -> Transaction {
        // Writing into memory cannot fail.
        header.transaction(&borsh::to_vec(self).unwrap_or_default())
    }
}

/// Keys with their values, and the configuration that was asked for last.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct KeyValues {
    values: BTreeMap<String, Vec<u8>>,
    configuration: Option<Configuration>,
    /// Number of transactions that were carried out.
    applied: u64,
}

impl KeyValues {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.values.get(key).map(Vec::as_slice)
    }

    /// Number of transactions that were carried out.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }
}

impl Application for KeyValues {
    fn apply(&mut self, _: Slot, transactions: &[Arc<[u8]>]) {
        for transaction in transactions {
            let Some((_, body)) = ClientHeader::split(transaction) else { continue };
            match borsh::from_slice(body) {
                Ok(Command::Put { key, value }) => {
                    self.values.insert(key, value);
                }
                Ok(Command::Delete { key }) => {
                    self.values.remove(&key);
                }
                Ok(Command::Configure(configuration)) => self.configuration = Some(configuration),
                Err(_) => continue,
            }
            self.applied = self.applied.saturating_add(1);
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        // Writing into memory cannot fail.
        borsh::to_vec(self).unwrap_or_default()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), RestoreError> {
        *self = borsh::from_slice(snapshot).map_err(|error| RestoreError(error.to_string()))?;
        Ok(())
    }

    fn new_epoch(&mut self, _: u64) -> Option<Configuration> {
        self.configuration.clone()
    }
}
