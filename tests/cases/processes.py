"""Fresh interpreters for what must not happen in this one: hangs, crashes, kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

from cases.expectations import Outcome


class ChildFailed(AssertionError):
    """The interpreter did not end as it should have: crashed, hung, or its script failed."""


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, with what it can import and the changes given."""
    path = os.pathsep.join(p for p in sys.path if p)
    return {**os.environ, "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1", **changes}


def run(script: str, given: Any = None, timeout: float = 60, **changes: str) -> Any:
    """Run a script that reads `given` with `json.load(sys.stdin)`; its last line is its answer.

    Raises
    ------
    ChildFailed
        It took longer than `timeout` seconds, was ended by a signal, or raised.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(given),
            env=environment(**changes),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as late:
        tail = (late.stderr or b"")[-2000:]
        raise ChildFailed(f"still running after {timeout} s; {tail!r}") from late
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise ChildFailed(f"ended by {name}: {done.stderr[-3000:]}")
    if done.returncode:
        raise ChildFailed(f"exit status {done.returncode}: {done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a script that goes on until it is killed; it says "ready" on its first line."""
    child = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    line = child.stdout.readline()
    if line.strip() != "ready":
        child.kill()
        raise ChildFailed(f"did not start: {child.communicate()[1][-3000:]}")
    return child


def kill(child: subprocess.Popen[str]) -> None:
    """End a child as a power cut would."""
    child.kill()
    child.communicate()


def attempted(script: str, given: Any, timeout: float) -> Outcome:
    """The outcome of a script whose answer is {"value": …} or {"error": [classes], "text": …}.

    An error comes back as the nearest class of its list that is built in.
    """
    begin = time.perf_counter()
    answer = run(script, given, timeout)
    seconds = answer.get("seconds", time.perf_counter() - begin)
    if "error" not in answer:
        return Outcome(answer["value"], None, seconds)
    scope = {name: getattr(__import__("builtins"), name, None) for name in answer["error"]}
    known = [c for c in scope.values() if isinstance(c, type) and issubclass(c, BaseException)]
    # A class with a signature of its own (UnicodeEncodeError) cannot be made from a text.
    plain = [c for c in known if not issubclass(c, UnicodeError)] or [ValueError]
    error = plain[0](answer["text"])
    return Outcome(None, error, seconds)
