#!/bin/sh
# Stable's rustdoc, as `cargo xtask test` uses it: taken for nightly's it also compares the error code
# that a `compile_fail` example names with the one it gets, so that none fails for another reason.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
