"""A labelled query and its documents: the types, and the rules that they keep.

The readers build these types and users may build them directly; the rules are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tamis.labelled.error import LabelledDataError, shown
from tamis.labelled.fields import check_id, check_optional_id, check_str, integer, wrong_type

Span = tuple[int, int]
"""Half-open ``(start, end)``, counted in code points of one document's text."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document that retrieval returned for a query, and the evidence labelled in it.

    Attributes
    ----------
    doc_id : str
        Stands for the text: documents with the same id have the same text, in all queries. Queries
        that share the id of a labelled document are not independent, and calibration joins them.
    text : str
        May be blank; a document without text simply has no snippets.
    relevant_spans : tuple of (int, int)
        Half-open ``(start, end)`` in code points of `text`: ``text[start:end]`` is evidence.
        Sorted, not empty, not overlapping (one may begin where the last one ended). Lists are
        taken too and kept as tuples. ``()``: nothing in this document is labelled.
    lang : str or None
        Language of the text.
    group : str or None
        What to promise separately for (a source, a tenant), if anything.

    Raises
    ------
    LabelledDataError
        A field is of another type or a span is none, naming document, field and index.
    """

    doc_id: str
    text: str = field(repr=False)
    relevant_spans: tuple[Span, ...] = ()
    lang: str | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        check_id("doc_id", self.doc_id)
        try:
            check_str("text", self.text)
            check_optional_id("lang", self.lang)
            check_optional_id("group", self.group)
            spans = _checked_spans(self.relevant_spans, len(self.text))
        except LabelledDataError as error:
            raise LabelledDataError(f"document {shown(self.doc_id)}: {error}") from None
        object.__setattr__(self, "relevant_spans", spans)


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query, the documents that a retriever returned for it, and the evidence in them.

    Attributes
    ----------
    query_id : str
    query : str
        The text of the query.
    documents : tuple of Document
        In the retriever's order, best first; each document once. May be empty, and a query whose
        documents hold no evidence is kept on purpose: it is unanswerable from them.
    topic : str or None
        The unit to split by: calibration and test queries must have different topics. None where no
        query has one: calibration then joins the queries that share a labelled document.
    lang : str or None
        Language of the query; each document has its own.
    n_unretrieved : int or None
        How many further labelled spans lie in documents that retrieval did not return. 0: it found
        all. None: unknown, and so is what retrieval lost. The promise is about what was returned;
        this lets a report multiply both.
    metadata : mapping of str to object
        Further fields of the line, as they came (`support_sets`, `label`, …). Not to be changed.

    Raises
    ------
    LabelledDataError
        A field is of another type, blank, or a document is there twice, naming query and field.
    """

    query_id: str
    query: str
    documents: tuple[Document, ...]
    topic: str | None = None
    lang: str | None = None
    n_unretrieved: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_id("query_id", self.query_id)
        try:
            check_str("query", self.query)
            if not self.query.strip():
                raise LabelledDataError("query is blank")
            check_optional_id("topic", self.topic)
            check_optional_id("lang", self.lang)
            n_unretrieved = _checked_count("n_unretrieved", self.n_unretrieved)
            documents = _checked_documents(self.documents)
            if not isinstance(self.metadata, Mapping):
                raise wrong_type("metadata", "a mapping", self.metadata)
        except LabelledDataError as error:
            raise LabelledDataError(f"query {shown(self.query_id)}: {error}") from None
        object.__setattr__(self, "n_unretrieved", n_unretrieved)
        object.__setattr__(self, "documents", documents)


class QueryRegister:
    """The rules that hold across queries; `where` names a query's place in messages."""

    def __init__(self) -> None:
        self._queries: dict[str, str] = {}
        self._texts: dict[str, tuple[str, str]] = {}
        self._first: dict[bool, str] = {}

    def add(self, query: LabelledQuery, where: str) -> None:
        """Take a query in.

        Raises
        ------
        LabelledDataError
            Its id is taken, a document's id stands for another text elsewhere, or it has a topic
            where an earlier query has none, or the other way round.
        """
        taken = self._queries.setdefault(query.query_id, where)
        if taken is not where:
            raise LabelledDataError(f"query_id {shown(query.query_id)} is already at {taken}")
        for document in query.documents:
            text, place = self._texts.setdefault(document.doc_id, (document.text, where))
            if text is not document.text and text != document.text:
                raise LabelledDataError(
                    f"query {shown(query.query_id)}: document {shown(document.doc_id)} has another "
                    f"text at {place}: a doc_id stands for one text"
                )
        has_topic = query.topic is not None
        self._first.setdefault(has_topic, where)
        if (not has_topic) in self._first:
            raise LabelledDataError(
                f"query {shown(query.query_id)} has {'a' if has_topic else 'no'} topic and the one "
                f"at {self._first[not has_topic]} has {'none' if has_topic else 'one'}: "
                "give one to all queries or to none"
            )


def check_queries(queries: Iterable[LabelledQuery]) -> None:
    """Check the rules across queries that were not read from one file.

    Each `query_id` once; one text for each `doc_id`; a topic for all queries or for none.

    Raises
    ------
    LabelledDataError
        Naming both positions in `queries`.
    """
    register = QueryRegister()
    for position, query in enumerate(queries):
        register.add(query, f"queries[{position}]")


def _checked_count(name: str, value: object) -> int | None:
    if value is None:
        return None
    count = integer(name, value)
    if count < 0:
        raise LabelledDataError(f"{name} is negative: {shown(count)}")
    return count


def _checked_spans(spans: object, n_code_points: int) -> tuple[Span, ...]:
    if not isinstance(spans, list | tuple):
        raise wrong_type("relevant_spans", "a list of [start, end]", spans)
    checked: list[Span] = []
    for index, span in enumerate(spans):
        name = f"relevant_spans[{index}]"
        if not isinstance(span, list | tuple) or len(span) != 2:
            raise wrong_type(name, "[start, end]", span)
        start, end = (integer(name, offset) for offset in span)
        here = f"{name} = [{shown(start)}, {shown(end)}]"
        if not 0 <= start <= n_code_points or not 0 <= end <= n_code_points:
            raise LabelledDataError(
                f"{here} is out of bounds: the text has {n_code_points} code points"
            )
        if start >= end:
            raise LabelledDataError(f"{here} is {'empty' if start == end else 'reversed'}")
        if checked and start < checked[-1][1]:
            relation = "overlaps" if end > checked[-1][0] else "lies before"
            raise LabelledDataError(
                f"{here} {relation} relevant_spans[{index - 1}] = {list(checked[-1])}: "
                "spans are sorted and apart"
            )
        checked.append((start, end))
    return tuple(checked)


def _checked_documents(documents: object) -> tuple[Document, ...]:
    if not isinstance(documents, list | tuple):
        raise wrong_type("documents", "a list of documents", documents)
    seen: dict[str, int] = {}
    for index, document in enumerate(documents):
        if not isinstance(document, Document):
            raise wrong_type(f"documents[{index}]", "a Document", document)
        first = seen.setdefault(document.doc_id, index)
        if first != index:
            raise LabelledDataError(
                f"document {shown(document.doc_id)} is there twice, as documents[{first}] and "
                f"documents[{index}]"
            )
    return tuple(documents)
