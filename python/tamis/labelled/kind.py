"""What a labelled file holds, told by its first object or its header."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Literal

from tamis.labelled import csv_table, json_lines
from tamis.labelled.error import LabelledDataError, shown
from tamis.labelled.source import Source

QUERIES = "labelled queries (query_id, query, documents)"
CHUNKS = "chunk labels (query, relevant, score or text)"


def sniff(path: str | os.PathLike[str]) -> Literal["queries", "chunks"]:
    """Tell which reader a file is for: `read_labelled` ("queries") or `read_scores` ("chunks").

    Looks at the first object or the header only; the reader checks the rest.

    Parameters
    ----------
    path : str or path-like
        A regular file. What is read from a pipe is gone, so a pipe is refused.

    Raises
    ------
    OSError
        The file cannot be opened.
    LabelledDataError
        It holds neither, naming what it looks like.
    """
    name = os.fsdecode(path)
    if os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name):
        raise LabelledDataError("a pipe or a device, and looking into it uses it up", path=name)
    with Source(name) as source:
        is_json = holds_json(source)
        if is_json:
            fields: Collection[str] = next(
                (set(found) for _, found in json_lines.objects(source)), ()
            )
        else:
            fields, _ = csv_table.table(source)
        kind = _kind(fields)
        if kind == "queries" and is_json:
            return "queries"
        if kind == "chunks":
            return "chunks"
        raise source.error(
            f"neither {QUERIES} nor {CHUNKS}, but {_likeness(fields) or _names(fields)}"
        )


def holds_json(source: Source) -> bool:
    """Whether this is for the reader of JSON Lines; nothing is used up."""
    return source.head.lstrip().startswith((b"{", b"["))


def mismatch(fields: Collection[str], expected: str | None = None) -> str:
    """The end of a message about missing fields: what the object or header looks like instead."""
    likeness = _likeness(fields)
    if likeness is None or likeness == expected:
        return f"; it has {_names(fields)}"
    return f"; this looks like {likeness}"


def _names(fields: Collection[str]) -> str:
    return ", ".join(shown(name) for name in sorted(fields)[:8]) or "nothing"


def _kind(fields: Collection[str]) -> Literal["queries", "chunks"] | None:
    has = set(fields)
    if "documents" in has:
        return "queries"
    is_labelled = {"query", "query_id"} & has and {"relevant", "label"} & has
    if is_labelled and {"score", "text", "chunk", "chunk_id"} & has:
        return "chunks"
    return None


def _likeness(fields: Collection[str]) -> str | None:
    has = set(fields)
    kind = _kind(has)
    if kind is not None:
        return QUERIES if kind == "queries" else CHUNKS
    if {"claim", "evidence"} <= has:
        return "a claim set (claim_id, claim, evidence)"
    if {"doc_id", "text"} <= has:
        return "a documents file (doc_id, text)"
    if {"_id", "text"} <= has:
        return "a file of a BEIR folder (_id, text)"
    if "data" in has or "paragraphs" in has:
        return "SQuAD JSON (data, paragraphs)"
    return None
