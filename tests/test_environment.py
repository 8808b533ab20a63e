"""The recorded environment warns once, and only of what is compared."""

from __future__ import annotations

import platform
import sys
import warnings

import pytest

from tamis import environment


def test_a_difference_warns_once_and_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_warned", set())
    recorded = {
        **environment.record({"runtime": "numpy 0.0.1"}),
        "machine": "pdp11",
        "python": "2.7",
    }
    with pytest.warns(UserWarning) as caught:
        environment.warn_of_differences(recorded)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert any("numpy 0.0.1" in m for m in messages)
    assert any("pdp11" in m and platform.machine() in m for m in messages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        environment.warn_of_differences(recorded)


def test_the_same_environment_is_silent_and_loads_no_runtime() -> None:
    loaded = "onnxruntime" in sys.modules
    recorded = environment.record({"runtime": "not-installed-at-all 1.0"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        environment.warn_of_differences(recorded)
        environment.warn_of_differences({})
    assert ("onnxruntime" in sys.modules) == loaded
