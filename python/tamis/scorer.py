"""Scorers: how relevant a snippet is to a query, lower is more relevant."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from time import perf_counter_ns
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tamis._tamis import IdentityMismatch, ScorerError, cosine_scores
from tamis.encoder import Encoder, OnnxEncoder, TextTooLongError

Identity = str | Mapping[str, object]
Scores = NDArray[np.float32]


@runtime_checkable
class Scorer(Protocol):
    """Gives nonconformity scores: lower is more relevant.

    Attributes
    ----------
    identity : str or flat mapping
        What two scorers must agree on to give the same scores. A calibration names it and refuses
        another.
    scope : {"snippet", "request"}
        Whether a snippet's score depends on the query and the snippet alone, or also on the other
        snippets of the request.
    """

    @property
    def identity(self) -> Identity: ...

    @property
    def scope(self) -> Literal["snippet", "request"]: ...

    def score(self, query: str, snippets: Sequence[str]) -> Scores:
        """Scores of the snippets, shape (n_snippets,).

        A score that is not finite is a failure on that snippet: a filter keeps it and says so.
        """
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores and what happened on the way.

    Attributes
    ----------
    scores : ndarray of float32, shape (n_snippets,)
        NaN where the encoder gave no usable vector.
    truncated : tuple of int
        Positions of the snippets whose end the encoder did not read.
    query_truncated : bool
        Whether it did not read the query's end.
    encode_ns : int
        Nanoseconds of the time spent that went into encoding.
    """

    scores: Scores
    truncated: tuple[int, ...]
    query_truncated: bool = False
    encode_ns: int = 0


class QueryTooLongError(ValueError):
    """A query with more tokens than the encoder reads."""

    def __init__(self, n_tokens: int, max_tokens: int) -> None:
        self.n_tokens, self.max_tokens = n_tokens, max_tokens
        super().__init__(n_tokens, max_tokens)

    def __str__(self) -> str:
        return (
            f"the query has {self.n_tokens} tokens, the model reads {self.max_tokens}: "
            'shorten it, or make the encoder with on_long="truncate"'
        )


class EmbeddingScorer:
    """1 − cosine of embeddings, in [0, 2].

    Parameters
    ----------
    encoder : Encoder, optional
        By default the installed `minilm` model, opened at the first use.

    Notes
    -----
    Cost: one encoding of the query and of each snippet. The score itself is exact to the bit
    (`cosine_scores`), so `slack` is the encoder's tolerance alone.
    """

    scope: Literal["snippet", "request"] = "snippet"

    def __init__(self, encoder: Encoder | None = None) -> None:
        self.encoder: Encoder = OnnxEncoder() if encoder is None else encoder

    def __repr__(self) -> str:
        return f"EmbeddingScorer({self.encoder!r})"

    @property
    def identity(self) -> Identity:
        """The encoder's fields and the name of this scorer."""
        return identity_of(self.encoder.identity)

    @property
    def slack(self) -> float:
        """How far two scores of the same pair can differ: the encoder's tolerance."""
        return float(self.encoder.tolerance)

    @property
    def environment(self) -> dict[str, str]:
        """Runtime and provider of the encoder, where it names them; opens the model."""
        known = getattr(self.encoder, "environment", None) or {}
        return {str(name): str(value) for name, value in known.items()}

    def score(self, query: str, snippets: Sequence[str]) -> Scores:
        """Scores of the snippets, float32, shape (n_snippets,)."""
        return self.score_counted(query, snippets).scores

    def score_counted(self, query: str, snippets: Sequence[str]) -> Scored:
        """As `score`, and says which snippets were truncated."""
        begin = perf_counter_ns()
        try:
            query_vector, long_query = encode(self.encoder, [query], "query")
        except TextTooLongError as error:
            raise QueryTooLongError(error.n_tokens, error.max_tokens) from None
        vectors, truncated = encode(self.encoder, snippets, "passage")
        encode_ns = perf_counter_ns() - begin
        scores = score_vectors(query_vector[0], vectors)
        return Scored(scores, truncated, bool(long_query), encode_ns)


def identity_of(encoder: object) -> dict[str, object]:
    """The identity of an `EmbeddingScorer` over an encoder of this identity."""
    fields = dict(encoder) if isinstance(encoder, Mapping) else {"encoder": str(encoder)}
    return {"scorer": "embedding", **fields}


def encode(
    encoder: Encoder,
    texts: Sequence[str],
    kind: Literal["query", "passage"],
    progress: Callable[[int], object] | None = None,
) -> tuple[NDArray[np.float32], tuple[int, ...]]:
    """Vectors and the positions of truncated texts, from any encoder.

    `encode_counted` is used where an encoder has it, and told of `progress` where it takes that.

    Raises
    ------
    ScorerError
        When the encoder gives another number of vectors, or not float32.
    """
    counted = getattr(encoder, "encode_counted", None)
    if counted is None:
        vectors, truncated = encoder.encode(texts, kind), ()
    else:
        takes = progress is not None and "progress" in signature(counted).parameters
        encoded = counted(texts, kind, progress=progress) if takes else counted(texts, kind)
        vectors, truncated = encoded.vectors, tuple(encoded.truncated)
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32:
        got = getattr(vectors, "dtype", type(vectors).__name__)
        raise ScorerError(f"the encoder must give float32 vectors, got {got}")
    if vectors.ndim != 2 or len(vectors) != len(texts):
        expected = f"({len(texts)}, dim)"
        raise ScorerError(f"the encoder must give shape {expected}, got {vectors.shape}")
    if progress is not None:
        progress(len(texts))
    return vectors, truncated


def score_vectors(query: NDArray[np.float32], rows: NDArray[np.float32]) -> Scores:
    """1 − cosine, with NaN for a row that has none (not finite, or zero).

    Raises
    ------
    ScorerError
        When the query's own vector has none.
    """
    if not np.isfinite(query).all() or not query.any():
        raise ScorerError("the encoder gave no usable vector for the query")
    usable = np.isfinite(rows).all(axis=1) & rows.any(axis=1)
    if usable.all():
        return np.asarray(cosine_scores(query, np.ascontiguousarray(rows)))
    scores = np.full(len(rows), np.nan, np.float32)
    scores[usable] = cosine_scores(query, np.ascontiguousarray(rows[usable]))
    return scores


def rebuild(
    identity: Identity | None,
    on_long: Literal["error", "truncate"],
    model: str | os.PathLike[str] | None = None,
) -> EmbeddingScorer:
    """The scorer that a calibration file names, from the models installed here or one given.

    Raises
    ------
    IdentityMismatch
        When it was declared by a string, is of a kind that tamis does not make, or its model is not
        installed.
    """
    from tamis.models import installed_models

    if identity is None:
        raise IdentityMismatch("the calibration does not name its scorer: pass scorer=")
    if not isinstance(identity, Mapping) or identity.get("scorer") != "embedding":
        raise IdentityMismatch(
            f"the calibration's scorer is {identity!r}, which tamis cannot rebuild: pass scorer="
        )
    names = installed_models() if model is None else (model,)
    for name in names:
        scorer = EmbeddingScorer(OnnxEncoder(name, on_long=on_long))
        if scorer.identity == identity:
            return scorer
    wanted = f"{identity.get('encoder')} encoder with weights {identity.get('weights')}"
    at_hand = ", ".join(map(str, names)) or "none"
    raise IdentityMismatch(
        f"scorer: calibrated with an {wanted}, at hand: {at_hand}; "
        'install that model ("make models" in a checkout builds the default one, or '
        'pip install "tamis[minilm]"), pass its folder, '
        "or pass scorer="
    )
