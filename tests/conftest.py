"""What the test files share: where inputs lie, and the last lines of a run."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"
FAMILIES = {"test_cases.py": "cases", "test_reference.py": "reference vectors"}

_outcomes: dict[str, Counter[str]] = {name: Counter() for name in FAMILIES.values()}
_without_runner: dict[str, Counter[str]] = {name: Counter() for name in FAMILIES.values()}


def reference_folder() -> Path:
    """Folder of reference vectors: TAMIS_REFERENCE_DIR, or ours."""
    return Path(os.environ.get("TAMIS_REFERENCE_DIR") or FIXTURES / "reference")


def cases_file() -> Path:
    """File of cases: TAMIS_CASES_FILE, or ours."""
    return Path(os.environ.get("TAMIS_CASES_FILE") or FIXTURES / "cases.jsonl")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark of the tests that stand for one case or vector each."""
    config.addinivalue_line("markers", "counted: one case or vector, counted in the summary")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count cases and vectors by outcome, and those skipped by the name they were skipped by."""
    family = FAMILIES.get(Path(report.nodeid.split("::")[0]).name)
    if family is None or "counted" not in report.keywords:
        return
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        _outcomes[family][report.outcome] += 1
        if report.skipped and isinstance(report.longrepr, tuple):
            _without_runner[family][report.longrepr[2].removeprefix("Skipped: ")] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many cases and vectors were run: a number that silently fell would say so here."""
    for family, counts in _outcomes.items():
        if not counts:
            continue
        run = counts["passed"] + counts["failed"]
        terminalreporter.write_line(
            f"{family}: {run} run, {counts['failed']} failed, {counts['skipped']} skipped"
        )
        for reason, number in sorted(_without_runner[family].items()):
            terminalreporter.write_line(f"  {number} skipped: {reason}")
