"""The demo's corpus: the language reference that every CPython carries, and questions on it.

The documents are the topics of ``pydoc_data.topics``; nothing of their text is stored here. A label
names a passage by its topic, its number of words and a hash of its words, so it is found again
whatever the chunker, and in every Python version whose reference still has the passage. Words are
the maximal runs of non-white-space characters; all positions are code points.
"""

import hashlib
import json
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from importlib import resources
from pydoc_data.topics import topics

Span = tuple[int, int]
"""Half-open ``(start, end)``, counted in code points of one document."""

SHARED_PARAGRAPH_WORDS = 20
"""Paragraphs shorter than this do not join topics, see `units`."""

DIGEST_HEX_DIGITS = 16
"""Kept hexadecimal digits of a SHA-256: 64 bits, no chance of a wrong match in 10**6 windows."""

MAX_MISSING = 0.05
"""Largest share of labels that may be missing on the Python version that they were made on."""

LABELLED_ON = (3, 11)
"""The Python version whose reference the labels were made on."""


class LabelsMissingError(RuntimeError):
    """The questions do not fit the reference that they were made for: the file or it is damaged."""


@dataclass(frozen=True, slots=True)
class Label:
    """A passage that answers a question, named without its text.

    Attributes
    ----------
    topic : str
        The document that the passage was labelled in.
    words : int
        Number of words of the passage.
    sha256 : str
        First `DIGEST_HEX_DIGITS` digits of the SHA-256 of the words joined by one space (UTF-8).
    """

    topic: str
    words: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the passages that answer it.

    Attributes
    ----------
    id : str
        Unique name.
    unit : str
        Unit of the topic that the asker would look in, see `units`: questions of different units
        are the ones to treat as independent.
    text : str
        The question, as a Python user would ask it.
    spans : dict of str to tuple of Span
        For every document that holds an answer, its passages: code points, sorted, disjoint.
    """

    id: str
    unit: str
    text: str
    spans: dict[str, tuple[Span, ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """The questions that this Python's reference answers, and the labels it lacks.

    Attributes
    ----------
    questions : list of Question
        In the file's order, without those of which no label was found.
    n_labels : int
        Number of labels in the file, found or not.
    missing : list of tuple of (str, Label)
        Labels that their topic lacks, each with the id of its question.
    n_left_out : int
        Number of questions of which no label was found.
    """

    questions: list[Question]
    n_labels: int
    missing: list[tuple[str, Label]]
    n_left_out: int


def documents() -> dict[str, str]:
    """Give the topics of this Python's language reference, as they are.

    Returns
    -------
    dict of str to str
        Topic name to text.
    """
    return dict(topics)


def units(documents: Mapping[str, str]) -> dict[str, str]:
    """Join topics that share a paragraph, directly or through others, into independent units.

    Many topics are copies of parts of others, so questions on them are not independent. Paragraphs
    are what stands between blank lines, and are compared by their words. Only those of at least
    `SHARED_PARAGRAPH_WORDS` words count. On CPython 3.11 that number separates two kinds: shared
    paragraphs of up to 16 words join topics that have nothing else in common (a pointer to another
    section, a note on the version, the title of a PEP), while from 23 words on every paragraph that
    joins states a rule of the language. 17 to 23 therefore give the same 57 units; 20 stands
    between.

    Parameters
    ----------
    documents : mapping of str to str
        Topic name to text.

    Returns
    -------
    dict of str to str
        Topic name to the name of its unit, which is the alphabetically first topic in it.
    """
    parent = {topic: topic for topic in sorted(documents)}

    def root(topic: str) -> str:
        while parent[topic] != topic:
            topic = parent[topic]
        return topic

    first_holder: dict[tuple[str, ...], str] = {}
    for topic in parent:
        for paragraph in re.split(r"\n\s*\n", documents[topic]):
            words = tuple(paragraph.split())
            if len(words) < SHARED_PARAGRAPH_WORDS:
                continue
            # The smaller root becomes the parent, so a root is always its unit's first topic.
            first, second = sorted((root(first_holder.setdefault(words, topic)), root(topic)))
            parent[second] = first
    return {topic: root(topic) for topic in parent}


def find(text: str, n_words: int, digest: str) -> list[Span]:
    """Find the passages of a text that have a given number of words and hash.

    Parameters
    ----------
    text : str
        The document.
    n_words : int
        Number of words of the passage, at least 1.
    digest : str
        Hash of the passage, as `Label.sha256` has it.

    Returns
    -------
    list of Span
        All occurrences, sorted; they overlap where the passage overlaps itself. Costs one hash for
        each word of the text.
    """
    words = _Words(text)
    return [words.span(i, n_words) for i, _ in words.matching(n_words, {digest})]


def labelled_questions() -> Found:
    """Read the questions and find their labels in this Python's reference.

    A labelled passage is labelled in every document that holds it, not only in the topic that its
    label names, since a copy answers as well as the original.

    Returns
    -------
    Found
        The questions and what was not found.

    Raises
    ------
    LabelsMissingError
        If more than `MAX_MISSING` of the labels are missing on Python 3.11, on which they were
        made. On other versions the reference may have changed, so that is left to the caller.
    """
    texts = documents()
    unit_of = units(texts)
    records = [json.loads(line) for line in _question_lines()]
    wanted = [[Label(**label) for label in record["labels"]] for record in records]
    words_of = {topic: _Words(text) for topic, text in texts.items()}
    passage_of = _passages(words_of, {label for labels in wanted for label in labels})

    questions = []
    missing = []
    for record, labels in zip(records, wanted, strict=True):
        missing += [(record["id"], label) for label in labels if label not in passage_of]
        found = [(passage_of[label], label.words) for label in labels if label in passage_of]
        if found:
            spans = {
                topic: merged
                for topic, words in words_of.items()
                if (merged := _merged(span for f in found for span in words.occurrences(*f)))
            }
            # A topic that this version lacks shares its paragraphs with none: it is its own unit.
            unit = unit_of.get(record["topic"], record["topic"])
            questions.append(Question(record["id"], unit, record["question"], spans))

    n_labels = sum(map(len, wanted))
    if sys.version_info[:2] == LABELLED_ON and len(missing) > MAX_MISSING * n_labels:
        raise LabelsMissingError(
            f"{len(missing)} of {n_labels} labels are not in this Python's pydoc_data.topics, "
            f"although it is the version that they were made on; at most {MAX_MISSING:.0%} may be "
            "missing: reinstall tamis, or Python if its pydoc_data is not the original"
        )
    return Found(questions, n_labels, missing, len(records) - len(questions))


def _question_lines() -> list[str]:
    return (resources.files("tamis.demo") / "questions.jsonl").read_text("utf-8").splitlines()


def _digest(passage: str) -> str:
    return hashlib.sha256(passage.encode()).hexdigest()[:DIGEST_HEX_DIGITS]


class _Words:
    """The words of one document: where they stand, and one normal text to look passages up in."""

    def __init__(self, text: str) -> None:
        self.positions = [match.span() for match in re.finditer(r"\S+", text)]
        words = [text[start:end] for start, end in self.positions]
        # A space on both sides of every word, so that a passage is found at word borders only.
        self.normal = f" {' '.join(words)} "
        self.starts = [1]
        for word in words:
            self.starts.append(self.starts[-1] + len(word) + 1)

    def span(self, first_word: int, n_words: int) -> Span:
        """Where ``n_words`` words from word ``first_word`` on stand in the document."""
        return self.positions[first_word][0], self.positions[first_word + n_words - 1][1]

    def matching(self, n_words: int, digests: Set[str]) -> Iterator[tuple[int, str]]:
        """First word and text of each window of ``n_words`` words whose hash is wanted."""
        if n_words < 1:
            raise ValueError(f"a passage has at least one word, not {n_words}")
        for i in range(len(self.positions) - n_words + 1):
            passage = self.normal[self.starts[i] : self.starts[i + n_words] - 1]
            if _digest(passage) in digests:
                yield i, passage

    def occurrences(self, passage: str, n_words: int) -> list[Span]:
        """All places of a passage given by its words joined by one space."""
        spans = []
        at = self.normal.find(f" {passage} ")
        while at >= 0:
            spans.append(self.span(bisect_left(self.starts, at + 1), n_words))
            at = self.normal.find(f" {passage} ", at + 1)
        return spans


def _passages(words_of: Mapping[str, _Words], labels: Iterable[Label]) -> dict[Label, str]:
    """Find the text of each label in the label's own topic; absent where the topic lacks it.

    The other topics are not hashed for what it lacks: that takes seconds, and on Python 3.13 it
    finds one label in 300 more.
    """
    wanted: dict[tuple[str, int], dict[str, Label]] = {}
    for label in labels:
        wanted.setdefault((label.topic, label.words), {})[label.sha256] = label
    return {
        by_digest[_digest(passage)]: passage
        for (topic, n_words), by_digest in wanted.items()
        if topic in words_of
        for _, passage in words_of[topic].matching(n_words, by_digest.keys())
    }


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Sort spans and join those that overlap, as a passage counts once however often labelled."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return tuple(merged)
