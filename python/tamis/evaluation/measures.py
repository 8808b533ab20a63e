"""What a threshold does to scored queries: plain array work, nothing random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamis.scored import ScoredQueries

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures of one threshold on some queries, each a share in [0, 1].

    Attributes
    ----------
    recall_topic : float
        Mean over topics of the mean over their answerable queries of the share of relevant snippets
        kept; NaN without an answerable query.
    recall_query : float
        Mean over answerable queries of that share.
    coverage : float
        Share of all relevant snippets kept.
    evidence : float
        Share of labelled spans that a kept snippet holds; spans that no snippet holds are lost.
    removed, removed_labelled : float
        Share of snippets removed: of all candidates; of the documents that hold evidence.
    characters, characters_labelled : float
        Share of code points removed, overlaps counted once: likewise in two columns.
    """

    recall_topic: float
    recall_query: float
    coverage: float
    evidence: float
    removed: float
    removed_labelled: float
    characters: float
    characters_labelled: float


class Table:
    """Scored queries with everything that does not depend on a threshold counted once.

    Parameters
    ----------
    scored : ScoredQueries
    units : ndarray of int64, shape (n_queries,)
        The independent unit of each query.
    """

    def __init__(self, scored: ScoredQueries, units: NDArray[np.int64]) -> None:
        self.scored = scored
        self.units = units
        self.n_queries = len(scored.queries)
        everything = np.ones(len(scored.scores), np.bool_)
        self._n = self._per_query(everything)
        self._n_labelled = self._per_query(scored.in_labelled)
        self._n_relevant = self._per_query(scored.relevant)
        # Rows of one document of one query follow each other, by ascending start and end.
        same_query = scored.query[1:] == scored.query[:-1]
        same_document = scored.document[1:] == scored.document[:-1]
        first = np.concatenate([[True], ~(same_query & same_document)])
        self._document = np.cumsum(first) - 1
        self._characters = self._union(everything)
        self._characters_labelled = self._union(scored.in_labelled)
        self.answerable = self._n_relevant > 0

    def _per_query(self, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(self.scored.query[rows], minlength=self.n_queries)

    def _union(self, rows: NDArray[np.bool_]) -> Floats:
        """Code points per query that the snippets of these rows cover, overlaps once."""
        scored = self.scored
        at = np.flatnonzero(rows)
        start, end, document = scored.start[at], scored.end[at], self._document[at]
        previous = np.where(document[1:] == document[:-1], end[:-1], 0)
        begin = np.maximum(start, np.concatenate([[0], previous]))
        counts = np.bincount(scored.query[at], weights=end - begin, minlength=self.n_queries)
        return counts.astype(np.float64)

    def measure(self, limit: float, queries: NDArray[np.bool_]) -> Measures:
        """The measures over the queries marked, keeping scores up to `limit`. O(n)."""
        scored = self.scored
        rows = queries[scored.query]
        kept = rows & (scored.scores <= limit)
        recall = self.recall(limit)
        answerable = queries & self.answerable
        spans = queries[scored.evidence_query]
        # NaN (no snippet holds the span) compares false: such a span counts as lost.
        held = spans & (scored.evidence_score <= limit)
        return Measures(
            recall_topic=_mean_of_means(recall, self.units, answerable),
            recall_query=_share(recall[answerable].sum(), answerable.sum()),
            coverage=_share((kept & scored.relevant).sum(), self._n_relevant[queries].sum()),
            evidence=_share(held.sum(), spans.sum()),
            removed=1 - _share(kept.sum(), self._n[queries].sum()),
            removed_labelled=1
            - _share((kept & scored.in_labelled).sum(), self._n_labelled[queries].sum()),
            characters=1 - _share(self._union(kept).sum(), self._characters[queries].sum()),
            characters_labelled=1
            - _share(
                self._union(kept & scored.in_labelled).sum(),
                self._characters_labelled[queries].sum(),
            ),
        )

    def recall(self, limit: float) -> Floats:
        """The share of relevant snippets kept, per query; NaN for an unanswerable one."""
        kept = self._per_query(self.scored.relevant & (self.scored.scores <= limit))
        with np.errstate(invalid="ignore"):
            return np.asarray(kept / self._n_relevant)

    def promised_by_unit(self, limit: float, unit: str) -> tuple[Floats, Floats]:
        """Parts and wholes per independent unit, whose summed ratio is the promised measure.

        Topic: mean recall of the unit, and 1. Query: summed recall, and answerable queries.
        Snippet: relevant snippets kept, and all of them. Units without an answerable query are out.
        """
        recall = self.recall(limit)
        which = self.answerable
        there = np.bincount(self.units[which]) > 0
        if unit == "topic":
            means = _means(recall, self.units, which)
            return means, np.ones(len(means))
        weights = np.ones(self.n_queries) if unit == "query" else self._n_relevant
        parts = np.bincount(self.units[which], weights=(recall * weights)[which])
        wholes = np.bincount(self.units[which], weights=weights[which])
        return parts[there].astype(np.float64), wholes[there].astype(np.float64)


def _means(values: Floats, units: NDArray[np.int64], which: NDArray[np.bool_]) -> Floats:
    counts = np.bincount(units[which])
    sums = np.bincount(units[which], weights=values[which])
    there = counts > 0
    return np.asarray(sums[there] / counts[there])


def _mean_of_means(values: Floats, units: NDArray[np.int64], which: NDArray[np.bool_]) -> float:
    means = _means(values, units, which)
    return float(means.mean()) if len(means) else float("nan")


def _share(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole else float("nan")
