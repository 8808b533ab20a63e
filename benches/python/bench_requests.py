"""What one call and one request cost from Python; each answer is asserted before it is timed.

The first group is the border: calls so small that crossing it is most of what they do. The second
is what a service does for each request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tamis

Bench = Callable[[Callable[[], Any]], Any]

DIM = 384
N = 50
TEXTS = {
    "en_5k": "The pump failed at noon. It was mended by four, and nobody was hurt! Was it? " * 65,
    "zh_5k": "水泵在中午坏了。四点钟修好了，没有人受伤！这是为什么？" * 185,
    "de_5k": "Die Pumpe fiel mittags aus. Um vier lief sie wieder, größtes Glück — für alle! " * 63,
}


def sequence(*shape: int) -> NDArray[np.float32]:
    """Fixed numbers in [-0.5, 0.5): the fractional parts of multiples of the golden ratio."""
    numbers = np.modf(np.arange(np.prod(shape), dtype=np.float64) * 0.6180339887498949)[0] - 0.5
    return numbers.astype(np.float32).reshape(shape)


QUERY = sequence(DIM + 1)[1:]
MATRIX = sequence(N, DIM + 3)[:, 3:].copy()


def exact_scores(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """1 - cosine in float64."""
    q, m = QUERY.astype(np.float64), matrix.astype(np.float64)
    scores: NDArray[np.float64] = 1 - (m @ q) / (np.linalg.norm(m, axis=1) * np.linalg.norm(q))
    return scores


def half(matrix: NDArray[np.float32]) -> tuple[float, list[int]]:
    """A threshold between two scores that keeps about half of the rows, and which it keeps."""
    scores = exact_scores(matrix)
    ordered = np.sort(scores)
    middle = len(ordered) // 2
    # The widest gap near the middle, so that rounding decides nothing.
    near = range(middle - 10, middle + 10)
    at = max(near, key=lambda i: ordered[i + 1] - ordered[i])
    assert ordered[at + 1] - ordered[at] > 1e-5
    value = float((ordered[at] + ordered[at + 1]) / 2)
    return value, np.flatnonzero(scores <= value).tolist()


def check_snippets(text: str, found: list[tuple[str, int, int]]) -> None:
    """What the chunker promises of every text."""
    covered = bytearray(len(text))
    for chunk, start, end in found:
        assert text[start:end] == chunk and 0 < len(chunk) <= 500
        covered[start:end] = b"\1" * (end - start)
    assert len(found) >= len(text) // 500
    assert all(covered[i] or character.isspace() for i, character in enumerate(text))


@pytest.mark.benchmark(group="border")
def test_chunk_nothing(benchmark: Bench) -> None:
    chunk = tamis.Chunker(500, 100).chunk
    assert len(chunk("")) == 0
    benchmark(lambda: chunk(""))


@pytest.mark.benchmark(group="border")
def test_score_one_row_of_one(benchmark: Bench) -> None:
    one = np.ones(1, np.float32)
    row = np.full((1, 1), -2, np.float32)
    assert tamis.cosine_scores(one, row).tolist() == [2.0]
    benchmark(lambda: tamis.cosine_scores(one, row))


@pytest.mark.benchmark(group="border")
def test_keep_50(benchmark: Bench) -> None:
    value, kept = half(MATRIX)
    scores = exact_scores(MATRIX).astype(np.float32)
    threshold = tamis.Threshold.fixed(value)
    assert threshold.keep(scores).tolist() == kept
    benchmark(lambda: threshold.keep(scores))


@pytest.mark.benchmark(group="border")
def test_conformal_quantile_10(benchmark: Bench) -> None:
    scores = np.arange(10, dtype=np.float64)[::-1].copy()
    assert tamis.conformal_quantile(scores, 0.1) == 9.0
    assert tamis.conformal_quantile(scores, 0.5) == 5.0
    benchmark(lambda: tamis.conformal_quantile(scores, 0.1))


@pytest.mark.benchmark(group="request")
@pytest.mark.parametrize("name", TEXTS)
def test_chunk(benchmark: Bench, name: str) -> None:
    text = TEXTS[name]
    chunker = tamis.Chunker(500, 100)

    def run() -> list[tuple[str, int, int]]:
        return [(s.text, s.start, s.end) for s in chunker.chunk(text)]

    check_snippets(text, run())
    benchmark(run)


@pytest.mark.benchmark(group="request")
@pytest.mark.parametrize("name", TEXTS)
def test_chunk_texts(benchmark: Bench, name: str) -> None:
    text = TEXTS[name]
    chunker = tamis.Chunker(500, 100)
    assert chunker.chunk(text).texts() == [s.text for s in chunker.chunk(text)]
    benchmark(lambda: chunker.chunk(text).texts())


@pytest.mark.benchmark(group="request")
def test_select_50(benchmark: Bench) -> None:
    value, kept = half(MATRIX)
    threshold = tamis.Threshold.fixed(value)
    assert threshold.select(QUERY, MATRIX).tolist() == kept
    benchmark(lambda: threshold.select(QUERY, MATRIX))


@pytest.mark.benchmark(group="request")
def test_filter_vectors_50(benchmark: Bench) -> None:
    value, kept = half(MATRIX)
    keep = tamis.Filter(tamis.Threshold.fixed(value))
    result = keep.filter_vectors(QUERY, MATRIX)
    assert result.kept == kept
    assert np.allclose(result.scores, exact_scores(MATRIX), rtol=0, atol=1e-6)
    benchmark(lambda: keep.filter_vectors(QUERY, MATRIX).kept)


@pytest.mark.benchmark(group="request")
def test_chunk_and_filter_20_documents(benchmark: Bench) -> None:
    documents = [TEXTS["en_5k"]] * 20
    chunker = tamis.Chunker(500, 100)
    matrix = sequence(len(chunker.chunk_many(documents)), DIM + 3)[:, 3:].copy()
    value, kept = half(matrix)
    keep = tamis.Filter(tamis.Threshold.fixed(value), chunker=chunker)

    def run() -> list[Any]:
        snippets: Any = chunker.chunk_many(documents)
        return keep.filter_vectors(QUERY, matrix, snippets).kept

    everything = list(chunker.chunk_many(documents))
    found = run()
    assert [(s.document, s.start, s.end) for s in found] == [
        (everything[i].document, everything[i].start, everything[i].end) for i in kept
    ]
    benchmark(run)
