//! The Ethereum Virtual Machine, by [`revm`](https://github.com/bluealloy/revm), with the slot's value as `PREVRANDAO`.
//!
//! A transaction *declares* in its signed envelope whether it reads the value ([`Envelope::declares`]). Those that
//! do not are executed in the head of their block, before the value exists; those that do in the tail.
//!
//! **Test and abort.** Somebody who sees the value must not be able to undo what depends on it, for then it would
//! try again in the next slot until it likes the value. What holds here:
//!
//! | attempt | what happens |
//! |---------|--------------|
//! | a transaction that does not declare reaches `PREVRANDAO`, in any call | the *whole* transaction fails, whatever its code does about failed calls, and pays all of its gas: [`EvmReceipt::Forbidden`] |
//! | a contract calls one that reads the value, looks at the result, and reverts | the same: the value is readable only in the frame that the transaction itself calls, in which nobody stands above the reader |
//! | the same by `DELEGATECALL`, or by calling back | the same, for both are further frames |
//! | the sender gives so little gas that only the outcome it likes can be paid | a transaction that declares gives at least [`EvmRules::declared_gas`], so a contract whose outcomes all take less cannot be starved |
//! | the sender has so little that its transaction is paid only after an outcome it likes: another transaction of the same tail gives it the money, or takes it away | which transactions of a tail are executed is decided before the first of them runs: a sender must have enough for all of its transactions in the tail by then |
//! | a contract of the attacker reads the value itself, and bets on it elsewhere in the same tail | cannot be excluded here; **contracts must close bets in a block before the one whose value decides** |
//!
//! So a contract may draw by `PREVRANDAO` safely if the function that draws (1) is called by transactions directly,
//! (2) decides what was fixed in an earlier block, (3) takes less than [`EvmRules::declared_gas`] whatever the outcome,
//! and (4) does not hand control to others before the outcome is stored. Its own revert is its author's decision.
//! Contracts that want the value deeper get it as an argument.
//!
//! **Fees** are burnt: every transaction pays [`EvmRules::gas_price`], and nobody receives it.
//!
//! **State.** Accounts, storage and code are rows of the same tree as all others:
//!
//! | row     | name under its kind | value                               |
//! |---------|---------------------|-------------------------------------|
//! | account | address             | nonce (8) ‖ balance (32) ‖ code hash (32) |
//! | storage | address ‖ slot      | 32 bytes, none for 0                |
//! | code    | code hash           | the code                            |
//! | burnt   |                     | sum of all gas paid, 32 bytes       |
mod envelope;
mod execute;
mod guard;
mod ledger;

pub use self::envelope::{
    EVM_MOST_BYTES, Envelope, EnvelopeError, SignedEnvelope, Target, address_of,
};
pub use self::execute::{Evm, EvmDraft, EvmReceipt, EvmRejection, EvmRules, LogEntry};
pub use self::ledger::{
    EvmAccount, account_key, code_key, contract_rows, evm_burnt_key, genesis_rows, storage_key,
};
pub use revm::primitives::{Address, B256, Bytes, U256};
