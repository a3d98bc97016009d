//! The laws that every scheme must satisfy, as a test suite that any crate can run (feature `laws`).
//!
//! A beacon trusts its [`Scheme`]: its promises rest on these laws. They are tested on a [`Sample`],
//! committees of a few parties with all secrets known. [`check`] tests all laws, [`Law::check`] one. Some
//! properties no test can check, and they stay with the implementer: a secret cannot be guessed from public
//! data, no wrong partial passes by computation, nothing secret is printed, and code runs in constant time.
//!
//! | law                  | without it                                                               |
//! |----------------------|--------------------------------------------------------------------------|
//! | [`Law::Sample`]      | the other laws would hold of nothing                                     |
//! | [`Law::Bindings`]    | a beacon starts, and has nothing to evaluate                             |
//! | [`Law::Inputs`]      | a partial of one slot, value or chain counts for another                 |
//! | [`Law::Evaluation`]  | a restart says something else than before                                |
//! | [`Law::Quorums`]     | parties reveal different outputs                                         |
//! | [`Law::Threshold`]   | an output is there too early                                             |
//! | [`Law::Culprits`]    | honest parties are accused, or liars are not found                       |
//! | [`Law::Combining`]   | wrong partials make a wrong output                                       |
//! | [`Law::Shapes`]      | a peer has as much of our memory as it likes                             |
//! | [`Law::Encodings`]   | links refuse what is honest, or decode what is too long                  |
//! | [`Law::Showing`]     | someone who was away does not catch up                                   |
//! | [`Law::Forgeries`]   | someone who was away believes a liar                                     |
//! | [`Law::Secrets`]     | a party signs with a key that is not its own, and is accused             |
//! | [`Law::Paths`]       | what leaves on prefinalize opens what must wait for finality             |
//! | [`Law::Keys`]        | two channels share a secret and nobody notices                           |
//! | [`Law::LateKeys`]    | a party counts twice, or before its key is here                          |
//! | [`Law::Contents`]    | the content of another chain is evaluated                                |
//! | [`Law::Foresight`]   | what was computed ahead decides                                          |
mod bench;
mod keys;
mod outputs;
mod partials;

use std::collections::BTreeMap;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::Context;

use crate::schemes::{Content, Function, LateKey, Scheme};
use prefinal_contract::Path;
use prefinal_protocol::Slot;

/// Committees of a scheme with all their secrets.
///
/// Use about four parties with different holdings, none of which suffices alone. The same arguments must give
/// the same result.
pub trait Sample {
    /// The scheme that the laws are tested on.
    type Scheme: Scheme;

    /// Makes one path's committee. Different numbers must have different secrets. The two paths
    /// [`Path::Slow`] and [`Path::Fast`] of one number must share one secret, if the scheme has two paths.
    fn deal(&self, number: u8, path: Path) -> DealtCommittee<Self::Scheme>;

    /// The content of a slot's value, different for each number; `None` for a scheme that needs none.
    fn content(
        &self,
        _committee: &<Self::Scheme as Function>::Committee,
        _context: &Context,
        _slot: Slot,
        _number: u8,
    ) -> Option<Content<Self::Scheme>> {
        None
    }
}

/// A committee with all its secrets.
#[derive(Debug)]
pub struct DealtCommittee<S: Scheme> {
    /// The committee as it is at the start.
    pub committee: S::Committee,
    /// The secret of each party that holds something.
    pub secrets: BTreeMap<Party, S::Secret>,
    /// The keys of the parties that do not count from the start.
    pub late_keys: Vec<LateKey<S>>,
}

/// A law that every scheme must satisfy; [`check`](Self::check) tests it on a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// The sample has everything that the laws are tested on: several holders, a threshold, and contents
    /// and late keys where the scheme has them.
    Sample,
    /// Every binding that is accepted can be evaluated by everyone.
    Bindings,
    /// A partial is valid for one slot, one chain and one epoch, and for one value if the binding says so.
    /// Chain and epoch may be left to the key, if a handover to another key is refused.
    Inputs,
    /// The same secret and input give the same partial.
    Evaluation,
    /// Every quorum of every path gives the same output.
    Quorums,
    /// Partials below the threshold give nothing, even if parties that hold nothing add theirs.
    Threshold,
    /// Verifying names each wrong partial and no right one, however many there are.
    Culprits,
    /// Combining gives the right output, or names exactly the wrong partials.
    Combining,
    /// A partial has no other size than the one that fits its party's holding.
    Shapes,
    /// Decoding gives back what was encoded. Encodings are at most as long as announced, and some are that
    /// long.
    Encodings,
    /// An output as it is shown is accepted, for this input and this committee only.
    Showing,
    /// An output that was changed after it was shown is refused. So is one that rests on too few partials.
    Forgeries,
    /// A secret is accepted for its party and its committee only.
    Secrets,
    /// One sharing for two paths is refused, and so are two paths with different secrets.
    Paths,
    /// Committees with nothing in common have no common public key. Committees of one secret have one.
    Keys,
    /// A party counts for its holding once, from the moment its key is here.
    LateKeys,
    /// A content belongs to one chain, epoch, committee and slot. Without it there is no input.
    Contents,
    /// What is computed ahead changes no finding.
    Foresight,
}

impl Law {
    /// Every law, in the order in which [`check`] tests them.
    pub const ALL: [Self; 18] = [
        Self::Sample,
        Self::Bindings,
        Self::Inputs,
        Self::Evaluation,
        Self::Quorums,
        Self::Threshold,
        Self::Culprits,
        Self::Combining,
        Self::Shapes,
        Self::Encodings,
        Self::Showing,
        Self::Forgeries,
        Self::Secrets,
        Self::Paths,
        Self::Keys,
        Self::LateKeys,
        Self::Contents,
        Self::Foresight,
    ];

    /// Tests the law on a sample.
    ///
    /// # Errors
    /// If the law does not hold.
    pub fn check<T: Sample>(self, sample: &T) -> Result<(), Violation> {
        let found = match self {
            Self::Sample => keys::sample(sample),
            Self::Bindings => partials::bindings(sample),
            Self::Inputs => partials::inputs(sample),
            Self::Evaluation => partials::evaluation(sample),
            Self::Quorums => outputs::quorums(sample),
            Self::Threshold => outputs::threshold(sample),
            Self::Culprits => partials::culprits(sample),
            Self::Combining => outputs::combining(sample),
            Self::Shapes => partials::shapes(sample),
            Self::Encodings => outputs::encodings(sample),
            Self::Showing => outputs::showing(sample),
            Self::Forgeries => outputs::forgeries(sample),
            Self::Secrets => keys::secrets(sample),
            Self::Paths => keys::paths(sample),
            Self::Keys => keys::public_keys(sample),
            Self::LateKeys => keys::late_keys(sample),
            Self::Contents => partials::contents(sample),
            Self::Foresight => outputs::foresight(sample),
        };
        found.map_err(|what| Violation { law: self, what })
    }
}

/// A law that a scheme does not satisfy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law:?}: {what}")]
pub struct Violation {
    /// The law that is broken.
    pub law: Law,
    /// What was found instead, in words.
    pub what: String,
}

/// Tests every law on a sample. Takes some seconds if pairings are computed.
///
/// # Errors
/// The first law that does not hold.
pub fn check<T: Sample>(sample: &T) -> Result<(), Violation> {
    Law::ALL.into_iter().try_for_each(|law| law.check(sample))
}
