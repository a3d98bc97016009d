"""What four schemes of drand sign.

    message     SHA-256(round), or SHA-256(previous signature || round) if chained; round u64 big-endian
    randomness  SHA-256(signature)

bls-unchained-on-g1 hashes to G1 under the tag of G2: a slip that its chain has kept.
"""

from hashlib import sha256

from .bls import MIN_PK, MIN_SIG


class Scheme:
    def __init__(self, variant, tag, chained):
        self.variant, self.tag, self.chained = variant, tag, chained

    def message(self, number, previous=None):
        assert (previous is not None) == self.chained
        return sha256((previous or b"") + number.to_bytes(8, "big")).digest()

    def verify(self, key, number, signature, previous=None):
        """Returns the randomness."""
        message = self.message(number, previous)
        self.variant.verify(key, message, self.tag, signature)
        return randomness(signature)


def randomness(signature):
    return sha256(signature.to_bytes()).digest()


SCHEMES = {
    "pedersen-bls-chained": Scheme(MIN_PK, MIN_PK.basic_tag, True),
    "pedersen-bls-unchained": Scheme(MIN_PK, MIN_PK.basic_tag, False),
    "bls-unchained-on-g1": Scheme(MIN_SIG, MIN_PK.basic_tag, False),
    "bls-unchained-g1-rfc9380": Scheme(MIN_SIG, MIN_SIG.basic_tag, False),
}
