"""Cases of the filter: what is kept, in which order, and what is never dropped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import tamis
from cases.expectations import Case, NoRunner, Outcome, Runner, attempt, equals, judge, numbers


def make_filter(value: float, **parts: Any) -> tamis.Filter:
    """A filter at a fixed threshold; an infinite one must be asked for."""
    threshold = tamis.Threshold.fixed(value)
    if math.isinf(value) and value > 0:
        refused = attempt(lambda: tamis.Filter(threshold, **parts))
        assert isinstance(refused.error, ValueError), refused.shown
        return tamis.Filter(threshold, allow_keep_all=True, **parts)
    return tamis.Filter(threshold, **parts)


def columns(scores: Sequence[float]) -> list[Any]:
    """The scores in every form that holds them exactly."""
    forms: list[Any] = [list(scores), tuple(scores)]
    for dtype in ("float64", "float32", "float16"):
        column = np.array(scores, dtype)
        if all(equals(float(a), b) for a, b in zip(column, scores, strict=True)):
            forms.append(column)
    return forms


def _kept(wanted: list[int], outcome: Outcome) -> str | None:
    if outcome.error is not None:
        return None
    return None if outcome.value == wanted else f"kept {outcome.value}, wanted {wanted}"


def _filter(value: float, scores: Any) -> list[int]:
    """Kept positions; by index, with items and by the threshold alone they must be the same."""
    chosen = make_filter(value)
    result = chosen.filter_scores(scores)
    kept = [int(i) for i in result.kept]
    assert kept == sorted(set(kept))
    assert sorted([*kept, *map(int, result.dropped)]) == list(range(len(scores)))
    assert [float(s) for s in result.scores] == [float(s) for s in scores]
    assert (result.stats.n_candidates, result.stats.n_kept) == (len(scores), len(kept))
    assert not result.degraded
    items = [object() for _ in scores]
    again = chosen.filter_scores(scores, items=items)
    assert [id(item) for item in again.kept] == [id(items[i]) for i in kept]
    assert len(again.dropped) == len(items) - len(kept)
    assert [int(i) for i in tamis.Threshold.fixed(value).keep(scores)] == kept
    return kept


def run_filter(case: Case) -> None:
    given = case["input"]
    value = float(given["threshold"])
    for scores in columns(numbers(given["scores"])):
        judge(case["expect"], attempt(partial(_filter, value, scores)), {"kept": _kept})


def run_duplicates(case: Case) -> None:
    given = case["input"]
    snippets, scores = given["snippets"], numbers(given["scores"])

    def call() -> list[int]:
        result = make_filter(float(given["threshold"])).filter_scores(scores, items=snippets)
        kept = _filter(float(given["threshold"]), scores)
        assert list(result.kept) == [snippets[i] for i in kept]
        return kept

    judge(case["expect"], attempt(call), {"kept": _kept})


class OwnScorer:
    """A scorer of the host's own that gives each document's snippets one score."""

    identity = "own scorer@1"
    scope = "snippet"

    def __init__(self, scores: dict[str, float]) -> None:
        self.scores = scores
        self.seen: list[str] = []

    def score(self, query: str, snippets: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Scores by the snippets' text."""
        texts = [getattr(snippet, "text", snippet) for snippet in snippets]
        self.seen += texts
        return np.array([self.scores[text] for text in texts], np.float32)


def run_missing_score(case: Case) -> None:
    """The retriever's scores are no scores of ours: the text path scores every snippet itself."""
    given = case["input"]
    if given.get("scorer") not in (None, "own scorer"):
        raise NoRunner(f"no scorer {given['scorer']!r}")
    value = float(given["threshold"])
    # What the retriever left out is relevant to the scorer, what it scored is not.
    texts = [f"Node number {i} stands alone." for i in range(len(given["node_scores"]))]
    own = [value - 0.25 if s is None else value + 0.25 for s in given["node_scores"]]
    scorer = OwnScorer(dict(zip(texts, own, strict=True)))

    def call() -> tamis.FilterResult:
        return make_filter(value, scorer=scorer)("Which node?", texts)

    def rescored(wanted: bool, outcome: Outcome) -> str | None:
        if outcome.error is not None or (sorted(scorer.seen) == sorted(texts)) == wanted:
            return None
        return f"the scorer saw {scorer.seen}"

    def dropped(_: str, outcome: Outcome) -> str | None:
        if outcome.error is not None:
            return None
        kept = [snippet.text for snippet in outcome.value.kept]
        missing = [t for t, s in zip(texts, given["node_scores"], strict=True) if s is None]
        return None if kept == missing else f"kept {kept}, wanted {missing}"

    judge(case["expect"], attempt(call), {"rescored": rescored}, {"dropped": dropped})
    # Where the caller gives the scores, a missing one is an error and never a decision.
    if None in given["node_scores"]:
        outcome = attempt(lambda: make_filter(value).filter_scores(given["node_scores"]))
        assert isinstance(outcome.error, TypeError | ValueError), outcome.shown
        assert str(given["node_scores"].index(None)) in outcome.text, outcome.text


def run_nan_in_filter(case: Case) -> None:
    """In every order of the scores, because an order is what would decide by comparison."""
    given = case["input"]
    scores, value = numbers(given["scores"]), float(given["threshold"])
    orders = list(itertools.islice(itertools.permutations(scores), 120))
    forms = [form(order) for order in orders for form in (list, np.array)]
    forms += [np.array(order, "f4") for order in orders]

    def kept_of(given_scores: Any) -> list[float]:
        return [float(given_scores[i]) for i in make_filter(value).filter_scores(given_scores).kept]

    outcomes = [attempt(partial(kept_of, form)) for form in forms]

    def policy(_: str, __: Outcome) -> str | None:
        kept = {sum(map(math.isnan, o.value)) for o in outcomes if o.error is None}
        allowed = ({0}, {sum(map(math.isnan, scores))})
        return None if kept in allowed else f"kept {sorted(kept)} of the NaN scores"

    def by_order(_: str, __: Outcome) -> str | None:
        seen = {type(o.error) if o.error else tuple(sorted(map(repr, o.value))) for o in outcomes}
        return None if len(seen) == 1 else f"{len(seen)} outcomes over the orders"

    for scores_given, outcome in zip(forms, outcomes, strict=True):
        judge(case["expect"], outcome, {"policy": policy}, {"order": by_order})
        if isinstance(outcome.error, ValueError):
            index = next(i for i, s in enumerate(scores_given) if not math.isfinite(s))
            assert f"[{index}]" in outcome.text, outcome.text
    threshold = tamis.Threshold.fixed(value)
    assert isinstance(attempt(lambda: threshold.keep(scores)).error, type(outcomes[0].error))


RUNNERS: dict[str, Runner] = {
    "filter": run_filter,
    "duplicates": run_duplicates,
    "missing_score": run_missing_score,
    "nan_in_filter": run_nan_in_filter,
}
