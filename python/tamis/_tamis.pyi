"""Native half of tamis.

What is exported here is used from the package: `tamis.Calibration`, `tamis.Threshold` and so on.
This file is their documentation.

Conventions, which hold everywhere:

- Scores are nonconformity scores: **lower is more relevant**. A similarity s becomes 1 - s.
- Positions in text are code points, half-open: ``text[s.start:s.end] == s.text``.
- Levels (`alpha`, `coverage`) are read as the decimal that was written (a str, Decimal, Fraction,
  or the shortest decimal of a float) and used in exact integer arithmetic.
- Arrays are borrowed, not copied, where their layout allows it. Another thread must not write to an
  input array during a call. The interpreter's lock is released where the text or rows that are
  touched reach 64 KiB.
- An embedding is a numpy array, or any object that `tamis.arrays` makes a view of without copying:
  DLPack in the processor's memory (tensors), buffers (memoryview, array.array), and Arrow arrays
  (a FixedSizeList of float32, float16 or int8 is a matrix).
- A bad argument is a `ValueError` or `TypeError` that names it, its index and what was received.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import (
    Any,
    Literal,
    Protocol,
    SupportsIndex,
    TypeAlias,
    final,
    overload,
    type_check_only,
)

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

_Level: TypeAlias = float | str | Decimal | Fraction | np.floating[Any]
_Numbers: TypeAlias = (
    Iterable[float] | NDArray[np.float64] | NDArray[np.float32] | NDArray[np.float16]
)
# An array, or what `tamis.arrays` makes a view of: DLPack, a buffer, Arrow.
_Embedding: TypeAlias = NDArray[np.float32] | NDArray[np.float16] | NDArray[np.int8] | Any
_Labels: TypeAlias = Iterable[bool | int | float] | NDArray[np.bool_] | NDArray[np.integer[Any]]
_Ids: TypeAlias = Iterable[str] | Iterable[int] | NDArray[np.integer[Any]] | NDArray[np.str_]
_Unit: TypeAlias = Literal["topic", "query", "snippet"]
_Target: TypeAlias = Literal["recall", "total", "all", "evidence"]
_Family: TypeAlias = Literal["threshold", "relative", "top_k", "tokens"]
# The group of each row, or the groups of each.
_Groups: TypeAlias = _Ids | Iterable[Sequence[str]] | Iterable[Sequence[int]]
_IdentityOut: TypeAlias = str | dict[str, Any] | None

@type_check_only
class _HasIdentity(Protocol):
    @property
    def identity(self) -> str | Mapping[str, object]: ...

_Identity: TypeAlias = str | Mapping[str, object] | _HasIdentity

__version__: str
_debug_build: bool
_few_units: int

class TamisError(Exception):
    """Base of the errors that are about tamis rather than an argument."""

class CalibrationFileError(TamisError, ValueError):
    """A calibration file that is damaged, foreign or was changed; names the field."""

class IdentityMismatch(TamisError, ValueError):
    """Another scorer, chunker or kind of label than calibrated; names the fields.

    Each field that differs stands in the message with the calibrated value and the one in use. A
    threshold says nothing about scores made by another model, or about snippets cut otherwise.
    """

class ProviderError(TamisError, RuntimeError):
    """An inference provider that is missing, or is not the one asked for."""

class ScorerError(TamisError):
    """A scorer or encoder that failed on a snippet."""

@final
class Chunker:
    """Cuts text into snippets: runs of whole sentences of at most `max_chars` code points.

    Sentences end where UAX #29 ends them, over text in which the newlines of hard-wrapped
    paragraphs count as spaces; blank lines, list items and headings begin anew. Abbreviations,
    initials, addresses and the like end none (see `sentences`). Whole sentences are
    packed into windows. Neighbours share as many whole trailing sentences as fit in `overlap`;
    where not even one fits, the tail of the last sentence from the beginning of a word. A sentence
    that is too long is cut at clause punctuation, else at a space, else between grapheme clusters.

    What always holds: every code point that is not white space lies in a snippet; no snippet is
    longer than `max_chars` or has white space at its ends (unless a combining mark stands on it);
    starts and ends strictly ascend. White space is Unicode's `White_Space` and U+001C to U+001F, as
    in `str.isspace`.

    Parameters
    ----------
    max_chars : int, default 500
        Limit of a snippet in code points, white space inside counted.
    overlap : int, default 100
        Limit of what neighbours share in code points; 0 <= overlap < max_chars.
    segmenter : str, optional
        Name of a sentence segmenter of your own: `chunk` and `chunk_many` then ask for the
        `boundaries` that it found, and the name is part of the identity.

    Raises
    ------
    ValueError
        The limits do not fit; names both.
    TypeError
        A limit that is no integer.

    Notes
    -----
    The defaults are the window of arXiv 2511.17908, section 3.1. Cost: linear in the text. Equal
    chunkers are interchangeable; safe to share between threads and to pickle.

    Examples
    --------
    >>> from tamis import Chunker
    >>> text = "A sieve keeps the grain. It lets the dust fall."
    >>> [s.text for s in Chunker(30, 0).chunk(text)]
    ['A sieve keeps the grain.', 'It lets the dust fall.']
    """

    def __new__(
        cls,
        max_chars: int | None = None,
        overlap: int | None = None,
        segmenter: str | None = None,
    ) -> Chunker: ...
    @property
    def max_chars(self) -> int:
        """The limit of a snippet in code points."""

    @property
    def overlap(self) -> int:
        """The limit of what neighbours share in code points."""

    @property
    def segmenter(self) -> str | None:
        """The name of the caller's sentence segmenter, or None for our own."""

    @property
    def identity(self) -> dict[str, Any]:
        """What two chunkers must agree on to cut alike.

        Flat and JSON-able: the limits, and the version of the boundary rules and tables or the name
        of the caller's segmenter. A calibration stores
        it, and use on another chunking is refused.
        """

    def chunk(self, text: str, boundaries: Sequence[int] | None = None) -> Snippets:
        """The snippets of one text.

        Parameters
        ----------
        text : str
            Blank text has no snippets.
        boundaries : sequence of int, optional
            Where the sentences of a chunker with `segmenter=` end, in code points, strictly
            ascending; the end of the text may be left out. One inside a grapheme cluster is passed
            over.

        Returns
        -------
        Snippets
            All of document 0.

        Raises
        ------
        ValueError
            The text holds a lone surrogate. Boundaries that do not ascend or lie beyond the text
            (named), that are missing although the chunker has a `segmenter`, or given although it
            has none.
        TypeError
            Not a str.
        """

    def chunk_many(
        self,
        texts: Iterable[str],
        boundaries: Iterable[Sequence[int]] | None = None,
        threads: int | None = None,
    ) -> Snippets:
        """The snippets of many texts.

        Parameters
        ----------
        texts : iterable of str
        boundaries : iterable of sequences of int, optional
            For each text as in `chunk`.
        threads : int, optional
            How many threads share the texts; by default 1, the caller's. They live for the call,
            and the result is the same. Other Python threads run meanwhile. Given boundaries are
            read on the caller's thread.

        Returns
        -------
        Snippets
            By document and start; `Snippet.document` is the position of the text.

        Raises
        ------
        ValueError
            A text holds a lone surrogate; names its index.
        TypeError
            One str instead of several, or something else than a str; names its index.
        """

    def sentences(self, text: str) -> Snippets:
        """The sentences of one text.

        What snippets are packed from, each without the white space around it, of any length: by our
        own rules, whatever the limits or the `segmenter`. UAX #29, with single newlines inside a
        paragraph as spaces, less the ends that abbreviations, initials, addresses, list markers and
        quotations only seem to make.

        Raises
        ------
        ValueError
            The text holds a lone surrogate.
        TypeError
            Not a str.

        Examples
        --------
        >>> from tamis import Chunker
        >>> [s.text for s in Chunker().sentences("Dr. Ahn left at 4 p.m. She was late.")]
        ['Dr. Ahn left at 4 p.m.', 'She was late.']
        """

    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Snippets:
    """Snippets of one or more texts, by document and start; nothing is copied until asked for.

    A sequence: ``len``, integer and slice indices (a slice is a list), iteration. It holds on to
    the texts that it cuts. Positions in code points are known from the cutting.
    """

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Snippet: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Snippet]: ...
    def __iter__(self) -> Iterator[Snippet]: ...
    def texts(self) -> list[str]:
        """The texts of all snippets.

        Cost: one str for each snippet.
        """

    def offsets(self) -> NDArray[np.int64]:
        """Where all snippets begin and end in their documents.

        Returns
        -------
        ndarray of int64, shape (n_snippets, 2)
            Start and end (half-open) in code points, in the order of the snippets.

        Notes
        -----
        Cost: one array.

        Examples
        --------
        >>> from tamis import Chunker
        >>> Chunker(30, 0).chunk("A sieve keeps grain. Dust may fall.").offsets().tolist()
        [[0, 20], [21, 35]]
        """

    def _spans(self) -> list[tuple[int, int, int]]:
        """(document, start, end) of all snippets in code points."""

    def _holds(self, document: int, labels: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Which snippet holds which labelled span of a document: pairs (label, snippet), the
        snippet counted in all.

        A snippet holds a span if they share at least half of the shorter of the two, counted in
        code points that are not white space; so our own chunks hold every span that is not blank.

        Parameters
        ----------
        document : int
        labels : list of (int, int)
            Half-open spans in code points of that document.

        Raises
        ------
        IndexError
            No such document.
        ValueError
            A span that is empty, reversed or beyond the text; names it.
        """

    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _rebuild(documents: list[str], spans: list[tuple[int, int, int]]) -> Snippets:
        """The inverse of pickling.

        Spans are in bytes of the text as UTF-8.
        """

@final
class Snippet:
    """A snippet: where it lies, its text, and its score once it has one.

    Parameters
    ----------
    document : int
        Position of the document among those given.
    start, end : int
        Half-open, in code points of the document.
    text : str
        ``document[start:end]``.
    score : float, optional
        Nonconformity score, lower is more relevant.

    Raises
    ------
    ValueError
        The text is not of ``end - start`` code points.

    Notes
    -----
    Immutable, hashable, pickled with its text. Equality compares all five fields.
    """

    def __new__(
        cls, document: int, start: int, end: int, text: str, score: float | None = None
    ) -> Snippet: ...
    @property
    def document(self) -> int:
        """Position of the document among those given."""

    @property
    def start(self) -> int:
        """First code point."""

    @property
    def end(self) -> int:
        """One past the last code point."""

    @property
    def text(self) -> str:
        """The text, equal to `document[start:end]`."""

    @property
    def score(self) -> float | None:
        """The nonconformity score, lower is more relevant; None until filtered."""

    def with_score(self, score: float) -> Snippet:
        """The same snippet with a score."""

    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Calibration:
    """Labelled scores of a set of queries, from which thresholds with a promise are made.

    Made by `fit` from scores and labels, by `tamis.calibrate` from labelled queries, or by `load`
    from a file. Holds the scores of the relevant snippets with their query, topic and group, and a
    summary of all candidates; no text. Immutable; safe to share between threads and to pickle.

    Notes
    -----
    **Exchangeability.** Every promise rests on one assumption: the new unit (topic, query or
    snippet, as asked for) is drawn like the calibration units, so that no order of them is more
    likely than another. Snippets of one query share how hard the query is, and queries on one topic
    share their documents: they are *not* independent draws, and many snippets of few topics are
    worth far fewer. So the default unit is the topic, calibration and test are split by topic (or
    by query where queries are independent), never by snippet, and queries without topic ids that
    share a labelled document are joined into one unit. What breaks the assumption: another corpus
    or kind of question, another embedding model or chunker (refused by identity), another kind of
    label, another retrieval depth, choosing alpha or the scorer by looking at these same queries,
    and time.

    **Marginal.** A promise averages over the draw of the calibration set and of the new unit. It
    does not hold for each query, language or source by itself, nor for one given calibration set.

    **Of what was retrieved.** Evidence that retrieval did not return cannot be kept by a filter; a
    promise is about the snippets that it was given. Units without a relevant snippet are left out,
    so it is about answerable ones.

    Method: split conformal prediction right after retrieval (arXiv 2511.17908, section 3), with
    conformal risk control over topics as the default; see `threshold`.
    """

    @staticmethod
    def fit(
        scores: _Numbers,
        relevant: _Labels,
        *,
        query: _Ids | None = None,
        topic: _Ids | Literal["query"] | None = None,
        document: _Ids | None = None,
        group: _Groups | None = None,
        grouping: Literal["script", "language"] | None = None,
        weight: _Numbers | None = None,
        size: Iterable[int] | None = None,
        size_unit: str | None = None,
        evidence: tuple[Sequence[str], Sequence[float | None], int | None] | None = None,
        scorer: _Identity | None = None,
        chunker: _Identity | None = None,
        labels: _Identity | None = None,
        environment: dict[str, str] | None = None,
        slack: float = 0.0,
        check_direction: bool = True,
    ) -> Calibration:
        """Makes a calibration from scores and labels of candidate snippets.

        Columns are parallel to `scores`: one row for each pair of query and candidate snippet,
        relevant or not. Give all candidates that retrieval returns: irrelevant ones do not move a
        threshold, but they allow the check of direction, ranks and summaries.

        Parameters
        ----------
        scores : ndarray of float64, float32 or float16, shape (n,), or iterable of float
            Nonconformity scores, finite; lower is more relevant.
        relevant : sequence of bool or 0/1, shape (n,)
        query : sequence of str or int, shape (n,), optional
            Query ids. Without them only the pooled unit "snippet" can be asked for.
        topic : sequence of str or int, shape (n,), or "query", optional
            Topic ids, one topic for each query: the independent units. ``topic="query"`` declares
            the queries independent of each other, which is stored in the file.
        document : sequence of str or int, shape (n,), optional
            Document ids. Without topics, queries that share a document with a relevant snippet are
            joined, transitively, and these components are the units.
        group : sequence of str, int or tuples of them, shape (n,), optional
            The group of each snippet (language, source), or its groups where they overlap, stored
            for questions by group.
        grouping : {"script", "language"}, optional
            That these are groups which tamis makes from a text, and so does at use.
        weight : sequence of float, shape (n,), optional
            How much more likely a unit like this row's is in production than here (a likelihood
            ratio up to a factor): positive, finite, one for each unit. For a promise about another
            mix of units; rounded once to 53 bits of the largest.
        size : iterable of int, shape (n,), optional
            Sizes of the snippets in code points or tokens, stored for questions about budgets.
        size_unit : str, optional
            Which of them; kept for information.
        evidence : tuple (query ids, scores, not_retrieved), optional
            One entry for each labelled span: its query, and the lowest score of the snippets that
            hold it (None where none does); and how many spans lie in documents that were not
            retrieved (None: unknown).
        scorer, chunker, labels : str, flat mapping, or object with `.identity`, optional
            What scores, snippets and labels were made by. Where they are your own, any string, to
            be given again at use. What is named here must match at use.
        environment : dict of str to str, optional
            Versions and circumstances; kept for information.
        slack : float, default 0
            Largest change of a score between two runs of the scorer on the same pair.
        check_direction : bool, default True
            Refuse scores whose within-query AUC is below one half, see `auc`.

        Returns
        -------
        Calibration

        Raises
        ------
        ValueError
            A score that is not finite or a label that is not 0 or 1 (named by index), columns of
            another length, nothing relevant, a query of two topics, or scores that look like
            similarities.
        TypeError
            An array of another dtype or shape, or ids that are neither str nor int.

        Notes
        -----
        Cost: O(n log n) time; the result holds the relevant rows only.

        Examples
        --------
        Twenty topics, in each one relevant snippet and one other:

        >>> from tamis import Calibration
        >>> calibration = Calibration.fit(
        ...     scores=[0.2 + 0.01 * t + 0.5 * other for t in range(20) for other in (0, 1)],
        ...     relevant=[1, 0] * 20,
        ...     query=[t for t in range(20) for _ in range(2)],
        ...     topic=[t for t in range(20) for _ in range(2)],
        ... )
        >>> round(calibration.threshold(0.1).value, 2)
        0.38
        """

    @overload
    def threshold(
        self,
        alpha: _Level,
        unit: _Unit = "topic",
        target: _Target = "recall",
        *,
        family: Literal["threshold"] = "threshold",
        delta: _Level | None = None,
        by_group: Literal[False] = False,
        grid: _Numbers | None = None,
        order: Literal["given"] | int | None = None,
        max_positives: int | None = None,
        test_weight: float | None = None,
    ) -> Threshold: ...
    @overload
    def threshold(
        self,
        alpha: _Level,
        unit: _Unit = "topic",
        target: _Target = "recall",
        *,
        family: Literal["relative"],
        delta: _Level | None = None,
        by_group: Literal[False] = False,
        grid: _Numbers | None = None,
        order: Literal["given"] | int | None = None,
        max_positives: int | None = None,
        test_weight: float | None = None,
    ) -> RelativeThreshold: ...
    @overload
    def threshold(
        self,
        alpha: _Level,
        unit: _Unit = "topic",
        target: _Target = "recall",
        *,
        family: Literal["top_k"],
        delta: _Level | None = None,
        by_group: Literal[False] = False,
        grid: _Numbers | None = None,
        order: Literal["given"] | int | None = None,
        max_positives: int | None = None,
        test_weight: float | None = None,
    ) -> TopK: ...
    @overload
    def threshold(
        self,
        alpha: _Level,
        unit: _Unit = "topic",
        target: _Target = "recall",
        *,
        family: Literal["tokens"],
        delta: _Level | None = None,
        by_group: Literal[False] = False,
        grid: _Numbers | None = None,
        order: Literal["given"] | int | None = None,
        max_positives: int | None = None,
        test_weight: float | None = None,
    ) -> TokenBudget: ...
    @overload
    def threshold(
        self,
        alpha: _Level,
        unit: _Unit = "topic",
        target: _Target = "recall",
        *,
        family: _Family = "threshold",
        delta: _Level | None = None,
        by_group: Literal[True],
        grid: _Numbers | None = None,
        order: Literal["given"] | int | None = None,
        max_positives: int | None = None,
        test_weight: float | None = None,
    ) -> GroupThresholds: ...
    @overload
    def threshold(
        self,
        alpha: _Level,
        unit: _Unit = "topic",
        target: _Target = "recall",
        *,
        family: _Family = "threshold",
        delta: _Level | None = None,
        by_group: bool = False,
        grid: _Numbers | None = None,
        order: Literal["given"] | int | None = None,
        max_positives: int | None = None,
        test_weight: float | None = None,
    ) -> Rule:
        """The smallest threshold that keeps the promise at alpha for a new unit.

        Parameters
        ----------
        alpha : float, str, Decimal or Fraction
            Promised miscoverage, strictly between 0 and 1: the share that may be missed.
        unit : {"topic", "query", "snippet"}
            What is new in production, and so what the promise averages over:

            - "topic": on average over new topics, at least 1 - alpha of a topic's relevant snippets
              are kept (**recall**, marginal). A topic's recall is the mean over its queries.
            - "query": the same over new queries. It holds if queries are independent of each other;
              queries that share topics are not.
            - "snippet": a relevant snippet of the pooled mix is kept with probability at least
              1 - alpha (**coverage**, marginal). This is the paper's unit. It does not cover a
              snippet of a new topic or query: for those it is usually too low.
        target : {"recall", "total", "all", "evidence"}
            - "recall": the mean share of relevant snippets kept.
            - "total": total missed over total relevant, E[missed] <= alpha E[relevant] for a new
              unit; needs `max_positives`.
            - "all": nothing relevant is dropped, in a mean share 1 - alpha of queries.
            - "evidence": the mean share of labelled spans that a kept snippet holds; each span
              counts once, with its best snippet. Needs labelled spans. A span in no snippet was lost
              before scoring: it is left out here and counted in the report.
        family : {"threshold", "relative", "top_k", "tokens"}
            Which rules to choose from: `Threshold`, `RelativeThreshold`, `TopK`, `TokenBudget`. The
            promise is the same; how much is removed is not.
        delta : float, str, Decimal or Fraction, optional
            Makes the promise one about this calibration set: the mean recall of a new unit is at
            least 1 - alpha with probability 1 - delta over calibration sets.
        by_group : bool
            One threshold for each `group`, whose promise holds within the group. Small groups keep
            everything.
        grid : sequence of float, optional
            Parameters to choose from; by default every one.
        order : "given" or int, optional
            For `delta`: the order in which the bound looks at the units, which must not depend on
            their losses. By default a permutation of seed 0.
        max_positives : int, optional
            For target "total": a bound on the relevant snippets of any unit, old or new (the number
            of candidates is one). If a unit can have more, nothing is promised.
        test_weight : float, optional
            With `weight`: the new unit's weight. By default the largest of the calibration's, which
            is right for every unit that weighs no more.

        Returns
        -------
        Threshold, RelativeThreshold, TopK, TokenBudget or GroupThresholds
            By `family` and `by_group`. Its value is infinite, and everything is kept, where the
            units are too few for this alpha: fewer than ceil(1/alpha) - 1, see
            `Rule.n_units_needed`.

        Raises
        ------
        ValueError
            `alpha` is no level, the question needs columns that were not given (names what to
            pass), or two arguments do not go together.

        Warns
        -----
        UserWarning
            Weights so uneven that the units are worth fewer than 2/alpha without weights.

        Notes
        -----
        Topic and query: with K answerable units, the smallest parameter v such that
        (sum over units of the share missed at v, plus 1) / (K + 1) <= alpha. This is conformal risk
        control of the loss 1 - recall with bound B = 1 (Angelopoulos, Bates, Fisch, Lei & Schuster,
        ICLR 2024, section 2, Theorem 1), and the same number as the quantile of hierarchical
        conformal prediction that gives each unit the weight 1/(K + 1) (Lee, Barber & Willett 2023,
        arXiv 2306.06342; after Dunn, Wasserman & Ramdas 2022, arXiv 1809.07441). It needs only that
        rules are nested, so the same holds in every family (Gupta, Kuchibhotla & Ramdas 2022).

        Snippet: the ceil((n + 1)(1 - alpha))-th smallest relevant value: split conformal prediction
        (Vovk, Gammerman & Shafer 2005; Lei et al. 2018, section 2.2), as arXiv 2511.17908, section
        3, uses it.

        Total: the smallest v with sum missed - alpha sum relevant + (1 - alpha) C <= 0, C =
        `max_positives` (risk control of the shifted loss). With delta: risk-controlling prediction
        sets (Bates et al. 2021, section 2) with the betting p-value of Waudby-Smith & Ramdas 2023.
        By group: Mondrian conformal prediction (Vovk, Gammerman & Shafer 2005, section 4.5).
        Weights: sum w miss + w' <= alpha (sum w + w'), w' the new unit's (Tibshirani, Barber,
        Candes & Ramdas 2019, arXiv 1904.06019, section 2).

        Exact: weights and ranks are integers, ties are kept (the betting bound is double
        precision). Cost: O(n) for the selection, plus O(n log n) where units are joined from
        documents.

        Examples
        --------
        The number of snippets that keeps nine in ten relevant ones of a new topic:

        >>> from tamis import Calibration
        >>> calibration = Calibration.fit(
        ...     scores=[0.2, 0.3, 0.9, 0.4, 0.5, 0.6] * 12,
        ...     relevant=[1, 0, 0, 0, 1, 0] * 12,
        ...     query=[q for q in range(24) for _ in range(3)],
        ...     topic=[q for q in range(24) for _ in range(3)],
        ... )
        >>> calibration.threshold(0.1, family="top_k").k
        2
        """

    def report(self) -> Report:
        """Counts, thresholds and warnings in numbers and words.

        ``print(calibration.report())`` says what is promised, for which unit, from how much.
        Cost: O(n log n).
        """

    def design_effect(self, threshold: float) -> DesignEffect:
        """What dependence within topics costs at a threshold.

        Parameters
        ----------
        threshold : float

        Raises
        ------
        ValueError
            Without topics, documents or ``topic="query"``.
        """

    def restrict(self, keep: _Labels) -> Calibration:
        """The calibration restricted to the queries marked, in the order of `query_ids`.

        What a split into calibration and test needs. Mark whole `units`: a split through a unit
        shares its difficulty between the two sides and flatters the test.

        Parameters
        ----------
        keep : sequence of bool or 0/1, shape (n_queries,)

        Returns
        -------
        Calibration
            Without the summaries over all candidates, which cannot be restricted.

        Raises
        ------
        ValueError
            Without query ids, not one mark for each query, or nothing relevant remains.
        """

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the calibration file, whole or not at all.

        Strict JSON, UTF-8. Written to a temporary file in the same folder, flushed to the disk and
        renamed, so that a reader never sees half of it and an error leaves the old file.

        Raises
        ------
        OSError
            The folder is missing or not writable, or the disk is full.
        """

    @staticmethod
    def load(path: str | PathLike[str]) -> Calibration:
        """Reads a calibration file.

        Raises
        ------
        CalibrationFileError
            The file is damaged, of another format or version, or a field was changed after it was
            made (each field has a sha256); names the field.
        OSError
            It cannot be read.
        """

    def to_json(self) -> str:
        """The calibration as the strict JSON text of its file.

        No NaN and no infinity; the same text for the same calibration. Cost: O(n).
        """

    @staticmethod
    def from_json(text: str) -> Calibration:
        """The calibration from the text of its file.

        Raises
        ------
        CalibrationFileError
            As `load`.
        """

    @property
    def id(self) -> str:
        """Names this calibration in results and logs.

        The first 16 hexadecimal digits of a sha256 over all fields. Cost: O(n), once.
        """

    @property
    def n_positives(self) -> int:
        """Number of relevant snippets."""

    @property
    def query_ids(self) -> list[str] | None:
        """Query ids in the order of first appearance; None without query ids."""

    @property
    def topic_ids(self) -> list[str] | None:
        """Topic ids of the queries; None where no topics were given."""

    @property
    def units(self) -> list[int]:
        """Number of the independent unit of each query, from 0.

        In the order of `query_ids`; queries of one topic, or joined by a shared labelled document,
        have one number.

        Raises
        ------
        ValueError
            Neither topics nor documents were given, nor queries declared independent.
        """

    @property
    def auc(self) -> float | None:
        """Within-query AUC; None when no query holds both relevant and other snippets.

        Mean over queries of the share of pairs (relevant, other) in which the relevant snippet has
        the lower score, ties counting half: the Mann-Whitney statistic within each query. 1
        separates perfectly, 0.5 not at all; lower means that the scores are similarities.
        """

    @property
    def slack(self) -> float:
        """How far above a threshold a score may lie and still be kept."""

    @property
    def candidates_range(self) -> tuple[float, float] | None:
        """1st and 99th percentile of the number of candidates per query; None when unknown."""

    @property
    def scorer(self) -> _IdentityOut:
        """What the scores were made by."""

    @property
    def chunker(self) -> _IdentityOut:
        """What the snippets were cut by."""

    @property
    def labels(self) -> _IdentityOut:
        """What kind of labels these are."""

    @property
    def environment(self) -> dict[str, str]:
        """Versions and circumstances, which only warn."""

    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@disjoint_base
class Rule:
    """What is kept of a query's candidates.

    The base of `Threshold`, `RelativeThreshold`, `TopK`, `TokenBudget` and `GroupThresholds`. Made
    by `Calibration.threshold`, with a promise, or by `fixed` of a class, without. A candidate has a
    value in the rule's `family`, and is kept if that is at most `value` + `slack`. Carries the
    identity of the scorer and chunker it was calibrated with. Immutable; safe to share between
    threads and to pickle.

    The promise is marginal and about the `unit` it names: on average over new topics or queries (or
    for a pooled snippet) drawn like the calibration ones, at least 1 - `alpha` of the relevant
    snippets that retrieval returned are kept. See `Calibration.threshold` for each unit, target and
    family with its source, and `Calibration` for what breaks it.
    """

    @property
    def family(self) -> _Family:
        """What a candidate's value is, by name.

        "threshold": its score; "relative": its score minus the mean of the query's; "top_k": its
        rank by (score, position), from 1; "tokens": the summed size up to and including it.
        """

    @property
    def value(self) -> float:
        """The family's parameter; infinity keeps everything."""

    @property
    def slack(self) -> float:
        """How far above the value a score may lie and still be kept.

        0 for "top_k" and "tokens".
        """

    @property
    def alpha(self) -> str | None:
        """The promised miscoverage as it was written; None for a fixed rule."""

    @property
    def delta(self) -> str | None:
        """Probability over calibration sets that the promise fails; None when it is a mean over
        them."""

    @property
    def unit(self) -> _Unit | None:
        """What the promise averages over: "topic", "query" or "snippet"; None for a fixed rule."""

    @property
    def target(self) -> _Target | None:
        """What is promised: "recall", "total", "all" or "evidence"; None for a fixed rule."""

    @property
    def n_cal(self) -> int:
        """Relevant snippets (or labelled spans) it was made from."""

    @property
    def n_units(self) -> int:
        """Units with at least one of them it was made from."""

    @property
    def n_units_needed(self) -> int | None:
        """How many units a finite parameter needs at this alpha; None where that is no plain count.

        ceil(1/alpha) - 1: 9 for 0.1, 19 for 0.05. None for a fixed rule, with delta, for target
        "total" and with weights.
        """

    @property
    def effective_units(self) -> float | None:
        """Units without weights that those of a weighted calibration are worth; None without
        weights.

        (sum w)**2 / sum w**2 (Kish 1965).
        """

    @property
    def mass_at_infinity(self) -> float | None:
        """The new unit's part of all weight; None without weights.

        At least alpha, and the parameter is infinite.
        """

    @property
    def candidates_range(self) -> tuple[float, float] | None:
        """1st and 99th percentile of the number of candidates per calibration query; None when
        unknown.

        A request with fewer or more candidates is not like those the rule was made from.
        """

    @property
    def size_range(self) -> tuple[float, float] | None:
        """1st and 99th percentile of the sizes of calibration candidates; None when unknown.

        A request whose median snippet is shorter or longer is not like those it was made from.
        """

    @property
    def size_unit(self) -> str | None:
        """What sizes are counted in; None where it was not said.

        "code points" where `tamis.calibrate` counted them.
        """

    @property
    def keeps_everything(self) -> bool:
        """Whether every candidate is kept."""

    @property
    def scorer(self) -> _IdentityOut:
        """What scores must be made by; None when nothing was declared."""

    @property
    def chunker(self) -> _IdentityOut:
        """What snippets must be cut by; None when nothing was declared."""

    @property
    def calibration_id(self) -> str | None:
        """Names the calibration in results and logs; None for a fixed rule."""

    def keep(
        self,
        scores: _Numbers,
        *,
        size: Iterable[int] | None = None,
        group: _Groups | str | None = None,
    ) -> NDArray[np.intp]:
        """Positions of the candidates that are kept, ascending.

        Parameters
        ----------
        scores : ndarray of float64, float32 or float16, shape (n,), or iterable of float
            Of all candidates of one query. Compared in float64, each as it is; equality is kept.
        size : iterable of int, shape (n,)
            For a token budget, and only there: the size of each candidate in the unit that it was
            calibrated in (`size_unit`).
        group : str, or sequence of str, int or tuples of them, shape (n,)
            For `GroupThresholds`, and only there: the group of each candidate, or of all. One in
            several groups is kept where any of them keeps it, one in none that has a threshold is
            kept.

        Returns
        -------
        ndarray of intp, shape (n_kept,)

        Raises
        ------
        ValueError
            A score that is NaN or infinite (names its index), sizes or groups that are missing, of
            another length, or given where the rule has no use for them.
        TypeError
            An array of another dtype or shape; names both and the call that mends it.

        Notes
        -----
        Cost: O(n) for "threshold", whose contiguous float64 and float32 arrays are not copied;
        O(n log n) for the families that look at the whole list.

        Examples
        --------
        >>> from tamis import Threshold, TokenBudget, TopK
        >>> Threshold.fixed(0.5).keep([0.2, 0.9, 0.5]).tolist()
        [0, 2]
        >>> TopK.fixed(1).keep([0.2, 0.9, 0.5]).tolist()
        [0]
        >>> TokenBudget.fixed(100).keep([0.2, 0.9, 0.5], size=[60, 10, 40]).tolist()
        [0, 2]
        """

    def _keep_counted(
        self,
        scores: _Numbers,
        size: Iterable[int] | None = None,
        group: _Groups | str | None = None,
    ) -> tuple[NDArray[np.intp], int]:
        """As keep, with the number of candidates kept because their group has no threshold."""

    def _scores(
        self,
        query_vector: _Embedding,
        snippet_matrix: _Embedding,
        unit_rows: bool | None = None,
        threads: int | None = None,
    ) -> NDArray[np.float32]:
        """Scores as the calibrated scorer's rows are scored.

        Raises
        ------
        ValueError, TypeError, IdentityMismatch
            As `Threshold.select`.
        """

    def _check_scorer(self, used: _Identity | None) -> None:
        """Refuses a scorer other than the calibrated one.

        Raises
        ------
        IdentityMismatch
            The identity differs, or none is given where one was calibrated with.
        """

    def _check_chunker(self, used: _Identity | None) -> None:
        """Refuses a chunker other than the calibrated one.

        Raises
        ------
        IdentityMismatch
            The identity differs, or none is given where one was calibrated with.
        """

    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _rebuild(
        calibration_id: str | None,
        rules: list[tuple[Any, ...]],
        groups: tuple[list[str], str | None] | None,
    ) -> Rule:
        """The inverse of pickling."""

@final
class Threshold(Rule):
    """Keep a snippet if its score is at most the threshold plus the slack.

    The family "threshold": each snippet is decided by itself, which is what the fused kernels
    behind `select` need.
    """

    @staticmethod
    def fixed(value: float) -> Threshold:
        """A threshold without a promise: a baseline, or the kernel alone.

        Parameters
        ----------
        value : float
            May be infinite (keeps everything), not NaN.

        Raises
        ------
        ValueError
            NaN.
        TypeError
            Not a number.
        """

    def select(
        self,
        query_vector: _Embedding,
        snippet_matrix: _Embedding,
        *,
        out: NDArray[np.intp] | None = None,
        unit_rows: bool | None = None,
        threads: int | None = None,
    ) -> NDArray[np.intp]:
        """Scores the rows against the query vector and gives the positions of those kept,
        ascending.

        ``keep(cosine_scores(query_vector, snippet_matrix))`` in one pass, with the same bits.

        Parameters
        ----------
        query_vector : ndarray of float32, float16 or int8, shape (d,)
        snippet_matrix : ndarray of float32, float16 or int8, shape (n, d)
            Last axis contiguous; rows may be strided. int8 rows need an int8 query.
        out : ndarray of intp, shape (at least n,), optional
            Where the positions are written: contiguous, writable, apart from the inputs, with room
            for all rows since all may be kept. What stands behind them is unspecified.
        unit_rows : bool, optional
            As `cosine_scores`. Where the threshold has a scorer's identity, that decides: its field
            ``"rows"`` is ``"unit"`` or it is not, and to declare otherwise is refused.
        threads : int, optional
            As `cosine_scores`.

        Returns
        -------
        ndarray of intp, shape (n_kept,)
            With `out` a view of its first n_kept entries.

        Raises
        ------
        ValueError, TypeError
            As `cosine_scores`; `out` is too short, read-only, of another dtype or layout, or shares
            memory with an input.
        IdentityMismatch
            `unit_rows` is not what the threshold was calibrated with.

        Notes
        -----
        Cost: O(n d); allocates for the query, and without `out` for the positions.

        Examples
        --------
        >>> import numpy as np
        >>> from tamis import Threshold
        >>> rows = np.array([[3, 4], [-3, -4], [6, 8]], dtype="float32")
        >>> buffer = np.empty(100, np.intp)
        >>> Threshold.fixed(0.5).select(np.array([3, 4], "float32"), rows, out=buffer).tolist()
        [0, 2]
        """

    def select_many(
        self,
        query_matrix: _Embedding,
        snippet_matrix: _Embedding,
        offsets: Iterable[int] | NDArray[np.integer[Any]],
        *,
        unit_rows: bool | None = None,
        threads: int | None = None,
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Select for many queries at once, each against its own rows of one matrix.

        The same bits as `select` for one query at a time, in one crossing.

        Parameters
        ----------
        query_matrix : ndarray of float32, float16 or int8, shape (n_queries, d)
        snippet_matrix : ndarray of float32, float16 or int8, shape (n, d)
            The rows of all queries, one query's after another's.
        offsets : ndarray of int or iterable of int, shape (n_queries + 1,)
            Query i has the rows ``offsets[i]:offsets[i + 1]``; from 0 to n, ascending; equal ones
            give a query no rows.
        unit_rows : bool, optional
            As `select`; of snippet rows.
        threads : int, optional
            As `cosine_scores`; they share the rows, however many each query has.

        Returns
        -------
        indices : ndarray of intp, shape (n_kept,)
            Rows of `snippet_matrix` that are kept, ascending.
        kept_offsets : ndarray of intp, shape (n_queries + 1,)
            Query i keeps ``indices[kept_offsets[i]:kept_offsets[i + 1]]``.

        Raises
        ------
        ValueError, TypeError, IdentityMismatch
            As `select`, naming rows of the whole matrix; offsets that do not divide it.

        Notes
        -----
        Cost: O(n d); allocates n scores, and a copy of queries in float16.

        Examples
        --------
        >>> import numpy as np
        >>> from tamis import Threshold
        >>> queries = np.array([[3, 4], [4, -3]], dtype="float32")
        >>> rows = np.array([[3, 4], [-3, -4], [3, 4], [8, -6]], dtype="float32")
        >>> indices, kept = Threshold.fixed(0.5).select_many(queries, rows, [0, 2, 4])
        >>> indices.tolist(), kept.tolist()
        ([0, 3], [0, 1, 2])
        """

    def _select_scored(
        self,
        query_vector: _Embedding,
        snippet_matrix: _Embedding,
        unit_rows: bool | None = None,
        threads: int | None = None,
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """As select, with the scores of all rows."""

@final
class RelativeThreshold(Rule):
    """Keep a snippet if its score is at most the query's mean score plus the threshold.

    The family "relative": how hard a query is cancels out, which often removes more at the same
    promise. **It breaks when lists get shorter** or are cut otherwise than in calibration: the mean
    is over the candidates that retrieval returned, and with fewer irrelevant ones among them it
    falls, and relevant snippets are dropped. `FilterStats.outside_candidates_range` says so.
    """

    @staticmethod
    def fixed(value: float) -> RelativeThreshold:
        """A threshold relative to the query's mean score, without a promise.

        Raises
        ------
        ValueError
            NaN.
        TypeError
            Not a number.
        """

@final
class TopK(Rule):
    """Keep the best k snippets of a query.

    The family "top_k", ties by position: a calibrated number of snippets, for models with a cost by
    snippet. k does not depend on the query, so it removes less than a threshold where queries
    differ in how much is relevant, and needs no comparable scores between queries.
    """

    @staticmethod
    def fixed(k: int) -> TopK:
        """A number of snippets without a promise.

        Raises
        ------
        ValueError
            Negative, or more than 2**53.
        TypeError
            Not an int.
        """

    @property
    def k(self) -> int | None:
        """The number of snippets; None keeps everything."""

@final
class TokenBudget(Rule):
    """Keep the best snippets of a query while their sizes fit a budget.

    The family "tokens": in order of (score, position), stopping before the first that does not fit.
    """

    @staticmethod
    def fixed(budget: int) -> TokenBudget:
        """A budget without a promise.

        Raises
        ------
        ValueError
            Negative, or more than 2**53.
        TypeError
            Not an int.
        """

    @property
    def budget(self) -> int | None:
        """The budget in the unit of the sizes; None keeps everything."""

@final
class GroupThresholds(Rule):
    """One threshold for each group of snippets; a snippet of a group without one is kept.

    The promise holds for each group by itself (marginally within it: Mondrian conformal prediction,
    Vovk, Gammerman & Shafer 2005, section 4.5). A group too small for alpha keeps everything. Its
    `value` and the rest are those of the most lenient group, with the smallest counts.
    """

    @property
    def thresholds(self) -> dict[str, Rule]:
        """The rule of each group, by its name."""

    @property
    def grouping(self) -> str | None:
        """What makes the groups: "script" or "language"; None where the caller gives them."""

@final
class Report:
    """What a calibration holds and promises; its text is for people.

    ``str(report)`` is the text that `tamis info` prints; the properties are for programs.
    """

    @property
    def n_queries(self) -> int | None:
        """Queries, answerable or not; None without query ids."""

    @property
    def n_answerable(self) -> int | None:
        """Queries with a relevant snippet; None without query ids."""

    @property
    def n_topics(self) -> int | None:
        """Independent units; None when the calibration cannot say.

        Topics, or queries joined by shared labelled documents; only those with a relevant snippet.
        """

    @property
    def n_positives(self) -> int:
        """Relevant snippets."""

    @property
    def auc(self) -> float | None:
        """Within-query AUC; None when no query holds both relevant and other snippets."""

    @property
    def design_effect(self) -> float | None:
        """Design effect at the alpha 0.1 threshold; None when it is not defined."""

    @property
    def effective_n(self) -> float | None:
        """Number of independent snippets that these are worth; None when it is not defined."""

    @property
    def thresholds(self) -> list[Rule]:
        """Thresholds at alpha 0.05, 0.1 and 0.2 for the default unit.

        The default unit is the topic; where topics are unknown the query, else the snippet.
        """

    @property
    def evidence(self) -> tuple[int, int, int | None] | None:
        """Labelled spans, those lost before scoring, those not retrieved (None = unknown); None
        without span labels."""

    @property
    def warnings(self) -> list[str]:
        """Warnings in plain words."""

@final
class DesignEffect:
    """Spread of the pooled miss rate when topics are the independent draws.

    Snippets of one topic are missed together, so n of them say less than n independent ones. Each
    number is the double nearest to the exact rational. Source: the design effect of cluster
    sampling (Kish, Survey Sampling, 1965, section 8.2), with clusters of unequal size.
    """

    @property
    def n(self) -> int:
        """Relevant snippets."""

    @property
    def n_units(self) -> int:
        """Topics with at least one."""

    @property
    def miss_rate(self) -> float:
        """Share of relevant snippets above the threshold."""

    @property
    def variance(self) -> float | None:
        """Between-topic variance of the miss rate; None for fewer than two topics.

        K/(K - 1) times the sum over topics of (x_k - p n_k)^2 / n^2: x_k missed of n_k, p pooled.
        """

    @property
    def design_effect(self) -> float | None:
        """That variance over the variance of n independent snippets; None when the miss rate is 0
        or 1."""

    @property
    def effective_n(self) -> float | None:
        """n over the design effect; None when that is 0 or not defined."""

def cosine_scores(
    query_vector: _Embedding,
    snippet_matrix: _Embedding,
    *,
    unit_rows: bool | None = None,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """Nonconformity score 1 - cosine of each row against the query vector.

    Parameters
    ----------
    query_vector : ndarray of float32, float16 or int8, shape (d,)
        int8 for int8 rows, quantised as they were; else float32 or float16.
    snippet_matrix : ndarray of float32, float16 or int8, shape (n, d)
        Last axis contiguous; rows may be strided. float16 is widened exactly; int8 is symmetric, so
        that its scale cancels. Vectors of any length are taken; they need not be normalised.
    unit_rows : bool, optional
        Declares that every float row has length one, so that its norm is not summed. That is
        another score (by some units in the last place), so it belongs to the scorer's identity: a
        calibration on such scores says so by ``scorer={"rows": "unit", ...}``, which
        `Threshold.select` then follows.
    threads : int, optional
        Threads that share rows of 16 MiB or more; 1 by default. They live for the call.

    Returns
    -------
    ndarray of float32, shape (n,)
        In [0, 2]; lower is more relevant.

    Raises
    ------
    ValueError
        Dimensions differ, a vector is zero or not finite, or cannot be of length one as declared
        (names the row, and the component); int8 of more than 131071 dimensions.
    TypeError
        Another dtype, shape or layout; names it and the call that mends it. Nothing is cast.

    Notes
    -----
    Defined to the bit: 16 lanes of fused multiply-adds in float32, added in a fixed tree, so a row
    gets the same score on every machine, alone or among others. Nothing else would do: a threshold
    *is* the score of a calibration snippet. Vectors whose squared norm lies outside 2^-96 to 2^126
    are first scaled by a power of two. int8 products are summed exactly.

    Cost: O(n d), one allocation for the result and one for the query.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import cosine_scores
    >>> rows = np.array([[3, 4], [4, -3], [-3, -4]], dtype="float32")
    >>> cosine_scores(np.array([3, 4], dtype="float32"), rows).tolist()
    [0.0, 1.0, 2.0]
    """

def conformal_rank(n: int, alpha: _Level | None = None, *, coverage: _Level | None = None) -> int:
    """The rank k = ceil((n + 1)(1 - alpha)), exactly.

    Parameters
    ----------
    n : int
        Number of calibration scores, 0 to 2**64 - 2.
    alpha : float, str, Decimal or Fraction
        Miscoverage, strictly between 0 and 1.
    coverage : float, str, Decimal or Fraction
        Instead of alpha: 1 - alpha, read as a decimal of its own.

    Returns
    -------
    int
        From 1 to n + 1; n + 1 means that n scores are too few and the threshold is infinite.

    Raises
    ------
    ValueError
        A level outside (0, 1) or that is no decimal or fraction; n out of range.
    TypeError
        Neither or both of the levels; a bool.

    Notes
    -----
    The rank of split conformal prediction (Vovk, Gammerman & Shafer 2005; Lei et al. 2018, section
    2.2): with it, the k-th smallest of n exchangeable scores covers a further one with probability
    at least 1 - alpha, marginally. Computed in integers as (n + 1) - floor((n + 1) p / q) for
    alpha = p/q, since binary floats give another rank in some cases.

    Examples
    --------
    >>> from tamis import conformal_rank
    >>> conformal_rank(9, 0.1), conformal_rank(8, 0.1), conformal_rank(8, "1/3")
    (9, 9, 6)
    """

def _units_needed(alpha: _Level, delta: _Level | None = None) -> int:
    """The units that a finite threshold needs: on average, or with probability 1 - delta by the
    betting bound.

    Without delta ceil(1/alpha) - 1, exactly. With it the count at which the bound is met by units
    that miss nothing. Cost: with delta O(n log n).

    Raises
    ------
    ValueError
        With delta more than a million.
    """

def _snippets_needed(alpha: _Level, delta: _Level) -> int:
    """The independent snippets whose largest score covers 1 - alpha with probability 1 - delta.

    The smallest n with (1 - alpha)**n <= delta (Wilks 1941), exactly.

    Raises
    ------
    ValueError
        More than a million.
    """

def _positives_needed(alpha: _Level, max_positives: int) -> int:
    """The relevant snippets that target "total" needs with a bound on those of one unit.

    ceil((1 - alpha) max_positives / alpha), exactly.
    """

def conformal_quantile(scores: _Numbers, alpha: _Level) -> float:
    """The k-th smallest score, k = `conformal_rank(n, alpha)`; infinity when k > n.

    Parameters
    ----------
    scores : ndarray of float64, float32 or float16, shape (n,), or iterable of float
        Finite.
    alpha : float, str, Decimal or Fraction

    Returns
    -------
    float
        One of the scores, never interpolated, or infinity.

    Raises
    ------
    ValueError
        A score that is not finite (named by index), or no level.
    TypeError
        An array of another dtype or shape.

    Notes
    -----
    The unit is the score: if the n scores and a new one are exchangeable, the new one is at most
    this with probability at least 1 - alpha, marginally; scores of one query or topic are not
    exchangeable with one of a new topic, see `Calibration`. Source as `conformal_rank`. Cost: O(n).

    Examples
    --------
    >>> from tamis import conformal_quantile
    >>> conformal_quantile([0.3, 0.1, 0.2, 0.4], "0.25"), conformal_quantile([0.3], "0.25")
    (0.4, inf)
    """

def conformal_quantiles(scores: _Numbers, alphas: Iterable[_Level]) -> NDArray[np.float64]:
    """The conformal quantile of the scores at each of several levels.

    Parameters
    ----------
    scores : ndarray of float64, float32 or float16, shape (n,), or iterable of float
        Finite.
    alphas : iterable of float, str, Decimal or Fraction, shape (m,)

    Returns
    -------
    ndarray of float64, shape (m,)
        `conformal_quantile` at each level, in the order of the levels.

    Raises
    ------
    ValueError, TypeError
        As `conformal_quantile`.

    Notes
    -----
    Each level has the promise of `conformal_quantile` by itself, not all of them at once. Cost:
    O(n m), the scores read from memory once.

    Examples
    --------
    >>> from tamis import conformal_quantiles
    >>> conformal_quantiles([0.3, 0.1, 0.2, 0.4], ["0.25", "0.5"]).tolist()
    [0.4, 0.3]
    """

def conformal_quantiles_by_group(
    scores: _Numbers, groups: NDArray[np.int64 | np.int32 | np.uint32], alpha: _Level
) -> NDArray[np.float64]:
    """The conformal quantile of the scores within each group.

    Parameters
    ----------
    scores : ndarray of float64, float32 or float16, shape (n,), or iterable of float
        Finite.
    groups : ndarray of int64, int32 or uint32, shape (n,)
        The number of each score's group, from 0, below 65 536 or n;
        `np.unique(ids, return_inverse=True)[1]` numbers ids.
    alpha : float, str, Decimal or Fraction

    Returns
    -------
    ndarray of float64, shape (max(groups) + 1,)
        `conformal_quantile` of each group's scores; infinity for one too small or empty.

    Raises
    ------
    ValueError
        As `conformal_quantile`; a group's number out of range (named by index); other lengths.
    TypeError
        An array of another dtype or shape.

    Notes
    -----
    The promise holds within each group, for a new score that is exchangeable with the group's own;
    see `conformal_quantile`. Source: Vovk et al. 2005, Mondrian conformal prediction. Cost: O(n),
    without a sort.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import conformal_quantiles_by_group
    >>> scores, groups = [0.3, 0.1, 0.2, 0.4, 0.5], np.array([0, 0, 1, 1, 1])
    >>> conformal_quantiles_by_group(scores, groups, "0.5").tolist()
    [0.3, 0.4]
    """

@overload
def conformal_pvalue(score: float, scores: _Numbers, u: float | None = None) -> float:
    """The conformal p-value of a score, or of each score of an array, among calibration scores.

    Parameters
    ----------
    score : float, or ndarray of float64, float32 or float16, shape (m,), or iterable of float
        Finite.
    scores : ndarray of float64, float32 or float16, shape (n,), or iterable of float
        Calibration scores, finite.
    u : float, or as `score`, optional
        Numbers in [0, 1] that break ties, one for each score.

    Returns
    -------
    float, or ndarray of float64, shape (m,)

    Raises
    ------
    ValueError
        A number that is not finite, a u outside [0, 1], or not one u for each score.
    TypeError
        An array of another dtype or shape.

    Notes
    -----
    p = (number of calibration scores >= score, plus 1) / (n + 1): at most t with probability at
    most t, marginally, if the score is exchangeable with the calibration scores (Vovk, Gammerman &
    Shafer 2005, section 2.2). With u: (number > score, plus u times (number equal, plus 1)) /
    (n + 1), exactly uniform when u is. Cost: O((n + m) log n).

    Examples
    --------
    >>> from tamis import conformal_pvalue
    >>> conformal_pvalue(0.3, [0.1, 0.2, 0.3, 0.4])
    0.6
    """

@overload
def conformal_pvalue(
    score: _Numbers, scores: _Numbers, u: float | _Numbers | None = None
) -> NDArray[np.float64]: ...
def _score_quartiles(scores: _Numbers) -> tuple[float, float, float, float, float] | None:
    """Minimum, quartiles and maximum of the finite scores; None without one.

    For each level p the ceil(p n)-th smallest of n.

    Notes
    -----
    Cost: O(n), no copy of an array of float32 or float64 unless a score is not finite.
    """

def _merge_spans(spans: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Joins spans (document, start, end) that overlap or touch.

    Returns them in ascending order. Cost: O(n log n).
    """
