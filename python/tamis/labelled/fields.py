"""Checks of one field: type, and that native code can take it."""

from __future__ import annotations

import operator
from typing import Any

from tamis.labelled.error import LabelledDataError, shown


def wrong_type(name: str, expected: str, got: object) -> LabelledDataError:
    """The error that names a field, what it must be and what it is."""
    return LabelledDataError(f"{name} must be {expected}, got {type(got).__name__} {shown(got)}")


def check_str(name: str, value: object) -> None:
    """Refuse anything but a string that has a UTF-8 form (one without lone surrogates)."""
    if not isinstance(value, str):
        raise wrong_type(name, "a string", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise LabelledDataError(
                f"{name} has the lone surrogate {shown(value[error.start])} at code point "
                f"{error.start}, which native code cannot take"
            ) from None


def check_id(name: str, value: object) -> None:
    """Refuse anything but a non-empty string."""
    check_str(name, value)
    if not value:
        raise LabelledDataError(f"{name} is empty")


def check_optional_id(name: str, value: object) -> None:
    """Refuse anything but a non-empty string or None."""
    if value is not None:
        check_id(name, value)


def integer(name: str, value: Any) -> int:
    """The value as an int; truth values and floats are refused, NumPy's integers are not."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise wrong_type(name, "an integer", value)
