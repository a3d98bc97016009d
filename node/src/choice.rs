//! Names on the command line: what a library lists by name, with help for each.
//!
//! The libraries know no command line, so the help stands here.
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lab::campaign::{EngineName, Function};
use registry::{engine, scheme};
use validator::setup::Algorithm;

/// What one of several names stands for.
pub(crate) trait Choice: Copy + Send + Sync + 'static {
    /// Each with its name and what it is.
    const ALL: &'static [(Self, &'static str, &'static str)];
}

/// Takes one of the names.
pub(crate) fn choice<C: Choice>() -> impl TypedValueParser<Value = C> {
    let names = C::ALL.iter().map(|(_, name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).try_map(|text| {
        let named = C::ALL.iter().find(|(_, name, _)| *name == text);
        named.map(|(choice, ..)| *choice).ok_or("not one of the names")
    })
}

impl Choice for scheme::Name {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Bls, "bls", "Threshold BLS: values are rounds that every drand client verifies"),
        (
            Self::Wvuf,
            "wvuf",
            "The weighted verifiable unpredictable function: one point from each party, whatever its weight",
        ),
    ];
}

impl Choice for engine::Name {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Jolteon, "jolteon", "Jolteon with order votes, the reference engine"),
        (Self::Malachite, "malachite", "Malachite, the Tendermint of circlefin/malachite"),
    ];
}

impl Choice for Algorithm {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Slow, "slow", "Algorithm 1: partials go out when a slot is final"),
        (
            Self::Fast,
            "fast",
            "Algorithm 3: partials of a second sharing go out with the vote that makes the slot final",
        ),
        (
            Self::Tight,
            "tight",
            "Algorithm 2: one sharing, no extra delay; every party counts as one unit of stake",
        ),
    ];
}

impl Choice for EngineName {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Jolteon, "jolteon", "Jolteon with order votes"),
        (Self::Malachite, "malachite", "Malachite, the Tendermint of circlefin/malachite"),
        (Self::Permissive, "permissive", "One that does all that Definition 5 of the paper allows"),
    ];
}

impl Choice for Function {
    const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Ideal, "ideal", "The ideal threshold function: bookkeeping, no curve"),
        (Self::Bls, "bls", "Threshold BLS"),
        (Self::Wvuf, "wvuf", "The weighted verifiable unpredictable function"),
    ];
}
