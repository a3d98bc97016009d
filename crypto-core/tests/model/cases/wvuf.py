"""The weighted VUF: two committees over one secret, each with its own blinding."""

from . import hexes, refusal
from .. import wvuf
from ..curve import G1, scalar_to_bytes
from ..draws import Draws
from ..sharing import Polynomial

WEIGHTS = [2, 0, 1, 3, 1]
SLOW, FAST = 4, 6
CHAIN, EPOCH = bytes(range(32)), 3
INPUTS = [(7, None), (7, b"\x05" * 32), (2**64 - 1, None)]


def _path(t, constant, draws):
    polynomial = Polynomial.random(t, constant, draws)
    committee = wvuf.Committee(WEIGHTS, t, polynomial)
    parties = [i for i, weight in enumerate(WEIGHTS) if weight]
    before = len(draws.record)
    keys = {i: wvuf.blind(committee.shares[i], draws) for i in parties}
    blinding = draws.record[before:]
    inputs = []
    for slot, value in INPUTS:
        point = wvuf.input_point(CHAIN, EPOCH, slot, value)
        sigmas = {i: wvuf.evaluate(key, point) for i, (key, _, _) in keys.items()}
        output = committee.combine({i: rho for i, (_, _, rho) in keys.items()}, sigmas)
        inputs.append(
            {
                "slot": str(slot),
                "value": value and value.hex(),
                "point": point.to_bytes().hex(),
                "partials": {str(i): sigma.to_bytes().hex() for i, sigma in sigmas.items()},
                "output": output.to_bytes().hex(),
                "randomness": wvuf.randomness(output).hex(),
            }
        )
        assert output == wvuf.in_the_clear(constant, point)
    pi, rho = keys[3][1:]
    committee.admit(3, pi, rho)
    wvuf.verify(pi, point, sigmas[3])
    others = wvuf.input_point(CHAIN, EPOCH, 8)
    refused = {
        "partial of another input": refusal(wvuf.verify, pi, others, sigmas[3]),
        "partial of another party": refusal(wvuf.verify, pi, point, sigmas[0]),
        "key with swapped shares": refusal(committee.admit, 3, pi, [rho[1], rho[0], rho[2]]),
        "key of another weight": refusal(committee.admit, 3, pi, rho[:2]),
        "identity": refusal(committee.admit, 3, G1.identity(), [G1.identity()] * 3),
    }
    return {
        "t": t,
        "id": committee.id().hex(),
        "public": hexes(committee.public),
        "shares": {str(i): hexes(committee.shares[i]) for i in parties},
        "blinding": blinding.hex(),
        "keys": {
            str(i): {
                "evaluation": scalar_to_bytes(key).hex(),
                "pi": pi.to_bytes().hex(),
                "rho": hexes(rho),
            }
            for i, (key, pi, rho) in keys.items()
        },
        "inputs": inputs,
        "refused": refused,
    }


def evaluations():
    draws = Draws("wvuf")
    constant = draws.scalar()
    paths = {"slow": _path(SLOW, constant, draws), "fast": _path(FAST, constant, draws)}
    for slow, fast in zip(paths["slow"]["inputs"], paths["fast"]["inputs"]):
        assert slow["output"] == fast["output"] and slow["partials"] != fast["partials"]
    return {"weights": WEIGHTS, "chain": CHAIN.hex(), "epoch": EPOCH, **paths}


FILES = {"wvuf.json": evaluations}
