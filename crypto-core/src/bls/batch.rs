//! Checks many signatures at once, each against its own key and message, and names the false ones.
//!
//! Every equation `e(σᵢ, g) = e(H(mᵢ), pkᵢ)` is raised to its own 128-bit power `τᵢ`, and all of them
//! are multiplied:
//!
//! ```text
//! e(∏ᵢ σᵢ^τᵢ, g) = ∏_m e(H(m), ∏_{i: mᵢ = m} pkᵢ^τᵢ) = ∏_pk e(∏_{i: pkᵢ = pk} H(mᵢ)^τᵢ, pk)
//! ```
//!
//! All signers of one message cost one pairing together. All messages of one signer (for example the
//! rounds of a beacon) also cost one pairing together. The code takes the grouping that has fewer
//! terms. If the product fails, one more product finds a single culprit, and several culprits are
//! found by halving ([`bisect`](crate::bisect)).
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;

use super::domain::Domain;
use super::keys::PublicKey;
use super::signature::Signature;
use super::variant::{KeyPoint, SignaturePoint, Variant};
use crate::bisect::{self, Weight};
use crate::challenge::Transcript;
use crate::curve::hazmat::{Gt, pairing_product, vartime_msm_bytes};
use crate::curve::{Affine, Group, Projective};

const BATCH_TAG: &[u8] = b"PREFINAL-V1-BLS-BATCH";

/// A message, its signature, and the key that is said to have signed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedMessage<'a, V: Variant> {
    /// The signer's key. No proof of possession is needed.
    pub key: PublicKey<V>,
    /// The message that the key is said to have signed.
    pub message: &'a [u8],
    /// The signature to check.
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

impl Culprits {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "faulty"
    }
}

/// Checks many signatures on one message, each against its own key. It costs little more than
/// checking one signature: two pairings, and in each group one multi-scalar multiplication with
/// 128-bit scalars.
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{Domain, SecretKey, verify_many};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// const VOTE: Domain = Domain::new("example vote");
/// let signers = [SecretKey::random(&mut rng), SecretKey::random(&mut rng)];
/// let sign = |signer: &SecretKey| (signer.public_key(), signer.sign(VOTE, b"block 7"));
/// let mut votes = signers.each_ref().map(sign);
/// assert!(verify_many(VOTE, b"block 7", &votes).is_ok());
///
/// votes[1].1 = signers[1].sign(VOTE, b"block 8");
/// assert_eq!(verify_many(VOTE, b"block 7", &votes).unwrap_err().positions, [1].into());
/// ```
///
/// # Errors
/// Names the positions of the signatures that are not valid.
pub fn verify_many<V: Variant>(
    domain: Domain,
    message: &[u8],
    signatures: &[(PublicKey<V>, Signature<V>)],
) -> Result<(), Culprits> {
    let signed = |&(key, signature): &(_, _)| SignedMessage { key, message, signature };
    verify_batch(domain, &signatures.iter().map(signed).collect::<Vec<_>>())
}

/// Checks many signatures, each against its own key and message. Costs one pairing for each distinct
/// message or for each distinct key, whichever are fewer, plus one pairing, plus in each group one
/// multi-scalar multiplication with 128-bit scalars. An empty batch is valid.
///
/// ```
/// use prefinal_crypto_core::bls::min_sig::{Domain, SecretKey, SignedMessage, verify_batch};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// const ROUND: Domain = Domain::new("example round");
/// let beacon = SecretKey::random(&mut rng);
/// let sign = |message| SignedMessage {
///     key: beacon.public_key(),
///     message,
///     signature: beacon.sign(ROUND, message),
/// };
/// let mut rounds = [sign(b"round 1"), sign(b"round 2"), sign(b"round 3")];
/// assert!(verify_batch(ROUND, &rounds).is_ok());
///
/// rounds[2].message = b"round 4";
/// assert_eq!(verify_batch(ROUND, &rounds).unwrap_err().positions, [2].into());
/// ```
///
/// # Errors
/// Names the positions of the signatures that are not valid.
pub fn verify_batch<V: Variant>(
    domain: Domain,
    signatures: &[SignedMessage<'_, V>],
) -> Result<(), Culprits> {
    let batch = Batch::new(domain, signatures);
    let positions = bisect::locate(signatures.len(), |range, weight| batch.product(range, weight));
    if positions.is_empty() { Ok(()) } else { Err(Culprits { positions, of: signatures.len() }) }
}

/// One entry per signature in each of the lists.
struct Batch<V: Variant> {
    signatures: Vec<SignaturePoint<V>>,
    hashes: Vec<SignaturePoint<V>>,
    keys: Vec<KeyPoint<V>>,
    coefficients: Vec<u128>,
    /// For each signature, the position at which its message occurs first.
    messages: Vec<usize>,
    /// For each signature, the position at which its key occurs first.
    signers: Vec<usize>,
}

impl<V: Variant> Batch<V> {
    fn new(domain: Domain, signed: &[SignedMessage<'_, V>]) -> Self {
        let encoded: Vec<_> = signed.iter().map(|one| one.key.to_bytes()).collect();
        let mut transcript = Transcript::new(BATCH_TAG);
        transcript.append(b"domain", domain.tag_of::<V>().as_bytes());
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

    /// The product of the equations in the range, with weighted coefficients.
    fn product(&self, range: Range<usize>, weight: Weight) -> Gt {
        let scalars: Vec<_> = range
            .clone()
            .zip(slice(&self.coefficients, &range))
            .map(|(at, coefficient)| weight.apply(*coefficient, at))
            .collect();
        let (hashes, keys) = (slice(&self.hashes, &range), slice(&self.keys, &range));
        let (messages, signers) = (slice(&self.messages, &range), slice(&self.signers, &range));
        let (by_message, by_signer) = (distinct(messages), distinct(signers));
        let hashes_are_small = size_of::<SignaturePoint<V>>() < size_of::<KeyPoint<V>>();
        let mut terms: Vec<_> =
            if by_signer < by_message || (by_signer == by_message && hashes_are_small) {
                let merged = merge(signers, keys, hashes, &scalars);
                merged.into_iter().map(|(key, hash)| V::pair(hash, key)).collect()
            } else {
                let merged = merge(messages, hashes, keys, &scalars);
                merged.into_iter().map(|(hash, key)| V::pair(hash, key)).collect()
            };
        let sum = vartime_msm_bytes(slice(&self.signatures, &range), &scalars);
        terms.push(V::pair(sum.to_affine(), -Affine::generator()));
        pairing_product(&terms)
    }
}

fn slice<'a, T>(list: &'a [T], range: &Range<usize>) -> &'a [T] {
    list.get(range.clone()).unwrap_or_default()
}

/// For each item, the position of the first item that is equal to it.
fn first_of_kind<'a>(items: impl Iterator<Item = &'a [u8]>) -> Vec<usize> {
    let mut first = BTreeMap::new();
    items.enumerate().map(|(at, item)| *first.entry(item).or_insert(at)).collect()
}

fn distinct(kinds: &[usize]) -> usize {
    kinds.iter().collect::<BTreeSet<_>>().len()
}

/// `(a, ∏ bᵢ^cᵢ)` over the items of each kind; all of one kind have the same `a`.
fn merge<A: Group, B: Group>(
    kinds: &[usize],
    a: &[Affine<A>],
    b: &[Affine<B>],
    scalars: &[[u8; 24]],
) -> Vec<(Affine<A>, Affine<B>)> {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, kind) in kinds.iter().enumerate() {
        places.entry(*kind).or_default().push(place);
    }
    let pick = |places: &[usize]| -> (Vec<Affine<B>>, Vec<[u8; 24]>) {
        let terms = places.iter().filter_map(|place| b.get(*place).zip(scalars.get(*place)));
        terms.map(|(point, scalar)| (*point, *scalar)).unzip()
    };
    let sum = |places: &Vec<usize>| {
        let (points, own) = pick(places);
        vartime_msm_bytes(&points, &own)
    };
    let sums: Vec<_> = places.values().map(sum).collect();
    let first = |places: &Vec<usize>| places.first().and_then(|place| a.get(*place)).copied();
    let fixed = places.values().filter_map(first);
    fixed.zip(Projective::batch_to_affine(&sums)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bls::{MinSig, SecretKey};
    use crate::curve::Scalar;
    use crate::secret::Secret;

    const DOMAIN: Domain = Domain::new("batch test");

    fn key(number: u64) -> SecretKey {
        SecretKey::from_scalar(Secret::new(Scalar::from_u64(number))).unwrap()
    }

    fn signed(number: u64, message: &[u8]) -> SignedMessage<'_, MinSig> {
        let key = key(number);
        SignedMessage { key: key.public_key(), message, signature: key.sign(DOMAIN, message) }
    }

    fn coefficients(domain: Domain, signed: &[SignedMessage<'_, MinSig>]) -> Vec<u128> {
        Batch::new(domain, signed).coefficients
    }

    fn wide(coefficient: u128) -> Scalar {
        let mut bytes = [0; 32];
        bytes[16..].copy_from_slice(&coefficient.to_be_bytes());
        Scalar::from_bytes(&bytes).unwrap()
    }

    /// An attacker that knows the coefficients beforehand makes errors that cancel under them.
    #[test]
    fn errors_that_cancel_under_the_coefficients_of_the_honest_batch_are_named() {
        let mut batch = [signed(5, b"one"), signed(7, b"two")];
        let known = coefficients(DOMAIN, &batch).into_iter().map(wide);
        let known: Vec<Scalar> = known.collect();
        for (one, by) in batch.iter_mut().zip([known[1], -known[0]]) {
            let moved = Affine::generator() * by + one.signature.point();
            one.signature = Signature::from_sum(moved.to_affine());
        }
        let positions = BTreeSet::from([0, 1]);
        assert_eq!(verify_batch(DOMAIN, &batch), Err(Culprits { positions, of: 2 }));
    }

    #[test]
    fn coefficients_are_of_everything_in_the_equation() {
        let honest = [signed(5, b"one"), signed(7, b"two")];
        let own = coefficients(DOMAIN, &honest);
        assert_ne!(coefficients(Domain::new("another"), &honest), own);
        let change = |change: fn(&mut SignedMessage<'_, MinSig>)| {
            let mut batch = honest;
            change(&mut batch[1]);
            coefficients(DOMAIN, &batch)
        };
        assert_ne!(change(|it| it.key = key(8).public_key()), own);
        assert_ne!(change(|it| it.message = b"three"), own);
        assert_ne!(change(|it| it.signature = signed(8, b"two").signature), own);
    }
}
