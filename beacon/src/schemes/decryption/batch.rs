//! The ciphertexts that a slot has to decrypt, taken from its value.
//!
//! | bound to                 | by                                                                |
//! |--------------------------|-------------------------------------------------------------------|
//! | the slot's value         | `value = H(block ‖ H(ciphertexts))`, [`Batch::value`]             |
//! | chain, epoch and slot    | the label that each ciphertext is valid under                     |
//! | the committee            | the key that each ciphertext is valid under                       |
//!
//! `block` stands for everything else that the engine agrees on: its own hash of the block, by any hash
//! function. A chain with a decrypting beacon gives `H(block ‖ H(ciphertexts))` to all its beacons, where
//! it would otherwise give `block`. A block has one such value. A program that knows a block's hash and the
//! digest of its ciphertexts can compute it.
//!
//! Whatever a proposer puts into a block has a result, which is the same at every party, and never stops
//! the slot. An entry has no plaintext if it is too long, has not the form of a ciphertext, is not valid
//! under the slot's label, or comes after as many entries as are decrypted. Nobody gives a share for such
//! an entry.
use prefinal_protocol::{Slot, Value};
use std::sync::Arc;

use prefinal_crypto_core::challenge::Transcript;
use prefinal_crypto_core::context::Context;
use prefinal_crypto_core::elgamal::{self, Ciphertext, EncryptionKey, Label, ValidCiphertext};
use prefinal_crypto_core::wire::Object;

const VALUE_TAG: &[u8] = b"PREFINAL-V1-DECRYPTION-VALUE";
const BATCH_TAG: &[u8] = b"PREFINAL-V1-DECRYPTION-BATCH";
const COMMITTEE_TAG: &[u8] = b"PREFINAL-V1-DECRYPTION-COMMITTEE";

/// How much a slot decrypts. The committee agrees on it, because every party must decide alike. A partial
/// of a party with `w` shares has at most `ciphertexts · w · 48` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most ciphertexts of one slot.
    pub ciphertexts: u32,
    /// The most bytes of one ciphertext.
    pub bytes: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { ciphertexts: 64, bytes: 4096 }
    }
}

/// The committee that decrypts, and how much it decrypts in a slot.
///
/// See the example at [`Batch`].
#[derive(Clone, Debug)]
pub struct BatchCommittee {
    id: [u8; 32],
    holders: elgamal::DecryptionCommittee,
    bounds: Bounds,
}

impl BatchCommittee {
    /// Makes the committee from the holders of the key's shares and the bounds.
    #[must_use]
    pub fn new(holders: elgamal::DecryptionCommittee, bounds: Bounds) -> Self {
        let mut transcript = Transcript::new(COMMITTEE_TAG);
        transcript.append(b"holders", holders.id());
        transcript.append_u64(b"ciphertexts", bounds.ciphertexts.into());
        transcript.append_u64(b"bytes", bounds.bytes.into());
        Self { id: transcript.bytes(b"id"), holders, bounds }
    }

    /// A digest of the holders and the bounds.
    #[must_use]
    pub const fn id(&self) -> [u8; 32] {
        self.id
    }

    /// The parties that hold the shares, with their keys.
    #[must_use]
    pub const fn holders(&self) -> &elgamal::DecryptionCommittee {
        &self.holders
    }

    /// How much a slot decrypts.
    #[must_use]
    pub const fn bounds(&self) -> Bounds {
        self.bounds
    }
}

/// Why an entry of a slot is not decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// It comes after as many entries as a slot decrypts.
    #[error("entry {position}, a slot decrypts {most}")]
    TooMany {
        /// The position of the entry, counted from 0.
        position: usize,
        /// The most entries that are decrypted.
        most: u32,
    },
    /// It is too long, and was not looked at.
    #[error("{got} bytes, a ciphertext has at most {most}")]
    TooLong {
        /// Its length in bytes.
        got: usize,
        /// The most bytes of a ciphertext.
        most: u32,
    },
    /// It is not the encoding of a ciphertext.
    #[error("not a ciphertext")]
    Undecodable,
    /// It is for another key, chain, epoch or slot, or was altered. Nobody gives a share for it.
    #[error("ciphertext is not valid for this slot and committee")]
    Invalid,
}

impl Unusable {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooMany { .. } => "count-too-large",
            Self::TooLong { .. } => "too-long",
            Self::Undecodable | Self::Invalid => "invalid-ciphertext",
        }
    }
}

/// The ciphertexts of a slot's value, each checked. Cheap to clone.
///
/// ```
/// # use prefinal_crypto_core::access::Access;
/// # use prefinal_crypto_core::commitment::Commitment;
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_crypto_core::curve::{G1Affine, Scalar};
/// # use prefinal_crypto_core::elgamal::DecryptionCommittee;
/// # use prefinal_crypto_core::polynomial::{Placement, Polynomial};
/// # use prefinal_crypto_core::secret::Secret;
/// use prefinal_beacon::{Batch, Bounds, BatchCommittee, Slot};
/// use prefinal_crypto_core::elgamal::Label;
/// use prefinal_crypto_core::wire::Object;
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let x = Secret::new(Scalar::random(&mut rng));
/// # let f = Polynomial::random(1.try_into()?, &x, &mut rng);
/// # let (y, commitment) = ((G1Affine::generator() * x.expose()).to_affine(), Commitment::commit(&f));
/// # let access = Access::new(&[1])?;
/// # let committee = DecryptionCommittee::new(y, &commitment, access, Placement::Consecutive)?;
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
///
/// let committee = BatchCommittee::new(committee, Bounds { ciphertexts: 100, bytes: 1000 });
/// let label = Label::slot(&context, Slot::new(9));
/// let transaction = committee.holders().key().encrypt(&label, b"sell", &mut rng)?.to_wire();
/// let block = [1; 32]; // the block's hash
/// let batch = Batch::new(&committee, &context, Slot::new(9), block, &[transaction.clone()]);
/// assert!(batch.entries()[0].is_ok());
/// // In the block of another slot, nobody opens it.
/// let late = Batch::new(&committee, &context, Slot::new(10), block, &[transaction]);
/// assert!(late.entries()[0].is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch(Arc<Checked>);

#[derive(Debug)]
struct Checked {
    context: Context,
    slot: Slot,
    value: Value,
    key: EncryptionKey,
    bounds: Bounds,
    entries: Vec<Result<ValidCiphertext, Unusable>>,
}

impl Batch {
    /// Takes the ciphertexts out of a block, in the wire format of `prefinal_crypto_core::wire` and in the
    /// block's order. Costs four multiplications in 𝔾₁ for each, so do not call it on a thread that others
    /// wait for.
    #[must_use]
    pub fn new(
        committee: &BatchCommittee,
        context: &Context,
        slot: Slot,
        block: [u8; 32],
        ciphertexts: &[impl AsRef<[u8]>],
    ) -> Self {
        let (key, bounds) = (*committee.holders.key(), committee.bounds);
        let label = Label::slot(context, slot);
        let judge = |(position, bytes): (usize, &[u8])| {
            let got = bytes.len();
            if u32::try_from(position).map_or(true, |position| position >= bounds.ciphertexts) {
                return Err(Unusable::TooMany { position, most: bounds.ciphertexts });
            }
            if u32::try_from(got).map_or(true, |got| got > bounds.bytes) {
                return Err(Unusable::TooLong { got, most: bounds.bytes });
            }
            let ciphertext = Ciphertext::from_wire(bytes).map_err(|_| Unusable::Undecodable)?;
            ciphertext.validate(&key, &label).map_err(|_| Unusable::Invalid)
        };
        let entries = ciphertexts.iter().map(AsRef::as_ref).enumerate().map(judge).collect();
        let value = Self::value_of(block, &Self::digest(ciphertexts));
        Self(Arc::new(Checked { context: *context, slot, value, key, bounds, entries }))
    }

    /// `H(ciphertexts)`: a digest of their number, lengths and bytes.
    #[must_use]
    pub fn digest(ciphertexts: &[impl AsRef<[u8]>]) -> [u8; 32] {
        let mut transcript = Transcript::new(BATCH_TAG);
        for bytes in ciphertexts {
            transcript.append(b"ciphertext", bytes.as_ref());
        }
        transcript.bytes(b"digest")
    }

    /// `H(block ‖ digest)`: the value of the engine's block in all beacons of a chain that decrypts.
    #[must_use]
    pub fn value_of(block: [u8; 32], digest: &[u8; 32]) -> Value {
        let mut transcript = Transcript::new(VALUE_TAG);
        transcript.append(b"block", &block);
        transcript.append(b"ciphertexts", digest);
        Value::new(transcript.bytes(b"value"))
    }

    /// The value that these ciphertexts belong to. No other value can have them.
    #[must_use]
    pub fn value(&self) -> Value {
        self.0.value
    }

    /// The slot that the ciphertexts are valid for.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.0.slot
    }

    /// The chain and the epoch that the ciphertexts are valid for.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The check of each entry, in the block's order.
    pub fn entries(&self) -> &[Result<ValidCiphertext, Unusable>] {
        &self.0.entries
    }

    /// The entries that are decrypted.
    pub(super) fn valid(&self) -> impl Iterator<Item = &ValidCiphertext> {
        self.0.entries.iter().flatten()
    }

    pub(super) fn is_of(&self, committee: &BatchCommittee) -> bool {
        (self.0.key, self.0.bounds) == (*committee.holders.key(), committee.bounds)
    }
}
