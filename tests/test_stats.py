"""`FilterResult.stats`: complete, the same on every path, and cheap until asked for."""

from __future__ import annotations

import dataclasses
import logging
import pickle
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stub_encoder import DIM, FunctionScorer, StubEncoder
from tamis import Calibration, Chunker, EmbeddingScorer, Filter, FilterResult, Threshold
from tamis import environment as circumstances

CHUNKER = Chunker(60, 20)
DOCUMENTS = ["The sieve keeps the grain. Dust falls through the mesh. A miller turns the handle."]
QUERY = "what does the sieve keep"
STAGES = ("chunk_ns", "encode_ns", "score_ns", "keep_ns")


def calibration(n_candidates: int = 4, n: int = 12, **options: Any) -> Calibration:
    """`n` topics with one relevant snippet each, and `n_candidates` in all."""
    ids = [f"t{i}" for i in range(n) for _ in range(n_candidates)]
    scores = [0.1 * (i + 1) + j for i in range(n) for j in range(n_candidates)]
    relevant = [j == 0 for _ in range(n) for j in range(n_candidates)]
    return Calibration.fit(scores, relevant, query=ids, topic=ids, **options)


@pytest.fixture(autouse=True)
def nothing_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circumstances, "_warned_of_requests", set())


def results(threshold: Threshold) -> Iterator[tuple[str, FilterResult]]:
    """One result of each path, over three to five candidates."""
    sieve = Filter(threshold, EmbeddingScorer(StubEncoder()), CHUNKER)
    rows = np.eye(4, DIM, dtype=np.float32) + 1
    yield "texts", sieve(QUERY, DOCUMENTS * 2)
    yield "vectors", sieve.filter_vectors(rows[0], rows)
    yield "scores", sieve.filter_scores([0.1, 0.2, 0.3, 0.9])


# --- fields -----------------------------------------------------------------------------------


def test_every_path_fills_every_field() -> None:
    made = calibration()
    threshold = made.threshold("0.2")
    for path, result in results(threshold):
        stats = result.stats
        assert stats.n_candidates == len(result) > 0, path
        assert stats.n_kept == len(result.kept_indices)
        assert stats.candidates_range == made.candidates_range == (4, 4)
        assert (stats.threshold, stats.slack) == (threshold.value, threshold.slack)
        assert stats.best_score == result.scores.min()
        assert (stats.calibration_id, stats.alpha, stats.delta) == (made.id, "0.2", None)
        assert (stats.unit, stats.target) == ("topic", "recall")
        assert result.stats is stats


def test_every_field_is_documented() -> None:
    documentation = type(next(results(Threshold.fixed(0.5)))[1].stats).__doc__ or ""
    attributes = documentation.split("Attributes")[1]
    named = {
        name
        for line in attributes.splitlines()
        if " : " in line
        for name in line.split(" : ")[0].replace(" ", "").split(",")
    }
    fields = [f.name for f in dataclasses.fields(next(results(Threshold.fixed(0.5)))[1].stats)]
    assert len(fields) >= 20
    assert named == set(fields)


def test_a_row_of_statistics_holds_numbers_and_names_only() -> None:
    for _, result in results(calibration().threshold("0.2")):
        row = dataclasses.asdict(result.stats)
        flat = [x for v in row.values() for x in (v if isinstance(v, tuple) else (v,))]
        assert {type(value) for value in flat} <= {int, float, bool, str, type(None)}
        assert pickle.loads(pickle.dumps(result)).stats == result.stats


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 5, 50, 2000])
def test_quantiles_are_order_statistics(n: int, dtype: Any) -> None:
    scores = np.random.default_rng(n).random(n).astype(dtype)
    stats = Filter(Threshold.fixed(0.5)).filter_scores(scores).stats
    places = [max(-(-level * n // 4), 1) - 1 for level in range(5)]
    assert stats.score_quantiles == tuple(np.sort(scores)[places].astype(float).tolist())


@pytest.mark.parametrize("dtype", [">f4", "longdouble", "int32"])
def test_scores_of_another_type_from_a_scorer_have_statistics(dtype: str) -> None:
    scorer = FunctionScorer(lambda query, texts: np.arange(len(texts)).astype(dtype))
    stats = Filter(Threshold.fixed(0.5), scorer, CHUNKER)(QUERY, DOCUMENTS).stats
    assert (stats.best_score, stats.degraded, stats.n_kept) == (0, 0, 1)


def test_statistics_leave_out_scores_that_are_not_finite() -> None:
    scorer = FunctionScorer(
        lambda query, texts: np.array([np.nan, 0.25, *[0.5] * (len(texts) - 2)], np.float32)
    )
    stats = Filter(Threshold.fixed(0.4), scorer, CHUNKER)(QUERY, DOCUMENTS * 3).stats
    assert (stats.best_score, stats.degraded) == (0.25, 1)
    assert stats.score_quantiles == (0.25, 0.5, 0.5, 0.5, 0.5)


# --- times ------------------------------------------------------------------------------------


def test_stages_are_part_of_the_whole_and_only_those_that_were() -> None:
    were = {
        "texts": {"chunk_ns", "encode_ns", "score_ns", "keep_ns"},
        "vectors": {"score_ns"},
        "scores": {"keep_ns"},
    }
    for path, result in results(Threshold.fixed(0.5)):
        stats = result.stats
        spent = {name: getattr(stats, name) for name in STAGES}
        assert {name for name, ns in spent.items() if ns > 0} == were[path]
        assert all(type(ns) is int and ns >= 0 for ns in spent.values())
        assert sum(spent.values()) <= stats.total_ns


def test_a_stage_has_the_time_that_went_into_it() -> None:
    class Slow(StubEncoder):
        def encode(self, texts: Any, kind: Any = "passage") -> Any:
            time.sleep(0.02)
            return super().encode(texts, kind)

    begin = time.perf_counter_ns()
    stats = Filter(Threshold.fixed(0.5), EmbeddingScorer(Slow()), CHUNKER)(QUERY, DOCUMENTS).stats
    spent = time.perf_counter_ns() - begin
    # Once for the query, once for the snippets; a sleep never ends early.
    assert 2 * 20_000_000 <= stats.encode_ns <= stats.total_ns <= spent

    def slow(query: str, texts: Any) -> Any:
        time.sleep(0.02)
        return np.zeros(len(texts), np.float32)

    stats = Filter(Threshold.fixed(0.5), FunctionScorer(slow), CHUNKER)(QUERY, DOCUMENTS).stats
    assert (stats.encode_ns, stats.score_ns >= 20_000_000) == (0, True)


def test_equality_is_of_outcomes_not_of_times() -> None:
    sieve = Filter(Threshold.fixed(0.5))
    first, second = sieve.filter_scores([0.1]).stats, sieve.filter_scores([0.1]).stats
    assert first == dataclasses.replace(second, total_ns=first.total_ns + 1)
    assert first != sieve.filter_scores([0.2]).stats


# --- numbers of candidates --------------------------------------------------------------------


def test_a_request_outside_the_range_of_candidates_is_marked() -> None:
    made = calibration(4)
    for threshold in (made.threshold("0.2"), pickle.loads(pickle.dumps(made.threshold("0.2")))):
        assert threshold.candidates_range == (4, 4)
        sieve = Filter(threshold)
        for n in (1, 3, 4, 5, 100):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                stats = sieve.filter_scores(np.zeros(n)).stats
            assert stats.outside_candidates_range == (n != 4)
            assert stats.candidates_range == (4, 4)


def test_it_is_warned_of_once_and_not_within_the_range() -> None:
    made = calibration(4)
    sieve, other = Filter(made.threshold("0.2")), Filter(calibration(5).threshold("0.2"))
    sieve.filter_scores([0.1] * 4)  # an exception, were it a warning
    with pytest.warns(UserWarning, match="has 3 candidates, the calibration's had 4 to 4") as seen:
        sieve.filter_scores([0.1] * 3)
    assert [w.filename for w in seen] == [__file__]
    with warnings.catch_warnings(record=True) as again:
        warnings.simplefilter("always")
        sieve.filter_scores([0.1] * 3)
        Filter(made.threshold("0.1")).filter_scores([0.1] * 3)
    assert again == []
    with pytest.warns(UserWarning, match="5 to 5"):
        other.filter_scores([0.1] * 3)


def test_a_warning_made_an_exception_fails_no_request(caplog: pytest.LogCaptureFixture) -> None:
    sieve = Filter(calibration(4).threshold("0.2"))
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, "tamis"):
        warnings.simplefilter("error")
        assert len(sieve.filter_scores([0.1] * 3)) == 3
    assert "has 3 candidates" in caplog.text


@pytest.mark.parametrize("threshold", [Threshold.fixed(0.5), "positives only"])
def test_a_range_that_is_not_known_excludes_nothing(threshold: Any) -> None:
    if threshold == "positives only":
        ids = [f"t{i}" for i in range(12)]
        threshold = Calibration.fit(np.arange(12) / 10, [1] * 12, query=ids, topic=ids).threshold(
            "0.2"
        )
    stats = Filter(threshold).filter_scores([0.1]).stats
    assert (stats.candidates_range, stats.outside_candidates_range) == (None, False)
