# %% [markdown]
# # The release contract by hand
#
# A slot's value must be there when its block is final, and no earlier. A partial may therefore leave with a vote,
# but not with every vote. Here you are the engine: four parties make a key message by message, vote, time out,
# crash and come back, and their beacons say what may leave. They are the machines that validators run.

# %%
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

import pandas

from prefinal import (
    Beacon,
    DkgConfig,
    EvaluationKey,
    Output,
    RecipientKey,
    SecretKey,
    round_stakes,
)

STAKES = [30, 5, 20, 45]
PARTIES = range(len(STAKES))
rounding = round_stakes(STAKES)
slow, fast = (rounding[path].threshold for path in ("slow", "fast"))
print("weights", rounding.weights, "slow", slow, "fast", fast)

# %% [markdown]
# ## A key that nobody knows, message by message
# Every party registers two keys: one that signs, one to which its shares are encrypted.

# %%
signers = [SecretKey.from_seed(bytes([party] * 32)) for party in PARTIES]
own = [RecipientKey.generate(seed=bytes([party] * 32)) for party in PARTIES]
config = DkgConfig(
    chain=bytes(32),
    epoch=1,
    purpose="randomness",
    signers=[signer.public_key().prove(signer.prove_possession()) for signer in signers],
    recipients=[
        key.register(signer).verify(signer.public_key()) for key, signer in zip(own, signers)
    ],
    stakes=STAKES,
    weights=rounding.weights,
    slow=slow,
    fast=fast,
)
# What goes over the network is bytes. Two dealers hold more than a third of the stake.
messages = [bytes(config.deal(party, signers[party])) for party in (0, 3)]
key = config.aggregate([config.verify(config.read(message)) for message in messages])
PATHS: tuple[Literal["slow", "fast"], ...] = ("slow", "fast")
committees = {path: key.committee(path=path, purpose="rounds") for path in PATHS}
shares = [key.open(party, own[party]) if rounding.weights[party] else None for party in PARTIES]
signing = [
    {path: mine and key.signer(mine, path=path, purpose="rounds") for path in PATHS}
    for mine in shares
]


def beacon(party: int, records: Iterable[bytes] | None = None) -> Beacon:
    slow, fast = ((committees[path], signing[party][path]) for path in PATHS)
    return Beacon(party, STAKES, slow=slow, fast=fast, records=records)


# %% [markdown]
# ## You are the network and the disk
# Records are written before anything after them leaves.

# %%
beacons = [beacon(party) for party in PARTIES]
disks: dict[int, list[bytes]] = defaultdict(list)
log: list[tuple[int, Output]] = []


def take(party: int, outputs: list[Output]) -> None:
    for output in outputs:
        log.append((party, output))
        if output.kind in ("keep", "note"):
            disks[party].append(output.data)
        if output.kind == "send":
            to = PARTIES if output.party is None else [output.party]
            for peer in set(to) - {party}:
                take(peer, beacons[peer].receive(party, output.data))


def shown() -> None:
    columns = ["party", "kind", "slot", "path", "code", "text"]
    rows = [(party, *(getattr(said, name) for name in columns[1:])) for party, said in log]
    frame = pandas.DataFrame(rows, columns=columns).astype({"slot": "Int64"}).astype(object)
    print(frame.where(frame.notna(), "").to_string(index=False))
    log.clear()


# %% [markdown]
# ## All vote
# The fast partials are out before the slot is final: each party reveals when it hears that it is.

# %%
block, other = b"b" * 32, b"o" * 32
for party in PARTIES:
    take(party, beacons[party].prefinalize(1, block))
assert not any(said.kind == "reveal" for _, said in log)
for party in PARTIES:
    take(party, beacons[party].finalize(1, block))
values = {said.data for _, said in log if said.kind == "reveal"}
assert len(values) == 1 and {said.path for _, said in log if said.kind == "reveal"} == {"fast"}
shown()

# %% [markdown]
# ## What may not leave
# A second value of a slot; a vote in another attempt; a vote after a timeout. The vote itself is the engine's
# business: only the partial stays.

# %%
take(0, beacons[0].prefinalize(2, block))
take(0, beacons[0].prefinalize(2, other))
take(0, beacons[0].prefinalize(3, block, attempt=1))
take(0, beacons[0].abandon(3))
take(0, beacons[0].prefinalize(3, block))
refused = [said.code for _, said in log if said.kind == "refused"]
assert refused == ["released-otherwise", "other-view", "view-given-up"]
shown()

# %% [markdown]
# ## A crash
# Party 0 comes back with what its disk has. Of slots that an earlier life may have released without a trace it
# releases nothing early: they take the slow path.

# %%
beacons[0] = beacon(0, disks[0])
take(0, beacons[0].tick(0))
take(0, beacons[0].prefinalize(4, block))
assert [said.code for _, said in log if said.kind == "refused"] == ["release-unknown"]
for slot in (2, 3, 4):
    for party in PARTIES:
        take(party, beacons[party].finalize(slot, block))
revealed = [(said.slot, said.path) for _, said in log if said.kind == "reveal"]
assert revealed.count((4, "slow")) == len(STAKES)
print(f"slots 2 to 4: {len(revealed)} values, {sum(path == 'slow' for _, path in revealed)} by the slow path")

# %% [markdown]
# ## The weighted VUF
# The paper's implementation evaluates a weighted VUF, of which a party sends one point whatever its weight. The key is
# made of group elements. Once an epoch each party blinds its shares of each path, and it counts on a path as soon as the
# others have admitted its blinded key. The contract is the same.

# %%
messages = [bytes(config.deal(party, signers[party], kind="group")) for party in (0, 3)]
vuf_key = config.aggregate(
    [config.verify(config.read(message, kind="group")) for message in messages]
)
vufs = {path: vuf_key.vuf_committee(path=path) for path in PATHS}
blinded: dict[tuple[int, str], EvaluationKey] = {}
for party in PARTIES:
    if not rounding.weights[party]:
        continue
    opened = vuf_key.open(party, RecipientKey.generate(seed=bytes([party] * 32)))
    for path in PATHS:
        secret, public = vuf_key.vuf_shares(opened, path=path).blind(vufs[path], party)
        assert vufs[path].admit({party: public}) == {}
        blinded[party, path] = secret
beacons = [
    Beacon(
        party,
        STAKES,
        slow=(vufs["slow"], blinded.get((party, "slow"))),
        fast=(vufs["fast"], blinded.get((party, "fast"))),
    )
    for party in PARTIES
]
log.clear()
for party in PARTIES:
    take(party, beacons[party].prefinalize(1, block))
assert not any(said.kind == "reveal" for _, said in log)
take(0, beacons[0].prefinalize(1, other))
assert log[-1][1].code == "released-otherwise"
for party in PARTIES:
    take(party, beacons[party].finalize(1, block))
outputs = {said.output for _, said in log if said.kind == "reveal"}
assert len(outputs) == 1 and {said.path for _, said in log if said.kind == "reveal"} == {"fast"}
shown()
