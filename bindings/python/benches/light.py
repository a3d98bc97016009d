"""How long a light client takes from the genesis to epoch 1000, by stake and by key.

    PREFINAL_PROOFS=proofs.json cargo bench -p prefinal-light --bench light -- --quick
    python bindings/python/benches/light.py proofs.json

Processor time of the process, the least of some runs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from prefinal import LightClient, LightKey

Made = TypeVar("Made")


def least(runs: int, work: Callable[[], Made]) -> tuple[float, Made]:
    """Milliseconds of the fastest run, and what it made."""
    times = []
    for _ in range(runs):
        started = time.process_time()
        made = work()
        times.append(time.process_time() - started)
    return 1000 * min(times), made


def main(path: str) -> None:
    proofs = json.loads(Path(path).read_text())
    account = bytes.fromhex(proofs["account"])
    for name in ("still", "moving"):
        waypoint, members, proof = (
            bytes.fromhex(proofs[name][part]) for part in ("waypoint", "members", "proof")
        )
        start, _ = least(5, lambda w=waypoint, m=members: LightClient(w, m))

        def follow(w: bytes = waypoint, m: bytes = members, p: bytes = proof) -> int:
            client = LightClient(w, m)
            client.verify(p).account(account)
            return client.epoch

        followed, epoch = least(3, follow)
        if epoch != 1000:
            raise SystemExit(f"{name}: epoch {epoch}")
        print(f"{name:7} start {start:7.1f} ms, decode and verify {followed - start:7.1f} ms")
    chain, key, proof = (bytes.fromhex(proofs["key"][part]) for part in ("chain", "key", "proof"))
    client = LightKey(chain, key)
    once, _ = least(50, lambda: client.verify(proof).account(account))
    print(f"key     decode and verify {once:.2f} ms")


if __name__ == "__main__":
    main(sys.argv[1])
