"""Shamir's sharing and Feldman's commitments.

    share         f(X) = s + c1 X + ... + c_{t-1} X^{t-1}; share j is f(x_j)
    points        consecutive: x_j = j; roots of unity: x_j = w^{j-1}, w of the least order 2^k >= n
    interpolate   f(x) = sum lambda_i f(x_i), lambda_i = prod_{j != i} (x_j - x) / (x_j - x_i)
    commit        C_k = g^{c_k}; share j in the exponent is prod C_k^{x_j^k}

Parties hold consecutive indices, in their order, from 1: party i as many as its weight.
"""

from .field import R

# 7 generates the scalars' multiplicative group.
ROOT_OF_UNITY = pow(7, (R - 1) // 2**32, R)


def consecutive(count):
    return list(range(1, count + 1))


def roots_of_unity(count):
    order = 1 << (count - 1).bit_length()
    root = pow(ROOT_OF_UNITY, 2**32 // order, R)
    return [pow(root, j, R) for j in range(count)]


POINTS = {"consecutive": consecutive, "roots-of-unity": roots_of_unity}


def indices(weights):
    """The share indices of each party."""
    start, owned = 1, []
    for weight in weights:
        owned.append(list(range(start, start + weight)))
        start += weight
    return owned


class Polynomial:
    def __init__(self, coefficients):
        """Lowest degree first."""
        self.coefficients = coefficients

    @classmethod
    def random(cls, t, constant, draws):
        return cls([constant] + [draws.scalar() for _ in range(t - 1)])

    def __call__(self, x):
        return sum(c * pow(x, k, R) for k, c in enumerate(self.coefficients)) % R

    def commit(self, group):
        return [group.generator * c for c in self.coefficients]


def evaluate_commitment(group, commitment, x):
    return group.sum(c * pow(x, k, R) for k, c in enumerate(commitment))


def lagrange(points, x=0):
    """The lambda_i, in the order of the points."""
    result = []
    for i, xi in enumerate(points):
        above = below = 1
        for j, xj in enumerate(points):
            if j != i:
                above = above * (xj - x) % R
                below = below * (xj - xi) % R
        result.append(above * pow(below, -1, R) % R)
    return result


def interpolate(shares, x=0):
    """f(x) from {x_i: f(x_i)}."""
    coefficients = lagrange(list(shares), x)
    return sum(c * value for c, value in zip(coefficients, shares.values())) % R
