//! Transfers: payments between accounts, and payments whose receiver is drawn by the slot's value.
//!
//! An account is an Ed25519 public key, with a balance and a nonce. What a transaction may do, checked in this
//! order:
//!
//! | check                                             | otherwise                                     |
//! |---------------------------------------------------|-----------------------------------------------|
//! | the signature is the sender's, for this chain     | [`Rejection::Signature`], nothing changes     |
//! | the block's height is at most `expires`           | [`Rejection::Expired`], nothing changes       |
//! | its nonce is the sender's                         | [`Rejection::Nonce`], nothing changes         |
//! | the balance suffices for the fee                  | [`Rejection::Fee`], nothing changes           |
//! | the balance suffices for fee and amount           | [`Receipt::Unpaid`]: the fee is burnt, the nonce used |
//!
//! **Fees are burnt**, not paid to the proposer: a proposer's account would be written by every transaction,
//! and none would be independent of another. How much is burnt stands in a row of its own ([`burnt_key`]), so
//! the sum of all balances and this row never changes.
//!
//! **Two parts.** A [`Action::Draw`] declares that it reads the random value: it is executed in the tail of its
//! block, behind all other transactions. A sender that has both kinds in one block numbers them in this
//! order. A draw always pays: there is nothing that its sender could do once it knows the value.
//!
//! **Threads.** Signatures are verified, and accounts read, on the caller's rayon pool (feature `parallel`).
//! The payments themselves run one after the other, on accounts that are in memory by then. Whether running disjoint
//! accounts at once would gain anything is not measured yet (`benches/state.rs`).
mod execute;
mod supply;
mod transaction;

pub use self::execute::{Receipt, Rejection, TransferDraft, Transfers};
pub use self::supply::{SupplyError, burnt_key, genesis_rows};
pub use self::transaction::{
    Action, CandidateError, Candidates, SignedTransfer, TRANSFER_BYTES, Transfer, TransferError,
};
pub use crate::account::{Account, AccountError, AccountId, Amount, Nonce};
