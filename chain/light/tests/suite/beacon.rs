//! Values of a beacon, as the light client counts its rounds.
use prefinal_crypto_core::bls::{Domain, SignatureError};
use prefinal_crypto_core::drand::{Randomness, RoundNumber};
use prefinal_light::{BeaconError, BeaconVerifier, Binding};
use prefinal_protocol::Slot;

use crate::chain::secret;

#[test]
fn a_value_is_of_one_slot_and_one_key() {
    let key = secret(1);
    let sign = |round| key.sign(Domain::BASIC, &RoundNumber::new(round).unwrap().message());
    let signature = sign(7);
    let first = Slot::new(3);
    for (binding, slot) in [(Binding::Slot, 7), (Binding::Rounds { first }, 9)] {
        let verifier = BeaconVerifier { key: key.public_key(), binding };
        let value = verifier.verify(Slot::new(slot), &signature).unwrap();
        assert_eq!(value, Randomness::of(&signature.to_bytes()));
        let mismatch = Err(BeaconError::Signature(SignatureError::Mismatch));
        assert_eq!(verifier.verify(Slot::new(slot + 1), &signature), mismatch);
        assert_eq!(verifier.verify(Slot::new(slot), &sign(8)), mismatch);
        let other = BeaconVerifier { key: secret(2).public_key(), binding };
        assert_eq!(other.verify(Slot::new(slot), &signature), mismatch);
    }
}

#[test]
fn slots_without_a_round_have_no_value() {
    let key = secret(1);
    let signature = key.sign(Domain::BASIC, &RoundNumber::FIRST.message());
    let first = Slot::new(3);
    for (binding, slot) in [(Binding::Slot, 0), (Binding::Rounds { first }, 2), (Binding::Value, 1)]
    {
        let verifier = BeaconVerifier { key: key.public_key(), binding };
        let slot = Slot::new(slot);
        assert_eq!(verifier.verify(slot, &signature), Err(BeaconError::NoRound(slot)));
    }
}
