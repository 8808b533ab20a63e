"""A second implementation of the statistics, in exact fractions and by brute force.

It follows the formulas, not the Rust code, and is as slow as it likes: every risk is recomputed
from scratch at every candidate threshold. Thresholds are floats (they are scores), everything
compared with a level is a `Fraction`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

Level = str | float | int | Decimal | Fraction


def exact(level: Level) -> Fraction:
    """The number as its user wrote it: a text, a decimal, or the shortest decimal of a float."""
    return Fraction(repr(level)) if isinstance(level, float) else Fraction(level)


def rank(n: int, alpha: Level) -> int:
    """k = ceil((n + 1)(1 - alpha))."""
    return math.ceil((n + 1) * (1 - exact(alpha)))


def quantile(scores: Sequence[float], alpha: Level) -> float:
    """The k-th smallest score; infinite when there are fewer than k."""
    k = rank(len(scores), alpha)
    return sorted(scores)[k - 1] if k <= len(scores) else math.inf


def kept(scores: Sequence[float], threshold: float) -> list[int]:
    """Positions with score <= threshold."""
    return [i for i, score in enumerate(scores) if score <= threshold]


def miss_rate(scores: Sequence[float], threshold: float) -> Fraction:
    """Share of the scores above the threshold."""
    return Fraction(sum(score > threshold for score in scores), len(scores))


def corrected_risk(losses: Iterable[Fraction]) -> Fraction:
    """(sum of losses + 1) / (number of losses + 1): risk control with losses of at most 1."""
    values = list(losses)
    return (sum(values, Fraction(1))) / (len(values) + 1)


Topic = Sequence[Sequence[float]]
"""The positive scores of each query of one topic."""


def topic_risk(topics: Sequence[Topic], threshold: float) -> Fraction:
    """Corrected risk over topics; a topic's loss is the mean miss rate of its queries."""
    losses = []
    for topic in topics:
        rates = [miss_rate(query, threshold) for query in topic if query]
        if rates:
            losses.append(sum(rates, Fraction(0)) / len(rates))
    return corrected_risk(losses)


def query_risk(topics: Sequence[Topic], threshold: float) -> Fraction:
    """Corrected risk over queries, whatever their topic."""
    return corrected_risk(miss_rate(q, threshold) for topic in topics for q in topic if q)


def topic_threshold(topics: Sequence[Topic], alpha: Level) -> float:
    """Smallest score at which the corrected risk over topics is at most alpha."""
    for v in _candidates(topics):
        if topic_risk(topics, v) <= exact(alpha):
            return v
    return math.inf


def query_threshold(topics: Sequence[Topic], alpha: Level) -> float:
    """Smallest score at which the corrected risk over queries is at most alpha."""
    for v in _candidates(topics):
        if query_risk(topics, v) <= exact(alpha):
            return v
    return math.inf


def two_layer_threshold(topics: Sequence[Sequence[float]], alpha: Level) -> float:
    """(1 - alpha)-quantile with weights 1/((K+1) n_k), and mass 1/(K+1) at infinity."""
    used = [topic for topic in topics if topic]
    items = sorted((s, Fraction(1, (len(used) + 1) * len(t))) for t in used for s in t)
    mass = Fraction(0)
    for score, weight in items:
        mass += weight
        if mass >= 1 - exact(alpha):
            return score
    return math.inf


def total_threshold(topics: Sequence[Topic], alpha: Level, max_positives: int) -> float:
    """Smallest v with sum_k miss_k(v) - alpha sum_k n_k + (1 - alpha) C <= 0."""
    level = exact(alpha)
    scores = [s for topic in topics for query in topic for s in query]
    for v in _candidates(topics):
        missed = sum(s > v for s in scores)
        if missed - level * len(scores) + (1 - level) * max_positives <= 0:
            return v
    return math.inf


def _candidates(topics: Sequence[Topic]) -> list[float]:
    return sorted({s for topic in topics for query in topic for s in query})


def pvalue(score: float, scores: Sequence[float]) -> Fraction:
    """(#{s_i >= s} + 1) / (n + 1)."""
    return Fraction(sum(s >= score for s in scores) + 1, len(scores) + 1)


def pvalue_randomised(score: float, scores: Sequence[float], u: float) -> Fraction:
    """(#{s_i > s} + u (#{s_i = s} + 1)) / (n + 1), u taken as the exact binary number."""
    above = sum(s > score for s in scores)
    equal = sum(s == score for s in scores)
    return (above + Fraction(u) * (equal + 1)) / (len(scores) + 1)


@dataclass(frozen=True)
class DesignEffect:
    """What clustering does to a pooled miss rate; None where it is undefined."""

    n: int
    n_units: int
    miss_rate: Fraction
    variance: Fraction | None
    design_effect: Fraction | None
    effective_n: Fraction | None


def design_effect(topics: Sequence[Sequence[float]], threshold: float) -> DesignEffect:
    """v = K/(K-1) sum_k (x_k - p n_k)^2 / n^2 against p(1-p)/n."""
    used = [topic for topic in topics if topic]
    n, units = sum(map(len, used)), len(used)
    missed = [sum(s > threshold for s in topic) for topic in used]
    p = Fraction(sum(missed), n)
    if p in (0, 1) or units < 2:
        return DesignEffect(n, units, p, None, None, None)
    squares = sum((x - p * len(t)) ** 2 for x, t in zip(missed, used, strict=True))
    variance = Fraction(units, units - 1) * squares / n**2
    effect = variance / (p * (1 - p) / n)
    return DesignEffect(n, units, p, variance, effect, n / effect if effect else None)


@dataclass(frozen=True)
class Pairs:
    """Pairs of one query's relevant and irrelevant candidates, twice the ordered ones counted."""

    twice_ordered: int
    total: int


def query_pairs(scores: Sequence[float], relevant: Sequence[int]) -> Pairs:
    """Count pairs with the relevant score lower as 2, equal as 1."""
    good = [s for s, r in zip(scores, relevant, strict=True) if r]
    bad = [s for s, r in zip(scores, relevant, strict=True) if not r]
    twice = sum(2 * (g < b) + (g == b) for g in good for b in bad)
    return Pairs(twice, len(good) * len(bad))


def auc_over_pairs(queries: Sequence[tuple[Sequence[float], Sequence[int]]]) -> Fraction | None:
    """Within-query AUC, every pair with the same weight; None without a pair."""
    counts = [query_pairs(*query) for query in queries]
    total = sum(c.total for c in counts)
    return Fraction(sum(c.twice_ordered for c in counts), 2 * total) if total else None


def auc_over_queries(queries: Sequence[tuple[Sequence[float], Sequence[int]]]) -> Fraction | None:
    """Within-query AUC, every query that has pairs with the same weight; None without one."""
    counts = [c for c in (query_pairs(*query) for query in queries) if c.total]
    each = [Fraction(c.twice_ordered, 2 * c.total) for c in counts]
    return sum(each, Fraction(0)) / len(each) if each else None


def components(documents: Mapping[str, Iterable[Hashable]]) -> list[set[str]]:
    """Group queries that share a labelled document, directly or through other queries.

    `documents` gives each query's labelled documents.
    """
    groups: list[tuple[set[str], set[Hashable]]] = []
    for query, labelled in documents.items():
        queries, names = {query}, set(labelled)
        apart = []
        for other_queries, other_names in groups:
            if names & other_names:
                queries |= other_queries
                names |= other_names
            else:
                apart.append((other_queries, other_names))
        groups = [*apart, (queries, names)]
    return [queries for queries, _ in groups]


def cosine_score(query: Sequence[float], row: Sequence[float]) -> float:
    """1 - cosine, from exactly rounded sums of the exact products of what is given."""
    dot = float(sum(Fraction(a) * Fraction(b) for a, b in zip(query, row, strict=True)))
    norms = [math.sqrt(sum(Fraction(a) ** 2 for a in v)) for v in (query, row)]
    return min(max(1 - dot / norms[0] / norms[1], 0.0), 2.0)
