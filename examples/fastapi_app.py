"""A service that filters what retrieval returned: vectors or texts in, what is kept out.

    TAMIS_CALIBRATION=calibration.json uvicorn examples.fastapi_app:app

TAMIS_CALIBRATION is a calibration file, TAMIS_ALPHA the share that may be missed, 0.1 by default.
Where vectors or chunks come from elsewhere, TAMIS_SCORER and TAMIS_CHUNKER are the names that were
declared at calibration; where tamis made them, the file says how, and texts can be filtered too.

    POST /filter/vectors   {"query_vector": […], "vectors": [[…], …], "items": ["…", …]}
    POST /filter/texts     {"query": "…", "documents": ["…", …]}
    GET  /metrics          sums over the requests of this process

Vectors are numbers, or base64 of little-endian float32 (the rows one after another), which is read
far faster. What cannot be filtered is answered with 422 and the words of tamis.
"""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated

import numpy as np
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, Field

from tamis import Filter, FilterResult
from tamis.result import FilterStats, Passage

Observer = Callable[[FilterResult], None]


def writable(text: str) -> str:
    """The text, if an answer can hold it: JSON may name half of a character."""
    text.encode()
    return text


class VectorRequest(BaseModel):
    """One query and its candidates as vectors."""

    query_vector: Annotated[list[float], Field(min_length=1)] | Annotated[str, Field(min_length=1)]
    vectors: list[list[float]] | str
    items: list[Annotated[str, AfterValidator(writable)]] | None = None


class KeptItems(BaseModel):
    """Positions of the candidates kept, and their items where they were given."""

    kept: list[int]
    items: list[str] | None
    stats: FilterStats


class TextRequest(BaseModel):
    """One query and what retrieval returned for it."""

    query: str
    documents: list[str]


class KeptPassages(BaseModel):
    """The text that is kept."""

    passages: list[Passage]
    degraded: bool
    stats: FilterStats


class Metrics:
    """Sums over requests; several threads may add to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, float] = {}

    def add(self, result: FilterResult) -> None:
        """Count one request."""
        stats = result.stats
        added: dict[str, float] = {
            "tamis_requests_total": 1,
            "tamis_candidates_total": stats.n_candidates,
            "tamis_candidates_kept_total": stats.n_kept,
            "tamis_candidates_degraded_total": stats.degraded,
            "tamis_candidates_truncated_total": stats.truncated,
            "tamis_requests_outside_candidates_range_total": stats.outside_candidates_range,
            'tamis_seconds_total{stage="chunk"}': stats.chunk_ns / 1e9,
            'tamis_seconds_total{stage="encode"}': stats.encode_ns / 1e9,
            'tamis_seconds_total{stage="score"}': stats.score_ns / 1e9,
            'tamis_seconds_total{stage="keep"}': stats.keep_ns / 1e9,
            'tamis_seconds_total{stage="all"}': stats.total_ns / 1e9,
        }
        with self._lock:
            for name, value in added.items():
                self._sums[name] = self._sums.get(name, 0) + value

    def text(self) -> str:
        """One line a sum, as Prometheus reads them."""
        with self._lock:
            return "".join(f"{name} {value:.9g}\n" for name, value in self._sums.items())


def filter_from_environment(on_result: Observer) -> Filter:
    """The filter that the environment variables name."""
    path = os.environ.get("TAMIS_CALIBRATION")
    if not path:
        raise RuntimeError("TAMIS_CALIBRATION must name a calibration file")
    return Filter.load(
        path,
        os.environ.get("TAMIS_ALPHA", "0.1"),
        scorer=os.environ.get("TAMIS_SCORER"),
        chunker=os.environ.get("TAMIS_CHUNKER"),
        on_result=on_result,
    )


def floats(name: str, given: list[float] | list[list[float]] | str) -> NDArray[np.float32]:
    """Numbers, or base64 of little-endian float32, as an array."""
    try:
        if isinstance(given, str):
            return np.frombuffer(base64.b64decode(given, validate=True), "<f4").astype(np.float32)
        # A number beyond float32 becomes infinite, which tamis refuses by its position.
        with np.errstate(over="ignore"):
            return np.array(given, np.float32)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


@contextmanager
def refusals() -> Iterator[None]:
    """What tamis refuses is the client's to mend: it gets the message."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise HTTPException(422, str(error)) from error


def create_app(make_filter: Callable[[Observer], Filter] = filter_from_environment) -> FastAPI:
    """The service over a filter, which is made when the service starts."""
    metrics = Metrics()
    filters: list[Filter] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        filters.append(make_filter(metrics.add))
        yield
        filters.clear()

    app = FastAPI(title="tamis", lifespan=lifespan)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        # Without the input, which may be large, private, or no JSON (NaN, a lone surrogate).
        detail = [{"loc": e["loc"], "msg": e["msg"]} for e in error.errors()]
        return JSONResponse({"detail": detail}, 422)

    # On the event loop: this takes microseconds, less than handing it to a thread.
    @app.post("/filter/vectors")
    async def filter_vectors(request: VectorRequest) -> KeptItems:
        with refusals():
            query_vector = floats("query_vector", request.query_vector)
            vectors = floats("vectors", request.vectors)
            if vectors.ndim == 1:
                if len(vectors) % len(query_vector):
                    raise ValueError(
                        f"vectors holds {len(vectors)} numbers, which is no multiple of the "
                        f"query's {len(query_vector)}"
                    )
                vectors = vectors.reshape(-1, len(query_vector))
            result = filters[0].filter_vectors(query_vector, vectors, request.items)
        kept = result.kept_indices.tolist()
        items = None if request.items is None else result.kept
        return KeptItems(kept=kept, items=items, stats=result.stats)

    # Not async: FastAPI runs it on a thread, since encoding takes milliseconds.
    @app.post("/filter/texts")
    def filter_texts(request: TextRequest) -> KeptPassages:
        with refusals():
            result = filters[0](request.query, request.documents)
        return KeptPassages(
            passages=result.passages(), degraded=result.degraded, stats=result.stats
        )

    @app.get("/metrics", response_class=PlainTextResponse)
    async def read_metrics() -> str:
        return metrics.text()

    return app


app = create_app()
