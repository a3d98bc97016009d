"""Pictures, with matplotlib (``pip install "prefinal[plot]"``).

Every function draws into ``ax``, or into a new figure, and gives the axes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Optional, Union

from prefinal import _core
from prefinal.errors import ArgumentError, RoundingError
from prefinal.rounding import RatioLike, Rounding, _ratio, round_stakes
from prefinal.simulation import Simulation, Wait

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator, PercentFormatter
except ImportError as error:  # pragma: no cover
    raise ImportError('prefinal.plot needs matplotlib: pip install "prefinal[plot]"') from error

__all__ = ["timeline", "total_weight", "waits", "weights"]

#: Told apart by people who see fewer colours, too (Okabe and Ito).
SLOW, FAST, OTHER, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"


def _axes(ax: Optional[Axes], size: tuple[float, float] = (6.4, 4.2)) -> Axes:
    if ax is not None:
        return ax
    _, own = plt.subplots(figsize=size, layout="constrained")
    return own


def _plain(ax: Axes) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def weights(stakes: Iterable[Any], rounding: Rounding, *, ax: Optional[Axes] = None) -> Axes:
    """Each party's weight against its stake. On the line, weight would be proportional to stake."""
    numbers = _core.whole_numbers(stakes)
    if len(numbers) != len(rounding.weights):
        raise ArgumentError(f"{len(numbers)} stakes and {len(rounding.weights)} weights")
    ax = _plain(_axes(ax))
    total = sum(numbers)
    share = [100 * stake / total for stake in numbers]
    top = max(share) * 1.04
    slope = rounding.total / 100
    ax.plot([0, top], [0, top * slope], color=GREY, linewidth=1, label="proportional", zorder=1)
    ax.scatter(share, rounding.weights, s=22, color=SLOW, alpha=0.6, linewidths=0, zorder=2)
    ax.set_xlim(0, top)
    ax.set_ylim(bottom=-0.02 * rounding.largest)
    ax.xaxis.set_major_formatter(PercentFormatter(decimals=1 if top < 10 else 0))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("share of the stake")
    ax.set_ylabel("weight (shares held)")
    holders = f"{rounding.holders} of {len(numbers)} parties hold the {rounding.total} shares"
    ax.set_title(holders, fontsize=10)
    ax.legend(frameon=False)
    return ax


def total_weight(
    stakes: Iterable[Any],
    ratios: Optional[Sequence[RatioLike]] = None,
    *,
    label: Optional[str] = None,
    ax: Optional[Axes] = None,
) -> Axes:
    """What stake the fast path is guaranteed to need, against the total weight it costs.

    Rounds the stakes once for each of ``ratios``, which are what is asked for.
    """
    numbers = _core.whole_numbers(stakes)
    asked = [Fraction(n, 100) for n in range(70, 96)] if ratios is None else [_ratio(r) for r in ratios]
    points = []
    for ratio in asked:
        try:
            rounding = round_stakes(numbers, fast=ratio)
        except RoundingError:
            continue
        points.append((100 * float(rounding["fast"].reconstruction), rounding.total))
    if not points:
        raise ArgumentError("none of the ratios has a rounding")
    points.sort()
    ax = _plain(_axes(ax))
    ax.plot(*zip(*points), marker="o", markersize=3.5, linewidth=1.2, label=label)
    ax.axvline(100 * 2 / 3, color=GREY, linewidth=1, linestyle=":")
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter("{x:.0f}")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(PercentFormatter(decimals=0))
    ax.set_xlabel("stake that the fast path needs, guaranteed (dotted: finality)")
    ax.set_ylabel("total weight")
    if label is not None:
        ax.legend(frameon=False)
    return ax


def waits(
    runs: Mapping[str, Union[Simulation, Iterable[Wait]]], *, ax: Optional[Axes] = None
) -> Axes:
    """The distribution of waits between finality and value, one curve for each run."""
    ax = _plain(_axes(ax))
    right = 0.0
    for (name, run), colour in zip(runs.items(), [SLOW, FAST, OTHER, "#CC79A7", "#E69F00", "#56B4E9"]):
        every = run.waits if isinstance(run, Simulation) else run
        ms = sorted(wait.ms for wait in every)
        if not ms:
            raise ArgumentError(f"{name}: there are no waits")
        share = [100 * (i + 1) / len(ms) for i in range(len(ms))]
        mean = sum(ms) / len(ms)
        ax.plot(ms, share, drawstyle="steps-post", color=colour, label=f"{name}: mean {mean:.1f} ms")
        right = max(right, ms[int(0.99 * (len(ms) - 1))])
    ax.set_xlim(0, max(right * 1.1, 1))
    ax.set_ylim(0, 100)
    ax.yaxis.set_major_formatter(PercentFormatter(decimals=0))
    ax.set_xlabel("wait between finality and value, ms")
    ax.set_ylabel("values of slots at parties")
    ax.legend(frameon=False, loc="best")
    return ax


#: How events of a timeline are drawn: marker, colour, size, name.
_MARKS = {
    "proposed": ("D", "black", 42, "proposes"),
    "voted": ("|", "black", 60, "votes"),
    "finalized": ("o", OTHER, 34, "knows it is final"),
    "revealed": ("*", FAST, 80, "has the value"),
}


def timeline(run: Simulation, slot: int, *, ax: Optional[Axes] = None) -> Axes:
    """One slot: what each party does when, and the partials on their way.

    Partials are drawn as lines from their sender to their recipient if the run was made with
    ``messages=True``.
    """
    events = [event for event in run.events if event.slot == slot]
    times = [event.time_us for event in events if event.kind in _MARKS]
    if not times:
        raise ArgumentError(f"slot {slot} is not in the run")
    start = min(times)
    ax = _plain(_axes(ax, (8.0, max(3.0, 0.35 * run.parties + 1.2))))

    def ms(time: int) -> float:
        return (time - start) / 1000

    sent = {(e.party, e.path): e.time_us for e in events if e.kind == "released"}
    colours = {"slow": SLOW, "fast": FAST, "tight": OTHER}
    for event in events:
        if event.kind == "partial" and event.sender is not None and event.path is not None:
            left = sent.get((event.sender, event.path))
            if left is not None:
                ends = [ms(left), ms(event.time_us)]
                colour = colours[event.path]
                ax.plot(ends, [event.sender, event.party], color=colour, alpha=0.25, linewidth=0.7)
    for path in sorted({e.path for e in events if e.kind == "partial" and e.path is not None}):
        ax.plot([], [], color=colours[path], linewidth=1.2, label=f"{path} partial")
    for kind, (marker, colour, size, name) in _MARKS.items():
        own = [event for event in events if event.kind == kind]
        x, y = [ms(event.time_us) for event in own], [event.party for event in own]
        ax.scatter(x, y, marker=marker, color=colour, s=size, label=name, zorder=3)
    ax.set_xlim(-0.03 * ms(max(times)), 1.05 * ms(max(times)) + 0.1)
    ax.set_ylim(run.parties - 0.4, -0.6)
    if run.parties <= 25:
        ax.set_yticks(range(run.parties))
    ax.set_xlabel("milliseconds since the proposal")
    ax.set_ylabel("party")
    ax.set_title(f"slot {slot}, {run.path} path", fontsize=10)
    ax.legend(frameon=False, ncols=6, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    return ax
