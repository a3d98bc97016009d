//! Threshold BLS over dealings with field elements. A party that has opened its shares can sign. The
//! first committee makes the key, and it is handed over to all later ones.
use std::sync::Arc;

use ::prefinal_beacon::{Binding, Bls, Slot};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::{PublicKey, Signature};
use prefinal_crypto_core::threshold::SigningCommittee;
use prefinal_pvss_dkg::field::{Handover, HandoverError, Key, Shares};
use prefinal_pvss_dkg::protocol::{EpochKey, Field, FieldDealings};
use prefinal_pvss_dkg::{Config, Dkg};

use super::{Admissions, CommitteeKey, KeyedScheme, PartyKeys, PreviousKey};
use crate::setup::{Identity, Setup};

impl KeyedScheme for Bls {
    type Collect = FieldDealings;
    type Shares = Shares;

    fn collect(
        config: Arc<Config>,
        before: Option<&PreviousKey<Self>>,
    ) -> Result<FieldDealings, HandoverError> {
        let Some(before) = before else { return Ok(Dkg::new(config).into()) };
        Ok(Handover::new(config, before.key.key.predecessor())?.into())
    }

    fn held(before: Option<&PreviousKey<Self>>) -> Option<Arc<Shares>> {
        before.and_then(|before| before.shares.clone())
    }

    fn fix(key: &Arc<EpochKey<Field>>, sum: &Arc<Key>) -> Result<CommitteeKey<Self>, String> {
        let committees =
            key.signing(Bls::purpose(Binding::Slot)).map_err(|error| error.to_string())?;
        Ok(CommitteeKey { key: Arc::clone(key), sum: Arc::clone(sum), committees })
    }

    /// The first value is round 1, as drand's clients expect it.
    fn binding(first: Slot) -> Binding {
        Binding::Rounds { first }
    }

    fn dealers(sum: &Key) -> Vec<Party> {
        sum.dealers().collect()
    }

    fn decrypt(
        setup: &Setup,
        identity: &Identity,
        key: &CommitteeKey<Self>,
    ) -> Result<Shares, String> {
        let opened =
            key.sum.decrypt(&setup.keygen, identity.me, identity.decryption(setup.context.epoch));
        Ok(opened.map_err(|error| error.to_string())?.shares)
    }

    fn open(
        _: &Setup,
        identity: &Identity,
        key: &CommitteeKey<Self>,
        shares: &Arc<Shares>,
    ) -> Result<PartyKeys<Self>, String> {
        let keys = shares.signing(identity.me, &key.committees);
        let keys = keys.map_err(|error| error.to_string())?;
        Ok(PartyKeys { keys, transaction: None, shares: Some(Arc::clone(shares)) })
    }

    fn keys_bytes(_: usize, _: usize) -> Option<usize> {
        None
    }

    fn admit_all(
        _: &Setup,
        transactions: &[Arc<[u8]>],
        _: &CommitteeKey<Self>,
    ) -> Admissions<Self> {
        // They were refused by their length before.
        transactions.iter().map(|_| Err("nobody has keys to publish".to_owned())).collect()
    }

    fn public_key(committee: &SigningCommittee<MinSig>) -> Option<PublicKey> {
        Some(committee.group_key())
    }

    fn signature(output: &Signature) -> Option<Signature> {
        Some(*output)
    }
}
