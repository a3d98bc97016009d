//! The transactions of the key generation: dealings and, for the weighted VUF, blinded keys. And those that
//! change the committee ([`crate::change`]).
//!
//! Blinded keys are signed, so their publisher is known before any point is decoded. The proof that
//! each key carries shows that nobody else made it (`prefinal_crypto_core::wvuf`). A dealing is in an envelope
//! that its dealer signed.
//!
//! ```text
//! kind (1 byte) ‖ epoch that it is for (8 bytes, big-endian) ‖ body
//! ```
//! A chain's own transactions must begin with another byte than these kinds, or be shorter than the header.
//!
//! While one committee hands over to the next, blocks carry transactions of two key generations. Each
//! key generation takes its own and ignores the others.

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::EpochId;
use prefinal_crypto_core::wvuf::BlindedKey;
use sha2::{Digest, Sha256};

use crate::setup::{Identity, Setup};

const KEYS: min_sig::Domain = min_sig::Domain::new("node blinded keys");

/// Bytes of the header: kind and epoch.
const HEADER: usize = 1 + 8;

/// A party's blinded keys, one per path, each with a separate blinding factor.
#[derive(Clone, BorshSerialize, BorshDeserialize)]
pub struct SignedKeys {
    /// The owner of the keys.
    pub party: Party,
    /// The key for the slow path, or for the only path.
    pub slow: BlindedKey,
    /// The key for the fast path.
    pub fast: Option<BlindedKey>,
    signature: min_sig::Signature,
}

/// The kind of a transaction, which is its first byte. The body is decoded in a job, because its points
/// have to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 0: a dealing of the scheme's kind, in its envelope (`prefinal_pvss_dkg::protocol`).
    Dealing,
    /// 1: [`SignedKeys`] in Borsh.
    Keys,
    /// 2: a [`Change`](crate::change::Change) of the committee in Borsh. It is for the epoch that it makes.
    Change,
}

impl Kind {
    /// The kind of a transaction, `None` if it is one of the chain itself.
    #[must_use]
    pub fn of(transaction: &[u8]) -> Option<Self> {
        Self::split(transaction).map(|(kind, ..)| kind)
    }

    /// Splits a transaction into kind, epoch and body. `None` if it is one of the chain itself.
    #[must_use]
    pub fn split(transaction: &[u8]) -> Option<(Self, EpochId, &[u8])> {
        let (kind, rest) = transaction.split_first()?;
        let (epoch, body) = rest.split_first_chunk()?;
        let kind = match kind {
            0 => Self::Dealing,
            1 => Self::Keys,
            2 => Self::Change,
            _ => return None,
        };
        Some((kind, EpochId::new(u64::from_be_bytes(*epoch)), body))
    }

    pub(crate) fn head(self, epoch: EpochId, body: &[u8]) -> Vec<u8> {
        let kind = match self {
            Self::Dealing => 0,
            Self::Keys => 1,
            Self::Change => 2,
        };
        [&[kind], epoch.get().to_be_bytes().as_slice(), body].concat()
    }
}

/// The body behind the header, if the kind is the expected one.
///
/// # Errors
/// If the transaction is of another kind.
pub fn body(transaction: &[u8], expected: Kind) -> Result<&[u8], String> {
    match Kind::split(transaction) {
        Some((kind, _, body)) if kind == expected => Ok(body),
        other => {
            Err(format!("{:?} where {expected:?} were expected", other.map(|(kind, ..)| kind)))
        }
    }
}

/// Makes the transaction that carries a dealing.
#[must_use]
pub fn dealing(epoch: EpochId, encoded: &[u8]) -> Vec<u8> {
    Kind::Dealing.head(epoch, encoded)
}

/// Makes the transaction that carries a party's keys.
#[must_use]
pub fn keys(epoch: EpochId, keys: &SignedKeys) -> Vec<u8> {
    // Writing into memory cannot fail.
    Kind::Keys.head(epoch, &borsh::to_vec(keys).unwrap_or_default())
}

/// The exact length in bytes of the transaction with a party's keys, for a party of `weight`. `None`
/// for a party without shares, which has no keys to publish.
#[must_use]
pub fn keys_bytes(weight: usize, paths: usize) -> Option<usize> {
    // Header, party, whether there is a fast path, signature; per path one key.
    let path = weight.checked_mul(48)?.checked_add(BlindedKey::OVERHEAD)?;
    if weight == 0 { None } else { path.checked_mul(paths)?.checked_add(HEADER + 4 + 1 + 48) }
}

impl SignedKeys {
    /// Signs the keys for the session.
    #[must_use]
    pub fn new(
        setup: &Setup,
        identity: &Identity,
        slow: BlindedKey,
        fast: Option<BlindedKey>,
    ) -> Self {
        let statement = statement(setup, identity.me, &slow, fast.as_ref());
        let signature = identity.signer.sign(KEYS, &statement);
        Self { party: identity.me, slow, fast, signature }
    }

    /// The party that an encoded transaction claims to be from. Nothing in it is checked yet.
    #[must_use]
    pub fn claimed_party(transaction: &[u8]) -> Option<Party> {
        borsh::from_slice(transaction.get(HEADER..HEADER + 4)?).ok()
    }

    /// Checks that the party itself published these keys for this session.
    ///
    /// # Errors
    /// If the committee has no such member, or the signature is not its own.
    pub fn verify(&self, setup: &Setup) -> Result<(), KeysError> {
        let member = setup.members.get(self.party.index());
        let member = member.ok_or(KeysError::NotMember(self.party))?;
        let statement = statement(setup, self.party, &self.slow, self.fast.as_ref());
        self.signature
            .verify(member.key.get(), KEYS, &statement)
            .map_err(|_| KeysError::Signature(self.party))
    }
}

/// Why blinded keys are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// The committee has no such party.
    #[error("{0} is not of this committee")]
    NotMember(Party),
    /// The party did not sign them, or they are of another session.
    #[error("the signature on the blinded keys is not {0}'s")]
    Signature(Party),
}

impl KeysError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotMember(_) => "not-a-member",
            Self::Signature(_) => "signature-mismatch",
        }
    }
}

/// What names a transaction.
pub(crate) fn digest(transaction: &[u8]) -> [u8; 32] {
    Sha256::digest(transaction).into()
}

fn statement(setup: &Setup, party: Party, slow: &BlindedKey, fast: Option<&BlindedKey>) -> Vec<u8> {
    let parts = (setup.keygen.digest(), party, slow, fast);
    // Writing into memory cannot fail.
    borsh::to_vec(&parts).unwrap_or_default()
}
