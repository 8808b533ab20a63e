"""The example service under a bounded load from this machine: what of its time is the filter's.

The service runs in a process of its own (`uvicorn examples.fastapi_app:app`), the load is httpx
here: a fixed number of clients, each of which sends its next request when a fixed time has passed,
or when the last one was answered if that is later. The filter's share is `total_ns` of the answers'
statistics, less `encode_ns` on texts.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from candidates import expected, requests
from tamis import Calibration, Document, Filter, LabelledQuery, calibrate
from tamis.models import installed_models

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 8
# Candidates, components, clients, requests a second of all of them together.
VECTORS_LOADS = [(50, 384, 1, 50), (50, 384, 16, 200), (200, 1024, 1, 25), (200, 1024, 16, 50)]
# Clients, requests a second.
TEXTS_LOADS = [(1, 1), (4, 2)]
TEXTS_SECONDS = 20
SENTENCES = "The pump failed at noon. It was mended by four, and nobody was hurt! Was it? "


@contextmanager
def served(calibration: Path, **variables: str) -> Iterator[str]:
    """The service's address while it runs."""
    command = [sys.executable, "-m", "uvicorn", "examples.fastapi_app:app", "--port", "0"]
    server = subprocess.Popen(
        [*command, "--no-access-log"],
        cwd=ROOT,
        env=os.environ | {"TAMIS_CALIBRATION": str(calibration)} | variables,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        for line in server.stderr:
            if found := re.search(r"running on (http://\S+:\d+)", line):
                yield found[1]
                break
        else:
            raise RuntimeError("the service did not start")
    finally:
        server.terminate()
        server.wait(timeout=30)


async def load(
    address: str, path: str, bodies: list[bytes], clients: int, per_s: float, seconds: float
) -> list[tuple[int, dict[str, Any], float]]:
    """For each answer the number of its body, what it said, and its latency in seconds."""
    answers: list[tuple[int, dict[str, Any], float]] = []

    async def client(first: int) -> None:
        headers = {"content-type": "application/json"}
        async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=60) as http:
            begin = time.perf_counter()
            due, number = begin + first / per_s, first
            while due < begin + seconds:
                await asyncio.sleep(max(due - time.perf_counter(), 0))
                body = number % len(bodies)
                sent = time.perf_counter()
                response = await http.post(path, content=bodies[body], headers=headers)
                spent = time.perf_counter() - sent
                answers.append((body, response.raise_for_status().json(), spent))
                number += clients
                due = max(due + clients / per_s, time.perf_counter())

    await asyncio.gather(*(client(first) for first in range(clients)))
    return answers


def measured(
    case: dict[str, Any], seconds: float, answers: list[tuple[int, dict[str, Any], float]]
) -> str:
    """A row: quantiles of the filter's share and of the whole request."""
    stats = [answer["stats"] for _, answer, _ in answers]
    share = [(s["total_ns"] - s["encode_ns"]) / 1e3 for s in stats]
    latency = [seconds * 1e3 for *_, seconds in answers]
    out = case | {"answered_per_s": round(len(answers) / seconds, 1)}
    out |= quantiles("filter", "us", share)
    if any(s["encode_ns"] for s in stats):
        out |= quantiles("encode", "ms", [s["encode_ns"] / 1e6 for s in stats])
    return json.dumps(out | quantiles("request", "ms", latency))


def quantiles(name: str, unit: str, values: list[float]) -> dict[str, float]:
    """p50 and p99."""
    p50, p99 = np.percentile(values, [50, 99]).tolist()
    return {f"{name}_p50_{unit}": round(p50, 2), f"{name}_p99_{unit}": round(p99, 2)}


def vectors(folder: Path) -> None:
    """Vectors as base64, filtered on the service's event loop."""
    random = np.random.default_rng(0)
    for n, dim, clients, per_s in VECTORS_LOADS:
        # The calibration's number of candidates is that of the requests.
        ids = np.repeat(np.arange(40), n).tolist()
        relevant = np.arange(40 * n) % n < 5
        scores = np.where(relevant, 0.9, 1.0) + 0.05 * random.standard_normal(40 * n)
        made = Calibration.fit(
            scores, relevant, query=ids, topic="query", scorer="bench", chunker="bench"
        )
        made.save(folder / "vectors.json")
        given = requests(8, dim, n)
        kept = [expected(request, made.threshold("0.1").value) for request in given]
        names = ("query_vector", "vectors")
        bodies = [
            json.dumps(
                {
                    name: base64.b64encode(array.tobytes()).decode()
                    for name, array in zip(names, request, strict=True)
                }
            ).encode()
            for request in given
        ]
        with served(folder / "vectors.json", TAMIS_SCORER="bench", TAMIS_CHUNKER="bench") as at:
            asyncio.run(load(at, "/filter/vectors", bodies, 1, 20, 1))
            answers = asyncio.run(load(at, "/filter/vectors", bodies, clients, per_s, SECONDS))
        assert all(answer["kept"] == kept[body] for body, answer, _ in answers)
        case = {"path": "vectors", "n": n, "d": dim, "clients": clients, "asked_per_s": per_s}
        print(measured(case, SECONDS, answers), flush=True)


def texts(folder: Path) -> None:
    """Twelve documents of six hundred characters, with the model that is installed."""
    lands = [f"Land{letter}" for letter in "ABCDEFGHIJKL"]
    documents = {land: f"{land} grows fruit. {SENTENCES * 8}" for land in lands}
    queries = [f"What is grown in {land}?" for land in lands]
    labelled = [
        LabelledQuery(
            land,
            query,
            tuple(
                Document(of, text, ((0, len(of)),) if of == land else ())
                for of, text in documents.items()
            ),
            topic=land,
        )
        for land, query in zip(lands, queries, strict=True)
    ]
    calibrate(labelled, progress=False).save(folder / "texts.json")
    given = list(documents.values())
    bodies = [json.dumps({"query": query, "documents": given}).encode() for query in queries]
    sieve = Filter.load(folder / "texts.json", "0.1")
    texts_kept = [[p.text for p in sieve(query, given).passages()] for query in queries]
    assert any(texts_kept)
    with served(folder / "texts.json") as address:
        asyncio.run(load(address, "/filter/texts", bodies, 1, 2, 1))
        for clients, per_s in TEXTS_LOADS:
            answers = asyncio.run(
                load(address, "/filter/texts", bodies, clients, per_s, TEXTS_SECONDS)
            )
            for body, answer, _ in answers:
                assert [p["text"] for p in answer["passages"]] == texts_kept[body]
            case: dict[str, Any] = {"path": "texts", "documents": len(given)}
            case |= {"clients": clients, "asked_per_s": per_s}
            print(measured(case, TEXTS_SECONDS, answers), flush=True)


def main() -> None:
    """Both paths; texts only where a model is installed."""
    with tempfile.TemporaryDirectory() as name:
        vectors(Path(name))
        if "minilm" in installed_models():
            texts(Path(name))
        else:
            print(json.dumps({"path": "texts", "skipped": "model minilm is not installed"}))


if __name__ == "__main__":
    main()
