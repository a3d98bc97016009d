//! The EVM on a devnet: a contract of the genesis that reads the slot's value, and calls of it as the load.
use std::collections::BTreeMap;

use prefinal_execution::Height;
use prefinal_protocol::ChainId;
use prefinal_state::evm::{
    Address, Bytes, EVM_MOST_BYTES, Envelope, Evm, EvmAccount, EvmReceipt, EvmRules,
    SignedEnvelope, Target, U256, account_key, address_of, contract_rows, genesis_rows,
};
use prefinal_state::proof::StateKey;
use prefinal_state::transfers::Nonce;
use prefinal_state::{Row, StateError, View};
use serde_json::{Value as Json, json};

use super::executor::{Accounts, NamedExecutor, Order, PATIENCE};

/// Stores the slot's value under its caller: `PREVRANDAO`, `CALLER`, `SSTORE`, `STOP`.
const CODE: [u8; 4] = [0x44, 0x33, 0x55, 0x00];
const CONTRACT: Address = Address::new([0xc0; 20]);

/// What each account has in the genesis.
const FUNDS: u64 = 1_000_000_000_000_000_000;
const CHAIN_NUMBER: u64 = 1337;
const GAS_PRICE: u64 = 1;
const BLOCK_GAS: u64 = 1_000_000_000;
const DECLARED_GAS: u64 = 100_000;

impl NamedExecutor for Evm {
    const NAME: &'static str = "EVM";
    const MOST_BYTES: usize = EVM_MOST_BYTES;

    fn new(chain: ChainId) -> Self {
        Self::new(EvmRules {
            chain,
            chain_number: CHAIN_NUMBER,
            gas_price: GAS_PRICE,
            block_gas: BLOCK_GAS,
            declared_gas: DECLARED_GAS,
        })
    }

    fn genesis(accounts: &Accounts) -> Result<BTreeMap<StateKey, Row>, String> {
        let keys = (0..accounts.count()).filter_map(|one| accounts.public(one));
        let balances = keys.map(|key| (address_of(&key), U256::from(FUNDS))).collect();
        let mut rows = genesis_rows(&balances);
        rows.extend(contract_rows(&CONTRACT, &CODE));
        Ok(rows)
    }

    fn decode(bytes: &[u8]) -> Result<SignedEnvelope, String> {
        SignedEnvelope::decode(bytes).map_err(|error| error.to_string())
    }

    fn hash(transaction: &SignedEnvelope) -> [u8; 32] {
        transaction.hash()
    }

    fn objection(
        &self,
        view: &View,
        next: Height,
        transaction: &SignedEnvelope,
    ) -> Result<Option<String>, StateError> {
        Ok(self.check(view, next, transaction)?.map(|rejection| rejection.to_string()))
    }

    fn expires(transaction: &SignedEnvelope) -> Height {
        transaction.envelope().expires
    }

    /// A call of the contract.
    fn make(accounts: &Accounts, order: Order) -> Option<SignedEnvelope> {
        let Order { chain, account, nonce, height } = order;
        let envelope = Envelope {
            declares: true,
            key: accounts.public(account)?,
            nonce: Nonce::new(nonce),
            expires: height.after(PATIENCE),
            gas_limit: DECLARED_GAS,
            most_gas_price: GAS_PRICE,
            value: U256::ZERO,
            target: Target::Call(CONTRACT),
            input: Bytes::new(),
        };
        envelope.sign(chain, accounts.keys().get(account)?).ok()
    }

    fn nonce(accounts: &Accounts, account: usize, view: &View) -> Result<u64, StateError> {
        let Some(key) = accounts.public(account) else { return Ok(0) };
        let row = view.get(&account_key(&address_of(&key)))?;
        Ok(EvmAccount::from_row(row.as_deref())?.map_or(0, |account| account.nonce))
    }

    fn account(name: &[u8]) -> Option<StateKey> {
        Some(account_key(&Address::new(name.try_into().ok()?)))
    }

    fn about(row: Option<&[u8]>) -> Result<Json, StateError> {
        let account = EvmAccount::from_row(row)?;
        let balance = account.map_or(U256::ZERO, |account| account.balance);
        let nonce = account.map_or(0, |account| account.nonce);
        Ok(json!({ "balance": balance.to_string(), "nonce": nonce }))
    }

    fn outcome(receipt: &[u8]) -> String {
        match borsh::from_slice(receipt) {
            Ok(EvmReceipt::Succeeded { gas, .. }) => format!("succeeded: {gas} gas"),
            Ok(EvmReceipt::Reverted { gas, .. }) => format!("reverted: {gas} gas"),
            Ok(EvmReceipt::Halted { gas }) => format!("halted: {gas} gas"),
            Ok(EvmReceipt::Forbidden { gas }) => {
                format!("it reads the value where it may not: {gas} gas")
            }
            Ok(EvmReceipt::Rejected(why)) => format!("rejected: {why}"),
            Err(_) => "unknown".to_owned(),
        }
    }
}
