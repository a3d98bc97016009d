"""The package as a whole: codes, types, long calls, documents."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tqdm import tqdm

import prefinal
from prefinal import errors

HERE = Path(__file__).resolve().parents[1]


def test_codes_are_the_documents() -> None:
    page = (HERE.parents[1] / "docs" / "error-codes.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", page, re.MULTILINE))
    assert prefinal.CODES == rows and len(rows) > 90
    assert set(errors.CLASS_OF) <= set(rows), set(errors.CLASS_OF) - set(rows)


def test_every_error_is_a_value_error_with_fields() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, ValueError) and kind is getattr(prefinal, name)
    error = errors.NotEnoughError("more", code="below-threshold", need=3, got=2)
    assert repr(error) == "NotEnoughError('more', code='below-threshold', need=3, got=2)"
    assert (str(error), error.party, error.culprits) == ("more", None, ())


def test_the_package_says_its_types_and_names() -> None:
    assert (Path(prefinal.__file__).parent / "py.typed").exists()
    assert all(hasattr(prefinal, name) for name in prefinal.__all__)
    stub = (HERE / "python" / "prefinal" / "_core.pyi").read_text()
    from prefinal import _core

    public = {name for name in dir(_core) if not name.startswith("_")}
    described = set(re.findall(r"^(?:class|def) (\w+)", stub, re.MULTILINE)) | {"CODES"}
    assert public == described
    for name in public:
        kind = getattr(_core, name)
        if isinstance(kind, type):
            body = stub.split(f"class {name}:")[1].split("\nclass ")[0].split("\ndef ")[0]
            members = {one for one in vars(kind) if not one.startswith("_")}
            assert members == set(re.findall(r"^    (?:def )?([A-Za-z]\w*)[(:]", body, re.MULTILINE))


def public() -> Iterator[tuple[str, Any]]:
    """Every class, function, method and property that a caller is meant to use, and every module."""
    modules = {"prefinal": prefinal}
    modules |= {f"prefinal.{name}": getattr(prefinal, name) for name in prefinal.__all__}
    for path, module in modules.items():
        if not isinstance(module, ModuleType):
            continue
        yield path, module
        for name in module.__all__:
            value = getattr(module, name)
            # Names of types, such as unions, are called by nobody.
            if not (inspect.isclass(value) or inspect.isroutine(value)) or name.startswith("_"):
                continue
            yield f"{path}.{name}", value
            for member, own in vars(value).items() if inspect.isclass(value) else ():
                known = isinstance(own, property) or inspect.isroutine(own)
                if not member.startswith("_") and (known or inspect.isgetsetdescriptor(own)):
                    yield f"{path}.{name}.{member}", getattr(value, member)


def test_whatever_is_public_says_what_it_is() -> None:
    things = dict(public())
    assert len(things) > 200, len(things)
    bare = [name for name, value in things.items() if not (value.__doc__ or "").strip()]
    assert bare == []


def test_whatever_can_be_called_says_how() -> None:
    called = 0
    for name, value in public():
        if inspect.isclass(value):
            # Some are made by functions only.
            made = "__init__" in vars(value) or value.__text_signature__ is not None
        else:
            made = callable(value)
        if made:
            names = inspect.signature(value).parameters
            assert not any(one.kind is one.VAR_KEYWORD for one in names.values()), name
            called += 1
    assert called > 100, called


def described(arguments: ast.arguments) -> dict[str, bool]:
    """Of each parameter in the types whether it may be left out."""
    positional = [*arguments.posonlyargs, *arguments.args]
    left = len(positional) - len(arguments.defaults)
    both = {one.arg: at >= left for at, one in enumerate(positional)}
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults)
    return {**both, **{one.arg: default is not None for one, default in pairs}}


def test_signatures_are_those_of_the_types() -> None:
    from prefinal import _core

    def check(name: str, value: Any, ways: list[ast.FunctionDef]) -> None:
        parameters = inspect.signature(value).parameters.values()
        shown = {one.name: one.default is not one.empty for one in parameters}
        each = [described(way.args) for way in ways]
        # What one way to call it does without may be left out.
        expected = {
            name: any(way.get(name, True) for way in each) for way in each for name in way
        }
        for own in ("self", "cls"):
            shown.pop(own, None)
            expected.pop(own, None)
        assert shown == expected, name

    compared = 0
    stub = (HERE / "python" / "prefinal" / "_core.pyi").read_text()
    for top in ast.parse(stub).body:
        if isinstance(top, ast.FunctionDef):
            check(top.name, getattr(_core, top.name), [top])
        ways: dict[str, list[ast.FunctionDef]] = {}
        for own in top.body if isinstance(top, ast.ClassDef) else ():
            is_property = isinstance(own, ast.FunctionDef) and any(
                isinstance(one, ast.Name) and one.id == "property" for one in own.decorator_list
            )
            if isinstance(own, ast.FunctionDef) and not is_property:
                ways.setdefault(own.name, []).append(own)
        for name, overloads in ways.items():
            kind = getattr(_core, getattr(top, "name"))
            if name == "__new__":
                check(kind.__name__, kind, overloads)
            elif not name.startswith("_"):
                check(f"{kind.__name__}.{name}", getattr(kind, name), overloads)
            else:
                continue
            compared += 1
    assert compared > 60, compared


@pytest.mark.parametrize("module", ["rounding", "stakes", "statements", "drand"])
def test_examples_in_documents(module: str) -> None:
    results = doctest.testmod(getattr(prefinal, module))
    assert results.attempted > 1 and results.failed == 0


def test_the_readme_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 2 and len(blocks[0].strip().splitlines()) <= 10
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert len(bytes(names["value"])) == 48


def test_tables_of_the_package_are_those_of_the_repository() -> None:
    folder = HERE.parents[1] / "data" / "stakes"
    files = {path.stem: path for path in folder.glob("*.csv")}
    assert set(files) == set(prefinal.stakes.names())
    for name, path in files.items():
        assert prefinal.stakes.read(path).stakes == prefinal.stakes.load(name).stakes
    table = prefinal.stakes.load("swiper_primes_23")
    assert table[0] == table.stakes[0] and table[:2] == table.stakes[:2] and "swiper" in table.origin
    assert table.largest(2) == tuple(sorted(table, reverse=True)[:2])
    with pytest.raises(KeyError, match="aptos"):
        prefinal.stakes.load("none")


@pytest.mark.parametrize(
    ("text", "line"),
    [("", None), ("stake\n", None), ("7\n8", 1), ("stake\n-1", 2), ("stake\n1.5", 2),
     ("#\nstake\n\n1\nmany", 5), ("stake\n" + "9" * 40, 2), ("stake\n٣", 2)],
)
def test_tables_that_are_none(text: str, line: Any, tmp_path: Path) -> None:
    with pytest.raises(prefinal.EncodingError) as error:
        prefinal.stakes.parse(text)
    assert error.value.index == line
    binary = tmp_path / "binary"
    binary.write_bytes(b"stake\n\xff")
    with pytest.raises(prefinal.EncodingError):
        prefinal.stakes.read(binary)


def many(count: int) -> tuple[Any, Any, Any]:
    secrets = [prefinal.SecretKey.from_seed(i.to_bytes(32, "big")) for i in range(count)]
    messages = [str(i).encode() for i in range(count)]
    signatures = [one.sign(message) for one, message in zip(secrets, messages)]
    return [one.public_key() for one in secrets], messages, signatures


def test_progress_is_told_as_tqdm_takes_it() -> None:
    keys, messages, signatures = many(300)
    with tqdm(total=300, disable=True) as bar:
        prefinal.verify_batch(keys, messages, signatures, progress=bar.update)
    told: list[int] = []
    prefinal.verify_batch(keys, messages, signatures, progress=told.append)
    assert sum(told) == 300 and len(told) == 3

    def stop(steps: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        prefinal.verify_batch(keys, messages, signatures, progress=stop)
    with pytest.raises(TypeError):
        prefinal.verify_batch(keys, messages, signatures, progress=7)  # type: ignore[arg-type]


#: Takes minutes if nobody interrupts it.
LONG = "prefinal.round_stakes(prefinal.stakes.load('swiper_algorand'), nodes=2**40, steps=2**60)"


def test_others_run_during_long_calls() -> None:
    code = f"""
import os, prefinal, threading, time
def watch():
    time.sleep(0.3)
    print("others run", flush=True)
    os._exit(0)
threading.Thread(target=watch).start()
{LONG}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "others run\n" and done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
def test_ctrl_c_ends_long_calls() -> None:
    code = f"""
import prefinal, signal
# A shell that starts the tests in the background has them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("starts", flush=True)
try:
    {LONG}
except KeyboardInterrupt:
    print("interrupted", flush=True)
import os; os._exit(0)
"""
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None and started.stdout.readline() == "starts\n"
    time.sleep(0.5)
    begin = time.monotonic()
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate(timeout=60)
    assert out == "interrupted\n" and time.monotonic() - begin < 10


def test_objects_serve_many_threads() -> None:
    committee, signers = prefinal.VufCommittee.deal([1, 1, 1], 2)
    blinded = {party: shares.blind(committee, party) for party, shares in signers.items()}
    given = prefinal.VufInput(bytes(32), 0, 1)
    wrong: list[BaseException] = []

    def work(party: int) -> None:
        try:
            for _ in range(5):
                committee.admit({party: blinded[party][1]})
                committee.verify_partial(party, given, blinded[party][0].evaluate(given))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(party,)) for party in blinded]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and committee.admitted == [0, 1, 2]


def test_objects_stay_usable_after_errors() -> None:
    committee, signers = prefinal.Committee.deal([1, 1], 2, seed=bytes(32))
    partials = {party: signer.sign(1) for party, signer in signers.items()}
    right = committee.combine(1, partials)
    for _ in range(100):
        with pytest.raises(prefinal.NotEnoughError):
            committee.combine(1, {0: partials[0]})
        with pytest.raises(TypeError):
            committee.combine(None, partials)  # type: ignore[arg-type]
    assert committee.combine(1, partials) == right
