//! The clients: one that trusts a committee and follows it, one that trusts a key, one for a beacon's values.
//!
//! | call | group operations |
//! |---|---|
//! | [`StakeVerifier::new`] | for each member a hash to 𝔾₁ and two pairings, for its key |
//! | [`StakeVerifier::advance`] | a hash to 𝔾₁ and two pairings; additions in 𝔾₂: one for each member, and one for each signer or each absent member, whichever are fewer; for each new key as above |
//! | [`StakeVerifier::verify`] | a hash to 𝔾₁, two pairings, additions in 𝔾₂ for the signers or the absent |
//! | [`KeyVerifier::verify`] | a hash to 𝔾₁ and two pairings |
//! | [`BeaconVerifier::verify`] | a hash to 𝔾₁ and two pairings |
//! | what a [`VerifiedBlock`] verifies | none, hashes alone |
//!
//! What costs nothing is checked first: numbers, then bitmaps and stake, then the signature, then hashes, and keys
//! of new members at last, when a quorum stands behind them.

use prefinal_contract::Binding;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::{PublicKey, Signature};
use prefinal_crypto_core::certificate::{Certificate, Electorate};
use prefinal_crypto_core::drand::{Randomness, RoundNumber, Scheme};
use prefinal_protocol::{ChainId, EpochId, Slot};

use crate::block::{CertifiedBlock, Claim, VerifiedBlock};
use crate::epoch::{EpochEnding, EpochRow, Waypoint};
use crate::error::{BeaconError, BlockError, EndingError, LightProofError, TrustError};
use crate::members::{CheckedMembers, MemberChanges, MemberList};
use crate::proof::{KeyProof, StakeProof};

/// Trusts one committee, and through the chain of epoch endings each that follows it. Certificates are
/// multi-signatures, counted in exact stake: more than two thirds.
///
/// It knows one epoch at a time. Certificates of earlier epochs are refused: members of a committee of long ago may
/// have no stake any more, and nothing to lose. For the same reason a waypoint must not be older than the time for
/// which a chain holds its members liable. A [`KeyVerifier`] has no such limit.
#[derive(Clone, Debug)]
pub struct StakeVerifier {
    chain: ChainId,
    epoch: EpochId,
    first: Slot,
    members: CheckedMembers,
}

/// Trusts the key of threshold certificates. Committees hand it over and it never changes, so 96 bytes verify the
/// state of any epoch.
///
/// The key counts shares, not stake: what stake a signature stands for is a range, by the rounding of the key's
/// committee.
///
/// ```
/// # use prefinal_crypto_core::bls::min_sig::SecretKey;
/// # use prefinal_crypto_core::certificate::StateStatement;
/// use prefinal_light::{CertifiedBlock, KeyVerifier, Roots};
/// use prefinal_protocol::{ChainId, EpochId, Slot, Value};
///
/// # let key = SecretKey::random(&mut <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1));
/// # let (chain, group_key) = (ChainId::new([7; 32]), key.public_key()); // in earnest a committee's
/// # let sign = |bytes: &[u8]| key.sign(StateStatement::THRESHOLD.domain(), bytes);
/// let verifier = KeyVerifier::new(chain, group_key);
///
/// let (epoch, slot, value) = (EpochId::new(1000), Slot::new(70_000), Value::new([1; 32]));
/// let roots = Roots { state: [2; 32], receipts: [3; 32] };
/// let unsigned = CertifiedBlock { epoch, slot, value, roots, certificate: () };
/// let certificate = sign(&unsigned.statement(chain).to_bytes()); // by a committee's shares
/// let block = CertifiedBlock { epoch, slot, value, roots, certificate };
/// assert_eq!(verifier.verify(&block)?.state_root().as_bytes(), &[2; 32]);
/// # Ok::<(), prefinal_light::BlockError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyVerifier {
    chain: ChainId,
    key: PublicKey,
}

/// Trusts the key of a randomness beacon. It is handed over like the other, so 96 bytes verify the value of any
/// slot; no value needs the ones before it.
///
/// ```
/// # use prefinal_crypto_core::bls::{Domain, min_sig::SecretKey};
/// # use prefinal_crypto_core::drand::RoundNumber;
/// use prefinal_light::{BeaconVerifier, Binding};
/// use prefinal_protocol::Slot;
///
/// # let key = SecretKey::random(&mut <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1));
/// # let (group_key, round) = (key.public_key(), RoundNumber::new(7).unwrap());
/// # let signature = key.sign(Domain::BASIC, &round.message()); // in earnest by a committee's shares
/// let verifier = BeaconVerifier { key: group_key, binding: Binding::Rounds { first: Slot::new(3) } };
/// let randomness = verifier.verify(Slot::new(9), &signature)?; // round 7
/// assert_eq!(randomness.as_bytes().len(), 32);
/// assert!(verifier.verify(Slot::new(10), &signature).is_err());
/// # Ok::<(), prefinal_light::BeaconError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeaconVerifier {
    /// The group's key, under which all rounds verify.
    pub key: PublicKey,
    /// How the beacon counts its rounds.
    pub binding: Binding,
}

impl StakeVerifier {
    /// Trusts the epoch that the waypoint names. The members may come from anybody.
    ///
    /// # Errors
    /// If the members are not those of the waypoint, or make no committee.
    pub fn new(waypoint: &Waypoint, members: &MemberList) -> Result<Self, TrustError> {
        if members.id() != waypoint.epoch.members {
            return Err(TrustError::Members);
        }
        let Waypoint { chain, epoch: EpochRow { epoch, first, .. } } = *waypoint;
        Ok(Self { chain, epoch, first, members: members.check()? })
    }

    /// The epoch whose certificates it verifies.
    #[must_use]
    pub const fn epoch(&self) -> EpochId {
        self.epoch
    }

    /// Where it is now: with [`members`](Self::members) all that a client needs to go on later.
    #[must_use]
    pub fn waypoint(&self) -> Waypoint {
        let epoch = EpochRow::new(self.epoch, self.first, &self.members());
        Waypoint { chain: self.chain, epoch }
    }

    /// The committee of its epoch, as [`Self::new`] takes it.
    #[must_use]
    pub fn members(&self) -> MemberList {
        self.members.to_list()
    }

    /// Goes on to the next epoch, once the committee of this one has certified a state that announces it.
    ///
    /// # Errors
    /// [`EndingError`] says what is wrong. Nothing changes then.
    pub fn advance(&mut self, ending: &EpochEnding) -> Result<(), EndingError> {
        let block = self.verify(&ending.block)?;
        let (first, slot) = (ending.first, block.slot());
        if first <= slot {
            return Err(EndingError::First { first, slot });
        }
        *self = self.successor(first, &ending.changes, |_, Waypoint { epoch, .. }| {
            block.verify_row(epoch.key(), Some(&epoch.to_row()), &ending.proof)?;
            Ok(())
        })?;
        Ok(())
    }

    /// A client in the next epoch, if this committee, as `is_shown` finds, has agreed on it.
    pub(crate) fn successor(
        &self,
        first: Slot,
        changes: &MemberChanges,
        is_shown: impl FnOnce(&Electorate<MinSig>, &Waypoint) -> Result<(), EndingError>,
    ) -> Result<Self, EndingError> {
        let next = self.epoch.get().checked_add(1).ok_or(EndingError::LastEpoch(self.epoch))?;
        let (chain, epoch) = (self.chain, EpochId::new(next));
        let candidates = self.members.change(changes)?;
        let row = EpochRow { epoch, first, members: candidates.id() };
        is_shown(&self.members.electorate, &Waypoint { chain, epoch: row })?;
        Ok(Self { chain, epoch, first, members: candidates.check()? })
    }

    /// Verifies that a quorum of this epoch's committee has certified the state that a block leaves.
    ///
    /// # Errors
    /// [`BlockError`] says what is wrong.
    pub fn verify(
        &self,
        block: &CertifiedBlock<Certificate<MinSig>>,
    ) -> Result<VerifiedBlock, BlockError> {
        if block.epoch != self.epoch {
            return Err(BlockError::Epoch { here: self.epoch, got: block.epoch });
        }
        if block.slot < self.first {
            return Err(BlockError::BeforeEpoch { first: self.first, got: block.slot });
        }
        let statement = block.statement(self.chain);
        statement.verify(&self.members.electorate, &block.certificate)?;
        Ok(block.verified(statement))
    }

    /// Verifies a whole proof: advances over its endings, verifies its block, and each of its claims. The claims
    /// may be believed then. Endings of epochs before its own are not looked at, so that one proof, from the first
    /// epoch on, serves clients in any epoch.
    ///
    /// # Errors
    /// [`LightProofError`] says what is wrong. Nothing changes then.
    pub fn verify_proof(&mut self, proof: &StakeProof) -> Result<VerifiedBlock, LightProofError> {
        if proof.chain != self.chain {
            return Err(LightProofError::Chain);
        }
        let mut ahead = self.clone();
        for (at, ending) in proof.endings.iter().enumerate() {
            if ending.block.epoch < ahead.epoch {
                continue;
            }
            ahead.advance(ending).map_err(|error| LightProofError::Ending { at, error })?;
        }
        let block = ahead.verify(&proof.block)?;
        verify_claims(&block, &proof.claims)?;
        *self = ahead;
        Ok(block)
    }
}

impl KeyVerifier {
    /// Trusts this key on this chain.
    #[must_use]
    pub const fn new(chain: ChainId, key: PublicKey) -> Self {
        Self { chain, key }
    }

    /// Verifies that the group has certified the state that a block leaves, in whatever epoch.
    ///
    /// # Errors
    /// [`BlockError::Signature`] if the key has not signed this.
    pub fn verify(&self, block: &CertifiedBlock<Signature>) -> Result<VerifiedBlock, BlockError> {
        let statement = block.statement(self.chain);
        statement.verify_threshold(&self.key, &block.certificate)?;
        Ok(block.verified(statement))
    }

    /// Verifies a whole proof: its block, and each of its claims. The claims may be believed then.
    ///
    /// # Errors
    /// [`LightProofError`] says what is wrong.
    pub fn verify_proof(&self, proof: &KeyProof) -> Result<VerifiedBlock, LightProofError> {
        if proof.chain != self.chain {
            return Err(LightProofError::Chain);
        }
        let block = self.verify(&proof.block)?;
        verify_claims(&block, &proof.claims)?;
        Ok(block)
    }
}

impl BeaconVerifier {
    /// Verifies a slot's output, and gives its randomness.
    ///
    /// # Errors
    /// If the slot has no round, or if the key has not signed it.
    pub fn verify(&self, slot: Slot, signature: &Signature) -> Result<Randomness, BeaconError> {
        let number = self.binding.round(slot).and_then(|number| RoundNumber::new(number.get()));
        let message = number.ok_or(BeaconError::NoRound(slot))?.message();
        signature.verify(&self.key, Scheme::UnchainedG1Rfc9380.domain(), &message)?;
        Ok(Randomness::of(&signature.to_bytes()))
    }
}

fn verify_claims(block: &VerifiedBlock, claims: &[Claim]) -> Result<(), LightProofError> {
    for (at, claim) in claims.iter().enumerate() {
        block.verify_claim(claim).map_err(|error| LightProofError::Claim { at, error })?;
    }
    Ok(())
}
