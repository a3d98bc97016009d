"""Independent model of crypto_core::challenge; prints transcript.json."""

import json
from hashlib import sha256

R = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001


def frame(data):
    return len(data).to_bytes(8, "big") + data


def challenge(items, label):
    state = b"".join(frame(label) + frame(data) for label, data in items)
    return sha256(state + frame(b"challenge") + frame(label)).digest()


def expand(seed, counter):
    return sha256(seed + counter.to_bytes(8, "big")).digest()


items = [
    (b"PREFINAL-V1-TRANSCRIPT", b"test domain"),
    (b"first", b""),
    (b"second", b"some data"),
]
seed = challenge(items, b"a challenge")
wide = expand(seed, 0) + expand(seed, 1)
coefficients = [expand(seed, k // 2)[16 * (k % 2) :][:16].hex() for k in range(5)]
print(
    json.dumps(
        {
            "origin": "printed by transcript.py, which shares no code with the crate",
            "bytes": seed.hex(),
            "scalar": (int.from_bytes(wide, "big") % R).to_bytes(32, "big").hex(),
            "coefficients": coefficients,
        },
        indent=1,
    )
)
