//! Certificates on the state that a slot's block leaves: [`MultiSig`] with the state's root as content.
//!
//! | step     | what                                                                              | by whom |
//! |----------|-----------------------------------------------------------------------------------|---------|
//! | evaluate | `σᵢ = H(m)^skᵢ`, `m` = chain (32) ‖ epoch (8) ‖ slot (8) ‖ value (32) ‖ root (32) | party   |
//! | combine  | `σ = ∏ᵢ σᵢ`, the bitmap of the signers, `Σ stakeᵢ ≥ quorum`                        | anyone  |
//! | verify   | `e(σ, g) = e(H(m), ∏ᵢ pkᵢ)`: [`StateStatement::verify`]                           | anyone  |
//!
//! The value names the block, the root is what executing it gives. A party knows the root when it has executed
//! the block, so the host gives it as the slot's content. The vote for a state leaves when both hold: the
//! root is here, and the release contract allows it. If the root is here before the party prefinalizes, the
//! vote leaves with the order vote. If it comes later, the host prefinalizes again after it has given the
//! root, and the contract decides again: nothing leaves if the party has given up the view meanwhile. Once
//! the slot is final, the vote leaves as soon as the root is here.
//!
//! A party whose root differs from that of a quorum finds the others' partials false. When it asks for
//! the missing output, a peer shows it the certificate with the certified root. That one it reveals, whatever
//! its own root is. A host that compares the two sees that the states have diverged.
//!
//! Keys are for this scheme alone, as those of [`MultiSig`].
use std::collections::{BTreeMap, BTreeSet};

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{Domain, MinSig, min_sig};
pub use prefinal_crypto_core::certificate::StateStatement;
use prefinal_crypto_core::certificate::{Certificate, Electorate};
use prefinal_crypto_core::context::Context;

use super::multisig::{add_up, assemble, check_votes};
use super::{
    ContentError, ContentInput, Contents, Function, MultiSig, NoForesight, NoLateKeys,
    OtherGroupKey, OutputError, PartialsError, ProvenOutput, Scheme, ShapeError, Sharing,
};
use crate::config_error::ConfigError;
use prefinal_contract::{Binding, Path};
use prefinal_protocol::{Slot, Value};

/// Multi-signatures on the state of each slot, counted in exact stake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSig;

/// The content that a host gives: what this party wants to sign, for one committee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateRoot {
    statement: StateStatement,
    committee: [u8; 32],
}

/// A certificate with the root that it certifies.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CertifiedRoot {
    /// The root that the quorum has signed.
    pub root: [u8; 32],
    /// The signatures of a quorum.
    pub certificate: Certificate<MinSig>,
}

impl StateSig {
    /// The domain tag under which the keys sign.
    pub const DOMAIN: Domain = StateStatement::DOMAIN;
}

impl StateRoot {
    /// The content of a slot that `electorate` certifies.
    #[must_use]
    pub fn new(electorate: &Electorate<MinSig>, statement: StateStatement) -> Self {
        Self { statement, committee: electorate.id() }
    }
}

impl Contents<StateSig> for StateRoot {
    type Content = Self;

    const NEEDED: bool = true;

    fn contained(
        electorate: &Electorate<MinSig>,
        context: &Context,
        content: Self,
    ) -> Result<ContentInput<StateSig>, ContentError> {
        let input = content.statement;
        let StateStatement { slot, value, .. } = input;
        if input.context != *context || content.committee != electorate.id() {
            return Err(ContentError::Elsewhere { slot });
        }
        Ok(ContentInput { slot, value, input })
    }
}

impl Function for StateSig {
    type Committee = Electorate<MinSig>;
    type Input = StateStatement;
    type Partial = min_sig::Signature;
    type Output = StateStatement;
    type Proof = Certificate<MinSig>;
    type OutputMessage = CertifiedRoot;
    type LateKeys = NoLateKeys;
    type Contents = StateRoot;
    type Foresight = NoForesight;

    fn id(electorate: &Electorate<MinSig>) -> [u8; 32] {
        MultiSig::id(electorate)
    }

    fn parties(electorate: &Electorate<MinSig>) -> usize {
        MultiSig::parties(electorate)
    }

    fn holding(electorate: &Electorate<MinSig>, party: Party) -> u128 {
        MultiSig::holding(electorate, party)
    }

    fn threshold(electorate: &Electorate<MinSig>) -> u128 {
        MultiSig::threshold(electorate)
    }

    fn input(_: &Context, _: Binding, _: Slot, _: Option<Value>) -> Option<StateStatement> {
        None
    }

    fn check_shape(
        electorate: &Electorate<MinSig>,
        party: Party,
        partial: &min_sig::Signature,
    ) -> Result<(), ShapeError> {
        MultiSig::check_shape(electorate, party, partial)
    }

    fn partial_bytes(electorate: &Electorate<MinSig>, party: Party) -> usize {
        MultiSig::partial_bytes(electorate, party)
    }

    fn verify(
        electorate: &Electorate<MinSig>,
        input: &StateStatement,
        partials: &BTreeMap<Party, min_sig::Signature>,
    ) -> Result<(), PartialsError> {
        check_votes(electorate, Self::DOMAIN, &input.to_bytes(), partials)
    }

    fn combine(
        electorate: &Electorate<MinSig>,
        input: &StateStatement,
        partials: &BTreeMap<Party, min_sig::Signature>,
    ) -> Result<ProvenOutput<Self>, PartialsError> {
        let proof = assemble(electorate, Self::DOMAIN, &input.to_bytes(), partials)?;
        Ok(ProvenOutput { output: *input, proof })
    }

    fn prove(
        electorate: &Electorate<MinSig>,
        _: &StateStatement,
        partials: &BTreeMap<Party, min_sig::Signature>,
    ) -> Option<Certificate<MinSig>> {
        add_up(electorate, partials)
    }

    fn show(statement: &StateStatement, proof: &Certificate<MinSig>) -> CertifiedRoot {
        CertifiedRoot { root: statement.root, certificate: proof.clone() }
    }

    fn shown_bytes(electorate: &Electorate<MinSig>) -> usize {
        32 + MultiSig::shown_bytes(electorate)
    }

    /// What is certified counts, also if this party has computed another root.
    fn check_shown(
        electorate: &Electorate<MinSig>,
        input: &StateStatement,
        shown: &CertifiedRoot,
    ) -> Result<ProvenOutput<Self>, OutputError> {
        let output = StateStatement { root: shown.root, ..*input };
        let right = output.verify(electorate, &shown.certificate);
        right.map_err(|_| OutputError::False)?;
        Ok(ProvenOutput { output, proof: shown.certificate.clone() })
    }

    fn check_binding(
        electorate: &Electorate<MinSig>,
        path: Path,
        binding: Binding,
    ) -> Result<(), ConfigError> {
        MultiSig::check_binding(electorate, path, binding)
    }

    fn check_handover(
        before: &Electorate<MinSig>,
        after: &Electorate<MinSig>,
    ) -> Result<(), OtherGroupKey> {
        MultiSig::check_handover(before, after)
    }

    fn public_keys(electorate: &Electorate<MinSig>) -> BTreeSet<Vec<u8>> {
        MultiSig::public_keys(electorate)
    }
}

impl Scheme for StateSig {
    type Secret = min_sig::SecretKey;

    fn evaluate(secret: &min_sig::SecretKey, input: &StateStatement) -> Option<min_sig::Signature> {
        Some(secret.sign(Self::DOMAIN, &input.to_bytes()))
    }

    fn check_secret(
        electorate: &Electorate<MinSig>,
        me: Party,
        secret: &min_sig::SecretKey,
        path: Path,
        context: &Context,
    ) -> Result<(), ConfigError> {
        MultiSig::check_secret(electorate, me, secret, path, context)
    }

    fn check_paths(
        _: Party,
        _: &Sharing<Self>,
        _: &Sharing<Self>,
        _: &Context,
    ) -> Result<(), ConfigError> {
        Err(ConfigError::OnePath)
    }
}
