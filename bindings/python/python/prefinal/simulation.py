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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Optional, Union

from prefinal import _core
from prefinal.rounding import RatioLike, _ratio

__all__ = ["Event", "Simulation", "Wait", "simulate"]


@dataclass(frozen=True)
class Event:
    """What happened.

    ``kind`` is ``proposed``, ``voted``, ``released`` (a partial left), ``finalized``, ``revealed`` (the
    value is there), ``skipped``, ``timed-out`` or ``ready`` (the key generation is over); with
    ``messages`` also what arrived: ``proposal``, ``vote``, ``order-vote``, ``timeout``, ``partial``.
    """

    #: Microseconds of virtual time.
    time_us: int
    kind: str
    #: To whom, by position.
    party: int
    slot: int
    #: Of a partial or a value: ``slow``, ``fast`` or ``tight``.
    path: Optional[str] = None
    #: Of a message: from whom.
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

    @property
    def events(self) -> list[Event]:
        """The events, one by one."""
        names = list(self.columns)
        return [Event(**dict(zip(names, row))) for row in zip(*self.columns.values())]

    @property
    def waits(self) -> list[Wait]:
        """The wait of each party for each slot."""
        final: dict[tuple[int, int], int] = {}
        waits = []
        columns = self.columns
        for time, kind, party, slot, path in zip(
            columns["time_us"], columns["kind"], columns["party"], columns["slot"], columns["path"]
        ):
            if kind == "finalized":
                final[slot, party] = time
            elif kind == "revealed":
                wait = max(0, time - final.get((slot, party), time))
                waits.append(Wait(slot, party, path, wait / 1000))
        return waits

    def frame(self) -> Any:
        """The events as a ``pandas.DataFrame``; needs pandas."""
        import pandas

        return pandas.DataFrame(self.columns)


def simulate(
    stakes: Iterable[Any],
    *,
    path: Literal["slow", "fast", "tight"] = "fast",
    scheme: Literal["bls", "wvuf"] = "bls",
    slots: int = 20,
    seed: int = 1,
    fast: RatioLike = "5/6",
    regions: Union[Literal["all", "none"], Sequence[str]] = "all",
    jitter: int = 5,
    cores: int = 32,
    costs: Optional[str] = None,
    messages: bool = False,
    progress: Optional[Callable[[int], object]] = None,
) -> Simulation:
    """Runs a committee until every party has the values of ``slots`` slots.

    ``path``: partials leave when a slot is final (``slow``), also with the vote that makes it final
    (``fast``), or of one sharing in which every party counts as one (``tight``). ``regions``: all of
    the world, one room (``none``), or names of cloud regions, in which the parties are placed in turn.
    ``costs``: what cryptography takes: nothing, ``"measured"`` here and now, or the JSON that
    ``prefinal simulate`` writes. ``messages`` adds an event for each message that arrives: many.
    ``progress`` is called with the number of slots since the last time. Ctrl-C ends the run.

    Raises ``ArgumentError`` for what makes no sense, ``RuntimeError`` if parties disagree.
    """
    numbers = _core.whole_numbers(stakes)
    named = [regions] if isinstance(regions, str) else list(regions)
    for name in named:
        if not isinstance(name, str):
            raise TypeError(f"expected a region's name, got {type(name).__name__}")
    ratio = _ratio(fast)
    arguments = {
        "stakes": numbers,
        "regions": named,
        "scheme": scheme,
        "path": path,
        "fast": (max(ratio.numerator, 0), ratio.denominator),
        "slots": slots,
        "seed": seed,
        "jitter": jitter,
        "cores": cores,
        "costs": costs,
        "messages": messages,
    }
    columns = _core.simulate(arguments, progress)
    return Simulation(path, scheme, len(numbers), slots, seed, columns)
