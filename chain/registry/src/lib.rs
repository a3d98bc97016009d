//! Every scheme runs on every engine, and here is the only place that says so.
//!
//! What takes the name of a scheme and that of an engine is generic over both; [`types!`] picks the types.
//!
//! | module        | what                                                                |
//! |---------------|---------------------------------------------------------------------|
//! | [`engine`]    | the engines by their names, and the keys that each signs with       |
//! | [`scheme`]    | the schemes by their names                                          |
//! | [`chronicle`] | values with everything that it takes to verify them, as a file      |
#![forbid(unsafe_code)]

pub mod chronicle;
pub mod engine;
pub mod scheme;

pub use ::beacon::{Bls, Wvuf};
pub use jolteon::Jolteon;
pub use malachite::Malachite;

pub use crate::engine::Listed;
pub use crate::scheme::Named;

/// The expression with the types of a scheme and an engine, which come by their names: `$S` is
/// [`Named`], `$E` is [`Listed`]. Here, and nowhere else, stands what there is.
///
/// ```
/// use registry::{engine, scheme, types};
/// fn run<S: registry::Named, E: registry::Listed>(slots: u64) -> String {
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
            $crate::scheme::Name::Bls => $crate::types!(@engine Bls, $engine, $S, $E => $what),
            $crate::scheme::Name::Wvuf => $crate::types!(@engine Wvuf, $engine, $S, $E => $what),
        }
    };
    (@engine $scheme:ident, $engine:expr, $S:ident, $E:ident => $what:expr) => {
        match $engine {
            $crate::engine::Name::Jolteon => $crate::types!(@both $scheme, Jolteon, $S, $E => $what),
            $crate::engine::Name::Malachite => {
                $crate::types!(@both $scheme, Malachite, $S, $E => $what)
            }
        }
    };
    (@both $scheme:ident, $engine:ident, $S:ident, $E:ident => $what:expr) => {{
        type $S = $crate::$scheme;
        type $E = $crate::$engine;
        $what
    }};
}
