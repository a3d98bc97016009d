#!/bin/sh
# The compiler of what is fuzzed: `RUSTC_WORKSPACE_WRAPPER`, which is given the compiler and its arguments.
# libFuzzer learns from counters of the blocks that ran and from what was compared.
case "$*" in
# Build scripts are not fuzzed, and nobody links a fuzzer to them.
*"--crate-name build_script"*) exec "$@" ;;
esac
exec "$@" --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
