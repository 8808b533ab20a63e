"""What a `Filter` may be built from: identities, infinite thresholds, files; and sharing it."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stub_encoder import StubEncoder, labelled_queries
from tamis import (
    Calibration,
    Chunker,
    EmbeddingScorer,
    Filter,
    IdentityMismatch,
    Threshold,
    calibrate,
)

CHUNKER = Chunker(80, 20)
QUERIES = labelled_queries()
SCORER = EmbeddingScorer(StubEncoder())


@pytest.fixture(scope="module")
def made() -> Calibration:
    return calibrate(QUERIES, SCORER, CHUNKER)


def few(n: int, **identity: Any) -> Calibration:
    ids = [f"t{i}" for i in range(n) for _ in range(2)]
    scores = [0.1 * i + other for i in range(n) for other in (0, 1)]
    return Calibration.fit(scores, [1, 0] * n, query=ids, topic=ids, **identity)


# --- identity ---------------------------------------------------------------------------------


def test_another_chunking_is_refused_with_both_values() -> None:
    threshold = few(10, chunker=Chunker(1000)).threshold("0.2")
    with pytest.raises(IdentityMismatch) as caught:
        Filter(threshold, chunker=Chunker(250, 50))
    words = str(caught.value)
    for part in ("max_chars", "1000", "250", "overlap", "100", "50"):
        assert part in words
    Filter(threshold, chunker=Chunker(1000))


def test_another_scorer_is_refused_with_both_values() -> None:
    threshold = few(10, scorer="store-v1").threshold("0.2")
    with pytest.raises(IdentityMismatch, match=r"scorer.*store-v1.*store-v2"):
        Filter(threshold, "store-v2")
    Filter(threshold, "store-v1")


def test_another_model_is_refused_naming_the_field(made: Calibration) -> None:
    threshold = made.threshold("0.2")
    other = EmbeddingScorer(StubEncoder("another"))
    with pytest.raises(IdentityMismatch, match=r"scorer\.encoder.*stub.*another"):
        Filter(threshold, other, CHUNKER)


def test_a_missing_declaration_is_refused() -> None:
    scorer = few(10, scorer="store-v1").threshold("0.2")
    with pytest.raises(IdentityMismatch, match=r"scorer.*store-v1.*none given.*scorer="):
        Filter(scorer)
    chunker = few(10, chunker="chunks-v1").threshold("0.2")
    with pytest.raises(IdentityMismatch, match=r"chunker.*chunks-v1.*none given.*chunker="):
        Filter(chunker)


def test_a_threshold_is_a_threshold() -> None:
    for wrong in (0.5, None, "0.5"):
        with pytest.raises(TypeError, match=r"Calibration\.threshold.*Threshold\.fixed"):
            Filter(wrong)  # type: ignore[arg-type]


# --- infinite thresholds ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "name", "needed"), [("topic", "topics", 9), ("query", "queries", 9)]
)
def test_an_infinite_threshold_says_how_many_are_needed(unit: Any, name: str, needed: int) -> None:
    threshold = few(8).threshold("0.1", unit=unit)
    assert math.isinf(threshold.value)
    with pytest.raises(ValueError, match=rf"at least {needed} {name}.*has 8.*allow_keep_all=True"):
        Filter(threshold)
    filter_ = Filter(threshold, allow_keep_all=True)
    assert filter_.filter_scores([0.1, 1e300]).kept == [0, 1]
    assert filter_.filter_scores([0.1]).stats.keeps_everything
    Filter(few(9).threshold("0.1", unit=unit))


def test_the_snippet_unit_and_a_fixed_infinite_threshold() -> None:
    with pytest.raises(ValueError, match=r"at least 9 snippets.*has 8"):
        Filter(few(8).threshold("0.1", unit="snippet"))
    with pytest.raises(ValueError, match="allow_keep_all=True"):
        Filter(Threshold.fixed(math.inf))
    assert Filter(Threshold.fixed(math.inf), allow_keep_all=True).filter_scores([9.0]).kept == [0]


@pytest.mark.parametrize("asked", [{"delta": "0.05"}, {"target": "total", "max_positives": 100}])
def test_an_infinite_threshold_of_another_promise_says_what_helps(asked: Any) -> None:
    threshold = few(20).threshold("0.1", **asked)
    assert threshold.keeps_everything
    with pytest.raises(ValueError, match="allow_keep_all=True") as caught:
        Filter(threshold)
    assert "None" not in str(caught.value)


# --- files ------------------------------------------------------------------------------------


def test_load_rebuilds_the_chunker(made: Calibration, tmp_path: Path) -> None:
    path = tmp_path / "cal.json"
    made.save(path)
    loaded = Filter.load(path, "0.2", scorer=SCORER)
    assert loaded.chunker == CHUNKER
    query = QUERIES[0]
    documents = [document.text for document in query.documents]
    expected = Filter(made.threshold("0.2"), SCORER, CHUNKER)(query.query, documents)
    result = loaded(query.query, documents)
    assert result.kept == expected.kept
    assert result.stats == expected.stats
    assert result.stats.calibration_id == made.id
    assert Filter.load(path, 0.2, "query", SCORER).threshold.unit == "query"


def test_load_says_what_it_cannot_rebuild(made: Calibration, tmp_path: Path) -> None:
    path = tmp_path / "cal.json"
    made.save(path)
    with pytest.raises(IdentityMismatch, match=r"stub.*pass scorer="):
        Filter.load(path, "0.2")
    few(10, scorer="store-v1", chunker="chunks-v1").save(path)
    with pytest.raises(IdentityMismatch, match=r"store-v1.*scorer="):
        Filter.load(path, "0.2")
    with pytest.raises(IdentityMismatch, match=r"chunks-v1.*chunker="):
        Filter.load(path, "0.2", scorer="store-v1")
    filter_ = Filter.load(path, "0.2", scorer="store-v1", chunker="chunks-v1")
    assert filter_.filter_scores([0.0]).kept == [0]
    few(10).save(path)
    assert Filter.load(path, "0.2").filter_scores([0.0, 99.0]).kept == [0]


def test_load_refuses_what_the_threshold_refuses(tmp_path: Path) -> None:
    path = tmp_path / "cal.json"
    few(3).save(path)
    with pytest.raises(ValueError, match="at least 9 topics"):
        Filter.load(path, "0.1")
    assert Filter.load(path, "0.1", allow_keep_all=True).threshold.keeps_everything
    with pytest.raises(ValueError, match="alpha"):
        Filter.load(path, "1.5")
    with pytest.raises(FileNotFoundError):
        Filter.load(tmp_path / "absent.json", "0.1")


# --- sharing ----------------------------------------------------------------------------------


def test_filters_and_results_survive_pickling(made: Calibration) -> None:
    filter_ = Filter(made.threshold("0.2"), SCORER, CHUNKER)
    copy = pickle.loads(pickle.dumps(filter_))
    query = QUERIES[1]
    documents = [document.text for document in query.documents]
    result, again = filter_(query.query, documents), copy(query.query, documents)
    assert again.kept == result.kept
    travelled = pickle.loads(pickle.dumps(result))
    assert travelled.kept == result.kept
    assert travelled.dropped == result.dropped
    assert travelled.passages() == result.passages()
    assert travelled.stats == result.stats


def test_threads_share_one_filter(made: Calibration) -> None:
    filter_ = Filter(made.threshold("0.2"), SCORER, CHUNKER)
    requests = [(q.query, [d.text for d in q.documents]) for q in QUERIES]
    expected = [filter_(*request).explain() for request in requests]

    def run(start: int) -> list[str]:
        order = [(start + i) % len(requests) for i in range(len(requests))]
        found = {i: filter_(*requests[i]).explain() for i in order}
        return [found[i] for i in range(len(requests))]

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(run, range(8)):
            assert found == expected
