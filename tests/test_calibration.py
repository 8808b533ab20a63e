"""`tamis.calibrate` and `calibrate_chunks`: from labelled queries to a calibration and its file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
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
    labelled_queries,
    negative,
)
from tamis import (
    Calibration,
    Chunker,
    ChunkLabels,
    Document,
    EmbeddingScorer,
    LabelledDataError,
    LabelledQuery,
    ScorerError,
    calibrate,
    read_scores,
)
from tamis.calibration import calibrate_chunks
from tamis.scored import score_queries

CHUNKER = Chunker(80, 20)
QUERIES = labelled_queries(12)


def made(queries: Sequence[LabelledQuery] = QUERIES, **options: Any) -> Calibration:
    scorer = options.pop("scorer", None) or EmbeddingScorer(StubEncoder())
    return calibrate(queries, scorer, CHUNKER, **options)


def query(name: str, *documents: Document, topic: str | None = None) -> LabelledQuery:
    return LabelledQuery(name, f"about {name}", documents, topic=topic)


def refuse_constants(name: str) -> None:
    raise AssertionError(f"{name} in strict JSON")


# --- encoding ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [StubEncoder, lambda: CountingEncoder(1000)])
def test_each_distinct_text_is_encoded_once(kind: Any) -> None:
    encoder = kind()
    doubled = [*QUERIES, *(replace(q, query_id=q.query_id + "again") for q in QUERIES)]
    made(doubled, scorer=EmbeddingScorer(encoder))
    texts = [d.text for q in QUERIES for d in q.documents]
    expected = {("passage", text) for text in CHUNKER.chunk_many(texts).texts()}
    expected |= {("query", q.query) for q in QUERIES}
    counts = Counter(encoder.seen)
    assert counts == dict.fromkeys(expected, 1)
    assert len(counts) > 200


def test_equal_snippets_of_different_documents_are_encoded_once() -> None:
    encoder = StubEncoder()
    queries = [query(f"q{i}", Document(f"d{i}", "The same words.", ((0, 9),))) for i in range(3)]
    made(queries, scorer=EmbeddingScorer(encoder))
    assert Counter(encoder.seen)["passage", "The same words."] == 1


def test_scores_are_those_of_the_scorer_at_use() -> None:
    scorer = EmbeddingScorer(StubEncoder())
    scored = score_queries(QUERIES, scorer, CHUNKER)
    for i, q in enumerate(QUERIES):
        texts = CHUNKER.chunk_many([d.text for d in q.documents]).texts()
        expected = scorer.score(q.query, texts).astype(np.float64)
        assert scored.scores[scored.query == i].tobytes() == expected.tobytes()


def test_progress_is_silent_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    made()
    assert capsys.readouterr() == ("", "")
    made(progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "encoding" in captured.err


# --- units ------------------------------------------------------------------------------------


def test_topics_are_the_units() -> None:
    calibration = made()
    assert calibration.query_ids == [q.query_id for q in QUERIES]
    assert calibration.topic_ids is not None
    assert set(calibration.topic_ids) == {q.topic for q in QUERIES}
    assert len(set(calibration.units)) == calibration.report().n_topics == 12
    assert "12 topics" in str(calibration.report())


def test_without_topics_a_shared_labelled_document_joins() -> None:
    shared = Document("shared", "A sentence about all of it.", ((0, 10),))
    plain = Document("plain", "Nothing to see here.")
    own = [Document(f"own{i}", f"Own words number {i}.", ((0, 9),)) for i in range(4)]
    queries = [
        query("a", shared, plain),
        query("b", shared, own[1]),
        query("c", own[1], plain),  # through b with a
        query("d", own[3], plain),  # `plain` holds no evidence and joins nobody
    ]
    calibration = made(queries, check_direction=False)
    a, b, c, d = calibration.units
    assert a == b == c != d
    assert calibration.topic_ids is None
    report = calibration.report()
    assert (report.n_queries, report.n_topics) == (4, 2)


def test_queries_declared_independent_are_the_units() -> None:
    calibration = made(topic="query")
    assert len(set(calibration.units)) == len(QUERIES)
    again = Calibration.from_json(calibration.to_json())
    assert again.threshold("0.1").value == calibration.threshold("0.1", unit="query").value
    assert json.loads(calibration.to_json())["declared_units"] == "query"


def test_topics_in_half_the_queries_are_refused() -> None:
    half = [replace(q, topic=None) if i % 2 else q for i, q in enumerate(QUERIES)]
    with pytest.raises(LabelledDataError, match="give one to all queries or to none"):
        made(half)


# --- what cannot be calibrated on -------------------------------------------------------------


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        ([], "no labelled queries"),
        ([query("a")], "no query has a document"),
        ([query("a", Document("d", " \n")), query("b", Document("e", ""))], "blank"),
        ([query("a", Document("d", "Nothing is labelled."))], "relevant|label"),
    ],
    ids=["no queries", "no documents", "blank", "nothing labelled"],
)
def test_too_little_is_a_value_error_naming_what(queries: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        made(queries)


def test_a_query_without_documents_beside_others_is_taken() -> None:
    calibration = made([*QUERIES, query("empty", topic="t-empty")])
    assert calibration.threshold("0.1").value == made().threshold("0.1").value


def test_a_span_over_blank_text_of_a_blank_document() -> None:
    blank = query("blank", Document("blank", "   ", ((0, 2),)), topic="t")
    with pytest.raises(ValueError, match="blank"):
        made([*QUERIES, blank])


@pytest.mark.parametrize("span", [(-1, 2), (0, 99), (3, 3), (4, 2)])
def test_a_span_out_of_bounds_names_query_and_document(span: tuple[int, int]) -> None:
    with pytest.raises(LabelledDataError, match="document 'd'"):
        Document("d", "Some text.", (span,))


def test_scores_that_are_similarities_are_refused() -> None:
    with pytest.raises(ValueError, match=r"similarit.*1"):
        made(scorer=negative())
    calibration = made(scorer=negative(), check_direction=False)
    assert calibration.auc is not None
    assert calibration.auc < 0.5
    assert any("similarit" in warning for warning in calibration.report().warnings)
    assert "similarit" in str(calibration.report())
    assert json.loads(calibration.to_json())["direction"]["checked"] is False


def test_a_text_that_is_too_long_names_its_document() -> None:
    encoder = CountingEncoder(60, "error")
    queries = [*QUERIES, query("q", Document("endless", "a " * 40 + "b " * 40), topic="t")]
    with pytest.raises(ValueError, match=r"'endless'.*has \d+ tokens, the model reads 60"):
        calibrate(queries, EmbeddingScorer(encoder), Chunker(400, 0))
    short = CountingEncoder(8)
    scored = score_queries(queries, EmbeddingScorer(short), Chunker(400, 0))
    distinct = set(
        Chunker(400, 0).chunk_many([d.text for q in queries for d in q.documents]).texts()
    )
    assert scored.n_distinct == len(distinct)
    assert scored.n_truncated == sum(len(text.split()) > 8 for text in distinct) > 0


def test_a_query_that_is_too_long_is_named() -> None:
    encoder = CountingEncoder(60, "error")
    long = LabelledQuery("endless", "why " * 61, QUERIES[0].documents, topic="t0")
    with pytest.raises(ValueError, match="query 'endless'"):
        made([*QUERIES, long], scorer=EmbeddingScorer(encoder))


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_a_score_that_fails_is_an_error_naming_query_and_document(value: float) -> None:
    document = Document("odd", "An unspeakable word stands here.")
    queries = [*QUERIES, query("q", document, topic="t")]
    with pytest.raises(ScorerError, match=r"query 'q', document 'odd'"):
        made(queries, scorer=EmbeddingScorer(BrokenEncoder("unspeakable", value)))


@pytest.mark.parametrize("wrong", ["dtype", "rows"])
def test_an_encoder_that_breaks_its_protocol_is_a_scorer_error(wrong: str) -> None:
    class Wrong(StubEncoder):
        def encode(self, texts: Any, kind: Any = "passage") -> Any:
            vectors = super().encode(texts, kind)
            return vectors.astype(np.float64) if wrong == "dtype" else vectors[1:]

    with pytest.raises(ScorerError, match="the encoder must give"):
        made(scorer=EmbeddingScorer(Wrong()))


@pytest.mark.parametrize("shape", [lambda n: n - 1, lambda n: (n, 1)])
def test_a_scorer_that_gives_another_shape_is_an_error(shape: Any) -> None:
    scorer = FunctionScorer(lambda query, texts: np.zeros(shape(len(texts)), np.float32))
    with pytest.raises(ScorerError, match="shape"):
        made(scorer=scorer)


# --- evidence ---------------------------------------------------------------------------------


def test_relevant_snippets_are_those_that_hold_half_of_the_shorter() -> None:
    scored = score_queries(QUERIES, EmbeddingScorer(StubEncoder()), CHUNKER)
    n_relevant = 0
    for row in range(len(scored.scores)):
        document = QUERIES[scored.query[row]].documents[scored.document[row]]
        start, end = int(scored.start[row]), int(scored.end[row])

        def ink(a: int, b: int, text: str = document.text) -> int:
            return sum(not c.isspace() for c in text[a:b]) if a < b else 0

        holds = any(
            2 * ink(max(a, start), min(b, end)) >= min(ink(a, b), ink(start, end))
            for a, b in document.relevant_spans
        )
        assert bool(scored.relevant[row]) == holds
        assert bool(scored.in_labelled[row]) == bool(document.relevant_spans)
        n_relevant += holds
    assert n_relevant >= len(QUERIES)


def test_the_evidence_of_a_query_has_its_best_snippets_score() -> None:
    scored = score_queries(QUERIES, EmbeddingScorer(StubEncoder()), CHUNKER)
    assert scored.evidence_query.tolist() == list(range(len(QUERIES)))  # one span in each
    for i in range(len(QUERIES)):
        rows = (scored.query == i) & scored.relevant
        assert scored.evidence_score[i] == scored.scores[rows].min()


def test_unretrieved_and_lost_spans_are_reported() -> None:
    counted = [replace(q, n_unretrieved=i % 2) for i, q in enumerate(QUERIES)]
    assert made(counted).report().evidence == (24, 0, 12)
    assert made().report().evidence == (24, 0, None)
    assert made([*counted[1:], QUERIES[0]]).report().evidence == (24, 0, None)
    blank = Document("gap", "Words here.     And there.", ((0, 5), (12, 15)))
    with_lost = [*counted, replace(counted[0], query_id="q", documents=(blank,), n_unretrieved=0)]
    assert made(with_lost).report().evidence == (26, 1, 12)


# --- the file ---------------------------------------------------------------------------------


def test_the_file_is_complete_strict_json_and_comes_back_equal(tmp_path: Path) -> None:
    calibration = made()
    path = tmp_path / "cal.json"
    calibration.save(path)
    text = path.read_text("utf-8")
    fields = json.loads(text, parse_constant=refuse_constants)
    assert fields["scorer"] == {"scorer": "embedding", "encoder": "stub", "dim": DIM}
    assert fields["chunker"] == CHUNKER.identity
    assert fields["labels"]["labels"] == "spans"
    assert {"python", "numpy", "machine", "system"} <= fields["environment"].keys()
    assert fields["declared_units"] == "topic"
    n = len(fields["positives"]["score"])
    assert n == calibration.n_positives > 0
    for name in ("query", "group", "rank", "cumulative_size", "relative"):
        assert len(fields["positives"][name]) == n, name
    assert set(fields["positives"]["group"]) == {"even"}
    for name in ("id", "topic", "n_candidates", "best_score", "mean_score", "sd_score"):
        assert len(fields["queries"][name]) == len(QUERIES), name
    assert all(fields["summary"][name]["values"] for name in ("score", "size", "per_query"))
    assert fields["evidence"] is not None
    loaded = Calibration.load(path)
    assert loaded == calibration
    assert loaded.id == calibration.id
    assert loaded.to_json() == text
    assert loaded.scorer == fields["scorer"]
    assert loaded.chunker == CHUNKER.identity
    assert str(loaded.report()) == str(calibration.report())
    assert QUERIES[0].documents[0].text[:20] not in text


def test_a_rank_is_the_place_among_the_querys_candidates() -> None:
    scored = score_queries(QUERIES, EmbeddingScorer(StubEncoder()), CHUNKER)
    fields = json.loads(made().to_json())
    for row in range(len(fields["positives"]["score"])):
        score = fields["positives"]["score"][row]
        of_query = scored.scores[scored.query == fields["positives"]["query"][row]]
        below = int((of_query < score).sum())
        assert below < fields["positives"]["rank"][row] <= int((of_query <= score).sum())


def test_the_slack_is_the_encoders_tolerance() -> None:
    calibration = made(scorer=EmbeddingScorer(StubEncoder(tolerance=1e-6)))
    assert calibration.slack == calibration.threshold("0.2").slack == 1e-6


# --- chunk labels -----------------------------------------------------------------------------


def test_chunk_labels_with_scores(tmp_path: Path) -> None:
    rows = [
        f"q{i},{0.1 * i + 0.4 * other},{1 - other},t{i // 2},d{i}"
        for i in range(20)
        for other in (0, 1)
    ]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["query_id,score,relevant,topic,document", *rows]), "utf-8")
    labels = read_scores(path)
    calibration = calibrate_chunks(labels, scorer_identity="store", chunker_identity="chunks")
    expected = Calibration.fit(
        labels.scores or [], labels.relevant, query=labels.query, topic=labels.topic
    )
    assert calibration.threshold("0.2").value == expected.threshold("0.2").value
    assert (calibration.scorer, calibration.chunker) == ("store", "chunks")
    assert calibration.labels == {"labels": "chunks"}
    assert calibration.report().n_topics == 10
    assert len(set(calibrate_chunks(labels, topic="query").units)) == 20
    similarities = ChunkLabels(
        labels.query, labels.relevant, [-s for s in labels.scores or []], topic=labels.topic
    )
    with pytest.raises(ValueError, match="similarit"):
        calibrate_chunks(similarities)
    assert calibrate_chunks(similarities, check_direction=False).auc == 0


def test_chunk_labels_with_texts_are_scored() -> None:
    queries, texts, relevant, topics = [], [], [], []
    for q in QUERIES:
        for d in q.documents:
            queries.append(q.query)
            texts.append(
                d.text[:100] if not d.relevant_spans else d.text[slice(*d.relevant_spans[0])]
            )
            relevant.append(bool(d.relevant_spans))
            topics.append(q.topic or "")
    labels = ChunkLabels(queries, relevant, query_text=queries, text=texts, topic=topics)
    scorer = EmbeddingScorer(StubEncoder(tolerance=1e-6))
    calibration = calibrate_chunks(labels, scorer, chunker_identity="mine")
    assert calibration.scorer == scorer.identity
    assert calibration.slack == 1e-6
    expected = [
        scorer.score(q, [t])[0] for q, t, r in zip(queries, texts, relevant, strict=True) if r
    ]
    assert sorted(json.loads(calibration.to_json())["positives"]["score"]) == sorted(
        map(float, expected)
    )


def test_a_chunk_whose_score_fails_is_a_scorer_error_naming_its_query() -> None:
    labels = ChunkLabels(["q", "p"], [True, True], query_text=["q", "p"], text=["fine", "broken"])
    with pytest.raises(ScorerError, match="query 'p'"):
        calibrate_chunks(labels, EmbeddingScorer(BrokenEncoder("broken", float("nan"))))


def test_chunk_labels_without_scores_or_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="texts of query and chunk"):
        calibrate_chunks(ChunkLabels(["q"], [True]), EmbeddingScorer(StubEncoder()))
