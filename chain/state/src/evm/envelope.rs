//! Signed transactions of the EVM.
//!
//! | bytes     | field                                                                 |
//! |-----------|-----------------------------------------------------------------------|
//! | 0         | 1 if it declares that it reads the slot's value, else 0                |
//! | 1..33     | public key of the sender; its address is the end of Keccak-256 of it   |
//! | 33..41    | nonce                                                                 |
//! | 41..49    | the last height at which it is valid                                  |
//! | 49..57    | gas limit                                                             |
//! | 57..65    | the highest gas price that the sender pays                            |
//! | 65..97    | what is sent along                                                    |
//! | 97        | 1 calls an address, 0 creates a contract                              |
//! | 98..118   | the address, zeros if there is none                                   |
//! | 118..n−64 | input, or the code that creates                                       |
//! | n−64..n   | Ed25519 signature on SHA-256(tag ‖ chain ‖ bytes 0..n−64)              |
//!
//! Integers are big-endian. There is one encoding of each transaction.
use std::fmt;
use std::sync::Arc;

use ed25519_consensus::SigningKey;
use prefinal_execution::{Height, Part, Transaction};
use prefinal_protocol::ChainId;
use revm::primitives::{Address, Bytes, U256, keccak256};

use crate::proof::sha256;
use crate::signatures::Claim;
use crate::store::StoredTransaction;
use crate::transfers::Nonce;

/// The longest encoded transaction.
pub const EVM_MOST_BYTES: usize = 128 << 10;
const HEAD: usize = 118;
const SIGNATURE: usize = 64;

/// What a transaction calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The code of an address, or nothing if it has none.
    Call(Address),
    /// The input, whose result becomes the code of a new contract.
    Create,
}

/// What the sender signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Whether it reads the slot's value: it is executed in the tail of its block.
    pub declares: bool,
    /// The public key that signs.
    pub key: [u8; 32],
    /// How many transactions of the sender come before.
    pub nonce: Nonce,
    /// The last height of a block in which it is valid.
    pub expires: Height,
    /// The most gas that it may take.
    pub gas_limit: u64,
    /// The highest price of gas that the sender pays.
    pub most_gas_price: u64,
    /// What is sent along.
    pub value: U256,
    /// The contract that is called, or a creation.
    pub target: Target,
    /// What the called code reads.
    pub input: Bytes,
}

/// A transaction with its signature, decoded. The signature is not verified: executing does that.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedEnvelope {
    envelope: Arc<Envelope>,
    bytes: Arc<[u8]>,
}

/// Why bytes are not a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// Shorter or longer than any.
    #[error("{got} bytes, a transaction has {} to {EVM_MOST_BYTES}", HEAD + SIGNATURE)]
    Length {
        /// The number of bytes.
        got: usize,
    },
    /// A mark that is neither 0 nor 1.
    #[error("byte {at} is {got}, not 0 or 1")]
    Mark {
        /// The position of the byte in the transaction.
        at: usize,
        /// The byte that stands there.
        got: u8,
    },
    /// A creation that has an address.
    #[error("a creation with an address")]
    Address,
}

impl EnvelopeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "wrong-length",
            Self::Mark { .. } => "invalid-value",
            Self::Address => "not-canonical",
        }
    }
}

/// The address of an account, by the public key that signs for it.
#[must_use]
pub fn address_of(key: &[u8; 32]) -> Address {
    Address::from_slice(keccak256(key).get(12..).unwrap_or(&[0; 20]))
}

impl Envelope {
    /// Signs the transaction for one chain.
    ///
    /// # Errors
    /// If the input is too long.
    pub fn sign(self, chain: ChainId, key: &SigningKey) -> Result<SignedEnvelope, EnvelopeError> {
        let mut bytes = vec![u8::from(self.declares)];
        bytes.extend(self.key);
        for number in [self.nonce.get(), self.expires.get(), self.gas_limit, self.most_gas_price] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(self.value.to_be_bytes::<32>());
        let (mark, address) = match self.target {
            Target::Call(address) => (1, address),
            Target::Create => (0, Address::ZERO),
        };
        bytes.push(mark);
        bytes.extend(address.0);
        bytes.extend(&self.input);
        bytes.extend(key.sign(&signed_digest(chain, &bytes)).to_bytes());
        if bytes.len() > EVM_MOST_BYTES {
            return Err(EnvelopeError::Length { got: bytes.len() });
        }
        Ok(SignedEnvelope { envelope: Arc::new(self), bytes: bytes.into() })
    }
}

fn signed_digest(chain: ChainId, signed: &[u8]) -> [u8; 32] {
    sha256(&[b"prefinal/state/v1/evm", chain.as_bytes(), signed])
}

impl SignedEnvelope {
    /// Decodes a transaction. The signature is not verified.
    ///
    /// # Errors
    /// If the bytes are not the one encoding of a transaction.
    pub fn decode(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let length = EnvelopeError::Length { got: bytes.len() };
        if bytes.len() > EVM_MOST_BYTES {
            return Err(length);
        }
        let (signed, _) = bytes.split_last_chunk::<SIGNATURE>().ok_or(length)?;
        let mut rest = signed;
        let [declares] = take(&mut rest).ok_or(length)?;
        let key = take(&mut rest).ok_or(length)?;
        let mut number = || Some(u64::from_be_bytes(take(&mut rest)?));
        let nonce = Nonce::new(number().ok_or(length)?);
        let expires = Height::new(number().ok_or(length)?);
        let gas_limit = number().ok_or(length)?;
        let most_gas_price = number().ok_or(length)?;
        let value = U256::from_be_bytes::<32>(take(&mut rest).ok_or(length)?);
        let [calls] = take(&mut rest).ok_or(length)?;
        let address = Address::new(take(&mut rest).ok_or(length)?);
        let target = match (mark(97, calls)?, address) {
            (true, address) => Target::Call(address),
            (false, Address::ZERO) => Target::Create,
            (false, _) => return Err(EnvelopeError::Address),
        };
        let declares = mark(0, declares)?;
        let input = Bytes::copy_from_slice(rest);
        let envelope = Envelope {
            declares,
            key,
            nonce,
            expires,
            gas_limit,
            most_gas_price,
            value,
            target,
            input,
        };
        Ok(Self { envelope: Arc::new(envelope), bytes: bytes.into() })
    }

    /// What the sender signs.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The transaction as it was signed and sent, with its signature.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The transaction's hash: SHA-256 of its bytes.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        sha256(&[&self.bytes])
    }

    /// What has to be verified, for this chain.
    pub(super) fn claim(&self, chain: ChainId) -> Claim {
        let (signed, signature) =
            self.bytes.split_last_chunk::<SIGNATURE>().unwrap_or((&self.bytes, &[0; SIGNATURE]));
        Claim {
            key: self.envelope.key,
            digest: signed_digest(chain, signed),
            signature: *signature,
        }
    }
}

const fn mark(at: usize, got: u8) -> Result<bool, EnvelopeError> {
    match got {
        0 => Ok(false),
        1 => Ok(true),
        got => Err(EnvelopeError::Mark { at, got }),
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

impl Transaction for SignedEnvelope {
    fn encoded_len(&self) -> usize {
        self.bytes.len()
    }

    fn part(&self) -> Part {
        if self.envelope.declares { Part::Tail } else { Part::Head }
    }
}

impl StoredTransaction for SignedEnvelope {
    fn to_bytes(&self) -> Vec<u8> {
        self.bytes.to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::decode(bytes).ok()
    }
}

impl fmt::Debug for SignedEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.envelope.fmt(f)
    }
}
