"""ChaCha20-Poly1305 (RFC 8439)."""

import struct

MASK = 0xFFFFFFFF


def _rotate(x, n):
    return (x << n | x >> 32 - n) & MASK


def _quarter(s, a, b, c, d):
    """Section 2.1."""
    for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[x] = (s[x] + s[y]) & MASK
        s[z] = _rotate(s[z] ^ s[x], n)


def block(key, counter, nonce):
    """Section 2.3: 64 bytes of key stream."""
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    start += [*struct.unpack("<8L", key), counter, *struct.unpack("<3L", nonce)]
    state = list(start)
    for _ in range(10):
        for i in range(4):
            _quarter(state, i, i + 4, i + 8, i + 12)
        for i in range(4):
            _quarter(state, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12)
    return struct.pack("<16L", *((a + b) & MASK for a, b in zip(start, state)))


def stream(key, nonce, data):
    """Section 2.4, from block 1."""
    blocks = -(-len(data) // 64)
    pad = b"".join(block(key, 1 + i, nonce) for i in range(blocks))
    return bytes(x ^ y for x, y in zip(data, pad))


def poly1305(key, data):
    """Section 2.5."""
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for i in range(0, len(data), 16):
        total = (total + int.from_bytes(data[i : i + 16] + b"\x01", "little")) * r % (2**130 - 5)
    total += int.from_bytes(key[16:], "little")
    return (total % 2**128).to_bytes(16, "little")


def _tag(key, nonce, associated, ciphertext):
    """Section 2.8."""
    def pad(data):
        return data + bytes(-len(data) % 16)

    lengths = struct.pack("<QQ", len(associated), len(ciphertext))
    return poly1305(block(key, 0, nonce)[:32], pad(associated) + pad(ciphertext) + lengths)


def seal(key, nonce, associated, plaintext):
    ciphertext = stream(key, nonce, plaintext)
    return ciphertext + _tag(key, nonce, associated, ciphertext)


def open_sealed(key, nonce, associated, sealed):
    """The plaintext, or None."""
    ciphertext, tag = sealed[:-16], sealed[-16:]
    if len(sealed) < 16 or tag != _tag(key, nonce, associated, ciphertext):
        return None
    return stream(key, nonce, ciphertext)
