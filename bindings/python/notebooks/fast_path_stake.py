# %% [markdown]
# # How much stake does your fast path need?
#
# A threshold value is there with finality if enough partials came with the votes that made the slot
# final. Finality takes two thirds of the stake. Because stake is rounded to small weights, the fast
# path is only *guaranteed* to have its value from a little more: how much more, and what does it cost
# in shares to make it less?

# %%
from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt

import prefinal
from prefinal import plot, stakes

# %% tags=["parameters"]
OUT = "."  # folder of the pictures

# %%
TABLES = {
    "Aptos, 129 validators": "aptos_mainnet_129",
    "Sui, epoch 1200": "sui_epoch_1200",
    "Cosmos Hub, 2022": "cosmos_hub_leap2022",
    "Ethereum, 67 entities": "ethereum_entities_2023",
}

# %% [markdown]
# ## The standard profile
# Nothing leaks up to 2/3 of the stake, 5/6 of it suffices. What the weights really guarantee is better
# than what was asked for.

# %%
for title, name in TABLES.items():
    table = stakes.load(name)
    rounding = prefinal.round_stakes(table)
    fast = rounding["fast"]
    print(f"{title:24} total weight {rounding.total:4}, fast path needs {float(fast.reconstruction):.2%}")
    assert Fraction(2, 3) < fast.reconstruction <= Fraction(5, 6)
    rounding.verify(table)

# %% [markdown]
# ## Weights against stake
# Small holders get no share, and that is fine: thresholds account for their stake.

# %%
aptos = stakes.load("aptos_mainnet_129")
plot.weights(aptos, prefinal.round_stakes(aptos))
plt.savefig(Path(OUT) / "weights.png", dpi=110)

# %% [markdown]
# ## What less stake costs
# Each point is a rounding. Left is better for latency, down is better for computation.

# %%
asked = [Fraction(n, 100) for n in (71, 72, 74, 76, 78, 80, 83, 88, 93)]
_, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
for title, name in TABLES.items():
    plot.total_weight(stakes.load(name), asked, label=title, ax=axes)
plt.savefig(Path(OUT) / "total_weight.png", dpi=110)

# %% [markdown]
# ## The best within a budget
# If the committee can afford so many shares, how much stake must be there?

# %%
for budget in (256, 512):
    best = prefinal.round_stakes(aptos, budget=budget)["fast"]
    print(f"{budget:5} shares: {float(best.reconstruction):.3%} of the stake")
    assert best.reconstruction < Fraction(4, 5)
