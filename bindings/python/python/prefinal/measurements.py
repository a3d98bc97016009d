"""The paper's other measurements: hours of a committee, key generation, transactions beside a beacon.

The same code as ``prefinal simulate`` with ``--hours``, ``--keygen`` and ``--load --engine jolteon``, with the same
defaults; one seed and one text of ``measure_costs`` give the same numbers here and there. Runs of the paper's size take
minutes to hours, small ones a second::

    >>> import prefinal
    >>> day = prefinal.hours(1, stakes=[4, 3, 2, 2, 1], restarts=2, moves=1, costs=None)
    >>> len(day.minutes["minute"]), day.phases["by_fast_path"][0]
    (60, 0)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Callable, Literal, Optional, Union

from prefinal import _core
from prefinal import stakes as _tables
from prefinal.rounding import RatioLike
from prefinal.simulation import RoundTrips, _arguments, _frame

__all__ = ["Hours", "KeyGeneration", "Transactions", "hours", "key_generation", "transactions"]


@dataclass(frozen=True)
class Hours:
    """What came of hours of a committee."""

    parties: int
    seed: int
    #: The first slot that may use the fast path, and when it was final at the first party, in virtual seconds.
    fast_from: int
    switched_s: float
    #: Minute by minute, by column: ``minute``, ``paths`` (``slow`` before the switch, then ``both``), ``slots`` that
    #: became final, ``values`` that parties waited for, their waits in milliseconds as ``mean_ms``, ``p50_ms``,
    #: ``p90_ms``, ``p99_ms`` and ``longest_ms`` (the mean over slots of the longest wait; all ``None`` in a minute
    #: without waits), how many came ``by_fast_path``, how many were ``caught_up`` later from others (in no wait), the
    #: parties that were ``down`` and their share of the stake (``down_stake``, a ``Fraction``), those that ``moved``.
    minutes: dict[str, list[Any]] = field(repr=False)
    #: The same waits for the slow path alone and for both ``paths``, as a whole and in the ``outage`` of that half, in
    #: which too many were down for the fast path. Waits are ``None`` where there are none.
    phases: dict[str, list[Any]] = field(repr=False)
    #: ``what`` happened (``down``, ``moves``) to which ``party``, ``from_s`` to ``until_s``, in virtual seconds, and for
    #: moves ``from_region`` and ``to_region``.
    incidents: dict[str, list[Any]] = field(repr=False)
    #: When each slot was final and computable, in virtual microseconds, as of ``Simulation``.
    global_times: dict[str, list[Any]] = field(repr=False)

    def frame(self) -> Any:
        """The minutes as a ``pandas.DataFrame``; needs pandas."""
        return _frame(self.minutes)

    def phases_frame(self) -> Any:
        """The phases as a ``pandas.DataFrame``, four rows; needs pandas."""
        return _frame(self.phases)

    def incidents_frame(self) -> Any:
        """What happened to parties as a ``pandas.DataFrame``; needs pandas."""
        return _frame(self.incidents)

    def slots_frame(self) -> Any:
        """The global times as a ``pandas.DataFrame``, a row for each slot; needs pandas."""
        return _frame(self.global_times)


@dataclass(frozen=True)
class KeyGeneration:
    """What key generations took, one for each rate and each way to agree."""

    parties: int
    seed: int
    #: By column: what was ordered ``on_chain`` (one ``aggregate``, as the paper does, or all ``dealings``), over which
    #: ``interface``; then in seconds mean and last party of each stage, ``dealing_mean_s``, ``dealing_last_s``, and so
    #: ``dissemination``, ``aggregation``, ``agreement`` and ``all``, ``None`` where there is no such stage;
    #: ``transactions`` and ``bytes_on_chain`` that were ordered, ``bytes_sent`` by each party (a mean),
    #: ``transcript_bytes`` of one party's transcript, and ``dealers`` whose secrets are in the key.
    runs: dict[str, list[Any]] = field(repr=False)

    def frame(self) -> Any:
        """The runs as a ``pandas.DataFrame``; needs pandas."""
        return _frame(self.runs)


@dataclass(frozen=True)
class Transactions:
    """What transactions waited, one run for each load and each way."""

    parties: int
    seed: int
    #: By column: what is ``beside`` the engine (``no beacon``, ``slow path``, ``both paths``),
    #: ``submitted_per_second`` and ``executable_per_second``; from submission until a transaction can be executed
    #: ``mean_ms``, ``p50_ms``, ``p90_ms`` and ``p99_ms``; of that the wait for the slot's value, ``value_mean_ms`` and
    #: ``value_longest_ms`` (the mean over slots of the longest wait), ``None`` without a beacon; and the number of
    #: ``slots`` with transactions.
    runs: dict[str, list[Any]] = field(repr=False)

    def frame(self) -> Any:
        """The runs as a ``pandas.DataFrame``; needs pandas."""
        return _frame(self.runs)


def hours(
    hours: int = 12,
    *,
    every: int = 30,
    restarts: int = 130,
    moves: int = 40,
    stakes: Optional[Iterable[Any]] = None,
    scheme: Literal["bls", "wvuf"] = "bls",
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
    costs: Optional[str] = "measured",
    progress: Optional[Callable[[int], object]] = None,
) -> Hours:
    """Runs one committee on Jolteon for so many virtual hours, with the fast path from the middle on.

    Meanwhile parties restart and move. ``hours``: 1 to 240. ``every``: seconds from one slot to the next, 1 to 60.
    ``restarts``, 0 to 10000: how many times a party is down, for 20 seconds to 10 minutes, at most an eighth of the
    run. In the middle of each half so many stop at once that the fast path is out of reach, for a 72nd of the run, 1 to
    10 minutes. Nobody is down for more than 192 slots, since others keep the values of 256. ``moves``, 0 to 10000: how
    many times a party goes to the region of another, so that after many few parties are all in one.

    ``stakes``: those of Aptos' 129 validators, if ``None``. Partials and signatures of votes are looked up in place of
    computed, at the ``costs`` of real ones, or free if these are ``None``. All else is as for ``simulate``.
    ``progress`` is called with the number of virtual minutes since the last time. Ctrl-C ends the run.

    Raises ``ArgumentError`` for what makes no sense, ``RuntimeError`` if parties disagree, or a party that is up lacks
    values at the end.
    """
    arguments = _arguments(
        _stakes(stakes), regions, round_trips, (slow, fast),
        engine="jolteon", scheme=scheme, slots=1, seed=seed, jitter=jitter, interface=interface,
        connection=connection, cores=cores, costs=costs, weights=weights, budget=budget,
    )  # fmt: skip
    schedule = {"hours": hours, "every": every, "restarts": restarts, "moves": moves}
    raw = _core.hours(arguments, schedule, progress)
    minutes = {**raw["minutes"], **raw["minute_waits"]}
    down = [Fraction(*share) for share in minutes["down_stake"]]
    parties = len(arguments["stakes"])
    return Hours(
        parties, seed, raw["fast_from"], raw["switched_s"],
        minutes={**minutes, "down_stake": down},
        phases={**raw["phases"], **raw["phase_waits"]},
        incidents=raw["incidents"],
        global_times=raw["slots"],
    )  # fmt: skip


def key_generation(
    rates: Sequence[str] = ("50Mbit/s", "200Mbit/s", "1Gbit/s"),
    *,
    stakes: Optional[Iterable[Any]] = None,
    seed: int = 1,
    fast: RatioLike = "5/6",
    weights: Optional[Iterable[Any]] = None,
    budget: Optional[int] = None,
    slow: tuple[RatioLike, RatioLike] = ("1/2", "2/3"),
    regions: Union[str, Sequence[str]] = "all",
    round_trips: Optional[RoundTrips] = None,
    jitter: int = 5,
    connection: Optional[str] = None,
    cores: int = 32,
    costs: Optional[str] = "measured",
    progress: Optional[Callable[[int], object]] = None,
) -> KeyGeneration:
    """Generates keys of the weighted VUF with both thresholds, over interfaces of each rate.

    With one sum of transcripts on the chain, as the paper does, and with every dealing on it. ``rates`` are those of
    each party's interface in each direction. ``stakes``: those of Aptos' 129 validators, if ``None``. Transcripts are
    real and made once for all runs, which takes minutes for so many; votes' signatures are looked up. ``costs`` as for
    ``hours``, all else as for ``simulate``. ``progress`` is called with the number of runs since the last time, two for
    each rate. After Ctrl-C the call ends at once; its thread goes on in the background until all transcripts are made
    and one run is over.

    Raises ``ArgumentError`` for what makes no sense, ``RuntimeError`` if a party comes to no key or to another one.
    """
    arguments = _arguments(
        _stakes(stakes), regions, round_trips, (slow, fast),
        engine="jolteon", scheme="wvuf", slots=1, seed=seed, jitter=jitter, interface=None,
        connection=connection, cores=cores, costs=costs, weights=weights, budget=budget,
    )  # fmt: skip
    raw = _core.key_generation(arguments, rates, progress)
    runs: dict[str, list[Any]] = {}
    for name, column in raw.items():
        if isinstance(column, dict):
            runs.update({f"{name}_{part}": values for part, values in column.items()})
        else:
            runs[name] = column
    return KeyGeneration(len(arguments["stakes"]), seed, runs)


def transactions(
    submitted: Iterable[Any] = (500, 1000, 2000, 4000, 6000, 8000),
    *,
    seconds: int = 10,
    warm_up: int = 4,
    stakes: Optional[Iterable[Any]] = None,
    seed: int = 1,
    fast: RatioLike = "5/6",
    weights: Optional[Iterable[Any]] = None,
    budget: Optional[int] = None,
    slow: tuple[RatioLike, RatioLike] = ("1/2", "2/3"),
    regions: Union[str, Sequence[str]] = "all",
    round_trips: Optional[RoundTrips] = None,
    jitter: int = 5,
    interface: Optional[str] = "1Gbit/s",
    connection: Optional[str] = None,
    cores: int = 32,
    costs: Optional[str] = "measured",
    progress: Optional[Callable[[int], object]] = None,
) -> Transactions:
    """Lets transactions come to Jolteon without a beacon, with the slow path alone, and with both paths.

    ``submitted``: transactions of 512 bytes a second, at all parties together, 1 to 1000000, one run of each way for
    each number. ``seconds`` of virtual time, 1 to 3600, are counted, after ``warm_up``, 0 to 3600. ``stakes``: those of
    Aptos' 32 largest validators, if ``None``. The beacon's function is the weighted VUF, looked up at the ``costs`` of
    the real one as for ``hours``; all else is as for ``simulate``. ``progress`` is called with the number of runs since
    the last time, three for each load. After Ctrl-C the call ends at once, and its thread with the run that it is in.

    Raises ``ArgumentError`` for what makes no sense, ``RuntimeError`` if a party accuses another.
    """
    arguments = _arguments(
        _stakes(stakes, 32), regions, round_trips, (slow, fast),
        engine="jolteon", scheme="wvuf", slots=1, seed=seed, jitter=jitter, interface=interface,
        connection=connection, cores=cores, costs=costs, weights=weights, budget=budget,
    )  # fmt: skip
    demand = {"submitted": submitted, "seconds": seconds, "warm_up": warm_up}
    raw = _core.transactions(arguments, demand, progress)
    waits, values = raw.pop("waits"), raw.pop("values")
    runs = {**raw, **{name: waits[name] for name in ("mean_ms", "p50_ms", "p90_ms", "p99_ms")}}
    runs.update({f"value_{name}": values[name] for name in ("mean_ms", "longest_ms")})
    return Transactions(len(arguments["stakes"]), seed, runs)


def _stakes(given: Optional[Iterable[Any]], most: Optional[int] = None) -> Iterable[Any]:
    """The stakes that are given, or the largest of Aptos."""
    if given is not None:
        return given
    table = _tables.load("aptos_mainnet_129")
    return table.largest(len(table.stakes) if most is None else most)
