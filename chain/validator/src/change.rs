//! Change of the committee by a transaction: what members sign, and what makes it count.
//!
//! ```text
//!  newcomer ── Application ──┐
//!                            ├─► Draft ──► each member: Consent ──► merge ──► Change ──► a block
//!  stakes of all parties ────┘             (approval, fresh key)
//! ```
//! | step  | function                                     | by whom                                        |
//! |-------|----------------------------------------------|------------------------------------------------|
//! | apply | [`Application::new`]                         | each newcomer, for the epoch it is to join     |
//! | draft | [`Draft::new`]                               | anyone                                         |
//! | agree | [`Draft::approve`], after [`Draft::check`]   | each member, and each party that is to stay    |
//! | merge | [`Draft::merge`]                             | anyone; this is the transaction                |
//! | count | [`ApprovedChanges`], by [`Change::verify`]   | every party, at each final block               |
//!
//! **What is signed.** An approval is on chain, epoch and the draft's digest, so on all stakes and all
//! newcomers. Members with more than two thirds of this epoch's stake must approve. A fresh key is on chain,
//! epoch and party, so a registration of an earlier epoch does not pass for one. An application is on chain
//! and epoch for the same reason.
//!
//! **What counts.** A change that makes epoch `e + 1` counts in epoch `e` only. The first valid one in the
//! first block that has one wins. Later ones, and the same one again, have no effect. One that is not valid
//! has no effect either, and is reported with the check that it fails. So everything by which the handover
//! could fail is checked here.
//!
//! Anyone can write a transaction that is not valid, and every party has to look at it. So a chain charges for
//! such transactions like for its own, or its leaders leave out those that are not valid.
//!
//! A party that is offline cannot give a fresh key. A change either waits for it or gives it stake 0. In
//! that case it needs no key and keeps its number, and a later change can give it stake again.
//!
//! **A newcomer** starts a [`Participant`](crate::Participant) from the genesis set-up, like all others, with
//! its number to be as [`Identity::me`](crate::setup::Identity::me). It follows the final blocks from the first slot on and judges the
//! key generations in them, so it knows the finalized sum of the dealings for its first epoch, and opens its
//! shares from it like any other party. It runs no beacon for epochs that do not know its number, so its
//! values begin with its first epoch. If the number turns out to be another party's, it halts
//! ([`KeygenError::OtherIdentity`](crate::keygen::KeygenError)).
//!
//! ```
//! use std::sync::Arc;
//! # use prefinal_crypto_core::{access::Party, context::ChainId, secret::Secret};
//! use prefinal_validator::change::{Application, ApprovedChanges, Draft};
//! # use prefinal_validator::setup::{Algorithm, Identity, Plan, Setup};
//! # use prefinal_weighted_rounding::{Ratio, Stake};
//!
//! # let identity = |party: u8| Identity::from_seed(Party::new(party.into()), Secret::new([party + 1; 32]));
//! # let members: Vec<_> = (0..4).map(identity).collect();
//! # let registrations: Vec<_> = members.iter().map(Identity::registration).collect();
//! # let plan = Plan::new([30, 30, 20, 20].map(Stake::new).to_vec(), Algorithm::Fast, Ratio::FIVE_SIXTHS)?;
//! # let genesis = Setup::new(ChainId::new([7; 32]), &plan, &registrations)?;
//! // In the genesis: this chain changes its committee by transactions.
//! let setup = Setup { succession: Some(Arc::new(ApprovedChanges)), ..genesis };
//! // The newcomer's application, a file that it sends to the members.
//! let (chain, epoch) = (setup.context.chain, setup.context.epoch.next());
//! let newcomer = identity(4);
//! let file = Application::new(&newcomer, chain, epoch).to_text();
//! // Anyone drafts: the last party leaves, the newcomer gets its stake.
//! let stakes = [30, 30, 20, 0, 20].map(Stake::new).to_vec();
//! let draft = Draft::new(&setup, stakes, vec![Application::from_text(&file)?])?;
//! assert_eq!(draft.number_of(&newcomer.signer.public_key()), Some(newcomer.me));
//! // Each member looks at the draft and consents.
//! draft.check(&setup)?;
//! let consents: Vec<_> = members[..3].iter().map(|one| draft.approve(one)).collect();
//! // Anyone merges. This goes into a block.
//! let change = draft.merge(&setup, consents)?;
//! let transaction = change.to_transaction();
//! assert_eq!(change.verify(&setup)?.members.len(), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod draft;
mod error;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_engine::Block;
use prefinal_protocol::Slot;
use prefinal_pvss_dkg::KeyRegistration;
use prefinal_weighted_rounding::{Ratio, Stake};

use crate::setup::{Decision, RefusedChange, Setup, Succession};
use crate::transaction::Kind;

pub use self::draft::{Application, Approval, Consent, Draft, FreshKey};
pub use self::error::ChangeError;
pub use self::text::TextError;

/// The greatest number of parties that a chain may ever have had, those included that have left.
pub const MAX_PARTIES: usize = 1024;

/// The greatest length of a change in bytes, which the greatest number of parties does not reach.
pub const MAX_BYTES: usize = 1 << 20;

/// The least number of parties with stake: Byzantine agreement needs four to survive one fault.
pub const LEAST_HOLDERS: usize = 4;

/// A change of the committee as a transaction: the draft, fresh keys of the parties that stay, and the
/// members' approvals. It is checked where it is ordered ([`Change::verify`]).
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Change {
    draft: Draft,
    keys: Vec<FreshKey>,
    approvals: Vec<Approval>,
}

impl Change {
    /// What is changed.
    #[must_use]
    pub const fn draft(&self) -> &Draft {
        &self.draft
    }

    /// The members that approve, in their order.
    pub fn approved_by(&self) -> impl Iterator<Item = Party> {
        self.approvals.iter().map(|approval| approval.party)
    }

    /// The transaction that carries the change.
    #[must_use]
    pub fn to_transaction(&self) -> Vec<u8> {
        // Writing into memory cannot fail.
        Kind::Change.head(self.draft.epoch(), &borsh::to_vec(self).unwrap_or_default())
    }

    /// Reads a transaction. Nothing in it is verified yet.
    ///
    /// # Errors
    /// If it is of another kind, too long, undecodable, or names another epoch than the draft in it.
    pub fn from_transaction(transaction: &[u8]) -> Result<Self, ChangeError> {
        let split = Kind::split(transaction);
        let (_, epoch, body) =
            split.filter(|(kind, ..)| *kind == Kind::Change).ok_or(ChangeError::OtherKind)?;
        let got = body.len();
        if got > MAX_BYTES {
            return Err(ChangeError::Length { got, most: MAX_BYTES });
        }
        let change: Self =
            borsh::from_slice(body).map_err(|error| ChangeError::Undecodable(error.to_string()))?;
        let expected = change.draft.epoch();
        if epoch != expected {
            return Err(ChangeError::Header { got: epoch, expected });
        }
        Ok(change)
    }

    /// The set-up of the next epoch, if the change counts in this one. It depends on the arguments only.
    /// Checks that cost little come first, then the approvals, each of which costs the verification of a
    /// signature. The rest is computed only for what enough members approve: two signatures and a proof for
    /// each fresh key, five and a proof for each newcomer, and the weights of the next committee.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(&self, current: &Setup) -> Result<Setup, ChangeError> {
        self.draft.check_shape(current)?;
        self.check_order()?;
        self.check_quorum(current)?;
        let keys = self.keys(current)?;
        let digest = self.draft.digest();
        for approval in &self.approvals {
            approval.verify(current, &self.draft, &digest)?;
        }
        for key in &self.keys {
            key.verify(current, &self.draft)?;
        }
        self.draft.verify_newcomers(current)?;
        let plan = current.plan(self.draft.stakes())?;
        Ok(current.grow(&plan, &keys, &self.draft.registrations())?)
    }

    /// Every party is named at most once in each list, and there is only one way to write a change.
    fn check_order(&self) -> Result<(), ChangeError> {
        let approvals: Vec<_> = self.approved_by().collect();
        let keys: Vec<_> = self.keys.iter().map(|key| key.party).collect();
        for (what, parties) in [("approvals", approvals), ("keys", keys)] {
            for (before, party) in parties.iter().zip(parties.iter().skip(1)) {
                if before >= party {
                    return Err(ChangeError::Order { what, party: *party });
                }
            }
        }
        Ok(())
    }

    /// Members with more than two thirds of this epoch's stake approve, and nobody else.
    fn check_quorum(&self, current: &Setup) -> Result<(), ChangeError> {
        let stake = |party: Party| current.members.get(party.index()).map(|member| member.stake);
        // The sum of all stakes fits, because the engine has counted it.
        let sum = |sum: Stake, stake: Stake| sum.checked_add(stake).unwrap_or(sum);
        let mut got = Stake::ZERO;
        for party in self.approved_by() {
            let member = stake(party).filter(|stake| *stake > Stake::ZERO);
            got = sum(got, member.ok_or(ChangeError::Stranger { party })?);
        }
        let total = current.members.iter().map(|member| member.stake).fold(Stake::ZERO, sum);
        let exceed = Stake::new(Ratio::TWO_THIRDS.floor_of(total.get()));
        if got > exceed { Ok(()) } else { Err(ChangeError::BelowQuorum { got, exceed }) }
    }

    /// The keys by party. Nobody may give one that is not to be used.
    fn keys(&self, current: &Setup) -> Result<BTreeMap<Party, KeyRegistration>, ChangeError> {
        for FreshKey { party, .. } in &self.keys {
            let is_known = party.index() < current.members.len();
            if !is_known || !self.draft.has_stake(*party) {
                return Err(ChangeError::NeedlessKey { party: *party });
            }
        }
        Ok(self.keys.iter().map(|key| (key.party, key.registration.clone())).collect())
    }
}

/// The committee changes when enough of its stake says so in a block ([`Change`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct ApprovedChanges;

impl Succession for ApprovedChanges {
    fn next(&self, current: &Setup, _: Slot, block: &Block) -> Decision {
        let mut refused = Vec::new();
        let is_change = |one: &[u8]| Kind::of(one) == Some(Kind::Change);
        let changes = block.transactions.iter().enumerate().filter(|(_, one)| is_change(one));
        for (position, transaction) in changes {
            let verified =
                Change::from_transaction(transaction).and_then(|change| change.verify(current));
            match verified {
                Ok(next) => return Decision { next: Some(Arc::new(next)), refused },
                Err(error) => refused.push(RefusedChange { position, error: Arc::new(error) }),
            }
        }
        Decision { next: None, refused }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests;
