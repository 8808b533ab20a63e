"""The example service, asked over real loopback HTTP."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import service
from stub_encoder import DIM, FunctionScorer, StubEncoder
from tamis import (
    Calibration,
    Chunker,
    EmbeddingScorer,
    Filter,
    Threshold,
    calibrate,
    cosine_scores,
)
from tamis.labelled import Document, LabelledQuery
from tamis.models import installed_models

httpx = pytest.importorskip("httpx", reason="httpx is not installed")
pytest.importorskip("fastapi", reason="fastapi is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

N = 25
MADE_BY = {"scorer": "our-embedder 2", "chunker": "our-chunks 5"}
RANDOM = np.random.default_rng(0)
QUERIES = RANDOM.normal(size=(40, DIM)).astype(np.float32)
RELEVANT = RANDOM.random((40, N)) < 0.2
HITS = (RANDOM.normal(size=(40, N, DIM)) + RELEVANT[:, :, None] * QUERIES[:, None]).astype("f4")


def calibration() -> Calibration:
    scores = np.concatenate([cosine_scores(q, m) for q, m in zip(QUERIES, HITS, strict=True)])
    ids = np.repeat(np.arange(40), N)
    return Calibration.fit(scores, RELEVANT.ravel(), query=ids, topic="query", **MADE_BY)


@pytest.fixture(scope="module")
def vectors_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("service") / "vectors.json"
    calibration().save(path)
    return path


@pytest.fixture(scope="module")
def address(vectors_file: Path) -> Iterator[str]:
    """The service as its documentation starts it, over a calibration of declared vectors."""
    with service.process(
        TAMIS_CALIBRATION=str(vectors_file),
        TAMIS_ALPHA="0.2",
        TAMIS_SCORER=MADE_BY["scorer"],
        TAMIS_CHUNKER=MADE_BY["chunker"],
    ) as address:
        yield address


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Any]:
    with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
        yield client


def ask(client: Any, path: str, body: Any) -> tuple[int, Any]:
    """Status and answer; NaN and infinity are sent as Python writes them."""
    content = body if isinstance(body, (str, bytes)) else json.dumps(body)
    response = client.post(path, content=content, headers={"content-type": "application/json"})
    return response.status_code, response.json()


def sums(client: Any) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    assert all(re.fullmatch(r'[a-z_]+(\{stage="[a-z]+"\})? [\d.e+-]+', line) for line in lines)
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def encoded(array: Any) -> str:
    return base64.b64encode(np.asarray(array, "<f4").tobytes()).decode()


# --- vectors ----------------------------------------------------------------------------------


def test_vectors_are_filtered_as_in_this_process(client: Any, vectors_file: Path) -> None:
    sieve = Filter.load(vectors_file, "0.2", **MADE_BY)
    items = [f"chunk {i}" for i in range(N)]
    for query, rows in zip(QUERIES[:5], HITS[:5], strict=True):
        expected = sieve.filter_vectors(query, rows, items)
        asked: list[dict[str, Any]] = [
            {"query_vector": query.tolist(), "vectors": rows.tolist()},
            {"query_vector": encoded(query), "vectors": encoded(rows)},
            {"query_vector": query.tolist(), "vectors": encoded(rows)},
        ]
        for body in asked:
            status, answer = ask(client, "/filter/vectors", body | {"items": items})
            assert status == 200
            assert answer["kept"] == expected.kept_indices.tolist()
            assert answer["items"] == expected.kept
            assert answer["stats"]["best_score"] == expected.stats.best_score
            assert answer["stats"]["calibration_id"] == expected.stats.calibration_id
            assert 0 < answer["stats"]["score_ns"] <= answer["stats"]["total_ns"]
        assert ask(client, "/filter/vectors", asked[1])[1]["items"] is None
    assert 0 < len(expected.kept) < N


def test_no_candidates_give_an_empty_answer(client: Any) -> None:
    for nothing in ([], ""):
        body = {"query_vector": QUERIES[0].tolist(), "vectors": nothing, "items": []}
        status, answer = ask(client, "/filter/vectors", body)
        assert (status, answer["kept"], answer["items"]) == (200, [], [])


REFUSED: dict[str, tuple[Any, str]] = {
    "zero row": ({"query_vector": [1, 0], "vectors": [[1, 1], [0, 0]]}, "vector 1 is a zero"),
    "NaN": (
        {"query_vector": [1, 0], "vectors": [[1, 1], [1, float("nan")]]},
        "1 is not finite",
    ),
    "infinity": ({"query_vector": [1, float("inf")], "vectors": [[1, 1]]}, "component 1 is inf"),
    "beyond float32": ({"query_vector": [1, 0], "vectors": [[1e39, 1]]}, "component 0 is inf"),
    "dimensions": ({"query_vector": [1, 0], "vectors": [[1, 2, 3]]}, "2 components, .* have 3"),
    "ragged": ({"query_vector": [1, 0], "vectors": [[1, 2], [3]]}, "vectors: .*inhomogeneous"),
    "no vector": ({"query_vector": [], "vectors": []}, "at least 1 item"),
    "misfit": ({"query_vector": [1, 0], "vectors": encoded([1, 2, 3])}, "3 numbers.*no multiple"),
    "no base64": ({"query_vector": [1, 0], "vectors": "***"}, "vectors: .*base64"),
    "part of a float": ({"query_vector": "AAA=", "vectors": []}, "query_vector: .*multiple"),
    "items": ({"query_vector": [1], "vectors": [[1], [2]], "items": ["a"]}, "items has 1 entries"),
    "no query": ({"vectors": [[1]]}, "Field required"),
    "text": ({"query_vector": [1], "vectors": [["a"]]}, "valid number"),
    "item NaN": ({"query_vector": [1], "vectors": [[1]], "items": [float("nan")]}, "valid string"),
    "surrogate": ('{"query_vector": "\\ud800", "vectors": []}', "valid string"),
    "item": ('{"query_vector": [1], "vectors": [[1]], "items": ["\\ud800"]}', "surrogate"),
    "no JSON": ("{", "JSON"),
    "no text": (b"\xff\xfe", "JSON|parsing"),
    "nothing": ("", "required"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_filtered_is_said_in_words(client: Any, name: str) -> None:
    body, words = REFUSED[name]
    before = sums(client).get("tamis_requests_total", 0)
    status, answer = ask(client, "/filter/vectors", body)
    assert status in (400, 422)
    assert re.search(words, json.dumps(answer["detail"])), answer
    assert sums(client).get("tamis_requests_total", 0) == before


def test_a_calibration_of_declared_vectors_filters_no_texts(client: Any) -> None:
    status, answer = ask(client, "/filter/texts", {"query": "a", "documents": ["b"]})
    assert status == 422
    assert "needs a Chunker" in answer["detail"]


def test_the_callback_sums_over_requests_of_several_clients(address: str) -> None:
    body = {"query_vector": encoded(QUERIES[0]), "vectors": encoded(HITS[0])}

    def run(_: int) -> int:
        with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
            answers = [ask(client, "/filter/vectors", body) for _ in range(25)]
        assert {status for status, _ in answers} == {200}
        return sum(len(answer["kept"]) for _, answer in answers)

    with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
        ask(client, "/filter/vectors", body)
        before = sums(client)
        with ThreadPoolExecutor(4) as pool:
            n_kept = sum(pool.map(run, range(4)))
        after = sums(client)
    added = {name: after[name] - before[name] for name in after}
    assert added["tamis_requests_total"] == 100
    assert added["tamis_candidates_total"] == 100 * N
    assert added["tamis_candidates_kept_total"] == n_kept > 0
    assert added["tamis_requests_outside_candidates_range_total"] == 0
    assert added['tamis_seconds_total{stage="all"}'] >= added['tamis_seconds_total{stage="score"}']
    assert added['tamis_seconds_total{stage="score"}'] > 0


# --- texts ------------------------------------------------------------------------------------


DOCUMENTS = ["The sieve keeps the grain. Dust falls through the mesh.", "Rain fell — naïve 🦊🦊."]
QUERY = "what does the sieve keep"


def serve(scorer: Any, value: float = 0.7) -> Any:
    from fastapi_app import create_app

    return create_app(
        lambda on_result: Filter(
            Threshold.fixed(value), scorer, Chunker(60, 20), on_result=on_result
        )
    )


def test_texts_are_filtered_as_in_this_process() -> None:
    scorer = EmbeddingScorer(StubEncoder())
    expected = Filter(Threshold.fixed(0.7), scorer, Chunker(60, 20))(QUERY, DOCUMENTS)
    assert 0 < len(expected.kept) < len(expected)
    with (
        service.thread(serve(scorer)) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=30) as client,
    ):
        status, answer = ask(client, "/filter/texts", {"query": QUERY, "documents": DOCUMENTS})
        assert status == 200
        assert answer["passages"] == [
            {"document": p.document, "start": p.start, "end": p.end, "text": p.text}
            for p in expected.passages()
        ]
        assert not answer["degraded"]
        stages = [answer["stats"][f"{stage}_ns"] for stage in ("chunk", "encode", "score", "keep")]
        assert min(stages) > 0
        for body, words in (
            ({"query": " ", "documents": ["a"]}, "query is blank"),
            ({"query": "a", "documents": "b"}, "valid list"),
            ({"query": "a", "documents": [None]}, "valid string"),
            ('{"query": "a", "documents": ["\\ud800"]}', "documents.0. holds a lone surrogate"),
        ):
            status, answer = ask(client, "/filter/texts", body)
            assert status == 422
            assert re.search(words, json.dumps(answer["detail"]))
        assert sums(client)["tamis_requests_total"] == 1


def test_a_scorer_that_fails_answers_with_everything() -> None:
    def raises(query: str, texts: Any) -> Any:
        raise ConnectionError("no route to the model")

    with (
        service.thread(serve(FunctionScorer(raises))) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=30) as client,
    ):
        status, answer = ask(client, "/filter/texts", {"query": QUERY, "documents": DOCUMENTS})
        assert (status, answer["degraded"]) == (200, True)
        assert [passage["text"] for passage in answer["passages"]] == DOCUMENTS
        assert answer["stats"]["reasons"] == ["ConnectionError: no route to the model"]
        assert sums(client)["tamis_candidates_degraded_total"] == answer["stats"]["degraded"] > 0


@pytest.mark.model
@pytest.mark.skipif(
    "minilm" not in installed_models(), reason="model minilm is not installed (make models)"
)
def test_a_calibration_of_texts_serves_texts_from_the_file_alone(tmp_path: Path) -> None:
    lands = ["Cuba", "Egypt", "Ghana", "Greece", "Iran", "Japan", "Kenya", "Nepal", "Oman", "Peru"]
    labelled = [
        LabelledQuery(
            land,
            f"What is grown in {land}?",
            tuple(
                Document(of, f"{of} grows fruit.", [(0, len(of))] if of == land else [])
                for of in lands
            ),
            topic=land,
        )
        for land in lands
    ]
    calibrate(labelled, progress=False).save(tmp_path / "texts.json")
    with (
        service.process(TAMIS_CALIBRATION=str(tmp_path / "texts.json")) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        body = {"query": "What is grown in Spain?", "documents": ["Spain grows fruit.", "Rain."]}
        status, answer = ask(client, "/filter/texts", body)
        assert status == 200
        assert [passage["text"] for passage in answer["passages"]] == ["Spain grows fruit."]
        assert answer["stats"]["encode_ns"] > 0


# --- start ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "TAMIS_CALIBRATION must name a calibration file"),
        ({"TAMIS_CALIBRATION": "absent.json"}, "absent.json"),
        ({"TAMIS_CALIBRATION": "FILE"}, "our-embedder 2"),
        ({"TAMIS_CALIBRATION": "FILE", **{"TAMIS_SCORER": "another"}}, "another"),
    ],
)
def test_a_service_that_cannot_keep_its_promise_does_not_start(
    variables: dict[str, str], words: str, vectors_file: Path
) -> None:
    variables = {k: v.replace("FILE", str(vectors_file)) for k, v in variables.items()}
    with (
        pytest.raises(RuntimeError, match="did not start") as caught,
        service.process(**variables),
    ):
        pass
    assert words in str(caught.value)
