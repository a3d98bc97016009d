"""The model against vectors that others published, as far as they lie in the tree.

A model that is wrong in the same way as the crate would be of no use; this is what it answers to.
"""

import json

from . import bls, chacha, timelock
from .curve import G1, G2, Refused
from .drand import SCHEMES
from .hash_to_curve import encode_to_curve, hash_to_curve

GROUPS = {"G1": G1, "G2": G2}


def _coordinates(value):
    parts = (value.a, value.b) if hasattr(value, "a") else (value.n,)
    return [part.to_bytes(48, "big").hex() for part in parts]


def _accepts(call, *arguments):
    try:
        call(*arguments)
        return True
    except Refused:
        return False


def hashes(data):
    """RFC 9380, appendix J."""
    for case in data["cases"]:
        group = GROUPS[case["suite"][8:10]]
        run = hash_to_curve if case["suite"].endswith("RO_") else encode_to_curve
        x, y = run(group, case["message"].encode(), case["tag"].encode()).affine()
        assert (_coordinates(x), _coordinates(y)) == (case["x"], case["y"]), case


def encodings(data):
    for case in data["cases"]:
        accepted = _accepts(GROUPS[case["group"]].decode, bytes.fromhex(case["bytes"]))
        assert accepted == case["valid"], case


def derivations(data):
    """EIP-2333."""
    for case in data["cases"]:
        master = bls.derive_master(bytes.fromhex(case["seed"]))
        child = bls.derive_child(master, case["index"])
        assert (master, child) == (int(case["master"], 16), int(case["child"], 16)), case


def ethereum(data):
    """Signing, and what verifies, of Ethereum's cases; each verification takes two pairings."""
    variant = bls.MIN_PK
    for case in data["sign"]:
        secret, message = int(case["secret"], 16), bytes.fromhex(case["message"])
        if case.get("signature") is None:
            assert secret == 0, case
            continue
        signature = variant.sign(secret, message, variant.pop_tag)
        assert signature.to_bytes().hex() == case["signature"], case

    def verify(keys, message, signature):
        keys = [variant.keys.decode_nonzero(bytes.fromhex(key)) for key in keys]
        signature = variant.signatures.decode_nonzero(bytes.fromhex(signature))
        variant.verify_multi(keys, bytes.fromhex(message), variant.pop_tag, signature)

    for case in data["verify"]:
        accepted = _accepts(verify, [case["key"]], case["message"], case["signature"])
        assert accepted == case["valid"], case
    for case in data["fast_aggregate_verify"]:
        accepted = _accepts(verify, case["keys"], case["message"], case["signature"])
        assert accepted == case["valid"], case


def rounds(data):
    """drand's own."""
    for chain in data["chains"]:
        scheme = SCHEMES[chain["scheme"]]
        key = scheme.variant.keys.decode_nonzero(bytes.fromhex(chain["key"]))
        for case in chain["rounds"]:
            previous = case.get("previous")
            previous = None if previous is None else bytes.fromhex(previous)
            signature = scheme.variant.signatures.decode(bytes.fromhex(case["signature"]))
            randomness = scheme.verify(key, case["number"], signature, previous)
            assert randomness.hex() == case["randomness"], case


def ciphertexts(data):
    """What drand's code encrypted, opened."""
    for case in data:
        scheme = SCHEMES[case["scheme"]]
        signature = scheme.variant.signatures.decode(bytes.fromhex(case["signature"]))
        raw, size = bytes.fromhex(case["ciphertext"]), len(case["message"]) // 2
        u = scheme.variant.keys.decode(raw[: -2 * size])
        message = timelock.decrypt(scheme, signature, (u, raw[-2 * size : -size], raw[-size:]))
        assert message.hex() == case["message"], case


def cipher():
    """RFC 8439, section 2.8.2."""
    key, nonce = bytes(range(0x80, 0xA0)), bytes.fromhex("070000004041424344454647")
    associated = bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
    plaintext = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
        b"future, sunscreen would be it."
    )
    sealed = chacha.seal(key, nonce, associated, plaintext)
    assert sealed[:16].hex() == "d31a8d34648e60db7b86afbc53ef7ec2"
    assert sealed[-16:].hex() == "1ae10b594f09e26a7e902ecbd0600691"
    assert chacha.open_sealed(key, nonce, associated, sealed) == plaintext
    assert chacha.open_sealed(key, nonce, associated + b"!", sealed) is None


CURVE_CHECKS = {
    "hash-to-curve.json": hashes,
    "compressed-points.json": encodings,
}

CHECKS = {
    "eip2333.json": derivations,
    "ethereum-bls.json": ethereum,
    "drand.json": rounds,
    "timelock.json": ciphertexts,
}


def check(curve, schemes):
    cipher()
    for directory, checks in ((curve, CURVE_CHECKS), (schemes, CHECKS)):
        for name, run in checks.items():
            run(json.loads((directory / name).read_text()))
            print(f"agrees with {name}", flush=True)
