"""A light client: what a committee or a key has certified, and nothing else. The vectors are Rust's."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from conftest import ROOT

import prefinal
from prefinal import ChainInfo, LightClient, LightKey, PrefinalError, VerifiedBlock


@pytest.fixture(scope="module")
def vectors() -> Any:
    path = ROOT / "chain" / "light" / "tests" / "vectors" / "light.json"
    return json.loads(path.read_text())


def data(vectors: Any, name: str) -> bytes:
    return bytes.fromhex(vectors[name])


def client_of(vectors: Any) -> LightClient:
    return LightClient(data(vectors, "waypoint"), data(vectors, "members"))


def check(block: VerifiedBlock, vectors: Any) -> None:
    expected = vectors["verified"]
    assert (block.epoch, block.slot) == (expected["epoch"], expected["slot"])
    assert block.value.hex() == expected["value"]
    assert block.state_root.hex() == expected["state_root"]
    assert block.receipts_root.hex() == expected["receipts_root"]
    rows = [one for one in expected["claims"] if "key" in one]
    found = {key.hex(): value.hex() if value else None for key, value in block.rows.items()}
    assert found == {one["key"]: one["value"] for one in rows}
    transactions = [one for one in expected["claims"] if "transaction" in one]
    assert [(at, one.hex(), receipt.hex()) for at, one, receipt in block.transactions] == [
        (one["position"], one["transaction"], one["receipt"]) for one in transactions
    ]
    for one in vectors["accounts"]:
        account = block.account(bytes.fromhex(one["account"]))
        assert account == (one["balance"], one["nonce"])
    with pytest.raises(PrefinalError) as missing:
        block.account(bytes(32))
    assert missing.value.code == "invalid-argument"
    assert "epoch 1" in repr(block)


def test_from_the_genesis_by_stake(vectors: Any) -> None:
    client = client_of(vectors)
    assert client.epoch == 0 and client.waypoint == data(vectors, "waypoint")
    check(client.verify(data(vectors, "stake_proof")), vectors)
    assert client.epoch == 1
    # It goes on from where it was: endings of epochs before are not looked at.
    again = LightClient(client.waypoint, client.members)
    assert again.epoch == 1
    check(again.verify(data(vectors, "stake_proof")), vectors)
    assert again.epoch == 1
    # And does not go back.
    with pytest.raises(PrefinalError) as stale:
        again.advance(data(vectors, "ending"))
    assert (stale.value.code, stale.value.need, stale.value.got) == ("other-session", 1, 0)


def test_step_by_step(vectors: Any) -> None:
    client = client_of(vectors)
    client.advance(data(vectors, "ending"))
    assert client.epoch == 1
    with pytest.raises(PrefinalError):
        client.advance(data(vectors, "ending"))
    assert client.epoch == 1


def test_any_epoch_by_key(vectors: Any) -> None:
    key = LightKey(data(vectors, "chain"), data(vectors, "group_key"))
    check(key.verify(data(vectors, "key_proof")), vectors)
    again = pickle.loads(pickle.dumps(key))
    assert again == key and hash(again) == hash(key)
    other = LightKey(bytes(32), data(vectors, "group_key"))
    assert other != key
    with pytest.raises(PrefinalError) as elsewhere:
        other.verify(data(vectors, "key_proof"))
    assert elsewhere.value.code == "other-chain"


def test_altered_bytes_are_refused(vectors: Any) -> None:
    key = LightKey(data(vectors, "chain"), data(vectors, "group_key"))
    proof = data(vectors, "key_proof")
    # There is no row under a key beside one without a row either: that claim would be as true.
    (absent,) = [one["key"] for one in vectors["verified"]["claims"] if not one.get("value", "-")]
    start = proof.index(bytes.fromhex(absent))
    for at in range(0, len(proof), 7):
        if start <= at < start + 32:
            continue
        altered = bytearray(proof)
        altered[at] ^= 1
        with pytest.raises(PrefinalError):
            key.verify(altered)
    ending = data(vectors, "ending")
    client = client_of(vectors)
    for at in range(0, len(ending), 29):
        altered = bytearray(ending)
        altered[at] ^= 1
        with pytest.raises(PrefinalError):
            client.advance(altered)
        assert client.epoch == 0
    with pytest.raises(PrefinalError) as cut:
        key.verify(proof[:-1])
    assert cut.value.code == "malformed"
    with pytest.raises(PrefinalError) as kind:
        key.verify(data(vectors, "stake_proof"))
    assert (kind.value.code, kind.value.need, kind.value.got) == ("wrong-kind", 5, 4)
    with pytest.raises(TypeError):
        key.verify("text")  # type: ignore[arg-type]


def test_a_value_of_any_slot(vectors: Any) -> None:
    """Rounds are those of `prefinal.drand`, counted from the slot that is round 1."""
    case = vectors["beacon"]
    chain = ChainInfo(
        scheme=prefinal.drand.SCHEMES[3],
        public_key=bytes.fromhex(case["key"]),
        period=1,
        genesis_time=0,
        genesis_seed=bytes(32),
    )
    round_ = case["slot"] - case["first"] + 1
    value = chain.verify(round_, bytes.fromhex(case["signature"]))
    assert value.hex() == case["randomness"]
