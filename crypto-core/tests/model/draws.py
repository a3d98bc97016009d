"""Pretended randomness: SHA-512 of a name and a counter, and a record of every byte given out.

A scalar is 64 bytes, big-endian, modulo r, as in the crate; so a generator that replays the record
makes the crate draw the same values in the same order.
"""

from hashlib import sha512

from .field import R


def draw_scalar(block):
    return int.from_bytes(block, "big") % R


class Draws:
    def __init__(self, name):
        self.name, self.record, self.counter = name.encode(), b"", 0

    def bytes(self, count):
        block = b""
        while len(block) < count:
            block += sha512(self.name + self.counter.to_bytes(8, "big")).digest()
            self.counter += 1
        self.record += block[:count]
        return block[:count]

    def scalar(self):
        return draw_scalar(self.bytes(64))

    def nonzero_scalar(self):
        """Zero would be drawn again; that never happens here."""
        n = self.scalar()
        assert n
        return n
