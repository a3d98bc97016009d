"""Keys from seeds, signatures in both variants, rounds of drand's schemes."""

from hashlib import sha256

from . import hexes, refusal
from .. import bls
from ..curve import scalar_to_bytes
from ..draws import Draws
from ..drand import SCHEMES, randomness

MESSAGES = [b"", b"message", bytes(range(200))]


def derivations():
    """EIP-2333 and paths of EIP-2334; indices up to the last."""
    cases = []
    for name, length in (("a", 32), ("b", 64), ("c", 33)):
        seed = Draws("seed " + name).bytes(length)
        paths = ["m", "m/0", "m/4294967295", "m/12381/3600/0/0", "m/12381/3600/1/0/0"]
        keys = {path: scalar_to_bytes(bls.derive_path(seed, path)).hex() for path in paths}
        cases.append({"seed": seed.hex(), "keys": keys})
    short = bytes(31)
    return {"cases": cases, "refused": [{"seed": short.hex(), "reason": refusal(bls.derive_master, short)}]}


def _single(variant, name, secret, other):
    """A key, what proves it, what it signs, and what does not verify."""
    key = variant.public_key(secret)
    tags = {
        "domain model": variant.domain_tag("domain model"),
        "d": variant.domain_tag("d"),
        "standard basic": variant.basic_tag,
        "standard pop": variant.pop_tag,
    }
    signatures = [
        {
            "domain": domain,
            "message": message.hex(),
            "signature": variant.sign(secret, message, tag).to_bytes().hex(),
        }
        for domain, tag in tags.items()
        for message in MESSAGES
    ]
    tag, message = tags["d"], MESSAGES[1]
    good = variant.sign(secret, message, tag)
    attempts = {
        "other key": variant.sign(other, message, tag),
        "other message": variant.sign(secret, MESSAGES[2], tag),
        "other domain": variant.sign(secret, message, tags["domain model"]),
        "negated": -good,
        "possession as signature": variant.prove_possession(secret),
    }
    refused = [
        {
            "why": why,
            "domain": "d",
            "message": message.hex(),
            "signature": wrong.to_bytes().hex(),
            "reason": refusal(variant.verify, key, message, tag, wrong),
        }
        for why, wrong in attempts.items()
    ]
    variant.verify(key, message, tag, good)
    standard = variant.prove_possession(secret, variant.pop_possession_tag)
    return {
        "name": name,
        "secret": scalar_to_bytes(secret).hex(),
        "key": key.to_bytes().hex(),
        "possession": variant.prove_possession(secret).to_bytes().hex(),
        "standard possession": standard.to_bytes().hex(),
        "signatures": signatures,
        "refused": refused,
    }


def _sums(variant, secrets):
    """All on one message, and each on its own."""
    keys = [variant.public_key(secret) for secret in secrets]
    tag = variant.domain_tag("d")
    multi = variant.aggregate(variant.sign(secret, b"one for all", tag) for secret in secrets)
    variant.verify_multi(keys, b"one for all", tag, multi)
    messages = [bytes([i]) * i for i in range(len(secrets))]
    signed = zip(secrets, messages)
    aggregate = variant.aggregate(variant.sign(secret, m, tag) for secret, m in signed)
    variant.verify_aggregate(list(zip(keys, messages)), tag, aggregate)
    return {
        "secrets": [scalar_to_bytes(secret).hex() for secret in secrets],
        "domain": "d",
        "message": b"one for all".hex(),
        "multi": multi.to_bytes().hex(),
        "key": variant.keys.sum(keys).to_bytes().hex(),
        "messages": [message.hex() for message in messages],
        "aggregate": aggregate.to_bytes().hex(),
    }


def signatures():
    draws = Draws("bls")
    secrets = [draws.nonzero_scalar() for _ in range(4)]
    return {
        variant.name: {
            "keys": [_single(variant, "random", secrets[0], 1), _single(variant, "one", 1, 2)],
            "sums": _sums(variant, secrets),
            # The key that would sign for everybody if it needed no proof of possession.
            "rogue": hexes(
                [variant.public_key(secrets[1]) - variant.keys.sum([variant.public_key(secrets[0])])]
            ),
        }
        for variant in bls.VARIANTS
    }


def _previous(number):
    """What a round is chained to: the genesis seed, later 96 bytes of the last signature."""
    blocks = 1 if number == 1 else 3
    return b"".join(sha256(bytes([number % 256, i])).digest() for i in range(blocks))


def rounds():
    """Rounds of each scheme under a key of ours; the real ones are in the published vectors."""
    secret = Draws("drand").nonzero_scalar()
    result = {}
    for name, scheme in SCHEMES.items():
        key = scheme.variant.public_key(secret)
        cases = []
        for number in (1, 2, 1_000_000, 2**64 - 1):
            previous = _previous(number) if scheme.chained else None
            message = scheme.message(number, previous)
            signature = scheme.variant.sign(secret, message, scheme.tag)
            cases.append(
                {
                    "round": str(number),
                    "previous": previous and previous.hex(),
                    "message": message.hex(),
                    "signature": signature.to_bytes().hex(),
                    "randomness": randomness(signature).hex(),
                }
            )
        result[name] = {
            "secret": scalar_to_bytes(secret).hex(),
            "key": key.to_bytes().hex(),
            "rounds": cases,
        }
    return result


FILES = {"derivation.json": derivations, "bls.json": signatures, "drand.json": rounds}
