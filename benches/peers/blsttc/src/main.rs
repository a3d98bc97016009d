//! blsttc: threshold BLS with signatures in 𝔾₂, as far as it goes.
//!
//! It has no check of several partials together: the row of one is that of each by itself. Its share
//! keys are evaluated one after the other by Horner's rule, with multiplications by full scalars.
use std::collections::BTreeMap;

use blsttc::{PublicKeySet, PublicKeyShare, SecretKeyShare, Signature, SignatureShare};
use prefinal_crypto_core::bls::{Domain, MinPk};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_peers::Contest;
use prefinal_peers::dealt::{Case, DealtSecrets};
use prefinal_peers::signatures::{InvalidSignature, Scheme, compare};

const MESSAGE: &[u8] = b"message";

struct Blsttc {
    shares: Vec<SecretKeyShare>,
    keys: PublicKeySet,
    share_keys: Vec<PublicKeyShare>,
}

fn main() {
    let mut contest = Contest::new("blsttc", "blsttc", include_str!("../Cargo.lock"));
    for &(t, n) in contest.committees() {
        let placement = Placement::Consecutive;
        let case = Case { n, t, placement, domain: Domain::BASIC, message: MESSAGE };
        let dealt = DealtSecrets::<MinPk>::new(case);
        compare(&mut contest, &dealt, &Blsttc::new(&dealt));
    }
    contest.finish();
}

impl Blsttc {
    fn new(dealt: &DealtSecrets<MinPk>) -> Self {
        let share = |bytes: &[u8; 32]| SecretKeyShare::from_bytes(*bytes).unwrap();
        let shares: Vec<SecretKeyShare> = dealt.shares.iter().map(share).collect();
        let keys = PublicKeySet::from_bytes(dealt.commitment.concat()).unwrap();
        // Those of the commitment, which is not asked here: that takes most of a minute.
        let share_keys = shares.iter().map(SecretKeyShare::public_key_share).collect();
        Self { shares, keys, share_keys }
    }
}

fn refused(valid: bool) -> Result<(), InvalidSignature> {
    if valid { Ok(()) } else { Err(InvalidSignature) }
}

impl Scheme for Blsttc {
    type Partial = SignatureShare;
    type Batch = Vec<(usize, SignatureShare)>;
    type Quorum<'a> = BTreeMap<usize, SignatureShare>;
    type Signature = Signature;
    type Commitment = PublicKeySet;
    type Key = PublicKeyShare;

    fn partial(&self, share: usize) -> SignatureShare {
        self.shares[share].sign(MESSAGE)
    }

    fn verify(&self, share: usize, partial: &SignatureShare) -> Result<(), InvalidSignature> {
        refused(self.share_keys[share].verify(partial, MESSAGE))
    }

    fn batch(&self, partials: Vec<(usize, SignatureShare)>) -> Self::Batch {
        partials
    }

    fn culprits(&self, batch: &Self::Batch) -> Vec<usize> {
        let bad = batch.iter().filter(|(share, partial)| self.verify(*share, partial).is_err());
        bad.map(|(share, _)| *share).collect()
    }

    fn quorum(&self, partials: Vec<(usize, SignatureShare)>) -> Self::Quorum<'_> {
        partials.into_iter().collect()
    }

    fn combine(&self, quorum: &Self::Quorum<'_>) -> Signature {
        self.keys.combine_signatures(quorum).unwrap()
    }

    fn verify_result(&self, signature: &Signature) -> Result<(), InvalidSignature> {
        refused(self.keys.public_key().verify(signature, MESSAGE))
    }

    fn commitment(&self) -> PublicKeySet {
        self.keys.clone()
    }

    fn share_keys(&self, commitment: PublicKeySet) -> Vec<PublicKeyShare> {
        (0..self.shares.len()).map(|share| commitment.public_key_share(share)).collect()
    }

    fn partial_bytes(partial: &SignatureShare) -> Vec<u8> {
        partial.to_bytes().to_vec()
    }

    fn signature_bytes(signature: &Signature) -> Vec<u8> {
        signature.to_bytes().to_vec()
    }

    fn key_bytes(key: &PublicKeyShare) -> Vec<u8> {
        key.to_bytes().to_vec()
    }
}
