"""Hours of a committee, key generation, and transactions beside a beacon: as the command has them."""

from __future__ import annotations

import csv
import doctest
import inspect
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any, Optional

import pytest

import prefinal
from prefinal import ArgumentError, measurements

STAKES = [310, 240, 150, 110, 90]


def day(**more: Any) -> prefinal.Hours:
    usual = {"stakes": STAKES, "every": 30, "restarts": 3, "moves": 2, "costs": None, "seed": 4}
    return prefinal.hours(1, **{**usual, **more})


@pytest.fixture(scope="module")
def usual() -> prefinal.Hours:
    return day()


def keys(rates: Any = ("10Mbit/s",), **more: Any) -> prefinal.KeyGeneration:
    return prefinal.key_generation(rates, **{"stakes": STAKES, "costs": None, **more})


def load(submitted: Any = (500,), **more: Any) -> prefinal.Transactions:
    usual = {"stakes": STAKES, "seconds": 1, "warm_up": 1, "costs": None, "regions": ["eu-west-1", "us-east-1"]}
    return prefinal.transactions(submitted, **{**usual, **more})


def stop(steps: int) -> None:
    raise RuntimeError("enough")


def test_examples_in_documents() -> None:
    results = doctest.testmod(measurements)
    assert results.attempted > 2 and results.failed == 0


def test_hours_with_restarts_moves_and_the_fast_path_from_the_middle_on(usual: prefinal.Hours) -> None:
    told: list[int] = []
    run = day(progress=told.append)
    assert sum(told) == 60 and run == usual != day(seed=5, restarts=0)
    frame = run.frame()
    assert list(frame["minute"]) == list(range(60)) and 100 <= frame["slots"].sum() <= 120
    before = frame[frame["paths"] == "slow"]
    assert before["by_fast_path"].sum() == 0 < frame["by_fast_path"].sum()
    assert 30 * 60 <= run.switched_s < 31 * 60 and run.fast_from == 61
    assert frame["caught_up"].sum() > 0
    phases = run.phases_frame()
    assert list(zip(phases["paths"], phases["outage"])) == [
        ("slow", False), ("both", False), ("slow", True), ("both", True)
    ]  # fmt: skip
    assert phases["values"][:2].sum() == frame["values"].sum()
    assert phases["by_fast_path"][:2].sum() == frame["by_fast_path"].sum()
    slow, both = phases["mean_ms"][:2]
    assert both < slow and (frame["p50_ms"] <= frame["p99_ms"]).all()


def test_what_happened_to_parties_is_said(usual: prefinal.Hours) -> None:
    run = usual
    incidents = run.incidents_frame()
    down, moved = (incidents[incidents["what"] == what] for what in ("down", "moves"))
    assert len(moved) == 2 and len(down) > 3 and (down["from_s"] < down["until_s"]).all()
    assert down["from_region"].isna().all() and (moved["from_region"] != moved["to_region"]).all()
    total = sum(STAKES)
    for minute, parties, share in zip(*(run.minutes[name] for name in ("minute", "down", "down_stake"))):
        expected = {
            party
            for party, start, end in zip(down["party"], down["from_s"], down["until_s"])
            if start < 60 * (minute + 1) and 60 * minute < end
        }
        assert set(parties) == expected
        assert share == Fraction(sum(STAKES[party] for party in expected), total)
    assert {party for parties in run.minutes["moved"] for party in parties} == set(moved["party"])
    assert (run.slots_frame()["final_us"] <= run.slots_frame()["computable_us"]).all()
    # In one room nobody moves.
    assert "moves" not in day(regions="none").incidents["what"]


def test_key_generation_by_one_sum_and_by_every_dealing() -> None:
    told: list[int] = []
    run = keys(["1Mbit/s", "1Gbit/s"], progress=told.append)
    assert told == [1] * 4 and run == keys(["1Mbit/s", "1Gbit/s"])
    frame = run.frame().set_index(["on_chain", "interface"])
    assert len(frame) == 4
    one, each = frame.loc["aggregate"], frame.loc["dealings"]
    assert (one["transactions"] == 1).all() and (each["transactions"] > 1).all()
    assert (one["bytes_on_chain"] < each["bytes_on_chain"]).all()
    assert (frame["all_mean_s"] <= frame["all_last_s"]).all()
    # Only one of the two has a stage in which transcripts are exchanged.
    assert one["dissemination_mean_s"].notna().all() and each["dissemination_mean_s"].isna().all()
    assert one["dissemination_mean_s"]["1 Mbit/s"] > one["dissemination_mean_s"]["1 Gbit/s"]
    assert (frame["bytes_sent"] > frame["transcript_bytes"]).all() and (frame["dealers"] >= 2).all()
    assert run.parties == len(STAKES)


def test_transactions_wait_for_values_too() -> None:
    told: list[int] = []
    run = load([500, 1000], progress=told.append)
    assert told == [1] * 6 and run == load([500, 1000])
    frame = run.frame().set_index(["beside", "submitted_per_second"])
    assert len(frame) == 6 and (frame["p50_ms"] <= frame["p99_ms"]).all()
    alone, slow, both = (frame.loc[one] for one in ("no beacon", "slow path", "both paths"))
    assert alone["value_mean_ms"].isna().all() and (slow["value_mean_ms"] > 30).all()
    assert (both["value_mean_ms"] < slow["value_mean_ms"]).all()
    assert (slow["mean_ms"] - alone["mean_ms"] > 20).all() and (frame["slots"] > 3).all()
    assert all(frame["executable_per_second"] > 0)


def test_an_interface_makes_bytes_take_time() -> None:
    def mean(**more: Any) -> float:
        run = prefinal.simulate(STAKES, slots=2, regions="none", **more)
        return float(run.waits_frame()["ms"].mean())

    assert mean() == 0 < mean(interface="1Gbit/s") < mean(interface="10Mbit/s")
    assert mean(connection="8Mbit/s") > 0 and mean(interface="8Mbit/s") == mean(interface="1 MB/s")


def microseconds(ms: Optional[float]) -> int:
    return round(ms * 1000) if ms is not None and ms == ms else -1


def rows(file: Path) -> list[dict[str, str]]:
    with open(file, encoding="utf-8") as text:
        return list(csv.DictReader(text))


def said_by(command: Path, folder: Path, costs: str, line: str) -> None:
    """Runs an experiment of the command with these costs, which writes into the folder."""
    (folder / "costs-in.json").write_text(costs)
    (folder / "stakes.csv").write_text("stake\n" + "".join(f"{stake}\n" for stake in STAKES))
    done = subprocess.run(
        [str(command), "simulate", *line.split(), "--costs", "costs-in.json", "--out", "."],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def near(ours: Any, theirs: str) -> bool:
    """The command cuts to microseconds."""
    return abs(microseconds(ours) - (int(theirs) if theirs else -1)) <= 1


def test_hours_are_those_of_the_command(command: Path, costs: str, tmp_path: Path) -> None:
    line = "--hours 1 --every 30 --restarts 3 --moves 2 --stakes stakes.csv --seed 4 --interface 100Mbit/s"
    said_by(command, tmp_path, costs, line)
    run = day(costs=costs, interface="100Mbit/s")
    theirs = rows(tmp_path / "hours.csv")
    assert len(theirs) == 60
    for at, one in enumerate(theirs):
        for name in ("slots", "values", "caught_up"):
            assert run.minutes[name][at] == int(one[name]), (at, name)
        assert run.minutes["paths"][at] == one["paths"]
        assert [str(party) for party in run.minutes["down"][at]] == one["down"].split()
        for name in ("mean", "p50", "p99"):
            assert near(run.minutes[f"{name}_ms"][at], one[f"{name}_us"]), (at, name)
        assert near(run.minutes["longest_ms"][at], one["mean_of_longest_us"])
    incidents = rows(tmp_path / "incidents.csv")
    assert [one["what"] for one in incidents] == run.incidents["what"]
    assert [one["to_region"] or None for one in incidents] == run.incidents["to_region"]


def test_key_generation_is_that_of_the_command(command: Path, costs: str, tmp_path: Path) -> None:
    said_by(command, tmp_path, costs, "--keygen --rates 1Mbit/s,1Gbit/s --stakes stakes.csv --seed 3")
    runs = keys(["1Mbit/s", "1Gbit/s"], costs=costs, seed=3).runs
    theirs = rows(tmp_path / "keygen.csv")
    assert [one["interface"] for one in theirs] == runs["interface"]
    for at, one in enumerate(theirs):
        for name in ("on_chain", "transactions", "bytes_on_chain", "bytes_sent", "transcript_bytes"):
            assert str(runs[name][at]) == one[name], name
        for name in ("dealing", "dissemination", "aggregation", "agreement", "all"):
            for which in ("mean", "last"):
                seconds = runs[f"{name}_{which}_s"][at]
                assert near(seconds and seconds * 1000, one[f"{name}_{which}_us"]), name


def test_transactions_are_those_of_the_command(command: Path, costs: str, tmp_path: Path) -> None:
    line = "--load --engine jolteon --parties 5 --submitted 500,1000 --seconds 1 --warm-up 1 --seed 2"
    said_by(command, tmp_path, costs, line)
    largest = prefinal.stakes.load("aptos_mainnet_129").largest(5)
    runs = load([500, 1000], stakes=largest, costs=costs, seed=2, regions="all").runs
    theirs = rows(tmp_path / "transactions.csv")
    assert len(theirs) == 6 == len(runs["beside"])
    for at, one in enumerate(theirs):
        for name in ("beside", "submitted_per_second", "executable_per_second", "slots"):
            assert str(runs[name][at]) == one[name], name
        for name in ("mean", "p50", "p90", "p99", "value_mean"):
            assert near(runs[f"{name}_ms"][at], one[f"{name}_us"]), name
        assert near(runs["value_longest_ms"][at], one["value_mean_of_longest_us"])


def test_defaults_are_those_of_the_command(command: Path) -> None:
    said = subprocess.run([str(command), "simulate", "--help"], capture_output=True, text=True, check=True)
    flags = re.findall(r"^ +--([a-z-]+)(?: <.*)?\n((?: {10}.*\n| *\n)*)", said.stdout, re.MULTILINE)
    usual = {name: re.search(r"\[default: ([^],;]+)", text) for name, text in flags}
    compared = 0
    for call in (prefinal.hours, prefinal.key_generation, prefinal.transactions, prefinal.simulate):
        for name, one in inspect.signature(call).parameters.items():
            # The length of a run in slots and its path are Python's own; transactions have an interface.
            if name in ("slots", "path", "engine") or (name, call) == ("interface", prefinal.transactions):
                continue
            found = usual.get(name.replace("_", "-"))
            shown = " ".join(map(str, one.default)) if isinstance(one.default, tuple) else str(one.default)
            if found is not None and one.default is not one.empty:
                theirs = found.group(1).strip()
                # None stands for what the command says in words.
                same = theirs[0].isalpha() if one.default is None else theirs == shown
                assert same, (call.__name__, name, theirs)
                compared += 1
    assert compared > 25, compared


@pytest.mark.parametrize(
    ("arguments", "kind", "match"),
    [
        ({"hours": 0}, ArgumentError, "hours is 0, expected 1 to 240"),
        ({"hours": 241}, ArgumentError, "hours is 241"),
        ({"hours": "1"}, TypeError, "hours"),
        ({"every": 0}, ArgumentError, "every is 0, expected 1 to 60"),
        ({"every": 61}, ArgumentError, "every is 61"),
        ({"hours": -1}, ArgumentError, "hours is -1, expected 1 to 240$"),
        ({"hours": -1.0}, ArgumentError, "hours is -1.0, expected a whole number, 1 to 240$"),
        ({"hours": 1.5}, ArgumentError, "hours is 1.5, expected a whole number, 1 to 240$"),
        ({"hours": 10**60}, ArgumentError, "hours is a huge number, expected 1 to 240$"),
        ({"every": 2**100}, ArgumentError, f"every is {2**100}, expected 1 to 60$"),
        ({"restarts": -1}, ArgumentError, "restarts is -1, expected 0 to 10000$"),
        ({"restarts": 10_001}, ArgumentError, "restarts is 10001"),
        ({"moves": 10_001}, ArgumentError, "moves is 10001"),
        ({"moves": None}, TypeError, "moves"),
        ({"scheme": "none"}, ArgumentError, "scheme"),
        ({"scheme": None}, TypeError, "^expected scheme as str, got NoneType$"),
        ({"stakes": [1, 1, 1]}, ArgumentError, "4"),
        ({"regions": ["nowhere"]}, ArgumentError, "regions"),
        ({"interface": "fast"}, ArgumentError, "^interface: "),
        ({"interface": "0Mbit/s"}, ArgumentError, "^interface: "),
        ({"interface": 100}, TypeError, "^expected interface as str, got int$"),
        ({"connection": "1 furlong"}, ArgumentError, "^connection: "),
        ({"costs": "{}"}, ArgumentError, "^costs: missing field"),
        ({"costs": ""}, ArgumentError, "^costs: "),
        ({"costs": b"{}"}, TypeError, "^expected costs as str, got bytes$"),
        ({"jitter": -5}, ArgumentError, "^jitter is -5, expected 0 to 100$"),
        ({"weights": [1, 2]}, ArgumentError, "^weights: "),
        ({"progress": 7}, TypeError, "not callable"),
    ],
)
def test_hours_that_make_no_sense(arguments: Any, kind: type, match: str) -> None:
    usual = {"hours": 1, "stakes": STAKES, "restarts": 0, "moves": 0, "costs": None}
    with pytest.raises(kind, match=match):
        prefinal.hours(**{**usual, **arguments})


@pytest.mark.parametrize(
    ("arguments", "kind", "match"),
    [
        ({"rates": "50Mbit/s"}, TypeError, "^expected an iterable of rates, got str$"),
        ({"rates": None}, TypeError, "^expected an iterable of rates, got NoneType$"),
        ({"rates": []}, ArgumentError, "^rates: expected at least one$"),
        ({"rates": [50]}, TypeError, "^expected rates at 0 as str, got int$"),
        ({"rates": ["50Mbit/s", "50"]}, ArgumentError, "^rates at 1: "),
        ({"rates": ["0 Gbit/s"]}, ArgumentError, "^rates at 0: "),
        ({"connection": "many"}, ArgumentError, "^connection: "),
        ({"stakes": [5]}, ArgumentError, "4"),
        ({"fast": "1/2"}, ArgumentError, "fast: "),
        ({"progress": 7}, TypeError, "not callable"),
    ],
)
def test_key_generations_that_make_no_sense(arguments: Any, kind: type, match: str) -> None:
    with pytest.raises(kind, match=match):
        keys(**arguments)


@pytest.mark.parametrize(
    ("arguments", "kind", "match"),
    [
        ({"submitted": [500, 0]}, ArgumentError, "^submitted at 1 is 0, expected 1 to 1000000"),
        ({"submitted": [1_000_001]}, ArgumentError, "^submitted at 0 is 1000001"),
        ({"submitted": 500}, TypeError, "iterable"),
        ({"submitted": []}, ArgumentError, "^submitted: expected at least one$"),
        ({"submitted": ["x"]}, TypeError, "submitted at 0"),
        ({"seconds": 0}, ArgumentError, "^seconds is 0, expected 1 to 3600"),
        ({"seconds": 3601}, ArgumentError, "^seconds is 3601"),
        ({"warm_up": 3601}, ArgumentError, "^warm_up is 3601, expected 0 to 3600"),
        ({"warm_up": -1}, ArgumentError, "^warm_up is -1"),
        ({"interface": "-1Mbit/s"}, ArgumentError, "^interface: "),
        ({"cores": 0}, ArgumentError, "cores is 0, expected 1 to 4294967295$"),
        ({"progress": 7}, TypeError, "not callable"),
    ],
)
def test_loads_that_make_no_sense(arguments: Any, kind: type, match: str) -> None:
    with pytest.raises(kind, match=match):
        load(**arguments)


def test_what_progress_raises_ends_the_run() -> None:
    for run in (day, keys, load):
        with pytest.raises(RuntimeError, match="enough"):
            run(progress=stop)
