"""Points of BLS12-381 and their encodings.

    E : y^2 = x^3 + 4        over Fp,  with G1 of order r
    E': y^2 = x^3 + 4(1 + u) over Fp2, with G2 of order r

Points are Jacobian, (X, Y, Z) standing for (X/Z^2, Y/Z^3) and for infinity if Z = 0. Addition is the
textbook's, without any trick: this is the second opinion.

Encoding (as drand, Ethereum and zcash have it): x big-endian, and in the top three bits of the first
byte "compressed" (always set), "infinity" (then all else is zero) and "y is the larger root".
"""

from .field import P, R, Z, Fp, Fp2


class Refused(Exception):
    """Bytes or values that must not be accepted; the text is the reason in one word."""


class Point:
    """A point of E or E'; `group` knows which."""

    __slots__ = ("group", "x", "y", "z")

    def __init__(self, group, x, y, z):
        self.group, self.x, self.y, self.z = group, x, y, z

    def is_identity(self):
        return self.z.is_zero()

    def affine(self):
        """(x, y); not for infinity."""
        inverse = self.z.inverse()
        square = inverse * inverse
        return self.x * square, self.y * square * inverse

    def double(self):
        """Slope 3x^2 / 2y, denominators cleared."""
        square = self.y * self.y
        s = (self.x * square).scale(4)
        m = (self.x * self.x).scale(3)
        x = m * m - s.scale(2)
        y = m * (s - x) - (square * square).scale(8)
        return Point(self.group, x, y, (self.y * self.z).scale(2))

    def __add__(self, other):
        if self.is_identity():
            return other
        if other.is_identity():
            return self
        z1, z2 = self.z * self.z, other.z * other.z
        u1, u2 = self.x * z2, other.x * z1
        s1, s2 = self.y * z2 * other.z, other.y * z1 * self.z
        if u1 == u2:
            return self.double() if s1 == s2 else self.group.identity()
        h, slope = u2 - u1, s2 - s1
        h2 = h * h
        h3, v = h2 * h, u1 * h2
        x = slope * slope - h3 - v.scale(2)
        return Point(self.group, x, slope * (v - x) - s1 * h3, h * self.z * other.z)

    def __neg__(self):
        return Point(self.group, self.x, -self.y, self.z)

    def __sub__(self, other):
        return self + (-other)

    def __mul__(self, n):
        """n times the point. Not reduced modulo r: cofactors are multiplied by as well."""
        if n < 0:
            return (-self) * -n
        total = self.group.identity()
        for bit in bin(n)[2:]:
            total = total.double()
            if bit == "1":
                total = total + self
        return total

    def __eq__(self, other):
        if self.is_identity() or other.is_identity():
            return self.is_identity() and other.is_identity()
        return self.affine() == other.affine()

    def to_bytes(self):
        """48 bytes in G1, 96 in G2."""
        size = self.group.size
        if self.is_identity():
            return bytes([0xC0]) + bytes(size - 1)
        x, y = self.affine()
        data = bytearray(x.to_bytes())
        data[0] |= 0x80 | (0x20 if y.is_larger() else 0)
        return bytes(data)


class Group:
    """A curve y^2 = x^3 + b with a generator of order r."""

    def __init__(self, name, field, one, b, generator, size, cofactor):
        self.name, self.field, self.one, self.b, self.size = name, field, one, b, size
        self.cofactor = cofactor
        self.generator = self.point(*generator)

    def identity(self):
        return Point(self, self.one, self.one, self.one - self.one)

    def point(self, x, y):
        assert y * y == x * x * x + self.b
        return Point(self, x, y, self.one)

    def sum(self, points):
        total = self.identity()
        for point in points:
            total = total + point
        return total

    def from_x(self, x, larger):
        """The point with this x on the curve, of any order; None if there is none."""
        y = (x * x * x + self.b).sqrt()
        if y is None:
            return None
        return self.point(x, y if y.is_larger() == larger else -y)

    def decode(self, data):
        """Reads a canonical encoding of a point of order r, or of the identity."""
        if len(data) != self.size:
            raise Refused("length")
        flags, body = data[0] >> 5, bytes([data[0] & 0x1F]) + data[1:]
        if not flags & 0b100:
            raise Refused("not canonical")
        if flags & 0b010:
            if flags & 0b001 or any(body):
                raise Refused("not canonical")
            return self.identity()
        x = self.field.from_bytes(body)
        if x is None:
            raise Refused("not canonical")
        point = self.from_x(x, bool(flags & 0b001))
        if point is None:
            raise Refused("not on curve")
        if not (point * R).is_identity():
            raise Refused("not in subgroup")
        return point

    def decode_nonzero(self, data):
        """As `decode`, for places where the identity makes no sense."""
        point = self.decode(data)
        if point.is_identity():
            raise Refused("identity")
        return point


G1 = Group(
    "G1",
    Fp,
    Fp(1),
    Fp(4),
    (
        Fp(0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB),
        Fp(0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1),
    ),
    48,
    (Z - 1) ** 2 // 3,
)

G2 = Group(
    "G2",
    Fp2,
    Fp2(1, 0),
    Fp2(4, 4),
    (
        Fp2(
            0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
            0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
        ),
        Fp2(
            0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
            0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
        ),
    ),
    96,
    (Z**8 - 4 * Z**7 + 5 * Z**6 - 4 * Z**4 + 6 * Z**3 - 4 * Z**2 - 4 * Z + 13) // 9,
)


def scalar_to_bytes(n):
    """32 bytes, big-endian."""
    return (n % R).to_bytes(32, "big")


def scalar_from_bytes(data):
    """Reads 32 bytes, big-endian, below r."""
    if len(data) != 32:
        raise Refused("length")
    n = int.from_bytes(data, "big")
    if n >= R:
        raise Refused("not canonical")
    return n
