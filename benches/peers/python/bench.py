"""The Python package beside others: `sh benches/peers/python/run.sh [--quick] [--csv FILE]`.

Everybody gets bytes and gives bytes, as a caller has them: decoding and the subgroup checks are part
of a verification, but for drand's key, which is read once. Signatures have to be the same bytes, and
each package has to refuse a signature on another message, or the program ends without a figure.

| package              | what it is                    | what it lacks                               |
|----------------------|-------------------------------|---------------------------------------------|
| py_ecc               | Python alone                  | signatures in G1, made here of its parts    |
| blspy                | C++ upon blst                 | signatures in G1                            |
| py_arkworks_bls12381 | Rust: points and pairings     | signatures, made here of its parts          |

The figure is the processor time of the whole process in the fastest run.
"""

import argparse
import csv
import json
import pathlib
import time
from hashlib import sha256
from importlib.metadata import version

import blspy
import prefinal
from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar
from py_ecc.bls import G2Basic
from py_ecc.bls.hash_to_curve import hash_to_G1
from py_ecc.bls.point_compression import decompress_G1, decompress_G2
from py_ecc.optimized_bls12_381 import FQ12, G2, final_exponentiate, neg, pairing

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADER = "suite,operation,case,implementation,version,threads,quantity,value,unit,command"
COMMAND = "sh benches/peers/python/run.sh"
IN_G1 = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
IN_G2 = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_"
BASIC = prefinal.Domain.BASIC

SECRET = sha256(b"peers").digest()
SECRET = (int.from_bytes(SECRET, "big") >> 2).to_bytes(32, "big")
MESSAGE, OTHER = b"message", b"other"


class Ours:
    key = prefinal.SecretKey(SECRET)

    def sign(self, message):
        return bytes(self.key.sign(message, domain=BASIC, variant="min-pk"))

    def verify(self, key, message, signature):
        key, signature = prefinal.PublicKey(key), prefinal.Signature(signature)
        try:
            key.verify(signature, message, domain=BASIC)
        except prefinal.PrefinalError:
            return False
        return True

    def chain(self, _key):
        def verify(number, signature):
            try:
                prefinal.drand.QUICKNET.verify(number, signature)
            except prefinal.PrefinalError:
                return False
            return True

        return verify


class PyEcc:
    def sign(self, message):
        return G2Basic.Sign(int.from_bytes(SECRET, "big"), message)

    def verify(self, key, message, signature):
        return G2Basic.Verify(key, message, signature)

    def chain(self, key):
        halves = int.from_bytes(key[:48], "big"), int.from_bytes(key[48:], "big")
        key = decompress_G2(halves)

        def verify(number, signature):
            point = decompress_G1(int.from_bytes(signature, "big"))
            hashed = hash_to_G1(of_round(number), IN_G1, sha256)
            product = pairing(neg(G2), point, False) * pairing(key, hashed, False)
            return final_exponentiate(product) == FQ12.one()

        return verify


class Blspy:
    key = blspy.PrivateKey.from_bytes(SECRET)

    def sign(self, message):
        return bytes(blspy.BasicSchemeMPL.sign(self.key, message))

    def verify(self, key, message, signature):
        key, signature = blspy.G1Element.from_bytes(key), blspy.G2Element.from_bytes(signature)
        return blspy.BasicSchemeMPL.verify(key, message, signature)


class Arkworks:
    key = Scalar.from_be_bytes(SECRET)

    def sign(self, message):
        return bytes((G2Point.hash_to_curve(message, IN_G2) * self.key).to_compressed_bytes())

    def verify(self, key, message, signature):
        key, signature = G1Point.from_compressed_bytes(key), G2Point.from_compressed_bytes(signature)
        hashed = G2Point.hash_to_curve(message, IN_G2)
        return GT.pairing_check([key, -G1Point()], [hashed, signature])

    def chain(self, key):
        key = G2Point.from_compressed_bytes(key)

        def verify(number, signature):
            point = G1Point.from_compressed_bytes(signature)
            hashed = G1Point.hash_to_curve(of_round(number), IN_G1)
            return GT.pairing_check([hashed, -point], [key, G2Point()])

        return verify


PEERS = {
    "prefinal": Ours(),
    "py_ecc": PyEcc(),
    "blspy": Blspy(),
    "py_arkworks_bls12381": Arkworks(),
}


def of_round(number):
    return sha256(number.to_bytes(8, "big")).digest()


def least(work, seconds):
    """Milliseconds of the fastest run; as many runs as these seconds allow, at least two."""
    times = []
    while len(times) < 2 or sum(times) < seconds * 1e9:
        start = time.process_time_ns()
        work()
        times.append(max(time.process_time_ns() - start, 1))
    return min(times) / 1e6


def operations():
    """Operation, case, and what each package does for it; equality is checked on the way."""
    key = bytes(prefinal.SecretKey(SECRET).public_key(variant="min-pk"))
    signatures = {name: peer.sign(MESSAGE) for name, peer in PEERS.items()}
    signature = signatures["prefinal"]
    assert set(signatures.values()) == {signature}, f"signatures differ: {signatures}"
    for name, peer in PEERS.items():
        assert peer.verify(key, MESSAGE, signature) is True, f"{name} refuses what is valid"
        assert peer.verify(key, OTHER, signature) is False, f"{name} takes what is not valid"
    yield "bls::sign", {name: lambda p=peer: p.sign(MESSAGE) for name, peer in PEERS.items()}
    yield "bls::verify", {
        name: lambda p=peer: p.verify(key, MESSAGE, signature) for name, peer in PEERS.items()
    }


def rounds():
    file = ROOT / "crypto-core/tests/vectors/drand.json"
    chains = json.loads(file.read_text())["chains"]
    chain = next(one for one in chains if one["name"] == "quicknet")
    number, signature = chain["rounds"][0]["number"], bytes.fromhex(chain["rounds"][0]["signature"])
    able = {name: peer for name, peer in PEERS.items() if hasattr(peer, "chain")}
    verify = {name: peer.chain(bytes.fromhex(chain["key"])) for name, peer in able.items()}
    for name, check in verify.items():
        assert check(number, signature) is True, f"{name} refuses a round"
        assert check(number + 1, signature) is False, f"{name} takes another round's"
    return {name: lambda c=check: c(number, signature) for name, check in verify.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    seconds = 0.2 if arguments.quick else 2
    rows = []
    cases = [(name, "min-pk", work) for name, work in operations()]
    cases.append(("drand::verify", "quicknet", rounds()))
    for operation, case, work in cases:
        for name, run in work.items():
            figure = f"{least(run, seconds):.5g}"
            print(f"{operation:14} {case:9} {name:21} {figure} ms")
            columns = ["bindings", operation, f"Python, {case}", name, version(name)]
            rows.append([*columns, 1, "time", figure, "ms", COMMAND])
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER.split(","))
            writer.writerows(rows)


main()
