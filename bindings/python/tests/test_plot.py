"""What the plots show of what they are given, read from their axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import prefinal
from prefinal import ArgumentError, plot


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_weights_show_every_party() -> None:
    stakes = [30, 20, 20, 10, 10, 10]
    ax = plot.weights(stakes, prefinal.round_stakes(stakes))
    points: Any = ax.collections[0].get_offsets()
    assert len(points) == 6 and points[0][0] == 30
    with pytest.raises(ArgumentError):
        plot.weights(stakes[1:], prefinal.round_stakes(stakes))


def test_total_weight_falls_with_the_stake() -> None:
    ax = plot.total_weight(prefinal.stakes.load("swiper_aptos"), ["3/4", "4/5", "9/10"], label="Aptos")
    x: Any
    y: Any
    x, y = ax.lines[0].get_data()
    assert list(x) == sorted(x) and list(y) == sorted(y, reverse=True) and len(x) == 3
    with pytest.raises(ArgumentError):
        plot.total_weight([1], ["2/3"])


def test_waits_are_distributions() -> None:
    run = prefinal.simulate([4, 3, 2, 2, 1], slots=3)
    ax = plot.waits({"fast": run, "again": run.waits[:5]})
    share: Any = ax.lines[0].get_ydata()
    assert list(share)[-1] == 100 and len(ax.lines) == 2
    with pytest.raises(ArgumentError, match="empty"):
        plot.waits({"empty": []})


def test_a_timeline_shows_one_slot() -> None:
    run = prefinal.simulate([4, 3, 2, 2, 1], slots=3, messages=True)
    slot = run.waits[-1].slot
    ax = plot.timeline(run, slot)
    assert len(ax.lines) > 5 and len(ax.collections) == 4
    with pytest.raises(ArgumentError):
        plot.timeline(run, 10**6)
