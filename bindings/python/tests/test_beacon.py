"""A beacon driven by hand: paths, the release contract, restarts, what peers may send."""

from __future__ import annotations

import doctest
import pickle
from collections.abc import Iterable
from typing import Any

import pytest
from test_dkg import STAKES, WEIGHTS, Parties

import prefinal
from prefinal import (
    ArgumentError,
    Beacon,
    Committee,
    EncodingError,
    Output,
    PrefinalError,
    beacon,
)

VALUE, OTHER = b"v" * 32, b"w" * 32
EQUAL = [1, 1, 1, 1]


class Net:
    """Beacons and the messages between them, delivered in order."""

    def __init__(self, beacons: list[Beacon]) -> None:
        self.beacons = beacons
        self.said: list[list[Output]] = [[] for _ in beacons]

    def take(self, party: int, outputs: list[Output]) -> None:
        self.said[party].extend(outputs)
        for output in outputs:
            if output.kind == "send":
                to = range(len(self.beacons)) if output.party is None else [output.party]
                for peer in to:
                    if peer != party:
                        self.take(peer, self.beacons[peer].receive(party, output.data))

    def revealed(self, slot: int) -> list[Output]:
        outputs = (output for said in self.said for output in said)
        return [one for one in outputs if one.kind == "reveal" and one.slot == slot]


def kinds(outputs: Iterable[Output]) -> list[str]:
    return [output.kind for output in outputs]


def codes(outputs: list[Output]) -> list[Any]:
    return [output.code for output in outputs if output.kind == "refused"]


@pytest.fixture(scope="module")
def dealt() -> tuple[Committee, dict[int, prefinal.Signer]]:
    return Committee.deal(EQUAL, 3, seed=bytes(32))


def one(dealt: Any, party: int = 0, **more: Any) -> Beacon:
    committee, signers = dealt
    return Beacon(party, EQUAL, **{"tight": (committee, signers[party]), **more})


@pytest.fixture(scope="module")
def ramp() -> tuple[list[Beacon], Committee]:
    """The key is made message by message, as bytes, and shared on both paths."""
    parties = Parties(seed=5)
    config = parties.config(slow=3, fast=5)
    sent = [bytes(config.deal(i, parties.signers[i])) for i in (0, 3)]
    verified = [config.verify(config.read(data)) for data in sent]
    key = config.aggregate(verified)
    committees: dict[Any, Committee] = {path: key.committee(path=path, purpose="rounds") for path in ("slow", "fast")}
    beacons = []
    for party, weight in enumerate(WEIGHTS):
        own = parties.open(key, party) if weight else None
        sharings: dict[str, Any] = {
            path: (committee, own and key.signer(own, path=path, purpose="rounds"))
            for path, committee in committees.items()
        }
        beacons.append(Beacon(party, STAKES, **sharings))
    return beacons, committees["slow"]


def test_examples_in_documents() -> None:
    results = doctest.testmod(beacon)
    assert results.attempted > 6 and results.failed == 0


def test_both_paths_give_one_value_of_a_key_that_nobody_knows(ramp: Any) -> None:
    beacons, committee = ramp
    net = Net(beacons)
    # All vote: six shares of the fast path are out when the slot is final.
    for party in range(4):
        net.take(party, beacons[party].prefinalize(1, VALUE))
    assert not net.revealed(1)
    for party in range(4):
        net.take(party, beacons[party].finalize(1, VALUE))
    # Party 0 does not vote: four shares are too few for the fast path, and the slow one ends it.
    for party in (1, 2, 3):
        net.take(party, beacons[party].prefinalize(2, VALUE))
    for party in range(4):
        net.take(party, beacons[party].finalize(2, VALUE))
    for slot, path in ((1, "fast"), (2, "slow")):
        revealed = net.revealed(slot)
        assert [output.path for output in revealed] == [path] * 4
        assert len({output.data for output in revealed}) == 1 and len(revealed[0].data) == 32
        signature = revealed[0].signature
        assert signature is not None
        committee.verify(slot, signature)
    assert [beacon.head for beacon in beacons] == [3] * 4


def test_the_contract_says_why_nothing_leaves(dealt: Any) -> None:
    party = one(dealt)
    assert kinds(party.prefinalize(1, VALUE)) == ["keep", "send"]
    assert codes(party.prefinalize(1, OTHER)) == ["released-otherwise"]
    assert codes(party.prefinalize(2, VALUE, attempt=1)) == ["other-view"]
    assert kinds(party.abandon(2)) == ["keep"]
    assert codes(party.prefinalize(2, VALUE)) == ["view-given-up"]
    assert codes(party.prefinalize(10_000, VALUE)) == ["slot-too-far"]
    assert codes(party.finalize(0, VALUE)) == ["before-first-slot"]
    party.finalize(1, VALUE)
    assert codes(party.finalize(1, OTHER)) == ["final-twice"]
    committee, signers = Committee.deal(EQUAL, 2, seed=bytes(32))
    slow = Beacon(0, EQUAL, slow=(committee, signers[0]))
    assert codes(slow.prefinalize(1, VALUE)) == ["slow-only"]
    assert kinds(slow.finalize(1, VALUE)) == ["keep", "send"]
    assert codes(one(dealt, attempt=None).prefinalize(1, VALUE)) == ["no-declared-view"]


def test_a_later_life_repeats_nothing_that_is_not_on_record(dealt: Any) -> None:
    first = one(dealt)
    records = [o.data for o in first.prefinalize(1, VALUE) if o.kind in ("keep", "note")]
    again = one(dealt, records=records)
    asked = [(o.kind, o.text) for o in again.tick(0)]
    assert ("send", "ask-head") in asked
    assert codes(again.prefinalize(1, OTHER)) == ["released-otherwise"]
    # What an earlier life may have released is not known, until slots are final behind it.
    assert codes(again.prefinalize(2, VALUE)) == ["release-unknown"]
    assert [o.text for o in again.finalize(1, VALUE) if o.kind == "send"] == ["partial"]
    assert one(dealt).tick(0) == []


def test_false_partials_are_found_and_cost_no_value(dealt: Any) -> None:
    beacons = [one(dealt, party) for party in range(4)]
    sent = {p: [o.data for o in beacons[p].prefinalize(1, VALUE) if o.kind == "send"] for p in range(4)}
    # Party 1 sends another's partial as its own.
    said = beacons[0].receive(1, sent[2][0]) + beacons[0].receive(2, sent[2][0])
    said += beacons[0].receive(3, sent[3][0]) + beacons[0].finalize(1, VALUE)
    accused = [(o.party, o.code) for o in said if o.kind == "accuse"]
    assert accused == [(1, "partial-mismatch")] and said[-2].kind == "reveal"
    # A peer that is in no committee.
    strange = beacons[3].receive(9, b"\x01" + bytes(8))
    assert [(o.kind, o.code) for o in strange] == [("accuse", "not-a-member")]


def test_missing_partials_are_asked_for_with_time(dealt: Any) -> None:
    party = one(dealt)
    party.prefinalize(1, VALUE)
    party.finalize(1, VALUE)
    wake = party.wake_ms
    assert wake is not None and party.tick(wake - 1) == []
    assert "request" in [o.text for o in party.tick(wake) if o.kind == "send"]
    with pytest.raises(ArgumentError, match="before"):
        party.tick(0)


@pytest.mark.parametrize("data", [b"", b"\xff", bytes(9), b"\x01" + bytes(7), b"\x01" + bytes(9)])
def test_messages_that_are_none_are_refused(dealt: Any, data: bytes) -> None:
    with pytest.raises(EncodingError) as caught:
        one(dealt).receive(1, data)
    assert caught.value.code == "malformed-message"


def test_a_message_of_more_shares_than_the_peer_has_is_not_decoded(dealt: Any) -> None:
    committee, signers = Committee.deal([3, 1, 1, 1], 5, seed=bytes(32))
    heavy = Beacon(0, [3, 1, 1, 1], tight=(committee, signers[0]))
    long = [o.data for o in heavy.prefinalize(1, VALUE) if o.kind == "send"][0]
    with pytest.raises(EncodingError, match="at most"):
        one(dealt).receive(1, long)


def test_what_does_not_fit_together_is_refused(dealt: Any) -> None:
    committee, signers = dealt
    low, own = Committee.deal(EQUAL, 2, seed=bytes(32))
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"tight": (low, own[0])}, "threshold-leaks"),
        ({"tight": (committee, own[0])}, "share-mismatch"),
        ({"tight": (committee, signers[1])}, "share-mismatch"),
        ({"records": [b"\xff"]}, "malformed-message"),
        ({"chain": bytes(31)}, "invalid-argument"),
        ({"tight": None}, "invalid-argument"),
        ({"slow": (committee, signers[0])}, "invalid-argument"),
        ({"first": 2**64 - 1}, "last-slot"),
    ]
    for changed, code in refusals:
        with pytest.raises(PrefinalError) as caught:
            one(dealt, **changed)
        assert caught.value.code == code, changed
    with pytest.raises(PrefinalError):
        Beacon(0, [1, 1], tight=(committee, signers[0]))
    with pytest.raises(PrefinalError):
        Beacon(7, EQUAL, tight=(committee, None))
    sharings: list[Any] = [(committee, "x"), ("x", None), committee]
    for wrong in sharings:
        with pytest.raises(TypeError):
            one(dealt, tight=wrong)
    party = one(dealt)
    with pytest.raises(ArgumentError):
        party.prefinalize(1, b"short")
    with pytest.raises((ArgumentError, OverflowError)):
        party.prefinalize(-1, VALUE)
    with pytest.raises(TypeError):
        party.prefinalize("1", VALUE)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        pickle.dumps(party)
    assert repr(party) == "<Beacon before slot 1>"
