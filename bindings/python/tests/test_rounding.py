"""Rounding: every kind of list, exact ratios, results as values, refusals."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, count
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prefinal
from prefinal import FAST, SLOW, ArgumentError, EncodingError, Pair, RoundingError

STAKES = [30, 20, 20, 10, 10, 10]


def brute(stakes: list[int], rounding: prefinal.Rounding) -> None:
    """Every subset, by definition."""
    total = sum(stakes)
    for size in range(len(stakes) + 1):
        for members in combinations(range(len(stakes)), size):
            stake = sum(stakes[i] for i in members)
            weight = sum(rounding.weights[i] for i in members)
            for one in rounding:
                if stake <= one.pair.secrecy * total:
                    assert weight < one.threshold
                if stake >= one.pair.reconstruction * total:
                    assert weight >= one.threshold


@pytest.mark.parametrize("seed", range(20))
def test_every_subset_keeps_its_promise(seed: int) -> None:
    draw = random.Random(seed)
    stakes = [draw.randint(0, 50) for _ in range(draw.randint(1, 9))] + [1]
    try:
        rounding = prefinal.round_stakes(stakes)
    except RoundingError as error:
        assert error.code == "no-rounding"
        return
    brute(stakes, rounding)
    rounding.verify(stakes)


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        iter,
        np.array,
        lambda s: np.array(s, dtype=np.uint64),
        lambda s: np.array(s, dtype=np.int32)[::-1][::-1],
        lambda s: np.repeat(np.array(s), 2)[::2],
        lambda s: np.array(s, dtype=object),
        lambda s: np.array(s, dtype=float),
        pd.Series,
        lambda s: pd.Series(s, index=list("abcdef")),
        lambda s: pd.Series(s, dtype="Int64"),
        lambda s: (x for x in s),
        lambda s: dict(enumerate(s)).values(),
        lambda s: [np.int64(x) for x in s],
    ],
)
def test_stakes_in_any_iterable(kind: Any) -> None:
    assert prefinal.round_stakes(kind(STAKES)) == prefinal.round_stakes(STAKES)


def test_big_integers_are_exact() -> None:
    big = [x * 10**36 + 1 for x in (3, 2, 2, 1)]
    rounding = prefinal.round_stakes(big)
    assert rounding["slow"].total == sum(big)
    brute(big, rounding)


def test_a_real_table_has_the_numbers_of_the_command() -> None:
    rounding = prefinal.round_stakes(prefinal.stakes.load("aptos_mainnet_129"))
    assert (rounding.total, rounding.largest, rounding.holders) == (162, 4, 80)
    assert (rounding["slow"].threshold, rounding["fast"].threshold) == (96, 124)
    assert rounding["fast"].legal == (124, 127)
    assert f"{float(rounding['fast'].reconstruction):.4f}" == "0.8135"


def test_a_budget_buys_less_stake() -> None:
    table = prefinal.stakes.load("sui_epoch_1200")
    few = prefinal.round_stakes(table, budget=192)
    many = prefinal.round_stakes(table, budget=512)
    assert few.total <= 192 and many.total <= 512
    assert many["fast"].reconstruction < few["fast"].reconstruction < FAST.reconstruction
    assert many.least_total is None and many.least_sufficient is not None


@pytest.mark.parametrize("ratio", ["4/5", Fraction(4, 5), (4, 5), "0.8"])
def test_ratios_are_exact(ratio: Any) -> None:
    rounding = prefinal.round_stakes(STAKES, fast=ratio)
    assert rounding["fast"].pair.reconstruction == Fraction(4, 5)


def test_results_are_values() -> None:
    rounding = prefinal.round_stakes(STAKES)
    again = pickle.loads(pickle.dumps(rounding))
    assert again == rounding and hash(again) == hash(rounding)
    assert "Rounding(guarantees=(Guarantee(" in repr(rounding)
    assert "total weight" in str(rounding)
    with pytest.raises(AttributeError):
        rounding.steps = 0  # type: ignore[misc]
    with pytest.raises(KeyError):
        rounding["other"]
    assert [one.name for one in rounding] == ["slow", "fast"]


def test_weights_that_leak_or_stall_are_refuted() -> None:
    with pytest.raises(RoundingError) as stalls:
        prefinal.verify_weights([3, 2, 2], [1, 1, 1], [(SLOW, 3)])
    assert stalls.value.code == "rounding-stalls"
    assert (stalls.value.need, stalls.value.got, stalls.value.culprits) == (3, 2, (0, 1))
    with pytest.raises(RoundingError) as leaks:
        prefinal.verify_weights([3, 2, 2], [1, 1, 1], [(SLOW, 1)])
    assert leaks.value.code == "rounding-leaks"
    again = pickle.loads(pickle.dumps(leaks.value))
    assert repr(again) == repr(leaks.value) and again.culprits == leaks.value.culprits


@pytest.mark.parametrize(
    ("stakes", "code", "index"),
    [
        ([], "no-parties", None),
        ([0, 0], "no-stake", None),
        ([5, -1], "invalid-argument", 1),
        ([5, float("nan")], "invalid-argument", 1),
        ([5, float("inf")], "invalid-argument", 1),
        ([5, 0.5], "invalid-argument", 1),
        ([5, 2.0**53 * 2], "invalid-argument", 1),
        ([5, 2**128], "invalid-argument", 1),
        ([5, 10**5000], "invalid-argument", 1),
        ([2**127, 2**127], "stake-overflow", 1),
        (pd.Series([1.0, None]), "invalid-argument", 1),
        (np.array([1, -2]), "invalid-argument", 1),
        (count(), "invalid-argument", 1 << 20),
    ],
)
def test_values_that_are_no_stakes(stakes: Any, code: str, index: Any) -> None:
    with pytest.raises(ArgumentError) as error:
        prefinal.round_stakes(stakes)
    assert (error.value.code, error.value.index) == (code, index)


@pytest.mark.parametrize(
    "stakes",
    [
        None,
        7,
        "123",
        b"123",
        bytearray(b"1"),
        {0: 1},
        ["1", "2"],
        [1, None],
        [1, [2]],
        [True, 2],
        [1, 2j],
        np.array([[1, 2], [3, 4]]),
        np.array(["1"]),
        pd.DataFrame({"stake": [1, 2]}),
        object(),
    ],
)
def test_types_that_are_no_stakes(stakes: Any) -> None:
    with pytest.raises(TypeError):
        prefinal.round_stakes(stakes)


class Hostile:
    """Says one length, has another, and raises in the middle."""

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[int]:
        yield from (1, 2, 3)
        raise KeyError("in the middle")


class Index:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __index__(self) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def test_hostile_iterables_and_numbers() -> None:
    with pytest.raises(KeyError, match="in the middle"):
        prefinal.round_stakes(Hostile())
    with pytest.raises(ZeroDivisionError):
        prefinal.round_stakes([1, Index(ZeroDivisionError())])
    with pytest.raises(ValueError):
        prefinal.round_stakes([1, Index("no number")])
    grows = [1]

    def growing() -> Iterator[int]:
        for value in grows:
            if len(grows) < 5:
                grows.append(value + 1)
            yield value

    assert len(prefinal.round_stakes(growing()).weights) == 5


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"fast": 0.83}, TypeError),
        ({"fast": None, "pairs": [("fast", "2/3", "5/6")]}, TypeError),
        ({"fast": "5/6", "pairs": [FAST]}, ArgumentError),
        ({"fast": "2/3"}, ArgumentError),
        ({"fast": "1/0"}, ArgumentError),
        ({"fast": "7/6"}, ArgumentError),
        ({"fast": "x"}, EncodingError),
        ({"fast": "9" * 5000}, EncodingError),
        ({"fast": Fraction(10**40, 10**40 + 1)}, ArgumentError),
        ({"fast": Fraction(-1, 2)}, ArgumentError),
        ({"fast": (1, 2, 3)}, TypeError),
        ({"pairs": []}, ArgumentError),
        ({"pairs": [SLOW, SLOW]}, ArgumentError),
        ({"budget": 2}, RoundingError),
        ({"budget": -1}, ArgumentError),
        ({"budget": 2**40}, ArgumentError),
        ({"budget": "9"}, TypeError),
        ({"steps": 1.5}, ArgumentError),
        ({"limit": 1}, RoundingError),
        ({"unknown": 1}, TypeError),
    ],
)
def test_arguments_that_make_no_sense(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        prefinal.round_stakes(STAKES, **arguments)


def test_the_budget_says_what_would_do() -> None:
    with pytest.raises(RoundingError) as error:
        prefinal.round_stakes(STAKES, budget=2)
    assert error.value.code == "budget-too-small" and error.value.got == 2
    assert error.value.need is not None
    assert prefinal.round_stakes(STAKES, budget=error.value.need).total == error.value.need


def test_pairs_of_ones_own() -> None:
    rounding = prefinal.round_stakes(STAKES, pairs=[Pair("one", "1/3", "1/2")])
    assert [str(one.pair) for one in rounding] == ["one (1/3, 1/2)"]
    brute(STAKES, rounding)
