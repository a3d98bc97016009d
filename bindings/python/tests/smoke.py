"""The package alone, on an interpreter that has nothing else: its documents' examples.

``cargo xtask test python`` runs this where there is another Python than that of the tests.
"""

import doctest
import importlib
import sys
from pathlib import Path

import prefinal

README = Path(__file__).resolve().parents[1] / "README.md"


def main() -> None:
    for name in ("prefinal", "drand", "errors", "rounding", "simulation", "stakes"):
        module = prefinal if name == "prefinal" else importlib.import_module(f"prefinal.{name}")
        failed, _ = doctest.testmod(module)
        if failed:
            sys.exit(f"examples in {name}")
    exec(README.read_text().split("```python\n", 1)[1].split("```", 1)[0], {})
    print(f"Python {sys.version.split()[0]} runs the examples")


if __name__ == "__main__":
    main()
