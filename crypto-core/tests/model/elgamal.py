"""Labelled threshold ElGamal, TDH2 (Shoup and Gennaro, "Securing threshold cryptosystems against
chosen ciphertext attack"), shares checked by pairing.

    keys      Y = g1^f(0); Y_hat_j = g2^f(x_j), Y_hat = g2^f(0)
    draw      r, s = the first two blocks of ChaCha20 under SHA-256 of Y, label, plaintext, 32 fresh bytes
    encrypt   U = g1^r, U_bar = g_bar^r, A = g1^s, B = g_bar^s
              K = SHA-256("PREFINAL-V1-ELGAMAL-KEY" || U || Y^r); body = seal(K, label, plaintext)
              c = challenge(Y, label, U, U_bar, body, A, B), z = s + c r
    validate  c = challenge(..., g1^z U^-c, g_bar^z U_bar^-c); U, U_bar not the identity
    share     D_j = U^f(x_j), checked by e(D_j, g2) = e(U, Y_hat_j)
    combine   D = prod D_j^lambda_j = Y^r; K from it opens the body
"""

from hashlib import sha256

from . import chacha
from .curve import G1, G2, Refused
from .draws import draw_scalar
from .field import R
from .hash_to_curve import hash_to_curve, tag_of
from .pairing import pairs_to_one
from .sharing import POINTS, indices, lagrange
from .transcript import Transcript

G_BAR = hash_to_curve(G1, b"elgamal second generator", tag_of("ELGAMAL-GENERATOR", G1))
NONCE = bytes(12)


def derive(u, shared):
    return sha256(b"PREFINAL-V1-ELGAMAL-KEY" + u.to_bytes() + shared.to_bytes()).digest()


def challenge(key, label, u, u_bar, body, a, b):
    transcript = Transcript(b"PREFINAL-V1-ELGAMAL-PROOF")
    transcript.append_points(b"key", [key])
    transcript.append(b"label", label)
    transcript.append_points(b"u", [u])
    transcript.append_points(b"u-bar", [u_bar])
    transcript.append(b"body", body)
    transcript.append_points(b"a", [a])
    transcript.append_points(b"b", [b])
    return transcript.scalar(b"challenge")


def draw(key, label, plaintext, draws):
    """(r, s)"""
    hedge = Transcript(b"PREFINAL-V1-HEDGE")
    hedge.append(b"domain", b"PREFINAL-V1-ELGAMAL-DRAWS")
    hedge.append_points(b"key", [key])
    hedge.append(b"label", label)
    hedge.append(b"plaintext", plaintext)
    hedge.append(b"fresh", draws.bytes(32))
    seed = hedge.bytes(b"seed")
    return [draw_scalar(chacha.block(seed, counter, bytes(12))) for counter in range(2)]


def encrypt(key, label, plaintext, draws):
    """(U, U_bar, c, z, body)"""
    r, s = draw(key, label, plaintext, draws)
    u, u_bar = G1.generator * r, G_BAR * r
    body = chacha.seal(derive(u, key * r), NONCE, label, plaintext)
    c = challenge(key, label, u, u_bar, body, G1.generator * s, G_BAR * s)
    return u, u_bar, c, (s + c * r) % R, body


def validate(key, label, ciphertext):
    u, u_bar, c, z, body = ciphertext
    if u.is_identity() or u_bar.is_identity():
        raise Refused("identity")
    a, b = G1.generator * z - u * c, G_BAR * z - u_bar * c
    if c != challenge(key, label, u, u_bar, body, a, b):
        raise Refused("mismatch")


class Committee:
    def __init__(self, weights, points, t, polynomial):
        self.t, self.owned = t, indices(weights)
        self.points = POINTS[points](sum(weights))
        self.shares = [polynomial(x) for x in self.points]
        self.public = [G2.generator * share for share in self.shares]
        self.key, self.key_hat = (g.generator * polynomial(0) for g in (G1, G2))

    def decryption_share(self, party, ciphertext):
        return [ciphertext[0] * self.shares[j - 1] for j in self.owned[party]]

    def verify(self, party, ciphertext, share):
        if len(share) != len(self.owned[party]) or not share:
            raise Refused("share count")
        for j, d in zip(self.owned[party], share):
            if not pairs_to_one([(d, G2.generator), (-ciphertext[0], self.public[j - 1])]):
                raise Refused("mismatch")

    def combine(self, label, ciphertext, shares):
        """{party: share}; the first t there are."""
        held = [pair for party in sorted(shares) for pair in zip(self.owned[party], shares[party])]
        if len(held) < self.t:
            raise Refused("below threshold")
        chosen = held[: self.t]
        coefficients = lagrange([self.points[j - 1] for j, _ in chosen])
        shared = G1.sum(d * c for (_, d), c in zip(chosen, coefficients))
        plaintext = chacha.open_sealed(derive(ciphertext[0], shared), NONCE, label, ciphertext[4])
        if plaintext is None:
            raise Refused("mismatch")
        return plaintext
