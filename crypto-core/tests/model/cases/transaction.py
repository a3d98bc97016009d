"""What transactions draw from the random value of their slot."""

from hashlib import sha256

from . import refusal
from .. import transaction

VALUES = [bytes(32), sha256(b"a slot's value").digest()]
HASH = sha256(b"a transaction").digest()
# Pairs whose bytes would be the same if no length stood before them, and the lengths that are possible.
NAMES = [
    ("a", HASH),
    ("acme/raffle", HASH),
    ("acme/raffl", b"e" + HASH),
    ("x", b"\0"),
    ("x", bytes(9)),
    ("~" * 64, b"\xff" * 300),
]
INDICES = [0, 1, 255, 256, 2**64 - 1]
# Of the last ones, every fourth, third and second word is refused.
BOUNDS = [1, 2, 6, 100, 2**32, 2**64 - 1, 3 * 2**62, 2**64 // 3 + 1, 2**63 + 1, 2**63 + 2]
# How many places, and how many of them are taken.
ORDERS = [(0, 0), (1, 1), (2, 2), (10, 10), (52, 5), (1000, 7), (2**32 - 1, 9), (2**64 - 1, 4)]


def _case(value, application, name, index):
    seed = transaction.draw(value, application, name, index)
    return {
        "value": value.hex(),
        "application": application,
        "transaction": name.hex(),
        "index": str(index),
        "draw": seed.hex(),
        "numbers": [
            {"bound": str(bound), "number": str(transaction.below(seed, bound)[0])} for bound in BOUNDS
        ],
        "orders": [
            {"among": str(among), "order": [str(at) for at in transaction.order(seed, among, taken)]}
            for among, taken in ORDERS
        ],
    }


def draws():
    cases = [_case(VALUES[1], *name, 0) for name in NAMES]
    cases += [_case(value, *NAMES[1], index) for value in VALUES for index in INDICES]
    seeds = [bytes.fromhex(case["draw"]) for case in cases]
    # Refusals must show, and words of a second hash.
    assert max(transaction.below(seed, bound)[1] for seed in seeds for bound in BOUNDS) > 4
    wrong = [("", HASH), ("a" * 65, HASH), ("a b", HASH), ("\x7f", HASH), ("\u00e9", HASH), ("a", b"")]
    return {
        "cases": cases,
        "refused": [
            {
                "application": application,
                "transaction": name.hex(),
                "reason": refusal(transaction.draw, bytes(32), application, name, 0),
            }
            for application, name in wrong
        ],
    }


FILES = {"draws.json": draws}
