"""`tamis.evaluation`: measures against brute force, honest splits, new topics, strict JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stub_encoder import FunctionScorer, StubEncoder, labelled_queries, negative
from tamis import (
    Calibration,
    Chunker,
    Document,
    EmbeddingScorer,
    IdentityMismatch,
    LabelledQuery,
    calibrate,
    evaluate,
)
from tamis.calibration import fit_scored
from tamis.evaluation import (
    AlphaSplits,
    Evaluation,
    Measures,
    Table,
    evaluate_calibration,
    evaluate_scored,
)
from tamis.evaluation.splits import unit_of_query
from tamis.scored import ScoredQueries, score_queries

CHUNKER = Chunker(80, 30)
EASY = Document("easy", "Nothing is labelled in here. It has a snippet or two all the same.")
QUERIES = [
    *labelled_queries(20),
    LabelledQuery("unanswerable", "no answer", (EASY,), topic="t3"),
    LabelledQuery("alone", "no answer either", (EASY,), topic="alone"),
    LabelledQuery("empty", "no documents", (), topic="t4"),
]


@pytest.fixture(scope="module")
def scored() -> ScoredQueries:
    return score_queries(QUERIES, EmbeddingScorer(StubEncoder()), CHUNKER)


@pytest.fixture(scope="module")
def calibration(scored: ScoredQueries) -> Calibration:
    return fit_scored(scored)


def strict(value: object) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


# --- measures ---------------------------------------------------------------------------------


def brute_force(scored: ScoredQueries, limit: float, which: Sequence[int]) -> dict[str, float]:
    """The measures by sets of characters and loops over spans, one query at a time."""
    recalls: dict[str, list[float]] = {}
    n_relevant = n_relevant_kept = n_evidence = n_evidence_kept = 0
    cells: dict[str, int] = dict.fromkeys(
        [f"{a}{b}" for a in ("all", "labelled") for b in ("", " kept", " chars", " chars kept")], 0
    )
    for i in which:
        query = scored.queries[i]
        rows = [r for r in range(len(scored.scores)) if scored.query[r] == i]
        kept = [r for r in rows if scored.scores[r] <= limit]
        relevant = [r for r in rows if scored.relevant[r]]
        if relevant:
            share = len(set(relevant) & set(kept)) / len(relevant)
            recalls.setdefault(str(query.topic), []).append(share)
        n_relevant += len(relevant)
        n_relevant_kept += len(set(relevant) & set(kept))
        for document, d in enumerate(query.documents):
            for a, b in d.relevant_spans:
                n_evidence += 1
                n_evidence_kept += any(
                    scored.document[r] == document and holds(d.text, a, b, scored, r) for r in kept
                )
        for name in ("all", "labelled"):
            for suffix, part in (("", rows), (" kept", kept)):
                chosen = [
                    r
                    for r in part
                    if name == "all" or query.documents[scored.document[r]].relevant_spans
                ]
                cells[name + suffix] += len(chosen)
                spans = ((scored.document[r], scored.start[r], scored.end[r]) for r in chosen)
                chars = {(int(d), at) for d, a, b in spans for at in range(a, b)}
                cells[name + " chars" + suffix] += len(chars)
    flat = [share for shares in recalls.values() for share in shares]
    return {
        "recall_topic": float(np.mean([np.mean(shares) for shares in recalls.values()])),
        "recall_query": float(np.mean(flat)),
        "coverage": n_relevant_kept / n_relevant,
        "evidence": n_evidence_kept / n_evidence,
        "removed": 1 - cells["all kept"] / cells["all"],
        "removed_labelled": 1 - cells["labelled kept"] / cells["labelled"],
        "characters": 1 - cells["all chars kept"] / cells["all chars"],
        "characters_labelled": 1 - cells["labelled chars kept"] / cells["labelled chars"],
    }


def holds(text: str, a: int, b: int, scored: ScoredQueries, row: int) -> bool:
    start, end = int(scored.start[row]), int(scored.end[row])

    def ink(x: int, y: int) -> int:
        return len("".join(text[x:y].split())) if x < y else 0

    return 2 * ink(max(a, start), min(b, end)) >= min(ink(a, b), ink(start, end))


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 1.0])
def test_measures_equal_brute_force(
    scored: ScoredQueries, calibration: Calibration, share: float
) -> None:
    limit = float(np.quantile(scored.scores, share, method="lower"))
    table = Table(scored, unit_of_query(scored, calibration))
    for seed in (None, 1, 2):
        marks = np.ones(len(QUERIES), bool)
        if seed is not None:
            marks = np.random.default_rng(seed).random(len(QUERIES)) < 0.5
        expected = brute_force(scored, limit, np.flatnonzero(marks).tolist())
        measures = table.measure(limit, marks)
        for name, value in expected.items():
            assert getattr(measures, name) == pytest.approx(value, abs=1e-12), name


def test_an_infinite_threshold_keeps_all_and_none_is_nan(
    scored: ScoredQueries, calibration: Calibration
) -> None:
    table = Table(scored, unit_of_query(scored, calibration))
    everything = table.measure(math.inf, np.ones(len(QUERIES), bool))
    assert everything == Measures(1, 1, 1, 1, 0, 0, 0, 0)
    unanswerable = np.array([q.query_id == "alone" for q in QUERIES])
    nothing = table.measure(-1, unanswerable)
    assert math.isnan(nothing.recall_topic)
    assert nothing.removed == nothing.characters == 1


# --- splits -----------------------------------------------------------------------------------


class Recorder:
    """A calibration that remembers the halves it is restricted to."""

    def __init__(self, calibration: Calibration) -> None:
        self.inner = calibration
        self.halves: list[set[str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def restrict(self, keep: Any) -> Calibration:
        names = zip(self.inner.query_ids or [], keep, strict=True)
        self.halves.append({name for name, kept in names if kept})
        return self.inner.restrict(keep)


def test_splits_are_halves_disjoint_by_unit(
    scored: ScoredQueries, calibration: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    tested: list[set[str]] = []
    measure = Table.measure

    def watched(self: Table, limit: float, queries: Any) -> Measures:
        tested.append({QUERIES[i].query_id for i in np.flatnonzero(queries)})
        return measure(self, limit, queries)

    monkeypatch.setattr(Table, "measure", watched)
    recorder: Any = Recorder(calibration)
    evaluate_scored(scored, recorder, ["0.2"], n_splits=20)
    topic = {q.query_id: q.topic for q in QUERIES}
    assert len(recorder.halves) == len(tested) == 20
    for half, other in zip(recorder.halves, tested, strict=True):
        assert half & other == set()
        left, right = ({topic[q] for q in side if topic[q] != "t4"} for side in (half, other))
        assert left & right == set()
        assert abs(len(left) - len(right)) <= 2
        # Without candidates there is nothing to calibrate on, whatever the side.
        assert half | other | {"empty"} == {q.query_id for q in QUERIES}
    assert len({frozenset(half) for half in recorder.halves}) > 15


def test_a_split_measures_the_threshold_of_the_other_half(
    scored: ScoredQueries, calibration: Calibration
) -> None:
    recorder: Any = Recorder(calibration)
    for unit in ("topic", "query", "snippet"):
        recorder.halves.clear()
        result = evaluate_scored(scored, recorder, ["0.2", "1/3"], unit, n_splits=3)
        for split, half in enumerate(recorder.halves):
            part = calibration.restrict([name in half for name in calibration.query_ids or []])
            others = [i for i, q in enumerate(QUERIES) if q.query_id not in half]
            for alpha in result.alphas:
                threshold = part.threshold(alpha.alpha, unit=unit).value
                assert alpha.thresholds[split] == threshold
                expected = brute_force(scored, threshold, others)
                for name, value in expected.items():
                    assert alpha.measures[name][split] == pytest.approx(value, abs=1e-12)


def test_the_seed_decides(scored: ScoredQueries, calibration: Calibration) -> None:
    def run(seed: int) -> dict[str, Any]:
        return evaluate_scored(scored, calibration, n_splits=10, seed=seed).to_dict()

    assert run(3) == run(3)
    assert run(3)["alphas"] != run(4)["alphas"]
    assert run(3)["seed"] == 3


def test_evaluate_counts_and_speaks() -> None:
    counted = [replace(q, n_unretrieved=1) for q in QUERIES]
    result = evaluate(counted, EmbeddingScorer(StubEncoder()), CHUNKER, ["0.1", "0.3"], n_splits=40)
    assert (result.n_queries, result.n_answerable, result.n_units) == (43, 40, 20)
    assert (result.n_spans, result.n_spans_lost, result.n_unretrieved) == (40, 0, 43)
    assert result.n_distinct < result.n_candidates
    words = str(result)
    assert "43 queries (40 answerable) in 20 independent units" in words
    assert "retrieval finds 48.2% of the evidence" in words
    fields = strict(result.to_dict())
    assert [row["alpha"] for row in fields["alphas"]] == ["0.1", "0.3"]
    assert fields["promised"] == "recall_topic"
    for row in fields["alphas"]:
        for name in Measures.__dataclass_fields__:
            assert 0 <= row[name]["p05"] <= row[name]["mean"] <= row[name]["p95"] <= 1
    assert result.held
    # A looser promise removes more.
    assert result.alphas[1].mean("removed") > result.alphas[0].mean("removed")


def test_too_few_topics_keep_everything_and_say_so() -> None:
    few = labelled_queries(8)
    result = evaluate(few, EmbeddingScorer(StubEncoder()), CHUNKER, ["0.05"], n_splits=5)
    (alpha,) = result.alphas
    assert alpha.keeps_everything == 1
    assert np.isinf(alpha.thresholds).all()
    assert (alpha.mean("recall_topic"), alpha.mean("removed")) == (1, 0)
    assert result.held
    assert "keeps everything in 100% of the splits" in str(result)
    strict(result.to_dict())


def test_what_cannot_be_split_is_refused(scored: ScoredQueries, calibration: Calibration) -> None:
    with pytest.raises(ValueError, match="n_splits must be at least 1, got 0"):
        evaluate_scored(scored, calibration, n_splits=0)
    with pytest.raises(ValueError, match="alpha"):
        evaluate_scored(scored, calibration, ["nonsense"], n_splits=1)
    scorer = EmbeddingScorer(StubEncoder())
    with pytest.raises(ValueError, match=r"1 independent unit .*two are needed"):
        evaluate(labelled_queries(1), scorer, CHUNKER)
    with pytest.raises(ValueError, match="similarit"):
        evaluate(QUERIES, negative(), CHUNKER)
    assert (
        not evaluate(QUERIES, negative(), CHUNKER, ["0.2"], check_direction=False, n_splits=2)
        .alphas[0]
        .keeps_everything
    )


def splits(recall: Sequence[float], alpha: str = "0.1") -> AlphaSplits:
    names = Measures.__dataclass_fields__
    values = {name: np.array(recall, float) for name in names}
    return AlphaSplits(alpha, np.zeros(len(recall)), values)


def test_a_promise_is_held_up_to_three_standard_errors() -> None:
    spread = [0.80, 0.96] * 50  # mean .88, standard error .00804
    assert splits(spread).held("topic")
    assert not splits([r - 0.01 for r in spread]).held("topic")
    assert splits([0.9] * 4).held("query")
    assert not splits([0.899] * 4).held("snippet")
    assert not splits([math.nan] * 4).held("topic")
    assert splits([0.7] * 3, "1/3").held("topic")
    assert splits([0.7] * 3, "1/3").nominal == pytest.approx(2 / 3)
    counts = dict.fromkeys(Evaluation.__dataclass_fields__, 1) | {"unit": "topic", "auc": None}
    both = (splits([0.95] * 4), splits([0.5] * 4))
    result = Evaluation(**{**counts, "alphas": both})  # type: ignore[arg-type]
    assert not result.held
    assert [row["held"] for row in strict(result.to_dict())["alphas"]] == [True, False]
    assert str(result).count("NOT HELD") == 1


# --- a calibration on new topics --------------------------------------------------------------


def new_queries(found: Sequence[int] = (2, 3, 4)) -> ScoredQueries:
    queries = labelled_queries(20, prefix="new-", seed=9, found=found)
    return score_queries(queries, EmbeddingScorer(StubEncoder()), CHUNKER)


def test_new_topics_are_measured(calibration: Calibration) -> None:
    new = new_queries()
    rows = evaluate_calibration(new, calibration, ["0.01", "0.2"])
    everything = list(range(len(new.queries)))
    threshold = calibration.threshold("0.2").value
    assert rows[1].threshold == threshold
    for name, value in brute_force(new, threshold, everything).items():
        assert getattr(rows[1].measures, name) == pytest.approx(value, abs=1e-12)
    assert rows[1].n_units == 20
    assert rows[1].measures.recall_topic <= rows[1].upper <= 1
    assert rows[1].held
    assert math.isinf(rows[0].threshold)
    assert rows[0].held
    assert strict(rows[0].to_dict())["threshold"] is None
    assert strict(rows[1].to_dict())["measures"]["removed"] > 0
    again = evaluate_calibration(new, calibration, ["0.2"])
    assert again[0] == rows[1]


def test_a_promise_that_fails_on_new_topics_is_not_held(calibration: Calibration) -> None:
    (row,) = evaluate_calibration(new_queries(found=[0]), calibration, ["0.2"])
    assert row.upper < 0.8
    assert not row.held


def test_queries_and_topics_that_are_known_are_refused(calibration: Calibration) -> None:
    scorer = EmbeddingScorer(StubEncoder())
    new = labelled_queries(4, prefix="new-")
    for known, words in (
        (replace(QUERIES[0], topic="fresh"), "query 't0q0' is in the calibration"),
        (replace(new[0], query_id="other", topic="t7"), "topic 't7' is in the calibration"),
    ):
        with pytest.raises(ValueError, match=words):
            evaluate_calibration(score_queries([*new, known], scorer, CHUNKER), calibration)


def test_another_scorer_or_chunker_is_refused(calibration: Calibration) -> None:
    new = labelled_queries(4, prefix="new-")
    with pytest.raises(IdentityMismatch, match="max_chars"):
        evaluate_calibration(
            score_queries(new, EmbeddingScorer(StubEncoder()), Chunker(90, 30)), calibration
        )
    other = EmbeddingScorer(StubEncoder("another"))
    with pytest.raises(IdentityMismatch, match="another"):
        evaluate_calibration(score_queries(new, other, CHUNKER), calibration)


def test_the_snippet_unit_is_judged_by_coverage() -> None:
    """Four topics of thirty lose 50 snippets each: recall by topic is .87, coverage .12."""
    scorer = FunctionScorer(
        lambda query, texts: np.array([0.1 if "Easy" in t else 0.9 for t in texts], np.float32)
    )

    def queries(prefix: str, n: int, hard: int) -> list[LabelledQuery]:
        made = []
        for i in range(n):
            text = "Easy."
            if i < hard:
                text = " ".join(f"Hard sentence {k:02} is this." for k in range(50))
            document = Document(f"{prefix}{i}", text, ((0, len(text)),))
            made.append(LabelledQuery(f"{prefix}{i}", "q", (document,), topic=f"{prefix}{i}"))
        return made

    chunker = Chunker(30, 0)
    calibration = calibrate(queries("old", 30, 0), scorer, chunker)
    new = score_queries(queries("new", 30, 4), scorer, chunker)
    (topic,) = evaluate_calibration(new, calibration, ["0.2"], "topic")
    assert topic.held
    (snippet,) = evaluate_calibration(new, calibration, ["0.2"], "snippet")
    assert snippet.measures.coverage < 0.2
    assert not snippet.held
