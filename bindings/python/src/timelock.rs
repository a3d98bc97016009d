//! Encryption to a round of a beacon, which the round's signature opens: drand's tlock.
//!
//! For keys of 16, 24 or 32 bytes, as age's are; what they encrypt is the caller's. The bytes are those
//! of drand's own code. Left out: age files (`prefinal timelock`, the command).
use prefinal_codes::Detail;
use prefinal_crypto_core::bls::{MinPk, MinSig, PublicKey, Signature, Variant};
use prefinal_crypto_core::curve::DecodeError;
use prefinal_crypto_core::drand::{GroupKey, RoundNumber};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::timelock::{Ciphertext, Identity, encrypt};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rand_chacha::ChaCha20Rng;

use crate::drand::{ChainInfo, round_number};
use crate::error::{Refusal, argument, exception};
use crate::input::{bytes, secret};
use crate::random::generator;

fn not_chained(chain: &ChainInfo) -> PyResult<()> {
    if !chain.info.scheme().is_chained() {
        return Ok(());
    }
    let detail = Detail { code: "chained-rounds", ..Detail::default() };
    Err(exception(&detail, "what rounds of a chained beacon sign is not known in advance"))
}

/// Encrypts a key of 16, 24 or 32 bytes to a round.
#[pyfunction]
#[pyo3(signature = (chain, round, key, *, seed=None))]
pub(crate) fn seal<'py>(
    chain: &Bound<'py, ChainInfo>,
    round: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    seed: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (py, chain) = (chain.py(), chain.get());
    not_chained(chain)?;
    let (round, key, mut rng) = (round_number(round)?, secret(key)?, generator(seed)?);
    let sealed = py.detach(|| match chain.info.key() {
        GroupKey::MinSig(to) => of::<MinSig>(to, (chain, round), &key, &mut rng),
        GroupKey::MinPk(to) => of::<MinPk>(to, (chain, round), &key, &mut rng),
    });
    let got = key.expose().len();
    let why = || argument(&format!("key has {got} bytes, expected 16, 24 or 32"), None);
    Ok(PyBytes::new(py, &sealed.ok_or_else(why)?))
}

fn of<V: Variant>(
    to: &PublicKey<V>,
    (chain, round): (&ChainInfo, RoundNumber),
    key: &Secret<Vec<u8>>,
    rng: &mut ChaCha20Rng,
) -> Option<Vec<u8>> {
    let identity = Identity::<V>::new(chain.info.scheme().domain(), &round.message());
    match key.expose().len() {
        16 => sized::<V, 16>(to, &identity, key, rng),
        24 => sized::<V, 24>(to, &identity, key, rng),
        32 => sized::<V, 32>(to, &identity, key, rng),
        _ => None,
    }
}

fn sized<V: Variant, const N: usize>(
    to: &PublicKey<V>,
    identity: &Identity<V>,
    key: &Secret<Vec<u8>>,
    rng: &mut ChaCha20Rng,
) -> Option<Vec<u8>> {
    let key: Secret<[u8; N]> = Secret::new(key.expose().as_slice().try_into().ok()?);
    Some(encrypt(to, identity, key.expose(), rng).to_bytes())
}

/// Opens a sealed key with the signature of its round.
#[pyfunction]
pub(crate) fn unseal<'py>(
    chain: &Bound<'py, ChainInfo>,
    sealed: &Bound<'py, PyAny>,
    signature: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (py, chain) = (chain.py(), chain.get());
    not_chained(chain)?;
    let (sealed, signature) = (bytes(sealed)?, bytes(signature)?);
    let opened = py.detach(|| match chain.info.key() {
        GroupKey::MinSig(_) => open::<MinSig>(&sealed, &signature, 96),
        GroupKey::MinPk(_) => open::<MinPk>(&sealed, &signature, 48),
    });
    let opened = opened.map_err(|refusal| refusal.raise())?;
    Ok(PyBytes::new(py, opened.expose()))
}

/// `head` is the length of `U`.
fn open<V: Variant>(
    sealed: &[u8],
    signature: &[u8],
    head: usize,
) -> Result<Secret<Vec<u8>>, Refusal> {
    let signature = Signature::<V>::from_bytes(signature).map_err(|error| Refusal::of(&error))?;
    match sealed.len().checked_sub(head) {
        Some(32) => open_sized::<V, 16>(sealed, &signature),
        Some(48) => open_sized::<V, 24>(sealed, &signature),
        Some(64) => open_sized::<V, 32>(sealed, &signature),
        _ => Err(Refusal::of(&DecodeError::Length { expected: head + 32, got: sealed.len() })),
    }
}

fn open_sized<V: Variant, const N: usize>(
    sealed: &[u8],
    signature: &Signature<V>,
) -> Result<Secret<Vec<u8>>, Refusal> {
    let sealed = Ciphertext::<V, N>::from_bytes(sealed).map_err(|error| Refusal::of(&error))?;
    let opened = sealed.decrypt(signature).map_err(|error| Refusal::of(&error))?;
    Ok(Secret::new(opened.expose().to_vec()))
}
