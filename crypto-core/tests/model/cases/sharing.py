"""Shamir and Feldman, threshold BLS."""

from . import hexes, refusal
from .. import threshold
from ..bls import VARIANTS
from ..curve import G1, G2, scalar_to_bytes
from ..draws import Draws
from ..drand import SCHEMES
from ..sharing import POINTS, Polynomial, evaluate_commitment, interpolate, lagrange

COUNT, T = 7, 4
SUBSETS = [[1, 2, 3, 4], [4, 5, 6, 7], [1, 3, 5, 7], [7, 2, 6, 1], [1, 2, 3, 4, 5, 6, 7], [5]]


def _sharing(points):
    draws = Draws("sharing")
    constant = draws.scalar()
    polynomial = Polynomial.random(T, constant, draws)
    at = POINTS[points](COUNT)
    values = [polynomial(x) for x in at]
    commitments = {}
    for group in (G1, G2):
        commitment = polynomial.commit(group)
        in_exponent = [evaluate_commitment(group, commitment, x) for x in at]
        assert in_exponent == [group.generator * value for value in values]
        commitments[group.name] = {"commitment": hexes(commitment), "shares": hexes(in_exponent)}
    elsewhere = 12345
    subsets = []
    for subset in SUBSETS:
        xs = [at[j - 1] for j in subset]
        if len(subset) >= T:
            shares = {x: polynomial(x) for x in xs}
            assert interpolate(shares) == constant
            assert interpolate(shares, elsewhere) == polynomial(elsewhere)
        subsets.append(
            {
                "indices": subset,
                "at zero": [scalar_to_bytes(n).hex() for n in lagrange(xs)],
                "elsewhere": [scalar_to_bytes(n).hex() for n in lagrange(xs, elsewhere)],
            }
        )
    return {
        "count": COUNT,
        "t": T,
        "draws": draws.record.hex(),
        "secret": scalar_to_bytes(constant).hex(),
        "points": [scalar_to_bytes(x).hex() for x in at],
        "values": [scalar_to_bytes(value).hex() for value in values],
        "commitments": commitments,
        "elsewhere": elsewhere,
        "value elsewhere": scalar_to_bytes(polynomial(elsewhere)).hex(),
        "subsets": subsets,
    }


def sharings():
    # More points than any other case has: 16 is the order for 9 to 16 shares.
    return {
        **{points: _sharing(points) for points in POINTS},
        "many points": {
            points: [scalar_to_bytes(x).hex() for x in make(9)] for points, make in POINTS.items()
        },
    }


WEIGHTS = [2, 0, 1, 3, 1]


def _threshold(variant, points):
    draws = Draws(f"threshold {variant.name} {points}")
    polynomial = Polynomial.random(T, draws.nonzero_scalar(), draws)
    committee = threshold.Committee(variant, WEIGHTS, points, T, polynomial)
    small = variant.name == "min-sig"
    scheme = SCHEMES["bls-unchained-g1-rfc9380" if small else "pedersen-bls-unchained"]
    cases = []
    for kind, message, tag in (
        ("domain", b"a message", variant.domain_tag("threshold model")),
        ("round", scheme.message(77), scheme.tag),
    ):
        partials = {i: committee.partial(i, message, tag) for i, w in enumerate(WEIGHTS) if w}
        committee.verify(3, message, tag, partials[3])
        signature = committee.combine(partials)
        assert signature == committee.combine({i: partials[i] for i in (2, 3, 4)})
        variant.verify(committee.key, message, tag, signature)
        below = {i: partials[i] for i in (0, 2)}
        assert refusal(committee.combine, below) == "below threshold"
        cases.append(
            {
                "kind": kind,
                "message": message.hex(),
                "partials": {str(i): hexes(partial) for i, partial in partials.items()},
                "signature": signature.to_bytes().hex(),
                "refused": [
                    {
                        "why": why,
                        "party": party,
                        "partial": hexes(wrong),
                        "reason": refusal(committee.verify, party, message, tag, wrong),
                    }
                    for why, party, wrong in (
                        ("shares swapped", 0, partials[0][::-1]),
                        ("one share short", 3, partials[3][:2]),
                        ("of another party", 2, partials[4]),
                    )
                ],
            }
        )
    return {
        "weights": WEIGHTS,
        "t": T,
        "domain": "threshold model",
        "round": 77,
        "draws": draws.record.hex(),
        "shares": [scalar_to_bytes(share).hex() for share in committee.shares],
        "commitment": hexes(committee.commitment),
        "public": hexes(committee.public),
        "key": committee.key.to_bytes().hex(),
        "cases": cases,
    }


def thresholds():
    return {v.name: {points: _threshold(v, points) for points in POINTS} for v in VARIANTS}


FILES = {"sharing.json": sharings, "threshold.json": thresholds}
