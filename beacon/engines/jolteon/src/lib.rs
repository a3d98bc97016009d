//! Jolteon with order votes, as a machine.
