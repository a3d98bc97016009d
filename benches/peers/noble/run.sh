#!/bin/sh
# Builds the npm package, fetches @noble/curves beside it and runs bindings/wasm/bench.mjs. Needs Node 20
# and Rust's target wasm32-unknown-unknown.
# Options are the program's: --quick, --csv FILE. With --build alone it stops before that.
set -eu
root="$(cd "$(dirname "$0")/../../.." && pwd)"
caller="$PWD"
cd "$root/bindings/wasm"
npm ci --ignore-scripts --no-audit --no-fund --silent
CARGO_TARGET_DIR=../../target/wasm cargo run --quiet --locked -p prefinal-wasm-build
npm install --no-save --ignore-scripts --no-audit --no-fund --silent @noble/curves@2.4.0
[ "${1-}" != --build ] || exit 0
cd "$caller"
exec node "$root/bindings/wasm/bench.mjs" "$@"
