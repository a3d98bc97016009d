"""Stake to small integer weights, exactly, with every result checked.

Consensus counts stake in large numbers; sharing a secret wants few shares. A rounding gives each party
a small weight and each pair of ratios a threshold, such that sets with at most the secrecy ratio of the
stake never reach the threshold and sets with at least the reconstruction ratio always do::

    >>> import prefinal
    >>> rounding = prefinal.round_stakes([30, 20, 20, 10, 10, 10])
    >>> rounding.total, rounding["fast"].threshold
    (9, 7)

Stakes are whole numbers in any iterable: lists, numpy arrays, pandas Series; Python integers of any
size up to 128 bits in sum. Ratios are exact: ``"5/6"``, ``Fraction(5, 6)`` or ``(5, 6)``, no floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Optional, Union

from prefinal import _core
from prefinal.errors import ArgumentError, EncodingError

__all__ = [
    "FAST",
    "SLOW",
    "Guarantee",
    "Pair",
    "RatioLike",
    "Rounding",
    "round_stakes",
    "verify_weights",
]

RatioLike = Union[Fraction, str, int, "tuple[int, int]"]


def _ratio(value: RatioLike) -> Fraction:
    """An exact share of the stake. Raises for floats, which are not."""
    try:
        if isinstance(value, str):
            if len(value) > 100:
                raise ValueError
            return Fraction(value)
        if isinstance(value, tuple) and len(value) == 2:
            return Fraction(value[0], value[1])
        if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
            return Fraction(value)
    except ZeroDivisionError:
        raise ArgumentError("a fraction has the denominator 0", code="zero-denominator") from None
    except ValueError:
        why = f"{value!r:.50} is no fraction such as '2/3'"
        raise EncodingError(why, code="not-a-fraction") from None
    got = type(value).__name__
    raise TypeError(f"expected a ratio as Fraction, 'n/d' or (n, d), got {got}; floats are not exact")


def _raw(value: Fraction) -> tuple[int, int]:
    return value.numerator, value.denominator


@dataclass(frozen=True)
class Pair:
    """Up to ``secrecy`` of the stake learns nothing, ``reconstruction`` of it or more suffices."""

    name: str
    secrecy: Fraction
    reconstruction: Fraction

    def __init__(self, name: str, secrecy: RatioLike, reconstruction: RatioLike) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "secrecy", _ratio(secrecy))
        object.__setattr__(self, "reconstruction", _ratio(reconstruction))

    def __str__(self) -> str:
        return f"{self.name} ({self.secrecy}, {self.reconstruction})"

    def _tuple(self) -> tuple[str, tuple[int, int], tuple[int, int]]:
        return self.name, _raw(self.secrecy), _raw(self.reconstruction)


#: Released when a value is final.
SLOW = Pair("slow", "1/2", "2/3")
#: Released with the vote that makes a value final once more than two thirds have cast it.
FAST = Pair("fast", "2/3", "5/6")


@dataclass(frozen=True)
class Guarantee:
    """What one threshold guarantees, in exact stake."""

    #: What was asked for.
    pair: Pair
    #: Weight that reconstructs.
    threshold: int
    #: The least and the greatest threshold that would do.
    legal: tuple[int, int]
    #: The least stake of any set that reaches the threshold: below it nothing leaks.
    least_leaking: int
    #: Every set with this stake or more reaches the threshold; no smaller number does.
    least_sufficient: int
    #: All stake.
    total: int

    @property
    def name(self) -> str:
        """The pair's name."""
        return self.pair.name

    @property
    def reconstruction(self) -> Fraction:
        """``least_sufficient`` as a share of the stake: what the path really needs."""
        return Fraction(self.least_sufficient, self.total)

    @property
    def leaking(self) -> Fraction:
        """``least_leaking`` as a share of the stake."""
        return Fraction(self.least_leaking, self.total)


@dataclass(frozen=True)
class Rounding:
    """Weights for all parties, and a threshold for each pair."""

    weights: tuple[int, ...] = field(repr=False)
    guarantees: tuple[Guarantee, ...]
    #: Proven: no smaller total weight satisfies the pairs. ``None`` if a budget was given.
    least_total: Optional[int]
    #: Proven: no smaller stake suffices for the last pair. ``None`` without a budget.
    least_sufficient: Optional[int]
    #: Whether there is nothing better, proven.
    optimal: bool
    #: Work of the scan and of the proof, in counts that are the same on all machines.
    steps: int = field(repr=False)
    nodes: int = field(repr=False)

    @property
    def total(self) -> int:
        """All weight: how many shares there are."""
        return sum(self.weights)

    @property
    def largest(self) -> int:
        """The largest weight."""
        return max(self.weights)

    @property
    def holders(self) -> int:
        """How many parties hold a share."""
        return sum(weight > 0 for weight in self.weights)

    def __getitem__(self, name: str) -> Guarantee:
        """The guarantee of the pair of this name."""
        for guarantee in self.guarantees:
            if guarantee.name == name:
                return guarantee
        raise KeyError(name)

    def __iter__(self) -> Iterator[Guarantee]:
        return iter(self.guarantees)

    def verify(self, stakes: Iterable[Any]) -> None:
        """Checks every threshold over all sets of parties; raises with a counterexample."""
        claims = [(guarantee.pair, guarantee.threshold) for guarantee in self.guarantees]
        verify_weights(stakes, self.weights, claims)

    def __str__(self) -> str:
        needs = ", ".join(
            f"{one.name} {one.threshold} (needs {float(one.reconstruction):.2%} of the stake)"
            for one in self.guarantees
        )
        holders = f"{self.holders} of {len(self.weights)} parties hold a share"
        return f"total weight {self.total}, {holders}; thresholds: {needs}"


def round_stakes(
    stakes: Iterable[Any],
    *,
    fast: Optional[RatioLike] = None,
    pairs: Optional[Sequence[Pair]] = None,
    budget: Optional[int] = None,
    limit: Optional[int] = None,
    steps: Optional[int] = None,
    nodes: Optional[int] = None,
) -> Rounding:
    """Rounds stakes to weights.

    By default for the pairs ``SLOW`` and ``FAST`` with the least total weight. ``fast`` sets the stake
    that the fast path may need (5/6); ``pairs`` replaces both. With ``budget``, a total weight, the last
    pair's stake is minimised within it instead. ``limit``, ``steps`` and ``nodes`` bound the search:
    totals tried, work for each offset, regions of the proof. Ctrl-C ends it.

    Raises ``RoundingError`` if there is nothing within the bounds, ``ArgumentError`` for stakes or
    ratios that make no sense.
    """
    if pairs is not None and fast is not None:
        raise ArgumentError("give either `fast` or `pairs`")
    asked = [SLOW, FAST if fast is None else Pair("fast", "2/3", fast)]
    if pairs is not None:
        asked = list(pairs)
    for pair in asked:
        if not isinstance(pair, Pair):
            raise TypeError(f"expected a Pair, got {type(pair).__name__}")
    # Once: an iterator is used up by it.
    numbers = _core.whole_numbers(stakes)
    limits = {"budget": budget, "limit": limit, "steps": steps, "nodes": nodes}
    solved = _core.solve(numbers, [pair._tuple() for pair in asked], limits)
    total = sum(numbers)
    guarantees = (
        Guarantee(pair=pair, total=total, **found)
        for pair, found in zip(asked, solved.pop("guarantees"))
    )
    return Rounding(guarantees=tuple(guarantees), weights=tuple(solved.pop("weights")), **solved)


def verify_weights(
    stakes: Iterable[Any], weights: Iterable[Any], claims: Iterable[tuple[Pair, int]]
) -> None:
    """Checks over all sets of parties that each threshold satisfies its pair.

    Raises ``RoundingError`` with a set that refutes a claim as ``culprits``, its weight as ``got`` and
    the threshold as ``need``.
    """
    raw = [(pair._tuple(), threshold) for pair, threshold in claims]
    _core.verify(stakes, weights, raw)
