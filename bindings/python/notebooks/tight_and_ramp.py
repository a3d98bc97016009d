# %% [markdown]
# # Tight thresholds, ramps, and what total weight buys
#
# Theorem 5.3 of *The Latency Price of Threshold Cryptosystem in Blockchains* (Xiang et al., 2024): with tight
# thresholds a value can be there when a party knows its block to be final. Theorem 6.4: with a ramp in some
# executions only. Here the real machines count message delays, and wait over the geography with weights of
# every total.
#
# The experiment on all of Aptos' validators has `PARTIES = 129`, `SLOTS = 100` and `SCHEME = "bls"`.

# %%
from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Optional

import matplotlib.pyplot as plt

import prefinal
from prefinal import stakes

# %% tags=["parameters"]
OUT = "."  # folder of the pictures
PARTIES = 6
SLOTS = 3
JITTER = 5  # percent
SCHEME: Literal["bls", "wvuf"] = "wvuf"
COSTS = "measured"  # or what `measure_costs` gave before

# %%
largest = stakes.load("aptos_mainnet_129").largest(PARTIES)
result = prefinal.thresholds(largest, scheme=SCHEME, slots=SLOTS, jitter=JITTER, costs=COSTS)

# %% [markdown]
# ## Message delays between finality and value
# Synchronous: everybody prefinalizes at one time. Adversarial: messages of parties that no quorum needs take a
# delay more.

# %%
delays = result.delays_frame().set_index("kind")
print(delays.round(2))
assert (delays.loc["tight"] == 0).all()
axes = delays.plot.barh(figsize=(7, 3), color=["#0072B2", "#D55E00"])
axes.set_xlabel("message delays after finality, mean")
axes.set_ylabel("")
plt.tight_layout()
plt.savefig(Path(OUT) / "message_delays.png", dpi=110)

# %% [markdown]
# ## Final and computable at one instant
# With tight thresholds every slot that votes make final can be computed at that instant, wherever parties are
# (Theorem 5.2). With a ramp it is so if all prefinalize at one instant, here on equal links (Theorem 6.3), and not on a
# map of the world.

# %%
equal = {"regions": ["here"], "round_trips": {("here", "here"): 100}, "jitter": 0}
RUNS: dict[str, tuple[Literal["fast", "tight"], dict[str, Any], Optional[str]]] = {
    "tight, on the map": ("tight", {}, "tight"),
    "ramp, equal links": ("fast", equal, "synchronous"),
    "ramp, on the map": ("fast", {}, None),
}
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, (path, network, premise) in RUNS.items():
    slots = prefinal.simulate(largest, path=path, scheme="wvuf", slots=SLOTS, **network).slots_frame()
    gap = (slots["computable_us"] - slots["final_us"]) / 1000
    if premise is not None:
        met = slots["premise"] == premise
        assert met.any() and (gap[met] == 0).all()
    axes.plot(range(len(gap)), gap, marker="o", label=name)
axes.set_xlabel("slot")
axes.set_ylabel("from final to computable, ms")
axes.legend()
plt.savefig(Path(OUT) / "one_instant.png", dpi=110)

# %% [markdown]
# ## What total weight buys
# More shares bring the fast path's threshold nearer to two thirds of the stake, and cost more to combine. The crosses
# are the paper's rounding with both of its thresholds.

# %%
frame = result.frame()
is_paper = frame["profile"] == "round to nearest, as the paper"
fast = frame[frame["needs"].notna() & ~is_paper]
_, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
for combining, rows in fast.groupby("combining"):
    rows = rows.sort_values("total_weight")
    axes.plot(rows["total_weight"].astype(float), rows["mean_ms"], marker="o", label=f"combining {combining}")
    theirs = frame[is_paper & (frame["combining"] == combining)]
    axes.plot(theirs["total_weight"].astype(float), theirs["mean_ms"], "x", color=axes.lines[-1].get_color())
axes.set_xscale("log", base=2)
axes.set_xlabel("total weight")
axes.set_ylabel("mean wait after finality, ms")
axes.legend()
plt.savefig(Path(OUT) / "total_weight_waits.png", dpi=110)
