"""RFC 9380: bytes to points, suites BLS12381G1_XMD:SHA-256_SSWU_RO_ and NU_, and the same for G2.

    hash(m)   = clear(map(u0) + map(u1)),  u0, u1 = hash_to_field(m, 2)      RO
    encode(m) = clear(map(u0)),            u0 = hash_to_field(m, 1)          NU
    map       = isogeny after simplified SWU
    clear(P)  = h_eff P
"""

from hashlib import sha256

from . import isogeny as iso
from .curve import G1, G2
from .field import P, Z, Fp, Fp2

# Section 8.8: 1 - z in G1, 3 (z^2 - 1) times the cofactor in G2.
H_EFF = {"G1": 1 - Z, "G2": 3 * (Z**2 - 1) * G2.cofactor}
# Bytes per coordinate: ceil((381 + 128) / 8), section 5.1.
L = 64


def expand_message_xmd(message, tag, length):
    """Section 5.3.1 with SHA-256, and 5.3.3 for tags that are too long."""
    if len(tag) > 255:
        tag = sha256(b"H2C-OVERSIZE-DST-" + tag).digest()
    tag += bytes([len(tag)])
    blocks = -(-length // 32)
    assert blocks <= 255
    b0 = sha256(bytes(64) + message + length.to_bytes(2, "big") + b"\0" + tag).digest()
    block = sha256(b0 + b"\x01" + tag).digest()
    output = block
    for i in range(2, blocks + 1):
        mixed = bytes(x ^ y for x, y in zip(b0, block))
        block = sha256(mixed + bytes([i]) + tag).digest()
        output += block
    return output[:length]


def hash_to_field(group, message, tag, count):
    """Section 5.2: `count` elements of Fp for G1, of Fp2 for G2."""
    degree = 1 if group is G1 else 2
    data = expand_message_xmd(message, tag, count * degree * L)
    numbers = [int.from_bytes(data[i : i + L], "big") % P for i in range(0, len(data), L)]
    if group is G1:
        return [Fp(n) for n in numbers]
    return [Fp2(a, b) for a, b in zip(numbers[::2], numbers[1::2])]


def simplified_swu(u, a, b, z):
    """Section 6.6.2: a point (x, y) of y^2 = x^3 + a x + b."""
    zu2 = z * u * u
    tv1 = (zu2 * zu2 + zu2).inverse()
    x = b * (z * a).inverse()
    if not tv1.is_zero():
        one = tv1 * tv1.inverse()
        x = -b * a.inverse() * (one + tv1)
    y = (x * x * x + a * x + b).sqrt()
    if y is None:
        x = zu2 * x
        y = (x * x * x + a * x + b).sqrt()
    return x, (y if y.sgn0() == u.sgn0() else -y)


def _evaluate(coefficients, x):
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def map_to_curve(group, u):
    """Section 6.6.3: simplified SWU to the isogenous curve, then the isogeny; any order."""
    if group is G1:
        x, y = simplified_swu(u, iso.G1_A, iso.G1_B, iso.G1_Z)
        maps = (iso.G1_X_NUM, iso.G1_X_DEN, iso.G1_Y_NUM, iso.G1_Y_DEN)
    else:
        x, y = simplified_swu(u, iso.G2_A, iso.G2_B, iso.G2_Z)
        maps = (iso.G2_X_NUM, iso.G2_X_DEN, iso.G2_Y_NUM, iso.G2_Y_DEN)
    x_num, x_den, y_num, y_den = (_evaluate(each, x) for each in maps)
    if x_den.is_zero() or y_den.is_zero():
        return group.identity()
    return group.point(x_num * x_den.inverse(), y * y_num * y_den.inverse())


def clear_cofactor(point):
    return point * H_EFF[point.group.name]


def hash_to_curve(group, message, tag):
    """The random oracle suites, RO."""
    u0, u1 = hash_to_field(group, message, tag, 2)
    return clear_cofactor(map_to_curve(group, u0) + map_to_curve(group, u1))


def encode_to_curve(group, message, tag):
    """The nonuniform suites, NU."""
    (u,) = hash_to_field(group, message, tag, 1)
    return clear_cofactor(map_to_curve(group, u))


def tag_of(purpose, group):
    """Our tags: `PREFINAL-V1-<purpose>_<suite>`."""
    return f"PREFINAL-V1-{purpose}_BLS12381{group.name}_XMD:SHA-256_SSWU_RO_".encode()


# The generators h and g-hat, of which nobody knows a logarithm.
H = hash_to_curve(G1, b"h", tag_of("GENERATORS", G1))
G_HAT = hash_to_curve(G2, b"g_hat", tag_of("GENERATORS", G2))
