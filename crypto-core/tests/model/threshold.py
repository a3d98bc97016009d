"""Threshold BLS: the secret is f(0), share j is f(j), parties hold consecutive share indices.

    keys      pk = g^f(0), pk_j = g^f(x_j)
    partial   {H(m)^f(x_j)} for the party's indices, in order
    verify    e(sigma_j, g) = e(H(m), pk_j) for each of them
    combine   sigma = prod sigma_j^lambda_j over t shares = H(m)^f(0), a BLS signature of pk
"""

from .curve import Refused
from .sharing import POINTS, indices, lagrange


class Committee:
    def __init__(self, variant, weights, points, t, polynomial):
        self.variant, self.t, self.owned = variant, t, indices(weights)
        self.points = POINTS[points](sum(weights))
        self.shares = [polynomial(x) for x in self.points]
        self.public = [variant.public_key(share) for share in self.shares]
        self.commitment = polynomial.commit(variant.keys)
        self.key = self.commitment[0]

    def partial(self, party, message, tag):
        point = self.variant.hash(message, tag)
        return [point * self.shares[j - 1] for j in self.owned[party]]

    def verify(self, party, message, tag, partial):
        if len(partial) != len(self.owned[party]) or not partial:
            raise Refused("share count")
        point = self.variant.hash(message, tag)
        for j, sigma in zip(self.owned[party], partial):
            if not self.variant.holds([(point, self.public[j - 1])], sigma):
                raise Refused("mismatch")

    def combine(self, partials):
        """{party: partial}; the first t shares there are. Any t give the same signature."""
        shares = [pair for party in sorted(partials) for pair in zip(self.owned[party], partials[party])]
        if len(shares) < self.t:
            raise Refused("below threshold")
        chosen = shares[: self.t]
        coefficients = lagrange([self.points[j - 1] for j, _ in chosen])
        return self.variant.signatures.sum(s * c for (_, s), c in zip(chosen, coefficients))
