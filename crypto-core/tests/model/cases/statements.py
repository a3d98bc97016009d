"""What certificates say of a slot: its value, or the root of the state that its value leaves.

    message     chain (32) || epoch (8) || slot (8) || value (32) [|| root (32)], numbers big-endian

Members sign it with their own keys, or together under a group's key; the domain says which.
"""

from hashlib import sha256

from ..bls import MIN_SIG
from ..curve import scalar_to_bytes
from ..draws import Draws

CHAIN, VALUE, ROOT = (sha256(what).digest() for what in (b"chain", b"value", b"root"))
EPOCH, SLOT = 3, 2**63 + 77
# Without a root and with one: of exact stake, and of a group.
DOMAINS = [
    (b"", "beacon state certificate", "beacon certificate"),
    (ROOT, "beacon state root certificate", "threshold state root certificate"),
]


def statements():
    secret = Draws("statements").nonzero_scalar()
    cases = []
    for root, stake, group in DOMAINS:
        message = CHAIN + EPOCH.to_bytes(8, "big") + SLOT.to_bytes(8, "big") + VALUE + root

        def sign(domain):
            return MIN_SIG.sign(secret, message, MIN_SIG.domain_tag(domain)).to_bytes().hex()

        cases.append(
            {
                "chain": CHAIN.hex(),
                "epoch": str(EPOCH),
                "slot": str(SLOT),
                "value": VALUE.hex(),
                "root": root.hex() if root else None,
                "message": message.hex(),
                "domain": stake,
                "signature": sign(stake),
                "threshold domain": group,
                "threshold signature": sign(group),
            }
        )
    return {"secret": scalar_to_bytes(secret).hex(), "key": MIN_SIG.public_key(secret).to_bytes().hex(), "cases": cases}


FILES = {"statements.json": statements}
