"""Labelled queries from JSON Lines: evidence as spans of documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from typing import Any

from tamis.labelled.error import LabelledDataError, shown
from tamis.labelled.fields import check_id, wrong_type
from tamis.labelled.json_lines import objects
from tamis.labelled.kind import QUERIES, mismatch
from tamis.labelled.query import Document, LabelledQuery, QueryRegister
from tamis.labelled.source import Source

_REQUIRED = ("query_id", "query", "documents")
_OPTIONAL = ("topic", "lang", "n_unretrieved")


def read_labelled(
    path: str | os.PathLike[str], documents: str | os.PathLike[str] | None = None
) -> list[LabelledQuery]:
    """Read labelled queries, with their documents inline or in a second file.

    One JSON object a line; blank lines are passed over::

        {"query_id": str, "query": str, "topic": str, "lang": str, "n_unretrieved": int,
         "documents": [{"doc_id": str, "relevant_spans": [[start, end], ...],
                        "text": str, "lang": str, "group": str}, ...]}

    `query_id`, `query`, `documents`, and in a document `doc_id` and `relevant_spans` (``[]``:
    nothing is labelled) must be there; spans count code points. `text` must be here or in the
    second file; where it is in both, it must be the same. ``null`` in an optional field is as if it
    were not there. Further fields of a query go to its `metadata`, further fields of a document are
    ignored.

    Parameters
    ----------
    path : str or path-like
        The labelled queries, plain or gzip.
    documents : str or path-like, optional
        The documents: ``{"doc_id": str, "text": str, "lang": str, "group": str}`` a line. Every
        line is checked; only documents that a query lists are kept.

    Returns
    -------
    list of LabelledQuery
        In the file's order. Documents with the same id share one text, and where nothing in them is
        labelled they are one object: memory is that of the listed documents, once.

    Raises
    ------
    OSError
        A file cannot be opened.
    LabelledDataError
        Anything wrong in a file, naming file, line, query and document: see `LabelledQuery` and
        `Document`; also a `query_id` twice, a document that is in neither file, one `doc_id` with
        two texts, and a topic for some queries only.
    """
    queries: list[LabelledQuery] = []
    register = QueryRegister()
    with Source(path) as source:
        found: Iterable[tuple[int, dict[str, Any]]] = objects(source)
        library = _Library()
        if documents is not None:
            # Which documents to keep is known once the queries are read.
            found = list(found)
            listed = {doc_id for _, fields in found for doc_id in _listed_ids(fields)}
            library = _Library(documents, listed)
        for line, fields in found:
            try:
                query = _query(fields, library)
                register.add(query, f"line {line}")
            except LabelledDataError as error:
                raise source.error(str(error), line) from None
            queries.append(query)
        if not queries:
            raise source.error("no labelled queries: every line is blank")
    return queries


def _query(fields: dict[str, Any], library: _Library) -> LabelledQuery:
    missing = [name for name in _REQUIRED if name not in fields]
    if missing:
        raise LabelledDataError(f"no {', no '.join(missing)}{mismatch(fields, QUERIES)}")
    entries = fields["documents"]
    try:
        if not isinstance(entries, list):
            raise wrong_type("documents", "a list of documents", entries)
        documents = tuple(library.document(index, entry) for index, entry in enumerate(entries))
    except LabelledDataError as error:
        raise LabelledDataError(f"query {shown(fields['query_id'])}, {error}") from None
    return LabelledQuery(
        query_id=fields["query_id"],
        query=fields["query"],
        documents=documents,
        **{name: fields.get(name) for name in _OPTIONAL},
        metadata={
            name: value for name, value in fields.items() if name not in (*_REQUIRED, *_OPTIONAL)
        },
    )


def _listed_ids(fields: dict[str, Any]) -> Iterator[str]:
    """Ids of the documents that a query lists; what is wrong with the list is told later."""
    entries = fields.get("documents")
    for entry in entries if isinstance(entries, list) else ():
        doc_id = entry.get("doc_id") if isinstance(entry, dict) else None
        if isinstance(doc_id, str):
            yield doc_id


class _Library:
    """The documents met so far, without spans: one object for each id.

    Parameters
    ----------
    path : str or path-like, optional
        A documents file, read at once.
    listed : set of str
        The ids to keep of it.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, listed: Set[str] = frozenset()
    ) -> None:
        self._documents: dict[str, Document] = {}
        self._path = None if path is None else os.fsdecode(path)
        if path is not None:
            with Source(path) as source:
                self._read(source, listed)

    def _read(self, source: Source, listed: Set[str]) -> None:
        lines: dict[str, int] = {}
        for line, fields in objects(source):
            try:
                missing = [name for name in ("doc_id", "text") if name not in fields]
                if missing:
                    raise LabelledDataError(f"no {', no '.join(missing)}{mismatch(fields)}")
                document = Document(
                    fields["doc_id"], fields["text"], (), fields.get("lang"), fields.get("group")
                )
                if document.doc_id not in listed:
                    continue
                if self._documents.setdefault(document.doc_id, document) != document:
                    raise LabelledDataError(
                        f"document {shown(document.doc_id)} is another one at line "
                        f"{lines[document.doc_id]}: a doc_id stands for one text"
                    )
                lines.setdefault(document.doc_id, line)
            except LabelledDataError as error:
                raise source.error(str(error), line) from None

    def document(self, index: int, entry: object) -> Document:
        """The document of an entry in a query's list."""
        if not isinstance(entry, dict):
            raise wrong_type(f"documents[{index}]", "an object", entry)
        for name in ("doc_id", "relevant_spans"):
            if name not in entry:
                raise LabelledDataError(f"documents[{index}] has no {name}{mismatch(entry)}")
        doc_id, spans = entry["doc_id"], entry["relevant_spans"]
        check_id(f"documents[{index}].doc_id", doc_id)
        stored = self._documents.get(doc_id)
        text = self._text(doc_id, entry.get("text"), stored)
        in_file = stored if self._path is not None else None
        lang, group = (
            getattr(in_file, name, None) if entry.get(name) is None else entry[name]
            for name in ("lang", "group")
        )
        if stored is None:
            document = Document(doc_id, text, spans, lang, group)
            self._documents[doc_id] = (
                replace(document, relevant_spans=()) if document.relevant_spans else document
            )
            return document
        if spans == [] and (text, lang, group) == (stored.text, stored.lang, stored.group):
            return stored
        return Document(doc_id, text, spans, lang, group)

    def _text(self, doc_id: str, text: Any, stored: Document | None) -> Any:
        """The text as given, or the stored one where that is equal."""
        if text is None and stored is not None and self._path is not None:
            return stored.text
        if text is None:
            remedy = (
                "has no text, and no documents file is given"
                if self._path is None
                else f"is not in {self._path}"
            )
            raise LabelledDataError(f"document {shown(doc_id)} {remedy}")
        if stored is not None and text == stored.text:
            return stored.text
        if stored is not None and self._path is not None and isinstance(text, str):
            raise LabelledDataError(f"document {shown(doc_id)} has another text in {self._path}")
        return text
