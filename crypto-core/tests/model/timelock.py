"""Identity-based encryption to a round, as in drand's tlock: Boneh and Franklin, Fujisaki and Okamoto.

    encrypt   sigma as below; r = H3(sigma, m); U = g^r; V = sigma xor H2(e(Q, pk)^r); W = m xor H4(sigma)
    decrypt   sigma = V xor H2(e(U, s)); m = W xor H4(sigma); U = g^H3(sigma, m) or it is refused

Q = H(round's message), s = Q^sk the round's signature, in the order that the pairing wants them.

    H2(x)        SHA-256("IBE-H2" || x), cut to the message's length
    H3(sigma, m) b = SHA-256("IBE-H3" || sigma || m); for i = 1, 2, ... as u16 little-endian, the first
                 SHA-256(i || b), its top bit shifted out of the first byte, that is below r
    H4(sigma)    SHA-256("IBE-H4" || sigma), cut likewise

    sigma        SHA-256("PREFINAL-V1-TIMELOCK-SIGMA" || 32 random bytes || pk || Q || m), cut likewise

The target group's element is written as kyber does: 12 coefficients of Fp2[w] in the tower's order
c1.c2, c1.c1, c1.c0, c0.c2, c0.c1, c0.c0, where c_k.c_j belongs to w^(2j + k); of each that of u first.
"""

from hashlib import sha256

from .curve import G1, Refused
from .field import R
from .pairing import pairing


def gt_bytes(element):
    coefficients = element.to_fp2()
    return b"".join(coefficients[2 * j + k].to_bytes() for k in (1, 0) for j in (2, 1, 0))


def h2(element, length):
    return sha256(b"IBE-H2" + gt_bytes(element)).digest()[:length]


def h3(sigma, message):
    buffer = sha256(b"IBE-H3" + sigma + message).digest()
    for i in range(1, 65535):
        digest = bytearray(sha256(i.to_bytes(2, "little") + buffer).digest())
        digest[0] >>= 1
        n = int.from_bytes(digest, "big")
        if n < R:
            return n


def h4(sigma, length):
    return sha256(b"IBE-H4" + sigma).digest()[:length]


def xor(a, b):
    assert len(a) == len(b)
    return bytes(x ^ y for x, y in zip(a, b))


def e(a, b):
    return pairing(a, b) if a.group is G1 else pairing(b, a)


def encrypt(scheme, key, number, message, draws):
    """To the signature of this round; `scheme` is one of drand's unchained ones."""
    assert 0 < len(message) <= 32
    identity = scheme.variant.hash(scheme.message(number), scheme.tag)
    hedged = draws.bytes(32) + key.to_bytes() + identity.to_bytes() + message
    sigma = sha256(b"PREFINAL-V1-TIMELOCK-SIGMA" + hedged).digest()[: len(message)]
    r = h3(sigma, message)
    v = xor(sigma, h2(e(identity, key) ** r, len(message)))
    return scheme.variant.keys.generator * r, v, xor(message, h4(sigma, len(message)))


def decrypt(scheme, signature, ciphertext):
    u, v, w = ciphertext
    if len(v) != len(w):
        raise Refused("length")
    sigma = xor(v, h2(e(signature, u), len(v)))
    message = xor(w, h4(sigma, len(w)))
    if scheme.variant.keys.generator * h3(sigma, message) != u:
        raise Refused("mismatch")
    return message
