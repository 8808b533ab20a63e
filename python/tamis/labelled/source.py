"""A labelled file opened for reading: unpacked, known to be text, given line by line."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import zlib
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import ClassVar, Self

from tamis.labelled.error import LabelledDataError

EXPECTED = "expected JSON Lines or CSV, in UTF-8, plain or gzip"

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_HEAD_BYTES = 512
_FORMATS = (
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a zip archive or an Office document"),
    (b"PK\x05\x06", "a zip archive"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (_GZIP, "gzip data inside gzip data"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"\xff\xfe\x00\x00", "text in UTF-32"),
    (b"\x00\x00\xfe\xff", "text in UTF-32"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
    (b"{\x00", "text in UTF-16"),
    (b"\x00{", "text in UTF-16"),
    (b"{\\rtf", "an RTF document"),
)


class Source:
    """A labelled file, open while in its `with` block.

    A pipe can be read once, as a regular file is. Memory: one line.

    Parameters
    ----------
    path : str or path-like

    Raises
    ------
    OSError
        The file cannot be opened; it names the path.
    LabelledDataError
        It is a directory, empty, or of a type that holds no labels, naming what it looks like.
    """

    max_line_bytes: ClassVar[int] = 1 << 28
    """Longest line, and longest CSV row. A file of a few kilobytes may unpack to gigabytes without
    a line break: that is an error rather than the end of the host's memory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fsdecode(path)
        if os.path.isdir(self.path):
            raise self.error("this is a directory, not a file")
        self._file = open(self.path, "rb")  # noqa: SIM115 - closed by __exit__
        try:
            self._stream: io.BufferedReader | gzip.GzipFile = self._file
            if self._read(self._file.peek, 2).startswith(_GZIP):
                self._stream = gzip.GzipFile(fileobj=self._file)
            self._check_type()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stream.close()
        self._file.close()

    def error(self, message: str, line: int | None = None) -> LabelledDataError:
        """The error that names this file and, if given, a line of it."""
        return LabelledDataError(message, path=self.path, line=line)

    @property
    def head(self) -> bytes:
        """The first bytes after a byte order mark, before `lines`; nothing is used up."""
        return self._read(self._stream.peek, _HEAD_BYTES)[:_HEAD_BYTES].removeprefix(_BOM)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Give each line with its number, from 1, and with its line end.

        Only a line feed ends a line: JSON strings may hold the other separators of Unicode.

        Raises
        ------
        LabelledDataError
            Not UTF-8, a NUL, a line over `max_line_bytes`, or damaged gzip data, naming the line.
        """
        for number in itertools.count(1):
            raw = self._read(self._stream.readline, self.max_line_bytes + 1, number)
            if not raw:
                return
            if len(raw) > self.max_line_bytes:
                raise self.error(f"the line is longer than {self.max_line_bytes} bytes", number)
            if number == 1:
                raw = raw.removeprefix(_BOM)
            try:
                line = raw.decode()
            except UnicodeDecodeError as error:
                column = len(raw[: error.start].decode()) + 1
                raise self.error(
                    f"not UTF-8: byte 0x{raw[error.start]:02x} at column {column}", number
                ) from None
            if "\0" in line:
                raise self.error(f"a NUL at column {line.index(chr(0)) + 1}: {EXPECTED}", number)
            yield number, line

    def _check_type(self) -> None:
        head = self.head
        if not head:
            raise self.error(f"the file is empty; {EXPECTED}")
        looks_like = next((name for magic, name in _FORMATS if head.startswith(magic)), None)
        if looks_like is None and head.lstrip().startswith(b"<"):
            looks_like = "HTML or XML"
        if looks_like is None and b"\0" in head:
            looks_like = "binary data"
        if looks_like is not None:
            raise self.error(f"this looks like {looks_like}; {EXPECTED}")

    def _read(self, read: Callable[[int], bytes], size: int, line: int | None = None) -> bytes:
        try:
            return read(size)
        except EOFError:
            raise self.error("the gzip data is cut off", line) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self.error(f"the gzip data is damaged ({error})", line) from None
        except OSError as error:
            error.filename = error.filename or self.path
            raise
