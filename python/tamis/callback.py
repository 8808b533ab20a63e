"""A caller's function that is told of results: never a reason for a request to fail."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any


class Callback:
    """Calls a function; its exceptions end here.

    The first is logged as an error with its traceback, by the logger "tamis"; later ones at level
    debug, so that a function that always fails does not fill the log. What is no `Exception`
    (KeyboardInterrupt, SystemExit, a task's cancellation) is not the function's failure and passes.

    Parameters
    ----------
    name : str
        The argument's name, for messages.
    function : callable
        Called with one argument, on the thread of the request; what it returns is dropped.

    Raises
    ------
    TypeError
        Not callable, or a coroutine function, which nobody would await.
    """

    def __init__(self, name: str, function: Callable[[Any], object]) -> None:
        if not callable(function):
            raise TypeError(f"{name} must be callable, got {type(function).__name__}")
        if iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__):
            raise TypeError(
                f"{name} must be a plain function, got a coroutine function, which nobody awaits; "
                "start a task from a plain one"
            )
        self.name = name
        self.function = function
        self._reported: dict[str, object] = {}

    def __call__(self, value: object) -> None:
        try:
            self.function(value)
        except Exception as error:
            self._report(error)

    def _report(self, error: Exception) -> None:
        # Imported here, since a host may never need it.
        import logging

        # Of threads that fail at once, one is the first: setdefault is atomic.
        mark = object()
        first = self._reported.setdefault("first", mark) is mark
        level = logging.ERROR if first else logging.DEBUG
        later = "; further failures are logged at level debug" if first else ""
        try:
            logging.getLogger("tamis").log(
                level, "%s raised, the request went on%s", self.name, later, exc_info=error
            )
        except Exception:  # a handler of the host's that raises must not reach the request either
            return
