# %% [markdown]
# # What setting up costs
#
# The second half of Table 3 of *The Latency Price of Threshold Cryptosystem in Blockchains*: to share one secret with
# two thresholds takes about twice as long as with one, and twice the bytes. Only the key generation pays for it, every
# few hours or days. Here the transcripts are those of the weighted VUF, for the largest validators of Aptos.
#
# `PARTIES = 129` takes all of them. What it takes to send the transcripts and to agree on them is in
# `key_generation_times`.

# %%
from __future__ import annotations

import time
from typing import Any, Callable, Optional

import pandas

import prefinal
from prefinal import DkgConfig, RecipientKey, SecretKey

# %% tags=["parameters"]
PARTIES = 16

# %%
STAKES = prefinal.stakes.load("aptos_mainnet_129").largest(PARTIES)
rounding = prefinal.round_stakes(STAKES)
print(rounding)

signers = [SecretKey.generate() for _ in STAKES]
own = [RecipientKey.generate() for _ in STAKES]
proven = [signer.public_key().prove(signer.prove_possession()) for signer in signers]
recipients = [
    key.register(signer).verify(signer.public_key()) for key, signer in zip(own, signers)
]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and how many milliseconds it took."""
    begin = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - begin) * 1000


# %% [markdown]
# ## One threshold, and two
# Dealers of more than a third of the stake make the key. A party checks each of their transcripts and adds them up.


# %%
def measure(fast: Optional[int]) -> dict[str, Any]:
    config = DkgConfig(
        chain=bytes(32),
        epoch=1,
        purpose="randomness",
        signers=proven,
        recipients=recipients,
        stakes=STAKES,
        weights=rounding.weights,
        slow=rounding["slow"].threshold,
        fast=fast,
    )
    dealers: list[int] = []
    stake = 0
    while stake <= config.qualify:
        stake += STAKES[len(dealers)]
        dealers.append(len(dealers))
    dealt = [timed(lambda: config.deal(one, signers[one], kind="group")) for one in dealers]
    messages = [bytes(dealing) for dealing, _ in dealt]
    checked = [timed(lambda: config.verify(config.read(data, kind="group"))) for data in messages]
    key, adding = timed(lambda: config.aggregate([dealing for dealing, _ in checked]))
    assert key.dealers == dealers
    return {
        "thresholds": 1 if fast is None else 2,
        "transcript, bytes": len(messages[0]),
        "deal, ms": sum(ms for _, ms in dealt) / len(dealt),
        "verify one, ms": sum(ms for _, ms in checked) / len(checked),
        "add up, ms": adding,
        "dealers": len(dealers),
    }


frame = pandas.DataFrame([measure(None), measure(rounding["fast"].threshold)])
print(frame.to_string(index=False, float_format="%.2f"))
ratio = frame["transcript, bytes"][1] / frame["transcript, bytes"][0]
print(f"two thresholds take {ratio:.2f} times the bytes of one")
assert 1.5 < ratio < 2.1
