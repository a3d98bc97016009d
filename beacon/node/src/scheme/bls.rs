//! Threshold BLS over dealings with field elements: whoever has opened its shares signs.
use std::sync::Arc;

use ::beacon::{Binding, Bls, Reveal};
use crypto_core::access::Party;
use crypto_core::bls::MinSig;
use crypto_core::context::Context;
use crypto_core::threshold::Committee;
use pvss_dkg::field::{self, Dealing, Key};
use pvss_dkg::{Config, Dkg, Verified};

use super::{Admissions, Fixed, Keyed, Name, Opened, PerPath};
use crate::chronicle::{Chronicle, Rounds};
use crate::setup::{Identity, Setup};

impl Keyed for Bls {
    const NAME: Name = Name::Bls;
    type Dealing = Dealing;
    type Sum = Key;

    fn dealing_bytes(config: &Config) -> usize {
        config.field_dealing_bytes()
    }

    fn deal(setup: &Setup, identity: &Identity) -> Result<Vec<u8>, String> {
        let mut rng = identity.rng(b"deal field elements", setup.keygen.digest());
        field::deal(&setup.keygen, identity.me, &identity.signer, &mut rng)
            .map(|dealing| dealing.to_bytes())
            .map_err(|error| error.to_string())
    }

    fn judge(config: &Config, dealing: &[u8]) -> Result<Verified<Dealing>, String> {
        let dealing =
            Dealing::from_bytes(config, dealing).map_err(|error| format!("dealing: {error}"))?;
        let dealer = dealing.dealer();
        field::verify(config, dealing).map_err(|error| format!("dealing of {dealer}: {error}"))
    }

    fn fix(dkg: &Dkg<Dealing>) -> Result<Fixed<Self>, String> {
        let sum = dkg.key().map_err(|error| error.to_string())?;
        let committees = sum
            .signing(dkg.config(), Bls::purpose(Binding::Slot))
            .map_err(|error| error.to_string())?;
        Ok(Fixed { sum, committees })
    }

    fn dealers(sum: &Key) -> Vec<Party> {
        sum.dealers().collect()
    }

    fn digest(sum: &Key) -> [u8; 32] {
        sum.digest()
    }

    fn open(setup: &Setup, identity: &Identity, key: &Fixed<Self>) -> Result<Opened<Self>, String> {
        let shares = key
            .sum
            .decrypt(&setup.keygen, identity.me, &identity.decryption)
            .map_err(|error| error.to_string())?;
        let keys =
            shares.signing(identity.me, &key.committees).map_err(|error| error.to_string())?;
        Ok(Opened { keys, transaction: None })
    }

    fn keys_bytes(_: usize, _: usize) -> Option<usize> {
        None
    }

    fn admit_all(_: &Setup, transactions: &[Arc<[u8]>], _: &Fixed<Self>) -> Admissions<Self> {
        // Refused by their length before.
        transactions.iter().map(|_| Err("nobody has keys to publish".to_owned())).collect()
    }

    fn chronicle(
        _: Context,
        committees: &PerPath<Committee<MinSig>>,
        reveals: &[&Reveal<Self>],
    ) -> Chronicle {
        Chronicle::Bls(Rounds::new(committees.slow.group_key(), reveals))
    }
}
