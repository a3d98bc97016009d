//! What the devnet needs to know of an executor: its genesis, what it refuses at the door, and a load.
use std::collections::BTreeMap;
use std::num::NonZeroU32;

use ed25519_consensus::SigningKey;
use prefinal_execution::Height;
use prefinal_protocol::ChainId;
use prefinal_state::proof::StateKey;
use prefinal_state::transfers::{
    Account, AccountId, Action, Amount, Nonce, Receipt, SignedTransfer, TRANSFER_BYTES, Transfer,
    Transfers, genesis_rows,
};
use prefinal_state::{Row, StateError, StateExecutor, View};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

/// Accounts that the load leaves to wallets.
const WALLETS: u32 = 16;

/// Accounts for each transaction a second: each has one transaction on its way at a time.
const ACCOUNTS_EACH: u32 = 4;
const MOST_ACCOUNTS: u32 = 8192;

/// What each account has in the genesis.
const FUNDS: u64 = 1_000_000_000;

/// How many blocks a transaction of the load may wait.
pub(super) const PATIENCE: u64 = 1000;

/// Accounts with money, drawn from a seed.
pub struct Accounts(Vec<SigningKey>);

/// A transaction of the load that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// The chain that it is signed for.
    pub chain: ChainId,
    /// The account that sends.
    pub account: usize,
    /// The number of the account's next transaction.
    pub nonce: u64,
    /// The last committed block.
    pub height: Height,
}

impl Accounts {
    /// Enough accounts for so many transactions a second.
    #[must_use]
    pub fn new(seed: u64, load: Option<NonZeroU32>) -> Self {
        let count = load.map_or(0, |load| load.get().saturating_mul(ACCOUNTS_EACH));
        let count = count.min(MOST_ACCOUNTS).saturating_add(WALLETS);
        let key = |number: u32| {
            let drawn = Sha256::new()
                .chain_update(b"PREFINAL-V1-NODE-ACCOUNT")
                .chain_update(seed.to_be_bytes())
                .chain_update(number.to_be_bytes());
            SigningKey::from(<[u8; 32]>::from(drawn.finalize()))
        };
        Self((0..count).map(key).collect())
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.0.len()
    }

    /// The accounts that the load sends from.
    pub(super) fn of_load(&self) -> std::ops::Range<usize> {
        usize::try_from(WALLETS).unwrap_or(usize::MAX).min(self.0.len())..self.0.len()
    }

    /// The keys that sign for the accounts; the first 16 are left to wallets.
    #[must_use]
    pub fn keys(&self) -> &[SigningKey] {
        &self.0
    }

    pub(super) fn public(&self, account: usize) -> Option<[u8; 32]> {
        self.0.get(account).map(|key| key.verification_key().to_bytes())
    }
}

/// An executor that the devnet knows.
pub trait NamedExecutor: StateExecutor<Error = StateError> {
    /// Its name, as a user types it.
    const NAME: &'static str;
    /// Length of the longest transaction in bytes.
    const MOST_BYTES: usize;

    /// The executor of this chain.
    fn new(chain: ChainId) -> Self;

    /// The rows of a genesis in which these accounts have money.
    ///
    /// # Errors
    /// If they have more than there can be.
    fn genesis(accounts: &Accounts) -> Result<BTreeMap<StateKey, Row>, String>;

    /// Reads a transaction.
    ///
    /// # Errors
    /// If the bytes are none; described in words.
    fn decode(bytes: &[u8]) -> Result<Self::Transaction, String>;

    /// As [`Self::decode`], for blocks.
    fn decoded(bytes: &[u8]) -> Option<Self::Transaction> {
        Self::decode(bytes).ok()
    }

    /// The hash by which clients know a transaction.
    fn hash(transaction: &Self::Transaction) -> [u8; 32];

    /// Why a transaction would change nothing in the next block; `None` if nothing is known against it.
    ///
    /// # Errors
    /// If the state cannot be read.
    fn objection(
        &self,
        view: &View,
        next: Height,
        transaction: &Self::Transaction,
    ) -> Result<Option<String>, StateError>;

    /// The last height at which a transaction is valid.
    fn expires(transaction: &Self::Transaction) -> Height;

    /// A transaction of the load.
    fn make(accounts: &Accounts, order: Order) -> Option<Self::Transaction>;

    /// The nonce of an account of the load.
    ///
    /// # Errors
    /// If the state cannot be read.
    fn nonce(accounts: &Accounts, account: usize, view: &View) -> Result<u64, StateError>;

    /// Where the state has an account, whose name a client has written in hex.
    fn account(name: &[u8]) -> Option<StateKey>;

    /// What the state says of an account, for people.
    ///
    /// # Errors
    /// If the row is no account's.
    fn about(row: Option<&[u8]>) -> Result<Json, StateError>;

    /// A receipt in a word.
    fn outcome(receipt: &[u8]) -> String;
}

impl NamedExecutor for Transfers {
    const NAME: &'static str = "transfers";
    const MOST_BYTES: usize = TRANSFER_BYTES;

    fn new(chain: ChainId) -> Self {
        Self::new(chain)
    }

    fn genesis(accounts: &Accounts) -> Result<BTreeMap<StateKey, Row>, String> {
        let ids = (0..accounts.count()).filter_map(|one| accounts.public(one));
        let balances = ids.map(|key| (AccountId::new(key), Amount::new(FUNDS)));
        genesis_rows(&balances.collect()).map_err(|error| error.to_string())
    }

    fn decode(bytes: &[u8]) -> Result<SignedTransfer, String> {
        SignedTransfer::decode(bytes).map_err(|error| error.to_string())
    }

    fn hash(transaction: &SignedTransfer) -> [u8; 32] {
        transaction.hash()
    }

    fn objection(
        &self,
        view: &View,
        next: Height,
        transaction: &SignedTransfer,
    ) -> Result<Option<String>, StateError> {
        Ok(self.check(view, next, transaction)?.map(|rejection| rejection.to_string()))
    }

    fn expires(transaction: &SignedTransfer) -> Height {
        transaction.transfer().expires
    }

    /// One unit to the next account.
    fn make(accounts: &Accounts, order: Order) -> Option<SignedTransfer> {
        let Order { chain, account, nonce, height } = order;
        let to = accounts.public(account.wrapping_add(1)).or_else(|| accounts.public(0))?;
        let transfer = Transfer {
            sender: AccountId::new(accounts.public(account)?),
            nonce: Nonce::new(nonce),
            expires: height.after(PATIENCE),
            fee: Amount::new(1),
            amount: Amount::new(1),
            action: Action::Pay { to: AccountId::new(to) },
        };
        Some(transfer.sign(chain, accounts.keys().get(account)?))
    }

    fn nonce(accounts: &Accounts, account: usize, view: &View) -> Result<u64, StateError> {
        let Some(key) = accounts.public(account) else { return Ok(0) };
        let row = view.get(&AccountId::new(key).key())?;
        Ok(Account::from_row(row.as_deref())?.nonce.get())
    }

    fn account(name: &[u8]) -> Option<StateKey> {
        Some(AccountId::new(name.try_into().ok()?).key())
    }

    fn about(row: Option<&[u8]>) -> Result<Json, StateError> {
        let Account { balance, nonce } = Account::from_row(row)?;
        Ok(json!({ "balance": balance.get().to_string(), "nonce": nonce.get() }))
    }

    fn outcome(receipt: &[u8]) -> String {
        match borsh::from_slice(receipt) {
            Ok(Receipt::Paid) => "paid".to_owned(),
            Ok(Receipt::Drawn { winner }) => format!("drawn: {}", hex::encode(winner.as_bytes())),
            Ok(Receipt::Unpaid) => "unpaid: the sender has too little".to_owned(),
            Ok(Receipt::Rejected(why)) => format!("rejected: {why}"),
            Err(_) => "unknown".to_owned(),
        }
    }
}
