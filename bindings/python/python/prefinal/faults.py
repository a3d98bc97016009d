"""What goes wrong in a run of ``simulate``: lost messages, partitions, crashes, parties that do wrong.

Times are milliseconds of virtual time since the start. Parties are numbered by their position in the
stakes::

    >>> import prefinal
    >>> from prefinal.faults import Crash, Loss, Wrong
    >>> faults = [Loss(0.01, until_ms=500), Crash(2, at_ms=300, back_ms=900), Wrong(4)]
    >>> run = prefinal.simulate([4, 3, 2, 2, 1], slots=3, seed=7, faults=faults)
    >>> {event.sender for event in run.events if event.kind == "accused"} <= {4}
    True

A run ends when every party has its values, but for those that crash for good and for twins. Parties that do wrong
should have less than a third of the stake together; with more a run may not end, which is a
``RuntimeError`` after an hour of virtual time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Optional, Union

from prefinal.errors import ArgumentError

__all__ = [
    "Crash",
    "Delay",
    "Fault",
    "Flood",
    "Loss",
    "Mute",
    "Partition",
    "Replay",
    "Twins",
    "TwoFaced",
    "Withhold",
    "Wrong",
]

#: A run fails after an hour of virtual time, so nothing happens later.
_MOST_MS = 3_600_000


def _real(value: Any, what: str, most: float) -> float:
    """A number from 0 to ``most``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"expected {what} as a number, got {type(value).__name__}")
    number = float(value)
    if not 0 <= number <= most:
        raise ArgumentError(f"{what} is {number}, expected 0 to {most:g}")
    return number


def _us(value: Any, what: str) -> int:
    return round(_real(value, what, _MOST_MS) * 1000)


def _party(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError(f"expected a party's position, got {type(value).__name__}")
    position = value.__index__()
    if not 0 <= position < 1 << 20:
        raise ArgumentError(f"party is {position!s:.40}, expected a position in the stakes")
    return int(position)


def _parties(values: Iterable[Any]) -> list[int]:
    return [_party(value) for value in values]


def _raw(
    kind: str,
    *,
    party: Any = 0,
    groups: Sequence[Iterable[Any]] = (),
    start: Any = 0,
    until: Any = None,
    number: int = 0,
) -> dict[str, Any]:
    begin = _us(start, "the time from which on")
    end = None if until is None else _us(until, "the time until which")
    if end is not None and end < begin:
        raise ArgumentError(f"{kind}: it ends before it begins")
    return {
        "kind": kind,
        "party": _party(party),
        "groups": [_parties(group) for group in groups],
        "from_us": begin,
        "until_us": end,
        "number": number,
    }


@dataclass(frozen=True)
class Loss:
    """Messages that are sent in a time are lost with a probability, each independently."""

    #: From 0 to 1, in steps of a millionth.
    chance: float
    from_ms: float = 0
    #: ``None``: to the end.
    until_ms: Optional[float] = None

    def _raw(self) -> dict[str, Any]:
        chance = round(_real(self.chance, "chance", 1) * 1_000_000)
        return _raw("loss", start=self.from_ms, until=self.until_ms, number=chance)


@dataclass(frozen=True)
class Partition:
    """Parties reach only parties of the same group for a time. All that are in none form one more group."""

    groups: Sequence[Sequence[int]]
    from_ms: float = 0
    #: ``None``: to the end.
    until_ms: Optional[float] = None
    #: Whether messages across groups leave when it heals, as under partial synchrony; else they are lost.
    held: bool = True

    def _raw(self) -> dict[str, Any]:
        number, groups = int(bool(self.held)), self.groups
        return _raw("partition", groups=groups, start=self.from_ms, until=self.until_ms, number=number)


@dataclass(frozen=True)
class Crash:
    """A party crashes, and comes back with what its disk has."""

    party: int
    at_ms: float
    #: ``None``: it does not come back, and nobody waits for its values.
    back_ms: Optional[float] = None
    #: Whether it has lost its disk, and with it what it must not do again: it then counts as faulty.
    disk_lost: bool = False

    def _raw(self) -> dict[str, Any]:
        lost = int(bool(self.disk_lost))
        return _raw("crash", party=self.party, start=self.at_ms, until=self.back_ms, number=lost)


@dataclass(frozen=True)
class Mute:
    """A party says nothing from some time on."""

    party: int
    from_ms: float = 0

    def _raw(self) -> dict[str, Any]:
        return _raw("mute", party=self.party, start=self.from_ms)


@dataclass(frozen=True)
class Withhold:
    """A party keeps its partials from some, or with ``everything`` all of its messages."""

    party: int
    victims: Sequence[int]
    everything: bool = False

    def _raw(self) -> dict[str, Any]:
        number = int(bool(self.everything))
        return _raw("withhold", party=self.party, groups=[self.victims], number=number)


@dataclass(frozen=True)
class TwoFaced:
    """A party sends wrong partials to some, and the right ones to the others.

    With ``both`` the victims get the right ones as well.
    """

    party: int
    victims: Sequence[int]
    both: bool = False

    def _raw(self) -> dict[str, Any]:
        number = int(bool(self.both))
        return _raw("two-faced", party=self.party, groups=[self.victims], number=number)


@dataclass(frozen=True)
class Twins:
    """A party runs twice with one key: one talks to ``side``, the other to all others, and both hear everything.

    What the two propose and vote is properly signed, and differs. Nobody waits for the party's values. Events of both
    have the party's number.
    """

    party: int
    side: Sequence[int]

    def _raw(self) -> dict[str, Any]:
        return _raw("twins", party=self.party, groups=[self.side])


@dataclass(frozen=True)
class Wrong:
    """A party sends partials of another slot or path, or points that are nobody's."""

    party: int

    def _raw(self) -> dict[str, Any]:
        return _raw("wrong", party=self.party)


@dataclass(frozen=True)
class Delay:
    """A party delays every second message, by ``most_ms`` or down to half of it."""

    party: int
    most_ms: float

    def _raw(self) -> dict[str, Any]:
        return _raw("delay", party=self.party, number=_us(self.most_ms, "most_ms"))


@dataclass(frozen=True)
class Flood:
    """A party sends partials and requests without end, for slots near and far."""

    party: int
    until_ms: float = 10_000

    def _raw(self) -> dict[str, Any]:
        return _raw("flood", party=self.party, until=self.until_ms)


@dataclass(frozen=True)
class Replay:
    """A party sends again what it has sent before."""

    party: int
    until_ms: float = 10_000

    def _raw(self) -> dict[str, Any]:
        return _raw("replay", party=self.party, until=self.until_ms)


Fault = Union[
    Loss, Partition, Crash, Mute, Withhold, TwoFaced, Twins, Wrong, Delay, Flood, Replay
]


def _all(faults: Iterable[Fault]) -> list[dict[str, Any]]:
    """All of them as Rust takes them."""
    raw = []
    for fault in faults:
        if not isinstance(fault, _KINDS):
            raise TypeError(f"expected a fault of prefinal.faults, got {type(fault).__name__}")
        raw.append(fault._raw())
        if len(raw) > _MOST:
            raise ArgumentError(f"more than {_MOST} faults")
    return raw


_MOST = 10_000
_KINDS = (Loss, Partition, Crash, Mute, Withhold, TwoFaced, Twins, Wrong, Delay, Flood, Replay)
