//! The set-up of the next epoch: the same parties with other stakes, and newcomers behind them.
//!
//! A party keeps its number for ever. A party that leaves has stake 0 from then on, and its number is not
//! given to another one. So a party's number means the same in every epoch, and lists of parties only grow.
//!
//! The committee of this epoch deals for the next one, whatever the size of either. Shares are encrypted
//! under keys that their owners registered for the next epoch. To a party without stake nothing is
//! encrypted, so it needs no fresh key and keeps the entry that it has.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::Context;
use prefinal_pvss_dkg::{Config, Dealer, EncryptionKey, KeyRegistration, Member, Session};
use prefinal_weighted_rounding::{Ratio, Stake};

use super::registration::Admitted;
use super::{Plan, PlanError, Registration, Setup, distinct};

impl Setup {
    /// The set-up of the next epoch: the same parties with the stakes of another plan. A party that is
    /// not in the committee has stake 0. The committee of this epoch deals. Dealings are encrypted
    /// under the keys that the parties register for the next epoch
    /// ([`Identity::register`](super::Identity::register)), in the parties' order.
    ///
    /// # Errors
    /// The same as [`Setup::grow`], and if there is not one registration for each party.
    pub fn next(&self, plan: &Plan, registrations: &[KeyRegistration]) -> Result<Self, PlanError> {
        let (got, expected) = (registrations.len(), self.members.len());
        if got != expected {
            return Err(PlanError::Parties { what: "registrations", got, expected });
        }
        let keys = (0..).map(Party::new).zip(registrations.iter().cloned()).collect();
        self.grow(plan, &keys, &[])
    }

    /// The set-up of the next epoch, with newcomers behind the parties of this one. `plan` is for all of
    /// them. `keys` has the key of each party that has stake in the next epoch and is known in this one;
    /// newcomers have theirs in their registrations.
    ///
    /// # Errors
    /// If the plan is for another number of parties, a party with stake has no key, a registration is not
    /// its party's, a key is used already, two parties have a key in common, or the plan's parts do not
    /// fit together.
    pub fn grow(
        &self,
        plan: &Plan,
        keys: &BTreeMap<Party, KeyRegistration>,
        newcomers: &[Registration],
    ) -> Result<Self, PlanError> {
        let known = self.members.len();
        let (got, expected) = (plan.parties(), known.saturating_add(newcomers.len()));
        if got != expected {
            return Err(PlanError::Parties { what: "stakes", got, expected });
        }
        self.check_registered(plan, keys)?;
        let numbers = (0..).map(Party::new).skip(known).zip(newcomers);
        let admitted = numbers.map(|(party, one)| one.admit(party));
        let admitted = admitted.collect::<Result<Vec<_>, _>>()?;
        let recipients = self.recipients(plan, keys, &admitted)?;
        let certifiers = self.certifiers.iter().copied();
        let certifiers: Vec<_> =
            certifiers.chain(admitted.iter().map(|one| one.certifier)).collect();
        let ed25519 = self.ed25519.iter().copied();
        let ed25519: Vec<_> = ed25519.chain(admitted.iter().map(|one| one.ed25519)).collect();
        distinct("signing", recipients.iter().map(|one| one.signer.get().to_bytes()))?;
        distinct("certificate", certifiers.iter().map(|one| one.key.get().to_bytes()))?;
        distinct("Ed25519", ed25519.iter().copied())?;
        let signers = recipients.iter().map(|one| one.signer);
        let members = signers.zip(&plan.stakes);
        let members = members.map(|(key, stake)| prefinal_engine::Member { key, stake: *stake });
        let members = members.collect();
        let keygen = self.handed_over(plan, recipients)?;
        Ok(Self {
            context: keygen.session().context,
            members,
            ed25519,
            certifiers,
            keygen: Arc::new(keygen),
            choice: plan.choice,
            fast_ratio: plan.fast_ratio,
            ..self.clone()
        })
    }

    /// The plan of a later committee with these stakes: algorithm and ratio stay as they are.
    ///
    /// # Errors
    /// The same as [`Plan::new`].
    pub fn plan(&self, stakes: Vec<Stake>) -> Result<Plan, PlanError> {
        Plan::new(stakes, self.choice, self.fast_ratio)
    }

    /// The number of the party that signs with this key, if the chain has ever had such a party.
    #[must_use]
    pub fn party_of(&self, signer: &min_sig::PublicKey) -> Option<Party> {
        let mut members = (0..).map(Party::new).zip(&self.members);
        members.find(|(_, member)| member.key.get() == signer).map(|(party, _)| party)
    }

    /// Checks that the parties that are to hold shares can receive them.
    fn check_registered(
        &self,
        plan: &Plan,
        keys: &BTreeMap<Party, KeyRegistration>,
    ) -> Result<(), PlanError> {
        let known = (0..).map(Party::new).zip(&plan.stakes).take(self.members.len());
        let holders: Vec<_> =
            known.filter(|(_, stake)| **stake > Stake::ZERO).map(|(party, _)| party).collect();
        match holders.iter().find(|party| !keys.contains_key(party)) {
            Some(missing) => {
                let got = holders.iter().filter(|party| keys.contains_key(party)).count();
                Err(PlanError::Unregistered { got, need: holders.len(), missing: *missing })
            }
            None => Ok(()),
        }
    }

    /// The parties of the next epoch with the keys that their shares are encrypted to.
    fn recipients(
        &self,
        plan: &Plan,
        keys: &BTreeMap<Party, KeyRegistration>,
        newcomers: &[Admitted],
    ) -> Result<Vec<Member>, PlanError> {
        let name = |key: &EncryptionKey| key.to_bytes().to_vec();
        let used: BTreeSet<_> =
            self.keygen.members().iter().map(|member| name(&member.encryption)).collect();
        let fresh = |party, key| match used.contains(&name(&key)) {
            true => Err(PlanError::UsedKey { party }),
            false => Ok(key),
        };
        let parties = (0..).map(Party::new).zip(self.keygen.members());
        let known = parties.map(|(party, member)| {
            let Some(registration) = keys.get(&party) else {
                return Ok((member.signer, member.encryption.clone()));
            };
            let key = registration.verify(member.signer.get());
            let key = key.map_err(|error| PlanError::Encryption { party, error })?;
            Ok((member.signer, fresh(party, key)?))
        });
        let numbers = (0..).map(Party::new).skip(self.members.len());
        let new = numbers
            .zip(newcomers)
            .map(|(party, one)| Ok((one.signer, fresh(party, one.encryption.clone())?)));
        let both = known.chain(new).zip(&plan.stakes);
        let member = |(keys, stake): (Result<_, PlanError>, &Stake)| {
            let (signer, encryption) = keys?;
            Ok(Member { stake: *stake, signer, encryption })
        };
        both.map(member).collect()
    }

    /// The key generation in which the parties of this epoch deal to these.
    fn handed_over(&self, plan: &Plan, recipients: Vec<Member>) -> Result<Config, PlanError> {
        let context = Context { epoch: self.context.epoch.next(), ..self.context };
        let session = Session { context, attempt: 0, ..*self.keygen.session() };
        let dealer = |member: &Member| Dealer { stake: member.stake, signer: member.signer };
        let dealers: Vec<_> = self.keygen.members().iter().map(dealer).collect();
        let stakes = dealers.iter().map(|dealer| dealer.stake);
        let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
        Ok(Config::handover(session, plan.shape.clone(), recipients, dealers, qualify)?)
    }
}
