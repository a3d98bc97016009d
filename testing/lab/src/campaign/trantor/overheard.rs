//! What the faulty parties of a committee on Trantor have heard from honest ones: true certificates, to be
//! shown for something else.

use std::collections::{BTreeMap, VecDeque};

use ::prefinal_trantor::{
    AvailabilityCertificate, Body, Message, MultiSignature, Replicas, VoteCertificate,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Signature, aggregate};
use prefinal_crypto_core::certificate::Signers;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Slot, Value, View};

/// How much of each kind is remembered.
const REMEMBERED: usize = 64;

pub(super) type Votes = BTreeMap<Party, Signature>;

/// Statements of honest parties.
#[derive(Default)]
pub(crate) struct Overheard {
    prepares: BTreeMap<(EpochId, View, Value), Votes>,
    bodies: BTreeMap<(EpochId, Slot), Body>,
    available: VecDeque<(EpochId, AvailabilityCertificate)>,
}

impl Overheard {
    /// Takes note of a message.
    pub(super) fn hear(&mut self, from: Party, epoch: EpochId, message: &Message) {
        match message {
            Message::Prepare(vote) => {
                let votes = self.prepares.entry((epoch, vote.view, vote.value)).or_default();
                votes.insert(from, vote.signature);
                if self.prepares.len() > REMEMBERED {
                    self.prepares.pop_first();
                }
            }
            Message::Proposal(proposal) => {
                self.bodies.insert((epoch, proposal.slot), proposal.body.clone());
                if self.bodies.len() > REMEMBERED {
                    self.bodies.pop_first();
                }
                let all = proposal.body.certificates().iter();
                self.available.extend(all.map(|one| (epoch, one.clone())));
                let surplus = self.available.len().saturating_sub(REMEMBERED);
                drop(self.available.drain(..surplus));
            }
            _ => {}
        }
    }

    /// The last values that a quorum has prepared, with the proof of each, latest first.
    pub(super) fn prepared<'a>(
        &'a self,
        epoch: EpochId,
        committee: &'a Replicas,
    ) -> impl Iterator<Item = VoteCertificate> + 'a {
        let of_epoch = self.prepares.iter().rev().filter(move |((of, ..), _)| *of == epoch);
        of_epoch.filter_map(move |((_, view, value), votes)| {
            let stake = votes.keys().map(|party| committee.stake(*party)).sum();
            if !committee.is_strong(stake) {
                return None;
            }
            let signers = Signers::new(committee.size(), votes.keys().copied()).ok()?;
            let signature = aggregate(votes.values()).ok()?;
            let votes = MultiSignature { signers, signature };
            Some(VoteCertificate { view: *view, value: *value, votes })
        })
    }

    /// The votes of honest parties that prepare this value.
    pub(super) fn prepares(&self, epoch: EpochId, view: View, value: Value) -> Option<&Votes> {
        self.prepares.get(&(epoch, view, value))
    }

    /// The block that was proposed first for a height.
    pub(super) fn body(&self, epoch: EpochId, slot: Slot) -> Option<&Body> {
        self.bodies.get(&(epoch, slot))
    }

    /// The last batch that was in a block and that one at this height may hold.
    pub(super) fn available(&self, epoch: EpochId, slot: Slot) -> Option<&AvailabilityCertificate> {
        let mut latest = self.available.iter().rev();
        let fits = |(of, one): &&(EpochId, AvailabilityCertificate)| {
            *of == epoch && one.batch.until >= slot
        };
        latest.find(fits).map(|(_, one)| one)
    }
}
