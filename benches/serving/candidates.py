"""The requests of these benches: by default 200 candidates of 1024 float32 for one query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N = 200
DIM = 1024

Request = tuple[NDArray[np.float32], NDArray[np.float32]]


def requests(n: int, dim: int = DIM, n_candidates: int = N) -> list[Request]:
    """Query vectors and matrices, fixed."""
    random = np.random.default_rng(0)
    return [
        (
            random.standard_normal(dim, np.float32),
            random.standard_normal((n_candidates, dim), np.float32),
        )
        for _ in range(n)
    ]


def expected(request: Request, value: float) -> list[int]:
    """What a threshold of this value keeps, by float64."""
    query, rows = (array.astype(np.float64) for array in request)
    scores = 1 - rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))
    # Otherwise rounding to float32 would decide.
    assert np.abs(scores - value).min() > 1e-6
    kept: list[int] = np.flatnonzero(scores <= value).tolist()
    return kept
