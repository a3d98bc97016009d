//! What a committee says of the state that a block leaves, as bytes to be signed.
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::{Context, Slot, Value};

use super::{Certificate, CertificateError, Electorate};
use crate::bls::{Domain, MinSig, SignatureError, min_sig};
use crate::threshold::Purpose;

/// The statement that state certificates sign: the value of a slot leaves a state with this root.
///
/// It is certified in one of two ways:
///
/// | certificate | domain | verified with |
/// |---|---|---|
/// | [`Certificate`], a multi-signature of exact stake | [`Self::DOMAIN`] | the committee of the epoch: [`Self::verify`] |
/// | a threshold signature | that of [`Self::THRESHOLD`] | the group's key, of any epoch: [`Self::verify_threshold`] |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct StateStatement {
    /// The chain and the epoch of the slot.
    pub context: Context,
    /// The slot that has the value.
    pub slot: Slot,
    /// The value of the slot, which names its block.
    pub value: Value,
    /// The root that commits to the block's results.
    pub root: [u8; 32],
}

impl StateStatement {
    /// The domain tag under which members sign with keys of their own.
    pub const DOMAIN: Domain = Domain::new("beacon state root certificate");

    /// The purpose of a shared key that signs such statements. It signs nothing else.
    pub const THRESHOLD: Purpose =
        Purpose::Messages(Domain::new("threshold state root certificate"));

    /// The bytes that are signed: chain (32 bytes) ‖ epoch (8) ‖ slot (8) ‖ value (32) ‖ root (32), numbers
    /// big-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let slot = self.slot.get().to_be_bytes();
        [&self.context.to_bytes()[..], &slot, &self.value.to_bytes(), &self.root].concat()
    }

    /// Checks that a quorum of stake has signed this statement. Costs two pairings and additions of keys.
    ///
    /// # Errors
    /// [`CertificateError`] says what is wrong.
    pub fn verify(
        &self,
        electorate: &Electorate<MinSig>,
        certificate: &Certificate<MinSig>,
    ) -> Result<(), CertificateError> {
        certificate.verify(electorate, Self::DOMAIN, &self.to_bytes()).map(|_| ())
    }

    /// Checks that the group with this key has signed this statement. Costs two pairings.
    ///
    /// # Errors
    /// If the signature is of another statement, or of another key.
    pub fn verify_threshold(
        &self,
        key: &min_sig::PublicKey,
        signature: &min_sig::Signature,
    ) -> Result<(), SignatureError> {
        signature.verify(key, Self::THRESHOLD.domain(), &self.to_bytes())
    }
}
