"""Cases of packaging: what an install brings, and how the package behaves as a guest."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tamis
from cases import processes
from cases.expectations import Case, Check, NoRunner, Outcome, Runner, attempt, judge

ROOT = Path(__file__).resolve().parents[2]
TESTS = Path(__file__).resolve().parents[1]


def _read(_: Any, __: Outcome) -> None:
    return None


# --- what an install brings --------------------------------------------------------------------


def requirements(distribution: str) -> dict[str, list[str]]:
    """Names of the distributions required, by extra; "" is the base."""
    wanted: dict[str, list[str]] = {"": []}
    for line in importlib.metadata.requires(distribution) or []:
        name = re.match(r"[\w.-]+", line)
        assert name is not None, line
        extra = re.search(r"extra\s*==\s*['\"]([\w.-]+)['\"]", line)
        normal = re.sub(r"[-_.]+", "-", name[0]).lower()
        wanted.setdefault(extra[1] if extra else "", []).append(normal)
    return wanted


def _beside_the_gpu_build(case: Case) -> None:
    """The base brings no runtime, so it cannot overwrite one; each extra brings one of the two."""

    def call() -> dict[str, list[str]]:
        wanted = requirements("tamis")
        for installed in importlib.metadata.distributions():
            if re.match("tamis[-_]", installed.name or ""):
                wanted[f"package {installed.name}"] = requirements(installed.name)[""]
        return wanted

    def still_listed(wanted: bool, outcome: Outcome) -> str | None:
        if outcome.error is not None:
            return None
        plain = {k: v for k, v in outcome.value.items() if not k or k.startswith("package")}
        for where, names in plain.items():
            brings = [n for n in names if n.startswith("onnxruntime") or n == "tamis"]
            if bool(brings) == wanted:
                return f"{where or 'the base install'} requires {brings}"
        for extra, names in outcome.value.items():
            both = [n for n in names if n in ("onnxruntime", "onnxruntime-gpu")]
            if len(both) > 1:
                return f"extra {extra} requires both builds of the runtime"
        if not any("onnxruntime-gpu" in names for names in outcome.value.values()):
            return "no extra for the GPU build"
        return None

    judge(case["expect"], attempt(call), {"gpu_provider_still_listed": still_listed})


# --- a model that is none ----------------------------------------------------------------------

OPEN_MODEL = """
import json, sys, time
given = json.load(sys.stdin)
import tamis
begin = time.perf_counter()
try:
    encoder = tamis.OnnxEncoder(given["path"])
    answer = {"value": encoder.encode(["one text"]).tolist()}
except BaseException as error:
    names = [c.__name__ for c in type(error).__mro__]
    answer = {"error": names, "text": str(error)}
print(json.dumps({**answer, "seconds": time.perf_counter() - begin}))
"""


def _no_model(case: Case) -> None:
    """A file, a folder of files that are no model, and a path where there is nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        junk = b"\x7fELF this is no model\n" * 64
        (folder / "libonnxruntime.so").write_bytes(junk)
        (folder / "empty.onnx").write_bytes(b"")
        (folder / "model").mkdir()
        for file in ("model.onnx", "tokenizer.json", "manifest.json"):
            (folder / "model" / file).write_bytes(junk)
        for path in ("libonnxruntime.so", "empty.onnx", "model", "nothing here"):
            whole = str(folder / path)
            outcome = processes.attempted(OPEN_MODEL, {"path": whole}, timeout=40)
            outcome.path = whole
            judge(case["expect"], outcome)


# --- no network --------------------------------------------------------------------------------

OFFLINE = """
import json, os, sys
given = json.load(sys.stdin)
calls = []
WATCHED = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
           "socket.gethostbyname", "socket.gethostbyaddr", "socket.bind", "urllib.Request")
def watch(event, arguments):
    if event in WATCHED or event.startswith(("http.client.", "ftplib.", "smtplib.")):
        calls.append(event)
        raise OSError("there is no network")
sys.addaudithook(watch)

import numpy as np
import tamis
encoder = tamis.OnnxEncoder(given["model"])
texts = ["The ferry leaves at nine.", "Tea was served at the lighthouse."]
vectors = encoder.encode(texts)
assert vectors.shape == (2, encoder.dim), vectors.shape
fixed = tamis.Threshold.fixed(3.0)
result = tamis.Filter(fixed, scorer=tamis.EmbeddingScorer(encoder))("When does it leave?", texts)
assert len(result.kept) == 2 and not result.degraded, result
result = tamis.Filter(fixed).filter_vectors(vectors[0], vectors)
assert len(result.kept) == 2
# Native code does not pass through the audit hook, but its sockets are among our descriptors.
sockets = []
if os.path.isdir("/proc/self/fd"):
    for fd in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                sockets.append(fd)
        except OSError:
            pass
print(json.dumps({"value": {"works": True, "network_calls": len(calls) + len(sockets)}}))
"""


def local_model(folder: Path) -> Path:
    """Path of the shipped model, else of a tiny one made here; skipped by name without a maker."""
    try:
        return Path(tamis.OnnxEncoder("minilm").model.folder)
    except (FileNotFoundError, ImportError):
        pass
    make = pytest.importorskip("tiny_model", reason="neither the shipped model nor onnx is here")
    return Path(make.make_tiny_model(folder / "tiny"))


def _key(name: str) -> Check:
    def check(wanted: Any, outcome: Outcome) -> str | None:
        if outcome.error is not None or outcome.value[name] == wanted:
            return None
        return f"{name} is {outcome.value[name]!r}, wanted {wanted!r}"

    return check


def _no_network(case: Case) -> None:
    with tempfile.TemporaryDirectory() as name:
        model = str(local_model(Path(name)))
        empty = str(Path(name) / "home")
        Path(empty).mkdir()
        outcome = attempt(
            lambda: processes.run(OFFLINE, {"model": model}, 120, HOME=empty)["value"]
        )
        judge(case["expect"], outcome, {n: _key(n) for n in ("works", "network_calls")})
        assert not list(Path(empty).iterdir()), "something was written to the home folder"


# --- free-threaded interpreters ----------------------------------------------------------------

GIL = """
import json, sys
before = sys._is_gil_enabled()
import tamis
tamis.conformal_rank(9, "0.1")
print(json.dumps({"value": [before, sys._is_gil_enabled()]}))
"""


def _free_threaded(case: Case) -> None:
    """On such an interpreter the lock stays as it was; elsewhere the statement must be there."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") and hasattr(sys, "_is_gil_enabled"):
        before, after = processes.run(GIL)["value"]
        assert before == after, "importing tamis turned the lock on"
        return
    assert case["expect"].get("or"), "not a free-threaded interpreter, and no other way is given"
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    text += str(importlib.metadata.metadata("tamis").json.get("description", ""))
    assert re.search(r"free[- ]thread", text, re.IGNORECASE), "no statement on free threading"


# --- malformed input ---------------------------------------------------------------------------


def _malformed(case: Case) -> None:
    """Every public function and method, fed what it cannot use, raises ordinary exceptions only."""
    script = (TESTS / "cases" / "malformed.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        answer = processes.run(script, {"folder": folder}, timeout=300)
    shown = "\n".join(answer["escaped"][:20])
    assert not answer["escaped"], f"{len(answer['escaped'])} calls raised no Exception:\n{shown}"
    assert not answer["unreached"], f"never called: {', '.join(answer['unreached'])}"
    assert answer["calls"] > 1000, f"only {answer['calls']} calls"
    print(f"{answer['calls']} calls of {answer['callables']} callables, {answer['raised']} raised")


SCENARIOS: dict[str, Callable[[Case], None]] = {
    r"beside the gpu|gpu (build|wheel)|install the package": _beside_the_gpu_build,
    r"not the runtime|no model|not a model|library path|model[_ ]path at": _no_model,
    r"no network|offline|air.?gap|sockets? (is |are )?blocked": _no_network,
    r"free.?threaded|_is_gil_enabled": _free_threaded,
    r"malformed|wrong type": _malformed,
}


def run_scenario(case: Case) -> None:
    if case["part"] != "packaging":
        raise NoRunner(f"no runner for a scenario of {case['part']}")
    text = case["input"]["scenario"].lower()
    for pattern, run in SCENARIOS.items():
        if re.search(pattern, text):
            return run(case)
    raise NoRunner(f"no runner for the scenario {json.dumps(text)}")


RUNNERS: dict[str, Runner] = {"scenario": run_scenario}
