//! What must not pass, and what passes and must still decrypt.

mod alone;
mod batch;
mod broken;
mod handover;
pub(crate) mod large;
mod last;
mod mobile;

use std::sync::Arc;

use prefinal_crypto_core::access::ShareIndex;
use prefinal_crypto_core::curve::hazmat::vartime_msm;
use prefinal_crypto_core::curve::{G1Affine, G2Affine, Scalar};
use prefinal_crypto_core::polynomial::Domain;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::sharing::Sharing;

use super::chunk::{BITS, CHUNKS};
use super::chunking::{Bounds, Masked, REPETITIONS, commit, digits};
use super::deal::{Witness, origin};
use super::dealing::{Body, seal};
use super::equations::check_proof;
use super::layout::Layout;
use super::proof::{Masks, Statement};
use super::verify::Verifier;
use super::{Dealing, DealingError, Key, Shares, deal, verify};
use crate::accepted::Accepted;
use crate::aggregate::{self, AggregateError};
use crate::config::Config;
use crate::dkg::{Dkg, Progress};
use crate::fixture::{Committee, FAST, SLOW, WEIGHTS, as_dealer, party, session, shape};
use crate::proof::{Contribution, ProofError};
use crate::shape::SharePath;
use crate::wire::DecodeError;

fn dealt(committee: &mut Committee, dealer: u32) -> Dealing {
    let signer = &committee.signers[party(dealer).index()];
    deal(&committee.config, party(dealer), signer, &mut committee.rng).unwrap()
}

fn decrypted(committee: &Committee, dealing: &Accepted<Dealing>, to: u32) -> Shares {
    let key = &committee.keys[party(to).index()];
    dealing.open(&committee.config, party(to), key).unwrap().shares
}

/// Signs again what was changed, as a dealer that wants to cheat can.
fn resigned(committee: &mut Committee, dealing: &Dealing, secret: &Secret<Scalar>) -> Dealing {
    let dealer = dealing.dealer();
    let seal = seal(dealing.share, &dealing.body, &dealing.proof);
    let config = &committee.config;
    let contribution = Contribution::prove(config, dealer, seal, secret, &mut committee.rng);
    let signature = contribution.sign(config, &committee.signers[dealer.index()]);
    Dealing { contribution, signature, ..dealing.clone() }
}

struct Cheat {
    committee: Committee,
    layout: Layout,
    witness: Witness,
}

impl Cheat {
    fn new() -> Self {
        let mut committee = Committee::new();
        let layout = Layout::new(&committee.config);
        let witness = Witness::random(&committee.config, &layout, &mut committee.rng);
        Self { committee, layout, witness }
    }

    fn publish(&mut self) -> Dealing {
        let body = self.witness.encrypt(&self.layout);
        self.publish_body(body)
    }

    fn publish_body(&mut self, body: Body) -> Dealing {
        let dealer = as_dealer(&self.committee.config, 5, &self.committee.signers[5]);
        self.witness.publish(&dealer, body, None, &mut self.committee.rng).unwrap()
    }

    /// As a prover who does not care whether its sums are in range, with other masks.
    fn force(&mut self, body: Body, change: fn(&mut Masks)) -> Dealing {
        let Self { committee, layout, witness } = self;
        let bounds = Bounds::new(layout.items);
        let secret = Secret::new(*witness.constant.expose());
        let commitment = G1Affine::from(G1Affine::generator() * secret.expose());
        let origin = origin(&committee.config, party(5), &commitment, None);
        let statement = Statement { layout, origin, body: &body };
        let (mut transcript, shares) = statement.begin();
        let betas = (0..REPETITIONS).map(|_| Scalar::random(&mut committee.rng)).collect();
        let betas = Secret::new(betas);
        let mut masks = commit(&betas, &Secret::new(vec![2 * bounds.honest; REPETITIONS]), &bounds);
        change(&mut masks);
        let challenges = statement.chunks(&mut transcript, &masks);
        let mut sums = vec![bounds.honest; REPETITIONS];
        for (coefficient, chunk) in challenges.iter().zip(witness.chunks.expose()) {
            for (sum, digit) in sums.iter_mut().zip(digits(*coefficient)) {
                *sum = sum.wrapping_add(chunk.wrapping_mul(digit));
            }
        }
        let masked = Masked { masks, betas, sums, challenges, transcript };
        let proof = witness.answer(layout, &shares, masked, &mut committee.rng);
        let seal = seal(None, &body, &proof);
        let config = &committee.config;
        let contribution = Contribution::prove(config, party(5), seal, &secret, &mut committee.rng);
        let signature = contribution.sign(config, &committee.signers[5]);
        Dealing { share: None, contribution, signature, body, proof }
    }

    fn verify(&self, dealing: Dealing) -> Result<Accepted<Dealing>, DealingError> {
        verify(&self.committee.config, dealing)
    }

    /// As much from one chunk to the one below, which together stay the same.
    fn borrow(&mut self, from: usize, carry: u64) -> Body {
        let mut body = self.witness.encrypt(&self.layout);
        let moved = |n: u64| G1Affine::generator() * Scalar::from_u64(n);
        body.ciphertexts[from - 1] = (moved(carry << BITS) + body.ciphertexts[from - 1]).into();
        body.ciphertexts[from] = (-moved(carry) + body.ciphertexts[from]).into();
        self.with_chunks(|chunks| {
            chunks[from - 1] += carry << BITS;
            chunks[from] = chunks[from].wrapping_sub(carry);
        });
        body
    }

    fn with_chunks(&mut self, change: impl Fn(&mut Vec<u64>)) {
        let mut chunks = self.witness.chunks.expose().clone();
        change(&mut chunks);
        self.witness.chunks = Secret::new(chunks);
    }
}

#[test]
fn every_set_of_threshold_shares_rebuilds_the_secret() {
    let mut committee = Committee::new();
    let dealing = dealt(&mut committee, 0);
    let bytes = dealing.to_bytes();
    assert_eq!(bytes.len(), committee.config.field_dealing_bytes());
    assert_eq!(bytes.len(), 3913 + 864 * 22 + 848 * 8 + 80 * 5);
    assert_eq!(Dealing::from_bytes(&committee.config, &bytes), Ok(dealing.clone()));
    let dealing = verify(&committee.config, dealing).unwrap();
    let shares: Vec<Shares> = (0..7).map(|to| decrypted(&committee, &dealing, to)).collect();
    for (one, weight) in shares.iter().zip(WEIGHTS) {
        let weight = usize::try_from(weight).unwrap();
        assert_eq!(one.slow.expose().len(), weight);
        assert_eq!(one.fast.as_ref().unwrap().expose().len(), weight);
    }
    let slow: Vec<Scalar> = shares.iter().flat_map(|one| one.slow.expose().clone()).collect();
    let fast: Vec<Scalar> =
        shares.iter().flat_map(|one| one.fast.as_ref().unwrap().expose().clone()).collect();
    let key = dealing.body.public_key;
    for (values, threshold) in [(slow, SLOW), (fast, FAST)] {
        for start in 0..11 {
            let indices: Vec<ShareIndex> = (0..threshold)
                .map(|k| ShareIndex::new((start + k * 4) % 11 + 1).unwrap())
                .collect();
            let lambda = Domain::new(11).lagrange_at_zero(&indices);
            let terms = lambda.iter().zip(&indices);
            let secret: Scalar = terms.map(|(l, k)| *l * values[k.position()]).sum();
            assert_eq!(G2Affine::from(G2Affine::generator() * secret), key);
        }
    }
}

#[test]
fn a_party_opens_nothing_but_its_own() {
    let mut committee = Committee::new();
    let dealing = dealt(&mut committee, 0);
    let dealing = verify(&committee.config, dealing).unwrap();
    let opened = dealing.open(&committee.config, party(2), &committee.keys[0]).err().unwrap();
    assert_eq!(opened, aggregate::DecryptError::Key { party: party(2) }.into());
    let mut other = session();
    other.attempt = 1;
    let other = Committee::with(other, shape(&WEIGHTS, SLOW, Some(FAST)), 1);
    let opened = dealing.open(&other.config, party(0), &other.keys[0]).err().unwrap();
    assert_eq!(opened, aggregate::DecryptError::Foreign.into());
}

#[test]
fn each_changed_value_is_noticed() {
    let mut cheat = Cheat::new();
    let good = cheat.publish();
    let secret = Secret::new(*cheat.witness.constant.expose());
    let one = G1Affine::generator();
    let other = G2Affine::generator();
    type Change = fn(&mut Dealing, G1Affine, G2Affine);
    let changes: [(&str, Change); 15] = [
        ("public key", |it, _, p| it.body.public_key = p),
        ("commitment", |it, _, p| it.body.commitments[3] = p),
        ("ephemeral", |it, p, _| it.body.ephemerals[17] = p),
        ("ciphertext", |it, p, _| it.body.ciphertexts[40] = p),
        ("mask", |it, p, _| it.proof.masks.ephemerals[31] = p),
        ("mask ciphertext", |it, p, _| it.proof.masks.ciphertexts[0] = p),
        ("sum", |it, _, _| it.proof.sums[7] ^= 1),
        ("mask nonce", |it, p, _| it.proof.nonces.masks = p),
        ("holder nonce", |it, p, _| it.proof.nonces.holders[2] = p),
        ("chunk nonce", |it, p, _| it.proof.nonces.chunks = p),
        ("level nonce", |it, p, _| it.proof.nonces.levels[7] = p),
        ("share nonce", |it, p, _| it.proof.nonces.shares = p),
        ("commitment nonce", |it, _, p| it.proof.nonces.commitment = p),
        ("mask response", |it, _, _| it.proof.responses.masks += Scalar::ONE),
        ("share response", |it, _, _| it.proof.responses.shares += Scalar::ONE),
    ];
    for (what, change) in changes {
        let mut changed = good.clone();
        change(&mut changed, one, other);
        let read = Dealing::from_bytes(&cheat.committee.config, &changed.to_bytes()).unwrap();
        assert_eq!(
            cheat.verify(read).unwrap_err(),
            DealingError::Proof(ProofError::Signature),
            "{what}"
        );
        let changed = resigned(&mut cheat.committee, &changed, &secret);
        let refused = cheat.verify(changed).unwrap_err();
        assert!(!matches!(refused, DealingError::Proof(_)), "{what}: {refused}");
    }
    assert!(cheat.verify(good).is_ok());
}

/// Each equation alone would add up: only a weight for each equation tells them apart.
#[test]
fn errors_that_cancel_in_a_plain_sum_are_noticed() {
    let mut cheat = Cheat::new();
    let good = cheat.publish();
    let secret = Secret::new(*cheat.witness.constant.expose());
    let mut moved = good.clone();
    moved.proof.responses.levels[0] += Scalar::ONE;
    moved.proof.responses.levels[1] -= Scalar::ONE;
    let moved = resigned(&mut cheat.committee, &moved, &secret);
    assert_eq!(cheat.verify(moved).unwrap_err(), DealingError::Sharing);
    let mut moved = good;
    moved.proof.responses.holders[0] += Scalar::ONE;
    moved.proof.responses.holders[1] -= Scalar::ONE;
    let moved = resigned(&mut cheat.committee, &moved, &secret);
    assert_eq!(cheat.verify(moved).unwrap_err(), DealingError::Chunking);
}

#[test]
fn a_share_that_is_not_the_committed_one_is_refused() {
    let mut cheat = Cheat::new();
    cheat.with_chunks(|chunks| chunks[5] ^= 1);
    let dealing = cheat.publish();
    assert_eq!(cheat.verify(dealing).unwrap_err(), DealingError::Sharing);
}

/// The chunks add up to the share, so only their size betrays them. The prover does not care whether
/// its sums are in range.
#[test]
fn chunks_beyond_the_bound_are_refused() {
    let mut cheat = Cheat::new();
    let bounds = Bounds::new(cheat.layout.items);
    let body = cheat.borrow(1, bounds.sum >> BITS);
    let secret = Secret::new(*cheat.witness.constant.expose());
    let large = cheat.force(body, |_| {});
    // Without the check of the range all equations hold.
    let all = check_proof(&Verifier::new(&cheat.committee.config, None), &large);
    assert_eq!(all, Ok(()));
    let refused = cheat.verify(large.clone()).unwrap_err();
    assert!(matches!(refused, DealingError::Range { .. }), "{refused}");
    let mut forced = large;
    forced.proof.sums.iter_mut().for_each(|sum| *sum %= bounds.sum);
    let forced = resigned(&mut cheat.committee, &forced, &secret);
    assert_eq!(cheat.verify(forced).unwrap_err(), DealingError::Chunking);
}

/// Larger than honest, within what the proof lets through: the recipient must still get its share.
#[test]
fn a_chunk_within_the_slack_decrypts() {
    let mut cheat = Cheat::new();
    let chunks = cheat.witness.chunks.expose();
    let from = (1..CHUNKS).find(|place| chunks[*place] > 8).unwrap();
    let body = cheat.borrow(from, 8);
    assert!(cheat.witness.chunks.expose().iter().any(|chunk| *chunk >= 1 << BITS));
    let dealing = cheat.publish_body(body);
    let dealing = cheat.verify(dealing).unwrap();
    for to in 0..7 {
        let shares = decrypted(&cheat.committee, &dealing, to);
        let span = cheat.committee.config.span(party(to));
        assert_eq!(shares.slow.expose()[..], cheat.witness.values.expose()[span]);
    }
}

#[test]
fn another_degree_or_another_secret_on_one_path_is_refused() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let layout = Layout::new(&config);
    // Shares of the slow path with the threshold of the fast one.
    let fast = config.shape().threshold(SharePath::Fast).unwrap();
    let sharing = Sharing::random(fast, Some(fast), &mut committee.rng);
    let witness = Witness::new(&config, &layout, &sharing, &mut committee.rng);
    let refused = |committee: &mut Committee, witness: &Witness| {
        let body = witness.encrypt(&layout);
        let dealer = as_dealer(&config, 0, &committee.signers[0]);
        let dealing = witness.publish(&dealer, body, None, &mut committee.rng).unwrap();
        verify(&config, dealing).unwrap_err()
    };
    let expected = DealingError::Degree { path: SharePath::Slow, threshold: SLOW };
    assert_eq!(refused(&mut committee, &witness), expected);
    // Two sharings, each good, of two secrets.
    let slow = config.shape().slow();
    let mut draw = || {
        let sharing = Sharing::random(slow, Some(fast), &mut committee.rng);
        Witness::new(&config, &layout, &sharing, &mut committee.rng)
    };
    let (mut one, two) = (draw(), draw());
    let half = config.shares();
    let mixed = [&one.values.expose()[..half], &two.values.expose()[half..]].concat();
    let chunks =
        [&one.chunks.expose()[..half * CHUNKS], &two.chunks.expose()[half * CHUNKS..]].concat();
    (one.values, one.chunks) = (Secret::new(mixed), Secret::new(chunks));
    let expected = DealingError::Degree { path: SharePath::Fast, threshold: FAST };
    assert_eq!(refused(&mut committee, &one), expected);
}

/// All that a thief lacks is the witness: it can sign, and it can prove knowledge of a secret.
#[test]
fn a_dealing_cannot_be_taken_over() {
    let mut committee = Committee::new();
    let good = dealt(&mut committee, 0);
    let mut stolen = good.clone();
    stolen.contribution.dealer = party(5);
    let seal = seal(None, &stolen.body, &stolen.proof);
    stolen.contribution.body = seal;
    stolen.signature = stolen.contribution.sign(&committee.config, committee.signer(5));
    let refused = verify(&committee.config, stolen).unwrap_err();
    assert_eq!(refused, DealingError::Proof(ProofError::Knowledge));
    let mut other = session();
    other.attempt = 1;
    let other = Committee::with(other, shape(&WEIGHTS, SLOW, Some(FAST)), 1);
    let refused = verify(&other.config, good).unwrap_err();
    assert_eq!(refused, DealingError::Proof(ProofError::Signature));
}

/// Chunking and sharing are bound to the dealer by themselves, not only by what surrounds them.
#[test]
fn the_proof_names_its_dealer() {
    let mut cheat = Cheat::new();
    let good = cheat.publish();
    let (secret, dealer) = (Secret::new(*cheat.witness.constant.expose()), party(0));
    let mut moved = good;
    moved.contribution.dealer = dealer;
    let moved = resigned(&mut cheat.committee, &moved, &secret);
    assert_eq!(cheat.verify(moved).unwrap_err(), DealingError::Chunking);
}

#[test]
fn sizes_identities_and_ranges_are_refused() {
    let mut cheat = Cheat::new();
    let good = cheat.publish();
    let changes: [fn(&mut Dealing); 5] = [
        |it| it.contribution.commitment = G1Affine::identity(),
        |it| it.body.public_key = G2Affine::identity(),
        |it| it.body.commitments[0] = G2Affine::identity(),
        |it| it.body.ephemerals[0] = G1Affine::identity(),
        |it| it.body.ciphertexts[0] = G1Affine::identity(),
    ];
    for change in changes {
        let mut changed = good.clone();
        change(&mut changed);
        let refused = cheat.verify(changed).unwrap_err();
        assert!(matches!(refused, DealingError::Identity { .. }), "{refused}");
    }
    let shorter: [fn(&mut Dealing); 10] = [
        |it| it.body.commitments.truncate(3),
        |it| it.body.ephemerals.truncate(3),
        |it| it.body.ciphertexts.truncate(3),
        |it| it.proof.masks.ephemerals.truncate(3),
        |it| it.proof.masks.ciphertexts.truncate(3),
        |it| it.proof.sums.truncate(3),
        |it| it.proof.nonces.holders.truncate(3),
        |it| it.proof.nonces.levels.truncate(3),
        |it| it.proof.responses.holders.truncate(3),
        |it| it.proof.responses.levels.truncate(3),
    ];
    for change in shorter {
        let mut changed = good.clone();
        change(&mut changed);
        let refused = cheat.verify(changed).unwrap_err();
        assert!(matches!(refused, DealingError::Size { got: 3, .. }), "{refused}");
    }
    let bound = Bounds::new(cheat.layout.items).sum;
    let mut large = good;
    large.proof.sums[4] = bound;
    let expected = DealingError::Range { sum: 4, got: bound, most: bound - 1 };
    assert_eq!(cheat.verify(large).unwrap_err(), expected);
}

#[test]
fn bytes_of_another_length_are_refused_before_anything_is_read() {
    let mut committee = Committee::new();
    let bytes = dealt(&mut committee, 0).to_bytes();
    let config: &Config = &committee.config;
    let expected = bytes.len();
    for got in [0, 1, expected - 1] {
        let refused = Dealing::from_bytes(config, &bytes[..got]).unwrap_err();
        assert_eq!(refused, DecodeError::Length { got, expected });
    }
    let long = [&bytes[..], &[0]].concat();
    let refused = Dealing::from_bytes(config, &long).unwrap_err();
    assert_eq!(refused, DecodeError::Length { got: expected + 1, expected });
    let mut version = bytes.clone();
    version[0] = 9;
    let refused = Dealing::from_bytes(config, &version).unwrap_err();
    assert_eq!(refused, DecodeError::Version { got: 9 });
    let mut stranger = bytes;
    stranger[4] = 77;
    let refused = Dealing::from_bytes(config, &stranger).unwrap_err();
    assert_eq!(refused, DecodeError::Dealer { got: 77, members: 7 });
}

/// The key generation as a whole: what is signed with rebuilt shares verifies under the key.
#[test]
fn dealings_that_qualify_make_a_key() {
    let mut committee = Committee::new();
    let config = committee.config.clone();
    let mut dkg = Dkg::new(config.clone());
    for (dealer, qualified) in [(3, false), (5, true)] {
        let dealing = dealt(&mut committee, dealer);
        let progress = dkg.add(Arc::new(verify(&config, dealing).unwrap())).unwrap();
        assert_eq!(progress == Progress::Qualified, qualified);
    }
    let key = dkg.key().unwrap();
    assert_eq!(key.dealers().collect::<Vec<_>>(), [party(3), party(5)]);
    let backwards: Vec<_> = dkg.dealings().iter().rev().cloned().collect();
    assert_eq!(Key::sum(&config, &backwards).unwrap().digest(), key.digest());
    for (to, decryption) in committee.keys.iter().enumerate() {
        let to = party(u32::try_from(to).unwrap());
        let shares = key.decrypt(&config, to, decryption.copy()).unwrap().shares;
        for path in [SharePath::Slow, SharePath::Fast] {
            let values =
                if path == SharePath::Slow { &shares.slow } else { shares.fast.as_ref().unwrap() };
            let public = &key.public_shares(path).unwrap()[config.span(to)];
            assert_eq!(values.expose().len(), public.len());
            for (value, public) in values.expose().iter().zip(public) {
                assert_eq!(G2Affine::from(G2Affine::generator() * value), *public);
            }
        }
    }
    let domain = Domain::new(11);
    let indices: Vec<ShareIndex> = (1..=SLOW).map(|k| ShareIndex::new(k).unwrap()).collect();
    let lambda = domain.lagrange_at_zero(&indices);
    let public = vartime_msm(&key.public_shares(SharePath::Slow).unwrap()[..lambda.len()], &lambda);
    assert_eq!(public, (*key.public_key()).into());
    let few = Key::sum(&config, &dkg.dealings()[..1]).unwrap_err();
    assert!(matches!(few, AggregateError::BelowQualification { .. }), "{few}");
}
