"""An engine in Python, as small as one can be, around the sidecars of a whole committee: engine.py SOCKET...

It orders slots for all parties, one after another, and talks to their sidecars only: what a vote carries comes
from `Prefinalize` and goes to the others by `Receive`. It prints each party's values, one line of JSON for each,
for the test that started it to verify. The stubs that `grpc_tools` makes from the description are on PYTHONPATH.
"""

import hashlib
import json
import queue
import sys
import threading

import grpc

from prefinal.sidecar.v1 import sidecar_pb2 as pb
from prefinal.sidecar.v1 import sidecar_pb2_grpc as stubs

# The slots that are ordered. Of the later ones, some are voted for in a second attempt, and one is skipped.
LAST = 20
SKIPPED = 14
# Seconds for everything that is waited for. Nothing takes as long.
PATIENCE = 120


def later(slot: int) -> bool:
    """Whether the first attempt at the slot is given up."""
    return slot % 4 == 3


class Engine:
    """The parties' sidecars, and the transactions that they want to be ordered."""

    def __init__(self, sockets: list[str]) -> None:
        # Without this it sends the socket's path as the authority, percent-encoded, which HTTP/2 forbids.
        options = [("grpc.default_authority", "localhost")]
        channels = [grpc.insecure_channel(f"unix:{socket}", options) for socket in sockets]
        self.parties = [stubs.SidecarStub(channel) for channel in channels]
        self.mempool: queue.Queue[bytes] = queue.Queue()

    def meet(self) -> None:
        """Looks whether each sidecar is who it should be, and has the committee."""
        for party, client in enumerate(self.parties):
            status = client.Status(pb.StatusRequest(), timeout=PATIENCE)
            assert (status.party, status.next_final) == (party, 1), status
            assert not status.HasField("stopped") and status.carry == pb.CARRY_VOTE, status
            committees = client.Committees(pb.CommitteesRequest(), timeout=PATIENCE)
            members = next(committees).members
            committees.cancel()
            assert len(members) == len(self.parties) and len(members[party].ed25519) == 32
            orders = client.Order(pb.OrderRequest())
            threading.Thread(target=self.listen, args=(orders,), daemon=True).start()

    def listen(self, orders) -> None:
        """Takes what a party wants to be ordered."""
        try:
            for order in orders:
                self.mempool.put(order.transaction)
        except grpc.RpcError:
            pass  # The sidecar ends.

    def transactions(self) -> list[bytes]:
        """What is to be ordered and was not taken yet."""
        taken = []
        while True:
            try:
                taken.append(self.mempool.get_nowait())
            except queue.Empty:
                return taken

    def order(self, slot: int, transactions: list[bytes]) -> None:
        """Makes the slot final, as if the votes of all parties had arrived everywhere."""
        value = hashlib.sha256(b"block %d" % slot).digest()
        attempt = 1 if later(slot) else 0
        for client in self.parties if later(slot) else []:
            client.Abandon(pb.AbandonRequest(slot=slot, attempt=0), timeout=PATIENCE)
        for voter, client in enumerate(self.parties):
            request = pb.PrefinalizeRequest(slot=slot, attempt=attempt, value=value)
            vote = client.Prefinalize(request, timeout=PATIENCE)
            assert not later(slot) or vote.withheld.code, vote
            again = client.Prefinalize(request, timeout=PATIENCE)
            assert vote.partial == again.partial, (vote, again)
            if vote.WhichOneof("outcome") == "partial":
                self.carry(voter, vote.partial)
        block = None if slot == SKIPPED else pb.Block(value=value, transactions=transactions)
        for client in self.parties:
            client.Finalize(pb.FinalizeRequest(slot=slot, block=block), timeout=PATIENCE)

    def carry(self, voter: int, partial: bytes) -> None:
        """Gives what a vote carries to all other parties."""
        for party, client in enumerate(self.parties):
            if party != voter:
                request = pb.ReceiveRequest(partial=partial)
                setattr(request, "from", voter)  # A word of Python's.
                answer = client.Receive(request, timeout=PATIENCE)
                assert not answer.HasField("dropped"), answer

    def show(self) -> None:
        """Prints the values from the first on."""
        for party, client in enumerate(self.parties):
            stream = client.Values(pb.ValuesRequest(from_slot=1), timeout=PATIENCE)
            for value in stream:
                revealed = value.revealed
                line = {
                    "party": party,
                    "slot": value.slot,
                    "round": revealed.round,
                    "signature": revealed.signature.hex(),
                    "randomness": revealed.randomness.hex(),
                    "key": revealed.key.public_key.hex(),
                    "path": pb.Path.Name(revealed.path),
                }
                print(json.dumps(line))
                if value.slot == LAST:
                    break
            stream.cancel()

    def refuse(self) -> None:
        """Tries what must not be done, and looks at the codes."""
        client = self.parties[0]
        gap = pb.FinalizeRequest(slot=LAST + 2)
        refused(client.Finalize, gap, grpc.StatusCode.FAILED_PRECONDITION, "slot-gap")
        short = pb.PrefinalizeRequest(slot=LAST + 1, value=b"1")
        refused(client.Prefinalize, short, grpc.StatusCode.INVALID_ARGUMENT, "wrong-length")
        one = list(client.Values(pb.ValuesRequest(from_slot=1, limit=1), timeout=PATIENCE))
        assert len(one) == 1, one


def refused(call, request, status: grpc.StatusCode, code: str) -> None:
    """Makes a call that has to be refused in this way."""
    try:
        answer = call(request, timeout=PATIENCE)
    except grpc.RpcError as error:
        trailer = dict(error.trailing_metadata())
        assert (error.code(), trailer["prefinal-code"]) == (status, code), error
    else:
        raise AssertionError(answer)


def main() -> None:
    """Runs the chain."""
    engine = Engine(sys.argv[1:])
    engine.meet()
    # Each party deals.
    dealings = [engine.mempool.get(timeout=PATIENCE) for _ in engine.parties]
    for slot in range(1, LAST + 1):
        engine.order(slot, dealings + engine.transactions() if slot == 1 else engine.transactions())
    engine.show()
    engine.refuse()


if __name__ == "__main__":
    main()
