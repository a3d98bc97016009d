"""The fields below BLS12-381.

    Fp   = integers modulo p
    Fp2  = Fp[u] / (u^2 + 1)
    Fp12 = Fp[w] / (w^12 - 2 w^6 + 2), and u = w^6 - 1, for then u^2 + 1 = w^12 - 2 w^6 + 2 = 0

So w^6 = 1 + u, which is the element that the twist and the usual towers are built with: Fp2 lies in
Fp12, and an element of Fp12 is also a polynomial of degree 5 in w over Fp2.
"""

# Everything follows from the curve's parameter z (RFC 9380, section 8.8; the BLS family of curves).
Z = -0xD201000000010000
R = Z**4 - Z**2 + 1
P = (Z - 1) ** 2 * R // 3 + Z


class Fp:
    """An integer modulo p."""

    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n % P

    def __add__(self, other):
        return Fp(self.n + other.n)

    def __sub__(self, other):
        return Fp(self.n - other.n)

    def __mul__(self, other):
        return Fp(self.n * other.n)

    def __neg__(self):
        return Fp(-self.n)

    def __eq__(self, other):
        return self.n == other.n

    def __pow__(self, exponent):
        return Fp(pow(self.n, exponent, P))

    def scale(self, k):
        return Fp(self.n * k)

    def is_zero(self):
        return self.n == 0

    def inverse(self):
        """1/x; 0 for 0, which is what RFC 9380 calls inv0."""
        return Fp(pow(self.n, P - 2, P))

    def sqrt(self):
        """A square root, or None. p = 3 mod 4, so x^((p+1)/4) is one if there is any."""
        root = self ** ((P + 1) // 4)
        return root if root * root == self else None

    def sgn0(self):
        """RFC 9380, section 4.1: the parity."""
        return self.n % 2

    def is_larger(self):
        """Whether x is the larger of x and -x: the sign bit of compressed points."""
        return self.n > (P - 1) // 2

    def to_bytes(self):
        return self.n.to_bytes(48, "big")

    @classmethod
    def from_bytes(cls, data):
        """Reads 48 bytes, big-endian; None unless below p."""
        n = int.from_bytes(data, "big")
        return cls(n) if n < P else None


class Fp2:
    """a + b u with u^2 = -1."""

    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a % P, b % P

    def __add__(self, other):
        return Fp2(self.a + other.a, self.b + other.b)

    def __sub__(self, other):
        return Fp2(self.a - other.a, self.b - other.b)

    def __mul__(self, other):
        a, b, c, d = self.a, self.b, other.a, other.b
        return Fp2(a * c - b * d, a * d + b * c)

    def __neg__(self):
        return Fp2(-self.a, -self.b)

    def __eq__(self, other):
        return self.a == other.a and self.b == other.b

    def __pow__(self, exponent):
        power = Fp2(1, 0)
        for bit in bin(exponent)[2:]:
            power = power * power
            if bit == "1":
                power = power * self
        return power

    def scale(self, k):
        return Fp2(self.a * k, self.b * k)

    def is_zero(self):
        return self.a == 0 and self.b == 0

    def inverse(self):
        """1/x = conj(x) / (a^2 + b^2); 0 for 0."""
        norm = pow(self.a * self.a + self.b * self.b, P - 2, P)
        return Fp2(self.a * norm, -self.b * norm)

    def sqrt(self):
        """A square root, or None.

        If (s + t u)^2 = a + b u, then s^2 = (a +- n)/2 and t = b/(2 s), where n^2 = a^2 + b^2.
        """
        norm = Fp(self.a * self.a + self.b * self.b).sqrt()
        if norm is None:
            return None
        for n in (norm, -norm):
            s = (Fp(self.a) + n).scale((P + 1) // 2).sqrt()
            if s is None:
                continue
            if not s.is_zero():
                t = Fp(self.b) * s.scale(2).inverse()
            else:
                # a = -n, so b = 0, and the root of a = -t^2 is t u.
                t = Fp(-self.a).sqrt()
            if t is not None and Fp2(s.n, t.n) * Fp2(s.n, t.n) == self:
                return Fp2(s.n, t.n)
        return None

    def sgn0(self):
        """RFC 9380, section 4.1: the parity of the first coordinate that is not zero."""
        return self.a % 2 if self.a else self.b % 2

    def is_larger(self):
        """As for Fp, by the coefficient of u and, if that is zero, by the other."""
        return Fp(self.b).is_larger() if self.b else Fp(self.a).is_larger()

    def to_bytes(self):
        """Coefficient of u first."""
        return Fp(self.b).to_bytes() + Fp(self.a).to_bytes()

    @classmethod
    def from_bytes(cls, data):
        """Reads 96 bytes; None unless both coefficients are below p."""
        b, a = Fp.from_bytes(data[:48]), Fp.from_bytes(data[48:])
        return None if a is None or b is None else cls(a.n, b.n)


def _power_of_w(q):
    """The number c with w^q = c w, for q = p^2 or p^6, as w^(q-1) = (1 + u)^((q-1)/6) is in Fp."""
    c = Fp2(1, 1) ** ((q - 1) // 6)
    assert c.b == 0
    return c.a


class Fp12:
    """c[0] + c[1] w + ... + c[11] w^11 over Fp."""

    __slots__ = ("c",)

    def __init__(self, c):
        self.c = [n % P for n in c]

    @classmethod
    def one(cls):
        return cls([1] + 11 * [0])

    @classmethod
    def from_fp2(cls, coefficients):
        """From {i: x}, the sum of x w^i over Fp2 for i < 6: a + b u = (a - b) + b w^6."""
        c = 12 * [0]
        for i, x in coefficients.items():
            c[i] += x.a - x.b
            c[i + 6] += x.b
        return cls(c)

    def to_fp2(self):
        """The six coefficients over Fp2: s + t w^6 = (s + t) + t u."""
        return [Fp2(self.c[i] + self.c[i + 6], self.c[i + 6]) for i in range(6)]

    def __mul__(self, other):
        product = 23 * [0]
        for i, x in enumerate(self.c):
            if x:
                for j, y in enumerate(other.c):
                    product[i + j] += x * y
        # From the top: w^12 = 2 w^6 - 2.
        for i in range(22, 11, -1):
            product[i - 6] += 2 * product[i]
            product[i - 12] -= 2 * product[i]
        return Fp12(product[:12])

    def __eq__(self, other):
        return self.c == other.c

    def __pow__(self, exponent):
        power = Fp12.one()
        for bit in bin(exponent)[2:]:
            power = power * power
            if bit == "1":
                power = power * self
        return power

    def frobenius(self, k):
        """x^(p^k) for k = 2, 4 or 6, which fixes Fp2 and takes w to a multiple of itself."""
        factor = _FROBENIUS[k]
        return Fp12([n * pow(factor, i, P) for i, n in enumerate(self.c)])

    def inverse(self):
        """By the norm: x x^(p^6) is in Fp6, and its product with its conjugates over Fp2 in Fp2."""
        conjugate = self.frobenius(6)
        sextic = self * conjugate
        others = sextic.frobenius(2) * sextic.frobenius(4)
        norm = (sextic * others).to_fp2()[0]
        return conjugate * others * Fp12.from_fp2({0: norm.inverse()})

    def to_bytes(self):
        """The six coefficients over Fp2, that of w^0 first; of each the constant, then that of u."""
        return b"".join(Fp(n).to_bytes() for x in self.to_fp2() for n in (x.a, x.b))


_FROBENIUS = {k: _power_of_w(P**k) for k in (2, 4, 6)}
