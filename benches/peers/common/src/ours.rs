//! This project as a [`Scheme`].
use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{Signature, Variant};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::Affine;
use prefinal_crypto_core::threshold::{Message, Partial, Quorum, QuorumError};

use crate::dealt::DealtSecrets;
use crate::signatures::{InvalidSignature, Scheme};

impl<V: Variant> DealtSecrets<V> {
    fn message(&self) -> Message<V> {
        Message::new(self.case.domain, self.case.message)
    }
}

fn party(share: usize) -> Party {
    Party::new(u32::try_from(share).unwrap())
}

impl<V: Variant> Scheme for DealtSecrets<V> {
    type Partial = Partial<V>;
    type Batch = BTreeMap<Party, Partial<V>>;
    type Quorum<'a> = Quorum<'a, V>;
    type Signature = Signature<V>;
    type Commitment = Commitment<V::KeyGroup>;
    type Key = Affine<V::KeyGroup>;

    fn partial(&self, share: usize) -> Self::Partial {
        self.signers[share].partial(&self.message()).unwrap()
    }

    fn verify(&self, share: usize, partial: &Self::Partial) -> Result<(), InvalidSignature> {
        partial.verify(&self.committee, party(share), &self.message()).map_err(|_| InvalidSignature)
    }

    fn batch(&self, partials: Vec<(usize, Self::Partial)>) -> Self::Batch {
        partials.into_iter().map(|(share, partial)| (party(share), partial)).collect()
    }

    fn culprits(&self, batch: &Self::Batch) -> Vec<usize> {
        match self.committee.check_all(&self.message(), batch) {
            Ok(()) => Vec::new(),
            Err(QuorumError::Faulty { culprits }) => culprits.iter().map(|it| it.index()).collect(),
            Err(other) => panic!("{other}"),
        }
    }

    fn quorum(&self, partials: Vec<(usize, Self::Partial)>) -> Self::Quorum<'_> {
        let partials = self.batch(partials);
        self.committee.verify_all(&self.message(), partials).unwrap()
    }

    fn combine(&self, quorum: &Self::Quorum<'_>) -> Self::Signature {
        quorum.combine()
    }

    fn verify_result(&self, signature: &Self::Signature) -> Result<(), InvalidSignature> {
        self.committee.verify_result(&self.message(), signature).map_err(|_| InvalidSignature)
    }

    fn commitment(&self) -> Self::Commitment {
        self.own_commitment.clone()
    }

    fn share_keys(&self, commitment: Self::Commitment) -> Vec<Self::Key> {
        commitment.evaluate_all(self.committee.points())
    }

    fn partial_bytes(partial: &Self::Partial) -> Vec<u8> {
        partial.points()[0].to_bytes().as_ref().to_vec()
    }

    fn signature_bytes(signature: &Self::Signature) -> Vec<u8> {
        signature.to_bytes().as_ref().to_vec()
    }

    fn key_bytes(key: &Self::Key) -> Vec<u8> {
        key.to_bytes().as_ref().to_vec()
    }
}
