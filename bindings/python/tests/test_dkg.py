"""Key generation, and what its keys serve: signatures, decryption, the weighted VUF."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import prefinal
from prefinal import (
    ArgumentError,
    DkgConfig,
    Domain,
    EncodingError,
    FaultError,
    NotEnoughError,
    RecipientKey,
    Registration,
    SecretKey,
    VerifiedDealing,
    VufInput,
)

WEIGHTS = [2, 0, 1, 3]
STAKES = [30, 5, 20, 45]


class Parties:
    """Four parties with all their keys."""

    def __init__(self, seed: int = 1) -> None:
        count = len(WEIGHTS)
        self.signers = [SecretKey.from_seed(bytes([seed, i] * 16)) for i in range(count)]
        self.seed = seed
        self.keys = [self.key(i) for i in range(count)]
        self.proven = [one.public_key().prove(one.prove_possession()) for one in self.signers]
        self.recipients = [
            key.register(signer).verify(signer.public_key())
            for key, signer in zip(self.keys, self.signers)
        ]

    def key(self, party: int) -> RecipientKey:
        """As often as a test wants to open the party's shares again."""
        return RecipientKey.generate(seed=bytes([self.seed + party] * 32))

    def open(self, key: prefinal.DkgKey, party: int) -> prefinal.OwnShares:
        return key.open(party, self.key(party))

    def fields(self) -> dict[str, Any]:
        return {
            "chain": bytes(32),
            "epoch": 7,
            "purpose": "randomness",
            "signers": self.proven,
            "recipients": self.recipients,
            "stakes": STAKES,
            "weights": WEIGHTS,
            "slow": 3,
            "fast": 5,
        }

    def config(self, **changes: Any) -> DkgConfig:
        return DkgConfig(**{**self.fields(), **changes})


@pytest.fixture(scope="module")
def parties() -> Parties:
    return Parties()


def test_a_key_that_nobody_knows_signs_and_decrypts(parties: Parties) -> None:
    config = parties.config()
    assert config.weights == WEIGHTS and config.qualify == 33
    sent = [bytes(config.deal(i, parties.signers[i])) for i in (0, 2)]
    received = [config.read(data) for data in sent]
    assert [one.dealer for one in received] == [0, 2]
    told: list[int] = []
    verdicts = config.verify_all(received, progress=told.append)
    verified = [one for one in verdicts if isinstance(one, VerifiedDealing)]
    assert len(verified) == 2 and sum(told) == 2
    with pytest.raises(NotEnoughError) as few:
        config.aggregate(verified[:1])
    assert (few.value.code, few.value.got, few.value.need) == ("below-qualification", 30, 33)
    key = config.aggregate(verified)
    assert key.dealers == [0, 2] and key.kind == "field"
    assert key.digest == config.aggregate(verified[::-1]).digest

    values = []
    path: Any
    for path, who in (("slow", (0, 2)), ("fast", (0, 3))):
        committee = key.committee(path=path)
        assert bytes(committee.group_key) == key.public_key
        partials = {i: key.signer(parties.open(key, i), path=path).sign(9) for i in who}
        values.append(committee.combine(9, partials))
    assert values[0] == values[1]
    with pytest.raises(FaultError):
        key.committee(path="slow").combine(
            9, {i: key.signer(parties.open(key, i), path="fast").sign(9) for i in (0, 2)}
        )
    statements = parties.config(purpose="certificates")
    assert statements.purpose == "certificates" and statements.digest != config.digest
    with pytest.raises(FaultError):
        statements.verify(received[0])
    own = [statements.verify(statements.deal(i, parties.signers[i])) for i in (0, 2)]
    signing = statements.aggregate(own)
    for asked in (
        lambda: key.committee(purpose=Domain("text")),
        lambda: key.decryption_committee(),
        lambda: signing.committee(),
    ):
        with pytest.raises(ArgumentError) as other:
            asked()
        assert other.value.code == "wrong-purpose"
    texts = signing.committee(purpose=Domain("text"))
    writers = {i: signing.signer(parties.open(signing, i), purpose=Domain("text")) for i in (2, 3)}
    signature = texts.combine(b"text", {i: one.sign(b"text") for i, one in writers.items()})
    texts.group_key.verify(signature, b"text", domain=Domain("text"))

    unknown: Any = "other"
    for call in (
        lambda: key.signer(parties.open(key, 1)),
        lambda: key.open(0, parties.key(2)),
        lambda: key.open(9, parties.key(2)),
        lambda: key.vuf_committee(),
        lambda: key.vuf_shares(parties.open(key, 0)),
        lambda: key.committee(path=unknown),
    ):
        with pytest.raises(ArgumentError):
            call()


@pytest.mark.parametrize("kind", ["field", "group"])
def test_a_key_opens_once_and_shares_serve_once(parties: Parties, kind: Any) -> None:
    config = parties.config()
    dealt = (config.deal(i, parties.signers[i], kind=kind) for i in (0, 2))
    key = config.aggregate([config.verify(one) for one in dealt])
    recipient = parties.key(3)
    with pytest.raises(ArgumentError) as other:
        key.open(0, recipient)
    assert other.value.code == "other-decryption-key"
    # What opened nothing is not lost.
    shares = key.open(3, recipient)
    assert shares.party == 3 and repr(shares) == "<OwnShares of party 3>"
    for call in (
        lambda: key.open(3, recipient),
        lambda: recipient.register(parties.signers[3]),
    ):
        with pytest.raises(ArgumentError) as used:
            call()
        assert used.value.code == "key-used-up"
    use: Any = key.signer if kind == "field" else key.vuf_shares
    use(shares, path="slow")
    use(shares, path="fast")
    with pytest.raises(ArgumentError):
        use(shares, path="fast")
    with pytest.raises(TypeError):
        pickle.dumps(shares)


@pytest.mark.parametrize("kind", ["field", "group"])
def test_keys_that_look_alike_are_not_equal(parties: Parties, kind: Any) -> None:
    def key(epoch: int, seed: int) -> prefinal.DkgKey:
        config = parties.config(epoch=epoch)
        dealt = (
            config.deal(i, parties.signers[i], kind=kind, seed=bytes([seed + i] * 32))
            for i in (0, 2)
        )
        return config.aggregate([config.verify(one) for one in dealt])

    # A seed that is used again makes the same key in one session, and another one in the next.
    first, again, later = key(7, 1), key(7, 1), key(8, 1)
    assert first == again and hash(first) == hash(again)
    assert first.public_key != later.public_key and repr(first) != repr(later)
    assert first != later and len({first, again, later}) == 2
    assert first != key(7, 3) and first != object()


def test_a_committee_decrypts(parties: Parties) -> None:
    config = parties.config(purpose="decryption")
    dealings = [config.verify(config.deal(i, parties.signers[i])) for i in (0, 3)]
    key = config.aggregate(dealings)
    committee = key.decryption_committee(path="fast")
    label = prefinal.slot_label(bytes(32), 7, 12)
    encrypted = committee.key.encrypt(b"a secret bid", label)
    again = prefinal.Ciphertext(bytes(encrypted))
    assert again == encrypted == pickle.loads(pickle.dumps(encrypted))
    holders = {i: key.decryption_key(parties.open(key, i), path="fast") for i in (0, 2, 3)}
    shares = {i: own.decrypt_share(again, committee.key, label) for i, own in holders.items()}
    assert committee.combine(again, label, shares) == b"a secret bid"
    for party, share in shares.items():
        committee.verify_share(party, again, label, share)
        assert prefinal.DecryptionShare(bytes(share)) == share
    assert b"secret" not in bytes(encrypted) and "shares" not in repr(holders[0])
    with pytest.raises(NotEnoughError) as few:
        committee.combine(again, label, {0: shares[0], 2: shares[2]})
    assert (few.value.got, few.value.need) == (3, 5)
    other = committee.key.encrypt(b"another bid", label)
    false = {**shares, 0: holders[0].decrypt_share(other, committee.key, label)}
    with pytest.raises(FaultError) as error:
        committee.combine(again, label, false)
    assert error.value.culprits == (0,)
    with pytest.raises(FaultError) as early:
        committee.combine(again, prefinal.slot_label(bytes(32), 7, 13), shares)
    assert early.value.code == "invalid-ciphertext"
    with pytest.raises(ArgumentError):
        committee.key.encrypt(b"", bytes(1025))
    with pytest.raises(ArgumentError):
        committee.key.encrypt(bytes((1 << 20) + 1), b"")


def test_the_weighted_vuf_on_both_paths(parties: Parties) -> None:
    config = parties.config()
    dealings = [config.verify(config.deal(i, parties.signers[i], kind="group")) for i in (2, 3)]
    key = config.aggregate(dealings)
    assert key.kind == "group"
    given = VufInput(bytes(32), 7, 1)
    outputs = []
    path: Any
    for path in ("slow", "fast"):
        committee = key.vuf_committee(path=path)
        blinded = {
            i: key.vuf_shares(parties.open(key, i), path=path).blind(committee, i) for i in (0, 2, 3)
        }
        assert committee.admit({i: pair[1] for i, pair in blinded.items()}) == {}
        partials = {i: pair[0].evaluate(given) for i, pair in blinded.items()}
        outputs.append(committee.combine(given, partials))
    assert outputs[0] == outputs[1]
    assert len(key.vuf_shares(parties.open(key, 1))) == 0
    with pytest.raises(ArgumentError):
        key.committee()
    field = config.verify(config.deal(0, parties.signers[0]))
    with pytest.raises(ArgumentError):
        config.aggregate([*dealings, field])


@pytest.mark.parametrize("kind", ["field", "group"])
def test_false_dealings_are_refused(parties: Parties, kind: Any) -> None:
    config = parties.config()
    good = bytes(config.deal(0, parties.signers[0], kind=kind))
    assert config.read(good, kind=kind) == config.read(bytearray(good), kind=kind)
    for data in (b"", good[:-1], good + b"!", b"\x09" + good[1:], bytes(len(good))):
        with pytest.raises(EncodingError):
            config.read(data, kind=kind)
    other = config.deal(2, parties.signers[2], kind=kind)
    # Another's proof under this dealer's name.
    forged = config.read(good[:5] + bytes(other)[5:], kind=kind)
    with pytest.raises(FaultError):
        config.verify(forged)
    verdicts = config.verify_all([other, forged])
    assert isinstance(verdicts[0], VerifiedDealing) and isinstance(verdicts[1], FaultError)
    elsewhere = parties.config(epoch=8)
    with pytest.raises(FaultError):
        elsewhere.verify(config.read(good, kind=kind))
    verified = [config.verify(config.read(good, kind=kind))]
    with pytest.raises(ArgumentError) as twice:
        config.aggregate(verified * 2)
    assert twice.value.code == "dealt-twice" and twice.value.party == 0
    with pytest.raises(ArgumentError) as foreign:
        elsewhere.aggregate(verified)
    assert foreign.value.code == "other-session"
    with pytest.raises(NotEnoughError):
        config.aggregate([])


def test_configurations_that_make_no_sense(parties: Parties) -> None:
    changes: Any
    unknown: Any = "ring"
    for changes, code in [
        ({"chain": bytes(31)}, "invalid-argument"),
        ({"epoch": -1}, "invalid-argument"),
        ({"weights": [3, 3]}, "wrong-count"),
        ({"stakes": [1, 1]}, "invalid-argument"),
        ({"stakes": [2**127, 2**127, 1, 1]}, "stake-overflow"),
        ({"slow": 0}, "threshold-range"),
        ({"slow": 7}, "threshold-range"),
        ({"fast": 2}, "threshold-order"),
        ({"qualify": 100}, "qualification-range"),
        ({"qualify": 0}, "qualification-range"),
        ({"purpose": "lottery"}, "invalid-argument"),
        ({"signers": [parties.proven[0]] * 4}, "duplicate-key"),
        ({"recipients": [parties.recipients[0]] * 4}, "duplicate-key"),
    ]:
        with pytest.raises(ArgumentError) as error:
            parties.config(**changes)
        assert error.value.code == code, changes
    for wrong in (
        {"colour": 1},
        {"purpose": None},
        {"signers": parties.signers},
        {"recipients": parties.keys},
        {"chain": "0" * 32},
        {"weights": None},
    ):
        with pytest.raises(TypeError):
            parties.config(**wrong)
    config = parties.config(fast=None)
    with pytest.raises(ArgumentError):
        config.deal(0, parties.signers[1])
    with pytest.raises(ArgumentError):
        config.deal(4, parties.signers[0])
    with pytest.raises(ArgumentError):
        config.deal(0, parties.signers[0], kind=unknown)
    dealing = config.verify(config.deal(3, parties.signers[3]))
    with pytest.raises(ArgumentError):
        config.aggregate([dealing]).committee(path="fast")


def test_registrations_are_bound_to_their_signer(parties: Parties) -> None:
    signer = parties.signers[0]
    registration = parties.keys[0].register(signer)
    data = bytes(registration)
    assert len(data) == 272 and Registration(data) == registration
    assert pickle.loads(pickle.dumps(registration)) == registration
    registration.verify(signer.public_key())
    with pytest.raises(FaultError):
        registration.verify(parties.signers[1].public_key())
    with pytest.raises(ArgumentError):
        registration.verify(signer.public_key(variant="min-pk"))
    for wrong in (b"", data[:-1], bytes(272), data + b"!"):
        with pytest.raises(EncodingError):
            Registration(wrong)
    with pytest.raises(TypeError):
        pickle.dumps(parties.keys[0])
    stored = parties.keys[0].secret_bytes()
    assert len(stored) == 32 and RecipientKey(stored).secret_bytes() == stored
    again = RecipientKey(stored).register(signer).verify(signer.public_key())
    assert again == parties.recipients[0]
    for wrong in (b"", stored[:-1], bytes(32), b"\xff" * 32):
        with pytest.raises(EncodingError):
            RecipientKey(wrong)
    assert repr(parties.keys[0]) == "<RecipientKey>"
