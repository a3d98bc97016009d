//! Rounds of a beacon, ours or one of drand's four schemes; encryption to a round.
use core::num::NonZeroU32;

use prefinal_crypto_core::bls::{PublicKey, Signature, Variant};
use prefinal_crypto_core::drand::{ChainInfo, GroupKey, Round, RoundNumber, Schedule, Scheme};
use prefinal_crypto_core::timelock::{Ciphertext, Identity, encrypt};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::{raise, raise_code};
use crate::fields::hash;
use crate::random::Random;

/// Bytes of the two lengths of messages that are encrypted.
const SHORT: usize = 16;
const LONG: usize = 32;

/// A beacon that rounds are checked against.
#[wasm_bindgen]
pub struct RawChain(ChainInfo);

#[wasm_bindgen]
impl RawChain {
    /// A beacon by what its `info` says, the scheme by its place in the list of all.
    ///
    /// # Errors
    /// If there is no such scheme, or `key` is none of it.
    #[wasm_bindgen(constructor)]
    pub fn new(
        scheme: usize,
        key: &[u8],
        times: &[u64],
        seed: &[u8],
        id: &str,
    ) -> Result<Self, JsValue> {
        let unknown = || raise_code("unknown-scheme", "there is no such scheme");
        let scheme = *Scheme::ALL.get(scheme).ok_or_else(unknown)?;
        let [genesis_time, period] = times else { return Err(no_period()) };
        let period = u32::try_from(*period).ok().and_then(NonZeroU32::new).ok_or_else(no_period)?;
        let schedule = Schedule { genesis_time: *genesis_time, period };
        ChainInfo::new(scheme, key, schedule, hash(seed)?, id).map(Self).map_err(raise)
    }

    /// What names the chain.
    pub fn hash(&self) -> Vec<u8> {
        self.0.hash().to_vec()
    }

    /// The newest round that is due at that second, zero before the first.
    pub fn round_at(&self, time: u64) -> u64 {
        self.0.schedule().round_at(time).map_or(0, RoundNumber::get)
    }

    /// When a round is due.
    ///
    /// # Errors
    /// If there is no such round, or no such second.
    pub fn time_of(&self, round: u64) -> Result<u64, JsValue> {
        let time = self.0.schedule().time_of(number(round)?);
        time.ok_or_else(|| {
            raise_code("invalid-argument", "the round is due beyond 64 bits of seconds")
        })
    }

    /// The randomness of a round.
    ///
    /// # Errors
    /// If the signature is not the beacon's on this round, or gives another randomness than is said.
    pub fn verify(
        &self,
        round: u64,
        signature: &[u8],
        previous: Option<Vec<u8>>,
        randomness: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, JsValue> {
        let number = number(round)?;
        let round = Round { number, signature: signature.to_vec(), previous, randomness };
        self.0.verify(&round).map(|value| value.as_bytes().to_vec()).map_err(raise)
    }

    /// Encrypts 16 or 32 bytes to a round.
    ///
    /// # Errors
    /// If the beacon is chained, the message has another length, or there is no randomness
    /// that is worth its name.
    pub fn encrypt(&self, round: u64, message: &[u8]) -> Result<Vec<u8>, JsValue> {
        let round = number(round)?;
        if self.0.scheme().is_chained() {
            let why = "what a chained beacon signs is known only after the round before";
            return Err(raise_code("chained-rounds", why));
        }
        match self.0.key() {
            GroupKey::MinSig(key) => encrypt_to(self.0.scheme(), key, round, message),
            GroupKey::MinPk(key) => encrypt_to(self.0.scheme(), key, round, message),
        }
    }

    /// Opens what was encrypted to the round of this signature.
    ///
    /// # Errors
    /// If bytes are none, or do not open.
    pub fn decrypt(&self, ciphertext: &[u8], signature: &[u8]) -> Result<Vec<u8>, JsValue> {
        match self.0.key() {
            GroupKey::MinSig(key) => decrypt_with(key, ciphertext, signature),
            GroupKey::MinPk(key) => decrypt_with(key, ciphertext, signature),
        }
    }
}

fn number(round: u64) -> Result<RoundNumber, JsValue> {
    RoundNumber::new(round)
        .ok_or_else(|| raise_code("invalid-argument", "rounds are counted from one"))
}

fn no_period() -> JsValue {
    raise_code("invalid-field", "the period is not a positive number of seconds")
}

fn encrypt_to<V: Variant>(
    scheme: Scheme,
    key: &PublicKey<V>,
    round: RoundNumber,
    message: &[u8],
) -> Result<Vec<u8>, JsValue> {
    let identity = Identity::new(scheme.domain(), &round.message());
    if let Ok(message) = <&[u8; SHORT]>::try_from(message) {
        Ok(encrypt(key, &identity, message, &mut Random::new()?).to_bytes())
    } else if let Ok(message) = <&[u8; LONG]>::try_from(message) {
        Ok(encrypt(key, &identity, message, &mut Random::new()?).to_bytes())
    } else {
        Err(raise_code("wrong-length", "messages have 16 or 32 bytes"))
    }
}

/// The key says the variant.
fn decrypt_with<V: Variant>(
    key: &PublicKey<V>,
    ciphertext: &[u8],
    signature: &[u8],
) -> Result<Vec<u8>, JsValue> {
    let signature = Signature::<V>::from_bytes(signature).map_err(raise)?;
    if ciphertext.len() == key.to_bytes().as_ref().len() + 2 * LONG {
        open::<V, LONG>(ciphertext, &signature)
    } else {
        open::<V, SHORT>(ciphertext, &signature)
    }
}

fn open<V: Variant, const N: usize>(
    ciphertext: &[u8],
    signature: &Signature<V>,
) -> Result<Vec<u8>, JsValue> {
    let ciphertext = Ciphertext::<V, N>::from_bytes(ciphertext).map_err(raise)?;
    let opened = ciphertext.decrypt(signature).map_err(raise)?;
    Ok(opened.expose().to_vec())
}
