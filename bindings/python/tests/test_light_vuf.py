"""Values of a weighted VUF from outside. The vectors are Rust's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import ROOT

from prefinal import LightVuf, PrefinalError


@pytest.fixture(scope="module")
def vectors() -> Any:
    path = ROOT / "chain" / "light" / "tests" / "vectors" / "light.json"
    return json.loads(path.read_text())["vuf"]


def data(vectors: Any, name: str) -> bytes:
    return bytes.fromhex(vectors[name])


def reader(vectors: Any) -> LightVuf:
    return LightVuf(data(vectors, "pin"), data(vectors, "epoch"), data(vectors, "members"))


def code(refused: Any) -> str:
    found: str = refused.value.code
    return found


def test_from_a_pin_over_a_handover(vectors: Any) -> None:
    client = reader(vectors)
    assert (client.epoch, client.pin) == (0, data(vectors, "pin"))
    client.admit(data(vectors, "keys"))
    value = (vectors["slot"], data(vectors, "randomness"))
    assert client.verify(data(vectors, "proof")) == value
    client.advance(data(vectors, "handover"))
    assert (client.epoch, client.pin) == (1, data(vectors["next"], "pin"))
    client.admit(data(vectors["next"], "keys"))
    value = (vectors["next"]["slot"], data(vectors["next"], "randomness"))
    assert client.verify(data(vectors["next"], "proof")) == value
    assert "epoch 1" in repr(client)


def test_what_a_server_could_put_in_the_place_of_it(vectors: Any) -> None:
    other = vectors["next"]
    with pytest.raises(PrefinalError) as pin:
        LightVuf(data(other, "pin"), data(vectors, "epoch"), data(vectors, "members"))
    assert code(pin) == "other-key"
    client = reader(vectors)
    with pytest.raises(PrefinalError) as none:
        client.verify(data(vectors, "proof"))
    assert code(none) == "invalid-argument"
    with pytest.raises(PrefinalError) as keys:
        client.admit(data(other, "keys"))
    assert code(keys) == "other-key"
    client.admit(data(vectors, "keys"))
    with pytest.raises(PrefinalError) as later:
        client.verify(data(other, "proof"))
    assert (code(later), later.value.need, later.value.got) == ("other-session", 0, 1)
    # The slot is behind version, kind and epoch.
    moved = bytearray(data(vectors, "proof"))
    assert int.from_bytes(moved[10:18], "little") == vectors["slot"]
    moved[10] += 1
    with pytest.raises(PrefinalError) as slot:
        client.verify(moved)
    assert slot.value.culprits == (0, 1, 2)
    client.advance(data(vectors, "handover"))
    with pytest.raises(PrefinalError) as old:
        client.admit(data(vectors, "keys"))
    assert code(old) == "other-key"
    with pytest.raises(PrefinalError) as again:
        client.advance(data(vectors, "handover"))
    assert code(again) == "epoch-too-early"


def test_keys_of_late_parties_come_later(vectors: Any) -> None:
    client = reader(vectors)
    client.admit(data(vectors, "early_keys"))
    with pytest.raises(PrefinalError) as late:
        client.verify(data(vectors, "proof"))
    assert code(late) == "not-admitted"
    client.admit(data(vectors, "keys"))
    assert client.verify(data(vectors, "proof"))[0] == vectors["slot"]


def test_forgeries(vectors: Any) -> None:
    assert len(vectors["refused"]) >= 16
    for forgery in vectors["refused"]:
        client = reader(vectors)
        client.admit(data(vectors, "keys"))
        with pytest.raises(PrefinalError) as refused:
            getattr(client, forgery["call"])(data(forgery, "data"))
        assert code(refused) == forgery["code"], forgery["what"]
        # Nothing has changed.
        assert client.verify(data(vectors, "proof"))[0] == vectors["slot"]
        client.advance(data(vectors, "handover"))
        assert client.pin == data(vectors["next"], "pin")


def test_altered_bytes_are_refused(vectors: Any) -> None:
    client = reader(vectors)
    client.admit(data(vectors, "keys"))
    for name, call in [("proof", client.verify), ("handover", client.advance)]:
        good = data(vectors, name)
        for at in range(0, len(good), 17):
            altered = bytearray(good)
            altered[at] ^= 1
            with pytest.raises(PrefinalError):
                call(altered)
        with pytest.raises(PrefinalError) as cut:
            call(good[:-1])
        assert code(cut) == "malformed"
    assert client.epoch == 0
    keys = data(vectors, "keys")
    for at in range(0, len(keys), 97):
        altered = bytearray(keys)
        altered[at] ^= 1
        with pytest.raises(PrefinalError):
            client.admit(altered)
    # What was admitted before still serves.
    assert client.verify(data(vectors, "proof"))[0] == vectors["slot"]
