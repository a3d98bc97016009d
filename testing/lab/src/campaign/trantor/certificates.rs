//! Certificates that prove nothing, each with one flaw. The signatures are those of the faulty parties, or
//! true ones of honest parties about something else.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::prefinal_trantor::{
    AvailabilityCertificate, BatchId, BatchLabel, ChangeCertificate, MultiSignature, Replicas,
    Stage, VoteCertificate,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig::{Domain, Signature, aggregate};
use prefinal_crypto_core::certificate::Signers;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Slot, Value, View};
use prefinal_sim::Dice;
use prefinal_validator::setup::Identity;

use super::super::tally::Flaw;
use super::overheard::Overheard;

/// The domain of view changes, as the engine has it.
pub(super) const CHANGE: Domain = Domain::new("trantor view change");

/// For how many heights a made-up batch may be ordered.
const LIFETIME: u64 = 400;

/// Makes false certificates.
pub(super) struct Forger<'a> {
    pub(super) epoch: EpochId,
    pub(super) committee: &'a Replicas,
    pub(super) accomplices: &'a BTreeMap<Party, Arc<Identity>>,
    pub(super) overheard: &'a Overheard,
}

impl Forger<'_> {
    /// A proof of a statement with this flaw. `genuine` is a quorum's signature on another statement.
    fn proof(
        &self,
        flaw: Flaw,
        (domain, message): (Domain, &[u8]),
        genuine: Option<MultiSignature>,
    ) -> Option<MultiSignature> {
        let size = self.committee.size();
        let all = (0..).map(Party::new).take(size);
        let sign = |one: &Arc<Identity>| one.signer.sign(domain, message);
        let signatures: Vec<Signature> = self.accomplices.values().map(sign).collect();
        Some(match flaw {
            Flaw::Signature => MultiSignature {
                signers: Signers::new(size, all).ok()?,
                signature: *signatures.first()?,
            },
            Flaw::Stake => MultiSignature {
                signers: Signers::new(size, self.accomplices.keys().copied()).ok()?,
                signature: aggregate(&signatures).ok()?,
            },
            Flaw::Statement => genuine?,
        })
    }

    /// A certificate that nobody needs to have the batch for: there is none.
    pub(super) fn availability(
        &self,
        flaw: Flaw,
        (author, slot): (Party, Slot),
        dice: &mut Dice,
    ) -> Option<AvailabilityCertificate> {
        let batch = BatchLabel {
            author,
            until: slot.after(LIFETIME),
            id: BatchId::new(random(dice)),
            bytes: 100,
        };
        let genuine = self.overheard.available(self.epoch, slot).map(|one| one.acks.clone());
        let message = batch.statement(self.committee);
        let acks = self.proof(flaw, (BatchLabel::domain(), &message), genuine)?;
        Some(AvailabilityCertificate { batch, acks })
    }

    /// A certificate that a value is prepared in a view.
    pub(super) fn prepared(&self, flaw: Flaw, view: View, value: Value) -> Option<VoteCertificate> {
        let mut others = self.overheard.prepared(self.epoch, self.committee);
        let genuine = others.find(|one| (one.view, one.value) != (view, value));
        let message = self.committee.statement(view, value);
        let statement = (Stage::Prepare.domain(), &*message);
        let votes = self.proof(flaw, statement, genuine.map(|one| one.votes))?;
        Some(VoteCertificate { view, value, votes })
    }

    /// A certificate that a value is decided. The other statement is that it is prepared.
    pub(super) fn committed(
        &self,
        flaw: Flaw,
        view: View,
        value: Value,
    ) -> Option<VoteCertificate> {
        let mut others = self.overheard.prepared(self.epoch, self.committee);
        let genuine = others.find(|one| (one.view, one.value) == (view, value));
        let message = self.committee.statement(view, value);
        let statement = (Stage::Commit.domain(), &*message);
        let votes = self.proof(flaw, statement, genuine.map(|one| one.votes))?;
        Some(VoteCertificate { view, value, votes })
    }

    /// A certificate that a quorum asks for a view, and names this attempt as the last that was prepared.
    pub(super) fn change(
        &self,
        flaw: Flaw,
        view: View,
        prepared: Option<u32>,
    ) -> Option<ChangeCertificate> {
        let genuine = self.overheard.prepared(self.epoch, self.committee).next();
        let message = self.committee.change_statement(view, prepared);
        let MultiSignature { signers, signature } =
            self.proof(flaw, (CHANGE, &message), genuine.map(|one| one.votes))?;
        Some(ChangeCertificate { view, claims: [(prepared, signers)].into(), signature })
    }
}

/// Bytes that nobody has seen before.
pub(in super::super) fn random(dice: &mut Dice) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.chunks_mut(8).for_each(|part| part.copy_from_slice(&dice.below(u64::MAX).to_be_bytes()));
    bytes
}
