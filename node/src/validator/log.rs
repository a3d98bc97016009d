//! Logs: lines of text for people, or one JSON object a line for machines, on stderr.
use std::io;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::util::SubscriberInitExt;

use prefinal_lab::Failure;

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Lines of text, for people.
    Text,
    /// For machines: one object a line.
    Json,
}

/// Begins to log what passes the filter, which has the syntax of `RUST_LOG`.
///
/// # Errors
/// If the filter is not one.
pub(super) fn begin(filter: &str, format: Format) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| Failure::bad_input(format_args!("log filter {filter}: {error}")))?;
    let layer = fmt().with_env_filter(filter).with_writer(io::stderr);
    let begun = match format {
        Format::Text => layer.finish().try_init(),
        Format::Json => layer.json().flatten_event(true).finish().try_init(),
    };
    begun.map_err(|error| Failure::bad_input(format_args!("logs: {error}")))
}
