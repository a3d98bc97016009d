"""What goes wrong, as exceptions with fields.

All are ``ValueError``: an argument had the right type and no good value. A wrong type is a
``TypeError``, as everywhere in Python.

===================  ===============================================================================
``ArgumentError``    the caller's mistake: fix the call
``EncodingError``    bytes or text that are not what they should be
``RoundingError``    no weights, or weights that do not hold what they claim
``NotEnoughError``   wait for more and try again: ``need`` and ``got`` say how much
``FaultError``       somebody's contribution is false: ``culprits`` or ``party`` say whose
===================  ===============================================================================

``code`` is stable and the same in Rust and JavaScript; ``prefinal.CODES`` says what each means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

__all__ = [
    "ArgumentError",
    "EncodingError",
    "FaultError",
    "NotEnoughError",
    "PrefinalError",
    "RoundingError",
]


class PrefinalError(ValueError):
    """The base of all.

    ``code``: which error. ``party``: whose input, by position. ``index``: where, a position in a list
    from 0, a byte of an encoding or the number of a share. ``need``, ``got``: how much was expected and
    how much there was. ``culprits``: who, or which entries of a batch, failed a check. A field without
    a meaning is ``None``, or empty.
    """

    code: str
    party: Optional[int]
    index: Optional[int]
    need: Optional[int]
    got: Optional[int]
    culprits: tuple[int, ...]

    def __init__(
        self,
        message: str,
        *,
        code: str = "invalid-argument",
        party: Optional[int] = None,
        index: Optional[int] = None,
        need: Optional[int] = None,
        got: Optional[int] = None,
        culprits: Sequence[int] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.party = party
        self.index = index
        self.need = need
        self.got = got
        self.culprits = tuple(culprits)

    def _fields(self) -> dict[str, Any]:
        names = ("code", "party", "index", "need", "got", "culprits")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        given = {name: value for name, value in self._fields().items() if value not in (None, ())}
        fields = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return f"{type(self).__name__}({str(self)!r}, {fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), str(self), self._fields())


class ArgumentError(PrefinalError):
    """The caller's mistake."""


class EncodingError(PrefinalError):
    """Bytes or text that are not what they should be."""


class RoundingError(PrefinalError):
    """There are no weights, or the weights do not hold what they claim."""


class NotEnoughError(PrefinalError):
    """More is needed: wait and try again."""


class FaultError(PrefinalError):
    """A contribution is false: a signature, a share, a dealing, a ciphertext."""


_CODES: dict[type[PrefinalError], str] = {
    EncodingError: """
        wrong-length not-canonical not-on-curve not-in-subgroup identity zero-scalar wrong-version
        unknown-kind wrong-kind truncated trailing-bytes count-too-large invalid-value invalid-element
        not-json invalid-field wrong-chain-hash not-an-age-file not-a-fraction key-path seed-length
        unreadable-record signers-bitmap malformed-message no-envelope""",
    RoundingError: """
        no-rounding out-of-steps budget-too-small rounding-leaks rounding-stalls""",
    NotEnoughError: """
        below-threshold below-quorum below-qualification no-signature partial-missing no-signers""",
    FaultError: """
        share-mismatch degree-too-high faulty partial-mismatch output-mismatch possession-mismatch
        keys-cancel signatures-cancel signature-mismatch pairing-mismatch signed-twice key-halves
        invalid-ciphertext cannot-decrypt wrong-opening altered wrong-genesis other-chain
        secrets-cancel knowledge-proof commitment-mismatch ciphertext-mismatch chunk-too-large
        range-proof sharing-proof contradiction misplaced-dealing payload-mismatch no-fault
        previous-signature-length no-previous-signature not-chained""",
}

#: Which class a code is raised as; what is not here is an ``ArgumentError``.
CLASS_OF: dict[str, type[PrefinalError]] = {
    code: kind for kind, codes in _CODES.items() for code in codes.split()
}


def _exception(message: str, code: str, *fields: Any) -> PrefinalError:
    """The exception of an error of Rust; its fields come in the order of ``Detail``."""
    names = ("party", "index", "need", "got", "culprits")
    return CLASS_OF.get(code, ArgumentError)(message, code=code, **dict(zip(names, fields)))


def _rebuilt(kind: type[PrefinalError], message: str, fields: dict[str, Any]) -> PrefinalError:
    return kind(message, **fields)
