"""Chunkers on texts whose UTF-8 form is cached, and on new ones: interleaved in one run.

CPython keeps the UTF-8 form of a str once something has asked for it, so a bench that repeats one
text leaves that work out. A service sees every text once. Here each round times every contestant
on both, in a new order; copies are made before the clock starts. Prints JSON lines: `us` is the
median, `us_min` the best of the rounds, `ratio` the median over the rounds of its time over ours
in the same round and state, `ratio_min` the ratio of the best. ASCII texts are their own UTF-8.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import json
import operator
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tamis_plugin

OURS = tamis_plugin.CHUNKERS[0]
PEERS = (
    "semantic-text-splitter.chunk_indices",
    "konan.FixedSizeChunker(respect_sentences)",
    "konan.SentenceChunker",
    "blazechunk.SentenceChunker",
    "chonkie-core.chunk_offsets(offsets only)",
)
# Their chunks make a str each time that one is read, where our first two give them ready made. So
# these are timed also with what a user reads: the text and both offsets.
READ = {
    "konan.FixedSizeChunker(respect_sentences)": ("text", "start", "end"),
    "konan.SentenceChunker": ("text", "start", "end"),
    "blazechunk.SentenceChunker": ("text", "start_index", "end_index"),
}
CASES = ("en_5k", "zh_5k", "en_1mb", "multi_1mb")
STATES = ("warm", "fresh")
CACHE = 1 << 19  # bytes

Run = Callable[[str], Any]


def emit(**row: Any) -> None:
    """Prints a row."""
    short = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()}
    print(json.dumps(short, ensure_ascii=False), flush=True)


def new(text: str) -> str:
    """An equal str that nothing has read yet."""
    copy = "".join([text[: len(text) // 2], text[len(text) // 2 :]])
    assert copy is not text
    return copy


def warm(text: str) -> tuple[str, int]:
    """A copy that carries its UTF-8 form, and the size of one that does not."""
    copy = new(text)
    plain = sys.getsizeof(copy)
    read = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
    read.argtypes, read.restype = [ctypes.py_object, ctypes.c_void_p], ctypes.c_void_p
    assert read(copy, None)
    # The form counts towards the size, so this shows both that it is there and that it was not.
    assert copy.isascii() or sys.getsizeof(copy) == plain + len(text.encode()) + 1
    return copy, plain


def reading(run: Run, fields: tuple[str, ...]) -> Run:
    """The run, and its chunks read."""
    read = operator.attrgetter(*fields)
    return lambda text: [read(chunk) for chunk in run(text)]


def seconds(run: Run, texts: Sequence[str]) -> float:
    """Per text."""
    start = time.perf_counter()
    for text in texts:
        run(text)
    return (time.perf_counter() - start) / len(texts)


def times(
    runs: dict[str, Run], text: str, rounds: int, min_time: float
) -> tuple[dict[tuple[str, str], list[float]], dict[str, int]]:
    """Seconds of each round by contestant and state, and how many texts a round holds."""
    cached, plain = warm(text)
    inner = {}
    for name, run in runs.items():
        run(cached)
        one = min(seconds(run, [cached]) for _ in range(3))
        # No more texts than stay in the processor's cache, or their first read is what is timed.
        inner[name] = max(1, min(int(min_time / max(one, 1e-9)), CACHE // plain))
    taken: dict[tuple[str, str], list[float]] = {(n, s): [] for n in runs for s in STATES}
    order = list(taken)
    shuffle = random.Random(0)
    for _ in range(rounds):
        shuffle.shuffle(order)
        gc.collect()
        gc.disable()
        for name, state in order:
            count = inner[name]
            texts = [new(text) for _ in range(count)] if state == "fresh" else [cached] * count
            assert state == "warm" or all(sys.getsizeof(copy) == plain for copy in texts)
            taken[name, state].append(seconds(runs[name], texts))
        gc.enable()
    return taken, inner


def checked(
    name: str, spans: Callable[[str], list[tuple[Any, Any, Any]]], text: str
) -> tuple[int, float]:
    """How many chunks, and the share whose offsets cut exactly their text; ours must be 1."""
    found = spans(text)
    exact = sum(s is not None and text[s:e] == chunk for chunk, s, e in found) / max(1, len(found))
    if name in tamis_plugin.CHUNKERS:
        tamis_plugin.check_spans(text, found)
        assert spans(new(text)) == found
    return len(found), exact


def main() -> None:
    """Prints a row for each case, contestant and state."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, required=True, help="the side-by-side scripts")
    parser.add_argument("--corpus", type=Path, required=True, help="folder of the texts")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--min-time", type=float, default=0.002, help="seconds of one round")
    parser.add_argument("--peers", default="", help="comma separated substrings")
    parser.add_argument("--cases", default="", help="comma separated substrings")
    options = parser.parse_args()

    def wanted(name: str, words: str) -> bool:
        return not words or any(word and word in name for word in words.split(","))

    sys.path.insert(0, str(options.bench))
    script = importlib.import_module("bench_chunking")
    tamis_plugin.register("chunking", script.add)
    factories = {name: factory for name, _, factory in script.REG}
    contestants = {}
    for name in (*tamis_plugin.CHUNKERS, *PEERS):
        if name != OURS and not wanted(name, options.peers):
            continue
        try:
            contestants[name] = factories[name]()
        except Exception as error:
            if name in tamis_plugin.CHUNKERS:
                raise
            emit(bench="fresh", peer=name, error=repr(error)[:160])
            continue
        if name in READ:
            run, spans = contestants[name]
            contestants[f"{name}, read"] = reading(run, READ[name]), spans
    for case in CASES:
        if not wanted(case, options.cases):
            continue
        text = (options.corpus / f"{case}.txt").read_text(encoding="utf8")
        facts, runs = {}, {}
        for name, (run, spans) in contestants.items():
            try:
                facts[name] = checked(name, spans, text)
                run(new(text))
            except BaseException as error:  # a panic of a Rust peer is a BaseException
                if name in tamis_plugin.CHUNKERS or isinstance(error, KeyboardInterrupt):
                    raise
                emit(bench="fresh", case=case, peer=name, error=repr(error)[:160])
                continue
            runs[name] = run
        taken, inner = times(runs, text, options.rounds, options.min_time)
        for (name, state), values in taken.items():
            ours = taken[OURS, state]
            emit(
                bench="fresh",
                case=case,
                state=state,
                peer=name,
                us=statistics.median(values) * 1e6,
                us_min=min(values) * 1e6,
                ratio=statistics.median(v / o for v, o in zip(values, ours, strict=True)),
                ratio_min=min(values) / min(ours),
                mb_s_best=len(text.encode()) / min(values) / 1e6,
                rounds=len(values),
                inner=inner[name],
                chunks=facts[name][0],
                offsets_exact=facts[name][1],
            )


if __name__ == "__main__":
    main()
