//! Executing a block of EVM transactions, head and tail.
//!
//! With the feature `parallel`, signatures are verified and the named accounts are read on many threads. The
//! transactions of a part then run one after the other: `revm` runs one at a time. Of a block of 1000 transfers that
//! takes 4 to 5 ms of 90 to 100; contracts that compute much would gain more. Libraries that run transactions at once
//! on `revm` were looked at in November 2026:
//!
//! | library | release, licence | why not |
//! |---------|------------------|---------|
//! | `pevm`  | 0.1.0 of May 2024 in the registry, MIT | that release is empty; its repository builds on a fork of `revm` and calls itself not ready for production |
//! | `grevm` | 2.2.2, not in the registry, MIT or Apache-2.0 | builds on `revm` 40, three major versions behind this crate |
//!
//! A library of Block-STM for any executor was not found in the registry.
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::{
    Block, Execution, Executor, Header, Height, Part, Positioned, Randomness,
};
use prefinal_protocol::ChainId;
#[cfg(feature = "parallel")]
use rayon::prelude::*;
use revm::context::result::{EVMError, ExecutionResult};
use revm::context::{BlockEnv, CfgEnv, Context, ContextTr, TxEnv};
use revm::handler::MainnetEvm;
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, B256, TxKind, U256};
use revm::{ExecuteEvm, MainBuilder};

use super::envelope::{Envelope, SignedEnvelope, Target, address_of};
use super::guard::{Guard, GuardedContext, install};
use super::ledger::{EvmAccount, Ledger, account_key};
use crate::error::StateError;
use crate::node::Row;
use crate::proof::{StateKey, TransactionResult};
use crate::signatures::{self, Claim, Verdict};
use crate::view::{Delta, Finished, Pending, View};

/// What every party applies to every block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvmRules {
    /// The chain that transactions are signed for.
    pub chain: ChainId,
    /// What the instruction `CHAINID` gives.
    pub chain_number: u64,
    /// The price of gas, which is burnt.
    pub gas_price: u64,
    /// Gas that all transactions of a block together may be given.
    pub block_gas: u64,
    /// Gas that a transaction is given at least if it declares that it reads the slot's value.
    pub declared_gas: u64,
}

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum EvmReceipt {
    /// The called code ran to its end, and its changes stand.
    Succeeded {
        /// Gas that is paid.
        gas: u64,
        /// The address of the contract that it created.
        created: Option<[u8; 20]>,
        /// What the called code returned.
        output: Vec<u8>,
        /// The logs of all called contracts, in their order.
        logs: Vec<LogEntry>,
    },
    /// The called code undid what it had done.
    Reverted {
        /// Gas that is paid.
        gas: u64,
        /// What the called code said.
        output: Vec<u8>,
    },
    /// The called code failed, for example by running out of gas.
    Halted {
        /// Gas that is paid.
        gas: u64,
    },
    /// It reached `PREVRANDAO` where the value is not readable. Nothing else has happened.
    Forbidden {
        /// Gas that is paid: all that it was given.
        gas: u64,
    },
    /// The transaction was not executed, and the state is as it was.
    Rejected(EvmRejection),
}

/// A log of a contract.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct LogEntry {
    /// The address of the contract that logged.
    pub address: [u8; 20],
    /// What to search for.
    pub topics: Vec<[u8; 32]>,
    /// Any bytes that the contract logged with them.
    pub data: Vec<u8>,
}

/// Why a transaction changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum EvmRejection {
    /// The signature is not the sender's, or is for another chain.
    Signature,
    /// The block is higher than the transaction allows.
    Expired,
    /// The sender has executed another number of transactions.
    Nonce {
        /// The nonce that would be right.
        expected: u64,
    },
    /// The sender does not pay the price of gas.
    GasPrice,
    /// Declares that it reads the value, and gives less gas than such a transaction must.
    DeclaredGas,
    /// The transactions before leave less gas of the block than it wants.
    BlockGas,
    /// The sender has too little for the gas and what is sent along. In the tail all that it has sent there counts, and
    /// what it had before.
    Funds,
    /// The EVM does not admit it, for example because its gas does not suffice for its bytes.
    Unfit,
}

impl fmt::Display for EvmRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signature => "the signature is not the sender's for this chain",
            Self::Expired => "the block is higher than the transaction allows",
            Self::Nonce { expected } => return write!(f, "the sender's next nonce is {expected}"),
            Self::GasPrice => "the sender does not pay the price of gas",
            Self::DeclaredGas => {
                "it reads the value, and gives less gas than such a transaction must"
            }
            Self::BlockGas => "it wants more gas than a block has left",
            Self::Funds => "the sender has too little for the gas and what is sent along",
            Self::Unfit => "the EVM does not admit it",
        })
    }
}

/// Executes blocks of EVM transactions.
#[derive(Clone, Copy, Debug)]
pub struct Evm {
    rules: EvmRules,
}

/// A block of EVM transactions, executed in part.
#[derive(Debug)]
pub struct EvmDraft {
    pending: Pending,
    verdicts: Vec<Verdict>,
    receipts: BTreeMap<usize, EvmReceipt>,
    gas_left: u64,
}

/// What decides which transactions of a block are executed.
struct Door<'a> {
    header: Header,
    verdicts: &'a [Verdict],
    gas_left: &'a mut u64,
    means: BTreeMap<Address, Means>,
}

/// What a sender has left for its transactions.
#[derive(Clone, Copy, Debug)]
struct Means {
    nonce: u64,
    balance: U256,
}

impl Means {
    fn of(account: Option<EvmAccount>) -> Self {
        let nonce = account.map_or(0, |account| account.nonce);
        Self { nonce, balance: account.map_or(U256::ZERO, |account| account.balance) }
    }
}

type Machine<'a> = MainnetEvm<GuardedContext<Ledger<'a>>>;

impl Evm {
    /// The EVM under these rules.
    #[must_use]
    pub const fn new(rules: EvmRules) -> Self {
        Self { rules }
    }

    /// Why the transaction would be rejected in every block from this height on, on this state; `None` if nothing
    /// is known against it. A nonce that is ahead is nothing: other transactions of the sender may come first.
    /// Costs a signature's verification.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn check(
        &self,
        view: &View,
        height: Height,
        signed: &SignedEnvelope,
    ) -> Result<Option<EvmRejection>, StateError> {
        let envelope = signed.envelope();
        if signatures::verify(&[signed.claim(self.rules.chain)]).iter().any(Result::is_err) {
            return Ok(Some(EvmRejection::Signature));
        }
        let row = view.get(&account_key(&address_of(&envelope.key)))?;
        let account = EvmAccount::from_row(row.as_deref())?;
        let mut means = Means::of(account);
        if envelope.nonce.get() > means.nonce {
            // Before it is executed, others of the sender may come, and somebody may pay it.
            means = Means { nonce: envelope.nonce.get(), balance: U256::MAX };
        }
        Ok(self.objection(envelope, height, means, self.rules.block_gas))
    }

    /// What the rules have against a transaction of a sender with these means, of a block with so much gas left.
    fn objection(
        &self,
        envelope: &Envelope,
        height: Height,
        means: Means,
        gas_left: u64,
    ) -> Option<EvmRejection> {
        if height > envelope.expires {
            Some(EvmRejection::Expired)
        } else if envelope.nonce.get() != means.nonce {
            Some(EvmRejection::Nonce { expected: means.nonce })
        } else if envelope.most_gas_price < self.rules.gas_price {
            Some(EvmRejection::GasPrice)
        } else if envelope.declares && envelope.gas_limit < self.rules.declared_gas {
            Some(EvmRejection::DeclaredGas)
        } else if envelope.gas_limit > gas_left {
            Some(EvmRejection::BlockGas)
        } else {
            (means.balance < self.most_of(envelope)).then_some(EvmRejection::Funds)
        }
    }

    /// What a transaction takes of its sender at most.
    fn most_of(&self, envelope: &Envelope) -> U256 {
        self.price_of(envelope.gas_limit).saturating_add(envelope.value)
    }

    fn run(
        &self,
        draft: &mut EvmDraft,
        block: &Block<SignedEnvelope>,
        part: Part,
        value: Option<Randomness>,
    ) -> Result<(), StateError> {
        let value = value.map(|value| B256::new(value.to_bytes()));
        let EvmDraft { pending, verdicts, receipts, gas_left } = draft;
        let ledger = Ledger::new(pending, preload(pending, block, part)?);
        let mut machine = self.machine(ledger, &block.header);
        let mut door = Door { header: block.header, verdicts, gas_left, means: BTreeMap::new() };
        // Which of the tail are executed must not depend on the value: all are admitted before the first one runs.
        let mut admitted = BTreeMap::new();
        if part == Part::Tail {
            for one in block.part(part) {
                admitted.insert(one.position, self.admit(&mut door, &mut machine, &one)?);
            }
        }
        for one in block.part(part) {
            let admission = match admitted.get(&one.position) {
                Some(admission) => *admission,
                None => {
                    // Its sender has what those before it have left.
                    door.means.clear();
                    self.admit(&mut door, &mut machine, &one)?
                }
            };
            let receipt = match admission {
                Ok(()) => self.execute(&mut machine, one.transaction.envelope(), value)?,
                Err(rejection) => EvmReceipt::Rejected(rejection),
            };
            receipts.insert(one.position, receipt);
        }
        let changes = machine.ctx.journaled_state.database.into_changes()?;
        pending.apply(changes)
    }

    fn machine<'a>(&self, ledger: Ledger<'a>, header: &Header) -> Machine<'a> {
        let block = BlockEnv {
            number: U256::from(header.height.get()),
            // There is no clock that all parties agree on: the slot counts.
            timestamp: U256::from(header.slot.get()),
            gas_limit: self.rules.block_gas,
            basefee: self.rules.gas_price,
            // The value is given by the guard.
            prevrandao: Some(B256::ZERO),
            ..BlockEnv::default()
        };
        let mut config = CfgEnv::new_with_spec(SpecId::OSAKA);
        config.chain_id = self.rules.chain_number;
        let context: GuardedContext<Ledger<'a>> = Context::new(ledger, SpecId::OSAKA);
        let mut machine = context.with_block(block).with_cfg(config).build_mainnet();
        install(&mut machine.instruction);
        machine
    }

    /// What the rules ask of a transaction before the EVM sees it. What it may take of its sender's means and of the
    /// block's gas is set aside.
    fn admit(
        &self,
        door: &mut Door<'_>,
        machine: &mut Machine<'_>,
        one: &Positioned<'_, SignedEnvelope>,
    ) -> Result<Result<(), EvmRejection>, StateError> {
        if !matches!(door.verdicts.get(one.position), Some(Ok(()))) {
            return Ok(Err(EvmRejection::Signature));
        }
        let envelope = one.transaction.envelope();
        let sender = address_of(&envelope.key);
        let means = match door.means.entry(sender) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Means::of(machine.ctx.db_mut().account(&sender)?)),
        };
        if let Some(rejection) =
            self.objection(envelope, door.header.height, *means, *door.gas_left)
        {
            return Ok(Err(rejection));
        }
        means.balance = means.balance.saturating_sub(self.most_of(envelope));
        means.nonce = means.nonce.saturating_add(1);
        *door.gas_left = door.gas_left.saturating_sub(envelope.gas_limit);
        Ok(Ok(()))
    }

    fn execute(
        &self,
        machine: &mut Machine<'_>,
        envelope: &Envelope,
        value: Option<B256>,
    ) -> Result<EvmReceipt, StateError> {
        machine.ctx.chain = Guard::new(value);
        let transaction = TxEnv {
            caller: address_of(&envelope.key),
            gas_limit: envelope.gas_limit,
            gas_price: u128::from(self.rules.gas_price),
            kind: match envelope.target {
                Target::Call(address) => TxKind::Call(address),
                Target::Create => TxKind::Create,
            },
            value: envelope.value,
            data: envelope.input.clone(),
            nonce: envelope.nonce.get(),
            chain_id: Some(self.rules.chain_number),
            ..TxEnv::default()
        };
        match machine.transact(transaction) {
            Ok(done) => {
                let ledger = machine.ctx.db_mut();
                ledger.commit(&done.state);
                let receipt = receipt(done.result);
                ledger.burn(self.price_of(gas_of(&receipt)));
                Ok(receipt)
            }
            Err(EVMError::Database(error)) => Err(error.0),
            Err(EVMError::Transaction(_)) => Ok(EvmReceipt::Rejected(EvmRejection::Unfit)),
            Err(_) if machine.ctx.chain.is_violated() => self.punish(machine, envelope),
            Err(other) => Err(StateError::damaged(format!("the EVM failed: {other}"))),
        }
    }

    /// The sender pays all of its gas, and nothing else happens.
    fn punish(
        &self,
        machine: &mut Machine<'_>,
        envelope: &Envelope,
    ) -> Result<EvmReceipt, StateError> {
        let (address, gas) = (address_of(&envelope.key), envelope.gas_limit);
        let ledger = machine.ctx.db_mut();
        let account = ledger.account(&address)?;
        // The EVM has seen that the balance suffices.
        let paid = account.and_then(|mut account| {
            account.balance = account.balance.checked_sub(self.price_of(gas))?;
            account.nonce = account.nonce.checked_add(1)?;
            Some(account)
        });
        let paid = paid.ok_or_else(|| StateError::damaged("gas that was never there"))?;
        ledger.set_account(&address, &paid);
        ledger.burn(self.price_of(gas));
        Ok(EvmReceipt::Forbidden { gas })
    }

    fn price_of(&self, gas: u64) -> U256 {
        U256::from(self.rules.gas_price).saturating_mul(U256::from(gas))
    }
}

impl Executor for Evm {
    type Transaction = SignedEnvelope;
    type View = View;
    type Draft = EvmDraft;
    type Delta = Delta;
    type Error = StateError;

    fn head(&self, parent: &View, block: &Block<SignedEnvelope>) -> Result<EvmDraft, StateError> {
        // Those of the tail too: it runs when others wait for it.
        let claims: Vec<Claim> =
            block.transactions().iter().map(|one| one.claim(self.rules.chain)).collect();
        let mut draft = EvmDraft {
            pending: Pending::of(parent, block)?,
            verdicts: signatures::verify(&claims),
            receipts: BTreeMap::new(),
            gas_left: self.rules.block_gas,
        };
        self.run(&mut draft, block, Part::Head, None)?;
        Ok(draft)
    }

    fn tail(
        &self,
        mut draft: EvmDraft,
        block: &Block<SignedEnvelope>,
        value: Randomness,
    ) -> Result<EvmDraft, StateError> {
        self.run(&mut draft, block, Part::Tail, Some(value))?;
        Ok(draft)
    }

    fn seal(
        &self,
        mut draft: EvmDraft,
        block: &Block<SignedEnvelope>,
    ) -> Result<Execution<Self>, StateError> {
        let unexecuted = || StateError::damaged("a block that was sealed before its tail");
        let mut results = Vec::with_capacity(block.transactions().len());
        for (position, transaction) in block.transactions().iter().enumerate() {
            let receipt = draft.receipts.remove(&position).ok_or_else(unexecuted)?;
            let receipt = borsh::to_vec(&receipt).map_err(|_| unexecuted())?;
            results.push(TransactionResult { transaction: transaction.hash(), receipt });
        }
        let Finished { roots, view, delta } = draft.pending.finish(&block.header, results)?;
        Ok(Execution { roots, view, delta })
    }
}

/// Reads the accounts that the transactions name, on many threads.
fn preload(
    pending: &Pending,
    block: &Block<SignedEnvelope>,
    part: Part,
) -> Result<BTreeMap<StateKey, Option<Row>>, StateError> {
    let mut named = BTreeSet::new();
    for one in block.part(part) {
        let envelope = one.transaction.envelope();
        named.insert(address_of(&envelope.key));
        if let Target::Call(address) = envelope.target {
            named.insert(address);
        }
    }
    let named: Vec<_> = named.into_iter().collect();
    #[cfg(feature = "parallel")]
    let named = named.into_par_iter();
    #[cfg(not(feature = "parallel"))]
    let named = named.into_iter();
    let rows = named.map(|address| {
        let key = account_key(&address);
        Ok((key, pending.get(&key)?))
    });
    rows.collect()
}

fn receipt(result: ExecutionResult) -> EvmReceipt {
    let gas = result.tx_gas_used();
    match result {
        ExecutionResult::Success { output, logs, .. } => EvmReceipt::Succeeded {
            gas,
            created: output.address().map(|address| address.into_array()),
            output: output.into_data().to_vec(),
            logs: logs
                .into_iter()
                .map(|log| LogEntry {
                    address: log.address.into_array(),
                    topics: log.data.topics().iter().map(|topic| topic.0).collect(),
                    data: log.data.data.to_vec(),
                })
                .collect(),
        },
        ExecutionResult::Revert { output, .. } => {
            EvmReceipt::Reverted { gas, output: output.to_vec() }
        }
        ExecutionResult::Halt { .. } => EvmReceipt::Halted { gas },
    }
}

const fn gas_of(receipt: &EvmReceipt) -> u64 {
    match receipt {
        EvmReceipt::Succeeded { gas, .. }
        | EvmReceipt::Reverted { gas, .. }
        | EvmReceipt::Halted { gas }
        | EvmReceipt::Forbidden { gas } => *gas,
        EvmReceipt::Rejected(_) => 0,
    }
}
