//! The `prefinal` command.
fn main() {}
