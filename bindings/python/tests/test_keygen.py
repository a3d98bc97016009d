"""Key generation driven by hand: one key, bad dealers, copies and forgeries, restarts, parties that were absent."""

from __future__ import annotations

import doctest
import pickle
from typing import Any

import pytest
from test_dkg import STAKES, WEIGHTS, Parties

import prefinal
from prefinal import (
    ArgumentError,
    Beacon,
    EncodingError,
    Evidence,
    FaultError,
    Keygen,
    KeygenOutput,
    NotEnoughError,
    PrefinalError,
    SecretKey,
    keygen,
)

PARTIES = range(4)


@pytest.fixture(scope="module")
def parties() -> Parties:
    return Parties()


@pytest.fixture(scope="module")
def messages(parties: Parties) -> list[bytes]:
    """What each party submits."""
    return [submitted(one(parties, party).start()) for party in PARTIES]


def one(parties: Parties, party: int, **changes: Any) -> Keygen:
    config = changes.pop("config", None) or parties.config()
    given = {"recipient": parties.key(party), "seed": bytes([party] * 32), **changes}
    return Keygen(config, party, parties.signers[party], **given)


def submitted(outputs: list[KeygenOutput]) -> bytes:
    (message,) = [output.data for output in outputs if output.kind == "submit"]
    return message


def feed(party: Keygen, order: list[bytes], first: int = 0) -> list[KeygenOutput]:
    return [said for at, data in enumerate(order, first) for said in party.ordered(at, data)]


def kinds(outputs: list[KeygenOutput]) -> list[str]:
    return [output.kind for output in outputs]


def told(outputs: list[KeygenOutput]) -> list[Any]:
    return [(output.kind, output.code) for output in outputs if output.code]


def kept(outputs: list[KeygenOutput]) -> list[bytes]:
    return [output.data for output in outputs if output.kind == "keep"]


def end(outputs: list[KeygenOutput]) -> KeygenOutput:
    assert outputs[-1].kind == "ready", outputs
    return outputs[-1]


def test_examples_in_documents() -> None:
    results = doctest.testmod(keygen)
    assert results.attempted > 10 and results.failed == 0


def test_one_order_makes_one_key_which_serves_beacons(
    parties: Parties, messages: list[bytes]
) -> None:
    # Party 1 has stake and no weight; with party 0 it has more than a third.
    order = [messages[1], messages[0], messages[3], messages[2]]
    said = [feed(one(parties, party), order) for party in PARTIES]
    assert kinds(said[0]) == ["keep", "counted"] * 2 + ["ready"]
    assert [(o.party, o.position) for o in said[0] if o.kind == "counted"] == [(1, 0), (0, 1)]
    keys = [end(outputs).key for outputs in said]
    key = keys[0]
    assert key is not None and key.dealers == [0, 1] and all(other == key for other in keys)
    beacons = []
    for party, outputs in enumerate(said):
        shares = end(outputs).shares
        assert (shares is None) == (WEIGHTS[party] == 0)
        paths: Any = {
            path: (key.committee(path=path), shares and key.signer(shares, path=path))
            for path in ("slow", "fast")
        }
        beacons.append(Beacon(party, STAKES, **paths))
    votes = [(p, beacons[p].prefinalize(1, bytes(32))) for p in PARTIES]
    sent = [(p, output.data) for p, outputs in votes for output in outputs if output.kind == "send"]
    for sender, data in sent:
        beacons[1].receive(sender, data)
    (value,) = [o for o in beacons[1].finalize(1, bytes(32)) if o.kind == "reveal"]
    assert value.path == "fast" and value.signature is not None
    key.committee(path="fast").verify(1, value.signature)


def test_keys_of_the_vuf(parties: Parties) -> None:
    order = [submitted(one(parties, p, kind="group").start()) for p in (0, 2)]
    said = [end(feed(one(parties, p, kind="group"), order)) for p in (0, 3)]
    key = said[0].key
    assert key is not None and key == said[1].key and key.kind == "group"
    committee = key.vuf_committee()
    for party, output in zip((0, 3), said):
        assert output.shares is not None
        shares = key.vuf_shares(output.shares)
        committee.admit({party: shares.blind(committee, party)[1]})
    assert committee.admitted == [0, 3]
    # What is dealt for one kind is no message of the other.
    assert told(one(parties, 1).ordered(0, order[0])) == [("refused", "other-session")]


def bad(parties: Parties) -> "dict[str, bytes]":
    """What a dealer could sign that is no dealing of its own, by the check that finds it."""
    config, signer = parties.config(), parties.signers[0]
    dealing = bytes(config.deal(0, signer))
    payloads = {
        "wrong-length": dealing[1:],
        "wrong-version": b"\xff" * len(dealing),
        "invalid-element": dealing[:40] + bytes([dealing[40] ^ 1]) + dealing[41:],
        "misplaced-dealing": bytes(config.deal(2, parties.signers[2])),
        "other-session": bytes(parties.config(attempt=1).deal(0, signer)),
    }
    return {code: config.envelope(0, signer, data) for code, data in payloads.items()}


def test_a_bad_dealing_gives_evidence_and_is_left_out(
    parties: Parties, messages: list[bytes]
) -> None:
    config = parties.config()
    for code, message in bad(parties).items():
        party = one(parties, 1)
        said = party.ordered(0, message)
        assert kinds(said) == ["keep", "accuse"] and said[0].text == "accused"
        evidence = said[1].evidence
        assert evidence is not None and (evidence.party, evidence.code) == (0, code) == (said[1].party, said[1].code)
        # Somebody who was not there is convinced by the bytes.
        read = Evidence(config, bytes(evidence))
        assert read == evidence and hash(read) == hash(evidence) and read.code == code
        assert repr(read) == f"<Evidence against party 0: {read.text}>"
        # Its good dealing comes too late.
        assert told(party.ordered(1, messages[0])) == [("refused", "accused-before")]
        key = end(feed(party, [messages[2], messages[3]], 2)).key
        assert key is not None and key.dealers == [2, 3]


def test_two_dealings_of_one_dealer_contradict_each_other(
    parties: Parties, messages: list[bytes]
) -> None:
    again = submitted(one(parties, 0, seed=bytes(32 * [9])).start())
    party = one(parties, 2)
    said = feed(party, [messages[0], again, messages[2]])
    assert [o.kind for o in said] == ["keep", "counted", "keep", "accuse", "keep", "counted", "ready"]
    # Everybody has counted the first one by then.
    key = end(said).key
    evidence = said[3].evidence
    assert key is not None and key.dealers == [0, 2]
    assert evidence is not None and (evidence.party, evidence.code) == (0, "contradiction")
    assert len(bytes(evidence)) == 2 + 2 * 128


def test_evidence_that_shows_nothing(parties: Parties, messages: list[bytes]) -> None:
    config, wrong = parties.config(), bad(parties)
    evidence = {
        code: bytes(said[1].evidence or b"")
        for code, said in ((code, one(parties, 1).ordered(0, data)) for code, data in wrong.items())
    }
    short, foreign = evidence["wrong-length"], evidence["other-session"]
    refusals: list[tuple[Any, bytes, str]] = [
        (parties.config(attempt=1), short, "other-session"),
        (config, short[:-1] + bytes([short[-1] ^ 1]), "signature-mismatch"),
        (config, foreign[:-1] + bytes([foreign[-1] ^ 1]), "payload-mismatch"),
        (config, short[:-1], "wrong-length"),
        (config, b"", "wrong-length"),
        (config, b"\x01\x09", "invalid-element"),
    ]
    for other, data, code in refusals:
        with pytest.raises(PrefinalError) as caught:
            Evidence(other, data)
        assert caught.value.code == code
    with pytest.raises(PrefinalError):
        Evidence(config, short, kind="group")
    with pytest.raises(ArgumentError):
        Evidence(config, short, kind="other")  # type: ignore[arg-type]
    assert Evidence(config, short) != Evidence(config, foreign)


def test_strangers_copies_and_broken_bytes_accuse_nobody(
    parties: Parties, messages: list[bytes]
) -> None:
    config = parties.config()
    good, stranger = bytes(config.deal(0, parties.signers[0])), SecretKey.generate()
    other = submitted(one(parties, 0, config=parties.config(attempt=1)).start())
    nothing: list[tuple[bytes, str, type]] = [
        (b"", "no-envelope", EncodingError),
        (messages[0][:60], "no-envelope", EncodingError),
        (b"\x00" + messages[0][1:], "no-envelope", EncodingError),
        (messages[0][:-1], "signature-mismatch", FaultError),
        (messages[0] + b"\x00", "signature-mismatch", FaultError),
        (config.envelope(0, stranger, good), "signature-mismatch", FaultError),
        (config.envelope(9, stranger, good), "signature-mismatch", FaultError),
        (config.envelope(2, parties.signers[0], good), "signature-mismatch", FaultError),
        (other, "other-session", ArgumentError),
    ]
    party = one(parties, 1)
    for at, (message, code, kind) in enumerate(nothing):
        said = party.ordered(at, message)
        assert told(said) == [("refused", code)] and isinstance(said[0].error, kind)
        assert said[0].evidence is None
    party.ordered(20, messages[0])
    # A copy behind it, and repetitions of positions.
    assert told(party.ordered(21, messages[0])) == [("refused", "dealt-twice")]
    assert party.ordered(21, messages[2]) == [] == party.ordered(3, messages[2])
    assert party.last == 21
    end(party.ordered(22, messages[2]))
    # The key is fixed, and nothing that is ordered changes it.
    assert party.ordered(23, messages[3]) == [] and party.last == 22


def test_a_later_life_goes_on_from_what_was_kept(parties: Parties, messages: list[bytes]) -> None:
    first = one(parties, 2, seed=None)
    dealt = first.start()
    own, records = submitted(dealt), kept(dealt)
    assert first.start() == [KeygenOutput("submit", data=own)]
    order = [bad(parties)["wrong-length"], messages[1], own, messages[3]]
    straight = end(feed(first, order))
    # A crash behind each message; what is kept by then is all that there is.
    for crash in range(len(order) + 1):
        life = one(parties, 2, records=records, seed=None)
        disk = [*records, *kept(feed(life, order[:crash]))]
        later = one(parties, 2, records=disk, seed=None)
        assert later.last == (crash - 1 if crash else None)
        said = later.start()
        # It deals no second time, and sends what does not count yet.
        assert kept(said) == [] and [o.data for o in said if o.kind == "submit"] == [own] * (crash < 3)
        said += feed(later, order[crash:], crash)
        assert end(said).key == straight.key and end(said).shares is not None
        assert told(said) == [("accuse", "wrong-length")] * (crash == 0)
    for wrong, code in (
        ([b"\xff"], "malformed-message"),
        ([records[0][:-1]], "malformed-message"),
        ([records[0][:5]], "malformed-message"),
        (kept(one(parties, 2, config=parties.config(attempt=1)).start()), "other-session"),
    ):
        with pytest.raises(PrefinalError) as caught:
            one(parties, 2, records=wrong)
        assert caught.value.code == code
    with pytest.raises(TypeError):
        one(parties, 2, records=["record"])


def test_an_absent_party_takes_the_key_from_a_peer(parties: Parties, messages: list[bytes]) -> None:
    peer = one(parties, 0)
    assert peer.epoch_key is None and peer.offer is None
    there = end(feed(peer, [messages[2], messages[3]]))
    key, offer = peer.epoch_key, peer.offer
    assert key is not None and offer is not None and repr(peer) == "<Keygen of party 0, ended>"
    absent = one(parties, 3)
    assert repr(absent) == "<Keygen of party 3, open>"
    assert told(absent.recover(key, offer[:-1])) == [("refused", "wrong-length")]
    other = one(parties, 0)
    feed(other, [messages[1], messages[3]])
    assert told(absent.recover(key, other.offer or b"")) == [("refused", "other-key")]
    for none in (b"", key[:-1]):
        with pytest.raises(EncodingError):
            absent.recover(none, offer)
    said = absent.recover(key, offer)
    assert kinds(said) == ["keep", "ready"] and said[0].text == "recovered"
    assert said[1].key == there.key and said[1].shares is not None and absent.epoch_key == key
    again = one(parties, 3, records=kept(said)).start()
    assert end(again).key == there.key


def test_too_little_stake_ends_without_a_key(parties: Parties, messages: list[bytes]) -> None:
    party = one(parties, 3)
    feed(party, [messages[0]])
    (said,) = party.ended()
    assert said.kind == "aborted" and isinstance(said.error, NotEnoughError)
    assert (said.code, said.error.got, said.error.need) == ("below-qualification", 30, 33)
    assert party.epoch_key is None and party.ordered(7, messages[3]) == []
    # Two thirds of the stake are accused: nobody is left.
    config = parties.config(qualify=70)
    party = one(parties, 1, config=config)
    said = party.ordered(0, config.envelope(3, parties.signers[3], b""))[-1]
    assert said.kind == "aborted" and str(said.error).startswith("nobody is left to deal")


def test_what_does_not_fit_together(parties: Parties, messages: list[bytes]) -> None:
    config, order = parties.config(), [messages[2], messages[3]]
    with pytest.raises(ArgumentError, match="party 4 is not one of 4"):
        Keygen(config, 4, parties.signers[0])
    with pytest.raises(ArgumentError):
        one(parties, 0, kind="other")
    with pytest.raises(ArgumentError):
        one(parties, 0, seed=b"short")
    wrong: list[Any] = ["x", None]
    for value in wrong:
        with pytest.raises(TypeError):
            Keygen(value, 0, parties.signers[0])
        with pytest.raises(TypeError):
            Keygen(config, 0, value)
    with pytest.raises(TypeError):
        one(parties, 0, recipient="x")
    party = one(parties, 0)
    with pytest.raises(TypeError):
        party.ordered("1", messages[0])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        party.ordered(2**64, messages[0])
    with pytest.raises(TypeError):
        party.ordered(1, "message")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        pickle.dumps(party)
    # Another's signing key deals nothing, and another's key to its shares opens nothing.
    mixed = Keygen(config, 0, parties.signers[1], parties.key(1))
    assert told(mixed.start()) == [("refused", "other-signing-key")]
    closed = end(feed(mixed, order))
    assert closed.shares is None and closed.code == "other-decryption-key" and closed.key is not None
    closed.key.open(0, parties.key(0))
    # A key that was used opens nothing more.
    used = parties.key(3)
    end(feed(one(parties, 3, recipient=used), order))
    assert end(feed(one(parties, 3, recipient=used), order)).code == "key-used-up"
    observer = end(feed(one(parties, 3, recipient=None), order))
    assert (observer.shares, observer.error, observer.key) == (None, None, closed.key)
    assert prefinal.CODES["contradiction"]
