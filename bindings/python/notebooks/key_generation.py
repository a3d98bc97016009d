# %% [markdown]
# # A key that nobody knows, message by message
#
# Before a committee has random values it needs a key, and nobody may know it. Here you are the chain: you put the
# messages of four parties into one order, and each party's machine reads that order. They are the machines that
# validators run.

# %%
from __future__ import annotations

from typing import Any

import pandas

from prefinal import (
    Beacon,
    DkgConfig,
    Evidence,
    Keygen,
    KeygenOutput,
    RecipientKey,
    SecretKey,
    round_stakes,
)

STAKES = [30, 5, 20, 45]
PARTIES = range(len(STAKES))
rounding = round_stakes(STAKES)
signers = [SecretKey.from_seed(bytes([party] * 32)) for party in PARTIES]


def recipient(party: int) -> RecipientKey:
    """From the party's disk. It opens shares once, and then it is wiped in memory."""
    return RecipientKey.generate(seed=bytes([party] * 32))


config = DkgConfig(
    chain=bytes(32),
    epoch=1,
    purpose="randomness",
    signers=[signer.public_key().prove(signer.prove_possession()) for signer in signers],
    recipients=[
        recipient(party).register(signers[party]).verify(signers[party].public_key())
        for party in PARTIES
    ],
    stakes=STAKES,
    weights=rounding.weights,
    slow=rounding["slow"].threshold,
    fast=rounding["fast"].threshold,
)
print("weights", config.weights, "dealers must hold more than", config.qualify, "of", sum(STAKES))

# %% [markdown]
# ## Everybody deals
# A party writes its dealing to its disk before anybody sees it, so that it never deals twice. Then it asks the chain to
# order it.

# %%
parties = [Keygen(config, party, signers[party], recipient(party)) for party in PARTIES]
disks: list[list[bytes]] = [[] for _ in PARTIES]
log: list[tuple[int, KeygenOutput]] = []


def take(party: int, outputs: list[KeygenOutput]) -> list[bytes]:
    """Does what the party wants: writes its records. What it submits is returned."""
    log.extend((party, output) for output in outputs)
    disks[party].extend(output.data for output in outputs if output.kind == "keep")
    return [output.data for output in outputs if output.kind == "submit"]


def shown() -> None:
    rows = [
        (party, said.kind, said.position, said.party, said.text or said.code, len(said.data))
        for party, said in log
    ]
    columns = ["party", "kind", "position", "about", "what", "bytes"]
    frame = pandas.DataFrame(rows, columns=columns)
    frame = frame.astype({"position": "Int64", "about": "Int64"}).astype(object)
    print(frame.where(frame.notna(), "").to_string(index=False), "\n")
    log.clear()


dealt = [take(party, parties[party].start())[0] for party in PARTIES]
shown()

# %% [markdown]
# ## What others may send
# Anybody can have bytes ordered. A message of a stranger, a broken one and one of another session have no effect, and
# nobody can be blamed for them. Party 0 signs a dealing that is cut short, and with that it is out: its own signature
# is the evidence.

# %%
stranger = SecretKey.generate()
broken = bytes(config.deal(0, signers[0]))[:-1]
order = [
    config.envelope(3, stranger, bytes(config.deal(3, signers[3]))),
    dealt[1][:-1],
    config.envelope(0, signers[0], broken),
    dealt[0],
]
for position, message in enumerate(order):
    for party in PARTIES:
        take(party, parties[party].ordered(position, message))
accused = [said.evidence for _, said in log if said.kind == "accuse"]
log[:] = [(party, said) for party, said in log if party == 1]
shown()
assert len(accused) == len(STAKES) and len({bytes(one or b"") for one in accused}) == 1
evidence = Evidence(config, bytes(accused[0] or b""))  # verified by somebody who was not there
print(evidence, evidence.code, "\n")
assert (evidence.party, evidence.code) == (0, "wrong-length")

# %% [markdown]
# ## A crash, and a party that is away
# Party 2 crashes and comes back with what its disk has. Party 3 hears nothing from here on. The dealings of parties 1
# and 3 hold more than a third of the stake, so the order up to the second one makes the key.

# %%
parties[2] = Keygen(config, 2, signers[2], recipient(2), records=disks[2])
take(2, parties[2].start())
order += [dealt[1], dealt[1], dealt[3], dealt[2]]
ends: dict[int, KeygenOutput] = {}
for position in range(4, len(order)):
    for party in (0, 1, 2):
        outputs = parties[party].ordered(position, order[position])
        take(party, outputs)
        ends.update((party, said) for said in outputs if said.kind == "ready")
log[:] = [(party, said) for party, said in log if party == 2]
shown()

# %% [markdown]
# Party 3 is back. The chain has made the key's public part final, and any peer can offer the rest.

# %%
epoch_key, offer = parties[0].epoch_key, parties[0].offer
assert epoch_key is not None and offer is not None
outputs = parties[3].recover(epoch_key, offer)
take(3, outputs)
ends[3] = outputs[-1]
shown()
keys = {said.key for said in ends.values()}
(key,) = keys
assert key is not None and key.dealers == [1, 3]

# %% [markdown]
# ## The key serves
# Each party has its own shares and nothing else. With them the committee's beacons have values.

# %%
beacons = []
for party in PARTIES:
    own = ends[party].shares
    paths: dict[Any, Any] = {
        path: (key.committee(path=path), own and key.signer(own, path=path))
        for path in ("slow", "fast")
    }
    beacons.append(Beacon(party, STAKES, **paths))
block = b"b" * 32
votes = [beacons[party].prefinalize(1, block) for party in PARTIES]
sent = [(party, said) for party in PARTIES for said in votes[party] if said.kind == "send"]
for party in PARTIES:
    for sender, said in sent:
        if sender != party:
            beacons[party].receive(sender, said.data)
values = [
    said.data
    for party in PARTIES
    for said in beacons[party].finalize(1, block)
    if said.kind == "reveal"
]
assert len(values) == len(STAKES) and len(set(values)) == 1
print(f"one key on {len(ends)} parties, {len(values)} values of slot 1, all the same")
