//! What the comparisons with other libraries have in common.
//!
//! Each program beside this folder is one published library, in its own workspace, so that neither
//! its lock file nor its features are ours. It implements [`Scheme`] by the library's calls; everything
//! else is here and the same for all:
//!
//! | module         | what                                                                    |
//! |----------------|-------------------------------------------------------------------------|
//! | [`dealt`]      | one sharing, as bytes that every library reads                            |
//! | [`ours`]       | this project as a [`Scheme`]                                              |
//! | [`limit`]      | blst alone                                                                |
//! | [`signatures`] | threshold signatures: the rows, and that results are the same               |
//! | [`sharing`]    | our verifiable sharing, for those that share as well                        |
//! | [`contest`]    | one thread's time, the version that a lock file names, the sheet            |
//!
//! What is compared is compared for equality as well: the share keys, every partial and the combined
//! signatures have to be the same bytes, and the same liar has to be named, or the program ends without
//! a figure. A hash to the curve is part of whatever begins with a message, for all three alike: some
//! libraries offer no other way.
//!
//! Each program adds features to blst by what it depends on; ours and the limit are of the same build as
//! the peer, as they are in the same process.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what cannot be set up, or differs, must not give figures"
)]

pub mod contest;
pub mod dealt;
pub mod limit;
pub mod ours;
pub mod sharing;
pub mod signatures;

pub use contest::{Contest, Times};
pub use dealt::DealtSecrets;
pub use signatures::Scheme;
