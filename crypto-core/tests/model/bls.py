"""BLS signatures, in both variants, and keys from seeds.

    variant   signature, H    key         g
    min-sig   G1, 48 bytes    G2, 96      generator of G2
    min-pk    G2, 96 bytes    G1, 48      generator of G1

    sign      sigma = H(m)^sk, pk = g^sk
    verify    e(sigma, g) = e(H(m), pk)
    possess   phi = H'(pk)^sk, the same with another tag

After the BLS draft (draft-irtf-cfrg-bls-signature) and EIP-2333, EIP-2334.
"""

import hmac
from hashlib import sha256

from .curve import G1, G2, Refused
from .field import R
from .hash_to_curve import hash_to_curve, tag_of
from .pairing import pairs_to_one


class Variant:
    def __init__(self, name, signatures, keys):
        self.name, self.signatures, self.keys = name, signatures, keys
        suite = f"BLS12381{signatures.name}_XMD:SHA-256_SSWU_RO_"
        self.basic_tag = f"BLS_SIG_{suite}NUL_".encode()
        self.pop_tag = f"BLS_SIG_{suite}POP_".encode()
        self.pop_possession_tag = f"BLS_POP_{suite}POP_".encode()
        self.possession_tag = tag_of("BLS-POSSESSION", signatures)

    def domain_tag(self, name):
        """The tag of our domain with this name."""
        return tag_of("BLS-SIGNATURE", self.signatures) + name.encode()

    def hash(self, message, tag):
        return hash_to_curve(self.signatures, message, tag)

    def public_key(self, secret):
        return self.keys.generator * secret

    def sign(self, secret, message, tag):
        return self.hash(message, tag) * secret

    def prove_possession(self, secret, tag=None):
        return self.sign(secret, self.public_key(secret).to_bytes(), tag or self.possession_tag)

    def holds(self, terms, signature):
        """e(sigma, g) = product of e(H, pk)."""
        own = (signature, -self.keys.generator)
        return pairs_to_one([own] + terms)

    def verify(self, key, message, tag, signature):
        """Refuses the identity as key and as signature, as the draft's KeyValidate does for keys."""
        if key.is_identity() or signature.is_identity():
            raise Refused("identity")
        if not self.holds([(self.hash(message, tag), key)], signature):
            raise Refused("mismatch")

    def verify_possession(self, key, proof, tag=None):
        self.verify(key, key.to_bytes(), tag or self.possession_tag, proof)

    def aggregate(self, signatures):
        return self.signatures.sum(signatures)

    def verify_multi(self, keys, message, tag, signature):
        """All keys on one message; every key must have proved possession."""
        if not keys:
            raise Refused("no signers")
        self.verify(self.keys.sum(keys), message, tag, signature)

    def verify_aggregate(self, claims, tag, signature):
        """Pairs (key, message)."""
        if not claims:
            raise Refused("no signers")
        if not self.holds([(self.hash(m, tag), key) for key, m in claims], signature):
            raise Refused("mismatch")


MIN_SIG = Variant("min-sig", G1, G2)
MIN_PK = Variant("min-pk", G2, G1)
VARIANTS = (MIN_SIG, MIN_PK)


def hkdf_extract(salt, key):
    return hmac.new(salt, key, sha256).digest()


def hkdf_expand(key, info, length):
    output, block, i = b"", b"", 1
    while len(output) < length:
        block = hmac.new(key, block + info + bytes([i]), sha256).digest()
        output, i = output + block, i + 1
    return output[:length]


def hkdf_mod_r(key_material, info=b""):
    """EIP-2333: hashes the salt before every try, until the scalar is not zero."""
    salt, scalar = b"BLS-SIG-KEYGEN-SALT-", 0
    while scalar == 0:
        salt = sha256(salt).digest()
        prk = hkdf_extract(salt, key_material + b"\0")
        scalar = int.from_bytes(hkdf_expand(prk, info + (48).to_bytes(2, "big"), 48), "big") % R
    return scalar


def _lamport(key_material, salt):
    okm = hkdf_expand(hkdf_extract(salt, key_material), b"", 255 * 32)
    return [okm[i : i + 32] for i in range(0, len(okm), 32)]


def derive_master(seed):
    if len(seed) < 32:
        raise Refused("length")
    return hkdf_mod_r(seed)


def derive_child(parent, index):
    """EIP-2333: the hash of two Lamport keys, of the parent and of its complement."""
    salt, key_material = index.to_bytes(4, "big"), parent.to_bytes(32, "big")
    complement = bytes(byte ^ 0xFF for byte in key_material)
    chunks = _lamport(key_material, salt) + _lamport(complement, salt)
    compressed = sha256(b"".join(sha256(chunk).digest() for chunk in chunks)).digest()
    return hkdf_mod_r(compressed)


def derive_path(seed, path):
    """EIP-2334, like `m/12381/3600/0/0`."""
    first, *indices = path.split("/")
    assert first == "m"
    key = derive_master(seed)
    for index in indices:
        key = derive_child(key, int(index))
    return key
