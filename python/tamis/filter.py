"""Filtering a request: query and documents, vectors, or scores in; what is kept out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tamis._tamis import Calibration, Chunker, GroupThresholds, Rule, Threshold
from tamis.callback import Callback
from tamis.encoder import TextTooLongError
from tamis.environment import warn_of_candidates, warn_of_differences, warn_of_sizes
from tamis.keeping import CODE_POINTS, Groups, Kept, groups_by_document, keep_scored, sizes_of
from tamis.result import FilterResult, is_outside
from tamis.scorer import Identity, QueryTooLongError, Scored, Scorer, rebuild


class Filter:
    """Keeps the snippets whose score is at most the threshold, or that another rule keeps.

    Parameters
    ----------
    threshold : Threshold, RelativeThreshold, TopK, TokenBudget or GroupThresholds
        From `Calibration.threshold`, or `Threshold.fixed` for one without a promise.
    scorer : Scorer or str, optional
        A scorer, or the identity declared at calibration where vectors or scores come from
        elsewhere. Must be the calibrated one.
    chunker : Chunker or str, optional
        Likewise.
    size : callable, optional
        A function from a text to its size, an int, in the unit of the threshold's sizes
        (`Rule.size_unit`): for a token budget over texts. Sizes in code points are counted without.
    allow_keep_all : bool
        Accept an infinite threshold, which keeps everything.
    on_result : callable, optional
        Called with each `FilterResult` before it is returned, on the caller's thread: for metrics,
        from `FilterResult.stats`. It adds its own time to the request and should not wait; several
        threads may be in it at once. An `Exception` that it raises never reaches the request: the
        first is logged as an error by the logger "tamis", later ones at level debug. A call that
        itself raises has no result.

    Raises
    ------
    TypeError
        `on_result` or `size` is not callable, or `on_result` is a coroutine function.
    IdentityMismatch
        Scorer or chunker is not the calibrated one; names the fields and both values.
    ValueError
        The threshold is infinite; says how many topics are needed. `size` beside sizes in code
        points.

    Warns
    -----
    UserWarning
        At a request, once per process and calibration: it has fewer or more candidates than 98 in
        100 of the calibration's queries, or its median snippet is shorter or longer than 98 in 100
        of the calibration's; `FilterStats.outside_candidates_range` and `outside_size_range` say so
        of each.

    Notes
    -----
    What is promised holds for snippets that retrieval returned, on average over new units of the
    threshold's kind (marginally), if they are exchangeable with the calibration set. Safe to share
    between threads and to pickle, if scorer and `on_result` are.
    """

    def __init__(
        self,
        threshold: Rule,
        scorer: Scorer | Identity | None = None,
        chunker: Chunker | Identity | None = None,
        *,
        size: Callable[[str], int] | None = None,
        allow_keep_all: bool = False,
        on_result: Callable[[FilterResult], object] | None = None,
    ) -> None:
        if not isinstance(threshold, Rule):
            hint = "; use Calibration.threshold(alpha) or Threshold.fixed(value)"
            raise TypeError(f"threshold must be a Threshold, got {type(threshold).__name__}{hint}")
        if size is not None and not callable(size):
            raise TypeError(f"size must be a function of a text, got {type(size).__name__}")
        if size is not None and threshold.size_unit == CODE_POINTS:
            raise ValueError(
                "calibrated with sizes in code points, which are counted without size="
            )
        threshold._check_scorer(scorer)
        threshold._check_chunker(chunker)
        if threshold.keeps_everything and not allow_keep_all:
            raise ValueError(_keeps_everything(threshold))
        self.threshold = threshold
        self.scorer = scorer
        self.chunker = chunker
        self.size = size
        # What looks at one score at a time is served by the fused kernel.
        self._fused = threshold if isinstance(threshold, Threshold) else None
        self._grouping = threshold.grouping if isinstance(threshold, GroupThresholds) else None
        self._candidates_range = threshold.candidates_range
        self._on_result = None if on_result is None else Callback("on_result", on_result)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        alpha: Any,
        unit: Literal["topic", "query", "snippet"] = "topic",
        scorer: Scorer | Identity | None = None,
        chunker: Chunker | Identity | None = None,
        *,
        target: Literal["recall", "all", "evidence"] = "recall",
        family: Literal["threshold", "relative", "top_k", "tokens"] = "threshold",
        delta: Any = None,
        by_group: bool = False,
        on_long: Literal["error", "truncate"] = "error",
        model: str | os.PathLike[str] | None = None,
        size: Callable[[str], int] | None = None,
        allow_keep_all: bool = False,
        on_result: Callable[[FilterResult], object] | None = None,
    ) -> Filter:
        """A filter from a calibration file.

        Parameters
        ----------
        path : path
            Made by `Calibration.save`.
        alpha : float, str, Decimal or Fraction
        unit : {"topic", "query", "snippet"}
        scorer, chunker : optional
            By default rebuilt from what the file names, where tamis can (its own encoders and
            chunker). Scores and vectors of your own: the identities declared at calibration.
        target, family, delta, by_group : optional
            As `Calibration.threshold`.
        on_long : {"error", "truncate"}
            For a rebuilt scorer: what happens to a snippet longer than its model reads.
        model : str or path, optional
            For a rebuilt scorer: its model, where it is not an installed one.
        size, allow_keep_all, on_result : optional
            As for `Filter`.

        Warns
        -----
        UserWarning
            Once per process: another runtime, machine or tamis version than recorded in the file.
        """
        calibration = Calibration.load(path)
        threshold = calibration.threshold(
            alpha, unit, target, family=family, delta=delta, by_group=by_group
        )
        warn_of_differences(calibration.environment)
        if chunker is None and isinstance(calibration.chunker, dict):
            known = calibration.chunker
            if known.get("chunker") == "sentences":
                chunker = Chunker(known.get("max_chars"), known.get("overlap"))
        if scorer is None and calibration.scorer is not None:
            scorer = rebuild(calibration.scorer, on_long, model)
        return cls(
            threshold,
            scorer,
            chunker,
            size=size,
            allow_keep_all=allow_keep_all,
            on_result=on_result,
        )

    def __repr__(self) -> str:
        return f"Filter({self.threshold!r})"

    def __call__(
        self, query: str, documents: Sequence[str], *, group: Groups | None = None
    ) -> FilterResult:
        """Chunk, score and filter texts.

        Parameters
        ----------
        query : str
        documents : sequence of str
            Blank ones give no snippet; none at all gives an empty result.
        group : str or sequence, optional
            For `GroupThresholds` whose groups are yours: the group (or a tuple of groups) of each
            document, or one of all.

        Returns
        -------
        FilterResult
            Its items are `Snippet` with their scores. A snippet that could not be scored is kept,
            and the result is `degraded`.

        Raises
        ------
        TypeError
            Not texts, or this filter has no scorer that can score texts.
        ValueError
            A blank query; a query, or a snippet of a document, longer than the encoder reads,
            naming it; a lone surrogate.
        """
        begin = perf_counter_ns()
        if not isinstance(query, str):
            raise TypeError(f"query must be a str, got {type(query).__name__}")
        if not query.strip():
            raise ValueError("query is blank")
        if isinstance(documents, (str, bytes)) or not isinstance(documents, Sequence):
            kind = type(documents).__name__
            raise TypeError(f"documents must be a sequence of str, got {kind}")
        chunker = Chunker() if self.chunker is None else self.chunker
        if not isinstance(chunker, Chunker):
            raise TypeError("filtering texts needs a Chunker; this filter has an identity only")
        if not hasattr(self.scorer, "score"):
            raise TypeError("filtering texts needs a scorer with a score method")
        try:
            query.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(
                f"query holds a lone surrogate at {error.start} and is no Unicode text"
            ) from None
        chunking = perf_counter_ns()
        try:
            snippets = chunker.chunk_many(documents)
        except (TypeError, ValueError) as error:
            # The chunker's own argument is called texts.
            raise type(error)(str(error).replace("texts", "documents", 1)) from None
        texts = snippets.texts()
        scoring = perf_counter_ns()
        scored, reasons = self._score(query, texts, snippets)
        scores = scored.scores
        keeping = perf_counter_ns()
        failed = ~np.isfinite(scores)
        scores = np.where(failed, np.nan, scores)
        sizes = sizes_of(self.threshold, snippets, texts, self.size)
        budgeted = sizes if self.threshold.family == "tokens" else None
        groups = self._groups(group, snippets, texts, len(documents))
        kept = keep_scored(self.threshold, scores, budgeted, groups)
        end = perf_counter_ns()
        result = FilterResult(
            items=snippets,
            scores=scores,
            kept_indices=kept.indices,
            threshold=self.threshold,
            n_unseen=kept.n_unseen,
            median_size=_median(sizes),
            truncated=len(scored.truncated),
            query_truncated=scored.query_truncated,
            failed=int(failed.sum()),
            reasons=(*reasons, *kept.reasons),
            documents=list(documents),
            stage_ns=(
                scoring - chunking,
                scored.encode_ns,
                keeping - scoring - scored.encode_ns,
                end - keeping,
                perf_counter_ns() - begin,
            ),
        )
        return self._told(result)

    def _groups(
        self, group: Groups | None, snippets: Any, texts: Sequence[str], n_documents: int
    ) -> Groups | None:
        """The groups of snippets, given or made from their texts."""
        if self._grouping is None:
            return None if group is None else groups_by_document(group, snippets, n_documents)
        if group is not None:
            raise ValueError(f"groups by {self._grouping} are made from the texts, without group=")
        from tamis.groups import groups_of

        return groups_of(texts, self._grouping)

    def _score(self, query: str, texts: list[str], snippets: Any) -> tuple[Scored, tuple[str, ...]]:
        """Scores, all NaN where the scorer failed, and the reasons of failures."""
        if not texts:
            return Scored(np.empty(0, np.float32), ()), ()
        scorer: Any = self.scorer
        nothing = np.full(len(texts), np.nan, np.float32)
        try:
            if hasattr(scorer, "score_counted"):
                scored = scorer.score_counted(query, texts)
                scores, truncated = np.asarray(scored.scores), tuple(scored.truncated)
                long_query = bool(getattr(scored, "query_truncated", False))
                encode_ns = int(getattr(scored, "encode_ns", 0))
            else:
                scores, truncated = np.asarray(scorer.score(query, texts)), ()
                long_query, encode_ns = False, 0
        except QueryTooLongError:
            raise
        except TextTooLongError as error:
            document = snippets[error.index].document if error.index < len(texts) else None
            raise ValueError(f"document {document}: {error}") from error
        except Exception as error:  # fail open: nothing is lost because a scorer broke
            return Scored(nothing, ()), (f"{type(error).__name__}: {error}",)
        if scores.shape != (len(texts),) or scores.dtype.kind not in "fiu":
            wrong = f"the scorer gave {scores.dtype} of shape {scores.shape}"
            return Scored(nothing, truncated, long_query, encode_ns), (wrong,)
        if scores.dtype not in (np.float64, np.float32, np.float16):
            scores = scores.astype(np.float64)
        bad = int((~np.isfinite(scores)).sum())
        reasons = (f"{bad} scores are not finite",) if bad else ()
        return Scored(scores, truncated, long_query, encode_ns), reasons

    def filter_vectors(
        self,
        query_vector: Any,
        matrix: Any,
        items: Sequence[Any] | None = None,
        *,
        size: Sequence[int] | None = None,
        group: Groups | None = None,
        unit_rows: bool | None = None,
        threads: int | None = None,
    ) -> FilterResult:
        """Score and filter embeddings that you hold already.

        Parameters
        ----------
        query_vector : ndarray of float32, float16 or int8, shape (d,)
        matrix : ndarray of float32, float16 or int8, shape (n, d)
            One row per candidate; last axis contiguous. Not to be written to during the call. Both
            may be anything that `tamis.arrays` makes a view of: tensors, buffers, Arrow arrays.
        items : sequence of n, optional
            Given back as they are (a `Snippet` without a score gets it); by default the result
            holds positions.
        size, group : optional
            As `filter_scores`.
        unit_rows, threads : optional
            As `Threshold.select`.

        Raises
        ------
        ValueError
            Dimensions differ, a vector is zero or not finite (named by its row), items are not n;
            as `filter_scores` for sizes and groups.
        TypeError
            Another dtype or layout; names it and the call that mends it.

        Notes
        -----
        Scores and decisions are made here; everything else of the result when it is asked for.
        """
        begin = perf_counter_ns()
        if self._fused is not None and size is None and group is None:
            indices, scores = self._fused._select_scored(query_vector, matrix, unit_rows, threads)
            score_ns = perf_counter_ns() - begin
            return self._told(self._result(scores, Kept(indices), items, begin, score_ns=score_ns))
        scores = self.threshold._scores(query_vector, matrix, unit_rows, threads)
        score_ns = perf_counter_ns() - begin
        result = self._by_scores(scores, scores, items, size, group, begin, score_ns)
        return self._told(result)

    def filter_scores(
        self,
        scores: Any,
        items: Sequence[Any] | None = None,
        *,
        size: Sequence[int] | None = None,
        group: Groups | None = None,
    ) -> FilterResult:
        """Filter by nonconformity scores that you hold already (lower is more relevant).

        Parameters
        ----------
        scores : sequence of float, or ndarray of float64, float32 or float16, shape (n,)
            A similarity s becomes 1 − s.
        items : sequence of n, optional
            Given back as they are; by default the result holds positions.
        size : sequence of int, shape (n,), optional
            Sizes of the candidates in the threshold's unit: needed for a token budget, else only
            for `FilterStats.median_size`.
        group : str or sequence, shape (n,), optional
            For `GroupThresholds`: the group (or a tuple of groups) of each candidate, or one of
            all.

        Raises
        ------
        ValueError
            A score is not finite (named by its position), or items are not n; sizes or groups are
            missing, not n, or given to a rule that has no groups.
        """
        begin = perf_counter_ns()
        if not isinstance(scores, np.ndarray):
            # Read once: it may be a generator.
            scores = list(scores) if not isinstance(scores, (str, bytes)) else scores
        # A copy, so that a later write to the caller's array does not change the result.
        own = np.array(scores) if isinstance(scores, np.ndarray) else None
        return self._told(self._by_scores(scores, own, items, size, group, begin))

    def _by_scores(
        self,
        scores: Any,
        own: NDArray[Any] | None,
        items: Sequence[Any] | None,
        size: Sequence[int] | None,
        group: Groups | None,
        begin: int,
        score_ns: int = 0,
    ) -> FilterResult:
        keeping = perf_counter_ns()
        budgeted = size if self.threshold.family == "tokens" else None
        kept = Kept(*self.threshold._keep_counted(scores, budgeted, group))
        keep_ns = perf_counter_ns() - keeping
        own = np.array(scores, np.float64) if own is None else own
        if size is not None and len(size) != len(own):
            raise ValueError(f"size has {len(size)} entries, there are {len(own)} scores")
        result = self._result(own, kept, items, begin, score_ns, keep_ns)
        if size is not None:
            result.__dict__["median_size"] = _median(np.asarray(size))
        return result

    def _result(
        self,
        scores: NDArray[Any],
        kept: Kept,
        items: Sequence[Any] | None,
        begin: int,
        score_ns: int = 0,
        keep_ns: int = 0,
    ) -> FilterResult:
        if items is None:
            items = range(len(scores))
        elif len(items) != len(scores):
            raise ValueError(f"items has {len(items)} entries, there are {len(scores)} scores")
        # A frozen dataclass sets field by field, which costs more than selecting among a few rows.
        # Fields that are not set here read as their defaults.
        result = object.__new__(FilterResult)
        result.__dict__.update(
            items=items,
            scores=scores,
            kept_indices=kept.indices,
            threshold=self.threshold,
            n_unseen=kept.n_unseen,
            stage_ns=(0, 0, score_ns, keep_ns, perf_counter_ns() - begin),
        )
        return result

    def _told(self, result: FilterResult) -> FilterResult:
        """The result, after whoever asked for it has been told."""
        n_candidates = len(result.scores)
        if is_outside(n_candidates, self._candidates_range):
            warn_of_candidates(n_candidates, self.threshold)
        if is_outside(result.median_size, self.threshold.size_range):
            warn_of_sizes(result.median_size, self.threshold)
        if self._on_result is not None:
            self._on_result(result)
        return result


def _median(sizes: NDArray[Any] | None) -> float | None:
    return None if sizes is None or not len(sizes) else float(np.median(sizes))


def _keeps_everything(threshold: Rule) -> str:
    if threshold.alpha is None:
        return "the threshold is infinite and keeps everything; allow_keep_all=True accepts that"
    if threshold.n_units_needed is None:
        return (
            f"at alpha {threshold.alpha} the threshold is infinite: {threshold.n_units} units do "
            "not suffice for this promise; use a larger alpha or delta, label more, or pass "
            "allow_keep_all=True"
        )
    unit = f"{threshold.unit}s" if threshold.unit != "query" else "queries"
    return (
        f"at alpha {threshold.alpha} the threshold is infinite: it needs at least "
        f"{threshold.n_units_needed} {unit} with a relevant snippet, and the calibration has "
        f"{threshold.n_units}; use a larger alpha, label more, or pass allow_keep_all=True"
    )
