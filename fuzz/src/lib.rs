//! What fuzz targets share. One crate has the targets of all libraries, so that what they stand on is
//! compiled once.
//!
//! | module       | what                                                    | targets                                                |
//! |--------------|---------------------------------------------------------|--------------------------------------------------------|
//! | [`partials`] | what parties send of a signature, a decryption, a value | `certificate`, `encryption`, `threshold`, `wvuf`        |
//! | [`dealings`] | a committee, and what may be done to its honest bytes   | `aggregate`, `dealing`, `field`, `protocol`             |
//!
//! The other targets stand alone: `decode` (types of `crypto-core`), `solve` (weights), `timelock` (what
//! a relay or a sender gives), `bytes` (messages between parties, files of the command), `engine` (what a peer
//! of Malachite's network sends), `home` (files that operators pass on).
pub mod dealings;
pub mod partials;
