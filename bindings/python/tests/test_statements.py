"""What certificates say of a slot, against the model's vectors, and what they must not be taken for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable

import pytest

from prefinal import ArgumentError, Electorate, FaultError, PublicKey, SecretKey, Signature, Statement
from prefinal.errors import PrefinalError

Vectors = Callable[[str], Any]


def statement(case: Any) -> Statement:
    return Statement(
        chain=bytes.fromhex(case["chain"]),
        epoch=int(case["epoch"]),
        slot=int(case["slot"]),
        value=bytes.fromhex(case["value"]),
        root=bytes.fromhex(case["root"]) if case["root"] else None,
    )


def others(one: Statement) -> list[Statement]:
    """Each differs in one thing."""
    flipped = bytes([one.value[0] ^ 1]) + one.value[1:]
    return [
        replace(one, chain=flipped),
        replace(one, epoch=one.epoch + 1),
        replace(one, slot=one.slot + 1),
        replace(one, value=flipped),
        replace(one, root=flipped),
        replace(one, root=None if one.root else bytes(32)),
    ]


def test_statements_are_what_the_model_signs(model: Vectors) -> None:
    vectors = model("statements")
    key, public = SecretKey(bytes.fromhex(vectors["secret"])), PublicKey(bytes.fromhex(vectors["key"]))
    assert len(vectors["cases"]) == 2
    for case in vectors["cases"]:
        one = statement(case)
        assert bytes(one).hex() == case["message"]
        assert (one.domain, one.threshold_domain) == (case["domain"], case["threshold domain"])
        assert one.sign(key).hex() == case["signature"]
        together = Signature(bytes.fromhex(case["threshold signature"]))
        one.verify_threshold(public, together)
        # A vote of a member is no signature of a group, though the key is the same here.
        for other, signature in [(one, one.sign(key))] + [(other, together) for other in others(one)]:
            with pytest.raises(FaultError):
                other.verify_threshold(public, signature)


@pytest.mark.parametrize("root", [None, b"r" * 32])
def test_a_quorum_certifies_a_statement_and_no_other(root: bytes | None) -> None:
    keys = [SecretKey(bytes(31) + bytes([n])) for n in (1, 2, 3, 4)]
    members = [key.public_key().prove(key.prove_possession()) for key in keys]
    electorate = Electorate(members, [40, 30, 20, 10])
    one = Statement(chain=b"c" * 32, epoch=1, slot=7, value=b"v" * 32, root=root)
    certificate = one.assemble(electorate, {n: one.sign(keys[n]) for n in (0, 1)})
    one.verify(electorate, certificate)
    for other in others(one):
        with pytest.raises(PrefinalError):
            other.verify(electorate, certificate)
        with pytest.raises(FaultError) as error:
            one.assemble(electorate, {0: one.sign(keys[0]), 1: other.sign(keys[1])})
        assert list(error.value.culprits or []) == [1]


def test_fields_are_checked() -> None:
    right: dict[str, Any] = {"chain": bytes(32), "epoch": 0, "slot": 2**64 - 1, "value": bytes(32)}
    assert bytes(Statement(**right)) == bytes(40) + b"\xff" * 8 + bytes(32)
    assert Statement(**{**right, "value": bytearray(32)}) == Statement(**right)
    wrong: list[dict[str, Any]] = [{"chain": b""}, {"value": bytes(33)}, {"root": b""}, {"slot": 2**64}, {"epoch": -1}]
    for change in wrong:
        with pytest.raises(ArgumentError) as error:
            Statement(**{**right, **change})
        assert error.value.code == "invalid-argument"
    mistyped: list[dict[str, Any]] = [{"chain": "00" * 32}, {"slot": 1.0}, {"slot": True}, {"root": 7}]
    for change in mistyped:
        with pytest.raises(TypeError):
            Statement(**{**right, **change})
