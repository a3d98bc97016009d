"""One party's key generation, message by message: you are the chain that orders messages, and the disk.

Two parties make a key that neither of them knows. Each submits a dealing; the chain puts the messages into one
order, and everybody reads the same order::

    >>> from prefinal import DkgConfig, Keygen, RecipientKey, SecretKey
    >>> signers = [SecretKey.generate() for _ in range(2)]
    >>> own = [RecipientKey.generate() for _ in range(2)]
    >>> config = DkgConfig(
    ...     chain=bytes(32), epoch=1, purpose="randomness", stakes=[1, 1], weights=[1, 1], slow=2, qualify=1,
    ...     signers=[one.public_key().prove(one.prove_possession()) for one in signers],
    ...     recipients=[key.register(one).verify(one.public_key()) for key, one in zip(own, signers)])
    >>> parties = [Keygen(config, p, signers[p], own[p]) for p in range(2)]
    >>> dealt = [party.start() for party in parties]
    >>> [output.kind for output in dealt[0]]
    ['keep', 'submit']
    >>> order = [output.data for outputs in dealt for output in outputs if output.kind == "submit"]
    >>> ends = [[party.ordered(at, one) for at, one in enumerate(order)][-1] for party in parties]
    >>> [output.kind for output in ends[0]]
    ['keep', 'counted', 'ready']
    >>> ends[0][-1].key == ends[1][-1].key
    True

A message that does not count is an output of kind ``refused``, and a dealer that does wrong one of kind
``accuse``, with evidence that convinces everybody who knows the configuration. Neither is raised, for anybody can
have a message ordered; ``error`` is what you can raise::

    >>> [output.error for output in parties[0].start()]
    []
    >>> late = Keygen(config, 0, signers[0])
    >>> [output.code for output in late.ordered(1, b"no envelope")]
    ['no-envelope']
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Optional, SupportsIndex

from prefinal import _core
from prefinal._core import DkgConfig, DkgKey, Evidence, OwnShares, RecipientKey, SecretKey
from prefinal.errors import PrefinalError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Keygen", "KeygenOutput"]

KeygenOutputKind = Literal["keep", "submit", "counted", "accuse", "refused", "ready", "aborted"]


@dataclass(frozen=True)
class KeygenOutput:
    """What a key generation wants done or says.

    ==========  ==================================================================================
    ``keep``    write ``data``, a record, so that it is durable before you look at the next output;
                ``text`` says of what: ``dealt``, ``counted``, ``accused``, ``recovered``
    ``submit``  have the chain order ``data``, this party's dealing in a signed envelope
    ``counted`` the dealing of ``party``, ordered at ``position``, is part of the key
    ``accuse``  ``party`` did wrong: ``evidence`` says what, and shows it to everybody
    ``refused`` a message or an offer had no effect, and nobody can be accused for it: ``error``
    ``ready``   the end: ``key``, which all parties have, and ``shares``, this party's own; ``None`` without weight
                or without ``recipient``, or if they could not be opened, then with ``error``
    ``aborted`` the end without a key, for all parties: ``error``, with ``need`` and ``got`` if stake is missing
    ==========  ==================================================================================
    """

    kind: KeygenOutputKind
    text: str = ""
    data: bytes = b""
    party: Optional[int] = None
    #: The place in the chain's order.
    position: Optional[int] = None
    #: To be raised, if you like; nobody has.
    error: Optional[PrefinalError] = None
    evidence: Optional[Evidence] = None
    key: Optional[DkgKey] = None
    shares: Optional[OwnShares] = None

    @property
    def code(self) -> Optional[str]:
        """Which check failed, of a message or by an accused party, as one of ``prefinal.CODES``."""
        said = self.error or self.evidence
        return None if said is None else said.code


class Keygen:
    """The key generation of the party at this position: the machine that validators run.

    ``signer`` signs its dealing. ``recipient`` opens what is dealt to it, once: it is used up by the output
    ``ready`` and wiped; without it the party gets the key and no shares. ``kind`` is ``"field"`` for threshold
    signatures and decryption, ``"group"`` for the weighted VUF. ``records`` makes it a later life: all that was
    kept before, oldest first; what they lead to is said by the next call. A party that has lost its records must not deal
    again in the session. ``seed`` (32 bytes) makes the same dealing again, for tests only.

    Whatever has to be checked is checked in the call that needs it. Not pickled, for it has secrets.

    Raises ``ArgumentError`` if the party is none of the configuration, ``EncodingError`` or ``ArgumentError`` if records
    are damaged or of another session.
    """

    def __init__(
        self,
        config: DkgConfig,
        party: SupportsIndex,
        signer: SecretKey,
        recipient: Optional[RecipientKey] = None,
        *,
        kind: Literal["field", "group"] = "field",
        records: Optional[Iterable[Buffer]] = None,
        seed: Optional[Buffer] = None,
    ) -> None:
        self._party = party
        self._keygen = _core.Keygen(
            {
                "config": config,
                "party": party,
                "signer": signer,
                "recipient": recipient,
                "kind": kind,
                "records": records,
                "seed": seed,
            }
        )

    def start(self) -> list[KeygenOutput]:
        """Deal now. Called again, it submits the same dealing again, unless that counts by now."""
        return _outputs(self._keygen.start())

    def ordered(self, position: SupportsIndex, message: Buffer) -> list[KeygenOutput]:
        """The chain has put ``message`` at ``position``, from 0 to 2^64 - 1.

        Positions ascend and may leave gaps; one that is not behind all before is a repetition, and nothing happens. All
        parties must be given the same order.
        """
        return _outputs(self._keygen.ordered(position, message))

    def ended(self) -> list[KeygenOutput]:
        """The chain orders no more messages for this session: if there is no key by now, there will be none."""
        return _outputs(self._keygen.ended())

    def recover(self, epoch_key: Buffer, offer: Buffer) -> list[KeygenOutput]:
        """This party was absent: the chain has made ``epoch_key`` final, and a peer offers its ``offer``.

        The offer is checked, so the peer may be anybody; the key is not: it must be the chain's. ``EncodingError`` if it
        is none.
        """
        return _outputs(self._keygen.recover(epoch_key, offer))

    @property
    def last(self) -> Optional[int]:
        """The last position that was taken; after a restart, the order is given again from behind it."""
        return self._keygen.last

    @property
    def epoch_key(self) -> Optional[bytes]:
        """The key's public part, for the chain to make final: the same for all. ``None`` before the key is fixed."""
        return self._keygen.epoch_key

    @property
    def offer(self) -> Optional[bytes]:
        """What a party that was absent needs beside it: the dealings that count, or their sum."""
        return self._keygen.offer

    def __repr__(self) -> str:
        return f"<Keygen of party {self._party}, {'open' if self.epoch_key is None else 'ended'}>"

    def __reduce__(self) -> Any:
        raise TypeError("a Keygen has secrets and is not pickled")


def _outputs(raw: list[dict[str, Any]]) -> list[KeygenOutput]:
    return [
        KeygenOutput(**{name: value for name, value in one.items() if value is not None})
        for one in raw
    ]
