//! What members agree on, and how each of them says so.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::{ChainId, EpochId};
use prefinal_pvss_dkg::KeyRegistration;
use prefinal_weighted_rounding::Stake;
use sha2::{Digest, Sha256};

use super::{Change, ChangeError, LEAST_HOLDERS, MAX_PARTIES};
use crate::setup::{Identity, Registration, Setup};

const APPLICATION: min_sig::Domain = min_sig::Domain::new("committee application");
const APPROVAL: min_sig::Domain = min_sig::Domain::new("committee approval");
const FRESH_KEY: min_sig::Domain = min_sig::Domain::new("committee fresh key");

/// A newcomer's registration for one epoch of one chain, signed by the newcomer. It does not name the
/// number that the newcomer gets.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Application {
    pub(super) registration: Registration,
    pub(super) signature: min_sig::Signature,
}

/// The next committee as it is proposed: the stake of every party that the chain has ever had, and the
/// newcomers behind them.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Draft {
    pub(super) chain: ChainId,
    pub(super) epoch: EpochId,
    pub(super) stakes: Vec<u128>,
    pub(super) newcomers: Vec<Application>,
}

/// A member's signature on a draft.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Approval {
    /// The member.
    pub party: Party,
    pub(super) signature: min_sig::Signature,
}

/// The key with which a party receives shares in one epoch of one chain, signed by the party.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct FreshKey {
    /// The owner of the key.
    pub party: Party,
    pub(super) registration: KeyRegistration,
    pub(super) signature: min_sig::Signature,
}

/// What one party contributes to a change: its approval and, if it has stake in the next epoch, its fresh
/// key.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Consent {
    /// The party's signature on the draft.
    pub approval: Approval,
    /// Its key for the next epoch; `None` if it leaves.
    pub key: Option<FreshKey>,
}

impl Application {
    /// Makes the application of a party that is to join in this epoch of the chain. Its encryption key is
    /// for that epoch, so it needs another application for another epoch.
    #[must_use]
    pub fn new(identity: &Identity, chain: ChainId, epoch: EpochId) -> Self {
        let registration = identity.registration_for(epoch);
        let signature = identity.signer.sign(APPLICATION, &statement(chain, epoch, &registration));
        Self { registration, signature }
    }

    /// The key that the newcomer signs with.
    #[must_use]
    pub const fn signer(&self) -> &min_sig::PublicKey {
        self.registration.signer()
    }

    /// The newcomer's public keys.
    #[must_use]
    pub const fn registration(&self) -> &Registration {
        &self.registration
    }

    fn verify(&self, party: Party, chain: ChainId, epoch: EpochId) -> Result<(), ChangeError> {
        let statement = statement(chain, epoch, &self.registration);
        let verified = self.signature.verify(self.signer(), APPLICATION, &statement);
        verified.map_err(|_| ChangeError::Application { party })
    }
}

impl Draft {
    /// A draft of the committee that follows `current`. `stakes` are those of all parties of `current` in
    /// their order, then those of the newcomers in theirs.
    ///
    /// # Errors
    /// The same as [`Draft::check`].
    pub fn new(
        current: &Setup,
        stakes: Vec<Stake>,
        newcomers: Vec<Application>,
    ) -> Result<Self, ChangeError> {
        let context = &current.context;
        let (chain, epoch) = (context.chain, context.epoch.next());
        let stakes = stakes.into_iter().map(Stake::get).collect();
        let draft = Self { chain, epoch, stakes, newcomers };
        draft.check(current)?;
        Ok(draft)
    }

    /// Checks everything that does not depend on approvals and fresh keys: that the draft follows
    /// `current`, that its stakes make a committee, and that the newcomers own their keys.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check(&self, current: &Setup) -> Result<(), ChangeError> {
        self.check_shape(current)?;
        self.verify_newcomers(current)?;
        current.plan(self.stakes())?;
        Ok(())
    }

    /// The consent of a party. It approves what the draft says, so the operator has to look at it first,
    /// and [`check`](Self::check) it.
    #[must_use]
    pub fn approve(&self, identity: &Identity) -> Consent {
        let party = identity.me;
        let statement = statement(self.chain, self.epoch, &self.digest());
        let approval = Approval { party, signature: identity.signer.sign(APPROVAL, &statement) };
        let is_newcomer = self.number_of(&identity.signer.public_key()) == Some(party);
        let receives = self.has_stake(party) && !is_newcomer;
        Consent { approval, key: receives.then(|| FreshKey::new(identity, self)) }
    }

    /// Makes the change out of the consents, in any order. A consent that is given twice counts once.
    /// Approvals of parties without stake in this epoch are left out, but not their keys: that is how a
    /// party without stake gets some again.
    ///
    /// # Errors
    /// The same as [`Change::verify`]; for example, it says how much stake is missing.
    pub fn merge(
        self,
        current: &Setup,
        consents: impl IntoIterator<Item = Consent>,
    ) -> Result<Change, ChangeError> {
        let mut by_party = std::collections::BTreeMap::new();
        for consent in consents {
            by_party.insert(consent.approval.party, consent);
        }
        let (mut keys, mut approvals) = (Vec::new(), Vec::new());
        for Consent { approval, key } in by_party.into_values() {
            let member = current.members.get(approval.party.index());
            if member.is_none_or(|member| member.stake > Stake::ZERO) {
                approvals.push(approval);
            }
            keys.extend(key);
        }
        let change = Change { draft: self, keys, approvals };
        change.verify(current)?;
        Ok(change)
    }

    /// The chain whose committee it changes.
    #[must_use]
    pub const fn chain(&self) -> ChainId {
        self.chain
    }

    /// The epoch that it makes.
    #[must_use]
    pub const fn epoch(&self) -> EpochId {
        self.epoch
    }

    /// The stakes of all parties in their order, newcomers last.
    #[must_use]
    pub fn stakes(&self) -> Vec<Stake> {
        self.stakes.iter().copied().map(Stake::new).collect()
    }

    /// The newcomers in the order of their numbers.
    #[must_use]
    pub fn newcomers(&self) -> &[Application] {
        &self.newcomers
    }

    /// The number that the newcomer with this key gets; `None` if there is no such newcomer.
    #[must_use]
    pub fn number_of(&self, signer: &min_sig::PublicKey) -> Option<Party> {
        let known = self.stakes.len().checked_sub(self.newcomers.len())?;
        let mut numbers = (0..).map(Party::new).skip(known).zip(&self.newcomers);
        numbers.find(|(_, newcomer)| newcomer.signer() == signer).map(|(party, _)| party)
    }

    /// The name of the draft, for operators who compare what they sign. It covers everything in it.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let hash = Sha256::new().chain_update(b"PREFINAL-V1-NODE-CHANGE-DRAFT");
        // Writing into memory cannot fail.
        hash.chain_update(borsh::to_vec(self).unwrap_or_default()).finalize().into()
    }

    pub(super) fn has_stake(&self, party: Party) -> bool {
        self.stakes.get(party.index()).is_some_and(|stake| *stake > 0)
    }

    pub(super) fn registrations(&self) -> Vec<Registration> {
        self.newcomers.iter().map(|newcomer| newcomer.registration.clone()).collect()
    }

    /// The checks that cost no cryptography.
    pub(super) fn check_shape(&self, current: &Setup) -> Result<(), ChangeError> {
        let (got, expected) = (self.chain, current.context.chain);
        if got != expected {
            return Err(ChangeError::Chain { got, expected });
        }
        let (got, expected) = (self.epoch, current.context.epoch.next());
        if got != expected {
            return Err(ChangeError::Epoch { got, expected });
        }
        let known = current.members.len();
        let (got, expected) = (self.stakes.len(), known.saturating_add(self.newcomers.len()));
        if got != expected {
            return Err(ChangeError::Stakes { got, expected });
        }
        if got > MAX_PARTIES {
            return Err(ChangeError::TooMany { got, most: MAX_PARTIES });
        }
        let got = self.stakes.iter().filter(|stake| **stake > 0).count();
        if got < LEAST_HOLDERS {
            return Err(ChangeError::TooFew { got, need: LEAST_HOLDERS });
        }
        let mut newcomers = (0..).map(Party::new).zip(&self.stakes).skip(known);
        match newcomers.find(|(_, stake)| **stake == 0) {
            Some((party, _)) => Err(ChangeError::NoStake { party }),
            None => Ok(()),
        }
    }

    pub(super) fn verify_newcomers(&self, current: &Setup) -> Result<(), ChangeError> {
        let numbers = (0..).map(Party::new).skip(current.members.len());
        numbers
            .zip(&self.newcomers)
            .try_for_each(|(party, newcomer)| newcomer.verify(party, self.chain, self.epoch))
    }
}

impl Approval {
    /// Checks that the member signed this draft.
    pub(super) fn verify(
        &self,
        current: &Setup,
        draft: &Draft,
        digest: &[u8; 32],
    ) -> Result<(), ChangeError> {
        let party = self.party;
        let member = current.members.get(party.index()).ok_or(ChangeError::Stranger { party })?;
        let statement = statement(draft.chain, draft.epoch, digest);
        let verified = self.signature.verify(member.key.get(), APPROVAL, &statement);
        verified.map_err(|_| ChangeError::Approval { party })
    }
}

impl FreshKey {
    fn new(identity: &Identity, draft: &Draft) -> Self {
        Self::sign(identity, draft, identity.register(draft.epoch))
    }

    pub(super) fn sign(identity: &Identity, draft: &Draft, registration: KeyRegistration) -> Self {
        let party = identity.me;
        let statement = statement(draft.chain, draft.epoch, &(party, &registration));
        Self { party, signature: identity.signer.sign(FRESH_KEY, &statement), registration }
    }

    /// Checks that the party registered the key for this epoch of this chain. That it knows the
    /// decryption key is checked where the set-up is made.
    pub(super) fn verify(&self, current: &Setup, draft: &Draft) -> Result<(), ChangeError> {
        let party = self.party;
        let member = current.members.get(party.index()).ok_or(ChangeError::Stranger { party })?;
        let statement = statement(draft.chain, draft.epoch, &(party, &self.registration));
        let verified = self.signature.verify(member.key.get(), FRESH_KEY, &statement);
        verified.map_err(|_| ChangeError::FreshKey { party })
    }
}

/// What is signed: chain ‖ epoch ‖ what is said there.
fn statement(chain: ChainId, epoch: EpochId, said: &impl BorshSerialize) -> Vec<u8> {
    // Writing into memory cannot fail.
    borsh::to_vec(&(chain, epoch, said)).unwrap_or_default()
}
