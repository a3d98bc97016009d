"""Versioned bytes: 0x01 || kind || body, bodies as Borsh writes them.

    integers   little-endian: counts and parties u32, epoch and slot u64
    points     48 or 96 bytes, scalars 32, as in `curve`
    lists      count || items; a list of bytes likewise
    option     0, or 1 || value

Exactly one encoding each: nothing may follow, and a count must fit what follows it.
"""

from .curve import G1, G2, Refused, scalar_from_bytes, scalar_to_bytes
from .pairing import pairs_to_one

VERSION = 1
# The most shares, and the most parties, that a committee may have.
MAX = 1 << 20
# Bytes of a cipher's tag, and of the longest body.
TAG = 16
MAX_BODY = (1 << 20) + TAG


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise Refused("truncated")
        self.at += count
        return self.data[self.at - count : self.at]

    def integer(self, size):
        return int.from_bytes(self.take(size), "little")

    def count(self, size, limit=MAX):
        n = self.integer(4)
        if n > min(limit, (len(self.data) - self.at) // size):
            raise Refused("count")
        return n

    def point(self, group, zero=False):
        data = self.take(group.size)
        return group.decode(data) if zero else group.decode_nonzero(data)

    def finish(self):
        if self.at != len(self.data):
            raise Refused("trailing")


def u32(n):
    return n.to_bytes(4, "little")


def u64(n):
    return n.to_bytes(8, "little")


def listed(items):
    items = list(items)
    return u32(len(items)) + b"".join(items)


def point(group):
    """A body that is one point, not the identity."""
    return (lambda p: p.to_bytes(), lambda reader: reader.point(group))


def commitment(group):
    """Coefficients in the exponent, at least one; any may be the identity."""

    def decode(reader):
        points = [reader.point(group, zero=True) for _ in range(reader.count(group.size))]
        if not points:
            raise Refused("value")
        return points

    return (lambda points: listed(p.to_bytes() for p in points), decode)


def encode_blinded(key):
    pi, nonce, response, rho = key
    head = pi.to_bytes() + nonce.to_bytes() + scalar_to_bytes(response)
    return head + listed(p.to_bytes() for p in rho)


def decode_blinded(reader):
    pi, nonce = reader.point(G1), reader.point(G1)
    response = scalar_from_bytes(reader.take(32))
    return pi, nonce, response, [reader.point(G1, zero=True) for _ in range(reader.count(48))]


def encode_proof(proof):
    chain, epoch, slot, value, partials = proof
    option = b"\0" if value is None else b"\1" + value
    items = (u32(party) + sigma.to_bytes() for party, sigma in sorted(partials.items()))
    return chain + u64(epoch) + u64(slot) + option + listed(items)


def decode_proof(reader):
    chain, epoch, slot = reader.take(32), reader.integer(8), reader.integer(8)
    option = reader.integer(1)
    if option > 1:
        raise Refused("value")
    value = reader.take(32) if option else None
    partials, last = {}, -1
    for _ in range(reader.count(4 + 96)):
        party = reader.integer(4)
        if party <= last:
            raise Refused("value")
        partials[party], last = reader.point(G2), party
    return chain, epoch, slot, value, partials


def shares(group):
    """One point for each of a party's indices: at least one, none the identity."""

    def decode(reader):
        points = [reader.point(group) for _ in range(reader.count(group.size))]
        if not points:
            raise Refused("value")
        return points

    return (lambda points: listed(p.to_bytes() for p in points), decode)


def timelock(group, length):
    """To a round; the message's length is the type's."""
    return (
        lambda ciphertext: ciphertext[0].to_bytes() + ciphertext[1] + ciphertext[2],
        lambda reader: (reader.point(group), reader.take(length), reader.take(length)),
    )


def certificate(group):
    """A bitmap and a signature; whether the bitmap fits an electorate is not the decoder's to say."""
    return (
        lambda made: u32(len(made[0])) + made[0] + made[1].to_bytes(),
        lambda reader: (reader.take(reader.count(1, MAX // 8)), reader.point(group)),
    )


def encode_elgamal(ciphertext):
    u, u_bar, c, z, body = ciphertext
    scalars = scalar_to_bytes(c) + scalar_to_bytes(z)
    return u.to_bytes() + u_bar.to_bytes() + scalars + u32(len(body)) + body


def decode_elgamal(reader):
    points = reader.point(G1), reader.point(G1)
    scalars = scalar_from_bytes(reader.take(32)), scalar_from_bytes(reader.take(32))
    body = reader.take(reader.count(1, MAX_BODY))
    if len(body) < TAG:
        raise Refused("value")
    return (*points, *scalars, body)


def decode_encryption_key(reader):
    key, key_hat = reader.point(G1), reader.point(G2, zero=True)
    if not pairs_to_one([(key, G2.generator), (-G1.generator, key_hat)]):
        raise Refused("halves")
    return key, key_hat


def encode_encryption_key(halves):
    return b"".join(half.to_bytes() for half in halves)


# kind: (name, encode body, decode body)
KINDS = {
    0x01: ("min-sig public key", *point(G2)),
    0x02: ("min-sig signature", *point(G1)),
    0x03: ("min-sig possession", *point(G1)),
    0x04: ("min-pk public key", *point(G1)),
    0x05: ("min-pk signature", *point(G2)),
    0x06: ("min-pk possession", *point(G2)),
    0x08: ("commitment in G1", *commitment(G1)),
    0x09: ("commitment in G2", *commitment(G2)),
    0x10: ("threshold partial min-sig", *shares(G1)),
    0x11: ("threshold partial min-pk", *shares(G2)),
    0x20: ("wvuf blinded key", encode_blinded, decode_blinded),
    0x21: ("wvuf partial", *point(G2)),
    0x22: ("wvuf proof", encode_proof, decode_proof),
    0x30: ("certificate min-sig", *certificate(G1)),
    0x31: ("certificate min-pk", *certificate(G2)),
    0x40: ("timelock to min-sig", *timelock(G2, 16)),
    0x41: ("elgamal ciphertext", encode_elgamal, decode_elgamal),
    0x42: ("elgamal decryption share", *shares(G1)),
    0x43: ("elgamal public key", encode_encryption_key, decode_encryption_key),
    0x44: ("timelock to min-pk", *timelock(G1, 16)),
}


def to_wire(kind, value):
    return bytes([VERSION, kind]) + KINDS[kind][1](value)


def from_wire(kind, data):
    reader = Reader(data)
    if reader.integer(1) != VERSION:
        raise Refused("version")
    if reader.integer(1) != kind:
        raise Refused("kind")
    value = KINDS[kind][2](reader)
    reader.finish()
    return value
