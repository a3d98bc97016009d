//! The prefinal command: devnet, simulate, round, verify.
