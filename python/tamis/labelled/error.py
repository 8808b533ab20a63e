"""The one error of labelled data, and how values are shown in its messages."""

from __future__ import annotations

import reprlib

from tamis._tamis import TamisError

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_MAX_SHOWN_BITS = 128


class LabelledDataError(TamisError, ValueError):
    """Labelled data that cannot be used; the message is one line and says where.

    Attributes
    ----------
    path : str or None
        The file, if the data came from one.
    line : int or None
        The line in it, from 1. For a CSV row over several lines, the first of them.
    """

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)
        self.path = path
        self.line = line


def shown(value: object) -> str:
    """A value for a message: short, on one line, printable whatever the data held."""
    if isinstance(value, int) and value.bit_length() > _MAX_SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    try:
        return _SHORT.repr(value)
    except ValueError:  # a container with an integer of more digits than Python prints
        return f"a {type(value).__name__}"
