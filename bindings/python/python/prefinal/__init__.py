"""Threshold cryptography for BFT blockchains, ready the moment a block is final.

==================  ==========================================================================
``round_stakes``    stake to small weights, exactly (``prefinal.rounding``)
``stakes``          stake tables of real chains
``SecretKey`` …     BLS signatures in both variants: single, aggregate, in batches
``Electorate``      certificates: quorums of exact stake in one signature
``Statement``       what they certify: the value of a slot, or the state that it leaves
``Committee``       threshold signatures: partials, combined, with culprits
``VufCommittee``    the weighted verifiable unpredictable function
``DkgConfig`` …     keys that nobody knows: dealings, their verification and sum
``Keygen``          one party's key generation, message by message; ``Evidence`` against dealers
``EncryptionKey``   encryption to a committee; ``seal``, ``unseal``: to a round
``Draws``           random numbers for transactions, from the value of their slot
``LightClient`` …   a chain's state, verified by who trusts one committee or one key
``LightVuf``        values of a weighted VUF, verified by who has pinned one of its epochs
``Beacon``          one party's beacon and the release contract, driven by hand
``simulate``        a seeded committee in virtual time, its events as a table
``faults``          what goes wrong in it: losses, partitions, crashes, parties that do wrong
``thresholds``      tight thresholds against ramps, and what total weight buys
``campaign``        thousands of executions under attack, each from its seed
``hours``           a committee for hours: restarts, moves, the fast path from the middle on
``key_generation``  what key generation takes, stage by stage
``transactions``    what transactions wait for beside a beacon and without one
``plot``            pictures (needs matplotlib): weights, waits, a slot's timeline
``drand``           rounds of beacons: drand's four schemes and ours
``errors``          exceptions with stable codes and fields
==================  ==========================================================================
"""

from prefinal import drand, errors, experiments, faults, measurements, rounding, simulation, stakes
from prefinal._core import (
    CODES as _CODES,
)
from prefinal._core import (
    BlindedKey,
    Certificate,
    ChainInfo,
    Ciphertext,
    Committee,
    Dealing,
    DecryptionCommittee,
    DecryptionKey,
    DecryptionShare,
    DkgConfig,
    DkgKey,
    Domain,
    Draw,
    Draws,
    Electorate,
    EncryptionKey,
    EvaluationKey,
    Evidence,
    LightClient,
    LightKey,
    LightVuf,
    Partial,
    Possession,
    ProvenKey,
    OwnShares,
    PublicKey,
    Recipient,
    RecipientKey,
    Registration,
    SecretKey,
    Signature,
    Signer,
    VerifiedBlock,
    VerifiedDealing,
    VufCommittee,
    VufInput,
    VufOutput,
    VufPartial,
    VufShares,
    __version__,
    aggregate,
    seal,
    slot_label,
    unseal,
    verify_aggregate,
    verify_batch,
    verify_multi,
)
from prefinal.beacon import Beacon, Output
from prefinal.errors import (
    ArgumentError,
    EncodingError,
    FaultError,
    NotEnoughError,
    PrefinalError,
    RoundingError,
)
from prefinal.experiments import (
    Campaign,
    Thresholds,
    Violation,
    campaign,
    measure_costs,
    thresholds,
)
from prefinal.keygen import Keygen, KeygenOutput
from prefinal.measurements import (
    Hours,
    KeyGeneration,
    Transactions,
    hours,
    key_generation,
    transactions,
)
from prefinal.rounding import FAST, SLOW, Guarantee, Pair, Rounding, round_stakes, verify_weights
from prefinal.statements import Statement
from prefinal.simulation import Event, Simulation, Wait, simulate

#: What each error code means.
CODES: "dict[str, str]" = dict(_CODES)

__all__ = [
    "CODES",
    "FAST",
    "SLOW",
    "ArgumentError",
    "Beacon",
    "BlindedKey",
    "Campaign",
    "Certificate",
    "ChainInfo",
    "Ciphertext",
    "Committee",
    "Dealing",
    "DecryptionCommittee",
    "DecryptionKey",
    "DecryptionShare",
    "DkgConfig",
    "DkgKey",
    "Domain",
    "Draw",
    "Draws",
    "Electorate",
    "EncodingError",
    "EncryptionKey",
    "EvaluationKey",
    "Event",
    "Evidence",
    "FaultError",
    "Guarantee",
    "Hours",
    "KeyGeneration",
    "Keygen",
    "KeygenOutput",
    "LightClient",
    "LightKey",
    "LightVuf",
    "NotEnoughError",
    "Output",
    "Pair",
    "Partial",
    "Possession",
    "PrefinalError",
    "ProvenKey",
    "OwnShares",
    "PublicKey",
    "Recipient",
    "RecipientKey",
    "Registration",
    "Rounding",
    "RoundingError",
    "SecretKey",
    "Signature",
    "Signer",
    "Statement",
    "Simulation",
    "Thresholds",
    "Transactions",
    "VerifiedBlock",
    "VerifiedDealing",
    "Violation",
    "VufCommittee",
    "VufInput",
    "VufOutput",
    "VufPartial",
    "VufShares",
    "Wait",
    "__version__",
    "aggregate",
    "campaign",
    "drand",
    "errors",
    "experiments",
    "hours",
    "key_generation",
    "faults",
    "measure_costs",
    "measurements",
    "round_stakes",
    "rounding",
    "seal",
    "simulate",
    "simulation",
    "slot_label",
    "stakes",
    "thresholds",
    "transactions",
    "unseal",
    "verify_aggregate",
    "verify_batch",
    "verify_multi",
    "verify_weights",
]
