//! What a party publishes to become a member of a chain's first committee, or of a later one
//! ([`Application`](crate::change::Application)).
//!
//! Each BLS key and encryption key comes with a proof that the party knows its secret; the Ed25519 key, with
//! which an engine signs single messages, needs none. Without the proofs a party could
//! choose its key as a function of the others' keys, and sign or decrypt in their names.
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::EpochId;
use prefinal_crypto_core::verified::Verified;
use prefinal_pvss_dkg::{EncryptionKey, KeyRegistration};

use super::{CertificateKey, FIRST, Identity, PlanError};

/// The public keys of one party, with a proof for each. It holds no secret and does not depend on
/// the party's number. Make it with [`Identity::registration`] and send it to those who write the genesis.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Registration {
    signer: Owned,
    certifier: Owned,
    encryption: KeyRegistration,
    ed25519: [u8; 32],
}

/// A key with the proof that its owner knows the secret key.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
struct Owned {
    key: min_sig::PublicKey,
    possession: min_sig::ProofOfPossession,
}

/// The keys of a registration whose proofs hold.
pub(super) struct Admitted {
    pub(super) signer: Verified<min_sig::PublicKey>,
    pub(super) certifier: CertificateKey,
    pub(super) encryption: EncryptionKey,
    pub(super) ed25519: [u8; 32],
}

impl Registration {
    /// The Ed25519 public key that it names. No proof is checked here.
    #[must_use]
    pub const fn ed25519(&self) -> [u8; 32] {
        self.ed25519
    }

    /// The key that the party signs with. That it has the secret key is not checked yet.
    #[must_use]
    pub const fn signer(&self) -> &min_sig::PublicKey {
        &self.signer.key
    }

    pub(super) fn of(identity: &Identity, encryption: KeyRegistration) -> Self {
        Self {
            signer: Owned::new(&identity.signer),
            certifier: Owned::new(&identity.certifier()),
            encryption,
            ed25519: identity.ed25519_public(),
        }
    }

    /// The checks that every party makes before it accepts another one as a member. Costs seven pairings.
    pub(super) fn admit(&self, party: Party) -> Result<Admitted, PlanError> {
        let encryption = self.encryption.verify(&self.signer.key);
        let encryption = encryption.map_err(|error| PlanError::Encryption { party, error })?;
        let signer = self.signer.verify(party)?;
        let (key, possession) = (self.certifier.verify(party)?, self.certifier.possession);
        let certifier = CertificateKey { key, possession };
        Ok(Admitted { signer, certifier, encryption, ed25519: self.ed25519 })
    }
}

impl Identity {
    /// The registration with which the party becomes a member of a chain's first committee. The same
    /// bytes each time.
    #[must_use]
    pub fn registration(&self) -> Registration {
        self.registration_for(FIRST)
    }

    /// The registration with which the party becomes a member in this epoch. Its encryption key is for
    /// that epoch alone.
    #[must_use]
    pub fn registration_for(&self, epoch: EpochId) -> Registration {
        Registration::of(self, self.register(epoch))
    }
}

impl Owned {
    fn new(secret: &min_sig::SecretKey) -> Self {
        Self { key: secret.public_key(), possession: secret.prove_possession() }
    }

    fn verify(&self, party: Party) -> Result<Verified<min_sig::PublicKey>, PlanError> {
        let verified = self.key.verify_possession(&self.possession);
        verified.map_err(|error| PlanError::Signing { party, error })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeMap;

    use prefinal_crypto_core::context::ChainId;
    use prefinal_crypto_core::secret::Secret;
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::super::{Algorithm, Plan, Setup};
    use super::*;

    const CHAIN: ChainId = ChainId::new([3; 32]);

    fn identity(number: u32) -> Identity {
        let seed = [u8::try_from(number + 1).unwrap(); 32];
        Identity::from_seed(Party::new(number), Secret::new(seed))
    }

    fn four() -> (Plan, Vec<Registration>) {
        let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
        let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        (plan, (0..4).map(|number| identity(number).registration()).collect())
    }

    fn refusal((plan, registrations): &(Plan, Vec<Registration>)) -> PlanError {
        Setup::new(CHAIN, plan, registrations).err().unwrap()
    }

    #[test]
    fn all_parties_get_the_same_set_up() {
        let (plan, registrations) = four();
        let bytes = borsh::to_vec(&registrations).unwrap();
        let read: Vec<Registration> = borsh::from_slice(&bytes).unwrap();
        let [one, other] =
            [registrations, read].map(|from| Setup::new(CHAIN, &plan, &from).unwrap());
        assert_eq!(one.keygen.digest(), other.keygen.digest());
        let keys = |setup: &Setup| setup.members.iter().map(|one| one.key).collect::<Vec<_>>();
        assert_eq!(keys(&one), keys(&other));
        assert_eq!((&one.certifiers, &one.ed25519), (&other.certifiers, &other.ed25519));
        assert_eq!(one.context.chain, CHAIN);
    }

    #[test]
    fn a_registration_is_the_same_after_a_restart() {
        assert_eq!(identity(1).registration(), identity(1).registration());
        assert_ne!(identity(1).registration(), identity(2).registration());
    }

    #[test]
    fn foreign_proofs_are_refused() {
        let mut wrong = four();
        wrong.1[1].signer.possession = wrong.1[2].signer.possession;
        // The encryption key's registration is signed by the signer, so that key stays.
        assert!(matches!(refusal(&wrong), PlanError::Signing { party, .. } if party.get() == 1));
        let mut wrong = four();
        wrong.1[1].certifier.possession = wrong.1[2].certifier.possession;
        assert!(matches!(refusal(&wrong), PlanError::Signing { party, .. } if party.get() == 1));
        let mut wrong = four();
        wrong.1[1].encryption = wrong.1[2].encryption.clone();
        assert!(matches!(refusal(&wrong), PlanError::Encryption { party, .. } if party.get() == 1));
    }

    #[test]
    fn a_registration_counts_for_one_party() {
        let mut twice = four();
        twice.1[3] = twice.1[0].clone();
        assert!(matches!(refusal(&twice), PlanError::SameKey { .. }));
        let mut twice = four();
        (twice.1[3].signer, twice.1[3].encryption) =
            (twice.1[0].signer.clone(), twice.1[0].encryption.clone());
        assert!(matches!(refusal(&twice), PlanError::Keygen(_)));
        // Votes and dealings under the attacker's keys, certificates in another's name.
        let mut twice = four();
        twice.1[3].certifier = twice.1[0].certifier.clone();
        assert!(matches!(refusal(&twice), PlanError::SameKey { first, second, .. }
            if (first.get(), second.get()) == (0, 3)));
        let mut twice = four();
        twice.1[3].ed25519 = twice.1[0].ed25519;
        assert!(matches!(refusal(&twice), PlanError::SameKey { .. }));
        let mut few = four();
        few.1.pop();
        assert!(matches!(refusal(&few), PlanError::Parties { got: 3, expected: 4, .. }));
    }

    /// A party that has left is one of them, for its number stays its own.
    #[test]
    fn a_newcomer_shares_no_key_with_any_party() {
        let (plan, registrations) = four();
        let first = Setup::new(CHAIN, &plan, &registrations).unwrap();
        let epoch = first.context.epoch.next();
        let keys: BTreeMap<_, _> =
            [0, 1, 3].map(|number| (Party::new(number), identity(number).register(epoch))).into();
        let plan = first.plan([40, 30, 0, 10, 20].map(Stake::new).to_vec()).unwrap();
        let newcomer = || identity(4).registration_for(epoch);
        let grow = |newcomers: &[Registration]| first.grow(&plan, &keys, newcomers);
        assert_eq!(grow(&[newcomer()]).unwrap().members.len(), 5);
        let one = PlanError::Parties { what: "stakes", got: 5, expected: 4 };
        assert_eq!(grow(&[]).err().unwrap().to_string(), one.to_string());
        let is_refused = |what: &str, newcomer: Registration| {
            let error = grow(&[newcomer]).err().unwrap();
            let same = matches!(&error, PlanError::SameKey { what: found, first, second }
                if *found == what && (first.get(), second.get()) == (2, 4));
            assert!(same, "{error}");
        };
        let mut signs = newcomer();
        let old = identity(2).registration_for(epoch);
        (signs.signer, signs.encryption) = (old.signer.clone(), old.encryption);
        is_refused("signing", signs);
        is_refused("certificate", Registration { certifier: old.certifier, ..newcomer() });
        is_refused("Ed25519", Registration { ed25519: old.ed25519, ..newcomer() });
        // The proofs are checked as for the first committee.
        let mut foreign = newcomer();
        foreign.signer.possession = old.signer.possession;
        let foreign = grow(&[foreign]).err().unwrap();
        assert!(matches!(foreign, PlanError::Signing { party, .. } if party.get() == 4));
        let key = Registration { encryption: keys[&Party::new(0)].clone(), ..newcomer() };
        let key = grow(&[key]).err().unwrap();
        assert!(matches!(key, PlanError::Encryption { party, .. } if party.get() == 4));
    }
}
