"""What one call and one request cost from Python; each answer is asserted before it is timed.

The first group is the border: calls so small that crossing it is most of what they do. The second
is what a service does for each request, the third the vector path by size, storage and way, with
numpy on normalised vectors beside it (and SimSIMD, where it is installed). With
OPENBLAS_NUM_THREADS=1 numpy stays on one thread as well.
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


def exact_scores(matrix: NDArray[Any], query: NDArray[Any] = QUERY) -> NDArray[np.float64]:
    """1 - cosine in float64."""
    q, m = query.astype(np.float64), matrix.astype(np.float64)
    scores: NDArray[np.float64] = 1 - (m @ q) / (np.linalg.norm(m, axis=1) * np.linalg.norm(q))
    return scores


def half(matrix: NDArray[Any], query: NDArray[Any] = QUERY) -> tuple[float, list[int]]:
    """A threshold between two scores that keeps about half of the rows, and which it keeps."""
    scores = exact_scores(matrix, query)
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


@pytest.mark.benchmark(group="border")
def test_select_one_row(benchmark: Bench) -> None:
    row = MATRIX[:1]
    threshold = tamis.Threshold.fixed(2.0)
    assert threshold.select(QUERY, row).tolist() == [0]
    benchmark(lambda: threshold.select(QUERY, row))


class Tensor:
    """What a tensor library offers: DLPack."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.__dlpack__ = values.__dlpack__
        self.__dlpack_device__ = values.__dlpack_device__


@pytest.mark.benchmark(group="border")
@pytest.mark.parametrize("view", [Tensor, memoryview])
def test_select_one_row_of_a_view(benchmark: Bench, view: Callable[[Any], Any]) -> None:
    row = view(MATRIX[:1])
    threshold = tamis.Threshold.fixed(2.0)
    assert threshold.select(QUERY, row).tolist() == [0]
    benchmark(lambda: threshold.select(QUERY, row))


def by_select(matrix: NDArray[np.float32], value: float) -> Callable[[], Any]:
    threshold = tamis.Threshold.fixed(value)
    return lambda: threshold.select(QUERY, matrix)


def by_select_out(matrix: NDArray[np.float32], value: float) -> Callable[[], Any]:
    threshold, out = tamis.Threshold.fixed(value), np.empty(len(matrix), np.intp)
    return lambda: threshold.select(QUERY, matrix, out=out)


def by_filter_vectors(matrix: NDArray[np.float32], value: float) -> Callable[[], Any]:
    keep = tamis.Filter(tamis.Threshold.fixed(value))
    return lambda: keep.filter_vectors(QUERY, matrix).kept_indices


def by_numpy_normalised(matrix: NDArray[np.float32], value: float) -> Callable[[], Any]:
    """What a caller writes who has normalised everything beforehand."""
    rows = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    query = QUERY / np.linalg.norm(QUERY)
    limit = np.float32(1 - value)
    return lambda: np.flatnonzero(rows @ query >= limit)


def by_simsimd(matrix: NDArray[np.float32], value: float) -> Callable[[], Any]:
    simsimd = pytest.importorskip("simsimd")
    return lambda: np.flatnonzero(np.asarray(simsimd.cosine(QUERY, matrix)) <= value)


@pytest.mark.parametrize("n", [50, 200, 1000, 10_000])
@pytest.mark.parametrize(
    "way", [by_select, by_select_out, by_filter_vectors, by_numpy_normalised, by_simsimd]
)
@pytest.mark.benchmark(group="select")
def test_select(benchmark: Bench, way: Callable[..., Callable[[], Any]], n: int) -> None:
    matrix = sequence(n, DIM + 3)[:, 3:].copy()
    value, kept = half(matrix)
    run = way(matrix, value)
    assert run().tolist() == kept
    benchmark(run)


@pytest.mark.parametrize("n", [200, 10_000])
@pytest.mark.parametrize("stored", ["float16", "int8", "unit", "strided"])
@pytest.mark.benchmark(group="select")
def test_select_stored(benchmark: Bench, stored: str, n: int) -> None:
    matrix: NDArray[Any] = sequence(n, DIM + 3)[:, 3:]
    query: NDArray[Any] = QUERY
    if stored == "int8":
        matrix, query = (np.rint(a * 254).astype(np.int8) for a in (matrix, QUERY))
    elif stored == "float16":
        matrix = matrix.astype(np.float16)
    elif stored == "unit":
        matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    value, kept = half(matrix, query)
    threshold, unit = tamis.Threshold.fixed(value), stored == "unit"
    assert threshold.select(query, matrix, unit_rows=unit).tolist() == kept
    benchmark(lambda: threshold.select(query, matrix, unit_rows=unit))


@pytest.mark.parametrize("way", ["at once", "one by one"])
@pytest.mark.benchmark(group="select")
def test_select_16_queries_of_50(benchmark: Bench, way: str) -> None:
    queries, matrix = sequence(16, DIM), sequence(16 * N, DIM + 3)[:, 3:].copy()
    offsets = np.arange(0, 16 * N + 1, N)
    threshold = tamis.Threshold.fixed(1.0)

    def at_once() -> Any:
        return threshold.select_many(queries, matrix, offsets)[0]

    def one_by_one() -> Any:
        parts = zip(queries, offsets, strict=False)
        return np.concatenate([threshold.select(q, matrix[i : i + N]) + i for q, i in parts])

    rows = zip(np.repeat(queries, N, axis=0), matrix, strict=True)
    scores = np.array([exact_scores(row[None], query)[0] for query, row in rows])
    assert np.abs(scores - 1).min() > 1e-6
    assert at_once().tolist() == one_by_one().tolist() == np.flatnonzero(scores <= 1).tolist()
    benchmark(at_once if way == "at once" else one_by_one)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.benchmark(group="select")
def test_select_100_000(benchmark: Bench, threads: int) -> None:
    matrix = sequence(100_000, DIM)
    threshold, scores = tamis.Threshold.fixed(1.0), exact_scores(matrix)
    kept = threshold.select(QUERY, matrix, threads=threads)
    sure = np.abs(scores - 1) > 1e-6
    assert np.array_equal(np.isin(np.flatnonzero(sure), kept), scores[sure] <= 1)
    benchmark(lambda: threshold.select(QUERY, matrix, threads=threads))


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
