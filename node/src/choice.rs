//! Names on the command line: what a library lists by name, with help for each.
//!
//! The libraries know no command line.
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use prefinal_lab::campaign::{EngineName, Function};
use prefinal_registry::{engine, scheme};
use prefinal_validator::setup::Algorithm;

/// What one of several names stands for.
pub(crate) trait Choice: Copy + Send + Sync + 'static {
    /// Each with its name and what it is.
    fn all() -> Vec<(Self, &'static str, &'static str)>;
}

/// Takes one of the names.
pub(crate) fn choice<C: Choice>() -> impl TypedValueParser<Value = C> {
    let all = C::all();
    let names = all.iter().map(|(_, name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names.collect::<Vec<_>>()).try_map(move |text| {
        let named = all.iter().find(|(_, name, _)| *name == text);
        named.map(|(choice, ..)| *choice).ok_or("not one of the names")
    })
}

impl Choice for scheme::Name {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        Self::ALL.iter().map(|name| (*name, name.as_str(), name.about())).collect()
    }
}

impl Choice for engine::Name {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        Self::ALL.iter().map(|name| (*name, name.as_str(), name.about())).collect()
    }
}

impl Choice for Algorithm {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![
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
        ]
    }
}

impl Choice for EngineName {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        let listed = engine::Name::all().into_iter();
        let listed = listed.map(|(name, text, about)| (Self::Listed(name), text, about));
        let permissive = "One that does all that Definition 5 of the paper allows";
        let replica =
            "Trantor with an application and state transfer, in a campaign; without a function";
        let pipeline = "Jolteon with certified, durable states on disks that fail, in a campaign";
        let sync =
            "None: followers of a chain among hostile peers, in a campaign; without a function";
        let others = [
            (Self::Permissive, "permissive", permissive),
            (Self::Replica, "replica", replica),
            (Self::Pipeline, "pipeline", pipeline),
            (Self::Sync, "sync", sync),
        ];
        listed.chain(others).collect()
    }
}

impl Choice for Function {
    fn all() -> Vec<(Self, &'static str, &'static str)> {
        vec![
            (Self::Ideal, "ideal", "The ideal threshold function: bookkeeping, no curve"),
            (Self::Bls, "bls", "Threshold BLS"),
            (Self::Wvuf, "wvuf", "The weighted verifiable unpredictable function"),
        ]
    }
}
