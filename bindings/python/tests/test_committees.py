"""Threshold signatures and the weighted VUF against the model, and against false partials."""

from __future__ import annotations

import pickle
from typing import Any, Callable

import pytest

from prefinal import (
    ArgumentError,
    BlindedKey,
    Committee,
    Domain,
    EncodingError,
    EvaluationKey,
    FaultError,
    NotEnoughError,
    Partial,
    PrefinalError,
    PublicKey,
    Signer,
    VufCommittee,
    VufInput,
    VufPartial,
    VufShares,
    drand,
)

Vectors = Callable[[str], Any]


def count(number: int) -> bytes:
    return number.to_bytes(4, "little")


def raw_partial(points: list[str]) -> Partial:
    return Partial(b"\x01\x10" + count(len(points)) + b"".join(map(bytes.fromhex, points)))


@pytest.mark.parametrize("placement", ["consecutive", "roots-of-unity"])
def test_threshold_signatures_are_the_models(model: Vectors, placement: Any) -> None:
    vectors = model("threshold")["min-sig"][placement]
    weights, shares = vectors["weights"], vectors["shares"]
    purposes: dict[str, Any] = {"domain": Domain(vectors["domain"]), "round": "rounds"}
    kinds = set()
    for case in vectors["cases"]:
        kinds.add(case["kind"])
        committee = Committee(
            weights,
            vectors["t"],
            PublicKey(bytes.fromhex(vectors["key"])),
            [bytes.fromhex(key) for key in vectors["public"]],
            purpose=purposes[case["kind"]],
            placement=placement,
        )
        message = vectors["round"] if case["kind"] == "round" else bytes.fromhex(case["message"])
        partials = {}
        for party, points in case["partials"].items():
            at, start = int(party), sum(weights[: int(party)])
            own = shares[start : start + weights[at]]
            signer = Signer(committee, at, bytes.fromhex("".join(own)))
            partial = signer.sign(message)
            assert partial == raw_partial(points) and len(partial) == weights[at]
            committee.verify_partial(at, message, partial)
            assert signer.secret_bytes().hex() == "".join(own)
            partials[at] = partial
        signature = committee.combine(message, partials)
        assert signature.hex() == case["signature"]
        committee.verify(message, signature)
        for one in case["refused"]:
            with pytest.raises(PrefinalError):
                committee.verify_partial(one["party"], message, raw_partial(one["partial"]))
        again = pickle.loads(pickle.dumps(committee))
        assert again == committee and hash(again) == hash(committee)
        assert again.purpose == committee.purpose and again.placement == placement
        assert again.combine(message, partials) == signature
    assert kinds == {"domain", "round"}


def test_a_committee_signs_rounds_that_drand_verifies() -> None:
    committee, signers = Committee.deal([3, 0, 2, 1], 4, seed=bytes(32))
    assert sorted(signers) == [0, 2, 3] and len(committee) == 4
    partials = {party: signer.sign(7) for party, signer in signers.items()}
    signature = committee.combine(7, partials)
    chain = drand.ChainInfo(
        scheme="bls-unchained-g1-rfc9380",
        public_key=bytes(committee.group_key),
        period=1,
        genesis_time=0,
        genesis_seed=bytes(32),
    )
    assert len(chain.verify(7, bytes(signature))) == 32
    with pytest.raises(FaultError):
        chain.verify(8, bytes(signature))
    assert Committee.deal([3, 0, 2, 1], 4, seed=bytes(32))[0] == committee
    assert Committee.deal([3, 0, 2, 1], 4)[0] != committee


def test_culprits_are_named_and_the_rest_goes_on() -> None:
    committee, signers = Committee.deal([1, 1, 2, 1, 1], 3)
    partials = {party: signer.sign(1) for party, signer in signers.items()}
    right = committee.combine(1, partials)
    false = dict(partials)
    false[1], false[3] = signers[1].sign(2), partials[4]
    with pytest.raises(FaultError) as error:
        committee.combine(1, false)
    assert error.value.code == "faulty" and error.value.culprits == (1, 3)
    for culprit in error.value.culprits:
        del false[culprit]
        with pytest.raises(FaultError) as single:
            committee.verify_partial(culprit, 1, signers[culprit].sign(9))
        assert single.value.party == culprit
    assert committee.combine(1, false) == right
    with pytest.raises(NotEnoughError) as few:
        committee.combine(1, {0: partials[0], 1: partials[1]})
    assert (few.value.got, few.value.need, few.value.code) == (2, 3, "below-threshold")
    short = {**partials, 2: partials[0]}
    with pytest.raises(FaultError) as shape:
        committee.combine(1, short)
    assert shape.value.culprits == (2,)


def test_keys_of_another_polynomial_are_refused() -> None:
    committee, _ = Committee.deal([1, 1, 1], 2)
    other, _ = Committee.deal([1, 1, 1], 2)
    keys = [*committee.share_keys[:2], other.share_keys[2]]
    with pytest.raises(FaultError) as error:
        Committee([1, 1, 1], 2, committee.group_key, keys)
    assert error.value.code == "degree-too-high"


@pytest.mark.parametrize(
    ("weights", "threshold", "kind"),
    [
        ([], 1, ArgumentError),
        ([0, 0], 1, ArgumentError),
        ([1, 1], 0, ArgumentError),
        ([1, 1], 3, ArgumentError),
        ([1, -1], 1, ArgumentError),
        ([1, 2**32], 1, ArgumentError),
        ([2**20, 1], 1, ArgumentError),
        ([1, 1], 2**70, ArgumentError),
        ([1, 1], -1, ArgumentError),
        ([1, 1], 1.5, ArgumentError),
        ([1, 1], "1", TypeError),
        ([1, 1], None, TypeError),
        ("11", 1, TypeError),
        (None, 1, TypeError),
    ],
)
def test_committees_that_make_no_sense(weights: Any, threshold: Any, kind: type) -> None:
    for make in (Committee.deal, VufCommittee.deal):
        with pytest.raises(kind):
            make(weights, threshold)


def test_messages_and_mappings_that_make_no_sense() -> None:
    rounds, signers = Committee.deal([1, 1], 1)
    texts, writers = Committee.deal([1, 1], 1, purpose=Domain("d"))
    message: Any
    partials: Any
    options: Any
    for message in (0, -1, 2**64, float("nan")):
        with pytest.raises(ArgumentError):
            signers[0].sign(message)
    for message in (b"text", None, "1", True):
        with pytest.raises(TypeError):
            signers[0].sign(message)
    with pytest.raises(TypeError):
        writers[0].sign(7)
    partial = signers[0].sign(1)
    for partials in (None, 7, [partial], [(0,)], {0: b"partial"}, {"0": partial}, {0.5: partial}):
        with pytest.raises((TypeError, ArgumentError)):
            rounds.combine(1, partials)
    for party in (5, 2**21, -1):
        with pytest.raises(ArgumentError):
            rounds.combine(1, {party: partial, 1: partial})
    with pytest.raises(FaultError):
        texts.combine(b"", {0: partial})
    for options in ({"purpose": "messages"}, {"placement": "nowhere"}):
        with pytest.raises(ArgumentError):
            Committee.deal([1, 1], 1, **options)
    with pytest.raises(TypeError):
        Committee.deal([1, 1], 1, colour="red")  # type: ignore[call-arg]
    with pytest.raises(ArgumentError):
        Committee.deal([1, 1], 1, seed=b"short")


def test_shares_of_others_are_refused() -> None:
    committee, signers = Committee.deal([1, 2, 0], 2)
    with pytest.raises(FaultError):
        Signer(committee, 0, signers[1].secret_bytes()[:32])
    for party in (1, 2, 3):
        with pytest.raises(ArgumentError):
            Signer(committee, party, signers[0].secret_bytes())
    for data in (b"\xff" * 32, bytes(31)):
        with pytest.raises(EncodingError):
            Signer(committee, 0, data)


def raw_key(key: Any) -> BlindedKey:
    rho = [bytes.fromhex(one) for one in key["rho"]]
    head = b"".join(bytes.fromhex(key[name]) for name in ("pi", "nonce", "response"))
    return BlindedKey(b"\x01\x20" + head + count(len(rho)) + b"".join(rho))


@pytest.mark.parametrize("path", ["slow", "fast"])
def test_the_weighted_vuf_is_the_models(model: Vectors, path: str) -> None:
    vectors = model("wvuf")
    own = vectors[path]
    public = [bytes.fromhex(one) for one in own["public"]]
    committee = VufCommittee(vectors["weights"], own["t"], public)
    keys = {int(party): raw_key(key) for party, key in own["keys"].items()}
    assert committee.admit(keys) == {} and committee.admitted == sorted(keys)
    chain, epoch = bytes.fromhex(vectors["chain"]), vectors["epoch"]
    for one in own["inputs"]:
        value = bytes.fromhex(one["value"]) if one["value"] else None
        given = VufInput(chain, epoch, int(one["slot"]), value=value)
        assert pickle.loads(pickle.dumps(given)) == given
        partials = {}
        for party, key in own["keys"].items():
            partial = EvaluationKey(bytes.fromhex(key["evaluation"])).evaluate(given)
            assert partial == VufPartial(b"\x01\x21" + bytes.fromhex(one["partials"][party]))
            committee.verify_partial(int(party), given, partial)
            partials[int(party)] = partial
        output = committee.combine(given, partials)
        assert output.hex() == one["output"] and output.randomness.hex() == one["randomness"]
        false = {**partials, 2: partials[3]}
        with pytest.raises(FaultError) as error:
            committee.combine(given, false)
        assert error.value.culprits == (2,)


def test_keys_are_admitted_once_and_refused_with_reasons() -> None:
    committee, shares = VufCommittee.deal([2, 0, 1, 1], 3)
    assert sorted(shares) == [0, 2, 3] and len(shares[0]) == 2
    blinded = {party: own.blind(committee, party) for party, own in shares.items()}
    keys = {party: pair[1] for party, pair in blinded.items()}
    false = {0: keys[0], 1: keys[2], 2: keys[3], 3: keys[0], 9: keys[2]}
    refused = committee.admit(false)
    assert {party: error.code for party, error in refused.items()} == {
        1: "holds-no-shares",
        2: "possession-mismatch",
        3: "wrong-count",
        9: "not-a-member",
    }
    assert committee.admitted == [0]
    assert {party: error.code for party, error in committee.admit(keys).items()} == {
        0: "duplicate-key"
    }
    given = VufInput(bytes(32), 0, 1)
    partials = {party: pair[0].evaluate(given) for party, pair in blinded.items()}
    output = committee.combine(given, partials)
    assert committee.combine(given, {0: partials[0], 3: partials[3]}) == output
    with pytest.raises(NotEnoughError) as few:
        committee.combine(given, {0: partials[0]})
    assert (few.value.got, few.value.need) == (2, 3)
    with pytest.raises(ArgumentError):
        committee.combine(given, {1: partials[0], 0: partials[0]})
    again = VufShares(shares[0].secret_bytes())
    assert committee.admit({0: again.blind(committee, 0)[1]})[0].code == "duplicate-key"
    _, others = VufCommittee.deal([2, 0, 1, 1], 3)
    strange = {party: own.blind(committee, party)[1] for party, own in others.items()}
    refused = committee.admit(strange)
    assert {error.code for error in refused.values()} == {"share-mismatch"}


def test_nothing_secret_is_printed_or_pickled() -> None:
    _, signers = Committee.deal([1], 1)
    committee, shares = VufCommittee.deal([1], 1)
    key, blinded = shares[0].blind(committee, 0, seed=bytes(32))
    for secret, bytes_ in [
        (signers[0], signers[0].secret_bytes()),
        (shares[0], shares[0].secret_bytes()[0]),
        (key, key.secret_bytes()),
    ]:
        assert bytes_.hex()[:12] not in repr(secret) + str(secret)
        with pytest.raises(TypeError):
            pickle.dumps(secret)
    assert pickle.loads(pickle.dumps(blinded)) == blinded
    with pytest.raises(ArgumentError):
        VufInput(b"short", 0, 1)
    with pytest.raises(ArgumentError):
        VufInput(bytes(32), -1, 1)
