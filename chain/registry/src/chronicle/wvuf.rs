//! Values of the weighted VUF.
//!
//! These values have no short public proof, so each travels with the partials that made it. The file
//! holds, per path, the committee that evaluates (weights, threshold, public shares `Aⱼ` and blinded
//! keys) and, per slot, value and partials. Its key digest shows whose public shares they are.
//!
//! Verification is in `prefinal_crypto_core::wvuf::audit`, which shares no code with what computed the values.
use std::collections::BTreeMap;

use ::prefinal_beacon::{Path, Reveal, Wvuf};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::G2Affine;
use prefinal_crypto_core::wvuf::{BlindedKey, Partial, VufCommittee, audit};
use prefinal_light::{VufKeys, VufPathKeys};
use prefinal_validator::scheme::PerPath;
use serde::{Deserialize, Serialize};

use super::{Hex, Kind, Unverified, mismatch};

/// The content of a file with values of the weighted VUF.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluations {
    scheme: Kind,
    chain: Hex<ChainId>,
    epoch: u64,
    evaluators: Evaluators,
    slots: Vec<Entry>,
}

/// The committee that evaluates, on both paths.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Evaluators {
    weights: Vec<u32>,
    slow: Keys,
    fast: Option<Keys>,
}

/// The keys that evaluate on one path.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    threshold: u32,
    public_shares: Vec<Hex<G2Affine>>,
    blinded: BTreeMap<u32, Hex<BlindedKey>>,
}

/// The value of one slot and its partials.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    slot: u64,
    /// The value, 32 bytes.
    randomness: String,
    path: PathName,
    partials: BTreeMap<u32, Hex<Partial>>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PathName {
    Slow,
    Fast,
}

impl Evaluations {
    /// Collects the values of a run.
    #[must_use]
    pub fn new(
        context: Context,
        committees: &PerPath<VufCommittee>,
        reveals: &[&Reveal<Wvuf>],
    ) -> Self {
        Self {
            scheme: Kind::Wvuf,
            chain: Hex(context.chain),
            epoch: context.epoch.get(),
            evaluators: Evaluators::new(committees),
            slots: reveals.iter().map(|reveal| Entry::new(reveal)).collect(),
        }
    }

    /// Number of slots in the file.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Its slots, in the order of the file.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.slots.iter().map(|entry| entry.slot).collect()
    }

    /// Number of parties in the file.
    pub(super) fn parties(&self) -> usize {
        self.evaluators.weights.len()
    }

    /// The digest of the committee: weights, thresholds and public shares of both paths ([`VufKeys::digest`]).
    #[must_use]
    pub fn key_digest(&self) -> String {
        let Evaluators { weights, slow, fast } = &self.evaluators;
        let path = |keys: &Keys| VufPathKeys {
            threshold: keys.threshold,
            public_shares: keys.public_shares.iter().map(|share| share.0).collect(),
            blinded: BTreeMap::new(),
        };
        let (slow, fast) = (path(slow), fast.as_ref().map(path));
        hex::encode(VufKeys { weights: weights.clone(), slow, fast }.digest())
    }

    /// Verifies everything: each key share by share, each partial alone, and each value from all its
    /// partials. Costs two pairings per share and three per partial.
    ///
    /// # Errors
    /// The first key, partial or value that is invalid.
    pub fn verify(&self) -> Result<(), Unverified> {
        let context = Context { chain: self.chain.0, epoch: EpochId::new(self.epoch) };
        let slow = self.evaluators.audit(&self.evaluators.slow, "slow")?;
        let fast = self.evaluators.fast.as_ref();
        let fast = fast.map(|keys| self.evaluators.audit(keys, "fast")).transpose()?;
        if let Some(fast) = &fast {
            slow.check_other_path(fast).map_err(|error| Unverified(format!("keys: {error}")))?;
        }
        for entry in &self.slots {
            let failed =
                |what: &dyn std::fmt::Display| Unverified(format!("slot {}: {what}", entry.slot));
            let audit = match entry.path {
                PathName::Slow => &slow,
                PathName::Fast => {
                    fast.as_ref().ok_or_else(|| failed(&"came by a path that has no keys"))?
                }
            };
            let partials = by_party(&entry.partials);
            let output = audit
                .evaluate(&context, Slot::new(entry.slot), None, &partials)
                .map_err(|error| failed(&error))?;
            let computed = output.randomness();
            mismatch(&entry.randomness, &computed, "the partials give")
                .map_err(|what| failed(&what))?;
        }
        Ok(())
    }
}

impl Evaluators {
    fn new(committees: &PerPath<VufCommittee>) -> Self {
        let keys = |committee: &VufCommittee| Keys {
            threshold: committee.threshold().t().get(),
            public_shares: committee.public().iter().copied().map(Hex).collect(),
            blinded: by_number(committee.keys()),
        };
        Self {
            weights: committees.slow.access().weights(),
            slow: keys(&committees.slow),
            fast: committees.fast.as_ref().map(keys),
        }
    }

    fn audit(&self, keys: &Keys, path: &str) -> Result<audit::Audit, Unverified> {
        let public: Vec<G2Affine> = keys.public_shares.iter().map(|share| share.0).collect();
        audit::keys(&self.weights, keys.threshold, &public, &by_party(&keys.blinded))
            .map_err(|error| Unverified(format!("keys of the {path} path: {error}")))
    }
}

impl Entry {
    fn new(reveal: &Reveal<Wvuf>) -> Self {
        Self {
            slot: reveal.slot.get(),
            randomness: hex::encode(reveal.randomness()),
            path: match reveal.path {
                Path::Slow | Path::Tight => PathName::Slow,
                Path::Fast => PathName::Fast,
            },
            partials: by_number(&reveal.proof),
        }
    }
}

fn by_number<T: Clone>(map: &BTreeMap<Party, T>) -> BTreeMap<u32, Hex<T>> {
    map.iter().map(|(party, one)| (party.get(), Hex(one.clone()))).collect()
}

fn by_party<T: Clone>(map: &BTreeMap<u32, Hex<T>>) -> BTreeMap<Party, T> {
    map.iter().map(|(number, one)| (Party::new(*number), one.0.clone())).collect()
}
