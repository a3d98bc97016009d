#!/bin/sh
# Sets up what the program below needs in target/peers-python, builds our wheel for release, and runs it.
# Options are the program's: --quick, --csv FILE. With --build alone it stops before that.
set -eu
caller="$PWD"
cd "$(dirname "$0")/../../.."
root="$PWD"
venv=target/peers-python
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
"$venv/bin/python3" -m pip install --quiet --disable-pip-version-check \
    -r bindings/python/requirements/build.txt -r benches/peers/python/requirements.txt
rm -rf "$venv/wheels"
"$venv/bin/maturin" build --quiet --release --locked --out "$venv/wheels" \
    --manifest-path bindings/python/Cargo.toml
"$venv/bin/python3" -m pip install --quiet --disable-pip-version-check \
    --no-index --no-deps --force-reinstall "$venv"/wheels/prefinal-*.whl
[ "${1-}" != --build ] || exit 0
cd "$caller"
exec "$root/$venv/bin/python3" "$root/benches/peers/python/bench.py" "$@"
