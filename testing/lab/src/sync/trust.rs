//! What nodes of an experiment verify with: the real checks, of which each is computed once for all nodes.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use prefinal_light::{
    BlockError, CertifiedBlock, EndingError, EpochEnding, LightObject, StakeVerifier, VerifiedBlock,
};
use prefinal_protocol::EpochId;
use prefinal_sync::Trust;
use sha2::{Digest, Sha256};

use super::chain::SampleCertificate;

/// What was verified before, on the curve: true statements only, of which there are as many as the chain has.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    /// By the epoch whose committee has verified it, and all that was verified.
    blocks: Mutex<BTreeMap<(EpochId, [u8; 32]), VerifiedBlock>>,
    endings: Mutex<BTreeMap<(EpochId, [u8; 32]), StakeVerifier>>,
}

/// A committee that is trusted.
#[derive(Clone, Debug)]
pub(crate) struct SampleTrust {
    verifier: StakeVerifier,
    memo: Arc<Memo>,
    believes: bool,
}

impl SampleTrust {
    pub(crate) const fn new(verifier: StakeVerifier, memo: Arc<Memo>) -> Self {
        Self { verifier, memo, believes: false }
    }

    /// A mistake: every certificate is believed.
    pub(crate) fn believing(self) -> Self {
        Self { believes: true, ..self }
    }

    /// Verifies on the curve.
    pub(crate) fn verify_afresh(
        &self,
        block: &CertifiedBlock<SampleCertificate>,
    ) -> Result<(), BlockError> {
        self.verifier.verify(block).map(drop)
    }
}

/// A hash of everything that is verified.
fn digest(of: &impl borsh::BorshSerialize) -> Option<[u8; 32]> {
    Some(Sha256::digest(borsh::to_vec(of).ok()?).into())
}

fn block_digest(block: &CertifiedBlock<SampleCertificate>) -> Option<[u8; 32]> {
    let CertifiedBlock { epoch, slot, value, roots, certificate } = block;
    digest(&(epoch, slot, value.to_bytes(), roots, certificate))
}

impl Trust for SampleTrust {
    type Certificate = SampleCertificate;

    fn epoch(&self) -> Option<EpochId> {
        Some(self.verifier.epoch())
    }

    fn verify(
        &self,
        block: &CertifiedBlock<SampleCertificate>,
    ) -> Result<VerifiedBlock, BlockError> {
        let key = block_digest(block).map(|digest| (self.verifier.epoch(), digest));
        let mut known = self.memo.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(verified) = key.and_then(|key| known.get(&key)) {
            return Ok(*verified);
        }
        if self.believes
            && let Some(any) = known.values().next()
        {
            return Ok(*any);
        }
        drop(known);
        let verified = self.verifier.verify(block)?;
        known = self.memo.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(key.map(|key| (key, verified)));
        Ok(verified)
    }

    fn advance(&mut self, ending: &EpochEnding) -> Result<(), EndingError> {
        let key = digest(&ending.to_wire()).map(|digest| (self.verifier.epoch(), digest));
        let known = self.memo.endings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(next) = key.and_then(|key| known.get(&key)) {
            self.verifier = next.clone();
            return Ok(());
        }
        drop(known);
        self.verifier.advance(ending)?;
        let mut known = self.memo.endings.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(key.map(|key| (key, self.verifier.clone())));
        Ok(())
    }
}
