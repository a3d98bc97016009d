//! The messages that parties put into the order: a dealing in an envelope that its sender signed.
//!
//! | part      | what                                                            | bytes |
//! |-----------|-----------------------------------------------------------------|-------|
//! | version   | 1                                                               | 1     |
//! | session   | configuration, what is dealt, the key that is handed over       | 32    |
//! | sender    | the dealer                                                      | 4     |
//! | share     | the share of the key before that is dealt on; 0 if fresh        | 4     |
//! | signature | of session, sender, share, length and hash of the payload       | 48    |
//! | payload   | the dealing                                                     | rest  |
//!
//! The signature is on a [`Statement`], 80 bytes whatever the size of the payload. So no payload is
//! needed to show that two statements contradict each other, or that a payload has a wrong length. A
//! message of wrong length takes no more room than its statement while it waits.
use prefinal_crypto_core::access::{Party, ShareIndex};
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::challenge::Transcript;

use super::collect::Place;
use crate::config::Config;
use crate::wire::{DecodeError, Reader, VERSION};

const DOMAIN: min_sig::Domain = min_sig::Domain::new("pvss envelope");

/// The statement of an envelope, and its signature, which is not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) session: [u8; 32],
    pub(crate) place: Place,
    pub(crate) length: u64,
    pub(crate) payload: [u8; 32],
    pub(crate) signature: [u8; 48],
}

/// Number of bytes before the payload.
const HEAD: usize = 1 + 32 + 4 + 4 + 48;

/// The length in bytes of an envelope around a dealing of `dealing` bytes.
#[must_use]
pub const fn envelope_bytes(dealing: usize) -> usize {
    HEAD + dealing
}

/// Signs a dealing for its place and puts it into an envelope. [`Keygen`](super::Keygen) does this with the dealings
/// that it makes. Here the payload may be any bytes, for tests of what a dealer that does wrong can send.
#[must_use]
pub fn seal(
    session: [u8; 32],
    place: Place,
    payload: &[u8],
    signer: &min_sig::SecretKey,
) -> Vec<u8> {
    let mut statement = Statement::new(session, place, payload, [0; 48]);
    let signature: min_sig::Signature = signer.sign(DOMAIN, &statement.signed());
    statement.signature = signature.to_bytes();
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&session);
    bytes.extend_from_slice(&place.to_bytes());
    bytes.extend_from_slice(&statement.signature);
    bytes.extend_from_slice(payload);
    bytes
}

/// Splits an envelope into statement and payload. Checks only that there is a version and a head.
pub(crate) fn split(bytes: &[u8]) -> Result<(Statement, &[u8]), DecodeError> {
    let mut reader = Reader::new(bytes);
    reader.version()?;
    let session = reader.hash()?;
    let place = Place::read(&mut reader)?;
    let signature = reader.array()?;
    let payload = bytes.get(HEAD..).unwrap_or_default();
    Ok((Statement::new(session, place, payload, signature), payload))
}

impl Place {
    /// Length of the encoding: dealer, then share or 0.
    pub(super) const BYTES: usize = 4 + 4;

    pub(super) fn to_bytes(self) -> [u8; 8] {
        let share = self.share.map_or(0, ShareIndex::get);
        (u64::from(self.dealer.get()) << 32 | u64::from(share)).to_be_bytes()
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let dealer = Party::new(reader.u32()?);
        Ok(Self { dealer, share: ShareIndex::new(reader.u32()?) })
    }
}

impl Statement {
    /// Length of the encoding: session, place, length and hash of the payload, signature.
    pub(crate) const BYTES: usize = 32 + 8 + 8 + 32 + 48;

    fn new(session: [u8; 32], place: Place, payload: &[u8], signature: [u8; 48]) -> Self {
        let length = u64::try_from(payload.len()).unwrap_or(u64::MAX);
        Self { session, place, length, payload: hash(payload), signature }
    }

    /// Whether the statement is about this payload.
    pub(crate) fn is_about(&self, payload: &[u8]) -> bool {
        u64::try_from(payload.len()) == Ok(self.length) && hash(payload) == self.payload
    }

    /// Whether its sender signed it. If not, nobody can be accused for it.
    pub(crate) fn is_signed(&self, config: &Config) -> bool {
        let Some(dealer) = config.dealer(self.place.dealer) else { return false };
        let Ok(signature) = min_sig::Signature::from_bytes(&self.signature) else { return false };
        signature.verify(&dealer.signer, DOMAIN, &self.signed()).is_ok()
    }

    fn signed(&self) -> Vec<u8> {
        let length = self.length.to_be_bytes();
        let parts: [&[u8]; 4] = [&self.session, &self.place.to_bytes(), &length, &self.payload];
        parts.concat()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        [self.signed().as_slice(), &self.signature].concat()
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            session: reader.hash()?,
            place: Place::read(reader)?,
            length: reader.u64()?,
            payload: reader.hash()?,
            signature: reader.array()?,
        })
    }
}

fn hash(payload: &[u8]) -> [u8; 32] {
    let mut transcript = Transcript::new(b"PREFINAL-V1-PVSS-ENVELOPE");
    transcript.append(b"payload", payload);
    transcript.bytes(b"hash")
}
