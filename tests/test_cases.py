"""Every case from public reports, by the runner of its kind (`cases/`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cases import RUNNERS, Case, NoRunner
from conftest import FIXTURES, cases_file

# Kinds that must have a runner; the rest belongs to parts that are not there yet.
KINDS = {
    "rank",
    "rank_from_coverage",
    "threshold",
    "threshold_rule",
    "labelled",
    "no_positive",
    "bad_label",
    "nan_score",
    "alpha_reject",
    "alpha_types",
    "filter",
    "duplicates",
    "missing_score",
    "nan_in_filter",
    "roundtrip",
    "load_mutation",
    "atomic_save",
    "chunk_invariants",
    "empty_text",
    "chunk_config",
    "lone_surrogate",
    "cosine",
    "self_similarity",
    "zero_vector",
    "non_finite_vector",
    "dimension_mismatch",
    "array_empty",
    "array_layout",
    "batch_invariance",
    "scenario",
}


def read_cases() -> list[Case]:
    """The cases of the file, one a line."""
    lines = cases_file().read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def parameters() -> Iterator[Any]:
    """One parameter a case."""
    for case in read_cases():
        yield pytest.param(case, id=f"{case['id']}-{case['kind']}")


@pytest.mark.counted
@pytest.mark.parametrize("case", list(parameters()))
def test_case(case: Case) -> None:
    run = RUNNERS.get(case["kind"])
    if run is None:
        pytest.skip(f"no runner for kind {case['kind']} ({case['part']})")
    try:
        run(case)
    except NoRunner as reason:
        pytest.skip(f"{case['id']}: {reason}")


def test_the_file_holds_cases() -> None:
    kinds = {case["kind"] for case in read_cases()}
    assert kinds & RUNNERS.keys(), f"no case with a runner in {cases_file()}"
    assert RUNNERS.keys() >= KINDS
    if cases_file() == FIXTURES / "cases.jsonl":
        assert kinds >= KINDS
