"""Vectors: the same files that Rust's tests read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

import prefinal

ROOT = Path(__file__).resolve().parents[3]
VECTORS = ROOT / "crypto-core" / "tests" / "vectors"


@pytest.fixture(scope="session")
def model() -> Callable[[str], Any]:
    """Reads what the independent model computed."""
    return lambda name: json.loads((VECTORS / "model" / f"{name}.json").read_text())["content"]


@pytest.fixture(scope="session")
def published() -> Callable[[str], Any]:
    """Reads vectors that others published."""
    return lambda name: json.loads((VECTORS / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def command() -> Path:
    """The command, which `cargo xtask test python` builds; `PREFINAL` names another place of it."""
    given = os.environ.get("PREFINAL")
    path = Path(given or ROOT / "target" / "debug" / "prefinal").resolve()
    if not path.exists():
        # Nobody who names it wants its comparisons left out.
        (pytest.fail if given else pytest.skip)(f"there is no {path}")
    return path


@pytest.fixture(scope="session")
def costs() -> str:
    """What cryptography costs here. Measuring it takes long where code is not optimised."""
    return prefinal.measure_costs()
