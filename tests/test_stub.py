"""The stub `_tamis.pyi` is the documentation of the native module: complete, and true of it."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tamis
from tamis import _tamis

ROOT = Path(tamis.__file__).resolve().parents[2]
STUB = Path(tamis.__file__).with_name("_tamis.pyi")
ALLOWLIST = Path(__file__).with_name("stubtest-allowlist.txt")
# Every native class, property, method and function: raise it when the module grows.
MIN_COMPARED = 119

Documented = ast.ClassDef | ast.FunctionDef


def _documented() -> dict[str, Documented]:
    """The stub's items that can carry a docstring, by dotted name; of overloads, one that does."""
    items: dict[str, Documented] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                items[prefix + node.name] = node
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                known = items.setdefault(prefix + node.name, node)
                if not ast.get_docstring(known):
                    items[prefix + node.name] = node

    visit(ast.parse(STUB.read_text(encoding="utf-8")).body, "")
    return {name: node for name, node in items.items() if not name.startswith("_HasIdentity")}


STUB_ITEMS = _documented()


def _first_sentence(text: str | None) -> str:
    """Up to the first full stop that ends a sentence, white space normalised."""
    paragraph = (text or "").strip().split("\n\n")[0]
    words = " ".join(paragraph.split())
    end = re.search(r"\.(?= |$)", words)
    return words[: end.end()] if end else words


def _runtime_names(owner: ModuleType | type, prefix: str = "") -> list[str]:
    """Dotted names of what the native module holds, without what Python puts there itself."""
    names = []
    for name, value in vars(owner).items():
        if name.startswith("__") and name.endswith("__"):
            continue
        if not (isinstance(value, type) or callable(value) or hasattr(value, "__get__")):
            continue
        names.append(prefix + name)
        if isinstance(value, type):
            names += _runtime_names(value, f"{prefix}{name}.")
    return names


def _resolve(name: str) -> Any:
    value: Any = _tamis
    for part in name.split("."):
        value = getattr(value, part)
    return value


RUNTIME_NAMES = _runtime_names(_tamis)


@pytest.mark.parametrize("name", RUNTIME_NAMES)
def test_first_sentences_agree(name: str) -> None:
    assert name in STUB_ITEMS, "not in the stub"
    documented = ast.get_docstring(STUB_ITEMS[name])
    assert documented, "without a docstring in the stub"
    assert _first_sentence(documented) == _first_sentence(_resolve(name).__doc__)


def test_the_comparison_looked_at_everything(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\nstub: {len(RUNTIME_NAMES)} first sentences compared")
    assert len(RUNTIME_NAMES) >= MIN_COMPARED
    dunder = re.compile(r"(^|\.)__\w+__$")
    assert {name for name in STUB_ITEMS if not dunder.search(name)} == set(RUNTIME_NAMES)
    module = ast.get_docstring(ast.parse(STUB.read_text(encoding="utf-8")))
    assert _first_sentence(module) == _first_sentence(_tamis.__doc__)


def test_the_examples_run() -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    failures: list[str] = []
    tried = 0
    for name, node in STUB_ITEMS.items():
        text = ast.get_docstring(node) or ""
        test = parser.get_doctest(text, {}, name, str(STUB), node.lineno)
        tried += len(test.examples)
        runner.run(test, out=failures.append)
    assert tried >= 15
    assert not failures, "".join(failures)


def test_what_is_promised_says_for_which_unit() -> None:
    for name in ("Calibration", "Calibration.threshold", "Rule", "conformal_quantile"):
        text = ast.get_docstring(STUB_ITEMS[name]) or ""
        assert "marginal" in text.lower(), name
        assert "unit" in text, name
    assert "**Exchangeability.**" in (ast.get_docstring(STUB_ITEMS["Calibration"]) or "")


def test_stubtest() -> None:
    """Signatures agree; skipped by name where mypy is not installed."""
    pytest.importorskip("mypy", reason="stubtest: mypy is not installed")
    command = [sys.executable, "-m", "mypy.stubtest", "tamis._tamis", "--allowlist", str(ALLOWLIST)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
