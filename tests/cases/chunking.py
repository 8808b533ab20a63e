"""Cases of the chunker. Texts are cut in an interpreter of their own, which a hang cannot hold up.

Of chunks only what holds for every one, wherever it is cut; of sentences where they end.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import tamis
from cases import processes
from cases.expectations import Case, Check, NoRunner, Outcome, Runner, attempt, judge

TERMINATES_S = 5.0
"""How long a text of a case may take."""

# The white space of Unicode. Python's str.isspace also counts U+001C to U+001F, which this is
# lenient about in both directions: they need not be covered, and a chunk of them is not blank.
WHITE_SPACE = {
    *map(chr, range(0x09, 0x0E)),
    *map(chr, range(0x2000, 0x200B)),
    *"\u0020\u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000",
}

CHUNK = """
import json, sys, time
import tamis
given = json.load(sys.stdin)
chunker = tamis.Chunker(max_chars=given["window"], overlap=given["overlap"])
begin = time.perf_counter()
try:
    snippets = chunker.chunk(given["text"])
    spans = [[s.document, s.start, s.end, s.text] for s in snippets]
    answer = {"value": spans}
except BaseException as error:
    names = [c.__name__ for c in type(error).__mro__]
    answer = {"error": names, "text": ascii(error)}
print(json.dumps({**answer, "seconds": time.perf_counter() - begin}))
"""


class Span(NamedTuple):
    """A chunk, in code points of the text."""

    start: int
    end: int
    text: str


class Chunked(NamedTuple):
    """A text, how it was asked to be cut, and its chunks."""

    text: str
    window: int
    overlap: int
    expect: dict[str, Any]
    spans: list[Span]


def text_of(given: dict[str, Any]) -> str:
    """The text of a case, written out, in repeated parts, or by its code points."""
    if "text_codepoints" in given:
        return "".join(map(chr, given["text_codepoints"]))
    if "text_parts" in given:
        return "".join(part * int(times) for part, times in given["text_parts"])
    return str(given["text"])


def _slice_exact(c: Chunked) -> list[Any]:
    return [s for s in c.spans if c.text[s.start : s.end] != s.text or not 0 <= s.start <= s.end]


def _covers_all_text(c: Chunked) -> list[Any]:
    covered = bytearray(len(c.text))
    for span in c.spans:
        covered[span.start : span.end] = b"\x01" * (span.end - span.start)
    bare = [i for i, char in enumerate(c.text) if not covered[i]]
    return [i for i in bare if not (c.text[i].isspace() or c.text[i] in WHITE_SPACE)]


def _starts_strictly_increase(c: Chunked) -> list[Any]:
    return [(a, b) for a, b in pairwise(c.spans) if a.start >= b.start]


def _no_containment(c: Chunked) -> list[Any]:
    inside = []
    for i, a in enumerate(c.spans):
        inside += [
            (a, b)
            for j, b in enumerate(c.spans)
            if i != j and b.start <= a.start and a.end <= b.end
        ]
    return inside


def _no_blank_chunk(c: Chunked) -> list[Any]:
    return [s for s in c.spans if all(char in WHITE_SPACE for char in s.text)]


def _len_bound(c: Chunked) -> list[Any]:
    """The documented maximum is the window itself, which is below window + overlap."""
    return [s for s in c.spans if s.end - s.start > c.window]


def _consecutive_overlap_positive(c: Chunked) -> list[Any]:
    return [(a, b) for a, b in pairwise(c.spans) if b.start >= a.end]


def _chunk_end_at_sentence_end(c: Chunked) -> list[Any]:
    step = int(c.expect["sentence_step"])
    stops = [*range(step, len(c.text) + 1, step), len(c.text)]
    ends = {len(c.text[:stop].rstrip()) for stop in stops}
    return [s for s in c.spans if s.start + len(s.text.rstrip()) not in ends]


def _some(c: Chunked) -> list[Any]:
    return [] if c.spans or not c.text.strip() else ["no chunk at all"]


Invariant = Callable[[Chunked], list[Any]]
"""Gives what breaks it."""

INVARIANTS: dict[str, Invariant] = {
    "terminates": _some,  # an interpreter of its own, with a time limit, has come back
    "slice_exact": _slice_exact,
    "covers_all_text": _covers_all_text,
    "starts_strictly_increase": _starts_strictly_increase,
    "no_containment": _no_containment,
    "no_blank_chunk": _no_blank_chunk,
    "len_bound": _len_bound,
    "consecutive_overlap_positive": _consecutive_overlap_positive,
    "chunk_end_at_sentence_end": _chunk_end_at_sentence_end,
}


def _chunked(case: Case, outcome: Outcome) -> Chunked:
    given = case["input"]
    spans = [Span(*span[1:]) for span in outcome.value]
    return Chunked(text_of(given), given["window"], given["overlap"], case["expect"], spans)


def _chunk(given: dict[str, Any]) -> Outcome:
    limits = {"window": given.get("window", 500), "overlap": given.get("overlap", 100)}
    # An interpreter's start is not counted, so it has time of its own.
    timeout = TERMINATES_S + 30
    outcome = processes.attempted(CHUNK, {"text": text_of(given), **limits}, timeout)
    assert outcome.seconds <= TERMINATES_S, f"took {outcome.seconds:.1f} s"
    return outcome


def _check(wanted: list[str], chunked: Chunked) -> str | None:
    if unknown := set(wanted) - INVARIANTS.keys():
        raise NoRunner(f"no check for the invariants {sorted(unknown)}")
    broken = {name: INVARIANTS[name](chunked) for name in wanted}
    found = [f"{name}: {len(b)}, first {b[0]!r:.200}" for name, b in broken.items() if b]
    return "; ".join(found) or None


def run_chunk_invariants(case: Case) -> None:
    expect = case["expect"]
    outcome = _chunk(case["input"])
    if expect.get("expect_no_panic") and isinstance(outcome.error, Exception):
        return  # an ordinary exception is what the case allows
    chunked = _chunked(case, outcome) if outcome.error is None else None

    def invariants(wanted: list[str], _: Outcome) -> str | None:
        return _check(wanted, chunked) if chunked else None

    def cut_step(wanted: dict[str, int], _: Outcome) -> str | None:
        cuts = [cut for s in (chunked.spans if chunked else []) for cut in (s.start, s.end)]
        wrong = [cut for cut in cuts if (cut - wanted["base"]) % wanted["step"]]
        return f"cuts at {wrong}" if wrong else None

    def never_cut_at(wanted: list[int], _: Outcome) -> str | None:
        cuts = {cut for s in (chunked.spans if chunked else []) for cut in (s.start, s.end)}
        return f"cuts at {sorted(cuts & set(wanted))}" if cuts & set(wanted) else None

    def read(_: Any, __: Outcome) -> None:
        return None

    checks: dict[str, Check] = {
        "invariants": invariants,
        "cut_step": cut_step,
        "never_cut_at": never_cut_at,
        "sentence_step": read,
        "expect_no_panic": read,
    }
    judge(expect, outcome, checks)


def run_empty_text(case: Case) -> None:
    def chunks(wanted: list[Any], outcome: Outcome) -> str | None:
        if outcome.error is not None or [span[3] for span in outcome.value] == wanted:
            return None
        return f"chunks {outcome.value!r}, wanted {wanted!r}"

    given = case["input"]
    judge(case["expect"], _chunk(given), {"chunks": chunks})
    chunker = tamis.Chunker(max_chars=given["window"], overlap=given["overlap"])
    text = text_of(given)
    together = attempt(
        lambda: [[s.document, s.start, s.end, s.text] for s in chunker.chunk_many([text, text])]
    )
    judge(case["expect"], together, {"chunks": chunks})


def run_chunk_config(case: Case) -> None:
    given = case["input"]
    judge(
        case["expect"],
        attempt(lambda: tamis.Chunker(max_chars=given["window"], overlap=given["overlap"])),
    )


def run_lone_surrogate(case: Case) -> None:
    text = text_of(case["input"])

    def lossless(wanted: bool, outcome: Outcome) -> str | None:
        if outcome.error is not None:
            return None
        bare = _covers_all_text(_chunked_text(outcome))
        return f"positions {bare} are in no chunk" if bool(bare) == wanted else None

    def slice_exact(wanted: bool, outcome: Outcome) -> str | None:
        if outcome.error is not None:
            return None
        wrong = _slice_exact(_chunked_text(outcome))
        return f"{wrong}" if bool(wrong) == wanted else None

    def shifted(_: str, outcome: Outcome) -> str | None:
        return slice_exact(True, outcome)

    def _chunked_text(outcome: Outcome) -> Chunked:
        return Chunked(text, 500, 100, {}, [Span(*span[1:]) for span in outcome.value])

    checks: dict[str, Check] = {"lossless": lossless, "slice_exact": slice_exact}
    judge(case["expect"], _chunk(case["input"]), checks, {"shifted": shifted})
    chunker = tamis.Chunker(max_chars=500, overlap=100)
    together = attempt(lambda: [[0, s.start, s.end, s.text] for s in chunker.chunk_many([text])])
    judge(case["expect"], together, checks, {"shifted": shifted})


def run_sentences(case: Case) -> None:
    def spans(wanted: list[list[int]], outcome: Outcome) -> str | None:
        got = [[s.start, s.end] for s in outcome.value or []]
        return None if got == wanted else f"sentences {[s.text for s in outcome.value or []]}"

    def sentences(wanted: list[str], outcome: Outcome) -> str | None:
        got = [s.text for s in outcome.value or []]
        return None if got == wanted else f"sentences {got}"

    outcome = attempt(lambda: tamis.Chunker().sentences(text_of(case["input"])))
    judge(case["expect"], outcome, {"spans": spans, "sentences": sentences})


def run_no_boundary_inside(case: Case) -> None:
    def spans(wanted: list[list[int]], outcome: Outcome) -> str | None:
        ends = {s.end for s in outcome.value or []} | {s.start for s in outcome.value or []}
        inside = [end for end in sorted(ends) for a, b in wanted if a < end < b]
        return f"boundaries at {inside}" if inside else None

    def read(_: Any, __: Outcome) -> None:
        return None

    outcome = attempt(lambda: tamis.Chunker().sentences(text_of(case["input"])))
    judge(case["expect"], outcome, {"spans": spans, "fragments": read})


RUNNERS: dict[str, Runner] = {
    "sentences": run_sentences,
    "no_boundary_inside": run_no_boundary_inside,
    "chunk_invariants": run_chunk_invariants,
    "empty_text": run_empty_text,
    "chunk_config": run_chunk_config,
    "lone_surrogate": run_lone_surrogate,
}
