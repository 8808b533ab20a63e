"""Repeated splits by topic: calibrate on one half, look at the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tamis._tamis import Calibration, Chunker
from tamis.calibration import fit_scored
from tamis.evaluation.measures import Measures, Table
from tamis.labelled import LabelledQuery
from tamis.progress import progress_bar
from tamis.scored import ScoredQueries, score_queries
from tamis.scorer import EmbeddingScorer, Scorer

ALPHAS = ("0.05", "0.1", "0.2")


@dataclass(frozen=True)
class AlphaSplits:
    """One alpha over all splits.

    Attributes
    ----------
    alpha : str
        As written.
    thresholds : ndarray of float64, shape (n_splits,)
        +infinity where the calibration half was too small.
    measures : dict of str to ndarray of float64, shape (n_splits,)
        The fields of `Measures`.
    """

    alpha: str
    thresholds: NDArray[np.float64]
    measures: dict[str, NDArray[np.float64]]

    def mean(self, name: str) -> float:
        """Mean over the splits."""
        return float(np.mean(self.measures[name]))

    def sd(self, name: str) -> float:
        """Standard deviation over the splits: the spread of one run, not of the mean."""
        return float(np.std(self.measures[name], ddof=1)) if len(self.thresholds) > 1 else 0.0

    def range(self, name: str) -> tuple[float, float]:
        """5th and 95th percentile over the splits."""
        low, high = np.quantile(self.measures[name], [0.05, 0.95])
        return float(low), float(high)

    @property
    def keeps_everything(self) -> float:
        """Share of the splits whose threshold is infinite."""
        return float(np.isinf(self.thresholds).mean())

    def held(self, unit: str) -> bool:
        """Whether the mean is at least 1 − alpha − 3 Monte-Carlo standard errors."""
        name = PROMISED[unit]
        error = self.sd(name) / len(self.thresholds) ** 0.5
        return bool(self.mean(name) >= self.nominal - 3 * error)

    @property
    def nominal(self) -> float:
        """1 − alpha, for words and comparison with a mean."""
        return nominal(self.alpha)


def nominal(alpha: str) -> float:
    """1 − alpha of a level as written, decimal or fraction."""
    return 1 - float(Fraction(alpha))


PROMISED = {"topic": "recall_topic", "query": "recall_query", "snippet": "coverage"}


@dataclass(frozen=True)
class Evaluation:
    """Repeated topic-disjoint splits of labelled data.

    Attributes
    ----------
    alphas : tuple of AlphaSplits
    unit : str
        What the thresholds promise for.
    n_splits, seed : int
    n_queries, n_answerable, n_units, n_candidates, n_relevant : int
    n_distinct, n_truncated, n_truncated_queries : int
        Distinct snippets; how many, and how many queries, the encoder did not read to their end.
    n_spans, n_spans_lost : int
        Labelled spans; those that no snippet holds.
    n_unretrieved : int or None
        Labelled spans that retrieval did not return; None when the labels do not say.
    auc : float or None
    """

    alphas: tuple[AlphaSplits, ...]
    unit: str
    n_splits: int
    seed: int
    n_queries: int
    n_answerable: int
    n_units: int
    n_candidates: int
    n_relevant: int
    n_distinct: int
    n_truncated: int
    n_truncated_queries: int
    n_spans: int
    n_spans_lost: int
    n_unretrieved: int | None
    auc: float | None

    @property
    def held(self) -> bool:
        """Whether every promise was held."""
        return all(alpha.held(self.unit) for alpha in self.alphas)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: counts, and mean, sd and 5–95 % range of every measure."""
        head = {k: v for k, v in asdict(self).items() if k != "alphas"}
        rows = []
        for alpha in self.alphas:
            row: dict[str, Any] = {
                "alpha": alpha.alpha,
                "held": alpha.held(self.unit),
                "keeps_everything": alpha.keeps_everything,
            }
            for name in alpha.measures:
                low, high = alpha.range(name)
                row[name] = {
                    "mean": _plain(alpha.mean(name)),
                    "sd": _plain(alpha.sd(name)),
                    "p05": _plain(low),
                    "p95": _plain(high),
                }
            rows.append(row)
        return {**head, "held": self.held, "promised": PROMISED[self.unit], "alphas": rows}

    def __str__(self) -> str:
        return "\n".join(_words(self))


def _plain(value: float) -> float | None:
    return None if value != value else value


def _words(e: Evaluation) -> list[str]:
    lines = [
        f"{e.n_queries} queries ({e.n_answerable} answerable) in {e.n_units} independent units "
        f"with evidence, {e.n_candidates} candidate snippets ({e.n_distinct} distinct), "
        f"{e.n_relevant} relevant",
        f"{e.n_splits} random splits into halves by unit, seed {e.seed}; "
        f"promised: {PROMISED[e.unit].replace('_', ' by ')} at least 1 - alpha, on average",
        "",
        "          promised                               snippets removed   characters removed",
        " alpha  recall  mean  5-95 %       coverage evidence   all  labelled      all  labelled",
    ]
    name = PROMISED[e.unit]
    for a in e.alphas:
        low, high = a.range(name)
        note = "" if a.held(e.unit) else "  NOT HELD"
        if a.keeps_everything:
            note += f"  keeps everything in {a.keeps_everything:.0%} of the splits"
        lines.append(
            f"{a.alpha:>6}  {a.nominal:6.1%} {a.mean(name):6.1%} {low:6.1%}-{high:6.1%}"
            f"  {a.mean('coverage'):6.1%}  {a.mean('evidence'):6.1%}"
            f"  {a.mean('removed'):6.1%}  {a.mean('removed_labelled'):6.1%}"
            f"   {a.mean('characters'):6.1%}  {a.mean('characters_labelled'):6.1%}{note}"
        )
    lines += [
        "",
        '"labelled": within documents that hold evidence; "all" also counts easy distractors',
    ]
    if e.n_unretrieved is None:
        lines.append("what retrieval lost is unknown: recall is of what it returned")
    elif e.n_spans + e.n_unretrieved:
        found = e.n_spans / (e.n_spans + e.n_unretrieved)
        for a in e.alphas:
            total = found * a.mean(name)
            lines.append(
                f"retrieval finds {found:.1%} of the evidence, at alpha {a.alpha} the filter keeps "
                f"{a.mean(name):.1%} of that: {total:.1%} end to end"
            )
    if e.n_spans_lost:
        lines.append(f"{e.n_spans_lost} of {e.n_spans} labelled spans lie in no snippet")
    if e.n_truncated:
        lines.append(
            f"{e.n_truncated} snippets were longer than the encoder reads and were truncated"
        )
    if e.n_truncated_queries:
        lines.append(f"{e.n_truncated_queries} queries likewise")
    half = e.n_units // 2
    if half < 20:
        lines.append(
            f"warning: a half has only {half} units: a correct filter often lies below its promise "
            "in a single split, and how much is removed is a matter of luck"
        )
    return lines


def evaluate(
    labelled: Iterable[LabelledQuery],
    scorer: Scorer | None = None,
    chunker: Chunker | None = None,
    alphas: Sequence[Any] = ALPHAS,
    *,
    unit: Literal["topic", "query", "snippet"] = "topic",
    topic: Literal["query"] | None = None,
    n_splits: int = 200,
    seed: int = 0,
    check_direction: bool = True,
    progress: bool | None = None,
) -> Evaluation:
    """Calibrate on random halves of the topics and measure on the other halves.

    Parameters
    ----------
    labelled : iterable of LabelledQuery
    scorer : Scorer, optional
        By default `EmbeddingScorer()`.
    chunker : Chunker, optional
        By default `Chunker()`.
    alphas : sequence of float, str, Decimal or Fraction
    unit : {"topic", "query", "snippet"}
        The unit of the promise. Splits are by topic in any case.
    topic : "query", optional
        Declares queries independent of each other.
    n_splits, seed : int
        To be fixed before looking at a result.
    check_direction : bool
        Refuse scores that look like similarities.
    progress : bool, optional
        Show bars on standard error; by default only on a terminal.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        As `calibrate`; fewer than two independent units.

    Notes
    -----
    Cost: each distinct snippet is encoded once; every split is O(candidates) array work.
    """
    scored = score_queries(labelled, scorer or EmbeddingScorer(), chunker or Chunker(), progress)
    calibration = fit_scored(scored, topic=topic, check_direction=check_direction)
    return evaluate_scored(scored, calibration, alphas, unit, n_splits, seed, progress)


def evaluate_scored(
    scored: ScoredQueries,
    calibration: Calibration,
    alphas: Sequence[Any] = ALPHAS,
    unit: Literal["topic", "query", "snippet"] = "topic",
    n_splits: int = 200,
    seed: int = 0,
    progress: bool | None = None,
) -> Evaluation:
    """As `evaluate`, for queries that are scored and calibrated already."""
    if n_splits < 1:
        raise ValueError(f"n_splits must be at least 1, got {n_splits}")
    units = unit_of_query(scored, calibration)
    table = Table(scored, units)
    n_units = len(np.unique(units[table.answerable]))
    if n_units < 2:
        raise ValueError(
            f"{n_units} independent unit with a relevant snippet: two are needed to split"
        )
    place = {query.query_id: i for i, query in enumerate(scored.queries)}
    calibrated = np.array([place[name] for name in calibration.query_ids or []])
    written = [calibration.threshold(alpha, unit=unit).alpha or "" for alpha in alphas]
    names = [field.name for field in fields(Measures)]
    thresholds = np.empty((len(written), n_splits))
    values = np.empty((len(written), len(names), n_splits))
    random = np.random.default_rng(seed)
    everything = np.unique(units)
    with progress_bar(n_splits, "splits", progress) as tick:
        for split in range(n_splits):
            half = _half(random, everything, units, table.answerable)
            part = calibration.restrict(half[calibrated])
            for i, alpha in enumerate(written):
                threshold = part.threshold(alpha, unit=unit)
                thresholds[i, split] = threshold.value
                measures = table.measure(threshold.value + threshold.slack, ~half)
                values[i, :, split] = [getattr(measures, name) for name in names]
            tick(1)
    return Evaluation(
        alphas=tuple(
            AlphaSplits(alpha, thresholds[i], dict(zip(names, values[i], strict=True)))
            for i, alpha in enumerate(written)
        ),
        unit=unit,
        n_splits=n_splits,
        seed=seed,
        n_queries=len(scored.queries),
        n_answerable=int(table.answerable.sum()),
        n_units=n_units,
        n_candidates=len(scored.scores),
        n_relevant=int(scored.relevant.sum()),
        n_distinct=scored.n_distinct,
        n_truncated=scored.n_truncated,
        n_truncated_queries=scored.n_truncated_queries,
        n_spans=len(scored.evidence_query),
        n_spans_lost=int(np.isnan(scored.evidence_score).sum()),
        n_unretrieved=scored.n_unretrieved,
        auc=calibration.auc,
    )


def unit_of_query(scored: ScoredQueries, calibration: Calibration) -> NDArray[np.int64]:
    """The unit of each of the scored queries; one without candidates is a unit of its own."""
    unit = dict(zip(calibration.query_ids or [], calibration.units, strict=True))
    fresh = len(unit)
    return np.array(
        [unit.get(query.query_id, fresh + i) for i, query in enumerate(scored.queries)], np.int64
    )


def _half(
    random: np.random.Generator,
    everything: NDArray[np.int64],
    units: NDArray[np.int64],
    answerable: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """A random half of the units, as a mark on queries, with something relevant on both sides."""
    while True:
        chosen = random.permutation(everything)[: len(everything) // 2]
        half = np.isin(units, chosen)
        if (half & answerable).any() and (~half & answerable).any():
            return half
