"""Our contestants in the side-by-side runs (`--plugin tamis_plugin`); each asserts its answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tamis

MAX_CHARS, OVERLAP = 500, 100
CHUNKERS = ("tamis.Chunker (columns)", "tamis.Chunker (tuples)", "tamis.Chunker (lazy)")

# Short, in many scripts, with what offsets are easily wrong on.
SAMPLES = (
    "Hello there. It works.",
    "",
    "  \n\n ",
    "é".join(["One sentence. "] * 99),
    "一二三。四五六！" * 200,
    "أهلا. مرحبا؟ " * 99 + "Привет. Как дела? " * 60 + "👩‍👩‍👧 e\u0301\r\n",
)


def offsets(snippets: tamis.Snippets) -> NDArray[np.int64]:
    """Starts and ends of all snippets in code points, as an int64 array of shape [n, 2]."""
    if hasattr(snippets, "offsets"):
        columns: NDArray[np.int64] = snippets.offsets()
        return columns
    return np.array(snippets._spans(), np.int64).reshape(-1, 3)[:, 1:]


def chunking(name: str) -> tuple[Callable[[str], Any], Callable[[str], list[tuple[str, int, int]]]]:
    """A way to use the chunker: run (text -> what is timed), spans (text -> what is checked)."""
    chunker = tamis.Chunker(MAX_CHARS, OVERLAP)

    def columns(text: str) -> tuple[list[str], NDArray[np.int64]]:
        snippets = chunker.chunk(text)
        return snippets.texts(), offsets(snippets)

    def tuples(text: str) -> list[tuple[str, int, int]]:
        return [(s.text, s.start, s.end) for s in chunker.chunk(text)]

    def column_spans(text: str) -> list[tuple[str, int, int]]:
        texts, positions = columns(text)
        assert positions.shape == (len(texts), 2) and positions.dtype == np.int64
        pairs = positions.tolist()
        return [(chunk, start, end) for chunk, (start, end) in zip(texts, pairs, strict=True)]

    runs: dict[str, tuple[Callable[[str], Any], Callable[[str], list[tuple[str, int, int]]]]] = {
        CHUNKERS[0]: (columns, column_spans),
        CHUNKERS[1]: (tuples, tuples),
        CHUNKERS[2]: (chunker.chunk, tuples),
    }
    run, spans = runs[name]
    for text in SAMPLES:
        check_spans(text, spans(text))
        assert len(run(text)[0] if name == CHUNKERS[0] else run(text)) == len(spans(text))
    return run, spans


def check_spans(text: str, spans: list[tuple[str, int, int]]) -> None:
    """Every chunk is what its offsets cut, none is too long, and no text is lost."""
    covered = bytearray(len(text))
    for chunk, start, end in spans:
        assert text[start:end] == chunk, (start, end)
        assert 0 < len(chunk) <= MAX_CHARS
        covered[start:end] = b"\1" * (end - start)
    assert all(covered[i] or character.isspace() for i, character in enumerate(text))


def _chunking(add: Any) -> None:
    for name in CHUNKERS:
        add(name)(lambda name=name: chunking(name))


def _scoring(add: Any) -> None:
    def exact(query: NDArray[Any], matrix: NDArray[Any]) -> NDArray[np.float64]:
        # Enough rows to tell a wrong answer from a rounded one; all of a large matrix takes long.
        q, m = query.astype(np.float64), matrix[:10_000].astype(np.float64)
        cosines: NDArray[np.float64] = (m @ q) / (np.linalg.norm(m, axis=1) * np.linalg.norm(q))
        return cosines

    def score(query: NDArray[Any], matrix: NDArray[Any]) -> Any:
        return lambda: 1 - tamis.cosine_scores(query, matrix)

    def select(query: NDArray[Any], matrix: NDArray[Any]) -> Any:
        scores = tamis.cosine_scores(query, matrix)
        cosines = exact(query, matrix)
        assert np.allclose(1 - scores[: len(cosines)], cosines, rtol=0, atol=1e-5)
        # As many as the others keep: the tenth that is closest.
        value = float(np.quantile(scores, 0.1, method="lower"))
        threshold = tamis.Threshold.fixed(value)
        kept = threshold.select(query, matrix)
        assert 0 < len(kept) < len(scores)
        assert np.array_equal(kept, np.flatnonzero(scores <= np.float32(value)))
        return lambda: threshold.select(query, matrix)

    add("tamis.cosine_scores", ("f32", "f16"))(score)
    # Gives indices, not scores: the shared script times it as it is, and labels the row "score".
    add("tamis.Threshold.select (filter)", ("f32", "f16"))(select)


def _calibration(add: Any) -> None:
    def one() -> Any:
        assert tamis.conformal_quantile([0.3, 0.1, 0.2, 0.4], 0.25) == 0.4
        return tamis.conformal_quantile

    def several() -> Any:
        assert tamis.conformal_quantiles([0.3, 0.1, 0.2, 0.4], [0.25, 0.5]).tolist() == [0.4, 0.3]
        return tamis.conformal_quantiles

    def by_group() -> Any:
        found = tamis.conformal_quantiles_by_group([0.3, 0.1, 0.2], np.array([0, 0, 1]), 0.5)
        assert found.tolist() == [0.3, 0.2]
        return tamis.conformal_quantiles_by_group

    # The shared script compares every answer with an exact sort and reports it as `exact`.
    add("tamis.conformal_quantile")(one)
    add("tamis.conformal_quantiles", "multi")(several)
    add("tamis.conformal_quantiles_by_group", "group")(by_group)


def _endtoend(add: Any) -> None:
    def inputs() -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
        # The script that is running holds the embeddings that every contestant gets.
        script: Any = sys.modules["__main__"]
        return script.TAB, script.Q, 1.0 - script.CUT

    def check(documents: list[str], n: int, kept: list[Any]) -> None:
        table, query, cut = inputs()
        scores = 1 - (table[:n] @ query) / np.linalg.norm(query)
        sure = np.abs(scores - cut) > 1e-5
        assert 0 < len(kept) < n
        assert int((scores[sure] <= cut).sum()) <= len(kept) <= int((scores <= cut + 1e-5).sum())
        assert all(documents[s.document][s.start : s.end] == s.text for s in kept)

    def by_select(documents: list[str]) -> Any:
        table, query, cut = inputs()
        chunker, threshold = tamis.Chunker(MAX_CHARS, OVERLAP), tamis.Threshold.fixed(cut)

        def run() -> tuple[int, list[Any]]:
            snippets = chunker.chunk_many(documents)
            kept = threshold.select(query, table[: len(snippets)])
            return len(snippets), [snippets[i] for i in kept.tolist()]

        n, kept = run()
        check(documents, n, kept)
        return run

    def by_filter(documents: list[str]) -> Any:
        table, query, cut = inputs()
        chunker = tamis.Chunker(MAX_CHARS, OVERLAP)
        keep = tamis.Filter(tamis.Threshold.fixed(cut), chunker=chunker)

        def run() -> tuple[int, Any]:
            snippets: Any = chunker.chunk_many(documents)
            result = keep.filter_vectors(query, table[: len(snippets)], snippets)
            return len(snippets), result.kept

        n, kept = run()
        check(documents, n, list(kept))
        return run

    add("tamis.Chunker.chunk_many + Threshold.select (arrays in)")(by_select)
    add("tamis.Chunker.chunk_many + Filter.filter_vectors (arrays in)")(by_filter)


def _startup(add: Any) -> None:
    add("tamis", "import tamis", "tamis")
    add("tamis Filter", "from tamis import Chunker, Filter", "tamis")


REGISTER = {
    "chunking": _chunking,
    "scoring": _scoring,
    "calibration": _calibration,
    "endtoend": _endtoend,
    "startup": _startup,
}


def register(bench: str, add: Any) -> None:
    """Adds our contestants to a bench."""
    REGISTER[bench](add)
