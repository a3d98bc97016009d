//! Signatures of many: their sum, and many at once.
use std::collections::BTreeSet;

use prefinal_codes::Coded;
use prefinal_crypto_core::bls::{
    self, AggregateKey, Claim, Culprits, MinPk, MinSig, SignedMessage, Variant, min_pk, min_sig,
};
use prefinal_crypto_core::verified::Verified;
use pyo3::prelude::*;

use crate::bls::Either::{self, MinPk as Pk, MinSig as Sig};
use crate::bls::{Domain, ProvenKey, PublicKey, Signature, item, other_variant};
use crate::error::{argument, refused};
use crate::input::{bytes, list};
use crate::work::Progress;

/// Signatures that are checked between two looks at signals.
const STEP: usize = 128;

/// Items of one class, all of one variant: those of min-sig, or those of min-pk.
fn sorted<A, B>(items: Vec<Either<A, B>>) -> PyResult<Either<Vec<A>, Vec<B>>> {
    let (mut sigs, mut pks) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Sig(one) => sigs.push(one),
            Pk(one) => pks.push(one),
        }
    }
    match (sigs.is_empty(), pks.is_empty()) {
        (_, true) => Ok(Sig(sigs)),
        (true, false) => Ok(Pk(pks)),
        (false, false) => Err(other_variant()),
    }
}

fn coded<T, E: Coded + std::fmt::Display>(result: Result<T, E>) -> PyResult<T> {
    result.map_err(|error| refused(&error))
}

/// The sum of signatures. Nothing is checked.
#[pyfunction]
pub(crate) fn aggregate(signatures: &Bound<'_, PyAny>) -> PyResult<Signature> {
    let items =
        list(signatures, "signatures", |_, value| Ok(item::<Signature>(value, "a Signature")?.0))?;
    Ok(Signature(match sorted(items)? {
        Sig(list) => Sig(coded(bls::aggregate(&list))?),
        Pk(list) => Pk(coded(bls::aggregate(&list))?),
    }))
}

type Proven = Either<Verified<min_sig::PublicKey>, Verified<min_pk::PublicKey>>;

fn proven(keys: &Bound<'_, PyAny>) -> PyResult<Vec<Proven>> {
    list(keys, "keys", |_, value| Ok(item::<ProvenKey>(value, "a ProvenKey")?.0))
}

/// Raises unless all keys signed one message, and this is the sum of their signatures.
#[pyfunction]
#[pyo3(signature = (keys, message, signature, *, domain=None))]
pub(crate) fn verify_multi(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    message: &Bound<'_, PyAny>,
    signature: &Signature,
    domain: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let (keys, message, domain) = (sorted(proven(keys)?)?, bytes(message)?, Domain::read(domain)?);
    let checked = py.detach(|| match (&keys, &signature.0) {
        (Sig(keys), Sig(sum)) => Some(bls::verify_multi(keys, domain, &message, sum)),
        (Pk(keys), Pk(sum)) => Some(bls::verify_multi(keys, domain, &message, sum)),
        (Sig(keys), _) if keys.is_empty() => Some(Err(bls::SignatureError::NoSigners)),
        _ => None,
    });
    coded(checked.ok_or_else(other_variant)?)
}

/// Raises unless each key signed the message beside it, and this is the sum of the signatures.
#[pyfunction]
#[pyo3(signature = (keys, messages, signature, *, domain=None))]
pub(crate) fn verify_aggregate(
    py: Python<'_>,
    keys: &Bound<'_, PyAny>,
    messages: &Bound<'_, PyAny>,
    signature: &Signature,
    domain: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    fn check<V: Variant>(
        keys: &[Verified<bls::PublicKey<V>>],
        messages: &[Vec<u8>],
        domain: bls::Domain,
        sum: &bls::Signature<V>,
    ) -> Result<(), bls::SignatureError> {
        let claims = keys.iter().zip(messages).map(|(key, message)| {
            Ok(Claim { signers: AggregateKey::sum([key])?, message: message.as_slice() })
        });
        let claims: Vec<_> = claims.collect::<Result<_, bls::SignatureError>>()?;
        bls::verify_aggregate(&claims, domain, sum)
    }
    let messages = list(messages, "messages", |_, value| bytes(value))?;
    let (keys, domain) = (proven(keys)?, Domain::read(domain)?);
    same_count(keys.len(), messages.len(), "messages")?;
    let keys = sorted(keys)?;
    let checked = py.detach(|| match (&keys, &signature.0) {
        (Sig(keys), Sig(sum)) => Some(check::<MinSig>(keys, &messages, domain, sum)),
        (Pk(keys), Pk(sum)) => Some(check::<MinPk>(keys, &messages, domain, sum)),
        (Sig(keys), _) if keys.is_empty() => Some(Err(bls::SignatureError::NoSigners)),
        _ => None,
    });
    coded(checked.ok_or_else(other_variant)?)
}

fn same_count(keys: usize, others: usize, what: &str) -> PyResult<()> {
    if keys == others {
        return Ok(());
    }
    Err(argument(&format!("{keys} keys and {others} {what}"), None))
}

/// Raises unless each signature is its key's on the message beside it; names those that are not. Each
/// stands for itself, so no proofs of possession are needed.
#[pyfunction]
#[pyo3(signature = (keys, messages, signatures, *, domain=None, progress=None))]
pub(crate) fn verify_batch<'py>(
    keys: &Bound<'py, PyAny>,
    messages: &Bound<'py, PyAny>,
    signatures: &Bound<'py, PyAny>,
    domain: Option<&Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let py = keys.py();
    let keys = list(keys, "keys", |_, value| Ok(item::<PublicKey>(value, "a PublicKey")?.0))?;
    let messages = list(messages, "messages", |_, value| bytes(value))?;
    let signatures =
        list(signatures, "signatures", |_, value| Ok(item::<Signature>(value, "a Signature")?.0))?;
    same_count(keys.len(), messages.len(), "messages")?;
    same_count(keys.len(), signatures.len(), "signatures")?;
    let batch =
        Batch { messages, domain: Domain::read(domain)?, progress: Progress::new(progress) };
    let of = keys.len();
    let positions = match (sorted(keys)?, sorted(signatures)?) {
        (Sig(keys), Sig(signatures)) => batch.culprits::<MinSig>(py, &keys, &signatures)?,
        (Pk(keys), Pk(signatures)) => batch.culprits::<MinPk>(py, &keys, &signatures)?,
        _ => return Err(other_variant()),
    };
    if positions.is_empty() { Ok(()) } else { Err(refused(&Culprits { positions, of })) }
}

struct Batch<'py> {
    messages: Vec<Vec<u8>>,
    domain: bls::Domain,
    progress: Progress<'py>,
}

impl<'py> Batch<'py> {
    fn culprits<V: Variant>(
        &self,
        py: Python<'py>,
        keys: &[bls::PublicKey<V>],
        signatures: &[bls::Signature<V>],
    ) -> PyResult<BTreeSet<usize>> {
        let signed = keys.iter().zip(&self.messages).zip(signatures);
        let signed: Vec<SignedMessage<'_, V>> = signed
            .map(|((key, message), signature)| SignedMessage {
                key: *key,
                message,
                signature: *signature,
            })
            .collect();
        let mut culprits = BTreeSet::new();
        for (step, some) in signed.chunks(STEP).enumerate() {
            let domain = self.domain;
            if let Err(found) = py.detach(|| bls::verify_batch(domain, some)) {
                culprits.extend(found.positions.iter().map(|at| step * STEP + at));
            }
            self.progress.advance(py, some.len())?;
        }
        Ok(culprits)
    }
}
