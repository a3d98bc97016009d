"""The simulator: seeds, tables, refusals, Ctrl-C."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from typing import Any

import pandas as pd
import pytest

import prefinal
from prefinal import ArgumentError

STAKES = [4, 3, 2, 2, 1]


def test_a_seed_replays_a_run() -> None:
    one = prefinal.simulate(STAKES, slots=3, seed=7)
    again = prefinal.simulate(iter(STAKES), slots=3, seed=7)
    assert one == again and one != prefinal.simulate(STAKES, slots=3, seed=8)
    assert pickle.loads(pickle.dumps(one)) == one
    times = one.columns["time_us"]
    assert times == sorted(times) and len({len(column) for column in one.columns.values()}) == 1
    assert repr(one) == "Simulation(path='fast', scheme='bls', parties=5, slots=3, seed=7, engine='jolteon')"


def test_events_are_a_table() -> None:
    run = prefinal.simulate(STAKES, slots=3, seed=7, messages=True)
    frame = run.frame()
    assert isinstance(frame, pd.DataFrame) and len(frame) == len(run.events)
    counts = frame["kind"].value_counts()
    assert counts["finalized"] >= 15 and counts["revealed"] >= 15 and counts["partial"] > 0
    first = run.events[0]
    assert [first.time_us, first.kind] == list(frame.loc[0, ["time_us", "kind"]])
    senders = frame[frame["kind"] == "partial"]["sender"]
    assert senders.notna().all() and set(frame["party"]) == set(range(5))


@pytest.mark.parametrize("scheme", ["bls", "wvuf"])
def test_the_fast_path_is_faster(scheme: Any) -> None:
    means = []
    paths: Any = ("slow", "fast")
    for path in paths:
        run = prefinal.simulate(STAKES, path=path, scheme=scheme, slots=5, seed=2)
        every = [wait.ms for wait in run.waits]
        assert len(every) >= 25 and min(every) >= 0
        means.append(sum(every) / len(every))
    assert means[1] < means[0]


def test_without_distance_and_with_costs(costs: str) -> None:
    free = prefinal.simulate(STAKES, slots=3, regions="none")
    assert all(wait.ms == 0 for wait in free.waits)
    costly = prefinal.simulate(STAKES, slots=3, regions="none", costs=costs, cores=1)
    assert any(wait.ms > 0 for wait in costly.waits)
    tight = prefinal.simulate([1] * 4, slots=3, path="tight", regions=["eu-west-1", "us-east-1"])
    assert len(tight.waits) >= 12


def test_progress_counts_slots() -> None:
    told: list[int] = []
    prefinal.simulate(STAKES, slots=6, progress=told.append)
    assert 0 < sum(told) <= 7

    def stop(steps: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        prefinal.simulate(STAKES, slots=100_000, progress=stop)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"stakes": [1, 1, 1]}, ArgumentError),
        ({"stakes": [1, -1, 1, 1]}, ArgumentError),
        ({"stakes": "1111"}, TypeError),
        ({"slots": 0}, ArgumentError),
        ({"slots": 2**70}, ArgumentError),
        ({"slots": "3"}, TypeError),
        ({"seed": -1}, ArgumentError),
        ({"seed": 2**64}, ArgumentError),
        ({"jitter": 101}, ArgumentError),
        ({"jitter": 1000}, ArgumentError),
        ({"cores": 0}, ArgumentError),
        ({"fast": "2/3"}, ArgumentError),
        ({"fast": "-1/2"}, ArgumentError),
        ({"fast": 0.9}, TypeError),
        ({"path": "none"}, ArgumentError),
        ({"scheme": "none"}, ArgumentError),
        ({"regions": ["nowhere"]}, ArgumentError),
        ({"regions": []}, ArgumentError),
        ({"regions": [7]}, TypeError),
        ({"costs": "{}"}, ArgumentError),
        ({"costs": 7}, TypeError),
        ({"messages": "yes"}, TypeError),
    ],
)
def test_runs_that_make_no_sense(arguments: Any, kind: type) -> None:
    with pytest.raises(kind):
        prefinal.simulate(**{"stakes": STAKES, "slots": 1, **arguments})


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
def test_ctrl_c_ends_a_run() -> None:
    code = """
import prefinal, signal
# A shell that starts the tests in the background has them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("starts", flush=True)
try:
    prefinal.simulate([4, 3, 2, 2, 1], slots=1_000_000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None and started.stdout.readline() == "starts\n"
    time.sleep(0.5)
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate(timeout=60)
    assert out == "interrupted\n"
