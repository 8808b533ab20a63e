"""Where sentences end: one case of each kind that the rules or the tables decide.

Each text is written with `|` where a sentence ends; the mark is taken out before it is cut.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis import Chunker

ENDS = {
    "titles and initials": "Prof. A. B. Quist met Lt. Col. Dahl and Mr. Ek.| They left.",
    "initials in Russian": "Это написал А. С. Пушкин в 1830 г. в Болдине.| Он был рад.",
    "initials in Arabic": "جاء د. أحمد أمس.| ثم ذهب.",
    "an abbreviation that ends": "She moved to the U.S. The flat was small.",
    "a company": "He joined Brandt Inc. as a clerk and later Moss Corp. Ltd. Then he left.",
    "and so on": "Bring pens, paper, etc. Leave the rest.",
    "the time of day": "It opens at 9 a.m. Monday to Friday.| Closing is at 5 p.m. Nobody stays.",
    "a number after": "See Fig. 3 and Sec. 4.2 of Vol. II in No. 7.| That helps.",
    "no number after": "The answer was no. Then it was yes.",
    "a month": "It began on Jan. 5 and ended in Feb. The rest is known.",
    "a German date": "Er kam am 3. Oktober an.| Sie blieb z. B. bis Mai.",
    "decimals and versions": "It costs 3.50 in v2.0.1 and 4 in 3.0.| Buy it.",
    "addresses": "See http://a.example/x?y=1!z and www.b.example/c.html?d=E.| Write a.b@c.example.",
    "expressions": "If a != b then call f.(x) or a?b:c.| Else stop.",
    "ellipses": "Wait... what was that?| I never meant it... She nodded.",
    "spaced ellipses": "One habit . . . was kept . . . for years.| Then no more.",
    "list markers": "1. Fill the tank.| 2. Close it.",
    "a list in a paragraph": "1. The first item |2. The second item |3. The third.| More.",
    "numbers that are no markers": "1. Multiply by 2. Then add 3.",
    "a letter as a marker": "A. First choice.| B. Second choice.",
    "a letter as a name": "They lack vitamin D. Sunlight helps.",
    "quotation marks": '“It is late.”| “Go home,” he said.| "Why?" she asked.| She left.',
    "brackets": "It rained (see p. 5).| (It was cold.)| We stayed.",
    "a remark in brackets": "He ate six (!) Apples were cheap.",
    "speech that goes on": 'She cried "Stop! Stop!" and ran.| He stood.',
    "French spacing": "« Où vas-tu ? » demanda-t-il.| Elle partit.",
    "a space forgotten": "This was shown.|The rest is in java.util.List now.",
    "footnotes": "This was shown.[12]| It held.¹| So it was.",
    "emphasis": "**It works.**| Try it.",
    "a name with a mark": "He sold it to Yahoo! Inc. and retired.| Good.",
    "no capitals": "it rained. we stayed in. nobody came.",
    "Chinese": "他走了。|“你好吗？”|约3.14米，见 U.S. 报告。|完。",
    "Chinese speech": "“你去吗？”他问道。|没人回答。",
    "Japanese": "彼は「行く。」と言った。|雨だ！|え？",
    "Hindi": "डॉ. शर्मा आए।| वे बैठे।| क्यों?",
    "Urdu": "یہ گھر ہے۔| وہ باغ ہے؟| ہاں۔",
    "Persian": "قیمت ۳.۵ دلار است.| چرا؟| نمی‌دانم!",
    "Armenian": "Սա գիրք է։| Նա տանն է։",
    "Burmese": "သူ လာသည်။| သူ ပြန်သည်။",
    "Khmer": "គាត់មក។| គាត់ទៅ។",
    "Thai": "ดร. สมชาย มาเมื่อ พ.ศ. 2540 และอยู่ต่อ",
    "Ethiopic": "እሱ መጣ።| ሄደ።",
    "hard-wrapped lines": "The first line\nand its rest.| The second\r\nline.",
    "a blank line": "No stop here|\n\nand here neither",
    "list items": "Things:|\n- one|\n- two|\n2) three",
}

EXPECTED_ENDS = {
    "numbers that are no markers": ["1. Multiply by 2.", "Then add 3."],
    "an abbreviation that ends": ["She moved to the U.S.", "The flat was small."],
    "a company": [
        "He joined Brandt Inc. as a clerk and later Moss Corp. Ltd.",
        "Then he left.",
    ],
    "and so on": ["Bring pens, paper, etc.", "Leave the rest."],
    "the time of day": [
        "It opens at 9 a.m. Monday to Friday.",
        "Closing is at 5 p.m.",
        "Nobody stays.",
    ],
    "no number after": ["The answer was no.", "Then it was yes."],
    "a month": ["It began on Jan. 5 and ended in Feb.", "The rest is known."],
    "ellipses": ["Wait... what was that?", "I never meant it...", "She nodded."],
    "a letter as a name": ["They lack vitamin D.", "Sunlight helps."],
    "a remark in brackets": ["He ate six (!) Apples were cheap."],
    "no capitals": ["it rained.", "we stayed in.", "nobody came."],
}


def sentences(text: str) -> list[str]:
    return [s.text for s in Chunker().sentences(text)]


@pytest.mark.parametrize("kind", ENDS)
def test_a_sentence_ends_where_a_reader_says(kind: str) -> None:
    marked = ENDS[kind]
    expected = EXPECTED_ENDS.get(kind, [part.strip() for part in marked.split("|")])
    assert sentences(marked.replace("|", "")) == expected


@given(st.text())
def test_sentences_hold_all_that_is_not_white(text: str) -> None:
    found = Chunker().sentences(text)
    rest = "".join(s.text for s in found)
    assert re.sub(r"[\s\x1c-\x1f]", "", rest) == re.sub(r"[\s\x1c-\x1f]", "", text)


def test_offsets_are_the_positions_of_the_snippets() -> None:
    snippets = Chunker(20, 5).chunk_many(["One 猫. Two 犬. Three birds.", "", "Four é. Five."])
    offsets = snippets.offsets()
    assert offsets.dtype == np.int64 and offsets.shape == (len(snippets), 2)
    assert offsets.tolist() == [[s.start, s.end] for s in snippets]
    assert Chunker().chunk("").offsets().shape == (0, 2)


# Boundaries of the caller's


def test_the_caller_may_give_the_ends_of_sentences() -> None:
    text = "eins zwei drei vier 猫 fünf"
    chunker = Chunker(12, 0, segmenter="words of two 1.0")
    found = chunker.chunk(text, boundaries=[10, 20])
    assert [s.text for s in found] == ["eins zwei", "drei vier", "猫 fünf"]
    many = chunker.chunk_many([text, "a b"], boundaries=[np.array([10, 20]), []])
    assert [s.text for s in many] == ["eins zwei", "drei vier", "猫 fünf", "a b"]
    assert chunker.identity["boundaries"] == "given: words of two 1.0"
    assert chunker.identity != Chunker(12, 0).identity
    assert chunker == Chunker(12, 0, segmenter="words of two 1.0") != Chunker(12, 0)


@pytest.mark.parametrize(
    ("boundaries", "named"),
    [([5, 5], "boundaries[0][1] is 5"), ([3, 99], "99"), ([0], "boundaries[0][0] is 0")],
)
def test_boundaries_that_are_none_are_refused(boundaries: list[int], named: str) -> None:
    with pytest.raises(ValueError, match=re.escape(named)):
        Chunker(9, 0, segmenter="mine").chunk("One. Two. é", boundaries=boundaries)


@pytest.mark.parametrize("boundaries", [[1.5], ["a"], "12", [True], 3])
def test_boundaries_are_ints(boundaries: Any) -> None:
    with pytest.raises(TypeError, match="boundaries"):
        Chunker(9, 0, segmenter="mine").chunk("One. Two.", boundaries=boundaries)


def test_boundaries_and_segmenter_go_together() -> None:
    for chunker, given_ends in ((Chunker(), [[4]]), (Chunker(segmenter="mine"), None)):
        with pytest.raises(ValueError, match="segmenter"):
            chunker.chunk_many(["One. Two."], boundaries=given_ends)
    with pytest.raises(ValueError, match="got boundaries for 1 texts, expected 2"):
        Chunker(segmenter="mine").chunk_many(["a", "b"], boundaries=[[1]])


def test_a_boundary_inside_a_cluster_cuts_nothing() -> None:
    found = Chunker(4, 0, segmenter="mine").chunk("ae\u0301b cd", boundaries=[2, 5])
    assert [s.text for s in found] == ["ae\u0301b", "cd"]


# Threads


@pytest.mark.parametrize("threads", [1, 2, 3, 50])
def test_threads_change_nothing(threads: int) -> None:
    texts = [f"Text {i} is here. " * (i * 37 % 200) for i in range(60)]
    alone = Chunker(100, 20).chunk_many(texts)
    together = Chunker(100, 20).chunk_many(texts, threads=threads)
    assert (together.offsets() == alone.offsets()).all()
    assert [s.document for s in together] == [s.document for s in alone]


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_threads_are_counted_from_one(threads: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="threads"):
        Chunker().chunk_many(["a"], threads=threads)
