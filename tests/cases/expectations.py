"""How to read `expect`: what was observed against what is wanted, with every difference in words.

A runner makes its call through `attempt`, and hands the outcome to `judge` with its own checks, one
per key of `expect` that only this kind has. A key or a `never` that nothing here understands raises
`NoRunner`: such a case is skipped by name, never passed.
"""

from __future__ import annotations

import builtins
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Case = Mapping[str, Any]
Runner = Callable[[Case], None]


class NoRunner(Exception):
    """Nothing here can tell whether this case holds; the text names what is not understood."""


@dataclass
class Outcome:
    """What a call gave back, or what it raised."""

    value: Any = None
    error: BaseException | None = None
    seconds: float = 0.0
    fields: tuple[str, ...] = ()
    """Names of which an error may name any, where one must name the field."""
    path: str | None = None
    """The path an error must name, where it must."""

    @property
    def text(self) -> str:
        """The error's message."""
        return str(self.error)

    @property
    def shown(self) -> str:
        """What came out, for a message."""
        if self.error is None:
            return f"gave {self.value!r:.300}"
        return f"raised {type(self.error).__name__}: {self.text:.300}"


def attempt(call: Callable[[], Any], **about: Any) -> Outcome:
    """Run `call`; catches what escapes `except Exception` too, so that it can be reported."""
    start = time.perf_counter()
    try:
        value, error = call(), None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as raised:
        value, error = None, raised
    return Outcome(value, error, time.perf_counter() - start, **about)


Check = Callable[[Any, Outcome], str | None]
"""Takes what is wanted and the outcome, gives what is wrong or None."""


def judge(
    expect: Mapping[str, Any],
    outcome: Outcome,
    checks: Mapping[str, Check] | None = None,
    never: Mapping[str, Check] | None = None,
) -> None:
    """Fail with everything that is wrong.

    `checks` are by key, `never` by a regular expression that the wording of a `never` matches.
    """
    wrong = problems(expect, outcome, checks or {}, {**NEVER, **(never or {})})
    assert not wrong, "; ".join(wrong)


def problems(
    expect: Mapping[str, Any],
    outcome: Outcome,
    checks: Mapping[str, Check],
    never: Mapping[str, Check],
) -> list[str]:
    """Everything in which the outcome is not what is expected."""
    if outcome.error is not None and not isinstance(outcome.error, Exception):
        return [f"{type(outcome.error).__name__} is no Exception: {outcome.text}"]
    wrong: list[str] = []
    wants_error = bool(WANT_ERROR & expect.keys())
    if "any_of" not in expect and not wants_error and outcome.error is not None:
        wrong.append(outcome.shown)
    for key, wanted in expect.items():
        if key in ("note", "lang"):
            continue
        if key == "any_of":
            each = [problems(one, outcome, checks, never) for one in wanted]
            if all(each):
                wrong.append("none of: " + " | ".join("; ".join(one) for one in each))
        elif key == "never":
            wrong += filter(None, (_never(text, outcome, never) for text in wanted))
        elif key in checks:
            # A check of a value has nothing to look at where an error was raised.
            wrong += filter(None, [checks[key](wanted, outcome)])
        elif key in COMMON:
            wrong += filter(None, [COMMON[key](wanted, outcome)])
        else:
            raise NoRunner(f"no check for the expectation {key!r}")
    return wrong


def _never(text: str, outcome: Outcome, never: Mapping[str, Check]) -> str | None:
    found = [check for pattern, check in never.items() if re.search(pattern, text, re.IGNORECASE)]
    if not found:
        raise NoRunner(f"no check for never {text!r}")
    for check in found:
        if wrong := check(text, outcome):
            return f"never {text!r}: {wrong}"
    return None


# --- keys that every kind may use ---------------------------------------------------------------


def _is_subclass(wanted: str | Iterable[str], outcome: Outcome) -> str | None:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    classes = []
    for name in names:
        known = getattr(builtins, name, None)
        if not (isinstance(known, type) and issubclass(known, Exception)):
            raise NoRunner(f"no exception named {name!r}")
        classes.append(known)
    if isinstance(outcome.error, tuple(classes)):
        return None
    return f"{outcome.shown}, wanted {' or '.join(names)}"


def _names_index(wanted: int | bool, outcome: Outcome) -> str | None:
    if wanted is False:
        return None
    if re.search(rf"(?<![\d.]){wanted}(?![\d.]*\d)", outcome.text):
        return None
    return f"the message does not name index {wanted}: {outcome.text!r}"


def _names_field(wanted: bool | str, outcome: Outcome) -> str | None:
    if wanted is False:
        return None
    names = (wanted,) if isinstance(wanted, str) else outcome.fields
    if not names:
        raise NoRunner("no field is known that the message should name")
    if any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", outcome.text) for name in names):
        return None
    return f"the message names none of {', '.join(names)}: {outcome.text!r}"


def _names_path(wanted: bool | str, outcome: Outcome) -> str | None:
    if wanted is False:
        return None
    path = wanted if isinstance(wanted, str) else outcome.path
    if path is None:
        raise NoRunner("no path is known that the message should name")
    return None if path in outcome.text else f"the message does not name {path}: {outcome.text!r}"


def _within(wanted: float, outcome: Outcome) -> str | None:
    return None if outcome.seconds <= wanted else f"took {outcome.seconds:.1f} s, not {wanted}"


def _is_error(_: Any, outcome: Outcome) -> str | None:
    return None if outcome.error is not None else outcome.shown


WANT_ERROR = {"error", "error_is_subclass_of", "error_within_s", "clear_error"}

COMMON: dict[str, Check] = {
    "error": _is_subclass,
    "error_is_subclass_of": _is_subclass,
    "clear_error": _is_error,
    "names_index": _names_index,
    "names_field": _names_field,
    "names_path": _names_path,
    "within_s": _within,
    "error_within_s": lambda wanted, outcome: (
        _is_error(wanted, outcome) or _within(wanted, outcome)
    ),
}


def _holds_nan(_: str, outcome: Outcome) -> str | None:
    return f"holds NaN: {outcome.value!r}" if any(map(_is_nan, _flat(outcome.value))) else None


def _error_of(name: str) -> Check:
    def check(_: str, outcome: Outcome) -> str | None:
        classes = [c.__name__ for c in type(outcome.error).__mro__]
        return outcome.shown if outcome.error is not None and name in classes else None

    return check


def _fine(_: str, __: Outcome) -> str | None:
    """What would end this very process, or be no Exception, has been seen before."""
    return None


NEVER: dict[str, Check] = {
    r"\bcrash|panic|segfault|SIGSEGV|abort|\bhang": _fine,
    r"\bNaN\b": _holds_nan,
    r"IndexError": _error_of("IndexError"),
    r"KeyError": _error_of("KeyError"),
    r"OverflowError": _error_of("OverflowError"),
    r"ZeroDivisionError": _error_of("ZeroDivisionError"),
}


# --- reading -----------------------------------------------------------------------------------


def number(value: Any) -> float:
    """A number as the cases write it: "inf", "NaN" and "Infinity" are texts there."""
    return float(value)


def numbers(values: Iterable[Any]) -> list[float]:
    """A list of such numbers."""
    return [number(value) for value in values]


def equals(actual: float, wanted: Any) -> bool:
    """Equal as doubles, infinities included; a NaN equals a NaN."""
    wanted = number(wanted)
    return actual == wanted or (_is_nan(actual) and _is_nan(wanted))


def _flat(value: Any) -> Iterable[Any]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
