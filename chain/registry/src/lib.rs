//! The list of schemes and engines: every scheme runs on every engine, and only this crate lists them.
//!
//! Code that takes the names of a scheme and an engine is generic over both. [`types!`] picks the types
//! for the names.
//!
//! | module        | what it holds                                                       |
//! |---------------|---------------------------------------------------------------------|
//! | [`engine`]    | the engines by name, and the keys that each signs with              |
//! | [`scheme`]    | the schemes by name                                                 |
//! | [`chronicle`] | a file of values with everything that is needed to verify them      |
//! | [`light`]     | what light clients of a chain begin with                            |
#![forbid(unsafe_code)]

pub mod chronicle;
pub mod engine;
pub mod light;
pub mod scheme;

pub use ::prefinal_beacon::{Bls, Wvuf};
pub use prefinal_dispel::Dispel;
pub use prefinal_jolteon::Jolteon;
pub use prefinal_malachite::Malachite;
pub use prefinal_trantor::Trantor;

pub use crate::engine::NamedEngine;
pub use crate::scheme::NamedScheme;

/// Evaluates an expression with the types of a scheme and an engine, given by their names: `$S` is
/// [`NamedScheme`], `$E` is [`NamedEngine`]. This macro and [`engine_type!`] are the only place that
/// lists them.
///
/// ```
/// use prefinal_registry::{engine, scheme, types};
/// fn run<S: prefinal_registry::NamedScheme, E: prefinal_registry::NamedEngine>(slots: u64) -> String {
///     format!("{slots} slots of {} outrun jobs: {}", S::NAME, E::OUTRUNS_JOBS)
/// }
/// let (scheme, engine) = (scheme::Name::Bls, engine::Name::Malachite);
/// let said = types!(scheme, engine, S, E => run::<S, E>(7));
/// assert_eq!(said, "7 slots of bls outrun jobs: true");
/// ```
#[macro_export]
macro_rules! types {
    ($scheme:expr, $engine:expr, $S:ident, $E:ident => $what:expr) => {
        match $scheme {
            $crate::scheme::Name::Bls => $crate::types!(@of Bls, $engine, $S, $E => $what),
            $crate::scheme::Name::Wvuf => $crate::types!(@of Wvuf, $engine, $S, $E => $what),
        }
    };
    (@of $scheme:ident, $engine:expr, $S:ident, $E:ident => $what:expr) => {{
        type $S = $crate::$scheme;
        $crate::engine_type!($engine, $E => $what)
    }};
}

/// The same as [`types!`], for code that is generic over engines only.
///
/// ```
/// use prefinal_registry::{engine, engine_type};
/// fn quorum<E: prefinal_registry::NamedEngine>() -> String {
///     format!("{:?}", E::QUORUM)
/// }
/// let each = engine::Name::ALL.iter().map(|name| engine_type!(name, E => quorum::<E>()));
/// assert_eq!(each.count(), 4);
/// ```
#[macro_export]
macro_rules! engine_type {
    ($engine:expr, $E:ident => $what:expr) => {
        match $engine {
            $crate::engine::Name::Jolteon => $crate::engine_type!(@of Jolteon, $E => $what),
            $crate::engine::Name::Malachite => $crate::engine_type!(@of Malachite, $E => $what),
            $crate::engine::Name::Trantor => $crate::engine_type!(@of Trantor, $E => $what),
            $crate::engine::Name::Dispel => $crate::engine_type!(@of Dispel, $E => $what),
        }
    };
    (@of $engine:ident, $E:ident => $what:expr) => {{
        type $E = $crate::$engine;
        $what
    }};
}
