# %% [markdown]
# # What key generation takes, on the wire and on the chain
#
# Section 7.4 of *The Latency Price of Threshold Cryptosystem in Blockchains* (Xiang et al., 2024) reports how long a
# key generation with both thresholds takes on Aptos mainnet, from the first transcript to the agreed sum; most of it is
# dissemination. Here real transcripts travel over simulated interfaces. The paper's parties agree on one sum of them
# (`aggregate`); in our protocol each one is a transaction (`dealings`).
#
# The paper's committee has `PARTIES = 129`: making its transcripts takes minutes. What dealing and checking cost on
# this machine is in `setup_overhead`.

# %%
from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import prefinal

# %% tags=["parameters"]
OUT = "."  # folder of the pictures
PARTIES = 8
RATES = ["2Mbit/s", "50Mbit/s", "1Gbit/s"]  # the paper's validators have 1 Gbit/s
COSTS = "measured"  # or what `measure_costs` gave before

# %%
largest = prefinal.stakes.load("aptos_mainnet_129").largest(PARTIES)
result = prefinal.key_generation(RATES, stakes=largest, costs=COSTS)
frame = result.frame()
columns = ["on_chain", "interface", "all_mean_s", "all_last_s", "transactions", "bytes_on_chain"]
print(frame[columns].to_string(index=False, float_format="%.2f"))

# %% [markdown]
# ## Stage by stage
# Means over parties, one bar for each run. Transcripts that are transactions are disseminated by the engine, so that
# their time is in the agreement.

# %%
stages = ["dealing", "dissemination", "aggregation", "agreement"]
bars = frame.set_index(frame["on_chain"] + ", " + frame["interface"])[[f"{one}_mean_s" for one in stages]]
bars.columns = stages
axes = bars.fillna(0).plot.barh(
    stacked=True, figsize=(7.5, 3.6), color=["#0072B2", "#D55E00", "#009E73", "#999999"]
)
axes.invert_yaxis()
axes.set_xlabel(f"seconds, mean over {PARTIES} parties")
axes.set_ylabel("")
plt.tight_layout()
plt.savefig(Path(OUT) / "key_generation.png", dpi=110)

# %% [markdown]
# ## Bytes
# One sum on the chain instead of every transcript: what is ordered shrinks to one transcript and its dealers.

# %%
ordered = frame.groupby("on_chain")["bytes_on_chain"].max()
times = ordered["dealings"] / ordered["aggregate"]
print(f"a transcript of {PARTIES} parties has {frame['transcript_bytes'][0]} bytes")
print(f"every transcript on the chain is {times:.1f} times what one sum of them is")
assert times > 1.5
slowest = frame[frame["interface"] == frame["interface"][0]].set_index("on_chain")
spread = slowest.loc["aggregate", "dissemination_mean_s"]
assert spread > slowest.loc["aggregate", "dealing_mean_s"], "dissemination takes longer than dealing"
