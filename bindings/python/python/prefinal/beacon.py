"""One party's beacon and the release contract, driven by hand: you are engine, network, disk and clock.

Four parties with tight thresholds, of which three suffice. The partial leaves with the vote, so the value is
there when the slot is final::

    >>> from prefinal import Beacon, Committee
    >>> committee, signers = Committee.deal([1, 1, 1, 1], 3)
    >>> beacons = [Beacon(p, [1] * 4, tight=(committee, signers[p])) for p in range(4)]
    >>> value = b"v" * 32
    >>> votes = {p: beacons[p].prefinalize(1, value) for p in range(3)}
    >>> [output.kind for output in votes[0]]
    ['keep', 'send']
    >>> for sender in (1, 2):
    ...     _ = [beacons[0].receive(sender, one.data) for one in votes[sender] if one.kind == "send"]
    >>> [one.kind for one in beacons[0].finalize(1, value)]
    ['keep', 'reveal', 'note']

What the contract forbids is an output of kind ``refused``, with the code of the rule, and no exception: the
engine may say what it likes. A second value for a slot gets no second partial::

    >>> [(one.kind, one.code) for one in beacons[1].prefinalize(1, b"w" * 32)]
    [('refused', 'released-otherwise')]

Of the weighted VUF a path is a ``VufCommittee`` that has admitted the parties' blinded keys, and what the party
blinded::

    >>> from prefinal import VufCommittee
    >>> vuf, shares = VufCommittee.deal([1, 1, 1, 1], 3)
    >>> blinded = {p: shares[p].blind(vuf, p) for p in range(4)}
    >>> vuf.admit({p: public for p, (_, public) in blinded.items()})
    {}
    >>> own, _ = blinded[0]
    >>> [output.kind for output in Beacon(0, [1] * 4, tight=(vuf, own)).prefinalize(1, value)]
    ['keep', 'send']
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Optional, SupportsIndex, Union

from prefinal import _core
from prefinal._core import (
    BlindedKey,
    Committee,
    EvaluationKey,
    Signature,
    Signer,
    VufCommittee,
    VufOutput,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Beacon", "Output"]

#: One path of a beacon: of threshold BLS, or of the weighted VUF.
Sharing = Union[tuple[Committee, Optional[Signer]], tuple[VufCommittee, Optional[EvaluationKey]]]

OutputKind = Literal[
    "keep", "note", "send", "reveal", "skipped", "off", "stalled", "lookup", "accuse", "refused"
]


@dataclass(frozen=True)
class Output:
    """What a beacon wants done or says.

    ==========  ==================================================================================
    ``keep``    write ``data``, a record, so that it is durable before you look at the next output;
                ``text`` says of what: ``released``, ``finalized``, ``abandoned``
    ``note``    write ``data`` some time: ``revealed``
    ``send``    send ``data`` to ``party``, or to all if it is ``None``; ``text`` is the message's kind:
                ``partial``, ``request``, ``show``, ``output``, ``ask-head``, ``head``
    ``reveal``  the value of ``slot``: ``data`` are 32 random bytes; of threshold BLS ``signature`` verifies under
                the group key, of the weighted VUF ``output`` is what the committee combines from partials
    ``skipped`` ``slot`` is final as empty and has no value
    ``accuse``  ``party`` broke the protocol: ``code`` and ``text``
    ``refused`` what you said had no effect: ``code`` and ``text``, for instance of the release contract
    ``stalled`` a later slot is final, and you have not said what became of ``slot``
    ``lookup``  ``party`` lacks outputs from ``slot`` on that are not kept here any more
    ``off``     ``slot`` has no value, because the beacon is switched off
    ==========  ==================================================================================
    """

    kind: OutputKind
    slot: Optional[int] = None
    #: Of a partial or a value: ``slow``, ``fast`` or ``tight``.
    path: Optional[str] = None
    party: Optional[int] = None
    data: bytes = b""
    signature: Optional[Signature] = None
    output: Optional[VufOutput] = None
    code: Optional[str] = None
    text: str = ""


class Beacon:
    """The beacon of the party at this position: the machine that validators run.

    ``stakes`` are those of the engine's committee: more than two thirds make a value final, whatever the weights
    in which partials count. Each path is a ``Committee`` for rounds with the party's ``Signer``, or a
    ``VufCommittee`` with what ``VufShares.blind`` gave the party for it; ``None`` in its place if it holds no shares.
    Of a ``VufCommittee`` the keys that are admitted by now count; for later ones see ``admit``. If the party's own key
    is not admitted yet, whether its secret fits is found with the first partials that are combined: then
    ``share-mismatch`` is ``refused``, and the party releases nothing more on this path.

    ``slow`` alone is the paper's Algorithm 1, ``tight`` Algorithm 2, ``slow`` and ``fast``, two sharings of one secret
    (``DkgKey.committee``, ``DkgKey.vuf_committee``), Algorithm 3. ``attempt`` is the view of a slot that may release
    early, ``None`` for an engine that cannot tell. ``records`` makes it a later life: all that was kept before, oldest
    first; call ``tick`` first then, and send what it asks for.

    Checks run at once, in the call that needs them. Not pickled, for it has secrets.

    Raises ``ArgumentError`` or ``FaultError`` if thresholds, keys, stakes and shares do not fit together.
    """

    def __init__(
        self,
        party: SupportsIndex,
        stakes: Iterable[Any],
        *,
        slow: Optional[Sharing] = None,
        fast: Optional[Sharing] = None,
        tight: Optional[Sharing] = None,
        chain: Buffer = bytes(32),
        epoch: SupportsIndex = 0,
        first: SupportsIndex = 1,
        attempt: Optional[SupportsIndex] = 0,
        records: Optional[Iterable[Buffer]] = None,
    ) -> None:
        self._beacon = _core.Beacon(
            {
                "party": party,
                "stakes": stakes,
                "slow": slow,
                "fast": fast,
                "tight": tight,
                "chain": chain,
                "epoch": epoch,
                "first": first,
                "attempt": attempt,
                "records": records,
            }
        )

    def prefinalize(
        self, slot: SupportsIndex, value: Buffer, *, attempt: SupportsIndex = 0
    ) -> list[Output]:
        """This party is about to vote: the slot's 32-byte ``value`` is final once enough parties do in this attempt."""
        return _outputs(self._beacon.prefinalize(slot, value, attempt))

    def finalize(self, slot: SupportsIndex, value: Optional[Buffer]) -> list[Output]:
        """The engine knows that the slot is final with this value, or skipped with ``None``."""
        return _outputs(self._beacon.finalize(slot, value))

    def abandon(self, slot: SupportsIndex, *, attempt: SupportsIndex = 0) -> list[Output]:
        """This party is about to sign a timeout for this attempt, and with it gives up all before."""
        return _outputs(self._beacon.abandon(slot, attempt))

    def receive(self, sender: SupportsIndex, data: Buffer) -> list[Output]:
        """A message of a peer, from a link that says who it is. ``EncodingError`` if it is none."""
        return _outputs(self._beacon.receive(sender, data))

    def admit(
        self, path: Literal["slow", "fast", "tight"], party: SupportsIndex, key: BlindedKey
    ) -> list[Output]:
        """A party's blinded key of the weighted VUF on one of the paths comes after the start; it counts from now on.

        ``FaultError`` if it is not the party's, ``ArgumentError`` on threshold BLS, which has all keys from the start.
        """
        return _outputs(self._beacon.admit(path, party, key))

    def tick(self, now_ms: SupportsIndex) -> list[Output]:
        """The time since the start: what is missing is asked for again. It must not go back."""
        return _outputs(self._beacon.tick(now_ms))

    @property
    def head(self) -> int:
        """The next slot to be revealed."""
        return self._beacon.head

    @property
    def wake_ms(self) -> Optional[int]:
        """When it wants a ``tick``; ``None`` if nothing is open."""
        return self._beacon.wake_ms

    def __repr__(self) -> str:
        return f"<Beacon before slot {self.head}>"

    def __reduce__(self) -> Any:
        raise TypeError("a Beacon has secrets and is not pickled")


def _outputs(raw: list[dict[str, Any]]) -> list[Output]:
    return [
        Output(**{name: value for name, value in one.items() if value is not None}) for one in raw
    ]
