"""JSON Lines, read strictly: one object a line, what JSON leaves open is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from tamis.labelled.error import LabelledDataError, shown
from tamis.labelled.source import Source

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the object of each line that is not blank, with the line's number.

    Raises
    ------
    LabelledDataError
        Not JSON (naming line and column), not an object, a key twice in one object, ``NaN`` or
        ``Infinity``, a lone surrogate, nesting or digits beyond what Python reads.
    """
    for number, line in source.lines():
        if line.isspace():
            continue
        try:
            value = _parse(line)
        except LabelledDataError as error:
            raise source.error(str(error), number) from None
        yield number, value


def _parse(line: str) -> dict[str, Any]:
    if line.lstrip().startswith("["):
        raise LabelledDataError(
            "a JSON array; expected JSON Lines, one object a line (`jq -c '.[]'` makes them)"
        )
    try:
        # Without the line end: it would make what is wrong there column 1 of the next line.
        value = json.loads(
            line.rstrip("\r\n"), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
        if _SURROGATE_ESCAPE.search(line):
            # Pairs of escapes have become one character; what is left has no UTF-8 form.
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        hint = ""
        if line.strip() == "{" or not line.lstrip().startswith("{"):
            hint = "; expected JSON Lines, one whole object a line"
        raise LabelledDataError(f"not JSON: {error.msg} at column {error.colno}{hint}") from None
    except UnicodeEncodeError as error:
        character = shown(error.object[error.start])
        raise LabelledDataError(f"a string has the lone surrogate {character}") from None
    except RecursionError:
        raise LabelledDataError("nested too deeply") from None
    except LabelledDataError:
        raise
    except ValueError as error:  # an integer of more digits than Python reads
        raise LabelledDataError(f"a number cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise LabelledDataError(f"not a JSON object: {shown(value)}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise LabelledDataError(f"the key {shown(twice)} is there twice in one object")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise LabelledDataError(f"{name} is not JSON")
