"""Promises with delta: the betting threshold of the reference, and what the order may do."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tamis import Calibration

VECTORS = Path(__file__).parent / "fixtures" / "reference" / "rcps_threshold.json"


def calibration(topics: list[list[float]]) -> Calibration:
    rows = [(score, i) for i, scores in enumerate(topics) for score in scores]
    return Calibration.fit(
        [score for score, _ in rows],
        [1] * len(rows),
        topic=[topic for _, topic in rows],
        check_direction=False,
    )


@pytest.mark.parametrize("case", json.loads(VECTORS.read_text())["cases"])
def test_the_betting_threshold_equals_the_reference(case: dict[str, Any]) -> None:
    expected = case["threshold"]["wsr"]
    threshold = calibration(case["topics"]).threshold(
        case["alpha"], delta=case["delta"], grid=case["grid"], order="given"
    )
    assert threshold.value == (math.inf if expected is None else expected)
    assert (threshold.alpha, threshold.delta) == (case["alpha"], case["delta"])


def test_delta_keeps_at_least_what_the_mean_promise_keeps_and_the_seed_decides_the_order() -> None:
    topics = [[((i * 37 + j * 11) % 64) / 64 for j in range(1 + i % 5)] for i in range(80)]
    made = calibration(topics)
    mean = made.threshold("0.2").value
    seeds = [made.threshold("0.2", delta="0.1", order=seed).value for seed in range(5)]
    assert all(value >= mean for value in seeds)
    assert seeds[0] == made.threshold("0.2", delta="0.1").value
    assert [made.threshold("0.2", delta="0.1", order=seed).value for seed in range(5)] == seeds


def test_options_that_do_not_belong_together_are_refused() -> None:
    made = calibration([[0.1], [0.2]])
    options: dict[str, Any]
    for options in (
        {"order": "given"},
        {"order": 3},
        {"target": "total"},
        {"target": "total", "max_positives": 3, "delta": "0.1"},
        {"max_positives": 3},
        {"target": "evidence?"},
        {"delta": "0.1", "order": "sorted"},
        {"delta": "1"},
        {"family": "top-k"},
        {"by_group": True},
        {"test_weight": 1.0},
        {"target": "all", "unit": "snippet"},
        {"target": "evidence"},
        {"family": "relative"},
    ):
        with pytest.raises(ValueError):
            made.threshold("0.1", **options)
