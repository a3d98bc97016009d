//! What there is to serve of a weighted VUF: its epochs with their keys, and its values.
//!
//! Parties write, requests read. When the keys of an epoch suffice at a party, it enters them, and signs them if it is
//! of the committee before: more than two thirds of that committee's stake make the [`VufHandover`] by which a reader
//! gets on. Each party signs what its own key generation ended with. In a devnet all committees are known from the
//! start, with the keys that sign; on another network a party has them from the set-up of the epoch.
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::certificate::{Certificate, Elector, Electorate};
use prefinal_crypto_core::wvuf::BlindedKey;
use prefinal_light::{EpochRow, MemberList, VufEpoch, VufHandover, VufKeys, VufProof, Waypoint};
use prefinal_protocol::{ChainId, EpochId, Slot};
use prefinal_registry::{NamedScheme, light};
use prefinal_validator::Event;
use prefinal_validator::scheme::PerPath;
use prefinal_validator::setup::{Identity, Plan, Setup};

use super::board::SlotReport;
use super::events::Feed;
use super::vuf::{EPOCHS, PARTIALS, VALUES, shown_by, summary};

/// An epoch whose keys suffice.
pub(super) struct Term {
    pub(super) epoch: VufEpoch,
    pub(super) keys: VufKeys,
    /// The epoch's public key `ĝ^f(0)`, encoded.
    pub(super) public_key: [u8; 96],
    pub(super) handover: Option<VufHandover>,
    /// What members of the epoch before have signed, until that is enough.
    votes: BTreeMap<Party, Signature>,
}

/// Proofs with the values that they show.
type Values = BTreeMap<Slot, (VufProof, [u8; 32])>;

/// The committee of an epoch, and those of its members that sign.
struct Committee {
    members: MemberList,
    electorate: Electorate<MinSig>,
}

/// What there is to serve of a chain with a weighted VUF.
pub struct VufBoard {
    chain: ChainId,
    /// By epoch, all that the chain will have.
    committees: Vec<Committee>,
    state: RwLock<State>,
    pub(super) feed: Arc<Feed>,
}

#[derive(Default)]
struct State {
    epochs: BTreeMap<EpochId, Term>,
    values: Values,
    /// Partials of all values.
    partials: usize,
}

impl VufBoard {
    /// Without any epoch yet, for a chain whose first committee is that of `setup` and whose later ones have these plans.
    /// `None` if a committee has no stake.
    #[must_use]
    pub fn new(setup: &Setup, later: &[Plan]) -> Option<Self> {
        let first: Vec<u128> = setup.members.iter().map(|member| member.stake.get()).collect();
        let of_plan = |plan: &Plan| plan.stakes.iter().map(|stake| stake.get()).collect();
        let stakes = std::iter::once(first).chain(later.iter().map(of_plan));
        let committee = |stakes: Vec<u128>| {
            let electors = setup.certifiers.iter().zip(&stakes);
            let electors = electors.map(|(one, stake)| Elector { key: one.key, stake: *stake });
            let electorate = Electorate::more_than_two_thirds(electors.collect()).ok()?;
            let members = light::members_of(&setup.certifiers, stakes.into_iter());
            Some(Committee { members, electorate })
        };
        let committees = stakes.map(committee).collect::<Option<_>>()?;
        let (chain, feed) = (setup.context.chain, Arc::new(Feed::new()));
        Some(Self { chain, committees, state: RwLock::default(), feed })
    }

    /// Takes what a party noticed.
    pub fn note<S: NamedScheme>(&self, by: &Identity, event: &Event<S>) {
        match event {
            Event::Ready { epoch, first_slot, committees } => {
                if let Some((keys, public_key)) = S::vuf_keys(committees)
                    && let Some(committee) = self.committee(*epoch)
                {
                    let row = EpochRow::new(*epoch, *first_slot, &committee.members);
                    let waypoint = Waypoint { chain: self.chain, epoch: row };
                    let epoch = VufEpoch { waypoint, key: keys.digest() };
                    let public_key = public_key.to_bytes();
                    let term = Term::new(epoch, keys, public_key);
                    let info = summary(&term).to_string();
                    self.write().enter(term);
                    self.feed.introduce(info);
                    self.endorse(by, &epoch);
                }
            }
            Event::Admitted(epoch, admitted) => {
                if let Some(late) = S::vuf_late(admitted)
                    && let Some(term) = self.write().epochs.get_mut(epoch)
                {
                    term.admit(admitted.party, late);
                }
            }
            Event::Revealed(reveal) => {
                let mut state = self.write();
                if let Some(epoch) = state.epoch_of(reveal.slot)
                    && !state.values.contains_key(&reveal.slot)
                    && let Some(proof) = S::vuf_proof(epoch, reveal)
                {
                    state.reveal(proof, reveal.randomness());
                }
            }
            _ => {}
        }
    }

    /// What readers pin of an epoch, if its keys suffice and it is kept.
    #[must_use]
    pub fn pin(&self, epoch: EpochId) -> Option<[u8; 32]> {
        self.read().epochs.get(&epoch).map(|term| term.epoch.id())
    }

    /// The epochs that are kept, while `read` reads.
    pub(super) fn epochs<T>(&self, read: impl FnOnce(&BTreeMap<EpochId, Term>) -> T) -> T {
        read(&self.read().epochs)
    }

    /// The values that are kept, while `read` reads.
    pub(super) fn values<T>(&self, read: impl FnOnce(&Values) -> T) -> T {
        read(&self.read().values)
    }

    /// The committee of an epoch.
    pub(super) fn members(&self, term: &Term) -> Option<&MemberList> {
        let committee = self.committee(term.epoch.waypoint.epoch.epoch);
        committee.map(|committee| &committee.members)
    }

    /// All parties have a slot's value.
    pub fn show(&self, shown: &SlotReport) {
        let state = self.read();
        let Some((proof, randomness)) = state.values.get(&shown.slot) else { return };
        self.feed.tell(shown.slot.get(), shown.to_json(randomness, shown_by(proof)));
    }

    fn committee(&self, epoch: EpochId) -> Option<&Committee> {
        self.committees.get(usize::try_from(epoch.get()).ok()?)
    }

    /// A member of the committee before signs the epoch; the last one that is needed makes the handover.
    fn endorse(&self, by: &Identity, epoch: &VufEpoch) {
        let number = epoch.waypoint.epoch.epoch;
        let before =
            number.get().checked_sub(1).and_then(|before| self.committee(EpochId::new(before)));
        let Some((before, committee)) = before.zip(self.committee(number)) else { return };
        if before.electorate.elector(by.me).is_none_or(|elector| elector.stake == 0) {
            return;
        }
        let message = epoch.to_bytes();
        let vote = by.certifier().sign(VufEpoch::DOMAIN, &message);
        let mut state = self.write();
        let term = state.epochs.get_mut(&number).filter(|term| term.epoch == *epoch);
        let Some(term) = term.filter(|term| term.handover.is_none()) else { return };
        term.votes.insert(by.me, vote);
        let votes = &term.votes;
        let made = Certificate::assemble(&before.electorate, VufEpoch::DOMAIN, &message, votes);
        if let Ok(made) = made
            && let Some(changes) = before.members.changes_to(&committee.members)
        {
            let (first, certificate) = (epoch.waypoint.epoch.first, made.into_inner());
            term.handover = Some(VufHandover { first, changes, key: epoch.key, certificate });
            term.votes.clear();
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Term {
    const fn new(epoch: VufEpoch, keys: VufKeys, public_key: [u8; 96]) -> Self {
        Self { epoch, keys, public_key, handover: None, votes: BTreeMap::new() }
    }

    /// The first key of a party stays.
    fn admit(&mut self, party: Party, late: PerPath<BlindedKey>) {
        let VufKeys { slow, fast, .. } = &mut self.keys;
        slow.blinded.entry(party).or_insert(late.slow);
        if let (Some(path), Some(key)) = (fast, late.fast) {
            path.blinded.entry(party).or_insert(key);
        }
    }
}

impl State {
    /// All parties have the same; the oldest goes first.
    fn enter(&mut self, term: Term) {
        self.epochs.entry(term.epoch.waypoint.epoch.epoch).or_insert(term);
        while self.epochs.len() > EPOCHS {
            self.epochs.pop_first();
        }
    }

    /// The epoch that a slot is in.
    fn epoch_of(&self, slot: Slot) -> Option<EpochId> {
        let begun = |term: &&Term| term.epoch.waypoint.epoch.first <= slot;
        self.epochs.values().rev().find(begun).map(|term| term.epoch.waypoint.epoch.epoch)
    }

    /// The oldest go first, and the newest stays.
    fn reveal(&mut self, proof: VufProof, randomness: [u8; 32]) {
        self.partials += proof.partials.len();
        self.values.insert(proof.slot, (proof, randomness));
        while self.values.len() > VALUES || (self.partials > PARTIALS && self.values.len() > 1) {
            let Some((_, (oldest, _))) = self.values.pop_first() else { return };
            self.partials = self.partials.saturating_sub(oldest.partials.len());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use prefinal_crypto_core::wvuf::Partial;
    use prefinal_light::VufPath;

    use super::*;

    fn proof(slot: u64, partials: u32) -> VufProof {
        // Any point of the group is a partial of somebody.
        let point = prefinal_crypto_core::curve::G2Affine::generator().to_bytes();
        let partial: Partial = borsh::from_slice(&point).unwrap();
        let partials = (0..partials).map(|party| (Party::new(party), partial)).collect();
        let (epoch, slot) = (EpochId::new(0), Slot::new(slot));
        VufProof { epoch, slot, path: VufPath::Slow, partials }
    }

    #[test]
    fn values_are_bounded_by_their_number_and_by_their_partials() {
        let mut state = State::default();
        let most = u64::try_from(VALUES).unwrap();
        (1..=most + 3).for_each(|slot| state.reveal(proof(slot, 1), [0; 32]));
        assert_eq!((state.values.len(), state.partials), (VALUES, VALUES));
        assert_eq!(state.values.first_key_value().unwrap().0.get(), 4);
        // A large one takes the place of many.
        state.reveal(proof(most + 4, u32::try_from(PARTIALS).unwrap() - 2), [0; 32]);
        assert_eq!((state.values.len(), state.partials), (3, PARTIALS));
        state.reveal(proof(most + 5, u32::try_from(PARTIALS).unwrap() + 2), [0; 32]);
        assert_eq!(state.values.len(), 1);
        assert_eq!(state.values.first_key_value().unwrap().0.get(), most + 5);
    }
}
