"""Keys, signatures and certificates against the vectors of the model and of Ethereum."""

from __future__ import annotations

import pickle
from typing import Any, Callable

import pytest

import prefinal
from prefinal import (
    ArgumentError,
    Certificate,
    Domain,
    Electorate,
    EncodingError,
    FaultError,
    NotEnoughError,
    Possession,
    PublicKey,
    SecretKey,
    Signature,
)

Vectors = Callable[[str], Any]
REASONS = {
    "mismatch": "signature-mismatch",
    "identity": "identity",
    "below quorum": "below-quorum",
    "no signers": "no-signers",
    "bitmap": "signers-bitmap",
}


STANDARD = {"standard basic": Domain.BASIC, "standard pop": Domain.POP}


def domain(name: str) -> Domain:
    return STANDARD.get(name) or Domain(name)


@pytest.mark.parametrize("variant", ["min-sig", "min-pk"])
def test_keys_and_signatures_are_the_models(model: Vectors, variant: Any) -> None:
    vectors = model("bls")[variant]
    for case in vectors["keys"]:
        secret = SecretKey(bytes.fromhex(case["secret"]))
        key = secret.public_key(variant=variant)
        assert key.hex() == case["key"] and key.variant == variant
        assert secret.prove_possession(variant=variant).hex() == case["possession"]
        standard = secret.prove_possession(variant=variant, standard=True)
        assert standard.hex() == case["standard possession"]
        assert key.prove(standard, standard=True).key == key
        with pytest.raises(FaultError):
            key.prove(standard)
        for one in case["signatures"]:
            where = one["domain"]
            message = bytes.fromhex(one["message"])
            signature = secret.sign(message, domain=domain(where), variant=variant)
            assert signature.hex() == one["signature"], one
            key.verify(signature, message, domain=domain(where))
        for one in case["refused"]:
            message = bytes.fromhex(one["message"])
            with pytest.raises((FaultError, EncodingError)) as error:
                signature = Signature(bytes.fromhex(one["signature"]))
                key.verify(signature, message, domain=domain(one["domain"]))
            assert error.value.code == REASONS.get(one["reason"], one["reason"]), one


@pytest.mark.parametrize("variant", ["min-sig", "min-pk"])
def test_sums_are_the_models(model: Vectors, variant: Any) -> None:
    sums = model("bls")[variant]["sums"]
    secrets = [SecretKey(bytes.fromhex(one)) for one in sums["secrets"]]
    where, message = domain(sums["domain"]), bytes.fromhex(sums["message"])
    keys = [one.public_key(variant=variant) for one in secrets]
    proven = [
        key.prove(one.prove_possession(variant=variant)) for key, one in zip(keys, secrets)
    ]
    multi = prefinal.aggregate(
        one.sign(message, domain=where, variant=variant) for one in secrets
    )
    assert multi.hex() == sums["multi"]
    prefinal.verify_multi(proven, message, multi, domain=where)
    with pytest.raises(FaultError):
        prefinal.verify_multi(proven[1:], message, multi, domain=where)
    messages = [bytes.fromhex(one) for one in sums["messages"]]
    signatures = [
        one.sign(each, domain=where, variant=variant) for one, each in zip(secrets, messages)
    ]
    aggregate = prefinal.aggregate(signatures)
    assert aggregate.hex() == sums["aggregate"]
    prefinal.verify_aggregate(proven, messages, aggregate, domain=where)
    with pytest.raises(FaultError):
        prefinal.verify_aggregate(proven, messages[::-1], aggregate, domain=where)
    prefinal.verify_batch(keys, messages, signatures, domain=where)
    signatures[0], signatures[2] = signatures[2], signatures[0]
    with pytest.raises(FaultError) as error:
        prefinal.verify_batch(keys, messages, signatures, domain=where)
    assert error.value.code == "faulty" and error.value.culprits == (0, 2)


def test_ethereum_signs_the_same(published: Vectors) -> None:
    vectors = published("ethereum-bls")
    assert len(vectors["sign"]) > 5 and len(vectors["verify"]) > 20
    for case in vectors["sign"]:
        if case["signature"]:
            secret = SecretKey(bytes.fromhex(case["secret"]))
            message = bytes.fromhex(case["message"])
            assert secret.sign(message, variant="min-pk").hex() == case["signature"]
        else:
            with pytest.raises(EncodingError):
                SecretKey(bytes.fromhex(case["secret"]))
    for case in vectors["verify"]:
        try:
            key = PublicKey(bytes.fromhex(case["key"]))
            signature = Signature(bytes.fromhex(case["signature"]))
            key.verify(signature, bytes.fromhex(case["message"]))
            valid = True
        except prefinal.PrefinalError:
            valid = False
        assert valid == case["valid"], case["name"]


def test_derived_keys_are_the_standards(model: Vectors, published: Vectors) -> None:
    for case in published("eip2333")["cases"]:
        master = SecretKey.from_seed(bytes.fromhex(case["seed"]))
        assert master.secret_bytes().hex() == case["master"]
        assert master.derive(f"m/{case['index']}").secret_bytes().hex() == case["child"]
    for case in model("derivation")["cases"]:
        master = SecretKey.from_seed(bytes.fromhex(case["seed"]))
        for path, secret in case["keys"].items():
            assert master.derive(path).secret_bytes().hex() == secret


@pytest.mark.parametrize("path", ["", "n/1", "m/", "m/-1", "m/+1", "m/01", "m/4294967296"])
def test_bad_paths_are_refused(path: str) -> None:
    with pytest.raises(EncodingError) as error:
        SecretKey.generate().derive(path)
    assert error.value.code == "key-path"


def test_certificates_are_the_models(model: Vectors) -> None:
    vectors = model("certificate")["min-sig"]
    secrets = [SecretKey(bytes.fromhex(one)) for one in vectors["secrets"]]
    keys = [one.public_key().prove(one.prove_possession()) for one in secrets]
    stakes = [int(one) for one in vectors["stakes"]]
    electorate = Electorate(keys, stakes)
    assert electorate.quorum == int(vectors["quorum"]) and electorate.total == sum(stakes)
    where, message = Domain(vectors["domain"]), bytes.fromhex(vectors["message"])
    votes = {party: one.sign(message, domain=where) for party, one in enumerate(secrets)}
    for case in vectors["cases"]:
        some = {party: votes[party] for party in case["signers"]}
        certificate = electorate.assemble(message, some, domain=where)
        assert certificate.signature.hex() == case["signature"]
        assert certificate.signers == case["signers"]
        again = Certificate.from_parts(
            bytes.fromhex(case["bitmap"]), Signature(bytes.fromhex(case["signature"]))
        )
        assert again == certificate == pickle.loads(pickle.dumps(certificate))
        assert Certificate(bytes(certificate)) == certificate
        certificate.verify(electorate, message, domain=where)
        with pytest.raises(FaultError):
            certificate.verify(electorate, message + b"!", domain=where)
    for case in vectors["refused"]:
        with pytest.raises(prefinal.PrefinalError) as error:
            certificate = Certificate.from_parts(
                bytes.fromhex(case["bitmap"]), Signature(bytes.fromhex(case["signature"]))
            )
            certificate.verify(electorate, message, domain=where)
        assert error.value.code == REASONS.get(case["reason"], case["reason"]), case
    few = {party: votes[party] for party in list(votes)[:2]}
    with pytest.raises(NotEnoughError) as missing:
        electorate.assemble(message, few, domain=where)
    assert missing.value.got == sum(stakes[:2]) and missing.value.need == electorate.quorum
    false = {**votes, 1: votes[0], 4: votes[3]}
    with pytest.raises(FaultError) as faulty:
        electorate.assemble(message, false, domain=where)
    assert faulty.value.culprits == (1, 4)


def test_no_secret_is_printed_or_pickled() -> None:
    secret = SecretKey.generate()
    shown = repr(secret) + str(secret) + f"{secret}"
    assert secret.secret_bytes().hex() not in shown and shown == "<SecretKey>" * 3
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert not hasattr(secret, "__dict__")


def test_public_objects_are_values() -> None:
    secret = SecretKey.from_seed(bytes(32))
    key, signature = secret.public_key(), secret.sign(b"m")
    tagged = Domain(tag="BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_AUG_")
    possession = secret.prove_possession()
    for one in (key, signature, possession, Domain.POP, Domain.BASIC, Domain("d"), tagged):
        again = pickle.loads(pickle.dumps(one))
        assert again == one and hash(again) == hash(one) and repr(again) == repr(one)
    assert {key: 1}[PublicKey(bytes(key))] == 1
    assert key.hex()[:16] in repr(key)
    assert Domain("d") != Domain("e") and Domain("pop") != Domain.POP
    assert key != signature


@pytest.mark.parametrize(
    "view",
    [
        bytes,
        bytearray,
        memoryview,
        lambda b: memoryview(b"xx" + b + b"yy")[2:-2],
        lambda b: memoryview(bytes(x for c in b for x in (c, 0)))[::2],
        lambda b: memoryview(b[::-1])[::-1],
    ],
)
def test_whatever_has_a_buffer(view: Any) -> None:
    secret = SecretKey.from_seed(view(bytes(range(32))))
    assert secret.secret_bytes() == SecretKey.from_seed(bytes(range(32))).secret_bytes()
    key = PublicKey(view(bytes(secret.public_key())))
    key.verify(Signature(view(bytes(secret.sign(b"message")))), view(b"message"))


NO_BYTES = [None, 7, "00", [1, 2], 1.5, object(), memoryview(b"12345678").cast("I")]


@pytest.mark.parametrize("data", NO_BYTES)
@pytest.mark.parametrize("kind", [PublicKey, Signature, SecretKey, Possession, Certificate])
def test_what_has_no_bytes_is_a_type_error(kind: Any, data: Any) -> None:
    with pytest.raises(TypeError):
        kind(data)


@pytest.mark.parametrize("size", [0, 1, 32, 47, 48, 49, 95, 96, 97, 1000])
@pytest.mark.parametrize("kind", [PublicKey, Signature, Possession, Certificate])
@pytest.mark.parametrize("fill", [0x00, 0xC0, 0xFF])
def test_bytes_that_are_no_points(kind: Any, size: int, fill: int) -> None:
    with pytest.raises(EncodingError):
        kind(bytes([fill]) + bytes(size - 1) if size else b"")


def test_one_variant_at_a_time() -> None:
    secret = SecretKey.generate()
    short, long = secret.sign(b""), secret.sign(b"", variant="min-pk")
    with pytest.raises(ArgumentError):
        secret.public_key().verify(long, b"")
    with pytest.raises(ArgumentError):
        prefinal.aggregate([short, long])
    with pytest.raises(ArgumentError):
        secret.public_key(variant="both")  # type: ignore[arg-type]
    with pytest.raises(NotEnoughError):
        prefinal.aggregate([])
    with pytest.raises(NotEnoughError):
        prefinal.verify_multi([], b"", long)
    with pytest.raises(ArgumentError):
        prefinal.verify_batch([secret.public_key()], [], [])
    with pytest.raises(TypeError):
        prefinal.aggregate([b"signature"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        prefinal.verify_multi([secret.public_key()], b"", short)  # type: ignore[list-item]
    for name in ("", "x" * 199):
        with pytest.raises(ArgumentError):
            Domain(name)
        with pytest.raises(ArgumentError):
            Domain(tag=name * 2)
    for arguments in ({}, {"name": "a", "tag": "b"}):
        with pytest.raises(ArgumentError):
            Domain(**arguments)
    with pytest.raises(TypeError):
        secret.sign(b"", domain=7)  # type: ignore[arg-type]


def test_a_tag_is_no_name_and_a_name_is_no_tag() -> None:
    """A name would be put behind a tag of the package's, and sign under another than it says."""
    secret = SecretKey.from_seed(bytes(32))
    drand = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
    for name in (drand, drand[:-1], "BLS_SIG_", "BLS_POP_x", "PREFINAL-V1-x", "Q-with-G1_XMD:S_"):
        for refused in (lambda: Domain(name), lambda: secret.sign(b"m", domain=name)):
            with pytest.raises(ArgumentError) as error:
                refused()
            assert error.value.code == "name-is-a-tag"
    signature = secret.sign(b"m", domain=Domain(tag=drand))
    assert signature == secret.sign(b"m", domain=Domain.BASIC)
    secret.public_key().verify(signature, b"m", domain=Domain.BASIC)
    for tag in ("PREFINAL-V1-BLS-POSSESSION_", "BLS_POP_BLS12381G1_XMD:SHA-256_SSWU_RO_POP_"):
        with pytest.raises(ArgumentError) as error:
            Domain(tag=tag)
        assert error.value.code == "reserved-tag"


def test_electorates_that_make_no_sense() -> None:
    secrets = [SecretKey.from_seed(bytes([i] * 32)) for i in range(3)]
    keys = [one.public_key().prove(one.prove_possession()) for one in secrets]
    for stakes, quorum, code in [
        ([1, 2], None, "invalid-argument"),
        ([1, 2, -3], None, "invalid-argument"),
        ([0, 0, 0], None, "no-stake"),
        ([2**127, 2**127, 1], None, "stake-overflow"),
        ([1, 2, 3], 0, "quorum-range"),
        ([1, 2, 3], 7, "quorum-range"),
    ]:
        with pytest.raises(ArgumentError) as error:
            Electorate(keys, stakes, quorum=quorum)
        assert error.value.code == code
    with pytest.raises(ArgumentError) as twice:
        Electorate([keys[0], keys[0]], [1, 1])
    assert twice.value.code == "duplicate-key"
    votes = [(0, secrets[0].sign(b"")), (0, secrets[1].sign(b""))]
    with pytest.raises(ArgumentError, match="twice"):
        Electorate(keys, [1, 1, 1]).assemble(b"", votes)
    with pytest.raises(ArgumentError) as stranger:
        Electorate(keys, [1, 1, 1]).assemble(b"", {9: secrets[0].sign(b"")})
    assert stranger.value.code == "not-a-member" and stranger.value.party == 9
