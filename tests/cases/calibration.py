"""Cases of the calibration: ranks, thresholds, labels, and what alpha may be."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import oracle
import tamis
from cases.expectations import (
    Case,
    Check,
    NoRunner,
    Outcome,
    Runner,
    attempt,
    equals,
    judge,
    numbers,
)

ALPHA_TYPES: dict[str, Callable[[str], Any]] = {
    "str": str,
    "float": float,
    "Decimal": Decimal,
    "Fraction": Fraction,
    "numpy.float16": np.float16,
    "numpy.float32": np.float32,
    "numpy.float64": np.float64,
    "numpy.longdouble": np.longdouble,
}


def _pooled(scores: Any, labels: Any = None) -> tamis.Calibration:
    """A calibration for the pooled snippet unit; without labels every score is positive."""
    labels = [1] * len(scores) if labels is None else labels
    return tamis.Calibration.fit(scores, labels, check_direction=False)


def _key(name: str) -> Check:
    """A check that the outcome's value, a dict, has what is wanted under `name`."""

    def check(wanted: Any, outcome: Outcome) -> str | None:
        if outcome.error is not None:
            return None
        got = outcome.value[name]
        same = got == wanted if isinstance(wanted, list | bool) else equals(got, wanted)
        return None if same else f"{name} is {got!r}, wanted {wanted!r}"

    return check


KEYS = {name: _key(name) for name in ("n", "k", "finite", "threshold", "keeps_everything", "kept")}


def run_rank(case: Case) -> None:
    n, alpha = case["input"]["n"], case["input"]["alpha"]
    for level in (alpha, float(alpha), Decimal(alpha), Fraction(alpha), np.float64(alpha)):

        def call(level: Any = level) -> dict[str, Any]:
            k = tamis.conformal_rank(n, level)
            return {"k": k, "finite": k <= n}

        judge(case["expect"], attempt(call), KEYS)
    if n <= 2_000_000:
        scores = np.arange(1, n + 1, dtype=np.float64)[::-1]
        value = tamis.conformal_quantile(scores, alpha)
        assert value == (case["expect"]["k"] if case["expect"]["k"] <= n else math.inf)


def run_rank_from_coverage(case: Case) -> None:
    n, coverage = case["input"]["n"], case["input"]["coverage"]
    for level in (coverage, float(coverage), Decimal(coverage), Fraction(coverage)):

        def call(level: Any = level) -> dict[str, Any]:
            k = tamis.conformal_rank(n, coverage=level)
            return {"k": k, "finite": k <= n}

        judge(case["expect"], attempt(call), KEYS)


def _threshold(scores: Any, alpha: Any, snippets: list[float] | None) -> dict[str, Any]:
    calibration = _pooled(scores)
    threshold = calibration.threshold(alpha, unit="snippet")
    assert equals(tamis.conformal_quantile(scores, alpha), threshold.value)
    seen: dict[str, Any] = {
        "n": threshold.n_cal,
        "k": tamis.conformal_rank(len(scores), alpha),
        "threshold": threshold.value,
        "keeps_everything": threshold.keeps_everything,
    }
    if snippets is not None:
        result = tamis.Filter(threshold, allow_keep_all=True).filter_scores(snippets)
        seen["kept"] = [int(i) for i in result.kept]
        assert [int(i) for i in threshold.keep(snippets)] == seen["kept"]
    return seen


def run_threshold(case: Case) -> None:
    given = case["input"]
    scores: Any = numbers(given["scores"])
    if "dtype" in given:
        scores = np.array(scores, given["dtype"])
    snippets = numbers(given["snippet_scores"]) if "snippet_scores" in given else None
    for level in (given["alpha"], float(given["alpha"])):
        outcome = attempt(partial(_threshold, scores, level, snippets))
        judge(case["expect"], outcome, KEYS)


OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def scores_by_rule(rule: str, given: dict[str, Any]) -> NDArray[Any]:
    """The scores of a rule such as "score[i] = ((i * 7919) mod n) / 2**20 for i in 0..n-1"."""
    match = re.match(r"\s*scores?\[i\]\s*=\s*(.+?)\s+for\s+i\s+in\s+(0|1)\.\.(n-1|n)\b", rule)
    if match is None:
        raise NoRunner(f"no reader for the rule {rule!r}")
    text, first, last = match.groups()
    stop = given["n"] + (last == "n")
    names = {"i": np.arange(int(first), stop, dtype=np.int64), **given}

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        raise NoRunner(f"no reader for the rule {rule!r}")

    text = re.sub(r"\bmod\b", "%", text).replace("^", "**")
    return np.asarray(value(ast.parse(text, mode="eval").body)).astype(given.get("dtype", "f8"))


def run_threshold_rule(case: Case) -> None:
    given = case["input"]
    scores = scores_by_rule(given["score_rule"], given)
    assert len(scores) == given["n"]
    judge(case["expect"], attempt(lambda: _threshold(scores, given["alpha"], None)), KEYS)


def run_labelled(case: Case) -> None:
    given = case["input"]
    scores, labels, alpha = numbers(given["scores"]), given["labels"], given["alpha"]
    spelled: list[Any] = [labels]
    if set(labels) <= {0, 1}:
        spelled += [[bool(x) for x in labels], np.array(labels), np.array(labels, bool)]
    for column in spelled:

        def call(column: Any = column) -> dict[str, Any]:
            calibration = _pooled(scores, column)
            threshold = calibration.threshold(alpha, unit="snippet")
            n = threshold.n_cal
            return {
                "n": n,
                "k": tamis.conformal_rank(n, alpha),
                "threshold": threshold.value,
                "keeps_everything": threshold.keeps_everything,
            }

        judge(case["expect"], attempt(call), KEYS)


def _finite(_: str, outcome: Outcome) -> str | None:
    if outcome.error is None and math.isfinite(outcome.value["threshold"]):
        return f"threshold {outcome.value['threshold']}"
    return None


def run_no_positive(case: Case) -> None:
    given = case["input"]
    scores, labels = numbers(given["scores"]), given["labels"]

    def call() -> dict[str, Any]:
        threshold = _pooled(scores, labels).threshold(given["alpha"], unit="snippet")
        return {"threshold": threshold.value, "keeps_everything": threshold.keeps_everything}

    judge(case["expect"], attempt(call), KEYS, {r"finite": _finite})


def run_bad_label(case: Case) -> None:
    given = case["input"]
    scores, labels = numbers(given["scores"]), given["labels"]
    outcome = attempt(lambda: _pooled(scores, labels))
    judge(case["expect"], outcome)
    index = next((i for i, label in enumerate(labels) if label not in (0, 1)), None)
    if index is not None and outcome.error is not None:
        assert str(index) in outcome.text, f"the message names no label: {outcome.text}"


def run_nan_score(case: Case) -> None:
    given = case["input"]
    scores = numbers(given["scores"])
    labels = given.get("labels")
    quantile = partial(tamis.conformal_quantile, alpha=given["alpha"])
    for column in (scores, np.array(scores), np.array(scores, "f4"), np.array(scores, "f2")):
        for call in (partial(_pooled, column, labels), partial(quantile, column)):
            judge(case["expect"], attempt(call))


def run_alpha_reject(case: Case) -> None:
    alpha, n = case["input"]["alpha"], case["input"]["n"]
    levels = [alpha]
    for make in (float, Decimal, Fraction, np.float32, np.float64):
        try:
            levels.append(make(alpha))
        except (TypeError, ValueError, ArithmeticError, InvalidOperation):
            continue  # this type cannot hold it
    scores = [i / (n + 1) for i in range(n)]
    calibration = _pooled(scores) if scores else None
    for level in levels:
        calls: list[Callable[[], Any]] = [
            partial(tamis.conformal_rank, n, level),
            partial(tamis.conformal_rank, n, coverage=level),
            partial(tamis.conformal_quantile, scores, level),
        ]
        if calibration is not None:
            calls.append(partial(calibration.threshold, level, unit="snippet"))
        for call in calls:
            outcome = attempt(call)
            judge(case["expect"], outcome)
            assert re.search("alpha|coverage", outcome.text), outcome.text


def run_alpha_types(case: Case) -> None:
    given, expect = case["input"], dict(case["expect"])
    alpha, n = given["alpha"], given["n"]
    others = expect.pop("any_other_type", None)
    assert expect["k"] == oracle.rank(n, alpha)
    for name in given["given_as"]:
        if name not in ALPHA_TYPES:
            raise NoRunner(f"no alpha of type {name}")
        level = ALPHA_TYPES[name](alpha)
        outcome = attempt(partial(tamis.conformal_rank, n, level))
        outcome.value = {"k": outcome.value}
        judge(expect, outcome, KEYS)
    if others is None:
        return
    if not re.search("TypeError", others):
        raise NoRunner(f"no check for any_other_type {others!r}")
    half = [np.float16(alpha)] if str(np.float16(alpha)) == str(float(alpha)) else []
    odd: list[Any] = [None, True, b"0.1", complex(alpha), [alpha], (alpha,), {alpha}, object()]
    odd += [np.array([float(alpha)]), np.array(float(alpha)), np.bool_(True), *half]
    odd += [np.str_(alpha), np.complex64(alpha), bytearray(b"0.1"), lambda: alpha]
    for level in odd:
        outcome = attempt(partial(tamis.conformal_rank, n, level))
        fine = isinstance(outcome.error, TypeError) or outcome.value == expect["k"]
        assert fine, f"{level!r}: {outcome.shown}"


RUNNERS: dict[str, Runner] = {
    "rank": run_rank,
    "rank_from_coverage": run_rank_from_coverage,
    "threshold": run_threshold,
    "threshold_rule": run_threshold_rule,
    "labelled": run_labelled,
    "no_positive": run_no_positive,
    "bad_label": run_bad_label,
    "nan_score": run_nan_score,
    "alpha_reject": run_alpha_reject,
    "alpha_types": run_alpha_types,
}
