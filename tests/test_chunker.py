"""`Chunker`, `Snippets`, `Snippet`: exact positions, nothing lost, nothing over the limit."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tamis
from tamis import Chunker, Snippet, Snippets

FAMILY = "👩\u200d👩\u200d👧\u200d👦"
SCRIPTS = {
    "English": "The tide went out at six. The boats lay on the sand, and nobody came. ",
    "Chinese": "潮水在六点退去。船停在沙滩上，没有人来。",
    "Arabic": "انحسر المد في السادسة. رست القوارب على الرمل، ولم يأت أحد. ",
    "Hindi": "ज्वार छह बजे उतरा। नावें रेत पर पड़ी रहीं, कोई नहीं आया। ",
    "Thai": "น้ำลงตอนหกโมงเรือเกยอยู่บนหาดทรายและไม่มีใครมา",
    "Korean": "썰물은 여섯 시에 빠졌다. 배는 모래 위에 있었다. ",
    "emoji": f"{FAMILY} went. 🇩🇪🇯🇵 came! ",
    "controls": "\ufeffOne\x00two.\r\nThree\x1cfour.\u2028Five\u200b six. ",
}


def check(text: str, snippets: Snippets, max_chars: int, overlap: int) -> None:
    """Everything that holds for one text."""
    spans = [(s.start, s.end) for s in snippets]
    covered = 0
    for snippet in snippets:
        assert 0 <= snippet.start < snippet.end <= len(text)
        assert text[snippet.start : snippet.end] == snippet.text
        assert len(snippet.text) <= max_chars
        assert not snippet.text.isspace()
        assert text[covered : snippet.start].isspace() or snippet.start <= covered
        covered = snippet.end
    assert not text[covered:].strip()
    for (a_start, a_end), (b_start, b_end) in pairwise(spans):
        assert a_start < b_start and a_end < b_end
        assert a_end - b_start <= overlap


def texts_of(text: str, max_chars: int, overlap: int) -> list[str]:
    return [s.text for s in Chunker(max_chars, overlap).chunk(text)]


# What is cut, and where


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(("max_chars", "overlap"), [(500, 100), (60, 20), (7, 3), (1, 0)])
def test_every_script_is_cut_exactly(script: str, max_chars: int, overlap: int) -> None:
    text = SCRIPTS[script] * 60
    snippets = Chunker(max_chars, overlap).chunk(text)
    assert len(snippets) > 1
    check(text, snippets, max_chars, overlap)


@given(
    text=st.lists(
        st.one_of(
            st.text(max_size=8),
            st.sampled_from(
                [*SCRIPTS.values(), "\n", "\n\n", "\r\n", " ", "\u0301", FAMILY, "‼\u200d🚀"]
            ),
        ),
        max_size=12,
    ).map("".join),
    max_chars=st.integers(1, 80),
    share=st.floats(0, 1, exclude_max=True),
)
@example(text=" \u0308", max_chars=1, share=0.0)
@example(text="\u0301" + FAMILY + "a", max_chars=7, share=0.2)
@settings(max_examples=300, deadline=None)
def test_every_text_is_cut_exactly(text: str, max_chars: int, share: float) -> None:
    overlap = int(share * max_chars)
    check(text, Chunker(max_chars, overlap).chunk(text), max_chars, overlap)


def test_whole_sentences_are_packed_and_shared() -> None:
    text = "Fog came at six. Fog left at ten. Fog came back at noon. Fog stayed until dusk."
    assert texts_of(text, 40, 18) == [
        "Fog came at six. Fog left at ten.",
        "Fog left at ten. Fog came back at noon.",
        # The tail begins at a word, and leaves room for the whole sentence that follows.
        "back at noon. Fog stayed until dusk.",
    ]


def test_overlap_is_applied_where_nothing_separates() -> None:
    text = "abcdefghij" * 120
    spans = [(s.start, s.end) for s in Chunker().chunk(text)]
    assert all(a_end - b_start == 100 for (_, a_end), (b_start, _) in pairwise(spans))
    assert spans[0] == (0, 500) and spans[-1][1] == 1200


def test_lines_of_a_paragraph_belong_together_and_blank_lines_part() -> None:
    text = "A line that was\nwrapped by hand.\r\n\r\nA new paragraph\nfollows"
    assert texts_of(text, 35, 0) == [
        "A line that was\nwrapped by hand.",
        "A new paragraph\nfollows",
    ]


@pytest.mark.parametrize("cluster", ["🇩🇪", FAMILY, "e\u0301", "\u1100\u1161\u11a8", "\r\n", "क्षि"])
def test_what_a_reader_sees_as_one_character_is_not_cut(cluster: str) -> None:
    # "a" on either side: white space at the ends of a snippet is no part of it.
    text = f"a{cluster}a" * 100
    step = len(cluster) + 2
    for max_chars, overlap in [(20, 5), (len(cluster), 0), (len(cluster) + 1, len(cluster))]:
        for snippet in Chunker(max_chars, overlap).chunk(text):
            for cut in (snippet.start, snippet.end):
                assert not 1 < cut % step < step - 1


def test_a_cluster_over_the_limit_is_cut_all_the_same() -> None:
    text = "a" + "\u0301" * 1000
    check(text, Chunker(100, 20).chunk(text), 100, 20)


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "\t\r\n\u00a0\u3000", "\x1c\x1d\x1e\x1f\x85\u2028\u2029"]
)
def test_blank_text_has_no_snippets(text: str) -> None:
    assert len(Chunker().chunk(text)) == 0
    assert list(Chunker().chunk_many([text, text])) == []


def test_white_space_is_what_python_says() -> None:
    blank = [
        chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000 and chr(c).isspace()
    ]
    for char in blank:
        assert len(Chunker().chunk(char)) == 0, ascii(char)
    # No other character is blank: as many snippets as there are texts.
    others = [chr(c) for c in range(0x3100) if not chr(c).isspace()]
    assert [s.document for s in Chunker().chunk_many(others)] == list(range(len(others)))


@pytest.mark.parametrize(
    "unit", ["a", " ", "A. ", "\u0301", "🇩🇪", ",", "\n", "\r\n", "。", "\x00", "- a\n", "1. "]
)
def test_a_million_of_anything_comes_back(unit: str) -> None:
    text = "x" + unit * (1_000_000 // len(unit)) + "y"
    check(text, Chunker().chunk(text), 500, 100)


# Many documents


def test_documents_keep_their_positions() -> None:
    texts = ["One. Two.", "", "  ", "Drei Sätze. Hier. Da.", "四。"]
    snippets = Chunker(10, 0).chunk_many(texts)
    for snippet in snippets:
        assert texts[snippet.document][snippet.start : snippet.end] == snippet.text
    alone = [
        (i, s.start, s.end) for i, text in enumerate(texts) for s in Chunker(10, 0).chunk(text)
    ]
    assert [(s.document, s.start, s.end) for s in snippets] == alone
    assert snippets.texts() == [s.text for s in snippets]


@pytest.mark.parametrize(
    "texts", [["A. B.", "C."], ("A. B.", "C."), {"A. B.": 1, "C.": 2}, iter(["A. B.", "C."])]
)
def test_any_iterable_of_texts_will_do(texts: Any) -> None:
    assert [(s.document, s.text) for s in Chunker().chunk_many(texts)] == [(0, "A. B."), (1, "C.")]


def test_an_error_of_the_iterable_is_passed_on() -> None:
    def broken() -> Iterator[str]:
        yield "One."
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        Chunker().chunk_many(broken())


def test_a_hundred_thousand_documents() -> None:
    texts = [f"Document {i} says ü. It ends." for i in range(100_000)]
    snippets = Chunker(18, 0).chunk_many(texts)
    assert len(snippets) >= 200_000
    for snippet in snippets[:: len(snippets) // 97]:
        assert texts[snippet.document][snippet.start : snippet.end] == snippet.text
    assert snippets[-1].document == 99_999


def test_a_subclass_of_str_is_a_text() -> None:
    class Page(str):
        __slots__ = ()

        def __getitem__(self, key: Any) -> str:
            raise AssertionError("the text itself is read, not what the class makes of it")

    assert [s.text for s in Chunker(8, 0).chunk(Page("Söme. Text."))] == ["Söme.", "Text."]


# What is refused


@pytest.mark.parametrize(
    "text", [b"bytes", bytearray(b"a"), memoryview(b"a"), None, 3, ["a"], np.str_]
)
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(TypeError, match=r"text must be a str, got "):
        Chunker().chunk(text)
    with pytest.raises(TypeError, match=r"texts\[1\] must be a str, got "):
        Chunker().chunk_many(["fine", text])


def test_one_text_instead_of_many_is_refused() -> None:
    with pytest.raises(TypeError, match="iterable of str, got one str"):
        Chunker().chunk_many("One. Two.")
    with pytest.raises(TypeError, match="iterable of str, got int"):
        Chunker().chunk_many(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("surrogate", ["\ud800", "\udfff", "\ude00\ud83d"])
def test_a_lone_surrogate_is_refused_by_document_and_position(surrogate: str) -> None:
    with pytest.raises(ValueError, match=r"^text holds a lone surrogate.*position 3"):
        Chunker().chunk("aéa" + surrogate)
    with pytest.raises(ValueError, match=r"^texts\[2\] holds a lone surrogate.*position 0"):
        Chunker().chunk_many(["fine", "", surrogate + "a"])


def test_a_pair_of_surrogates_is_not_a_character() -> None:
    with pytest.raises(ValueError, match="lone surrogate"):
        Chunker().chunk("\ud83d\ude00")


@pytest.mark.parametrize("name", ["max_chars", "overlap"])
@pytest.mark.parametrize("value", [True, False, 1.0, "5", b"5", [5], np.float64(5), np.bool_(True)])
def test_a_limit_that_is_no_integer_is_refused(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be an int, got "):
        Chunker(**{name: value})


@pytest.mark.parametrize("name", ["max_chars", "overlap"])
@pytest.mark.parametrize("value", [-1, -(2**70), 2**64, 10**30, pytest.param(10**5000, id="huge")])
def test_a_limit_out_of_range_is_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be from 0 to "):
        Chunker(**{name: value})


@pytest.mark.parametrize(
    ("max_chars", "overlap"), [(0, 0), (1, 1), (100, 100), (50, 51), (100, None)]
)
def test_limits_that_cannot_move_on_are_refused(max_chars: int, overlap: int | None) -> None:
    with pytest.raises(ValueError, match=f"max_chars={max_chars}, overlap={overlap or max_chars}"):
        Chunker(max_chars, overlap)


# The objects


def test_a_chunker_is_its_limits() -> None:
    chunker = Chunker(np.int64(400), overlap=50)  # type: ignore[arg-type]
    assert (chunker.max_chars, chunker.overlap) == (400, 50)
    assert repr(chunker) == "Chunker(max_chars=400, overlap=50)"
    assert chunker == Chunker(400, 50) and hash(chunker) == hash(Chunker(400, 50))
    assert chunker != Chunker(400, 51) and chunker != (400, 50)
    assert Chunker() == Chunker(500, 100) == Chunker(overlap=100)
    assert pickle.loads(pickle.dumps(chunker)) == copy.deepcopy(chunker) == chunker
    with pytest.raises(AttributeError):
        chunker.max_chars = 3  # type: ignore[misc]


def test_the_identity_names_what_moves_a_boundary() -> None:
    identity = Chunker(400, 50).identity
    assert identity["max_chars"] == 400 and identity["overlap"] == 50
    assert identity["boundaries"].startswith("uax29-")
    assert identity == Chunker(400, 50).identity != Chunker(400, 51).identity


def test_snippets_are_a_sequence() -> None:
    snippets = Chunker(12, 0).chunk("One one. Twö two. Three. Four. Five five.")
    everything = list(snippets)
    n = len(snippets)
    assert n == len(everything) >= 4
    assert [snippets[i] for i in range(-n, n)] == everything * 2
    assert list(reversed(snippets)) == everything[::-1]
    for key in [
        slice(None),
        slice(1, 3),
        slice(None, None, -1),
        slice(5, 2),
        slice(1, None, sys.maxsize),
        slice(-2, None, -sys.maxsize - 1),
        slice(-99, 99, 2),
    ]:
        assert snippets[key] == everything[key]
    assert snippets[np.int64(1)] == everything[1]
    assert everything[2] in snippets
    for index in [n, -n - 1, 2**70, -(2**70)]:
        with pytest.raises(IndexError, match=f"there are {n}"):
            snippets[index]
    for wrong in [1.0, "0", None]:
        with pytest.raises(TypeError, match="integers or slices"):
            snippets[wrong]  # type: ignore[index]
    assert repr(snippets) == f"Snippets({n} of 1 documents)"


def test_snippets_keep_their_texts_alive() -> None:
    snippets = Chunker(12, 0).chunk_many("".join(["Größe ", str(i), ". Ende."]) for i in range(3))
    snippet = snippets[-1]
    del snippets
    assert (snippet.document, snippet.text) == (2, "Ende.")


def test_snippets_are_pickled_with_their_texts() -> None:
    snippets = Chunker(12, 4).chunk_many(["Größe. Ende. Noch einer.", "", "四。五。"])
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(snippets, protocol))
        assert list(again) == list(snippets)
        assert repr(again) == repr(snippets)


@pytest.mark.parametrize(
    "spans", [[(0, 0, 2)], [(1, 0, 1)], [(0, 0, 9)], [(0, 3, 1)], [(0, 0, 4), (0, 1, 3)]]
)
def test_a_damaged_pickle_is_refused(spans: list[tuple[int, int, int]]) -> None:
    with pytest.raises(ValueError, match="snippet "):
        Snippets._rebuild(["añbc"], spans)


def test_a_snippet_is_a_value() -> None:
    [first, second] = Chunker(8, 0).chunk("Söme. Text.")
    assert (first.document, first.start, first.end, first.text) == (0, 0, 5, "Söme.")
    assert first.score is None and first != second
    scored = first.with_score(0.25)
    assert scored.score == 0.25 and first.score is None and scored != first
    assert scored.with_score(0.25) == scored == Snippet(0, 0, 5, "Söme.", 0.25)
    assert hash(first) == hash(Snippet(0, 0, 5, "Söme."))
    assert first != ("Söme.",) and len({first, scored, second, Snippet(0, 0, 5, "Söme.")}) == 3
    for snippet in (first, scored):
        assert pickle.loads(pickle.dumps(snippet)) == copy.deepcopy(snippet) == snippet
    assert repr(scored) == "Snippet(document=0, start=0, end=5, text='Söme.', score=0.2500)"
    assert repr(Snippet(1, 2, 102, "it's " * 20)).endswith("it's …\")")
    with pytest.raises(ValueError, match="end - start"):
        Snippet(0, 0, 4, "Söme.")
    with pytest.raises(AttributeError):
        first.start = 1  # type: ignore[misc]


# Labels


def test_which_snippet_holds_a_label() -> None:
    text = "Fög came at six. Fog left at ten. Fog came back at noon."
    snippets = Chunker(22, 0).chunk_many(["Other.", text])
    assert [s.start for s in snippets[1:]] == [0, 17, 34]
    # Whole; a small part; two that share it unevenly; everything; white space.
    labels = [(0, 16), (4, 8), (10, 33), (0, 56), (16, 17)]
    assert snippets._holds(1, labels) == [(0, 1), (1, 1), (2, 2), (3, 1), (3, 2), (3, 3)]
    assert snippets._holds(0, []) == []
    for wrong in [(0, 57), (3, 3), (5, 2)]:
        with pytest.raises(ValueError, match="relevant span 1 is "):
            snippets._holds(1, [(0, 1), wrong])
    with pytest.raises(IndexError, match="document 2"):
        snippets._holds(2, [(0, 1)])


@given(
    text=st.text(alphabet="ab. \n\u0301é。,", min_size=1, max_size=80),
    a=st.integers(0, 79),
    b=st.integers(0, 79),
    max_chars=st.integers(1, 20),
)
@settings(max_examples=200, deadline=None)
def test_every_label_that_is_not_blank_is_held(text: str, a: int, b: int, max_chars: int) -> None:
    start, end = sorted((a % len(text), b % len(text)))
    snippets = Chunker(max_chars, max_chars // 3).chunk(text)
    held = snippets._holds(0, [(start, end + 1)])
    assert bool(held) != text[start : end + 1].isspace()


# The interpreter's lock


def test_another_thread_runs_while_a_large_text_is_cut() -> None:
    text = "The tide went out at sıx. " * 80_000
    ticks, stop, started = [0], threading.Event(), threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks[0] += 1
            started.set()
            time.sleep(0)  # hands over the lock

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    # Nobody is made to hand over the lock: what runs during the call runs because the call let it.
    sys.setswitchinterval(1000.0)
    try:
        thread.start()
        started.wait()
        before = ticks[0]
        snippets = Chunker().chunk(text)
        during_chunk = ticks[0] - before
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert snippets[-1].end == len(text) - 1
    assert during_chunk > 0


def test_threads_share_chunker_and_snippets() -> None:
    text = "".join(SCRIPTS.values()) * 200
    chunker = Chunker()
    expected = [(s.start, s.end) for s in chunker.chunk(text)]
    shared = chunker.chunk(text)
    barrier = threading.Barrier(8)

    def read(i: int) -> list[tuple[int, int]]:
        barrier.wait()
        snippets = shared if i % 2 else chunker.chunk(text)
        return [(s.start, s.end) for s in snippets]

    with ThreadPoolExecutor(8) as pool:
        assert all(spans == expected for spans in pool.map(read, range(8)))


def test_the_names_are_public() -> None:
    assert {"Chunker", "Snippets", "Snippet"} <= set(tamis.__all__)
    assert Chunker.__module__ == Snippets.__module__ == Snippet.__module__ == "tamis"
