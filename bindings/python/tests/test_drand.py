"""Rounds of real chains and of the model, in drand's four schemes."""

from __future__ import annotations

import json
import pickle
from typing import Any, Callable

import pytest

import prefinal
from prefinal import ArgumentError, ChainInfo, EncodingError, FaultError, drand

Vectors = Callable[[str], Any]


def chain_of(case: Any) -> ChainInfo:
    return ChainInfo(
        scheme=case["scheme"],
        public_key=bytes.fromhex(case["key"]),
        period=case["period"],
        genesis_time=case["genesis_time"],
        genesis_seed=bytes.fromhex(case["genesis_seed"]),
        beacon_id=case["beacon_id"],
    )


def raw(one: Any) -> tuple[int, bytes, Any]:
    previous = bytes.fromhex(one["previous"]) if one["previous"] else None
    return int(one.get("number", one.get("round"))), bytes.fromhex(one["signature"]), previous


def test_rounds_of_real_chains(published: Vectors) -> None:
    chains = published("drand")["chains"]
    assert {case["scheme"] for case in chains} == set(drand.SCHEMES)
    for case in chains:
        chain = chain_of(case)
        assert chain.hash.hex() == case["hash"]
        rounds = [raw(one) for one in case["rounds"]]
        values = [bytes.fromhex(one["randomness"]) for one in case["rounds"]]
        assert chain.verify_all(rounds) == values
        for (number, signature, previous), value in zip(rounds, values):
            assert chain.verify(number, signature, previous=previous) == value
            assert drand.Round(number, signature, previous).verify(chain) == value
            with pytest.raises((FaultError, ArgumentError)):
                chain.verify(number + 1, signature, previous=previous)
        again = pickle.loads(pickle.dumps(chain))
        assert again == chain and hash(again) == hash(chain) and repr(again) == repr(chain)
        assert chain.time_of(chain.round_at(chain.genesis_time + 1000) or 0) is not None


def test_quicknet_is_quicknet(published: Vectors) -> None:
    (case,) = [one for one in published("drand")["chains"] if one["name"] == "quicknet"]
    assert drand.QUICKNET == chain_of(case)


def test_rounds_of_the_model(model: Vectors) -> None:
    for scheme, case in model("drand").items():
        first = raw(case["rounds"][0])
        chain = ChainInfo(
            scheme=scheme,
            public_key=bytes.fromhex(case["key"]),
            period=1,
            genesis_time=0,
            genesis_seed=first[2] or bytes(32),
        )
        for one in case["rounds"]:
            number, signature, previous = raw(one)
            value = chain.verify(number, signature, previous=previous)
            assert value.hex() == one["randomness"]


def test_false_rounds_are_named_across_batches() -> None:
    committee, signers = prefinal.Committee.deal([1], 1)
    chain = ChainInfo(
        scheme=drand.SCHEMES[3],
        public_key=bytes(committee.group_key),
        period=1,
        genesis_time=0,
        genesis_seed=bytes(32),
    )
    rounds: list[tuple[int, bytes, Any]] = [
        (number, bytes(committee.combine(number, {0: signers[0].sign(number)})), None)
        for number in range(1, 301)
    ]
    steps: list[int] = []
    values = chain.verify_all(iter(rounds), progress=steps.append)
    assert len(set(values)) == 300 and sum(steps) == 300 and len(steps) > 1
    rounds[5] = (6, rounds[7][1], None)
    rounds[150] = (151, b"short", None)
    rounds[299] = (300, bytes([0xC0]) + bytes(47), None)
    with pytest.raises(FaultError) as error:
        chain.verify_all(rounds)
    assert error.value.culprits == (5, 150, 299)
    assert chain.verify_all([]) == []


def test_infos_as_relays_serve_them() -> None:
    chain = drand.QUICKNET
    first = {
        "public_key": chain.public_key.hex(),
        "period": 3,
        "genesis_time": 1692803367,
        "hash": chain.hash.hex(),
        "groupHash": chain.genesis_seed.hex(),
        "schemeID": chain.scheme,
        "metadata": {"beaconID": "quicknet"},
    }
    second = {
        "public_key": chain.public_key.hex(),
        "period": 3,
        "genesis_time": 1692803367,
        "chain_hash": chain.hash.hex(),
        "genesis_seed": chain.genesis_seed.hex(),
        "scheme": chain.scheme,
        "beacon_id": "quicknet",
    }
    for info in (first, json.dumps(first), json.dumps(second).encode()):
        assert drand.chain_info(info) == chain
        assert drand.chain_info(info, hash=chain.hash) == chain
        with pytest.raises(EncodingError) as error:
            drand.chain_info(info, hash=bytes(32).hex())
        assert error.value.code == "wrong-chain-hash"
    for field, value in [
        ("period", 4),
        ("genesis_time", 0),
        ("hash", "00"),
        ("metadata", None),
        ("public_key", "zz"),
        ("public_key", None),
        ("period", "3"),
        ("period", True),
        ("schemeID", "unknown"),
        ("groupHash", "00"),
    ]:
        with pytest.raises(prefinal.PrefinalError):
            drand.chain_info({**first, field: value})
    for text in ("", "[]", "7", "{", "[" * 100_000, b"\xff"):
        with pytest.raises(EncodingError) as error:
            drand.chain_info(text)
        assert error.value.code == "not-json"


def test_rounds_as_relays_serve_them() -> None:
    served = '{"round":7,"randomness":"00","signature":"aabb","previous_signature":"cc"}'
    assert drand.round_from_json(served) == drand.Round(7, b"\xaa\xbb", b"\xcc", b"\x00")
    for text in ('{"round":"7","signature":"aa"}', '{"round":7}', '{"round":7,"signature":5}'):
        with pytest.raises(EncodingError):
            drand.round_from_json(text)


def test_a_false_randomness_is_refused(published: Vectors) -> None:
    for case in published("drand")["chains"]:
        chain = chain_of(case)
        for one in case["rounds"]:
            served = {
                "round": int(one["number"]),
                "signature": one["signature"],
                "previous_signature": one["previous"] or "",
                "randomness": one["randomness"],
            }
            value = bytes.fromhex(one["randomness"])
            assert drand.round_from_json(json.dumps(served)).verify(chain) == value
            number, signature, previous = raw(one)
            assert chain.verify_all([(number, signature, previous, value)]) == [value]
            assert chain.verify_all([(number, signature, previous, None)]) == [value]
            for other in (bytes(32), value[:31], value[::-1], signature):
                false = drand.round_from_json({**served, "randomness": other.hex()})
                with pytest.raises(EncodingError) as error:
                    false.verify(chain)
                assert error.value.code == "invalid-field"
                with pytest.raises(FaultError) as fault:
                    chain.verify_all([raw(one), (number, signature, previous, other)])
                assert fault.value.culprits == (1,)
            for text in ("", "xy"):
                with pytest.raises(EncodingError):
                    drand.round_from_json({**served, "randomness": text}).verify(chain)


@pytest.mark.parametrize(
    ("number", "signature", "kind"),
    [
        (0, bytes(48), ArgumentError),
        (-1, bytes(48), ArgumentError),
        (2**64, bytes(48), ArgumentError),
        (1.5, bytes(48), ArgumentError),
        ("1", bytes(48), TypeError),
        (None, bytes(48), TypeError),
        (1, "00" * 48, TypeError),
        (1, None, TypeError),
        (1, b"", EncodingError),
        (1, bytes(48), EncodingError),
        (1, bytes(96), EncodingError),
    ],
)
def test_rounds_that_make_no_sense(number: Any, signature: Any, kind: type) -> None:
    with pytest.raises(kind):
        drand.QUICKNET.verify(number, signature)


def test_chains_that_make_no_sense() -> None:
    good: dict[str, Any] = {
        "scheme": drand.SCHEMES[3],
        "public_key": drand.QUICKNET.public_key,
        "period": 3,
        "genesis_time": 0,
        "genesis_seed": bytes(32),
    }
    assert ChainInfo(**good).beacon_id == "default"
    for field, value, kind in [
        ("scheme", "none", ArgumentError),
        ("scheme", 7, TypeError),
        ("public_key", bytes(96), EncodingError),
        ("period", 0, ArgumentError),
        ("period", 2**32, ArgumentError),
        ("genesis_time", -1, ArgumentError),
        ("genesis_seed", bytes(31), ArgumentError),
        ("beacon_id", 7, TypeError),
        ("other", 7, TypeError),
    ]:
        with pytest.raises(kind):
            ChainInfo(**{**good, field: value})
    del good["period"]
    with pytest.raises(TypeError, match="period"):
        ChainInfo(**good)
    with pytest.raises(ArgumentError):
        drand.QUICKNET.verify_all([(1, b"", None, None, 2)])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        drand.QUICKNET.verify_all([(1, b"", None, 2)])  # type: ignore[list-item]
