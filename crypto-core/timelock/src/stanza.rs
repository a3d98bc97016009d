//! The lines of an age file's header that drand's `tle` writes and reads.
//!
//! ```text
//! -> tlock 1000 52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971
//! base64 of U ‖ V ‖ W
//! ```
//!
//! The arguments are the round and the chain's hash, the body is the file key encrypted to the
//! round's signature. The encryption is in `prefinal_crypto_core::timelock`; the crate `age` handles the rest
//! of the file.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io;

use age::{DecryptError, EncryptError};
use age_core::format::{FileKey, Stanza};
use age_core::secrecy::ExposeSecret;
use prefinal_crypto_core::bls::{PublicKey, Signature, SignatureError, Variant};
use prefinal_crypto_core::curve::DecodeError;
use prefinal_crypto_core::drand::{GroupKey, RoundNumber};
use prefinal_crypto_core::entropy;
use prefinal_crypto_core::rand_core::CryptoRng;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::timelock::{self, Ciphertext};

use crate::chain::Chain;

const TAG: &str = "tlock";
const FILE_KEY: usize = 16;

/// A recipient: file keys are encrypted to this round of this beacon.
#[derive(Clone, Debug)]
pub struct Recipient {
    /// The chain of the beacon, with its public key.
    pub chain: Chain,
    /// The round of the beacon.
    pub round: RoundNumber,
}

/// Why a stanza did not give its file key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The stanza does not have two arguments, or the first is not a round.
    #[error("`{TAG} {}` does not name a round and a chain", arguments.join(" "))]
    Arguments {
        /// The arguments of the stanza.
        arguments: Vec<String>,
    },
    /// The stanza is for another beacon.
    #[error("file is encrypted to {round} of chain {got}, not of chain {expected}")]
    Chain {
        /// The round that the stanza is encrypted to.
        round: RoundNumber,
        /// The hash of the stanza's chain, in hex.
        got: String,
        /// The hash of the chain that was given, in hex.
        expected: String,
    },
    /// No signature was given. The signature of the stanza's round is needed.
    #[error("file opens with the signature of {round} of chain {chain}")]
    NoSignature {
        /// The round that the stanza is encrypted to.
        round: RoundNumber,
        /// The hash of the stanza's chain, in hex.
        chain: String,
    },
    /// The given bytes are not a signature.
    #[error("signature: {0}")]
    Signature(DecodeError),
    /// The bytes are a signature, but not the one of this round.
    #[error("signature is not of {round}, which the file is encrypted to")]
    Round {
        /// The round that the stanza is encrypted to.
        round: RoundNumber,
    },
    /// The body is not `U ‖ V ‖ W`.
    #[error("the file's key: {0}")]
    Body(DecodeError),
    /// The signature is right, so the stanza was altered.
    #[error("the file's key was altered")]
    Altered,
}

impl Refusal {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Arguments { .. } => "not-to-a-round",
            Self::Chain { .. } => "other-chain",
            Self::NoSignature { .. } => "no-signature",
            Self::Signature(error) | Self::Body(error) => error.code(),
            Self::Round { .. } => "signature-mismatch",
            Self::Altered => "altered",
        }
    }
}

impl Refusal {
    /// The number of checks that the stanza passed.
    const fn progress(&self) -> u32 {
        match self {
            Self::Arguments { .. } => 0,
            Self::Chain { .. } => 1,
            Self::NoSignature { .. } => 2,
            Self::Signature(_) => 3,
            Self::Round { .. } => 4,
            Self::Body(_) => 5,
            Self::Altered => 6,
        }
    }
}

/// Opens file keys with a round's signature, and remembers why others did not open.
#[derive(Debug)]
pub struct Identity<'a> {
    chain: &'a Chain,
    signature: Option<&'a [u8]>,
    refusals: RefCell<Vec<Refusal>>,
}

impl<'a> Identity<'a> {
    /// An identity with a round's signature of this chain, or without one, to learn which round is
    /// needed.
    #[must_use]
    pub const fn new(chain: &'a Chain, signature: Option<&'a [u8]>) -> Self {
        Self { chain, signature, refusals: RefCell::new(Vec::new()) }
    }

    /// Why the stanzas so far did not open. Of several refusals, it is the one of the stanza that
    /// passed the most checks. `None` if there was no stanza of this kind.
    #[must_use]
    pub fn into_refusal(self) -> Option<Refusal> {
        self.refusals.into_inner().into_iter().max_by_key(Refusal::progress)
    }

    fn open(&self, stanza: &Stanza) -> Result<Secret<[u8; FILE_KEY]>, Refusal> {
        let (round, hash) = arguments(&stanza.args)?;
        let expected = self.chain.hash();
        if hash != expected {
            return Err(Refusal::Chain { round, got: hash.to_owned(), expected });
        }
        let signature = self.signature.ok_or(Refusal::NoSignature { round, chain: expected })?;
        match self.chain.key() {
            GroupKey::MinSig(key) => self.unlock(key, round, signature, &stanza.body),
            GroupKey::MinPk(key) => self.unlock(key, round, signature, &stanza.body),
        }
    }

    fn unlock<V: Variant>(
        &self,
        key: &PublicKey<V>,
        round: RoundNumber,
        signature: &[u8],
        body: &[u8],
    ) -> Result<Secret<[u8; FILE_KEY]>, Refusal> {
        let signature = Signature::<V>::from_bytes(signature).map_err(Refusal::Signature)?;
        signature
            .verify(key, self.chain.scheme().domain(), &round.message())
            .map_err(|_: SignatureError| Refusal::Round { round })?;
        let ciphertext = Ciphertext::<V, FILE_KEY>::from_bytes(body).map_err(Refusal::Body)?;
        ciphertext.decrypt(&signature).map_err(|timelock::DecryptError| Refusal::Altered)
    }
}

impl age::Identity for Identity<'_> {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, DecryptError>> {
        if stanza.tag != TAG {
            return None;
        }
        match self.open(stanza) {
            Ok(key) => Some(Ok(FileKey::init_with_mut(|to| to.copy_from_slice(key.expose())))),
            Err(refusal) => {
                self.refusals.borrow_mut().push(refusal);
                None
            }
        }
    }
}

impl age::Recipient for Recipient {
    fn wrap_file_key(
        &self,
        file_key: &FileKey,
    ) -> Result<(Vec<Stanza>, HashSet<String>), EncryptError> {
        let mut rng =
            entropy::system().map_err(|error| EncryptError::Io(io::Error::other(error)))?;
        let body = match self.chain.key() {
            GroupKey::MinSig(key) => self.lock(key, file_key.expose_secret(), &mut rng),
            GroupKey::MinPk(key) => self.lock(key, file_key.expose_secret(), &mut rng),
        };
        let args = vec![self.round.get().to_string(), self.chain.hash()];
        Ok((vec![Stanza { tag: TAG.to_owned(), args, body }], HashSet::new()))
    }
}

impl Recipient {
    fn lock<V: Variant>(
        &self,
        key: &PublicKey<V>,
        file_key: &[u8; FILE_KEY],
        rng: &mut impl CryptoRng,
    ) -> Vec<u8> {
        let domain = self.chain.scheme().domain();
        let identity = timelock::Identity::new(domain, &self.round.message());
        timelock::encrypt(key, &identity, file_key, rng).to_bytes()
    }
}

/// Reads the arguments. A round has only digits and no leading zeros; Rust's parser would also accept
/// leading zeros and a sign.
fn arguments(arguments: &[String]) -> Result<(RoundNumber, &str), Refusal> {
    let refusal = || Refusal::Arguments { arguments: arguments.to_vec() };
    let [round, chain] = arguments else { return Err(refusal()) };
    let canonical = |number: &u64| number.to_string() == *round;
    let number = round.parse().ok().filter(canonical).and_then(RoundNumber::new);
    Ok((number.ok_or_else(refusal)?, chain))
}
