"""BLS by py_ecc, a library that shares nothing with this crate or its backends.

From a seed this draws keys and messages, lets py_ecc sign, verify and aggregate, in both variants and
with true and false statements, and writes keys, bytes and verdicts to a file. `tests/suite/external_bls.rs`
must come to the same. Signatures are deterministic, so equal bytes mean that each side accepts what
the other signs.

    pip install -r requirements.txt
    python3 bls.py [--seed TEXT] [--cases N] /tmp/cases.json
    PREFINAL_EXTERNAL_BLS=/tmp/cases.json cargo test --test schemes external_bls -- --ignored

Each case takes about five seconds, all of it py_ecc's.
"""

import argparse
import json
import pathlib
from hashlib import sha256

from py_ecc.bls import G2Basic, G2ProofOfPossession
from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.bls.point_compression import compress_G1, compress_G2
from py_ecc.optimized_bls12_381 import G2, add, multiply, neg, pairing

DOMAIN = "external test"


class Own(G2Basic):
    """The suite of a domain of this crate."""

    DST = b"PREFINAL-V1-BLS-SIGNATURE_BLS12381G2_XMD:SHA-256_SSWU_RO_" + DOMAIN.encode()


MIN_PK = {"basic": G2Basic, "pop": G2ProofOfPossession, "own": Own}
MIN_SIG = {name: suite.DST.replace(b"G2", b"G1") for name, suite in MIN_PK.items()}


def g1(point):
    return compress_G1(point).to_bytes(48, "big")


def g2(point):
    return b"".join(half.to_bytes(48, "big") for half in compress_G2(point))


class Draw:
    """Bytes from a seed, the same everywhere."""

    def __init__(self, seed):
        self.seed, self.count = seed.encode(), 0

    def bytes(self, size):
        out = b""
        while len(out) < size:
            out += sha256(self.seed + self.count.to_bytes(8, "big")).digest()
            self.count += 1
        return out[:size]

    def below(self, bound):
        return int.from_bytes(self.bytes(16), "big") % bound


def verifies_min_sig(key, point, signature):
    """`e(H(m), pk) = e(σ, g)`; py_ecc takes the point of 𝔾₂ first."""
    return pairing(key, point) == pairing(G2, signature)


def single(draw, index):
    seed, message = draw.bytes(32), draw.bytes(draw.below(100))
    secret = G2Basic.KeyGen(seed)
    names = sorted(MIN_PK)
    suite = names[index % len(names)]
    large = MIN_PK[suite]
    key, signature = large.SkToPk(secret), large.Sign(secret, message)
    hashed = hash_to_G1(message, MIN_SIG[suite], sha256)
    other = hash_to_G1(message + b"!", MIN_SIG[suite], sha256)
    small, small_key = multiply(hashed, secret), multiply(G2, secret)
    return {
        "seed": seed.hex(),
        "secret": secret.to_bytes(32, "big").hex(),
        "suite": suite,
        "message": message.hex(),
        "min_pk": {
            "key": key.hex(),
            "signature": signature.hex(),
            "valid": large.Verify(key, message, signature),
            "on_another": large.Verify(key, message + b"!", signature),
        },
        "min_sig": {
            "key": g2(small_key).hex(),
            "signature": g1(small).hex(),
            "valid": verifies_min_sig(small_key, hashed, small),
            "on_another": verifies_min_sig(small_key, other, small),
        },
        "possession": G2ProofOfPossession.PopProve(secret).hex(),
    }


def sums(singles):
    """One message for all, and a message for each, under the suite with proofs of possession."""
    suite, common = G2ProofOfPossession, b"common"
    secrets = [int(case["secret"], 16) for case in singles]
    keys = [suite.SkToPk(secret) for secret in secrets]
    messages = [bytes.fromhex(case["message"]) for case in singles]
    on_common = suite.Aggregate([suite.Sign(secret, common) for secret in secrets])
    on_own = suite.Aggregate([suite.Sign(*pair) for pair in zip(secrets, messages)])
    hashed = hash_to_G1(common, MIN_SIG["pop"], sha256)
    small = [multiply(hashed, secret) for secret in secrets]
    total = small[0]
    for one in small[1:]:
        total = add(total, one)
    return {
        "common": common.hex(),
        "on_common": on_common.hex(),
        "valid": suite.FastAggregateVerify(keys, common, on_common),
        "without_the_last": suite.FastAggregateVerify(keys[:-1], common, on_common),
        "on_own": on_own.hex(),
        "each_valid": suite.AggregateVerify(keys, messages, on_own),
        "rotated": suite.AggregateVerify(keys, messages[1:] + messages[:1], on_own),
        "min_sig_on_common": g1(total).hex(),
        "min_sig_negated": g1(neg(total)).hex(),
    }


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seed", default="prefinal external bls")
    arguments.add_argument("--cases", type=int, default=6)
    arguments.add_argument("file", type=pathlib.Path)
    options = arguments.parse_args()
    print(f"seed {options.seed!r}, {options.cases} cases")
    draw = Draw(options.seed)
    singles = [single(draw, index) for index in range(options.cases)]
    cases = {"domain": DOMAIN, "single": singles, "sums": sums(singles)}
    options.file.write_text(json.dumps(cases, indent=1))


if __name__ == "__main__":
    main()
