"""Fiat-Shamir: SHA-256 over a domain and labelled items, every length as u64 big-endian in front.

    frame(x)      = len(x) || x
    state         = frame("PREFINAL-V1-TRANSCRIPT") || frame(domain) || frame(label) || frame(data) ...
    c = bytes(l)  = SHA-256(state || frame("challenge") || frame(l)); then all of it and frame(c)
                    become part of the state
    scalar(l)     = (SHA-256(c || 0) || SHA-256(c || 1)) mod r, counters as u64 big-endian
    128-bit       = the halves of SHA-256(c || 0), SHA-256(c || 1), ...
"""

from hashlib import sha256

from .field import R


def frame(data):
    return len(data).to_bytes(8, "big") + data


def expand(seed, counter):
    return sha256(seed + counter.to_bytes(8, "big")).digest()


class Transcript:
    def __init__(self, domain):
        self.state = b""
        self.append(b"PREFINAL-V1-TRANSCRIPT", domain)

    def append(self, label, data):
        self.state += frame(label) + frame(data)

    def append_u64(self, label, n):
        self.append(label, n.to_bytes(8, "big"))

    def append_points(self, label, points):
        """One item for all of them; a single point is the same as a list of one."""
        self.append(label, b"".join(point.to_bytes() for point in points))

    def bytes(self, label):
        self.state += frame(b"challenge") + frame(label)
        digest = sha256(self.state).digest()
        self.state += frame(digest)
        return digest

    def scalar(self, label):
        seed = self.bytes(label)
        return int.from_bytes(expand(seed, 0) + expand(seed, 1), "big") % R

    def coefficients_128(self, label, count):
        seed = self.bytes(label)
        stream = b"".join(expand(seed, k) for k in range((count + 1) // 2))
        return [int.from_bytes(stream[16 * k : 16 * k + 16], "big") for k in range(count)]
