//! What every scheme must keep, as a suite that any crate can run on its own (feature `laws`).
//!
//! A beacon trusts its [`Scheme`]: what it promises, it promises by these laws. They are tried on a
//! [`Sample`], committees of a few parties with all secrets known; [`check`] tries all, [`Law::check`] one.
//! What no test can try stays with the implementer: that a secret cannot be guessed from what is public,
//! that no wrong partial passes by computation, that nothing secret is printed, and constant time.
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

use crypto_core::access::Party;
use crypto_core::context::Context;

use crate::schemes::{Content, Function, LateKey, Scheme};
use contract::Path;
use protocol::Slot;

/// Committees of a scheme with all their secrets.
///
/// Four parties or so, of different holdings, none of which suffices alone; the same arguments give the
/// same result.
pub trait Sample {
    /// The scheme that the laws are tried on.
    type Scheme: Scheme;

    /// One path's committee. Other numbers are of other secrets; the two paths [`Path::Slow`] and
    /// [`Path::Fast`] of one number share one, if the scheme has two paths.
    fn deal(&self, number: u8, path: Path) -> Dealt<Self::Scheme>;

    /// What is in a slot's value, another one for another number; `None` for a scheme that needs none.
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

/// A committee with all secrets.
#[derive(Debug)]
pub struct Dealt<S: Scheme> {
    /// As it is at the start.
    pub committee: S::Committee,
    /// Of each party that holds something.
    pub secrets: BTreeMap<Party, S::Secret>,
    /// What makes parties count that do not from the start.
    pub late_keys: Vec<LateKey<S>>,
}

/// A promise that every scheme must keep; [`check`](Self::check) tries it on a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// The sample has what the laws are tried on: several holders, a threshold, contents and late keys where
    /// the scheme has them.
    Sample,
    /// Every binding that is accepted can be evaluated by everyone.
    Bindings,
    /// A partial is of one slot, one value if the binding says so, one chain and one epoch. The last two may
    /// be left to the key, if a handover to another key is refused.
    Inputs,
    /// The same secret and input give the same partial.
    Evaluation,
    /// Every quorum of every path gives the same output.
    Quorums,
    /// Partials below the threshold give nothing, whatever is added by parties that hold nothing.
    Threshold,
    /// Verifying names each wrong partial and no right one, however many there are.
    Culprits,
    /// Combining gives the right output, or names exactly the wrong partials.
    Combining,
    /// A partial has no other size than its party's holding gives.
    Shapes,
    /// Encodings come back as they were, and are at most as long as announced, which some are.
    Encodings,
    /// What is shown of an output is accepted, for this input and this committee only.
    Showing,
    /// What was shown and changed is refused, and so is what rests on too few partials.
    Forgeries,
    /// A secret is accepted at its party and its committee, and nowhere else.
    Secrets,
    /// Two paths that are one are refused, and two paths of two secrets.
    Paths,
    /// Committees with nothing in common have no public key in common, and those of one secret have.
    Keys,
    /// A party counts for its holding from its key on, once.
    LateKeys,
    /// A content is of one chain, epoch, committee and slot, and without it there is no input.
    Contents,
    /// What is computed ahead changes no finding.
    Foresight,
}

impl Law {
    /// Every law, in the order in which [`check`] tries them.
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

    /// Tries the law on a sample.
    ///
    /// # Errors
    /// If it does not hold.
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

/// A law that a scheme does not keep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law:?}: {what}")]
pub struct Violation {
    /// The law that the scheme does not keep.
    pub law: Law,
    /// What was found instead, in words.
    pub what: String,
}

/// Tries every law on a sample: some seconds where pairings are computed.
///
/// # Errors
/// The first law that does not hold.
pub fn check<T: Sample>(sample: &T) -> Result<(), Violation> {
    Law::ALL.into_iter().try_for_each(|law| law.check(sample))
}
