//! Certificates of states by a key that nobody ever had whole: light clients verify those of every committee under it.
use prefinal_crypto_core::bls::min_sig::Signature;
use prefinal_crypto_core::bls::{MinSig, PublicKey, SignatureError};
use prefinal_crypto_core::certificate::StateStatement;
use prefinal_execution::Roots;
use prefinal_light::{BlockError, CertifiedBlock, KeyVerifier};
use prefinal_protocol::{ChainId, EpochId, Slot, Value};
use prefinal_pvss_dkg::SharePath;

use crate::epoch::{Epoch, Plan};

const CHAIN: ChainId = ChainId::new([2; 32]);

fn certified(epoch: &Epoch, path: SharePath) -> CertifiedBlock<Signature> {
    let number = epoch.config.session().context.epoch;
    let unsigned = CertifiedBlock {
        epoch: number,
        slot: Slot::new(7 + number.get()),
        value: Value::new([3; 32]),
        roots: Roots { state: [4; 32], receipts: [5; 32] },
        certificate: (),
    };
    let message = unsigned.statement(CHAIN).to_bytes();
    let certificate = epoch.signature_for(StateStatement::THRESHOLD.domain(), path, &message);
    let CertifiedBlock { epoch, slot, value, roots, certificate: () } = unsigned;
    CertifiedBlock { epoch, slot, value, roots, certificate }
}

#[test]
fn one_key_verifies_the_states_of_all_committees() {
    let plan = |weights: &[u32], slow| Plan { weights: weights.to_vec(), slow, fast: Some(5) };
    let mut first = Epoch::first(&plan(&[2, 0, 1, 3], 3), 21);
    let mut second = first.hand_over(&plan(&[1, 1, 2, 1, 1], 4), false);
    let third = second.hand_over(&plan(&[3, 3], 3), false);
    let key = PublicKey::<MinSig>::from_bytes(&first.key.public_key().to_bytes()).unwrap();
    let verifier = KeyVerifier::new(CHAIN, key);
    for (epoch, number) in [&first, &second, &third].into_iter().zip(0..) {
        for path in [SharePath::Slow, SharePath::Fast] {
            let block = certified(epoch, path);
            let verified = verifier.verify(&block).unwrap();
            assert_eq!(verified.context().epoch, EpochId::new(number));
        }
    }
    // A committee that made a key of its own has none of that.
    let stranger = certified(&Epoch::first(&plan(&[2, 0, 1, 3], 3), 22), SharePath::Slow);
    let mismatch = BlockError::Signature(SignatureError::Mismatch);
    assert_eq!(verifier.verify(&stranger), Err(mismatch));
}
