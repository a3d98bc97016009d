//! Dealings of which one equation is false and all others hold.

use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
use prefinal_crypto_core::secret::Secret;

use super::{Cheat, resigned};
use crate::field::DealingError;
use crate::field::chunk::{BITS, CHUNKS};
use crate::field::deal::{Witness, origin};
use crate::field::layout::Layout;
use crate::field::proof::Statement;
use crate::fixture::party;
use crate::proof::widen;

fn power(n: u64) -> G1Affine {
    (G1Affine::generator() * Scalar::from_u64(n)).into()
}

/// `F` is of another secret than what is shared, and the dealer knows both.
#[test]
fn the_secret_committed_to_is_the_one_that_is_shared() {
    let mut cheat = Cheat::new();
    let body = cheat.witness.encrypt(&cheat.layout);
    cheat.witness.constant = Secret::new(*cheat.witness.constant.expose() + Scalar::ONE);
    let dealing = cheat.publish_body(body);
    assert_eq!(cheat.verify(dealing).unwrap_err(), DealingError::Commitment);
}

/// Shares that were never encrypted: of the right degree, with the right secret.
#[test]
fn the_shares_committed_to_are_the_ones_that_are_encrypted() {
    let mut cheat = Cheat::new();
    let rng = &mut cheat.committee.rng;
    let other = Witness::random(&cheat.committee.config, &cheat.layout, rng);
    let mut body = cheat.witness.encrypt(&cheat.layout);
    let committed = other.encrypt(&cheat.layout);
    (body.public_key, body.commitments) = (committed.public_key, committed.commitments);
    cheat.witness.constant = Secret::new(*other.constant.expose());
    let public = G2Affine::from(G2Affine::generator() * other.constant.expose());
    assert_eq!(body.public_key, public);
    let dealing = cheat.publish_body(body);
    assert_eq!(cheat.verify(dealing).unwrap_err(), DealingError::Sharing);
}

/// Their weighted sum, which is all that the proof of sharing looks at, is what it was. Nobody could
/// decrypt either chunk.
#[test]
fn ephemeral_keys_are_those_of_each_chunk() {
    let mut cheat = Cheat::new();
    let mut body = cheat.witness.encrypt(&cheat.layout);
    body.ephemerals[0] = (power(1 << BITS) + body.ephemerals[0]).into();
    body.ephemerals[1] = (-power(1) + body.ephemerals[1]).into();
    let dealing = cheat.publish_body(body);
    assert_eq!(cheat.verify(dealing).unwrap_err(), DealingError::Chunking);
}

/// The same with what is encrypted: one chunk is larger than was proven, and the next makes up for it.
#[test]
fn chunks_are_those_that_were_added_up() {
    let mut cheat = Cheat::new();
    let mut body = cheat.witness.encrypt(&cheat.layout);
    body.ciphertexts[0] = (power(1 << BITS) + body.ciphertexts[0]).into();
    body.ciphertexts[1] = (-power(1) + body.ciphertexts[1]).into();
    let dealing = cheat.publish_body(body);
    assert_eq!(cheat.verify(dealing).unwrap_err(), DealingError::Chunking);
}

/// Two parties of one share on each path get each other's, and all proofs are made for that.
#[test]
fn recipients_permuted() {
    let mut cheat = Cheat::new();
    let mut permuted = Layout::new(&cheat.committee.config);
    let [one, two] = [2, 6].map(|to| {
        let holders = permuted.holders.iter();
        let (place, holder) = holders.enumerate().find(|(_, it)| it.party == party(to)).unwrap();
        (place, holder.key)
    });
    (permuted.holders[one.0].key, permuted.holders[two.0].key) = (two.1, one.1);
    let body = cheat.witness.encrypt(&permuted);
    let dealing = cheat.publish_body(body);
    assert_eq!(cheat.verify(dealing).unwrap_err(), DealingError::Chunking);
}

/// The first chunks of two shares of one party.
#[test]
fn ciphertexts_swapped() {
    let mut cheat = Cheat::new();
    let mut body = cheat.witness.encrypt(&cheat.layout);
    body.ciphertexts.swap(0, CHUNKS);
    let dealing = cheat.publish_body(body);
    assert_eq!(cheat.verify(dealing).unwrap_err(), DealingError::Chunking);
}

/// With a mask of its choice that it need not open, a dealer could shift its sums.
#[test]
fn masks_are_opened() {
    let mut cheat = Cheat::new();
    let body = cheat.witness.encrypt(&cheat.layout);
    let good = cheat.force(body.clone(), |_| {});
    assert!(cheat.verify(good).is_ok());
    let wrong = cheat.force(body, |masks| {
        masks.ephemerals[3] = (power(1) + masks.ephemerals[3]).into();
    });
    assert_eq!(cheat.verify(wrong).unwrap_err(), DealingError::Chunking);
}

/// A dealer that is also a recipient, alone on its level, makes up there for what another
/// recipient is short of.
#[test]
fn what_one_recipient_lacks_is_not_made_up_for_by_another() {
    let mut cheat = Cheat::new();
    let before = Scalar::from_u64(cheat.witness.chunks.expose()[0]);
    cheat.with_chunks(|chunks| chunks[0] ^= 1);
    let short = Scalar::from_u64(cheat.witness.chunks.expose()[0]) - before;
    let mut dealing = cheat.publish();
    let secret = Secret::new(*cheat.witness.constant.expose());
    let commitment = dealing.contribution.commitment;
    let origin = origin(&cheat.committee.config, party(5), &commitment, None);
    let statement = Statement { layout: &cheat.layout, origin, body: &dealing.body };
    let (_, challenges) = statement.replay(&dealing.proof);
    let level = cheat.layout.levels - 1;
    let mut entries = cheat.layout.entries().filter(|entry| entry.level == level);
    let (entry, none) = (entries.next().unwrap(), entries.next());
    assert!(none.is_none() && cheat.layout.holders[entry.holder].party == party(5));
    drop(entries);
    let x = |item: usize| widen(challenges.shares[item]);
    let own = x(entry.item) * *cheat.committee.keys[5].scalar();
    let missing = challenges.sharing * x(0) * short;
    dealing.proof.responses.levels[level] += missing * own.invert().unwrap();
    let dealing = resigned(&mut cheat.committee, &dealing, &secret);
    assert_eq!(cheat.verify(dealing).unwrap_err(), DealingError::Sharing);
}

/// Three that add up to nothing, with these factors and without.
fn cancelling([a, b, c]: [Scalar; 3]) -> [Scalar; 3] {
    [b - c, c - a, a - b]
}

/// A dealer who knows the recipients' keys makes answers whose errors cancel in a plain sum and in the
/// sum over the keys. What is left is that each equation has its own weight.
#[test]
fn errors_that_cancel_under_known_keys_are_noticed() {
    let mut cheat = Cheat::new();
    let good = cheat.publish();
    let secret = Secret::new(*cheat.witness.constant.expose());
    let key = |holder: usize| {
        let party = cheat.layout.holders[holder].party;
        *cheat.committee.keys[party.index()].scalar()
    };
    let mut moved = good.clone();
    let errors = cancelling([0, 1, 2].map(key));
    let answers = moved.proof.responses.holders.iter_mut();
    answers.zip(errors).for_each(|(answer, error)| *answer += error);

    let commitment = good.contribution.commitment;
    let origin = origin(&cheat.committee.config, party(5), &commitment, None);
    let statement = Statement { layout: &cheat.layout, origin, body: &good.body };
    let (_, challenges) = statement.replay(&good.proof);
    let level_key = |level: usize| -> Scalar {
        let entries = cheat.layout.entries().filter(|entry| entry.level == level);
        entries.map(|it| widen(challenges.shares[it.item]) * key(it.holder)).sum()
    };
    let mut swayed = good;
    let errors = cancelling([0, 1, 2].map(level_key));
    let answers = swayed.proof.responses.levels.iter_mut();
    answers.zip(errors).for_each(|(answer, error)| *answer += error);
    for (dealing, refused) in [(moved, DealingError::Chunking), (swayed, DealingError::Sharing)] {
        let dealing = resigned(&mut cheat.committee, &dealing, &secret);
        assert_eq!(cheat.verify(dealing).unwrap_err(), refused);
    }
}
