"""`filter_vectors` on threads and on an event loop; how long it holds the lock.

Sixteen clients call without a pause. Each goes through the same sixteen requests, so that no way of
serving finds its vectors nearer to the processor than another. Rounds of each way alternate;
figures are medians over rounds. Latencies are of the call alone; on threads they hold the time that
a call waits for the lock and for a core.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from candidates import expected, requests
from tamis import Filter, Threshold

CLIENTS = 16
ROUNDS = 5
SECONDS = 1.5
VALUE = 1.0

REQUESTS = requests(CLIENTS)
SIEVE = Filter(Threshold.fixed(VALUE))
# Latencies in nanoseconds, one list for each client.
Latencies = list[list[int]]


def call(client: int, latencies: list[int]) -> None:
    """The next request of a client."""
    query, rows = REQUESTS[(client + len(latencies)) % len(REQUESTS)]
    begin = time.perf_counter_ns()
    SIEVE.filter_vectors(query, rows)
    latencies.append(time.perf_counter_ns() - begin)


def one_thread() -> Latencies:
    """The clients in turn."""
    latencies: Latencies = [[] for _ in range(CLIENTS)]
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for client in range(CLIENTS):
            call(client, latencies[client])
    return latencies


def threads(n: int) -> Latencies:
    """Threads that share the clients out among them."""
    latencies: Latencies = [[] for _ in range(CLIENTS)]
    start = threading.Barrier(n)

    def serve(first: int) -> None:
        start.wait()
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            for client in range(first, CLIENTS, n):
                call(client, latencies[client])

    before = native_threads()
    running = [threading.Thread(target=serve, args=(first,)) for first in range(n)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    # A joined thread may still be ending.
    for _ in range(1000):
        if native_threads() == before:
            break
        time.sleep(0.001)
    return latencies


def event_loop() -> Latencies:
    """A task for each client on one loop, which calls inline."""
    latencies: Latencies = [[] for _ in range(CLIENTS)]

    async def serve(client: int) -> None:
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            call(client, latencies[client])
            await asyncio.sleep(0)

    async def serve_all() -> None:
        await asyncio.gather(*(serve(client) for client in range(CLIENTS)))

    asyncio.run(serve_all())
    return latencies


def native_threads() -> int:
    """Threads of this process, those that Python does not know too."""
    return len(os.listdir("/proc/self/task"))


def held_us() -> float:
    """For how long a call holds the interpreter's lock: that of all it does but the arithmetic.

    The same call over as many rows of a single number, which lie under the size from which the lock
    is released, holds it from beginning to end. Waiting to have it back is not in it: with other
    threads that is in the latencies above.
    """
    query, rows = requests(1, 1)[0]
    spent = []
    for _ in range(50_000):
        begin = time.perf_counter_ns()
        SIEVE.filter_vectors(query, rows)
        spent.append(time.perf_counter_ns() - begin)
    return statistics.median(spent) / 1e3


def main() -> None:
    """Check, then measure in turns."""
    for request in REQUESTS:
        assert SIEVE.filter_vectors(*request).kept_indices.tolist() == expected(request, VALUE)
    ways: dict[str, Callable[[], Latencies]] = {
        "one thread": one_thread,
        "2 threads": partial(threads, 2),
        "16 threads": partial(threads, CLIENTS),
        "one event loop": event_loop,
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    quantiles: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    before = native_threads()
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begin = time.perf_counter()
            latencies = way()
            spent = time.perf_counter() - begin
            pooled = np.concatenate([np.array(of) for of in latencies])
            rates[name].append(len(pooled) / spent)
            p50, p99 = np.percentile(pooled, [50, 99]).tolist()
            quantiles[name].append((p50 / 1e3, p99 / 1e3))
            assert native_threads() == before, "a thread was created"
    base = statistics.median(rates["one thread"])
    for name in ways:
        rate = statistics.median(rates[name])
        p50s, p99s = zip(*quantiles[name], strict=True)
        row = {
            "way": name,
            "calls_per_s": round(rate),
            "of_one_thread": round(rate / base, 3),
            "p50_us": round(statistics.median(p50s), 2),
            "p99_us": round(statistics.median(p99s), 2),
        }
        print(json.dumps(row), flush=True)

    alone = statistics.median(p50 for p50, _ in quantiles["one thread"])
    held = held_us()
    row = {
        "lock_held_us": round(held, 2),
        "lock_free_us": round(alone - held, 2),
        "threads_created": native_threads() - before,
    }
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    if not Path("/proc/self/task").is_dir():
        raise SystemExit("this bench counts threads in /proc, which is not here")
    main()
