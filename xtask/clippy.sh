#!/usr/bin/env bash
# (Bash, for other shells lose the variables that name programs with a dash.)
# Clippy as the compiler of `cargo xtask test`: `RUSTC_WORKSPACE_WRAPPER`, which is given the compiler and its arguments.
case "$*" in
# The checker's proofs are generic code.
*testing/model/*) ;;
# A program of tests calls what its library computes. It takes longer to optimise than to run.
*/tests/*" --test "*) exec clippy-driver "$@" -C opt-level=0 ;;
esac
exec clippy-driver "$@"
