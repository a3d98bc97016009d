"""A beacon of the weighted VUF driven by hand: the same contract, and blinded keys of each party first."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from test_beacon import EQUAL, OTHER, VALUE, Net, codes, kinds
from test_dkg import STAKES, WEIGHTS, Parties

from prefinal import (
    ArgumentError,
    Beacon,
    BlindedKey,
    Committee,
    EncodingError,
    EvaluationKey,
    FaultError,
    PrefinalError,
    VufCommittee,
    VufInput,
    VufPartial,
)

CHAIN = bytes(32)
Blinded = tuple[EvaluationKey, BlindedKey]


def deal(weights: list[int], threshold: int, absent: Optional[int] = None) -> tuple[VufCommittee, dict[int, Blinded]]:
    """A committee that has admitted the keys of all but one, with all keys."""
    committee, shares = VufCommittee.deal(weights, threshold, seed=bytes(32))
    blinded = {party: own.blind(committee, party, seed=bytes([party] * 32)) for party, own in shares.items()}
    assert committee.admit({party: key for party, (_, key) in blinded.items() if party != absent}) == {}
    return committee, blinded


def beacons_of(committee: VufCommittee, blinded: dict[int, Blinded], **more: Any) -> list[Beacon]:
    parties = range(len(committee.weights))
    return [Beacon(party, EQUAL, tight=(committee, blinded[party][0]), **more) for party in parties]


def revealed(outputs: Any) -> list[Any]:
    return [one for one in outputs if one.kind == "reveal"]


def test_tight_thresholds_reveal_with_finality() -> None:
    committee, blinded = deal(EQUAL, 3)
    net = Net(beacons_of(committee, blinded))
    for party in range(3):
        net.take(party, net.beacons[party].prefinalize(1, VALUE))
    assert not net.revealed(1)
    for party in range(4):
        net.take(party, net.beacons[party].finalize(1, VALUE))
    values = net.revealed(1)
    given = VufInput(CHAIN, 0, 1)
    expected = committee.combine(given, {party: blinded[party][0].evaluate(given) for party in range(3)})
    assert [(one.path, one.signature) for one in values] == [("tight", None)] * 4
    assert {one.data for one in values} == {expected.randomness}
    assert all(one.output == expected for one in values)


def test_both_paths_of_a_key_that_nobody_knows_give_one_value() -> None:
    parties = Parties(seed=5)
    config = parties.config(slow=3, fast=5)
    dealings = [config.deal(i, parties.signers[i], kind="group") for i in (0, 3)]
    read = [config.verify(config.read(bytes(one), kind="group")) for one in dealings]
    key = config.aggregate(read)
    paths: Any = ("slow", "fast")
    committees = {path: key.vuf_committee(path=path) for path in paths}
    sharings: list[dict[str, Any]] = []
    for party, weight in enumerate(WEIGHTS):
        own = parties.open(key, party) if weight else None
        sharing: dict[str, Any] = {path: (committees[path], None) for path in paths}
        for path in paths:
            if own is None:
                continue
            mine, public = key.vuf_shares(own, path=path).blind(committees[path], party)
            assert committees[path].admit({party: public}) == {}
            sharing[path] = (committees[path], mine)
        sharings.append(sharing)
    net = Net([Beacon(party, STAKES, **sharing) for party, sharing in enumerate(sharings)])
    for party in range(4):
        net.take(party, net.beacons[party].prefinalize(1, VALUE))
    assert not net.revealed(1)
    for party in range(4):
        net.take(party, net.beacons[party].finalize(1, VALUE))
    # Party 0 does not vote: the others are too few for the fast path, and the slow one ends it.
    for party in (1, 2, 3):
        net.take(party, net.beacons[party].prefinalize(2, VALUE))
    for party in range(4):
        net.take(party, net.beacons[party].finalize(2, VALUE))
    for slot, path in ((1, "fast"), (2, "slow")):
        found = net.revealed(slot)
        assert [one.path for one in found] == [path] * 4 and len({one.data for one in found}) == 1
        assert all(one.output == found[0].output for one in found)
    # Both paths give one value, for they share one secret.
    given = VufInput(CHAIN, 0, 1)
    slow = {p: s["slow"][1].evaluate(given) for p, s in enumerate(sharings) if s["slow"][1]}
    assert committees["slow"].combine(given, slow).randomness == net.revealed(1)[0].data


def test_the_contract_is_the_same() -> None:
    committee, blinded = deal(EQUAL, 3)
    party = beacons_of(committee, blinded)[0]
    first = party.prefinalize(1, VALUE)
    assert kinds(first) == ["keep", "send"]
    assert codes(party.prefinalize(1, OTHER)) == ["released-otherwise"]
    assert codes(party.prefinalize(2, VALUE, attempt=1)) == ["other-view"]
    assert kinds(party.abandon(2)) == ["keep"]
    assert codes(party.prefinalize(2, VALUE)) == ["view-given-up"]
    records = [one.data for one in first if one.kind == "keep"]
    again = beacons_of(committee, blinded, records=records)[0]
    assert ("send", "ask-head") in [(one.kind, one.text) for one in again.tick(0)]
    assert codes(again.prefinalize(1, OTHER)) == ["released-otherwise"]
    assert codes(again.prefinalize(2, VALUE)) == ["release-unknown"]
    low, own = deal(EQUAL, 2)
    slow = Beacon(0, EQUAL, slow=(low, own[0][0]))
    assert codes(slow.prefinalize(1, VALUE)) == ["slow-only"]
    assert kinds(slow.finalize(1, VALUE)) == ["keep", "send"]


def test_a_party_counts_once_its_key_is_admitted() -> None:
    committee, blinded = deal(EQUAL, 3, absent=2)
    beacons = beacons_of(committee, blinded)
    sent = {p: [o.data for o in beacons[p].prefinalize(1, VALUE) if o.kind == "send"][0] for p in (1, 2)}
    # Two of three count; party 2's partial waits for its key.
    said = beacons[0].prefinalize(1, VALUE) + beacons[0].receive(1, sent[1]) + beacons[0].receive(2, sent[2])
    assert not revealed(said + beacons[0].finalize(1, VALUE))
    with pytest.raises(FaultError):
        beacons[0].admit("tight", 2, blinded[1][1])
    assert not revealed(beacons[0].tick(0))
    assert [one.slot for one in revealed(beacons[0].admit("tight", 2, blinded[2][1]))] == [1]
    assert [one.kind for one in beacons[0].admit("tight", 2, blinded[2][1])] == ["refused"]
    # The committee of the caller has not changed.
    assert committee.admitted == [0, 1, 3]
    with pytest.raises(ArgumentError, match="no slow path"):
        beacons[0].admit("slow", 2, blinded[2][1])
    with pytest.raises(ArgumentError, match="path 'none'|path \"none\""):
        beacons[0].admit("none", 2, blinded[2][1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="BlindedKey"):
        beacons[0].admit("tight", 2, bytes(48))  # type: ignore[arg-type]
    bls, signers = Committee.deal(EQUAL, 3)
    with pytest.raises(ArgumentError, match="all keys from the start"):
        Beacon(0, EQUAL, tight=(bls, signers[0])).admit("tight", 2, blinded[2][1])


def test_a_secret_of_another_is_found_with_the_first_partials_if_the_own_key_comes_late() -> None:
    committee, blinded = deal(EQUAL, 3, absent=1)
    others = beacons_of(committee, blinded)
    sent = {p: [o.data for o in others[p].prefinalize(1, VALUE) if o.kind == "send"][0] for p in (0, 2, 3)}
    party = Beacon(1, EQUAL, tight=(committee, blinded[0][0]))
    assert party.admit("tight", 1, blinded[1][1]) == []
    said = party.prefinalize(1, VALUE) + party.receive(0, sent[0]) + party.receive(2, sent[2])
    assert codes([one for one in said if one.kind == "refused"]) == ["share-mismatch"]
    said += party.receive(3, sent[3]) + party.finalize(1, VALUE)
    assert not any(one.kind == "accuse" for one in said) and len(revealed(said)) == 1
    assert "send" not in kinds(party.prefinalize(2, VALUE))


def test_false_partials_are_found_and_cost_no_value() -> None:
    committee, blinded = deal(EQUAL, 3)
    beacons = beacons_of(committee, blinded)
    sent = {p: [o.data for o in beacons[p].prefinalize(1, VALUE) if o.kind == "send"][0] for p in range(4)}
    # Party 1 sends another's partial as its own.
    said = beacons[0].receive(1, sent[2]) + beacons[0].receive(2, sent[2])
    said += beacons[0].receive(3, sent[3]) + beacons[0].finalize(1, VALUE)
    accused = [(one.party, one.code) for one in said if one.kind == "accuse"]
    assert accused == [(1, "partial-mismatch")] and len(revealed(said)) == 1
    for data in (b"", b"\xff", sent[1] + b"\0", sent[1][:-1]):
        with pytest.raises(EncodingError):
            beacons[0].receive(1, data)


def test_what_does_not_fit_together_is_refused() -> None:
    committee, blinded = deal(EQUAL, 3)
    low, own = deal(EQUAL, 2)
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"tight": (low, own[0][0])}, "threshold-leaks"),
        ({"tight": (committee, blinded[1][0])}, "share-mismatch"),
        ({"slow": (committee, blinded[0][0]), "fast": (committee, blinded[0][0]), "tight": None}, "shared-blinding"),
        ({"tight": None}, "invalid-argument"),
    ]
    for changed, code in refusals:
        with pytest.raises(PrefinalError) as caught:
            Beacon(0, EQUAL, **{"tight": (committee, blinded[0][0]), **changed})
        assert caught.value.code == code, (changed, caught.value.code)
    bls, signers = Committee.deal(EQUAL, 3)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tight": (committee, signers[0])}, "expected an EvaluationKey, got Signer"),
        ({"tight": (bls, blinded[0][0])}, "expected a Signer, got EvaluationKey"),
        ({"tight": (committee, "x")}, "expected an EvaluationKey, got str"),
        ({"tight": ("x", "x")}, "expected a Committee or a VufCommittee, got str"),
        (
            {"slow": (committee, blinded[0][0]), "fast": (bls, signers[0])},
            "expected a VufCommittee on every path, as on the first, got Committee",
        ),
        (
            {"slow": (bls, signers[0]), "fast": (committee, blinded[0][0])},
            "expected a Committee on every path, as on the first, got VufCommittee",
        ),
    ]
    for sharings, text in wrong:
        with pytest.raises(TypeError, match=f"^{text}$"):
            Beacon(0, EQUAL, **sharings)
    party = Beacon(0, EQUAL, tight=(committee, blinded[0][0]))
    assert repr(party) == "<Beacon before slot 1>"
    # What it sends is the party's evaluation.
    data = [one.data for one in party.prefinalize(1, VALUE) if one.kind == "send"][0]
    given = VufInput(CHAIN, 0, 1)
    mine = bytes(blinded[0][0].evaluate(given))
    committee.verify_partial(0, given, VufPartial(mine))
    assert data.endswith(mine[-96:])
