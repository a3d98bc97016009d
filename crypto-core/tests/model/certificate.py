"""Certificates: a quorum of stake in one signature.

    bitmap    party i at bit i mod 8, from the lowest, of byte i div 8; ceil(n / 8) bytes
    quorum    more than two thirds of all stake: the least integer above 2/3 of it
    assemble  sigma = prod sigma_i over the signers, all on one message
    verify    e(sigma, g) = e(H(m), prod pk_i), and the signers' stake is a quorum
"""

from .curve import Refused


def bitmap(parties, signers):
    data = bytearray(-(-parties // 8))
    for party in signers:
        data[party // 8] |= 1 << party % 8
    return bytes(data)


def signers_of(data, parties):
    """The parties; the length must be right and no bit beyond the last party may be set."""
    if len(data) != -(-parties // 8) or int.from_bytes(data, "little") >> parties:
        raise Refused("bitmap")
    return [i for i in range(8 * len(data)) if data[i // 8] >> i % 8 & 1]


class Electorate:
    def __init__(self, variant, keys, stakes):
        self.variant, self.keys, self.stakes = variant, keys, stakes
        self.quorum = 2 * sum(stakes) // 3 + 1

    def assemble(self, signatures):
        """{party: signature} to (bitmap, sum)"""
        return bitmap(len(self.keys), signatures), self.variant.aggregate(signatures.values())

    def verify(self, certificate, message, tag):
        data, signature = certificate
        signers = signers_of(data, len(self.keys))
        if not signers:
            raise Refused("no signers")
        if sum(self.stakes[i] for i in signers) < self.quorum:
            raise Refused("below quorum")
        self.variant.verify_multi([self.keys[i] for i in signers], message, tag, signature)
