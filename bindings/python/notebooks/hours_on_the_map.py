# %% [markdown]
# # Hours on the map, and the change to the fast path
#
# *The Latency Price of Threshold Cryptosystem in Blockchains* (Xiang et al., 2024) reports an average over twelve hours
# of Aptos mainnet: 85.5 ms from finality to the value on the slow path, 24.7 ms with both paths. Its validators come and
# go meanwhile. Here one committee runs for virtual hours: parties restart and move to other regions, the fast path
# begins in the middle, and once in each half too many are down for it.
#
# The paper's measurement has `PARTIES = 129` and `HOURS = 12`, here with `EVERY = 30`, `RESTARTS = 130`, `MOVES = 40`
# and `COSTS = "measured"`; it takes minutes.

# %%
from __future__ import annotations

from pathlib import Path
from typing import Optional

import matplotlib.pyplot as plt

import prefinal

# %% tags=["parameters"]
OUT = "."  # folder of the pictures
PARTIES = 7
HOURS = 1
RESTARTS = 4
MOVES = 4
EVERY = 10  # seconds from one slot to the next
COSTS: Optional[str] = None  # cryptography for free; or "measured", or what `measure_costs` gave before

# %%
largest = prefinal.stakes.load("aptos_mainnet_129").largest(PARTIES)
day = prefinal.hours(
    HOURS, every=EVERY, restarts=RESTARTS, moves=MOVES, stakes=largest, scheme="wvuf", costs=COSTS
)
phases = day.phases_frame()
print(phases.round(1).to_string(index=False))
print(day.incidents_frame().round(1).head(8).to_string(index=False))
slow, both = (phases[(phases["paths"] == one) & ~phases["outage"]].iloc[0] for one in ("slow", "both"))
print(f"slow path alone {slow['mean_ms']:.1f} ms, both paths {both['mean_ms']:.1f} ms (the paper: 85.5 and 24.7)")
assert both["mean_ms"] < slow["mean_ms"] and slow["by_fast_path"] == 0

# %% [markdown]
# ## Waits of each minute

# %%
frame = day.frame()
switch = day.switched_s / 60
_, axes = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for name, colour in [("p99_ms", "#999999"), ("mean_ms", "#0072B2"), ("p50_ms", "#D55E00")]:
    axes.plot(frame["minute"], frame[name], color=colour, label=name.replace("_ms", ""))
axes.axvline(switch, color="black", linestyle=":", label="the fast path begins")
axes.set_xlabel("virtual minutes")
axes.set_ylabel("wait after finality, ms")
axes.set_ylim(bottom=0)
axes.legend(ncols=2)
plt.savefig(Path(OUT) / "hours.png", dpi=110)

# %% [markdown]
# ## Paths of each minute
# While stake is down that the fast path cannot do without, values come by the slow one.

# %%
_, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
share = 100 * frame["by_fast_path"] / frame["values"]
axes.plot(frame["minute"], share, color="#D55E00", label="values by the fast path")
axes.plot(frame["minute"], 100 * frame["down_stake"].astype(float), color="#999999", label="stake that is down")
axes.axvline(switch, color="black", linestyle=":", label="the fast path begins")
axes.set_xlabel("virtual minutes")
axes.set_ylabel("%")
axes.legend()
plt.savefig(Path(OUT) / "hours_paths.png", dpi=110)

# %% [markdown]
# ## Never before it is final
# In all of these hours no value could be computed before its slot was final (Lemma 1).

# %%
slots = day.slots_frame()
assert (slots["final_us"] <= slots["computable_us"]).all()
print(f"{len(slots)} slots, none computable before it was final")
