"""The simulator: a committee with real engine, keys and cryptography in virtual time.

A seed replays a run, event by event::

    >>> import prefinal
    >>> run = prefinal.simulate([4, 3, 2, 2, 1], slots=3, seed=7)
    >>> len(run.waits) == 3 * 5
    True

Links have the measured round trips between the world's cloud regions. Cryptography takes no time unless
``costs`` says so, so that the same seed gives the same events on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Callable, Literal, Optional, Union

from prefinal import _core
from prefinal.errors import ArgumentError
from prefinal.faults import Fault, _all
from prefinal.rounding import Pair, RatioLike, _ratio

__all__ = ["Event", "RoundTrips", "Simulation", "Wait", "simulate"]

EngineName = Literal["jolteon", "malachite", "trantor", "dispel"]

#: Round trips between regions: a file, CSV with the columns ``from,to,p50_ms,p90_ms``; or a mapping from pairs of
#: names to milliseconds, the median or ``(median, 90th percentile)``; or a square table of them such as a
#: ``pandas.DataFrame``. Each pair is needed in one direction, a region with itself too.
RoundTrips = Union["os.PathLike[str]", Mapping[Any, Any], Any]


@dataclass(frozen=True)
class Event:
    """What happened.

    ``kind`` is ``proposed``, ``voted``, ``released`` (a partial left), ``finalized``, ``revealed`` (the
    value is there), ``skipped``, ``timed-out``, ``ready`` (the key generation is over) or ``accused`` (``sender``
    did wrong; the slot is 0); with ``messages`` also what arrived: ``partial``, or what the engine calls it, such as
    ``proposal``, ``vote``, ``order-vote``, ``timeout`` on Jolteon. Malachite has partials in its votes.
    """

    #: Microseconds of virtual time.
    time_us: int
    kind: str
    #: To whom, by position.
    party: int
    slot: int
    #: Of a partial or a value: ``slow``, ``fast`` or ``tight``.
    path: Optional[str] = None
    #: Of a message: from whom. Of an accusation: of whom.
    sender: Optional[int] = None


@dataclass(frozen=True)
class Wait:
    """How long a party waited for a slot's value after it knew that the slot was final."""

    slot: int
    party: int
    path: str
    ms: float


@dataclass(frozen=True)
class Simulation:
    """A run and what happened in it."""

    path: str
    scheme: str
    parties: int
    slots: int
    seed: int
    #: The events by column, in the order of time: what ``pandas.DataFrame`` takes.
    columns: dict[str, list[Any]] = field(repr=False)
    #: Of each slot, by column: when it was final (``final_us``, the paper's global finalization) and when anybody
    #: could compute its value (``computable_us``, global reconstruction), known or not; by which ``path``; and the
    #: ``premise``: a theorem makes the two equal if it is ``tight`` or ``synchronous``. Then how many parties had the
    #: value ``at_once`` when they knew the slot to be final, and how many waited for which reason: a value before was
    #: missing (``in_order``), work (``computing``), they knew by ``other_votes`` than those that carry partials, or
    #: ``by_proposer`` on DISPEL, the voters hold too few shares (``ramp``), a voter was ``unbound``, a ``link`` lost or
    #: delayed a partial. All are zero on the slow path, and where a party is faulty or crashes.
    global_times: dict[str, list[Any]] = field(default_factory=dict, repr=False)
    engine: str = "jolteon"

    @property
    def events(self) -> list[Event]:
        """The events, one by one."""
        names = list(self.columns)
        return [Event(**dict(zip(names, row))) for row in zip(*self.columns.values())]

    @property
    def waits(self) -> list[Wait]:
        """The wait of each party for each slot, the first if it has the value twice, after a crash or as twins."""
        final: dict[tuple[int, int], int] = {}
        waits: dict[tuple[int, int], Wait] = {}
        columns = self.columns
        for time, kind, party, slot, path in zip(
            columns["time_us"], columns["kind"], columns["party"], columns["slot"], columns["path"]
        ):
            if kind == "finalized":
                final.setdefault((slot, party), time)
            elif kind == "revealed":
                wait = max(0, time - final.get((slot, party), time))
                waits.setdefault((slot, party), Wait(slot, party, path, wait / 1000))
        return list(waits.values())

    def frame(self) -> Any:
        """The events as a ``pandas.DataFrame``; needs pandas."""
        return _frame(self.columns)

    def waits_frame(self) -> Any:
        """The waits as a ``pandas.DataFrame``: ``slot``, ``party``, ``path``, ``ms``; needs pandas."""
        import pandas

        return pandas.DataFrame(self.waits, columns=["slot", "party", "path", "ms"])

    def slots_frame(self) -> Any:
        """The global times as a ``pandas.DataFrame``, a row for each slot; needs pandas.

        ``longest_ms`` is the longest wait of any party, the paper's latency of the slot (Definition 12).
        """
        longest = self.waits_frame().groupby("slot")["ms"].max()
        frame = _frame(self.global_times)
        return frame.assign(longest_ms=frame["slot"].map(longest))


def simulate(
    stakes: Iterable[Any],
    *,
    path: Literal["slow", "fast", "tight"] = "fast",
    scheme: Literal["bls", "wvuf"] = "bls",
    engine: EngineName = "jolteon",
    slots: int = 20,
    seed: int = 1,
    fast: RatioLike = "5/6",
    weights: Optional[Iterable[Any]] = None,
    budget: Optional[int] = None,
    slow: tuple[RatioLike, RatioLike] = ("1/2", "2/3"),
    regions: Union[Literal["all", "none"], Sequence[str]] = "all",
    round_trips: Optional[RoundTrips] = None,
    jitter: int = 5,
    interface: Optional[str] = None,
    connection: Optional[str] = None,
    cores: int = 32,
    costs: Optional[str] = None,
    faults: Iterable[Fault] = (),
    messages: bool = False,
    progress: Optional[Callable[[int], object]] = None,
) -> Simulation:
    """Runs a committee until every party has the values of ``slots`` slots.

    ``path``: partials leave when a slot is final (``slow``), also with the vote that makes it final
    (``fast``), or of one sharing in which every party counts as one (``tight``). ``engine`` orders the slots.
    ``fast``: the stake that the fast path may need; ``slow``: the stake up to which the slow path leaks nothing, and
    that from which it has the value. ``budget``: the total weight, which then buys the least stake that the fast path
    needs, instead of the least weight for ``fast``. ``weights``: one for each stake, in place of a rounding; thresholds
    follow from them, and the fast path needs what they give.
    ``regions``: all of the world, one room (``none``), or names of regions, in which the parties are placed in
    turn; those of ``round_trips`` if given, else of AWS. ``jitter``: how far a link's delay strays from half its
    median round trip, in percent. ``interface``: the rate of each party's network interface in each direction, such as
    ``"100Mbit/s"`` (also ``kbit/s``, ``Gbit/s``), and ``connection`` that of each connection between two parties; without
    one, bytes take no time. ``costs``: what cryptography takes on ``cores`` cores: nothing, ``"measured"``
    here and now, or the text of ``measure_costs``. ``faults``: see ``prefinal.faults``. ``messages``
    adds an event for each message that arrives: many. ``progress`` is called with the number of slots since the
    last time. Ctrl-C ends the run.

    Raises ``ArgumentError`` for what makes no sense, ``RuntimeError`` if honest parties disagree or do not finish.
    """
    arguments = _arguments(
        stakes, regions, round_trips, (slow, fast),
        engine=engine, scheme=scheme, slots=slots, seed=seed, jitter=jitter, interface=interface, connection=connection,
        cores=cores, costs=costs, path=path, weights=weights, budget=budget, messages=messages, faults=_all(faults),
    )  # fmt: skip
    columns, times = _core.simulate(arguments, progress)
    parties = len(arguments["stakes"])
    return Simulation(path, scheme, parties, slots, seed, columns, times, engine)


def _frame(columns: dict[str, list[Any]]) -> Any:
    import pandas

    return pandas.DataFrame(columns)


def _arguments(
    stakes: Iterable[Any], regions: Any, round_trips: Any, paths: tuple[Any, RatioLike], **others: Any
) -> dict[str, Any]:
    """What a run is asked for, as Rust takes it."""
    named = [regions] if isinstance(regions, str) else list(regions)
    for name in named:
        if not isinstance(name, str):
            raise TypeError(f"expected a region's name, got {type(name).__name__}")
    slow, fast = paths
    if not isinstance(slow, tuple) or len(slow) != 2:
        raise TypeError(f"expected slow as two ratios, got {slow!r:.50}")
    ratio = _ratio(fast)
    usual: dict[str, Any] = {"path": "fast", "messages": False, "faults": []}
    for name in ("engine", "scheme", "path", "interface", "connection", "costs"):
        value = {**usual, **others}[name]
        if not isinstance(value, str) and (value is not None or name in ("engine", "scheme", "path")):
            raise TypeError(f"expected {name} as str, got {type(value).__name__}")
    return {
        **usual,
        "stakes": _core.whole_numbers(stakes),
        "regions": named,
        "round_trips": None if round_trips is None else _trips(round_trips),
        "fast": (max(ratio.numerator, 0), ratio.denominator),
        "slow": Pair("slow", *slow)._tuple(),
        **others,
    }


def _trips(table: RoundTrips) -> str:
    """A table of round trips as Rust reads it."""
    if isinstance(table, os.PathLike):
        with open(table, encoding="utf-8") as file:
            return file.read()
    to_dict = getattr(table, "to_dict", None)
    if to_dict is not None:
        table = to_dict()
    if not isinstance(table, Mapping):
        raise TypeError(f"expected round trips as a mapping or a path, got {type(table).__name__}")
    lines = ["from,to,p50_ms,p90_ms"]
    for pair, trip in table.items():
        if isinstance(trip, Mapping):
            lines.extend(_line(pair, to, one) for to, one in trip.items())
        elif isinstance(pair, tuple) and len(pair) == 2:
            lines.append(_line(pair[0], pair[1], trip))
        else:
            raise ArgumentError(f"round trips: {pair!r:.50} is no pair of regions")
    return "\n".join(lines)


def _line(one: Any, other: Any, trip: Any) -> str:
    for name in (one, other):
        if not isinstance(name, str):
            raise TypeError(f"expected a region's name, got {type(name).__name__}")
        if not name or not all(mark.isalnum() or mark in "-_. " for mark in name) or name != name.strip():
            raise ArgumentError(f"round trips: {name!r:.50} is no name of letters, digits, and - _ .")
    both = tuple(trip) if isinstance(trip, (tuple, list)) else (trip, trip)
    if len(both) != 2:
        raise ArgumentError(f"round trips: {one} to {other} has {len(both)} numbers, expected 1 or 2")
    for number in both:
        if isinstance(number, bool) or not isinstance(number, Real):
            raise TypeError(f"expected milliseconds as a number, got {type(number).__name__}")
        if not 0 <= float(number) <= 60_000:
            why = f"round trips: {one} to {other} takes {float(number)} ms, expected 0 to 60000"
            raise ArgumentError(why)
    return f"{one},{other},{float(both[0]):.6f},{float(both[1]):.6f}"
