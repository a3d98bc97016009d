"""Rounds of randomness beacons: drand's four schemes, the last of which is ours.

    >>> import prefinal
    >>> signature = bytes.fromhex(
    ...     "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125"
    ...     "e342b73a8dd2bacbe47e4b6b63ed5e39")
    >>> prefinal.drand.QUICKNET.verify(1000, signature).hex()[:16]
    'fe290beca10872ef'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional, Union

from prefinal._core import ChainInfo
from prefinal.errors import EncodingError

__all__ = ["QUICKNET", "SCHEMES", "ChainInfo", "Round", "chain_info", "round_from_json"]

#: The schemes of drand; outputs of this workspace's beacons are rounds of the last.
SCHEMES = (
    "pedersen-bls-chained",
    "pedersen-bls-unchained",
    "bls-unchained-on-g1",
    "bls-unchained-g1-rfc9380",
)

#: drand's public chain of the scheme that is ours.
QUICKNET = ChainInfo(
    scheme="bls-unchained-g1-rfc9380",
    public_key=bytes.fromhex(
        "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c"
        "8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb"
        "5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a"
    ),
    period=3,
    genesis_time=1692803367,
    genesis_seed=bytes.fromhex("f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e"),
    beacon_id="quicknet",
)


@dataclass(frozen=True)
class Round:
    """A round as a relay sends it; nothing is checked."""

    round: int
    signature: bytes
    #: The signature of the round before, where the scheme has one.
    previous: Optional[bytes] = None
    #: What the relay says the randomness is, if it does; ``verify`` refuses another than the signature's.
    randomness: Optional[bytes] = None

    def verify(self, chain: ChainInfo) -> bytes:
        """The round's randomness; raises unless it is the chain's, and the one that the relay says."""
        claimed = self.randomness
        return chain.verify(self.round, self.signature, previous=self.previous, randomness=claimed)


Json = Union[str, bytes, bytearray, "Mapping[str, Any]"]


def _object(data: Json, what: str) -> Mapping[str, Any]:
    if isinstance(data, (str, bytes, bytearray)):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError):
            raise EncodingError(f"{what}: no JSON", code="not-json") from None
    if not isinstance(data, Mapping):
        raise EncodingError(f"{what}: no JSON object", code="not-json")
    return data


def _first(fields: Mapping[str, Any], names: tuple[str, ...], what: str) -> Any:
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    raise EncodingError(f"{what}: no {' or '.join(names)}", code="invalid-field")


def _hex(fields: Mapping[str, Any], names: tuple[str, ...], what: str) -> bytes:
    value = _first(fields, names, what)
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        why = f"{what}: {names[0]} is no hexadecimal"
        raise EncodingError(why, code="invalid-field") from None


def _whole(fields: Mapping[str, Any], name: str, what: str) -> int:
    value = _first(fields, (name,), what)
    if isinstance(value, bool) or not isinstance(value, int):
        raise EncodingError(f"{what}: {name} is no whole number", code="invalid-field")
    return value


def chain_info(data: Json, *, hash: Union[str, bytes, None] = None) -> ChainInfo:
    """A beacon's info as relays serve it (``/info``, version 1 or 2), as JSON or as a mapping.

    What it says of its own hash is compared with its fields. Give the ``hash`` that you trust, for
    otherwise a relay may serve the info of another chain.
    """
    fields = _object(data, "info")
    metadata = fields.get("metadata")
    name = fields.get("beacon_id")
    if name is None and isinstance(metadata, Mapping):
        name = metadata.get("beaconID")
    chain = ChainInfo(
        scheme=str(_first(fields, ("schemeID", "scheme"), "info")),
        public_key=_hex(fields, ("public_key",), "info"),
        period=_whole(fields, "period", "info"),
        genesis_time=_whole(fields, "genesis_time", "info"),
        genesis_seed=_hex(fields, ("groupHash", "genesis_seed"), "info"),
        beacon_id="default" if name is None else str(name),
    )
    trusted = {"hash": hash.hex() if isinstance(hash, bytes) else hash}
    expected = [_hex(fields, ("hash", "chain_hash"), "info")]
    if hash is not None:
        expected.append(_hex(trusted, ("hash",), "argument"))
    for other in expected:
        if other != chain.hash:
            why = f"info is of chain {chain.hash.hex()}, not of {other.hex()}"
            raise EncodingError(why, code="wrong-chain-hash")
    return chain


def round_from_json(data: Json) -> Round:
    """A round as relays serve it (``/public/{round}``)."""
    fields = _object(data, "round")
    previous, claimed = fields.get("previous_signature"), fields.get("randomness")
    return Round(
        round=_whole(fields, "round", "round"),
        signature=_hex(fields, ("signature",), "round"),
        previous=_hex(fields, ("previous_signature",), "round") if previous else None,
        randomness=None if claimed is None else _hex(fields, ("randomness",), "round"),
    )
