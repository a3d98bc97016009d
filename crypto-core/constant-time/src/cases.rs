//! Every path of `prefinal_crypto_core` that touches a secret.
use std::hint::black_box;

use prefinal_crypto_core::access::{Access, Party, ShareIndex, Threshold};
use prefinal_crypto_core::bls::{Domain, MinPk, MinSig, SecretKey, Variant};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::hazmat::{FixedBase, multiply_each};
use prefinal_crypto_core::curve::{
    Affine, G1, G1Affine, G1Projective, G2, G2Affine, Group, Scalar,
};
use prefinal_crypto_core::elgamal::{self, DecryptionKey, Label};
use prefinal_crypto_core::hedge::Hedge;
use prefinal_crypto_core::polynomial::{Domain as Roots, Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::sharing::Sharing;
use prefinal_crypto_core::threshold::{self, Message, Purpose, Setup};
use prefinal_crypto_core::timelock::{Identity, encrypt};
use prefinal_crypto_core::wvuf::{self, EvaluationKey, Input, KeyShares, blind};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::Case;
use crate::marks::set_up;
use crate::secrecy::{SecretRng, public, secret};

pub const ALL: &[Case] = &[
    ("scalar: add, subtract, multiply, negate", scalar_arithmetic),
    ("scalar: invert", scalar_inversion),
    ("scalar: compare", scalar_comparison),
    ("scalar: encode, decode", scalar_encoding),
    ("point of G1 times scalar", multiplication_g1),
    ("point of G2 times scalar", multiplication_g2),
    ("fixed base of G1 times scalar", fixed_base_g1),
    ("fixed base of G2 times scalar", fixed_base_g2),
    ("fixed base of G1 times many scalars", fixed_base_all_g1),
    ("fixed base of G2 times many scalars", fixed_base_all_g2),
    ("points of G1 times many scalars", points_g1),
    ("points of G2 times many scalars", points_g2),
    ("secret points: add, encode", secret_points),
    ("polynomial: share, evaluate at one point", polynomial),
    ("polynomial: evaluate over roots of unity", polynomial_over_domain),
    ("polynomial: all shares, both placements", polynomial_shares),
    ("commitment: commit, verify a share", commitment),
    ("sharing: one secret, two polynomials", sharing),
    ("hedge: append secrets, draw", hedged_draw),
    ("bls: draw a key, store, read", bls_key),
    ("bls: public key, sign, prove possession", bls_sign),
    ("bls: derive keys from a seed", bls_derive),
    ("threshold: take shares, sign", threshold_sign),
    ("wvuf: blind shares", wvuf_blind),
    ("wvuf: evaluate", wvuf_evaluate),
    ("elgamal: encrypt", elgamal_encrypt),
    ("elgamal: take shares, store, read, decrypt a share", elgamal_decrypt),
    ("timelock: encrypt", timelock_encrypt),
];

fn scalar_arithmetic(rng: &mut SecretRng) {
    let (a, b) = (Scalar::random(rng), Scalar::random(rng));
    black_box([a + b, a - b, a * b, -a, Scalar::from_u64(rng.word())]);
    black_box([a, b].into_iter().sum::<Scalar>());
    black_box([a, b].into_iter().product::<Scalar>());
}

fn scalar_inversion(rng: &mut SecretRng) {
    black_box(Scalar::random(rng).invert());
}

fn scalar_comparison(rng: &mut SecretRng) {
    let (a, b) = (Scalar::random(rng), Scalar::random(rng));
    // The verdict is public, how it came about is not.
    black_box(public(a == b));
}

fn scalar_encoding(rng: &mut SecretRng) {
    let bytes = black_box(Scalar::random(rng).to_bytes());
    let _ = black_box(Scalar::from_bytes(&bytes));
}

fn multiplication_g1(rng: &mut SecretRng) {
    multiplication(G1Affine::generator(), rng);
}

fn multiplication_g2(rng: &mut SecretRng) {
    multiplication(G2Affine::generator(), rng);
}

fn multiplication<G: Group>(point: Affine<G>, rng: &mut SecretRng) {
    let first = point * Scalar::random(rng);
    // Now the point is a secret as well.
    black_box(first.to_affine() * Scalar::random(rng));
}

fn fixed_base_g1(rng: &mut SecretRng) {
    let base = set_up(|| FixedBase::new(&G1Affine::generator()));
    black_box(base.multiply(&Scalar::random(rng)));
}

fn fixed_base_g2(rng: &mut SecretRng) {
    let base = set_up(|| FixedBase::new(&G2Affine::generator()));
    black_box(base.multiply(&Scalar::random(rng)));
}

/// Enough for eight at a time, where the processor can; elsewhere each is computed for itself.
fn many(rng: &mut SecretRng) -> Vec<Scalar> {
    let count = if computes_wide() { 32 } else { 2 };
    (0..count).map(|_| Scalar::random(rng)).collect()
}

/// Whether this processor multiplies eight numbers at a time.
pub fn computes_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

fn fixed_base_all_g1(rng: &mut SecretRng) {
    fixed_base_all(G1Affine::generator(), rng);
}

fn fixed_base_all_g2(rng: &mut SecretRng) {
    fixed_base_all(G2Affine::generator(), rng);
}

fn fixed_base_all<G: Group>(point: Affine<G>, rng: &mut SecretRng) {
    let base = set_up(|| FixedBase::new(&point));
    black_box(base.multiply_all(&many(rng)));
}

fn points_g1(rng: &mut SecretRng) {
    points(G1Affine::generator(), rng);
}

fn points_g2(rng: &mut SecretRng) {
    points(G2Affine::generator(), rng);
}

fn points<G: Group>(point: Affine<G>, rng: &mut SecretRng) {
    let multiple = |factor| (point * Scalar::from_u64(factor)).to_affine();
    let scalars = many(rng);
    let points: Vec<_> = set_up(|| (1..).map(multiple).take(scalars.len()).collect());
    black_box(multiply_each(&points, &scalars));
}

fn secret_points(rng: &mut SecretRng) {
    let points = [0; 3].map(|_| G1Affine::generator() * Scalar::random(rng));
    let [a, b, c] = points;
    black_box((a + b - c).to_affine().to_bytes());
    black_box((a == b, a.to_affine() == c.to_affine()));
    black_box(G1Projective::batch_to_affine(&points));
}

fn threshold() -> Threshold {
    Threshold::new(5, 7).expect("five of seven")
}

fn polynomial(rng: &mut SecretRng) {
    let secret = Secret::new(Scalar::random(rng));
    let polynomial = Polynomial::random(threshold().t(), &secret, rng);
    black_box(polynomial.evaluate(&Scalar::from_u64(3)));
}

fn polynomial_over_domain(rng: &mut SecretRng) {
    let secret = Secret::new(Scalar::random(rng));
    let polynomial = Polynomial::random(threshold().t(), &secret, rng);
    black_box(polynomial.evaluate_over(&Roots::new(7)));
    black_box(polynomial.evaluate_over(&Roots::new(2)));
}

fn polynomial_shares(rng: &mut SecretRng) {
    let secret = Secret::new(Scalar::random(rng));
    let polynomial = Polynomial::random(threshold().t(), &secret, rng);
    for placement in [Placement::Consecutive, Placement::RootsOfUnity] {
        let points = Points::new(placement, 7).expect("seven shares");
        black_box(polynomial.shares(&points));
    }
}

fn commitment(rng: &mut SecretRng) {
    let secret = Secret::new(Scalar::random(rng));
    let polynomial = Polynomial::random(threshold().t(), &secret, rng);
    let points = Points::new(Placement::Consecutive, 7).expect("seven shares");
    let (index, share) = (ShareIndex::new(3).expect("not zero"), polynomial.shares(&points));
    let share = Secret::new(share.expose()[2]);
    let generator = set_up(|| FixedBase::new(&G1Affine::generator()));
    let commitment = Commitment::<G1>::commit_with(&generator, &polynomial);
    // It is sent to everybody.
    let points_sent = commitment.points().iter().copied().map(public).collect();
    let commitment = Commitment::from_points(points_sent).expect("not empty");
    black_box(commitment.verify_share(&points, index, &share)).expect("its share");
}

fn sharing(rng: &mut SecretRng) {
    black_box(Sharing::random(threshold(), Some(threshold()), rng));
}

fn hedged_draw(rng: &mut SecretRng) {
    let mut key = [0_u8; 32];
    rng.fill_bytes(&mut key);
    // More than a block of the hash.
    let mut message = vec![0_u8; 100];
    rng.fill_bytes(&mut message);
    let scalars = [(); 2].map(|()| Scalar::random(rng));
    let (key, message, scalar) =
        (Secret::new(key), Secret::new(message), Secret::new(Scalar::random(rng)));
    let hedge = || {
        Hedge::new(b"constant time")
            .public(b"public", b"public")
            .secret(b"key", &key)
            .secret(b"message", &message)
            .scalar(b"scalar", &scalar)
            .scalars(b"scalars", scalars.iter())
    };
    let mut drawn = hedge().rng(rng);
    black_box((Scalar::random_nonzero(&mut drawn), Scalar::random(&mut drawn)));
    let mut drawn = hedge().plausible_rng(rng).expect("its halves differ");
    let mut bytes = [0_u8; 300];
    drawn.fill_bytes(&mut bytes);
    black_box(bytes);
}

fn bls_key(rng: &mut SecretRng) {
    let key = SecretKey::random(rng);
    let _ = black_box(SecretKey::from_secret_bytes(&key.to_secret_bytes()));
}

const DOMAIN: Domain = Domain::new("constant time");

fn bls_sign(rng: &mut SecretRng) {
    let key = SecretKey::random(rng);
    black_box(key.public_key::<MinSig>());
    black_box(key.public_key::<MinPk>());
    black_box(key.sign::<MinSig>(DOMAIN, b"message"));
    black_box(key.sign::<MinPk>(DOMAIN, b"message"));
    black_box(key.prove_possession::<MinSig>());
    black_box(key.prove_possession::<MinPk>());
}

fn bls_derive(rng: &mut SecretRng) {
    let mut seed = [0_u8; 32];
    rng.fill_bytes(&mut seed);
    let master = SecretKey::derive_master(&Secret::new(seed)).expect("32 bytes");
    black_box(master.derive_child(7));
}

fn threshold_sign(rng: &mut SecretRng) {
    sign_share::<MinSig>(rng);
    sign_share::<MinPk>(rng);
}

fn sign_share<V: Variant>(rng: &mut SecretRng) {
    let (own, committee) = set_up(|| signers::<V>(rng.known()));
    let own: Vec<Scalar> = own.into_iter().map(secret).collect();
    let own = threshold::KeyShares::new(Party::new(0), Secret::new(own));
    let own = threshold::KeyShares::from_secret_bytes(Party::new(0), &own.to_secret_bytes());
    let own = own.expect("scalars");
    let signer = set_up(|| own.check(&committee).expect("its shares"));
    black_box(signer.partial(&Message::new(DOMAIN, b"message"))).expect("its purpose");
}

/// The shares of one party, and the committee.
fn signers<V: Variant>(rng: &mut ChaCha20Rng) -> (Vec<Scalar>, threshold::SigningCommittee<V>) {
    let access = Access::new(&[3, 4]).expect("weights");
    let polynomial = Polynomial::random(threshold().t(), &Secret::new(Scalar::random(rng)), rng);
    let placement = Placement::Consecutive;
    let shares = polynomial.shares(&Points::of(&access, placement));
    let (threshold, purpose) = (threshold(), Purpose::Messages(DOMAIN));
    let setup = Setup { access, threshold, placement, purpose };
    let committee =
        threshold::SigningCommittee::<V>::from_commitment(setup, &Commitment::commit(&polynomial));
    (shares.expose()[..3].to_vec(), committee.expect("a committee"))
}

fn input() -> Input {
    let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(2) };
    Input::new(&context, Slot::new(3), None)
}

fn shares(rng: &mut SecretRng) -> KeyShares {
    let points = [0; 3].map(|_| G1Affine::generator() * Scalar::random(rng));
    KeyShares::new(G1Projective::batch_to_affine(&points))
}

fn wvuf_blind(rng: &mut SecretRng) {
    let shares = shares(rng);
    let committee = set_up(|| {
        let access = Access::new(&[3]).expect("weights");
        let public = vec![G2Affine::generator(); 3];
        let threshold = Threshold::new(1, 3).expect("a threshold");
        wvuf::VufCommittee::new(access, threshold, public).expect("a committee")
    });
    black_box(blind(&committee, Party::new(0), &shares, rng));
}

fn wvuf_evaluate(rng: &mut SecretRng) {
    let mut bytes = [0; 32];
    rng.fill_bytes(&mut bytes);
    // Below the group order, which no uniform 256 bits need be.
    bytes[0] = 0;
    if let Ok(key) = EvaluationKey::from_secret_bytes(&Secret::new(bytes)) {
        black_box(key.evaluate(&input()));
    }
}

/// A committee whose key is always the same, and all values of its polynomial, which is not.
fn committee(rng: &mut ChaCha20Rng) -> (elgamal::DecryptionCommittee, Vec<Scalar>) {
    let access = Access::new(&[3, 4]).expect("weights");
    let secret = Secret::new(Scalar::from_u64(2));
    let polynomial = Polynomial::random(threshold().t(), &secret, rng);
    let y = (G1Affine::generator() * secret.expose()).to_affine();
    let shares = polynomial.shares(&Points::of(&access, Placement::Consecutive));
    let commitment = Commitment::<G2>::commit(&polynomial);
    let committee =
        elgamal::DecryptionCommittee::new(y, &commitment, access, Placement::Consecutive);
    (committee.expect("a committee"), shares.expose().clone())
}

fn elgamal_encrypt(rng: &mut SecretRng) {
    let (committee, _) = set_up(|| committee(&mut ChaCha20Rng::seed_from_u64(2)));
    let label = Label::new(b"label").expect("short");
    let mut plaintext = [0; 64];
    rng.fill_bytes(&mut plaintext);
    black_box(committee.key().encrypt(&label, &plaintext, rng)).expect("short");
}

fn elgamal_decrypt(rng: &mut SecretRng) {
    let (committee, shares) = set_up(|| committee(rng.known()));
    let label = Label::new(b"label").expect("short");
    let ciphertext = set_up(|| {
        let sender = &mut ChaCha20Rng::seed_from_u64(3);
        let ciphertext = committee.key().encrypt(&label, b"plaintext", sender).expect("short");
        ciphertext.validate(committee.key(), &label).expect("valid")
    });
    let own: Vec<Scalar> = shares[..3].iter().map(|share| secret(*share)).collect();
    let key = DecryptionKey::new(&committee, Party::new(0), Secret::new(own)).expect("its shares");
    let bytes = key.to_secret_bytes();
    let key =
        DecryptionKey::from_secret_bytes(&committee, Party::new(0), &bytes).expect("the same");
    black_box(key.decrypt_share(&ciphertext)).expect("this key's");
}

fn timelock_encrypt(rng: &mut SecretRng) {
    encrypt_to_round::<MinSig>(rng);
    encrypt_to_round::<MinPk>(rng);
}

fn encrypt_to_round<V: Variant>(rng: &mut SecretRng) {
    let beacon = SecretKey::random(&mut ChaCha20Rng::seed_from_u64(4)).public_key::<V>();
    let mut message = [0; 16];
    rng.fill_bytes(&mut message);
    black_box(encrypt(&beacon, &Identity::new(DOMAIN, b"round 8"), &message, rng));
}
