"""CSV with a header, as RFC 4180 has it.

Not the standard library's reader: it refuses fields over 131,072 characters, and the only way to
raise that limit changes it for the whole host process.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tamis.labelled.error import LabelledDataError, shown
from tamis.labelled.source import Source

_DELIMITERS = ",;\t"


Row = tuple[int, dict[str, str]]
"""Number of the row's first line, and its cells by column."""


def table(source: Source) -> tuple[list[str], Iterator[Row]]:
    """Read the header; give the column names and an iterator over the rows.

    The delimiter is the one of comma, semicolon and tab that the header has most of. Column names
    are compared without surrounding blanks and in lower case. Blank rows are passed over.

    Raises
    ------
    LabelledDataError
        A row that has not as many cells as the header, or a quoted cell that is not closed or goes
        on after its closing quote, naming the line; a column name twice.
    """
    records = _records(source)
    header_line, header = next(records, (1, []))
    names = [name.strip().lower() for name in header]
    twice = {name for name in names if name and names.count(name) > 1}
    if twice:
        raise source.error(f"the column {shown(min(twice))} is there twice", header_line)
    return names, _rows(source, names, records)


def _rows(
    source: Source, names: list[str], records: Iterator[tuple[int, list[str]]]
) -> Iterator[Row]:
    for number, cells in records:
        if len(cells) != len(names):
            raise source.error(f"{len(cells)} cells under a header of {len(names)} columns", number)
        yield number, dict(zip(names, cells, strict=True))


def _records(source: Source) -> Iterator[tuple[int, list[str]]]:
    lines = source.lines()
    first = next(((number, line) for number, line in lines if not line.isspace()), None)
    if first is None:
        return
    delimiter = max(_DELIMITERS, key=first[1].count)
    record = _Record(delimiter)
    start = first[0]
    for number, line in itertools.chain([first], lines):
        if not record.is_open:
            start = number
        try:
            complete = record.add(line)
        except LabelledDataError as error:
            raise source.error(str(error), number) from None
        if record.n_characters > source.max_line_bytes:
            raise source.error(f"the row is longer than {source.max_line_bytes} characters", start)
        if complete:
            if any(cell.strip() for cell in record.cells):
                yield start, record.cells
            record = _Record(delimiter)
    if record.is_open:
        raise source.error("a quoted cell is not closed", start)


class _Record:
    """One row in the making, over as many lines as its quoted cells have."""

    def __init__(self, delimiter: str) -> None:
        self.cells: list[str] = []
        self.n_characters = 0
        self._delimiter = delimiter
        self._quoted: list[str] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a quoted cell goes on in the next line."""
        return self._quoted is not None

    def add(self, line: str) -> bool:
        """Take a line in; True when the row is complete."""
        self.n_characters += len(line)
        body = line.removesuffix("\n").removesuffix("\r")
        if self._quoted is None and '"' not in line:
            self._refuse_carriage_return(body)
            self.cells = body.split(self._delimiter)
            return True
        at = 0
        while True:
            if self._quoted is None and line.startswith('"', at):
                self._quoted = []
                at += 1
            if self._quoted is None:
                end = body.find(self._delimiter, at)
                end = len(body) if end < 0 else end
                self.cells.append(body[at:end])
                self._refuse_carriage_return(self.cells[-1])
            else:
                end = self._close_quote(line, at)
                if end < 0:
                    return False
                if not body.startswith(self._delimiter, end) and end != len(body):
                    raise LabelledDataError(
                        f"text after the closing quote at column {end + 1}: "
                        "a quote inside a quoted cell is written twice"
                    )
            if end == len(body):
                return True
            at = end + 1

    def _close_quote(self, line: str, at: int) -> int:
        """Take the quoted cell from `at`; the position after its closing quote, -1 if not there."""
        assert self._quoted is not None
        while (end := line.find('"', at)) >= 0:
            self._quoted.append(line[at:end])
            if not line.startswith('"', end + 1):
                self.cells.append("".join(self._quoted))
                self._quoted = None
                return end + 1
            self._quoted.append('"')
            at = end + 2
        self._quoted.append(line[at:])
        return -1

    def _refuse_carriage_return(self, cell: str) -> None:
        if "\r" in cell:
            raise LabelledDataError("a carriage return within a line: end lines with a line feed")
