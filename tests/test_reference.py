"""The reference vectors of the statistics, through the public API.

Scores are random or positives only, so the check of their direction is off.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import oracle
import reference_rules
import tamis
from conftest import FIXTURES, reference_folder

Case = dict[str, Any]
Unit = Literal["topic", "query", "snippet"]
Close = Callable[[float | None, float | None], bool]


class Nothing(Exception):
    """The part of the API that a field speaks of is not there; the text says which."""


# --- reading -----------------------------------------------------------------------------------


def closeness(tolerance: object) -> Close:
    """The comparison a file's `tolerance` asks for: "exact", or an absolute bound."""
    bound = 0.0 if tolerance == "exact" else float(str(tolerance))
    assert bound >= 0, tolerance

    def close(actual: float | None, expected: float | None) -> bool:
        if actual is None or expected is None:
            return actual is expected
        return actual == expected or abs(actual - expected) <= bound

    return close


def number(value: float | str | None) -> float:
    """A threshold as stored: null is infinity, "p/q" the double nearest to it."""
    if value is None:
        return math.inf
    return float(Fraction(value)) if isinstance(value, str) else float(value)


def fraction(value: str | None) -> float | None:
    """The double nearest to a "p/q"; null stays None."""
    return None if value is None else float(Fraction(value))


def is_decimal(level: Fraction) -> bool:
    """Whether the level can be written as a decimal, so that a float can stand for it."""
    rest = level.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    return rest == 1


def spellings(alpha: str) -> list[oracle.Level]:
    """Every type in which a user may write this very level."""
    level = Fraction(alpha)
    if not is_decimal(level):
        return [alpha, level]
    decimal = Decimal(level.numerator) / Decimal(level.denominator)
    return [alpha, level, decimal, str(decimal), float(decimal)]


# --- calibrations ------------------------------------------------------------------------------


def fit(topics: Sequence[Sequence[Sequence[float]]]) -> tamis.Calibration | None:
    """A calibration of positives by topic and query; None when there is none and that is refused.

    A query without a positive gets one irrelevant candidate: it must change nothing.
    """
    rows: list[tuple[float, int, str, str]] = []
    for t, topic in enumerate(topics):
        for q, query in enumerate(topic):
            rows += [(score, 1, f"t{t}q{q}", f"t{t}") for score in query]
            rows += [] if query else [(0.5, 0, f"t{t}q{q}", f"t{t}")]
    relevant = [row[1] for row in rows]
    try:
        return tamis.Calibration.fit(
            [row[0] for row in rows],
            relevant,
            query=[row[2] for row in rows],
            topic=[row[3] for row in rows],
            check_direction=False,
        )
    except ValueError as error:
        assert not any(relevant), error
        assert "relevant" in str(error) or "positive" in str(error), error
        return None


def check_threshold(
    calibration: tamis.Calibration | None, alpha: str, unit: Unit, expected: float, close: Close
) -> None:
    """The threshold for every spelling of alpha."""
    if calibration is None:  # refused for want of a positive: there is nothing it could promise
        assert expected == math.inf
        return
    for level in spellings(alpha):
        threshold = calibration.threshold(level, unit=unit)
        assert close(threshold.value, expected), (unit, level, threshold.value, expected)
        assert threshold.keeps_everything == (expected == math.inf)
        assert threshold.unit == unit


# --- one runner per file -----------------------------------------------------------------------


def run_rank(case: Case, close: Close) -> None:
    n, k = case["n"], case["k"]
    for alpha in spellings(case["alpha"]):
        assert close(tamis.conformal_rank(n, alpha), k), (alpha, tamis.conformal_rank(n, alpha))
    if case.get("alpha_float") is not None and is_decimal(Fraction(case["alpha"])):
        assert close(tamis.conformal_rank(n, case["alpha_float"]), k)
    assert close(tamis.conformal_rank(n, coverage=1 - Fraction(case["alpha"])), k)
    assert (k > n) == case["infinite"]
    if n <= 1_000_000:
        scores = np.arange(1, n + 1, dtype=np.float64)
        value = tamis.conformal_quantile(scores, case["alpha"])
        assert close(value, math.inf if case["infinite"] else k), value


def run_split_threshold(case: Case, close: Close) -> None:
    scores, alpha, expected = case["scores"], case["alpha"], number(case["threshold"])
    assert close(tamis.conformal_rank(len(scores), alpha), case["k"])
    for level in spellings(alpha):
        for given in (scores, np.array(scores, np.float64), np.array(scores, np.float32)):
            assert close(tamis.conformal_quantile(given, level), expected)
    calibration = fit([[[score]] for score in scores] or [[[]]])
    check_threshold(calibration, alpha, "snippet", expected, close)
    threshold = tamis.Threshold.fixed(expected)
    if calibration is not None:
        threshold = calibration.threshold(alpha, unit="snippet")
        assert threshold.n_cal == len(scores)
    kept = [i for i, keep in enumerate(case["kept"]) if keep]
    for dtype in (np.float64, np.float32):
        query_scores = np.array(case["query_scores"], dtype)
        assert list(threshold.keep(query_scores)) == kept
        result = tamis.Filter(threshold, allow_keep_all=True).filter_scores(query_scores)
        assert list(result.kept) == kept
        assert sorted([*result.kept, *result.dropped]) == list(range(len(query_scores)))


def run_topic_threshold(case: Case, close: Close) -> None:
    topics = [[topic] for topic in case["topics"]]
    expected = number(case["threshold"])
    calibration = fit(topics)
    check_threshold(calibration, case["alpha"], "topic", expected, close)
    check_threshold(calibration, case["alpha"], "query", expected, close)
    pooled = number(case["pooled_threshold"])
    check_threshold(calibration, case["alpha"], "snippet", pooled, close)
    positives = sum(map(len, case["topics"]))
    assert close(tamis.conformal_rank(positives, case["alpha"]), case["pooled_k"])
    if calibration is not None:
        threshold = calibration.threshold(case["alpha"], unit="topic")
        assert threshold.n_units == case["used_topics"]
        assert threshold.n_cal == positives
        check_risk(topics, threshold, case["corrected_risk"], close)
        # Declared independent, the queries are the topics.
        scores = [score for topic in case["topics"] for score in topic]
        names = [f"q{t}" for t, topic in enumerate(case["topics"]) for _ in topic]
        declared = tamis.Calibration.fit(
            scores, [1] * len(scores), query=names, topic="query", check_direction=False
        )
        check_threshold(declared, case["alpha"], "topic", expected, close)


def check_risk(
    topics: Sequence[oracle.Topic], threshold: tamis.Threshold, expected: str | None, close: Close
) -> None:
    """The risk at our threshold is the one the file gives."""
    risk = oracle.topic_risk(topics, threshold.value)
    if expected is not None:
        assert close(float(risk), float(Fraction(expected)))
    elif threshold.value == math.inf:
        assert threshold.alpha is not None and risk > Fraction(threshold.alpha)


def run_total(case: Case, close: Close) -> None:
    """The thresholds of target "total", whose field names carry the bound on positives."""
    bounds = {
        name: int(match[1])
        for name in case
        if (match := re.fullmatch(r"micro_threshold_nmax(\d+)", name))
    }
    total: dict[str, Any] = {"unit": "topic", "target": "total"}
    probe = fit([[[0.5]]])
    assert probe is not None
    try:
        probe.threshold("0.5", **{**total, "max_positives": 1})
    except (TypeError, ValueError) as error:
        if not re.search("max_positives|target", str(error)):
            raise
        raise Nothing('target "total" is not there') from error
    calibration = fit([[topic] for topic in case["topics"]])
    for name, bound in bounds.items():
        expected = number(case[name])
        if calibration is None:
            assert expected == math.inf
            continue
        threshold = calibration.threshold(case["alpha"], **{**total, "max_positives": bound})
        assert close(threshold.value, expected), (name, threshold.value, expected)


def run_topic_query_threshold(case: Case, close: Close) -> None:
    topics, alpha = case["topics"], case["alpha"]
    calibration = fit(topics)
    check_threshold(calibration, alpha, "topic", number(case["threshold_topic_unit"]), close)
    check_threshold(calibration, alpha, "query", number(case["threshold_query_unit"]), close)
    if calibration is not None:
        threshold = calibration.threshold(alpha, unit="topic")
        assert threshold.n_units == sum(any(topic) for topic in topics)
        assert calibration.threshold(alpha, unit="query").n_units == sum(
            bool(query) for topic in topics for query in topic
        )
        check_risk(topics, threshold, case["corrected_risk"], close)


def run_pvalue(case: Case, close: Close) -> None:
    scores = case["scores"]
    expected = [fraction(p) for p in case["p"]]
    randomised = [fraction(p) for p in case["p_randomised"]]
    assert len(expected) == len(randomised) == len(case["test"]) > 0
    for test, u, p, p_u in zip(case["test"], case["u"], expected, randomised, strict=True):
        assert close(tamis.conformal_pvalue(test, scores), p)
        assert close(tamis.conformal_pvalue(test, scores, u=u), p_u)
    for dtype in (np.float64, np.float32):
        together = tamis.conformal_pvalue(np.array(case["test"], dtype), np.array(scores, dtype))
        assert len(together) == len(expected)
        assert all(close(float(a), b) for a, b in zip(together, expected, strict=True))


def run_design_effect(case: Case, close: Close) -> None:
    calibration = fit([[topic] for topic in case["topics"]])
    assert calibration is not None, "a design effect without a positive"
    effect = calibration.design_effect(case["threshold"])
    assert (effect.n, effect.n_units) == (case["n"], case["K"])
    assert close(effect.miss_rate, fraction(case["miss_rate"]))
    if case["variance"] is not None:
        assert close(effect.variance, fraction(case["variance"]))
    assert close(effect.design_effect, fraction(case["design_effect"]))
    assert close(effect.effective_n, fraction(case["effective_n"]))


Runner = Callable[[Case, Close], None]
RUNNERS: dict[str, tuple[Runner, ...]] = {
    "rank": (run_rank,),
    "split_threshold": (run_split_threshold,),
    "topic_threshold": (run_topic_threshold, run_total),
    "topic_query_threshold": (run_topic_query_threshold,),
    "pvalue": (run_pvalue,),
    "design_effect": (run_design_effect,),
    **reference_rules.RUNNERS,
}


# --- tests -------------------------------------------------------------------------------------


def vectors() -> Iterator[Any]:
    """One parameter per vector and runner, one per file without a runner or without a vector."""
    for path in sorted(reference_folder().glob("*.json")):
        runners = RUNNERS.get(path.stem)
        if runners is None:
            yield pytest.param(path, None, None, id=path.stem)
            continue
        try:
            cases = range(len(json.loads(path.read_text(encoding="utf-8"))["cases"]))
        except (ValueError, LookupError, TypeError):
            cases = range(0)
        if not cases:
            yield pytest.param(path, 0, runners[0], id=f"{path.stem}-empty")
        for runner in runners:
            name = path.stem if runner is runners[0] else f"{path.stem}.{runner.__name__[4:]}"
            for index in cases:
                yield pytest.param(path, index, runner, id=f"{name}-{index}")


@pytest.mark.counted
@pytest.mark.parametrize(("path", "index", "runner"), list(vectors()))
def test_vector(path: Path, index: int | None, runner: Runner | None) -> None:
    if runner is None or index is None:
        pytest.skip(f"{path.name}: no runner")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["cases"], f"{path.name} holds no case"
    try:
        runner(content["cases"][index], closeness(content["tolerance"]))
    except Nothing as missing:
        pytest.skip(f"{path.name}: {missing}")


def test_the_folder_holds_vectors() -> None:
    files = {path.stem for path in reference_folder().glob("*.json")}
    assert files & RUNNERS.keys(), f"no file with a runner in {reference_folder()}"
    if reference_folder() == FIXTURES / "reference":
        assert files >= RUNNERS.keys()
