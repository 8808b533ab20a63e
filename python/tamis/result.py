"""What became of one request: candidates kept and dropped, passages, explanation, statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamis._tamis import GroupThresholds, Rule, Snippet, Snippets, _merge_spans, _score_quartiles


def is_outside(number: float | None, known: tuple[float, float] | None) -> bool:
    """Whether a number lies outside of the calibration's range; False where either is unknown."""
    if number is None or known is None:
        return False
    return not known[0] <= number <= known[1]


@dataclass(frozen=True, slots=True)
class Passage:
    """Kept snippets of one document that overlap or touch, as one piece of text.

    Attributes
    ----------
    document : int
        Position of the document among those given.
    start, end : int
        Code points in the document.
    text : str
    """

    document: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class FilterStats:
    """What happened to one request, for logs and dashboards. No text.

    Each field is one number or name, the same on every path; `dataclasses.asdict` makes a row of
    them. Two requests with the same outcome are equal, whatever time they took.

    Attributes
    ----------
    n_candidates, n_kept : int
        Candidates given (or cut from the documents), and those kept.
    candidates_range : tuple of float or None
        1st and 99th percentile of the number of candidates per calibration query; None where the
        threshold does not know it (fixed, or calibrated without irrelevant candidates).
    outside_candidates_range : bool
        `n_candidates` lies outside of that range: a request unlike those of the calibration. False
        where it is not known.
    median_size : float or None
        Median size of the candidates; None where sizes are not known.
    size_range : tuple of float or None
        1st and 99th percentile of the sizes of calibration candidates; None where not known.
    outside_size_range : bool
        `median_size` lies outside of that range: snippets unlike those of the calibration. False
        where either is not known.
    best_score : float or None
        Lowest finite score; None without one.
    score_quantiles : tuple of float or None
        Order statistics of the finite scores at 0, .25, .5, .75, 1; None without one.
    family : str
        What is compared with the threshold: "threshold" (scores), "relative", "top_k" or "tokens".
    threshold, slack : float
        A candidate is kept if its value in the family is at most their sum. Of thresholds by group,
        those of the most lenient.
    unseen_groups : int
        Candidates kept because no group of theirs has a threshold.
    keeps_everything : bool
        The threshold is infinite.
    truncated : int
        Snippets whose end the encoder did not read.
    query_truncated : bool
        Whether the encoder did not read the query's end.
    degraded : int
        Snippets kept because scoring them failed.
    reasons : tuple of str
        Why, each once.
    calibration_id, alpha, delta, unit, target : str or None
        Of the threshold; None for a fixed one, `delta` also for a promise in the mean.
    chunk_ns, encode_ns, score_ns, keep_ns : int
        Nanoseconds (of a monotonic clock) for cutting documents, encoding query and snippets,
        scoring, and comparing with the threshold. 0 for a stage that the call does not have. On
        vectors scores are compared as they arise: `score_ns` is for both. A scorer that does not
        count its encoding has it in `score_ns`.
    total_ns : int
        Nanoseconds of the whole call up to its result, checks of the input included, `on_result`
        not.
    """

    n_candidates: int
    n_kept: int
    candidates_range: tuple[float, float] | None
    outside_candidates_range: bool
    median_size: float | None
    size_range: tuple[float, float] | None
    outside_size_range: bool
    best_score: float | None
    score_quantiles: tuple[float, ...] | None
    family: str
    threshold: float
    slack: float
    unseen_groups: int
    keeps_everything: bool
    truncated: int
    query_truncated: bool
    degraded: int
    reasons: tuple[str, ...]
    calibration_id: str | None
    alpha: str | None
    delta: str | None
    unit: str | None
    target: str | None
    chunk_ns: int = field(compare=False)
    encode_ns: int = field(compare=False)
    score_ns: int = field(compare=False)
    keep_ns: int = field(compare=False)
    total_ns: int = field(compare=False)


@dataclass(frozen=True)
class FilterResult:
    """The candidates of one request, kept and dropped.

    Attributes
    ----------
    items : sequence
        The candidates as given (or snippets, or positions where nothing was given).
    scores : ndarray, shape (n,)
        The score of each candidate; NaN where scoring failed.
    kept_indices : ndarray of intp
        Positions of those kept, ascending.
    threshold : Threshold, or a rule of another family
    """

    items: Sequence[Any] | Snippets = field(repr=False)
    scores: NDArray[Any] = field(repr=False)
    kept_indices: NDArray[np.intp]
    threshold: Rule
    n_unseen: int = 0
    median_size: float | None = None
    truncated: int = 0
    query_truncated: bool = False
    failed: int = 0
    reasons: tuple[str, ...] = ()
    documents: Sequence[str] | None = field(default=None, repr=False)
    # Chunking, encoding, scoring, keeping, in all.
    stage_ns: tuple[int, int, int, int, int] = field(default=(0, 0, 0, 0, 0), repr=False)

    @cached_property
    def kept(self) -> list[Any]:
        """The items that are kept, in input order."""
        return [self._item(i) for i in self.kept_indices.tolist()]

    @cached_property
    def dropped(self) -> list[Any]:
        """The items that are dropped, in input order."""
        kept = set(self.kept_indices.tolist())
        return [self._item(i) for i in range(len(self.scores)) if i not in kept]

    @property
    def degraded(self) -> bool:
        """Whether a snippet was kept because scoring it failed."""
        return self.failed > 0

    @cached_property
    def stats(self) -> FilterStats:
        """Counts, times and identities of this request. O(n), computed when asked for."""
        threshold = self.threshold
        quartiles = _score_quartiles(self.scores)
        chunk_ns, encode_ns, score_ns, keep_ns, total_ns = self.stage_ns
        return FilterStats(
            n_candidates=len(self.scores),
            n_kept=len(self.kept_indices),
            candidates_range=threshold.candidates_range,
            outside_candidates_range=is_outside(len(self.scores), threshold.candidates_range),
            median_size=self.median_size,
            size_range=threshold.size_range,
            outside_size_range=is_outside(self.median_size, threshold.size_range),
            best_score=None if quartiles is None else quartiles[0],
            score_quantiles=quartiles,
            family=threshold.family,
            threshold=threshold.value,
            slack=threshold.slack,
            unseen_groups=self.n_unseen,
            keeps_everything=threshold.keeps_everything,
            truncated=self.truncated,
            query_truncated=self.query_truncated,
            degraded=self.failed,
            reasons=self.reasons,
            calibration_id=threshold.calibration_id,
            alpha=threshold.alpha,
            delta=threshold.delta,
            unit=threshold.unit,
            target=threshold.target,
            chunk_ns=chunk_ns,
            encode_ns=encode_ns,
            score_ns=score_ns,
            keep_ns=keep_ns,
            total_ns=total_ns,
        )

    def passages(self) -> list[Passage]:
        """The kept text, neighbours that overlap joined, by document and start.

        Raises
        ------
        TypeError
            When the items are not snippets.
        """
        kept = self.kept
        for item in kept:
            if not isinstance(item, Snippet):
                kind = type(item).__name__
                raise TypeError(f"passages are made of snippets, and the items are {kind}")
        merged = _merge_spans([(s.document, s.start, s.end) for s in kept])
        return [
            Passage(document, start, end, self._text(kept, document, start, end))
            for document, start, end in merged
        ]

    def _text(self, kept: Sequence[Snippet], document: int, start: int, end: int) -> str:
        if self.documents is not None:
            return self.documents[document][start:end]
        # Snippets of the caller: their own texts, each from where the last one ended.
        out, at = [], start
        for s in sorted(kept, key=lambda s: (s.document, s.start)):
            if s.document == document and start <= s.start and s.end <= end and s.end > at:
                out.append(s.text[at - s.start :])
                at = s.end
        return "".join(out)

    def explain(self) -> str:
        """One line for the rule and one for each candidate: decision, score, where, text."""
        return "\n".join(self._explained())

    def _explained(self) -> Iterator[str]:
        t = self.threshold
        promise = f"alpha {t.alpha}, unit {t.unit}" if t.alpha else "fixed, no promise"
        yield f"{_rule_in_words(t)} ({promise})"
        kept = set(self.kept_indices.tolist())
        for i, score in enumerate(self.scores.tolist()):
            item = self._item(i)
            if isinstance(item, Snippet):
                words = " ".join(item.text.split())[:70]
                where = f"document {item.document} [{item.start}:{item.end}] {words}"
            else:
                where = repr(item)[:90]
            decision = "keep" if i in kept else "drop"
            note = "failed" if score != score else f"{score:.4f}"
            yield f"{decision}  {note:>7}  {where}"

    def _item(self, i: int) -> Any:
        item = self.items[i]
        if isinstance(item, Snippet) and item.score is None:
            return item.with_score(float(self.scores[i]))
        return item

    def __len__(self) -> int:
        return len(self.scores)


def _rule_in_words(rule: Rule) -> str:
    if isinstance(rule, GroupThresholds):
        each = (f"{name}: {_rule_in_words(one)}" for name, one in rule.thresholds.items())
        return "by group, " + "; ".join(each)
    if rule.keeps_everything:
        return "keep everything"
    if rule.family == "top_k":
        return f"keep the best {rule.value:.0f} snippets"
    if rule.family == "tokens":
        return f"keep the best snippets up to {rule.value:.0f} {rule.size_unit or 'tokens'} in all"
    relative = "the query's mean " if rule.family == "relative" else ""
    limit = rule.value + rule.slack
    return f"keep scores up to {relative}{limit:{'+' if relative else ''}.6g}"
