//! Keys with field elements through the public interface and real encodings only.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod chain;
mod epoch;
mod light;
mod purpose;
mod stored;
