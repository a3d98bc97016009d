//! fastcrypto-tbls: threshold BLS with signatures in 𝔾₁.
//!
//! Its check of one partial evaluates the committee's polynomial each time; here it has the share keys
//! at hand, as ours does, and as its users would if they check more than one. Its check of several names no
//! culprit: if it fails, each is checked by itself.
mod dkg;

use std::num::NonZeroU16;

use fastcrypto::groups::bls12381::{G1Element, G2Element, Scalar};
use fastcrypto::serde_helpers::ToFromByteArray;
use fastcrypto_tbls::polynomial::Poly;
use fastcrypto_tbls::tbls::{PartialSignature, Share, ThresholdBls};
use fastcrypto_tbls::types::ThresholdBls12381MinSig as Bls;
use prefinal_crypto_core::bls::{Domain, MinSig};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_peers::Contest;
use prefinal_peers::dealt::{Case, DealtSecrets};
use prefinal_peers::signatures::{InvalidSignature, Scheme, compare};
use rand::SeedableRng;
use rand::rngs::StdRng;

const MESSAGE: &[u8] = b"message";

struct Fastcrypto {
    threshold: u16,
    shares: Vec<Share<Scalar>>,
    polynomial: Poly<G2Element>,
    share_keys: Vec<G2Element>,
}

fn main() {
    let mut contest = Contest::new("fastcrypto", "fastcrypto-tbls", include_str!("../Cargo.lock"));
    for &(t, n) in contest.committees() {
        let placement = Placement::Consecutive;
        let case = Case { n, t, placement, domain: Domain::BASIC, message: MESSAGE };
        let dealt = DealtSecrets::<MinSig>::new(case);
        compare(&mut contest, &dealt, &Fastcrypto::new(&dealt));
        dkg::compare(&mut contest, u16::try_from(n).unwrap());
    }
    contest.finish();
}

impl Fastcrypto {
    fn new(dealt: &DealtSecrets<MinSig>) -> Self {
        let threshold = u16::try_from(dealt.case.t).unwrap();
        let share = |(bytes, index): (&[u8; 32], u16)| Share {
            index: NonZeroU16::new(index).unwrap(),
            value: Scalar::from_byte_array(bytes).unwrap(),
        };
        let shares: Vec<Share<Scalar>> = dealt.shares.iter().zip(1..).map(share).collect();
        let point = |bytes: &Vec<u8>| {
            G2Element::from_byte_array(&bytes.as_slice().try_into().unwrap()).unwrap()
        };
        let polynomial: Vec<G2Element> = dealt.commitment.iter().map(point).collect();
        let key = |share: &Share<Scalar>| {
            <G2Element as fastcrypto::groups::GroupElement>::generator() * share.value
        };
        let share_keys = shares.iter().map(key).collect();
        Self { threshold, shares, polynomial: Poly::from(polynomial), share_keys }
    }
}

impl Scheme for Fastcrypto {
    type Partial = PartialSignature<G1Element>;
    type Batch = Vec<PartialSignature<G1Element>>;
    type Quorum<'a> = Vec<PartialSignature<G1Element>>;
    type Signature = G1Element;
    type Commitment = Poly<G2Element>;
    type Key = G2Element;

    fn partial(&self, share: usize) -> Self::Partial {
        Bls::partial_sign(&self.shares[share], MESSAGE)
    }

    fn verify(&self, share: usize, partial: &Self::Partial) -> Result<(), InvalidSignature> {
        Bls::verify(&self.share_keys[share], MESSAGE, &partial.value).map_err(|_| InvalidSignature)
    }

    fn batch(&self, partials: Vec<(usize, Self::Partial)>) -> Self::Batch {
        let named = |(share, it): (usize, Self::Partial)| PartialSignature {
            index: self.shares[share].index,
            value: it.value,
        };
        partials.into_iter().map(named).collect()
    }

    fn culprits(&self, batch: &Self::Batch) -> Vec<usize> {
        let mut rng = StdRng::seed_from_u64(1);
        if Bls::partial_verify_batch(&self.polynomial, MESSAGE, batch.iter(), &mut rng).is_ok() {
            return Vec::new();
        }
        let share = |partial: &Self::Partial| usize::from(partial.index.get()) - 1;
        let bad = batch.iter().filter(|partial| self.verify(share(partial), partial).is_err());
        bad.map(share).collect()
    }

    fn quorum(&self, partials: Vec<(usize, Self::Partial)>) -> Self::Quorum<'_> {
        self.batch(partials)
    }

    fn combine(&self, quorum: &Self::Quorum<'_>) -> G1Element {
        Bls::aggregate(self.threshold, quorum.iter()).unwrap()
    }

    fn verify_result(&self, signature: &G1Element) -> Result<(), InvalidSignature> {
        Bls::verify(self.polynomial.c0(), MESSAGE, signature).map_err(|_| InvalidSignature)
    }

    fn commitment(&self) -> Poly<G2Element> {
        self.polynomial.clone()
    }

    fn share_keys(&self, commitment: Poly<G2Element>) -> Vec<G2Element> {
        self.shares.iter().map(|share| commitment.eval(share.index).value).collect()
    }

    fn partial_bytes(partial: &Self::Partial) -> Vec<u8> {
        partial.value.to_byte_array().to_vec()
    }

    fn signature_bytes(signature: &G1Element) -> Vec<u8> {
        signature.to_byte_array().to_vec()
    }

    fn key_bytes(key: &G2Element) -> Vec<u8> {
        key.to_byte_array().to_vec()
    }
}
