//! The public keys of an epoch as they are sent, and their check.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::curve::G2Affine;
use prefinal_crypto_core::wvuf::{Admission, BlindedKey, SharedBlinding, VufCommittee};
use sha2::{Digest, Sha256};

use super::error::VufKeysError;

/// The public keys of an epoch. Nothing of them is checked yet.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct VufKeys {
    /// How many shares each party holds, by its number.
    pub weights: Vec<u32>,
    /// The keys of the slow path, or of the only one.
    pub slow: VufPathKeys,
    /// The keys of the fast path.
    pub fast: Option<VufPathKeys>,
}

/// The public keys of one path.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct VufPathKeys {
    /// How many shares make a value.
    pub threshold: u32,
    /// The public shares `Aⱼ`, in the order of their indices.
    pub public_shares: Vec<G2Affine>,
    /// The blinded keys of the parties that have published theirs. They are not in [`VufKeys::digest`], for parties
    /// may be late.
    pub blinded: BTreeMap<Party, BlindedKey>,
}

impl VufKeys {
    /// The keys of these committees, of which the second is that of the fast path.
    #[must_use]
    pub fn new(slow: &VufCommittee, fast: Option<&VufCommittee>) -> Self {
        let path = |committee: &VufCommittee| VufPathKeys {
            threshold: committee.threshold().t().get(),
            public_shares: committee.public().to_vec(),
            blinded: committee.keys().clone(),
        };
        Self { weights: slow.access().weights(), slow: path(slow), fast: fast.map(path) }
    }

    /// The digest of weights, thresholds and public shares: SHA-256 of a tag, the number of weights (8) and each
    /// (4), and for each path the threshold (4), the number of public shares (8) and each (96); numbers big-endian.
    ///
    /// The thresholds are in it because otherwise one partial with a threshold of one would make a value of the same
    /// key.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX).to_be_bytes();
        let mut hash = Sha256::new_with_prefix(b"PREFINAL-V1-NODE-CHRONICLE-KEY");
        hash.update(count(self.weights.len()));
        self.weights.iter().for_each(|weight| hash.update(weight.to_be_bytes()));
        for path in [Some(&self.slow), self.fast.as_ref()].into_iter().flatten() {
            hash.update(path.threshold.to_be_bytes());
            hash.update(count(path.public_shares.len()));
            path.public_shares.iter().for_each(|share| hash.update(share.to_bytes()));
        }
        hash.finalize().into()
    }

    /// The committees of both paths, with all blinded keys admitted.
    pub(super) fn check(&self) -> Result<(VufCommittee, Option<VufCommittee>), VufKeysError> {
        let access = Access::new(&self.weights)?;
        let slow = self.slow.check(&access)?;
        let fast = self.fast.as_ref().map(|path| path.check(&access)).transpose()?;
        if let Some(fast) = &fast {
            let same = |(party, key): &(&Party, &BlindedKey)| {
                fast.keys().get(*party).is_some_and(|other| other.pi() == key.pi())
            };
            if let Some((&party, _)) = slow.keys().iter().find(same) {
                return Err(SharedBlinding { party }.into());
            }
        }
        Ok((slow, fast))
    }
}

impl VufPathKeys {
    fn check(&self, access: &Access) -> Result<VufCommittee, VufKeysError> {
        let threshold = Threshold::new(self.threshold, access.total())?;
        let public = self.public_shares.clone();
        let mut committee = VufCommittee::new(access.clone(), threshold, public)?;
        let Admission { admitted, refused } = committee.admit_all(self.blinded.clone());
        if let Some((party, error)) = refused.into_iter().next() {
            return Err(VufKeysError::Blinded { party, error });
        }
        for key in admitted {
            committee.insert(key)?;
        }
        Ok(committee)
    }
}
