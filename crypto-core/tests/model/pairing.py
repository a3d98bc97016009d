"""The optimal ate pairing e: G1 x G2 -> GT.

    e(P, Q) = f_{z,Q}(P) ^ (3 (p^12 - 1) / r)

The factor 3 is coprime to r; blst, arkworks and kyber have it as well, since their chain for the hard
part of the exponent computes three times that part. A pairing with another exponent would pass every
equation and give other bytes.

f is Miller's function: for each bit of |z| a tangent, for each set bit a chord. z is negative, and
f_{-n} = 1/f_n up to factors that the exponentiation removes. With (x', y') on the twist E', the point
of E over Fp12 is (x'/w^2, y'/w^3). A line of slope s' through it on E' is, at P = (x, y),

    (y w^3 - s' x w^2 + s' x' - y') / w^3

and w^3, like vertical lines, lies in a subfield and is removed too.
"""

from .curve import G1, G2
from .field import P, R, Z, Fp2, Fp12

# GT has order r, which divides the cyclotomic polynomial p^4 - p^2 + 1.
HARD = 3 * (P**4 - P**2 + 1) // R


def miller_loop(p, q):
    """f_{z,Q}(P) up to factors in proper subfields."""
    if p.is_identity() or q.is_identity():
        return Fp12.one()
    (x, y), (qx, qy) = p.affine(), q.affine()

    def line(slope, tx, ty):
        constant = slope * tx - ty
        return Fp12.from_fp2({0: constant, 2: slope.scale(-x.n), 3: Fp2(y.n, 0)})

    f, tx, ty = Fp12.one(), qx, qy
    for bit in bin(-Z)[3:]:
        slope = (tx * tx).scale(3) * ty.scale(2).inverse()
        f = f * f * line(slope, tx, ty)
        tx, ty = _third(slope, tx, ty, tx)
        if bit == "1":
            slope = (ty - qy) * (tx - qx).inverse()
            f = f * line(slope, tx, ty)
            tx, ty = _third(slope, tx, ty, qx)
    return f.inverse()


def _third(slope, tx, ty, other):
    """The sum of two points on a line: its third intersection, reflected."""
    x = slope * slope - tx - other
    return x, slope * (tx - x) - ty


def final_exponentiation(f):
    """f^((p^6 - 1)(p^2 + 1) HARD)."""
    f = f.frobenius(6) * f.inverse()
    f = f.frobenius(2) * f
    return f**HARD


def pairing_product(terms):
    """The product of e(P, Q) over all terms."""
    f = Fp12.one()
    for p, q in terms:
        f = f * miller_loop(p, q)
    return final_exponentiation(f)


def pairing(p, q):
    return pairing_product([(p, q)])


def pairs_to_one(terms):
    """Whether the product is one. Takes a G1 and a G2 point in either order."""
    ordered = [(a, b) if a.group is G1 else (b, a) for a, b in terms]
    assert all(p.group is G1 and q.group is G2 for p, q in ordered)
    return pairing_product(ordered) == Fp12.one()
