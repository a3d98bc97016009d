"""Encryption to rounds: drand's own ciphertexts open, and ours do."""

from __future__ import annotations

from typing import Any, Callable

import pytest

import prefinal
from prefinal import ArgumentError, ChainInfo, EncodingError, FaultError, drand, seal, unseal

Vectors = Callable[[str], Any]


def chain_of(scheme: str, key: str) -> ChainInfo:
    return ChainInfo(
        scheme=scheme,
        public_key=bytes.fromhex(key),
        period=1,
        genesis_time=0,
        genesis_seed=bytes(32),
    )


def test_what_drand_encrypted_opens(published: Vectors) -> None:
    cases = published("timelock")
    assert len(cases) > 40
    for case in cases:
        chain = chain_of(case["scheme"], case["public_key"])
        sealed = bytes.fromhex(case["ciphertext"])
        signature = bytes.fromhex(case["signature"])
        message = bytes.fromhex(case["message"])
        assert unseal(chain, sealed, signature) == message
        chain.verify(case["round"], signature)
        again = seal(chain, case["round"], message)
        assert unseal(chain, again, signature) == message and again != sealed
        altered = sealed[:-1] + bytes([sealed[-1] ^ 1])
        with pytest.raises(FaultError) as error:
            unseal(chain, altered, signature)
        assert error.value.code == "cannot-decrypt"


def test_one_round_opens_it_alone() -> None:
    committee, signers = prefinal.Committee.deal([1], 1)
    chain = chain_of(drand.SCHEMES[3], committee.group_key.hex())
    sealed = seal(chain, 5, b"k" * 32, seed=bytes(32))
    assert sealed == seal(chain, 5, b"k" * 32, seed=bytes(32))
    for number in (4, 5, 6):
        signature = bytes(committee.combine(number, {0: signers[0].sign(number)}))
        if number == 5:
            assert unseal(chain, sealed, signature) == b"k" * 32
        else:
            with pytest.raises(FaultError):
                unseal(chain, sealed, signature)


def test_what_cannot_be_sealed() -> None:
    chain = drand.QUICKNET
    for size in (0, 15, 17, 33, 10**6):
        with pytest.raises(ArgumentError):
            seal(chain, 1, bytes(size))
    with pytest.raises(ArgumentError):
        seal(chain, 0, bytes(16))
    with pytest.raises(TypeError):
        seal(chain, 1, "k" * 16)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        seal("quicknet", 1, bytes(16))  # type: ignore[arg-type]
    for sealed in (b"", bytes(127), bytes(128), bytes(1000)):
        with pytest.raises(EncodingError):
            unseal(chain, sealed, bytes(48))
    chained = ChainInfo(
        scheme=drand.SCHEMES[0],
        public_key=bytes(prefinal.SecretKey.generate().public_key(variant="min-pk")),
        period=1,
        genesis_time=0,
        genesis_seed=bytes(32),
    )
    with pytest.raises(ArgumentError) as error:
        seal(chained, 1, bytes(16))
    assert error.value.code == "chained-rounds"
