//! A client that trusts one epoch of a weighted VUF, and verifies its values and those of the epochs that follow.
//!
//! A value of the weighted VUF has no short proof: it is verified from the partials of its slot, under the blinded
//! keys of the parties that sent them, and these under the public shares of the epoch's key
//! ([`prefinal_crypto_core::wvuf`]). Each committee makes a fresh key, so a client follows from key to key:
//!
//! | what | trusted because | call |
//! |---|---|---|
//! | [`VufEpoch`], 112 bytes | its [`id`](VufEpoch::id), 32 bytes, is what the reader has pinned | [`VufFollower::new`] |
//! | the next [`VufEpoch`] | more than two thirds of the stake of the epoch before have signed it | [`VufFollower::advance`] |
//! | weights, thresholds, public shares ([`VufKeys`]) | their [digest](VufKeys::digest) is in the [`VufEpoch`] | [`VufVerifier::new`] |
//! | a party's blinded keys | `e(πᵢ, Aⱼ) = e(ρⱼ, ĝ)`, and a proof that their maker knows the factor, made for this party, path and key | [`VufVerifier::new`] |
//! | a partial | `e(πᵢ, σᵢ) = e(h, H(chain, epoch, slot))` | [`VufVerifier::verify`] |
//! | a value | it is computed here, from partials of a threshold's weight | [`VufVerifier::verify`] |
//!
//! Everything may come from a server that lies. What it can do is to withhold: it may show an old epoch as the newest,
//! and leave out slots, or the keys of parties that were late.
//!
//! **What the reader believes.** Less than a third of the stake of each epoch was faulty when the next one was signed,
//! and no more is broken into before the reader has followed: an attacker with the keys of two thirds of an old
//! committee can sign another successor. So a pin must not be older than the time for which a chain holds its members liable,
//! as with a [`StakeVerifier`]. And the parties that could compute a value without the others hold less weight than the
//! thresholds ask for.
//!
//! Members sign a successor with the key that certifies states, under another [domain](VufEpoch::DOMAIN), once the
//! chain has made its key final.
mod error;
mod keys;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{Domain, MinSig};
use prefinal_crypto_core::certificate::Certificate;
use prefinal_crypto_core::wvuf::{Input, Output, Partial, VufCommittee, combine};
use prefinal_protocol::{Context, EpochId, Slot};
use sha2::{Digest, Sha256};

pub use self::error::{VufKeysError, VufValueError};
pub use self::keys::{VufKeys, VufPathKeys};
use crate::epoch::{EpochRow, Waypoint};
use crate::error::{EndingError, TrustError};
use crate::members::{MemberChanges, MemberList};
use crate::verifier::StakeVerifier;

/// An epoch of a weighted VUF: its committee, and the key under which its values verify. 112 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct VufEpoch {
    /// The epoch with its first slot, and the members that sign the next one.
    pub waypoint: Waypoint,
    /// The digest of weights, thresholds and public shares: [`VufKeys::digest`].
    pub key: [u8; 32],
}

/// Shows the next epoch to somebody who knows the one before.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct VufHandover {
    /// The first slot of the next epoch.
    pub first: Slot,
    /// How the next committee differs from this one.
    pub changes: MemberChanges,
    /// The digest of the next key.
    pub key: [u8; 32],
    /// The signature of this epoch's committee on the next [`VufEpoch`].
    pub certificate: Certificate<MinSig>,
}

/// Which of an epoch's sharings the partials of a value belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum VufPath {
    /// The slow path, or the only one.
    Slow,
    /// The fast path, which takes more shares and gives the value earlier.
    Fast,
}

/// What shows a slot's value: partials that together have the weight of the path's threshold.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct VufProof {
    /// The epoch of the slot.
    pub epoch: EpochId,
    /// The slot that was evaluated.
    pub slot: Slot,
    /// The path of the partials.
    pub path: VufPath,
    /// The partials by party.
    pub partials: BTreeMap<Party, Partial>,
}

/// Trusts one epoch, and each that its committee hands over to.
///
/// See the example at [`VufVerifier`].
#[derive(Clone, Debug)]
pub struct VufFollower {
    committee: StakeVerifier,
    key: [u8; 32],
}

/// Verifies the values of one epoch. The epoch's keys were checked.
///
/// ```
/// # use prefinal_crypto_core::bls::min_sig::SecretKey;
/// # use prefinal_fixture::WvufSharing;
/// # use prefinal_light::{EpochRow, Member, Waypoint};
/// use prefinal_light::{MemberList, VufEpoch, VufFollower, VufKeys, VufPath, VufProof, VufVerifier};
/// # use prefinal_crypto_core::wvuf::Input;
/// # use prefinal_protocol::{ChainId, Context, EpochId, Slot};
///
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let secrets: Vec<SecretKey> = (0..4).map(|_| SecretKey::random(&mut rng)).collect();
/// # let member = |key: &SecretKey| Member { key: key.public_key(), possession: key.prove_possession(), stake: 10 };
/// # let members = MemberList { members: secrets.iter().map(member).collect() };
/// # let sharing = WvufSharing::deal(&[2, 1, 1, 1], 4);
/// # let (chain, epoch, first, slot) = (ChainId::new([7; 32]), EpochId::new(0), Slot::new(9), Slot::new(12));
/// # let keys = VufKeys::new(&sharing.committee, None);
/// # let waypoint = Waypoint { chain, epoch: EpochRow::new(epoch, first, &members) };
/// # let epoch = VufEpoch { waypoint, key: keys.digest() };
/// # let input = Input::new(&Context { chain, epoch: waypoint.epoch.epoch }, slot, None);
/// # let partials = sharing.keys.iter().map(|(party, key)| (*party, key.evaluate(&input))).collect();
/// # let proof = VufProof { epoch: waypoint.epoch.epoch, slot, path: VufPath::Slow, partials };
/// # let pinned = epoch.id();
/// // Trust: 32 bytes. Everything else comes from anybody.
/// let follower = VufFollower::new(&pinned, &epoch, &members)?;
/// let verifier = VufVerifier::new(&follower.epoch(), &keys)?;
/// assert_eq!(verifier.verify(&proof)?.randomness().len(), 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct VufVerifier {
    context: Context,
    first: Slot,
    slow: VufCommittee,
    fast: Option<VufCommittee>,
}

impl VufEpoch {
    /// The domain under which members sign the epoch that follows theirs.
    pub const DOMAIN: Domain = Domain::new("light vuf epoch");

    /// The bytes that are signed: chain (32) ‖ epoch (8) ‖ first slot (8) ‖ [`MemberList::id`] (32) ‖ key (32), numbers
    /// big-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Waypoint { chain, epoch: EpochRow { epoch, first, members } } = self.waypoint;
        let context = Context { chain, epoch };
        [&context.to_bytes()[..], &first.get().to_be_bytes(), &members, &self.key].concat()
    }

    /// What a reader pins: SHA-256 of a tag and [these bytes](Self::to_bytes).
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        let hash = Sha256::new().chain_update(b"prefinal/light/v1/epoch");
        hash.chain_update(self.to_bytes()).finalize().into()
    }
}

impl VufFollower {
    /// Trusts the epoch with this [id](VufEpoch::id). Epoch and members may come from anybody. Costs a hash to 𝔾₁ and
    /// two pairings for each member.
    ///
    /// # Errors
    /// If the epoch is another one than that which is pinned, or the members are not its committee.
    pub fn new(
        pinned: &[u8; 32],
        epoch: &VufEpoch,
        members: &MemberList,
    ) -> Result<Self, TrustError> {
        if epoch.id() != *pinned {
            return Err(TrustError::Pin);
        }
        Ok(Self { committee: StakeVerifier::new(&epoch.waypoint, members)?, key: epoch.key })
    }

    /// The epoch that it has come to. Its [id](VufEpoch::id) can be pinned in turn.
    #[must_use]
    pub fn epoch(&self) -> VufEpoch {
        VufEpoch { waypoint: self.committee.waypoint(), key: self.key }
    }

    /// The committee of this epoch, as [`Self::new`] takes it.
    #[must_use]
    pub fn members(&self) -> MemberList {
        self.committee.members()
    }

    /// Goes on to the next epoch, if a quorum of this one has signed it. Costs what [`StakeVerifier::advance`] costs.
    ///
    /// # Errors
    /// [`EndingError`] says what is wrong. Nothing changes then.
    pub fn advance(&mut self, handover: &VufHandover) -> Result<(), EndingError> {
        let VufHandover { first, changes, key, certificate } = handover;
        let last = self.committee.waypoint().epoch.first;
        if *first <= last {
            return Err(EndingError::First { first: *first, slot: last });
        }
        let committee = self.committee.successor(*first, changes, |electorate, waypoint| {
            let message = VufEpoch { waypoint: *waypoint, key: *key }.to_bytes();
            certificate.verify(electorate, VufEpoch::DOMAIN, &message)?;
            Ok(())
        })?;
        *self = Self { committee, key: *key };
        Ok(())
    }
}

impl VufVerifier {
    /// Takes the keys of an epoch that the caller trusts: one that is pinned, or one that was followed to. Costs a
    /// pairing for each blinded key, one more, and sums over all shares; if a key is false, twice as many pairings.
    ///
    /// # Errors
    /// If the keys are not those of the epoch, or if a blinded key is not its party's.
    pub fn new(epoch: &VufEpoch, keys: &VufKeys) -> Result<Self, VufKeysError> {
        if keys.digest() != epoch.key {
            return Err(VufKeysError::Digest);
        }
        let Waypoint { chain, epoch: EpochRow { epoch, first, .. } } = epoch.waypoint;
        let (slow, fast) = keys.check()?;
        Ok(Self { context: Context { chain, epoch }, first, slow, fast })
    }

    /// Verifies a proof and computes the value that it shows. Costs a pairing for each partial and one more, twice.
    ///
    /// # Errors
    /// [`VufValueError`] says what is wrong. If it is [`not-admitted`](VufValueError::code), the keys may be older than
    /// the value: those of a late party come later.
    pub fn verify(&self, proof: &VufProof) -> Result<Output, VufValueError> {
        let VufProof { epoch, slot, path, partials } = proof;
        if *epoch != self.context.epoch {
            return Err(VufValueError::Epoch { here: self.context.epoch, got: *epoch });
        }
        if *slot < self.first {
            return Err(VufValueError::BeforeEpoch { first: self.first, got: *slot });
        }
        let committee = match path {
            VufPath::Slow => &self.slow,
            VufPath::Fast => self.fast.as_ref().ok_or(VufValueError::NoFastPath)?,
        };
        let input = Input::new(&self.context, *slot, None);
        Ok(combine(&committee.verify_all(&input, partials.clone())?))
    }
}
