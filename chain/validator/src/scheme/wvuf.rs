//! The weighted VUF over dealings with group elements. A party that has opened its shares blinds them,
//! and counts once its blinded keys are ordered and admitted. Group elements cannot be dealt on, so
//! each committee has a separate key, dealt by the committee before.
use std::collections::BTreeMap;
use std::sync::Arc;

use ::prefinal_beacon::Wvuf;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::wvuf::{self, AdmittedKey, BlindedKey};
use prefinal_pvss_dkg::field::HandoverError;
use prefinal_pvss_dkg::protocol::{EpochKey, Group};
use prefinal_pvss_dkg::{Accepted, Aggregate, Config, Dealing, Dkg, Shares};

use super::{Admissions, AdmittedKeys, CommitteeKey, KeyedScheme, PartyKeys, PerPath, PreviousKey};
use crate::setup::{Identity, Setup};
use crate::transaction::{self, SignedKeys};

impl KeyedScheme for Wvuf {
    type Collect = Dkg<Dealing>;
    type Shares = Shares;

    fn collect(
        config: Arc<Config>,
        _: Option<&PreviousKey<Self>>,
    ) -> Result<Self::Collect, HandoverError> {
        Ok(Dkg::new(config))
    }

    fn held(_: Option<&PreviousKey<Self>>) {}

    fn fix(
        key: &Arc<EpochKey<Group>>,
        sum: &Arc<Accepted<Aggregate>>,
    ) -> Result<CommitteeKey<Self>, String> {
        let committees = key.evaluation().map_err(|error| error.to_string())?;
        Ok(CommitteeKey { key: Arc::clone(key), sum: Arc::clone(sum), committees })
    }

    fn dealers(sum: &Accepted<Aggregate>) -> Vec<Party> {
        sum.dealers().collect()
    }

    fn decrypt(
        setup: &Setup,
        identity: &Identity,
        key: &CommitteeKey<Self>,
    ) -> Result<Shares, String> {
        let opened =
            key.sum.decrypt(&setup.keygen, identity.me, identity.decryption(setup.context.epoch));
        opened.map_err(|error| error.to_string())
    }

    fn open(
        setup: &Setup,
        identity: &Identity,
        key: &CommitteeKey<Self>,
        shares: &Arc<Shares>,
    ) -> Result<PartyKeys<Self>, String> {
        // Another sum needs another factor: a partial counts for all shares ever blinded with its factor.
        let mut rng = identity.rng(b"blind", key.key.name());
        // Two calls give two factors. With one factor, a fast partial would be a slow partial.
        let committees = &key.committees;
        let (slow, slow_public) =
            wvuf::blind(&committees.slow, identity.me, &shares.slow, &mut rng);
        let fast = committees.fast.as_ref().zip(shares.fast.as_ref());
        let fast = fast.map(|(fast, shares)| wvuf::blind(fast, identity.me, shares, &mut rng));
        let (fast, fast_public) = fast.unzip();
        let signed = SignedKeys::new(setup, identity, slow_public, fast_public);
        let transaction = Some(transaction::keys(setup.context.epoch, &signed));
        Ok(PartyKeys { keys: PerPath { slow, fast }, transaction, shares: None })
    }

    fn keys_bytes(shares: usize, paths: usize) -> Option<usize> {
        transaction::keys_bytes(shares, paths)
    }

    /// Checks signatures and shapes one by one, and the equations of all in one batch per path.
    fn admit_all(
        setup: &Setup,
        transactions: &[Arc<[u8]>],
        key: &CommitteeKey<Self>,
    ) -> Admissions<Self> {
        let PerPath { slow, fast } = &key.committees;
        let decoded: Vec<Result<SignedKeys, String>> = transactions
            .iter()
            .map(|transaction| decode_keys(setup, transaction, fast.is_some()))
            .collect();
        let batch = |key: &dyn Fn(&SignedKeys) -> Option<BlindedKey>| -> BTreeMap<_, _> {
            decoded.iter().flatten().filter_map(|keys| Some((keys.party, key(keys)?))).collect()
        };
        let slow = slow.admit_all(batch(&|keys| Some(keys.slow.clone())));
        let fast = fast.as_ref().map(|fast| fast.admit_all(batch(&|keys| keys.fast.clone())));
        decoded
            .into_iter()
            .map(|keys| {
                let party = keys?.party;
                let slow = outcome(&slow, party)?;
                let fast = fast.as_ref().map(|fast| outcome(fast, party)).transpose()?;
                if let Some(fast) = &fast {
                    slow.check_other_path(fast).map_err(|error| error.to_string())?;
                }
                Ok(Arc::new(AdmittedKeys { party, keys: PerPath { slow, fast } }))
            })
            .collect()
    }
}

fn decode_keys(setup: &Setup, transaction: &[u8], both: bool) -> Result<SignedKeys, String> {
    let body = transaction::body(transaction, transaction::Kind::Keys)?;
    let keys: SignedKeys =
        borsh::from_slice(body).map_err(|error| format!("undecodable keys: {error}"))?;
    keys.verify(setup).map_err(|error| error.to_string())?;
    if keys.fast.is_some() != both {
        return Err(format!("{} publishes keys for the wrong paths", keys.party));
    }
    Ok(keys)
}

fn outcome(admission: &wvuf::Admission, party: Party) -> Result<AdmittedKey, String> {
    let admitted = admission.admitted.iter().find(|key| key.party() == party);
    admitted.cloned().ok_or_else(|| match admission.refused.get(&party) {
        Some(error) => format!("keys of {party}: {error}"),
        None => format!("keys of {party} were not judged"),
    })
}
