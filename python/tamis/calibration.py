"""Labelled queries in, a calibration out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from tamis._tamis import Calibration, Chunker, ScorerError
from tamis.environment import record
from tamis.labelled import ChunkLabels, LabelledQuery
from tamis.scored import LABELS, ScoredQueries, score_queries
from tamis.scorer import EmbeddingScorer, Identity, Scorer


def calibrate(
    labelled: Iterable[LabelledQuery],
    scorer: Scorer | None = None,
    chunker: Chunker | None = None,
    *,
    topic: Literal["query"] | None = None,
    check_direction: bool = True,
    progress: bool | None = None,
) -> Calibration:
    """Chunk, score and calibrate.

    Parameters
    ----------
    labelled : iterable of LabelledQuery
        With a topic in every query or in none. Without topics, queries that share a labelled
        document are joined into one independent unit.
    scorer : Scorer, optional
        By default `EmbeddingScorer()` over the installed `minilm` model.
    chunker : Chunker, optional
        By default `Chunker()`: 500 code points, 100 overlap.
    topic : "query", optional
        Declares queries independent of each other, which is stored in the file.
    check_direction : bool
        Refuse scores that look like similarities.
    progress : bool, optional
        Show a bar on standard error; by default only on a terminal.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        No queries, blank documents only, nothing relevant, or a text that is too long.
    ScorerError
        A score that is not finite.

    Notes
    -----
    Cost: each distinct snippet and query is encoded once; memory for their vectors and 64 bytes a
    candidate.
    """
    scored = score_queries(labelled, scorer or EmbeddingScorer(), chunker or Chunker(), progress)
    return fit_scored(scored, topic=topic, check_direction=check_direction)


def fit_scored(
    scored: ScoredQueries,
    *,
    topic: Literal["query"] | None = None,
    check_direction: bool = True,
) -> Calibration:
    """The calibration of queries that are chunked and scored already."""
    queries = scored.queries
    ids = [query.query_id for query in queries]
    has_topics = queries[0].topic is not None
    documents = [[document.doc_id for document in query.documents] for query in queries]
    rows = list(zip(scored.query.tolist(), scored.document.tolist(), strict=True))
    evidence = (
        [ids[i] for i in scored.evidence_query],
        [None if score != score else score for score in scored.evidence_score.tolist()],
        scored.n_unretrieved,
    )
    with_candidates = set(scored.query.tolist())
    if not set(scored.evidence_query.tolist()) <= with_candidates:
        blank = min(set(scored.evidence_query.tolist()) - with_candidates)
        raise ValueError(
            f"query {ids[blank]!r}: evidence is labelled, but all of its documents are blank"
        )
    return Calibration.fit(
        scored.scores,
        scored.relevant,
        query=[ids[q] for q, _ in rows],
        topic="query" if topic else [queries[q].topic for q, _ in rows] if has_topics else None,
        document=[documents[q][d] for q, d in rows],
        group=_groups(scored, rows),
        size=(scored.end - scored.start).tolist(),
        evidence=evidence,
        scorer=scored.scorer,
        chunker=scored.chunker,
        labels=LABELS,
        environment=record(scored.environment),
        slack=scored.slack,
        check_direction=check_direction,
    )


def _groups(scored: ScoredQueries, rows: list[tuple[int, int]]) -> list[str] | None:
    """The documents' groups, where every document of every query has one."""
    groups = [[document.group for document in query.documents] for query in scored.queries]
    if any(group is None for of_query in groups for group in of_query):
        return None
    return [groups[q][d] or "" for q, d in rows]


def calibrate_chunks(
    labels: ChunkLabels,
    scorer: Scorer | None = None,
    *,
    scorer_identity: Identity | None = None,
    chunker_identity: Identity | None = None,
    topic: Literal["query"] | None = None,
    check_direction: bool = True,
) -> Calibration:
    """Calibrate on chunk-level labels: (query, chunk, score, 0/1).

    Parameters
    ----------
    labels : ChunkLabels
        With scores, or with texts that `scorer` scores.
    scorer : Scorer, optional
        For labels without scores; by default `EmbeddingScorer()`.
    scorer_identity, chunker_identity : str, optional
        What the scores and chunks were made by, as it will be declared at use.
    topic : "query", optional
        Declares queries independent of each other.
    check_direction : bool
        Refuse scores that look like similarities.
    """
    identity: Identity | None = scorer_identity
    slack = 0.0
    if labels.scores is not None:
        scores = np.asarray(labels.scores, np.float64)
    else:
        scorer = scorer or EmbeddingScorer()
        identity, slack = scorer.identity, float(getattr(scorer, "slack", 0.0))
        scores = _score_chunks(labels, scorer)
    return Calibration.fit(
        scores,
        labels.relevant,
        query=labels.query,
        topic="query" if topic else labels.topic,
        document=labels.document,
        group=labels.group,
        scorer=identity,
        chunker=chunker_identity,
        labels={"labels": "chunks"},
        environment=record({}),
        slack=slack,
        check_direction=check_direction,
    )


def _score_chunks(
    labels: ChunkLabels, scorer: Scorer
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if labels.query_text is None or labels.text is None:
        raise ValueError("chunk labels without scores need the texts of query and chunk")
    rows: dict[str, list[int]] = {}
    for row, query in enumerate(labels.query):
        rows.setdefault(query, []).append(row)
    scores = np.empty(len(labels.query), np.float64)
    for part in rows.values():
        texts = [labels.text[row] for row in part]
        scores[part] = scorer.score(labels.query_text[part[0]], texts)
        if not np.isfinite(scores[part]).all():
            query = labels.query[part[0]]
            raise ScorerError(f"the scorer gave a score that is not finite for query {query!r}")
    return scores
