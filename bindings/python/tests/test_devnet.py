"""A running committee with a weighted VUF, read over HTTP from the pin that its terminal says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from prefinal import LightVuf, PrefinalError

PATIENCE = 120


class Devnet:
    """Its address, and the pin of its first epoch as it says it."""

    def __init__(self, process: Any) -> None:
        self.process = process
        self.address = self.said(r"(http://[\d.:]+)/")
        self.pin = bytes.fromhex(self.said(r"pin of epoch 0: ([0-9a-f]{64})"))

    def said(self, pattern: str) -> str:
        """The part of the next line that matches."""
        for line in self.process.stdout:
            found = re.search(pattern, line)
            if found:
                return str(found.group(1))
        raise AssertionError(f"it ended before it said {pattern}")

    def read(self, path: str, will_do: Callable[[Any], bool] = lambda _: True) -> Any:
        """The answer, as soon as there is one that will do."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(self.address + path, timeout=10) as reply:
                    answer = json.load(reply)
                if will_do(answer):
                    return answer
            except urllib.error.HTTPError as error:
                assert error.code in (404, 503), (path, error.code)
            time.sleep(0.1)
        raise AssertionError(f"{path}: no answer in {PATIENCE} s")


@pytest.fixture(scope="module")
def devnet(command: Path, tmp_path_factory: Any) -> Iterator[Devnet]:
    """Four parties that hand over to one another every thirteen slots, for longer than it takes to read."""
    stakes = tmp_path_factory.mktemp("devnet") / "stakes.csv"
    stakes.write_text("stake\n310\n240\n150\n110\n90\n")
    line = "devnet --http localhost:0 --no-page --scheme wvuf --parties 4 --regions none --seed 7"
    more = f"--path tight --epochs 30 --slots 400 --stakes {stakes}"
    process = subprocess.Popen(
        [str(command), *line.split(), *more.split()], stdout=subprocess.PIPE, text=True
    )
    try:
        yield Devnet(process)
    finally:
        process.kill()
        process.communicate()


def data(answer: Any, name: str) -> bytes:
    return bytes.fromhex(answer[name])


def test_values_of_a_running_committee_from_its_pin_on(devnet: Devnet) -> None:
    epoch = devnet.read("/vuf/epochs/0")
    reader = LightVuf(devnet.pin, data(epoch, "vuf_epoch"), data(epoch, "members"))
    assert (reader.epoch, reader.pin) == (0, devnet.pin)
    newest = devnet.read("/vuf/values/latest")
    # Keys come one by one: those of a value's parties are there when the value is.
    reader.admit(data(devnet.read("/vuf/epochs/0"), "keys"))
    assert newest["epoch"] == 0
    assert reader.verify(data(newest, "proof")) == (newest["slot"], data(newest, "randomness"))
    # Another slot's number on it.
    moved = bytearray(data(newest, "proof"))
    assert int.from_bytes(moved[10:18], "little") == newest["slot"]
    moved[10] ^= 1
    with pytest.raises(PrefinalError):
        reader.verify(moved)
    # A key of the server's choice, and one that the server alone vouches for.
    later = devnet.read("/vuf/epochs/1", lambda answer: answer["handover"] is not None)
    with pytest.raises(PrefinalError) as refused:
        LightVuf(devnet.pin, data(later, "vuf_epoch"), data(later, "members"))
    assert refused.value.code == "other-key"
    forged = bytearray(data(later, "handover"))
    forged[-1] ^= 1
    with pytest.raises(PrefinalError):
        reader.advance(forged)
    # The committee hands over to the next, whose key is another one.
    reader.advance(data(later, "handover"))
    assert reader.epoch == 1 and reader.pin == data(later, "pin")
    value = devnet.read("/vuf/values/latest", lambda answer: answer["epoch"] == 1)
    reader.admit(data(devnet.read("/vuf/epochs/1"), "keys"))
    assert reader.verify(data(value, "proof")) == (value["slot"], data(value, "randomness"))
    with pytest.raises(PrefinalError) as old:
        reader.verify(data(newest, "proof"))
    assert old.value.code == "other-session"


def test_the_program_of_the_book_reads_a_value(devnet: Devnet) -> None:
    page = (ROOT / "docs" / "book" / "src" / "schemes" / "vuf.md").read_text()
    program = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0]
    assert program.count("http://127.0.0.1:8787") == 1
    program = program.replace("http://127.0.0.1:8787", devnet.address)
    devnet.read("/vuf/values/latest")
    line = [sys.executable, "-c", program, devnet.pin.hex()]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    slot, randomness = done.stdout.split()
    assert devnet.read(f"/vuf/values/{slot}")["randomness"] == randomness
    # From another pin it believes nothing.
    line[-1] = bytes(32).hex()
    refused = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE)
    assert "this is not the epoch that is pinned" in refused.stderr and refused.stdout == ""
