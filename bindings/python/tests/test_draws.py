"""What transactions draw from the value of their slot: the model's vectors, and what is refused."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from prefinal import ArgumentError, Draw, Draws

Vectors = Callable[[str], Any]
VALUE, HASH = bytes(32), b"\x07" * 32


def draw() -> Draw:
    return Draws(VALUE, "acme/raffle", HASH).at(0)


def test_draws_are_what_the_model_draws(model: Vectors) -> None:
    cases = model("draws")["cases"]
    assert len(cases) > 10
    for case in cases:
        value, transaction = bytes.fromhex(case["value"]), bytes.fromhex(case["transaction"])
        one = Draws(value, case["application"], transaction).at(int(case["index"]))
        assert bytes(one).hex() == one.hex() == case["draw"]
        for number in case["numbers"]:
            assert one.below(int(number["bound"])) == int(number["number"])
        for order in case["orders"]:
            among, places = int(order["among"]), [int(place) for place in order["order"]]
            assert one.order(among, len(places)) == places
            if among == len(places):
                assert one.shuffled(range(among)) == one.order(among) == places


def test_what_the_model_refuses_is_refused(model: Vectors) -> None:
    refused = model("draws")["refused"]
    assert len(refused) > 5
    for case in refused:
        with pytest.raises(ArgumentError) as error:
            Draws(VALUE, case["application"], bytes.fromhex(case["transaction"]))
        assert error.value.code == "invalid-argument"


def test_a_draw_answers_the_same_each_time() -> None:
    assert draw() == draw() and hash(draw()) == hash(draw())
    assert draw().below(6) == draw().below(6)
    assert draw() != Draws(VALUE, "acme/raffle", HASH).at(1)
    assert sorted(draw().shuffled("abc"[at] for at in range(3))) == ["a", "b", "c"]
    assert draw().shuffled([]) == draw().order(0) == []


def test_arguments_out_of_range() -> None:
    wrong: list[Callable[[], object]] = [
        lambda: Draws(VALUE[1:], "a", HASH),
        lambda: Draws(VALUE, "\ud800", HASH),
        lambda: Draws(VALUE, "a", HASH).at(2**64),
        lambda: Draws(VALUE, "a", HASH).at(-1),
        lambda: draw().below(0),
        lambda: draw().below(2**64),
        lambda: draw().order(3, 4),
        lambda: draw().order(2**40),
    ]
    for call in wrong:
        with pytest.raises(ArgumentError):
            call()
    mistyped: list[Callable[[], object]] = [
        lambda: Draws("00" * 32, "a", HASH),  # type: ignore[arg-type]
        lambda: Draws(VALUE, b"a", HASH),  # type: ignore[arg-type]
        lambda: Draws(VALUE, "a", "00"),  # type: ignore[arg-type]
        lambda: draw().below("6"),  # type: ignore[arg-type]
        lambda: draw().below(None),  # type: ignore[arg-type]
        lambda: draw().shuffled("abc"),
        lambda: draw().shuffled(7),  # type: ignore[arg-type]
    ]
    for call in mistyped:
        with pytest.raises(TypeError):
            call()
