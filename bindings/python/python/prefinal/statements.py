"""What certificates say of a slot: its value, or what the application makes of it.

    >>> from prefinal import Electorate, SecretKey, Statement
    >>> keys = [SecretKey(bytes(31) + bytes([n])) for n in (1, 2, 3, 4)]
    >>> members = [key.public_key().prove(key.prove_possession()) for key in keys]
    >>> electorate = Electorate(members, [40, 30, 20, 10])
    >>> state = Statement(chain=b"c" * 32, epoch=1, slot=7, value=b"v" * 32, root=b"r" * 32)
    >>> certificate = state.assemble(electorate, {n: state.sign(keys[n]) for n in (0, 1)})
    >>> state.verify(electorate, certificate)  # raises unless a quorum has signed it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from prefinal._core import Certificate, Electorate, PublicKey, SecretKey, Signature
from prefinal.errors import ArgumentError

if TYPE_CHECKING:
    from prefinal._core import ByParty

__all__ = ["Statement"]


def _hash(value: bytes, what: str) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"expected a bytes-like object as {what}")
    data = bytes(value)
    if len(data) != 32:
        raise ArgumentError(f"{what} has {len(data)} bytes, expected 32", code="invalid-argument")
    return data


def _number(value: int, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"expected {what} as a whole number")
    if not 0 <= value < 1 << 64:
        raise ArgumentError(f"{what}: expected 0 to 2^64 - 1", code="invalid-argument")
    return value


@dataclass(frozen=True)
class Statement:
    """A slot of a chain has a value; with ``root``, that value leaves a state with this root.

    What is signed is ``bytes(statement)``, under a domain that says whether it has a root, and whether
    members signed it with their own keys or a group with its shared key.
    """

    chain: bytes
    epoch: int
    slot: int
    #: The value that the engine decided for the slot: it names the block.
    value: bytes
    #: What the application makes of the block: the root of its state.
    root: Optional[bytes] = None

    def __post_init__(self) -> None:
        for name in ("chain", "value"):
            object.__setattr__(self, name, _hash(getattr(self, name), name))
        for name in ("epoch", "slot"):
            _number(getattr(self, name), name)
        if self.root is not None:
            object.__setattr__(self, "root", _hash(self.root, "root"))

    def __bytes__(self) -> bytes:
        numbers = self.epoch.to_bytes(8, "big") + self.slot.to_bytes(8, "big")
        return self.chain + numbers + self.value + (self.root or b"")

    @property
    def domain(self) -> str:
        """Under which members sign with their own keys."""
        return "beacon state certificate" if self.root is None else "beacon state root certificate"

    @property
    def threshold_domain(self) -> str:
        """Under which a group signs with its shared key."""
        return "beacon certificate" if self.root is None else "threshold state root certificate"

    def sign(self, key: SecretKey) -> Signature:
        """A member's vote. The key signs nothing but such statements."""
        return key.sign(bytes(self), domain=self.domain)

    def assemble(self, electorate: Electorate, votes: ByParty) -> Certificate:
        """A certificate of votes by party. Raises with the culprits if some are false."""
        return electorate.assemble(bytes(self), votes, domain=self.domain)

    def verify(self, electorate: Electorate, certificate: Certificate) -> None:
        """Raises unless a quorum of the electorate has signed this statement. Two pairings."""
        certificate.verify(electorate, bytes(self), domain=self.domain)

    def verify_threshold(self, key: PublicKey, signature: Signature) -> None:
        """Raises unless the group with this key has signed this statement. Two pairings."""
        key.verify(signature, bytes(self), domain=self.threshold_domain)
