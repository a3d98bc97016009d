"""The weighted VUF: two committees over one secret, each with its own blinding."""

from . import hexes, refusal
from .. import wvuf
from ..curve import G1, scalar_to_bytes
from ..draws import Draws
from ..field import R
from ..sharing import Polynomial
from ..wire import encode_blinded

WEIGHTS = [2, 0, 1, 3, 1]
SLOW, FAST = 4, 6
CHAIN, EPOCH = bytes(range(32)), 3
INPUTS = [(7, None), (7, b"\x05" * 32), (2**64 - 1, None)]


def _path(t, constant, draws):
    polynomial = Polynomial.random(t, constant, draws)
    committee = wvuf.Committee(WEIGHTS, t, polynomial)
    parties = [i for i, weight in enumerate(WEIGHTS) if weight]
    before = len(draws.record)
    keys = {i: wvuf.blind(committee.id(), i, committee.shares[i], draws) for i in parties}
    blinding = draws.record[before:]
    inputs = []
    for slot, value in INPUTS:
        point = wvuf.input_point(CHAIN, EPOCH, slot, value)
        sigmas = {i: wvuf.evaluate(key, point) for i, (key, _) in keys.items()}
        output = committee.combine({i: key[3] for i, (_, key) in keys.items()}, sigmas)
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
    own = keys[3][1]
    pi, nonce, response, rho = own
    committee.admit(3, own)
    wvuf.verify(pi, point, sigmas[3])
    others = wvuf.input_point(CHAIN, EPOCH, 8)
    refused = {
        "partial of another input": refusal(wvuf.verify, pi, others, sigmas[3]),
        "partial of another party": refusal(wvuf.verify, pi, point, sigmas[0]),
    }
    one, two, three = committee.shares[3]
    swapped = wvuf.blind(committee.id(), 3, [two, one, three], Draws("swapped"))[1]
    for_another = wvuf.blind(committee.id(), 0, committee.shares[3], Draws("another party"))[1]
    elsewhere = wvuf.blind(bytes(32), 3, committee.shares[3], Draws("another committee"))[1]
    false = {
        "swapped shares": swapped,
        "another weight": (pi, nonce, response, rho[:2]),
        "pi is the identity": (G1.identity(), nonce, response, [G1.identity()] * 3),
        "nonce is the identity": (pi, G1.identity(), response, rho),
        "blinded again by somebody else": (pi * 5, nonce, response, [share * 5 for share in rho]),
        "proof with another response": (pi, nonce, (response + 1) % R, rho),
        "proof for another party": for_another,
        "proof for another committee": elsewhere,
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
                "nonce": nonce.to_bytes().hex(),
                "response": scalar_to_bytes(response).hex(),
                "rho": hexes(rho),
            }
            for i, (key, (pi, nonce, response, rho)) in keys.items()
        },
        "inputs": inputs,
        "refused": refused,
        "false_keys_of_3": {
            why: {"key": encode_blinded(key).hex(), "reason": refusal(committee.admit, 3, key)}
            for why, key in false.items()
        },
    }


def evaluations():
    draws = Draws("wvuf")
    constant = draws.scalar()
    paths = {"slow": _path(SLOW, constant, draws), "fast": _path(FAST, constant, draws)}
    for slow, fast in zip(paths["slow"]["inputs"], paths["fast"]["inputs"]):
        assert slow["output"] == fast["output"] and slow["partials"] != fast["partials"]
    return {"weights": WEIGHTS, "chain": CHAIN.hex(), "epoch": EPOCH, **paths}


FILES = {"wvuf.json": evaluations}
