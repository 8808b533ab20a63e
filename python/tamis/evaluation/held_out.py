"""A calibration file on new topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from tamis._tamis import Calibration
from tamis.calibration import fit_scored
from tamis.evaluation.measures import Measures, Table
from tamis.evaluation.splits import ALPHAS, nominal, unit_of_query
from tamis.scored import ScoredQueries

_BOOTSTRAPS = 10_000


@dataclass(frozen=True)
class HeldOut:
    """One alpha of a calibration file on topics that are not in it.

    Attributes
    ----------
    alpha : str
    threshold : float
    measures : Measures
    upper : float
        Upper end of a one-sided 95 % interval of the promised mean: percentile bootstrap by unit.
    n_units : int
    held : bool
        Whether the upper end reaches 1 − alpha.
    """

    alpha: str
    threshold: float
    measures: Measures
    upper: float
    n_units: int
    held: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite threshold is null."""
        row = asdict(self)
        row["threshold"] = self.threshold if np.isfinite(self.threshold) else None
        return row


def evaluate_calibration(
    scored: ScoredQueries,
    calibration: Calibration,
    alphas: Sequence[Any] = ALPHAS,
    unit: Literal["topic", "query", "snippet"] = "topic",
    seed: int = 0,
) -> list[HeldOut]:
    """Measure a calibration on new topics.

    Raises
    ------
    ValueError
        A query or topic of the data is in the calibration, naming it; nothing relevant.
    IdentityMismatch
        The data were scored or chunked by something else.
    """
    _refuse_known(scored, calibration)
    own = fit_scored(scored, check_direction=False)
    table = Table(scored, unit_of_query(scored, own))
    everything = np.ones(table.n_queries, np.bool_)
    rows = []
    for alpha in alphas:
        threshold = calibration.threshold(alpha, unit=unit)
        threshold._check_scorer(scored.scorer)
        threshold._check_chunker(scored.chunker)
        limit = threshold.value + threshold.slack
        measures = table.measure(limit, everything)
        kept, whole = table.promised_by_unit(limit, unit)
        random = np.random.default_rng(seed)
        draws = random.integers(0, len(kept), (_BOOTSTRAPS, len(kept)))
        shares = kept[draws].sum(axis=1) / whole[draws].sum(axis=1)
        upper = float(np.quantile(shares, 0.95))
        written = threshold.alpha or ""
        held = upper >= nominal(written)
        rows.append(HeldOut(written, threshold.value, measures, upper, len(kept), held))
    return rows


def _refuse_known(scored: ScoredQueries, calibration: Calibration) -> None:
    known = set(calibration.query_ids or [])
    topics = set(calibration.topic_ids or [])
    for query in scored.queries:
        if query.query_id in known:
            raise ValueError(f"query {query.query_id!r} is in the calibration: it is not new")
        if query.topic is not None and query.topic in topics:
            raise ValueError(f"topic {query.topic!r} is in the calibration: it is not new")
