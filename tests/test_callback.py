"""`on_result`: told of every result, and never a reason for a request to fail."""

from __future__ import annotations

import asyncio
import functools
import logging
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stub_encoder import DIM, StubEncoder
from tamis import Calibration, Chunker, EmbeddingScorer, Filter, FilterResult, Threshold

ROWS = np.eye(4, DIM, dtype=np.float32) + 1
DOCUMENTS = ["The sieve keeps the grain. Dust falls through the mesh."]
# One request on each path.
REQUESTS: dict[str, Callable[[Filter], FilterResult]] = {
    "texts": lambda sieve: sieve("what does the sieve keep", DOCUMENTS),
    "vectors": lambda sieve: sieve.filter_vectors(ROWS[0], ROWS),
    "scores": lambda sieve: sieve.filter_scores([0.1, 0.9]),
}


def told(function: Callable[[FilterResult], object]) -> Filter:
    scorer = EmbeddingScorer(StubEncoder())
    return Filter(Threshold.fixed(0.5), scorer, Chunker(60, 20), on_result=function)


def fails(result: FilterResult) -> None:
    raise ZeroDivisionError("a broken dashboard")


class Remembers:
    """A callable object that pickles."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, result: FilterResult) -> None:
        self.n += 1


@pytest.mark.parametrize("path", REQUESTS)
def test_it_is_called_with_the_result_that_is_returned(path: str) -> None:
    seen: list[FilterResult] = []
    sieve = told(seen.append)
    results = [REQUESTS[path](sieve) for _ in range(3)]
    assert [id(result) for result in seen] == [id(result) for result in results]
    assert seen[0].stats.n_candidates == len(results[0])


@pytest.mark.parametrize("path", REQUESTS)
def test_what_it_raises_never_reaches_the_request(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected = REQUESTS[path](told(lambda result: None))
    sieve = told(fails)
    with caplog.at_level(logging.INFO, "tamis"):
        for _ in range(5):
            result = REQUESTS[path](sieve)
            assert result.kept == expected.kept
            assert result.stats == expected.stats
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("tamis", "ERROR")
    assert "on_result raised" in record.getMessage()
    assert record.exc_info is not None and record.exc_info[0] is ZeroDivisionError
    assert "in fails" in caplog.text


def test_later_failures_are_logged_for_who_asks(caplog: pytest.LogCaptureFixture) -> None:
    sieve = told(fails)
    with caplog.at_level(logging.DEBUG, "tamis"):
        for _ in range(3):
            sieve.filter_scores([0.1])
    assert [record.levelname for record in caplog.records] == ["ERROR", "DEBUG", "DEBUG"]


def test_a_log_handler_that_raises_does_not_reach_the_request_either() -> None:
    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise OSError("disk full")

    logger, handler = logging.getLogger("tamis"), Broken()
    logger.addHandler(handler)
    try:
        assert told(fails).filter_scores([0.1]).kept == [0]
    finally:
        logger.removeHandler(handler)


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


def test_an_exception_without_words_does_not_reach_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def odd(result: FilterResult) -> None:
        raise Odd

    monkeypatch.setattr(logging, "raiseExceptions", False)
    assert told(odd).filter_scores([0.1]).kept == [0]


@pytest.mark.parametrize(
    "kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit]
)
def test_what_ends_a_program_or_a_task_passes(kind: type[BaseException]) -> None:
    def stops(result: FilterResult) -> None:
        raise kind

    with pytest.raises(kind):
        told(stops).filter_scores([0.1])


def test_a_call_that_raises_has_no_result_to_tell_of() -> None:
    seen: list[FilterResult] = []
    sieve = told(seen.append)
    with pytest.raises(ValueError, match=r"scores\[0\]"):
        sieve.filter_scores([float("nan")])
    with pytest.raises(ValueError, match="items has 1"):
        sieve.filter_scores([0.1, 0.2], ["one"])
    with pytest.raises(TypeError, match="query must be a str"):
        sieve(None, DOCUMENTS)  # type: ignore[arg-type]
    assert seen == []


async def coroutine(result: FilterResult) -> None: ...


class Awaitable:
    async def __call__(self, result: FilterResult) -> None: ...


@pytest.mark.parametrize("bad", [3, "print", [print], object()])
def test_what_cannot_be_called_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match=f"on_result must be callable, got {type(bad).__name__}"):
        Filter(Threshold.fixed(0.5), on_result=bad)


@pytest.mark.parametrize("bad", [coroutine, Awaitable(), functools.partial(coroutine)])
def test_a_coroutine_function_is_refused_since_nobody_awaits(bad: Any) -> None:
    with pytest.raises(TypeError, match="on_result must be a plain function"):
        Filter(Threshold.fixed(0.5), on_result=bad)


def test_load_takes_it_too(tmp_path: Path) -> None:
    ids = [f"t{i}" for i in range(12)]
    made = Calibration.fit(np.arange(12) / 10, [1] * 12, query=ids, topic=ids)
    made.save(tmp_path / "calibration.json")
    seen: list[FilterResult] = []
    sieve = Filter.load(tmp_path / "calibration.json", "0.2", on_result=seen.append)
    assert sieve.filter_scores([0.1]) is seen[0]


def test_a_filter_travels_with_it() -> None:
    sieve = pickle.loads(pickle.dumps(told(Remembers())))
    assert sieve.filter_scores([0.1]).kept == [0]
    assert sieve._on_result.function.n == 1


def test_threads_are_all_heard_and_one_failure_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lock = threading.Lock()
    threads: list[int] = []

    def counts_and_fails(result: FilterResult) -> None:
        with lock:
            threads.append(threading.get_ident())
        raise ValueError("on every thread")

    sieve = told(counts_and_fails)
    start = threading.Barrier(8)

    def run(_: int) -> int:
        start.wait()
        n_kept = 0
        for _ in range(200):
            n_kept += len(sieve.filter_vectors(ROWS[0], ROWS).kept)
        # On the thread of the request.
        assert threads.count(threading.get_ident()) == 200
        return n_kept

    with caplog.at_level(logging.INFO, "tamis"), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(8))) == [800] * 8
    assert len(threads) == 1600
    assert len(caplog.records) == 1


def test_tasks_of_one_event_loop_go_on(caplog: pytest.LogCaptureFixture) -> None:
    answered: list[int] = []

    def task_then_failure(result: FilterResult) -> None:
        # A plain function may start a task of the loop that it is called on.
        asyncio.get_running_loop().call_soon(answered.append, result.stats.n_kept)
        raise ValueError("in a loop")

    sieve = told(task_then_failure)

    async def request(i: int) -> list[Any]:
        await asyncio.sleep(0)
        return sieve.filter_scores([0.1] * i).kept

    async def serve() -> list[list[Any]]:
        return await asyncio.gather(*(request(i) for i in range(50)))

    with caplog.at_level(logging.INFO, "tamis"):
        kept = asyncio.run(serve())
    assert [len(items) for items in kept] == list(range(50)) == sorted(answered)
    assert len(caplog.records) == 1
