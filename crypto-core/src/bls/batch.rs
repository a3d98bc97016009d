//! Many signatures at once, each on its own: a false one is named.
//!
//! Every equation `e(σᵢ, g) = e(H(mᵢ), pkᵢ)` is raised to its own 128-bit `τᵢ` and all are multiplied:
//!
//! ```text
//! e(∏ᵢ σᵢ^τᵢ, g) = ∏_m e(H(m), ∏_{i: mᵢ = m} pkᵢ^τᵢ) = ∏_pk e(∏_{i: pkᵢ = pk} H(mᵢ)^τᵢ, pk)
//! ```
//!
//! Signers of one message cost one pairing together, and so do messages of one signer (the rounds of
//! a beacon, say); whichever of the two groupings has fewer terms is taken. If the product fails,
//! halves are tried (`bisect`).
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use super::domain::Domain;
use super::keys::PublicKey;
use super::signature::{Signature, check};
use super::variant::{KeyPoint, SignaturePoint, Variant};
use crate::bisect;
use crate::challenge::Transcript;
use crate::curve::{Affine, Group, Projective, vartime_msm_128};

const BATCH_TAG: &[u8] = b"PREFINAL-V1-BLS-BATCH";

/// A message, its signature, and whose it is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed<'a, V: Variant> {
    /// The signer's key; it takes no proof of possession.
    pub key: PublicKey<V>,
    /// What it signed.
    pub message: &'a [u8],
    /// The signature.
    pub signature: Signature<V>,
}

/// Which signatures of a batch are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} of {of} signatures are not valid", positions.len())]
pub struct Culprits {
    /// Positions in the slice that was checked.
    pub positions: BTreeSet<usize>,
    /// How many signatures were checked.
    pub of: usize,
}

/// Checks many signatures on one message, each on its own, at the price of about one: two pairings
/// and an MSM in either group over scalars of 128 bits.
///
/// # Errors
/// Names the positions of those that are not valid.
pub fn verify_many<V: Variant>(
    domain: Domain,
    message: &[u8],
    signatures: &[(PublicKey<V>, Signature<V>)],
) -> Result<(), Culprits> {
    let signed = |&(key, signature): &(_, _)| Signed { key, message, signature };
    verify_batch(domain, &signatures.iter().map(signed).collect::<Vec<_>>())
}

/// Checks many signatures, each on its own, whatever their messages. Costs a pairing for each
/// distinct message or for each distinct key, whichever are fewer, one more, and an MSM in either
/// group over scalars of 128 bits. No signatures are valid signatures.
///
/// # Errors
/// Names the positions of those that are not valid.
pub fn verify_batch<V: Variant>(
    domain: Domain,
    signatures: &[Signed<'_, V>],
) -> Result<(), Culprits> {
    let batch = Batch::new(domain, signatures);
    let positions = bisect::culprits(signatures.len(), |range| batch.holds(range).is_some());
    if positions.is_empty() { Ok(()) } else { Err(Culprits { positions, of: signatures.len() }) }
}

/// One entry per signature in each of the lists.
struct Batch<V: Variant> {
    signatures: Vec<SignaturePoint<V>>,
    hashes: Vec<SignaturePoint<V>>,
    keys: Vec<KeyPoint<V>>,
    coefficients: Vec<u128>,
    /// Where the same message was met first.
    messages: Vec<usize>,
    /// Where the same key was met first.
    signers: Vec<usize>,
}

impl<V: Variant> Batch<V> {
    fn new(domain: Domain, signed: &[Signed<'_, V>]) -> Self {
        let encoded: Vec<_> = signed.iter().map(|one| one.key.to_bytes()).collect();
        let mut transcript = Transcript::new(BATCH_TAG);
        transcript.append(b"domain", domain.tag::<V>().as_bytes());
        for (one, key) in signed.iter().zip(&encoded) {
            transcript.append(b"key", key.as_ref());
            transcript.append(b"message", one.message);
            transcript.append_point(b"signature", &one.signature.point());
        }
        let coefficients = transcript.coefficients_128(b"coefficients", signed.len());
        let mut known = BTreeMap::new();
        let hash = |message| *known.entry(message).or_insert_with(|| domain.hash::<V>(message));
        Self {
            signatures: signed.iter().map(|one| one.signature.point()).collect(),
            hashes: signed.iter().map(|one| one.message).map(hash).collect(),
            keys: signed.iter().map(|one| one.key.point()).collect(),
            coefficients,
            messages: first_of_kind(signed.iter().map(|one| one.message)),
            signers: first_of_kind(encoded.iter().map(AsRef::as_ref)),
        }
    }

    /// The product of the equations in the range.
    fn holds(&self, range: Range<usize>) -> Option<()> {
        let coefficients = self.coefficients.get(range.clone())?;
        let (hashes, keys) = (self.hashes.get(range.clone())?, self.keys.get(range.clone())?);
        let (messages, signers) =
            (self.messages.get(range.clone())?, self.signers.get(range.clone())?);
        let (by_message, by_signer) = (distinct(messages), distinct(signers));
        let hashes_are_small = size_of::<SignaturePoint<V>>() < size_of::<KeyPoint<V>>();
        let terms = if by_signer < by_message || (by_signer == by_message && hashes_are_small) {
            let terms = merge(signers, keys, hashes, coefficients);
            terms.into_iter().map(|(key, hash)| (hash, key)).collect()
        } else {
            merge(messages, hashes, keys, coefficients)
        };
        let sum = vartime_msm_128(self.signatures.get(range)?, coefficients);
        check(&Signature::<V>(sum.into()), &terms).ok()
    }
}

/// For each item the position of the first that equals it.
fn first_of_kind<'a>(items: impl Iterator<Item = &'a [u8]>) -> Vec<usize> {
    let mut first = BTreeMap::new();
    items.enumerate().map(|(at, item)| *first.entry(item).or_insert(at)).collect()
}

fn distinct(kinds: &[usize]) -> usize {
    kinds.iter().collect::<BTreeSet<_>>().len()
}

/// `(a, ∏ bᵢ^τᵢ)` over the items of each kind; all of one kind have the same `a`.
fn merge<A: Group, B: Group>(
    kinds: &[usize],
    a: &[Affine<A>],
    b: &[Affine<B>],
    coefficients: &[u128],
) -> Vec<(Affine<A>, Affine<B>)> {
    let mut merged: BTreeMap<usize, (Vec<Affine<B>>, Vec<u128>)> = BTreeMap::new();
    let mut firsts = BTreeMap::new();
    for (((kind, a), b), coefficient) in kinds.iter().zip(a).zip(b).zip(coefficients) {
        firsts.entry(*kind).or_insert(*a);
        let (terms, coefficients) = merged.entry(*kind).or_default();
        terms.push(*b);
        coefficients.push(*coefficient);
    }
    let sum = |(terms, coefficients): &(Vec<_>, Vec<_>)| vartime_msm_128(terms, coefficients);
    let sums: Vec<_> = merged.values().map(sum).collect();
    firsts.into_values().zip(Projective::batch_to_affine(&sums)).collect()
}
