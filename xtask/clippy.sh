#!/usr/bin/env bash
# Clippy as the compiler of `cargo xtask test`: `RUSTC_WORKSPACE_WRAPPER`, which is given the compiler and its
# arguments. A plain shell would lose the variables that name programs with a dash.
case "$*" in
# The checker's proofs are generic code.
*testing/model/*) ;;
# A program of tests calls what its library computes. It takes longer to optimise than to run.
*/tests/*" --test "*) exec clippy-driver "$@" -C opt-level=0 ;;
esac
exec clippy-driver "$@"
