//! The schemes that programs know, by name.
//!
//! To add a scheme, add its computation (`beacon`), what its keys need ([`KeyedScheme`]), a [`Name`], an
//! implementation of [`NamedScheme`], and a line in [`types!`](crate::types).
use std::fmt;

pub use ::prefinal_beacon::{Bls, Wvuf};
use ::prefinal_beacon::{Path, Reveal};
use prefinal_crypto_core::context::{Context, EpochId};
use prefinal_crypto_core::curve::G2Affine;
use prefinal_crypto_core::wvuf::BlindedKey;
use prefinal_light::{VufKeys, VufPath, VufProof};
use prefinal_validator::scheme::{AdmittedKeys, KeyedScheme, PerPath};

use crate::chronicle::{Chronicle, Evaluations, Rounds};

/// The scheme that a committee runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Name {
    /// Threshold BLS: values are rounds that every drand client verifies
    #[default]
    Bls,
    /// The weighted verifiable unpredictable function: one point from each party, whatever its weight
    Wvuf,
}

impl Name {
    /// Every scheme that programs can name.
    pub const ALL: &'static [Self] = &[Self::Bls, Self::Wvuf];

    /// The name that a user types.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bls => "bls",
            Self::Wvuf => "wvuf",
        }
    }

    /// A description in one line.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Bls => "Threshold BLS: values are rounds that every drand client verifies",
            Self::Wvuf => {
                "The weighted verifiable unpredictable function: one point from each party, whatever its weight"
            }
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A scheme that programs know.
pub trait NamedScheme: KeyedScheme {
    /// The name by which [`types!`](crate::types) picks it.
    const NAME: Name;

    /// Collects values together with everything that is needed to verify them.
    fn chronicle(
        context: Context,
        committees: &PerPath<Self::Committee>,
        reveals: &[&Reveal<Self>],
    ) -> Chronicle;

    /// The keys with which readers outside verify values of the weighted VUF, and the public key `ĝ^f(0)`; `None` if
    /// these are no such values.
    fn vuf_keys(_: &PerPath<Self::Committee>) -> Option<(VufKeys, G2Affine)> {
        None
    }

    /// The blinded keys of a party of the weighted VUF that was late.
    fn vuf_late(_: &AdmittedKeys<Self>) -> Option<PerPath<BlindedKey>> {
        None
    }

    /// What shows a value of the weighted VUF in a slot of this epoch.
    fn vuf_proof(_: EpochId, _: &Reveal<Self>) -> Option<VufProof> {
        None
    }
}

impl NamedScheme for Bls {
    const NAME: Name = Name::Bls;

    fn chronicle(
        _: Context,
        committees: &PerPath<Self::Committee>,
        reveals: &[&Reveal<Self>],
    ) -> Chronicle {
        Chronicle::Bls(Rounds::new(committees.slow.group_key(), reveals))
    }
}

impl NamedScheme for Wvuf {
    const NAME: Name = Name::Wvuf;

    fn chronicle(
        context: Context,
        committees: &PerPath<Self::Committee>,
        reveals: &[&Reveal<Self>],
    ) -> Chronicle {
        Chronicle::Wvuf(Evaluations::new(context, committees, reveals))
    }

    fn vuf_keys(committees: &PerPath<Self::Committee>) -> Option<(VufKeys, G2Affine)> {
        let PerPath { slow, fast } = committees;
        Some((VufKeys::new(slow, fast.as_ref()), slow.group_key()))
    }

    fn vuf_late(late: &AdmittedKeys<Self>) -> Option<PerPath<BlindedKey>> {
        let PerPath { slow, fast } = &late.keys;
        let fast = fast.as_ref().map(|key| key.key().clone());
        Some(PerPath { slow: slow.key().clone(), fast })
    }

    fn vuf_proof(epoch: EpochId, reveal: &Reveal<Self>) -> Option<VufProof> {
        let path = match reveal.path {
            Path::Slow | Path::Tight => VufPath::Slow,
            Path::Fast => VufPath::Fast,
        };
        Some(VufProof { epoch, slot: reveal.slot, path, partials: reveal.proof.clone() })
    }
}
