//! Quorums of stake.
#[cfg(feature = "full")]
use prefinal_crypto_core::bls::MinPk;
use prefinal_crypto_core::bls::{MinSig, ProofOfPossession, PublicKey, Variant};
use prefinal_crypto_core::certificate::{Certificate, Elector, Electorate};
use prefinal_crypto_core::wire::Object;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::raise;
#[cfg(not(feature = "full"))]
use crate::error::raise_code;
use crate::fields::Fields;
use crate::signature::domain;

/// The parties whose signatures make certificates. Those with signatures in 𝔾₁, which all engines here
/// sign with, are in both entries, the others in the second.
#[wasm_bindgen]
pub struct RawElectorate(Variants);

enum Variants {
    MinSig(Electorate<MinSig>),
    #[cfg(feature = "full")]
    MinPk(Electorate<MinPk>),
}

#[wasm_bindgen]
impl RawElectorate {
    /// Of each party comes its stake, its key and the proof that it has the secret key. No quorum means
    /// more than two thirds.
    ///
    /// # Errors
    /// If a key is none, a proof is not its key's, or the parties are no electorate.
    #[wasm_bindgen(constructor)]
    pub fn new(min_sig: bool, electors: &[u8], quorum: &[u8]) -> Result<Self, JsValue> {
        if min_sig {
            return electorate(electors, quorum, (96, 48)).map(Variants::MinSig).map(Self);
        }
        #[cfg(feature = "full")]
        return electorate(electors, quorum, (48, 96)).map(Variants::MinPk).map(Self);
        #[cfg(not(feature = "full"))]
        Err(raise_code("invalid-argument", "keys in 𝔾₁ are for the entry prefinal/full"))
    }

    /// What names keys, stakes and quorum.
    pub fn id(&self) -> Vec<u8> {
        match &self.0 {
            Variants::MinSig(electorate) => electorate.id().to_vec(),
            #[cfg(feature = "full")]
            Variants::MinPk(electorate) => electorate.id().to_vec(),
        }
    }

    /// The stake that is a quorum.
    pub fn quorum(&self) -> u128 {
        match &self.0 {
            Variants::MinSig(electorate) => electorate.quorum(),
            #[cfg(feature = "full")]
            Variants::MinPk(electorate) => electorate.quorum(),
        }
    }

    /// The parties that have signed the message.
    ///
    /// # Errors
    /// If bytes are no certificate, or it is not of a quorum on this message.
    pub fn verify(&self, name: &str, message: &[u8], bytes: &[u8]) -> Result<Vec<u32>, JsValue> {
        match &self.0 {
            Variants::MinSig(electorate) => check(electorate, name, message, bytes),
            #[cfg(feature = "full")]
            Variants::MinPk(electorate) => check(electorate, name, message, bytes),
        }
    }
}

fn electorate<V: Variant>(
    electors: &[u8],
    quorum: &[u8],
    (key, proof): (usize, usize),
) -> Result<Electorate<V>, JsValue> {
    let (mut rest, mut list) = (Fields::new(electors), Vec::new());
    while !rest.is_empty() {
        let stake = rest.u128()?;
        let key = PublicKey::<V>::from_bytes(rest.take(key)?).map_err(raise)?;
        let proof = ProofOfPossession::from_bytes(rest.take(proof)?).map_err(raise)?;
        list.push(Elector { key: key.verify_possession(&proof).map_err(raise)?, stake });
    }
    if quorum.is_empty() {
        return Electorate::more_than_two_thirds(list).map_err(raise);
    }
    Electorate::with_quorum(list, Fields::new(quorum).u128()?).map_err(raise)
}

fn check<V: Variant>(
    electorate: &Electorate<V>,
    name: &str,
    message: &[u8],
    bytes: &[u8],
) -> Result<Vec<u32>, JsValue>
where
    Certificate<V>: Object,
{
    let certificate = Certificate::<V>::from_wire(bytes).map_err(raise)?;
    certificate.verify(electorate, domain(name)?, message).map_err(raise)?;
    Ok(certificate.signers.iter().map(|party| party.get()).collect())
}
