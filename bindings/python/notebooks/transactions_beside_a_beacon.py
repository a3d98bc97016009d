# %% [markdown]
# # What a beacon costs transactions
#
# *The Latency Price of Threshold Cryptosystem in Blockchains* (Xiang et al., 2024) says that the wait for randomness is in
# the latency of every transaction, and measures the wait alone. Here transactions come to Jolteon at a steady rate, and
# are executed when their block is final (`no beacon`), or when the value of its slot is there too: by the slow path
# alone, or by both.
#
# On Aptos' 32 largest validators it is `PARTIES = 32`, `SUBMITTED = [500, 1000, 2000, 4000, 6000, 8000]`,
# `SECONDS = 10`, `INTERFACE = "1Gbit/s"` and `COSTS = "measured"`; it takes minutes.

# %%
from __future__ import annotations

from pathlib import Path
from typing import Optional

import matplotlib.pyplot as plt

import prefinal

# %% tags=["parameters"]
OUT = "."  # folder of the pictures
PARTIES = 7
SUBMITTED = [500, 1000, 2000]
SECONDS = 3
INTERFACE = "100Mbit/s"
COSTS: Optional[str] = None  # cryptography for free; or "measured", or what `measure_costs` gave before

# %%
largest = prefinal.stakes.load("aptos_mainnet_129").largest(PARTIES)
result = prefinal.transactions(
    SUBMITTED, seconds=SECONDS, warm_up=2, stakes=largest, interface=INTERFACE, costs=COSTS
)
frame = result.frame()
print(frame.drop(columns=["p90_ms", "slots"]).round(1).to_string(index=False))

# %% [markdown]
# ## Latency over throughput
# Where links are full, behind these loads, the three come to the same: then transactions wait for links.

# %%
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, rows), colour in zip(frame.groupby("beside", sort=False), ["#999999", "#0072B2", "#D55E00"]):
    axes.plot(rows["executable_per_second"], rows["p50_ms"], marker="o", color=colour, label=name)
axes.set_xlabel("transactions a second that can be executed")
axes.set_ylabel("median latency, ms")
axes.set_ylim(bottom=0)
axes.legend()
plt.savefig(Path(OUT) / "transactions.png", dpi=110)

# %% [markdown]
# ## What the beacon adds
# The slow path adds about a message delay to every transaction, the fast path a part of it. The wait for the value is
# measured in each run alone. The difference of latencies is of two runs in which transactions come at other times: at
# low loads it is noise.

# %%
by_load = frame.pivot(index="submitted_per_second", columns="beside", values="mean_ms")
added = by_load[["slow path", "both paths"]].sub(by_load["no beacon"], axis="index")
print(added.round(1))
waits = frame.pivot(index="submitted_per_second", columns="beside", values="value_mean_ms")
print(waits[["slow path", "both paths"]].round(1))
assert (waits["both paths"] < waits["slow path"]).all()
