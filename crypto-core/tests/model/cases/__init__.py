"""What goes into the vector files: inputs, outputs, and what must be refused and why.

Every module has `FILES`, from the name of a file to the function that makes its content.
"""

from ..curve import Refused


def refusal(call, *arguments):
    """The reason for which `call` refuses these arguments; it is wrong if it does not."""
    try:
        call(*arguments)
    except Refused as refused:
        return str(refused)
    raise AssertionError(f"{call.__name__} accepted what it must refuse")


def hexes(points):
    return [point.to_bytes().hex() for point in points]
