#!/bin/sh
# Stable's rustdoc, as `cargo xtask test` uses it on each library's examples.
#
# First it makes the library's pages, which takes no more than what is compiled already: a link that leads
# nowhere is an error. Taken for nightly's it also compares the error code that a `compile_fail` example names
# with the one it gets, so that none fails for another reason.
set -e
export RUSTC_BOOTSTRAP=1
pages=$(mktemp -d)
trap 'rm -r "$pages"' EXIT
(
    for argument; do
        shift
        [ "$argument" = --test ] || set -- "$@" "$argument"
    done
    rustdoc "$@" -D warnings --out-dir "$pages"
)
rustdoc "$@"
