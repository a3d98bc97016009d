"""The notebooks are made into files of Jupyter and run there, cell by cell."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"

#: Of each notebook the parameters that differ from its own, how many pictures it draws, and what it prints.
NOTEBOOKS: dict[str, tuple[dict[str, Any], int, str]] = {
    "fast_path_stake": ({}, 2, "fast path needs"),
    "hours_on_the_map": ({}, 2, "none computable before it was final"),
    "key_generation": ({}, 0, "one key on 4 parties, 4 values of slot 1, all the same"),
    "key_generation_times": ({}, 1, "times what one sum of them is"),
    "latency_figure": ({}, 2, "(the paper: 85.5 and 24.7)"),
    "release_by_hand": ({}, 0, "slots 2 to 4: 12 values, 12 by the slow path"),
    "setup_overhead": ({"PARTIES": 8}, 0, "two thresholds take 1.77 times the bytes of one"),
    "tight_and_ramp": ({"PARTIES": 4, "SLOTS": 2}, 3, "adversarial"),
    "transactions_beside_a_beacon": ({}, 1, "both paths"),
    "under_attack": ({}, 2, "Campaign(executions=5"),
}


def parameters(book: Any) -> list[int]:
    """Where cells of parameters are: where papermill, too, puts others."""
    return [at for at, cell in enumerate(book.cells) if "parameters" in cell.metadata.get("tags", [])]


def run(book: Any, folder: Path) -> str:
    """What a notebook prints in its own folder."""
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(book, timeout=300, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    return "".join(output.get("text", "") for output in outputs)


def test_every_notebook_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_built_and_run(name: str, tmp_path: Path, request: Any) -> None:
    others, pictures, printed = NOTEBOOKS[name]
    book: Any = jupytext.read(FOLDER / f"{name}.py")
    places = parameters(book)
    assert len(places) <= 1 and (places or not others)
    if places:
        if 'COSTS = "measured"' in book.cells[places[0]].source:
            others = {**others, "COSTS": request.getfixturevalue("costs")}
        known = {line.split(" ")[0].rstrip(":") for line in book.cells[places[0]].source.splitlines()}
        assert set(others) <= known
        lines = "\n".join(f"{one} = {value!r}" for one, value in others.items())
        cell = copy.deepcopy(book.cells[places[0]])
        cell.update(source=lines, metadata={"tags": ["injected-parameters"]}, id="parameters")
        book.cells.insert(places[0] + 1, cell)
    said = run(book, tmp_path)
    nbformat.validate(book)
    jupytext.write(book, tmp_path / f"{name}.ipynb")
    assert printed in said
    drawn = list(tmp_path.glob("*.png"))
    assert len(drawn) == pictures and all(one.stat().st_size > 5000 for one in drawn)
    # A reader sees them below their cells.
    shown = [o for cell in book.cells for o in cell.get("outputs", []) if "image/png" in o.get("data", {})]
    assert len(shown) == pictures


def test_a_notebook_that_fails_fails_here(tmp_path: Path) -> None:
    book = jupytext.reads("# %%\nprint('begins')\n\n# %%\nassert 1 == 2\n", fmt="py:percent")
    with pytest.raises(CellExecutionError, match="assert 1 == 2"):
        run(book, tmp_path)
