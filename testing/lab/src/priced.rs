//! The cost of each piece of a scheme's work, in primitives of [`Costs`].
//!
//! [`Priced`] extends a scheme that programs know. Every method has a default, which is free, so that a new
//! scheme runs in the simulator at once: then a wait shows the network alone.
//!
//! See also `prices`, which says how much of which work is done when.
use prefinal_registry::NamedScheme;
use prefinal_validator::scheme::{Bls, Wvuf};

use crate::costs::{Costs, Work};

/// Chunks of a share that is dealt as a field element.
const CHUNKS: u64 = 16;
/// Fewer pairings of a product are not worth a core.
const LEAST_PRODUCT: u64 = 8;

/// What a scheme's work costs, in nanoseconds.
pub trait Priced: NamedScheme {
    /// The length in bytes of an encoded partial for so many shares.
    fn partial_bytes_of(_shares: u64) -> u64 {
        0
    }

    /// One party's partials of a slot. The input is hashed for them.
    fn evaluating(_: &Costs, _: Work) -> u64 {
        0
    }

    /// Decoding one party's partials.
    fn decoding(_: &Costs, _: Work) -> u64 {
        0
    }

    /// Combining partials, and checking them or the result.
    fn combining(_: &Costs, _: Work) -> u64 {
        0
    }

    /// What depends on the set of parties alone, ahead of their partials.
    fn foreseeing(_: &Costs, _: Work) -> u64 {
        0
    }

    /// The terms of partials that are combined as they come.
    fn adding(_: &Costs, _: Work) -> u64 {
        0
    }

    /// Making a dealing.
    fn dealing(_: &Costs, _: Work) -> u64 {
        0
    }

    /// Decoding and checking a dealing.
    fn judging(_: &Costs, _: Work) -> u64 {
        0
    }

    /// Adding so many dealings up.
    fn summing(_: &Costs, _dealings: u64, _: Work) -> u64 {
        0
    }

    /// Decrypting a party's own shares of so many dealings, and making keys of them.
    fn opening(_: &Costs, _dealings: u64, _: Work) -> u64 {
        0
    }

    /// Decoding and admitting keys that come after the key generation.
    fn admitting(_: &Costs, _: Work) -> u64 {
        0
    }
}

impl Priced for Bls {
    fn partial_bytes_of(shares: u64) -> u64 {
        4 + 48 * shares
    }

    fn evaluating(costs: &Costs, work: Work) -> u64 {
        costs.g1_hash + work.shares * costs.g1_multiplication
    }

    fn decoding(costs: &Costs, work: Work) -> u64 {
        work.shares * costs.g1_decode
    }

    fn combining(costs: &Costs, work: Work) -> u64 {
        costs.g1_term.sum(work.shares, work.cores) + costs.check_signature_nanos()
    }

    // Nothing to foresee: coefficients are additions and multiplications of numbers, which cost nothing
    // beside points.

    /// Not spread: a sum of few terms is one core's work.
    fn adding(costs: &Costs, work: Work) -> u64 {
        costs.g1_term.sum(work.shares, 1)
    }

    /// Field elements: `V̂` for each share, a multiplication for each of its chunks and of those of a level, and
    /// about 210 for the masks.
    fn dealing(costs: &Costs, work: Work) -> u64 {
        let shares = work.shares * work.paths;
        let chunks = CHUNKS * (shares + work.levels());
        let spread = shares * costs.g2_multiplication + (chunks + 210) * costs.g1_multiplication;
        spread / work.cores.max(1)
    }

    /// A term of a sum for each chunk, by half in length; two in 𝔾₂ for each share.
    fn judging(costs: &Costs, work: Work) -> u64 {
        let shares = work.shares * work.paths;
        let chunks = CHUNKS * (shares + work.levels());
        let per_share = costs.g2_decode + 2 * costs.g2_term.among(shares);
        let per_chunk = costs.g1_decode + costs.g1_term.among(chunks) / 2;
        (chunks * per_chunk + shares * per_share) / work.cores.max(1) + judged(costs)
    }

    /// The degree of the sum is tested once more, a term in 𝔾₂ for each share.
    fn summing(costs: &Costs, dealings: u64, work: Work) -> u64 {
        let shares = work.shares * work.paths;
        let tested = costs.g2_term.among(shares);
        shares * (additions(dealings * costs.g2_multiplication) + tested)
    }

    /// Out of each of the dealings, chunk by chunk. Finding a chunk in the table takes less than its
    /// multiplication.
    fn opening(costs: &Costs, dealings: u64, work: Work) -> u64 {
        let shares = work.shares * work.paths;
        let chunks = dealings * shares * CHUNKS * 2 * costs.g1_multiplication;
        let compared = (dealings + 1) * shares * costs.g2_multiplication;
        (chunks + compared) / work.cores.max(1)
    }
}

impl Priced for Wvuf {
    fn partial_bytes_of(_: u64) -> u64 {
        96
    }

    fn evaluating(costs: &Costs, _: Work) -> u64 {
        costs.g2_hash + costs.g2_multiplication
    }

    fn decoding(costs: &Costs, _: Work) -> u64 {
        costs.g2_decode
    }

    fn combining(costs: &Costs, work: Work) -> u64 {
        let Work { parties, shares, cores, .. } = work;
        let sums = parties * costs.g1_short + shares * costs.g1_term.among(shares);
        let serial = costs.g2_hash + costs.miller_loop_of_many + 2 * costs.final_exponentiation;
        let parts = cores.min(parties / LEAST_PRODUCT).max(1);
        sums + serial + 2 * parties.div_ceil(parts) * costs.miller_loop_of_many
    }

    /// The bases.
    fn foreseeing(costs: &Costs, work: Work) -> u64 {
        work.shares * costs.g1_term.among(work.shares)
    }

    fn adding(costs: &Costs, work: Work) -> u64 {
        let pairings = work.parties * (costs.g1_short + 2 * costs.miller_loop_of_many);
        pairings / work.cores.clamp(1, 2) + costs.g1_term.sum(work.shares, 1)
    }

    /// Group elements: `V̂`, `R` and the two factors of `C` for each share.
    fn dealing(costs: &Costs, work: Work) -> u64 {
        let shares = work.shares * work.paths;
        let spread = shares * (3 * costs.g1_multiplication + costs.g2_multiplication);
        spread / work.cores.max(1)
    }

    /// Two terms in 𝔾₂, one of them of half the length: the product, and the proof of all shares.
    fn judging(costs: &Costs, work: Work) -> u64 {
        let shares = work.shares * work.paths;
        let (g1_term, g2_term) = (costs.g1_term.among(shares), costs.g2_term.among(shares));
        let g2_terms = g2_term + g2_term / 2;
        let per_share = 2 * (costs.g1_decode + g1_term) + costs.g2_decode + g2_terms;
        let spread = shares * per_share + work.parties * costs.miller_loop_of_many;
        spread / work.cores.max(1) + judged(costs)
    }

    fn summing(costs: &Costs, dealings: u64, work: Work) -> u64 {
        let multiplications = 2 * costs.g1_multiplication + costs.g2_multiplication;
        additions(dealings * work.shares * work.paths * multiplications)
    }

    /// Out of the sum.
    fn opening(costs: &Costs, _: u64, work: Work) -> u64 {
        let shares = work.shares * work.paths;
        (2 * shares + work.paths) * costs.g1_multiplication + costs.g1_hash
    }

    /// Blinded keys: their points, a product of pairings for each party, and its signature.
    fn admitting(costs: &Costs, work: Work) -> u64 {
        let Work { parties, shares, paths, cores, .. } = work;
        let terms = costs.g1_term.among(shares) + costs.g2_term.among(shares);
        let per_share = costs.g1_decode + terms;
        let spread = paths * (shares * per_share + parties * costs.miller_loop_of_many)
            + parties * costs.check_signature_nanos();
        spread / cores.max(1) + paths * costs.final_exponentiation
    }
}

/// What every dealing takes once: the end of its product of pairings, and its signature.
fn judged(costs: &Costs) -> u64 {
    costs.final_exponentiation + costs.check_signature_nanos()
}

/// An addition is about a 380th of a multiplication: 255 doublings and half as many additions make one.
const fn additions(multiplications: u64) -> u64 {
    multiplications / 380
}
