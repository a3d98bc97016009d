//! Executing a block of transfers, head and tail.
//!
//! With the feature `parallel`, signatures are verified and accounts are read on many threads. The money is then
//! moved by one thread, in block order. That takes 0.7 ms of the 80 to 100 ms of processor time that a block of 1000
//! transfers takes, so moving the money of disjoint accounts at once, with `rayon` or a scheduler like Block-STM,
//! would save less than a hundredth.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::{Block, Execution, Executor, Height, Part, Randomness};
use prefinal_protocol::ChainId;
#[cfg(feature = "parallel")]
use rayon::prelude::*;

use super::supply::{burnt_from_row, burnt_key, burnt_to_row};
use super::transaction::{Action, SignedTransfer, Transfer};
use crate::account::{Account, AccountId, Amount, Nonce};
use crate::error::StateError;
use crate::proof::{StateKey, TransactionResult, sha256};
use crate::signatures::{self, Claim, Verdict};
use crate::tree::Changes;
use crate::view::{Delta, Finished, Pending, View};

/// What became of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Receipt {
    /// The receiver has the amount, the fee is burnt.
    Paid,
    /// This candidate has the amount, the fee is burnt.
    Drawn {
        /// The candidate that was drawn.
        winner: AccountId,
    },
    /// The sender has too little for the amount: the fee is burnt, the nonce is used, and nobody is paid.
    Unpaid,
    /// The transfer was not executed, and the state is as it was.
    Rejected(Rejection),
}

/// Why a transfer changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Rejection {
    /// The signature is not the sender's, or is for another chain.
    Signature,
    /// The block is higher than the transfer allows.
    Expired,
    /// The sender has executed another number of transactions.
    Nonce {
        /// The nonce that would be right.
        expected: Nonce,
    },
    /// The sender has too little for the fee.
    Fee {
        /// What the sender has.
        balance: Amount,
    },
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signature => f.write_str("the signature is not the sender's for this chain"),
            Self::Expired => f.write_str("the block is higher than the transfer allows"),
            Self::Nonce { expected } => write!(f, "the sender's next nonce is {}", expected.get()),
            Self::Fee { balance } => {
                write!(f, "the sender has {}, too little for the fee", balance.get())
            }
        }
    }
}

/// Executes blocks of transfers, for one chain.
#[derive(Clone, Copy, Debug)]
pub struct Transfers {
    chain: ChainId,
}

/// A block of transfers, executed in part.
#[derive(Debug)]
pub struct TransferDraft {
    pending: Pending,
    verdicts: Vec<Verdict>,
    receipts: BTreeMap<usize, Receipt>,
}

impl Transfers {
    /// Transfers that are signed for this chain.
    #[must_use]
    pub const fn new(chain: ChainId) -> Self {
        Self { chain }
    }

    /// Why the transfer would be rejected in every block from this height on, on this state; `None` if nothing is
    /// known against it. A nonce that is ahead is nothing: other transfers of the sender may come first. Costs a
    /// signature's verification.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn check(
        &self,
        view: &View,
        height: Height,
        signed: &SignedTransfer,
    ) -> Result<Option<Rejection>, StateError> {
        let Transfer { sender, nonce, expires, fee, .. } = *signed.transfer();
        if signatures::verify(&[signed.claim(self.chain)]).iter().any(Result::is_err) {
            return Ok(Some(Rejection::Signature));
        }
        if height > expires {
            return Ok(Some(Rejection::Expired));
        }
        let Account { balance, nonce: expected } =
            Account::from_row(view.get(&sender.key())?.as_deref())?;
        if nonce < expected {
            return Ok(Some(Rejection::Nonce { expected }));
        }
        // Before it is executed, somebody may pay the sender.
        let is_poor = nonce == expected && balance.minus(fee).is_none();
        Ok(is_poor.then_some(Rejection::Fee { balance }))
    }

    fn run(
        draft: &mut TransferDraft,
        block: &Block<SignedTransfer>,
        part: Part,
        value: Option<Randomness>,
    ) -> Result<(), StateError> {
        let mut ledger = Ledger::load(&draft.pending, block, part)?;
        for one in block.part(part) {
            let signed = draft.verdicts.get(one.position).copied();
            let receipt = match signed {
                Some(Ok(())) => {
                    let rejected =
                        ledger.execute(one.transaction, block.header.height, value.as_ref());
                    rejected.unwrap_or_else(Receipt::Rejected)
                }
                _ => Receipt::Rejected(Rejection::Signature),
            };
            draft.receipts.insert(one.position, receipt);
        }
        let changes = ledger.into_changes(&draft.pending)?;
        draft.pending.apply(changes)
    }
}

impl Executor for Transfers {
    type Transaction = SignedTransfer;
    type View = View;
    type Draft = TransferDraft;
    type Delta = Delta;
    type Error = StateError;

    fn head(
        &self,
        parent: &View,
        block: &Block<SignedTransfer>,
    ) -> Result<TransferDraft, StateError> {
        // Those of the tail too: it runs when others wait for it.
        let claims: Vec<Claim> =
            block.transactions().iter().map(|one| one.claim(self.chain)).collect();
        let mut draft = TransferDraft {
            pending: Pending::of(parent, block)?,
            verdicts: signatures::verify(&claims),
            receipts: BTreeMap::new(),
        };
        Self::run(&mut draft, block, Part::Head, None)?;
        Ok(draft)
    }

    fn tail(
        &self,
        mut draft: TransferDraft,
        block: &Block<SignedTransfer>,
        value: Randomness,
    ) -> Result<TransferDraft, StateError> {
        Self::run(&mut draft, block, Part::Tail, Some(value))?;
        Ok(draft)
    }

    fn seal(
        &self,
        draft: TransferDraft,
        block: &Block<SignedTransfer>,
    ) -> Result<Execution<Self>, StateError> {
        let unexecuted = || StateError::damaged("a block that was sealed before its tail");
        let mut results = Vec::with_capacity(block.transactions().len());
        for (position, transaction) in block.transactions().iter().enumerate() {
            let receipt = draft.receipts.get(&position).ok_or_else(unexecuted)?;
            let receipt = borsh::to_vec(receipt).map_err(|_| unexecuted())?;
            results.push(TransactionResult { transaction: transaction.hash(), receipt });
        }
        let Finished { roots, view, delta } = draft.pending.finish(&block.header, results)?;
        Ok(Execution { roots, view, delta })
    }
}

/// The accounts that a part of a block may touch.
struct Ledger {
    accounts: BTreeMap<AccountId, Entry>,
    burnt: Amount,
}

struct Entry {
    key: StateKey,
    before: Account,
    now: Account,
}

impl Ledger {
    fn load(
        pending: &Pending,
        block: &Block<SignedTransfer>,
        part: Part,
    ) -> Result<Self, StateError> {
        let touched = block.part(part).map(|one| one.transaction.transfer());
        let touched: BTreeSet<AccountId> = touched.flat_map(accounts_of).collect();
        let touched: Vec<AccountId> = touched.into_iter().collect();
        #[cfg(feature = "parallel")]
        let touched = touched.into_par_iter();
        #[cfg(not(feature = "parallel"))]
        let touched = touched.into_iter();
        let read = touched.map(|id| {
            let key = id.key();
            let before = Account::from_row(pending.get(&key)?.as_deref())?;
            Ok((id, Entry { key, before, now: before }))
        });
        let accounts: Result<Vec<(AccountId, Entry)>, StateError> = read.collect();
        Ok(Self { accounts: accounts?.into_iter().collect(), burnt: Amount::new(0) })
    }

    fn execute(
        &mut self,
        signed: &SignedTransfer,
        height: Height,
        value: Option<&Randomness>,
    ) -> Result<Receipt, Rejection> {
        let Transfer { sender, nonce, expires, fee, amount, .. } = *signed.transfer();
        if height > expires {
            return Err(Rejection::Expired);
        }
        let account = self.account(&sender);
        let (balance, expected) = (account.balance, account.nonce);
        let next = nonce.next().filter(|_| nonce == expected);
        let next = next.ok_or(Rejection::Nonce { expected })?;
        let rest = balance.minus(fee).ok_or(Rejection::Fee { balance })?;
        // The genesis has no more than fits.
        let burnt = self.burnt.plus(fee).ok_or(Rejection::Fee { balance })?;
        let (to, receipt) = match (&signed.transfer().action, value) {
            (Action::Pay { to }, _) => (Some(*to), Receipt::Paid),
            (Action::Draw(candidates), Some(value)) => {
                let winner = candidates.drawn(&draw(value, signed));
                (winner, winner.map_or(Receipt::Unpaid, |winner| Receipt::Drawn { winner }))
            }
            (Action::Draw(_), None) => (None, Receipt::Unpaid),
        };
        self.burnt = burnt;
        self.set(sender, Account { balance: rest, nonce: next });
        let (Some(to), Some(rest)) = (to, rest.minus(amount)) else { return Ok(Receipt::Unpaid) };
        self.set(sender, Account { balance: rest, nonce: next });
        let receiver = self.account(&to);
        match receiver.balance.plus(amount) {
            Some(balance) => {
                self.set(to, Account { balance, ..receiver });
                Ok(receipt)
            }
            None => {
                let balance = rest.plus(amount).unwrap_or(rest);
                self.set(sender, Account { balance, nonce: next });
                Ok(Receipt::Unpaid)
            }
        }
    }

    fn account(&self, id: &AccountId) -> Account {
        self.accounts.get(id).map_or_else(Account::default, |entry| entry.now)
    }

    fn set(&mut self, id: AccountId, account: Account) {
        if let Some(entry) = self.accounts.get_mut(&id) {
            entry.now = account;
        }
    }

    fn into_changes(self, pending: &Pending) -> Result<Changes, StateError> {
        let changed = self.accounts.into_values().filter(|entry| entry.now != entry.before);
        let mut changes: Changes =
            changed.map(|entry| (entry.key, Some(entry.now.to_row()))).collect();
        if self.burnt.get() > 0 {
            let before = burnt_from_row(pending.get(&burnt_key())?.as_deref())?;
            let burnt = before.plus(self.burnt);
            let burnt = burnt.ok_or_else(|| StateError::damaged("more money than there is"))?;
            changes.insert(burnt_key(), Some(burnt_to_row(burnt)));
        }
        Ok(changes)
    }
}

fn accounts_of(transfer: &Transfer) -> Vec<AccountId> {
    let mut accounts = vec![transfer.sender];
    match &transfer.action {
        Action::Pay { to } => accounts.push(*to),
        Action::Draw(candidates) => accounts.extend(candidates.accounts()),
    }
    accounts
}

/// What a transfer draws by. Transfers of one block draw independently of each other.
fn draw(value: &Randomness, signed: &SignedTransfer) -> [u8; 32] {
    sha256(&[b"prefinal/state/v1/draw", &value.to_bytes(), &signed.hash()])
}
