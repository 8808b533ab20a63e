"""`tamis.Filter`: what is kept, what is refused, and what happens when scoring fails."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stub_encoder import (
    DIM,
    BrokenEncoder,
    CountingEncoder,
    FunctionScorer,
    StubEncoder,
)
from tamis import (
    Calibration,
    Chunker,
    EmbeddingScorer,
    Filter,
    Threshold,
    cosine_scores,
)
from tamis.filter import FilterResult

CHUNKER = Chunker(60, 20)
DOCUMENTS = [
    "The sieve keeps the grain. Dust falls through the mesh. A miller turns the handle.",
    "Rain fell on the harbour. Ships waited for the tide — naïve façade 🦊🦊. The sieve was wet.",
    "  \n ",
]
QUERY = "what does the sieve keep"


def calibration(scorer: Any = "S", chunker: Any = "C", n: int = 12, **options: Any) -> Calibration:
    """Scores .1, .2, … of `n` topics with one relevant and one other snippet each."""
    ids = [f"t{i}" for i in range(n) for _ in range(2)]
    return Calibration.fit(
        [0.1 * (i + 1) + other for i in range(n) for other in (0, 1)],
        [1, 0] * n,
        query=ids,
        topic=ids,
        scorer=scorer,
        chunker=chunker,
        **options,
    )


def text_filter(value: float = 0.7, scorer: Any = None) -> Filter:
    return Filter(Threshold.fixed(value), scorer or EmbeddingScorer(StubEncoder()), CHUNKER)


def fixed(scores: Callable[[int], Any]) -> FunctionScorer:
    """A scorer that gives what a function of the number of snippets says."""
    return FunctionScorer(lambda query, texts: scores(len(texts)))


# --- scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [list, tuple, np.float64, np.float32, np.float16])
def test_scores_up_to_the_threshold_are_kept_ties_included(dtype: Any) -> None:
    values = [0.5, 0.75, 0.25, 0.5, 0.50048828125, 2.0]
    given = np.array(values, dtype) if issubclass(dtype, np.generic) else dtype(values)
    result = Filter(Threshold.fixed(0.5)).filter_scores(given)
    assert result.kept_indices.tolist() == [0, 2, 3]
    assert result.kept == [0, 2, 3]
    assert result.dropped == [1, 4, 5]
    assert result.scores.tolist() == values
    assert len(result) == 6
    assert not result.degraded


def test_the_slack_keeps_scores_a_little_above() -> None:
    made = calibration(scorer=None, chunker=None, slack=0.01)
    threshold = made.threshold("0.25")
    filter_ = Filter(threshold)
    at = threshold.value + threshold.slack
    given = np.array([at, np.nextafter(at, 9), threshold.value])
    assert filter_.filter_scores(given).kept == [0, 2]


def test_items_are_given_back_as_given() -> None:
    items = [object(), {"a": 1}, None, "text", Path("x")]
    result = Filter(Threshold.fixed(0.5)).filter_scores([0.9, 0.1, 0.2, 0.9, 0.1], items)
    assert [id(i) for i in result.kept] == [id(items[i]) for i in (1, 2, 4)]
    assert [id(i) for i in result.dropped] == [id(items[i]) for i in (0, 3)]
    assert result.items is items


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", [list, np.array])
def test_a_score_that_is_not_finite_is_named(bad: float, kind: Any) -> None:
    with pytest.raises(ValueError, match=r"scores\[2\]"):
        Filter(Threshold.fixed(0.5)).filter_scores(kind([0.1, 0.2, bad, bad]))


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ("abc", "scores must be a sequence of numbers"),
        (b"abc", "scores must be a sequence of numbers"),
        ([0.1, "a"], r"scores\[1\] must be a number, got str"),
        ([None], r"scores\[0\] must be a number, got NoneType"),
        (np.array([1, 2]), r"int64.*astype"),
        (np.array([[0.1]]), "one-dimensional"),
    ],
)
def test_what_is_no_list_of_scores_is_a_type_error(scores: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Filter(Threshold.fixed(0.5)).filter_scores(scores)


def test_scores_of_other_number_types_give_statistics() -> None:
    from fractions import Fraction

    kinds: list[list[Any]] = [[0, 1], [True, False], [np.float32(0.25), 1], [Fraction(1, 4), 0.5]]
    for scores in kinds:
        stats = Filter(Threshold.fixed(0.5)).filter_scores(scores).stats
        assert stats.best_score == min(float(score) for score in scores)


def test_items_and_scores_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="items has 1 entries, there are 2 scores"):
        Filter(Threshold.fixed(0.5)).filter_scores([0.1, 0.2], ["a"])


def test_nothing_in_nothing_out() -> None:
    result = Filter(Threshold.fixed(0.5)).filter_scores([])
    assert (result.kept, result.dropped, len(result)) == ([], [], 0)
    assert result.stats.best_score is None
    assert result.stats.score_quantiles is None
    assert result.explain().count("\n") == 0
    assert result.passages() == []


# --- vectors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_vectors_are_scored_and_kept_as_by_cosine_scores(dtype: Any) -> None:
    random = np.random.default_rng(0)
    query = random.standard_normal(DIM).astype(dtype)
    rows = random.standard_normal((200, DIM)).astype(dtype)
    expected = cosine_scores(query, rows)
    value = float(np.median(expected))
    result = Filter(Threshold.fixed(value)).filter_vectors(query, rows, items=list("ab" * 100))
    assert result.scores.tobytes() == expected.tobytes()
    assert result.kept_indices.tolist() == np.flatnonzero(expected <= value).tolist()
    assert set(result.kept) <= {"a", "b"}


def test_vectors_that_have_no_cosine_are_refused_by_row() -> None:
    filter_ = Filter(Threshold.fixed(0.5))
    ones = np.ones((3, 4), np.float32)
    for bad in (0, math.nan, math.inf):
        rows = ones.copy()
        rows[1] = bad
        with pytest.raises(ValueError, match=r"vector 1|\[1"):
            filter_.filter_vectors(ones[0], rows)
    with pytest.raises(ValueError, match="query vector has 4 components, the snippet rows have 3"):
        filter_.filter_vectors(ones[0], ones[:, :3].copy())
    with pytest.raises(TypeError, match="float64"):
        filter_.filter_vectors(ones[0].astype(float), ones)
    assert filter_.filter_vectors(ones[0], ones[:0]).kept == []


# --- texts ------------------------------------------------------------------------------------


def test_texts_are_cut_scored_and_parted() -> None:
    scorer = EmbeddingScorer(StubEncoder())
    snippets = CHUNKER.chunk_many(DOCUMENTS)
    value = float(np.median(scorer.score(QUERY, snippets.texts())))
    result = text_filter(value, scorer)(QUERY, DOCUMENTS)
    assert len(result) == len(snippets) > 4
    assert result.scores.tobytes() == scorer.score(QUERY, snippets.texts()).tobytes()
    kept = {i for i, score in enumerate(result.scores) if score <= value}
    assert 0 < len(kept) < len(snippets)
    assert set(result.kept_indices.tolist()) == kept
    for part, indices in (
        (result.kept, sorted(kept)),
        (result.dropped, sorted(set(range(len(snippets))) - kept)),
    ):
        assert [(s.document, s.start, s.end, s.text) for s in part] == [
            (snippets[i].document, snippets[i].start, snippets[i].end, snippets[i].text)
            for i in indices
        ]
        assert [s.score for s in part] == [float(result.scores[i]) for i in indices]
        assert all(DOCUMENTS[s.document][s.start : s.end] == s.text for s in part)


def test_passages_are_slices_that_never_repeat_text() -> None:
    chunker = Chunker(50, 40)
    documents = [" ".join(f"Word{i} is{i} here." for i in range(40)), DOCUMENTS[1] * 3]
    random = np.random.default_rng(1)
    for share in (0.2, 0.5, 1.0):
        filter_ = Filter(Threshold.fixed(share), fixed(random.random), chunker)
        result = filter_(QUERY, documents)
        passages = result.passages()
        spans = [(p.document, p.start, p.end) for p in passages]
        assert spans == sorted(spans)
        for passage in passages:
            assert passage.text == documents[passage.document][passage.start : passage.end]
        for (d1, _, end), (d2, start, _) in itertools.pairwise(spans):
            assert d1 != d2 or end < start
        covered = {(s.document, at) for s in result.kept for at in range(s.start, s.end)}
        assert {(d, at) for d, a, b in spans for at in range(a, b)} == covered
        # The same from snippets of the caller, where the documents are not at hand.
        own = Filter(Threshold.fixed(share)).filter_scores(result.scores, list(result.items))
        assert own.passages() == passages
    assert len(passages) == 2  # everything kept, a document is one piece


def test_passages_need_snippets() -> None:
    result = Filter(Threshold.fixed(0.5)).filter_scores([0.1], ["text"])
    with pytest.raises(TypeError, match="items are str"):
        result.passages()


def test_explain_says_the_rule_and_every_decision() -> None:
    result = text_filter(0.75)(QUERY, DOCUMENTS)
    head, *rows = result.explain().splitlines()
    assert head == "keep scores up to 0.75 (fixed, no promise)"
    assert len(rows) == len(result)
    for row, score, snippet in zip(rows, result.scores, result.items, strict=True):
        assert row.split()[:2] == ["keep" if score <= 0.75 else "drop", f"{score:.4f}"]
        assert f"document {snippet.document} [{snippet.start}:{snippet.end}]" in row
    promised = Filter(calibration().threshold("0.2"), "S", "C").filter_scores([0.1])
    assert promised.explain().startswith("keep scores up to ")
    assert "alpha 0.2, unit topic" in promised.explain()


def test_stats_tell_what_happened() -> None:
    made = calibration()
    threshold = made.threshold("0.2", unit="query")
    stats = Filter(threshold, "S", "C").filter_scores([0.5, 0.1, 3.0, 0.2, 9.0]).stats
    assert (stats.n_candidates, stats.n_kept) == (5, 3)
    assert stats.best_score == 0.1
    assert stats.score_quantiles == (0.1, 0.2, 0.5, 3.0, 9.0)
    assert (stats.truncated, stats.degraded, stats.reasons) == (0, 0, ())
    assert not stats.keeps_everything
    assert (stats.calibration_id, stats.alpha, stats.unit) == (made.id, "0.2", "query")


def test_truncated_snippets_are_counted() -> None:
    long = [s.text for s in CHUNKER.chunk_many(DOCUMENTS) if len(s.text.split()) > 5]
    scorer = EmbeddingScorer(CountingEncoder(5))
    result = Filter(Threshold.fixed(2), scorer, CHUNKER)(QUERY, DOCUMENTS)
    assert result.stats.truncated == len(long) > 0
    assert not result.degraded


def test_a_snippet_that_is_too_long_is_an_error_naming_its_document() -> None:
    scorer = EmbeddingScorer(CountingEncoder(7, "error"))
    documents = ["Short one.", "", "a b c d e f g h i"]
    with pytest.raises(ValueError, match=r"document 2: .* has 9 tokens, the model reads 7"):
        Filter(Threshold.fixed(2), scorer, CHUNKER)(QUERY, documents)


def test_a_query_that_is_too_long_is_not_blamed_on_a_document() -> None:
    scorer = EmbeddingScorer(CountingEncoder(7, "error"))
    with pytest.raises(ValueError, match="query") as caught:
        Filter(Threshold.fixed(2), scorer, CHUNKER)("q " * 8, ["Short one."])
    assert "document" not in str(caught.value)


@pytest.mark.parametrize("documents", [[], ["", "  \n", "\u2028"], ()])
def test_blank_documents_give_an_empty_result(documents: Any) -> None:
    encoder = StubEncoder()
    result = text_filter(0.5, EmbeddingScorer(encoder))(QUERY, documents)
    assert (result.kept, result.dropped, result.passages()) == ([], [], [])
    assert not result.degraded
    assert result.stats.n_candidates == 0
    assert encoder.seen == []


@pytest.mark.parametrize("documents", ["one text", b"bytes", None, 3, {"a": "b"}, {"a"}])
def test_documents_of_another_type_are_refused(documents: Any) -> None:
    with pytest.raises(TypeError, match="documents must be a sequence of str, got"):
        text_filter()(QUERY, documents)


@pytest.mark.parametrize("bad", [None, b"bytes", 3, ["text"]])
def test_a_document_of_another_type_is_named(bad: Any) -> None:
    with pytest.raises(TypeError, match=rf"\[1\] must be a str, got {type(bad).__name__}"):
        text_filter()(QUERY, ["text", bad])
    with pytest.raises(TypeError, match=f"query must be a str, got {type(bad).__name__}"):
        text_filter()(bad, ["text"])


def test_a_lone_surrogate_is_an_error_and_no_failed_scorer() -> None:
    with pytest.raises(ValueError, match=r"\[1\] holds a lone surrogate"):
        text_filter()(QUERY, ["text", "a \ud800 b"])
    with pytest.raises(ValueError, match=r"query.*surrogate"):
        text_filter()("a \ud800 b", ["text"])


def test_texts_need_a_scorer_and_a_chunker() -> None:
    for scorer in (None, "declared"):
        with pytest.raises(TypeError, match="scorer with a score method"):
            Filter(Threshold.fixed(1), scorer)(QUERY, DOCUMENTS)
    with pytest.raises(TypeError, match="needs a Chunker"):
        Filter(Threshold.fixed(1), EmbeddingScorer(StubEncoder()), "declared")(QUERY, DOCUMENTS)


# --- when scoring fails -----------------------------------------------------------------------


def raises(n: int) -> Any:
    raise ConnectionError("no route to the model")


FAILURES: dict[str, tuple[Callable[[int], Any], str]] = {
    "raises": (raises, "ConnectionError: no route to the model"),
    "too few": (lambda n: np.zeros(n - 1, np.float32), "shape"),
    "two axes": (lambda n: np.zeros((n, 1), np.float32), "shape"),
    "text": (lambda n: np.array(["0"] * n), "<U1"),
    "objects": (lambda n: np.array([None] * n), "object"),
    "ragged": (lambda n: [[0.0], *[0.0] * (n - 1)], "ValueError"),
    "nothing": (lambda n: None, "object"),
    "complex": (lambda n: np.zeros(n, complex), "complex"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_scorer_that_fails_loses_nothing(name: str) -> None:
    scores, reason = FAILURES[name]
    result = text_filter(-1.0, fixed(scores))(QUERY, DOCUMENTS)
    check_all_failed(result, reason)


def check_all_failed(result: FilterResult, reason: str) -> None:
    n = len(CHUNKER.chunk_many(DOCUMENTS))
    assert result.degraded
    assert len(result.kept) == len(result) == n
    assert result.dropped == []
    assert np.isnan(result.scores).all()
    assert result.stats.degraded == n
    assert len(result.stats.reasons) == 1
    assert reason in result.stats.reasons[0]
    assert result.stats.best_score is None
    assert all(line.split()[1] == "failed" for line in result.explain().splitlines()[1:])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_bad_score_keeps_that_snippet(bad: float) -> None:
    def scores(n: int) -> Any:
        given = np.full(n, 1.5, np.float32)
        given[2] = bad
        return given

    result = text_filter(1.0, fixed(scores))(QUERY, DOCUMENTS)
    assert result.kept_indices.tolist() == [2]
    assert (result.degraded, result.stats.degraded) == (True, 1)
    assert result.stats.reasons == ("1 scores are not finite",)
    assert math.isnan(result.kept[0].score)
    assert result.stats.score_quantiles == (1.5,) * 5


@pytest.mark.parametrize("value", [0.0, math.nan, math.inf])
def test_an_encoder_without_a_vector_for_one_snippet(value: float) -> None:
    result = text_filter(-1.0, EmbeddingScorer(BrokenEncoder("harbour", value)))(QUERY, DOCUMENTS)
    assert result.degraded
    assert result.kept
    assert all("harbour" in s.text for s in result.kept)
    assert not any("harbour" in s.text for s in result.dropped)
    assert result.stats.degraded == len(result.kept) < len(result)


@pytest.mark.parametrize("value", [0.0, math.nan])
def test_an_encoder_without_a_vector_for_the_query(value: float) -> None:
    scorer = EmbeddingScorer(BrokenEncoder("sieve", value, "query"))
    result = text_filter(-1.0, scorer)(QUERY, DOCUMENTS)
    check_all_failed(result, "no usable vector for the query")


@pytest.mark.parametrize("wrong", ["dtype", "rows", "list"])
def test_an_encoder_that_breaks_its_protocol(wrong: str) -> None:
    class Wrong(StubEncoder):
        def encode(self, texts: Any, kind: Any = "passage") -> Any:
            vectors = super().encode(texts, kind)
            if wrong == "list":
                return list(vectors)
            return vectors.astype(float) if wrong == "dtype" else vectors[1:]

    result = text_filter(-1.0, EmbeddingScorer(Wrong()))(QUERY, DOCUMENTS)
    check_all_failed(result, "the encoder must give")


def test_a_blank_query_is_an_error_and_drops_nothing() -> None:
    for blank in ("", " \n"):
        with pytest.raises(ValueError, match="query is blank"):
            Filter(Threshold.fixed(0.5), EmbeddingScorer(StubEncoder()))(blank, ["A text."])
