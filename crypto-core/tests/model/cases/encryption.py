"""Encryption to a round and to a committee."""

from . import hexes, refusal
from .. import elgamal, timelock
from ..curve import scalar_to_bytes
from ..draws import Draws
from ..drand import SCHEMES
from ..sharing import POINTS, Polynomial


def _to_rounds(name):
    scheme = SCHEMES[name]
    draws = Draws("timelock " + name)
    secret = draws.nonzero_scalar()
    key = scheme.variant.public_key(secret)
    cases = []
    for number, message in ((1, b"0123456789abcdef"), (2**64 - 1, bytes(range(32))), (1000, bytes(24))):
        own = Draws(f"timelock {name} {number}")
        u, v, w = timelock.encrypt(scheme, key, number, message, own)
        signature = scheme.variant.sign(secret, scheme.message(number), scheme.tag)
        assert timelock.decrypt(scheme, signature, (u, v, w)) == message
        early = scheme.variant.sign(secret, scheme.message(number - 1), scheme.tag)
        cases.append(
            {
                "round": str(number),
                "message": message.hex(),
                "draws": own.record.hex(),
                "u": u.to_bytes().hex(),
                "v": v.hex(),
                "w": w.hex(),
                "signature": signature.to_bytes().hex(),
                "other round": early.to_bytes().hex(),
                "refused": {
                    "other round": refusal(timelock.decrypt, scheme, early, (u, v, w)),
                    "u negated": refusal(timelock.decrypt, scheme, signature, (-u, v, w)),
                    "v changed": refusal(timelock.decrypt, scheme, signature, (u, flip(v), w)),
                    "w changed": refusal(timelock.decrypt, scheme, signature, (u, v, flip(w))),
                },
            }
        )
    return {"key": key.to_bytes().hex(), "cases": cases}


def flip(data):
    """Another last bit."""
    return data[:-1] + bytes([data[-1] ^ 1])


def timelocks():
    return {name: _to_rounds(name) for name, scheme in SCHEMES.items() if not scheme.chained}


WEIGHTS, T = [2, 0, 1, 3, 1], 4
CHAIN, EPOCH, SLOT = bytes(range(32)), 3, 77


def _to_committee(points):
    draws = Draws("elgamal " + points)
    polynomial = Polynomial.random(T, draws.nonzero_scalar(), draws)
    committee = elgamal.Committee(WEIGHTS, points, T, polynomial)
    slot = CHAIN + EPOCH.to_bytes(8, "big") + SLOT.to_bytes(8, "big")
    cases = []
    for label, plaintext in ((slot, b"a plaintext"), (b"", b""), (b"label", bytes(range(200)))):
        own = Draws(f"elgamal {points} {len(label)}")
        ciphertext = elgamal.encrypt(committee.key, label, plaintext, own)
        elgamal.validate(committee.key, label, ciphertext)
        shares = {i: committee.decryption_share(i, ciphertext) for i, w in enumerate(WEIGHTS) if w}
        committee.verify(3, ciphertext, shares[3])
        assert committee.combine(label, ciphertext, shares) == plaintext
        assert committee.combine(label, ciphertext, {i: shares[i] for i in (3, 4)}) == plaintext
        u, u_bar, c, z, body = ciphertext
        attempts = {
            "other label": (label + b"!", ciphertext),
            "u doubled": (label, (u + u, u_bar, c, z, body)),
            "u-bar doubled": (label, (u, u_bar + u_bar, c, z, body)),
            "both negated": (label, (-u, -u_bar, c, z, body)),
            "challenge and response zero": (label, (u, u_bar, 0, 0, body)),
            "body changed": (label, (u, u_bar, c, z, flip(body))),
        }
        cases.append(
            {
                "label": label.hex(),
                "plaintext": plaintext.hex(),
                "draws": own.record.hex(),
                **_ciphertext(ciphertext),
                "shares": {str(i): hexes(share) for i, share in shares.items()},
                "refused": [
                    {
                        "why": why,
                        "label": wrong.hex(),
                        **_ciphertext(attempt),
                        "reason": refusal(elgamal.validate, committee.key, wrong, attempt),
                    }
                    for why, (wrong, attempt) in attempts.items()
                ],
                "refused shares": {
                    "swapped": refusal(committee.verify, 0, ciphertext, shares[0][::-1]),
                    "short": refusal(committee.verify, 3, ciphertext, shares[3][:2]),
                    "of another party": refusal(committee.verify, 2, ciphertext, shares[4]),
                },
            }
        )
    return {
        "weights": WEIGHTS,
        "t": T,
        "draws": draws.record.hex(),
        "key": committee.key.to_bytes().hex(),
        "key hat": committee.key_hat.to_bytes().hex(),
        "public": hexes(committee.public),
        "shares": [scalar_to_bytes(share).hex() for share in committee.shares],
        "cases": cases,
    }


def _ciphertext(ciphertext):
    u, u_bar, c, z, body = ciphertext
    return {
        "u": u.to_bytes().hex(),
        "u bar": u_bar.to_bytes().hex(),
        "challenge": scalar_to_bytes(c).hex(),
        "response": scalar_to_bytes(z).hex(),
        "body": body.hex(),
    }


def committees():
    return {
        "chain": CHAIN.hex(),
        "epoch": EPOCH,
        "slot": SLOT,
        "second generator": elgamal.G_BAR.to_bytes().hex(),
        **{points: _to_committee(points) for points in POINTS},
    }


FILES = {"timelock.json": timelocks, "elgamal.json": committees}
