"""Chunk labels from CSV or JSON Lines: one row for each pair of query and chunk."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tamis.labelled import csv_table, json_lines
from tamis.labelled.error import LabelledDataError, shown
from tamis.labelled.fields import check_str, wrong_type
from tamis.labelled.kind import CHUNKS, holds_json, mismatch
from tamis.labelled.source import Source

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LABELS = {"0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "relevant": ("relevant", "label"),
    "document": ("document", "doc_id"),
}
_COLUMNS = (
    "query_id",
    "query",
    "relevant",
    "score",
    "chunk_id",
    "chunk",
    "text",
    "topic",
    "document",
    "group",
)


@dataclass(frozen=True, slots=True)
class ChunkLabels:
    """Labels of chunks as parallel columns, one row for each pair of query and chunk.

    With `scores` the columns are those of ``Calibration.fit(scores, relevant, query=, topic=,
    document=, group=)``. Without, `query_text` and `text` are there, for tamis to score.

    Attributes
    ----------
    query : list of str, length n
        Query ids.
    relevant : list of bool, length n
    scores : list of float or None
        Nonconformity scores, finite, lower is more relevant; None if the file has none.
    query_text, text : list of str or None
        The query's and the chunk's text.
    chunk_id : list of str or None
    topic, document, group : list of str or None
    """

    query: list[str]
    relevant: list[bool]
    scores: list[float] | None = None
    query_text: list[str] | None = None
    text: list[str] | None = None
    chunk_id: list[str] | None = None
    topic: list[str] | None = None
    document: list[str] | None = None
    group: list[str] | None = None

    def __post_init__(self) -> None:
        for column in fields(self):
            values = getattr(self, column.name)
            if values is not None and len(values) != len(self.query):
                raise LabelledDataError(
                    f"{column.name} has {len(values)} rows, query has {len(self.query)}"
                )

    def __len__(self) -> int:
        return len(self.query)


def read_scores(path: str | os.PathLike[str]) -> ChunkLabels:
    """Read chunk labels from CSV with a header or from JSON Lines, told by the first character.

    Columns, or keys:

    - ``query_id``, ``query``: the id and the text of the query; one is enough, and then it is the
      id too;
    - ``relevant`` (or ``label``): 0 or 1 (false and true are taken too);
    - ``score``: a finite number, lower is more relevant. Without it the rows are for tamis to
      score, and ``query`` and the chunk's text must be there;
    - ``text``: the chunk's text. ``chunk_id``: its id, once for each query and document. ``chunk``:
      its text if there is a ``chunk_id`` or no ``score``, otherwise its id;
    - ``topic``, ``document`` (or ``doc_id``), ``group``.

    Empty cells, empty strings and ``null`` count as absent. A column is there in every row or in
    none. Other columns are ignored.

    Parameters
    ----------
    path : str or path-like
        UTF-8, plain or gzip. CSV is separated by comma, semicolon or tab.

    Raises
    ------
    OSError
        The file cannot be opened.
    LabelledDataError
        Naming file, line and column: a missing column, a value of another kind, a query with two
        topics or two texts, a ``chunk_id`` twice for one query and document; no row at all.
    """
    with Source(path) as source:
        is_json = holds_json(source)
        table = _Table(is_json)
        rows: Iterator[tuple[int, Mapping[str, Any]]]
        if is_json:
            rows = json_lines.objects(source)
        else:
            names, rows = csv_table.table(source)
            missing = _missing_columns(names)
            if missing:
                raise source.error(f"no column {missing}{mismatch(names, CHUNKS)}", 1)
        for line, row in rows:
            try:
                table.add(line, row)
            except LabelledDataError as error:
                raise source.error(str(error), line) from None
        if not table.lines:
            raise source.error("no chunk labels: there is no row")
        return table.labels()


def _aliases(name: str) -> tuple[str, ...]:
    return _ALIASES.get(name, (name,))


def _missing_columns(names: Iterable[str]) -> str:
    found = set(names)
    return _missing(name for name in _COLUMNS if not found.isdisjoint(_aliases(name)))


def _missing(columns: Iterable[str]) -> str:
    """Name what a row with these columns lacks; empty if nothing."""
    there = set(columns)
    missing = []
    if not {"query_id", "query"} & there:
        missing.append("query_id")
    if "relevant" not in there:
        missing.append("relevant")
    if "score" not in there and not ("query" in there and {"text", "chunk"} & there):
        missing.append("score (or query and text, to be scored)")
    return ", no ".join(missing)


class _Table:
    """Columns in the making."""

    def __init__(self, is_json: bool) -> None:
        self.lines: list[int] = []
        self._is_json = is_json
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._strings: dict[str, str] = {}
        self._queries: dict[str, tuple[int, Mapping[str, str | None]]] = {}
        self._chunks: dict[tuple[str, str | None, str], int] = {}

    def add(self, line: int, row: Mapping[str, Any]) -> None:
        """Take a row in."""
        missing = "" if self.lines else _missing_columns(row)
        if missing:
            raise LabelledDataError(f"no {missing}{mismatch(row, CHUNKS)}")
        values = {name: self._value(name, row) for name in _COLUMNS}
        missing = (
            "" if self.lines else _missing(name for name in _COLUMNS if values[name] is not None)
        )
        if missing:
            raise LabelledDataError(f"no {missing}: the column is empty in the first row")
        for name, value in values.items():
            self._check_presence(name, value)
        if values["score"] is None:
            for name in ("query", "text", "chunk"):
                if values[name] is not None and not values[name].strip():
                    raise LabelledDataError(f"{name} is blank, and there is no score")
        self._check_query(line, values)
        self._check_chunk(line, values)
        self.lines.append(line)
        for name, value in values.items():
            if value is not None:
                self._columns[name].append(value)

    def labels(self) -> ChunkLabels:
        """The columns, under their names in `ChunkLabels`."""
        column = {name: values or None for name, values in self._columns.items()}
        text, chunk_id, chunk = column["text"], column["chunk_id"], column["chunk"]
        if text is None and (chunk_id is not None or column["score"] is None):
            text = chunk
        elif chunk_id is None:
            chunk_id = chunk
        return ChunkLabels(
            query=self._columns["query_id"] or self._columns["query"],
            relevant=self._columns["relevant"],
            scores=column["score"],
            query_text=column["query"],
            text=text,
            chunk_id=chunk_id,
            topic=column["topic"],
            document=column["document"],
            group=column["group"],
        )

    def _value(self, name: str, row: Mapping[str, Any]) -> Any:
        for alias in _aliases(name):
            value = row.get(alias)
            if value is None or value == "":
                continue
            if name == "relevant":
                return self._label(alias, value)
            if name == "score":
                return self._score(value)
            check_str(alias, value)
            return self._strings.setdefault(value, value)
        return None

    def _label(self, name: str, value: Any) -> bool:
        if self._is_json and isinstance(value, int | float) and value in (0, 1):
            return bool(value)
        label = _LABELS.get(value.strip().lower()) if not self._is_json else None
        if label is None:
            raise LabelledDataError(f"{name} must be 0 or 1, got {shown(value)}")
        return label

    def _score(self, value: Any) -> float:
        score = math.nan
        if not self._is_json and _NUMBER.fullmatch(value.strip()):
            score = float(value)
        elif self._is_json and isinstance(value, int | float) and not isinstance(value, bool):
            with contextlib.suppress(OverflowError):
                score = float(value)
        if not math.isfinite(score):
            raise wrong_type("score", "a finite number", value)
        return score

    def _check_presence(self, name: str, value: object) -> None:
        if self.lines and (value is not None) != bool(self._columns[name]):
            names = " or ".join(_aliases(name))
            raise LabelledDataError(
                f"{'no' if value is None else 'a'} {names} here, and "
                f"{'one' if value is None else 'none'} at line {self.lines[0]}: "
                "a column is there in every row or in none"
            )

    def _check_query(self, line: int, values: Mapping[str, Any]) -> None:
        query = values["query_id"] or values["query"]
        first, known = self._queries.setdefault(query, (line, values))
        for name in ("topic", "query"):
            if known[name] != values[name]:
                raise LabelledDataError(
                    f"{name} of query {shown(query)} is {shown(values[name])} here and "
                    f"{shown(known[name])} at line {first}"
                )

    def _check_chunk(self, line: int, values: Mapping[str, Any]) -> None:
        if values["chunk_id"] is None:
            return
        query = values["query_id"] or values["query"]
        first = self._chunks.setdefault((query, values["document"], values["chunk_id"]), line)
        if first != line:
            raise LabelledDataError(
                f"chunk_id {shown(values['chunk_id'])} of query {shown(query)} is already at "
                f"line {first}"
            )
