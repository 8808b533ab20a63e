"""Runners of the reference vectors about families, groups and weights."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import tamis

Case = dict[str, Any]
Close = Callable[[float | None, float | None], bool]


def number(value: float | None) -> float:
    return math.inf if value is None else float(value)


def run_nested_family(case: Case, close: Close) -> None:
    queries = case["queries"]
    rows = [
        (score, relevant, size, q)
        for q, query in enumerate(queries)
        for score, relevant, size in zip(
            query["scores"], query["relevant"], query["tokens"], strict=True
        )
    ]
    calibration = tamis.Calibration.fit(
        [row[0] for row in rows],
        [row[1] for row in rows],
        size=[row[2] for row in rows],
        query=[row[3] for row in rows],
        topic=[row[3] for row in rows],
        size_unit="tokens",
        check_direction=False,
    )
    start, stop, step = case["token_grid"]
    asked: tuple[tuple[Any, str, dict[str, Any]], ...] = (
        ("top_k", "top_k", {}),
        ("tokens", "token_budget", {"grid": [float(t) for t in range(start, stop + 1, step)]}),
    )
    for family, field, options in asked:
        rule = calibration.threshold(case["alpha"], family=family, **options)
        assert close(rule.value, number(case[field])), (family, rule.value)
        assert rule.keeps_everything == (case[field] is None)
        if case[field] is None:
            continue
        # What the rule itself keeps has the risk that was asked for, and one step less has not.
        for value, holds in (
            (rule.value, True),
            (rule.value - options.get("grid", [0, 1])[1], False),
        ):
            missed = _missed(family, value, queries)
            risk = (sum(missed, Fraction(0)) + 1) / (len(missed) + 1)
            assert (risk <= Fraction(case["alpha"])) == holds, (family, value, risk)


def _missed(family: str, value: float, queries: list[Case]) -> list[Fraction]:
    rule = (tamis.TopK if family == "top_k" else tamis.TokenBudget).fixed(int(value))
    shares = []
    for query in queries:
        size = query["tokens"] if family == "tokens" else None
        kept = set(rule.keep(query["scores"], size=size).tolist())
        relevant = {i for i, flag in enumerate(query["relevant"]) if flag}
        if relevant:
            shares.append(Fraction(len(relevant - kept), len(relevant)))
    return shares


def run_group_threshold(case: Case, close: Close) -> None:
    groups = case["groups"]
    rows = [(score, name) for name, scores in groups.items() for score in scores]
    calibration = tamis.Calibration.fit(
        [score for score, _ in rows],
        [1] * len(rows),
        group=[name for _, name in rows],
        check_direction=False,
    )
    made = calibration.threshold(case["alpha"], "snippet", by_group=True)
    assert set(made.thresholds) == set(case["thresholds"])
    for name, expected in case["thresholds"].items():
        assert close(made.thresholds[name].value, number(expected)), name
        assert made.thresholds[name].n_cal == len(groups[name])
    pooled = calibration.threshold(case["alpha"], "snippet")
    assert close(pooled.value, number(case["pooled"]))
    # In use: each by its own, an unseen group keeps everything.
    probes = sorted({score for score, _ in rows} | {1e6})
    for name in [*groups, "a group that is not there"]:
        limit = number(case["thresholds"].get(name))
        expected_kept = [i for i, score in enumerate(probes) if score <= limit]
        assert made.keep(probes, group=name).tolist() == expected_kept
        assert made.keep(probes, group=[name] * len(probes)).tolist() == expected_kept


def run_weighted_threshold(case: Case, close: Close) -> None:
    calibration = tamis.Calibration.fit(
        case["scores"],
        [1] * len(case["scores"]),
        weight=case["weights"],
        check_direction=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        made = calibration.threshold(case["alpha"], "snippet", test_weight=case["test_weight"])
    assert close(made.value, number(case["threshold"]))
    assert close(made.effective_units, float(Fraction(case["ess"])))
    assert close(made.mass_at_infinity, float(Fraction(case["mass_at_infinity"])))


RUNNERS = {
    "nested_family": (run_nested_family,),
    "group_threshold": (run_group_threshold,),
    "weighted_threshold": (run_weighted_threshold,),
}
