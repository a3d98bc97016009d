# %% [markdown]
# # Reproduce the paper's latency figure
#
# *The Latency Price of Threshold Cryptosystem in Blockchains* (Xiang et al., 2024) measures, on Aptos
# mainnet with its 129 validators, how long a random value is awaited after its block is final: 85.5 ms
# on average when partials leave at finality (slow path), 24.7 ms when they leave with the votes (fast
# path). Here the same committee runs in virtual time: real engine and rounding, measured round trips
# between cloud regions, cryptography for free, so that the figure shows the links alone.
#
# With fewer parties and slots it takes seconds. The full figure has `PARTIES = 129` and `SLOTS = 200`.

# %%
from __future__ import annotations

import statistics
from pathlib import Path

import matplotlib.pyplot as plt

import prefinal
from prefinal import plot, stakes

# %% tags=["parameters"]
OUT = "."  # folder of the pictures
PARTIES = 24
SLOTS = 8

# %%
largest = stakes.load("aptos_mainnet_129").largest(PARTIES)

# %% [markdown]
# ## Two runs with one seed

# %%
slow = prefinal.simulate(largest, path="slow", slots=SLOTS, seed=1)
fast = prefinal.simulate(largest, path="fast", slots=SLOTS, seed=1)
means = [statistics.mean(wait.ms for wait in run.waits) for run in (slow, fast)]
print(f"slow {means[0]:.1f} ms, fast {means[1]:.1f} ms (the paper: 85.5 and 24.7)")
assert means[1] < means[0] / 2, "the fast path is faster"

# %% [markdown]
# ## The figure

# %%
axes = plot.waits({"slow path": slow, "fast path": fast})
axes.set_title(f"{PARTIES} largest validators of Aptos, {SLOTS} slots", fontsize=10)
plt.savefig(Path(OUT) / "latency.png", dpi=110)

# %% [markdown]
# ## Why: one slot, message by message
# On the fast path partials are on their way together with the votes.

# %%
small = prefinal.simulate(largest[:8], path="fast", slots=4, seed=3, messages=True)
slot = sorted({wait.slot for wait in small.waits})[1]
plot.timeline(small, slot)
plt.savefig(Path(OUT) / "timeline.png", dpi=110)

# %% [markdown]
# ## As a table

# %%
frame = small.frame()
print(frame.groupby("kind").size())
assert set(frame["path"].dropna()) <= {"slow", "fast"}
