//! The committee of an epoch, as it is sent, and what changes of it from one epoch to the next.
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::{ProofOfPossession, PublicKey};
use prefinal_crypto_core::certificate::{Elector, Electorate};
use prefinal_crypto_core::verified::Verified;
use sha2::{Digest, Sha256};

use crate::error::MembersError;

/// A member of a committee. Nothing of it is checked yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Member {
    /// The key that the member signs state certificates with.
    pub key: PublicKey,
    /// Shows that the member has the secret key. Without it a key could be made of the others' keys.
    pub possession: ProofOfPossession,
    /// The stake that the member's signature counts.
    pub stake: u128,
}

/// The committee of an epoch; the position is the [`Party`]. Who left keeps its place, with stake 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct MemberList {
    /// All members, in the order of their numbers.
    pub members: Vec<Member>,
}

/// What changes at one place of a committee.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum MemberChange {
    /// The member at this place has another stake.
    Stake(u128),
    /// There is another member, or another key. At the place behind the last one, somebody joins.
    Member(Box<Member>),
}

/// What changes of a committee from one epoch to the next. Nothing, if it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct MemberChanges {
    /// The changes by place.
    pub places: BTreeMap<Party, MemberChange>,
}

/// A committee whose keys are checked.
#[derive(Clone, Debug)]
pub(crate) struct CheckedMembers {
    pub(crate) electorate: Electorate<MinSig>,
    possessions: Vec<ProofOfPossession>,
}

/// A member on its way to be checked. Of those that stay, the key was checked before.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    member: Member,
    checked: Option<Verified<PublicKey>>,
}

/// The next committee, none of whose new keys is checked.
#[derive(Clone, Debug)]
pub(crate) struct Candidates(Vec<Candidate>);

impl MemberList {
    /// What names the committee: SHA-256 of a tag and the keys (96) and stakes (16, big-endian) of all members.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        id(self.members.iter())
    }

    /// What turns this committee into `next`; `None` if `next` has fewer places, which no committee of this
    /// chain may.
    #[must_use]
    pub fn changes_to(&self, next: &Self) -> Option<MemberChanges> {
        if next.members.len() < self.members.len() {
            return None;
        }
        let mut places = BTreeMap::new();
        for (at, (party, member)) in (0..).map(Party::new).zip(&next.members).enumerate() {
            let before = self.members.get(at);
            let same_key = before.is_some_and(|before| before.key == member.key);
            if before.is_some_and(|before| same_key && before.stake == member.stake) {
                continue;
            }
            let change = match same_key {
                true => MemberChange::Stake(member.stake),
                false => MemberChange::Member(Box::new(*member)),
            };
            places.insert(party, change);
        }
        Some(MemberChanges { places })
    }

    /// Checks all keys. Costs a hash to 𝔾₁ and two pairings for each.
    pub(crate) fn check(&self) -> Result<CheckedMembers, MembersError> {
        let candidate = |member: &Member| Candidate { member: *member, checked: None };
        Candidates(self.members.iter().map(candidate).collect()).check()
    }
}

impl CheckedMembers {
    /// The committee as it is sent.
    pub(crate) fn to_list(&self) -> MemberList {
        MemberList { members: self.candidates().map(|one| one.member).collect() }
    }

    /// The next committee, with the keys of those that stay.
    pub(crate) fn change(&self, changes: &MemberChanges) -> Result<Candidates, MembersError> {
        let mut next: Vec<Candidate> = self.candidates().collect();
        for (&party, change) in &changes.places {
            let parties = next.len();
            match (next.get_mut(party.index()), change) {
                (Some(place), MemberChange::Stake(stake)) => place.member.stake = *stake,
                (Some(place), MemberChange::Member(member)) => {
                    *place = Candidate { member: **member, checked: None };
                }
                (None, MemberChange::Member(member)) if party.index() == parties => {
                    next.push(Candidate { member: **member, checked: None });
                }
                (None, _) => return Err(MembersError::Place { party, parties }),
            }
        }
        Ok(Candidates(next))
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate> + '_ {
        let electors = (0..).map(Party::new).map_while(|party| self.electorate.elector(party));
        electors.zip(&self.possessions).map(|(elector, &possession)| {
            let Elector { key, stake } = *elector;
            let member = Member { key: key.into_inner(), possession, stake };
            Candidate { member, checked: Some(key) }
        })
    }
}

impl Candidates {
    /// The hash of the list, which is that of [`MemberList::id`].
    pub(crate) fn id(&self) -> [u8; 32] {
        id(self.0.iter().map(|one| &one.member))
    }

    /// Checks the new keys.
    pub(crate) fn check(&self) -> Result<CheckedMembers, MembersError> {
        let elector = |(party, one): (Party, &Candidate)| {
            let Member { key, possession, stake } = one.member;
            let checked = match one.checked {
                Some(checked) => Ok(checked),
                None => key.verify_possession(&possession),
            };
            let key = checked.map_err(|error| MembersError::Possession { party, error })?;
            Ok(Elector { key, stake })
        };
        let electors = (0..).map(Party::new).zip(&self.0).map(elector);
        let electors: Vec<_> = electors.collect::<Result<_, MembersError>>()?;
        let possessions = self.0.iter().map(|one| one.member.possession).collect();
        Ok(CheckedMembers { electorate: Electorate::more_than_two_thirds(electors)?, possessions })
    }
}

fn id<'a>(members: impl Iterator<Item = &'a Member>) -> [u8; 32] {
    let mut hash = Sha256::new().chain_update(b"prefinal/light/v1/members");
    for member in members {
        hash.update(member.key.to_bytes());
        hash.update(member.stake.to_be_bytes());
    }
    hash.finalize().into()
}
