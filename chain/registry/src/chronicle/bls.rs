//! Values of threshold BLS: rounds of a beacon, each as drand's HTTP interface gives it.
//!
//! A round's signature is the group's signature on `SHA-256(round)`, and its value is
//! `SHA-256(signature)`. Anybody who has the public key can check it with any client of
//! `bls-unchained-g1-rfc9380`. Here [`prefinal_crypto_core::drand`] checks all rounds in one batch.
use std::num::NonZeroU32;

use ::prefinal_beacon::{Bls, Reveal};
use prefinal_crypto_core::bls::min_sig::{PublicKey, Signature};
use prefinal_crypto_core::drand::{
    ChainInfo, Randomness, Round, RoundNumber, RoundsError, Schedule, Scheme,
};
use serde::{Deserialize, Serialize};

use super::{Hex, Kind, Unverified, mismatch};

/// The content of a file with values of threshold BLS.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounds {
    scheme: Kind,
    public_key: Hex<PublicKey>,
    rounds: Vec<Entry>,
}

/// One round, in drand's format.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    round: u64,
    /// The value, 32 bytes.
    randomness: String,
    signature: Hex<Signature>,
}

impl Rounds {
    /// Collects the values of a run.
    #[must_use]
    pub fn new(key: PublicKey, reveals: &[&Reveal<Bls>]) -> Self {
        let mut rounds = Self::empty(key);
        for reveal in reveals {
            // If there is no round number, this is round 0, which verification refuses.
            rounds.push(reveal.round.map_or(0, RoundNumber::get), reveal.output);
        }
        rounds
    }

    /// A file of this key's values without any yet.
    #[must_use]
    pub const fn empty(key: PublicKey) -> Self {
        Self { scheme: Kind::Bls, public_key: Hex(key), rounds: Vec::new() }
    }

    /// Adds the signature of a round. It is not checked; [`Self::verify`] does that.
    pub fn push(&mut self, round: u64, signature: Signature) {
        let randomness = hex::encode(Randomness::of(&signature.to_bytes()).as_bytes());
        self.rounds.push(Entry { round, randomness, signature: Hex(signature) });
    }

    /// Number of slots in the file.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.rounds.len()
    }

    /// Its slots, in the order of the file.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.rounds.iter().map(|entry| entry.round).collect()
    }

    /// The group's public key, as hex.
    #[must_use]
    pub fn key(&self) -> String {
        hex::encode(self.public_key.0.to_bytes())
    }

    /// Verifies every round. Costs two pairings, and a hash to the curve and a term of a sum for each.
    ///
    /// # Errors
    /// The first round that is invalid.
    pub fn verify(&self) -> Result<(), Unverified> {
        let failed =
            |round: u64, what: &dyn std::fmt::Display| Unverified(format!("round {round}: {what}"));
        // A signature does not depend on when rounds are due, nor on the beacon's name.
        let schedule = Schedule { genesis_time: 0, period: NonZeroU32::MIN };
        let key = self.public_key.0.to_bytes();
        let chain = ChainInfo::new(Scheme::UnchainedG1Rfc9380, &key, schedule, [0; 32], "default")
            .map_err(|error| Unverified(format!("public key: {error}")))?;
        let mut rounds = Vec::with_capacity(self.rounds.len());
        for entry in &self.rounds {
            let number = RoundNumber::new(entry.round)
                .ok_or_else(|| failed(entry.round, &"rounds count from one"))?;
            let signature = entry.signature.0.to_bytes().to_vec();
            rounds.push(Round { number, signature, previous: None, randomness: None });
        }
        let values = chain.verify_all(&rounds).map_err(|RoundsError { faults, .. }| {
            let first = faults.iter().next();
            let found = first.and_then(|(at, what)| Some((self.rounds.get(*at)?.round, what)));
            match found {
                Some((round, what)) => failed(round, what),
                None => Unverified("the rounds are not the key's".to_owned()),
            }
        })?;
        for (entry, value) in self.rounds.iter().zip(&values) {
            mismatch(&entry.randomness, value.as_bytes(), "the signature gives")
                .map_err(|what| failed(entry.round, &what))?;
        }
        Ok(())
    }
}
