#!/bin/sh
# Makes a workspace of the archives that `cargo publish --dry-run` has left in a target folder. In it each crate is
# what a registry would hand out, and finds the others where they are unpacked.
set -e
lock=$PWD/Cargo.lock
cd "$1/package"
for archive in tmp-crate/*.crate; do
    tar -xf "$archive"
done
{
    echo '[workspace]'
    echo 'resolver = "3"'
    echo 'members = ["prefinal*"]'
    echo '[patch.crates-io]'
    for folder in prefinal*; do
        echo "${folder%-*} = { path = \"$folder\" }"
    done
} > Cargo.toml
cp "$lock" Cargo.lock
