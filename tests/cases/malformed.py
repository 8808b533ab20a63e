"""Feeds what cannot be used to every public name of tamis; run as a script of its own.

Reads {"folder": …}, works there, and prints one line of JSON: how many calls were made, which
raised something that is no `Exception`, and which callables were never reached. Good arguments are
given by name; a call replaces one of them, or all, by something malformed. What is called is found
in `tamis.__all__` and on the instances made here, so a new name is fed too.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tamis

SPECIAL = ("__getitem__", "__contains__", "__eq__", "__lt__", "__call__", "__len__", "__iter__")


class Liar:
    """Says that it has a length, items and numbers, and has none of them."""

    def __len__(self) -> int:
        return 2**60

    def __getitem__(self, index: Any) -> Any:
        raise ValueError("no item")

    def __iter__(self) -> Iterator[Any]:
        raise ValueError("no iteration")

    def __float__(self) -> float:
        raise ValueError("no number")

    def __index__(self) -> int:
        raise ValueError("no index")

    def __str__(self) -> str:
        raise ValueError("no text")

    def __repr__(self) -> str:
        raise ValueError("no text")


class LongLiar(list[float]):
    """A list that says it is longer than memory."""

    def __len__(self) -> int:
        return 2**60


class BadPart:
    """In the place of a scorer, an encoder or a chunker: every call gives what nobody can use."""

    identity: Any = "bad@1"
    scope = "snippet"
    dim = 2
    tolerance = 0.0
    max_chars = 500
    overlap = 0

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def score(self, *_: Any, **__: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    encode = chunk = chunk_many = score


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    out: list[Any] = []
    for _ in range(depth):
        out = [out]
    return out


def malformed() -> list[Any]:
    """What no function asks for, or only some do."""
    loop: list[Any] = []
    loop.append(loop)
    ragged = np.empty(2, object)
    ragged[:] = [[1.0, 2.0], [3.0]]
    offset = np.zeros(17, np.uint8)[1:].view(np.float32)
    arrays = [
        ragged,
        offset,
        np.array(0.5),
        np.zeros((0, 0), "f4"),
        np.zeros((2, 3, 4), "f4"),
        np.full((2, 2), np.nan, "f4"),
        np.full(3, np.inf),
        np.zeros(3, complex),
        np.array(["a", "b"]),
        np.array(["2020-01-01"], "M8[D]"),
        np.ones((2, 2), ">f4"),
        np.ones((4, 4), "f4").T[::-2, ::-1],
        np.ones(3, "i8"),
        np.ma.masked_array([0.1, 0.2], [False, True]),
        np.zeros(2, [("a", "f4")]),
    ]
    numbers = [True, -1, 0, 2**70, -(2**70), 1e308, float("nan"), float("inf"), -0.0, 1j]
    texts = ["", "\ud800", "a\x00b", "\U0010ffff", "x" * 10_000, b"\xff", bytearray(b"ab")]
    lists = [[], [[]], [None], ["a", 1], [[1, 2], [3]], [0.1, "0.2"], ["\ud800"], loop, nested(900)]
    others = [None, object(), object, Liar(), LongLiar([0.1]), {}, {"a": [1]}, {1: 2}, {0.5}, ()]
    others += [lambda: 1, iter([0.1, "x"]), (x for x in [1.0]), memoryview(b"ab"), range(3), tamis]
    others += [(LongLiar([0.1]), LongLiar([0.1]), None), [LongLiar([0.1])], {"a": LongLiar([0.1])}]
    answers: list[Any] = [None, "x", [], np.zeros((1, 1)), np.array([np.nan]), ValueError()]
    parts = [BadPart(answer) for answer in answers]
    return [*arrays, *numbers, *texts, *lists, *others, *parts]


def good(folder: str) -> dict[str, Any]:
    """An argument that fits, by the parameter's name."""
    rows = np.array([[1, 0], [0, 1], [1, 1]], "f4")
    path = os.path.join(folder, "calibration.json")
    scores, ids = [0.1, 0.2, 0.9, 0.3], ["a", "a", "a", "b"]
    calibration = tamis.Calibration.fit(scores, [1, 1, 0, 1], query=ids, topic=ids, scorer="s@1")
    calibration.save(path)
    labelled = os.path.join(folder, "labelled.jsonl")
    with open(labelled, "w", encoding="utf-8") as file:
        file.write('{"query": "q"}\n')
    return {
        "text": "One sentence. Another one.",
        "texts": ["One sentence.", "Another one."],
        "documents": ["One sentence.", "Another one."],
        "query": "which?",
        "queries": ["which?"],
        "query_vector": rows[0],
        "snippet_matrix": rows,
        "matrix": rows,
        "scores": scores,
        "score": 0.5,
        "relevant": [1, 1, 0, 1],
        "alpha": "0.1",
        "n": 9,
        "threshold": tamis.Threshold.fixed(0.5),
        "value": 0.5,
        "path": path,
        "max_chars": 100,
        "overlap": 10,
        "keep": [True, False],
        "calibration": calibration,
        "scorer": "s@1",
        "kind": "query",
        "labelled": labelled,
        "labelled_queries": labelled,
        "snippets": tamis.Chunker().chunk("One sentence. Another one."),
        "encoder": BadPart(np.ones((1, 2), "f4")),
    }


def instances(given: dict[str, Any]) -> dict[str, Any]:
    """An object of each public class that can be made without a model."""
    calibration, chunker = given["calibration"], tamis.Chunker()
    snippets = chunker.chunk_many(given["documents"])
    chosen = tamis.Filter(given["threshold"])
    made = {
        "Calibration": calibration,
        "Chunker": chunker,
        "DesignEffect": calibration.design_effect(0.5),
        "Filter": chosen,
        "FilterResult": chosen.filter_scores(given["scores"]),
        "Report": calibration.report(),
        "Snippet": snippets[0],
        "Snippets": snippets,
        "Threshold": given["threshold"],
    }
    made["EmbeddingScorer"] = tamis.EmbeddingScorer(given["encoder"])
    try:
        made["OnnxEncoder"] = tamis.OnnxEncoder("minilm")
        made["OnnxEncoder"].encode(["warm"])
    except (FileNotFoundError, ImportError):
        made.pop("OnnxEncoder", None)  # neither the model nor its runtime has to be here
    return made


def targets(given: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Every public callable by its dotted name: functions, classes, methods of instances."""
    found: dict[str, Callable[..., Any]] = {}
    made = instances(given)
    for name in tamis.__all__:
        value = getattr(tamis, name)
        if isinstance(value, type) and getattr(value, "_is_protocol", False):
            continue
        if callable(value):
            found[name] = value
        holder = made.get(name, value if isinstance(value, type) else None)
        if holder is None or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, type) and issubclass(value, BaseException):
            continue
        for attribute in dir(holder):
            if attribute.startswith("_") and attribute not in SPECIAL:
                continue
            member = getattr(holder, attribute, None)
            unbound = isinstance(member, types.FunctionType) and holder is value
            if callable(member) and not unbound and not isinstance(member, type):
                found[f"{name}.{attribute}"] = member
    return found


def parameters(call: Callable[..., Any]) -> list[tuple[str, bool, bool]]:
    """(name, by keyword, required) of each parameter; a guess where there is no signature."""
    try:
        listed = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return [("value", False, True)]
    return [
        (p.name, p.kind is p.KEYWORD_ONLY, p.default is p.empty)
        for p in listed
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]


Arguments = tuple[list[Any], dict[str, Any]]


def arranged(listed: list[tuple[str, bool, bool]], values: dict[str, Any]) -> Arguments:
    """By position as far as the parameters have values without a gap, then by name."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    gap = False
    for name, keyword, _ in listed:
        if name not in values:
            gap = True
        elif keyword or gap:
            named[name] = values[name]
        else:
            positional.append(values[name])
    return positional, named


def calls(call: Callable[..., Any], given: dict[str, Any]) -> Iterator[tuple[str, Arguments]]:
    """Argument lists: none, too many, one malformed among good ones, malformed throughout."""
    listed = parameters(call)
    yield "nothing", ([], {})
    yield "twenty arguments", ([None] * 20, {})
    yield "unknown names", ([], {"no_such_name": 1, "\ud800": 2})
    base = {name: given.get(name) for name, _, required in listed if required}
    yield "what fits", arranged(listed, base)
    for number, bad in enumerate(malformed()):
        shown = f"malformed {number}, a {type(bad).__name__}"
        for name, _, _ in listed:
            yield f"{name} = {shown}", arranged(listed, {**base, name: bad})
        yield f"all {shown}", arranged(listed, dict.fromkeys(base, bad))


def main() -> None:
    folder = json.load(sys.stdin)["folder"]
    os.chdir(folder)
    # Some of what is fed are small integers, which open() takes for descriptors and closes.
    out = os.fdopen(os.dup2(1, 200), "w")
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    given = good(folder)
    count, raised, escaped, reached = 0, 0, [], set()
    everything = targets(given)
    for name, call in everything.items():
        for shown, (positional, named) in calls(call, given):
            print(f"{name} with {shown}", file=sys.stderr)  # the last line before a crash
            count += 1
            reached.add(name)
            try:
                result = call(*positional, **named)
                if inspect.isawaitable(result) and hasattr(result, "close"):
                    result.close()
            except Exception:
                raised += 1
            except BaseException as error:
                escaped.append(f"{name} with {shown}: {ascii(error)[:200]}")
    answer = {
        "calls": count,
        "callables": len(everything),
        "raised": raised,
        "escaped": escaped,
        "unreached": sorted(everything.keys() - reached),
    }
    out.write(json.dumps(answer) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
