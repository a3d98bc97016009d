//! Threshold BLS over dealings with field elements: whoever has opened its shares signs.
use std::sync::Arc;

use ::beacon::{Binding, Bls, Reveal, Slot};
use crypto_core::access::Party;
use crypto_core::bls::MinSig;
use crypto_core::bls::min_sig::{PublicKey, Signature};
use crypto_core::context::Context;
use crypto_core::threshold::Committee;
use pvss_dkg::field::{Dealing, Key, Shares};
use pvss_dkg::protocol::{EpochKey, Field};
use pvss_dkg::{Config, Dkg};

use super::{Admissions, Fixed, Keyed, Name, Opened, PerPath};
use crate::chronicle::{Chronicle, Rounds};
use crate::setup::{Identity, Setup};

impl Keyed for Bls {
    const NAME: Name = Name::Bls;
    type Collect = Dkg<Dealing>;
    type Shares = Shares;

    fn collect(config: Arc<Config>) -> Dkg<Dealing> {
        Dkg::new(config)
    }

    fn fix(key: &Arc<EpochKey<Field>>, sum: &Arc<Key>) -> Result<Fixed<Self>, String> {
        let committees =
            key.signing(Bls::purpose(Binding::Slot)).map_err(|error| error.to_string())?;
        Ok(Fixed { key: Arc::clone(key), sum: Arc::clone(sum), committees })
    }

    /// The first value is round 1, as drand's clients expect.
    fn binding(first: Slot) -> Binding {
        Binding::Rounds { first }
    }

    fn dealers(sum: &Key) -> Vec<Party> {
        sum.dealers().collect()
    }

    fn decrypt(setup: &Setup, identity: &Identity, key: &Fixed<Self>) -> Result<Shares, String> {
        let opened = key.sum.decrypt(&setup.keygen, identity.me, identity.decryption());
        Ok(opened.map_err(|error| error.to_string())?.shares)
    }

    fn open(
        _: &Setup,
        identity: &Identity,
        key: &Fixed<Self>,
        shares: &Shares,
    ) -> Result<Opened<Self>, String> {
        let keys = shares.signing(identity.me, &key.committees);
        let keys = keys.map_err(|error| error.to_string())?;
        Ok(Opened { keys, transaction: None })
    }

    fn keys_bytes(_: usize, _: usize) -> Option<usize> {
        None
    }

    fn admit_all(_: &Setup, transactions: &[Arc<[u8]>], _: &Fixed<Self>) -> Admissions<Self> {
        // Refused by their length before.
        transactions.iter().map(|_| Err("nobody has keys to publish".to_owned())).collect()
    }

    fn public_key(committee: &Committee<MinSig>) -> Option<PublicKey> {
        Some(committee.group_key())
    }

    fn signature(output: &Signature) -> Option<Signature> {
        Some(*output)
    }

    fn chronicle(
        _: Context,
        committees: &PerPath<Committee<MinSig>>,
        reveals: &[&Reveal<Self>],
    ) -> Chronicle {
        Chronicle::Bls(Rounds::new(committees.slow.group_key(), reveals))
    }
}
