//! Signatures under a domain, of one key or a committee's: the same for a verifier.
use std::sync::Mutex;

use prefinal_crypto_core::bls::{Domain, MinPk, MinSig, PublicKey, Signature, Variant};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::{raise, raise_code};

/// Names of domains that were asked for. A domain's name lives as long as the program does, so there is
/// an end to how many.
static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
const MOST_NAMES: usize = 1000;
/// Of a key in 𝔾₁.
const MIN_PK_BYTES: usize = 48;

/// The domain of this name.
pub(crate) fn domain(name: &str) -> Result<Domain, JsValue> {
    Domain::check_name(name).map_err(raise)?;
    Domain::named(kept(name)?).map_err(raise)
}

/// The domain of this tag, which is all of it.
fn tagged(tag: &str) -> Result<Domain, JsValue> {
    Domain::check_tag(tag).map_err(raise)?;
    Domain::tag(kept(tag)?).map_err(raise)
}

/// The same text, for as long as the program lives.
fn kept(name: &str) -> Result<&'static str, JsValue> {
    let mut names =
        NAMES.lock().map_err(|_| raise_code("internal", "the list of domains is unusable"))?;
    if let Some(known) = names.iter().find(|known| **known == name) {
        return Ok(known);
    }
    if names.len() == MOST_NAMES {
        return Err(raise_code("count-too-large", "more than 1000 domains in one program"));
    }
    let name: &'static str = String::from(name).leak();
    names.push(name);
    Ok(name)
}

/// Checks a signature. `suite` is 0 for a domain of the name, 1 and 2 for the draft's basic scheme and
/// that with proofs of possession, 3 for a domain whose tag the name is.
///
/// # Errors
/// If bytes are none, or the signature is not that of the key on the message.
#[wasm_bindgen]
pub fn verify_signature(
    suite: u8,
    name: &str,
    key: &[u8],
    signed: &[u8],
    signature: &[u8],
) -> Result<(), JsValue> {
    let domain = match suite {
        1 => Domain::BASIC,
        2 => Domain::POP,
        3 => tagged(name)?,
        _ => domain(name)?,
    };
    // A key's length says which group it is of.
    if key.len() == MIN_PK_BYTES {
        check::<MinPk>(domain, key, signed, signature)
    } else {
        check::<MinSig>(domain, key, signed, signature)
    }
}

fn check<V: Variant>(
    domain: Domain,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), JsValue> {
    let key = PublicKey::<V>::from_bytes(key).map_err(raise)?;
    let signature = Signature::<V>::from_bytes(signature).map_err(raise)?;
    signature.verify(&key, domain, message).map(drop).map_err(raise)
}
