"""Encoders and scorers without a model, and labelled queries made of random words.

A vector is a sum over the text's words, so texts that share words lie close together and everything
is the same on every machine.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tamis.encoder import Encoded, TextTooLongError
from tamis.labelled import Document, LabelledQuery
from tamis.scorer import EmbeddingScorer

DIM = 64


@cache
def word_vector(word: str) -> NDArray[np.float32]:
    """A unit vector that depends on the word alone."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    vector = np.random.default_rng(seed).standard_normal(DIM)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def text_vector(text: str) -> NDArray[np.float32]:
    """The direction of the sum of the words' vectors."""
    words = re.findall(r"\w+", text.lower()) or [""]
    vector = np.sum([word_vector(word).astype(np.float64) for word in words], axis=0)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


class StubEncoder:
    """Words into a unit vector; remembers what it was asked to encode."""

    dim = DIM

    def __init__(self, name: str = "stub", tolerance: float = 0.0) -> None:
        self.name = name
        self.tolerance = tolerance
        self.seen: list[tuple[str, str]] = []

    @property
    def identity(self) -> Mapping[str, object]:
        return {"encoder": self.name, "dim": DIM}

    def encode(
        self, texts: Sequence[str], kind: Literal["query", "passage"] = "passage"
    ) -> NDArray[np.float32]:
        self.seen += [(kind, text) for text in texts]
        return np.array([text_vector(text) for text in texts], np.float32).reshape(-1, DIM)


class CountingEncoder(StubEncoder):
    """Reads the first `max_words` words of a text, and says so or refuses."""

    def __init__(
        self, max_words: int, on_long: Literal["error", "truncate"] = "truncate", name: str = "stub"
    ) -> None:
        super().__init__(name)
        self.max_words = max_words
        self.on_long = on_long

    def encode(
        self, texts: Sequence[str], kind: Literal["query", "passage"] = "passage"
    ) -> NDArray[np.float32]:
        return self.encode_counted(texts, kind).vectors

    def encode_counted(
        self,
        texts: Sequence[str],
        kind: Literal["query", "passage"] = "passage",
        *,
        progress: Callable[[int], object] | None = None,
    ) -> Encoded:
        long = [i for i, text in enumerate(texts) if len(text.split()) > self.max_words]
        if long and self.on_long == "error":
            n_words = len(texts[long[0]].split())
            raise TextTooLongError(long[0], n_words, self.max_words, len(long))
        cut = [" ".join(text.split()[: self.max_words]) for text in texts]
        vectors = super().encode(cut, kind)
        if progress is not None:
            progress(len(texts))
        return Encoded(vectors, tuple(long))


class BrokenEncoder(StubEncoder):
    """Gives `value` in every component for the texts that hold `word`, of the kind named."""

    def __init__(self, word: str, value: float, kind: str = "passage") -> None:
        super().__init__()
        self.word, self.value, self.kind = word, value, kind

    def encode(
        self, texts: Sequence[str], kind: Literal["query", "passage"] = "passage"
    ) -> NDArray[np.float32]:
        vectors = super().encode(texts, kind)
        if kind == self.kind:
            vectors[[self.word in text for text in texts]] = self.value
        return vectors


class FunctionScorer:
    """Scores are what a function of query and texts says."""

    scope: Literal["snippet", "request"] = "snippet"

    def __init__(self, function: Callable[[str, Sequence[str]], object], name: str = "own") -> None:
        self.function = function
        self.identity = name

    def score(self, query: str, snippets: Sequence[str]) -> NDArray[np.float32]:
        return self.function(query, snippets)  # type: ignore[return-value]


def negative() -> FunctionScorer:
    """Similarities, the other way round than tamis wants them."""
    scorer = EmbeddingScorer(StubEncoder())
    return FunctionScorer(lambda query, texts: 1 - scorer.score(query, texts), "similarity")


def labelled_queries(
    n_topics: int = 24,
    per_topic: int = 2,
    *,
    topics: bool = True,
    seed: int = 0,
    prefix: str = "",
    found: Sequence[int] = (2, 3, 4),
) -> list[LabelledQuery]:
    """Queries of five rare words, in each one labelled document and three others of the topic.

    `found` are the numbers of the query's words in its evidence, one of them at random: the more,
    the easier. The others of a topic are shared by its queries.
    """
    random = np.random.default_rng(seed)

    def sentence(*rare: str) -> str:
        words = [*rare, *(f"word{random.integers(300)}" for _ in range(7))]
        return " ".join(np.array(words)[random.permutation(len(words))].tolist()).capitalize() + "."

    def paragraph(n: int = 6) -> list[str]:
        return [sentence() for _ in range(n)]

    queries = []
    for t in range(n_topics):
        others = [
            Document(f"{prefix}t{t}-other{i}", " ".join(paragraph()), group="even" if i else "odd")
            for i in range(3)
        ]
        for q in range(per_topic):
            name = f"{prefix}t{t}q{q}"
            rare = [f"{name}x{i}" for i in range(5)]
            evidence = sentence(*rare[: int(random.choice(list(found)))])
            sentences = [*paragraph(3), evidence, *paragraph(3)]
            text = " ".join(sentences)
            start = text.index(evidence)
            labelled = Document(
                f"{name}-labelled", text, ((start, start + len(evidence)),), group="even"
            )
            queries.append(
                LabelledQuery(
                    name,
                    " ".join(rare),
                    (*others[:2], labelled, *others[2:]),
                    topic=f"{prefix}t{t}" if topics else None,
                )
            )
    return queries


def lines(queries: Sequence[LabelledQuery], *, inline: bool = True) -> Iterator[dict[str, object]]:
    """The queries as objects of a labelled file."""
    for query in queries:
        documents = [
            {"doc_id": d.doc_id, "relevant_spans": [list(s) for s in d.relevant_spans]}
            | ({"text": d.text} if inline else {})
            for d in query.documents
        ]
        row: dict[str, object] = {"query_id": query.query_id, "query": query.query}
        yield row | ({"topic": query.topic} if query.topic else {}) | {"documents": documents}


def write_lines(path: Path, rows: Iterator[dict[str, object]] | Sequence[object]) -> Path:
    """Write JSON Lines and return the path."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path
