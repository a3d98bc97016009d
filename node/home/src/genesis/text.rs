//! How times, stakes, ratios and the algorithm are written in the genesis.
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serializer, de};

/// Whole seconds since 1970; `None` for anything else.
pub(super) fn seconds(time: SystemTime) -> Option<u64> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    (since.subsec_nanos() == 0).then_some(since.as_secs())
}

/// Milliseconds of a span, or more than any that is allowed.
pub(super) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A text that another type reads.
fn parsed<'de, D: Deserializer<'de>, T, E>(
    deserializer: D,
    expected: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).map_err(|_| de::Error::custom(format!("expected {expected}, got `{text}`")))
}

pub(super) mod time {
    //! A point in time, to the second, as RFC 3339 writes it.
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        time: &SystemTime,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_rfc3339_seconds(*time))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SystemTime, D::Error> {
        parsed(deserializer, "a time such as 2030-01-31T12:00:00Z", humantime::parse_rfc3339)
    }
}

pub(super) mod span {
    //! A span of time with its unit.
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        span: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(*span))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        parsed(deserializer, "a time with a unit, such as 500ms or 2s", humantime::parse_duration)
    }
}

pub(super) mod stake {
    //! A stake: a decimal number, as a string or as it is.
    use prefinal_weighted_rounding::Stake;

    use super::*;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Text(String),
    }

    pub(in super::super) fn serialize<S: Serializer>(
        stake: &Stake,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&stake.get())
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Stake, D::Error> {
        let refused = || de::Error::custom("expected a stake: a whole number, such as \"1000\"");
        let number = match Either::deserialize(deserializer).map_err(|_| refused())? {
            Either::Number(number) => number.into(),
            Either::Text(text) => crate::stakes::number(&text).ok_or_else(refused)?,
        };
        Ok(Stake::new(number))
    }
}

pub(super) mod ratio {
    //! A part of the whole.
    use prefinal_weighted_rounding::Ratio;

    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        ratio: &Option<Ratio>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match ratio {
            Some(ratio) => serializer.collect_str(ratio),
            None => serializer.serialize_none(),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Ratio>, D::Error> {
        parsed(deserializer, "a ratio such as 5/6", str::parse).map(Some)
    }
}

pub(super) mod algorithm {
    //! The algorithm, by its name on the command line.
    use prefinal_validator::setup::Algorithm;

    use super::*;

    pub(in super::super) const fn name(algorithm: Algorithm) -> &'static str {
        match algorithm {
            Algorithm::Slow => "slow",
            Algorithm::Fast => "fast",
            Algorithm::Tight => "tight",
        }
    }

    pub(in super::super) fn serialize<S: Serializer>(
        algorithm: &Algorithm,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(name(*algorithm))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Algorithm, D::Error> {
        let all = [Algorithm::Slow, Algorithm::Fast, Algorithm::Tight];
        parsed(deserializer, "slow, fast or tight", |text| {
            all.into_iter().find(|algorithm| name(*algorithm) == text).ok_or(())
        })
    }
}
