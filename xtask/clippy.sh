#!/bin/sh
# Clippy in the compiler's place, as `cargo xtask test` uses it: what is linted is built as well, so that
# hundreds of dependencies are not compiled once to be looked at and once more to run.
exec clippy-driver "$@" -D warnings
