"""Own weights and round trips, engines, faults, thresholds and campaigns."""

from __future__ import annotations

import doctest
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import prefinal
from prefinal import ArgumentError, experiments, faults
from prefinal.faults import (
    Crash,
    Delay,
    Flood,
    Loss,
    Mute,
    Partition,
    Replay,
    Twins,
    TwoFaced,
    Withhold,
    Wrong,
)

#: The least there is: one party may do wrong.
STAKES = [1, 1, 1, 1]
#: One region is far away.
TRIPS: Any = {
    ("near", "near"): 2,
    ("near", "far"): (300, 310.5),
    ("far", "far"): 2.0,
}


def play(**arguments: Any) -> prefinal.Simulation:
    """The least that a run costs."""
    usual: dict[str, Any] = {"stakes": STAKES, "scheme": "wvuf", "slots": 4, "seed": 6}
    return prefinal.simulate(**{**usual, **arguments})


@pytest.fixture(scope="module")
def honest() -> prefinal.Simulation:
    return play(messages=True)


class Unknown(Wrong):
    """A kind of fault that Rust does not know."""

    def _raw(self) -> dict[str, Any]:
        return {**super()._raw(), "kind": "unknown"}


def enough(slots: int) -> None:
    raise RuntimeError("it runs")


def mean(run: prefinal.Simulation) -> float:
    return sum(wait.ms for wait in run.waits) / len(run.waits)


@pytest.mark.parametrize("module", [experiments, faults])
def test_examples_in_documents(module: Any) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 1 and results.failed == 0


def test_weights_are_taken_as_they_are() -> None:
    stakes = [30, 20, 20, 10, 10, 10]
    rounded = prefinal.round_stakes(stakes)
    usual = play(stakes=stakes)
    assert play(stakes=stakes, weights=rounded.weights).columns == usual.columns
    # More weight waits less.
    finer = prefinal.round_stakes(stakes, budget=20)
    assert finer["fast"].reconstruction < rounded["fast"].reconstruction
    assert mean(play(stakes=stakes, weights=finer.weights)) < mean(usual)


def test_a_budget_and_a_slow_pair_are_those_of_the_rounding() -> None:
    stakes = [30, 20, 20, 10, 10, 10]
    finer = prefinal.round_stakes(stakes, budget=20)
    assert play(stakes=stakes, budget=20).columns == play(stakes=stakes, weights=finer.weights).columns
    pair = prefinal.Pair("slow", "1/2", "3/5")
    early = prefinal.round_stakes(stakes, pairs=[pair])
    slow = play(stakes=stakes, slow=("1/2", "3/5"), path="slow")
    given = play(stakes=stakes, slow=("1/2", "3/5"), path="slow", weights=early.weights)
    assert slow.columns == given.columns != play(stakes=stakes, path="slow").columns
    # The contract's bounds hold here too.
    for beyond in (("1/4", "1/2"), ("1/2", "9/10")):
        with pytest.raises(ArgumentError, match="the beacon refuses"):
            play(stakes=stakes, slow=beyond)


@pytest.mark.parametrize("engine", ["jolteon", "malachite", "trantor", "dispel"])
def test_twins_are_one_party_and_change_no_value(engine: Any) -> None:
    run = play(engine=engine, slots=3, faults=[Twins(0, [1])], regions="all", messages=True)
    assert {event.party for event in run.events} == {0, 1, 2, 3}
    assert {event.sender for event in run.events} <= {None, 0, 1, 2, 3}
    assert {(wait.slot, wait.party) for wait in run.waits if wait.party > 0} >= {
        (slot, party) for slot in sorted({wait.slot for wait in run.waits})[:3] for party in (1, 2, 3)
    }
    accused = {event.sender for event in run.events if event.kind == "accused"}
    assert accused == ({0} if engine == "malachite" else set())


def test_a_party_waits_once_for_a_slot() -> None:
    # It knew and had the value first after 3 ms; what comes later is of a later life or of its twin.
    columns: dict[str, list[Any]] = {
        "time_us": [1000, 2000, 4000, 9500],
        "kind": ["finalized", "finalized", "revealed", "revealed"],
        "party": [0] * 4,
        "slot": [1] * 4,
        "path": [None, None, "fast", "slow"],
        "sender": [None] * 4,
    }
    run = prefinal.Simulation("fast", "bls", 1, 1, 1, columns)
    assert run.waits == [prefinal.Wait(1, 0, "fast", 3.0)]


def test_twins_propose_different_blocks() -> None:
    # On Malachite others show who signed two votes, and twins that are told the same sign the same.
    run = play(engine="malachite", faults=[Twins(0, [1])], slots=6)
    accused = [event.party for event in run.events if event.kind == "accused"]
    assert accused.count(1) > 0 and {event.sender for event in run.events if event.kind == "accused"} == {0}


def test_a_partition_holds_both_twins() -> None:
    # The twin that talks to party 1 is on its side, the other one talks to nobody until it heals.
    faults = [Partition([[0, 1]], 0, 20_000), Twins(0, [2, 3])]
    run = play(slots=1, messages=True, faults=faults)
    heard = {event.party for event in run.events if event.sender == 0 and event.time_us < 20_000_000}
    assert heard == {1}


def test_round_trips_are_those_of_the_table(tmp_path: Path) -> None:
    arguments: Any = {"slots": 3, "jitter": 0, "path": "slow"}
    near = play(round_trips=TRIPS, regions=["near"], **arguments)
    assert {wait.ms for wait in near.waits} == {1.0}
    both = play(round_trips=TRIPS, **arguments)
    assert max(wait.ms for wait in both.waits) >= 100
    square = pd.DataFrame([[2, 300], [300, 2.0]], index=["far", "near"], columns=["far", "near"])
    assert play(round_trips=square, **arguments) == both
    file = tmp_path / "trips.csv"
    file.write_text("from,to,p50_ms,p90_ms\nnear,near,2,2\nnear,far,300,300\nfar,far,2,2\n")
    assert play(round_trips=file, **arguments) == both


@pytest.mark.parametrize("engine", ["jolteon", "malachite", "trantor", "dispel"])
def test_every_engine_runs_under_faults(engine: Any) -> None:
    run = play(engine=engine, slots=3, messages=True, faults=[Wrong(3), Loss(0.01, 0, 500)])
    assert len({(wait.slot, wait.party) for wait in run.waits}) >= 12 and run.engine == engine
    # Malachite's partials are in its votes, which this party leaves alone.
    accused = {event.sender for event in run.events if event.kind == "accused"}
    assert accused == (set() if engine == "malachite" else {3})
    kinds = {"jolteon": "order-vote", "malachite": "precommit", "trantor": "commit", "dispel": "batch"}
    assert kinds[engine] in run.columns["kind"]


def test_slots_are_final_before_anybody_can_compute_their_value(honest: prefinal.Simulation) -> None:
    for run in (honest, play(path="slow"), play(path="tight")):
        frame = run.slots_frame()
        assert len(frame) >= 4 and list(frame["slot"]) == sorted(frame["slot"])
        assert (frame["final_us"] <= frame["computable_us"]).all()
        same = frame[frame["premise"].isin(["tight", "synchronous"])]
        assert (same["final_us"] == same["computable_us"]).all()
        assert run.path != "tight" or len(same) > 0
        longest = [max(wait.ms for wait in run.waits if wait.slot == slot) for slot in frame["slot"]]
        assert list(frame["longest_ms"]) == longest
        waits = run.waits_frame()
        assert list(waits.columns) == ["slot", "party", "path", "ms"]
        assert len(waits) == len(run.waits)


@pytest.mark.parametrize("held", [True, False])
def test_a_partition_holds_values_back_and_heals(held: bool) -> None:
    def first_value(run: prefinal.Simulation) -> int:
        pairs = zip(run.columns["time_us"], run.columns["kind"])
        return int(min(time for time, kind in pairs if kind == "revealed"))

    parted = play(faults=[Partition([[0, 1], [2]], 0, 20_000, held)])
    # Party 3 is in none, so nobody has a quorum.
    assert first_value(parted) >= 20_000_000
    assert first_value(play(faults=[Partition([[0, 1, 2]], 0, 20_000, held)])) < 20_000_000


def test_loss_changes_a_run_and_a_seed_replays_it(honest: prefinal.Simulation) -> None:
    faults = [Loss(0.05, 0, 3000)]
    one = play(messages=True, faults=faults)
    assert one == play(messages=True, faults=iter(faults))
    assert one.columns != honest.columns


def test_a_party_that_crashes_for_good_is_not_awaited() -> None:
    def of(run: prefinal.Simulation, party: int) -> set[int]:
        return {wait.slot for wait in run.waits if wait.party == party}

    at = 1500
    run = play(slots=12, faults=[Crash(2, at)])
    assert len(of(run, 2)) < 12 <= min(len(of(run, party)) for party in (0, 1, 3))
    assert all(event.time_us <= at * 1000 for event in run.events if event.party == 2)
    back = play(slots=12, faults=[Crash(2, at, at + 600)])
    assert len(of(back, 2)) >= 12


@pytest.mark.parametrize(
    "fault",
    [Mute(3, 200), Withhold(3, [0, 1]), Withhold(3, [0], everything=True), TwoFaced(3, [0, 1]),
     TwoFaced(3, [0], both=True), Delay(3, 200), Flood(3, 1500), Replay(3, 1500),
     Crash(3, 1000, 1600, disk_lost=True)],
)
def test_a_party_that_does_wrong_changes_the_run_and_not_its_end(
    fault: Any, honest: prefinal.Simulation
) -> None:
    run = play(messages=True, faults=[fault])
    assert run.columns != honest.columns
    assert len({(wait.slot, wait.party) for wait in run.waits if wait.party != 3}) >= 4 * 3
    assert all(event.sender == 3 for event in run.events if event.kind == "accused")


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"engine": "none"}, ArgumentError),
        ({"engine": 7}, TypeError),
        ({"weights": [1, 2]}, ArgumentError),
        ({"weights": [0] * 4}, ArgumentError),
        ({"weights": [1, -1, 1, 1]}, ArgumentError),
        ({"weights": [2**32] * 4}, ArgumentError),
        ({"weights": [1, 0, 0, 0]}, ArgumentError),
        ({"weights": [float("nan")] * 4}, ArgumentError),
        ({"weights": STAKES, "path": "tight"}, ArgumentError),
        ({"weights": 7}, TypeError),
        ({"budget": 0}, ArgumentError),
        ({"budget": -1}, ArgumentError),
        ({"budget": 2**32}, ArgumentError),
        ({"budget": "9"}, TypeError),
        ({"budget": 9, "path": "tight"}, ArgumentError),
        ({"budget": 9, "weights": STAKES}, ArgumentError),
        ({"budget": 9, "stakes": [1, 1, 1]}, ArgumentError),
        ({"slow": ("2/3", "1/2")}, ArgumentError),
        ({"slow": ("1/2", "3/5"), "path": "tight"}, ArgumentError),
        ({"slow": ("1/2",)}, TypeError),
        ({"slow": "1/2"}, TypeError),
        ({"slow": (0.5, 0.6)}, TypeError),
        ({"faults": [Twins(4, [1])]}, ArgumentError),
        ({"faults": [Twins(0, [4])]}, ArgumentError),
        ({"round_trips": {}}, ArgumentError),
        ({"round_trips": 7}, TypeError),
        ({"round_trips": "near"}, TypeError),
        ({"round_trips": {("a", "b"): 1}}, ArgumentError),
        ({"round_trips": {("a", "a"): -1}}, ArgumentError),
        ({"round_trips": {("a", "a"): float("nan")}}, ArgumentError),
        ({"round_trips": {("a", "a"): float("inf")}}, ArgumentError),
        ({"round_trips": {("a", "a"): 1e9}}, ArgumentError),
        ({"round_trips": {("a", "a"): (2, 1)}}, ArgumentError),
        ({"round_trips": {("a", "a"): (1, 2, 3)}}, ArgumentError),
        ({"round_trips": {("a", "a"): "1"}}, TypeError),
        ({"round_trips": {("a", "a"): True}}, TypeError),
        ({"round_trips": {("a,b", "a"): 1}}, ArgumentError),
        ({"round_trips": {("a\nb", "a"): 1}}, ArgumentError),
        ({"round_trips": {"a": 1}}, ArgumentError),
        ({"round_trips": TRIPS, "regions": ["eu-west-1"]}, ArgumentError),
        ({"faults": [7]}, TypeError),
        ({"faults": 7}, TypeError),
        ({"faults": [Loss(-0.1)]}, ArgumentError),
        ({"faults": [Loss(1.1)]}, ArgumentError),
        ({"faults": [Loss(float("nan"))]}, ArgumentError),
        ({"faults": [Loss(True)]}, TypeError),
        ({"faults": [Loss("0.1")]}, TypeError),  # type: ignore[arg-type]
        ({"faults": [Wrong(True)]}, TypeError),
        ({"faults": [Loss(0.1, 5, 4)]}, ArgumentError),
        ({"faults": [Loss(0.1, -1)]}, ArgumentError),
        ({"faults": [Loss(0.1, 0, 1e12)]}, ArgumentError),
        ({"faults": [Partition([[0, 4]], 0, 1)]}, ArgumentError),
        ({"faults": [Partition([[0], [0]], 0, 1)]}, ArgumentError),
        ({"faults": [Partition([[-1]], 0, 1)]}, ArgumentError),
        ({"faults": [Partition([[2**70]], 0, 1)]}, ArgumentError),
        ({"faults": [Partition([["0"]], 0, 1)]}, TypeError),  # type: ignore[list-item]
        ({"faults": [Partition(7, 0, 1)]}, TypeError),  # type: ignore[arg-type]
        ({"faults": [Crash(4, 1)]}, ArgumentError),
        ({"faults": [Crash(1, 5, 4)]}, ArgumentError),
        ({"faults": [Crash(1, float("inf"))]}, ArgumentError),
        ({"faults": [Wrong(4)]}, ArgumentError),
        ({"faults": [Wrong(1.5)]}, TypeError),  # type: ignore[arg-type]
        ({"faults": [Withhold(1, [9])]}, ArgumentError),
        ({"faults": [TwoFaced(1, [9])]}, ArgumentError),
        ({"faults": [Delay(1, -1)]}, ArgumentError),
        ({"faults": [Loss(0.1)] * 10_001}, ArgumentError),
        ({"faults": [Unknown(1)]}, ArgumentError),
        ({"slots": 1_000_001, "progress": enough}, ArgumentError),
    ],
)
def test_runs_that_make_no_sense(arguments: Any, kind: type) -> None:
    with pytest.raises(kind):
        prefinal.simulate(**{"stakes": STAKES, "slots": 1, **arguments})


@pytest.mark.parametrize(
    ("arguments", "kind", "match"),
    [
        ({"regions": [7]}, TypeError, "expected a region's name, got int"),
        ({"slow": ("1/2",)}, TypeError, "expected slow as two ratios"),
        ({"slow": "12"}, TypeError, "expected slow as two ratios"),
        ({"round_trips": {"aa": 1}}, ArgumentError, "no pair of regions"),
        ({"round_trips": {("a",): 1}}, ArgumentError, "no pair of regions"),
        ({"round_trips": {("a", "a", "a"): 1}}, ArgumentError, "no pair of regions"),
        ({"round_trips": {(b"a", b"a"): 1}}, TypeError, "expected a region's name, got bytes"),
        ({"round_trips": {("", ""): 1}}, ArgumentError, "no name of letters"),
        ({"round_trips": {("a,b", "a"): 1}}, ArgumentError, "no name of letters"),
        ({"round_trips": {(" a", " a"): 1}}, ArgumentError, "no name of letters"),
        ({"round_trips": {("a", "a"): -1}}, ArgumentError, "expected 0 to 60000"),
        ({"round_trips": {("a", "a"): 60_001}}, ArgumentError, "expected 0 to 60000"),
        ({"round_trips": {("a", "a"): float("nan")}}, ArgumentError, "expected 0 to 60000"),
    ],
)
def test_refusals_say_what_is_wrong(arguments: Any, kind: type, match: str) -> None:
    with pytest.raises(kind, match=match):
        prefinal.simulate(STAKES, slots=1, **arguments)


def test_tight_thresholds_wait_least_and_more_weight_waits_less(costs: str) -> None:
    result = prefinal.thresholds([4, 3, 2, 1], scheme="wvuf", slots=2, costs=costs)
    delays = result.delays_frame().set_index("kind")
    assert list(delays.loc["tight"]) == [0, 0]
    # A mean over few slots: about one delay, never more.
    assert all(0.9 < one <= 1 for one in delays.loc["ramp, slow path alone"])
    waits = result.frame()
    assert {"free", "behind", "ahead"} == set(waits["combining"])
    free = waits[waits["combining"] == "free"].set_index("profile")["mean_ms"]
    assert free["tight, in exact stake"] == 0
    assert free["budget 4096"] <= free["asked for"] < free["slow path alone"]
    assert free["asked for"] <= free["round to nearest, as the paper"] < free["slow path alone"]
    behind = waits[waits["combining"] == "behind"].set_index("profile")["mean_ms"]
    assert behind["asked for"] > free["asked for"], "combining takes time"
    needs = [one for one in result.waits["needs"] if one is not None]
    assert all(isinstance(one, Fraction) and Fraction(2, 3) < one <= 1 for one in needs)


@pytest.mark.parametrize(
    "wrong",
    [{"costs": "{}"}, {"costs": ""}, {"slots": 0}, {"engine": "none"}, {"fast": "2/3"},
     {"stakes": [1, 1]}, {"round_trips": {}}],
)
def test_comparisons_that_make_no_sense(wrong: Any, costs: str) -> None:
    with pytest.raises(ArgumentError):
        prefinal.thresholds(**{"stakes": STAKES, "slots": 1, "costs": costs, **wrong})


def test_a_campaign_holds_and_its_seeds_replay_it() -> None:
    told: list[int] = []
    one = prefinal.campaign(8, seed=5, function="ideal", progress=told.append)
    assert one.executions == sum(told) == 8 and one.violations == () and one.slots > 8
    assert one == prefinal.campaign(8, seed=5, function="ideal")
    assert one.fingerprint != prefinal.campaign(8, seed=6, function="ideal").fingerprint
    frame = one.frame()
    assert list(frame.columns) == ["what", "executions", "times"] and (frame["executions"] <= 8).all()
    assert sum(one.played["executions"]) == 8 and set(one.played["function"]) == {"ideal"}
    assert set(one.values) == {"slow", "fast", "tight"} and one.seconds > 8


def test_each_execution_is_a_row() -> None:
    result = prefinal.campaign(6, seed=5, engine="jolteon", function="ideal")
    frame = result.executions_frame()
    assert list(frame.index) == list(range(5, 11)) and set(frame["engine"]) == {"jolteon"}
    assert frame["violation"].isna().all() and frame["slots"].sum() == result.slots
    for path, values in result.values.items():
        assert frame[path].sum() == values
    assert frame["most_kept"].max() == result.most_kept
    assert frame["seconds"].sum() == pytest.approx(result.seconds)
    for what, executions, times in zip(*(result.counts[name] for name in ("what", "executions", "times"))):
        assert ((frame[what] > 0).sum(), frame[what].sum()) == (executions, times), what
    # An execution is the same alone.
    alone = prefinal.campaign(1, seed=7, engine="jolteon", function="ideal").each
    assert {name: column[0] for name, column in alone.items()} == {
        name: column[2] for name, column in result.each.items()
    }
    none = prefinal.campaign(2, seed=5, engine="jolteon", function="ideal", each=False)
    assert none.executions_frame().empty and none.executions == 2 and none.counts["what"]


def test_without_a_rule_a_violation_comes_with_its_seed() -> None:
    found = prefinal.campaign(100, engine="permissive", function="ideal", without_rule=4)
    assert found.violations and found.executions < 100
    first = found.violations[0]
    again = prefinal.campaign(1, seed=first.seed, engine="permissive", function="ideal", without_rule=4)
    assert again.violations == (first,)
    row = again.executions_frame().loc[first.seed]
    assert row["violation"] == first.what and ": " in first.what and row[["slots", "fast"]].isna().all()
    with_all = prefinal.campaign(1, seed=first.seed, engine="permissive", function="ideal")
    assert with_all.violations == ()


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"executions": 0}, ArgumentError),
        ({"executions": 2**80}, ArgumentError),
        ({"executions": "3"}, TypeError),
        ({"seed": -1}, ArgumentError),
        ({"engine": "none"}, ArgumentError),
        ({"function": "none"}, ArgumentError),
        ({"without_rule": 10}, ArgumentError),
        ({"without_rule": 0}, ArgumentError),
        ({"engine": "sync", "function": "bls"}, ArgumentError),
        ({"engine": "replica", "without_rule": 1}, ArgumentError),
        ({"engine": "pipeline", "handover": True}, ArgumentError),
        ({"stakes": []}, ArgumentError),
        ({"stakes": [0, 0]}, ArgumentError),
        ({"stakes": [2**70] * 5}, ArgumentError),
        ({"stakes": "1111"}, TypeError),
        ({"fast": "3/2"}, ArgumentError),
        ({"real_signatures": "yes"}, TypeError),
        ({"each": 1}, TypeError),
    ],
)
def test_campaigns_that_make_no_sense(arguments: Any, kind: type) -> None:
    with pytest.raises(kind):
        prefinal.campaign(**{"executions": 1, **arguments})


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
@pytest.mark.parametrize(
    "call",
    [
        "campaign(10_000_000)",
        "thresholds([4, 3, 2, 2, 1], slots=1_000_000)",
        "hours(240, costs=None)",
        "key_generation(costs=None)",
        "transactions(costs=None, seconds=3600)",
    ],
)
def test_ctrl_c_ends_long_experiments(call: str) -> None:
    code = f"""
import os, prefinal, signal, threading
# A shell that starts the tests in the background has them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.2, lambda: print("others run", flush=True)).start()
try:
    prefinal.{call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)
"""
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None and started.stdout.readline() == "others run\n"
    begin = time.monotonic()
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate(timeout=60)
    assert out == "interrupted\n" and time.monotonic() - begin < 10
