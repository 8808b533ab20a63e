"""Labelled queries, chunked and scored: the table that calibration and evaluation are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._tamis import Chunker, ScorerError
from tamis.encoder import TextTooLongError
from tamis.labelled import LabelledQuery, check_queries
from tamis.progress import progress_bar
from tamis.scorer import (
    EmbeddingScorer,
    Identity,
    QueryTooLongError,
    Scorer,
    encode,
    score_vectors,
)

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# What labels mean here: part of a calibration's identity.
LABELS = {"labels": "spans", "rule": "half of the shorter in non-white code points"}


@dataclass(frozen=True)
class ScoredQueries:
    """One row per candidate snippet of each query.

    Attributes
    ----------
    queries : tuple of LabelledQuery
    scorer, chunker : str or mapping
        Identities.
    slack : float
        The scorer's tolerance.
    query : ndarray of int64, shape (n,)
        Position in `queries`, ascending.
    document : ndarray of int64, shape (n,)
        Position among the query's documents.
    start, end : ndarray of int64, shape (n,)
        Code points in the document.
    scores : ndarray of float64, shape (n,)
    relevant : ndarray of bool, shape (n,)
    in_labelled : ndarray of bool, shape (n,)
        Whether the snippet's document holds evidence for the query.
    evidence_query : ndarray of int64, shape (n_spans,)
        Position of the query of each labelled span.
    evidence_score : ndarray of float64, shape (n_spans,)
        Lowest score of the snippets that hold the span; NaN where none does.
    n_distinct, n_truncated : int
        Distinct snippets, and how many of them the encoder did not read to their end.
    n_truncated_queries : int
        Distinct queries that it did not read to their end.
    """

    queries: tuple[LabelledQuery, ...]
    scorer: Identity
    chunker: Identity
    slack: float
    environment: dict[str, str]
    query: Ints
    document: Ints
    start: Ints
    end: Ints
    scores: NDArray[np.float64]
    relevant: Flags
    in_labelled: Flags
    evidence_query: Ints
    evidence_score: NDArray[np.float64]
    n_distinct: int
    n_truncated: int
    n_truncated_queries: int

    @property
    def n_unretrieved(self) -> int | None:
        """Labelled spans that retrieval did not return; None when a query does not say."""
        counts = [query.n_unretrieved for query in self.queries]
        return None if None in counts else sum(count or 0 for count in counts)


def score_queries(
    labelled: Iterable[LabelledQuery],
    scorer: Scorer,
    chunker: Chunker,
    progress: bool | None = None,
) -> ScoredQueries:
    """Cut and score every candidate of every query; each distinct snippet is encoded once.

    Parameters
    ----------
    labelled : iterable of LabelledQuery
    scorer : Scorer
    chunker : Chunker
    progress : bool, optional
        Show a bar on standard error; by default only on a terminal.

    Raises
    ------
    ValueError
        No queries, no candidate snippet at all (only blank documents), or a snippet or query with
        more tokens than the encoder reads, naming its document or query.
    ScorerError
        A scorer that failed, or a score that is not finite, naming query and document.
    """
    queries = tuple(labelled)
    for query in queries:
        if not isinstance(query, LabelledQuery):
            raise TypeError(f"labelled must hold LabelledQuery, got {type(query).__name__}")
    if not queries:
        raise ValueError("there are no labelled queries")
    check_queries(queries)
    places: dict[str, int] = {}
    texts: list[str] = []
    for query in queries:
        for document in query.documents:
            if places.setdefault(document.doc_id, len(texts)) == len(texts):
                texts.append(document.text)
    if not texts:
        raise ValueError("no query has a document: there is nothing to calibrate on")
    snippets = chunker.chunk_many(texts)
    if not len(snippets):
        raise ValueError("every document is blank: there is no snippet to score")
    spans = np.array(snippets._spans(), np.int64).reshape(-1, 3)
    bounds = np.searchsorted(spans[:, 0], np.arange(len(texts) + 1))
    rows = [
        [np.arange(bounds[i], bounds[i + 1]) for i in (places[d.doc_id] for d in q.documents)]
        for q in queries
    ]
    flat = [np.concatenate(parts) if parts else np.empty(0, np.int64) for parts in rows]
    snippet = np.concatenate(flat)
    query_of = np.repeat(np.arange(len(queries)), [len(part) for part in flat])
    document_of = np.concatenate(
        [np.full(len(part), i, np.int64) for parts in rows for i, part in enumerate(parts)]
        or [np.empty(0, np.int64)]
    )
    snippet_texts = snippets.texts()
    places_of = list(places)
    scores, n_distinct, n_truncated, n_long = _scores(
        queries, flat, snippet_texts, scorer, progress, lambda i: places_of[spans[i, 0]]
    )
    if not np.isfinite(scores).all():
        bad = int(np.flatnonzero(~np.isfinite(scores))[0])
        query = queries[query_of[bad]]
        raise ScorerError(
            f"the scorer gave {scores[bad]} for query {query.query_id!r}, "
            f"document {query.documents[document_of[bad]].doc_id!r}"
        )
    relevant, in_labelled, evidence_query, evidence_score = _labels(
        queries, rows, snippets, places, scores
    )
    return ScoredQueries(
        queries=queries,
        scorer=scorer.identity,
        chunker=chunker.identity,
        slack=float(getattr(scorer, "slack", 0.0)),
        environment=dict(getattr(scorer, "environment", {})),
        query=query_of,
        document=document_of,
        start=spans[snippet, 1],
        end=spans[snippet, 2],
        scores=scores,
        relevant=relevant,
        in_labelled=in_labelled,
        evidence_query=evidence_query,
        evidence_score=evidence_score,
        n_distinct=n_distinct,
        n_truncated=n_truncated,
        n_truncated_queries=n_long,
    )


def _scores(
    queries: Sequence[LabelledQuery],
    rows: Sequence[Ints],
    texts: Sequence[str],
    scorer: Scorer,
    progress: bool | None,
    name_of: Callable[[int], str],
) -> tuple[NDArray[np.float64], int, int, int]:
    distinct: dict[str, int] = {}
    for text in texts:
        distinct.setdefault(text, len(distinct))
    if not isinstance(scorer, EmbeddingScorer):
        with progress_bar(len(queries), "scoring", progress) as tick:
            parts = []
            for query, part in zip(queries, rows, strict=True):
                try:
                    given = np.asarray(scorer.score(query.query, [texts[i] for i in part]))
                except Exception as error:
                    what = f"{type(error).__name__}: {error}"
                    raise ScorerError(
                        f"query {query.query_id!r}: the scorer failed: {what}"
                    ) from error
                if given.shape != (len(part),):
                    expected = f"({len(part)},)"
                    raise ScorerError(f"the scorer must give shape {expected}, got {given.shape}")
                parts.append(given.astype(np.float64))
                tick(1)
        return np.concatenate(parts), len(distinct), 0, 0

    wordings = list(dict.fromkeys(query.query for query in queries))
    unique = list(distinct)
    with progress_bar(len(unique) + len(wordings), "encoding", progress) as tick:
        try:
            vectors, n_truncated = _encode(scorer, unique, "passage", tick)
        except TextTooLongError as error:
            document = name_of(list(texts).index(unique[error.index]))
            raise ValueError(f"document {document!r}: {error}") from None
        try:
            query_vectors, n_long = _encode(scorer, wordings, "query", tick)
        except TextTooLongError as error:
            wording = wordings[error.index]
            name = next(query.query_id for query in queries if query.query == wording)
            long = QueryTooLongError(error.n_tokens, error.max_tokens)
            raise ValueError(f"query {name!r}: {long}") from None
    vector_of = np.array([distinct[text] for text in texts])
    query_vector = dict(zip(wordings, query_vectors, strict=True))
    scored = [
        score_vectors(query_vector[query.query], vectors[vector_of[part]])
        for query, part in zip(queries, rows, strict=True)
    ]
    return np.concatenate(scored).astype(np.float64), len(unique), n_truncated, n_long


def _encode(
    scorer: EmbeddingScorer, texts: Sequence[str], kind: Any, tick: Callable[[int], object]
) -> tuple[NDArray[np.float32], int]:
    seen = 0

    def progress(done: int) -> None:
        nonlocal seen
        tick(done - seen)
        seen = done

    vectors, truncated = encode(scorer.encoder, texts, kind, progress)
    return vectors, len(truncated)


def _labels(
    queries: Sequence[LabelledQuery],
    rows: Sequence[Sequence[Ints]],
    snippets: Any,
    places: dict[str, int],
    scores: NDArray[np.float64],
) -> tuple[Flags, Flags, Ints, NDArray[np.float64]]:
    relevant = np.zeros(len(scores), np.bool_)
    in_labelled = np.zeros(len(scores), np.bool_)
    evidence_query: list[int] = []
    evidence_score: list[float] = []
    offset = 0
    for index, (query, parts) in enumerate(zip(queries, rows, strict=True)):
        for document, part in zip(query.documents, parts, strict=True):
            spans = list(document.relevant_spans)
            if spans:
                here = slice(offset, offset + len(part))
                in_labelled[here] = True
                best = [float("nan")] * len(spans)
                for label, snippet in snippets._holds(places[document.doc_id], spans):
                    row = offset + snippet - int(part[0])
                    relevant[row] = True
                    best[label] = float(np.fmin(best[label], scores[row]))
                evidence_query += [index] * len(spans)
                evidence_score += best
            offset += len(part)
    return (
        relevant,
        in_labelled,
        np.array(evidence_query, np.int64),
        np.array(evidence_score, np.float64),
    )
