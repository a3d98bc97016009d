"""The model against vectors that others published, as far as they lie beside its own.

A model that is wrong in the same way as the crate would be of no use; this is what it answers to.
"""

import json

from .curve import G1, G2, Refused
from .hash_to_curve import hash_to_curve


def _coordinates(value):
    parts = (value.a, value.b) if hasattr(value, "a") else (value.n,)
    return [part.to_bytes(48, "big").hex() for part in parts]


def hash_to_curve_cases(data):
    for case in data["cases"]:
        group = G1 if "G1" in case["suite"] else G2
        x, y = hash_to_curve(group, case["message"].encode(), case["tag"].encode()).affine()
        assert (_coordinates(x), _coordinates(y)) == (case["x"], case["y"]), case


def encodings(data):
    for case in data["cases"]:
        group = G1 if case["group"] == "G1" else G2
        try:
            group.decode(bytes.fromhex(case["bytes"]))
            valid = True
        except Refused:
            valid = False
        assert valid == case["valid"], case


CHECKS = {"hash-to-curve.json": hash_to_curve_cases, "compressed-points.json": encodings}


def check(directory):
    for name, run in CHECKS.items():
        run(json.loads((directory / name).read_text()))
