"""`import tamis` is light and leaves its host alone."""

from __future__ import annotations

from typing import Any

import pytest

import tamis
from cases import processes

# typing, dataclasses, inspect or asyncio would each cost more than all of tamis.
MODULES_ALLOWED = {"tamis", "tamis._tamis"}

MODULES = """
import sys
before = set(sys.modules)
import tamis
after = set(sys.modules)
import json
print(json.dumps(sorted(after - before)))
"""

SURROUNDINGS = """
import json, logging, os, signal, subprocess, sys, threading, warnings

def threads():
    native = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0
    return [threading.active_count(), native]

def environment():
    # What a child inherits is the environment of the C library too, which os.environ does not show.
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    inherited = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return [dict(os.environ), json.loads(inherited.stdout)]

def loggers():
    named = {n: l for n, l in logging.root.manager.loggerDict.items() if hasattr(l, "handlers")}
    handlers = {n: [repr(h) for h in l.handlers] for n, l in named.items() if l.handlers}
    return [[repr(h) for h in logging.root.handlers], logging.root.level, handlers]

def handlers():
    return [repr(signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV)]

def surroundings():
    return {
        "threads": threads(),
        "environment": environment(),
        "loggers": loggers(),
        "warning filters": [repr(f) for f in warnings.filters],
        "signal handlers": handlers(),
        "hooks": [repr(h) for h in (sys.excepthook, sys.unraisablehook, sys.displayhook)],
        "path": list(sys.path),
        "folder": sorted(os.listdir(".")),
        "recursion limit": sys.getrecursionlimit(),
    }

before = surroundings()
import tamis
dir(tamis)
tamis.conformal_rank(9, "0.1")
after = surroundings()
print(json.dumps([before, after]))
"""

NAMES = """
import json
import tamis
missing = [name for name in tamis.__all__ if getattr(tamis, name, None) is None]
listed = set(dir(tamis))
print(json.dumps({"missing": missing, "unlisted": sorted(set(tamis.__all__) - listed)}))
"""

STAR = """
import json
names = {}
exec("from tamis import *", names)
import tamis
print(json.dumps(sorted(set(tamis.__all__) - names.keys())))
"""


def test_import_loads_no_numpy_and_no_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    loaded = processes.run(MODULES)
    heavy = ("numpy", "onnxruntime", "tokenizers", "tqdm", "openai", "rich", "matplotlib")
    found = sorted({name for name in loaded if name.split(".")[0] in heavy})
    assert not found, found
    with capsys.disabled():
        print(f"\nimport tamis: {len(loaded)} modules over bare python")
    assert set(loaded) == MODULES_ALLOWED


@pytest.fixture(scope="module")
def surroundings() -> tuple[dict[str, Any], dict[str, Any]]:
    before, after = processes.run(SURROUNDINGS)
    assert before.keys() == after.keys()
    return before, after


@pytest.mark.parametrize(
    "what",
    [
        "threads",
        "environment",
        "loggers",
        "warning filters",
        "signal handlers",
        "hooks",
        "path",
        "folder",
        "recursion limit",
    ],
)
def test_import_changes_nothing(
    what: str, surroundings: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    before, after = surroundings
    assert after[what] == before[what]


def test_import_is_silent() -> None:
    script = "import sys, tamis; print('[]')"
    assert processes.run(script, PYTHONWARNINGS="error") == []


def test_every_public_name_resolves_and_is_listed() -> None:
    assert len(tamis.__all__) > 10
    assert len(set(tamis.__all__)) == len(tamis.__all__)
    assert processes.run(NAMES) == {"missing": [], "unlisted": []}
    assert processes.run(STAR) == []


@pytest.mark.parametrize("name", ["no_such_name", "Calibrations", "np", "_LAZY_", "__wrapped__"])
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(tamis, name)
    assert not hasattr(tamis, name)


def test_an_unknown_name_cannot_be_imported() -> None:
    with pytest.raises(ImportError, match="no_such_name"):
        from tamis import no_such_name  # noqa: F401
