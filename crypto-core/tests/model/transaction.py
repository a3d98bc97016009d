"""What transactions draw from the random value of their slot.

    draw        SHA-256("PREFINAL-V1-DRAW-SEED" || value || [a] || application || [t] || transaction || index)
    words       SHA-256("PREFINAL-V1-DRAW-WORDS" || draw || question || n || counter), as four numbers each

[a] is one byte; [t], index, n and counter are eight, the highest first. Question 0 is a number below n, 1
an order of n places.
"""

from hashlib import sha256
from itertools import count

from .curve import Refused

TRIES = 128


def _eight(n):
    return n.to_bytes(8, "big")


def draw(value, application, transaction, index):
    if not 1 <= len(application) <= 64 or any(not 33 <= ord(letter) <= 126 for letter in application):
        raise Refused("application")
    if not transaction:
        raise Refused("transaction")
    name = bytes([len(application)]) + application.encode()
    parts = value + name + _eight(len(transaction)) + transaction + _eight(index)
    return sha256(b"PREFINAL-V1-DRAW-SEED" + parts).digest()


def words(seed, question, n):
    for counter in count():
        block = sha256(
            b"PREFINAL-V1-DRAW-WORDS" + seed + bytes([question]) + _eight(n) + _eight(counter)
        ).digest()
        for at in range(0, 32, 8):
            yield int.from_bytes(block[at : at + 8], "big")


def pick(source, bound):
    """The number, and how many words it took."""
    for tries in range(1, TRIES + 1):
        word = next(source)
        if word < 2**64 // bound * bound:
            break
    return word % bound, tries


def below(seed, bound):
    return pick(words(seed, 0, bound), bound)


def order(seed, among, taken):
    """Where nothing was moved yet, each place has its own number."""
    source, places = words(seed, 1, among), {}
    for here in range(taken):
        there = here + pick(source, among - here)[0]
        places[here], places[there] = places.get(there, there), places.get(here, here)
    return [places[here] for here in range(taken)]
