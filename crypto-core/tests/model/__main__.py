"""`--write` writes the vector files, `--check` compares them and runs the model on published ones."""

import argparse
import json
import sys
from pathlib import Path

from . import published
from .cases import bls, certificate, curve, encryption, sharing, statements, transaction, wire, wvuf

TESTS = Path(__file__).resolve().parent.parent
VECTORS = TESTS / "vectors"
CURVE = TESTS.parent / "bls12-381" / "tests" / "vectors"
DIRECTORY = VECTORS / "model"
ORIGIN = "python3 -m model --write, in crypto-core/tests; shares no code with the crate"
MODULES = (curve, bls, sharing, certificate, wvuf, encryption, wire, transaction, statements)


def content(make):
    return json.dumps({"origin": ORIGIN, "content": make()}, indent=1) + "\n"


def check(files):
    published.check(CURVE, VECTORS)
    wrong = sorted({path.name for path in DIRECTORY.glob("*.json")} - set(files))
    for name, make in files.items():
        path = DIRECTORY / name
        if not path.exists() or path.read_text() != content(make):
            wrong.append(name)
    if wrong:
        sys.exit(f"not what the model gives: {', '.join(wrong)}")
    print(f"{len(files)} files are what the model gives")


def write(files):
    DIRECTORY.mkdir(exist_ok=True)
    for name, make in files.items():
        (DIRECTORY / name).write_text(content(make))


def main():
    parser = argparse.ArgumentParser(prog="model", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true")
    action.add_argument("--write", action="store_true")
    files = {name: make for module in MODULES for name, make in module.FILES.items()}
    (check if parser.parse_args().check else write)(files)


main()
