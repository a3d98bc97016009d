"""Experiments of many runs: thresholds against each other, and campaigns under attack.

The same code as ``prefinal simulate --thresholds`` and ``--campaign``::

    >>> import prefinal
    >>> result = prefinal.campaign(executions=5, seed=1, function="ideal")
    >>> result.executions, result.violations
    (5, ())
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Callable, Literal, Optional, Union

from prefinal import _core
from prefinal.rounding import RatioLike, _ratio
from prefinal.simulation import EngineName, RoundTrips, _arguments, _frame

__all__ = ["Campaign", "Thresholds", "Violation", "campaign", "measure_costs", "thresholds"]


def measure_costs() -> str:
    """Measures what cryptography costs on this machine, in about two seconds.

    The result is JSON for ``costs`` of ``simulate`` and ``thresholds``: runs with one text can be compared. It is what
    ``prefinal simulate`` writes, too.
    """
    return _core.measure_costs()


@dataclass(frozen=True)
class Thresholds:
    """How long parties wait with tight thresholds, with ramps, and with other total weights."""

    #: Mean number of message delays from finality to value, by column: ``kind`` of thresholds,
    #: ``synchronous`` (all prefinalize at one time), ``adversarial`` (all that a quorum does not need are late).
    delays: dict[str, list[Any]] = field(repr=False)
    #: Waits over the geography, by column: ``profile``, ``total_weight`` (``None`` for exact stake),
    #: ``needs`` (stake that the fast path needs, a ``Fraction``), ``combining`` (``free``: it takes no time,
    #: ``behind`` the last partial, ``ahead`` as far as partials are there), and in milliseconds ``mean_ms``,
    #: ``p50_ms``, ``p90_ms``, ``p99_ms`` and ``longest_ms``, the mean over slots of the longest wait.
    waits: dict[str, list[Any]] = field(repr=False)

    def frame(self) -> Any:
        """The waits as a ``pandas.DataFrame``; needs pandas."""
        return _frame(self.waits)

    def delays_frame(self) -> Any:
        """The message delays as a ``pandas.DataFrame``; needs pandas."""
        return _frame(self.delays)


def thresholds(
    stakes: Iterable[Any],
    *,
    scheme: Literal["bls", "wvuf"] = "bls",
    engine: EngineName = "jolteon",
    slots: int = 20,
    seed: int = 1,
    fast: RatioLike = "5/6",
    weights: Optional[Iterable[Any]] = None,
    budget: Optional[int] = None,
    slow: tuple[RatioLike, RatioLike] = ("1/2", "2/3"),
    regions: Union[str, Sequence[str]] = "all",
    round_trips: Optional[RoundTrips] = None,
    jitter: int = 5,
    interface: Optional[str] = None,
    connection: Optional[str] = None,
    cores: int = 32,
    costs: str = "measured",
) -> Thresholds:
    """Compares tight thresholds with ramps, and total weights with each other.

    Message delays are counted among the 16 first parties; waits are those of all, over the geography. The
    engine runs once, and the waits with other weights follow from when partials arrived. ``costs`` are measured
    here and now, or the text of ``measure_costs``; everything else is as for ``simulate``. One profile is
    the rounding of the paper with both of its thresholds. Ctrl-C ends the call.

    Raises ``ArgumentError`` for what makes no sense, ``RuntimeError`` if parties disagree.
    """
    arguments = _arguments(
        stakes, regions, round_trips, (slow, fast),
        engine=engine, scheme=scheme, slots=slots, seed=seed, jitter=jitter, interface=interface, connection=connection,
        cores=cores, costs=costs, weights=weights, budget=budget,
    )  # fmt: skip
    delays, profiles, waits = _core.thresholds(arguments)
    needs = [None if one is None else Fraction(*one) for one in profiles["needs"]]
    return Thresholds(delays, {**profiles, "needs": needs, **waits})


@dataclass(frozen=True)
class Violation:
    """What did not hold in an execution. Its seed plays it again, event by event."""

    seed: int
    engine: str
    function: str
    what: str


@dataclass(frozen=True)
class Campaign:
    """A campaign's executions taken together."""

    executions: int
    #: Of every event of every execution: equal where the same was played.
    fingerprint: int
    #: Number of slots with a value.
    slots: int
    #: Number of values that single parties got, by path: ``slow``, ``fast``, ``tight``.
    values: Mapping[str, int]
    #: Most partials that an honest party kept.
    most_kept: int
    #: Virtual time of all executions.
    seconds: float
    violations: tuple[Violation, ...]
    #: What was done to executions, by column: ``what``, in how many ``executions``, how many ``times``.
    counts: dict[str, list[Any]] = field(repr=False)
    #: Number of ``executions`` on each ``engine`` with each ``function``, by column.
    played: dict[str, list[Any]] = field(repr=False)
    #: Each execution, by column, in the order of seeds: ``seed``, ``engine``, ``function``; the ``violation``, which
    #: begins with its kind, or ``None``; if there is none, the number of ``slots`` with a value, and of values that
    #: parties got by the ``slow`` path, the ``fast`` one and with ``tight`` thresholds; ``most_kept`` partials, virtual
    #: ``seconds``, the ``fingerprint`` of its events; and ``done``, how often what was done to it, a ``dict``.
    each: dict[str, list[Any]] = field(repr=False)

    def frame(self) -> Any:
        """What was done to executions as a ``pandas.DataFrame``; needs pandas."""
        return _frame(self.counts)

    def executions_frame(self) -> Any:
        """The executions as a ``pandas.DataFrame``, a row for each, indexed by seed; needs pandas.

        In place of ``done`` there is a column for each thing that was done to any of them, 0 where it was not.
        """
        import pandas

        frame = pandas.DataFrame({name: column for name, column in self.each.items() if name != "done"})
        done = pandas.DataFrame(self.each["done"], index=frame.index, columns=self.counts["what"])
        done = done.fillna(0).astype("int64")
        whole = {name: "Int64" for name in ("slots", "slow", "fast", "tight")}
        return pandas.concat([frame.astype(whole), done], axis="columns").set_index("seed")


def campaign(
    executions: int = 200,
    *,
    seed: int = 1,
    engine: Optional[str] = None,
    function: Optional[Literal["ideal", "bls", "wvuf"]] = None,
    real_signatures: bool = False,
    without_rule: Optional[int] = None,
    stakes: Union[None, Iterable[Any], "os.PathLike[str]"] = None,
    fast: RatioLike = "5/6",
    handover: bool = False,
    each: bool = True,
    progress: Optional[Callable[[int], object]] = None,
) -> Campaign:
    """Plays executions of small committees under attack, one for each seed from ``seed`` on, on all cores.

    Byzantine parties, losses, partitions, crashes and clocks are drawn from the seed, and so are ``engine`` (one of
    ``simulate``, ``permissive``, ``replica``, ``pipeline``, ``sync``) and ``function`` unless they are given.
    ``real_signatures`` checks all signatures on the curve. ``without_rule`` leaves one rule (1 to 9) out of the
    release contract; the campaign then ends with the first violation. ``stakes`` whose largest holders take part
    (the built-in committees if ``None``). ``handover``: committees change on the way. ``each``: whether the result
    has a row for each execution, which millions have no room for. ``progress`` is called with the number of executions
    since the last time. Ctrl-C ends the campaign.

    Violations are in the result. Raises ``ArgumentError`` for what makes no sense.
    """
    ratio = _ratio(fast)
    arguments = {
        "executions": executions,
        "seed": seed,
        "engine": engine,
        "function": function,
        "real_signatures": real_signatures,
        "without_rule": without_rule,
        "stakes": None if stakes is None else _table(stakes),
        "fast": (max(ratio.numerator, 0), ratio.denominator),
        "handover": handover,
        "each": each,
    }
    raw = _core.campaign(arguments, progress)
    played, counts, rows = raw["played"], raw["counts"], raw["each"]
    order = sorted(range(len(rows["seed"])), key=rows["seed"].__getitem__)
    rows["done"] = [dict(done) for done in rows["done"]]
    return Campaign(
        executions=raw["executions"],
        fingerprint=raw["fingerprint"],
        slots=raw["slots"],
        values=dict(zip(("slow", "fast", "tight"), raw["values"])),
        most_kept=raw["most_kept"],
        seconds=raw["seconds"],
        violations=tuple(sorted((Violation(**one) for one in raw["violations"]), key=_seed)),
        counts=_columns(("what", "executions", "times"), counts),
        played=_columns(("engine", "function", "executions"), played),
        each={name: [column[at] for at in order] for name, column in rows.items()},
    )


def _seed(violation: Violation) -> int:
    return violation.seed


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _table(stakes: Any) -> str:
    """A stake table as Rust reads it."""
    if isinstance(stakes, os.PathLike):
        with open(stakes, encoding="utf-8") as file:
            return file.read()
    return "stake\n" + "".join(f"{stake}\n" for stake in _core.whole_numbers(stakes))
