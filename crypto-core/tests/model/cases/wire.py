"""An example or several of every kind, and what no decoder may take."""

from . import refusal
from .. import elgamal, threshold, timelock, wvuf
from ..bls import MIN_PK, MIN_SIG
from ..curve import G1, G2
from ..draws import Draws
from ..drand import SCHEMES
from ..field import P, R
from ..sharing import Polynomial
from ..wire import KINDS, from_wire, to_wire, u32


def examples():
    """(kind, what is special about it, value)"""
    draws = Draws("wire")
    secret = draws.nonzero_scalar()
    yield 0x01, "a key", MIN_SIG.public_key(secret)
    yield 0x02, "a signature", MIN_SIG.sign(secret, b"message", MIN_SIG.domain_tag("wire model"))
    yield 0x03, "a proof", MIN_SIG.prove_possession(secret)
    yield 0x04, "a key", MIN_PK.public_key(secret)
    yield 0x05, "a signature", MIN_PK.sign(secret, b"message", MIN_PK.domain_tag("wire model"))
    yield 0x06, "a proof", MIN_PK.prove_possession(secret)
    polynomial = Polynomial.random(3, draws.scalar(), draws)
    for kind, group in ((0x08, G1), (0x09, G2)):
        yield kind, "of degree two", polynomial.commit(group)
        yield kind, "of a constant", polynomial.commit(group)[:1]
        yield kind, "of zero", [group.identity()]
    weights = [2, 0, 3]
    for kind, variant in ((0x10, MIN_SIG), (0x11, MIN_PK)):
        committee = threshold.Committee(variant, weights, "consecutive", 3, polynomial)
        for party in (2, 0):
            yield kind, f"of party {party}", committee.partial(party, b"message", b"tag")
    committee = wvuf.Committee(weights, 3, Polynomial.random(3, draws.scalar(), draws))
    keys = {i: wvuf.blind(committee.id(), i, committee.shares[i], draws) for i in (0, 2)}
    own = keys[0][1]
    yield 0x20, "three shares", keys[2][1]
    yield 0x20, "no shares", (*own[:3], [])
    yield 0x20, "a share that is the identity", (*own[:3], [G1.identity()])
    chain = bytes(range(32, 64))
    for value in (None, bytes(32)):
        at = wvuf.input_point(chain, 5, 2**64 - 1, value)
        sigmas = {i: wvuf.evaluate(key[0], at) for i, key in keys.items()}
        yield 0x21, f"on a slot, value {value and value.hex()}", sigmas[2]
        yield 0x22, f"of two, value {value and value.hex()}", (chain, 5, 2**64 - 1, value, sigmas)
    yield 0x22, "of nobody", (chain, 0, 0, None, {})
    for kind, variant in ((0x30, MIN_SIG), (0x31, MIN_PK)):
        signature = variant.sign(secret, b"message", b"tag")
        yield kind, "of ten parties", (b"\xff\x03", signature)
        yield kind, "of none", (b"", signature)
        yield kind, "of a bitmap that ends in zeros", (b"\x01\0\0", signature)
    for kind, name in ((0x40, "bls-unchained-g1-rfc9380"), (0x44, "pedersen-bls-unchained")):
        key = SCHEMES[name].variant.public_key(secret)
        yield kind, name, timelock.encrypt(SCHEMES[name], key, 9, b"sixteen bytes...", draws)
    polynomial = Polynomial.random(3, secret, draws)
    committee = elgamal.Committee(weights, "consecutive", 3, polynomial)
    ciphertext = elgamal.encrypt(committee.key, b"label", b"plaintext", draws)
    yield 0x41, "a plaintext", ciphertext
    yield 0x41, "an empty plaintext", elgamal.encrypt(committee.key, b"label", b"", draws)
    yield 0x41, "a proof of zeros", (*ciphertext[:2], 0, 0, ciphertext[4])
    for party in (2, 0):
        yield 0x42, f"of party {party}", committee.decryption_share(party, ciphertext)
    yield 0x43, "a key", (committee.key, committee.key_hat)


def _mutations(kind, data):
    """What every kind refuses."""
    yield "empty", b""
    yield "version only", data[:1]
    yield "version 0", b"\0" + data[1:]
    yield "version 2", b"\2" + data[1:]
    yield "another kind", data[:1] + bytes([kind ^ 0x80]) + data[2:]
    yield "no body", data[:2]
    yield "last byte missing", data[:-1]
    yield "a byte too many", data + b"\0"
    yield "twice", data + data[2:]


def _points(kind, data, at, group):
    """What stands where a point should."""
    point = data[at : at + group.size]
    too_large = bytes([0x80 | P >> 376]) + (P + 1).to_bytes(48, "big")[1:] + bytes(group.size - 48)
    for why, wrong in (
        ("identity", group.identity().to_bytes()),
        ("flag of compression missing", bytes([point[0] & 0x7F]) + point[1:]),
        ("coordinate not below p", too_large),
        ("another infinity", bytes([0xE0]) + bytes(group.size - 1)),
        ("x is zero", bytes([0x80]) + bytes(group.size - 1)),
    ):
        yield f"{why} at byte {at}", data[:at] + wrong + data[at + group.size :]


# kind: where a point and where a count stands in the first example
FIELDS = {
    0x01: ([(2, G2)], []),
    0x02: ([(2, G1)], []),
    0x03: ([(2, G1)], []),
    0x04: ([(2, G1)], []),
    0x05: ([(2, G2)], []),
    0x06: ([(2, G2)], []),
    0x08: ([(6, G1), (102, G1)], [2]),
    0x09: ([(6, G2)], [2]),
    0x10: ([(6, G1), (102, G1)], [2]),
    0x11: ([(6, G2), (198, G2)], [2]),
    0x20: ([(2, G1), (50, G1), (134, G1)], [130]),
    0x21: ([(2, G2)], []),
    0x22: ([(59, G2)], [51]),
    0x30: ([(8, G1)], [2]),
    0x31: ([(8, G2)], [2]),
    0x40: ([(2, G2)], []),
    0x41: ([(2, G1), (50, G1)], [162]),
    0x42: ([(6, G1), (102, G1)], [2]),
    0x43: ([(2, G1), (50, G2)], []),
    0x44: ([(2, G1)], []),
}


def _own(kind, data):
    """What only this kind can get wrong."""
    if kind in (0x08, 0x09, 0x10, 0x11, 0x42):
        yield "none at all", data[:2] + u32(0)
    if kind == 0x41:
        for at in (98, 130):
            yield f"scalar r at byte {at}", data[:at] + R.to_bytes(32, "big") + data[at + 32 :]
        yield "body shorter than its tag", data[:162] + u32(15) + data[166:181]
    if kind == 0x20:
        yield "scalar r at byte 98", data[:98] + R.to_bytes(32, "big") + data[130:]
    if kind == 0x43:
        yield "halves of different secrets", data[:2] + (G1.generator * 5).to_bytes() + data[50:]
    if kind == 0x22:
        yield "option 2", data[:50] + b"\2" + data[51:]
        yield "parties descending", data[:55] + data[155:255] + data[55:155]
        yield "a party twice", data[:155] + data[55:155]


def _refused(kind, data):
    points, counts = FIELDS[kind]
    yield from _mutations(kind, data)
    for at, group in points:
        yield from _points(kind, data, at, group)
    for at in counts:
        for count in (2**32 - 1, 2**31, 2**20 + 1, int.from_bytes(data[at : at + 4], "little") + 1):
            yield f"count {count}", data[:at] + u32(count) + data[at + 4 :]
    yield from _own(kind, data)


def objects():
    cases, first = [], {}
    for kind, what, value in examples():
        data = to_wire(kind, value)
        assert to_wire(kind, from_wire(kind, data)) == data
        cases.append({"kind": kind, "name": KINDS[kind][0], "what": what, "bytes": data.hex()})
        first.setdefault(kind, data)
    assert set(first) == set(KINDS)
    refused = []
    for kind, data in first.items():
        for why, wrong in _refused(kind, data):
            try:
                reason = refusal(from_wire, kind, wrong)
            except AssertionError:
                # A coefficient or a blinded share may be the identity: the encoding is fine.
                assert kind in (0x08, 0x09, 0x20) and why.startswith("identity"), (kind, why)
                continue
            refused.append({"kind": kind, "why": why, "bytes": wrong.hex(), "reason": reason})
    return {"cases": cases, "refused": refused}


FILES = {"wire.json": objects}
