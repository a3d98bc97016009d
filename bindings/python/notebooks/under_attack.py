# %% [markdown]
# # Global times, faults, and campaigns
#
# When is a slot final whether or not anybody knows it, and when could anybody compute its value? The paper calls
# these global finalization (`T_GF`, Definition 4) and global reconstruction (`T_GR`, Definition 10), and its
# Theorems 5.2 and 6.3 say when they are equal. Then: what losses, partitions and a party that lies do to the wait.
#
# A campaign that finds rare mistakes has 10 000 executions and more.

# %%
from __future__ import annotations

from pathlib import Path
from typing import Literal

import matplotlib.pyplot as plt

import prefinal
from prefinal import plot, stakes
from prefinal.faults import Fault, Loss, Partition, Wrong

# %% tags=["parameters"]
OUT = "."  # folder of the pictures
PARTIES = 5
SLOTS = 4
EXECUTIONS = 5

# %%
largest = stakes.load("aptos_mainnet_129").largest(PARTIES)

# %% [markdown]
# ## Between the two global times
# No slot can be computed before it is final (Lemma 1).

# %%
paths: tuple[Literal["slow", "fast", "tight"], ...] = ("slow", "fast", "tight")
runs = {
    path: prefinal.simulate(largest, path=path, scheme="wvuf", slots=SLOTS) for path in paths
}
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for path, run in runs.items():
    slots = run.slots_frame()
    gap = (slots["computable_us"] - slots["final_us"]) / 1000
    assert (gap >= 0).all()
    axes.plot(range(len(gap)), gap, marker="o", label=path)
axes.set_xlabel("slot")
axes.set_ylabel("from final to computable, ms")
axes.legend()
plt.savefig(Path(OUT) / "global_times.png", dpi=110)

# %% [markdown]
# ## Waits under faults
# The last party sends wrong partials: it is accused, and everybody else gets the same values.

# %%
liar = PARTIES - 1
faults: dict[str, list[Fault]] = {
    "honest": [],
    "2 % of messages lost": [Loss(0.02, until_ms=3000)],
    "partition for 2 s": [Partition([range(PARTIES // 2)], 1000, 3000)],
    "wrong partials": [Wrong(liar)],
}
attacked = {
    name: prefinal.simulate(largest, scheme="wvuf", slots=SLOTS, faults=some)
    for name, some in faults.items()
}
assert {e.sender for e in attacked["wrong partials"].events if e.kind == "accused"} <= {liar}
plot.waits(attacked)
plt.savefig(Path(OUT) / "faults.png", dpi=110)

# %% [markdown]
# ## A campaign
# Everything is drawn from a seed: parties, what they do wrong, the network. Leave a rule out of the release
# contract, and a violation comes with the seed that shows it.

# %%
campaign = prefinal.campaign(EXECUTIONS, engine="permissive", function="ideal")
print(campaign)
print(campaign.frame().sort_values("times", ascending=False).head(8))
assert not campaign.violations
# Each execution is a row: what it was, what came of it, and what was done to it.
each = campaign.executions_frame()
print(each[["engine", "function", "violation", "slots", "slow", "fast", "tight", "most_kept"]])
broken = prefinal.campaign(100, engine="permissive", function="ideal", without_rule=4)
print(broken.violations[0])
print(broken.executions_frame()["violation"].dropna())
