"""Rules of every family and by group: made, kept by, pickled, refused."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis import (
    Calibration,
    Filter,
    GroupThresholds,
    RelativeThreshold,
    Rule,
    Threshold,
    TokenBudget,
    TopK,
)

FAMILIES: tuple[Any, ...] = ("threshold", "relative", "top_k", "tokens")
CLASSES = dict(zip(FAMILIES, (Threshold, RelativeThreshold, TopK, TokenBudget), strict=True))


def lists(n_queries: int = 30, n: int = 8, seed: int = 7) -> dict[str, Any]:
    """Columns of queries with 1 to 3 relevant snippets each; scores on a coarse grid, for ties."""
    random = np.random.default_rng(seed)
    scores, relevant, size, query, group = [], [], [], [], []
    for q in range(n_queries):
        n_relevant = int(random.integers(1, 4))
        for i in range(n):
            scores.append(float(random.integers(0, 24)) / 32 + (0.25 if i >= n_relevant else 0))
            relevant.append(i < n_relevant)
            size.append(int(random.integers(1, 200)))
            query.append(f"q{q}")
            group.append(("en", "fr", ("en", "fr"), ())[int(random.integers(0, 4))])
    return {
        "scores": scores,
        "relevant": relevant,
        "size": size,
        "query": query,
        "group": group,
        "topic": query,
    }


def made(**columns: Any) -> Calibration:
    return Calibration.fit(**{"check_direction": False, "size_unit": "tokens", **columns})


def every_rule() -> list[Rule]:
    data = lists()
    calibration = made(**data, scorer="mine", chunker={"cut": 1}, slack=0.125)
    weighted = made(**data, weight=[1.0 + (q[-1] == "3") for q in data["query"]])
    rules: list[Rule] = [calibration.threshold("0.2", family=family) for family in FAMILIES]
    rules += [calibration.threshold("0.2", family=f, by_group=True) for f in FAMILIES]
    rules += [
        calibration.threshold("0.01"),
        calibration.threshold("0.2", "query", "all"),
        calibration.threshold("0.2", "topic", "total", max_positives=3),
        calibration.threshold("0.3", delta="0.1"),
        weighted.threshold("0.2"),
        Threshold.fixed(0.5),
        RelativeThreshold.fixed(-0.25),
        TopK.fixed(3),
        TokenBudget.fixed(0),
        Threshold.fixed(math.inf),
    ]
    return rules


EVERY_RULE = every_rule()


@pytest.mark.parametrize("rule", EVERY_RULE, ids=repr)
def test_a_rule_comes_back_from_pickling_equal(rule: Rule) -> None:
    for back in (pickle.loads(pickle.dumps(rule)), copy.copy(rule), copy.deepcopy(rule)):
        assert type(back) is type(rule)
        assert back == rule and hash(back) == hash(rule) and repr(back) == repr(rule)
        names = [name for name in dir(rule) if not name.startswith("_")]
        for name in names:
            value = getattr(rule, name)
            if not callable(value):
                assert getattr(back, name) == value, name
    assert sum(rule == other for other in EVERY_RULE) == 1


def test_classes_go_with_families() -> None:
    for rule in EVERY_RULE:
        if isinstance(rule, GroupThresholds):
            assert all(type(one) is CLASSES[one.family] for one in rule.thresholds.values())
            assert rule.family == next(iter(rule.thresholds.values())).family
        else:
            assert type(rule) is CLASSES[rule.family]
    with pytest.raises(TypeError):
        Rule()
    assert not hasattr(TopK.fixed(3), "select")


def kept_by_hand(rule: Rule, scores: list[float], size: list[int]) -> list[int]:
    order = sorted(range(len(scores)), key=lambda i: (scores[i], i))
    if rule.family == "top_k":
        return sorted(order[: int(min(rule.value, len(order)))])
    if rule.family == "tokens":
        kept, total = [], 0
        for i in order:
            total += size[i]
            if total > rule.value:
                break
            kept.append(i)
        return sorted(kept)
    mean = sum(map(Fraction, scores)) / len(scores) if rule.family == "relative" else 0
    limit = Fraction(rule.value) + Fraction(rule.slack) if math.isfinite(rule.value) else math.inf
    return [i for i, score in enumerate(scores) if Fraction(score) - mean <= limit]


# Sixteen scores of a few binary digits: their mean is exact in double precision too.
SCORES = st.lists(st.integers(0, 40).map(lambda n: n / 32), min_size=16, max_size=16)


@settings(max_examples=60, deadline=None)
@given(SCORES, st.lists(st.integers(0, 99), min_size=16, max_size=16), st.integers(0, 400))
def test_what_is_kept_is_what_the_definition_says(
    scores: list[float], size: list[int], parameter: int
) -> None:
    rules = (
        Threshold.fixed(parameter / 320),
        RelativeThreshold.fixed((parameter - 200) / 512),
        TopK.fixed(parameter // 20),
        TokenBudget.fixed(parameter),
    )
    for rule in rules:
        sizes = size if rule.family == "tokens" else None
        expected = kept_by_hand(rule, scores, size)
        for dtype in (np.float64, np.float32):
            assert rule.keep(np.array(scores, dtype), size=sizes).tolist() == expected
        result = Filter(rule).filter_scores(scores, size=size)
        assert result.kept == expected
        assert result.stats.family == rule.family
        assert result.stats.median_size == float(np.median(size))


def risk(data: dict[str, Any], rule: Rule, target: str) -> tuple[Fraction, int]:
    """(sum of the queries' losses + 1) / (number of queries + 1) by the rule itself."""
    losses = []
    for q in dict.fromkeys(data["query"]):
        rows = [i for i, name in enumerate(data["query"]) if name == q]
        size = [data["size"][i] for i in rows] if rule.family == "tokens" else None
        kept = {rows[i] for i in rule.keep([data["scores"][i] for i in rows], size=size).tolist()}
        relevant = [i for i in rows if data["relevant"][i]]
        missed = sum(i not in kept for i in relevant)
        losses.append(
            Fraction(missed, len(relevant)) if target == "recall" else Fraction(missed > 0)
        )
    return (sum(losses, Fraction(1))) / (len(losses) + 1), len(losses)


@pytest.mark.parametrize("target", ["recall", "all"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("alpha", ["0.05", "1/10", "0.3", "0.5"])
def test_the_parameter_is_the_smallest_whose_risk_is_at_most_alpha(
    alpha: str, family: Any, target: Any
) -> None:
    data = lists()
    rule: Rule = made(**data).threshold(alpha, "topic", target, family=family)
    if rule.keeps_everything:
        assert Fraction(1, rule.n_units + 1) > Fraction(alpha) or target == "all"
        return
    assert risk(data, rule, target)[0] <= Fraction(alpha)
    if family in ("top_k", "tokens"):
        smaller: Rule = CLASSES[family].fixed(int(rule.value) - 1)
    else:
        smaller = CLASSES[family].fixed(math.nextafter(rule.value, -math.inf))
    assert risk(data, smaller, target)[0] > Fraction(alpha)
    assert (rule.alpha, rule.target, rule.unit) == (alpha, target, "topic")
    assert rule.n_units == 30 and rule.size_unit == "tokens"


def test_evidence_counts_each_span_once_by_its_best_snippet() -> None:
    # Ten queries of two spans; the second span of query 0 lies in no snippet.
    scores = [0.1 * (q + 1) for q in range(10) for _ in range(2)]
    ids = [f"q{q}" for q in range(10) for _ in range(2)]
    best: list[float | None] = list(scores)
    best[1] = None
    made = Calibration.fit(
        scores,
        [1] * 20,
        query=ids,
        topic="query",
        evidence=(ids, best, 0),
        check_direction=False,
    )
    # It was lost before scoring and is left out: (1 + k) / 11 <= alpha for k queries missed.
    for k, alpha in ((0, "1/11"), (3, "4/11"), (2, "39/110")):
        rule = made.threshold(alpha, "topic", "evidence")
        assert rule.value == pytest.approx(1.0 - 0.1 * k), alpha
        assert (rule.target, rule.n_cal, rule.n_units) == ("evidence", 19, 10)
    assert made.threshold("9/110", "topic", "evidence").keeps_everything


def test_a_grid_gives_the_next_larger_of_its_values() -> None:
    calibration = made(**lists())
    exact = calibration.threshold("0.2").value
    assert (
        calibration.threshold("0.2", grid=[exact + 1, exact - 1, exact + 0.5]).value == exact + 0.5
    )
    assert calibration.threshold("0.2", grid=[exact - 1]).keeps_everything
    with pytest.raises(ValueError, match="grid"):
        calibration.threshold("0.2", grid=[math.nan])


def test_groups_are_kept_by_their_own_thresholds_and_unseen_ones_whole() -> None:
    rule = made(**lists()).threshold("0.3", "query", by_group=True)
    assert sorted(rule.thresholds) == ["en", "fr"] and rule.grouping is None
    en, fr = (rule.thresholds[name].value for name in ("en", "fr"))
    assert math.isfinite(en) and math.isfinite(fr) and en != fr
    low, high = sorted((en, fr))
    assert rule.value == high
    assert rule.n_cal == min(one.n_cal for one in rule.thresholds.values())
    scores = [low, high, high + 1]
    for name, value in (("en", en), ("fr", fr)):
        assert rule.keep(scores, group=name).tolist() == [
            i for i, s in enumerate(scores) if s <= value
        ]
    assert rule.keep(scores, group=[("en", "fr")] * 3).tolist() == [0, 1]
    result = Filter(rule).filter_scores(scores, group=["de", (), "en"])
    assert result.kept == [0, 1] and result.stats.unseen_groups == 2
    explained = result.explain().splitlines()[0]
    assert explained.startswith("by group, en: keep scores up to ") and "; fr: " in explained
    vectors = np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
    by_vectors = Filter(rule).filter_vectors(vectors[0], vectors, group="de")
    assert by_vectors.kept == [0, 1, 2] and by_vectors.stats.unseen_groups == 3


def test_groups_as_numbers_are_their_digits() -> None:
    data = {**lists(), "group": [i % 2 for i in range(240)]}
    rule = made(**data).threshold("0.3", by_group=True)
    assert sorted(rule.thresholds) == ["0", "1"]
    scores = data["scores"][:6]
    as_numbers = rule.keep(scores, group=np.arange(6) % 2).tolist()
    assert as_numbers == rule.keep(scores, group=["0", "1"] * 3).tolist()


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (["en"] * 2, "group has 2 entries, expected 3"),
        (None, "needs group="),
        ([1, "1", "en"], "group\\[1\\]: groups must be all str or all int"),
        (["en", 0.5, "en"], "group\\[1\\] must be a str or int"),
        (["en", "\ud800", "en"], "group\\[1\\] holds a lone surrogate"),
        (["en", ("en", None), "en"], "group\\[1\\] must be a str or int"),
        (3, "group must be a sequence"),
        (["en", True, "en"], "group\\[1\\]"),
    ],
)
def test_a_wrong_group_is_named(group: Any, words: str) -> None:
    rule = made(**lists()).threshold("0.3", by_group=True)
    for keep in (
        lambda: rule.keep([0.1, 0.2, 0.3], group=group),
        lambda: Filter(rule).filter_scores([0.1, 0.2, 0.3], group=group),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            keep()


def test_what_a_rule_has_no_use_for_is_refused() -> None:
    with pytest.raises(ValueError, match="group= needs a rule by group"):
        Threshold.fixed(0.5).keep([0.1], group="en")
    with pytest.raises(ValueError, match="size= is not available"):
        TopK.fixed(1).keep([0.1], size=[1])
    with pytest.raises(ValueError, match="token budget needs size="):
        TokenBudget.fixed(1).keep([0.1])
    with pytest.raises(ValueError, match="size has 2 entries, expected 1"):
        TokenBudget.fixed(1).keep([0.1], size=[1, 2])
    with pytest.raises(ValueError, match="size has 2 entries"):
        Filter(Threshold.fixed(0.5)).filter_scores([0.1], size=[1, 2])
    for wrong in ([-1], [2**64], [1.5], [True], ["1"]):
        with pytest.raises((ValueError, TypeError), match=r"size\[0\]"):
            TokenBudget.fixed(1).keep([0.1], size=wrong)  # type: ignore[arg-type]
    for make in (TopK.fixed, TokenBudget.fixed):
        for value in (-1, 2**53 + 1, 2**70, 1.0, True, "3", None):
            with pytest.raises((ValueError, TypeError)):
                make(value)  # type: ignore[arg-type]
    for number in (True, "0.5", None, math.nan):
        with pytest.raises((ValueError, TypeError)):
            RelativeThreshold.fixed(number)  # type: ignore[arg-type]


def test_a_score_that_is_not_finite_is_named_in_every_family() -> None:
    for rule in (Threshold.fixed(0.5), RelativeThreshold.fixed(0), TopK.fixed(1)):
        for bad in (math.nan, math.inf, -math.inf):
            with pytest.raises(ValueError, match=r"scores\[1\]"):
                rule.keep([0.1, bad])
        assert rule.keep([]).tolist() == []


# --- weights -----------------------------------------------------------------------------------


def test_uneven_weights_warn_and_mixed_ones_are_refused() -> None:
    data = lists()
    heavy = [1000.0 if q == "q0" else 1.0 for q in data["query"]]
    with pytest.warns(UserWarning, match="worth 1.1 without weights"):
        rule = made(**data, weight=heavy).threshold("0.1")
    assert rule.effective_units == pytest.approx(1029**2 / (1000**2 + 29))
    assert rule.mass_at_infinity == pytest.approx(1000 / 2029)
    assert rule.keeps_everything
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made(**data, weight=[3.0] * 240).threshold("0.3") != Threshold.fixed(0)
    mixed = [1.0 + i % 2 for i in range(240)]
    with pytest.raises(ValueError, match="weight differs within one topic"):
        made(**data, weight=mixed).threshold("0.3")
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"weight\[2\]"):
            made(**data, weight=[1.0, 1.0, wrong, *[1.0] * 237])


def test_equal_weights_change_nothing() -> None:
    data = lists()
    plain, weighted = made(**data), made(**data, weight=[0.3] * 240)
    for alpha in ("0.1", "0.25", "0.5"):
        for family in FAMILIES:
            a: Rule = plain.threshold(alpha, family=family)
            b: Rule = weighted.threshold(alpha, family=family)
            assert a.value == b.value
            assert (a.effective_units, b.effective_units) == (None, pytest.approx(30))


# --- filters over texts ------------------------------------------------------------------------


class Lengths:
    """Scores a snippet by its length, so that what is kept can be said; some have no score."""

    identity = "lengths"

    def __init__(self, failing: str = "") -> None:
        self.failing = failing

    def score(self, query: str, texts: list[str]) -> Any:
        bad = [bool(self.failing) and self.failing in text for text in texts]
        return np.array([math.nan if b else len(t) / 64 for b, t in zip(bad, texts, strict=True)])


DOCUMENTS = ["Six.", "Twelve long.", "A sieve keeps grain, dust may fall.", "Broken one."]


@pytest.mark.parametrize(
    ("rule", "kept", "kept_failing"),
    [
        (Threshold.fixed(12 / 64), [0, 1, 3], [0, 1, 3]),
        (RelativeThreshold.fixed(0.0), [0, 1, 3], [0, 1, 2, 3]),
        (TopK.fixed(1), [0], [0, 3]),
        (TokenBudget.fixed(16), [0, 3], [0, 1, 3]),
    ],
    ids=repr,
)
def test_a_snippet_without_a_score_is_kept_and_costs_no_other_its_place(
    rule: Rule, kept: list[int], kept_failing: list[int]
) -> None:
    size = len if rule.family == "tokens" else None
    for failing, expected in (("", kept), ("Broken", kept_failing)):
        result = Filter(rule, Lengths(failing), tamis.Chunker(64, 0), size=size)("q", DOCUMENTS)
        assert result.kept_indices.tolist() == expected
        assert result.stats.degraded == bool(failing)
    if rule.family == "relative":
        assert any("mean" in reason for reason in result.reasons)


def test_groups_of_documents_are_those_of_their_snippets() -> None:
    rule = made(**lists()).threshold("0.3", by_group=True)
    sieve = Filter(rule, Lengths(), tamis.Chunker(20, 0))
    result = sieve("q", DOCUMENTS, group=["en", "fr", "de", ("en", "fr")])
    of_unseen = [s.document for s in result.items].count(2)
    assert result.stats.unseen_groups == of_unseen > 1
    assert {s.document for s in result.kept} >= {2}
    with pytest.raises(ValueError, match="group has 1 entries, there are 4 documents"):
        sieve("q", DOCUMENTS, group=["en"])
    with pytest.raises(ValueError, match="needs group="):
        sieve("q", DOCUMENTS)


def test_a_budget_over_texts_needs_to_know_its_unit() -> None:
    columns = lists()
    budget = made(**columns).threshold("0.3", family="tokens")
    with pytest.raises(ValueError, match="the budget is in tokens: pass size="):
        Filter(budget, Lengths(), tamis.Chunker(64, 0))("q", DOCUMENTS)
    counted = Filter(budget, Lengths(), tamis.Chunker(64, 0), size=lambda text: len(text.split()))
    assert counted("q", DOCUMENTS).stats.median_size == 2
    in_code_points = made(**{**columns, "size_unit": "code points"}).threshold(
        "0.3", family="tokens"
    )
    assert Filter(in_code_points, Lengths(), tamis.Chunker(64, 0))("q", DOCUMENTS).kept
    with pytest.raises(ValueError, match="code points"):
        Filter(in_code_points, Lengths(), size=len)
    with pytest.raises(TypeError, match="size must be a function"):
        Filter(budget, Lengths(), size=3)  # type: ignore[arg-type]
    half: Any = lambda text: 0.5  # noqa: E731
    with pytest.raises(TypeError):
        Filter(budget, Lengths(), size=half)("q", DOCUMENTS)


def test_snippets_of_another_length_than_calibrated_are_said() -> None:
    rule = made(**{**lists(), "size_unit": "code points"}).threshold("0.3")
    assert rule.size_range is not None and rule.size_range[0] >= 1
    sieve = Filter(rule, Lengths(), tamis.Chunker(400, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stats = sieve("q", ["x" * 399] * 8).stats
        assert stats.outside_size_range and stats.median_size == 399
        stats = sieve("q", ["x" * 60] * 8).stats
        assert not stats.outside_size_range and stats.size_range == rule.size_range
        assert sieve.filter_scores([0.1]).stats.median_size is None


def test_other_families_on_vectors_are_those_on_their_scores() -> None:
    random = np.random.default_rng(3)
    query, rows = random.normal(size=16).astype("f4"), random.normal(size=(40, 16)).astype("f4")
    scores = tamis.cosine_scores(query, rows)
    size = random.integers(1, 50, 40).tolist()
    for rule in (RelativeThreshold.fixed(-0.1), TopK.fixed(7), TokenBudget.fixed(300)):
        result = Filter(rule).filter_vectors(query, rows, size=size)
        assert result.scores.tobytes() == scores.tobytes()
        sizes = size if rule.family == "tokens" else None
        assert result.kept == rule.keep(scores, size=sizes).tolist()
        assert 0 < len(result.kept) < 40
