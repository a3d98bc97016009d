"""Scalars, points, hashes to the curve, pairings, transcripts."""

from .. import transcript
from ..curve import G1, G2, Refused, scalar_from_bytes, scalar_to_bytes
from ..draws import Draws
from ..field import P, R, Fp, Fp2
from ..hash_to_curve import G_HAT, H, hash_to_curve
from ..pairing import pairing_product

GROUPS = (G1, G2)
# The smallest prime factors of the cofactors.
SMALL = {"G1": (3, 11), "G2": (13, 23)}


def scalars():
    good = [0, 1, 2, 7, 2**32, 2**64, 2**128 - 1, R - 1]
    raw = [n.to_bytes(32, "big") for n in (R, R + 1, 2**255, 2**256 - 1)]
    raw += [b"", bytes(31), bytes(33), scalar_to_bytes(1)[::-1] + b"\0"]
    bad = []
    for data in raw:
        try:
            scalar_from_bytes(data)
            raise AssertionError("must be refused")
        except Refused as refused:
            bad.append({"bytes": data.hex(), "reason": str(refused)})
    draws = Draws("wide scalars")
    wide = [draws.bytes(64) for _ in range(3)] + [bytes(64), b"\xff" * 64, R.to_bytes(64, "big")]
    return {
        "canonical": [scalar_to_bytes(n).hex() for n in good],
        "refused": bad,
        "wide": [
            {"bytes": block.hex(), "scalar": scalar_to_bytes(int.from_bytes(block, "big")).hex()}
            for block in wide
        ],
    }


def _on_curve(group):
    """Points of E or E' of the full order, one for each x from 1 upwards that has one."""
    for n in range(1, 1000):
        point = group.from_x(Fp(n) if group is G1 else Fp2(n, 0), False)
        if point is not None:
            yield point


def small_order(group, q):
    """A point of order q: what the cofactor without q's power leaves, until q takes it away."""
    rest = group.cofactor
    while rest % q == 0:
        rest //= q
    for point in _on_curve(group):
        point = point * R * rest
        while not point.is_identity() and not (point * q).is_identity():
            point = point * q
        if not point.is_identity():
            return point


def _encodings(group):
    """Bytes to try, many of which are no point."""
    size, generator, infinity = group.size, group.generator.to_bytes(), group.identity().to_bytes()
    for flags in range(8):
        for data in (generator, infinity, (group.generator * 5).to_bytes()):
            yield bytes([data[0] & 0x1F | flags << 5]) + data[1:]
        yield bytes([flags << 5]) + bytes(size - 2) + b"\x01"
    for x in (P, P + 1, 2**381 - 1):
        head = bytearray(x.to_bytes(48, "big"))
        head[0] |= 0x80
        yield bytes(head) + bytes(size - 48)
        if group is G2:
            yield generator[:48] + x.to_bytes(48, "big")
    if group is G2:
        yield generator[:48] + bytes([generator[48] | 0x80]) + generator[49:]
        # The square root takes another path when the coefficient of u is zero.
        for point in (Fp2(n, 0) for n in range(6)):
            yield bytes([0x80]) + point.to_bytes()[1:]
    for q in SMALL[group.name]:
        low = small_order(group, q)
        yield low.to_bytes()
        yield (low + group.generator).to_bytes()
    full = next(iter(_on_curve(group)))
    yield full.to_bytes()
    yield (full * group.cofactor).to_bytes()
    for data in (b"", generator[:-1], generator + b"\0", generator[:1], generator * 2):
        yield data


def points():
    """Encodings, and for each `null` or why it is refused."""
    cases = []
    for group in GROUPS:
        seen = set()
        for data in _encodings(group):
            if data in seen:
                continue
            seen.add(data)
            try:
                assert group.decode(data).to_bytes() == data
                reason = None
            except Refused as refused:
                reason = str(refused)
            cases.append({"group": group.name, "bytes": data.hex(), "reason": reason})
    multiples = [
        {
            "group": group.name,
            "scalar": scalar_to_bytes(n).hex(),
            "point": (group.generator * n).to_bytes().hex(),
        }
        for group in GROUPS
        for n in (0, 1, 2, 3, R - 1, Draws("multiples").scalar())
    ]
    return {"encodings": cases, "multiples": multiples}


def hashes():
    tags = [b"PREFINAL-TEST", b"t", b"x" * 255, b"x" * 256, b"y" * 1000]
    lengths = [0, 1, 32, 55, 56, 64, 119, 200]
    inputs = [(bytes(range(n)), tags[0]) for n in lengths] + [(b"message", tag) for tag in tags[1:]]
    cases = [
        {
            "group": group.name,
            "message": message.hex(),
            "tag": tag.decode(),
            "point": hash_to_curve(group, message, tag).to_bytes().hex(),
        }
        for group in GROUPS
        for message, tag in inputs
    ]
    return {"cases": cases, "h": H.to_bytes().hex(), "g_hat": G_HAT.to_bytes().hex()}


def pairings():
    """Products of pairings with their 576 bytes; one that is one, and some with identities."""
    a, b = Draws("pairings").scalar(), Draws("pairings, second").scalar()
    p, q = G1.generator, G2.generator
    products = [
        [],
        [(p, q)],
        [(p * a, q * b)],
        [(p, q * (a * b % R))],
        [(G1.identity(), q), (p * 3, q)],
        [(p, G2.identity())],
        [(p * a, q), (-p, q * a)],
        [(H, G_HAT), (p * a, G_HAT * b), (H * b, q)],
    ]
    return [
        {
            "terms": [[one.to_bytes().hex(), other.to_bytes().hex()] for one, other in terms],
            "product": pairing_product(terms).to_bytes().hex(),
        }
        for terms in products
    ]


def transcripts():
    def example(domain=b"test domain", second=b"some data"):
        new = transcript.Transcript(domain)
        new.append(b"first", b"")
        new.append(b"second", second)
        return new

    chained = example()
    first = chained.bytes(b"c")
    typed = transcript.Transcript(b"typed")
    typed.append_u64(b"number", 7)
    typed.append_points(b"point", [G1.generator])
    typed.append_points(b"points", [G2.generator, G2.identity()])
    typed.append(b"scalar", scalar_to_bytes(R - 1))
    return {
        "bytes": example().bytes(b"a challenge").hex(),
        "scalar": scalar_to_bytes(example().scalar(b"a challenge")).hex(),
        "coefficients": [
            n.to_bytes(16, "big").hex() for n in example().coefficients_128(b"a challenge", 5)
        ],
        "chained": [first.hex(), chained.bytes(b"c").hex()],
        "typed": typed.bytes(b"c").hex(),
    }


FILES = {
    "scalars.json": scalars,
    "points.json": points,
    "hashes.json": hashes,
    "pairings.json": pairings,
    "transcript.json": transcripts,
}
