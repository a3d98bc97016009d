"""Certificates in both variants; ten parties, so that the bitmap ends within a byte."""

from . import refusal
from .. import certificate
from ..bls import VARIANTS
from ..curve import scalar_to_bytes
from ..draws import Draws

# All stake is 3 * 10^20, so a quorum is one more than 2 * 10^20, which 64 bits cannot hold.
UNIT = 10**19
STAKES = [9 * UNIT, 0, UNIT, 5 * UNIT, 4 * UNIT, UNIT, UNIT, 6 * UNIT, 2 * UNIT, UNIT]
QUORUMS = [[0, 3, 7, 2], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [9, 8, 7, 4, 0]]
MESSAGE = b"a certified statement"


def _electorate(variant):
    draws = Draws("certificate " + variant.name)
    secrets = [draws.nonzero_scalar() for _ in STAKES]
    tag = variant.domain_tag("certificate model")
    electorate = certificate.Electorate(variant, [variant.public_key(s) for s in secrets], STAKES)
    signatures = [variant.sign(secret, MESSAGE, tag) for secret in secrets]
    cases = []
    for signers in QUORUMS:
        made = electorate.assemble({i: signatures[i] for i in signers})
        electorate.verify(made, MESSAGE, tag)
        cases.append({"signers": sorted(signers), **_certificate(made)})
    data, signature = electorate.assemble({i: signatures[i] for i in QUORUMS[0]})
    attempts = {
        "exactly two thirds": electorate.assemble({i: signatures[i] for i in (0, 3, 7)}),
        "nobody": (bytes(2), signature),
        "bitmap too short": (data[:1], signature),
        "bitmap too long": (data + b"\0", signature),
        "a bit beyond the last party": (bytes([data[0], data[1] | 0b100]), signature),
        "a signer too many": (bytes([data[0] | 0b10, data[1]]), signature),
        "other signers of as much stake": (certificate.bitmap(10, [0, 3, 7, 5]), signature),
        "one signature twice": (data, signature + signatures[2]),
    }
    return {
        "stakes": [str(stake) for stake in STAKES],
        "quorum": str(electorate.quorum),
        "domain": "certificate model",
        "message": MESSAGE.hex(),
        "secrets": [scalar_to_bytes(secret).hex() for secret in secrets],
        "cases": cases,
        "refused": [
            {
                "why": why,
                **_certificate(wrong),
                "reason": refusal(electorate.verify, wrong, MESSAGE, tag),
            }
            for why, wrong in attempts.items()
        ],
    }


def _certificate(made):
    return {"bitmap": made[0].hex(), "signature": made[1].to_bytes().hex()}


def certificates():
    return {variant.name: _electorate(variant) for variant in VARIANTS}


FILES = {"certificate.json": certificates}
