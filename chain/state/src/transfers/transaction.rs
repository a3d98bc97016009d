//! Signed transfers, as 300 bytes.
//!
//! | bytes    | field                                                                          |
//! |----------|--------------------------------------------------------------------------------|
//! | 0        | kind: 0 pays, 1 draws the receiver                                             |
//! | 1..33    | sender: the public key                                                         |
//! | 33..41   | nonce                                                                          |
//! | 41..49   | the last height at which it is valid                                           |
//! | 49..57   | fee                                                                            |
//! | 57..65   | amount                                                                         |
//! | 65..236  | pays: receiver (32), then anything; draws: 1 to 5, so many candidates, zeros    |
//! | 236..300 | Ed25519 signature on SHA-256(tag ‖ chain ‖ bytes 0..236)                       |
//!
//! Integers are big-endian. There is one encoding of each transaction.
use std::fmt;
use std::sync::Arc;

use ed25519_consensus::SigningKey;
use prefinal_execution::{Height, Part, Transaction};
use prefinal_protocol::ChainId;

use crate::account::{AccountId, Amount, Nonce};
use crate::proof::sha256;
use crate::signatures::Claim;
use crate::store::StoredTransaction;

/// Length of an encoded transfer.
pub const TRANSFER_BYTES: usize = 300;
const SIGNED: usize = 236;
const BODY: usize = 171;
const MOST_CANDIDATES: usize = 5;

/// Accounts of which one is drawn: 1 to 5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates(Vec<AccountId>);

/// Too few candidates, or more than a transfer has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got} candidates, 1 to {MOST_CANDIDATES} are possible")]
pub struct CandidateError {
    /// The number of candidates.
    pub got: usize,
}

/// What a transfer does, beside paying its fee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Pays the amount to one account.
    Pay {
        /// Who receives the amount.
        to: AccountId,
    },
    /// Pays one of the candidates, drawn by the slot's value. Declares that it reads the value.
    Draw(Candidates),
}

/// What the sender signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The account that pays and signs.
    pub sender: AccountId,
    /// How many transactions of the sender come before.
    pub nonce: Nonce,
    /// The last height of a block in which it is valid.
    pub expires: Height,
    /// What the sender pays for the execution. It is burnt.
    pub fee: Amount,
    /// What the receiver gets.
    pub amount: Amount,
    /// Whether one account is paid, or one of several is drawn.
    pub action: Action,
}

/// A transfer with its signature, decoded. The signature is not verified: executing does that.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedTransfer {
    transfer: Arc<Transfer>,
    bytes: Arc<[u8; TRANSFER_BYTES]>,
}

/// Why bytes are not a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// There are more or fewer bytes than a transfer has.
    #[error("{got} bytes, a transfer has {TRANSFER_BYTES}")]
    Length {
        /// The number of bytes.
        got: usize,
    },
    /// The first byte names no kind of transfer.
    #[error("kind {got} of a transfer, there are 0 and 1")]
    Kind {
        /// The byte that should name the kind.
        got: u8,
    },
    /// Too few candidates, or too many.
    #[error(transparent)]
    Candidates(#[from] CandidateError),
    /// Something stands behind the candidates.
    #[error("bytes behind the candidates are not 0")]
    Padding,
}

impl CandidateError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "wrong-count"
    }
}

impl TransferError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "wrong-length",
            Self::Kind { .. } => "unknown-kind",
            Self::Candidates(error) => error.code(),
            Self::Padding => "not-canonical",
        }
    }
}

impl Candidates {
    /// Accounts of which one is drawn. One that is named twice has two chances.
    ///
    /// # Errors
    /// If there are none, or more than 5.
    pub fn new(accounts: &[AccountId]) -> Result<Self, CandidateError> {
        match accounts.len() {
            1..=MOST_CANDIDATES => Ok(Self(accounts.to_vec())),
            got => Err(CandidateError { got }),
        }
    }

    /// The candidates, in their order.
    #[must_use]
    pub fn accounts(&self) -> &[AccountId] {
        &self.0
    }

    /// The candidate that this digest draws. The chances are equal up to 2⁻¹²⁵.
    pub(super) fn drawn(&self, digest: &[u8; 32]) -> Option<AccountId> {
        let (half, _) = digest.split_first_chunk::<16>()?;
        let count = u128::try_from(self.0.len()).ok()?;
        let number = u128::from_be_bytes(*half).checked_rem(count)?;
        self.0.get(usize::try_from(number).ok()?).copied()
    }
}

impl Transfer {
    /// Signs the transfer for one chain. What a payment does not need of the 300 bytes is 0.
    #[must_use]
    pub fn sign(self, chain: ChainId, key: &SigningKey) -> SignedTransfer {
        let mut signed = Vec::with_capacity(TRANSFER_BYTES);
        signed.push(match self.action {
            Action::Pay { .. } => 0,
            Action::Draw(_) => 1,
        });
        signed.extend(self.sender.as_bytes());
        for number in [self.nonce.get(), self.expires.get(), self.fee.get(), self.amount.get()] {
            signed.extend(number.to_be_bytes());
        }
        match &self.action {
            Action::Pay { to } => signed.extend(to.as_bytes()),
            Action::Draw(candidates) => {
                signed.extend(u8::try_from(candidates.0.len()));
                signed.extend(candidates.0.iter().flat_map(AccountId::as_bytes));
            }
        }
        let mut bytes = [0; TRANSFER_BYTES];
        for (place, byte) in bytes.iter_mut().zip(signed) {
            *place = byte;
        }
        let signature = key.sign(&signed_digest(chain, &bytes)).to_bytes();
        for (place, byte) in bytes.iter_mut().skip(SIGNED).zip(signature) {
            *place = byte;
        }
        SignedTransfer { transfer: Arc::new(self), bytes: Arc::new(bytes) }
    }
}

fn signed_digest(chain: ChainId, bytes: &[u8; TRANSFER_BYTES]) -> [u8; 32] {
    let signed = bytes.get(..SIGNED).unwrap_or(bytes);
    sha256(&[b"prefinal/state/v1/transfer", chain.as_bytes(), signed])
}

impl SignedTransfer {
    /// Decodes a transfer. The signature is not verified.
    ///
    /// # Errors
    /// If the bytes are not the one encoding of a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let length = TransferError::Length { got: bytes.len() };
        let bytes: [u8; TRANSFER_BYTES] = bytes.try_into().map_err(|_| length)?;
        let mut rest = bytes.as_slice();
        let [kind] = take(&mut rest).ok_or(length)?;
        let sender = AccountId::new(take(&mut rest).ok_or(length)?);
        let mut number = || Some(u64::from_be_bytes(take(&mut rest)?));
        let nonce = Nonce::new(number().ok_or(length)?);
        let expires = Height::new(number().ok_or(length)?);
        let fee = Amount::new(number().ok_or(length)?);
        let amount = Amount::new(number().ok_or(length)?);
        let body: [u8; BODY] = take(&mut rest).ok_or(length)?;
        let mut body = body.as_slice();
        let action = match kind {
            0 => Action::Pay { to: AccountId::new(take(&mut body).ok_or(length)?) },
            1 => Action::Draw(decode_candidates(body)?),
            got => return Err(TransferError::Kind { got }),
        };
        let transfer = Transfer { sender, nonce, expires, fee, amount, action };
        Ok(Self { transfer: Arc::new(transfer), bytes: Arc::new(bytes) })
    }

    /// What the sender signs.
    #[must_use]
    pub fn transfer(&self) -> &Transfer {
        &self.transfer
    }

    /// The 300 bytes that were sent, with the signature.
    #[must_use]
    pub fn bytes(&self) -> &[u8; TRANSFER_BYTES] {
        &self.bytes
    }

    /// The transaction's hash: SHA-256 of its bytes.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        sha256(&[self.bytes.as_slice()])
    }

    /// What has to be verified, for this chain.
    pub(super) fn claim(&self, chain: ChainId) -> Claim {
        let signature = self.bytes.last_chunk::<64>();
        Claim {
            key: *self.transfer.sender.as_bytes(),
            digest: signed_digest(chain, &self.bytes),
            signature: signature.copied().unwrap_or([0; 64]),
        }
    }
}

fn decode_candidates(mut body: &[u8]) -> Result<Candidates, TransferError> {
    let [count] = take(&mut body).unwrap_or([0]);
    let count = usize::from(count);
    if count > MOST_CANDIDATES {
        return Err(CandidateError { got: count }.into());
    }
    let accounts: Vec<AccountId> =
        (0..count).filter_map(|_| take(&mut body).map(AccountId::new)).collect();
    if body.iter().any(|byte| *byte != 0) {
        return Err(TransferError::Padding);
    }
    Ok(Candidates::new(&accounts)?)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

impl Transaction for SignedTransfer {
    fn encoded_len(&self) -> usize {
        TRANSFER_BYTES
    }

    fn part(&self) -> Part {
        match self.transfer.action {
            Action::Pay { .. } => Part::Head,
            Action::Draw(_) => Part::Tail,
        }
    }
}

impl StoredTransaction for SignedTransfer {
    fn to_bytes(&self) -> Vec<u8> {
        self.bytes.to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::decode(bytes).ok()
    }
}

impl fmt::Debug for SignedTransfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.transfer.fmt(f)
    }
}
