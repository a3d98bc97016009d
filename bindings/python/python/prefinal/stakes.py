"""Stake tables: those of real chains that come with the package, and files of the same form.

A table is text: a header line ``stake``, then one whole number a line; lines that begin with ``#`` say
where the numbers come from::

    >>> from prefinal import stakes
    >>> table = stakes.load("aptos_mainnet_129")
    >>> len(table), table.total
    (129, 8546825655426651200)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Union, overload

from prefinal import _core
from prefinal.errors import EncodingError

__all__ = ["StakeTable", "load", "names", "parse", "read"]

#: Larger than any real table by far.
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class StakeTable:
    """The stakes of a table, in its order."""

    name: str
    stakes: tuple[int, ...] = field(repr=False)
    #: Where the numbers come from.
    origin: str

    @property
    def total(self) -> int:
        """All stake."""
        return sum(self.stakes)

    def largest(self, count: int) -> tuple[int, ...]:
        """The largest stakes, largest first; fewer if there are fewer."""
        return tuple(sorted(self.stakes, reverse=True)[:count])

    def __len__(self) -> int:
        return len(self.stakes)

    def __iter__(self) -> Iterator[int]:
        return iter(self.stakes)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[int, tuple[int, ...]]:
        return self.stakes[index]


def names() -> tuple[str, ...]:
    """The tables that come with the package."""
    return tuple(_core.table_names())


def load(name: str) -> StakeTable:
    """One of the tables that come with the package."""
    text = _core.table_text(name)
    if text is None:
        raise KeyError(f"no table {name!r}, there are: {', '.join(names())}")
    return parse(text, name=name)


def read(path: Union[str, os.PathLike[str]]) -> StakeTable:
    """A table from a file."""
    with open(path, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise EncodingError(f"{path}: more than {_MOST_BYTES} bytes, no stake table", code="too-long")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EncodingError(f"{path}: no text", code="invalid-value", index=error.start) from None
    return parse(text, name=os.fspath(path))


def parse(text: str, *, name: str = "table") -> StakeTable:
    """A table from its text. Raises with the line, from 1, as ``index``."""
    comments: list[str] = []
    stakes: list[int] = []
    header = False
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if line.startswith("#"):
            comments.append(line.lstrip("# "))
        elif line and not header:
            if line != "stake":
                raise _wrong(name, number, line, "expected the header `stake`")
            header = True
        elif line:
            if not (line.isascii() and line.isdigit()):
                raise _wrong(name, number, line, "expected one whole number")
            if len(line) > 39 or int(line) >> 128:
                raise _wrong(name, number, line, "larger than 2^128 - 1")
            stakes.append(int(line))
    if not stakes:
        raise EncodingError(f"{name}: no stakes in the table", code="invalid-value")
    return StakeTable(name, tuple(stakes), "; ".join(comments))


def _wrong(name: str, line: int, got: str, why: str) -> EncodingError:
    return EncodingError(f"{name}:{line}: {got!r:.50}: {why}", code="invalid-value", index=line)
