//! A seeded discrete-event simulator for machines.
