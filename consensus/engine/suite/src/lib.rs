//! The laws that every consensus engine must keep, tested by plays in the simulator.
//!
//! An engine's tests implement [`Sample`], which names its keys and reads its messages, and list the laws:
//!
//! ```ignore
//! struct Mine;
//! impl prefinal_engine_suite::Sample for Mine { /* keys, statements */ }
//! prefinal_engine_suite::laws!(Mine);
//! ```
//!
//! A law is a play: a committee in one situation, for example late starts, crashes after any effect,
//! parted links, twins with one key, or noise. In each play a [`Watch`] compares everything that the
//! engine does with all its promises. The first [`Violation`] names the slot and the parties:
//!
//! | promise                                                                   | violation |
//! |---------------------------------------------------------------------------|-----------|
//! | two parties never finalize different blocks in a slot                     | `Disagreement`, `Contents` |
//! | every slot is final, in ascending order, none left out                    | `Order` |
//! | a transaction is ordered once, and each is ordered                        | `Repeated`, `Unordered` |
//! | the value that a quorum prefinalized in the fast attempt becomes final    | `Leaked` |
//! | a quorum prefinalizes before a value is final                             | `Early` |
//! | a vote is announced before it leaves, and durable                         | `Unannounced`, `Forgotten` |
//! | a timeout or nil vote is announced before it leaves, and ends its view     | `Unabandoned`, `Abandoned` |
//! | one value of a slot in the fast attempt; each value in one slot            | `TwoValues`, `Mixed` |
//! | a restart repeats what was said and reports what votes carried            | `Equivocated`, `TwoPasts`, `Untold`, `Invented` |
//! | bytes that a vote takes arrive unchanged at the others, or are given back | `Altered`, `Foreign`, `Lost` |
//! | the declared quorum of stake finalizes, one unit less does not            | `Outvoted`, `Stalled`, `Unreachable` |
//! | it goes on after a late start, after a crash, when links heal, and behind what others have shown | `Stalled` |
//! | strangers are ignored, honest parties not accused, no view is given up early | `Believed`, `Slander`, `Impatient`, `Refused` |
#![forbid(unsafe_code)]

mod event;
mod host;
pub mod laws;
mod noise;
mod play;
mod sample;
mod violation;
mod watch;

pub use event::{Event, OfferOutcome, Partial};
pub use host::{Act, Actor, Committee, Host};
pub use laws::{Failure, Verdict};
pub use play::{Play, Script};
pub use sample::{JobOf, MessageOf, Sample, Statement, VerdictOf};
pub use violation::Violation;
pub use watch::{Terms, Watch};

/// One test for each law, for the given sample.
#[macro_export]
macro_rules! laws {
    ($sample:expr) => {
        $crate::laws!(
            $sample;
            where_all_is_well
            slots_that_are_open_at_once_do_not_mix
            a_party_that_starts_late_catches_up
            a_crash_anywhere_breaks_no_promise
            a_party_goes_on_behind_what_others_have_shown
            a_party_goes_on_that_others_would_not_fetch_any_more
            all_may_crash_at_once
            it_goes_on_when_links_heal
            a_party_with_two_faces_splits_nobody
            noise_changes_nothing
            strangers_are_not_believed
            the_declared_quorum_is_counted
            stake_decides_and_heads_do_not
        );
    };
    ($sample:expr; $($law:ident)*) => {
        $(
            #[test]
            fn $law() -> $crate::Verdict {
                $crate::laws::$law(&$sample)
            }
        )*
    };
}
