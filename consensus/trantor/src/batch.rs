//! Batches of transactions, and the proof that one can be fetched.
//!
//! A batch is sent to all parties before anything is ordered. Each stores it durably and acknowledges it
//! with a signature; acknowledgements of a weak quorum are its availability certificate, for an honest
//! party is among them. Blocks hold certificates only, so ordering does not wait for bytes.
//!
//! `id = H("batch", author, last height, H(tx₁), H(tx₂), …)`; what is acknowledged also names the committee
//! and the size.
//!
//! **A batch has a last height.** Without one, a faulty leader could order a batch again long after all
//! others had forgotten it, and the order would wait for it forever. So no block after that height may hold
//! it, and until that height is reported, the parties that acknowledged it keep it.
use std::collections::BTreeMap;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Domain, Signature};
use prefinal_crypto_core::certificate::Statement;
use prefinal_protocol::Slot;
use sha2::{Digest, Sha256};

use crate::block::{Transaction, TransactionId};
use crate::certificate::{CertificateError, MultiSignature};
use crate::config::Replicas;

const TOO_MANY: &str = "batch has more transactions than any may have";
const AVAILABLE: Domain = Domain::new("trantor available");
/// For how many heights a batch may be ordered. From half to twice as many are acknowledged, for the author may
/// be behind or ahead. Of an author whose batches end sooner, journals would fill faster than its allowance
/// says.
pub(crate) const LIFETIME: u64 = 512;

/// Most transactions of a batch. A transaction takes much more memory than its four bytes of encoding if it is
/// empty, here and where ordered ones are remembered.
pub const MAX_TRANSACTIONS: usize = 1 << 12;

/// The name of a batch.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct BatchId([u8; 32]);

impl BatchId {
    /// The name with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes of the name.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

/// Transactions that one party spreads.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub struct Batch {
    author: Party,
    until: Slot,
    transactions: Vec<Transaction>,
}

impl BorshDeserialize for Batch {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let author = Party::deserialize_reader(reader)?;
        let until = Slot::deserialize_reader(reader)?;
        let count = u32::deserialize_reader(reader)?;
        if usize::try_from(count).map_or(true, |count| count > MAX_TRANSACTIONS) {
            return Err(Error::new(ErrorKind::InvalidData, TOO_MANY));
        }
        let all = (0..count).map(|_| Transaction::deserialize_reader(reader));
        Ok(Self { author, until, transactions: all.collect::<IoResult<_>>()? })
    }
}

impl Batch {
    /// A batch of this author that may be ordered at heights up to `until`.
    #[must_use]
    pub const fn new(author: Party, until: Slot, transactions: Vec<Transaction>) -> Self {
        Self { author, until, transactions }
    }

    /// The last height that may order it.
    #[must_use]
    pub const fn until(&self) -> Slot {
        self.until
    }

    /// The party that spreads it.
    #[must_use]
    pub const fn author(&self) -> Party {
        self.author
    }

    /// Its transactions, in their order.
    #[must_use]
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    /// Length of the encoded transactions in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.transactions.iter().map(Transaction::encoded_len).fold(0, usize::saturating_add)
    }

    /// The name of the batch, a hash of all it holds.
    #[must_use]
    pub fn id(&self) -> BatchId {
        let start = Sha256::new()
            .chain_update(b"prefinal/trantor/v1/batch")
            .chain_update(self.author.get().to_be_bytes())
            .chain_update(self.until.get().to_be_bytes());
        let ids = self.transactions.iter().map(Transaction::id).map(TransactionId::to_bytes);
        BatchId(ids.fold(start, |hash, id| hash.chain_update(id)).finalize().into())
    }

    /// What is said of it in blocks and acknowledgements.
    #[must_use]
    pub fn label(&self) -> BatchLabel {
        let bytes = u32::try_from(self.bytes()).unwrap_or(u32::MAX);
        BatchLabel { author: self.author, until: self.until, id: self.id(), bytes }
    }
}

/// A batch without its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct BatchLabel {
    /// The party that spreads it.
    pub author: Party,
    /// The last height that may order it.
    pub until: Slot,
    /// The name of the batch.
    pub id: BatchId,
    /// Length of its encoded transactions in bytes.
    pub bytes: u32,
}

impl BatchLabel {
    /// The bytes that a party signs when it has stored the batch.
    #[must_use]
    pub fn statement(&self, committee: &Replicas) -> Vec<u8> {
        let (author, bytes) = (self.author.get().to_be_bytes(), self.bytes.to_be_bytes());
        let until = self.until.get().to_be_bytes();
        [&committee.context()[..], &author, &until, &self.id.0, &bytes].concat()
    }

    /// The domain of these signatures.
    #[must_use]
    pub const fn domain() -> Domain {
        AVAILABLE
    }
}

/// The proof that a weak quorum has stored a batch.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct AvailabilityCertificate {
    /// The batch that is available.
    pub batch: BatchLabel,
    /// The parties that stored it, and the sum of their signatures.
    pub acks: MultiSignature,
}

impl AvailabilityCertificate {
    /// Checks bitmap and stake, without algebra.
    pub(crate) fn check_shape(&self, committee: &Replicas) -> Result<(), CertificateError> {
        committee.weak().check_quorum([&self.acks.signers])?;
        Ok(())
    }

    /// Checks the signers, their stake and the signature.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(&self, committee: &Replicas) -> Result<(), CertificateError> {
        let message = self.batch.statement(committee);
        let statement = Statement { message: &message, signers: &self.acks.signers };
        committee.weak().verify(AVAILABLE, &[statement], &self.acks.signature)?;
        Ok(())
    }
}

/// The acknowledgements of one batch, by party.
pub(crate) type Acks = BTreeMap<Party, Signature>;
