//! Threshold certificates: one key, no matter who has the shares.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::bls::{Domain, MinSig, SignatureError};
use prefinal_crypto_core::certificate::StateStatement;
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::polynomial::{Placement, Polynomial};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{KeyShares, Message, Setup, SigningCommittee};
use prefinal_light::{
    BlockError, CertifiedBlock, KeyProof, KeyVerifier, LightObject, LightProofError,
};
use prefinal_protocol::{ChainId, EpochId};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::chain::{CHAIN, Chain, pay, secret, with};

/// A committee of these weights that has the key `secret`, and its shares.
struct Group {
    committee: SigningCommittee<MinSig>,
    shares: Secret<Vec<Scalar>>,
}

impl Group {
    fn new(secret: &Secret<Scalar>, weights: &[u32], t: u32, rng: &mut ChaCha20Rng) -> Self {
        let access = Access::new(weights).unwrap();
        let threshold = Threshold::new(t, access.total()).unwrap();
        let polynomial = Polynomial::random(threshold.t(), secret, rng);
        let (placement, purpose) = (Placement::Consecutive, StateStatement::THRESHOLD);
        let setup = Setup { access, threshold, placement, purpose };
        let commitment = Commitment::commit(&polynomial);
        let committee = SigningCommittee::from_commitment(setup, &commitment).unwrap();
        let shares = polynomial.shares(committee.points());
        Self { committee, shares }
    }

    fn certify(&self, block: &CertifiedBlock<()>, parties: &[u32]) -> CertifiedBlock<Signature> {
        let statement = block.statement(CHAIN).to_bytes();
        let message = Message::new(StateStatement::THRESHOLD.domain(), &statement);
        let mut partials = BTreeMap::new();
        for party in parties.iter().copied().map(Party::new) {
            let own = self.shares.expose()[self.committee.access().range(party)].to_vec();
            let signer = KeyShares::new(party, Secret::new(own)).check(&self.committee).unwrap();
            partials.insert(party, signer.partial(&message).unwrap());
        }
        let quorum = self.committee.optimistic(&message, partials).unwrap();
        with(block, quorum.combine().unwrap())
    }
}

/// The key is shared again with another committee, as a handover does it, and verifies both.
#[test]
fn one_key_verifies_every_epoch() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = Secret::new(Scalar::random(&mut rng));
    let groups = [
        Group::new(&secret, &[2, 1, 2], 3, &mut rng),
        Group::new(&secret, &[1, 3, 1, 1], 4, &mut rng),
    ];
    assert_ne!(groups[0].shares.expose()[0], groups[1].shares.expose()[0]);
    let verifier = KeyVerifier::new(CHAIN, groups[0].committee.group_key());
    let mut chain = Chain::new(&[1, 1, 1, 1], 20);
    let parties: [&[u32]; 2] = [&[0, 1], &[1, 3]];
    for (group, parties) in groups.iter().zip(parties) {
        chain.transfers(vec![pay(chain.epoch, 0, 9, 5)]);
        let block = group.certify(&chain.unsigned(), parties);
        let claims = vec![chain.claim_account(9), chain.claim_transaction(0)];
        let proof = KeyProof { chain: CHAIN, block, claims };
        let proof = KeyProof::from_wire(&proof.to_wire()).unwrap();
        let verified = verifier.verify_proof(&proof).unwrap();
        assert_eq!(verified.context().epoch, EpochId::new(chain.epoch));
        assert_eq!(verified, verifier.verify(&proof.block).unwrap());
        let _ending = chain.turn();
    }
}

/// Each field is signed, and so are chain and purpose.
#[test]
fn a_signature_of_anything_else_is_refused() {
    let key = secret(5);
    let mut chain = Chain::new(&[1, 1, 1, 1], 20);
    chain.transfers(Vec::new());
    let unsigned = chain.unsigned();
    let message = unsigned.statement(CHAIN).to_bytes();
    let sign = |domain| key.sign(domain, &message);
    let block = with(&unsigned, sign(StateStatement::THRESHOLD.domain()));
    let verifier = KeyVerifier::new(CHAIN, key.public_key());
    verifier.verify(&block).unwrap();

    let mut others = vec![block.clone(); 5];
    others[0].epoch = EpochId::new(1);
    others[1].slot = prefinal_protocol::Slot::new(2);
    others[2].value = prefinal_protocol::Value::new([1; 32]);
    others[3].roots.state[0] ^= 1;
    others[4].roots.receipts[31] ^= 1;
    // A vote of a member, and a certificate of something else, whose keys are others; here they are the same.
    for domain in [StateStatement::DOMAIN, Domain::new("threshold certificate"), Domain::BASIC] {
        others.push(with(&unsigned, sign(domain)));
    }
    let mismatch = BlockError::Signature(SignatureError::Mismatch);
    for (at, other) in others.iter().enumerate() {
        assert_eq!(verifier.verify(other), Err(mismatch), "{at}");
    }
    let elsewhere = KeyVerifier::new(ChainId::new([8; 32]), key.public_key());
    assert_eq!(elsewhere.verify(&block), Err(mismatch));
    let another = KeyVerifier::new(CHAIN, secret(6).public_key());
    assert_eq!(another.verify(&block), Err(mismatch));
}

#[test]
fn a_proof_says_what_is_wrong() {
    let key = secret(5);
    let mut chain = Chain::new(&[1, 1, 1, 1], 20);
    chain.transfers(vec![pay(0, 0, 1, 5)]);
    let unsigned = chain.unsigned();
    let message = unsigned.statement(CHAIN).to_bytes();
    let block = with(&unsigned, key.sign(StateStatement::THRESHOLD.domain(), &message));
    let claims = vec![chain.claim_account(0), chain.claim_transaction(0)];
    let proof = KeyProof { chain: CHAIN, block, claims };
    let verifier = KeyVerifier::new(CHAIN, key.public_key());
    verifier.verify_proof(&proof).unwrap();

    let elsewhere = KeyProof { chain: ChainId::new([8; 32]), ..proof.clone() };
    assert_eq!(verifier.verify_proof(&elsewhere), Err(LightProofError::Chain));
    chain.transfers(vec![pay(0, 1, 1, 5)]);
    let mut later = proof.clone();
    later.claims[1] = chain.claim_transaction(0);
    let refused = verifier.verify_proof(&later);
    assert!(matches!(refused, Err(LightProofError::Claim { at: 1, .. })), "{refused:?}");
    let mut forged = proof;
    forged.block.slot = prefinal_protocol::Slot::new(9);
    assert!(matches!(verifier.verify_proof(&forged), Err(LightProofError::Block(_))));
}
