//! What a follower believes from the start, and what it keeps with each block so that others can be convinced.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::certificate::Certificate;
use prefinal_execution::{Header, Roots, StateCertificate};
use prefinal_light::{
    BlockError, CertifiedBlock, EndingError, EpochEnding, KeyVerifier, StakeVerifier, VerifiedBlock,
};
use prefinal_protocol::{EpochId, Value};
use prefinal_state::proof::ListProof;

/// Verifies certificates: a client of [`prefinal_light`].
pub trait Trust: Clone + Send + Sync + 'static {
    /// The kind of certificate that it verifies.
    type Certificate: StateCertificate + PartialEq;

    /// The only epoch whose certificates are verified; `None` if they are those of all epochs.
    fn epoch(&self) -> Option<EpochId>;

    /// Verifies that a block leaves a state that is certified.
    ///
    /// # Errors
    /// [`BlockError`] says what is wrong.
    fn verify(
        &self,
        block: &CertifiedBlock<Self::Certificate>,
    ) -> Result<VerifiedBlock, BlockError>;

    /// Goes on to the next epoch. Does nothing if all epochs are verified.
    ///
    /// # Errors
    /// [`EndingError`] says what is wrong. Nothing changes then.
    fn advance(&mut self, ending: &EpochEnding) -> Result<(), EndingError>;
}

impl Trust for StakeVerifier {
    type Certificate = Certificate<MinSig>;

    fn epoch(&self) -> Option<EpochId> {
        Some(Self::epoch(self))
    }

    fn verify(
        &self,
        block: &CertifiedBlock<Self::Certificate>,
    ) -> Result<VerifiedBlock, BlockError> {
        Self::verify(self, block)
    }

    fn advance(&mut self, ending: &EpochEnding) -> Result<(), EndingError> {
        Self::advance(self, ending)
    }
}

impl Trust for KeyVerifier {
    type Certificate = Signature;

    fn epoch(&self) -> Option<EpochId> {
        None
    }

    fn verify(
        &self,
        block: &CertifiedBlock<Self::Certificate>,
    ) -> Result<VerifiedBlock, BlockError> {
        Self::verify(self, block)
    }

    fn advance(&mut self, _: &EpochEnding) -> Result<(), EndingError> {
        Ok(())
    }
}

/// What shows a block to others: stored with it in place of a bare certificate.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Attestation<C> {
    /// The epoch whose committee has certified the block.
    pub epoch: EpochId,
    /// The certificate of the roots.
    pub certificate: C,
    /// Stands for the block's transactions ([`BlockNames`](crate::BlockNames)).
    pub content: [u8; 32],
    /// Shows the block's place, if its name does not ([`CertifiedPlaces`](crate::CertifiedPlaces)).
    pub place: Option<ListProof>,
    /// The slot's value as its beacon signed it, if the block has transactions that read it. A follower keeps it if it
    /// knows the beacon's key, so it may be missing; it is never false.
    pub randomness: Option<Signature>,
}

impl<C: Clone> Attestation<C> {
    /// What the certificate is of.
    pub(crate) fn certified(&self, header: &Header, roots: &Roots) -> CertifiedBlock<C> {
        CertifiedBlock {
            epoch: self.epoch,
            slot: header.slot,
            value: Value::new(header.id.to_bytes()),
            roots: *roots,
            certificate: self.certificate.clone(),
        }
    }
}
