//! A scheme that a chain adds itself: Ed25519 multi-signatures, counted in exact stake.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ed25519_consensus::{SigningKey, VerificationKey};
use prefinal_beacon::{
    Binding, ConfigError, Function, NoContents, NoForesight, NoLateKeys, OtherGroupKey,
    OutputError, PartialsError, Path, ProvenOutput, Scheme, ShapeError, Sharing, Slot, Statement,
    Value, check_weight,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;
use sha2::{Digest, Sha256};

type Signatures = BTreeMap<Party, [u8; 64]>;
type Checked = Result<(), ConfigError>;

/// One signature from each voter; signatures of enough stake are a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ed25519;

/// The keys with their stakes, and the stake that certifies.
#[derive(Clone, Debug)]
pub(crate) struct Voters(pub(crate) Vec<(VerificationKey, u128)>, pub(crate) u128);

/// A voter's key. It is wrapped because the library's `Debug` would print the secret.
pub(crate) struct Key(pub(crate) SigningKey);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

fn message(statement: &Statement) -> Vec<u8> {
    [b"ed25519 certificate", &statement.to_bytes()[..]].concat()
}

impl Function for Ed25519 {
    type Committee = Voters;
    type Input = Statement;
    type Partial = [u8; 64];
    type Output = Statement;
    type Proof = Signatures;
    type OutputMessage = Signatures;
    type LateKeys = NoLateKeys;
    type Contents = NoContents;
    type Foresight = NoForesight;
    fn id(Voters(voters, quorum): &Voters) -> [u8; 32] {
        let voter = |(key, stake): &(VerificationKey, u128)| (key.to_bytes(), *stake);
        let bytes = borsh::to_vec(&(voters.iter().map(voter).collect::<Vec<_>>(), quorum));
        Sha256::digest(bytes.unwrap_or_default()).into()
    }
    fn parties(Voters(voters, _): &Voters) -> usize {
        voters.len()
    }
    fn holding(Voters(voters, _): &Voters, party: Party) -> u128 {
        voters.get(party.index()).map_or(0, |(_, stake)| *stake)
    }
    fn threshold(Voters(_, quorum): &Voters) -> u128 {
        *quorum
    }
    fn input(context: &Context, _: Binding, slot: Slot, value: Option<Value>) -> Option<Statement> {
        Some(Statement { context: *context, slot, value: value? })
    }
    // A signature has one size: another one does not decode.
    fn check_shape(_: &Voters, _: Party, _: &[u8; 64]) -> Result<(), ShapeError> {
        Ok(())
    }
    fn partial_bytes(_: &Voters, _: Party) -> usize {
        64
    }
    fn verify(it: &Voters, said: &Statement, given: &Signatures) -> Result<(), PartialsError> {
        let right = |party: Party, signature: [u8; 64]| {
            let voter = it.0.get(party.index()).filter(|(_, stake)| *stake > 0);
            voter.is_some_and(|(key, _)| key.verify(&signature.into(), &message(said)).is_ok())
        };
        let wrong = given.iter().filter(|(party, signature)| !right(**party, **signature));
        let culprits: BTreeSet<_> = wrong.map(|(party, _)| *party).collect();
        if culprits.is_empty() { Ok(()) } else { Err(PartialsError::Faulty { culprits }) }
    }
    fn combine(
        it: &Voters,
        said: &Statement,
        given: &Signatures,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        check_weight::<Self>(it, given)?;
        Self::verify(it, said, given)?;
        Ok(ProvenOutput { output: *said, proof: given.clone() })
    }
    fn show(_: &Statement, proof: &Signatures) -> Signatures {
        proof.clone()
    }
    fn shown_bytes(it: &Voters) -> usize {
        4 + (4 + 64) * it.0.len()
    }
    fn check_shown(
        it: &Voters,
        said: &Statement,
        shown: &Signatures,
    ) -> Result<ProvenOutput<Self>, OutputError> {
        Self::combine(it, said, shown).map_err(|_| OutputError::False)
    }
    fn check_binding(_: &Voters, _: Path, binding: Binding) -> Checked {
        if binding == Binding::Value { Ok(()) } else { Err(ConfigError::Unbound) }
    }
    // The certificates of an epoch name the epoch, and are checked against the epoch's voters.
    fn check_handover(_: &Voters, _: &Voters) -> Result<(), OtherGroupKey> {
        Ok(())
    }
    fn public_keys(Voters(voters, _): &Voters) -> BTreeSet<Vec<u8>> {
        voters.iter().map(|(key, _)| key.to_bytes().to_vec()).collect()
    }
}

impl Scheme for Ed25519 {
    type Secret = Key;
    fn evaluate(Key(key): &Key, said: &Statement) -> Option<[u8; 64]> {
        Some(key.sign(&message(said)).into())
    }
    fn check_secret(it: &Voters, me: Party, Key(key): &Key, path: Path, _: &Context) -> Checked {
        let own = it.0.get(me.index()).filter(|(voter, _)| *voter == key.verification_key());
        own.map(drop).ok_or(ConfigError::WrongKey { path })
    }
    // A party has one key and one signature: a second path would get the same signatures as the first.
    fn check_paths(_: Party, _: &Sharing<Self>, _: &Sharing<Self>, _: &Context) -> Checked {
        Err(ConfigError::OnePath)
    }
}
