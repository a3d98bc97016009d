"""The weighted verifiable unpredictable function (Das, Pinkas, Tomescu, Xiang, eprint 2024/198).

    shares     A_j = g_hat^f(x_j) public, a_j = h^f(x_j) secret, x_j roots of unity
    blind      pi = h^r, rho_j = a_j^r
    prove      T = h^k, z = k + c r with c of committee, party, pi, rho, T; k of r, 32 fresh bytes and these
    admit      h^z = T pi^c, e(pi, A_j) = e(rho_j, g_hat), neither pi nor A_j the identity
    evaluate   sigma = H(m)^(1/r)
    verify     e(pi, sigma) = e(h, H(m))
    combine    prod_i e(prod_j rho_j^lambda_j, sigma_i) = e(h^f(0), H(m))
    message    chain (32) || epoch (u64 big-endian) || slot (u64 big-endian) || 0, or 1 || value (32)
"""

from hashlib import sha256

from . import chacha
from .curve import G2, Refused, scalar_to_bytes
from .draws import draw_scalar
from .field import R
from .hash_to_curve import G_HAT, H, hash_to_curve, tag_of
from .pairing import pairing, pairing_product, pairs_to_one
from .sharing import indices, lagrange, roots_of_unity
from .transcript import Transcript


def message(chain, epoch, slot, value=None):
    data = chain + epoch.to_bytes(8, "big") + slot.to_bytes(8, "big")
    return data + (b"\0" if value is None else b"\1" + value)


def input_point(*fields):
    return hash_to_curve(G2, message(*fields), tag_of("WVUF-INPUT", G2))


def blind(committee, party, shares, draws):
    """(1/r, (pi, T, z, [rho_j]))"""
    r = draws.nonzero_scalar()
    pi, rho = H * r, [share * r for share in shares]
    hedge = Transcript(b"PREFINAL-V1-HEDGE")
    hedge.append(b"domain", b"PREFINAL-V1-WVUF-NONCE")
    hedge.append(b"statement", possession(committee, party, pi, rho).bytes(b"statement"))
    hedge.append(b"factor", scalar_to_bytes(r))
    hedge.append(b"fresh", draws.bytes(32))
    k = draw_scalar(chacha.block(hedge.bytes(b"seed"), 0, bytes(12)))
    nonce = H * k
    c = challenge(possession(committee, party, pi, rho), nonce)
    return pow(r, -1, R), (pi, nonce, (k + c * r) % R, rho)


def possession(committee, party, pi, rho):
    """What is proved about a key."""
    transcript = Transcript(b"PREFINAL-V1-WVUF-POSSESSION")
    transcript.append(b"committee", committee)
    transcript.append_u64(b"party", party)
    transcript.append_points(b"pi", [pi])
    transcript.append_points(b"rho", rho)
    return transcript


def challenge(statement, nonce):
    statement.append_points(b"nonce", [nonce])
    return statement.scalar(b"challenge")


def evaluate(key, point):
    return point * key


def verify(pi, point, sigma):
    if not pairs_to_one([(pi, sigma), (-H, point)]):
        raise Refused("mismatch")


def randomness(output):
    return sha256(b"PREFINAL-V1-WVUF-RANDOMNESS" + output.to_bytes()).digest()


class Committee:
    def __init__(self, weights, t, polynomial):
        self.weights, self.t, self.owned = weights, t, indices(weights)
        self.points = roots_of_unity(sum(weights))
        values = [polynomial(x) for x in self.points]
        self.public = [G_HAT * value for value in values]
        self.shares = [[H * values[j - 1] for j in owned] for owned in self.owned]

    def id(self):
        """Binds keys to a committee: threshold, weights, public shares."""
        transcript = Transcript(b"PREFINAL-V1-WVUF-COMMITTEE")
        transcript.append_u64(b"threshold", self.t)
        for weight in self.weights:
            transcript.append_u64(b"weight", weight)
        transcript.append_points(b"public", self.public)
        return transcript.bytes(b"id")

    def admit(self, party, key):
        pi, nonce, response, rho = key
        if pi.is_identity() or nonce.is_identity():
            raise Refused("identity")
        if len(rho) != len(self.owned[party]) or not rho:
            raise Refused("share count")
        c = challenge(possession(self.id(), party, pi, rho), nonce)
        if H * response != nonce + pi * c:
            raise Refused("possession")
        for j, share in zip(self.owned[party], rho):
            if not pairs_to_one([(pi, self.public[j - 1]), (-share, G_HAT)]):
                raise Refused("mismatch")

    def combine(self, rhos, sigmas):
        """{party: [rho_j]} and {party: sigma}; over all shares there are, for any t of them agree."""
        held = [(party, j) for party in sorted(sigmas) for j in self.owned[party]]
        if len(held) < self.t:
            raise Refused("below threshold")
        coefficients = dict(zip(held, lagrange([self.points[j - 1] for _, j in held])))
        terms = []
        for party, sigma in sorted(sigmas.items()):
            base = rhos[party][0].group.identity()
            for j, rho in zip(self.owned[party], rhos[party]):
                base = base + rho * coefficients[party, j]
            terms.append((base, sigma))
        return pairing_product(terms)


def in_the_clear(secret, point):
    """e(h^f(0), H(m))"""
    return pairing(H * secret, point)
